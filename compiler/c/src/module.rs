//! Compiled kernels.

use crate::error::{Diagnostic, Error, Kept, guard, read, text};
use crate::options::Options;
use cutec::files::{self, MAX_SOURCE_BYTES};
use cutec::runtime::abi::Status;
use cutec::runtime::abi::embed::to_json;
use cutec::runtime::{Artifact, regular_file};
use cutec::{Cache, Compiler, Emit, FileLoader, Source, SourceMap};
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
    /// The texts that messages point into.
    pub sources: SourceMap,
}

impl Module {
    fn compile(source: &Source, options: &Options) -> Result<Module, Error> {
        let (artifact, sources, notices, code, abi) = match &options.cache {
            Some(folder) if options.compile.emit == Emit::Ptx => {
                let cache = Cache::open(folder).map_err(|error| {
                    Error::new(
                        Status::File,
                        format!("cannot use {} as a cache: {error}", folder.display()),
                    )
                })?;
                let cached = cache.ptx_with(source, &FileLoader, &options.compile);
                let cached = cached.map_err(|error| Error::cached(&error))?;
                let notices = [cached.warnings, cached.remarks].concat();
                let code = match &cached.artifact.code {
                    cutec::runtime::Code::Ptx(ptx) => ptx.as_bytes().to_vec(),
                    cutec::runtime::Code::Cubin(cubin) => cubin.to_vec(),
                };
                let abi = cached.artifact.abi.clone();
                (
                    Some(cached.artifact),
                    cached.sources,
                    notices,
                    code,
                    Some(abi),
                )
            }
            Some(_) | None => {
                let compiled = Compiler::new().compile(source, &FileLoader, &options.compile);
                let compiled = compiled.map_err(|error| Error::source(&error))?;
                let artifact = match options.compile.emit {
                    Emit::Ptx | Emit::Cubin => Some(
                        compiled
                            .artifact()
                            .map_err(|error| Error::new(Status::Compile, error))?,
                    ),
                    Emit::Tile
                    | Emit::Cute
                    | Emit::Mlir
                    | Emit::LlvmRaw
                    | Emit::Llvm
                    | Emit::Sass
                    | Emit::Abi => None,
                };
                let notices = [compiled.warnings, compiled.remarks].concat();
                let code = compiled.content.bytes().to_vec();
                (artifact, compiled.sources, notices, code, compiled.abi)
            }
        };
        let mut code = code;
        code.push(0);
        let kernels = abi.iter().flat_map(|abi| &abi.kernels);
        Ok(Module {
            code,
            kernels: kernels.map(|kernel| text(&kernel.name)).collect(),
            abi: abi.as_ref().map(|abi| text(&to_json(abi))),
            notices: notices
                .iter()
                .map(|notice| Kept::new(notice, &sources))
                .collect(),
            artifact,
            sources,
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
    let (options, place) = unsafe { (options.as_ref(), module.as_mut()) };
    let place = place.ok_or_else(|| Error::null("module"))?;
    *place = ptr::null_mut();
    let compiled = match options {
        Some(options) => Module::compile(source, options),
        None => Module::compile(source, &Options::default()),
    }?;
    *place = Box::into_raw(Box::new(compiled));
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
    unsafe { module.as_ref() }.map_or(0, |module| module.kernels.len())
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
    let module = unsafe { module.as_ref() };
    module
        .and_then(|module| module.kernels.get(index))
        .map_or(ptr::null(), |name| name.as_ptr())
}

/// How many warnings and remarks there are.
///
/// # Safety
/// `module` is a module, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_notice_count(module: *const Module) -> usize {
    // SAFETY: of the caller.
    unsafe { module.as_ref() }.map_or(0, |module| module.notices.len())
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
    let module = unsafe { module.as_ref() };
    module
        .and_then(|module| module.notices.get(index))
        .map_or(ptr::null(), Kept::view)
}

/// Gives a module back; what was loaded of it stays.
///
/// # Safety
/// It comes from a compilation, and nobody uses it any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_module_free(module: *mut Module) {
    if !module.is_null() {
        // SAFETY: of the caller.
        drop(unsafe { Box::from_raw(module) });
    }
}
