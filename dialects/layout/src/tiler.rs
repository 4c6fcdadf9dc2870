//! [`Tiler`]: what divides, multiplies or selects from a layout.

use crate::algebra::plain_integer;
use crate::{Int, IntTuple, Layout, LayoutError, Tree};
use std::fmt;

/// What divides, multiplies or selects from a layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Tiler {
    /// A layout, applied to all modes together.
    Layout(Layout),
    /// The integer `n`, which stands for the layout `n:1` (`1:0` for 1).
    Int(Int),
    /// One tiler a mode, `[a;b;…]`.
    Tile(Vec<Tiler>),
    /// `_`: leaves a mode as it is.
    All,
}

impl Tiler {
    /// The tiler that applies each leaf of a shape, taken as `n:1`, to its mode.
    pub fn from_shape(shape: &IntTuple) -> Tiler {
        match shape {
            Tree::Leaf(extent) => Tiler::Int(extent.clone()),
            Tree::Node(modes) => Tiler::Tile(modes.iter().map(Tiler::from_shape).collect()),
        }
    }

    /// The layout that an integer tiler stands for.
    pub(crate) fn extent_layout(op: &'static str, extent: &Int) -> Result<Layout, LayoutError> {
        plain_integer(op, extent)?;
        Ok(Layout::contiguous(extent.clone()))
    }

    /// Whether its numbers fit 64 bits.
    pub fn fits(&self) -> bool {
        match self {
            Tiler::Layout(layout) => layout.fits(),
            Tiler::Int(extent) => extent.fits(),
            Tiler::Tile(modes) => modes.iter().all(Tiler::fits),
            Tiler::All => true,
        }
    }

    /// Number of modes that it takes: 1 unless it is a tile.
    pub fn rank(&self) -> usize {
        match self {
            Tiler::Tile(modes) => modes.len(),
            _ => 1,
        }
    }

    /// Number of elements that it selects; `None` if that depends on what it is applied to.
    pub fn size(&self) -> Option<Int> {
        match self {
            Tiler::Layout(layout) => Some(layout.size()),
            Tiler::Int(extent) => Some(extent.clone()),
            Tiler::All => None,
            Tiler::Tile(modes) => modes.iter().try_fold(Int::ONE, |size, mode| {
                mode.size().map(|mode| size.mul(&mode))
            }),
        }
    }

    /// The shape of what it selects; `None` if that depends on what it is applied to.
    pub fn shape(&self) -> Option<IntTuple> {
        match self {
            Tiler::Layout(layout) => Some(layout.shape().clone()),
            Tiler::Int(extent) => Some(Tree::Leaf(extent.clone())),
            Tiler::All => None,
            Tiler::Tile(modes) => {
                let modes: Option<Vec<_>> = modes.iter().map(Tiler::shape).collect();
                modes.map(Tree::Node)
            }
        }
    }
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Tiler::Layout(layout)
    }
}

impl From<i64> for Tiler {
    fn from(extent: i64) -> Self {
        Tiler::Int(Int::Static(extent))
    }
}

impl fmt::Display for Tiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiler::Layout(layout) => layout.fmt(f),
            Tiler::Int(extent) => Layout::contiguous(extent.clone()).fmt(f),
            Tiler::All => f.write_str("_"),
            Tiler::Tile(modes) => {
                f.write_str("[")?;
                for (index, mode) in modes.iter().enumerate() {
                    if index > 0 {
                        f.write_str(";")?;
                    }
                    mode.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}
