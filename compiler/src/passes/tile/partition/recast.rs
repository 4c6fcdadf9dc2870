//! `tile.recast`: the registers of a thread as narrower elements.
use super::{Partition, Spread};
use crate::passes::ir_utils::string_attribute;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::VectorOp;
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::Recast;

/// Words that a thread's registers are seen as, the widest first.
const WORDS: [Elem; 3] = [Elem::I32, Elem::I16, Elem::I8];

impl<'c> Partition<'c> {
    /// What the thread holds as words, these as elements, and these in the order of the result: `tile-convert-packed` reads them
    /// from the words.
    pub(super) fn recast(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let (vector, from) = self.of(op, 0)?;
        let order = string_attribute(op, "order");
        let recast = Recast::of([&from.tile, &to.tile], order.as_deref());
        let recast = recast.map_err(SemError::Illegal)?;
        let registers = recast.registers(&from.layout, &to.layout);
        let registers = registers.map_err(SemError::Illegal)?;
        let bits = from.values() * from.tile.elem.bits();
        let mut narrow = vector;
        if let Some(word) = WORDS.into_iter().find(|word| bits % word.bits() == 0) {
            let words = self.ir.numbers_type(word, Some(bits / word.bits()));
            narrow = self.ir.value(VectorOp::Bitcast, &[narrow], &[], words);
        }
        let ty = to.vector(&self.ir);
        let narrow = self.ir.value(VectorOp::Bitcast, &[narrow], &[], ty);
        let places: Vec<i64> = registers
            .into_iter()
            .map(|(at, part)| at as i64 * recast.ratio + part)
            .collect();
        let mask = [("mask", self.ir.i64_array(&places))];
        Ok(self
            .ir
            .value(VectorOp::Shuffle, &[narrow, narrow], &mask, ty))
    }
}
