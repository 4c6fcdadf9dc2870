//! How a tile is spread over the threads of a block.
use crate::target::{BLOCK_SIZES, LARGEST_CLUSTER};
use cutec_layout::algebra::cosize;
use cutec_layout::text::parse_layout;
use cutec_layout::{Int, Layout, Tree};

/// A layout from (thread, value) to the index in a tile, of which the first axis is the fastest.
///
/// A mode of stride 0 among the threads says that several threads hold the same elements.
#[derive(Clone, Debug, PartialEq)]
pub struct TileLayout {
    tv: Layout,
}

/// A leaf of a thread or value mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// How many.
    pub extent: i64,
    /// The axis along which it goes, and how far a step goes; `None` where it repeats elements.
    pub along: Option<(usize, i64)>,
}

impl Mode {
    /// Whether it repeats elements: several threads, or values of one, have the same.
    pub fn repeats(&self) -> bool {
        self.along.is_none() && self.extent > 1
    }
}

/// How threads stand side by side in a tile.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide {
    /// The axis along which they do.
    pub axis: usize,
    /// Neighbours along it that a thread has.
    pub vector: i64,
    /// How many stand along it, at most.
    pub threads: i64,
    /// Another axis along which what a thread has are neighbours, too, and not every so many-th.
    pub together: Option<usize>,
}

impl TileLayout {
    /// A layout of two modes, all static.
    ///
    /// # Errors
    /// What is not so.
    pub fn new(tv: Layout) -> Result<Self, String> {
        if tv.rank() != 2 {
            return Err(format!(
                "expects the modes (thread, value), but got {} modes: {tv}",
                tv.rank()
            ));
        }
        let leaves = [tv.shape().leaves(), tv.stride().leaves()].concat();
        if leaves
            .iter()
            .any(|leaf| leaf.as_static().is_none_or(|leaf| leaf < 0))
        {
            return Err(format!("expects static extents and strides, but got {tv}"));
        }
        Ok(TileLayout { tv })
    }

    /// From modes of threads and values.
    pub fn of_modes(threads: &[Mode], values: &[Mode], shape: &[i64]) -> Self {
        let side = |modes: &[Mode]| -> (Tree<Int>, Tree<Int>) {
            let stride = |mode: &Mode| match mode.along {
                Some((axis, step)) => shape[..axis].iter().product::<i64>() * step,
                None => 0,
            };
            let leaves = modes
                .iter()
                .map(|mode| (Int::Static(mode.extent), Int::Static(stride(mode))));
            let (extents, strides): (Vec<_>, Vec<_>) = leaves.unzip();
            match extents.is_empty() {
                true => (Tree::Leaf(Int::Static(1)), Tree::Leaf(Int::Static(0))),
                false => (
                    Tree::Node(extents.into_iter().map(Tree::Leaf).collect()),
                    Tree::Node(strides.into_iter().map(Tree::Leaf).collect()),
                ),
            }
        };
        let ((t, td), (v, vd)) = (side(threads), side(values));
        let tv = Layout::new(Tree::Node(vec![t, v]), Tree::Node(vec![td, vd]));
        TileLayout {
            tv: tv.expect("extents and strides have the same form"),
        }
    }

