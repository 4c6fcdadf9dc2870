//! Vectors of a tile of which the end of the view leaves a part: nothing promises that the extent is a multiple of theirs.
//!
//! All whole vectors are accessed as such, within the extent rounded down. Elements one by one come behind them, in a branch that only threads take of
//! which a vector is parted.
use super::super::access_width::{vector_along, vector_with_tail};
use super::super::coordinate::{Coordinate, extent, multiple};
use super::super::emits::Emits;
use super::super::types::view_of;
use super::edges::neighbours;
use super::place::value_places;
use super::{Partition, Spread};
use crate::passes::cmpi::BELOW;
use cutec_dialects::builder::{Insertion, IrOp, IrValue, region_with_block, result_of};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Int, Tree};
use melior::ir::ValueLike;
use std::collections::BTreeSet;

/// Attribute of a copy that only such threads make.
pub const OF_PARTED: &str = "cute.of_parted";

/// What the last vector of a view leaves.
pub(super) struct Tail<'c> {
    /// The shape of the view as far as there are whole vectors.
    pub whole: IrValue<'c>,
    /// Whether the end of the view parts a vector of the thread.
    pub parted: IrValue<'c>,
}

impl<'c> Partition<'c> {
    /// That of a load or a store of a tile, where the extent of its view keeps its accesses from being wider.
    pub(super) fn tail(
        &mut self,
        op: IrOp<'c>,
        at: &Coordinate<'c>,
        spread: &Spread,
    ) -> Result<Option<Tail<'c>>, SemError> {
        let of = tile::Access::of(op).map(|access| access.view);
        let widths = vector_along(op, &spread.tile).zip(vector_with_tail(op, &spread.tile));
        let (Some(view), Some(((fast, proven), (_, possible)))) = (of, widths) else {
            return Ok(None);
        };
        let held = spread.layout.neighbours(&spread.tile.shape, fast);
        let held = held.map_err(SemError::Illegal)?;
        let vector = neighbours(spread, fast, possible)?.min(held);
        if vector <= proven || spread.tile.elem.is_packed() {
            return Ok(None);
        }
        let Some(whole) = self.whole_vectors(view, fast, vector)? else {
            return Ok(None);
        };
        let parted = self.parted(view, at, spread, (fast, vector))?;
        Ok(Some(Tail { whole, parted }))
    }

    /// The shape of a view, its extent along an axis rounded down to whole vectors; `None` where a mode has modes of its own.
    fn whole_vectors(
        &self,
        view: IrValue<'c>,
        fast: usize,
        vector: i64,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        let Some(shape) = view_of(view).map(|view| view.layout.inner().shape().clone()) else {
            return Ok(None);
        };
        let (mut leaves, mut operands, mut vars) = (Vec::new(), Vec::new(), Vars::default());
        for axis in 0..shape.rank() {
            let Some(Tree::Leaf(size)) = shape.mode(axis) else {
                return Ok(None);
            };
            let is_fast = axis == fast;
            leaves.push(Tree::Leaf(Some(match size.as_static() {
                Some(size) if is_fast => Int::Static(size - size % vector),
                Some(size) => Int::Static(size),
                None => {
                    let divisor = if is_fast { vector } else { size.div() };
                    vars.fresh(size.width(), divisor)
                }
            })));
            if size.as_static().is_some() {
                continue;
            }
            operands.push(match is_fast {
                true => {
                    let size = extent(&self.ir, view, axis, size.width())?;
                    let ty = size.r#type();
                    let mask = self.ir.constant_of(-vector, ty);
                    let rounded = self.ir.value(ArithOp::Andi, &[size, mask], &[], ty);
                    multiple(&self.ir, rounded, vector)?
                }
                false => self.cute(CuteOp::Size, &[view], &Attrs::mode([axis as i64]))?,
            });
        }
        let leaves = match (shape, leaves.pop()) {
            (Tree::Leaf(_), Some(leaf)) => leaf,
            (_, last) => Tree::Node(leaves.into_iter().chain(last).collect()),
        };
        let shape = Val::Tuple(TupleKind::Shape, leaves);
        let shape = self.cute(CuteOp::MakeShape, &operands, &Attrs::result(shape))?;
        Ok(Some(shape))
    }

    /// Whether the end of a view lies behind the first element of one of a thread's vectors, and not behind its last.
    fn parted(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        spread: &Spread,
        (fast, vector): (usize, i64),
    ) -> Result<IrValue<'c>, SemError> {
        let (first, end, _) = self.edge(view, at, fast, spread)?;
        let (bit, word) = (self.ir.ty("i1"), self.ir.ty("i32"));
        let binary = |this: &Self, op: ArithOp, a, b, ty| this.ir.value(op, &[a, b], &[], ty);
        let rest = binary(self, ArithOp::Subi, end, first, word);
        let places = value_places(spread, fast)?;
        let vectors: BTreeSet<i64> = places.iter().map(|at| at - at % vector).collect();
        let most = self.ir.constant(vector - 1, "i32");
        let parted = vectors.into_iter().map(|at| {
            let before = self.ir.constant(at + 1, "i32");
            let rest = binary(self, ArithOp::Subi, rest, before, word);
            self.compare(BELOW, rest, most)
        });
        let parted = parted.reduce(|one, other| binary(self, ArithOp::Ori, one, other, bit));
        Ok(parted.unwrap_or_else(|| self.ir.constant(0, "i1")))
    }

    /// What a branch gives where a condition holds, and another value where it does not.
    pub(super) fn instead_if(
        &mut self,
        holds: IrValue<'c>,
        otherwise: IrValue<'c>,
        act: impl FnOnce(&mut Self) -> Result<IrValue<'c>, SemError>,
    ) -> Result<IrValue<'c>, SemError> {
        let (then, then_block) = region_with_block(&[]);
        let here = std::mem::replace(&mut self.ir.insertion, Insertion::End(then_block));
        let done = act(self);
        let instead = *done.as_ref().unwrap_or(&otherwise);
        self.ir.op(ScfOp::Yield, &[instead], &[], &[]);
        let (other, other_block) = region_with_block(&[]);
        self.ir.insertion = Insertion::End(other_block);
        self.ir.op(ScfOp::Yield, &[otherwise], &[], &[]);
        self.ir.insertion = here;
        let ty = otherwise.r#type();
        let regions = vec![then, other];
        let branch = (self.ir).op_with_regions(ScfOp::If, &[holds], &[], &[ty], regions);
        done.map(|_| result_of(branch, 0))
    }
}
