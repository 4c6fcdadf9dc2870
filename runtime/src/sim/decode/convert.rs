//! `cvt` (PTX ISA 9.7.9.21) and `cvta`.

use super::float::rounding;
use super::form::{Decoded, Form, Ty};
use crate::sim::Space;
use crate::sim::isa::{LOCAL_WINDOW, Op, PARAM_WINDOW, PEER_SHIFT, SHARED_WINDOW, WINDOW_BYTES};
use crate::sim::lane::{Dst, Lane, LaneFn, Registers, Src, map1, map2};
use crate::sim::number::{self, BF16, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32};

/// A value between its decoding and its encoding.
#[derive(Clone, Copy)]
enum Value {
    Int(i128),
    Float(f64),
}

/// The modifiers of a conversion.
#[derive(Clone, Copy, Default)]
struct Style {
    /// `.rn`, … or `None`.
    float_rounding: Option<Rounding>,
    /// `.rni`, …: to an integral value.
    integer_rounding: Option<Rounding>,
    ftz: bool,
    saturate: bool,
    saturate_finite: bool,
    relu: bool,
}

fn float_format(ty: Ty) -> Option<Format> {
    Some(match ty {
        Ty::F16 => F16,
        Ty::Bf16 => BF16,
        Ty::F32 => F32,
        Ty::F64 => F64,
        Ty::Tf32 => TF32,
        _ => return None,
    })
}

/// Reads a register's bits as a type.
fn decode(ty: Ty, bits: u64, ftz: bool) -> Value {
    match ty {
        Ty::U8 | Ty::B8 => Value::Int((bits as u8).into()),
        Ty::U16 | Ty::B16 => Value::Int((bits as u16).into()),
        Ty::U32 | Ty::B32 => Value::Int((bits as u32).into()),
        Ty::S8 => Value::Int((bits as i8).into()),
        Ty::S16 => Value::Int((bits as i16).into()),
        Ty::S32 => Value::Int((bits as i32).into()),
        Ty::S64 => Value::Int((bits as i64).into()),
        Ty::F16 => Value::Float(number::f16_to_f32(bits as u16).into()),
        Ty::Bf16 => Value::Float(number::bf16_to_f32(bits as u16).into()),
        Ty::F32 => {
            let value = f32::from_bits(bits as u32);
            Value::Float(if ftz { number::flush(value) } else { value }.into())
        }
        Ty::F64 => Value::Float(f64::from_bits(bits)),
        _ => Value::Int(bits.into()),
    }
}

