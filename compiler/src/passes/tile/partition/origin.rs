//! The part of a view that a tile is.
use super::super::coordinate::{Coordinate, width_of};
use super::super::emits::Emits;
use super::super::types::view_of;
use super::Partition;
use crate::passes::ir_utils::constant_of;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Int, Tree, Width};
use melior::ir::ValueLike;

/// Where a tile begins along an axis.
enum Origin<'c> {
    /// Behind so many tiles.
    Tiles(IrValue<'c>),
    /// Behind so many elements, which may be negative.
    Elements(IrValue<'c>),
}

impl<'c> Partition<'c> {
    /// The coordinate of a tile that is loaded, stored or copied.
    pub(super) fn coordinate_of(&self, op: IrOp<'c>) -> Result<Coordinate<'c>, SemError> {
        Coordinate::of(op).map_err(SemError::Illegal)
    }

    /// The tile of a shape at a coordinate of a view, its coordinates, and their bounds.
    pub(super) fn at(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        shape: &[i64],
    ) -> Result<(IrValue<'c>, IrValue<'c>, IrValue<'c>), SemError> {
        let tile = self.constant(Val::int_tuple(shape.iter().copied()))?;
        // Along an axis with an offset it is the first tile of what begins there.
        let (mut leaves, mut counted, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        let (mut moves, mut vars) = (false, Vars::default());
        for (axis, length) in shape.iter().enumerate() {
            match self.origin(view, at, axis, *length)? {
                Origin::Tiles(value) => {
                    let width = match value.r#type() == self.ir.ty("i64") {
                        true => Width::I64,
                        false => Width::I32,
                    };
                    leaves.push(Some(vars.fresh(width, 1)));
                    counted.push(value);
                    offsets.push(None);
                }
                Origin::Elements(value) => {
                    leaves.push(Some(Int::ZERO));
                    offsets.push(Some(value));
                    moves = true;
                }
            }
        }
        let coord = Val::coord(leaves);
        let coord = match counted.is_empty() {
            true => self.constant(coord)?,
            false => {
                let ty = self.ir.val_type(&coord);
                self.ir.value(CuteOp::MakeCoord, &counted, &[], ty)
            }
        };
        let plain = Attrs::default();
        let layout = self.cute(CuteOp::GetLayout, &[view], &plain)?;
        let bounds = self.cute(CuteOp::GetShape, &[layout], &plain)?;
        let identity = self.cute(CuteOp::MakeIdentityTensor, &[bounds], &plain)?;
        let (view, identity) = match moves {
            true => (self.moved(view, &offsets)?, self.moved(identity, &offsets)?),
            false => (view, identity),
        };
        let memory = self.cute(CuteOp::LocalTile, &[view, tile, coord], &plain)?;
        let coordinates = self.cute(CuteOp::LocalTile, &[identity, tile, coord], &plain)?;
        Ok((memory, coordinates, bounds))
    }

    /// Where a tile of some length begins along an axis of a view.
    ///
    /// A view that is known to have one tile has no other: behind it begins what is counted in elements.
    fn origin(
        &mut self,
        view: IrValue<'c>,
        at: &Coordinate<'c>,
        axis: usize,
        length: i64,
    ) -> Result<Origin<'c>, SemError> {
        let missing = || SemError::Illegal("a coordinate is missing".into());
        let value = at.values.get(axis).copied().ok_or_else(missing)?;
        if at.is_offset(axis) {
            return Ok(Origin::Elements(value));
        }
        let mode = view_of(view).and_then(|view| view.layout.inner().mode(axis));
        let extent = mode.and_then(|mode| mode.size().as_static());
        if extent.is_none_or(|extent| extent > length) || constant_of(value) == Some(0) {
            return Ok(Origin::Tiles(value));
        }
        if length == 1 {
            return Ok(Origin::Elements(value));
        }
        let ty = value.r#type();
        let promised = Vars::default().fresh(width_of(ty), length);
        let promised = Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(promised)));
        let length = self.ir.constant_of(length, ty);
        let offset = self.ir.value(ArithOp::Muli, &[value, length], &[], ty);
        let attrs = Attrs::result(promised);
        Ok(Origin::Elements(self.cute(
            CuteOp::Assume,
            &[offset],
            &attrs,
        )?))
    }

    /// A view or its coordinates from offsets on.
    fn moved(
        &self,
        whole: IrValue<'c>,
        offsets: &[Option<IrValue<'c>>],
    ) -> Result<IrValue<'c>, SemError> {
        let mut operands = vec![whole];
        for offset in offsets {
            operands.push(match offset {
                Some(offset) => *offset,
                None => self.constant(Val::int_tuple([0]))?,
            });
        }
        self.cute(CuteOp::DomainOffset, &operands, &Attrs::default())
    }
}
