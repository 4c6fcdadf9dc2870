//! Right and left inverses.

use super::coalesce;
use super::coalesce::coalesce_extents;
use crate::obligation::require;
use crate::{Condition, Int, Layout, LayoutError, Tree};

/// The largest layout `r` found with `layout(r(i)) == i`. It ends where no mode certainly goes on:
/// a run-time stride does if it is the end of the modes before, as that of `(m,n):(1,m)`. Scaled
/// bases never do; a layout without stride 1 has the inverse `1:0`.
pub fn right_inverse(layout: &Layout) -> Layout {
    inverse_and_rest(layout).0
}

/// Whether [`right_inverse`] is as large as one can be, whatever the run-time values are.
pub fn right_inverse_is_largest(layout: &Layout) -> bool {
    let (_, end, rest) = inverse_and_rest(layout);
    rest.into_iter().all(|stride| {
        let (left, right) = (stride, end.clone());
        Condition::Equal { left, right }.decide() == Some(false)
    })
}

/// The inverse, the number of indices that it has, and the strides of the modes that it leaves out.
fn inverse_and_rest(layout: &Layout) -> (Layout, Int, Vec<Int>) {
    let mut modes = modes_with_prefix(layout);
    modes.retain(|(_, stride, _)| stride.path().is_empty());
    exchange_sort(&mut modes);
    modes.retain(|(_, stride, _)| !stride.is(0));
    let (mut shapes, mut strides) = (vec![Tree::Leaf(Int::ONE)], vec![Tree::Leaf(Int::ZERO)]);
    let mut end = Int::ONE;
    while let Some(next) = modes.iter().position(|(_, stride, _)| *stride == end) {
        let (shape, stride, prefix) = modes.remove(next);
        end = shape.mul(&stride);
        shapes.push(Tree::Leaf(shape));
        strides.push(Tree::Leaf(prefix));
    }
    let found = Layout::raw(Tree::Node(shapes), Tree::Node(strides));
    let rest = modes.into_iter().map(|(_, stride, _)| stride).collect();
    (coalesce_extents(&found), end, rest)
}

/// A layout `l` with `layout(l(layout(i))) == layout(i)`; for an injective layout `l(layout(i))`
/// is `i`.
///
/// # Errors
/// If a stride is dynamic, negative or a basis, if a stride is not a multiple of the next smaller
/// one, or if modes overlap such that there is no such layout (C++ CuTe does not test the last).
pub fn left_inverse(layout: &Layout) -> Result<Layout, LayoutError> {
    const OP: &str = "left_inverse";
    let mut modes = modes_with_prefix(layout);
    for (_, stride, _) in &modes {
        match stride {
            Int::Static(stride) if *stride >= 0 => {}
            Int::Dyn(_) => {
                return Err(LayoutError::NotStatic {
                    op: OP,
                    what: "each stride",
                    value: stride.clone(),
                });
            }
            _ => {
                return Err(LayoutError::Unsupported {
                    op: OP,
                    expected: "strides that are not negative",
                    found: layout.to_string(),
                });
            }
        }
    }
    exchange_sort(&mut modes);
    let (mut shapes, mut strides) = (Vec::new(), vec![Tree::Leaf(Int::ZERO)]);
    let mut covered = 1i64;
    for (_, stride, prefix) in &modes {
        let Some(step) = stride.as_static().filter(|step| *step != 0) else {
            continue;
        };
        if step % covered != 0 {
            return Err(LayoutError::NotDivisible {
                op: OP,
                what: "a stride",
                divisor: Int::Static(covered),
                value: stride.clone(),
            });
        }
        shapes.push(Tree::Leaf(Int::Static(step / covered)));
        strides.push(Tree::Leaf(prefix.clone()));
        covered = step;
    }
    check_digits(layout, &modes)?;
    let last = modes.last().map_or(Int::ONE, |(shape, _, _)| shape.clone());
    shapes.push(Tree::Leaf(last));
    Ok(coalesce(&Layout::raw(
        Tree::Node(shapes),
        Tree::Node(strides),
    )))
}

/// The inverse reads an offset as digits, one a mode. A mode that reaches into the digit of the
/// next one makes larger digits than that one has elements; they are only right in the last mode
/// of the layout, which goes on beyond its extent unless modes of one element follow it.
fn check_digits(layout: &Layout, sorted: &[(Int, Int, Int)]) -> Result<(), LayoutError> {
    let last_prefix = sorted
        .iter()
        .map(|(_, _, prefix)| prefix)
        .fold(Int::ONE, |last, prefix| last.max(prefix));
    let leaves = layout.shape().leaves();
    let goes_on = leaves.last().is_some_and(|extent| !extent.is(1));
    let mut reach = Int::ZERO;
    for (mode, (extent, stride, prefix)) in sorted.iter().enumerate() {
        if stride.is(0) {
            continue;
        }
        reach = reach.add(&extent.sub(&Int::ONE).mul(stride));
        let unbounded = goes_on && *prefix == last_prefix;
        let mut digit = reach.floor_div(stride);
        if let Some((_, next, _)) = sorted.get(mode + 1) {
            digit = digit.min(&next.floor_div(stride).sub(&Int::ONE));
        }
        if unbounded {
            continue;
        }
        let fits = Condition::AtMost {
            left: digit.add(&Int::ONE),
            right: extent.clone(),
        };
        require("left_inverse", fits, || LayoutError::Ambiguous {
            op: "left_inverse",
            layout: layout.to_string(),
            mode: Box::new(Layout::scalar(extent.clone(), stride.clone())),
            count: digit.add(&Int::ONE),
        })?;
    }
    Ok(())
}

/// Sorts by stride. The order of equal strides is part of the result, and it is that of C++ CuTe,
/// whose exchange sort is not stable.
fn exchange_sort(modes: &mut [(Int, Int, Int)]) {
    for i in 0..modes.len() {
        for j in i + 1..modes.len() {
            if modes[j].1.as_static() < modes[i].1.as_static() {
                modes.swap(i, j);
            }
        }
    }
}

/// The modes of the coalesced layout, each with the number of indices before it.
fn modes_with_prefix(layout: &Layout) -> Vec<(Int, Int, Int)> {
    let flat = coalesce(layout);
    let mut prefix = Int::ONE;
    let leaves = flat
        .shape()
        .leaves()
        .into_iter()
        .zip(flat.stride().leaves());
    leaves
        .map(|(shape, stride)| {
            let here = prefix.clone();
            prefix = prefix.mul(shape);
            (shape.clone(), stride.clone(), here)
        })
        .collect()
}
