//! The launches of a bench with the defaults: which kernels are tuned, and for which sizes.

use super::{Request, TuneError};
use crate::launch::{DeviceLauncher, RecordedLaunch};
use crate::{Interpreter, program};
use cutec::cache::fingerprint;
use cutec::{Compiler, Emit, FileLoader, Options, Space};
use cutec_frontend::ast::{Bench as BenchItem, ItemKind};
use cutec_frontend::{Program, SourceMap};
use cutec_runtime::abi::{Arg, BindError, KernelAbi, Launch};
use cutec_runtime::device::DeviceSpec;
use cutec_runtime::sim::profile::machine::{MACHINES, Machine as Multiprocessor};
use cutec_runtime::{Cancel, Device, SimDevice, Value, open, sim};
use cutec_tuning::candidate::{size, size_text};
use cutec_tuning::plan::Machine;
use cutec_tuning::{Plan, Workload};
use std::sync::Arc;

/// What a bench launches.
#[derive(Debug)]
pub struct Bench {
    /// The kernels that have candidates.
    pub kernels: Vec<Tuned>,
    /// Those that have none.
    pub untuned: Vec<String>,
    /// Hash of the source with all that it imports.
    pub fingerprint: String,
    /// Where it is measured.
    pub machine: Machine,
    /// What a multiprocessor of the target has.
    pub multiprocessor: &'static Multiprocessor,
    /// Multiprocessors of the device, or of the GPU that stands for the target.
    pub multiprocessors: u32,
    /// Whether configurations become cubins.
    pub assembles: bool,
    /// Assertions of the bench, which hold with the defaults.
    pub assertions: u64,
}

/// A kernel that is tuned.
#[derive(Debug)]
pub struct Tuned {
    /// Its name.
    pub kernel: String,
    /// Compile-time parameters that the bench or the options fix.
    pub fixed: Vec<(String, String)>,
    /// Its configurations.
    pub space: Space,
    /// Its launches, one of each size.
    pub launches: Vec<Size>,
}

/// A launch of one size.
#[derive(Debug)]
pub struct Size {
    /// Its symbols and their values.
    pub size: Vec<(String, i64)>,
    /// What it is given, and what it gave with the defaults.
    pub workload: Arc<Workload>,
}

impl Size {
    /// For people.
    pub fn text(&self) -> String {
        size_text(&self.size)
    }

    /// A launch of a configuration with these arguments.
    ///
    /// # Errors
    /// Where it is refused.
    pub fn bind(&self, abi: &KernelAbi) -> Result<Launch, Box<BindError>> {
        let args: Vec<Arg> = self.workload.args.iter().map(Value::as_arg).collect();
        abi.bind(&args).map_err(Box::new)
    }
}

/// Opens a device; the simulator counts what estimates need.
pub(super) fn open_device(
    spec: DeviceSpec,
    cancel: &Cancel,
) -> Result<Box<dyn Device>, cutec_runtime::device::DeviceError> {
    match spec {
        DeviceSpec::Sim => Ok(Box::new(open_simulator(cancel))),
        DeviceSpec::Cuda(_) => open(Some(&spec.to_string())),
    }
}

/// A simulator that counts what estimates need.
pub(super) fn open_simulator(cancel: &Cancel) -> SimDevice {
    SimDevice::with_options(sim::Options {
        counters: true,
        cancel: Some(cancel.clone()),
        ..sim::Options::default()
    })
}

/// Runs the bench with the defaults, and takes its launches.
pub(super) fn launches(request: &Request<'_>) -> Result<Bench, TuneError> {
    let (sources, program) = program::load(request.source, &FileLoader, &request.options.defines)?;
    let bench = block(&program, request.bench)?;
    let compiler = Compiler::new();
    let first = first_device(request);
    let mut device = open_device(first, &request.cancel)?;
    let gpu = device.gpu();
    let launcher = launcher(request, &compiler, &sources, device.as_mut());
    launcher.record();
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    let ran = interpreter.run(&bench.name.node, &bench.body, request.seed);
    let recorded = launcher.take_recorded();
    request.go_on()?;
    let report = match ran {
        Ok(report) => report,
        Err(stop) => return Err(TuneError::Bench(Box::new(stop), Box::new(sources))),
    };
    let target = request.options.target.name;
    let multiprocessor = Multiprocessor::of(target).unwrap_or(&MACHINES[0]);
    let mut found = Bench {
        kernels: Vec::new(),
        untuned: Vec::new(),
        fingerprint: fingerprint(request.source, &FileLoader),
        machine: Machine {
            name: gpu
                .as_ref()
                .map_or("simulator".to_owned(), |gpu| gpu.name.clone()),
            driver: gpu.as_ref().map_or(0, |gpu| gpu.driver),
            arch: target.to_owned(),
        },
        multiprocessor,
        multiprocessors: gpu.map_or(multiprocessor.sms, |gpu| gpu.multiprocessors),
        assembles: first != DeviceSpec::Sim,
        assertions: report.assertions,
    };
    for launch in recorded {
        add(&mut found, launch, &compiler, request)?;
    }
    if found.kernels.is_empty() {
        return Err(TuneError::NothingToTune {
            bench: request.bench.to_owned(),
            kernels: match found.untuned.is_empty() {
                true => "it launches none".to_owned(),
                false => found.untuned.join(", "),
            },
        });
    }
    Ok(found)
}

