//! Elements at computed places, several at once: to shared memory by `tile.gather_async`, into registers, and out of these by `tile.scatter`. `gather.rs`
//! reads those of tiles.
//!
//! Of each vector the first element is computed: where it lies, and whether that is inside of the tensor. Others of a map are left out.
use super::super::emits::Emits;
use super::gather::Places;
use super::place::all_places;
use super::{Partition, Spread, spread_of};
use crate::passes::ir_utils::{blocks, defining_op, present};
use crate::passes::tile::gathers::{Index, Vector, Vectors, element};
use crate::passes::tile::types::{copy_atom_of, fast_axis};
use cutec_dialects::builder::{IrOp, IrValue, integer_array, operands_of};
use cutec_dialects::ops::{CuteOp, cute, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::value::Val;
use cutec_layout::algebra::offset_at;
use cutec_layout::{Layout, Tree};
use melior::ir::operation::OperationLike;

fn missing() -> SemError {
    SemError::Illegal("takes no tile that a map gathers".into())
}

/// How an operation was said to copy the elements of a tile as vectors, if a thread has all of each.
pub(super) fn said(op: IrOp, spread: &Spread) -> Option<Vectors> {
    let vectors = Vectors::said(op, spread.tile.elem)?;
    let neighbours = spread.layout.neighbours(&spread.tile.shape, vectors.fast);
    let has = neighbours.is_ok_and(|count| count % vectors.atom.src_values() == 0);
    has.then_some(vectors)
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
        let to = self.pieces(part.memory, spread.values(), vector)?;
        let divisors = op.attribute("divisors").ok().and_then(integer_array);
        let divisors = divisors.ok_or_else(|| SemError::Illegal("has no `divisors`".into()))?;
        self.once(&spread, |this| {
            for number in 0..count {
                let first = Tree::Leaf((number * vector).into());
                let lane = offset_at(&first, &part.registers)?.as_static();
                let lane = lane.and_then(|lane| usize::try_from(lane).ok());
                let lane = lane.ok_or_else(missing)?;
                let to = this.piece(to, number)?;
                let of = this.vector(map, &divisors, &spread, lane)?;
                of.copy(this, atom, to, map, None)?;
            }
            Ok(())
        })
    }

    /// What a map reads as vectors, where it does so and a thread has all of each.
    pub(super) fn read_vectors(
        &mut self,
        map: IrOp<'c>,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some((vectors, lanes)) = self.vectors(map, to)? else {
            return Ok(None);
        };
        let (vector, count) = (vectors.atom.src_values(), to.values());
        let fragment = self.fragment(to)?;
        let outside = element(map).and_then(|element| defining_op(element.outside));
        let outside = outside.and_then(|constant| constant.attribute("value").ok());
        let pieces = self.pieces(fragment, count, vector)?;
        for (number, lanes) in (0i64..).zip(lanes.chunks(vector as usize)) {
            let piece = self.piece(pieces, number)?;
            let of = self.vector(map, &vectors.divisors, to, lanes[0])?;
            of.copy(self, vectors.atom, piece, map, outside)?;
        }
        self.as_held(fragment, to, &lanes).map(Some)
    }

    /// The vector of what lies in registers vector by vector, by the number of each value.
    pub(super) fn as_held(
        &self,
        fragment: IrValue<'c>,
        to: &Spread,
        lanes: &[usize],
    ) -> Result<IrValue<'c>, SemError> {
        let read = self.load_vec(fragment, to)?;
        if lanes.is_sorted() {
            return Ok(read);
        }
        let read = self.elements(read, to);
        let mut elements = read.clone();
        for (element, lane) in read.into_iter().zip(lanes) {
            elements[*lane] = element;
        }
        let elem = self.ir.number_type(to.tile.elem);
        Ok(self.gather(&elements, elem))
    }

    /// Writes the elements of a tile to their places as vectors, or updates what is there, where that was said and a thread has all of each; whether it
    /// does.
    pub(super) fn scatter_vectors(
        &mut self,
        op: IrOp<'c>,
        from: &Spread,
        values: &[IrValue<'c>],
        places: &Places<'c>,
    ) -> Result<bool, SemError> {
        let view = present(tile::Scatter::of(op))?.view();
        let Some((vectors, lanes)) = self.vectors(op, from)? else {
            return Ok(false);
        };
        let vector = vectors.atom.src_values();
        let ordered: Vec<IrValue<'c>> = lanes.iter().map(|lane| values[*lane]).collect();
        let ordered = self.gather(&ordered, self.ir.number_type(from.tile.elem));
        let fragment = self.fragment(from)?;
        self.store_vec(ordered, fragment);
        let pieces = self.pieces(fragment, from.values(), vector)?;
        self.once(from, |this| {
            for (number, lanes) in (0i64..).zip(lanes.chunks(vector as usize)) {
                let piece = this.piece(pieces, number)?;
                let (at, inside) = places.of(this, lanes[0]);
                let at = at.into_iter().zip(&vectors.divisors);
                let at = at.map(|(at, divisor)| Index::Computed(at, *divisor));
                let at = at.collect();
                Vector { view, at, inside }.write(this, vectors.atom, piece)?;
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// How an operation was said to copy the elements of a tile as vectors, if a thread has all of each, and its values vector by vector.
    pub(super) fn vectors(
        &self,
        op: IrOp<'c>,
        spread: &Spread,
    ) -> Result<Option<(Vectors, Vec<usize>)>, SemError> {
        let shape = &spread.tile.shape;
        let Some(vectors) = said(op, spread) else {
            return Ok(None);
        };
        let places = all_places(spread)?;
        let mut lanes: Vec<usize> = (0..spread.values() as usize).collect();
        lanes.sort_by_key(|lane| {
            let across = |axis: &usize| *axis != vectors.fast;
            let others = (0..shape.len()).filter(across);
            let others: Vec<i64> = others.map(|axis| places[axis][*lane]).collect();
            (others, places[vectors.fast][*lane])
        });
        Ok(Some((vectors, lanes)))
    }

    /// A view of so many elements, as vectors.
    pub(super) fn pieces(
        &self,
        view: IrValue<'c>,
        count: i64,
        vector: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let vectors = Layout::concat([
            Layout::contiguous(vector),
            Layout::scalar(count / vector, vector),
        ]);
        let vectors = self.constant(Val::layout(&vectors))?;
        self.cute(CuteOp::Composition, &[view, vectors], &Attrs::default())
    }

    /// One of them.
    pub(super) fn piece(&self, pieces: IrValue<'c>, number: i64) -> Result<IrValue<'c>, SemError> {
        let at = self.constant(Val::coord([None, Some(number.into())]))?;
        self.cute(CuteOp::Slice, &[pieces, at], &Attrs::default())
    }

    /// The vector of which value `lane` of a thread is the first element.
    fn vector(
        &mut self,
        map: IrOp<'c>,
        divisors: &[i64],
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
        let modes = element.at.iter().zip(element.known).zip(divisors);
        let at = modes.map(|((at, known), divisor)| match at {
            None => Index::Known(known),
            Some(at) => Index::Computed(self.number_of(&mut body, *at, lane), *divisor),
        });
        let at = at.collect();
        let view = element.view;
        Ok(Vector { view, at, inside })
    }
}
