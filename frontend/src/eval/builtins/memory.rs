//! Moving data and multiplying it: copies, gemm, barriers.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, named};
use super::hints;
use super::warp::WARP;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::atoms::{Place, TmaAtom, TmaKind};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::semantics::Attrs;
use cutec_dialects::semantics::check;
use cutec_dialects::target::Feature;
use cutec_dialects::value::Val;
use cutec_layout::tv::Operand;

const SOURCE: Parameter = arg("source", Kind::View);
/// Whether a product adds to its sums; known while compiling or not.
const ACCUMULATE: Parameter = named("accumulate", Kind::Bool, "true");
/// What tells where the elements of a sparse A belong.
const METADATA: Parameter = named("metadata", Kind::View, "…");
const DESTINATION: Parameter = arg("destination", Kind::View);

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("copy", copy, "Copies by an atom. Where `pred` is false, zeros go to shared memory and registers, nothing to global memory. By a tensor map one thread copies a tile: one of both sides is a tile of coordinates, or the coordinate where it begins. A load by a map or by `bulk_copy` counts its bytes at `barrier`; with `multicast = mask` it goes to the same place of each block of the cluster whose bit is set, by `bulk_copy` from shared memory to that of the block `cta`.")
        .takes(&[arg("atom", Kind::Copier), SOURCE, DESTINATION, named("pred", Kind::Predicate, "true"), named("barrier", Kind::Place, "…"), named("multicast", Kind::Integer, "…"), named("cta", Kind::Integer, "…"), named("offsets", Kind::Coordinate, "0")]),
    of_threads("prefetch", prefetch, "Fetches into L2 what a copy by a tensor map, of a tile of coordinates or the first of them, or `bulk_copy`, of a view, would load. By one thread.")
        .takes(&[arg("atom", Kind::CopyAtom), arg("source", Kind::View), named("offsets", Kind::Coordinate, "0")]),
    of_threads("autovec_copy", autovec_copy, "Copies with the widest accesses that are proven legal.")
        .takes(&[SOURCE, DESTINATION, hints::CACHE, hints::PREFETCH, hints::EVICT]),
    of_threads("gemm", gemm, "`c += a · bᵀ`, of operands (V, M, K), (V, N, K) and (V, M, N), or what slices leave of them. Where `accumulate` is false, `c = a · bᵀ`. With a sparse A `metadata` are words of i32 in registers, one for each instruction's part of A.")
        .takes(&[arg("mma", Kind::Multiplier), arg("a", Kind::View), arg("b", Kind::View), arg("c", Kind::View), ACCUMULATE, METADATA]),
    of_threads("gemm", gemm, "`d = a · bᵀ + c`.")
        .takes(&[arg("mma", Kind::Multiplier), arg("d", Kind::View), arg("a", Kind::View), arg("b", Kind::View), arg("c", Kind::View), ACCUMULATE, METADATA]),
    of_threads("fill", store, "Writes a number to all elements of a view.")
        .takes(&[arg("view", Kind::View), arg("value", Kind::Number), hints::CACHE, hints::PREFETCH, hints::EVICT]),
    of_threads("store", store, "Writes values, or one number, to all elements of a view.")
        .takes(&[arg("view", Kind::View), arg("values", Kind::Number), hints::CACHE, hints::PREFETCH, hints::EVICT]),
    of_threads("load", load, "All elements of a view as one value.")
        .takes(&[arg("view", Kind::View), hints::CACHE, hints::PREFETCH, hints::EVICT]),
    of_threads("barrier", |ev, call| plain(ev, call, NvvmOp::Barrier0), "Waits for all threads of the block."),
    of_threads("barrier", |ev, call| named_barrier(ev, call, true), "Waits until so many threads, whole warps, have come to barrier 0 to 15.")
        .takes(&[arg("id", Kind::Integer), arg("threads", Kind::Integer)]),
    of_threads("barrier_arrive", |ev, call| named_barrier(ev, call, false), "Comes to a barrier and does not wait.")
        .takes(&[arg("id", Kind::Integer), arg("threads", Kind::Integer)]),
    of_threads("warp_barrier", warp_barrier, "Waits for all threads of the warp."),
    of_threads("wgmma_fence", |ev, call| plain(ev, call, NvvmOp::WgmmaFence), "Orders registers before the first `wgmma` that uses them: before it the accumulators and what `a = rmem` reads are written."),
    of_threads("wgmma_commit", |ev, call| plain(ev, call, NvvmOp::WgmmaCommitGroup), "Ends a group of `wgmma` products."),
    of_threads("wgmma_wait", wgmma_wait, "Waits until at most the last so many groups of `wgmma` are under way; before it nothing touches their accumulators.")
        .takes(&[arg("groups", Kind::Integer)]),
    of_threads("cp_async_commit", |ev, call| plain(ev, call, NvvmOp::CpAsyncCommitGroup), "Ends a group of `cp_async` copies."),
    of_threads("cp_async_wait", cp_async_wait, "Waits until at most the last so many groups are under way.")
        .takes(&[arg("groups", Kind::Integer)]),
];

