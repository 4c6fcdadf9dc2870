//! What vector width a layout allows.

use super::{coalesce, composition, logical_divide_layout, right_inverse};
use crate::int::gcd;
use crate::{AnyLayout, Int, Layout, LayoutError, Outer, Tree};

/// The largest `n` for which [`upcast`](super::upcast) by `n` is possible as far as static leaves
/// tell; dynamic strides are taken to be multiples of it.
pub fn max_alignment(layout: &Layout) -> i64 {
    let flat = coalesce(layout);
    let keep = |leaf: &Int, other: i64| match leaf {
        Int::Static(_) => leaf.clone(),
        _ => Int::Static(other),
    };
    let known = Layout::raw(
        flat.shape().map(&mut |leaf| keep(leaf, 1)),
        flat.stride().map(&mut |leaf| keep(leaf, 0)),
    );
    let Ok(permuted) = logical_divide_layout(&known, &right_inverse(&known)) else {
        return 1;
    };
    let Some(rest) = permuted.stride().mode(1) else {
        return 1;
    };
    let contiguous = permuted.mode(0).map_or(Int::ONE, |mode| mode.size());
    rest.leaves()
        .into_iter()
        .filter_map(Int::as_static)
        .fold(contiguous.as_static().unwrap_or(1), gcd)
}

/// [`max_alignment`] for a layout that may be composed: behind a swizzle also its base and the
/// offset count; behind a layout nothing is known.
pub fn max_alignment_any(layout: &AnyLayout) -> i64 {
    match layout {
        AnyLayout::Plain(layout) => max_alignment(layout),
        AnyLayout::Composed(composed) => match (&composed.outer, &composed.offset) {
            (Outer::Swizzle(swizzle), Tree::Leaf(offset)) => {
                let inner = gcd(max_alignment(&composed.inner), 1 << swizzle.base());
                gcd(inner, offset.div())
            }
            _ => 1,
        },
    }
}

/// A layout of the indices at which both layouts are contiguous and agree: `a(r(i)) == i` and
/// `b(r(i)) == i` for all `i` below its size.
///
/// # Errors
/// If the layouts do not compose.
pub fn max_common_layout(a: &Layout, b: &Layout) -> Result<Layout, LayoutError> {
    let inverse = right_inverse(b);
    let common = coalesce(&composition(a, &inverse)?);
    match common.mode(0) {
        Some(first) if is_identity(&first) => composition(&inverse, &first),
        _ => Ok(Layout::unit()),
    }
}

/// The number of contiguous elements that logically correspond in both layouts; at least 1.
///
/// # Errors
/// If the layouts do not compose.
pub fn max_common_vector(a: &Layout, b: &Layout) -> Result<i64, LayoutError> {
    let common = coalesce(&composition(a, &right_inverse(b))?);
    Ok(match common.mode(0) {
        Some(first) if is_identity(&first) => first.size().as_static().unwrap_or(1),
        _ => 1,
    })
}

/// [`max_common_vector`] for layouts that may be swizzled; different swizzles limit it to the
/// elements below their bases.
///
/// # Errors
/// If the inner layouts do not compose, or a layout is composed with another one.
pub fn max_common_vector_any(a: &AnyLayout, b: &AnyLayout) -> Result<i64, LayoutError> {
    let common = max_common_vector(a.inner(), b.inner())?;
    if let Some(layout) = [a, b]
        .into_iter()
        .find(|layout| layout.as_plain().is_none() && layout.swizzle().is_none())
    {
        return Err(LayoutError::Unsupported {
            op: "max_common_vector",
            expected: "a plain or swizzled layout",
            found: layout.to_string(),
        });
    }
    if a.swizzle() == b.swizzle() {
        return Ok(common);
    }
    let limit = |layout: &AnyLayout| layout.swizzle().map_or(i64::MAX, |s| 1 << s.base());
    Ok(common.min(limit(a)).min(limit(b)))
}

fn is_identity(mode: &Layout) -> bool {
    matches!(
        (mode.shape(), mode.stride()),
        (Tree::Leaf(Int::Static(_)), Tree::Leaf(Int::Static(1)))
    )
}
