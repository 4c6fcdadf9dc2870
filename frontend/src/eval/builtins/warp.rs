//! What the threads of a warp tell each other: shuffles and votes.
//!
//! PTX ISA, "shfl.sync" and "vote.sync", with all 32 lanes as members. Registers are 32 bits: wider
//! numbers go in two parts, two 16-bit elements of a vector in one.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, named};
use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, NvvmOp, VectorOp};

/// Threads of a warp.
pub(super) use cutec_dialects::target::WARP;

/// How many neighbouring lanes belong together.
pub(super) const WIDTH: Parameter = named("width", Kind::Integer, "32");

const fn of_lanes(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

const VOTE: &[Parameter] = &[arg("condition", Kind::Bool)];

pub(super) const TABLE: &[Builtin] = &[
    of_lanes(
        "shuffle_xor",
        |ev, call| shuffle(ev, call, Shuffle::Xor),
        "x of the lane whose number differs in these bits.",
    )
    .takes(&[arg("x", Kind::Number), arg("mask", Kind::Integer), WIDTH]),
    of_lanes(
        "shuffle_up",
        |ev, call| shuffle(ev, call, Shuffle::Up),
        "x of the lane so many below; its own where there is none.",
    )
    .takes(&[arg("x", Kind::Number), arg("delta", Kind::Integer), WIDTH]),
    of_lanes(
        "shuffle_down",
        |ev, call| shuffle(ev, call, Shuffle::Down),
        "x of the lane so many above; its own where there is none.",
    )
    .takes(&[arg("x", Kind::Number), arg("delta", Kind::Integer), WIDTH]),
    of_lanes(
        "shuffle_idx",
        |ev, call| shuffle(ev, call, Shuffle::Index),
        "x of the lane of this number.",
    )
    .takes(&[arg("x", Kind::Number), arg("lane", Kind::Integer), WIDTH]),
    of_lanes(
        "any",
        |ev, call| vote(ev, call, Vote::Any),
        "Whether the condition holds for one lane of the warp, or for one element of a tile.",
    )
    .at(Level::Both)
    .takes(VOTE),
    of_lanes(
        "all",
        |ev, call| vote(ev, call, Vote::All),
        "Whether the condition holds for every lane of the warp, or for every element of a tile.",
    )
    .at(Level::Both)
    .takes(VOTE),
    of_lanes(
        "ballot",
        |ev, call| vote(ev, call, Vote::Ballot),
        "An i32 with a bit for each lane of the warp.",
    )
    .takes(VOTE),
];

/// How the lanes of a warp vote (PTX ISA, "vote.sync").
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vote {
    Any,
    All,
    Ballot,
}

/// Which lane another one reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shuffle {
    Xor,
    Up,
    Down,
    Index,
}

/// `width = …`: how many neighbouring lanes belong together. All warps of the block must be made of
/// whole groups: lanes that do not exist have nothing to say.
pub(super) fn width_of<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<i64> {
    let width = match call.named("width") {
        None => WARP,
        Some(arg) => match &arg.value {
            Value::Int(width @ (1 | 2 | 4 | 8 | 16 | WARP)) => *width,
            Value::Scalar(_) => return ev.static_needed("the width", arg.expr),
            other => {
                let what = "a power of two up to 32";
                return ev.expected(what, &other.clone(), arg.expr.span);
            }
        },
    };
    let threads: i64 = ev.threads_of_block();
    if threads % width != 0 {
        let message = format!(
            "`{}` over {width} lanes needs a block of a multiple of {width} threads, not of {threads}",
            call.name
        );
        return ev.error(codes::ILLEGAL_OPERATION, call.span, message, "here");
    }
    Ok(width)
}

