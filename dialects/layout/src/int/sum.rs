//! Addition. A sum is kept as linear terms: no term twice, no zero, the constant last.

use super::{Int, gcd, node};
use crate::sym::{Expr, Facts, Width};

impl Int {
    /// `self + other`. Of two scaled integers both must have the same basis, or the sum counts as
    /// an overflow; sums over several directions are tuples ([`crate::algebra::tuple_add`]).
    pub fn add(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Static(a), Int::Static(b)) => Int::Static(a.saturating_add(*b)),
            (Int::Static(0), x) | (x, Int::Static(0)) => x.clone(),
            (Int::Scaled(a, path), Int::Scaled(b, other)) if path == other => {
                Int::scaled(a.add(b), path.clone())
            }
            (Int::Scaled(..), _) | (_, Int::Scaled(..)) => {
                // No integer; `Layout::check` refuses what has this value in it.
                Int::Static(i64::MAX)
            }
            _ => Int::sum([self.clone(), other.clone()]),
        }
    }

    /// The sum of several plain integers.
    pub fn sum(terms: impl IntoIterator<Item = Int>) -> Int {
        let mut sum = Linear::default();
        terms.into_iter().for_each(|term| sum.push(&term, 1));
        sum.finish()
    }

    /// `x` of a run-time `x + 1`.
    pub(crate) fn before_increment(&self) -> Option<Int> {
        match self.as_sym()?.expr() {
            Expr::Add(terms) if terms.last()?.is(1) => Some(self.sub(&Int::ONE)),
            _ => None,
        }
    }

    /// `self` as a sum of a multiple of `unit` and a rest; `unit` is positive.
    pub fn split_multiples(&self, unit: i64) -> (Int, Int) {
        let parts = match self {
            Int::Dyn(sym) => match sym.expr() {
                Expr::Add(terms) => terms.clone(),
                _ => vec![self.clone()],
            },
            _ => vec![self.clone()],
        };
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Int::Static(value) => {
                    let low = value.rem_euclid(unit.max(1));
                    whole.push(Int::Static(value.saturating_sub(low)));
                    rest.push(Int::Static(low));
                }
                part if part.divisible_by(unit) => whole.push(part),
                part => rest.push(part),
            }
        }
        (Int::sum(whole), Int::sum(rest))
    }
}

/// A sum under construction: coefficients of distinct run-time terms, and a constant.
#[derive(Default)]
struct Linear {
    terms: Vec<(Int, i64)>,
    constant: i64,
}

impl Linear {
    fn push(&mut self, int: &Int, scale: i64) {
        match int {
            Int::Static(value) => {
                self.constant = self.constant.saturating_add(value.saturating_mul(scale));
            }
            Int::Scaled(value, _) => self.push(value, scale),
            Int::Dyn(sym) => match sym.expr() {
                Expr::Add(terms) => terms.iter().for_each(|term| self.push(term, scale)),
                Expr::Mul(term, Int::Static(factor)) => {
                    self.push_term(term, scale.saturating_mul(*factor));
                }
                _ => self.push_term(int, scale),
            },
        }
    }

    fn push_term(&mut self, term: &Int, scale: i64) {
        match self.terms.iter_mut().find(|(found, _)| found == term) {
            Some((_, found)) => *found = found.saturating_add(scale),
            None => self.terms.push((term.clone(), scale)),
        }
    }

    fn finish(mut self) -> Int {
        self.terms.retain(|(_, scale)| *scale != 0);
        while let Some((low, high, term, scale)) = self.find_split() {
            self.terms.remove(low.max(high));
            self.terms.remove(low.min(high));
            self.push(&term, scale);
            self.terms.retain(|(_, scale)| *scale != 0);
        }
        let mut terms: Vec<Int> = self
            .terms
            .iter()
            .map(|(term, scale)| term.mul(&Int::Static(*scale)))
            .collect();
        if terms.is_empty() {
            return Int::Static(self.constant);
        }
        if self.constant != 0 {
            terms.push(Int::Static(self.constant));
        }
        if terms.len() == 1 {
            return terms.remove(0);
        }
        let facts = sum_facts(&terms);
        node(Expr::Add(terms), facts)
    }

    /// Finds two terms that are the low and the high part of one value: `x % c` and `x / c * c`,
    /// or `x % c` and `(x / c) % d * c`, scaled alike. Returns their places, the value and scale.
    fn find_split(&self) -> Option<(usize, usize, Int, i64)> {
        for (low, (low_term, scale)) in self.terms.iter().enumerate() {
            let Some(Expr::Mod(value, Int::Static(size))) = low_term.as_sym().map(|sym| sym.expr())
            else {
                continue;
            };
            let Some(want) = scale.checked_mul(*size).filter(|_| *size > 0) else {
                continue;
            };
            let quotient = value.floor_div(&Int::Static(*size));
            for (high, (high_term, found)) in self.terms.iter().enumerate() {
                if high == low || *found != want {
                    continue;
                }
                if *high_term == quotient {
                    return Some((low, high, value.clone(), *scale));
                }
                if let Some(Expr::Mod(inner, Int::Static(more))) =
                    high_term.as_sym().map(|sym| sym.expr())
                    && *inner == quotient
                    && let Some(size) = size.checked_mul(*more)
                {
                    let whole = value.modulo(&Int::Static(size));
                    return Some((low, high, whole, *scale));
                }
            }
        }
        None
    }
}

fn sum_facts(terms: &[Int]) -> Facts {
    let mut facts = Facts {
        width: Width::I32,
        div: 0,
        min: 0,
        max: Some(0),
        zero: u64::MAX,
    };
    let mut disjoint = true;
    let mut ones = 0u64;
    for term in terms {
        let term = term.facts();
        facts.width = facts.width.max(term.width);
        facts.div = gcd(facts.div, term.div);
        facts.min = if facts.min == i64::MIN || term.min == i64::MIN {
            i64::MIN
        } else {
            facts.min.saturating_add(term.min)
        };
        facts.max = match (facts.max, term.max) {
            (Some(a), Some(b)) => a.checked_add(b),
            _ => None,
        };
        disjoint &= term.min >= 0 && ones & !term.zero == 0;
        ones |= !term.zero;
        facts.zero &= term.zero;
    }
    if !disjoint {
        facts.zero = 0;
    }
    facts
}
