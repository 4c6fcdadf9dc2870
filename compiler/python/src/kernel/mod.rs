//! A kernel as a Python object: called, it launches.
//!
//! Here is the object, with what it is compiled to and loaded on; `call` reads the arguments of a call and launches; `planned` is
//! what a plan chooses for it, `targets` what is compiled for.

mod call;
mod planned;
mod targets;

use crate::arrays::Place;
use crate::compilation::Compilation;
use crate::errors;
use crate::gpu::{Gpu, OnGpu};
use crate::profile::Profile;
use crate::program::{Built, Choice, KernelInfo, Program};
use crate::simulator::InSimulator;
use call::{CallOptions, Scratch, UsePlan};
use cutec::runtime::abi::embed::to_json;
use cutec::{Emit, RenderOptions};
use cutec_dialects::target::Target;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use targets::look_beside;

pub use call::{Values, define_texts};
pub use planned::Planned;
pub use targets::{default_target, target};

/// A kernel of a module, with a choice of its compile-time parameters.
#[pyclass(frozen, module = "cutec", weakref)]
pub struct Kernel {
    program: Arc<Program>,
    info: KernelInfo,
    defines: Vec<(String, String)>,
    /// The target that was asked for; otherwise that of the device.
    target: Option<Target>,
    /// Whether every launch looks for data races.
    check: bool,
    /// Of the arguments, whether they are arrays.
    is_array: Vec<bool>,
    gpus: [OnceLock<Arc<OnGpu>>; MOST_GPUS],
    simulator: OnceLock<Arc<InSimulator>>,
    compilations: Mutex<HashMap<&'static str, Arc<Compilation>>>,
    family: Family,
    /// What a plan chooses by the extents of a call.
    planned: Option<Planned>,
}

/// Kernels that differ in their compile-time parameters from one of a module, by these parameters.
type Chosen = Mutex<BTreeMap<Vec<(String, String)>, Py<Kernel>>>;

/// Where kernels with other parameters are kept: with that of the module, which so keeps all of them, and none itself.
enum Family {
    Head(Arc<Chosen>),
    Member(Weak<Chosen>),
}

impl Family {
    fn chosen(&self) -> Option<Arc<Chosen>> {
        match self {
            Family::Head(chosen) => Some(Arc::clone(chosen)),
            Family::Member(chosen) => chosen.upgrade(),
        }
    }
}

/// GPUs of a machine, at most.
const MOST_GPUS: usize = 32;

