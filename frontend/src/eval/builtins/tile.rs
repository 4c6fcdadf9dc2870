//! Tiles of a kernel at tile level.

use crate::diagnostics::codes;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};

pub(super) const NAMES: [&str; 8] = [
    "zeros",
    "full",
    "iota",
    "transpose",
    "reshape",
    "broadcast",
    "dot",
    "tiles",
];

pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    Some(match name {
        "zeros" => filled(ev, call, None),
        "full" => filled(ev, call, call.arg(0)),
        "iota" => ev.iota(call),
        "transpose" => ev.transpose(call),
        "reshape" | "broadcast" => ev.reshaped(name, call),
        "dot" => ev.dot(call, None),
        "tiles" => tiles(ev, call),
        "reduce" => match call.arg(1).map(|arg| &arg.value) {
            Some(Value::Tile(tile)) => ev.reduce_tile(call, tile),
            _ => return None,
        },
        _ => return None,
    })
}

/// `zeros<f32>(bm, bn)`, `full<f32>(x, bm, bn)`.
fn filled<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    value: Option<&ArgValue<'c, 'a>>,
) -> Result<Value<'c, 'a>> {
    let first = if value.is_some() { 1 } else { 0 };
    ev.check_args(call, first + 1..=usize::MAX, &[], 1..=1, &[])?;
    let elem = super::elem_arg(ev, call, 0)?;
    ev.has_values(elem, call.span)?;
    let extents = call.args.iter().skip(first);
    let extents: Vec<_> = extents.map(|arg| (arg.value.clone(), arg.expr)).collect();
    let shape = ev.tile_shape(&extents, call.span)?;
    let (value, span) = match value {
        Some(arg) => (arg.value.clone(), arg.expr.span),
        None => match elem {
            cutec_dialects::elem::Elem::I1 => (Value::Bool(false), call.span),
            _ => (Value::Int(0), call.span),
        },
    };
    ev.as_tile(&value, (elem, &shape), span).map(Value::Tile)
}

/// `tiles(k, bk)`: the tiles of so many elements, the last one perhaps not whole.
fn tiles<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 2..=2, &[], 0..=0, &[])?;
    let [extent, by] = call.args.as_slice() else {
        return Err(crate::eval::Stop::Reported);
    };
    match &by.value {
        Value::Int(1..) => {}
        Value::Int(other) => {
            let message = format!("tiles of {other} elements");
            let label = "expected at least 1";
            return ev.error(codes::ILLEGAL_OPERATION, by.expr.span, message, label);
        }
        _ => return ev.static_needed("the extent of a tile", by.expr),
    }
    let part = |arg: &ArgValue<'c, 'a>| (arg.value.clone(), arg.expr.span);
    let count = ev.ceil_div(part(extent), part(by), call.span)?;
    let range = [Value::Int(0), count, Value::Int(1)];
    Ok(Value::Range(Box::new(range)))
}
