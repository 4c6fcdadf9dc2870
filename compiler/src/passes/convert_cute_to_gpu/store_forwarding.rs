//! Store-to-load forwarding for fragments.
//!
//! A fragment is a stack slot. A load from it is replaced by the value that was stored there, and only the
//! last store of a block is emitted. LLVM's SROA would find the same, but in time quadratic in the number of
//! slots of a block: it looks for the first access to each slot from the block's beginning.
//!
//! Within a block the pass tracks the [`Available`] values of each slot. A region that writes a slot is a
//! barrier: the slot's pending stores are emitted before it, and nothing is known of the slot inside and after.
//! What a region only reads, or does not touch, stays available in it and after it.
//!
//! Parts of a vector, and vectors that several stores make up, are forwarded only where a block has very many slots
//! of its own. Elsewhere SROA promotes them, in good time, and in an order of registers that is known to be fast.
use super::super::emit::Emitter;
use super::super::ir_utils::vector_elements;
use super::Lowering;
use super::lanes::is_register;
use super::promote_fragments::Slot;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::LlvmOp;
use cutec_dialects::value::View;
use cutec_layout::Int;
use melior::ir::{Type, ValueLike};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// The value that some bytes of a stack slot hold.
#[derive(Clone)]
struct Available<'c> {
    bytes: i64,
    value: IrValue<'c>,
    memory: Memory,
}

/// Whether memory holds an available value already.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// It does.
    Clean,
    /// The store is pending in this block.
    Dirty,
    /// The store may be pending in a block around this region, in which the slot is only read.
    DirtyOutside,
}

/// The available values of each slot, by their first byte; no two overlap.
#[derive(Clone, Default)]
pub(super) struct AvailableValues<'c> {
    slots: BTreeMap<usize, BTreeMap<i64, Available<'c>>>,
}

/// What is available inside an operation with regions, and after it.
pub(super) struct Across<'c> {
    pub(super) inside: AvailableValues<'c>,
    pub(super) after: AvailableValues<'c>,
}

/// The first bytes of the values that overlap a range.
fn overlapping(values: &BTreeMap<i64, Available>, start: i64, bytes: i64) -> Vec<i64> {
    let before = values
        .range(..start)
        .next_back()
        .filter(|(at, value)| *at + value.bytes > start);
    let inside = values.range(start..start.saturating_add(bytes));
    before
        .into_iter()
        .chain(inside)
        .map(|(at, _)| *at)
        .collect()
}

