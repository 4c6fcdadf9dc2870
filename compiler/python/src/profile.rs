//! What launches in the simulator cost, as text, as a page and as data.

use crate::compilation::Compilation;
use cutec::Options;
use cutec::runtime::sim;
use cutec_dialects::target::Target;
use cutec_driver::profile::{LaunchReport, html, text};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a launch in the simulator cost, line by line of the source; a notebook shows it as a page.
#[pyclass(frozen, module = "cutec")]
pub struct Profile(Vec<LaunchReport>);

impl Profile {
    /// Gathers what was counted.
    pub fn new(
        profiles: Vec<sim::Profile>,
        compilation: &Compilation,
        defines: &[(String, String)],
        target: Target,
    ) -> Self {
        let built = &compilation.built;
        let options = Options {
            defines: defines.to_vec(),
            ..Options::new(target)
        };
        let report = |profile| {
            let defines = defines.to_vec();
            LaunchReport::new(profile, defines, &built.artifact, &built.sources, &options)
        };
        Self(profiles.into_iter().map(report).collect())
    }
}

#[pymethods]
impl Profile {
    /// As `cutec profile` prints it.
    #[getter]
    fn text(&self) -> String {
        text::show(&self.0)
    }

    /// A page that stands by itself.
    #[getter]
    fn html(&self) -> String {
        html::page(&self.0)
    }

    /// Everything that was counted, as `cutec profile --json` has it: one entry a launch.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = serde_json::to_string(&self.0);
        let json = json.map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        let kernels: Vec<&str> = self.0.iter().map(|launch| launch.kernel.as_str()).collect();
        format!("<profile of {}>", kernels.join(", "))
    }

    /// In a frame of its own: the page has styles.
    fn _repr_html_(&self) -> String {
        let page = self.html().replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe srcdoc=\"{page}\" style=\"width:100%;height:40em;border:0\"></iframe>")
    }
}
