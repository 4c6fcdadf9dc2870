//! Rings of stages, each with the barriers of its stages.
mod depth;
mod find;

use super::super::emits::Emits;
use super::super::gathers::GatheredTile;
use super::super::multicast::Share;
use super::super::rewrite_loads::erase_all_unused;
use super::super::slices;
use super::super::stages::widen;
use super::super::tensor_box::TensorBox;
use super::super::types::{Failed, present, tile_of, transposed};
use super::cluster::{Cluster, Peers};
use super::cursor::{Cursor, behind};
use super::emit::{Emit, Slot};
use super::gather::Pending;
use super::split;
use super::vectors::Vector;
use crate::passes::ir_utils::{
    attributes, captured, defining_op, erase, is_in_block, replace_all_uses, users,
};
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{WARP, WARPGROUP};
use cutec_dialects::tile::cost_model::rounds_fetched;
use cutec_dialects::tile::{BY_ELEMENT, Precision, TRANSPOSED};
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

pub(super) use find::RESERVED_BY_MAPS;

/// A copy of a tile into a ring.
pub(super) struct Copy<'c> {
    pub op: IrOp<'c>,
    pub buffer: IrValue<'c>,
    pub by: By<'c>,
    /// Who reads it, the products that take what these read, or what is computed of it element by element, and whether others take it too.
    pub reads: Vec<IrOp<'c>>,
    pub dots: Vec<IrOp<'c>>,
    pub has_others: bool,
    /// Whether there are stages for its small parts as well.
    pub split: bool,
    /// Whether it is a vector, which threads read beside products.
    pub is_vector: bool,
}

/// How a tile comes to a ring.
pub(super) enum By<'c> {
    /// By a tensor map, which one thread begins.
    Map(ByMap<'c>),
    /// By `cp.async` of all threads of a warpgroup.
    Gather(GatheredTile<'c>),
    /// By the lanes of a warp, each some elements of a vector.
    Warp(Vector<'c>),
}

/// A box of a tensor.
pub(super) struct ByMap<'c> {
    pub tensor_box: TensorBox<'c>,
    pub atom: Arc<TmaAtom>,
    /// The atom with its map, and the buffer, or this block's part of it, with the modes of the tensor in their order.
    pub made: Option<IrValue<'c>>,
    pub ordered: IrValue<'c>,
    /// Where each block of a cluster loads a part.
    pub share: Option<ShareOfBlock<'c>>,
}

/// The part of what several blocks load together that one begins.
pub(super) struct ShareOfBlock<'c> {
    share: Share,
    /// Which part it is, and the blocks that it is sent to.
    part: Option<[IrValue<'c>; 2]>,
}

impl<'c> Copy<'c> {
    /// What has the tile no longer in its stage: products, and reads for others; of what comes beside what takes that which threads have read.
    pub fn takers(&self, beside: bool) -> Vec<IrOp<'c>> {
        if beside {
            let reads = self.reads.iter();
            return reads.flat_map(|read| users(result_of(*read, 0))).collect();
        }
        let reads = self.reads.iter().filter(|_| self.has_others);
        self.dots.iter().chain(reads).copied().collect()
    }

    /// Whether all that is made of an operand of f32 are products of tf32, as it is: the map rounds it then. What threads multiply from registers they
    /// round there.
    pub fn is_multiplied_as_tf32(&self) -> bool {
        let mut precisions = self.dots.iter().map(Precision::of);
        let all = precisions.all(|precision| precision == Ok(Precision::Tf32));
        let takers = self
            .reads
            .iter()
            .flat_map(|read| users(result_of(*read, 0)));
        let as_it_is = takers.into_iter().all(|taker| TileOp::Dot.is(taker));
        all && !self.dots.is_empty() && !self.has_others && as_it_is
    }

    /// The box, where a tensor map brings it.
    pub fn map(&self) -> Option<&ByMap<'c>> {
        match &self.by {
            By::Map(map) => Some(map),
            By::Gather(_) | By::Warp(_) => None,
        }
    }

    /// Bytes of a stage.
    pub fn bytes(&self) -> i64 {
        let bytes = match &self.by {
            By::Map(map) => map.bytes(),
            By::Gather(gathered) => gathered.bytes(),
            By::Warp(vector) => vector.bytes,
        };
        bytes * if self.split { 2 } else { 1 }
    }
}