/// By what a copy is done, as far as the arguments differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kinds {
    /// An atom of threads, or a tiled copy.
    Threads,
    /// A bulk copy without a tensor map.
    Bulk,
    /// A tensor map.
    Map,
}

/// Which copies take an argument that is given by its name.
const OPTIONS: [(&str, &[Kinds]); 5] = [
    ("pred", &[Kinds::Threads]),
    ("barrier", &[Kinds::Bulk, Kinds::Map]),
    ("multicast", &[Kinds::Bulk, Kinds::Map]),
    ("cta", &[Kinds::Bulk]),
    ("offsets", &[Kinds::Map]),
];

impl Kinds {
    fn of(atom: &Value<'_, '_>) -> Kinds {
        match atom {
            Value::Cute(cute) if matches!(cute.val, Val::TmaAtom(_)) => Kinds::Map,
            Value::Static(Val::BulkCopy(_)) => Kinds::Bulk,
            _ => Kinds::Threads,
        }
    }

    /// The error that a copy does not take an argument.
    fn refuses(self, name: &str, span: Span) -> Diagnostic {
        let message = match self {
            Kinds::Threads if name == "cta" => "`cta` is for bulk copies".to_owned(),
            Kinds::Threads => format!("`{name}` is for copies by tensor maps and bulk copies"),
            Kinds::Bulk => format!("a bulk copy takes no `{name}`"),
            Kinds::Map => format!("a copy by a tensor map takes no `{name}`"),
        };
        let help = match self {
            Kinds::Threads => {
                "of `cp_async` copies a barrier knows by `cp_async_mbarrier_arrive(place)`"
            }
            Kinds::Bulk => "one thread copies all of it: put an `if` around",
            Kinds::Map if name == "cta" => "`multicast = 1 << rank` sends a tile to another block",
            Kinds::Map => "what lies outside of the tensor is zero, or not written",
        };
        Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here").with_help(help)
    }
}

