//! PTX on disk, so that a program compiles each kernel once and not in every run.
//!
//! ```
//! use cutec::{Cache, Options, Source};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("kernels");
//! let cache = Cache::open(folder)?;
//! let text = "kernel one(x: mut tensor<f32, n>) launch tiles(n / 64) { x.tile(64, tile.m) = 1.0; }";
//! let source = Source::cute("one.cute", text);
//! let first = cache.ptx(&source, &Options::default())?;
//! let again = cache.ptx(&source, &Options::default())?;
//! assert!(!first.found && again.found);
//! assert_eq!(first.artifact, again.artifact);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An entry is a PTX file with its kernel ABI, `KEY.ptx`, which `cutec-launch` runs as well; its first line has the hash of
//! the rest, its second line the warnings and remarks of the compilation, and the calls that led to places in functions. The key is a hash of [`crate::VERSION`], the
//! source with all that it imports, and the options that change an entry. Imports are loaded once: what is hashed is what
//! is compiled.
//!
//! Any number of threads and processes may share a folder. An entry appears whole or not at all; two that compile the same
//! source write the same entry. One that is damaged counts as absent and is written anew. Entries are never removed: to make
//! room, delete any of them at any time.

mod notices;

use crate::compile::Compiler;
use crate::compiled::{Diagnostics, NotLaunchable};
use crate::files;
use crate::options::{Emit, Options, Source, SourceKind};
use crate::report;
use cutec_frontend::ast::File;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::diagnostics::render::RenderOptions;
use cutec_frontend::source::{LoadedSource, NoImports, SourceLoader, SourceMap};
use cutec_frontend::{Calls, load_imports, load_program};
use cutec_runtime::artifact::Artifact;
use cutec_runtime::regular_file;
use notices::Notices;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// What an entry begins with; the number changes with what follows.
const HEADER: &str = "// cutec-cache 3 ";
/// What its second line begins with.
const NOTICES: &str = "// ";
/// The largest entry that is read, in bytes; PTX of the examples takes some 100 KiB.
const MAX_ENTRY_BYTES: u64 = 256 << 20;

/// A folder of compiled kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

/// What a cache gives.
#[derive(Debug)]
pub struct Cached {
    /// PTX with its ABI.
    pub artifact: Artifact,
    /// What looks wrong in the source, as [`crate::Compiled::warnings`].
    pub warnings: Vec<Diagnostic>,
    /// What each copy and gemm became, where [`Options::remarks`] asks for it.
    pub remarks: Vec<Diagnostic>,
    /// What calls led to places in functions, as [`crate::Compiled::calls`].
    pub calls: Calls,
    /// The texts that warnings and remarks point into.
    pub sources: SourceMap,
    /// Whether it was there; otherwise it was compiled now.
    pub found: bool,
    /// Why it could not be kept, where it could not: the artifact is good all the same.
    pub unsaved: Option<io::Error>,
}

impl Cached {
    /// Warnings and remarks as text, with the lines of the source; empty where there are none.
    pub fn render(&self, options: RenderOptions) -> String {
        let notices: Vec<Diagnostic> = self.warnings.iter().chain(&self.remarks).cloned().collect();
        report::render(&notices, &[], &self.sources, options)
    }
}

/// Why a cache gives nothing.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The source does not compile.
    #[error(transparent)]
    Source(#[from] Diagnostics),
    /// It compiles to what cannot be launched.
    #[error(transparent)]
    Artifact(#[from] NotLaunchable),
}

impl Cache {
    /// The cache in this folder, which is made where it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// The PTX of a source that imports no files; of the options, [`Options::emit`] does not matter.
    ///
    /// # Errors
    /// As [`crate::compile()`].
    pub fn ptx(&self, source: &Source, options: &Options) -> Result<Cached, CacheError> {
        self.ptx_with(source, &NoImports, options)
    }

    /// The PTX of a source; `loader` answers its imports.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn ptx_with(
        &self,
        source: &Source,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Cached, CacheError> {
        let loader = Snapshot::new(loader);
        let sources = sources(source, &loader);
        self.ptx_of(source, sources, &loader, options)
    }

    /// The PTX of a source whose texts are at hand, with those of its imports, as [`cutec_frontend::load_program`] puts them
    /// into a map; `loader` gives the same texts again where there is something to compile.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn ptx_of(
        &self,
        source: &Source,
        sources: SourceMap,
        loader: &dyn SourceLoader,
        options: &Options,
    ) -> Result<Cached, CacheError> {
        let path = self.folder.join(key(source, &sources, options) + ".ptx");
        if let Some((artifact, notices)) = read(&path, &sources) {
            return Ok(Cached {
                artifact,
                warnings: notices.warnings,
                remarks: notices.remarks,
                calls: notices.calls,
                sources,
                found: true,
                unsaved: None,
            });
        }
        let options = Options {
            emit: Emit::Ptx,
            ..options.clone()
        };
        let compiled = Compiler::new().compile(source, loader, &options)?;
        let artifact = compiled.artifact()?;
        let notices = Notices {
            warnings: compiled.warnings.clone(),
            remarks: compiled.remarks.clone(),
            calls: compiled.calls.clone(),
        };
        let unsaved = write(&path, compiled.text().unwrap_or_default(), &notices).err();
        Ok(Cached {
            artifact,
            warnings: notices.warnings,
            remarks: notices.remarks,
            calls: notices.calls,
            sources: compiled.sources,
            found: false,
            unsaved,
        })
    }
}