impl<'c> ByMap<'c> {
    /// Bytes of a stage, of all parts and pieces.
    pub fn bytes(&self) -> i64 {
        let parts = self.share.as_ref().map_or(1, |own| own.share.parts);
        parts * self.tensor_box.pieces() * self.atom.bytes()
    }

    /// Finds what the copies write of a buffer.
    pub fn allocate(
        &mut self,
        emit: &Emit<'c>,
        buffer: IrValue<'c>,
        cluster: Option<&Cluster<'c>>,
    ) -> Result<(), SemError> {
        let mut written = buffer;
        if let (Some(own), Some(cluster)) = (&mut self.share, cluster) {
            let part = cluster.part(&own.share);
            own.part = Some([part, cluster.mask(emit, &own.share)?]);
            written = emit.part(buffer, own.share.axis, own.share.parts, part)?;
        }
        self.ordered = self.tensor_box.in_order(&emit.ir, written)?;
        Ok(())
    }

    /// The operands that say where each box of the copies that this block begins lies, with what they begin at given by `value`.
    pub fn places(
        &self,
        ir: &OpBuilder<'c>,
        value: impl Fn(IrValue<'c>) -> IrValue<'c>,
    ) -> Result<Vec<Vec<IrValue<'c>>>, SemError> {
        if self.tensor_box.has_windows() {
            return self.tensor_box.places(ir, |_, number| value(number));
        }
        let part = self.share.as_ref().and_then(|own| Some((own, own.part?)));
        let part = part.map(|(own, [part, _])| (own.share.axis, own.share.parts, part));
        let part = part.as_slice();
        let coordinates = self.tensor_box.coordinates_of_part(ir, part, value)?;
        Ok(vec![vec![coordinates]])
    }

    pub fn made(&self) -> Result<[IrValue<'c>; 1], SemError> {
        let made = self
            .made
            .ok_or_else(|| SemError::Illegal("has no tensor map".into()))?;
        Ok([made])
    }
}

/// What is loaded together for a product; or what a loop loads beside: its vectors, or a tile.
pub(super) struct Ring<'c> {
    /// Whether it is loaded beside the operands of products, by a warp of its own.
    pub beside: bool,
    pub copies: Vec<Copy<'c>>,
    /// Where it is loaded, and the loop whose body that is.
    pub block: IrBlock<'c>,
    pub of_loop: Option<IrOp<'c>>,
    /// Whether it is loaded more than once.
    pub repeats: bool,
    /// Whether threads read some of it to registers: then each warp releases what it has read, as no product says that the others have.
    by_warps: bool,
    /// Whether the sums of its products stay in their registers over all rounds of the loop.
    pub in_place: bool,
    /// Whether one round of products is under way when the stages of the round before are released.
    pub overlaps: bool,
    /// The blocks of a cluster that fill its stages, and are told when they are free.
    peers: Option<Peers<'c>>,
    stages: i64,
    barriers: Option<Barriers<'c>>,
}

#[derive(Clone, Copy)]
struct Barriers<'c> {
    full: IrValue<'c>,
    empty: IrValue<'c>,
    produced: Cursor<'c>,
    consumed: Cursor<'c>,
    /// The stage that is released next.
    oldest: Option<Slot<'c>>,
    /// What is gathered and not known yet to be there.
    pending: Option<Pending<'c>>,
    /// Those at which the parts of a stage are known to be there.
    split: Option<IrValue<'c>>,
}

impl<'c> Ring<'c> {
    /// Whether nothing is left for a stage of it.
    pub fn has_no_room(&self) -> bool {
        self.stages == 0
    }

