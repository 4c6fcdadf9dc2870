//! Where kernels run: a GPU, on which what was checked before is launched without another check, or the simulator.

use crate::argument::{Read, describe};
use crate::error::Error;
use crate::options::Options;
use cutec::runtime::abi::{Arg, ArgAbi, KernelAbi, Launch, SymbolSource, dlpack};
use cutec::runtime::cuda::{CheckedLaunch, CheckedLaunches, CudaDevice, Stream};
use cutec::runtime::host::{HostLaunch, HostTensor, HostValue};
use cutec::runtime::sim::Options as SimOptions;
use cutec::runtime::{Artifact, DeviceError, RunError, SimDevice, launch};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A kernel in one configuration.
pub struct Way {
    /// What a launch must know.
    pub abi: KernelAbi,
    /// Which of the images it is in.
    image: usize,
    /// Of each argument what its address must be a multiple of.
    alignments: Vec<u64>,
    /// The numbers that decide how it is launched.
    deciding: Vec<usize>,
    /// On a GPU, what was checked before.
    launches: CheckedLaunches,
}

impl Way {
    /// A kernel of an image.
    pub fn new(abi: KernelAbi, image: usize) -> Way {
        let alignment = |(index, arg): (usize, &ArgAbi)| match arg {
            ArgAbi::Scalar(_) => 1,
            // The driver makes tensor maps of no other memory (CUDA Driver API, cuTensorMapEncodeTiled).
            ArgAbi::Tensor(tensor) if abi.tensor_maps.iter().any(|map| map.arg == index) => {
                tensor.align.max(16)
            }
            ArgAbi::Tensor(tensor) => tensor.align.max(1),
        };
        let deciding = |index: &usize| {
            let mut symbols = abi.symbols.iter();
            symbols.any(|symbol| symbol.from == SymbolSource::Scalar { arg: *index })
        };
        Way {
            alignments: abi.args.iter().enumerate().map(alignment).collect(),
            deciding: (0..abi.args.len()).filter(deciding).collect(),
            launches: CheckedLaunches::default(),
            image,
            abi,
        }
    }

    /// Whether all addresses are as the kernel takes them; what has no memory is looked at more closely.
    fn is_aligned(&self, args: &[Read<'_>]) -> bool {
        let mut pairs = args.iter().zip(&self.alignments);
        pairs.all(|(arg, alignment)| match arg {
            Read::Tensor(tensor) => {
                let address = tensor.address();
                address != 0 && address.is_multiple_of(*alignment)
            }
            Read::Scalar(_) => true,
        })
    }

    /// Checks arguments.
    fn bind(&self, args: &[Read<'_>]) -> Result<Launch, Refused> {
        let pairs = args.iter().zip(&self.abi.args);
        let bound = pairs.map(|(arg, abi)| match (arg, abi) {
            (Read::Tensor(tensor), ArgAbi::Tensor(abi)) => Ok(Arg::Tensor(describe(tensor, abi)?)),
            (Read::Tensor(_), ArgAbi::Scalar(scalar)) => Err(Error::null(&scalar.name)),
            (Read::Scalar(scalar), _) => Ok(Arg::Scalar(*scalar)),
        });
        let bound = bound.collect::<Result<Vec<Arg>, Error>>()?;
        Ok(self.abi.bind(&bound).map_err(RunError::from)?)
    }
}

/// Why there was no launch.
pub enum Refused {
    /// As it is said to the caller.
    Error(Error),
    /// As the runtime has it.
    Run(RunError),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Error(error)
    }
}

impl From<RunError> for Refused {
    fn from(error: RunError) -> Refused {
        Refused::Run(error)
    }
}

impl From<DeviceError> for Refused {
    fn from(error: DeviceError) -> Refused {
        Refused::Run(error.into())
    }
}

/// A panic of another thread leaves none of these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Images on a GPU.
pub struct OnGpu {
    /// Its number.
    pub index: i32,
    device: Mutex<CudaDevice>,
    images: Vec<launch::Loaded>,
}

impl OnGpu {
    /// Loads images.
    ///
    /// # Errors
    /// Where there is no such GPU, or it does not take the code.
    pub fn load(index: usize, images: &[&Artifact]) -> Result<OnGpu, DeviceError> {
        let mut device = CudaDevice::open(index)?;
        let images = images.iter();
        let images = images.map(|image| launch::Loaded::load(&mut device, image));
        Ok(OnGpu {
            index: index as i32,
            images: images.collect::<Result<_, _>>()?,
            device: Mutex::new(device),
        })
    }

