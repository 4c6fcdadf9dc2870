//! Avoids register bank conflicts between `fma` accumulators and operands.
//!
//! A vector is stored from consecutive registers. ptxas assigns such registers to accumulators that are stored
//! unchanged for the whole loop. An accumulator is then in the bank of the operand that was loaded with the same
//! alignment, and half of all `fma` read three registers of one bank. So each stored register is copied by an
//! instruction that ptxas neither removes nor coalesces: the identity `prmt`.
use super::super::ir_utils::{blocks, collect_nested, operations};
use super::Lowering;
use super::fragment_accesses::Accesses;
use cutec_dialects::atoms::MmaOp;
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of, results_of, value_key};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::{CuteOp, LlvmOp, Op, ScfOp, cute};
use cutec_dialects::types::Vars;
use cutec_dialects::value::View;
use melior::ir::{ValueLike, operation::OperationLike};
use rustc_hash::FxHashSet;

/// The fragments of a kernel that hold `fma` accumulators of f32, and the vectors loaded from them.
pub(super) fn accumulators(function: IrOp, accesses: &Accesses) -> FxHashSet<usize> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let mut holding = FxHashSet::default();
    // A loop yields to its results, so iterate to the fixed point.
    loop {
        let before = holding.len();
        for op in &operations {
            holds_by(*op, accesses, &mut holding);
        }
        if holding.len() == before {
            return holding;
        }
    }
}

/// Adds what an operation makes an accumulator.
fn holds_by(op: IrOp, accesses: &Accesses, holding: &mut FxHashSet<usize>) {
    match Op::of(op) {
        Some(Op::CuteOp(CuteOp::Gemm)) if adds_by_fma(op) => {
            let sums = cute::Gemm::of(op).and_then(|gemm| accesses.fragment(gemm.d()));
            holding.extend(sums);
        }
        Some(Op::CuteOp(CuteOp::MemrefLoadVec)) => {
            let from = cute::MemrefLoad::of(op).and_then(|load| accesses.fragment(load.view()));
            if from.is_some_and(|from| holding.contains(&from)) {
                holding.insert(value_key(result_of(op, 0)));
            }
        }
        Some(Op::CuteOp(CuteOp::MemrefStoreVec)) => {
            let store = cute::MemrefStore::of(op);
            if let Some(store) = store.filter(|store| holding.contains(&value_key(store.value()))) {
                holding.extend(accesses.fragment(store.view()));
            }
        }
        Some(Op::ScfOp(ScfOp::For | ScfOp::If)) => {
            let ends = (0..op.region_count()).flat_map(|region| blocks(op, region));
            for end in ends.filter_map(|block| operations(block).pop()) {
                for (yielded, result) in operands_of(end).zip(results_of(op)) {
                    if holding.contains(&value_key(yielded)) {
                        holding.insert(value_key(result));
                    }
                }
            }
        }
        _ => {}
    }
}

fn adds_by_fma(gemm: IrOp) -> bool {
    let mma = cute::Gemm::of(gemm).map(cute::Gemm::mma);
    let mma = mma.and_then(|mma| type_value(mma.r#type(), &mut Vars::default()).ok());
    match mma.and_then(|mma| mma.mma_atom()) {
        Some(atom) => match atom.op {
            MmaOp::Fma(_) => atom.c == Elem::F32,
            MmaOp::MmaSync(_) | MmaOp::Wgmma(_) => false,
        },
        None => false,
    }
}

impl<'c> Lowering<'c> {
    /// The vector to store, copied to other registers where it comes from an accumulator fragment.
    pub(super) fn in_other_registers(
        &mut self,
        from: &View,
        to: &View,
        count: i64,
        vector: IrValue<'c>,
    ) -> IrValue<'c> {
        let leaves = to.ptr.space != Space::Rmem && count > 1;
        if !leaves || !self.sums.contains(&from.ptr.base) {
            return vector;
        }
        let ir = &self.emitter.ir;
        let registers = ir.vector_type(count, ir.ty("i32"));
        let i32_type = ir.ty("i32");
        let attrs = [
            ("asm_string", ir.string("prmt.b32 $0, $1, $1, 0x3210;")),
            ("constraints", ir.string("=r,r")),
        ];
        let held = ir.value(LlvmOp::Bitcast, &[vector], &[], registers);
        let mut free = ir.value(LlvmOp::MlirPoison, &[], &[], registers);
        for lane in 0..count {
            let at = self.emitter.constant(lane, false);
            let ir = &self.emitter.ir;
            let register = ir.value(LlvmOp::Extractelement, &[held, at], &[], i32_type);
            let register = ir.value(LlvmOp::InlineAsm, &[register], &attrs, i32_type);
            free = ir.value(LlvmOp::Insertelement, &[free, register, at], &[], registers);
        }
        let ir = &self.emitter.ir;
        ir.value(LlvmOp::Bitcast, &[free], &[], vector.r#type())
    }
}
