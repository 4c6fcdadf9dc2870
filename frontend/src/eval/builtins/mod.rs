//! What the language has built in: one table, which the evaluator, the builder, messages, the reference and the
//! language server read.
//!
//! [`builtin`] is what an entry says: name, level, arguments, documentation, and the function that lowers a call.
//! [`table`] lists the families and finds entries; [`arguments`] checks a call against them; [`reference`] writes the
//! tables of `docs/language.md`. Each family is a constant list beside the functions that lower it:
//!
//! - `registers`: which thread, block and tile;
//! - `math`, with [`elementary`]: functions of elements;
//! - `assume`: what is promised of run-time integers;
//! - `layout`: layouts, each one operation of the `cute` dialect; `unflatten`, several;
//! - `tensor`, with `partition`: views and fragments;
//! - `atoms`: instructions that copy and multiply; `tiled`: these spread over threads, and `methods` of the results;
//! - `memory`: copies, gemm, barriers, with `hints` for caches;
//! - `tma`: copies of tiles by tensor maps, `tma_desc`: maps that a kernel edits; `cluster`: blocks that reach each other; `pdl`: launches that overlap;
//! - `mbarrier`, `bulk`: barriers that count bytes, and what asynchronous copies need besides; `roles`: what warps need to do
//!   different work;
//! - `warp`, `reduce` with `operator`: values of several threads; `atomic`: elements that other threads update too;
//! - `tile`: tiles of a kernel at tile level;
//! - `text`: `printf` and inline PTX.
//!
//! `crate::elsewhere` knows what other languages and libraries call all that.
//!
//! To add a built-in: an entry and its lowering function in the family's file, then
//! `CUTEC_BLESS=1 cargo test -p cutec-frontend reference`, which writes the entry into the reference.

mod arguments;
mod assume;
mod atomic;
mod atoms;
mod bits;
pub mod builtin;
mod bulk;
mod cluster;
pub mod elementary;
pub(in crate::eval) mod hints;
mod layout;
mod math;
mod mbarrier;
mod memory;
mod methods;
mod operator;
mod partition;
mod pdl;
mod reduce;
pub mod reference;
mod registers;
pub(super) mod roles;
pub mod table;
mod tensor;
mod text;
mod tile;
mod tiled;
mod tma;
mod tma_desc;
mod unflatten;
mod warp;

pub(in crate::eval) use arguments::chosen;
pub(crate) use atoms::{bulk_copy, copy_atom, mma_atom, mma_call};
pub(super) use builtin::{AtPlace, CallAtPlace, Lowering, Register, arg, named};
pub use builtin::{Builtin, Kind, Level, Parameter, Presence, Receiver};
pub use elementary::Elementary;
pub use operator::Operator;
pub(super) use reduce::{call_operator, combine, combiner, flatten, rebuild};
pub use table::{FAMILIES, Family, all, methods_of, named as entries, names};
pub(crate) use tma::tma_atom;
pub(super) use unflatten::integer;

use super::call::Call;
use super::values::{Value, elem_name};
use super::{Evaluator, Result, Stop, target};
use crate::ast::{Arg, Expr};
use crate::diagnostics::{Diagnostic, codes};
use crate::elsewhere::names as elsewhere;
use crate::parser::words::closest;
use crate::source::Span;
use cutec_dialects::atoms::{Issuer, MmaAtom};
use cutec_dialects::elem::Elem;
use cutec_dialects::target::Target;
use std::collections::HashSet;

/// The value of a built-in name.
pub(super) fn lookup<'c, 'a>(name: &str) -> Option<Value<'c, 'a>> {
    match table::named(name) {
        [] => table::word(name).map(|word| Value::Str(word.into())),
        [first, ..] => match first.lowering {
            Lowering::Register(register) => Some(Value::Register(register)),
            _ => Some(Value::Builtin(first.name)),
        },
    }
}

/// Whether a text is one of the words that stand for options, as `nearest` in `round = nearest`.
pub(super) fn is_word(text: &str) -> bool {
    table::word(text).is_some()
}

