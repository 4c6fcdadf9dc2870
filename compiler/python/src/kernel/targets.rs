//! What kernels are compiled for, and where the tools for that are.

use crate::errors;
use crate::gpu::Gpu;
use cutec::codegen::locate::also_look_in;
use cutec_dialects::target::Target;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What kernels for arrays of the host are compiled for where there is no GPU: what has all instructions.
const SIMULATED: &str = "sm_90a";

/// The target of a name; `None` of "native", which the device decides.
pub fn target(py: Python<'_>, name: &str) -> PyResult<Option<Target>> {
    match name {
        "native" => Ok(None),
        _ => Target::parse(name)
            .map(Some)
            .map_err(|error| errors::message(py, error)),
    }
}

/// What is compiled for where nothing else says it: the first GPU, else all that the simulator knows.
pub fn default_target(py: Python<'_>) -> Target {
    static KNOWN: OnceLock<Target> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let simulated = || Target::parse(SIMULATED).unwrap_or(cutec_dialects::target::TARGETS[0]);
        Gpu::native(py).unwrap_or_else(simulated)
    })
}

/// Tells the compiler where PyPI's packages of NVIDIA's tools are: PyTorch comes with libnvJitLink.
pub(super) fn look_beside(py: Python<'_>) {
    /// Folders of the packages, of several versions.
    const PACKAGES: [&str; 4] = ["cu13", "nvjitlink", "cuda_nvcc", "cu12"];
    let packages = py
        .import("nvidia")
        .and_then(|nvidia| nvidia.getattr("__path__"));
    // Without them there is nothing to say.
    let Ok(paths) = packages.and_then(|packages| packages.try_iter()) else {
        return;
    };
    for path in paths.flatten() {
        let Ok(path) = path.extract::<PathBuf>() else {
            continue;
        };
        let folders = PACKAGES.iter().map(|package| path.join(package));
        folders
            .filter(|folder| folder.is_dir())
            .for_each(also_look_in);
    }
}
