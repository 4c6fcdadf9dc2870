//! What a compilation gives: code with its ABI and what there is to say about it, or what is wrong.

use crate::codegen::Timings;
use crate::options::Emit;
use crate::report::{self, Failure};
use cutec_abi::embed::to_json;
use cutec_abi::{Abi, AbiError};
use cutec_frontend::Calls;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::diagnostics::render::RenderOptions;
use cutec_frontend::source::SourceMap;
use cutec_runtime::artifact::Artifact;
use std::fmt;

/// What a compilation gives.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The level that was asked for.
    pub emit: Emit,
    /// Its text or bytes.
    pub content: Content,
    /// The kernels, where compilation came as far as code.
    pub abi: Option<Abi>,
    /// What looks wrong in the source.
    pub warnings: Vec<Diagnostic>,
    /// What each copy and gemm became, where [`crate::Options::remarks`] asked for it.
    pub remarks: Vec<Diagnostic>,
    /// What calls led to places in functions, for what goes wrong there at run time.
    pub calls: Calls,
    /// The texts that warnings and remarks point into.
    pub sources: SourceMap,
    /// Durations of the phases.
    pub timings: Timings,
}

/// Text or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// IR, PTX, SASS, JSON.
    Text(String),
    /// A cubin.
    Binary(Vec<u8>),
}

/// Why a compilation gives nothing that can be launched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotLaunchable {
    /// Another level was asked for.
    #[error("a device runs PTX or a cubin; compiled was {found:?}")]
    NotCode {
        /// The level.
        found: Emit,
    },
    /// A source at a lower level carried an ABI that contradicts itself.
    #[error(transparent)]
    Abi(#[from] AbiError),
}

impl Compiled {
    /// PTX, IR, SASS or JSON; `None` of a cubin.
    pub fn text(&self) -> Option<&str> {
        self.content.text()
    }

    /// What the runtime loads: the code with its ABI.
    ///
    /// # Errors
    /// Where neither PTX nor a cubin was asked for, or the ABI of a `.mlir` source is none.
    pub fn artifact(&self) -> Result<Artifact, NotLaunchable> {
        match (self.emit, &self.content) {
            (Emit::Ptx, Content::Text(ptx)) => Ok(Artifact::from_ptx(ptx.as_str())?),
            (Emit::Cubin, Content::Binary(cubin)) => {
                let abi = self.abi.as_ref().map(to_json).unwrap_or_default();
                Ok(Artifact::from_cubin(cubin.clone(), &abi)?)
            }
            (found, _) => Err(NotLaunchable::NotCode { found }),
        }
    }

    /// Warnings and remarks as text, with the lines of the source; empty where there are none.
    pub fn render(&self, options: RenderOptions) -> String {
        let notices: Vec<Diagnostic> = self.warnings.iter().chain(&self.remarks).cloned().collect();
        report::render(&notices, &[], &self.sources, options)
    }
}

impl Content {
    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Binary(_) => None,
        }
    }
}

/// Why there is nothing compiled. As text, [`Diagnostics::render`] without colours.
#[derive(Debug)]
pub struct Diagnostics {
    /// The texts that the problems point into.
    pub sources: SourceMap,
    /// Errors (and warnings) of the source, each with a stable code and its places.
    pub problems: Vec<Diagnostic>,
    /// What failed apart from the source: MLIR's reports without a place, LLVM, the assembler.
    pub failures: Vec<Failure>,
}

impl Diagnostics {
    /// Problems with the lines of the source, as ariadne draws them, then failures.
    pub fn render(&self, options: RenderOptions) -> String {
        report::render(&self.problems, &self.failures, &self.sources, options)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(RenderOptions::PLAIN).trim_end())
    }
}

impl std::error::Error for Diagnostics {}
