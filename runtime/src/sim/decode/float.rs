//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5).
//!
//! f16 and bf16 compute in f64 and round once: their operands are exact there, and so are products;
//! sums that are not go through `add_odd`.

use super::form::{Decoded, Form, Ty};
use crate::sim::isa::{Op, Update};
use crate::sim::lane::{Dst, LaneFn, Pair, Src, map1, map2, map3};
use crate::sim::number::{
    self, BF16, F16, Format, Rounding, add_odd, canonical, flush, fma_f32, to_f32,
};

/// A rounding modifier.
pub(super) fn rounding(name: &str) -> Option<Rounding> {
    match name {
        "rn" => Some(Rounding::Nearest),
        "rz" => Some(Rounding::Zero),
        "rm" => Some(Rounding::Down),
        "rp" => Some(Rounding::Up),
        _ => None,
    }
}

/// What happens to f32 operands and results: `.ftz`, `.sat`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    ftz: bool,
    saturate: bool,
}

impl Style {
    fn eat(form: &mut Form) -> Style {
        Style {
            ftz: form.eat("ftz"),
            saturate: form.eat("sat"),
        }
    }

    #[inline]
    fn operand(self, value: f32) -> f32 {
        if self.ftz { flush(value) } else { value }
    }

    #[inline]
    fn result(self, value: f32) -> f32 {
        let value = canonical(self.operand(value));
        if self.saturate {
            clamp_unit(value)
        } else {
            value
        }
    }

    fn lift1(self, dst: Dst, src: Src, f: impl Fn(f32) -> f32 + Send + Sync + 'static) -> LaneFn {
        map1(dst, src, move |a| self.result(f(self.operand(a))))
    }

    fn lift2(
        self,
        dst: Dst,
        srcs: [Src; 2],
        f: impl Fn(f32, f32) -> f32 + Send + Sync + 'static,
    ) -> LaneFn {
        if self == Style::default() {
            return map2(dst, srcs, move |a, b| canonical(f(a, b)));
        }
        map2(dst, srcs, move |a, b| {
            self.result(f(self.operand(a), self.operand(b)))
        })
    }

    fn lift3(
        self,
        dst: Dst,
        srcs: [Src; 3],
        f: impl Fn(f32, f32, f32) -> f32 + Send + Sync + 'static,
    ) -> LaneFn {
        if self == Style::default() {
            return map3(dst, srcs, move |a, b, c| canonical(f(a, b, c)));
        }
        map3(dst, srcs, move |a, b, c| {
            self.result(f(self.operand(a), self.operand(b), self.operand(c)))
        })
    }
}

/// `.sat`: to [0, 1], NaN to +0.
fn clamp_unit(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// One of the 16-bit formats.
#[derive(Clone, Copy)]
struct Half {
    format: Format,
    ftz: bool,
    saturate: bool,
    relu: bool,
}

impl Half {
    #[inline]
    fn decode(self, bits: u16) -> f64 {
        let value = if self.format == F16 {
            f64::from(number::f16_to_f32(bits))
        } else {
            f64::from(number::bf16_to_f32(bits))
        };
        if self.flushes(bits) {
            0f64.copysign(value)
        } else {
            value
        }
    }

    fn encode(self, value: f64) -> u16 {
        let mut value = value;
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        if self.relu && value <= 0.0 {
            value = 0.0;
        }
        let bits = number::round(self.format, value, Rounding::Nearest, false) as u16;
        if self.flushes(bits) {
            bits & 0x8000
        } else {
            bits
        }
    }

    /// Whether the value is subnormal and taken for zero.
    #[inline]
    fn flushes(self, bits: u16) -> bool {
        let exponent = if self.format == F16 { 0x7c00 } else { 0x7f80 };
        self.ftz && bits & exponent == 0
    }

    /// `f` on the one or two values of the type.
    fn lift3(
        self,
        ty: Ty,
        dst: Dst,
        srcs: [Src; 3],
        f: impl Fn(f64, f64, f64) -> f64 + Send + Sync + 'static,
    ) -> LaneFn {
        let one = move |a, b, c| self.encode(f(self.decode(a), self.decode(b), self.decode(c)));
        match ty {
            Ty::F16 | Ty::Bf16 => map3(dst, srcs, one),
            _ => map3(
                dst,
                srcs,
                move |a: Pair<u16>, b: Pair<u16>, c: Pair<u16>| {
                    [one(a[0], b[0], c[0]), one(a[1], b[1], c[1])]
                },
            ),
        }
    }
}

fn format_of(ty: Ty) -> Option<Format> {
    match ty {
        Ty::F16 | Ty::F16x2 => Some(F16),
        Ty::Bf16 | Ty::Bf16x2 => Some(BF16),
        _ => None,
    }
}

/// `add`, `sub`, `mul`.
pub(super) fn binary(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let mode = form.pick(rounding).unwrap_or(Rounding::Nearest);
    let style = Style::eat(form);
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, [a, b]) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    let negate = if opcode == "sub" { -1.0 } else { 1.0 };
    if let Some(format) = format_of(ty) {
        if mode != Rounding::Nearest {
            return form.unknown();
        }
        let half = Half {
            format,
            ftz: style.ftz,
            saturate: style.saturate,
            relu: false,
        };
        return Ok(Op::lanes(match opcode {
            "mul" => half.lift3(ty, dst, [a, b, a], |a, b, _| a * b),
            _ => half.lift3(ty, dst, [a, b, a], move |a, b, _| add_odd(a, negate * b)),
        }));
    }
    Ok(Op::lanes(match (ty, opcode, mode) {
        (Ty::F32, "add", Rounding::Nearest) => style.lift2(dst, [a, b], |a, b| a + b),
        (Ty::F32, "sub", Rounding::Nearest) => style.lift2(dst, [a, b], |a, b| a - b),
        (Ty::F32, "mul", Rounding::Nearest) => style.lift2(dst, [a, b], |a, b| a * b),
        (Ty::F32, "mul", _) => style.lift2(dst, [a, b], move |a, b| {
            to_f32(f64::from(a) * f64::from(b), mode)
        }),
        (Ty::F32, _, _) => style.lift2(dst, [a, b], move |a, b| {
            directed_sum(a.into(), negate * f64::from(b), mode)
        }),
        (Ty::F64, _, Rounding::Nearest) if style == Style::default() => match opcode {
            "mul" => map2(dst, [a, b], |a: f64, b: f64| a * b),
            _ => map2(dst, [a, b], move |a: f64, b: f64| a + negate * b),
        },
        _ => return form.unknown(),
    }))
}

