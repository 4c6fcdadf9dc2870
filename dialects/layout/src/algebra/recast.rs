//! The same memory seen as elements of another width.

use crate::obligation::require;
use crate::{
    AnyLayout, ComposedLayout, Condition, Int, IntTuple, Layout, LayoutError, Outer, Tree,
};

const OP: &str = "recast_layout";

/// The layout in units of `n` elements: a contiguous mode shrinks by `n`, strides are divided.
///
/// # Errors
/// If a stride and `n` do not divide each other, or a stride is a scaled basis.
pub fn upcast(layout: &Layout, n: i64) -> Result<Layout, LayoutError> {
    by_leaf(layout, &|shape, stride| {
        if n <= 0 {
            return Err(bad_factor(n));
        }
        match stride {
            Int::Static(0) => Ok((shape.clone(), stride.clone())),
            Int::Static(step) => {
                let size = step.saturating_abs();
                if size % n != 0 && n % size != 0 {
                    return Err(LayoutError::Unrelated {
                        op: OP,
                        what: "a stride",
                        value: stride.clone(),
                        other: Int::Static(n),
                    });
                }
                let share = Int::Static(n).ceil_div(&Int::Static(size));
                let step = Int::Static(step.signum()).mul(&stride.abs().ceil_div(&Int::Static(n)));
                Ok((shape.ceil_div(&share), step))
            }
            Int::Dyn(_) => {
                let n = Int::Static(n);
                let divides = Condition::Divides {
                    divisor: n.clone(),
                    value: stride.clone(),
                };
                require(OP, divides, || not_divisible("a stride", &n, stride))?;
                Ok((shape.clone(), stride.floor_div(&n)))
            }
            Int::Scaled(..) => Err(basis(layout)),
        }
    })
}

/// The layout in units of an `n`-th of an element: the contiguous mode grows by `n`, strides are
/// multiplied. Where no static stride is 1, the only run-time one has to be.
///
/// # Errors
/// If no mode is contiguous, or a stride is a scaled basis. If run-time strides leave that
/// undecided ([`assuming`](crate::assuming)).
pub fn downcast(layout: &Layout, n: i64) -> Result<Layout, LayoutError> {
    if n <= 0 {
        return Err(bad_factor(n));
    }
    if n != 1 && !layout.stride().leaves().iter().any(|leaf| leaf.is(1)) {
        return downcast_run_time(layout, &Int::Static(n));
    }
    // Of several modes of stride 1 only one can be the contiguous one.
    let leaves = layout.shape().leaves().into_iter();
    let unit_strides = leaves
        .zip(layout.stride().leaves())
        .filter(|(_, stride)| matches!(stride, Int::Static(1 | -1)));
    let (mut count, mut wide) = (0, false);
    for (shape, _) in unit_strides {
        count += 1;
        wide |= !shape.is(1);
    }
    let grown = std::cell::Cell::new(false);
    let n = Int::Static(n);
    by_leaf(layout, &|shape, stride| match stride {
        Int::Static(1 | -1) if count == 1 || !(grown.get() || wide && shape.is(1)) => {
            grown.set(true);
            Ok((shape.mul(&n), stride.clone()))
        }
        Int::Scaled(..) => Err(basis(layout)),
        stride => Ok((shape.clone(), stride.mul(&n))),
    })
}

/// [`downcast`] of a layout without a static stride 1.
fn downcast_run_time(layout: &Layout, n: &Int) -> Result<Layout, LayoutError> {
    let refuse = || LayoutError::Unsupported {
        op: OP,
        expected: "a layout with a contiguous mode",
        found: layout.to_string(),
    };
    let strides = layout.stride().leaves();
    let mut run_time = strides.iter().filter(|stride| stride.as_sym().is_some());
    let (Some(contiguous), None) = (run_time.next(), run_time.next()) else {
        return Err(refuse());
    };
    let is_contiguous = Condition::Equal {
        left: (*contiguous).clone(),
        right: Int::ONE,
    };
    require(OP, is_contiguous, refuse)?;
    by_leaf(layout, &|shape, stride| match stride {
        Int::Dyn(_) => Ok((shape.mul(n), stride.clone())),
        Int::Static(_) => Ok((shape.clone(), stride.mul(n))),
        Int::Scaled(..) => Err(basis(layout)),
    })
}

