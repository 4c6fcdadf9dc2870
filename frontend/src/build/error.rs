//! What can be wrong with a call.

use super::kind::{Kind, Literal, Shape, dtype};
use cutec_abi::DType;
use cutec_dialects::atoms::AtomError;
use cutec_dialects::elem::Elem;
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

pub(super) type Result<T> = std::result::Result<T, BuildError>;

/// What is wrong with a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
    #[error("`{operation}` expects {expected}, found {found}: nothing is converted silently")]
    Types {
        /// The call.
        operation: &'static str,
        /// The type of the other operand, or the one that the result has.
        expected: DType,
        /// The type of the operand.
        found: DType,
    },
    /// An element type that hosts have and kernels do not.
    #[error("`{operation}`: kernels have no elements of {dtype}")]
    NoElement {
        /// The call.
        operation: &'static str,
        /// The type.
        dtype: DType,
    },
    /// An operation that an element type does not have.
    #[error("`{operation}` is not defined for {dtype}")]
    Undefined {
        /// The call.
        operation: &'static str,
        /// The type.
        dtype: DType,
    },
    /// A division by zero, or a shift by more bits than there are.
    #[error("`{operation}` of {dtype} by {by} has no result")]
    NoResult {
        /// The call.
        operation: &'static str,
        /// The type.
        dtype: DType,
        /// The right operand.
        by: i64,
    },
    /// A literal of another type, or too large for it.
    #[error("`{operation}` expects a number of {expected}, found {found}")]
    Literal {
        /// The call.
        operation: &'static str,
        /// The type.
        expected: DType,
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
    #[error("no instruction converts {from} to {to} with {how}")]
    Conversion {
        /// The type of the operand.
        from: DType,
        /// The type of the result.
        to: DType,
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
    /// Two texts of one name.
    #[error("two texts of the module have the name `{name}`")]
    Texts {
        /// The name.
        name: String,
    },
    /// The listing does not read as what was built, which the front end says: there is more than the language allows, or a
    /// name that is none.
    #[error("the listing does not read as what was built: {said}")]
    Syntax {
        /// What the front end says.
        said: String,
    },
}

impl Problem {
    pub(super) fn undefined(operation: &'static str, elem: Elem) -> Self {
        let dtype = dtype(elem);
        Self::Undefined { operation, dtype }
    }

    pub(super) fn types(operation: &'static str, expected: Elem, found: Elem) -> Self {
        let (expected, found) = (dtype(expected), dtype(found));
        Self::Types {
            operation,
            expected,
            found,
        }
    }
}

/// A problem at the call that the public function was called with.
#[track_caller]
pub(super) fn fail(problem: Problem) -> BuildError {
    let at = Location::caller();
    BuildError { problem, at }
}
