//! Results that leave by tensor maps.
use super::super::emits::Emits;
use super::super::known_ops::only_computes;
use super::super::pingpong::in_turn;
use super::super::result_store::ByMap;
use super::super::stages::widen;
use super::super::types::tile_of;
use super::emit::Emit;
use super::epilogue::PiecewiseLoad;
use super::ring::Ring;
use crate::passes::ir_utils::{
    blocks, clone, defining_op, erase, next_operation, operations, parent, same_block, set_operand,
    users,
};
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{IrOp, IrValue, result_of, value_key};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use cutec_dialects::value::Val;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashMap;
use std::sync::Arc;

/// Buffers of a result that leaves in pieces: one is written while the other is read.
const BUFFERS: i64 = 2;

/// A store, and the buffers that it goes through.
pub(super) struct StoredResult<'c> {
    store: IrOp<'c>,
    /// Warpgroups that take turns, each with buffers of its own.
    in_turn: i64,
    pub by: ByMap<'c>,
    pub atom: Arc<TmaAtom>,
    /// How threads write a piece, where that is not by vectors.
    copy: Option<Val>,
    /// The atom with its map, the buffers, and these with the modes of the tensor in their order.
    made: Option<[IrValue<'c>; 3]>,
}

impl<'c> StoredResult<'c> {
    /// The stores of a kernel with these operations.
    pub fn all(function: IrOp<'c>, operations: &[IrOp<'c>]) -> Vec<Self> {
        let stores = operations
            .iter()
            .copied()
            .filter(|op| TileOp::Store.is(*op));
        let found = stores.filter_map(|store| {
            let by = ByMap::of(store, function, operations)?;
            let atom = Arc::new(by.tensor_box.store(&by.buffer).ok()?);
            Some(StoredResult {
                store,
                in_turn: in_turn(function),
                copy: by.store_copy(),
                by,
                atom,
                made: None,
            })
        });
        found.collect()
    }

    /// Those of a warpgroup.
    fn buffers(&self) -> i64 {
        BUFFERS.min(self.by.pieces)
    }

    /// Bytes of the buffers of some results.
    pub fn bytes(results: &[Self]) -> i64 {
        let own = (0..results.len())
            .filter(|number| results[*number].shares(&results[..*number]).is_none());
        own.map(|number| &results[number])
            .map(|result| result.in_turn * result.buffers() * result.atom.bytes())
            .sum()
    }

    /// Which of those before it goes through the same buffers: one with as many of the same pieces.
    fn shares<'a>(&self, before: &'a [Self]) -> Option<&'a Self> {
        let same =
            |other: &&Self| other.by.buffer == self.by.buffer && other.by.pieces == self.by.pieces;
        before.iter().find(same)
    }

    /// Allocates the buffers, for a map that is passed as a parameter; `before` have theirs.
    pub fn allocate(
        &mut self,
        emit: &Emit<'c>,
        map: IrValue<'c>,
        before: &[Self],
    ) -> Result<(), SemError> {
        let ty = emit.ir.val_type(&Val::TmaAtom(self.atom.clone()));
        let made = emit.ir.value(CuteOp::MakeTmaAtom, &[map], &[], ty);
        let shared = self.shares(before).and_then(|other| other.made);
        let buffer = match shared {
            Some([_, buffer, _]) => buffer,
            None => {
                let ty = emit.ir.val_type(&Val::View(self.by.buffer.clone()));
                let buffer = emit.ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty);
                widen(&emit.ir, buffer, self.in_turn * self.buffers())
                    .map_err(SemError::Illegal)?;
                buffer
            }
        };
        let ordered = self.by.tensor_box.in_order(&emit.ir, buffer)?;
        self.made = Some([made, buffer, ordered]);
        Ok(())
    }

    /// Stores a piece by the map: all threads write it to a buffer once what was stored from there has been read, then one
    /// begins the copy.
    fn store(
        &self,
        emit: &mut Emit<'c>,
        (number, value): (i64, IrValue<'c>),
        stage: i64,
        Threads { first, turn, .. }: Threads<'c>,
    ) -> Result<(), SemError> {
        let missing = || SemError::Illegal("is no store by a map".into());
        let [made, buffers, ordered] = self.made.ok_or_else(missing)?;
        let mut stage = emit.ir.constant(stage, "i32");
        if let Some(turn) = turn {
            let own = emit.ir.constant(self.buffers(), "i32");
            let own = emit.binary(ArithOp::Muli, turn, own);
            stage = emit.binary(ArithOp::Addi, own, stage);
        }
        emit.ir.op(
            TileOp::Write,
            &[value, buffers, stage],
            &emit.by_copy(self.copy.as_ref()),
            &[],
        );
        let fence = [
            ("kind", emit.ir.attr("#nvvm.proxy_kind<async.shared>")),
            ("space", emit.ir.attr("#nvvm.shared_space<cta>")),
        ];
        emit.ir.op(NvvmOp::FenceProxy, &[], &fence, &[]);
        emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
        emit.only_if(first, |emit| {
            let to = self.by.piece_coordinates(&emit.ir, number, |at| at)?;
            let from = emit.stage(ordered, stage)?;
            emit.ir.op(CuteOp::Copy, &[made, from, to], &[], &[]);
            emit.ir.op(NvvmOp::CpAsyncBulkCommitGroup, &[], &[], &[]);
            Ok(())
        })
    }

    fn value(&self) -> Result<IrValue<'c>, SemError> {
        let store = tile::Store::of(self.store);
        let missing = || SemError::Illegal("is no store".into());
        store.map(|store| store.value()).ok_or_else(missing)
    }
}

