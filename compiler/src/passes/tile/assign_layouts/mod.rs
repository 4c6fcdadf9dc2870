//! `tile-assign-layouts`: how the threads of a block hold each tile.
//!
//! Before: tiles without encoding; each `tile.dot` has its `mma`. After: every tile has its layout in
//! its type, with a `tile.convert_layout` where a consumer needs another one than the producer gives;
//! the function has its `known_block_size`.
//!
//! Tiles that a map or a loop ties together share a layout. The accumulator of a product is spread as
//! its MMA says; what a reduction leaves follows from what it takes, what is repeated from what it is
//! repeated to. Where nothing says it, threads stand side by side along memory, 16 bytes each. What lies
//! in other directions before and after a transposition, or would be stored in narrow pieces, is spread
//! anew in between.
mod accesses;
mod by_itself;
mod conversions;
mod scatters;
mod shared_work;
mod taken_apart;
mod threads;

use accesses::updated_one_by_one;
use conversions::{convert_for_parts, convert_operand, convert_recast, convert_result};

use super::computed_operand::is_computed_of_boxes;
use super::gathers::Vectors;
use super::held_factor::HeldFactor;
use super::known_ops::checked_ops;
use super::layout_classes::{LayoutClasses, one_for_each_use};
use super::reshape_by_gather::reshape_by_gather;
use super::result_store::{ByMap, InPieces};
use super::shifts::{self, Shift};
use super::types::{self, Failed, differ_in_units, mma_of, operand, present, tile_of};
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    Kernel, declared_block_size, erase, for_each_kernel, string_attribute,
};
use crate::passes::kernel_abi::{block_is_open, blocks_of_tile, set_block_size};
use crate::passes::user_error::user_error;
use crate::passes::{Reported, remark, report};
use cutec_dialects::atoms::Issuer;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::{Target, WARP};
use cutec_dialects::tile::cost_model::checked_threads;
use cutec_dialects::tile::{Recast, TileLayout};
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use scatters::spread_anew;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Assigns a layout to every tile of the module.
pub fn assign_layouts<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let failed = |(op, message): (IrOp, String)| report(op.location(), message);
        one_for_each_use(context, function).map_err(failed)?;
        let classes = LayoutClasses::of(function).map_err(failed)?;
        if classes.tiles.is_empty() {
            // Without a tile to share, one thread does what there is.
            if block_is_open(function) {
                set_block_size(context, function, 1)?;
            }
            return Ok(());
        }
        let mut assignment = Assignment::of(kernel, classes).map_err(failed)?;
        assignment.choose().map_err(failed)?;
        let threads = assignment.threads / blocks_of_tile(function);
        assignment.write(context).map_err(failed)?;
        set_block_size(context, function, threads)
    })
}

struct Assignment<'c> {
    function: IrOp<'c>,
    target: Target,
    operations: Vec<IrOp<'c>>,
    classes: LayoutClasses<'c>,
    /// Those that share a tile: of a block, or of all blocks of a cluster.
    threads: i64,
    layouts: HashMap<usize, TileLayout>,
    /// The operations on each class that say how it is spread where the other side's spread is known, by their number.
    reshaping: HashMap<usize, Vec<usize>>,
    /// Loads, stores and scatters of each class, in the order of the program.
    accesses: HashMap<usize, Vec<IrOp<'c>>>,
    /// The axis along which each class is scanned, by the first scan of it.
    scanned: HashMap<usize, usize>,
    /// Maps of each class that read global memory.
    gathering: HashMap<usize, Vec<IrOp<'c>>>,
    /// Classes whose elements update what lies at places of their own.
    updated: HashSet<usize>,
    /// How far the loads of each group lie from where it begins.
    shifts: HashMap<i64, Vec<Vec<i64>>>,
    /// Numbers of reshaping operations of which a side has got its layout since they were looked at.
    pending: BTreeSet<usize>,
}

