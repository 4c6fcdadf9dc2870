//! `tile-lower-tokens`: asynchronous copies complete by a mechanism of the machine.
//!
//! Before: `tile.copy_async` gives a token, `tile.commit` makes a group of some, `tile.wait` waits for groups; loops and
//! branches carry tokens. After: the instructions of the mechanism in their place, and no token is used. Precondition:
//! barriers are inserted, since `insert-barriers` follows tokens.
//!
//! Which mechanism it is, the atom of the copy says ([`Mechanism`]). Everything that depends on it is in two functions:
//! how work is committed ([`commit`]), and how a thread waits for it ([`wait`]).
//! For groups of `cp.async`, which complete in their order, a thread waits until so many younger ones are left: a
//! dataflow analysis counts how many are committed behind each on every way to the wait, and takes the least.
use super::known_ops::checked_ops;
use super::types::{Failed, present};
use crate::passes::Reported;
use crate::passes::control_flow::{Edge, Forward, Structure, forward};
use crate::passes::ir_utils::{
    blocks, borrowed, collect_nested, erase, for_each_kernel, named_attributes, replace_all_uses,
};
use cutec_dialects::atoms::{Completion, Mechanism};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, operands_of, operation_key,
    result_of, results_of, value_key,
};
use cutec_dialects::ir::type_attribute;
use cutec_dialects::ops::{NvvmOp, ScfOp, tile};
use cutec_dialects::tile::{TileOp, is_token};
use melior::Context;
use melior::ir::{BlockLike, Region, ValueLike, operation::OperationLike};
use std::collections::{BTreeMap, HashMap};

/// Lowers the tokens of every kernel of the module.
pub fn lower_tokens<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        of_function(kernel.context, kernel.function)
    })
}

/// How the copies of an operation complete.
fn mechanism_of(copy: IrOp) -> Result<Mechanism, String> {
    chosen_mechanism(copy)?.ok_or_else(|| "has no `copy`; run tile-stage-operands first".into())
}

/// How the copies of an operation complete, by the atom that it names; `None` where it names none yet.
pub(super) fn chosen_mechanism(copy: IrOp) -> Result<Option<Mechanism>, String> {
    let val = match type_attribute(copy, "copy") {
        None => return Ok(None),
        Some(val) => val.map_err(|error| error.to_string())?,
    };
    let Some(atom) = val.copy_atom() else {
        let found = val.describe();
        return Err(format!(
            "expects a copy atom or a tiled copy, but got {found}"
        ));
    };
    match atom.completion() {
        Completion::Later(mechanism) => Ok(Some(mechanism)),
        Completion::AtOnce => Err(format!("{val} copies at once: nothing waits for it")),
    }
}

/// Commits what the thread has begun to a group.
fn commit(mechanism: Mechanism, ir: &OpBuilder) {
    match mechanism {
        Mechanism::CpAsyncGroup => {
            ir.op(NvvmOp::CpAsyncCommitGroup, &[], &[], &[]);
        }
        Mechanism::WgmmaGroup => {
            ir.op(NvvmOp::WgmmaCommitGroup, &[], &[], &[]);
        }
    }
}

/// Waits for a group, behind which so many younger ones were committed.
fn wait(mechanism: Mechanism, ir: &OpBuilder, younger: u32) {
    match mechanism {
        Mechanism::CpAsyncGroup => {
            let left = ir.integer(younger.into(), ir.integer_type(32));
            ir.op(NvvmOp::CpAsyncWaitGroup, &[], &[("n", left)], &[]);
        }
        Mechanism::WgmmaGroup => {
            let left = [("group", ir.i64(younger.into()))];
            ir.op(NvvmOp::WgmmaWaitGroup, &[], &left, &[]);
        }
    }
}

