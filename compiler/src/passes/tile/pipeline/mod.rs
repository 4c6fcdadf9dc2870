//! `tile-pipeline`: loads of later iterations of a loop are under way while one is computed.
//!
//! Before: a loop whose products read buffers that the same iteration fills. After: the buffers have as many
//! stages as `tile.stages` on the loop says, or as many as the cost model chooses; before the loop the first
//! iterations are under way; an iteration begins those of the last stage ahead, multiplies, and waits for its
//! successor before its last block of k, of which the registers are read while that is multiplied. Iterations
//! beyond the last are begun like others: outside of the view there are zeros, and nobody uses them. With
//! that any number of iterations is right, none included.
//!
//! Buffers of one stage, where several products read them, are filled in turns: each behind the last read of it, while other products run
//! (`turns.rs`).
//!
//! What is gathered for a product is begun ahead as well (`gathered.rs`), and tiles whose place an iteration loads, as the pages of
//! a cache (`numbers.rs`), and copies in branches (`branches.rs`).
//!
//! A loop without such products loads its tiles so many iterations ahead, where somebody asked for a depth, or where the cost model finds
//! room for it (`loads.rs`): into registers (`registers.rs`), or to memory of each thread's own (`own_memory.rs`).
//!
//! Every product, in a loop or not, is taken apart into the blocks of k of its tiled MMA, each read while
//! the one before is multiplied.

mod branches;
mod gathered;
mod k_blocks;
mod loads;
mod numbers;
mod own_memory;
mod plan;
mod registers;
mod rewrite;
mod rewrite_turns;
mod turns;

use super::known_ops::checked_ops;
use super::registers::held;
use super::stages::depth_of;
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::ir_utils::{collect_nested, for_each_kernel};
use branches::begin_in_front;
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::{Op, ScfOp, TileOp};
use cutec_dialects::target::Target;
use k_blocks::{Product, Source};
use loads::{Held, Loads};
use melior::Context;
use plan::Plan;

/// Pipelines the loops of the module, and takes its products apart.
pub fn pipeline<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        of_function(kernel.context, kernel.function, &kernel.target)
    })
}

fn of_function<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    target: &Target,
) -> Result<(), Failed<'c>> {
    checked_ops(function)?;
    let loops = named(function, ScfOp::For);
    let mut open = false;
    for of in &loops {
        open |= depth_of(*of)?.is_none();
    }
    // What a thread holds before anything is loaded ahead.
    let held = match open {
        true => held(function, &[])?,
        false => Vec::new(),
    };
    let held: Vec<Held> = loops.iter().map(|of| Held::of(*of, &held)).collect();
    // A loop that is rewritten keeps those inside of it, a product that is taken apart the others.
    for (of, held) in loops.into_iter().zip(held) {
        if depth_of(of)? != Some(1) {
            begin_in_front(context, of)?;
        }
        if let Some(plan) = Plan::of(of, function, target)? {
            plan.apply(context)?;
        } else if let Some(loads) = Loads::of(of, (function, target), held)? {
            loads.apply(context)?;
        }
    }
    for dot in named(function, TileOp::Dot) {
        // Everything that it reads is there where it stands.
        if let Some(product) = Product::of(dot, |_| Source::Resident)?
            && product.blocks > 1
        {
            product.alone(context)?;
        }
    }
    Ok(())
}

fn named<'c>(function: IrOp<'c>, kind: impl Into<Op>) -> Vec<IrOp<'c>> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let kind = Some(kind.into());
    operations.retain(|op| Op::of(*op) == kind);
    operations
}
