//! Everything that can be wrong with a `test` or `bench` block, or fail in it.

use super::value::Kind;
use cutec::Diagnostics;
use cutec_abi::arithmetic::{ArithmeticError, Comparison};
use cutec_abi::counted;
use cutec_frontend::diagnostics::codes::{ASSERTION_FAILED, LAUNCH_FAILED, TEST_NOT_EVALUABLE};
use cutec_frontend::diagnostics::{Code, Diagnostic, Problem};
use cutec_frontend::source::Span;
use std::fmt;

/// Why a block ends early.
pub type Stop = Box<Halt>;

/// See [`Stop`].
#[derive(Debug)]
pub struct Halt {
    /// What is wrong, and where in the block.
    pub diagnostic: Diagnostic,
    /// The errors of the kernel, where it does not compile.
    pub cause: Option<Box<Diagnostics>>,
    /// Whether other elements of tensors may mend it.
    pub depends_on_values: bool,
    /// Whether it says nothing about a block that is only checked.
    pub inconclusive: bool,
}

/// The note of a launch whose kernel does not compile, where another one has told why.
pub(super) const TOLD: &str = "its errors are shown above";

impl Halt {
    /// Leaves out errors of the kernel that were told before, and takes note of the others.
    pub fn tell_once(&mut self, told: &mut Vec<Diagnostic>) {
        let Some(cause) = &mut self.cause else {
            return;
        };
        cause.problems.retain(|found| !told.contains(found));
        told.extend(cause.problems.iter().cloned());
        if cause.problems.is_empty() && cause.failures.is_empty() {
            self.cause = None;
            self.diagnostic.notes.push(TOLD.to_owned());
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TestProblem {
    /// A tensor has other elements than expected.
    #[error("{count} of {total} elements are wrong")]
    Mismatch {
        /// Elements that differ.
        count: u64,
        /// Elements compared.
        total: u64,
        /// The first that differs: names of indices and their values.
        at: Vec<(String, i64)>,
        /// What it should be.
        expected: f64,
        /// What it is.
        found: f64,
        /// The largest difference, and how far it may be.
        tolerance: Option<Tolerance>,
    },
    /// A condition does not hold.
    #[error("the condition does not hold")]
    Condition {
        /// What decided it, where that is a comparison.
        compared: Option<Compared>,
    },
    /// A name that nothing has.
    #[error("`{name}` is not known here")]
    UnknownName {
        /// The name.
        name: String,
        /// A known name that is much like it.
        closest: Option<String>,
    },
    /// A function that a block cannot call.
    #[error("a test knows no function `{name}`")]
    UnknownFunction {
        /// Its name.
        name: String,
        /// A known name that is much like it.
        closest: Option<String>,
    },
    /// A reduction that there is not.
    #[error("there is no reduction `{name}`: expected sum, prod, max or min")]
    UnknownReduction {
        /// Its name.
        name: String,
    },
    /// A field that a value does not have.
    #[error("{of} has no field `{name}`")]
    UnknownField {
        /// The field.
        name: String,
        /// What is asked for it.
        of: Kind,
    },
    /// A compile-time parameter that a kernel does not have.
    #[error("`{kernel}` has no compile-time parameter `{name}`")]
    UnknownParameter {
        /// The kernel.
        kernel: String,
        /// The name.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A compile-time parameter with two values.
    #[error("the compile-time parameter `{name}` is given twice")]
    ParameterTwice {
        /// The parameter.
        name: String,
    },
    /// An index of an assigned value that says nothing about where the value goes.
    #[error("`{name}` is not known here, and is no index of the left side")]
    NotOfTarget {
        /// The name.
        name: String,
    },
    /// `i & 1 == 0`, which compares before it combines bits.
    #[error("`{symbol}` of a number and a bool")]
    BitsOfBool {
        /// The operator.
        symbol: &'static str,
    },
    /// A construct of kernels that has no meaning in a block.
    #[error("{what} cannot stand in a test")]
    NotHere {
        /// What it is.
        what: &'static str,
    },
    /// A loop or an assignment in a function that is to be computed for each value of an index.
    #[error(
        "expected `let` or `return` in what is computed for each index, found another statement"
    )]
    OfIndex,
    /// Another kind of value is needed.
    #[error("expected {expected}, found {found}")]
    WrongKind {
        /// What is needed.
        expected: &'static str,
        /// What there is.
        found: Kind,
    },
    /// An index that has the name of something else.
    #[error("`{name}` is {found} here, and no index")]
    TakenName {
        /// The name.
        name: String,
        /// What it is.
        found: Kind,
    },
    /// Too few or too many arguments.
    #[error("`{function}` takes {expected}, found {found}")]
    Count {
        /// The function.
        function: String,
        /// What it takes.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// An argument that the function does not have.
    #[error("`{function}` has no argument `{argument}`")]
    NoSuchArgument {
        /// The function.
        function: String,
        /// The name.
        argument: String,
    },
    /// An argument of a launch that is given by name.
    #[error("arguments of a launch are given by their places, but `{argument}` by its name")]
    NamedArgument {
        /// The kernel.
        kernel: String,
        /// The name.
        argument: String,
        /// Whether it is that of a compile-time parameter.
        is_static: bool,
    },
    /// A tensor that cannot be.
    #[error("{reason}")]
    Shape {
        /// Why.
        reason: String,
    },
    /// An index that does not fit its tensor.
    #[error("`{tensor}` has {}, found {found} indices", counted(*.expected as u64, "mode"))]
    Rank {
        /// The tensor.
        tensor: String,
        /// Its rank.
        expected: usize,
        /// Number of indices.
        found: usize,
    },
    /// An index that leaves its tensor.
    #[error("index {} leaves mode {mode} of `{tensor}`, which has {}", if low == high { low.to_string() } else { format!("{low}..={high}") }, counted(*.extent, "element"))]
    OutOfRange {
        /// The tensor.
        tensor: String,
        /// The mode.
        mode: usize,
        /// Its extent.
        extent: i64,
        /// The smallest index.
        low: i64,
        /// The largest index.
        high: i64,
    },
    /// An index name that stands for two ranges.
    #[error("`{name}` runs over {first} in one place and over {second} in another")]
    TwoRanges {
        /// The name.
        name: String,
        /// One extent.
        first: i64,
        /// The other extent.
        second: i64,
    },
    /// An index name whose range follows from nothing.
    #[error("`{name}` is not known here, and nothing says what it runs over as an index")]
    NoRange {
        /// The name.
        name: String,
        /// A known name that is much like it.
        closest: Option<String>,
    },
    /// An operation on integers without a result.
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
    /// A number that does not fit.
    #[error("the number does not fit into 64 bits")]
    Overflow,
    /// The budget is used up.
    #[error("the test takes more than {limit} {unit}")]
    Budget {
        /// The limit.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
    /// The kernel did not run to its end.
    #[error("`{kernel}` failed: {reason}")]
    Run {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
        /// More about it.
        notes: Vec<String>,
    },
    /// The kernel was refused.
    #[error("`{kernel}` was not launched: {reason}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
        /// More about it.
        notes: Vec<String>,
    },
}

/// A comparison that does not hold, with its sides as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Which.
    pub comparison: Comparison,
    /// The left side.
    pub found: String,
    /// The right side.
    pub limit: String,
}

impl fmt::Display for Compared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = match self.comparison {
            Comparison::Eq => "",
            Comparison::Ne => "anything but ",
            Comparison::Lt => "less than ",
            Comparison::Le => "at most ",
            Comparison::Gt => "more than ",
            Comparison::Ge => "at least ",
        };
        let (limit, found) = (&self.limit, &self.found);
        write!(formatter, "expected {expected}{limit}, found {found}")
    }
}

