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

/// Tells the compiler where PyPI's packages of NVIDIA's tools are: PyTorch comes with libnvJitLink, Triton with ptxas.
pub(super) fn look_beside(py: Python<'_>) {
    /// Packages and folders of them, of several versions.
    const PACKAGES: [(&str, &[&str]); 2] = [
        ("nvidia", &["cu13", "nvjitlink", "cuda_nvcc", "cu12"]),
        ("triton", &["backends/nvidia"]),
    ];
    for (package, folders) in PACKAGES {
        // Without them there is nothing to say.
        let Ok(places) = places_of(py, package) else {
            continue;
        };
        for place in places {
            folders
                .iter()
                .map(|folder| place.join(folder))
                .filter(|folder| folder.is_dir())
                .for_each(also_look_in);
        }
    }
}

/// Where a package is. It is not imported: that may take long, and do things.
fn places_of(py: Python<'_>, package: &str) -> PyResult<Vec<PathBuf>> {
    let spec = py
        .import("importlib.util")?
        .call_method1("find_spec", (package,))?;
    let places = spec.getattr("submodule_search_locations")?;
    places.try_iter()?.map(|place| place?.extract()).collect()
}
