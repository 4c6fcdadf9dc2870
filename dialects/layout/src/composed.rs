//! [`ComposedLayout`] and [`AnyLayout`]: layouts behind a swizzle or another layout.

use crate::algebra::{crd2idx, tuple_add};
use crate::{Int, IntTuple, Layout, LayoutError, Swizzle, Tree};
use std::fmt;

/// The left-hand side of a composed layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outer {
    /// A swizzle.
    Swizzle(Swizzle),
    /// A layout.
    Layout(Layout),
}

/// `outer o offset o inner`: the function `c -> outer(offset + inner(c))`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ComposedLayout {
    /// Applied last.
    pub outer: Outer,
    /// Added to what the inner layout gives.
    pub offset: IntTuple,
    /// Applied first.
    pub inner: Layout,
}

impl ComposedLayout {
    /// `swizzle o offset o inner`.
    pub fn swizzled(swizzle: Swizzle, offset: Int, inner: Layout) -> ComposedLayout {
        ComposedLayout {
            outer: Outer::Swizzle(swizzle),
            offset: Tree::Leaf(offset),
            inner,
        }
    }

    /// The swizzle, if the outer part is one.
    pub fn swizzle(&self) -> Option<Swizzle> {
        match &self.outer {
            Outer::Swizzle(swizzle) => Some(*swizzle),
            Outer::Layout(_) => None,
        }
    }

    /// The same composition around another inner layout.
    pub fn with_inner(&self, inner: Layout) -> ComposedLayout {
        ComposedLayout {
            outer: self.outer.clone(),
            offset: self.offset.clone(),
            inner,
        }
    }

    /// Whether its numbers, and the sizes and offsets of its layouts, fit 64 bits.
    pub fn fits(&self) -> bool {
        let outer = match &self.outer {
            Outer::Swizzle(_) => true,
            Outer::Layout(outer) => outer.fits(),
        };
        outer && self.offset.fits() && self.inner.fits()
    }

    /// The value at a coordinate.
    ///
    /// # Errors
    /// If the coordinate does not fit the inner layout, or its value the outer one.
    pub fn at(&self, coord: &IntTuple) -> Result<IntTuple, LayoutError> {
        let offset = tuple_add(&self.offset, &crd2idx(coord, &self.inner)?)?;
        match &self.outer {
            Outer::Layout(layout) => crd2idx(&offset, layout),
            Outer::Swizzle(swizzle) => match offset {
                Tree::Leaf(offset) if offset.path().is_empty() => {
                    Ok(Tree::Leaf(swizzle.apply_int(&offset)))
                }
                offset => Err(LayoutError::Unsupported {
                    op: "crd2idx",
                    expected: "an integer offset under a swizzle",
                    found: offset.to_string(),
                }),
            },
        }
    }
}

/// A layout that may be composed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AnyLayout {
    /// A layout as such.
    Plain(Layout),
    /// A layout behind a swizzle or another layout.
    Composed(ComposedLayout),
}

impl AnyLayout {
    /// The layout that sees coordinates: the layout itself, or the inner one.
    pub fn inner(&self) -> &Layout {
        match self {
            AnyLayout::Plain(layout) => layout,
            AnyLayout::Composed(composed) => &composed.inner,
        }
    }

    /// Whether its numbers, and the sizes and offsets of its layouts, fit 64 bits.
    pub fn fits(&self) -> bool {
        match self {
            AnyLayout::Plain(layout) => layout.fits(),
            AnyLayout::Composed(composed) => composed.fits(),
        }
    }

    /// The shape of the coordinates.
    pub fn shape(&self) -> &IntTuple {
        self.inner().shape()
    }

    /// Number of modes.
    pub fn rank(&self) -> usize {
        self.inner().rank()
    }

    /// Number of coordinates.
    pub fn size(&self) -> Int {
        self.inner().size()
    }

    /// The swizzle, if there is one in front.
    pub fn swizzle(&self) -> Option<Swizzle> {
        match self {
            AnyLayout::Plain(_) => None,
            AnyLayout::Composed(composed) => composed.swizzle(),
        }
    }

    /// Applies `f` to the layout that sees coordinates and keeps what is composed around it.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn map_inner(
        &self,
        f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
    ) -> Result<AnyLayout, LayoutError> {
        Ok(match self {
            AnyLayout::Plain(layout) => AnyLayout::Plain(f(layout)?),
            AnyLayout::Composed(composed) => {
                AnyLayout::Composed(composed.with_inner(f(&composed.inner)?))
            }
        })
    }

    /// The value at a coordinate.
    ///
    /// # Errors
    /// If the coordinate does not fit the layout.
    pub fn at(&self, coord: &IntTuple) -> Result<IntTuple, LayoutError> {
        match self {
            AnyLayout::Plain(layout) => crd2idx(coord, layout),
            AnyLayout::Composed(composed) => composed.at(coord),
        }
    }

    /// The plain layout, if it is one.
    pub fn as_plain(&self) -> Option<&Layout> {
        match self {
            AnyLayout::Plain(layout) => Some(layout),
            AnyLayout::Composed(_) => None,
        }
    }
}

impl From<Layout> for AnyLayout {
    fn from(layout: Layout) -> Self {
        AnyLayout::Plain(layout)
    }
}

impl From<ComposedLayout> for AnyLayout {
    fn from(layout: ComposedLayout) -> Self {
        AnyLayout::Composed(layout)
    }
}

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outer::Swizzle(swizzle) => swizzle.fmt(f),
            Outer::Layout(layout) => layout.fmt(f),
        }
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.outer, self.offset, self.inner)
    }
}

impl fmt::Display for AnyLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyLayout::Plain(layout) => layout.fmt(f),
            AnyLayout::Composed(composed) => composed.fmt(f),
        }
    }
}
