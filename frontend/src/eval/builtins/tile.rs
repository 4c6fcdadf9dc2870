//! Tiles of a kernel at tile level.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, named, rest};
use crate::diagnostics::codes;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::tile::Precision;

const fn of_tiles(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Tiles)
}

const EXTENT: Parameter = arg("extent", Kind::Integer);
const EXTENTS: Parameter = rest("extents", Kind::Integer);
const X: Parameter = arg("x", Kind::Tile);
const TYPE: &[Parameter] = &[arg("type", Kind::ElementType)];

pub(super) const TABLE: &[Builtin] = &[
    of_tiles("zeros", |ev, call| filled(ev, call, None), "A tile of zeros.").generic(TYPE).takes(&[EXTENT, EXTENTS]),
    of_tiles("full", |ev, call| filled(ev, call, call.arg(0)), "A tile of one number.")
        .generic(TYPE)
        .takes(&[arg("value", Kind::Number), EXTENT, EXTENTS]),
    of_tiles("iota", |ev, call| ev.iota(call), "The coordinate along an axis within the tile, an i32; along the one axis that is longer than 1, unless told.")
        .takes(&[EXTENT, EXTENTS, named("axis", Kind::Integer, "…")]),
    of_tiles("transpose", |ev, call| ev.transpose(call), "The tile with its two axes exchanged.").takes(&[X]),
    of_tiles("reshape", |ev, call| ev.reshape(call), "The elements of a tile, the last axis the fastest, in another shape of as many.").takes(&[X, EXTENT, EXTENTS]),
    of_tiles("broadcast", |ev, call| ev.broadcast(call), "The tile repeated along axes of extent 1.").takes(&[X, EXTENT, EXTENTS]),
    of_tiles("part", |ev, call| ev.tile_part(call), "The part of a tile of this shape that begins at element `at`, a multiple of the shape. It stays in registers, or goes through shared memory where some threads hold nothing of it.")
        .takes(&[X, arg("shape", Kind::Shape), arg("at", Kind::Coordinate)]),
    of_tiles("join", |ev, call| ev.tile_join(call), "Tiles of one type and shape side by side along an axis; each thread keeps what it holds.")
        .takes(&[X, rest("more", Kind::Tile), named("axis", Kind::Integer, "…")]),
    of_tiles("gather", |ev, call| ev.gather_tile(call), "The elements of a tile at coordinates, a tile of i32 or a number for each axis; outside of the tile `fill`.")
        .takes(&[X, arg("coordinates", Kind::Coordinate), named("fill", Kind::Number, "0")]),
    of_tiles("scalar", |ev, call| ev.scalar_of(call), "The element of a tile that has one, as a number: a coordinate, a condition, an operand.").takes(&[X]),
    of_tiles("dot", |ev, call| ev.dot(call, None), "`a · bᵀ` of shapes (m, k) and (n, k), added up in f32, of bytes in i32, of f64 in f64; `precision` is of tiles of f32, `slices` parts of k are multiplied apart, a tile (slices, m, n); `mma` pins the instruction.")
        .takes(DOT),
    of_tiles("tiles", tiles, "The range of tiles that so many elements make, the last one perhaps not whole.")
        .takes(&[arg("elements", Kind::Integer), arg("by", Kind::Integer)]),
];

const DOT: &[Parameter] = &[
    arg("a", Kind::Tile),
    arg("b", Kind::Tile),
    named("precision", Kind::Word(&Precision::NAMES), "ieee"),
    named("slices", Kind::Integer, "…"),
    named("mma", Kind::Multiplier, "…"),
];

/// `zeros<f32>(bm, bn)`, `full<f32>(x, bm, bn)`.
fn filled<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    value: Option<&ArgValue<'c, 'a>>,
) -> Result<Value<'c, 'a>> {
    let first = if value.is_some() { 1 } else { 0 };
    let elem = super::elem_arg(ev, call, 0)?;
    ev.has_values(elem, call.span)?;
    let extents: Vec<_> = call.args.iter().skip(first).collect();
    let shape = ev.given_shape(&extents, call.span)?;
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
