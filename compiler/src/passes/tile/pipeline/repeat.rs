//! What a round computes of its index, for the index of another round.
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::types::{Failed, operand};
use crate::passes::walk::{clone, definition, name_of, operand_value, set_operand, stands_in};
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, OpBuilder, argument_of, integer_value, result_of, value_key,
};
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Elements beyond every view.
const OUTSIDE: i64 = 1 << 30;

/// What the index of a loop goes through.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'c> {
    pub lower: IrValue<'c>,
    pub upper: IrValue<'c>,
    step: IrValue<'c>,
}

impl<'c> Bounds<'c> {
    /// Of a `scf.for`.
    pub fn of(of: IrOp<'c>) -> Result<Self, Failed<'c>> {
        Ok(Bounds {
            lower: operand(of, 0)?,
            upper: operand(of, 1)?,
            step: operand(of, 2)?,
        })
    }

    /// The index of the next round.
    pub fn next(self, ir: &OpBuilder<'c>, index: IrValue<'c>) -> IrValue<'c> {
        ir.value("arith.addi", &[index, self.step], &[], index.r#type())
    }

    /// The index so many rounds later.
    pub fn ahead(self, ir: &OpBuilder<'c>, index: IrValue<'c>, rounds: i64) -> IrValue<'c> {
        let ty = index.r#type();
        let rounds = ir.constant(rounds, &ty.to_string());
        let distance = ir.value("arith.muli", &[rounds, self.step], &[], ty);
        ir.value("arith.addi", &[index, distance], &[], ty)
    }
}

/// The body of a loop, of which other rounds repeat some computations.
#[derive(Clone, Copy)]
pub(super) struct Repeat<'c> {
    pub body: IrBlock<'c>,
}

impl<'c> Repeat<'c> {
    /// Whether a coordinate can be computed for another round: from the index of the loop and from
    /// outside, by arithmetic and what is known of its results.
    pub fn is_possible(self, value: IrValue<'c>) -> bool {
        if value == argument_of(self.body, 0) {
            return true;
        }
        match definition(value) {
            Some(op) if stands_in(op, self.body) => {
                let name = name_of(op);
                let computes =
                    name.starts_with("arith.") || name == "cute.assume" || name == "cute.static";
                computes
                    && (0..op.operand_count())
                        .filter_map(|index| operand_value(op, index))
                        .all(|operand| self.is_possible(operand))
            }
            Some(_) => true,
            None => {
                !(0..self.body.argument_count()).any(|index| argument_of(self.body, index) == value)
            }
        }
    }

    /// A coordinate of the loop for another index, outside of the view beyond the last round. `extent` is that
    /// of a tile along an axis.
    pub fn coordinate(
        self,
        ir: &OpBuilder<'c>,
        old: &Coordinate<'c>,
        extent: impl Fn(usize) -> Option<i64>,
        (index, upper): (IrValue<'c>, IrValue<'c>),
        clones: &mut HashMap<usize, IrValue<'c>>,
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        let values = old.values.iter();
        let mut at = values
            .map(|value| self.for_index(ir, *value, index, clones))
            .collect::<Result<Vec<_>, _>>()?;
        self.guard(ir, old, extent, (index, upper), &mut at);
        Ok(at)
    }

    /// What a value of the loop is for another index.
    fn for_index(
        self,
        ir: &OpBuilder<'c>,
        value: IrValue<'c>,
        index: IrValue<'c>,
        clones: &mut HashMap<usize, IrValue<'c>>,
    ) -> Result<IrValue<'c>, Failed<'c>> {
        if value == argument_of(self.body, 0) {
            return Ok(index);
        }
        if let Some(clone) = clones.get(&value_key(value)) {
            return Ok(*clone);
        }
        let Some(op) = definition(value).filter(|op| stands_in(*op, self.body)) else {
            return Ok(value);
        };
        let mut operands = Vec::new();
        for at in 0..op.operand_count() {
            operands.push(self.for_index(ir, operand(op, at)?, index, clones)?);
        }
        let again = ir.insert(clone(op));
        for (at, operand) in operands.into_iter().enumerate() {
            set_operand(again, at, operand);
        }
        let clone = result_of(again, 0);
        clones.insert(value_key(value), clone);
        Ok(clone)
    }

    /// Puts the coordinate of a round beyond the last one outside of the view, where it may be negative or
    /// within the view; from an offset on, nothing is read before the view either.
    fn guard(
        self,
        ir: &OpBuilder<'c>,
        old: &Coordinate<'c>,
        extent: impl Fn(usize) -> Option<i64>,
        (index, upper): (IrValue<'c>, IrValue<'c>),
        at: &mut [IrValue<'c>],
    ) {
        let counted: Vec<usize> = (0..at.len()).filter(|axis| !old.is_offset(*axis)).collect();
        let Some(axis) = counted.first().copied() else {
            return;
        };
        if counted.iter().all(|axis| self.grows(old.values[*axis])) {
            return;
        }
        let first = &mut at[axis];
        let outside = OUTSIDE / extent(axis).unwrap_or(1).max(1);
        let outside = ir.constant(outside, &first.r#type().to_string());
        let less = [("predicate", ir.attr("2 : i64"))];
        let there = ir.value("arith.cmpi", &[index, upper], &less, ir.ty("i1"));
        *first = ir.value(
            "arith.select",
            &[there, *first, outside],
            &[],
            first.r#type(),
        );
    }

    /// Whether a coordinate is never negative and grows with the index, so that beyond the last round it
    /// is within the view or behind it.
    fn grows(self, value: IrValue<'c>) -> bool {
        if value == argument_of(self.body, 0) {
            return true;
        }
        let Some(op) = definition(value) else {
            return true;
        };
        if !stands_in(op, self.body) {
            return true;
        }
        let sides = || (0..2).filter_map(|index| operand_value(op, index));
        let name = name_of(op);
        (name == "arith.addi" || name == "arith.muli")
            && sides().all(|side| self.grows(side))
            && sides().any(|side| {
                let number =
                    definition(side).and_then(|op| integer_value(op.attribute("value").ok()?));
                number.is_some_and(|number| number >= 0)
            })
    }
}
