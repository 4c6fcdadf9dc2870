//! Floating-point instructions.

use half::{bf16, f16};

use super::{FLOATS, check, eval, try_eval};

const NAN: u64 = 0x7fff_ffff;

fn singles() -> Vec<u64> {
    FLOATS.iter().map(|&b| u64::from(b)).collect()
}

fn halves() -> Vec<u64> {
    vec![
        0, 0x8000, 1, 0x3ff, 0x400, 0x3800, 0x3c00, 0x3c01, 0xbc00, 0x4248, 0x7bff, 0xfbff, 0x7c00,
        0xfc00, 0x7e00, 0x2e66,
    ]
}

fn doubles() -> Vec<u64> {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        1e300,
        -1e-300,
        5e-324,
        f64::INFINITY,
        3.0,
    ];
    values.iter().map(|v: &f64| v.to_bits()).collect()
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Bits of a result, every NaN as the GPU writes it.
fn single(value: f32) -> u64 {
    if value.is_nan() {
        NAN
    } else {
        value.to_bits().into()
    }
}

fn flushed(bits: u64) -> f32 {
    let value = f(bits);
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

#[test]
fn single_arithmetic() {
    check("add.rn.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        single(f(v[0]) + f(v[1]))
    });
    check("add.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        single(f(v[0]) + f(v[1]))
    });
    check("sub.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        single(f(v[0]) - f(v[1]))
    });
    check("mul.rn.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        single(f(v[0]) * f(v[1]))
    });
    check("div.rn.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        single(f(v[0]) / f(v[1]))
    });
    check("sqrt.rn.f32 %r9, %r0;", &singles(), 1, |v| {
        single(f(v[0]).sqrt())
    });
    check("rcp.rn.f32 %r9, %r0;", &singles(), 1, |v| {
        single(1.0 / f(v[0]))
    });
    check("fma.rn.f32 %r9, %r0, %r1, %r2;", &singles(), 3, |v| {
        single(f(v[0]).mul_add(f(v[1]), f(v[2])))
    });
    check("mul.rn.ftz.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        let product = flushed(v[0]) * flushed(v[1]);
        single(if product.is_subnormal() {
            0f32.copysign(product)
        } else {
            product
        })
    });
    check("add.sat.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        let sum = f(v[0]) + f(v[1]);
        single(if sum > 0.0 { sum.min(1.0) } else { 0.0 })
    });
}

#[test]
fn directed_roundings_bound_the_nearest() {
    for instruction in [
        "add.R.f32 %r9, %r0, %r1;",
        "mul.R.f32 %r9, %r0, %r1;",
        "div.R.f32 %r9, %r0, %r1;",
    ] {
        let rows = super::combinations(&singles(), 2);
        let [nearest, down, up, zero] =
            ["rn", "rm", "rp", "rz"].map(|mode| eval(&instruction.replace('R', mode), &rows));
        for i in 0..rows.len() {
            let [nearest, down, up, zero] = [nearest[i], down[i], up[i], zero[i]].map(f);
            if nearest.is_nan() {
                assert!(down.is_nan() && up.is_nan() && zero.is_nan());
                continue;
            }
            assert!(
                down <= nearest && nearest <= up,
                "{instruction} {:x?}",
                rows[i]
            );
            assert!(
                down == up || down.next_up() == up,
                "{instruction} {:x?} {down} {up}",
                rows[i]
            );
            let inward = if down.abs() < up.abs() { down } else { up };
            assert_eq!(zero, inward, "{instruction} {:x?}", rows[i]);
        }
    }
    let cancel = [vec![0x3f80_0000, 0xbf80_0000]];
    assert_eq!(eval("add.rm.f32 %r9, %r0, %r1;", &cancel)[0], 0x8000_0000);
    assert_eq!(eval("add.rz.f32 %r9, %r0, %r1;", &cancel)[0], 0);
}

#[test]
fn double_arithmetic() {
    let d = f64::from_bits;
    let same = |instruction: &str, arity: usize, f: &dyn Fn(&[u64]) -> f64| {
        check(instruction, &doubles(), arity, |v| {
            let value = f(v);
            if value.is_nan() {
                u64::MAX
            } else {
                value.to_bits()
            }
        });
    };
    // NaNs of f64 keep their payload; fold them to one value.
    let fold = |instruction: &str| {
        format!("{instruction} setp.nan.f64 %p1, %rd9, %rd9; selp.b64 %rd9, -1, %rd9, %p1;")
    };
    same(&fold("add.rn.f64 %rd9, %rd0, %rd1;"), 2, &|v| {
        d(v[0]) + d(v[1])
    });
    same(&fold("sub.f64 %rd9, %rd0, %rd1;"), 2, &|v| {
        d(v[0]) - d(v[1])
    });
    same(&fold("mul.f64 %rd9, %rd0, %rd1;"), 2, &|v| {
        d(v[0]) * d(v[1])
    });
    same(&fold("div.rn.f64 %rd9, %rd0, %rd1;"), 2, &|v| {
        d(v[0]) / d(v[1])
    });
    same(&fold("fma.rn.f64 %rd9, %rd0, %rd1, %rd2;"), 3, &|v| {
        d(v[0]).mul_add(d(v[1]), d(v[2]))
    });
    same(&fold("sqrt.rn.f64 %rd9, %rd0;"), 1, &|v| d(v[0]).sqrt());
    same(&fold("neg.f64 %rd9, %rd0;"), 1, &|v| -d(v[0]));
    // Another rounding is not simulated, and says so.
    assert!(try_eval("add.rz.f64 %rd9, %rd0, %rd1;", &[vec![0, 0]]).is_err());
}

