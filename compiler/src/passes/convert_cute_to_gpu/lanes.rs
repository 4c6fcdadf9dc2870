//! Vectors of registers, lane by lane.
//!
//! An element of 32 bits or more is a register by itself, and no instruction computes several. So an elementwise
//! operation on a part of such elements is one on each. Their vector is put together for who takes it whole, and is
//! erased where nobody does. As vectors, LLVM would have them in each of its passes until its selection takes them
//! apart, and an instruction for each element that goes in or comes out.
use super::super::ir_utils::{
    defining_op, erase, first_operation, is_unused, operand_value, replace_all_uses,
    vector_elements,
};
use super::Lowering;
use super::unroll_vectors::PART;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, operands_of, result_of, value_key,
};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, LlvmOp, Op, VectorOp};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Type, ValueLike};
use rustc_hash::FxHashMap;

/// The lanes of vectors, and what was inserted for those.
#[derive(Default)]
pub(super) struct Lanes<'c> {
    of: FxHashMap<usize, Vec<IrValue<'c>>>,
    /// The shorter vectors that some were put together from.
    pieces: FxHashMap<usize, Vec<IrValue<'c>>>,
    inserted: Vec<IrOp<'c>>,
    /// The numbers of lanes, which stand before the kernel's first operation.
    numbers: Vec<IrValue<'c>>,
}

impl<'c> Lanes<'c> {
    /// Those of a vector, where they are known.
    pub(super) fn of(&self, vector: IrValue<'c>) -> Option<&[IrValue<'c>]> {
        self.of.get(&value_key(vector)).map(Vec::as_slice)
    }

