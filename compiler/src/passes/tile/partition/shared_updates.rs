//! Updates at computed places of a tensor that is small, as of histograms: the threads of a block update a copy of it in shared memory, and what has changed of that
//! updates the tensor when the block ends.
//!
//! Many updates of one element of global memory wait for each other: counts of 256 bins took 60 to 150 times as long so (`docs/performance.md`, "Atomic updates"). Which
//! size a tensor has is often known only when it runs: then both ways are there, and its size decides.
use super::super::coordinate::extent;
use super::super::emits::Emits;
use super::super::types::{tensor_of, update_of, view_of};
use super::{Partition, Spread};
use crate::passes::cmpi::{AT_MOST, NOT_EQUAL, cmpi};
use crate::passes::ir_utils::{blocks, defining_op, operations, parent};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, argument_of, operands_of, region_with_block,
};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::{AtomicKind, Attrs, SemError};
use cutec_layout::{AnyLayout, Layout, Width};

/// Bytes of a copy, at most: 14 blocks share a multiprocessor beside it.
const MOST_BYTES: i64 = 16 << 10;

/// Elements of a tensor for each of a tile, at most: what a block does to its copy at the beginning and at the end is to be worth it.
const MOST_FOR_EACH: i64 = 4;

/// A tensor and its copy.
#[derive(Clone, Copy)]
pub(super) struct Copy<'c> {
    view: IrValue<'c>,
    buffer: IrValue<'c>,
    /// Whether it has one, where that is known only at run time.
    fits: Option<IrValue<'c>>,
}

