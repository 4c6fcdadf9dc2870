//! Consistency of an ABI, checked once when it is read.
//!
//! After this, every index in a kernel's ABI is in range and of the right kind.

use std::collections::HashSet;
use std::fmt;

use super::expr::MAX_DEPTH;
use super::{
    Abi, AbiError, AbiExpr, ArgAbi, DType, Dim, KernelAbi, ParamAbi, SymbolSource, TensorMapAbi,
    tensor_map,
};

/// What does not fit in a kernel's ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// An argument index out of range, or of the wrong kind.
    Argument {
        /// What refers to it.
        what: &'static str,
        /// The index.
        index: usize,
        /// What was expected: `tensor`, `scalar`, `integer scalar`.
        expected: &'static str,
    },
    /// A mode index out of range.
    Mode {
        /// Name of the tensor argument.
        arg: String,
        /// The index.
        mode: usize,
        /// Rank of the argument.
        rank: usize,
    },
    /// A symbol index out of range.
    Symbol {
        /// What refers to it.
        what: &'static str,
        /// The index.
        index: usize,
        /// Number of symbols.
        count: usize,
    },
    /// Extents and strides of different number.
    Rank {
        /// Name of the tensor argument.
        arg: String,
        /// Number of extents.
        extents: usize,
        /// Number of strides.
        strides: usize,
    },
    /// An alignment that is no power of two.
    Align {
        /// Name of the tensor argument.
        arg: String,
        /// The alignment.
        align: u64,
    },
    /// A static extent below 0.
    Extent {
        /// Name of the tensor argument.
        arg: String,
        /// The mode.
        mode: usize,
        /// The extent.
        extent: i64,
    },
    /// A divisor below 1.
    Divisor {
        /// Name of the symbol.
        symbol: String,
        /// The divisor.
        divisible_by: i64,
    },
    /// A parameter that refers to a tensor map there is not.
    TensorMapIndex {
        /// The index.
        index: usize,
        /// Number of tensor maps.
        count: usize,
    },
    /// A tensor map that the hardware cannot have.
    TensorMap {
        /// Name of the tensor argument.
        arg: String,
        /// What is expected of it.
        expected: &'static str,
    },
    /// Two symbols of one name.
    DuplicateSymbol {
        /// The name.
        name: String,
    },
    /// A cluster that no hardware has.
    Cluster {
        /// Its blocks in x, y, z.
        found: [u32; 3],
    },
    /// Nothing says how many threads a block has.
    NoBlock,
    /// An expression that nests deeper than [`MAX_DEPTH`].
    Depth {
        /// What has it.
        what: &'static str,
    },
    /// Two arguments of one name.
    DuplicateArgument {
        /// The name.
        name: String,
    },
}

impl Abi {
    /// Checks that the ABI is consistent, and complete.
    pub fn validate(&self) -> Result<(), AbiError> {
        let mut names = HashSet::new();
        for kernel in &self.kernels {
            if !names.insert(kernel.name.as_str()) {
                return Err(AbiError::DuplicateKernel {
                    kernel: kernel.name.clone(),
                });
            }
            let complete = match kernel.block {
                Some(_) => Ok(()),
                None => Err(Problem::NoBlock),
            };
            kernel
                .check()
                .and(complete)
                .map_err(|problem| AbiError::Inconsistent {
                    kernel: kernel.name.clone(),
                    problem,
                })?;
        }
        Ok(())
    }
}

impl KernelAbi {
    /// Checks that the ABI is consistent; what the compiler has not decided yet may be missing.
    pub fn check(&self) -> Result<(), Problem> {
        check(self)
    }
}

