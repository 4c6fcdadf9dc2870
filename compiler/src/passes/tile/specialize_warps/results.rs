//! Results that leave through buffers: by tensor maps, or by threads where there is no map of the tensor.
use super::super::emits::Emits;
use super::super::insert_barriers::OWN;
use super::super::load_early::OTHERS;
use super::super::partition::{FIRST_BARRIER, Scratch};
use super::super::pingpong::in_turn;
use super::super::registers::of_thread;
use super::super::result_store::{ByMap, InPieces, OwnRows, accessed};
use super::super::smem_tile::bytes_of;
use super::super::stages::widen;
use super::super::tensor_box::TensorBox;
use super::super::types::tensor_of;
use super::emit::Emit;
use super::ring::RESERVED_BY_MAPS;
use crate::passes::ir_utils::attributes;
use crate::passes::remark;
use crate::passes::said::say;
use cutec_abi::TensorMapAbi;
use cutec_dialects::abi::abi_of;
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{Target, WARPGROUP};
use cutec_dialects::tile::{BY_ELEMENT, TileLayout, TileType};
use cutec_dialects::value::Val;
use melior::ir::{ValueLike, operation::OperationLike};
use std::sync::Arc;

/// Buffers of a result that leaves in pieces: one is written while the other is read.
pub(super) const BUFFERS: i64 = 2;

/// A store, and the buffers that it goes through.
pub(super) struct StoredResult<'c> {
    pub store: IrOp<'c>,
    /// Warpgroups that take turns, each with buffers of its own.
    in_turn: i64,
    /// Registers that a thread has for tiles.
    pub registers: i64,
    pub sums: InPieces,
    leaves: Leaves<'c>,
    /// How threads write a piece, where that is not by vectors.
    copy: Option<Val>,
    /// Whether threads load the tile that is stored.
    is_loaded: bool,
    /// The buffers.
    buffers: Option<IrValue<'c>>,
}

/// How pieces leave their buffers.
enum Leaves<'c> {
    ByMap(Box<Map<'c>>),
    /// By threads that a piece is spread over so.
    ByThreads(TileLayout),
}

struct Map<'c> {
    tensor_box: TensorBox<'c>,
    atom: Arc<TmaAtom>,
    /// The rows that each warpgroup stores by itself, where they do.
    own: Option<OwnRows<'c>>,
    /// The atom with its map, and what is stored of the buffers, with the modes of the tensor in their order.
    made: Option<[IrValue<'c>; 2]>,
}

impl<'c> Map<'c> {
    /// The copy by which a piece leaves, or a warpgroup's rows of it.
    fn leaves_by(&self) -> &Arc<TmaAtom> {
        self.own.as_ref().map_or(&self.atom, |own| &own.atom)
    }

    fn made(&self) -> Result<[IrValue<'c>; 2], SemError> {
        let missing = || SemError::Illegal("is no store by a map".into());
        self.made.ok_or_else(missing)
    }
}

impl<'c> StoredResult<'c> {
    /// The stores of a kernel with these operations, where there is memory for their buffers beside a stage of what is loaded and what other
    /// tiles go through: else so many threads, which share a tile, store them.
    pub fn all(
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
        (threads, target): (i64, &Target),
    ) -> Vec<Self> {
        let stores = operations
            .iter()
            .copied()
            .filter(|op| TileOp::Store.is(*op));
        let found = stores.filter_map(|store| {
            let (sums, leaves) = match ByMap::of(store, function, operations) {
                Some(by) => {
                    let map = Map {
                        atom: Arc::new(by.tensor_box.store(&by.sums.buffer).ok()?),
                        own: by.rows_of_warpgroup(store, function),
                        tensor_box: by.tensor_box,
                        made: None,
                    };
                    (by.sums, Leaves::ByMap(Box::new(map)))
                }
                None => {
                    say_spills(store, function, operations);
                    let sums = InPieces::of_narrow(store, operations)?;
                    let spread = sums.side_by_side(store, threads)?;
                    (sums, Leaves::ByThreads(spread))
                }
            };
            Some(StoredResult {
                store,
                in_turn: in_turn(function),
                registers: of_thread(function, threads, target) - OTHERS,
                copy: sums.store_copy(),
                is_loaded: false,
                sums,
                leaves,
                buffers: None,
            })
        });
        let mut found: Vec<Self> = found.collect();
        Self::meet_for_all(&mut found);
        let buffers = operations
            .iter()
            .filter(|op| CuteOp::MemrefAllocSmem.is(**op));
        let others = buffers.map(|op| bytes_of(result_of(*op, 0))).sum::<i64>()
            + Scratch::bytes_of(operations, (threads, in_turn(function)))
            + RESERVED_BY_MAPS;
        let room = i64::from(target.max_smem) - others;
        while in_turn(function) == 1 && Self::bytes(&found) > room {
            let Some(result) = found.pop() else { break };
            let message = format!(
                "each thread stores its elements: beside {others} bytes for other things there is no room for buffers"
            );
            remark(result.store.location(), message);
        }
        found
    }