impl<'c> Lowering<'c> {
    /// Before an operation with regions: flushes the slots that the regions write, but for the promoted ones,
    /// whose values it carries.
    pub(super) fn enter_regions(&mut self, op: IrOp, promoted: &[Slot]) -> Across<'c> {
        for slot in promoted {
            self.invalidate(slot.base);
        }
        let bases = |fragments: &FxHashSet<usize>| -> BTreeSet<usize> {
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
            self.flush_slot(base);
        }
        let after = std::mem::take(&mut self.available);
        let kept = read
            .iter()
            .filter_map(|base| Some((*base, after.slots.get(base)?.clone())));
        let mut inside = AvailableValues {
            slots: kept.collect(),
        };
        for value in inside.slots.values_mut().flat_map(BTreeMap::values_mut) {
            if value.memory == Memory::Dirty {
                value.memory = Memory::DirtyOutside;
            }
        }
        Across { inside, after }
    }

    /// Emits the pending stores of this block; nothing is available then.
    pub(super) fn flush(&mut self) {
        for (slot, values) in std::mem::take(&mut self.available.slots) {
            for (start, value) in values {
                if value.memory == Memory::Dirty {
                    self.write_back(slot, start, &value);
                }
            }
        }
    }

    /// Drops the available values of a slot and its pending stores.
    pub(super) fn invalidate(&mut self, slot: usize) {
        self.available.slots.remove(&slot);
    }

    /// Emits the pending stores of a slot and drops its available values.
    pub(super) fn flush_slot(&mut self, slot: usize) {
        for (start, value) in self.available.slots.remove(&slot).unwrap_or_default() {
            self.write_back(slot, start, &value);
        }
    }

    /// Emits the store of a value that memory does not hold.
    fn write_back(&mut self, slot: usize, start: i64, value: &Available<'c>) {
        if value.memory != Memory::Clean {
            let address = self.address_in(slot, Space::Rmem, &Int::Static(start), &Int::ZERO);
            self.store_as(address, value.value, value.bytes);
        }
    }

    /// The slot and the byte of an element, where it lies in registers at a static place.
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
        self.load_slot(slot, start, ty, bytes)
    }

    /// Loads `bytes` bytes of a slot.
    pub(super) fn load_slot(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> IrValue<'c> {
        if let Some(value) = self.forwarded(slot, start, ty, bytes) {
            return value;
        }
        if let Some((count, elem)) = vector_elements(ty).filter(|(_, elem)| is_register(*elem)) {
            let each = bytes / count;
            let lane = |lane: i64| self.load_slot(slot, start + lane * each, elem, each);
            let lanes: Vec<IrValue<'c>> = (0..count).map(lane).collect();
            return self.joined_lanes(&lanes, ty);
        }
        let overlapping = self.take_overlapping(slot, start, bytes);
        let disjoint = overlapping.is_empty();
        for (at, value) in overlapping {
            self.write_back(slot, at, &value);
            if self.local_slots.contains(&slot) {
                self.record(slot, at, value.bytes, value.value, Memory::Clean);
            }
        }
        let address = self.address_in(slot, Space::Rmem, &Int::Static(start), &Int::ZERO);
        let value = self.load_as(address, ty, bytes);
        if disjoint {
            self.record(slot, start, bytes, value, Memory::Clean);
        }
        value
    }

    /// Stores a value of `bytes` bytes from an element on.
    pub(super) fn store_at(&mut self, view: &View, inside: &Int, value: IrValue<'c>, bytes: i64) {
        let factor = view.ptr.space == Space::Rmem && self.factors.contains(&view.ptr.base);
        let value = match factor {
            true => self.as_factor(value),
            false => value,
        };
        let Some((slot, start)) = self.place(view, inside) else {
            let address = self.address(view, inside);
            self.store_as(address, value, bytes);
            return;
        };
        let lanes = self.lanes.of(value).map(<[_]>::to_vec);
        let Some(lanes) = lanes.filter(|lanes| is_register(lanes[0].r#type())) else {
            return self.store_slot(slot, start, value, bytes);
        };
        let each = bytes / lanes.len() as i64;
        for (index, lane) in lanes.into_iter().enumerate() {
            self.store_slot(slot, start + index as i64 * each, lane, each);
        }
    }

    /// Stores a value of `bytes` bytes to a slot.
    pub(super) fn store_slot(&mut self, slot: usize, start: i64, value: IrValue<'c>, bytes: i64) {
        let end = start.saturating_add(bytes);
        for (at, old) in self.take_overlapping(slot, start, bytes) {
            if at >= start && at + old.bytes <= end {
                continue;
            }
            let registers = vector_elements(old.value.r#type());
            let Some((count, _)) = registers.filter(|(_, elem)| is_register(*elem)) else {
                self.write_back(slot, at, &old);
                continue;
            };
            let each = old.bytes / count;
            for lane in 0..count {
                let at = at + lane * each;
                if at + each <= start || at >= end {
                    let value = self.lane(old.value, lane);
                    self.record(slot, at, each, value, old.memory);
                }
            }
        }
        self.record(slot, start, bytes, value, Memory::Dirty);
    }

    fn record(&mut self, slot: usize, start: i64, bytes: i64, value: IrValue<'c>, memory: Memory) {
        let available = Available {
            bytes,
            value,
            memory,
        };
        self.available
            .slots
            .entry(slot)
            .or_default()
            .insert(start, available);
    }

    fn take_overlapping(
        &mut self,
        slot: usize,
        start: i64,
        bytes: i64,
    ) -> Vec<(i64, Available<'c>)> {
        let values = self.available.slots.entry(slot).or_default();
        let found = overlapping(values, start, bytes);
        found
            .into_iter()
            .filter_map(|at| values.remove_entry(&at))
            .collect()
    }

    /// The available value of some bytes of a slot, as a type of their size.
    fn forwarded(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> Option<IrValue<'c>> {
        let (at, value) = self
            .available
            .slots
            .get(&slot)?
            .range(..=start)
            .next_back()?;
        let (at, size, value) = (*at, value.bytes, value.value);
        if at == start && size == bytes {
            return Some(self.bitcast(value, ty));
        }
        if at.checked_add(size)? >= start.checked_add(bytes)? {
            return self.forwarded_part(slot, value, size, start - at, ty, bytes);
        }
        let lanes = self.forwarded_lanes(slot, start, ty, bytes);
        match self.local_slots.contains(&slot) {
            true => lanes.or_else(|| self.forwarded_pieces(slot, start, ty, bytes)),
            false => lanes,
        }
    }

    fn bitcast(&self, value: IrValue<'c>, ty: Type<'c>) -> IrValue<'c> {
        match value.r#type() == ty {
            true => value,
            false => self.emitter.ir.value(LlvmOp::Bitcast, &[value], &[], ty),
        }
    }

    /// One lane, or several, of a vector of `size` bytes from its byte `offset` on.
    fn forwarded_part(
        &mut self,
        slot: usize,
        value: IrValue<'c>,
        size: i64,
        offset: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> Option<IrValue<'c>> {
        let (count, elem) = vector_elements(value.r#type())?;
        let width = size / count;
        if offset % width != 0 {
            return None;
        }
        let first = offset / width;
        if ty == elem {
            return Some(self.lane(value, first));
        }
        let (lanes, of) = vector_elements(ty)?;
        if of != elem || lanes * width != bytes || !self.local_slots.contains(&slot) {
            return None;
        }
        Some(self.shuffled(value, value, first..first + lanes, ty))
    }

    /// The vector whose lanes are available one by one.
    fn forwarded_lanes(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> Option<IrValue<'c>> {
        let (lanes, elem) = vector_elements(ty)?;
        let values = self.available.slots.get(&slot)?;
        let width = bytes / lanes;
        let lane = |lane: i64| {
            let value = values.get(&(start + lane * width))?;
            (value.bytes == width && value.value.r#type() == elem).then_some(value.value)
        };
        let values: Vec<IrValue<'c>> = (0..lanes).map(lane).collect::<Option<_>>()?;
        Some(self.joined_lanes(&values, ty))
    }

    /// The vector that available values of one size make up, each of several lanes.
    fn forwarded_pieces(
        &mut self,
        slot: usize,
        start: i64,
        ty: Type<'c>,
        bytes: i64,
    ) -> Option<IrValue<'c>> {
        let (lanes, elem) = vector_elements(ty)?;
        let values = self.available.slots.get(&slot)?;
        let size = values.get(&start)?.bytes;
        let width = bytes / lanes;
        if bytes % size != 0 || !(bytes / size).unsigned_abs().is_power_of_two() || size <= width {
            return None;
        }
        let piece = |index: i64| {
            let value = values.get(&(start + index * size))?;
            (value.bytes == size && size % width == 0).then_some(value.value)
        };
        let pieces: Vec<IrValue<'c>> = (0..bytes / size).map(piece).collect::<Option<_>>()?;
        let mut lanes = size / width;
        let piece_type = self.emitter.ir.vector_type(lanes, elem);
        let mut pieces: Vec<IrValue<'c>> = pieces
            .into_iter()
            .map(|piece| self.bitcast(piece, piece_type))
            .collect();
        while pieces.len() > 1 {
            lanes *= 2;
            let joined_type = self.emitter.ir.vector_type(lanes, elem);
            pieces = pieces
                .chunks_exact(2)
                .map(|pair| self.shuffled(pair[0], pair[1], 0..lanes, joined_type))
                .collect();
        }
        pieces.pop()
    }
}
