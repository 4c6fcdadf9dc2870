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
use super::summands::Summands;
use super::{Partition, Spread};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{blocks, defining_op, first_of_block, operations, parent};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, argument_number, float_value, operands_of, operation_key,
    region_with_block, results_of, string_value, value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, ScfOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{Feature, Target};
use melior::ir::operation::OperationLike;
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
    let (mut open, mut seen) = (vec![tile], HashSet::new());
    while let Some(value) = open.pop() {
        if seen.insert(value_key(value)) {
            let Some(sources) = sources(value) else {
                return false;
            };
            open.extend(sources);
        }
    }
    true
}

/// What a tile, or an element in a map, is one of: none of what is computed; `None` where it may be what memory has.
fn sources(value: IrValue) -> Option<Vec<IrValue>> {
    let Some(op) = defining_op(value) else {
        // An element of an input of a map.
        let map = tile::Map::of(parent(first_of_block(value)?)?)?;
        let number = usize::try_from(argument_number(value)?).ok()?;
        return Some(vec![*map.inputs().get(number)?]);
    };
    let yielded = |region: usize| {
        let end = operations(blocks(op, region).into_iter().next()?).pop()?;
        let index = results_of(op).position(|result| result == value)?;
        operands_of(end).nth(index)
    };
    match Op::of(op)? {
        Op::TileOp(TileOp::Dot)
        | Op::ArithOp(ArithOp::Addf | ArithOp::Subf | ArithOp::Mulf | ArithOp::Divf)
        | Op::LlvmOp(LlvmOp::IntrFma) => Some(Vec::new()),
        Op::ArithOp(ArithOp::Constant) => is_number(op).then(Vec::new),
        Op::ArithOp(ArithOp::Select) => Some(operands_of(op).skip(1).collect()),
        Op::TileOp(TileOp::Map) => Some(vec![yielded(0)?]),
        Op::TileOp(TileOp::Splat) => {
            let number = defining_op(tile::Splat::of(op)?.value())?;
            is_number(number).then(Vec::new)
        }
        Op::ScfOp(ScfOp::If) if op.region_count() == 2 => Some(vec![yielded(0)?, yielded(1)?]),
        // What the loop begins with, and what its last iteration gives.
        Op::ScfOp(ScfOp::For) => {
            let index = results_of(op).position(|result| result == value)?;
            Some(vec![operands_of(op).nth(3 + index)?, yielded(0)?])
        }
        _ => None,
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
        elements: Vec<IrValue<'c>>,
        (from, to): (&Spread, &Spread),
        axis: usize,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let (word, float) = (self.ir.ty("i32"), self.ir.ty("f32"));
        let cast = |this: &Self, value: &IrValue<'c>, ty| {
            this.ir.value(ArithOp::Bitcast, &[*value], &[], ty)
        };
        let bits: Vec<IrValue<'c>> = elements.iter().map(|one| cast(self, one, word)).collect();
        let mut bits = Summands::Elements(bits);
        let integers =
            self.within_warp(&mut bits, (from, to), axis, (Elem::I32, ArithOp::Maxsi))?;
        let zero = self.ir.constant(0, "i32");
        let negative = integers.iter().map(|one| self.compare(LESS, *one, zero));
        let missing = || SemError::Illegal("leaves no row".into());
        let any = self.any_of_warp(negative).ok_or_else(missing)?;
        let types = vec![float; integers.len()];
        let (then, then_block) = region_with_block(&[]);
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::End(then_block));
        let mut elements = Summands::Elements(elements);
        let floats = self.within_warp(
            &mut elements,
            (from, to),
            axis,
            (Elem::F32, ArithOp::Maximumf),
        )?;
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