/// `shuffle_xor(x, lanes, width = 32)` and the like.
fn shuffle<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    kind: Shuffle,
) -> Result<Value<'c, 'a>> {
    let [value, by] = [call.arg(0), call.arg(1)];
    let (Some(value), Some(by)) = (value, by) else {
        return Err(Stop::Reported);
    };
    let width = width_of(ev, call)?;
    // The machine takes the lower bits of any number.
    if let Value::Int(number) = by.value
        && !(0..WARP).contains(&number)
    {
        let message = format!("`{}` takes 0 to {}, not {number}", call.name, WARP - 1);
        let label = format!("a warp has {WARP} lanes");
        return ev.error(codes::OUT_OF_BOUNDS, by.expr.span, message, label);
    }
    let numbers = ev.numbers(&value.value, value.expr.span)?;
    let by = ev.number(&by.value, Elem::I32, by.expr.span)?;
    shuffled(ev, kind, &numbers, by, width, call.span)
}

/// What another lane has of a number, a vector or a tuple of these.
pub(super) fn shuffled<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: Shuffle,
    value: &Value<'c, 'a>,
    by: IrValue<'c>,
    width: i64,
    span: Span,
) -> Result<Value<'c, 'a>> {
    match value {
        Value::Tuple(parts) => {
            let parts = parts
                .iter()
                .map(|part| shuffled(ev, kind, part, by, width, span));
            Ok(Value::Tuple(parts.collect::<Result<_>>()?))
        }
        Value::Vector(vector) if vector.elem.bits() == 16 && vector.len % 2 == 0 => {
            let mut results = Vec::with_capacity(vector.len as usize);
            for pair in ev.elements(vector, span)?.chunks(2) {
                let ir = ev.ir(span)?;
                let pair_type = ir.numbers_type(vector.elem, Some(2));
                let (word_type, i32) = (ir.ty("vector<1xi32>"), ir.ty("i32"));
                let first = [("static_position", ir.i64_array(&[0]))];
                let pair = ir.value(VectorOp::FromElements, pair, &[], pair_type);
                let words = ir.value(VectorOp::Bitcast, &[pair], &[], word_type);
                let word = ir.value(VectorOp::Extract, &[words], &first, i32);
                let word = word_of_lane(ev, kind, word, "i32", by, width, span)?;
                let ir = ev.ir(span)?;
                let words = ir.value(VectorOp::FromElements, &[word], &[], word_type);
                let pair = ir.value(VectorOp::Bitcast, &[words], &[], pair_type);
                let pair = number_or_vector(pair, vector.elem, Some(2));
                if let Value::Vector(pair) = &pair {
                    results.extend(ev.elements(pair, span)?);
                }
            }
            ev.vector(&results, vector.elem, span)
        }
        Value::Scalar(_) | Value::Vector(_) => {
            let elem = match value {
                Value::Scalar(scalar) => scalar.elem,
                Value::Vector(vector) => vector.elem,
                _ => return Err(Stop::Reported),
            };
            ev.each_number(value, elem, span, &mut |ev, number| {
                number_of_lane(ev, kind, number, elem, by, width, span)
            })
        }
        other => ev.expected("a number, a view or a tuple of these", other, span),
    }
}

