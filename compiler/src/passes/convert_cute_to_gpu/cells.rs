//! What registers hold: within a block, a load from a stack slot is what was stored there.
//!
//! A gemm reads its sums and writes them back; where several stand in one block, only the first load and
//! the last store of each sum are emitted. LLVM would find that out too, at many times the cost. Nothing is
//! known across the borders of regions, where other ways through the program meet.
use super::super::emit::Emitter;
use super::Lowering;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Space;
use cutec_dialects::value::View;
use cutec_layout::Int;
use melior::ir::{Type, ValueLike};
use std::collections::{BTreeMap, HashMap};

/// What lies in some bytes of a stack slot.
struct Cell<'c> {
    bytes: i64,
    value: IrValue<'c>,
    /// The store that put it there, while nothing has read its memory.
    store: Option<IrOp<'c>>,
}

/// The cells of each slot, by their first byte.
#[derive(Default)]
pub(super) struct Cells<'c> {
    slots: HashMap<usize, BTreeMap<i64, Cell<'c>>>,
}

impl<'c> Cells<'c> {
    /// Forgets everything: what follows may be reached in another way.
    pub(super) fn forget(&mut self) {
        self.slots.clear();
    }

    /// Forgets what one slot holds.
    pub(super) fn forget_slot(&mut self, base: usize) {
        self.slots.remove(&base);
    }
}

/// The first bytes of the cells that overlap a range; no cell overlaps another.
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
        let place = self.place(view, inside);
        if let Some((slot, start)) = place
            && let Some(known) = self.held(slot, start, ty, bytes)
        {
            return known;
        }
        let address = self.address_of(view, inside);
        let value = self.load_as(address, ty, bytes);
        if let Some((slot, start)) = place {
            let cells = self.cells.slots.entry(slot).or_default();
            let read = overlapping(cells, start, bytes);
            for at in &read {
                if let Some(cell) = cells.get_mut(at) {
                    cell.store = None;
                }
            }
            if read.is_empty() {
                let store = None;
                cells.insert(
                    start,
                    Cell {
                        bytes,
                        value,
                        store,
                    },
                );
            }
        }
        value
    }

    /// Stores a value of `bytes` bytes from an element on.
    pub(super) fn store_at(&mut self, view: &View, inside: &Int, value: IrValue<'c>, bytes: i64) {
        let place = self.place(view, inside);
        let address = self.address_of(view, inside);
        let store = self.store_as(address, value, bytes);
        let Some((slot, start)) = place else {
            return;
        };
        let cells = self.cells.slots.entry(slot).or_default();
        for at in overlapping(cells, start, bytes) {
            let Some(cell) = cells.remove(&at) else {
                continue;
            };
            if at == start
                && cell.bytes == bytes
                && let Some(unread) = cell.store
            {
                // SAFETY: a store has no results, and the cell was the last to know of it.
                unsafe {
                    mlir_sys::mlirOperationRemoveFromParent(unread.to_raw());
                    mlir_sys::mlirOperationDestroy(unread.to_raw());
                }
            }
        }
        let store = Some(store);
        cells.insert(
            start,
            Cell {
                bytes,
                value,
                store,
            },
        );
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
            || found.to_string() != format!("vector<{}x{ty}>", size / bytes)
        {
            return None;
        }
        let position = self.emitter.constant(lane, false);
        let ir = &self.emitter.ir;
        Some(ir.value("llvm.extractelement", &[value, position], &[], ty))
    }
}
