//! Which elements of a tile lie inside of its view.
use super::super::coordinate::{Coordinate, extent, narrowed, width_of};
use super::super::types::fast_axis;
use super::place::value_places;
use super::{Partition, Spread};
use cutec_dialects::builder::IrValue;
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{ArithOp, LlvmOp, VectorOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::value::Val;
use cutec_layout::Width;
use melior::ir::{Attribute, ValueLike};

impl<'c> Partition<'c> {
    /// Whether each value of a thread lies inside of the view, as a vector of i1; `anew` at each use, where a loop around it would keep what is the
    /// same in each iteration in a register for each comparison.
    pub(super) fn inside(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        to: &Spread,
        anew: bool,
    ) -> Result<IrValue<'c>, SemError> {
        let (bit, i32_type) = (self.ir.ty("i1"), self.ir.ty("i32"));
        let bits = self.ir.vector_type(to.values(), bit);
        // Axes along which all values of a thread lie at one place are asked once.
        let mut whole = None;
        let mut others = Vec::new();
        for axis in 0..at.values.len() {
            let (first, mut end, less) = self.edge(view, at, axis, to)?;
            if anew {
                end = self.anew(end);
            }
            let mut offsets = value_places(to, axis)?;
            if offsets.iter().all(|offset| *offset == 0) {
                let holds = self.ir.value(ArithOp::Cmpi, &[first, end], &less, bit);
                whole = Some(match whole {
                    None => holds,
                    Some(so_far) => self.ir.value(ArithOp::Andi, &[so_far, holds], &[], bit),
                });
                continue;
            }
            // Where a step of the first place, the extent and the offset are multiples of a width, so
            // many neighbours are inside or outside together: they share a comparison.
            let width = width(view, at, axis, to)?;
            for offset in &mut offsets {
                *offset -= *offset % width;
            }
            others.push((end, first, less, offsets));
        }
        let mut inside = None;
        for (mut end, first, less, offsets) in others {
            if let Some(whole) = whole.take() {
                let none = self.ir.constant(0, "i32");
                end = self
                    .ir
                    .value(ArithOp::Select, &[whole, end, none], &[], i32_type);
            }
            let indices = self.ir.vector_type(to.values(), i32_type);
            let end = self.ir.value(VectorOp::Broadcast, &[end], &[], indices);
            let place = self.steps_from(first, &offsets);
            let holds = self.ir.value(ArithOp::Cmpi, &[place, end], &less, bits);
            inside = Some(match inside {
                None => holds,
                Some(so_far) => self.ir.value(ArithOp::Andi, &[so_far, holds], &[], bits),
            });
        }
        Ok(match (inside, whole) {
            (Some(inside), _) => inside,
            (None, whole) => {
                let whole = whole.unwrap_or_else(|| self.ir.constant(1, "i1"));
                self.ir.value(VectorOp::Broadcast, &[whole], &[], bits)
            }
        })
    }

    /// Neighbours in a thread, along the axis that is fast in memory, which neither end of the view parts, as far as an access takes them at once.
    pub(super) fn vector_at_edges(
        &self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        to: &Spread,
    ) -> Result<i64, SemError> {
        let (fast, elem) = fast_axis(view).unwrap_or((0, to.tile.elem));
        let neighbours = to.layout.neighbours(&to.tile.shape, fast);
        let neighbours = neighbours.map_err(SemError::Illegal)?;
        let together = width(view, at, fast, to)?.min(WIDEST_ACCESS / elem.bytes());
        Ok(1 << neighbours.trailing_zeros().min(together.trailing_zeros()))
    }

    /// A number that nobody takes for the same as before.
    fn anew(&self, number: IrValue<'c>) -> IrValue<'c> {
        let attrs = [
            ("asm_string", self.ir.string("mov.b32 $0, $1;")),
            ("constraints", self.ir.string("=r,r")),
            ("has_side_effects", self.ir.unit()),
        ];
        (self.ir).value(LlvmOp::InlineAsm, &[number], &attrs, number.r#type())
    }

    /// The place of a thread's first value along an axis, what it is to be less than, and the predicate.
    ///
    /// Counted in tiles it is compared with what is left of the view. From an offset on, which may be
    /// negative, it is compared with the extent, as an unsigned number: so both sides are asked for at once.
    pub(super) fn edge(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        axis: usize,
        to: &Spread,
    ) -> Result<Edge<'c>, SemError> {
        let i32_type = self.ir.ty("i32");
        if at.is_offset(axis) {
            let extent = extent(&self.ir, view, axis, Width::I32)?;
            let begin = at.begin(&self.ir, axis, to.tile.shape[axis])?;
            let first = self.first_place(to, axis)?;
            let first = self.ir.value(ArithOp::Addi, &[first, begin], &[], i32_type);
            let below = [("predicate", self.ir.i64(6))];
            return Ok((first, extent, below));
        }
        let begin = at.values[axis];
        let ty = begin.r#type();
        let extent = extent(&self.ir, view, axis, width_of(ty))?;
        let length = self.ir.constant_of(to.tile.shape[axis], ty);
        let begin = self.ir.value(ArithOp::Muli, &[begin, length], &[], ty);
        let left = self.ir.value(ArithOp::Subi, &[extent, begin], &[], ty);
        let left = narrowed(&self.ir, left);
        let less = [("predicate", self.ir.i64(2))];
        Ok((self.first_place(to, axis)?, left, less))
    }
}

/// A place, what it is compared with, and how.
type Edge<'c> = (IrValue<'c>, IrValue<'c>, [(&'static str, Attribute<'c>); 1]);

/// Neighbours along an axis that neither end of the view parts.
fn width(view: IrValue, at: &Coordinate, axis: usize, to: &Spread) -> Result<i64, SemError> {
    let extent = match val_of(view)? {
        Val::View(view) => view.layout.inner().mode(axis).map(|mode| mode.size().div()),
        _ => None,
    };
    // The lowest bit that either has is that of both together.
    neighbours(to, axis, extent.unwrap_or(1) | at.divisor(axis))
}

/// Neighbours along an axis that lie on the same side of every multiple of a number: the largest power of two
/// that divides it, the extent of the tile, and how far apart along the axis threads lie.
pub(super) fn neighbours(to: &Spread, axis: usize, number: i64) -> Result<i64, SemError> {
    let modes = to.layout.thread_modes(&to.tile.shape);
    let steps = modes.map_err(SemError::Illegal)?.into_iter();
    let steps = steps.filter_map(|mode| mode.along.filter(|(along, _)| *along == axis));
    let all = steps
        .map(|(_, step)| step)
        .chain([number, to.tile.shape[axis]]);
    Ok(1 << all.map(i64::trailing_zeros).min().unwrap_or(0))
}
