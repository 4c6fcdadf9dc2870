//! `cvt` and `cvta`.

use half::{bf16, f16};

use super::{FLOATS, INTEGERS, check, eval, try_eval};

fn singles() -> Vec<u64> {
    FLOATS.iter().map(|&b| u64::from(b)).collect()
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[test]
fn between_integers() {
    check("cvt.s64.s32 %rd9, %r0;", &INTEGERS, 1, |v| {
        v[0] as i32 as u64
    });
    check("cvt.u64.u32 %rd9, %r0;", &INTEGERS, 1, |v| {
        u64::from(v[0] as u32)
    });
    check("cvt.u32.u64 %r9, %rd0;", &INTEGERS, 1, |v| {
        u64::from(v[0] as u32)
    });
    check("cvt.s32.s8 %r9, %r0;", &INTEGERS, 1, |v| {
        v[0] as i8 as u32 as u64
    });
    check("cvt.s16.s8 %rs9, %rs0;", &INTEGERS, 1, |v| {
        v[0] as i8 as u16 as u64
    });
    check("cvt.s64.s8 %rd9, %rd0;", &INTEGERS, 1, |v| {
        v[0] as i8 as u64
    });
    check("cvt.u16.u32 %rs9, %r0;", &INTEGERS, 1, |v| {
        u64::from(v[0] as u16)
    });
    check("cvt.u8.u32 %r9, %r0;", &INTEGERS, 1, |v| {
        u64::from(v[0] as u8)
    });
    check("cvt.sat.s16.s32 %rs9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as i32).clamp(-32768, 32767) as u16 as u64
    });
    check("cvt.sat.u8.s32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as i32).clamp(0, 255) as u64
    });
    check("cvt.sat.s32.u64 %r9, %rd0;", &INTEGERS, 1, |v| {
        v[0].min(0x7fff_ffff)
    });
}

#[test]
fn floats_to_integers() {
    check("cvt.rzi.s32.f32 %r9, %r0;", &singles(), 1, |v| {
        f(v[0]) as i32 as u32 as u64
    });
    check("cvt.rzi.u32.f32 %r9, %r0;", &singles(), 1, |v| {
        u64::from(f(v[0]) as u32)
    });
    check("cvt.rni.s32.f32 %r9, %r0;", &singles(), 1, |v| {
        f(v[0]).round_ties_even() as i32 as u32 as u64
    });
    check("cvt.rmi.s32.f32 %r9, %r0;", &singles(), 1, |v| {
        f(v[0]).floor() as i32 as u32 as u64
    });
    check("cvt.rpi.s64.f32 %rd9, %r0;", &singles(), 1, |v| {
        match f(v[0]) {
            value if value.is_nan() => 1 << 63,
            value => value.ceil() as i64 as u64,
        }
    });
    check("cvt.rni.f32.f32 %r9, %r0;", &singles(), 1, |v| {
        match f(v[0]) {
            value if value.is_nan() => 0x7fff_ffff,
            value => value.round_ties_even().to_bits().into(),
        }
    });
    check("cvt.rzi.s16.f16 %rs9, %rs0;", &INTEGERS, 1, |v| {
        f16::from_bits(v[0] as u16).to_f32() as i16 as u16 as u64
    });
}

#[test]
fn integers_to_floats() {
    check("cvt.rn.f32.s32 %r9, %r0;", &INTEGERS, 1, |v| {
        (v[0] as i32 as f32).to_bits().into()
    });
    check("cvt.rn.f32.u64 %r9, %rd0;", &INTEGERS, 1, |v| {
        (v[0] as f32).to_bits().into()
    });
    check("cvt.rn.f64.s64 %rd9, %rd0;", &INTEGERS, 1, |v| {
        (v[0] as i64 as f64).to_bits()
    });
    check("cvt.rn.f16.u16 %rs9, %rs0;", &INTEGERS, 1, |v| {
        f16::from_f32(v[0] as u16 as f32).to_bits().into()
    });
    check("cvt.rz.f32.u32 %r9, %r0;", &INTEGERS, 1, |v| {
        let nearest = v[0] as u32 as f32;
        let down = if f64::from(nearest) > f64::from(v[0] as u32) {
            nearest.next_down()
        } else {
            nearest
        };
        down.to_bits().into()
    });
}

