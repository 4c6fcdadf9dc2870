//! `tile-partition`: operations on tiles become what each thread does.
//!
//! Before: every tile has its layout. After: the cute level. What a thread holds of a tile is a
//! vector, its values in the order of the layout; loads, stores and products go through fragments
//! and the views of one thread. Edges are predicates of the copies. Tensors are taken as addresses first
//! (`cute-expand-signature`).
mod access;
mod across_bytes;
mod arrive;
mod bytes;
mod combine;
mod convert;
mod edges;
mod exchange;
mod fetch;
mod gather;
mod largest;
mod layout_conversion;
mod map;
mod origin;
mod own_memory;
mod place;
mod precision;
mod print;
mod product;
mod recast;
mod reduce;
mod scratch;
mod shared_updates;
mod shifted;
mod shuffle;
mod sources;
mod staged;
mod summands;
mod tail;
mod turned;
mod update;
mod vectors;
mod warpgroup;
mod without_rounds;
mod words;

use super::emits::Emits;
use super::known_ops::{checked_ops, is_of_elements};
use super::pingpong;
use super::registers::{for_bits, peak};
use super::specialize_warps::CONSUMERS;
use super::types::{Failed, update_of};
use crate::passes::expand_signature::{Sharing, expand_kernel};
use crate::passes::ir_utils::{
    Kernel, blocks, for_each_kernel, function_block_size, operand, present, replace_all_uses, users,
};
use crate::passes::kernel_abi::{blocks_of_tile, min_blocks};
use crate::passes::user_error::of_semantics;
use crate::passes::{Reported, report};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, integer_value, operands_of, operation_key,
    result_of, results_of, value_key,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, NvvmOp, TileOp, VectorOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{Target, registers_of_thread};
use cutec_dialects::tile::{TileLayout, TileType};
use exchange::{Among, Counted};
use layout_conversion::Conversion;
use melior::Context;
use melior::ir::{BlockLike, OperationRef, Type, ValueLike, operation::OperationLike};
use shifted::Overlap;
use sources::Sources;
use std::collections::{HashMap, HashSet};
use warpgroup::Accumulator;
use without_rounds::Zeros;

pub(in crate::passes::tile) use across_bytes::ACROSS;
pub(in crate::passes) use precision::MULTIPLIED_IN;
pub(super) use scratch::Scratch;
pub(in crate::passes) use tail::OF_PARTED;
pub(super) use warpgroup::FIRST_BARRIER;
pub(super) use warpgroup::is_for_descriptors;

/// Partitions every kernel of the module.
pub fn partition<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let failed = |(op, message): Failed| report(op.location(), message);
        if checked_ops(function).map_err(failed)?.is_empty() {
            return Ok(());
        }
        // What a thread computes once stands before what it computes of the arguments.
        expand_kernel(kernel, Sharing::Kernel)?;
        function_of(context, function, &kernel.target).map_err(failed)
    })
}

/// What a tile is, now that it is spread.
#[derive(Clone, Debug, PartialEq)]
struct Spread {
    tile: TileType,
    layout: TileLayout,
}

impl Spread {
    /// How a tile is spread, once that is chosen.
    fn of(tile: &TileType) -> Option<Spread> {
        let (tile, layout) = (tile.clone(), tile.layout.clone()?);
        Some(Spread { tile, layout })
    }

    /// Elements of a thread.
    fn values(&self) -> i64 {
        self.layout.values()
    }

    /// The type of the vector that has them.
    fn vector<'c>(&self, ir: &OpBuilder<'c>) -> Type<'c> {
        ir.numbers_type(self.tile.elem, Some(self.values()))
    }
}

