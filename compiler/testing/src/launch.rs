//! Kernels for `test` and `bench` blocks: compiled once for each set of compile-time parameters, run
//! on the device that the user chose.

use super::problem::{Stop, TOLD, TestProblem};
use super::value::HostTensor;
use cutec::fault::Fault;
use cutec::{Compiler, Diagnostics, Emit, Failure, Options, Source};
use cutec_frontend::Calls;
use cutec_frontend::ast::Kernel;
use cutec_frontend::diagnostics::{Diagnostic, Label};
use cutec_frontend::source::{SourceLoader, SourceMap, Span};
use cutec_runtime::abi::{Arg, ArgAbi, BindError, KernelAbi, ScalarValue};
use cutec_runtime::number::Number;
use cutec_runtime::{Artifact, DType, Device, Loaded, RunError, Tensor, Value, sim};
use cutec_tuning::Plan;
use cutec_tuning::candidate::size;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A launch as a block states it.
pub struct KernelCall<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The compile-time parameters that it has.
    pub parameters: Vec<&'a str>,
    /// Those that the block sets, as text, in the order given.
    pub defines: Vec<(String, String)>,
    /// Its arguments.
    pub arguments: Vec<LaunchArgument>,
    /// Where each argument stands in the call.
    pub places: Vec<Span>,
    /// The parameters of the kernel: name, and where it is declared.
    pub declared: Vec<(&'a str, Span)>,
    /// The call.
    pub span: Span,
}

/// An argument of a launch.
pub enum LaunchArgument {
    /// A tensor; the kernel's result is written to it.
    Tensor(Rc<HostTensor>),
    /// A number; the kernel's ABI says in which type it is passed.
    Number(Number),
}

/// Runs kernels for the interpreter.
pub trait Launcher {
    /// Runs one kernel to its end.
    ///
    /// # Errors
    /// Why it was not run, or what went wrong in it.
    fn launch(&self, call: &KernelCall<'_>) -> Result<(), Stop>;
}

/// Compiles and launches.
pub struct DeviceLauncher<'a> {
    compiler: &'a Compiler,
    loader: &'a dyn SourceLoader,
    source: &'a Source,
    sources: &'a SourceMap,
    options: &'a Options,
    device: RefCell<&'a mut dyn Device>,
    /// `None` where a kernel does not compile.
    compiled: RefCell<HashMap<Key, Option<Arc<Artifact>>>>,
    /// By kernel, what calls led to places in functions. Files have the numbers that they have in `sources`: they are
    /// loaded in the same order.
    calls: RefCell<HashMap<String, Calls>>,
    /// Errors and warnings of kernels that were told already: each is told once.
    told: RefCell<Vec<Diagnostic>>,
    warnings: RefCell<Vec<Diagnostics>>,
    repeats: usize,
    measured: RefCell<Vec<Measurement>>,
    /// Launches with what they were given and gave, where they are asked for.
    recorded: RefCell<Option<Vec<RecordedLaunch>>>,
    /// What chooses parameters that a block does not set.
    plan: Option<&'a Plan>,
    /// What other launchers compile too.
    shared: Option<&'a SharedKernels>,
}

/// Kernels of one file that several launchers compile, on threads of their own: each once, by whoever needs it first.
#[derive(Default)]
pub struct SharedKernels(Mutex<HashMap<Key, Arc<OnceLock<Compiled>>>>);

/// A kernel's code with its warnings, or what is wrong.
type Compiled = Result<(Code, Diagnostics), Diagnostics>;

/// A kernel's code, and what calls led to places in functions.
#[derive(Clone)]
struct Code {
    artifact: Arc<Artifact>,
    calls: Arc<Calls>,
}

impl SharedKernels {
    fn compiled(&self, key: &Key, compile: impl FnOnce() -> Compiled) -> Compiled {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = Arc::clone(kernels.entry(key.clone()).or_default());
        drop(kernels);
        match kernel.get_or_init(compile) {
            Ok((code, warnings)) => Ok((code.clone(), copied(warnings))),
            Err(error) => Err(copied(error)),
        }
    }
}

