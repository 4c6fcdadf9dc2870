//! Integer and bit instructions.

use super::{INTEGERS, check, eval, try_eval};
use crate::sim::ErrorKind;

#[test]
fn add_sub_mul_of_each_width() {
    check("add.s16 %rs9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as u16).wrapping_add(v[1] as u16).into()
    });
    check("add.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u32).wrapping_add(v[1] as u32).into()
    });
    check("add.s64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        v[0].wrapping_add(v[1])
    });
    check("sub.u32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u32).wrapping_sub(v[1] as u32).into()
    });
    check("add.sat.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as i32).saturating_add(v[1] as i32) as u32 as u64
    });
    check("mul.lo.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u32).wrapping_mul(v[1] as u32).into()
    });
    check("mul.lo.s64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        v[0].wrapping_mul(v[1])
    });
    check("mul.lo.s16 %rs9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as u16).wrapping_mul(v[1] as u16).into()
    });
    check("mul.hi.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        ((i64::from(v[0] as i32) * i64::from(v[1] as i32)) >> 32) as u32 as u64
    });
    check("mul.hi.u64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        ((u128::from(v[0]) * u128::from(v[1])) >> 64) as u64
    });
    check("mul.hi.s64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        ((v[0] as i64 as i128 * v[1] as i64 as i128) >> 64) as u64
    });
    check("mul.wide.s32 %rd9, %r0, %r1;", &INTEGERS, 2, |v| {
        (i64::from(v[0] as i32) * i64::from(v[1] as i32)) as u64
    });
    check("mul.wide.u16 %r9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        u64::from(v[0] as u16) * u64::from(v[1] as u16)
    });
    check("add.s16x2 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        let half = |i: u32| (v[0] >> (16 * i)) as u16 as u32 + (v[1] >> (16 * i)) as u16 as u32;
        u64::from(half(0) & 0xffff | half(1) << 16)
    });
}

#[test]
fn multiply_add() {
    let few = &INTEGERS[14..];
    check("mad.lo.s32 %r9, %r0, %r1, %r2;", few, 3, |v| {
        (v[0] as u32)
            .wrapping_mul(v[1] as u32)
            .wrapping_add(v[2] as u32)
            .into()
    });
    check("mad.wide.s32 %rd9, %r0, %r1, %rd2;", few, 3, |v| {
        ((i64::from(v[0] as i32) * i64::from(v[1] as i32)) as u64).wrapping_add(v[2])
    });
    check("mad.hi.u32 %r9, %r0, %r1, %r2;", few, 3, |v| {
        u64::from(
            (((v[0] as u32 as u64 * (v[1] as u32 as u64)) >> 32) as u32).wrapping_add(v[2] as u32),
        )
    });
    check("sad.s32 %r9, %r0, %r1, %r2;", few, 3, |v| {
        (v[2] as u32)
            .wrapping_add((v[0] as i32).abs_diff(v[1] as i32))
            .into()
    });
    check("dp4a.s32.s32 %r9, %r0, %r1, %r2;", few, 3, |v| {
        let byte = |x: u64, i: u32| i32::from((x >> (8 * i)) as i8);
        (0..4).fold(v[2] as i32, |s, i| {
            s.wrapping_add(byte(v[0], i) * byte(v[1], i))
        }) as u32 as u64
    });
    check("mul24.lo.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        let low = |x: u64| ((x as u32) << 8) as i32 >> 8;
        low(v[0]).wrapping_mul(low(v[1])) as u32 as u64
    });
}

#[test]
fn division_is_total() {
    check("div.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        match v[1] as i32 {
            0 => 0xffff_ffff,
            b => (v[0] as i32).wrapping_div(b) as u32 as u64,
        }
    });
    check("div.u64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        v[0].checked_div(v[1]).unwrap_or(u64::MAX)
    });
    check("rem.s64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        match v[1] as i64 {
            0 => u64::MAX,
            b => (v[0] as i64).wrapping_rem(b) as u64,
        }
    });
    check("rem.u16 %rs9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as u16)
            .checked_rem(v[1] as u16)
            .unwrap_or(u16::MAX)
            .into()
    });
}

