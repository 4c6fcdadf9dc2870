//! The range of an integer that is known at run time: what its definition bounds it by.
//!
//! Sums and products that may leave their type are of any value, since they wrap around.
use super::ir_utils::{defining_op, operand_value};
use cutec_dialects::builder::{IrOp, IrValue, integer_value, value_key};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, NvvmOp, Op, ScfOp, TileOp};
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// How far a chain of definitions is followed.
const DEPTH: usize = 32;
/// Threads of the largest block, along any axis.
const MOST_THREADS: i64 = 1024;

/// Integers from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
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
pub(super) struct Ranges {
    known: HashMap<usize, Range>,
}

impl Ranges {
    /// The range of an integer.
    pub fn of(&mut self, value: IrValue) -> Range {
        self.at_depth(value, DEPTH)
    }

    fn at_depth(&mut self, value: IrValue, depth: usize) -> Range {
        let whole = Range::of_type(&type_text(value.r#type()));
        if depth == 0 {
            return whole;
        }
        if let Some(known) = self.known.get(&value_key(value)) {
            return *known;
        }
        let range = match defining_op(value) {
            Some(op) => self.of_result(op, depth - 1),
            None => self.of_argument(value, depth - 1),
        };
        // A number that does not fit has wrapped around.
        let range = range.filter(|range| range.least >= whole.least && range.most <= whole.most);
        let range = range.unwrap_or(whole);
        self.known.insert(value_key(value), range);
        range
    }

    fn operand(&mut self, op: IrOp, index: usize, depth: usize) -> Option<Range> {
        Some(self.at_depth(operand_value(op, index)?, depth))
    }

    fn of_result(&mut self, op: IrOp, depth: usize) -> Option<Range> {
        let kind = Op::of(op)?;
        match kind {
            Op::ArithOp(ArithOp::Constant) => {
                let number = integer_value(op.attribute("value").ok()?)?;
                return Some(Range::one(number));
            }
            Op::ArithOp(ArithOp::Select) => {
                return Some(
                    self.operand(op, 1, depth)?
                        .either(self.operand(op, 2, depth)?),
                );
            }
            Op::ArithOp(ArithOp::Extsi | ArithOp::IndexCast | ArithOp::Trunci)
            | Op::CuteOp(CuteOp::GetScalar | CuteOp::Assume) => {
                return self.operand(op, 0, depth);
            }
            Op::ArithOp(ArithOp::Extui) => {
                return self.operand(op, 0, depth).filter(|range| range.least >= 0);
            }
            Op::TileOp(TileOp::Index) => {
                let axis = integer_value(op.attribute("axis").ok()?)?;
                let count = operand_value(grid_of(op)?, usize::try_from(axis).ok()?)?;
                let count = self.at_depth(count, depth);
                return Some(Range::new(0, (count.most - 1).max(0)));
            }
            Op::NvvmOp(register) if NvvmOp::THREAD_INDEX.contains(&register) => {
                return Some(Range::new(0, MOST_THREADS - 1));
            }
            Op::NvvmOp(register) if NvvmOp::BLOCK_INDEX.contains(&register) => {
                return Some(Range::new(0, i32::MAX.into()));
            }
            Op::ArithOp(_) if op.operand_count() == 2 => {}
            _ => return None,
        }
        let a = self.operand(op, 0, depth)?;
        let b = self.operand(op, 1, depth)?;
        let natural = a.least >= 0 && b.least >= 0;
        match kind {
            Op::ArithOp(ArithOp::Addi) => a.corners(b, |a, b| a.checked_add(b)),
            Op::ArithOp(ArithOp::Subi) => a.corners(b, |a, b| a.checked_sub(b)),
            Op::ArithOp(ArithOp::Muli) => a.corners(b, |a, b| a.checked_mul(b)),
            Op::ArithOp(ArithOp::Divsi) if b.least > 0 => a.corners(b, |a, b| a.checked_div(b)),
            Op::ArithOp(ArithOp::Divui) if natural && b.least > 0 => {
                a.corners(b, |a, b| a.checked_div(b))
            }
            Op::ArithOp(ArithOp::Ceildivsi) if b.least > 0 => a.corners(b, |a, b| {
                Some(a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0))
            }),
            Op::ArithOp(ArithOp::Floordivsi) if b.least > 0 => {
                a.corners(b, |a, b| Some(a.div_euclid(b)))
            }
            Op::ArithOp(ArithOp::Remsi | ArithOp::Remui) if natural && b.least > 0 => {
                Some(Range::new(0, a.most.min(b.most - 1)))
            }
            Op::ArithOp(ArithOp::Remsi) if b.least > 0 => {
                Some(Range::new(-(b.most - 1), b.most - 1))
            }
            Op::ArithOp(ArithOp::Minsi) => {
                Some(Range::new(a.least.min(b.least), a.most.min(b.most)))
            }
            Op::ArithOp(ArithOp::Maxsi) => {
                Some(Range::new(a.least.max(b.least), a.most.max(b.most)))
            }
            // Compared without sign, the lesser is at most the one that is not negative.
            Op::ArithOp(ArithOp::Minui) if natural => {
                Some(Range::new(a.least.min(b.least), a.most.min(b.most)))
            }
            Op::ArithOp(ArithOp::Minui | ArithOp::Andi) if a.least >= 0 => {
                Some(Range::new(0, a.most))
            }
            Op::ArithOp(ArithOp::Minui | ArithOp::Andi) if b.least >= 0 => {
                Some(Range::new(0, b.most))
            }
            Op::ArithOp(ArithOp::Shrsi)
                if (0..64).contains(&b.least) && (0..64).contains(&b.most) =>
            {
                a.corners(b, |a, b| Some(a >> b))
            }
            Op::ArithOp(ArithOp::Shrui) if natural && b.most < 64 => {
                a.corners(b, |a, b| Some(a >> b))
            }
            _ => None,
        }
    }

    /// The counter of a loop.
    fn of_argument(&mut self, value: IrValue, depth: usize) -> Option<Range> {
        // SAFETY: a block argument's owner is its block, and the block has a parent operation.
        let (around, index) = unsafe {
            let block = mlir_sys::mlirBlockArgumentGetOwner(value.to_raw());
            let around: IrOp = OperationRef::from_raw(mlir_sys::mlirBlockGetParentOperation(block));
            let index = mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw());
            (around, index)
        };
        if !ScfOp::For.is(around) || index != 0 {
            return None;
        }
        let first = self.at_depth(operand_value(around, 0)?, depth);
        let end = self.at_depth(operand_value(around, 1)?, depth);
        Some(Range::new(
            first.least,
            end.most.saturating_sub(1).max(first.least),
        ))
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
    let body = super::ir_utils::blocks(around, 0).into_iter().next()?;
    let first = super::ir_utils::first_operation(body);
    let mut operations = std::iter::successors(first, |op| super::ir_utils::next_operation(*op));
    operations.find(|op| TileOp::Grid.is(*op))
}
