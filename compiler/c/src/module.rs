//! Compiled kernels.

use crate::error::{Diagnostic, Error, Kept, guard, read, text};
use crate::object::{count, give, item, place, take};
use crate::options::Options;
use crate::planned::Planned;
use cutec::files::{self, MAX_SOURCE_BYTES};
use cutec::plan::Plan;
use cutec::runtime::abi::embed::to_json;
use cutec::runtime::abi::{Abi, Status};
use cutec::runtime::{Artifact, Code, regular_file};
use cutec::{Cache, Calls, Compiler, Emit, FileLoader, Source, SourceMap};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr;

/// Compiled kernels, or what was asked for in their place.
pub struct Module {
    /// Text or bytes, with a NUL behind them.
    code: Vec<u8>,
    abi: Option<CString>,
    kernels: Vec<CString>,
    notices: Vec<Kept>,
    /// What a device loads, where it is code.
    pub artifact: Option<Artifact>,
    /// What a plan chooses beside the defaults.
    pub planned: Vec<Planned>,
    /// The texts that messages point into.
    pub sources: SourceMap,
    /// What calls led to places in functions, of all that a launch may choose.
    pub calls: Calls,
}

/// What came out of one compilation.
struct Built {
    artifact: Option<Artifact>,
    abi: Option<Abi>,
    code: Vec<u8>,
    notices: Vec<cutec::Diagnostic>,
    sources: SourceMap,
    calls: Calls,
}

impl Built {
    /// Compiles a source, or takes what the cache has of it.
    fn new(source: &Source, options: &cutec::Options, cache: Option<&Path>) -> Result<Self, Error> {
        if let (Some(folder), Emit::Ptx) = (cache, options.emit) {
            let cache = Cache::open(folder).map_err(|error| {
                Error::new(
                    Status::File,
                    format!("cannot use {} as a cache: {error}", folder.display()),
                )
            })?;
            let cached = cache.ptx_with(source, &FileLoader, options);
            let cached = cached.map_err(|error| Error::cached(&error))?;
            return Ok(Built {
                abi: Some(cached.artifact.abi.clone()),
                code: match &cached.artifact.code {
                    Code::Ptx(ptx) => ptx.as_bytes().to_vec(),
                    Code::Cubin(cubin) => cubin.to_vec(),
                },
                artifact: Some(cached.artifact),
                notices: [cached.warnings, cached.remarks].concat(),
                sources: cached.sources,
                calls: cached.calls,
            });
        }
        let compiled = Compiler::new().compile(source, &FileLoader, options);
        let compiled = compiled.map_err(|error| Error::source(&error))?;
        let artifact = match options.emit {
            Emit::Ptx | Emit::Cubin => {
                let artifact = compiled.artifact();
                Some(artifact.map_err(|error| Error::new(Status::Compile, error))?)
            }
            Emit::Tile
            | Emit::Cute
            | Emit::Mlir
            | Emit::LlvmRaw
            | Emit::Llvm
            | Emit::Sass
            | Emit::Abi => None,
        };
        Ok(Built {
            artifact,
            code: compiled.content.bytes().to_vec(),
            notices: [compiled.warnings, compiled.remarks].concat(),
            abi: compiled.abi,
            sources: compiled.sources,
            calls: compiled.calls,
        })
    }
}

impl Module {
    fn compile(source: &Source, options: &Options) -> Result<Module, Error> {
        let plan = options.plan.as_deref().map(Plan::read).transpose();
        let plan = plan.map_err(|error| Error::new(Status::File, error))?;
        let cache = options.cache.as_deref();
        let compile = options.compile(plan.as_ref())?;
        let built = Built::new(source, &compile, cache)?;
        let mut planned = Vec::new();
        let calls = RefCell::new(built.calls);
        if let (Some(plan), Some(artifact)) = (&plan, &built.artifact) {
            for kernel in &artifact.abi.kernels {
                let build = |options: &cutec::Options| {
                    let built = Built::new(source, options, cache)?;
                    calls.borrow_mut().merge(&built.calls);
                    built
                        .artifact
                        .ok_or_else(|| Error::new(Status::Compile, "there is no code"))
                };
                planned.extend(Planned::new(source, &compile, plan, kernel, build)?);
            }
        }
        let mut code = built.code;
        code.push(0);
        let kernels = built.abi.iter().flat_map(|abi| &abi.kernels);
        let notices = built.notices.iter();
        Ok(Module {
            code,
            kernels: kernels.map(|kernel| text(&kernel.name)).collect(),
            abi: built.abi.as_ref().map(|abi| text(&to_json(abi))),
            notices: notices
                .map(|notice| Kept::new(notice, &built.sources))
                .collect(),
            artifact: built.artifact,
            planned,
            sources: built.sources,
            calls: calls.into_inner(),
        })
    }
}

