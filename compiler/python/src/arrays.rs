//! Arrays of any framework: where they lie, and their element type, shape and strides, as numbers one behind the other.
//!
//! A framework that gives DLPack's table of functions (`__dlpack_c_exchange_api__`: PyTorch from 2.10 on, tvm-ffi) is asked
//! without a Python object in between, and for the stream that it works in. Others are asked by `__array_interface__`
//! (NumPy), `__dlpack__` (JAX, CuPy, older PyTorch) or `__cuda_array_interface__`, in this order.

use crate::errors;
use cutec::runtime::abi::dlpack::{self, DataType, ExchangeApi};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple, PyType};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Where an array lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory of the host.
    Host,
    /// Memory of the GPU with this number.
    Gpu(usize),
}

/// What the arrays of a call have in common, and what is kept for its duration.
#[derive(Default)]
pub struct Arrays {
    /// Of each array the head ([`Head`]), the extents and the strides in elements.
    pub key: Vec<i64>,
    /// The arrays, in the order of the call.
    pub list: Vec<Array>,
    /// Where all of them lie, once there is one.
    pub place: Option<Place>,
    /// The stream that the framework of the first array on a GPU works in.
    pub stream: Option<usize>,
    /// Whether that framework orders its work by other means than streams, so that it is to be waited for.
    pub wait: bool,
    /// What keeps the descriptions alive.
    kept: Vec<Py<PyAny>>,
    managed: Vec<Managed>,
}

/// A tensor that its framework is to get back.
struct Managed(*mut dlpack::ManagedVersioned);

// SAFETY: it is only looked at while Python's lock is held, and given back then.
unsafe impl Send for Managed {}
// SAFETY: as above.
unsafe impl Sync for Managed {}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: a framework has made it for us, and nobody has given it back.
        unsafe {
            if let Some(deleter) = (*self.0).deleter {
                deleter(self.0);
            }
        }
    }
}

/// An array of a call.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Address of the element at coordinate 0.
    pub address: u64,
    /// Where the allocation begins that it lies in, as far as that is known: its alignment is that of a device's memory.
    pub origin: u64,
    /// Where its description begins in [`Arrays::key`].
    pub at: usize,
}

/// The first word of a description.
#[derive(Clone, Copy, Debug)]
pub struct Head(i64);

impl Head {
    fn new(dtype: DataType, rank: usize, read_only: bool) -> Self {
        let dtype =
            i64::from(dtype.code) | i64::from(dtype.bits) << 8 | i64::from(dtype.lanes) << 16;
        Self(dtype | (rank as i64) << 32 | i64::from(read_only) << 62)
    }

    /// DLPack's element type.
    pub fn data_type(self) -> DataType {
        DataType {
            code: self.0 as u8,
            bits: (self.0 >> 8) as u8,
            lanes: (self.0 >> 16) as u16,
        }
    }

    /// Modes.
    pub fn rank(self) -> usize {
        (self.0 >> 32 & 0xFFFF) as usize
    }

    /// Whether it may not be written.
    pub fn read_only(self) -> bool {
        self.0 >> 62 & 1 == 1
    }
}

/// How the objects of a type are asked.
#[derive(Clone, Copy)]
enum Provider {
    Exchange(&'static ExchangeApi),
    ArrayInterface,
    Dlpack(Framework),
    CudaArrayInterface(Framework),
    None,
}

/// Frameworks whose streams are asked for in their own way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framework {
    Torch,
    Cupy,
    /// Arrays cannot be written, and no stream is the current one.
    Jax,
    Other,
}

impl Arrays {
    /// Makes room for another call.
    pub fn clear(&mut self) {
        self.key.clear();
        self.list.clear();
        self.kept.clear();
        self.managed.clear();
        self.place = None;
        self.stream = None;
        self.wait = false;
    }

    /// The description of an array.
    pub fn describe(&self, array: &Array) -> (Head, &[i64], &[i64]) {
        let head = Head(self.key[array.at]);
        let (shape, strides) = self.key[array.at + 1..][..2 * head.rank()].split_at(head.rank());
        (head, shape, strides)
    }