impl<'c> Assignment<'c> {
    fn of(kernel: Kernel<'c>, mut classes: LayoutClasses<'c>) -> Result<Self, Failed<'c>> {
        let Kernel {
            context,
            function,
            target,
        } = kernel;
        let mut operations = checked_ops(function)?;
        if spread_anew(context, &operations, &classes, &target)? {
            classes = LayoutClasses::of(function)?;
            operations = checked_ops(function)?;
        }
        shifts::find(context, function, &operations);
        let blocks = blocks_of_tile(function);
        if let Some(dot) = operations.iter().find(|op| TileOp::Dot.is(**op))
            && blocks > 1
        {
            let message = format!("a product is computed by one block, but {blocks} share a tile");
            let help = "launch it without `cluster`";
            return Err((*dot, user_error(codes::ILLEGAL_OPERATION, message, help)));
        }
        let pinned = types::pinned_warps(function).map_err(|message| (function, message))?;
        let pinned = pinned.map(|warps| WARP * warps.iter().product::<i64>());
        let mut reshaping: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut accesses: HashMap<usize, Vec<IrOp<'c>>> = HashMap::new();
        let mut scanned = HashMap::new();
        let mut gathering: HashMap<usize, Vec<IrOp<'c>>> = HashMap::new();
        let mut shifts: HashMap<i64, Vec<Vec<i64>>> = HashMap::new();
        let mut updated = HashSet::new();
        for (number, op) in operations.iter().enumerate() {
            let class = |value| classes.class(value);
            let scan = tile::Combining::of(*op).filter(|_| TileOp::Scan.is(*op));
            if let Some(axis) = scan.and_then(|scan| integer_value(scan.axis()?))
                && let Some(of) = class(result_of(*op, 0))
            {
                scanned.entry(of).or_insert(axis as usize);
            }
            if TileOp::Map.is(*op)
                && !has_no_effect(*op)
                && let Some(of) = class(result_of(*op, 0))
            {
                gathering.entry(of).or_default().push(*op);
            }
            updated.extend(updated_one_by_one(*op, &target).and_then(class));
            if let Some(Shift { group, offsets, .. }) = Shift::of(*op) {
                shifts.entry(group).or_default().push(offsets);
            }
            let sides = sides_of(*op).into_iter().flatten();
            for side in sides.filter_map(class) {
                reshaping.entry(side).or_default().push(number);
            }
            let held = tile::Access::of(*op).map(|access| access.tile);
            let scattered = || tile::Scatter::of(*op).map(tile::Scatter::value);
            if let Some(held) = held.or_else(scattered).and_then(class) {
                accesses.entry(held).or_default().push(*op);
            }
        }
        let mut assignment = Assignment {
            function,
            target,
            operations,
            classes,
            threads: 0,
            layouts: HashMap::new(),
            reshaping,
            accesses,
            scanned,
            gathering,
            updated,
            shifts,
            pending: BTreeSet::new(),
        };
        let threads = declared_block_size(function).or(pinned);
        let threads = threads.unwrap_or_else(|| assignment.chosen_threads());
        let threads = checked_threads(threads).map_err(|message| (function, message))?;
        assignment.threads = threads * blocks;
        Ok(assignment)
    }

    fn named(&self, kind: TileOp) -> Vec<IrOp<'c>> {
        let ops = self.operations.iter().copied();
        ops.filter(|op| kind.is(*op)).collect()
    }

    /// A layout for each class.
    fn choose(&mut self) -> Result<(), Failed<'c>> {
        for dot in self.named(TileOp::Dot) {
            let layout = operand_layout(dot, 2)?;
            self.assign(result_of(dot, 0), layout);
        }
        for dot in self.named(TileOp::Dot) {
            let factors = present(dot, tile::Dot::of(dot))?.factors();
            for (index, factor) in factors.into_iter().enumerate() {
                // What is only loaded to be multiplied is loaded as the product wants it.
                if tile::Load::defining(factor).is_some() {
                    let layout = operand_layout(dot, index)?;
                    self.assign(factor, layout);
                }
            }
        }
        for dot in self.named(TileOp::Dot) {
            // So is what registers multiply that is computed of what tensor maps bring.
            if is_computed_of_boxes(dot, self.function) {
                let layout = operand_layout(dot, 0)?;
                self.assign(operand(dot, 0)?, layout);
            }
            self.hold_factor(dot)?;
        }
        self.derive()?;
        // Of narrow elements a thread has those of whole wide ones, as it can load these.
        for recast in self.named(TileOp::Recast) {
            let recast = present(recast, tile::Recast::of(recast))?;
            if self.layout(recast.result()).is_none() {
                self.spread_by_itself(recast.input(), &tile_of(recast.op(), recast.input())?)?;
            }
        }
        let mut order: Vec<usize> = (0..self.classes.tiles.len()).collect();
        // Of tiles of one size, first those that overlap, and what follows from them.
        let mut overlap: HashMap<Option<usize>, bool> = HashMap::new();
        order.sort_by_cached_key(|index| {
            let (value, tile) = &self.classes.tiles[*index];
            let of_class = overlap.entry(self.classes.class(*value));
            let overlaps =
                *of_class.or_insert_with(|| self.shifted(*value, tile.shape.len()).is_some());
            (std::cmp::Reverse(tile.size()), !overlaps)
        });
        self.derive()?;
        for open in order {
            let (value, tile) = self.classes.tiles[open].clone();
            self.spread_by_itself(value, &tile)?;
        }
        Ok(())
    }

    /// Spreads a factor that each warp computes in registers as its instruction takes it, where no other warp has the same.
    fn hold_factor(&mut self, dot: IrOp<'c>) -> Result<(), Failed<'c>> {
        let Some(HeldFactor { index, .. }) = HeldFactor::of(dot) else {
            return Ok(());
        };
        let (layout, factor) = (operand_layout(dot, index)?, operand(dot, index)?);
        let modes = layout.thread_modes(&tile_of(dot, factor)?.shape);
        let mut modes = modes.map_err(|message| (dot, message))?.into_iter();
        let is_shared = modes.any(|mode| mode.repeats());
        if mma_of(dot)?.atom.issuer() == Issuer::Warp && !is_shared {
            let message = format!(
                "each warp computes its own rows of {} in registers: memory decides how long a product of few rows or columns takes",
                ["a", "b"][index]
            );
            remark(dot.location(), message);
            self.assign(factor, layout);
        }
        Ok(())
    }

    fn layout(&self, value: IrValue<'c>) -> Option<&TileLayout> {
        self.layouts.get(&self.classes.class(value)?)
    }

    fn assign(&mut self, value: IrValue<'c>, layout: TileLayout) {
        if let Some(class) = self.classes.class(value)
            && let Entry::Vacant(open) = self.layouts.entry(class)
        {
            open.insert(layout);
            self.pending
                .extend(self.reshaping.get(&class).into_iter().flatten());
        }
    }

    /// Layouts that follow from others, and what follows from those: from the first operation to the last, then again
    /// those that something new is known of.
    fn derive(&mut self) -> Result<(), Failed<'c>> {
        let mut from = 0;
        while !self.pending.is_empty() {
            let Some(number) = self.pending.range(from..).next().copied() else {
                from = 0;
                continue;
            };
            self.pending.remove(&number);
            from = number + 1;
            let op = self.operations[number];
            let Some([input, result]) = sides_of(op) else {
                continue;
            };
            let (before, after) = (self.layout(input), self.layout(result));
            let (known, layout, wanted) = match (TileOp::of(op), before, after) {
                (
                    Some(TileOp::Broadcast | TileOp::Transpose | TileOp::Reshape | TileOp::Join),
                    None,
                    Some(layout),
                ) => (result, layout, input),
                (
                    Some(
                        TileOp::Reduce
                        | TileOp::Fold
                        | TileOp::Transpose
                        | TileOp::Reshape
                        | TileOp::Recast
                        | TileOp::Slice
                        | TileOp::Join,
                    ),
                    Some(layout),
                    None,
                ) => (input, layout, result),
                // Where threads would share elements, the input is spread by itself.
                (Some(TileOp::Recast), None, Some(layout)) => {
                    let recast = recast_of(op)?;
                    if let Ok(layout) = recast.backward(layout) {
                        self.assign(input, layout);
                    }
                    continue;
                }
                _ => continue,
            };
            if self.turned_in_memory(op, known, wanted) || self.is_reduced_inside(op, wanted) {
                continue;
            }
            let Some(layout) = seen_from(op, known, layout, wanted)? else {
                continue;
            };
            let repeats = matches!(
                TileOp::of(op),
                Some(TileOp::Broadcast | TileOp::Reduce | TileOp::Fold)
            );
            if !repeats || !self.is_rather_shared(wanted, &tile_of(op, wanted)?, &layout) {
                self.assign(wanted, layout);
            }
        }
        Ok(())
    }

    /// Whether both sides of a transposition lie in memory, and what goes along it on one side would go
    /// across it on the other: each gets a layout of its own.
    fn turned_in_memory(&self, op: IrOp<'c>, one: IrValue<'c>, two: IrValue<'c>) -> bool {
        let fast = |value| self.memory(value, &tile_of(op, value).ok()?);
        match (TileOp::of(op), fast(one), fast(two)) {
            (Some(TileOp::Transpose), Some((one, _)), Some((two, _))) => one == two,
            _ => false,
        }
    }

    /// Whether a loop inside of which an operation does not stand reduces what becomes a tile: where this is spread as the reduction leaves it, it
    /// is spread anew once, behind the loop.
    fn is_reduced_inside(&self, op: IrOp<'c>, tile: IrValue<'c>) -> bool {
        // The classes that become it, turned and reshaped. A loop may carry them around.
        let mut open: Vec<usize> = self.classes.class(tile).into_iter().collect();
        let mut seen: HashSet<usize> = open.iter().copied().collect();
        while let Some(class) = open.pop() {
            for number in self.reshaping.get(&class).into_iter().flatten() {
                let inside = self.operations[*number];
                let gives = self.classes.class(result_of(inside, 0)) == Some(class);
                let input = operands_of(inside).next().filter(|_| gives);
                let Some(input) = input.filter(|input| self.layout(*input).is_none()) else {
                    continue;
                };
                let mut outside = loops_around(inside);
                if !outside.any(|outside| loops_around(op).all(|around| around != outside)) {
                    continue;
                }
                match TileOp::of(inside) {
                    Some(TileOp::Reduce | TileOp::Fold) => return true,
                    Some(TileOp::Transpose | TileOp::Reshape) => {
                        let class = self.classes.class(input);
                        open.extend(class.filter(|class| seen.insert(*class)));
                    }
                    _ => {}
                }
            }
        }
        false
    }

    /// Writes the layouts into the types.
    fn write(self, context: &'c Context) -> Result<(), Failed<'c>> {
        for (value, tile) in &self.classes.tiles {
            if let Some(layout) = self.layout(*value) {
                value.set_type(tile.with_layout(layout.clone()).ir(context));
            }
        }
        // Others still look at all operations.
        let mut replaced = Vec::new();
        for op in &self.operations {
            match TileOp::of(*op) {
                Some(TileOp::Dot) => {
                    let layouts = [0, 1, 2].map(|index| operand_layout(*op, index));
                    for (index, layout) in layouts.into_iter().enumerate() {
                        let layout = layout?;
                        convert_operand(context, *op, index, layout.clone())?;
                        if index == 2 {
                            convert_result(context, *op, 0, layout)?;
                        }
                    }
                }
                Some(TileOp::Map | TileOp::Scatter | TileOp::Gather) => {
                    let scatter = tile::Scatter::of(*op);
                    let value = scatter.map_or_else(|| result_of(*op, 0), tile::Scatter::value);
                    let tile = tile_of(*op, value)?;
                    let neighbours = |axis| {
                        let along = |layout: &TileLayout| layout.neighbours(&tile.shape, axis).ok();
                        tile.layout.as_ref().and_then(along).unwrap_or(1)
                    };
                    let vectors = match scatter {
                        Some(_) => Vectors::scattered(*op, &self.target, neighbours),
                        None if TileOp::Gather.is(*op) => Vectors::of_tile(*op, neighbours),
                        None => Vectors::in_registers(*op, neighbours),
                    };
                    if let Some(vectors) = vectors {
                        vectors.say(*op, &OpBuilder::new(context, Insertion::Before(*op)));
                    } else if let Some(why) = Vectors::hindrance(*op, &self.target) {
                        let done = if scatter.is_some() { "written" } else { "read" };
                        remark(
                            op.location(),
                            format!("elements are {done} one by one: {why}"),
                        );
                    }
                }
                Some(TileOp::Load) => self.say_what_would_help(*op),
                Some(TileOp::Store) => {
                    self.say_what_would_help(*op);
                    let through_buffers = ByMap::of(*op, self.function, &self.operations).is_some()
                        || InPieces::of_narrow(*op, &self.operations).is_some();
                    if let Some(layout) = self.wider(*op)?.filter(|_| !through_buffers) {
                        convert_operand(context, *op, 0, layout)?;
                    }
                }
                Some(TileOp::Broadcast) => {
                    let broadcast = present(*op, tile::Reshaping::of(*op))?;
                    let wanted = follows(*op, broadcast.result(), broadcast.input())?;
                    if let Some(wanted) = wanted {
                        convert_operand(context, *op, 0, wanted)?;
                    }
                }
                Some(TileOp::Recast) => {
                    let recast = present(*op, tile::Recast::of(*op))?;
                    let (from, to) = (recast.input(), recast.result());
                    let [from, to] = [tile_of(*op, from)?.layout, tile_of(*op, to)?.layout];
                    if let (Some(from), Some(to)) = (from, to)
                        && recast_of(*op)?.check(&from, &to).is_err()
                        && let Some(given) = follows(*op, recast.input(), recast.result())?
                    {
                        convert_recast(context, recast, given)?;
                    }
                }
                Some(
                    TileOp::Reduce
                    | TileOp::Fold
                    | TileOp::Transpose
                    | TileOp::Reshape
                    | TileOp::Slice
                    | TileOp::Join,
                ) => {
                    let [input, result] = present(*op, sides_of(*op))?;
                    match follows(*op, input, result)? {
                        Some(given) => {
                            let given = told_by_halves(*op, [input, result], given)?;
                            for index in 0..op.result_count() {
                                convert_result(context, *op, index, given.clone())?;
                            }
                        }
                        None if convert_for_parts(context, *op)? => {}
                        None => {
                            reshape_by_gather(context, *op, [input, result])?;
                            replaced.push(*op);
                        }
                    }
                }
                _ => {}
            }
        }
        replaced.into_iter().for_each(erase);
        Ok(())
    }
}

