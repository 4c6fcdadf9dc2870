//! `tile-check-grid-barriers`: all blocks of a launch come to each barrier of theirs, or none does.
//!
//! Before and after: the same. A `tile.grid_barrier` in a branch or a loop whose condition follows from which tile the block has,
//! from what memory holds at places that follow from it, or from which block came last, is an error. What all blocks read
//! at one place is the same for all of them, as arguments are.
//!
//! Precondition: `tile-forward-variables` has run, so that variables which are left in memory are those that loops change.
//! Of those it is asked only whether they ever hold such a number.
use super::known_ops::checked_ops;
use super::types::{Failed, view_of};
use crate::passes::Reported;
use crate::passes::control_flow::{ControlFlow, Structure};
use crate::passes::ir_utils::{for_each_kernel, operations, parent};
use crate::passes::user_error::user_error;
use cutec_dialects::builder::{
    IrOp, IrValue, argument_of, integer_value, operands_of, results_of, value_key,
};
use cutec_dialects::elem::Space;
use cutec_dialects::ops::{CuteOp, TileOp, cute};
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashMap;

/// Why blocks may have different numbers.
#[derive(Clone, Copy)]
enum Cause {
    /// `tile.index` along an axis.
    Index(usize),
    /// What memory holds at a place that follows from `tile.index`.
    Memory,
    /// What elements were before their update, which depends on the order of the blocks.
    Updated,
    /// `tile.arrive`.
    Last,
}

impl Cause {
    fn text(self) -> String {
        match self {
            Cause::Index(axis) => {
                let axis = ["m", "n", "l", "b"].get(axis).copied().unwrap_or("m");
                format!("`tile.{axis}`")
            }
            Cause::Memory => "what a tensor holds at a place of each block's own".into(),
            Cause::Updated => "what a tensor held before an update (`atomic_…`)".into(),
            Cause::Last => "which block came last (`is_last`)".into(),
        }
    }
}

/// Checks the barriers of every kernel of the module.
///
/// # Errors
/// A barrier that not all blocks come to alike; an operation that is not known at the tile level.
pub fn check_grid_barriers<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let all = checked_ops(kernel.function)?;
        let barriers = all.iter().filter(|op| TileOp::GridBarrier.is(**op));
        let barriers: Vec<IrOp<'c>> = barriers.copied().collect();
        if barriers.is_empty() {
            return Ok::<_, Failed>(());
        }
        let mut differ = Differ::default();
        while differ.spread(&all)? {}
        for barrier in barriers {
            let around = std::iter::successors(parent(barrier), |op| parent(*op));
            for op in around {
                if let Some((structure, cause)) = differ.control(op)? {
                    return Err((barrier, refused(structure, cause)));
                }
            }
        }
        Ok(())
    })
}

fn refused(structure: Structure, cause: Cause) -> String {
    let cause = cause.text();
    let message = match structure {
        Structure::For | Structure::While => format!(
            "`grid_barrier` in a loop that blocks may go through differently often: expected a condition that is the same in all blocks, found one that follows from {cause}"
        ),
        Structure::If | Structure::Map => format!(
            "`grid_barrier` in a branch that not all blocks may take: expected a condition that is the same in all blocks, found one that follows from {cause}"
        ),
    };
    let help = "a barrier of all blocks waits for each of them: move it out, and leave in the branch what only some compute";
    user_error(codes::ILLEGAL_OPERATION, message, help)
}

/// What may differ among blocks, and why.
#[derive(Default)]
struct Differ {
    values: HashMap<usize, Cause>,
    /// Variables, by their addresses.
    variables: HashMap<usize, Cause>,
}

impl Differ {
    fn of(&self, value: IrValue) -> Option<Cause> {
        self.values.get(&value_key(value)).copied()
    }

    /// Whether it is news that a value differs.
    fn mark(&mut self, value: IrValue, cause: Option<Cause>) -> bool {
        let key = value_key(value);
        match cause {
            Some(cause) if !self.values.contains_key(&key) => {
                self.values.insert(key, cause);
                true
            }
            _ => false,
        }
    }

