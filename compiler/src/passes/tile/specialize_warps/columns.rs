//! What results take of vectors of their columns, as a bias or the weights of a norm: piece by piece, where the pieces leave.
//!
//! `tile-load-early` moves such a vector in front of the products, into registers that it has as a whole, as far as there are any. What stands
//! behind them is loaded for one piece while the one before is stored.
use super::super::coordinate::Coordinate;
use super::super::load_early::writes;
use super::super::types::{tensor_of, tile_of};
use super::emit::Emit;
use crate::passes::control_flow::is_loop;
use crate::passes::ir_utils::{clone, defining_op, erase, next_operation, set_operand, users};
use crate::passes::remark;
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use melior::ir::{ValueLike, operation::OperationLike};

/// A vector of columns, repeated along the rows of a result.
pub(super) struct Columns<'c> {
    load: tile::Load<'c>,
    /// What is computed of it, element by element, and reshapes it, in this order.
    row: Vec<IrOp<'c>>,
    broadcast: IrOp<'c>,
    /// Whether it is there as a whole, from in front of the products.
    pub early: bool,
}

impl<'c> Columns<'c> {
    /// Those that a tile is, where nothing takes it but some users that compute what is stored behind it, or store that.
    pub fn of(value: IrValue<'c>, store: IrOp<'c>, takes: &[IrOp<'c>]) -> Option<Self> {
        let broadcast = defining_op(value).filter(|op| TileOp::Broadcast.is(*op))?;
        let columns = *tile_of(broadcast, value).ok()?.shape.last()?;
        let is_row = |tile: &TileType| {
            tile.shape.last() == Some(&columns) && tile.shape.iter().product::<i64>() == columns
        };
        let mut row = Vec::new();
        let mut at = broadcast;
        let load = loop {
            let [input] = operands_of(at).collect::<Vec<_>>()[..] else {
                return None;
            };
            tile_of(at, input).ok().filter(is_row)?;
            at = defining_op(input).filter(|_| users(input).len() == 1)?;
            match TileOp::of(at) {
                Some(TileOp::Load) => break tile::Load::of(at)?,
                Some(TileOp::Reshape | TileOp::Map) if has_no_effect(at) => row.insert(0, at),
                _ => return None,
            }
        };
        let last = load.at().len().checked_sub(1)?;
        let by_tile = !Coordinate::of(load.op()).ok()?.is_offset(last);
        let alone = users(value).iter().all(|user| takes.contains(user));
        (alone && by_tile && may_be_later(load, store)).then_some(Columns {
            load,
            row,
            broadcast,
            early: is_early(load.op(), store),
        })
    }

    /// The tile that they are repeated to.
    pub fn value(&self) -> IrValue<'c> {
        result_of(self.broadcast, 0)
    }

    /// Bits of them in a thread.
    pub fn bits(&self) -> i64 {
        let tile = tile_of(self.load.op(), self.load.result());
        tile.map_or(0, |tile| {
            tile.elem.bits() * tile.layout.map_or(0, |layout| layout.values())
        })
    }

    /// Loads those of one of so many pieces; `piece` is that of the result.
    pub fn load(
        &self,
        emit: &Emit<'c>,
        (at, pieces): (i64, i64),
        piece: &TileType,
    ) -> Result<IrValue<'c>, SemError> {
        let places = emit.place_of_piece(self.load.at(), (at, pieces))?;
        let again = of_piece(emit, self.load.op(), piece)?;
        for (axis, place) in places.into_iter().enumerate() {
            set_operand(again, 1 + axis, place);
        }
        Ok(result_of(again, 0))
    }

    /// The tile of a piece, of what is loaded for that.
    pub fn repeated(
        &self,
        emit: &Emit<'c>,
        loaded: IrValue<'c>,
        piece: &TileType,
    ) -> Result<IrValue<'c>, SemError> {
        let mut value = loaded;
        for op in self.row.iter().chain([&self.broadcast]) {
            let again = of_piece(emit, *op, piece)?;
            set_operand(again, 0, value);
            value = result_of(again, 0);
        }
        Ok(value)
    }

    /// Erases what loaded them as a whole.
    pub fn erase(&self) {
        remark(
            self.load.op().location(),
            "loaded piece by piece behind the products, as the results leave: in front of them there are no registers for it",
        );
        erase(self.broadcast);
        self.row.iter().rev().for_each(|op| erase(*op));
        erase(self.load.op());
    }
}

/// An operation on all columns, as it is for those of a piece.
fn of_piece<'c>(emit: &Emit<'c>, op: IrOp<'c>, piece: &TileType) -> Result<IrOp<'c>, SemError> {
    let whole = tile_of(op, result_of(op, 0)).map_err(|_| missing())?;
    let mut layout = piece.layout.clone().ok_or_else(missing)?;
    let mut shape = piece.shape.clone();
    if !TileOp::Broadcast.is(op) {
        let row = [1, *shape.last().ok_or_else(missing)?];
        let reduced = layout.reduced(&shape, &row).map_err(SemError::Illegal)?;
        shape = vec![1; whole.shape.len() - 1];
        shape.push(row[1]);
        let reshaped = reduced.reshaped(&row, &shape).map_err(SemError::Illegal)?;
        layout = reshaped.ok_or_else(missing)?;
    }
    let ty = TileType::new(whole.elem, &shape).with_layout(layout);
    let again = emit.ir.insert(clone(op));
    result_of(again, 0).set_type(ty.ir(emit.ir.context()));
    Ok(again)
}

/// Whether a load may be where something is stored behind it: nothing in between writes to its tensor or waits for others.
fn may_be_later<'c>(load: tile::Load<'c>, store: IrOp<'c>) -> bool {
    let tensor = tensor_of(load.view());
    let is_store_elsewhere = |op: IrOp<'c>| {
        tile::Store::of(op).is_some_and(|store| {
            let other = tensor_of(store.view());
            tensor.is_some() && other.is_some() && other != tensor
        })
    };
    let mut behind = std::iter::successors(next_operation(load.op()), |op| next_operation(*op));
    let end = behind.find(|op| *op == store || writes(*op) && !is_store_elsewhere(*op));
    end == Some(store) && is_store_elsewhere(store)
}

/// Whether a load stands in front of a loop, as what `tile-load-early` has moved.
fn is_early(load: IrOp, store: IrOp) -> bool {
    let behind = std::iter::successors(next_operation(load), |op| next_operation(*op));
    let mut until_store = behind.take_while(|op| *op != store);
    until_store.any(is_loop)
}

fn missing() -> SemError {
    SemError::Illegal("is no vector of columns".into())
}
