//! What functions make of extents, for the host: they are evaluated as a thread would, to operations that no kernel gets, and what these
//! compute is read off.

use super::abi::names_any;
use super::signature::{Argument, Signature, symbol_elem};
use super::values::{Binding, Scalar, Value};
use super::{Evaluator, Result, Scope};
use crate::ast::Expr;
use crate::diagnostics::codes;
use cutec_abi::AbiExpr;
use cutec_abi::expr::Make;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, defining_op, integer_value,
    operands_of, region_with_block, result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, ScfOp};
use melior::ir::attribute::BoolAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, RegionLike, ValueLike};
use std::cell::Cell;

/// The most operations that one expression may be of: what a function names twice, the host computes twice.
const MOST: usize = 1000;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// What an expression of a kernel's run-time integers is of which more is made than by operators; `None` where the host cannot compute it.
    pub(super) fn at_launch(
        &mut self,
        expr: &'a Expr,
        signature: &mut Signature<'a>,
    ) -> Result<Option<AbiExpr>> {
        if names_tensor(expr, signature) {
            return Ok(None);
        }
        self.symbols_in(expr, signature);
        let location = self.location(expr.span);
        let elems: Vec<_> = signature.symbols.iter().map(symbol_elem).collect();
        let (_region, block) = region_with_block(&[]);
        let ir = OpBuilder::new(self.context, Insertion::End(block));
        for elem in &elems {
            block.add_argument(ir.ty(elem.value_type()), location);
        }
        let numbers = signature.symbols.iter().zip(elems).enumerate();
        let numbers = numbers.map(|(at, (symbol, elem))| {
            let number = Scalar {
                ir: argument_of(block, at),
                elem,
                div: symbol.divisible_by,
                tuple: None,
            };
            let binding = Binding {
                value: Value::Scalar(number),
                mutable: false,
                span: expr.span,
                regions: self.regions,
                read: Cell::new(true),
            };
            (symbol.name.as_str().into(), binding)
        });
        let scope: Scope<'c, 'a> = numbers.collect();
        let around = (self.ir.take(), self.entry.take());
        self.ir = Some(ir);
        self.entry = Some(block);
        self.frame.scopes.push(scope);
        let value = self.loaded(expr);
        self.frame.scopes.pop();
        (self.ir, self.entry) = around;
        Ok(match value? {
            Value::Int(value) => Some(AbiExpr::Const(value)),
            Value::Bool(value) => Some(AbiExpr::Const(i64::from(value))),
            Value::Scalar(scalar) => {
                let mut reader = Reader { block, left: MOST };
                let read = reader.number(scalar.ir).filter(|_| has_no_effects(block));
                if read.is_none() && reader.left == 0 {
                    let message = "this is too much for what the host computes at launch";
                    let label = format!("comes to more than {MOST} operations");
                    return self.error(codes::BAD_KERNEL, expr.span, message, label);
                }
                read
            }
            _ => None,
        })
    }
}

/// Whether an expression names a tensor of the kernel: the host has its extents alone.
pub(super) fn names_tensor(expr: &Expr, signature: &Signature<'_>) -> bool {
    names_any(expr, &mut |name| {
        let mut arguments = signature.arguments.iter();
        arguments
            .any(|argument| matches!(argument, Argument::Tensor(tensor) if tensor.name == *name))
    })
}

/// Whether the operations of a block do no more than compute.
fn has_no_effects(block: IrBlock) -> bool {
    let first = block.first_operation();
    let mut all = std::iter::successors(first, |op| op.next_in_block());
    // SAFETY: the operations are alive as long as the region of the block, which the caller holds.
    all.all(|op| has_no_effect(unsafe { IrOp::from_raw(op.to_raw()) }))
}

/// Reads off what operations of a block compute of its arguments, which are the symbols in their order.
struct Reader<'c> {
    block: IrBlock<'c>,
    /// How many more may be read.
    left: usize,
}

impl<'c> Reader<'c> {
    fn spend(&mut self, count: usize) -> Option<()> {
        let left = self.left.checked_sub(count);
        self.left = left.unwrap_or(0);
        left.map(drop)
    }

