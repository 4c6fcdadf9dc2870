//! What a device can do, whichever it is.
//!
//! Addresses and launches are untyped here: [`launch`](crate::launch) is the checked way. Memory and code
//! belong to their device and are refused by others ([`resource`](crate::resource)).

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::abi::tensor_map::TensorMap;
use crate::abi::{KernelAbi, ScalarValue};
use crate::artifact::Code;
pub use crate::device_error::DeviceError;
pub use crate::resource::{Buffer, DeviceModule, Owner};
#[cfg(feature = "simulator")]
use crate::sim::Stats;

/// A device that runs kernels. It may move between threads, and be used by one at a time.
///
/// Work is done in the order of the calls. A launch may return before it is done: its failure then
/// appears in a later call, at the latest in [`Device::synchronize`].
pub trait Device: Send {
    /// What its memory and its code know it by.
    fn owner(&self) -> &Owner;

    /// Name for people, such as `NVIDIA H200 (cuda:0)`.
    fn name(&self) -> &str {
        self.owner().name()
    }

    /// Which device it is.
    fn spec(&self) -> DeviceSpec;

    /// This device, to be taken for the one that it is.
    fn as_any(&mut self) -> &mut dyn Any;

    /// What GPU it is; `None` of the simulator.
    fn gpu(&self) -> Option<Gpu> {
        None
    }

    /// Checks that this device runs a kernel for its target; what a device cannot tell, loading shows.
    fn check_target(&self, _kernel: &KernelAbi, _code: &Code) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Reserves memory until the last clone of the buffer is dropped; `label` names it in errors. The
    /// base address is aligned to [`ALLOCATION_ALIGN`].
    fn alloc(&mut self, bytes: u64, label: &str) -> Result<Buffer, DeviceError>;

    /// Copies `bytes` to the start of `buffer`.
    fn upload(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Marks `buffer` as not written. A GPU fills it with `bytes`, as many as it has; the simulator
    /// reports a kernel that reads from it.
    fn poison(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Fills `bytes` from the start of `buffer`, after all earlier work.
    fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Loads code, until the last clone of the module is dropped.
    fn load(&mut self, code: &Code) -> Result<DeviceModule, DeviceError>;

    /// Launches a kernel. Parameters are checked against the code only as far as it says their sizes.
    fn launch(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<LaunchReport, DeviceError>;

    /// Encodes a tensor map of memory at `address`.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] on a device without a tensor memory accelerator.
    fn encode_tensor_map(
        &mut self,
        _map: &TensorMap,
        _address: u64,
    ) -> Result<ParamValue, DeviceError> {
        let device = self.name().to_string();
        Err(DeviceError::Unsupported {
            device,
            what: "tensor maps",
        })
    }

    /// Waits until all work is done.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// Launches a kernel, waits for it, and says how long the device took; `None` where a time would
    /// mean nothing, as in the simulator.
    fn launch_timed(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<Option<Duration>, DeviceError>;

    /// Launches a kernel with each of `params` in turn, twice, waits, and says how long the device took for the second
    /// time: for all launches together, without what the host does between them. The kernel was launched before; `None`
    /// as of [`Device::launch_timed`].
    fn time_launches(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[&[ParamValue]],
    ) -> Result<Option<Duration>, DeviceError> {
        let mut sum = None;
        for params in params {
            let Some(time) = self.launch_timed(module, geometry, params)? else {
                return Ok(None);
            };
            *sum.get_or_insert(Duration::ZERO) += time;
        }
        Ok(sum)
    }
}

/// What a GPU is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Version of the driver, such as 13000.
    pub driver: i32,
    /// Compute capability, such as `(9, 0)`.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Size of the L2 cache, in bytes.
    pub l2_bytes: u64,
}

/// Alignment of what [`Device::alloc`] returns, in bytes.
pub const ALLOCATION_ALIGN: u64 = 256;

/// Which kernel of a module, and with how many threads and how much shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Name of the `.entry`.
    pub entry: String,
    /// Blocks in x, y, z, none of them 0.
    pub grid: [u32; 3],
    /// Whether there are to be at most as many in x as the device holds at a time.
    pub persistent: bool,
    /// Blocks of a cluster in x, y, z, of which the grid has whole ones.
    pub cluster: [u32; 3],
    /// Whether it may begin before the launch ahead of it has ended (programmatic dependent launch). The simulator runs one
    /// launch after the other.
    pub pdl: bool,
    /// Whether all blocks run at the same time; more than the device holds are refused.
    pub cooperative: bool,
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub smem_bytes: u32,
}

impl Geometry {
    /// The blocks of a launch, where the device holds so many at a time: of a kernel that is launched `persistent`
    /// whole clusters, at least one.
    ///
    /// # Errors
    /// That of `resident`, which is asked for such kernels alone.
    pub fn blocks<E>(&self, resident: impl FnOnce() -> Result<u32, E>) -> Result<[u32; 3], E> {
        let [x, y, z] = self.grid;
        if !self.persistent {
            return Ok(self.grid);
        }
        let clusters = (resident()? / self.cluster[0].max(1)).max(1);
        Ok([x.min(clusters.saturating_mul(self.cluster[0])), y, z])
    }

    /// Refuses a launch whose blocks run at the same time where the device holds fewer than these, `resident`.
    ///
    /// # Errors
    /// That of `resident`, which is asked for such kernels alone, or that there are too many.
    pub fn check_together(
        &self,
        grid: [u32; 3],
        resident: impl FnOnce() -> Result<u32, DeviceError>,
    ) -> Result<(), DeviceError> {
        if !self.cooperative {
            return Ok(());
        }
        let blocks = grid.iter().map(|&extent| u64::from(extent)).product();
        let resident = resident()?;
        match blocks <= u64::from(resident) {
            true => Ok(()),
            false => Err(DeviceError::Together {
                entry: self.entry.clone(),
                blocks,
                resident,
            }),
        }
    }
}

/// A machine-level parameter: 1, 2, 4 or 8 little-endian bytes, or a tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamValue(Param);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Param {
    Word { bytes: [u8; 8], size: usize },
    TensorMap(Box<[u8; 128]>),
}

/// What a device can say about a launch that went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// What the simulator counted.
    #[cfg(feature = "simulator")]
    pub stats: Option<Stats>,
    /// How long the simulator took; says nothing about a GPU.
    pub simulated: Option<Duration>,
}

