//! What registers hold: within a block, a load from a stack slot is what was stored there.
//!
//! A gemm reads its sums and writes them back; where several stand in one block, only the first load and
//! the last store of each sum are emitted. LLVM would find that out too, at many times the cost. Nothing is
//! known across the borders of regions, where other ways through the program meet: what was stored until
//! then is written there.
use super::super::emit::Emitter;
use super::Lowering;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Space;
use cutec_dialects::memo::type_text;
use cutec_dialects::value::View;
use cutec_layout::Int;
use melior::ir::{Type, ValueLike};
use std::collections::BTreeMap;

/// What lies in some bytes of a stack slot.
struct Cell<'c> {
    bytes: i64,
    value: IrValue<'c>,
    /// Whether it is still to be written.
    pending: bool,
}

/// The cells of each slot, by their first byte; no two overlap.
#[derive(Default)]
pub(super) struct Cells<'c> {
    slots: BTreeMap<usize, BTreeMap<i64, Cell<'c>>>,
}

/// The first bytes of the cells that overlap a range.
fn overlapping(cells: &BTreeMap<i64, Cell>, start: i64, bytes: i64) -> Vec<i64> {
    let before = cells
        .range(..start)
        .next_back()
        .filter(|(at, cell)| *at + cell.bytes > start);
    let inside = cells.range(start..start.saturating_add(bytes));
    before
        .into_iter()
        .chain(inside)
        .map(|(at, _)| *at)
        .collect()
}

impl<'c> Lowering<'c> {
    /// Writes what is still to be written and forgets everything: what follows may be reached in another way.
    pub(super) fn settle(&mut self) {
        let slots: Vec<usize> = self.cells.slots.keys().copied().collect();
        for slot in slots {
            self.settle_slot(slot);
        }
    }

    /// The same for one slot.
    pub(super) fn settle_slot(&mut self, slot: usize) {
        for (start, cell) in self.cells.slots.remove(&slot).unwrap_or_default() {
            self.write(slot, start, &cell);
        }
    }

    /// Writes a cell, if it is still to be written.
    fn write(&mut self, slot: usize, start: i64, cell: &Cell<'c>) {
        if cell.pending {
            let address = self.address_in(slot, Space::Rmem, &Int::Static(start), &Int::ZERO);
            self.store_as(address, cell.value, cell.bytes);
        }
    }

    /// The slot and the byte of an element, where it lies in registers at a known place.
    fn place(&self, view: &View, inside: &Int) -> Option<(usize, i64)> {
        if view.ptr.space != Space::Rmem {
            return None;
        }
        let (of_view, of_element) = Emitter::byte_offsets(view, inside);
        let start = of_view.as_static()?.checked_add(of_element.as_static()?)?;
        Some((view.ptr.base, start))
    }

    /// Loads `bytes` bytes that lie contiguously from an element on.
    pub(super) fn load_at(
        &mut self,
        view: &View,
        inside: &Int,
        ty: Type<'c>,
        bytes: i64,
    ) -> IrValue<'c> {
        let Some((slot, start)) = self.place(view, inside) else {
            let address = self.address(view, inside);
            return self.load_as(address, ty, bytes);
        };
        if let Some(known) = self.held(slot, start, ty, bytes) {
            return known;
        }
        let read = self.take_overlapping(slot, start, bytes);
        for (at, cell) in &read {
            self.write(slot, *at, cell);
        }
        let address = self.address_in(slot, Space::Rmem, &Int::Static(start), &Int::ZERO);
        let value = self.load_as(address, ty, bytes);
        if read.is_empty() {
            self.keep(slot, start, bytes, value, false);
        }
        value
    }

    /// Stores a value of `bytes` bytes from an element on.
    pub(super) fn store_at(&mut self, view: &View, inside: &Int, value: IrValue<'c>, bytes: i64) {
        let Some((slot, start)) = self.place(view, inside) else {
            let address = self.address(view, inside);
            self.store_as(address, value, bytes);
            return;
        };
        for (at, cell) in self.take_overlapping(slot, start, bytes) {
            if at < start || at + cell.bytes > start.saturating_add(bytes) {
                self.write(slot, at, &cell);
            }
        }
        self.keep(slot, start, bytes, value, true);
    }

    /// From a byte of a slot on `bytes` bytes are `value`; `pending` where they are still to be written.
    fn keep(&mut self, slot: usize, start: i64, bytes: i64, value: IrValue<'c>, pending: bool) {
        let cell = Cell {
            bytes,
            value,
            pending,
        };
        self.cells
            .slots
            .entry(slot)
            .or_default()
            .insert(start, cell);
    }

    fn take_overlapping(&mut self, slot: usize, start: i64, bytes: i64) -> Vec<(i64, Cell<'c>)> {
        let cells = self.cells.slots.entry(slot).or_default();
        let found = overlapping(cells, start, bytes);
        found
            .into_iter()
            .filter_map(|at| cells.remove_entry(&at))
            .collect()
    }

    /// What some bytes of a slot are known to hold, as a type of their size.
    fn held(&mut self, slot: usize, start: i64, ty: Type<'c>, bytes: i64) -> Option<IrValue<'c>> {
        let (at, cell) = self.cells.slots.get(&slot)?.range(..=start).next_back()?;
        let (at, size, value) = (*at, cell.bytes, cell.value);
        let found = value.r#type();
        if at == start && size == bytes {
            return Some(match found == ty {
                true => value,
                false => self.emitter.ir.value("llvm.bitcast", &[value], &[], ty),
            });
        }
        let whole = at.checked_add(size)? >= start.checked_add(bytes)?;
        let lane = (start - at) / bytes;
        if !whole
            || (start - at) % bytes != 0
            || *type_text(found) != *format!("vector<{}x{}>", size / bytes, type_text(ty))
        {
            return None;
        }
        let position = self.emitter.constant(lane, false);
        let ir = &self.emitter.ir;
        Some(ir.value("llvm.extractelement", &[value, position], &[], ty))
    }
}
