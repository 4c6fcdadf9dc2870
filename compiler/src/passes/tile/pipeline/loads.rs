//! A loop without products that says how deep it is, or that the cost model makes two iterations deep: its tiles are loaded iterations
//! ahead, into registers (`registers.rs`), or to memory of each thread's own (`own_memory.rs`).
//!
//! Where the loop says nothing, only one that writes no tensor loads ahead: of two tensors that share memory, what another iteration
//! wrote is read as it stands in the program.
use super::numbers::Numbers;
use super::own_memory;
use super::plan::PLACE;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    blocks, collect_nested, constant_of, defining_op, function_block_size, is_in_block, operations,
};
use crate::passes::kernel_abi::min_blocks;
use crate::passes::remark;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::registers::{Peak, for_bits};
use crate::passes::tile::rematerialize::{Bounds, Rematerialization, loads_of_written, may_write};
use crate::passes::tile::stages::{depth_of, is_pipelined};
use crate::passes::tile::types::{Failed, present, tile_of};
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, OpBuilder, operation_key, result_of};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ScfOp, TileOp, tile};
use cutec_dialects::target::{Target, registers_of_thread};
use cutec_dialects::tile::TileType;
use cutec_dialects::tile::cost_model::{Ahead, Waits};
use melior::Context;
use melior::ir::ValueLike;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// Registers that a thread holds before anything is loaded ahead.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// In a loop, and anywhere.
    inside: i64,
    peak: i64,
}

impl Held {
    /// Those of a loop, of what is held where in its kernel.
    pub fn of(of: IrOp, held: &[Peak]) -> Self {
        let most = |held: &mut dyn Iterator<Item = &Peak>| {
            for_bits(held.map(|held| held.all).max().unwrap_or(0))
        };
        let inside =
            |held: &&Peak| held.op == of || loops_around(held.op).any(|around| around == of);
        Held {
            inside: most(&mut held.iter().filter(inside)),
            peak: most(&mut held.iter()),
        }
    }
}

/// A loop of which some loads are made iterations ahead.
pub(super) struct Loads<'c> {
    pub(super) function: IrOp<'c>,
    pub(super) of: IrOp<'c>,
    pub(super) body: IrBlock<'c>,
    pub(super) loads: Vec<IrOp<'c>>,
    /// What their places depend on, that an iteration loads.
    pub(super) numbers: Numbers<'c>,
    /// Those from tensors that the kernel writes.
    strict: HashSet<usize>,
    /// Iterations that are under way, the one computed included, and where they wait.
    pub(super) stages: i64,
    waits: Waits,
}