/// How close is close enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Relative.
    pub relative: f64,
    /// Absolute.
    pub absolute: f64,
    /// The largest difference that was found.
    pub worst: f64,
}

impl TestProblem {
    /// The diagnostic for this problem at `span`.
    pub fn at(self, span: Span) -> Stop {
        Box::new(Halt {
            diagnostic: Diagnostic::of(span, &self),
            cause: None,
            depends_on_values: self.depends_on_values(),
            inconclusive: matches!(self, Self::Budget { .. }),
        })
    }

    fn depends_on_values(&self) -> bool {
        match self {
            Self::Mismatch { .. }
            | Self::Condition { .. }
            | Self::Shape { .. }
            | Self::OutOfRange { .. }
            | Self::TwoRanges { .. }
            | Self::Arithmetic(_)
            | Self::Overflow
            | Self::Budget { .. }
            | Self::Run { .. }
            | Self::Launch { .. } => true,
            Self::UnknownName { .. }
            | Self::UnknownFunction { .. }
            | Self::UnknownReduction { .. }
            | Self::UnknownField { .. }
            | Self::UnknownParameter { .. }
            | Self::ParameterTwice { .. }
            | Self::NotOfTarget { .. }
            | Self::BitsOfBool { .. }
            | Self::NotHere { .. }
            | Self::OfIndex
            | Self::WrongKind { .. }
            | Self::TakenName { .. }
            | Self::Count { .. }
            | Self::NoSuchArgument { .. }
            | Self::NamedArgument { .. }
            | Self::Rank { .. }
            | Self::NoRange { .. } => false,
        }
    }
}

