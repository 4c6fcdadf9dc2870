//! What results take of vectors of their columns, as a bias or the weights of a norm: piece by piece, where the pieces leave.
//!
//! `tile-load-early` moves such a vector in front of the products, into registers that it has as a whole, as far as there are any. What stands
//! behind them is loaded for one piece under what is computed of the one before.
use super::super::coordinate::{Coordinate, number};
use super::emit::Emit;
use crate::passes::ir_utils::{
    clone, defining_op, erase, next_operation, same_block, set_operand, users,
};
use crate::passes::remark;
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of};
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use melior::ir::{ValueLike, operation::OperationLike};

/// A vector of columns, repeated along the rows of a result.
pub(super) struct Columns<'c> {
    /// What loads it, computes of it and reshapes it, and repeats it at the end.
    chain: Vec<IrOp<'c>>,
    /// The axis of the load along which the columns are.
    axis: usize,
}

impl<'c> Columns<'c> {
    /// Those that a tile is, where nothing takes it but the maps of what is stored behind it.
    pub fn of(value: IrValue<'c>, store: IrOp<'c>, maps: &[IrOp<'c>]) -> Option<Self> {
        let mut chain = vec![defining_op(value).filter(|op| TileOp::Broadcast.is(*op))?];
        let columns = *tile_type(value)?.shape.last()?;
        let is_vector = |tile: &TileType| {
            tile.shape.contains(&columns) && tile.shape.iter().product::<i64>() == columns
        };
        let load = loop {
            let op = *chain.last()?;
            if let Some(load) = tile::Load::of(op) {
                break load;
            }
            let kind = matches!(
                TileOp::of(op),
                Some(TileOp::Broadcast | TileOp::Reshape | TileOp::Map)
            );
            let input = match operands_of(op).collect::<Vec<_>>()[..] {
                [input] if kind && users(input).len() == 1 => input,
                _ => return None,
            };
            tile_type(input).filter(is_vector)?;
            chain.push(defining_op(input)?);
        };
        chain.reverse();
        let extents = tile_type(load.result())?.shape;
        let axis = extents.iter().position(|extent| *extent == columns)?;
        let behind = std::iter::successors(next_operation(load.op()), |op| next_operation(*op));
        let is_loop = |op: &IrOp<'c>| matches!(ScfOp::of(*op), Some(ScfOp::For | ScfOp::While));
        let mut until = behind.skip_while(|op| *op != store && !is_loop(op));
        let late = same_block(load.op(), store) && until.next() == Some(store);
        let alone = users(value).iter().all(|user| maps.contains(user));
        let by_tile = !Coordinate::of(load.op()).ok()?.is_offset(axis);
        (late && alone && by_tile).then_some(Columns { chain, axis })
    }

    /// The tile that they are repeated to.
    pub fn value(&self) -> Option<IrValue<'c>> {
        Some(result_of(*self.chain.last()?, 0))
    }

    /// Loads those of one of so many pieces; `piece` is that of the result.
    pub fn load(
        &self,
        emit: &Emit<'c>,
        (at, pieces): (i64, i64),
        piece: &TileType,
    ) -> Result<IrValue<'c>, SemError> {
        let first = *self.chain.first().ok_or_else(missing)?;
        let load = tile::Load::of(first).ok_or_else(missing)?;
        let tile = number(&emit.ir, load.at()[self.axis])?;
        let count = |number: i64| emit.ir.constant_of(number, tile.r#type());
        let before = emit.binary(ArithOp::Muli, tile, count(pieces));
        let place = emit.binary(ArithOp::Addi, before, count(at));
        let again = self.again(emit, first, piece)?;
        set_operand(again, 1 + self.axis, place);
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
        for op in &self.chain[1..] {
            let again = self.again(emit, *op, piece)?;
            set_operand(again, 0, value);
            value = result_of(again, 0);
        }
        Ok(value)
    }

    /// An operation of the chain for the columns of a piece.
    fn again(&self, emit: &Emit<'c>, op: IrOp<'c>, piece: &TileType) -> Result<IrOp<'c>, SemError> {
        let whole = tile_type(result_of(op, 0)).ok_or_else(missing)?;
        let columns = *piece.shape.last().ok_or_else(missing)?;
        let shape: Vec<i64> = match TileOp::Broadcast.is(op) {
            true => piece.shape.clone(),
            false => {
                let extents = whole.shape.iter();
                extents
                    .map(|extent| if *extent == 1 { 1 } else { columns })
                    .collect()
            }
        };
        let row = [1, columns];
        let layout = piece.layout.as_ref().ok_or_else(missing)?;
        let layout = match TileOp::Broadcast.is(op) {
            true => Some(layout.clone()),
            false => {
                let row_layout = layout
                    .reduced(&piece.shape, &row)
                    .map_err(SemError::Illegal)?;
                row_layout
                    .reshaped(&row, &shape)
                    .map_err(SemError::Illegal)?
            }
        };
        let ty = TileType::new(whole.elem, &shape).with_layout(layout.ok_or_else(missing)?);
        let again = emit.ir.insert(clone(op));
        result_of(again, 0).set_type(ty.ir(emit.ir.context()));
        Ok(again)
    }

    /// Erases what loaded them as a whole.
    pub fn erase(&self) {
        if let Some(load) = self.chain.first() {
            remark(
                load.location(),
                "loaded piece by piece behind the products, as the results leave: in front of them there are no registers for it",
            );
        }
        self.chain.iter().rev().for_each(|op| erase(*op));
    }
}

fn tile_type(tile: IrValue) -> Option<TileType> {
    TileType::of(tile.r#type())?.ok()
}

fn missing() -> SemError {
    SemError::Illegal("is no vector of columns".into())
}
