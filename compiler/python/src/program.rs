//! A source text, the kernels in it, and their compilation, by way of the cache on disk.

use cutec::cache::fingerprint;
use cutec::plan::Plan;
use cutec::runtime::Artifact;
use cutec::{
    Cache, CacheError, Calls, Compiled, Compiler, Diagnostic, Diagnostics, Emit, FileLoader,
    LoadedSource, Options, Source, SourceKind, SourceLoader, SourceMap, pipeline,
};
use cutec_dialects::target::Target;
use cutec_frontend::ast::{ItemKind, Kernel};
use cutec_frontend::source::Span;
use std::sync::Arc;

/// A source, compiled a kernel at a time when one is asked for.
pub struct Program {
    source: Source,
    /// Its text and those of its imports, as they were when it was loaded.
    sources: SourceMap,
    /// Where PTX is kept; nowhere, where the user wants none or the folder cannot be made.
    cache: Option<Cache>,
    /// In the order of the source.
    pub kernels: Vec<KernelInfo>,
}

/// What the source says about a kernel.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// The `///` lines before it.
    pub docs: String,
    /// The arguments of a launch.
    pub params: Vec<ParamInfo>,
    /// The compile-time parameters, with the text of their defaults.
    pub statics: Vec<(String, Option<String>)>,
    /// Of the compile-time parameters that have candidates, the text of these.
    pub candidates: Vec<(String, String)>,
    /// The conditions between candidates.
    pub tunable: Vec<String>,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type, as the source has it.
    pub ty: String,
    /// Whether the kernel writes it.
    pub mutable: bool,
}

/// What a kernel was compiled to.
pub struct Built {
    /// PTX with its ABI.
    pub artifact: Artifact,
    /// The texts that messages point into.
    pub sources: SourceMap,
    /// What calls led to places in functions.
    pub calls: Calls,
    /// What looks wrong in the source.
    pub warnings: Vec<Diagnostic>,
    /// What each copy and gemm became, where it was asked for.
    pub remarks: Vec<Diagnostic>,
}

/// Which of the many compilations of a kernel.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// For which GPU.
    pub target: Target,
    /// Values of compile-time parameters.
    pub defines: &'a [(String, String)],
}

impl Choice<'_> {
    fn options(&self, emit: Emit) -> Options {
        Options {
            emit,
            kernel: Some(self.kernel.to_owned()),
            defines: self.defines.to_vec(),
            ..Options::new(self.target)
        }
    }
}

impl Program {
    /// Whether a plan was made of this text.
    pub fn is_planned(&self, plan: &Plan) -> bool {
        let text = fingerprint(&self.source, self);
        plan.kernels.iter().all(|kernel| kernel.source == text)
    }

    /// Parses a source; its kernels are compiled later.
    ///
    /// # Errors
    /// What is wrong with the text, as far as parsing shows it. IR of MLIR is compiled for `target` to learn what is in it.
    pub fn new(source: Source, cache: Option<Cache>, target: Target) -> Result<Self, Diagnostics> {
        let (kernels, sources) = match source.kind {
            SourceKind::Cute | SourceKind::Built(_) => kernels_of_text(&source)?,
            SourceKind::Mlir => kernels_of_ir(&source, target)?,
        };
        Ok(Self {
            source,
            sources,
            cache,
            kernels,
        })
    }

    /// The source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The PTX of a kernel.
    ///
    /// # Errors
    /// Everything that is wrong with the source.
    pub fn ptx(&self, choice: &Choice<'_>, remarks: bool) -> Result<Built, CacheError> {
        let options = Options {
            remarks,
            ..choice.options(Emit::Ptx)
        };
        if let Some(cache) = &self.cache {
            let cached = cache.ptx_of(&self.source, self.sources.clone(), self, &options)?;
            return Ok(Built {
                artifact: cached.artifact,
                sources: cached.sources,
                calls: cached.calls,
                warnings: cached.warnings,
                remarks: cached.remarks,
            });
        }
        let compiled = Compiler::new().compile(&self.source, self, &options)?;
        Ok(Built {
            artifact: compiled.artifact()?,
            sources: compiled.sources,
            calls: compiled.calls,
            warnings: compiled.warnings,
            remarks: compiled.remarks,
        })
    }

