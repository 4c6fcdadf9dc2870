//! NVIDIA GPUs through the CUDA driver, which is looked for when a device is opened.
//!
//! - this file: the device;
//! - [`context`]: what the device shares with its buffers, modules and graphs;
//! - `code`: loading code, tensor maps, and which GPU runs what;
//! - `prepared`: launches in streams of other libraries; `checked`: the same without a second check of what was checked before;
//! - `measure`: fills, copies, times and graphs, for benchmarks.
//!
//! All `unsafe` of the device is in this folder. What makes it sound: handles come from the driver and live as
//! long as the context, which devices, buffers, modules and graphs share ([`context`]), and which is made
//! current before every call; copies are synchronous, so that no host memory is used after it is gone.

mod checked;
mod code;
mod context;
mod measure;
mod prepared;

pub use checked::{CheckedLaunch, CheckedLaunches};
pub use measure::Graph;
pub use prepared::{PreparedLaunch, Stream, undisturbed};

use std::any::Any;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{DriverError, result};

use crate::abi::KernelAbi;
use crate::abi::tensor_map::TensorMap;
use crate::artifact::Code;
use crate::device::{
    Buffer, Device, DeviceError, DeviceModule, DeviceSpec, Geometry, Gpu, LaunchReport, Owner,
    ParamValue,
};
use crate::resource::Free;

use code::{Function, load_image, runs_on};
use context::{Context, Module};
use prepared::Shape;

/// A GPU.
#[derive(Debug)]
pub struct CudaDevice {
    index: usize,
    owner: Owner,
    context: Arc<Context>,
    capability: (i32, i32),
    /// Most shared memory of a block, static and dynamic, in bytes.
    shared_limit: u64,
    multiprocessors: u32,
    driver_version: i32,
    /// Parameters of the launch at hand.
    params: Vec<u8>,
    /// What tensor maps of no elements access, those that a kernel may write through behind the others; once there are any.
    nowhere: Option<Buffer>,
    /// Tensor maps as they were encoded for an address: a launch on the same tensors takes them again.
    maps: HashMap<(TensorMap, u64), ParamValue>,
}

/// Dynamic and static shared memory that a kernel may have without asking (CUDA C++ Programming
/// Guide, "Shared Memory" of each compute capability).
const SHARED_WITHOUT_ASKING: u64 = 48 << 10;

/// Blocks of a cluster that a kernel may have without asking (CUDA C++ Programming Guide, thread block clusters).
const PORTABLE_CLUSTER: u32 = 8;
/// Most bytes of parameters that a kernel could have before CUDA 12.1.
const OLD_PARAM_BYTES: usize = 4096;
/// `cuFuncGetParamInfo` came with this version of the driver.
const PARAM_INFO_DRIVER: i32 = 12040;

/// Tensor maps that are kept.
const MOST_MAPS: usize = 1024;

