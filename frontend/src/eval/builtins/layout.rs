//! Layouts: accessors and the algebra, each one operation of the `cute` dialect.

use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{AnyLayout, Tree};

use super::builtin::{Builtin, Kind, Lowering, Parameter, arg, rest};

/// Modes as generic arguments: a path that goes inward.
const PATH: &[Parameter] = &[rest("modes", Kind::Integer)];
/// One argument that has modes.
const OF: &[Parameter] = &[arg("x", Kind::Shaped)];

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("size", Lowering::Call(size), "The number of elements, of a mode where modes are given.")
        .generic(PATH)
        .takes(OF),
    Builtin::new("shape", Lowering::Call(shape), "The extents, of a mode where modes are given.")
        .generic(PATH)
        .takes(OF),
    Builtin::new("stride", Lowering::Call(stride), "The strides, of a mode where modes are given.")
        .generic(PATH)
        .takes(OF),
    Builtin::new("get", Lowering::Call(get), "A mode of a layout or a tuple; a path of modes goes inward.")
        .generic(PATH)
        .takes(OF),
    Builtin::new("layout", Lowering::Call(layout), "The layout of a tensor, of a mode where modes are given.")
        .generic(PATH)
        .takes(OF),
    Builtin::new(
        "layout",
        Lowering::Call(ordered),
        "The layout of a shape: `row` is compact with the last mode fastest, `col` with the first; or these strides.",
    )
    .takes(&[arg("shape", Kind::Shape), arg("order", Kind::Order)]),
    Builtin::new("rank", Lowering::Call(rank), "The number of modes, of a mode where modes are given.")
        .generic(PATH)
        .takes(OF),
    Builtin::new("is_tuple", Lowering::Call(is_tuple), "Whether a value is a tuple.")
        .takes(&[arg("x", Kind::Any)]),
    Builtin::new("is_static", Lowering::Call(is_static), "Whether a value is known while compiling.")
        .takes(&[arg("x", Kind::Any)]),
    Builtin::new(
        "cosize",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Cosize, &[0])),
        "One more than the largest index that the layout gives.",
    )
    .takes(&[arg("layout", Kind::Layout)]),
    Builtin::new(
        "coalesce",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Coalesce, &[])),
        "The same function with as few modes as possible.",
    )
    .takes(&[arg("layout", Kind::Shaped)]),
    Builtin::new(
        "flatten",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Flatten, &[])),
        "The same without nesting.",
    )
    .takes(&[arg("layout", Kind::Shaped)]),
    Builtin::new(
        "composition",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Composition, &[0])),
        "`outer o inner`: the layout that first applies the inner one.",
    )
    .takes(&[arg("outer", Kind::Layout), arg("inner", Kind::Layout)]),
    Builtin::new(
        "complement",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Complement, &[0])),
        "The layout of the indices that a layout does not reach, up to a size.",
    )
    .takes(&[arg("layout", Kind::Layout), arg("size", Kind::Shape)]),
    Builtin::new(
        "right_inverse",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::RightInverse, &[0])),
        "The layout that gives for an index the coordinate that has it.",
    )
    .takes(&[arg("layout", Kind::Layout)]),
    Builtin::new(
        "left_inverse",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::LeftInverse, &[0])),
        "The layout that undoes an injective one.",
    )
    .takes(&[arg("layout", Kind::Layout)]),
    Builtin::new(
        "logical_divide",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::LogicalDivide, &[])),
        "Each mode as (within a tile, tiles).",
    )
    .takes(&[arg("x", Kind::Shaped), arg("tiler", Kind::Tiler)]),
    Builtin::new(
        "zipped_divide",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::ZippedDivide, &[])),
        "A tile in the first mode, the tiles in the second: `((tile), (tiles))`.",
    )
    .takes(&[arg("x", Kind::Shaped), arg("tiler", Kind::Tiler)]),
    Builtin::new(
        "tiled_divide",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::TiledDivide, &[])),
        "A tile in the first mode, then a mode of tiles for each mode of the layout.",
    )
    .takes(&[arg("x", Kind::Shaped), arg("tiler", Kind::Tiler)]),
    Builtin::new(
        "flat_divide",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::FlatDivide, &[])),
        "The modes of a tile, then those of the tiles.",
    )
    .takes(&[arg("x", Kind::Shaped), arg("tiler", Kind::Tiler)]),
    Builtin::new(
        "logical_product",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::LogicalProduct, &[0])),
        "The block, repeated as the tiler says: `(block, tiles)`.",
    )
    .takes(&[arg("block", Kind::Layout), arg("tiler", Kind::Layout)]),
    Builtin::new(
        "blocked_product",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::BlockedProduct, &[0, 1])),
        "The block, repeated, mode by mode, with the blocks side by side.",
    )
    .takes(&[arg("block", Kind::Layout), arg("tiler", Kind::Layout)]),
    Builtin::new(
        "raked_product",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::RakedProduct, &[0, 1])),
        "The block, repeated, mode by mode, with the blocks interleaved.",
    )
    .takes(&[arg("block", Kind::Layout), arg("tiler", Kind::Layout)]),
    Builtin::new(
        "tile_to_shape",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::TileToShape, &[0])),
        "The block, repeated until it fills a shape.",
    )
    .takes(&[arg("block", Kind::Layout), arg("shape", Kind::Shape)]),
    Builtin::new(
        "crd2idx",
        Lowering::Call(|ev, call| algebra(ev, call, CuteOp::Crd2idx, &[1])),
        "The index of a coordinate; also `layout[coordinate]`.",
    )
    .takes(&[arg("coordinate", Kind::Coordinate), arg("layout", Kind::Layout)]),
    Builtin::new(
        "group_modes",
        Lowering::Call(group_modes),
        "The modes from the first up to the last, which is not among them, as one.",
    )
    .generic(&[arg("first", Kind::Integer), arg("last", Kind::Integer)])
    .takes(OF),
    Builtin::new(
        "unflatten",
        Lowering::Call(super::unflatten::unflatten),
        "A mode of a layout, a tensor or a tile as several, the last of them the fastest; `_` as one of the extents is what is left.",
    )
    .generic(&[arg("mode", Kind::Integer)])
    .takes(&[arg("x", Kind::Any), arg("extents", Kind::Shape)]),
    Builtin::new("select", Lowering::Call(select), "These modes of a layout or a tuple.")
        .generic(&[arg("mode", Kind::Integer), rest("modes", Kind::Integer)])
        .takes(OF),
];

