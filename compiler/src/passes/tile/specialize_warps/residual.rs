//! What an epilogue reads where warpgroups take turns: through the buffers that its result leaves through.
//!
//! A stage of the operands' ring would be filled for it in front of the next tile's operands, which the other warpgroup waits for, and
//! registers of a whole tile are none beside the sums. So a thread of the warpgroup begins the copies of the first pieces when it has the
//! turn, once the stores from the buffers have read them: earlier they would be ahead of operands that the other one waits for. They come
//! under the products. Each is read where its part of the result is computed, which is written over it; a piece that no buffer was left for
//! comes once the store from the oldest has read it.
use super::super::emits::Emits;
use super::super::epilogue_load::by_map;
use super::super::pingpong::{IN_TURN, in_turn};
use super::super::result_store::ByMap;
use super::cursor::{Cursor, behind};
use super::emit::Emit;
use super::epilogue::read_piece;
use super::groups::Group;
use super::results::{BUFFERS, StoredResult, Threads, wait_for_own_reads};
use crate::passes::ir_utils::{defining_op, move_before, next_operation};
use cutec_abi::TensorMapAbi;
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue, operands_of, operation_key, result_of};
use cutec_dialects::ops::{CuteOp, TileOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;
use std::sync::Arc;

/// A load, of the same tile as the kernel's only result.
pub(super) struct Residual<'c> {
    pub load: IrOp<'c>,
    by: ByMap<'c>,
    atom: Arc<TmaAtom>,
    /// How threads read a piece, where that is not by vectors.
    copy: Option<Val>,
    made: Option<Made<'c>>,
}

#[derive(Clone, Copy)]
struct Made<'c> {
    /// The atom with its map, and the result's buffers with the modes of the tensor in their order.
    atom: IrValue<'c>,
    buffers: IrValue<'c>,
    /// Those at which the bytes of the buffers are counted, of all warpgroups, and then of the own.
    barriers: IrValue<'c>,
    /// The buffer of the next piece.
    next: Cursor<'c>,
}

impl<'c> Residual<'c> {
    /// The one of a kernel with these operations and results, if there is one.
    ///
    /// # Errors
    /// What is wrong with the results.
    pub fn of(
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
        results: &[StoredResult<'c>],
    ) -> Result<Option<Self>, SemError> {
        let [result] = results else {
            return Ok(None);
        };
        if in_turn(function) == 1 {
            return Ok(None);
        }
        let groups = Group::all(results)?;
        let taken = |load: IrOp<'c>| groups.iter().any(|group| group.takes(load));
        let mut loads = operations.iter().copied().filter(|op| TileOp::Load.is(*op));
        Ok(loads.find_map(|load| {
            let by = by_map(load, function, operations).filter(|_| taken(load))?;
            let atom = Arc::new(by.tensor_box.load(&by.sums.buffer).ok()?);
            let alike = result.leaves_by_map() && by.sums.has_buffers_of(&result.sums);
            alike.then(|| Residual {
                copy: by.sums.load_copy(),
                load,
                by,
                atom,
                made: None,
            })
        }))
    }

    /// The map, of which `parameter` is to be the number.
    pub fn map(&self) -> TensorMapAbi {
        self.by.tensor_box.map(&self.atom)
    }

    fn buffers(&self) -> i64 {
        BUFFERS.min(self.by.sums.pieces)
    }

    fn made(&self) -> Result<Made<'c>, SemError> {
        self.made
            .ok_or_else(|| SemError::Illegal("has no tensor map".into()))
    }

    /// Makes the barriers, and sees the buffers of the result, which are allocated.
    pub fn allocate(
        &mut self,
        emit: &Emit<'c>,
        result: &StoredResult<'c>,
        parameter: IrValue<'c>,
    ) -> Result<(), SemError> {
        let ty = emit.ir.val_type(&Val::TmaAtom(self.atom.clone()));
        let buffers = self.by.tensor_box.in_order(&emit.ir, result.allocated()?)?;
        self.made = Some(Made {
            atom: emit.ir.value(CuteOp::MakeTmaAtom, &[parameter], &[], ty),
            buffers,
            barriers: emit.barriers(IN_TURN * self.buffers()),
            next: Cursor::of(emit, self.buffers()),
        });
        Ok(())
    }

