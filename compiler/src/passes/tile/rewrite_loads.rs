//! What rewrites of a load and the one operation that takes its tile have in common.
use super::known_ops::checked_ops;
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::ir_utils::{Kernel, captured, defining_op, erase, for_each_kernel, users};
use cutec_dialects::builder::{IrOp, IrValue, results_of};
use cutec_dialects::ops::{TileOp, tile};
use melior::Context;

/// Calls `rewrite` for every operation of a kind, in each kernel of the module.
///
/// # Errors
/// An operation that is not known at the tile level.
pub(super) fn rewrite_each<'c>(
    context: &'c Context,
    module: IrOp<'c>,
    kind: TileOp,
    rewrite: impl Fn(&'c Context, IrOp<'c>),
) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut operations = checked_ops(function)?;
        operations.retain(|op| kind.is(*op));
        operations.into_iter().for_each(|op| rewrite(context, op));
        Ok::<_, Failed>(())
    })
}

/// The `tile.load` whose tile an operation takes, and nothing else does.
pub(super) fn sole_load(op: IrOp) -> Option<IrOp> {
    let load = tile::Load::defining(tile::Reshaping::of(op)?.input())?;
    (users(load.result()).len() == 1).then_some(load.op())
}

/// Erases the operation of a tile that nothing uses, and those that it alone used.
pub(super) fn erase_unused(value: IrValue) {
    erase_all_unused(vec![value]);
}

/// The same of several tiles, some of which may be used.
pub(super) fn erase_all_unused(mut values: Vec<IrValue>) {
    while let Some(value) = values.pop() {
        let Some(op) = defining_op(value) else {
            continue;
        };
        let unused = results_of(op).all(|result| users(result).is_empty());
        if !unused || TileOp::of(op).is_none() {
            continue;
        }
        values.retain(|other| defining_op(*other) != Some(op));
        values.extend(captured(op));
        erase(op);
    }
}
