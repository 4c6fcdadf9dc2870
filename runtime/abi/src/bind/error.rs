//! Every way in which a launch can be refused, with data.

use crate::counted;
use std::fmt;

use crate::DType;
use crate::tensor_map::MapProblem;
use crate::{ExprError, Width};

/// An extent or a stride of an argument, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the argument.
    pub arg: String,
    /// What of it.
    pub part: Part,
}

/// See [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Extent of this mode.
    Extent(usize),
    /// Stride of this mode.
    Stride(usize),
    /// Its value.
    Value,
}

/// Why a launch is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// No such kernel in the artifact.
    #[error("no kernel `{kernel}`: expected one of {}", list(.available))]
    UnknownKernel {
        /// Name that was asked for.
        kernel: String,
        /// Names there are.
        available: Vec<String>,
    },
    /// Too few or too many arguments.
    #[error("`{kernel}` takes {expected} ({names}), found {found}", names = list(.names), expected = counted(.names.len() as u64, "argument"))]
    Count {
        /// Name of the kernel.
        kernel: String,
        /// Names of the arguments that it takes.
        names: Vec<String>,
        /// Number of arguments given.
        found: usize,
    },
    /// A tensor where a scalar is expected, or the other way round.
    #[error("`{arg}`: expected a {expected}, found a {found}")]
    Kind {
        /// Name of the argument.
        arg: String,
        /// `tensor` or `scalar`.
        expected: &'static str,
        /// `tensor` or `scalar`.
        found: &'static str,
    },
    /// Another element type.
    #[error("`{arg}`: expected element type {expected}, found {found}")]
    DType {
        /// Name of the argument.
        arg: String,
        /// Type in the ABI.
        expected: DType,
        /// Type of the argument.
        found: DType,
    },
    /// Another number of modes.
    #[error("`{arg}`: expected rank {expected}, found rank {found} (shape {shape:?})")]
    Rank {
        /// Name of the argument.
        arg: String,
        /// Rank in the ABI.
        expected: usize,
        /// Rank of the argument.
        found: usize,
        /// Shape of the argument.
        shape: Vec<i64>,
    },
    /// Shape and strides of the argument differ in number.
    #[error("`{arg}`: {} but {}", counted(*.extents as u64, "extent"), counted(*.strides as u64, "stride"))]
    Malformed {
        /// Name of the argument.
        arg: String,
        /// Number of extents.
        extents: usize,
        /// Number of strides.
        strides: usize,
    },
    /// A negative extent.
    #[error("`{arg}`: extent {found} of mode {mode}: expected 0 or more")]
    NegativeExtent {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
        /// The extent.
        found: i64,
    },
    /// The argument does not fit 64-bit byte addresses.
    #[error("`{arg}`: shape {shape:?} with strides {strides:?} spans more than 2^63 bytes")]
    TooLarge {
        /// Name of the argument.
        arg: String,
        /// Its shape.
        shape: Vec<i64>,
        /// Its strides, in elements.
        strides: Vec<i64>,
    },
    /// Another extent than the static one.
    #[error("`{arg}`: expected extent {expected} in mode {mode}, found {found}")]
    StaticExtent {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
        /// Extent in the ABI.
        expected: i64,
        /// Extent of the argument.
        found: i64,
    },
    /// Another extent than the expression gives.
    #[error("`{arg}`: expected extent {expr} = {expected} in mode {mode}, found {found}")]
    ComputedExtent {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
        /// The expression.
        expr: String,
        /// Its value.
        expected: i64,
        /// Extent of the argument.
        found: i64,
    },
    /// Two extents that must be equal differ.
    #[error(
        "`{symbol}` must be one number: {first} is {first_value}, but {second} is {second_value}"
    )]
    TiedExtent {
        /// Name of the run-time integer.
        symbol: String,
        /// Where its value was read.
        first: Place,
        /// The value there.
        first_value: i64,
        /// Where it recurs.
        second: Place,
        /// The value there.
        second_value: i64,
    },
    /// A stride is not what the layout says.
    #[error("`{arg}`: expected stride {expr}{} in mode {mode}, found {found} (shape {shape:?}, strides {strides:?})", value_of(.expr, *.expected))]
    Stride {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
        /// The stride's expression.
        expr: String,
        /// Its value.
        expected: i64,
        /// Stride of the argument.
        found: i64,
        /// Shape of the argument.
        shape: Vec<i64>,
        /// Strides of the argument.
        strides: Vec<i64>,
    },
    /// A run-time integer is not the multiple that the kernel relies on.
    #[error("{place}: `{symbol}` must be divisible by {expected}, found {found}")]
    Divisibility {
        /// Name of the run-time integer.
        symbol: String,
        /// Where its value was read.
        place: Place,
        /// The divisor.
        expected: i64,
        /// The value.
        found: i64,
    },
    /// A run-time integer above its bound, or beyond the width in which it is passed.
    #[error("{place}: `{symbol}` must be at most {max} ({why}), found {found}")]
    Range {
        /// Name of the run-time integer.
        symbol: String,
        /// Where its value was read.
        place: Place,
        /// Largest value.
        max: i64,
        /// Why.
        why: RangeReason,
        /// The value.
        found: i64,
    },
    /// The base address is not aligned.
    #[error(
        "`{arg}`: expected a base address aligned to {expected} bytes, found alignment {found}"
    )]
    Align {
        /// Name of the argument.
        arg: String,
        /// Alignment in the ABI.
        expected: u64,
        /// Alignment of the argument.
        found: u64,
    },
    /// A read-only tensor where the kernel writes.
    #[error("`{arg}`: the kernel writes to it: expected a mutable tensor, found a read-only one")]
    ReadOnly {
        /// Name of the argument.
        arg: String,
    },
    /// The argument cannot be described to the tensor memory accelerator.
    #[error("`{arg}`: the kernel copies it through a tensor map: {problem}")]
    TensorMap {
        /// Name of the argument.
        arg: String,
        /// What the hardware does not take.
        problem: MapProblem,
    },
    /// A promise does not hold.
    #[error("`where {promise}` does not hold for {values}")]
    Promise {
        /// The promise as the source states it.
        promise: String,
        /// The run-time integers in it, with their values.
        values: String,
    },
    /// An expression of the ABI has no value for these arguments.
    #[error("{what}: {error}")]
    Expr {
        /// What the expression is for, such as `grid.x`.
        what: String,
        /// Why it has no value.
        error: ExprError,
    },
    /// Grid or block beyond what a launch can have.
    #[error("{what}.{axis} is {found}: expected {min} to {max}")]
    Geometry {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
        /// The value.
        found: i64,
    },
    /// A grid that is not made of whole clusters.
    #[error("grid.{axis} is {found}: expected a multiple of {blocks}, the blocks of a cluster")]
    Cluster {
        /// `x`, `y` or `z`.
        axis: char,
        /// Blocks of the grid.
        found: u32,
        /// Blocks of a cluster.
        blocks: u32,
    },
    /// More threads in a block than there can be.
    #[error("a block of {found} threads: expected at most 1024")]
    BlockSize {
        /// Number of threads.
        found: u64,
    },
    /// The ABI refers to something it does not have; [`Abi::validate`](crate::Abi::validate) would say what.
    #[error("`{kernel}`: the ABI is inconsistent: {what}")]
    Inconsistent {
        /// Name of the kernel.
        kernel: String,
        /// What is missing.
        what: &'static str,
    },
}

