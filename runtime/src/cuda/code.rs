//! Code on a GPU: loading it, finding kernels in it, and which GPU runs what.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute};
use cudarc::driver::{DriverError, result};

use super::{check, failed, name_of};
use crate::abi::tensor_map::{L2Promotion, MapSwizzle, OobFill, TensorMap};
use crate::device::{DeviceError, Geometry, ParamValue};
use crate::tensor::DType;

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub function: sys::CUfunction,
    pub static_shared: u64,
    /// Sizes of its parameters in bytes, where the driver can tell.
    pub param_sizes: Option<Arc<[usize]>>,
    /// Dynamic shared memory that it was allowed so far.
    pub dynamic_allowed: u32,
    /// Whether it was allowed clusters of more blocks than every device takes.
    pub large_clusters: bool,
}

impl Function {
    /// How many blocks of a geometry a GPU of so many multiprocessors holds at a time: whole clusters, where there are any.
    pub fn resident_blocks(
        &self,
        multiprocessors: u32,
        geometry: &Geometry,
    ) -> Result<u32, DeviceError> {
        let of_cluster: u32 = geometry.cluster.iter().product();
        if of_cluster > 1 {
            let clusters = self.resident_clusters(geometry)?;
            return Ok(clusters.saturating_mul(of_cluster));
        }
        let threads: u32 = geometry.block.iter().product();
        let mut blocks = 0;
        // SAFETY: the function comes from a loaded module, and the pointer is to a local.
        let found = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                // A block has at most 1024 threads.
                threads as i32,
                geometry.smem_bytes as usize,
            )
        };
        check(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            found.result(),
        )?;
        Ok(multiprocessors.saturating_mul(u32::try_from(blocks).unwrap_or(0)))
    }

    /// How many clusters of a geometry the GPU holds at a time. The blocks of a cluster share a GPC, and of its
    /// multiprocessors some stay idle where no whole cluster fits on them: there may be fewer than all multiprocessors
    /// together would hold, and one too many would wait for all others to end.
    pub fn resident_clusters(&self, geometry: &Geometry) -> Result<u32, DeviceError> {
        let ([x, y, z], cluster) = (geometry.block, geometry.cluster);
        let config = sys::CUlaunchConfig {
            gridDimX: cluster[0],
            gridDimY: cluster[1],
            gridDimZ: cluster[2],
            blockDimX: x,
            blockDimY: y,
            blockDimZ: z,
            sharedMemBytes: geometry.smem_bytes,
            hStream: ptr::null_mut(),
            // The size of the cluster is the kernel's own.
            attrs: ptr::null_mut(),
            numAttrs: 0,
        };
        let mut clusters = 0;
        // SAFETY: the function comes from a loaded module, and the pointers are to locals. A driver that loads a kernel
        // with clusters has this function.
        let found =
            unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, self.function, &config) };
        check("cuOccupancyMaxActiveClusters", found.result())?;
        Ok(u32::try_from(clusters).unwrap_or(0))
    }
}

/// Room for what the driver's compiler says.
const LOG_BYTES: usize = 16 << 10;

/// Whether code for `target` (`sm_80`, `sm_90a`, `sm_100f`) runs on a GPU: PTX on the same or a later
/// one, a cubin on later ones of the same generation, and code for an `a` target on that one alone.
pub(super) fn runs_on(target: &str, (major, minor): (i32, i32), cubin: bool) -> bool {
    let Some(version) = target.strip_prefix("sm_") else {
        return true;
    };
    let (digits, suffix) = match version.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => version.split_at(end),
        None => (version, ""),
    };
    // What is no target is for the driver to judge.
    let Ok(number) = digits.parse::<i32>() else {
        return true;
    };
    let (wanted_major, wanted_minor) = (number / 10, number % 10);
    let same_generation = major == wanted_major && minor >= wanted_minor;
    match suffix {
        "a" => (major, minor) == (wanted_major, wanted_minor),
        "f" => same_generation,
        _ if cubin => same_generation,
        _ => (major, minor) >= (wanted_major, wanted_minor),
    }
}

/// Finds a kernel; `with_params` says whether the driver can tell its parameters.
pub(super) fn find_function(
    module: sys::CUmodule,
    entry: &str,
    with_params: bool,
) -> Result<Function, DeviceError> {
    let invalid = |_| {
        failed(
            "cuModuleGetFunction",
            &DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND),
        )
    };
    let name = CString::new(entry).map_err(invalid)?;
    // SAFETY: the module is loaded.
    let function = check("cuModuleGetFunction", unsafe {
        result::module::get_function(module, name)
    })?;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: the function comes from a loaded module.
    let bytes = unsafe { result::function::get_function_attribute(function, attribute) };
    let static_shared = u64::try_from(check("cuFuncGetAttribute", bytes)?).unwrap_or(0);
    Ok(Function {
        function,
        static_shared,
        param_sizes: with_params.then(|| param_sizes(function)),
        dynamic_allowed: 0,
        large_clusters: false,
    })
}

/// Sizes of a kernel's parameters in bytes.
fn param_sizes(function: sys::CUfunction) -> Arc<[usize]> {
    let size = |index| {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function comes from a loaded module; the pointers are to locals.
        let found = unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) };
        // Past the last parameter the call fails.
        found.result().is_ok().then_some(size)
    };
    (0..).map_while(size).collect()
}

