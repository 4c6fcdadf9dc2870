//! Floating-point formats and roundings that Rust does not have.
//!
//! Everything goes through [`encode`], which rounds an exact value `±mantissa · 2^exponent` to a
//! format. Sums that f64 cannot hold are first *rounded to odd* ([`add_odd`]), which keeps what a
//! later rounding to at most 51 bits needs (Boldo and Melquiond, "Emulation of FMA and correctly
//! rounded sums", IEEE TC 2008).

/// A rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// A binary floating-point format with a sign bit, at most 64 bits wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// E4M3 has no infinity, and one NaN per sign.
    finite_only: bool,
    nan: u64,
}

pub(crate) const F64: Format = Format {
    exponent_bits: 11,
    mantissa_bits: 52,
    finite_only: false,
    nan: 0x7fff_ffff_ffff_ffff,
};
pub(crate) const F32: Format = Format {
    exponent_bits: 8,
    mantissa_bits: 23,
    finite_only: false,
    nan: 0x7fff_ffff,
};
pub(crate) const F16: Format = Format {
    exponent_bits: 5,
    mantissa_bits: 10,
    finite_only: false,
    nan: 0x7fff,
};
pub(crate) const BF16: Format = Format {
    exponent_bits: 8,
    mantissa_bits: 7,
    finite_only: false,
    nan: 0x7fff,
};
/// TF32 as the upper 19 bits of an f32.
pub(crate) const TF32: Format = Format {
    exponent_bits: 8,
    mantissa_bits: 10,
    finite_only: false,
    nan: 0x3_ffff,
};
pub(crate) const E4M3: Format = Format {
    exponent_bits: 4,
    mantissa_bits: 3,
    finite_only: true,
    nan: 0x7f,
};
pub(crate) const E5M2: Format = Format {
    exponent_bits: 5,
    mantissa_bits: 2,
    finite_only: false,
    nan: 0x7f,
};

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// Bits of the largest finite value.
    fn max_finite(self) -> u64 {
        match self.finite_only {
            true => self.nan - 1,
            false => self.infinity() - 1,
        }
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The value of some bits; exact for every format but a NaN's payload.
    pub fn decode(self, bits: u64) -> f64 {
        let magnitude = bits & (self.sign_bit() - 1);
        let negative = bits & self.sign_bit() != 0;
        let fraction = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let value = if self.finite_only && magnitude == self.nan
            || !self.finite_only && magnitude > self.infinity()
        {
            f64::NAN
        } else if !self.finite_only && magnitude == self.infinity() {
            f64::INFINITY
        } else if exponent == 0 {
            fraction as f64 * power_of_two(1 - self.bias() - self.mantissa_bits as i32)
        } else {
            let mantissa = fraction | 1 << self.mantissa_bits;
            mantissa as f64 * power_of_two(exponent - self.bias() - self.mantissa_bits as i32)
        };
        if negative { -value } else { value }
    }
}

/// `2^exponent` for the exponents that formats narrower than f64 need.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52)
}

