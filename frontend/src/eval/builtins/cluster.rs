//! Clusters: blocks that run at the same time and reach each other's shared memory (PTX ISA, "Cluster of Cooperative Thread
//! Arrays").

use super::builtin::{
    AtPlace, Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, either, named,
};
use super::mbarrier::integer;
use super::operator::Operator;
use crate::ast::{Arg, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::{Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::semantics::{AtomicKind, Attrs, reduction};
use cutec_dialects::target::Feature;

const PLACE: Parameter = arg("place", Kind::Place);
const BARRIER: Parameter = either("barrier", Kind::Place);

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

const fn of_place(name: &'static str, what: AtPlace, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Place(what), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("cluster_rank", rank, "The number of the block in its cluster, x fastest; 0 without `cluster`."),
    of_threads("cluster_size", |ev, _| Ok(Value::Int(ev.cluster.iter().product())), "How many blocks a cluster has, known while compiling."),
    of_threads("cluster_arrive", arrive, "Comes to the barrier of the cluster, and does not wait. With `relaxed = true` it orders no memory: for where barriers have just been initialized, behind `mbarrier_init_fence()`.")
        .takes(&[named("relaxed", Kind::Bool, "false")]),
    of_threads("cluster_wait", |ev, call| plain(ev, call, &[NvvmOp::ClusterWait]), "Waits until all threads of all blocks of the cluster have come to its barrier."),
    of_threads("cluster_barrier", |ev, call| plain(ev, call, &[NvvmOp::ClusterArrive, NvvmOp::ClusterWait]), "Waits for all threads of all blocks of the cluster."),
    of_threads("map_shared_rank", map_shared_rank, "What is at the same place in the shared memory of another block of the cluster, the one of this rank: a view that is read, written, copied and updated like any in shared memory.")
        .takes(&[arg("x", Kind::View), arg("rank", Kind::Integer)]),
    of_place("store_async", AtPlace::StoreAsync, "Writes x to an element or a view of another block's shared memory (`map_shared_rank`), and does not wait: the bytes are counted at the barrier at this place of that block.")
        .takes(&[PLACE, arg("x", Kind::Number), BARRIER]),
    of_place("reduce_async", AtPlace::ReduceAsync, "Combines an element of another block's shared memory with x, and does not wait: the bytes are counted at the barrier at this place of that block. By add of i32 and i64, `min`, `max`, and, or, xor of i32.")
        .takes(&[PLACE, arg("operator", Kind::Operator), arg("x", Kind::Number), BARRIER]),
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

/// `map_shared_rank(x, rank)`: the view of the same buffer in the block of this rank.
fn map_shared_rank<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let name = call.name.clone();
    ev.needs(Feature::Clusters, &name, call.span)?;
    let (Some(view), Some(rank)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    if ev.cluster == [1; 3] {
        let message = format!("`{name}` needs a cluster, but each block of this kernel is alone");
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, call.span, message, "here");
        let help = "launch it in clusters: `launch grid(…), block(…), cluster(2)`";
        return Err(ev.report(diagnostic.with_help(help)));
    }
    let rank = rank_of(ev, rank)?;
    let operands = [view.value.clone(), rank];
    ev.op(
        CuteOp::MapSharedRank,
        &name,
        &operands,
        &Attrs::default(),
        call.span,
    )
}

/// The rank of a block; one that is known while compiling is one of the cluster's.
pub(super) fn rank_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    arg: &ArgValue<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let rank = integer(ev, arg)?;
    let blocks: i64 = ev.cluster.iter().product();
    match rank {
        Value::Int(rank) if !(0..blocks).contains(&rank) => {
            let message = format!("there is no block of rank {rank} in a cluster of {blocks}");
            let label = match blocks {
                1 => "expected 0: each block is alone".to_owned(),
                _ => format!("expected 0 to {}", blocks - 1),
            };
            ev.error(codes::OUT_OF_BOUNDS, arg.expr.span, message, label)
        }
        rank => Ok(rank),
    }
}

/// A call whose first argument is a place in another block's memory: the view and the coordinate, and the other
/// arguments.
struct Remote<'c, 'a> {
    view: Value<'c, 'a>,
    coord: Value<'c, 'a>,
    place: &'a Expr,
    call: Call<'c, 'a>,
    /// The barrier: the view and the coordinate.
    barrier: [Value<'c, 'a>; 2],
}

fn remote<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Result<Remote<'c, 'a>> {
    let span = whole.span;
    let forms = super::table::functions(name);
    let (place, rest) = match args.split_first() {
        Some((first, rest)) if first.name.is_none() => (&first.value, rest),
        _ => {
            let call = ev.arguments(name.into(), span, span, &[], args)?;
            super::arguments::chosen(ev, &forms, &call, 0)?;
            return Err(Stop::Reported);
        }
    };
    let (view, coord) = match &*place.kind {
        ExprKind::Index { base, indices } => {
            let (view, coord) = (ev.expr(base), ev.coordinate(indices));
            let (view, coord) = (view?, coord?);
            ev.check_index_count(&view, indices.len(), (base.span, place.span))?;
            (view, coord)
        }
        _ => (ev.expr(place)?, Value::Underscore),
    };
    let places = super::table::named_places(name);
    let call = ev.arguments_with_places((name.into(), span, span), &[], rest, &places)?;
    super::arguments::chosen(ev, &forms, &call, 1)?;
    ev.needs(Feature::Clusters, name, span)?;
    match view.as_view().map(|(_, view)| view.ptr.space) {
        Some(Space::Dsmem) => {}
        Some(space @ (Space::Smem | Space::Gmem | Space::Rmem)) => {
            let message = format!("`{name}` is for the shared memory of another block");
            let label = format!("this is in {space}");
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, place.span, message, label);
            let help = format!("`{name}(map_shared_rank(buffer, rank)[i], …)`");
            return Err(ev.report(diagnostic.with_help(help)));
        }
        None => {
            return ev.expected(
                "an element or a view of another block's memory",
                &view,
                place.span,
            );
        }
    }
    let barrier = call.named("barrier").map(|arg| &arg.value);
    let Some(Value::Tuple(parts)) = barrier else {
        let message = format!("`{name}` needs the barrier that counts its bytes, by name");
        let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here");
        return Err(ev.report(diagnostic.with_help("`barrier = full[0]`, of the own block: the one at the same place of the other block is meant")));
    };
    let [barriers, which] = parts.as_slice() else {
        return Err(Stop::Reported);
    };
    let barrier = [barriers.clone(), which.clone()];
    Ok(Remote {
        view,
        coord,
        place,
        call,
        barrier,
    })
}

