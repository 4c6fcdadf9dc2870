//! A kernel with its plan: a launch takes the configuration of the nearest size that was measured, and each configuration is
//! compiled once.
//!
//! ```
//! use cutec::plan::Plan;
//! use cutec::{Compiler, NoImports, Options, Source, Tuned};
//!
//! let text = "
//! kernel scale<threads = 128 in [32, 64]>(x: tensor<f32, n>, y: mut tensor<f32, n>)
//! launch grid(ceil_div(n, threads)), block(threads)
//! { let at = block_idx.x * threads + thread_idx.x; if at < n { y[at] = 2 * x[at]; } }";
//! // What `cutec tune` writes, shortened.
//! let plan = r#"{"cutec_plan": 1, "cutec": "", "file": "scale.cute", "bench": "sizes",
//!   "device": {"name": "simulator", "driver": 0, "arch": "sm_80"},
//!   "kernels": [{"kernel": "scale", "source": "", "symbols": ["n"], "configurations": 3, "sizes": [
//!     {"extents": [256], "chosen": {"threads": "32"}, "speedup": 2.0, "unit": "clocks", "measured": []},
//!     {"extents": [65536], "chosen": {"threads": "128"}, "speedup": 1.0, "unit": "clocks", "measured": []}]}]}"#;
//! let plan = Plan::from_json(plan, "scale.plan.json")?;
//! let options = Options { kernel: Some("scale".into()), ..Options::for_arch("sm_80")? };
//! let tuned = Tuned::new(Source::cute("scale.cute", text), options, &plan);
//! let small = tuned.choose(&[300]);
//! assert_eq!(tuned.configuration(small), [("threads".to_owned(), "32".to_owned())]);
//! let artifact = tuned.artifact(small, &Compiler::new(), &NoImports)?;
//! assert_eq!(artifact.kernel("scale").map(|abi| abi.defines["threads"].as_str()), Some("32"));
//! // A size that is as near to another one; and a launch of which the plan says nothing has the defaults.
//! assert_eq!(tuned.configuration(tuned.choose(&[100_000])), [("threads".to_owned(), "128".to_owned())]);
//! assert!(tuned.configuration(tuned.choose(&[1, 2])).is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::compile::Compiler;
use crate::compiled::{Diagnostics, NotLaunchable};
use crate::options::{Emit, Options, Source};
use crate::report::Failure;
use cutec_frontend::source::SourceLoader;
use cutec_runtime::artifact::Artifact;
use cutec_tuning::Configuration;
use cutec_tuning::plan::{Chooser, Plan};
use std::sync::{Arc, OnceLock};

/// A kernel and what a plan says of it.
#[derive(Debug)]
pub struct Tuned {
    source: Source,
    options: Options,
    chooser: Option<Chooser>,
    /// Of each size of the plan the number of its configuration.
    of_size: Vec<usize>,
    /// The defaults first.
    configurations: Vec<Configuration>,
    artifacts: Vec<OnceLock<Arc<Artifact>>>,
}

impl Tuned {
    /// The kernel that [`Options::kernel`] names, with what [`Options::defines`] fixes. Where the plan says nothing of it, every
    /// launch has the defaults.
    pub fn new(source: Source, options: Options, plan: &Plan) -> Self {
        let name = options.kernel.as_deref().unwrap_or_default();
        let kernel = plan.kernel(name, &options.defines);
        let mut configurations = vec![Configuration::new()];
        let sizes = kernel.into_iter().flat_map(|kernel| &kernel.sizes);
        let mut of_size = Vec::new();
        for size in sizes {
            let mut measured = size.measured.iter();
            if measured.any(|known| known.is_default && known.parameters == size.chosen) {
                of_size.push(0);
                continue;
            }
            let chosen = size.configuration();
            let known = configurations.iter().position(|known| *known == chosen);
            of_size.push(known.unwrap_or_else(|| {
                configurations.push(chosen);
                configurations.len() - 1
            }));
        }
        Self {
            chooser: kernel.map(cutec_tuning::KernelPlan::chooser),
            artifacts: configurations.iter().map(|_| OnceLock::new()).collect(),
            source,
            options,
            of_size,
            configurations,
        }
    }

    /// The number of the configuration for a launch with these values of the plan's symbols; 0 is that of the defaults, for what
    /// the plan says nothing of. Takes about a tenth of a microsecond.
    pub fn choose(&self, extents: &[i64]) -> usize {
        let size = self
            .chooser
            .as_ref()
            .and_then(|chooser| chooser.choose(extents));
        size.map_or(0, |size| self.of_size[size])
    }

    /// The sizes of the plan, if it says anything of the kernel.
    pub fn chooser(&self) -> Option<&Chooser> {
        self.chooser.as_ref()
    }

    /// Of each size of the plan, in order, the number of its configuration.
    pub fn configuration_of_sizes(&self) -> &[usize] {
        &self.of_size
    }

    /// The parameters of a configuration; none of the defaults, and of a number that was not chosen.
    pub fn configuration(&self, number: usize) -> &[(String, String)] {
        self.configurations.get(number).map_or(&[], Vec::as_slice)
    }

    /// How many configurations there are, those of the defaults among them.
    pub fn configurations(&self) -> usize {
        self.configurations.len()
    }

    /// The PTX of a configuration, compiled when it is first asked for; `loader` answers imports.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn artifact(
        &self,
        number: usize,
        compiler: &Compiler,
        loader: &dyn SourceLoader,
    ) -> Result<Arc<Artifact>, Diagnostics> {
        let number = if number < self.artifacts.len() {
            number
        } else {
            0
        };
        if let Some(known) = self.artifacts[number].get() {
            return Ok(Arc::clone(known));
        }
        let mut options = Options {
            emit: Emit::Ptx,
            ..self.options.clone()
        };
        options
            .defines
            .extend(self.configurations[number].iter().cloned());
        let compiled = compiler.compile(&self.source, loader, &options)?;
        let artifact = compiled
            .artifact()
            .map_err(|error: NotLaunchable| Diagnostics {
                sources: compiled.sources.clone(),
                problems: Vec::new(),
                failures: vec![Failure::Abi(error.to_string())],
            })?;
        // Two threads may compile the same; what the first one made stays.
        Ok(Arc::clone(
            self.artifacts[number].get_or_init(|| Arc::new(artifact)),
        ))
    }
}
