//! Layouts: accessors and the algebra, each one operation of the `cute` dialect.

use crate::diagnostics::codes;
use crate::eval::call::Call;
use crate::eval::materialize::OpA;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{AnyLayout, Tree};

/// Operations of the layout algebra, with the number of their operands.
const ALGEBRA: [(&str, usize, usize); 16] = [
    ("coalesce", 1, 1),
    ("flatten", 1, 1),
    ("composition", 2, 2),
    ("complement", 2, 2),
    ("right_inverse", 1, 1),
    ("left_inverse", 1, 1),
    ("logical_divide", 2, 2),
    ("zipped_divide", 2, 2),
    ("tiled_divide", 2, 2),
    ("flat_divide", 2, 2),
    ("logical_product", 2, 2),
    ("blocked_product", 2, 2),
    ("raked_product", 2, 2),
    ("tile_to_shape", 2, 2),
    ("cosize", 1, 1),
    ("crd2idx", 2, 2),
];

pub(super) const NAMES: [&str; 16] = {
    let mut names = [""; 16];
    let mut at = 0;
    while at < 16 {
        names[at] = ALGEBRA[at].0;
        at += 1;
    }
    names
};
pub(super) const OTHERS: [&str; 8] = [
    "is_static",
    "size",
    "rank",
    "shape",
    "stride",
    "layout",
    "get",
    "group_modes",
];

pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    if let Some((_, least, most)) = ALGEBRA.iter().find(|(known, ..)| *known == name) {
        return Some(algebra(ev, name, call, *least, *most));
    }
    Some(match name {
        "size" | "shape" | "get" | "stride" => accessor(ev, name, call),
        "is_static" => is_static(ev, call),
        "rank" => rank(ev, call),
        "layout" => layout(ev, call),
        "group_modes" => modes_of(ev, name, call),
        "select" if !call.generics.is_empty() => modes_of(ev, name, call),
        _ => return None,
    })
}

fn algebra<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    call: &Call<'c, 'a>,
    least: usize,
    most: usize,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, least..=most, &[], 0..=0, &[])?;
    let mut operands = call.positional();
    // Where the algebra wants a layout, a shape stands for the compact layout of it.
    let wants_layout: &[usize] = match name {
        "logical_product" => &[0],
        "blocked_product" | "raked_product" => &[0, 1],
        "composition" | "complement" | "right_inverse" | "left_inverse" | "cosize"
        | "tile_to_shape" => &[0],
        "crd2idx" => &[1],
        _ => &[],
    };
    for at in wants_layout {
        if let (Value::Int(_) | Value::Tuple(_) | Value::Scalar(_), Some(arg)) =
            (&operands[*at], call.arg(*at))
        {
            operands[*at] = ev.layout_of(&operands[*at].clone(), arg.expr.span)?;
        }
    }
    ev.op(name, name, &operands, &OpA::default(), call.span)
}

/// The generic arguments as modes.
fn modes<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Vec<i64>> {
    let mut modes = Vec::new();
    for arg in &call.generics {
        match &arg.value {
            Value::Int(mode) => modes.push(*mode),
            other => return ev.expected("a mode: an integer", &other.clone(), arg.expr.span),
        }
    }
    Ok(modes)
}

fn accessor<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=usize::MAX, &[])?;
    let path = modes(ev, call)?;
    let operands = call.positional();
    match name {
        "size" => ev.op("size", "size", &operands, &OpA::mode(path), call.span),
        "get" => ev.op("get", "get", &operands, &OpA::mode(path), call.span),
        _ => {
            let mut value = operands.into_iter().next().unwrap_or(Value::Error);
            if !path.is_empty() {
                value = ev.op("get", name, &[value], &OpA::mode(path), call.span)?;
            }
            if name == "shape" {
                // A shape is its own.
                if matches!(&value, Value::Cute(cute) if matches!(cute.val, Val::Tuple(TupleKind::Shape, _)))
                {
                    return Ok(value);
                }
                return ev.op("get_shape", "shape", &[value], &OpA::default(), call.span);
            }
            let value = layout_of(ev, &value, call)?;
            ev.op("get_stride", "stride", &[value], &OpA::default(), call.span)
        }
    }
}