/// The device that the bench itself runs on.
fn first_device(request: &Request<'_>) -> DeviceSpec {
    request.devices.first().copied().unwrap_or(DeviceSpec::Sim)
}

/// Launches of a bench, without others beside those that it asks for.
fn launcher<'a>(
    request: &'a Request<'_>,
    compiler: &'a Compiler,
    sources: &'a SourceMap,
    device: &'a mut dyn Device,
) -> DeviceLauncher<'a> {
    DeviceLauncher::new(
        compiler,
        &FileLoader,
        request.source,
        sources,
        request.options,
        device,
        0,
    )
}

/// The block of a bench.
fn block<'a>(program: &'a Program, name: &str) -> Result<&'a BenchItem, TuneError> {
    let items = program.root().into_iter().flat_map(|root| &root.items);
    let benches = items.filter_map(|item| match &item.kind {
        ItemKind::Bench(bench) => Some(bench),
        _ => None,
    });
    let benches: Vec<&BenchItem> = benches.collect();
    let wanted = benches.iter().find(|bench| *bench.name.node == *name);
    wanted.copied().ok_or_else(|| {
        let names: Vec<&str> = benches.iter().map(|bench| &*bench.name.node).collect();
        TuneError::NoBench {
            name: name.to_owned(),
            known: match names.is_empty() {
                true => "a `bench` block in the file".to_owned(),
                false => names.join(", "),
            },
        }
    })
}

/// Runs the bench with the configurations of a plan, for its assertions.
pub(super) fn with_plan(request: &Request<'_>, plan: &Plan) -> Result<(), TuneError> {
    let (sources, program) = program::load(request.source, &FileLoader, &request.options.defines)?;
    let bench = block(&program, request.bench)?;
    let compiler = Compiler::new();
    let mut device = open_device(first_device(request), &request.cancel)?;
    let mut launcher = launcher(request, &compiler, &sources, device.as_mut());
    launcher.use_plan(plan);
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    let ran = interpreter.run(&bench.name.node, &bench.body, request.seed);
    request.go_on()?;
    match ran {
        Ok(_) => Ok(()),
        Err(stop) => Err(TuneError::Chosen(Box::new(stop), Box::new(sources))),
    }
}

/// Adds a launch, if its kernel has candidates and its size is new.
fn add(
    bench: &mut Bench,
    launch: RecordedLaunch,
    compiler: &Compiler,
    request: &Request<'_>,
) -> Result<(), TuneError> {
    let same = |tuned: &Tuned| tuned.kernel == launch.kernel && tuned.fixed == launch.defines;
    let known = match bench.kernels.iter().position(same) {
        Some(known) => known,
        None => {
            let options = options(request, &launch.kernel, &launch.defines, Emit::Abi);
            let space = compiler.configurations(request.source, &FileLoader, &options)?;
            if space.parameters.is_empty() {
                if !bench.untuned.contains(&launch.kernel) {
                    bench.untuned.push(launch.kernel);
                }
                return Ok(());
            }
            bench.kernels.push(Tuned {
                kernel: launch.kernel.clone(),
                fixed: launch.defines.clone(),
                space,
                launches: Vec::new(),
            });
            bench.kernels.len() - 1
        }
    };
    let Some(abi) = launch.artifact.kernel(&launch.kernel) else {
        return Ok(());
    };
    let args: Vec<Arg> = launch.before.iter().map(Value::as_arg).collect();
    let size = size(abi, &args);
    let launches = &mut bench.kernels[known].launches;
    if launches.iter().all(|launch| launch.size != size) {
        let workload = Arc::new(Workload {
            kernel: launch.kernel,
            args: launch.before,
            expected: launch.after,
        });
        launches.push(Size { size, workload });
    }
    Ok(())
}

/// Options for one kernel with these compile-time parameters.
pub(super) fn options(
    request: &Request<'_>,
    kernel: &str,
    defines: &[(String, String)],
    emit: Emit,
) -> Options {
    Options {
        emit,
        kernel: Some(kernel.to_owned()),
        defines: defines.to_vec(),
        threads: 1,
        ..request.options.clone()
    }
}
