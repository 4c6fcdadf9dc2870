//! The shared memory of the other blocks of a cluster (PTX ISA, "Distributed shared memory"): views of it, and stores and
//! updates that a barrier there counts (`st.async`, `red.async`).
use super::vectors::{contiguous_width, offsets_of, vector_type};
use super::{AtomicKind, Attrs, SemError, count_error, integers, mbarrier, operand_error};
use crate::elem::{Elem, Space};
use crate::value::{Ptr, Val, View};
use cutec_layout::algebra as layout;

/// The least number of bytes that `st.async` stores.
const LEAST_STORED: i64 = 4;

/// `(view, rank)`: what is at the same place in the shared memory of the block of this rank.
pub(super) fn map_shared_rank(view: &Val, rank: &Val) -> Result<Val, SemError> {
    let Val::View(own) = view else {
        return operand_error("a view in smem", view);
    };
    if own.ptr.space != Space::Smem {
        return Err(SemError::Operand {
            expected: "a view in smem, which the blocks of a cluster share".into(),
            found: format!("one in {}", own.ptr.space),
        });
    }
    let number = mbarrier::single(rank);
    if number.is_none_or(|rank| rank.is_some_and(|rank| rank < 0)) {
        return operand_error("the rank of a block in its cluster, from 0 on", rank);
    }
    Ok(Val::View(View {
        ptr: Ptr {
            space: Space::Dsmem,
            ..own.ptr.clone()
        },
        layout: own.layout.clone(),
    }))
}

/// Checks `(values, view, barriers, coordinate)` of `store_async`.
pub(super) fn check_store_async(operands: &[Val]) -> Result<(), SemError> {
    let [value, to, barriers, which] = operands else {
        return count_error("4", operands.len());
    };
    let view = of_another_block(to)?;
    let expected = vector_type(view)?;
    if value.to_string() != expected {
        return operand_error(format!("a value of {expected}"), value);
    }
    let width = contiguous_width(view, &offsets_of(view.layout.inner())?);
    let bytes = width * view.ptr.elem.bytes();
    if bytes < LEAST_STORED {
        return Err(SemError::Illegal(format!(
            "st.async stores 4, 8 or 16 bytes at a time, but of {} elements of {} in {} only {bytes} bytes are known to lie side by side at a multiple of their size",
            view.layout.size(),
            view.ptr.elem.language_name(),
            view.layout
        )));
    }
    mbarrier::check_place(barriers, which)
}

/// Checks `(view, coordinate, value, barriers, coordinate)` of `reduce_async`.
pub(super) fn check_reduce_async(operands: &[Val], attrs: &Attrs) -> Result<(), SemError> {
    let [to, coord, value, barriers, which] = operands else {
        return count_error("5", operands.len());
    };
    let view = of_another_block(to)?;
    let (kind, elem) = (AtomicKind::of(attrs)?, view.ptr.elem);
    if reduction(kind, elem).is_none() {
        return Err(SemError::Illegal(format!(
            "no red.async {} of {}; there are add of i32 and i64, min, max, and, or, xor of i32",
            kind.name(),
            elem.language_name()
        )));
    }
    let fits = match value {
        Val::Opaque(ty) => ty == elem.value_type(),
        Val::Scalar(_) => true,
        _ => false,
    };
    if !fits {
        return operand_error(format!("a value of {}", elem.language_name()), value);
    }
    layout::crd2idx(&integers(coord)?, view.layout.inner())?;
    mbarrier::check_place(barriers, which)
}

/// Operation and type of `red.async` (PTX ISA, "red.async"). What signs make no difference to has the type without.
pub fn reduction(kind: AtomicKind, elem: Elem) -> Option<&'static str> {
    Some(match (kind, elem) {
        (AtomicKind::Add, Elem::I32 | Elem::U32) => "add.u32",
        (AtomicKind::Add, Elem::I64 | Elem::U64) => "add.u64",
        (AtomicKind::Min, Elem::I32) => "min.s32",
        (AtomicKind::Min, Elem::U32) => "min.u32",
        (AtomicKind::Max, Elem::I32) => "max.s32",
        (AtomicKind::Max, Elem::U32) => "max.u32",
        (AtomicKind::And, Elem::I32 | Elem::U32) => "and.b32",
        (AtomicKind::Or, Elem::I32 | Elem::U32) => "or.b32",
        (AtomicKind::Xor, Elem::I32 | Elem::U32) => "xor.b32",
        (
            AtomicKind::Add
            | AtomicKind::Min
            | AtomicKind::Max
            | AtomicKind::And
            | AtomicKind::Or
            | AtomicKind::Xor
            | AtomicKind::Exchange
            | AtomicKind::Cas
            | AtomicKind::Load
            | AtomicKind::Acquire
            | AtomicKind::Store
            | AtomicKind::Release,
            _,
        ) => return None,
    })
}

/// A view of the shared memory of another block.
fn of_another_block(to: &Val) -> Result<&View, SemError> {
    match to {
        Val::View(view) if view.ptr.space == Space::Dsmem => Ok(view),
        Val::View(view) => Err(SemError::Operand {
            expected: "a view of the shared memory of another block, by map_shared_rank".into(),
            found: format!("one in {}", view.ptr.space),
        }),
        other => operand_error("a view of the shared memory of another block", other),
    }
}