    /// Any level of a kernel.
    ///
    /// # Errors
    /// As [`Program::ptx`], or where there is no assembler.
    pub fn emit(&self, choice: &Choice<'_>, emit: Emit) -> Result<Compiled, Diagnostics> {
        Compiler::new().compile(&self.source, self, &choice.options(emit))
    }
}

/// Imports are what they were when the source was loaded.
impl SourceLoader for Program {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let name = FileLoader::name(importer, path);
        let file = self.sources.find(&name).map(|id| self.sources.file(id));
        let file =
            file.ok_or_else(|| format!("{name} was not there when the source was loaded"))?;
        Ok(LoadedSource {
            name,
            text: Arc::clone(file.text()),
        })
    }
}

fn kernels_of_text(source: &Source) -> Result<(Vec<KernelInfo>, SourceMap), Diagnostics> {
    let mut sources = SourceMap::new();
    let parsed = pipeline::parse_source(&mut sources, source, &FileLoader);
    let (program, _) = match parsed {
        Ok(parsed) => parsed,
        Err(problems) => {
            return Err(Diagnostics {
                sources,
                problems,
                failures: Vec::new(),
            });
        }
    };
    let text = |span: Span| {
        let text = sources.file(span.file).text();
        let text = text.get(span.start as usize..span.end as usize);
        text.unwrap_or_default().to_owned()
    };
    let items = program.items();
    let kernels = items.filter_map(|item| match &item.kind {
        ItemKind::Kernel(kernel) => Some(KernelInfo {
            docs: item.docs.join("\n"),
            ..kernel_info(kernel, &text)
        }),
        _ => None,
    });
    let kernels = kernels.collect();
    Ok((kernels, sources))
}

fn kernel_info(kernel: &Kernel, text: &dyn Fn(Span) -> String) -> KernelInfo {
    let params = kernel.params.iter().map(|param| ParamInfo {
        name: param.name.node.to_string(),
        ty: param
            .ty
            .as_ref()
            .map(|ty| text(ty.span))
            .unwrap_or_default(),
        mutable: param.mutable,
    });
    let statics = kernel.static_params.iter().map(|param| {
        let default = param.default.as_ref().map(|default| text(default.span));
        (param.name.node.to_string(), default)
    });
    let candidates = kernel.static_params.iter().filter_map(|param| {
        let candidates = text(param.candidates.as_ref()?.span);
        Some((param.name.node.to_string(), candidates))
    });
    KernelInfo {
        name: kernel.name.node.to_string(),
        docs: String::new(),
        params: params.collect(),
        statics: statics.collect(),
        candidates: candidates.collect(),
        tunable: kernel.tunable.iter().map(|it| text(it.span)).collect(),
    }
}

fn kernels_of_ir(
    source: &Source,
    target: Target,
) -> Result<(Vec<KernelInfo>, SourceMap), Diagnostics> {
    let options = Options {
        emit: Emit::Abi,
        ..Options::new(target)
    };
    let compiled = Compiler::new().compile(source, &FileLoader, &options)?;
    let kernels = compiled.abi.map_or(Vec::new(), |abi| abi.kernels);
    let kernels = kernels.into_iter().map(|kernel| KernelInfo {
        docs: String::new(),
        params: kernel.args.iter().map(abi_param).collect(),
        statics: Vec::new(),
        candidates: Vec::new(),
        tunable: Vec::new(),
        name: kernel.name,
    });
    Ok((kernels.collect(), compiled.sources))
}

fn abi_param(arg: &cutec::runtime::abi::ArgAbi) -> ParamInfo {
    let tensor = arg.as_tensor();
    ParamInfo {
        name: arg.name().to_owned(),
        ty: match tensor {
            Some(tensor) => format!("tensor<{}, rank {}>", tensor.dtype, tensor.extents.len()),
            None => arg.dtype().to_string(),
        },
        mutable: tensor.is_some_and(|tensor| tensor.mutable),
    }
}
