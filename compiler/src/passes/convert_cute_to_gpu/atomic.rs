//! Atomic updates: `atomicrmw` and `cmpxchg` of the GPU's scope, relaxed.
use super::Lowering;
use super::memory::coordinate;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::semantics::{AtomicKind, SemError, element_offset};
use cutec_dialects::value::Val;

/// `monotonic` of LLVM's atomic orderings.
const RELAXED: &str = "2 : i64";

impl<'c> Lowering<'c> {
    /// What the element of a view was before the update by `values`.
    pub(super) fn atomic(
        &mut self,
        operands: &[Val],
        kind: AtomicKind,
        values: &[IrValue<'c>],
    ) -> Result<IrValue<'c>, SemError> {
        let [Val::View(view), coord, ..] = operands else {
            return Err(SemError::Illegal(
                "an atomic update takes a view and a coordinate".into(),
            ));
        };
        let offset = element_offset(view, &coordinate(coord)?)?;
        let address = self.address(view, &offset);
        let elem = view.ptr.elem;
        let ir = &self.emitter.ir;
        let scope = match view.ptr.space {
            Space::Smem => "\"block\"",
            _ => "\"device\"",
        };
        let (scope, ordering) = (ir.attr(scope), ir.attr(RELAXED));
        let ty = ir.ty(elem.name());
        match (kind, values) {
            (AtomicKind::Cas, [value, expected]) => {
                let attrs = [
                    ("success_ordering", ordering),
                    ("failure_ordering", ordering),
                    ("syncscope", scope),
                ];
                let pair = ir.ty(&format!("!llvm.struct<({elem}, i1)>"));
                let both = ir.value("llvm.cmpxchg", &[address, *expected, *value], &attrs, pair);
                let first = [("position", ir.attr("array<i64: 0>"))];
                Ok(ir.value("llvm.extractvalue", &[both], &first, ty))
            }
            (_, [value]) => {
                let operation = ir.attr(&format!("{} : i64", operation(kind, elem)));
                let attrs = [
                    ("bin_op", operation),
                    ("ordering", ordering),
                    ("syncscope", scope),
                ];
                Ok(ir.value("llvm.atomicrmw", &[address, *value], &attrs, ty))
            }
            _ => Err(SemError::Illegal("an atomic update takes one value".into())),
        }
    }
}

/// The number of an operation of `llvm.atomicrmw`.
fn operation(kind: AtomicKind, elem: Elem) -> i64 {
    match (kind, elem.is_float()) {
        (AtomicKind::Add, false) => 1,
        (AtomicKind::And, _) => 3,
        (AtomicKind::Or, _) => 5,
        (AtomicKind::Xor, _) => 6,
        (AtomicKind::Max, false) => 7,
        (AtomicKind::Min, false) => 8,
        (AtomicKind::Add, true) => 11,
        (AtomicKind::Max, true) => 13,
        (AtomicKind::Min, true) => 14,
        (AtomicKind::Exchange | AtomicKind::Cas, _) => 0,
    }
}
