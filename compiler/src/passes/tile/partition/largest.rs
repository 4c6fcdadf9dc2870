//! The largest scores of rows, looked for among integers.
//!
//! Floats that are not negative are ordered as their bits are, of which an instruction compares three (SASS of sm_90: `VIMNMX3`; of floats
//! two). Where the largest of these integers is not negative, it is the largest float. A warp that has a row without such an element
//! compares floats.
//!
//! A NaN is the largest of these integers if its sign is not set. Arithmetic gives no other (PTX ISA, "Floating Point Instructions": NaN results are
//! 0x7fffffff), but memory may have one. So tiles are meant that follow from products: of those the comparisons are beside what is
//! computed, too, where others wait for memory.
use super::super::emits::Emits;
use super::{Partition, Spread};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{blocks, defining_op, operations};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, argument_of, float_value, operands_of, operation_key,
    region_with_block, results_of, string_value,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, ScfOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{Feature, Target};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashSet;

/// The elements of a row that a thread has at least.
const ELEMENTS: i64 = 16;

/// The reductions to the largest element that this is for.
pub(super) fn of_scores(operations: &[IrOp], target: &Target) -> HashSet<usize> {
    if !target.has(Feature::Wgmma) {
        return HashSet::new();
    }
    let finds = |op: &&IrOp| {
        let Some(of) = tile::Reduce::of(**op) else {
            return false;
        };
        of.kind().and_then(string_value).as_deref() == Some("max")
            && follows_from_product(of.input())
    };
    operations
        .iter()
        .filter(finds)
        .map(|op| operation_key(*op))
        .collect()
}

/// Whether arithmetic or a product has made the elements of a tile, or they are constants.
fn follows_from_product(tile: IrValue) -> bool {
    let Some(op) = defining_op(tile) else {
        return false;
    };
    let yielded = |region: usize| {
        let end = operations(blocks(op, region).into_iter().next()?).pop()?;
        let index = results_of(op).position(|result| result == tile)?;
        operands_of(end).nth(index)
    };
    match Op::of(op) {
        Some(Op::TileOp(TileOp::Dot)) => true,
        Some(Op::TileOp(TileOp::Map)) => {
            let block = blocks(op, 0).into_iter().next();
            let inputs = tile::Map::of(op).map(tile::Map::inputs).unwrap_or_default();
            let element = yielded(0).zip(block);
            element.is_some_and(|(element, block)| is_computed(element, block, &inputs))
        }
        Some(Op::TileOp(TileOp::Splat)) => {
            let number = tile::Splat::of(op).map(tile::Splat::value);
            number.and_then(defining_op).is_some_and(is_number)
        }
        Some(Op::ScfOp(ScfOp::If)) => {
            op.region_count() == 2
                && (0..2).all(|region| yielded(region).is_some_and(follows_from_product))
        }
        // What the loop begins with, and what its last iteration gives.
        Some(Op::ScfOp(ScfOp::For)) => {
            let index = results_of(op).position(|result| result == tile);
            let first = index.and_then(|index| operands_of(op).nth(3 + index));
            first.is_some_and(follows_from_product) && yielded(0).is_some_and(follows_from_product)
        }
        _ => false,
    }
}

/// The same of an element that a map makes of those of its inputs.
fn is_computed<'c>(element: IrValue<'c>, body: IrBlock<'c>, inputs: &[IrValue<'c>]) -> bool {
    let mut arguments = 0..body.argument_count();
    if let Some(index) = arguments.find(|index| argument_of(body, *index) == element) {
        return inputs.get(index).copied().is_some_and(follows_from_product);
    }
    let Some(op) = defining_op(element) else {
        return false;
    };
    match Op::of(op) {
        Some(Op::ArithOp(ArithOp::Select)) => operands_of(op)
            .skip(1)
            .all(|selected| is_computed(selected, body, inputs)),
        Some(Op::ArithOp(ArithOp::Addf | ArithOp::Subf | ArithOp::Mulf | ArithOp::Divf)) => true,
        Some(Op::LlvmOp(LlvmOp::IntrFma)) => true,
        Some(Op::ArithOp(ArithOp::Constant)) => is_number(op),
        _ => false,
    }
}

/// Whether an operation is a constant, a float that is no NaN.
fn is_number(constant: IrOp) -> bool {
    let value = constant.attribute("value").ok().and_then(float_value);
    value.is_some_and(|value| !value.is_nan())
}

impl<'c> Partition<'c> {
    /// What the threads of a warp have of a tile, the largest of it along an axis.
    pub(super) fn largest(
        &mut self,
        elements: &[IrValue<'c>],
        (from, to): (&Spread, &Spread),
        axis: usize,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let (word, bit, float) = (self.ir.ty("i32"), self.ir.ty("i1"), self.ir.ty("f32"));
        let cast = |this: &Self, value: &IrValue<'c>, ty| {
            this.ir.value(ArithOp::Bitcast, &[*value], &[], ty)
        };
        let bits: Vec<IrValue<'c>> = elements.iter().map(|one| cast(self, one, word)).collect();
        let integers = self.within_warp(&bits, (from, to), axis, (Elem::I32, ArithOp::Maxsi))?;
        let zero = self.ir.constant(0, "i32");
        let is_negative = integers.iter().map(|one| self.compare(LESS, *one, zero));
        let either = |a, b| self.ir.value(ArithOp::Ori, &[a, b], &[], bit);
        let Some(negative) = is_negative.reduce(either) else {
            return Ok(integers);
        };
        let any = self.any_of_warp(negative);
        let types = vec![float; integers.len()];
        let (then, then_block) = region_with_block(&[]);
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::End(then_block));
        let floats =
            self.within_warp(elements, (from, to), axis, (Elem::F32, ArithOp::Maximumf))?;
        self.ir.op(ScfOp::Yield, &floats, &[], &[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        self.ir.insertion = Insertion::End(otherwise_block);
        let floats: Vec<IrValue<'c>> = integers.iter().map(|one| cast(self, one, float)).collect();
        self.ir.op(ScfOp::Yield, &floats, &[], &[]);
        self.ir.insertion = here;
        let regions = vec![then, otherwise];
        let branch = (self.ir).op_with_regions(ScfOp::If, &[any], &[], &types, regions);
        Ok(results_of(branch).collect())
    }

    /// Whether a reduction, one of those of scores, has as many elements of each row in a thread as make that worth it.
    pub(super) fn is_of_scores(&self, op: IrOp<'c>, from: &Spread, to: &Spread) -> bool {
        let rows = to.values().max(1);
        from.tile.elem == Elem::F32
            && from.values() / rows >= ELEMENTS
            && self.of_scores.contains(&operation_key(op))
    }
}
