//! The kernel ABI: everything a host needs to launch a compiled kernel.
//!
//! The compiler writes it, the runtime reads it; neither is needed to use this crate, which links
//! no MLIR, does no I/O and knows no device.
//!
//! Modules in reading order:
//! - [`dtype`]: element types, their names, sizes and conversions from and to `f64`;
//! - [`minifloat`]: the 8-bit floating-point formats;
//! - [`arithmetic`]: operations on numbers that are known, one meaning for compiler, launch and tests;
//! - this file: the types, as they stand in JSON ([`Abi`], [`KernelAbi`], [`ArgAbi`], …);
//! - [`expr`]: integer expressions over a kernel's run-time values, and their evaluation;
//! - [`mod@text`]: the notation of one kernel's ABI in IR;
//! - [`mod@embed`]: how the ABI travels, in a PTX comment block or in a file beside a cubin;
//! - [`validate`]: a parsed ABI is checked for consistency before it is used;
//! - [`bind`]: arguments are checked against the ABI and become a [`Launch`];
//! - [`tensor_map`]: what the tensor memory accelerator is told of an argument;
//! - [`infer`]: shapes and strides that follow from those of other arguments;
//! - [`status`]: what is wrong, as a number for other languages; [`dlpack`]: their tensors.
//!
//! JSON form: `{"cutec_abi": 1, "kernels": [ … ]}`. Unknown fields are ignored, so that fields may be
//! added without a new version; the version changes when an old reader would launch wrongly.
//!
//! Invariant: [`embed::from_json`] and [`extract`] give validated ABIs only.

pub mod arithmetic;
pub mod bind;
pub mod dlpack;
pub mod dtype;
pub mod embed;
pub mod expr;
pub mod infer;
pub mod minifloat;
pub mod status;
pub mod tensor;
pub mod tensor_map;
pub mod text;
pub mod validate;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use bind::{Arg, BindError, Launch, LaunchParam, Place, ScalarValue, TensorDesc};
pub use dtype::{DType, UnknownDType};
pub use embed::{embed, extract};
pub use expr::{AbiExpr, ExprError};
pub use status::Status;
pub use tensor_map::TensorMapAbi;

/// How many there are of something, as messages say it: `1 byte`, `16 bytes`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    match count == N::from(1) {
        true => format!("{count} {what}"),
        false => format!("{count} {what}s"),
    }
}

/// The version that this crate writes and reads.
pub const ABI_VERSION: u32 = 1;

/// The ABI of one artifact (a PTX text or a cubin), which may hold several kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abi {
    /// Format version, [`ABI_VERSION`].
    pub cutec_abi: u32,
    /// The kernels of the artifact, in the order of the source.
    pub kernels: Vec<KernelAbi>,
}

/// One kernel: its arguments, what it is passed at machine level, and its launch geometry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelAbi {
    /// Name in the source.
    pub name: String,
    /// Name of the `.entry` in the PTX or cubin.
    pub entry: String,
    /// Target that it was compiled for, such as `sm_80` or `sm_90a`; empty until it is.
    pub target: String,
    /// Source file, as it was named to the compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Arguments as the source declares them.
    pub args: Vec<ArgAbi>,
    /// Run-time integers, each read off one argument at launch.
    #[serde(default)]
    pub symbols: Vec<SymbolAbi>,
    /// Tensor maps that are made from arguments at launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensor_maps: Vec<TensorMapAbi>,
    /// What is passed at machine level, in the order of the PTX `.param`s.
    pub params: Vec<ParamAbi>,
    /// Conditions from `where` that the compiler relied on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<Promise>,
    /// Number of blocks in x, y, z.
    pub grid: [AbiExpr; 3],
    /// Whether blocks stay and take one piece of work after the other: of the blocks in x, which `grid` counts, a
    /// launch has at most as many as the device holds at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
    /// Blocks of a cluster in x, y, z; `None` without clusters. The code says so too (`.reqnctapercluster`), and the grid
    /// must be made of whole clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Whether it may begin before the launch ahead of it in the stream has ended (programmatic dependent launch): the
    /// code itself waits for that where it needs to (`griddepcontrol.wait`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pdl: bool,
    /// Whether all blocks of a launch run at the same time, since they wait for each other: a launch of more than the device
    /// holds is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cooperative: bool,
    /// Number of threads of a block in x, y, z; `None` until the compiler has chosen it, which it has
    /// in every ABI that was read from an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<[AbiExpr; 3]>,
    /// Dynamic shared memory of a block, in bytes.
    #[serde(default)]
    pub smem_bytes: u32,
    /// The buffers in it, for tools that check accesses; a launch does not need them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smem: Option<SmemAbi>,
    /// Of a kernel at the tile level what tools that check accesses know of it; a launch does not need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TilesAbi>,
    /// Compile-time parameters with which this kernel was instantiated, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub defines: BTreeMap<String, String>,
    /// Of compile-time parameters that have candidates, these as the source has them, `[64, 128]`; for tools, a launch does not need them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub candidates: BTreeMap<String, String>,
    /// The conditions between candidates (`where tunable`), as the source has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunable: Vec<String>,
    /// What ptxas reported, where a cubin was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// The buffers of a kernel's dynamic shared memory, and the positions in the source that access them.
