//! f8 and tf32: what is stored and multiplied, and not computed with. From and to f32 and f16 the
//! machine converts them by `cvt` (PTX ISA, "cvt"), f8 two at a time.

use super::problem::compile_for;
use super::values::{Value, Vector, elem_name};
use super::{Evaluator, Result, Stop};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::minifloat::{E4M3, E5M2};
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ArithOp;
use cutec_dialects::target::Feature;

/// Two neighbouring numbers.
type Pair<'c> = [IrValue<'c>; 2];

/// The bits of the f8 nearest to a number; beyond the largest one that one, as `cvt.rn.satfinite` does.
pub(super) fn f8_bits(value: f64, elem: Elem) -> u8 {
    match elem {
        Elem::F8E4M3 => E4M3.convert(value),
        _ => E5M2.convert(value),
    }
}

/// The f32 that a number is as tf32: 10 bits of mantissa, ties away from zero, as `cvt.rna` does.
pub(super) fn tf32_value(value: f64) -> f64 {
    let bits = (value as f32).to_bits();
    match value.is_finite() {
        true => f64::from(f32::from_bits(bits.wrapping_add(0x1000) & !0x1fff)),
        false => value,
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Numbers of f8 or tf32 as f32.
    pub(super) fn widened(
        &mut self,
        value: &Value<'c, 'a>,
        from: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match from {
            Elem::TF32 => self.each_number(value, Elem::F32, span, &mut |_, number| Ok(number)),
            _ => {
                self.needs_f8(from, span)?;
                self.in_pairs(value, Elem::F32, span, &mut |this, [low, high]| {
                    this.f8_to_f32([low, high], from, span)
                })
            }
        }
    }

    /// Numbers of f32 as f8 or tf32.
    pub(super) fn narrowed(
        &mut self,
        value: &Value<'c, 'a>,
        to: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match to {
            Elem::TF32 => self.each_number(value, to, span, &mut |this, number| {
                let ir = this.ir(span)?;
                let i32 = ir.ty("i32");
                let bits = ir.assembly("cvt.rna.tf32.f32 $0, $1;", "=r,f", &[number], i32);
                Ok(ir.value(ArithOp::Bitcast, &[bits], &[], ir.ty("f32")))
            }),
            _ => {
                self.needs_f8(to, span)?;
                self.in_pairs(value, to, span, &mut |this, [low, high]| {
                    this.f32_to_f8([low, high], to, span)
                })
            }
        }
    }

    fn needs_f8(&mut self, elem: Elem, span: Span) -> Result<()> {
        let target = self.options.target;
        if target.has(Feature::Fp8) {
            return Ok(());
        }
        let name = elem_name(elem);
        let message = format!(
            "conversions of {name} need sm_89 or later; the target is {}",
            target.name
        );
        let label = "not on this target";
        let diagnostic = Diagnostic::error(codes::ILLEGAL_ATOM, span, message, label);
        let help = compile_for(&Feature::Fp8.targets());
        Err(self.report(diagnostic.with_help(help)))
    }

    /// What `each` makes of neighbours; the last one of an odd number is its own neighbour.
    fn in_pairs(
        &mut self,
        value: &Value<'c, 'a>,
        to: Elem,
        span: Span,
        each: &mut dyn FnMut(&mut Self, Pair<'c>) -> Result<Pair<'c>>,
    ) -> Result<Value<'c, 'a>> {
        match value {
            Value::Vector(Vector { len: 2.., .. }) => {}
            _ => {
                return self.each_number(value, to, span, &mut |this, number| {
                    Ok(each(this, [number, number])?[0])
                });
            }
        }
        let Value::Vector(vector) = value else {
            return Err(Stop::Reported);
        };
        let mut results = Vec::with_capacity(vector.len as usize);
        for pair in self.elements(vector, span)?.chunks(2) {
            let [low, high] = each(self, [pair[0], pair[pair.len() - 1]])?;
            results.extend([low, high].into_iter().take(pair.len()));
        }
        self.vector(&results, to, span)
    }

    fn f8_to_f32(&mut self, [low, high]: Pair<'c>, from: Elem, span: Span) -> Result<Pair<'c>> {
        let ir = self.ir(span)?;
        let [i16, i32, f16, f32] = ["i16", "i32", "f16", "f32"].map(|ty| ir.ty(ty));
        let (eight, sixteen) = (ir.constant(8, "i16"), ir.constant(16, "i32"));
        let low = ir.value(ArithOp::Extui, &[low], &[], i16);
        let high = ir.value(ArithOp::Extui, &[high], &[], i16);
        let high = ir.value(ArithOp::Shli, &[high, eight], &[], i16);
        let both = ir.value(ArithOp::Ori, &[low, high], &[], i16);
        let instruction = format!("cvt.rn.f16x2.{}x2 $0, $1;", ptx_name(from));
        let halves = ir.assembly(&instruction, "=r,h", &[both], i32);
        let upper = ir.value(ArithOp::Shrui, &[halves, sixteen], &[], i32);
        Ok([halves, upper].map(|half| {
            let half = ir.value(ArithOp::Trunci, &[half], &[], i16);
            let half = ir.value(ArithOp::Bitcast, &[half], &[], f16);
            ir.value(ArithOp::Extf, &[half], &[], f32)
        }))
    }

    fn f32_to_f8(&mut self, [low, high]: Pair<'c>, to: Elem, span: Span) -> Result<Pair<'c>> {
        let ir = self.ir(span)?;
        let (i8, i16) = (ir.ty("i8"), ir.ty("i16"));
        let eight = ir.constant(8, "i16");
        let instruction = format!("cvt.rn.satfinite.{}x2.f32 $0, $1, $2;", ptx_name(to));
        let both = ir.assembly(&instruction, "=h,f,f", &[high, low], i16);
        let upper = ir.value(ArithOp::Shrui, &[both, eight], &[], i16);
        Ok([both, upper].map(|byte| ir.value(ArithOp::Trunci, &[byte], &[], i8)))
    }
}

/// An f8 type as PTX calls it.
fn ptx_name(elem: Elem) -> &'static str {
    match elem {
        Elem::F8E4M3 => "e4m3",
        _ => "e5m2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_nearest_f8() {
        for (value, bits) in [
            (0.0, 0x00),
            (-0.0, 0x80),
            (1.0, 0x38),
            (-1.5, 0xbc),
            (448.0, 0x7e),
            (1e9, 0x7e),
            (0.015625, 0x08),
            (0.001953125, 0x01),
            (0.0009, 0x00),
            (15.6, 0x58),
        ] {
            assert_eq!(f8_bits(value, Elem::F8E4M3), bits, "{value}");
        }
        assert_eq!(f8_bits(f64::NAN, Elem::F8E4M3) & 0x7f, 0x7f);
        assert_eq!(f8_bits(1.0, Elem::F8E5M2), 0x3c);
        assert_eq!(f8_bits(1e9, Elem::F8E5M2), 0x7b);
    }

    #[test]
    fn tf32_keeps_ten_bits() {
        assert_eq!(tf32_value(1.0 + 1.0 / 2048.0), 1.0 + 1.0 / 1024.0);
        assert_eq!(tf32_value(1.0 + 0.9 / 2048.0), 1.0);
        assert!(tf32_value(f64::NAN).is_nan());
    }
}
