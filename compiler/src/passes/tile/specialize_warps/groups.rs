//! Results that leave together, piece by piece: what is computed for a piece is computed where it leaves, and what is loaded for it is read there.
use super::super::known_ops::only_computes;
use super::super::registers::for_bits;
use super::super::result_store::InPieces;
use super::super::types::tile_of;
use super::columns::Columns;
use super::emit::Emit;
use super::epilogue::PiecewiseLoad;
use super::residual::Residual;
use super::results::{BUFFERS, StoredResult, Threads, wait_for_reads};
use super::ring::Ring;
use super::rows::Rows;
use crate::passes::ir_utils::{
    blocks, clone, defining_op, erase, next_operation, operations, parent, replace_all_uses,
    same_block, set_operand, users,
};
use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of, value_key};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Registers for what is computed of a piece, a part of a fragment after the other.
const COMPUTING: i64 = 32;

/// What results are made of that is read where they leave.
#[derive(Clone, Copy)]
enum Reads<'a, 'c> {
    Nothing,
    /// What comes through stages of a ring.
    Stages(&'a PiecewiseLoad<'c>, &'a [Ring<'c>]),
    /// What comes through the buffers of the result.
    Buffers(&'a Residual<'c>),
    /// What threads load to these.
    Rows(&'a Rows<'c>),
}

/// What is known of the order in which a tile's pieces take the buffers.
#[derive(Clone, Copy)]
struct BufferOrder {
    /// Whether the first buffer of a tile was the last one of the tile before, as with an odd number of stores.
    odd: bool,
    /// Whether a copy by a map may still read one, and whether threads read others between: of these no copies are counted.
    by_map: bool,
    by_threads: bool,
}