#[test]
fn half_arithmetic_rounds_once() {
    let h = |bits: u64| f16::from_bits(bits as u16);
    let bits = |value: f16| {
        if value.is_nan() {
            0x7fff
        } else {
            u64::from(value.to_bits())
        }
    };
    // f32 has more than twice the bits of f16, so rounding twice is rounding once.
    check("add.rn.f16 %rs9, %rs0, %rs1;", &halves(), 2, |v| {
        bits(f16::from_f32(h(v[0]).to_f32() + h(v[1]).to_f32()))
    });
    check("sub.f16 %rs9, %rs0, %rs1;", &halves(), 2, |v| {
        bits(f16::from_f32(h(v[0]).to_f32() - h(v[1]).to_f32()))
    });
    check("mul.f16 %rs9, %rs0, %rs1;", &halves(), 2, |v| {
        bits(f16::from_f32(h(v[0]).to_f32() * h(v[1]).to_f32()))
    });
    // Products have 22 bits, and the sums of these values fit f64's 53.
    check(
        "fma.rn.f16 %rs9, %rs0, %rs1, %rs2;",
        &halves()[4..],
        3,
        |v| {
            let exact = h(v[0]).to_f64().mul_add(h(v[1]).to_f64(), h(v[2]).to_f64());
            bits(f16::from_f64(exact))
        },
    );
    check("mul.bf16x2 %r9, %r0, %r1;", &singles(), 2, |v| {
        let half = |i: u32| {
            let value = |x: u64| bf16::from_bits((x >> (16 * i)) as u16).to_f32();
            let product = bf16::from_f32(value(v[0]) * value(v[1]));
            if product.is_nan() {
                0x7fff
            } else {
                u64::from(product.to_bits())
            }
        };
        half(0) | half(1) << 16
    });
    check(
        "mov.b32 %r9, 0; fma.rn.relu.f16x2 %r9, %r0, %r1, %r9;",
        &singles(),
        2,
        |v| {
            let half = |i: u32| {
                let value = |x: u64| f16::from_bits((x >> (16 * i)) as u16).to_f32();
                let product = f16::from_f32(value(v[0]) * value(v[1]));
                match product.to_f32() {
                    p if p.is_nan() => 0x7fff,
                    p if p <= 0.0 => 0,
                    _ => u64::from(product.to_bits()),
                }
            };
            half(0) | half(1) << 16
        },
    );
}

#[test]
fn extrema_with_nan_and_zeros() {
    let min = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, true) => NAN,
        (true, _) => single(b),
        (_, true) => single(a),
        _ if a == b => u64::from(a.to_bits() | b.to_bits()),
        _ => single(a.min(b)),
    };
    check("min.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        min(f(v[0]), f(v[1]))
    });
    check("max.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        match min(-f(v[0]), -f(v[1])) {
            NAN => NAN,
            least => least ^ 0x8000_0000,
        }
    });
    check("max.NaN.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        match f(v[0]).is_nan() || f(v[1]).is_nan() {
            true => NAN,
            false => min(-f(v[0]), -f(v[1])) ^ 0x8000_0000,
        }
    });
    let rows = vec![
        vec![0x7e00_3c00, 0xbc00_7e00],
        vec![0x8000_0000, 0x0000_8000],
    ];
    assert_eq!(eval("max.f16x2 %r9, %r0, %r1;", &rows), [0xbc00_3c00, 0]);
    assert_eq!(
        eval("max.NaN.f16x2 %r9, %r0, %r1;", &rows),
        [0x7fff_7fff, 0]
    );
    assert_eq!(
        eval("min.f16x2 %r9, %r0, %r1;", &rows),
        [0xbc00_3c00, 0x8000_8000]
    );
    let rows = vec![vec![0xc000_0000, 0x3f80_0000]];
    assert_eq!(
        eval("min.xorsign.abs.f32 %r9, %r0, %r1;", &rows)[0],
        0xbf80_0000
    );
}

