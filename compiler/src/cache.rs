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
//! the rest. The key is a hash of [`crate::VERSION`], the source with all that it imports, and the options that change PTX.
//!
//! Any number of threads and processes may share a folder. An entry appears whole or not at all; two that compile the same
//! source write the same entry. One that is damaged counts as absent and is written anew. Entries are never removed: to make
//! room, delete any of them at any time.

use crate::compile::Compiler;
use crate::compiled::{Diagnostics, NotLaunchable};
use crate::files;
use crate::options::{Emit, Options, Source, SourceKind};
use cutec_frontend::load_program;
use cutec_frontend::source::{NoImports, SourceLoader, SourceMap};
use cutec_runtime::artifact::Artifact;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// What an entry begins with; the number changes with what follows.
const HEADER: &str = "// cutec-cache 1 ";

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
    /// Whether it was there; otherwise it was compiled now.
    pub found: bool,
    /// Why it could not be kept, where it could not: the artifact is good all the same.
    pub unsaved: Option<io::Error>,
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
        let path = self.folder.join(key(source, loader, options) + ".ptx");
        if let Some(artifact) = read(&path) {
            return Ok(Cached {
                artifact,
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
        let ptx = compiled.text().unwrap_or_default();
        let entry = format!("{HEADER}{}\n{ptx}", hash([ptx.as_bytes()]));
        Ok(Cached {
            artifact,
            found: false,
            unsaved: files::replace(&path, entry.as_bytes()).err(),
        })
    }
}

/// The artifact of an entry that is there and whole.
fn read(path: &Path) -> Option<Artifact> {
    let text = std::fs::read_to_string(path).ok()?;
    let (known, ptx) = text.strip_prefix(HEADER)?.split_once('\n')?;
    if hash([ptx.as_bytes()]) != known {
        return None;
    }
    Artifact::from_ptx(ptx).ok()
}

/// What decides the PTX, as a name of a file.
fn key(source: &Source, loader: &dyn SourceLoader, options: &Options) -> String {
    let mut sources = SourceMap::new();
    let kind = match source.kind {
        SourceKind::Cute => {
            let (name, text) = (&source.name, &source.text);
            // What is wrong with the texts is said when they are compiled.
            load_program(&mut sources, name, text, loader, &mut Vec::new());
            "cute"
        }
        SourceKind::Mlir => "mlir",
        SourceKind::Built(_) => "built",
    };
    if kind != "cute" {
        sources.add(source.name.clone(), source.text.clone());
    }
    let level = options.level.digit().to_string();
    let kernel = options.kernel.as_deref();
    let mut parts = vec![
        crate::VERSION,
        kind,
        options.target.name,
        &level,
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
