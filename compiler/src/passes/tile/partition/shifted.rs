//! Tiles that overlap (`shifts.rs`): a thread loads each element once, whichever of them has it first, and whole vectors where several are wanted.
use super::super::access_width::vector_along;
use super::super::coordinate::{Coordinate, extent};
use super::super::emits::Emits;
use super::super::gathers::{Index, Vector};
use super::super::shifts::{Origin, Shift};
use super::edges::neighbours;
use super::place::all_places;
use super::{Partition, Spread};
use crate::passes::cmpi::{BELOW, cmpi};
use crate::passes::ir_utils::{hints_of, present, same_block};
use cutec_dialects::atoms::{CopyAtom, UniversalCopy};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::TileLayout;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{AnyLayout, Layout, Tree, Width};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What a thread has loaded of tiles that overlap.
pub(super) struct Overlap<'c> {
    /// One of the loads: what a block has computed is there for all of its block.
    of: IrOp<'c>,
    view: IrValue<'c>,
    origin: Origin,
    elem: Elem,
    layout: TileLayout,
    /// The tensor, moved to the place of the thread's first element in a tile without offsets.
    from: IrValue<'c>,
    /// The coordinate of that place along each axis, and the extent of the tensor.
    axes: Vec<(IrValue<'c>, IrValue<'c>)>,
    /// The axis along which elements are neighbours in memory, and how many of them an aligned access takes.
    fast: usize,
    vector: i64,
    /// Where accesses begin of which several elements are wanted.
    vectors: HashSet<Vec<i64>>,
    /// Whether something so far from there along an axis lies inside of the tensor.
    inside: HashMap<(usize, i64), IrValue<'c>>,
    /// The elements, by how far they lie from there.
    elements: HashMap<Vec<i64>, IrValue<'c>>,
}

impl<'c> Partition<'c> {
    /// The tile of a load that overlaps others; `None` of one that does not.
    pub(super) fn overlapping(
        &mut self,
        op: IrOp<'c>,
        to: &Spread,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some(shift) = Shift::of(op) else {
            return Ok(None);
        };
        let Some(origin) = shift.origin(op) else {
            return Ok(None);
        };
        let view = present(tile::Load::of(op))?.view();
        let is_here = |overlap: &Overlap| {
            overlap.view == view
                && overlap.origin == origin
                && overlap.layout == to.layout
                && same_block(overlap.of, op)
        };
        let mut overlap = match self.overlaps.remove(&shift.group).filter(is_here) {
            Some(overlap) => overlap,
            None => self.overlap(op, &shift, origin, to)?,
        };
        let places = places(&shift, to)?;
        let wanted = places
            .iter()
            .filter(|place| !overlap.elements.contains_key(*place));
        for (mut place, count) in overlap.accesses(wanted) {
            let loaded = self.of_overlap(op, &mut overlap, &place, count)?;
            for element in loaded {
                overlap.elements.insert(place.clone(), element);
                place[overlap.fast] += 1;
            }
        }
        let elements: Vec<IrValue<'c>> =
            places.iter().map(|place| overlap.elements[place]).collect();
        self.overlaps.insert(shift.group, overlap);
        Ok(Some(
            self.gather(&elements, self.ir.number_type(to.tile.elem)),
        ))
    }

