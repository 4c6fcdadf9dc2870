//! Kernels on a device.

use crate::argument::{Argument, Read};
use crate::error::{Error, guard, read};
use crate::module::Module;
use crate::options::Options;
use cutec::SourceMap;
use cutec::runtime::abi::{Abi, BindError, KernelAbi, Status, dlpack};
use cutec::runtime::cuda::{CudaDevice, Stream, undisturbed};
use cutec::runtime::host::{HostLaunch, HostTensor, HostValue};
use cutec::runtime::sim::Options as SimOptions;
use cutec::runtime::{Arg, Artifact, RunError, SimDevice, launch};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The simulator, in the place of a GPU's number.
pub const CUTEC_SIMULATOR: i32 = -1;

/// A module on a device.
pub struct Loaded {
    abi: Abi,
    sources: SourceMap,
    place: Place,
}

enum Place {
    Gpu {
        index: i32,
        device: Box<Mutex<CudaDevice>>,
        loaded: launch::Loaded,
    },
    Simulator {
        artifact: Artifact,
        options: Options,
        /// As many as calls were under way at a time.
        idle: Mutex<Vec<(SimDevice, launch::Loaded)>>,
    },
}

/// A panic of another thread leaves none of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loaded {
    fn new(module: &Module, device: i32, options: Options) -> Result<Loaded, Error> {
        let artifact = module.artifact.as_ref().ok_or_else(|| {
            Error::new(
                Status::Option,
                "a device runs PTX or a cubin: another level was compiled, by the option `emit`",
            )
        })?;
        let place = match usize::try_from(device) {
            Ok(index) => undisturbed(|| {
                let mut gpu = CudaDevice::open(index)?;
                let loaded = launch::Loaded::load(&mut gpu, artifact)?;
                let device = Box::new(Mutex::new(gpu));
                Ok(Place::Gpu {
                    index: index as i32,
                    device,
                    loaded,
                })
            })
            .map_err(|error| Error::device(&error))?,
            Err(_) if device == CUTEC_SIMULATOR => Place::Simulator {
                artifact: artifact.clone(),
                options,
                idle: Mutex::default(),
            },
            Err(_) => {
                let text =
                    format!("no device {device}: expected the number of a GPU, or CUTEC_SIMULATOR");
                return Err(Error::new(Status::Device, text));
            }
        };
        Ok(Loaded {
            abi: artifact.abi.clone(),
            sources: module.sources.clone(),
            place,
        })
    }

    /// # Safety
    /// Tensors are as DLPack says, and their memory is there until the kernel is done.
    unsafe fn launch(&self, kernel: &str, args: &[Argument], stream: usize) -> Result<(), Error> {
        let refused = |error: BindError| Error::new(error.status(), error);
        let Some(abi) = self.abi.kernel(kernel) else {
            let available = self
                .abi
                .kernels
                .iter()
                .map(|kernel| kernel.name.clone())
                .collect();
            return Err(refused(BindError::UnknownKernel {
                kernel: kernel.to_owned(),
                available,
            }));
        };
        if args.len() != abi.args.len() {
            let names = abi.args.iter().map(|arg| arg.name().to_owned()).collect();
            return Err(refused(BindError::Count {
                kernel: kernel.to_owned(),
                names,
                found: args.len(),
            }));
        }
        let read = args.iter().zip(&abi.args).map(|(arg, abi)| {
            // SAFETY: of the caller.
            let read = unsafe { arg.read(abi) }?;
            if let Read::Tensor(_, _, device) = &read {
                self.check_place(abi.name(), *device)?;
            }
            Ok(read)
        });
        let read = read.collect::<Result<Vec<Read>, Error>>()?;
        let ran = match &self.place {
            Place::Gpu { device, loaded, .. } => on_gpu(device, loaded, abi, &read, stream),
            Place::Simulator {
                artifact,
                options,
                idle,
            } => {
                // SAFETY: of the caller.
                unsafe { in_simulator(artifact, options, idle, abi, read) }
            }
        };
        ran.map_err(|error| Error::run(kernel, &error, &self.sources))
    }

    /// Refuses a tensor that is not on the device.
    fn check_place(&self, name: &str, found: dlpack::Device) -> Result<(), Error> {
        let (fits, expected) = match &self.place {
            Place::Gpu { index, .. } => {
                let gpu = matches!(found.kind, dlpack::CUDA | dlpack::CUDA_MANAGED);
                (gpu && found.id == *index, format!("cuda:{index}"))
            }
            Place::Simulator { .. } => (
                matches!(found.kind, dlpack::CPU | dlpack::CUDA_HOST),
                "memory of the host".to_owned(),
            ),
        };
        if fits {
            return Ok(());
        }
        let found = match found.kind {
            dlpack::CPU | dlpack::CUDA_HOST => "memory of the host".to_owned(),
            dlpack::CUDA | dlpack::CUDA_MANAGED => format!("cuda:{}", found.id),
            kind => format!("a device of DLPack's kind {kind}"),
        };
        Err(Error::new(
            Status::Device,
            format!("`{name}`: expected a tensor in {expected}, found one in {found}"),
        ))
    }
}

