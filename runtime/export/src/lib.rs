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
//! - [`source`]: all of it, with the texts in `c`, which every export has.
//!
//! A library has one configuration of each kernel for each target. Where it is to have several, `source::kernel` is the place that
//! chooses: it writes the function that has the tensors and the device at hand, before anything is checked for one of them.

pub mod expr;
pub mod header;
pub mod launcher;
pub mod message;
pub mod names;
pub mod signature;
pub mod source;

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
    /// Of each kernel the ways to launch it, as far as they differ among the targets.
    pub variants: Vec<Vec<KernelAbi>>,
    /// Of each kernel the number of that way, for each build.
    pub variant_of_build: Vec<Vec<usize>>,
    /// The targets of the builds.
    pub parsed: Vec<ParsedTarget>,
    targets: Vec<String>,
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
    fn new(export: &Export<'a>) -> Result<Library<'a>, ExportError> {
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
            variants: Vec::new(),
            variant_of_build: Vec::new(),
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
            let (mut variants, mut of_builds): (Vec<KernelAbi>, Vec<usize>) =
                (Vec::new(), Vec::new());
            for build in &export.builds {
                let of_build = build.abi.kernel(&kernel.name);
                let of_build = of_build.filter(|of_build| shape(of_build) == shape(kernel));
                let of_build = of_build.ok_or_else(|| ExportError::Signature {
                    kernel: kernel.name.clone(),
                    first: first.target.to_owned(),
                    second: build.target.to_owned(),
                })?;
                let launch = launch_of(of_build);
                let known = variants.iter().position(|known| *known == launch);
                of_builds.push(known.unwrap_or(variants.len()));
                if known.is_none() {
                    variants.push(launch);
                }
            }
            library.signatures.push(signature);
            library.variants.push(variants);
            library.variant_of_build.push(of_builds);
        }
        Ok(library)
    }

    /// The targets, each once: `sm_80 and sm_90a`.
    pub fn targets(&self) -> String {
        enumerate(self.targets.iter().map(String::as_str))
    }

    /// The targets for which a kernel is launched in one of its ways.
    pub fn targets_of(&self, kernel: usize, variant: usize) -> String {
        let builds = self.variant_of_build[kernel].iter().zip(&self.targets);
        enumerate(
            builds
                .filter(|(of_build, _)| **of_build == variant)
                .map(|(_, target)| target.as_str()),
        )
    }

    /// The most modes of a tensor, at least one.
    pub fn most_modes(&self) -> usize {
        let args = self
            .variants
            .iter()
            .flatten()
            .flat_map(|kernel| &kernel.args);
        args.filter_map(|arg| Some(arg.as_tensor()?.extents.len()))
            .max()
            .unwrap_or(1)
            .max(1)
    }
}

/// What of a kernel decides its launch.
fn launch_of(kernel: &KernelAbi) -> KernelAbi {
    KernelAbi {
        target: String::new(),
        source: None,
        smem: None,
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
