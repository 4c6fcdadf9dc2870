//! `insert-barriers`: a barrier between accesses of different threads to the same memory, and nowhere else.
//!
//! Before: `tile.copy_async`, `tile.read` and `tile.write` on buffers in shared memory, with the waits for their
//! groups, and `tile.load` and `tile.store` on tensors. After: `nvvm.barrier0` before each access that another
//! thread's could collide with. Precondition: every tile has its layout, and loops are pipelined.
//!
//! A dataflow analysis over the control flow of the kernel keeps which accesses no barrier has separated from what
//! follows. An access conflicts with an earlier one of the same memory where either writes.
//!
//! - `stage`: stages of buffers. In a pipelined loop they rotate: `tile.iteration` of an access says of which iteration it
//!   is, counted from the one that the loop computes; iterations share a stage where they are a multiple of the number
//!   of stages apart. What `tile.copy_async` writes is written for the others when its thread has waited for it. What a write marked
//!   `tile.own` writes over its warp alone has read, or its warpgroup, which has barriers of its own for it.
//! - `tensor`: tensors in global memory that the kernel writes.
mod stage;
mod tensor;

use super::known_ops::{KnownOp, is_of_elements, known_op, known_ops};
use super::lower_tokens::chosen_mechanism;
use super::types::{Failed, present};
use crate::passes::Reported;
use crate::passes::control_flow::{Edge, Forward, Point, Structure, forward};
use crate::passes::ir_utils::{blocks, collect_nested, for_each_kernel, remove_attribute};
use cutec_dialects::atoms::Mechanism;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, operation_key, result_of, value_key,
};
use cutec_dialects::ops::{NvvmOp, cute, tile};
use cutec_dialects::tile::TileOp;
use melior::Context;
use melior::ir::operation::OperationLike;
use stage::Stage;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use tensor::{Effect, TensorAccess, Tensors};

pub(super) use stage::{ITERATION, OWN};
pub(super) use tensor::{TILES_OF_LAUNCH, written_tensors};

/// Inserts the barriers of every kernel of the module.
pub fn insert_barriers<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        of_function(kernel.context, kernel.function)
    })
}

fn of_function<'c>(context: &'c Context, function: IrOp<'c>) -> Result<(), Failed<'c>> {
    let known = known_ops(function)?;
    let operations: Vec<IrOp<'c>> = known.iter().map(|(op, _)| *op).collect();
    let mut analysis = Analysis {
        before: HashSet::new(),
        stages: HashMap::new(),
        tensors: Tensors::of(&operations),
    };
    for block in blocks(function, 0) {
        if !operations.is_empty() {
            forward(&mut analysis, block, State::default())?;
        }
    }
    for (op, kind) in known {
        if matches!(kind, KnownOp::ControlFlow) {
            remove_attribute(op, TILES_OF_LAUNCH);
        }
        if analysis.before.contains(&operation_key(op)) {
            let mut ir = OpBuilder::new(context, Insertion::Before(op));
            ir.location = op.location();
            ir.op(NvvmOp::Barrier0, &[], &[], &[]);
        }
    }
    Ok(())
}

/// An access to memory that threads share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Stage { stage: Stage, writes: bool },
    Tensor(TensorAccess),
}

/// What is known at a place of the program.
#[derive(Clone, Default, PartialEq)]
struct State {
    /// Accesses since the last barrier. Shared by the states of places between which nothing changes.
    since: Rc<BTreeSet<Access>>,
    /// What each token stands for: accesses of copies that the thread has not waited for. A token that was passed on
    /// stands for nothing any more.
    begun: Rc<BTreeMap<usize, BTreeSet<Access>>>,
}

impl State {
    /// The state with other names for what was accessed.
    fn map(
        &self,
        stage: impl Fn(&Stage) -> Stage + Copy,
        tensor: impl Fn(&TensorAccess) -> TensorAccess,
    ) -> State {
        let access = |access: &Access| match access {
            Access::Stage { stage: of, writes } => Access::Stage {
                stage: stage(of),
                writes: *writes,
            },
            Access::Tensor(access) => Access::Tensor(tensor(access)),
        };
        let begun = self.begun.iter();
        State {
            since: Rc::new(self.since.iter().map(access).collect()),
            begun: Rc::new(
                begun
                    .map(|(token, accesses)| (*token, accesses.iter().map(access).collect()))
                    .collect(),
            ),
        }
    }

