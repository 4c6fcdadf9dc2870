//! Whether and how a loop is pipelined.
use super::branches::stands_in;
use super::gathered::Gathered;
use super::k_blocks::{Factor, Product, Source, buffer_of};
use super::numbers::Numbers;
use super::turns::Turns;
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, function_block_size, is_in_block, operations, parent,
    users,
};
use crate::passes::kernel_abi::min_blocks;
use crate::passes::remark;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::held_factor::all_wait_for_memory;
use crate::passes::tile::partition::Scratch;
use crate::passes::tile::registers::{for_bits, peak};
use crate::passes::tile::rematerialize::{Rematerialization, loads_of_written, may_write};
use crate::passes::tile::smem_tile::bytes_of;
use crate::passes::tile::stages::{depth_of, is_pipelined};
use crate::passes::tile::types::{Failed, present};
use cutec_abi::counted;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, argument_of, operands_of, result_of};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{CuteOp, TileOp, tile};
use cutec_dialects::target::Target;
use cutec_dialects::tile::cost_model::{CopyingBlock, Stages};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashSet;

/// Why a tile is not brought in another iteration.
pub(super) const PLACE: &str =
    "its place is not computed of the index of the loop, and of numbers that this loads, alone";

/// What brings a tile to a buffer in each iteration.
#[derive(Clone, Copy)]
pub(super) enum Producer<'c> {
    /// A `tile.copy_async`.
    Copy(IrOp<'c>),
    /// A `tile.load` and the `tile.write` of what it loaded, or of what maps made of that.
    Load(IrOp<'c>, IrOp<'c>),
}

impl<'c> Producer<'c> {
    /// The operation that goes to global memory.
    pub fn fetch(&self) -> IrOp<'c> {
        match self {
            Producer::Copy(op) | Producer::Load(op, _) => *op,
        }
    }

    /// The operation that has the buffer.
    pub fn fill(&self) -> IrOp<'c> {
        match self {
            Producer::Copy(op) | Producer::Load(_, op) => *op,
        }
    }

    /// The maps between a load and its write, in their order.
    pub fn maps(&self) -> Vec<IrOp<'c>> {
        let Producer::Load(load, write) = self else {
            return Vec::new();
        };
        let (loaded, mut maps) = (result_of(*load, 0), Vec::new());
        let mut made = tile::Write::of(*write).map(tile::Write::value);
        while let Some(map) = made.filter(|made| *made != loaded).and_then(defining_op) {
            maps.push(map);
            // One of one tile.
            made = operands_of(map).next();
        }
        maps.reverse();
        maps
    }

    /// The view that the tile lies in.
    pub fn view(&self) -> Result<IrValue<'c>, Failed<'c>> {
        let view = match self {
            Producer::Copy(copy) => tile::CopyAsync::of(*copy).map(tile::CopyAsync::view),
            Producer::Load(load, _) => tile::Load::of(*load).map(tile::Load::view),
        };
        present(self.fetch(), view)
    }

    /// The coordinate of the tile.
    pub fn at(&self) -> Result<Coordinate<'c>, String> {
        Coordinate::of(self.fetch())
    }
}

/// A loop that is to be pipelined.
pub(super) struct Plan<'c> {
    pub of: IrOp<'c>,
    pub body: IrBlock<'c>,
    pub producers: Vec<Producer<'c>>,
    pub gathered: Vec<Gathered<'c>>,
    /// What places of tiles depend on, that an iteration loads.
    pub numbers: Numbers<'c>,
    /// What goes to tensors that the kernel writes.
    pub strict: HashSet<usize>,
    pub products: Vec<Product<'c>>,
    /// Reads that no product alone makes.
    pub reads: Vec<IrOp<'c>>,
    pub stages: i64,
    /// When each load is begun and awaited where buffers have one stage.
    pub turns: Option<Turns<'c>>,
}