/// Loads PTX (with its NUL) or a cubin into the current context.
pub(super) fn load_image(image: &[u8]) -> Result<sys::CUmodule, DeviceError> {
    use sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The size is passed in the place of a pointer (CUDA driver API, cuModuleLoadDataEx).
    let mut values = [
        log.as_mut_ptr().cast(),
        ptr::without_provenance_mut::<c_void>(LOG_BYTES),
    ];
    let mut module = ptr::null_mut();
    // SAFETY: the image is alive during the call and ends as its format says; the log has the size
    // that is passed.
    let loaded = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match loaded.result() {
        Ok(()) => Ok(module),
        Err(error) => {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]).into_owned();
            Err(DeviceError::Load {
                name: name_of(&error),
                log,
            })
        }
    }
}

/// Encodes a tensor map of memory at `address`, all elements of each box.
pub(super) fn encode_tensor_map(map: &TensorMap, address: u64) -> Result<ParamValue, DeviceError> {
    use sys::CUtensorMapDataType::*;
    use sys::CUtensorMapFloatOOBfill::*;
    use sys::CUtensorMapL2promotion::*;
    use sys::CUtensorMapSwizzle::*;
    let rank = map.extents.len();
    let boxes = match &map.im2col {
        None => map.box_extents.len() == rank,
        Some(pixels) => map.box_extents.len() == 2 && pixels.is_of_rank(rank),
    };
    if map.stride_bytes.len() + 1 != rank || !boxes {
        let invalid = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        return Err(failed("cuTensorMapEncodeTiled", &invalid));
    }
    let data_type = match map.dtype {
        DType::F16 => CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::BF16 => CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DType::TF32 => CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        DType::F32 => CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DType::F64 => CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DType::I32 => CU_TENSOR_MAP_DATA_TYPE_INT32,
        DType::U32 => CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DType::I64 => CU_TENSOR_MAP_DATA_TYPE_INT64,
        DType::U64 => CU_TENSOR_MAP_DATA_TYPE_UINT64,
        DType::I16 | DType::U16 => CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DType::I8 | DType::U8 | DType::Bool | DType::F8E4M3 | DType::F8E5M2 => {
            CU_TENSOR_MAP_DATA_TYPE_UINT8
        }
    };
    let swizzle = match map.swizzle {
        MapSwizzle::None => CU_TENSOR_MAP_SWIZZLE_NONE,
        MapSwizzle::B32 => CU_TENSOR_MAP_SWIZZLE_32B,
        MapSwizzle::B64 => CU_TENSOR_MAP_SWIZZLE_64B,
        MapSwizzle::B128 => CU_TENSOR_MAP_SWIZZLE_128B,
    };
    let promotion = match map.l2_promotion {
        L2Promotion::None => CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2Promotion::B64 => CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2Promotion::B128 => CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2Promotion::B256 => CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    };
    let fill = match map.oob_fill {
        OobFill::Zeros => CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        OobFill::Nan => CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    };
    let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
    if let Some(pixels) = &map.im2col {
        let steps = [&[1][..], &pixels.steps, &[1]].concat();
        // SAFETY: extents and steps have `rank` elements, strides one less and corners two less, as was checked; the map is
        // a local. The address is only written into the map.
        let result = unsafe {
            sys::cuTensorMapEncodeIm2col(
                &mut encoded,
                data_type,
                rank as u32,
                ptr::without_provenance_mut(address as usize),
                map.extents.as_ptr(),
                map.stride_bytes.as_ptr(),
                pixels.lower.as_ptr(),
                pixels.upper.as_ptr(),
                map.box_extents[0],
                map.box_extents[1],
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                promotion,
                fill,
            )
        };
        check("cuTensorMapEncodeIm2col", result.result())?;
        return Ok(as_parameter(&encoded));
    }
    let steps = vec![1u32; rank];
    // SAFETY: extents, boxes and steps have `rank` elements and strides one less, as was checked; the
    // map is a local. The address is only written into the map.
    let result = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            data_type,
            rank as u32,
            ptr::without_provenance_mut(address as usize),
            map.extents.as_ptr(),
            map.stride_bytes.as_ptr(),
            map.box_extents.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            promotion,
            fill,
        )
    };
    check("cuTensorMapEncodeTiled", result.result())?;
    Ok(as_parameter(&encoded))
}

fn as_parameter(encoded: &sys::CUtensorMap) -> ParamValue {
    let mut bytes = [0; 128];
    for (place, word) in bytes.chunks_exact_mut(8).zip(encoded.opaque) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    ParamValue::tensor_map(bytes)
}

#[cfg(test)]
mod tests {
    use super::runs_on;

    #[test]
    fn which_gpu_runs_what() {
        assert!(runs_on("sm_80", (9, 0), false) && runs_on("sm_80", (8, 6), true));
        assert!(!runs_on("sm_80", (9, 0), true) && !runs_on("sm_86", (8, 0), false));
        assert!(runs_on("sm_90a", (9, 0), false) && !runs_on("sm_90a", (10, 0), false));
        assert!(runs_on("sm_100f", (10, 3), true) && !runs_on("sm_100f", (12, 0), false));
        assert!(runs_on("sm_100", (12, 0), false));
    }
}
