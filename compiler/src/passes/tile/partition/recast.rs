//! `tile.recast`: the registers of a thread as narrower elements.
use super::{Partition, Spread};
use crate::passes::ir_utils::string_attribute;
use crate::passes::tile::convert_packed::in_words;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::VectorOp;
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::Recast;

impl<'c> Partition<'c> {
    /// What the thread holds as words, these as elements, and these in the order of the result: `tile-convert-packed` reads integers
    /// from the words.
    pub(super) fn recast(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let order = string_attribute(op, "order");
        let recast = Recast::of([&from.tile, &to.tile], order.as_deref());
        let recast = recast.map_err(SemError::Illegal)?;
        let registers = recast.registers(&from.layout, &to.layout);
        let registers = registers.map_err(SemError::Illegal)?;
        let bits = from.values() * from.tile.elem.bits();
        let words = in_words(&self.ir, vector, bits).unwrap_or(vector);
        let ty = to.vector(&self.ir);
        let narrow = self.ir.value(VectorOp::Bitcast, &[words], &[], ty);
        let place = |(at, part): (usize, i64)| at as i64 * recast.ratio + part;
        let places: Vec<i64> = registers.into_iter().map(place).collect();
        let in_words = (places.len() as i64 * to.tile.elem.bits()) % 32 == 0;
        if to.tile.elem.bits() == 8 && to.tile.elem.is_float() && in_words {
            let bytes: Vec<usize> = places.iter().map(|place| *place as usize).collect();
            return Ok(self.permuted(narrow, to, &bytes));
        }
        let mask = [("mask", self.ir.i64_array(&places))];
        Ok(self
            .ir
            .value(VectorOp::Shuffle, &[narrow, narrow], &mask, ty))
    }
}
