//! What a name stands for in a `test` block.

use cutec_frontend::source::FileId;
use cutec_runtime::abi::TensorDesc;
use cutec_runtime::device::ALLOCATION_ALIGN;
use cutec_runtime::tensor::ShapeError;
use cutec_runtime::tensor::host::row_major;
use cutec_runtime::{DType, Tensor};
use std::cell::{OnceCell, Ref, RefCell, RefMut};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A number with a point.
    Float(f64),
    /// A condition.
    Bool(bool),
    /// A text.
    Text(Arc<str>),
    /// An element type.
    DType(DType),
    /// A function or a kernel, by its name and the file that names it.
    Function(Arc<str>, FileId),
    /// A word that stands for an option: `nearest`.
    Word(Arc<str>),
    /// A tuple or an array.
    Tuple(Vec<Value>),
    /// A range, which `for` runs over.
    Range {
        /// First value.
        start: i64,
        /// Value past the last.
        end: i64,
        /// Distance, not 0.
        step: i64,
    },
    /// A tensor; names share it.
    Tensor(Rc<HostTensor>),
}

/// The kind of a value, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// See [`Value::Int`].
    Int,
    /// See [`Value::Float`].
    Float,
    /// See [`Value::Bool`].
    Bool,
    /// See [`Value::Text`].
    Text,
    /// See [`Value::DType`].
    DType,
    /// See [`Value::Function`].
    Function,
    /// See [`Value::Word`].
    Word,
    /// See [`Value::Tuple`].
    Tuple,
    /// See [`Value::Range`].
    Range,
    /// See [`Value::Tensor`].
    Tensor,
    /// No value at all.
    Nothing,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Int => "an integer",
            Self::Float => "a floating-point number",
            Self::Bool => "a condition",
            Self::Text => "a text",
            Self::DType => "an element type",
            Self::Function => "a function",
            Self::Word => "a word for an option",
            Self::Tuple => "a tuple",
            Self::Range => "a range",
            Self::Tensor => "a tensor",
            Self::Nothing => "nothing",
        })
    }
}

impl Value {
    /// How many values it consists of, and how deep they nest.
    pub fn parts_and_depth(&self) -> (u64, u64) {
        match self {
            Self::Tuple(parts) => parts.iter().fold((1, 1), |(count, deepest), part| {
                let (parts, depth) = part.parts_and_depth();
                (count + parts, depth.saturating_add(1).max(deepest))
            }),
            _ => (1, 1),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Bool(_) => Kind::Bool,
            Self::Text(_) => Kind::Text,
            Self::DType(_) => Kind::DType,
            Self::Function(..) => Kind::Function,
            Self::Word(_) => Kind::Word,
            Self::Tuple(_) => Kind::Tuple,
            Self::Range { .. } => Kind::Range,
            Self::Tensor(_) => Kind::Tensor,
        }
    }

    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    /// As text of the language, where it can be written: `64`, `f16`, `(1, 2)`.
    pub fn source_text(&self) -> Option<String> {
        match self {
            Self::Int(value) => Some(value.to_string()),
            Self::Float(value) => Some(format!("{value:?}")),
            Self::Bool(value) => Some(value.to_string()),
            Self::DType(dtype) => Some(dtype.name().to_owned()),
            Self::Function(name, _) | Self::Word(name) => Some(name.to_string()),
            Self::Tuple(parts) => {
                let parts: Option<Vec<String>> = parts.iter().map(Self::source_text).collect();
                let parts = parts?;
                Some(match parts.len() {
                    1 => format!("({},)", parts[0]),
                    _ => format!("({})", parts.join(", ")),
                })
            }
            _ => None,
        }
    }
}

/// A tensor with its elements as `f64`, kept until somebody writes to it.
#[derive(Debug)]
pub struct HostTensor {
    outline: TensorDesc,
    tensor: RefCell<Tensor>,
    numbers: RefCell<OnceCell<Arc<[f64]>>>,
}

impl HostTensor {
    /// A tensor that names can share.
    pub fn new(tensor: Tensor) -> Rc<Self> {
        Rc::new(Self {
            outline: tensor.desc(ALLOCATION_ALIGN),
            tensor: RefCell::new(tensor),
            numbers: RefCell::new(OnceCell::new()),
        })
    }

    /// A tensor of which nothing is known but what a launch checks: it has no elements.
    ///
    /// # Errors
    /// Where no tensor has this shape.
    pub fn outline(
        dtype: DType,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<Rc<Self>, ShapeError> {
        let strides = match strides {
            Some(strides) => strides.to_vec(),
            None => row_major(shape)?,
        };
        // That there are no bytes is all that may be wrong.
        match Tensor::from_bytes(dtype, shape, &strides, Vec::new()) {
            Ok(_) | Err(ShapeError::Length { .. }) => {}
            Err(error) => return Err(error),
        }
        let outline = TensorDesc {
            dtype,
            shape: shape.to_vec(),
            strides,
            align: ALLOCATION_ALIGN,
            mutable: true,
        };
        Ok(Rc::new(Self {
            outline,
            tensor: RefCell::new(Tensor::zeros(dtype, &[0])?),
            numbers: RefCell::new(OnceCell::new()),
        }))
    }

    /// Type, extents and strides.
    pub fn desc(&self) -> &TensorDesc {
        &self.outline
    }

    /// The extents.
    pub fn shape(&self) -> &[i64] {
        &self.outline.shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.outline.dtype
    }

    /// The tensor; an outline has none of its elements.
    pub fn borrow(&self) -> Ref<'_, Tensor> {
        self.tensor.borrow()
    }

    /// The tensor, to be written.
    pub fn borrow_mut(&self) -> RefMut<'_, Tensor> {
        self.numbers.borrow_mut().take();
        self.tensor.borrow_mut()
    }

    /// All elements in row-major order.
    pub fn numbers(&self) -> Arc<[f64]> {
        let numbers = self.numbers.borrow();
        let numbers = numbers.get_or_init(|| Arc::from(self.tensor.borrow().to_f64()));
        Arc::clone(numbers)
    }
}