    /// Why blocks may go through an operation with regions differently.
    fn control<'c>(&self, op: IrOp<'c>) -> Result<Option<(Structure, Cause)>, Failed<'c>> {
        let flow = ControlFlow::of(op).map_err(|message| (op, message));
        // The function and the modules around it have regions, too.
        let Ok(Some(flow)) = flow else {
            return Ok(None);
        };
        let condition = match flow.structure {
            Structure::If => operands_of(op).next().and_then(|it| self.of(it)),
            Structure::For => operands_of(op).take(3).find_map(|it| self.of(it)),
            Structure::While => {
                let end = flow.regions.first().and_then(|it| operations(*it).pop());
                let condition = end.and_then(|end| operands_of(end).next());
                condition.and_then(|it| self.of(it))
            }
            Structure::Map => None,
        };
        Ok(condition.map(|cause| (flow.structure, cause)))
    }

    /// Why blocks may come differently often to an operation.
    fn around<'c>(&self, op: IrOp<'c>) -> Result<Option<Cause>, Failed<'c>> {
        let around = std::iter::successors(parent(op), |op| parent(*op));
        for op in around {
            if let Some((_, cause)) = self.control(op)? {
                return Ok(Some(cause));
            }
        }
        Ok(None)
    }

    /// Goes through all operations once; whether more is known to differ.
    fn spread<'c>(&mut self, all: &[IrOp<'c>]) -> Result<bool, Failed<'c>> {
        let mut news = false;
        for &op in all {
            if let Some(flow) = ControlFlow::of(op).map_err(|message| (op, message))? {
                for (from, to) in flow.edges.iter().flat_map(|edge| &edge.forwarded) {
                    news |= self.mark(*to, self.of(*from));
                }
                let cause = self.control(op)?.map(|(_, cause)| cause);
                let inside = || {
                    // What a function of elements takes from outside differs as its results do.
                    let ops = flow.regions.iter().flat_map(|block| operations(*block));
                    let mut values = ops.flat_map(operands_of);
                    values.find_map(|value| self.of(value))
                };
                let cause = match flow.structure {
                    Structure::Map => operands_of(op).find_map(|it| self.of(it)).or_else(inside),
                    Structure::For | Structure::While | Structure::If => cause,
                };
                for result in results_of(op) {
                    news |= self.mark(result, cause);
                }
                if flow.structure == Structure::For {
                    let index = flow.regions.first().filter(|it| it.argument_count() > 0);
                    let bounds = [0, 2].map(|at| operands_of(op).nth(at));
                    let cause = bounds.into_iter().flatten().find_map(|it| self.of(it));
                    if let Some(block) = index {
                        news |= self.mark(argument_of(*block, 0), cause);
                    }
                }
                continue;
            }
            let taken = operands_of(op).find_map(|value| self.of(value));
            if let Some(store) = cute::MemrefStore::of(op)
                && is_variable(store.view())
            {
                let cause = taken.or(self.around(op)?);
                let key = value_key(store.view());
                if let (Some(cause), false) = (cause, self.variables.contains_key(&key)) {
                    self.variables.insert(key, cause);
                    news = true;
                }
                continue;
            }
            let cause = match TileOp::of(op) {
                Some(TileOp::Index) => {
                    let axis = op.attribute("axis").ok().and_then(integer_value);
                    let axis = axis.and_then(|axis| usize::try_from(axis).ok());
                    Some(Cause::Index(axis.unwrap_or(0)))
                }
                Some(TileOp::Atomic) => Some(Cause::Updated),
                Some(TileOp::Arrive) => Some(Cause::Last),
                Some(TileOp::Load | TileOp::Windows) => taken.map(|_| Cause::Memory),
                _ => match cute::MemrefLoad::of(op) {
                    Some(load) if is_variable(load.view()) => {
                        self.variables.get(&value_key(load.view())).copied()
                    }
                    Some(_) if CuteOp::MemrefLoad.is(op) => taken.map(|_| Cause::Memory),
                    _ => taken,
                },
            };
            for result in results_of(op) {
                news |= self.mark(result, cause);
            }
        }
        Ok(news)
    }
}

/// Whether a view is of registers.
fn is_variable(view: IrValue) -> bool {
    view_of(view).is_some_and(|view| view.ptr.space == Space::Rmem)
}
