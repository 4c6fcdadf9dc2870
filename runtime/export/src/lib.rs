//! Kernels as a library of C: a header, and a source that launches them, made of their ABI.
//!
//! The source holds the code as data and needs a C compiler and the C library alone. It checks arguments as `Abi::bind` does, in
//! the same order and in the same words, since both are made of the same ABI: expressions become C in one place ([`expr`]), and
//! messages are those of `BindError` ([`message`]). `test-suite/tests/export.rs` compares the two on random arguments.
//!
//! Modules in reading order:
//! - this file: what is exported ([`Export`]), and what the kernels of its builds have in common ([`Library`]);
//! - [`names`]: names and texts of C;
//! - [`signature`]: what a launcher takes; [`header`];
//! - [`mod@expr`], [`message`]: expressions and messages;
//! - [`launcher`]: the checks and the launch of one kernel, for one target;
//! - [`choice`]: which of its configurations a launch takes, where a plan chooses;
//! - [`source`]: all of it, with the texts in `c`, which every export has.
//!
//! A library has each kernel with its defaults, all in one image for each target, and what plans choose beside them
//! ([`Configuration`]), in an image each, which is loaded when it is first launched. An image is a *part* of a build: part 0 is that of
//! the defaults. Each configuration is a complete way to launch, with checks of its own.

pub mod choice;
pub mod expr;
pub mod header;
pub mod launcher;
pub mod message;
pub mod names;
pub mod signature;
pub mod source;

use choice::Chosen;
use cutec_abi::{Abi, DType, KernelAbi};
use signature::{Signature, shape};
use std::collections::BTreeMap;

/// What is exported.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    /// The name of the library, as its files have it.
    pub name: &'a str,
    /// What all its functions begin with, where two libraries have kernels of one name.
    pub prefix: &'a str,
    /// The source of the kernels, for comments.
    pub source: &'a str,
    /// The compiler and its version, for comments.
    pub compiler: &'a str,
    /// What the source says about each kernel.
    pub docs: &'a BTreeMap<String, String>,
    /// The kernels, compiled for each target.
    pub builds: Vec<Build<'a>>,
    /// What plans choose, for a kernel each.
    pub choices: Vec<Choice>,
}

/// How the configuration of a launch follows from its extents: the nearest of the sizes that were measured, by the sum of squares of
/// the differences between logarithms, and the first of those that are as near (`cutec_tuning::plan`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The kernel.
    pub kernel: String,
    /// The extents and integer scalars that make a size, by their names.
    pub symbols: Vec<String>,
    /// The sizes: the value of each symbol.
    pub sizes: Vec<Vec<i64>>,
    /// Their binary logarithms, with 24 binary digits behind the point, one size behind the other.
    pub logarithms: Vec<i64>,
    /// Of each size its configuration: 0 is that of the defaults, n the nth of this kernel's in [`Build::configurations`].
    pub configuration_of_sizes: Vec<usize>,
}

/// All kernels, compiled for a target.
#[derive(Clone, Debug)]
pub struct Build<'a> {
    /// The target, such as `sm_90a`.
    pub target: &'a str,
    /// What a launch must know.
    pub abi: &'a Abi,
    /// The code.
    pub image: Image<'a>,
    /// What plans choose; of each build the same, in the same order.
    pub configurations: Vec<Configuration<'a>>,
}

/// A kernel with other compile-time parameters than the defaults.
#[derive(Clone, Debug)]
pub struct Configuration<'a> {
    /// Its name.
    pub kernel: &'a str,
    /// What a launch must know.
    pub abi: &'a Abi,
    /// The code.
    pub image: Image<'a>,
}

/// Code that a device loads.
#[derive(Clone, Copy, Debug)]
pub enum Image<'a> {
    /// Machine code.
    Cubin(&'a [u8]),
    /// PTX, for GPUs that no machine code is for.
    Ptx(&'a str),
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Generated {
    /// `NAME.h`
    pub header: String,
    /// `NAME.c`, which includes the header by this name.
    pub source: String,
    /// The launchers' names, a kernel each.
    pub launchers: Vec<String>,
}

/// Why there is nothing to export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// No kernel.
    #[error("there is no kernel to export")]
    NoKernel,
    /// A name that no identifier of C begins with.
    #[error(
        "`{name}` is no name for a library: expected letters, digits and `_`, with no digit in front"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A target that is none.
    #[error("`{target}` is no target: expected such as `sm_90a`")]
    Target {
        /// The name.
        target: String,
    },
    /// Two kernels whose functions would have one name.
    #[error("the kernels `{first}` and `{second}` have the same name in C")]
    SameName {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// A kernel that depends on the target in what it takes.
    #[error(
        "the kernel `{kernel}` takes other arguments for {second} than for {first}: expected one signature"
    )]
    Signature {
        /// The kernel.
        kernel: String,
        /// A target.
        first: String,
        /// Another one.
        second: String,
    },
    /// A configuration that is not the kernel's, takes other arguments, or is not in all builds.
    #[error(
        "a configuration of the kernel `{kernel}` for {target} takes other arguments than the defaults: expected one signature"
    )]
    Configuration {
        /// The kernel.
        kernel: String,
        /// A target.
        target: String,
    },
    /// A choice by what is no extent and no integer of the kernel.
    #[error(
        "the plan chooses `{kernel}` by `{symbol}`: expected the name of an extent or an integer of the kernel"
    )]
    Choice {
        /// The kernel.
        kernel: String,
        /// The name.
        symbol: String,
    },
    /// A number in a type that C does not pass.
    #[error("the kernel `{kernel}` takes `{arg}` as {dtype}, which C has no type for")]
    Scalar {
        /// The kernel.
        kernel: String,
        /// The argument.
        arg: String,
        /// Its type.
        dtype: DType,
    },
}

