//! Scalar expressions, and elements of tensors as numbers.

use super::{Flow, Interpreter, wrong_kind};
use crate::builtin;
use crate::index::lower::{self, Names};
use crate::problem::{Stop, TestProblem};
use crate::value::{Kind, Value};
use cutec_abi::arithmetic::{self, Operation};
use cutec_frontend::ast::{BinaryOp, Expr, ExprKind, Name, UnaryOp};
use cutec_frontend::eval::builtins;
use cutec_frontend::source::Span;
use std::sync::Arc;

impl Interpreter<'_> {
    /// Evaluates an expression without index variables.
    pub(in super::super) fn expr(&self, expr: &Expr) -> Result<Value, Stop> {
        let span = expr.span;
        match &*expr.kind {
            ExprKind::Int { value, .. } => i64::try_from(*value)
                .map(Value::Int)
                .map_err(|_| TestProblem::Overflow.at(span)),
            ExprKind::Float { value, .. } => Ok(Value::Float(*value)),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Str(text) => Ok(Value::Text(Arc::clone(text))),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                let parts: Result<Vec<Value>, Stop> =
                    parts.iter().map(|part| self.expr(part)).collect();
                parts.map(Value::Tuple)
            }
            ExprKind::Range { start, end, step } => {
                let step = match step {
                    Some(step) => self.integer(step)?,
                    None => 1,
                };
                if step == 0 {
                    let what = "a range of step 0";
                    return Err(TestProblem::NotHere { what }.at(span));
                }
                Ok(Value::Range {
                    start: self.integer(start)?,
                    end: self.integer(end)?,
                    step,
                })
            }
            ExprKind::Unary { op, operand } => match (op.node, self.expr(operand)?) {
                (UnaryOp::Neg, Value::Int(value)) => arithmetic::neg(value)
                    .map(Value::Int)
                    .map_err(|error| TestProblem::from(error).at(span)),
                (UnaryOp::Neg, Value::Float(value)) => Ok(Value::Float(-value)),
                (UnaryOp::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
                (UnaryOp::Not, Value::Int(value)) => Ok(Value::Int(!value)),
                (UnaryOp::Not, other) => Err(wrong_kind("a condition", &other, operand.span)),
                (UnaryOp::Neg, other) => Err(wrong_kind("a number", &other, operand.span)),
            },
            ExprKind::Binary { op, lhs, rhs } => self.binary(op.node, lhs, rhs, span),
            ExprKind::If(parts) => self.valued(self.branch(parts)?, span),
            ExprKind::Block(block) => self.valued(self.block(block)?, span),
            ExprKind::Field { base, name } => self.field(base, name),
            ExprKind::Index { base, indices } => self.index(expr, base, indices),
            ExprKind::Call { callee, args } => self.call(callee, args, span),
            ExprKind::Reduce { .. } => self.number(expr),
            ExprKind::Wildcard => Err(TestProblem::NotHere { what: "`_`" }.at(span)),
            ExprKind::Layout { .. } | ExprKind::Compose(_) | ExprKind::ScaledBasis { .. } => {
                let what = "a layout as a value";
                Err(TestProblem::NotHere { what }.at(span))
            }
            ExprKind::Record { .. } => {
                let what = "a record";
                Err(TestProblem::NotHere { what }.at(span))
            }
            ExprKind::Generic { .. } => {
                let what = "compile-time arguments without a call";
                Err(TestProblem::NotHere { what }.at(span))
            }
            ExprKind::Error => {
                let what = "what could not be read";
                Err(TestProblem::NotHere { what }.at(span))
            }
        }
    }

    fn valued(&self, result: (Flow, Option<Value>), span: Span) -> Result<Value, Stop> {
        match result {
            (Flow::Next, Some(value)) => Ok(value),
            _ => Err(TestProblem::WrongKind {
                expected: "a value",
                found: Kind::Nothing,
            }
            .at(span)),
        }
    }

    /// What a name stands for: a variable or a constant, else what a kernel can be given by name, be it called here or not.
    fn name(&self, name: &Arc<str>, span: Span) -> Result<Value, Stop> {
        if let Some(value) = self.value(name, span.file) {
            self.weigh(&value, span)?;
            return Ok(value);
        }
        let entries = builtins::entries(name);
        if self.function(name, span.file).is_some()
            || self.kernel(name, span.file).is_some()
            || builtin::is_known(name)
            || entries.iter().any(|entry| entry.is_function())
        {
            return Ok(Value::Function(Arc::clone(name), span.file));
        }
        if entries.is_empty() && builtins::names().any(|word| word == &**name) {
            return Ok(Value::Word(Arc::clone(name)));
        }
        Err(self.unknown(name, span))
    }

    pub(super) fn integer(&self, expr: &Expr) -> Result<i64, Stop> {
        match self.expr(expr)? {
            Value::Int(value) => Ok(value),
            other => Err(wrong_kind("an integer", &other, expr.span)),
        }
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr, span: Span) -> Result<Value, Stop> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let lhs = self.condition(lhs)?;
            return match (op, lhs) {
                (BinaryOp::And, false) | (BinaryOp::Or, true) => Ok(Value::Bool(lhs)),
                _ => self.condition(rhs).map(Value::Bool),
            };
        }
        binary(op, self.expr(lhs)?, self.expr(rhs)?, span)
    }

    fn field(&self, base: &Expr, name: &Name) -> Result<Value, Stop> {
        let base_value = self.expr(base)?;
        match (&*name.node, &base_value) {
            ("shape", Value::Tensor(tensor)) => {
                let shape = tensor.shape().iter().copied();
                Ok(Value::Tuple(shape.map(Value::Int).collect()))
            }
            ("dtype", Value::Tensor(tensor)) => Ok(Value::DType(tensor.dtype())),
            (other, _) => {
                let name = other.to_owned();
                let of = base_value.kind();
                Err(TestProblem::UnknownField { name, of }.at(base.span))
            }
        }
    }

    /// An element of a tuple, or of a tensor.
    fn index(&self, expr: &Expr, base: &Expr, indices: &[Expr]) -> Result<Value, Stop> {
        let value = self.expr(base)?;
        let Value::Tuple(parts) = value else {
            return self.number(expr);
        };
        let [index] = indices else {
            return Err(TestProblem::Rank {
                tensor: "the tuple".to_owned(),
                expected: 1,
                found: indices.len(),
            }
            .at(expr.span));
        };
        let at = self.integer(index)?;
        let found = usize::try_from(at).ok().and_then(|at| parts.get(at));
        found.cloned().ok_or_else(|| {
            TestProblem::OutOfRange {
                tensor: "the tuple".to_owned(),
                mode: 0,
                extent: parts.len() as i64,
                low: at,
                high: at,
            }
            .at(index.span)
        })
    }

    /// An expression of index notation without indices of its own: one number, an integer if all are that it is made of.
    fn number(&self, expr: &Expr) -> Result<Value, Stop> {
        let lower::Valued { program, integer } = lower::lower_number(self, expr)?;
        if self.checks() {
            self.guesses.set(true);
            return Ok(match integer {
                true => Value::Int(1),
                false => Value::Float(f64::NAN),
            });
        }
        let number = program.fold(
            || f64::NAN,
            |_, block| block.roots[0][0],
            |a, b| if a.is_nan() { b } else { a },
        );
        Ok(match integer {
            true => Value::Int(number as i64),
            false => Value::Float(number),
        })
    }
}

