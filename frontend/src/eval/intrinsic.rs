//! Elementary functions as what the machine has.
//!
//! MLIR's `math` operations become calls of libdevice, which cutec does without. The instructions are
//! those of the PTX ISA, "Floating Point Instructions": `ex2.approx`, `lg2.approx`, `rsqrt.approx`,
//! `sin.approx`, `cos.approx`, `tanh.approx`, all of f32; 16-bit types go through f32. `sqrt`, `floor`,
//! `ceil`, `fma` and `abs` are exact or correctly rounded.

use super::arith::{number_or_vector, type_text};
use super::values::Value;
use super::{Evaluator, Result};
use crate::ast::BinaryOp;
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `name(value)` of run-time floating numbers.
    pub(super) fn elementary(
        &mut self,
        name: &str,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let (elem, _) = match parts(value) {
            Some((_, elem, len)) if elem.is_float() => (elem, len),
            _ => return self.expected(&format!("a floating number for `{name}`"), value, span),
        };
        let exact = matches!(name, "sqrt" | "floor" | "ceil");
        if elem == Elem::F64 && !exact {
            let help = "convert to f32: the machine has it for f32";
            return self.unsupported(span, &format!("`{name}` of f64"), help);
        }
        if !matches!(elem, Elem::F32 | Elem::F64) {
            let wide = self.convert(Elem::F32, value, span)?;
            let result = self.elementary(name, &wide, span)?;
            return self.convert(elem, &result, span);
        }
        match name {
            "sqrt" | "floor" | "ceil" | "exp2" => self.llvm(name, value, false, span),
            "sin" | "cos" | "tanh" => self.llvm(name, value, true, span),
            "exp" => {
                let scaled = self.times(value, std::f64::consts::LOG2_E, span)?;
                self.llvm("exp2", &scaled, false, span)
            }
            "log" => {
                let log2 = self.each(value, "llvm.nvvm.lg2.approx.f", span)?;
                self.times(&log2, std::f64::consts::LN_2, span)
            }
            "log2" => self.each(value, "llvm.nvvm.lg2.approx.f", span),
            _ => self.each(value, "llvm.nvvm.rsqrt.approx.f", span),
        }
    }

    /// Absolute value.
    pub(super) fn absolute(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let Some((ir, elem, len)) = parts(value) else {
            return self.expected("a number", value, span);
        };
        if elem.is_float() {
            return self.llvm("fabs", value, false, span);
        }
        let builder = self.ir(span)?;
        let (ty, poison) = (builder.ty(&type_text(elem, len)), builder.attr("false"));
        let result = builder.value("llvm.intr.abs", &[ir], &[("is_int_min_poison", poison)], ty);
        Ok(number_or_vector(result, elem, len))
    }

    fn times(&mut self, value: &Value<'c, 'a>, factor: f64, span: Span) -> Result<Value<'c, 'a>> {
        self.binary(
            BinaryOp::Mul,
            (value.clone(), span),
            (Value::Float(factor), span),
            span,
        )
    }

    /// An intrinsic of LLVM, by name: the conversion of MLIR's gpu dialect would make a call of
    /// libdevice of the operation.
    fn llvm(
        &mut self,
        name: &str,
        value: &Value<'c, 'a>,
        approximate: bool,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some((ir, elem, len)) = parts(value) else {
            return self.expected("a number", value, span);
        };
        let ty = type_text(elem, len);
        let result = self.call_intrinsic(&format!("llvm.{name}"), ir, &ty, approximate, span)?;
        Ok(number_or_vector(result, elem, len))
    }

    /// An intrinsic of the NVPTX target, which takes one f32 at a time.
    fn each(
        &mut self,
        value: &Value<'c, 'a>,
        intrinsic: &str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some((ir, elem, len)) = parts(value) else {
            return self.expected("a number", value, span);
        };
        let Some(len) = len else {
            let result = self.call_intrinsic(intrinsic, ir, "f32", false, span)?;
            return Ok(number_or_vector(result, elem, None));
        };
        let mut results = Vec::new();
        for at in 0..len {
            let builder = self.ir(span)?;
            let (ty, position) = (
                builder.ty(elem.name()),
                builder.attr(&format!("array<i64: {at}>")),
            );
            let one = builder.value(
                "vector.extract",
                &[ir],
                &[("static_position", position)],
                ty,
            );
            results.push(self.call_intrinsic(intrinsic, one, "f32", false, span)?);
        }
        let builder = self.ir(span)?;
        let ty = builder.ty(&type_text(elem, Some(len)));
        let result = builder.value("vector.from_elements", &results, &[], ty);
        Ok(number_or_vector(result, elem, Some(len)))
    }

    fn call_intrinsic(
        &mut self,
        intrinsic: &str,
        operand: IrValue<'c>,
        ty: &str,
        approximate: bool,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let builder = self.ir(span)?;
        let mut attrs = vec![
            ("intrin", builder.attr(&format!("\"{intrinsic}\""))),
            ("operandSegmentSizes", builder.attr("array<i32: 1, 0>")),
            ("op_bundle_sizes", builder.attr("array<i32>")),
        ];
        if approximate {
            attrs.push(("fastmathFlags", builder.attr("#llvm.fastmath<afn>")));
        }
        let ty = builder.ty(ty);
        Ok(builder.value("llvm.call_intrinsic", &[operand], &attrs, ty))
    }
}

fn parts<'c>(value: &Value<'c, '_>) -> Option<(IrValue<'c>, Elem, Option<i64>)> {
    match value {
        Value::Scalar(scalar) => Some((scalar.ir, scalar.elem, None)),
        Value::Vector(vector) => Some((vector.ir, vector.elem, Some(vector.len))),
        _ => None,
    }
}
