//! The two 8-bit floating-point formats of OCP's OFP8, rounded to nearest even.

use std::sync::LazyLock;

/// An 8-bit format with a sign, `exponent_bits` and the rest mantissa.
#[derive(Clone, Copy, Debug)]
pub struct Minifloat {
    exponent_bits: u32,
    /// Whether the largest exponent means infinity and NaN; else only all ones is NaN.
    ieee: bool,
}

/// 4 exponent bits, bias 7, largest 448, no infinity.
pub const E4M3: Minifloat = Minifloat {
    exponent_bits: 4,
    ieee: false,
};
/// 5 exponent bits, bias 15, largest 57344, infinities.
pub const E5M2: Minifloat = Minifloat {
    exponent_bits: 5,
    ieee: true,
};

/// The values of all bit patterns of [`E4M3`].
pub static E4M3_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| E4M3.values());
/// The values of all bit patterns of [`E5M2`].
pub static E5M2_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| E5M2.values());

impl Minifloat {
    /// Value of a bit pattern.
    pub fn decode(self, bits: u8) -> f64 {
        let magnitude = bits & 0x7F;
        let value = if self.is_nan(magnitude) {
            f64::NAN
        } else if self.ieee && magnitude >> self.mantissa_bits() == self.max_exponent() {
            f64::INFINITY
        } else {
            self.finite(magnitude)
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    /// Nearest bit pattern; what lies beyond the largest value is infinite, or NaN where the format
    /// has no infinity.
    pub fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return sign | 0x7F;
        }
        let magnitude = value.abs();
        let bits = self.mantissa_bits();
        // Below the smallest normal number values are as far apart as just above it.
        let smallest = 2 - (1 << (self.exponent_bits - 1));
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(smallest);
        // A power of two of the range of f64: the product is exact.
        let scale = f64::from_bits(((1023 + bits as i32 - exponent) as u64) << 52);
        let units = (magnitude * scale).round_ties_even();
        // A normal number has the bit of `1 <<  bits`, which counts as one in the exponent.
        let pattern = f64::from((exponent - smallest) << bits) + units;
        let top = self.largest();
        sign | if pattern > f64::from(top) {
            top + 1
        } else {
            pattern as u8
        }
    }

    /// The bit pattern that kernels convert a number to, by way of an f32: the nearest one, and of what lies beyond the largest
    /// value, infinity too, that of the largest (PTX ISA, "cvt", `.satfinite`).
    pub fn convert(self, value: f64) -> u8 {
        let value = f64::from(value as f32);
        let largest = self.finite(self.largest());
        self.encode(match value.is_nan() {
            true => value,
            false => value.clamp(-largest, largest),
        })
    }

    /// The values of all bit patterns.
    fn values(self) -> [f64; 256] {
        std::array::from_fn(|bits| self.decode(bits as u8))
    }

    fn mantissa_bits(self) -> u32 {
        7 - self.exponent_bits
    }

    fn max_exponent(self) -> u8 {
        (1 << self.exponent_bits) - 1
    }

    /// Pattern of the largest finite value; the next is infinity or NaN.
    fn largest(self) -> u8 {
        if self.ieee {
            (self.max_exponent() << self.mantissa_bits()) - 1
        } else {
            0x7E
        }
    }

    fn is_nan(self, magnitude: u8) -> bool {
        magnitude > self.largest() + u8::from(self.ieee)
    }

    /// Value of a pattern without sign, by the formula of finite values.
    fn finite(self, magnitude: u8) -> f64 {
        let mantissa_bits = self.mantissa_bits();
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        let exponent = i32::from(magnitude >> mantissa_bits);
        let mantissa = f64::from(magnitude & ((1 << mantissa_bits) - 1));
        let fraction = mantissa / f64::from(1u32 << mantissa_bits);
        if exponent == 0 {
            fraction * 2f64.powi(1 - bias)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent - bias)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(E4M3.decode(0x7E), 448.0);
        assert!(E4M3.decode(0x7F).is_nan());
        assert_eq!(E4M3.decode(0x01), 2f64.powi(-9));
        assert_eq!(E5M2.decode(0x7B), 57344.0);
        assert_eq!(E5M2.decode(0xFC), f64::NEG_INFINITY);
        assert!(E5M2.decode(0x7D).is_nan());
    }

    #[test]
    fn every_pattern_survives_a_round_trip() {
        for format in [E4M3, E5M2] {
            for bits in 0..=255 {
                let value = format.decode(bits);
                let back = format.encode(value);
                if value.is_nan() {
                    assert!(format.decode(back).is_nan());
                } else {
                    assert_eq!(back, bits, "{format:?}");
                }
            }
        }
    }

    #[test]
    fn conversions_saturate() {
        for (value, e4m3, e5m2) in [
            (1000.0, 448.0, 1024.0),
            (-1e9, -448.0, -57344.0),
            (f64::INFINITY, 448.0, 57344.0),
            (f64::NEG_INFINITY, -448.0, -57344.0),
            (464.0, 448.0, 448.0),
            (0.001, 0.001953125, 0.0009765625),
            (1e-9, 0.0, 0.0),
            // An f32 lies at the tie.
            (1.0625 + 1e-12, 1.0, 1.0),
        ] {
            assert_eq!(E4M3.decode(E4M3.convert(value)), e4m3, "{value}");
            assert_eq!(E5M2.decode(E5M2.convert(value)), e5m2, "{value}");
        }
        assert!(E4M3.decode(E4M3.convert(f64::NAN)).is_nan());
        assert!(E5M2.decode(E5M2.convert(f64::NAN)).is_nan());
    }

    #[test]
    fn rounds_to_nearest_even() {
        assert_eq!(E4M3.decode(E4M3.encode(1.0625)), 1.0);
        assert_eq!(E4M3.decode(E4M3.encode(1.1875)), 1.25);
        assert_eq!(E4M3.decode(E4M3.encode(464.0)), 448.0);
        assert!(E4M3.decode(E4M3.encode(465.0)).is_nan());
        assert_eq!(E5M2.decode(E5M2.encode(1e9)), f64::INFINITY);
        assert_eq!(
            E5M2.decode(E5M2.encode(-0.0)).to_bits(),
            (-0.0f64).to_bits()
        );
    }
}
