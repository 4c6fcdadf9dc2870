//! Operators and arithmetic functions, on numbers known at compile time, run-time numbers and vectors.

use super::signature::MAX_DIVISOR;
use super::values::{Scalar, Value, Vector, elem_name};
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, Expr};
use crate::diagnostics::{Diagnostic, codes};
use crate::rules::{common, computes_by, operation};
use crate::source::Span;
use cutec_abi::arithmetic::{self, Operation};
use cutec_abi::counted;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, VectorOp};
use cutec_layout::{divisor_of_product, gcd};

/// Two operands brought to one form.
pub(super) struct Pair<'c> {
    pub lhs: IrValue<'c>,
    pub rhs: IrValue<'c>,
    pub elem: Elem,
    /// Number of elements of vectors.
    pub len: Option<i64>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `lhs op rhs`, but for `&&` and `||`.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: (Value<'c, 'a>, Span),
        rhs: (Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        if let Some(value) = self.known_binary(op, (&lhs.0, lhs.1), (&rhs.0, rhs.1), span)? {
            return Ok(value);
        }
        match (&lhs.0, &rhs.0) {
            (Value::Type(a), Value::Type(b)) if op == BinaryOp::Eq => {
                return Ok(Value::Bool(a == b));
            }
            (Value::Type(a), Value::Type(b)) if op == BinaryOp::Ne => {
                return Ok(Value::Bool(a != b));
            }
            (Value::Str(a), Value::Str(b)) if op == BinaryOp::Eq => return Ok(Value::Bool(a == b)),
            (Value::Str(a), Value::Str(b)) if op == BinaryOp::Ne => return Ok(Value::Bool(a != b)),
            (Value::Function(_) | Value::Builtin(_), Value::Function(_) | Value::Builtin(_))
                if matches!(op, BinaryOp::Eq | BinaryOp::Ne) =>
            {
                return Ok(Value::Bool(lhs.0.is_same(&rhs.0) == (op == BinaryOp::Eq)));
            }
            (Value::Record(_), Value::Record(_)) if matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
                let equal = self.equal_records(&lhs, &rhs, span)?;
                return match op {
                    BinaryOp::Ne => self.not(&equal, span),
                    _ => Ok(equal),
                };
            }
            (a, b) if matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
                if let (Some(a), Some(b)) = (a.as_static(), b.as_static()) {
                    let equal = super::values::notation(&a) == super::values::notation(&b);
                    return Ok(Value::Bool(equal == (op == BinaryOp::Eq)));
                }
            }
            _ => {}
        }
        if matches!(lhs.0, Value::Tile(_)) || matches!(rhs.0, Value::Tile(_)) {
            let (left, right) = (lhs.1, rhs.1);
            return self.map_tiles(vec![lhs, rhs], span, |this, mut elements| {
                match (elements.pop(), elements.pop()) {
                    (Some(b), Some(a)) => this.binary(op, (a, left), (b, right), span),
                    _ => Err(Stop::Reported),
                }
            });
        }
        if op.is_bitwise() && lhs.0.is_bool() != rhs.0.is_bool() {
            let (bool, number) = match lhs.0.is_bool() {
                true => (lhs.1, rhs.1),
                false => (rhs.1, lhs.1),
            };
            return self.bits_of_bool(op, bool, number, span);
        }
        let div = self.known_divisor(op, &lhs.0, &rhs.0);
        let by = match &rhs.0 {
            Value::Int(value) => Some(*value),
            _ => None,
        };
        let pair = self.pair(op.symbol(), lhs, rhs, span)?;
        if let Some(by) = by.filter(|_| !pair.elem.is_float()) {
            self.check_known_operand(op, by, pair.elem, span)?;
        }
        if op.is_comparison() {
            return self.compare(op, pair, span);
        }
        let Some(name) = operation(op, pair.elem) else {
            let message = format!(
                "`{}` is not defined for {}",
                op.symbol(),
                elem_name(pair.elem)
            );
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, "here");
            return Err(self.report(match op {
                BinaryOp::BitXor if pair.elem.is_float() => {
                    diagnostic.with_help("a power is a product: write `x * x`")
                }
                _ if pair.elem == Elem::I1 => diagnostic.with_help(
                    "conditions are combined by `&`, `|` and `^`; `i32(c)` is 1 where `c` is true, else 0",
                ),
                BinaryOp::Rem if pair.elem.is_float() => diagnostic.with_help(
                    "write `x - y * trunc(x / y)`, with `floor` for a result of the sign of y",
                ),
                _ => diagnostic,
            }));
        };
        let result = self.elementwise(name, &pair, span)?;
        Ok(match result {
            Value::Scalar(scalar) => Value::Scalar(Scalar { div, ..scalar }),
            other => other,
        })
    }

    /// Reports `i & 1 == 0`, which compares before it combines bits.
    fn bits_of_bool<T>(&mut self, op: BinaryOp, bool: Span, number: Span, span: Span) -> Result<T> {
        let symbol = op.symbol();
        let message = format!("`{symbol}` of a number and a bool");
        let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, "two kinds of values")
            .with_label(bool, "this is a bool")
            .with_label(number, "this is a number");
        Err(self.report(diagnostic.with_help(format!(
            "comparisons bind tighter than `{symbol}`: write `(i {symbol} 1) == 0`"
        ))))
    }

    /// Refuses a run-time integer divided by zero, or shifted by more bits than it has.
    fn check_known_operand(&mut self, op: BinaryOp, by: i64, elem: Elem, span: Span) -> Result<()> {
        match op {
            _ if computes_by(op, by, elem) => Ok(()),
            BinaryOp::Shl | BinaryOp::Shr => self.shift_too_far(by, elem.bits(), span),
            _ => self.division_by_zero(&format!("`{}` by zero", op.symbol()), span),
        }
    }

    /// What is known to divide an integer; 0 of 0.
    pub(super) fn divisor(&self, value: &Value<'c, 'a>) -> i64 {
        match value {
            Value::Int(value) => value.checked_abs().unwrap_or(1),
            Value::Scalar(scalar) => scalar.div,
            _ => 1,
        }
    }

    /// What divides the result of integer arithmetic.
    fn known_divisor(&self, op: BinaryOp, lhs: &Value<'c, 'a>, rhs: &Value<'c, 'a>) -> i64 {
        let (a, b) = (self.divisor(lhs), self.divisor(rhs));
        match op {
            BinaryOp::Mul => divisor_of_product(a, b, MAX_DIVISOR),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Rem => gcd(a, b).max(1),
            BinaryOp::Div => match rhs {
                Value::Int(by) if *by > 0 && a % by == 0 && a > 0 => a / by,
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Both operands as vectors or numbers of one type; literals adapt, numbers are repeated.
    pub(super) fn pair(
        &mut self,
        what: &str,
        lhs: (Value<'c, 'a>, Span),
        rhs: (Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Pair<'c>> {
        let left = self.operand(&lhs.0, lhs.1)?;
        let right = self.operand(&rhs.0, rhs.1)?;
        let form = |value: &Value<'c, 'a>| match value {
            Value::Scalar(scalar) => Some((scalar.elem, None)),
            Value::Vector(vector) => Some((vector.elem, Some(vector.len))),
            Value::Typed(_, elem) => Some((*elem, None)),
            _ => None,
        };
        let literal = |value: &Value<'c, 'a>| {
            matches!(
                value,
                Value::Int(_) | Value::Large(_) | Value::Float(_) | Value::Bool(_)
            )
        };
        for (value, span) in [(&left, lhs.1), (&right, rhs.1)] {
            if form(value).is_none() && !literal(value) {
                return self.expected(&format!("a number for `{what}`"), value, span);
            }
        }
        let (elem, len) = match (form(&left), form(&right)) {
            (Some((a, m)), Some((b, n))) => {
                let Some(elem) = common(a, b) else {
                    return self.mixed_types(what, (a, lhs.1), (b, rhs.1), span);
                };
                match (m, n) {
                    (Some(m), Some(n)) if m != n => {
                        let message = format!(
                            "`{what}` has operands of {m} and of {}",
                            counted(n, "element")
                        );
                        return self.error(
                            codes::SHAPE_MISMATCH,
                            span,
                            message,
                            "they must have as many",
                        );
                    }
                    _ => (elem, m.or(n)),
                }
            }
            (Some(form), None) | (None, Some(form)) => form,
            (None, None) => match (&left, &right) {
                (Value::Float(_), _) | (_, Value::Float(_)) => (Elem::F32, None),
                (Value::Large(_), _) | (_, Value::Large(_)) => (Elem::U64, None),
                (Value::Bool(_), _) => (Elem::I1, None),
                _ => (Elem::I32, None),
            },
        };
        if !elem.has_arithmetic() {
            let name = elem_name(elem);
            let message = format!("`{what}` is not defined for {name}");
            let label = format!("nothing is computed in {name}");
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, label);
            let wide = if elem.is_float() { "f32" } else { "i32" };
            let is_zero = |value: &Value<'c, 'a>| matches!(value, Value::Int(0));
            let help = match what {
                "==" | "!=" if elem == Elem::U8 && (is_zero(&left) || is_zero(&right)) => {
                    "`bool(x)` is whether it is not 0; for anything else convert to i32 first"
                        .to_owned()
                }
                _ => format!("convert to {wide} first"),
            };
            return Err(self.report(diagnostic.with_help(help)));
        }
        let lhs = self.spread(&left, elem, len, lhs.1)?;
        let rhs = self.spread(&right, elem, len, rhs.1)?;
        Ok(Pair {
            lhs,
            rhs,
            elem,
            len,
        })
    }

    /// A number or vector as `elem`, repeated `len` times if that is more than it has.
    pub(super) fn spread(
        &mut self,
        value: &Value<'c, 'a>,
        elem: Elem,
        len: Option<i64>,
        span: Span,
    ) -> Result<IrValue<'c>> {
        match (value, len) {
            (Value::Vector(vector), _) => Ok(vector.ir),
            (
                Value::Int(_)
                | Value::Large(_)
                | Value::Float(_)
                | Value::Bool(_)
                | Value::Typed(..),
                Some(len),
            ) => {
                let literal = self.literal(value, elem, span)?;
                let ir = self.ir(span)?;
                let ty = ir.numbers_type(elem, Some(len));
                let number = literal.attribute(ir, ir.number_type(elem));
                Ok(ir.number(ir.splat(ty, number), ty))
            }
            (_, Some(len)) => {
                let number = self.number(value, elem, span)?;
                let ir = self.ir(span)?;
                let ty = ir.numbers_type(elem, Some(len));
                Ok(ir.value(VectorOp::Broadcast, &[number], &[], ty))
            }
            (Value::Scalar(scalar), None)
                if scalar.elem != elem && !elem.is_float() && !scalar.elem.is_float() =>
            {
                let ir = self.ir(span)?;
                let ty = ir.ty(elem.value_type());
                let extend = match scalar.elem.is_unsigned() {
                    true => ArithOp::Extui,
                    false => ArithOp::Extsi,
                };
                Ok(ir.value(extend, &[scalar.ir], &[], ty))
            }
            (_, None) => self.number(value, elem, span),
        }
    }

    /// An operation of two operands and a result of one type.
    pub(super) fn elementwise(
        &mut self,
        op: ArithOp,
        pair: &Pair<'c>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let ir = self.ir(span)?;
        let ty = ir.numbers_type(pair.elem, pair.len);
        let result = ir.value(op, &[pair.lhs, pair.rhs], &[], ty);
        Ok(number_or_vector(result, pair.elem, pair.len))
    }

    fn compare(&mut self, op: BinaryOp, pair: Pair<'c>, span: Span) -> Result<Value<'c, 'a>> {
        let (name, predicate) = if pair.elem.is_float() {
            // MLIR's `arith.cmpf`: ordered comparisons, and `une` for `!=`.
            let at = match op {
                BinaryOp::Eq => 1,
                BinaryOp::Gt => 2,
                BinaryOp::Ge => 3,
                BinaryOp::Lt => 4,
                BinaryOp::Le => 5,
                _ => 13,
            };
            (ArithOp::Cmpf, at)
        } else {
            let at = match op {
                BinaryOp::Eq => 0,
                BinaryOp::Ne => 1,
                BinaryOp::Lt => 2,
                BinaryOp::Le => 3,
                BinaryOp::Gt => 4,
                _ => 5,
            };
            // Those without sign follow.
            let ordered = at > 1 && pair.elem.is_unsigned() && pair.elem != Elem::I1;
            (ArithOp::Cmpi, if ordered { at + 4 } else { at })
        };
        let ir = self.ir(span)?;
        let attr = ir.i64(predicate);
        let ty = ir.numbers_type(Elem::I1, pair.len);
        let result = ir.value(name, &[pair.lhs, pair.rhs], &[("predicate", attr)], ty);
        Ok(number_or_vector(result, Elem::I1, pair.len))
    }

    /// `-x`
    pub(super) fn negate(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match value {
            Value::Int(value) => match arithmetic::neg(*value) {
                Ok(value) => Ok(Value::Int(value)),
                Err(_) => self.does_not_fit(&format!("-({value})"), "64 bits", span),
            },
            Value::Typed(value, elem) if elem.is_float() => Ok(Value::Typed(-value, *elem)),
            Value::Float(value) => Ok(Value::Float(-value)),
            Value::Large(value) => {
                self.does_not_fit(&format!("-{value}"), "64 bits with a sign", span)
            }
            Value::Tile(_) => {
                self.map_tiles(vec![(value.clone(), span)], span, |this, elements| {
                    this.negate(&elements[0], span)
                })
            }
            _ => {
                let value = self.operand(value, span)?;
                match &value {
                    Value::Scalar(scalar) if scalar.elem.is_float() => {
                        self.unary(ArithOp::Negf, &value, span)
                    }
                    Value::Vector(vector) if vector.elem.is_float() => {
                        self.unary(ArithOp::Negf, &value, span)
                    }
                    _ => self.binary(
                        BinaryOp::Sub,
                        (Value::Int(0), span),
                        (value.clone(), span),
                        span,
                    ),
                }
            }
        }
    }

    /// An operation of one operand and a result of its type.
    pub(super) fn unary(
        &mut self,
        op: ArithOp,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let value = self.operand(value, span)?;
        let (operand, elem, len) = match &value {
            Value::Scalar(scalar) => (scalar.ir, scalar.elem, None),
            Value::Vector(vector) => (vector.ir, vector.elem, Some(vector.len)),
            Value::Int(_) | Value::Float(_) => {
                (self.number(&value, Elem::F32, span)?, Elem::F32, None)
            }
            Value::Typed(_, elem) => (self.number(&value, *elem, span)?, *elem, None),
            other => return self.expected("a number", other, span),
        };
        let ir = self.ir(span)?;
        let ty = ir.numbers_type(elem, len);
        Ok(number_or_vector(
            ir.value(op, &[operand], &[], ty),
            elem,
            len,
        ))
    }

    /// `!x`
    pub(super) fn not(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match value {
            Value::Bool(value) => Ok(Value::Bool(!value)),
            Value::Int(value) => Ok(Value::Int(!value)),
            Value::Tile(_) => {
                self.map_tiles(vec![(value.clone(), span)], span, |this, elements| {
                    this.not(&elements[0], span)
                })
            }
            Value::Scalar(Scalar { elem: Elem::I1, .. })
            | Value::Vector(Vector { elem: Elem::I1, .. }) => self.binary(
                BinaryOp::BitXor,
                (value.clone(), span),
                (Value::Bool(true), span),
                span,
            ),
            _ => {
                let value = self.operand(value, span)?;
                let ones = all_ones(&value);
                self.binary(BinaryOp::BitXor, (value, span), (ones, span), span)
            }
        }
    }

    /// `&&`, `||`: the right side is evaluated only if the left one does not decide.
    pub(super) fn short_circuit(
        &mut self,
        op: BinaryOp,
        lhs: &'a Expr,
        rhs: &'a Expr,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let decides = op == BinaryOp::Or;
        let left = self.condition_value(lhs)?;
        let condition = match &left {
            Value::Bool(value) if *value == decides => return Ok(left),
            Value::Bool(_) => return self.condition_value(rhs),
            Value::Scalar(scalar) if scalar.elem == Elem::I1 => scalar.ir,
            other => return self.expected_bool(other, lhs.span),
        };
        self.lazily(condition, decides, rhs, span)
    }

    /// A bool, static or not.
    pub(super) fn condition_value(&mut self, expr: &'a Expr) -> Result<Value<'c, 'a>> {
        let value = self.loaded(expr)?;
        match &value {
            Value::Bool(_) => Ok(value),
            Value::Scalar(scalar) if scalar.elem == Elem::I1 => Ok(value),
            Value::Error => Err(Stop::Reported),
            Value::Tile(tile) if tile.elem == Elem::I1 && tile.shape.iter().all(|n| *n == 1) => {
                self.only_element(tile, expr.span)
            }
            other => self.expected_bool(other, expr.span),
        }
    }

    /// `ceil_div(a, b)`: the quotient rounded up, of numbers of any sign.
    pub(super) fn ceil_div(
        &mut self,
        lhs: (Value<'c, 'a>, Span),
        rhs: (Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let known =
            self.known_function(Operation::CeilDiv, (&lhs.0, lhs.1), (&rhs.0, rhs.1), span)?;
        if let Some(value) = known {
            return Ok(value);
        }
        let by = match &rhs.0 {
            Value::Int(by) => Some(*by),
            _ => None,
        };
        match (&lhs.0, by) {
            (_, Some(0)) => return self.division_by_zero("`ceil_div` by zero", span),
            (_, Some(1)) => return self.operand(&lhs.0, lhs.1),
            (Value::Scalar(a), Some(by)) if by > 0 && a.div % by == 0 => {
                return self.binary(BinaryOp::Div, lhs, rhs, span);
            }
            _ => {}
        }
        if matches!(lhs.0, Value::Tile(_)) || matches!(rhs.0, Value::Tile(_)) {
            let (left, right) = (lhs.1, rhs.1);
            return self.map_tiles(vec![lhs, rhs], span, |this, mut elements| {
                match (elements.pop(), elements.pop()) {
                    (Some(b), Some(a)) => this.ceil_div((a, left), (b, right), span),
                    _ => Err(Stop::Reported),
                }
            });
        }
        let pair = self.pair("ceil_div", lhs, rhs, span)?;
        if pair.elem.is_float() || pair.elem == Elem::I1 {
            let message = format!("`ceil_div` is not defined for {}", elem_name(pair.elem));
            return self.error(codes::WRONG_TYPE, span, message, "expected integers");
        }
        let op = match pair.elem.is_unsigned() {
            true => ArithOp::Ceildivui,
            false => ArithOp::Ceildivsi,
        };
        self.elementwise(op, &pair, span)
    }
}

/// The MLIR type of a vector, for messages.
pub(super) fn type_text(elem: Elem, len: i64) -> String {
    format!("vector<{len}x{}>", elem.value_type())
}

/// A result as a value.
pub(super) fn number_or_vector<'c, 'a>(
    ir: IrValue<'c>,
    elem: Elem,
    len: Option<i64>,
) -> Value<'c, 'a> {
    match len {
        Some(len) => Value::Vector(Vector { ir, elem, len }),
        None => Value::Scalar(Scalar {
            ir,
            elem,
            div: 1,
            tuple: None,
        }),
    }
}

/// The integer of which all bits are set in the type of another.
fn all_ones<'c, 'a>(like: &Value<'c, 'a>) -> Value<'c, 'a> {
    let elem = match like {
        Value::Vector(vector) => Some(vector.elem),
        other => other.number_type(),
    };
    match elem {
        Some(Elem::U64) => Value::Large(u64::MAX),
        Some(elem) if elem.is_unsigned() && elem != Elem::I1 => Value::Int((1 << elem.bits()) - 1),
        _ => Value::Int(-1),
    }
}
