//! Kernels as functions of tvm-ffi, which C++, Rust and JAX call too: arguments come as its packed values, not as Python
//! objects (`tvm/ffi/c_api.h`, `TVMFFISafeCallType`).
//!
//! The function's handle is the kernel's Python object, which tvm-ffi keeps. Its library is open already where anything of
//! this is called; it is told about errors, and asked for the stream.

use crate::arguments;
use crate::arrays::Arrays;
use crate::errors;
use crate::kernel::{Kernel, Values};
use cutec::runtime::DType;
use cutec::runtime::abi::dlpack;
use libloading::Library;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// `TVMFFIAny`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Any {
    kind: i32,
    padding: u32,
    value: u64,
}

/// `kTVMFFIInt`
const INT: i32 = 1;
/// `kTVMFFIBool`
const BOOL: i32 = 2;
/// `kTVMFFIFloat`
const FLOAT: i32 = 3;
/// `kTVMFFIDLTensorPtr`
const DLTENSOR: i32 = 7;
/// `kTVMFFITensor`, an object whose head a `DLTensor` follows
const TENSOR: i32 = 70;
/// `sizeof(TVMFFIObject)`
const OBJECT_HEAD: usize = 24;

type SetRaised = unsafe extern "C" fn(*const c_char, *const c_char);
type GetStream = unsafe extern "C" fn(i32, i32) -> *mut c_void;

/// What is used of tvm-ffi's library.
struct Interface {
    set_raised: SetRaised,
    get_stream: GetStream,
    _library: Library,
}

static INTERFACE: OnceLock<Interface> = OnceLock::new();

/// The address of the function that all kernels are called by; `library` is tvm-ffi's.
#[pyfunction]
pub fn tvm_ffi_entry(library: PathBuf) -> PyResult<usize> {
    if INTERFACE.get().is_none() {
        let failed = |error: libloading::Error| PyOSError::new_err(error.to_string());
        // SAFETY: tvm-ffi has opened its library itself; the functions have these types in every version of its C API.
        let interface = unsafe {
            let library = Library::new(&library).map_err(failed)?;
            Interface {
                set_raised: *library
                    .get::<SetRaised>(b"TVMFFIErrorSetRaisedFromCStr\0")
                    .map_err(failed)?,
                get_stream: *library
                    .get::<GetStream>(b"TVMFFIEnvGetStream\0")
                    .map_err(failed)?,
                _library: library,
            }
        };
        let _ = INTERFACE.set(interface);
    }
    Ok(call as *const () as usize)
}

/// `TVMFFISafeCallType`: launches the kernel that `handle` is.
///
/// # Safety
/// As tvm-ffi calls functions of its own: `handle` is a [`Kernel`], and there are `count` arguments.
unsafe extern "C" fn call(
    handle: *mut c_void,
    args: *const Any,
    count: i32,
    _result: *mut Any,
) -> c_int {
    let called = Python::try_attach(|py| {
        // SAFETY: tvm-ffi holds a reference to the object while it may call.
        let object = unsafe { Bound::from_borrowed_ptr(py, handle.cast()) };
        let args = match usize::try_from(count) {
            Ok(count) if count > 0 => {
                // SAFETY: of the caller.
                unsafe { std::slice::from_raw_parts(args, count) }
            }
            _ => &[],
        };
        let launched = object
            .cast::<Kernel>()
            .map_err(PyErr::from)
            .and_then(|kernel| kernel.get().launch_values(py, &Packed(args)));
        launched.map_err(|error| raise(py, &error))
    });
    match called {
        Some(Ok(())) => 0,
        Some(Err(())) | None => -1,
    }
}

/// Tells tvm-ffi about an exception.
fn raise(py: Python<'_>, error: &PyErr) {
    let Some(interface) = INTERFACE.get() else {
        return;
    };
    let kind = match error.is_instance_of::<PyValueError>(py) {
        true => c"ValueError",
        false => c"RuntimeError",
    };
    let text = error.value(py).to_string().replace('\0', " ");
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: both are strings, which the call copies.
    unsafe { (interface.set_raised)(kind.as_ptr(), text.as_ptr()) };
}

/// Packed arguments.
struct Packed<'a>(&'a [Any]);

impl Values for Packed<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn array(&self, py: Python<'_>, index: usize, arrays: &mut Arrays) -> PyResult<bool> {
        let Any { kind, value, .. } = self.0[index];
        let address = match kind {
            DLTENSOR => value as usize,
            TENSOR => value as usize + OBJECT_HEAD,
            _ => return Ok(false),
        };
        // SAFETY: values of these kinds are such pointers.
        let tensor = unsafe { &*std::ptr::with_exposed_provenance::<dlpack::Tensor>(address) };
        // SAFETY: as DLPack says.
        unsafe { arrays.add_tensor(py, tensor, false) }?;
        let gpu = matches!(tensor.device.kind, dlpack::CUDA | dlpack::CUDA_MANAGED);
        if let (true, None, Some(interface)) = (gpu, arrays.stream, INTERFACE.get()) {
            // SAFETY: tvm-ffi's own function.
            let stream = unsafe { (interface.get_stream)(dlpack::CUDA, tensor.device.id) };
            arrays.stream = Some(stream as usize);
        }
        Ok(true)
    }

    fn scalar(&self, py: Python<'_>, index: usize, dtype: DType, name: &str) -> PyResult<[u8; 8]> {
        let Any { kind, value, .. } = self.0[index];
        let number = match kind {
            INT => PyInt::new(py, value as i64).into_any(),
            BOOL => PyBool::new(py, value & 0xFF != 0).to_owned().into_any(),
            FLOAT => PyFloat::new(py, f64::from_bits(value)).into_any(),
            other => {
                let text = format!(
                    "`{name}`: expected a number for {dtype}, found tvm-ffi's type {other}"
                );
                return Err(errors::argument(py, text, "Kind", Some(name)));
            }
        };
        arguments::scalar(&number, dtype, name)
    }
}
