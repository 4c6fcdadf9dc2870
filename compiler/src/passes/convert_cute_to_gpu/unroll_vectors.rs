//! Unrolls elementwise operations on long vectors.
//!
//! Arithmetic on a whole fragment is arithmetic on a vector of all its
//! elements. LLVM scalarizes such vectors in quadratic time. So an operation
//! on a vector of more than [`PART`] elements becomes one operation on each
//! part; the whole is joined only where an operation that cannot be unrolled
//! uses it.
//!
//! Parts of registers are unrolled further, lane by lane ([`super::lanes`]).
//!
//! The chain of operations on one part is emitted before that on the next
//! ([`Order`]), to keep live ranges short: a whole fragment in every
//! intermediate result would not fit registers.
use super::super::elementwise::{is_elementwise, is_scalar_intrinsic};
use super::super::ir_utils::{
    block_of, borrowed, defining_op, first_of_block, first_operation, is_in_block, move_before,
    named_attributes, next_operation, vector_elements,
};
use super::super::llvm_types::is_sized;
use super::Lowering;
use super::lanes::{goes_by_lane, is_of_halves, is_of_registers, is_register, is_short_by_lane};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, integer_array, operands_of, operation_key, result_of,
    value_key,
};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, VectorOp};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::{Attribute, BlockRef, Type, ValueLike, operation::OperationLike};
use rustc_hash::{FxHashMap, FxHashSet};

/// Elements of a part: of 16-bit elements, one 16-byte access.
pub(super) const PART: i64 = 8;

/// How deep definitions of a number are followed: an unrolled kernel may have thousands behind one another.
const DEPTH: usize = 64;

/// The insertion order of parts: each has a place, in program order, which its lanes share. Constants have the first.
pub(super) struct Order<'c> {
    /// The number of the place.
    of: FxHashMap<usize, usize>,
    /// Of a part that is made of a number: the first place that is behind it.
    since: FxHashMap<usize, usize>,
    /// What was moved to the front of a block, and where that ends.
    in_front: FxHashSet<usize>,
    fronts: FxHashMap<usize, IrOp<'c>>,
    places: Vec<Place<'c>>,
}

/// Operations of a place.
#[derive(Clone, Copy, Default)]
struct Place<'c> {
    /// Behind it the parts are there.
    there: Option<IrOp<'c>>,
    /// Behind it stands what is computed of them; none where a part is loaded or put together, which is computed where the program does.
    last: Option<IrOp<'c>>,
}

impl<'c> Place<'c> {
    /// Where something was computed, up to `end`.
    fn computed(end: Option<IrOp<'c>>) -> Self {
        Place {
            there: end,
            last: end,
        }
    }
}

impl Default for Order<'_> {
    fn default() -> Self {
        Order {
            of: FxHashMap::default(),
            since: FxHashMap::default(),
            in_front: FxHashSet::default(),
            fronts: FxHashMap::default(),
            places: vec![Place::default()],
        }
    }
}

impl<'c> Order<'c> {
    /// Gives a new part a place of its own after all others.
    fn add(&mut self, part: IrValue<'c>, place: Place<'c>) {
        self.of.entry(value_key(part)).or_insert(self.places.len());
        self.places.push(place);
    }

    /// Gives a constant, or what stands in front of the block that takes it, the place of the kernel's entry.
    fn begin(&mut self, constant: IrValue<'c>) {
        self.of.insert(value_key(constant), 0);
    }

    /// A part has no place of its own: it may be used at all that are still to be added.
    fn use_from_here(&mut self, part: IrValue<'c>) {
        self.since.insert(value_key(part), self.places.len());
    }

    /// Appends what is computed of an existing place. Its users may be inserted after `end`.
    fn extend(&mut self, number: usize, part: IrValue<'c>, end: Option<IrOp<'c>>) {
        self.of.insert(value_key(part), number);
        self.places[number] = Place::computed(end);
    }

    /// Appends a part that elements of an existing place make up, behind `end`; where these were loaded, what is computed of it has no place there.
    fn join(&mut self, number: usize, part: IrValue<'c>, end: Option<IrOp<'c>>) {
        match self.places[number].last {
            Some(_) => self.extend(number, part, end),
            None => {
                self.of.insert(value_key(part), number);
            }
        }
    }