    /// The operation behind which a vector is there with its lanes.
    pub(super) fn end(&self, vector: IrValue<'c>) -> Option<IrOp<'c>> {
        let op = defining_op(vector)?;
        match self.of(vector) {
            Some([.., last]) if !VectorOp::FromElements.is(op) => defining_op(*last),
            _ => Some(op),
        }
    }

    /// The vectors that one of `count` lanes was put together from, if they have `width` each.
    pub(super) fn pieces(
        &self,
        vector: IrValue<'c>,
        count: i64,
        width: i64,
    ) -> Option<&[IrValue<'c>]> {
        let pieces = self.pieces.get(&value_key(vector))?;
        (pieces.len() as i64 * width == count).then_some(pieces)
    }

    /// The vector that values are the first lanes of, in order.
    pub(super) fn whole(&self, values: &[IrValue<'c>]) -> Option<IrValue<'c>> {
        let taken = |(lane, value): (usize, &IrValue<'c>)| {
            let op = defining_op(*value).filter(|op| LlvmOp::Extractelement.is(*op))?;
            let [of, number] = operands_of(op).collect::<Vec<_>>()[..] else {
                return None;
            };
            (self.numbers.get(lane) == Some(&number)).then_some(of)
        };
        let mut vectors = values.iter().enumerate().map(taken);
        let first = vectors.next()??;
        vectors.all(|vector| vector == Some(first)).then_some(first)
    }

    fn insert(&mut self, vector: IrValue<'c>, lanes: Vec<IrValue<'c>>) {
        self.of.insert(value_key(vector), lanes);
    }
}

impl<'c> Lowering<'c> {
    /// The vector of some values.
    pub(super) fn joined_lanes(&mut self, lanes: &[IrValue<'c>], ty: Type<'c>) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let vector = ir.value(VectorOp::FromElements, lanes, &[], ty);
        self.lanes.inserted.extend(defining_op(vector));
        self.lanes.insert(vector, lanes.to_vec());
        vector
    }

    /// The vector that pieces of `width` lanes make up.
    pub(super) fn joined(
        &mut self,
        pieces: &[IrValue<'c>],
        width: i64,
        ty: Type<'c>,
    ) -> IrValue<'c> {
        if width == 1 {
            return self.joined_lanes(pieces, ty);
        }
        let lanes = pieces
            .iter()
            .flat_map(|piece| (0..width).map(|lane| (*piece, lane)));
        let lanes: Vec<IrValue<'c>> = lanes.map(|(piece, lane)| self.lane(piece, lane)).collect();
        let vector = self.joined_lanes(&lanes, ty);
        self.lanes.pieces.insert(value_key(vector), pieces.to_vec());
        vector
    }

    /// One lane of a vector. A number is the same in all.
    pub(super) fn lane(&mut self, of: IrValue<'c>, lane: i64) -> IrValue<'c> {
        if let Some(lanes) = self.lanes.of(of) {
            return lanes[lane as usize];
        }
        if let Some(element) = put_together(of).and_then(|op| operand_value(op, lane as usize)) {
            return element;
        }
        let Some((_, elem)) = vector_elements(of.r#type()) else {
            return of;
        };
        let number = self.lane_number(lane);
        let ir = &self.emitter.ir;
        let lane = ir.value(LlvmOp::Extractelement, &[of, number], &[], elem);
        self.lanes.inserted.extend(defining_op(lane));
        lane
    }

    /// Wherever operations are inserted, the number of a lane is there.
    fn lane_number(&mut self, lane: i64) -> IrValue<'c> {
        let ir = OpBuilder::new(self.emitter.ir.context(), Insertion::Before(self.entry));
        let numbers = &mut self.lanes.numbers;
        while numbers.len() as i64 <= lane {
            numbers.push(ir.constant(numbers.len() as i64, "i32"));
        }
        numbers[lane as usize]
    }

    /// From here on the lanes of a vector of registers are known.
    pub(super) fn know_lanes(&mut self, vector: IrValue<'c>) {
        if self.lanes.of(vector).is_none()
            && let Some((count, elem)) = vector_elements(vector.r#type())
            && is_register(elem)
        {
            let lanes = (0..count).map(|lane| self.lane(vector, lane)).collect();
            self.lanes.insert(vector, lanes);
        }
    }

    /// The vector that an operation makes of each lane of its operands.
    pub(super) fn lane_by_lane(
        &mut self,
        kind: Op,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        ty: Type<'c>,
    ) -> IrValue<'c> {
        let (count, elem) = vector_elements(ty).unwrap_or((1, ty));
        if kind == ArithOp::Extf.into()
            && let Some(lanes) = self.widened_halves(operands[0], count, elem)
        {
            return self.joined_lanes(&lanes, ty);
        }
        let one = |lowering: &mut Self, lane: i64| {
            let operands: Vec<IrValue<'c>> = operands
                .iter()
                .map(|operand| lowering.lane(*operand, lane))
                .collect();
            match kind == VectorOp::Broadcast.into() {
                true => operands[0],
                false => lowering.emitter.ir.value(kind, &operands, attrs, elem),
            }
        };
        let lanes: Vec<IrValue<'c>> = (0..count).map(|lane| one(self, lane)).collect();
        self.joined_lanes(&lanes, ty)
    }

    /// Numbers of bf16 as those of f32, an instruction for each: one is the upper half of the other, whose lower half is 0. Of a register with two,
    /// the first is moved up, and of the second what is below it is cleared; LLVM would take both out of it first. Not where lanes are there one by one.
    fn widened_halves(
        &mut self,
        of: IrValue<'c>,
        count: i64,
        elem: Type<'c>,
    ) -> Option<Vec<IrValue<'c>>> {
        if !is_bf16(of) || &*type_text(elem) != "f32" || count % 2 == 1 {
            return None;
        }
        let pairs = self.lanes.pieces(of, count, 2).map(<[_]>::to_vec);
        let is_by_lanes =
            |value: &IrValue<'c>| self.lanes.of(*value).is_some() || put_together(*value).is_some();
        let wholes = pairs.as_deref().unwrap_or(std::slice::from_ref(&of));
        if wholes.iter().any(is_by_lanes) {
            return None;
        }
        let ir = &self.emitter.ir;
        let word = ir.ty("i32");
        let as_words =
            |value: IrValue<'c>, ty: Type<'c>| ir.value(LlvmOp::Bitcast, &[value], &[], ty);
        let words: Vec<IrValue<'c>> = match pairs {
            Some(pairs) => pairs.into_iter().map(|pair| as_words(pair, word)).collect(),
            None if count == 2 => vec![as_words(of, word)],
            None => {
                let words = as_words(of, ir.vector_type(count / 2, word));
                (0..count / 2).map(|lane| self.lane(words, lane)).collect()
            }
        };
        let ir = &self.emitter.ir;
        let (half, upper) = (ir.constant(16, "i32"), ir.constant(-1 << 16, "i32"));
        let halves = |number: IrValue<'c>| {
            let first = ir.value(ArithOp::Shli, &[number, half], &[], word);
            let second = ir.value(ArithOp::Andi, &[number, upper], &[], word);
            [first, second].map(|bits| ir.value(ArithOp::Bitcast, &[bits], &[], elem))
        };
        Some(words.into_iter().flat_map(halves).collect())
    }

