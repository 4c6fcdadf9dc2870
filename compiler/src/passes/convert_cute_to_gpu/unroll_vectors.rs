//! Unrolls elementwise operations on long vectors.
//!
//! Arithmetic on a whole fragment is arithmetic on a vector of all its
//! elements. LLVM scalarizes such vectors in quadratic time. So an operation
//! on a vector of more than [`PART`] elements becomes one operation on each
//! part; the whole is joined only where an operation that cannot be unrolled
//! uses it.
//!
//! The chain of operations on one part is emitted before that on the next
//! ([`Order`]), to keep live ranges short: a whole fragment in every
//! intermediate result would not fit registers.
use super::super::elementwise::{is_elementwise, is_scalar_intrinsic};
use super::super::ir_utils::{
    borrowed, defining_op, is_in_block, named_attributes, next_operation, vector_elements,
};
use super::Lowering;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, integer_array, operands_of, result_of, value_key,
};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, VectorOp};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::{Attribute, BlockRef, Type, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Elements of a part: of 16-bit elements, one 16-byte access.
pub(super) const PART: i64 = 8;

/// The insertion order of parts: each has a place, in program order. Constants have the first.
pub(super) struct Order<'c> {
    places: HashMap<usize, usize>,
    /// The last operation at a place; none where a part is loaded or put together.
    last: Vec<Option<IrOp<'c>>>,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Order {
            places: HashMap::new(),
            last: vec![None],
        }
    }
}

impl<'c> Order<'c> {
    /// Gives a new part a place of its own after all others. Its users may be inserted after `at`.
    fn add(&mut self, part: IrValue<'c>, at: Option<IrOp<'c>>) {
        self.places
            .entry(value_key(part))
            .or_insert(self.last.len());
        self.last.push(at);
    }

    /// Gives a constant the place of the kernel's entry.
    fn begin(&mut self, constant: IrValue<'c>) {
        self.places.insert(value_key(constant), 0);
    }

    /// Appends a new part to an existing place.
    fn extend(&mut self, place: usize, part: IrValue<'c>) {
        self.places.insert(value_key(part), place);
        self.last[place] = defining_op(part);
    }

