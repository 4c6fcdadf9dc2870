//! Slices of swizzled layouts in normal form.
//!
//! `S o off o L` at a coordinate is `c -> S(fixed + kept(c))`, where `fixed` is the offset of the
//! coordinate's integers. If the two have no bit in common, a swizzle, which is exclusive-or linear,
//! acts on each alone: bits of `kept` that it neither changes nor takes from elsewhere in `kept` move
//! by a constant, whose sign is decided by `fixed`. Then what is left is a plain layout.

use super::swizzled::{image_bits, power_bits};
use super::{coalesce, crd2idx, product, slice, tuple_add};
use crate::{
    AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Outer, Swizzle, Tree,
};

/// The slice of `composed` at the `_` of `coord`, and an offset such that their sum is the function
/// `composed` at every coordinate inside of its shape: a plain layout if no two bits that it moves
/// meet in the swizzle, else a swizzled one that keeps of the offset what the swizzle sees. Without
/// an integer in `coord` nothing moves.
///
/// # Errors
/// If the coordinate does not fit the layout.
pub fn slice_swizzled(
    coord: &Coord,
    composed: &ComposedLayout,
) -> Result<(AnyLayout, IntTuple), LayoutError> {
    let kept = slice(coord, &composed.inner)?;
    let origin = crd2idx(&inside(coord, composed.inner.shape()), &composed.inner)?;
    let fixed = tuple_add(&composed.offset, &origin)?;
    let whole = |kept: Layout, offset: IntTuple| {
        let sliced = ComposedLayout {
            outer: composed.outer.clone(),
            offset,
            inner: kept,
        };
        (AnyLayout::Composed(sliced), Tree::Leaf(Int::ZERO))
    };
    let moves = coord.leaves().iter().any(|leaf| leaf.is_some());
    let (Outer::Swizzle(swizzle), Tree::Leaf(offset), true) = (&composed.outer, &fixed, moves)
    else {
        return Ok(whole(kept, fixed));
    };
    let Some(bits) = image_bits(&kept).filter(|bits| {
        offset.path().is_empty() && offset.lower() >= 0 && bits & !offset.known_zero_bits() == 0
    }) else {
        return Ok(whole(kept, fixed));
    };
    if meets(*swizzle, bits) {
        let seen = offset.and_mask(swizzle.yyy_mask() | swizzle.zzz_mask());
        let unseen = offset.sub(&seen);
        let sliced = ComposedLayout::swizzled(*swizzle, seen, kept);
        return Ok((AnyLayout::Composed(sliced), Tree::Leaf(unseen)));
    }
    let plain = affine(*swizzle, offset, &kept);
    Ok((
        AnyLayout::Plain(plain),
        Tree::Leaf(swizzle.apply_int(offset)),
    ))
}

/// The coordinate with 0 at its `_`, and its run-time integers inside of their static extents.
fn inside(coord: &Coord, shape: &IntTuple) -> IntTuple {
    match (coord, shape) {
        (Tree::Node(coords), Tree::Node(shapes)) => Tree::Node(
            coords
                .iter()
                .zip(shapes)
                .map(|(coord, shape)| inside(coord, shape))
                .collect(),
        ),
        (Tree::Leaf(Some(at)), shape) => {
            let extent = product(shape);
            match (at.as_static(), extent.as_static()) {
                (None, Some(1..)) => Tree::Leaf(at.modulo(&extent)),
                _ => Tree::Leaf(at.clone()),
            }
        }
        (coord, _) => coord.map(&mut |leaf| leaf.clone().unwrap_or(Int::ZERO)),
    }
}

/// Pairs of a deciding and a changed bit.
fn pairs(swizzle: Swizzle) -> impl Iterator<Item = (u64, u64)> {
    let lowest = |mask: u64| 1u64 << mask.trailing_zeros().min(63);
    let (deciding, changed) = (lowest(swizzle.yyy_mask()), lowest(swizzle.zzz_mask()));
    (0..swizzle.bits()).map(move |bit| (deciding << bit, changed << bit))
}

/// Whether a deciding bit and the bit that it changes are both among `bits`.
fn meets(swizzle: Swizzle, bits: u64) -> bool {
    pairs(swizzle).any(|(deciding, changed)| bits & deciding != 0 && bits & changed != 0)
}

/// `c -> swizzle(offset + kept(c)) - swizzle(offset)`, whose bits do not meet.
fn affine(swizzle: Swizzle, offset: &Int, kept: &Layout) -> Layout {
    let leaf = |extent: &Int, stride: &Int| {
        let bits: Vec<Layout> = match (power_bits(extent), stride.as_static()) {
            (Some(count @ 1..), Some(step @ 1..)) => (0..count)
                .map(|bit| Layout::scalar(2, step_of(swizzle, offset, step << bit)))
                .collect(),
            _ => return Layout::scalar(extent.clone(), stride.clone()),
        };
        coalesce(&Layout::concat(bits))
    };
    fn go(shape: &IntTuple, stride: &IntTuple, leaf: &impl Fn(&Int, &Int) -> Layout) -> Layout {
        match (shape, stride) {
            (Tree::Leaf(extent), Tree::Leaf(stride)) => leaf(extent, stride),
            (shape, stride) => {
                let modes = shape.modes().iter().zip(stride.modes());
                Layout::concat(modes.map(|(shape, stride)| go(shape, stride, leaf)))
            }
        }
    }
    go(kept.shape(), kept.stride(), &leaf)
}

/// How far the bit `step` moves what the swizzle gives. A run-time step says no divisor, as in
/// NVIDIA's IR.
fn step_of(swizzle: Swizzle, offset: &Int, step: i64) -> Int {
    let bit = step as u64;
    let is_set = |mask: u64| offset.and_mask(mask).floor_div(&Int::Static(mask as i64));
    for (deciding, changed) in pairs(swizzle) {
        let (other, upwards) = match bit {
            bit if bit == changed => (deciding, step),
            bit if bit == deciding => (changed, step + changed as i64),
            _ => continue,
        };
        let back = is_set(other).mul(&Int::Static(-2 * changed as i64));
        return Int::Static(upwards).add(&back).without_divisor();
    }
    Int::Static(step)
}
