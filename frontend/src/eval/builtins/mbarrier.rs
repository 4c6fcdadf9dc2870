//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "mbarrier"): `mbarrier_wait(full[s], parity)`.
//!
//! The first argument is a place, one element of `smem<u64>(…)`.

use super::builtin::{
    AtPlace, Builtin, CallAtPlace, Kind, Level, Lowering, Parameter, arg, either_or, named,
};
use crate::eval::call::ArgValue;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, mbarrier_feature};

const PLACE: Parameter = arg("place", Kind::Place);
const BYTES: Parameter = arg("bytes", Kind::Integer);
const PARITY: Parameter = arg("parity", Kind::Integer);
const SCOPE: Kind = Kind::Word(&["cta", "cluster"]);
const CTA: Parameter = named("cta", Kind::Integer, "…");

const fn of(
    name: &'static str,
    op: CuteOp,
    parameters: &'static [Parameter],
    documentation: &'static str,
) -> Builtin {
    Builtin::new(name, Lowering::Place(AtPlace::Mbarrier(op)), documentation)
        .at(Level::Threads)
        .takes(parameters)
}

pub(super) const TABLE: &[Builtin] = &[
    of(
        "mbarrier_init",
        CuteOp::MbarrierInit,
        &[PLACE, arg("count", Kind::Integer)],
        "Makes a barrier of an element of shared memory of u64, of which each phase expects so many arrivals. One thread does it, before `mbarrier_init_fence()` and `barrier()`.",
    ),
    of(
        "mbarrier_inval",
        CuteOp::MbarrierInval,
        &[PLACE],
        "Ends a barrier: its bytes are ordinary memory again.",
    ),
    of(
        "mbarrier_arrive",
        CuteOp::MbarrierArrive,
        &[
            PLACE,
            either_or("count", Kind::Integer, "1"),
            CTA,
            named("scope", SCOPE, "cluster"),
        ],
        "Arrives, as so many threads: what this thread has done is visible to those that wait. `cta` is the rank of another block of the cluster, whose barrier at the same place is meant. With `scope = cta` that is so within a block alone, which suffices to say that `wgmma` and bulk copies, and loads that `fence_proxy_async()` is behind, have read what may be overwritten, and costs nothing.",
    ),
    of(
        "mbarrier_expect_tx",
        CuteOp::MbarrierExpectTx,
        &[PLACE, BYTES, CTA],
        "The phase does not end before so many bytes more have been copied.",
    ),
    of(
        "mbarrier_arrive_expect_tx",
        CuteOp::MbarrierArriveExpectTx,
        &[PLACE, BYTES, CTA],
        "`mbarrier_expect_tx`, then arrives once.",
    ),
    of(
        "mbarrier_wait",
        CuteOp::MbarrierWait,
        &[PLACE, PARITY, named("scope", SCOPE, "cta")],
        "Waits until the phase of this parity has ended: the first one has parity 0. Of a barrier that is new, the phase before the first, of parity 1, has. With `scope = cluster` what threads of other blocks did before they arrived is visible then, which bulk copies and `store_async` do not need.",
    ),
    of(
        "mbarrier_try_wait",
        CuteOp::MbarrierTryWait,
        &[PLACE, PARITY],
        "Whether the phase of this parity has ended; may wait for it a while.",
    ),
    of(
        "mbarrier_test_wait",
        CuteOp::MbarrierTestWait,
        &[PLACE, PARITY],
        "Whether the phase of this parity has ended, at once.",
    ),
    of(
        "cp_async_mbarrier_arrive",
        CuteOp::MbarrierCpAsyncArriveNoinc,
        &[PLACE, named("noinc", Kind::Bool, "true")],
        "Arrives when the `cp_async` copies that this thread has begun are done. With `noinc = false` the phase expects one arrival more for it.",
    ),
];

/// An operation on a barrier: `name(place, number, cta = rank)`.
pub(super) fn lower<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    op: CuteOp,
    call: &CallAtPlace<'a>,
) -> Result<Value<'c, 'a>> {
    let (name, args, span) = (call.name, call.args, call.whole.span);
    let forms = &call.forms;
    let (first, rest) = match args.split_first() {
        Some((first, rest)) if first.name.is_none() => (first, rest),
        _ => {
            let call = ev.arguments(name.into(), span, span, &[], args)?;
            super::arguments::chosen(ev, forms, &call, 0)?;
            return Err(Stop::Reported);
        }
    };
    let place = ev.element_place(&first.value);
    let call = ev.arguments(name.into(), span, span, &[], rest);
    let ((view, coord), call) = (place?, call?);
    super::arguments::chosen(ev, forms, &call, 1)?;
    let mut op = op;
    if let Some(noinc) = call.named("noinc") {
        match &noinc.value {
            Value::Bool(true) => {}
            Value::Bool(false) => op = CuteOp::MbarrierCpAsyncArrive,
            other => return ev.expected_bool(&other.clone(), noinc.expr.span),
        }
    }
    if let Some(scope) = call.named("scope") {
        match &scope.value {
            Value::Str(word) if matches!(&**word, "cta" | "cluster") => {
                op = within(op, &**word == "cta");
            }
            other => {
                return ev.expected("`cta` or `cluster`", &other.clone(), scope.expr.span);
            }
        }
    }
    let mut operands = vec![view, coord];
    let number = call.arg(0).or_else(|| call.named("count"));
    match (number, op) {
        (Some(number), _) => operands.push(integer(ev, number)?),
        (None, CuteOp::MbarrierArrive | CuteOp::MbarrierArriveWithinCta) => {
            operands.push(Value::Int(1))
        }
        (None, _) => {}
    }
    if let Some(rank) = call.named("cta") {
        operands.push(super::cluster::rank_of(ev, rank)?);
    }
    let known: Vec<_> = operands
        .iter()
        .map(|operand| {
            let known = operand.as_static();
            known.unwrap_or_else(|| cutec_dialects::value::Val::integer(cutec_layout::Width::I32))
        })
        .collect();
    ev.needs(mbarrier_feature(op, &known), name, span)?;
    ev.op(op, name, &operands, &Attrs::default(), span)
}

/// The operation whose ordering ends with the block, or reaches over the cluster.
fn within(op: CuteOp, cta: bool) -> CuteOp {
    match (op, cta) {
        (CuteOp::MbarrierArrive, true) => CuteOp::MbarrierArriveWithinCta,
        (CuteOp::MbarrierWait, false) => CuteOp::MbarrierWaitAcrossCluster,
        (op, _) => op,
    }
}

/// An integer of 32 bits, or one that is known; a bool counts as 0 or 1.
pub(super) fn integer<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    arg: &ArgValue<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let span = arg.expr.span;
    let value = ev.read_slot(&arg.value, span)?;
    match &value {
        Value::Int(_) => Ok(value),
        Value::Bool(flag) => Ok(Value::Int(i64::from(*flag))),
        Value::Scalar(scalar) if matches!(scalar.elem, Elem::I32 | Elem::I64) => Ok(value),
        Value::Scalar(scalar) if scalar.elem == Elem::I1 => ev.convert(Elem::I32, &value, span),
        other => ev.expected("an integer", &other.clone(), span),
    }
}
