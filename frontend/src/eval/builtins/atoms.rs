//! Atoms, tiled copies and tiled MMAs.

use super::hints;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop, problem};
use cutec_dialects::atoms::{Cache, CopyAtom, CopyOp, MmaAtom, MmaOp};
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::semantics::SemError;
use cutec_dialects::types;
use cutec_dialects::value::{TiledCopyVal, Val};
use cutec_layout::{Layout, LayoutError, Swizzle, Tiler, tv};
use std::sync::Arc;

pub(super) const NAMES: [&str; 17] = [
    "tiled_copy",
    "tiled_copy_A",
    "tiled_copy_B",
    "tiled_copy_C",
    "tiled_mma",
    "threads",
    "sm80_8x8x4",
    "sm80_8x8x32",
    "sm80_16x8x4",
    "sm80_16x8x8",
    "sm80_16x8x16",
    "sm80_16x8x32",
    "sm80_16x8x64",
    "tile_size_m",
    "tile_size_n",
    "tile_size_k",
    "tile",
];

pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    Some(match name {
        "tiled_copy" => tiled_copy(ev, call),
        "tiled_copy_A" => tiled_copy_for(ev, call, tv::make_tiled_copy_a),
        "tiled_copy_B" => tiled_copy_for(ev, call, tv::make_tiled_copy_b),
        "tiled_copy_C" => tiled_copy_for(ev, call, tv::make_tiled_copy_c),
        "tiled_mma" => tiled_mma(ev, call),
        "threads" => threads(ev, call),
        "tile_size_m" => tile_size(ev, call, 0),
        "tile_size_n" => tile_size(ev, call, 1),
        "tile_size_k" => tile_size(ev, call, 2),
        "tile" => tile(ev, call),
        _ => return None,
    })
}

/// Atoms and swizzles: `name<…>`.
pub(super) fn generic<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    Some(match &*call.name {
        "S" => swizzle(ev, call),
        "universal" => universal(ev, call),
        "cp_async" => cp_async(ev, call),
        "ldmatrix" => ldmatrix(ev, call),
        "fma" => fma(ev, call),
        name => match name.strip_prefix("sm80_").and_then(mnk) {
            Some(shape) => mma(ev, call, shape),
            None => return None,
        },
    })
}

fn mnk(text: &str) -> Option<[u32; 3]> {
    let extents: Vec<u32> = text
        .split('x')
        .map(|extent| extent.parse().ok())
        .collect::<Option<_>>()?;
    extents.try_into().ok()
}

fn swizzle<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 0..=0, &[], 3..=3, &[])?;
    let mut bits = Vec::new();
    for arg in &call.generics {
        match &arg.value {
            Value::Int(value) => bits.push(*value),
            other => return ev.expected("an integer", &other.clone(), arg.expr.span),
        }
    }
    match Swizzle::new(bits[0], bits[1], bits[2]) {
        Ok(swizzle) => Ok(Value::Static(Val::Swizzle(swizzle))),
        Err(error) => layout_error(ev, call, error),
    }
}

fn layout_error<'c, 'a, T>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    error: LayoutError,
) -> Result<T> {
    Err(ev.report(problem::semantic(
        call.span,
        &call.name,
        &SemError::Layout(error),
        &[],
    )))
}

fn copy_atom<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: CopyAtom,
) -> Result<Value<'c, 'a>> {
    let target = ev.options.target;
    match atom.verify().and_then(|()| atom.legal_on(&target)) {
        Ok(()) => Ok(Value::Static(Val::CopyAtom(atom))),
        Err(error) => ev.illegal_atom(call.span, &error),
    }
}

fn bits_of<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>, default: i64) -> Result<u32> {
    let bits = super::named_int(ev, call, "bits", default)?;
    match u32::try_from(bits) {
        Ok(bits) => Ok(bits),
        Err(_) => ev.error(
            codes::ILLEGAL_ATOM,
            call.span,
            format!("no instruction moves {bits} bits"),
            "here",
        ),
    }
}

fn universal<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(
        call,
        0..=0,
        &[],
        1..=1,
        &["bits", "cache", "prefetch", "evict"],
    )?;
    let elem = super::elem_arg(ev, call, 0)?;
    let bits = bits_of(ev, call, elem.bits())?;
    let hints = hints::of(ev, &call.generics, &["cache", "prefetch", "evict"])?;
    let op = CopyOp::Universal { bits };
    copy_atom(ev, call, CopyAtom { op, elem, hints })
}

fn cp_async<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(
        call,
        0..=0,
        &[],
        1..=1,
        &["bits", "cache", "prefetch", "evict"],
    )?;
    let elem = super::elem_arg(ev, call, 0)?;
    let bits = bits_of(ev, call, 128)?;
    let cache = match call
        .named_generic("cache")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None if bits == 128 => Cache::Global,
        None => Cache::Always,
        Some((Value::Str(text), _)) if &*text == "always" => Cache::Always,
        Some((Value::Str(text), _)) if &*text == "global" => Cache::Global,
        Some((other, span)) => return ev.expected("`always` or `global`", &other, span),
    };
    let hints = hints::of(ev, &call.generics, &["prefetch", "evict"])?;
    let op = CopyOp::Async { cache, bits };
    copy_atom(ev, call, CopyAtom { op, elem, hints })
}

