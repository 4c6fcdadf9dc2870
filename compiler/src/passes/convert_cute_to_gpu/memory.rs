//! Storage, loads and stores.
use super::super::emit::Emitter;
use super::predicated::Guard;
use super::promote_fragments::Slot;
use super::unroll_vectors::PART;
use super::vectors::{Vectors, common_vectors};
use super::{Lowering, SMEM_SYMBOL};
use cutec_dialects::builder::{Insertion, IrValue, OpBuilder, value_key};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, LlvmOp};
use cutec_dialects::semantics::{SemError, contiguous_width, element_offset, offsets_of};
use cutec_dialects::value::{Val, View, without_underscore};
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Int, IntTuple, Tree};
use melior::ir::{Location, Type};
use std::ops::Range;

impl<'c> Lowering<'c> {
    /// A stack slot for a view in registers.
    pub(super) fn stack_slot(&mut self, view: &View) -> Slot {
        let ir = OpBuilder::new(self.emitter.ir.context(), Insertion::Before(self.entry));
        let elem = view.ptr.elem;
        let elems = storage(&view.layout).max(1);
        let (count, storage) = match elem.is_packed() {
            true => (elem.bytes_of(elems), Elem::I8),
            false => (elems, elem),
        };
        let one = ir.constant(1, "i32");
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let array = ir.type_attr(ir.array_type(count, ir.ty(storage_type(storage))));
        let attrs = [("elem_type", array), ("alignment", ir.i64(16))];
        let slot = ir.value(LlvmOp::Alloca, &[one], &attrs, ir.pointer_type(0));
        let base = self.add_base(slot, 0);
        Slot { base, elem, elems }
    }

    /// The buffer of shared memory for a view, at an offset in bytes, which is allocated at a location.
    pub(super) fn shared(&mut self, view: &View, offset: i64, at: Location<'c>) -> usize {
        let entry = self.entry;
        let context = self.emitter.ir.context();
        let symbol = *self.smem.get_or_insert_with(|| {
            let ir = OpBuilder::new(context, Insertion::Before(entry));
            let attrs = [("global_name", ir.symbol(SMEM_SYMBOL))];
            ir.value(LlvmOp::MlirAddressof, &[], &attrs, ir.pointer_type(3))
        });
        let base = self.add_base(symbol, offset);
        let bytes = view.ptr.elem.bytes_of(storage(&view.layout));
        let buffer = self.smem_map.add_buffer(offset, bytes, at);
        self.bases[base - 1].buffer = Some(buffer);
        base
    }

