//! Right and left inverses.

use super::coalesce;
use crate::obligation::require;
use crate::{Condition, Int, Layout, LayoutError, Tree};

/// The largest layout `r` found with `layout(r(i)) == i`. Dynamic strides and scaled bases end
/// it; a layout without stride 1 has the inverse `1:0`.
pub fn right_inverse(layout: &Layout) -> Layout {
    let mut modes = modes_with_prefix(layout);
    modes.retain(|(_, stride, _)| stride.as_static().is_some());
    modes.sort_by_key(|(_, stride, _)| stride.as_static());
    let (mut shapes, mut strides) = (vec![Tree::Leaf(Int::ONE)], vec![Tree::Leaf(Int::ZERO)]);
    let mut current = Int::ONE;
    for (shape, stride, prefix) in modes {
        if stride == current && stride.is_static() && current.is_static() {
            current = shape.mul(&stride);
            shapes.push(Tree::Leaf(shape));
            strides.push(Tree::Leaf(prefix));
        }
    }
    coalesce(&Layout::raw(Tree::Node(shapes), Tree::Node(strides)))
}

/// A layout `l` with `l(layout(i)) == i` up to modes of stride 0, which map to 0.
///
/// # Errors
/// If a stride is dynamic, negative or a basis, if a stride is not a multiple of the next smaller
/// one, or if the layout is not injective (C++ CuTe does not test the last).
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
    modes.sort_by_key(|(_, stride, _)| stride.as_static());
    let (mut shapes, mut strides) = (Vec::new(), vec![Tree::Leaf(Int::ZERO)]);
    let mut covered = 1i64;
    let mut previous: Option<Int> = None;
    for (mode, (shape, stride, prefix)) in modes.iter().enumerate() {
        let Some(step) = stride.as_static().filter(|step| *step != 0) else {
            continue;
        };
        if step % covered != 0 {
            return Err(LayoutError::NotDivisible {
                op: OP,
                divisor: Int::Static(covered),
                value: stride.clone(),
            });
        }
        let share = Int::Static(step / covered);
        if let Some(previous) = previous.replace(shape.clone()) {
            let fits = Condition::AtMost {
                left: previous,
                right: share.clone(),
            };
            require(OP, fits, || LayoutError::NotInjective {
                op: OP,
                layout: layout.to_string(),
                mode,
            })?;
        }
        covered = step;
        shapes.push(Tree::Leaf(share));
        strides.push(Tree::Leaf(prefix.clone()));
    }
    let last = modes.last().map_or(Int::ONE, |(shape, _, _)| shape.clone());
    shapes.push(Tree::Leaf(last));
    Ok(coalesce(&Layout::raw(
        Tree::Node(shapes),
        Tree::Node(strides),
    )))
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
