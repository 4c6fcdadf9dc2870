//! Atomic updates of one element of a tensor: `atomic_add(t[i], x)`. Each gives what was there before. At tile
//! level the elements of a tile are updated too, `atomic_add(t.tile(shape, at), x)`, and a tile given.

use crate::ast::{Arg, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::tiles::Update;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{CuteOp, TileOp};
use cutec_dialects::semantics::{AtomicKind, Attrs};

use super::builtin::{AtPlace, Builtin, CallAtPlace, Kind, Level, Lowering, Parameter, arg, named};

const PLACE: Parameter = arg("place", Kind::Place);
const X: Parameter = arg("x", Kind::Number);
/// How an access is ordered.
const ORDER: &str = "order";

const fn atomic(name: &'static str, kind: AtomicKind, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Place(AtPlace::Atomic(kind)), documentation).takes(&[PLACE, X])
}

pub(super) const TABLE: &[Builtin] = &[
    atomic(
        "atomic_add",
        AtomicKind::Add,
        "Adds x. Of i32, u32, i64, u64, f16, bf16, f32, f64.",
    ),
    atomic(
        "atomic_min",
        AtomicKind::Min,
        "Leaves the smaller one; a NaN changes nothing, and may stay. Of i32, u32, i64, u64, f32, f64.",
    ),
    atomic(
        "atomic_max",
        AtomicKind::Max,
        "Leaves the larger one; a NaN changes nothing, and may stay. Of i32, u32, i64, u64, f32, f64.",
    ),
    atomic(
        "atomic_and",
        AtomicKind::And,
        "Leaves the bits that both have. Of i32, u32, i64, u64.",
    ),
    atomic(
        "atomic_or",
        AtomicKind::Or,
        "Leaves the bits that one of both has. Of i32, u32, i64, u64.",
    ),
    atomic(
        "atomic_xor",
        AtomicKind::Xor,
        "Leaves the bits that just one of both has. Of i32, u32, i64, u64.",
    ),
    atomic(
        "atomic_exchange",
        AtomicKind::Exchange,
        "Writes x. Of i32, u32, i64, u64, f32, f64.",
    ),
    Builtin::new(
        "atomic_cas",
        Lowering::Place(AtPlace::Atomic(AtomicKind::Cas)),
        "Writes x where the element equals `expected`. Of i32, u32, i64, u64.",
    )
    .takes(&[PLACE, arg("expected", Kind::Number), X]),
    Builtin::new(
        "atomic_load",
        Lowering::Place(AtPlace::Atomic(AtomicKind::Load)),
        "What is there, which other blocks may update meanwhile. With `order = acquire` what its writer did before it released is there too. Of i32, u32, i64, u64, f32, f64.",
    )
    .takes(&[PLACE, named(ORDER, Kind::Word(&["relaxed", "acquire"]), "relaxed")]),
    Builtin::new(
        "atomic_store",
        Lowering::Place(AtPlace::Atomic(AtomicKind::Store)),
        "Writes x, which other blocks may read or update meanwhile, and gives nothing. With `order = release` what was written before is there for whoever acquires. Of i32, u32, i64, u64, f32, f64.",
    )
    .takes(&[PLACE, X, named(ORDER, Kind::Word(&["relaxed", "release"]), "relaxed")]),
    Builtin::new(
        "is_last",
        Lowering::Place(AtPlace::Arrive),
        "Whether this block is the last of `count` that come to this counter, an i32 that is 0 before and again behind. What the others wrote before they came is there.",
    )
    .at(Level::Tiles)
    .takes(&[PLACE, arg("count", Kind::Integer)]),
    Builtin::new(
        "grid_barrier",
        Lowering::Place(AtPlace::GridBarrier),
        "Waits for all blocks of a launch that is `cooperative()`: what they wrote before is there behind it. It counts them at an i32 that is 0 before the first launch, and serves no other purpose.",
    )
    .at(Level::Tiles)
    .takes(&[PLACE]),
];

/// `is_last(counter[i], count)`
pub(super) fn arrive<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &CallAtPlace<'a>,
) -> Result<Value<'c, 'a>> {
    let span = call.whole.span;
    let (counter, rest) = counter(ev, call, ", count")?;
    let Some(count) = rest.arg(0) else {
        return Err(Stop::Reported);
    };
    let count = ev.number(&count.value, Elem::I32, count.expr.span)?;
    let ir = ev.ir(span)?;
    let operands = [counter[0], counter[1], count];
    let last = ir.value(TileOp::Arrive, &operands, &[], ir.ty("i1"));
    Ok(number_or_vector(last, Elem::I1, None))
}