/// What the kernels of all builds have in common.
#[derive(Debug)]
pub struct Library<'a> {
    /// What launchers begin with.
    pub prefix: String,
    /// What the library's own functions begin with.
    pub prefixed: String,
    /// The kernels, in the order of the source.
    pub signatures: Vec<Signature<'a>>,
    /// Of each kernel its configurations, that of the defaults first.
    pub configurations: Vec<Vec<Configured>>,
    /// Of each kernel which of them a launch takes; `None` where that is always the defaults.
    pub choices: Vec<Option<Chosen<'a>>>,
    /// How many images each build has.
    pub parts: usize,
    /// The targets of the builds.
    pub parsed: Vec<ParsedTarget>,
    targets: Vec<String>,
}

/// A configuration of a kernel.
#[derive(Debug)]
pub struct Configured {
    /// Its number among the functions of all images of a build: those of part 0, then one for each other part.
    pub function: usize,
    /// The ways to launch it, as far as they differ among the targets.
    pub variants: Vec<KernelAbi>,
    /// The number of that way, for each build.
    pub variant_of_build: Vec<usize>,
}

/// A target in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTarget {
    /// Compute capability.
    pub major: u32,
    /// Compute capability.
    pub minor: u32,
    /// `a` or `f`.
    pub suffix: Option<char>,
}

/// Makes the header and the source.
///
/// # Errors
/// Where C cannot have what is to be exported.
pub fn generate(export: &Export<'_>) -> Result<Generated, ExportError> {
    let library = Library::new(export)?;
    Ok(Generated {
        header: header::write(export, &library),
        source: source::write(export, &library),
        launchers: library
            .signatures
            .iter()
            .map(|signature| format!("{}{}_launch", library.prefix, signature.identifier))
            .collect(),
    })
}

