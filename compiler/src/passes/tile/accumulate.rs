//! A product adds to other sums itself, where all that is done with it is to add it to them: to what a loop carries, to what a loop before it has added
//! up, to another product.
//!
//! A product that is taken from other sums, and one of whose factors is negated, is a product that subtracts: `{negated}`.
//!
//! Before: `%p = tile.dot %a, %b, %zeros`, and a map that adds `%p` to `%x`, of which the loop carries the sum. After: `tile.dot %a, %b, %x`. So
//! `sums = sums * less + dot(a, b)` is as `sums *= less; sums += dot(a, b)`, and `dot(a, b) + dot(c, d)` as `sums = dot(a, b); sums += dot(c, d)`: the
//! products have no registers beside the sums. What comes from memory is added behind the product, which need not wait for it. Products of f8 stay,
//! whose sums tensor cores hold with fewer digits than f32: who adds them up by themselves may mean it.
use super::signs::{negate, take_signs};
use super::types::is_zeros;
use crate::passes::ir_utils::{
    blocks, defining_op, erase, is_unused, move_before, operations, parent, replace_all_uses,
    same_block, set_operand, users,
};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, operands_of, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, tile};
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::ValueLike;
use melior::ir::operation::OperationLike;

/// Lets products add to other sums; whether some do now that did not.
pub(super) fn accumulate<'c>(context: &'c Context, operations: &[IrOp<'c>]) -> bool {
    let dots = operations.iter().copied().filter_map(tile::Dot::of);
    let dots: Vec<tile::Dot> = dots.collect();
    let mut found = false;
    for map in operations.iter().copied() {
        let Some((products, sums, is_taken_off)) = sum_of(map) else {
            continue;
        };
        let (Some(first), Some(last)) = (products.first(), products.last()) else {
            continue;
        };
        found = true;
        let zeros = first.c();
        for product in &products {
            move_before(product.op(), map);
            if is_taken_off {
                negate(context, *product);
            }
        }
        set_operand(first.op(), 2, sums);
        replace_all_uses(result_of(map, 0), last.result());
        erase(map);
        if let Some(zeros) = defining_op(zeros).filter(|zeros| is_unused(*zeros)) {
            erase(zeros);
        }
    }
    for dot in dots {
        found |= take_signs(context, dot);
    }
    found
}