/// `grid_barrier(counter[i])`
pub(super) fn grid_barrier<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &CallAtPlace<'a>,
) -> Result<Value<'c, 'a>> {
    let span = call.whole.span;
    let (counter, _) = counter(ev, call, "")?;
    if !ev.cooperative {
        let message = "`grid_barrier` waits for blocks that may not have begun";
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, "here");
        let help =
            "launch the kernel with `cooperative()`: all its blocks run at the same time then";
        return Err(ev.report(diagnostic.with_help(help)));
    }
    ev.ir(span)?.op(TileOp::GridBarrier, &counter, &[], &[]);
    Ok(Value::Unit)
}

/// The view and the coordinate of an element of a tensor of i32 at which blocks are counted, and the other arguments, which are
/// written `more`.
fn counter<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &CallAtPlace<'a>,
    more: &str,
) -> Result<([IrValue<'c>; 2], Call<'c, 'a>)> {
    let (name, span) = (call.name, call.whole.span);
    let place = match call.args.split_first() {
        Some((first, rest)) if first.name.is_none() => match &*first.value.kind {
            ExprKind::Index { base, indices } => Some((base, indices, rest)),
            _ => None,
        },
        _ => None,
    };
    let Some((base, indices, rest)) = place else {
        let message = format!("`{name}` counts at one element of a tensor");
        let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here");
        return Err(ev.report(diagnostic.with_help(format!("`{name}(counter[i]{more})`"))));
    };
    ev.check_level(Level::Tiles, name, span)?;
    let view = ev.expr(base);
    let coord = ev.coordinate(indices);
    let rest = ev.arguments(name.into(), span, span, &[], rest);
    let (view, coord, rest) = (view?, coord?, rest?);
    super::arguments::chosen(ev, &call.forms, &rest, 1)?;
    match view.as_view() {
        Some((_, of)) if of.ptr.space == Space::Gmem && of.ptr.elem == Elem::I32 => {}
        _ => return ev.expected("a tensor of i32", &view, base.span),
    }
    ev.check_index_count(&view, indices.len(), (base.span, span))?;
    ev.check_writable(&view, base.span)?;
    if ev.is_slice(&coord) {
        let message = format!("`{name}` counts at one element, not at a view");
        return ev.error(codes::WRONG_TYPE, span, message, "an index is `_`");
    }
    let counter = [ev.ir_of(&view, span)?, ev.ir_of(&coord, span)?];
    Ok((counter, rest))
}

/// An update: `name(place, …, x)`.
pub(super) fn update<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: AtomicKind,
    call: &CallAtPlace<'a>,
) -> Result<Value<'c, 'a>> {
    let (name, args, span) = (call.name, call.args, call.whole.span);
    let forms = &call.forms;
    let kind = ordered(ev, kind, args)?;
    let old = updated(ev, kind, (name, args, forms), span)?;
    Ok(match kind.is_store() {
        true => Value::Unit,
        false => old,
    })
}