/// Compiles a source and hands the module out.
///
/// # Safety
/// `options` are null or options, and `module` may be written.
unsafe fn compile(
    source: &Source,
    options: *const Options,
    module: *mut *mut Module,
) -> Result<(), Error> {
    // SAFETY: of the caller.
    let (options, place) = unsafe { (options.as_ref(), place(module)) };
    let place = place.ok_or_else(|| Error::null("module"))?;
    *place = give(match options {
        Some(options) => Module::compile(source, options),
        None => Module::compile(source, &Options::default()),
    }?);
    Ok(())
}

/// Compiles a text of `length` bytes. Its name is what messages show; imports are looked for beside it, and where it ends in
/// `.mlir` the text is MLIR. `options` may be null.
///
/// # Safety
/// The texts are texts, `text` of `length` bytes; `options` and `error` are null or what they are called, and `module` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_compile(
    name: *const c_char,
    text: *const c_char,
    length: usize,
    options: *const Options,
    module: *mut *mut Module,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            if text.is_null() && length > 0 {
                return Err(Error::null("text"));
            }
            let bytes = match length {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(text.cast::<u8>(), length).to_vec(),
            };
            let name = read(name, "name")?;
            let text = files::text(bytes);
            let text = text.map_err(|reason| {
                Error::new(Status::File, format!("cannot read {name}: {reason}"))
            })?;
            compile(&Source::new(name, text), options, module)
        })
    }
}

/// Compiles a file, `.cute` or `.mlir`. `options` may be null.
///
/// # Safety
/// As [`cutec_compile`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_compile_file(
    path: *const c_char,
    options: *const Options,
    module: *mut *mut Module,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let path = read(path, "path")?;
            let unreadable =
                |reason: String| Error::new(Status::File, format!("cannot read {path}: {reason}"));
            let bytes = regular_file::read(Path::new(path), MAX_SOURCE_BYTES);
            let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
            let text = files::text(bytes).map_err(unreadable)?;
            compile(&Source::new(path, text), options, module)
        })
    }
}

/// What was compiled: PTX, or whatever `emit` asked for. A NUL is behind its last byte; `length`, which does not count it, may
/// be null.
///
/// # Safety
/// `module` is a module, or null; `length` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_code(
    module: *const Module,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: of the caller.
    let (module, length) = unsafe { (module.as_ref(), length.as_mut()) };
    if let Some(length) = length {
        *length = module.map_or(0, |module| module.code.len() - 1);
    }
    module.map_or(ptr::null(), |module| module.code.as_ptr().cast())
}

/// The kernels' signatures as JSON (`docs/architecture.md`, "The kernel ABI"); null where compilation did not come as far as code.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_abi(module: *const Module) -> *const c_char {
    // SAFETY: of the caller.
    let module = unsafe { module.as_ref() };
    module
        .and_then(|module| module.abi.as_ref())
        .map_or(ptr::null(), |abi| abi.as_ptr())
}

/// How many kernels there are.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_kernel_count(module: *const Module) -> usize {
    // SAFETY: of the caller.
    unsafe { count(module, |module| &module.kernels) }
}

/// The name of a kernel, in the order of the source; null beyond the last.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_kernel_name(
    module: *const Module,
    index: usize,
) -> *const c_char {
    // SAFETY: of the caller.
    unsafe {
        item(
            module,
            |module| &module.kernels,
            index,
            |name| name.as_ptr(),
        )
    }
}

/// How many warnings and remarks there are.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_notice_count(module: *const Module) -> usize {
    // SAFETY: of the caller.
    unsafe { count(module, |module| &module.notices) }
}

/// One of them; null beyond the last.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_notice(
    module: *const Module,
    index: usize,
) -> *const Diagnostic {
    // SAFETY: of the caller.
    unsafe { item(module, |module| &module.notices, index, Kept::view) }
}

/// Gives a module back; what was loaded of it stays.
///
/// # Safety
/// It comes from a compilation, and nobody uses it any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_free(module: *mut Module) {
    // SAFETY: of the caller.
    drop(unsafe { take(module) });
}
