//! `insert-barriers`: a barrier wherever threads would meet in a buffer without one, and nowhere else.
//!
//! Before: `tile.copy`, `tile.read` and `tile.write` on buffers in shared memory, with the waits of their
//! copies. After: `nvvm.barrier0` before each access that another thread's could collide with.
//!
//! A walk over the kernel keeps which accesses no barrier has separated from what follows. An access
//! collides with an earlier one of the same stage where either writes. In a pipelined loop the stages of
//! a buffer go round: `tile.round` of an access says of which round it is, counted from the one that the
//! loop computes; rounds share a stage where they are a multiple of the number of stages apart. What
//! `tile.copy` writes is written for the others when its thread has waited for it.
use super::types::{Failed, operand, view_of};
use crate::passes::walk::{all_inside, blocks, kernels, name_of, operations};
use crate::passes::{Reported, report};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, integer_value, operation_key, value_key,
};
use cutec_dialects::target::Target;
use melior::Context;
use melior::ir::operation::OperationLike;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The attribute of an access in a pipelined loop.
pub(super) const ROUND: &str = "tile.round";

/// Groups of copies that are told apart; of more, the oldest count as one.
const MOST_GROUPS: usize = 32;

/// Inserts the barriers of every kernel of the module.
pub fn insert_barriers(context: &Context, module: IrOp, _target: &Target) -> Result<(), Reported> {
    for (_, functions) in kernels(module) {
        for function in functions {
            let mut walk = Walk::default();
            for block in blocks(function, 0) {
                let state = walk.block(block, State::default());
                state.map_err(|(op, message): (IrOp, String)| report(op.location(), message))?;
            }
            let mut operations = Vec::new();
            all_inside(function, &mut operations);
            // SAFETY: the context outlives the module.
            let context: &Context = unsafe { &*std::ptr::from_ref(context) };
            for op in operations {
                if walk.before.contains(&operation_key(op)) {
                    let mut ir = OpBuilder::new(context, Insertion::Before(op));
                    ir.location = op.location();
                    ir.op("nvvm.barrier0", &[], &[], &[]);
                }
            }
        }
    }
    Ok(())
}

/// A stage of a buffer; of an unknown round it may be any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    buffer: usize,
    stages: i64,
    round: Option<i64>,
}

impl Slot {
    fn meets(&self, other: &Slot) -> bool {
        let together = |one: i64, other: i64| (one - other).rem_euclid(self.stages) == 0;
        self.buffer == other.buffer
            && match (self.round, other.round) {
                (Some(one), Some(other)) => together(one, other),
                _ => true,
            }
    }

    /// The same seen from the next round of a loop.
    fn next_round(&self) -> Slot {
        let round = self.round.map(|round| round - 1);
        Slot { round, ..*self }
    }

    /// The same where it is not known any more which round it was.
    fn any_round(&self) -> Slot {
        Slot {
            round: None,
            ..*self
        }
    }
}

/// What is under way at a place of the program.
#[derive(Clone, Default, PartialEq)]
struct State {
    /// Accesses since the last barrier, and whether they write.
    since: BTreeSet<(Slot, bool)>,
    /// Groups of copies that the thread has not waited for, the oldest first.
    groups: Vec<BTreeSet<Slot>>,
    /// Copies that are not in a group yet.
    open: BTreeSet<Slot>,
}

impl State {
    fn map(&self, change: impl Fn(&Slot) -> Slot + Copy) -> State {
        let all = |slots: &BTreeSet<Slot>| slots.iter().map(change).collect();
        State {
            since: self
                .since
                .iter()
                .map(|(slot, write)| (change(slot), *write))
                .collect(),
            groups: self.groups.iter().map(all).collect(),
            open: all(&self.open),
        }
    }

    /// What may be under way where two ways meet.
    fn join(mut self, other: State) -> State {
        self.since.extend(other.since);
        self.open.extend(other.open);
        // Waits count from the newest group.
        let missing = other.groups.len().saturating_sub(self.groups.len());
        self.groups
            .splice(0..0, std::iter::repeat_n(BTreeSet::new(), missing));
        for (own, others) in self
            .groups
            .iter_mut()
            .rev()
            .zip(other.groups.into_iter().rev())
        {
            own.extend(others);
        }
        self
    }
}