/// Rounds `±mantissa · 2^exponent` to a format. A result past the largest finite value becomes
/// infinity or that value as the mode says; with `saturate` always that value.
pub(crate) fn encode(
    format: Format,
    negative: bool,
    mantissa: u64,
    exponent: i32,
    mode: Rounding,
    saturate: bool,
) -> u64 {
    let sign = if negative { format.sign_bit() } else { 0 };
    if mantissa == 0 {
        return sign;
    }
    // The value is in [2^top, 2^(top+1)).
    let top = exponent + 63 - mantissa.leading_zeros() as i32;
    let min_exponent = 1 - format.bias();
    // Weight of the last bit of the result.
    let quantum = top.max(min_exponent) - format.mantissa_bits as i32;
    let shift = quantum - exponent;
    let rounded = if shift <= 0 {
        // The mantissa is short enough: `top - quantum` bits at most.
        mantissa << -shift
    } else {
        let (kept, lost, half) = match shift {
            1..=63 => (
                mantissa >> shift,
                mantissa & ((1 << shift) - 1),
                1u64 << (shift - 1),
            ),
            64 => (0, mantissa, 1 << 63),
            _ => (0, 1, 2),
        };
        let away = match mode {
            Rounding::Nearest => lost > half || lost == half && kept & 1 == 1,
            Rounding::NearestAway => lost >= half,
            Rounding::Zero => false,
            Rounding::Down => negative && lost != 0,
            Rounding::Up => !negative && lost != 0,
        };
        kept + u64::from(away)
    };
    // A carry out of the mantissa moves into the exponent by itself.
    let biased = (quantum + format.mantissa_bits as i32 + format.bias() - 1) as i64;
    let magnitude = if biased >= 1 << format.exponent_bits {
        u64::MAX
    } else {
        ((biased as u64) << format.mantissa_bits) + rounded
    };
    if magnitude <= format.max_finite() {
        return sign | magnitude;
    }
    let towards_finite = match mode {
        Rounding::Nearest | Rounding::NearestAway => false,
        Rounding::Zero => true,
        Rounding::Down => !negative,
        Rounding::Up => negative,
    };
    sign | match (saturate || towards_finite, format.finite_only) {
        (true, _) => format.max_finite(),
        (false, false) => format.infinity(),
        (false, true) => format.nan,
    }
}

/// Rounds an f64 to a format. A NaN becomes the canonical NaN of the PTX ISA.
pub(crate) fn round(format: Format, value: f64, mode: Rounding, saturate: bool) -> u64 {
    if value.is_nan() {
        return format.nan;
    }
    let negative = value.is_sign_negative();
    let sign = if negative { format.sign_bit() } else { 0 };
    if value.is_infinite() {
        return sign
            | match (saturate, format.finite_only) {
                (true, _) => format.max_finite(),
                (false, false) => format.infinity(),
                (false, true) => format.nan,
            };
    }
    let (mantissa, exponent) = parts(value);
    encode(format, negative, mantissa, exponent, mode, saturate)
}

/// `|value| = mantissa · 2^exponent`, exactly.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased - 1075),
    }
}

/// Rounds an f64 to f32.
pub(crate) fn to_f32(value: f64, mode: Rounding) -> f32 {
    match mode {
        Rounding::Nearest => canonical(value as f32),
        _ => f32::from_bits(round(F32, value, mode, false) as u32),
    }
}

/// Replaces any NaN by the one that GPU arithmetic returns.
#[inline]
pub(crate) fn canonical(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(0x7fff_ffff)
    } else {
        value
    }
}

/// Flushes a subnormal to zero of its sign.
#[inline]
pub(crate) fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    if bits & 0x7f80_0000 == 0 {
        f32::from_bits(bits & 0x8000_0000)
    } else {
        value
    }
}

/// `a + b` rounded to odd: truncated, with the last bit set when anything was lost.
#[inline]
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // The error of the sum, exactly (Knuth's TwoSum).
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    let bits = sum.to_bits();
    // Infinities and NaNs make the error a NaN, for which no comparison holds.
    let lost = error.abs() > 0.0;
    let inward = (error > 0.0) != (sum > 0.0);
    if lost && bits & 1 == 0 {
        f64::from_bits(if inward { bits - 1 } else { bits + 1 })
    } else {
        sum
    }
}

/// `a · b + c` with one rounding. The product of two f32 is exact in f64.
#[inline]
pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    canonical(add_odd(f64::from(a) * f64::from(b), f64::from(c)) as f32)
}

/// f16 bits → f32, exactly and without branches.
#[inline]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let sign = u32::from(bits & 0x8000) << 16;
    // Shifted into f32's fields, a finite f16 is its value times 2^-112.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    let special = f32::from_bits(magnitude << 13 | 0x7f80_0000);
    let value = if magnitude >= 0x7c00 { special } else { scaled };
    f32::from_bits(value.to_bits() | sign)
}

