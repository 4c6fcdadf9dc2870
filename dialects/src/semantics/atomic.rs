//! Atomic updates of one element: which there are for which elements.
use super::{Attrs, SemError, integers, operand_error};
use crate::atoms::{Red, RedForm, Reduction};
use crate::elem::{Elem, Space};
use crate::target::Target;
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
    /// What was there.
    Load,
    /// What was there; what was done before it was released is there as well.
    Acquire,
    /// The operand; nobody asks what was there.
    Store,
    /// The same, after all that was done before.
    Release,
}

impl AtomicKind {
    /// Every kind with its name.
    pub const ALL: [(AtomicKind, &'static str); 12] = [
        (AtomicKind::Add, "add"),
        (AtomicKind::Min, "min"),
        (AtomicKind::Max, "max"),
        (AtomicKind::And, "and"),
        (AtomicKind::Or, "or"),
        (AtomicKind::Xor, "xor"),
        (AtomicKind::Exchange, "exchange"),
        (AtomicKind::Cas, "cas"),
        (AtomicKind::Load, "load"),
        (AtomicKind::Acquire, "acquire"),
        (AtomicKind::Store, "store"),
        (AtomicKind::Release, "release"),
    ];

    /// The kind of a name.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub fn parse(name: &str) -> Result<AtomicKind, SemError> {
        Self::named(name, &Self::ALL)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("", |(_, name)| name)
    }

    /// The kind that an update says.
    ///
    /// # Errors
    /// Where it says none.
    pub fn of(attrs: &Attrs) -> Result<AtomicKind, SemError> {
        attrs.kind.map_or_else(|| Self::parse(""), Ok)
    }

    fn named(name: &str, of: &[(AtomicKind, &str)]) -> Result<AtomicKind, SemError> {
        let found = of.iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| *kind).ok_or_else(|| {
            let known: Vec<&str> = of.iter().map(|(_, name)| *name).collect();
            let known = known.join(", ");
            SemError::Illegal(format!(
                "expects `kind` as one of {known}, but got \"{name}\""
            ))
        })
    }

    /// Checks that there is an update of this name for elements of a type: one that takes a value and whose
    /// result nobody needs.
    ///
    /// # Errors
    /// Which ones there are.
    pub fn updates(name: &str, elem: Elem) -> Result<(), SemError> {
        let combining: Vec<_> = Self::ALL
            .into_iter()
            .filter(|(kind, _)| kind.combines())
            .collect();
        Self::named(name, &combining)?.check(elem)
    }

    /// Checks that it exists for elements of a type.
    ///
    /// # Errors
    /// Which there are in its place.
    pub fn check(self, elem: Elem) -> Result<(), SemError> {
        match self.takes(elem) {
            true => Ok(()),
            false => Err(SemError::NoAtomic { kind: self, elem }),
        }
    }

    /// What there is of elements of a type in the place of what there is not, behind a semicolon.
    pub(super) fn others_of(elem: Elem) -> String {
        let of = Self::ALL.iter().filter(|(kind, _)| kind.takes(elem));
        let mut there: Vec<&str> = of.map(|(kind, _)| kind.function()).collect();
        there.dedup();
        match there.is_empty() {
            true => String::new(),
            false => format!("; there is: {}", there.join(", ")),
        }
    }

    /// The types of elements that it exists for.
    pub fn elements(self) -> impl Iterator<Item = Elem> {
        let of = Elem::ALL.into_iter().map(|(elem, _)| elem);
        of.filter(move |elem| self.takes(*elem))
    }

    /// The function of the language that it belongs to, behind `atomic_`.
    pub fn function(self) -> &'static str {
        match self {
            AtomicKind::Acquire => AtomicKind::Load.name(),
            AtomicKind::Release => AtomicKind::Store.name(),
            kind => kind.name(),
        }
    }

    /// Values that it takes: the new one, and for `cas` the one expected.
    pub fn values(self) -> usize {
        match self {
            AtomicKind::Load | AtomicKind::Acquire => 0,
            AtomicKind::Cas => 2,
            AtomicKind::Add
            | AtomicKind::Min
            | AtomicKind::Max
            | AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor
            | AtomicKind::Exchange
            | AtomicKind::Store
            | AtomicKind::Release => 1,
        }
    }

    /// Whether it combines what was there with a value: what an update may be whose result nobody needs.
    pub fn combines(self) -> bool {
        match self {
            AtomicKind::Add
            | AtomicKind::Min
            | AtomicKind::Max
            | AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor => true,
            AtomicKind::Exchange
            | AtomicKind::Cas
            | AtomicKind::Load
            | AtomicKind::Acquire
            | AtomicKind::Store
            | AtomicKind::Release => false,
        }
    }

    /// The same access, which orders others besides, and the word for that; `None` of what has one order alone.
    pub fn ordering(self) -> Option<(AtomicKind, &'static str)> {
        let ordering = match self {
            AtomicKind::Load | AtomicKind::Acquire => AtomicKind::Acquire,
            AtomicKind::Store | AtomicKind::Release => AtomicKind::Release,
            AtomicKind::Add
            | AtomicKind::Min
            | AtomicKind::Max
            | AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor
            | AtomicKind::Exchange
            | AtomicKind::Cas => return None,
        };
        Some((ordering, ordering.name()))
    }

    /// Whether it writes and gives nothing.
    pub fn is_store(self) -> bool {
        matches!(self, AtomicKind::Store | AtomicKind::Release)
    }

    /// What `copy` combines elements by; exchanges are none.
    pub fn reduction(self) -> Option<Reduction> {
        Reduction::find(self.name())
    }

    /// The instruction for an element of a type, by `red` and by `atom`, if the target has it; what there is besides is made
    /// of `cas` in a loop.
    pub fn red(self, elem: Elem, target: &Target) -> Option<RedForm> {
        let (how, bits) = (self.reduction()?, u32::try_from(elem.bits()).ok()?);
        let form = Red { how, bits }.form(elem);
        form.filter(|form| form.is_on(target))
    }

    /// Whether it exists for elements of a type.
    fn takes(self, elem: Elem) -> bool {
        match self {
            AtomicKind::Add => matches!(
                elem,
                Elem::I32
                    | Elem::U32
                    | Elem::I64
                    | Elem::U64
                    | Elem::F16
                    | Elem::BF16
                    | Elem::F32
                    | Elem::F64
            ),
            AtomicKind::Min | AtomicKind::Max => {
                matches!(
                    elem,
                    Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64 | Elem::F32 | Elem::F64
                )
            }
            AtomicKind::Exchange
            | AtomicKind::Load
            | AtomicKind::Acquire
            | AtomicKind::Store
            | AtomicKind::Release => {
                matches!(
                    elem,
                    Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64 | Elem::F32 | Elem::F64
                )
            }
            AtomicKind::And | AtomicKind::Or | AtomicKind::Xor | AtomicKind::Cas => {
                matches!(elem, Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64)
            }
        }
    }
}

