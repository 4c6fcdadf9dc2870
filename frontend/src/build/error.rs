//! What can be wrong with a call.

use super::value::{Kind, Literal};
use crate::eval::elem_name;
use cutec_dialects::atoms::AtomError;
use cutec_dialects::elem::Elem;
use std::fmt;
use std::panic::Location;

/// A call that makes no kernel.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct BuildError {
    /// What is wrong.
    pub problem: Problem,
    /// The call, in the host program.
    pub at: &'static Location<'static>,
}

/// What is wrong with a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A name that the language cannot have, or gives a meaning.
    #[error(
        "`{name}` cannot be a name: expected ASCII letters, digits and `_`, and no word of the language"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two parameters of one name.
    #[error("`{name}` is the name of two parameters")]
    Taken {
        /// The name.
        name: String,
    },
    /// A name that no shape, stride or parameter of the kernel has.
    #[error("this kernel has no `{name}`; it has {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// An operand of another kind.
    #[error("`{operation}` expects {expected}, found {found}")]
    Expected {
        /// The call.
        operation: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it got.
        found: Kind,
    },
    /// Operands of different element types.
    #[error("`{operation}` expects {}, found {}: nothing is converted silently", elem_name(*expected), elem_name(*found))]
    Types {
        /// The call.
        operation: &'static str,
        /// The type of the other operand, or the one that the result has.
        expected: Elem,
        /// The type of the operand.
        found: Elem,
    },
    /// An operation that an element type does not have.
    #[error("`{operation}` is not defined for {}", elem_name(*elem))]
    Undefined {
        /// The call.
        operation: &'static str,
        /// The type.
        elem: Elem,
    },
    /// A division by zero, or a shift by more bits than there are.
    #[error("`{operation}` of {} by {by} has no result", elem_name(*elem))]
    NoResult {
        /// The call.
        operation: &'static str,
        /// The type.
        elem: Elem,
        /// The right operand.
        by: i64,
    },
    /// A literal of another type, or too large for it.
    #[error("`{operation}` expects a number of {}, found {found}", elem_name(*expected))]
    Literal {
        /// The call.
        operation: &'static str,
        /// The type.
        expected: Elem,
        /// The literal.
        found: Literal,
    },
    /// Shapes that do not fit.
    #[error(
        "`{operation}` expects {rule}: {} and {} meet",
        Shape(expected),
        Shape(found)
    )]
    Shapes {
        /// The call.
        operation: &'static str,
        /// What holds for shapes that fit.
        rule: &'static str,
        /// The shape of the result, or of the operand before.
        expected: Vec<i64>,
        /// The shape of the operand.
        found: Vec<i64>,
    },
    /// A wrong number of extents, coordinates or axes.
    #[error("`{operation}` expects {expected} {of}, found {found}")]
    Rank {
        /// The call.
        operation: &'static str,
        /// Of what.
        of: &'static str,
        /// How many there are to be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A number out of range.
    #[error("`{operation}`: {what} is {found}; expected {least} to {most}")]
    Range {
        /// The call.
        operation: &'static str,
        /// Which number.
        what: &'static str,
        /// The smallest one.
        least: i64,
        /// The largest one.
        most: i64,
        /// The number.
        found: i64,
    },
    /// A tile of no elements, or of too many.
    #[error(
        "`{operation}`: a tile of shape {} has not 1 to {most} elements",
        Shape(shape)
    )]
    Elements {
        /// The call.
        operation: &'static str,
        /// Its shape.
        shape: Vec<i64>,
        /// The most that there may be.
        most: i64,
    },
    /// A store to a tensor that is only read.
    #[error("the kernel only reads `{tensor}`: declare it with `tensor_mut`")]
    ReadOnly {
        /// The tensor.
        tensor: String,
    },
    /// An MMA instruction that does not exist.
    #[error(transparent)]
    Atom(#[from] AtomError),
    /// A conversion that the machine does not have.
    #[error("no instruction converts {} to {} with {how}", elem_name(*from), elem_name(*to))]
    Conversion {
        /// The type of the operand.
        from: Elem,
        /// The type of the result.
        to: Elem,
        /// How it was to round.
        how: String,
    },
    /// A value or tensor of another kernel.
    #[error("`{operation}` got {what} of another kernel")]
    Foreign {
        /// The call.
        operation: &'static str,
        /// A value or a tensor.
        what: &'static str,
    },
    /// A value of a loop or a branch, behind it.
    #[error("`{operation}` got a value of a loop or a branch that has ended: let that carry it")]
    Ended {
        /// The call.
        operation: &'static str,
    },
    /// The kernel has more than the language allows, which its front end says.
    #[error("the kernel is too large: {said}")]
    TooLarge {
        /// What the front end says.
        said: String,
    },
}

/// A shape as the language writes it.
pub(super) struct Shape<'a>(pub &'a [i64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, extent) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{extent}")?;
        }
        f.write_str(")")
    }
}