    fn insert(&mut self, access: Access) {
        Rc::make_mut(&mut self.since).insert(access);
    }

    fn begin(&mut self, token: usize, accesses: BTreeSet<Access>) {
        Rc::make_mut(&mut self.begun).insert(token, accesses);
    }
}

struct Analysis<'c> {
    /// Operations that need a barrier before them.
    before: HashSet<usize>,
    /// Stages of each buffer.
    stages: HashMap<usize, i64>,
    tensors: Tensors<'c>,
}

impl<'c> Forward<'c> for Analysis<'c> {
    type State = State;
    type Error = Failed<'c>;

    fn transfer(&mut self, op: IrOp<'c>, mut state: State) -> Result<State, Failed<'c>> {
        let failed = |message: String| (op, message);
        match known_op(op).map_err(failed)? {
            KnownOp::Tile(tile) => self.tile(op, tile, &mut state)?,
            // All elements of a tile are read at once (`enter`).
            KnownOp::ReadGlobal if is_of_elements(op) => {}
            KnownOp::ReadGlobal => {
                let view = present(op, cute::MemrefLoad::of(op))?.view();
                self.of_tensor(op, view, Effect::Read, &mut state)?;
            }
            KnownOp::Barrier => state.since = Rc::default(),
            KnownOp::CopyGroup => {
                return Err((op, "expects tile.commit and tile.wait in its place".into()));
            }
            // A barrier of a warp orders nothing that other warps do.
            KnownOp::ControlFlow
            | KnownOp::Register
            | KnownOp::Buffer
            | KnownOp::Computation
            | KnownOp::WarpBarrier
            | KnownOp::ProductGroup
            | KnownOp::Ring
            | KnownOp::Report => {}
        }
        Ok(state)
    }

    /// What a function of elements reads, each thread has its own branches for: a barrier stands in front of all of it.
    fn enter(
        &mut self,
        op: IrOp<'c>,
        structure: Structure,
        mut state: State,
    ) -> Result<State, Failed<'c>> {
        if structure != Structure::Map || is_of_elements(op) {
            return Ok(state);
        }
        let mut inside = Vec::new();
        collect_nested(op, &mut inside);
        let mut accesses = Vec::new();
        for (op, read) in inside
            .into_iter()
            .filter_map(|op| Some((op, cute::MemrefLoad::of(op)?)))
        {
            let access = self.tensors.access(op, read.view(), Effect::Read);
            accesses.extend(access.map_err(|message| (op, message))?.map(Access::Tensor));
        }
        for access in &accesses {
            self.separate(op, access, &mut state);
        }
        for access in accesses {
            state.insert(access);
        }
        Ok(state)
    }

    fn join(&self, mut one: State, other: State) -> State {
        if !Rc::ptr_eq(&one.since, &other.since) {
            Rc::make_mut(&mut one.since).extend(other.since.iter());
        }
        if !Rc::ptr_eq(&one.begun, &other.begun) {
            let begun = Rc::make_mut(&mut one.begun);
            for (token, accesses) in other.begun.iter() {
                begun.entry(*token).or_default().extend(accesses);
            }
        }
        one
    }

    fn along(&self, op: IrOp<'c>, structure: Structure, edge: &Edge<'c>, state: &State) -> State {
        let tensor = |access: &TensorAccess| match edge.is_back_edge {
            true => self.tensors.next_iteration(access, op),
            false => *access,
        };
        let mut there = match structure {
            // Iterations are counted in the loop that was pipelined.
            Structure::For if edge.is_back_edge => state.map(Stage::next_iteration, tensor),
            Structure::For if edge.to == Point::Outside => state.map(Stage::any_iteration, tensor),
            Structure::While if edge.is_back_edge => state.map(Stage::any_iteration, tensor),
            Structure::For | Structure::While | Structure::If | Structure::Map => state.clone(),
        };
        if edge.is_back_edge && op.attribute(TILES_OF_LAUNCH).is_ok() {
            let is_of_buffer = |access: &Access| matches!(access, Access::Stage { .. });
            Rc::make_mut(&mut there.since).retain(is_of_buffer);
        }
        // All at once: a loop may exchange what it carries.
        let forwarded = edge.forwarded.iter();
        let passed: Vec<_> = forwarded
            .filter_map(|(token, there_as)| {
                there.begun.get(&value_key(*token))?;
                let accesses = Rc::make_mut(&mut there.begun).remove(&value_key(*token))?;
                Some((value_key(*there_as), accesses))
            })
            .collect();
        for (token, accesses) in passed {
            there.begin(token, accesses);
        }
        there
    }

    fn decisions(&self) -> usize {
        self.before.len()
    }

    fn unknown(&self, op: IrOp<'c>, message: String) -> Failed<'c> {
        (op, message)
    }
}