/// `store_async(peer[i], x, barrier = full[0])`, of an element or a view.
pub(super) fn store_async<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Result<Value<'c, 'a>> {
    let (name, span, none) = ("store_async", whole.span, Attrs::default());
    let Remote {
        view,
        coord,
        place,
        call,
        barrier: [barriers, which],
    } = remote(ev, name, args, whole)?;
    let part = match coord {
        Value::Underscore => view,
        coord => ev.op(CuteOp::Slice, name, &[view, coord], &none, place.span)?,
    };
    let Some(value) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    let spans = (place.span, value.expr.span, span);
    let vector = ev.vector_for(&part, &value.value, spans)?;
    let operands = [vector, part, barriers, which];
    ev.op(CuteOp::StoreAsync, name, &operands, &none, span)
}

/// `reduce_async(peer[i], add, x, barrier = full[0])`, of an element.
pub(super) fn reduce_async<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Result<Value<'c, 'a>> {
    let (name, span) = ("reduce_async", whole.span);
    let Remote {
        view,
        coord,
        place,
        call,
        barrier: [barriers, which],
    } = remote(ev, name, args, whole)?;
    if ev.is_slice(&coord) {
        let message = format!("`{name}` updates one element, not a view");
        return ev.error(codes::WRONG_TYPE, place.span, message, "expected `t[i]`");
    }
    let (Some(operator), Some(value)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    let Some((_, of)) = view.as_view() else {
        return Err(Stop::Reported);
    };
    let elem = of.ptr.elem;
    let Some(operator_of) = Operator::of(&operator.value) else {
        return ev.expected("an operator", &operator.value.clone(), operator.expr.span);
    };
    let kind = AtomicKind::parse(operator_of.name()).ok();
    let Some(kind) = kind.filter(|kind| reduction(*kind, elem).is_some()) else {
        let (by, of) = (operator_of.name(), elem_name(elem));
        let message = format!("there is no `{name}` by {by} of {of}");
        let diagnostic = Diagnostic::error(
            codes::ILLEGAL_OPERATION,
            operator.expr.span,
            message,
            "here",
        );
        let help = "there are add of i32 and i64, min, max, and, or, xor of i32";
        return Err(ev.report(diagnostic.with_help(help)));
    };
    let number = ev.number(&value.value, elem, value.expr.span)?;
    let number = number_or_vector(number, elem, None);
    let attrs = Attrs {
        kind: Some(kind),
        ..Attrs::default()
    };
    let operands = [view, coord, number, barriers, which];
    ev.op(CuteOp::ReduceAsync, name, &operands, &attrs, span)
}
