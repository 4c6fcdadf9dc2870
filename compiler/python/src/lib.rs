//! The extension module `cutec._cutec`: the compiler, the simulator, GPUs and the program for Python.
//!
//! The package around it, `python/cutec`, is what users see: `load`, exceptions, and what other frameworks take.
//!
//! Modules in reading order:
//! - [`program`]: a source and its kernels, compiled one by one; [`compilation`]: one, for a target;
//! - [`kernel`]: the object that is called;
//! - [`arrays`]: what it is called with, of any framework; [`arguments`]: with numbers, for
//!   a kernel's ABI;
//! - [`gpu`], [`simulator`]: launches; [`attend`]: Ctrl-C and `sys.stdout` while they run; [`tvm_ffi`]: calls by another library than Python;
//! - [`tune`]: searches, step by step;
//! - [`errors`]: exceptions; [`profile`], [`pictures`]: what notebooks show.
//!
//! Invariants: Python's lock is released while a source is compiled and a kernel simulated, and no lock of ours is held
//! meanwhile; a launch on a GPU allocates nothing once its signature was seen; CUDA's current context is what it was after
//! every call.

mod arguments;
mod arrays;
mod attend;
mod compilation;
mod errors;
mod gpu;
mod kernel;
mod pictures;
mod profile;
mod program;
mod simulator;
mod tune;
mod tvm_ffi;

use cutec::files::{self, MAX_SOURCE_BYTES};
use cutec::plan::Plan;
use cutec::runtime::regular_file;
use cutec::{Cache, Source};
use kernel::{Kernel, Planned};
use program::Program;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The kernels of a source: of a file, where there is no text. PTX is kept in `cache`.
#[pyfunction]
#[pyo3(signature = (name, text, *, arch, defines, check, cache, plan = None))]
#[allow(clippy::too_many_arguments)]
fn kernels(
    py: Python<'_>,
    name: String,
    text: Option<String>,
    arch: &str,
    defines: &Bound<'_, PyDict>,
    check: bool,
    cache: Option<PathBuf>,
    plan: Option<PathBuf>,
) -> PyResult<Vec<Kernel>> {
    let plan = plan.map(|path| Plan::read(&path).map_err(|error| errors::message(py, error)));
    let plan = plan.transpose()?;
    let target = kernel::target(py, arch)?;
    let defines = kernel::define_texts(defines)?;
    let text = match text {
        Some(text) => text,
        None => {
            let unreadable = |reason: String| {
                let text = format!("cannot read {name}: {reason}");
                errors::message(py, text)
            };
            let bytes = regular_file::read(name.as_ref(), MAX_SOURCE_BYTES);
            let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
            files::text(bytes).map_err(unreadable)?
        }
    };
    let source = Source::new(name, text);
    // A folder that cannot be made keeps nothing, and the kernels work all the same.
    let cache = cache.and_then(|folder| Cache::open(folder).ok());
    let program = py.detach(|| {
        let fallback = target.unwrap_or(cutec_dialects::target::TARGETS[0]);
        Program::new(source, cache, fallback)
    });
    let program = Arc::new(program.map_err(|error| errors::compile(py, &error))?);
    if let Some(plan) = plan.as_ref().filter(|plan| !program.is_planned(plan)) {
        let text = format!(
            "the plan was made of another text than that of {}: tune again",
            plan.file
        );
        let warnings = py.import("warnings")?;
        warnings.call_method1("warn", (text,))?;
    }
    let statics = |name: &str| {
        let mut statics = program.kernels.iter().flat_map(|kernel| &kernel.statics);
        statics.any(|(known, _)| known == name)
    };
    if let Some((unknown, _)) = defines.iter().find(|(name, _)| !statics(name)) {
        let text = format!("no kernel has a compile-time parameter `{unknown}`");
        return Err(errors::message(py, text));
    }
    let kernels = program.kernels.iter().map(|info| {
        let mut own = defines.clone();
        own.retain(|(name, _)| info.statics.iter().any(|(known, _)| known == name));
        own.sort();
        let make =
            |defines| Kernel::new(Arc::clone(&program), info.clone(), defines, target, check);
        let planned = match &plan {
            Some(plan) => Planned::of(py, plan, info, &own, make)?,
            None => None,
        };
        Ok(make(own).with_plan(planned))
    });
    kernels.collect()
}

/// Runs the program `cutec` on arguments, of which the first is its name; returns the exit code.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cutec_driver::run(arguments))
}

/// Says how many GPUs of which target there are: the names of their targets.
#[pyfunction]
fn native_arch(py: Python<'_>) -> Option<&'static str> {
    gpu::Gpu::native(py).map(|target| target.name)
}

#[pymodule]
fn _cutec(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", cutec::VERSION)?;
    module.add_class::<Kernel>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<pictures::Layout>()?;
    module.add_class::<pictures::Atom>()?;
    module.add_function(wrap_pyfunction!(kernels, module)?)?;
    module.add_function(wrap_pyfunction!(run_program, module)?)?;
    module.add_function(wrap_pyfunction!(native_arch, module)?)?;
    module.add_class::<tune::Search>()?;
    module.add_function(wrap_pyfunction!(tune::search, module)?)?;
    module.add_function(wrap_pyfunction!(tune::measure_part, module)?)?;
    module.add_function(wrap_pyfunction!(tvm_ffi::tvm_ffi_entry, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::layout, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::atom, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::atoms, module)?)
}