#[test]
fn extrema_and_signs() {
    check("min.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as i32).min(v[1] as i32) as u32 as u64
    });
    check("max.u16 %rs9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as u16).max(v[1] as u16).into()
    });
    check("max.s64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        (v[0] as i64).max(v[1] as i64) as u64
    });
    check("max.relu.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as i32).max(v[1] as i32).max(0) as u64
    });
    check("abs.s32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as i32).wrapping_abs() as u32 as u64
    });
    check("neg.s64 %rd9, %rd0;", &INTEGERS, 1, |v| v[0].wrapping_neg());
    check("neg.s16 %rs9, %rs0;", &INTEGERS, 1, |v| {
        (v[0] as u16).wrapping_neg().into()
    });
}

#[test]
fn logic() {
    check("and.b32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        u64::from(v[0] as u32 & v[1] as u32)
    });
    check("or.b64 %rd9, %rd0, %rd1;", &INTEGERS, 2, |v| v[0] | v[1]);
    check("xor.b16 %rs9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        u64::from((v[0] ^ v[1]) as u16)
    });
    check("not.b16 %rs9, %rs0;", &INTEGERS, 1, |v| {
        u64::from(!v[0] as u16)
    });
    check("not.b64 %rd9, %rd0;", &INTEGERS, 1, |v| !v[0]);
    check("cnot.b32 %r9, %r0;", &INTEGERS, 1, |v| {
        u64::from(v[0] as u32 == 0)
    });
    let few = &INTEGERS[11..21];
    for (table, f) in [
        (0x96u8, (|a, b, c| a ^ b ^ c) as fn(u32, u32, u32) -> u32),
        (0xe8, |a, b, c| a & b | b & c | a & c),
        (0xca, |a, b, c| a & b | !a & c),
        (0x01, |a, b, c| !(a | b | c)),
    ] {
        let expected = |v: &[u64]| f(v[0] as u32, v[1] as u32, v[2] as u32).into();
        check(
            &format!("lop3.b32 %r9, %r0, %r1, %r2, {table};"),
            few,
            3,
            expected,
        );
    }
}

#[test]
fn shifts_past_the_width() {
    check("shl.b32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u32).checked_shl(v[1] as u32).unwrap_or(0).into()
    });
    check("shl.b64 %rd9, %rd0, %r1;", &INTEGERS, 2, |v| {
        v[0].checked_shl(v[1] as u32).unwrap_or(0)
    });
    check("shl.b16 %rs9, %rs0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u16).checked_shl(v[1] as u32).unwrap_or(0).into()
    });
    check("shr.u32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u32).checked_shr(v[1] as u32).unwrap_or(0).into()
    });
    check("shr.u16 %rs9, %rs0, %r1;", &INTEGERS, 2, |v| {
        (v[0] as u16).checked_shr(v[1] as u32).unwrap_or(0).into()
    });
    check("shr.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        ((v[0] as i32) >> (v[1] as u32).min(31)) as u32 as u64
    });
    check("shr.s64 %rd9, %rd0, %r1;", &INTEGERS, 2, |v| {
        ((v[0] as i64) >> (v[1] as u32).min(63)) as u64
    });
    check("shr.s16 %rs9, %rs0, %r1;", &INTEGERS, 2, |v| {
        ((v[0] as i16) >> (v[1] as u32).min(15)) as u16 as u64
    });
    check("shf.l.wrap.b32 %r9, %r0, %r1, 7;", &INTEGERS, 2, |v| {
        u64::from((v[1] as u32) << 7 | (v[0] as u32) >> 25)
    });
    check("shf.r.wrap.b32 %r9, %r0, %r1, 39;", &INTEGERS, 2, |v| {
        u64::from((v[0] as u32) >> 7 | (v[1] as u32) << 25)
    });
    check("shf.r.clamp.b32 %r9, %r0, %r1, 39;", &INTEGERS, 2, |v| {
        u64::from(v[1] as u32)
    });
}

