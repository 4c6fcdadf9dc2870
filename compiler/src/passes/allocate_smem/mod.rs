//! `cute-allocate-smem`: places the shared-memory buffers of each kernel.
//!
//! Before: `cute.memref.alloc_smem` operations. After: each has the attribute `offset` in bytes, and its
//! `gpu.func` the attribute `cute.smem_bytes`. Precondition: the layouts of buffers are static, which the
//! verifier checks.
//!
//! Buffers share memory where one is used no more when the other is used first, all threads have met in
//! between, and no copy is on its way. Where the kernel needs more than the target has, a barrier is put in
//! for them to meet; so it is in a kernel without products, whose registers let many blocks share a
//! multiprocessor, if buffers leave room for few threads there and would leave it for twice as many.
mod liveness;

use super::ir_utils::{collect_nested, for_each_kernel, function_block_size, set_attribute};
use super::user_error::user_error;
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, operation_key, result_of};
use cutec_dialects::ir::result_type_text;
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::target::Target;
use cutec_dialects::value::Val;
use cutec_frontend::diagnostics::codes;
use cutec_layout::algebra::storage;
use liveness::{KernelOrder, Life, Release};
use melior::Context;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// Alignment of every buffer: 128-byte swizzles repeat within it.
const ALIGN: i64 = 128;

/// Places every buffer; more than the target has is an error that lists them.
pub fn allocate_smem<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        place(kernel.context, kernel.function, &kernel.target)
    })
}

/// So many threads on a multiprocessor hide what each of them waits for: half of those that most have room for.
const THREADS_BESIDE: i64 = 1024;
/// Blocks that a multiprocessor holds, however small they are (CUDA programming guide, "Compute capabilities").
const MOST_BLOCKS: i64 = 32;

/// A buffer: the operation that allocates it, its bytes and alignment, when it is used.
struct Buffer<'c> {
    op: IrOp<'c>,
    /// What it holds, in the notation of layouts.
    text: String,
    /// How many stages it has, where its third mode counts them.
    stages: Option<i64>,
    bytes: i64,
    align: i64,
    life: Life,
}

/// Where buffers lie, the end of the last one, and before which operations threads have to meet for it.
#[derive(Default)]
struct Placement<'c> {
    offsets: Vec<i64>,
    end: i64,
    barriers: Vec<IrOp<'c>>,
}

fn place<'c>(context: &'c Context, function: IrOp<'c>, target: &Target) -> Result<(), Reported> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let multiplies = operations.iter().any(|op| CuteOp::Gemm.is(*op));
    operations.retain(|op| CuteOp::MemrefAllocSmem.is(*op));
    let kernel = KernelOrder::of(function);
    let buffers = operations
        .into_iter()
        .map(|op| buffer(op, &kernel).map_err(|message| report(op.location(), message)))
        .collect::<Result<Vec<_>, _>>()?;

    let limit = i64::from(target.max_smem);
    let mut placed = placement(&buffers, &kernel, false);
    let blocks = |placed: &Placement| (limit / placed.end.max(1)).min(MOST_BLOCKS);
    let threads = function_block_size(function);
    let few = |threads: i64| blocks(&placed) * threads < THREADS_BESIDE;
    let are_few = !multiplies && threads.is_some_and(few);
    if placed.end > limit || are_few {
        let closer = placement(&buffers, &kernel, true);
        if placed.end > limit || blocks(&closer) >= 2 * blocks(&placed) {
            placed = closer;
        }
    }
    let ir = OpBuilder::new(context, Insertion::Before(function));
    for (buffer, offset) in buffers.iter().zip(&placed.offsets) {
        let offset = ir.i64(*offset);
        set_attribute(buffer.op, "offset", offset);
    }
    let total = ir.i64(placed.end);
    set_attribute(function, "cute.smem_bytes", total);
    if placed.end > limit {
        let list = buffers
            .iter()
            .zip(&placed.offsets)
            .map(|(buffer, offset)| format!("{} bytes at {offset}: {}", buffer.bytes, buffer.text));
        let list: Vec<String> = list.collect();
        let message = format!(
            "the kernel needs {} bytes of shared memory; {} has {limit}:\n  {}",
            placed.end,
            target.name,
            list.join("\n  ")
        );
        let help = what_fits(&buffers, limit);
        let message = user_error(codes::SHARED_MEMORY, message, &help);
        return Err(report(function.location(), message));
    }
    for op in placed.barriers {
        let mut ir = OpBuilder::new(context, Insertion::Before(op));
        ir.location = op.location();
        ir.op(NvvmOp::Barrier0, &[], &[], &[]);
    }
    Ok(())
}

