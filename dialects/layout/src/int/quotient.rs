//! Division and remainder by positive numbers. Bit fields come out as `(x / 2^a) % 2^b`.

use super::{Int, node};
use crate::sym::{Expr, Facts, Sym, ceil_div, floor_div};

impl Int {
    /// `self / other` rounded down. `other` is positive.
    pub fn floor_div(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Scaled(..), _) => self.map_value(|value| value.floor_div(other)),
            (Int::Static(a), Int::Static(b)) => Int::Static(floor_div(*a, *b)),
            (x, Int::Static(1)) => x.clone(),
            (Int::Static(0), _) => Int::ZERO,
            (Int::Dyn(_), Int::Static(c)) if *c > 0 => floor_div_const(self, *c),
            _ => exact_quotient(self, other)
                .or_else(|| below(self, other).then_some(Int::ZERO))
                .unwrap_or_else(|| dynamic(Expr::FloorDiv, self, other)),
        }
    }

    /// `self / other` rounded up. `other` is positive, and a run-time `self` is taken to be an
    /// extent, that is, not zero.
    pub fn ceil_div(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Scaled(..), _) => self.map_value(|value| value.ceil_div(other)),
            (Int::Static(a), Int::Static(b)) => Int::Static(ceil_div(*a, *b)),
            (x, Int::Static(1)) => x.clone(),
            (Int::Static(0), _) => Int::ZERO,
            (Int::Dyn(_), Int::Static(c)) if *c > 0 => ceil_div_const(self, *c),
            _ => exact_quotient(self, other)
                .or_else(|| at_most(self, other).then_some(Int::ONE))
                .unwrap_or_else(|| dynamic(Expr::CeilDiv, self, other)),
        }
    }

    /// The remainder of [`Int::floor_div`]. `other` is positive.
    pub fn modulo(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Scaled(..), _) => self.map_value(|value| value.modulo(other)),
            (Int::Static(a), Int::Static(b)) => Int::Static(if *b == 0 {
                *a
            } else {
                a.checked_rem_euclid(*b).unwrap_or(0)
            }),
            (_, Int::Static(1)) => Int::ZERO,
            (Int::Static(0), _) => Int::ZERO,
            (Int::Dyn(_), Int::Static(c)) if *c > 0 => modulo_const(self, *c),
            _ if exact_quotient(self, other).is_some() => Int::ZERO,
            _ if below(self, other) => self.clone(),
            _ => dynamic(Expr::Mod, self, other),
        }
    }
}

impl Int {
    /// [`Int::floor_div`] that stays a run-time value if an operand is one, even where the result is
    /// known.
    pub(crate) fn floor_div_run_time(&self, other: &Int) -> Int {
        if other.lower() == 1 && other.upper() == Some(1) {
            return self.clone();
        }
        self.run_time(other, self.floor_div(other), Expr::FloorDiv)
    }

    /// [`Int::ceil_div`] that stays a run-time value if an operand is one, even where the result is
    /// known.
    pub(crate) fn ceil_div_run_time(&self, other: &Int) -> Int {
        self.run_time(other, self.ceil_div(other), Expr::CeilDiv)
    }

    fn run_time(&self, other: &Int, result: Int, make: fn(Int, Int) -> Expr) -> Int {
        match result {
            Int::Static(value) if !(self.is_static() && other.is_static()) => {
                let facts = Facts {
                    width: self.width().max(other.width()),
                    div: value.saturating_abs().max(1),
                    ..Int::Static(value).facts()
                };
                Int::Dyn(Sym::from_parts(make(self.clone(), other.clone()), facts))
            }
            result => result,
        }
    }
}

/// `0 <= a < b` for every value.
fn below(a: &Int, b: &Int) -> bool {
    a.lower() >= 0 && a.upper().is_some_and(|a| a < b.lower_extent())
}

/// `1 <= a <= b` for every value; a run-time extent is not zero, nor is a multiple of one.
fn at_most(a: &Int, b: &Int) -> bool {
    let bounded = a.upper().is_some_and(|a| a <= b.lower_extent());
    a.lower_extent() >= 1 && (bounded || exact_quotient(b, a).is_some())
}

