//! What values are: tiles, numbers and literals, in the types of the host and of the machine.

use cutec_abi::DType;
use cutec_dialects::elem::Elem;
use std::fmt;

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// A tile.
    Tile {
        /// Its element type.
        dtype: DType,
        /// Its extents.
        shape: Vec<i64>,
    },
    /// A number known when the kernel runs.
    Number(DType),
    /// A number known now.
    Literal(Literal),
}

/// The same, in the element types of the machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ElemKind {
    Tile { elem: Elem, shape: Vec<i64> },
    Number(Elem),
    Literal(Literal),
}

/// The host's type of elements; nothing that is packed is built.
pub(super) fn dtype(elem: Elem) -> DType {
    elem.dtype().unwrap_or(DType::U8)
}

impl From<&ElemKind> for Kind {
    fn from(kind: &ElemKind) -> Self {
        match kind {
            ElemKind::Tile { elem, shape } => Self::Tile {
                dtype: dtype(*elem),
                shape: shape.clone(),
            },
            ElemKind::Number(elem) => Self::Number(dtype(*elem)),
            ElemKind::Literal(literal) => Self::Literal(*literal),
        }
    }
}

/// A number known while the kernel is built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal {
    /// A bool.
    Bool(bool),
    /// An integer; it becomes a floating number where one is wanted.
    Int(i64),
    /// A floating number.
    Float(f64),
}

/// A shape as the language writes it.
pub(super) struct Shape<'a>(pub &'a [i64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, extent) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{extent}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tile { dtype, shape } => write!(f, "a tile of {dtype} of shape {}", Shape(shape)),
            Self::Number(dtype) => write!(f, "a number of {dtype}"),
            Self::Literal(literal) => write!(f, "the literal {literal}"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}
