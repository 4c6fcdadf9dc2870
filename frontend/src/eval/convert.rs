//! Conversions between element types: `f32(x)`.

use super::arith::number_or_vector;
use super::values::{Scalar, Value, Vector};
use super::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ArithOp;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// A number or all elements of a view or vector as `to`.
    pub(super) fn convert(
        &mut self,
        to: Elem,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let value = self.operand(value, span)?;
        match &value {
            Value::Int(_)
            | Value::Large(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Typed(..) => {
                if let Some(known) = self.known_conversion(to, &value, span)? {
                    return Ok(known);
                }
                let number = match value {
                    Value::Typed(number, elem) if elem.is_float() => Value::Float(number),
                    Value::Typed(number, _) => Value::Int(number as i64),
                    Value::Bool(flag) => Value::Int(i64::from(flag)),
                    other => other,
                };
                let ir = self.number(&number, to, span)?;
                Ok(number_or_vector(ir, to, None))
            }
            Value::Scalar(scalar) if scalar.elem == to => Ok(value),
            Value::Vector(vector) if vector.elem == to => Ok(value),
            Value::Scalar(Scalar { elem: from, .. }) | Value::Vector(Vector { elem: from, .. })
                if *from == Elem::F4E2M1 && !is_of_e2m1(to) =>
            {
                let wide = self.convert(Elem::F32, &value, span)?;
                self.convert(to, &wide, span)
            }
            Value::Scalar(Scalar { elem: from, .. }) | Value::Vector(Vector { elem: from, .. })
                if *from != Elem::F4E2M1
                    && [*from, to]
                        .into_iter()
                        .any(|elem| elem.is_float() && !elem.has_arithmetic()) =>
            {
                self.cast_narrow(&value, *from, to, span)
            }
            Value::Scalar(scalar) => {
                let (div, both) = (scalar.div, !scalar.elem.is_float() && !to.is_float());
                let ir = self.cast(scalar.ir, scalar.elem, to, None, span)?;
                match number_or_vector(ir, to, None) {
                    Value::Scalar(result) if both => Ok(Value::Scalar(Scalar { div, ..result })),
                    other => Ok(other),
                }
            }
            Value::Vector(vector) => {
                let ir = self.cast(vector.ir, vector.elem, to, Some(vector.len), span)?;
                Ok(number_or_vector(ir, to, Some(vector.len)))
            }
            other => self.expected("a number or a view to convert", other, span),
        }
    }

    /// As [`Evaluator::cast`], where one of both is f8 or tf32: those meet f32 alone.
    fn cast_narrow(
        &mut self,
        value: &Value<'c, 'a>,
        from: Elem,
        to: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let narrow = |elem: Elem| elem.is_float() && !elem.has_arithmetic();
        let wide = match narrow(from) {
            true => self.widened(value, from, span)?,
            false => self.convert(Elem::F32, value, span)?,
        };
        match narrow(to) {
            true => self.narrowed(&wide, to, span),
            false => self.convert(to, &wide, span),
        }
    }

    fn cast(
        &mut self,
        ir: IrValue<'c>,
        from: Elem,
        to: Elem,
        len: Option<i64>,
        span: Span,
    ) -> Result<IrValue<'c>> {
        if from == to {
            return Ok(ir);
        }
        if to == Elem::I1 {
            let zero = self.spread(&Value::Int(0), from, len, span)?;
            let op = match from.is_float() {
                // Unordered or unequal, and unequal: the numbers of the predicates of both operations.
                true => (ArithOp::Cmpf, 13),
                false => (ArithOp::Cmpi, 1),
            };
            let builder = self.ir(span)?;
            let ty = builder.numbers_type(to, len);
            let predicate = builder.i64(op.1);
            return Ok(builder.value(op.0, &[ir, zero], &[("predicate", predicate)], ty));
        }
        let name = match (from.is_float(), to.is_float()) {
            (true, true) => match (from.bits(), to.bits()) {
                (a, b) if a < b => ArithOp::Extf,
                (a, b) if a > b => ArithOp::Truncf,
                _ => {
                    // f16 and bf16: through f32.
                    let wide = self.cast(ir, from, Elem::F32, len, span)?;
                    return self.cast(wide, Elem::F32, to, len, span);
                }
            },
            (true, false) if to.is_unsigned() => ArithOp::Fptoui,
            (true, false) => ArithOp::Fptosi,
            (false, true) if from.is_unsigned() => ArithOp::Uitofp,
            (false, true) => ArithOp::Sitofp,
            (false, false) => match (from, to) {
                (Elem::I1, _) => ArithOp::Extui,
                _ if from.is_unsigned() && from.bits() < to.bits() => ArithOp::Extui,
                // The same bits.
                _ if from.bits() == to.bits() => return Ok(ir),
                _ if from.bits() < to.bits() => ArithOp::Extsi,
                _ => ArithOp::Trunci,
            },
        };
        let builder = self.ir(span)?;
        let ty = builder.numbers_type(to, len);
        Ok(builder.value(name, &[ir], &[], ty))
    }
}

/// Whether numbers of e2m1 become such ones at once; others meet them as f32.
fn is_of_e2m1(to: Elem) -> bool {
    matches!(to, Elem::F16 | Elem::BF16 | Elem::F32)
}
