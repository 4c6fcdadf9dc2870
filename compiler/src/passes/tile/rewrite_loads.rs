//! What rewrites of a load and the one operation that takes its tile have in common.
use super::known_ops::checked_ops;
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::ir_utils::{Kernel, for_each_kernel, users};
use cutec_dialects::builder::IrOp;
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