/// `a + b` rounded once to f32; the sign of an exact zero follows the mode.
fn directed_sum(a: f64, b: f64, mode: Rounding) -> f32 {
    let sum = add_odd(a, b);
    if sum == 0.0 && mode == Rounding::Down && (a.is_sign_negative() || b.is_sign_negative()) {
        return -0.0;
    }
    to_f32(sum, mode)
}

/// `fma` and `mad` on floats.
pub(super) fn fused(form: &mut Form) -> Decoded<Op> {
    let mode = form.need("a rounding", rounding)?;
    let style = Style::eat(form);
    let relu = form.eat("relu");
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, srcs) = (form.dst(ty)?, form.srcs::<3>(ty)?);
    if let Some(format) = format_of(ty) {
        if mode != Rounding::Nearest {
            return form.unknown();
        }
        let half = Half {
            format,
            ftz: style.ftz,
            saturate: style.saturate,
            relu,
        };
        return Ok(Op::lanes(
            half.lift3(ty, dst, srcs, |a, b, c| add_odd(a * b, c)),
        ));
    }
    Ok(Op::lanes(match (ty, mode) {
        _ if relu => return form.unknown(),
        (Ty::F32, Rounding::Nearest) => style.lift3(dst, srcs, fma_f32),
        (Ty::F32, _) => style.lift3(dst, srcs, move |a, b, c| {
            directed_sum(f64::from(a) * f64::from(b), c.into(), mode)
        }),
        (Ty::F64, Rounding::Nearest) if style == Style::default() => map3(dst, srcs, f64::mul_add),
        _ => return form.unknown(),
    }))
}

/// `min`, `max`: the number where one operand is a NaN, unless `.NaN`; `-0 < +0`.
pub(super) fn extremum(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let ftz = form.eat("ftz");
    let keep_nan = form.eat("NaN");
    let xor_sign = form.eat("xorsign");
    if xor_sign && !form.eat("abs") {
        return form.bad_modifier("`.abs`");
    }
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, srcs) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    let max = opcode == "max";
    let is_nan = move |x: f64, y: f64| {
        if keep_nan {
            x.is_nan() || y.is_nan()
        } else {
            x.is_nan() && y.is_nan()
        }
    };
    if let Some(format) = format_of(ty) {
        let half = Half {
            format,
            ftz,
            saturate: false,
            relu: false,
        };
        let one = move |a: u16, b: u16| {
            let flushed = |v: u16| if half.flushes(v) { v & 0x8000 } else { v };
            let magnitude = if xor_sign { 0x7fff } else { 0xffff };
            let sign = (a ^ b) & 0x8000;
            let (a, b) = (flushed(a) & magnitude, flushed(b) & magnitude);
            let (x, y) = (half.decode(a), half.decode(b));
            let bits = if first_wins(max, x, y) { a } else { b };
            match (is_nan(x, y), xor_sign) {
                (true, _) => 0x7fff,
                (_, true) => bits | sign,
                _ => bits,
            }
        };
        return Ok(Op::lanes(match ty {
            Ty::F16 | Ty::Bf16 => map2(dst, srcs, one),
            _ => map2(dst, srcs, move |a: Pair<u16>, b: Pair<u16>| {
                [one(a[0], b[0]), one(a[1], b[1])]
            }),
        }));
    }
    Ok(Op::lanes(match ty {
        Ty::F32 => map2(dst, srcs, move |a: f32, b: f32| {
            let flushed = |v: f32| if ftz { flush(v) } else { v };
            let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
            let (a, b) = (flushed(a), flushed(b));
            let (a, b) = if xor_sign { (a.abs(), b.abs()) } else { (a, b) };
            let (x, y) = (f64::from(a), f64::from(b));
            let bits = if first_wins(max, x, y) {
                a.to_bits()
            } else {
                b.to_bits()
            };
            match (is_nan(x, y), xor_sign) {
                (true, _) => 0x7fff_ffff,
                (_, true) => bits | sign,
                _ => bits,
            }
        }),
        Ty::F64 if !(keep_nan || xor_sign || ftz) => {
            map2(
                dst,
                srcs,
                move |a: f64, b: f64| if first_wins(max, a, b) { a } else { b },
            )
        }
        _ => return form.unknown(),
    }))
}

