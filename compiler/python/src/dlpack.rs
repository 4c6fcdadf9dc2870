//! DLPack's C structures, version 1.3: tensors of any framework, and the table of functions by which a framework gives
//! them without a Python object in between (`dlpack.h`, `DLPackExchangeAPI`).

use std::ffi::{c_int, c_void};

/// The version whose structures these are.
pub const MAJOR_VERSION: u32 = 1;

/// `kDLCPU`
pub const CPU: i32 = 1;
/// `kDLCUDA`
pub const CUDA: i32 = 2;
/// `kDLCUDAHost`
pub const CUDA_HOST: i32 = 3;
/// `kDLCUDAManaged`
pub const CUDA_MANAGED: i32 = 13;

/// `DLPACK_FLAG_BITMASK_READ_ONLY`
pub const READ_ONLY: u64 = 1;

/// `DLPackVersion`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// `DLTensor`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub rank: i32,
    pub dtype: DataType,
    pub shape: *const i64,
    /// Null for a compact tensor, before version 1.2.
    pub strides: *const i64,
    pub byte_offset: u64,
}

/// `DLManagedTensor`, in a capsule `dltensor`
#[repr(C)]
pub struct Managed {
    pub tensor: Tensor,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`, in a capsule `dltensor_versioned`
#[repr(C)]
pub struct ManagedVersioned {
    pub version: Version,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    pub flags: u64,
    pub tensor: Tensor,
}

/// `DLPackExchangeAPI`, in a capsule `dlpack_exchange_api` at a type's `__dlpack_c_exchange_api__`
#[repr(C)]
pub struct ExchangeApi {
    pub version: Version,
    pub previous: *const ExchangeApi,
    pub allocate: *const c_void,
    /// Gives a tensor that shares the object's memory; 0, or -1 with a Python exception.
    pub managed_from_object:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedVersioned) -> c_int>,
    pub managed_to_object: *const c_void,
    /// Describes an object that stays the owner, where the framework can; 0, or -1 with a Python exception.
    pub tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    /// The stream that the framework works in on a device.
    pub current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: a constant table of a framework, for all its threads.
unsafe impl Send for ExchangeApi {}
// SAFETY: as above.
unsafe impl Sync for ExchangeApi {}

impl Tensor {
    /// A place to be filled.
    pub const EMPTY: Tensor = Tensor {
        data: std::ptr::null_mut(),
        device: Device { kind: 0, id: 0 },
        rank: 0,
        dtype: DataType {
            code: 0,
            bits: 0,
            lanes: 0,
        },
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };

    /// The address of the element at coordinate 0.
    pub fn address(&self) -> u64 {
        (self.data as u64).wrapping_add(self.byte_offset)
    }
}