    /// The last place of what a part is computed from, and the operation there, where that is no
    /// earlier than all operands; `block` is where it is to be computed.
    fn behind(&self, operands: &[IrValue<'c>], block: IrBlock<'c>) -> Option<(usize, IrOp<'c>)> {
        let mut last = None;
        for operand in operands {
            match self.places.get(&value_key(*operand)) {
                Some(place) => last = last.max(Some(*place)),
                // A block's argument and what another block computed are there from the beginning.
                None if defining_op(*operand).is_some_and(|op| is_in_block(op, block)) => {
                    return None;
                }
                None => {}
            }
        }
        let place = last?;
        let op = self.last[place].filter(|op| is_in_block(*op, block))?;
        Some((place, op))
    }
}

impl<'c> Lowering<'c> {
    /// Splits an operation of another dialect, or gives it whole what it takes in parts.
    /// True when the operation is replaced by operations on parts.
    pub(super) fn split(&mut self, op: IrOp<'c>) -> bool {
        let kind = Op::of(op);
        let result = (op.result_count() == 1).then(|| result_of(op, 0));
        if let Some(kind) = kind.filter(|_| is_elementwise(op))
            && let Some(result) = result
            && let Some((count, elem)) = long_vector(result.r#type())
            && let Some(parts) = self.split_elementwise(op, kind, count, elem)
        {
            self.parts.insert(value_key(result), parts);
            return true;
        }
        if let Some(result) = result
            && is_scalar_intrinsic(op)
            && let Some((count, elem)) = vector_elements(result.r#type())
            && let Some(operand) = operands_of(op).next()
        {
            let attrs = named_attributes(op);
            let lanes = self.lanes(
                LlvmOp::CallIntrinsic.into(),
                operand,
                &borrowed(&attrs),
                count,
                elem,
            );
            super::replace_all_uses(result, lanes);
            return true;
        }
        if VectorOp::FromElements.is(op)
            && let Some(result) = result
            && let Some((_, elem)) = long_vector(result.r#type())
        {
            let ty = self.emitter.ir.vector_type(PART, elem);
            let elements: Vec<IrValue<'c>> = operands_of(op).collect();
            let part = |elements: &[IrValue<'c>]| {
                let ir = &self.emitter.ir;
                ir.value(VectorOp::FromElements, elements, &[], ty)
            };
            let parts = elements.chunks(PART as usize).map(part).collect();
            self.keep_parts(result, parts);
            return true;
        }
        if VectorOp::Extract.is(op)
            && let Some(result) = result
            && self.extract_from_part(op, result)
        {
            return true;
        }
        for (index, operand) in operands_of(op).enumerate() {
            if let Some(parts) = self.parts.get(&value_key(operand)).cloned() {
                let whole = self.join(&parts, operand.r#type());
                // SAFETY: the operation is alive and has this operand, of the same type.
                unsafe {
                    mlir_sys::mlirOperationSetOperand(op.to_raw(), index as isize, whole.to_raw())
                };
            }
        }
        false
    }

    /// A vector is there in parts, which were loaded or put together here.
    pub(super) fn keep_parts(&mut self, vector: IrValue<'c>, parts: Vec<IrValue<'c>>) {
        for part in &parts {
            self.order.add(*part, None);
        }
        self.parts.insert(value_key(vector), parts);
    }

    /// Takes one element of a vector that is there in parts from the part that has it.
    fn extract_from_part(&mut self, op: IrOp<'c>, result: IrValue<'c>) -> bool {
        let vector = operands_of(op).next();
        let part = vector.and_then(|vector| self.parts.get(&value_key(vector)));
        let position = op.attribute("static_position").ok();
        let position = position.and_then(integer_array);
        let (Some(parts), Some(&[position])) = (part, position.as_deref()) else {
            return false;
        };
        let Some(part) = parts.get((position / PART) as usize).copied() else {
            return false;
        };
        let lane = self.emitter.ir.i64_array(&[position % PART]);
        let attrs = [("static_position", lane)];
        let element = self
            .emitter
            .ir
            .value(VectorOp::Extract, &[part], &attrs, result.r#type());
        super::replace_all_uses(result, element);
        true
    }

    /// The operation once for each part; `None` where an operand has no parts.
    fn split_elementwise(
        &mut self,
        op: IrOp<'c>,
        kind: Op,
        count: i64,
        elem: Type<'c>,
    ) -> Option<Vec<IrValue<'c>>> {
        let part_type = self.emitter.ir.vector_type(PART, elem);
        let mut attrs: Vec<(String, Attribute<'c>)> = named_attributes(op);
        if kind == ArithOp::Constant.into() {
            let (_, value) = attrs.iter().find(|(name, _)| name == "value")?;
            let value = DenseElementsAttribute::try_from(*value).ok()?;
            if !value.is_splat() {
                return None;
            }
            let value = self.emitter.ir.splat(part_type, value.splat_value());
            attrs = vec![("value".into(), value)];
        }
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        let in_parts = |operand: &IrValue<'c>| {
            self.parts.contains_key(&value_key(*operand))
                || !type_text(operand.r#type()).starts_with("vector<")
        };
        if !operands.iter().all(in_parts) {
            return None;
        }
        let attrs = borrowed(&attrs);
        let of_parts = |operand: &IrValue<'c>| self.parts.contains_key(&value_key(*operand));
        if !operands.is_empty() && !operands.iter().any(of_parts) {
            // What is made of numbers is the same in each part.
            let part = self.emitter.ir.value(kind, &operands, &attrs, part_type);
            return Some(vec![part; (count / PART) as usize]);
        }
        let by_number = is_scalar_intrinsic(op);
        let block = op.block()?;
        // SAFETY: the block outlives the pass.
        let block: IrBlock<'c> = unsafe { BlockRef::from_raw(block.to_raw()) };
        let mut made = Vec::new();
        for part in 0..(count / PART) as usize {
            let operands: Vec<IrValue<'c>> = operands
                .iter()
                .map(|operand| {
                    self.parts
                        .get(&value_key(*operand))
                        .map_or(*operand, |parts| parts[part])
                })
                .collect();
            let constant = operands.is_empty();
            let behind = self.order.behind(&operands, block);
            self.emitter.ir.insertion = match behind.and_then(|(_, op)| next_operation(op)) {
                Some(next) => Insertion::Before(next),
                None if constant => Insertion::Before(self.entry),
                None => Insertion::Before(op),
            };
            let value = match by_number {
                true => self.lanes(kind, operands[0], &attrs, PART, elem),
                false => self.emitter.ir.value(kind, &operands, &attrs, part_type),
            };
            self.emitter.ir.insertion = Insertion::Before(op);
            if constant {
                self.order.begin(value);
                return Some(vec![value; (count / PART) as usize]);
            }
            match behind {
                Some((place, _)) => self.order.extend(place, value),
                None => self.order.add(value, defining_op(value)),
            }
            made.push(value);
        }
        Some(made)
    }

    /// The vector of what an operation makes of each element of `operand`.
    fn lanes(
        &self,
        kind: Op,
        operand: IrValue<'c>,
        attrs: &[(&str, Attribute<'c>)],
        count: i64,
        elem: Type<'c>,
    ) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let (one, all) = (elem, ir.vector_type(count, elem));
        let lane = |lane: i64| {
            let position = [("static_position", ir.i64_array(&[lane]))];
            let number = ir.value(VectorOp::Extract, &[operand], &position, one);
            ir.value(kind, &[number], attrs, one)
        };
        let lanes: Vec<IrValue<'c>> = (0..count).map(lane).collect();
        ir.value(VectorOp::FromElements, &lanes, &[], all)
    }

    /// The vector that the parts make up.
    fn join(&mut self, parts: &[IrValue<'c>], ty: Type<'c>) -> IrValue<'c> {
        let mut whole = self.emitter.ir.value(LlvmOp::MlirPoison, &[], &[], ty);
        for (index, part) in parts.iter().enumerate() {
            let position = self.emitter.ir.i64(index as i64 * PART);
            whole = self.emitter.ir.value(
                LlvmOp::IntrVectorInsert,
                &[whole, *part],
                &[("pos", position)],
                ty,
            );
        }
        whole
    }
}

/// Number and type of the elements of a vector that is taken apart.
pub(super) fn long_vector<'c>(ty: Type<'c>) -> Option<(i64, Type<'c>)> {
    vector_elements(ty).filter(|(count, _)| *count > PART && count % PART == 0)
}
