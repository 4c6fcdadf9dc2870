//! Integer arithmetic (PTX ISA 9.7.1).

use super::form::{Decoded, Form, Ty};
use crate::sim::isa::Op;
use crate::sim::lane::{LaneFn, Pair, Registers, map1, map2, map3};

/// Decodes `$method` of the type's Rust integer.
macro_rules! by_type {
    ($form:expr, $ty:expr, $map:ident, $n:literal, |$($arg:ident),*| $body:expr) => {{
        let ty = $ty;
        let dst = $form.dst(ty)?;
        let srcs = $form.srcs::<$n>(ty)?;
        match ty {
            Ty::U16 | Ty::B16 => $map(dst, srcs, |$($arg: u16),*| -> u16 { $body }),
            Ty::S16 => $map(dst, srcs, |$($arg: i16),*| -> i16 { $body }),
            Ty::U32 | Ty::B32 => $map(dst, srcs, |$($arg: u32),*| -> u32 { $body }),
            Ty::S32 => $map(dst, srcs, |$($arg: i32),*| -> i32 { $body }),
            Ty::U64 | Ty::B64 => $map(dst, srcs, |$($arg: u64),*| -> u64 { $body }),
            Ty::S64 => $map(dst, srcs, |$($arg: i64),*| -> i64 { $body }),
            _ => return $form.unknown(),
        }
    }};
}

/// Integer division as the GPU does it: total. Division by zero gives all ones, as on an H200 (the
/// ISA leaves it open).
trait Divide: Sized {
    fn quotient(self, by: Self) -> Self;
    fn remainder(self, by: Self) -> Self;
    fn high_product(self, by: Self) -> Self;
}

macro_rules! divide {
    ($($ty:ty, $wide:ty;)*) => {$(
        impl Divide for $ty {
            fn quotient(self, by: Self) -> Self {
                if by == 0 { !0 } else { self.wrapping_div(by) }
            }
            fn remainder(self, by: Self) -> Self {
                if by == 0 { !0 } else { self.wrapping_rem(by) }
            }
            #[inline]
            fn high_product(self, by: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(by)) >> <$ty>::BITS) as $ty
            }
        }
    )*};
}

divide! { u16, u32; i16, i32; u32, u64; i32, i64; u64, u128; i64, i128; }

/// `add`, `sub`, `min`, `max` of two 16-bit integers in a register, and `add.sat` and the like.
pub(super) fn binary(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let saturate = matches!(opcode, "add" | "sub") && form.eat("sat");
    let relu = matches!(opcode, "min" | "max") && form.eat("relu");
    let ty = form.ty()?;
    form.end_modifiers()?;
    if saturate || relu {
        if ty != Ty::S32 {
            return form.unknown();
        }
        let (dst, srcs) = (form.dst(ty)?, form.srcs::<2>(ty)?);
        return Ok(Op::lanes(match opcode {
            "add" => map2(dst, srcs, i32::saturating_add),
            "sub" => map2(dst, srcs, i32::saturating_sub),
            "min" => map2(dst, srcs, |a: i32, b: i32| a.min(b).max(0)),
            _ => map2(dst, srcs, |a: i32, b: i32| a.max(b).max(0)),
        }));
    }
    if matches!(ty, Ty::U16x2 | Ty::S16x2) {
        return packed(form, opcode, ty);
    }
    if matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) {
        return form.unknown();
    }
    Ok(Op::lanes(match opcode {
        "add" => by_type!(form, ty, map2, 2, |a, b| a.wrapping_add(b)),
        "sub" => by_type!(form, ty, map2, 2, |a, b| a.wrapping_sub(b)),
        "min" => by_type!(form, ty, map2, 2, |a, b| a.min(b)),
        "max" => by_type!(form, ty, map2, 2, |a, b| a.max(b)),
        "div" => by_type!(form, ty, map2, 2, |a, b| a.quotient(b)),
        _ => by_type!(form, ty, map2, 2, |a, b| a.remainder(b)),
    }))
}

fn packed(form: &mut Form, opcode: &str, ty: Ty) -> Decoded<Op> {
    let (dst, srcs) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    let unsigned = |f: fn(u16, u16) -> u16| {
        map2(dst, srcs, move |a: Pair<u16>, b: Pair<u16>| {
            [f(a[0], b[0]), f(a[1], b[1])]
        })
    };
    let signed = |f: fn(i16, i16) -> i16| {
        map2(dst, srcs, move |a: Pair<i16>, b: Pair<i16>| {
            [f(a[0], b[0]), f(a[1], b[1])]
        })
    };
    Ok(Op::lanes(match (opcode, ty) {
        ("add", _) => unsigned(u16::wrapping_add),
        ("sub", _) => unsigned(u16::wrapping_sub),
        ("min", Ty::U16x2) => unsigned(|a, b| a.min(b)),
        ("max", Ty::U16x2) => unsigned(|a, b| a.max(b)),
        ("min", _) => signed(|a, b| a.min(b)),
        ("max", _) => signed(|a, b| a.max(b)),
        _ => return form.unknown(),
    }))
}