/// A launch on one of the devices.
enum Loaded<'a> {
    Gpu(&'a Arc<OnGpu>),
    Simulator(&'a Arc<InSimulator>),
}

impl Kernel {
    /// A kernel of a program.
    pub fn new(
        program: Arc<Program>,
        info: KernelInfo,
        defines: Vec<(String, String)>,
        target: Option<Target>,
        check: bool,
    ) -> Self {
        let params = info.params.iter();
        Self {
            is_array: params
                .map(|param| param.ty.starts_with("tensor<"))
                .collect(),
            program,
            info,
            defines,
            target,
            check,
            gpus: [const { OnceLock::new() }; MOST_GPUS],
            simulator: OnceLock::new(),
            compilations: Mutex::default(),
            family: Family::Head(Arc::default()),
            planned: None,
        }
    }

    /// The same kernel, whose calls take what a plan chooses.
    pub fn with_plan(self, planned: Option<Planned>) -> Self {
        Self { planned, ..self }
    }

    /// The kernel for a target, compiled where it was not yet.
    fn compilation(&self, py: Python<'_>, target: Target) -> PyResult<Arc<Compilation>> {
        if let Some(known) = lock(&self.compilations).get(target.name) {
            return Ok(Arc::clone(known));
        }
        // Two threads may compile the same; neither waits for the other with Python's lock in its hands.
        let built = self.build(py, target, false)?;
        let compilation = Compilation::new(built, &self.info.name);
        let compilation = Arc::new(compilation.ok_or_else(|| {
            errors::message(
                py,
                format!("there is no kernel `{}` in the code", self.info.name),
            )
        })?);
        let mut compilations = lock(&self.compilations);
        let kept = compilations.entry(target.name).or_insert(compilation);
        Ok(Arc::clone(kept))
    }

    fn build(&self, py: Python<'_>, target: Target, remarks: bool) -> PyResult<Built> {
        let built = py.detach(|| self.program.ptx(&self.choice(target), remarks));
        built.map_err(|error| errors::cached(py, &error))
    }

    fn choice(&self, target: Target) -> Choice<'_> {
        Choice {
            kernel: &self.info.name,
            target,
            defines: &self.defines,
        }
    }

    /// What is compiled for where no array says more.
    fn own_target(&self, py: Python<'_>) -> Target {
        self.target.unwrap_or_else(|| default_target(py))
    }

    #[inline]
    fn on(&self, py: Python<'_>, place: Option<Place>) -> PyResult<Loaded<'_>> {
        match place {
            Some(Place::Gpu(index)) => match self.gpus.get(index).and_then(OnceLock::get) {
                Some(known) => Ok(Loaded::Gpu(known)),
                None => self.load_on(py, index),
            },
            Some(Place::Host) | None => self.in_simulator(py).map(Loaded::Simulator),
        }
    }

    #[cold]
    fn load_on(&self, py: Python<'_>, index: usize) -> PyResult<Loaded<'_>> {
        let slot = self.gpus.get(index);
        let slot = slot.ok_or_else(|| errors::no_device(py, format!("no device cuda:{index}")))?;
        let gpu = Gpu::open(py, index)?;
        let compilation = self.compilation(py, self.target.unwrap_or(gpu.target))?;
        let loaded = OnGpu::load(py, gpu, compilation)?;
        Ok(Loaded::Gpu(slot.get_or_init(|| loaded)))
    }

    fn in_simulator(&self, py: Python<'_>) -> PyResult<&Arc<InSimulator>> {
        if let Some(known) = self.simulator.get() {
            return Ok(known);
        }
        let compilation = self.compilation(py, self.own_target(py))?;
        let made = Arc::new(InSimulator::new(compilation));
        Ok(self.simulator.get_or_init(|| made))
    }

    /// The same kernel with other compile-time parameters; those that are not named stay as they are.
    fn choose(slf: &Bound<'_, Self>, defines: Vec<(String, String)>) -> PyResult<Py<Kernel>> {
        let (py, this) = (slf.py(), slf.get());
        let mut all: BTreeMap<String, String> = this.defines.iter().cloned().collect();
        for (name, value) in defines {
            if !this.info.statics.iter().any(|(known, _)| *known == name) {
                let known = names(this.info.statics.iter().map(|(name, _)| name.as_str()));
                let text = format!(
                    "`{}` has no compile-time parameter `{name}`: it has {known}",
                    this.info.name
                );
                return Err(PyErr::new::<PyKeyError, _>(text));
            }
            all.insert(name, value);
        }
        let defines: Vec<_> = all.into_iter().collect();
        if defines == this.defines {
            return Ok(slf.clone().unbind());
        }
        let chosen = this.family.chosen();
        if let Some(chosen) = &chosen
            && let Some(known) = lock(chosen).get(&defines)
        {
            return Ok(known.clone_ref(py));
        }
        let mut kernel = Kernel::new(
            Arc::clone(&this.program),
            this.info.clone(),
            defines.clone(),
            this.target,
            this.check,
        );
        let Some(chosen) = chosen else {
            return Py::new(py, kernel);
        };
        kernel.family = Family::Member(Arc::downgrade(&chosen));
        let kernel = Py::new(py, kernel)?;
        let mut chosen = lock(&chosen);
        Ok(chosen.entry(defines).or_insert(kernel).clone_ref(py))
    }

    fn emitted(&self, py: Python<'_>, emit: Emit, arch: Option<&str>) -> PyResult<cutec::Compiled> {
        let target = match arch {
            None => self.own_target(py),
            Some(arch) => target(py, arch)?.unwrap_or_else(|| self.own_target(py)),
        };
        if matches!(emit, Emit::Cubin | Emit::Sass) {
            look_beside(py);
        }
        let compiled = py.detach(|| self.program.emit(&self.choice(target), emit));
        compiled.map_err(|error| errors::compile(py, &error))
    }
}

impl Loaded<'_> {
    fn compilation(&self) -> &Arc<Compilation> {
        match self {
            Loaded::Gpu(kernel) => &kernel.compilation,
            Loaded::Simulator(kernel) => &kernel.compilation,
        }
    }
}

#[pymethods]
impl Kernel {
    /// Launch on the device of the arrays, in the current stream of their framework; arrays of the host run in the
    /// simulator.
    #[pyo3(signature = (*args, **options))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        /// Arguments that are held without an allocation.
        const FEW: usize = 8;
        let (py, this) = (slf.py(), slf.get());
        let count = args.len();
        if options.is_none() && count == this.info.params.len() {
            let options = CallOptions {
                check: this.check,
                ..CallOptions::default()
            };
            if count <= FEW {
                let mut few: [Option<Bound<'py, PyAny>>; FEW] = [const { None }; FEW];
                for (place, arg) in few.iter_mut().zip(args.iter()) {
                    *place = Some(arg);
                }
                let few = few.map(|arg| arg.unwrap_or_else(|| py.None().into_bound(py)));
                return this.launch(py, &few[..count], &options);
            }
            let args: Vec<Bound<'py, PyAny>> = args.iter().collect();
            return this.launch(py, args.as_slice(), &options);
        }
        let (args, options, defines) = this.arrange(py, args, options)?;
        if defines.is_empty() {
            return this.launch(py, args.as_slice(), &options);
        }
        let chosen = Kernel::choose(slf, defines)?;
        chosen.get().launch(py, args.as_slice(), &options)
    }

    /// With other compile-time parameters: `kernel[{"bm": 64}]`.
    fn __getitem__(slf: &Bound<'_, Self>, parameters: &Bound<'_, PyDict>) -> PyResult<Py<Kernel>> {
        Kernel::choose(slf, define_texts(parameters)?)
    }

    /// With other compile-time parameters: `kernel.specialize(bm=64)`.
    #[pyo3(signature = (**parameters))]
    fn specialize(
        slf: &Bound<'_, Self>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Kernel>> {
        match parameters {
            Some(parameters) => Kernel::choose(slf, define_texts(parameters)?),
            None => Ok(slf.clone().unbind()),
        }
    }

    /// Compile ahead of the first launch: for `arch`, or for the device of the arguments, whose signature is then known.
    #[pyo3(signature = (*args, arch = None, **options))]
    fn compile<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        arch: Option<&str>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<Kernel>> {
        let (py, this) = (slf.py(), slf.get());
        if args.is_empty() && options.is_none() {
            let found = match arch {
                Some(arch) => target(py, arch)?,
                None => None,
            };
            this.compilation(py, found.unwrap_or_else(|| this.own_target(py)))?;
            return Ok(slf.clone().unbind());
        }
        if arch.is_some() {
            let text =
                "`arch` and example arguments: the arguments' device says what to compile for";
            return Err(PyErr::new::<PyTypeError, _>(text));
        }
        let (args, _, defines) = this.arrange(py, args, options)?;
        let chosen = Kernel::choose(slf, defines)?;
        let kernel = chosen.get();
        let mut scratch = Scratch::default();
        match kernel.read(py, args.as_slice(), None, UsePlan::Yes, &mut scratch)? {
            Loaded::Gpu(loaded) => loaded.check(py, &scratch.arrays, &scratch.scalars)?,
            Loaded::Simulator(loaded) => loaded.check(py, &scratch.arrays, &scratch.scalars)?,
        }
        Ok(chosen)
    }

    /// Run in the simulator, and say what each line of the source costs.
    #[pyo3(signature = (*args, **options))]
    fn profile<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Profile> {
        let (py, this) = (slf.py(), slf.get());
        let (args, _, defines) = this.arrange(py, args, options)?;
        let chosen = Kernel::choose(slf, defines)?;
        let kernel = chosen.get();
        let mut scratch = Scratch::default();
        match kernel.read(py, args.as_slice(), None, UsePlan::Yes, &mut scratch)? {
            Loaded::Gpu(_) => {
                let text = "profiles are made in the simulator: give arrays in memory of the host";
                Err(errors::argument(py, text, "Device", None))
            }
            Loaded::Simulator(loaded) => {
                look_beside(py);
                let profiles = loaded.profile(py, &scratch.arrays, &scratch.scalars)?;
                let target = kernel.own_target(py);
                Ok(Profile::new(
                    profiles,
                    &loaded.compilation,
                    &kernel.defines,
                    target,
                ))
            }
        }
    }

    /// What the compiler makes of the kernel at a level: "tile", "cute", "mlir", "llvm", "ptx", "cubin", "sass", "abi".
    #[pyo3(signature = (level, *, arch = None))]
    fn emit<'py>(
        &self,
        py: Python<'py>,
        level: &str,
        arch: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let emit = Emit::ALL.into_iter().find(|emit| emit.name() == level);
        let Some(emit) = emit else {
            let known = names(Emit::ALL.into_iter().map(Emit::name));
            let text = format!("no level `{level}`: expected one of {known}");
            return Err(errors::argument(py, text, "Level", None));
        };
        let compiled = self.emitted(py, emit, arch)?;
        Ok(match compiled.text() {
            Some(text) => PyString::new(py, text).into_any(),
            None => PyBytes::new(py, compiled.content.bytes()).into_any(),
        })
    }

    /// As an operator of PyTorch; see `cutec.torch.torch_op`.
    fn torch_op<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("cutec.torch")?;
        module.call_method1("torch_op", (slf, name))
    }

    /// As a `tvm_ffi.Function`.
    fn tvm_ffi<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("cutec._tvm_ffi")?;
        module.call_method1("function", (slf,))
    }

    /// What the kernel writes, as new arrays of JAX; see `cutec.jax.call`.
    #[pyo3(signature = (*args))]
    fn jax<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let call = slf.py().import("cutec.jax")?.getattr("call")?;
        let kernel = PyTuple::new(slf.py(), [slf])?;
        call.call1(
            kernel
                .as_sequence()
                .concat(args.as_sequence())?
                .to_tuple()?,
        )
    }

    /// Name in the source.
    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.info.name
    }

    /// What `inspect.signature` and editors show.
    #[getter]
    fn __signature__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("cutec._module")?;
        module.call_method1("signature", (slf,))
    }

    /// The `///` lines before it.
    #[getter]
    fn docs(&self) -> &str {
        &self.info.docs
    }

    /// Names of the arguments.
    #[getter]
    fn arguments(&self) -> Vec<&str> {
        let params = self.info.params.iter();
        params.map(|param| param.name.as_str()).collect()
    }

    /// Names of the arguments that the kernel writes.
    #[getter]
    fn outputs(&self) -> Vec<&str> {
        let params = self.info.params.iter().filter(|param| param.mutable);
        params.map(|param| param.name.as_str()).collect()
    }

    /// The types of the arguments as the source has them, by name.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for param in &self.info.params {
            types.set_item(&param.name, &param.ty)?;
        }
        Ok(types)
    }

    /// The compile-time parameters, with what was chosen or else the text of their defaults.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for (name, default) in &self.info.statics {
            let chosen = self.defines.iter().find(|(known, _)| known == name);
            let value = chosen.map(|(_, value)| value).or(default.as_ref());
            parameters.set_item(name, value)?;
        }
        Ok(parameters)
    }

    /// Of the compile-time parameters that have candidates, these as the source has them.
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let candidates = PyDict::new(py);
        for (name, text) in &self.info.candidates {
            candidates.set_item(name, text)?;
        }
        Ok(candidates)
    }

    /// The conditions between candidates, as the source has them.
    #[getter]
    fn tunable(&self) -> Vec<&str> {
        self.info.tunable.iter().map(String::as_str).collect()
    }

    /// What was chosen of the compile-time parameters.
    #[getter]
    fn defines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let defines = PyDict::new(py);
        for (name, value) in &self.defines {
            defines.set_item(name, value)?;
        }
        Ok(defines)
    }

    /// The target of `ptx`, `cubin` and `sass`, and of launches in the simulator.
    #[getter]
    fn arch(&self, py: Python<'_>) -> &'static str {
        self.own_target(py).name
    }

    /// PTX with the kernel's ABI.
    #[getter]
    fn ptx(&self, py: Python<'_>) -> PyResult<String> {
        let compilation = self.compilation(py, self.own_target(py))?;
        match &compilation.built.artifact.code {
            cutec::runtime::Code::Ptx(ptx) => Ok(ptx.clone()),
            cutec::runtime::Code::Cubin(_) => Ok(String::new()),
        }
    }

    /// Machine code; needs libnvJitLink or ptxas.
    #[getter]
    fn cubin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let compiled = self.emitted(py, Emit::Cubin, None)?;
        Ok(PyBytes::new(py, compiled.content.bytes()))
    }

    /// Machine code as text; needs nvdisasm too.
    #[getter]
    fn sass(&self, py: Python<'_>) -> PyResult<String> {
        let compiled = self.emitted(py, Emit::Sass, None)?;
        Ok(compiled.text().unwrap_or_default().to_owned())
    }

    /// Registers a thread, as the assembler reports them.
    #[getter]
    fn registers(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        let compiled = self.emitted(py, Emit::Cubin, None)?;
        let abi = compiled.abi.as_ref();
        let kernel = abi.and_then(|abi| abi.kernel(&self.info.name));
        let resources = kernel.and_then(|kernel| kernel.resources);
        Ok(resources.map(|resources| resources.registers))
    }

    /// What a host must know to launch the kernel, as `cutec --emit abi` has it.
    #[getter]
    fn abi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let compilation = self.compilation(py, self.own_target(py))?;
        let json = to_json(&compilation.built.artifact.abi);
        let parsed = py.import("json")?.call_method1("loads", (json,))?;
        parsed.get_item(intern!(py, "kernels"))?.get_item(0)
    }

    /// What looks wrong in the source.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let compilation = self.compilation(py, self.own_target(py))?;
        let built = &compilation.built;
        errors::diagnostics(py, &built.warnings, &built.sources)
    }

    /// What each copy and product became, and why nothing faster.
    #[getter]
    fn remarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let built = self.build(py, self.own_target(py), true)?;
        errors::diagnostics(py, &built.remarks, &built.sources)
    }

    /// Warnings and remarks as text, with the lines of the source.
    #[pyo3(signature = (*, color = false))]
    fn explain(&self, py: Python<'_>, color: bool) -> PyResult<String> {
        let built = self.build(py, self.own_target(py), true)?;
        let notices: Vec<_> = built
            .warnings
            .iter()
            .chain(&built.remarks)
            .cloned()
            .collect();
        let options = RenderOptions {
            color,
            unicode: color,
        };
        Ok(cutec::report::render(
            &notices,
            &[],
            &built.sources,
            options,
        ))
    }

    fn __repr__(&self) -> String {
        let params = self.info.params.iter();
        let params: Vec<String> = params
            .map(|param| {
                let mutable = if param.mutable { "mut " } else { "" };
                format!("{}: {mutable}{}", param.name, param.ty)
            })
            .collect();
        let statics = self.info.statics.iter().map(|(name, default)| {
            let chosen = self.defines.iter().find(|(known, _)| known == name);
            match chosen.map(|(_, value)| value).or(default.as_ref()) {
                Some(value) => format!("{name} = {value}"),
                None => name.clone(),
            }
        });
        let statics: Vec<String> = statics.collect();
        let statics = match statics.is_empty() {
            true => String::new(),
            false => format!("<{}>", statics.join(", ")),
        };
        format!(
            "<kernel {}{statics}({})>",
            self.info.name,
            params.join(", ")
        )
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.is_empty() {
        true => "none".to_owned(),
        false => quoted.join(", "),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
