//! Tensor maps that a kernel edits, as for a group of products with tensors of their own; names are those of CuTe DSL.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg};
use super::tma::atom_of;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::{Cute, Origin, Value};
use crate::eval::{Evaluator, Result, Stop, problem};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::semantics::{Attrs, tma_desc_place};
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;

const ATOM: Parameter = arg("atom", Kind::CopyAtom);
const TENSOR: Parameter = arg("tensor", Kind::View);
const MAP: Parameter = arg("map", Kind::View);

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("copy_tensormap", |ev, call| edit(ev, call, CuteOp::CopyTmaDesc, 1), "Copies the map of `tma_load` and the like to 128 bytes of global or shared memory. One thread does it.")
        .takes(&[ATOM, MAP]),
    of_threads("update_tma_descriptor", |ev, call| edit(ev, call, CuteOp::UpdateTmaDesc, 2), "Puts a tensor in global memory, its address, extents and strides, into the map that lies at `map`, a copy of that of the atom. One thread does it.")
        .takes(&[ATOM, TENSOR, MAP]),
    of_threads("fence_tma_desc_release", release, "Releases the maps in global memory that this thread has edited to those that acquire them."),
    of_threads("cp_fence_tma_desc_release", |ev, call| edit(ev, call, CuteOp::CpFenceTmaDescRelease, 0), "Copies a map that was edited in shared memory to global memory, and releases it. All threads of a warp come to it.")
        .takes(&[arg("to", Kind::View), arg("from", Kind::View)]),
    of_threads("fence_tma_desc_acquire", acquire, "Acquires the map that lies at a place in global memory: before copies by it, behind a barrier with who released it.")
        .takes(&[MAP]),
    of_threads("with_tensormap", with_map, "The same copy by the map that lies at a place in global memory.")
        .takes(&[ATOM, MAP]),
];

/// An operation that writes the map that is this argument.
fn edit<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    op: CuteOp,
    written: usize,
) -> Result<Value<'c, 'a>> {
    let name = call.name.clone();
    ev.needs(Feature::TensormapReplace, &name, call.span)?;
    if op != CuteOp::CpFenceTmaDescRelease {
        atom_of(ev, call)?;
    }
    if let Some(map) = call.arg(written) {
        ev.check_writable(&map.value, map.expr.span)?;
    }
    let operands = call.positional();
    ev.op(op, &name, &operands, &Attrs::default(), call.span)
}

fn release<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::TensormapReplace, &call.name.clone(), call.span)?;
    let ir = ev.ir(call.span)?;
    let attrs = [
        ("scope", ir.attr("#nvvm.mem_scope<gpu>")),
        ("fromProxy", ir.attr("#nvvm.proxy_kind<generic>")),
        ("toProxy", ir.attr("#nvvm.proxy_kind<tensormap>")),
    ];
    ir.op(NvvmOp::FenceProxyRelease, &[], &attrs, &[]);
    Ok(Value::Unit)
}

fn acquire<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let name = call.name.clone();
    ev.needs(Feature::TensormapReplace, &name, call.span)?;
    let (op, operands) = (CuteOp::FenceTmaDescAcquire, call.positional());
    ev.op(op, &name, &operands, &Attrs::default(), call.span)
}

fn with_map<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let name = call.name.clone();
    ev.needs(Feature::TensormapReplace, &name, call.span)?;
    let (_, atom) = atom_of(ev, call)?;
    let Some(ArgValue { value, expr, .. }) = call.arg(1) else {
        return Err(Stop::Reported);
    };
    let Value::Cute(map) = value else {
        let what = "128 bytes of global memory, where a tensor map lies";
        return ev.expected(what, &value.clone(), expr.span);
    };
    if let Err(error) = tma_desc_place(&map.val, &[Space::Gmem]) {
        return Err(ev.report(problem::semantic(call.span, &name, &error, &[])));
    }
    let (place, val) = (map.ir, Val::TmaAtom(atom));
    let ir = ev.ir(call.span)?;
    let ty = ir.val_type(&val);
    let ir = ir.value(CuteOp::MakeTmaAtom, &[place], &[], ty);
    let origin = Origin::default();
    Ok(Value::Cute(Cute { ir, val, origin }))
}
