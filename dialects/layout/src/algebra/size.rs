//! Sizes of domain and codomain, rank and depth.

use super::int_tuple::{inner_product, product};
use crate::{AnyLayout, Int, IntTuple, Layout, LayoutError, Tree};

/// Number of coordinates of a layout.
pub fn size(layout: &Layout) -> Int {
    layout.size()
}

/// Number of modes of a layout.
pub fn rank(layout: &Layout) -> usize {
    layout.rank()
}

/// Nesting depth of a layout.
pub fn depth(layout: &Layout) -> usize {
    layout.depth()
}

/// The smallest shape that holds every value of the layout: an integer for integer strides, a
/// tuple for scaled bases. Strides count by their absolute value.
///
/// # Errors
/// If integers and bases are mixed.
pub fn coshape(layout: &Layout) -> Result<IntTuple, LayoutError> {
    let last = layout.shape().map(&mut |extent| extent.sub(&Int::ONE));
    let steps = layout.stride().map(&mut |stride| stride.abs());
    let end = super::int_tuple::spell_basis(&inner_product(&last, &steps)?);
    Ok(end.map(&mut |end| end.add(&Int::ONE)))
}

/// One more than the largest value of the layout.
///
/// # Errors
/// As [`coshape`].
pub fn cosize(layout: &Layout) -> Result<Int, LayoutError> {
    Ok(product(&coshape(layout)?))
}

/// [`cosize`] of the layout inside a composition; that is the number of elements to allocate
/// behind a swizzle, provided that it fills whole periods.
///
/// # Errors
/// As [`coshape`].
pub fn cosize_any(layout: &AnyLayout) -> Result<Int, LayoutError> {
    match layout {
        AnyLayout::Plain(layout) => cosize(layout),
        AnyLayout::Composed(composed) => match &composed.outer {
            crate::Outer::Swizzle(_) => cosize(&composed.inner),
            crate::Outer::Layout(outer) => cosize(outer),
        },
    }
}

/// The profile of the codomain that the bases of `stride` point into; a leaf for integers.
pub(crate) fn coprofile(op: &'static str, stride: &IntTuple) -> Result<Tree<()>, LayoutError> {
    fn insert(tree: Tree<()>, path: &[usize]) -> Tree<()> {
        let Some((&mode, rest)) = path.split_first() else {
            return tree;
        };
        let mut modes = match tree {
            Tree::Leaf(()) => Vec::new(),
            Tree::Node(modes) => modes,
        };
        while modes.len() <= mode {
            modes.push(Tree::Leaf(()));
        }
        let below = std::mem::replace(&mut modes[mode], Tree::Leaf(()));
        modes[mode] = insert(below, rest);
        Tree::Node(modes)
    }
    if !stride.any(&mut |leaf| !leaf.path().is_empty()) {
        return Ok(Tree::Leaf(()));
    }
    let mut profile = Tree::Leaf(());
    for leaf in stride.leaves() {
        if leaf.path().is_empty() && !leaf.is(0) {
            return Err(LayoutError::Unsupported {
                op,
                expected: "strides that are all integers or all scaled bases",
                found: stride.to_string(),
            });
        }
        profile = insert(profile, leaf.path());
    }
    Ok(profile)
}