    /// Address of the element at a layout offset of a view, through which anything may happen to it.
    pub(super) fn address(&mut self, view: &View, inside: &Int) -> IrValue<'c> {
        self.flush_slot(view.ptr.base);
        let (of_view, of_element) = Emitter::byte_offsets(view, inside);
        self.address_in(view.ptr.base, view.ptr.space, &of_view, &of_element)
    }

    /// The address of a byte of a base.
    pub(super) fn address_in(
        &mut self,
        base: usize,
        space: Space,
        of_view: &Int,
        of_element: &Int,
    ) -> IrValue<'c> {
        let base = &self.bases[base - 1];
        if let Some(buffer) = base.buffer {
            self.smem_map.add_access(self.emitter.ir.location, buffer);
        }
        let of_view = of_view.add(&Int::Static(base.bytes));
        self.emitter
            .address(base.pointer, space, &of_view, of_element)
    }

    /// Loads `count` elements that lie contiguously.
    pub(super) fn load_contiguous(&mut self, view: &View, inside: &Int, count: i64) -> IrValue<'c> {
        if self.asks_caches(view) {
            return self.load_special(view, inside, count, None);
        }
        let ty = self.contiguous_type(view.ptr.elem, count);
        self.load_at(view, inside, ty, count * view.ptr.elem.bytes())
    }

    /// Stores a value of `count` elements that lie contiguously.
    pub(super) fn store_contiguous(
        &mut self,
        view: &View,
        inside: &Int,
        count: i64,
        value: IrValue<'c>,
    ) {
        if self.asks_caches(view) {
            return self.store_special(view, inside, count, value, None);
        }
        self.store_at(view, inside, value, count * view.ptr.elem.bytes());
    }

    /// A load of a type at an address that is aligned to the whole of it.
    pub(super) fn load_as(
        &mut self,
        address: IrValue<'c>,
        ty: Type<'c>,
        align: i64,
    ) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let attrs = [("alignment", ir.i64(align)), ("ordering", ir.i64(0))];
        ir.value(LlvmOp::Load, &[address], &attrs, ty)
    }

    /// A store of a value at an address that is aligned to the whole of it.
    pub(super) fn store_as(&mut self, address: IrValue<'c>, value: IrValue<'c>, align: i64) {
        let ir = &self.emitter.ir;
        let attrs = [("alignment", ir.i64(align)), ("ordering", ir.i64(0))];
        ir.op(LlvmOp::Store, &[value, address], &attrs, &[]);
    }

    pub(super) fn contiguous_type(&self, elem: Elem, count: i64) -> Type<'c> {
        let elem = self.emitter.ir.ty(storage_type(elem));
        match count {
            1 => elem,
            _ => self.emitter.ir.vector_type(count, elem),
        }
    }

    pub(super) fn load(&mut self, operands: &[Val]) -> Result<IrValue<'c>, SemError> {
        let [Val::View(view), coord] = operands else {
            return Err(SemError::Illegal(
                "load takes a view and a coordinate".into(),
            ));
        };
        let offset = element_offset(view, &coordinate(coord)?)?;
        let loaded = self.load_contiguous(view, &offset, 1);
        Ok(self.as_values(view.ptr.elem, loaded, None))
    }

    /// The element at a coordinate where a condition holds, else another number, or 0.
    pub(super) fn load_guarded(
        &mut self,
        view: &View,
        coord: &Val,
        pred: IrValue<'c>,
        other: Option<IrValue<'c>>,
    ) -> Result<IrValue<'c>, SemError> {
        let offset = element_offset(view, &coordinate(coord)?)?;
        let fill = other.map(|other| self.stored(view.ptr.elem, other, None));
        let loaded = self.load_special(view, &offset, 1, Some(Guard { pred, fill }));
        Ok(self.as_values(view.ptr.elem, loaded, None))
    }

    /// What is stored for a value, or a vector of `count`: a byte for a predicate.
    pub(super) fn stored(
        &self,
        elem: Elem,
        value: IrValue<'c>,
        count: Option<usize>,
    ) -> IrValue<'c> {
        match elem {
            Elem::I1 => self.resized(ArithOp::Extui, value, "i8", count),
            _ => value,
        }
    }

    /// The value, or the vector of `count`, that stands for what is stored.
    fn as_values(&self, elem: Elem, stored: IrValue<'c>, count: Option<usize>) -> IrValue<'c> {
        match elem {
            Elem::I1 => self.resized(ArithOp::Trunci, stored, "i1", count),
            _ => stored,
        }
    }

    fn resized(
        &self,
        op: ArithOp,
        of: IrValue<'c>,
        to: &'static str,
        count: Option<usize>,
    ) -> IrValue<'c> {
        let ir = &self.emitter.ir;
        let ty = match count {
            Some(count) => ir.vector_type(count as i64, ir.ty(to)),
            None => ir.ty(to),
        };
        ir.value(op, &[of], &[], ty)
    }

    /// A vector of the elements at some offsets.
    fn load_values(&mut self, view: &View, offsets: &[Int]) -> IrValue<'c> {
        let (elem, count) = (view.ptr.elem, offsets.len());
        let ir = &self.emitter.ir;
        let ty = ir.vector_type(count as i64, ir.ty(storage_type(elem)));
        let loaded = self.load_elements(view, offsets, ty);
        self.as_values(elem, loaded, Some(count))
    }

    pub(super) fn store(&mut self, operands: &[Val], value: IrValue<'c>) -> Result<(), SemError> {
        let [_, Val::View(view), coord] = operands else {
            return Err(SemError::Illegal(
                "store takes a value, a view and a coordinate".into(),
            ));
        };
        let offset = element_offset(view, &coordinate(coord)?)?;
        let value = self.stored(view.ptr.elem, value, None);
        self.store_contiguous(view, &offset, 1, value);
        Ok(())
    }

    /// All elements of a view as a vector.
    pub(super) fn load_vec(&mut self, operands: &[Val]) -> Result<IrValue<'c>, SemError> {
        let [Val::View(view)] = operands else {
            return Err(SemError::Illegal("load_vec takes a view".into()));
        };
        let offsets = offsets_of(view.layout.inner())?;
        Ok(self.load_values(view, &offsets))
    }

    /// All elements of a view as vectors of [`PART`] elements.
    pub(super) fn load_parts(
        &mut self,
        operands: &[Val],
        count: i64,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let [Val::View(view)] = operands else {
            return Err(SemError::Illegal("load_vec takes a view".into()));
        };
        let offsets = offsets_of(view.layout.inner())?;
        debug_assert_eq!(offsets.len() as i64, count);
        let parts = offsets.chunks(PART as usize);
        Ok(parts.map(|part| self.load_values(view, part)).collect())
    }

    /// A vector of the elements at some offsets, read as widely as they lie together.
    pub(super) fn load_elements(
        &mut self,
        view: &View,
        offsets: &[Int],
        ty: Type<'c>,
    ) -> IrValue<'c> {
        let width = contiguous_width(view, offsets);
        if width == offsets.len() as i64 && width > 1 {
            return self.load_contiguous(view, &offsets[0], width);
        }
        let elem = view.ptr.elem;
        let starts = offsets.iter().step_by(width as usize);
        let mut pieces: Vec<_> = starts
            .map(|start| self.load_contiguous(view, start, width))
            .collect();
        // Not of 32 bits and more: LLVM would carry the halves through loops in another order, and a product of
        // f32 tiles be slower by one part in a hundred.
        let mut width = width;
        while elem.bytes() < 4 && width > 1 && pieces.len() > 1 && pieces.len() % 2 == 0 {
            let pairs = pieces.chunks_exact(2);
            pieces = pairs
                .map(|pair| self.lanes_of(pair[0], pair[1], elem, 0..2 * width))
                .collect();
            width *= 2;
        }
        match pieces[..] {
            [whole] if width > 1 => whole,
            _ => self.joined(&pieces, width, ty),
        }
    }

    /// Neighbouring lanes of the concatenation of two vectors.
    fn lanes_of(
        &mut self,
        first: IrValue<'c>,
        second: IrValue<'c>,
        elem: Elem,
        lanes: Range<i64>,
    ) -> IrValue<'c> {
        let ty = self.contiguous_type(elem, lanes.end - lanes.start);
        self.shuffled(first, second, lanes, ty)
    }

    /// See [`Self::lanes_of`]; `ty` is the type of the result.
    pub(super) fn shuffled(
        &self,
        first: IrValue<'c>,
        second: IrValue<'c>,
        lanes: Range<i64>,
        ty: Type<'c>,
    ) -> IrValue<'c> {
        let mask: Vec<i32> = lanes.map(|lane| lane as i32).collect();
        let ir = &self.emitter.ir;
        let attrs = [("mask", ir.i32_array(&mask))];
        ir.value(LlvmOp::Shufflevector, &[first, second], &attrs, ty)
    }

    /// Writes a vector to all elements of a view.
    pub(super) fn store_vec(
        &mut self,
        operands: &[Val],
        value: IrValue<'c>,
    ) -> Result<(), SemError> {
        let [_, Val::View(view)] = operands else {
            return Err(SemError::Illegal(
                "store_vec takes a value and a view".into(),
            ));
        };
        let offsets = offsets_of(view.layout.inner())?;
        match self.parts.get(&value_key(value)).cloned() {
            Some(parts) => {
                for (part, offsets) in parts.into_iter().zip(offsets.chunks(PART as usize)) {
                    self.store_values(view, offsets, part);
                }
            }
            None => self.store_values(view, &offsets, value),
        }
        Ok(())
    }

    fn store_values(&mut self, view: &View, offsets: &[Int], value: IrValue<'c>) {
        let value = self.stored(view.ptr.elem, value, Some(offsets.len()));
        self.store_elements(view, offsets, value);
    }

    pub(super) fn store_elements(&mut self, view: &View, offsets: &[Int], value: IrValue<'c>) {
        let width = contiguous_width(view, offsets);
        if width == offsets.len() as i64 && width > 1 {
            self.store_contiguous(view, &offsets[0], width, value);
            return;
        }
        for (index, start) in offsets.iter().enumerate().step_by(width as usize) {
            let piece = self.piece(view, value, (index, width), offsets.len());
            self.store_contiguous(view, start, width, piece);
        }
    }

    /// `width` elements of a vector of `count` that is to be stored, from a lane on; one element by itself.
    pub(super) fn piece(
        &mut self,
        view: &View,
        value: IrValue<'c>,
        (lane, width): (usize, i64),
        count: usize,
    ) -> IrValue<'c> {
        let (first, elem) = (lane as i64, view.ptr.elem);
        match width {
            _ if width > 1 && width == count as i64 => value,
            1 => self.lane(value, first),
            _ => self.part_of(value, (lane, width), count, elem),
        }
    }

    /// See [`Self::piece`].
    fn part_of(
        &mut self,
        value: IrValue<'c>,
        (lane, width): (usize, i64),
        count: usize,
        elem: Elem,
    ) -> IrValue<'c> {
        let index = lane / width as usize;
        if let Some(pieces) = self.lanes.pieces(value, count as i64, width) {
            return pieces[index];
        }
        let lanes = self.lanes.of(value);
        match lanes.map(|lanes| lanes[lane..lane + width as usize].to_vec()) {
            Some(lanes) => self.joined_lanes(&lanes, self.contiguous_type(elem, width)),
            None => {
                let first = lane as i64;
                self.lanes_of(value, value, elem, first..first + width)
            }
        }
    }

    /// Copies by the widest vectors that both sides allow.
    pub(super) fn autovec_copy(&mut self, operands: &[Val]) -> Result<(), SemError> {
        let [Val::View(src), Val::View(dst)] = operands else {
            return Err(SemError::Illegal("autovec_copy takes two views".into()));
        };
        let Vectors { from, to, width } = common_vectors(src, dst)?;
        let ty = self.contiguous_type(src.ptr.elem, width);
        let groups = |offsets| <[Int]>::chunks(offsets, width as usize);
        for (from, to) in groups(&from).zip(groups(&to)) {
            let value = match from {
                [one] => self.load_contiguous(src, one, 1),
                _ => self.load_elements(src, from, ty),
            };
            let value = self.in_other_registers(src, dst, width, value);
            match to {
                [one] => self.store_contiguous(dst, one, 1, value),
                _ => self.store_elements(dst, to, value),
            }
        }
        Ok(())
    }
}

/// The type in memory: a predicate takes a byte.
fn storage_type(elem: Elem) -> &'static str {
    match elem {
        Elem::I1 => "i8",
        other => other.value_type(),
    }
}

/// Elements of memory behind a layout; 0 where that is not known.
fn storage(layout: &AnyLayout) -> i64 {
    layout::storage(layout)
        .ok()
        .and_then(|size| size.as_static())
        .unwrap_or(0)
}

pub(super) fn coordinate(val: &Val) -> Result<IntTuple, SemError> {
    match val {
        Val::Scalar(int) => Ok(Tree::Leaf(int.clone())),
        Val::Tuple(_, tuple) => without_underscore(tuple).ok_or_else(|| {
            SemError::Illegal("a single element has no `_` in its coordinate".into())
        }),
        other => Err(SemError::Illegal(format!(
            "{} is no coordinate",
            other.describe()
        ))),
    }
}