/// What a thread is among those that share a tile.
#[derive(Clone, Copy)]
pub(super) struct Threads<'c> {
    /// Whether it is the first of them, and of its warpgroup.
    pub first: IrValue<'c>,
    pub leads: IrValue<'c>,
    /// The number of its warpgroup, where each has tiles of its own.
    pub turn: Option<IrValue<'c>>,
}

/// Stores the results of a kernel, those that stand together piece by piece: what is computed for a piece is computed where it
/// leaves, and what is loaded for it is read there.
pub(super) fn emit<'c>(
    emit: &mut Emit<'c>,
    results: &[StoredResult<'c>],
    loads: &[PiecewiseLoad<'c>],
    rings: &[Ring<'c>],
    threads: Threads<'c>,
) -> Result<(), SemError> {
    let groups = Group::all(results)?;
    let odd = groups.iter().any(|group| group.stores() % BUFFERS == 1);
    let mut read = Vec::new();
    for group in &groups {
        let load = loads.iter().position(|load| group.takes(load, loads));
        read.extend(load);
        group.emit(emit, load.map(|load| (&loads[load], rings)), odd, threads)?;
    }
    for (number, load) in loads.iter().enumerate() {
        if !read.contains(&number) {
            load.read(emit, rings, threads.leads)?;
        }
    }
    Ok(())
}

/// Results with as many pieces of the same shape, with nothing between their stores but what computes them.
struct Group<'a, 'c> {
    results: Vec<&'a StoredResult<'c>>,
    /// The maps between what they are made of and the stores, in their order.
    maps: Vec<IrOp<'c>>,
}

impl<'a, 'c> Group<'a, 'c> {
    fn all(results: &'a [StoredResult<'c>]) -> Result<Vec<Self>, SemError> {
        let mut groups: Vec<Group<'a, 'c>> = Vec::new();
        for result in results {
            let joins = |group: &&mut Group<'a, 'c>| {
                group.results.last().is_some_and(|last| {
                    let mut between =
                        std::iter::successors(next_operation(last.store), |op| next_operation(*op));
                    let same = last.by.pieces == result.by.pieces
                        && last.by.piece.shape == result.by.piece.shape;
                    let end = between.find(|op| *op == result.store || !only_computes(*op));
                    same && end == Some(result.store)
                })
            };
            match groups.last_mut().filter(|group| joins(group)) {
                Some(group) => group.results.push(result),
                None => groups.push(Group {
                    results: vec![result],
                    maps: Vec::new(),
                }),
            }
        }
        for group in &mut groups {
            group.collect()?;
        }
        Ok(groups)
    }

    /// Finds the maps.
    fn collect(&mut self) -> Result<(), SemError> {
        let mut open: Vec<IrValue<'c>> = Vec::new();
        for result in &self.results {
            open.push(result.value()?);
        }
        while let Some(value) = open.pop() {
            if let Some(map) = self
                .splits(value)
                .filter(|map| !self.maps.contains(&map.op()))
            {
                self.maps.push(map.op());
                open.extend(map.inputs());
            }
        }
        let Some(store) = self.results.last().map(|result| result.store) else {
            return Ok(());
        };
        let order: Vec<IrOp<'c>> = parent(store)
            .into_iter()
            .flat_map(|around| {
                (0..around.region_count()).flat_map(move |region| blocks(around, region))
            })
            .flat_map(operations)
            .collect();
        self.maps
            .sort_by_key(|map| order.iter().position(|op| op == map));
        Ok(())
    }

    /// The map that makes a value, if it can be made piece by piece.
    fn splits(&self, value: IrValue<'c>) -> Option<tile::Map<'c>> {
        let result = self.results.last()?;
        let map = tile::Map::of(defining_op(value)?)?;
        let whole = tile_of(result.store, result.value().ok()?).ok()?;
        let alike = |value: IrValue<'c>| {
            let tile = TileType::of(value.r#type()).and_then(Result::ok);
            tile.is_some_and(|tile| tile.shape == whole.shape && tile.layout == whole.layout)
        };
        let inputs = map.inputs();
        let splits = !inputs.is_empty() && inputs.into_iter().all(alike) && alike(map.result());
        (splits && result.by.pieces > 1 && same_block(map.op(), result.store)).then_some(map)
    }

    fn pieces(&self) -> i64 {
        self.results.last().map_or(0, |result| result.by.pieces)
    }

    fn stores(&self) -> i64 {
        self.pieces() * self.results.len() as i64
    }

    /// Whether a load is read piece by piece for these: it alone comes through its ring, and nothing else takes what is made of it.
    fn takes(&self, load: &PiecewiseLoad<'c>, all: &[PiecewiseLoad<'c>]) -> bool {
        let Some(result) = self.results.last() else {
            return false;
        };
        let inside = |op: IrOp<'c>| {
            self.maps.contains(&op) || self.results.iter().any(|result| result.store == op)
        };
        let values = self
            .maps
            .iter()
            .map(|map| result_of(*map, 0))
            .chain([load.value()]);
        self.pieces() > 1
            && same_block(load.load(), result.store)
            && load.is_alone(all)
            && load.has_pieces(self.pieces(), &result.by.piece.shape)
            && !users(load.value()).is_empty()
            && values
                .into_iter()
                .all(|value| users(value).into_iter().all(inside))
    }

    fn emit(
        &self,
        emit: &mut Emit<'c>,
        load: Option<(&PiecewiseLoad<'c>, &[Ring<'c>])>,
        odd: bool,
        threads: Threads<'c>,
    ) -> Result<(), SemError> {
        let Some(last) = self.results.last() else {
            return Ok(());
        };
        emit.before(last.store);
        let (mut stored, mut stage) = (0, None);
        for number in 0..self.pieces() {
            emit.ir.location = last.store.location();
            let mut made = HashMap::new();
            let mut ends = false;
            if let Some((load, rings)) = load {
                let (piece, is_last) = load.read_piece(emit, rings, number, &mut stage)?;
                made.insert(value_key(load.value()), piece);
                ends = is_last;
            }
            for result in &self.results {
                let value = match self.pieces() {
                    1 => result.value()?,
                    _ => self.piece(emit, result.value()?, number, &mut made)?,
                };
                emit.ir.location = result.store.location();
                // With an odd number of stores the first buffer of a tile was the last one of the tile before.
                let same = result.buffers() == 1 || (stored == 0 && odd);
                wait_for_reads(emit, threads.first, if same { 0 } else { 1 })?;
                emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
                if let Some((load, rings)) = load.filter(|_| ends) {
                    load.release(emit, rings, threads.leads)?;
                    ends = false;
                }
                result.store(emit, (number, value), stored % result.buffers(), threads)?;
                stored += 1;
            }
        }
        for result in &self.results {
            erase(result.store);
        }
        for map in self.maps.iter().rev() {
            if users(result_of(*map, 0)).is_empty() {
                erase(*map);
            }
        }
        if let Some((load, _)) = load {
            erase(load.load());
        }
        Ok(())
    }

    /// A piece of a value, made of pieces where maps make it.
    fn piece(
        &self,
        emit: &mut Emit<'c>,
        value: IrValue<'c>,
        number: i64,
        made: &mut HashMap<usize, IrValue<'c>>,
    ) -> Result<IrValue<'c>, SemError> {
        if let Some(piece) = made.get(&value_key(value)) {
            return Ok(*piece);
        }
        let missing = || SemError::Illegal("is no tile".into());
        let last = self.results.last().ok_or_else(missing)?;
        let shape = &last.by.piece.shape;
        let whole = TileType::of(value.r#type())
            .and_then(Result::ok)
            .ok_or_else(missing)?;
        let layout = last.by.piece.layout.clone().ok_or_else(missing)?;
        let ty = TileType::new(whole.elem, shape)
            .with_layout(layout)
            .ir(emit.ir.context());
        let piece = match self.splits(value) {
            Some(map) => {
                let mut inputs = Vec::new();
                for input in map.inputs() {
                    inputs.push(self.piece(emit, input, number, made)?);
                }
                let again = emit.ir.insert(clone(map.op()));
                for (index, input) in inputs.into_iter().enumerate() {
                    set_operand(again, index, input);
                }
                let piece = result_of(again, 0);
                piece.set_type(ty);
                piece
            }
            None => {
                let offsets = emit.ir.i64_array(&[0, number * shape[1]]);
                emit.ir
                    .value(TileOp::Slice, &[value], &[("offsets", offsets)], ty)
            }
        };
        made.insert(value_key(value), piece);
        Ok(piece)
    }
}

/// Waits until one thread's stores have read what they store, but for the last so many.
pub(super) fn wait_for_reads<'c>(
    emit: &mut Emit<'c>,
    leads: IrValue<'c>,
    left: i32,
) -> Result<(), SemError> {
    emit.only_if(leads, |emit| {
        let left = [("group", emit.ir.i32(left)), ("read", emit.ir.unit())];
        emit.ir.op(NvvmOp::CpAsyncBulkWaitGroup, &[], &left, &[]);
        Ok(())
    })
}
