//! What lies between a tile as it is spread and as an operation takes it, or gives it.
use super::parted_axis;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{
    defining_op, is_inside, next_operation, replace_all_uses, same_block, set_operand, users,
};
use crate::passes::tile::types::{Failed, offsets_of, operand, tile_of};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::tile::TileLayout;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// Lets an operation take a tile as it needs it.
pub(super) fn convert_operand<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    index: usize,
    layout: TileLayout,
) -> Result<(), Failed<'c>> {
    let value = operand(op, index)?;
    let tile = tile_of(op, value)?;
    if tile.layout.as_ref() == Some(&layout) {
        return Ok(());
    }
    // What a loop does not change is spread anew once, in front of it. For a product that says how it is read, in the loop.
    let unchanged = loops_around(op).take_while(|around| !is_inside(value, *around));
    let before = match TileOp::Dot.is(op) {
        true => op,
        false => unchanged.last().unwrap_or(op),
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(before));
    ir.location = op.location();
    let ty = tile.with_layout(layout).ir(context);
    let converted = ir.value(TileOp::ConvertLayout, &[value], &[], ty);
    set_operand(op, index, converted);
    Ok(())
}

/// Lets an operation give a tile as it falls out, and what uses it take the one that it wants.
pub(super) fn convert_result<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    index: usize,
    layout: TileLayout,
) -> Result<(), Failed<'c>> {
    let result = result_of(op, index);
    let tile = tile_of(op, result)?;
    if tile.layout.as_ref() == Some(&layout) {
        return Ok(());
    }
    let wanted = result.r#type();
    result.set_type(tile.with_layout(layout).ir(context));
    // An operation on tiles is never the last of its block.
    let Some(next) = next_operation(op) else {
        return Err((op, "is the last of its block".into()));
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(next));
    ir.location = op.location();
    let converted = ir.value(TileOp::ConvertLayout, &[result], &[], wanted);
    replace_all_uses(result, converted);
    if let Some(convert) = defining_op(converted) {
        set_operand(convert, 0, result);
    }
    Ok(())
}

/// The same of what is taken apart, to numbers that no instruction moves: what is converted of them is spread anew.
///
/// # Errors
/// As [`convert_result`].
pub(super) fn convert_recast<'c>(
    context: &'c Context,
    recast: tile::Recast<'c>,
    layout: TileLayout,
) -> Result<(), Failed<'c>> {
    let (op, result) = (recast.op(), recast.result());
    let tile = tile_of(op, result)?;
    let takers = users(result);
    let converts =
        |user: &IrOp<'c>| tile::Map::of(*user).is_some_and(|map| map.inputs().len() == 1);
    if !tile.elem.is_packed() || !takers.iter().all(converts) {
        return convert_result(context, op, 0, layout);
    }
    for user in takers {
        convert_result(context, user, 0, layout.clone())?;
    }
    result.set_type(tile.with_layout(layout).ir(context));
    Ok(())
}

/// Spreads a tile as its parts are wanted, where one after the other takes each of them, so that a thread has what it is to have of every part. Whether the
/// operation takes such a part.
///
/// # Errors
/// As [`convert_operand`].
pub(super) fn convert_for_parts<'c>(
    context: &'c Context,
    op: IrOp<'c>,
) -> Result<bool, Failed<'c>> {
    let Some(slice) = tile::Slice::of(op) else {
        return Ok(false);
    };
    let (input, part) = (slice.input(), slice.result());
    let (from, to) = (tile_of(op, input)?, tile_of(op, part)?);
    let axis = parted_axis(&from.shape, &to.shape);
    let Some((axis, layout)) = axis.zip(to.layout.as_ref()) else {
        return Ok(false);
    };
    let is_like = |other: &IrOp<'c>| {
        let other = tile::Slice::of(*other);
        other.is_some_and(|other| {
            same_block(other.op(), op) && other.result().r#type() == part.r#type()
        })
    };
    let parts: Vec<IrOp<'c>> = users(input).into_iter().filter(is_like).collect();
    let offsets = parts.iter().map(|part| offsets_of(*part));
    let offsets = offsets.collect::<Result<HashSet<_>, _>>();
    let offsets = offsets.map_err(|message| (op, message))?;
    let count = from.shape[axis] / to.shape[axis];
    if from.shape[axis] % to.shape[axis] != 0 || offsets.len() as i64 != count {
        return Ok(false);
    }
    let failed = |message| (op, message);
    let whole = layout.joined(&to.shape, axis, count).map_err(failed)?;
    let of_part = whole.of_part(&from.shape, &to.shape).map_err(failed)?;
    if of_part.as_ref() != Some(layout) {
        return Ok(false);
    }
    convert_operand(context, op, 0, whole)?;
    let converted = operand(op, 0)?;
    parts
        .into_iter()
        .for_each(|part| set_operand(part, 0, converted));
    Ok(true)
}
