//! An update of some rows, `x = select(rows, f(x), x)`: a warp none of whose rows takes it leaves out what is computed for it.
//!
//! The condition is repeated along the rows, so that a thread has few of it beside its elements, and asking the warp costs less than the
//! update. An attention multiplies its sums anew only in blocks in which the largest score of a row has grown.
use super::{Partition, Spread};
use crate::passes::ir_utils::{blocks, defining_op, is_in_block, move_before, operations, users};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, argument_of, operands_of, operation_key, region_with_block,
    result_of, results_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, Op, ScfOp, TileOp, VectorOp, tile};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashSet;

/// How many elements of a thread share a condition at least.
const ELEMENTS: usize = 8;

impl<'c> Partition<'c> {
    /// A map that is such an update, as a branch of each warp; `None` of any other.
    pub(super) fn update_of_rows(&mut self, op: IrOp<'c>, to: &Spread) -> Option<IrValue<'c>> {
        let [condition, updated, kept] = selection(op)?;
        let repeated = defining_op(condition).filter(|op| VectorOp::FromElements.is(*op))?;
        let mut rows: Vec<IrValue<'c>> = Vec::new();
        for row in operands_of(repeated) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        if rows.len() * ELEMENTS > to.values() as usize {
            return None;
        }
        let takes = |computed: &IrOp<'c>| operands_of(*computed).any(|operand| operand == kept);
        let computed = || computed_for(op, &[condition, updated], kept);
        if !computed().iter().any(takes) {
            return None;
        }

        let any = self.any_of_warp(rows)?;
        // Without what the warp was asked, which stays in front of the branch.
        let alone = computed();
        let ty = to.vector(&self.ir);
        let (then, then_block) = region_with_block(&[]);
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::End(then_block));
        let selected = [condition, updated, kept];
        let selected = self.ir.value(ArithOp::Select, &selected, &[], ty);
        self.ir.op(ScfOp::Yield, &[selected], &[], &[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        self.ir.insertion = Insertion::End(otherwise_block);
        self.ir.op(ScfOp::Yield, &[kept], &[], &[]);
        self.ir.insertion = here;
        let select = defining_op(selected)?;
        for computed in alone {
            move_before(computed, select);
        }
        let regions = vec![then, otherwise];
        let branch = (self.ir).op_with_regions(ScfOp::If, &[any], &[], &[ty], regions);
        Some(result_of(branch, 0))
    }
}

/// The operands of a map that is a selection: the condition, and what it selects.
fn selection<'c>(op: IrOp<'c>) -> Option<[IrValue<'c>; 3]> {
    let inputs = tile::Map::of(op)?.inputs();
    let block = blocks(op, 0).into_iter().next()?;
    let [select, end] = operations(block)[..] else {
        return None;
    };
    if !ArithOp::Select.is(select) || operands_of(end).next() != Some(result_of(select, 0)) {
        return None;
    }
    let argument = |value: IrValue<'c>| {
        let mut all = 0..block.argument_count();
        let index = all.find(|index| argument_of(block, *index) == value)?;
        inputs.get(index).copied()
    };
    let selected: Option<Vec<IrValue<'c>>> = operands_of(select).map(argument).collect();
    selected?.try_into().ok()
}

/// What computes some operands of an operation, in its block, and nothing else; in order. The operand that is `kept` is needed
/// beside them, even where it is computed.
fn computed_for<'c>(op: IrOp<'c>, operands: &[IrValue<'c>], kept: IrValue<'c>) -> Vec<IrOp<'c>> {
    let Some(block) = op.block() else {
        return Vec::new();
    };
    let mut found = HashSet::from([operation_key(op)]);
    let mut open: Vec<IrOp<'c>> = operands
        .iter()
        .filter_map(|value| defining_op(*value))
        .collect();
    while let Some(candidate) = open.pop() {
        let is_alone = results_of(candidate).all(|result| {
            let taken_by = |user: &IrOp<'c>| found.contains(&operation_key(*user));
            let mut takers = users(result).into_iter();
            result != kept && takers.all(|user| taken_by(&user) || is_replaced(user))
        });
        let computes = TileOp::of(candidate).is_none()
            && Op::of(candidate).is_some()
            && candidate.region_count() == 0
            && has_no_effect(candidate);
        if is_alone && computes && is_in_block(candidate, block) {
            found.insert(operation_key(candidate));
            open.extend(operands_of(candidate).filter_map(defining_op));
        }
    }
    found.remove(&operation_key(op));
    let mut all = operations(block);
    all.retain(|op| found.contains(&operation_key(*op)));
    all
}

/// Whether an operation on tiles has been replaced by what is on vectors.
fn is_replaced(op: IrOp) -> bool {
    TileOp::of(op).is_some()
        && op.result_count() > 0
        && results_of(op).all(|result| users(result).is_empty())
}
