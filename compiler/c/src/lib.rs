//! `libcutec`: the compiler, launches and the simulator for programs in C and C++. The header is `include/cutec.h`, which
//! cbindgen makes of this; `docs/c.md` is the guide.
//!
//! Modules in reading order:
//! - [`object`]: what C holds by a pointer;
//! - [`error`]: errors and diagnostics as objects, and the guard around every call;
//! - [`options`]: how to compile, load and simulate;
//! - [`module`]: compiled kernels; [`planned`]: what a plan chooses for them;
//! - [`argument`]: what a launch takes; [`launch`]: kernels on a device; [`place`]: where they run.
//!
//! Rules of every function: it returns a number of `enum cutec_status`, and what was wrong by its last argument, which may be
//! null; it catches panics; it reads and writes nothing that is not passed to it. There is no global state but what LLVM
//! and the driver have, so any thread may call anything, as long as nobody frees what another one uses. Objects are made by `…_new`,
//! `cutec_compile…` and `cutec_load`, and given back by `…_free`, which take null too. Texts are UTF-8 and end with a NUL; those
//! that a function returns belong to the object that they are asked of.

pub mod argument;
pub mod error;
pub mod launch;
pub mod module;
pub mod object;
pub mod options;
pub mod place;
pub mod planned;

use std::ffi::c_char;

/// The library's version, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn cutec_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
