//! `nvvm.griddepcontrol` as inline assembly that may access any memory: LLVM has its intrinsics as ones that access none, and
//! would move accesses across the wait.
use super::Lowering;
use super::predicated::Inputs;
use crate::passes::Reported;
use cutec_dialects::builder::IrOp;
use melior::ir::operation::OperationLike;

impl<'c> Lowering<'c> {
    /// A wait for the launches ahead, or the permission for the next one to begin.
    pub(super) fn grid_dependency(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        let action = op.attribute("kind").map(|kind| kind.to_string());
        let action = match action.as_deref() {
            Ok("#nvvm<grid_dep_action wait>") => "wait",
            Ok("#nvvm<grid_dep_action launch_dependents>") => "launch_dependents",
            _ => return Err(self.error(op, "expects `wait` or `launch_dependents`")),
        };
        let text = format!("griddepcontrol.{action};");
        self.assembly_at_memory(&text, &Inputs::after(0), None);
        Ok(())
    }
}
