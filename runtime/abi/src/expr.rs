//! Integer expressions over a kernel's run-time values: grids, strides, promises.
//!
//! Arithmetic is on `i64` and checked; division rounds as the compiler's does, `floor_div` towards
//! minus infinity and `mod` with the sign of the divisor. Comparisons give 0 or 1.
//!
//! JSON: `{"const": 8}`, `{"symbol": 0}`, `{"ceil_div": [{"symbol": 0}, {"const": 128}]}`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An integer expression; a symbol is an index into [`KernelAbi::symbols`](super::KernelAbi::symbols).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbiExpr {
    /// A constant.
    Const(i64),
    /// A run-time integer.
    Symbol(usize),
    /// Sum.
    Add(Box<AbiExpr>, Box<AbiExpr>),
    /// Difference.
    Sub(Box<AbiExpr>, Box<AbiExpr>),
    /// Product.
    Mul(Box<AbiExpr>, Box<AbiExpr>),
    /// Quotient, rounded down.
    FloorDiv(Box<AbiExpr>, Box<AbiExpr>),
    /// Quotient, rounded up.
    CeilDiv(Box<AbiExpr>, Box<AbiExpr>),
    /// What `floor_div` leaves.
    Mod(Box<AbiExpr>, Box<AbiExpr>),
    /// The smaller.
    Min(Box<AbiExpr>, Box<AbiExpr>),
    /// The larger.
    Max(Box<AbiExpr>, Box<AbiExpr>),
    /// Equal.
    Eq(Box<AbiExpr>, Box<AbiExpr>),
    /// Not equal.
    Ne(Box<AbiExpr>, Box<AbiExpr>),
    /// Less.
    Lt(Box<AbiExpr>, Box<AbiExpr>),
    /// Less or equal.
    Le(Box<AbiExpr>, Box<AbiExpr>),
    /// Greater.
    Gt(Box<AbiExpr>, Box<AbiExpr>),
    /// Greater or equal.
    Ge(Box<AbiExpr>, Box<AbiExpr>),
    /// Both hold; the second is evaluated only if the first holds.
    And(Box<AbiExpr>, Box<AbiExpr>),
    /// One holds; the second is evaluated only if the first does not hold.
    Or(Box<AbiExpr>, Box<AbiExpr>),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// Division or remainder by zero.
    #[error("division by zero in `{expr}`")]
    DivisionByZero {
        /// The division.
        expr: String,
    },
    /// The value does not fit 64 bits.
    #[error("`{expr}` does not fit a 64-bit integer")]
    Overflow {
        /// The operation that overflows.
        expr: String,
    },
    /// No such run-time integer.
    #[error("symbol {index} of {count}")]
    UnknownSymbol {
        /// Index that was asked for.
        index: usize,
        /// Number of symbols there are.
        count: usize,
    },
}

impl AbiExpr {
    /// Sum of two expressions.
    #[allow(clippy::should_implement_trait)]
    pub fn add(lhs: impl Into<AbiExpr>, rhs: impl Into<AbiExpr>) -> AbiExpr {
        AbiExpr::Add(Box::new(lhs.into()), Box::new(rhs.into()))
    }

    /// Product of two expressions.
    #[allow(clippy::should_implement_trait)]
    pub fn mul(lhs: impl Into<AbiExpr>, rhs: impl Into<AbiExpr>) -> AbiExpr {
        AbiExpr::Mul(Box::new(lhs.into()), Box::new(rhs.into()))
    }

    /// Quotient of two expressions, rounded up.
    pub fn ceil_div(lhs: impl Into<AbiExpr>, rhs: impl Into<AbiExpr>) -> AbiExpr {
        AbiExpr::CeilDiv(Box::new(lhs.into()), Box::new(rhs.into()))
    }

    /// Value with `symbols` for the run-time integers.
    pub fn eval(&self, symbols: &[i64]) -> Result<i64, ExprError> {
        self.eval_named(symbols, &[])
    }

    /// [`AbiExpr::eval`] with names for the run-time integers, which errors show.
    pub fn eval_named(&self, symbols: &[i64], names: &[&str]) -> Result<i64, ExprError> {
        let Some((lhs, rhs)) = self.operands() else {
            return match *self {
                AbiExpr::Symbol(index) => {
                    symbols.get(index).copied().ok_or(ExprError::UnknownSymbol {
                        index,
                        count: symbols.len(),
                    })
                }
                AbiExpr::Const(value) => Ok(value),
                _ => Ok(0),
            };
        };
        let left = lhs.eval_named(symbols, names)?;
        match self {
            AbiExpr::And(..) if left == 0 => return Ok(0),
            AbiExpr::Or(..) if left != 0 => return Ok(1),
            _ => {}
        }
        let right = rhs.eval_named(symbols, names)?;
        let divides = matches!(
            self,
            AbiExpr::FloorDiv(..) | AbiExpr::CeilDiv(..) | AbiExpr::Mod(..)
        );
        if divides && right == 0 {
            return Err(ExprError::DivisionByZero {
                expr: self.display(names).to_string(),
            });
        }
        let value = match self {
            AbiExpr::Add(..) => left.checked_add(right),
            AbiExpr::Sub(..) => left.checked_sub(right),
            AbiExpr::Mul(..) => left.checked_mul(right),
            AbiExpr::FloorDiv(..) => floor_div(left, right),
            AbiExpr::CeilDiv(..) => ceil_div(left, right),
            AbiExpr::Mod(..) => modulo(left, right),
            AbiExpr::Min(..) => Some(left.min(right)),
            AbiExpr::Max(..) => Some(left.max(right)),
            AbiExpr::Eq(..) => Some(i64::from(left == right)),
            AbiExpr::Ne(..) => Some(i64::from(left != right)),
            AbiExpr::Lt(..) => Some(i64::from(left < right)),
            AbiExpr::Le(..) => Some(i64::from(left <= right)),
            AbiExpr::Gt(..) => Some(i64::from(left > right)),
            AbiExpr::Ge(..) => Some(i64::from(left >= right)),
            AbiExpr::And(..) | AbiExpr::Or(..) => Some(i64::from(right != 0)),
            AbiExpr::Const(value) => Some(*value),
            AbiExpr::Symbol(_) => None,
        };
        value.ok_or_else(|| ExprError::Overflow {
            expr: self.display(names).to_string(),
        })
    }

