//! Operands that an iteration computes of its index and of memory that the loop does not write: gathered tiles.
//!
//! What goes to memory, with all that its places are computed from, is begun as many iterations ahead as other
//! loads, and waits in registers; what is computed of that follows when it is written. What asynchronous copies gather is begun with
//! the others, and does not wait in registers.
use super::k_blocks::buffer_of;
use crate::passes::convert_cute_to_gpu::GUARD;
use crate::passes::ir_utils::{
    collect_nested, defining_op, erase, is_in_block, operations, parent, users,
};
use crate::passes::tile::partition::is_within_warps;
use crate::passes::tile::rematerialize::{Rematerialization, may_write};
use crate::passes::tile::types::tile_of;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, result_of, results_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{CuteOp, Op, ScfOp, TileOp, tile};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashSet;

/// A tile that is gathered and written to a buffer.
pub(super) struct Gathered<'c> {
    /// The `tile.write` of it, or the `tile.gather_async`.
    pub fill: IrOp<'c>,
    /// The tile.
    pub value: IrValue<'c>,
    /// The maps that go to memory.
    pub reads: Vec<IrOp<'c>>,
    /// The loads of single numbers that their places depend on.
    pub numbers: Vec<IrOp<'c>>,
    /// All that is computed for it in the body, in the order there.
    slice: Vec<IrOp<'c>>,
}

impl<'c> Gathered<'c> {
    /// What fills a buffer in the body of a loop, if that can be computed for other iterations, and goes to memory.
    pub fn of(fill: IrOp<'c>, of: IrOp<'c>, body: IrBlock<'c>) -> Option<Self> {
        let written = tile::Write::of(fill).map(tile::Write::value);
        let gathered = || tile::GatherAsync::of(fill).map(tile::GatherAsync::value);
        let tile = written.or_else(gathered)?;
        buffer_of(fill)?;
        let (mut needed, mut pending, mut numbers) = (HashSet::new(), vec![tile], Vec::new());
        let repeat = Rematerialization { body };
        while let Some(value) = pending.pop() {
            let Some(op) = defining_op(value).filter(|op| is_in_block(*op, body)) else {
                // What the loop carries is known in its iteration alone.
                let carried = (1..body.argument_count()).any(|at| argument_of(body, at) == value);
                if carried {
                    return None;
                }
                continue;
            };
            if repeat.is_number(op) {
                numbers.push(op);
            } else if needed.insert(operation_key(op)) {
                if !is_repeatable(op, of) {
                    return None;
                }
                pending.extend(operands_of(op));
                pending.extend(repeat.captured(op));
            }
        }
        let slice = operations(body).into_iter();
        let slice: Vec<IrOp> = slice
            .filter(|op| needed.contains(&operation_key(*op)))
            .collect();
        let reads: Vec<IrOp> = slice
            .iter()
            .copied()
            .filter(|op| !has_no_effect(*op))
            .collect();
        (!reads.is_empty()).then_some(Gathered {
            fill,
            value: tile,
            reads,
            numbers,
            slice,
        })
    }

    /// Whether asynchronous copies bring it.
    pub fn is_asynchronous(&self) -> bool {
        TileOp::GatherAsync.is(self.fill)
    }

    /// Erases what fills the buffer, and what nothing else uses of the tile.
    pub fn erase(&self) {
        erase(self.fill);
        for op in self.slice.iter().rev() {
            if results_of(*op).all(|result| users(result).is_empty()) {
                erase(*op);
            }
        }
    }
}

/// Whether an operation of a loop computes one value, which depends on its operands and on memory that the loop leaves alone.
fn is_repeatable<'c>(op: IrOp<'c>, of: IrOp<'c>) -> bool {
    if op.result_count() != 1 {
        return false;
    }
    match Op::of(op) {
        Some(Op::ArithOp(_) | Op::CuteOp(_)) => has_no_effect(op),
        Some(Op::TileOp(
            TileOp::Iota | TileOp::Splat | TileOp::Broadcast | TileOp::Reshape | TileOp::Transpose,
        )) => true,
        Some(Op::TileOp(TileOp::Map)) => {
            let mut inside = Vec::new();
            collect_nested(op, &mut inside);
            inside.into_iter().all(|inner| reads_guarded(inner, op, of))
        }
        Some(Op::TileOp(TileOp::ConvertLayout)) => {
            let input = tile::ConvertLayout::of(op).map(tile::ConvertLayout::input);
            let from = input.and_then(|input| tile_of(op, input).ok());
            let to = tile_of(op, result_of(op, 0)).ok();
            from.zip(to)
                .is_some_and(|(from, to)| is_within_warps(&from, &to))
        }
        _ => false,
    }
}

/// Whether an operation in a map reads nothing, or where a condition holds an element of a tensor that the loop does not write.
fn reads_guarded<'c>(inner: IrOp<'c>, map: IrOp<'c>, of: IrOp<'c>) -> bool {
    if inner == map || inner.region_count() > 0 {
        return true;
    }
    if CuteOp::MemrefLoad.is(inner) {
        let view = operands_of(inner).next();
        let guarded = parent(inner).is_some_and(|parent| parent.attribute(GUARD).is_ok());
        return guarded && view.is_some_and(|view| !may_write(of, view));
    }
    has_no_effect(inner) || ScfOp::Yield.is(inner) || TileOp::Yield.is(inner)
}
