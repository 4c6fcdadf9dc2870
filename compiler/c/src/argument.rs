//! What a launch takes.

use crate::error::Error;
use cutec::runtime::DType;
use cutec::runtime::abi::dlpack::{self, Tensor};
use cutec::runtime::abi::{ArgAbi, BindError, ScalarValue, Status, TensorAbi, TensorDesc};

/// What an argument is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A tensor: `tensor`.
    Tensor = 0,
    /// An integer, for parameters of any type: `integer`.
    Integer = 1,
    /// A number of floating point: `number`.
    Number = 2,
}

/// Its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ArgumentValue {
    /// Of a tensor; DLPack's, as in `dlpack.h`.
    pub tensor: *const Tensor,
    /// Of an integer.
    pub integer: i64,
    /// Of a number of floating point.
    pub number: f64,
}

/// An argument of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Argument {
    /// What it is, of `enum cutec_argument_kind`.
    pub kind: i32,
    /// Its value.
    pub value: ArgumentValue,
}

/// An argument, read.
pub enum Read<'a> {
    /// A tensor, with a shape where it has modes.
    Tensor(&'a Tensor),
    /// A number.
    Scalar(ScalarValue),
}

impl Read<'_> {
    /// An extent; `None` where there is no such mode.
    pub fn extent(&self, mode: usize) -> Option<i64> {
        match self {
            // SAFETY: it was read with a shape of as many modes.
            Read::Tensor(tensor) => unsafe { list(tensor.shape, rank(tensor)) }
                .get(mode)
                .copied(),
            Read::Scalar(_) => None,
        }
    }

    /// The address of a tensor; 0 of a number.
    pub fn address(&self) -> u64 {
        match self {
            Read::Tensor(tensor) => tensor.address(),
            Read::Scalar(_) => 0,
        }
    }

    /// The bytes of a number; zeros of a tensor.
    pub fn bytes(&self) -> [u8; 8] {
        match self {
            Read::Tensor(_) => [0; 8],
            Read::Scalar(scalar) => scalar.bytes,
        }
    }

    /// Adds what of a tensor binding depends on, but for its address; nothing of a number.
    pub fn sign(&self, signature: &mut Vec<i64>) {
        let Read::Tensor(tensor) = self else {
            return;
        };
        let dlpack::DataType { code, bits, lanes } = tensor.dtype;
        let dtype = i64::from(code) << 24 | i64::from(bits) << 16 | i64::from(lanes);
        let compact = i64::from(tensor.strides.is_null());
        signature.extend([compact << 32 | dtype, rank(tensor) as i64]);
        // SAFETY: it was read with a shape of as many modes.
        signature.extend(unsafe { list(tensor.shape, rank(tensor)) });
        // SAFETY: as above; what has no strides gives none.
        signature.extend(unsafe { list(tensor.strides, rank(tensor)) });
    }
}

fn rank(tensor: &Tensor) -> usize {
    usize::try_from(tensor.rank).unwrap_or(0)
}

/// As many numbers, or none where the pointer is null.
///
/// # Safety
/// It points to as many, or is null.
unsafe fn list<'a>(pointer: *const i64, count: usize) -> &'a [i64] {
    match count == 0 || pointer.is_null() {
        true => &[],
        // SAFETY: of the caller.
        false => unsafe { std::slice::from_raw_parts(pointer, count) },
    }
}