#[test]
fn bit_fields() {
    // The reference loops of the ISA.
    let bfe = |a: u64, position: u64, length: u64, bits: u64, signed: bool| {
        let (position, length) = (position & 255, length & 255);
        let bit = |i: u64| a >> i & 1;
        let sign = if signed && length > 0 {
            bit((position + length - 1).min(bits - 1))
        } else {
            0
        };
        (0..bits).fold(0, |d, i| {
            let b = if i < length && position + i < bits {
                bit(position + i)
            } else {
                sign
            };
            d | b << i
        })
    };
    let bfi = |a: u64, b: u64, position: u64, length: u64, bits: u64| {
        let (position, length) = (position & 255, length & 255);
        (0..length)
            .take_while(|i| position + i < bits)
            .fold(b, |d, i| {
                d & !(1 << (position + i)) | (a >> i & 1) << (position + i)
            })
    };
    let few: Vec<u64> = INTEGERS
        .iter()
        .copied()
        .filter(|v| !matches!(v, 3 | 65 | 0x7fff | 0x80))
        .collect();
    check("bfe.u32 %r9, %r0, %r1, %r2;", &few, 3, |v| {
        bfe(v[0] & 0xffff_ffff, v[1], v[2], 32, false)
    });
    check("bfe.s32 %r9, %r0, %r1, %r2;", &few, 3, |v| {
        bfe(v[0] & 0xffff_ffff, v[1], v[2], 32, true)
    });
    check("bfe.u64 %rd9, %rd0, %r1, %r2;", &few, 3, |v| {
        bfe(v[0], v[1], v[2], 64, false)
    });
    check("bfe.s64 %rd9, %rd0, %r1, %r2;", &few, 3, |v| {
        bfe(v[0], v[1], v[2], 64, true)
    });
    let fewer = &few[..11];
    check("bfi.b32 %r9, %r0, -1, %r1, %r2;", fewer, 3, |v| {
        bfi(v[0] & 0xffff_ffff, 0xffff_ffff, v[1], v[2], 32)
    });
    check("bfi.b64 %rd9, %rd0, 77, %r1, %r2;", fewer, 3, |v| {
        bfi(v[0], 77, v[1], v[2], 64)
    });
    check("szext.clamp.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        let n = (v[1] as u32).min(32);
        let bits = u64::from(v[0] as u32);
        if n == 0 {
            0
        } else {
            ((bits << (64 - n)) as i64 >> (64 - n)) as u32 as u64
        }
    });
    check("bmsk.wrap.b32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        u64::from((((1u64 << (v[1] & 31)) - 1) << (v[0] & 31)) as u32)
    });
}

#[test]
fn counts() {
    check("popc.b32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as u32).count_ones().into()
    });
    check("popc.b64 %r9, %rd0;", &INTEGERS, 1, |v| {
        v[0].count_ones().into()
    });
    check("clz.b32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as u32).leading_zeros().into()
    });
    check("clz.b64 %r9, %rd0;", &INTEGERS, 1, |v| {
        v[0].leading_zeros().into()
    });
    check("brev.b32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as u32).reverse_bits().into()
    });
    check("brev.b64 %rd9, %rd0;", &INTEGERS, 1, |v| {
        v[0].reverse_bits()
    });
    check("bfind.u32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as u32).checked_ilog2().unwrap_or(u32::MAX).into()
    });
    check("bfind.shiftamt.u32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as u32)
            .checked_ilog2()
            .map_or(u32::MAX, |b| 31 - b)
            .into()
    });
    check("bfind.s64 %r9, %rd0;", &INTEGERS, 1, |v| {
        let bits = if (v[0] as i64) < 0 { !v[0] } else { v[0] };
        bits.checked_ilog2().unwrap_or(u32::MAX).into()
    });
}

#[test]
fn permute() {
    let rows = vec![vec![0x8372_6150, 0x9b8a_7968]];
    let run = |selector: &str| eval(&format!("prmt.b32 %r9, %r0, %r1, {selector};"), &rows)[0];
    assert_eq!(run("0x3210"), 0x8372_6150);
    assert_eq!(run("0x7654"), 0x9b8a_7968);
    assert_eq!(run("0x5410"), 0x7968_6150);
    // A selector with its top bit set spreads the byte's sign.
    assert_eq!(run("0x0fb8"), 0x50ff_ff00);
    // A source of which no byte is chosen may be a register that nothing has written.
    assert_eq!(
        eval("prmt.b32 %r9, %r0, %r8, 0x3120;", &rows)[0],
        0x8361_7250
    );
    assert_eq!(
        eval("prmt.b32 %r9, %r8, %r1, 0x6757;", &rows)[0],
        0x8a9b_799b
    );
    assert_eq!(
        eval("prmt.b32.rc16 %r9, %r0, %r1, 1;", &rows)[0],
        0x8372_8372
    );
}

#[test]
fn moves_pack_and_unpack() {
    check("mov.b32 %r9, {%rs0, %rs1};", &INTEGERS, 2, |v| {
        (v[0] & 0xffff) | (v[1] & 0xffff) << 16
    });
    check("mov.b64 %rd9, {%r0, %r1};", &INTEGERS, 2, |v| {
        (v[0] & 0xffff_ffff) | v[1] << 32
    });
    let unpack = "mov.b64 %rd9, %rd0; mov.b64 {_, %r9}, %rd9; cvt.u64.u32 %rd9, %r9;";
    check(unpack, &INTEGERS, 1, |v| v[0] >> 32);
    let halves = "mov.b64 %rd9, %rd0; mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd9; mov.b64 %rd9, {%rs4, %rs3, %rs2, %rs1};";
    check(halves, &INTEGERS, 1, |v| {
        (0..4).fold(0, |r, i| r | (v[0] >> (16 * i) & 0xffff) << (48 - 16 * i))
    });
}

