//! Binding: arguments are checked against the ABI and become a [`Launch`].
//!
//! Every way in which an argument can be wrong is a [`BindError`] of its own, with the argument's name,
//! what was expected and what was found (`error`). Nothing is allocated or launched here.

mod error;

use crate::DType;
use crate::tensor_map::TensorMap;
use crate::{
    AbiExpr, ArgAbi, Dim, ExprError, KernelAbi, ParamAbi, ScalarAbi, SymbolAbi, SymbolSource,
    TensorAbi, TensorMapAbi, Width,
};

pub use crate::tensor::TensorDesc;
pub use error::{BindError, Part, Place, RangeReason};

/// One argument, as binding sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A tensor.
    Tensor(TensorDesc),
    /// A number.
    Scalar(ScalarValue),
}

/// A scalar with its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalarValue {
    /// Type in which it is passed.
    pub dtype: DType,
    /// Its little-endian bytes; the first [`DType::size`] count.
    pub bytes: [u8; 8],
}

/// A checked launch; addresses are still to be filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Name of the `.entry`.
    pub entry: String,
    /// Number of blocks in x, y, z. One of them is 0 where there is nothing to do.
    pub grid: [u32; 3],
    /// Whether there are to be at most as many in x as the device holds at a time ([`KernelAbi::persistent`]).
    pub persistent: bool,
    /// Blocks of a cluster in x, y, z.
    pub cluster: [u32; 3],
    /// Whether it may begin before the launch ahead of it has ended ([`KernelAbi::pdl`]).
    pub pdl: bool,
    /// Whether all blocks run at the same time ([`KernelAbi::cooperative`]).
    pub cooperative: bool,
    /// Number of threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub smem_bytes: u32,
    /// Machine-level parameters in order.
    pub params: Vec<LaunchParam>,
    /// Tensor maps that are to be encoded.
    pub tensor_maps: Vec<TensorMap>,
}

/// One machine-level parameter of a [`Launch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaunchParam {
    /// Base address of the argument with this index.
    Pointer(usize),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A scalar argument.
    Scalar(ScalarValue),
    /// The tensor map with this index in [`Launch::tensor_maps`].
    TensorMap(usize),
}

impl KernelAbi {
    /// Checks `args` against this kernel and computes its launch.
    ///
    /// An empty tensor is no error: the grid may then have an extent of 0 ([`Launch::is_empty`]).
    pub fn bind(&self, args: &[Arg]) -> Result<Launch, BindError> {
        if args.len() != self.args.len() {
            return Err(BindError::Count {
                kernel: self.name.clone(),
                names: self.args.iter().map(|arg| arg.name().to_string()).collect(),
                found: args.len(),
            });
        }
        for (abi, arg) in self.args.iter().zip(args) {
            check_kind(abi, arg)?;
        }
        let symbols = self.read_symbols(args)?;
        for (abi, arg) in self.args.iter().zip(args) {
            if let (ArgAbi::Tensor(abi), Arg::Tensor(tensor)) = (abi, arg) {
                self.check_extents(abi, tensor, &symbols)?;
                self.check_strides(abi, tensor, &symbols)?;
            }
        }
        self.check_ranges(&symbols)?;
        self.check_promises(&symbols)?;
        self.check_divisors(&symbols)?;
        let grid = self.geometry("grid", &self.grid, [0, 0, 0], GRID_LIMITS, &symbols)?;
        let cluster = self.cluster.unwrap_or([1; 3]);
        for (axis, (&found, &blocks)) in ['x', 'y', 'z'].into_iter().zip(grid.iter().zip(&cluster))
        {
            if !found.is_multiple_of(blocks) {
                return Err(BindError::Cluster {
                    axis,
                    found,
                    blocks,
                });
            }
        }
        let block = self.block.as_ref();
        let block = block.ok_or_else(|| self.inconsistent("it has no number of threads"))?;
        let block = self.geometry("block", block, [1, 1, 1], BLOCK_LIMITS, &symbols)?;
        let threads = block.iter().map(|&extent| u64::from(extent)).product();
        if threads > MAX_THREADS {
            return Err(BindError::BlockSize { found: threads });
        }
        let params = self
            .params
            .iter()
            .map(|param| self.launch_param(param, args, &symbols));
        Ok(Launch {
            entry: self.entry.clone(),
            grid,
            persistent: self.persistent,
            cluster,
            pdl: self.pdl,
            cooperative: self.cooperative,
            block,
            smem_bytes: self.smem_bytes,
            params: params.collect::<Result<_, _>>()?,
            tensor_maps: self.bind_tensor_maps(args, &symbols)?,
        })
    }

