//! What stands between a source text and the LLVM dialect, as one list of steps.
//!
//! [`mod@crate::compile`] calls these in order, with MLIR's diagnostics collected around each.

use crate::codegen::Timings;
use crate::options::{Options, Source, SourceKind};
use crate::passes::registry::{CUTE_TO_GPU, TILE_TO_CUTE};
use crate::passes::{self, PassEntry, Reported};
use cutec_abi::{Abi, TilesAbi};
use cutec_dialects::ir::parse_unverified;
use cutec_dialects::printing::{print_aliases, readable_flags};
use cutec_dialects::readable::unreadable;
use cutec_frontend::ast::{File, Kernel};
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::{SourceLoader, SourceMap};
use cutec_frontend::unused::unused;
use cutec_frontend::{
    Calls, LowerOptions, Program, Space, chosen_kernels, emit_kernels, load_imports, load_program,
    space,
};
use melior::Context;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use melior::ir::{Location, Module};
use melior::pass::{PassIrPrintingOptions, PassManager};
use std::path::PathBuf;
use std::time::Instant;

/// Parses and verifies MLIR text whose locations carry `name`. `None` after MLIR has reported the errors.
pub fn parse_mlir<'c>(context: &'c Context, name: &str, text: &str) -> Option<Module<'c>> {
    if let Some((at, problem)) = unreadable(text.as_bytes()) {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        passes::report(Location::new(context, name, line, column), problem);
        return None;
    }
    parse_unverified(context, name, text).filter(|module| module.as_operation().verify())
}

/// Parses the file with its imports. Returns it with warnings, or the errors.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse_source(
    sources: &mut SourceMap,
    source: &Source,
    loader: &dyn SourceLoader,
) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    if let SourceKind::Built(module) = &source.kind {
        module.add_to(sources, &source.name);
        let (root, mut diagnostics) = (File::clone(module.file()), Vec::new());
        let program = load_imports(sources, root, loader, &mut diagnostics);
        return match diagnostics.iter().any(Diagnostic::is_error) {
            true => Err(diagnostics),
            false => Ok((program, diagnostics)),
        };
    }
    let mut diagnostics = Vec::new();
    let (name, text) = (&source.name, &source.text);
    let program = load_program(sources, name, text, loader, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    diagnostics.extend(unused(&program));
    Ok((program, diagnostics))
}

/// The kernels that `options` asks for.
///
/// # Errors
/// When there is no such kernel, or a compile-time parameter that none of them has.
pub fn kernels<'a>(program: &'a Program, options: &Options) -> Result<Vec<&'a Kernel>, Diagnostic> {
    chosen_kernels(program, &lower_options(options))
}

/// The configurations of the one kernel that `options` names.
///
/// # Errors
/// What is wrong with its candidates, or that there is no such kernel.
pub fn configurations(
    context: &Context,
    sources: &SourceMap,
    program: &Program,
    options: &Options,
) -> Result<Space, Vec<Diagnostic>> {
    let lower = lower_options(options);
    let kernels = chosen_kernels(program, &lower).map_err(|error| vec![error])?;
    match kernels.first() {
        Some(kernel) => space(context, sources, program, kernel, &lower),
        None => Ok(Space::default()),
    }
}

/// Emits IR for `kernels`. Returns the module, and warnings or errors; neither where MLIR has reported the errors.
pub fn lower_program<'c>(
    context: &'c Context,
    sources: &SourceMap,
    program: &Program,
    kernels: &[&Kernel],
    options: &Options,
    timings: &mut Timings,
) -> (Option<Module<'c>>, Calls, Vec<Diagnostic>) {
    let lower = lower_options(options);
    let mut diagnostics = Vec::new();
    let (module, calls) = timings.measure("evaluate and check", || {
        emit_kernels(context, sources, program, kernels, &lower, &mut diagnostics)
    });
    (module, calls, diagnostics)
}

fn lower_options(options: &Options) -> LowerOptions {
    LowerOptions {
        target: options.target,
        kernel: options.kernel.clone(),
        defines: options.defines.clone(),
    }
}

/// Tile level → cute level, and what completes the cute level: where each buffer of shared memory lies. From here on
/// the module is one for the target of `options`.
///
/// # Errors
/// When a pass failed; it has reported why.
pub fn tile_to_cute<'c>(
    context: &'c Context,
    module: &mut Module<'c>,
    options: &Options,
    timings: &mut Timings,
) -> Result<(), Reported> {
    let root = passes::root(module);
    passes::set_target(context, root, &options.target)?;
    let has_tiles = passes::tile::is_used_in(root);
    let of_tiles = |pass: &PassEntry| passes::tile::PASSES.iter().any(|p| p.name == pass.name);
    let needed = TILE_TO_CUTE.passes();
    let needed = needed.filter(|pass| has_tiles || !of_tiles(pass));
    run(context, needed, module, options, timings)
}