/// Which part of the double-width product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Low,
    High,
    Wide,
}

fn part(form: &mut Form) -> Decoded<Part> {
    form.need("`.lo`, `.hi` or `.wide`", |m| match m {
        "lo" => Some(Part::Low),
        "hi" => Some(Part::High),
        "wide" => Some(Part::Wide),
        _ => None,
    })
}

/// The type of twice the width.
fn doubled(ty: Ty) -> Option<Ty> {
    Some(match ty {
        Ty::U16 => Ty::U32,
        Ty::S16 => Ty::S32,
        Ty::U32 => Ty::U64,
        Ty::S32 => Ty::S64,
        _ => return None,
    })
}

/// `mul`.
pub(super) fn multiply(form: &mut Form) -> Decoded<Op> {
    let part = part(form)?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    if part == Part::Wide {
        let Some(double) = doubled(ty) else {
            return form.unknown();
        };
        let (dst, srcs) = (form.dst(double)?, form.srcs::<2>(ty)?);
        return Ok(Op::lanes(match ty {
            Ty::U16 => map2(dst, srcs, |a: u16, b: u16| u32::from(a) * u32::from(b)),
            Ty::S16 => map2(dst, srcs, |a: i16, b: i16| i32::from(a) * i32::from(b)),
            Ty::U32 => map2(dst, srcs, |a: u32, b: u32| u64::from(a) * u64::from(b)),
            _ => map2(dst, srcs, |a: i32, b: i32| i64::from(a) * i64::from(b)),
        }));
    }
    Ok(Op::lanes(match part {
        Part::Low => by_type!(form, ty, map2, 2, |a, b| a.wrapping_mul(b)),
        _ => by_type!(form, ty, map2, 2, |a, b| a.high_product(b)),
    }))
}

/// `mad`.
pub(super) fn multiply_add(form: &mut Form) -> Decoded<Op> {
    let part = part(form)?;
    let saturate = part == Part::High && form.eat("sat");
    let ty = form.ty()?;
    form.end_modifiers()?;
    if saturate {
        let (dst, srcs) = (form.dst(Ty::S32)?, form.srcs::<3>(Ty::S32)?);
        return Ok(Op::lanes(map3(dst, srcs, |a: i32, b: i32, c: i32| {
            a.high_product(b).saturating_add(c)
        })));
    }
    if part == Part::Wide {
        let Some(double) = doubled(ty) else {
            return form.unknown();
        };
        let dst = form.dst(double)?;
        let [a, b] = form.srcs(ty)?;
        let srcs = [a, b, form.src(double)?];
        return Ok(Op::lanes(match ty {
            Ty::U16 => map3(dst, srcs, |a: u16, b: u16, c: u32| {
                (u32::from(a) * u32::from(b)).wrapping_add(c)
            }),
            Ty::S16 => map3(dst, srcs, |a: i16, b: i16, c: i32| {
                (i32::from(a) * i32::from(b)).wrapping_add(c)
            }),
            Ty::U32 => map3(dst, srcs, |a: u32, b: u32, c: u64| {
                (u64::from(a) * u64::from(b)).wrapping_add(c)
            }),
            _ => map3(dst, srcs, |a: i32, b: i32, c: i64| {
                (i64::from(a) * i64::from(b)).wrapping_add(c)
            }),
        }));
    }
    Ok(Op::lanes(match part {
        Part::Low => by_type!(form, ty, map3, 3, |a, b, c| a
            .wrapping_mul(b)
            .wrapping_add(c)),
        _ => by_type!(form, ty, map3, 3, |a, b, c| a
            .high_product(b)
            .wrapping_add(c)),
    }))
}

/// `abs`, `neg`.
pub(super) fn unary(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let (dst, a) = (form.dst(ty)?, form.src(ty)?);
    Ok(Op::lanes(match (opcode, ty) {
        ("abs", Ty::S16) => map1(dst, a, i16::wrapping_abs),
        ("abs", Ty::S32) => map1(dst, a, i32::wrapping_abs),
        ("abs", Ty::S64) => map1(dst, a, i64::wrapping_abs),
        ("neg", Ty::S16) => map1(dst, a, i16::wrapping_neg),
        ("neg", Ty::S32) => map1(dst, a, i32::wrapping_neg),
        ("neg", Ty::S64) => map1(dst, a, i64::wrapping_neg),
        _ => return form.unknown(),
    }))
}