    /// Calls `visit` with the index of every symbol that occurs, once an occurrence.
    pub fn for_each_symbol(&self, visit: &mut impl FnMut(usize)) {
        if let AbiExpr::Symbol(index) = self {
            visit(*index);
        }
        if let Some((lhs, rhs)) = self.operands() {
            lhs.for_each_symbol(visit);
            rhs.for_each_symbol(visit);
        }
    }

    /// The expression as text, with names for the run-time integers (`s0` where there is none).
    pub fn display<'a>(&'a self, names: &'a [&'a str]) -> impl fmt::Display + 'a {
        Shown { expr: self, names }
    }

    fn operands(&self) -> Option<(&AbiExpr, &AbiExpr)> {
        match self {
            AbiExpr::Const(_) | AbiExpr::Symbol(_) => None,
            AbiExpr::Add(lhs, rhs)
            | AbiExpr::Sub(lhs, rhs)
            | AbiExpr::Mul(lhs, rhs)
            | AbiExpr::FloorDiv(lhs, rhs)
            | AbiExpr::CeilDiv(lhs, rhs)
            | AbiExpr::Mod(lhs, rhs)
            | AbiExpr::Min(lhs, rhs)
            | AbiExpr::Max(lhs, rhs)
            | AbiExpr::Eq(lhs, rhs)
            | AbiExpr::Ne(lhs, rhs)
            | AbiExpr::Lt(lhs, rhs)
            | AbiExpr::Le(lhs, rhs)
            | AbiExpr::Gt(lhs, rhs)
            | AbiExpr::Ge(lhs, rhs)
            | AbiExpr::And(lhs, rhs)
            | AbiExpr::Or(lhs, rhs) => Some((lhs, rhs)),
        }
    }

    /// Operator or function name, and how tightly it binds (0 for a function).
    fn spelling(&self) -> (&'static str, u8) {
        match self {
            AbiExpr::Const(_) | AbiExpr::Symbol(_) => ("", 9),
            AbiExpr::Mul(..) => ("*", 5),
            AbiExpr::FloorDiv(..) => ("/", 5),
            AbiExpr::Mod(..) => ("%", 5),
            AbiExpr::Add(..) => ("+", 4),
            AbiExpr::Sub(..) => ("-", 4),
            AbiExpr::Eq(..) => ("==", 3),
            AbiExpr::Ne(..) => ("!=", 3),
            AbiExpr::Lt(..) => ("<", 3),
            AbiExpr::Le(..) => ("<=", 3),
            AbiExpr::Gt(..) => (">", 3),
            AbiExpr::Ge(..) => (">=", 3),
            AbiExpr::And(..) => ("&&", 2),
            AbiExpr::Or(..) => ("||", 1),
            AbiExpr::CeilDiv(..) => ("ceil_div", 0),
            AbiExpr::Min(..) => ("min", 0),
            AbiExpr::Max(..) => ("max", 0),
        }
    }
}

impl From<i64> for AbiExpr {
    fn from(value: i64) -> AbiExpr {
        AbiExpr::Const(value)
    }
}

impl fmt::Display for AbiExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&[]).fmt(f)
    }
}

struct Shown<'a> {
    expr: &'a AbiExpr,
    names: &'a [&'a str],
}

impl Shown<'_> {
    fn write(&self, expr: &AbiExpr, outer: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spelling, tightness) = expr.spelling();
        match (expr, expr.operands()) {
            (AbiExpr::Const(value), _) => write!(f, "{value}"),
            (AbiExpr::Symbol(index), _) => match self.names.get(*index) {
                Some(name) => f.write_str(name),
                None => write!(f, "s{index}"),
            },
            (_, Some((lhs, rhs))) if tightness == 0 => {
                write!(f, "{spelling}(")?;
                self.write(lhs, 0, f)?;
                f.write_str(", ")?;
                self.write(rhs, 0, f)?;
                f.write_str(")")
            }
            (_, Some((lhs, rhs))) => {
                let parenthesized = tightness < outer;
                if parenthesized {
                    f.write_str("(")?;
                }
                self.write(lhs, tightness, f)?;
                write!(f, " {spelling} ")?;
                self.write(rhs, tightness + 1, f)?;
                if parenthesized {
                    f.write_str(")")?;
                }
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(self.expr, 0, f)
    }
}

/// Quotient rounded down; the divisor is not 0.
fn floor_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.checked_rem(right)? != 0;
    Some(if inexact && (left < 0) != (right < 0) {
        quotient - 1
    } else {
        quotient
    })
}

/// Quotient rounded up; the divisor is not 0.
fn ceil_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.checked_rem(right)? != 0;
    Some(if inexact && (left < 0) == (right < 0) {
        quotient + 1
    } else {
        quotient
    })
}

/// Remainder with the sign of the divisor; the divisor is not 0.
fn modulo(left: i64, right: i64) -> Option<i64> {
    let rest = left.wrapping_rem(right);
    Some(if rest != 0 && (rest < 0) != (right < 0) {
        rest + right
    } else {
        rest
    })
}
