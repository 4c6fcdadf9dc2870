//! A parsed PTX module and the launch of its kernels.

use super::error::{ErrorKind, SimError};
use super::{Memory, Options, Space, Stats};

/// A kernel parameter as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Name in the PTX text.
    pub name: String,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in the parameter block of a launch.
    pub offset: u32,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// `.reqntid`: the only block size the kernel may be launched with.
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`: the most threads of a block, as a product.
    pub maxntid: Option<[u32; 3]>,
    /// Bytes of statically sized shared variables.
    pub static_shared: u32,
}

/// A `.global` or `.const` variable.
#[derive(Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub space: Space,
    pub bytes: u64,
    pub init: Vec<u8>,
}

/// A PTX module, parsed and decoded.
#[derive(Debug)]
pub struct Module {
    entries: Vec<Entry>,
}

impl Entry {
    /// Bytes of the parameter block.
    pub fn param_bytes(&self) -> u32 {
        self.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0)
    }

    /// Lays the little-endian bytes of each parameter out as [`Module::launch`] wants them.
    ///
    /// # Errors
    /// Another number of values than parameters, or a value of another size.
    pub fn pack(&self, values: &[&[u8]]) -> Result<Vec<u8>, SimError> {
        let mismatch = |what, expected: String, found: String| ErrorKind::Launch {
            entry: self.name.clone(),
            what,
            expected,
            found,
        };
        if values.len() != self.params.len() {
            return Err(mismatch("parameters", self.params.len().to_string(), values.len().to_string()).into());
        }
        let mut block = vec![0; self.param_bytes() as usize];
        for (param, value) in self.params.iter().zip(values) {
            if value.len() != param.size as usize {
                let expected = format!("{} bytes for `{}`", param.size, param.name);
                return Err(mismatch("parameter size", expected, format!("{} bytes", value.len())).into());
            }
            block[param.offset as usize..][..value.len()].copy_from_slice(value);
        }
        Ok(block)
    }
}

impl Module {
    /// Parses PTX text and decodes every kernel in it.
    ///
    /// # Errors
    /// The text is not PTX, or uses something the simulator does not execute.
    pub fn parse(_ptx: &str) -> Result<Module, SimError> {
        Ok(Module { entries: Vec::new() })
    }

    /// The kernels, in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The kernel of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Runs a kernel to its end.
    ///
    /// `params` is the parameter block, each parameter at its [`Param::offset`]
    /// ([`Entry::pack`] makes one).
    ///
    /// # Errors
    /// The launch does not fit the kernel, or the kernel did something wrong; then `memory` holds
    /// what was written before.
    #[allow(clippy::too_many_arguments)]
    pub fn launch(
        &self,
        entry: &str,
        _grid: [u32; 3],
        _block: [u32; 3],
        _dynamic_shared: u32,
        _params: &[u8],
        _memory: &mut Memory,
        _options: &Options,
    ) -> Result<Stats, SimError> {
        let entries = self.entries.iter().map(|e| e.name.clone()).collect();
        Err(ErrorKind::NoSuchEntry { name: entry.to_owned(), entries }.into())
    }
}
