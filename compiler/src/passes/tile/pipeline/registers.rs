//! A loop without products that says how deep it is, or that the cost model makes two iterations deep: its tiles are loaded iterations
//! ahead, into registers.
//!
//! Where the loop says nothing, only one that writes no tensor loads ahead: of two tensors that share memory, what another iteration
//! wrote is read as it stands in the program.
use super::numbers::Numbers;
use super::plan::PLACE;
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    blocks, clone, collect_nested, constant_of, defining_op, erase, is_in_block, operations,
    replace_all_uses, set_operand,
};
use crate::passes::remark;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::registers::{Peak, for_bits};
use crate::passes::tile::rematerialize::{Bounds, Rematerialization, loads_of_written, may_write};
use crate::passes::tile::stages::{depth_of, is_pipelined};
use crate::passes::tile::types::{Failed, present};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, operands_of, operation_key,
    result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{NvvmOp, ScfOp, TileOp, tile};
use cutec_dialects::tile::TileType;
use cutec_dialects::tile::cost_model::Ahead;
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
    of: IrOp<'c>,
    body: IrBlock<'c>,
    loads: Vec<IrOp<'c>>,
    /// What their places depend on, that an iteration loads.
    numbers: Numbers<'c>,
    /// Those from tensors that the kernel writes.
    strict: HashSet<usize>,
    /// Iterations that are under way, the one computed included.
    stages: i64,
}

impl<'c> Loads<'c> {
    /// The loads of a loop that can be made ahead; `None` where there are none, or it is not to be.
    pub fn of(of: IrOp<'c>, function: IrOp<'c>, held: Held) -> Result<Option<Self>, Failed<'c>> {
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
        let stages = match said {
            Some(stages) => stages,
            None => chosen(of, &loads, held)?,
        };
        let plan = Loads {
            of,
            body,
            loads,
            numbers: Numbers::of(body, numbers),
            strict: loads_of_written(function, fetches.into_iter()),
            stages,
        };
        Ok((stages > 1).then_some(plan))
    }

    /// Rewrites the loop: it carries the tiles of this iteration and of those under way.
    pub fn apply(self, context: &'c Context) -> Result<(), Failed<'c>> {
        let mut ir = OpBuilder::new(context, Insertion::Before(self.of));
        ir.location = self.of.location();
        let bounds = Bounds::of(self.of)?;
        let mut numbers = self.numbers.of_first(&mut ir, bounds, self.stages)?;
        let numbers_ahead = numbers.pop().unwrap_or_default();
        let (mut index, mut carried) = (bounds.lower, Vec::new());
        for (iteration, numbers) in numbers.into_iter().enumerate() {
            if iteration > 0 {
                index = bounds.next(&ir, index);
            }
            carried.extend(self.fetch(&mut ir, (index, bounds.upper), &numbers)?);
        }

        carried.extend(numbers_ahead.iter().copied());
        let (new, mut tiles) = with_additional_yields(&ir, self.of, &[], &carried);
        let numbers = tiles.split_off(tiles.len() - numbers_ahead.len());
        let (Some(first), Some(end)) = (
            operations(self.body).into_iter().next(),
            operations(self.body).into_iter().last(),
        ) else {
            return Err((new, "has no end".into()));
        };
        ir.insertion = Insertion::Before(first);
        let ahead = bounds.ahead(&ir, argument_of(self.body, 0), self.stages - 1);
        let fetched = self.fetch(&mut ir, (ahead, bounds.upper), &numbers)?;
        let next = self.numbers.ahead(&mut ir, bounds, self.stages)?;
        // ptxas moves a load down to where it is used, but not across a barrier of its warp.
        let members = ir.constant(-1, "i32");
        ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
        for (load, tile) in self.loads.iter().zip(&tiles) {
            replace_all_uses(result_of(*load, 0), *tile);
            erase(*load);
        }
        let before = operands_of(end);
        let later = tiles[self.loads.len()..].iter().copied();
        let yielded = before.chain(later).chain(fetched).chain(next);
        let yielded: Vec<IrValue> = yielded.collect();
        ir.insertion = Insertion::Before(end);
        ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
        erase(self.of);
        Ok(())
    }

    /// The tiles of the iteration with an index, of a loop up to a bound, whose numbers are known; nothing is read from beyond the last one.
    fn fetch(
        &self,
        ir: &mut OpBuilder<'c>,
        iteration: (IrValue<'c>, IrValue<'c>),
        numbers: &[IrValue<'c>],
    ) -> Result<Vec<IrValue<'c>>, Failed<'c>> {
        let (repeat, around) = (Rematerialization { body: self.body }, ir.location);
        let (mut fetched, mut clones) = (Vec::new(), self.numbers.known(numbers));
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
            let again = ir.insert(clone(*load));
            set_operand(again, 0, view);
            for (axis, value) in at.into_iter().enumerate() {
                set_operand(again, axis + 1, value);
            }
            fetched.push(result_of(again, 0));
        }
        ir.location = around;
        Ok(fetched)
    }
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

/// Rounds under way by the cost model.
fn chosen<'c>(of: IrOp<'c>, loads: &[IrOp<'c>], held: Held) -> Result<i64, Failed<'c>> {
    let mut bits = 0;
    for load in loads {
        bits += match TileType::of(result_of(*load, 0).r#type()) {
            Some(Ok(tile)) => tile.layout.map_or(0, |layout| layout.values()) * tile.elem.bits(),
            Some(Err(message)) => return Err((*load, message)),
            None => 0,
        };
    }
    let ahead = Ahead {
        loaded: for_bits(bits),
        held: held.inside,
        peak: held.peak,
    };
    remark(of.location(), ahead.reason());
    Ok(ahead.rounds())
}