    /// Values of the run-time integers, in the order of [`KernelAbi::symbols`].
    fn read_symbols(&self, args: &[Arg]) -> Result<Vec<i64>, BindError> {
        let value = |symbol: &SymbolAbi| match (symbol.from, args.get(symbol.from.arg())?) {
            (SymbolSource::Extent { mode, .. }, Arg::Tensor(tensor)) => {
                tensor.shape.get(mode).copied()
            }
            (SymbolSource::Stride { mode, .. }, Arg::Tensor(tensor)) => {
                let (extent, stride) = (*tensor.shape.get(mode)?, *tensor.strides.get(mode)?);
                Some(if extent <= 1 {
                    free_stride(symbol, stride)
                } else {
                    stride
                })
            }
            (SymbolSource::Scalar { .. }, Arg::Scalar(scalar)) => scalar.as_i64(),
            _ => None,
        };
        let values = self.symbols.iter().map(|symbol| {
            value(symbol).ok_or_else(|| self.inconsistent("a symbol is read where nothing is"))
        });
        values.collect()
    }

    fn check_extents(
        &self,
        abi: &TensorAbi,
        tensor: &TensorDesc,
        symbols: &[i64],
    ) -> Result<(), BindError> {
        let arg = || abi.name.clone();
        for (mode, (extent, &found)) in abi.extents.iter().zip(&tensor.shape).enumerate() {
            match extent {
                Dim::Static(expected) if *expected != found => {
                    return Err(BindError::StaticExtent {
                        arg: arg(),
                        mode,
                        expected: *expected,
                        found,
                    });
                }
                Dim::Static(_) => {}
                Dim::Symbol(index) => {
                    let (Some(symbol), Some(&value)) =
                        (self.symbols.get(*index), symbols.get(*index))
                    else {
                        return Err(self.inconsistent("an extent refers to a missing symbol"));
                    };
                    if value != found {
                        return Err(BindError::TiedExtent {
                            symbol: symbol.name.clone(),
                            first: self.place(symbol),
                            first_value: value,
                            second: Place {
                                arg: arg(),
                                part: Part::Extent(mode),
                            },
                            second_value: found,
                        });
                    }
                }
                Dim::Expr(expr) => {
                    let what = format!("extent of mode {mode} of `{}`", abi.name);
                    let expected = self.evaluate(expr, symbols, || what)?;
                    if expected != found {
                        let expr = self.show(expr);
                        return Err(BindError::ComputedExtent {
                            arg: arg(),
                            mode,
                            expr,
                            expected,
                            found,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn check_strides(
        &self,
        abi: &TensorAbi,
        tensor: &TensorDesc,
        symbols: &[i64],
    ) -> Result<(), BindError> {
        if tensor.shape.contains(&0) {
            // No element, no address.
            return Ok(());
        }
        for (mode, (expr, &found)) in abi.strides.iter().zip(&tensor.strides).enumerate() {
            if tensor.shape.get(mode) == Some(&1) {
                continue;
            }
            let what = || format!("stride of mode {mode} of `{}`", abi.name);
            let expected = self.evaluate(expr, symbols, what)?;
            if expected != found {
                return Err(BindError::Stride {
                    arg: abi.name.clone(),
                    mode,
                    expr: self.show(expr),
                    expected,
                    found,
                    shape: tensor.shape.clone(),
                    strides: tensor.strides.clone(),
                });
            }
        }
        Ok(())
    }

    fn check_ranges(&self, symbols: &[i64]) -> Result<(), BindError> {
        for (symbol, &found) in self.symbols.iter().zip(symbols) {
            let bound = symbol.max.map(|max| (max, RangeReason::Bound));
            let width = (symbol.width.max_value(), RangeReason::Width(symbol.width));
            for (max, why) in bound.into_iter().chain([width]) {
                if found > max {
                    return Err(BindError::Range {
                        symbol: symbol.name.clone(),
                        place: self.place(symbol),
                        max,
                        why,
                        found,
                    });
                }
            }
        }
        Ok(())
    }

    /// Behind the promises, from which some divisors follow: of `kb == k / 2` that is what a caller knows.
    fn check_divisors(&self, symbols: &[i64]) -> Result<(), BindError> {
        for (symbol, &found) in self.symbols.iter().zip(symbols) {
            if symbol.divisible_by > 1 && found % symbol.divisible_by != 0 {
                return Err(BindError::Divisibility {
                    symbol: symbol.name.clone(),
                    place: self.place(symbol),
                    expected: symbol.divisible_by,
                    found,
                });
            }
        }
        Ok(())
    }

    fn check_promises(&self, symbols: &[i64]) -> Result<(), BindError> {
        for promise in &self.promises {
            let what = || format!("`where {}`", promise.text);
            if self.evaluate(&promise.expr, symbols, what)? != 0 {
                continue;
            }
            let mut used = Vec::new();
            promise.expr.for_each_symbol(&mut |index| {
                if !used.contains(&index) {
                    used.push(index);
                }
            });
            let values = used.iter().filter_map(|&index| {
                Some(format!(
                    "{} = {}",
                    self.symbols.get(index)?.name,
                    symbols.get(index)?
                ))
            });
            return Err(BindError::Promise {
                promise: promise.text.clone(),
                values: values.collect::<Vec<_>>().join(", "),
            });
        }
        Ok(())
    }

    fn geometry(
        &self,
        what: &'static str,
        exprs: &[AbiExpr; 3],
        min: [i64; 3],
        max: [i64; 3],
        symbols: &[i64],
    ) -> Result<[u32; 3], BindError> {
        let mut extents = [0; 3];
        for (index, axis) in ['x', 'y', 'z'].into_iter().enumerate() {
            let found = self.evaluate(&exprs[index], symbols, || format!("{what}.{axis}"))?;
            let (min, max) = (min[index], max[index]);
            extents[index] = u32::try_from(found)
                .ok()
                .filter(|_| (min..=max).contains(&found))
                .ok_or(BindError::Geometry {
                    what,
                    axis,
                    min,
                    max,
                    found,
                })?;
        }
        Ok(extents)
    }

    fn bind_tensor_maps(&self, args: &[Arg], symbols: &[i64]) -> Result<Vec<TensorMap>, BindError> {
        let bound = |map: &TensorMapAbi| {
            let (Some(abi), Some(Arg::Tensor(tensor))) =
                (self.args.get(map.arg), args.get(map.arg))
            else {
                return Err(self.inconsistent("a tensor map is made from a missing tensor"));
            };
            let refused = |problem| BindError::TensorMap {
                arg: abi.name().to_string(),
                problem,
            };
            let mutable = matches!(abi, ArgAbi::Tensor(abi) if abi.mutable);
            let Some(view) = &map.view else {
                let bound = map.bind(tensor).map_err(refused)?;
                return Ok(TensorMap { mutable, ..bound });
            };
            let what = || format!("a tensor map of `{}`", abi.name());
            let value = |expr: &AbiExpr| self.evaluate(expr, symbols, what);
            let too_far = || BindError::Expr {
                what: what(),
                error: ExprError::Overflow {
                    expr: self.show(&view.offset),
                },
            };
            let (view, offset_bytes) = view.of(tensor, value, too_far)?;
            let bound = map.bind(&view).map_err(refused)?;
            Ok(TensorMap {
                offset_bytes,
                mutable,
                ..bound
            })
        };
        self.tensor_maps.iter().map(bound).collect()
    }

    fn launch_param(
        &self,
        param: &ParamAbi,
        args: &[Arg],
        symbols: &[i64],
    ) -> Result<LaunchParam, BindError> {
        let found = match *param {
            ParamAbi::Pointer { arg } => Some(LaunchParam::Pointer(arg)),
            ParamAbi::Symbol { index } => match (self.symbols.get(index), symbols.get(index)) {
                (Some(symbol), Some(&value)) => match symbol.width {
                    Width::W32 => i32::try_from(value).ok().map(LaunchParam::I32),
                    Width::W64 => Some(LaunchParam::I64(value)),
                },
                _ => None,
            },
            ParamAbi::TensorMap { index } => self
                .tensor_maps
                .get(index)
                .map(|_| LaunchParam::TensorMap(index)),
            ParamAbi::Scalar { arg } => match args.get(arg) {
                Some(Arg::Scalar(scalar)) => Some(LaunchParam::Scalar(*scalar)),
                _ => None,
            },
        };
        found.ok_or_else(|| self.inconsistent("a parameter refers to a missing argument or symbol"))
    }

    /// Where a run-time integer is read.
    pub fn place(&self, symbol: &SymbolAbi) -> Place {
        let arg = self.args.get(symbol.from.arg());
        Place {
            arg: arg.map_or_else(String::new, |arg| arg.name().to_string()),
            part: match symbol.from {
                SymbolSource::Extent { mode, .. } => Part::Extent(mode),
                SymbolSource::Stride { mode, .. } => Part::Stride(mode),
                SymbolSource::Scalar { .. } => Part::Value,
            },
        }
    }

    fn evaluate(
        &self,
        expr: &AbiExpr,
        symbols: &[i64],
        what: impl FnOnce() -> String,
    ) -> Result<i64, BindError> {
        expr.eval_named(symbols, &self.symbol_names())
            .map_err(|error| BindError::Expr {
                what: what(),
                error,
            })
    }

    fn show(&self, expr: &AbiExpr) -> String {
        expr.display(&self.symbol_names()).to_string()
    }

    fn symbol_names(&self) -> Vec<&str> {
        self.symbols
            .iter()
            .map(|symbol| symbol.name.as_str())
            .collect()
    }

    fn inconsistent(&self, what: &'static str) -> BindError {
        BindError::Inconsistent {
            kernel: self.name.clone(),
            what,
        }
    }
}

impl Launch {
    /// Whether there is no block to run: a success without a launch.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

impl ScalarValue {
    /// `value` converted to `dtype`.
    pub fn new(dtype: DType, value: f64) -> ScalarValue {
        let mut bytes = [0; 8];
        dtype.write(value, &mut bytes);
        ScalarValue { dtype, bytes }
    }

    /// An integer in the type of a parameter, a number of floating point included; `None` where an integer type does not have
    /// it. A `bool` is whether it differs from 0.
    pub fn of_integer(dtype: DType, value: i128) -> Option<ScalarValue> {
        if dtype == DType::Bool {
            return Some(ScalarValue::new(dtype, f64::from(u8::from(value != 0))));
        }
        let Some((least, most)) = dtype.integer_range() else {
            return Some(ScalarValue::new(dtype, value as f64));
        };
        let mut bytes = (value as i64).to_le_bytes();
        bytes[dtype.size()..].fill(0);
        (least..=most)
            .contains(&value)
            .then_some(ScalarValue { dtype, bytes })
    }

    /// The value of an integer scalar; `None` for floating point, or above `i64::MAX`.
    pub fn as_i64(&self) -> Option<i64> {
        let raw = u64::from_le_bytes(self.bytes);
        match self.dtype {
            DType::I8 => Some(i64::from(raw as i8)),
            DType::I16 => Some(i64::from(raw as i16)),
            DType::I32 => Some(i64::from(raw as i32)),
            DType::I64 => Some(raw as i64),
            DType::U8 | DType::Bool => Some(i64::from(raw as u8)),
            DType::U16 => Some(i64::from(raw as u16)),
            DType::U32 => Some(i64::from(raw as u32)),
            DType::U64 => i64::try_from(raw).ok(),
            _ => None,
        }
    }
}

impl SymbolSource {
    /// Index of the argument that it is read from.
    pub fn arg(&self) -> usize {
        match *self {
            SymbolSource::Extent { arg, .. }
            | SymbolSource::Stride { arg, .. }
            | SymbolSource::Scalar { arg } => arg,
        }
    }
}

/// Most blocks in x, y, z (CUDA C++ Programming Guide, technical specifications).
pub const GRID_LIMITS: [i64; 3] = [0x7FFF_FFFF, 65535, 65535];
/// Most threads in x, y, z.
pub const BLOCK_LIMITS: [i64; 3] = [1024, 1024, 64];
/// Most threads in a block.
pub const MAX_THREADS: u64 = 1024;

fn check_kind(abi: &ArgAbi, arg: &Arg) -> Result<(), BindError> {
    match (abi, arg) {
        (ArgAbi::Tensor(abi), Arg::Tensor(tensor)) => check_tensor(abi, tensor),
        (ArgAbi::Scalar(abi), Arg::Scalar(scalar)) => check_scalar(abi, scalar),
        (ArgAbi::Tensor(abi), Arg::Scalar(_)) => Err(BindError::Kind {
            arg: abi.name.clone(),
            expected: "tensor",
            found: "scalar",
        }),
        (ArgAbi::Scalar(abi), Arg::Tensor(_)) => Err(BindError::Kind {
            arg: abi.name.clone(),
            expected: "scalar",
            found: "tensor",
        }),
    }
}

fn check_tensor(abi: &TensorAbi, tensor: &TensorDesc) -> Result<(), BindError> {
    let arg = || abi.name.clone();
    let shape = || tensor.shape.clone();
    if abi.dtype != tensor.dtype {
        return Err(BindError::DType {
            arg: arg(),
            expected: abi.dtype,
            found: tensor.dtype,
        });
    }
    if abi.extents.len() != tensor.shape.len() {
        let (expected, found) = (abi.extents.len(), tensor.shape.len());
        return Err(BindError::Rank {
            arg: arg(),
            expected,
            found,
            shape: shape(),
        });
    }
    if tensor.shape.len() != tensor.strides.len() {
        let (extents, strides) = (tensor.shape.len(), tensor.strides.len());
        return Err(BindError::Malformed {
            arg: arg(),
            extents,
            strides,
        });
    }
    if let Some(mode) = tensor.shape.iter().position(|&extent| extent < 0) {
        return Err(BindError::NegativeExtent {
            arg: arg(),
            mode,
            found: tensor.shape[mode],
        });
    }
    if tensor.span_bytes().is_none() {
        let strides = tensor.strides.clone();
        return Err(BindError::TooLarge {
            arg: arg(),
            shape: shape(),
            strides,
        });
    }
    if abi.mutable && !tensor.mutable {
        return Err(BindError::ReadOnly { arg: arg() });
    }
    if !tensor.align.is_multiple_of(abi.align.max(1)) {
        return Err(BindError::Align {
            arg: arg(),
            expected: abi.align,
            found: tensor.align,
        });
    }
    Ok(())
}

fn check_scalar(abi: &ScalarAbi, scalar: &ScalarValue) -> Result<(), BindError> {
    if abi.dtype == scalar.dtype {
        return Ok(());
    }
    Err(BindError::DType {
        arg: abi.name.clone(),
        expected: abi.dtype,
        found: scalar.dtype,
    })
}

/// The stride of a mode of extent 1 moves nothing: take the next multiple that the kernel accepts. It computes with
/// strides as with numbers that are not negative.
fn free_stride(symbol: &SymbolAbi, stride: i64) -> i64 {
    let stride = stride.max(0);
    let divisor = symbol.divisible_by.max(1);
    let rest = stride.rem_euclid(divisor);
    if rest == 0 {
        stride
    } else {
        stride.checked_add(divisor - rest).unwrap_or(0)
    }
}
