//! Sign analysis: the expression of an SSA integer that may be negative.
//!
//! [`Emitter::integer`] assumes that every integer is a coordinate, hence not negative. Of an offset that
//! must be proved from its definition.
use crate::passes::emit::Emitter;
use crate::passes::integer_analysis::width_of;
use crate::passes::ir_utils::{defining_op, operand_value, users};
use cutec_dialects::builder::{IrOp, IrValue, integer_value, result_of, value_key};
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, NvvmOp, ScfOp};
use cutec_dialects::value::Val;
use cutec_layout::{Int, SymInfo, Tree};
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// How far a chain of definitions is followed.
const DEPTH: usize = 16;

impl<'c> Emitter<'c> {
    /// The expression of an SSA integer, with a lower bound only where that follows from its definition.
    pub fn signed_integer(&mut self, value: IrValue<'c>) -> Int {
        self.signed(value, DEPTH, &mut HashMap::new())
    }

    /// An SSA integer as a variable, of which something is known to divide it.
    pub fn offset_variable(&mut self, value: IrValue<'c>, div: i64, negative: bool) -> Int {
        let info = SymInfo {
            width: width_of(value),
            div,
            max: None,
        };
        match negative {
            true => self.signed_variable(value, info),
            false => self.variable(value, info),
        }
    }

    fn signed(&mut self, value: IrValue<'c>, depth: usize, known: &mut HashMap<usize, Int>) -> Int {
        if let Some(int) = known.get(&value_key(value)) {
            return int.clone();
        }
        let int = match defining_op(value) {
            _ if depth == 0 => self.offset_variable(value, 1, true),
            Some(op) => self.signed_result(op, value, depth - 1, known),
            None => self.signed_argument(value, depth - 1, known),
        };
        known.insert(value_key(value), int.clone());
        int
    }

    fn signed_result(
        &mut self,
        op: IrOp<'c>,
        value: IrValue<'c>,
        depth: usize,
        known: &mut HashMap<usize, Int>,
    ) -> Int {
        if NvvmOp::of(op).is_some_and(NvvmOp::is_index) {
            return self.integer(value);
        }
        let kind = ArithOp::of(op);
        if kind == Some(ArithOp::Constant) {
            let constant = op.attribute("value").ok().and_then(integer_value);
            return match constant {
                Some(constant) => Int::Static(constant),
                None => self.offset_variable(value, 1, true),
            };
        }
        let mut operand = |this: &mut Self, index| match operand_value(op, index) {
            Some(operand) => this.signed(operand, depth, known),
            None => Int::Static(i64::MIN),
        };
        let mut both = |this: &mut Self| (operand(this, 0), operand(this, 1));
        let not_negative = match kind {
            Some(ArithOp::Addi | ArithOp::Subi | ArithOp::Muli) => {
                let (a, b) = both(self);
                let int = match kind {
                    Some(ArithOp::Addi) => a.add(&b),
                    Some(ArithOp::Subi) => a.sub(&b),
                    _ => a.mul(&b),
                };
                // What needs more bits than it has, wraps around.
                if int.width() <= width_of(value) {
                    return int;
                }
                false
            }
            Some(ArithOp::Divui | ArithOp::Divsi | ArithOp::Remui | ArithOp::Remsi) => {
                let (a, b) = both(self);
                let positive = b.as_static().is_some_and(|b| b > 0);
                match kind {
                    Some(ArithOp::Divui | ArithOp::Divsi) if a.lower() >= 0 && positive => {
                        return a.floor_div(&b);
                    }
                    _ if a.lower() >= 0 && positive => return a.modulo(&b),
                    Some(ArithOp::Divsi) => a.lower() >= 0 && b.lower() >= 0,
                    // At most the dividend, or of its sign.
                    _ => a.lower() >= 0,
                }
            }
            Some(ArithOp::Minsi) => {
                let (a, b) = both(self);
                a.lower() >= 0 && b.lower() >= 0
            }
            // Compared as unsigned, the smaller is at most the one that is not negative.
            Some(ArithOp::Maxsi | ArithOp::Minui | ArithOp::Andi) => {
                let (a, b) = both(self);
                a.lower() >= 0 || b.lower() >= 0
            }
            Some(ArithOp::Select) => operand(self, 1).lower() >= 0 && operand(self, 2).lower() >= 0,
            Some(ArithOp::Extsi | ArithOp::IndexCast) => operand(self, 0).lower() >= 0,
            Some(ArithOp::Extui) => true,
            _ => false,
        };
        self.offset_variable(value, 1, !not_negative)
    }

    /// Loop counters; of an argument of the kernel only what is asserted to divide it is known.
    fn signed_argument(
        &mut self,
        value: IrValue<'c>,
        depth: usize,
        known: &mut HashMap<usize, Int>,
    ) -> Int {
        // SAFETY: a block argument's owner is its block, and the block has a parent operation.
        let (parent, index) = unsafe {
            let block = mlir_sys::mlirBlockArgumentGetOwner(value.to_raw());
            let parent: IrOp<'c> =
                OperationRef::from_raw(mlir_sys::mlirBlockGetParentOperation(block));
            (
                parent,
                mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw()),
            )
        };
        if GpuOp::Func.is(parent) {
            let asserted = users(value).into_iter().filter_map(asserted_divisor);
            let div = asserted.max().unwrap_or(1);
            return self.offset_variable(value, div, true);
        }
        let counts = ScfOp::For.is(parent) && index == 0;
        let first = operand_value(parent, 0).filter(|_| counts);
        let first = first.map(|first| self.signed(first, depth, known));
        match first.is_some_and(|first| first.lower() >= 0) {
            true => self.integer(value),
            false => self.offset_variable(value, 1, true),
        }
    }
}

/// What an operation asserts to divide its operand.
fn asserted_divisor(op: IrOp) -> Option<i64> {
    if !CuteOp::Assume.is(op) {
        return None;
    }
    match val_of(result_of(op, 0)) {
        Ok(Val::Tuple(_, Tree::Leaf(Some(declared)))) => Some(declared.div()),
        _ => None,
    }
}