/// Stores the results of a kernel, those that stand together piece by piece: what is computed for a piece is computed where it
/// leaves, and what is loaded for it is read there.
pub(super) fn emit<'c>(
    emit: &mut Emit<'c>,
    results: &[StoredResult<'c>],
    (loads, mut residual, mut rows): (
        &[PiecewiseLoad<'c>],
        Option<&Residual<'c>>,
        Option<&Rows<'c>>,
    ),
    rings: &[Ring<'c>],
    threads: Threads<'c>,
) -> Result<(), SemError> {
    let groups = Group::all(results)?;
    let order = BufferOrder {
        odd: groups.iter().any(|group| group.stores() % BUFFERS == 1),
        by_map: results.iter().any(StoredResult::leaves_by_map),
        by_threads: results.iter().any(|result| !result.leaves_by_map()),
    };
    let mut read = Vec::new();
    for group in &groups {
        let load = loads
            .iter()
            .position(|load| group.takes_pieces(load, loads));
        read.extend(load);
        // What one group has read is gone for the next.
        let from_buffers = |residual: &mut &Residual<'c>| group.takes(residual.load);
        let from_rows = |rows: &mut &Rows<'c>| group.takes(rows.load());
        let reads = match load {
            Some(load) => Reads::Stages(&loads[load], rings),
            None => match residual.take_if(from_buffers) {
                Some(residual) => Reads::Buffers(residual),
                None => (rows.take_if(from_rows)).map_or(Reads::Nothing, Reads::Rows),
            },
        };
        group.emit(emit, reads, order, threads)?;
    }
    for (number, load) in loads.iter().enumerate() {
        if !read.contains(&number) {
            load.read(emit, rings, threads.leads)?;
        }
    }
    Ok(())
}

/// Results with as many pieces of the same shape, with nothing between their stores but what computes them.
pub(super) struct Group<'a, 'c> {
    results: Vec<&'a StoredResult<'c>>,
    /// The maps between what they are made of and the stores, in their order.
    maps: Vec<IrOp<'c>>,
    /// What these take that is loaded piece by piece.
    columns: Vec<Columns<'c>>,
}

impl<'a, 'c> Group<'a, 'c> {
    pub fn all(results: &'a [StoredResult<'c>]) -> Result<Vec<Self>, SemError> {
        let mut groups: Vec<Group<'a, 'c>> = Vec::new();
        for result in results {
            let joins = |group: &&mut Group<'a, 'c>| {
                group.results.last().is_some_and(|last| {
                    let mut between =
                        std::iter::successors(next_operation(last.store), |op| next_operation(*op));
                    let same = last.sums.pieces == result.sums.pieces
                        && last.sums.piece.shape == result.sums.piece.shape;
                    let end = between.find(|op| *op == result.store || !only_computes(*op));
                    same && end == Some(result.store)
                })
            };
            match groups.last_mut().filter(|group| joins(group)) {
                Some(group) => group.results.push(result),
                None => groups.push(Group {
                    results: vec![result],
                    maps: Vec::new(),
                    columns: Vec::new(),
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
        self.columns = self.columns(store);
        Ok(())
    }

    /// What only these take of vectors of columns: of a map that others take as well the whole is computed.
    fn columns(&self, store: IrOp<'c>) -> Vec<Columns<'c>> {
        let mut only_here: Vec<IrOp<'c>> = self.results.iter().map(|result| result.store).collect();
        for map in self.maps.iter().rev() {
            let users = users(result_of(*map, 0));
            if users.iter().all(|user| only_here.contains(user)) {
                only_here.push(*map);
            }
        }
        let taken = self.maps.iter().flat_map(|map| operands_of(*map));
        let mut found: Vec<Columns<'c>> = Vec::new();
        for value in taken {
            if found.iter().all(|known| known.value() != value) {
                found.extend(Columns::of(value, store, &only_here));
            }
        }
        // What is there as a whole stays so as far as there are registers for it beside the sums; where pieces are loaded anyhow, also beside what is
        // computed of one.
        let held = |found: &[Columns<'c>]| {
            let bits = |columns: &Columns<'c>| match columns.early {
                true => columns.bits(),
                false => columns.bits() / self.pieces().max(1),
            };
            let computing = match found.iter().all(|columns| columns.early) {
                true => 0,
                false => COMPUTING,
            };
            for_bits(self.sums() + found.iter().map(bits).sum::<i64>()) + computing
        };
        let room = self.results.last().map_or(0, |result| result.registers);
        while held(&found) > room
            && let Some(largest) = found
                .iter_mut()
                .filter(|it| it.early)
                .max_by_key(|it| it.bits())
        {
            largest.early = false;
        }
        found.retain(|columns| !columns.early);
        found
    }

    /// Bits of the sums that a thread has of all pieces.
    fn sums(&self) -> i64 {
        let piece = self.results.last().map(|result| &result.sums.piece);
        let layout = piece.and_then(|piece| piece.layout.as_ref());
        layout.map_or(0, |layout| {
            self.pieces() * layout.values() * Elem::F32.bits()
        })
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
        (splits && result.sums.pieces > 1 && same_block(map.op(), result.store)).then_some(map)
    }

    fn pieces(&self) -> i64 {
        self.results.last().map_or(0, |result| result.sums.pieces)
    }

    fn stores(&self) -> i64 {
        self.pieces() * self.results.len() as i64
    }

    /// Whether what is loaded can be read where these leave: of several pieces nothing else takes what is made of it.
    pub fn takes(&self, load: IrOp<'c>) -> bool {
        let Some(result) = self.results.last() else {
            return false;
        };
        let mut behind = std::iter::successors(next_operation(load), |op| next_operation(*op));
        let inside = |op: IrOp<'c>| {
            self.maps.contains(&op) || self.results.iter().any(|result| result.store == op)
        };
        let loaded = result_of(load, 0);
        let mut values = self.maps.iter().map(|map| result_of(*map, 0));
        let alone = |value| users(value).into_iter().all(inside);
        behind.any(|op| op == result.store)
            && !users(loaded).is_empty()
            && (self.pieces() == 1 || alone(loaded) && values.all(alone))
    }

    /// Whether a load that comes through its ring alone is read piece by piece for these.
    fn takes_pieces(&self, load: &PiecewiseLoad<'c>, all: &[PiecewiseLoad<'c>]) -> bool {
        let shape = self.results.last().map(|result| &result.sums.piece.shape);
        let has_pieces = shape.is_some_and(|shape| load.has_pieces(self.pieces(), shape));
        self.pieces() > 1 && load.is_alone(all) && has_pieces && self.takes(load.load())
    }

    fn emit(
        &self,
        emit: &mut Emit<'c>,
        reads: Reads<'_, 'c>,
        order: BufferOrder,
        threads: Threads<'c>,
    ) -> Result<(), SemError> {
        let Some(last) = self.results.last() else {
            return Ok(());
        };
        let (mut stored, mut stage, mut buffer) = (0, None, None);
        let mut reads = reads;
        if let (Reads::Buffers(residual), 1) = (reads, self.pieces()) {
            emit.before(residual.load);
            let whole = residual.read_piece(emit, last, threads, 0, &mut buffer)?;
            replace_all_uses(residual.value(), whole);
            erase(residual.load);
            reads = Reads::Nothing;
        }
        emit.before(last.store);
        let mut loaded = self.load_columns(emit, 0)?;
        let mut next_rows = match reads {
            Reads::Rows(rows) => {
                rows.say();
                rows.load_piece(emit, 0)?
            }
            _ => None,
        };
        for number in 0..self.pieces() {
            emit.ir.location = last.store.location();
            let mut made = HashMap::new();
            for (columns, loaded) in self.columns.iter().zip(std::mem::take(&mut loaded)) {
                let repeated = columns.repeated(emit, loaded, &last.sums.piece)?;
                made.insert(value_key(columns.value()), repeated);
            }
            let mut ends = false;
            match reads {
                Reads::Stages(load, rings) => {
                    let (piece, is_last) = load.read_piece(emit, rings, number, &mut stage)?;
                    made.insert(value_key(load.value()), piece);
                    ends = is_last;
                }
                Reads::Buffers(residual) => {
                    let piece = residual.read_piece(emit, last, threads, number, &mut buffer)?;
                    made.insert(value_key(residual.value()), piece);
                }
                Reads::Rows(rows) => {
                    let to = self.buffer_for(emit, last, stored, order, threads)?;
                    if let Some(loaded) = next_rows.take() {
                        emit.ir.location = rows.load().location();
                        let lies = last.buffer_of(emit, threads, to);
                        let piece = rows.read(emit, loaded, [last.allocated()?, lies]);
                        made.insert(value_key(rows.value()), piece);
                        next_rows = rows.load_piece(emit, number + 1)?;
                    }
                    buffer = Some(to);
                }
                Reads::Nothing => {}
            }
            for (place, result) in self.results.iter().enumerate() {
                let value = match self.pieces() {
                    1 => result.value()?,
                    _ => self.piece(emit, result.value()?, number, &mut made)?,
                };
                if place + 1 == self.results.len() {
                    loaded = self.load_columns(emit, number + 1)?;
                }
                emit.ir.location = result.store.location();
                let to = match buffer {
                    Some(buffer) => buffer,
                    None => self.buffer_for(emit, result, stored, order, threads)?,
                };
                if let (Reads::Stages(load, rings), true) = (reads, ends) {
                    // All have read it, also where they did not meet for the buffer.
                    if !order.by_map {
                        threads.meet(emit);
                    }
                    load.release(emit, rings, threads.leads)?;
                    ends = false;
                }
                result.store(emit, (number, value), to, buffer.is_some(), threads)?;
                stored += 1;
                if let Reads::Rows(_) = reads {
                    buffer = None;
                }
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
        self.columns.iter().for_each(Columns::erase);
        match reads {
            Reads::Stages(load, _) => erase(load.load()),
            Reads::Buffers(residual) => erase(residual.load),
            Reads::Rows(rows) => erase(rows.load()),
            Reads::Nothing => {}
        }
        Ok(())
    }

    /// The buffer that the next piece of a result goes to, of which `stored` went before it: nothing reads it any more.
    fn buffer_for(
        &self,
        emit: &mut Emit<'c>,
        result: &StoredResult<'c>,
        stored: i64,
        order: BufferOrder,
        threads: Threads<'c>,
    ) -> Result<IrValue<'c>, SemError> {
        if order.by_map {
            let same = result.buffers() == 1 || (stored == 0 && order.odd);
            let all = same || order.by_threads;
            wait_for_reads(emit, threads.first, if all { 0 } else { 1 })?;
            threads.meet(emit);
        }
        Ok(emit.ir.constant(stored % result.buffers(), "i32"))
    }

    /// Whether pieces of another tile could go through the buffers of all of these.
    pub fn has_buffers_of(&self, sums: &InPieces) -> bool {
        self.results
            .iter()
            .all(|result| result.sums.has_buffers_of(sums))
    }

    /// Loads the columns of a piece, if there is one of this number.
    fn load_columns(&self, emit: &Emit<'c>, number: i64) -> Result<Vec<IrValue<'c>>, SemError> {
        let Some(last) = self.results.last().filter(|_| number < self.pieces()) else {
            return Ok(Vec::new());
        };
        let at = (number, self.pieces());
        let columns = self.columns.iter();
        columns
            .map(|columns| columns.load(emit, at, &last.sums.piece))
            .collect()
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
        let shape = &last.sums.piece.shape;
        let whole = TileType::of(value.r#type())
            .and_then(Result::ok)
            .ok_or_else(missing)?;
        let layout = last.sums.piece.layout.clone().ok_or_else(missing)?;
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
