//! The simulator as a device.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::tensor_map::TensorMap;
use crate::artifact::Code;
use crate::device::{
    Buffer, Device, DeviceError, DeviceModule, DeviceSpec, Geometry, LaunchReport, Owner,
    ParamValue,
};
use crate::resource::Free;
use crate::sim::{self, Memory, Module, Options, Profile, SharedBuffer, SharedBuffers, SourceLoc};
use cutec_abi::{Position, SmemAbi};

/// How many blocks the simulated GPU holds at a time: few, so that kernels launched `persistent` go round several times in
/// small tests.
const RESIDENT_BLOCKS: u32 = 4;

/// How many blocks of a cooperative launch, all of which run at the same time.
const TOGETHER: u32 = 32;

/// The PTX simulator with its memory.
#[derive(Debug)]
pub struct SimDevice {
    owner: Owner,
    memory: Arc<SimMemory>,
    options: Options,
    schedule: u64,
    /// Of the launches since they were taken, where they are asked for.
    profiles: Option<Vec<Profile>>,
}

/// Memory that buffers give back to when they are dropped.
#[derive(Debug, Default)]
struct SimMemory(Mutex<Memory>);

impl SimMemory {
    /// A panic in a launch leaves memory as the launch had written it, which is no worse than a fault.
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Free for SimMemory {
    fn free(&self, address: u64) {
        // It was allocated here and is freed once.
        let _ = self.lock().free(address);
    }
}

impl Default for SimDevice {
    fn default() -> SimDevice {
        SimDevice {
            owner: Owner::new("simulator"),
            memory: Arc::default(),
            options: Options::default(),
            schedule: 0,
            profiles: None,
        }
    }
}

impl SimDevice {
    /// A simulator with all checks.
    pub fn new() -> SimDevice {
        SimDevice::default()
    }

    /// A simulator with options of your own.
    pub fn with_options(options: Options) -> SimDevice {
        SimDevice {
            options,
            ..SimDevice::default()
        }
    }

    /// The options, for changes between launches.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Profiles later launches, for [`SimDevice::take_profiles`].
    pub fn profile_launches(&mut self) {
        self.profiles.get_or_insert_default();
    }

    /// What the launches since the last call did.
    pub fn take_profiles(&mut self) -> Vec<Profile> {
        self.profiles
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Which of the legal schedules later launches have; see [`Options::schedule`].
    pub fn set_schedule(&mut self, number: u64) {
        self.schedule = number;
    }
}

impl dyn Device + '_ {
    /// The simulator, if it is that: for its options, and for what it counted.
    pub fn as_sim(&mut self) -> Option<&mut SimDevice> {
        self.as_any().downcast_mut()
    }
}

impl Device for SimDevice {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn spec(&self) -> DeviceSpec {
        DeviceSpec::Sim
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<Buffer, DeviceError> {
        let address = self.memory.lock().alloc(bytes, label)?;
        let memory = Arc::clone(&self.memory) as Arc<dyn Free>;
        Ok(Buffer::new(&self.owner, memory, label, address, bytes))
    }

    fn upload(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.owner.check_buffer(buffer)?;
        Ok(self.memory.lock().write(buffer.address(), bytes)?)
    }

    fn poison(&mut self, buffer: &Buffer, _bytes: &[u8]) -> Result<(), DeviceError> {
        self.owner.check_buffer(buffer)?;
        let mut memory = self.memory.lock();
        Ok(memory.poison(buffer.address(), buffer.bytes())?)
    }

    fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.owner.check_buffer(buffer)?;
        let memory = self.memory.lock();
        bytes.copy_from_slice(&memory.read(buffer.address(), bytes.len() as u64)?);
        Ok(())
    }

    fn load(&mut self, code: &Code) -> Result<DeviceModule, DeviceError> {
        let Code::Ptx(ptx) = code else {
            return Err(DeviceError::CubinInSimulator);
        };
        let mut module = Module::parse(ptx)?;
        // PTX may come without an ABI, from elsewhere.
        for kernel in cutec_abi::extract(ptx).map_or(Vec::new(), |abi| abi.kernels) {
            if let Some(smem) = kernel.smem {
                module.set_shared_buffers(&kernel.entry, shared_buffers(smem));
            }
            if let Some(tiles) = kernel.tiles {
                let scatters = tiles.scatters.into_iter();
                let scatters =
                    scatters.map(|(file, line, column)| SourceLoc { file, line, column });
                module.set_tiles(&kernel.entry, &scatters.collect::<Vec<_>>());
            }
        }
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
            return Err(DeviceError::CubinInSimulator);
        };
        let values: Vec<&[u8]> = params.iter().map(ParamValue::as_bytes).collect();
        // A name that the module lacks is reported by the launch itself.
        let block = match module.entry(&geometry.entry) {
            Some(entry) => entry.pack(&values)?,
            None => Vec::new(),
        };
        let mut options = self.options.schedule(self.schedule);
        options.together = geometry.cooperative;
        let Geometry {
            entry,
            block: threads,
            smem_bytes,
            ..
        } = geometry;
        let grid = geometry.blocks(|| Ok::<_, DeviceError>(RESIDENT_BLOCKS))?;
        geometry.check_together(grid, || Ok(TOGETHER))?;
        let memory = &mut *self.memory.lock();
        let start = Instant::now();
        let stats = match &mut self.profiles {
            None => module.launch(entry, grid, *threads, *smem_bytes, &block, memory, &options)?,
            Some(profiles) => {
                let profile =
                    module.profile(entry, grid, *threads, *smem_bytes, &block, memory, &options)?;
                let stats = profile.stats;
                profiles.push(profile);
                stats
            }
        };
        Ok(LaunchReport {
            stats: Some(stats),
            simulated: Some(start.elapsed()),
        })
    }

    fn encode_tensor_map(
        &mut self,
        map: &TensorMap,
        address: u64,
    ) -> Result<ParamValue, DeviceError> {
        let map = sim::TensorMap {
            dtype: map.dtype,
            address,
            empty: map.empty,
            extents: map.extents.clone(),
            stride_bytes: map.stride_bytes.clone(),
            box_extents: map.box_extents.clone(),
            element_strides: match &map.im2col {
                None => vec![1; map.box_extents.len()],
                Some(pixels) => [&[1][..], &pixels.steps, &[1]].concat(),
            },
            im2col: map.im2col.as_ref().map(|pixels| sim::PixelBox {
                lower: pixels.lower.clone(),
                upper: pixels.upper.clone(),
            }),
            swizzle: map.swizzle,
            oob_fill: map.oob_fill,
        };
        Ok(ParamValue::tensor_map(map.encode()?))
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn launch_timed(
        &mut self,
        module: &DeviceModule,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<Option<Duration>, DeviceError> {
        self.launch(module, geometry, params)?;
        Ok(None)
    }
}

/// The buffers of a kernel, as the simulator asks for them.
fn shared_buffers(smem: SmemAbi) -> SharedBuffers {
    let SmemAbi {
        files,
        buffers,
        accesses,
    } = smem;
    let position = |(file, line, column): Position| {
        let file = files.get(file)?.clone();
        Some(SourceLoc { file, line, column })
    };
    let buffers = buffers.into_iter().map(|buffer| SharedBuffer {
        offset: buffer.offset,
        bytes: buffer.bytes,
        name: buffer.name,
        source: buffer.at.and_then(position),
    });
    let accesses = accesses.into_iter();
    SharedBuffers {
        buffers: buffers.collect(),
        accesses: accesses
            .filter_map(|(at, buffers)| Some((position(at)?, buffers)))
            .collect(),
    }
}