/// The same diagnostics; failures by their texts.
fn copied(diagnostics: &Diagnostics) -> Diagnostics {
    let failures = diagnostics.failures.iter();
    Diagnostics {
        sources: diagnostics.sources.clone(),
        problems: diagnostics.problems.clone(),
        failures: failures
            .map(|failure| Failure::Abi(failure.to_string()))
            .collect(),
    }
}

/// A launch with what it was given and what it gave.
#[derive(Debug, Clone)]
pub struct RecordedLaunch {
    /// The kernel.
    pub kernel: String,
    /// The compile-time parameters that the block set, and those of the options that the kernel has.
    pub defines: Vec<(String, String)>,
    /// The arguments before the launch.
    pub before: Vec<Value>,
    /// What it wrote, for each argument that it writes.
    pub after: Vec<Option<Tensor>>,
    /// The code.
    pub artifact: Arc<Artifact>,
    /// The launch in the block.
    pub span: Span,
}

/// A kernel by its name and the compile-time parameters that are set.
pub(super) type Key = (String, Defines);

/// Compile-time parameters that are set, with their values.
pub(super) type Defines = Vec<(String, String)>;

/// What is known about one launch.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The kernel.
    pub kernel: String,
    /// Its compile-time parameters.
    pub defines: Vec<(String, String)>,
    /// Times of the repeated launches; none on a device that has no clock.
    pub times: Vec<Duration>,
    /// The code.
    pub artifact: Arc<Artifact>,
    /// What the simulator counted.
    pub stats: Option<cutec_runtime::sim::Stats>,
    /// How long the simulator took.
    pub simulated: Option<Duration>,
}

impl<'a> DeviceLauncher<'a> {
    /// A launcher for the kernels of `source`; `sources` holds it as the blocks were parsed. Each launch is repeated `repeats` times for its time.
    pub fn new(
        compiler: &'a Compiler,
        loader: &'a dyn SourceLoader,
        source: &'a Source,
        sources: &'a SourceMap,
        options: &'a Options,
        device: &'a mut dyn Device,
        repeats: usize,
    ) -> Self {
        Self {
            compiler,
            loader,
            source,
            sources,
            options,
            device: RefCell::new(device),
            compiled: RefCell::new(HashMap::new()),
            calls: RefCell::new(HashMap::new()),
            told: RefCell::new(Vec::new()),
            warnings: RefCell::new(Vec::new()),
            repeats,
            measured: RefCell::new(Vec::new()),
            recorded: RefCell::new(None),
            plan: None,
            shared: None,
        }
    }

    /// Kernels are compiled together with other launchers of the same source and options.
    pub fn share(&mut self, kernels: &'a SharedKernels) {
        self.shared = Some(kernels);
    }

    /// Later launches take the configuration that a plan chooses by their extents, where it names their kernel with the
    /// parameters that are set.
    pub fn use_plan(&mut self, plan: &'a Plan) {
        self.plan = Some(plan);
    }

    /// The parameters that a launch has besides those that the plan chooses: what the block sets, and of the options what
    /// the kernel has.
    fn fixed(&self, call: &KernelCall<'_>) -> Defines {
        let mut defines = self.options.defines.clone();
        defines.retain(|(name, _)| {
            let given = call.defines.iter().any(|(given, _)| given == name);
            call.parameters.contains(&name.as_str()) && !given
        });
        defines.extend(call.defines.iter().cloned());
        defines
    }

    /// What the block sets, and what the plan chooses for these arguments; that alone where the arguments do not fit the
    /// chosen configuration.
    fn planned(
        &self,
        call: &KernelCall<'_>,
        defaults: Arc<Artifact>,
    ) -> Result<(Arc<Artifact>, Defines), Stop> {
        let by_hand = || Ok((Arc::clone(&defaults), call.defines.clone()));
        let plan = self
            .plan
            .and_then(|plan| plan.kernel(call.kernel, &self.fixed(call)));
        let (Some(plan), Some(abi)) = (plan, defaults.kernel(call.kernel)) else {
            return by_hand();
        };
        let args: Vec<Arg> = self.values(call, abi)?.iter().map(Value::as_arg).collect();
        let size = size(abi, &args);
        let extent = |name: &String| size.iter().find(|(known, _)| known == name);
        let extents = plan
            .symbols
            .iter()
            .map(|name| extent(name).map(|(_, value)| *value));
        let Some(extents) = extents.collect::<Option<Vec<i64>>>() else {
            return by_hand();
        };
        let Some(chosen) = plan.choose(&extents) else {
            return by_hand();
        };
        let mut defines = call.defines.clone();
        defines.extend(chosen.configuration());
        let artifact = self.compiled(call, &defines)?;
        let fits = artifact
            .kernel(call.kernel)
            .is_some_and(|abi| abi.bind(&args).is_ok());
        match fits {
            true => Ok((artifact, defines)),
            false => by_hand(),
        }
    }

