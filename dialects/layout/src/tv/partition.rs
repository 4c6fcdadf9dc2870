//! Slicing a tensor at a thread: an offset for the pointer, and the layout of what is left.

use crate::algebra::{slice_and_offset, tuple_add};
use crate::{AnyLayout, ComposedLayout, Coord, Int, IntTuple, LayoutError, Outer, Tree};

/// The part of a tensor that belongs to one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// To be added to the pointer; a tuple for a tensor of coordinates.
    pub offset: IntTuple,
    /// The layout at that pointer. Behind a swizzle, what the swizzle must see of the thread's
    /// offset is part of the layout.
    pub layout: AnyLayout,
}

/// The sub-layout at the `_` of `coord`, and the offset of its origin. In a swizzled layout the
/// part of the offset below the swizzle's period stays inside of the swizzle; whole periods pass
/// through it unchanged and go into the offset.
///
/// # Errors
/// If the coordinate does not fit the layout.
pub fn slice_any(coord: &Coord, layout: &AnyLayout) -> Result<Partition, LayoutError> {
    let (sliced, origin) = slice_and_offset(coord, layout.inner())?;
    match layout {
        AnyLayout::Plain(_) => Ok(Partition {
            offset: origin,
            layout: AnyLayout::Plain(sliced),
        }),
        AnyLayout::Composed(composed) => {
            let inside = tuple_add(&composed.offset, &origin)?;
            let (offset, inside) = split(&composed.outer, inside);
            Ok(Partition {
                offset,
                layout: AnyLayout::Composed(ComposedLayout {
                    outer: composed.outer.clone(),
                    offset: inside,
                    inner: sliced,
                }),
            })
        }
    }
}

fn split(outer: &Outer, offset: IntTuple) -> (IntTuple, IntTuple) {
    match (outer, &offset) {
        (Outer::Swizzle(swizzle), Tree::Leaf(leaf)) => {
            let (above, below) = leaf.split_multiples(swizzle.period());
            (Tree::Leaf(above), Tree::Leaf(below))
        }
        _ => (Tree::Leaf(Int::ZERO), offset),
    }
}
