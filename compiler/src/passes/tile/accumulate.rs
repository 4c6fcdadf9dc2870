//! A product that a loop adds to what it carries adds to it itself.
//!
//! Before: `%p = tile.dot %a, %b, %zeros`, and a map that adds `%p` to `%x`, of which the loop carries the sum. After: `tile.dot %a, %b, %x`. So
//! `sums = sums * less + dot(a, b)` is as `sums *= less; sums += dot(a, b)`: the products have no registers beside the sums. Products of f8
//! stay, whose sums tensor cores hold with fewer digits than f32: who adds them up by themselves may mean it.
use super::types::{Failed, is_zeros, tile_of};
use crate::passes::ir_utils::{
    blocks, defining_op, erase, is_unused, move_before, operations, parent, replace_all_uses,
    same_block, set_operand, users,
};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, operands_of, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, tile};
use melior::ir::ValueLike;

/// Lets products add to what loops carry; whether some do now that did not.
pub(super) fn accumulate<'c>(operations: &[IrOp<'c>]) -> Result<bool, Failed<'c>> {
    let mut found = false;
    for product in operations.iter().copied().filter_map(tile::Dot::of) {
        let dot = product.op();
        let factor = tile_of(dot, product.a())?.elem;
        let is_f8 = matches!(factor, Elem::F8E4M3 | Elem::F8E5M2);
        let Some((map, carried)) = sum_of(product).filter(|_| !is_f8) else {
            continue;
        };
        found = true;
        let zeros = product.c();
        move_before(dot, map);
        set_operand(dot, 2, carried);
        replace_all_uses(result_of(map, 0), product.result());
        erase(map);
        if let Some(zeros) = defining_op(zeros).filter(|zeros| is_unused(*zeros)) {
            erase(zeros);
        }
    }
    Ok(found)
}

/// The map that adds a product of its own to what a loop carries, and that.
fn sum_of<'c>(product: tile::Dot<'c>) -> Option<(IrOp<'c>, IrValue<'c>)> {
    let (dot, result) = (product.op(), product.result());
    let [map] = users(result)[..] else {
        return None;
    };
    let operands: Vec<IrValue> = operands_of(map).collect();
    let other = match operands[..] {
        [one, other] if other == result => one,
        [one, other] if one == result => other,
        _ => return None,
    };
    let fits = is_zeros(product.c())
        && TileOp::Map.is(map)
        && only_adds(map)
        && same_block(dot, map)
        && other.r#type() == result.r#type();
    (fits && is_carried(map, other)).then_some((map, other))
}

/// Whether the function of a map is the sum of its two elements.
fn only_adds(map: IrOp) -> bool {
    let Some(body) = blocks(map, 0).into_iter().next() else {
        return false;
    };
    let [add, end] = operations(body)[..] else {
        return false;
    };
    let elements = [argument_of(body, 0), argument_of(body, 1)];
    let added: Vec<IrValue> = operands_of(add).collect();
    matches!(ArithOp::of(add), Some(ArithOp::Addf | ArithOp::Addi))
        && (added == elements || added == [elements[1], elements[0]])
        && operands_of(end).eq([result_of(add, 0)])
}

/// Whether a loop carries the result of a map, and what it adds to is what the loop carried to this round, or a map of that.
fn is_carried<'c>(map: IrOp<'c>, added: IrValue<'c>) -> bool {
    let Some(of) = parent(map).filter(|of| ScfOp::For.is(*of)) else {
        return false;
    };
    let [end] = users(result_of(map, 0))[..] else {
        return false;
    };
    let Some(body) = blocks(of, 0).into_iter().next() else {
        return false;
    };
    let before = |value: IrValue<'c>| {
        let carried = operands_of(end).position(|value| value == result_of(map, 0));
        carried.is_some_and(|index| value == argument_of(body, index + 1))
    };
    let scaled = || {
        let map = defining_op(added).filter(|op| TileOp::Map.is(*op));
        map.is_some_and(|map| operands_of(map).any(before))
    };
    ScfOp::Yield.is(end) && same_block(end, map) && (before(added) || scaled())
}