impl<'c> Analysis<'c> {
    fn tile(&mut self, op: IrOp<'c>, kind: TileOp, state: &mut State) -> Result<(), Failed<'c>> {
        match kind {
            TileOp::Read => {
                let read = present(op, tile::Read::of(op))?;
                self.of_stage(op, read.buffer(), state, false);
            }
            TileOp::Write => {
                let write = present(op, tile::Write::of(op))?;
                self.of_stage(op, write.buffer(), state, true);
            }
            TileOp::CopyAsync => {
                let copy = present(op, tile::CopyAsync::of(op))?;
                self.copy(op, copy.buffer(), Some(copy.view()), state)?;
            }
            // Of tensors that the kernel does not write.
            TileOp::GatherAsync => {
                let gathered = present(op, tile::GatherAsync::of(op))?;
                self.copy(op, gathered.buffer(), None, state)?;
            }
            TileOp::Commit => {
                let mut group = BTreeSet::new();
                for copy in present(op, tile::Commit::of(op))?.copies() {
                    group.extend(begun(op, copy, state)?);
                }
                state.begin(value_key(result_of(op, 0)), group);
            }
            TileOp::Wait => {
                for group in present(op, tile::Wait::of(op))?.groups() {
                    let complete = begun(op, group, state)?;
                    Rc::make_mut(&mut state.since).extend(complete);
                    // It may be waited for again.
                    state.begin(value_key(group), BTreeSet::new());
                }
            }
            TileOp::Load => {
                let load = present(op, tile::Load::of(op))?;
                self.of_tensor(op, load.view(), Effect::Read, state)?;
            }
            TileOp::Store => {
                let store = present(op, tile::Store::of(op))?;
                let effect = match store.atomic() {
                    Some(_) => Effect::Atomic,
                    None => Effect::Write,
                };
                let view = store.view();
                self.check_begun(op, view, effect, state)?;
                self.of_tensor(op, view, effect, state)?;
            }
            TileOp::Scatter => {
                let scatter = present(op, tile::Scatter::of(op))?;
                let effect = match scatter.atomic() {
                    Some(_) => Effect::Atomic,
                    None => Effect::Write,
                };
                let view = scatter.view();
                self.check_begun(op, view, effect, state)?;
                self.of_tensor(op, view, effect, state)?;
            }
            TileOp::Atomic => {
                let view = present(op, tile::Atomic::of(op))?.view();
                self.check_begun(op, view, Effect::Atomic, state)?;
                self.of_tensor(op, view, Effect::Atomic, state)?;
            }
            // Of tensors that the kernel does not write, to memory of each thread's own.
            TileOp::LoadAsync | TileOp::Take => {}
            // All threads of the block come together.
            TileOp::Arrive | TileOp::GridBarrier => state.since = Rc::default(),
            TileOp::Index
            | TileOp::Grid
            | TileOp::Windows
            | TileOp::Splat
            | TileOp::Iota
            | TileOp::Map
            | TileOp::Yield
            | TileOp::Reduce
            | TileOp::Fold
            | TileOp::Scan
            | TileOp::Gather
            | TileOp::Broadcast
            | TileOp::Reshape
            | TileOp::Transpose
            | TileOp::Recast
            | TileOp::Extract
            | TileOp::Print
            | TileOp::Dot
            | TileOp::ConvertLayout
            | TileOp::Slice
            | TileOp::Join => {}
        }
        Ok(())
    }

    /// A copy is begun: its stage must not be in use, and the tensor not be about to be written.
    fn copy(
        &mut self,
        op: IrOp<'c>,
        buffer: IrValue<'c>,
        view: Option<IrValue<'c>>,
        state: &mut State,
    ) -> Result<(), Failed<'c>> {
        match chosen_mechanism(op).map_err(|message| (op, message))? {
            // Who waits for it sees it; the other threads need a barrier, and the same proxy.
            Some(Mechanism::CpAsyncGroup | Mechanism::WgmmaGroup) | None => {}
        }
        let writes = Access::Stage {
            stage: Stage::of(op, buffer, &mut self.stages),
            writes: true,
        };
        self.separate(op, &writes, state);
        let mut accesses = BTreeSet::from([writes]);
        let reads = match view {
            Some(view) => self.tensors.access(op, view, Effect::Read),
            None => Ok(None),
        };
        if let Some(reads) = reads.map_err(|message| (op, message))? {
            let reads = Access::Tensor(reads);
            self.separate(op, &reads, state);
            accesses.insert(reads);
        }
        state.begin(value_key(result_of(op, 0)), accesses);
        Ok(())
    }