struct Partition<'c> {
    ir: OpBuilder<'c>,
    target: Target,
    /// What the vectors are that stand for tiles.
    spread: HashMap<usize, Spread>,
    /// Along which axis a vector of coordinates counts.
    counting: HashMap<usize, usize>,
    /// What they are as operands of users of a tile whose axes were named anew, which share the vector
    /// with the tile as it was: by operation and number of the operand.
    renamed: HashMap<(usize, usize), Spread>,
    /// The number of the thread among those that share a tile: in its warpgroup, its block, or its cluster.
    thread: Option<IrValue<'c>>,
    /// Blocks that share a tile, and the threads of each.
    blocks: i64,
    threads: i64,
    /// The number of its warpgroup, where each has tiles of its own.
    turn: Option<IrValue<'c>>,
    /// The first thread of its warpgroup.
    warpgroup: Option<IrValue<'c>>,
    /// The sums of products in loops that stay in their registers, by the product.
    accumulators: HashMap<usize, Accumulator<'c>>,
    /// What such sums are behind their loop: where they lie, and what the loop began with.
    sums: HashMap<usize, (IrValue<'c>, IrValue<'c>)>,
    /// Where sums lay of products that begin with zeros, and what waited for these: further ones may lie there.
    left: Vec<(IrValue<'c>, IrOp<'c>)>,
    /// Registers that a thread has beside the tiles which it holds.
    room: i64,
    /// What such sums are where their loop has no round.
    zeros: Vec<Zeros<'c>>,
    /// What loops carry in place of these, by the number of the argument.
    idle: Vec<(IrOp<'c>, usize)>,
    entry: IrOp<'c>,
    /// Reductions that look for the largest score (`largest.rs`).
    of_scores: HashSet<usize>,
    /// Whether operands are staged in shared memory.
    staged: bool,
    /// Whether the kernel has roles.
    roles: bool,
    /// Buffers that operations in loops, or in the role that multiplies, go through one after the other.
    /// The operations of the kernel.
    operations: Vec<IrOp<'c>>,
    /// Bytes that these go through in shared memory, where one of them scatters.
    exchanged: i64,
    /// The tensors of which the block updates a copy.
    copies: Vec<shared_updates::Copy<'c>>,
    /// What was loaded of tiles that overlap, by the number of these.
    overlaps: HashMap<i64, Overlap<'c>>,
    scratch: Vec<(Scratch, IrValue<'c>)>,
    /// Where the blocks of a cluster meet first, what counts of which buffer what is told in it, and whether they still tell each other that they have
    /// read it when all is done.
    meeting: Option<IrOp<'c>>,
    meets_again: bool,
    counted: HashMap<usize, Counted<'c>>,
    /// Loads that took the place of what was taken, part by part.
    begun: HashSet<usize>,
    sources: Sources<'c>,
}

/// Registers that a thread of a kernel of `wgmma` has beside the tiles which it holds.
fn room<'c>(function: IrOp<'c>, operations: &[IrOp<'c>]) -> Result<i64, Failed<'c>> {
    if !operations.iter().any(|op| warpgroup::is_of_warpgroup(*op)) {
        return Ok(0);
    }
    // Those that the role which multiplies has taken, where there are roles.
    let taken = operations.iter().filter_map(|op| {
        let count = op.attribute("regCount").ok()?;
        NvvmOp::Setmaxregister
            .is(*op)
            .then(|| integer_value(count))?
    });
    let threads = function_block_size(function).unwrap_or(1);
    let there = taken.max();
    let there = there.unwrap_or_else(|| registers_of_thread(threads, min_blocks(function)));
    Ok(there - peak(function)?.map_or(0, |peak| for_bits(peak.all)))
}

fn function_of<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    target: &Target,
) -> Result<(), Failed<'c>> {
    let operations = checked_ops(function)?;
    let Some(entry) = operations.first().copied() else {
        return Ok(());
    };
    let threads = function_block_size(function).unwrap_or(1);
    let scatters = operations.iter().any(|op| TileOp::Scatter.is(*op));
    let exchanged = scatters.then(|| Scratch::bytes_of(&operations, (threads, 1)));
    let sources = Sources::of(&operations)?;
    let mut partition = Partition {
        target: *target,
        ir: OpBuilder::new(context, Insertion::Before(entry)),
        spread: HashMap::new(),
        counting: HashMap::new(),
        renamed: HashMap::new(),
        thread: None,
        blocks: blocks_of_tile(function),
        threads,
        turn: None,
        warpgroup: None,
        accumulators: HashMap::new(),
        sums: HashMap::new(),
        left: Vec::new(),
        room: room(function, &operations)?,
        zeros: Vec::new(),
        idle: Vec::new(),
        entry,
        of_scores: largest::of_scores(&operations, target),
        staged: operations.iter().any(|op| CuteOp::MemrefAllocSmem.is(*op)),
        roles: operations.iter().any(|op| op.attribute(CONSUMERS).is_ok()),
        exchanged: exchanged.unwrap_or(0),
        copies: Vec::new(),
        overlaps: HashMap::new(),
        operations: operations.clone(),
        scratch: Vec::new(),
        meeting: None,
        meets_again: false,
        counted: HashMap::new(),
        begun: HashSet::new(),
        sources,
    };
    if pingpong::in_turn(function) > 1 {
        partition.turn = Some(partition.number_of_warpgroup());
        // From here on that in the warpgroup.
        partition.thread = None;
    }
    if partition.blocks > 1 {
        // No block writes to the memory of another one before that has begun.
        partition.meeting = Some(partition.meet_at_begin());
    }
    // Bodies of maps go with their map.
    let kept: Vec<IrOp> = operations
        .iter()
        .copied()
        .filter(|op| !stands_in_map(*op))
        .collect();
    let mut dead = Vec::new();
    for op in kept {
        if partition.operation(op)? {
            dead.push(op);
        }
    }
    if let Some(end) = operations.last().filter(|_| partition.meets_again) {
        partition.ir.insertion = Insertion::Before(*end);
        partition.meet(Among::Cluster);
    }
    for op in dead.into_iter().rev() {
        // SAFETY: what used its results uses vectors now, or was erased before.
        unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) };
    }
    warpgroup::drop_idle(context, &partition.idle);
    without_rounds::branch(context, &partition.zeros)
        .map_err(|error| (entry, of_semantics(&error)))?;
    warpgroup::name_barriers(context, function, partition.turn);
    Ok(())
}