impl Problem for TestProblem {
    fn code(&self) -> Code {
        match self {
            Self::Mismatch { .. } | Self::Condition { .. } => ASSERTION_FAILED,
            Self::Launch { .. } | Self::Run { .. } => LAUNCH_FAILED,
            Self::UnknownName { .. }
            | Self::UnknownFunction { .. }
            | Self::UnknownReduction { .. }
            | Self::UnknownField { .. }
            | Self::UnknownParameter { .. }
            | Self::ParameterTwice { .. }
            | Self::NotOfTarget { .. }
            | Self::BitsOfBool { .. }
            | Self::NotHere { .. }
            | Self::OfIndex
            | Self::WrongKind { .. }
            | Self::TakenName { .. }
            | Self::Count { .. }
            | Self::NoSuchArgument { .. }
            | Self::NamedArgument { .. }
            | Self::Shape { .. }
            | Self::Rank { .. }
            | Self::OutOfRange { .. }
            | Self::TwoRanges { .. }
            | Self::NoRange { .. }
            | Self::Arithmetic(_)
            | Self::Overflow
            | Self::Budget { .. } => TEST_NOT_EVALUABLE,
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Mismatch {
                at,
                expected,
                found,
                ..
            } if at.is_empty() => format!("expected {expected}, found {found}"),
            Self::Mismatch {
                at,
                expected,
                found,
                ..
            } => {
                let names: Vec<&str> = at.iter().map(|(name, _)| name.as_str()).collect();
                let values: Vec<String> = at.iter().map(|(_, value)| value.to_string()).collect();
                format!(
                    "first at ({}) = ({}): expected {expected}, found {found}",
                    names.join(", "),
                    values.join(", ")
                )
            }
            Self::Condition {
                compared: Some(compared),
            } => compared.to_string(),
            Self::Launch { .. } | Self::Run { .. } => "launched here".to_owned(),
            Self::NoRange { .. } | Self::TwoRanges { .. } => "this index".to_owned(),
            Self::WrongKind { expected, .. } => format!("this should be {expected}"),
            Self::UnknownName { .. } | Self::UnknownFunction { .. } => "not known".to_owned(),
            _ => "here".to_owned(),
        }
    }

