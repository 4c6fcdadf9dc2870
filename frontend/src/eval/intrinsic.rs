//! Elementary functions as what the machine has.
//!
//! MLIR's `math` operations become calls of libdevice, which cutec does without. The instructions are
//! those of the PTX ISA, "Floating Point Instructions": `ex2.approx.ftz`, `lg2.approx`, `rsqrt.approx`,
//! `sin.approx`, `cos.approx`, `tanh.approx`, all of f32; 16-bit types go through f32. `sqrt`, `floor`,
//! `ceil`, `round`, `trunc`, `fma` and `abs` are exact or correctly rounded. `erf` is made of two
//! polynomials.

use super::arith::number_or_vector;
use super::builtins::Elementary;
use super::values::Value;
use super::{Evaluator, Result};
use crate::ast::BinaryOp;
use crate::rules;
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp};
use melior::ir::Type;

/// Intrinsics of the NVPTX target, behind `llvm.`. Without `.ftz` the first is four instructions, for results
/// below 2^-126.
const EXP2: &str = "nvvm.ex2.approx.ftz.f";
const LOG2: &str = "nvvm.lg2.approx.f";
const RSQRT: &str = "nvvm.rsqrt.approx.f";
const RCP: &str = "nvvm.rcp.approx.ftz.f";

/// erf(x)/x in x², for |x| < 1.
const ERF_SMALL: [f64; 7] = [
    1.1283791065216064,
    -0.3761262595653534,
    0.1128358542919159,
    -0.026853810995817184,
    0.00518832728266716,
    -0.0008010190795175731,
    7.853852730477229e-5,
];
/// log2(1 - erf(x)) in x, for 1 <= x <= 4.
const ERF_LARGE: [f64; 8] = [
    0.00027189464890398085,
    -1.6296398639678955,
    -0.9135382175445557,
    -0.15641996264457703,
    0.036370791494846344,
    -0.006066928151994944,
    0.0006369074108079076,
    -3.130279219476506e-5,
];

