//! `tile.convert_layout`: the same tile in other registers, the cheapest way that leads there.
//!
//! Where every thread already has what it is to have, registers are named anew. Where a warp has what
//! its lanes need, they ask each other by shuffles if these are fewer than the accesses to shared memory.
//! Else the tile goes through shared memory, laid out so that neither side has bank conflicts; one of more than
//! 80 KB part by part.
use super::access::Way;
use super::layout_conversion::{self, Conversion, Exchange, Part, Piece};
use super::scratch::{Scratch, Through};
use super::shuffle::{BUTTERFLY, INDEXED};
use super::{Partition, Spread};
use crate::passes::cmpi::{NOT_EQUAL, cmpi};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, NvvmOp, VectorOp};
use cutec_dialects::semantics::SemError;

impl<'c> Partition<'c> {
    /// Whether every thread has what it is to have, in the order of its registers.
    pub(super) fn is_as_it_is(&self, op: IrOp<'c>, to: &Spread) -> bool {
        let from = self.of(op, 0).map(|(_, from)| from);
        from.is_ok_and(|from| from.layout.is_as(&to.layout, &to.tile.shape))
    }

    pub(super) fn convert(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        if from.tile.elem != Elem::I1 {
            return self.converted(op, vector, &from, to);
        }
        let (from, wanted) = (from.as_carried(), to.as_carried());
        let wide = from.vector(&self.ir);
        let vector = self.ir.value(ArithOp::Extui, &[vector], &[], wide);
        let vector = self.converted(op, vector, &from, &wanted)?;
        let narrow = to.vector(&self.ir);
        Ok(self.ir.value(ArithOp::Trunci, &[vector], &[], narrow))
    }

    fn converted(
        &mut self,
        op: IrOp<'c>,
        vector: IrValue<'c>,
        from: &Spread,
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        match layout_conversion::conversion(from, to)? {
            Conversion::Registers(order) => Ok(self.renamed(vector, from, &order)),
            Conversion::Lanes(exchange) => Ok(self.through_lanes(vector, from, &exchange)),
            Conversion::Parts(parts) => self.in_parts(op, vector, from, &parts),
            Conversion::Memory { layout, of_warps } => {
                if !of_warps {
                    self.within_a_block("a tile that is spread over threads anew")?;
                }
                let scratch = Scratch::of(Through::Conversion, from.tile.elem, layout);
                let buffer = self.scratch(op, scratch)?;
                self.meet_before_writing(op);
                let fast = layout_conversion::fast_axis(from, to)?;
                let fragment = self.fragment(from)?;
                self.store_vec(vector, fragment);
                let part = self.partition(buffer, None, fast, from)?;
                self.once(from, |this| this.copy(&part, fragment, from, Way::Store))?;
                match of_warps {
                    true => self.warp_barrier(),
                    false => self.barrier(),
                }
                let fragment = self.fragment(to)?;
                let part = self.partition(buffer, None, fast, to)?;
                self.copy(&part, fragment, to, Way::Load)?;
                self.load_vec(fragment, to)
            }
        }
    }