/// What to write so that a kernel gets along with shared memory: fewer stages where all staged buffers have as many.
fn what_fits(buffers: &[Buffer], limit: i64) -> String {
    let staged = |buffer: &&Buffer| buffer.stages.is_some_and(|stages| stages > 1);
    let mut counts: Vec<i64> = buffers
        .iter()
        .filter(staged)
        .filter_map(|buffer| buffer.stages)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let smaller = "make the tiles, and so the buffers, smaller".to_owned();
    let [stages] = counts[..] else {
        return smaller;
    };
    let of_stages: i64 = buffers
        .iter()
        .filter(staged)
        .map(|buffer| buffer.bytes)
        .sum();
    let others: i64 = buffers
        .iter()
        .filter(|buffer| !staged(buffer))
        .map(|buffer| buffer.bytes)
        .sum();
    match (limit - others) / (of_stages / stages).max(1) {
        fit if fit < 1 => format!("{smaller}: there are {stages} stages, and not one fits"),
        1 => format!("{smaller}: there are {stages} stages, of which 1 fits"),
        // The compiler may have chosen how many there are.
        fit => format!(
            "there are {stages} stages, of which {fit} fit: say `pipeline({fit})` or `stages = {fit}`, or {smaller}"
        ),
    }
}

fn buffer<'c>(op: IrOp<'c>, kernel: &KernelOrder<'c>) -> Result<Buffer<'c>, String> {
    let text = result_type_text(&op);
    let Ok(Val::View(view)) = val_of(result_of(op, 0)) else {
        return Err(format!("expects a view, but allocates {text}"));
    };
    let elements = storage(&view.layout)
        .ok()
        .and_then(|size| size.as_static())
        .ok_or_else(|| format!("expects a static layout, but allocates {text}"))?;
    let layout = view.layout.inner();
    let third = layout.mode(2).filter(|_| layout.rank() == 3);
    let text = format!("{} of layout {}", view.ptr.elem, view.layout);
    Ok(Buffer {
        op,
        stages: third.and_then(|mode| mode.size().as_static()),
        bytes: view.ptr.elem.bytes_of(elements),
        align: view.ptr.align.max(ALIGN),
        life: kernel.life(op),
        text,
    })
}

/// Each buffer at the lowest place where it does not lie in another that is used at the same time; with
/// `meet`, buffers share also where a barrier has to be put in.
fn placement<'c>(buffers: &[Buffer<'c>], kernel: &KernelOrder<'c>, meet: bool) -> Placement<'c> {
    let mut placed = Placement::default();
    let mut with_barrier = HashSet::new();
    let mut released: Vec<Option<Release>> = buffers
        .iter()
        .map(|buffer| kernel.release(&buffer.life))
        .collect();
    // The first use of what is still to be placed, from each buffer on.
    let mut first_uses = vec![usize::MAX; buffers.len()];
    let mut first = usize::MAX;
    for (index, buffer) in buffers.iter().enumerate().rev() {
        first = first.min(buffer.life.first());
        first_uses[index] = first;
    }
    // Those that may not share memory with each that is still to be placed.
    let mut open: Vec<usize> = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        let ends_before = |release: Release| release.ends_before(first_uses[index]);
        open.retain(|other| !released[*other].is_some_and(ends_before));
        // Why another buffer and this one may share memory, if they may.
        let apart = |other: usize| {
            let after = kernel.apart(released[other], &buffer.life, meet);
            after.or_else(|| kernel.apart(released[index], &buffers[other].life, meet))
        };
        let of = |other: &usize| {
            let begin = placed.offsets[*other];
            (begin, begin + buffers[*other].bytes)
        };
        let beside = open.iter().filter(|other| apart(**other).is_none());
        let mut taken: Vec<(i64, i64)> = beside.map(of).collect();
        taken.sort_unstable();
        let mut start = 0;
        for (begin, end) in taken {
            if start + buffer.bytes <= begin {
                break;
            }
            start = start.max((end + buffer.align - 1) / buffer.align * buffer.align);
        }
        placed.offsets.push(start);
        placed.end = placed.end.max(start + buffer.bytes);
        // What shares its memory needs the barrier that was promised.
        let mut promised = Vec::new();
        for other in &open {
            let begin = placed.offsets[*other];
            let shares = start < begin + buffers[*other].bytes && begin < start + buffer.bytes;
            if shares
                && let Some(Some(op)) = apart(*other)
                && with_barrier.insert(operation_key(op))
            {
                promised.push(op);
            }
        }
        // It is one for all that is used up by then.
        for op in &promised {
            for release in released.iter_mut().flatten() {
                kernel.meet_ahead(*op, release);
            }
        }
        placed.barriers.extend(promised);
        open.push(index);
    }
    placed
}
