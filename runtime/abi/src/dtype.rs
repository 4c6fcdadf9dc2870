//! Element types, as they are named in the language, in the ABI and on the command line.

use std::fmt;
use std::str::FromStr;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::minifloat;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    BF16,
    /// binary32 of which a tensor core reads 19 bits; stored as binary32.
    TF32,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// 4 exponent and 3 mantissa bits, no infinity (OCP OFP8 E4M3).
    F8E4M3,
    /// 5 exponent and 2 mantissa bits (OCP OFP8 E5M2).
    F8E5M2,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// One byte, 0 or 1.
    Bool,
}

/// A name that is no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no element type: expected one of {}", all_names())]
pub struct UnknownDType {
    /// The name.
    pub name: String,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 16] = [
        DType::F16,
        DType::BF16,
        DType::TF32,
        DType::F32,
        DType::F64,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
    ];

    /// Name, such as `f16`.
    pub fn name(self) -> &'static str {
        match self {
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::TF32 => "tf32",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::Bool => "bool",
        }
    }

    /// Bytes an element.
    pub fn size(self) -> usize {
        match self {
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::TF32 | DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// The least and the greatest integer of an integer type, and of `bool`; `None` for floating point.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.size() as u32;
        match self {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Some((0, (1 << bits) - 1)),
            DType::Bool => Some((0, 1)),
            DType::F16
            | DType::BF16
            | DType::TF32
            | DType::F32
            | DType::F64
            | DType::F8E4M3
            | DType::F8E5M2 => None,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        self.integer_range().is_none()
    }

    /// The element in `bytes` as `f64`; 64-bit integers beyond 2^53 are rounded.
    ///
    /// `bytes` holds at least [`DType::size`] bytes, little endian; a shorter slice reads as zeros.
    pub fn read(self, bytes: &[u8]) -> f64 {
        let mut value = [0.0];
        self.read_all(bytes, &mut value);
        value[0]
    }

    /// Writes `value` into the first [`DType::size`] of `bytes`, little endian.
    ///
    /// Floating point rounds to nearest even; `tf32` keeps 10 mantissa bits and rounds ties away from zero. Integers round to
    /// nearest even and saturate, NaN gives 0; `bool` is whether the value differs from 0.
    pub fn write(self, value: f64, bytes: &mut [u8]) {
        self.write_all(&[value], bytes);
    }

    /// [`DType::read`] of elements that stand one behind the other, as many as both slices have.
    pub fn read_all(self, bytes: &[u8], values: &mut [f64]) {
        match self {
            DType::F16 => read_each(bytes, values, |it| f16::from_le_bytes(it).to_f64()),
            DType::BF16 => read_each(bytes, values, |it| bf16::from_le_bytes(it).to_f64()),
            DType::TF32 | DType::F32 => {
                read_each(bytes, values, |it| f64::from(f32::from_le_bytes(it)));
            }
            DType::F64 => read_each(bytes, values, f64::from_le_bytes),
            DType::F8E4M3 => {
                let known = &*minifloat::E4M3_VALUES;
                read_each(bytes, values, |[it]: [u8; 1]| known[usize::from(it)]);
            }
            DType::F8E5M2 => {
                let known = &*minifloat::E5M2_VALUES;
                read_each(bytes, values, |[it]: [u8; 1]| known[usize::from(it)]);
            }
            DType::I8 => read_each(bytes, values, |it| f64::from(i8::from_le_bytes(it))),
            DType::I16 => read_each(bytes, values, |it| f64::from(i16::from_le_bytes(it))),
            DType::I32 => read_each(bytes, values, |it| f64::from(i32::from_le_bytes(it))),
            DType::I64 => read_each(bytes, values, |it| i64::from_le_bytes(it) as f64),
            DType::U8 => read_each(bytes, values, |it| f64::from(u8::from_le_bytes(it))),
            DType::U16 => read_each(bytes, values, |it| f64::from(u16::from_le_bytes(it))),
            DType::U32 => read_each(bytes, values, |it| f64::from(u32::from_le_bytes(it))),
            DType::U64 => read_each(bytes, values, |it| u64::from_le_bytes(it) as f64),
            DType::Bool => read_each(bytes, values, |it: [u8; 1]| f64::from(u8::from(it != [0]))),
        }
    }

    /// [`DType::write`] of elements that stand one behind the other, as many as both slices have.
    pub fn write_all(self, values: &[f64], bytes: &mut [u8]) {
        match self {
            DType::F16 => write_each(values, bytes, |it| f16_from_f64(it).to_le_bytes()),
            DType::BF16 => write_each(values, bytes, |it| bf16_from_f64(it).to_le_bytes()),
            DType::TF32 => write_each(values, bytes, |it| round_tf32(it).to_le_bytes()),
            DType::F32 => write_each(values, bytes, |it| (it as f32).to_le_bytes()),
            DType::F64 => write_each(values, bytes, f64::to_le_bytes),
            DType::F8E4M3 => write_each(values, bytes, |it| [minifloat::E4M3.encode(it)]),
            DType::F8E5M2 => write_each(values, bytes, |it| [minifloat::E5M2.encode(it)]),
            DType::I8 => write_each(values, bytes, |it| {
                (it.round_ties_even() as i8).to_le_bytes()
            }),
            DType::I16 => write_each(values, bytes, |it| {
                (it.round_ties_even() as i16).to_le_bytes()
            }),
            DType::I32 => write_each(values, bytes, |it| {
                (it.round_ties_even() as i32).to_le_bytes()
            }),
            DType::I64 => write_each(values, bytes, |it| {
                (it.round_ties_even() as i64).to_le_bytes()
            }),
            DType::U8 => write_each(values, bytes, |it| {
                (it.round_ties_even() as u8).to_le_bytes()
            }),
            DType::U16 => write_each(values, bytes, |it| {
                (it.round_ties_even() as u16).to_le_bytes()
            }),
            DType::U32 => write_each(values, bytes, |it| {
                (it.round_ties_even() as u32).to_le_bytes()
            }),
            DType::U64 => write_each(values, bytes, |it| {
                (it.round_ties_even() as u64).to_le_bytes()
            }),
            DType::Bool => write_each(values, bytes, |it| [u8::from(it != 0.0)]),
        }
    }

    /// [`DType::write_all`] of f32, for the types of which it is cheaper than by way of f64; false, and
    /// nothing written, for the others.
    pub fn write_all_f32(self, values: &[f32], bytes: &mut [u8]) -> bool {
        match self {
            DType::F32 => write_each(values, bytes, f32::to_le_bytes),
            DType::F16 => {
                let mut halves = [f16::ZERO; 256];
                for (values, bytes) in values.chunks(256).zip(bytes.chunks_mut(512)) {
                    let halves = &mut halves[..values.len()];
                    halves.convert_from_f32_slice(values);
                    write_each(halves, bytes, f16::to_le_bytes);
                }
            }
            DType::BF16 => write_each(values, bytes, |it| bf16::from_f32(it).to_le_bytes()),
            DType::TF32
            | DType::F64
            | DType::F8E4M3
            | DType::F8E5M2
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::Bool => return false,
        }
        true
    }

    /// The bytes of one poisoned element: a NaN with a payload for floating point, `0xAB` bytes
    /// for integers, so that what a kernel failed to write shows.
    pub fn poison(self) -> Vec<u8> {
        match self {
            DType::F16 => vec![0xAB, 0x7E],
            DType::BF16 => vec![0xEB, 0x7F],
            DType::TF32 | DType::F32 => vec![0xAB, 0xAB, 0xEB, 0x7F],
            DType::F64 => vec![0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xAB, 0xFB, 0x7F],
            DType::F8E4M3 | DType::F8E5M2 => vec![0x7F],
            DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::Bool => vec![0xAB; self.size()],
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(name: &str) -> Result<DType, UnknownDType> {
        DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name)
            .ok_or_else(|| UnknownDType {
                name: name.to_string(),
            })
    }
}

/// `f64` to `f16` in one rounding.
fn f16_from_f64(value: f64) -> f16 {
    f16::from_f32(to_f32_odd(value))
}

/// `f64` to `bf16` in one rounding.
fn bf16_from_f64(value: f64) -> bf16 {
    bf16::from_f32(to_f32_odd(value))
}

/// `f64` to `f32`, rounded to odd: an inexact result has its last bit set, so that a second
/// rounding to at most 22 bits gives what one rounding would (Boldo and Melquiond, 2008).
fn to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if !nearest.is_finite() || f64::from(nearest) == value {
        // An overflow rounds to infinity in the narrower formats as well.
        return nearest;
    }
    let towards_zero = if f64::from(nearest).abs() > value.abs() {
        f32::from_bits(nearest.to_bits() - 1)
    } else {
        nearest
    };
    f32::from_bits(towards_zero.to_bits() | 1)
}

/// `f64` to the nearest `f32` with 10 mantissa bits, ties away from zero: as `cvt.rna.tf32.f32` rounds, so that
/// references and kernels agree.
fn round_tf32(value: f64) -> f32 {
    let odd = to_f32_odd(value);
    if !odd.is_finite() {
        return odd;
    }
    let bits = odd.to_bits();
    f32::from_bits((bits + 0x1000) & !0x1FFF)
}

fn read_each<const N: usize>(bytes: &[u8], values: &mut [f64], read: impl Fn([u8; N]) -> f64) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *value = read(*bytes);
    }
}

