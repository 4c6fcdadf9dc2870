//! `arith.cmpi`, and its predicates by their numbers.
use cutec_dialects::builder::{IrValue, OpBuilder};
use cutec_dialects::ops::ArithOp;

pub const EQUAL: i64 = 0;
pub const NOT_EQUAL: i64 = 1;
/// Signed, as the next three.
pub const LESS: i64 = 2;
pub const AT_MOST: i64 = 3;
pub const GREATER: i64 = 4;
pub const AT_LEAST: i64 = 5;
/// As unsigned, where nothing negative is less than anything else.
pub const BELOW: i64 = 6;

/// A predicate of two values of one type.
pub fn cmpi<'c>(ir: &OpBuilder<'c>, predicate: i64, a: IrValue<'c>, b: IrValue<'c>) -> IrValue<'c> {
    let predicate = [("predicate", ir.i64(predicate))];
    ir.value(ArithOp::Cmpi, &[a, b], &predicate, ir.ty("i1"))
}