/// The layout of a layout or of a tensor.
fn layout_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    match value {
        Value::Cute(cute) if matches!(cute.val, Val::View(_)) => ev.op(
            "get_layout",
            "layout",
            std::slice::from_ref(value),
            &OpA::default(),
            call.span,
        ),
        other => ev.layout_of(other, call.span),
    }
}

fn layout<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=2, &[], 0..=usize::MAX, &[])?;
    let path = modes(ev, call)?;
    let mut operands = call.positional();
    if let [shape, order] = operands.as_slice() {
        return ordered(ev, &shape.clone(), &order.clone(), call);
    }
    let mut value = operands.remove(0);
    if !path.is_empty() {
        value = ev.op("get", "layout", &[value], &OpA::mode(path), call.span)?;
    }
    layout_of(ev, &value, call)
}

/// `layout(shape, row)`, `layout(shape, col)`, `layout(shape, stride)`.
fn ordered<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    shape: &Value<'c, 'a>,
    order: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    match order {
        Value::Str(text) if &**text == "col" => ev.layout_of(shape, call.span),
        Value::Str(text) if &**text == "row" => {
            let known = shape
                .as_layout()
                .map(|layout| cutec_layout::Layout::row_major(layout.shape().clone()));
            match known {
                Some(layout) => Ok(Value::Static(Val::Layout(AnyLayout::Plain(layout)))),
                None => ev.unsupported(
                    call.span,
                    "a row-major layout of a run-time shape",
                    "write its strides",
                ),
            }
        }
        Value::Str(_) => ev.expected("`row`, `col` or strides", order, call.span),
        stride => ev.op(
            "make_layout",
            "layout",
            &[shape.clone(), stride.clone()],
            &OpA::default(),
            call.span,
        ),
    }
}

fn is_static<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    fn known(value: &Value) -> bool {
        match value {
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(known),
            Value::Range(parts) => parts.iter().all(known),
            Value::Scalar(_) | Value::Cute(_) | Value::Vector(_) | Value::Slot(_) => false,
            Value::Tile(_) => false,
            _ => true,
        }
    }
    Ok(Value::Bool(call.positional().iter().all(known)))
}

fn rank<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=usize::MAX, &[])?;
    let path = modes(ev, call)?;
    let mut value = call.positional().remove(0);
    if !path.is_empty() {
        value = ev.op("get", "rank", &[value], &OpA::mode(path), call.span)?;
    }
    let rank = match &value {
        Value::Int(_) | Value::Scalar(_) => 1,
        Value::Tuple(parts) => parts.len(),
        Value::Static(val) | Value::Cute(crate::eval::values::Cute { val, .. }) => match val {
            Val::Layout(layout) => layout.rank(),
            Val::View(view) => view.layout.rank(),
            Val::CoordTensor(tensor) => tensor.layout.rank(),
            Val::Tile(tiler) => tiler.rank(),
            Val::Tuple(_, Tree::Node(modes)) => modes.len(),
            _ => return ev.expected("a layout, a tensor or a tuple", &value, call.span),
        },
        other => return ev.expected("a layout, a tensor or a tuple", &other.clone(), call.span),
    };
    Ok(Value::Int(rank as i64))
}

fn modes_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 1..=usize::MAX, &[])?;
    let path = modes(ev, call)?;
    if name == "group_modes" && path.len() != 2 {
        return ev.error(
            codes::WRONG_ARGUMENTS,
            call.span,
            "`group_modes<first, last>` takes a range of modes",
            "here",
        );
    }
    ev.op(name, name, &call.positional(), &OpA::mode(path), call.span)
}
