//! A factor of a product by `mma.sync` that waits for memory, computed of what its round loads: weights, or keys, of a narrow type.
//!
//! Each warp has rows of it of its own, so nothing has to go through shared memory once it is computed, and no thread waits for others:
//! what is loaded is spread as the instruction takes the factor, from the load on. Of its numbers along k a thread has pairs that lie apart
//! (PTX ISA, "Matrix Fragments for mma.m16n8k16"). A product adds them up in any order, so both factors get another one, in which what a
//! thread has of several instructions lies together, 16 bytes of memory. Where rows of the factor lie across memory, as values do in
//! attention, a thread has neighbours of these (`order_of_rows.rs`).
use super::access_width::vector_along;
use super::computed_operand::{Origin, Origins, passes_on};
use super::order_of_rows::Neighbours;
use super::types::tile_of;
use crate::passes::control_flow::in_loop;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::{TileType, cost_model};
use cutec_layout::{Layout, Tiler};

/// Lanes of a warp that share a row of a factor, and the parts of k of which each has a register.
const LANES: i64 = 4;
const PARTS: i64 = 2;
/// Bits of a register.
const REGISTER: i64 = 32;
/// Bytes that an asynchronous copy moves at least.
const LEAST: i64 = 4;

/// Such a factor.
pub(super) struct HeldFactor<'c> {
    /// Which one of the product, 0 or 1.
    pub index: usize,
    /// The loads of tiles of its size that it is computed of.
    pub loads: Vec<IrOp<'c>>,
    /// Whether its rows lie across memory.
    pub across: bool,
    /// Bits of the narrowest elements that are loaded, and of those that are multiplied.
    pub loaded: i64,
    pub multiplied: i64,
    /// Its rows, and its elements.
    pub rows: i64,
    pub size: i64,
}

impl<'c> HeldFactor<'c> {
    /// Of a product.
    pub fn of(dot: IrOp<'c>) -> Option<Self> {
        let factors = tile::Dot::of(dot)?.factors();
        let [m, n] = extents_of(dot).filter(|_| waits_for_memory(dot))?;
        // Of the two the larger one.
        let index = usize::from(m < n);
        let (loads, across) = loads_of(factors[index], dot)?;
        let bits = loads
            .iter()
            .filter_map(|load| Some(loaded(*load)?.elem.bits()));
        let tile = tile_of(dot, factors[index]).ok()?;
        Some(HeldFactor {
            index,
            loaded: bits.min()?,
            loads,
            across,
            multiplied: tile.elem.bits(),
            rows: tile.shape[0],
            size: tile.size(),
        })
    }

    /// Neighbouring rows that a thread has, where they lie across memory: all that are in an element which it reads, or as many as one access
    /// takes.
    pub fn neighbours(&self) -> Neighbours {
        let mut neighbours = Neighbours::ONE;
        if !self.across {
            return neighbours;
        }
        for tile in self.loads.iter().filter_map(|load| loaded(*load)) {
            let of_element = self.size / tile.size();
            let at_once = Neighbours::at_once(tile.elem);
            neighbours.least = neighbours.least.max(of_element);
            neighbours.most = neighbours.most.max(of_element * at_once);
        }
        neighbours
    }

    /// The tiler along k, of a product of so many, whose instructions multiply `depth` at once.
    pub fn order(&self, k: i64, depth: i64) -> Tiler {
        let of_register = REGISTER / self.multiplied;
        if self.across || depth != of_register * LANES * PARTS {
            return Tiler::All;
        }
        let own = of_register * PARTS;
        let mut steps = (8 * WIDEST_ACCESS / self.loaded / own).max(1);
        while k % (depth * steps) != 0 {
            steps /= 2;
        }
        let modes = [
            (of_register, 1),
            (LANES, own * steps),
            (PARTS, of_register),
            (steps, own),
        ];
        Tiler::Layout(Layout::of_modes(modes))
    }
}

/// Whether memory decides how long a product takes: one of few rows or columns in a loop.
pub(super) fn waits_for_memory(dot: IrOp) -> bool {
    in_loop(dot) && extents_of(dot).is_some_and(cost_model::waits_for_memory)
}

/// Whether memory decides how long a loop with such a body takes: it has products, and all of them wait for it.
pub(super) fn all_wait_for_memory(body: &[IrOp]) -> bool {
    let mut dots = body.iter().filter(|op| TileOp::Dot.is(**op)).peekable();
    dots.peek().is_some() && dots.all(|dot| waits_for_memory(*dot))
}

/// Rows and columns of a product.
fn extents_of(dot: IrOp) -> Option<[i64; 2]> {
    let factors = tile::Dot::of(dot)?.factors();
    let [a, b] = factors.map(|factor| tile_of(dot, factor).ok());
    Some([a?.shape[0], b?.shape[0]])
}

/// The loads of tiles of its size of which a factor is computed, and whether its rows lie across memory, if its round loads all of these so, for it
/// alone.
fn loads_of<'c>(factor: IrValue<'c>, dot: IrOp<'c>) -> Option<(Vec<IrOp<'c>>, bool)> {
    // What is reshaped does not stay where it lies.
    let passes = |kind, repeated| passes_on(kind) && (repeated || kind != TileOp::Reshape);
    let origins = Origins::of(factor, dot, passes)?;
    let mut ways = origins.loads.iter().map(is_across);
    let across = ways.next()??;
    let alone = |origin: &Origin<'c>| origins.is_alone(origin.load);
    if !ways.all(|way| way == Some(across)) || !origins.loads.iter().all(alone) {
        return None;
    }
    let loads = origins.loads.iter().map(|origin| origin.load);
    Some((loads.collect(), across))
}

fn loaded(load: IrOp) -> Option<TileType> {
    tile_of(load, result_of(load, 0)).ok()
}

/// Whether a matrix is loaded whose first axis, as the factor has it, is the fast one in memory, and asynchronous copies can bring it.
pub(super) fn is_across(origin: &Origin) -> Option<bool> {
    let tile = loaded(origin.load)?;
    let (axis, vector) = vector_along(origin.load, &tile)?;
    let comes = tile.shape.len() == 2 && tile.elem.bytes_of(vector) >= LEAST;
    comes.then_some((axis == 0) != origin.turned)
}
