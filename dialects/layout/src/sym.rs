//! [`Sym`]: a run-time integer as an expression, with what is provable about its value.
//!
//! Nodes are immutable and shared; a clone is a reference count. Expressions are only made by the
//! arithmetic of [`Int`], which simplifies as it builds (`int/`), so two equal computations give
//! structurally equal nodes in all cases that the layout algebra produces.

mod walk;

use crate::Int;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Width of the machine integer that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Width {
    /// 32 bits, the default.
    #[default]
    I32,
    /// 64 bits.
    I64,
}

/// What is promised about a run-time variable. Variables are never negative, but for those that
/// [`Sym::signed`] makes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SymInfo {
    /// Machine width.
    pub width: Width,
    /// A positive number that divides every value.
    pub div: i64,
    /// Inclusive upper bound.
    pub max: Option<i64>,
}

impl Default for SymInfo {
    fn default() -> Self {
        SymInfo {
            width: Width::I32,
            div: 1,
            max: None,
        }
    }
}

/// One operation on run-time integers. Divisions round towards minus infinity (`FloorDiv`) or plus
/// infinity (`CeilDiv`); `Mod` goes with `FloorDiv`. Divisors are positive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A variable.
    Var(u32),
    /// Sum of two or more terms; at most one is static and it comes last.
    Add(Vec<Int>),
    /// Product; a static factor comes second.
    Mul(Int, Int),
    /// Quotient rounded down.
    FloorDiv(Int, Int),
    /// Quotient rounded up.
    CeilDiv(Int, Int),
    /// Remainder of `FloorDiv`.
    Mod(Int, Int),
    /// Smaller of two.
    Min(Int, Int),
    /// Larger of two.
    Max(Int, Int),
    /// Bitwise exclusive or of two non-negative values: what a swizzle does.
    Xor(Int, Int),
}

/// What is known about a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub width: Width,
    pub div: i64,
    pub min: i64,
    pub max: Option<i64>,
    pub zero: u64,
}

/// A run-time integer.
#[derive(Clone)]
pub struct Sym(Arc<Node>);

struct Node {
    expr: Expr,
    facts: Facts,
    hash: u64,
}

impl Sym {
    /// The variable `id`.
    pub fn var(id: u32, info: SymInfo) -> Sym {
        let div = info.div.max(1);
        let max = info.max.map(|max| max.max(0) / div * div);
        Sym::from_parts(
            Expr::Var(id),
            Facts {
                width: info.width,
                div,
                min: 0,
                max,
                zero: zero_bits(0, max, div),
            },
        )
    }

    /// The variable `id`, which may be negative.
    pub fn signed(id: u32, info: SymInfo) -> Sym {
        let div = info.div.max(1);
        Sym::from_parts(
            Expr::Var(id),
            Facts {
                width: info.width,
                div,
                min: i64::MIN,
                max: info.max,
                zero: zero_bits(i64::MIN, info.max, div),
            },
        )
    }

    pub(crate) fn from_parts(expr: Expr, facts: Facts) -> Sym {
        let mut hasher = Mix(0x9e37_79b9_7f4a_7c15);
        expr.hash(&mut hasher);
        Sym(Arc::new(Node {
            expr,
            facts,
            hash: hasher.finish(),
        }))
    }

    /// The operation at the top.
    pub fn expr(&self) -> &Expr {
        &self.0.expr
    }

    /// Machine width of the value.
    pub fn width(&self) -> Width {
        self.0.facts.width
    }

    /// The largest number known to divide every value; at least 1.
    pub fn div(&self) -> i64 {
        self.0.facts.div
    }

    /// Inclusive upper bound, if one is known.
    pub fn max(&self) -> Option<i64> {
        self.0.facts.max
    }

    /// Inclusive lower bound (`i64::MIN` if none is known).
    pub fn min(&self) -> i64 {
        self.0.facts.min
    }

    /// The bits that are provably zero in every value.
    pub fn known_zero_bits(&self) -> u64 {
        self.0.facts.zero
    }

    pub(crate) fn facts(&self) -> Facts {
        self.0.facts
    }

    /// What tells nodes apart that are not shared.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(crate) fn hash_value(&self) -> u64 {
        self.0.hash
    }

    /// The value when each variable has the value that `env` gives it.
    pub fn eval(&self, env: &dyn Fn(u32) -> i64) -> i64 {
        let value = |int: &Int| int.eval(env);
        match self.expr() {
            Expr::Var(id) => env(*id),
            Expr::Add(terms) => terms.iter().fold(0, |sum, term| sum + value(term)),
            Expr::Mul(a, b) => value(a) * value(b),
            Expr::FloorDiv(a, b) => floor_div(value(a), value(b)),
            Expr::CeilDiv(a, b) => ceil_div(value(a), value(b)),
            Expr::Mod(a, b) => value(a).rem_euclid(value(b).max(1)),
            Expr::Min(a, b) => value(a).min(value(b)),
            Expr::Max(a, b) => value(a).max(value(b)),
            Expr::Xor(a, b) => value(a) ^ value(b),
        }
    }
}

impl PartialEq for Sym {
    fn eq(&self, other: &Sym) -> bool {
        self.same(other)
    }
}

impl Eq for Sym {}

impl Hash for Sym {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.formula())
    }
}

impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.width(), self.div()) {
            (Width::I32, 1) => f.write_str("?"),
            (Width::I32, div) => write!(f, "?{{div={div}}}"),
            (Width::I64, 1) => f.write_str("?{i64}"),
            (Width::I64, div) => write!(f, "?{{i64 div={div}}}"),
        }
    }
}

/// Bits that are zero in every multiple of `div` between `min` and `max`.
pub(crate) fn zero_bits(min: i64, max: Option<i64>, div: i64) -> u64 {
    let low = if div > 0 {
        (1u64 << div.trailing_zeros().min(63)) - 1
    } else {
        0
    };
    let high = match max {
        Some(max) if min >= 0 => high_zero_bits(max),
        None if min >= 0 => 1 << 63,
        _ => 0,
    };
    low | high
}

fn high_zero_bits(max: i64) -> u64 {
    match max.max(0).leading_zeros() {
        64 => u64::MAX,
        zeros => !(u64::MAX >> zeros),
    }
}

pub(crate) fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    a.checked_div_euclid(b).unwrap_or(i64::MAX)
}

pub(crate) fn ceil_div(a: i64, b: i64) -> i64 {
    let quotient = floor_div(a, b);
    match b == 0 || a.checked_rem_euclid(b).unwrap_or(0) == 0 {
        true => quotient,
        false => quotient.saturating_add(1),
    }
}

/// A small deterministic hasher, so that the order of factors does not vary between runs.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_i64(&mut self, value: i64) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}