fn ldmatrix<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 0..=0, &[], 1..=2, &["trans"])?;
    let elem = super::elem_arg(ev, call, 0)?;
    let matrices = match call.generics.iter().filter(|arg| arg.name.is_none()).nth(1) {
        None => 4,
        Some(ArgValue {
            value: Value::Int(count),
            ..
        }) => u32::try_from(*count).unwrap_or(0),
        Some(arg) => return ev.expected("a number of matrices", &arg.value.clone(), arg.expr.span),
    };
    let transpose = match call
        .named_generic("trans")
        .map(|arg| (arg.value.clone(), arg.expr.span))
    {
        None => false,
        Some((Value::Bool(flag), _)) => flag,
        Some((other, span)) => return ev.expected_bool(&other, span),
    };
    copy_atom(
        ev,
        call,
        CopyAtom {
            op: CopyOp::Ldsm {
                matrices,
                transpose,
            },
            elem,
            hints: Hints::NONE,
        },
    )
}

fn mma_atom<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: MmaAtom,
) -> Result<Value<'c, 'a>> {
    let target = ev.options.target;
    match atom.verify().and_then(|()| atom.legal_on(&target)) {
        Ok(()) => Ok(Value::Static(Val::MmaAtom(atom))),
        Err(error) => ev.illegal_atom(call.span, &error),
    }
}

fn fma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 0..=0, &[], 1..=1, &[])?;
    let elem = super::elem_arg(ev, call, 0)?;
    mma_atom(
        ev,
        call,
        MmaAtom {
            op: MmaOp::Fma,
            a: elem,
            b: elem,
            c: elem,
        },
    )
}

/// `sm80_16x8x16<bf16, f32>`: operands and accumulator; `sm80_16x8x32<i8, u8, i32>`: A, B, accumulator.
fn mma<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    [m, n, k]: [u32; 3],
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 0..=0, &[], 1..=3, &[])?;
    let a = super::elem_arg(ev, call, 0)?;
    let (b, c) = match call.generics.len() {
        1 if matches!(a, Elem::I4 | Elem::U4 | Elem::I8 | Elem::U8) => (a, Elem::I32),
        1 if a == Elem::F64 => (a, Elem::F64),
        1 => (a, Elem::F32),
        2 => (a, super::elem_arg(ev, call, 1)?),
        _ => (super::elem_arg(ev, call, 1)?, super::elem_arg(ev, call, 2)?),
    };
    let op = MmaOp::Sync { m, n, k };
    mma_atom(ev, call, MmaAtom { op, a, b, c })
}

fn static_layout<'c, 'a>(ev: &mut Evaluator<'c, 'a>, arg: &ArgValue<'c, 'a>) -> Result<Layout> {
    match arg.value.as_layout() {
        Some(layout) if layout.is_static() => Ok(layout),
        _ => match &arg.value {
            Value::Static(_) => ev.expected("a layout", &arg.value.clone(), arg.expr.span),
            _ => ev.static_needed("the layout of a tiled copy or MMA", arg.expr),
        },
    }
}

fn required<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    name: &str,
    at: usize,
) -> Result<ArgValue<'c, 'a>> {
    match call.named(name).or_else(|| call.arg(at)) {
        Some(arg) => Ok(arg.clone()),
        None => {
            let message = format!("`{}` needs `{name} = …`", call.name);
            ev.error(
                codes::WRONG_ARGUMENTS,
                call.span,
                message,
                format!("`{name}` is missing"),
            )
        }
    }
}

/// `tiled_copy(atom, thr = layout, val = layout)`.
fn tiled_copy<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=3, &["thr", "val"], 0..=0, &[])?;
    let atom = required(ev, call, "atom", 0)?;
    let Value::Static(Val::CopyAtom(atom)) = atom.value else {
        return ev.expected("a copy atom", &atom.value, atom.expr.span);
    };
    let thr = required(ev, call, "thr", 1)?;
    let val = required(ev, call, "val", 2)?;
    let (thr, val) = (static_layout(ev, &thr)?, static_layout(ev, &val)?);
    match tv::make_tiled_copy_tv(types::copy_layouts(&atom), &thr, &val) {
        Ok(tiled) => Ok(Value::Static(Val::TiledCopy(Arc::new(TiledCopyVal {
            atom,
            tiled,
        })))),
        Err(error) => tiled_error(ev, call, error, &[("thr", &thr), ("val", &val)]),
    }
}

fn tiled_error<'c, 'a, T>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    error: LayoutError,
    layouts: &[(&str, &Layout)],
) -> Result<T> {
    let mut diagnostic = problem::semantic(call.span, &call.name, &SemError::Layout(error), &[]);
    for (name, layout) in layouts {
        diagnostic = diagnostic.with_note(format!("{name}: {layout}"));
    }
    Err(ev.report(diagnostic))
}