/// `copy(atom, src, dst, pred = predicate)`.
fn copy<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut operands = call.positional();
    if let Some(dst) = call.arg(2) {
        ev.check_writable(&operands[2], dst.expr.span)?;
    }
    let by = Kinds::of(&operands[0]);
    for (name, kinds) in OPTIONS {
        if let Some(arg) = call.named(name).filter(|_| !kinds.contains(&by)) {
            return Err(ev.report(by.refuses(name, arg.expr.span)));
        }
    }
    if let Some(barrier) = call.named("barrier")
        && let Value::Tuple(place) = &barrier.value
    {
        operands.extend(place.iter().cloned());
    }
    if let Value::Cute(cute) = &operands[0]
        && let Val::TmaAtom(atom) = &cute.val
        && let Some(offsets) = offsets(ev, call, atom)?
        && operands.len() == 5
    {
        operands.push(offsets);
    }
    if let Some(mask) = call.named("multicast") {
        ev.needs(Feature::Clusters, "multicast", mask.expr.span)?;
        if operands.len() < 5 {
            let message = "`multicast` needs `barrier = …`";
            return ev.error(codes::WRONG_ARGUMENTS, mask.expr.span, message, "of a load");
        }
        operands.push(mask.value.clone());
    }
    if let Some(rank) = call.named("cta") {
        ev.needs(Feature::Clusters, "cta", rank.expr.span)?;
        if operands.len() != 5 {
            let message = "`cta` needs `barrier = …`, and no `multicast`";
            let label = "of a copy to the shared memory of another block";
            return ev.error(codes::WRONG_ARGUMENTS, rank.expr.span, message, label);
        }
        operands.push(rank.value.clone());
    }
    if let Value::Thread(parts) = &operands[0] {
        operands[0] = parts.0.clone();
    }
    if let Some(pred) = call.named("pred") {
        match &pred.value {
            Value::Predicate(parts) => operands.extend([parts.0.clone(), parts.1.clone()]),
            value
                if value
                    .as_view()
                    .is_some_and(|(_, view)| view.ptr.elem == Elem::I1) =>
            {
                operands.push(value.clone())
            }
            other => {
                return ev.expected(
                    "`in_bounds(…)` or a view of bool",
                    &other.clone(),
                    pred.expr.span,
                );
            }
        }
    }
    ev.op(
        CuteOp::Copy,
        "copy",
        &operands,
        &Attrs::default(),
        call.span,
    )
}

/// By how much a load in im2col mode moves its pixels; 0 unless told otherwise.
fn offsets<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    atom: &TmaAtom,
) -> Result<Option<Value<'c, 'a>>> {
    let given = call.named("offsets");
    match (atom.kind, atom.pixels, given) {
        (TmaKind::Load, Some(_), Some(given)) => Ok(Some(given.value.clone())),
        (TmaKind::Load, Some(modes), None) => Ok(Some(Value::Tuple(vec![Value::Int(0); modes]))),
        (_, _, Some(given)) => {
            let message = "`offsets` are for loads in im2col mode, `tma_load_im2col`";
            ev.error(codes::WRONG_ARGUMENTS, given.expr.span, message, "here")
        }
        (_, _, None) => Ok(None),
    }
}

/// `prefetch(atom, source)`, and of a load in im2col mode `prefetch(load, coordinate, offsets = …)`.
fn prefetch<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut operands = call.positional();
    if let Value::Cute(cute) = &operands[0]
        && let Val::TmaAtom(atom) = &cute.val
        && let Some(offsets) = offsets(ev, call, atom)?
    {
        operands[1] = Value::Tuple(vec![operands[1].clone(), offsets]);
    }
    if let (Kinds::Threads, Some(atom)) = (Kinds::of(&operands[0]), call.arg(0)) {
        let what = "`bulk_copy<…>`, or what `tma_load` gives";
        return ev.expected(what, &operands[0], atom.expr.span);
    }
    let attrs = Attrs::default();
    ev.op(CuteOp::Prefetch, "prefetch", &operands, &attrs, call.span)
}

/// `autovec_copy(src, dst)`: with the widest accesses that layouts and alignment allow.
fn autovec_copy<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    if let Some(dst) = call.arg(1) {
        ev.check_writable(&operands[1], dst.expr.span)?;
    }
    let attrs = Attrs {
        hints: hints::of(ev, &call.args, &hints::KEYS)?,
        ..Attrs::default()
    };
    ev.op(
        CuteOp::AutovecCopy,
        "autovec_copy",
        &operands,
        &attrs,
        call.span,
    )
}

