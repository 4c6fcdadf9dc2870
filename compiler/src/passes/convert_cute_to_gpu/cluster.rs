//! The shared memory of the other blocks of a cluster: its address, and stores and updates that a barrier there counts.
use super::Base;
use super::Lowering;
use super::memory::coordinate;
use super::predicated::{Access, Inputs};
use super::unroll_vectors::PART;
use cutec_dialects::builder::{IrValue, value_key};
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::semantics::{
    AtomicKind, SemError, contiguous_width, element_offset, offsets_of, reduction,
};
use cutec_dialects::target::Feature;
use cutec_dialects::value::{Val, View};
use cutec_layout::Int;

/// The address space of `shared::cluster` in LLVM.
const SHARED_CLUSTER: u32 = 7;
/// How `st.async` and `red.async` complete.
const COMPLETION: &str = "shared::cluster.mbarrier::complete_tx::bytes";

impl<'c> Lowering<'c> {
    /// Gives a view of the memory of the block of a rank its base: that of the own buffer, mapped.
    pub(super) fn map_shared_rank(
        &mut self,
        operands: &[Val],
        mut peer: View,
    ) -> Result<View, SemError> {
        let [Val::View(own), rank] = operands else {
            return Err(SemError::Illegal("maps a view and a rank".into()));
        };
        let feature = Feature::Clusters;
        if !self.target.has(feature) {
            let (needs, found) = (feature.targets(), self.target.name);
            return Err(SemError::Illegal(format!(
                "cute.map_shared_rank needs {needs}; the target is {found}"
            )));
        }
        let rank = self.integer_of(rank)?;
        let Base {
            pointer,
            bytes,
            buffer,
            rank: _,
        } = self.bases[own.ptr.base - 1];
        let ir = &self.emitter.ir;
        let there = ir.pointer_type(SHARED_CLUSTER);
        let pointer = ir.value(NvvmOp::Mapa, &[pointer, rank], &[], there);
        self.bases.push(Base {
            pointer,
            bytes,
            buffer,
            rank: Some(rank),
        });
        peer.ptr.base = self.bases.len();
        Ok(peer)
    }

    /// `st.async` of a vector to a view of another block's memory, as wide as its elements lie together.
    pub(super) fn store_async(
        &mut self,
        operands: &[Val],
        value: IrValue<'c>,
    ) -> Result<(), SemError> {
        let [_, Val::View(view), barriers, which] = operands else {
            return Err(SemError::Illegal(
                "store_async takes a value, a view and a barrier".into(),
            ));
        };
        let barrier = self.barrier_beside(view, barriers, which)?;
        let offsets = offsets_of(view.layout.inner())?;
        let width = contiguous_width(view, &offsets);
        let parts = match self.parts.get(&value_key(value)) {
            Some(parts) => parts.clone(),
            None => vec![value],
        };
        let per_part = match parts.len() {
            1 => offsets.len(),
            _ => PART as usize,
        };
        for (part, offsets) in parts.into_iter().zip(offsets.chunks(per_part)) {
            for (index, at) in offsets.iter().enumerate().step_by(width as usize) {
                let piece = self.piece(view, part, (index, width), offsets.len());
                self.store_piece(view, at, (piece, width), barrier);
            }
        }
        Ok(())
    }

    fn store_piece(
        &mut self,
        view: &View,
        at: &Int,
        (piece, width): (IrValue<'c>, i64),
        barrier: IrValue<'c>,
    ) {
        let access = Access::of(width * view.ptr.elem.bytes());
        let mut inputs = Inputs::after(0);
        let place = inputs.add(self.address(view, at), "r");
        let first = inputs.count();
        for register in self.registers_of(view, width, &access, piece) {
            inputs.add(register, access.constraint);
        }
        let registers = access.operands(first);
        let barrier = inputs.add(barrier, "r");
        let ptx = access.ptx;
        let text = format!("st.async.{COMPLETION}.{ptx} [{place}], {registers}, [{barrier}];");
        self.assembly_at_memory(&text, &inputs, None);
    }

    /// `red.async` of one element.
    pub(super) fn reduce_async(
        &mut self,
        operands: &[Val],
        kind: AtomicKind,
        value: IrValue<'c>,
    ) -> Result<(), SemError> {
        let [Val::View(view), coord, _, barriers, which] = operands else {
            return Err(SemError::Illegal(
                "reduce_async takes an element, a value and a barrier".into(),
            ));
        };
        let elem = view.ptr.elem;
        let Some(form) = reduction(kind, elem) else {
            let kind = kind.name();
            return Err(SemError::Illegal(format!("no red.async {kind} of {elem}")));
        };
        let barrier = self.barrier_beside(view, barriers, which)?;
        let offset = element_offset(view, &coordinate(coord)?)?;
        let mut inputs = Inputs::after(0);
        let place = inputs.add(self.address(view, &offset), "r");
        let constraint = if elem.bytes() == 8 { "l" } else { "r" };
        let value = inputs.add(value, constraint);
        let barrier = inputs.add(barrier, "r");
        let text = format!(
            "red.async.relaxed.cluster.{COMPLETION}.{form} [{place}], {value}, [{barrier}];"
        );
        self.assembly_at_memory(&text, &inputs, None);
        Ok(())
    }

    /// The address of a barrier in the block whose memory a view is of.
    fn barrier_beside(
        &mut self,
        view: &View,
        barriers: &Val,
        which: &Val,
    ) -> Result<IrValue<'c>, SemError> {
        let Some(rank) = self.bases[view.ptr.base - 1].rank else {
            return Err(SemError::Illegal(
                "the view is of no block of the cluster".into(),
            ));
        };
        let own = self.mbarrier_address(barriers, which)?;
        Ok(self.mapa(own, rank))
    }
}
