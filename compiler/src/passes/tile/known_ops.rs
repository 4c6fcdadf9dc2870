//! The operations of kernels at the tile level. A pass meets no other: what is not known here is an error.
use crate::passes::control_flow::ControlFlow;
use crate::passes::ir_utils::{blocks, collect_nested, name_of, operations, parent};
use crate::passes::tile::gathers::GATHERED;
use crate::passes::tile::specialize_warps::COUNTED;
use crate::passes::tile::types::{Failed, view_of};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, results_of};
use cutec_dialects::elem::Space;
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{CfOp, CuteOp, GpuOp, LlvmOp, NvvmOp, Op, TileOp, cute};
use melior::ir::{ValueLike, operation::OperationLike};

/// What an operation of a kernel is to passes of the tile level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownOp {
    /// Of the `tile` dialect.
    Tile(TileOp),
    /// Has regions; see [`ControlFlow`].
    ControlFlow,
    /// Reads an element of a tensor in global memory, the same in every thread.
    ReadGlobal,
    /// A variable in registers, or an access to one.
    Register,
    /// Allocates a buffer in shared memory.
    Buffer,
    /// Computes values of its operands and has no effect.
    Computation,
    /// Waits for all threads of the block.
    Barrier,
    /// Waits for the threads of a warp.
    WarpBarrier,
    /// Prints or traps; of no consequence for tiles.
    Report,
    /// Commits or waits for groups of `cp.async`.
    CopyGroup,
    /// Waits for groups of `wgmma`.
    ProductGroup,
    /// Of the rings between warps: barriers that count, copies by tensor maps, which thread does what, whose turn it is, which tile comes
    /// next.
    Ring,
}

/// The operations of a kernel, in order; none where it has nothing of the tile level.
///
/// # Errors
/// An operation that is not known, or control flow between blocks.
pub(super) fn known_ops<'c>(function: IrOp<'c>) -> Result<Vec<(IrOp<'c>, KnownOp)>, Failed<'c>> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    if !operations.iter().any(|op| TileOp::of(*op).is_some()) {
        return Ok(Vec::new());
    }
    if blocks(function, 0).len() != 1 {
        let message = "expects a kernel of one block at the tile level, with `scf` as control flow";
        return Err((function, message.into()));
    }
    let known = operations.into_iter().map(|op| {
        let known = known_op(op).map_err(|message| (op, message))?;
        Ok((op, known))
    });
    known.collect()
}

/// The operations of a kernel, in order, where all are known.
pub(super) fn checked_ops<'c>(function: IrOp<'c>) -> Result<Vec<IrOp<'c>>, Failed<'c>> {
    Ok(known_ops(function)?.into_iter().map(|(op, _)| op).collect())
}