/// `gemm(mma, a, b, c)`: c += a · bᵀ; `gemm(mma, d, a, b, c)`: d = a · bᵀ + c.
fn gemm<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut operands = call.positional();
    if operands.len() == 4 {
        operands.insert(1, operands[3].clone());
    }
    if let Value::Thread(parts) = &operands[0] {
        operands[0] = parts.0.clone();
    }
    if let Some(arg) = call.named("accumulate") {
        match &arg.value {
            Value::Bool(true) => {}
            value @ Value::Bool(false) => {
                let number = ev.number(value, Elem::I1, arg.expr.span)?;
                operands.push(number_or_vector(number, Elem::I1, None));
            }
            Value::Scalar(scalar) if scalar.elem == Elem::I1 => operands.push(arg.value.clone()),
            other => return ev.expected_bool(&other.clone(), arg.expr.span),
        }
    }
    if let Some(arg) = call.named("metadata") {
        if operands.len() == 5 {
            let number = ev.number(&Value::Bool(true), Elem::I1, arg.expr.span)?;
            operands.push(number_or_vector(number, Elem::I1, None));
        }
        operands.push(arg.value.clone());
    }
    let result = ev.op(
        CuteOp::Gemm,
        "gemm",
        &operands,
        &Attrs::default(),
        call.span,
    );
    if result.is_err() && is_gemm_with_a_and_b_exchanged(&operands) {
        let shown = |at: usize| {
            call.arg(at)
                .map_or("", |arg| ev.text(arg.expr.span))
                .to_owned()
        };
        let at = call.positional().len() - 3;
        let (a, b) = (shown(at), shown(at + 1));
        if let Some(diagnostic) = ev.diagnostics.last_mut() {
            diagnostic.help = Some(format!(
                "A and B seem to be exchanged: write `…, {b}, {a}, …`"
            ));
        }
    }
    if result.is_err()
        && let Some(help) = help_against_fragments(&operands)
        && let Some(diagnostic) = ev.diagnostics.last_mut()
    {
        diagnostic.help.get_or_insert(help);
    }
    result
}

/// What to write instead of a fragment, for an instruction that reads shared memory by descriptors.
fn help_against_fragments(operands: &[Value<'_, '_>]) -> Option<String> {
    let atom = operands.first()?.as_static()?.mma_atom()?;
    let read = [(Operand::A, 2), (Operand::B, 3)].into_iter();
    let mut read = read.filter(|(which, _)| match atom.operand(*which).place {
        Place::SharedDescriptor => true,
        Place::Registers | Place::Shared | Place::Global | Place::Anywhere => false,
    });
    let in_registers = read.find(|(_, at)| {
        let view = operands.get(*at).and_then(Value::as_view);
        view.is_some_and(|(_, view)| view.ptr.space == Space::Rmem)
    });
    in_registers.map(|(which, _)| {
        let from_registers = match which {
            Operand::A => "; the atom with `a = rmem` takes A from registers",
            Operand::B | Operand::C => "",
        };
        format!(
            "give it the part of the buffer itself, `mma.slice(t).partition_{which:?}(…)`{from_registers}"
        )
    })
}

/// Whether operands of a product that do not fit would fit with A and B in each other's place.
fn is_gemm_with_a_and_b_exchanged(operands: &[Value<'_, '_>]) -> bool {
    let val = |value: &Value<'_, '_>| match value {
        Value::Cute(cute) => Some(cute.val.clone()),
        other => other.as_static(),
    };
    let vals: Option<Vec<_>> = operands.iter().map(val).collect();
    let Some(mut vals) = vals.filter(|vals| vals.len() >= 5) else {
        return false;
    };
    let fits = |vals: &[Val]| check(CuteOp::Gemm, vals, &Attrs::default()).is_ok();
    if fits(&vals) {
        return false;
    }
    vals.swap(2, 3);
    fits(&vals)
}

/// `fill(view, number)`, `store(view, values, cache = …)`.
fn store<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (Some(view), Some(value)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    let spans = (view.expr.span, value.expr.span, call.span);
    let hints = hints::of(ev, &call.args, &hints::KEYS)?;
    ev.store_hinted(&view.value, &value.value, hints, spans)?;
    Ok(Value::Unit)
}

