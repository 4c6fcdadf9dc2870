//! `tile-hoist-loads`: what a loop loads anew in each iteration, though it is the same, is loaded in front of it.
//!
//! Before: in a loop, a `tile.load` whose place the loop does not change: the rows of a tile of queries, say, which it multiplies with tile after
//! tile of keys. After: the load stands in front of the loop, as if it were written there. An operand of a product waits in
//! one buffer then, instead of coming with each stage. A whole tile that is not multiplied stays, for it would take registers through
//! all of the loop; and so does everything in a loop that writes to global memory.
use super::load_early::{computes_place, is_whole, writes};
use crate::passes::Reported;
use crate::passes::ir_utils::{
    Kernel, blocks, collect_nested, defining_op, first_of_block, for_each_kernel, is_in_block,
    move_before, operations, users,
};
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, operands_of, operation_key, result_of};
use cutec_dialects::ops::{ScfOp, TileOp};
use melior::Context;
use std::collections::HashSet;

/// Moves the loads of every kernel of the module.
pub fn hoist_loads<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel { function, .. } = kernel;
        let mut all = Vec::new();
        collect_nested(function, &mut all);
        // Those inside of others first: what has left one may leave the next.
        for of in all.into_iter().rev().filter(|op| ScfOp::For.is(*op)) {
            if !writes(of) {
                hoist_from(of);
            }
        }
        Ok::<(), Reported>(())
    })
}

fn hoist_from(of: IrOp) {
    let body = blocks(of, 0).remove(0);
    for load in operations(body)
        .into_iter()
        .filter(|op| TileOp::Load.is(*op))
    {
        if is_whole(load) && !is_multiplied(result_of(load, 0)) {
            continue;
        }
        let mut needed = HashSet::new();
        if !is_the_same(load, body, &mut needed) {
            continue;
        }
        for op in operations(body) {
            if needed.contains(&operation_key(op)) {
                move_before(op, of);
            }
        }
    }
}

/// Whether an operation in a loop's body is the same in each iteration, with what in the body it needs for that.
fn is_the_same(op: IrOp, body: IrBlock, needed: &mut HashSet<usize>) -> bool {
    if !needed.insert(operation_key(op)) {
        return true;
    }
    operands_of(op).all(|operand| match defining_op(operand) {
        Some(made) if is_in_block(made, body) => {
            computes_place(made) && is_the_same(made, body, needed)
        }
        Some(_) => true,
        None => first_of_block(operand).is_none_or(|first| !is_in_block(first, body)),
    })
}

/// Whether a tile is an operand of a product, as it is or with its elements in another order.
fn is_multiplied(tile: IrValue) -> bool {
    users(tile).into_iter().any(|user| match TileOp::of(user) {
        Some(TileOp::Dot) => true,
        Some(TileOp::Transpose | TileOp::Reshape) => is_multiplied(result_of(user, 0)),
        _ => false,
    })
}