impl CudaDevice {
    /// Opens the GPU with this number.
    ///
    /// # Errors
    /// [`DeviceError::NoCuda`] where there is no driver or no GPU, [`DeviceError::NoSuchGpu`].
    pub fn open(index: usize) -> Result<CudaDevice, DeviceError> {
        let device = find(index)?;
        let name = check("cuDeviceGetName", result::device::get_name(device))?;
        use CUdevice_attribute::*;
        let shared = attribute(
            device,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?;
        let multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let mut driver_version = 0;
        // SAFETY: the pointer is to a local.
        check("cuDriverGetVersion", unsafe {
            sys::cuDriverGetVersion(&mut driver_version).result()
        })?;
        Ok(CudaDevice {
            index,
            owner: Owner::new(&format!("{name} (cuda:{index})")),
            context: Arc::new(Context::open(device)?),
            capability: capability_of(device)?,
            shared_limit: u64::try_from(shared).unwrap_or(0),
            multiprocessors: u32::try_from(multiprocessors).unwrap_or(1),
            driver_version,
            params: Vec::new(),
            nowhere: None,
            maps: HashMap::new(),
        })
    }

    /// What a tensor map of no elements accesses, as the driver makes none without: zeros, or where what is written may go.
    fn nowhere(&mut self, mutable: bool) -> Result<u64, DeviceError> {
        const BYTES: u64 = 256;
        let buffer = match &self.nowhere {
            Some(buffer) => buffer.clone(),
            None => {
                let buffer = self.alloc(2 * BYTES, "tensors without elements")?;
                self.upload(&buffer, &[0; 2 * BYTES as usize])?;
                self.nowhere.insert(buffer).clone()
            }
        };
        Ok(buffer.address() + if mutable { BYTES } else { 0 })
    }

    /// Compute capability of the GPU with this number, which is not opened for it.
    ///
    /// # Errors
    /// As [`CudaDevice::open`].
    pub fn capability_of_gpu(index: usize) -> Result<(i32, i32), DeviceError> {
        capability_of(find(index)?)
    }

    /// Compute capability, such as `(9, 0)`.
    pub fn capability(&self) -> (i32, i32) {
        self.capability
    }

    /// Version of the driver, such as 13000.
    pub fn driver_version(&self) -> i32 {
        self.driver_version
    }

    /// Size of the L2 cache, in bytes.
    pub fn l2_bytes(&self) -> Result<u64, DeviceError> {
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        // SAFETY: `device` comes from the driver.
        let bytes = unsafe { result::device::get_attribute(self.context.device, attribute) };
        Ok(u64::try_from(check("cuDeviceGetAttribute", bytes)?).unwrap_or(0))
    }

    /// The stream in which everything is done, for libraries such as cuBLAS.
    pub fn stream(&self) -> sys::CUstream {
        self.context.stream
    }

    /// Waits for everything that this process does on the GPU, in whichever stream: what was launched by a [`PreparedLaunch`] is in
    /// streams of the host's. The current context of the thread is what it was, afterwards.
    ///
    /// # Errors
    /// Where a kernel failed.
    pub fn wait_for_all_streams(&self) -> Result<(), DeviceError> {
        let _current = self.context.enter()?;
        check("cuCtxSynchronize", result::ctx::synchronize())
    }

    /// Makes its context the current one of this thread, for libraries such as cuBLAS.
    pub fn make_current(&self) -> Result<(), DeviceError> {
        self.context.make_current()
    }

    /// Copies parameters to where a launch reads them, and gives a pointer to each.
    ///
    /// They are passed one by one: a kernel that is passed its parameters in one block faults at
    /// its first use of a tensor map (seen with driver 580).
    fn pack(
        &mut self,
        entry: &str,
        function: &Function,
        params: &[ParamValue],
    ) -> Result<Vec<*mut c_void>, DeviceError> {
        let sizes = params.iter().map(|param| param.as_bytes().len());
        if let Some(expected) = &function.param_sizes
            && !sizes.clone().eq(expected.iter().copied())
        {
            let (entry, expected) = (entry.to_string(), expected.clone());
            return Err(DeviceError::Parameters {
                entry,
                expected,
                found: sizes.collect(),
            });
        }
        // Room behind the last for as much as a kernel of an old driver can declare.
        self.params.clear();
        self.params
            .resize(sizes.sum::<usize>() + OLD_PARAM_BYTES, 0);
        let mut rest = self.params.as_mut_slice();
        let mut pointers = Vec::with_capacity(params.len());
        for param in params {
            let (place, behind) = rest.split_at_mut(param.as_bytes().len());
            place.copy_from_slice(param.as_bytes());
            pointers.push(place.as_mut_ptr().cast());
            rest = behind;
        }
        if function.param_sizes.is_none() {
            // How many the kernel declares is not known: more point to zeros.
            pointers.resize(pointers.len() + OLD_PARAM_BYTES, rest.as_mut_ptr().cast());
        }
        Ok(pointers)
    }

    /// Refuses a buffer of another device, and a transfer that it has no room for.
    fn check_buffer(
        &self,
        what: &'static str,
        buffer: &Buffer,
        found: u64,
    ) -> Result<(), DeviceError> {
        self.owner.check_buffer(buffer)?;
        let expected = buffer.bytes();
        if found <= expected {
            return Ok(());
        }
        Err(DeviceError::Size {
            what,
            expected,
            found,
        })
    }

    /// Finds a function and allows it the shared memory that it needs.
    fn function(&self, module: &Module, geometry: &Geometry) -> Result<Function, DeviceError> {
        let device = self.name().to_owned();
        let with_params = self.driver_version >= PARAM_INFO_DRIVER;
        let mut function = module.function(&geometry.entry, with_params)?;
        let needed = function.static_shared + u64::from(geometry.smem_bytes);
        if needed > self.shared_limit {
            let (entry, limit) = (geometry.entry.clone(), self.shared_limit);
            return Err(DeviceError::SharedMemory {
                entry,
                needed,
                limit,
                device,
            });
        }
        if needed > SHARED_WITHOUT_ASKING && geometry.smem_bytes > function.dynamic_allowed {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // Below the limit, which was an `i32`.
            let bytes = geometry.smem_bytes as i32;
            // SAFETY: the function belongs to a module that is loaded.
            check("cuFuncSetAttribute", unsafe {
                result::function::set_function_attribute(function.function, attribute, bytes)
            })?;
            function.dynamic_allowed = geometry.smem_bytes;
            module.remember(&geometry.entry, &function);
        }
        let blocks: u32 = geometry.cluster.iter().product();
        if blocks > PORTABLE_CLUSTER && !function.large_clusters {
            let attribute =
                CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the function belongs to a module that is loaded.
            check("cuFuncSetAttribute", unsafe {
                result::function::set_function_attribute(function.function, attribute, 1)
            })?;
            if function.resident_clusters(geometry)? == 0 {
                let entry = geometry.entry.clone();
                return Err(DeviceError::Cluster {
                    entry,
                    blocks,
                    device,
                });
            }
            function.large_clusters = true;
            module.remember(&geometry.entry, &function);
        }
        Ok(function)
    }
}

impl CudaDevice {
    /// What a launch has to say to the driver; of a kernel whose blocks stay, as many as there is room for.
    fn shape(&self, function: &Function, geometry: &Geometry) -> Result<Shape, DeviceError> {
        let block = geometry.block;
        let resident = || function.resident_blocks(self.multiprocessors, geometry);
        let grid = geometry.blocks(resident)?;
        geometry.check_together(grid, resident)?;
        Ok(Shape {
            grid,
            block,
            smem_bytes: geometry.smem_bytes,
            pdl: geometry.pdl,
            cooperative: geometry.cooperative,
        })
    }
}

impl Device for CudaDevice {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn spec(&self) -> DeviceSpec {
        DeviceSpec::Cuda(self.index)
    }

