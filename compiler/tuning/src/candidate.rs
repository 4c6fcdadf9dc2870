//! A configuration that was compiled.

use crate::Configuration;
use cutec_runtime::Artifact;
use cutec_runtime::abi::{Arg, KernelAbi, Launch, SymbolSource};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parameters by name.
pub type Parameters = BTreeMap<String, String>;

/// A configuration with its code.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its number: 0 is that of the defaults.
    pub number: usize,
    /// Its parameters.
    pub configuration: Configuration,
    /// The code, or the compiler's first message.
    pub compiled: Result<Arc<Artifact>, String>,
}

/// What a launch of a configuration takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Blocks.
    pub blocks: u64,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared: u32,
    /// Registers a thread, where an assembler said so.
    pub registers: Option<u32>,
    /// Bytes that a thread spills, where an assembler said so.
    pub spills: Option<u32>,
}

impl Candidate {
    /// The ABI of the kernel, where it compiled.
    pub fn abi(&self, kernel: &str) -> Option<&KernelAbi> {
        self.compiled.as_ref().ok()?.kernel(kernel)
    }

    /// Its parameters by name.
    pub fn parameters(&self) -> Parameters {
        self.configuration.iter().cloned().collect()
    }
}

impl Figures {
    /// What a launch takes.
    pub fn of(abi: &KernelAbi, launch: &Launch) -> Self {
        let product = |extents: [u32; 3]| extents.iter().map(|&extent| u64::from(extent)).product();
        let blocks: u64 = product(launch.grid);
        let threads: u64 = product(launch.block);
        let of_block = abi.resources.map_or(0, |resources| resources.static_smem);
        Self {
            blocks,
            cluster: launch.cluster.iter().product(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            shared: launch.smem_bytes + of_block,
            registers: abi.resources.map(|resources| resources.registers),
            spills: abi.resources.map(|r| r.spill_stores + r.spill_loads),
        }
    }
}

/// What makes a size of a kernel: its symbols with their values, strides aside.
pub fn size(abi: &KernelAbi, args: &[Arg]) -> Vec<(String, i64)> {
    let value = |source| match source {
        SymbolSource::Extent { arg, mode } => match args.get(arg)? {
            Arg::Tensor(tensor) => tensor.shape.get(mode).copied(),
            Arg::Scalar(_) => None,
        },
        SymbolSource::Scalar { arg } => match args.get(arg)? {
            Arg::Scalar(scalar) => scalar.as_i64(),
            Arg::Tensor(_) => None,
        },
        SymbolSource::Stride { .. } => None,
    };
    let symbols = abi.symbols.iter();
    let values = symbols.filter_map(|symbol| Some((symbol.name.clone(), value(symbol.from)?)));
    values.collect()
}

/// Where each of these symbols is read, in their order, for a choice that a launch makes; `None` where one is no extent and no
/// scalar of the kernel, so is in no [`size`] of it.
pub fn size_sources(abi: &KernelAbi, names: &[String]) -> Option<Vec<SymbolSource>> {
    let source = |name: &String| {
        let mut symbols = abi.symbols.iter();
        let from = symbols.find(|symbol| symbol.name == *name)?.from;
        match from {
            SymbolSource::Extent { .. } | SymbolSource::Scalar { .. } => Some(from),
            SymbolSource::Stride { .. } => None,
        }
    };
    names.iter().map(source).collect()
}

/// A size for people: `m = 1024, n = 1024`.
pub fn size_text(size: &[(String, i64)]) -> String {
    let pairs = size.iter().map(|(name, value)| format!("{name} = {value}"));
    match pairs.collect::<Vec<_>>().join(", ") {
        text if text.is_empty() => "the one size".to_owned(),
        text => text,
    }
}
