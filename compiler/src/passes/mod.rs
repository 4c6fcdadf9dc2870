//! The passes, one file or folder each, and their order.
//!
//! | pass | from | to |
//! |---|---|---|
//! | [`tile`] | tile level | cute level |
//! | [`expand_signature`](mod@expand_signature) | cute level, tensors as views | cute level, tensors as addresses |
//! | [`expand_ceil_div`](mod@expand_ceil_div) | cute level | cute level, without `arith.ceildivsi` |
//! | [`expand_loop_steps`](mod@expand_loop_steps) | cute level | cute level, loops whose counter cannot overflow |
//! | [`allocate_smem`] | cute level | cute level, each buffer at its offset |
//! | [`fold_static`](mod@fold_static) | cute level | cute level, static results as `cute.static`; for readers of IR, in `cute-opt` |
//! | [`expand_ops`](mod@expand_ops) | layout algebra on any function | arith and constructors; in `cute-opt` |
//! | [`to_base`](mod@to_base) | constructors | llvm structs and `printf`; in `cute-opt` |
//! | [`convert_cute_to_gpu`](mod@convert_cute_to_gpu) | cute level | arith, llvm, nvvm, scf inside `gpu.func` |
//! | [`convert_bytes`](mod@convert_bytes) | conversions of i8 to floating numbers | arithmetic on their bits |
//! | [`lower_printf`](mod@lower_printf) | `gpu.printf` | calls of `vprintf` |
//! | upstream | gpu, nvvm, scf, arith, vector | LLVM dialect |
//! | `LineScopes` (C++) | places in files | debug information for `.loc` lines |
//!
//! [`registry`] lists them with their names, in the order of the pipelines. A pass is a function of a module; for
//! which target it compiles stands on each `gpu.module` of that, as `cute.target`. It reports what is wrong as an
//! MLIR diagnostic at the operation's location, and then returns [`Reported`].
//!
//! [`kernel_abi`] is no pass: by it passes add to what a host must know of a kernel.
mod abstract_values;
mod additional_yields;
pub mod allocate_smem;
mod cmpi;
mod control_flow;
pub mod convert_bytes;
pub mod convert_cute_to_gpu;
mod elementwise;
mod emit;
pub mod expand_ceil_div;
pub mod expand_loop_steps;
pub mod expand_ops;
pub mod expand_signature;
pub mod fold_static;
mod integers;
mod ir_utils;
pub mod kernel_abi;
pub mod llvm_types;
pub mod lower_printf;
mod materialize;
mod printf;
pub mod registry;
pub mod remarks;
pub mod said;
mod smem_map;
pub mod tile;
mod tiles_abi;
pub mod to_base;
pub mod user_error;

pub use registry::{PassEntry, Pipeline, opt_main};

use cutec_dialects::builder::IrOp;
use cutec_dialects::hints::Hints;
use cutec_dialects::target::Target;
use melior::Context;
use melior::ir::{Location, Module, OperationRef};
use std::ffi::CString;

pub use kernel_abi::{KernelAttributes, kernel_attributes};
pub use tiles_abi::tile_kernels;

/// A pass failed and has said why.
#[derive(Debug)]
pub struct Reported;

/// Reports an error at a location.
pub fn report(location: Location, message: impl ToString) -> Reported {
    let text = CString::new(message.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: MLIR copies the text.
    unsafe { mlir_sys::mlirEmitError(location.to_raw(), text.as_ptr()) };
    Reported
}

/// Reports a warning at a location.
pub fn warn(location: Location, message: impl ToString) {
    cutec_dialects::ir::emit_warning(location, &message.to_string());
}

/// Says what a pass chose at a location, and why: `--remarks`.
pub fn remark(location: Location, message: impl ToString) {
    said::say(location, message.to_string());
}

/// Says that copies which go through L2 alone leave out what is asked of the cache of a multiprocessor, if anything is.
fn say_left_out(location: Location, hints: Hints, copies: &str) {
    if let Some(cache) = hints.past_l1() {
        let cache = cache.name();
        let message = format!("`cache = {cache}` is left out: {copies} goes through L2 alone");
        remark(location, message);
    }
}

/// The root operation of a module, as passes take it.
pub fn root<'c>(module: &Module<'c>) -> IrOp<'c> {
    // SAFETY: the operation lives as long as the module, which the caller keeps.
    unsafe { OperationRef::from_raw(module.as_operation().to_raw()) }
}

/// Makes every `gpu.module` of a module one that is compiled for `target`.
///
/// # Errors
/// One says that it is for another target.
pub fn set_target<'c>(
    context: &'c Context,
    module: IrOp<'c>,
    target: &Target,
) -> Result<(), Reported> {
    ir_utils::set_target(context, module, target)
}
