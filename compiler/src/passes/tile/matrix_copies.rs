//! Tiled copies by which a warp moves matrices of 8 × 8 elements between shared memory and what its threads hold of a product: by
//! `ldmatrix` and `stmatrix`.
use cutec_dialects::atoms::{CopyAtom, CopyOp, Ldmatrix, Place, Stmatrix};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, SemError, check, evaluate};
use cutec_dialects::types::{TypeError, copy_layouts, tiled_copy_of};
use cutec_dialects::value::{TiledMmaVal, Val, View};
use cutec_layout::tv::{self, Operand};
use cutec_layout::{Int, Width};
use std::sync::Arc;

/// Bits of the elements whose registers in a matrix are those of sums: two neighbours of a row.
const BITS: i64 = 16;

/// How threads write sums to a buffer of which an axis is the fast one; `None` where registers do not lie as those of matrices.
pub(super) fn store_of_sums(mma: &Arc<TiledMmaVal>, buffer: &View, fast: usize) -> Option<Val> {
    widest(
        Stmatrix::widths(fast == 0).map(CopyOp::Stmatrix),
        mma,
        buffer,
    )
}

/// How they read them from there.
pub(super) fn load_of_sums(mma: &Arc<TiledMmaVal>, buffer: &View, fast: usize) -> Option<Val> {
    widest(
        Ldmatrix::widths(fast == 0).map(CopyOp::Ldmatrix),
        mma,
        buffer,
    )
}

fn widest(ops: [CopyOp; 3], mma: &Arc<TiledMmaVal>, buffer: &View) -> Option<Val> {
    if buffer.ptr.elem.bits() != BITS {
        return None;
    }
    let mut atoms = ops.into_iter().map(|op| CopyAtom::new(op, buffer.ptr.elem));
    atoms.find_map(|atom| matrix_copy(atom, mma, Operand::C, buffer).ok())
}

/// The tiled copy of an atom for an operand of a product, if it moves what a thread holds of that.
pub(super) fn matrix_copy(
    atom: CopyAtom,
    mma: &Arc<TiledMmaVal>,
    which: Operand,
    buffer: &View,
) -> Result<Val, SemError> {
    atom.verify().map_err(TypeError::from)?;
    let make = match which {
        Operand::A => tv::make_tiled_copy_a,
        Operand::B => tv::make_tiled_copy_b,
        Operand::C => tv::make_tiled_copy_c,
    };
    let copy = tiled_copy_of(atom, make(copy_layouts(&atom), &mma.tiled)?)?;
    let attrs = Attrs::operand(which);
    let of = |op: CuteOp, operands: &[Val]| evaluate(op, operands, &attrs);
    let thread = Val::integer(Width::I32);
    let stage = of(CuteOp::Slice, &[Val::View(buffer.clone()), first_stage(2)])?;
    let mma = Val::TiledMma(mma.clone());
    let held = of(
        CuteOp::TiledMmaPartition,
        &[mma.clone(), stage.clone(), thread.clone()],
    )?;
    let fragment = of(CuteOp::MmaMakeFragment, &[mma, held])?;
    let fragment = of_elem(fragment, buffer.ptr.elem);
    let fragment = of(CuteOp::TiledCopyRetile, &[copy.clone(), fragment])?;
    let operands = match atom.places()[0] == Place::Registers {
        true => {
            let to = of(CuteOp::TiledCopyPartitionD, &[copy.clone(), stage, thread])?;
            [copy.clone(), fragment, to]
        }
        false => {
            let from = of(CuteOp::TiledCopyPartitionS, &[copy.clone(), stage, thread])?;
            [copy.clone(), from, fragment]
        }
    };
    check(CuteOp::Copy, &operands, &Attrs::default())?;
    Ok(copy)
}

/// A fragment of other elements: what becomes of sums before they leave.
fn of_elem(fragment: Val, elem: Elem) -> Val {
    match fragment {
        Val::View(mut view) => {
            view.ptr.elem = elem;
            Val::View(view)
        }
        other => other,
    }
}

/// The coordinate of the first stage of a buffer for tiles of so many axes, all of it.
pub(super) fn first_stage(axes: usize) -> Val {
    Val::coord(std::iter::repeat_n(None, axes).chain([Some(Int::ZERO)]))
}
