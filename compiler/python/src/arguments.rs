//! The arguments of a call: arrays, and numbers in the types that the kernel takes them in.

use crate::arrays::{Arrays, Head};
use crate::errors;
use cutec::runtime::abi::{ArgAbi, KernelAbi, ScalarValue, SymbolSource, TensorDesc};
use cutec::runtime::{Arg, DType};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// What a kernel does with an argument, for calls whose signature is known.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// A tensor, whose address has none of these bits.
    Tensor {
        /// The alignment less one.
        misaligned: u64,
    },
    /// A number.
    Scalar {
        /// Type in which it is passed.
        dtype: DType,
        /// Whether a launch depends on its value otherwise than by passing it on.
        decides: bool,
    },
}

/// The rules of a kernel, an argument each.
pub fn rules(abi: &KernelAbi) -> Vec<Rule> {
    let rule = |(index, arg): (usize, &ArgAbi)| match arg {
        ArgAbi::Tensor(tensor) => {
            let mapped = abi.tensor_maps.iter().any(|map| map.arg == index);
            let align = tensor.align.max(if mapped { 16 } else { 1 });
            Rule::Tensor {
                misaligned: align - 1,
            }
        }
        ArgAbi::Scalar(scalar) => Rule::Scalar {
            dtype: scalar.dtype,
            decides: abi.symbols.iter().any(|symbol| match symbol.from {
                SymbolSource::Scalar { arg } => arg == index,
                SymbolSource::Extent { .. } | SymbolSource::Stride { .. } => false,
            }),
        },
    };
    abi.args.iter().enumerate().map(rule).collect()
}

/// A number of Python's in the type of a parameter, as little-endian bytes.
///
/// # Errors
/// Where it is no number, or does not fit.
#[inline]
pub fn scalar(value: &Bound<'_, PyAny>, dtype: DType, name: &str) -> PyResult<[u8; 8]> {
    if dtype == DType::F32 && value.is_exact_instance_of::<PyFloat>() {
        let value = value.extract::<f64>()? as f32;
        return Ok(u64::from(value.to_bits()).to_le_bytes());
    }
    let py = value.py();
    let number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
    let refused = || {
        let found = value.get_type().to_string();
        let text = format!("`{name}`: expected a number for {dtype}, found {found}");
        errors::argument(py, text, "Kind", Some(name))
    };
    // A tensor that would be copied from its device to be a number.
    if !number && value.hasattr("__dlpack__")? {
        return Err(refused());
    }
    let beyond = || {
        let text = format!("`{name}`: {value} is beyond {dtype}");
        errors::argument(py, text, "Range", Some(name))
    };
    if dtype.is_float() {
        let value: f64 = value.extract().map_err(|_| refused())?;
        return Ok(ScalarValue::new(dtype, value).bytes);
    }
    if dtype == DType::Bool {
        let value = match value.cast::<PyBool>() {
            Ok(value) => value.is_true(),
            Err(_) => value.extract::<i64>().map_err(|_| refused())? != 0,
        };
        return Ok(u64::from(value).to_le_bytes());
    }
    let value: i128 = match value.extract::<i64>() {
        Ok(value) => value.into(),
        Err(_) => value
            .extract::<u64>()
            .map_err(|error| {
                let overflow = error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py);
                if overflow { beyond() } else { refused() }
            })?
            .into(),
    };
    let scalar = ScalarValue::of_integer(dtype, value).ok_or_else(beyond)?;
    Ok(scalar.bytes)
}

/// An array as binding checks it; `align` is that of its place on the device.
///
/// # Errors
/// Where no kernel has its element type.
pub fn tensor(
    py: Python<'_>,
    arrays: &Arrays,
    index: usize,
    abi: &ArgAbi,
    align: u64,
) -> PyResult<TensorDesc> {
    let (head, shape, strides) = arrays.describe(&arrays.list[index]);
    let dtype = element_type(py, head, abi)?;
    Ok(TensorDesc {
        dtype,
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        align,
        mutable: !head.read_only(),
    })
}

fn element_type(py: Python<'_>, head: Head, abi: &ArgAbi) -> PyResult<DType> {
    let name = abi.name();
    let found = head.data_type();
    match (found.dtype(), abi.dtype()) {
        // Stored alike.
        (Some(DType::F32), DType::TF32) => Ok(DType::TF32),
        (Some(dtype), _) => Ok(dtype),
        (None, expected) => {
            let text = format!(
                "`{name}`: expected element type {expected}, found DLPack's type {} of {} bits, {} lanes",
                found.code, found.bits, found.lanes
            );
            Err(errors::argument(py, text, "DType", Some(name)))
        }
    }
}

/// The arguments as binding checks them.
///
/// # Errors
/// Where an array has elements of a type that no kernel has.
pub fn described(
    py: Python<'_>,
    abi: &KernelAbi,
    arrays: &Arrays,
    scalars: &[[u8; 8]],
    align: impl Fn(usize) -> u64,
) -> PyResult<Vec<Arg>> {
    let (mut array, mut scalar) = (0, 0);
    let mut args = Vec::with_capacity(abi.args.len());
    for arg in &abi.args {
        args.push(match arg {
            ArgAbi::Tensor(_) => {
                array += 1;
                Arg::Tensor(tensor(py, arrays, array - 1, arg, align(array - 1))?)
            }
            ArgAbi::Scalar(abi) => {
                scalar += 1;
                Arg::Scalar(ScalarValue {
                    dtype: abi.dtype,
                    bytes: scalars[scalar - 1],
                })
            }
        });
    }
    Ok(args)
}
