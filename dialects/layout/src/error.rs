//! [`LayoutError`]: why an operation of the algebra refuses its operands.

use crate::{Condition, Int};
use thiserror::Error;

/// Why an operation of the layout algebra refuses its operands. `op` is its name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LayoutError {
    /// Two things that must have as many modes do not.
    #[error("{op}: expected rank {expected}, found rank {found} in {value}")]
    RankMismatch {
        /// The operation.
        op: &'static str,
        /// The rank that is needed.
        expected: usize,
        /// The rank that was given.
        found: usize,
        /// What was given.
        value: String,
    },
    /// A tiler, profile or block has more modes than what it is applied to.
    #[error("{op}: {value} has {found} modes, but there are only {limit}")]
    TooManyModes {
        /// The operation.
        op: &'static str,
        /// The number of modes that there are.
        limit: usize,
        /// The number of modes that were given.
        found: usize,
        /// What was given.
        value: String,
    },
    /// Two nested tuples do not have the profiles that the operation needs.
    #[error("{op}: {found} does not have the profile of {expected}")]
    ProfileMismatch {
        /// The operation.
        op: &'static str,
        /// The tuple that says the profile.
        expected: String,
        /// The tuple that does not follow it.
        found: String,
    },
    /// Composition: a stride steps over a mode without dividing it or being divided by it.
    #[error(
        "{op}: stride {stride} does not fit mode {mode} of extent {shape}: one must divide the other"
    )]
    StrideDivisibility {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// Its extent.
        shape: Int,
        /// The stride that arrives at it.
        stride: Int,
    },
    /// Composition: an extent is cut by a mode that does not divide it.
    #[error("{op}: extent {extent} is not a multiple of {shape}, its part in mode {mode}")]
    ShapeDivisibility {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// The part that falls into that mode.
        shape: Int,
        /// The extent that should be a multiple of it.
        extent: Int,
    },
    /// Composition: modes of the right-hand layout together step beyond a mode of the left-hand
    /// one, so that their sum carries into the next.
    #[error(
        "{op}: the modes of the right-hand side reach {reach} in mode {mode} of extent {shape}, so that their sum carries into the next mode"
    )]
    Carry {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// Its extent.
        shape: Int,
        /// The largest index that the right-hand side reaches in it.
        reach: Int,
    },
    /// Two numbers of which one should divide the other.
    #[error("{op}: {divisor} does not divide {value}")]
    NotDivisible {
        /// The operation.
        op: &'static str,
        /// The number that should divide.
        divisor: Int,
        /// The number that should be divided.
        value: Int,
    },
    /// A layout that sends two coordinates to one offset where that is not allowed.
    #[error("{op}: {layout} is not injective: mode {mode} overlaps the modes of smaller stride")]
    NotInjective {
        /// The operation.
        op: &'static str,
        /// The layout.
        layout: String,
        /// The mode, counted in the coalesced layout.
        mode: usize,
    },
    /// A value that the operation must know at compile time.
    #[error("{op}: {what} must be static, found {value}")]
    NotStatic {
        /// The operation.
        op: &'static str,
        /// What the value is.
        what: &'static str,
        /// The run-time value.
        value: Int,
    },
    /// Something that depends on run-time values of which too little is known.
    #[error("{op}: cannot prove {condition}")]
    Undecided {
        /// The operation.
        op: &'static str,
        /// What would have to hold.
        condition: Condition,
    },
    /// A mode that does not exist.
    #[error("{op}: there is no mode {mode} in {value} of rank {rank}")]
    NoSuchMode {
        /// The operation.
        op: &'static str,
        /// The mode that was asked for.
        mode: usize,
        /// The number of modes.
        rank: usize,
        /// What was asked.
        value: String,
    },
    /// An operand of a kind that the operation does not take.
    #[error("{op}: {expected} expected, found {found}")]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// What is needed.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// Swizzle parameters outside `bits >= 0, base >= 0, |shift| >= bits`.
    #[error(
        "S<{bits},{base},{shift}> is no swizzle: bits and base are not negative, |shift| >= bits"
    )]
    BadSwizzle {
        /// Number of bits.
        bits: i64,
        /// Lowest bit that changes.
        base: i64,
        /// Distance of the bits that change them.
        shift: i64,
    },
    /// A size or an offset beyond 64 bits.
    #[error("{op}: the result does not fit 64 bits")]
    Overflow {
        /// The operation.
        op: &'static str,
    },
}