impl<'a> Library<'a> {
    fn new(export: &'a Export<'a>) -> Result<Library<'a>, ExportError> {
        for name in [export.name, export.prefix] {
            let letters = name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            if !letters || name.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(ExportError::Name {
                    name: name.to_owned(),
                });
            }
        }
        let first = export
            .builds
            .first()
            .filter(|build| !build.abi.kernels.is_empty());
        let first = first.ok_or(ExportError::NoKernel)?;
        let mut library = Library {
            prefix: export.prefix.to_owned(),
            prefixed: format!("{}{}", export.prefix, export.name),
            signatures: Vec::new(),
            configurations: Vec::new(),
            choices: Vec::new(),
            parts: 1 + first.configurations.len(),
            parsed: Vec::new(),
            targets: export
                .builds
                .iter()
                .map(|build| build.target.to_owned())
                .collect(),
        };
        for build in &export.builds {
            let target = ParsedTarget::parse(build.target);
            library
                .parsed
                .push(target.ok_or_else(|| ExportError::Target {
                    target: build.target.to_owned(),
                })?);
        }
        for kernel in &first.abi.kernels {
            let docs = export.docs.get(&kernel.name).map_or("", String::as_str);
            let signature = Signature::new(kernel, docs)?;
            let known = library
                .signatures
                .iter()
                .find(|known| known.identifier == signature.identifier);
            if let Some(known) = known {
                let (first, second) = (known.name.to_owned(), signature.name.to_owned());
                return Err(ExportError::SameName { first, second });
            }
            let of_builds = export.builds.iter().map(|build| {
                let of_build = build.abi.kernel(&kernel.name);
                let of_build = of_build.filter(|of_build| shape(of_build) == shape(kernel));
                of_build.ok_or_else(|| ExportError::Signature {
                    kernel: kernel.name.clone(),
                    first: first.target.to_owned(),
                    second: build.target.to_owned(),
                })
            });
            let of_builds: Vec<&KernelAbi> = of_builds.collect::<Result<_, _>>()?;
            let number = library.signatures.len();
            library.signatures.push(signature);
            library
                .configurations
                .push(vec![Configured::new(number, &of_builds)]);
        }
        for (index, configuration) in first.configurations.iter().enumerate() {
            library.add_configuration(export, index, configuration.kernel)?;
        }
        for (number, kernel) in first.abi.kernels.iter().enumerate() {
            let mut choices = export.choices.iter();
            let choice = choices.find(|choice| choice.kernel == kernel.name);
            let known = library.configurations[number].len();
            let chosen = choice
                .map(|choice| Chosen::new(choice, kernel, known))
                .transpose()?;
            library.choices.push(chosen);
        }
        Ok(library)
    }

    /// Adds what is in part `index + 1` of all builds.
    fn add_configuration(
        &mut self,
        export: &Export<'_>,
        index: usize,
        kernel: &str,
    ) -> Result<(), ExportError> {
        let wrong = |target: &str| ExportError::Configuration {
            kernel: kernel.to_owned(),
            target: target.to_owned(),
        };
        let mut signatures = self.signatures.iter();
        let number = signatures.position(|signature| signature.name == kernel);
        let number = number.ok_or_else(|| wrong(&self.targets[0]))?;
        let defaults = &self.configurations[number][0].variants[0];
        let of_builds = export.builds.iter().map(|build| {
            let configuration = build.configurations.get(index);
            let of_build = configuration.and_then(|configuration| configuration.abi.kernel(kernel));
            let of_build = of_build.filter(|of_build| shape(of_build) == shape(defaults));
            of_build.ok_or_else(|| wrong(build.target))
        });
        let of_builds: Vec<&KernelAbi> = of_builds.collect::<Result<_, _>>()?;
        let function = self.signatures.len() + index;
        let configured = Configured::new(function, &of_builds);
        self.configurations[number].push(configured);
        Ok(())
    }

    /// All ways to launch any of the kernels.
    pub fn launches(&self) -> impl Iterator<Item = &KernelAbi> {
        let configurations = self.configurations.iter().flatten();
        configurations.flat_map(|configured| &configured.variants)
    }

    /// How many functions the images of a build have.
    pub fn functions(&self) -> usize {
        self.signatures.len() + self.parts - 1
    }

    /// The targets, each once: `sm_80 and sm_90a`.
    pub fn targets(&self) -> String {
        enumerate(self.targets.iter().map(String::as_str))
    }

    /// The targets for which a configuration is launched in one of its ways.
    pub fn targets_of(&self, configured: &Configured, variant: usize) -> String {
        let builds = configured.variant_of_build.iter().zip(&self.targets);
        enumerate(
            builds
                .filter(|(of_build, _)| **of_build == variant)
                .map(|(_, target)| target.as_str()),
        )
    }

    /// The most modes of a tensor, at least one.
    pub fn most_modes(&self) -> usize {
        let args = self.launches().flat_map(|kernel| &kernel.args);
        let of_args = args.filter_map(|arg| Some(arg.as_tensor()?.extents.len()));
        let maps = self.launches().flat_map(|kernel| &kernel.tensor_maps);
        let of_maps = maps.filter_map(|map| Some(map.view.as_ref()?.extents.len()));
        of_args.chain(of_maps).max().unwrap_or(1).max(1)
    }
}

impl Configured {
    /// A function, as each build has it.
    fn new(function: usize, of_builds: &[&KernelAbi]) -> Configured {
        let (mut variants, mut variant_of_build): (Vec<KernelAbi>, Vec<usize>) = Default::default();
        for of_build in of_builds {
            let launch = launch_of(of_build);
            let known = variants.iter().position(|known| *known == launch);
            variant_of_build.push(known.unwrap_or(variants.len()));
            if known.is_none() {
                variants.push(launch);
            }
        }
        Configured {
            function,
            variants,
            variant_of_build,
        }
    }
}

/// What of a kernel decides its launch.
fn launch_of(kernel: &KernelAbi) -> KernelAbi {
    KernelAbi {
        target: String::new(),
        source: None,
        smem: None,
        tiles: None,
        candidates: BTreeMap::new(),
        tunable: Vec::new(),
        resources: None,
        ..kernel.clone()
    }
}

impl ParsedTarget {
    fn parse(target: &str) -> Option<ParsedTarget> {
        let version = target.strip_prefix("sm_")?;
        let digits = version.trim_end_matches(['a', 'f']);
        let number: u32 = digits.parse().ok()?;
        let suffix = version.strip_prefix(digits)?;
        if suffix.len() > 1 {
            return None;
        }
        Some(ParsedTarget {
            major: number / 10,
            minor: number % 10,
            suffix: suffix.chars().next(),
        })
    }
}

fn enumerate<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    match distinct.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => distinct.join(""),
    }
}