    /// A kernel's code, or why the launch is refused.
    fn compiled(
        &self,
        call: &KernelCall<'_>,
        defines: &[(String, String)],
    ) -> Result<Arc<Artifact>, Stop> {
        let artifact = self.artifact(call.kernel, &call.parameters, defines);
        artifact.map_err(|cause| {
            let reason = "it does not compile".to_owned();
            let notes = match cause {
                Some(_) => Vec::new(),
                None => vec![TOLD.to_owned()],
            };
            let mut stop = refused(call, reason, notes);
            stop.cause = cause;
            stop
        })
    }

    /// The arguments as a kernel with this ABI takes them.
    fn values(&self, call: &KernelCall<'_>, kernel: &KernelAbi) -> Result<Vec<Value>, Stop> {
        let mut values = Vec::with_capacity(call.arguments.len());
        for (position, argument) in call.arguments.iter().enumerate() {
            values.push(match (argument, kernel.args.get(position)) {
                (LaunchArgument::Tensor(tensor), _) => Value::Tensor(tensor.borrow().clone()),
                (LaunchArgument::Number(number), Some(ArgAbi::Scalar(scalar))) => {
                    let value = number.to_scalar(scalar.dtype);
                    let value = value.map_err(|error| {
                        let reason = format!("`{}`: {error}", scalar.name);
                        at_argument(call, &scalar.name, refused(call, reason, Vec::new()))
                    })?;
                    Value::Scalar(value)
                }
                // Binding reports the wrong kind.
                (LaunchArgument::Number(_), _) => Value::Scalar(ScalarValue::new(DType::F64, 0.0)),
            });
        }
        Ok(values)
    }

    /// Keeps what later launches are given and give, for [`DeviceLauncher::take_recorded`].
    pub fn record(&self) {
        self.recorded.borrow_mut().get_or_insert_default();
    }

    /// The launches since they are recorded.
    pub fn take_recorded(&self) -> Vec<RecordedLaunch> {
        self.recorded.take().unwrap_or_default()
    }

    /// The launches since the last call.
    pub fn take_measurements(&self) -> Vec<Measurement> {
        self.measured.take()
    }

    /// What looks wrong in kernels that were compiled since the last call; each thing once.
    pub fn take_warnings(&self) -> Vec<Diagnostics> {
        self.warnings.take()
    }

    /// What the simulator says while it runs is about this.
    pub fn announce(&self, what: &str) {
        if let Some(simulator) = self.device.borrow_mut().as_sim() {
            simulator.options_mut().progress = sim::Progress::terminal(what);
        }
    }

    /// What kernels print in the simulator goes there.
    pub fn print_to(&self, output: sim::Output) {
        if let Some(simulator) = self.device.borrow_mut().as_sim() {
            simulator.options_mut().output = output;
        }
    }

    /// The kernels that were compiled for launches.
    pub fn launched(&self) -> Vec<String> {
        let compiled = self.compiled.borrow();
        compiled.keys().map(|(name, _)| name.clone()).collect()
    }

