//! Integer expressions over a kernel's run-time values: grids, strides, promises.
//!
//! What an operation gives is what the compiler makes of known numbers ([`crate::arithmetic`]): `i64`, checked;
//! `div` rounds towards zero, and `rem` has the sign of the dividend. Comparisons give 0 or 1.
//!
//! JSON: `{"const": 8}`, `{"symbol": 0}`, `{"ceil_div": [{"symbol": 0}, {"const": 128}]}`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::arithmetic::{ArithmeticError, Operation};

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
    /// Quotient, rounded towards zero.
    Div(Box<AbiExpr>, Box<AbiExpr>),
    /// Quotient, rounded up.
    CeilDiv(Box<AbiExpr>, Box<AbiExpr>),
    /// What `div` leaves.
    Rem(Box<AbiExpr>, Box<AbiExpr>),
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

/// How an operation of two expressions is made.
pub type Make = fn(Box<AbiExpr>, Box<AbiExpr>) -> AbiExpr;

/// How deep an expression may nest: what reads JSON recurses, and stops at twice this.
pub const MAX_DEPTH: usize = 56;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// What IR writes `name(a, b)`: comparisons among them, because angle brackets balance there.
    pub(crate) const FUNCTIONS: [(&str, Make); 7] = [
        ("ceil_div", AbiExpr::CeilDiv),
        ("min", AbiExpr::Min),
        ("max", AbiExpr::Max),
        ("lt", AbiExpr::Lt),
        ("le", AbiExpr::Le),
        ("gt", AbiExpr::Gt),
        ("ge", AbiExpr::Ge),
    ];

    /// What IR writes `a op b`, loosest first; those of one line bind alike, from the left.
    pub(crate) const OPERATORS: [&[(&str, Make)]; 5] = [
        &[("||", AbiExpr::Or)],
        &[("&&", AbiExpr::And)],
        &[("==", AbiExpr::Eq), ("!=", AbiExpr::Ne)],
        &[("+", AbiExpr::Add), ("-", AbiExpr::Sub)],
        &[
            ("*", AbiExpr::Mul),
            ("/", AbiExpr::Div),
            ("%", AbiExpr::Rem),
        ],
    ];

    /// All operations of two expressions.
    pub fn operations() -> impl Iterator<Item = Make> {
        let operators = Self::OPERATORS.iter().copied().flatten();
        let all = Self::FUNCTIONS.iter().chain(operators);
        all.map(|(_, make)| *make)
    }

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
        let value = match self {
            AbiExpr::Add(..) => Operation::Add.integers(left, right),
            AbiExpr::Sub(..) => Operation::Sub.integers(left, right),
            AbiExpr::Mul(..) => Operation::Mul.integers(left, right),
            AbiExpr::Div(..) => Operation::Div.integers(left, right),
            AbiExpr::CeilDiv(..) => Operation::CeilDiv.integers(left, right),
            AbiExpr::Rem(..) => Operation::Rem.integers(left, right),
            AbiExpr::Min(..) => Operation::Min.integers(left, right),
            AbiExpr::Max(..) => Operation::Max.integers(left, right),
            AbiExpr::Eq(..) => Ok(i64::from(left == right)),
            AbiExpr::Ne(..) => Ok(i64::from(left != right)),
            AbiExpr::Lt(..) => Ok(i64::from(left < right)),
            AbiExpr::Le(..) => Ok(i64::from(left <= right)),
            AbiExpr::Gt(..) => Ok(i64::from(left > right)),
            AbiExpr::Ge(..) => Ok(i64::from(left >= right)),
            AbiExpr::And(..) | AbiExpr::Or(..) => Ok(i64::from(right != 0)),
            // They have no operands.
            AbiExpr::Const(value) => Ok(*value),
            AbiExpr::Symbol(_) => Ok(0),
        };
        let expr = || self.display(names).to_string();
        value.map_err(|error| match error {
            ArithmeticError::DivisionByZero => ExprError::DivisionByZero { expr: expr() },
            ArithmeticError::Overflow | ArithmeticError::Shift(_) => {
                ExprError::Overflow { expr: expr() }
            }
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
        Shown {
            expr: self,
            names,
            in_ir: false,
        }
    }

    /// [`AbiExpr::display`] in the notation of [`text`](mod@crate::text).
    pub(crate) fn display_in_ir<'a>(&'a self, names: &'a [String]) -> impl fmt::Display + 'a {
        Shown {
            expr: self,
            names,
            in_ir: true,
        }
    }

    /// How deep operations nest; 0 for a constant or a symbol. Descends no further than
    /// [`MAX_DEPTH`] and one.
    pub fn depth(&self) -> usize {
        self.depth_up_to(MAX_DEPTH + 1)
    }

    fn depth_up_to(&self, most: usize) -> usize {
        match self.operands() {
            Some((lhs, rhs)) if most > 0 => {
                1 + lhs.depth_up_to(most - 1).max(rhs.depth_up_to(most - 1))
            }
            _ => 0,
        }
    }

    /// The two expressions of an operation; `None` of a constant or a symbol.
    pub fn operands(&self) -> Option<(&AbiExpr, &AbiExpr)> {
        match self {
            AbiExpr::Const(_) | AbiExpr::Symbol(_) => None,
            AbiExpr::Add(lhs, rhs)
            | AbiExpr::Sub(lhs, rhs)
            | AbiExpr::Mul(lhs, rhs)
            | AbiExpr::Div(lhs, rhs)
            | AbiExpr::CeilDiv(lhs, rhs)
            | AbiExpr::Rem(lhs, rhs)
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
    fn spelling(&self, in_ir: bool) -> (&'static str, u8) {
        match self {
            AbiExpr::Const(_) | AbiExpr::Symbol(_) => ("", 9),
            AbiExpr::Mul(..) => ("*", 5),
            AbiExpr::Div(..) => ("/", 5),
            AbiExpr::Rem(..) => ("%", 5),
            AbiExpr::Add(..) => ("+", 4),
            AbiExpr::Sub(..) => ("-", 4),
            AbiExpr::Eq(..) => ("==", 3),
            AbiExpr::Ne(..) => ("!=", 3),
            AbiExpr::Lt(..) if in_ir => ("lt", 0),
            AbiExpr::Lt(..) => ("<", 3),
            AbiExpr::Le(..) if in_ir => ("le", 0),
            AbiExpr::Le(..) => ("<=", 3),
            AbiExpr::Gt(..) if in_ir => ("gt", 0),
            AbiExpr::Gt(..) => (">", 3),
            AbiExpr::Ge(..) if in_ir => ("ge", 0),
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

struct Shown<'a, Name> {
    expr: &'a AbiExpr,
    names: &'a [Name],
    /// With comparisons as functions.
    in_ir: bool,
}

impl<Name: AsRef<str>> Shown<'_, Name> {
    fn write(&self, expr: &AbiExpr, outer: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spelling, tightness) = expr.spelling(self.in_ir);
        match (expr, expr.operands()) {
            (AbiExpr::Const(value), _) => write!(f, "{value}"),
            (AbiExpr::Symbol(index), _) => match self.names.get(*index) {
                Some(name) => f.write_str(name.as_ref()),
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

impl<Name: AsRef<str>> fmt::Display for Shown<'_, Name> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(self.expr, 0, f)
    }
}
