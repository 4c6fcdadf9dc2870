//! Arithmetic on numbers that are known while compiling.
//!
//! What an operation gives stands in [`cutec_abi::arithmetic`]; here are the types. Integers and floating numbers
//! without a type have 64 bits and adapt to what they meet. A number that has a type, `f16(2)`, is computed in it, as
//! a kernel would: each result is rounded to it.

use super::values::{Value, elem_name};
use super::{Evaluator, Result};
use crate::ast::BinaryOp;
use crate::diagnostics::{Diagnostic, codes};
use crate::rules;
use crate::source::Span;
use cutec_abi::DType;
use cutec_abi::arithmetic::{self, ArithmeticError, Comparison, Operation};
use cutec_dialects::elem::Elem;

/// Two known numbers of one form.
enum Known {
    Bools(bool, bool),
    Integers(i64, i64),
    Floats(f64, f64),
    /// Of a type.
    Typed(f64, f64, Elem),
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `lhs op rhs` of numbers and bools that are known; `None` for any other operands.
    pub(super) fn known_binary(
        &mut self,
        op: BinaryOp,
        (lhs, left): (&Value<'c, 'a>, Span),
        (rhs, right): (&Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        if lhs.is_known_number() && rhs.is_known_number() {
            self.check_same_type(op.symbol(), (lhs, left), (rhs, right), span)?;
        }
        let Some(operands) = known(lhs, rhs) else {
            return Ok(None);
        };
        if let Some(comparison) = op.comparison() {
            return Ok(match operands {
                Known::Bools(a, b) if matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
                    Some(Value::Bool(comparison.holds(&a, &b)))
                }
                Known::Bools(..) => None,
                Known::Integers(a, b) => Some(Value::Bool(comparison.holds(&a, &b))),
                Known::Floats(a, b) | Known::Typed(a, b, _) => {
                    Some(Value::Bool(comparison.holds(&a, &b)))
                }
            });
        }
        match op.operation() {
            Some(operation) => self.known_operation(operation, operands, span),
            None => Ok(None),
        }
    }

