//! Launches on GPUs, in the caller's stream.
//!
//! A GPU is opened once in a process, and a kernel is loaded on it once. A call whose element types, shapes and strides
//! were seen before is not checked again ([`CheckedLaunches`]).

use crate::arguments;
use crate::arrays::Arrays;
use crate::compilation::Compilation;
use crate::errors;
use cutec::runtime::DeviceError;
use cutec::runtime::cuda::{CheckedLaunch, CheckedLaunches, CudaDevice, Stream, undisturbed};
use cutec::runtime::device::Device;
use cutec::runtime::launch::Loaded;
use cutec_dialects::target::Target;
use pyo3::prelude::*;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A GPU of this process.
#[derive(Debug)]
pub struct Gpu {
    device: Mutex<CudaDevice>,
    /// What to compile for.
    pub target: Target,
    /// The process that opened it: the driver does not work in one that was forked from it.
    process: u32,
}

/// The GPUs that were opened, by number.
static GPUS: Mutex<Vec<Option<Arc<Gpu>>>> = Mutex::new(Vec::new());

/// A kernel on a GPU.
#[derive(Debug)]
pub struct OnGpu {
    gpu: Arc<Gpu>,
    /// What was loaded.
    pub compilation: Arc<Compilation>,
    loaded: Loaded,
    launches: CheckedLaunches,
}

/// Room for the parameters of a launch.
#[derive(Default)]
pub struct Room {
    params: Vec<u8>,
}

impl Gpu {
    /// The GPU of that number.
    ///
    /// # Errors
    /// Where there is none, or it was opened before the process was forked.
    pub fn open(py: Python<'_>, index: usize) -> PyResult<Arc<Gpu>> {
        let gpus = lock(&GPUS);
        if let Some(Some(gpu)) = gpus.get(index) {
            return match gpu.process == process::id() {
                true => Ok(Arc::clone(gpu)),
                false => Err(errors::no_device(
                    py,
                    "CUDA was in use before this process was forked, and works in no fork: start it with \
                     multiprocessing's method \"spawn\"",
                )),
            };
        }
        drop(gpus);
        let opened = py.detach(|| undisturbed(|| CudaDevice::open(index)));
        let device = opened.map_err(|error| errors::no_device(py, error))?;
        let (major, minor) = device.capability();
        let target = Target::of_capability(major.unsigned_abs(), minor.unsigned_abs());
        let target = target.ok_or_else(|| {
            let text = format!(
                "{}: compute capability {major}.{minor} is older than all targets",
                device.name()
            );
            errors::no_device(py, text)
        })?;
        let gpu = Arc::new(Gpu {
            device: Mutex::new(device),
            target,
            process: process::id(),
        });
        let mut gpus = lock(&GPUS);
        if gpus.len() <= index {
            gpus.resize(index + 1, None);
        }
        Ok(Arc::clone(gpus[index].get_or_insert(gpu)))
    }

    /// The target of the first GPU, if there is one that works.
    pub fn native(py: Python<'_>) -> Option<Target> {
        Gpu::open(py, 0).ok().map(|gpu| gpu.target)
    }
}

impl OnGpu {
    /// Loads a kernel.
    ///
    /// # Errors
    /// Where the driver does not take it.
    pub fn load(
        py: Python<'_>,
        gpu: Arc<Gpu>,
        compilation: Arc<Compilation>,
    ) -> PyResult<Arc<OnGpu>> {
        let loaded = py.detach(|| {
            let device = &mut *lock(&gpu.device);
            undisturbed(|| Loaded::load(device, &compilation.built.artifact))
        });
        let loaded = loaded.map_err(|error| compilation.device_error(py, &error))?;
        Ok(Arc::new(OnGpu {
            gpu,
            compilation,
            loaded,
            launches: CheckedLaunches::default(),
        }))
    }

    /// Checks a signature and prepares its launches, without one.
    ///
    /// # Errors
    /// Where the arguments do not fit the kernel.
    pub fn check(&self, py: Python<'_>, arrays: &Arrays, scalars: &[[u8; 8]]) -> PyResult<()> {
        self.checked(py, arrays, scalars).map(|_| ())
    }

    /// Puts the kernel into a stream.
    ///
    /// # Errors
    /// Where the arguments do not fit the kernel, or the driver refuses the launch.
    #[inline]
    pub fn launch(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
        stream: usize,
        room: &mut Room,
    ) -> PyResult<()> {
        let launch = match self.launches.get(&arrays.key) {
            Some(known) if self.compilation.aligned(arrays) => known,
            _ => self.checked(py, arrays, scalars)?,
        };
        let failed = |error: DeviceError| self.compilation.device_error(py, &error);
        let slot = |arg: usize| self.compilation.slot(arg);
        let launched = launch.launch(
            &self.gpu.device,
            Stream(stream),
            |arg| arrays.list[slot(arg)].address,
            |arg| scalars[slot(arg)],
            &mut room.params,
        );
        launched.map_err(failed)?;
        if arrays.wait {
            let done = py.detach(|| launch.synchronize(Stream(stream)));
            done.map_err(failed)?;
        }
        Ok(())
    }

    /// Checks the arguments, and keeps the launch for others of the signature.
    fn checked(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
    ) -> PyResult<Arc<CheckedLaunch>> {
        let compilation = &self.compilation;
        let abi = &compilation.abi;
        let align = |array: usize| 1 << arrays.list[array].address.trailing_zeros().min(8);
        let args = arguments::described(py, abi, arrays, scalars, align)?;
        let bound = abi.bind(&args);
        let bound = bound.map_err(|error| errors::bind(py, &abi.name, &error))?;
        let address = |arg: usize| arrays.list[compilation.slot(arg)].address;
        let module = self.loaded.module();
        let launch = CheckedLaunch::new(&self.gpu.device, module, abi, &bound, address);
        let launch = launch.map_err(|error| compilation.device_error(py, &error))?;
        Ok(self.launches.insert(&arrays.key, launch))
    }
}

/// A panic of another thread leaves none of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