/// To an integral value.
fn integral(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

fn integer_range(ty: Ty) -> (i128, i128) {
    let bits = ty.bits();
    match ty.is_signed() {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

fn to_integer(ty: Ty, from: Ty, value: Value, style: Style) -> u64 {
    let (min, max) = integer_range(ty);
    match value {
        Value::Int(value) if style.saturate => value.clamp(min, max) as u64,
        Value::Int(value) => {
            // Truncate, then extend to the register.
            let low = value & ((1 << ty.bits()) - 1);
            (if ty.is_signed() && low > max {
                low - (1 << ty.bits())
            } else {
                low
            }) as u64
        }
        Value::Float(value) if value.is_nan() => {
            // PTX ISA 9.7.9.21: zero, unless 64 bits take part.
            let wide = from == Ty::F64 || matches!(ty, Ty::S64 | Ty::U64);
            if wide { 1 << (ty.bits() - 1) } else { 0 }
        }
        Value::Float(value) => {
            let value = integral(value, style.integer_rounding.unwrap_or(Rounding::Zero));
            // `as` saturates.
            (value as i128).clamp(min, max) as u64
        }
    }
}

fn to_float(ty: Ty, format: Format, value: Value, style: Style) -> u64 {
    let mode = style.float_rounding.unwrap_or(Rounding::Nearest);
    let bits = match value {
        Value::Int(value) => {
            let bits = number::encode(
                format,
                value < 0,
                value.unsigned_abs() as u64,
                0,
                mode,
                style.saturate_finite,
            );
            match style.saturate {
                true if value <= 0 => 0,
                true => number::round(format, 1.0, mode, false),
                false => bits,
            }
        }
        Value::Float(value) => {
            let mut value = match style.integer_rounding {
                Some(mode) => integral(value, mode),
                None => value,
            };
            if style.saturate {
                value = if value > 0.0 { value.min(1.0) } else { 0.0 };
            }
            if style.relu && value <= 0.0 {
                value = 0.0;
            }
            number::round(format, value, mode, style.saturate_finite)
        }
    };
    match ty {
        Ty::F32 if style.ftz => u64::from(number::flush(f32::from_bits(bits as u32)).to_bits()),
        // 19 bits in the upper part of the register.
        Ty::Tf32 => bits << 13,
        _ => bits,
    }
}

/// `cvt`.
pub(super) fn convert(form: &mut Form) -> Decoded<Op> {
    let mut style = Style {
        integer_rounding: form.pick(|m| match m {
            "rni" => Some(Rounding::Nearest),
            "rzi" => Some(Rounding::Zero),
            "rmi" => Some(Rounding::Down),
            "rpi" => Some(Rounding::Up),
            _ => None,
        }),
        ..Style::default()
    };
    if style.integer_rounding.is_none() {
        style.float_rounding = form.pick(|m| {
            if m == "rna" {
                Some(Rounding::NearestAway)
            } else {
                rounding(m)
            }
        });
    }
    // The ISA writes these in an order that differs between its forms.
    loop {
        let seen = match form.peek() {
            Some("ftz") => &mut style.ftz,
            Some("sat") => &mut style.saturate,
            Some("satfinite") => &mut style.saturate_finite,
            Some("relu") => &mut style.relu,
            _ => break,
        };
        if *seen {
            return form.bad_modifier("each modifier once");
        }
        *seen = true;
        form.eat_any(&["ftz", "sat", "satfinite", "relu"]);
    }
    let to = form.ty()?;
    // `cvt.rna.tf32.satfinite…` does not exist, `cvt.rn.satfinite.e4m3x2.f32` does.
    let from = form.ty()?;
    form.end_modifiers()?;
    if matches!(to, Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2) {
        return packed(form, to, from, style);
    }
    check(form, to, from, style)?;
    let dst = if to == Ty::Tf32 {
        form.dst(Ty::B32)?
    } else {
        form.wide_dst(to)?
    };
    let src = form.wide_src(from)?;
    if let Some(lanes) = fast(to, from, style, dst, src) {
        return Ok(Op::lanes(lanes));
    }
    Ok(Op::lanes(match float_format(to) {
        Some(format) => map1(dst, src, move |bits: u64| {
            to_float(to, format, decode(from, bits, style.ftz), style)
        }),
        None => map1(dst, src, move |bits: u64| {
            to_integer(to, from, decode(from, bits, style.ftz), style)
        }),
    }))
}

/// Refuses combinations that the ISA does not have.
fn check(form: &Form, to: Ty, from: Ty, style: Style) -> Decoded<()> {
    let packed = |ty| {
        matches!(
            ty,
            Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2 | Ty::U16x2 | Ty::S16x2 | Ty::Pred
        )
    };
    let bits = |ty| matches!(ty, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64);
    let float = |ty| float_format(ty).is_some();
    let Style {
        float_rounding,
        integer_rounding,
        ..
    } = style;
    let narrows = match (float_format(to), float_format(from)) {
        (Some(_), Some(_)) => {
            to.bits() < from.bits()
                || to == Ty::Tf32
                || (to, from) == (Ty::Bf16, Ty::F16)
                || (to, from) == (Ty::F16, Ty::Bf16)
        }
        (Some(_), None) => true,
        _ => false,
    };
    let legal = match () {
        _ if packed(to) || packed(from) || bits(to) || bits(from) || from == Ty::Tf32 => false,
        _ if float(to) && narrows => float_rounding.is_some() && integer_rounding.is_none(),
        // Between equal formats only to integral values; wider formats take anything exactly.
        _ if float(to) && float(from) => float_rounding.is_none(),
        _ if float(from) => integer_rounding.is_some(),
        _ => float_rounding.is_none() && integer_rounding.is_none(),
    };
    if legal && (float_rounding != Some(Rounding::NearestAway) || to == Ty::Tf32) {
        Ok(())
    } else {
        form.unknown()
    }
}

/// The conversions of address arithmetic and of mixed precision, without the general path.
fn fast(to: Ty, from: Ty, style: Style, dst: Dst, src: Src) -> Option<LaneFn> {
    if style.ftz || style.saturate || style.relu || style.saturate_finite {
        return None;
    }
    let nearest = style.float_rounding == Some(Rounding::Nearest);
    Some(match (to, from) {
        (Ty::U64 | Ty::S64, Ty::U32) => map1(dst, src, |a: u32| u64::from(a)),
        (Ty::U64 | Ty::S64, Ty::S32) => map1(dst, src, |a: i32| i64::from(a)),
        (Ty::U32 | Ty::S32, Ty::U64 | Ty::S64) if matches!(dst, Dst::Word(_)) => {
            map1(dst, src, |a: u32| a)
        }
        (Ty::U32 | Ty::S32, Ty::U16) => map1(dst, src, |a: u16| u32::from(a)),
        (Ty::U32 | Ty::S32, Ty::S16) if matches!(dst, Dst::Word(_)) => {
            map1(dst, src, |a: i16| i32::from(a))
        }
        (Ty::U16, Ty::U32 | Ty::U64) if matches!(dst, Dst::Word(_)) => map1(dst, src, |a: u32| a),
        (Ty::F32, Ty::F16) if style.integer_rounding.is_none() => {
            map1(dst, src, |a: u16| number::canonical(number::f16_to_f32(a)))
        }
        (Ty::F32, Ty::Bf16) if style.integer_rounding.is_none() => {
            map1(dst, src, number::bf16_to_f32)
        }
        (Ty::F32, Ty::S32) if nearest => map1(dst, src, |a: i32| a as f32),
        (Ty::F32, Ty::U32) if nearest => map1(dst, src, |a: u32| a as f32),
        (Ty::F16, Ty::F32) if nearest => map1(dst, src, f16_nearest),
        (Ty::Bf16, Ty::F32) if nearest => map1(dst, src, bf16_nearest),
        _ => return None,
    })
}

/// f32 → f16 bits.
fn f16_nearest(value: f32) -> u16 {
    if value.is_nan() {
        0x7fff
    } else {
        half::f16::from_f32(value).to_bits()
    }
}

/// f32 → bf16 bits.
#[inline]
fn bf16_nearest(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if value.is_nan() {
        0x7fff
    } else {
        rounded as u16
    }
}

/// Conversions to and from pairs: `d = {b, a}`, the first source in the upper half.
fn packed(form: &mut Form, to: Ty, from: Ty, style: Style) -> Decoded<Op> {
    let format = match to {
        Ty::F16x2 => F16,
        Ty::Bf16x2 => BF16,
        Ty::E4m3x2 => E4M3,
        _ => E5M2,
    };
    let Some(mode) = style.float_rounding else {
        return form.bad_modifier("a rounding");
    };
    let fp8 = matches!(to, Ty::E4m3x2 | Ty::E5m2x2);
    if style.ftz
        || style.saturate
        || fp8 && !style.saturate_finite
        || !matches!(mode, Rounding::Nearest | Rounding::Zero)
    {
        return form.unknown();
    }
    let width = if fp8 { 8 } else { 16 };
    let one = move |value: f64| {
        let value = if style.relu && value <= 0.0 {
            0.0
        } else {
            value
        };
        number::round(format, value, mode, style.saturate_finite) as u32
    };
    let dst = form.dst(to)?;
    let plain = mode == Rounding::Nearest && !style.relu && !style.saturate_finite;
    Ok(Op::lanes(match from {
        Ty::F32 => {
            let srcs = form.srcs::<2>(Ty::F32)?;
            match to {
                Ty::Bf16x2 if plain => map2(dst, srcs, |a: f32, b: f32| {
                    [bf16_nearest(b), bf16_nearest(a)]
                }),
                Ty::F16x2 if plain => {
                    map2(dst, srcs, |a: f32, b: f32| [f16_nearest(b), f16_nearest(a)])
                }
                _ => map2(dst, srcs, move |a: f32, b: f32| {
                    one(b.into()) | one(a.into()) << width
                }),
            }
        }
        Ty::F16x2 if fp8 => {
            let src = form.src(Ty::F16x2)?;
            let half = move |bits: u16| one(number::f16_to_f32(bits).into());
            map1(dst, src, move |a: u32| {
                half(a as u16) | half((a >> 16) as u16) << width
            })
        }
        Ty::E4m3x2 | Ty::E5m2x2 if to == Ty::F16x2 => {
            let src = form.src(Ty::B16)?;
            let source = if from == Ty::E4m3x2 { E4M3 } else { E5M2 };
            let half = move |bits: u8| one(source.decode(bits.into()));
            map1(dst, src, move |a: u16| {
                half(a as u8) | half((a >> 8) as u8) << width
            })
        }
        _ => return form.unknown(),
    }))
}

fn window(space: Space) -> u64 {
    match space {
        Space::Shared | Space::Cluster => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Generic | Space::Global | Space::Const => 0,
    }
}

/// A state space modifier.
pub(super) fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::Cluster,
        "local" => Space::Local,
        "param" | "param::entry" => Space::Param,
        "const" => Space::Const,
        _ => return None,
    })
}

