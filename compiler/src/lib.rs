//! cutec: compiles `.cute` kernels to PTX and cubin.
//!
//! In reading order:
//! - [`compile`]: the library API, a source text in, an artifact out;
//! - [`options`]: what is compiled, and how;
//! - [`pipeline`]: the steps between a source text and the LLVM dialect, as one list;
//! - [`passes`]: the passes of this project;
//! - [`codegen`]: LLVM dialect → PTX → cubin → SASS;
//! - [`report`]: what went wrong, as text;
//! - [`driver`]: the programs `cutec`, `cute-opt` and `cute-lsp-server`.

pub mod codegen;
pub mod compile;
pub mod driver;
pub mod options;
pub mod passes;
pub mod pipeline;
pub mod report;

pub use compile::{Artifact, CompileError, Compiler, Content, compile};
pub use options::{Emit, Options, Source, SourceKind};
pub use report::Failure;
