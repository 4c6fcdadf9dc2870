//! Registers that go through a wait for products.
//!
//! A product that reads its first factor from registers is under way while the factor of the next one is computed. The last step of that, which
//! writes those registers, stands behind the wait; but nothing that LLVM sees keeps it there, as the wait is assembly and the step only computes. So
//! what it takes goes through the assembly of the wait, as sums do.
use super::Partition;
use crate::passes::convert_cute_to_gpu::OVER_WAIT;
use crate::passes::ir_utils::{
    defining_op, next_operation, operations, same_block, set_attribute, set_operand,
};
use cutec_dialects::builder::{Insertion, IrOp, value_key};
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::semantics::SemError;
use melior::ir::operation::OperationLike;

/// The attribute of an operation on tiles that nothing may compute before the wait for products in front of it.
pub(in crate::passes::tile) const BEHIND_WAIT: &str = "tile.behind_wait";

impl<'c> Partition<'c> {
    /// Lets an operation that is to stay behind a wait take its tiles as they come out of that.
    pub(super) fn through_wait(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        if op.attribute(BEHIND_WAIT).is_err() {
            return Ok(());
        }
        let block = op.block();
        let before: Vec<IrOp<'c>> = block
            .map_or_else(Vec::new, operations)
            .into_iter()
            .take_while(|other| *other != op)
            .collect();
        let Some(at) = before.iter().rposition(|op| NvvmOp::WgmmaWaitGroup.is(*op)) else {
            return Ok(());
        };
        let (wait, behind) = (before[at], &before[at..]);
        for index in 0..op.operand_count() {
            let Ok((vector, spread)) = self.of(op, index) else {
                continue;
            };
            // What no iteration changes has not been read as a factor.
            let there = defining_op(vector).is_none_or(|made| same_block(made, op));
            if !there || defining_op(vector).is_some_and(|made| behind.contains(&made)) {
                continue;
            }
            self.ir.insertion = Insertion::Before(wait);
            let fragment = self.fragment(&spread)?;
            if let Some(fragment) = defining_op(fragment) {
                set_attribute(fragment, OVER_WAIT, self.ir.unit());
            }
            self.store_vec(vector, fragment)?;
            self.ir.insertion = Insertion::Before(next_operation(wait).unwrap_or(op));
            let through = self.load_vec(fragment, &spread)?;
            self.spread.insert(value_key(through), spread);
            set_operand(op, index, through);
        }
        self.ir.insertion = Insertion::Before(op);
        Ok(())
    }
}
