//! One module on its way from a source to PTX: all of the source, or one of its kernels.

use super::outcome::{Outcome, Step};
use crate::codegen::{Chip, LlvmError, LlvmModule, OptLevel, Severity, Timings, advice, messages};
use crate::options::{Emit, Options, Source};
use crate::passes::{self, Reported};
use crate::pipeline;
use crate::report::{self, Failure};
use cutec_frontend::Program;
use cutec_frontend::ast::Kernel;
use cutec_frontend::source::SourceMap;
use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, Module, OperationRef, RegionLike};

/// One module on its way.
pub(super) struct Run<'c, 'a> {
    context: &'c Context,
    options: &'a Options,
    sources: &'a SourceMap,
    /// What there is to say so far.
    pub outcome: Outcome,
}

/// How far a module has come.
pub(super) enum Reached {
    /// The level that was asked for; its text.
    Asked(String),
    /// LLVM's dialect.
    Llvm,
}

impl<'c, 'a> Run<'c, 'a> {
    /// Begins.
    pub fn new(context: &'c Context, options: &'a Options, sources: &'a SourceMap) -> Self {
        Self {
            context,
            options,
            sources,
            outcome: Outcome::default(),
        }
    }

    /// Everything, from some kernels of a program.
    pub fn kernels(&mut self, program: &Program, kernels: &[&Kernel]) -> Option<String> {
        let module = self.emit(program, kernels)?;
        self.text(module)
    }

    /// Everything, from MLIR text.
    pub fn mlir(&mut self, source: &Source) -> Option<String> {
        let (module, messages) = self.outcome.timings.measure("parse", || {
            messages::collect(self.context, || {
                pipeline::parse_mlir(self.context, &source.name, &source.text)
            })
        });
        match module {
            Some(module) => self.text(module),
            None => self.outcome.fail_with(Step::Parse, messages, self.sources),
        }
    }

    fn text(&mut self, mut module: Module<'c>) -> Option<String> {
        match self.lower(&mut module)? {
            Reached::Asked(text) => Some(text),
            Reached::Llvm => self.generate(module),
        }
    }