    /// Sees what threads load of the tensors that are stored: all but what comes `by_map`, and `rows` side by side. Warpgroups store rows
    /// by themselves where each has loaded no others.
    pub fn see_loads(
        results: &mut [Self],
        operations: &[IrOp<'c>],
        by_map: &[IrOp<'c>],
        rows: Option<IrOp<'c>>,
    ) {
        for result in results.iter_mut() {
            let Some(store) = tile::Store::of(result.store) else {
                continue;
            };
            let tensor = tensor_of(store.view());
            let reads = |op: &&IrOp<'c>| {
                let read = accessed(**op).filter(|_| tile::written_view(**op).is_none());
                !by_map.contains(op) && read.is_some_and(|view| tensor_of(view) == tensor)
            };
            for op in operations.iter().filter(reads) {
                result.is_loaded = true;
                let is_alike =
                    |load: tile::Load<'c>| are_spread_alike(load.result(), store.value());
                if !tile::Load::of(*op).is_some_and(is_alike) || rows == Some(*op) {
                    result.meet();
                }
            }
        }
        Self::meet_for_all(results);
    }

    /// Those that meet for one result meet for all.
    fn meet_for_all(results: &mut [Self]) {
        if results.iter().any(|result| result.own().is_none()) {
            results.iter_mut().for_each(Self::meet);
        }
    }

    /// Lets all that share a tile meet for this result.
    fn meet(&mut self) {
        if let Leaves::ByMap(map) = &mut self.leaves {
            map.own = None;
        }
    }

    /// Whether warpgroups that share a tile store their rows of these results by themselves.
    pub fn are_own(results: &[Self]) -> bool {
        results.iter().any(|result| result.own().is_some())
    }

    /// Whether it leaves by a map, which may still read what was written to its buffers.
    pub fn leaves_by_map(&self) -> bool {
        self.by_map().is_some()
    }

    fn by_map(&self) -> Option<&Map<'c>> {
        match &self.leaves {
            Leaves::ByMap(map) => Some(map),
            Leaves::ByThreads(_) => None,
        }
    }