    /// `min`, `max` and `ceil_div` of numbers that are known; `None` for any other operands.
    pub(super) fn known_function(
        &mut self,
        operation: Operation,
        (lhs, left): (&Value<'c, 'a>, Span),
        (rhs, right): (&Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        if lhs.is_known_number() && rhs.is_known_number() {
            let name = operation.to_string();
            self.check_same_type(&name, (lhs, left), (rhs, right), span)?;
        }
        match known(lhs, rhs) {
            Some(Known::Bools(..)) | None => Ok(None),
            Some(operands) => self.known_operation(operation, operands, span),
        }
    }

    fn known_operation(
        &mut self,
        operation: Operation,
        operands: Known,
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        let value = match operands {
            Known::Bools(a, b) => match operation {
                Operation::BitAnd => Value::Bool(a & b),
                Operation::BitOr => Value::Bool(a | b),
                Operation::BitXor => Value::Bool(a ^ b),
                _ => return Ok(None),
            },
            Known::Integers(a, b) => match operation.integers(a, b) {
                Ok(value) => Value::Int(value),
                Err(error) => return self.no_result(operation, (a, b), error, span),
            },
            Known::Floats(a, b) => match operation.floats(a, b) {
                Some(value) => Value::Float(value),
                None => return self.not_for_floats(operation, span),
            },
            Known::Typed(a, b, elem) if elem.is_float() => match operation.floats(a, b) {
                Some(value) => Value::Typed(rounded(value, elem), elem),
                None => return self.not_for_floats(operation, span),
            },
            Known::Typed(a, b, elem) => {
                let (a, b) = (a as i64, b as i64);
                if elem == Elem::U32
                    && let Some(value) = wrapping(operation, a, b)
                {
                    return Ok(Some(Value::Typed(f64::from(value), elem)));
                }
                let checked = operation.integers(a, b).and_then(|value| {
                    let fits = rules::fits(value, elem);
                    fits.then_some(value).ok_or(ArithmeticError::Overflow)
                });
                match checked {
                    Ok(value) => Value::Typed(value as f64, elem),
                    Err(ArithmeticError::Overflow) => {
                        let shown = shown(operation, a, b);
                        return self.does_not_fit(&shown, elem_name(elem), span);
                    }
                    Err(error) => return self.no_result(operation, (a, b), error, span),
                }
            }
        };
        Ok(Some(value))
    }

    /// Two numbers of which both have a type must have the same.
    fn check_same_type(
        &mut self,
        what: &str,
        (lhs, left): (&Value<'c, 'a>, Span),
        (rhs, right): (&Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<()> {
        match (lhs, rhs) {
            (Value::Typed(_, a), Value::Typed(_, b)) if a != b => {
                self.mixed_types(what, (*a, left), (*b, right), span)
            }
            (Value::Typed(_, elem), Value::Float(_)) if !elem.is_float() => {
                self.expected(&format!("a number of {}", elem_name(*elem)), rhs, right)
            }
            (Value::Float(_), Value::Typed(_, elem)) if !elem.is_float() => {
                self.expected(&format!("a number of {}", elem_name(*elem)), lhs, left)
            }
            _ => Ok(()),
        }
    }

    /// Reports why an operation on known integers has no result.
    fn no_result<T>(
        &mut self,
        operation: Operation,
        (a, b): (i64, i64),
        error: ArithmeticError,
        span: Span,
    ) -> Result<T> {
        match error {
            ArithmeticError::DivisionByZero => {
                self.division_by_zero(&format!("division of {a} by zero"), span)
            }
            ArithmeticError::Overflow => {
                self.does_not_fit(&shown(operation, a, b), "64 bits", span)
            }
            ArithmeticError::Shift(by) => self.shift_too_far(by, 64, span),
        }
    }

    /// Reports a division by zero.
    pub(super) fn division_by_zero<T>(&mut self, message: &str, span: Span) -> Result<T> {
        self.error(codes::ARITHMETIC, span, message, "the divisor is 0")
    }

    /// Reports a result that a type does not have.
    pub(super) fn does_not_fit<T>(&mut self, what: &str, into: &str, span: Span) -> Result<T> {
        let message = format!("`{what}` does not fit {into}");
        self.error(codes::ARITHMETIC, span, message, "here")
    }

    /// Reports a shift by a number of bits that the type does not have.
    pub(super) fn shift_too_far<T>(&mut self, by: i64, bits: i64, span: Span) -> Result<T> {
        let message = format!("a shift by {by} of a number of {bits} bits");
        let label = format!("expected 0 to {}", bits - 1);
        self.error(codes::ARITHMETIC, span, message, label)
    }

    fn not_for_floats<T>(&mut self, operation: Operation, span: Span) -> Result<T> {
        let message = format!("`{operation}` is not defined for floating numbers");
        self.error(codes::WRONG_TYPE, span, message, "here")
    }

    /// Reports operands of two types. Of `place += value` the value is what can be converted.
    pub(super) fn mixed_types<T>(
        &mut self,
        what: &str,
        (a, left): (Elem, Span),
        (b, right): (Elem, Span),
        span: Span,
    ) -> Result<T> {
        let updates = self.is_update(what, left, right);
        let (to, from) = match updates || wider(a, b) == a {
            true => (a, right),
            false => (b, left),
        };
        let (a, b) = (elem_name(a), elem_name(b));
        let message = format!("`{what}` has operands of different types: {a} and {b}");
        let label = "nothing is converted silently";
        let diagnostic = Diagnostic::error(codes::MIXED_TYPES, span, message, label)
            .with_label(left, format!("this is {a}"))
            .with_label(right, format!("this is {b}"));
        let which = match updates {
            true => "what is assigned",
            false => "one of them",
        };
        let help = format!("convert {which}: `{}({})`", elem_name(to), self.text(from));
        Err(self.report(diagnostic.with_help(help)))
    }

    /// Whether two operands are those of `place += value`.
    fn is_update(&self, operator: &str, place: Span, value: Span) -> bool {
        if place.file != value.file || place.end > value.start {
            return false;
        }
        let between = self.text(Span::new(place.file, place.end, value.start));
        between.trim().strip_suffix('=') == Some(operator)
    }

    /// `to(value)` of a number or bool that is known; `None` where the result is no number that can be kept known.
    pub(super) fn known_conversion(
        &mut self,
        to: Elem,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        let (number, integer) = match value {
            Value::Int(value) => (*value as f64, Some(*value)),
            // Integers keep its lower bits.
            Value::Large(value) if !to.is_float() => (*value as f64, Some(*value as i64)),
            Value::Large(value) if to == Elem::F32 => (f64::from(*value as f32), None),
            Value::Large(value) => (*value as f64, None),
            Value::Bool(flag) => (f64::from(u8::from(*flag)), Some(i64::from(*flag))),
            Value::Float(value) => (*value, None),
            Value::Typed(value, elem) if elem.is_float() => (*value, None),
            Value::Typed(value, _) => (*value, Some(*value as i64)),
            _ => return Ok(None),
        };
        if to == Elem::I1 {
            return Ok(Some(Value::Bool(number != 0.0)));
        }
        if to.is_float() {
            // What has no arithmetic is a constant of its bits.
            let value = match integer {
                // By way of f64 it would be rounded twice.
                Some(value) if to == Elem::F32 => f64::from(value as f32),
                _ if to.has_arithmetic() => rounded(number, to),
                _ => return Ok(None),
            };
            return Ok(Some(Value::Typed(value, to)));
        }
        let (bits, signed) = (to.bits() as u32, !to.is_unsigned());
        let value = match integer {
            Some(value) => arithmetic::wrapped(value, bits, signed),
            None => match arithmetic::to_integer(number, bits, signed) {
                Ok(value) => value,
                Err(_) => {
                    let name = elem_name(to);
                    let message = format!("{number:?} does not fit {name}");
                    let label = "known while compiling";
                    let diagnostic = Diagnostic::error(codes::ARITHMETIC, span, message, label);
                    return Err(self.report(diagnostic.with_help(format!(
                        "`{name}(x, saturate = true)` takes the nearest number that fits"
                    ))));
                }
            },
        };
        Ok(Some(match to {
            Elem::I32 | Elem::I64 => Value::Int(value),
            Elem::U8 | Elem::U64 => {
                let number = match u64::try_from(value) {
                    Ok(_) => Value::Int(value),
                    Err(_) => Value::Large(value as u64),
                };
                let ir = self.number(&number, to, span)?;
                super::arith::number_or_vector(ir, to, None)
            }
            _ => Value::Typed(value as f64, to),
        }))
    }
}

/// What wraps in an u32: as at run time, numbers without sign are bits of which hashes and counters are made.
fn wrapping(operation: Operation, a: i64, b: i64) -> Option<u32> {
    let value = match operation {
        Operation::Add => a.wrapping_add(b),
        Operation::Sub => a.wrapping_sub(b),
        Operation::Mul => a.wrapping_mul(b),
        Operation::Shl if (0..32).contains(&b) => a << b,
        _ => return None,
    };
    Some(value as u32)
}

/// A known result as text: `7 / 0`, `ceil_div(7, 0)`.
fn shown(operation: Operation, a: i64, b: i64) -> String {
    match operation {
        Operation::CeilDiv | Operation::Min | Operation::Max => format!("{operation}({a}, {b})"),
        _ => format!("{a} {operation} {b}"),
    }
}

fn known(lhs: &Value<'_, '_>, rhs: &Value<'_, '_>) -> Option<Known> {
    let number = |value: &Value<'_, '_>| match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) | Value::Typed(value, _) => Some(*value),
        _ => None,
    };
    Some(match (lhs, rhs) {
        (Value::Bool(a), Value::Bool(b)) => Known::Bools(*a, *b),
        (Value::Int(a), Value::Int(b)) => Known::Integers(*a, *b),
        (Value::Typed(_, elem), other) | (other, Value::Typed(_, elem)) => {
            number(other)?;
            let adapted = |value: f64| match elem.is_float() {
                true => rounded(value, *elem),
                false => value,
            };
            Known::Typed(adapted(number(lhs)?), adapted(number(rhs)?), *elem)
        }
        _ => Known::Floats(number(lhs)?, number(rhs)?),
    })
}

/// The number of a floating type that is nearest to a number, ties to even.
pub(super) fn rounded(value: f64, elem: Elem) -> f64 {
    match (elem, elem_name(elem).parse::<DType>()) {
        (Elem::F64, _) => value,
        (_, Ok(dtype)) => {
            let mut bytes = [0; 8];
            dtype.write(value, &mut bytes);
            dtype.read(&bytes)
        }
        (_, Err(_)) => value,
    }
}

impl BinaryOp {
    /// The operation of numbers; none for comparisons, `&&` and `||`.
    pub fn operation(self) -> Option<Operation> {
        use BinaryOp::*;
        Some(match self {
            Add => Operation::Add,
            Sub => Operation::Sub,
            Mul => Operation::Mul,
            Div => Operation::Div,
            Rem => Operation::Rem,
            BitAnd => Operation::BitAnd,
            BitOr => Operation::BitOr,
            BitXor => Operation::BitXor,
            Shl => Operation::Shl,
            Shr => Operation::Shr,
            Or | And | Eq | Ne | Lt | Le | Gt | Ge => return None,
        })
    }

    /// The comparison, where it is one.
    pub fn comparison(self) -> Option<Comparison> {
        use BinaryOp::*;
        Some(match self {
            Eq => Comparison::Eq,
            Ne => Comparison::Ne,
            Lt => Comparison::Lt,
            Le => Comparison::Le,
            Gt => Comparison::Gt,
            Ge => Comparison::Ge,
            Or | And | Add | Sub | Mul | Div | Rem | BitAnd | BitOr | BitXor | Shl | Shr => {
                return None;
            }
        })
    }
}
/// The type of both that loses least of the other one's numbers: for messages that name a conversion.
pub(super) fn wider(a: Elem, b: Elem) -> Elem {
    let rank = |elem: Elem| (elem.is_float(), elem.bits());
    match rank(b) > rank(a) {
        true => b,
        false => a,
    }
}