impl<'c> Plan<'c> {
    /// The plan of a loop; `None` where there is nothing to pipeline.
    pub fn of(
        of: IrOp<'c>,
        function: IrOp<'c>,
        target: &Target,
    ) -> Result<Option<Self>, Failed<'c>> {
        let Some(body) = blocks(of, 0).into_iter().next() else {
            return Ok(None);
        };
        let inside = operations(body);
        let producers: Vec<Producer> = inside.iter().filter_map(|op| producer(*op, body)).collect();
        let fills: Vec<IrOp> = producers.iter().map(Producer::fill).collect();
        let writes = inside
            .iter()
            .filter(|op| matches!(TileOp::of(**op), Some(TileOp::Write | TileOp::GatherAsync)))
            .filter(|op| !fills.contains(op));
        let gathered: Vec<Gathered> = writes
            .filter_map(|fill| Gathered::of(*fill, of, body))
            .collect();
        let fills = fills
            .into_iter()
            .chain(gathered.iter().map(|tile| tile.fill));
        let buffers: Vec<IrValue> = fills.filter_map(buffer_of).collect();
        // Others may not have a part in the ring of stages.
        let alone = buffers.iter().all(|buffer| {
            let here = |op: &IrOp<'c>| stands_in(*op, body);
            let fills = |op: &IrOp<'c>| !TileOp::Read.is(*op);
            let using = users(*buffer);
            using.iter().all(here) && using.iter().filter(|op| fills(op)).count() == 1
        });
        let (mut again, mut numbers) = (true, Vec::new());
        numbers.extend(
            gathered
                .iter()
                .flat_map(|tile| tile.numbers.iter().copied()),
        );
        let mut fetches = Vec::new();
        for producer in &producers {
            let at = producer
                .at()
                .map_err(|message| (producer.fetch(), message))?;
            let view = producer.view()?;
            fetches.push((producer.fetch(), view));
            let in_the_way = match (Rematerialization { body }).numbers_to_bring(view, &at) {
                _ if may_write(of, view) => "the loop may write to its tensor",
                Some(needed) => {
                    numbers.extend(needed);
                    continue;
                }
                None => PLACE,
            };
            again = false;
            if is_pipelined(of) {
                let text = format!("not begun ahead: {in_the_way}");
                remark(producer.fetch().location(), text);
            }
        }
        let counts = |op: IrOp<'c>| buffer_of(op).is_some_and(|buffer| buffers.contains(&buffer));
        let mut products = Vec::new();
        for op in inside.iter().filter(|op| TileOp::Dot.is(**op)) {
            products.extend(Product::of(*op, |read| match buffer_of(read) {
                Some(buffer) if buffers.contains(&buffer) => Source::Ring,
                Some(buffer) if !is_written_in(of, buffer) => Source::Resident,
                _ => Source::Written,
            })?);
        }
        let of_product = |op: &IrOp<'c>| {
            let mut factors = products.iter().flat_map(|product| &product.factors);
            factors.any(|factor| matches!(factor, Factor::Read(read, _) if read == op))
        };
        // Those in branches, too.
        let mut of_ring = Vec::new();
        collect_nested(of, &mut of_ring);
        of_ring.retain(|op| TileOp::Read.is(*op) && counts(*op));
        if of_ring.is_empty() || !alone || !again {
            return Ok(None);
        }
        let waits = all_wait_for_memory(&inside);
        let depth = depth(of, function, (&buffers, waits), target)?;
        let reads: Vec<IrOp> = of_ring.into_iter().filter(|op| !of_product(op)).collect();
        let turns = match depth.stages {
            2.. => None,
            _ if !depth.fits => return Ok(None),
            _ => {
                let copied = (producers.iter()).all(|tile| matches!(tile, Producer::Copy(_)))
                    && gathered.iter().all(Gathered::is_asynchronous);
                let fills = producers.iter().map(Producer::fill);
                let fills = fills.chain(gathered.iter().map(|tile| tile.fill)).collect();
                match Turns::of(body, fills, &products, &reads).filter(|_| copied) {
                    None => return Ok(None),
                    turns => turns,
                }
            }
        };
        if turns.is_some() {
            remark(of.location(), Turns::REASON);
        }
        Ok(Some(Plan {
            of,
            body,
            producers,
            gathered,
            numbers: Numbers::of(body, numbers),
            strict: loads_of_written(function, fetches.into_iter()),
            products,
            reads,
            stages: depth.stages,
            turns,
        }))
    }
}