/// `memref.atomic(view, coordinate, value[, expected][, where])`: the element's old value.
pub(super) fn evaluate(operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    let kind = AtomicKind::of(attrs)?;
    let count = 2 + kind.values();
    let wrong = || super::count_error(format!("{count} or {}", count + 1), operands.len());
    let [view, coord, rest @ ..] = operands else {
        return wrong();
    };
    let (values, condition) = match rest.split_at_checked(kind.values()) {
        Some((values, [])) => (values, None),
        Some((values, [condition])) => (values, Some(condition)),
        _ => return wrong(),
    };
    if let Some(condition) = condition
        && !matches!(condition, Val::Opaque(ty) if ty == "i1")
    {
        return operand_error("an i1 that says where", condition);
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
    kind.check(elem)?;
    for value in values {
        let fits = match value {
            Val::Opaque(ty) => ty == elem.value_type(),
            Val::Scalar(int) => {
                !elem.is_float() && (int.width() == Width::I64) == (elem.bits() == 64)
            }
            _ => false,
        };
        if !fits {
            return operand_error(format!("a value of {elem}"), value);
        }
    }
    layout::crd2idx(&integers(coord)?, view.layout.inner())?;
    Ok(Val::Opaque(elem.value_type().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TARGETS;

    #[test]
    fn every_update_is_an_instruction_or_a_loop_of_floats() {
        let elements = Elem::ALL.map(|(elem, _)| elem);
        for (kind, name) in AtomicKind::ALL {
            for (elem, target) in elements
                .iter()
                .flat_map(|elem| TARGETS.iter().map(move |target| (*elem, target)))
            {
                let instruction = kind.red(elem, target);
                if instruction.is_some() {
                    assert!(kind.takes(elem), "{name} of {elem}");
                } else if kind.takes(elem) && kind.combines() {
                    let computed =
                        matches!(kind, AtomicKind::Add | AtomicKind::Min | AtomicKind::Max);
                    assert!(
                        elem.is_float() && computed,
                        "{name} of {elem} on {}",
                        target.name
                    );
                }
            }
        }
    }
}
