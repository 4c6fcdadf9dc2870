//! What a kernel takes, as C has it.

use crate::ExportError;
use crate::names::{self, identifier};
use cutec_abi::{ArgAbi, DType, KernelAbi};

/// A kernel of the library, for all targets.
#[derive(Debug)]
pub struct Signature<'a> {
    /// The name in the source.
    pub name: &'a str,
    /// The name as an identifier.
    pub identifier: String,
    /// What is said about it in the source.
    pub docs: &'a str,
    /// What it takes.
    pub parameters: Vec<Parameter<'a>>,
}

/// A parameter of a launcher.
#[derive(Debug)]
pub struct Parameter<'a> {
    /// The name in the source.
    pub name: &'a str,
    /// The name of the parameter.
    pub c_name: String,
    /// The name within functions of this project's, where no other name is in its way.
    pub inner: String,
    /// What it is.
    pub kind: ParameterKind,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A tensor.
    Tensor,
    /// A number.
    Scalar(Scalar),
}

/// A number, as C passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The kernel's type.
    pub dtype: DType,
    /// The type in the launcher.
    pub c_type: &'static str,
    /// The type of the same bytes in a launch.
    pub passed: &'static str,
}

impl Scalar {
    fn of(dtype: DType) -> Option<Scalar> {
        let (c_type, passed) = match dtype {
            DType::I8 => ("int8_t", "int8_t"),
            DType::I16 => ("int16_t", "int16_t"),
            DType::I32 => ("int32_t", "int32_t"),
            DType::I64 => ("int64_t", "int64_t"),
            DType::U8 => ("uint8_t", "uint8_t"),
            DType::U16 => ("uint16_t", "uint16_t"),
            DType::U32 => ("uint32_t", "uint32_t"),
            DType::U64 => ("uint64_t", "uint64_t"),
            DType::Bool => ("bool", "uint8_t"),
            DType::F32 => ("float", "float"),
            DType::F64 => ("double", "double"),
            DType::F16 | DType::BF16 => ("float", "uint16_t"),
            DType::TF32 | DType::F8E4M3 | DType::F8E5M2 => return None,
        };
        Some(Scalar {
            dtype,
            c_type,
            passed,
        })
    }

    /// A value of the launcher's type, or a double, as it is passed.
    pub fn convert(self, value: &str) -> String {
        match self.dtype {
            DType::F16 => format!("small_float({value}, 5)"),
            DType::BF16 => format!("small_float({value}, 8)"),
            _ => format!("({}){value}", self.passed),
        }
    }

    /// Whether [`Scalar::convert`] calls `small_float`.
    pub fn is_small_float(self) -> bool {
        matches!(self.dtype, DType::F16 | DType::BF16)
    }

    /// The least and the greatest integer of those that an `int64_t` has; `None` for other numbers.
    pub fn range(self) -> Option<(i64, i64)> {
        if self.dtype == DType::Bool {
            // Whether it differs from 0.
            return Some((i64::MIN, i64::MAX));
        }
        let (least, most) = self.dtype.integer_range()?;
        let clamped = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some((clamped(least), clamped(most)))
    }
}

impl Parameter<'_> {
    /// The variable within functions of this project's.
    pub fn inner_name(&self) -> String {
        match self.kind {
            ParameterKind::Tensor => format!("tensor_{}", self.inner),
            ParameterKind::Scalar(_) => format!("scalar_{}", self.inner),
        }
    }

    /// Whether there are values beyond `int64_t`.
    pub fn is_u64(&self) -> bool {
        match self.kind {
            ParameterKind::Tensor => false,
            ParameterKind::Scalar(scalar) => scalar.dtype == DType::U64,
        }
    }
}

impl<'a> Signature<'a> {
    /// What a kernel takes.
    ///
    /// # Errors
    /// Where it takes a number in a type that C cannot pass.
    pub fn new(kernel: &'a KernelAbi, docs: &'a str) -> Result<Signature<'a>, ExportError> {
        let c_names = names::parameters(kernel.args.iter().map(ArgAbi::name));
        let parameter = |(index, (arg, c_name)): (usize, (&'a ArgAbi, String))| {
            let kind = match arg {
                ArgAbi::Tensor(_) => ParameterKind::Tensor,
                ArgAbi::Scalar(scalar) => {
                    ParameterKind::Scalar(Scalar::of(scalar.dtype).ok_or_else(|| {
                        ExportError::Scalar {
                            kernel: kernel.name.clone(),
                            arg: scalar.name.clone(),
                            dtype: scalar.dtype,
                        }
                    })?)
                }
            };
            Ok(Parameter {
                name: arg.name(),
                inner: format!("{}_{index}", identifier(arg.name())),
                c_name,
                kind,
            })
        };
        let args = kernel.args.iter().zip(c_names).enumerate();
        Ok(Signature {
            name: &kernel.name,
            identifier: identifier(&kernel.name),
            docs,
            parameters: args.map(parameter).collect::<Result<_, _>>()?,
        })
    }

    /// The tensors, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &Parameter<'a>> {
        self.parameters
            .iter()
            .filter(|parameter| parameter.kind == ParameterKind::Tensor)
    }

    /// The parameters of a launcher of this project's, with the bytes of numbers as they are passed.
    pub fn inner_parameters(&self) -> String {
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| match parameter.kind {
                ParameterKind::Tensor => format!("const DLTensor *{}, ", parameter.inner_name()),
                ParameterKind::Scalar(scalar) => {
                    format!("{} {}, ", scalar.passed, parameter.inner_name())
                }
            });
        parameters.collect()
    }

    /// The same as arguments.
    pub fn inner_arguments(&self) -> String {
        let arguments = self.parameters.iter();
        arguments
            .map(|parameter| format!("{}, ", parameter.inner_name()))
            .collect()
    }

    /// The parameters of the launcher that programs call.
    pub fn parameters(&self) -> String {
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| match parameter.kind {
                ParameterKind::Tensor => format!("const DLTensor *{}, ", parameter.c_name),
                ParameterKind::Scalar(scalar) => {
                    format!("{} {}, ", scalar.c_type, parameter.c_name)
                }
            });
        parameters.collect()
    }
}

/// What of two kernels must be the same for one launcher to take both.
pub fn shape(kernel: &KernelAbi) -> Vec<(&str, DType, Option<usize>)> {
    let args = kernel.args.iter();
    args.map(|arg| {
        (
            arg.name(),
            arg.dtype(),
            arg.as_tensor().map(|tensor| tensor.extents.len()),
        )
    })
    .collect()
}