    fn gpu(&self) -> Option<Gpu> {
        let name = self.name();
        let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
        Some(Gpu {
            name: name.to_owned(),
            driver: self.driver_version,
            capability: self.capability,
            multiprocessors: self.multiprocessors,
            l2_bytes: self.l2_bytes().unwrap_or(0),
        })
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn check_target(&self, kernel: &KernelAbi, code: &Code) -> Result<(), DeviceError> {
        if runs_on(
            &kernel.target,
            self.capability,
            matches!(code, Code::Cubin(_)),
        ) {
            return Ok(());
        }
        Err(DeviceError::Target {
            kernel: kernel.name.clone(),
            target: kernel.target.clone(),
            device: self.name().to_owned(),
            found: format!("sm_{}{}", self.capability.0, self.capability.1),
        })
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<Buffer, DeviceError> {
        self.make_current()?;
        let out_of_memory = || DeviceError::OutOfMemory {
            label: label.to_string(),
            bytes,
        };
        // The driver allocates no empty memory; an empty tensor gets an address all the same.
        let size = usize::try_from(bytes.max(1)).map_err(|_| out_of_memory())?;
        let memory = Arc::clone(&self.context) as Arc<dyn Free>;
        // SAFETY: a plain allocation, which the buffer frees.
        match unsafe { result::malloc_sync(size) } {
            Ok(address) => Ok(Buffer::new(&self.owner, memory, label, address, bytes)),
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Err(out_of_memory()),
            Err(error) => Err(failed("cuMemAlloc", &error)),
        }
    }

    fn upload(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check_buffer("upload", buffer, bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.synchronize()?;
        // SAFETY: the buffer has room for `bytes`; the call returns when they are copied.
        check("cuMemcpyHtoD", unsafe {
            result::memcpy_htod_sync(buffer.address(), bytes)
        })
    }

    fn poison(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.upload(buffer, bytes)
    }

    fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.check_buffer("download", buffer, bytes.len() as u64)?;
        self.synchronize()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer holds as many bytes; the call returns when they are copied.
        check("cuMemcpyDtoH", unsafe {
            result::memcpy_dtoh_sync(bytes, buffer.address())
        })
    }

    fn load(&mut self, code: &Code) -> Result<DeviceModule, DeviceError> {
        self.make_current()?;
        let module = match code {
            Code::Ptx(ptx) => {
                let ptx = CString::new(ptx.as_str()).map_err(|_| DeviceError::Load {
                    name: "CUDA_ERROR_INVALID_PTX".to_string(),
                    log: "a NUL in the text".to_string(),
                })?;
                load_image(ptx.as_bytes_with_nul())?
            }
            Code::Cubin(cubin) => load_image(cubin)?,
        };
        let module = Module::new(Arc::clone(&self.context), module);
        Ok(DeviceModule::new(&self.owner, module))
    }

    fn launch(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<LaunchReport, DeviceError> {
        self.owner.check_module(module)?;
        let Some(module) = module.code::<Module>() else {
            // What this device has loaded is of this type.
            let code = DriverError(sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
            return Err(failed("cuLaunchKernel", &code));
        };
        self.make_current()?;
        let function = self.function(module, geometry)?;
        let shape = self.shape(&function, geometry)?;
        let mut pointers = self.pack(&geometry.entry, &function, params)?;
        // SAFETY: function and stream are alive; parameters have the sizes that the kernel declares, or room behind them.
        // What the kernel does with its addresses is for the ABI check to make sound.
        let launched = unsafe {
            prepared::launch(
                function.function,
                &shape,
                self.context.stream,
                &mut pointers,
            )
        };
        check("cuLaunchKernel", launched)?;
        Ok(LaunchReport::default())
    }

    fn encode_tensor_map(
        &mut self,
        map: &TensorMap,
        address: u64,
    ) -> Result<ParamValue, DeviceError> {
        if self.capability < (9, 0) {
            let device = self.name().to_owned();
            return Err(DeviceError::Unsupported {
                device,
                what: "tensor maps",
            });
        }
        let address = match map.empty {
            true => self.nowhere(map.mutable)?,
            false => address,
        };
        let key = (map.clone(), address);
        if let Some(encoded) = self.maps.get(&key) {
            return Ok(encoded.clone());
        }
        // The driver encodes nothing where no context is current.
        let _current = self.context.enter()?;
        let encoded = code::encode_tensor_map(map, address)?;
        if self.maps.len() == MOST_MAPS {
            self.maps.clear();
        }
        self.maps.insert(key, encoded.clone());
        Ok(encoded)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.context.synchronize()
    }

    fn launch_timed(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<Option<Duration>, DeviceError> {
        self.time(|device| device.launch(module, geometry, params).map(|_| ()))
            .map(Some)
    }

    fn time_launches(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[&[ParamValue]],
    ) -> Result<Option<Duration>, DeviceError> {
        let graph = self.record(|device| {
            let mut all = params.iter();
            all.try_for_each(|params| device.launch(module, geometry, params).map(|_| ()))
        })?;
        self.replay(&graph)?;
        self.time(|device| device.replay(&graph)).map(Some)
    }
}

/// The GPU with this number.
fn find(index: usize) -> Result<sys::CUdevice, DeviceError> {
    // SAFETY: loading libcuda runs its initializers, which is what every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        let reason = "the driver's library libcuda is not on this machine".to_string();
        return Err(DeviceError::NoCuda { reason });
    }
    let no_cuda = |error: DriverError| DeviceError::NoCuda {
        reason: name_of(&error),
    };
    result::init().map_err(no_cuda)?;
    let count = result::device::get_count().map_err(no_cuda)?;
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return Err(DeviceError::NoCuda {
            reason: "the driver finds no GPU".to_string(),
        });
    }
    if index >= count {
        return Err(DeviceError::NoSuchGpu { index, count });
    }
    check("cuDeviceGet", result::device::get(index as i32))
}

fn attribute(device: sys::CUdevice, attribute: CUdevice_attribute) -> Result<i32, DeviceError> {
    // SAFETY: `device` comes from the driver.
    let value = unsafe { result::device::get_attribute(device, attribute) };
    check("cuDeviceGetAttribute", value)
}

fn capability_of(device: sys::CUdevice) -> Result<(i32, i32), DeviceError> {
    use CUdevice_attribute::*;
    let major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major, minor))
}

fn check<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
    result.map_err(|error| failed(call, &error))
}

fn failed(call: &'static str, error: &DriverError) -> DeviceError {
    let text = error
        .error_string()
        .map(|text| text.to_string_lossy().into_owned());
    DeviceError::Cuda {
        call,
        name: name_of(error),
        text: text.unwrap_or_default(),
    }
}

fn name_of(error: &DriverError) -> String {
    match error.error_name() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => format!("{:?}", error.0),
    }
}

#[cfg(test)]
mod tests {
    /// Without a driver, opening is an error and no panic; with one, it opens or says why not.
    #[test]
    fn a_machine_without_cuda_is_told_so() {
        if let Err(error) = super::CudaDevice::open(1000) {
            assert!(error.to_string().starts_with("no "), "{error}");
        }
    }
}