    /// Adds an array; false where the object is none.
    #[inline]
    pub fn add(&mut self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match provider(object)? {
            Provider::Exchange(api) => self.add_exchanged(object, api).map(|()| true),
            Provider::ArrayInterface => self.add_interface(object, None).map(|()| true),
            Provider::Dlpack(framework) => self.add_dlpack(object, framework).map(|()| true),
            Provider::CudaArrayInterface(framework) => {
                self.add_interface(object, Some(framework)).map(|()| true)
            }
            Provider::None => Ok(false),
        }
    }

    #[inline]
    fn add_exchanged(
        &mut self,
        object: &Bound<'_, PyAny>,
        api: &'static ExchangeApi,
    ) -> PyResult<()> {
        let py = object.py();
        let mut tensor = dlpack::Tensor::EMPTY;
        let mut read_only = false;
        if let Some(describe) = api.tensor_from_object {
            // SAFETY: the object is of the type whose table this is; the description is used before control returns to
            // Python.
            if unsafe { describe(object.as_ptr().cast(), &mut tensor) } != 0 {
                return Err(PyErr::fetch(py));
            }
        } else if let Some(manage) = api.managed_from_object {
            let mut managed = ptr::null_mut();
            // SAFETY: as above; what it gives is given back with `managed`.
            if unsafe { manage(object.as_ptr().cast(), &mut managed) } != 0 {
                return Err(PyErr::fetch(py));
            }
            self.managed.push(Managed(managed));
            // SAFETY: the framework has just made it.
            (tensor, read_only) = unsafe {
                let managed = &*managed;
                (managed.tensor, managed.flags & dlpack::READ_ONLY != 0)
            };
        }
        // SAFETY: the framework has filled it for an object that the caller holds.
        unsafe { self.add_tensor(py, &tensor, read_only) }?;
        if let (Some(Place::Gpu(_)), None) = (self.place, self.stream) {
            let mut stream = ptr::null_mut();
            let current = api.current_stream.expect("a provider has it");
            // SAFETY: the place is a local.
            if unsafe { current(tensor.device.kind, tensor.device.id, &mut stream) } != 0 {
                return Err(PyErr::fetch(py));
            }
            self.stream = Some(stream as usize);
        }
        Ok(())
    }

    /// Adds a tensor of DLPack's.
    ///
    /// # Safety
    /// Shape and strides are as DLPack says.
    pub unsafe fn add_tensor(
        &mut self,
        py: Python<'_>,
        tensor: &dlpack::Tensor,
        read_only: bool,
    ) -> PyResult<()> {
        let place = match tensor.device.kind {
            dlpack::CPU | dlpack::CUDA_HOST => Place::Host,
            dlpack::CUDA | dlpack::CUDA_MANAGED => Place::Gpu(tensor.device.id.max(0) as usize),
            other => {
                let text = format!(
                    "an array on a device of DLPack's kind {other}: expected the host or a CUDA GPU"
                );
                return Err(errors::argument(py, text, "Device", None));
            }
        };
        self.enter(py, place)?;
        let rank = tensor.rank.max(0) as usize;
        let address = tensor.address();
        self.list.push(Array {
            address,
            // Frameworks align what they allocate to 64 bytes at least.
            origin: address & !63,
            at: self.key.len(),
        });
        self.key.push(Head::new(tensor.dtype, rank, read_only).0);
        if rank == 0 {
            return Ok(());
        }
        // SAFETY: of the caller.
        let shape = unsafe { std::slice::from_raw_parts(tensor.shape, rank) };
        self.key.extend_from_slice(shape);
        if tensor.strides.is_null() {
            self.push_compact(rank);
        } else {
            // SAFETY: of the caller.
            let strides = unsafe { std::slice::from_raw_parts(tensor.strides, rank) };
            self.key.extend_from_slice(strides);
        }
        Ok(())
    }