#[test]
fn between_floats() {
    let canonical16 = |bits: u16, nan: bool| if nan { 0x7fff } else { u64::from(bits) };
    check("cvt.rn.f16.f32 %rs9, %r0;", &singles(), 1, |v| {
        canonical16(f16::from_f32(f(v[0])).to_bits(), f(v[0]).is_nan())
    });
    check("cvt.rn.bf16.f32 %rs9, %r0;", &singles(), 1, |v| {
        canonical16(bf16::from_f32(f(v[0])).to_bits(), f(v[0]).is_nan())
    });
    check("cvt.rz.bf16.f32 %rs9, %r0;", &singles(), 1, |v| {
        canonical16((v[0] >> 16) as u16, f(v[0]).is_nan())
    });
    check(
        "cvt.rn.relu.f16.f32 %rs9, %r0;",
        &singles(),
        1,
        |v| match f(v[0]) {
            value if value.is_nan() => 0x7fff,
            value if value <= 0.0 => 0,
            value => f16::from_f32(value).to_bits().into(),
        },
    );
    check("cvt.f64.f32 %rd9, %r0;", &singles()[..24], 1, |v| {
        f64::from(f(v[0])).to_bits()
    });
    check("cvt.rn.f32.f64 %r9, %rd0;", &INTEGERS[..22], 1, |v| {
        (f64::from_bits(v[0]) as f32).to_bits().into()
    });
    check(
        "cvt.rp.f32.f64 %r9, %rd0;",
        &[1, 0x3ff0_0000_0000_0001],
        1,
        |v| match v[0] {
            1 => 1,
            _ => 0x3f80_0001,
        },
    );
    check("cvt.rna.tf32.f32 %r9, %r0;", &singles(), 1, |v| {
        match f(v[0]) {
            value if value.is_nan() => 0x7fff_e000,
            value if value.is_infinite() => v[0],
            _ => (v[0] + 0x1000) & 0xffff_e000,
        }
    });
    check("cvt.sat.f32.f32 %r9, %r0;", &singles(), 1, |v| {
        match f(v[0]) {
            value if value > 0.0 => value.min(1.0).to_bits().into(),
            _ => 0,
        }
    });
}

#[test]
fn packed_pairs_put_the_first_source_high() {
    let rows = super::combinations(&singles(), 2);
    for (row, found) in rows
        .iter()
        .zip(eval("cvt.rn.bf16x2.f32 %r9, %r0, %r1;", &rows))
    {
        let bits = |v: u64| {
            if f(v).is_nan() {
                0x7fff
            } else {
                bf16::from_f32(f(v)).to_bits()
            }
        };
        assert_eq!(
            found as u32,
            u32::from(bits(row[0])) << 16 | u32::from(bits(row[1])),
            "{row:x?}"
        );
    }
    for (row, found) in rows
        .iter()
        .zip(eval("cvt.rn.f16x2.f32 %r9, %r0, %r1;", &rows))
    {
        let bits = |v: u64| {
            if f(v).is_nan() {
                0x7fff
            } else {
                f16::from_f32(f(v)).to_bits()
            }
        };
        assert_eq!(
            found as u32,
            u32::from(bits(row[0])) << 16 | u32::from(bits(row[1])),
            "{row:x?}"
        );
    }
    let row = [vec![0x3f80_0000, 0x43e4_0000]];
    assert_eq!(
        eval("cvt.rn.satfinite.e4m3x2.f32 %rs9, %r0, %r1;", &row)[0],
        0x387e
    );
    let row = [vec![0x387e]];
    assert_eq!(eval("cvt.rn.f16x2.e4m3x2 %r9, %rs0;", &row)[0], 0x3c00_5f00);
}

#[test]
fn forms_that_the_isa_lacks_are_refused() {
    for instruction in [
        "cvt.f16.f32 %rs9, %r0;",
        "cvt.s32.f32 %r9, %r0;",
        "cvt.rn.s32.s64 %r9, %rd0;",
        "cvt.rn.f64.f32 %rd9, %r0;",
        "cvt.rna.f16.f32 %rs9, %r0;",
        "cvt.b32.b64 %r9, %rd0;",
        "cvt.f32.s32 %r9, %r0;",
    ] {
        assert!(try_eval(instruction, &[vec![0]]).is_err(), "{instruction}");
    }
}

#[test]
fn generic_addresses_lead_back() {
    let rows = [vec![0x1234]];
    for space in ["shared", "local", "const", "global", "param"] {
        let body = format!("cvta.{space}.u64 %rd9, %rd0; cvta.to.{space}.u64 %rd9, %rd9;");
        assert_eq!(eval(&body, &rows)[0], 0x1234, "{space}");
    }
    let body = "cvta.shared.u64 %rd9, %rd0; isspacep.shared %p9, %rd9; isspacep.global %p8, %rd9; selp.b64 %rd9, 1, 0, %p9; @%p8 add.u64 %rd9, %rd9, 2;";
    assert_eq!(eval(body, &rows)[0], 1);
}
