//! What a loop without products loads ahead waits in registers.
use super::loads::Loads;
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::ir_utils::{clone, erase, operations, replace_all_uses, set_operand};
use crate::passes::tile::rematerialize::Bounds;
use crate::passes::tile::types::Failed;
use cutec_dialects::builder::{Insertion, IrValue, OpBuilder, argument_of, operands_of, result_of};
use cutec_dialects::ops::{NvvmOp, ScfOp};
use melior::Context;
use melior::ir::operation::OperationLike;

impl<'c> Loads<'c> {
    /// Rewrites the loop: it carries the tiles of this iteration and of those under way.
    pub(super) fn in_registers(self, context: &'c Context) -> Result<(), Failed<'c>> {
        let mut ir = OpBuilder::new(context, Insertion::Before(self.of));
        ir.location = self.of.location();
        let bounds = Bounds::of(self.of)?;
        let mut numbers = self.numbers.of_first(&mut ir, bounds, self.stages)?;
        let numbers_ahead = numbers.pop().unwrap_or_default();
        let (mut index, mut carried) = (bounds.lower, Vec::new());
        for (iteration, numbers) in numbers.into_iter().enumerate() {
            if iteration > 0 {
                index = bounds.next(&ir, index);
            }
            carried.extend(self.fetch(&mut ir, (index, bounds.upper), &numbers)?);
        }

        carried.extend(numbers_ahead.iter().copied());
        let (new, mut tiles) = with_additional_yields(&ir, self.of, &[], &carried);
        let numbers = tiles.split_off(tiles.len() - numbers_ahead.len());
        let (Some(first), Some(end)) = (
            operations(self.body).into_iter().next(),
            operations(self.body).into_iter().last(),
        ) else {
            return Err((new, "has no end".into()));
        };
        ir.insertion = Insertion::Before(first);
        let ahead = bounds.ahead(&ir, argument_of(self.body, 0), self.stages - 1);
        let fetched = self.fetch(&mut ir, (ahead, bounds.upper), &numbers)?;
        let next = self.numbers.ahead(&mut ir, bounds, self.stages)?;
        // ptxas moves a load down to where it is used, but not across a barrier of its warp.
        let members = ir.constant(-1, "i32");
        ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
        for (load, tile) in self.loads.iter().zip(&tiles) {
            replace_all_uses(result_of(*load, 0), *tile);
            erase(*load);
        }
        let before = operands_of(end);
        let later = tiles[self.loads.len()..].iter().copied();
        let yielded = before.chain(later).chain(fetched).chain(next);
        let yielded: Vec<IrValue> = yielded.collect();
        ir.insertion = Insertion::Before(end);
        ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
        erase(self.of);
        Ok(())
    }

    /// The tiles of the iteration with an index.
    fn fetch(
        &self,
        ir: &mut OpBuilder<'c>,
        iteration: (IrValue<'c>, IrValue<'c>),
        numbers: &[IrValue<'c>],
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        let mut fetched = Vec::new();
        for (load, place) in self.loads.iter().zip(self.places(ir, iteration, numbers)?) {
            let again = ir.insert(clone(*load));
            set_operand(again, 0, place.view);
            for (axis, value) in place.at.into_iter().enumerate() {
                set_operand(again, axis + 1, value);
            }
            fetched.push(result_of(again, 0));
        }
        Ok(fetched)
    }
}
