//! Range and divisibility analysis: the expression of an SSA integer that other dialects define.
use super::emit::Emitter;
use super::ir_utils::{constant_of, defining_op, operand_value};
use cutec_dialects::builder::{IrOp, IrValue, integer_value};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, GpuOp, NvvmOp, Op, ScfOp};
use cutec_layout::{Int, SymInfo, Width};
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};

/// How far a chain of definitions is followed.
const DEPTH: usize = 8;

impl<'c> Emitter<'c> {
    /// The expression of an SSA integer that is a coordinate, an extent or a stride, hence not negative. Thread and
    /// block indices, loop counters, extents ([`Emitter::assert_non_negative`]) and what `arith` makes of them keep
    /// their bounds and divisors. Anything else is a variable without facts: of `n / 8 + 5` the sum is not negative,
    /// but its parts may be.
    pub fn integer(&mut self, value: IrValue<'c>) -> Int {
        self.non_negative(value, DEPTH).unwrap_or_else(|| {
            let info = SymInfo {
                width: width_of(value),
                div: 1,
                max: None,
            };
            self.variable(value, info)
        })
    }

    /// An expression of a value that is certainly not negative. A sum or product of 32 bits that needs more has wrapped
    /// around.
    fn non_negative(&mut self, value: IrValue<'c>, depth: usize) -> Option<Int> {
        let int = self.non_negative_result(value, depth)?;
        (int.width() <= width_of(value)).then_some(int)
    }

    fn non_negative_result(&mut self, value: IrValue<'c>, depth: usize) -> Option<Int> {
        if depth == 0 {
            return None;
        }
        let Some(op) = defining_op(value) else {
            return self.block_argument(value);
        };
        if let Some(register) = NvvmOp::of(op).filter(|register| register.is_index()) {
            let of_thread = NvvmOp::THREAD_INDEX.contains(&register);
            let max = of_thread.then(|| range_of(op)).flatten();
            return Some(self.variable(
                value,
                SymInfo {
                    width: Width::I32,
                    div: 1,
                    max,
                },
            ));
        }
        let kind = ArithOp::of(op);
        if kind == Some(ArithOp::Constant) {
            let constant = integer_value(op.attribute("value").ok()?)?;
            return (constant >= 0).then_some(Int::Static(constant));
        }
        if !matches!(
            kind,
            Some(
                ArithOp::Addi
                    | ArithOp::Muli
                    | ArithOp::Divui
                    | ArithOp::Divsi
                    | ArithOp::Remui
                    | ArithOp::Remsi
            )
        ) {
            return None;
        }
        let a = self.non_negative(operand_value(op, 0)?, depth - 1)?;
        let b = self.non_negative(operand_value(op, 1)?, depth - 1)?;
        match kind {
            Some(ArithOp::Addi) => Some(a.add(&b)),
            Some(ArithOp::Muli) => Some(a.mul(&b)),
            _ if b.as_static().is_none_or(|b| b <= 0) => None,
            Some(ArithOp::Divui | ArithOp::Divsi) => Some(a.floor_div(&b)),
            _ => Some(a.modulo(&b)),
        }
    }

    /// Loop counters, and the kernel's arguments that are never negative.
    fn block_argument(&mut self, value: IrValue<'c>) -> Option<Int> {
        let info = SymInfo {
            width: width_of(value),
            div: 1,
            max: None,
        };
        // SAFETY: a block argument's owner is its block, and the block has a parent operation.
        let (parent, index) = unsafe {
            let block = mlir_sys::mlirBlockArgumentGetOwner(value.to_raw());
            let parent = mlir_sys::mlirBlockGetParentOperation(block);
            (
                OperationRef::from_raw(parent),
                mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw()),
            )
        };
        let parent: IrOp<'c> = unsafe { OperationRef::from_raw(parent.to_raw()) };
        match Op::of(parent) {
            Some(Op::GpuOp(GpuOp::Func)) if self.is_non_negative(value) => {
                Some(self.variable(value, info))
            }
            Some(Op::ScfOp(ScfOp::For)) if index == 0 => {
                let lower = constant_of(operand_value(parent, 0)?)?;
                let upper = constant_of(operand_value(parent, 1)?);
                let step = constant_of(operand_value(parent, 2)?)?;
                if lower < 0 || step <= 0 {
                    return None;
                }
                let div = if lower == 0 { step } else { 1 };
                let max = upper.map(|upper| (upper - 1).max(0));
                Some(self.variable(value, SymInfo { div, max, ..info }))
            }
            _ => None,
        }
    }
}

/// The width of an SSA integer.
pub fn width_of(value: IrValue) -> Width {
    if &*type_text(value.r#type()) == "i64" {
        Width::I64
    } else {
        Width::I32
    }
}

/// The largest value of `range = #llvm.constant_range<i32, 0, 128>`.
fn range_of(op: IrOp) -> Option<i64> {
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