    /// Nothing loaded yet.
    fn overlap(
        &mut self,
        op: IrOp<'c>,
        shift: &Shift,
        origin: Origin,
        to: &Spread,
    ) -> Result<Overlap<'c>, SemError> {
        let view = present(tile::Load::of(op))?.view();
        let at = Coordinate::of(op).map_err(SemError::Illegal)?;
        let (fast, vector) = vector_along(op, &to.tile).unwrap_or((0, 1));
        let vector = neighbours(to, fast, vector)?;
        let i32_type = self.ir.ty("i32");
        let (mut axes, mut from) = (Vec::new(), vec![view]);
        for axis in 0..to.tile.shape.len() {
            let begin = at.begin(&self.ir, axis, to.tile.shape[axis])?;
            let offset = self.ir.constant(shift.offsets[axis], "i32");
            let begin = self
                .ir
                .value(ArithOp::Subi, &[begin, offset], &[], i32_type);
            let first = self.first_place(to, axis)?;
            let first = self.ir.value(ArithOp::Addi, &[first, begin], &[], i32_type);
            axes.push((first, extent(&self.ir, view, axis, Width::I32)?));
            let divisor = if axis == fast { vector } else { 1 };
            let leaf = Tree::Leaf(Some(Vars::default().fresh(Width::I32, divisor)));
            let declared = Attrs::result(Val::Tuple(TupleKind::IntTuple, leaf));
            from.push(self.cute(CuteOp::Assume, &[first], &declared)?);
        }
        // Those of one vector that any of the tiles has.
        let mut vectors: HashMap<Vec<i64>, HashSet<i64>> = HashMap::new();
        for other in &self.operations {
            let Some(other) = Shift::of(*other).filter(|other| other.group == shift.group) else {
                continue;
            };
            for mut place in places(&other, to)? {
                let lane = place[fast].rem_euclid(vector);
                place[fast] -= lane;
                vectors.entry(place).or_default().insert(lane);
            }
        }
        vectors.retain(|_, lanes| lanes.len() > 1);
        Ok(Overlap {
            of: op,
            view,
            origin,
            elem: to.tile.elem,
            layout: to.layout.clone(),
            from: self.cute(CuteOp::DomainOffset, &from, &Attrs::default())?,
            axes,
            fast,
            vector,
            vectors: vectors.into_keys().collect(),
            inside: HashMap::new(),
            elements: HashMap::new(),
        })
    }

    /// So many neighbours from a place on, which lie outside of the tensor together.
    fn of_overlap(
        &mut self,
        op: IrOp<'c>,
        overlap: &mut Overlap<'c>,
        place: &[i64],
        count: i64,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let i32_type = self.ir.ty("i32");
        let mut inside = Vec::new();
        for (axis, offset) in place.iter().enumerate() {
            let (first, extent) = overlap.axes[axis];
            inside.push(*overlap.inside.entry((axis, *offset)).or_insert_with(|| {
                let offset = self.ir.constant(*offset, "i32");
                let at = self
                    .ir
                    .value(ArithOp::Addi, &[first, offset], &[], i32_type);
                // As numbers without sign, so that both sides are asked for at once.
                cmpi(&self.ir, BELOW, at, extent)
            }));
        }
        let elem = overlap.elem;
        let layout = AnyLayout::Plain(Layout::contiguous(count));
        let fragment = self.alloc(elem, Space::Rmem, layout);
        let vector = Vector {
            view: overlap.from,
            at: place.iter().copied().map(Index::Known).collect(),
            inside: self.all(inside),
        };
        let atom = CopyAtom {
            hints: hints_of(op),
            ..UniversalCopy::of_elements(elem, count)
        };
        let fill = present(tile::Load::of(op))?.fill();
        vector.copy(self, atom, fragment, op, fill)?;
        let ty = self.ir.numbers_type(elem, Some(count));
        let vector = self.ir.value(CuteOp::MemrefLoadVec, &[fragment], &[], ty);
        Ok(self.elements_of(vector, count, elem))
    }
}

impl Overlap<'_> {
    /// The accesses that load some places: whole vectors where several of one are wanted, now or later.
    fn accesses<'a>(
        &self,
        wanted: impl Iterator<Item = &'a Vec<i64>>,
    ) -> BTreeSet<(Vec<i64>, i64)> {
        let access = |place: &Vec<i64>| {
            let mut first = place.clone();
            first[self.fast] -= place[self.fast].rem_euclid(self.vector);
            match self.vectors.contains(&first) {
                true => (first, self.vector),
                false => (place.clone(), 1),
            }
        };
        wanted.map(access).collect()
    }
}

/// Where the values of a thread lie in a tile, from the thread's place in one without offsets.
fn places(shift: &Shift, to: &Spread) -> Result<Vec<Vec<i64>>, SemError> {
    let along = all_places(to)?;
    let place = |value: usize| {
        let axes = along.iter().zip(&shift.offsets);
        axes.map(|(places, offset)| places[value] + offset)
            .collect()
    };
    Ok((0..to.values() as usize).map(place).collect())
}
