//! What a reduction combines: the elements of a vector, or those of a map that only the reduction takes. Of such a map each element is computed when it is its
//! turn, so that no second vector waits beside the one that it is computed of.
use super::map::Body;
use super::{Partition, Spread, spread_of};
use crate::passes::convert_cute_to_gpu::is_register;
use crate::passes::elementwise::is_elementwise;
use crate::passes::ir_utils::{blocks, defining_op, operations, present, same_block, users};
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, operands_of, operation_key, result_of, value_key,
};
use cutec_dialects::ops::{ArithOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use melior::ir::{ValueLike, operation::OperationLike};

/// So many elements of a thread and those that they are computed of fit its registers; ptxas places them better when they are computed together.
const FEW: i64 = 64;

pub(super) enum Summands<'c> {
    Elements(Vec<IrValue<'c>>),
    OfMap(Body<'c>, IrBlock<'c>),
}

impl<'c> Partition<'c> {
    /// Whether a map is computed where a reduction takes its elements.
    pub(super) fn is_of_reduction(&self, map: IrOp<'c>, to: &Spread) -> bool {
        let Some(block) = blocks(map, 0).into_iter().next() else {
            return false;
        };
        let [mut user] = users(result_of(map, 0))[..] else {
            return false;
        };
        if TileOp::Reshape.is(user)
            && let [behind] = users(result_of(user, 0))[..]
        {
            user = behind;
        }
        let is_plain = |(index, input): (usize, IrValue<'c>)| {
            let renamed = self.renamed.contains_key(&(operation_key(map), index));
            // Coordinates are compared once for several elements.
            !renamed && !self.counting.contains_key(&value_key(input))
        };
        to.values() > FEW
            && TileOp::Reduce.is(user)
            && same_block(map, user)
            && operands_of(map).enumerate().all(is_plain)
            && operations(block).into_iter().all(is_of_registers)
    }

    /// What the reduction combines, and how threads hold it.
    pub(super) fn summands(
        &mut self,
        reduction: IrOp<'c>,
    ) -> Result<(Summands<'c>, Spread), SemError> {
        let input = present(tile::Reduce::of(reduction))?.input();
        let map = defining_op(input).filter(|op| TileOp::Map.is(*op));
        let Some(map) = map else {
            let (vector, from) = self.of(reduction, 0)?;
            return Ok((Summands::Elements(self.elements(vector, &from)), from));
        };
        let missing = || SemError::Illegal("takes a map without a body".into());
        let block = blocks(map, 0).into_iter().next().ok_or_else(missing)?;
        let own = spread_of(map, input).map_err(|(_, why)| SemError::Illegal(why))?;
        let own = own.ok_or_else(missing)?;
        let mut body = self.body_of(map, block, &own)?;
        // Numbers are the same for all.
        self.for_one_value(&mut body, block, 0, |op| !ArithOp::Constant.is(op));
        // A reshape in between names axes anew.
        let renamed = self.renamed.get(&(operation_key(reduction), 0));
        let from = renamed.cloned().unwrap_or(own);
        Ok((Summands::OfMap(body, block), from))
    }

    /// One of them, by the number of a thread's value.
    pub(super) fn summand(
        &mut self,
        of: &mut Summands<'c>,
        lane: usize,
    ) -> Result<IrValue<'c>, SemError> {
        let (body, block) = match of {
            Summands::Elements(elements) => return Ok(elements[lane]),
            Summands::OfMap(body, block) => (body, *block),
        };
        self.for_one_value(body, block, lane, |op| ArithOp::Constant.is(op));
        let end = operations(block).pop().and_then(tile::Yield::of);
        Ok(self.number_of(body, present(end)?.value(), lane))
    }
}

/// Whether an operation in the body of a map computes one register of others.
fn is_of_registers(op: IrOp) -> bool {
    let results = (0..op.result_count()).map(|index| result_of(op, index));
    (TileOp::Yield.is(op) || is_elementwise(op))
        && operands_of(op)
            .chain(results)
            .all(|value| is_register(value.r#type()))
}