    fn notes(&self) -> Vec<String> {
        match self {
            Self::Mismatch {
                tolerance: Some(tolerance),
                ..
            } => vec![format!(
                "the largest difference is {:.6e}; {:.3e} relative and {:.3e} absolute are allowed",
                tolerance.worst, tolerance.relative, tolerance.absolute
            )],
            Self::Launch { notes, .. } | Self::Run { notes, .. } => notes.clone(),
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NoRange {
                closest: Some(closest),
                ..
            }
            | Self::UnknownName {
                closest: Some(closest),
                ..
            }
            | Self::UnknownFunction {
                closest: Some(closest),
                ..
            } => Some(format!("did you mean `{closest}`?")),
            Self::UnknownFunction { name, .. } if elsewhere(name).is_some() => {
                elsewhere(name).map(str::to_owned)
            }
            Self::Count { function, expected, .. } if expected.contains("element type") => {
                Some(format!("write `{function}<f32>(…)`"))
            }
            Self::NoRange { name, .. } => Some(format!(
                "use `{name}` alone as an index of a tensor, or give its range: `sum({name} in 0..n)`"
            )),
            Self::UnknownFunction { .. } => Some(
                "a test calls functions and kernels of the file, functions of numbers, and those that make tensors: \
                 docs/testing.md lists them"
                    .to_owned(),
            ),
            Self::NamedArgument { kernel, argument, is_static } => Some(match is_static {
                true => format!("it is a compile-time parameter: write `{kernel}<{argument} = …>(…)`"),
                false => format!("leave out `{argument} =`, and give all arguments in the order of the kernel's parameters"),
            }),
            Self::UnknownName { .. } => Some(
                "a test knows its own variables, constants, functions and kernels of the file, element types, and the functions \
                 and words of the language"
                    .to_owned(),
            ),
            Self::UnknownField { .. } => Some("a tensor has `shape` and `dtype`".to_owned()),
            Self::UnknownParameter { known, .. } if known.is_empty() => {
                Some("it has none".to_owned())
            }
            Self::UnknownParameter { known, .. } => {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("it has {}", known.join(", ")))
            }
            Self::TwoRanges { name, first, second } => {
                let part = first.min(second);
                Some(format!(
                    "where an access is not to say how far it runs, write `{name} + 0` there, or give the range of a reduction: \
                     `sum({name} in 0..{part})`"
                ))
            }
            Self::TakenName { name, .. } => Some(format!(
                "an index has a name that nothing else has; the elements of the tensor are `{name}[…]`"
            )),
            Self::OfIndex => Some(
                "a function with loops or assignments takes arguments that depend on no index; of an index write one \
                 expression, with `if … { … } else { … }`"
                    .to_owned(),
            ),
            Self::NotOfTarget { name } => Some(format!(
                "reduce over it, as in `sum({name}) {{ … }}`, or use it on the left side"
            )),
            Self::BitsOfBool { symbol } => Some(format!(
                "comparisons bind tighter than `{symbol}`: write `(i {symbol} 1) == 0`"
            )),
            _ => None,
        }
    }
}

/// How a test says what has this name in NumPy, PyTorch or Python.
pub fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next().unwrap_or(name) {
        "range" => "a range is written `0..n`, or `0..n step 2`",
        "len" | "numel" => "write `size(x)`, or `size<0>(x)` of one mode",
        "sum" | "mean" | "prod" | "amax" | "amin" => {
            "reductions run over indices: `sum(i) { x[i] }`, `max(i, j) { x[i, j] }`"
        }
        "matmul" | "mm" | "dot" | "einsum" => {
            "a product is written by indices: `sum(l) { a[i, l] * b[j, l] }`"
        }
        "allclose" | "assert_allclose" | "isclose" => {
            "write `assert_close(x[i], y[i], rtol = 1e-2, atol = 1e-2)`"
        }
        "array_equal" | "assert_equal" | "assert_array_equal" => "write `assert_eq(x[i], y[i])`",
        "rand" | "randn" => "write `random<f32>(n)`, or `uniform<f32>(n, low = 0, high = 1)`",
        "empty" | "empty_like" => "write `poison<f32>(n)`, of which what is not written shows",
        "print" | "printf" | "println" => {
            "a test shows what differs: `assert_eq(x[i], …)`; kernels print by `printf`"
        }
        _ => return None,
    })
}
