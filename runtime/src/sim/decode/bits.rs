//! Logic, shifts, bit fields and moves (PTX ISA 9.7.8, parts of 9.7.1 and 9.7.9).

use super::form::{Decoded, Form, Ty};
use crate::sim::isa::Op;
use crate::sim::lane::{Dst, LaneFn, Registers, Src, WARP, map1, map2, map3, map4};

/// `and`, `or`, `xor`, `not`, `cnot`.
pub(super) fn logic(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    if ty == Ty::Pred {
        let dst = form.pred_dst()?;
        let a = form.pred_src()?;
        let b = if opcode == "not" { a } else { form.pred_src()? };
        let f: fn(u32, u32) -> u32 = match opcode {
            "and" => |a, b| a & b,
            "or" => |a, b| a | b,
            "xor" => |a, b| a ^ b,
            "not" => |a, _| !a,
            _ => return form.unknown(),
        };
        return Ok(Op::lanes(Box::new(
            move |registers: &mut Registers, mask| {
                let value = f(registers.pred(a), registers.pred(b));
                registers.set_pred(dst, mask, value);
            },
        )));
    }
    if !matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) {
        return form.unknown();
    }
    let dst = form.dst(ty)?;
    if matches!(opcode, "not" | "cnot") {
        let a = form.src(ty)?;
        return Ok(Op::lanes(match (opcode, ty) {
            ("not", Ty::B64) => map1(dst, a, |a: u64| !a),
            ("not", _) => map1(dst, a, |a: u32| !a),
            (_, Ty::B64) => map1(dst, a, |a: u64| u64::from(a == 0)),
            (_, Ty::B16) => map1(dst, a, |a: u16| u16::from(a == 0)),
            _ => map1(dst, a, |a: u32| u32::from(a == 0)),
        }));
    }
    let srcs = form.srcs::<2>(ty)?;
    Ok(Op::lanes(match (opcode, ty) {
        ("and", Ty::B64) => map2(dst, srcs, |a: u64, b: u64| a & b),
        ("and", _) => map2(dst, srcs, |a: u32, b: u32| a & b),
        ("or", Ty::B64) => map2(dst, srcs, |a: u64, b: u64| a | b),
        ("or", _) => map2(dst, srcs, |a: u32, b: u32| a | b),
        (_, Ty::B64) => map2(dst, srcs, |a: u64, b: u64| a ^ b),
        _ => map2(dst, srcs, |a: u32, b: u32| a ^ b),
    }))
}

/// `lop3`: any function of three bits, by its truth table.
pub(super) fn logic_3(form: &mut Form) -> Decoded<Op> {
    if form.ty()? != Ty::B32 {
        return form.unknown();
    }
    form.end_modifiers()?;
    let dst = form.dst(Ty::B32)?;
    let srcs = form.srcs::<3>(Ty::B32)?;
    let table = form.literal()? as u8;
    Ok(Op::lanes(map3(dst, srcs, move |a: u32, b: u32, c: u32| {
        (0..8u32)
            .filter(|row| table >> row & 1 == 1)
            .fold(0, |bits, row| {
                let term = |value: u32, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
                bits | term(a, 2) & term(b, 1) & term(c, 0)
            })
    })))
}