/// Runs passes of ours one after the other.
fn run<'c, 'p>(
    context: &'c Context,
    passes: impl Iterator<Item = &'p PassEntry>,
    module: &Module<'c>,
    options: &Options,
    timings: &mut Timings,
) -> Result<(), Reported> {
    for pass in passes {
        timings.measure(pass.name, || (pass.run)(context, passes::root(module)))?;
        if options.print_ir_after_all {
            eprintln!(
                "// -----// IR Dump After {} //----- //\n{}",
                pass.name,
                module_text(module)
            );
        }
        if (options.verify_each || cfg!(debug_assertions)) && !module.as_operation().verify() {
            let message = format!("internal error: {} leaves IR that is not valid", pass.name);
            return Err(passes::report(module.as_operation().location(), message));
        }
    }
    Ok(())
}

/// Cute level → LLVM dialect inside `gpu.module`.
///
/// # Errors
/// When a pass failed; it has reported why.
pub fn cute_to_llvm<'c>(
    context: &'c Context,
    module: &mut Module<'c>,
    options: &Options,
    timings: &mut Timings,
) -> Result<(), Reported> {
    run(context, CUTE_TO_GPU.passes(), module, options, timings)?;
    let start = Instant::now();
    let manager = PassManager::new(context);
    if options.print_ir_after_all {
        print_ir_after_all(context, &manager);
    }
    cutec_dialects::ir::add_gpu_to_llvm(&manager);
    // The cute level was verified when it was read or built; what upstream passes make of it is
    // verified by LLVM. In between, verification takes longer than the passes.
    manager.enable_verifier(options.verify_each || cfg!(debug_assertions));
    let result = manager.run(module).map_err(|_| Reported);
    passes::kernel_abi::pass_tensor_maps_by_value(context, passes::root(module));
    timings.add("gpu to LLVM dialect", start.elapsed());
    result
}

/// The ABI of the kernels in a module at the cute level: what the front end and the passes have left
/// on each function, with what is decided for all of it.
///
/// # Errors
/// One line saying what of the module cannot be launched.
pub fn kernel_abi(module: &Module<'_>, options: &Options, file: &str) -> Result<Abi, String> {
    let mut kernels = Vec::new();
    for found in passes::kernel_attributes(passes::root(module)) {
        // A kernel written as MLIR may have none; it can be compiled but not launched by name.
        let Some(mut kernel) = found.abi else {
            continue;
        };
        kernel.target = options.target.name.to_owned();
        kernel.smem_bytes = found.smem_bytes;
        kernels.push(kernel);
    }
    let abi = Abi::new(kernels);
    match abi.validate() {
        Ok(()) => Ok(abi),
        Err(error) => Err(format!("{file}: {error}")),
    }
}

/// Adds what is known of the kernels at the tile level, by name.
pub fn add_tiles(tiles: Vec<(String, TilesAbi)>, abi: &mut Abi) {
    for (name, tiles) in tiles {
        if let Some(kernel) = abi.kernels.iter_mut().find(|k| k.entry == name) {
            kernel.tiles = Some(tiles);
        }
    }
}

/// Adds what the lowering of the kernels in a module found out about their shared memory.
pub fn add_smem(module: &Module<'_>, abi: &mut Abi) {
    for found in passes::kernel_attributes(passes::root(module)) {
        let kernel = abi.kernels.iter_mut().find(|k| k.entry == found.name);
        if let Some(kernel) = kernel {
            kernel.smem = found.smem;
        }
    }
}

/// The module as text for a reader, which parses back: in the pretty form, without locations.
pub fn module_text(module: &Module<'_>) -> String {
    text_with(module, readable_flags())
}

/// [`module_text`], with the location behind each operation.
pub fn module_text_with_places(module: &Module<'_>) -> String {
    text_with(module, readable_flags().enable_debug_info(true, false))
}

fn text_with(module: &Module<'_>, flags: OperationPrintingFlags) -> String {
    let operation = module.as_operation();
    let context = operation.context();
    // SAFETY: the module's context outlives this call; the reference is to the local above.
    print_aliases(unsafe { context.to_ref() });
    let mut text = operation
        .to_string_with_flags(flags)
        .unwrap_or_else(|_| operation.to_string());
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Makes `manager` print the IR after every pass to standard error.
fn print_ir_after_all(context: &Context, manager: &PassManager) {
    // MLIR prints whole modules only when passes run one after the other.
    context.enable_multi_threading(false);
    print_aliases(context);
    manager.enable_ir_printing(&PassIrPrintingOptions {
        before_all: false,
        after_all: true,
        module_scope: true,
        on_change: false,
        on_failure: false,
        flags: readable_flags(),
        tree_printing_path: PathBuf::new(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::messages;
    use melior::ir::operation::OperationLike;

    #[test]
    fn nothing_behind_the_text_is_read() {
        let context = cutec_dialects::context();
        let text = "module {}@";
        let module = parse_mlir(&context, "part.mlir", &text[..text.len() - 1]).expect("a module");
        let place = messages::place(module.as_operation().location()).expect("a place");
        assert_eq!(place.file, "part.mlir");
    }
}