#[test]
fn comparisons() {
    check("setp.lt.s32 %p9, %r0, %r1;", &INTEGERS, 2, |v| {
        ((v[0] as i32) < (v[1] as i32)).into()
    });
    check("setp.hi.u64 %p9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        (v[0] > v[1]).into()
    });
    check("setp.ge.u16 %p9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as u16 >= v[1] as u16).into()
    });
    check("setp.le.s16 %p9, %rs0, %rs1;", &INTEGERS, 2, |v| {
        (v[0] as i16 <= v[1] as i16).into()
    });
    check("setp.ne.b64 %p9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        (v[0] != v[1]).into()
    });
    check("setp.eq.s64 %p9, %rd0, %rd1;", &INTEGERS, 2, |v| {
        (v[0] == v[1]).into()
    });
    check("set.gt.u32.s32 %r9, %r0, %r1;", &INTEGERS, 2, |v| {
        if v[0] as i32 > v[1] as i32 {
            0xffff_ffff
        } else {
            0
        }
    });
    check("slct.b32.s32 %r9, 5, 6, %r0;", &INTEGERS, 1, |v| {
        if v[0] as i32 >= 0 { 5 } else { 6 }
    });
    check("slct.b64.f32 %rd9, 5, 6, %r0;", &INTEGERS, 1, |v| {
        if f32::from_bits(v[0] as u32) >= 0.0 {
            5
        } else {
            6
        }
    });
}

#[test]
fn nothing_is_guessed() {
    for (instruction, complaint) in [
        (
            "mad.lo.cc.s32 %r9, %r0, %r1, %r2;",
            "expected a type, found `.cc`",
        ),
        (
            "add.s32.foo %r9, %r0, %r1;",
            "expected no further modifier, found `.foo`",
        ),
        (
            "frobnicate.s32 %r9, %r0;",
            "unknown instruction `frobnicate.s32`",
        ),
        (
            "add.s32 %r9, %r0;",
            "operand 2: expected a source, found none",
        ),
        (
            "add.s32 %r9, %r0, %r1, %r2;",
            "operand 3: expected 3 operands, found `%r2`",
        ),
        (
            "add.s32 %r9, %rd0, %r1;",
            "operand 1: expected a register of 32 bits (it has 64)",
        ),
        (
            "setp.lt.b32 %p9, %r0, %r1;",
            "unknown instruction `setp.lt.b32`",
        ),
        ("shl.s32 %r9, %r0, %r1;", "unknown instruction `shl.s32`"),
        ("add.s32 %r9, %q0, %r1;", "name `%q0` is not declared"),
        ("add.s32 %r9, %r100, %r1;", "name `%r100` is not declared"),
    ] {
        let error = try_eval(instruction, &[vec![0, 0]]).unwrap_err();
        assert!(
            error.to_string().contains(complaint),
            "{instruction}: {error}"
        );
        assert_eq!(error.location.unwrap().ptx_line, 20, "{instruction}");
    }
    assert!(matches!(
        try_eval("call.uni %r9, foo;", &[vec![0, 0]])
            .unwrap_err()
            .kind,
        ErrorKind::UnknownInstruction { .. }
    ));
}

#[test]
fn carries() {
    // The upper halves of 128-bit sums and differences.
    let sum = "add.cc.u64 %rd9, %rd0, %rd1; addc.cc.u64 %rd9, %rd0, 0; addc.u64 %rd9, %rd9, 0;";
    check(sum, &INTEGERS, 2, |v| {
        let (low_carries, high) = (v[0].overflowing_add(v[1]).1, v[0]);
        let (high, carries) = high.overflowing_add(low_carries.into());
        high.wrapping_add(carries.into())
    });
    let difference = "sub.cc.u32 %r9, %r0, %r1; subc.u32 %r9, %r0, %r1;";
    check(difference, &INTEGERS, 2, |v| {
        let wide = |v: u64| u64::from(v as u32) << 32 | u64::from(v as u32);
        wide(v[0]).wrapping_sub(wide(v[1])) >> 32
    });
}
