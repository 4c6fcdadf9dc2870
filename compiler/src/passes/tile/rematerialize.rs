//! Rematerialization: what an iteration computes of its index, for the index of another iteration.
use super::coordinate::Coordinate;
use super::issuable::read_only;
use super::outside;
use super::types::{Failed, present, tensor_of};
use crate::passes::ir_utils::{
    clone, collect_nested, constant_of, defining_op, is_in_block, parent, set_operand,
};
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, OpBuilder, argument_of, operands_of, operation_key, result_of,
    value_key,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, CuteOp, Op, cute, scf, tile};
use melior::ir::{BlockLike, ValueLike};
use std::collections::{HashMap, HashSet};

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
        let of = present(of, scf::For::of(of))?;
        Ok(Bounds {
            lower: of.lower(),
            upper: of.upper(),
            step: of.step(),
        })
    }

    /// First index, end and step.
    pub fn all(self) -> [IrValue<'c>; 3] {
        [self.lower, self.upper, self.step]
    }

    /// The index of the next iteration.
    pub fn next(self, ir: &OpBuilder<'c>, index: IrValue<'c>) -> IrValue<'c> {
        ir.value(ArithOp::Addi, &[index, self.step], &[], index.r#type())
    }

    /// The index so many iterations later.
    pub fn ahead(self, ir: &OpBuilder<'c>, index: IrValue<'c>, iterations: i64) -> IrValue<'c> {
        let ty = index.r#type();
        let iterations = ir.constant_of(iterations, ty);
        let distance = ir.value(ArithOp::Muli, &[iterations, self.step], &[], ty);
        ir.value(ArithOp::Addi, &[index, distance], &[], ty)
    }
}

/// The body of a loop, computations of which are repeated for other iterations.
#[derive(Clone, Copy)]
pub(super) struct Rematerialization<'c> {
    pub body: IrBlock<'c>,
}

impl<'c> Rematerialization<'c> {
    /// Whether a coordinate or a view can be computed for another iteration: from the index of the loop and from
    /// outside, by arithmetic and operations of the layout algebra.
    pub fn is_possible(self, value: IrValue<'c>) -> bool {
        self.is_computed(value, &[argument_of(self.body, 0)])
    }

    /// Whether a value is the same in each iteration: it is computed so from outside alone.
    pub fn stands_still(self, value: IrValue<'c>) -> bool {
        self.is_computed(value, &[])
    }

