//! Index notation over whole tensors: `c[i, j]`, `sum(l) { a[i, l] * b[j, l] }`.
//!
//! - [`lower`] turns expressions into a [`Program`]: names are resolved, ranges inferred, accesses
//!   checked;
//! - [`evaluate`] runs it over blocks of the innermost index, on all cores.
//!
//! A name that nothing defines is an index. What it runs over follows from the places where it stands
//! alone as an index of a tensor, as it is written; all of them must agree. A name bound by a reduction runs
//! over its range, which may depend on other indices, or is inferred likewise. All arithmetic is `f64`; integer
//! division truncates as in kernels.

pub mod evaluate;
pub mod lower;

use std::sync::Arc;

/// Lanes evaluated at once.
pub const LANES: usize = 1024;

/// Expressions over index variables, ready to be evaluated.
#[derive(Debug)]
pub struct Program {
    /// All variables; the first [`Program::free`] are the indices of the result.
    pub variables: Vec<Variable>,
    /// Number of free variables, outermost first.
    pub free: usize,
    /// Number of places for `let` in inlined functions.
    pub slots: usize,
    /// One for each expression that was lowered.
    pub roots: Vec<Node>,
}

/// An index variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// First value.
    pub start: i64,
    /// Number of values.
    pub extent: i64,
}

/// A tensor's elements.
#[derive(Debug)]
pub struct Elements {
    /// Its name, for messages.
    pub name: String,
    /// Extents.
    pub shape: Vec<i64>,
    /// Row-major strides.
    pub strides: Vec<i64>,
    /// Elements in row-major order.
    pub values: Arc<[f64]>,
}

/// A sum of multiples of variables and a constant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Affine {
    /// Variable and factor.
    pub terms: Vec<(usize, i64)>,
    /// The constant.
    pub constant: i64,
}

/// A function of numbers.
pub type NumberFunction = fn(&[f64]) -> f64;

/// An expression.
#[derive(Debug)]
pub enum Node {
    /// A number.
    Constant(f64),
    /// A variable's value.
    Variable(usize),
    /// A `let` of an inlined function.
    Slot(usize),
    /// Evaluates `value` once, then `body`.
    Let {
        /// Where the value goes.
        slot: usize,
        /// The value.
        value: Box<Node>,
        /// Where it is used.
        body: Box<Node>,
    },
    /// An element, at an offset that is affine in the variables and known to lie inside.
    Load {
        /// The tensor.
        tensor: Arc<Elements>,
        /// Offset in elements.
        offset: Affine,
    },
    /// An element at computed indices; NaN outside of the tensor.
    Gather {
        /// The tensor.
        tensor: Arc<Elements>,
        /// One a mode.
        indices: Vec<Node>,
    },
    /// An operation on two numbers.
    Binary {
        /// Which.
        operation: Operation,
        /// Left.
        lhs: Box<Node>,
        /// Right.
        rhs: Box<Node>,
    },
    /// A function of numbers.
    Call {
        /// Which.
        function: NumberFunction,
        /// Its arguments.
        arguments: Vec<Node>,
    },
    /// `if condition { then } else { otherwise }`, lane by lane.
    Select {
        /// Not 0 where it holds.
        condition: Box<Node>,
        /// Where it holds.
        then: Box<Node>,
        /// Where it does not.
        otherwise: Box<Node>,
    },
    /// A reduction.
    Reduce {
        /// How to combine.
        reduction: Reduction,
        /// The variables that it runs over, outermost first; at least one.
        variables: Vec<Reduced>,
        /// Variables of outside that the body depends on, as bits.
        depends_on: u64,
        /// What is combined.
        body: Box<Node>,
    },
}

/// A variable that a reduction runs over.
#[derive(Debug)]
pub struct Reduced {
    /// The variable.
    pub variable: usize,
    /// Its first value and the one past its last, where they depend on other variables; else they are those of the
    /// variable.
    pub computed: Option<(Node, Node)>,
}

