//! Atoms spread over threads and values: tiled copies and tiled MMAs.

use super::builtin::{Builtin, Kind, Lowering, Parameter, arg, either, either_or, rest};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop, problem};
use cutec_dialects::atoms::CopyAtom;
use cutec_dialects::semantics::SemError;
use cutec_dialects::types::{self, TypeError};
use cutec_dialects::value::Val;
use cutec_layout::{Layout, LayoutError, Tiler, tv};

const ATOM: Parameter = arg("atom", Kind::CopyAtom);
const OF_MMA: &[Parameter] = &[ATOM, arg("mma", Kind::TiledMma)];
const MMA: &[Parameter] = &[arg("mma", Kind::TiledMma)];

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("tiled_copy", Lowering::Call(tiled_copy), "A copy by threads that lie as `thr`, each of values that lie as `val`.")
        .takes(&[ATOM, either("thr", Kind::Layout), either("val", Kind::Layout)]),
    Builtin::new("tiled_copy_A", Lowering::Call(|ev, call| tiled_copy_for(ev, call, tv::make_tiled_copy_a)), "A copy of what the threads of an MMA hold of operand A.").takes(OF_MMA),
    Builtin::new("tiled_copy_B", Lowering::Call(|ev, call| tiled_copy_for(ev, call, tv::make_tiled_copy_b)), "A copy of what the threads of an MMA hold of operand B.").takes(OF_MMA),
    Builtin::new("tiled_copy_C", Lowering::Call(|ev, call| tiled_copy_for(ev, call, tv::make_tiled_copy_c)), "A copy of what the threads of an MMA hold of the sums.").takes(OF_MMA),
    Builtin::new("tiled_mma", Lowering::Call(tiled_mma), "An MMA by atoms that lie as `atoms` along M, N and K; `permute` is the tile that they compute together.")
        .takes(&[arg("atom", Kind::MmaAtom), either_or("atoms", Kind::Layout, "(1, 1, 1)"), either_or("permute", Kind::Tiler, "…")]),
    Builtin::new("threads", Lowering::Call(threads), "The number of threads of a tiled copy or MMA.").takes(&[arg("tiled", Kind::Tiled)]),
    Builtin::new("tile_size_m", Lowering::Call(|ev, call| tile_size(ev, call, 0)), "The extent along M of the tile that a tiled MMA computes.").takes(MMA),
    Builtin::new("tile_size_n", Lowering::Call(|ev, call| tile_size(ev, call, 1)), "The extent along N of the tile that a tiled MMA computes.").takes(MMA),
    Builtin::new("tile_size_k", Lowering::Call(|ev, call| tile_size(ev, call, 2)), "The extent along K of the tile that a tiled MMA computes.").takes(MMA),
    Builtin::new("tile", Lowering::Call(tile), "A tiler: a layout or an extent for each mode.")
        .takes(&[arg("mode", Kind::Layout), rest("modes", Kind::Layout)]),
];

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
    let atom = required(ev, call, "atom", 0)?;
    let Value::Static(Val::CopyAtom(atom)) = atom.value else {
        return ev.expected("a copy atom", &atom.value, atom.expr.span);
    };
    let thr = required(ev, call, "thr", 1)?;
    let val = required(ev, call, "val", 2)?;
    let (thr, val) = (static_layout(ev, &thr)?, static_layout(ev, &val)?);
    let tiled = tv::make_tiled_copy_tv(types::copy_layouts(&atom), &thr, &val);
    match tiled_copy_of(atom, tiled) {
        Ok(tiled) => Ok(Value::Static(tiled)),
        Err(error) => tiled_error(ev, call, error, &[("thr", &thr), ("val", &val)]),
    }
}

fn tiled_copy_of(
    atom: CopyAtom,
    tiled: std::result::Result<tv::TiledCopy, LayoutError>,
) -> std::result::Result<Val, TypeError> {
    types::tiled_copy_of(atom, tiled?)
}

fn tiled_error<'c, 'a, T>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    error: TypeError,
    layouts: &[(&str, &Layout)],
) -> Result<T> {
    let error = match error {
        TypeError::Layout(error) => SemError::Layout(error),
        other => SemError::Type(other),
    };
    let mut diagnostic = problem::semantic(call.span, &call.name, &error, &[]);
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
    let [atom, mma] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let Value::Static(Val::CopyAtom(copy)) = atom.value else {
        return ev.expected("a copy atom", &atom.value.clone(), atom.expr.span);
    };
    let Value::Static(Val::TiledMma(tiled)) = &mma.value else {
        return ev.expected("a tiled MMA", &mma.value.clone(), mma.expr.span);
    };
    match tiled_copy_of(copy, make(types::copy_layouts(&copy), &tiled.tiled)) {
        Ok(tiled) => Ok(Value::Static(tiled)),
        Err(error) => tiled_error(ev, call, error, &[("atoms", tiled.tiled.atom_layout_mnk())]),
    }
}

/// `tiled_mma(atom, atoms = layout, permute = tile)`.
fn tiled_mma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
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
        Err(error) => tiled_error(ev, call, error, &[("atoms", &atoms)]),
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