///
/// Instructions at a position access no other buffers. Positions that are not named may access all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmemAbi {
    /// Paths of source files, as `.file` names them.
    pub files: Vec<String>,
    /// The buffers. Those that are not used at the same time may share bytes.
    pub buffers: Vec<SmemBuffer>,
    /// Positions, with the buffers that are accessed there by their index.
    pub accesses: Vec<(Position, Vec<usize>)>,
}

/// What a kernel at the tile level leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TilesAbi {
    /// Positions of the statements that scatter, by the path of the file, line and column from 1: of several elements for
    /// one place any one is left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatters: Vec<(String, u32, u32)>,
}

/// A buffer in shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmemBuffer {
    /// First byte, from the start of dynamic shared memory.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Name in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
}

/// File by its index in [`SmemAbi::files`], line and column from 1.
pub type Position = (usize, u32, u32);

/// One argument as the source declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArgAbi {
    /// A tensor in global memory.
    Tensor(TensorAbi),
    /// A number passed by value.
    Scalar(ScalarAbi),
}

/// A tensor argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorAbi {
    /// Name in the source.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Whether the kernel writes it.
    #[serde(default)]
    pub mutable: bool,
    /// Alignment that the base address must have, in bytes; a power of two.
    #[serde(default = "one_u64")]
    pub align: u64,
    /// Extents, one a mode.
    pub extents: Vec<Dim>,
    /// Strides in elements, one a mode.
    pub strides: Vec<AbiExpr>,
}

/// A scalar argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalarAbi {
    /// Name in the source.
    pub name: String,
    /// Type in which it is passed.
    pub dtype: DType,
}

/// The extent of one mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dim {
    /// Known at compile time.
    Static(i64),
    /// The run-time integer with this index in [`KernelAbi::symbols`].
    Symbol(usize),
    /// Computed from run-time integers, and checked.
    Expr(AbiExpr),
}

/// A run-time integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolAbi {
    /// Name in the source, for messages.
    pub name: String,
    /// Width in which it is passed; its value must fit as a signed integer.
    pub width: Width,
    /// The value must be a multiple of this; at least 1.
    #[serde(default = "one_i64")]
    pub divisible_by: i64,
    /// The value must not exceed this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
    /// Where its value is read at launch.
    pub from: SymbolSource,
}

/// Width of a run-time integer; `32` or `64` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum Width {
    /// `i32`.
    W32,
    /// `i64`.
    W64,
}

/// Where a run-time integer is read at launch; `arg` counts [`KernelAbi::args`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolSource {
    /// Extent of a tensor's mode.
    Extent {
        /// Argument index.
        arg: usize,
        /// Mode index.
        mode: usize,
    },
    /// Stride of a tensor's mode, in elements.
    Stride {
        /// Argument index.
        arg: usize,
        /// Mode index.
        mode: usize,
    },
    /// Value of an integer scalar argument.
    Scalar {
        /// Argument index.
        arg: usize,
    },
}

/// One machine-level parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamAbi {
    /// Base address of a tensor argument, 64 bits.
    Pointer {
        /// Argument index.
        arg: usize,
    },
    /// A run-time integer, in its width.
    Symbol {
        /// Index in [`KernelAbi::symbols`].
        index: usize,
    },
    /// A tensor map: 128 bytes, aligned to 64.
    TensorMap {
        /// Index in [`KernelAbi::tensor_maps`].
        index: usize,
    },
    /// A scalar argument, in its type.
    Scalar {
        /// Argument index.
        arg: usize,
    },
}

