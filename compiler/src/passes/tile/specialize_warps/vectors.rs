//! Vectors that a warp of its own loads, beside the one that begins the copies of operands: each lane loads some of their elements to
//! registers, what lies outside is what they are filled with, and stores them to a stage. So it waits for memory in place of those that
//! multiply, as many rounds ahead as there are stages.
use super::super::computed_operand::stage_bytes;
use super::super::emits::Emits;
use super::super::types::tile_of;
use super::elements::coordinate;
use super::emit::Emit;
use super::producer::Role;
use super::ring::Ring;
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::defining_op;
use cutec_dialects::builder::{IrValue, operands_of};
use cutec_dialects::ops::{ArithOp, CuteOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARP;
use melior::ir::operation::OperationLike;

/// A vector that a loop loads.
pub(super) struct Vector<'c> {
    pub load: tile::Load<'c>,
    /// Bytes of a stage.
    pub bytes: i64,
}

impl<'c> Vector<'c> {
    /// What a write takes, as it is loaded or as a column.
    pub fn of_write(write: tile::Write<'c>) -> Option<Self> {
        let taken = operands_of(write.op()).next()?;
        let column = defining_op(taken).filter(|op| TileOp::Reshape.is(*op));
        let loaded = column.map_or(Some(taken), |op| operands_of(op).next())?;
        Some(Vector {
            load: tile::Load::defining(loaded)?,
            bytes: stage_bytes(&tile_of(write.op(), taken).ok()?),
        })
    }
}

/// How many elements a lane has under way before it stores the first.
const AT_ONCE: usize = 8;

/// The elements of a vector that the lanes of a warp load at once, one each.
struct Line<'c> {
    load: tile::Load<'c>,
    shape: Vec<i64>,
    buffer: IrValue<'c>,
    /// The lane's element.
    number: IrValue<'c>,
    /// How many lanes have one.
    lanes: i64,
}

impl<'c> Role<'_, 'c> {
    /// Loads the vectors of a ring to its next stage, beside those that tensor maps bring: the first elements are under way while it waits for that.
    pub fn carry(
        &mut self,
        ring: &Ring<'c>,
        coordinates: &[Vec<Vec<IrValue<'c>>>],
    ) -> Result<(), SemError> {
        let lane = self.emit.lane();
        let mut lines = Vec::new();
        for (buffer, vector) in ring.vectors() {
            let load = vector.load;
            let tile = tile_of(load.op(), load.result());
            let tile = tile.map_err(|(_, message)| SemError::Illegal(message))?;
            for first in (0..tile.size()).step_by(WARP as usize) {
                let ahead = self.emit.ir.constant(first, "i32");
                lines.push(Line {
                    load,
                    shape: tile.shape.clone(),
                    buffer,
                    number: self.emit.binary(ArithOp::Addi, lane, ahead),
                    lanes: WARP.min(tile.size() - first),
                });
            }
        }
        let mut free = None;
        for lines in lines.chunks(AT_ONCE) {
            let mut held = Vec::new();
            for line in lines {
                self.emit.ir.location = line.load.op().location();
                held.push(self.element_of_lane(line)?);
            }
            let stage = match free {
                Some(stage) => stage,
                None => {
                    let stage = ring.next_free(self.emit)?;
                    self.begin_copies(ring, stage, coordinates)?;
                    *free.insert(stage)
                }
            };
            for (line, value) in lines.iter().zip(held) {
                let store = |emit: &mut Emit<'c>| {
                    let to = emit.stage(line.buffer, stage)?;
                    let at = coordinate(emit, &[line.number, emit.ir.constant(0, "i32")]);
                    emit.ir.op(CuteOp::MemrefStore, &[value, to, at], &[], &[]);
                    Ok(())
                };
                if line.lanes == WARP {
                    store(self.emit)?;
                } else {
                    let lanes = self.emit.ir.constant(line.lanes, "i32");
                    let has_one = self.emit.compare(LESS, lane, lanes);
                    self.emit.only_if(has_one, store)?;
                }
            }
        }
        match free {
            Some(stage) => ring.filled_by_warp(self.emit, stage),
            None => Ok(()),
        }
    }

    fn element_of_lane(&mut self, line: &Line<'c>) -> Result<IrValue<'c>, SemError> {
        let place = line.shape.iter().map(|extent| match extent {
            1 => self.emit.ir.constant(0, "i32"),
            _ => line.number,
        });
        let place: Vec<IrValue<'c>> = place.collect();
        self.element_of(line.load, &place)
    }
}