impl<'c> Loads<'c> {
    /// The loads of a loop that can be made ahead; `None` where there are none, or it is not to be.
    pub fn of(
        of: IrOp<'c>,
        (function, target): (IrOp<'c>, &Target),
        held: Held,
    ) -> Result<Option<Self>, Failed<'c>> {
        let said = depth_of(of)?;
        let Some(body) = blocks(of, 0).into_iter().next() else {
            return Ok(None);
        };
        if !is_pipelined(of) && !streams(of, function) {
            return Ok(None);
        }
        let (mut loads, mut fetches, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for load in operations(body) {
            if !TileOp::Load.is(load) {
                continue;
            }
            let view = present(load, tile::Load::of(load))?.view();
            let at = Coordinate::of(load).map_err(|message| (load, message))?;
            let in_the_way = match (Rematerialization { body }).numbers_to_bring(view, &at) {
                _ if may_write(of, view) => "the loop may write to its tensor",
                Some(needed) => {
                    loads.push(load);
                    fetches.push((load, view));
                    numbers.extend(needed);
                    continue;
                }
                None => PLACE,
            };
            if is_pipelined(of) {
                remark(load.location(), format!("not loaded ahead: {in_the_way}"));
            }
        }
        if loads.is_empty() {
            return Ok(None);
        }
        let moving = moving(body, &loads)?;
        let ahead = Ahead {
            shared: match is_pipelined(of) {
                true => own_memory::room(function, &moving, said, target)?,
                false => None,
            },
            ..ahead(&loads, held)?
        };
        let (stages, waits) = match said {
            Some(stages) => {
                let threads = function_block_size(function).unwrap_or(1);
                let registers = registers_of_thread(threads, min_blocks(function));
                (stages, ahead.pinned(stages, registers))
            }
            None => ahead.chosen(),
        };
        if said.is_none() || waits == Waits::Shared {
            remark(of.location(), ahead.reason(stages, waits));
        }
        let loads = match waits {
            Waits::Registers => loads,
            Waits::Shared => moving,
        };
        let plan = Loads {
            function,
            of,
            body,
            loads,
            numbers: Numbers::of(body, numbers),
            strict: loads_of_written(function, fetches.into_iter()),
            stages,
            waits,
        };
        Ok((stages > 1).then_some(plan))
    }

    /// Rewrites the loop.
    pub fn apply(self, context: &'c Context) -> Result<(), Failed<'c>> {
        match self.waits {
            Waits::Registers => self.in_registers(context),
            Waits::Shared => self.in_own_memory(context),
        }
    }

    /// Where the tiles of the iteration with an index lie, of a loop up to a bound, whose numbers are known; nothing is read from beyond the last
    /// one.
    pub(super) fn places(
        &self,
        ir: &mut OpBuilder<'c>,
        iteration: (IrValue<'c>, IrValue<'c>),
        numbers: &[IrValue<'c>],
    ) -> Result<Vec<Place<'c>>, Failed<'c>> {
        let (repeat, around) = (Rematerialization { body: self.body }, ir.location);
        let (mut places, mut clones) = (Vec::new(), self.numbers.known(numbers));
        for load in &self.loads {
            ir.location = load.location();
            let old = Coordinate::of(*load).map_err(|message| (*load, message))?;
            let tile = TileType::of(result_of(*load, 0).r#type());
            let extent = |axis: usize| match &tile {
                Some(Ok(tile)) => tile.shape.get(axis).copied(),
                _ => None,
            };
            let view = present(*load, tile::Load::of(*load))?.view();
            let moves = defining_op(view).is_some_and(|op| is_in_block(op, self.body));
            let strict = moves || self.strict.contains(&operation_key(*load));
            let view = repeat.for_index(ir, view, iteration.0, &mut clones)?;
            let at = repeat.coordinate(ir, &old, extent, iteration, strict, &mut clones)?;
            places.push(Place { view, at });
        }
        ir.location = around;
        Ok(places)
    }
}

/// Where a tile lies that is loaded ahead.
pub(super) struct Place<'c> {
    pub view: IrValue<'c>,
    pub at: Vec<IrValue<'c>>,
}

/// Whether a loop of which nothing is said may load ahead: it goes through tiles one behind the other, more than the two that would be under
/// way, and writes nothing; no product is in its kernel, whose registers are for sums and operands.
fn streams<'c>(of: IrOp<'c>, function: IrOp<'c>) -> bool {
    let (mut inside, mut all) = (Vec::new(), Vec::new());
    collect_nested(of, &mut inside);
    collect_nested(function, &mut all);
    let has_loop = |op: &IrOp| matches!(ScfOp::of(*op), Some(ScfOp::For | ScfOp::While));
    let writes = |op: &IrOp| !(TileOp::Load.is(*op) || ScfOp::Yield.is(*op) || has_no_effect(*op));
    let is_short = Bounds::of(of).is_ok_and(|bounds| {
        let [lower, upper, step] = bounds.all().map(constant_of);
        matches!((lower, upper, step), (Some(lower), Some(upper), Some(step)) if (upper - lower) <= 2 * step)
    });
    !is_short
        && !inside.iter().any(|op| has_loop(op) || writes(op))
        && !all.iter().any(|op| TileOp::Dot.is(*op))
}

/// Those of some loads whose place is not the same in each iteration: what stands still is in cache.
fn moving<'c>(body: IrBlock<'c>, loads: &[IrOp<'c>]) -> Result<Vec<IrOp<'c>>, Failed<'c>> {
    let repeat = Rematerialization { body };
    let mut moving = Vec::new();
    for op in loads.iter().copied() {
        let load = present(op, tile::Load::of(op))?;
        let mut place = [load.view()].into_iter().chain(load.at());
        if !place.all(|value| repeat.stands_still(value)) {
            moving.push(op);
        }
    }
    Ok(moving)
}

/// The registers that what is loaded ahead takes.
fn ahead<'c>(loads: &[IrOp<'c>], held: Held) -> Result<Ahead, Failed<'c>> {
    let mut bits = 0;
    for load in loads {
        let tile = tile_of(*load, result_of(*load, 0))?;
        bits += tile.layout.map_or(0, |layout| layout.values()) * tile.elem.bits();
    }
    Ok(Ahead {
        loaded: for_bits(bits),
        held: held.inside,
        peak: held.peak,
        shared: None,
    })
}
