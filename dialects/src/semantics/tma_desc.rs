//! Tensor maps in memory that a kernel edits.
use super::{SemError, operand_error};
use crate::atoms::{TmaAtom, tuple};
use crate::elem::Space;
use crate::value::{Val, View};
use cutec_abi::counted;
use cutec_layout::{AnyLayout, Int, algebra as layout};

/// Bits of a tensor map.
const BITS: i64 = 1024;
/// Bytes of which the address of a map that is edited is a multiple (PTX ISA, "tensormap.cp_fenceproxy").
const ALIGN: i64 = 128;
/// Bytes of which address and strides of a tensor are multiples (CUDA driver API, `cuTensorMapEncodeTiled`).
const CHUNK: i64 = 16;

/// What is put into a map in the place of what it says: a tensor of the same modes.
#[derive(Clone, Debug)]
pub struct TmaDescUpdate {
    /// The tensor, whose first element is at the address.
    pub tensor: View,
    /// Extents in the order of the map, fastest first.
    pub extents: Vec<Int>,
    /// Strides in bytes of all modes but the first.
    pub strides: Vec<Int>,
}

/// The 128 bytes that a view is, where a map may lie.
///
/// # Errors
/// What is in the way.
pub fn tma_desc_place(val: &Val, spaces: &[Space]) -> Result<View, SemError> {
    let Val::View(view) = val else {
        return operand_error("a view of 128 bytes, where a tensor map lies", val);
    };
    if !spaces.contains(&view.ptr.space) {
        let names: Vec<String> = spaces.iter().map(Space::to_string).collect();
        return Err(SemError::Operand {
            expected: format!("a tensor map in {}", names.join(" or ")),
            found: format!("one in {}", view.ptr.space),
        });
    }
    let merged = layout::coalesce(view.layout.inner());
    let bits = merged
        .size()
        .as_static()
        .map(|size| size.saturating_mul(view.ptr.elem.bits()));
    let in_one_piece = merged.rank() == 1 && merged.stride().leaves().iter().all(|step| step.is(1));
    if bits != Some(BITS) || !in_one_piece || !matches!(view.layout, AnyLayout::Plain(_)) {
        return Err(SemError::Operand {
            expected:
                "a view of 128 bytes side by side, as 16 elements of u64, where a tensor map lies"
                    .into(),
            found: format!("{} of {}", view.layout, view.ptr.elem.language_name()),
        });
    }
    let found = view.alignment();
    if found < ALIGN {
        return Err(SemError::Illegal(format!(
            "a tensor map lies at a multiple of {ALIGN} bytes, but this is proven to lie at multiples of {found} only; promise it: `where align(…) >= {ALIGN}`"
        )));
    }
    Ok(view.clone())
}

/// What a tensor puts into a map of an atom.
///
/// # Errors
/// What does not fit.
pub fn tma_desc_update(atom: &TmaAtom, tensor: &Val) -> Result<TmaDescUpdate, SemError> {
    let Val::View(view) = tensor else {
        return operand_error("a tensor in gmem", tensor);
    };
    if view.ptr.space != Space::Gmem || view.ptr.elem.bits() != atom.elem.bits() {
        return Err(SemError::Operand {
            expected: format!("a tensor of {} in gmem", atom.elem.language_name()),
            found: format!("{} in {}", view.ptr.elem.language_name(), view.ptr.space),
        });
    }
    if atom.pixels.is_some() {
        return Err(SemError::Illegal(
            "a map in im2col mode is not edited".into(),
        ));
    }
    let inner = view.layout.inner();
    let (shape, stride) = (inner.shape().leaves(), inner.stride().leaves());
    let rank = atom.tile.len();
    let flat = inner.rank() == rank && shape.len() == rank;
    if !flat || !matches!(view.layout, AnyLayout::Plain(_)) {
        return Err(SemError::Illegal(format!(
            "the map is of tensors of {}, for tiles of {}, but this one is {}",
            counted(rank, "mode"),
            tuple(&atom.tile),
            view.layout
        )));
    }
    let fastest = atom.order[0];
    if !stride[fastest].is(1) {
        return Err(SemError::Illegal(format!(
            "the map is of tensors whose mode {fastest} has stride 1, but this one is {}",
            view.layout
        )));
    }
    let chunk = (CHUNK / atom.elem.bytes()).max(1);
    let found = view.alignment();
    if found < CHUNK {
        return Err(SemError::Illegal(format!(
            "the tensor is proven to begin at multiples of {} only; promise {CHUNK} by `where align` of the tensor, and by `assume` that offsets in front of it are multiples of {chunk} elements",
            counted(found, "byte")
        )));
    }
    let outer = || atom.order.iter().skip(1);
    for mode in outer() {
        if !shape[*mode].is(1) && !stride[*mode].divisible_by(chunk) {
            return Err(SemError::Illegal(format!(
                "the stride of mode {mode} is not proven to be a multiple of {CHUNK} bytes, {chunk} elements; promise it by `assume` of the stride"
            )));
        }
    }
    let bytes = Int::Static(atom.elem.bytes());
    Ok(TmaDescUpdate {
        tensor: view.clone(),
        extents: atom.order.iter().map(|mode| shape[*mode].clone()).collect(),
        strides: outer().map(|mode| stride[*mode].mul(&bytes)).collect(),
    })
}