    /// A lane has the place of its part, if it has none.
    fn share(&mut self, lane: IrValue<'c>, part: IrValue<'c>) {
        if let Some(number) = self.of.get(&value_key(part)).copied() {
            self.of.entry(value_key(lane)).or_insert(number);
        }
    }

    /// The last place of what a part is computed from, where that is no earlier than all operands; `block` is where it is to be computed.
    fn last_of(&self, operands: &[IrValue<'c>], block: IrBlock<'c>) -> Option<usize> {
        let (mut last, mut first) = (None, 0);
        for operand in operands {
            match self.of.get(&value_key(*operand)) {
                Some(number) => last = last.max(Some(*number)),
                None if let Some(since) = self.since.get(&value_key(*operand)) => {
                    first = first.max(*since);
                }
                // A block's argument and what another block computed are there from the beginning.
                None if defining_op(*operand).is_some_and(|op| is_in_block(op, block)) => {
                    return None;
                }
                None => {}
            }
        }
        last.filter(|last| *last >= first)
    }

    /// That place, and the operation behind which a part is computed there.
    fn behind(&self, operands: &[IrValue<'c>], block: IrBlock<'c>) -> Option<(usize, IrOp<'c>)> {
        let number = self.last_of(operands, block)?;
        let op = self.places[number].last?;
        is_in_block(op, block).then_some((number, op))
    }

    /// That place, and the operation behind which elements can be put together there.
    fn there(&self, elements: &[IrValue<'c>], block: IrBlock<'c>) -> Option<(usize, IrOp<'c>)> {
        let number = self.last_of(elements, block)?;
        let op = self.places[number].there?;
        is_in_block(op, block).then_some((number, op))
    }
}

impl<'c> Lowering<'c> {
    /// Splits an operation of another dialect, or gives it whole what it takes in parts.
    /// True when the operation is replaced by operations on parts.
    pub(super) fn split(&mut self, op: IrOp<'c>) -> bool {
        let kind = Op::of(op);
        let result = (op.result_count() == 1).then(|| result_of(op, 0));
        let elementwise = kind.filter(|_| is_elementwise(op) && is_of_llvm(op));
        if let Some(kind) = elementwise
            && let Some(result) = result
            && let Some((count, elem)) = long_vector(result.r#type())
            && let Some(parts) = self.split_elementwise(op, kind, count, elem)
        {
            self.parts.insert(value_key(result), parts);
            return true;
        }
        if let Some(result) = result
            && let Some(kind) = kind
            && (is_scalar_intrinsic(op)
                || elementwise.is_some()
                    && (kind == ArithOp::Extf.into() && is_of_halves(op)
                        || is_short_by_lane(op, kind, result)))
            && vector_elements(result.r#type()).is_some()
        {
            let attrs = named_attributes(op);
            let operands: Vec<IrValue<'c>> = operands_of(op).collect();
            let lanes = self.lane_by_lane(kind, &operands, &borrowed(&attrs), result.r#type());
            super::replace_all_uses(result, lanes);
            return true;
        }
        if VectorOp::FromElements.is(op)
            && let Some(result) = result
            && let Some((_, elem)) = long_vector(result.r#type())
        {
            let elements: Vec<IrValue<'c>> = operands_of(op).collect();
            self.keep_elements(result, &elements, elem, block_of(op));
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
            self.keep(*part);
        }
        self.parts.insert(value_key(vector), parts);
    }

    /// A part was loaded or put together here.
    fn keep(&mut self, part: IrValue<'c>) {
        self.know_lanes(part);
        let there = self.lanes.end(part);
        self.order.add(part, Place { there, last: None });
        self.place_lanes(part);
    }

    /// The lanes of a part have its place.
    fn place_lanes(&mut self, part: IrValue<'c>) {
        for lane in self.lanes.of(part).into_iter().flatten() {
            self.order.share(*lane, part);
        }
    }

    /// A vector is there in parts, of these elements, in a block.
    fn keep_elements(
        &mut self,
        vector: IrValue<'c>,
        elements: &[IrValue<'c>],
        elem: Type<'c>,
        block: IrBlock<'c>,
    ) {
        let ty = self.emitter.ir.vector_type(PART, elem);
        let parts = elements.chunks(PART as usize);
        let parts = parts.map(|part| match self.lanes.whole(part) {
            Some(whole) if whole.r#type() == ty => {
                self.keep(whole);
                whole
            }
            _ => self.part_of_elements(part, ty, block),
        });
        let parts = parts.collect();
        self.parts.insert(value_key(vector), parts);
    }

    /// The part that elements make up is there as soon as they are.
    fn part_of_elements(
        &mut self,
        elements: &[IrValue<'c>],
        ty: Type<'c>,
        block: IrBlock<'c>,
    ) -> IrValue<'c> {
        let mut defining = elements.iter().filter_map(|element| defining_op(*element));
        let in_front = defining.all(|op| !is_in_block(op, block));
        let there = self.order.there(elements, block);
        let before = self.emitter.ir.insertion;
        if in_front {
            self.emitter.ir.insertion = Insertion::Before(self.front_of(block));
        } else if let Some(next) = there.and_then(|(_, op)| next_operation(op)) {
            self.emitter.ir.insertion = Insertion::Before(next);
        }
        let part = self.joined_lanes(elements, ty);
        self.emitter.ir.insertion = before;
        match there {
            _ if in_front => self.order.begin(part),
            Some((place, _)) => self.order.join(place, part, self.lanes.end(part)),
            None => self.keep(part),
        }
        part
    }

    /// A long vector of registers that is not there in parts is, from where it is defined on.
    fn take_apart(&mut self, vector: IrValue<'c>) {
        if self.parts.contains_key(&value_key(vector)) {
            return;
        }
        let Some((count, elem)) = long_vector(vector.r#type()) else {
            return;
        };
        let first = match defining_op(vector) {
            Some(op) => next_operation(op),
            None => first_of_block(vector),
        };
        let Some(first) = first else {
            return;
        };
        let before = std::mem::replace(&mut self.emitter.ir.insertion, Insertion::Before(first));
        let lanes: Vec<IrValue<'c>> = (0..count).map(|lane| self.lane(vector, lane)).collect();
        self.keep_elements(vector, &lanes, elem, block_of(first));
        self.emitter.ir.insertion = before;
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
        let element = self.lane(part, position % PART);
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
        let attrs: Vec<(String, Attribute<'c>)> = named_attributes(op);
        if kind == ArithOp::Constant.into() {
            let (_, value) = attrs.iter().find(|(name, _)| name == "value")?;
            let value = DenseElementsAttribute::try_from(*value).ok()?;
            if !value.is_splat() {
                return None;
            }
            let ir = &mut self.emitter.ir;
            ir.insertion = Insertion::Before(self.entry);
            let number = value.splat_value();
            let part = match is_register(elem) {
                true => {
                    let number = ir.value(kind, &[], &[("value", number)], elem);
                    self.joined_lanes(&[number; PART as usize], part_type)
                }
                false => {
                    let numbers = ir.splat(part_type, number);
                    ir.value(kind, &[], &[("value", numbers)], part_type)
                }
            };
            self.emitter.ir.insertion = Insertion::Before(op);
            self.order.begin(part);
            return Some(vec![part; (count / PART) as usize]);
        }
        let operands: Vec<IrValue<'c>> = operands_of(op).collect();
        if is_of_registers(&operands, elem) {
            for operand in &operands {
                self.take_apart(*operand);
            }
        }
        let in_parts = |operand: &IrValue<'c>| {
            self.parts.contains_key(&value_key(*operand))
                || !type_text(operand.r#type()).starts_with("vector<")
        };
        if !operands.iter().all(in_parts) {
            return None;
        }
        let attrs = borrowed(&attrs);
        let of_parts = |operand: &IrValue<'c>| self.parts.contains_key(&value_key(*operand));
        let block = op.block()?;
        // SAFETY: the block outlives the pass.
        let block: IrBlock<'c> = unsafe { BlockRef::from_raw(block.to_raw()) };
        if !operands.iter().any(of_parts) {
            let part = match operands[..] {
                [number] => self.part_of_number(number, block, (kind, &attrs, part_type)),
                _ => self.part(kind, &operands, &attrs, part_type),
            };
            return Some(vec![part; (count / PART) as usize]);
        }
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
            let behind = self.order.behind(&operands, block);
            self.emitter.ir.insertion = match behind.and_then(|(_, op)| next_operation(op)) {
                Some(next) => Insertion::Before(next),
                None => Insertion::Before(op),
            };
            let value = self.part(kind, &operands, &attrs, part_type);
            self.emitter.ir.insertion = Insertion::Before(op);
            let end = self.lanes.end(value);
            match behind {
                Some((place, _)) => self.order.extend(place, value, end),
                None => self.order.add(value, Place::computed(end)),
            }
            self.place_lanes(value);
            made.push(value);
        }
        Some(made)
    }

    /// What is made of a number is the same in each part, and is there as soon as the number is.
    fn part_of_number(
        &mut self,
        number: IrValue<'c>,
        block: IrBlock<'c>,
        (kind, attrs, ty): (Op, &[(&str, Attribute<'c>)], Type<'c>),
    ) -> IrValue<'c> {
        let defining = defining_op(number);
        let in_front = defining.is_none_or(|op| self.move_to_front(op, block, DEPTH));
        let behind = match defining {
            Some(op) => next_operation(op),
            None => first_of_block(number),
        };
        let before = self.emitter.ir.insertion;
        if let Some(behind) = behind {
            self.emitter.ir.insertion = Insertion::Before(behind);
        }
        let part = self.part(kind, &[number], attrs, ty);
        self.emitter.ir.insertion = before;
        match in_front {
            true => self.order.begin(part),
            false => self.order.use_from_here(part),
        }
        part
    }

    /// Whether an operation stands in front of all that is computed of elements in a block. Arithmetic on what stands there is moved.
    fn move_to_front(&mut self, op: IrOp<'c>, block: IrBlock<'c>, depth: usize) -> bool {
        if !is_in_block(op, block) || self.order.in_front.contains(&operation_key(op)) {
            return true;
        }
        let is_moved = depth > 0
            && matches!(Op::of(op), Some(Op::ArithOp(_)))
            && operands_of(op)
                .filter_map(defining_op)
                .all(|op| self.move_to_front(op, block, depth - 1));
        if is_moved {
            move_before(op, self.front_of(block));
            self.order.in_front.insert(operation_key(op));
        }
        is_moved
    }

    /// Where what is in front of a block ends.
    fn front_of(&mut self, block: IrBlock<'c>) -> IrOp<'c> {
        let key = block.to_raw().ptr as usize;
        if let Some(front) = self.order.fronts.get(&key) {
            return *front;
        }
        let first = first_operation(block).unwrap_or(self.entry);
        let Some(front) = self.mark_before(first) else {
            return first;
        };
        self.dead.push(front);
        self.order.fronts.insert(key, front);
        front
    }

    /// The operation for one part.
    fn part(
        &mut self,
        kind: Op,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        ty: Type<'c>,
    ) -> IrValue<'c> {
        if goes_by_lane(kind, operands, ty) {
            return self.lane_by_lane(kind, operands, attrs, ty);
        }
        let part = self.emitter.ir.value(kind, operands, attrs, ty);
        self.know_lanes(part);
        part
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

/// Whether LLVM has the vectors of an operation: it has none of floats of 8 bits and less, of which IR by hand may have conversions.
fn is_of_llvm(op: IrOp) -> bool {
    let results = (0..op.result_count()).map(|index| result_of(op, index));
    let mut types = operands_of(op).chain(results).map(|value| value.r#type());
    types.all(|ty| vector_elements(ty).is_none() || is_sized(&type_text(ty)))
}

/// Number and type of the elements of a vector that is taken apart.
pub(super) fn long_vector<'c>(ty: Type<'c>) -> Option<(i64, Type<'c>)> {
    vector_elements(ty).filter(|(count, _)| *count > PART && count % PART == 0)
}
