//! What a load says of elements outside of its view.
use super::place::value_places;
use super::{Partition, Spread, vector_type};
use cutec_dialects::builder::IrValue;
use cutec_dialects::ir::OpAttrs;
use cutec_dialects::semantics::SemError;
use cutec_dialects::types::{Vars, parse_type};
use cutec_dialects::value::Val;
use melior::ir::{Attribute, ValueLike};

impl<'c> Partition<'c> {
    /// What lies outside of the view becomes a number.
    pub(super) fn filled(
        &mut self,
        loaded: IrValue<'c>,
        fill: Attribute<'c>,
        view: IrValue<'c>,
        at: &[IrValue<'c>],
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let inside = self.inside(view, at, to)?;
        let elem = to.tile.elem.value_type();
        let number = [("value", fill)];
        let number = self
            .ir
            .value("arith.constant", &[], &number, self.ir.ty(elem));
        let ty = self.ir.ty(&to.vector());
        let number = self.ir.value("vector.broadcast", &[number], &[], ty);
        Ok(self
            .ir
            .value("arith.select", &[inside, loaded, number], &[], ty))
    }

    /// Whether each value of a thread lies inside of the view, as a vector of i1.
    pub(super) fn inside(
        &mut self,
        view: IrValue<'c>,
        at: &[IrValue<'c>],
        to: &Spread,
    ) -> Result<IrValue<'c>, SemError> {
        let (bit, i32_type) = (self.ir.ty("i1"), self.ir.ty("i32"));
        let bits = self.ir.ty(&vector_type(to.values(), "i1"));
        let less = [("predicate", self.ir.attr("2 : i64"))];
        // Axes along which all values of a thread lie at one place are asked once.
        let mut whole = None;
        let mut others = Vec::new();
        for (axis, tiles) in at.iter().enumerate() {
            let left = self.left(view, axis, *tiles, to.tile.shape[axis])?;
            let first = self.first_place(to, axis)?;
            let mut offsets = value_places(to, axis)?;
            if offsets.iter().all(|offset| *offset == 0) {
                let holds = self.ir.value("arith.cmpi", &[first, left], &less, bit);
                whole = Some(match whole {
                    None => holds,
                    Some(so_far) => self.ir.value("arith.andi", &[so_far, holds], &[], bit),
                });
                continue;
            }
            // Where a step of the first place and the extent are multiples of a width, so many
            // neighbours are inside or outside together: they share a comparison.
            let width = width(view, axis, to)?;
            for offset in &mut offsets {
                *offset -= *offset % width;
            }
            others.push((left, first, offsets));
        }
        let mut inside = None;
        for (mut left, first, offsets) in others {
            if let Some(whole) = whole.take() {
                let none = self.ir.constant(0, "i32");
                left = self
                    .ir
                    .value("arith.select", &[whole, left, none], &[], i32_type);
            }
            let indices = self.ir.ty(&vector_type(to.values(), "i32"));
            let left = self.ir.value("vector.broadcast", &[left], &[], indices);
            let place = self.steps_from(first, &offsets);
            let holds = self.ir.value("arith.cmpi", &[place, left], &less, bits);
            inside = Some(match inside {
                None => holds,
                Some(so_far) => self.ir.value("arith.andi", &[so_far, holds], &[], bits),
            });
        }
        Ok(match (inside, whole) {
            (Some(inside), _) => inside,
            (None, whole) => {
                let whole = whole.unwrap_or_else(|| self.ir.constant(1, "i1"));
                self.ir.value("vector.broadcast", &[whole], &[], bits)
            }
        })
    }

    /// Elements along an axis from the first of a tile to the end of the view.
    fn left(
        &mut self,
        view: IrValue<'c>,
        axis: usize,
        tiles: IrValue<'c>,
        length: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let mode = [axis as i64];
        let attrs = OpAttrs {
            mode: Some(&mode),
            ..OpAttrs::default()
        };
        let extent = self.cute("size", &[view], &attrs)?;
        let as_i32 = OpAttrs {
            result: Some("i32"),
            ..OpAttrs::default()
        };
        let extent = self.cute("get_scalar", &[extent], &as_i32)?;
        let i32_type = self.ir.ty("i32");
        let length = self.ir.constant(length, "i32");
        let begin = self.ir.value("arith.muli", &[tiles, length], &[], i32_type);
        Ok(self.ir.value("arith.subi", &[extent, begin], &[], i32_type))
    }
}

/// Neighbours along an axis that the end of the view does not part.
fn width(view: IrValue, axis: usize, to: &Spread) -> Result<i64, SemError> {
    let extent = match parse_type(&view.r#type().to_string(), &mut Vars::default())? {
        Val::View(view) => view.layout.inner().mode(axis).map(|mode| mode.size().div()),
        _ => None,
    };
    neighbours(to, axis, extent.unwrap_or(1))
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