/// Whether the minimum or maximum is the first value: a NaN loses, zeros are ordered by sign.
#[inline]
fn first_wins(max: bool, x: f64, y: f64) -> bool {
    if x.is_nan() || y.is_nan() {
        y.is_nan()
    } else if x == y {
        x.is_sign_negative() != max
    } else {
        (x > y) == max
    }
}

/// `abs`, `neg`: of a NaN the canonical one, as on an H200.
pub(super) fn sign(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let ftz = form.eat("ftz");
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, a) = (form.dst(ty)?, form.src(ty)?);
    let abs = opcode == "abs";
    let apply = move |bits: u32, sign: u32| if abs { bits & !sign } else { bits ^ sign };
    if let Some(format) = format_of(ty) {
        let half = Half {
            format,
            ftz,
            saturate: false,
            relu: false,
        };
        let one = move |a: u16| match half.decode(a) {
            value if value.is_nan() => 0x7fff,
            0.0 => apply((a & 0x8000).into(), 0x8000) as u16,
            _ => apply(a.into(), 0x8000) as u16,
        };
        return Ok(Op::lanes(match ty {
            Ty::F16 | Ty::Bf16 => map1(dst, a, one),
            _ => map1(dst, a, move |a: Pair<u16>| a.map(one)),
        }));
    }
    Ok(Op::lanes(match ty {
        Ty::F32 => map1(dst, a, move |a: f32| {
            let flushed = if ftz { flush(a) } else { a };
            if a.is_nan() {
                0x7fff_ffff
            } else {
                apply(flushed.to_bits(), 0x8000_0000)
            }
        }),
        Ty::F64 if !ftz => map1(dst, a, move |a: f64| if abs { a.abs() } else { -a }),
        _ => return form.unknown(),
    }))
}

/// `div` on floats. `.approx` and `.full` give the correctly rounded quotient.
pub(super) fn divide(form: &mut Form) -> Decoded<Op> {
    let approximate = form.eat_any(&["approx", "full"]);
    let mode = if approximate {
        Rounding::Nearest
    } else {
        form.need("a rounding, `.approx` or `.full`", rounding)?
    };
    let style = Style {
        ftz: form.eat("ftz"),
        saturate: false,
    };
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, srcs) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    Ok(Op::lanes(match (ty, mode) {
        (Ty::F32, Rounding::Nearest) => style.lift2(dst, srcs, |a, b| a / b),
        // An f64 quotient of f32 cannot be exact and on the edge of an f32 unless it is exact, so
        // rounding twice in one direction is rounding once.
        (Ty::F32, _) => style.lift2(dst, srcs, move |a, b| {
            to_f32(f64::from(a) / f64::from(b), mode)
        }),
        (Ty::F64, Rounding::Nearest) if !approximate && !style.ftz => {
            map2(dst, srcs, |a: f64, b: f64| a / b)
        }
        _ => return form.unknown(),
    }))
}

/// `rcp`, `sqrt`, `rsqrt`: `.approx` gives the correctly rounded value.
pub(super) fn root(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let mode = match form.eat("approx") {
        true => Rounding::Nearest,
        false if opcode == "rsqrt" => return form.bad_modifier("`.approx`"),
        false => form.need("a rounding or `.approx`", rounding)?,
    };
    let style = Style {
        ftz: form.eat("ftz"),
        saturate: false,
    };
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, a) = (form.dst(ty)?, form.src(ty)?);
    let f: fn(f64) -> f64 = match opcode {
        "rcp" => |a| 1.0 / a,
        "sqrt" => f64::sqrt,
        _ => |a| 1.0 / a.sqrt(),
    };
    Ok(Op::lanes(match ty {
        Ty::F32 => style.lift1(dst, a, move |a| to_f32(f(f64::from(a)), mode)),
        Ty::F64 if mode == Rounding::Nearest => map1(dst, a, f),
        _ => return form.unknown(),
    }))
}