    /// The module of some kernels as the front end makes it.
    pub fn emit(&mut self, program: &Program, kernels: &[&Kernel]) -> Option<Module<'c>> {
        let (context, options, sources) = (self.context, self.options, self.sources);
        let timings = &mut self.outcome.timings;
        let ((module, calls, diagnostics), messages) = messages::collect(context, || {
            pipeline::lower_program(context, sources, program, kernels, options, timings)
        });
        if module.is_none() && diagnostics.is_empty() {
            return self.outcome.fail_with(Step::Verify, messages, sources);
        }
        self.outcome.say(Step::Lower, diagnostics);
        self.outcome.calls = calls;
        module
    }

    /// Down to the level that was asked for, or to LLVM's dialect.
    pub fn lower(&mut self, module: &mut Module<'c>) -> Option<Reached> {
        let options = self.options;
        if options.emit == Emit::Tile {
            return Some(Reached::Asked(self.module_text(module)));
        }
        let tiles = passes::tile_kernels(passes::root(module));
        self.passes(Step::TileToCute, module, pipeline::tile_to_cute)?;
        if options.remarks {
            let remarks = passes::remarks::remarks(passes::root(module));
            let placed = remarks
                .iter()
                .filter_map(|remark| report::diagnostic(remark, self.sources));
            self.outcome.remarks.extend(placed);
        }
        if options.emit == Emit::Cute {
            return Some(Reached::Asked(self.module_text(module)));
        }
        let file = self.sources.files().next().map(|(_, file)| file.name());
        match pipeline::kernel_abi(module, options, file.unwrap_or_default()) {
            Ok(abi) => self.outcome.abi = Some(abi),
            Err(error) => return self.outcome.fail(Step::Abi, Failure::Abi(error)),
        }
        self.passes(Step::CuteToLlvm, module, pipeline::cute_to_llvm)?;
        if let Some(abi) = &mut self.outcome.abi {
            pipeline::add_smem(module, abi);
            pipeline::add_tiles(tiles, abi);
            if options.emit == Emit::Abi {
                let json = cutec_abi::embed::to_json(abi);
                return Some(Reached::Asked(json + "\n"));
            }
        }
        match options.emit {
            Emit::Mlir => Some(Reached::Asked(self.module_text(module))),
            _ => Some(Reached::Llvm),
        }
    }

    fn module_text(&self, module: &Module<'_>) -> String {
        match self.options.places {
            true => pipeline::module_text_with_places(module),
            false => pipeline::module_text(module),
        }
    }

    /// From LLVM's dialect to LLVM IR, where that was asked for, or else to PTX.
    pub fn generate(&mut self, module: Module<'c>) -> Option<String> {
        let options = self.options;
        if matches!(options.emit, Emit::Cubin | Emit::Sass) {
            let kernels = passes::kernel_attributes(passes::root(&module)).into_iter();
            let places = kernels.map(|kernel| (kernel.name, kernel.place));
            self.outcome.places.extend(places);
        }
        let chip = Chip {
            name: options.target.name.to_owned(),
            ptx_isa: options.target.ptx_isa,
        };
        let timings = &mut self.outcome.timings;
        let (translated, messages) = messages::collect(self.context, || {
            let device = device_module(&module);
            outside_functions(device)
                .and_then(|()| passes::llvm_types::check_llvm_types(passes::root(&module)))
                .map_err(|Reported| LlvmError::Translate)?;
            LlvmModule::translate(device, &chip, options.level, timings)
        });
        // LLVM gets its memory.
        drop(module);
        let text = match (translated, options.emit) {
            (Err(LlvmError::Translate), _) => {
                return self.outcome.fail_with(Step::Llvm, messages, self.sources);
            }
            (Err(error), _) => Err(error),
            (Ok(llvm), Emit::LlvmRaw) => Ok(llvm.ir_text()),
            (Ok(llvm), Emit::Llvm) => llvm.optimize(timings).map(|llvm| llvm.ir_text()),
            (Ok(llvm), _) => llvm.optimized_ptx(timings),
        };
        match text {
            Ok(text) => {
                // Without passes, all that LLVM could keep in registers lies there.
                if options.level != OptLevel::O0 {
                    let said = advice::local_memory(&text);
                    let placed = said
                        .iter()
                        .filter_map(|message| report::diagnostic(message, self.sources));
                    self.outcome.say(Step::Llvm, placed);
                }
                Some(text)
            }
            Err(error) => self.outcome.fail(Step::Llvm, error),
        }
    }

    /// Runs one list of passes.
    fn passes(
        &mut self,
        step: Step,
        module: &mut Module<'c>,
        passes: impl FnOnce(
            &'c Context,
            &mut Module<'c>,
            &Options,
            &mut Timings,
        ) -> Result<(), Reported>,
    ) -> Option<()> {
        let (context, options) = (self.context, self.options);
        let timings = &mut self.outcome.timings;
        let (result, messages) =
            messages::collect(context, || passes(context, module, options, timings));
        let said = crate::passes::said::taken();
        if result.is_err() {
            return self.outcome.fail_with(step, messages, self.sources);
        }
        if options.remarks {
            let placed = said
                .iter()
                .filter_map(|remark| report::diagnostic(remark, self.sources));
            self.outcome.remarks.extend(placed);
        }
        let warnings = messages
            .iter()
            .filter(|message| message.severity == Severity::Warning);
        let placed = warnings.filter_map(|message| report::diagnostic(message, self.sources));
        self.outcome.say(step, placed);
        Some(())
    }
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

/// An error at what stands in a module and in no function of it: MLIR's translation has no place for its result.
fn outside_functions(device: OperationRef<'_, '_>) -> Result<(), Reported> {
    let body = device
        .region(0)
        .ok()
        .and_then(|region| region.first_block());
    let mut next = body.and_then(|body| body.first_operation());
    while let Some(operation) = next {
        let symbol = operation.attribute("sym_name").is_ok();
        let name = operation.name();
        let name = name.as_string_ref().as_str().unwrap_or_default();
        if !symbol && !OF_MODULES.contains(&name) {
            let message = format!("`{name}` stands in no function");
            return Err(passes::report(operation.location(), message));
        }
        next = operation.next_in_block();
    }
    Ok(())
}

/// Operations of a module that name nothing.
const OF_MODULES: [&str; 4] = [
    "llvm.linker_options",
    "llvm.mlir.global_ctors",
    "llvm.mlir.global_dtors",
    "llvm.module_flags",
];
