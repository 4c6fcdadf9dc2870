//! The passes, one file or folder each, and their order.
//!
//! | pass | from | to |
//! |---|---|---|
//! | [`tile`] | tile level | cute level |
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
mod additional_yields;
pub mod allocate_smem;
mod control_flow;
pub mod convert_bytes;
pub mod convert_cute_to_gpu;
mod elementwise;
mod emit;
pub mod expand_loop_steps;
pub mod expand_ops;
pub mod fold_static;
mod integer_analysis;
mod integer_range;
mod ir_utils;
pub mod llvm_types;
pub mod lower_printf;
mod materialize;
mod printf;
pub mod registry;
pub mod remarks;
mod smem_map;
pub mod tile;
pub mod to_base;
mod typed;
pub mod user_error;

pub use registry::{PassEntry, Pipeline, opt_main};

use crate::codegen::messages::{Place, place};
use cutec_abi::SmemAbi;
use cutec_dialects::builder::{IrOp, integer_value};
use cutec_dialects::target::Target;
use melior::Context;
use melior::ir::{Location, Module, OperationRef, operation::OperationLike};
use std::ffi::CString;

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

/// What the functions of a module at the cute level say of their kernels.
pub struct KernelAttributes {
    /// Name of the function.
    pub name: String,
    /// ABI as JSON, from the front end.
    pub abi: Option<String>,
    /// Bytes of shared memory.
    pub smem_bytes: u32,
    /// The buffers in it and who accesses them, below the cute level.
    pub smem: Option<SmemAbi>,
    /// Where the source has it.
    pub place: Option<Place>,
    /// Threads of a block, where a pass chose them: blocks of the tile level have one dimension.
    pub threads: Option<i64>,
}

/// See [`KernelAttributes`].
pub fn kernel_attributes(module: IrOp) -> Vec<KernelAttributes> {
    let mut found = Vec::new();
    let functions = ir_utils::kernels(module).into_iter();
    let functions = functions.flat_map(|(_, functions)| functions);
    for function in functions.chain(ir_utils::lowered_kernels(module)) {
        let name = ir_utils::string_attribute(function, "sym_name").unwrap_or_default();
        let smem = function.attribute("cute.smem_bytes").ok();
        let smem = smem
            .and_then(integer_value)
            .and_then(|smem| u32::try_from(smem).ok())
            .unwrap_or(0);
        found.push(KernelAttributes {
            name,
            abi: ir_utils::string_attribute(function, "cute.abi"),
            smem_bytes: smem,
            smem: smem_map::smem_map(function),
            place: place(function.location()),
            threads: ir_utils::function_block_size(function),
        });
    }
    found
}