/// `cvta`, `cvta.to`: between a space's addresses and generic ones.
pub(super) fn convert_address(form: &mut Form) -> Decoded<Op> {
    let to = form.eat("to");
    let space = form.need("a state space", space)?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    if ty != Ty::U64 {
        return form.unknown();
    }
    let (dst, src) = (form.dst(ty)?, form.src(ty)?);
    let base = window(space);
    Ok(Op::lanes(match to {
        true => map1(dst, src, move |a: u64| a.wrapping_sub(base)),
        false => map1(dst, src, move |a: u64| a.wrapping_add(base)),
    }))
}

/// `isspacep`.
pub(super) fn is_space(form: &mut Form) -> Decoded<Op> {
    let space = form.need("a state space", space)?;
    form.end_modifiers()?;
    let dst = form.pred_dst()?;
    let src = form.src(Ty::U64)?;
    let base = window(space);
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let addresses = <u64 as Lane>::fetch(registers, src);
            let inside = |address: u64| match space {
                // That of another CTA is none of `.shared::cta`.
                Space::Shared => address.wrapping_sub(base) < 1 << PEER_SHIFT,
                Space::Cluster | Space::Local | Space::Param => {
                    address.wrapping_sub(base) < WINDOW_BYTES
                }
                Space::Generic | Space::Global | Space::Const => address >> 40 != 0,
            };
            let value = addresses
                .iter()
                .enumerate()
                .fold(0, |m, (lane, &a)| m | u32::from(inside(a)) << lane);
            registers.set_pred(dst, mask, value);
        },
    )))
}

