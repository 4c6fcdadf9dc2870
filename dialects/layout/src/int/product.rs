//! Multiplication. A constant factor is distributed over sums and merged into products.

use super::{Int, node};
use crate::sym::{Expr, Facts};

impl Int {
    /// `self * other`. At most one of the two may be scaled.
    pub fn mul(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Static(a), Int::Static(b)) => Int::Static(a.saturating_mul(*b)),
            (Int::Static(0), _) | (_, Int::Static(0)) => Int::ZERO,
            (Int::Static(1), x) | (x, Int::Static(1)) => x.clone(),
            (Int::Scaled(value, path), x) | (x, Int::Scaled(value, path)) => {
                Int::scaled(value.mul(x.value()), path.clone())
            }
            (Int::Dyn(sym), Int::Static(c)) | (Int::Static(c), Int::Dyn(sym)) => {
                scale(&Int::Dyn(sym.clone()), *c)
            }
            (Int::Dyn(_), Int::Dyn(_)) => product(self, other),
        }
    }
}

fn scale(int: &Int, factor: i64) -> Int {
    let Some(sym) = int.as_sym() else {
        return int.mul(&Int::Static(factor));
    };
    match sym.expr() {
        Expr::Add(terms) => Int::sum(terms.iter().map(|term| term.mul(&Int::Static(factor)))),
        Expr::Mul(a, Int::Static(b)) => match b.checked_mul(factor) {
            Some(factor) => a.mul(&Int::Static(factor)),
            None => mul_node(int, &Int::Static(factor)),
        },
        // An exact quotient times its divisor.
        Expr::FloorDiv(a, Int::Static(b)) | Expr::CeilDiv(a, Int::Static(b))
            if *b > 0 && factor % b == 0 && a.divisible_by(*b) =>
        {
            a.mul(&Int::Static(factor / b))
        }
        _ => mul_node(int, &Int::Static(factor)),
    }
}

fn product(a: &Int, b: &Int) -> Int {
    // Constants move out of products, so that they are found by divisions.
    if let Some((inner, factor)) = constant_factor(a) {
        return scale(&inner.mul(b), factor);
    }
    if let Some((inner, factor)) = constant_factor(b) {
        return scale(&a.mul(&inner), factor);
    }
    let key = |int: &Int| int.as_sym().map_or(0, |sym| sym.hash_value());
    if key(a) <= key(b) {
        mul_node(a, b)
    } else {
        mul_node(b, a)
    }
}

fn constant_factor(int: &Int) -> Option<(Int, i64)> {
    match int.as_sym()?.expr() {
        Expr::Mul(inner, Int::Static(factor)) => Some((inner.clone(), *factor)),
        _ => None,
    }
}

fn mul_node(a: &Int, b: &Int) -> Int {
    let (x, y) = (a.facts(), b.facts());
    let non_negative = x.min >= 0 && y.min >= 0;
    let bounds = |x: i64, y: i64| x.checked_mul(y);
    let (min, max) = if non_negative {
        (
            x.min.saturating_mul(y.min),
            x.max.zip(y.max).and_then(|(x, y)| bounds(x, y)),
        )
    } else if let Int::Static(c) = b
        && *c < 0
    {
        (
            x.max.and_then(|x| bounds(x, *c)).unwrap_or(i64::MIN),
            (x.min != i64::MIN).then(|| x.min.saturating_mul(*c)),
        )
    } else {
        (i64::MIN, None)
    };
    // A divisor beyond the numbers of a text is not kept; those of the factors divide the product too.
    let exact = x.div.checked_mul(y.div).filter(|div| *div < Int::LIMIT);
    let div = exact.unwrap_or(x.div.max(y.div));
    let zero = match b {
        Int::Static(c) if exact.is_some() && non_negative && *c > 0 && c.count_ones() == 1 => {
            let shift = c.trailing_zeros();
            (x.zero << shift) | ((1u64 << shift) - 1)
        }
        _ => 0,
    };
    let facts = Facts {
        width: x.width.max(y.width),
        div,
        min,
        max,
        zero,
    };
    node(Expr::Mul(a.clone(), b.clone()), facts)
}
