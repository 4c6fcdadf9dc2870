//! Elements of a tensor as values of Rust: slices of `f16`, `bf16`, 8-bit floats and numbers over a tensor's own memory.

use super::DType;
use crate::abi::minifloat::{E4M3, E4M3_VALUES, E5M2, E5M2_VALUES};
use half::{bf16, f16};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A value of Rust that lies in memory as an element of a tensor does. `f16` and `bf16` are those of the crate `half`.
///
/// The trait is sealed: the types are those that a [`DType`] has.
pub trait Element:
    sealed::Sealed + FromBytes + IntoBytes + Immutable + Copy + fmt::Debug + Send + Sync + 'static
{
    /// The element type that a slice of them makes.
    const DTYPE: DType;

    /// Whether elements of another type lie in memory the same way: those of tf32 as f32, bools as bytes.
    fn holds(dtype: DType) -> bool {
        dtype == Self::DTYPE
    }
}

mod sealed {
    /// Implemented here alone.
    pub trait Sealed {}
}

/// A slice of another type than the tensor has, or one of what does not lie in one piece.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElementError {
    /// Another element type.
    #[error("elements of {found} are no {expected}")]
    DType {
        /// The type of the slice.
        expected: DType,
        /// The type of the tensor.
        found: DType,
    },
    /// Elements that are not neighbours in row-major order.
    #[error(
        "shape {shape:?} with strides {strides:?} is not row-major: expected a copy, or its memory with what lies between the elements"
    )]
    Strides {
        /// The shape.
        shape: Vec<i64>,
        /// The strides.
        strides: Vec<i64>,
    },
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident $(| $other:ident)?;)*) => { $(
        impl sealed::Sealed for $ty {}

        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;

            $(fn holds(dtype: DType) -> bool {
                dtype == DType::$dtype || dtype == DType::$other
            })?
        }
    )* };
}
elements! {
    f16 => F16;
    bf16 => BF16;
    f32 => F32 | TF32;
    f64 => F64;
    F8E4M3 => F8E4M3;
    F8E5M2 => F8E5M2;
    i8 => I8;
    i16 => I16;
    i32 => I32;
    i64 => I64;
    u8 => U8 | Bool;
    u16 => U16;
    u32 => U32;
    u64 => U64;
}