    /// Compiles those of `kernels` that no launch has asked for and that need no compile-time parameters. Gives the names
    /// of those that do not compile, with what is wrong and was not told before.
    pub fn compile_unlaunched<'k>(
        &self,
        kernels: impl IntoIterator<Item = &'k Kernel>,
    ) -> Vec<(&'k str, Option<Box<Diagnostics>>)> {
        let mut wrong = Vec::new();
        for kernel in kernels {
            let name = &*kernel.name.node;
            let launched = self
                .compiled
                .borrow()
                .keys()
                .any(|(known, _)| known == name);
            let given = |name: &str| self.options.defines.iter().any(|(known, _)| known == name);
            let mut parameters = kernel.static_params.iter();
            if launched || !parameters.all(|p| p.default.is_some() || given(&p.name.node)) {
                continue;
            }
            let parameters = kernel.static_params.iter();
            let parameters: Vec<&str> = parameters.map(|param| &*param.name.node).collect();
            if let Err(cause) = self.artifact(name, &parameters, &[]) {
                wrong.push((name, cause));
            }
        }
        wrong
    }

    /// The error of a run: its first line is the reason, the rest are notes; the line of the kernel is
    /// shown where the simulator knows it.
    fn failure(&self, call: &KernelCall<'_>, error: &RunError) -> Stop {
        let error = match error {
            RunError::Device(error) => error,
            RunError::Bind(error) => return refused_by(call, error),
        };
        let known = self.calls.borrow();
        let mut fault = match known.get(call.kernel) {
            Some(calls) => Fault::of(error, self.sources, calls),
            None => Fault::of(error, self.sources, &Calls::default()),
        };
        fault.notes.extend(compiled_with(call));
        let mut stop = TestProblem::Run {
            kernel: call.kernel.to_owned(),
            reason: fault.reason,
            notes: fault.notes,
        }
        .at(call.span);
        // Where it happened comes first, so that the report leads there.
        stop.diagnostic.labels.splice(0..0, fault.labels);
        stop.diagnostic.help = fault.help;
        stop
    }

    /// Which of the legal schedules later launches have, where the simulator runs them.
    pub fn set_schedule(&self, number: u64) {
        if let Some(simulator) = self.device.borrow_mut().as_sim() {
            simulator.set_schedule(number);
        }
    }

    /// A kernel's code, compiled once. Where there is none, what is wrong and was not told before.
    fn artifact(
        &self,
        kernel: &str,
        parameters: &[&str],
        defines: &[(String, String)],
    ) -> Result<Arc<Artifact>, Option<Box<Diagnostics>>> {
        let key = (kernel.to_owned(), defines.to_vec());
        if let Some(known) = self.compiled.borrow().get(&key) {
            return known.clone().ok_or(None);
        }
        let mut options = options_of(self.options, kernel, parameters, defines);
        options.emit = Emit::Ptx;
        let compile = || self.compile(&options);
        let compiled = match self.shared {
            Some(shared) => shared.compiled(&key, compile),
            None => compile(),
        };
        match compiled {
            Ok((Code { artifact, calls }, mut warnings)) => {
                let mut known = self.calls.borrow_mut();
                known.entry(kernel.to_owned()).or_default().merge(&calls);
                self.retain_untold(&mut warnings.problems);
                if !warnings.problems.is_empty() {
                    self.warnings.borrow_mut().push(warnings);
                }
                let known = Some(Arc::clone(&artifact));
                self.compiled.borrow_mut().insert(key, known);
                Ok(artifact)
            }
            Err(mut error) => {
                self.retain_untold(&mut error.problems);
                self.compiled.borrow_mut().insert(key, None);
                let told = error.problems.is_empty() && error.failures.is_empty();
                Err((!told).then(|| Box::new(error)))
            }
        }
    }

    fn compile(&self, options: &Options) -> Compiled {
        let compiled = self.compiler.compile(self.source, self.loader, options)?;
        let artifact = compiled.artifact();
        let sources = compiled.sources;
        match artifact {
            Ok(artifact) => {
                let warnings = Diagnostics {
                    sources,
                    problems: compiled.warnings,
                    failures: Vec::new(),
                };
                let code = Code {
                    artifact: Arc::new(artifact),
                    calls: Arc::new(compiled.calls),
                };
                Ok((code, warnings))
            }
            Err(error) => Err(Diagnostics {
                sources,
                problems: Vec::new(),
                failures: vec![Failure::Abi(error.to_string())],
            }),
        }
    }

    /// Leaves what was not told before, and takes note of it.
    fn retain_untold(&self, problems: &mut Vec<Diagnostic>) {
        let mut told = self.told.borrow_mut();
        problems.retain(|problem| {
            let known = |old: &Diagnostic| problem.repeats(old) && problem.message == old.message;
            let new = !told.iter().any(known);
            if new {
                told.push(problem.clone());
            }
            new
        });
    }
}