/// A condition that the compiler relied on; checked at launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// As the source states it, for messages.
    pub text: String,
    /// Holds where it evaluates to something other than 0.
    pub expr: AbiExpr,
}

/// What ptxas reported for a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of spill stores a thread.
    #[serde(default)]
    pub spill_stores: u32,
    /// Bytes of spill loads a thread.
    #[serde(default)]
    pub spill_loads: u32,
    /// Bytes of static shared memory a block.
    #[serde(default)]
    pub static_smem: u32,
}

/// An ABI that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AbiError {
    /// The PTX has no ABI block.
    #[error("no kernel ABI in this PTX: expected a comment block that begins with `// {begin}`", begin = embed::BEGIN)]
    Missing,
    /// The ABI block does not end, or a line in it is no comment.
    #[error("the kernel ABI block that begins at line {line} does not end with `// {end}`", end = embed::END)]
    Unterminated {
        /// Line of the block's first marker, from 1.
        line: usize,
    },
    /// A second ABI block.
    #[error("a second kernel ABI block at line {line}: expected one in a PTX")]
    Repeated {
        /// Line of the second block's first marker, from 1.
        line: usize,
    },
    /// Not the JSON that was expected.
    #[error("the kernel ABI is not the expected JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of the format.
    #[error("kernel ABI version {found}: this runtime reads version {ABI_VERSION}")]
    Version {
        /// The version in the JSON.
        found: u64,
    },
    /// The ABI contradicts itself.
    #[error("kernel `{kernel}`: the ABI is inconsistent: {problem}")]
    Inconsistent {
        /// Name of the kernel.
        kernel: String,
        /// What does not fit.
        problem: validate::Problem,
    },
    /// Two kernels of one name.
    #[error("the kernel ABI has two kernels named `{kernel}`")]
    DuplicateKernel {
        /// The name.
        kernel: String,
    },
}

impl Abi {
    /// An ABI of the current version.
    pub fn new(kernels: Vec<KernelAbi>) -> Abi {
        Abi {
            cutec_abi: ABI_VERSION,
            kernels,
        }
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&KernelAbi> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Checks `args` against the kernel of this name; see [`KernelAbi::bind`].
    pub fn bind(&self, kernel: &str, args: &[Arg]) -> Result<Launch, BindError> {
        let Some(found) = self.kernel(kernel) else {
            return Err(BindError::UnknownKernel {
                kernel: kernel.to_string(),
                available: self
                    .kernels
                    .iter()
                    .map(|kernel| kernel.name.clone())
                    .collect(),
            });
        };
        found.bind(args)
    }
}

impl ArgAbi {
    /// Name in the source.
    pub fn name(&self) -> &str {
        match self {
            ArgAbi::Tensor(tensor) => &tensor.name,
            ArgAbi::Scalar(scalar) => &scalar.name,
        }
    }

    /// Element type of a tensor, or type of a scalar.
    pub fn dtype(&self) -> DType {
        match self {
            ArgAbi::Tensor(tensor) => tensor.dtype,
            ArgAbi::Scalar(scalar) => scalar.dtype,
        }
    }

    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorAbi> {
        match self {
            ArgAbi::Tensor(tensor) => Some(tensor),
            ArgAbi::Scalar(_) => None,
        }
    }
}

impl From<AbiExpr> for Dim {
    fn from(expr: AbiExpr) -> Dim {
        match expr {
            AbiExpr::Const(extent) => Dim::Static(extent),
            AbiExpr::Symbol(index) => Dim::Symbol(index),
            other => Dim::Expr(other),
        }
    }
}

impl Width {
    /// Number of bits.
    pub fn bits(self) -> u32 {
        match self {
            Width::W32 => 32,
            Width::W64 => 64,
        }
    }

    /// The largest value that it holds.
    pub fn max_value(self) -> i64 {
        match self {
            Width::W32 => i64::from(i32::MAX),
            Width::W64 => i64::MAX,
        }
    }
}

impl From<Width> for u32 {
    fn from(width: Width) -> u32 {
        width.bits()
    }
}

impl TryFrom<u32> for Width {
    type Error = String;

    fn try_from(bits: u32) -> Result<Width, String> {
        match bits {
            32 => Ok(Width::W32),
            64 => Ok(Width::W64),
            other => Err(format!("width {other}: expected 32 or 64")),
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i{}", self.bits())
    }
}

fn one_u64() -> u64 {
    1
}

fn one_i64() -> i64 {
    1
}
