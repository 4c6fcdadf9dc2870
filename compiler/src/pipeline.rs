//! What stands between a source text and the LLVM dialect, as one list of steps.
//!
//! [`crate::compile`] calls these in order, with MLIR's diagnostics collected around each.

use crate::codegen::{Timings, messages};
use crate::compile::Options;
use crate::driver::opt::PassRequest;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::{FileId, SourceLoader, SourceMap};
use cutec_runtime::Abi;
use melior::ir::operation::OperationPrintingFlags;
use melior::ir::{Module, Operation};
use melior::pass::{PassIrPrintingOptions, PassManager};
use melior::utility::parse_pass_pipeline;
use melior::{Context, StringRef};
use std::path::PathBuf;

/// Parses MLIR text whose locations carry `name`. `None` after MLIR has reported the errors.
///
/// MLIR's C API takes a name only where the text is a single operation, as what `cutec` itself writes
/// is; in another text the file of every location is `-`.
pub fn parse_mlir<'c>(context: &'c Context, name: &str, text: &str) -> Option<Module<'c>> {
    let (module, _) = messages::collect(context, || parse_single_operation(context, name, text));
    module.or_else(|| Module::parse(context, text))
}

fn parse_single_operation<'c>(context: &'c Context, name: &str, text: &str) -> Option<Module<'c>> {
    // SAFETY: MLIR copies text and name; the operation is owned by the module made of it.
    let operation = unsafe {
        let operation = mlir_sys::mlirOperationCreateParse(
            context.to_raw(),
            StringRef::new(text).to_raw(),
            StringRef::new(name).to_raw(),
        );
        if operation.ptr.is_null() {
            return None;
        }
        Operation::from_raw(operation)
    };
    Module::from_operation(operation)
}

/// SEAM (front end): parses, evaluates and checks the file, and emits IR for the kernels that
/// `options` asks for. Returns the module and warnings, or the errors.
#[allow(clippy::type_complexity)]
pub fn lower_source<'c>(
    _context: &'c Context,
    _sources: &mut SourceMap,
    _file: FileId,
    _loader: &dyn SourceLoader,
    _options: &Options,
    _timings: &mut Timings,
) -> Result<(Module<'c>, Vec<Diagnostic>), Vec<Diagnostic>> {
    Err(Vec::new())
}

/// SEAM (passes): tile level → cute level.
///
/// # Errors
/// When a pass failed; it has reported why.
pub fn tile_to_cute<'c>(
    _context: &'c Context,
    _module: &mut Module<'c>,
    _options: &Options,
) -> Result<(), melior::Error> {
    Ok(())
}

/// SEAM (passes): cute level → LLVM dialect inside `gpu.module`.
///
/// # Errors
/// When a pass failed; it has reported why.
pub fn cute_to_llvm<'c>(
    _context: &'c Context,
    _module: &mut Module<'c>,
    _options: &Options,
) -> Result<(), melior::Error> {
    Ok(())
}

/// SEAM (passes): the ABI of the kernels in a module at the cute level.
///
/// # Errors
/// One line saying what of the module has no ABI.
pub fn kernel_abi(_module: &Module<'_>, _options: &Options, _file: &str) -> Result<Abi, String> {
    Ok(Abi::new(Vec::new()))
}

/// A pass manager that runs what `request` names: a pass of this project or of MLIR.
///
/// # Errors
/// One line: which pass is not known, or why the pipeline does not parse.
pub fn pass_manager<'c>(
    context: &'c Context,
    request: &PassRequest,
) -> Result<PassManager<'c>, String> {
    let manager = PassManager::new(context);
    let text = match request {
        PassRequest::Pipeline(text) => text.clone(),
        PassRequest::Pass { name, options } => {
            if add_own_pass(&manager, name, options)? {
                return Ok(manager);
            }
            match options.as_str() {
                "" => format!("builtin.module({name})"),
                options => format!("builtin.module({name}{{{options}}})"),
            }
        }
    };
    parse_pass_pipeline(manager.as_operation_pass_manager(), &text).map_err(|error| {
        let what = match request {
            PassRequest::Pipeline(text) => format!("the pipeline `{text}` does not parse"),
            PassRequest::Pass { name, .. } => format!("no pass `{name}`"),
        };
        format!("{what}: {}", error.to_string().replace("\\n", " ").trim())
    })?;
    Ok(manager)
}

/// SEAM (passes): adds the project's own pass of this name; false where there is none.
fn add_own_pass(_manager: &PassManager, _name: &str, _options: &str) -> Result<bool, String> {
    Ok(false)
}

/// Makes `manager` print the IR after every pass to standard error.
pub fn print_ir_after_all(context: &Context, manager: &PassManager) {
    // MLIR prints whole modules only when passes run one after the other.
    context.enable_multi_threading(false);
    manager.enable_ir_printing(&PassIrPrintingOptions {
        before_all: false,
        after_all: true,
        module_scope: true,
        on_change: false,
        on_failure: false,
        flags: OperationPrintingFlags::new(),
        tree_printing_path: PathBuf::new(),
    });
}
