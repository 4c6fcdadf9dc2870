//! A block that comes to a counter in memory: one thread counts it, between fences, and tells the others, or waits until all
//! blocks have come.
use super::super::emits::Emits;
use super::super::types::Failed;
use super::Partition;
use super::exchange::Among;
use crate::passes::cmpi::{AT_LEAST, EQUAL};
use crate::passes::ir_utils::{present, replace_all_uses};
use crate::passes::user_error::of_semantics;
use cutec_dialects::builder::{Insertion, IrOp, IrValue, region_with_block, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, LlvmOp, NvvmOp, ScfOp, tile};
use cutec_dialects::semantics::{AtomicKind, Attrs, SemError};
use cutec_dialects::value::Val;
use cutec_layout::{AnyLayout, Int, Layout};

/// What the block has read and written comes before what others do that see its count, and what they did before what it
/// does next (PTX ISA, "Memory Consistency Model": fences are cumulative over barriers).
const FENCE: &str = "fence.acq_rel.gpu;";

impl<'c> Partition<'c> {
    pub(super) fn arrived(&mut self, op: IrOp<'c>) -> Result<(), Failed<'c>> {
        let last = self.arrive(op);
        let last = last.map_err(|error| (op, of_semantics(&error)))?;
        replace_all_uses(result_of(op, 0), last);
        Ok(())
    }

    fn arrive(&mut self, op: IrOp<'c>) -> Result<IrValue<'c>, SemError> {
        self.within_a_block("a block that comes to a counter")?;
        let arrive = present(tile::Arrive::of(op))?;
        let (view, at, count) = (arrive.view(), arrive.at(), arrive.count());
        let told = self.alloc(
            Elem::I32,
            Space::Smem,
            AnyLayout::Plain(Layout::scalar(1, 0)),
        );
        let first = self.constant(Val::coord([Some(Int::Static(0))]))?;
        let thread = self.thread();
        let (bit, i32_type) = (self.ir.ty("i1"), self.ir.ty("i32"));
        let equal = [("predicate", self.ir.i64(0))];
        self.meet(Among::Block);
        let zero = self.ir.constant(0, "i32");
        let one_thread = self.ir.value(ArithOp::Cmpi, &[thread, zero], &equal, bit);
        self.only_if(one_thread, |this| {
            this.fence();
            let one = this.ir.constant(1, "i32");
            let attrs = |kind| Attrs {
                kind: Some(kind),
                ..Attrs::default()
            };
            let came = this.cute(
                CuteOp::MemrefAtomic,
                &[view, at, one],
                &attrs(AtomicKind::Add),
            )?;
            let most = this.ir.value(ArithOp::Subi, &[count, one], &[], i32_type);
            let is_last = this.ir.value(ArithOp::Cmpi, &[came, most], &equal, bit);
            let number = this.ir.value(ArithOp::Extui, &[is_last], &[], i32_type);
            this.ir
                .op(CuteOp::MemrefStore, &[number, told, first], &[], &[]);
            this.only_if(is_last, |this| {
                let zero = this.ir.constant(0, "i32");
                let exchange = attrs(AtomicKind::Exchange);
                this.cute(CuteOp::MemrefAtomic, &[view, at, zero], &exchange)
                    .map(drop)
            })?;
            this.fence();
            Ok(())
        })?;
        self.meet(Among::Block);
        let number = self
            .ir
            .value(CuteOp::MemrefLoad, &[told, first], &[], i32_type);
        // Before the memory is used for anything else.
        self.meet(Among::Block);
        let zero = self.ir.constant(0, "i32");
        let differs = [("predicate", self.ir.i64(1))];
        Ok(self.ir.value(ArithOp::Cmpi, &[number, zero], &differs, bit))
    }

    /// Blocks count themselves such that the upper bit of the counter changes with the last one, whatever it was: nobody
    /// sets it back, as the next barrier does (CUDA, cooperative_groups/details/sync.h).
    pub(super) fn wait_for_grid(&mut self, op: IrOp<'c>) -> Result<(), Failed<'c>> {
        let waited = self.all_blocks(op);
        waited.map_err(|error| (op, of_semantics(&error)))
    }

    fn all_blocks(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        self.within_a_block("a block that waits for all others")?;
        let barrier = present(tile::GridBarrier::of(op))?;
        let (view, at) = (barrier.view(), barrier.at());
        let thread = self.thread();
        let word = self.ir.ty("i32");
        self.meet(Among::Block);
        let zero = self.ir.constant(0, "i32");
        let one_thread = self.compare(EQUAL, thread, zero);
        self.only_if(one_thread, |this| {
            this.fence();
            let block = this.ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], word);
            let blocks = this.ir.value(NvvmOp::ReadPtxSregNctaidX, &[], &[], word);
            let (zero, one) = (this.ir.constant(0, "i32"), this.ir.constant(1, "i32"));
            let upper = this.ir.constant(i64::from(i32::MIN), "i32");
            // One block adds what all others leave open.
            let others = this.ir.value(ArithOp::Subi, &[blocks, one], &[], word);
            let open = this.ir.value(ArithOp::Subi, &[upper, others], &[], word);
            let is_first = this.compare(EQUAL, block, zero);
            let number = this
                .ir
                .value(ArithOp::Select, &[is_first, open, one], &[], word);
            let attrs = |kind| Attrs {
                kind: Some(kind),
                ..Attrs::default()
            };
            let add = attrs(AtomicKind::Add);
            let before = this.cute(CuteOp::MemrefAtomic, &[view, at, number], &add)?;
            let (looking, look) = region_with_block(&[]);
            let (rest, rest_block) = region_with_block(&[]);
            let outside = std::mem::replace(&mut this.ir.insertion, Insertion::End(look));
            let zero = this.ir.constant(0, "i32");
            let or = attrs(AtomicKind::Or);
            let now = this.cute(CuteOp::MemrefAtomic, &[view, at, zero], &or)?;
            let changed = this.ir.value(ArithOp::Xori, &[before, now], &[], word);
            let waits = this.compare(AT_LEAST, changed, zero);
            this.ir.op(ScfOp::Condition, &[waits], &[], &[]);
            this.ir.insertion = Insertion::End(rest_block);
            this.ir.op(ScfOp::Yield, &[], &[], &[]);
            this.ir.insertion = outside;
            this.ir
                .op_with_regions(ScfOp::While, &[], &[], &[], vec![looking, rest]);
            this.fence();
            Ok(())
        })?;
        self.meet(Among::Block);
        Ok(())
    }

    fn fence(&self) {
        let attrs = [
            ("asm_string", self.ir.string(FENCE)),
            ("constraints", self.ir.string("~{memory}")),
            ("asm_dialect", self.ir.i64(0)),
            ("has_side_effects", self.ir.unit()),
        ];
        self.ir.op(LlvmOp::InlineAsm, &[], &attrs, &[]);
    }
}