/// The artifact of an entry that is there and whole, and what it says about `sources`.
fn read(path: &Path, sources: &SourceMap) -> Option<(Artifact, Notices)> {
    let bytes = regular_file::read(path, MAX_ENTRY_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (known, rest) = text.strip_prefix(HEADER)?.split_once('\n')?;
    if hash([rest.as_bytes()]) != known {
        return None;
    }
    let (notices, ptx) = rest.strip_prefix(NOTICES)?.split_once('\n')?;
    let notices = Notices::from_line(notices, sources)?;
    Some((Artifact::from_ptx(ptx).ok()?, notices))
}

fn write(path: &Path, ptx: &str, notices: &Notices) -> io::Result<()> {
    let rest = format!("{NOTICES}{}\n{ptx}", notices.to_line()?);
    let entry = format!("{HEADER}{}\n{rest}", hash([rest.as_bytes()]));
    files::replace(path, entry.as_bytes())
}

/// A loader that asks another one once for each import and gives the same answer ever after, whatever becomes of
/// the files.
struct Snapshot<'a> {
    loader: &'a dyn SourceLoader,
    answers: RefCell<HashMap<(String, String), Result<LoadedSource, String>>>,
}

impl<'a> Snapshot<'a> {
    fn new(loader: &'a dyn SourceLoader) -> Self {
        let answers = RefCell::default();
        Self { loader, answers }
    }
}

impl SourceLoader for Snapshot<'_> {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let import = (importer.to_owned(), path.to_owned());
        let known = self.answers.borrow().get(&import).cloned();
        known.unwrap_or_else(|| {
            let answer = self.loader.load(importer, path);
            self.answers.borrow_mut().insert(import, answer.clone());
            answer
        })
    }
}

/// The texts of a source with all that it imports.
fn sources(source: &Source, loader: &dyn SourceLoader) -> SourceMap {
    let mut sources = SourceMap::new();
    match &source.kind {
        SourceKind::Cute => {
            let (name, text) = (&source.name, &source.text);
            // What is wrong with the texts is said when they are compiled.
            load_program(&mut sources, name, text, loader, &mut Vec::new());
        }
        SourceKind::Mlir => {
            sources.add(source.name.clone(), source.text.clone());
        }
        SourceKind::Built(module) => {
            module.add_to(&mut sources, &source.name);
            let root = File::clone(module.file());
            load_imports(&mut sources, root, loader, &mut Vec::new());
        }
    }
    sources
}

/// What decides an entry, as a name of a file.
fn key(source: &Source, sources: &SourceMap, options: &Options) -> String {
    let (kind, places) = match &source.kind {
        SourceKind::Cute => ("cute", ""),
        SourceKind::Mlir => ("mlir", ""),
        SourceKind::Built(module) => ("built", module.places()),
    };
    let level = options.level.digit().to_string();
    let kernel = options.kernel.as_deref();
    let mut parts = vec![
        crate::VERSION,
        kind,
        places,
        options.target.name,
        &level,
        if options.remarks { "remarks" } else { "" },
        if kernel.is_some() { "kernel" } else { "" },
        kernel.unwrap_or_default(),
    ];
    let count = options.defines.len().to_string();
    parts.push(&count);
    for (name, value) in &options.defines {
        parts.extend([name.as_str(), value.as_str()]);
    }
    for (_, file) in sources.files() {
        parts.extend([file.name(), file.text()]);
    }
    hash(parts.into_iter().map(str::as_bytes))
}

/// SHA-256 of a source with all that it imports, in hexadecimal digits: whether something was made of the same text.
pub fn fingerprint(source: &Source, loader: &dyn SourceLoader) -> String {
    let sources = sources(source, loader);
    let files = sources.files();
    hash(files.map(|(_, file)| file.text().as_bytes()))
}

/// The hash of parts, each with its length before it, in hexadecimal digits.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digits = hasher.finalize();
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