/// `shl`, `shr`: amounts past the width give 0, or copies of the sign.
pub(super) fn shift(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.dst(ty)?;
    let srcs = [form.src(ty)?, form.src(Ty::U32)?];
    let bits = ty.bits();
    let signed = opcode == "shr" && ty.is_signed();
    if !matches!(ty, Ty::B16 | Ty::B32 | Ty::B64)
        && (opcode == "shl" || !matches!(bits, 16 | 32 | 64) || ty.is_float())
    {
        return form.unknown();
    }
    Ok(Op::lanes(match (opcode, bits, signed) {
        ("shl", 64, _) => map2(dst, srcs, |a: u64, b: u32| a.checked_shl(b).unwrap_or(0)),
        ("shl", _, _) => map2(dst, srcs, |a: u32, b: u32| if b > 31 { 0 } else { a << b }),
        (_, 64, false) => map2(dst, srcs, |a: u64, b: u32| a.checked_shr(b).unwrap_or(0)),
        (_, 32, false) => map2(dst, srcs, |a: u32, b: u32| if b > 31 { 0 } else { a >> b }),
        (_, _, false) => map2(dst, srcs, |a: u16, b: u32| a.checked_shr(b).unwrap_or(0)),
        (_, 64, true) => map2(dst, srcs, |a: i64, b: u32| a >> b.min(63)),
        (_, 32, true) => map2(dst, srcs, |a: i32, b: u32| a >> b.min(31)),
        (_, _, true) => map2(dst, srcs, |a: i16, b: u32| a >> b.min(15)),
    }))
}

/// `shf`: a shift of the 64 bits `b:a`.
pub(super) fn funnel_shift(form: &mut Form) -> Decoded<Op> {
    let left = form.need("`.l` or `.r`", |m| match m {
        "l" => Some(true),
        "r" => Some(false),
        _ => None,
    })?;
    let clamp = form.need("`.clamp` or `.wrap`", |m| match m {
        "clamp" => Some(true),
        "wrap" => Some(false),
        _ => None,
    })?;
    if form.ty()? != Ty::B32 {
        return form.unknown();
    }
    form.end_modifiers()?;
    let dst = form.dst(Ty::B32)?;
    let srcs = form.srcs::<3>(Ty::B32)?;
    Ok(Op::lanes(map3(dst, srcs, move |a: u32, b: u32, c: u32| {
        let amount = if clamp { c.min(32) } else { c & 31 };
        let both = u64::from(b) << 32 | u64::from(a);
        if left {
            ((both << amount) >> 32) as u32
        } else {
            (both >> amount) as u32
        }
    })))
}

/// `bfe`: a bit field, zero- or sign-extended.
pub(super) fn extract(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.dst(ty)?;
    let srcs = [form.src(ty)?, form.src(Ty::U32)?, form.src(Ty::U32)?];
    let signed = ty.is_signed();
    let field = move |a: u64, position: u32, length: u32, bits: u32| {
        let (position, length) = (position & 0xff, length & 0xff);
        if length == 0 {
            return 0;
        }
        let ones = |n: u32| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
        let value = a.checked_shr(position).unwrap_or(0) & ones(length);
        let sign_at = (position + length - 1).min(bits - 1);
        let fill = signed && a >> sign_at & 1 == 1;
        // Bits of the field that lie past the operand are copies of its sign.
        let present = length.min(bits.saturating_sub(position));
        if fill { value | !ones(present) } else { value }
    };
    Ok(Op::lanes(match ty {
        Ty::U32 | Ty::S32 => map3(dst, srcs, move |a: u32, b: u32, c: u32| {
            field(u64::from(a), b, c, 32) as u32
        }),
        Ty::U64 | Ty::S64 => map3(dst, srcs, move |a: u64, b: u32, c: u32| field(a, b, c, 64)),
        _ => return form.unknown(),
    }))
}

/// `bfi`: a bit field put into another value.
pub(super) fn insert(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.dst(ty)?;
    let [a, b] = form.srcs(ty)?;
    let srcs = [a, b, form.src(Ty::U32)?, form.src(Ty::U32)?];
    let put = |a: u64, b: u64, position: u32, length: u32| {
        let (position, length) = (position & 0xff, length & 0xff);
        let ones = if length >= 64 {
            u64::MAX
        } else {
            (1 << length) - 1
        };
        let mask = ones.checked_shl(position).unwrap_or(0);
        b & !mask | a.checked_shl(position).unwrap_or(0) & mask
    };
    Ok(Op::lanes(match ty {
        Ty::B32 => map4(dst, srcs, move |a: u32, b: u32, c, d| {
            put(u64::from(a), u64::from(b), c, d) as u32
        }),
        Ty::B64 => map4(dst, srcs, put),
        _ => return form.unknown(),
    }))
}