fn of_function<'c>(context: &'c Context, function: IrOp<'c>) -> Result<(), Failed<'c>> {
    let operations = checked_ops(function)?;
    let mut groups = Groups::default();
    for block in blocks(function, 0) {
        if !operations.is_empty() {
            forward(&mut groups, block, State::new())?;
        }
    }
    let (mut waits, mut commits) = (Vec::new(), Vec::new());
    for op in operations.iter().copied() {
        let mut ir = OpBuilder::new(context, Insertion::Before(op));
        ir.location = op.location();
        for action in groups.actions.get(&operation_key(op)).into_iter().flatten() {
            match action {
                Action::Commit(mechanism) => commit(*mechanism, &ir),
                Action::Wait(mechanism, younger) => wait(*mechanism, &ir, *younger),
            }
        }
        match TileOp::of(op) {
            Some(TileOp::Commit) => commits.push(op),
            Some(TileOp::Wait) => waits.push(op),
            _ => {}
        }
    }
    waits.into_iter().for_each(erase);
    drop_tokens(context, &operations_left(function));
    commits.into_iter().for_each(erase);
    Ok(())
}

/// What is to be done at an operation.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    Commit(Mechanism),
    Wait(Mechanism, u32),
}

/// What a token stands for.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    /// A copy that is in no group yet.
    Copy(Mechanism),
    /// A group, and how many younger ones of its mechanism there are at least.
    Group(Mechanism, u32),
}

/// The tokens at a place of the program.
type State = BTreeMap<usize, Token>;

/// Counts the groups behind each.
#[derive(Default)]
struct Groups {
    /// What is done at commits and waits, by the operation; as of the last time that the analysis came there.
    actions: HashMap<usize, Vec<Action>>,
}

impl<'c> Forward<'c> for Groups {
    type State = State;
    type Error = Failed<'c>;

    fn transfer(&mut self, op: IrOp<'c>, mut state: State) -> Result<State, Failed<'c>> {
        match TileOp::of(op) {
            Some(TileOp::CopyAsync | TileOp::GatherAsync) => {
                let mechanism = mechanism_of(op).map_err(|message| (op, message))?;
                state.insert(value_key(result_of(op, 0)), Token::Copy(mechanism));
            }
            Some(TileOp::Commit) => {
                let mechanism = committed(op, &state)?;
                for token in state.values_mut() {
                    if let Token::Group(of, younger) = token
                        && *of == mechanism
                    {
                        *younger += 1;
                    }
                }
                state.insert(value_key(result_of(op, 0)), Token::Group(mechanism, 0));
                let actions = vec![Action::Commit(mechanism)];
                self.actions.insert(operation_key(op), actions);
            }
            Some(TileOp::Wait) => {
                let waited = waited(op, &state)?;
                let actions = waited.into_iter();
                let actions = actions.map(|(mechanism, younger)| Action::Wait(mechanism, younger));
                self.actions.insert(operation_key(op), actions.collect());
            }
            _ => {}
        }
        Ok(state)
    }

    fn join(&self, mut one: State, other: State) -> State {
        for (key, token) in other {
            let joined = match (one.get(&key), token) {
                (Some(Token::Group(a, one)), Token::Group(b, other)) if *a == b => {
                    Token::Group(b, other.min(*one))
                }
                _ => token,
            };
            one.insert(key, joined);
        }
        one
    }

    fn along(&self, _: IrOp<'c>, _: Structure, edge: &Edge<'c>, state: &State) -> State {
        let mut there = state.clone();
        for (value, forwarded) in &edge.forwarded {
            if let Some(token) = state.get(&value_key(*value)) {
                there.insert(value_key(*forwarded), *token);
            }
        }
        there
    }

    fn unknown(&self, op: IrOp<'c>, message: String) -> Failed<'c> {
        (op, message)
    }
}

/// The mechanism of the copies of a group.
fn committed<'c>(op: IrOp<'c>, state: &State) -> Result<Mechanism, Failed<'c>> {
    let mut found = None;
    for copy in present(op, tile::Commit::of(op))?.copies() {
        let mechanism = match state.get(&value_key(copy)) {
            Some(Token::Copy(mechanism)) => *mechanism,
            Some(Token::Group(..)) => return Err((op, "expects copies, but got a group".into())),
            None => return Err((op, "expects copies that are begun before it".into())),
        };
        if found.is_some_and(|found| found != mechanism) {
            let message = "expects copies that complete by one mechanism";
            return Err((op, message.into()));
        }
        found = Some(mechanism);
    }
    found.ok_or_else(|| (op, "expects at least one copy".into()))
}

