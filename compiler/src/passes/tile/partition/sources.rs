//! The buffers that `tile.gather` takes elements from. Tiles of one block of the program that are there ahead of the first gather of one of them are all written
//! ahead of it, each to a buffer of its own: one barrier is for all.
use super::access::Way;
use super::layout_conversion::{self, Conversion, Reader, buffer_of_elements};
use super::scratch::{Scratch, Through, spread_of};
use super::vectors::said;
use super::{Partition, Spread};
use crate::passes::ir_utils::{block_of, defining_op, uses};
use crate::passes::tile::gathers::{KnownNumbers, axes_followed};
use crate::passes::tile::types::Failed;
use crate::passes::user_error::of_semantics;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, operation_key, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::{Mode, TileLayout};
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of shared memory that tiles take at most so that they are written together: each that waits there for its gather may cost room for another block.
const TOGETHER_BYTES: i64 = 32 << 10;

/// What the operations of a kernel gather from.
#[derive(Default)]
pub(super) struct Sources<'c> {
    groups: Vec<Group<'c>>,
    /// The group and the tile in it, by the operation.
    of: HashMap<usize, (usize, usize)>,
    /// The buffers of each group that is written.
    buffers: HashMap<usize, Vec<IrValue<'c>>>,
    /// How threads get elements from each other without a buffer, by the operation.
    exchanges: HashMap<usize, Rc<Conversion>>,
}

/// Tiles that are written together.
#[derive(Clone)]
struct Group<'c> {
    block: IrBlock<'c>,
    /// The number of the operation in front of which they are.
    first: usize,
    tiles: Vec<Source<'c>>,
}

impl<'c> Group<'c> {
    /// The place of a tile, by the number of the operation that makes it, if it is one of them or joins them: where operations gather from it that stand in this block.
    fn place_of(
        &mut self,
        source: &Source<'c>,
        block: IrBlock<'c>,
        made: Option<usize>,
    ) -> Option<usize> {
        if self.block != block || made.is_some_and(|made| made >= self.first) {
            return None;
        }
        let is_it = |other: &Source| other.tile == source.tile;
        if let Some(place) = self.tiles.iter().position(is_it) {
            return Some(place);
        }
        let all = self.tiles.iter().chain([source]);
        if all.map(Source::bytes).sum::<i64>() > TOGETHER_BYTES {
            return None;
        }
        let is_alike = |other: &&Source| other.scratch.is_like(&source.scratch);
        let alike = self.tiles.iter().filter(is_alike).count();
        self.tiles.push(source.clone().numbered(alike));
        Some(self.tiles.len() - 1)
    }
}

