//! Launches in the simulator, on arrays in memory of the host, by as many simulators as calls are under way.

use crate::arguments;
use crate::arrays::Arrays;
use crate::attend::attended;
use crate::compilation::Compilation;
use cutec::runtime::device::ALLOCATION_ALIGN;
use cutec::runtime::host::{HostLaunch, HostTensor, HostValue};
use cutec::runtime::launch::Loaded;
use cutec::runtime::sim::{Options, Output, Profile};
use cutec::runtime::{Arg, Cancel, RunError, SimDevice};
use pyo3::prelude::*;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel in as many simulators as calls were under way at a time.
#[derive(Debug)]
pub struct InSimulator {
    /// What was loaded.
    pub compilation: Arc<Compilation>,
    idle: Mutex<Vec<(SimDevice, Loaded)>>,
    /// The process that this was made in: threads of the simulator's pool are not in one that was forked.
    process: u32,
}

/// How a launch is to be simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks {
    /// Whether data races are looked for.
    pub races: bool,
    /// In which of the legal schedules.
    pub schedule: u64,
}

impl InSimulator {
    /// A compiled kernel, which is loaded when it is first launched.
    pub fn new(compilation: Arc<Compilation>) -> Self {
        Self {
            compilation,
            idle: Mutex::default(),
            process: process::id(),
        }
    }

    /// Checks arguments without a launch.
    ///
    /// # Errors
    /// Where they do not fit the kernel.
    pub fn check(&self, py: Python<'_>, arrays: &Arrays, scalars: &[[u8; 8]]) -> PyResult<()> {
        self.bind(py, arrays, scalars).map(drop)
    }

    /// Runs the kernel; the arrays hold what it wrote.
    ///
    /// # Errors
    /// Where the arguments do not fit the kernel, or it does something that it must not.
    pub fn launch(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
        checks: Checks,
    ) -> PyResult<()> {
        let launch = self.bind(py, arrays, scalars)?;
        let cancel = Cancel::new();
        let ran = attended(py, &cancel, |output| {
            let idle = self.idle().pop();
            let (mut device, loaded) = match idle {
                Some(idle) => idle,
                None => self.load(SimDevice::new())?,
            };
            *device.options_mut() = self.options(checks, &cancel, output);
            device.set_schedule(checks.schedule);
            // SAFETY: the call holds its arrays, and binding has checked which may be written.
            let ran = unsafe { launch.run(&mut device, &loaded) };
            self.idle().push((device, loaded));
            ran
        })?;
        ran.map_err(|error| self.failed(py, &error))
    }

    /// Runs the kernel and counts what each of its instructions does.
    ///
    /// # Errors
    /// As [`InSimulator::launch`].
    pub fn profile(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
    ) -> PyResult<Vec<Profile>> {
        let launch = self.bind(py, arrays, scalars)?;
        let cancel = Cancel::new();
        let ran = attended(py, &cancel, |output| {
            let options = self.options(Checks::default(), &cancel, output);
            let mut device = SimDevice::with_options(options);
            device.profile_launches();
            let (mut device, loaded) = self.load(device)?;
            // SAFETY: as above.
            unsafe { launch.run(&mut device, &loaded) }?;
            Ok(device.take_profiles())
        })?;
        ran.map_err(|error: RunError| self.failed(py, &error))
    }

    fn failed(&self, py: Python<'_>, error: &RunError) -> PyErr {
        let compilation = &self.compilation;
        crate::errors::run(py, &compilation.abi.name, error, &compilation.built)
    }

    fn load(&self, mut device: SimDevice) -> Result<(SimDevice, Loaded), RunError> {
        let loaded = Loaded::load(&mut device, &self.compilation.built.artifact)?;
        Ok((device, loaded))
    }

    fn options(&self, checks: Checks, cancel: &Cancel, output: Output) -> Options {
        let forked = self.process != process::id();
        Options {
            races: checks.races,
            cancel: Some(cancel.clone()),
            output,
            // Threads of its own, where those of the pool did not come along.
            threads: match forked {
                true => std::thread::available_parallelism().map_or(1, usize::from),
                false => 0,
            },
            ..Options::default()
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(SimDevice, Loaded)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The arguments, checked, in the memory that they lie in.
    fn bind(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
    ) -> PyResult<HostLaunch<'_>> {
        let abi = &self.compilation.abi;
        let args = arguments::described(py, abi, arrays, scalars, |_| ALLOCATION_ALIGN)?;
        let value = |(index, arg)| match arg {
            Arg::Scalar(scalar) => HostValue::Scalar(scalar),
            Arg::Tensor(desc) => {
                let array = &arrays.list[self.compilation.slot(index)];
                HostValue::Tensor(HostTensor {
                    desc,
                    address: array.address,
                    origin: array.origin,
                })
            }
        };
        let values: Vec<HostValue> = args.into_iter().enumerate().map(value).collect();
        HostLaunch::new(abi, &values).map_err(|error| self.failed(py, &error))
    }
}
