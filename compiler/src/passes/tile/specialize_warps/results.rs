//! Results that leave by tensor maps.
use super::super::emits::Emits;
use super::super::result_store::ByMap;
use super::super::stages::widen;
use super::emit::Emit;
use crate::passes::ir_utils::erase;
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use melior::ir::operation::OperationLike;
use std::sync::Arc;

/// Buffers of a result that leaves in pieces: one is written while the other is read.
const BUFFERS: i64 = 2;

/// A store, and the buffers that it goes through.
pub(super) struct StoredResult<'c> {
    store: IrOp<'c>,
    pub by: ByMap<'c>,
    pub atom: Arc<TmaAtom>,
    /// The atom with its map, and the buffers.
    made: Option<[IrValue<'c>; 2]>,
}

impl<'c> StoredResult<'c> {
    /// The stores of a kernel with these operations.
    pub fn all(function: IrOp<'c>, operations: &[IrOp<'c>]) -> Vec<Self> {
        let stores = operations
            .iter()
            .copied()
            .filter(|op| TileOp::Store.is(*op));
        let found = stores.filter_map(|store| {
            let by = ByMap::of(store, function, operations)?;
            let atom = Arc::new(by.tensor_box.store(&by.buffer).ok()?);
            Some(StoredResult {
                store,
                by,
                atom,
                made: None,
            })
        });
        found.collect()
    }

    fn buffers(&self) -> i64 {
        BUFFERS.min(self.by.pieces)
    }

    /// Bytes of the buffers.
    pub fn bytes(&self) -> i64 {
        self.buffers() * self.atom.bytes()
    }

    /// Allocates the buffers, for a map that is passed as a parameter.
    pub fn allocate(&mut self, emit: &Emit<'c>, map: IrValue<'c>) -> Result<(), SemError> {
        let ty = emit.ir.val_type(&Val::TmaAtom(self.atom.clone()));
        let made = emit.ir.value(CuteOp::MakeTmaAtom, &[map], &[], ty);
        let ty = emit.ir.val_type(&Val::View(self.by.buffer.clone()));
        let buffer = emit.ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty);
        widen(&emit.ir, buffer, self.buffers()).map_err(SemError::Illegal)?;
        self.made = Some([made, buffer]);
        Ok(())
    }

    /// Stores by the map, piece by piece: all threads write to a buffer once what was stored from it has been read, then one
    /// begins the copy.
    pub fn emit(&self, emit: &mut Emit<'c>, leads: IrValue<'c>) -> Result<(), SemError> {
        let missing = || SemError::Illegal("is no store by a map".into());
        let [made, buffers] = self.made.ok_or_else(missing)?;
        let value = tile::Store::of(self.store).ok_or_else(missing)?.value();
        let ByMap { piece, pieces, .. } = &self.by;
        emit.before(self.store);
        emit.ir.location = self.store.location();
        for number in 0..*pieces {
            // With an odd number of pieces the first buffer of a tile was the last one of the tile before.
            let same = number == 0 && pieces % BUFFERS == 1;
            wait_for_reads(emit, leads, if same { 0 } else { 1 })?;
            emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
            let stage = emit.ir.constant(number % BUFFERS, "i32");
            let held = match *pieces {
                1 => value,
                _ => {
                    let offsets = emit.ir.i64_array(&[0, number * piece.shape[1]]);
                    let ty = piece.ir(emit.ir.context());
                    emit.ir
                        .value(TileOp::Slice, &[value], &[("offsets", offsets)], ty)
                }
            };
            emit.ir.op(TileOp::Write, &[held, buffers, stage], &[], &[]);
            let fence = [
                ("kind", emit.ir.attr("#nvvm.proxy_kind<async.shared>")),
                ("space", emit.ir.attr("#nvvm.shared_space<cta>")),
            ];
            emit.ir.op(NvvmOp::FenceProxy, &[], &fence, &[]);
            emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
            emit.only_if(leads, |emit| {
                let here = &*emit;
                let place = |axis: Option<usize>, value: IrValue<'c>| match axis {
                    Some(1) if *pieces > 1 => {
                        let count = here.ir.constant(*pieces, "i32");
                        let first = here.binary(ArithOp::Muli, value, count);
                        here.binary(ArithOp::Addi, first, here.ir.constant(number, "i32"))
                    }
                    _ => value,
                };
                let to = self.by.tensor_box.coordinates(&here.ir, place)?;
                let from = here.stage(buffers, stage)?;
                here.ir.op(CuteOp::Copy, &[made, from, to], &[], &[]);
                here.ir.op(NvvmOp::CpAsyncBulkCommitGroup, &[], &[], &[]);
                Ok(())
            })?;
        }
        erase(self.store);
        Ok(())
    }
}

/// Waits until one thread's stores have read what they store, but for the last so many.
pub(super) fn wait_for_reads<'c>(
    emit: &mut Emit<'c>,
    leads: IrValue<'c>,
    left: i32,
) -> Result<(), SemError> {
    emit.only_if(leads, |emit| {
        let left = [("group", emit.ir.i32(left)), ("read", emit.ir.unit())];
        emit.ir.op(NvvmOp::CpAsyncBulkWaitGroup, &[], &left, &[]);
        Ok(())
    })
}