#[derive(Default)]
struct Walk {
    /// Operations that need a barrier before them.
    before: HashSet<usize>,
    /// Stages of each buffer.
    stages: HashMap<usize, i64>,
}

impl Walk {
    fn block<'c>(&mut self, block: IrBlock<'c>, mut state: State) -> Result<State, Failed<'c>> {
        for op in operations(block) {
            state = self.operation(op, state)?;
        }
        Ok(state)
    }

    fn operation<'c>(&mut self, op: IrOp<'c>, mut state: State) -> Result<State, Failed<'c>> {
        match name_of(op).as_str() {
            "tile.read" => self.access(op, operand(op, 0)?, &mut state, false),
            "tile.write" => self.access(op, operand(op, 1)?, &mut state, true),
            "tile.copy" => {
                let buffer = operand(op, op.operand_count().saturating_sub(2))?;
                let slot = self.slot(op, buffer);
                self.separate(op, &slot, true, &mut state);
                state.open.insert(slot);
            }
            "nvvm.cp.async.commit.group" => {
                let group = std::mem::take(&mut state.open);
                state.groups.push(group);
                // A loop that never waits comes to an end here as well.
                if state.groups.len() > MOST_GROUPS {
                    let oldest = state.groups.remove(0);
                    state.groups[0].extend(oldest);
                }
            }
            "nvvm.cp.async.wait.group" => {
                let left = op.attribute("n").ok().and_then(integer_value).unwrap_or(0);
                let done = state.groups.len().saturating_sub(left.max(0) as usize);
                let done = state.groups.drain(..done).flatten();
                state.since.extend(done.map(|slot| (slot, true)));
            }
            "nvvm.barrier0" => state.since.clear(),
            "scf.for" => return self.rounds(op, state),
            "scf.if" => {
                let mut after = None;
                for region in 0..op.region_count() {
                    let mut branch = state.clone();
                    for block in blocks(op, region) {
                        branch = self.block(block, branch)?;
                    }
                    after = Some(match after {
                        None => branch,
                        Some(other) => branch.join(other),
                    });
                }
                return Ok(after.unwrap_or(state));
            }
            _ => {}
        }
        Ok(state)
    }

    /// A loop: until neither what is under way where a round begins nor the barriers change.
    fn rounds<'c>(&mut self, op: IrOp<'c>, before: State) -> Result<State, Failed<'c>> {
        let mut begin = before;
        loop {
            let barriers = self.before.len();
            let mut end = begin.clone();
            for block in blocks(op, 0) {
                end = self.block(block, end)?;
            }
            let next = begin.clone().join(limited(end.map(Slot::next_round)));
            if next == begin && barriers == self.before.len() {
                return Ok(begin.join(end).map(Slot::any_round));
            }
            begin = next;
        }
    }

    fn access<'c>(&mut self, op: IrOp<'c>, buffer: IrValue<'c>, state: &mut State, write: bool) {
        let slot = self.slot(op, buffer);
        self.separate(op, &slot, write, state);
        state.since.insert((slot, write));
    }

    /// Asks for a barrier where an access collides with one that came before.
    fn separate(&mut self, op: IrOp, slot: &Slot, write: bool, state: &mut State) {
        let collides = |(other, wrote): &(Slot, bool)| (write || *wrote) && slot.meets(other);
        if self.before.contains(&operation_key(op)) || state.since.iter().any(collides) {
            self.before.insert(operation_key(op));
            state.since.clear();
        }
    }

    fn slot<'c>(&mut self, op: IrOp<'c>, buffer: IrValue<'c>) -> Slot {
        let stages = *self.stages.entry(value_key(buffer)).or_insert_with(|| {
            let view = view_of(buffer);
            let last = view.and_then(|view| {
                let layout = view.layout.inner().clone();
                let last = layout.mode(layout.rank().saturating_sub(1))?;
                last.size().as_static()
            });
            last.unwrap_or(1).max(1)
        });
        let round = op.attribute(ROUND).ok().and_then(integer_value);
        Slot {
            buffer: value_key(buffer),
            stages,
            // Rounds that share a stage are one.
            round: if stages == 1 { None } else { round },
        }
    }
}

/// What was long ago may have been in any round: so that a loop comes to an end.
fn limited(state: State) -> State {
    state.map(|slot| match slot.round {
        Some(round) if round < -2 * slot.stages => slot.any_round(),
        _ => *slot,
    })
}
