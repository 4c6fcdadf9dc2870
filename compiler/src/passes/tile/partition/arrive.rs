//! A block that comes to a counter in memory: one thread counts it, between fences, and tells the others.
use super::super::emits::Emits;
use super::super::types::Failed;
use super::Partition;
use super::exchange::Among;
use crate::passes::ir_utils::{present, replace_all_uses};
use crate::passes::user_error::of_semantics;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, LlvmOp, tile};
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
