//! `tile-merge`: what a kernel says twice is computed and loaded once, and what nothing takes not at all.
//!
//! After `tile-raster`, since tiles at one place are at equal coordinates then. It is MLIR's elimination of common
//! subexpressions: LLVM, which does the same, sees loads only when they are a thread's, under predicates.
use super::known_ops::checked_ops;
use crate::passes::ir_utils::{Kernel, for_each_kernel};
use crate::passes::{Reported, report};
use cutec_dialects::builder::IrOp;
use cutec_dialects::ir::{erase_dead, merge_equal};
use melior::Context;
use melior::ir::operation::OperationLike;

/// Erases dead operations and merges equal ones in every kernel of the module.
pub fn merge<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel { function, .. } = kernel;
        checked_ops(function).map_err(|(op, message)| report(op.location(), message))?;
        // What is dead would be computed a second time where a tile is later computed piece by piece.
        erase_dead(function);
        merge_equal(function);
        Ok::<_, Reported>(())
    })
}
