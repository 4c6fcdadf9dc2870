//! What rewrites of a load and the one operation that takes its tile have in common.
use super::known_ops::checked_ops;
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::ir_utils::{Kernel, defining_op, for_each_kernel, operand_value, users};
use cutec_dialects::builder::{IrOp, result_of};
use cutec_dialects::ops::TileOp;
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
    let load = defining_op(operand_value(op, 0)?).filter(|op| TileOp::Load.is(*op))?;
    (users(result_of(load, 0)).len() == 1).then_some(load)
}