/// Whether a tile can be spread in another way by what each thread or its warp holds, without shared memory.
pub(super) fn is_within_warps(from: &TileType, to: &TileType) -> bool {
    matches!(
        Spread::of(from)
            .zip(Spread::of(to))
            .map(|(from, to)| layout_conversion::conversion(&from, &to)),
        Some(Ok(Conversion::Registers(_) | Conversion::Lanes(_)))
    )
}

fn stands_in_map(op: IrOp) -> bool {
    // SAFETY: the operation is alive, and one below a function has a parent.
    let parent: IrOp = unsafe {
        let parent = mlir_sys::mlirOperationGetParentOperation(op.to_raw());
        OperationRef::from_raw(parent)
    };
    matches!(
        TileOp::of(parent),
        Some(TileOp::Map | TileOp::Fold | TileOp::Scan)
    )
}

impl<'c> Emits<'c> for Partition<'c> {
    fn ir(&self) -> &OpBuilder<'c> {
        &self.ir
    }

    fn ir_mut(&mut self) -> &mut OpBuilder<'c> {
        &mut self.ir
    }
}

impl<'c> Partition<'c> {
    /// Whether the operation is replaced.
    fn operation(&mut self, op: IrOp<'c>) -> Result<bool, Failed<'c>> {
        self.ir.insertion = Insertion::Before(op);
        self.ir.location = op.location();
        if self.blocks > 1 && NvvmOp::Barrier0.is(op) {
            // What orders writes to tensors orders those of all blocks.
            self.meet(Among::Cluster);
            return Ok(true);
        }
        if GpuOp::Printf.is(op) && !is_of_elements(op) {
            return self.print_once(op).map(|()| true);
        }
        let Some(kind) = TileOp::of(op) else {
            let accumulators = self.accumulators(op);
            accumulators.map_err(|error| (op, of_semantics(&error)))?;
            return self.carried(op).map(|()| false);
        };
        if kind == TileOp::Arrive {
            return self.arrived(op).map(|()| true);
        }
        if kind == TileOp::GridBarrier {
            self.wait_for_grid(op)?;
            return Ok(true);
        }
        if kind == TileOp::Extract {
            return self.extracted(op).map(|()| true);
        }
        let result = match op.result_count() {
            0 => None,
            _ => spread_of(op, result_of(op, 0))?,
        };
        let illegal = |error: SemError| (op, of_semantics(&error));
        if let (TileOp::Fold | TileOp::Scan, Some(to)) = (kind, &result) {
            let combined = self.combined(op, to).map_err(illegal)?;
            for (index, value) in combined.into_iter().enumerate() {
                let old = result_of(op, index);
                if let Some(to) = spread_of(op, old)? {
                    self.spread.insert(value_key(value), to);
                }
                replace_all_uses(old, value);
            }
            return Ok(true);
        }
        let value = match (kind, &result) {
            (TileOp::Load, Some(to)) => self.load(op, to).map_err(illegal)?,
            (TileOp::Store, None) => {
                match update_of(op) {
                    Some(kind) => self.update(op, kind),
                    None => self.store(op),
                }
                .map_err(illegal)?;
                return Ok(true);
            }
            (TileOp::Scatter, None) => {
                self.scatter(op).map_err(illegal)?;
                return Ok(true);
            }
            (TileOp::Print, None) => {
                self.print(op).map_err(illegal)?;
                return Ok(true);
            }
            (TileOp::Atomic, Some(to)) => self.fetched(op, to).map_err(illegal)?,
            (TileOp::Gather, Some(to)) => self.gathered(op, to).map_err(illegal)?,
            (TileOp::CopyAsync, _) => {
                self.begin_copy(op).map_err(illegal)?;
                return Ok(true);
            }
            // Those who copy it compute what they need.
            (TileOp::Map, Some(_)) if is_copied(op) => return Ok(true),
            (TileOp::Map, Some(to)) if self.is_of_reduction(op, to) => return Ok(true),
            (TileOp::GatherAsync, _) => {
                self.begin_gather(op).map_err(illegal)?;
                return Ok(true);
            }
            (TileOp::LoadAsync, _) => {
                self.load_async(op).map_err(illegal)?;
                return Ok(true);
            }
            (TileOp::Take, Some(to)) => self.take(op, to).map_err(illegal)?,
            (TileOp::Write, None) => {
                self.write(op).map_err(illegal)?;
                return Ok(true);
            }
            // Its products name the stage themselves.
            (TileOp::Read, Some(_)) if warpgroup::is_for_descriptors(op) => return Ok(true),
            (TileOp::Read, Some(to)) => self.read(op, to).map_err(illegal)?,
            (TileOp::Splat, Some(to)) => {
                let ty = to.vector(&self.ir);
                let splat = present(tile::Splat::of(op)).map_err(illegal)?;
                let number = splat.value();
                self.ir.value(VectorOp::Broadcast, &[number], &[], ty)
            }
            (TileOp::Iota, Some(to)) => {
                let axis = op.attribute("axis").ok();
                let axis = axis.and_then(integer_value);
                let axis = axis.unwrap_or(0) as usize;
                let places = self.coordinates(to, axis).map_err(illegal)?;
                self.counting.insert(value_key(places), axis);
                places
            }
            (TileOp::Map, Some(to)) => match self.update_of_rows(op, to) {
                Some(updated) => updated,
                None => self.map(op, to).map_err(illegal)?,
            },
            (TileOp::Reduce, Some(to)) => self.reduce(op, to).map_err(illegal)?,
            (TileOp::Broadcast, Some(to)) => self.repeated(op, to).map_err(illegal)?,
            // The threads hold what they held; only the axes are named anew.
            (TileOp::Transpose | TileOp::Reshape, Some(to)) => {
                let reshaping = present(tile::Reshaping::of(op)).map_err(illegal)?;
                self.rename(reshaping.result(), reshaping.input(), to);
                return Ok(true);
            }
            (TileOp::ConvertLayout, Some(to)) if self.is_as_it_is(op, to) => {
                let convert = present(tile::ConvertLayout::of(op)).map_err(illegal)?;
                self.rename(convert.result(), convert.input(), to);
                return Ok(true);
            }
            (TileOp::Recast, Some(to)) => self.recast(op, to).map_err(illegal)?,
            (TileOp::Slice, Some(to)) => self.sliced(op, to).map_err(illegal)?,
            (TileOp::Join, Some(to)) => self.joined(op, to).map_err(illegal)?,
            (TileOp::Dot, Some(to)) if warpgroup::is_of_warpgroup(op) => {
                self.begin_product(op, to).map_err(illegal)?
            }
            (TileOp::Dot, Some(to)) => self.product(op, to).map_err(illegal)?,
            (TileOp::ConvertLayout, Some(to)) => self.convert(op, to).map_err(illegal)?,
            _ => {
                let message = format!("{kind} cannot be partitioned yet");
                return Err((op, message));
            }
        };
        if let Some(to) = result {
            self.spread.insert(value_key(value), to);
        }
        replace_all_uses(result_of(op, 0), value);
        Ok(true)
    }

    /// Lets what takes a tile take the vector that another one is, spread so.
    fn rename(&mut self, tile: IrValue<'c>, vector: IrValue<'c>, to: &Spread) {
        for user in users(tile) {
            let uses = operands_of(user).enumerate();
            for (index, _) in uses.filter(|(_, operand)| *operand == tile) {
                self.renamed
                    .insert((operation_key(user), index), to.clone());
            }
        }
        replace_all_uses(tile, vector);
    }

    /// The element of a tile that has one: every thread holds it.
    fn extracted(&mut self, op: IrOp<'c>) -> Result<(), Failed<'c>> {
        let (vector, spread) = self.of(op, 0).map_err(|error| (op, of_semantics(&error)))?;
        let ty = self.ir.ty(spread.tile.elem.value_type());
        let first = [("static_position", self.ir.i64_array(&[0]))];
        let number = self.ir.value(VectorOp::Extract, &[vector], &first, ty);
        replace_all_uses(result_of(op, 0), number);
        Ok(())
    }

    /// What a loop or a condition carries and gives is a vector as well.
    fn carried(&mut self, op: IrOp<'c>) -> Result<(), Failed<'c>> {
        let results = results_of(op);
        let inside = (0..op.region_count()).flat_map(|region| blocks(op, region));
        let arguments = inside
            .flat_map(|block| (0..block.argument_count()).map(move |at| argument_of(block, at)));
        for value in results.chain(arguments).collect::<Vec<_>>() {
            if let Some(to) = spread_of(op, value)? {
                value.set_type(to.vector(&self.ir));
                self.spread.insert(value_key(value), to);
            }
        }
        Ok(())
    }

    /// What an operand that was a tile is.
    fn of(&self, op: IrOp<'c>, index: usize) -> Result<(IrValue<'c>, Spread), SemError> {
        let value = operand(op, index)?;
        let renamed = self.renamed.get(&(operation_key(op), index));
        let spread = renamed
            .or_else(|| self.spread.get(&value_key(value)))
            .cloned();
        let spread =
            spread.ok_or_else(|| SemError::Illegal("takes a tile that nothing defines".into()))?;
        Ok((value, spread))
    }

    /// Whether all conditions hold.
    fn all(&self, conditions: impl IntoIterator<Item = IrValue<'c>>) -> IrValue<'c> {
        let bit = self.ir.ty("i1");
        let both = |a, b| self.ir.value(ArithOp::Andi, &[a, b], &[], bit);
        let all = conditions.into_iter().reduce(both);
        all.unwrap_or_else(|| self.ir.constant(1, "i1"))
    }

    fn barrier(&self) {
        self.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
    }

    /// The elements of a vector.
    fn elements(&self, vector: IrValue<'c>, spread: &Spread) -> Vec<IrValue<'c>> {
        self.elements_of(vector, spread.values(), spread.tile.elem)
    }

    fn elements_of(&self, vector: IrValue<'c>, count: i64, elem: Elem) -> Vec<IrValue<'c>> {
        let ty = self.ir.number_type(elem);
        let element = |at: i64| {
            let position = self.ir.i64_array(&[at]);
            let attrs = [("static_position", position)];
            self.ir.value(VectorOp::Extract, &[vector], &attrs, ty)
        };
        (0..count).map(element).collect()
    }

    /// The vector of some elements.
    fn gather(&self, elements: &[IrValue<'c>], elem: Type<'c>) -> IrValue<'c> {
        let ty = self.ir.vector_type(elements.len() as i64, elem);
        self.ir.value(VectorOp::FromElements, elements, &[], ty)
    }
}

/// Whether what a map gives is only copied to shared memory as it is gathered.
fn is_copied(map: IrOp) -> bool {
    let users = users(result_of(map, 0));
    !users.is_empty() && users.into_iter().all(|user| TileOp::GatherAsync.is(user))
}

/// How a tile is spread; `None` where the value is no tile.
fn spread_of<'c>(op: IrOp<'c>, value: IrValue<'c>) -> Result<Option<Spread>, Failed<'c>> {
    match TileType::of(value.r#type()) {
        None => Ok(None),
        Some(Err(message)) => Err((op, message)),
        Some(Ok(tile)) => match tile.layout.clone() {
            Some(layout) => Ok(Some(Spread { tile, layout })),
            None => Err((
                op,
                format!("{tile} has no layout; run tile-assign-layouts first"),
            )),
        },
    }
}
