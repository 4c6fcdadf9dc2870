//! `tile-load-early`: what is loaded behind a loop of products is loaded in front of it, as far as registers go.
//!
//! Before: a `tile.load` behind a loop of products, whose place does not depend on it: a bias, a residual, scales. After: the load
//! stands in front of the loop, which hides how long it takes; its tile waits in registers. It stays where a tensor map brings it (`epilogue_load.rs`), where the kernel writes to memory in
//! between, where it is a whole tile of warpgroups that take turns, or where the tiles that are live at once would leave a thread too few registers.
use super::access_width::vector_with_tail;
use super::epilogue_load::EpilogueLoad;
use super::known_ops::checked_ops;
use super::pingpong::in_turn;
use super::registers::{REGISTER_BITS, for_bits, of_thread, peak_with};
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::control_flow::is_loop;
use crate::passes::ir_utils::{
    Kernel, block_of, collect_nested, defining_op, for_each_kernel, function_block_size,
    move_before, next_operation, operations, same_block, users,
};
use cutec_dialects::builder::{IrOp, operands_of, operation_key};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::Target;
use cutec_dialects::tile::{TileLayout, TileType};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// Registers of a thread that addresses, indices and predicates are left.
pub(super) const OTHERS: i64 = 32;

/// Moves the loads of every kernel of the module.
pub fn load_early<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            function, target, ..
        } = kernel;
        of_function(function, &target)
    })
}

fn of_function<'c>(function: IrOp<'c>, target: &Target) -> Result<(), Failed<'c>> {
    let all = checked_ops(function)?;
    let Some(threads) = function_block_size(function) else {
        return Ok(());
    };
    let most = of_thread(function, threads, target) - OTHERS;
    // What a map brings is read at once, so that its stage is free again.
    let by_map: Vec<IrOp> = EpilogueLoad::all(function, target)
        .iter()
        .map(|it| it.load)
        .collect();
    let loads = all.into_iter().filter(|op| TileOp::Load.is(*op));
    // Of warpgroups that take turns the products of one hide what the other waits for, and sums leave no registers for a whole tile.
    let late = |op: &IrOp| in_turn(function) > 1 && is_whole(*op);
    let loads = loads.filter(|op| !by_map.contains(op) && !late(op));
    let mut loads: Vec<IrOp> = loads.collect();
    // What takes longest comes first.
    loads.sort_by_key(|load| std::cmp::Reverse(elements(*load)));
    let mut unpacked = 0;
    for load in loads {
        let Some((products, moved)) = movable(load) else {
            continue;
        };
        unpacked += unpacked_bits(load);
        let back: Vec<Option<IrOp>> = moved.iter().map(|op| next_operation(*op)).collect();
        for op in &moved {
            move_before(*op, products);
        }
        let peak = peak_with(function, &by_map)?;
        if peak.is_some_and(|peak| for_bits(peak.all + unpacked) > most) {
            unpacked -= unpacked_bits(load);
            // The last one first: what stood behind an operation stands there again.
            for (op, next) in moved.iter().zip(back).rev() {
                if let Some(next) = next {
                    move_before(*op, next);
                }
            }
        }
    }
    Ok(())
}

/// How many elements a load gives a thread.
fn elements(load: IrOp) -> i64 {
    let layout = tile_of_load(load).and_then(|tile| tile.layout);
    layout.map_or(0, |layout| layout.values())
}

/// Bits by which a thread holds more than a tile's elements while these come one by one: each in a register of its own.
fn unpacked_bits(load: IrOp) -> i64 {
    let Some(tile) = tile_of_load(load) else {
        return 0;
    };
    let values = tile.layout.as_ref().map_or(0, TileLayout::values);
    match vector_with_tail(load, &tile) {
        Some((_, 1)) => values * (REGISTER_BITS - tile.elem.bits()).max(0),
        _ => 0,
    }
}

/// Whether a load has rows and columns, as sums have, and a bias has not.
pub(super) fn is_whole(load: IrOp) -> bool {
    let long = |tile: TileType| tile.shape.iter().filter(|extent| **extent > 1).count();
    tile_of_load(load).is_some_and(|tile| long(tile) > 1)
}

fn tile_of_load(load: IrOp) -> Option<TileType> {
    TileType::of(tile::Load::of(load)?.result().r#type())?.ok()
}

/// The nearest loop of products in front of a load in its block, and the operations to move there: the load, behind what its place is
/// computed of.
fn movable<'c>(load: IrOp<'c>) -> Option<(IrOp<'c>, Vec<IrOp<'c>>)> {
    // What is multiplied waits in shared memory.
    let loaded = tile::Load::of(load)?.result();
    if users(loaded).iter().any(|user| is_of_product(*user)) {
        return None;
    }
    let here = operations(block_of(load));
    let at = here.iter().position(|op| *op == load)?;
    let products = (0..at).rev().find(|index| multiplies(here[*index]))?;
    if here[products..at].iter().any(|op| writes(*op)) {
        return None;
    }
    let between: HashSet<usize> = here[products..at]
        .iter()
        .map(|op| operation_key(*op))
        .collect();
    let mut needed = HashSet::from([operation_key(load)]);
    let mut open = vec![load];
    while let Some(op) = open.pop() {
        for defining in operands_of(op).filter_map(defining_op) {
            if !between.contains(&operation_key(defining))
                || !needed.insert(operation_key(defining))
            {
                continue;
            }
            if !computes_place(defining) || !same_block(defining, load) {
                return None;
            }
            open.push(defining);
        }
    }
    let moved = here[products..=at].iter().copied();
    let moved = moved
        .filter(|op| needed.contains(&operation_key(*op)))
        .collect();
    Some((here[products], moved))
}

/// Whether an operation may be what a place is computed of, which can be computed elsewhere.
pub(super) fn computes_place(op: IrOp) -> bool {
    TileOp::of(op).is_none_or(|op| op == TileOp::Index)
        && op.region_count() == 0
        && has_no_effect(op)
}

/// Whether an operation is a product, or makes an operand of one.
fn is_of_product(op: IrOp) -> bool {
    let spread = tile::ConvertLayout::of(op).map(tile::ConvertLayout::result);
    TileOp::Dot.is(op)
        || spread.is_some_and(|spread| users(spread).iter().any(|user| TileOp::Dot.is(*user)))
}

/// Whether an operation is a loop with products.
pub(super) fn multiplies(op: IrOp) -> bool {
    is_loop(op) && inside(op).into_iter().any(|op| TileOp::Dot.is(op))
}

/// Whether it writes to global memory, or waits for blocks that do, or something inside of it does.
pub(super) fn writes(op: IrOp) -> bool {
    let all = inside(op).into_iter().chain([op]);
    let waits = |op: IrOp| matches!(TileOp::of(op), Some(TileOp::Arrive | TileOp::GridBarrier));
    all.into_iter()
        .any(|op| tile::written_view(op).is_some() || waits(op))
}

fn inside(op: IrOp) -> Vec<IrOp> {
    let mut found = Vec::new();
    collect_nested(op, &mut found);
    found
}