/// The kind of an access that says how it is ordered, `order = acquire`.
fn ordered<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: AtomicKind,
    args: &'a [Arg],
) -> Result<AtomicKind> {
    let is_order = |arg: &&Arg| arg.name.as_ref().is_some_and(|name| &*name.node == ORDER);
    // A kind without order refuses the argument as it does others.
    let (Some((ordering, word)), Some(order)) = (kind.ordering(), args.iter().find(is_order))
    else {
        return Ok(kind);
    };
    match ev.static_value("the order of an access", &order.value)? {
        Value::Str(given) if &*given == word => Ok(ordering),
        Value::Str(given) if &*given == "relaxed" => Ok(kind),
        other => ev.expected(&format!("`relaxed` or `{word}`"), &other, order.value.span),
    }
}

/// The update itself, and what was there.
fn updated<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    kind: AtomicKind,
    (name, args, forms): (&'static str, &'a [Arg], &[&'static Builtin]),
    span: Span,
) -> Result<Value<'c, 'a>> {
    let first = args.split_first();
    let first = first.filter(|(first, _)| first.name.is_none());
    let first = first.map(|(first, rest)| (&first.value, &*first.value.kind, rest));
    let update = Update {
        name,
        kind,
        is_asked: ev.frame.alone != Some(span),
    };
    let (base, indices, rest) = match first {
        Some((place, ExprKind::Call { callee, args }, rest))
            if let ExprKind::Field { base, name: field } = &*callee.kind
                && &*field.node == "tile" =>
        {
            return ev.update_tile(update, (base, field, args), rest, (place.span, span));
        }
        Some((place, ExprKind::Call { callee, args }, rest))
            if let ExprKind::Field { base, name: field } = &*callee.kind
                && &*field.node == "scatter" =>
        {
            return ev.update_scattered(update, (base, field, args), rest, (place.span, span));
        }
        Some((place, ExprKind::Index { base, indices }, rest)) if ev.tiles.is_some() => {
            let of = (base, &indices[..]);
            return ev.update_element(update, of, rest, (place.span, span));
        }
        Some((_, ExprKind::Index { base, indices }, rest)) => (base, indices, rest),
        _ => {
            let (what, place) = match ev.tiles {
                Some(_) => ("a tile", "t.tile(shape, coordinate)"),
                None => ("one element", "t[i]"),
            };
            let does = match (kind.ordering(), kind.is_store()) {
                (None, _) => "updates",
                (Some(_), false) => "reads",
                (Some(_), true) => "writes",
            };
            let message = format!("`{name}` {does} {what} of a tensor");
            let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here");
            let more = match kind.values() {
                0 => "",
                1 => ", x",
                _ => ", expected, x",
            };
            return Err(ev.report(diagnostic.with_help(format!("`{name}({place}{more})`"))));
        }
    };
    let view = ev.expr(base);
    let coord = ev.coordinate(indices);
    let call = ev.arguments(name.into(), span, span, &[], rest);
    let (view, coord, call) = (view?, coord?, call?);
    super::arguments::chosen(ev, forms, &call, 1)?;
    let Some(elem) = view.as_view().map(|(_, view)| view.ptr.elem) else {
        return ev.expected("a tensor to update", &view, base.span);
    };
    ev.check_index_count(&view, indices.len(), (base.span, span))?;
    ev.check_writable(&view, base.span)?;
    if ev.is_slice(&coord) {
        let message = format!("`{name}` updates one element, not a view");
        return ev.error(codes::WRONG_TYPE, span, message, "an index is `_`");
    }
    let mut operands = vec![view, coord];
    // The IR has the new value first.
    for arg in call.args.iter().rev().filter(|arg| arg.name.is_none()) {
        let number = ev.number(&arg.value, elem, arg.expr.span)?;
        operands.push(number_or_vector(number, elem, None));
    }
    let attrs = Attrs {
        kind: Some(kind),
        ..Attrs::default()
    };
    match ev.op(CuteOp::MemrefAtomic, name, &operands, &attrs, span)? {
        Value::Error => Err(Stop::Reported),
        old => Ok(old),
    }
}