/// An operation of the layout algebra. Where it wants a layout, a shape stands for the compact layout of it.
fn algebra<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    operation: CuteOp,
    wants_layout: &[usize],
) -> Result<Value<'c, 'a>> {
    let mut operands = call.positional();
    for at in wants_layout {
        if let (Value::Int(_) | Value::Tuple(_) | Value::Scalar(_), Some(arg)) =
            (&operands[*at], call.arg(*at))
        {
            operands[*at] = ev.layout_of(&operands[*at].clone(), arg.expr.span)?;
        }
    }
    ev.op(
        operation,
        operation.mnemonic(),
        &operands,
        &Attrs::default(),
        call.span,
    )
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

/// The positional arguments; a tile is its extents.
fn of_extents<'c, 'a>(call: &Call<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let extents = |value| match value {
        Value::Tile(tile) => Value::Tuple(tile.shape.iter().copied().map(Value::Int).collect()),
        other => other,
    };
    call.positional().into_iter().map(extents).collect()
}

fn size<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let path = modes(ev, call)?;
    ev.op(
        CuteOp::Size,
        "size",
        &of_extents(call),
        &Attrs::mode(path),
        call.span,
    )
}

fn get<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let path = modes(ev, call)?;
    ev.op(
        CuteOp::Get,
        "get",
        &call.positional(),
        &Attrs::mode(path),
        call.span,
    )
}

fn shape<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = part(ev, call)?;
    if let (Value::Tuple(_), Some(Value::Tile(_))) = (&value, call.positional().first()) {
        return Ok(value);
    }
    // A shape is its own.
    if matches!(&value, Value::Cute(cute) if matches!(cute.val, Val::Tuple(TupleKind::Shape, _))) {
        return Ok(value);
    }
    ev.op(
        CuteOp::GetShape,
        "shape",
        &[value],
        &Attrs::default(),
        call.span,
    )
}

fn stride<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = part(ev, call)?;
    let value = layout_of(ev, &value, call)?;
    ev.op(
        CuteOp::GetStride,
        "stride",
        &[value],
        &Attrs::default(),
        call.span,
    )
}

/// The argument, or the part of it to which a path of modes leads.
fn part<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let path = modes(ev, call)?;
    let value = of_extents(call).remove(0);
    match path.is_empty() {
        true => Ok(value),
        false => ev.op(
            CuteOp::Get,
            &call.name,
            &[value],
            &Attrs::mode(path),
            call.span,
        ),
    }
}

/// The layout of a layout or of a tensor.
pub(super) fn layout_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    match value {
        Value::Cute(cute) if matches!(cute.val, Val::View(_)) => ev.op(
            CuteOp::GetLayout,
            "layout",
            std::slice::from_ref(value),
            &Attrs::default(),
            call.span,
        ),
        other => ev.layout_of(other, call.span),
    }
}

fn layout<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = part(ev, call)?;
    layout_of(ev, &value, call)
}

/// `layout(shape, row)`, `layout(shape, col)`, `layout(shape, stride)`.
fn ordered<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    let (shape, order) = (&operands[0], &operands[1]);
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
            CuteOp::MakeLayout,
            "layout",
            &[shape.clone(), stride.clone()],
            &Attrs::default(),
            call.span,
        ),
    }
}

fn is_tuple<'c, 'a>(_: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let is_tuple = matches!(call.positional()[..], [Value::Unit | Value::Tuple(_)]);
    Ok(Value::Bool(is_tuple))
}

fn is_static<'c, 'a>(_: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    fn known(value: &Value) -> bool {
        match value {
            Value::Tuple(parts) | Value::Array(parts) => parts.iter().all(known),
            Value::Range(parts) => parts.iter().all(known),
            Value::Record(record) => record.fields.iter().all(known),
            Value::Scalar(_) | Value::Cute(_) | Value::Vector(_) | Value::Slot(_) => false,
            Value::Tile(_) => false,
            _ => true,
        }
    }
    Ok(Value::Bool(call.positional().iter().all(known)))
}

fn rank<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = part(ev, call)?;
    let rank = match &value {
        Value::Unit => 0,
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

fn group_modes<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let path = modes(ev, call)?;
    ev.op(
        CuteOp::GroupModes,
        "group_modes",
        &call.positional(),
        &Attrs::mode(path),
        call.span,
    )
}

fn select<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let path = modes(ev, call)?;
    ev.op(
        CuteOp::Select,
        "select",
        &call.positional(),
        &Attrs::mode(path),
        call.span,
    )
}
