//! Loops that choose registers.
//!
//! Registers have no addresses: a fragment of which a loop's index chooses an element lies in local memory, unless the loop is unrolled. LLVM
//! unrolls short loops by itself; one whose index chooses registers is to be unrolled however long it is, where its length is known.
use super::super::ir_utils::{constant_of, defining_op, first_of_block, parent, set_attribute};
use super::Lowering;
use cutec_dialects::builder::{IrOp, IrValue, argument_number, operands_of};
use cutec_dialects::ops::{ArithOp, CuteOp, scf};

/// Iterations of the longest loop that is unrolled for this.
const MOST: i64 = 1024;

impl<'c> Lowering<'c> {
    /// Has LLVM unroll a loop if its index chooses registers.
    pub(super) fn unroll_if_choosing(&self, op: IrOp<'c>) {
        if self.accesses.chooses_registers(op) {
            let all = "#llvm.loop_annotation<unroll = <disable = false, full = true>>";
            set_attribute(op, "llvm.loop_annotation", self.emitter.ir.attr(all));
        }
    }
}

/// The loops of known length whose index a number is a multiple of, with something added or not.
pub(super) fn loops_behind<'c>(number: IrValue<'c>, loops: &mut Vec<IrOp<'c>>) {
    let Some(op) = defining_op(number) else {
        let of_loop = first_of_block(number).and_then(parent);
        loops.extend(
            of_loop.filter(|op| argument_number(number) == Some(0) && has_known_length(*op)),
        );
        return;
    };
    let affine = matches!(
        ArithOp::of(op),
        Some(
            ArithOp::Addi
                | ArithOp::Subi
                | ArithOp::Muli
                | ArithOp::IndexCast
                | ArithOp::Extsi
                | ArithOp::Extui
                | ArithOp::Trunci
        )
    );
    if affine
        || matches!(
            CuteOp::of(op),
            Some(CuteOp::MakeCoord | CuteOp::MakeIntTuple)
        )
    {
        operands_of(op).for_each(|of| loops_behind(of, loops));
    }
}

fn has_known_length(op: IrOp) -> bool {
    let Some(bounds) = scf::For::of(op) else {
        return false;
    };
    let [lower, upper, step] = [bounds.lower(), bounds.upper(), bounds.step()].map(constant_of);
    matches!((lower, upper, step), (Some(lower), Some(upper), Some(step)) if step > 0 && (upper - lower) / step <= MOST)
}
