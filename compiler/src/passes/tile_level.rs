//! Kernels at tile level, which no pass brings to the cute level yet.
use super::walk::{all_inside, name_of};
use super::{Reported, report};
use cutec_dialects::builder::IrOp;
use melior::ir::operation::OperationLike;

/// Refuses a module with operations of the `tile` dialect.
pub fn refuse(module: IrOp) -> Result<(), Reported> {
    let mut operations = Vec::new();
    all_inside(module, &mut operations);
    let of_tiles = |op: &IrOp| name_of(*op).starts_with("tile.");
    match operations.into_iter().find(of_tiles) {
        None => Ok(()),
        Some(op) => {
            let message = "kernels at tile level are not lowered to threads yet; `--emit tile` shows their IR";
            Err(report(op.location(), message))
        }
    }
}