    fn number(&mut self, value: IrValue<'c>) -> Option<AbiExpr> {
        self.spend(1)?;
        let Some(op) = defining_op(value) else {
            let mut symbols = 0..self.block.argument_count();
            let symbol = symbols.find(|at| argument_of(self.block, *at) == value)?;
            return Some(AbiExpr::Symbol(symbol));
        };
        if ScfOp::If.is(op) {
            return self.branch(op, value);
        }
        let is_bool = |value: IrValue<'c>| value.r#type().to_string() == "i1";
        let make: Make = match ArithOp::of(op)? {
            ArithOp::Constant => {
                let known = op.attribute("value").ok()?;
                return Some(AbiExpr::Const(match is_bool(value) {
                    true => i64::from(BoolAttribute::try_from(known).ok()?.value()),
                    false => integer_value(known)?,
                }));
            }
            ArithOp::Extsi => return self.number(operands_of(op).next()?),
            ArithOp::Extui if operands_of(op).all(is_bool) => {
                return self.number(operands_of(op).next()?);
            }
            ArithOp::Select => {
                let mut numbers = operands_of(op).map(|value| self.number(value));
                let (condition, then) = (numbers.next()??, numbers.next()??);
                let otherwise = numbers.next()??;
                return self.chosen(condition, then, otherwise);
            }
            ArithOp::Cmpi => match integer_value(op.attribute("predicate").ok()?)? {
                0 => AbiExpr::Eq,
                1 => AbiExpr::Ne,
                2 => AbiExpr::Lt,
                3 => AbiExpr::Le,
                4 => AbiExpr::Gt,
                5 => AbiExpr::Ge,
                _ => return None,
            },
            ArithOp::Addi => AbiExpr::Add,
            ArithOp::Subi => AbiExpr::Sub,
            ArithOp::Muli => AbiExpr::Mul,
            ArithOp::Divsi => AbiExpr::Div,
            ArithOp::Ceildivsi => AbiExpr::CeilDiv,
            ArithOp::Remsi => AbiExpr::Rem,
            ArithOp::Minsi => AbiExpr::Min,
            ArithOp::Maxsi => AbiExpr::Max,
            ArithOp::Andi if is_bool(value) => AbiExpr::And,
            ArithOp::Ori if is_bool(value) => AbiExpr::Or,
            ArithOp::Xori if is_bool(value) => AbiExpr::Ne,
            _ => return None,
        };
        let mut numbers = operands_of(op).map(|value| self.number(value));
        let (a, b) = (numbers.next()??, numbers.next()??);
        Some(make(Box::new(a), Box::new(b)))
    }

    /// What a branch gives: of bools, whose second one is computed only where the first leaves it open; of numbers only where the host can
    /// compute both.
    fn branch(&mut self, op: IrOp<'c>, value: IrValue<'c>) -> Option<AbiExpr> {
        let number = (0..op.result_count()).find(|index| result_of(op, *index) == value)?;
        let mut given = |region: usize| {
            let region = op.region(region).ok()?;
            let end = region.first_block()?.terminator()?;
            // SAFETY: the operation is alive as long as the region that it stands in, which the caller holds.
            let end = unsafe { IrOp::from_raw(end.to_raw()) };
            self.number(operands_of(end).nth(number)?)
        };
        let (then, otherwise) = (given(0)?, given(1)?);
        let condition = self.number(operands_of(op).next()?)?;
        let both = |make: Make, a, b| Some(make(Box::new(a), Box::new(b)));
        match (then, otherwise) {
            (then, AbiExpr::Const(0)) if is_bool(&then) => both(AbiExpr::And, condition, then),
            (AbiExpr::Const(1), otherwise) if is_bool(&otherwise) => {
                both(AbiExpr::Or, condition, otherwise)
            }
            (then, otherwise) if !may_fail(&then) && !may_fail(&otherwise) => {
                self.chosen(condition, then, otherwise)
            }
            _ => None,
        }
    }

    /// One of two numbers, of which the host computes both: each times the condition that it is the one, 0 or 1.
    fn chosen(&mut self, condition: AbiExpr, then: AbiExpr, otherwise: AbiExpr) -> Option<AbiExpr> {
        self.spend(size(&condition))?;
        let not = AbiExpr::Eq(Box::new(condition.clone()), Box::new(AbiExpr::Const(0)));
        let (then, otherwise) = (AbiExpr::mul(condition, then), AbiExpr::mul(not, otherwise));
        Some(AbiExpr::add(then, otherwise))
    }
}

/// How many operations, constants and symbols it is of.
fn size(expr: &AbiExpr) -> usize {
    let parts = expr.operands();
    1 + parts.map_or(0, |(a, b)| size(a) + size(b))
}

/// Whether it is 0 or 1.
fn is_bool(expr: &AbiExpr) -> bool {
    match expr {
        AbiExpr::Const(value) => (0..=1).contains(value),
        AbiExpr::Eq(..) | AbiExpr::Ne(..) | AbiExpr::And(..) | AbiExpr::Or(..) => true,
        AbiExpr::Lt(..) | AbiExpr::Le(..) | AbiExpr::Gt(..) | AbiExpr::Ge(..) => true,
        _ => false,
    }
}

/// Whether it divides by what may be zero.
fn may_fail(expr: &AbiExpr) -> bool {
    let divides = match expr {
        AbiExpr::Div(_, by) | AbiExpr::CeilDiv(_, by) | AbiExpr::Rem(_, by) => {
            !matches!(**by, AbiExpr::Const(value) if value != 0)
        }
        _ => false,
    };
    let parts = expr.operands();
    divides || parts.is_some_and(|(a, b)| may_fail(a) || may_fail(b))
}