    /// Row-major strides of the `rank` extents that were pushed last.
    fn push_compact(&mut self, rank: usize) {
        let first = self.key.len() - rank;
        self.key.resize(first + 2 * rank, 1);
        let (shape, strides) = self.key[first..].split_at_mut(rank);
        dlpack::compact_strides(shape, strides);
    }

    fn enter(&mut self, py: Python<'_>, place: Place) -> PyResult<()> {
        match self.place.replace(place) {
            Some(known) if known != place => {
                let text = format!("arrays on {known} and on {place}: expected all on one device");
                Err(errors::argument(py, text, "Device", None))
            }
            _ => Ok(()),
        }
    }

    fn add_dlpack(&mut self, object: &Bound<'_, PyAny>, framework: Framework) -> PyResult<()> {
        let py = object.py();
        let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
        let (kind, id): (i32, i32) = device.extract()?;
        let options = PyDict::new(py);
        if matches!(kind, dlpack::CUDA | dlpack::CUDA_MANAGED) {
            let stream = self.stream_of(py, framework, id)?;
            // DLPack's number for the default stream, of which CUDA's handle is 0.
            let number = if stream == 0 { 1 } else { stream };
            options.set_item(intern!(py, "stream"), number)?;
        }
        options.set_item(intern!(py, "max_version"), (dlpack::MAJOR_VERSION, 3))?;
        let method = object.getattr(intern!(py, "__dlpack__"))?;
        let capsule = match method.call((), Some(&options)) {
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                options.del_item(intern!(py, "max_version"))?;
                method.call((), Some(&options))?
            }
            called => called?,
        };
        let capsule = capsule.cast_into::<PyCapsule>()?;
        // SAFETY: capsules of these names hold these structures, which live as long as the capsule, which is kept.
        unsafe {
            if let Some(managed) = pointer(&capsule, c"dltensor_versioned") {
                let managed = &*managed.cast::<dlpack::ManagedVersioned>();
                if managed.version.major != dlpack::MAJOR_VERSION {
                    let text = format!("DLPack {} of an array: expected 1", managed.version.major);
                    return Err(errors::argument(py, text, "Dlpack", None));
                }
                let read_only =
                    managed.flags & dlpack::READ_ONLY != 0 || framework == Framework::Jax;
                self.add_tensor(py, &managed.tensor, read_only)?;
            } else if let Some(managed) = pointer(&capsule, c"dltensor") {
                let managed = &*managed.cast::<dlpack::Managed>();
                self.add_tensor(py, &managed.tensor, framework == Framework::Jax)?;
            } else {
                let text = "a capsule of `__dlpack__` that holds no tensor";
                return Err(errors::argument(py, text, "Dlpack", None));
            }
        }
        self.kept.push(capsule.into_any().unbind());
        Ok(())
    }

    /// `__array_interface__` of the host, or `__cuda_array_interface__` of a framework.
    fn add_interface(&mut self, object: &Bound<'_, PyAny>, gpu: Option<Framework>) -> PyResult<()> {
        let py = object.py();
        let name = match gpu {
            None => intern!(py, "__array_interface__"),
            Some(_) => intern!(py, "__cuda_array_interface__"),
        };
        let interface = object.getattr(name)?.cast_into::<PyDict>()?;
        let field = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            Ok(interface.get_item(name)?.filter(|value| !value.is_none()))
        };
        let needed = |name: &str| {
            field(name)?.ok_or_else(|| {
                errors::argument(
                    py,
                    format!("an array interface without `{name}`"),
                    "Interface",
                    None,
                )
            })
        };
        let (address, read_only): (u64, bool) = needed("data")?.extract()?;
        let place = match gpu {
            None => Place::Host,
            Some(framework) => {
                let id = device_of(object)?;
                self.stream_of(py, framework, id)?;
                Place::Gpu(id.max(0) as usize)
            }
        };
        self.enter(py, place)?;
        let typestr: String = needed("typestr")?.extract()?;
        let dtype = match numpy_type(&typestr) {
            Some(dtype) => dtype,
            // Types of ml_dtypes have no letter of their own.
            None => named_type(object).ok_or_else(|| {
                let text = format!("elements of NumPy's type `{typestr}`, which no kernel has");
                errors::argument(py, text, "DType", None)
            })?,
        };
        let shape: Vec<i64> = needed("shape")?.extract()?;
        let origin = match gpu {
            None => allocation(object, address),
            Some(_) => address,
        };
        self.list.push(Array {
            address,
            origin,
            at: self.key.len(),
        });
        self.key.push(Head::new(dtype, shape.len(), read_only).0);
        self.key.extend_from_slice(&shape);
        match field("strides")? {
            None => self.push_compact(shape.len()),
            Some(strides) => {
                let size = i64::from(dtype.bits / 8).max(1);
                for (stride, extent) in strides.extract::<Vec<i64>>()?.into_iter().zip(shape) {
                    if stride % size != 0 && extent > 1 {
                        let text = format!(
                            "a stride of {stride} bytes: expected whole elements of {size}"
                        );
                        return Err(errors::argument(py, text, "Stride", None));
                    }
                    self.key.push(stride / size);
                }
            }
        }
        Ok(())
    }

    /// The stream that a framework works in, which is that of the call where it is the first.
    fn stream_of(&mut self, py: Python<'_>, framework: Framework, device: i32) -> PyResult<usize> {
        if let Some(stream) = self.stream {
            return Ok(stream);
        }
        let stream = match framework {
            Framework::Torch => py
                .import("torch.cuda")?
                .call_method1("current_stream", (device,))?
                .getattr("cuda_stream")?
                .extract()?,
            Framework::Cupy => py
                .import("cupy.cuda")?
                .call_method0("get_current_stream")?
                .getattr("ptr")?
                .extract()?,
            Framework::Jax | Framework::Other => {
                self.wait = true;
                0
            }
        };
        self.stream = Some(stream);
        Ok(stream)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Host => f.write_str("the host"),
            Place::Gpu(index) => write!(f, "cuda:{index}"),
        }
    }
}