/// The quotient where the divisor is syntactically a factor.
fn exact_quotient(a: &Int, b: &Int) -> Option<Int> {
    if a == b {
        return Some(Int::ONE);
    }
    let (b, factor) = match b.as_sym().map(|sym| sym.expr()) {
        Some(Expr::Mul(b, Int::Static(factor))) => (b, *factor),
        _ => (b, 1),
    };
    let quotient = match a.as_sym()?.expr() {
        Expr::Mul(x, y) if y.is_static() => exact_quotient(x, b)?.mul(y),
        Expr::Mul(x, y) if x == b => y.clone(),
        Expr::Mul(x, y) if y == b => x.clone(),
        Expr::Mul(x, y) => match exact_quotient(x, b) {
            Some(x) => x.mul(y),
            None => x.mul(&exact_quotient(y, b)?),
        },
        Expr::Add(terms) => {
            let terms: Option<Vec<_>> = terms.iter().map(|term| exact_quotient(term, b)).collect();
            Int::sum(terms?)
        }
        _ if a == b => Int::ONE,
        _ => return None,
    };
    match factor {
        1 => Some(quotient),
        factor if quotient.divisible_by(factor) => Some(quotient.floor_div(&Int::Static(factor))),
        _ => None,
    }
}

fn floor_div_const(int: &Int, c: i64) -> Int {
    if int.lower() >= 0 && int.upper().is_some_and(|max| max < c) {
        return Int::ZERO;
    }
    let by = Int::Static(c);
    let Some(sym) = int.as_sym() else {
        return int.floor_div(&by);
    };
    match sym.expr() {
        Expr::Mul(x, Int::Static(k)) if k % c == 0 => return x.mul(&Int::Static(k / c)),
        Expr::Mul(x, Int::Static(k)) if *k > 0 && c % k == 0 => {
            return x.floor_div(&Int::Static(c / k));
        }
        Expr::FloorDiv(x, Int::Static(k)) if *k > 0 => {
            if let Some(c) = k.checked_mul(c) {
                return x.floor_div(&Int::Static(c));
            }
        }
        Expr::CeilDiv(x, Int::Static(k)) if *k > 0 && int.divisible_by(c) => {
            if let Some(c) = k.checked_mul(c) {
                return x.ceil_div(&Int::Static(c));
            }
        }
        Expr::Mod(x, Int::Static(m)) if *m > 0 && m % c == 0 => {
            return x.floor_div(&by).modulo(&Int::Static(m / c));
        }
        Expr::Add(terms) => {
            let (whole, rest) = split_multiples(terms, c);
            if !whole.is_empty() {
                let rest = Int::sum(rest);
                let quotient = rest.floor_div(&by);
                return Int::sum(
                    whole
                        .iter()
                        .map(|term| term.floor_div(&by))
                        .chain([quotient]),
                );
            }
        }
        _ => {}
    }
    div_node(Expr::FloorDiv, int, c, floor_div)
}

fn ceil_div_const(int: &Int, c: i64) -> Int {
    if int.lower_extent() >= 1 && int.upper().is_some_and(|max| max <= c) {
        return Int::ONE;
    }
    if int.divisible_by(c) {
        return int.floor_div(&Int::Static(c));
    }
    let by = Int::Static(c);
    let Some(sym) = int.as_sym() else {
        return int.ceil_div(&by);
    };
    match sym.expr() {
        Expr::Mul(x, Int::Static(k)) if *k > 0 && c % k == 0 => {
            return x.ceil_div(&Int::Static(c / k));
        }
        Expr::CeilDiv(x, Int::Static(k)) if *k > 0 => {
            if let Some(c) = k.checked_mul(c) {
                return x.ceil_div(&Int::Static(c));
            }
        }
        Expr::Add(terms) => {
            let (whole, rest) = split_multiples(terms, c);
            if !whole.is_empty() && !rest.is_empty() {
                let rest = Int::sum(rest);
                let quotient = match rest.as_static() {
                    Some(rest) => Int::Static(ceil_div(rest, c)),
                    None => rest.ceil_div(&by),
                };
                return Int::sum(
                    whole
                        .iter()
                        .map(|term| term.floor_div(&by))
                        .chain([quotient]),
                );
            }
        }
        _ => {}
    }
    div_node(Expr::CeilDiv, int, c, ceil_div)
}

