//! cubin → SASS text, by `nvdisasm` or, where that is missing, `cuobjdump -sass`; [`super::listing`] makes it readable.

use super::locate::{NotFound, Program};
use crate::files::temporary::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is no SASS text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SassError {
    /// Neither program is installed.
    #[error("no disassembler: {0}")]
    NoDisassembler(NotFound),
    /// The program could not run, or its input not be written.
    #[error("cannot run {program}: {reason}")]
    Run {
        /// Its path.
        program: PathBuf,
        /// The system's words.
        reason: std::io::Error,
    },
    /// The program refused the cubin.
    #[error("{program} refused the cubin:\n{log}")]
    Refused {
        /// Its path.
        program: PathBuf,
        /// What it wrote.
        log: String,
    },
}

/// Disassembles the code of a cubin, with the places that it comes from where the cubin and the program know them.
///
/// # Errors
/// `NoDisassembler` when neither program is to be had; else what the program said.
pub fn disassemble(cubin: &[u8]) -> Result<String, SassError> {
    match Program::Nvdisasm.find() {
        Ok(program) => run(&program, &["-c", "-g"], cubin),
        Err(missing) => match Program::Cuobjdump.find() {
            Ok(program) => run(&program, &["-sass"], cubin),
            Err(_) => Err(SassError::NoDisassembler(missing)),
        },
    }
}

fn run(program: &Path, arguments: &[&str], cubin: &[u8]) -> Result<String, SassError> {
    let failed = |reason: std::io::Error| SassError::Run {
        program: program.to_path_buf(),
        reason,
    };
    let folder = Folder::new().map_err(failed)?;
    let input = folder.path().join("kernel.cubin");
    std::fs::write(&input, cubin).map_err(failed)?;
    let result = Command::new(program)
        .args(arguments)
        .arg(&input)
        .output()
        .map_err(failed)?;
    if !result.status.success() {
        return Err(SassError::Refused {
            program: program.to_path_buf(),
            log: String::from_utf8_lossy(&result.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}
