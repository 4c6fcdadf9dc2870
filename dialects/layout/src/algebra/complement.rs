//! The complement: what a layout leaves out of a codomain.

use super::composition::step_fits;
use super::int_tuple::product;
use super::{
    ceil_div, coalesce, coalesce_shape, compact_col_major_from, cosize, filter, plain_integers,
};
use crate::obligation::require;
use crate::{Condition, Int, IntTuple, Layout, LayoutError, Tree};

const OP: &str = "complement";

/// A layout of ascending offsets that, together with `layout`, reaches every offset below
/// `size(cotarget)`. A nested `cotarget` keeps static and dynamic parts of the size apart.
///
/// # Errors
/// If the layout is seen not to be injective, has several modes and a dynamic stride, or scaled
/// bases.
pub fn complement(layout: &Layout, cotarget: &IntTuple) -> Result<Layout, LayoutError> {
    complement_by(layout, cotarget, coalesce_shape)
}

/// [`complement`] with a mode of its own for each run-time extent of `cotarget`: the rest of a
/// division keeps them apart, as NVIDIA's IR does.
pub(super) fn complement_apart(
    layout: &Layout,
    cotarget: &IntTuple,
) -> Result<Layout, LayoutError> {
    complement_by(layout, cotarget, IntTuple::flatten)
}

fn complement_by(
    layout: &Layout,
    cotarget: &IntTuple,
    merge: fn(&IntTuple) -> IntTuple,
) -> Result<Layout, LayoutError> {
    plain_integers(OP, cotarget)?;
    let filtered = filter(layout);
    let mut modes: Vec<(Int, Int)> = filtered
        .shape()
        .leaves()
        .into_iter()
        .zip(filtered.stride().leaves())
        .map(|(shape, stride)| (shape.clone(), stride.clone()))
        .collect();
    if let [(_, Int::Static(0))] = modes.as_slice() {
        return Ok(compact(merge(cotarget)));
    }
    for (_, stride) in &modes {
        if !stride.path().is_empty() {
            return Err(LayoutError::Unsupported {
                op: OP,
                expected: "integer strides",
                found: layout.to_string(),
            });
        }
        if modes.len() > 1 && !stride.is_static() {
            return Err(LayoutError::NotStatic {
                op: OP,
                what: "the strides of a layout of several modes",
                value: stride.clone(),
            });
        }
    }
    modes.sort_by_key(|(_, stride)| stride.as_static());
    let (mut shapes, mut strides) = (Vec::new(), Vec::new());
    let mut end = Int::ONE;
    for (shape, stride) in &modes {
        let gap = gap(layout, (shape, stride), &end)?;
        shapes.push(Tree::Leaf(gap));
        strides.push(Tree::Leaf(end));
        end = stride.mul(shape);
    }
    let rest = merge(&cover(cotarget, &end)?);
    strides.push(compact_col_major_from(&rest, &end));
    shapes.push(rest);
    Ok(coalesce(&Layout::raw(
        Tree::Node(shapes),
        Tree::Node(strides),
    )))
}

/// The complement up to the cosize of the layout.
///
/// # Errors
/// As [`complement`].
pub fn complement_default(layout: &Layout) -> Result<Layout, LayoutError> {
    let filtered = filter(layout);
    complement(&filtered, &Tree::Leaf(cosize(&filtered)?))
}

/// How many times `end` goes into `cotarget`, with static and dynamic parts apart as far as the
/// modes of `cotarget` divide `end` one after the other; else as a single number, lest the parts
/// do not cover it. What is left for the last mode need not divide it: it covers it, rounded up.
fn cover(cotarget: &IntTuple, end: &Int) -> Result<IntTuple, LayoutError> {
    let mut rest = end.clone();
    if let Some((_, extents)) = cotarget.leaves().split_last() {
        for extent in extents {
            let condition = step_fits(extent, &rest);
            if !rest.is(1) && condition.decide() == Some(false) {
                let whole = Tree::Leaf(product(cotarget));
                return ceil_div(&whole, &Tree::Leaf(end.clone()));
            }
            if !rest.is(1) {
                require(OP, condition, || LayoutError::Overflow { op: OP })?;
            }
            rest = rest.ceil_div(extent);
        }
    }
    ceil_div(cotarget, &Tree::Leaf(end.clone()))
}

fn compact(shape: IntTuple) -> Layout {
    Layout::col_major(shape)
}

/// How often the modes below, which end at `end`, fit below `stride`.
fn gap(layout: &Layout, (shape, stride): (&Int, &Int), end: &Int) -> Result<Int, LayoutError> {
    let refuse = || LayoutError::NotInjective {
        op: OP,
        layout: layout.to_string(),
        mode: Box::new(Layout::scalar(shape.clone(), stride.clone())),
        stride: stride.clone(),
        least: end.clone(),
    };
    let below = Condition::AtMost {
        left: end.clone(),
        right: stride.clone(),
    };
    if !end.is(1) || stride.is_static() {
        require(OP, below, refuse)?;
    }
    Ok(stride.floor_div(end))
}
