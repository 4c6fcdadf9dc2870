//! What a loop without products loads ahead waits in shared memory: what a thread will hold, in a place that no other thread accesses.
//!
//! There is no barrier, and any layout of the tile will do, also one over the blocks of a cluster. A thread waits for its own copies, takes
//! them to registers and begins those of a later iteration in their place, part by part.
use super::loads::{Loads, Place};
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::cmpi::{EQUAL, cmpi};
use crate::passes::ir_utils::{
    attributes, blocks, collect_nested, erase, function_block_size, next_operation, operations,
    replace_all_uses,
};
use crate::passes::kernel_abi::min_blocks;
use crate::passes::tile::access_width::vector_along;
use crate::passes::tile::issuable::read_only;
use crate::passes::tile::partition::Scratch;
use crate::passes::tile::registers::{for_bits, peak};
use crate::passes::tile::rematerialize::Bounds;
use crate::passes::tile::smem_tile::bytes_of;
use crate::passes::tile::types::{Failed, present, tile_of};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, operands_of, result_of,
};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp, tile};
use cutec_dialects::target::{Target, WIDEST_ACCESS};
use cutec_dialects::tile::cost_model::{AheadShared, HoldingBlock};
use cutec_dialects::tile::{BY_ELEMENT, TileType};
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Layout};
use melior::Context;
use melior::ir::operation::OperationLike;

/// Bytes that `cp.async` copies at least.
const LEAST: i64 = 4;
/// Parts of a tile that a thread takes one after the other, so that the first may be begun anew before the last is there (docs/performance.md, "Operators
/// of f32 that move memory").
const PARTS: i64 = 4;
/// Bytes that divide where a buffer begins.
const ALIGN: i64 = 128;

/// What of some loads could wait in shared memory, and the room there is; `None` where they cannot.
///
/// The groups of a thread's copies are counted here, so there may be no others in the kernel.
pub(super) fn room<'c>(
    function: IrOp<'c>,
    loads: &[IrOp<'c>],
    said: Option<i64>,
    target: &Target,
) -> Result<Option<AheadShared>, Failed<'c>> {
    let mut all = Vec::new();
    collect_nested(function, &mut all);
    let copies = [
        TileOp::CopyAsync,
        TileOp::GatherAsync,
        TileOp::LoadAsync,
        TileOp::Dot,
    ];
    if all.iter().any(|op| copies.iter().any(|copy| copy.is(*op))) {
        return Ok(None);
    }
    let (is_read_only, threads) = (
        read_only(function),
        function_block_size(function).unwrap_or(1),
    );
    let mut round = 0;
    for op in loads {
        let load = present(*op, tile::Load::of(*op))?;
        let tile = tile_of(*op, load.result())?;
        match Own::of(*op, &tile)? {
            Some(own) if is_read_only(load.view()) => round += own.bytes(threads),
            _ => return Ok(None),
        }
    }
    let buffers = all.iter().filter(|op| CuteOp::MemrefAllocSmem.is(**op));
    let buffers: i64 = buffers.map(|op| bytes_of(result_of(*op, 0))).sum();
    let block = HoldingBlock {
        threads,
        registers: peak(function)?.map_or(0, |peak| for_bits(peak.all)),
        others: buffers + Scratch::bytes_of(&all, (threads, 1)),
        least: min_blocks(function),
        is_said: said.is_some(),
    };
    Ok(AheadShared::of(round, block, target))
}

/// What a thread holds of a tile, in a place of its own.
struct Own {
    tile: TileType,
    /// Values that lie side by side in global memory, and how many such vectors there are.
    neighbours: i64,
    vectors: i64,
}

