//! Coordinates that lie outside of their view: nothing is read there, a tile is zeros or its `fill`.
use super::coordinate::Coordinate;
use cutec_dialects::builder::{IrValue, OpBuilder};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, CuteOp};
use melior::ir::ValueLike;

/// Elements beyond every view.
const OUTSIDE: i64 = 1 << 30;

/// The axis along which a tile can be put outside of its view: one along which tiles are counted, or one with an
/// offset that is not static.
pub(super) fn axis_of(at: &Coordinate) -> Option<usize> {
    let mut axes = 0..at.values.len();
    let counted = axes.clone().find(|axis| !at.is_offset(*axis));
    counted.or_else(|| axes.find(|axis| at.divisor(*axis) != 0))
}

/// The coordinate along an axis where `there` holds, else one outside of every view. `extent` is that of the tile along
/// the axis, `value` the coordinate, of the type that `at` has there.
pub(super) fn unless<'c>(
    ir: &OpBuilder<'c>,
    there: IrValue<'c>,
    (at, axis): (&Coordinate<'c>, usize),
    extent: i64,
    value: IrValue<'c>,
) -> IrValue<'c> {
    let ty = value.r#type();
    let text = type_text(ty);
    let is_integer = ["i32", "i64"].contains(&&*text);
    let integer = if text.contains("i64") { "i64" } else { "i32" };
    // An offset of which a divisor is declared is an integer meanwhile.
    let inside = match is_integer {
        true => value,
        false => ir.value(CuteOp::GetScalar, &[value], &[], ir.ty(integer)),
    };
    let outside = match at.is_offset(axis) {
        true => OUTSIDE - OUTSIDE % at.divisor(axis).max(1),
        false => OUTSIDE / extent.max(1),
    };
    let outside = ir.constant(outside, integer);
    let chosen = ir.value(
        ArithOp::Select,
        &[there, inside, outside],
        &[],
        inside.r#type(),
    );
    match is_integer {
        true => chosen,
        false => ir.value(CuteOp::Assume, &[chosen], &[], ty),
    }
}
