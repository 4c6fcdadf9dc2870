//! Filtering: what is left of a layout without repeated values.

use super::coalesce::profile_text;
use super::{coalesce, compact_col_major, transform_modes};
use crate::{Int, IntTuple, Layout, LayoutError, Tree};

/// Replaces the extents of static stride 0 by 1.
pub fn filter_zeros(layout: &Layout) -> Layout {
    let shape = filter_zeros_tuple(layout.stride(), layout.shape());
    Layout::raw(shape, layout.stride().clone())
}

/// Replaces the extents at a 0 of `guide` by 1.
///
/// # Errors
/// If the shape does not refine the profile of `guide`.
pub fn filter_zeros_with(layout: &Layout, guide: &IntTuple) -> Result<Layout, LayoutError> {
    if !guide.weakly_congruent(layout.shape()) {
        return Err(LayoutError::ProfileMismatch {
            op: "filter_zeros",
            expected: guide.to_string(),
            found: layout.shape().to_string(),
        });
    }
    let shape = filter_zeros_tuple(guide, layout.shape());
    Ok(Layout::raw(shape, layout.stride().clone()))
}

/// The leaves of `tuple`, but 1 at each static 0 of `guide`, which it refines.
pub(crate) fn filter_zeros_tuple(guide: &IntTuple, tuple: &IntTuple) -> IntTuple {
    match (guide, tuple) {
        (Tree::Leaf(guide), tuple) if guide.is(0) => tuple.repeat_like(&Int::ONE),
        (Tree::Node(guides), Tree::Node(modes)) => Tree::Node(
            guides
                .iter()
                .zip(modes)
                .map(|(guide, mode)| filter_zeros_tuple(guide, mode))
                .collect(),
        ),
        (_, tuple) => tuple.clone(),
    }
}

/// Removes modes of stride 0 or extent 1, and coalesces.
pub fn filter(layout: &Layout) -> Layout {
    coalesce(&filter_zeros(layout))
}

/// Filters at each leaf of `profile`. Modes beyond the profile stay as they are.
///
/// # Errors
/// If the profile has more modes than the layout.
pub fn filter_profile<T>(layout: &Layout, profile: &Tree<T>) -> Result<Layout, LayoutError> {
    match profile {
        Tree::Leaf(_) => Ok(filter(layout)),
        Tree::Node(profiles) => transform_modes(
            "filter",
            layout,
            profiles,
            || profile_text(profile),
            true,
            |mode, profile| filter_profile(&mode, profile),
        ),
    }
}

/// The layout of the indices that `layout` sends to 0 by its strides 0.
pub fn nullspace(layout: &Layout) -> Layout {
    let shape = layout.shape().flatten();
    let strides = compact_col_major(&shape);
    let (shapes, strides): (Vec<_>, Vec<_>) = shape
        .modes()
        .iter()
        .zip(strides.modes())
        .zip(layout.stride().leaves())
        .filter(|(_, stride)| stride.is(0))
        .map(|((shape, stride), _)| (shape.clone(), stride.clone()))
        .unzip();
    if shapes.is_empty() {
        return Layout::unit();
    }
    Layout::raw(
        Tree::Node(shapes).unwrap_unit(),
        Tree::Node(strides).unwrap_unit(),
    )
}
