//! DLPack's C structures, version 1.3: tensors of any framework, and the table of functions by which a framework gives
//! them without a Python object in between (`dlpack.h`, `DLPackExchangeAPI`).

use std::ffi::{c_int, c_void};

use crate::DType;

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
    /// Changes with the structures.
    pub major: u32,
    /// Changes with what is added to them.
    pub minor: u32,
}

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// [`CPU`], [`CUDA`], …
    pub kind: i32,
    /// Which one of its kind.
    pub id: i32,
}

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// `DLDataTypeCode`
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Lanes of an element; 1 of every element that a kernel takes.
    pub lanes: u16,
}

/// `DLTensor`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Address, to which `byte_offset` is added.
    pub data: *mut c_void,
    /// Where it lies.
    pub device: Device,
    /// Number of modes.
    pub rank: i32,
    /// Element type.
    pub dtype: DataType,
    /// Extents, one a mode.
    pub shape: *const i64,
    /// Strides in elements, one a mode; null for a compact tensor, before version 1.2.
    pub strides: *const i64,
    /// Bytes from `data` to the element at coordinate 0.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, in a capsule `dltensor`
#[repr(C)]
pub struct Managed {
    /// The tensor.
    pub tensor: Tensor,
    /// Its owner's.
    pub context: *mut c_void,
    /// Gives it back.
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`, in a capsule `dltensor_versioned`
#[repr(C)]
pub struct ManagedVersioned {
    /// The version of this structure.
    pub version: Version,
    /// Its owner's.
    pub context: *mut c_void,
    /// Gives it back.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    /// [`READ_ONLY`] and others.
    pub flags: u64,
    /// The tensor.
    pub tensor: Tensor,
}

/// `DLPackExchangeAPI`, in a capsule `dlpack_exchange_api` at a type's `__dlpack_c_exchange_api__`
#[repr(C)]
pub struct ExchangeApi {
    /// The version of this table.
    pub version: Version,
    /// A table of another version.
    pub previous: *const ExchangeApi,
    /// Makes a tensor.
    pub allocate: *const c_void,
    /// Gives a tensor that shares the object's memory; 0, or -1 with a Python exception.
    pub managed_from_object:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedVersioned) -> c_int>,
    /// Makes an object of a tensor.
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

/// The strides of a tensor that has none: it is compact, its last mode the fastest.
pub fn compact_strides(shape: &[i64], strides: &mut [i64]) {
    let mut step: i64 = 1;
    for (stride, extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul((*extent).max(1));
    }
}

impl DataType {
    /// What DLPack calls an element type; tf32 is stored as f32 is, and called so.
    pub fn of(dtype: DType) -> DataType {
        let code = match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
            DType::F16 | DType::TF32 | DType::F32 | DType::F64 => 2,
            DType::BF16 => 4,
            DType::Bool => 6,
            DType::F8E4M3 => 10,
            DType::F8E5M2 => 12,
        };
        DataType {
            code,
            bits: 8 * dtype.size() as u8,
            lanes: 1,
        }
    }

    /// The element type of kernels, where they have it; f32 where it may be tf32 too.
    pub fn dtype(self) -> Option<DType> {
        let named = |dtype: &DType| *dtype != DType::TF32 && DataType::of(*dtype) == self;
        DType::ALL.into_iter().find(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_without_strides_is_compact() {
        let mut strides = [0; 3];
        compact_strides(&[2, 0, 5], &mut strides);
        assert_eq!(strides, [5, 5, 1]);
    }

    #[test]
    fn every_element_type_has_a_name_in_dlpack() {
        for dtype in DType::ALL {
            let expected = match dtype {
                DType::TF32 => DType::F32,
                other => other,
            };
            assert_eq!(DataType::of(dtype).dtype(), Some(expected));
        }
        let pair = DataType {
            code: 2,
            bits: 32,
            lanes: 2,
        };
        assert_eq!(pair.dtype(), None);
    }
}