/// `mapa`: the same place in the shared memory of a CTA of the cluster.
pub(super) fn map_address(form: &mut Form) -> Decoded<Op> {
    let (base, ty) = cluster_address(form)?;
    let (dst, src) = (form.dst(ty)?, form.src(ty)?);
    let rank = form.src(Ty::U32)?;
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let (addresses, ranks) = (registers.wides_of(src), registers.words_of(rank));
            let mapped = std::array::from_fn(|lane| {
                let place = addresses[lane].wrapping_sub(base) & ((1 << PEER_SHIFT) - 1);
                base + (place | (u64::from(ranks[lane]) + 1) << PEER_SHIFT)
            });
            registers.set_wides(dst, mask, &mapped);
        },
    )))
}

/// `getctarank`: the CTA of the cluster that an address of shared memory belongs to.
pub(super) fn cta_rank(form: &mut Form) -> Decoded<Op> {
    let (base, ty) = cluster_address(form)?;
    let (dst, src) = (form.dst(Ty::U32)?, form.src(ty)?);
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let addresses = registers.wides_of(src);
            let own = registers.specials.cluster_ctarank;
            let rank = |address: u64| match address.wrapping_sub(base) >> PEER_SHIFT {
                0 => own,
                rank => rank as u32 - 1,
            };
            registers.set_words(dst, mask, &addresses.map(rank));
        },
    )))
}

/// The type of an address of the cluster's shared memory, and where the window begins in it: 0 of `.shared::cluster`.
fn cluster_address(form: &mut Form) -> Decoded<(u64, Ty)> {
    let base = match form.eat("shared::cluster") {
        true => 0,
        false => SHARED_WINDOW,
    };
    let ty = form.ty()?;
    form.end_modifiers()?;
    if !matches!(ty, Ty::U32 | Ty::U64) || base != 0 && ty != Ty::U64 {
        return form.unknown();
    }
    Ok((base, ty))
}
