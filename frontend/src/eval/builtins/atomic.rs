//! Atomic updates of one element of a tensor: `atomic_add(t[i], x)`. Each gives what was there before. At tile
//! level a tile is updated, `atomic_add(t.tile(shape, at), x)`, and nothing given.

use crate::ast::{Arg, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::materialize::OpA;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};

/// Each name with its kind in the IR.
const KINDS: [(&str, &str); 8] = [
    ("atomic_add", "add"),
    ("atomic_min", "min"),
    ("atomic_max", "max"),
    ("atomic_and", "and"),
    ("atomic_or", "or"),
    ("atomic_xor", "xor"),
    ("atomic_exchange", "exchange"),
    ("atomic_cas", "cas"),
];
pub(super) const NAMES: [&str; 8] = {
    let mut names = [""; 8];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].0;
        at += 1;
    }
    names
};

/// `atomic_add(t[i], x)`, `atomic_cas(t[i], expected, x)`; `None` for any other name. The first
/// argument names a place: it is not evaluated.
pub(in crate::eval) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Option<Result<Value<'c, 'a>>> {
    let (name, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    Some(update(ev, name, kind, args, whole))
}

fn update<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    kind: &'static str,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Result<Value<'c, 'a>> {
    let span = whole.span;
    let first = args.split_first();
    let first = first.filter(|(first, _)| first.name.is_none());
    let first = first.map(|(first, rest)| (&first.value, &*first.value.kind, rest));
    let (base, indices, rest) = match first {
        Some((place, ExprKind::Call { callee, args }, rest))
            if let ExprKind::Field { base, name: field } = &*callee.kind
                && &*field.node == "tile" =>
        {
            ev.update_tile((name, kind), (base, field, args), rest, (place.span, span))?;
            return Ok(Value::Unit);
        }
        Some((_, ExprKind::Index { base, indices }, rest)) if ev.tiles.is_none() => {
            (base, indices, rest)
        }
        _ => {
            let (what, place) = match ev.tiles {
                Some(_) => ("a tile", "t.tile(shape, coordinate)"),
                None => ("one element", "t[i]"),
            };
            let message = format!("`{name}` updates {what} of a tensor");
            let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here");
            let more = if kind == "cas" { "expected, " } else { "" };
            return Err(ev.report(diagnostic.with_help(format!("`{name}({place}, {more}x)`"))));
        }
    };
    let view = ev.expr(base);
    let coord = ev.coordinate(indices);
    let call = ev.arguments(name.into(), span, span, &[], rest);
    let (view, coord, call) = (view?, coord?, call?);
    let count = if kind == "cas" { 2 } else { 1 };
    ev.check_args(&call, count..=count, &[], 0..=0, &[])?;
    let Some(elem) = view.as_view().map(|(_, view)| view.ptr.elem) else {
        return ev.expected("a tensor to update", &view, base.span);
    };
    ev.check_writable(&view, base.span)?;
    if ev.is_slice(&coord) {
        let message = format!("`{name}` updates one element, not a view");
        return ev.error(codes::WRONG_TYPE, span, message, "an index is `_`");
    }
    let mut operands = vec![view, coord];
    // The IR has the new value first.
    for arg in call.args.iter().rev() {
        let number = ev.number(&arg.value, elem, arg.expr.span)?;
        operands.push(number_or_vector(number, elem, None));
    }
    let attrs = OpA {
        kind: Some(kind),
        ..OpA::default()
    };
    match ev.op("memref.atomic", name, &operands, &attrs, span)? {
        Value::Error => Err(Stop::Reported),
        old => Ok(old),
    }
}
