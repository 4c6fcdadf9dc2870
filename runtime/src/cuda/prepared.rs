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
    shape: Shape,
    /// Where each parameter begins in the bytes of a launch.
    offsets: Box<[usize]>,
    bytes: usize,
}

// SAFETY: handles of the driver, which any thread may use (`Context`).
unsafe impl Send for PreparedLaunch {}
// SAFETY: as above; nothing changes after it was made.
unsafe impl Sync for PreparedLaunch {}

/// Blocks, threads, and how they are launched.
#[derive(Debug)]
pub(super) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub smem_bytes: u32,
    /// Whether it may begin before the launch ahead of it has ended.
    pub pdl: bool,
    /// Whether all blocks run at the same time.
    pub cooperative: bool,
}

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
        let shape = self.shape(&function, geometry)?;
        Ok(PreparedLaunch {
            context: Arc::clone(&self.context),
            _code: module.clone(),
            function: function.function,
            shape,
            offsets: offsets.into(),
            bytes,
        })
    }
}

/// Puts a kernel into a stream of the current context.
///
/// # Safety
/// The function is of a module that is loaded, and the stream is there. Each of `params` points to as many bytes as the
/// kernel declares for it; they are copied during the call.
pub(super) unsafe fn launch(
    function: sys::CUfunction,
    shape: &Shape,
    stream: sys::CUstream,
    params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let Shape {
        grid,
        block,
        smem_bytes,
        pdl,
        cooperative,
    } = *shape;
    let params = params.as_mut_ptr();
    if !pdl && !cooperative {
        // SAFETY: of the caller.
        let launched = unsafe {
            sys::cuLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                smem_bytes,
                stream,
                params,
                ptr::null_mut(),
            )
        };
        return launched.result();
    }
    let overlap = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: 1,
        },
    };
    let together = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { cooperative: 1 },
    };
    // One or the other: a kernel is not both.
    let mut attribute = if pdl { overlap } else { together };
    let config = sys::CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: smem_bytes,
        hStream: stream,
        attrs: &mut attribute,
        numAttrs: 1,
    };
    // SAFETY: of the caller; the attribute is copied during the call. `cuLaunchKernelEx` came with CUDA 11.8, as did the
    // first target that has such launches.
    unsafe { sys::cuLaunchKernelEx(&config, function, params, ptr::null_mut()).result() }
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
        let _current = self.context.enter()?;
        let stream = ptr::with_exposed_provenance_mut(stream.0);
        // SAFETY: function and context live as long as this; the parameters have the sizes that the kernel declares.
        let launched = unsafe { launch(self.function, &self.shape, stream, pointers) };
        check("cuLaunchKernel", launched)
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
