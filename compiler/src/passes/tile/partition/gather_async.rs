//! `tile.gather_async`: elements at computed places are copied to shared memory, several at once.
//!
//! Of each vector the first element is computed: where it lies, and whether that is inside of the tensor. Others of its map are left out.
use super::super::emits::Emits;
use super::{Partition, Spread, spread_of};
use crate::passes::ir_utils::{blocks, defining_op, present};
use crate::passes::tile::gathers::{Index, Vector, element};
use crate::passes::tile::types::{copy_atom_of, fast_axis};
use cutec_dialects::builder::{IrOp, integer_array, operands_of};
use cutec_dialects::ops::{CuteOp, cute, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::value::Val;
use cutec_layout::algebra::offset_at;
use cutec_layout::{Layout, Tree};
use melior::ir::operation::OperationLike;

fn missing() -> SemError {
    SemError::Illegal("takes no tile that a map gathers".into())
}

impl<'c> Partition<'c> {
    /// Each thread begins to copy its part of what a map gathers.
    pub(super) fn begin_gather(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        let gather = present(tile::GatherAsync::of(op))?;
        let map = defining_op(gather.value()).ok_or_else(missing)?;
        let spread = spread_of(op, gather.value()).map_err(|(_, why)| SemError::Illegal(why))?;
        let spread = spread.ok_or_else(missing)?;
        let atom = copy_atom_of(op).map_err(SemError::Illegal)?;
        let vector = atom.src_values();

        // The thread's part of the stage, vector by vector.
        let (buffer, fast) = (gather.buffer(), fast_axis(gather.buffer()));
        let fast = fast.map_or(0, |(axis, _)| axis);
        let offsets = vec![0; spread.tile.shape.len()];
        let part = self.part_of_stage(buffer, gather.stage(), &offsets, &spread)?;
        let part = self.partition(part, None, fast, &spread)?;
        let count = spread.values() / vector;
        let vectors = Layout::concat([Layout::contiguous(vector), Layout::scalar(count, vector)]);
        let plain = Attrs::default();
        let in_vectors = self.constant(Val::layout(&vectors))?;
        let to = self.cute(CuteOp::Composition, &[part.memory, in_vectors], &plain)?;
        self.once(&spread, |this| {
            for number in 0..count {
                let first = Tree::Leaf((number * vector).into());
                let lane = offset_at(&first, &part.registers)?.as_static();
                let lane = lane.and_then(|lane| usize::try_from(lane).ok());
                let lane = lane.ok_or_else(missing)?;
                let at = this.constant(Val::coord([None, Some(number.into())]))?;
                let to = this.cute(CuteOp::Slice, &[to, at], &plain)?;
                let of = this.vector(op, map, &spread, lane)?;
                of.copy(this, atom, to, map)?;
            }
            Ok(())
        })
    }

    /// The vector of which value `lane` of a thread is the first element.
    fn vector(
        &mut self,
        op: IrOp<'c>,
        map: IrOp<'c>,
        spread: &Spread,
        lane: usize,
    ) -> Result<Vector<'c>, SemError> {
        let element = element(map).ok_or_else(missing)?;
        let block = blocks(map, 0).into_iter().next().ok_or_else(missing)?;
        let mut body = self.body_of(map, block, spread)?;
        let branch = element.branch;
        self.for_one_value(&mut body, block, lane, |op| op == branch);
        let then = blocks(branch, 0).into_iter().next().ok_or_else(missing)?;
        let reads = |op| cute::MemrefLoad::of(op).is_some();
        self.for_one_value(&mut body, then, lane, reads);
        let condition = operands_of(branch).next().ok_or_else(missing)?;
        let inside = self.number_of(&mut body, condition, lane);
        let divisors = op.attribute("divisors").ok().and_then(integer_array);
        let divisors = divisors.ok_or_else(|| SemError::Illegal("has no `divisors`".into()))?;
        let modes = element.at.iter().zip(element.known).zip(divisors);
        let at = modes.map(|((at, known), divisor)| match at {
            None => Index::Known(known),
            Some(at) => Index::Computed(self.number_of(&mut body, *at, lane), divisor),
        });
        let at = at.collect();
        let view = element.view;
        Ok(Vector { view, at, inside })
    }
}
