//! The tiles that blocks which stay take from a counter in memory, in the order of their numbers.
//!
//! The thread that loads takes a number when it has begun the loads of the tile before, and tells the warps that multiply through a ring of
//! two places in shared memory. A block begins with the tile of its own number. The counter is two i32, 0 before a launch; the block that
//! ends last leaves zeros.
use super::super::emits::Emits;
use super::super::insert_barriers::TILES_OF_LAUNCH;
use super::cursor::Cursor;
use super::emit::Emit;
use crate::passes::cmpi::{EQUAL, LESS};
use crate::passes::ir_utils::{blocks, operations};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, argument_of, integer_value, region_with_block,
};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, LlvmOp, NvvmOp, ScfOp};
use cutec_dialects::semantics::{AtomicKind, Attrs, SemError};
use cutec_dialects::target::WARP;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Int, Layout, Width};
use melior::ir::operation::OperationLike;

/// The attribute of a kernel: the number of the parameter with the counter.
const QUEUE: &str = "tile.queue";
/// Numbers on their way.
const PLACES: i64 = 2;
/// Of the fence between both counts.
pub(in crate::passes::tile) const COUNTED: &str = "tile.counted";
/// A block has taken its last number before it says so.
const FENCE: &str = "fence.acq_rel.gpu;";

/// See the module.
pub(super) struct TileQueue<'c> {
    counter: IrValue<'c>,
    numbers: IrValue<'c>,
    full: IrValue<'c>,
    empty: IrValue<'c>,
    produced: Cursor<'c>,
    consumed: Cursor<'c>,
}

/// The parameter with the counter of a kernel that asks for a queue.
pub(super) fn counter<'c>(function: IrOp<'c>) -> Option<IrValue<'c>> {
    let number = function.attribute(QUEUE).ok().and_then(integer_value)?;
    let body = blocks(function, 0).into_iter().next()?;
    Some(argument_of(body, usize::try_from(number).ok()?))
}

