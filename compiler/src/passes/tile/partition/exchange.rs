//! What threads tell each other through shared memory: those of a block, or those of all blocks of a cluster.
use super::super::emits::Emits;
use super::Partition;
use crate::passes::user_error::user_error;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_frontend::diagnostics::codes;

/// Who is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Block,
    /// Each block has a buffer of its own, and writes to those of all: so nobody reads another one's memory, which may end first.
    Cluster,
}

impl<'c> Partition<'c> {
    /// Writes a number to a place of a buffer, for all to read once they have met.
    pub(super) fn tell(
        &mut self,
        among: Among,
        number: IrValue<'c>,
        buffer: IrValue<'c>,
        at: IrValue<'c>,
    ) -> Result<(), SemError> {
        if among == Among::Block {
            self.ir
                .op(CuteOp::MemrefStore, &[number, buffer, at], &[], &[]);
            return Ok(());
        }
        for rank in 0..self.blocks {
            let rank = self.ir.constant(rank, "i32");
            let theirs = self.cute(CuteOp::MapSharedRank, &[buffer, rank], &Attrs::default())?;
            self.ir
                .op(CuteOp::MemrefStore, &[number, theirs, at], &[], &[]);
        }
        Ok(())
    }

    /// Waits for all threads that are told.
    pub(super) fn meet(&self, among: Among) {
        match among {
            Among::Block => self.barrier(),
            Among::Cluster => {
                let aligned = [("aligned", self.ir.unit())];
                self.ir.op(NvvmOp::ClusterArrive, &[], &aligned, &[]);
                self.ir.op(NvvmOp::ClusterWait, &[], &aligned, &[]);
            }
        }
    }

    /// The parts of a thread's number, as divisor and extent, that are zero in a thread which tells: of a block one in each block does.
    pub(super) fn telling(&self, among: Among, parts: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
        let within = |(first, extent): (i64, i64)| (first, extent.min(self.threads / first));
        match among {
            Among::Cluster => parts,
            Among::Block => {
                let parts = parts.into_iter().map(within);
                parts.filter(|(_, extent)| *extent > 1).collect()
            }
        }
    }

    /// Refuses what a cluster does not do: threads of one block alone know of what is written to its memory.
    pub(super) fn within_a_block(&self, what: &str) -> Result<(), SemError> {
        match self.blocks {
            1 => Ok(()),
            blocks => {
                let message = format!(
                    "{what} goes through the shared memory of one block, but {blocks} share the tile"
                );
                let help = "launch it without `cluster`";
                let text = user_error(codes::ILLEGAL_OPERATION, message, help);
                Err(SemError::Illegal(text))
            }
        }
    }
}
