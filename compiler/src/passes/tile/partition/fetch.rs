//! `tile.atomic`: elements of a tensor that are updated, and what they were.
//!
//! Of threads that hold the same elements one updates them, and tells the others by way of shared memory. A load that acquires
//! stands in front of a barrier of the block, a store that releases behind one: they order what all threads of the block do.
use super::super::emits::Emits;
use super::access::Way;
use super::gather::Places;
use super::layout_conversion::{Reader, buffer_of_elements};
use super::scratch::{Scratch, Through};
use super::{Partition, Spread};
use crate::passes::ir_utils::{present, users};
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{CuteOp, LlvmOp, tile};
use cutec_dialects::semantics::{AtomicKind, Attrs, SemError};
use cutec_dialects::tile::Mode;

impl<'c> Partition<'c> {
    /// Updates the elements that a thread has of a tile, where they are inside of the view; what they were.
    pub(super) fn fetched(&mut self, op: IrOp<'c>, to: &Spread) -> Result<IrValue<'c>, SemError> {
        let atomic = present(tile::Atomic::of(op))?;
        let (view, kind) = (atomic.view(), present(atomic.how())?);
        let (at, values) = atomic.at_and_values();
        let places = self.places(op, view, 1..1 + at.len())?;
        let mut new = Vec::new();
        for index in 1 + at.len()..1 + at.len() + values.len() {
            let (vector, spread) = self.of(op, index)?;
            new.push(self.elements(vector, &spread));
        }
        if kind == AtomicKind::Release {
            // What the other threads of the block have done is released as well.
            self.within_a_block("a store that releases")?;
            self.barrier();
        }
        let Some((buffer, fast)) = scratch(to)? else {
            let was = self.fetch(kind, view, &places, &new, to)?;
            self.meet_behind(kind)?;
            return Ok(was);
        };
        if users(result_of(op, 0)).is_empty() {
            let act = |this: &mut Self| this.fetch(kind, view, &places, &new, to).map(drop);
            self.once(to, act)?;
            self.meet_behind(kind)?;
            let ty = to.vector(&self.ir);
            return Ok(self.ir.value(LlvmOp::MlirPoison, &[], &[], ty));
        }
        self.within_a_block("an update that gives what was there")?;
        let buffer = self.scratch(op, buffer)?;
        self.meet_before_writing(op);
        let fragment = self.fragment(to)?;
        let part = self.partition(buffer, None, fast, to)?;
        self.once(to, |this| {
            let was = this.fetch(kind, view, &places, &new, to)?;
            this.store_vec(was, fragment);
            this.copy(&part, fragment, to, Way::Store)
        })?;
        self.barrier();
        self.copy(&part, fragment, to, Way::Load)?;
        self.load_vec(fragment, to)
    }

    /// What a thread has acquired, all threads of the block have behind a barrier.
    fn meet_behind(&mut self, kind: AtomicKind) -> Result<(), SemError> {
        if kind == AtomicKind::Acquire {
            self.within_a_block("a load that acquires")?;
            self.barrier();
        }
        Ok(())
    }

    /// The updates of a thread's elements, one by one.
    fn fetch(
        &mut self,
        kind: AtomicKind,
        view: IrValue<'c>,
        places: &Places<'c>,
        new: &[Vec<IrValue<'c>>],
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let attrs = Attrs {
            kind: Some(kind),
            ..Attrs::default()
        };
        let coord = self.coordinate_type(places.rank());
        let mut were = Vec::new();
        for number in 0..to.values() as usize {
            let (at, inside) = places.of(self, number);
            let at = self.ir.value(CuteOp::MakeCoord, &at, &[], coord);
            let mut operands = vec![view, at];
            operands.extend(new.iter().map(|values| values[number]));
            operands.push(inside);
            were.push(self.cute(CuteOp::MemrefAtomic, &operands, &attrs)?);
        }
        Ok(self.gather(&were, self.ir.number_type(to.tile.elem)))
    }
}

/// Whether several threads hold the same elements of a tile.
fn is_shared(spread: &Spread) -> Result<bool, SemError> {
    let modes = spread.layout.thread_modes(&spread.tile.shape);
    Ok(modes.map_err(SemError::Illegal)?.iter().any(Mode::repeats))
}

/// The buffer by which threads that hold the same elements are told what these were, and the axis along which its elements are neighbours; `None` where each has
/// its own.
pub(super) fn scratch(spread: &Spread) -> Result<Option<(Scratch, usize)>, SemError> {
    if !is_shared(spread)? {
        return Ok(None);
    }
    let reader = Reader {
        spread: spread.clone(),
        vector: None,
    };
    let (layout, fast) = buffer_of_elements(spread, &[reader])?;
    let buffer = Scratch::of(Through::Update, spread.tile.elem, layout);
    Ok(Some((buffer, fast)))
}
