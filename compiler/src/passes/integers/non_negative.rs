//! Expressions of integers that are not negative: coordinates, extents and strides, with their divisors and bounds.
//!
//! Whether they are negative is not asked: see the table in [the parent](super) for when it has to be, and for ranges.
use super::{Definition, combine, width_of};
use crate::passes::emit::Emitter;
use crate::passes::ir_utils::constant_of;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::ops::{ArithOp, NvvmOp, scf};
use cutec_layout::{Int, SymInfo, Width};
use melior::ir::operation::OperationLike;

/// How far a chain of definitions is followed.
const DEPTH: usize = 8;

impl<'c> Emitter<'c> {
    /// The expression of an SSA integer that is a coordinate, an extent or a stride, hence not negative. Thread and
    /// block indices, loop counters, extents ([`Emitter::assert_non_negative`]) and what `arith` makes of them keep
    /// their bounds and divisors. Anything else is a variable without facts: of `n / 8 + 5` the sum is not negative,
    /// but its parts may be.
    pub fn integer(&mut self, value: IrValue<'c>) -> Int {
        self.non_negative(value, DEPTH)
            .unwrap_or_else(|| self.variable(value, unknown(value)))
    }

    /// An expression of a value that is certainly not negative. A sum or product of 32 bits that needs more has wrapped
    /// around.
    fn non_negative(&mut self, value: IrValue<'c>, depth: usize) -> Option<Int> {
        let int = self.non_negative_definition(value, depth)?;
        (int.width() <= width_of(value)).then_some(int)
    }

    fn non_negative_definition(&mut self, value: IrValue<'c>, depth: usize) -> Option<Int> {
        if depth == 0 {
            return None;
        }
        match Definition::of(value) {
            Definition::Constant(constant) => (constant >= 0).then_some(Int::Static(constant)),
            Definition::Index(register, op) => {
                let of_thread = NvvmOp::THREAD_INDEX.contains(&register);
                let info = SymInfo {
                    width: Width::I32,
                    div: 1,
                    max: of_thread.then(|| largest_of_range(op)).flatten(),
                };
                Some(self.variable(value, info))
            }
            Definition::Binary(
                kind @ (ArithOp::Addi
                | ArithOp::Muli
                | ArithOp::Divui
                | ArithOp::Divsi
                | ArithOp::Remui
                | ArithOp::Remsi),
                a,
                b,
            ) => {
                let a = self.non_negative(a, depth - 1)?;
                let b = self.non_negative(b, depth - 1)?;
                combine(kind, &a, &b)
            }
            Definition::Counter(counted) => self.non_negative_counter(value, counted),
            Definition::Parameter if self.is_non_negative(value) => {
                Some(self.variable(value, unknown(value)))
            }
            Definition::Binary(..)
            | Definition::Either(..)
            | Definition::Cast(..)
            | Definition::Parameter
            | Definition::Result(_)
            | Definition::Argument => None,
        }
    }

    /// A loop counter that begins at a constant.
    fn non_negative_counter(&mut self, value: IrValue<'c>, counted: scf::For<'c>) -> Option<Int> {
        let lower = constant_of(counted.lower())?;
        let upper = constant_of(counted.upper());
        let step = constant_of(counted.step())?;
        if lower < 0 || step <= 0 {
            return None;
        }
        let div = if lower == 0 { step } else { 1 };
        let max = upper.map(|upper| (upper - 1).max(0));
        let info = SymInfo {
            div,
            max,
            ..unknown(value)
        };
        Some(self.variable(value, info))
    }
}

/// What is known of an integer of which nothing is known.
fn unknown(value: IrValue) -> SymInfo {
    SymInfo {
        width: width_of(value),
        div: 1,
        max: None,
    }
}

/// The largest value of `range = #llvm.constant_range<i32, 0, 128>`.
fn largest_of_range(op: IrOp) -> Option<i64> {
    let text = op.attribute("range").ok()?.to_string();
    let bound: i64 = text
        .trim_end_matches('>')
        .rsplit(',')
        .next()?
        .trim()
        .parse()
        .ok()?;
    Some(bound - 1)
}