impl Launcher for DeviceLauncher<'_> {
    fn launch(&self, call: &KernelCall<'_>) -> Result<(), Stop> {
        let artifact = self.compiled(call, &call.defines)?;
        let (artifact, defines) = self.planned(call, artifact)?;
        let Some(kernel) = artifact.kernel(call.kernel) else {
            let reason = "the compiler made no code for it".to_owned();
            return Err(refused(call, reason, Vec::new()));
        };
        let mut values = self.values(call, kernel)?;

        let before = self.recorded.borrow().as_ref().map(|_| values.clone());
        let mut device = self.device.borrow_mut();
        let device: &mut dyn Device = &mut **device;
        let failed = |error: RunError| self.failure(call, &error);
        let loaded = Loaded::load(device, &artifact).map_err(|error| failed(error.into()))?;
        let report = loaded.run_timed(device, call.kernel, &mut values, self.repeats);
        let report = report.map_err(failed)?;

        self.measured.borrow_mut().push(Measurement {
            kernel: call.kernel.to_owned(),
            defines,
            times: report.times,
            artifact: Arc::clone(&artifact),
            stats: report.report.stats,
            simulated: report.report.simulated,
        });
        if let (Some(recorded), Some(before)) = (self.recorded.borrow_mut().as_mut(), before) {
            let after = values.iter().zip(&kernel.args).map(|(value, abi)| {
                let written = abi.as_tensor().is_some_and(|tensor| tensor.mutable);
                value.as_tensor().filter(|_| written).cloned()
            });
            recorded.push(RecordedLaunch {
                kernel: call.kernel.to_owned(),
                defines: self.fixed(call),
                before,
                after: after.collect(),
                artifact: Arc::clone(&artifact),
                span: call.span,
            });
        }
        for ((argument, value), abi) in call.arguments.iter().zip(values).zip(&kernel.args) {
            let written = abi.as_tensor().is_some_and(|tensor| tensor.mutable);
            if let (LaunchArgument::Tensor(tensor), Value::Tensor(result), true) =
                (argument, value, written)
            {
                *tensor.borrow_mut() = result;
            }
        }
        Ok(())
    }
}

/// The options of a kernel alone. `-D` is for those kernels of the file that have the parameter, and what the block says
/// wins.
pub(super) fn options_of(
    options: &Options,
    kernel: &str,
    parameters: &[&str],
    defines: &[(String, String)],
) -> Options {
    let mut options = options.clone();
    options.kernel = Some(kernel.to_owned());
    options.defines.retain(|(name, _)| {
        parameters.contains(&name.as_str()) && !defines.iter().any(|(given, _)| given == name)
    });
    options.defines.extend(defines.iter().cloned());
    options
}

/// With which parameters a launch asks for its kernel, as a note.
pub(super) fn compiled_with(call: &KernelCall<'_>) -> Option<String> {
    let pairs = call.defines.iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    (!pairs.is_empty()).then(|| format!("compiled with {}", pairs.join(", ")))
}

/// A launch whose arguments are refused: the first line says why, the others are notes.
pub(super) fn refused_by(call: &KernelCall<'_>, error: &BindError) -> Stop {
    let text = error.to_string();
    let mut lines = text.lines();
    let reason = lines.next().unwrap_or("it failed").to_owned();
    let mut notes: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    notes.extend(compiled_with(call));
    let stop = refused(call, reason, notes);
    match error.arg() {
        Some(name) => at_argument(call, name, stop),
        None => stop,
    }
}

/// What is said of a launch, at the argument that is not as its parameter declares it.
pub(super) fn at_argument(call: &KernelCall<'_>, name: &str, mut stop: Stop) -> Stop {
    let mut declared = call.declared.iter().zip(&call.places);
    if let Some(((_, parameter), argument)) = declared.find(|((known, _), _)| *known == name) {
        let label = |span: &Span, text: &str| Label {
            span: *span,
            text: text.to_owned(),
        };
        let labels = &mut stop.diagnostic.labels;
        labels.insert(0, label(argument, "this argument"));
        labels.push(label(parameter, "declared here"));
        labels.retain(|label| label.span != call.span);
    }
    stop
}

pub(super) fn refused(call: &KernelCall<'_>, reason: String, notes: Vec<String>) -> Stop {
    TestProblem::Launch {
        kernel: call.kernel.to_owned(),
        reason,
        notes,
    }
    .at(call.span)
}
