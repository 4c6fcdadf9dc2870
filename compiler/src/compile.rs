//! The one way from a source to code, of the library and of the programs.
//!
//! ```text
//! .cute ─ pipeline::{parse_source, lower_program} ─┐
//! .mlir ─ pipeline::parse_mlir ────────────────────┴ tile_to_cute ─ cute_to_llvm ─ LLVM ─ PTX ─ cubin ─ SASS
//!                           --emit tile                     cute           mlir    llvm   ptx   cubin   sass
//! ```
//!
//! To PTX and what follows, each kernel of a file with several goes from `lower_program` to PTX in a module of its
//! own, on several threads, and [`crate::codegen::join`] makes one text of theirs. In reading order: `run`, one module
//! on its way; `kernels`, the threads; `assemble`, what follows PTX; `outcome`, what there is to say.
//!
//! [`Compiler`] keeps MLIR's context between compilations; [`compile`] is one compilation with a
//! context of its own. No file is read here and nothing is printed (but what
//! [`Options::print_ir_after_all`] asks for): imports come from the caller's loader, errors are values that
//! know how to be shown.

mod assemble;
mod kernels;
mod outcome;
mod run;

use crate::compiled::{Compiled, Content, Diagnostics};
use crate::options::{Emit, Options, Source, SourceKind};
use crate::pipeline;
use cutec_frontend::Space;
use cutec_frontend::diagnostics::{Diagnostic, codes};
use cutec_frontend::source::{NoImports, SourceLoader, SourceMap};
use melior::Context;
use outcome::{Outcome, Step};
use run::Run;
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
///
/// It may move between threads and be dropped on another one, so a JIT keeps it in one struct with its devices and what it
/// loaded. Two threads that compile at a time need a compiler each.
pub struct Compiler {
    context: LazyLock<Movable, Box<dyn FnOnce() -> Movable + Send>>,
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

    /// The configurations of the kernel that [`Options::kernel`] names: what its candidates leave, with what
    /// [`Options::defines`] fixes; `loader` answers imports.
    ///
    /// # Errors
    /// Everything that is wrong with the text, the candidates or the conditions between them.
    pub fn configurations(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Space, Diagnostics> {
        let mut sources = SourceMap::new();
        let space =
            pipeline::parse_source(&mut sources, source, loader).and_then(|(program, _)| {
                pipeline::configurations(self.context(), &sources, &program, options)
            });
        space.map_err(|problems| Diagnostics {
            sources,
            problems,
            failures: Vec::new(),
        })
    }

    fn compile_here(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Compiled, Diagnostics> {
        let mut sources = SourceMap::new();
        let mut outcome = Outcome::default();
        let content = self.content(source, loader, options, &mut sources, &mut outcome);
        let failed = outcome.failed();
        // What is in vain may be so because of what is wrong.
        let in_vain = |found: &Diagnostic| matches!(found.code, codes::UNUSED | codes::UNREACHABLE);
        let diagnostics = outcome.diagnostics.into_iter();
        let diagnostics = diagnostics
            .map(|(_, diagnostic)| diagnostic)
            .filter(|diagnostic| !(failed && in_vain(diagnostic)))
            .collect();
        let failures = outcome.failures.into_iter();
        match content {
            Some(content) if !failed => Ok(Compiled {
                emit: options.emit,
                content,
                abi: outcome.abi,
                warnings: diagnostics,
                remarks: outcome.remarks,
                calls: outcome.calls,
                sources,
                timings: outcome.timings,
            }),
            _ => Err(Diagnostics {
                sources,
                problems: diagnostics,
                failures: failures.map(|(_, failure)| failure).collect(),
            }),
        }
    }

    /// `None` where `outcome` says why.
    fn content(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
        sources: &mut SourceMap,
        outcome: &mut Outcome,
    ) -> Option<Content> {
        let text = match &source.kind {
            SourceKind::Cute | SourceKind::Built(_) => {
                self.cute(source, loader, options, sources, outcome)?
            }
            SourceKind::Mlir => {
                sources.add(source.name.clone(), Arc::clone(&source.text));
                let context = outcome.timings.measure("set up MLIR", || self.context());
                let mut run = Run::new(context, options, sources);
                let text = run.mlir(source);
                outcome.take([run.outcome]);
                text?
            }
        };
        match options.emit {
            Emit::Ptx | Emit::Cubin | Emit::Sass => {
                assemble::assemble(&text, options, sources, outcome)
            }
            _ => Some(Content::Text(text)),
        }
    }

    /// From the language to the level that was asked for, or to PTX.
    fn cute(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
        sources: &mut SourceMap,
        outcome: &mut Outcome,
    ) -> Option<String> {
        let parsed = outcome
            .timings
            .measure("parse", || pipeline::parse_source(sources, source, loader));
        let program = match parsed {
            Ok((program, warnings)) => {
                outcome.say(Step::Parse, warnings);
                program
            }
            Err(errors) => {
                outcome.say(Step::Parse, errors);
                return None;
            }
        };
        let kernels = match pipeline::kernels(&program, options) {
            Ok(kernels) => kernels,
            Err(error) => {
                outcome.say(Step::Lower, [error]);
                return None;
            }
        };
        let context = outcome.timings.measure("set up MLIR", || self.context());
        // What is asked for above PTX is one module; printed while it changes, it is read as one.
        let code = matches!(options.emit, Emit::Ptx | Emit::Cubin | Emit::Sass);
        if code && kernels.len() > 1 && !options.print_ir_after_all {
            return kernels::compile(context, options, sources, &program, &kernels, outcome);
        }
        let mut run = Run::new(context, options, sources);
        let text = run.kernels(&program, &kernels);
        outcome.take([run.outcome]);
        text
    }
}

#[cfg(test)]
mod tests;