thread_local! {
    /// The type that was asked last, and how its objects are asked; the table below keeps the type.
    static LAST: Cell<(usize, Provider)> = const { Cell::new((0, Provider::None)) };
}

#[inline]
fn provider(object: &Bound<'_, PyAny>) -> PyResult<Provider> {
    let key = object.get_type_ptr() as usize;
    let (last, known) = LAST.get();
    if last == key {
        return Ok(known);
    }
    let found = provider_of_type(object, key)?;
    LAST.set((key, found));
    Ok(found)
}

/// Types that were asked, by their address; each is kept, so that no other one gets its address.
type Providers = HashMap<usize, (Py<PyType>, Provider)>;

static TYPES: Mutex<Option<Providers>> = Mutex::new(None);

fn provider_of_type(object: &Bound<'_, PyAny>, key: usize) -> PyResult<Provider> {
    let known = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, provider)) = known.as_ref().and_then(|types| types.get(&key)) {
        return Ok(*provider);
    }
    // Asking runs Python.
    drop(known);
    let ty = object.get_type();
    let found = look_up(object, &ty)?;
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let types = types.get_or_insert_default();
    types.insert(key, (ty.unbind(), found));
    Ok(found)
}

fn look_up(object: &Bound<'_, PyAny>, ty: &Bound<'_, PyType>) -> PyResult<Provider> {
    if let Some(capsule) = optional(ty.as_any(), "__dlpack_c_exchange_api__")?
        && let Ok(capsule) = capsule.cast::<PyCapsule>()
        // SAFETY: a capsule of this name holds such a table, for the life of the process.
        && let Some(api) = unsafe { exchange_api(capsule) }
    {
        return Ok(Provider::Exchange(api));
    }
    let module: String = ty.getattr("__module__")?.extract().unwrap_or_default();
    let framework = match module.split('.').next() {
        Some("torch") => Framework::Torch,
        Some("cupy") => Framework::Cupy,
        Some("jax" | "jaxlib") => Framework::Jax,
        _ => Framework::Other,
    };
    if ty.hasattr("__array_interface__")? {
        return Ok(Provider::ArrayInterface);
    }
    if ty.hasattr("__dlpack__")? && ty.hasattr("__dlpack_device__")? {
        return Ok(Provider::Dlpack(framework));
    }
    if optional(object, "__cuda_array_interface__")?.is_some() {
        return Ok(Provider::CudaArrayInterface(framework));
    }
    Ok(Provider::None)
}

