//! [`LayoutError`]: why an operation of the algebra refuses its operands.

use crate::{Condition, Int, Layout};
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
    #[error(
        "{op}: {value} has {found} modes; expected at most {limit}, one for each mode there is"
    )]
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
    /// Composition: a mode on the right steps over a mode on the left without dividing it or being
    /// divided by it.
    #[error(
        "{op}: {right} on the right steps by {step} through mode {mode} on the left, {left}; expected a step that divides {} or is a multiple of it{}",
        left.shape(),
        examples(step, |step| divides_or_multiple(step, &left.size()))
    )]
    StrideDivisibility {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// That mode.
        left: Box<Layout>,
        /// The mode of the right-hand layout.
        right: Box<Layout>,
        /// The step with which it arrives at the mode.
        step: Int,
    },
    /// Composition: an extent is cut by a mode that does not divide it.
    #[error(
        "{op}: {right} on the right takes {part} elements at a time from mode {mode} on the left, {left}; expected an extent that is a multiple of {part}{}, found {extent}",
        examples(extent, |extent| multiple(extent, part))
    )]
    ShapeDivisibility {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// That mode.
        left: Box<Layout>,
        /// The mode of the right-hand layout.
        right: Box<Layout>,
        /// The part that falls into the mode.
        part: Int,
        /// The extent that should be a multiple of it.
        extent: Int,
    },
    /// Composition: modes of the right-hand layout together step beyond a mode of the left-hand
    /// one, so that their sum carries into the next.
    #[error(
        "{op}: the modes on the right reach index {reach} together in mode {mode} on the left, {left}, so that their sum carries into the next mode; expected at most {}",
        last_index(left)
    )]
    Carry {
        /// The operation.
        op: &'static str,
        /// The mode of the left-hand layout (coalesced).
        mode: usize,
        /// That mode.
        left: Box<Layout>,
        /// The largest index that the right-hand side reaches in it.
        reach: Int,
    },
    /// Two numbers of which the first should divide the second.
    #[error(
        "{op}: expected {what} that is a multiple of {divisor}{}, found {value}",
        examples(value, |value| multiple(value, divisor))
    )]
    NotDivisible {
        /// The operation.
        op: &'static str,
        /// What the value is, with its article.
        what: &'static str,
        /// The number that should divide.
        divisor: Int,
        /// The number that should be divided.
        value: Int,
    },
    /// Two numbers of which one should divide the other.
    #[error(
        "{op}: expected {what} that divides {other} or is a multiple of it{}, found {value}",
        examples(value, |value| divides_or_multiple(value, other))
    )]
    Unrelated {
        /// The operation.
        op: &'static str,
        /// What the value is, with its article.
        what: &'static str,
        /// One number.
        value: Int,
        /// The other.
        other: Int,
    },
    /// A layout that sends two coordinates to one offset where that is not allowed.
    #[error(
        "{op}: {layout} is not injective: its mode {mode} lies among the modes of smaller stride, which reach up to {least}; expected a stride of at least {least}, found {stride}"
    )]
    NotInjective {
        /// The operation.
        op: &'static str,
        /// The layout.
        layout: String,
        /// The mode, such as `4:2`.
        mode: Box<Layout>,
        /// Its stride.
        stride: Int,
        /// The least stride that would do.
        least: Int,
    },
    /// A layout whose offsets do not tell the index of a mode.
    #[error(
        "{op}: the offsets of {layout} do not tell the index in its mode {mode}: with the modes of smaller stride it counts to {count} in steps of {}; expected at most {}",
        mode.stride(),
        mode.shape()
    )]
    Ambiguous {
        /// The operation.
        op: &'static str,
        /// The layout.
        layout: String,
        /// The mode, such as `4:2`.
        mode: Box<Layout>,
        /// The number of indices that its offsets would tell apart.
        count: Int,
    },
    /// A value that the operation must know at compile time.
    #[error("{op}: expected {what} to be static, found {value}")]
    NotStatic {
        /// The operation.
        op: &'static str,
        /// What the value is.
        what: &'static str,
        /// The run-time value.
        value: Int,
    },
    /// Something that depends on run-time values of which too little is known.
    #[error("{op}: cannot prove {condition}{}", condition.promise().map_or(String::new(), |promise| format!("; {promise} would prove it")))]
    Undecided {
        /// The operation.
        op: &'static str,
        /// What would have to hold.
        condition: Condition,
    },
    /// A mode that does not exist.
    #[error("{op}: there is no mode {mode} in {value}; expected {}", modes(*rank))]
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
    /// A range of modes that is empty or reaches beyond the last one.
    #[error("{op}: there are no modes {begin} to {end} (exclusive) in {value}; expected a range within {}", modes(*rank))]
    NoSuchModes {
        /// The operation.
        op: &'static str,
        /// The first mode of the range.
        begin: usize,
        /// The mode behind the last.
        end: usize,
        /// The number of modes.
        rank: usize,
        /// What was asked.
        value: String,
    },
    /// An operand of a kind that the operation does not take.
    #[error("{op}: expected {expected}, found {found}")]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// What is needed.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// Swizzle parameters that are out of range.
    #[error(
        "S<{bits},{base},{shift}> is no swizzle; expected bits from 0 to |shift|, a base from 0, and base + bits + |shift| up to 62"
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

/// `, such as 3 or 6`: the nearest values to a static one that would be accepted.
fn examples(found: &Int, accepted: impl Fn(i64) -> bool) -> String {
    const NEAR: i64 = 4096;
    let Some(found) = found.as_static() else {
        return String::new();
    };
    let below = (1..found).rev().take(NEAR as usize).find(|n| accepted(*n));
    let first = found.saturating_add(1).max(1);
    let above = (first..first.saturating_add(NEAR)).find(|n| accepted(*n));
    match (below, above) {
        (Some(below), Some(above)) => format!(", such as {below} or {above}"),
        (Some(one), None) | (None, Some(one)) => format!(", such as {one}"),
        (None, None) => String::new(),
    }
}

fn multiple(value: i64, of: &Int) -> bool {
    of.as_static().is_some_and(|of| of > 0 && value % of == 0)
}

fn divides_or_multiple(value: i64, of: &Int) -> bool {
    let of = of.as_static();
    of.is_some_and(|of| of > 0 && value > 0 && (value % of == 0 || of % value == 0))
}

fn last_index(mode: &Layout) -> Int {
    mode.size().sub(&Int::ONE)
}

fn modes(rank: usize) -> String {
    match rank {
        0 => "none, as it has no modes".to_owned(),
        1 => "mode 0".to_owned(),
        rank => format!("modes 0 to {}", rank - 1),
    }
}
