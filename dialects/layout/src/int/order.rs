//! Minimum, maximum and exclusive or.

use super::{Int, gcd, node};
use crate::sym::{Expr, Facts};

impl Int {
    /// The smaller of two. Run-time extents are taken to be at least what divides them.
    pub fn min(&self, other: &Int) -> Int {
        if self == other || self.upper().is_some_and(|max| max <= other.lower_extent()) {
            return self.clone();
        }
        if other.upper().is_some_and(|max| max <= self.lower_extent()) {
            return other.clone();
        }
        let (a, b) = (self.facts(), other.facts());
        let max = match (a.max, b.max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        node(
            Expr::Min(self.clone(), other.clone()),
            facts(a, b, a.min.min(b.min), max),
        )
    }

    /// The larger of two.
    pub fn max(&self, other: &Int) -> Int {
        if self == other || other.upper().is_some_and(|max| max <= self.lower_extent()) {
            return self.clone();
        }
        if self.upper().is_some_and(|max| max <= other.lower_extent()) {
            return other.clone();
        }
        let (a, b) = (self.facts(), other.facts());
        let max = a.max.zip(b.max).map(|(a, b)| a.max(b));
        node(
            Expr::Max(self.clone(), other.clone()),
            facts(a, b, a.min.max(b.min), max),
        )
    }

    /// Bitwise exclusive or of two non-negative values; a sum where no bit can meet.
    pub fn xor(&self, other: &Int) -> Int {
        if let (Int::Static(a), Int::Static(b)) = (self, other) {
            return Int::Static(a ^ b);
        }
        if self == other {
            return Int::ZERO;
        }
        let (a, b) = (self.facts(), other.facts());
        if a.min >= 0 && b.min >= 0 && !a.zero & !b.zero == 0 {
            return self.add(other);
        }
        let zero = a.zero & b.zero;
        let max = (!zero & (i64::MAX as u64)) as i64;
        let low = zero.trailing_ones().min(62);
        let facts = Facts {
            width: a.width.max(b.width),
            div: 1 << low,
            min: if a.min >= 0 && b.min >= 0 {
                0
            } else {
                i64::MIN
            },
            max: (max < i64::MAX / 2).then_some(max),
            zero,
        };
        node(Expr::Xor(self.clone(), other.clone()), facts)
    }

    /// Bitwise and with a static mask.
    pub fn and_mask(&self, mask: u64) -> Int {
        if let Int::Static(value) = self {
            return Int::Static(value & mask as i64);
        }
        let mut sum = Int::ZERO;
        let mut rest = mask & !self.known_zero_bits();
        while rest != 0 {
            let low = rest.trailing_zeros();
            let count = (rest >> low).trailing_ones();
            let field = self
                .floor_div(&Int::Static(1 << low.min(62)))
                .modulo(&Int::Static(1 << count.min(62)));
            sum = sum.add(&field.mul(&Int::Static(1 << low.min(62))));
            rest &= !(((1u64 << count.min(63)) - 1) << low);
        }
        sum
    }
}

fn facts(a: Facts, b: Facts, min: i64, max: Option<i64>) -> Facts {
    Facts {
        width: a.width.max(b.width),
        div: gcd(a.div, b.div),
        min,
        max,
        zero: if min >= 0 { a.zero & b.zero } else { 0 },
    }
}
