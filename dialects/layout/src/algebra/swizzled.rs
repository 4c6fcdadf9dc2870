//! Operations that carry a swizzle through a layout.

use super::{composition, cosize, left_inverse, offset_at, right_inverse};
use crate::{AnyLayout, ComposedLayout, Int, Layout, LayoutError, Outer, Swizzle, Tree};

/// The swizzle `s` with `s(layout(x)) == layout(swizzle(x))` for all `x` below the size of the
/// layout.
///
/// # Errors
/// If the swizzle reaches beyond the size, or `layout` does not map the bits of the swizzle to bits in the same order, or is no map of
/// bits at all: its extents and strides must be powers of two without a common bit.
pub fn swizzle_through(layout: &Layout, swizzle: Swizzle) -> Result<Swizzle, LayoutError> {
    if swizzle.is_identity() {
        return Ok(swizzle);
    }
    let refuse = || LayoutError::Unsupported {
        op: "composition",
        expected: "a layout that keeps the bits of the swizzle together",
        found: format!("{layout} o {swizzle}"),
    };
    let reach = swizzle.yyy_mask() | swizzle.zzz_mask();
    let size = layout.size().as_static().ok_or_else(refuse)?;
    if image_bits(layout).is_none() || u64::try_from(size).is_ok_and(|size| reach >= size) {
        return Err(refuse());
    }
    let image = |mask: u64| -> Result<u32, LayoutError> {
        let mut first = None;
        for (index, bit) in bits(mask).enumerate() {
            let at = offset_at(&Tree::Leaf(Int::Static(1 << bit)), layout)?;
            let at = at.as_static().filter(|at| at.count_ones() == 1);
            let at = at.ok_or_else(refuse)?.trailing_zeros();
            let first = *first.get_or_insert(at);
            if at != first + index as u32 {
                return Err(refuse());
            }
        }
        first.ok_or_else(refuse)
    };
    let (deciding, changed) = (image(swizzle.yyy_mask())?, image(swizzle.zzz_mask())?);
    let shift = i64::from(deciding) - i64::from(changed);
    Swizzle::new(
        i64::from(swizzle.bits()),
        i64::from(deciding.min(changed)),
        shift,
    )
}

fn bits(mask: u64) -> impl Iterator<Item = u32> {
    (0..63).filter(move |bit| mask & (1 << bit) != 0)
}

/// The bits that a static layout moves, if it is exclusive-or linear: each bit of the index goes to
/// its own bit.
pub(super) fn image_bits(layout: &Layout) -> Option<u64> {
    let mut seen = 0u64;
    let leaves = layout.shape().leaves().into_iter();
    for (shape, stride) in leaves.zip(layout.stride().leaves()) {
        let (extent, step) = (shape.as_static()?, stride.as_static()?);
        if extent == 1 || step == 0 {
            continue;
        }
        let (count, first) = (power_bits(shape)?, power_bits(stride)?);
        if count + first > 62 {
            return None;
        }
        let here = ((1u64 << count) - 1) << first;
        if seen & here != 0 {
            return None;
        }
        seen |= here;
    }
    Some(seen)
}

/// The logarithm of a static power of two.
pub(super) fn power_bits(int: &Int) -> Option<u32> {
    let value = int.as_static().filter(|value| *value > 0)?;
    (value.count_ones() == 1).then(|| value.trailing_zeros())
}

/// `lhs o rhs` where either side may be composed.
///
/// # Errors
/// If a swizzle in `rhs` does not pass through `lhs` ([`swizzle_through`]), `lhs` is composed
/// already and `rhs` too, or the layouts do not compose.
pub fn compose(lhs: &AnyLayout, rhs: &AnyLayout) -> Result<AnyLayout, LayoutError> {
    let composed = match rhs {
        AnyLayout::Plain(rhs) => return lhs.map_inner(|inner| composition(inner, rhs)),
        AnyLayout::Composed(composed) => composed,
    };
    let unsupported = |expected| LayoutError::Unsupported {
        op: "composition",
        expected,
        found: rhs.to_string(),
    };
    let AnyLayout::Plain(lhs) = lhs else {
        return Err(unsupported("a plain layout behind a composed one"));
    };
    if composed.offset != Tree::Leaf(Int::ZERO) {
        return Err(unsupported("a composed layout of offset 0"));
    }
    // What lies beyond the domain of `lhs` would reach modes again that the swizzle went through.
    let (span, domain) = (cosize(&composed.inner)?, lhs.size());
    if span.upper().is_none_or(|span| span > domain.lower_extent()) {
        return Err(unsupported("a composed layout inside of the domain"));
    }
    match &composed.outer {
        Outer::Layout(outer) => {
            let outer = composition(lhs, outer)?;
            Ok(AnyLayout::Plain(composition(&outer, &composed.inner)?))
        }
        Outer::Swizzle(swizzle) => {
            let swizzle = swizzle_through(lhs, *swizzle)?;
            let inner = composition(lhs, &composed.inner)?;
            Ok(ComposedLayout::swizzle_of(swizzle, inner))
        }
    }
}

/// [`right_inverse`] of a layout that may be swizzled.
///
/// # Errors
/// If the swizzle does not pass through the inverse of the inner layout, or the offset is not 0.
pub fn right_inverse_any(layout: &AnyLayout) -> Result<AnyLayout, LayoutError> {
    inverse(layout, |inner| Ok(right_inverse(inner)))
}

/// [`left_inverse`] of a layout that may be swizzled.
///
/// # Errors
/// As [`right_inverse_any`] and [`left_inverse`].
pub fn left_inverse_any(layout: &AnyLayout) -> Result<AnyLayout, LayoutError> {
    inverse(layout, left_inverse)
}

/// A swizzle is its own inverse, so the inverse of `S o L` is that of `L` behind `S`.
fn inverse(
    layout: &AnyLayout,
    invert: impl Fn(&Layout) -> Result<Layout, LayoutError>,
) -> Result<AnyLayout, LayoutError> {
    let composed = match layout {
        AnyLayout::Plain(layout) => return Ok(AnyLayout::Plain(invert(layout)?)),
        AnyLayout::Composed(composed) => composed,
    };
    match composed.swizzle() {
        Some(swizzle) if composed.offset == Tree::Leaf(Int::ZERO) => {
            let inner = invert(&composed.inner)?;
            // No index of the inverse has a bit that decides about others.
            let lowest = 1i64 << swizzle.yyy_mask().trailing_zeros().min(62);
            if inner.size().upper().is_some_and(|size| size <= lowest) {
                return Ok(AnyLayout::Plain(inner));
            }
            let swizzle = swizzle_through(&inner, swizzle)?;
            Ok(ComposedLayout::swizzle_of(swizzle, inner))
        }
        _ => Err(LayoutError::Unsupported {
            op: "inverse",
            expected: "a plain layout, or a swizzled one of offset 0",
            found: layout.to_string(),
        }),
    }
}
