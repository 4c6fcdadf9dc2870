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

/// [`cosize`] of the layout inside a composition. [`storage`] says how many elements to allocate for it.
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

/// How many elements memory behind a layout has: its [`cosize`], or more where a swizzle moves an element beyond that, in a period that is
/// not full.
///
/// # Errors
/// As [`coshape`].
pub fn storage(layout: &AnyLayout) -> Result<Int, LayoutError> {
    let size = cosize_any(layout)?;
    let (Some(swizzle), Some(known)) = (layout.swizzle(), size.as_static()) else {
        return Ok(size);
    };
    let full = known - known % swizzle.period();
    let last = (full..known).map(|offset| swizzle.apply(offset) + 1).max();
    Ok(Int::Static(last.unwrap_or(known).max(known)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ComposedLayout, Layout, Swizzle};

    /// By its definition: room for the last place.
    #[test]
    fn memory_has_room_for_all_places() {
        let mut beyond = 0;
        for size in 1..=200 {
            for (bits, base, shift) in [
                (0, 0, 0),
                (1, 3, 2),
                (2, 3, 3),
                (3, 4, 3),
                (1, 0, 1),
                (2, 2, -2),
            ] {
                let swizzle = Swizzle::new(bits, base, shift).expect("a swizzle");
                let plain = Layout::contiguous(size);
                let layout = ComposedLayout::swizzled(swizzle, Int::ZERO, plain).into();
                let last = (0..size).map(|at| swizzle.apply(at)).max();
                let found = storage(&layout).expect("static").as_static();
                assert_eq!(found, last.map(|last| (last + 1).max(size)), "{layout}");
                beyond += i32::from(found > Some(size));
            }
        }
        assert!(beyond > 0);
    }
}