/// The layout of elements of `new_bits` bits over the memory that `layout` describes in elements
/// of `old_bits` bits.
///
/// # Errors
/// If the widths or the strides do not divide as needed.
pub fn recast_layout(layout: &Layout, new_bits: i64, old_bits: i64) -> Result<Layout, LayoutError> {
    let (up, down) = ratio(new_bits, old_bits)?;
    let layout = if up == 1 {
        layout.clone()
    } else {
        upcast(layout, up)?
    };
    if down == 1 {
        Ok(layout)
    } else {
        downcast(&layout, down)
    }
}

/// [`recast_layout`] for a layout that may be composed.
///
/// # Errors
/// As [`recast_layout`]; also if the swizzle or the offset cannot be recast.
pub fn recast_layout_any(
    layout: &AnyLayout,
    new_bits: i64,
    old_bits: i64,
) -> Result<AnyLayout, LayoutError> {
    let composed = match layout {
        AnyLayout::Plain(layout) => {
            return Ok(AnyLayout::Plain(recast_layout(layout, new_bits, old_bits)?));
        }
        AnyLayout::Composed(composed) => composed,
    };
    let outer = match &composed.outer {
        Outer::Swizzle(swizzle) => Outer::Swizzle(swizzle.recast(old_bits, new_bits)?),
        Outer::Layout(layout) => Outer::Layout(recast_layout(layout, new_bits, old_bits)?),
    };
    let (up, down) = ratio(new_bits, old_bits)?;
    let mut failed = None;
    let offset = composed.offset.map(&mut |leaf| {
        let scaled = leaf.mul(&Int::Static(down));
        let divides = Condition::Divides {
            divisor: Int::Static(up),
            value: scaled.clone(),
        };
        if let Err(error) = require(OP, divides, || {
            not_divisible("an offset", &Int::Static(up), leaf)
        }) {
            failed = Some(error);
        }
        scaled.floor_div(&Int::Static(up))
    });
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(AnyLayout::Composed(ComposedLayout {
        outer,
        offset,
        inner: recast_layout(&composed.inner, new_bits, old_bits)?,
    }))
}

/// `new_bits / old_bits` in lowest terms.
fn ratio(new_bits: i64, old_bits: i64) -> Result<(i64, i64), LayoutError> {
    if new_bits <= 0 || old_bits <= 0 {
        return Err(bad_factor(new_bits.min(old_bits)));
    }
    let common = crate::int::gcd(new_bits, old_bits);
    Ok((new_bits / common, old_bits / common))
}

fn by_leaf(
    layout: &Layout,
    f: &impl Fn(&Int, &Int) -> Result<(Int, Int), LayoutError>,
) -> Result<Layout, LayoutError> {
    fn go(
        shape: &IntTuple,
        stride: &IntTuple,
        f: &impl Fn(&Int, &Int) -> Result<(Int, Int), LayoutError>,
    ) -> Result<Layout, LayoutError> {
        match (shape, stride) {
            (Tree::Node(shapes), Tree::Node(strides)) => {
                let modes: Result<Vec<_>, _> = shapes
                    .iter()
                    .zip(strides)
                    .map(|(shape, stride)| go(shape, stride, f))
                    .collect();
                Ok(Layout::concat(modes?))
            }
            (Tree::Leaf(shape), Tree::Leaf(stride)) => {
                let (shape, stride) = f(shape, stride)?;
                Ok(Layout::scalar(shape, stride))
            }
            _ => Err(LayoutError::ProfileMismatch {
                op: OP,
                expected: shape.to_string(),
                found: stride.to_string(),
            }),
        }
    }
    go(layout.shape(), layout.stride(), f)
}

fn not_divisible(what: &'static str, divisor: &Int, value: &Int) -> LayoutError {
    LayoutError::NotDivisible {
        op: OP,
        what,
        divisor: divisor.clone(),
        value: value.clone(),
    }
}

fn bad_factor(n: i64) -> LayoutError {
    LayoutError::Unsupported {
        op: OP,
        expected: "a positive number of bits",
        found: n.to_string(),
    }
}

fn basis(layout: &Layout) -> LayoutError {
    LayoutError::Unsupported {
        op: OP,
        expected: "integer strides",
        found: layout.to_string(),
    }
}
