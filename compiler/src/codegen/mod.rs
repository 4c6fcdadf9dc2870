//! From the LLVM dialect to what runs: PTX, cubin, SASS text.
//!
//! In reading order:
//! - [`llvm`]: LLVM dialect → LLVM IR → PTX text, in process;
//! - `order`: where conversions stand in a block before the backend;
//! - [`join`]: PTX of several kernels as one text;
//! - [`locate`]: where NVIDIA's library and programs are looked for;
//! - [`cubin`]: PTX → cubin by libnvJitLink, or by `ptxas` where the library is missing;
//! - [`advice`]: what it says of `wgmma`, as warnings;
//! - [`sass`]: cubin → SASS text by `nvdisasm` or `cuobjdump`; [`listing`]: that text beside the source;
//! - [`messages`]: what MLIR reports, collected as data;
//! - [`timings`]: durations of the phases.
//!
//! PTX has `.loc` lines where functions have line scopes (`LineScopes` in `dialects/cpp/Lowering.cpp`): line
//! directives only, no debug sections, no `.target …, debug`.
//!
//! Invariants: nothing here ends the process or prints; every failure is an error value. Unsafe code
//! is confined to `llvm` (with its declarations in `ffi`) and `cubin`.

pub mod advice;
pub mod cubin;
mod ffi;
pub mod join;
pub mod listing;
pub mod llvm;
pub mod locate;
pub mod messages;
pub mod sass;
mod schedule;
pub mod timings;

pub use cubin::{Cubin, CubinError, CubinOptions, KernelResources};
pub use llvm::{Chip, LlvmError, LlvmModule, LlvmOutput, OptLevel, to_ptx};
pub use messages::{Message, Severity};
pub use sass::SassError;
pub use timings::Timings;