    fn own(&self) -> Option<&OwnRows<'c>> {
        self.by_map()?.own.as_ref()
    }

    /// The map of the copy by which it leaves, of which a parameter is to be the number, if it leaves by one.
    pub fn map(&self) -> Option<TensorMapAbi> {
        let map = self.by_map()?;
        let own = map.own.as_ref();
        let tensor_box = own.map_or(&map.tensor_box, |own| &own.tensor_box);
        Some(tensor_box.map(map.leaves_by()))
    }

    /// Those of a warpgroup.
    pub fn buffers(&self) -> i64 {
        BUFFERS.min(self.sums.pieces)
    }

    /// Bytes of the buffers of some results.
    pub fn bytes(results: &[Self]) -> i64 {
        let own = (0..results.len())
            .filter(|number| results[*number].shares(&results[..*number]).is_none());
        own.map(|number| &results[number])
            .map(|result| result.in_turn * result.buffers() * result.sums.bytes())
            .sum()
    }

    /// Which of those before it goes through the same buffers: one with as many of the same pieces.
    fn shares<'a>(&self, before: &'a [Self]) -> Option<&'a Self> {
        let mut before = before.iter();
        before.find(|other| other.sums.has_buffers_of(&self.sums))
    }

    /// Allocates the buffers, for a map that is passed as a parameter; `before` have theirs.
    pub fn allocate(
        &mut self,
        emit: &Emit<'c>,
        parameter: Option<IrValue<'c>>,
        before: &[Self],
    ) -> Result<(), SemError> {
        let atom = match (&self.leaves, parameter) {
            (Leaves::ByMap(map), Some(parameter)) => {
                let ty = emit.ir.val_type(&Val::TmaAtom(map.leaves_by().clone()));
                Some(emit.ir.value(CuteOp::MakeTmaAtom, &[parameter], &[], ty))
            }
            _ => None,
        };
        let shared = self.shares(before).and_then(|other| other.buffers);
        let buffers = match shared {
            Some(buffers) => buffers,
            None => {
                let ty = emit.ir.val_type(&Val::View(self.sums.buffer.clone()));
                let buffers = emit.ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty);
                widen(&emit.ir, buffers, self.in_turn * self.buffers())
                    .map_err(SemError::Illegal)?;
                buffers
            }
        };
        self.buffers = Some(buffers);
        match (&mut self.leaves, atom) {
            (Leaves::ByMap(map), Some(atom)) => {
                let ordered = map.tensor_box.in_order(&emit.ir, buffers)?;
                map.made = Some([atom, ordered]);
            }
            _ => remark(
                self.store.location(),
                "each piece is written to shared memory, rows of which neighbouring threads store, since no tensor map can",
            ),
        }
        Ok(())
    }

    /// Sees the rows that a warpgroup of this number stores by itself.
    pub fn begin(&mut self, emit: &Emit<'c>, warpgroup: IrValue<'c>) -> Result<(), SemError> {
        let buffers = self.allocated()?;
        let Leaves::ByMap(map) = &mut self.leaves else {
            return Ok(());
        };
        let [atom, _] = map.made()?;
        if let Some(own) = &map.own {
            remark(
                self.store.location(),
                "each of the warpgroups that share a tile stores the rows that it has, and waits for no other",
            );
            let rows = emit.part(buffers, 0, own.warpgroups, warpgroup)?;
            let ordered = own.tensor_box.in_order(&emit.ir, rows)?;
            map.made = Some([atom, ordered]);
        }
        Ok(())
    }

    /// The buffers.
    pub fn allocated(&self) -> Result<IrValue<'c>, SemError> {
        let missing = || SemError::Illegal("has no buffers".into());
        self.buffers.ok_or_else(missing)
    }

    /// Which of the buffers one is that has a number among those of these threads.
    pub fn buffer_of(
        &self,
        emit: &Emit<'c>,
        threads: Threads<'c>,
        number: IrValue<'c>,
    ) -> IrValue<'c> {
        let Some(turn) = threads.turn else {
            return number;
        };
        let own = emit.ir.constant(self.buffers(), "i32");
        let own = emit.binary(ArithOp::Muli, turn, own);
        emit.binary(ArithOp::Addi, own, number)
    }

    /// Stores a piece from a buffer, from which nothing is stored any more. A warp may have read in the buffer what it `overwrites`.
    pub fn store(
        &self,
        emit: &mut Emit<'c>,
        piece: (i64, IrValue<'c>),
        buffer: IrValue<'c>,
        overwrites: bool,
        threads: Threads<'c>,
    ) -> Result<(), SemError> {
        let stage = self.buffer_of(emit, threads, buffer);
        match &self.leaves {
            Leaves::ByMap(map) => self.store_by_map(map, emit, piece, stage, overwrites, threads),
            Leaves::ByThreads(spread) => {
                self.store_by_threads(spread, emit, piece, stage, overwrites)
            }
        }
    }

    /// All threads write a piece to a buffer: what their warp, or warpgroup, alone has read there, if that is its `own`.
    fn write(
        &self,
        emit: &Emit<'c>,
        value: IrValue<'c>,
        stage: IrValue<'c>,
        own: bool,
    ) -> Result<(), SemError> {
        let mut attrs = emit.by_copy(self.copy.as_ref());
        if own {
            attrs.push((OWN, emit.ir.unit()));
        }
        let operands = [value, self.allocated()?, stage];
        emit.ir.op(TileOp::Write, &operands, &attrs, &[]);
        Ok(())
    }

    /// All threads write a piece to a buffer, then one begins the copy, or one of each warpgroup that of its rows.
    fn store_by_map(
        &self,
        map: &Map<'c>,
        emit: &mut Emit<'c>,
        (number, value): (i64, IrValue<'c>),
        stage: IrValue<'c>,
        overwrites: bool,
        threads: Threads<'c>,
    ) -> Result<(), SemError> {
        let [atom, ordered] = map.made()?;
        self.write(
            emit,
            value,
            stage,
            overwrites || threads.warpgroup.is_some(),
        )?;
        match self.is_loaded {
            true => emit.fence_for_async_proxy_and_loads(),
            false => emit.fence_for_async_proxy(),
        }
        threads.meet(emit);
        emit.only_if(threads.first, |emit| {
            let pieces = self.sums.pieces;
            let to = match (&map.own, threads.warpgroup) {
                (Some(own), Some(warpgroup)) => {
                    own.coordinates(&emit.ir, (number, pieces), warpgroup)?
                }
                _ => map
                    .tensor_box
                    .coordinates_of_piece(&emit.ir, (number, pieces), |at| at)?,
            };
            let from = emit.stage(ordered, stage)?;
            emit.ir.op(CuteOp::Copy, &[atom, from, to], &[], &[]);
            emit.ir.op(NvvmOp::CpAsyncBulkCommitGroup, &[], &[], &[]);
            Ok(())
        })
    }

    /// All threads write a piece to a buffer, and store rows of what is there; `insert-barriers` sees to it that they meet between.
    fn store_by_threads(
        &self,
        spread: &TileLayout,
        emit: &mut Emit<'c>,
        (number, value): (i64, IrValue<'c>),
        stage: IrValue<'c>,
        overwrites: bool,
    ) -> Result<(), SemError> {
        let (ir, buffers) = (&emit.ir, self.allocated()?);
        self.write(emit, value, stage, overwrites)?;
        let piece = self.sums.piece.clone().with_layout(spread.clone());
        let offsets = [("offsets", ir.i64_array(&[0, 0]))];
        let rows = ir.value(
            TileOp::Read,
            &[buffers, stage],
            &offsets,
            piece.ir(ir.context()),
        );
        let missing = || SemError::Illegal("is no store".into());
        let store = tile::Store::of(self.store).ok_or_else(missing)?;
        let at = emit.place_of_piece(store.at(), (number, self.sums.pieces))?;
        let operands = [&[rows, store.view()], &at[..]].concat();
        let attrs = attributes(self.store, &["hints", BY_ELEMENT]);
        ir.op(TileOp::Store, &operands, &attrs, &[]);
        Ok(())
    }

    /// What is stored.
    pub fn value(&self) -> Result<IrValue<'c>, SemError> {
        let store = tile::Store::of(self.store);
        let missing = || SemError::Illegal("is no store".into());
        store.map(|store| store.value()).ok_or_else(missing)
    }
}

/// What a thread is among those that store results together.
#[derive(Clone, Copy)]
pub(super) struct Threads<'c> {
    /// Whether it is the first of them, and of its warpgroup.
    pub first: IrValue<'c>,
    pub leads: IrValue<'c>,
    /// The number of its warpgroup, where each has tiles of its own.
    pub turn: Option<IrValue<'c>>,
    /// The same where each has rows of its own of tiles that they share.
    pub warpgroup: Option<IrValue<'c>>,
}

