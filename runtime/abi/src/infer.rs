//! Shapes and strides that follow from the ABI, for callers that give fewer than all.

use super::{AbiExpr, ArgAbi, Dim, KernelAbi, SymbolSource};

/// Shape and strides (in elements) of a tensor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeAndStrides {
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
}

/// What does not follow from the arguments that were given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// An extent is not known.
    #[error(
        "`{arg}`: its extent in mode {mode} does not follow from the other arguments: give it a shape"
    )]
    Extent {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
    },
    /// A shape of another rank.
    #[error("`{arg}`: expected rank {expected}, found shape {shape:?}")]
    Rank {
        /// Name of the argument.
        arg: String,
        /// Rank in the ABI.
        expected: usize,
        /// The shape that was given.
        shape: Vec<i64>,
    },
    /// A stride cannot be computed.
    #[error("`{arg}`: its stride in mode {mode} cannot be computed")]
    Stride {
        /// Name of the argument.
        arg: String,
        /// The mode.
        mode: usize,
    },
}

impl KernelAbi {
    /// Shape and strides of every tensor argument (`None` for scalars).
    ///
    /// `shapes` and `scalars` hold what is known, one entry an argument. A missing shape follows from
    /// extents that it shares with others. Strides that the kernel leaves open (a leading dimension)
    /// are chosen compact.
    pub fn infer_shapes(
        &self,
        shapes: &[Option<Vec<i64>>],
        scalars: &[Option<i64>],
    ) -> Result<Vec<Option<ShapeAndStrides>>, InferError> {
        let mut symbols = self.known_symbols(shapes, scalars);
        let mut inferred = Vec::new();
        for (index, arg) in self.args.iter().enumerate() {
            let ArgAbi::Tensor(tensor) = arg else {
                inferred.push(None);
                continue;
            };
            let shape = match shapes.get(index) {
                Some(Some(shape)) if shape.len() != tensor.extents.len() => {
                    let (arg, expected) = (tensor.name.clone(), tensor.extents.len());
                    return Err(InferError::Rank {
                        arg,
                        expected,
                        shape: shape.clone(),
                    });
                }
                Some(Some(shape)) => shape.clone(),
                _ => {
                    let extents = tensor.extents.iter().enumerate().map(|(mode, extent)| {
                        let value = match extent {
                            Dim::Static(value) => Some(*value),
                            Dim::Symbol(index) => symbols.get(*index).copied().flatten(),
                            Dim::Expr(expr) => evaluate(expr, &symbols),
                        };
                        value.ok_or_else(|| InferError::Extent {
                            arg: tensor.name.clone(),
                            mode,
                        })
                    });
                    extents.collect::<Result<_, _>>()?
                }
            };
            inferred.push(Some(ShapeAndStrides {
                shape,
                strides: Vec::new(),
            }));
        }
        self.choose_strides(&inferred, &mut symbols);
        for (arg, inferred) in self.args.iter().zip(&mut inferred) {
            let (ArgAbi::Tensor(tensor), Some(inferred)) = (arg, inferred) else {
                continue;
            };
            let strides = tensor.strides.iter().enumerate().map(|(mode, stride)| {
                let unknown = || InferError::Stride {
                    arg: tensor.name.clone(),
                    mode,
                };
                evaluate(stride, &symbols).ok_or_else(unknown)
            });
            inferred.strides = strides.collect::<Result<_, _>>()?;
        }
        Ok(inferred)
    }

    /// Values of the symbols that extents and scalars give, wherever they recur.
    fn known_symbols(
        &self,
        shapes: &[Option<Vec<i64>>],
        scalars: &[Option<i64>],
    ) -> Vec<Option<i64>> {
        let mut symbols: Vec<Option<i64>> = self
            .symbols
            .iter()
            .map(|symbol| match symbol.from {
                SymbolSource::Extent { arg, mode } => shapes.get(arg)?.as_ref()?.get(mode).copied(),
                SymbolSource::Scalar { arg } => scalars.get(arg).copied().flatten(),
                SymbolSource::Stride { .. } => None,
            })
            .collect();
        for (arg, shape) in self.args.iter().zip(shapes) {
            let (ArgAbi::Tensor(tensor), Some(shape)) = (arg, shape) else {
                continue;
            };
            for (extent, value) in tensor.extents.iter().zip(shape) {
                if let Dim::Symbol(index) = extent
                    && let Some(symbol) = symbols.get_mut(*index)
                {
                    symbol.get_or_insert(*value);
                }
            }
        }
        symbols
    }

    /// Chooses the strides that the kernel leaves open: beyond what the modes of known stride span.
    fn choose_strides(&self, tensors: &[Option<ShapeAndStrides>], symbols: &mut [Option<i64>]) {
        for (index, symbol) in self.symbols.iter().enumerate() {
            let SymbolSource::Stride { arg, mode } = symbol.from else {
                continue;
            };
            let (Some(ArgAbi::Tensor(tensor)), Some(Some(inferred))) =
                (self.args.get(arg), tensors.get(arg))
            else {
                continue;
            };
            let spans = tensor.strides.iter().zip(&inferred.shape).enumerate();
            let spans =
                spans
                    .filter(|(other, _)| *other != mode)
                    .filter_map(|(_, (stride, extent))| {
                        evaluate(stride, symbols)?.checked_mul((*extent).max(1))
                    });
            let span = spans.max().unwrap_or(1).max(1);
            let stride = (span as u64).checked_next_multiple_of(symbol.divisible_by.max(1) as u64);
            symbols[index] = stride.and_then(|stride| i64::try_from(stride).ok());
        }
    }
}

/// Value of an expression if all symbols in it are known.
fn evaluate(expr: &AbiExpr, symbols: &[Option<i64>]) -> Option<i64> {
    let mut known = true;
    expr.for_each_symbol(&mut |index| known &= symbols.get(index).is_some_and(Option::is_some));
    let values: Vec<i64> = symbols.iter().map(|symbol| symbol.unwrap_or(0)).collect();
    expr.eval(&values).ok().filter(|_| known)
}