    /// Leaves a tile for which there is no stage to the threads that take it.
    pub fn load_by_threads(&self, ir: &mut OpBuilder<'c>) -> Result<(), Failed<'c>> {
        for copy in &self.copies {
            let begun = present(copy.op, tile::CopyAsync::of(copy.op))?;
            ir.insertion = Insertion::Before(copy.op);
            ir.location = copy.op.location();
            let operands = [&[begun.view()], &begun.at()[..]].concat();
            let attrs = attributes(copy.op, &[BY_ELEMENT]);
            for read in &copy.reads {
                let taken = result_of(*read, 0);
                let load = |ty| ir.value(TileOp::Load, &operands, &attrs, ty);
                let loaded = match read.attribute(TRANSPOSED) {
                    Ok(_) => {
                        let whole = transposed(&tile_of(*read, taken)?);
                        let whole = load(present(*read, whole)?.ir(ir.context()));
                        ir.value(TileOp::Transpose, &[whole], &[], taken.r#type())
                    }
                    Err(_) => load(taken.r#type()),
                };
                replace_all_uses(taken, loaded);
                erase(*read);
            }
        }
        self.erase_copies();
        let buffers = self.copies.iter().map(|copy| copy.buffer);
        buffers.filter_map(defining_op).for_each(erase);
        Ok(())
    }

    /// The products that read rings.
    pub fn products(rings: &[Self]) -> Vec<IrOp<'c>> {
        let mut dots: Vec<IrOp<'c>> = Vec::new();
        for dot in rings
            .iter()
            .flat_map(|ring| &ring.copies)
            .flat_map(|copy| &copy.dots)
        {
            if !dots.contains(dot) {
                dots.push(*dot);
            }
        }
        dots
    }

    pub fn stages(&self) -> i64 {
        self.stages
    }

    /// Bytes of a stage.
    fn bytes(&self) -> i64 {
        self.copies.iter().map(Copy::bytes).sum()
    }

    /// What is gathered, and the buffers.
    pub fn gathers(&self) -> impl Iterator<Item = (IrValue<'c>, &GatheredTile<'c>)> {
        self.copies.iter().filter_map(|copy| match &copy.by {
            By::Map(_) | By::Warp(_) => None,
            By::Gather(gathered) => Some((copy.buffer, gathered)),
        })
    }

    /// The vectors that a warp of its own loads, and their buffers.
    pub fn vectors(&self) -> impl Iterator<Item = (IrValue<'c>, &Vector<'c>)> {
        self.copies.iter().filter_map(|copy| match &copy.by {
            By::Map(_) | By::Gather(_) => None,
            By::Warp(vector) => Some((copy.buffer, vector)),
        })
    }

    /// Whether the lanes of a warp fill some of it.
    pub fn is_carried(&self) -> bool {
        self.vectors().next().is_some()
    }

    /// Whether it is what comes beside operands, and vectors.
    pub fn is_of_vectors(&self) -> bool {
        self.beside && self.copies.iter().all(|copy| copy.is_vector)
    }

    /// What the warp of its own begins of it, or what the others do.
    pub fn begun_by(&self, carrying: bool) -> impl Iterator<Item = &Copy<'c>> {
        let carried = |copy: &&Copy<'c>| self.beside || matches!(copy.by, By::Warp(_));
        (self.copies.iter()).filter(move |copy| carried(copy) == carrying)
    }

    /// Whether all of its products stand in the body of its loop, which carries no sums of theirs.
    fn is_waited_for(&self) -> bool {
        let mut dots = self.copies.iter().flat_map(|copy| &copy.dots);
        dots.all(|dot| {
            let mut takers = users(result_of(*dot, 0)).into_iter();
            is_in_block(*dot, self.block) && !takers.any(|op| ScfOp::Yield.is(op))
        })
    }

    /// Whether two warps split some of it.
    pub fn is_split(&self) -> bool {
        self.copies.iter().any(|copy| copy.split)
    }

    /// Whether a warpgroup gathers some of it.
    pub fn is_gathered(&self) -> bool {
        self.gathers().next().is_some()
    }

    pub fn widen(&self, ir: &OpBuilder<'c>) -> Result<(), String> {
        let mut copies = self.copies.iter();
        copies.try_for_each(|copy| {
            let sides = if copy.split { 2 } else { 1 };
            widen(ir, copy.buffer, sides * self.stages)
        })
    }

    /// Allocates the barriers, and what the roles count. `alone` says that there is no other ring.
    pub fn allocate(&mut self, emit: &Emit<'c>, alone: bool, cluster: Option<&Cluster<'c>>) {
        let shared = |axis: usize| {
            let mut maps = self.copies.iter().filter_map(Copy::map);
            maps.any(|map| map.share.as_ref().is_some_and(|own| own.share.axes[axis]))
        };
        let axes = [shared(0), shared(1)];
        let by_warps = self.by_warps;
        self.peers = cluster.and_then(|cluster| cluster.peers(emit, axes, by_warps));
        let gathered = self.is_gathered();
        let in_loop = self.of_loop.is_some();
        let split = self.is_split().then(|| emit.barriers(self.stages));
        self.barriers = Some(Barriers {
            split,
            full: emit.barriers(self.stages),
            empty: emit.barriers(self.stages),
            produced: Cursor::of(emit, self.stages),
            consumed: Cursor::of(emit, self.stages),
            oldest: self.overlaps.then(|| emit.slot()),
            pending: gathered.then(|| Pending::of(emit, self.stages, alone && in_loop)),
        });
    }

    fn barriers(&self) -> Result<Barriers<'c>, SemError> {
        self.barriers
            .ok_or_else(|| SemError::Illegal("has no barriers".into()))
    }

