//! A compiled artifact: code and the ABI that travels with it.

use std::path::{Path, PathBuf};

use crate::abi::embed::{extract, from_json, side_path};
use crate::abi::{Abi, AbiError, KernelAbi};

/// Code and its ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The code.
    pub code: Code,
    /// What the compiler says about its kernels.
    pub abi: Abi,
}

/// Code that a device can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// PTX text.
    Ptx(String),
    /// A cubin, an ELF file for one architecture.
    Cubin(Vec<u8>),
}

/// An artifact that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// Reading a file failed.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Neither PTX nor cubin.
    #[error("{}: neither PTX text nor a cubin", .path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The ABI is missing or broken.
    #[error("{}: {error}", .path.display())]
    Abi {
        /// The file that should hold it.
        path: PathBuf,
        /// Why.
        error: AbiError,
    },
}

impl Artifact {
    /// PTX text that carries its ABI.
    pub fn from_ptx(ptx: impl Into<String>) -> Result<Artifact, AbiError> {
        let ptx = ptx.into();
        let abi = extract(&ptx)?;
        Ok(Artifact {
            code: Code::Ptx(ptx),
            abi,
        })
    }

    /// A cubin with the text of its side file.
    pub fn from_cubin(cubin: Vec<u8>, abi_json: &str) -> Result<Artifact, AbiError> {
        Ok(Artifact {
            code: Code::Cubin(cubin),
            abi: from_json(abi_json)?,
        })
    }

    /// Reads PTX, or a cubin and the `.abi.json` beside it; what the file holds decides which.
    pub fn read(path: &Path) -> Result<Artifact, ArtifactError> {
        let abi_error = |path: PathBuf| move |error| ArtifactError::Abi { path, error };
        let mut bytes = read_file(path)?;
        while bytes.starts_with(b"\x7fELF") {
            let side = side_path(path);
            let json = String::from_utf8_lossy(&read_file(&side)?).into_owned();
            // One that was replaced meanwhile has another ABI.
            let found = read_file(path)?;
            if found == bytes {
                return Artifact::from_cubin(bytes, &json).map_err(abi_error(side));
            }
            bytes = found;
        }
        match String::from_utf8(bytes) {
            Ok(ptx) if !ptx.contains('\0') => {
                Artifact::from_ptx(ptx).map_err(abi_error(path.to_path_buf()))
            }
            _ => Err(ArtifactError::Unknown {
                path: path.to_path_buf(),
            }),
        }
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&KernelAbi> {
        self.abi.kernel(name)
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, ArtifactError> {
    std::fs::read(path).map_err(|error| ArtifactError::Io {
        path: path.to_path_buf(),
        error,
    })
}