/// What is waited for, of each mechanism up to the youngest group; without groups what `cp.async` copies.
fn waited<'c>(op: IrOp<'c>, state: &State) -> Result<BTreeMap<Mechanism, u32>, Failed<'c>> {
    let groups = present(op, tile::Wait::of(op))?.groups();
    let mut waited: BTreeMap<Mechanism, u32> = BTreeMap::new();
    if groups.is_empty() {
        waited.insert(Mechanism::CpAsyncGroup, 0);
    }
    for group in groups {
        match state.get(&value_key(group)) {
            Some(Token::Group(mechanism, younger)) => {
                let least = waited.entry(*mechanism).or_insert(*younger);
                *least = (*least).min(*younger);
            }
            Some(Token::Copy(_)) => {
                return Err((op, "expects groups, but got a copy; commit it first".into()));
            }
            None => return Err((op, "expects groups that are committed before it".into())),
        }
    }
    Ok(waited)
}

/// The operations of a kernel, in order.
fn operations_left<'c>(function: IrOp<'c>) -> Vec<IrOp<'c>> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    operations
}

/// Lets control flow carry no tokens.
fn drop_tokens<'c>(context: &'c Context, operations: &[IrOp<'c>]) {
    // First nothing uses them but commits, then nothing gives them.
    for op in operations {
        if TileOp::of(*op).is_some() {
            continue;
        }
        let all: Vec<IrValue<'c>> = operands_of(*op).collect();
        let kept: Vec<_> = all
            .iter()
            .filter(|value| !is_token(value.r#type()))
            .map(|value| value.to_raw())
            .collect();
        if kept.len() < all.len() {
            // SAFETY: the operation and the values are alive.
            unsafe {
                mlir_sys::mlirOperationSetOperands(op.to_raw(), kept.len() as isize, kept.as_ptr());
            }
        }
    }
    for op in operations {
        let inside = (0..op.region_count()).flat_map(|region| blocks(*op, region));
        inside.for_each(drop_token_arguments);
        let results = results_of(*op);
        let gives_tokens = results.into_iter().any(|result| is_token(result.r#type()));
        if TileOp::of(*op).is_none() && gives_tokens {
            without_token_results(context, *op);
        }
    }
}

fn drop_token_arguments(block: IrBlock) {
    for index in (0..block.argument_count()).rev() {
        if is_token(argument_of(block, index).r#type()) {
            // SAFETY: the block is alive, and nothing uses the argument any more.
            unsafe { mlir_sys::mlirBlockEraseArgument(block.to_raw(), index as u32) };
        }
    }
}

/// Puts an operation of control flow in the place of one that gives tokens besides.
fn without_token_results<'c>(context: &'c Context, op: IrOp<'c>) {
    let Some(kind) = ScfOp::of(op) else { return };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let operands: Vec<IrValue<'c>> = operands_of(op).collect();
    let kept: Vec<IrValue<'c>> = results_of(op)
        .filter(|result| !is_token(result.r#type()))
        .collect();
    let types: Vec<_> = kept.iter().map(|result| result.r#type()).collect();
    let attrs = named_attributes(op);
    let attrs = borrowed(&attrs);
    let regions: Vec<Region> = (0..op.region_count())
        .map(|index| {
            let region = Region::new();
            if let Ok(old) = op.region(index) {
                use melior::ir::RegionLike;
                // SAFETY: both regions are alive.
                unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw()) };
            }
            region
        })
        .collect();
    let new = ir.op_with_regions(kind, &operands, &attrs, &types, regions);
    for (index, result) in kept.into_iter().enumerate() {
        replace_all_uses(result, result_of(new, index));
    }
    erase(op);
}