/// Puts the kernel into a stream.
fn on_gpu(
    device: &Mutex<CudaDevice>,
    loaded: &launch::Loaded,
    abi: &KernelAbi,
    args: &[Read],
    stream: usize,
) -> Result<(), RunError> {
    let bound = |arg: &Read| match arg {
        Read::Tensor(desc, ..) => Arg::Tensor(desc.clone()),
        Read::Scalar(scalar) => Arg::Scalar(*scalar),
    };
    let bound = abi.bind(&args.iter().map(bound).collect::<Vec<_>>())?;
    if bound.is_empty() {
        return Ok(());
    }
    let address = |arg: usize| match args.get(arg)? {
        Read::Tensor(_, address, _) => Some(*address),
        Read::Scalar(_) => None,
    };
    let (prepared, params) = {
        let device = &mut *lock(device);
        let params = launch::params(device, &bound, address)?;
        (
            device.prepare(loaded.module(), &launch::geometry(&bound), &params)?,
            params,
        )
    };
    let mut bytes = vec![0; prepared.bytes()];
    for (offset, param) in prepared.offsets().iter().zip(&params) {
        bytes[*offset..][..param.as_bytes().len()].copy_from_slice(param.as_bytes());
    }
    Ok(prepared.launch(Stream(stream), &bytes)?)
}

/// Runs the kernel to its end.
///
/// # Safety
/// The tensors' memory is there.
unsafe fn in_simulator(
    artifact: &Artifact,
    options: &Options,
    idle: &Mutex<Vec<(SimDevice, launch::Loaded)>>,
    abi: &KernelAbi,
    args: Vec<Read>,
) -> Result<(), RunError> {
    let value = |arg| match arg {
        Read::Tensor(desc, address, _) => HostValue::Tensor(HostTensor {
            desc,
            address,
            // Memory of C's allocation is aligned to 16 bytes; aligned_alloc is asked for more.
            origin: address & !255,
        }),
        Read::Scalar(scalar) => HostValue::Scalar(scalar),
    };
    let values: Vec<HostValue> = args.into_iter().map(value).collect();
    let launch = HostLaunch::new(abi, &values)?;
    let known = lock(idle).pop();
    let (mut device, loaded) = match known {
        Some(known) => known,
        None => {
            let mut device = SimDevice::new();
            let loaded = launch::Loaded::load(&mut device, artifact)?;
            (device, loaded)
        }
    };
    *device.options_mut() = SimOptions {
        races: options.races,
        ..SimOptions::default()
    };
    device.set_schedule(options.schedule);
    // SAFETY: of the caller.
    let ran = unsafe { launch.run(&mut device, &loaded) };
    lock(idle).push((device, loaded));
    ran
}

/// Loads a module onto a GPU by its number, or for `CUTEC_SIMULATOR`. Of `options`, which may be null, those of the simulator count.
///
/// # Safety
/// `module` is a module, `options` and `error` are null or what they are called, and `loaded` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_load(
    module: *const Module,
    device: i32,
    options: *const Options,
    loaded: *mut *mut Loaded,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let module = module.as_ref().ok_or_else(|| Error::null("module"))?;
            let place = loaded.as_mut().ok_or_else(|| Error::null("loaded"))?;
            *place = ptr::null_mut();
            let options = options.as_ref().cloned().unwrap_or_default();
            *place = Box::into_raw(Box::new(Loaded::new(module, device, options)?));
            Ok(())
        })
    }
}

/// Checks the arguments and launches a kernel. On a GPU it is put into `stream`, a `cudaStream_t` or `CUstream` of that GPU (null is
/// the default stream), and the current context of the thread stays what it was; tensors are there, and stay until the kernel is done.
/// The simulator takes tensors in memory of the host, and runs the kernel to its end before this returns; after an error they are
/// as they were.
///
/// # Safety
/// `loaded` comes from `cutec_load`, `args` are `count` arguments whose tensors are as DLPack says, and `error` is null or may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_launch(
    loaded: *const Loaded,
    kernel: *const c_char,
    args: *const Argument,
    count: usize,
    stream: *mut c_void,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let loaded = loaded.as_ref().ok_or_else(|| Error::null("loaded"))?;
            let args = match (args.is_null(), count) {
                (_, 0) => &[],
                (true, _) => return Err(Error::null("args")),
                (false, _) => std::slice::from_raw_parts(args, count),
            };
            loaded.launch(read(kernel, "kernel")?, args, stream as usize)
        })
    }
}

/// Unloads a module; what was launched is waited for. The current context of the thread stays what it was.
///
/// # Safety
/// It comes from `cutec_load`, and nobody uses it any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_loaded_free(loaded: *mut Loaded) {
    if loaded.is_null() {
        return;
    }
    // SAFETY: of the caller.
    let loaded = unsafe { Box::from_raw(loaded) };
    match loaded.place {
        Place::Gpu { .. } => undisturbed(|| drop(loaded)),
        Place::Simulator { .. } => drop(loaded),
    }
}