/// The products that a map adds to other sums, each of them to the one before, those sums, to which the first may add, and whether they are taken off.
fn sum_of<'c>(map: IrOp<'c>) -> Option<(Vec<tile::Dot<'c>>, IrValue<'c>, bool)> {
    let is_taken_off = combines(map)? == Combination::Difference;
    let operands: Vec<IrValue> = operands_of(map).collect();
    let [one, other] = operands[..] else {
        return None;
    };
    // Of two products the one that is written first is the first.
    let ways = [(other, one), (one, other)];
    for (added, sums) in ways.into_iter().take(if is_taken_off { 1 } else { 2 }) {
        let (products, others) = (products_of(added, map), products_of(sums, map));
        let begins = products
            .first()
            .is_some_and(|first| is_zeros(first.c()) && sums.r#type() == added.r#type());
        let fits = match others.is_empty() {
            true => is_zeros(sums) || is_carried(map, sums) || is_of_a_loop(map, sums),
            false => are_alike(&products, &others),
        };
        if begins && fits && !is_of_f8(&products) {
            return Some((products, sums, is_taken_off));
        }
    }
    None
}

/// The products whose sum a value is, which an operation of their block alone takes, in the order in which they add to each other.
fn products_of<'c>(value: IrValue<'c>, taker: IrOp<'c>) -> Vec<tile::Dot<'c>> {
    let (mut value, mut found) = (value, Vec::new());
    while let Some(product) = tile::Dot::defining(value)
        && users(value).len() == 1
        && same_block(product.op(), taker)
    {
        found.push(product);
        value = product.c();
    }
    found.reverse();
    found
}

fn is_of_f8(products: &[tile::Dot]) -> bool {
    let mut factors = products.iter().flat_map(|product| product.factors());
    factors.any(|factor| matches!(elem_of(factor), Some(Elem::F8E4M3 | Elem::F8E5M2)))
}

/// Whether products have factors of the same types, and are multiplied alike where the program says how.
fn are_alike(products: &[tile::Dot], others: &[tile::Dot]) -> bool {
    let kind = |product: &tile::Dot| {
        let said = [product.mma(), product.precision()];
        let said = said.map(|word| word.map(|word| word.to_string()));
        (product.factors().map(elem_of), said)
    };
    let mut all = products.iter().chain(others).map(kind);
    let first = all.next();
    all.all(|kind| Some(kind) == first)
}

fn elem_of(tile: IrValue) -> Option<Elem> {
    Some(TileType::of(tile.r#type())?.ok()?.elem)
}

/// What a map makes of two elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combination {
    Sum,
    /// The second is taken off the first.
    Difference,
}

/// Whether the function of a map is the sum or the difference of its two elements: of integers, whose least has no negative, the sum.
fn combines(map: IrOp) -> Option<Combination> {
    if !TileOp::Map.is(map) || operands_of(map).count() != 2 {
        return None;
    }
    let body = blocks(map, 0).into_iter().next()?;
    let [combine, end] = operations(body)[..] else {
        return None;
    };
    let elements = [argument_of(body, 0), argument_of(body, 1)];
    let combined: Vec<IrValue> = operands_of(combine).collect();
    if !operands_of(end).eq([result_of(combine, 0)]) {
        return None;
    }
    let is_turned = combined == [elements[1], elements[0]];
    match ArithOp::of(combine)? {
        ArithOp::Addf | ArithOp::Addi if combined == elements || is_turned => {
            Some(Combination::Sum)
        }
        ArithOp::Subf if combined == elements => Some(Combination::Difference),
        _ => None,
    }
}

/// Whether a loop carries the result of a map, or what other sums make of it, and what it adds to is what the loop carried to this round, or a map of
/// that.
fn is_carried<'c>(map: IrOp<'c>, added: IrValue<'c>) -> bool {
    let Some(of) = parent(map).filter(|of| ScfOp::For.is(*of)) else {
        return false;
    };
    let Some(body) = blocks(of, 0).into_iter().next() else {
        return false;
    };
    let mut result = result_of(map, 0);
    let end = loop {
        let [user] = users(result)[..] else {
            return false;
        };
        if !same_block(user, map) {
            return false;
        }
        if ScfOp::Yield.is(user) {
            break user;
        }
        let is_first = || operands_of(user).next() == Some(result);
        match combines(user) {
            Some(Combination::Sum) => {}
            Some(Combination::Difference) if is_first() => {}
            Some(Combination::Difference) | None => return false,
        }
        result = result_of(user, 0);
    };
    let before = |value: IrValue<'c>| {
        let carried = operands_of(end).position(|value| value == result);
        carried.is_some_and(|index| value == argument_of(body, index + 1))
    };
    let scaled = || {
        let map = defining_op(added).filter(|op| TileOp::Map.is(*op));
        map.is_some_and(|map| operands_of(map).any(before))
    };
    before(added) || scaled()
}

/// Whether a tile is what products of a loop have added up, for a map alone.
fn is_of_a_loop<'c>(map: IrOp<'c>, tile: IrValue<'c>) -> bool {
    let Some(of) = defining_op(tile).filter(|of| ScfOp::For.is(*of) && same_block(*of, map)) else {
        return false;
    };
    let end = blocks(of, 0)
        .into_iter()
        .next()
        .and_then(|body| operations(body).last().copied());
    let yielded = end.and_then(|end| {
        let number = (0..of.result_count()).find(|number| result_of(of, *number) == tile)?;
        operands_of(end).nth(number)
    });
    users(tile).len() == 1 && yielded.is_some_and(|value| tile::Dot::defining(value).is_some())
}
