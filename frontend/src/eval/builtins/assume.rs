//! `assume(x % 8 == 0)`: what is known of a run-time integer that no type says, such as one that was read from memory.

use super::builtin::{AtPlace, Builtin, Kind, Lowering, arg};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::signature::{MAX_DIVISOR, common_multiple};
use crate::eval::values::{Scalar, Value};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::elem::Elem;
use std::sync::Arc;

pub(super) const TABLE: &[Builtin] = &[Builtin::new(
    "assume",
    Lowering::Place(AtPlace::Assume),
    "Promises that `x % n == 0` for a run-time integer x that `let` named, for the rest of the block; several are joined by `&&`. Nothing checks it but accesses that it makes wide.",
)
.takes(&[arg("condition", Kind::Bool)])];

pub(super) fn assume<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    args: &'a [Arg],
    whole: &'a Expr,
) -> Result<Value<'c, 'a>> {
    match args {
        [
            Arg {
                name: None, value, ..
            },
        ] => hold(ev, value),
        _ => {
            let message = "`assume` takes one condition";
            ev.error(codes::WRONG_ARGUMENTS, whole.span, message, "here")
        }
    }
}

/// Takes a condition to hold from here on.
fn hold<'c, 'a>(ev: &mut Evaluator<'c, 'a>, condition: &'a Expr) -> Result<Value<'c, 'a>> {
    match &*condition.kind {
        ExprKind::Binary { op, lhs, rhs } if op.node == BinaryOp::And => {
            hold(ev, lhs)?;
            hold(ev, rhs)
        }
        ExprKind::Binary { op, lhs, rhs } if op.node == BinaryOp::Eq => match &*lhs.kind {
            ExprKind::Binary {
                op: inner,
                lhs: value,
                rhs: by,
            } if inner.node == BinaryOp::Rem && value.as_name().is_some() => {
                let name = value.as_name().cloned().ok_or(Stop::Reported)?;
                let rest = ev.static_int("the remainder assumed", rhs)?;
                let divisor = ev.static_int("the divisor assumed", by)?;
                if rest != 0 || !(1..=MAX_DIVISOR).contains(&divisor) {
                    return other(ev, condition);
                }
                divides(ev, &name, divisor, value.span)
            }
            _ => other(ev, condition),
        },
        _ => other(ev, condition),
    }
}

/// A condition of another form: one that is known is checked.
fn other<'c, 'a>(ev: &mut Evaluator<'c, 'a>, condition: &'a Expr) -> Result<Value<'c, 'a>> {
    match ev.condition_value(condition)? {
        Value::Bool(true) => Ok(Value::Unit),
        Value::Bool(false) => {
            let message = "what is assumed does not hold";
            ev.error(
                codes::STATIC_ASSERT,
                condition.span,
                message,
                "this is false",
            )
        }
        _ => {
            let message = "nothing follows from this assumption";
            let label = "expected `x % 8 == 0` of a name";
            let diagnostic =
                Diagnostic::error(codes::ILLEGAL_OPERATION, condition.span, message, label);
            let help = "name the value with `let`; conditions are joined by `&&`";
            Err(ev.report(diagnostic.with_help(help)))
        }
    }
}

/// For the rest of the block `name` is a multiple of `divisor`.
fn divides<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &Arc<str>,
    divisor: i64,
    span: Span,
) -> Result<Value<'c, 'a>> {
    let value = ev.name(name, span)?;
    let mutable = ev.lookup(name).is_some_and(|binding| binding.mutable);
    match value {
        Value::Int(value) if value % divisor == 0 => Ok(Value::Unit),
        Value::Int(value) => {
            let message = format!("`{name}` is {value}, which {divisor} does not divide");
            ev.error(codes::STATIC_ASSERT, span, message, "known while compiling")
        }
        Value::Scalar(_) if mutable => {
            let message = format!("`{name}` is a variable: what is assumed of it may not last");
            let diagnostic = Diagnostic::error(
                codes::ILLEGAL_OPERATION,
                span,
                message,
                "declared with `var`",
            );
            let help = format!("name its value first: `let now = {name};`");
            Err(ev.report(diagnostic.with_help(help)))
        }
        Value::Scalar(scalar) if matches!(scalar.elem, Elem::I32 | Elem::I64) => {
            let div = common_multiple(scalar.div, divisor).unwrap_or(divisor);
            let mut scalar = Scalar { div, ..scalar };
            scalar.tuple = Some(ev.assume(&scalar, span)?);
            ev.bind(name.clone(), Value::Scalar(scalar), false, span);
            Ok(Value::Unit)
        }
        found => ev.expected("an i32 or i64", &found, span),
    }
}