fn optional<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.getattr(name) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_instance_of::<PyAttributeError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// # Safety
/// The capsule holds what its name says.
unsafe fn exchange_api(capsule: &Bound<'_, PyCapsule>) -> Option<&'static ExchangeApi> {
    // SAFETY: of the caller.
    let mut api = unsafe {
        pointer(capsule, c"dlpack_exchange_api")?
            .cast::<ExchangeApi>()
            .as_ref()?
    };
    while api.version.major != dlpack::MAJOR_VERSION {
        // SAFETY: a chain of tables that live as long as the process.
        api = unsafe { api.previous.as_ref()? };
    }
    let described = api.tensor_from_object.is_some() || api.managed_from_object.is_some();
    (described && api.current_stream.is_some()).then_some(api)
}

/// What a capsule of that name holds.
fn pointer(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the capsule is one, and the name a string.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
            return None;
        }
        let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
        (!pointer.is_null()).then_some(pointer)
    }
}

/// The GPU of an array that has `__cuda_array_interface__` only.
fn device_of(object: &Bound<'_, PyAny>) -> PyResult<i32> {
    let Some(device) = optional(object, "device")? else {
        return Ok(0);
    };
    for name in ["id", "index"] {
        if let Some(id) = optional(&device, name)?
            && let Ok(id) = id.extract()
        {
            return Ok(id);
        }
    }
    Ok(0)
}

/// Where the memory of a NumPy array begins: that of the array whose view it is.
fn allocation(array: &Bound<'_, PyAny>, address: u64) -> u64 {
    let py = array.py();
    let mut root = array.clone();
    while let Ok(base) = root.getattr(intern!(py, "base"))
        && base
            .hasattr(intern!(py, "__array_interface__"))
            .unwrap_or(false)
    {
        root = base;
    }
    let interface = root.getattr(intern!(py, "__array_interface__"));
    let data = interface.and_then(|interface| interface.get_item("data"));
    let begin = data.and_then(|data| {
        data.cast_into::<PyTuple>()
            .map_err(PyErr::from)?
            .get_item(0)?
            .extract::<u64>()
    });
    // A reversed view begins behind where it ends.
    begin
        .ok()
        .filter(|begin| *begin <= address)
        .unwrap_or(address)
}

/// `<f4`, `|b1`.
fn numpy_type(typestr: &str) -> Option<DataType> {
    let mut characters = typestr.chars();
    let order = characters.next()?;
    let kind = characters.next()?;
    let bytes: u8 = characters.as_str().parse().ok()?;
    if order == '>' && bytes > 1 {
        return None;
    }
    let code = match kind {
        'b' => 6,
        'i' => 0,
        'u' => 1,
        'f' => 2,
        _ => return None,
    };
    Some(DataType {
        code,
        bits: bytes.checked_mul(8)?,
        lanes: 1,
    })
}

/// The element type by the name of `dtype`: `bfloat16`, `float8_e4m3fn`.
fn named_type(array: &Bound<'_, PyAny>) -> Option<DataType> {
    let name: String = array
        .getattr("dtype")
        .ok()?
        .getattr("name")
        .ok()?
        .extract()
        .ok()?;
    let (code, bits) = match name.as_str() {
        "bfloat16" => (4, 16),
        "float8_e4m3fn" => (10, 8),
        "float8_e5m2" => (12, 8),
        _ => return None,
    };
    Some(DataType {
        code,
        bits,
        lanes: 1,
    })
}