/// What to write where such a word stands in the place of a value.
pub(super) fn word_here(word: &str) -> Option<String> {
    if Operator::NAMES.contains(&word) {
        return Some(format!(
            "it is an operator: `reduce({word}, x)`, `{word}(a, b)`"
        ));
    }
    let meant = match word {
        "zero" => "the number is `0.0`; ",
        "nan" => "`import \"std/math.cute\";` has the number `nan`; ",
        _ => "",
    };
    let (of, option) = table::option_of(word)?;
    Some(format!(
        "{meant}`{word}` is what `{option} = …` of `{of}` may be"
    ))
}

/// What may stand behind the point of a built-in name: `x`, `y` and `z` of `thread_idx`.
pub fn members(name: &str) -> Vec<&'static str> {
    match name {
        target::NAME => target::FIELDS.into_iter().chain(target::METHODS).collect(),
        _ => {
            let entries = table::named(name).iter();
            entries.flat_map(|entry| entry.axes()).copied().collect()
        }
    }
}

/// What to write for an MMA atom of another name.
pub(super) fn mma_atoms(target: &Target) -> String {
    let mut atoms = MmaAtom::all();
    atoms.retain(|atom| atom.issuer() != Issuer::Thread && atom.legal_on(target).is_ok());
    let written = atoms
        .iter()
        .flat_map(|atom| table::named(&mma_call(atom).0));
    let written: HashSet<&str> = written.map(|entry| entry.name).collect();
    let names = table::all().filter(|entry| written.contains(entry.name));
    let names: Vec<String> = names.map(|entry| format!("`{}`", entry.name)).collect();
    format!(
        "the MMA atoms of {} are {}, as `sm80_16x8x16<f16, f32>`",
        target.name,
        names.join(", ")
    )
}

/// Whether a built-in is the coordinate of a tile: `tile.m`.
pub(super) fn has_tile_index(name: &str) -> bool {
    let mut entries = table::named(name).iter();
    entries.any(|entry| matches!(entry.lowering, Lowering::TileIndex))
}

/// Whether a built-in is a register that is read at run time.
pub(super) fn is_of_run_time(name: &str) -> bool {
    let of_run_time = |entry: &&Builtin| match entry.lowering {
        Lowering::Register(Register::ThreadIdx | Register::BlockIdx | Register::GridDim) => true,
        Lowering::Register(Register::BlockDim)
        | Lowering::Call(_)
        | Lowering::Elementwise(_)
        | Lowering::Place(_)
        | Lowering::Generic(_)
        | Lowering::Method(..)
        | Lowering::TileIndex => false,
    };
    table::named(name).iter().any(of_run_time)
}

/// `name(place, …)`, of which the first argument is not evaluated; `None` where the built-in has no such form.
pub(super) fn call_at_place<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Option<Result<Value<'c, 'a>>> {
    let (name, what) = table::named(name)
        .iter()
        .find_map(|entry| match entry.lowering {
            Lowering::Place(what) => Some((entry.name, what)),
            Lowering::Call(_)
            | Lowering::Elementwise(_)
            | Lowering::Generic(_)
            | Lowering::Method(..)
            | Lowering::Register(_)
            | Lowering::TileIndex => None,
        })?;
    let call = CallAtPlace {
        name,
        forms: table::functions(name),
        args,
        whole,
    };
    Some(match what {
        AtPlace::Atomic(kind) => atomic::update(ev, kind, &call),
        AtPlace::Arrive => atomic::arrive(ev, &call),
        AtPlace::GridBarrier => atomic::grid_barrier(ev, &call),
        AtPlace::Mbarrier(op) => mbarrier::lower(ev, op, &call),
        AtPlace::StoreAsync => cluster::store_async(ev, args, whole),
        AtPlace::ReduceAsync => cluster::reduce_async(ev, args, whole),
        AtPlace::Assume => assume::assume(ev, args, whole),
    })
}