/// `lhs op rhs`, as the compiler computes what it knows ([`cutec_abi::arithmetic`]).
pub(crate) fn binary(op: BinaryOp, lhs: Value, rhs: Value, span: Span) -> Result<Value, Stop> {
    if let (Value::DType(a), Value::DType(b), BinaryOp::Eq | BinaryOp::Ne) = (&lhs, &rhs, op) {
        return Ok(Value::Bool((a == b) == (op == BinaryOp::Eq)));
    }
    if let (Value::Bool(a), Value::Bool(b)) = (&lhs, &rhs) {
        return match (op, op.operation()) {
            (BinaryOp::Eq, _) => Ok(Value::Bool(a == b)),
            (BinaryOp::Ne, _) => Ok(Value::Bool(a != b)),
            (_, Some(Operation::BitAnd)) => Ok(Value::Bool(a & b)),
            (_, Some(Operation::BitOr)) => Ok(Value::Bool(a | b)),
            (_, Some(Operation::BitXor)) => Ok(Value::Bool(a ^ b)),
            _ => Err(wrong_kind("a number", &lhs, span)),
        };
    }
    if let (Value::Int(a), Value::Int(b)) = (&lhs, &rhs) {
        if let Some(comparison) = op.comparison() {
            return Ok(Value::Bool(comparison.holds(a, b)));
        }
        if let Some(operation) = op.operation() {
            let value = operation.integers(*a, *b);
            return value
                .map(Value::Int)
                .map_err(|error| TestProblem::from(error).at(span));
        }
    }
    let number = |value: &Value| {
        value
            .number()
            .ok_or_else(|| wrong_kind("a number", value, span))
    };
    let (a, b) = (number(&lhs)?, number(&rhs)?);
    if let Some(comparison) = op.comparison() {
        return Ok(Value::Bool(comparison.holds(&a, &b)));
    }
    match op.operation() {
        // The remainder of floating numbers is for references alone.
        Some(Operation::Rem) => Ok(Value::Float(a % b)),
        Some(operation) => operation.floats(a, b).map(Value::Float).ok_or_else(|| {
            let wrong = if matches!(lhs, Value::Int(_)) {
                &rhs
            } else {
                &lhs
            };
            wrong_kind("an integer", wrong, span)
        }),
        None => Err(wrong_kind("a condition", &lhs, span)),
    }
}
