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
use super::computed_operand::is_computed_of_boxes;
use super::coordinate::Coordinate;
use super::gathers::Vectors;
use super::known_ops::checked_ops;
use super::layout_classes::{LayoutClasses, one_for_each_use};
use super::promises::for_vectors;
use super::reshape_by_gather::reshape_by_gather;
use super::result_store::ByMap;
use super::stage_operands::gathered_along;
use super::types::{
    self, Failed, differ_in_units, fast_axis, mma_of, operand, present, reads_shared_memory,
    tile_of, view_of,
};
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    Kernel, declared_block_size, defining_op, erase, for_each_kernel, is_inside, replace_all_uses,
    set_operand, string_attribute, users,
};
use crate::passes::kernel_abi::{block_is_open, blocks_of_tile, set_block_size};
use crate::passes::user_error::user_error;
use crate::passes::{Reported, remark, report, warn};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WARP;
use cutec_dialects::tile::cost_model::{TileAccess, checked_threads, threads_of_memory};
use cutec_dialects::tile::{Recast, TileLayout, TileType, WINDOWS};
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// Bytes that a thread accesses at once where it can.
const VECTOR_BYTES: i64 = 16;
/// Bytes of stores that are worth spreading a tile anew, so that they become wider.
const NARROW_BYTES: i64 = 4;

/// Elements of a row that a thread has as a whole where a loop reduces it.
const SHORT_ROW: i64 = 32;

/// Bytes of shared memory that a tile may take to be spread anew for that: two blocks fit where results lie across.
const EXCHANGED_BYTES: i64 = 64 << 10;

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
        let mut assignment = Assignment::of(function, classes).map_err(failed)?;
        assignment.choose().map_err(failed)?;
        let threads = assignment.threads / blocks_of_tile(function);
        assignment.write(context).map_err(failed)?;
        set_block_size(context, function, threads)
    })
}

/// What is done to memory, in the order in which it decides how a tile is spread. An atomic update is of one
/// element, however many a thread has beside one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Load,
    Store,
    Atomic,
}

impl Access {
    fn of(store: IrOp) -> Access {
        match tile::Store::of(store).and_then(tile::Store::atomic) {
            Some(_) => Access::Atomic,
            None => Access::Store,
        }
    }
}

struct Assignment<'c> {
    function: IrOp<'c>,
    operations: Vec<IrOp<'c>>,
    classes: LayoutClasses<'c>,
    /// Those that share a tile: of a block, or of all blocks of a cluster.
    threads: i64,
    layouts: HashMap<usize, TileLayout>,
    /// The operations on each class that say how it is spread where the other side's spread is known, by their number.
    reshaping: HashMap<usize, Vec<usize>>,
    /// Loads and stores of each class, in the order of the program.
    accesses: HashMap<usize, Vec<IrOp<'c>>>,
    /// Numbers of reshaping operations of which a side has got its layout since they were looked at.
    pending: BTreeSet<usize>,
}

