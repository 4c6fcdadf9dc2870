//! What the language has built in, by family.
//!
//! Most of it is one operation of the `cute` dialect: `layout` lists these. `atoms` makes copies and
//! MMAs, `tensor` views and fragments, `memory` moves data, `math` computes on elements, `warp` and
//! `reduce` across threads, `atomic` on elements that other threads update too, `text` says the rest.
//! `elsewhere` knows what other languages call all that.

mod atomic;
mod atoms;
pub(super) mod elsewhere;
mod hints;
mod layout;
mod math;
mod memory;
mod partition;
mod reduce;
mod tensor;
mod text;
mod tile;
mod warp;

pub(super) use atomic::call as call_at_place;

use super::call::Call;
use super::values::{Value, elem_name};
use super::{Evaluator, Result, Stop, rounding};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::Span;
use cutec_dialects::hints::CacheHint;

const REGISTERS: [&str; 4] = ["thread_idx", "block_idx", "block_dim", "grid_dim"];
/// Names that stand for options.
const WORDS: [&str; 3] = ["always", "row", "col"];
/// Built-ins with generic arguments that are not called.
const GENERICS: [&str; 4] = ["S", "universal", "cp_async", "ldmatrix"];

/// The value of a built-in name.
pub(super) fn lookup<'c, 'a>(name: &str) -> Option<Value<'c, 'a>> {
    let find = |list: &[&'static str]| list.iter().find(|known| **known == name).copied();
    if let Some(name) = find(&REGISTERS) {
        return Some(Value::Register(name));
    }
    if let Some(name) = find(&WORDS)
        .or_else(|| find(&reduce::WORDS))
        .or_else(|| find(&rounding::WORDS))
        .or_else(|| find(&CacheHint::NAMES))
        .or_else(|| find(&hints::WORDS))
    {
        return Some(Value::Str(name.into()));
    }
    names().find(|known| *known == name).map(Value::Builtin)
}

/// Every built-in name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let lists: [&[&'static str]; 18] = [
        &REGISTERS,
        &WORDS,
        &reduce::WORDS,
        &rounding::WORDS,
        &CacheHint::NAMES,
        &hints::WORDS,
        &GENERICS,
        &atomic::NAMES,
        &atoms::NAMES,
        &layout::NAMES,
        &layout::OTHERS,
        &math::NAMES,
        &memory::NAMES,
        &reduce::NAMES,
        &tensor::NAMES,
        &text::NAMES,
        &tile::NAMES,
        &warp::NAMES,
    ];
    lists.into_iter().flatten().copied()
}

/// Whether a built-in, `tile.m` or `.tile` is of the tile level alone.
pub(super) fn of_tiles(name: &str) -> bool {
    name == ".tile" || name.starts_with("tile.") || tile::NAMES.contains(&name)
}

/// Whether a built-in is of the thread level alone.
pub(super) fn of_threads(name: &str) -> bool {
    let lists: [&[&str]; 4] = [
        &REGISTERS,
        &memory::NAMES,
        &warp::NAMES,
        &[
            "atomic_exchange",
            "atomic_cas",
            "smem",
            "fragment",
            "fragment_like",
            "warp_reduce",
            "block_reduce",
        ],
    ];
    lists.into_iter().flatten().any(|known| *known == name)
}

/// `name<…>(…)`.
pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let of_tile = |arg: &super::call::ArgValue<'c, 'a>| matches!(arg.value, Value::Tile(_));
    if math::NAMES.contains(&name) && call.args.iter().any(of_tile) {
        return ev.map_call(call, |ev, call| {
            math::call(ev, name, call).unwrap_or(Err(Stop::Reported))
        });
    }
    let result = None
        .or_else(|| tile::call(ev, name, call))
        .or_else(|| layout::call(ev, name, call))
        .or_else(|| math::call(ev, name, call))
        .or_else(|| warp::call(ev, name, call))
        .or_else(|| reduce::call(ev, name, call))
        .or_else(|| text::call(ev, name, call))
        .or_else(|| tensor::call(ev, name, call))
        .or_else(|| memory::call(ev, name, call))
        .or_else(|| atoms::call(ev, name, call));
    match result {
        Some(result) => result,
        None => {
            let message = format!("`{name}` is not called like this");
            let diagnostic =
                Diagnostic::error(codes::WRONG_TYPE, call.name_span, message, "not a function");
            Err(ev.report(
                diagnostic.with_help(format!("it takes generic arguments alone: `{name}<…>`")),
            ))
        }
    }
}

/// `name<…>` without a call.
pub(super) fn generic<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    if let Some(result) = atoms::generic(ev, call) {
        return result;
    }
    if lookup(&call.name).is_none() {
        return ev.unknown_name(&call.name, call.name_span);
    }
    let message = format!("`{}` is a function: it must be called", call.name);
    ev.error(
        codes::WRONG_TYPE,
        call.span,
        message,
        "expected `(…)` behind it",
    )
}

/// `receiver.name<…>(…)`.
pub(super) fn method<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    receiver: &Value<'c, 'a>,
    receiver_span: Span,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    if matches!(receiver, Value::Error) {
        return Err(Stop::Reported);
    }
    if &*call.name == "tile" && receiver.as_view().is_some() {
        return ev.load_tile(receiver, receiver_span, call);
    }
    if let Some(result) = tensor::method(ev, receiver, call) {
        return result;
    }
    let found = receiver.describe();
    let known = tensor::methods_of(receiver);
    let message = format!("{found} has no method `{}`", call.name);
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_NAME,
        call.name_span,
        message,
        "no such method",
    )
    .with_label(receiver_span, format!("this is {found}"));
    let help = match closest(&call.name, known.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None => elsewhere::here(&call.name)
            .map(String::from)
            .or_else(|| (!known.is_empty()).then(|| format!("it has {}", known.join(", ")))),
    };
    Err(ev.report(match help {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    }))
}

/// What to write instead of `value.name`.
pub(super) fn instead_of_field(value: &Value<'_, '_>, name: &str) -> Option<String> {
    if super::values::elem_of(name).is_some() {
        return Some(format!("conversions are calls: `{name}(x)`"));
    }
    if name == "tile" || tensor::methods_of(value).contains(&name) {
        return Some(format!("a method is called: `.{name}(…)`"));
    }
    elsewhere::here(name).map(String::from)
}

/// A generic argument that is an element type.
fn elem_arg<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    at: usize,
) -> Result<cutec_dialects::elem::Elem> {
    match call
        .generics
        .iter()
        .filter(|arg| arg.name.is_none())
        .nth(at)
    {
        Some(arg) => match &arg.value {
            Value::Type(elem) => Ok(*elem),
            other => ev.expected("an element type", &other.clone(), arg.expr.span),
        },
        None => {
            let message = format!("`{}` needs an element type", call.name);
            let help = format!(
                "`{}<{}>`",
                call.name,
                elem_name(cutec_dialects::elem::Elem::F16)
            );
            let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, "here");
            Err(ev.report(diagnostic.with_help(help)))
        }
    }
}

/// A named generic argument that is an integer.
fn named_int<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    name: &str,
    default: i64,
) -> Result<i64> {
    match call
        .named_generic(name)
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None => Ok(default),
        Some((Value::Int(value), _)) => Ok(value),
        Some((other, span)) => ev.expected("an integer", &other, span),
    }
}
