//! Code on a GPU: loading it, finding kernels in it, and which GPU runs what.

use std::ffi::{CString, c_void};
use std::ptr;

use cudarc::driver::sys::{self, CUfunction_attribute};
use cudarc::driver::{DriverError, result};

use super::{check, failed, name_of};
use crate::device::DeviceError;

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub function: sys::CUfunction,
    pub static_shared: u64,
    /// Dynamic shared memory that it was allowed so far.
    pub dynamic_allowed: u32,
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

pub(super) fn find_function(module: sys::CUmodule, entry: &str) -> Result<Function, DeviceError> {
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
        dynamic_allowed: 0,
    })
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
