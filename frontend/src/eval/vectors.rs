//! The elements of vectors, one by one.

use super::arith::number_or_vector;
use super::values::{Value, Vector};
use super::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::VectorOp;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The elements of a vector.
    pub(super) fn elements(&mut self, vector: &Vector<'c>, span: Span) -> Result<Vec<IrValue<'c>>> {
        let mut elements = Vec::with_capacity(vector.len as usize);
        for at in 0..vector.len {
            elements.push(self.element_of(vector, at, span)?);
        }
        Ok(elements)
    }

    /// One element of a vector.
    pub(super) fn element_of(
        &mut self,
        vector: &Vector<'c>,
        at: i64,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let ir = self.ir(span)?;
        let position = ir.i64_array(&[at]);
        let ty = ir.ty(vector.elem.value_type());
        let attrs = [("static_position", position)];
        Ok(ir.value(VectorOp::Extract, &[vector.ir], &attrs, ty))
    }

    /// The vector of some numbers.
    pub(super) fn vector(
        &mut self,
        elements: &[IrValue<'c>],
        elem: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let len = Some(elements.len() as i64);
        let ir = self.ir(span)?;
        let ty = ir.numbers_type(elem, len);
        let result = ir.value(VectorOp::FromElements, elements, &[], ty);
        Ok(number_or_vector(result, elem, len))
    }

    /// A number or vector, from what `each` makes of each number.
    pub(super) fn each_number(
        &mut self,
        value: &Value<'c, 'a>,
        to: Elem,
        span: Span,
        each: &mut dyn FnMut(&mut Self, IrValue<'c>) -> Result<IrValue<'c>>,
    ) -> Result<Value<'c, 'a>> {
        match value {
            Value::Scalar(scalar) => {
                let result = each(self, scalar.ir)?;
                Ok(number_or_vector(result, to, None))
            }
            Value::Vector(vector) => {
                let mut results = Vec::with_capacity(vector.len as usize);
                for element in self.elements(vector, span)? {
                    results.push(each(self, element)?);
                }
                self.vector(&results, to, span)
            }
            other => self.expected("a number", other, span),
        }
    }

    /// The numbers of a run-time value: literals become numbers, views are read, tuples keep their form.
    pub(super) fn numbers(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let value = self.operand(value, span)?;
        let elem = match &value {
            Value::Scalar(_) | Value::Vector(_) => return Ok(value),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.numbers(part, span));
                return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
            }
            other => match other.number_type() {
                Some(elem) => elem,
                None => return self.expected("a number, a view or a tuple of these", other, span),
            },
        };
        let number = self.number(&value, elem, span)?;
        Ok(number_or_vector(number, elem, None))
    }
}
