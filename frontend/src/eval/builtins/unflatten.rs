//! `unflatten<mode>(x, extents)`: a mode taken apart into several, the last of them the fastest, as rows and columns are numbered.

use super::layout::layout_of;
use crate::ast::BinaryOp;
use crate::diagnostics::codes;
use crate::eval::call::Call;
use crate::eval::modes::known;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::Val;
use cutec_layout::Tree;

pub(super) fn unflatten<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let (Some(x), Some(extents), Some(mode)) = (call.arg(0), call.arg(1), call.generics.first())
    else {
        return Err(Stop::Reported);
    };
    let mode = match &mode.value {
        Value::Int(of) => (*of, mode.expr.span),
        other => return ev.expected("a mode: an integer", &other.clone(), mode.expr.span),
    };
    let parts = match &extents.value {
        Value::Tuple(parts) => parts.clone(),
        other => vec![other.clone()],
    };
    let parts = (parts, extents.expr.span);
    match x.value.clone() {
        Value::Tile(tile) => {
            let axis = checked_mode(ev, mode, tile.shape.len())?;
            let size = Value::Int(tile.shape[axis]);
            let extents = extents_of(ev, parts, (size, call.span))?;
            let mut shape = tile.shape.clone();
            let mut known = Vec::new();
            for extent in extents {
                match extent {
                    Value::Int(extent @ 1..) => known.push(extent),
                    _ => return ev.static_needed("the shape of a tile", call.args[1].expr),
                }
            }
            shape.splice(axis..=axis, known);
            ev.reshaped(&tile, &shape, call.span).map(Value::Tile)
        }
        value => of_layout(ev, (value, x.expr.span), mode, parts, call),
    }
}

/// Of a layout, or of a tensor.
fn of_layout<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (value, span): (Value<'c, 'a>, Span),
    mode: (i64, Span),
    parts: (Vec<Value<'c, 'a>>, Span),
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let none = Attrs::default();
    let layout = layout_of(ev, &value, call)?;
    let rank = match known(&layout) {
        Some(layout) => layout.rank(),
        None => return ev.expected("a layout, a tensor or a tile", &value, span),
    };
    let axis = checked_mode(ev, mode, rank)?;
    let (mut shape, mut stride) = (Vec::new(), Vec::new());
    for at in 0..rank {
        let of = [ev.mode_of(&layout, at, "unflatten", call.span)?];
        let extent = ev.op(CuteOp::GetShape, "unflatten", &of, &none, call.span)?;
        let step = ev.op(CuteOp::GetStride, "unflatten", &of, &none, call.span)?;
        if at != axis {
            shape.push(extent);
            stride.push(step);
            continue;
        }
        let message = format!("mode {axis} is made of several already");
        ev.expect_one_mode(&of[0], message, span)?;
        let extent = integer(ev, &extent, call.span)?;
        let step = integer(ev, &step, call.span)?;
        let extents = extents_of(ev, parts.clone(), (extent, call.span))?;
        let mut steps = Vec::new();
        let mut next = step;
        for extent in extents.iter().rev() {
            steps.push(next.clone());
            next = product(ev, &next, extent, call.span)?;
        }
        steps.reverse();
        shape.extend(extents);
        stride.extend(steps);
    }
    let layout = ev.layout_of_modes([shape, stride], "unflatten", call.span)?;
    if value.as_view().is_none() {
        return Ok(layout);
    }
    ev.under_layout(value, layout, "unflatten", call.span)
}

fn checked_mode(
    ev: &mut Evaluator<'_, '_>,
    (mode, span): (i64, Span),
    rank: usize,
) -> Result<usize> {
    match usize::try_from(mode) {
        Ok(mode) if mode < rank => Ok(mode),
        _ => {
            let message = format!("there is no mode {mode} of {rank}");
            let label = format!("expected 0 to {}", rank.saturating_sub(1));
            ev.error(codes::MODE_OUT_OF_RANGE, span, message, label)
        }
    }
}

/// The extents into which a mode is taken apart: `_` as one of them is what is left.
fn extents_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (mut parts, span): (Vec<Value<'c, 'a>>, Span),
    (size, at): (Value<'c, 'a>, Span),
) -> Result<Vec<Value<'c, 'a>>> {
    for part in &mut parts {
        if !matches!(part, Value::Underscore) {
            *part = integer(ev, part, span)?;
            match part {
                Value::Int(1..) | Value::Scalar(_) => {}
                other => return ev.expected("a positive integer", &other.clone(), span),
            }
        }
    }
    let open = |part: &&Value<'c, 'a>| matches!(part, Value::Underscore);
    if parts.iter().filter(open).count() > 1 {
        let message = "`_` stands for two extents";
        return ev.error(
            codes::WRONG_ARGUMENTS,
            span,
            message,
            "expected one at most",
        );
    }
    let left = parts.iter().position(|part| open(&part));
    let known: Vec<Value<'c, 'a>> = parts.iter().filter(|part| !open(part)).cloned().collect();
    let mut all = Value::Int(1);
    for part in known {
        all = product(ev, &all, &part, at)?;
    }
    if let (Value::Int(size), Value::Int(all)) = (&size, &all) {
        let fits = if left.is_some() {
            size % all == 0
        } else {
            size == all
        };
        if !fits {
            let message = format!("a mode of {size} elements taken apart into {all}");
            let label = match left {
                Some(_) => format!("expected extents that divide {size}"),
                None => format!("expected extents that make {size}"),
            };
            return ev.error(codes::SHAPE_MISMATCH, span, message, label);
        }
    }
    if let Some(left) = left {
        parts[left] = ev.binary(BinaryOp::Div, (size, at), (all, at), at)?;
    }
    Ok(parts)
}

/// An integer: one that is known stays so.
pub(in crate::eval) fn integer<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    span: Span,
) -> Result<Value<'c, 'a>> {
    let known = match value.as_static() {
        Some(Val::Scalar(int)) => int.as_static(),
        Some(Val::Tuple(_, Tree::Leaf(Some(int)))) => int.value().as_static(),
        _ => None,
    };
    match (known, value) {
        (Some(number), _) => Ok(Value::Int(number)),
        (None, Value::Scalar(_)) => Ok(value.clone()),
        (None, other) => ev.numbers(other, span),
    }
}

/// The product of two integers, known or not.
fn product<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    a: &Value<'c, 'a>,
    b: &Value<'c, 'a>,
    span: Span,
) -> Result<Value<'c, 'a>> {
    match (a, b) {
        (Value::Int(1), other) | (other, Value::Int(1)) => Ok(other.clone()),
        _ => ev.binary(BinaryOp::Mul, (a.clone(), span), (b.clone(), span), span),
    }
}