/// `popc`, `clz`, `brev`, `bfind`.
pub(super) fn count(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let shift_amount = opcode == "bfind" && form.eat("shiftamt");
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.dst(if opcode == "brev" { ty } else { Ty::U32 })?;
    let a = form.src(ty)?;
    let find = move |value: u64, bits: u32| match value {
        0 => u32::MAX,
        _ if shift_amount => value.leading_zeros() - (64 - bits),
        _ => 63 - value.leading_zeros(),
    };
    Ok(Op::lanes(match (opcode, ty) {
        ("popc", Ty::B32) => map1(dst, a, u32::count_ones),
        ("popc", Ty::B64) => map1(dst, a, u64::count_ones),
        ("clz", Ty::B32) => map1(dst, a, u32::leading_zeros),
        ("clz", Ty::B64) => map1(dst, a, u64::leading_zeros),
        ("brev", Ty::B32) => map1(dst, a, u32::reverse_bits),
        ("brev", Ty::B64) => map1(dst, a, u64::reverse_bits),
        ("bfind", Ty::U32) => map1(dst, a, move |a: u32| find(u64::from(a), 32)),
        ("bfind", Ty::U64) => map1(dst, a, move |a: u64| find(a, 64)),
        ("bfind", Ty::S32) => map1(dst, a, move |a: i32| {
            find(u64::from((a ^ a >> 31) as u32), 32)
        }),
        ("bfind", Ty::S64) => map1(dst, a, move |a: i64| find((a ^ a >> 63) as u64, 64)),
        _ => return form.unknown(),
    }))
}

/// `prmt`: four bytes chosen from eight.
pub(super) fn permute(form: &mut Form) -> Decoded<Op> {
    if form.ty()? != Ty::B32 {
        return form.unknown();
    }
    let mode = form.pick(|m| match m {
        "f4e" => Some([0x3210u32, 0x4321, 0x5432, 0x6543]),
        "b4e" => Some([0x5670, 0x6701, 0x7012, 0x0123]),
        "rc8" => Some([0x0000, 0x1111, 0x2222, 0x3333]),
        "ecl" => Some([0x3210, 0x3211, 0x3222, 0x3333]),
        "ecr" => Some([0x0000, 0x1110, 0x2210, 0x3210]),
        "rc16" => Some([0x1010, 0x3232, 0x1010, 0x3232]),
        _ => None,
    });
    form.end_modifiers()?;
    let dst = form.dst(Ty::B32)?;
    let mut srcs = form.srcs::<3>(Ty::B32)?;
    // A source of which no byte is chosen is not read: compilers write any register there.
    if let (None, Src::Imm(selector)) = (mode, srcs[2]) {
        let chosen = |source: u64| (0..4).any(|i| selector >> (4 * i + 2) & 1 == source);
        for source in (0..2).filter(|source| !chosen(*source)) {
            srcs[source as usize] = Src::Imm(0);
        }
    }
    Ok(Op::lanes(map3(dst, srcs, move |a: u32, b: u32, c: u32| {
        let both = u64::from(b) << 32 | u64::from(a);
        let selector = match mode {
            Some(table) => table[c as usize & 3],
            None => c,
        };
        (0..4).fold(0, |bits, i| {
            let control = selector >> (4 * i) & 0xf;
            let byte = (both >> (8 * (control & 7))) as u8;
            let byte = if control & 8 != 0 {
                ((byte as i8) >> 7) as u8
            } else {
                byte
            };
            bits | u32::from(byte) << (8 * i)
        })
    })))
}

