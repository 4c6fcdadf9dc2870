//! Clusters: blocks that run at the same time and reach each other's shared memory (PTX ISA, "Cluster of Cooperative Thread
//! Arrays").

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, named};
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::target::Feature;

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("cluster_rank", rank, "The number of the block in its cluster, x fastest; 0 without `cluster`."),
    of_threads("cluster_size", |ev, _| Ok(Value::Int(ev.cluster.iter().product())), "How many blocks a cluster has, known while compiling."),
    of_threads("cluster_arrive", arrive, "Comes to the barrier of the cluster, and does not wait. With `relaxed = true` it orders no memory: for where barriers have just been initialized, behind `mbarrier_init_fence()`.")
        .takes(&[named("relaxed", Kind::Bool, "false")]),
    of_threads("cluster_wait", |ev, call| plain(ev, call, &[NvvmOp::ClusterWait]), "Waits until all threads of all blocks of the cluster have come to its barrier."),
    of_threads("cluster_barrier", |ev, call| plain(ev, call, &[NvvmOp::ClusterArrive, NvvmOp::ClusterWait]), "Waits for all threads of all blocks of the cluster."),
];

fn rank<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    if ev.cluster == [1; 3] {
        return Ok(Value::Int(0));
    }
    let ir = ev.ir(call.span)?;
    let rank = ir.value(NvvmOp::ReadPtxSregClusterCtarank, &[], &[], ir.ty("i32"));
    Ok(number_or_vector(rank, Elem::I32, None))
}

fn arrive<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    match call.named("relaxed").map(|arg| (&arg.value, arg.expr.span)) {
        None | Some((Value::Bool(false), _)) => plain(ev, call, &[NvvmOp::ClusterArrive]),
        Some((Value::Bool(true), _)) => plain(ev, call, &[NvvmOp::ClusterArriveRelaxed]),
        Some((other, span)) => ev.expected_bool(&other.clone(), span),
    }
}

/// Operations of all threads, of which those of a warp come together.
fn plain<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    ops: &[NvvmOp],
) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Clusters, &call.name.clone(), call.span)?;
    for op in ops {
        let ir = ev.ir(call.span)?;
        let aligned = [("aligned", ir.unit())];
        ir.op(*op, &[], &aligned, &[]);
    }
    Ok(Value::Unit)
}
