//! Arguments as they are written on a command line: `x=x.npy`, `x=normal:1000x4096:bf16`, `alpha=0.5`.
//!
//! Files and generators are laid out with the strides that the kernel wants. A tensor that the kernel
//! writes need not be given: its shape follows from the others, and it begins as poison.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::abi::infer::InferError;
use crate::abi::{ArgAbi, KernelAbi};
use crate::launch::Value;
use crate::number::{Number, NumberError};
use crate::regular_file::RegularFileError;
use crate::tensor::{DType, NpyError, ShapeError, Tensor, npy};

/// One argument of a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentSpec {
    /// Name of the kernel's argument.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
}

/// Where the value of an argument comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A `.npy` file.
    Npy(PathBuf),
    /// Elements made up here.
    Generated {
        /// How.
        generator: Generator,
        /// Extents.
        shape: Vec<i64>,
        /// Element type; the kernel's own if none is given.
        dtype: Option<DType>,
    },
    /// A number.
    Number(Number),
}

/// Where an argument goes after the run: `NAME=FILE.npy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    /// Name of the kernel's argument.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for OutputSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<OutputSpec, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && path.ends_with(".npy") => Ok(OutputSpec {
                name: name.to_string(),
                path: path.into(),
            }),
            _ => Err("expected NAME=FILE.npy".to_string()),
        }
    }
}

/// How elements are made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// Normal, mean 0, variance 1.
    Normal,
    /// Uniform between -1 and 1.
    Uniform,
    /// Zeros.
    Zeros,
    /// Poison.
    Poison,
}

/// An argument that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentSyntaxError {
    /// No `NAME=`.
    #[error("`{text}`: expected NAME=VALUE")]
    NoName {
        /// The argument.
        text: String,
    },
    /// No known kind of value.
    #[error(
        "`{text}`: expected FILE.npy, a number, or normal, uniform, zeros or poison with a shape, as normal:1000x4096[:bf16]"
    )]
    Value {
        /// What stands behind `=`.
        text: String,
    },
    /// No shape.
    #[error("`{text}` is no shape: expected extents as in 1000x4096")]
    Shape {
        /// What stands in its place.
        text: String,
    },
    /// No element type.
    #[error(transparent)]
    DType(#[from] crate::tensor::UnknownDType),
}

/// Arguments that do not make up those of a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The kernel has no such argument.
    #[error("`{kernel}` has no argument `{name}`: expected one of {available}")]
    Unknown {
        /// The kernel.
        kernel: String,
        /// The name that was given.
        name: String,
        /// The names there are.
        available: String,
    },
    /// An argument was given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// Its name.
        name: String,
    },
    /// An argument that the kernel reads is missing.
    #[error("`{name}` is missing: the kernel reads it")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A tensor for a scalar, or the other way round.
    #[error("`{name}`: expected a {expected}")]
    Kind {
        /// Its name.
        name: String,
        /// `tensor` or `number`.
        expected: &'static str,
    },
    /// A number that the kernel's type cannot hold.
    #[error("`{name}`: {error}")]
    Number {
        /// Name of the argument.
        name: String,
        /// Why.
        error: NumberError,
    },
    /// A file cannot be opened.
    #[error("`{name}`: {}: {error}", .path.display())]
    File {
        /// Name of the argument.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: RegularFileError,
    },
    /// A file cannot be read.
    #[error("`{name}`: {}: {error}", .path.display())]
    Npy {
        /// Name of the argument.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: NpyError,
    },
    /// A shape that no tensor can have.
    #[error("`{name}`: {error}")]
    Shape {
        /// Name of the argument.
        name: String,
        /// Why.
        error: ShapeError,
    },
    /// Shapes that do not follow from what was given.
    #[error(transparent)]
    Infer(#[from] InferError),
}

impl FromStr for ArgumentSpec {
    type Err = ArgumentSyntaxError;