fn write_each<T: Copy, const N: usize>(
    values: &[T],
    bytes: &mut [u8],
    write: impl Fn(T) -> [u8; N],
) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut::<N>().0) {
        *bytes = write(*value);
    }
}

fn all_names() -> String {
    DType::ALL.map(DType::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(
                serde_json::to_string(&dtype).unwrap(),
                format!("\"{}\"", dtype.name())
            );
        }
        assert!(
            "float"
                .parse::<DType>()
                .unwrap_err()
                .to_string()
                .contains("bf16")
        );
    }

    #[test]
    fn every_16_bit_float_survives_a_round_trip() {
        for dtype in [DType::F16, DType::BF16] {
            for bits in 0..=u16::MAX {
                let value = dtype.read(&bits.to_le_bytes());
                let mut back = [0; 2];
                dtype.write(value, &mut back);
                if value.is_nan() {
                    assert!(dtype.read(&back).is_nan());
                } else {
                    assert_eq!(u16::from_le_bytes(back), bits, "{dtype}");
                }
            }
        }
    }

    #[test]
    fn narrowing_from_f64_rounds_once() {
        // Just above half way between 1 and the next f16: rounding first to f32 loses the excess.
        let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        let mut bytes = [0; 2];
        DType::F16.write(value, &mut bytes);
        assert_eq!(DType::F16.read(&bytes), 1.0 + 2f64.powi(-10));
        DType::BF16.write(1.0 + 2f64.powi(-8) + 2f64.powi(-40), &mut bytes);
        assert_eq!(DType::BF16.read(&bytes), 1.0 + 2f64.powi(-7));
        DType::BF16.write(1.0 + 2f64.powi(-8), &mut bytes);
        assert_eq!(DType::BF16.read(&bytes), 1.0);
    }

    #[test]
    fn tf32_keeps_ten_mantissa_bits() {
        let mut bytes = [0; 4];
        for (value, expected) in [
            (1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-10)),
            (1.0 + 2f64.powi(-11) - 2f64.powi(-40), 1.0),
            (-1.0 - 2f64.powi(-11), -1.0 - 2f64.powi(-10)),
            (1.0 + 3.0 * 2f64.powi(-11), 1.0 + 2f64.powi(-9)),
            (-1.0 - 2f64.powi(-10), -1.0 - 2f64.powi(-10)),
            (f64::INFINITY, f64::INFINITY),
        ] {
            DType::TF32.write(value, &mut bytes);
            assert_eq!(DType::TF32.read(&bytes), expected);
        }
    }

    #[test]
    fn poison_reads_as_nan() {
        for dtype in DType::ALL {
            let poison = dtype.poison();
            assert_eq!(poison.len(), dtype.size());
            assert_eq!(dtype.read(&poison).is_nan(), dtype.is_float(), "{dtype}");
        }
    }

    #[test]
    fn many_are_converted_as_one_is() {
        let values: Vec<f64> = (-2000..2000).map(|at| f64::from(at) * 0.37).collect();
        for dtype in DType::ALL {
            let mut bytes = vec![0; values.len() * dtype.size()];
            dtype.write_all(&values, &mut bytes);
            let mut back = vec![0.0; values.len()];
            dtype.read_all(&bytes, &mut back);
            let singles: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            let mut of_singles = vec![0; bytes.len()];
            let done = dtype.write_all_f32(&singles, &mut of_singles);
            for (at, value) in values.iter().enumerate() {
                let mut one = vec![0; dtype.size()];
                let place = at * dtype.size()..(at + 1) * dtype.size();
                dtype.write(*value, &mut one);
                assert_eq!(one, bytes[place.clone()], "{dtype}");
                // Bits: what f8 cannot hold is NaN.
                assert_eq!(dtype.read(&one).to_bits(), back[at].to_bits(), "{dtype}");
                if done {
                    dtype.write(f64::from(singles[at]), &mut one);
                    assert_eq!(one, of_singles[place], "{dtype}");
                }
            }
        }
    }

    #[test]
    fn integers_saturate() {
        let mut bytes = [0; 1];
        for (value, expected) in [
            (300.0, 127.0),
            (-300.0, -128.0),
            (f64::NAN, 0.0),
            (2.5, 2.0),
        ] {
            DType::I8.write(value, &mut bytes);
            assert_eq!(DType::I8.read(&bytes), expected);
        }
    }
}
