//! Where in its tile a thread's values lie.
use super::{Partition, Spread};
use cutec_dialects::builder::{Insertion, IrValue};
use cutec_dialects::ops::{ArithOp, NvvmOp, VectorOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARPGROUP;
use cutec_dialects::tile::Mode;

impl<'c> Partition<'c> {
    /// The number of the thread among those that share a tile.
    pub(super) fn thread(&mut self) -> IrValue<'c> {
        if let Some(thread) = self.thread {
            return thread;
        }
        let before = std::mem::replace(&mut self.ir.insertion, Insertion::Before(self.entry));
        let i32_type = self.ir.ty("i32");
        let mut thread = self.ir.value(NvvmOp::ReadPtxSregTidX, &[], &[], i32_type);
        if self.blocks > 1 {
            let binary = |op: ArithOp, a, b| self.ir.value(op, &[a, b], &[], i32_type);
            let rank = self
                .ir
                .value(NvvmOp::ReadPtxSregClusterCtarank, &[], &[], i32_type);
            let first = binary(ArithOp::Muli, rank, self.ir.constant(self.threads, "i32"));
            thread = binary(ArithOp::Addi, thread, first);
        }
        if self.turn.is_some() {
            let size = self.ir.constant(WARPGROUP, "i32");
            thread = (self.ir).value(ArithOp::Remui, &[thread, size], &[], i32_type);
        }
        self.ir.insertion = before;
        self.thread = Some(thread);
        thread
    }

    /// The number of the thread in its block.
    pub(super) fn thread_of_block(&self) -> IrValue<'c> {
        (self.ir).value(NvvmOp::ReadPtxSregTidX, &[], &[], self.ir.ty("i32"))
    }

    /// The thread's place in each of its modes.
    pub(super) fn thread_places(
        &mut self,
        spread: &Spread,
    ) -> Result<Vec<(Mode, IrValue<'c>)>, SemError> {
        let modes = spread
            .layout
            .thread_modes(&spread.tile.shape)
            .map_err(SemError::Illegal)?;
        let thread = self.thread();
        let i32_type = self.ir.ty("i32");
        let mut before = 1;
        let mut places = Vec::with_capacity(modes.len());
        for mode in modes {
            let (width, extent) = (
                self.ir.constant(before, "i32"),
                self.ir.constant(mode.extent, "i32"),
            );
            let place = self
                .ir
                .value(ArithOp::Divui, &[thread, width], &[], i32_type);
            let place = self
                .ir
                .value(ArithOp::Remui, &[place, extent], &[], i32_type);
            places.push((mode, place));
            before *= mode.extent;
        }
        Ok(places)
    }

    /// The coordinate of each value along an axis, as a vector of i32.
    pub(super) fn coordinates(
        &mut self,
        spread: &Spread,
        axis: usize,
    ) -> Result<IrValue<'c>, SemError> {
        let first = self.first_place(spread, axis)?;
        Ok(self.steps_from(first, &value_places(spread, axis)?))
    }

    /// The coordinate of a thread's first value along an axis.
    pub(super) fn first_place(
        &mut self,
        spread: &Spread,
        axis: usize,
    ) -> Result<IrValue<'c>, SemError> {
        let i32_type = self.ir.ty("i32");
        let mut base = self.ir.constant(0, "i32");
        for (mode, place) in self.thread_places(spread)? {
            if let Some((along, step)) = mode.along
                && along == axis
            {
                let step = self.ir.constant(step, "i32");
                let part = self.ir.value(ArithOp::Muli, &[place, step], &[], i32_type);
                base = self.ir.value(ArithOp::Addi, &[base, part], &[], i32_type);
            }
        }
        Ok(base)
    }

    /// A number and an offset for each value, added, as a vector of i32.
    pub(super) fn steps_from(&self, first: IrValue<'c>, offsets: &[i64]) -> IrValue<'c> {
        let ty = self.ir.vector_type(offsets.len() as i64, self.ir.ty("i32"));
        let first = self.ir.value(VectorOp::Broadcast, &[first], &[], ty);
        // Within a tile, which has far fewer elements.
        let offsets: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
        let offsets = self.ir.number(self.ir.i32_elements(&offsets), ty);
        self.ir.value(ArithOp::Addi, &[first, offsets], &[], ty)
    }
}

/// How far along an axis each value of a thread lies from its first.
pub(super) fn value_places(spread: &Spread, axis: usize) -> Result<Vec<i64>, SemError> {
    let modes = spread
        .layout
        .value_modes(&spread.tile.shape)
        .map_err(SemError::Illegal)?;
    let place = |value: i64| {
        let (mut rest, mut place) = (value, 0);
        for mode in &modes {
            if let Some((along, step)) = mode.along
                && along == axis
            {
                place += rest % mode.extent * step;
            }
            rest /= mode.extent;
        }
        place
    };
    Ok((0..spread.values()).map(place).collect())
}

/// The same along each axis.
pub(super) fn all_places(spread: &Spread) -> Result<Vec<Vec<i64>>, SemError> {
    let axes = 0..spread.tile.shape.len();
    axes.map(|axis| value_places(spread, axis)).collect()
}
