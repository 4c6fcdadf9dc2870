//! Predicates of `arith.cmpi`, by their numbers.

pub const EQUAL: i64 = 0;
pub const NOT_EQUAL: i64 = 1;
/// Signed, as the next three.
pub const LESS: i64 = 2;
pub const AT_MOST: i64 = 3;
pub const GREATER: i64 = 4;
pub const AT_LEAST: i64 = 5;
/// As unsigned, where nothing negative is less than anything else.
pub const BELOW: i64 = 6;
