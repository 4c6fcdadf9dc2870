//! Range analysis: between which numbers an integer lies, as its definition bounds it.
//!
//! Sums and products that may leave their type are of any value, since they wrap around. [The parent](super) says when
//! an expression is to be asked for instead.
use super::Definition;
use crate::passes::ir_utils;
use cutec_dialects::builder::{IrOp, IrValue, integer_value, operands_of, value_key};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, NvvmOp, Op, TileOp, tile};
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// How far a chain of definitions is followed.
const DEPTH: usize = 32;
/// Threads of the largest block, along any axis.
const MOST_THREADS: i64 = 1024;

/// Integers from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub least: i64,
    /// The greatest.
    pub most: i64,
}

impl Range {
    const fn new(least: i64, most: i64) -> Range {
        Range { least, most }
    }

    fn one(number: i64) -> Range {
        Range::new(number, number)
    }

    /// All numbers of an integer type; those of types that are none are not bounded either.
    fn of_type(ty: &str) -> Range {
        match ty
            .strip_prefix('i')
            .and_then(|bits| bits.parse::<u32>().ok())
        {
            Some(1) => Range::new(0, 1),
            Some(bits @ 2..64) => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => Range::new(i64::MIN, i64::MAX),
        }
    }

    fn either(self, other: Range) -> Range {
        Range::new(self.least.min(other.least), self.most.max(other.most))
    }

    /// The range from the least to the greatest of some numbers; `None` where one is not an `i64`.
    fn spanning(numbers: &[Option<i128>]) -> Option<Range> {
        let numbers: Option<Vec<i128>> = numbers.iter().copied().collect();
        let numbers = numbers?;
        let least = i64::try_from(*numbers.iter().min()?).ok()?;
        let most = i64::try_from(*numbers.iter().max()?).ok()?;
        Some(Range::new(least, most))
    }

    /// An operation that is monotonic in each operand, at the four corners.
    fn corners(self, other: Range, of: impl Fn(i128, i128) -> Option<i128>) -> Option<Range> {
        let ends = |range: Range| [i128::from(range.least), i128::from(range.most)];
        let corners = ends(self)
            .into_iter()
            .flat_map(|a| ends(other).map(|b| of(a, b)))
            .collect::<Vec<_>>();
        Range::spanning(&corners)
    }
}

/// Ranges of the integers of a kernel, each computed once.
#[derive(Default)]
pub struct Ranges {
    known: HashMap<usize, Range>,
}

impl Ranges {
    /// The range of an integer.
    pub fn of(&mut self, value: IrValue) -> Range {
        self.at_depth(value, DEPTH)
    }

