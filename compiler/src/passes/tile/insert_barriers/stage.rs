//! Accesses to a stage of a buffer in shared memory.
use crate::passes::tile::types::view_of;
use cutec_dialects::builder::{IrOp, IrValue, integer_value, value_key};
use melior::ir::operation::OperationLike;
use std::collections::HashMap;

/// The attribute of an access in a pipelined loop: which iteration it belongs to, counted from the one that the
/// loop computes.
pub(in crate::passes::tile) const ITERATION: &str = "tile.iteration";

/// The attribute of a write to places that no other warp has read since the last barrier before they were written, or that one warpgroup
/// alone accesses, whose own barriers order that.
pub(in crate::passes::tile) const OWN: &str = "tile.own";

/// A stage of a buffer; of an unknown iteration it may be any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stage {
    buffer: usize,
    stages: i64,
    iteration: Option<i64>,
}

impl Stage {
    /// The stage that an operation accesses.
    pub fn of(op: IrOp, buffer: IrValue, stages_of: &mut HashMap<usize, i64>) -> Stage {
        let stages = *stages_of.entry(value_key(buffer)).or_insert_with(|| {
            let view = view_of(buffer);
            let last = view.and_then(|view| {
                let layout = view.layout.inner().clone();
                let last = layout.mode(layout.rank().saturating_sub(1))?;
                last.size().as_static()
            });
            last.unwrap_or(1).max(1)
        });
        let iteration = op.attribute(ITERATION).ok().and_then(integer_value);
        Stage {
            buffer: value_key(buffer),
            stages,
            // Iterations that share a stage are one.
            iteration: if stages == 1 { None } else { iteration },
        }
    }

    /// From the first to the last of a buffer, in their order.
    pub fn of_buffer(self) -> (Stage, Stage) {
        let first = Stage {
            stages: i64::MIN,
            iteration: None,
            ..self
        };
        let last = Stage {
            stages: i64::MAX,
            iteration: Some(i64::MAX),
            ..self
        };
        (first, last)
    }

    /// Whether two may be the same memory.
    pub fn overlaps(&self, other: &Stage) -> bool {
        let together = |one: i64, other: i64| (one - other).rem_euclid(self.stages) == 0;
        self.buffer == other.buffer
            && match (self.iteration, other.iteration) {
                (Some(one), Some(other)) => together(one, other),
                _ => true,
            }
    }

    /// The same seen from the next iteration of a loop. What was long ago may have been in any: so the analysis ends.
    pub fn next_iteration(&self) -> Stage {
        let iteration = self.iteration.map(|iteration| iteration - 1);
        Stage {
            iteration: iteration.filter(|iteration| *iteration >= -2 * self.stages),
            ..*self
        }
    }

    /// The same where it is not known any more which iteration it was.
    pub fn any_iteration(&self) -> Stage {
        Stage {
            iteration: None,
            ..*self
        }
    }
}