    /// Puts the vectors together that are taken whole, and erases the others, and the lanes that nobody takes. What was
    /// lowered is gone.
    pub(super) fn end_lanes(&mut self, body: IrBlock<'c>) {
        // Numbers stand in front of all vectors, of which some are erased.
        let Some(entry) = first_operation(body).and_then(|first| self.mark_before(first)) else {
            return;
        };
        self.entry = entry;
        self.lanes.numbers.clear();
        for op in std::mem::take(&mut self.lanes.inserted).into_iter().rev() {
            if !is_unused(op) && VectorOp::FromElements.is(op) {
                self.emitter.ir.insertion = Insertion::Before(op);
                self.emitter.ir.location = op.location();
                let result = result_of(op, 0);
                let ty = result.r#type();
                let mut vector = self.emitter.ir.value(LlvmOp::MlirPoison, &[], &[], ty);
                for (lane, value) in operands_of(op).enumerate() {
                    let number = self.lane_number(lane as i64);
                    let operands = [vector, value, number];
                    vector = self
                        .emitter
                        .ir
                        .value(LlvmOp::Insertelement, &operands, &[], ty);
                }
                replace_all_uses(result, vector);
            }
            if is_unused(op) {
                erase(op);
            }
        }
        erase(entry);
    }

    /// An operation in front of another one that nothing takes or moves: what is put in front of it stands in the order in which it is.
    pub(super) fn mark_before(&self, op: IrOp<'c>) -> Option<IrOp<'c>> {
        let ir = OpBuilder::new(self.emitter.ir.context(), Insertion::Before(op));
        defining_op(ir.constant(0, "i32"))
    }
}

/// What puts a vector together of its elements.
fn put_together<'c>(vector: IrValue<'c>) -> Option<IrOp<'c>> {
    defining_op(vector).filter(|op| VectorOp::FromElements.is(*op))
}

/// Whether no instruction does it for several elements: those of registers, and of 16 bits what chooses or makes wider.
pub(super) fn goes_by_lane(kind: Op, operands: &[IrValue], result: Type) -> bool {
    let alone = [ArithOp::Select, ArithOp::Extf].map(Op::from);
    alone.contains(&kind) || is_of_registers(operands, result)
}

/// Whether an operation on a vector of few elements that share registers, or of what are no whole parts, goes by lane: where no instruction does it for
/// several, or the last one would be alone in its register, of which the backend leaves the other half unwritten.
pub(super) fn is_short_by_lane(op: IrOp, kind: Op, result: IrValue) -> bool {
    let ty = result.r#type();
    let operands: Vec<IrValue> = operands_of(op).collect();
    let whole = |count: i64| count > PART && count % PART == 0;
    let Some((count, _)) = vector_elements(ty).filter(|(count, _)| !whole(*count)) else {
        return false;
    };
    let is_alone = count % 2 == 1 || goes_by_lane(kind, &operands, ty);
    is_alone && !operands.is_empty() && !is_of_registers(&operands, ty)
}

/// Whether an operation takes numbers of bf16, two of a register ([`Lowering::lane_by_lane`]).
pub(super) fn is_of_halves(op: IrOp) -> bool {
    operands_of(op).all(is_bf16)
}

fn is_bf16(vector: IrValue) -> bool {
    vector_elements(vector.r#type()).is_some_and(|(_, elem)| &*type_text(elem) == "bf16")
}

/// Whether an operation takes and gives registers.
pub(super) fn is_of_registers(operands: &[IrValue], result: Type) -> bool {
    let mut types = operands
        .iter()
        .map(|operand| operand.r#type())
        .chain([result]);
    types.all(|ty| is_register(vector_elements(ty).map_or(ty, |(_, elem)| elem)))
}

/// Whether an element is a register by itself, or a predicate.
pub(in crate::passes) fn is_register(elem: Type) -> bool {
    ["f32", "f64", "i32", "i64", "i1"].contains(&&*type_text(elem))
}