    /// Puts a kernel into a stream.
    ///
    /// # Errors
    /// Where the arguments do not fit it, or the driver refuses it.
    pub fn launch(&self, way: &Way, args: &[Read<'_>], stream: usize) -> Result<(), Refused> {
        let mut signature = Vec::with_capacity(8 * args.len());
        args.iter().for_each(|arg| arg.sign(&mut signature));
        let numbers = way.deciding.iter().map(|arg| args[*arg].bytes());
        signature.extend(numbers.map(i64::from_le_bytes));
        let known = way.is_aligned(args).then(|| way.launches.get(&signature));
        let launch = match known.flatten() {
            Some(known) => known,
            None => self.check(way, args, &signature)?,
        };
        let (address, number) = (
            |arg: usize| args[arg].address(),
            |arg: usize| args[arg].bytes(),
        );
        launch.launch(
            &self.device,
            Stream(stream),
            address,
            number,
            &mut Vec::new(),
        )?;
        Ok(())
    }

    /// Waits for what was launched, in whichever stream.
    pub fn wait(&self) {
        // What failed shows in the next call of the driver as well.
        let _ = lock(&self.device).wait_for_all_streams();
    }

    /// Checks a launch, and keeps it for others of the signature.
    fn check(
        &self,
        way: &Way,
        args: &[Read<'_>],
        signature: &[i64],
    ) -> Result<Arc<CheckedLaunch>, Refused> {
        let bound = way.bind(args)?;
        let module = self.images[way.image].module();
        let address = |arg: usize| args[arg].address();
        let launch = CheckedLaunch::new(&self.device, module, &way.abi, &bound, address)?;
        Ok(way.launches.insert(signature, launch))
    }
}

/// Simulators with an image, as many as calls were under way at a time.
type Idle = Mutex<Vec<(SimDevice, launch::Loaded)>>;

/// Images in the simulator.
pub struct InSimulator {
    options: Options,
    images: Vec<Artifact>,
    /// Of each image.
    idle: Vec<Idle>,
}

impl InSimulator {
    /// Images, and how they run.
    pub fn new(images: &[&Artifact], options: Options) -> InSimulator {
        InSimulator {
            options,
            images: images.iter().map(|image| (*image).clone()).collect(),
            idle: images.iter().map(|_| Mutex::default()).collect(),
        }
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// Where the arguments do not fit it, or it does what it must not.
    ///
    /// # Safety
    /// The tensors' memory is there.
    pub unsafe fn launch(&self, way: &Way, args: &[Read<'_>]) -> Result<(), Refused> {
        let pairs = args.iter().zip(&way.abi.args);
        let value = |(arg, abi): (&Read<'_>, &ArgAbi)| match (arg, abi) {
            (Read::Tensor(tensor), ArgAbi::Tensor(abi)) => Ok(HostValue::Tensor(HostTensor {
                desc: describe(tensor, abi)?,
                address: tensor.address(),
                // Memory of C's allocation is aligned to 16 bytes; aligned_alloc is asked for more.
                origin: tensor.address() & !255,
            })),
            (Read::Tensor(_), ArgAbi::Scalar(scalar)) => Err(Error::null(&scalar.name)),
            (Read::Scalar(scalar), _) => Ok(HostValue::Scalar(*scalar)),
        };
        let values = pairs
            .map(value)
            .collect::<Result<Vec<HostValue>, Error>>()?;
        let launch = HostLaunch::new(&way.abi, &values)?;
        let idle = &self.idle[way.image];
        let known = lock(idle).pop();
        let (mut device, loaded) = match known {
            Some(known) => known,
            None => {
                let mut device = SimDevice::new();
                let loaded = launch::Loaded::load(&mut device, &self.images[way.image])?;
                (device, loaded)
            }
        };
        *device.options_mut() = SimOptions {
            races: self.options.races,
            ..SimOptions::default()
        };
        device.set_schedule(self.options.schedule);
        // SAFETY: of the caller.
        let ran = unsafe { launch.run(&mut device, &loaded) };
        lock(idle).push((device, loaded));
        Ok(ran?)
    }
}

/// What a device is called in messages.
pub fn name(device: dlpack::Device) -> String {
    match device.kind {
        dlpack::CPU | dlpack::CUDA_HOST => "memory of the host".to_owned(),
        dlpack::CUDA | dlpack::CUDA_MANAGED => format!("cuda:{}", device.id),
        kind => format!("a device of DLPack's kind {kind}"),
    }
}