impl Argument {
    /// Reads an argument for a parameter.
    ///
    /// # Safety
    /// Of a tensor, all is as DLPack says.
    pub unsafe fn read<'a>(&self, abi: &ArgAbi) -> Result<Read<'a>, Error> {
        let refused = |error: BindError| Err(Error::new(error.status(), error));
        let name = abi.name().to_owned();
        let kind = |expected, found| {
            refused(BindError::Kind {
                arg: name.clone(),
                expected,
                found,
            })
        };
        let beyond = |value: &dyn std::fmt::Display, dtype| {
            Error::new(
                Status::Range,
                format!("`{}`: {value} is beyond {dtype}", abi.name()),
            )
        };
        match (self.kind, abi) {
            (TENSOR, ArgAbi::Tensor(abi)) => {
                // SAFETY: the kind says which value it is; and of the caller.
                let tensor = unsafe { self.value.tensor.as_ref() };
                let tensor = tensor.ok_or_else(|| Error::null(&format!("`{}`", abi.name)))?;
                if rank(tensor) > 0 && tensor.shape.is_null() {
                    return Err(Error::null(&format!("`{}`: shape", abi.name)));
                }
                Ok(Read::Tensor(tensor))
            }
            (INTEGER, ArgAbi::Scalar(abi)) => {
                // SAFETY: the kind says which value it is.
                let value = unsafe { self.value.integer };
                let scalar = ScalarValue::of_integer(abi.dtype, value.into());
                scalar
                    .map(Read::Scalar)
                    .ok_or_else(|| beyond(&value, abi.dtype))
            }
            (NUMBER, ArgAbi::Scalar(abi)) => {
                // SAFETY: the kind says which value it is.
                let value = unsafe { self.value.number };
                if abi.dtype.is_float() {
                    return Ok(Read::Scalar(ScalarValue::new(abi.dtype, value)));
                }
                let whole = (value.trunc() == value && value.abs() < 2f64.powi(64))
                    .then_some(value as i128);
                let scalar = whole.and_then(|value| ScalarValue::of_integer(abi.dtype, value));
                scalar
                    .map(Read::Scalar)
                    .ok_or_else(|| beyond(&value, abi.dtype))
            }
            (INTEGER | NUMBER, ArgAbi::Tensor(_)) => kind("tensor", "scalar"),
            (TENSOR, ArgAbi::Scalar(_)) => kind("scalar", "tensor"),
            (other, _) => Err(Error::new(
                Status::Kind,
                format!("`{name}`: no kind of argument is {other}"),
            )),
        }
    }
}

const TENSOR: i32 = ArgumentKind::Tensor as i32;
const INTEGER: i32 = ArgumentKind::Integer as i32;
const NUMBER: i32 = ArgumentKind::Number as i32;

/// A tensor as binding checks it; the alignment is that of its address.
///
/// # Errors
/// Where its elements have no type of ours, or it has no data.
pub fn describe(tensor: &Tensor, abi: &TensorAbi) -> Result<TensorDesc, Error> {
    let (name, expected) = (&abi.name, abi.dtype);
    let dtype = match (tensor.dtype.dtype(), expected) {
        // Stored alike.
        (Some(DType::F32), DType::TF32) => DType::TF32,
        (Some(dtype), _) => dtype,
        (None, expected) => {
            let dlpack::DataType { code, bits, lanes } = tensor.dtype;
            let text = format!(
                "`{name}`: expected element type {expected}, found DLPack's type {code} of {bits} bits, {lanes} lanes"
            );
            return Err(Error::new(Status::DType, text));
        }
    };
    // SAFETY: it was read with a shape of as many modes.
    let shape = unsafe { list(tensor.shape, rank(tensor)) }.to_vec();
    let strides = if tensor.strides.is_null() {
        let mut strides = vec![0; shape.len()];
        dlpack::compact_strides(&shape, &mut strides);
        strides
    } else {
        // SAFETY: of the caller of `Argument::read`.
        unsafe { list(tensor.strides, rank(tensor)) }.to_vec()
    };
    let address = tensor.address();
    let desc = TensorDesc {
        dtype,
        shape,
        strides,
        align: if address == 0 {
            256
        } else {
            1 << address.trailing_zeros()
        },
        mutable: true,
    };
    if address == 0 && desc.span_bytes().is_some_and(|bytes| bytes > 0) {
        return Err(Error::null(&format!("`{name}`: its data")));
    }
    Ok(desc)
}
