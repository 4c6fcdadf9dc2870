//! [`Int`]: an integer of a shape, stride or coordinate: static, run-time, or a scaled basis.
//!
//! In reading order: this file (the type, facts, evaluation), `sum` (addition of linear terms),
//! `product` (multiplication), `quotient` (divisions and remainders), `order` (min, max, xor).
//!
//! All arithmetic is total. Static results saturate at the ends of `i64`; [`crate::Layout::check`]
//! finds a saturated leaf. Divisors are taken to be positive: a dynamic extent of zero describes
//! an empty tensor, of which no element is ever addressed.

mod order;
mod product;
mod quotient;
mod sum;

use crate::sym::{Facts, Sym, SymInfo, Width, zero_bits};
use std::fmt;

/// An integer known now, at run time, or an integer in one direction of a coordinate space.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Int {
    /// A value known at compile time.
    Static(i64),
    /// A run-time value.
    Dyn(Sym),
    /// `value@Mn@…@M0`: `value` in the mode reached by the path `[M0, …, Mn]`, zero elsewhere. A
    /// path is given from the outside in and printed from the inside out. Strides only.
    Scaled(Box<Int>, Vec<usize>),
}

impl Int {
    /// Zero.
    pub const ZERO: Int = Int::Static(0);
    /// One.
    pub const ONE: Int = Int::Static(1);

    /// Every number that a text may have is smaller than this in magnitude, so that sums of two do not overflow.
    pub(crate) const LIMIT: i64 = 1 << 62;

    /// Whether a text may have it: the number, or what divides it, is of less than 63 bits.
    pub fn fits(&self) -> bool {
        match self {
            Int::Static(value) => value.unsigned_abs() < Int::LIMIT.unsigned_abs(),
            Int::Dyn(sym) => sym.div() < Int::LIMIT,
            Int::Scaled(value, _) => value.fits(),
        }
    }

    /// A run-time variable.
    pub fn var(id: u32, info: SymInfo) -> Int {
        if info.max == Some(0) {
            return Int::ZERO;
        }
        Int::Dyn(Sym::var(id, info))
    }

    /// A 32-bit run-time variable of which nothing else is known.
    pub fn unknown(id: u32) -> Int {
        Int::var(id, SymInfo::default())
    }

    /// `value` in the direction `path`.
    pub fn scaled(value: Int, path: Vec<usize>) -> Int {
        match value {
            value if path.is_empty() => value,
            Int::Static(0) => Int::ZERO,
            // A basis of a basis: the outer path goes first.
            Int::Scaled(value, inner) => {
                let mut path = path;
                path.extend(inner);
                Int::Scaled(value, path)
            }
            value => Int::Scaled(Box::new(value), path),
        }
    }

    /// The static value, if there is one.
    pub fn as_static(&self) -> Option<i64> {
        match self {
            Int::Static(value) => Some(*value),
            _ => None,
        }
    }

    /// The run-time expression, if this is one.
    pub fn as_sym(&self) -> Option<&Sym> {
        match self {
            Int::Dyn(sym) => Some(sym),
            _ => None,
        }
    }

    /// True for a static value, or a basis with a static value.
    pub fn is_static(&self) -> bool {
        match self {
            Int::Static(_) => true,
            Int::Dyn(_) => false,
            Int::Scaled(value, _) => value.is_static(),
        }
    }

    /// True if the value is statically `value`.
    pub fn is(&self, value: i64) -> bool {
        matches!(self, Int::Static(found) if *found == value)
    }

    /// The value without its basis.
    pub fn value(&self) -> &Int {
        match self {
            Int::Scaled(value, _) => value,
            other => other,
        }
    }

    /// The basis path, empty for a plain integer.
    pub fn path(&self) -> &[usize] {
        match self {
            Int::Scaled(_, path) => path,
            _ => &[],
        }
    }

