//! Atomic updates of one element: which there are for which elements.
use super::{Attrs, SemError, integers, operand_error};
use crate::elem::{Elem, Space};
use crate::value::Val;
use cutec_layout::Width;
use cutec_layout::algebra as layout;

/// What an atomic operation makes of the old value and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicKind {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// The operand, whatever was there.
    Exchange,
    /// The operand, where the old value is the expected one.
    Cas,
}

impl AtomicKind {
    /// Every kind with its name.
    pub const ALL: [(AtomicKind, &'static str); 8] = [
        (AtomicKind::Add, "add"),
        (AtomicKind::Min, "min"),
        (AtomicKind::Max, "max"),
        (AtomicKind::And, "and"),
        (AtomicKind::Or, "or"),
        (AtomicKind::Xor, "xor"),
        (AtomicKind::Exchange, "exchange"),
        (AtomicKind::Cas, "cas"),
    ];

    /// The kind that the attribute `kind` names.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn of(attrs: &Attrs) -> Result<AtomicKind, SemError> {
        let name = attrs.kind.as_deref().unwrap_or_default();
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| *kind).ok_or_else(|| {
            let known = Self::ALL.map(|(_, name)| name).join(", ");
            SemError::Illegal(format!(
                "expects `kind` as one of {known}, but got \"{name}\""
            ))
        })
    }

    /// Whether it exists for elements of a type.
    fn takes(self, elem: Elem) -> bool {
        match self {
            AtomicKind::Add => matches!(
                elem,
                Elem::I32 | Elem::I64 | Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64
            ),
            AtomicKind::Min | AtomicKind::Max => {
                matches!(elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64)
            }
            AtomicKind::Exchange => {
                matches!(elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64)
            }
            _ => matches!(elem, Elem::I32 | Elem::I64),
        }
    }
}

/// `memref.atomic(view, coordinate, value[, expected])`: the element's old value.
pub(super) fn evaluate(operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    let kind = AtomicKind::of(attrs)?;
    let count = if kind == AtomicKind::Cas { 4 } else { 3 };
    let [view, coord, values @ ..] = operands else {
        return super::count_error(count.to_string(), operands.len());
    };
    if operands.len() != count {
        return super::count_error(count.to_string(), operands.len());
    }
    let Val::View(view) = view else {
        return operand_error("a view", view);
    };
    let elem = view.ptr.elem;
    if view.ptr.space == Space::Rmem {
        return Err(SemError::Illegal(
            "registers are one thread's own; atomics are for gmem and smem".into(),
        ));
    }
    if !kind.takes(elem) {
        let name = attrs.kind.as_deref().unwrap_or_default();
        let of = AtomicKind::ALL.iter().filter(|(kind, _)| kind.takes(elem));
        let there = of.map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        let there = if there.is_empty() { "none" } else { &there };
        return Err(SemError::Illegal(format!(
            "no atomic {name} of {elem}; there is: {there}"
        )));
    }
    for value in values {
        let fits = match value {
            Val::Opaque(ty) => ty == elem.name(),
            Val::Scalar(int) => {
                !elem.is_float() && (int.width() == Width::I64) == (elem == Elem::I64)
            }
            _ => false,
        };
        if !fits {
            return operand_error(format!("a value of {elem}"), value);
        }
    }
    layout::crd2idx(&integers(coord)?, view.layout.inner())?;
    Ok(Val::Opaque(elem.name().into()))
}