/// Operations on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    /// Integer division, truncating.
    IntDiv,
    Rem,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// Ways to combine many numbers into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// 0 for nothing.
    Sum,
    /// 1 for nothing.
    Product,
    /// −∞ for nothing.
    Max,
    /// ∞ for nothing.
    Min,
}

impl Reduction {
    /// The reduction of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "sum" => Some(Self::Sum),
            "prod" | "product" => Some(Self::Product),
            "max" => Some(Self::Max),
            "min" => Some(Self::Min),
            _ => None,
        }
    }

    /// What combining nothing gives.
    pub fn neutral(self) -> f64 {
        match self {
            Self::Sum => 0.0,
            Self::Product => 1.0,
            Self::Max => f64::NEG_INFINITY,
            Self::Min => f64::INFINITY,
        }
    }

    /// Combines two numbers; NaN stays.
    pub fn combine(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            Self::Product => a * b,
            Self::Max => Operation::Max.apply(a, b),
            Self::Min => Operation::Min.apply(a, b),
        }
    }
}

impl Operation {
    /// The result; conditions are 1 and 0, NaN stays.
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        let condition = |holds: bool| f64::from(u8::from(holds));
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::IntDiv => (a / b).trunc(),
            Self::Rem => a % b,
            Self::Min if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Max if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Eq => condition(a == b),
            Self::Ne => condition(a != b),
            Self::Lt => condition(a < b),
            Self::Le => condition(a <= b),
            Self::Gt => condition(a > b),
            Self::Ge => condition(a >= b),
            Self::And => condition(a != 0.0 && b != 0.0),
            Self::Or => condition(a != 0.0 || b != 0.0),
            Self::BitAnd => (a as i64 & b as i64) as f64,
            Self::BitOr => (a as i64 | b as i64) as f64,
            Self::BitXor => (a as i64 ^ b as i64) as f64,
            Self::Shl => (a as i64).checked_shl(b as u32).unwrap_or(0) as f64,
            Self::Shr => (a as i64).checked_shr(b as u32).unwrap_or(0) as f64,
        }
    }
}

impl Affine {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Self {
            terms: Vec::new(),
            constant,
        }
    }

    /// One variable.
    pub fn variable(variable: usize) -> Self {
        Self {
            terms: vec![(variable, 1)],
            constant: 0,
        }
    }

    /// The only variable, where there is nothing else.
    pub fn as_variable(&self) -> Option<usize> {
        match (self.terms.as_slice(), self.constant) {
            (&[(variable, 1)], 0) => Some(variable),
            _ => None,
        }
    }

    /// `self + factor * other`; `None` where it does not fit.
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum
            .constant
            .checked_add(other.constant.checked_mul(factor)?)?;
        for &(variable, coefficient) in &other.terms {
            let scaled = coefficient.checked_mul(factor)?;
            match sum.terms.iter_mut().find(|(known, _)| *known == variable) {
                Some((_, total)) => *total = total.checked_add(scaled)?,
                None => sum.terms.push((variable, scaled)),
            }
        }
        sum.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(sum)
    }

    /// Its value.
    pub fn value(&self, variables: &[i64]) -> i64 {
        self.terms
            .iter()
            .map(|(variable, coefficient)| variables[*variable] * coefficient)
            .sum::<i64>()
            + self.constant
    }

    /// How it changes with one variable.
    pub fn slope(&self, variable: usize) -> i64 {
        self.terms
            .iter()
            .find(|(known, _)| *known == variable)
            .map_or(0, |(_, coefficient)| *coefficient)
    }

    /// Its smallest and largest value; `None` where a variable has no values or it does not fit.
    pub fn bounds(&self, variables: &[Variable]) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.constant, self.constant);
        for &(variable, coefficient) in &self.terms {
            let Variable { start, extent, .. } = &variables[variable];
            if *extent == 0 {
                return None;
            }
            let first = coefficient.checked_mul(*start)?;
            let last = coefficient.checked_mul(start + extent - 1)?;
            low = low.checked_add(first.min(last))?;
            high = high.checked_add(first.max(last))?;
        }
        Some((low, high))
    }
}
