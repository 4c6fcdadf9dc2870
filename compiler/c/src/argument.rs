//! What a launch takes.

use crate::error::Error;
use cutec::runtime::DType;
use cutec::runtime::abi::dlpack::{self, Tensor};
use cutec::runtime::abi::{ArgAbi, BindError, ScalarValue, Status, TensorDesc};

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
pub enum Read {
    /// A tensor, its address, and where it lies.
    Tensor(TensorDesc, u64, dlpack::Device),
    /// A number.
    Scalar(ScalarValue),
}

impl Argument {
    /// Reads an argument for a parameter.
    ///
    /// # Safety
    /// Of a tensor, all is as DLPack says.
    pub unsafe fn read(&self, abi: &ArgAbi) -> Result<Read, Error> {
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
                // SAFETY: of the caller.
                let desc = unsafe { describe(tensor, abi.dtype, &abi.name) }?;
                Ok(Read::Tensor(desc, tensor.address(), tensor.device))
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
/// # Safety
/// Shape and strides are as DLPack says.
unsafe fn describe(tensor: &Tensor, expected: DType, name: &str) -> Result<TensorDesc, Error> {
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
    let rank = usize::try_from(tensor.rank).unwrap_or(0);
    if rank > 0 && tensor.shape.is_null() {
        return Err(Error::null(&format!("`{name}`: shape")));
    }
    let list = |pointer: *const i64| match rank {
        0 => Vec::new(),
        // SAFETY: of the caller; it is not null.
        _ => unsafe { std::slice::from_raw_parts(pointer, rank) }.to_vec(),
    };
    let shape = list(tensor.shape);
    let strides = if tensor.strides.is_null() {
        let mut strides = vec![0; rank];
        dlpack::compact_strides(&shape, &mut strides);
        strides
    } else {
        list(tensor.strides)
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
