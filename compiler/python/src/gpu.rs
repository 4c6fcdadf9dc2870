//! Launches on GPUs, in the caller's stream.
//!
//! A GPU is opened once in a process, and a kernel is loaded on it once. A call whose element types, shapes and strides
//! were seen before is not checked again: its [`Plan`] has the parameters ready but for addresses and numbers.

use crate::arguments;
use crate::arrays::Arrays;
use crate::compilation::Compilation;
use crate::errors;
use cutec::runtime::abi::tensor_map::TensorMap;
use cutec::runtime::cuda::{CudaDevice, PreparedLaunch, Stream, undisturbed};
use cutec::runtime::device::Device;
use cutec::runtime::launch::{self, Loaded};
use cutec::runtime::{DeviceError, abi::LaunchParam};
use cutec_dialects::target::Target;
use pyo3::prelude::*;
use std::collections::HashMap;
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
    plans: Mutex<Plans>,
}

#[derive(Debug, Default)]
struct Plans {
    last: Option<(Box<[i64]>, Arc<Plan>)>,
    all: HashMap<Box<[i64]>, Arc<Plan>>,
}

/// Signatures that are kept.
const MOST_PLANS: usize = 4096;

/// A launch for one signature.
#[derive(Debug)]
struct Plan {
    /// `None` for an empty grid.
    prepared: Option<PreparedLaunch>,
    /// The parameters, with the addresses of the first call.
    template: Vec<u8>,
    /// Where the address of an array goes, by its number.
    pointers: Vec<(usize, usize)>,
    /// Where a number goes, by its own number, and how many bytes of it.
    scalars: Vec<(usize, usize, usize)>,
    /// Where a tensor map goes, and the array that it is of.
    maps: Vec<(usize, TensorMap, usize)>,
    /// The maps as they were last encoded.
    encoded: Mutex<Vec<(u64, [u8; 128])>>,
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
            plans: Mutex::default(),
        }))
    }

    /// Checks a signature and prepares its launches, without one.
    ///
    /// # Errors
    /// Where the arguments do not fit the kernel.
    pub fn check(&self, py: Python<'_>, arrays: &Arrays, scalars: &[[u8; 8]]) -> PyResult<()> {
        self.plan(py, arrays, scalars).map(|_| ())
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
        let plan = match self.known(&arrays.key) {
            Some(plan) if self.compilation.aligned(arrays) => plan,
            _ => self.plan(py, arrays, scalars)?,
        };
        let Some(prepared) = &plan.prepared else {
            return Ok(());
        };
        let params = &mut room.params;
        params.clear();
        params.extend_from_slice(&plan.template);
        for &(offset, array) in &plan.pointers {
            params[offset..][..8].copy_from_slice(&arrays.list[array].address.to_le_bytes());
        }
        for &(offset, scalar, size) in &plan.scalars {
            params[offset..][..size].copy_from_slice(&scalars[scalar][..size]);
        }
        let failed = |error: DeviceError| self.compilation.device_error(py, &error);
        if !plan.maps.is_empty() {
            self.encode(&plan, arrays, params).map_err(failed)?;
        }
        prepared.launch(Stream(stream), params).map_err(failed)?;
        if arrays.wait {
            let done = py.detach(|| prepared.synchronize(Stream(stream)));
            done.map_err(failed)?;
        }
        Ok(())
    }

    #[inline]
    fn known(&self, key: &[i64]) -> Option<Arc<Plan>> {
        let mut plans = lock(&self.plans);
        match &plans.last {
            Some((last, plan)) if **last == *key => Some(Arc::clone(plan)),
            _ => {
                let plan = Arc::clone(plans.all.get(key)?);
                plans.last = Some((key.into(), Arc::clone(&plan)));
                Some(plan)
            }
        }
    }

    fn plan(&self, py: Python<'_>, arrays: &Arrays, scalars: &[[u8; 8]]) -> PyResult<Arc<Plan>> {
        let abi = &self.compilation.abi;
        let align = |array: usize| 1 << arrays.list[array].address.trailing_zeros().min(8);
        let args = arguments::described(py, abi, arrays, scalars, align)?;
        let bound = abi.bind(&args);
        let bound = bound.map_err(|error| errors::bind(py, &abi.name, &error))?;
        let failed = |error: DeviceError| self.compilation.device_error(py, &error);
        let plan = if bound.is_empty() {
            Plan {
                prepared: None,
                template: Vec::new(),
                pointers: Vec::new(),
                scalars: Vec::new(),
                maps: Vec::new(),
                encoded: Mutex::default(),
            }
        } else {
            let compilation = &self.compilation;
            let address = |arg: usize| Some(arrays.list[compilation.slot(arg)].address);
            let device = &mut *lock(&self.gpu.device);
            let params = launch::params(device, &bound, address).map_err(failed)?;
            let geometry = launch::geometry(&bound);
            let prepared = device.prepare(self.loaded.module(), &geometry, &params);
            let prepared = prepared.map_err(failed)?;
            let mut plan = Plan {
                template: vec![0; prepared.bytes()],
                pointers: Vec::new(),
                scalars: Vec::new(),
                maps: Vec::new(),
                encoded: Mutex::default(),
                prepared: None,
            };
            let places = prepared.offsets().iter().zip(&params);
            let abis = abi.params.iter().zip(&bound.params);
            for ((&offset, value), (abi, param)) in places.zip(abis) {
                plan.template[offset..][..value.as_bytes().len()].copy_from_slice(value.as_bytes());
                match (param, abi) {
                    (LaunchParam::Pointer(arg), _) => {
                        plan.pointers.push((offset, compilation.slot(*arg)));
                    }
                    (LaunchParam::TensorMap(index), _) => {
                        let map = bound.tensor_maps[*index].clone();
                        let array = compilation.slot(map.arg);
                        plan.maps.push((offset, map, array));
                    }
                    (LaunchParam::Scalar(_), cutec::runtime::abi::ParamAbi::Scalar { arg }) => {
                        let size = value.as_bytes().len();
                        plan.scalars.push((offset, compilation.slot(*arg), size));
                    }
                    // They follow from the signature.
                    (LaunchParam::I32(_) | LaunchParam::I64(_) | LaunchParam::Scalar(_), _) => {}
                }
            }
            plan.encoded = Mutex::new(vec![(u64::MAX, [0; 128]); plan.maps.len()]);
            plan.prepared = Some(prepared);
            plan
        };
        let plan = Arc::new(plan);
        let mut plans = lock(&self.plans);
        if plans.all.len() == MOST_PLANS {
            plans.all.clear();
        }
        let key: Box<[i64]> = arrays.key.as_slice().into();
        plans.all.insert(key.clone(), Arc::clone(&plan));
        plans.last = Some((key, Arc::clone(&plan)));
        Ok(plan)
    }

    /// Fills in the tensor maps; one of memory that the last launch was on is taken again.
    fn encode(&self, plan: &Plan, arrays: &Arrays, params: &mut [u8]) -> Result<(), DeviceError> {
        let mut encoded = lock(&plan.encoded);
        for ((offset, map, array), (known, bytes)) in plan.maps.iter().zip(encoded.iter_mut()) {
            let address = arrays.list[*array].address;
            if *known != address {
                let value = lock(&self.gpu.device).encode_tensor_map(map, address)?;
                bytes.copy_from_slice(value.as_bytes());
                *known = address;
            }
            params[*offset..][..128].copy_from_slice(bytes);
        }
        Ok(())
    }
}

/// A panic of another thread leaves none of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