    /// Initialises the barriers: a stage is filled by one thread and its bytes, or by those that gather, and by the warp that brings vectors, and
    /// released by each warpgroup, of all blocks that it is sent to, or by each warp.
    pub fn init(&self, emit: &Emit<'c>, warpgroups: i64) -> Result<(), SemError> {
        let Barriers {
            full, empty, split, ..
        } = self.barriers()?;
        let filling = match self.is_gathered() {
            true => WARPGROUP,
            false => i64::from(self.copies.iter().any(|copy| copy.map().is_some())),
        };
        let filling = filling + i64::from(self.is_carried());
        let releasing = match self.by_warps {
            true => warpgroups * WARPGROUP / WARP,
            false => warpgroups,
        };
        let told = self.peers.map_or(1, |peers| peers.count);
        for stage in 0..self.stages {
            let splitting = split.map(|split| (split, split::SPLITTING));
            let counts = [(full, filling), (empty, releasing * told)];
            for (barriers, count) in counts.into_iter().chain(splitting) {
                let operands = [barriers, emit.number(stage)?, emit.number(count)?];
                emit.ir.op(CuteOp::MbarrierInit, &operands, &[], &[]);
            }
        }
        Ok(())
    }

    /// What the role that loads begins with: all stages are free.
    pub fn begin_to_load(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        let barriers = self.barriers()?;
        if let Some(pending) = barriers.pending {
            pending.begin(emit)?;
        }
        match self.repeats {
            true => barriers.produced.begin(emit, 1),
            false => Ok(()),
        }
    }

    /// What the role that multiplies begins with.
    pub fn begin_to_multiply(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        let Barriers {
            consumed, oldest, ..
        } = self.barriers()?;
        consumed.begin(emit, 0)?;
        match oldest {
            Some(oldest) => emit.set(oldest, emit.ir.constant(0, "i32")),
            None => Ok(()),
        }
    }

    /// Leaves out so many stages, where all that were waited for are released: another warpgroup reads and releases those.
    pub fn skip(&self, emit: &Emit<'c>, count: IrValue<'c>) -> Result<(), SemError> {
        let Barriers {
            consumed, oldest, ..
        } = self.barriers()?;
        consumed.skip(emit, count)?;
        match oldest {
            Some(oldest) => emit.set(oldest, consumed.stage(emit)?),
            None => Ok(()),
        }
    }