    /// Machine width: that of a run-time value; 64 for a static value beyond 32 bits.
    pub fn width(&self) -> Width {
        match self {
            Int::Static(value) if i32::try_from(*value).is_err() => Width::I64,
            Int::Static(_) => Width::I32,
            Int::Dyn(sym) => sym.width(),
            Int::Scaled(value, _) => value.width(),
        }
    }

    /// The largest number known to divide the value: 0 for a static zero, else positive.
    pub fn div(&self) -> i64 {
        match self {
            Int::Static(value) => value.saturating_abs(),
            Int::Dyn(sym) => sym.div(),
            Int::Scaled(value, _) => value.div(),
        }
    }

    /// Inclusive upper bound, if one is known.
    pub fn upper(&self) -> Option<i64> {
        match self {
            Int::Static(value) => Some(*value),
            Int::Dyn(sym) => sym.max(),
            Int::Scaled(value, _) => value.upper(),
        }
    }

    /// Inclusive lower bound; `i64::MIN` if none is known.
    pub fn lower(&self) -> i64 {
        match self {
            Int::Static(value) => *value,
            Int::Dyn(sym) => sym.min(),
            Int::Scaled(value, _) => value.lower(),
        }
    }

    /// Inclusive lower bound of an extent: a run-time extent that is not zero is at least what
    /// divides it.
    pub fn lower_extent(&self) -> i64 {
        match self {
            Int::Dyn(sym) if sym.min() >= 0 => sym.min().max(sym.div()),
            other => other.lower(),
        }
    }

    /// The bits that are provably zero.
    pub fn known_zero_bits(&self) -> u64 {
        match self {
            Int::Static(value) => !(*value as u64),
            Int::Dyn(sym) => sym.known_zero_bits(),
            Int::Scaled(value, _) => value.known_zero_bits(),
        }
    }

    /// True if `divisor` certainly divides the value.
    pub fn divisible_by(&self, divisor: i64) -> bool {
        divisor != 0 && self.div() % divisor == 0
    }

    /// The value when each variable has the value that `env` gives it. The basis is dropped.
    pub fn eval(&self, env: &dyn Fn(u32) -> i64) -> i64 {
        match self {
            Int::Static(value) => *value,
            Int::Dyn(sym) => sym.eval(env),
            Int::Scaled(value, _) => value.eval(env),
        }
    }

    /// Replaces variables by what `f` gives for them, and simplifies.
    pub fn substitute(&self, f: &dyn Fn(u32) -> Option<Int>) -> Int {
        match self {
            Int::Static(_) => self.clone(),
            Int::Dyn(sym) => sym.substitute(f),
            Int::Scaled(value, path) => Int::scaled(value.substitute(f), path.clone()),
        }
    }

    /// Calls `f` with the id of every variable; one may come more than once.
    pub fn visit_vars(&self, f: &mut dyn FnMut(u32)) {
        match self {
            Int::Static(_) => {}
            Int::Dyn(sym) => sym.visit_vars(f),
            Int::Scaled(value, _) => value.visit_vars(f),
        }
    }

    /// The expression spelled out, variables as `v0`, `v1`, …
    pub fn formula(&self) -> String {
        match self {
            Int::Static(value) => value.to_string(),
            Int::Dyn(sym) => sym.formula(),
            Int::Scaled(value, path) => {
                let mut text = value.formula();
                path.iter()
                    .rev()
                    .for_each(|mode| text.push_str(&format!("@{mode}")));
                text
            }
        }
    }

    /// Applies `f` to the value and keeps the basis.
    pub(crate) fn map_value(&self, f: impl FnOnce(&Int) -> Int) -> Int {
        match self {
            Int::Scaled(value, path) => Int::scaled(f(value), path.clone()),
            other => f(other),
        }
    }

    /// The same value; of a run-time one only the bounds are known.
    pub(crate) fn without_divisor(&self) -> Int {
        match self {
            Int::Dyn(sym) => Int::Dyn(Sym::from_parts(
                sym.expr().clone(),
                Facts {
                    div: 1,
                    ..sym.facts()
                },
            )),
            other => other.clone(),
        }
    }

