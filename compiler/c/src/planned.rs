//! What a plan chooses for a kernel: its configurations, and by the extents of a launch one of them.

use crate::argument::Read;
use crate::error::Error;
use cutec::plan::{Chooser, Plan};
use cutec::runtime::Artifact;
use cutec::runtime::abi::{KernelAbi, SymbolSource};
use cutec::{Source, Tuned};
use cutec_tuning::candidate::size_sources;

/// What a plan says of a kernel.
#[derive(Clone)]
pub struct Planned {
    /// Its name.
    pub kernel: String,
    /// What is chosen beside the defaults: configuration 1, 2 and so on.
    pub artifacts: Vec<Artifact>,
    /// How a launch chooses.
    pub choice: Choice,
}

/// How a launch chooses among configurations; 0 is that of the defaults.
#[derive(Clone, Debug)]
pub struct Choice {
    chooser: Chooser,
    /// Where the extents of a launch are read.
    sources: Vec<SymbolSource>,
    configuration_of_sizes: Vec<usize>,
}

impl Planned {
    /// What a plan says of a kernel; `None` where it says nothing of it with these parameters. `build` compiles.
    ///
    /// # Errors
    /// Where a configuration does not compile.
    pub fn new(
        source: &Source,
        options: &cutec::Options,
        plan: &Plan,
        kernel: &KernelAbi,
        build: impl Fn(&cutec::Options) -> Result<Artifact, Error>,
    ) -> Result<Option<Planned>, Error> {
        let mut options = options.clone();
        options.kernel = Some(kernel.name.clone());
        options
            .defines
            .retain(|(name, _)| kernel.defines.contains_key(name));
        let found = plan.kernel(&kernel.name, &options.defines);
        let sources = found.and_then(|found| size_sources(kernel, &found.symbols));
        let tuned = Tuned::new(source.clone(), options.clone(), plan);
        let (Some(chooser), Some(sources)) = (tuned.chooser(), sources) else {
            return Ok(None);
        };
        let artifacts = (1..tuned.configurations()).map(|number| {
            let mut options = options.clone();
            options
                .defines
                .extend(tuned.configuration(number).iter().cloned());
            build(&options)
        });
        Ok(Some(Planned {
            kernel: kernel.name.clone(),
            artifacts: artifacts.collect::<Result<_, _>>()?,
            choice: Choice {
                chooser: chooser.clone(),
                sources,
                configuration_of_sizes: tuned.configuration_of_sizes().to_vec(),
            },
        }))
    }
}

impl Choice {
    /// The number of the configuration for these arguments; that of the defaults where they do not fit the kernel.
    pub fn configuration(&self, args: &[Read<'_>]) -> usize {
        let value = |source: &SymbolSource| match *source {
            SymbolSource::Extent { arg, mode } | SymbolSource::Stride { arg, mode } => {
                args.get(arg)?.extent(mode)
            }
            SymbolSource::Scalar { arg } => match args.get(arg)? {
                Read::Scalar(scalar) => scalar.as_i64(),
                Read::Tensor(_) => None,
            },
        };
        let extents: Option<Vec<i64>> = self.sources.iter().map(value).collect();
        let size = extents.and_then(|extents| self.chooser.choose(&extents));
        size.map_or(0, |size| self.configuration_of_sizes[size])
    }
}