impl<'c> Threads<'c> {
    /// A barrier of all of them.
    pub fn meet(&self, emit: &Emit<'c>) {
        let Some(warpgroup) = self.warpgroup else {
            emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
            return;
        };
        // Behind that of all warpgroups.
        let first = emit.ir.constant(FIRST_BARRIER + 1, "i32");
        let number = emit.binary(ArithOp::Addi, warpgroup, first);
        let threads = emit.ir.constant(WARPGROUP, "i32");
        emit.named_barrier(number, threads);
    }
}

/// Waits until one thread's stores have read what they store, but for the last so many.
pub(super) fn wait_for_reads<'c>(
    emit: &mut Emit<'c>,
    leads: IrValue<'c>,
    left: i32,
) -> Result<(), SemError> {
    emit.only_if(leads, |emit| {
        wait_for_own_reads(emit, left);
        Ok(())
    })
}

/// The same of this thread's stores.
pub(super) fn wait_for_own_reads(emit: &Emit, left: i32) {
    let left = [("group", emit.ir.i32(left)), ("read", emit.ir.unit())];
    emit.ir.op(NvvmOp::CpAsyncBulkWaitGroup, &[], &left, &[]);
}

/// Whether two tiles of one shape are spread over the threads in the same way.
fn are_spread_alike(one: IrValue, other: IrValue) -> bool {
    let tiles = [one, other].map(|tile| TileType::of(tile.r#type())?.ok());
    let [Some(one), Some(other)] = tiles else {
        return false;
    };
    let layouts = one.layout.zip(other.layout);
    layouts.is_some_and(|(layout, other)| layout.is_as(&other, &one.shape))
}

/// Says of a store that no tensor map does it since that would write behind the rows.
fn say_spills<'c>(store: IrOp<'c>, function: IrOp<'c>, operations: &[IrOp<'c>]) {
    let by = tile::Store::of(store).filter(|of| of.atomic().is_none());
    let by = by.and_then(|of| ByMap::at(store, of.value(), function, operations));
    let why = by.and_then(|by| by.tensor_box.why_spills(&abi_of(&function)?));
    if let Some(why) = why {
        say(
            store.location(),
            format!("no tensor map stores the result: {why}"),
        );
    }
}