/// One number of another lane, in as many registers as it takes.
fn number_of_lane<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: Shuffle,
    number: IrValue<'c>,
    elem: Elem,
    by: IrValue<'c>,
    width: i64,
    span: Span,
) -> Result<IrValue<'c>> {
    if matches!(elem, Elem::F32 | Elem::TF32 | Elem::I32 | Elem::U32) {
        return word_of_lane(ev, kind, number, elem.value_type(), by, width, span);
    }
    let integer = match elem.bits() {
        _ if elem == Elem::I1 => "i1",
        8 => "i8",
        16 => "i16",
        32 => "i32",
        _ => "i64",
    };
    let cast = |ev: &mut Evaluator<'c, 'a>, op: ArithOp, value: IrValue<'c>, ty: &'static str| {
        let ir = ev.ir(span)?;
        let ty = ir.ty(ty);
        Ok::<_, Stop>(ir.value(op, &[value], &[], ty))
    };
    let is_float = elem.is_float() && elem.has_arithmetic();
    let bits = match is_float {
        true => cast(ev, ArithOp::Bitcast, number, integer)?,
        false => number,
    };
    let bits = if elem.bits() == 64 {
        let i64 = ev.ir(span)?.ty("i64");
        let by32 = ev.ir(span)?.constant(32, "i64");
        let low = cast(ev, ArithOp::Trunci, bits, "i32")?;
        let high = ev.ir(span)?.value(ArithOp::Shrui, &[bits, by32], &[], i64);
        let high = cast(ev, ArithOp::Trunci, high, "i32")?;
        let low = word_of_lane(ev, kind, low, "i32", by, width, span)?;
        let high = word_of_lane(ev, kind, high, "i32", by, width, span)?;
        let low = cast(ev, ArithOp::Extui, low, "i64")?;
        let high = cast(ev, ArithOp::Extui, high, "i64")?;
        let ir = ev.ir(span)?;
        let high = ir.value(ArithOp::Shli, &[high, by32], &[], i64);
        ir.value(ArithOp::Ori, &[low, high], &[], i64)
    } else {
        let word = cast(ev, ArithOp::Extui, bits, "i32")?;
        let word = word_of_lane(ev, kind, word, "i32", by, width, span)?;
        cast(ev, ArithOp::Trunci, word, integer)?
    };
    match is_float {
        true => cast(ev, ArithOp::Bitcast, bits, elem.name()),
        false => Ok(bits),
    }
}

/// One register of another lane. Where that lies outside of the group it is the lane's own.
fn word_of_lane<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: Shuffle,
    word: IrValue<'c>,
    ty: &'static str,
    by: IrValue<'c>,
    width: i64,
    span: Span,
) -> Result<IrValue<'c>> {
    let (mode, clamp) = match kind {
        Shuffle::Xor => ("#nvvm<shfl_kind bfly>", 31),
        Shuffle::Up => ("#nvvm<shfl_kind up>", 0),
        Shuffle::Down => ("#nvvm<shfl_kind down>", 31),
        Shuffle::Index => ("#nvvm<shfl_kind idx>", 31),
    };
    let ir = ev.ir(span)?;
    let members = ir.constant(-1, "i32");
    let segment = ir.constant((WARP - width) << 8 | clamp, "i32");
    let attr = ir.attr(mode);
    let ty = ir.ty(ty);
    let operands = [members, word, by, segment];
    Ok(ir.value(NvvmOp::ShflSync, &operands, &[("kind", attr)], ty))
}

/// `any(c)`, `all(c)`: whether one, or every lane of the warp says so; `ballot(c)`: a bit for each.
fn vote<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    vote: Vote,
) -> Result<Value<'c, 'a>> {
    let Some(arg) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    let condition = match &arg.value {
        Value::Bool(_) => ev.number(&arg.value, Elem::I1, arg.expr.span)?,
        Value::Tile(tile) if vote != Vote::Ballot => {
            let kind = if vote == Vote::Any { "or" } else { "and" };
            return ev.vote_of_tile(kind, tile, arg.expr.span);
        }
        Value::Scalar(scalar) if scalar.elem == Elem::I1 => scalar.ir,
        other => return ev.expected_bool(&other.clone(), arg.expr.span),
    };
    ev.check_level(Level::Threads, &call.name, call.name_span)?;
    let (kind, elem) = match vote {
        Vote::Any => ("#nvvm<vote_sync_kind any>", Elem::I1),
        Vote::All => ("#nvvm<vote_sync_kind all>", Elem::I1),
        Vote::Ballot => ("#nvvm<vote_sync_kind ballot>", Elem::I32),
    };
    let ir = ev.ir(call.span)?;
    let members = ir.constant(-1, "i32");
    let kind = ir.attr(kind);
    let ty = ir.ty(elem.name());
    let result = ir.value(
        NvvmOp::VoteSync,
        &[members, condition],
        &[("kind", kind)],
        ty,
    );
    Ok(number_or_vector(result, elem, None))
}
