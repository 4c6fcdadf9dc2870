//! What promises say of the divisors of a kernel's run-time integers: that of `k % 64 == 0, kb == k / 2` 32 divides `kb`.

use super::signature::{Argument, Signature, common_multiple};
use cutec_abi::{AbiExpr, Promise, SymbolSource};
use cutec_dialects::signature::divisor;

impl Signature<'_> {
    /// Gives symbols the divisors that follow from equations. What follows from one may be what another one needs, so it goes on until nothing
    /// does; each round but the last passes a divisor on to a further symbol.
    pub(super) fn infer_divisors(&mut self, promises: &[Promise]) {
        let conditions: Vec<&AbiExpr> = promises.iter().map(|promise| &promise.expr).collect();
        for _ in 0..=self.symbols.len() {
            let before = self.divisors();
            for condition in &conditions {
                self.holds(condition);
            }
            if self.divisors() == before {
                break;
            }
        }
    }

    fn divisors(&self) -> Vec<i64> {
        let symbols = self.symbols.iter();
        symbols.map(|symbol| symbol.divisible_by).collect()
    }

    fn holds(&mut self, condition: &AbiExpr) {
        match condition {
            AbiExpr::And(a, b) => {
                self.holds(a);
                self.holds(b);
            }
            AbiExpr::Eq(a, b) => match (&**a, &**b) {
                (AbiExpr::Rem(value, by), AbiExpr::Const(0))
                | (AbiExpr::Const(0), AbiExpr::Rem(value, by)) => {
                    self.divides(divisor(&self.symbols, by), value);
                }
                (a, b) => {
                    self.divides(divisor(&self.symbols, b), a);
                    self.divides(divisor(&self.symbols, a), b);
                }
            },
            AbiExpr::Const(_)
            | AbiExpr::Symbol(_)
            | AbiExpr::Add(..)
            | AbiExpr::Sub(..)
            | AbiExpr::Mul(..)
            | AbiExpr::Div(..)
            | AbiExpr::CeilDiv(..)
            | AbiExpr::Rem(..)
            | AbiExpr::Min(..)
            | AbiExpr::Max(..)
            | AbiExpr::Ne(..)
            | AbiExpr::Lt(..)
            | AbiExpr::Le(..)
            | AbiExpr::Gt(..)
            | AbiExpr::Ge(..)
            | AbiExpr::Or(..) => {}
        }
    }

    /// A number divides an expression: a symbol, or one that is multiplied by a number.
    fn divides(&mut self, number: i64, expr: &AbiExpr) {
        match expr {
            AbiExpr::Symbol(index) => {
                let Some(symbol) = self.symbols.get_mut(*index) else {
                    return;
                };
                let Some(multiple) = common_multiple(symbol.divisible_by, number) else {
                    return;
                };
                symbol.divisible_by = multiple;
                if let SymbolSource::Scalar { arg } = symbol.from
                    && let Some(Argument::Scalar { div, .. }) = self.arguments.get_mut(arg)
                {
                    *div = multiple;
                }
            }
            AbiExpr::Mul(a, b) => {
                let (factor, rest) = match (&**a, &**b) {
                    (AbiExpr::Const(factor), rest) | (rest, AbiExpr::Const(factor)) => {
                        (*factor, rest)
                    }
                    _ => return,
                };
                if let Some(factor) = factor.checked_abs().filter(|factor| *factor > 0) {
                    self.divides(number / cutec_layout::gcd(number, factor).max(1), rest);
                }
            }
            AbiExpr::Const(_)
            | AbiExpr::Add(..)
            | AbiExpr::Sub(..)
            | AbiExpr::Div(..)
            | AbiExpr::CeilDiv(..)
            | AbiExpr::Rem(..)
            | AbiExpr::Min(..)
            | AbiExpr::Max(..)
            | AbiExpr::Eq(..)
            | AbiExpr::Ne(..)
            | AbiExpr::Lt(..)
            | AbiExpr::Le(..)
            | AbiExpr::Gt(..)
            | AbiExpr::Ge(..)
            | AbiExpr::And(..)
            | AbiExpr::Or(..) => {}
        }
    }
}