impl<'c> Sources<'c> {
    /// Those of some operations, which stand in the order of the program.
    pub fn of(operations: &[IrOp<'c>]) -> Result<Self, Failed<'c>> {
        let mut found = Sources::default();
        if !operations.iter().any(|op| TileOp::Gather.is(*op)) {
            return Ok(found);
        }
        let numbers = operations.iter().map(|op| operation_key(*op)).zip(0..);
        let numbers: HashMap<usize, usize> = numbers.collect();
        let mut known = KnownNumbers::default();
        for (first, op) in operations.iter().copied().enumerate() {
            let Some(gather) = tile::Gather::of(op) else {
                continue;
            };
            let failed = |error| (op, of_semantics(&error));
            let source = Source::of(gather).map_err(failed)?;
            if let Some(exchange) = source.exchange(gather, &mut known).map_err(failed)? {
                (found.exchanges).insert(operation_key(op), Rc::new(exchange));
                continue;
            }
            let made = defining_op(source.tile).map(operation_key);
            let made = made.and_then(|made| numbers.get(&made)).copied();
            let block = block_of(op);
            // Behind a loop that gathers itself the last group is that of the loop, which has written to buffers alike.
            let last = found.groups.last_mut();
            let place = last.and_then(|group| group.place_of(&source, block, made));
            if place.is_none() {
                let tiles = vec![source];
                found.groups.push(Group {
                    block,
                    first,
                    tiles,
                });
            }
            let of = (found.groups.len() - 1, place.unwrap_or(0));
            found.of.insert(operation_key(op), of);
        }
        Ok(found)
    }

    /// The buffer of the tile that an operation gathers from.
    pub fn scratch(&self, op: IrOp<'c>) -> Option<&Scratch> {
        let (group, place) = self.of.get(&operation_key(op))?;
        Some(&self.groups[*group].tiles[*place].scratch)
    }
}

impl<'c> Partition<'c> {
    /// What an operation gathers, where threads have it or their warps.
    pub(super) fn exchanged(&mut self, op: IrOp<'c>) -> Result<Option<IrValue<'c>>, SemError> {
        let exchange = self.sources.exchanges.get(&operation_key(op)).cloned();
        let Some(exchange) = exchange else {
            return Ok(None);
        };
        let (vector, from) = self.of(op, 0)?;
        let (vector, carried) = self.as_carried(vector, &from);
        let exchanged = match &*exchange {
            Conversion::Registers(order) => self.renamed(vector, &carried, order),
            Conversion::Lanes(exchange) => self.through_lanes(vector, &carried, exchange),
            Conversion::Memory { .. } | Conversion::Parts(_) => return Ok(None),
        };
        Ok(Some(exchanged))
    }

    /// A tile as lanes and shared memory take it.
    fn as_carried(&self, vector: IrValue<'c>, from: &Spread) -> (IrValue<'c>, Spread) {
        let bytes = from.as_carried();
        match from.tile.elem {
            Elem::I1 => {
                let ty = bytes.vector(&self.ir);
                (self.ir.value(ArithOp::Extui, &[vector], &[], ty), bytes)
            }
            _ => (vector, from.clone()),
        }
    }

    /// A buffer with the tile that an operation gathers from, and the axis along which its elements are neighbours there.
    pub(super) fn gathered_from(&mut self, op: IrOp<'c>) -> Result<(IrValue<'c>, usize), SemError> {
        let missing = || SemError::Illegal("expects a tile that is gathered from".into());
        let found = self.sources.of.get(&operation_key(op)).copied();
        let (number, place) = found.ok_or_else(missing)?;
        let tiles = self.sources.groups[number].tiles.clone();
        let fast = tiles[place].fast;
        if let Some(buffers) = self.sources.buffers.get(&number) {
            return Ok((buffers[place], fast));
        }
        let buffers = self.write_together(op, &tiles)?;
        let buffer = buffers[place];
        self.sources.buffers.insert(number, buffers);
        Ok((buffer, fast))
    }

    /// Writes tiles to their buffers, ahead of an operation that gathers from one of them.
    fn write_together(
        &mut self,
        op: IrOp<'c>,
        tiles: &[Source<'c>],
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let buffers = tiles
            .iter()
            .map(|source| self.scratch(op, source.scratch.clone()));
        let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        self.meet_before_writing(op);
        for (source, buffer) in tiles.iter().zip(&buffers) {
            let (vector, from) = self.of(source.gather, 0)?;
            let (vector, from) = self.as_carried(vector, &from);
            let fragment = self.fragment(&from)?;
            self.store_vec(vector, fragment);
            let part = self.partition(*buffer, None, source.fast, &from)?;
            self.once(&from, |this| this.copy(&part, fragment, &from, Way::Store))?;
        }
        self.barrier();
        Ok(buffers)
    }
}

/// A tile that is gathered from.
#[derive(Clone)]
struct Source<'c> {
    tile: IrValue<'c>,
    /// An operation that gathers from it.
    gather: IrOp<'c>,
    scratch: Scratch,
    /// The axis along which its elements are neighbours in the buffer.
    fast: usize,
}

impl<'c> Source<'c> {
    /// That of an operation, and of all others of its block that take elements from the same tile.
    fn of(gather: tile::Gather<'c>) -> Result<Self, SemError> {
        let (op, input) = (gather.op(), gather.input());
        let from = spread_of(input).ok_or_else(|| SemError::Illegal("expects a tile".into()))?;
        let from = from.as_carried();
        let block = block_of(op);
        let mut readers = Vec::new();
        for (user, operand) in uses(input) {
            if operand == 0 && TileOp::Gather.is(user) && block_of(user) == block {
                let reader = reader(user, &from)?;
                if !readers.contains(&reader) {
                    readers.push(reader);
                }
            }
        }
        let (layout, fast) = buffer_of_elements(&from, &readers)?;
        let scratch = Scratch::of(Through::Gather, from.tile.elem, layout);
        Ok(Source {
            tile: input,
            gather: op,
            scratch,
            fast,
        })
    }

    /// How threads get what an operation gathers without the buffer, if its places are known and each warp has what it gathers.
    fn exchange(
        &self,
        gather: tile::Gather<'c>,
        known: &mut KnownNumbers,
    ) -> Result<Option<Conversion>, SemError> {
        let sides = spread_of(gather.input()).zip(spread_of(gather.result()));
        let (Some((from, to)), Some(places)) = (sides, known.places(gather)) else {
            return Ok(None);
        };
        let (from, to) = (from.as_carried(), to.as_carried());
        let vectors = said(gather.op(), &to).filter(|of| of.axis_within() == Some(self.fast));
        let at_once = vectors.map_or(1, |vectors| vectors.atom.src_values());
        let reads = usize::try_from(to.values() / at_once).unwrap_or(usize::MAX);
        let accesses = layout_conversion::instructions(&from, self.fast)? + reads;
        layout_conversion::exchange((&from, &to), &places, accesses)
    }

    /// The same through a further buffer of those alike.
    fn numbered(self, number: usize) -> Self {
        Source {
            scratch: self.scratch.numbered(number),
            ..self
        }
    }

    /// Bytes of its buffer.
    fn bytes(&self) -> i64 {
        let numbers = self.scratch.numbers();
        numbers.map_or(0, |(count, bytes)| count * bytes)
    }
}

/// How threads read what an operation gathers from a tile. Of places that follow from no others nothing is known: as the result is spread, or the tile.
fn reader(op: IrOp, from: &Spread) -> Result<Reader, SemError> {
    let to = spread_of(result_of(op, 0));
    let to = to.ok_or_else(|| SemError::Illegal("expects a tile".into()))?;
    let to = to.as_carried();
    let vectors = said(op, &to);
    let vector =
        vectors.and_then(|vectors| Some((vectors.axis_within()?, vectors.atom.src_values())));
    let spread = match axes_followed(op) {
        Some(axes) => followed(&to, &axes, from)?,
        None if to.tile.shape == from.tile.shape => Some(to),
        None => None,
    };
    let spread = spread.unwrap_or_else(|| from.clone());
    Ok(Reader { spread, vector })
}

/// Which elements of a tile threads have of what is gathered from it, where each axis of that follows one of the tile, or none: from the first element on,
/// and again where the tile ends; `None` where that is no layout of it.
fn followed(
    to: &Spread,
    axes: &[Option<usize>],
    from: &Spread,
) -> Result<Option<Spread>, SemError> {
    let shape = &from.tile.shape;
    let mut last = vec![0; shape.len()];
    let mut moved = |modes: Result<Vec<Mode>, String>| {
        let mut found = Vec::new();
        for Mode { extent, along } in modes.map_err(SemError::Illegal)? {
            let along = along.and_then(|(axis, step)| Some((axes[axis]?, step)));
            let fits = along.map_or(extent, |(axis, step)| {
                let most = (shape[axis] - 1 - last[axis]) / step + 1;
                let fits = (1..=extent.min(most))
                    .rev()
                    .find(|count| extent % count == 0);
                let fits = fits.unwrap_or(1);
                last[axis] += (fits - 1) * step;
                fits
            });
            found.push(Mode {
                extent: fits,
                along,
            });
            if fits < extent {
                found.push(Mode {
                    extent: extent / fits,
                    along: None,
                });
            }
        }
        Ok::<_, SemError>(found)
    };
    // A thread's neighbours stay together.
    let values = moved(to.layout.value_modes(&to.tile.shape))?;
    let threads = moved(to.layout.thread_modes(&to.tile.shape))?;
    let layout = TileLayout::of_modes(&threads, &values, shape);
    let goes_along = layout.thread_modes(shape).is_ok() && layout.value_modes(shape).is_ok();
    Ok(goes_along.then(|| Spread {
        tile: from.tile.clone(),
        layout,
    }))
}
