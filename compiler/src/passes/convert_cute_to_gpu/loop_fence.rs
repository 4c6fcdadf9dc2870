//! Keeps the loads of a software-pipelined loop in their iteration, by a compiler fence at the end of its body.
use super::Lowering;
use crate::passes::ir_utils::{collect_nested, operations};
use cutec_dialects::builder::{Insertion, IrBlock, IrOp};
use cutec_dialects::ops::{LlvmOp, NvvmOp, ScfOp};

impl Lowering<'_> {
    /// Ends the body of a loop that has barriers with an assembly text that is empty and may write memory.
    ///
    /// A fragment that is loaded at the end of an iteration for the next one, and before the loop for
    /// the first, is a phi of two loads. Where nothing writes memory between them and the phi,
    /// instcombine makes one load of it at the head of the loop, and its latency is in the way
    /// (`foldPHIArgLoadIntoPHI`; for it, `llvm.sideeffect` is no write). The barriers keep loads in
    /// their iteration anyway, so nothing else is lost.
    pub(super) fn end_of_iteration(&mut self, op: IrOp, block: IrBlock) {
        if !ScfOp::For.is(op) && !ScfOp::While.is(op) {
            return;
        }
        let mut inside = Vec::new();
        collect_nested(op, &mut inside);
        if !inside
            .iter()
            .any(|op| NvvmOp::of(*op).is_some_and(NvvmOp::is_barrier))
        {
            return;
        }
        let Some(terminator) = operations(block).pop() else {
            return;
        };
        // SAFETY: the operation lives as long as the kernel that is lowered.
        let terminator = unsafe { melior::ir::OperationRef::from_raw(terminator.to_raw()) };
        self.emitter.ir.insertion = Insertion::Before(terminator);
        let ir = &self.emitter.ir;
        let attrs = [
            ("asm_string", ir.string("")),
            ("constraints", ir.string("~{memory}")),
            ("has_side_effects", ir.unit()),
        ];
        ir.op(LlvmOp::InlineAsm, &[], &attrs, &[]);
    }
}