/// bf16 bits → f32.
#[inline]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_f16_and_bf16_survives() {
        for bits in 0..=u16::MAX {
            let wide = half::f16::from_bits(bits);
            assert_eq!(
                f16_to_f32(bits).to_bits() & !0x40_0000,
                wide.to_f32().to_bits() & !0x40_0000
            );
            if !wide.is_nan() {
                assert_eq!(F16.decode(u64::from(bits)), wide.to_f64());
                assert_eq!(
                    round(F16, wide.to_f64(), Rounding::Nearest, false),
                    u64::from(bits)
                );
            }
            let brain = half::bf16::from_bits(bits);
            if !brain.is_nan() {
                assert_eq!(
                    round(BF16, brain.to_f64(), Rounding::Zero, false),
                    u64::from(bits)
                );
            }
        }
    }

    #[test]
    fn every_fp8_survives() {
        for bits in 0..=255u64 {
            for format in [E4M3, E5M2] {
                let value = format.decode(bits);
                if !value.is_nan() {
                    assert_eq!(
                        round(format, value, Rounding::Nearest, false),
                        bits,
                        "{format:?}"
                    );
                }
            }
        }
        assert_eq!(E4M3.decode(0x7e), 448.0);
        assert_eq!(round(E4M3, 1e9, Rounding::Nearest, true), 0x7e);
        assert_eq!(round(E4M3, 1e9, Rounding::Nearest, false), 0x7f);
        assert_eq!(E5M2.decode(0x7b), 57344.0);
    }

    #[test]
    fn directed_roundings_of_a_third() {
        let third = 1.0 / 3.0;
        let nearest = 1.0f32 / 3.0;
        assert_eq!(to_f32(third, Rounding::Nearest), nearest);
        assert_eq!(to_f32(third, Rounding::Up), nearest);
        assert_eq!(to_f32(third, Rounding::Down), nearest.next_down());
        assert_eq!(to_f32(-third, Rounding::Down), -nearest);
        assert_eq!(to_f32(-third, Rounding::Zero), -nearest.next_down());
        assert_eq!(to_f32(1e300, Rounding::Zero), f32::MAX);
        assert_eq!(to_f32(1e300, Rounding::Up), f32::INFINITY);
        assert_eq!(to_f32(1e-300, Rounding::Up), f32::from_bits(1));
    }

    proptest! {
        #[test]
        fn nearest_agrees_with_rust(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(round(F32, value, Rounding::Nearest, false) as u32, (value as f32).to_bits());
            prop_assert_eq!(round(F64, value, Rounding::Nearest, false), bits);
            prop_assert_eq!(round(BF16, f64::from(value as f32), Rounding::Nearest, false) as u16, half::bf16::from_f32(value as f32).to_bits());
            prop_assert_eq!(round(F16, f64::from(value as f32), Rounding::Nearest, false) as u16, half::f16::from_f32(value as f32).to_bits());
        }

        #[test]
        fn small_values_too(bits: u32) {
            let value = f32::from_bits(bits % (1 << 30) + (90 << 23));
            prop_assert_eq!(round(F16, f64::from(value), Rounding::Nearest, false) as u16, half::f16::from_f32(value).to_bits());
        }

        #[test]
        fn integers_agree_with_rust(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            prop_assert_eq!(encode(F32, false, value, 0, Rounding::Nearest, false) as u32, (value as f32).to_bits());
            prop_assert_eq!(encode(F64, false, value, 0, Rounding::Nearest, false), (value as f64).to_bits());
        }

        #[test]
        fn fma_agrees_with_rust(a: u32, b: u32, c: u32) {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            prop_assert_eq!(fma_f32(a, b, c).to_bits(), canonical(a.mul_add(b, c)).to_bits());
        }

        #[test]
        fn fma_with_cancellation(a in -2f32..2.0, b in -2f32..2.0, scale in 0.999f32..1.001) {
            let c = -a * b * scale;
            prop_assert_eq!(fma_f32(a, b, c), a.mul_add(b, c));
        }
    }
}