    /// Initialises the barriers: a buffer is filled by one thread and its bytes.
    pub fn init(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        let barriers = self.made()?.barriers;
        for number in 0..IN_TURN * self.buffers() {
            let operands = [barriers, emit.number(number)?, emit.number(1)?];
            emit.ir.op(CuteOp::MbarrierInit, &operands, &[], &[]);
        }
        Ok(())
    }

    /// What the role of a warpgroup begins with.
    pub fn begin(&mut self, emit: &Emit<'c>, turn: IrValue<'c>) -> Result<(), SemError> {
        let made = self.made()?;
        made.next.begin(emit, 0)?;
        let barriers = emit.part(made.barriers, 0, IN_TURN, turn)?;
        self.made = Some(Made { barriers, ..made });
        Ok(())
    }

    /// Begins the copies of a tile's first pieces, in front of an operation of the kernel's body.
    pub fn fetch(
        &self,
        emit: &mut Emit<'c>,
        result: &StoredResult<'c>,
        threads: Threads<'c>,
        before: IrOp<'c>,
    ) -> Result<(), SemError> {
        hoist(self.by.tensor_box.begins().collect(), before);
        emit.before(before);
        emit.ir.location = self.load.location();
        let next = self.made()?.next;
        emit.only_if(threads.first, |emit| {
            wait_for_own_reads(emit, 0);
            let mut buffer = next.stage(emit)?;
            for number in 0..self.buffers() {
                self.fill(emit, result, threads, number, buffer)?;
                buffer = behind(emit, buffer, self.buffers()).0;
            }
            Ok(())
        })
    }

    /// Begins the copies of a piece to a buffer of the warpgroup.
    fn fill(
        &self,
        emit: &Emit<'c>,
        result: &StoredResult<'c>,
        threads: Threads<'c>,
        number: i64,
        buffer: IrValue<'c>,
    ) -> Result<(), SemError> {
        let made = self.made()?;
        let bytes = emit.number(self.atom.bytes())?;
        let expected = [made.barriers, buffer, bytes];
        emit.ir
            .op(CuteOp::MbarrierArriveExpectTx, &expected, &[], &[]);
        let piece = (number, self.by.sums.pieces);
        let at = (self.by.tensor_box).coordinates_of_piece(&emit.ir, piece, |at| at)?;
        let to = emit.stage(made.buffers, result.buffer_of(emit, threads, buffer))?;
        let copied = [made.atom, at, to, made.barriers, buffer];
        emit.ir.op(CuteOp::Copy, &copied, &[], &[]);
        Ok(())
    }

    /// Reads the piece of a number, the pieces one after the other; `buffer` is that of the last one, and becomes that of this one. The copies
    /// of the piece that takes the last one's buffer are begun first.
    pub fn read_piece(
        &self,
        emit: &mut Emit<'c>,
        result: &StoredResult<'c>,
        threads: Threads<'c>,
        number: i64,
        buffer: &mut Option<IrValue<'c>>,
    ) -> Result<IrValue<'c>, SemError> {
        emit.ir.location = self.load.location();
        let Made { barriers, next, .. } = self.made()?;
        let further = number - 1 + self.buffers();
        if let Some(last) = buffer.filter(|_| further < self.by.sums.pieces) {
            emit.only_if(threads.first, |emit| {
                wait_for_own_reads(emit, 0);
                self.fill(emit, result, threads, further, last)
            })?;
        }
        let own = next.wait(emit, &[barriers])?;
        *buffer = Some(own);
        let lies = result.buffer_of(emit, threads, own);
        let from = [result.allocated()?, lies];
        Ok(read_piece(emit, &self.by.sums, self.copy.as_ref(), from))
    }

    /// The tile.
    pub fn value(&self) -> IrValue<'c> {
        result_of(self.load, 0)
    }
}

/// Moves what values follow from in front of an operation, as far as it stands behind that in its block.
fn hoist<'c>(values: Vec<IrValue<'c>>, before: IrOp<'c>) {
    let behind: Vec<IrOp<'c>> =
        std::iter::successors(Some(before), |op| next_operation(*op)).collect();
    let (mut open, mut needed) = (values, HashSet::new());
    while let Some(value) = open.pop() {
        if let Some(op) = defining_op(value).filter(|op| behind.contains(op))
            && needed.insert(operation_key(op))
        {
            open.extend(operands_of(op));
        }
    }
    for op in behind {
        if needed.contains(&operation_key(op)) {
            move_before(op, before);
        }
    }
}
