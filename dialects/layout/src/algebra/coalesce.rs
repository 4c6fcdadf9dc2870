//! Coalescing: fewer modes, the same function of an integer.

use super::transform_modes;
use crate::{Int, IntTuple, Layout, LayoutError, Tree};

/// When a mode and the next one, which begins where it ends, become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// If all of both is static but for the stride of the next one, as in CuTe: the profile is the
    /// same for every value.
    Static,
    /// Also if the extent of the next one is known at run time only: the profile is still the same.
    Extent,
    /// Whenever it is certain; the profile depends on what is known of the values.
    Certain,
}

/// The layout of depth at most 1 with the fewest modes that is the same function on
/// `0 .. size`. Modes merge only where static leaves show that they do.
pub fn coalesce(layout: &Layout) -> Layout {
    coalesce_by(layout, Rule::Static)
}

/// [`coalesce`] that merges run-time modes too, wherever one certainly begins at the end of the one
/// before: `(192,?):(1,192)` becomes `?{div=192}:1`, and `(m,n):(1,m)` one mode of `m * n`.
pub fn coalesce_run_time(layout: &Layout) -> Layout {
    coalesce_by(layout, Rule::Certain)
}

/// [`coalesce_run_time`] as far as the profile does not depend on run-time values.
pub(super) fn coalesce_extents(layout: &Layout) -> Layout {
    coalesce_by(layout, Rule::Extent)
}

fn coalesce_by(layout: &Layout, rule: Rule) -> Layout {
    let merged = merge(layout, false, rule);
    match merged.as_slice() {
        [(shape, _)] if shape.is(1) => Layout::unit(),
        _ => from_flat(merged),
    }
}

/// [`coalesce`], but the same function beyond the size too: `(4,1):(1,0)` does not become `4:1`.
/// Run-time extents merge too.
pub(crate) fn coalesce_x(layout: &Layout) -> Layout {
    from_flat(merge(layout, true, Rule::Extent))
}

/// Coalesces at each leaf of `profile`. Modes beyond the profile stay as they are.
///
/// # Errors
/// If the profile has more modes than the layout.
pub fn coalesce_profile<T>(layout: &Layout, profile: &Tree<T>) -> Result<Layout, LayoutError> {
    by_profile(layout, profile, Rule::Static)
}

/// [`coalesce_run_time`] at each leaf of `profile`. Modes beyond the profile stay as they are.
///
/// # Errors
/// If the profile has more modes than the layout.
pub fn coalesce_run_time_profile<T>(
    layout: &Layout,
    profile: &Tree<T>,
) -> Result<Layout, LayoutError> {
    by_profile(layout, profile, Rule::Certain)
}

fn by_profile<T>(layout: &Layout, profile: &Tree<T>, rule: Rule) -> Result<Layout, LayoutError> {
    match profile {
        Tree::Leaf(_) => Ok(coalesce_by(layout, rule)),
        Tree::Node(profiles) => transform_modes(
            "coalesce",
            layout,
            profiles,
            || profile_text(profile),
            true,
            |mode, profile| by_profile(&mode, profile, rule),
        ),
    }
}

pub(crate) fn coalesce_x_profile<T>(
    op: &'static str,
    layout: &Layout,
    profile: &Tree<T>,
) -> Result<Layout, LayoutError> {
    match profile {
        Tree::Leaf(_) => Ok(coalesce_x(layout)),
        Tree::Node(profiles) => transform_modes(
            op,
            layout,
            profiles,
            || profile_text(profile),
            true,
            |mode, profile| coalesce_x_profile(op, &mode, profile),
        ),
    }
}

pub(crate) fn profile_text<T>(profile: &Tree<T>) -> String {
    profile.map(&mut |_| 1).to_string()
}

/// Merges neighbouring modes of a shape that are both static or both dynamic.
pub fn coalesce_shape(shape: &IntTuple) -> IntTuple {
    let mut out: Vec<Int> = Vec::new();
    for leaf in shape.leaves() {
        match out.last_mut() {
            Some(last) if last.is_static() == leaf.is_static() => *last = last.mul(leaf),
            _ => out.push(leaf.clone()),
        }
    }
    match (out.len(), out.pop()) {
        (1, Some(only)) => Tree::Leaf(only),
        (_, last) => Tree::Node(out.into_iter().chain(last).map(Tree::Leaf).collect()),
    }
}

/// The flat modes after merging, from left to right; never empty. With `beyond`, a last mode of
/// extent 1 is kept as one of extent 2, which says where the function goes on.
fn merge(layout: &Layout, beyond: bool, rule: Rule) -> Vec<(Int, Int)> {
    // Built from the back, as the last mode decides what lies beyond.
    let mut out: Vec<(Int, Int)> = Vec::with_capacity(layout.shape().leaf_count().max(1));
    layout
        .shape()
        .visit_pairs_back(layout.stride(), &mut |shape, stride| {
            let only = out.len() == 1;
            let Some((front_shape, front_stride)) = out.last_mut() else {
                let last = match shape.is(1) && beyond {
                    true => Int::Static(2),
                    false => shape.clone(),
                };
                out.push((last, stride.clone()));
                return;
            };
            if shape.is(1) {
                return;
            }
            if only && front_shape.is(1) {
                (*front_shape, *front_stride) = (shape.clone(), stride.clone());
            } else if merges((shape, stride), front_shape, rule)
                && shape.mul(stride) == *front_stride
            {
                *front_shape = shape.mul(front_shape);
                *front_stride = stride.clone();
            } else {
                out.push((shape.clone(), stride.clone()));
            }
        });
    if out.is_empty() {
        out.push((Int::ONE, Int::ZERO));
    }
    out.reverse();
    out
}

/// Whether a mode may merge with a next one of extent `next`.
fn merges((shape, stride): (&Int, &Int), next: &Int, rule: Rule) -> bool {
    let is_static = shape.is_static() && stride.is_static();
    match rule {
        Rule::Static => is_static && next.is_static(),
        Rule::Extent => is_static,
        Rule::Certain => true,
    }
}

fn from_flat(mut modes: Vec<(Int, Int)>) -> Layout {
    if modes.len() == 1
        && let Some((shape, stride)) = modes.pop()
    {
        return Layout::raw(Tree::Leaf(shape), Tree::Leaf(stride));
    }
    let (shapes, strides) = modes
        .into_iter()
        .map(|(shape, stride)| (Tree::Leaf(shape), Tree::Leaf(stride)))
        .unzip();
    Layout::raw(Tree::Node(shapes), Tree::Node(strides))
}