    fn from_str(text: &str) -> Result<ArgumentSpec, ArgumentSyntaxError> {
        match text.split_once('=') {
            Some((name, source)) if !name.is_empty() => Ok(ArgumentSpec {
                name: name.to_string(),
                source: source.parse()?,
            }),
            _ => Err(ArgumentSyntaxError::NoName {
                text: text.to_string(),
            }),
        }
    }
}

impl FromStr for Source {
    type Err = ArgumentSyntaxError;

    fn from_str(text: &str) -> Result<Source, ArgumentSyntaxError> {
        let mut parts = text.splitn(3, ':');
        let generator = match parts.next() {
            Some("normal") => Generator::Normal,
            Some("uniform") => Generator::Uniform,
            Some("zeros") => Generator::Zeros,
            Some("poison") => Generator::Poison,
            _ if text.ends_with(".npy") => return Ok(Source::Npy(text.into())),
            _ => {
                let number = text.parse().map(Source::Number);
                return number.map_err(|_| ArgumentSyntaxError::Value {
                    text: text.to_string(),
                });
            }
        };
        let shape = parse_shape(parts.next().unwrap_or(""))?;
        let dtype = parts.next().map(str::parse).transpose()?;
        Ok(Source::Generated {
            generator,
            shape,
            dtype,
        })
    }
}

/// Reads `1000x4096`.
pub fn parse_shape(text: &str) -> Result<Vec<i64>, ArgumentSyntaxError> {
    let extent = |extent: &str| extent.parse().ok().filter(|extent: &i64| *extent >= 0);
    let shape: Option<Vec<i64>> = text.split('x').map(extent).collect();
    shape.ok_or_else(|| ArgumentSyntaxError::Shape {
        text: text.to_string(),
    })
}

/// Makes the arguments of a kernel, in its order. `seed` decides what generators make; each
/// argument has a stream of its own.
pub fn make_arguments(
    kernel: &KernelAbi,
    specs: &[ArgumentSpec],
    seed: u64,
) -> Result<Vec<Value>, ArgumentError> {
    for (index, spec) in specs.iter().enumerate() {
        let name = spec.name.clone();
        if specs[..index].iter().any(|earlier| earlier.name == name) {
            return Err(ArgumentError::Twice { name });
        }
        if !kernel.args.iter().any(|arg| arg.name() == name) {
            let names: Vec<_> = kernel
                .args
                .iter()
                .map(|arg| format!("`{}`", arg.name()))
                .collect();
            let (kernel, available) = (kernel.name.clone(), names.join(", "));
            return Err(ArgumentError::Unknown {
                kernel,
                name,
                available,
            });
        }
    }
    let mut values = Vec::new();
    for (index, arg) in kernel.args.iter().enumerate() {
        let spec = specs.iter().find(|spec| spec.name == arg.name());
        // Far apart, so that no two arguments of neighbouring seeds are alike.
        let seed = seed.wrapping_add((index as u64) << 32);
        values.push(make(arg, spec.map(|spec| &spec.source), seed)?);
    }
    let shape = |value: &Option<Value>| Some(value.as_ref()?.as_tensor()?.shape().to_vec());
    let scalar = |value: &Option<Value>| match value {
        Some(Value::Scalar(scalar)) => scalar.as_i64(),
        _ => None,
    };
    let shapes: Vec<_> = values.iter().map(shape).collect();
    let scalars: Vec<_> = values.iter().map(scalar).collect();
    let inferred = kernel.infer_shapes(&shapes, &scalars)?;
    let laid_out = values
        .into_iter()
        .zip(inferred)
        .zip(&kernel.args)
        .map(|((value, at), arg)| {
            let shape_error = |error| ArgumentError::Shape {
                name: arg.name().to_string(),
                error,
            };
            match (value, at) {
                (Some(Value::Tensor(tensor)), Some(at)) => tensor
                    .with_strides(&at.strides)
                    .map(Value::Tensor)
                    .map_err(shape_error),
                (Some(value), _) => Ok(value),
                (None, Some(at)) => Tensor::poison_strided(arg.dtype(), &at.shape, &at.strides)
                    .map(Value::Tensor)
                    .map_err(shape_error),
                (None, None) => Err(ArgumentError::Missing {
                    name: arg.name().to_string(),
                }),
            }
        });
    laid_out.collect()
}

