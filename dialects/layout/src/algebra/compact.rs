//! Compact strides, and the layouts made from them.

use super::filter::filter_zeros_tuple;
use super::{plain_integers, product_like, rank_mismatch};
use crate::{Int, IntTuple, Layout, LayoutError, Tree};

/// Strides of the compact layout of `shape` whose first mode is contiguous. Modes of static
/// extent 1 get stride 0.
pub fn compact_col_major(shape: &IntTuple) -> IntTuple {
    compact_col_major_from(shape, &Int::ONE)
}

/// [`compact_col_major`], starting with the stride `start`.
pub fn compact_col_major_from(shape: &IntTuple, start: &Int) -> IntTuple {
    let mut current = start.clone();
    shape.map(&mut |extent| step(extent, &mut current))
}

fn step(extent: &Int, current: &mut Int) -> Int {
    if extent.is(1) {
        return Int::ZERO;
    }
    let stride = current.clone();
    *current = current.mul(extent);
    stride
}

/// Strides of the compact layout of `shape` whose last mode is contiguous.
pub fn compact_row_major(shape: &IntTuple) -> IntTuple {
    fn go(shape: &IntTuple, current: &mut Int) -> IntTuple {
        match shape {
            Tree::Leaf(extent) => Tree::Leaf(step(extent, current)),
            Tree::Node(modes) => {
                let mut out: Vec<_> = modes.iter().rev().map(|mode| go(mode, current)).collect();
                out.reverse();
                Tree::Node(out)
            }
        }
    }
    go(shape, &mut Int::ONE.clone())
}

/// Compact strides in the order that the leaves of `order` say: the mode of smallest order is
/// contiguous. A leaf of `order` may stand for a nested mode, which is then ordered from left to
/// right. Run-time leaves of `order` come after all static ones, from left to right.
///
/// # Errors
/// If `shape` does not refine the profile of `order`.
pub fn compact_order(shape: &IntTuple, order: &IntTuple) -> Result<IntTuple, LayoutError> {
    plain_integers("make_ordered_layout", shape)?;
    let extents: Vec<Int> = {
        let tree = product_like(shape, order)?;
        tree.leaves().into_iter().cloned().collect()
    };
    let largest = order
        .leaves()
        .iter()
        .filter_map(|leaf| leaf.as_static())
        .fold(0, i64::max);
    let mut next = largest;
    let order = order.map(&mut |leaf| {
        next = next.saturating_add(1);
        leaf.as_static().unwrap_or(next)
    });
    let orders: Vec<i64> = order.leaves().into_iter().copied().collect();
    order_strides(shape, &order, &extents, &orders)
}

fn order_strides(
    shape: &IntTuple,
    order: &Tree<i64>,
    extents: &[Int],
    orders: &[i64],
) -> Result<IntTuple, LayoutError> {
    match order {
        Tree::Leaf(order) => {
            let start = extents
                .iter()
                .zip(orders)
                .filter(|(_, other)| *other < order)
                .fold(Int::ONE, |start, (extent, _)| start.mul(extent));
            Ok(compact_col_major_from(shape, &start))
        }
        Tree::Node(modes) => {
            if modes.len() != shape.rank() || shape.is_leaf() {
                let (expected, found) = (modes.len(), shape.rank());
                return Err(rank_mismatch("make_ordered_layout", expected, found, shape));
            }
            let strides: Result<Vec<_>, _> = shape
                .modes()
                .iter()
                .zip(modes)
                .map(|(shape, order)| order_strides(shape, order, extents, orders))
                .collect();
            Ok(Tree::Node(strides?))
        }
    }
}

/// The compact layout of `shape` in the given order ([`compact_order`]).
///
/// # Errors
/// If `shape` does not refine the profile of `order`.
pub fn make_ordered_layout(shape: &IntTuple, order: &IntTuple) -> Result<Layout, LayoutError> {
    Ok(Layout::raw(shape.clone(), compact_order(shape, order)?))
}

/// The compact layout of the same shape whose strides are ordered as those of `layout`. Static
/// strides 0 stay.
///
/// # Errors
/// None for a well-formed layout.
pub fn make_layout_like(layout: &Layout) -> Result<Layout, LayoutError> {
    let extents = filter_zeros_tuple(layout.stride(), layout.shape());
    let stride = compact_order(&extents, layout.stride())?;
    Ok(Layout::raw(layout.shape().clone(), stride))
}

/// The layout that sends each coordinate of `shape` to itself, as scaled bases.
pub fn make_identity_layout(shape: &IntTuple) -> Layout {
    fn go(shape: &IntTuple, path: &mut Vec<usize>) -> IntTuple {
        match shape {
            Tree::Leaf(_) => Tree::Leaf(Int::scaled(Int::ONE, path.clone())),
            Tree::Node(modes) => Tree::Node(
                modes
                    .iter()
                    .enumerate()
                    .map(|(index, mode)| {
                        path.push(index);
                        let stride = go(mode, path);
                        path.pop();
                        stride
                    })
                    .collect(),
            ),
        }
    }
    Layout::raw(shape.clone(), go(shape, &mut Vec::new()))
}
