//! What an epilogue reads by a tensor map: through the stages of the operands, behind the last ones of the loop.
//!
//! A tile that is spread as the sums are, as a residual is, would be read by many narrow accesses, two elements each. The
//! warp that loads has nothing to do meanwhile: it brings the tile, in the pieces in which results leave, to the
//! stages of the ring that the loop of products in front of it takes, once their operands are multiplied.
use super::issuable::issuable;
use super::known_ops::checked_ops;
use super::load_early::{OTHERS, multiplies};
use super::pingpong::in_turn;
use super::registers::{for_bits, of_thread};
use super::result_store::{ByMap, may_be_read_late};
use super::specialize_warps::is_accumulated;
use super::types::{is_by_descriptor, mma_of, tile_of};
use crate::passes::ir_utils::{
    block_of, blocks, function_block_size, operations, same_block, users,
};
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ScfOp, TileOp, tile};
use cutec_dialects::target::Target;
use cutec_dialects::tile::TileType;
use cutec_layout::tv::Operand;

/// See the module.
pub(super) struct EpilogueLoad<'c> {
    pub load: IrOp<'c>,
    pub by: ByMap<'c>,
    /// The loop in front of it.
    pub products: IrOp<'c>,
}

impl<'c> EpilogueLoad<'c> {
    /// Those of a kernel, as far as a thread has registers for them beside the sums.
    pub fn all(function: IrOp<'c>, target: &Target) -> Vec<Self> {
        let (Ok(all), Some(threads)) = (checked_ops(function), function_block_size(function))
        else {
            return Vec::new();
        };
        // Between the operands of two tiles such a load would wait for the one's sums with the other's operands behind it.
        if in_turn(function) > 1 {
            return Vec::new();
        }
        let most = of_thread(function, threads, target) - OTHERS;
        let mut held = 0;
        let mut found: Vec<Self> = Vec::new();
        for load in all.iter().copied().filter(|op| TileOp::Load.is(*op)) {
            let Some(one) = EpilogueLoad::of(load, function, &all) else {
                continue;
            };
            let Ok(tile) = tile_of(load, one.value()) else {
                continue;
            };
            let values = tile.layout.as_ref().map_or(0, |layout| layout.values());
            let sums = values * Elem::F32.bits();
            if for_bits(sums + held + values * tile.elem.bits()) <= most {
                held += values * tile.elem.bits();
                found.push(one);
            }
        }
        found
    }

    fn of(load: IrOp<'c>, function: IrOp<'c>, all: &[IrOp<'c>]) -> Option<Self> {
        let products = nearest_products(load)?;
        let by = by_map(load, function, all)?;
        has_stage_for(products, &by.sums.piece).then_some(EpilogueLoad { load, by, products })
    }

    /// The tile.
    pub fn value(&self) -> IrValue<'c> {
        result_of(self.load, 0)
    }
}

/// The copies by a tensor map that could bring what a load gives, which is spread as sums are and no operand, to a role that has no tiles.
pub(super) fn by_map<'c>(
    load: IrOp<'c>,
    function: IrOp<'c>,
    all: &[IrOp<'c>],
) -> Option<ByMap<'c>> {
    let of = tile::Load::of(load).filter(|of| of.fill().is_none())?;
    let by = ByMap::at(load, of.result(), function, all)?;
    by.tensor_box.load(&by.sums.buffer).ok()?;
    issuable(load, &by.tensor_box, function).ok()?;
    if !may_be_read_late(of, all) {
        return None;
    }
    let multiplied = users(of.result()).into_iter().any(|user| {
        let spread = tile::ConvertLayout::of(user).map(tile::ConvertLayout::result);
        TileOp::Dot.is(user)
            || spread.is_some_and(|it| users(it).into_iter().any(|op| TileOp::Dot.is(op)))
    });
    (!multiplied).then_some(by)
}

/// The nearest loop of products in front of a load in its block.
fn nearest_products<'c>(load: IrOp<'c>) -> Option<IrOp<'c>> {
    let here = operations(block_of(load));
    let at = here.iter().position(|op| *op == load)?;
    here[..at].iter().rev().copied().find(|op| multiplies(*op))
}

/// Whether the loop adds up products, of which an operand's stage has room for a piece.
fn has_stage_for(products: IrOp, piece: &TileType) -> bool {
    let Some(body) = blocks(products, 0).into_iter().next() else {
        return false;
    };
    if !ScfOp::For.is(products) {
        return false;
    }
    let bytes = |tile: &TileType| tile.elem.bytes_of(tile.size());
    let dots = operations(body)
        .into_iter()
        .filter(|op| TileOp::Dot.is(*op));
    let mut dots = dots.peekable();
    dots.peek().is_some()
        && dots.all(|dot| {
            let (Ok(mma), Some(of)) = (mma_of(dot), tile::Dot::of(dot)) else {
                return false;
            };
            let factors = [Operand::A, Operand::B].into_iter().zip(of.factors());
            let mut room = false;
            for (which, factor) in factors {
                let Ok(tile) = tile_of(dot, factor) else {
                    return false;
                };
                room |= bytes(&tile) >= bytes(piece);
                if !is_by_descriptor(&mma, which) {
                    return false;
                }
            }
            room && same_block(dot, operations(body)[0]) && is_accumulated(dot, body)
        })
}