impl<'c> TileQueue<'c> {
    pub fn allocate(emit: &Emit<'c>, counter: IrValue<'c>) -> Self {
        let layout = AnyLayout::Plain(Layout::contiguous(PLACES));
        let view = View::new(Elem::I32, Space::Smem, 128, layout);
        let ty = emit.ir.val_type(&Val::View(view));
        TileQueue {
            counter,
            numbers: emit.ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty),
            full: emit.barriers(PLACES),
            empty: emit.barriers(PLACES),
            produced: Cursor::of(emit, PLACES),
            consumed: Cursor::of(emit, PLACES),
        }
    }

    /// Initialises the barriers: one thread tells, so many warps read.
    pub fn init(&self, emit: &Emit<'c>, warps: i64) -> Result<(), SemError> {
        for place in 0..PLACES {
            for (barriers, count) in [(self.full, 1), (self.empty, warps)] {
                let operands = [barriers, emit.number(place)?, emit.number(count)?];
                emit.ir.op(CuteOp::MbarrierInit, &operands, &[], &[]);
            }
        }
        Ok(())
    }

    /// The loop of the thread that loads over the block's tiles.
    pub fn load(
        &self,
        emit: &mut Emit<'c>,
        count: IrValue<'c>,
        act: impl FnOnce(&mut Emit<'c>, IrValue<'c>) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        self.produced.begin(emit, 1)?;
        self.repeat(emit, count, |emit, tile| {
            act(emit, tile)?;
            let taken = self.add(emit, 0)?;
            let blocks = blocks_of_launch(emit);
            let number = emit.binary(ArithOp::Addi, taken, blocks);
            let place = self.produced.wait(emit, &[self.empty])?;
            let operands = [number, self.numbers, at(emit, place)];
            emit.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
            let operands = [self.full, place, emit.number(1)?];
            emit.ir.op(CuteOp::MbarrierArrive, &operands, &[], &[]);
            Ok(number)
        })?;
        self.leave(emit)
    }

    /// The loop of the threads that multiply over the block's tiles: its body is what reads the next number. Gives the tile, and that body.
    pub fn multiply(
        &self,
        emit: &mut Emit<'c>,
        count: IrValue<'c>,
        thread: IrValue<'c>,
    ) -> Result<(IrValue<'c>, IrBlock<'c>), SemError> {
        self.consumed.begin(emit, 0)?;
        let body = self.repeat(emit, count, |emit, _| {
            let place = self.consumed.wait(emit, &[self.full])?;
            let word = emit.ir.ty("i32");
            let number = [self.numbers, at(emit, place)];
            let number = emit.ir.value(CuteOp::MemrefLoad, &number, &[], word);
            // The same register in all lanes.
            let number = emit.first_lane(number);
            let members = emit.ir.constant(-1, "i32");
            emit.ir.op(NvvmOp::BarWarpSync, &[members], &[], &[]);
            let lane = emit.binary(ArithOp::Remui, thread, emit.ir.constant(WARP, "i32"));
            let first = emit.equal(lane, 0);
            emit.only_if(first, |emit| {
                let operands = [self.empty, place, emit.number(1)?];
                emit.ir.op(CuteOp::MbarrierArrive, &operands, &[], &[]);
                Ok(())
            })?;
            Ok(number)
        })?;
        Ok((argument_of(body, 0), body))
    }

    /// The loop of a warp that loads beside the thread which takes the numbers over the block's tiles.
    pub fn follow(
        &self,
        emit: &mut Emit<'c>,
        count: IrValue<'c>,
        thread: IrValue<'c>,
        act: impl FnOnce(&mut Emit<'c>, IrValue<'c>) -> Result<(), SemError>,
    ) -> Result<(), SemError> {
        let (tile, body) = self.multiply(emit, count, thread)?;
        let reads_next = operations(body).into_iter().next();
        let reads_next = reads_next.ok_or_else(|| SemError::Illegal("takes no tiles".into()))?;
        let around = std::mem::replace(&mut emit.ir.insertion, Insertion::Before(reads_next));
        let done = act(emit, tile);
        emit.ir.insertion = around;
        done
    }

    /// A loop from the number of the block on, while there is such a tile; `act` gives the next one.
    fn repeat(
        &self,
        emit: &mut Emit<'c>,
        count: IrValue<'c>,
        act: impl FnOnce(&mut Emit<'c>, IrValue<'c>) -> Result<IrValue<'c>, SemError>,
    ) -> Result<IrBlock<'c>, SemError> {
        let word = emit.ir.ty("i32");
        let first = emit.ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], word);
        let (before, before_block) = region_with_block(&[(word, emit.ir.location)]);
        let (body, body_block) = region_with_block(&[(word, emit.ir.location)]);
        let here = std::mem::replace(&mut emit.ir.insertion, Insertion::End(before_block));
        let number = argument_of(before_block, 0);
        let more = emit.compare(LESS, number, count);
        emit.ir.op(ScfOp::Condition, &[more, number], &[], &[]);
        emit.ir.insertion = Insertion::End(body_block);
        let next = act(emit, argument_of(body_block, 0));
        if let Ok(next) = next {
            emit.ir.op(ScfOp::Yield, &[next], &[], &[]);
        }
        emit.ir.insertion = here;
        let regions = vec![before, body];
        let attrs = [(TILES_OF_LAUNCH, emit.ir.unit())];
        (emit.ir).op_with_regions(ScfOp::While, &[first], &attrs, &[word], regions);
        next.map(|_| body_block)
    }

    /// Behind the last tile: the last block of the launch leaves zeros.
    fn leave(&self, emit: &mut Emit<'c>) -> Result<(), SemError> {
        let attrs = [
            ("asm_string", emit.ir.string(FENCE)),
            ("constraints", emit.ir.string("~{memory}")),
            ("asm_dialect", emit.ir.i64(0)),
            ("has_side_effects", emit.ir.unit()),
            (COUNTED, emit.ir.unit()),
        ];
        emit.ir.op(LlvmOp::InlineAsm, &[], &attrs, &[]);
        let left = self.add(emit, 1)?;
        let blocks = blocks_of_launch(emit);
        let others = emit.binary(ArithOp::Subi, blocks, emit.ir.constant(1, "i32"));
        let is_last = emit.compare(EQUAL, left, others);
        emit.only_if(is_last, |emit| {
            (0..2).try_for_each(|which| self.update(emit, which, AtomicKind::Exchange, 0).map(drop))
        })
    }

    fn add(&self, emit: &Emit<'c>, which: i64) -> Result<IrValue<'c>, SemError> {
        self.update(emit, which, AtomicKind::Add, 1)
    }

    /// Updates one of the two counts, and gives what it was.
    fn update(
        &self,
        emit: &Emit<'c>,
        which: i64,
        kind: AtomicKind,
        by: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let which = emit.constant(Val::coord([Some(Int::Static(which))]))?;
        let operands = [self.counter, which, emit.ir.constant(by, "i32")];
        let attrs = Attrs {
            kind: Some(kind),
            ..Attrs::default()
        };
        emit.cute(CuteOp::MemrefAtomic, &operands, &attrs)
    }
}

/// A place of the ring as a coordinate.
fn at<'c>(emit: &Emit<'c>, place: IrValue<'c>) -> IrValue<'c> {
    let any = Vars::default().fresh(Width::I32, 1);
    let coord = emit.ir.val_type(&Val::coord([Some(any)]));
    emit.ir.value(CuteOp::MakeCoord, &[place], &[], coord)
}

fn blocks_of_launch<'c>(emit: &Emit<'c>) -> IrValue<'c> {
    let word = emit.ir.ty("i32");
    emit.ir.value(NvvmOp::ReadPtxSregNctaidX, &[], &[], word)
}