/// What an operation is.
pub(super) fn known_op(op: IrOp) -> Result<KnownOp, String> {
    let kind = Op::of(op);
    if let Some(Op::TileOp(tile)) = kind {
        return Ok(KnownOp::Tile(tile));
    }
    if ControlFlow::of(op)?.is_some() {
        return Ok(KnownOp::ControlFlow);
    }
    let known = match kind {
        Some(Op::CuteOp(kind)) => match kind {
            CuteOp::MemrefAllocSmem => Some(KnownOp::Buffer),
            CuteOp::MemrefAlloca => Some(KnownOp::Register),
            CuteOp::MemrefLoad | CuteOp::MemrefLoadVec => match read_space(op) {
                Some(Space::Rmem) => Some(KnownOp::Register),
                Some(Space::Gmem) => Some(KnownOp::ReadGlobal),
                // The number of a tile, which a role tells another one.
                Some(Space::Smem) => Some(KnownOp::Ring),
                Some(Space::Dsmem) | None => None,
            },
            CuteOp::MemrefStore | CuteOp::MemrefStoreVec => {
                let to: Vec<Space> = operands_of(op).filter_map(space).collect();
                match &to[..] {
                    [Space::Smem] => Some(KnownOp::Ring),
                    to => to
                        .iter()
                        .all(|space| *space == Space::Rmem)
                        .then_some(KnownOp::Register),
                }
            }
            CuteOp::MemrefAtomic => Some(KnownOp::Ring),
            CuteOp::Print => Some(KnownOp::Report),
            CuteOp::Copy | CuteOp::Prefetch | CuteOp::PrefetchTmaDesc | CuteOp::MakeTmaAtom => {
                Some(KnownOp::Ring)
            }
            kind if kind.is_mbarrier() => Some(KnownOp::Ring),
            _ => has_no_effect(op).then_some(KnownOp::Computation),
        },
        Some(Op::NvvmOp(NvvmOp::Barrier0 | NvvmOp::ClusterWait)) => Some(KnownOp::Barrier),
        Some(Op::NvvmOp(NvvmOp::BarWarpSync)) => Some(KnownOp::WarpBarrier),
        // Of what a role gathers.
        Some(Op::NvvmOp(NvvmOp::CpAsyncCommitGroup | NvvmOp::CpAsyncWaitGroup))
            if op.attribute(GATHERED).is_ok() =>
        {
            Some(KnownOp::Ring)
        }
        // What `tile-lower-tokens` puts.
        Some(Op::NvvmOp(NvvmOp::CpAsyncCommitGroup | NvvmOp::CpAsyncWaitGroup)) => {
            Some(KnownOp::CopyGroup)
        }
        // What `tile-specialize-warps` puts.
        Some(Op::NvvmOp(NvvmOp::WgmmaWaitGroup)) => Some(KnownOp::ProductGroup),
        Some(Op::NvvmOp(
            NvvmOp::Barrier
            | NvvmOp::BarrierArrive
            | NvvmOp::ElectSync
            | NvvmOp::ClusterArrive
            | NvvmOp::ClusterArriveRelaxed
            | NvvmOp::FenceMbarrierInit
            | NvvmOp::ShflSync
            | NvvmOp::FenceProxy
            | NvvmOp::Griddepcontrol
            | NvvmOp::Setmaxregister
            | NvvmOp::CpAsyncBulkCommitGroup
            | NvvmOp::CpAsyncBulkWaitGroup,
        )) => Some(KnownOp::Ring),
        Some(Op::GpuOp(GpuOp::Printf) | Op::CfOp(CfOp::Assert)) => Some(KnownOp::Report),
        Some(Op::LlvmOp(LlvmOp::InlineAsm)) if op.attribute(COUNTED).is_ok() => Some(KnownOp::Ring),
        // Assembly is said to have effects where it may not be moved; of numbers it computes numbers.
        Some(Op::LlvmOp(LlvmOp::InlineAsm)) => computes_numbers(op).then_some(KnownOp::Computation),
        _ => has_no_effect(op).then_some(KnownOp::Computation),
    };
    known.ok_or_else(|| format!("`{}` is not known at the tile level", name_of(op)))
}

/// Whether an operation does nothing but compute, the assembly in a map included.
pub(super) fn only_computes(op: IrOp) -> bool {
    let inside =
        |op: IrOp| TileOp::Yield.is(op) || matches!(known_op(op), Ok(KnownOp::Computation));
    has_no_effect(op)
        || (TileOp::Map.is(op) && blocks(op, 0).into_iter().flat_map(operations).all(inside))
}

/// Whether an operation stands in a function of elements.
pub(super) fn is_of_elements(op: IrOp) -> bool {
    let mut around = std::iter::successors(parent(op), |op| parent(*op));
    around.any(|op| {
        matches!(
            TileOp::of(op),
            Some(TileOp::Map | TileOp::Fold | TileOp::Scan)
        )
    })
}

/// The memory that a load reads.
fn read_space(load: IrOp) -> Option<Space> {
    space(cute::MemrefLoad::of(load)?.view())
}

fn space(value: IrValue) -> Option<Space> {
    view_of(value).map(|view| view.ptr.space)
}

fn computes_numbers(op: IrOp) -> bool {
    let operands = operands_of(op);
    let results = results_of(op);
    let mut values = operands.chain(results);
    let number = |value: IrValue| !type_text(value.r#type()).contains("ptr");
    op.result_count() > 0 && values.all(number)
}