macro_rules! small_floats {
    ($($(#[$doc:meta])* $name:ident: $format:ident, $values:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The number of these bits.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Its bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, ties to even; what is too large as the format says.
            pub fn from_f32(value: f32) -> Self {
                Self($format.encode(f64::from(value)))
            }

            /// The same number.
            pub fn to_f32(self) -> f32 {
                // Every number of 8 bits is one of 32.
                $values[usize::from(self.0)] as f32
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }
    )* };
}
small_floats! {
    /// 4 exponent and 3 mantissa bits, no infinity (OCP OFP8 E4M3). Equal are equal bits.
    F8E4M3: E4M3, E4M3_VALUES;
    /// 5 exponent and 2 mantissa bits (OCP OFP8 E5M2). Equal are equal bits.
    F8E5M2: E5M2, E5M2_VALUES;
}

/// Bytes at an address that elements of a size may have.
pub(super) struct Bytes {
    memory: Vec<u8>,
    start: usize,
    align: usize,
}

impl Bytes {
    /// Takes bytes where they lie, which allocators align for elements; where one does not, they are copied.
    pub fn of(bytes: Vec<u8>, align: usize) -> Self {
        if bytes.as_ptr().align_offset(align) == 0 {
            let (memory, start) = (bytes, 0);
            return Self {
                memory,
                start,
                align,
            };
        }
        Self::copied(&bytes, align)
    }

    fn copied(bytes: &[u8], align: usize) -> Self {
        let mut memory = vec![0; bytes.len() + align];
        let start = memory.as_ptr().align_offset(align).min(align);
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        memory.truncate(start + bytes.len());
        Self {
            memory,
            start,
            align,
        }
    }
}

impl Clone for Bytes {
    fn clone(&self) -> Self {
        Self::of(self.to_vec(), self.align)
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl std::ops::DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tensor;
    use super::*;

    #[test]
    fn slices_are_the_memory_of_the_tensor() {
        let halves = [1.5, -2.0, 0.25, 65504.0].map(f16::from_f32);
        let mut tensor = Tensor::from_slice(&[2, 2], &halves).unwrap();
        assert_eq!(tensor.dtype(), DType::F16);
        assert_eq!(tensor.as_slice::<f16>().unwrap(), halves);
        assert_eq!(
            tensor.as_slice::<f16>().unwrap().as_ptr().cast(),
            tensor.bytes().as_ptr()
        );
        tensor.as_mut_slice::<f16>().unwrap()[3] = f16::ONE;
        assert_eq!(tensor.to_f64(), [1.5, -2.0, 0.25, 1.0]);
        assert_eq!(tensor.element::<f16>(&[1, 0]).unwrap(), Some(halves[2]));
        assert_eq!(tensor.element::<f16>(&[2, 0]).unwrap(), None);
        let wrong = tensor.as_slice::<bf16>().unwrap_err();
        assert_eq!(wrong.to_string(), "elements of f16 are no bf16");
        let short = Tensor::from_slice(&[3], &halves).unwrap_err();
        assert_eq!(short.to_string(), "shape [3] needs 3 elements, found 4");
    }

    #[test]
    fn every_type_reads_what_its_numbers_are() {
        fn check<T: Element>(dtype: DType) {
            let values = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
            let tensor = Tensor::from_f64(dtype, &[2, 3], &values).unwrap();
            let slice = tensor.as_slice::<T>().unwrap();
            assert_eq!(slice.as_bytes(), tensor.bytes(), "{dtype}");
            let back = Tensor::from_slice(&[2, 3], slice).unwrap();
            assert_eq!(back.to_f64().is_empty(), values.is_empty());
            assert_eq!(back.bytes(), tensor.bytes(), "{dtype}");
            // Columns one behind the other, with a gap.
            let strided = tensor.with_strides(&[1, 4]).unwrap();
            assert_eq!(strided.to_vec::<T>().unwrap().as_bytes(), tensor.bytes());
            assert!(matches!(
                strided.as_slice::<T>(),
                Err(ElementError::Strides { .. })
            ));
            assert_eq!(strided.storage::<T>().unwrap().len(), 2 * 4 + 2);
        }
        for dtype in DType::ALL {
            match dtype {
                DType::F16 => check::<f16>(dtype),
                DType::BF16 => check::<bf16>(dtype),
                DType::TF32 | DType::F32 => check::<f32>(dtype),
                DType::F64 => check::<f64>(dtype),
                DType::F8E4M3 => check::<F8E4M3>(dtype),
                DType::F8E5M2 => check::<F8E5M2>(dtype),
                DType::I8 => check::<i8>(dtype),
                DType::I16 => check::<i16>(dtype),
                DType::I32 => check::<i32>(dtype),
                DType::I64 => check::<i64>(dtype),
                DType::U8 | DType::Bool => check::<u8>(dtype),
                DType::U16 => check::<u16>(dtype),
                DType::U32 => check::<u32>(dtype),
                DType::U64 => check::<u64>(dtype),
            }
        }
    }

    #[test]
    fn bytes_at_any_address_become_slices() {
        for skip in 0..8 {
            let mut bytes = vec![0; 8 + skip];
            bytes[skip] = 1;
            let bytes = bytes.split_off(skip);
            let tensor = Tensor::from_bytes(DType::I64, &[1], &[1], bytes).unwrap();
            assert_eq!(tensor.as_slice::<i64>().unwrap(), [1]);
            assert_eq!(tensor.clone().as_slice::<i64>().unwrap(), [1]);
        }
        for align in [1, 2, 4, 8] {
            let copied = Bytes::copied(&[1, 2, 3], align);
            assert_eq!(*copied, [1, 2, 3]);
            assert_eq!(copied.as_ptr().align_offset(align), 0);
        }
        let empty = Tensor::zeros(DType::F64, &[0, 3]).unwrap();
        assert!(empty.as_slice::<f64>().unwrap().is_empty());
    }

    #[test]
    fn numbers_of_8_bits_are_rounded_once() {
        for bits in 0..=u8::MAX {
            let value = F8E4M3::from_bits(bits);
            assert!(value.to_f32().is_nan() || F8E4M3::from_f32(value.to_f32()) == value);
            let value = F8E5M2::from_bits(bits);
            assert!(value.to_f32().is_nan() || F8E5M2::from_f32(value.to_f32()) == value);
        }
        assert_eq!(F8E4M3::from_f32(1.1).to_f32(), 1.125);
        assert_eq!(F8E5M2::from_f32(1.1).to_string(), "1");
        let values = [0.5, 448.0].map(F8E4M3::from_f32);
        let tensor = Tensor::from_slice(&[2], &values).unwrap();
        assert_eq!(
            (tensor.dtype(), tensor.to_f64()),
            (DType::F8E4M3, vec![0.5, 448.0])
        );
    }
}
