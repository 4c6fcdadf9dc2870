//! Bulk copies without a tensor map (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk"): one thread begins them, for runs of
//! neighbouring bytes of any length.
//!
//! The memory spaces of both sides say which instruction it is, as with CuTe's `SM90_BULK_COPY_AUTO`; so these are no
//! [`CopyInstruction`](super::CopyInstruction), whose sides and lengths are fixed.
use super::Reduction;
use super::fields::{DIALECT, Fields};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::types::TypeError;
use std::fmt;

/// A bulk copy of elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BulkCopy {
    /// How elements are combined with those of the destination; `None` where they replace them.
    pub reduction: Option<Reduction>,
    /// Elements of both sides.
    pub elem: Elem,
    /// What is asked of the caches: a priority alone.
    pub hints: Hints,
}

const COPY: &str = "atom.bulk_copy";
const REDUCE: &str = "atom.bulk_reduce";

impl BulkCopy {
    /// The names of its types.
    pub(super) const TYPE_NAMES: [&'static str; 2] = [COPY, REDUCE];

    /// The atom of a type's text; `None` for the text of another type.
    ///
    /// # Errors
    /// Where it has another form, or is not legal.
    pub(crate) fn parse(text: &str) -> Result<Option<BulkCopy>, TypeError> {
        let Some((name, mut fields)) = Fields::of_atom(text) else {
            return Ok(None);
        };
        let reduction = match name {
            COPY => None,
            REDUCE => Some(fields.reduction()?),
            _ => return Ok(None),
        };
        let atom = BulkCopy {
            reduction,
            elem: fields.elem()?,
            hints: fields.hints()?,
        };
        match atom.is_legal() {
            true => Ok(Some(atom)),
            false => Err(fields
                .form("a reduction that there is of these elements, and no hint but a priority")),
        }
    }

    fn is_legal(&self) -> bool {
        let exists = |how: Reduction| how.of_runs(self.elem, false).is_some();
        self.reduction.is_none_or(exists)
            && self.hints.cache.is_none()
            && self.hints.prefetch.is_none()
    }
}

impl Reduction {
    /// The operation and the type by which PTX has this reduction of runs of elements, in global memory or in the shared
    /// memory of another block; `None` where there is none (PTX ISA, "cp.reduce.async.bulk").
    pub fn of_runs(self, elem: Elem, in_shared: bool) -> Option<&'static str> {
        let number = match (self, elem) {
            // Two's complement: the sum has no sign.
            (Reduction::Add, Elem::I32) => "add.s32",
            (Reduction::Add, Elem::I64 | Elem::U64) => "add.u64",
            (Reduction::Min, Elem::I32) => "min.s32",
            (Reduction::Max, Elem::I32) => "max.s32",
            (Reduction::And, Elem::I32) => "and.b32",
            (Reduction::Or, Elem::I32) => "or.b32",
            (Reduction::Xor, Elem::I32) => "xor.b32",
            _ => "",
        };
        if !number.is_empty() {
            return Some(number);
        }
        if in_shared {
            return None;
        }
        match (self, elem) {
            (Reduction::Add, Elem::F16) => Some("add.noftz.f16"),
            (Reduction::Add, Elem::BF16) => Some("add.noftz.bf16"),
            (Reduction::Add, Elem::F32) => Some("add.f32"),
            (Reduction::Add, Elem::F64) => Some("add.f64"),
            (Reduction::Min, Elem::I64) => Some("min.s64"),
            (Reduction::Min, Elem::U64) => Some("min.u64"),
            (Reduction::Min, Elem::F16) => Some("min.f16"),
            (Reduction::Min, Elem::BF16) => Some("min.bf16"),
            (Reduction::Max, Elem::I64) => Some("max.s64"),
            (Reduction::Max, Elem::U64) => Some("max.u64"),
            (Reduction::Max, Elem::F16) => Some("max.f16"),
            (Reduction::Max, Elem::BF16) => Some("max.bf16"),
            (Reduction::And, Elem::I64 | Elem::U64) => Some("and.b64"),
            (Reduction::Or, Elem::I64 | Elem::U64) => Some("or.b64"),
            (Reduction::Xor, Elem::I64 | Elem::U64) => Some("xor.b64"),
            _ => None,
        }
    }
}

impl fmt::Display for BulkCopy {
    /// Its type in the IR.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let BulkCopy {
            reduction,
            elem,
            hints,
        } = self;
        match reduction {
            None => write!(f, "{DIALECT}{COPY}<{elem}{hints}>"),
            Some(how) => write!(f, "{DIALECT}{REDUCE}<{}, {elem}{hints}>", how.name()),
        }
    }
}
