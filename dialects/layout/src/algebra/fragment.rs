//! The layout of a fragment in registers.

use super::compact::{compact_col_major, make_ordered_layout};
use super::filter::filter_zeros_tuple;
use super::{take, tiled_product};
use crate::{Layout, LayoutError, Tiler};

/// The compact layout of a register fragment that is filled from `layout`: mode 0 (the values of
/// an atom) is contiguous and in order, the other modes are ordered as those of `layout`. Static
/// strides 0 in mode 0 stay.
///
/// # Errors
/// None for a well-formed layout.
pub fn make_fragment_like(layout: &Layout) -> Result<Layout, LayoutError> {
    let is_static = layout.shape().leaves().iter().all(|leaf| leaf.is_static());
    let rank = layout.rank();
    if rank <= 1 || !is_static {
        return Ok(Layout::col_major(layout.shape().clone()));
    }
    let (Some(first), rest) = (layout.mode(0), take(layout, 1, rank)?) else {
        return Ok(Layout::col_major(layout.shape().clone()));
    };
    let extents = filter_zeros_tuple(first.stride(), first.shape());
    let first = Layout::raw(first.shape, compact_col_major(&extents));
    let rest = make_ordered_layout(rest.shape(), rest.stride())?;
    tiled_product(&first, &Tiler::Layout(rest))
}
