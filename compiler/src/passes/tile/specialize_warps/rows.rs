//! What an epilogue reads of a tensor of which there is no tensor map: through the buffers that its result leaves through.
//!
//! In front of the products there were no registers for it. Behind them threads would wait for parts of many sectors, as their sums lie. So they load rows of a piece side by side
//! while the piece before it is computed, write them to the buffer of the result, and read there what belongs to their sums, which the result
//! is written over.
use super::super::coordinate::{self, narrowed};
use super::super::load_early::multiplies;
use super::super::result_store::{InPieces, accessed, is_of_tile};
use super::super::types::tensor_of;
use super::emit::Emit;
use super::epilogue::read_piece;
use super::results::{Group, StoredResult};
use crate::passes::ir_utils::{attributes, next_operation};
use crate::passes::remark;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{ArithOp, TileOp, tile};
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
        let groups = Group::all(results)?;
        let taken = |load: IrOp<'c>, sums: &InPieces| {
            let mut groups = groups.iter().filter(|group| group.takes(load));
            groups.any(|group| group.has_buffers_of(sums))
        };
        let mut others = operations.iter().filter(|op| !by_map.contains(op));
        Ok(others.find_map(|op| {
            let load = tile::Load::of(*op).filter(|load| load.fill().is_none())?;
            let sums = InPieces::of_narrow(*op, operations).filter(|sums| sums.pieces > 1)?;
            let spread = sums.side_by_side(*op, threads)?;
            let late = is_behind_products(*op) && may_be_read_late(load, operations);
            (late && taken(*op, &sums)).then(|| Rows {
                load,
                spread,
                copy: sums.load_copy(),
                sums,
            })
        }))
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
        let at = place_of_piece(emit, self.load.at(), (number, self.sums.pieces))?;
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

/// The coordinate of a piece of so many, of the columns of a tile at another one.
pub(super) fn place_of_piece<'c>(
    emit: &Emit<'c>,
    mut at: Vec<IrValue<'c>>,
    (number, pieces): (i64, i64),
) -> Result<Vec<IrValue<'c>>, SemError> {
    let ir = &emit.ir;
    if let ([.., column], true) = (&mut at[..], pieces > 1) {
        let counted = narrowed(ir, coordinate::number(ir, *column)?);
        let first = emit.binary(ArithOp::Muli, counted, ir.constant(pieces, "i32"));
        *column = emit.binary(ArithOp::Addi, first, ir.constant(number, "i32"));
    }
    Ok(at)
}

/// Whether a load stands behind the products whose results it is for: in front of them it is hidden, and `tile-load-early` has found registers for it.
fn is_behind_products(load: IrOp) -> bool {
    let mut behind = std::iter::successors(next_operation(load), |op| next_operation(*op));
    !behind.any(multiplies)
}

/// Whether what a load reads is still there when its result is stored: nothing writes the tensor but a store of the same tile behind it.
fn may_be_read_late<'c>(load: tile::Load<'c>, operations: &[IrOp<'c>]) -> bool {
    let tensor = tensor_of(load.view());
    let writes = |op: &IrOp<'c>| accessed(*op).and_then(|_| tile::written_view(*op));
    let mut written = operations.iter().filter_map(|op| Some((op, writes(op)?)));
    tensor.is_some()
        && written.all(|(op, view)| {
            tensor_of(view).is_some_and(|of| Some(of) != tensor) || is_of_tile(load.op(), *op)
        })
}
