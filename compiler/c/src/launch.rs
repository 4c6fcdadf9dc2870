//! Kernels on a device.

use crate::argument::{Argument, Read};
use crate::error::{Error, guard, read};
use crate::module::Module;
use crate::object::{give, place, take};
use crate::options::Options;
use crate::place::{InSimulator, OnGpu, Refused, Way, name};
use crate::planned::Choice;
use cutec::runtime::abi::{BindError, Status, dlpack};
use cutec::runtime::cuda::undisturbed;
use cutec::{Calls, SourceMap};
use std::ffi::{c_char, c_void};

/// The simulator, in the place of a GPU's number.
pub const CUTEC_SIMULATOR: i32 = -1;

/// A module on a device.
pub struct Loaded {
    kernels: Vec<Kernel>,
    sources: SourceMap,
    calls: Calls,
    place: Place,
}

enum Place {
    Gpu(Box<OnGpu>),
    Simulator(Box<InSimulator>),
}

/// A kernel of the module.
struct Kernel {
    defaults: Way,
    /// What a plan chooses beside the defaults, and how.
    planned: Option<(Choice, Vec<Way>)>,
}

impl Loaded {
    fn new(module: &Module, device: i32, options: Options) -> Result<Loaded, Error> {
        let artifact = module.artifact.as_ref().ok_or_else(|| {
            Error::new(
                Status::Option,
                "a device runs PTX or a cubin: another level was compiled, by the option `emit`",
            )
        })?;
        let mut images = vec![artifact];
        let kernels = artifact.abi.kernels.iter();
        let kernels = kernels.map(|kernel| {
            let mut planned = module.planned.iter();
            let planned = planned.find(|planned| planned.kernel == kernel.name);
            let planned = planned.map(|planned| {
                let ways = planned.artifacts.iter().filter_map(|artifact| {
                    images.push(artifact);
                    let abi = artifact.kernel(&kernel.name)?.clone();
                    Some(Way::new(abi, images.len() - 1))
                });
                (planned.choice.clone(), ways.collect())
            });
            Kernel {
                defaults: Way::new(kernel.clone(), 0),
                planned,
            }
        });
        let kernels = kernels.collect();
        let place = match usize::try_from(device) {
            Ok(index) => {
                let loaded = undisturbed(|| OnGpu::load(index, &images));
                Place::Gpu(Box::new(loaded.map_err(|error| Error::device(&error))?))
            }
            Err(_) if device == CUTEC_SIMULATOR => {
                Place::Simulator(Box::new(InSimulator::new(&images, options)))
            }
            Err(_) => {
                let text =
                    format!("no device {device}: expected the number of a GPU, or CUTEC_SIMULATOR");
                return Err(Error::new(Status::Device, text));
            }
        };
        Ok(Loaded {
            kernels,
            sources: module.sources.clone(),
            calls: module.calls.clone(),
            place,
        })
    }

    /// # Safety
    /// Tensors are as DLPack says, and their memory is there until the kernel is done.
    unsafe fn launch(&self, kernel: &str, args: &[Argument], stream: usize) -> Result<(), Error> {
        let refused = |error: BindError| Error::new(error.status(), error);
        let mut kernels = self.kernels.iter();
        let Some(found) = kernels.find(|known| known.defaults.abi.name == kernel) else {
            let names = self.kernels.iter().map(|known| &known.defaults.abi.name);
            return Err(refused(BindError::UnknownKernel {
                kernel: kernel.to_owned(),
                available: names.cloned().collect(),
            }));
        };
        let abi = &found.defaults.abi;
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
            if let Read::Tensor(tensor) = &read {
                self.check_place(abi.name(), tensor.device)?;
            }
            Ok(read)
        });
        let read = read.collect::<Result<Vec<Read<'_>>, Error>>()?;
        if let Some((choice, ways)) = &found.planned
            && let Some(way) = choice.configuration(&read).checked_sub(1)
            && let Some(way) = ways.get(way)
        {
            // SAFETY: of the caller.
            match unsafe { self.launch_in(way, &read, stream) } {
                // What a configuration refuses the defaults may take.
                Err(error) if is_refused(error.status()) => {}
                done => return done,
            }
        }
        // SAFETY: of the caller.
        unsafe { self.launch_in(&found.defaults, &read, stream) }
    }

    /// # Safety
    /// As [`Loaded::launch`].
    unsafe fn launch_in(&self, way: &Way, args: &[Read<'_>], stream: usize) -> Result<(), Error> {
        let done = match &self.place {
            Place::Gpu(gpu) => gpu.launch(way, args, stream),
            // SAFETY: of the caller.
            Place::Simulator(simulator) => unsafe { simulator.launch(way, args) },
        };
        done.map_err(|refused| match refused {
            Refused::Error(error) => error,
            Refused::Run(error) => Error::run(&way.abi.name, &error, &self.sources, &self.calls),
        })
    }

    /// Refuses a tensor that is not on the device.
    fn check_place(&self, arg: &str, found: dlpack::Device) -> Result<(), Error> {
        let expected = match &self.place {
            Place::Gpu(gpu) => dlpack::Device {
                kind: dlpack::CUDA,
                id: gpu.index,
            },
            Place::Simulator(_) => dlpack::Device {
                kind: dlpack::CPU,
                id: 0,
            },
        };
        let fits = match found.kind {
            dlpack::CUDA | dlpack::CUDA_MANAGED => {
                expected.kind == dlpack::CUDA && found.id == expected.id
            }
            dlpack::CPU | dlpack::CUDA_HOST => expected.kind == dlpack::CPU,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let (expected, found) = (name(expected), name(found));
        let text = format!("`{arg}`: expected a tensor in {expected}, found one in {found}");
        Err(Error::new(Status::Device, text))
    }
}

/// Whether a launch was refused before anything ran: by its arguments, or by what a GPU has room for.
fn is_refused(status: Status) -> bool {
    let room = [Status::SharedMemory, Status::Unsupported];
    status.code() < Status::NoCuda.code() || room.contains(&status)
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
            let place = place(loaded).ok_or_else(|| Error::null("loaded"))?;
            let options = options.as_ref().cloned().unwrap_or_default();
            *place = give(Loaded::new(module, device, options)?);
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
    // SAFETY: of the caller.
    let Some(loaded) = (unsafe { take(loaded) }) else {
        return;
    };
    let Loaded { kernels, place, .. } = *loaded;
    match place {
        Place::Gpu(gpu) => undisturbed(|| {
            gpu.wait();
            drop((kernels, gpu));
        }),
        Place::Simulator(_) => {}
    }
}