#[test]
fn signs() {
    let or_nan = |v: f32, bits: u64| if v.is_nan() { NAN } else { bits };
    check("abs.f32 %r9, %r0;", &singles(), 1, |v| {
        or_nan(f(v[0]), v[0] & 0x7fff_ffff)
    });
    check("neg.f32 %r9, %r0;", &singles(), 1, |v| {
        or_nan(f(v[0]), v[0] ^ 0x8000_0000)
    });
    check("neg.f16x2 %r9, %r0;", &singles(), 1, |v| {
        let half = |bits: u16| match f16::from_bits(bits).is_nan() {
            true => 0x7fff,
            false => u64::from(bits ^ 0x8000),
        };
        half(v[0] as u16) | half((v[0] >> 16) as u16) << 16
    });
    check("abs.bf16 %rs9, %rs0;", &halves(), 1, |v| v[0] & 0x7fff);
    check("copysign.f32 %r9, %r0, %r1;", &singles(), 2, |v| {
        v[0] & 0x8000_0000 | v[1] & 0x7fff_ffff
    });
    check("testp.finite.f32 %p9, %r0;", &singles(), 1, |v| {
        f(v[0]).is_finite().into()
    });
}

#[test]
fn approximations_are_the_rounded_values() {
    check("ex2.approx.f32 %r9, %r0;", &singles(), 1, |v| {
        single((f64::from(f(v[0]))).exp2() as f32)
    });
    check("lg2.approx.f32 %r9, %r0;", &singles(), 1, |v| {
        single((f64::from(f(v[0]))).log2() as f32)
    });
    check("sin.approx.f32 %r9, %r0;", &singles(), 1, |v| {
        single((f64::from(f(v[0]))).sin() as f32)
    });
    check("tanh.approx.f32 %r9, %r0;", &singles(), 1, |v| {
        single((f64::from(f(v[0]))).tanh() as f32)
    });
    check("rsqrt.approx.f32 %r9, %r0;", &singles(), 1, |v| {
        single((1.0 / f64::from(f(v[0])).sqrt()) as f32)
    });
    check("rcp.approx.ftz.f32 %r9, %r0;", &singles(), 1, |v| {
        let value = 1.0 / flushed(v[0]);
        single(if value.is_subnormal() {
            0f32.copysign(value)
        } else {
            value
        })
    });
    let h = |bits: u64| f16::from_bits(bits as u16).to_f64();
    check(
        "ex2.approx.f16 %rs9, %rs0;",
        &halves(),
        1,
        |v| match f16::from_f64(h(v[0]).exp2()) {
            value if value.is_nan() => 0x7fff,
            value => value.to_bits().into(),
        },
    );
}

#[test]
fn comparisons() {
    check("setp.lt.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        (f(v[0]) < f(v[1])).into()
    });
    check("setp.ltu.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        f(v[0])
            .partial_cmp(&f(v[1]))
            .is_none_or(|o| o.is_lt())
            .into()
    });
    check("setp.ne.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        (f(v[0]) < f(v[1]) || f(v[0]) > f(v[1])).into()
    });
    check("setp.neu.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        (f(v[0]) != f(v[1])).into()
    });
    check("setp.num.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        (!f(v[0]).is_nan() && !f(v[1]).is_nan()).into()
    });
    check("setp.gt.ftz.f32 %p9, %r0, %r1;", &singles(), 2, |v| {
        (flushed(v[0]) > flushed(v[1])).into()
    });
    check("setp.ge.f64 %p9, %rd0, %rd1;", &doubles(), 2, |v| {
        (f64::from_bits(v[0]) >= f64::from_bits(v[1])).into()
    });
    check("setp.le.f16 %p9, %rs0, %rs1;", &halves(), 2, |v| {
        (f16::from_bits(v[0] as u16) <= f16::from_bits(v[1] as u16)).into()
    });
    // Both results of a packed comparison, and a combination with a predicate.
    let both = "setp.eq.f16x2 %p8|%p9, %r0, %r1; selp.b32 %r8, 1, 0, %p8; selp.b32 %r9, 2, 0, %p9; or.b32 %r9, %r8, %r9;";
    let packed = format!("mov.b32 %r9, 0; {both}");
    check(&packed, &singles(), 2, |v| {
        let half = |x: u64, i: u32| f16::from_bits((x >> (16 * i)) as u16).to_f32();
        u64::from(half(v[0], 0) == half(v[1], 0)) | u64::from(half(v[0], 1) == half(v[1], 1)) << 1
    });
    let combined = "setp.lt.f32 %p1, %r0, %r1; setp.gt.xor.s32 %p9|%p8, %r0, 5, !%p1;";
    let rows = super::combinations(&singles(), 2);
    let found = eval(
        &format!("mov.b32 %r9, 0; {combined} selp.b32 %r9, 1, 0, %p9;"),
        &rows,
    );
    for (row, found) in rows.iter().zip(found) {
        assert_eq!(
            found == 1,
            (row[0] as i32 > 5) ^ f(row[0]).partial_cmp(&f(row[1])).is_none_or(|o| o.is_ge())
        );
    }
}
