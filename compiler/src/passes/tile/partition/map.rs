//! Maps and repetitions: arithmetic on the vectors of a thread.
use super::edges::neighbours;
use super::place::value_places;
use super::{Partition, Spread};
use crate::passes::cmpi::{AT_LEAST, LESS};
use crate::passes::elementwise::is_elementwise;
use crate::passes::ir_utils::{
    self, blocks, borrowed, collect_nested, constant_of, named_attributes, operations, present,
    set_operand, string_attribute, users,
};
use crate::passes::said::say;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, integer_value, operands_of, operation_key, result_of,
    value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{ArithOp, CuteOp, Op, ScfOp, TileOp, VectorOp, arith, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::GATHERED_SINCE;
use cutec_dialects::value::Val;
use melior::ir::{OperationRef, TypeLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// What stands for a number of the body: a vector, or a number for each value.
#[derive(Clone)]
enum Many<'c> {
    Vector(IrValue<'c>),
    Numbers(Vec<IrValue<'c>>),
    /// The same for all.
    One(IrValue<'c>),
}

/// The body of a map, for all values of a thread.
pub(super) struct Body<'c> {
    many: HashMap<usize, Many<'c>>,
    count: i64,
    /// Arguments that are coordinates, with their axis.
    counting: HashMap<usize, usize>,
}

impl<'c> Body<'c> {
    /// How many values a thread has.
    pub(super) fn count(&self) -> i64 {
        self.count
    }

    /// What a number of the body is for all values.
    pub(super) fn set(&mut self, number: IrValue<'c>, vector: IrValue<'c>) {
        self.many.insert(value_key(number), Many::Vector(vector));
    }

    /// Whether what an operation gives is known already.
    fn has(&self, op: IrOp<'c>) -> bool {
        let mut results = (0..op.result_count()).map(|index| value_key(result_of(op, index)));
        op.result_count() > 0 && results.all(|result| self.many.contains_key(&result))
    }

    /// Whether an operation, with what it holds, takes something that differs from element to element.
    pub(super) fn depends(&self, op: IrOp) -> bool {
        let mut all = vec![op];
        collect_nested(op, &mut all);
        all.iter().any(|inner| {
            operands_of(*inner)
                .filter_map(|value| self.many.get(&value_key(value)))
                .any(|many| !matches!(many, Many::One(_)))
        })
    }
}

impl<'c> Partition<'c> {
    /// The body of a map on vectors: arithmetic as such, anything else number by number.
    pub(super) fn map(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let missing = || SemError::Illegal("has no body".into());
        let block = blocks(op, 0).into_iter().next().ok_or_else(missing)?;
        if let Some(read) = self.read_vectors(op, to)? {
            return Ok(read);
        }
        if let Some(why) = string_attribute(op, GATHERED_SINCE) {
            say(op.location(), format!("gathered element by element: {why}"));
        }
        let mut body = self.body_of(op, block, to)?;
        for inner in operations(block) {
            if TileOp::Yield.is(inner) {
                let value = present(tile::Yield::of(inner))?.value();
                return Ok(self.vector_of(&mut body, value));
            }
            if let Some(vector) = self.side_of_bound(&mut body, inner, to)? {
                let result = value_key(result_of(inner, 0));
                body.many.insert(result, Many::Vector(vector));
                continue;
            }
            if body.has(inner) || self.converted_in_pairs(&mut body, inner) {
                continue;
            }
            self.body_operation(&mut body, inner);
        }
        Err(missing())
    }

    /// The body of a map as far as its arguments are known.
    pub(super) fn body_of(
        &self,
        op: IrOp<'c>,
        block: IrBlock<'c>,
        to: &Spread,
    ) -> Result<Body<'c>, SemError> {
        let mut body = Body {
            many: HashMap::new(),
            count: to.values(),
            counting: HashMap::new(),
        };
        for (index, vector) in present(tile::Map::of(op))?.inputs().into_iter().enumerate() {
            let argument = value_key(argument_of(block, index));
            // A tile that was reshaped shares its vector with the one that counts along an axis.
            let renamed = self.renamed.contains_key(&(operation_key(op), index));
            if let Some(axis) = self.counting.get(&value_key(vector)).filter(|_| !renamed) {
                body.counting.insert(argument, *axis);
            }
            body.many.insert(argument, Many::Vector(vector));
        }
        Ok(body)
    }

    /// The operations of a block but its end and what a function leaves out, for one value.
    pub(super) fn for_one_value(
        &mut self,
        body: &mut Body<'c>,
        block: IrBlock<'c>,
        lane: usize,
        left_out: impl Fn(IrOp<'c>) -> bool,
    ) {
        for op in operations(block) {
            let ends = TileOp::Yield.is(op) || ScfOp::Yield.is(op);
            if ends || left_out(op) {
                continue;
            }
            let copy = self.copy_of(body, op, lane);
            for index in 0..op.result_count() {
                let one = Many::One(result_of(copy, index));
                body.many.insert(value_key(result_of(op, index)), one);
            }
        }
    }

    /// `coordinate < bound`, or its contrary: neighbours that lie on one side of every multiple of what divides
    /// the bound share a comparison. `None` for anything else.
    fn side_of_bound(
        &mut self,
        body: &mut Body<'c>,
        op: IrOp<'c>,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some(comparison) = arith::Cmpi::of(op) else {
            return Ok(None);
        };
        let (coordinate, bound) = (comparison.lhs(), comparison.rhs());
        let predicate = comparison.predicate().and_then(integer_value);
        let axis = body.counting.get(&value_key(coordinate)).copied();
        let (Some(axis), Some(LESS | AT_LEAST)) = (axis, predicate) else {
            return Ok(None);
        };
        let width = match body.many.contains_key(&value_key(bound)) {
            true => 1,
            false => neighbours(to, axis, divisor(bound))?,
        };
        if width == 1 {
            return Ok(None);
        }
        let mut offsets = value_places(to, axis)?;
        for offset in &mut offsets {
            *offset -= *offset % width;
        }
        let first = self.first_place(to, axis)?;
        let places = self.steps_from(first, &offsets);
        let bound = self.vector_of(body, bound);
        let attrs = named_attributes(op);
        let attrs = borrowed(&attrs);
        let ty = self.ir.numbers_type(Elem::I1, Some(body.count));
        let sides = [places, bound];
        Ok(Some(self.ir.value(ArithOp::Cmpi, &sides, &attrs, ty)))
    }

    fn body_operation(&mut self, body: &mut Body<'c>, op: IrOp<'c>) {
        let varies = body.depends(op);
        // A vector in the body has no vector of them.
        let number = |result: IrValue| !result.r#type().is_vector();
        if varies
            && op.result_count() == 1
            && is_elementwise(op)
            && let Some(kind) = Op::of(op)
            && number(result_of(op, 0))
        {
            let operands: Vec<IrValue<'c>> = operands_of(op)
                .map(|value| self.vector_of(body, value))
                .collect();
            let result = result_of(op, 0);
            let ty = self.ir.vector_type(body.count, result.r#type());
            let attrs = named_attributes(op);
            let attrs = borrowed(&attrs);
            let vector = self.ir.value(kind, &operands, &attrs, ty);
            body.many.insert(value_key(result), Many::Vector(vector));
            return;
        }
        // What depends on no element is computed once.
        let times = if varies { body.count } else { 1 };
        let mut results = vec![Vec::new(); op.result_count()];
        for lane in 0..times as usize {
            let copy = self.copy_of(body, op, lane);
            for (index, numbers) in results.iter_mut().enumerate() {
                numbers.push(result_of(copy, index));
            }
        }
        for (index, numbers) in results.into_iter().enumerate() {
            let many = match (varies, numbers.first()) {
                (false, Some(number)) => Many::One(*number),
                _ => Many::Numbers(numbers),
            };
            body.many.insert(value_key(result_of(op, index)), many);
        }
    }

    /// A copy of an operation for one value.
    fn copy_of(&mut self, body: &mut Body<'c>, op: IrOp<'c>, lane: usize) -> IrOp<'c> {
        let copy = ir_utils::clone(op);
        // SAFETY: the copy outlives the references; what its operands need is inserted before it.
        let mut all: Vec<IrOp<'c>> = vec![unsafe { OperationRef::from_raw(copy.to_raw()) }];
        collect_nested(all[0], &mut all);
        for inner in all {
            for (index, value) in operands_of(inner).enumerate() {
                if body.many.contains_key(&value_key(value)) {
                    let number = self.number_of(body, value, lane);
                    set_operand(inner, index, number);
                }
            }
        }
        self.ir.insert(copy)
    }

    pub(super) fn vector_of(&mut self, body: &mut Body<'c>, value: IrValue<'c>) -> IrValue<'c> {
        let elem = value.r#type();
        let vector = match body.many.get(&value_key(value)) {
            Some(Many::Vector(vector)) => return *vector,
            Some(Many::Numbers(numbers)) => self.gather(numbers, elem),
            other => {
                let one = match other {
                    Some(Many::One(one)) => *one,
                    _ => value,
                };
                let ty = self.ir.vector_type(body.count, elem);
                self.ir.value(VectorOp::Broadcast, &[one], &[], ty)
            }
        };
        // One number is made a vector where it is needed, so that it goes on being one elsewhere.
        if let Some(Many::Numbers(_)) = body.many.get(&value_key(value)) {
            body.many.insert(value_key(value), Many::Vector(vector));
        }
        vector
    }

    pub(super) fn number_of(
        &mut self,
        body: &mut Body<'c>,
        value: IrValue<'c>,
        lane: usize,
    ) -> IrValue<'c> {
        match body.many.get(&value_key(value)) {
            Some(Many::Numbers(numbers)) => numbers[lane],
            Some(Many::Vector(vector)) => {
                let position = self.ir.i64_array(&[lane as i64]);
                let attrs = [("static_position", position)];
                self.ir
                    .value(VectorOp::Extract, &[*vector], &attrs, value.r#type())
            }
            Some(Many::One(one)) => *one,
            None => value,
        }
    }

    /// A tile repeated along axes: the values of a thread in another order.
    pub(super) fn repeated(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let kept = |axis: &usize| from.tile.shape[*axis] == to.tile.shape[*axis];
        let axes: Vec<usize> = (0..to.tile.shape.len()).filter(kept).collect();
        let places = |spread: &Spread| -> Result<Vec<Vec<i64>>, SemError> {
            let along = axes.iter().map(|axis| value_places(spread, *axis));
            let along: Vec<Vec<i64>> = along.collect::<Result<_, _>>()?;
            let of = |value: usize| along.iter().map(|places| places[value]).collect();
            Ok((0..spread.values() as usize).map(of).collect())
        };
        let (given, wanted) = (places(&from)?, places(to)?);
        let elements = self.elements(vector, &from);
        let repeated: Option<Vec<IrValue<'c>>> = wanted
            .iter()
            .map(|place| given.iter().position(|given| given == place))
            .map(|at| at.map(|at| elements[at]))
            .collect();
        let repeated = repeated.ok_or_else(|| {
            SemError::Illegal(format!(
                "{} does not hold what {} repeats",
                from.tile, to.tile
            ))
        })?;
        Ok(self.gather(&repeated, self.ir.number_type(to.tile.elem)))
    }
}

/// What divides a number, as the kernel promises or as it is constant; 1 where nothing is known.
fn divisor(number: IrValue) -> i64 {
    let constant = constant_of(number);
    let promised = users(number).into_iter().filter_map(|user| {
        let assumed = CuteOp::Assume.is(user);
        match assumed.then(|| val_of(result_of(user, 0)).ok())?? {
            Val::Tuple(_, tuple) => Some(tuple.leaves().first()?.as_ref()?.div()),
            _ => None,
        }
    });
    promised
        .chain(constant)
        .filter(|number| *number > 0)
        .max()
        .unwrap_or(1)
}
