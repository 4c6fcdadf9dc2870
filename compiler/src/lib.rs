//! cutec: compiles `.cute` kernels to PTX and cubin.
//!
//! [`compile()`] is the library in one call: a [`Source`] and [`Options`] go in, [`Compiled`] comes out, or
//! [`Diagnostics`], which are data and know how to be shown. What was compiled runs on a GPU or in the
//! simulator through `cutec_runtime`, which is [`runtime`] here.
//!
//! ```
//! use cutec::runtime::{DType, SimDevice, Tensor, Value, run_kernel};
//! use cutec::{Options, Source, compile};
//!
//! let text = "
//! /// y = max(x, 0), a tile of 4 x 64 at a time
//! kernel relu(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n)>)
//! launch tiles(m / 4, n / 64)
//! {
//!     let at = (tile.m, tile.n);
//!     y.tile((4, 64), at) = max(x.tile((4, 64), at), 0.0);
//! }";
//! let compiled = compile(&Source::cute("relu.cute", text), &Options::for_arch("sm_80")?)?;
//! assert!(compiled.text().is_some_and(|ptx| ptx.contains(".target sm_80")));
//!
//! // Any size: the kernel was compiled once for all of them.
//! let x = Tensor::from_f64(DType::F32, &[1, 3], &[-1.0, 0.5, 2.0])?;
//! let mut args = [Value::from(x), Value::from(Tensor::poison(DType::F32, &[1, 3])?)];
//! run_kernel(&mut SimDevice::new(), &compiled.artifact()?, "relu", &mut args)?;
//! assert_eq!(args[1].as_tensor().map(Tensor::to_f64), Some(vec![0.0, 0.5, 2.0]));
//!
//! // Errors are values, with a code, places and a text.
//! let wrong = compile(&Source::cute("relu.cute", text.replace("0.0", "zero")), &Options::default());
//! let errors = wrong.unwrap_err();
//! assert_eq!(errors.problems[0].code.to_string(), "E0101");
//! assert!(errors.to_string().contains("relu.cute:7"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules in reading order:
//! - [`options`]: what is compiled, and how;
//! - [`mod@compile`]: the one way from a source to code; [`files`]: files that a source imports;
//! - [`compiled`]: what comes out of it; [`cache`]: what came out of it before;
//! - [`tuned`]: a kernel whose launches take what a [`plan`] chooses;
//! - `pipeline`: the steps between a source text and the LLVM dialect, as one list;
//! - `passes`: the passes of this project; both are for `cute-opt` and tests, change with any version, and are not documented for
//!   hosts;
//! - [`codegen`]: LLVM dialect → PTX → cubin → SASS;
//! - [`report`]: what MLIR says, as diagnostics of the source; [`fault`]: what a device says.
//!
//! The programs are the crate `driver` in this folder, `test` and `bench` blocks the crate `testing`: a host that
//! embeds the compiler links neither them nor what they need (an allocator, a command line, a language server).
//!
//! Invariants: nothing that a user passes makes this crate panic or end the process; [`compile()`] may be
//! called by many threads at a time, and one call knows nothing of another. LLVM is set up once in a process: its
//! options and its handler for fatal errors are those of this crate from the first compilation on.

pub mod cache;
pub mod codegen;
pub mod compile;
pub mod compiled;
#[cfg(feature = "simulator")]
pub mod fault;
pub mod files;
pub mod options;
#[doc(hidden)]
pub mod passes;
#[doc(hidden)]
pub mod pipeline;
pub mod report;
pub mod tuned;

pub use cache::{Cache, CacheError, Cached};
pub use codegen::{OptLevel, Timings};
pub use compile::{Compiler, compile};
pub use compiled::{Compiled, Content, Diagnostics, NotLaunchable};
pub use cutec_dialects::only_own_registrations;
pub use cutec_frontend::build;
pub use cutec_frontend::diagnostics::render::RenderOptions;
pub use cutec_frontend::diagnostics::{Diagnostic, Severity};
pub use cutec_frontend::source::{LoadedSource, NoImports, SourceLoader, SourceMap, Span};
pub use cutec_frontend::{Calls, Configuration, Space};
pub use cutec_runtime as runtime;
pub use cutec_tuning::plan;
pub use files::FileLoader;
pub use options::{Emit, Options, Source, SourceKind};
pub use report::Failure;
pub use tuned::Tuned;

/// Which compiler this is: its version, and a hash of everything that decides what it makes of a source.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("CUTEC_SOURCES"));