fn check(kernel: &KernelAbi) -> Result<(), Problem> {
    let mut names = HashSet::new();
    for arg in &kernel.args {
        if !names.insert(arg.name()) {
            return Err(Problem::DuplicateArgument {
                name: arg.name().to_string(),
            });
        }
        check_argument(kernel, arg)?;
    }
    let mut symbols = HashSet::new();
    for symbol in &kernel.symbols {
        if !symbols.insert(symbol.name.as_str()) {
            return Err(Problem::DuplicateSymbol {
                name: symbol.name.clone(),
            });
        }
        if symbol.divisible_by < 1 {
            return Err(Problem::Divisor {
                symbol: symbol.name.clone(),
                divisible_by: symbol.divisible_by,
            });
        }
        match symbol.from {
            SymbolSource::Extent { arg, mode } | SymbolSource::Stride { arg, mode } => {
                let rank = tensor_rank(kernel, "symbol", arg)?;
                if mode >= rank {
                    let arg = kernel.args[arg].name().to_string();
                    return Err(Problem::Mode { arg, mode, rank });
                }
            }
            SymbolSource::Scalar { arg: index } => match kernel.args.get(index) {
                Some(ArgAbi::Scalar(scalar)) if !scalar.dtype.is_float() => {}
                _ => {
                    let expected = "integer scalar";
                    return Err(Problem::Argument {
                        what: "symbol",
                        index,
                        expected,
                    });
                }
            },
        }
    }
    for param in &kernel.params {
        match *param {
            ParamAbi::Pointer { arg } => {
                tensor_rank(kernel, "parameter", arg)?;
            }
            ParamAbi::TensorMap { index } => {
                let count = kernel.tensor_maps.len();
                if index >= count {
                    return Err(Problem::TensorMapIndex { index, count });
                }
            }
            ParamAbi::Symbol { index } => symbol_exists(kernel, "parameter", index)?,
            ParamAbi::Scalar { arg: index } => {
                if !matches!(kernel.args.get(index), Some(ArgAbi::Scalar(_))) {
                    let expected = "scalar";
                    return Err(Problem::Argument {
                        what: "parameter",
                        index,
                        expected,
                    });
                }
            }
        }
    }
    kernel
        .tensor_maps
        .iter()
        .try_for_each(|map| check_tensor_map(kernel, map))?;
    for promise in &kernel.promises {
        expr_is_known(kernel, "promise", &promise.expr)?;
    }
    for expr in kernel.grid.iter() {
        expr_is_known(kernel, "grid", expr)?;
    }
    for expr in kernel.block.iter().flatten() {
        expr_is_known(kernel, "block", expr)?;
    }
    let blocks = |cluster: &[u32; 3]| {
        let blocks = cluster.iter().map(|&extent| u64::from(extent));
        blocks.fold(1, u64::saturating_mul)
    };
    match kernel.cluster {
        Some(found) if !(1..=MAX_CLUSTER).contains(&blocks(&found)) => {
            Err(Problem::Cluster { found })
        }
        _ => Ok(()),
    }
}

/// Most blocks of a cluster (CUDA C++ Programming Guide, thread block clusters: 8, and 16 where a kernel asks for them).
const MAX_CLUSTER: u64 = 16;

fn check_argument(kernel: &KernelAbi, arg: &ArgAbi) -> Result<(), Problem> {
    let ArgAbi::Tensor(tensor) = arg else {
        return Ok(());
    };
    let name = || tensor.name.clone();
    if tensor.extents.len() != tensor.strides.len() {
        let (extents, strides) = (tensor.extents.len(), tensor.strides.len());
        return Err(Problem::Rank {
            arg: name(),
            extents,
            strides,
        });
    }
    if !tensor.align.is_power_of_two() {
        return Err(Problem::Align {
            arg: name(),
            align: tensor.align,
        });
    }
    for (mode, extent) in tensor.extents.iter().enumerate() {
        match extent {
            Dim::Static(extent) if *extent < 0 => {
                return Err(Problem::Extent {
                    arg: name(),
                    mode,
                    extent: *extent,
                });
            }
            Dim::Static(_) => {}
            Dim::Symbol(index) => symbol_exists(kernel, "extent", *index)?,
            Dim::Expr(expr) => expr_is_known(kernel, "extent", expr)?,
        }
    }
    tensor
        .strides
        .iter()
        .try_for_each(|stride| expr_is_known(kernel, "stride", stride))
}

