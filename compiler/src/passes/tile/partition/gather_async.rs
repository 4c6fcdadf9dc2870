//! `tile.gather_async`: elements at computed places are copied to shared memory, several at once.
//!
//! Of each vector the first element is computed: where it lies, and whether that is inside of the tensor. Others of its map are left out.
use super::super::emits::Emits;
use super::{Partition, Spread, spread_of};
use crate::passes::ir_utils::{attributes, blocks, defining_op, present};
use crate::passes::tile::gathers::element;
use crate::passes::tile::types::{copy_atom_of, fast_axis};
use cutec_dialects::builder::{IrOp, IrValue, integer_array, operands_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{CuteOp, cute, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::GATHERED_SINCE;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::algebra::offset_at;
use cutec_layout::{AnyLayout, Layout, Tree, Width};
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
        let atom = self.constant(Val::CopyAtom(atom))?;

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
        let since = attributes(map, &[GATHERED_SINCE]);
        self.once(&spread, |this| {
            for number in 0..count {
                let first = Tree::Leaf((number * vector).into());
                let lane = offset_at(&first, &part.registers)?.as_static();
                let lane = lane.and_then(|lane| usize::try_from(lane).ok());
                let lane = lane.ok_or_else(missing)?;
                let (from, inside) = this.first_of_vector(op, map, &spread, lane)?;
                let from = this.vector_at(from, vector)?;
                let at = Val::coord([None, Some(number.into())]);
                let at = this.constant(at)?;
                let to = this.cute(CuteOp::Slice, &[to, at], &plain)?;
                let flag = this.flag(inside)?;
                this.ir
                    .op(CuteOp::Copy, &[atom, from, to, flag], &since, &[]);
            }
            Ok(())
        })
    }

    /// The tensor from the element on that is value `lane` of a thread, and whether that lies inside.
    fn first_of_vector(
        &mut self,
        op: IrOp<'c>,
        map: IrOp<'c>,
        spread: &Spread,
        lane: usize,
    ) -> Result<(IrValue<'c>, IrValue<'c>), SemError> {
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
        let mut operands = vec![element.view];
        for (mode, at) in element.at.iter().enumerate() {
            let number = match at {
                None => self.constant(Val::int_tuple([element.known[mode]]))?,
                Some(at) => self.number_of(&mut body, *at, lane),
            };
            operands.push(match (at, divisors.get(mode)) {
                (Some(_), Some(divisor @ 2..)) => {
                    let leaf = Tree::Leaf(Some(Vars::default().fresh(Width::I32, *divisor)));
                    let declared = Attrs::result(Val::Tuple(TupleKind::IntTuple, leaf));
                    self.cute(CuteOp::Assume, &[number], &declared)?
                }
                _ => number,
            });
        }
        let from = self.cute(CuteOp::DomainOffset, &operands, &Attrs::default())?;
        Ok((from, inside))
    }

    /// So many neighbours from the beginning of a view on.
    fn vector_at(&mut self, from: IrValue<'c>, vector: i64) -> Result<IrValue<'c>, SemError> {
        let layout = Val::Layout(AnyLayout::Plain(Layout::contiguous(vector)));
        let layout = self.constant(layout)?;
        let plain = Attrs::default();
        let from = self.cute(CuteOp::GetIter, &[from], &plain)?;
        self.cute(CuteOp::MakeView, &[from, layout], &plain)
    }

    /// A predicate as copies take it.
    fn flag(&mut self, holds: IrValue<'c>) -> Result<IrValue<'c>, SemError> {
        let layout = AnyLayout::Plain(Layout::scalar(1, 0));
        let view = Val::View(View::new(Elem::I1, Space::Rmem, 16, layout));
        let ty = self.ir.val_type(&view);
        let flag = self.ir.value(CuteOp::MemrefAlloca, &[], &[], ty);
        let first = self.constant(Val::int_tuple([0]))?;
        self.ir
            .op(CuteOp::MemrefStore, &[holds, flag, first], &[], &[]);
        Ok(flag)
    }
}