    /// A copy reads at any time until it is waited for: what it reads must not be written before.
    fn check_begun(
        &mut self,
        op: IrOp<'c>,
        view: IrValue<'c>,
        effect: Effect,
        state: &State,
    ) -> Result<(), Failed<'c>> {
        let access = self.tensors.access(op, view, effect);
        let Some(now) = access.map_err(|message| (op, message))? else {
            return Ok(());
        };
        let mut begun = state.begun.values().flatten();
        let reads_it = |access: &Access| match access {
            Access::Tensor(before) => self.tensors.may_overlap(&now, before),
            Access::Stage { .. } => false,
        };
        match begun.any(reads_it) {
            false => Ok(()),
            true => {
                let message = "writes what an asynchronous copy may still read; expected a tile.wait for it before";
                Err((op, message.into()))
            }
        }
    }

    fn of_stage(&mut self, op: IrOp<'c>, buffer: IrValue<'c>, state: &mut State, writes: bool) {
        let stage = Stage::of(op, buffer, &mut self.stages);
        let access = Access::Stage { stage, writes };
        if op.attribute(OWN).is_err() {
            self.separate(op, &access, state);
        }
        state.insert(access);
    }

    fn of_tensor(
        &mut self,
        op: IrOp<'c>,
        view: IrValue<'c>,
        effect: Effect,
        state: &mut State,
    ) -> Result<(), Failed<'c>> {
        let access = self.tensors.access(op, view, effect);
        if let Some(access) = access.map_err(|message| (op, message))? {
            let access = Access::Tensor(access);
            self.separate(op, &access, state);
            state.insert(access);
        }
        Ok(())
    }

    /// Asks for a barrier where an access conflicts with one that came before.
    fn separate(&mut self, op: IrOp, access: &Access, state: &mut State) {
        let since = &state.since;
        let conflicts = match access {
            Access::Stage { stage, writes } => {
                let (first, last) = stage.of_buffer();
                let [first, last] = [(first, false), (last, true)]
                    .map(|(stage, writes)| Access::Stage { stage, writes });
                since.range(first..=last).any(|other| match other {
                    Access::Stage {
                        stage: other,
                        writes: wrote,
                    } => (*writes || *wrote) && stage.overlaps(other),
                    Access::Tensor(_) => false,
                })
            }
            Access::Tensor(now) => self.tensors.conflicts(now, since),
        };
        if conflicts || self.before.contains(&operation_key(op)) {
            self.before.insert(operation_key(op));
            state.since = Rc::default();
        }
    }
}

/// What a token stands for; it is passed on, and stands for nothing from here on.
fn begun<'c>(
    op: IrOp<'c>,
    token: IrValue<'c>,
    state: &mut State,
) -> Result<BTreeSet<Access>, Failed<'c>> {
    let accesses = Rc::make_mut(&mut state.begun).remove(&value_key(token));
    accesses.ok_or_else(|| {
        let message =
            "takes a token that was passed on before; expected the one that it has become";
        (op, message.into())
    })
}
