//! What an epilogue reads of a tensor of which there is no tensor map: through the buffers that its result leaves through.
//!
//! In front of the products there were no registers for it. Behind them threads would wait for parts of many sectors, as their sums lie. So they load rows of a piece side by side
//! while the piece before it is computed, write them to the buffer of the result, and read there what belongs to their sums, which the result
//! is written over.
use super::super::load_early::multiplies;
use super::super::result_store::{InPieces, may_be_read_late};
use super::emit::Emit;
use super::epilogue::read_piece;
use super::groups::Group;
use super::results::StoredResult;
use crate::passes::ir_utils::{attributes, next_operation};
use crate::passes::remark;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::{BY_ELEMENT, TileLayout};
use cutec_dialects::value::Val;
use melior::ir::operation::OperationLike;

/// A load of a tile as a result that leaves in pieces.
pub(super) struct Rows<'c> {
    load: tile::Load<'c>,
    sums: InPieces,
    /// How threads load a piece.
    spread: TileLayout,
    /// How they read it as their sums lie, where that is not by vectors.
    copy: Option<Val>,
}

impl<'c> Rows<'c> {
    /// The one of a kernel with these operations, some of which are loads by maps, and results, of so many threads that share a tile, if there is
    /// one.
    ///
    /// # Errors
    /// What is wrong with the results.
    pub fn of(
        operations: &[IrOp<'c>],
        by_map: &[IrOp<'c>],
        results: &[StoredResult<'c>],
        threads: i64,
    ) -> Result<Option<Self>, SemError> {
        let others = operations.iter().filter(|op| !by_map.contains(op));
        let late = others.filter_map(|op| {
            let load = tile::Load::of(*op).filter(|load| load.fill().is_none())?;
            let sums = InPieces::of_narrow(*op, operations).filter(|sums| sums.pieces > 1)?;
            let late = is_behind_products(*op) && may_be_read_late(load, operations);
            let spread = sums.side_by_side(*op, threads).filter(|_| late)?;
            Some(Rows {
                load,
                spread,
                copy: sums.load_copy(),
                sums,
            })
        });
        for rows in late {
            let groups = Group::all(results)?;
            let mut taking = groups.iter().filter(|group| group.takes(rows.load()));
            if taking.any(|group| group.has_buffers_of(&rows.sums)) {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    pub fn load(&self) -> IrOp<'c> {
        self.load.op()
    }

    /// The tile.
    pub fn value(&self) -> IrValue<'c> {
        result_of(self.load(), 0)
    }

    /// Says that it is read so.
    pub fn say(&self) {
        remark(
            self.load().location(),
            "rows are loaded piece by piece behind the products, through the buffers of the result, since there is no tensor map of them",
        );
    }

    /// Loads rows of a piece, if there is one of this number.
    pub fn load_piece(
        &self,
        emit: &Emit<'c>,
        number: i64,
    ) -> Result<Option<IrValue<'c>>, SemError> {
        if number >= self.sums.pieces {
            return Ok(None);
        }
        let ir = &emit.ir;
        let at = emit.place_of_piece(self.load.at(), (number, self.sums.pieces))?;
        let operands = [&[self.load.view()], &at[..]].concat();
        let attrs = attributes(self.load(), &["hints", BY_ELEMENT]);
        let piece = self.sums.piece.clone().with_layout(self.spread.clone());
        Ok(Some(ir.value(
            TileOp::Load,
            &operands,
            &attrs,
            piece.ir(ir.context()),
        )))
    }

    /// A piece as threads hold their sums, by way of a buffer.
    pub fn read(
        &self,
        emit: &Emit<'c>,
        rows: IrValue<'c>,
        [buffers, stage]: [IrValue<'c>; 2],
    ) -> IrValue<'c> {
        emit.ir.op(TileOp::Write, &[rows, buffers, stage], &[], &[]);
        read_piece(emit, &self.sums, self.copy.as_ref(), [buffers, stage])
    }
}

/// Whether a load stands behind the products whose results it is for: in front of them it is hidden, and `tile-load-early` has found registers for it.
fn is_behind_products(load: IrOp) -> bool {
    let mut behind = std::iter::successors(next_operation(load), |op| next_operation(*op));
    !behind.any(multiplies)
}
