//! Where NVIDIA's library and programs are looked for, first find wins:
//!
//! 1. the environment variable of the very file (`CUTEC_NVJITLINK`, `CUTEC_PTXAS`, …);
//! 2. the folder `CUTEC_CUDA` (with `lib/` and `bin/`);
//! 3. beside the running program: `<exe folder>/../{lib,bin}`;
//! 4. `.local/cuda` of the checkout that the program was built in (`scripts/setup.sh` fills it);
//! 5. `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`;
//! 6. `PATH` for programs, the system's library search for libraries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program or library that was looked for in vain.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what} was not found; install {package}, or set {variable} to its path")]
pub struct NotFound {
    /// `ptxas`, `libnvJitLink.so`, …
    pub what: String,
    /// What to install.
    pub package: String,
    /// The variable that names the file.
    pub variable: String,
}

/// A program of the CUDA toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The PTX assembler.
    Ptxas,
    /// The disassembler.
    Nvdisasm,
    /// The object dumper, which disassembles too.
    Cuobjdump,
}

impl Program {
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ptxas => "ptxas",
            Self::Nvdisasm => "nvdisasm",
            Self::Cuobjdump => "cuobjdump",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Ptxas => "CUTEC_PTXAS",
            Self::Nvdisasm => "CUTEC_NVDISASM",
            Self::Cuobjdump => "CUTEC_CUOBJDUMP",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Ptxas => "the CUDA toolkit or PyPI's nvidia-cuda-nvcc",
            Self::Nvdisasm => "the CUDA toolkit or PyPI's nvidia-cuda-nvdisasm",
            Self::Cuobjdump => "the CUDA toolkit or PyPI's nvidia-cuda-cuobjdump",
        }
    }

    /// The program's path.
    ///
    /// # Errors
    /// `NotFound` with what would help.
    pub fn find(self) -> Result<PathBuf, NotFound> {
        let not_found = || NotFound {
            what: self.name().to_owned(),
            package: self.package().to_owned(),
            variable: self.variable().to_owned(),
        };
        if let Some(path) = variable(self.variable()) {
            return path.is_file().then_some(path).ok_or_else(not_found);
        }
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        roots()
            .into_iter()
            .map(|root| root.join("bin"))
            .chain(std::env::split_paths(&on_path))
            .map(|folder| folder.join(self.name()))
            .find(|path| path.is_file())
            .ok_or_else(not_found)
    }
}

/// Names under which libnvJitLink is installed, newest first.
const NVJITLINK_NAMES: [&str; 3] = [
    "libnvJitLink.so",
    "libnvJitLink.so.13",
    "libnvJitLink.so.12",
];

/// Paths (or, at the end, bare names for the system's search) that libnvJitLink may be loaded from.
/// When `CUTEC_NVJITLINK` is set, it is the only one.
pub fn nvjitlink_candidates() -> Vec<PathBuf> {
    if let Some(path) = variable("CUTEC_NVJITLINK") {
        return vec![path];
    }
    let mut candidates = Vec::new();
    for root in roots() {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib"] {
            for name in NVJITLINK_NAMES {
                let path = root.join(folder).join(name);
                if path.is_file() {
                    candidates.push(path);
                }
            }
        }
    }
    candidates.extend(NVJITLINK_NAMES.map(PathBuf::from));
    candidates
}

/// The error for a missing libnvJitLink.
pub fn nvjitlink_not_found() -> NotFound {
    NotFound {
        what: "libnvJitLink.so".to_owned(),
        package: "the CUDA toolkit (12.0 or newer) or PyPI's nvidia-nvjitlink".to_owned(),
        variable: "CUTEC_NVJITLINK".to_owned(),
    }
}

/// Folders with `bin` and `lib` of NVIDIA's tools, most specific first.
fn roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = variable("CUTEC_CUDA").into_iter().collect();
    if let Ok(program) = std::env::current_exe() {
        let folders: Vec<&Path> = program.ancestors().skip(1).collect();
        if let Some(prefix) = folders.get(1) {
            roots.push(prefix.to_path_buf());
        }
        // target/release/cutec, target/debug/deps/test: the checkout is a few folders up.
        let checkout = folders
            .iter()
            .map(|folder| folder.join(".local/cuda"))
            .find(|folder| folder.is_dir());
        roots.extend(checkout);
    }
    roots.extend(variable("CUDA_HOME"));
    roots.extend(variable("CUDA_PATH"));
    roots.push(PathBuf::from("/usr/local/cuda"));
    roots
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value: &OsString| !value.is_empty())
        .map(PathBuf::from)
}
