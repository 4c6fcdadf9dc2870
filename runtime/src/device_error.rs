//! What can go wrong on a device.

use std::sync::Arc;

use crate::abi::Status;
#[cfg(feature = "simulator")]
use crate::sim::{SimError, SourceLoc};

/// What can go wrong on a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No such device.
    #[error("`{spec}` is no device: expected `sim` or `cuda:N`")]
    UnknownSpec {
        /// What was asked for.
        spec: String,
    },
    /// No GPU can be used.
    #[error("no CUDA device: {reason}")]
    NoCuda {
        /// Why.
        reason: String,
    },
    /// No GPU with this number.
    #[error("no device cuda:{index}: this machine has {count}")]
    NoSuchGpu {
        /// The number.
        index: usize,
        /// Number of GPUs.
        count: usize,
    },
    /// A call of the CUDA driver failed.
    #[error("{call}: {name}: {text}")]
    Cuda {
        /// What was called.
        call: &'static str,
        /// Name of the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver's text for it.
        text: String,
    },
    /// The driver refused the code.
    #[error("the driver does not load the code: {name}{}", indented(.log))]
    Load {
        /// Name of the error.
        name: String,
        /// What the driver's compiler says.
        log: String,
    },
    /// Not enough memory.
    #[error("no memory for `{label}`: {bytes} bytes")]
    OutOfMemory {
        /// What it was for.
        label: String,
        /// How much was asked for.
        bytes: u64,
    },
    /// Other parameters than the code declares: the ABI is not that of the code.
    #[error("`{entry}` takes parameters of {expected:?} bytes, found {found:?}")]
    Parameters {
        /// The kernel.
        entry: String,
        /// Sizes in the code.
        expected: Arc<[usize]>,
        /// Sizes of what is passed.
        found: Vec<usize>,
    },
    /// More shared memory than a block can have.
    #[error("`{entry}` needs {needed} bytes of shared memory a block: {device} has {limit}")]
    SharedMemory {
        /// The kernel.
        entry: String,
        /// Bytes that it needs, static and dynamic.
        needed: u64,
        /// Bytes that there are.
        limit: u64,
        /// Name of the device.
        device: String,
    },
    /// The kernel was compiled for another GPU.
    #[error("`{kernel}` was compiled for {target}: {device} is {found}")]
    Target {
        /// The kernel.
        kernel: String,
        /// Its target.
        target: String,
        /// Name of the device.
        device: String,
        /// Target of the device.
        found: String,
    },
    /// A cluster for which no part of the device is large enough.
    #[error("`{entry}` is launched in clusters of {blocks} blocks: {device} has room for none")]
    Cluster {
        /// The kernel.
        entry: String,
        /// Blocks of a cluster.
        blocks: u32,
        /// Name of the device.
        device: String,
    },
    /// More blocks that wait for each other than run at the same time.
    #[error(
        "the blocks of `{entry}` wait for each other (`cooperative()`): {blocks} are launched, but the device holds {resident} at a time"
    )]
    Together {
        /// The kernel.
        entry: String,
        /// Blocks of the launch.
        blocks: u64,
        /// Blocks that the device holds at a time.
        resident: u32,
    },
    /// The device cannot do what the kernel needs.
    #[error("{device} has no {what}, which the kernel needs")]
    Unsupported {
        /// Name of the device.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
    /// The program is built without the simulator.
    #[error("no simulator: this program is built without the feature `simulator` of cutec-runtime")]
    NoSimulator,
    /// The simulator runs PTX only.
    #[error("the simulator runs PTX, not a cubin")]
    CubinInSimulator,
    /// A transfer beyond a buffer.
    #[error("{what} of {found} bytes: there is room for {expected}")]
    Size {
        /// `upload`, `download` or `copy`.
        what: &'static str,
        /// Bytes that there is room for.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// A tensor that does not lie in the buffer that is said to hold it.
    #[error("a tensor of {span} bytes at byte {offset} of buffer `{label}`: it has {bytes} bytes")]
    OutsideBuffer {
        /// What the buffer was allocated for.
        label: String,
        /// Size of the buffer.
        bytes: u64,
        /// Where the tensor begins in it.
        offset: u64,
        /// Bytes that the tensor spans.
        span: u64,
    },
    /// Memory or code of another device.
    #[error("{what} belongs to {owner}: this is {device}")]
    OtherDevice {
        /// What it is.
        what: String,
        /// The device that it belongs to.
        owner: String,
        /// The device that it was given to.
        device: String,
    },
    /// The simulator found an error, in the code or in what the kernel did.
    #[cfg(feature = "simulator")]
    #[error("{0}")]
    Sim(#[from] SimError),
}

impl DeviceError {
    /// Which kind of error it is, for other languages.
    pub fn status(&self) -> Status {
        match self {
            DeviceError::NoCuda { .. } | DeviceError::NoSuchGpu { .. } => Status::NoCuda,
            DeviceError::Cuda { .. } => Status::Cuda,
            DeviceError::Load { .. } => Status::Load,
            DeviceError::OutOfMemory { .. } => Status::OutOfMemory,
            DeviceError::SharedMemory { .. } => Status::SharedMemory,
            DeviceError::Target { .. } => Status::Target,
            DeviceError::Cluster { .. }
            | DeviceError::Together { .. }
            | DeviceError::Unsupported { .. }
            | DeviceError::NoSimulator
            | DeviceError::CubinInSimulator => Status::Unsupported,
            #[cfg(feature = "simulator")]
            DeviceError::Sim(_) => Status::Fault,
            DeviceError::UnknownSpec { .. }
            | DeviceError::Parameters { .. }
            | DeviceError::Size { .. }
            | DeviceError::OutsideBuffer { .. }
            | DeviceError::OtherDevice { .. } => Status::OtherDevice,
        }
    }
}

#[cfg(feature = "simulator")]
impl DeviceError {
    /// Position in the kernel's source, where the simulator knows it.
    pub fn source_location(&self) -> Option<&SourceLoc> {
        match self {
            DeviceError::Sim(error) => error.location.as_ref()?.source.as_ref(),
            _ => None,
        }
    }

    /// The error of the simulator, if it is one.
    pub fn sim(&self) -> Option<&SimError> {
        match self {
            DeviceError::Sim(error) => Some(error),
            _ => None,
        }
    }
}

/// A log as lines below a message.
fn indented(log: &str) -> String {
    log.trim()
        .lines()
        .map(|line| format!("\n  {line}"))
        .collect()
}
