//! Layouts that follow from others: of what a reduction leaves, of tiles whose axes have other names or another shape, of parts, and of tiles side by side.
use super::{Mode, TileLayout, along_axes, coalesced};

impl TileLayout {
    /// What the threads hold of `shape` that is reduced to `to`, where some extents become 1: threads along
    /// these axes hold the same, values along them are one.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn reduced(&self, shape: &[i64], to: &[i64]) -> Result<Self, String> {
        let kept = |axis: usize| to[axis] == shape[axis];
        let (mut threads, mut values) = (self.thread_modes(shape)?, self.value_modes(shape)?);
        for mode in &mut threads {
            mode.along = mode.along.filter(|(axis, _)| kept(*axis));
        }
        values.retain(|mode| mode.along.is_some_and(|(axis, _)| kept(axis)));
        Ok(TileLayout::of_modes(&threads, &values, to))
    }

    /// Of what is left of a tile of layout `whole` by a reduction, which several threads hold: each lane of those that the reduction
    /// brought together holds a part of it instead, the last of its values first, as far as they can be halved.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn parted(&self, to: &[i64], (whole, shape): (&Self, &[i64])) -> Result<Self, String> {
        let (before, left) = (whole.thread_modes(shape)?, self.thread_modes(to)?);
        let mut values = self.value_modes(to)?;
        let (mut threads, mut first) = (Vec::new(), 1);
        for (mode, mut left) in before.iter().zip(left) {
            let mut among = match mode.along.is_some() && left.along.is_none() {
                true => TileLayout::lanes_of(first, left.extent),
                false => 1,
            };
            first *= left.extent;
            while among % 2 == 0
                && let Some(half) = values.iter_mut().rev().find(|value| value.extent % 2 == 0)
            {
                half.extent /= 2;
                let along = half.along.map(|(axis, step)| (axis, step * half.extent));
                threads.push(Mode { extent: 2, along });
                left.extent /= 2;
                among /= 2;
            }
            threads.push(left);
        }
        threads.retain(|mode| mode.extent > 1);
        values.retain(|mode| mode.extent > 1);
        Ok(TileLayout::of_modes(&threads, &values, to))
    }

    /// What each thread has along an axis as one element: the shape with as many there as threads that share the axis, and their layout; `None` where
    /// what they have there is not theirs alone.
    pub fn of_each_thread(&self, shape: &[i64], axis: usize) -> Option<(Vec<i64>, Self)> {
        let is_along = |mode: &Mode| mode.along.is_some_and(|(along, _)| along == axis);
        let (mut threads, mut values) = (
            self.thread_modes(shape).ok()?,
            self.value_modes(shape).ok()?,
        );
        let values_along: i64 = values
            .iter()
            .filter(|mode| is_along(mode))
            .map(|mode| mode.extent)
            .product();
        values.retain(|mode| !is_along(mode));
        let mut along: Vec<&mut Mode> = threads.iter_mut().filter(|mode| is_along(mode)).collect();
        along.sort_unstable_by_key(|mode| mode.along);
        let mut number = 1;
        for mode in along {
            mode.along = Some((axis, number));
            number *= mode.extent;
        }
        let mut to = shape.to_vec();
        to[axis] = number;
        let each = TileLayout::of_modes(&threads, &values, &to);
        (number * values_along == shape[axis]).then_some((to, each))
    }

    /// The same with the axes of `shape` renamed, `to` being the shape then.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn renamed(
        &self,
        shape: &[i64],
        to: &[i64],
        name: impl Fn(usize) -> usize,
    ) -> Result<Self, String> {
        let renamed = |modes: Vec<Mode>| -> Vec<Mode> {
            let rename = |mode: Mode| Mode {
                along: mode.along.map(|(axis, step)| (name(axis), step)),
                ..mode
            };
            modes.into_iter().map(rename).collect()
        };
        let threads = renamed(self.thread_modes(shape)?);
        let values = renamed(self.value_modes(shape)?);
        Ok(TileLayout::of_modes(&threads, &values, to))
    }

    /// The same elements, in the order of their numbers of which the last axis is the fastest, under another shape of as many;
    /// `None` where a mode would not go evenly along the new axes.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn reshaped(&self, shape: &[i64], to: &[i64]) -> Result<Option<Self>, String> {
        // The last axis is the fastest: as modes along axes are split, the other way round.
        let turned: Vec<i64> = to.iter().rev().copied().collect();
        let split = |modes: Vec<Mode>| -> Option<Vec<Mode>> {
            let mut found = Vec::new();
            for mode in modes {
                let Some((axis, step)) = mode.along else {
                    found.push(mode);
                    continue;
                };
                let stride = step * shape[axis + 1..].iter().product::<i64>();
                let parts = along_axes(mode.extent, stride, &turned)?;
                found.extend(parts.into_iter().map(|part| Mode {
                    along: part.along.map(|(axis, step)| (to.len() - 1 - axis, step)),
                    ..part
                }));
            }
            Some(coalesced(found))
        };
        let (threads, values) = (self.thread_modes(shape)?, self.value_modes(shape)?);
        let sides = split(threads).zip(split(values));
        Ok(sides.map(|(threads, values)| TileLayout::of_modes(&threads, &values, to)))
    }

    /// What the threads hold of a part of `shape` of extents `to`, at any multiple of these; `None` where some of them hold nothing of it.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn of_part(&self, shape: &[i64], to: &[i64]) -> Result<Option<Self>, String> {
        // How many of a mode lie in the part.
        let inside = |mode: &Mode| match mode.along {
            Some((axis, step)) if to[axis] < shape[axis] => {
                let inside = (to[axis] / step).clamp(1, mode.extent);
                let even = step >= to[axis] || to[axis] % step == 0 && mode.extent % inside == 0;
                even.then_some(inside)
            }
            _ => Some(mode.extent),
        };
        let (threads, values) = (self.thread_modes(shape)?, self.value_modes(shape)?);
        let all = threads.iter().all(|mode| inside(mode) == Some(mode.extent));
        let values = values.into_iter().map(|mode| {
            let extent = inside(&mode)?;
            Some(Mode { extent, ..mode })
        });
        let values: Option<Vec<Mode>> = values.collect();
        let part = values.filter(|_| all).map(|mut values| {
            values.retain(|mode| mode.extent > 1);
            TileLayout::of_modes(&threads, &values, to)
        });
        Ok(part.filter(|part| part.check(to).is_ok()))
    }

    /// So many tiles of a shape side by side along an axis, each thread with what it has of each: parts of a layout are that layout again, where
    /// the axis begins or ends what a thread has.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn joined(&self, shape: &[i64], axis: usize, count: i64) -> Result<Self, String> {
        let (threads, mut values) = (self.thread_modes(shape)?, self.value_modes(shape)?);
        let beside = Mode {
            extent: count,
            along: Some((axis, shape[axis])),
        };
        let continued = |mode: &Mode| match mode.along {
            Some((along, step)) => along == axis && step * mode.extent == shape[axis],
            None => false,
        };
        match values.iter_mut().find(|mode| continued(mode)) {
            Some(mode) => mode.extent *= count,
            None if shape[axis] == 1 => values.insert(0, beside),
            None => values.push(beside),
        }
        let mut whole = shape.to_vec();
        whole[axis] *= count;
        Ok(TileLayout::of_modes(&threads, &values, &whole))
    }

    /// So many tiles of a shape side by side along an axis, each held by threads of its own, as this one is; without an axis all hold the same.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn of_blocks(
        &self,
        shape: &[i64],
        axis: Option<usize>,
        count: i64,
    ) -> Result<Self, String> {
        let (mut threads, values) = (self.thread_modes(shape)?, self.value_modes(shape)?);
        let mut whole = shape.to_vec();
        threads.push(Mode {
            extent: count,
            along: axis.map(|axis| (axis, shape[axis])),
        });
        if let Some(axis) = axis {
            whole[axis] *= count;
        }
        Ok(TileLayout::of_modes(&threads, &values, &whole))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::layout;
    use super::*;
    use cutec_layout::algebra::offset_at;
    use cutec_layout::{Int, Tree};

    #[test]
    fn what_is_parted_is_held_by_the_threads_that_had_all_of_it() {
        let shape = [32, 8, 16];
        let to = [32, 8, 1];
        for whole in [
            "((16,8),(32)):((256,32),(1))",
            "((4,8,4),(4,8)):((1024,32,1),(256,4))",
            "((2,3,8,8),(32)):((256,0,512,32),(1))",
            "((8,4,4),(4,8)):((32,256,1024),(1,4))",
        ] {
            let whole = layout(whole);
            let in_all = whole.reduced(&shape, &to).expect("a layout");
            let parted = in_all.parted(&to, (&whole, &shape)).expect("a layout");
            assert_eq!(parted.threads(), in_all.threads());
            let held = |of: &TileLayout, thread: i64| -> Vec<i64> {
                let values = 0..of.values();
                let at = |value| {
                    let coord = Tree::Node(
                        [thread, value]
                            .map(|of| Tree::Leaf(Int::Static(of)))
                            .to_vec(),
                    );
                    let offset = offset_at(&coord, of.tv()).ok();
                    offset
                        .and_then(|offset| offset.as_static())
                        .expect("static")
                };
                values.map(at).collect()
            };
            let mut found = vec![0; 32 * 8];
            for thread in 0..parted.threads() {
                let all = held(&in_all, thread);
                for element in held(&parted, thread) {
                    assert!(all.contains(&element));
                    found[element as usize] += 1;
                }
            }
            // As often as threads are left that have the same.
            let holders = parted.threads() * parted.values() / (32 * 8);
            assert!(
                found.iter().all(|found| *found == holders),
                "{parted:?}: {found:?}"
            );
        }
    }

    #[test]
    fn a_reduction_leaves_the_other_axis() {
        let c = layout("((4,8),(2,2)):((32,1),(16,8))");
        let rows = c.reduced(&[16, 8], &[16, 1]).expect("a layout");
        assert_eq!(rows.tv().to_string(), "((4,8),(2)):((0,1),(8))");
        let turned = c.renamed(&[16, 8], &[8, 16], |axis| 1 - axis);
        let turned = turned.expect("a layout");
        assert_eq!(turned.tv().to_string(), "((4,8),(2,2)):((2,8),(1,64))");
    }

    #[test]
    fn a_shape_and_back_leaves_a_layout_as_it_was() {
        // The sums of two wgmma m64n128k16 below each other, in groups of 32 columns.
        let sums = layout("((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))");
        let (shape, groups) = ([128, 128], [128, 4, 32]);
        let grouped = sums
            .reshaped(&shape, &groups)
            .expect("modes")
            .expect("a layout");
        assert_eq!(grouped.check(&groups), Ok(()));
        assert_eq!(grouped.reshaped(&groups, &shape), Ok(Some(sums.clone())));
        // Split where the groups end, it is the same one.
        let split = layout("((4,8,4),(2,2,4,4,2)):((256,1,16),(128,8,1024,4096,64))");
        assert!(split.is_as(&sums, &shape) && sums.is_as(&split, &shape));
    }

    #[test]
    fn elements_keep_their_order_under_another_shape() {
        let number = |layout: &TileLayout, shape: &[i64]| -> Vec<i64> {
            let (threads, values) = (layout.threads(), layout.values());
            let modes = [layout.thread_modes(shape), layout.value_modes(shape)];
            let [thread_modes, value_modes] = modes.map(|modes| modes.expect("modes"));
            let mut numbers = Vec::new();
            for index in 0..threads * values {
                let mut at = vec![0; shape.len()];
                for (modes, mut rest) in [
                    (&thread_modes, index % threads),
                    (&value_modes, index / threads),
                ] {
                    for mode in modes {
                        if let Some((axis, step)) = mode.along {
                            at[axis] += rest % mode.extent * step;
                        }
                        rest /= mode.extent;
                    }
                }
                let number = at
                    .iter()
                    .zip(shape)
                    .fold(0, |sum, (at, extent)| sum * extent + at);
                numbers.push(number);
            }
            numbers
        };
        for (layout, from, to) in [
            ("((4,8),(2,2)):((32,1),(16,8))", [16, 8], vec![4, 4, 2, 4]),
            ("((4,8),(2,2)):((32,1),(16,8))", [16, 8], vec![128]),
            ("((4,8),(2,2)):((32,1),(16,8))", [16, 8], vec![2, 64]),
            ("((8,2,4),3):((3,24,0),1)", [3, 16], vec![48]),
        ] {
            let layout = self::layout(layout);
            assert_eq!(layout.check(&from), Ok(()));
            let reshaped = layout.reshaped(&from, &to).expect("modes").expect("free");
            assert_eq!(reshaped.check(&to), Ok(()), "{to:?}");
            assert_eq!(number(&layout, &from), number(&reshaped, &to), "{to:?}");
        }
        let thirds = layout("((16),(3)):((1),(16))");
        assert_eq!(
            thirds.reshaped(&[16, 3], &[4, 12]).map(|to| to.is_some()),
            Ok(true)
        );
        assert_eq!(
            thirds.reshaped(&[16, 3], &[8, 6]).map(|to| to.is_some()),
            Ok(true)
        );
        let rows = layout("((8),(2,3)):((1),(8,16))");
        assert_eq!(rows.reshaped(&[16, 3], &[6, 8]), Ok(None));
    }

    #[test]
    fn a_part_has_the_same_threads() {
        // Sums of a warpgroup: halves of columns, every second column, and halves of rows, which are other warps'.
        let sums = layout("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))");
        let shape = [64, 64];
        let half = sums.of_part(&shape, &[64, 32]).unwrap().unwrap();
        assert_eq!(half, layout("((4,8,4),(2,2,4)):((128,1,16),(64,8,512))"));
        assert_eq!(half.joined(&[64, 32], 1, 2).unwrap(), sums);
        assert_eq!(sums.of_part(&shape, &[32, 64]).unwrap(), None);
        let pairs = sums.reshaped(&shape, &[64, 32, 2]).unwrap().unwrap();
        let second = pairs.of_part(&[64, 32, 2], &[64, 32, 1]).unwrap().unwrap();
        assert_eq!(second.values(), 16);
        assert_eq!(second.joined(&[64, 32, 1], 2, 2).unwrap(), pairs);
        // One column of pairs is of one thread.
        assert_eq!(sums.of_part(&shape, &[64, 1]).unwrap(), None);
    }
}