/// `name<…>(…)`.
pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let forms = table::functions(name);
    if forms.is_empty() {
        let message = format!("`{name}` is not called like this");
        let diagnostic =
            Diagnostic::error(codes::WRONG_TYPE, call.name_span, message, "not a function");
        return Err(ev.report(diagnostic.with_help(written(name).unwrap_or_default())));
    }
    let form = arguments::chosen(ev, &forms, call, 0)?;
    match form.lowering {
        Lowering::Call(lower) => lower(ev, call),
        Lowering::Elementwise(lower) => {
            let of_tile = |arg: &super::call::ArgValue<'c, 'a>| matches!(arg.value, Value::Tile(_));
            match call.args.iter().any(of_tile) {
                true => ev.map_call(call, |ev, call| lower(ev, call)),
                false => lower(ev, call),
            }
        }
        // Reached by `call_at_place`, and no functions.
        Lowering::Place(_)
        | Lowering::Generic(_)
        | Lowering::Method(..)
        | Lowering::Register(_)
        | Lowering::TileIndex => Err(Stop::Reported),
    }
}

/// How a built-in is written, for who wrote it otherwise; none of what is no built-in.
pub(super) fn written(name: &str) -> Option<String> {
    let forms: Vec<String> = table::named(name)
        .iter()
        .map(|entry| format!("`{}`", entry.signature()))
        .collect();
    (!forms.is_empty()).then(|| format!("it is written {}", forms.join(" or ")))
}

/// Checks a call of a built-in that has one form against it, without lowering it.
pub(super) fn check<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    form: &'static Builtin,
    call: &Call<'c, 'a>,
) -> Result<()> {
    arguments::chosen(ev, &[form], call, 0).map(|_| ())
}

/// `name<…>` without a call.
pub(super) fn generic<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    if let Some(form) = table::generic(&call.name)
        && let Lowering::Generic(lower) = form.lowering
    {
        check(ev, form, call)?;
        return lower(ev, call);
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
    let of = Receiver::of(receiver);
    if let Some(form) = of.and_then(|of| table::method(of, &call.name))
        && let Lowering::Method(_, lower) = form.lowering
    {
        ev.check_level(form.level, &format!(".{}", form.name), call.name_span)?;
        check(ev, form, call)?;
        return lower(ev, (receiver, receiver_span), call);
    }
    let found = receiver.describe();
    let known: Vec<&str> = of.map_or_else(Vec::new, |of| {
        table::methods_of(of).map(|entry| entry.name).collect()
    });
    let message = format!("{found} has no method `{}`", call.name);
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_NAME,
        call.name_span,
        message,
        "no such method",
    )
    .with_label(receiver_span, format!("this is {found}"));
    let of_tile = matches!(receiver, Value::Tile(_)) && &*call.name == "tile";
    let help = of_tile
        .then(|| PART_OF_TILE.to_owned())
        .or_else(|| elsewhere::method_here(&call.name).map(String::from))
        .or_else(|| function_instead(&call.name))
        .or_else(|| {
            let name = closest(&call.name, known.iter().copied())?;
            Some(format!("did you mean `{name}`?"))
        })
        .or_else(|| elsewhere::here(&call.name).map(String::from))
        .or_else(|| (!known.is_empty()).then(|| format!("it has {}", known.join(", "))));
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
    if Receiver::of(value).is_some_and(|of| table::method(of, name).is_some()) {
        return Some(format!("a method is called: `.{name}(…)`"));
    }
    let instead = elsewhere::method_here(name).map(String::from);
    instead
        .or_else(|| function_instead(name))
        .or_else(|| elsewhere::here(name).map(String::from))
}

/// What to write instead of `.tile(…)` of a tile.
const PART_OF_TILE: &str = "load the part as a tile of its own, or take it: `part_of<axis, extent>(x, from)` of \"std/tiles.cute\"";

/// The function of the name of a method that there is not.
fn function_instead(name: &str) -> Option<String> {
    let form = table::functions(name).into_iter().next()?;
    Some(format!(
        "functions are called by their name: `{}`",
        form.signature()
    ))
}

/// A generic argument that is an element type.
fn elem_arg<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>, at: usize) -> Result<Elem> {
    let mut given = call.generics.iter().filter(|arg| arg.name.is_none());
    match given.nth(at) {
        Some(arg) => match &arg.value {
            Value::Type(elem) => Ok(*elem),
            other => ev.expected("an element type", &other.clone(), arg.expr.span),
        },
        None => {
            let message = format!("`{}` needs an element type", call.name);
            let help = format!("`{}<{}>`", call.name, elem_name(Elem::F16));
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
