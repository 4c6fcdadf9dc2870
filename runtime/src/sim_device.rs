//! The simulator as a device.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::artifact::Code;
use crate::device::{
    Buffer, Device, DeviceError, DeviceSpec, Geometry, LaunchReport, ModuleId, ParamValue,
};
use crate::sim::{Memory, Module, Options, Profile, SharedBuffer, SharedBuffers, SourceLoc};
use cutec_abi::{Position, SmemAbi};

/// The PTX simulator with its memory and its modules.
#[derive(Debug, Default)]
pub struct SimDevice {
    memory: Memory,
    modules: BTreeMap<ModuleId, Module>,
    next_module: u64,
    options: Options,
    schedule: u64,
    /// Of the launches since they were taken, where they are asked for.
    profiles: Option<Vec<Profile>>,
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

impl Device for SimDevice {
    fn name(&self) -> &str {
        "simulator"
    }

    fn spec(&self) -> DeviceSpec {
        DeviceSpec::Sim
    }

    fn as_sim(&mut self) -> Option<&mut SimDevice> {
        Some(self)
    }

    fn alloc(&mut self, bytes: u64, label: &str) -> Result<Buffer, DeviceError> {
        Ok(Buffer {
            address: self.memory.alloc(bytes, label)?,
            bytes,
        })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        Ok(self.memory.free(buffer.address)?)
    }

    fn upload(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        Ok(self.memory.write(buffer.address, bytes)?)
    }

    fn poison(&mut self, buffer: &Buffer, _bytes: &[u8]) -> Result<(), DeviceError> {
        Ok(self.memory.poison(buffer.address, buffer.bytes)?)
    }

    fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&self.memory.read(buffer.address, bytes.len() as u64)?);
        Ok(())
    }

    fn load(&mut self, code: &Code) -> Result<ModuleId, DeviceError> {
        let Code::Ptx(ptx) = code else {
            return Err(DeviceError::CubinInSimulator);
        };
        let id = ModuleId(self.next_module);
        let mut module = Module::parse(ptx)?;
        // PTX may come without an ABI, from elsewhere.
        for kernel in cutec_abi::extract(ptx).map_or(Vec::new(), |abi| abi.kernels) {
            if let Some(smem) = kernel.smem {
                module.set_shared_buffers(&kernel.entry, shared_buffers(smem));
            }
        }
        self.modules.insert(id, module);
        self.next_module += 1;
        Ok(id)
    }

    fn unload(&mut self, module: ModuleId) -> Result<(), DeviceError> {
        self.modules
            .remove(&module)
            .map(|_| ())
            .ok_or(DeviceError::UnknownModule)
    }

    fn launch(
        &mut self,
        module: ModuleId,
        geometry: &Geometry,
        params: &[ParamValue],
    ) -> Result<LaunchReport, DeviceError> {
        let module = self
            .modules
            .get(&module)
            .ok_or(DeviceError::UnknownModule)?;
        let values: Vec<&[u8]> = params.iter().map(ParamValue::as_bytes).collect();
        // A name that the module lacks is reported by the launch itself.
        let block = match module.entry(&geometry.entry) {
            Some(entry) => entry.pack(&values)?,
            None => Vec::new(),
        };
        let options = self.options.schedule(self.schedule);
        let Geometry {
            entry,
            grid,
            block: threads,
            smem_bytes,
        } = geometry;
        let memory = &mut self.memory;
        let start = Instant::now();
        let stats = match &mut self.profiles {
            None => module.launch(
                entry,
                *grid,
                *threads,
                *smem_bytes,
                &block,
                memory,
                &options,
            )?,
            Some(profiles) => {
                let profile = module.profile(
                    entry,
                    *grid,
                    *threads,
                    *smem_bytes,
                    &block,
                    memory,
                    &options,
                )?;
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

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn launch_timed(
        &mut self,
        module: ModuleId,
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
        name: None,
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