/// `szext` and `bmsk`: sign or zero extension from a bit, and masks.
pub(super) fn mask(form: &mut Form, opcode: &str) -> Decoded<Op> {
    let clamp = form.need("`.clamp` or `.wrap`", |m| match m {
        "clamp" => Some(true),
        "wrap" => Some(false),
        _ => None,
    })?;
    let ty = form.ty()?;
    form.end_modifiers()?;
    let dst = form.dst(Ty::B32)?;
    let srcs = form.srcs::<2>(Ty::B32)?;
    let ones = |n: u32| if n >= 32 { u32::MAX } else { (1 << n) - 1 };
    let amount = move |n: u32| if clamp { n.min(32) } else { n & 31 };
    Ok(Op::lanes(match (opcode, ty) {
        ("szext", Ty::U32 | Ty::S32) => map2(dst, srcs, move |a: u32, b: u32| {
            let kept = amount(b);
            let low = a & ones(kept);
            let negative = ty.is_signed() && kept > 0 && a >> (kept - 1) & 1 == 1;
            if negative { low | !ones(kept) } else { low }
        }),
        ("bmsk", Ty::B32) => map2(dst, srcs, move |a: u32, b: u32| {
            ones(amount(b)).checked_shl(amount(a)).unwrap_or(0)
        }),
        _ => return form.unknown(),
    }))
}

/// `mov`, with packing and unpacking of vectors.
pub(super) fn mov(form: &mut Form) -> Decoded<Op> {
    let ty = form.ty()?;
    form.end_modifiers()?;
    if ty == Ty::Pred {
        let (dst, src) = (form.pred_dst()?, form.pred_src()?);
        return Ok(Op::lanes(Box::new(
            move |registers: &mut Registers, mask| {
                let value = registers.pred(src);
                registers.set_pred(dst, mask, value);
            },
        )));
    }
    if form.is_vector() {
        return unpack(form, ty);
    }
    let dst = form.dst(ty)?;
    if form.is_vector() {
        return pack(form, ty, dst);
    }
    let src = form.src(ty)?;
    Ok(Op::lanes(match ty.bits() {
        64 => map1(dst, src, |a: u64| a),
        _ => map1(dst, src, |a: u32| a),
    }))
}

/// The element type of a vector that fills a register.
fn element(form: &Form, ty: Ty, count: usize) -> Decoded<Ty> {
    match (ty.bits(), count) {
        (16, 2) => Ok(Ty::B8),
        (32, 2) => Ok(Ty::B16),
        (32, 4) => Ok(Ty::B8),
        (64, 2) => Ok(Ty::B32),
        (64, 4) => Ok(Ty::B16),
        _ => form.unknown(),
    }
}

fn pack(form: &mut Form, ty: Ty, dst: Dst) -> Decoded<Op> {
    let count = form.vector_len();
    let element = element(form, ty, count)?;
    let srcs = form.src_vector(element, count)?;
    let bits = element.bits();
    let lanes: LaneFn = Box::new(move |registers: &mut Registers, mask| {
        let mut packed = [0u64; WARP];
        for (i, &src) in srcs.iter().enumerate() {
            let values = registers.words_of(src);
            for lane in 0..WARP {
                packed[lane] |=
                    (u64::from(values[lane]) & ((1 << bits) - 1)) << (bits as usize * i);
            }
        }
        registers.set_wides(dst, mask, &packed);
    });
    Ok(Op::lanes(lanes))
}

fn unpack(form: &mut Form, ty: Ty) -> Decoded<Op> {
    let count = form.vector_len();
    let element = element(form, ty, count)?;
    let dsts = form.dst_vector(element, count)?;
    let src: Src = form.src(ty)?;
    let bits = element.bits();
    let lanes: LaneFn = Box::new(move |registers: &mut Registers, mask| {
        let packed = registers.wides_of(src);
        for (i, &dst) in dsts.iter().enumerate() {
            let values =
                packed.map(|v| (v >> (bits as usize * i)) as u32 & ((1u64 << bits) - 1) as u32);
            registers.set_words(dst, mask, &values);
        }
    });
    Ok(Op::lanes(lanes))
}