/// Whether an operation inside of a loop writes to a buffer.
fn is_written_in<'c>(of: IrOp<'c>, buffer: IrValue<'c>) -> bool {
    let mut inside = Vec::new();
    collect_nested(of, &mut inside);
    users(buffer)
        .iter()
        .any(|user| !TileOp::Read.is(*user) && inside.contains(user))
}

/// What brings a tile, seen from the operation that goes to global memory.
fn producer<'c>(op: IrOp<'c>, body: IrBlock<'c>) -> Option<Producer<'c>> {
    match TileOp::of(op) {
        Some(TileOp::CopyAsync) => Some(Producer::Copy(op)),
        Some(TileOp::Load) => {
            let mut at = op;
            loop {
                match users(result_of(at, 0)).as_slice() {
                    [write] if TileOp::Write.is(*write) => {
                        return Some(Producer::Load(op, *write));
                    }
                    [map] if is_same_in_every_round(*map, body) => at = *map,
                    _ => return None,
                }
            }
        }
        _ => None,
    }
}

/// Whether an operation is a map of one tile whose function does not depend on the iteration.
fn is_same_in_every_round<'c>(op: IrOp<'c>, body: IrBlock<'c>) -> bool {
    let mut inside = Vec::new();
    collect_nested(op, &mut inside);
    let of_iteration = |value: IrValue<'c>| match defining_op(value) {
        Some(op) => is_in_block(op, body),
        None => (0..body.argument_count()).any(|index| argument_of(body, index) == value),
    };
    let mut used = inside.iter().flat_map(|op| {
        let operands = operands_of(*op);
        operands.collect::<Vec<_>>()
    });
    TileOp::Map.is(op) && op.operand_count() == 1 && has_no_effect(op) && !used.any(of_iteration)
}

/// Stages of the buffers of a loop.
struct Depth {
    stages: i64,
    /// Whether shared memory has room for one of each, and for all else.
    fits: bool,
}

/// Stages of the buffers of a loop, whose products all wait for memory or do not: what it says, or what the cost model chooses.
fn depth<'c>(
    of: IrOp<'c>,
    function: IrOp<'c>,
    (buffers, waits): (&[IrValue<'c>], bool),
    target: &Target,
) -> Result<Depth, Failed<'c>> {
    let said = depth_of(of)?;
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let (mut own, mut others) = (0, 0);
    for op in operations {
        if CuteOp::MemrefAllocSmem.is(op) {
            let value = result_of(op, 0);
            match buffers.contains(&value) {
                true => own += bytes_of(value),
                false => others += bytes_of(value),
            }
        }
    }
    let threads = function_block_size(function).unwrap_or(1);
    // What is there beside the stages, and not in their place: an operation of the kernel's body is where buffers share memory.
    let around = std::iter::successors(Some(of), |op| parent(*op));
    let outermost = around.take_while(|op| *op != function).last();
    let mut inside = Vec::new();
    collect_nested(outermost.unwrap_or(of), &mut inside);
    others += Scratch::bytes_of(&inside, (threads, 1));
    let fits = own + others <= i64::from(target.max_smem);
    if let Some(stages) = said {
        remark(
            of.location(),
            format!(
                "{} of {own} bytes, as the loop says",
                counted(stages, "stage")
            ),
        );
        return Ok(Depth { stages, fits });
    }
    let held = peak(function)?.map_or(0, |peak| for_bits(peak.all));
    let blocks = min_blocks(function);
    let block = CopyingBlock {
        threads,
        held,
        blocks,
        waits,
    };
    let stages = Stages::of_copies(own, others, block, target);
    remark(of.location(), stages.reason(own, others, target));
    Ok(Depth {
        stages: stages.count,
        fits,
    })
}