/// `ex2`, `lg2`, `sin`, `cos`, `tanh`, always `.approx`: the correctly rounded value.
pub(super) fn transcendental(form: &mut Form, opcode: &str) -> Decoded<Op> {
    // `tanh` on f32 writes `.approx` too.
    if !form.eat("approx") {
        return form.bad_modifier("`.approx`");
    }
    let style = Style {
        ftz: form.eat("ftz"),
        saturate: false,
    };
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, a) = (form.dst(ty)?, form.src(ty)?);
    let f: fn(f64) -> f64 = match opcode {
        "ex2" => f64::exp2,
        "lg2" => f64::log2,
        "sin" => f64::sin,
        "cos" => f64::cos,
        _ => f64::tanh,
    };
    if let Some(format) = format_of(ty) {
        if !matches!(opcode, "ex2" | "tanh") {
            return form.unknown();
        }
        let half = Half {
            format,
            ftz: style.ftz,
            saturate: false,
            relu: false,
        };
        return Ok(Op::lanes(half.lift3(ty, dst, [a; 3], move |a, _, _| f(a))));
    }
    match ty {
        Ty::F32 => Ok(Op::lanes(
            style.lift1(dst, a, move |a| f(f64::from(a)) as f32),
        )),
        _ => form.unknown(),
    }
}

/// `copysign`: the magnitude of `b` with the sign of `a`.
pub(super) fn copy_sign(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, srcs) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    Ok(Op::lanes(match ty {
        Ty::F32 => map2(dst, srcs, |a: f32, b: f32| b.copysign(a)),
        Ty::F64 => map2(dst, srcs, |a: f64, b: f64| b.copysign(a)),
        _ => return form.unknown(),
    }))
}

/// `testp`: what kind of number it is.
pub(super) fn test_property(form: &mut Form) -> Decoded<Op> {
    let property = form.need("a property", |m| {
        Some(match m {
            "finite" => f64::is_finite as fn(f64) -> bool,
            "infinite" => f64::is_infinite,
            "number" => |v: f64| !v.is_nan(),
            "notanumber" => f64::is_nan,
            _ => return None,
        })
    })?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.pred_dst()?;
    let a = form.src(ty)?;
    match ty {
        Ty::F32 => Ok(Op::lanes(Box::new(move |registers, mask| {
            let holds =
                crate::sim::lane::test(registers, [a, a], |a: f32, _| property(f64::from(a)));
            registers.set_pred(dst, mask, holds);
        }))),
        Ty::F64 => Ok(Op::lanes(Box::new(move |registers, mask| {
            let holds = crate::sim::lane::test(registers, [a, a], |a: f64, _| property(a));
            registers.set_pred(dst, mask, holds);
        }))),
        _ => form.unknown(),
    }
}

/// The sum of two values of a 16-bit type, for atomics.
pub(super) fn add_halves(ty: Ty) -> Option<fn(u16, u16) -> u16> {
    fn sum(format: Format, a: u16, b: u16) -> u16 {
        let half = Half {
            format,
            ftz: false,
            saturate: false,
            relu: false,
        };
        half.encode(add_odd(half.decode(a), half.decode(b)))
    }
    match ty {
        Ty::F16 | Ty::F16x2 => Some(|a, b| sum(F16, a, b)),
        Ty::Bf16 | Ty::Bf16x2 => Some(|a, b| sum(BF16, a, b)),
        _ => None,
    }
}

/// `min` or `max` of two halves, of which the number wins over NaN.
pub(super) fn extremum_of_halves(max: bool, ty: Ty) -> Option<Update> {
    fn of(max: bool, format: Format, a: u64, b: u64) -> u64 {
        let half = Half {
            format,
            ftz: false,
            saturate: false,
            relu: false,
        };
        let (x, y) = (half.decode(a as u16), half.decode(b as u16));
        match x.is_nan() && y.is_nan() {
            true => 0x7fff,
            false if first_wins(max, x, y) => a & 0xffff,
            false => b & 0xffff,
        }
    }
    Some(match (ty, max) {
        (Ty::F16, false) => |a, b, _| of(false, F16, a, b),
        (Ty::F16, true) => |a, b, _| of(true, F16, a, b),
        (Ty::Bf16, false) => |a, b, _| of(false, BF16, a, b),
        (Ty::Bf16, true) => |a, b, _| of(true, BF16, a, b),
        _ => return None,
    })
}