/// Why a run-time integer has an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeReason {
    /// The kernel was compiled for values up to this.
    Bound,
    /// It is passed in this width.
    Width(Width),
}

impl BindError {
    /// The name of the argument that does not fit, where it is one.
    pub fn arg(&self) -> Option<&str> {
        match self {
            BindError::Kind { arg, .. }
            | BindError::DType { arg, .. }
            | BindError::Rank { arg, .. }
            | BindError::Malformed { arg, .. }
            | BindError::NegativeExtent { arg, .. }
            | BindError::TooLarge { arg, .. }
            | BindError::StaticExtent { arg, .. }
            | BindError::ComputedExtent { arg, .. }
            | BindError::Stride { arg, .. }
            | BindError::Align { arg, .. }
            | BindError::ReadOnly { arg }
            | BindError::TensorMap { arg, .. } => Some(arg),
            BindError::TiedExtent { second, .. } => Some(&second.arg),
            BindError::Divisibility { place, .. } | BindError::Range { place, .. } => {
                Some(&place.arg)
            }
            BindError::UnknownKernel { .. }
            | BindError::Count { .. }
            | BindError::Promise { .. }
            | BindError::Expr { .. }
            | BindError::Geometry { .. }
            | BindError::Cluster { .. }
            | BindError::BlockSize { .. }
            | BindError::Inconsistent { .. } => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Extent(mode) => write!(f, "mode {mode} of `{}`", self.arg),
            Part::Stride(mode) => write!(f, "stride of mode {mode} of `{}`", self.arg),
            Part::Value => write!(f, "`{}`", self.arg),
        }
    }
}

impl fmt::Display for RangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeReason::Bound => f.write_str("the kernel was compiled for no more"),
            RangeReason::Width(width) => write!(f, "it is passed as {width}"),
        }
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// ` = 8` after an expression that is not itself the number.
fn value_of(expr: &str, value: i64) -> String {
    if expr == value.to_string() {
        String::new()
    } else {
        format!(" = {value}")
    }
}