impl<'c, 'a> Evaluator<'c, 'a> {
    /// A function of run-time floating numbers.
    pub(super) fn elementary(
        &mut self,
        function: Elementary,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let name = function.name();
        let elem = match parts(value) {
            Some((_, elem, _)) if elem.is_float() => elem,
            Some((_, elem, _)) => {
                let what = format!("a floating number for `{name}`");
                let help = format!("convert it: `{name}(f32(…))`");
                return match elem {
                    Elem::I1 => self.expected(&what, value, span),
                    _ => self.expected_with_help(&what, value, span, help),
                };
            }
            None => return self.expected(&format!("a floating number for `{name}`"), value, span),
        };
        if !rules::has_function(function, elem) {
            let help = "convert to f32: the machine has it for f32";
            return self.unsupported(span, &format!("`{name}` of f64"), help);
        }
        if !matches!(elem, Elem::F32 | Elem::F64) {
            let wide = self.convert(Elem::F32, value, span)?;
            let result = self.elementary(function, &wide, span)?;
            return self.convert(elem, &result, span);
        }
        match function {
            Elementary::Round => self.llvm("roundeven", value, false, span),
            Elementary::Sqrt => self.llvm("sqrt", value, false, span),
            Elementary::Floor => self.llvm("floor", value, false, span),
            Elementary::Ceil => self.llvm("ceil", value, false, span),
            Elementary::Trunc => self.llvm("trunc", value, false, span),
            Elementary::Exp2 => self.llvm(EXP2, value, false, span),
            Elementary::Sin => self.llvm("sin", value, true, span),
            Elementary::Cos => self.llvm("cos", value, true, span),
            Elementary::Tanh => self.llvm("tanh", value, true, span),
            Elementary::Erf => self.error_function(value, span),
            Elementary::Exp => {
                let scaled = self.times(value, std::f64::consts::LOG2_E, span)?;
                self.llvm(EXP2, &scaled, false, span)
            }
            Elementary::Log => {
                let log2 = self.llvm(LOG2, value, false, span)?;
                self.times(&log2, std::f64::consts::LN_2, span)
            }
            Elementary::Log2 => self.llvm(LOG2, value, false, span),
            Elementary::Rsqrt => self.llvm(RSQRT, value, false, span),
            Elementary::Rcp => self.llvm(RCP, value, false, span),
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
        if elem.is_unsigned() {
            return Ok(number_or_vector(ir, elem, len));
        }
        let builder = self.ir(span)?;
        let (ty, poison) = (builder.numbers_type(elem, len), builder.bool(false));
        let result = builder.value(LlvmOp::IntrAbs, &[ir], &[("is_int_min_poison", poison)], ty);
        Ok(number_or_vector(result, elem, len))
    }

    /// The error function of f32: erf(x)/x is a polynomial in x² where |x| < 1; beyond, the logarithm of
    /// what is missing to 1 is one in |x|, until at 4 nothing is missing. Minimax fits; with exact
    /// arithmetic between the roundings within 3 units in the last place.
    fn error_function(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let number = |value: f64| (Value::Float(value), span);
        let of = |value: &Value<'c, 'a>| (value.clone(), span);
        let size = self.absolute(value, span)?;
        let square = self.binary(BinaryOp::Mul, of(value), of(value), span)?;
        let small = self.polynomial(&ERF_SMALL, &square, span)?;
        let small = self.binary(BinaryOp::Mul, of(value), of(&small), span)?;
        let pair = self.pair("erf", of(&size), number(4.0), span)?;
        let reach = self.elementwise(ArithOp::Minimumf, &pair, span)?;
        let missing = self.polynomial(&ERF_LARGE, &reach, span)?;
        let missing = self.llvm(EXP2, &missing, false, span)?;
        let large = self.binary(BinaryOp::Sub, number(1.0), of(&missing), span)?;
        let pair = self.pair("erf", of(&large), of(value), span)?;
        let ty = self.ir(span)?.numbers_type(pair.elem, pair.len);
        let large = self.call_intrinsic("llvm.copysign", &[pair.lhs, pair.rhs], ty, false, span)?;
        let large = number_or_vector(large, pair.elem, pair.len);
        let near = self.binary(BinaryOp::Lt, of(&size), number(1.0), span)?;
        self.choose(&near, &small, &large, span)
    }

    /// A polynomial with these coefficients, that of the highest power last.
    fn polynomial(
        &mut self,
        coefficients: &[f64],
        x: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some((last, rest)) = coefficients.split_last() else {
            return Ok(Value::Float(0.0));
        };
        let mut sum = Value::Float(*last);
        for coefficient in rest.iter().rev() {
            let product = self.pair("erf", (sum, span), (x.clone(), span), span)?;
            let (elem, len) = (product.elem, product.len);
            let constant = self.spread(&Value::Float(*coefficient), elem, len, span)?;
            let ir = self.ir(span)?;
            let ty = ir.numbers_type(elem, len);
            let operands = [product.lhs, product.rhs, constant];
            let result = ir.value(LlvmOp::IntrFma, &operands, &[], ty);
            sum = number_or_vector(result, elem, len);
        }
        Ok(sum)
    }

    /// `a` where `condition` holds, else `b`; of one form.
    fn choose(
        &mut self,
        condition: &Value<'c, 'a>,
        a: &Value<'c, 'a>,
        b: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let (Some((condition, ..)), Some((a, elem, len)), Some((b, ..))) =
            (parts(condition), parts(a), parts(b))
        else {
            return self.expected("a number", a, span);
        };
        let ir = self.ir(span)?;
        let ty = ir.numbers_type(elem, len);
        let result = ir.value(ArithOp::Select, &[condition, a, b], &[], ty);
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
        let ty = self.ir(span)?.numbers_type(elem, len);
        let result = self.call_intrinsic(&format!("llvm.{name}"), &[ir], ty, approximate, span)?;
        Ok(number_or_vector(result, elem, len))
    }

    fn call_intrinsic(
        &mut self,
        intrinsic: &str,
        operands: &[IrValue<'c>],
        ty: Type<'c>,
        approximate: bool,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let builder = self.ir(span)?;
        let mut attrs = vec![
            ("intrin", builder.string(intrinsic)),
            (
                "operandSegmentSizes",
                builder.i32_array(&[operands.len() as i32, 0]),
            ),
            ("op_bundle_sizes", builder.i32_array(&[])),
        ];
        if approximate {
            attrs.push(("fastmathFlags", builder.attr("#llvm.fastmath<afn>")));
        }
        Ok(builder.value(LlvmOp::CallIntrinsic, operands, &attrs, ty))
    }
}

fn parts<'c>(value: &Value<'c, '_>) -> Option<(IrValue<'c>, Elem, Option<i64>)> {
    match value {
        Value::Scalar(scalar) => Some((scalar.ir, scalar.elem, None)),
        Value::Vector(vector) => Some((vector.ir, vector.elem, Some(vector.len))),
        _ => None,
    }
}
