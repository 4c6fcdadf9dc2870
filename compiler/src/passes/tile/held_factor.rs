//! A factor of a product by `mma.sync` that waits for memory, computed of what its round loads: weights, or keys, of a narrow type.
//!
//! Each warp has rows of it of its own, so nothing has to go through shared memory once it is computed, and no thread waits for others:
//! what is loaded is spread as the instruction takes the factor, from the load on. Of its numbers along k a thread has pairs that lie apart
//! (PTX ISA, "Matrix Fragments for mma.m16n8k16"). A product adds them up in any order, so both factors get another one, in which what a
//! thread has of several instructions lies together, 16 bytes of memory.
use super::access_width::vector_along;
use super::computed_operand::{Origins, passes_on};
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
pub(super) struct HeldFactor {
    /// Which one of the product, 0 or 1.
    pub index: usize,
    /// Bits of an element of it in memory, and in registers.
    loaded: i64,
    multiplied: i64,
}

impl HeldFactor {
    /// Of a product.
    pub fn of(dot: IrOp) -> Option<Self> {
        let factors = tile::Dot::of(dot)?.factors();
        let [m, n] = extents_of(dot).filter(|_| waits_for_memory(dot))?;
        // Of the two the larger one.
        let index = usize::from(m < n);
        let loaded = bits_in_memory(factors[index], dot)?;
        let multiplied = tile_of(dot, factors[index]).ok()?.elem.bits();
        Some(HeldFactor {
            index,
            loaded,
            multiplied,
        })
    }

    /// The tiler along k, of a product of so many, whose instructions multiply `depth` at once.
    pub fn order(&self, k: i64, depth: i64) -> Tiler {
        let of_register = REGISTER / self.multiplied;
        if depth != of_register * LANES * PARTS {
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
        let modes = modes.map(|(extent, stride)| Layout::scalar(extent, stride));
        Tiler::Layout(Layout::concat(modes))
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

/// Bits of the narrowest elements of its size of which a factor is computed, if its round loads all of these, along k, for it alone.
fn bits_in_memory<'c>(factor: IrValue<'c>, dot: IrOp<'c>) -> Option<i64> {
    // What lies along k stays there.
    let turns = |kind| matches!(kind, TileOp::Transpose | TileOp::Reshape);
    let passes = |kind, repeated| passes_on(kind) && (repeated || !turns(kind));
    let origins = Origins::of(factor, dot, passes)?;
    let fits = |load: &IrOp<'c>| origins.is_alone(*load) && is_along_k(*load).unwrap_or(false);
    let loads = origins.loads.iter();
    let bits = loads
        .clone()
        .filter_map(|load| Some(loaded(*load)?.elem.bits()));
    bits.min().filter(|_| loads.clone().all(fits))
}

fn loaded(load: IrOp) -> Option<TileType> {
    tile_of(load, result_of(load, 0)).ok()
}

/// Whether a load is of a matrix whose second axis is the fast one in memory, and asynchronous copies can bring it.
fn is_along_k(load: IrOp) -> Option<bool> {
    let tile = loaded(load)?;
    let (axis, vector) = vector_along(load, &tile)?;
    Some(tile.shape.len() == 2 && axis == 1 && tile.elem.bytes_of(vector) >= LEAST)
}
