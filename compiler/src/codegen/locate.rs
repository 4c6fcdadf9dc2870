//! Where NVIDIA's library and programs are looked for, first find wins:
//!
//! 1. the environment variable of the very file (`CUTEC_NVJITLINK`, `CUTEC_PTXAS`, …);
//! 2. the folder `CUTEC_CUDA` (with `lib/` and `bin/`);
//! 3. beside the running program: `<exe folder>/../{lib,bin}`;
//! 4. `.local/cuda` of the checkout (`scripts/setup.sh` fills it), where the program lies as cargo puts it there:
//!    `CHECKOUT/target/PROFILE/cutec`;
//! 5. folders that the host names ([`also_look_in`]): the Python package names those of PyPI's packages beside it;
//! 6. `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`;
//! 7. `PATH` for programs, the system's library search for libraries.
//!
//! Nowhere else: a folder above the program, or the one that the user happens to stand in, may be anybody's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
            // The empty entry and `.` are the folder that the user stands in.
            .chain(std::env::split_paths(&on_path).filter(|folder| folder.is_absolute()))
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

/// What [`also_look_in`] was told.
static NAMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Looks in this folder too, which has `lib` and `bin` of NVIDIA's tools or one of them, for the rest of the process.
pub fn also_look_in(folder: PathBuf) {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if !named.contains(&folder) {
        named.push(folder);
    }
}

/// Folders with `bin` and `lib` of NVIDIA's tools, most specific first.
fn roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = variable("CUTEC_CUDA").into_iter().collect();
    if let Ok(program) = std::env::current_exe() {
        roots.extend(program.ancestors().nth(2).map(Path::to_path_buf));
        roots.extend(checkout(&program).map(|checkout| checkout.join(".local/cuda")));
    }
    let named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    roots.extend(named.iter().cloned());
    roots.extend(variable("CUDA_HOME"));
    roots.extend(variable("CUDA_PATH"));
    roots.push(PathBuf::from("/usr/local/cuda"));
    roots
}

/// The checkout of a program that lies in `CHECKOUT/target/PROFILE`, or as a test or an example in a folder of that.
fn checkout(program: &Path) -> Option<&Path> {
    let mut profile = program.parent()?;
    if profile.ends_with("deps") || profile.ends_with("examples") {
        profile = profile.parent()?;
    }
    let target = profile.parent()?;
    if target.ends_with("target") {
        target.parent()
    } else {
        None
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value: &OsString| !value.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_where_cargo_puts_programs_and_nowhere_else() {
        for (program, expected) in [
            ("/src/cutec/target/release/cutec", Some("/src/cutec")),
            ("/src/cutec/target/debug/deps/cutec-12", Some("/src/cutec")),
            (
                "/src/cutec/target/release/examples/embed",
                Some("/src/cutec"),
            ),
            ("/home/me/.cargo/bin/cutec", None),
            ("/tmp/cutec", None),
            ("/tmp/a/b/c/cutec", None),
            ("/tmp/target/cutec", None),
        ] {
            assert_eq!(
                checkout(Path::new(program)),
                expected.map(Path::new),
                "{program}"
            );
        }
    }
}