    /// Whether the definition of an integer computes more than its type holds, so that it may have wrapped around.
    pub fn may_wrap(&mut self, value: IrValue) -> bool {
        let whole = Range::of_type(&type_text(value.r#type()));
        let range = self.of_definition(value, DEPTH);
        !range.is_some_and(|range| range.least >= whole.least && range.most <= whole.most)
    }

    fn at_depth(&mut self, value: IrValue, depth: usize) -> Range {
        let whole = Range::of_type(&type_text(value.r#type()));
        if depth == 0 {
            return whole;
        }
        if let Some(known) = self.known.get(&value_key(value)) {
            return *known;
        }
        let range = self.of_definition(value, depth - 1);
        // A number that does not fit has wrapped around.
        let range = range.filter(|range| range.least >= whole.least && range.most <= whole.most);
        let range = range.unwrap_or(whole);
        self.known.insert(value_key(value), range);
        range
    }

    fn of_definition(&mut self, value: IrValue, depth: usize) -> Option<Range> {
        match Definition::of(value) {
            Definition::Constant(number) => Some(Range::one(number)),
            Definition::Index(register, _) if NvvmOp::THREAD_INDEX.contains(&register) => {
                Some(Range::new(0, MOST_THREADS - 1))
            }
            Definition::Index(register, _) if NvvmOp::BLOCK_INDEX.contains(&register) => {
                Some(Range::new(0, i32::MAX.into()))
            }
            Definition::Binary(kind, a, b) => {
                let (a, b) = (self.at_depth(a, depth), self.at_depth(b, depth));
                of_binary(kind, a, b)
            }
            Definition::Either(a, b) => {
                Some(self.at_depth(a, depth).either(self.at_depth(b, depth)))
            }
            Definition::Cast(ArithOp::Extsi | ArithOp::IndexCast | ArithOp::Trunci, input) => {
                Some(self.at_depth(input, depth))
            }
            Definition::Cast(ArithOp::Extui, input) => {
                Some(self.at_depth(input, depth)).filter(|range| range.least >= 0)
            }
            Definition::Counter(counted) => {
                let first = self.at_depth(counted.lower(), depth);
                let end = self.at_depth(counted.upper(), depth);
                let most = end.most.saturating_sub(1).max(first.least);
                Some(Range::new(first.least, most))
            }
            Definition::Result(op) => self.of_result(op, depth),
            Definition::Index(..)
            | Definition::Cast(..)
            | Definition::Parameter
            | Definition::Argument => None,
        }
    }

    /// What an operation gives that computes nothing of two integers.
    fn of_result(&mut self, op: IrOp, depth: usize) -> Option<Range> {
        match Op::of(op)? {
            Op::CuteOp(CuteOp::GetScalar | CuteOp::Assume) => {
                Some(self.at_depth(operands_of(op).next()?, depth))
            }
            Op::TileOp(TileOp::Index) => {
                let axis = integer_value(op.attribute("axis").ok()?)?;
                let counts = tile::Grid::of(grid_of(op)?)?.counts();
                let count = counts.get(usize::try_from(axis).ok()?)?;
                let count = self.at_depth(*count, depth);
                Some(Range::new(0, (count.most - 1).max(0)))
            }
            _ => None,
        }
    }
}

/// The range of an operation of two integers; `None` where it may be any number.
fn of_binary(kind: ArithOp, a: Range, b: Range) -> Option<Range> {
    let natural = a.least >= 0 && b.least >= 0;
    match kind {
        ArithOp::Addi => a.corners(b, |a, b| a.checked_add(b)),
        ArithOp::Subi => a.corners(b, |a, b| a.checked_sub(b)),
        ArithOp::Muli => a.corners(b, |a, b| a.checked_mul(b)),
        ArithOp::Divsi if b.least > 0 => a.corners(b, |a, b| a.checked_div(b)),
        ArithOp::Divui if natural && b.least > 0 => a.corners(b, |a, b| a.checked_div(b)),
        ArithOp::Ceildivsi if b.least > 0 => a.corners(b, |a, b| {
            Some(a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0))
        }),
        ArithOp::Floordivsi if b.least > 0 => a.corners(b, |a, b| Some(a.div_euclid(b))),
        ArithOp::Remsi | ArithOp::Remui if natural && b.least > 0 => {
            Some(Range::new(0, a.most.min(b.most - 1)))
        }
        ArithOp::Remsi if b.least > 0 => Some(Range::new(-(b.most - 1), b.most - 1)),
        ArithOp::Minsi => Some(Range::new(a.least.min(b.least), a.most.min(b.most))),
        ArithOp::Maxsi => Some(Range::new(a.least.max(b.least), a.most.max(b.most))),
        // Compared without sign, the lesser is at most the one that is not negative.
        ArithOp::Minui if natural => Some(Range::new(a.least.min(b.least), a.most.min(b.most))),
        ArithOp::Minui | ArithOp::Andi if a.least >= 0 => Some(Range::new(0, a.most)),
        ArithOp::Minui | ArithOp::Andi if b.least >= 0 => Some(Range::new(0, b.most)),
        ArithOp::Shrsi if (0..64).contains(&b.least) && (0..64).contains(&b.most) => {
            a.corners(b, |a, b| Some(a >> b))
        }
        ArithOp::Shrui if natural && b.most < 64 => a.corners(b, |a, b| Some(a >> b)),
        _ => None,
    }
}

/// The `tile.grid` of the kernel that an operation stands in.
fn grid_of<'c>(op: IrOp<'c>) -> Option<IrOp<'c>> {
    let mut around = op;
    while !GpuOp::Func.is(around) {
        // SAFETY: the operation is alive, and so are those around it.
        around = unsafe {
            let parent = mlir_sys::mlirOperationGetParentOperation(around.to_raw());
            (!parent.ptr.is_null()).then(|| OperationRef::from_raw(parent))?
        };
    }
    // It stands near the begin: what comes after it is not walked.
    let body = ir_utils::blocks(around, 0).into_iter().next()?;
    let first = ir_utils::first_operation(body);
    let mut operations = std::iter::successors(first, |op| ir_utils::next_operation(*op));
    operations.find(|op| TileOp::Grid.is(*op))
}
