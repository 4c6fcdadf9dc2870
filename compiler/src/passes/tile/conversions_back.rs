//! Conversions to a wider type and back, which give what was there: a kernel for any type of elements says `bf16(f32(x))` of bf16, too.
//!
//! What a product takes so is a load, and comes by asynchronous copies.
use super::types::tile_of;
use crate::passes::ir_utils::{blocks, operations, replace_all_uses};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{ArithOp, TileOp, tile};

/// Lets those who take what conversions give back take what was converted.
pub(super) fn skip_conversions_back(all: &[IrOp]) {
    for map in all.iter().copied().filter_map(tile::Map::of) {
        if let Some(before) = converted_back(map) {
            replace_all_uses(map.result(), before);
        }
    }
}

/// The tile that a map gives, which another map has widened.
fn converted_back<'c>(map: tile::Map<'c>) -> Option<IrValue<'c>> {
    let (narrowing, wide) = conversion(map)?;
    let widening_map = tile::Map::defining(wide)?;
    let (widening, before) = conversion(widening_map)?;
    let back = matches!(
        (widening, narrowing),
        (ArithOp::Extf, ArithOp::Truncf) | (ArithOp::Extsi | ArithOp::Extui, ArithOp::Trunci)
    );
    let elem = |op: IrOp<'c>, value| Some(tile_of(op, value).ok()?.elem);
    let same = elem(map.op(), map.result())? == elem(widening_map.op(), before)?;
    (back && same).then_some(before)
}

/// The conversion of each element that a map is, and the tile that it is of.
fn conversion<'c>(map: tile::Map<'c>) -> Option<(ArithOp, IrValue<'c>)> {
    let body = operations(blocks(map.op(), 0).into_iter().next()?);
    match (&map.inputs()[..], &body[..]) {
        ([input], [convert, end]) if TileOp::Yield.is(*end) => {
            Some((ArithOp::of(*convert)?, *input))
        }
        _ => None,
    }
}
