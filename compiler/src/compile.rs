//! The one way from a source to code, of the library and of the programs.
//!
//! ```text
//! .cute ─ pipeline::{parse_source, lower_program} ─┐
//! .mlir ─ pipeline::parse_mlir ────────────────────┴ tile_to_cute ─ cute_to_llvm ─ LLVM ─ PTX ─ cubin ─ SASS
//!                           --emit tile                     cute           mlir    llvm   ptx   cubin   sass
//! ```
//!
//! [`Compiler`] keeps MLIR's context between compilations; [`compile`] is one compilation with a
//! context of its own. No file is read here and nothing is printed (but what
//! [`Options::print_ir_after_all`] asks for): imports come from the caller's loader, errors are values that
//! know how to be shown.

use crate::codegen::{
    self, Cubin, CubinOptions, KernelResources, LlvmError, LlvmModule, Message, Severity, Timings,
    cubin, messages, sass,
};
use crate::compiled::{Compiled, Content, Diagnostics};
use crate::options::{Emit, Options, Source, SourceKind};
use crate::pipeline;
use crate::report::{self, Failure};
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::{NoImports, SourceLoader, SourceMap};
use cutec_runtime::Abi;
use cutec_runtime::abi::Resources;
use melior::Context;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use melior::ir::{BlockLike, Module, OperationRef};
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};

/// MLIR's parser and passes recurse over nested texts, within the limit that the parser of this project sets.
const STACK_BYTES: usize = 64 << 20;

/// Compiles once, with a context of its own. Files of the standard library can be imported, others are
/// refused: [`Compiler::compile`] takes a loader.
///
/// May be called from any number of threads at a time.
///
/// # Errors
/// Everything that is wrong with the source, or what failed behind it.
pub fn compile(source: &Source, options: &Options) -> Result<Compiled, Diagnostics> {
    Compiler::new().compile(source, &NoImports, options)
}

/// A compiler: MLIR's context, set up once, on a thread of its own while the first source is parsed.
pub struct Compiler {
    context: LazyLock<Movable, Box<dyn FnOnce() -> Movable>>,
}

/// A context made on another thread.
struct Movable(Context);

// SAFETY: MLIR's contexts may be used from any thread, one at a time.
unsafe impl Send for Movable {}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Compiler {
    /// No thread may be at work in MLIR when the process ends.
    fn drop(&mut self) {
        LazyLock::force(&self.context);
    }
}

impl Compiler {
    /// Begins to register dialects and operations.
    pub fn new() -> Self {
        let set_up = || Movable(cutec_dialects::context());
        let under_way = thread::Builder::new().spawn(set_up);
        Self {
            context: LazyLock::new(Box::new(move || match under_way.map(JoinHandle::join) {
                Ok(Ok(context)) => context,
                Ok(Err(panic)) => resume_unwind(panic),
                // No thread to be had.
                Err(_) => set_up(),
            })),
        }
    }

    /// MLIR's context.
    pub fn context(&self) -> &Context {
        &self.context.0
    }

    /// Compiles `source`; `loader` answers its imports.
    ///
    /// # Errors
    /// Everything that is wrong with the source, or what failed behind it.
    pub fn compile(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Compiled, Diagnostics> {
        stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
            self.compile_here(source, loader, options)
        })
    }

    fn compile_here(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Compiled, Diagnostics> {
        let mut sources = SourceMap::new();
        let mut run = Run {
            compiler: self,
            options,
            loader,
            timings: Timings::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
            abi: None,
        };
        let mut problems = Problems::default();
        match run.emit(&mut sources, source, &mut problems) {
            Some(content) if problems.is_empty() => Ok(Compiled {
                emit: options.emit,
                content,
                abi: run.abi,
                warnings: run.warnings,
                remarks: run.remarks,
                sources,
                timings: run.timings,
            }),
            _ => {
                let mut found = run.warnings;
                found.extend(problems.diagnostics);
                Err(Diagnostics {
                    sources,
                    problems: found,
                    failures: problems.failures,
                })
            }
        }
    }
}

/// Errors met so far.
#[derive(Default)]
struct Problems {
    diagnostics: Vec<Diagnostic>,
    failures: Vec<Failure>,
}

impl Problems {
    fn is_empty(&self) -> bool {
        self.diagnostics.is_empty() && self.failures.is_empty()
    }

    fn failure(&mut self, failure: impl Into<Failure>) {
        self.failures.push(failure.into());
    }

    /// Takes over what MLIR reported during `step`, which failed.
    fn step(&mut self, step: &'static str, messages: Vec<Message>, sources: &SourceMap) {
        let before = (self.diagnostics.len(), self.failures.len());
        report::sort_messages(messages, sources, &mut self.diagnostics, &mut self.failures);
        if before == (self.diagnostics.len(), self.failures.len()) {
            self.failures.push(Failure::Step(step));
        }
    }
}

