//! A place in a ring of stages.
use super::emit::{Emit, Slot};
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::SemError;

/// A stage of a ring and the phase of its barriers, as one role counts them.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'c> {
    stages: i64,
    index: Option<Slot<'c>>,
    phase: Slot<'c>,
}

impl<'c> Cursor<'c> {
    pub fn of(emit: &Emit<'c>, stages: i64) -> Self {
        Cursor {
            stages,
            index: (stages > 1).then(|| emit.slot()),
            phase: emit.slot(),
        }
    }

    pub fn begin(&self, emit: &Emit<'c>, phase: i64) -> Result<(), SemError> {
        if let Some(index) = self.index {
            emit.set(index, emit.ir.constant(0, "i32"))?;
        }
        emit.set(self.phase, emit.ir.constant(phase, "i32"))
    }

    /// The number of the next stage.
    pub fn stage(&self, emit: &Emit<'c>) -> Result<IrValue<'c>, SemError> {
        match self.index {
            Some(index) => emit.get(index),
            None => Ok(emit.ir.constant(0, "i32")),
        }
    }

    /// Waits at the barriers of the next stage, and gives its number.
    pub fn wait(&self, emit: &Emit<'c>, barriers: &[IrValue<'c>]) -> Result<IrValue<'c>, SemError> {
        let stage = self.stage(emit)?;
        let phase = emit.get(self.phase)?;
        for barriers in barriers {
            emit.ir
                .op(CuteOp::MbarrierWait, &[*barriers, stage, phase], &[], &[]);
        }
        let turns = match self.index {
            Some(index) => {
                let (next, wraps) = behind(emit, stage, self.stages);
                emit.set(index, next)?;
                emit.ir
                    .value(ArithOp::Extui, &[wraps], &[], emit.ir.ty("i32"))
            }
            None => emit.ir.constant(1, "i32"),
        };
        emit.set(self.phase, emit.binary(ArithOp::Xori, phase, turns))?;
        Ok(stage)
    }

    /// Leaves out so many stages, which others read.
    pub fn skip(&self, emit: &Emit<'c>, count: IrValue<'c>) -> Result<(), SemError> {
        let turns = match self.index {
            Some(index) => {
                let stages = emit.ir.constant(self.stages, "i32");
                let reached = emit.binary(ArithOp::Addi, emit.get(index)?, count);
                emit.set(index, emit.binary(ArithOp::Remui, reached, stages))?;
                emit.binary(ArithOp::Divui, reached, stages)
            }
            None => count,
        };
        let odd = emit.binary(ArithOp::Andi, turns, emit.ir.constant(1, "i32"));
        let phase = emit.get(self.phase)?;
        emit.set(self.phase, emit.binary(ArithOp::Xori, phase, odd))
    }
}

/// The stage behind one, and whether it is the first.
pub(super) fn behind<'c>(
    emit: &Emit<'c>,
    stage: IrValue<'c>,
    stages: i64,
) -> (IrValue<'c>, IrValue<'c>) {
    let next = emit.binary(ArithOp::Addi, stage, emit.ir.constant(1, "i32"));
    let wraps = emit.equal(next, stages);
    let first = emit.ir.constant(0, "i32");
    let next = emit.ir.value(
        ArithOp::Select,
        &[wraps, first, next],
        &[],
        emit.ir.ty("i32"),
    );
    (next, wraps)
}