/// `load(view, cache = …)`: all its elements as one value.
fn load<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = call.positional().remove(0);
    let hints = hints::of(ev, &call.args, &hints::KEYS)?;
    match value.as_view() {
        Some(_) => ev.loaded_view(&value, hints, call.span),
        None => ev.expected("a view", &value, call.span),
    }
}

fn plain<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    op: NvvmOp,
) -> Result<Value<'c, 'a>> {
    if op == NvvmOp::Barrier0 {
        ev.all_threads_come(call)?;
    }
    ev.ir(call.span)?.op(op, &[], &[], &[]);
    Ok(Value::Unit)
}

/// `barrier(id, threads)`: waits until so many threads have come to barrier `id`;
/// `barrier_arrive(id, threads)` comes and does not wait.
fn named_barrier<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    waits: bool,
) -> Result<Value<'c, 'a>> {
    let [id, threads] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    if let Value::Int(number) = id.value
        && !(0..16).contains(&number)
    {
        let message = format!("a block has the barriers 0 to 15, not {number}");
        return ev.error(
            codes::ILLEGAL_OPERATION,
            id.expr.span,
            message,
            "no such barrier",
        );
    }
    let block: i64 = ev.threads_of_block();
    if let Value::Int(count) = threads.value
        && (count <= 0 || count % WARP != 0 || count > block)
    {
        let message = format!(
            "{} at the barrier; expected whole warps of the block's {block}",
            counted(count, "thread")
        );
        return ev.error(codes::ILLEGAL_OPERATION, threads.expr.span, message, "here");
    }
    let id = ev.number(&id.value, Elem::I32, id.expr.span)?;
    let threads = ev.number(&threads.value, Elem::I32, threads.expr.span)?;
    let ir = ev.ir(call.span)?;
    if waits {
        let segments = ir.i32_array(&[1, 1, 0]);
        let attrs = [("operandSegmentSizes", segments)];
        ir.op(NvvmOp::Barrier, &[id, threads], &attrs, &[]);
    } else {
        ir.op(NvvmOp::BarrierArrive, &[id, threads], &[], &[]);
    }
    Ok(Value::Unit)
}

fn warp_barrier<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let ir = ev.ir(call.span)?;
    let mask = ir.constant(-1, "i32");
    ir.op(NvvmOp::BarWarpSync, &[mask], &[], &[]);
    Ok(Value::Unit)
}

/// `cp_async_wait(n)`: until at most the last n groups are under way.
fn cp_async_wait<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let groups = groups_of(ev, call, 64)?;
    let ir = ev.ir(call.span)?;
    let attr = ir.integer(groups, ir.ty("i32"));
    ir.op(NvvmOp::CpAsyncWaitGroup, &[], &[("n", attr)], &[]);
    Ok(Value::Unit)
}

/// `wgmma_wait(n)`: until at most the last n groups are under way.
fn wgmma_wait<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let groups = groups_of(ev, call, 7)?;
    let ir = ev.ir(call.span)?;
    let attr = ir.i64(groups);
    ir.op(NvvmOp::WgmmaWaitGroup, &[], &[("group", attr)], &[]);
    Ok(Value::Unit)
}

/// How many groups may be under way behind a wait.
fn groups_of<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>, most: i64) -> Result<i64> {
    let Some(arg) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    match &arg.value {
        Value::Int(groups) if (0..=most).contains(groups) => Ok(*groups),
        Value::Int(groups) => {
            let message = format!("`{}` takes 0 to {most} groups, not {groups}", call.name);
            ev.error(
                codes::ILLEGAL_OPERATION,
                arg.expr.span,
                message,
                "out of range",
            )
        }
        Value::Scalar(_) => ev.static_needed("the number of groups", arg.expr),
        other => ev.expected("an integer", &other.clone(), arg.expr.span),
    }
}