fn modulo_const(int: &Int, c: i64) -> Int {
    if int.divisible_by(c) {
        return Int::ZERO;
    }
    if int.lower() >= 0 && int.upper().is_some_and(|max| max < c) {
        return int.clone();
    }
    let by = Int::Static(c);
    let Some(sym) = int.as_sym() else {
        return int.modulo(&by);
    };
    match sym.expr() {
        Expr::Mul(x, Int::Static(k)) if *k > 0 && c % k == 0 => {
            return x.modulo(&Int::Static(c / k)).mul(&Int::Static(*k));
        }
        Expr::Mod(x, Int::Static(m)) if *m > 0 && m % c == 0 => return x.modulo(&by),
        Expr::Add(terms) => {
            let (whole, rest) = split_multiples(terms, c);
            if !whole.is_empty() {
                return Int::sum(rest).modulo(&by);
            }
        }
        _ => {}
    }
    let facts = int.facts();
    let power_of_two = c.count_ones() == 1;
    node(
        Expr::Mod(int.clone(), by),
        Facts {
            width: facts.width,
            div: super::gcd(facts.div, c),
            min: 0,
            max: Some(c - 1),
            zero: if power_of_two {
                facts.zero | !(c as u64 - 1)
            } else {
                0
            },
        },
    )
}

/// Splits the terms of a sum into those that `c` divides and the others.
fn split_multiples(terms: &[Int], c: i64) -> (Vec<Int>, Vec<Int>) {
    let (mut whole, mut rest): (Vec<Int>, Vec<Int>) = (Vec::new(), Vec::new());
    for term in terms {
        match term {
            // A constant gives its whole part, so that the rest lies in 0..c.
            Int::Static(value) => {
                let low = value.rem_euclid(c);
                if *value != low {
                    whole.push(Int::Static(value.saturating_sub(low)));
                }
                if low != 0 {
                    rest.push(Int::Static(low));
                }
            }
            term if term.divisible_by(c) => whole.push(term.clone()),
            term => rest.push(term.clone()),
        }
    }
    (whole, rest)
}

fn div_node(make: fn(Int, Int) -> Expr, int: &Int, c: i64, apply: fn(i64, i64) -> i64) -> Int {
    let facts = int.facts();
    let exact = facts.div % c == 0;
    let zero = if facts.min >= 0 && c.count_ones() == 1 && (exact || apply(1, c) == 0) {
        let shift = c.trailing_zeros();
        (facts.zero >> shift) | !(u64::MAX >> shift)
    } else {
        0
    };
    node(
        make(int.clone(), Int::Static(c)),
        Facts {
            width: facts.width,
            div: if exact { facts.div / c } else { 1 },
            min: if facts.min == i64::MIN {
                i64::MIN
            } else {
                apply(facts.min, c)
            },
            max: facts.max.map(|max| apply(max, c)),
            zero,
        },
    )
}

fn dynamic(make: fn(Int, Int) -> Expr, a: &Int, b: &Int) -> Int {
    let (x, y) = (a.facts(), b.facts());
    let expr = make(a.clone(), b.clone());
    let non_negative = x.min >= 0;
    let max = match &expr {
        Expr::Mod(..) => match (x.max.filter(|_| non_negative), y.max.map(|max| max - 1)) {
            (Some(x), Some(y)) => Some(x.min(y)),
            (x, y) => x.or(y),
        },
        _ if non_negative => x.max,
        _ => None,
    };
    let div = match &expr {
        Expr::Mod(..) => super::gcd(x.div, y.div),
        _ => 1,
    };
    let min = match &expr {
        _ if non_negative => 0,
        Expr::Mod(..) => 0,
        _ => i64::MIN,
    };
    node(
        expr,
        Facts {
            width: x.width.max(y.width),
            div,
            min,
            max,
            zero: 0,
        },
    )
}
