//! Launches in the simulator, on arrays in memory of the host.
//!
//! What the arrays span is copied into the simulator's memory, once where arrays overlap, at places as aligned as they are;
//! of what the kernel has written, the bytes that it changed are copied back. So the simulator sees every access, and an
//! error leaves the arrays as they were.

use crate::arguments;
use crate::arrays::Arrays;
use crate::compilation::Compilation;
use cutec::runtime::device::{ALLOCATION_ALIGN, Buffer, Device};
use cutec::runtime::launch::{DevicePointer, DeviceTensor, DeviceValue, Loaded};
use cutec::runtime::sim::{Options, Profile};
use cutec::runtime::{Arg, RunError, SimDevice};
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

/// Memory of the host that arrays of a call lie in.
struct Span {
    first: u64,
    end: u64,
    /// Bytes from a place as aligned as a device's memory to `first`.
    pad: u64,
    written: bool,
    buffer: Option<Buffer>,
    before: Vec<u8>,
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
        let (_, args) = self.bind(py, arrays, scalars)?;
        let abi = &self.compilation.abi;
        let bound = abi.bind(&args);
        bound.map_err(|error| crate::errors::bind(py, &abi.name, &error))?;
        Ok(())
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
        let (mut spans, args) = self.bind(py, arrays, scalars)?;
        let ran = py.detach(|| {
            let idle = self.idle().pop();
            let (mut device, loaded) = match idle {
                Some(idle) => idle,
                None => self.load(SimDevice::new())?,
            };
            *device.options_mut() = self.options(checks);
            device.set_schedule(checks.schedule);
            let ran = self.run(&mut device, &loaded, arrays, &args, &mut spans);
            // Their memory belongs to the device.
            spans.clear();
            self.idle().push((device, loaded));
            ran
        });
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
        let (mut spans, args) = self.bind(py, arrays, scalars)?;
        let ran = py.detach(|| {
            let mut device = SimDevice::with_options(self.options(Checks::default()));
            device.profile_launches();
            let (mut device, loaded) = self.load(device)?;
            self.run(&mut device, &loaded, arrays, &args, &mut spans)?;
            Ok(device.take_profiles())
        });
        ran.map_err(|error: RunError| self.failed(py, &error))
    }

    fn failed(&self, py: Python<'_>, error: &RunError) -> PyErr {
        let compilation = &self.compilation;
        crate::errors::run(py, &compilation.abi.name, error, &compilation.built.sources)
    }

    fn load(&self, mut device: SimDevice) -> Result<(SimDevice, Loaded), RunError> {
        let loaded = Loaded::load(&mut device, &self.compilation.built.artifact)?;
        Ok((device, loaded))
    }

    fn options(&self, checks: Checks) -> Options {
        let forked = self.process != process::id();
        Options {
            races: checks.races,
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

    /// The memory that the arrays lie in, and the arguments as binding checks them.
    fn bind(
        &self,
        py: Python<'_>,
        arrays: &Arrays,
        scalars: &[[u8; 8]],
    ) -> PyResult<(Vec<Span>, Vec<Arg>)> {
        let abi = &self.compilation.abi;
        let args = arguments::described(py, abi, arrays, scalars, |_| ALLOCATION_ALIGN)?;
        let mut spans: Vec<Span> = Vec::new();
        for (index, (abi, arg)) in abi.args.iter().zip(&args).enumerate() {
            let Arg::Tensor(tensor) = arg else {
                continue;
            };
            let array = &arrays.list[self.compilation.slot(index)];
            spans.push(Span {
                first: array.address,
                // Binding refuses what has no span.
                end: array.address + tensor.span_bytes().unwrap_or(0),
                pad: (array.address - array.origin) % ALLOCATION_ALIGN,
                written: abi.as_tensor().is_some_and(|tensor| tensor.mutable),
                buffer: None,
                before: Vec::new(),
            });
        }
        spans.sort_by_key(|span| span.first);
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.first < last.end => {
                    last.end = last.end.max(span.end);
                    last.written |= span.written;
                }
                _ => merged.push(span),
            }
        }
        let align = |index: usize| {
            let address = arrays.list[index].address;
            let span = covering(&merged, address);
            let offset = span.map_or(0, |span| span.pad + (address - span.first));
            1 << offset
                .trailing_zeros()
                .min(ALLOCATION_ALIGN.trailing_zeros())
        };
        let args = arguments::described(py, abi, arrays, scalars, align)?;
        Ok((merged, args))
    }

    fn run(
        &self,
        device: &mut SimDevice,
        loaded: &Loaded,
        arrays: &Arrays,
        args: &[Arg],
        spans: &mut [Span],
    ) -> Result<(), RunError> {
        let abi = &self.compilation.abi;
        // Before anything is read: what does not fit may not be what its description says.
        abi.bind(args)?;
        for span in spans.iter_mut() {
            let length = (span.end - span.first) as usize;
            span.before = vec![0; span.pad as usize + length];
            // SAFETY: an array of the caller's spans these bytes. What other threads write to it meanwhile is theirs to
            // order, as with every kernel.
            unsafe {
                let from = std::ptr::with_exposed_provenance::<u8>(span.first as usize);
                let to = span.before.as_mut_ptr().add(span.pad as usize);
                std::ptr::copy_nonoverlapping(from, to, length);
            }
            let buffer = device.alloc(span.before.len() as u64, "arrays")?;
            device.upload(&buffer, &span.before)?;
            span.buffer = Some(buffer);
        }
        let mut values = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            values.push(match arg {
                Arg::Scalar(scalar) => DeviceValue::Scalar(*scalar),
                Arg::Tensor(tensor) => {
                    let address = arrays.list[self.compilation.slot(index)].address;
                    let place = covering(spans, address).and_then(|span| {
                        let offset = span.pad + (address - span.first);
                        Some((span.buffer.clone()?, offset))
                    });
                    DeviceValue::Tensor(DeviceTensor {
                        memory: match place {
                            Some((buffer, offset)) => DevicePointer::Buffer { buffer, offset },
                            None => DevicePointer::Address(0),
                        },
                        dtype: tensor.dtype,
                        shape: tensor.shape.clone(),
                        strides: tensor.strides.clone(),
                        mutable: tensor.mutable,
                    })
                }
            });
        }
        loaded.launch(device, &abi.name, &values)?;
        for span in spans.iter().filter(|span| span.written) {
            let Some(buffer) = &span.buffer else {
                continue;
            };
            let mut after = vec![0; span.before.len()];
            device.download(buffer, &mut after)?;
            let pad = span.pad as usize;
            // SAFETY: as above; the array may be written, which binding has checked.
            unsafe { write_changes(span.first, &span.before[pad..], &after[pad..]) };
        }
        Ok(())
    }
}

/// The span that holds an address; arrays without elements may lie in none.
fn covering(spans: &[Span], address: u64) -> Option<&Span> {
    let covers = |span: &&Span| (span.first..span.end.max(span.first + 1)).contains(&address);
    spans.iter().find(covers)
}

/// Writes the bytes that changed: what lies between the elements of an array is another's.
///
/// # Safety
/// The bytes from `address` on may be written.
unsafe fn write_changes(address: u64, before: &[u8], after: &[u8]) {
    /// Compared at a time.
    const BLOCK: usize = 4096;
    let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK)).enumerate();
    for (block, (before, after)) in blocks.filter(|(_, (before, after))| before != after) {
        for (at, (_, new)) in before
            .iter()
            .zip(after)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
        {
            // SAFETY: of the caller.
            unsafe { to.add(block * BLOCK + at).write(*new) };
        }
    }
}