    /// Values of a thread in another order.
    pub(super) fn renamed(
        &self,
        vector: IrValue<'c>,
        from: &Spread,
        order: &[usize],
    ) -> IrValue<'c> {
        let elements = self.elements(vector, from);
        let renamed: Vec<IrValue<'c>> = order.iter().map(|at| elements[*at]).collect();
        self.gather(&renamed, self.ir.number_type(from.tile.elem))
    }

    fn in_parts(
        &mut self,
        op: IrOp<'c>,
        vector: IrValue<'c>,
        from: &Spread,
        parts: &[Part],
    ) -> Result<IrValue<'c>, SemError> {
        let own = self.ir.number_type(from.tile.elem);
        let elements = self.elements(vector, from);
        let mut converted: Vec<(usize, IrValue<'c>)> = Vec::new();
        for Part { from, to } in parts {
            let part: Vec<IrValue<'c>> = from.values.iter().map(|at| elements[*at]).collect();
            let part = self.gather(&part, own);
            let part = self.converted(op, part, &from.spread, &to.spread)?;
            let part = self.elements(part, &to.spread);
            converted.extend(to.values.iter().copied().zip(part));
        }
        converted.sort_by_key(|(at, _)| *at);
        let converted: Vec<IrValue<'c>> = converted.into_iter().map(|(_, value)| value).collect();
        Ok(self.gather(&converted, own))
    }

    pub(super) fn warp_barrier(&self) {
        let members = self.ir.constant(-1, "i32");
        self.ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
    }

    /// Each word of a thread from the lane that has it.
    pub(super) fn through_lanes(
        &mut self,
        vector: IrValue<'c>,
        from: &Spread,
        exchange: &Exchange,
    ) -> IrValue<'c> {
        let (word, elem) = (self.ir.ty("i32"), from.tile.elem);
        let elements = self.elements(vector, from);
        let thread = self.thread();
        // The lane to ask: bits of the own lane, moved. Where all stay it is the number of the own one, some of its bits inverted.
        let stay = exchange.all_bits_stay();
        let mut lane = self.ir.constant(0, "i32");
        for run in exchange.bits.iter().filter(|_| !stay) {
            let (first, mask) = (
                self.ir.constant(run.first, "i32"),
                self.ir.constant((1 << run.count) - 1, "i32"),
            );
            let bits = self.ir.value(ArithOp::Shrui, &[thread, first], &[], word);
            let bits = self.ir.value(ArithOp::Andi, &[bits, mask], &[], word);
            let by = self.ir.constant(run.weight, "i32");
            let bits = self.ir.value(ArithOp::Muli, &[bits, by], &[], word);
            lane = self.ir.value(ArithOp::Xori, &[lane, bits], &[], word);
        }
        let width = exchange.width;
        let own = self.ir.number_type(elem);
        let one = self.ir.vector_type(1, word);
        let packed = self.ir.vector_type(width as i64, own);
        // Which lane is asked for a piece, and how; `None` for the own one.
        let asked_for = |this: &Self, piece: &Piece| {
            let beside = this.ir.constant(piece.lane, "i32");
            let lane = match stay {
                true if piece.lane == 0 => return None,
                true => (BUTTERFLY, beside),
                false => {
                    let lane = (this.ir).value(ArithOp::Xori, &[lane, beside], &[], word);
                    (INDEXED, lane)
                }
            };
            Some(lane)
        };
        if exchange.words_of_piece > 1 {
            let ask = |piece: &Piece| {
                let number = elements[piece.values[0]];
                match asked_for(self, piece) {
                    Some((kind, lane)) => self.shuffled_by(kind, number, elem, lane),
                    None => number,
                }
            };
            let asked: Vec<IrValue<'c>> = exchange.words.iter().flatten().map(ask).collect();
            return self.gather(&asked, own);
        }
        let ask = |this: &mut Self, piece: &Piece| {
            let values: Vec<IrValue<'c>> = piece.values.iter().map(|at| elements[*at]).collect();
            let values = this.gather(&values, own);
            let values = this.ir.value(VectorOp::Bitcast, &[values], &[], one);
            let values = this.first_of(values, word);
            match asked_for(this, piece) {
                Some((kind, lane)) => this.shuffle(kind, values, lane),
                None => values,
            }
        };
        let upper = exchange.upper.map(|bit| {
            let bit = self.ir.constant(1 << bit, "i32");
            let bit = self.ir.value(ArithOp::Andi, &[thread, bit], &[], word);
            let zero = self.ir.constant(0, "i32");
            cmpi(&self.ir, NOT_EQUAL, bit, zero)
        });
        let mut numbers = Vec::new();
        for pieces in &exchange.words {
            let asked: Vec<IrValue<'c>> = pieces.iter().map(|piece| ask(self, piece)).collect();
            let asked = match asked[..] {
                [low, high] => self.of_halves([low, high], upper),
                _ => asked[0],
            };
            let asked = self.ir.value(VectorOp::FromElements, &[asked], &[], one);
            let asked = self.ir.value(VectorOp::Bitcast, &[asked], &[], packed);
            for at in 0..width as i64 {
                let position = self.ir.i64_array(&[at]);
                let position = [("static_position", position)];
                numbers.push(self.ir.value(VectorOp::Extract, &[asked], &position, own));
            }
        }
        self.gather(&numbers, own)
    }

    /// A register of a half of each of two: their lower ones, or the upper ones where a condition holds (PTX ISA, "prmt").
    fn of_halves(&self, [low, high]: [IrValue<'c>; 2], upper: Option<IrValue<'c>>) -> IrValue<'c> {
        let word = self.ir.ty("i32");
        let lower = self.ir.constant(0x5410, "i32");
        let selector = match upper {
            None => lower,
            Some(condition) => {
                let upper = self.ir.constant(0x7632, "i32");
                self.ir
                    .value(ArithOp::Select, &[condition, upper, lower], &[], word)
            }
        };
        let operands = [low, high, selector];
        self.ir
            .assembly("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", &operands, word)
    }

    fn first_of(&self, vector: IrValue<'c>, ty: melior::ir::Type<'c>) -> IrValue<'c> {
        let position = [("static_position", self.ir.i64_array(&[0]))];
        self.ir.value(VectorOp::Extract, &[vector], &position, ty)
    }
}