/// The value of one argument; `None` for a tensor whose shape is to be inferred.
fn make(arg: &ArgAbi, source: Option<&Source>, seed: u64) -> Result<Option<Value>, ArgumentError> {
    let name = || arg.name().to_string();
    let kind = |expected| ArgumentError::Kind {
        name: name(),
        expected,
    };
    let tensor = match (arg, source) {
        (ArgAbi::Scalar(scalar), Some(Source::Number(value))) => {
            let scalar = value.to_scalar(scalar.dtype);
            let scalar = scalar.map_err(|error| ArgumentError::Number {
                name: name(),
                error,
            })?;
            return Ok(Some(Value::Scalar(scalar)));
        }
        (ArgAbi::Tensor(tensor), None) if tensor.mutable => return Ok(None),
        (_, None) => return Err(ArgumentError::Missing { name: name() }),
        (ArgAbi::Scalar(_), Some(_)) => return Err(kind("number")),
        (ArgAbi::Tensor(_), Some(Source::Number(_))) => return Err(kind("tensor")),
        (ArgAbi::Tensor(abi), Some(Source::Npy(path))) => read(&name(), path, abi.dtype)?,
        (
            ArgAbi::Tensor(abi),
            Some(Source::Generated {
                generator,
                shape,
                dtype,
            }),
        ) => {
            let dtype = dtype.unwrap_or(abi.dtype);
            let made = match generator {
                Generator::Normal => Tensor::normal(dtype, shape, seed),
                Generator::Uniform => Tensor::uniform(dtype, shape, -1.0, 1.0, seed),
                Generator::Zeros => Tensor::zeros(dtype, shape),
                Generator::Poison => Tensor::poison(dtype, shape),
            };
            made.map_err(|error| ArgumentError::Shape {
                name: name(),
                error,
            })?
        }
    };
    Ok(Some(Value::Tensor(tensor)))
}

fn read(name: &str, path: &Path, dtype: DType) -> Result<Tensor, ArgumentError> {
    npy::read_file(path, Some(dtype)).map_err(|error| {
        let (name, path) = (name.to_string(), path.to_path_buf());
        match error {
            NpyError::File(error) => ArgumentError::File { name, path, error },
            error => ArgumentError::Npy { name, path, error },
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z=:x0-9.é-]{0,30}") {
            let _ = text.parse::<ArgumentSpec>();
            let _ = parse_shape(&text);
        }
    }

    #[test]
    fn sources() {
        let source = |text: &str| text.parse::<ArgumentSpec>().map(|spec| spec.source);
        assert_eq!(source("x=dir/x.npy"), Ok(Source::Npy("dir/x.npy".into())));
        assert_eq!(source("x=-0.5"), Ok(Source::Number(Number::Float(-0.5))));
        let generated = |dtype| Source::Generated {
            generator: Generator::Normal,
            shape: vec![1000, 4096],
            dtype,
        };
        assert_eq!(source("x=normal:1000x4096"), Ok(generated(None)));
        assert_eq!(
            source("x=normal:1000x4096:bf16"),
            Ok(generated(Some(DType::BF16)))
        );
        use ArgumentSyntaxError as E;
        assert!(matches!(source("x.npy"), Err(E::NoName { .. })));
        assert!(matches!(source("=x.npy"), Err(E::NoName { .. })));
        assert!(matches!(source("x=random:3"), Err(E::Value { .. })));
        for shape in ["", "3x", "-3", "3y4", "99999999999999999999"] {
            assert!(
                matches!(source(&format!("x=zeros:{shape}")), Err(E::Shape { .. })),
                "{shape}"
            );
        }
        assert!(matches!(source("x=zeros:3:half"), Err(E::DType(_))));
    }
}