/// The tiles of an operation of which one says how the other is spread: what it takes, of parts that are joined the first, and what it gives.
fn sides_of(op: IrOp<'_>) -> Option<[IrValue<'_>; 2]> {
    let reshaping = tile::Reshaping::of(op).map(|op| [op.input(), op.result()]);
    let slice = || tile::Slice::of(op).map(|op| [op.input(), op.result()]);
    let join = || tile::Join::of(op).and_then(|op| Some([*op.parts().first()?, op.result()]));
    reshaping.or_else(slice).or_else(join)
}

/// The axis along which parts of a tile are told apart: the one in which their shapes differ.
fn parted_axis(whole: &[i64], part: &[i64]) -> Option<usize> {
    let mut axes = (0..whole.len()).filter(|axis| whole[*axis] != part[*axis]);
    axes.next().filter(|_| axes.next().is_none())
}

/// What a `tile.recast` does.
fn recast_of(op: IrOp<'_>) -> Result<Recast, Failed<'_>> {
    let recast = present(op, tile::Recast::of(op))?;
    let (input, result) = (recast.input(), recast.result());
    let tiles = [tile_of(op, input)?, tile_of(op, result)?];
    let order = string_attribute(op, "order");
    Recast::of([&tiles[0], &tiles[1]], order.as_deref()).map_err(|message| (op, message))
}

/// The layout that one side of a reshaping operation has when the other has its own; `None` where what threads hold does not go
/// evenly along the axes of a reshaped tile.
fn seen_from<'c>(
    op: IrOp<'c>,
    known: IrValue<'c>,
    layout: &TileLayout,
    wanted: IrValue<'c>,
) -> Result<Option<TileLayout>, Failed<'c>> {
    let (from, to) = (tile_of(op, known)?, tile_of(op, wanted)?);
    let result = match TileOp::of(op) {
        Some(TileOp::Recast) => recast_of(op)?.forward(layout).map(Some),
        Some(TileOp::Transpose) => {
            let turned = layout.renamed(&from.shape, &to.shape, |axis| 1 - axis);
            turned.map(Some)
        }
        Some(TileOp::Reshape) if differ_in_units(&from.shape, &to.shape) => {
            // The axes longer than 1 keep their order.
            let long = |shape: &[i64]| -> Vec<usize> {
                let axes = 0..shape.len();
                axes.filter(|axis| shape[*axis] != 1).collect()
            };
            let (before, after) = (long(&from.shape), long(&to.shape));
            let name = |axis| {
                let at = before.iter().position(|long| *long == axis);
                at.and_then(|at| after.get(at).copied()).unwrap_or(axis)
            };
            layout.renamed(&from.shape, &to.shape, name).map(Some)
        }
        Some(TileOp::Reshape) => layout.reshaped(&from.shape, &to.shape),
        // Of parts one that is joined is smaller.
        Some(TileOp::Slice | TileOp::Join) if from.size() >= to.size() => {
            layout.of_part(&from.shape, &to.shape)
        }
        Some(TileOp::Join) => {
            let mut axes = 0..to.shape.len();
            let axis = axes.find(|axis| from.shape[*axis] < to.shape[*axis]);
            let axis = axis.unwrap_or(0);
            let count = to.shape[axis] / from.shape[axis];
            layout.joined(&from.shape, axis, count).map(Some)
        }
        _ => layout.reduced(&from.shape, &to.shape).map(Some),
    };
    result.map_err(|message| (op, message))
}

