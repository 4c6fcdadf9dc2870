//! Asynchronous copies in bulk: their groups, and the fences between them and ordinary accesses.
//!
//! PTX ISA, "Async proxy": what a thread writes to memory is seen by bulk copies, copies by tensor maps and `wgmma` only
//! behind a fence between the proxies.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, named};
use crate::diagnostics::codes;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::target::Feature;

const GROUPS: &[Parameter] = &[arg("groups", Kind::Integer)];

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("mbarrier_init_fence", init_fence, "Makes the barriers that this thread has initialized visible to the other blocks of the cluster and to asynchronous copies. Behind it comes `barrier()` or `cluster_barrier()`."),
    of_threads("fence_proxy_async", fence_proxy, "Orders what this thread has stored and loaded before bulk copies and `wgmma` that follow, once the threads have met at a barrier: these see its stores, and may overwrite what its loads have read. `space` says in which memory.")
        .takes(&[named("space", Kind::Word(&["shared", "global", "both"]), "shared")]),
    of_threads("bulk_commit", commit, "Ends a group of bulk copies from shared memory that this thread has begun."),
    of_threads("bulk_wait", |ev, call| wait(ev, call, false), "Waits until at most the last so many groups of bulk copies of this thread are under way; what the others wrote is there.")
        .takes(GROUPS),
    of_threads("bulk_wait_read", |ev, call| wait(ev, call, true), "Waits until all but the last so many groups of bulk copies of this thread have read their sources, which may then be written again.")
        .takes(GROUPS),
];

fn init_fence<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, "mbarrier_init_fence", call.span)?;
    ev.ir(call.span)?
        .op(NvvmOp::FenceMbarrierInit, &[], &[], &[]);
    Ok(Value::Unit)
}

fn fence_proxy<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, "fence_proxy_async", call.span)?;
    let space = match call.named("space").map(|arg| (&arg.value, arg.expr.span)) {
        None => "shared".into(),
        Some((Value::Str(word), _)) => word.clone(),
        Some((other, span)) => {
            return ev.expected("`shared`, `global` or `both`", &other.clone(), span);
        }
    };
    let ir = ev.ir(call.span)?;
    let attrs = match &*space {
        "shared" => vec![
            ("kind", ir.attr("#nvvm.proxy_kind<async.shared>")),
            ("space", ir.attr("#nvvm.shared_space<cta>")),
        ],
        "global" => vec![("kind", ir.attr("#nvvm.proxy_kind<async.global>"))],
        "both" => vec![("kind", ir.attr("#nvvm.proxy_kind<async>"))],
        other => {
            let span = call.named("space").map_or(call.span, |arg| arg.expr.span);
            let found = Value::Str(other.into());
            return ev.expected("`shared`, `global` or `both`", &found, span);
        }
    };
    ir.op(NvvmOp::FenceProxy, &[], &attrs, &[]);
    Ok(Value::Unit)
}

fn commit<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, "bulk_commit", call.span)?;
    ev.ir(call.span)?
        .op(NvvmOp::CpAsyncBulkCommitGroup, &[], &[], &[]);
    Ok(Value::Unit)
}

fn wait<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    read: bool,
) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, &call.name.clone(), call.span)?;
    let Some(arg) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    let groups = match &arg.value {
        Value::Int(groups) if (0..=64).contains(groups) => *groups,
        Value::Int(groups) => {
            let message = format!("`{}` takes 0 to 64 groups, not {groups}", call.name);
            return ev.error(
                codes::ILLEGAL_OPERATION,
                arg.expr.span,
                message,
                "out of range",
            );
        }
        Value::Scalar(_) => return ev.static_needed("the number of groups", arg.expr),
        other => return ev.expected("an integer", &other.clone(), arg.expr.span),
    };
    let ir = ev.ir(call.span)?;
    let mut attrs = vec![("group", ir.i32(groups as i32))];
    if read {
        attrs.push(("read", ir.unit()));
    }
    ir.op(NvvmOp::CpAsyncBulkWaitGroup, &[], &attrs, &[]);
    Ok(Value::Unit)
}