/// One compilation under way.
struct Run<'a> {
    compiler: &'a Compiler,
    options: &'a Options,
    loader: &'a dyn SourceLoader,
    timings: Timings,
    warnings: Vec<Diagnostic>,
    remarks: Vec<Diagnostic>,
    abi: Option<Abi>,
}

impl<'a> Run<'a> {
    /// `None` when there is something in `problems`.
    fn emit(
        &mut self,
        sources: &mut SourceMap,
        source: &Source,
        problems: &mut Problems,
    ) -> Option<Content> {
        let options = self.options;
        let mut module = self.parse(sources, source, problems)?;
        if options.emit == Emit::Tile {
            return Some(Content::Text(module_text(&module)));
        }
        self.passes(
            "tile to cute",
            &mut module,
            sources,
            problems,
            pipeline::tile_to_cute,
        )?;
        if options.remarks {
            let remarks = crate::passes::remarks::remarks(crate::passes::root(&module));
            let placed = remarks
                .iter()
                .filter_map(|remark| report::diagnostic(remark, sources));
            self.remarks.extend(placed);
        }
        if options.emit == Emit::Cute {
            return Some(Content::Text(module_text(&module)));
        }
        match pipeline::kernel_abi(&module, options, &source.name) {
            Ok(abi) => self.abi = Some(abi),
            Err(error) => {
                problems.failure(Failure::Abi(error));
                return None;
            }
        }
        if options.emit == Emit::Abi {
            return Some(Content::Text(self.abi_json()));
        }
        self.passes(
            "cute to LLVM",
            &mut module,
            sources,
            problems,
            pipeline::cute_to_llvm,
        )?;
        if options.emit == Emit::Mlir {
            return Some(Content::Text(module_text(&module)));
        }
        self.generate(&module, sources, problems)
    }

    fn parse(
        &mut self,
        sources: &mut SourceMap,
        source: &Source,
        problems: &mut Problems,
    ) -> Option<Module<'a>> {
        let program = match &source.kind {
            SourceKind::Mlir => return self.parse_mlir(sources, source, problems),
            SourceKind::Cute | SourceKind::Built(_) => self.timings.measure("parse", || {
                pipeline::parse_source(sources, source, self.loader)
            }),
        };
        let context = self.context();
        let (result, messages) = messages::collect(context, || {
            let (program, warnings) = program?;
            let (options, timings) = (self.options, &mut self.timings);
            pipeline::lower_program(context, sources, &program, warnings, options, timings)
        });
        match result {
            Ok((module, warnings)) => {
                self.warnings.extend(warnings);
                Some(module)
            }
            Err(diagnostics) if diagnostics.is_empty() => {
                problems.step("lowering the source", messages, sources);
                None
            }
            Err(diagnostics) => {
                problems.diagnostics.extend(diagnostics);
                None
            }
        }
    }

    fn parse_mlir(
        &mut self,
        sources: &mut SourceMap,
        source: &Source,
        problems: &mut Problems,
    ) -> Option<Module<'a>> {
        let context = self.context();
        sources.add(source.name.clone(), Arc::clone(&source.text));
        let (module, messages) = self.timings.measure("parse", || {
            messages::collect(context, || {
                pipeline::parse_mlir(context, &source.name, &source.text)
            })
        });
        if module.is_none() {
            problems.step("parsing", messages, sources);
        }
        module
    }

    /// MLIR's context, when it is there.
    fn context(&mut self) -> &'a Context {
        let compiler = self.compiler;
        self.timings.measure("set up MLIR", || compiler.context())
    }

    /// Runs one list of passes.
    fn passes(
        &mut self,
        name: &'static str,
        module: &mut Module<'a>,
        sources: &SourceMap,
        problems: &mut Problems,
        passes: impl FnOnce(
            &'a Context,
            &mut Module<'a>,
            &Options,
            &mut Timings,
        ) -> Result<(), crate::passes::Reported>,
    ) -> Option<()> {
        let (context, options) = (self.compiler.context(), self.options);
        let timings = &mut self.timings;
        let (result, messages) =
            messages::collect(context, || passes(context, module, options, timings));
        if result.is_err() {
            problems.step(name, messages, sources);
            return None;
        }
        let warnings = messages
            .iter()
            .filter(|message| message.severity == Severity::Warning);
        let placed = warnings.filter_map(|message| report::diagnostic(message, sources));
        self.warnings.extend(placed);
        Some(())
    }

    fn generate(
        &mut self,
        module: &Module<'a>,
        sources: &SourceMap,
        problems: &mut Problems,
    ) -> Option<Content> {
        let options = self.options;
        let chip = codegen::Chip {
            name: options.target.name.to_owned(),
            ptx_isa: options.target.ptx_isa,
        };
        let timings = &mut self.timings;
        let (translated, messages) = messages::collect(self.compiler.context(), || {
            LlvmModule::translate(device_module(module), &chip, options.level, timings)
        });
        let llvm = match translated {
            Ok(llvm) => llvm,
            Err(LlvmError::Translate) => {
                problems.step("translation to LLVM IR", messages, sources);
                return None;
            }
            Err(error) => return give_up(problems, error),
        };
        if options.emit == Emit::LlvmRaw {
            return Some(Content::Text(llvm.ir_text()));
        }
        if options.emit == Emit::Llvm {
            return match llvm.optimize(timings) {
                Ok(llvm) => Some(Content::Text(llvm.ir_text())),
                Err(error) => give_up(problems, error),
            };
        }
        let ptx = match llvm.optimized_ptx(timings) {
            Ok(ptx) => ptx,
            Err(error) => return give_up(problems, error),
        };
        let abi = self.abi.get_or_insert_with(|| Abi::new(Vec::new()));
        if options.emit == Emit::Ptx {
            return Some(Content::Text(cutec_runtime::abi::embed(&ptx, abi)));
        }
        let assembled = cubin::assemble(
            &ptx,
            &CubinOptions {
                arch: options.target.name.to_owned(),
                level: options.level.digit(),
                line_info: options.line_info,
            },
            timings,
        );
        let cubin = match assembled {
            Ok(cubin) => cubin,
            Err(error) => return give_up(problems, error),
        };
        record_resources(abi, &cubin);
        let spills = spills(&cubin, module);
        let placed = spills
            .iter()
            .filter_map(|message| report::diagnostic(message, sources));
        self.warnings.extend(placed);
        if options.emit == Emit::Cubin {
            return Some(Content::Binary(cubin.bytes));
        }
        match timings.measure("disassemble", || sass::disassemble(&cubin.bytes)) {
            Ok(text) => Some(Content::Text(text)),
            Err(error) => give_up(problems, error),
        }
    }

    fn abi_json(&self) -> String {
        self.abi
            .as_ref()
            .map(|abi| cutec_runtime::abi::embed::to_json(abi) + "\n")
            .unwrap_or_default()
    }
}