    /// Absolute value. A run-time value is never negative unless its expression says so, and a
    /// sum that may be negative is returned unchanged.
    pub fn abs(&self) -> Int {
        match self {
            Int::Static(value) => Int::Static(value.saturating_abs()),
            Int::Dyn(_) => self.clone(),
            Int::Scaled(..) => self.map_value(Int::abs),
        }
    }

    /// -1, 0 or 1 for a static value; 1 for a run-time value, which is not negative.
    pub fn signum(&self) -> i64 {
        match self.value() {
            Int::Static(value) => value.signum(),
            _ => 1,
        }
    }

    /// The negated value.
    pub fn neg(&self) -> Int {
        self.mul(&Int::Static(-1))
    }

    /// `self - other`.
    pub fn sub(&self, other: &Int) -> Int {
        self.add(&other.neg())
    }

    fn facts(&self) -> Facts {
        match self {
            Int::Static(value) => Facts {
                width: self.width(),
                div: value.saturating_abs(),
                min: *value,
                max: Some(*value),
                zero: !(*value as u64),
            },
            Int::Dyn(sym) => sym.facts(),
            Int::Scaled(value, _) => value.facts(),
        }
    }
}

impl Facts {
    /// Makes bounds, divisor and zero bits agree with each other as far as is cheap.
    fn settle(mut self) -> Facts {
        self.div = self.div.max(1);
        if let Some(max) = self.max {
            let mut max = max;
            if self.min >= 0 && self.zero != 0 {
                max = max.min((!self.zero & (i64::MAX as u64)) as i64);
            }
            if max >= 0 {
                max -= max % self.div;
            }
            self.max = Some(max);
            if max > i64::from(i32::MAX) {
                self.width = Width::I64;
            }
        } else if self.min >= 0 && (!self.zero & (i64::MAX as u64)) < i64::MAX as u64 {
            let max = (!self.zero & (i64::MAX as u64)) as i64;
            // 32 bits bound a 32-bit value better; it is left unbounded, as a variable is.
            let tells = self.width == Width::I64 || max <= i64::from(i32::MAX);
            if max < i64::MAX / 2 && tells {
                self.max = Some(max - max % self.div);
            }
        }
        self.zero |= zero_bits(self.min, self.max, self.div);
        self
    }
}

/// A run-time node, or the constant that the facts pin it to.
fn node(expr: crate::sym::Expr, facts: Facts) -> Int {
    let facts = facts.settle();
    if facts.max == Some(facts.min) {
        return Int::Static(facts.min);
    }
    Int::Dyn(Sym::from_parts(expr, facts))
}

/// The largest number that divides both; 0 for two zeros, and 1 where it does not fit.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

/// What divides a product of whose factors these are divisors: the product of the two, or what is known to divide it of
/// numbers up to `most`.
pub fn divisor_of_product(a: i64, b: i64, most: i64) -> i64 {
    let product = i128::from(a) * i128::from(b);
    if (1..=i128::from(most)).contains(&product) {
        return a * b;
    }
    if product == 0 {
        return 1;
    }
    let power_of_two = 1 << product.trailing_zeros().min(most.max(1).ilog2());
    let factors = [a, b]
        .into_iter()
        .filter(|factor| (1..=most).contains(factor));
    factors.fold(power_of_two, i64::max)
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Int::Static(value)
    }
}

impl From<Sym> for Int {
    fn from(sym: Sym) -> Self {
        Int::Dyn(sym)
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Static(value) => value.fmt(f),
            Int::Dyn(sym) => sym.fmt(f),
            Int::Scaled(value, path) => {
                value.fmt(f)?;
                path.iter().rev().try_for_each(|mode| write!(f, "@{mode}"))
            }
        }
    }
}