    /// Whether a value is computed of some arguments of the body and of what is outside, by arithmetic and operations of the layout algebra.
    fn is_computed(self, value: IrValue<'c>, arguments: &[IrValue<'c>]) -> bool {
        self.computed_of(vec![value], arguments, |_| false)
            .is_some()
    }

    /// The operations that `is_given` knows of which values are computed, beside some arguments of the body and what is outside, by arithmetic and
    /// operations of the layout algebra; `None` where they are computed of anything else.
    fn computed_of(
        self,
        mut open: Vec<IrValue<'c>>,
        arguments: &[IrValue<'c>],
        is_given: impl Fn(IrOp<'c>) -> bool,
    ) -> Option<Vec<IrOp<'c>>> {
        let (mut given, mut seen) = (Vec::new(), HashSet::new());
        while let Some(value) = open.pop() {
            match defining_op(value) {
                Some(op) if is_in_block(op, self.body) => {
                    if !seen.insert(operation_key(op)) {
                        continue;
                    }
                    if is_given(op) {
                        given.push(op);
                        continue;
                    }
                    let computes = matches!(Op::of(op), Some(Op::ArithOp(_) | Op::CuteOp(_)));
                    if !computes || !has_no_effect(op) {
                        return None;
                    }
                    open.extend(operands_of(op));
                }
                Some(_) => {}
                None if arguments.contains(&value) || !self.is_argument(value) => {}
                None => return None,
            }
        }
        Some(given)
    }

    /// The loads of single numbers that say where a tile of a view lies in another iteration. `None` where the tile cannot be brought there, or
    /// would be beyond the last one.
    pub fn numbers_to_bring(self, view: IrValue<'c>, at: &Coordinate<'c>) -> Option<Vec<IrOp<'c>>> {
        let values = [view].into_iter().chain(at.values.iter().copied());
        self.numbers_of(values.collect())
            .filter(|_| self.ends(view, at))
    }

    /// The loads of single numbers of which values are computed in another iteration, beside the index of the loop and what is outside; `None`
    /// where they are computed of anything else.
    pub fn numbers_of(self, values: Vec<IrValue<'c>>) -> Option<Vec<IrOp<'c>>> {
        self.computed_of(values, &[argument_of(self.body, 0)], |op| {
            self.is_number(op)
        })
    }

    /// Whether an operation of the body loads a single number, of a place that is known without another one, and of a tensor that the loop does
    /// not write.
    pub fn is_number(self, op: IrOp<'c>) -> bool {
        let load = cute::MemrefLoad::of(op).filter(|_| CuteOp::MemrefLoad.is(op));
        load.zip(parent(op)).is_some_and(|(load, of)| {
            !may_write(of, load.view()) && operands_of(op).all(|operand| self.is_possible(operand))
        })
    }

    /// Whether a value is the index of the loop or a variable of it.
    fn is_argument(self, value: IrValue<'c>) -> bool {
        (0..self.body.argument_count()).any(|index| argument_of(self.body, index) == value)
    }

    /// Values from the body that the regions of an operation use.
    pub fn captured(self, op: IrOp<'c>) -> Vec<IrValue<'c>> {
        let mut inside = Vec::new();
        collect_nested(op, &mut inside);
        let of_body = |value: &IrValue<'c>| match defining_op(*value) {
            Some(op) => is_in_block(op, self.body),
            None => self.is_argument(*value),
        };
        let inside = inside.into_iter().filter(|other| *other != op);
        let used = inside.flat_map(|op| operands_of(op).collect::<Vec<_>>());
        used.filter(of_body).collect()
    }

    /// Whether nothing of a tile is brought beyond the last iteration: the view is always the same, or the tile can be put outside of it.
    fn ends(self, view: IrValue<'c>, at: &Coordinate<'c>) -> bool {
        let stands_still = defining_op(view).is_none_or(|op| !is_in_block(op, self.body));
        stands_still || outside::axis_of(at).is_some()
    }

    /// A coordinate of the loop for another index, outside of the view beyond the last iteration. `extent` is that
    /// of a tile along an axis; `strict` says that nothing may be read there though it is within the view: the view itself is another one in
    /// each iteration, which beyond the last one may lie anywhere, or the kernel writes the tensor, and has not yet.
    pub fn coordinate(
        self,
        ir: &OpBuilder<'c>,
        old: &Coordinate<'c>,
        extent: impl Fn(usize) -> Option<i64>,
        (index, upper): (IrValue<'c>, IrValue<'c>),
        strict: bool,
        clones: &mut HashMap<usize, IrValue<'c>>,
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        let values = old.values.iter();
        let mut at = values
            .map(|value| self.for_index(ir, *value, index, clones))
            .collect::<Result<Vec<_>, _>>()?;
        // It may be negative or within the view; from an offset on, nothing is read before the view either.
        let mut counted = (0..at.len()).filter(|axis| !old.is_offset(*axis));
        if counted.all(|axis| self.grows(old.values[axis])) && !strict {
            return Ok(at);
        }
        if let Some(axis) = outside::axis_of(old) {
            let less = [("predicate", ir.i64(2))];
            let there = ir.value(ArithOp::Cmpi, &[index, upper], &less, ir.ty("i1"));
            at[axis] = outside::unless(ir, there, (old, axis), extent(axis).unwrap_or(1), at[axis]);
        }
        Ok(at)
    }

    /// What a value of the loop is for another index.
    pub fn for_index(
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
        let Some(op) = defining_op(value).filter(|op| is_in_block(*op, self.body)) else {
            return Ok(value);
        };
        let operands = operands_of(op)
            .map(|operand| self.for_index(ir, operand, index, clones))
            .collect::<Result<Vec<_>, _>>()?;
        let mut inside = HashMap::new();
        for value in self.captured(op) {
            inside.insert(value_key(value), self.for_index(ir, value, index, clones)?);
        }
        let again = ir.insert(clone(op));
        for (at, operand) in operands.into_iter().enumerate() {
            set_operand(again, at, operand);
        }
        if !inside.is_empty() {
            let mut nested = Vec::new();
            collect_nested(again, &mut nested);
            for op in nested.into_iter().filter(|op| *op != again) {
                let old: Vec<IrValue> = operands_of(op).collect();
                for (at, value) in old.into_iter().enumerate() {
                    if let Some(value) = inside.get(&value_key(value)) {
                        set_operand(op, at, *value);
                    }
                }
            }
        }
        let clone = result_of(again, 0);
        clones.insert(value_key(value), clone);
        Ok(clone)
    }

    /// Whether a coordinate is the same in each iteration, or never negative where it was not, and grows with the index up to a bound: beyond
    /// the last iteration it is within the view or behind it.
    fn grows(self, value: IrValue<'c>) -> bool {
        if value == argument_of(self.body, 0) || self.stands_still(value) {
            return true;
        }
        let Some(op) = defining_op(value) else {
            return true;
        };
        let mut sides = operands_of(op);
        let all_grow = || operands_of(op).all(|side| self.grows(side));
        match ArithOp::of(op) {
            Some(ArithOp::Addi | ArithOp::Muli) => {
                sides.any(|side| constant_of(side).is_some_and(|number| number >= 0)) && all_grow()
            }
            // What is bounded as an unsigned number is not negative.
            Some(ArithOp::Minui) => all_grow(),
            _ => false,
        }
    }
}

/// Whether a loop may write to the tensor that a view is into: what it writes is not read iterations ahead.
pub(super) fn may_write<'c>(of: IrOp<'c>, view: IrValue<'c>) -> bool {
    let mut inside = Vec::new();
    collect_nested(of, &mut inside);
    let tensor = tensor_of(view);
    inside
        .iter()
        .filter_map(|op| tile::written_view(*op))
        .map(tensor_of)
        .any(|written| written.is_none() || tensor.is_none() || written == tensor)
}

/// The operations of a loop that load from tensors which the kernel writes, somewhere else.
pub(super) fn loads_of_written<'c>(
    function: IrOp<'c>,
    loads: impl Iterator<Item = (IrOp<'c>, IrValue<'c>)>,
) -> HashSet<usize> {
    let is_read_only = read_only(function);
    let written = loads.filter(|(_, view)| !is_read_only(*view));
    written.map(|(load, _)| operation_key(load)).collect()
}