/// How a reduction leaves what is spread anew behind it: each lane with a part, where all that share the axis would have the same.
fn told_by_halves<'c>(
    op: IrOp<'c>,
    [input, result]: [IrValue<'c>; 2],
    in_all: TileLayout,
) -> Result<TileLayout, Failed<'c>> {
    let (from, to) = (tile_of(op, input)?, tile_of(op, result)?);
    match &from.layout {
        Some(whole) if TileOp::Reduce.is(op) && to.layout.as_ref() != Some(&in_all) => {
            let parted = in_all.parted(&to.shape, (whole, &from.shape));
            parted.map_err(|message| (op, message))
        }
        _ => Ok(in_all),
    }
}

/// As [`seen_from`], from a type that has its layout.
fn follows<'c>(
    op: IrOp<'c>,
    known: IrValue<'c>,
    wanted: IrValue<'c>,
) -> Result<Option<TileLayout>, Failed<'c>> {
    match tile_of(op, known)?.layout {
        Some(layout) => seen_from(op, known, &layout, wanted),
        None => Err((
            op,
            format!("expects a tile with a layout, but got {}", known.r#type()),
        )),
    }
}

/// How an operand of a product is spread: a, b and c in this order.
fn operand_layout<'c>(dot: IrOp<'c>, index: usize) -> Result<TileLayout, Failed<'c>> {
    let mma = mma_of(dot)?;
    let tile = tile_of(dot, operand(dot, index)?)?;
    types::operand_layout(&mma, index, &tile.shape).map_err(|message| (dot, message))
}