fn give_up<T>(problems: &mut Problems, failure: impl Into<Failure>) -> Option<T> {
    problems.failure(failure);
    None
}

/// The part of a module that runs on the device: its `gpu.module`, or all of it where it has none.
fn device_module<'c, 'a>(module: &'a Module<'c>) -> OperationRef<'c, 'a> {
    let mut operation = module.body().first_operation();
    while let Some(candidate) = operation {
        if candidate.name().as_string_ref().as_str() == Ok("gpu.module") {
            // SAFETY: the operation lives in `module`, which is borrowed for 'a.
            return unsafe { OperationRef::from_raw(candidate.to_raw()) };
        }
        operation = candidate.next_in_block();
    }
    module.as_operation()
}

/// The module as text that parses back, in the pretty form, without locations.
fn module_text(module: &Module<'_>) -> String {
    let flags = OperationPrintingFlags::new();
    match module.as_operation().to_string_with_flags(flags) {
        Ok(mut text) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text
        }
        Err(_) => module.as_operation().to_string(),
    }
}

/// What the assembler had no registers for, as warnings at the kernels.
fn spills(cubin: &Cubin, module: &Module<'_>) -> Vec<Message> {
    let known = crate::passes::kernel_attributes(crate::passes::root(module));
    let place = |entry: &str| {
        let kernel = known.iter().find(|kernel| kernel.name == entry);
        kernel.and_then(|kernel| kernel.place.clone())
    };
    let spilling = |kernel: &&KernelResources| kernel.spill_stores + kernel.spill_loads > 0;
    let message = |kernel: &KernelResources| Message {
        severity: Severity::Warning,
        place: place(&kernel.entry),
        text: format!(
            "each thread stores {} bytes to local memory and loads {}, for lack of registers: it has {}",
            kernel.spill_stores, kernel.spill_loads, kernel.registers
        ),
        notes: Vec::new(),
    };
    cubin.kernels.iter().filter(spilling).map(message).collect()
}

/// Puts what the assembler reported into the ABI.
fn record_resources(abi: &mut Abi, cubin: &Cubin) {
    for kernel in &mut abi.kernels {
        let found = cubin
            .kernels
            .iter()
            .find(|resources| resources.entry == kernel.entry);
        kernel.resources = found.map(|resources| Resources {
            registers: resources.registers,
            spill_stores: resources.spill_stores,
            spill_loads: resources.spill_loads,
            static_smem: resources.shared,
        });
    }
}

#[cfg(test)]
mod tests;
