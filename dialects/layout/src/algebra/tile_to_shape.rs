//! Filling a shape with copies of a layout.

use super::{
    append_to_rank, blocked_product, ceil_div, compact_col_major, evenly_divides,
    make_ordered_layout, plain_integers, product_each, rank_mismatch,
};
use crate::obligation::require;
use crate::{Condition, Int, IntTuple, Layout, LayoutError, Tree};

const OP: &str = "tile_to_shape";

/// `block` repeated until it has shape `target`, along the modes in the given order (by default
/// from left to right).
///
/// # Errors
/// If the block has more modes than the target or does not divide it.
pub fn tile_to_shape(
    block: &Layout,
    target: &IntTuple,
    order: Option<&IntTuple>,
) -> Result<Layout, LayoutError> {
    plain_integers(OP, target)?;
    let rank = target.rank();
    if block.rank() > rank {
        return Err(rank_mismatch(OP, rank, block.rank(), block));
    }
    let padded = append_to_rank(block, rank, &Layout::unit());
    let block_shape = product_each(padded.shape());
    let target_shape = product_each(target);
    for (divisor, value) in block_shape.leaves().into_iter().zip(target_shape.leaves()) {
        let (divisor, value) = (divisor.clone(), value.clone());
        let divides = Condition::Divides {
            divisor: divisor.clone(),
            value: value.clone(),
        };
        require(OP, divides, || LayoutError::NotDivisible {
            op: OP,
            what: "an extent",
            divisor,
            value,
        })?;
    }
    if evenly_divides(&target_shape, &block_shape) == Some(false) {
        return Err(LayoutError::ProfileMismatch {
            op: OP,
            expected: target.to_string(),
            found: block.shape().to_string(),
        });
    }
    let copies = ceil_div(&target_shape, &block_shape)?;
    let copies = match order {
        Some(order) => make_ordered_layout(&copies, order)?,
        None => Layout::col_major(copies),
    };
    blocked_product(&padded, &copies)
}

/// A layout of at most `count` elements, as even a share of every mode of `shape` as divides.
///
/// # Errors
/// If the shape is not static.
pub fn domain_distribute(shape: &IntTuple, count: i64) -> Result<Layout, LayoutError> {
    let flat = shape.flatten();
    let mut rest = count;
    let mut shares = Vec::new();
    for leaf in flat.leaves() {
        let extent = leaf.as_static().ok_or_else(|| LayoutError::NotStatic {
            op: "domain_distribute",
            what: "the shape",
            value: leaf.clone(),
        })?;
        let share = crate::int::gcd(extent, rest).max(1);
        rest /= share;
        shares.push(Tree::Leaf(Int::Static(share)));
    }
    let (shape, stride) = match &flat {
        Tree::Leaf(_) => (
            shares.pop().unwrap_or(Tree::Leaf(Int::ONE)),
            compact_col_major(&flat),
        ),
        Tree::Node(_) => (Tree::Node(shares), compact_col_major(&flat)),
    };
    Ok(super::coalesce(&Layout::raw(shape, stride)))
}