/// Which device: `sim` or `cuda:0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// The simulator.
    Sim,
    /// The GPU with this number.
    Cuda(usize),
}

impl ParamValue {
    /// An address.
    pub fn pointer(address: u64) -> ParamValue {
        ParamValue(Param::Word {
            bytes: address.to_le_bytes(),
            size: 8,
        })
    }

    /// A 32-bit integer.
    pub fn i32(value: i32) -> ParamValue {
        ParamValue(Param::Word {
            bytes: i64::from(value).to_le_bytes(),
            size: 4,
        })
    }

    /// A 64-bit integer.
    pub fn i64(value: i64) -> ParamValue {
        ParamValue(Param::Word {
            bytes: value.to_le_bytes(),
            size: 8,
        })
    }

    /// A scalar in its type.
    pub fn scalar(value: ScalarValue) -> ParamValue {
        ParamValue(Param::Word {
            bytes: value.bytes,
            size: value.dtype.size(),
        })
    }

    /// An encoded tensor map.
    pub fn tensor_map(bytes: [u8; 128]) -> ParamValue {
        ParamValue(Param::TensorMap(Box::new(bytes)))
    }

    /// The bytes that are passed.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Param::Word { bytes, size } => &bytes[..*size],
            Param::TensorMap(bytes) => bytes.as_slice(),
        }
    }

    /// What its offset among the parameters is a multiple of.
    pub fn align(&self) -> usize {
        match &self.0 {
            Param::Word { size, .. } => *size,
            Param::TensorMap(_) => 64,
        }
    }
}

impl FromStr for DeviceSpec {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<DeviceSpec, DeviceError> {
        let unknown = || DeviceError::UnknownSpec {
            spec: text.to_string(),
        };
        match text {
            "sim" => Ok(DeviceSpec::Sim),
            "cuda" => Ok(DeviceSpec::Cuda(0)),
            _ => {
                let index = text.strip_prefix("cuda:").ok_or_else(unknown)?;
                Ok(DeviceSpec::Cuda(index.parse().map_err(|_| unknown())?))
            }
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSpec::Sim => f.write_str("sim"),
            DeviceSpec::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}
