//! What registers hold: a load from a stack slot is what was stored there.
//!
//! A gemm reads its sums and writes them back; where several stand in one block, only the first load and
//! the last store of each sum are emitted. LLVM would find that out too, at many times the cost. What a region
//! writes is not known across its borders, where other ways through the program meet: what was stored until
//! then is written there. What it only reads, or leaves alone, stays known, in it and behind it.
use super::super::emit::Emitter;
use super::Lowering;
use super::carried::Slot;
use super::split::vector;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Space;
use cutec_dialects::memo::type_text;
use cutec_dialects::value::View;
use cutec_layout::Int;
use melior::ir::{Type, ValueLike};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What lies in some bytes of a stack slot.
#[derive(Clone)]
struct Cell<'c> {
    bytes: i64,
    value: IrValue<'c>,
    memory: Memory,
}

/// What the memory of a cell holds.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Its value.
    Current,
    /// Something older: it is to be written in this block.
    Behind,
    /// Something older, perhaps: it is to be written behind the region at hand, in which no other value takes
    /// its place.
    BehindOutside,
}

/// The cells of each slot, by their first byte; no two overlap.
#[derive(Clone, Default)]
pub(super) struct Cells<'c> {
    slots: BTreeMap<usize, BTreeMap<i64, Cell<'c>>>,
}

/// What is known inside an operation with regions, and behind it.
pub(super) struct Known<'c> {
    pub(super) inside: Cells<'c>,
    pub(super) behind: Cells<'c>,
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
    /// Before an operation with regions: writes what may become another value inside, but for what it carries.
    pub(super) fn enter_regions(&mut self, op: IrOp, carried: &[Slot]) -> Known<'c> {
        for slot in carried {
            self.forget(slot.base);
        }
        let bases = |fragments: &HashSet<usize>| -> BTreeSet<usize> {
            let slots = fragments
                .iter()
                .filter_map(|fragment| self.slots.get(fragment));
            slots.map(|slot| slot.base).collect()
        };
        let (read, written) = match self.accesses.inside(op) {
            Some(inside) => (bases(&inside.read), bases(&inside.written)),
            None => Default::default(),
        };
        for base in written {
            self.settle_slot(base);
        }
        let behind = std::mem::take(&mut self.cells);
        let kept = behind.slots.iter().filter(|(base, _)| read.contains(base));
        let mut inside = Cells {
            slots: kept.map(|(base, cells)| (*base, cells.clone())).collect(),
        };
        for cell in inside.slots.values_mut().flat_map(BTreeMap::values_mut) {
            if cell.memory == Memory::Behind {
                cell.memory = Memory::BehindOutside;
            }
        }
        Known { inside, behind }
    }

    /// Writes what is to be written in this block and forgets everything.
    pub(super) fn settle(&mut self) {
        for (slot, cells) in std::mem::take(&mut self.cells.slots) {
            for (start, cell) in cells {
                if cell.memory == Memory::Behind {
                    self.write(slot, start, &cell);
                }
            }
        }
    }

    /// Nothing is known of a slot, and nothing of it is to be written.
    pub(super) fn forget(&mut self, slot: usize) {
        self.cells.slots.remove(&slot);
    }

    /// Writes what is to be written of a slot and forgets it.
    pub(super) fn settle_slot(&mut self, slot: usize) {
        for (start, cell) in self.cells.slots.remove(&slot).unwrap_or_default() {
            self.write(slot, start, &cell);
        }
    }

    /// Writes a cell where memory is not as it is.
    fn write(&mut self, slot: usize, start: i64, cell: &Cell<'c>) {
        if cell.memory != Memory::Current {
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
        self.load_cell(slot, start, ty, bytes)
    }

    /// Loads `bytes` bytes of a slot.
    pub(super) fn load_cell(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> IrValue<'c> {
        let held = self.held(slot, start, ty, bytes);
        if let Some(known) = held.or_else(|| self.held_in_lanes(slot, start, ty, bytes)) {
            return known;
        }
        let read = self.take_overlapping(slot, start, bytes);
        for (at, cell) in &read {
            self.write(slot, *at, cell);
        }
        let address = self.address_in(slot, Space::Rmem, &Int::Static(start), &Int::ZERO);
        let value = self.load_as(address, ty, bytes);
        if read.is_empty() {
            self.keep(slot, start, bytes, value, Memory::Current);
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
        self.store_cell(slot, start, value, bytes);
    }

    /// From a byte of a slot on `bytes` bytes are `value`.
    pub(super) fn store_cell(&mut self, slot: usize, start: i64, value: IrValue<'c>, bytes: i64) {
        for (at, cell) in self.take_overlapping(slot, start, bytes) {
            if at < start || at + cell.bytes > start.saturating_add(bytes) {
                self.write(slot, at, &cell);
            }
        }
        self.keep(slot, start, bytes, value, Memory::Behind);
    }

    fn keep(&mut self, slot: usize, start: i64, bytes: i64, value: IrValue<'c>, memory: Memory) {
        let cell = Cell {
            bytes,
            value,
            memory,
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

    /// The vector whose lanes some cells of a slot hold, each a whole one.
    fn held_in_lanes(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> Option<IrValue<'c>> {
        let (lanes, elem) = vector(ty)?;
        let cells = self.cells.slots.get(&slot)?;
        let width = bytes / lanes;
        let lane = |lane: i64| {
            let cell = cells.get(&(start + lane * width))?;
            (cell.bytes == width && *type_text(cell.value.r#type()) == elem).then_some(cell.value)
        };
        let values: Vec<IrValue<'c>> = (0..lanes).map(lane).collect::<Option<_>>()?;
        Some(self.joined_lanes(&values, ty))
    }
}