impl Own {
    /// Of a load; `None` where asynchronous copies cannot bring it.
    fn of<'c>(op: IrOp<'c>, tile: &TileType) -> Result<Option<Own>, Failed<'c>> {
        let (Some((fast, vector)), Some(layout)) = (vector_along(op, tile), &tile.layout) else {
            return Ok(None);
        };
        if tile.elem == Elem::I1 || tile.elem.is_packed() {
            return Ok(None);
        }
        let found = layout.neighbours(&tile.shape, fast);
        let found = found.map_err(|message| (op, message))?;
        let most = WIDEST_ACCESS / tile.elem.bytes();
        let neighbours = 1 << found.trailing_zeros().min(most.trailing_zeros());
        if vector.min(neighbours) * tile.elem.bytes() < LEAST {
            return Ok(None);
        }
        Ok(Some(Own {
            tile: tile.clone(),
            neighbours,
            vectors: layout.values() / neighbours,
        }))
    }

    /// Bytes of a block.
    fn bytes(&self, threads: i64) -> i64 {
        self.tile
            .elem
            .bytes_of(self.neighbours * self.vectors * threads)
    }

    /// Groups of copies.
    fn parts(&self) -> i64 {
        let most = (1..=PARTS.min(self.vectors)).rev();
        let divides = |parts: &i64| self.vectors % parts == 0;
        most.into_iter().find(divides).unwrap_or(1)
    }

    /// A buffer with so many slots.
    fn buffer(&self, threads: i64, slots: i64) -> View {
        let [vector, all] = [
            self.neighbours * threads,
            self.neighbours * threads * self.vectors,
        ];
        let layout = Layout::of_modes([
            (self.neighbours, 1),
            (self.vectors, vector),
            (threads, self.neighbours),
            (slots, all),
        ]);
        View::new(self.tile.elem, Space::Smem, ALIGN, AnyLayout::Plain(layout))
    }
}

/// A load, where its tile waits, and how many groups that is.
struct Waiting<'c> {
    load: tile::Load<'c>,
    tile: TileType,
    buffer: IrValue<'c>,
    parts: i64,
}

impl<'c> Waiting<'c> {
    /// Begins to copy a tile to a slot.
    fn begin(&self, ir: &OpBuilder<'c>, place: &Place<'c>, slot: IrValue<'c>) {
        let mut operands = vec![place.view];
        operands.extend(&place.at);
        operands.extend([self.buffer, slot]);
        let mut attrs = attributes(self.load.op(), &["hints", BY_ELEMENT]);
        attrs.push(("tile", ir.type_attr(self.tile.ir(ir.context()))));
        attrs.push(("parts", ir.i64(self.parts)));
        ir.op(TileOp::LoadAsync, &operands, &attrs, &[]);
    }

    /// The tile in a slot.
    fn take(&self, ir: &OpBuilder<'c>, slot: IrValue<'c>, younger: i64) -> IrValue<'c> {
        let mut operands: Vec<IrValue<'c>> = operands_of(self.load.op()).collect();
        operands.extend([self.buffer, slot]);
        let mut attrs = attributes(self.load.op(), &["fill", BY_ELEMENT]);
        attrs.push(("parts", ir.i64(self.parts)));
        attrs.push(("younger", ir.i64(younger)));
        ir.value(TileOp::Take, &operands, &attrs, self.tile.ir(ir.context()))
    }
}