impl<'c> Assignment<'c> {
    fn of(function: IrOp<'c>, classes: LayoutClasses<'c>) -> Result<Self, Failed<'c>> {
        let operations = checked_ops(function)?;
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
        let threads = declared_block_size(function).or(pinned).unwrap_or_else(|| {
            let sizes = classes.tiles.iter().map(|(_, tile)| tile.size());
            let size = sizes.max().unwrap_or(0) / blocks;
            let reduces = operations.iter().any(|op| {
                matches!(
                    TileOp::of(*op),
                    Some(TileOp::Reduce | TileOp::Fold | TileOp::Scan)
                )
            });
            let accesses = accesses_of(&operations, size);
            let threads = threads_of_memory(size, &accesses, reduces);
            let vectors = accesses.iter().map(|access| access.vector).min();
            let vectors = match vectors {
                Some(vector) => format!(", accessed {vector} at once"),
                None => String::new(),
            };
            let message = format!(
                "{threads} threads a block, chosen: {} of {size} elements for each of the largest tiles{vectors}; `warps(n)` pins them",
                size / threads.max(1)
            );
            remark(function.location(), message);
            threads
        });
        let threads = checked_threads(threads).map_err(|message| (function, message))?;
        let threads = threads * blocks;
        let mut reshaping: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut accesses: HashMap<usize, Vec<IrOp<'c>>> = HashMap::new();
        for (number, op) in operations.iter().enumerate() {
            let class = |value| classes.class(value);
            let sides = sides_of(*op).into_iter().flatten();
            for side in sides.filter_map(class) {
                reshaping.entry(side).or_default().push(number);
            }
            let held = tile::Access::of(*op).map(|access| access.tile);
            if let Some(held) = held.and_then(class) {
                accesses.entry(held).or_default().push(*op);
            }
        }
        Ok(Assignment {
            function,
            operations,
            classes,
            threads,
            layouts: HashMap::new(),
            reshaping,
            accesses,
            pending: BTreeSet::new(),
        })
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
        order.sort_by_key(|index| std::cmp::Reverse(self.classes.tiles[*index].1.size()));
        self.derive()?;
        for open in order {
            let (value, tile) = self.classes.tiles[open].clone();
            self.spread_by_itself(value, &tile)?;
        }
        Ok(())
    }

    /// Spreads a tile as memory has it, and what follows from that, if nothing has said yet how it is spread.
    fn spread_by_itself(&mut self, value: IrValue<'c>, tile: &TileType) -> Result<(), Failed<'c>> {
        if self.layout(value).is_some() {
            return Ok(());
        }
        let last = tile.shape.len().saturating_sub(1);
        let by_itself = match self.gathered(value) {
            None => (last, 8 * VECTOR_BYTES / tile.elem.bits()),
            Some(along) => along.unwrap_or((last, 1)),
        };
        let along = self.reduced_in_a_loop(value, tile);
        let along = along.or_else(|| self.memory(value, tile));
        let along = along.unwrap_or(by_itself);
        let layout = match self.by_parts(value, tile, along)? {
            Some(layout) => layout,
            None => TileLayout::blocked(&tile.shape, along.0, along.1, self.threads),
        };
        self.warn_of_copies(value, tile, &layout);
        self.assign(value, layout);
        self.derive()
    }

    /// The layout of a tile that is taken apart, or put together, such that each thread has the same of every part; `None` where parts are not alike, or
    /// have not something for each thread.
    fn by_parts(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        (fast, vector): (usize, i64),
    ) -> Result<Option<TileLayout>, Failed<'c>> {
        let class = self.classes.class(value);
        let reshaping = class.and_then(|class| self.reshaping.get(&class));
        let mut parts = Vec::new();
        for number in reshaping.into_iter().flatten() {
            let op = self.operations[*number];
            let slice = tile::Slice::of(op).map(|slice| (slice.input(), slice.result()));
            let join = || Some((result_of(op, 0), *tile::Join::of(op)?.parts().first()?));
            let Some((_, part)) = slice
                .or_else(join)
                .filter(|(whole, _)| self.classes.class(*whole) == class)
            else {
                continue;
            };
            parts.push(tile_of(op, part)?.shape);
        }
        parts.dedup();
        let [part] = &parts[..] else {
            return Ok(None);
        };
        let size: i64 = part.iter().product();
        let mut shorter = (0..part.len()).filter(|axis| part[*axis] != tile.shape[*axis]);
        let (Some(axis), None) = (shorter.next(), shorter.next()) else {
            return Ok(None);
        };
        if size < self.threads || tile.shape[axis] % part[axis] != 0 {
            return Ok(None);
        }
        let vectors = (0..=vector.ilog2()).rev().map(|power| 1 << power);
        let vector = vectors
            .into_iter()
            .find(|vector| size / vector >= self.threads);
        let layout = TileLayout::blocked(part, fast, vector.unwrap_or(1), self.threads);
        let whole = layout.joined(part, axis, tile.shape[axis] / part[axis]);
        let op = defining_op(value).unwrap_or(self.function);
        whole.map(Some).map_err(|message| (op, message))
    }

    /// Warns where threads hold the same, though each could have a part of its own.
    fn warn_of_copies(&self, value: IrValue<'c>, tile: &TileType, layout: &TileLayout) {
        let (size, values) = (tile.size(), layout.values());
        let holders = layout.threads() * values / size.max(1);
        let parts = size * tile.elem.bytes() / VECTOR_BYTES;
        if holders == 1 || parts < self.threads {
            return;
        }
        let op = defining_op(value).unwrap_or(self.function);
        let shape: Vec<String> = tile.shape.iter().map(i64::to_string).collect();
        let message = format!(
            "{holders} of {} threads hold each element of this tile of {}, which does the same work as often",
            self.threads,
            shape.join(" × ")
        );
        let help = "give it extents that are powers of two, so that threads share them; what of a tile lies outside of the tensor costs neither loads nor stores";
        warn(op.location(), user_error(codes::SLOW, message, help));
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
            if let Some(layout) = seen_from(op, known, layout, wanted)? {
                self.assign(wanted, layout);
            }
        }
        Ok(())
    }

    /// The axis of a class that is fast in memory, where what is loaded decides before what is stored, and
    /// the elements along it of the narrowest access.
    fn memory(&self, value: IrValue<'c>, tile: &TileType) -> Option<(usize, i64)> {
        let mut accesses = Vec::new();
        for op in self.accesses.get(&self.classes.class(value)?)? {
            let what = match TileOp::of(*op) {
                Some(TileOp::Load) => Access::Load,
                _ => Access::of(*op),
            };
            if let Some((axis, vector)) = vector_along(*op, tile) {
                let vector = if what == Access::Atomic { 1 } else { vector };
                accesses.push((what, axis, vector));
            }
        }
        accesses.sort_by_key(|(what, ..)| *what);
        let (first, fast, _) = accesses.first().copied()?;
        let along = accesses.iter().filter(|(what, axis, _)| {
            *axis == fast && (*what != Access::Atomic || first == Access::Atomic)
        });
        let vector = along.map(|(.., vector)| *vector).min();
        Some((fast, vector.unwrap_or(1)))
    }

    /// The short axis along which a loop reduces a tile that it neither loads nor stores, and its extent: a thread has whole rows, whose
    /// elements no other has to see in each round.
    fn reduced_in_a_loop(&self, value: IrValue<'c>, tile: &TileType) -> Option<(usize, i64)> {
        let class = self.classes.class(value)?;
        let reshaping = self.reshaping.get(&class)?.iter();
        reshaping.into_iter().find_map(|number| {
            let op = self.operations[*number];
            let reduce = tile::Reduce::of(op)?;
            let around = loops_around(op).next()?;
            let accesses = self.accesses.get(&class).into_iter().flatten();
            let accessed = accesses
                .flat_map(|access| loops_around(*access))
                .any(|other| other == around);
            let axis = reduce.axis().and_then(integer_value)? as usize;
            let extent = tile.shape.get(axis).copied()?;
            let is_of_class = self.classes.class(reduce.input()) == Some(class);
            let short = (2..=SHORT_ROW).contains(&extent) && tile.size() / extent >= self.threads;
            (is_of_class && !accessed && short && extent.count_ones() == 1)
                .then_some((axis, extent))
        })
    }

    /// Whether maps of the class go to memory, and along which axis how many elements are copied at once where they are
    /// gathered for products. Others are gathered one by one: neighbours in memory are of neighbouring threads.
    fn gathered(&self, value: IrValue<'c>) -> Option<Option<(usize, i64)>> {
        let class = self.classes.class(value);
        let maps = self.operations.iter().copied();
        let maps = maps.filter(|op| TileOp::Map.is(*op) && !has_no_effect(*op));
        let of_class = maps.filter(|map| self.classes.class(result_of(*map, 0)) == class);
        let mut found: Vec<Option<(usize, i64)>> =
            of_class.map(|map| self.copied_at_once(map)).collect();
        found.dedup();
        match found[..] {
            [] => None,
            [along] => Some(along),
            _ => Some(None),
        }
    }

    /// Along which axis how many elements of a map are copied at once: for the product that alone takes it, or into registers.
    fn copied_at_once(&self, map: IrOp<'c>) -> Option<(usize, i64)> {
        let tile = tile_of(map, result_of(map, 0)).ok()?;
        let of_product = |dot: tile::Dot<'c>| {
            let factors = dot.factors();
            let index = factors
                .iter()
                .position(|factor| *factor == result_of(map, 0))?;
            let axes = gathered_along(&*mma_of(dot.op()).ok()?, index, tile.elem);
            Vectors::of(map, axes, self.function)
        };
        let vectors = match users(result_of(map, 0))[..] {
            [user] if TileOp::Dot.is(user) => of_product(tile::Dot::of(user)?),
            _ => Vectors::in_registers(map, |axis| tile.shape[axis]),
        };
        let vectors = vectors?;
        Some((vectors.fast, vectors.atom.src_values()))
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
        let class = self.classes.class(tile);
        let reshaping = class.and_then(|class| self.reshaping.get(&class));
        reshaping.into_iter().flatten().any(|number| {
            let inside = self.operations[*number];
            let gives = self.classes.class(result_of(inside, 0)) == class;
            let input = operands_of(inside).next().filter(|_| gives);
            let Some(input) = input.filter(|input| self.layout(*input).is_none()) else {
                return false;
            };
            loops_around(inside).any(|outside| loops_around(op).all(|around| around != outside))
                && match TileOp::of(inside) {
                    Some(TileOp::Reduce | TileOp::Fold) => true,
                    Some(TileOp::Transpose | TileOp::Reshape) => {
                        self.classes.class(input) != class && self.is_reduced_inside(op, input)
                    }
                    _ => false,
                }
        })
    }

    /// How a tile is to be spread for its store, where threads have too few neighbours as it is; for atomic
    /// updates, where not each has one and the next thread the next.
    fn wider(&self, store: IrOp<'c>) -> Result<Option<TileLayout>, Failed<'c>> {
        let value = present(store, tile::Store::of(store))?.value();
        let tile = tile_of(store, value)?;
        let (Some(layout), Some((axis, vector))) = (&tile.layout, vector_along(store, &tile))
        else {
            return Ok(None);
        };
        if Access::of(store) == Access::Atomic {
            let side_by_side = TileLayout::blocked(&tile.shape, axis, 1, self.threads);
            return Ok((side_by_side != *layout).then_some(side_by_side));
        }
        let wider = TileLayout::blocked(&tile.shape, axis, vector, self.threads);
        let width = |layout: &TileLayout| {
            let width = layout.neighbours(&tile.shape, axis);
            width.map_err(|message| (store, message))
        };
        let (width, possible) = (width(layout)?, width(&wider)?);
        let bytes = tile.elem.bytes();
        // Beside stages that are under way it takes the place of another one.
        let by_warpgroups = |op: &IrOp<'c>| mma_of(*op).is_ok_and(|mma| reads_shared_memory(&mma));
        let room =
            tile.size() * bytes < EXCHANGED_BYTES || !self.operations.iter().any(by_warpgroups);
        // In each round of a loop, few are stored sooner than all threads have exchanged them.
        let many = layout.values() * bytes >= VECTOR_BYTES || loops_around(store).next().is_none();
        let narrow = width * bytes <= NARROW_BYTES && width < possible.min(vector) && room && many;
        // Neighbours that a thread has to store one by one lie apart from those of the next thread: each store
        // would write a part of many sectors.
        let scattered = vector * bytes <= NARROW_BYTES
            && width * bytes >= VECTOR_BYTES
            && tile.size() * bytes <= EXCHANGED_BYTES;
        Ok((narrow || scattered).then_some(wider))
    }

    /// Says of an access that is narrow what of its tensor would have to be promised.
    fn say_what_would_help(&self, access: IrOp<'c>) {
        let Some(of) = tile::Access::of(access) else {
            return;
        };
        let Ok(tile) = tile_of(access, of.tile) else {
            return;
        };
        let widest = VECTOR_BYTES / tile.elem.bytes();
        let narrow = vector_along(access, &tile).filter(|(axis, vector)| {
            *vector < widest
                && tile.shape[*axis] % widest == 0
                && Access::of(access) != Access::Atomic
        });
        if let Some((_, vector)) = narrow
            && let Some(promise) = for_vectors(of.view, self.function)
        {
            let message = format!(
                "{} bytes are accessed at once where {VECTOR_BYTES} could be; promise `where {promise}`",
                vector * tile.elem.bytes()
            );
            remark(access.location(), message);
        }
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
                Some(TileOp::Map) => {
                    let tile = tile_of(*op, result_of(*op, 0))?;
                    let neighbours = |axis| {
                        let layout = tile.layout.as_ref()?;
                        layout.neighbours(&tile.shape, axis).ok()
                    };
                    let found = Vectors::in_registers(*op, |axis| neighbours(axis).unwrap_or(1));
                    if let Some(vectors) = found {
                        vectors.say(*op, &OpBuilder::new(context, Insertion::Before(*op)));
                    }
                }
                Some(TileOp::Load) => self.say_what_would_help(*op),
                Some(TileOp::Store) => {
                    self.say_what_would_help(*op);
                    let by_map = ByMap::of(*op, self.function, &self.operations);
                    if let Some(layout) = self.wider(*op)?.filter(|_| by_map.is_none()) {
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
                        convert_result(context, *op, 0, given)?;
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
                            for index in 0..op.result_count() {
                                convert_result(context, *op, index, given.clone())?;
                            }
                        }
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

/// The axis that is fast in the memory which a load or a store accesses, and how many elements along it one
/// access takes: 16 bytes, or fewer where rows of the view or of the tile, or the offset at which the tile lies,
/// are no multiples of that, or not known to be.
fn vector_along(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    let view = tile::Access::of(access)?.view;
    // What a tensor map brings.
    if access.attribute(WINDOWS).is_ok() {
        return None;
    }
    let at = Coordinate::of(access).ok()?;
    let (axis, elem) = fast_axis(view)?;
    let view = view_of(view)?;
    let layout = view.layout.inner();
    let strides = (0..layout.rank()).filter(|other| *other != axis);
    let strides =
        strides.filter_map(|other| Some(layout.mode(other)?.stride().leaves().first()?.div()));
    let extent = layout.mode(axis).map_or(1, |mode| mode.size().div());
    let elements = view.alignment() / elem.bytes();
    let all = strides.chain([
        extent,
        tile.shape[axis],
        VECTOR_BYTES / elem.bytes(),
        elements,
        at.divisor(axis),
    ]);
    let bits = all.map(i64::trailing_zeros).min().unwrap_or(0);
    Some((axis, 1 << bits.min(VECTOR_BYTES.ilog2())))
}

/// How loads and stores access the tiles of a size.
fn accesses_of(operations: &[IrOp], size: i64) -> Vec<TileAccess> {
    let access = |op: &IrOp| {
        let held = tile::Access::of(*op)?.tile;
        let tile = tile_of(*op, held).ok().filter(|tile| tile.size() == size)?;
        let (_, vector) = vector_along(*op, &tile)?;
        let vector = match Access::of(*op) {
            Access::Atomic => 1,
            Access::Load | Access::Store => vector,
        };
        let elem = tile.elem.bytes();
        Some(TileAccess { elem, vector })
    };
    operations.iter().filter_map(access).collect()
}

/// How an operand of a product is spread: a, b and c in this order.
fn operand_layout<'c>(dot: IrOp<'c>, index: usize) -> Result<TileLayout, Failed<'c>> {
    let mma = mma_of(dot)?;
    let tile = tile_of(dot, operand(dot, index)?)?;
    types::operand_layout(&mma, index, &tile.shape).map_err(|message| (dot, message))
}

/// Lets an operation take a tile as it needs it.
fn convert_operand<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    index: usize,
    layout: TileLayout,
) -> Result<(), Failed<'c>> {
    let value = operand(op, index)?;
    let tile = tile_of(op, value)?;
    if tile.layout.as_ref() == Some(&layout) {
        return Ok(());
    }
    // What a loop does not change is spread anew once, in front of it. For a product that says how it is read, in the loop.
    let unchanged = loops_around(op).take_while(|around| !is_inside(value, *around));
    let before = match TileOp::Dot.is(op) {
        true => op,
        false => unchanged.last().unwrap_or(op),
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(before));
    ir.location = op.location();
    let ty = tile.with_layout(layout).ir(context);
    let converted = ir.value(TileOp::ConvertLayout, &[value], &[], ty);
    set_operand(op, index, converted);
    Ok(())
}

/// Lets an operation give a tile as it falls out, and what uses it take the one that it wants.
fn convert_result<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    index: usize,
    layout: TileLayout,
) -> Result<(), Failed<'c>> {
    let result = result_of(op, index);
    let tile = tile_of(op, result)?;
    if tile.layout.as_ref() == Some(&layout) {
        return Ok(());
    }
    let wanted = result.r#type();
    result.set_type(tile.with_layout(layout).ir(context));
    // An operation on tiles is never the last of its block.
    let Some(next) = crate::passes::ir_utils::next_operation(op) else {
        return Err((op, "is the last of its block".into()));
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(next));
    ir.location = op.location();
    let converted = ir.value(TileOp::ConvertLayout, &[result], &[], wanted);
    replace_all_uses(result, converted);
    if let Some(convert) = defining_op(converted) {
        set_operand(convert, 0, result);
    }
    Ok(())
}