fn check_tensor_map(kernel: &KernelAbi, map: &TensorMapAbi) -> Result<(), Problem> {
    let rank = map.rank(tensor_rank(kernel, "tensor map", map.arg)?);
    if let Some(view) = &map.view {
        let (extents, strides) = (view.extents.len(), view.strides.len());
        if extents != strides {
            let arg = kernel.args[map.arg].name().to_string();
            return Err(Problem::Rank {
                arg,
                extents,
                strides,
            });
        }
        view.exprs()
            .try_for_each(|expr| expr_is_known(kernel, "tensor map", expr))?;
    }
    let dtype = kernel.args[map.arg].dtype();
    let size = dtype.size() as u32;
    let mut modes = map.order.clone();
    modes.sort_unstable();
    let box_extents = &map.box_extents;
    let inner = box_extents
        .first()
        .copied()
        .unwrap_or(0)
        .saturating_mul(size);
    let swizzle = map.swizzle.bytes();
    let expected = if !(1..=tensor_map::MAX_RANK).contains(&rank) {
        "a tensor of rank 1 to 5"
    } else if !modes.into_iter().eq(0..rank) {
        "each mode once in its order"
    } else if map
        .im2col
        .as_ref()
        .is_some_and(|pixels| !pixels.is_of_rank(rank))
    {
        "a tensor of rank 3 to 5 in im2col mode, and corners and steps for its modes of pixels"
    } else if map.im2col.is_some()
        && !matches!(
            box_extents[..],
            [1..=tensor_map::MAX_BOX, 1..=tensor_map::MAX_PIXELS]
        )
    {
        "1 to 256 channels and 1 to 1024 pixels in im2col mode"
    } else if map.im2col.is_none() && box_extents.len() != rank {
        "an extent of the box for each mode"
    } else if map.im2col.is_none()
        && !box_extents
            .iter()
            .all(|extent| (1..=tensor_map::MAX_BOX).contains(extent))
    {
        "extents of the box from 1 to 256"
    } else if !inner.is_multiple_of(16) {
        "rows of the box of a multiple of 16 bytes"
    } else if swizzle != 0 && inner > swizzle {
        "rows of the box that fit the span of the swizzle"
    } else if map.oob_fill == tensor_map::OobFill::Nan && !(dtype.is_float() && size > 1) {
        "floating-point numbers of 16 bits or more, where elements beyond the tensor are to be NaN"
    } else if map.tf32 && dtype != DType::F32 {
        "elements of f32, where they are to be loaded as tf32"
    } else {
        return Ok(());
    };
    Err(Problem::TensorMap {
        arg: kernel.args[map.arg].name().to_string(),
        expected,
    })
}

fn tensor_rank(kernel: &KernelAbi, what: &'static str, index: usize) -> Result<usize, Problem> {
    match kernel.args.get(index) {
        Some(ArgAbi::Tensor(tensor)) => Ok(tensor.extents.len()),
        _ => Err(Problem::Argument {
            what,
            index,
            expected: "tensor",
        }),
    }
}

fn symbol_exists(kernel: &KernelAbi, what: &'static str, index: usize) -> Result<(), Problem> {
    let count = kernel.symbols.len();
    if index < count {
        Ok(())
    } else {
        Err(Problem::Symbol { what, index, count })
    }
}

fn expr_is_known(kernel: &KernelAbi, what: &'static str, expr: &AbiExpr) -> Result<(), Problem> {
    if expr.depth() > MAX_DEPTH {
        return Err(Problem::Depth { what });
    }
    let mut worst = None;
    expr.for_each_symbol(&mut |index| worst = worst.max(Some(index)));
    worst.map_or(Ok(()), |index| symbol_exists(kernel, what, index))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Argument {
                what,
                index,
                expected,
            } => {
                write!(
                    f,
                    "a {what} refers to argument {index}: expected the index of a {expected}"
                )
            }
            Problem::Mode { arg, mode, rank } => {
                write!(
                    f,
                    "a symbol refers to mode {mode} of `{arg}`, which has rank {rank}"
                )
            }
            Problem::Symbol { what, index, count } => {
                write!(f, "a {what} refers to symbol {index} of {count}")
            }
            Problem::Rank {
                arg,
                extents,
                strides,
            } => {
                write!(f, "`{arg}` has {extents} extents and {strides} strides")
            }
            Problem::Align { arg, align } => {
                write!(f, "alignment {align} of `{arg}`: expected a power of two")
            }
            Problem::Extent { arg, mode, extent } => {
                write!(
                    f,
                    "extent {extent} of mode {mode} of `{arg}`: expected 0 or more"
                )
            }
            Problem::Divisor {
                symbol,
                divisible_by,
            } => {
                write!(
                    f,
                    "divisor {divisible_by} of symbol `{symbol}`: expected 1 or more"
                )
            }
            Problem::TensorMapIndex { index, count } => {
                write!(f, "a parameter refers to tensor map {index} of {count}")
            }
            Problem::TensorMap { arg, expected } => {
                write!(f, "tensor map of `{arg}`: expected {expected}")
            }
            Problem::DuplicateSymbol { name } => write!(f, "two symbols named `{name}`"),
            Problem::Cluster { found: [x, y, z] } => write!(
                f,
                "a cluster of ({x}, {y}, {z}) blocks: expected 1 to {MAX_CLUSTER}"
            ),
            Problem::NoBlock => write!(f, "the number of threads of a block is missing"),
            Problem::Depth { what } => {
                write!(f, "a {what} nests more than {MAX_DEPTH} operations deep")
            }
            Problem::DuplicateArgument { name } => write!(f, "two arguments named `{name}`"),
        }
    }
}