/// `tiled_copy_A(atom, mma)`: moves what a thread of the MMA holds of operand A.
fn tiled_copy_for<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    make: fn(tv::CopyAtom, &tv::TiledMma) -> std::result::Result<tv::TiledCopy, LayoutError>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 2..=2, &[], 0..=0, &[])?;
    let [atom, mma] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let Value::Static(Val::CopyAtom(copy)) = atom.value else {
        return ev.expected("a copy atom", &atom.value.clone(), atom.expr.span);
    };
    let Value::Static(Val::TiledMma(tiled)) = &mma.value else {
        return ev.expected("a tiled MMA", &mma.value.clone(), mma.expr.span);
    };
    match make(types::copy_layouts(&copy), &tiled.tiled) {
        Ok(tiled) => Ok(Value::Static(Val::TiledCopy(Arc::new(TiledCopyVal {
            atom: copy,
            tiled,
        })))),
        Err(error) => tiled_error(ev, call, error, &[("atoms", tiled.tiled.atom_layout_mnk())]),
    }
}

/// `tiled_mma(atom, atoms = layout, permute = tile)`.
fn tiled_mma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=3, &["atoms", "permute"], 0..=0, &[])?;
    let atom = required(ev, call, "atom", 0)?;
    let Value::Static(Val::MmaAtom(atom)) = atom.value else {
        return ev.expected("an MMA atom", &atom.value, atom.expr.span);
    };
    let atoms = match call.named("atoms").or_else(|| call.arg(1)).cloned() {
        Some(arg) => static_layout(ev, &arg)?,
        None => Layout::concat([
            Layout::scalar(1, 0),
            Layout::scalar(1, 0),
            Layout::scalar(1, 0),
        ]),
    };
    let permutation = match call.named("permute").or_else(|| call.arg(2)).cloned() {
        None => Tiler::All,
        Some(arg) => permutation(ev, &arg)?,
    };
    match types::tiled_mma(atom, atoms.clone(), permutation) {
        Ok(val) => Ok(Value::Static(val)),
        Err(error) => {
            let diagnostic = problem::semantic(call.span, &call.name, &SemError::Type(error), &[]);
            Err(ev.report(diagnostic.with_note(format!("atoms: {atoms}"))))
        }
    }
}

/// A tile of integers, layouts or `_`, one for M, N and K.
fn permutation<'c, 'a>(ev: &mut Evaluator<'c, 'a>, arg: &ArgValue<'c, 'a>) -> Result<Tiler> {
    let Value::Tuple(parts) = &arg.value else {
        return ev.expected("a tile (M, N, K)", &arg.value.clone(), arg.expr.span);
    };
    let mut modes = Vec::new();
    for part in parts {
        modes.push(match part.as_static() {
            Some(Val::Scalar(extent)) => Tiler::Int(extent),
            Some(Val::Layout(layout)) if layout.as_plain().is_some() => {
                Tiler::Layout(layout.inner().clone())
            }
            Some(Val::Tuple(_, tuple)) if tuple.is_leaf() => Tiler::All,
            _ => return ev.expected("an extent, a layout or `_`", &part.clone(), arg.expr.span),
        });
    }
    Ok(Tiler::Tile(modes))
}

/// `threads(tiled)`.
fn threads<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    let threads = match &call.positional()[0] {
        Value::Static(Val::TiledCopy(copy)) => copy.tiled.threads(),
        Value::Static(Val::TiledMma(mma)) => mma.tiled.threads(),
        other => return ev.expected("a tiled copy or MMA", &other.clone(), call.span),
    };
    match threads.as_static() {
        Some(threads) => Ok(Value::Int(threads)),
        None => Err(Stop::Reported),
    }
}

fn tile_size<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    mode: usize,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    match &call.positional()[0] {
        Value::Static(Val::TiledMma(mma)) => match mma.tiled.tile_size(mode).as_static() {
            Some(size) => Ok(Value::Int(size)),
            None => Err(Stop::Reported),
        },
        other => ev.expected("a tiled MMA", &other.clone(), call.span),
    }
}

/// `tile(a, b, …)`: a tiler of one mode each.
fn tile<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=usize::MAX, &[], 0..=0, &[])?;
    let operands = call.positional();
    match Value::Tuple(operands).as_static() {
        Some(Val::Tile(tiler)) => Ok(Value::Static(Val::Tile(tiler))),
        Some(Val::Tuple(_, tuple)) => match cutec_dialects::value::without_underscore(&tuple) {
            Some(shape) => Ok(Value::Static(Val::Tile(Tiler::from_shape(&shape)))),
            None => ev.unsupported(call.span, "`_` in a tile of integers", ""),
        },
        _ => {
            let diagnostic = Diagnostic::error(
                codes::STATIC_NEEDED,
                call.span,
                "a tile must be known at compile time",
                "here",
            );
            Err(ev.report(diagnostic))
        }
    }
}
