//! `tile-merge`: what a kernel says twice is computed and loaded once, and what nothing takes not at all.
//!
//! After `tile-raster`, since tiles at one place are at equal coordinates then. It is MLIR's elimination of common
//! subexpressions: LLVM, which does the same, sees loads only when they are a thread's, under predicates. What maps gather MLIR takes for
//! what may differ each time: of tensors that the kernel does not write it is the same (`merge_gathers`). Conversions that give what was there
//! are left out (`conversions_back.rs`).
use super::conversions_back::skip_conversions_back;
use super::issuable::read_only;
use super::known_ops::checked_ops;
use crate::passes::ir_utils::{
    Kernel, blocks, collect_nested, erase, for_each_kernel, name_of, named_attributes, operations,
    replace_all_uses, same_block, users,
};
use crate::passes::{Reported, report};
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operands_of, result_of, results_of, value_key,
};
use cutec_dialects::ir::{erase_dead, has_no_effect, merge_equal};
use cutec_dialects::ops::{CuteOp, ScfOp, TileOp, cute};
use melior::Context;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Erases dead operations and merges equal ones in every kernel of the module.
pub fn merge<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel { function, .. } = kernel;
        let all = checked_ops(function);
        skip_conversions_back(&all.map_err(|(op, message)| report(op.location(), message))?);
        // What is dead would be computed a second time where a tile is later computed piece by piece.
        erase_dead(function);
        merge_equal(function);
        if merge_gathers(function) {
            merge_equal(function);
        }
        Ok::<_, Reported>(())
    })
}

/// Merges maps of one block that gather the same; whether there were some.
fn merge_gathers(function: IrOp) -> bool {
    let is_read_only = read_only(function);
    let mut inside = Vec::new();
    collect_nested(function, &mut inside);
    inside.retain(|op| {
        TileOp::Map.is(*op) && gathers(*op, &is_read_only) && !feeds_product(result_of(*op, 0))
    });
    let mut kept: Vec<IrOp> = Vec::new();
    for map in &inside {
        let same =
            |kept: &&IrOp| same_block(**kept, *map) && are_equal(**kept, *map, &mut HashMap::new());
        match kept.iter().find(same) {
            Some(kept) => {
                replace_all_uses(result_of(*map, 0), result_of(*kept, 0));
                erase(*map);
            }
            None => kept.push(*map),
        }
    }
    kept.len() < inside.len()
}

/// Whether a map of one result reads memory, all of it of tensors that the kernel does not write, and does nothing else.
fn gathers<'c>(map: IrOp<'c>, is_read_only: &impl Fn(IrValue<'c>) -> bool) -> bool {
    let mut inside = Vec::new();
    collect_nested(map, &mut inside);
    let allowed = |op: &IrOp<'c>| {
        let element = cute::MemrefLoad::of(*op).filter(|_| CuteOp::MemrefLoad.is(*op));
        match element {
            Some(element) => is_read_only(element.view()),
            None => has_no_effect(*op) || ScfOp::of(*op).is_some() || TileOp::of(*op).is_some(),
        }
    };
    map.result_count() == 1 && !has_no_effect(map) && inside.iter().all(allowed)
}

/// Whether a product takes a tile, as it is or moved: each one's own is staged by itself.
fn feeds_product(tile: IrValue) -> bool {
    users(tile).into_iter().any(|user| match TileOp::of(user) {
        Some(TileOp::Dot) => true,
        Some(TileOp::Transpose | TileOp::Reshape | TileOp::Map) => {
            feeds_product(result_of(user, 0))
        }
        _ => false,
    })
}

/// Whether two operations compute the same of the same values, where values inside of the second stand for those of the first.
fn are_equal<'c>(one: IrOp<'c>, other: IrOp<'c>, same: &mut HashMap<usize, IrValue<'c>>) -> bool {
    let stands_for = |same: &HashMap<usize, IrValue<'c>>, value: IrValue<'c>| {
        same.get(&value_key(value)).copied().unwrap_or(value)
    };
    let operands = || operands_of(one).eq(operands_of(other).map(|value| stands_for(same, value)));
    let types = |op: IrOp<'c>| results_of(op).map(|result| result.r#type());
    let alike = name_of(one) == name_of(other)
        && operands()
        && types(one).eq(types(other))
        && named_attributes(one) == named_attributes(other)
        && one.region_count() == other.region_count();
    if !alike || !are_equal_inside(one, other, same) {
        return false;
    }
    same.extend(results_of(other).map(value_key).zip(results_of(one)));
    true
}

/// Whether the regions of two operations, as many, compute the same of what they are given.
pub(super) fn have_equal_regions<'c>(one: IrOp<'c>, other: IrOp<'c>) -> bool {
    one.region_count() == other.region_count() && are_equal_inside(one, other, &mut HashMap::new())
}

fn are_equal_inside<'c>(
    one: IrOp<'c>,
    other: IrOp<'c>,
    same: &mut HashMap<usize, IrValue<'c>>,
) -> bool {
    (0..one.region_count()).all(|region| {
        let (first, second) = (blocks(one, region), blocks(other, region));
        let mut pairs = first.iter().zip(&second);
        first.len() == second.len()
            && pairs.all(|(one, other)| are_equal_blocks(*one, *other, same))
    })
}

fn are_equal_blocks<'c>(
    one: IrBlock<'c>,
    other: IrBlock<'c>,
    same: &mut HashMap<usize, IrValue<'c>>,
) -> bool {
    let arguments = |block: IrBlock<'c>| {
        (0..block.argument_count()).map(move |index| argument_of(block, index))
    };
    let types = |block| arguments(block).map(|argument| argument.r#type());
    if !types(one).eq(types(other)) {
        return false;
    }
    same.extend(arguments(other).map(value_key).zip(arguments(one)));
    let (first, second) = (operations(one), operations(other));
    first.len() == second.len()
        && first
            .into_iter()
            .zip(second)
            .all(|(one, other)| are_equal(one, other, same))
}