/// `sad`: `c + |a - b|`.
pub(super) fn absolute_difference(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    Ok(Op::lanes(by_type!(form, ty, map3, 3, |a, b, c| c
        .wrapping_add(if a < b {
            b.wrapping_sub(a)
        } else {
            a.wrapping_sub(b)
        }))))
}

/// `dp4a`, `dp2a`: dot products of bytes.
pub(super) fn dot(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let high = match opcode {
        "dp2a" => Some(form.need("`.lo` or `.hi`", |m| match m {
            "lo" => Some(false),
            "hi" => Some(true),
            _ => None,
        })?),
        _ => None,
    };
    let (a_type, b_type) = (form.ty()?, form.ty()?);
    form.end_modifiers()?;
    if ![a_type, b_type]
        .iter()
        .all(|ty| matches!(ty, Ty::U32 | Ty::S32))
    {
        return form.unknown();
    }
    let (dst, srcs) = (form.dst(Ty::B32)?, form.srcs::<3>(Ty::B32)?);
    let (a_signed, b_signed) = (a_type.is_signed(), b_type.is_signed());
    let byte = |value: u32, i: u32, signed: bool| {
        let byte = (value >> (8 * i)) as u8;
        if signed {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    };
    let half = |value: u32, i: u32, signed: bool| {
        let half = (value >> (16 * i)) as u16;
        if signed {
            i32::from(half as i16)
        } else {
            i32::from(half)
        }
    };
    Ok(Op::lanes(match high {
        None => map3(dst, srcs, move |a: u32, b: u32, c: i32| {
            (0..4).fold(c, |sum, i| {
                sum.wrapping_add(byte(a, i, a_signed) * byte(b, i, b_signed))
            })
        }),
        Some(high) => map3(dst, srcs, move |a: u32, b: u32, c: i32| {
            let first = 2 * u32::from(high);
            (0..2).fold(c, |sum, i| {
                sum.wrapping_add(half(a, i, a_signed) * byte(b, first + i, b_signed))
            })
        }),
    }))
}

/// `add.cc`, `addc`, `sub.cc`, `subc`: arithmetic of more than a register, through the carry.
pub(super) fn carry(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let reads = matches!(opcode, "addc" | "subc");
    let subtracts = matches!(opcode, "sub" | "subc");
    let writes = form.eat("cc");
    let ty = form.ty()?;
    form.end_modifiers()?;
    if !matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64) {
        return form.unknown();
    }
    let (dst, [a, b]) = (form.dst(ty)?, form.srcs::<2>(ty)?);
    let ones = u64::MAX >> (64 - ty.bits());
    Ok(Op::lanes(Box::new(
        move |registers: &mut Registers, mask| {
            let (a, b) = (registers.wides_of(a), registers.wides_of(b));
            let mut carry = 0;
            let results = std::array::from_fn(|lane| {
                let carried = u128::from(reads && registers.carry >> lane & 1 == 1);
                let (a, b) = (u128::from(a[lane] & ones), u128::from(b[lane] & ones));
                // The carry of a subtraction is its borrow.
                let result = if subtracts {
                    a.wrapping_sub(b).wrapping_sub(carried)
                } else {
                    a + b + carried
                };
                carry |= u32::from(result > u128::from(ones)) << lane;
                result as u64 & ones
            });
            registers.set_wides(dst, mask, &results);
            if writes {
                registers.carry = registers.carry & !mask | carry & mask;
            }
        },
    )))
}

/// `mul24`, `mad24`, `.lo` only: products of the low 24 bits.
pub(super) fn multiply_24(form: &mut Form, opcode: &str) -> Decoded<Op> {
    if !form.eat("lo") {
        return form.bad_modifier("`.lo`");
    }
    let ty = form.ty()?;
    form.end_modifiers()?;
    if !matches!(ty, Ty::U32 | Ty::S32) {
        return form.unknown();
    }
    let dst = form.dst(ty)?;
    let signed = ty.is_signed();
    let product = move |a: u32, b: u32| {
        let low = |v: u32| {
            if signed {
                ((v << 8) as i32 >> 8) as u32
            } else {
                v & 0xff_ffff
            }
        };
        low(a).wrapping_mul(low(b))
    };
    let lanes: LaneFn = match opcode {
        "mul24" => map2(dst, form.srcs::<2>(ty)?, product),
        _ => map3(dst, form.srcs::<3>(ty)?, move |a, b, c: u32| {
            product(a, b).wrapping_add(c)
        }),
    };
    Ok(Op::lanes(lanes))
}
