//! Bytes of a stage of which a thread has neighbours by twos, as the first factors of products of 16 bits and the sums of all products have them:
//! read and written as words.
//!
//! A vector of two bytes is two words of 16 bits to LLVM, and what is loaded so is taken apart and put together again, 4.5 instructions
//! for two bytes. Words go through loops and branches as they are, and `tile-convert-packed` computes with them; conversions to f8 give them.
use super::super::word_loads::recast_view;
use super::access::Way;
use super::{Partition, Spread};
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::VectorOp;
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::{Mode, TileLayout, TileType};

/// Bytes of a word.
const BYTES: i64 = 2;
const WORD: Elem = Elem::I16;

impl Spread {
    /// A tile of bytes as words along an axis, where a thread has its values by twos there and no more of them side by side.
    fn in_words(&self, along: usize) -> Option<Spread> {
        let shape = &self.tile.shape;
        let by_twos = || self.layout.neighbours(shape, along).ok();
        if self.tile.elem.bits() != 8 || by_twos()? != BYTES || shape[along] % BYTES != 0 {
            return None;
        }
        let values = self.layout.value_modes(shape).ok()?;
        let (first, others) = values.split_first()?;
        if first.extent != BYTES || first.along != Some((along, 1)) {
            return None;
        }
        let in_words = |mode: &Mode| {
            let along = match mode.along {
                Some((axis, step)) if axis == along => {
                    Some((axis, (step % BYTES == 0).then_some(step / BYTES)?))
                }
                other => other,
            };
            Some(Mode { along, ..*mode })
        };
        let threads = self.layout.thread_modes(shape).ok()?;
        let threads: Option<Vec<Mode>> = threads.iter().map(in_words).collect();
        let others: Option<Vec<Mode>> = others.iter().map(in_words).collect();
        let mut shape = shape.clone();
        shape[along] /= BYTES;
        Some(Spread {
            layout: TileLayout::of_modes(&threads?, &others?, &shape),
            tile: TileType::new(WORD, &shape),
        })
    }
}

impl<'c> Partition<'c> {
    /// Reads a part of a stage, whose neighbours lie along an axis, as words, where that is better.
    pub(super) fn read_words(
        &mut self,
        part: IrValue<'c>,
        along: usize,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some(words) = to.in_words(along) else {
            return Ok(None);
        };
        let part = recast_view(&self.ir, part, WORD)?;
        let fragment = self.fragment(&words)?;
        let part = self.partition(part, None, along, &words)?;
        self.copy(&part, fragment, &words, Way::Load)?;
        let read = self.load_vec(fragment, &words)?;
        let ty = to.vector(&self.ir);
        Ok(Some(self.ir.value(VectorOp::Bitcast, &[read], &[], ty)))
    }

    /// Writes a vector to a part of a stage, whose neighbours lie along an axis, as words, where that is better; whether it does.
    pub(super) fn write_words(
        &mut self,
        vector: IrValue<'c>,
        part: IrValue<'c>,
        along: usize,
        from: &Spread,
    ) -> Result<bool, SemError> {
        let Some(words) = from.in_words(along) else {
            return Ok(false);
        };
        let part = recast_view(&self.ir, part, WORD)?;
        let ty = words.vector(&self.ir);
        let vector = self.ir.value(VectorOp::Bitcast, &[vector], &[], ty);
        let fragment = self.fragment(&words)?;
        self.store_vec(vector, fragment);
        let part = self.partition(part, None, along, &words)?;
        self.once(&words, |this| {
            this.copy(&part, fragment, &words, Way::Store)
        })?;
        Ok(true)
    }
}