impl<'c> Partition<'c> {
    /// The copy of a tensor that a scatter updates by a kind; `None` where each update goes to global memory.
    pub(super) fn copy_of_updated(
        &mut self,
        op: IrOp<'c>,
        kind: AtomicKind,
        from: &Spread,
    ) -> Result<Option<Copy<'c>>, SemError> {
        let Some(view) = tile::Scatter::of(op).map(tile::Scatter::view) else {
            return Ok(None);
        };
        if let Some(copy) = self.copies.iter().find(|copy| copy.view == view) {
            return Ok(Some(*copy));
        }
        let elem = from.tile.elem;
        let (Some(size), Some(least)) = (self.size_of_updated(op, view), identity(kind, elem))
        else {
            return Ok(None);
        };
        let most = (MOST_BYTES / elem.bytes()).min(MOST_FOR_EACH * from.tile.size());
        let size = match size {
            Some(size) if size > most => return Ok(None),
            size => size,
        };
        let Some((before, end)) = around(op, view) else {
            return Ok(None);
        };
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::Before(before));
        let layout = AnyLayout::Plain(Layout::contiguous(size.unwrap_or(most)));
        let buffer = self.alloc(elem, Space::Smem, layout);
        let mut count = extent(&self.ir, view, 0, Width::I32)?;
        let mut fits = None;
        if size.is_none() {
            let (most, none) = (self.ir.constant(most, "i32"), self.ir.constant(0, "i32"));
            let holds = cmpi(&self.ir, AT_MOST, count, most);
            let word = self.ir.ty("i32");
            count = self
                .ir
                .value(ArithOp::Select, &[holds, count, none], &[], word);
            fits = Some(holds);
        }
        let copy = Copy { view, buffer, fits };
        let least = self.ir.constant(least, "i32");
        self.begin_updates(copy, count, (elem, least))?;
        self.ir.insertion = Insertion::Before(end);
        self.end_updates(copy, count, (elem, least), kind)?;
        self.ir.insertion = here;
        self.copies.push(copy);
        Ok(Some(copy))
    }

    /// Writes so many elements of a copy, of a type and of these bits, in front of all updates.
    fn begin_updates(
        &mut self,
        copy: Copy<'c>,
        count: IrValue<'c>,
        (elem, bits): (Elem, IrValue<'c>),
    ) -> Result<(), SemError> {
        let ty = self.ir.ty(elem.value_type());
        let first = match elem.is_float() {
            true => self.ir.value(ArithOp::Bitcast, &[bits], &[], ty),
            false => bits,
        };
        self.for_each_of(count, |this, at| {
            let operands = [first, copy.buffer, at];
            this.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
            Ok(())
        })?;
        self.barrier();
        Ok(())
    }

    /// Updates the tensor by what has other bits in its copy, behind all updates.
    fn end_updates(
        &mut self,
        copy: Copy<'c>,
        count: IrValue<'c>,
        (elem, bits): (Elem, IrValue<'c>),
        kind: AtomicKind,
    ) -> Result<(), SemError> {
        self.barrier();
        self.for_each_of(count, |this, at| {
            let (ty, word) = (this.ir.ty(elem.value_type()), this.ir.ty("i32"));
            let operands = [copy.buffer, at];
            let found = this.ir.value(CuteOp::MemrefLoad, &operands, &[], ty);
            let of = match elem.is_float() {
                true => this.ir.value(ArithOp::Bitcast, &[found], &[], word),
                false => found,
            };
            let changed = cmpi(&this.ir, NOT_EQUAL, of, bits);
            this.update_element(None, kind, [copy.view, at, found, changed])
        })
    }

    /// Updates an element of a tensor, or of its copy, where a condition holds.
    pub(super) fn update_element(
        &mut self,
        copy: Option<Copy<'c>>,
        kind: AtomicKind,
        [view, at, number, inside]: [IrValue<'c>; 4],
    ) -> Result<(), SemError> {
        let attrs = Attrs {
            kind: Some(kind),
            ..Attrs::default()
        };
        let in_memory = |this: &mut Self, memory, holds| {
            let operands = [memory, at, number, holds];
            this.cute(CuteOp::MemrefAtomic, &operands, &attrs)
                .map(|_| ())
        };
        match copy {
            None => in_memory(self, view, inside),
            Some(Copy {
                buffer, fits: None, ..
            }) => in_memory(self, buffer, inside),
            Some(Copy {
                buffer,
                fits: Some(fits),
                ..
            }) => {
                let bit = self.ir.ty("i1");
                let yes = self.ir.constant(1, "i1");
                let fails = self.ir.value(ArithOp::Xori, &[fits, yes], &[], bit);
                for (memory, holds) in [(buffer, fits), (view, fails)] {
                    let holds = self.ir.value(ArithOp::Andi, &[inside, holds], &[], bit);
                    in_memory(self, memory, holds)?;
                }
                Ok(())
            }
        }
    }

    /// How many elements a tensor of one axis has that scatters of one kind access and nothing else, in a kernel of which no block waits for others; `Some(None)` where that
    /// is known at run time.
    fn size_of_updated(&self, op: IrOp<'c>, view: IrValue<'c>) -> Option<Option<i64>> {
        let (layout, tensor) = (view_of(view)?.layout, tensor_of(view)?);
        let layout = layout.inner();
        let how = |op| tile::Scatter::of(op).map(|scatter| (scatter.view(), update_of(op)));
        let alone = self.operations.iter().all(|other| {
            let waits = matches!(
                TileOp::of(*other),
                Some(TileOp::Dot | TileOp::Arrive | TileOp::GridBarrier)
            );
            let mut operands = operands_of(*other);
            let accesses = !has_no_effect(*other)
                && operands.any(|operand| tensor_of(operand) == Some(tensor));
            !waits && (!accesses || how(*other) == how(op))
        });
        let plain = layout.rank() == 1 && layout.shape().leaves().len() == 1;
        let room = self.exchanged + MOST_BYTES <= i64::from(self.target.max_smem);
        (alone && plain && room && self.blocks == 1 && !self.staged && !self.roles)
            .then(|| layout.size().as_static())
    }

    /// For each number from 0 up to a count, one of the threads of the block.
    fn for_each_of(
        &mut self,
        count: IrValue<'c>,
        act: impl FnOnce(&mut Self, IrValue<'c>) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let word = self.ir.ty("i32");
        let bounds = [self.thread(), count, self.ir.constant(self.threads, "i32")];
        let (region, block) = region_with_block(&[(word, self.ir.location)]);
        let outside = std::mem::replace(&mut self.ir.insertion, Insertion::End(block));
        let coord = self.coordinate_type(1);
        let number = argument_of(block, 0);
        let at = self.ir.value(CuteOp::MakeCoord, &[number], &[], coord);
        let done = act(self, at);
        self.ir.op(ScfOp::Yield, &[], &[], &[]);
        self.ir.insertion = outside;
        self.ir
            .op_with_regions(ScfOp::For, &bounds, &[], &[], vec![region]);
        done
    }
}

/// The operation of the kernel's own block in which one stands, and the last of that block; `None` where a view is computed further inside.
fn around<'c>(op: IrOp<'c>, view: IrValue<'c>) -> Option<(IrOp<'c>, IrOp<'c>)> {
    let is_kernel = |op: &IrOp<'c>| parent(*op).is_some_and(|op| GpuOp::Func.is(op));
    let mut around = std::iter::successors(Some(op), |op| parent(*op));
    let before = around.find(is_kernel)?;
    let end = blocks(parent(before)?, 0)
        .pop()
        .and_then(|block| operations(block).pop())?;
    defining_op(view)
        .is_none_or(|made| is_kernel(&made))
        .then_some((before, end))
}

/// The bits of what changes nothing by an update of elements of 32 bits, for which shared memory has instructions, or a loop of its own for sums.
fn identity(kind: AtomicKind, elem: Elem) -> Option<i64> {
    let (least, most) = match elem {
        Elem::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        // As the bits of a number with a sign.
        Elem::U32 => (0, -1),
        Elem::F32 if kind == AtomicKind::Add => return Some(0),
        _ => return None,
    };
    match kind {
        AtomicKind::Add | AtomicKind::Or | AtomicKind::Xor => Some(0),
        AtomicKind::And => Some(-1),
        AtomicKind::Min => Some(most),
        AtomicKind::Max => Some(least),
        AtomicKind::Exchange
        | AtomicKind::Cas
        | AtomicKind::Load
        | AtomicKind::Acquire
        | AtomicKind::Store
        | AtomicKind::Release => None,
    }
}