impl<'c> Loads<'c> {
    /// Rewrites the loop: an iteration takes its tiles and begins those of a later one in their place.
    pub(super) fn in_own_memory(self, context: &'c Context) -> Result<(), Failed<'c>> {
        let threads = function_block_size(self.function).unwrap_or(1);
        let slots = self.stages - 1;
        let mut ir = OpBuilder::new(context, Insertion::Before(entry_of(self.function)?));
        ir.location = self.of.location();
        let waiting = self.waiting(&ir, threads, slots)?;

        ir.insertion = Insertion::Before(self.of);
        let bounds = Bounds::of(self.of)?;
        let mut numbers = self.numbers.of_first(&mut ir, bounds, self.stages)?;
        let numbers_ahead = numbers.pop().unwrap_or_default();
        let mut index = bounds.lower;
        for (iteration, numbers) in (0..).zip(numbers) {
            if iteration > 0 {
                index = bounds.next(&ir, index);
            }
            let slot = ir.constant(iteration, "i32");
            let places = self.places(&mut ir, (index, bounds.upper), &numbers)?;
            for (waiting, place) in waiting.iter().zip(&places) {
                waiting.begin(&ir, place, slot);
            }
        }

        let mut carried = vec![ir.constant(0, "i32")];
        carried.extend(numbers_ahead.iter().copied());
        let (new, arguments) = with_additional_yields(&ir, self.of, &[], &carried);
        let (slot, numbers) = (arguments[0], &arguments[1..]);
        let body = operations(self.body);
        let (Some(first), Some(end)) = (body.first().copied(), body.last().copied()) else {
            return Err((new, "has no end".into()));
        };
        ir.insertion = Insertion::Before(first);
        let ahead = bounds.ahead(&ir, argument_of(self.body, 0), slots);
        let places = self.places(&mut ir, (ahead, bounds.upper), numbers)?;
        let next = self.numbers.ahead(&mut ir, bounds, self.stages)?;
        // Of all loads, of all iterations under way.
        let groups: i64 = waiting.iter().map(|waiting| slots * waiting.parts).sum();
        for (waiting, place) in waiting.iter().zip(&places) {
            let op = waiting.load.op();
            (ir.insertion, ir.location) = (Insertion::Before(op), op.location());
            let taken = waiting.take(&ir, slot, groups - 1);
            waiting.begin(&ir, place, slot);
            replace_all_uses(waiting.load.result(), taken);
            erase(op);
        }

        (ir.insertion, ir.location) = (Insertion::Before(end), self.of.location());
        let mut yielded: Vec<IrValue<'c>> = operands_of(end).collect();
        yielded.push(slot_behind(&ir, slot, slots));
        yielded.extend(next);
        ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
        erase(self.of);
        // What is begun beyond the last iteration is zeros, which nothing else in the same memory may meet.
        if let Some(behind) = next_operation(new) {
            ir.insertion = Insertion::Before(behind);
            ir.op(TileOp::Wait, &[], &[], &[]);
        }
        Ok(())
    }

    /// A buffer for each load.
    fn waiting(
        &self,
        ir: &OpBuilder<'c>,
        threads: i64,
        slots: i64,
    ) -> Result<Vec<Waiting<'c>>, Failed<'c>> {
        let mut all = Vec::new();
        for op in self.loads.iter().copied() {
            let load = present(op, tile::Load::of(op))?;
            let tile = tile_of(op, load.result())?;
            let own = Own::of(op, &tile)?;
            let own = own.ok_or_else(|| (op, "cannot wait in shared memory".to_owned()))?;
            let ty = ir.val_type(&Val::View(own.buffer(threads, slots)));
            all.push(Waiting {
                load,
                tile,
                buffer: ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty),
                parts: own.parts(),
            });
        }
        Ok(all)
    }
}

/// The first operation of a kernel.
fn entry_of<'c>(function: IrOp<'c>) -> Result<IrOp<'c>, Failed<'c>> {
    let first = blocks(function, 0).into_iter().next().map(operations);
    let first = first.and_then(|operations| operations.first().copied());
    first.ok_or_else(|| (function, "has no body".into()))
}

/// The slot behind another one of so many, in a ring.
fn slot_behind<'c>(ir: &OpBuilder<'c>, slot: IrValue<'c>, slots: i64) -> IrValue<'c> {
    if slots == 1 {
        return slot;
    }
    let (word, number) = (ir.ty("i32"), |number: i64| ir.constant(number, "i32"));
    let next = ir.value(ArithOp::Addi, &[slot, number(1)], &[], word);
    let is_last = cmpi(ir, EQUAL, next, number(slots));
    ir.value(ArithOp::Select, &[is_last, number(0), next], &[], word)
}