    /// From the text of an attribute `#tile.tv<"…">`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn of_attribute(text: &str) -> Result<Self, String> {
        let inner = text
            .strip_prefix("#tile.tv<\"")
            .and_then(|text| text.strip_suffix("\">"))
            .ok_or_else(|| format!("expects #tile.tv<\"…\"> as encoding, but got {text}"))?;
        let tv = parse_layout(inner).map_err(|error| error.to_string())?;
        TileLayout::new(tv)
    }

    /// The layout itself.
    pub fn tv(&self) -> &Layout {
        &self.tv
    }

    /// Threads that hold the tile.
    pub fn threads(&self) -> i64 {
        size_of(&self.tv, 0)
    }

    /// Elements of a thread.
    pub fn values(&self) -> i64 {
        size_of(&self.tv, 1)
    }

    /// The modes of the threads, the fastest first.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn thread_modes(&self, shape: &[i64]) -> Result<Vec<Mode>, String> {
        modes(&self.tv, 0, shape)
    }

    /// The modes of the values, the fastest first.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn value_modes(&self, shape: &[i64]) -> Result<Vec<Mode>, String> {
        modes(&self.tv, 1, shape)
    }

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

    /// Of what is left of a tile of layout `whole` by a reduction, which several threads hold: each of those among the first `lanes` that the reduction
    /// brought together holds a part of it instead, the last of its values first, as far as they can be halved.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn parted(
        &self,
        to: &[i64],
        (whole, shape): (&Self, &[i64]),
        lanes: i64,
    ) -> Result<Self, String> {
        let (before, left) = (whole.thread_modes(shape)?, self.thread_modes(to)?);
        let mut values = self.value_modes(to)?;
        let (mut threads, mut first) = (Vec::new(), 1);
        for (mode, mut left) in before.iter().zip(left) {
            let mut among = match mode.along.is_some() && left.along.is_none() && first < lanes {
                true => left.extent.min(lanes / first),
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

    /// Whether each thread holds the same elements of a shape in the same order as in another layout, however their modes are nested.
    pub fn is_as(&self, other: &Self, shape: &[i64]) -> bool {
        let modes = |of: &Self| {
            let modes = (of.thread_modes(shape).ok()?, of.value_modes(shape).ok()?);
            Some((coalesced(modes.0), coalesced(modes.1)))
        };
        self == other || modes(self).is_some_and(|own| modes(other) == Some(own))
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

    /// `threads` threads side by side along the axis that is fast in memory, each with vectors of `vector`
    /// elements where the shape allows it; what is left of the threads goes along the other axes, or
    /// holds the same.
    pub fn blocked(shape: &[i64], fast: usize, vector: i64, threads: i64) -> Self {
        let side_by_side = SideBySide {
            axis: fast,
            vector,
            threads,
            together: None,
        };
        TileLayout::of_threads(shape, side_by_side, threads)
    }

    /// The same in another arrangement.
    pub fn of_threads(shape: &[i64], side_by_side: SideBySide, threads: i64) -> Self {
        let SideBySide {
            axis: fast,
            mut vector,
            threads: most,
            together,
        } = side_by_side;
        let size: i64 = shape.iter().product();
        vector = vector.min(power_of_two(shape[fast]));
        while vector > 1 && size / vector < threads {
            vector /= 2;
        }
        let order =
            std::iter::once(fast).chain((0..shape.len()).rev().filter(|axis| *axis != fast));
        let mut left = power_of_two(threads);
        let alike = threads / left;
        let (mut thread_modes, mut value_modes) = (Vec::new(), Vec::new());
        if vector > 1 {
            value_modes.push(Mode {
                extent: vector,
                along: Some((fast, 1)),
            });
        }
        let neighbours = value_modes.len();
        for axis in order {
            let width = if axis == fast { vector } else { 1 };
            let vectors = shape[axis] / width;
            let room = if axis == fast { most.min(left) } else { left };
            let across = power_of_two(vectors).min(room);
            let of_thread = vectors / across;
            let (step_of_threads, step) = match together == Some(axis) {
                true => (width * of_thread, width),
                false => (width, width * across),
            };
            if across > 1 {
                thread_modes.push(Mode {
                    extent: across,
                    along: Some((axis, step_of_threads)),
                });
            }
            if vectors > across {
                value_modes.push(Mode {
                    extent: of_thread,
                    along: Some((axis, step)),
                });
            }
            left /= across;
        }
        // What of their number is no power of two shares what each would have of an axis, the slowest that it divides.
        let mut shared = value_modes[neighbours..].iter_mut().rev();
        let shared = shared.find(|mode| {
            let is_apart = mode.along.is_some_and(|(axis, _)| together != Some(axis));
            left == 1 && alike > 1 && is_apart && mode.extent % alike == 0
        });
        if let Some(mode) = shared
            && let Some((axis, step)) = mode.along
        {
            thread_modes.push(Mode {
                extent: alike,
                along: Some((axis, step)),
            });
            mode.extent /= alike;
            mode.along = Some((axis, step * alike));
            value_modes.retain(|mode| mode.extent > 1);
        } else if left * alike > 1 {
            thread_modes.push(Mode {
                extent: left * alike,
                along: None,
            });
        }
        TileLayout::of_modes(&thread_modes, &value_modes, shape)
    }

    /// How many of a thread's values are neighbours along an axis: a power of two.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn neighbours(&self, shape: &[i64], along: usize) -> Result<i64, String> {
        let modes = self.value_modes(shape)?.into_iter();
        let steps = modes.filter_map(|mode| match mode.along {
            Some((axis, step)) if axis == along => Some((step, mode.extent)),
            _ => None,
        });
        let mut steps: Vec<(i64, i64)> = steps.collect();
        steps.sort_unstable();
        let extend = |width, (step, extent): (i64, i64)| match step == width {
            true => width * extent,
            false => width,
        };
        Ok(power_of_two(steps.into_iter().fold(1, extend)))
    }

    /// How many elements neighbouring threads have side by side along an axis, if each takes so many neighbours.
    ///
    /// # Errors
    /// Where a mode goes beyond an axis.
    pub fn side_by_side(&self, shape: &[i64], along: usize, vector: i64) -> Result<i64, String> {
        let modes = self.thread_modes(shape)?.into_iter();
        let mut modes = modes.filter(|mode| mode.extent > 1);
        let extend =
            |run, mode: Mode| (mode.along == Some((along, run))).then(|| run * mode.extent);
        let mut run = vector;
        while let Some(longer) = modes.next().and_then(|mode| extend(run, mode)) {
            run = longer;
        }
        Ok(run)
    }

    /// Whether it covers a tile of a shape and nothing else.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, shape: &[i64]) -> Result<(), String> {
        let most = BLOCK_SIZES.end() * LARGEST_CLUSTER;
        if !(1..=most).contains(&self.threads()) {
            return Err(format!(
                "{} has {} threads; the blocks of a cluster have at most {most}",
                self.tv,
                self.threads(),
            ));
        }
        let size: i64 = shape.iter().product();
        let last = cosize(&self.tv)
            .ok()
            .and_then(|last| last.as_static())
            .ok_or_else(|| format!("{} is too large", self.tv))?;
        if last != size {
            return Err(format!(
                "{} reaches {last} elements of a tile of {size}",
                self.tv
            ));
        }
        // Where repeated modes are left out, the others number the elements compactly, in some order.
        let extents = self.tv.shape().leaves();
        let strides = self.tv.stride().leaves();
        let number = |int: &Int| int.as_static().unwrap_or(0);
        let mut modes: Vec<(i64, i64)> = (strides.into_iter().zip(extents))
            .map(|(stride, extent)| (number(stride), number(extent)))
            .filter(|(stride, extent)| *stride != 0 && *extent != 1)
            .collect();
        modes.sort_unstable();
        let mut reached = 1;
        for (stride, extent) in modes {
            if stride != reached {
                let tv = &self.tv;
                return Err(format!(
                    "{tv} does not have each element of a tile of {size} once"
                ));
            }
            reached *= extent;
        }
        Ok(())
    }
}

/// The largest power of two that divides a number.
fn power_of_two(number: i64) -> i64 {
    number & number.wrapping_neg()
}

fn size_of(tv: &Layout, side: usize) -> i64 {
    let side = tv.mode(side).unwrap_or_else(Layout::unit);
    side.size().as_static().unwrap_or(0)
}

/// Leaves of a layout into a tile, split where they go from one axis to the next.
fn modes(tv: &Layout, side: usize, shape: &[i64]) -> Result<Vec<Mode>, String> {
    let mut found = Vec::new();
    let side = tv.mode(side).unwrap_or_else(Layout::unit);
    let leaves = side.shape().leaves();
    for (extent, stride) in leaves.iter().zip(side.stride().leaves()) {
        let (Some(extent), Some(stride)) = (extent.as_static(), stride.as_static()) else {
            return Err(format!("{side} is not static"));
        };
        if extent == 1 {
            continue;
        }
        if stride == 0 {
            found.push(Mode {
                extent,
                along: None,
            });
            continue;
        }
        match along_axes(extent, stride, shape) {
            Some(parts) => found.extend(parts),
            None => {
                return Err(format!(
                    "the mode {extent}:{stride} of {side} does not go along the axes of the tile"
                ));
            }
        }
    }
    Ok(found)
}

/// As few modes as say the same: one that goes on along an axis where the one before it ends is a part of that.
fn coalesced(modes: Vec<Mode>) -> Vec<Mode> {
    let mut found: Vec<Mode> = Vec::new();
    for mode in modes {
        match (found.last_mut(), mode.along) {
            (Some(last), Some((axis, step)))
                if last.along == Some((axis, step / last.extent)) && step % last.extent == 0 =>
            {
                last.extent *= mode.extent;
            }
            _ => found.push(mode),
        }
    }
    found
}

/// A mode of elements that are numbered with the first axis as the fastest, split where it goes from one axis to the next;
/// `None` where it does not go evenly along them, or beyond.
fn along_axes(mut extent: i64, mut stride: i64, shape: &[i64]) -> Option<Vec<Mode>> {
    let mut found = Vec::new();
    let mut before = 1;
    for (axis, length) in shape.iter().enumerate() {
        let end = before * length;
        if extent > 1 && stride < end {
            let step = stride / before;
            let fits = (length / step).min(extent);
            if stride % before != 0 || extent % fits != 0 || (extent > fits && length % step != 0) {
                return None;
            }
            found.push(Mode {
                extent: fits,
                along: Some((axis, step)),
            });
            extent /= fits;
            stride = end;
        }
        before = end;
    }
    (extent == 1).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_layout::algebra::offset_at;

    fn layout(text: &str) -> TileLayout {
        TileLayout::new(parse_layout(text).expect("a layout")).expect("a tile layout")
    }

    #[test]
    fn threads_of_no_power_of_two_share_what_is_left() {
        let text =
            |shape: &[i64], threads| TileLayout::blocked(shape, 1, 4, threads).tv().to_string();
        assert_eq!(text(&[24, 64], 96), "((16,2,3),(4,4)):((96,1,2),(24,6))");
        // Of 32 rows none of three can have as many as the others: they have the same.
        assert_eq!(text(&[32, 64], 96), "((16,2,3),(4,16)):((128,1,0),(32,2))");
        assert_eq!(text(&[12, 64], 192), "((16,4,3),(4)):((48,1,4),(12))");
        for (shape, threads) in [([24, 64], 96), ([12, 64], 192), ([40, 80], 160)] {
            TileLayout::blocked(&shape, 1, 4, threads)
                .check(&shape)
                .unwrap();
        }
    }

    #[test]
    fn modes_go_along_axes() {
        // C of mma.sync m16n8k16: a row for each four lanes, two neighbouring columns, eight rows on.
        let c = layout("((4,8),(2,2)):((32,1),(16,8))");
        assert_eq!(c.check(&[16, 8]), Ok(()));
        let along = |extent, axis, step| Mode {
            extent,
            along: Some((axis, step)),
        };
        assert_eq!(
            c.thread_modes(&[16, 8]),
            Ok(vec![along(4, 1, 2), along(8, 0, 1)])
        );
        assert_eq!(
            c.value_modes(&[16, 8]),
            Ok(vec![along(2, 1, 1), along(2, 0, 8)])
        );
        let (threads, values) = (
            c.thread_modes(&[16, 8]).expect("modes"),
            c.value_modes(&[16, 8]).expect("modes"),
        );
        assert_eq!(TileLayout::of_modes(&threads, &values, &[16, 8]), c);
    }

    #[test]
    fn a_mode_over_two_axes_is_split() {
        let along = |extent, axis, step| Mode {
            extent,
            along: Some((axis, step)),
        };
        assert_eq!(
            layout("(32,4):(1,32)").thread_modes(&[8, 16]),
            Ok(vec![along(8, 0, 1), along(4, 1, 1)])
        );
    }

    #[test]
    fn threads_stand_side_by_side_along_the_fast_axis() {
        let text = |shape: &[i64], fast, vector, threads| {
            let blocked = TileLayout::blocked(shape, fast, vector, threads);
            assert_eq!(blocked.check(shape), Ok(()));
            assert_eq!(blocked.threads(), threads);
            blocked.tv().to_string()
        };
        assert_eq!(
            text(&[64, 64], 1, 8, 128),
            "((8,16),(8,4)):((512,1),(64,16))"
        );
        assert_eq!(
            text(&[64, 64], 0, 8, 128),
            "((8,16),(8,4)):((8,64),(1,1024))"
        );
        assert_eq!(text(&[1, 4096], 1, 8, 256), "((256),(8,2)):((8),(1,2048))");
        // Three times a power of two: every third of them holds the same.
        assert_eq!(
            text(&[8, 64], 1, 8, 96),
            "((16,2,3),(4,4)):((32,1,0),(8,2))"
        );
        // Fewer elements than threads: some hold the same.
        assert_eq!(text(&[2, 8], 1, 8, 64), "((8,2,4),1):((2,1,0),0)");
        assert_eq!(
            text(&[3, 48], 1, 8, 32),
            "((4,8),(4,3,3)):((12,0),(3,48,1))"
        );
    }

    #[test]
    fn neighbours_are_found_across_modes() {
        let c = layout("((4,8),(2,2)):((32,1),(16,8))");
        assert_eq!(c.neighbours(&[16, 8], 1), Ok(2));
        assert_eq!(c.neighbours(&[16, 8], 0), Ok(1));
        // The second mode goes on where the first ends, whatever stands between.
        let spread = layout("(8,(2,2,2)):(1,(8,32,16))");
        assert_eq!(spread.neighbours(&[8, 8], 1), Ok(8));
    }

    #[test]
    fn neighbouring_threads_go_on_where_one_ends() {
        let c = layout("((4,8),(2,2)):((32,1),(16,8))");
        assert_eq!(c.side_by_side(&[16, 8], 1, 2), Ok(8));
        assert_eq!(c.side_by_side(&[16, 8], 1, 1), Ok(1));
        assert_eq!(c.side_by_side(&[16, 8], 0, 1), Ok(1));
        let rows = TileLayout::blocked(&[8, 64], 1, 4, 32);
        assert_eq!(rows.side_by_side(&[8, 64], 1, 4), Ok(64));
        assert_eq!(rows.side_by_side(&[8, 64], 1, 2), Ok(2));
    }

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
            let parted = in_all.parted(&to, (&whole, &shape), 32).expect("a layout");
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

    #[test]
    fn what_does_not_cover_the_tile_is_refused() {
        assert!(layout("(32,2):(1,32)").check(&[8, 16]).is_err());
        assert!(layout("(32,8):(1,32)").check(&[8, 16]).is_err());
        assert!(layout("(32,8):(0,16)").check(&[8, 16]).is_err());
        assert!(layout("((32,2),4):((1,0),32)").check(&[8, 16]).is_ok());
    }
}
