//! `tile-bound-coordinates`: coordinates counted in tiles lie in their tensor, or directly behind it.
//!
//! Before: a coordinate may be any integer. After: one that may be negative, or so large that the number of its first
//! element leaves 32 bits, is at most the first tile behind the end of the view: the minimum of both, compared without
//! sign, so that a negative one is behind the end too. There nothing is read or written. Others stay as they are; where the front end has put
//! that minimum, before the numbers of elements that it computes itself, it is taken away from them.
//! Precondition: before `tile-raster`, since the range of `tile.index` follows from `tile.grid`.
use super::coordinate::{Coordinate, extent, width_of};
use super::known_ops::checked_ops;
use super::types::{Failed, present, tile_of, view_of};
use crate::passes::Reported;
use crate::passes::integers::range::{Range, Ranges};
use crate::passes::ir_utils::{
    defining_op, erase, first_of_block, for_each_kernel, next_operation, replace_all_uses,
    set_operand,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of,
};
use cutec_dialects::ops::{ArithOp, tile};
use cutec_dialects::tile::{BOUND, TileOp, WINDOWS};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Bounds the coordinates of every kernel of the module.
pub fn bound_coordinates<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        of_function(kernel.context, kernel.function)
    })
}

fn of_function<'c>(context: &'c Context, function: IrOp<'c>) -> Result<(), Failed<'c>> {
    let mut ranges = Ranges::default();
    for op in checked_ops(function)? {
        if let Some((value, length)) = bound_of(op) {
            if fits(ranges.of(value), length) {
                replace_all_uses(result_of(op, 0), value);
                erase(op);
            }
            continue;
        }
        // Of windows they are those of images.
        if op.attribute(WINDOWS).is_ok() {
            continue;
        }
        // The coordinate stands behind the view.
        let (view, tile, first) = match TileOp::of(op) {
            Some(TileOp::Load) => {
                let load = present(op, tile::Load::of(op))?;
                (load.view(), tile_of(op, load.result())?, 1)
            }
            Some(TileOp::Store) => {
                let store = present(op, tile::Store::of(op))?;
                (store.view(), tile_of(op, store.value())?, 2)
            }
            _ => continue,
        };
        let at = Coordinate::of(op).map_err(|message| (op, message))?;
        for (axis, value) in at.values.iter().enumerate() {
            let length = tile.shape[axis];
            if at.is_offset(axis) || fits(ranges.of(*value), length) {
                continue;
            }
            let bounded = bounded(context, op, (view, axis), *value, length)?;
            set_operand(op, first + axis, bounded);
        }
    }
    Ok(())
}

/// What a marked minimum bounds, and the length of a tile.
fn bound_of<'c>(op: IrOp<'c>) -> Option<(IrValue<'c>, i64)> {
    if !ArithOp::Minui.is(op) {
        return None;
    }
    let length = integer_value(op.attribute(BOUND).ok()?).filter(|length| *length > 0)?;
    Some((operands_of(op).next()?, length))
}

/// Whether coordinates of tiles of a length are numbers of elements of 32 bits, none of them negative.
fn fits(range: Range, length: i64) -> bool {
    range.least >= 0 && range.most <= i64::from(i32::MAX) / length
}

/// A coordinate, or the number of a tile behind the end of the view along an axis.
fn bounded<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    (view, axis): (IrValue<'c>, usize),
    value: IrValue<'c>,
    length: i64,
) -> Result<IrValue<'c>, Failed<'c>> {
    let ty = value.r#type();
    // Beside the view, so that loops have the bound before them.
    let beside = match defining_op(view) {
        Some(op) => next_operation(op),
        None => first_of_block(view),
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(beside.unwrap_or(op)));
    ir.location = op.location();
    let layout = view_of(view).map(|view| view.layout);
    let known = layout.and_then(|layout| layout.inner().mode(axis)?.size().as_static());
    let marked = [(BOUND, ir.i64(length))];
    let end = match known {
        Some(extent) => ir.constant_of(extent / length + 1, ty),
        None => {
            let extent = extent(&ir, view, axis, width_of(ty));
            let extent = extent.map_err(|error| (op, error.to_string()))?;
            let length = ir.constant_of(length, ty);
            let whole = ir.value(ArithOp::Divui, &[extent, length], &[], ty);
            let one = ir.constant_of(1, ty);
            ir.value(ArithOp::Addi, &[whole, one], &[], ty)
        }
    };
    ir.insertion = Insertion::Before(op);
    Ok(ir.value(ArithOp::Minui, &[value, end], &marked, ty))
}