    /// Waits until the next stage is free, and gives its number.
    pub fn next_free(&self, emit: &Emit<'c>) -> Result<IrValue<'c>, SemError> {
        let Barriers {
            empty, produced, ..
        } = self.barriers()?;
        match self.repeats {
            true => produced.wait(emit, &[empty]),
            false => Ok(emit.ir.constant(0, "i32")),
        }
    }

    /// Says that copies by tensor maps bring so many bytes to a stage; gives the barriers that they complete at.
    pub fn expect(
        &self,
        emit: &Emit<'c>,
        stage: IrValue<'c>,
        bytes: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let Barriers { full, .. } = self.barriers()?;
        // Those that gather arrive by themselves.
        let expect = match self.is_gathered() {
            true => CuteOp::MbarrierExpectTx,
            false => CuteOp::MbarrierArriveExpectTx,
        };
        let operands = [full, stage, emit.number(bytes)?];
        emit.ir.op(expect, &operands, &[], &[]);
        Ok(full)
    }

    /// What is copied by tensor maps, each with its own.
    fn by_maps(&self) -> impl Iterator<Item = (&Copy<'c>, &ByMap<'c>)> {
        let copies = self.copies.iter();
        copies.filter_map(|copy| Some((copy, copy.map()?)))
    }

    /// Begins the copies by tensor maps to a stage, the boxes of each at `coordinates`; one thread does.
    pub fn fill(
        &self,
        emit: &mut Emit<'c>,
        stage: IrValue<'c>,
        coordinates: &[Vec<Vec<IrValue<'c>>>],
    ) -> Result<(), SemError> {
        let bytes = self.by_maps().map(|(_, map)| map.bytes()).sum();
        let full = self.expect(emit, stage, bytes)?;
        for ((copy, map), coordinates) in self.by_maps().zip(coordinates) {
            emit.ir.location = copy.op.location();
            let [made] = map.made()?;
            let part = map.share.as_ref().and_then(|own| own.part);
            for (piece, place) in coordinates.iter().enumerate() {
                let to = match coordinates.len() {
                    1 => emit.stage(map.ordered, stage)?,
                    _ => emit.piece(map.ordered, piece as i64, stage)?,
                };
                let Some((coordinate, moved)) = place.split_first() else {
                    continue;
                };
                let mut operands = [&[made, *coordinate, to, full, stage][..], moved].concat();
                operands.extend(part.map(|[_, mask]| mask));
                emit.ir.op(CuteOp::Copy, &operands, &[], &[]);
            }
        }
        Ok(())
    }

    /// Fetches into L2 what copies by tensor maps would bring, the boxes of each at `coordinates`; one thread does.
    pub fn fetch(
        &self,
        emit: &mut Emit<'c>,
        coordinates: &[Vec<Vec<IrValue<'c>>>],
    ) -> Result<(), SemError> {
        for ((copy, map), coordinates) in self.by_maps().zip(coordinates) {
            emit.ir.location = copy.op.location();
            let [made] = map.made()?;
            for place in coordinates.iter().flatten() {
                emit.ir.op(CuteOp::Prefetch, &[made, *place], &[], &[]);
            }
        }
        Ok(())
    }

    /// Rounds of its loop that are fetched into L2 while the launch ahead ends, where so many blocks share a multiprocessor.
    pub fn rounds_fetched(&self, blocks: i64) -> i64 {
        let plain = self.begun_by(false).all(|copy| {
            let map = copy.map();
            map.is_some_and(|map| !map.tensor_box.has_windows())
        });
        let extents = self.copies[0].dots.first().and_then(|dot| {
            let dot = tile::Dot::of(*dot)?;
            let [a, c] = [dot.a(), dot.c()].map(|value| tile_of(dot.op(), value).ok());
            let ([m, n, _], _) = slices::extents_of_product(&a?, &c?);
            Some([m, n])
        });
        match extents.filter(|_| plain && self.of_loop.is_some()) {
            Some(extents) => rounds_fetched(extents, self.bytes(), blocks),
            None => 0,
        }
    }

    /// A warp has stored what a stage has.
    pub fn filled_by_warp(&self, emit: &mut Emit<'c>, stage: IrValue<'c>) -> Result<(), SemError> {
        let Barriers { full, .. } = self.barriers()?;
        let leads = emit.leads_of_warp();
        emit.only_if(leads, |emit| {
            let operands = [full, stage, emit.number(1)?];
            emit.ir.op(CuteOp::MbarrierArrive, &operands, &[], &[]);
            Ok(())
        })
    }

    /// What is gathered for a stage was begun.
    pub fn begun(&self, emit: &mut Emit<'c>) -> Result<(), SemError> {
        let Barriers { full, pending, .. } = self.barriers()?;
        match pending {
            Some(pending) => pending.begun(emit, full, self.stages),
            None => Ok(()),
        }
    }

    /// Waits for all that is gathered, behind the last stage.
    pub fn flush(&self, emit: &mut Emit<'c>) -> Result<(), SemError> {
        let Barriers { full, pending, .. } = self.barriers()?;
        match pending {
            Some(pending) => pending.flush(emit, full, self.stages),
            None => Ok(()),
        }
    }

    /// Waits until the next stage is filled, its parts included, and gives its number.
    pub fn wait(&self, emit: &Emit<'c>) -> Result<IrValue<'c>, SemError> {
        let Barriers { full, split, .. } = self.barriers()?;
        let barriers: Vec<_> = [full].into_iter().chain(split).collect();
        self.wait_at(emit, &barriers)
    }

    fn wait_at(&self, emit: &Emit<'c>, barriers: &[IrValue<'c>]) -> Result<IrValue<'c>, SemError> {
        if self.repeats {
            return self.barriers()?.consumed.wait(emit, barriers);
        }
        let first = emit.ir.constant(0, "i32");
        for barriers in barriers {
            let operands = [*barriers, first, first];
            emit.ir.op(CuteOp::MbarrierWait, &operands, &[], &[]);
        }
        Ok(first)
    }

    /// What the warps that split begin with.
    pub fn begin_to_split(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        match self.is_split() && self.repeats {
            true => self.barriers()?.consumed.begin(emit, 0),
            false => Ok(()),
        }
    }

    /// Splits what the next stage brings, and says so.
    pub fn split(&self, emit: &Emit<'c>) -> Result<(), SemError> {
        let Barriers { full, split, .. } = self.barriers()?;
        let Some(split) = split else {
            return Ok(());
        };
        let stage = self.wait_at(emit, &[full])?;
        let stages = emit.ir.constant(self.stages, "i32");
        let parts = emit.binary(ArithOp::Addi, stage, stages);
        for copy in self.copies.iter().filter(|copy| copy.split) {
            split::split(emit, copy.buffer, [stage, parts])?;
        }
        emit.fence_for_async_proxy();
        let operands = [split, stage, emit.number(1)?];
        emit.ir.op(CuteOp::MbarrierArrive, &operands, &[], &[]);
        Ok(())
    }

    /// What reads its stages.
    pub fn reads(&self) -> impl Iterator<Item = IrOp<'c>> {
        self.copies.iter().flat_map(|copy| &copy.reads).copied()
    }

    /// Behind what threads have read of a stage: a copy by a tensor map that takes it next would overtake loads on their way, which no
    /// `mbarrier` keeps it from.
    pub fn fence_reads(&self, emit: &Emit<'c>) {
        if self.by_warps && self.by_maps().next().is_some() {
            emit.fence_for_async_proxy();
        }
    }

    /// Releases a stage, behind [`Ring::fence_reads`]: the first thread of each warpgroup says that its products have read it, or that of each warp that its threads
    /// have, too; or as many as there are blocks that fill it, each to one of these.
    pub fn release(
        &self,
        emit: &mut Emit<'c>,
        stage: IrValue<'c>,
        leads: IrValue<'c>,
    ) -> Result<(), SemError> {
        let Barriers { empty, .. } = self.barriers()?;
        let leads = match (self.peers, self.by_warps) {
            (Some(peers), true) => {
                emit.meet_in_warp();
                peers.tells
            }
            (Some(peers), false) => peers.tells,
            (None, true) => emit.leads_of_warp(),
            (None, false) => leads,
        };
        emit.only_if(leads, |emit| {
            let mut operands = vec![empty, stage, emit.number(1)?];
            operands.extend(self.peers.map(|peers| peers.told));
            let arrive = match (self.peers, self.by_warps) {
                (None, _) => CuteOp::MbarrierArrive,
                // What threads have read another block overwrites.
                (Some(_), true) => CuteOp::MbarrierArrive,
                (Some(_), false) => CuteOp::MbarrierArriveWithinCta,
            };
            emit.ir.op(arrive, &operands, &[], &[]);
            Ok(())
        })
    }

    /// Releases the oldest stage that is held, as [`Ring::release`] does.
    pub fn release_oldest(&self, emit: &mut Emit<'c>, leads: IrValue<'c>) -> Result<(), SemError> {
        let Some(oldest) = self.barriers()?.oldest else {
            return Ok(());
        };
        let stage = emit.get(oldest)?;
        self.release(emit, stage, leads)?;
        let (next, _) = behind(emit, stage, self.stages);
        emit.set(oldest, next)
    }

    /// Erases the copies and what waited for them, or was computed for them alone.
    pub fn erase_copies(&self) {
        for copy in &self.copies {
            match &copy.by {
                By::Map(_) => {
                    for commit in users(result_of(copy.op, 0)) {
                        users(result_of(commit, 0)).into_iter().for_each(erase);
                        erase(commit);
                    }
                    erase(copy.op);
                }
                By::Gather(_) | By::Warp(_) => {
                    let used = captured(copy.op);
                    erase(copy.op);
                    erase_all_unused(used);
                }
            }
        }
    }
}
