//! What calls take and give: tiles, numbers known when the kernel runs, and literals.

use super::error::{BuildError, Problem, fail};
use super::kind::{ElemKind, Kind, Literal, dtype};
use super::tree;
use crate::ast::Expr;
use cutec_abi::DType;
use cutec_dialects::elem::Elem;
use std::sync::Arc;

/// A tile, a number that the kernel computes, or a literal. A literal takes the type of what it meets, as in the
/// language.
#[derive(Debug, Clone)]
pub struct Value {
    pub(super) kind: ElemKind,
    pub(super) place: Place,
}

/// The element type of the machine that holds one of the host's.
#[track_caller]
pub(super) fn element(operation: &'static str, dtype: DType) -> Result<Elem, BuildError> {
    let mut all = Elem::ALL.iter().map(|(elem, _)| *elem);
    match all.find(|elem| elem.dtype() == Some(dtype)) {
        Some(elem) => Ok(elem),
        None => Err(fail(Problem::NoElement { operation, dtype })),
    }
}

impl Kind {
    /// The same, in the element types of the machine.
    #[track_caller]
    pub(super) fn elements(self, operation: &'static str) -> Result<ElemKind, BuildError> {
        Ok(match self {
            Self::Tile { dtype, shape } => {
                let elem = element(operation, dtype)?;
                ElemKind::Tile { elem, shape }
            }
            Self::Number(dtype) => ElemKind::Number(element(operation, dtype)?),
            Self::Literal(literal) => ElemKind::Literal(literal),
        })
    }
}

/// Where a value is found in the tree.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// Bound to a name, within a block of a kernel.
    Name { name: Arc<str>, home: Home },
    /// `tile.m` and the like.
    Axis { axis: &'static str, home: Home },
    /// A literal, the same everywhere.
    Everywhere,
}

/// Which block of which kernel.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub kernel: Arc<str>,
    pub block: usize,
}

impl Value {
    /// What it is.
    pub fn kind(&self) -> Kind {
        (&self.kind).into()
    }

    /// The element type; a literal has none yet.
    pub fn dtype(&self) -> Option<DType> {
        self.elem().map(dtype)
    }

    pub(super) fn elem(&self) -> Option<Elem> {
        match self.kind {
            ElemKind::Tile { elem, .. } | ElemKind::Number(elem) => Some(elem),
            ElemKind::Literal(_) => None,
        }
    }

    /// The extents of a tile; a number has none.
    pub fn shape(&self) -> &[i64] {
        match &self.kind {
            ElemKind::Tile { shape, .. } => shape,
            _ => &[],
        }
    }

    pub(super) fn expr(&self) -> Expr {
        match (&self.place, &self.kind) {
            (Place::Name { name, .. }, _) => tree::name(name),
            (Place::Axis { axis, .. }, _) => tree::field(tree::name("tile"), axis),
            (Place::Everywhere, ElemKind::Literal(literal)) => literal.expr(),
            // Only literals are everywhere.
            (Place::Everywhere, _) => tree::int(0),
        }
    }

    pub(super) fn home(&self) -> Option<&Home> {
        match &self.place {
            Place::Name { home, .. } | Place::Axis { home, .. } => Some(home),
            Place::Everywhere => None,
        }
    }
}

impl Literal {
    /// The literal as an expression.
    pub(super) fn expr(self) -> Expr {
        match self {
            Self::Bool(value) => tree::expr(crate::ast::ExprKind::Bool(value)),
            Self::Int(value) => tree::int(value),
            Self::Float(value) => tree::float(value),
        }
    }

    /// Whether it can be a number of the type.
    pub(super) fn can_be(self, elem: Elem) -> bool {
        match self {
            Self::Bool(_) => elem == Elem::I1,
            Self::Int(_) if elem.is_float() => true,
            Self::Int(value) => elem != Elem::I1 && crate::rules::fits(value, elem),
            Self::Float(_) => elem.is_float(),
        }
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

macro_rules! literals {
    ($($from:ty => $variant:ident($number:ty);)*) => { $(
        impl From<$from> for Literal {
            fn from(value: $from) -> Self {
                Self::$variant(<$number>::from(value))
            }
        }

        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self {
                    kind: ElemKind::Literal(value.into()),
                    place: Place::Everywhere,
                }
            }
        }
    )* };
}
literals! {
    bool => Bool(bool);
    i32 => Int(i64);
    i64 => Int(i64);
    f32 => Float(f64);
    f64 => Float(f64);
}
