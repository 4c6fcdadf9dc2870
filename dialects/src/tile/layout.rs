//! How a tile is spread over the threads of a block.
mod derived;
mod halves;
mod side_by_side;

pub use side_by_side::{Narrower, SideBySide};

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

    /// Whether each thread holds the same elements of a shape in the same order as in another layout, however their modes are nested.
    pub fn is_as(&self, other: &Self, shape: &[i64]) -> bool {
        let modes = |of: &Self| {
            let modes = (of.thread_modes(shape).ok()?, of.value_modes(shape).ok()?);
            Some((with_repeats_as_one(modes.0), with_repeats_as_one(modes.1)))
        };
        self == other || modes(self).is_some_and(|own| modes(other) == Some(own))
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

/// The same with as few modes as possible, also of those that repeat elements.
fn with_repeats_as_one(modes: Vec<Mode>) -> Vec<Mode> {
    let mut found: Vec<Mode> = Vec::new();
    for mode in coalesced(modes) {
        match found.last_mut().filter(|last| last.along.is_none()) {
            Some(last) if mode.along.is_none() => last.extent *= mode.extent,
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

    pub(super) fn layout(text: &str) -> TileLayout {
        TileLayout::new(parse_layout(text).expect("a layout")).expect("a tile layout")
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
    fn what_does_not_cover_the_tile_is_refused() {
        assert!(layout("(32,2):(1,32)").check(&[8, 16]).is_err());
        assert!(layout("(32,8):(1,32)").check(&[8, 16]).is_err());
        assert!(layout("(32,8):(0,16)").check(&[8, 16]).is_err());
        assert!(layout("((32,2),4):((1,0),32)").check(&[8, 16]).is_ok());
    }
}
