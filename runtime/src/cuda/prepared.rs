//! Launches of a bound kernel in any stream, by a host that has its own: what a call from another framework costs is
//! what is done here.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{DriverError, sys};

use super::context::{Context, Module};
use super::{CudaDevice, check, failed};
use crate::device::{Device, DeviceError, DeviceModule, Geometry, ParamValue};

/// A kernel with its geometry, looked up once: launches only fill in the parameters.
///
/// It keeps the code that it launches.
#[derive(Debug)]
pub struct PreparedLaunch {
    context: Arc<Context>,
    _code: DeviceModule,
    function: sys::CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    smem_bytes: u32,
    /// Where each parameter begins in the bytes of a launch.
    offsets: Box<[usize]>,
    bytes: usize,
}

// SAFETY: handles of the driver, which any thread may use (`Context`).
unsafe impl Send for PreparedLaunch {}
// SAFETY: as above; nothing changes after it was made.
unsafe impl Sync for PreparedLaunch {}

/// A stream of a GPU, as CUDA's own handle: 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub usize);

/// Most parameters that are passed without an allocation.
const FEW_PARAMS: usize = 32;

impl CudaDevice {
    /// Looks a kernel up for launches with `geometry` and parameters of the sizes and places of `params`. The parameters
    /// lie one behind the other as [`PreparedLaunch::offsets`] says.
    ///
    /// # Errors
    /// As [`Device::launch`], where the code is another device's, has no such kernel, or takes other parameters.
    pub fn prepare(
        &self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<PreparedLaunch, DeviceError> {
        self.owner().check_module(module)?;
        let Some(code) = module.code::<Module>() else {
            let code = DriverError(sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
            return Err(failed("cuLaunchKernel", &code));
        };
        let _current = self.context.enter()?;
        let function = self.function(code, geometry)?;
        let sizes: Vec<usize> = params.iter().map(|param| param.as_bytes().len()).collect();
        match &function.param_sizes {
            Some(expected) if **expected != *sizes => {
                return Err(DeviceError::Parameters {
                    entry: geometry.entry.clone(),
                    expected: expected.clone(),
                    found: sizes,
                });
            }
            // The ABI is that of the compiler that wrote the code.
            Some(_) | None => {}
        }
        let mut bytes = 0;
        let mut offsets = Vec::with_capacity(sizes.len());
        for param in params {
            bytes = usize::next_multiple_of(bytes, param.align());
            offsets.push(bytes);
            bytes += param.as_bytes().len();
        }
        let resident = function.resident.map_or(u32::MAX, |(_, _, blocks)| blocks);
        Ok(PreparedLaunch {
            context: Arc::clone(&self.context),
            _code: module.clone(),
            function: function.function,
            grid: geometry.blocks(|| resident),
            block: geometry.block,
            smem_bytes: geometry.smem_bytes,
            offsets: offsets.into(),
            bytes,
        })
    }
}

/// Does work on devices and leaves the current context of the thread as it was: another library relies on its own.
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let mut outer = ptr::null_mut();
    // SAFETY: looking for libcuda runs its initializers, and the pointer is to a local.
    let known =
        unsafe { sys::is_culib_present() && sys::cuCtxGetCurrent(&mut outer).result().is_ok() };
    let done = work();
    if known {
        // SAFETY: it was the current context of this thread, or there was none.
        let _ = unsafe { sys::cuCtxSetCurrent(outer) };
    }
    done
}

impl PreparedLaunch {
    /// Where each parameter begins in the bytes of a launch.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// How many bytes a launch takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts the kernel into a stream. The current context of the thread is what it was, afterwards.
    ///
    /// What the kernel does with the addresses among its parameters is for the check against the ABI to make sound; that
    /// memory is behind them, and stays until the kernel is done, is up to the caller.
    ///
    /// # Errors
    /// Where the driver refuses it, or failed before.
    ///
    /// # Panics
    /// Where there are fewer `params` than [`PreparedLaunch::bytes`].
    pub fn launch(&self, stream: Stream, params: &[u8]) -> Result<(), DeviceError> {
        assert!(params.len() >= self.bytes, "parameters of another kernel");
        let mut few = [ptr::null_mut::<c_void>(); FEW_PARAMS];
        let mut many = Vec::new();
        let pointers = if self.offsets.len() <= FEW_PARAMS {
            &mut few[..self.offsets.len()]
        } else {
            many.resize(self.offsets.len(), ptr::null_mut());
            many.as_mut_slice()
        };
        for (pointer, offset) in pointers.iter_mut().zip(&self.offsets) {
            // The driver reads parameters only.
            *pointer = params[*offset..].as_ptr().cast_mut().cast();
        }
        let [grid, block] = [self.grid, self.block];
        let _current = self.context.enter()?;
        // SAFETY: function and context live as long as this; the parameters have the sizes that the kernel declares and are
        // copied during the call.
        let launched = unsafe {
            sys::cuLaunchKernel(
                self.function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                self.smem_bytes,
                ptr::with_exposed_provenance_mut(stream.0),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", launched.result())
    }

    /// Waits for what is in a stream.
    ///
    /// # Errors
    /// Where a kernel in it failed.
    pub fn synchronize(&self, stream: Stream) -> Result<(), DeviceError> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's stream, by its handle.
        let done = unsafe { sys::cuStreamSynchronize(ptr::with_exposed_provenance_mut(stream.0)) };
        check("cuStreamSynchronize", done.result())
    }
}
