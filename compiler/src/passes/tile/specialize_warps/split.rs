//! The small parts of what `wgmma` multiplies in three products of tf32 (`precision = "tf32x3"`).
//!
//! `wgmma` reads b from shared memory, and ignores the lower 13 bits of an f32: the big part of a number is the number itself. What
//! is ignored of it two warps write to stages of their own, behind those that the maps fill, as soon as a stage is full; they are of
//! the warpgroup of which another warp loads. Those that multiply wait for them as well, and release both stages together. The parts of
//! a are made in registers, where it is multiplied from (`tile-partition`).
use super::super::emits::Emits;
use super::super::types::view_of;
use super::emit::Emit;
use cutec_dialects::atoms::{MmaOp, UniversalCopy};
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, VectorOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::target::WARP;
use cutec_dialects::tile::Precision;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::{AnyLayout, Layout, Tree, Width};

/// Threads that split.
pub(super) const SPLITTING: i64 = 2 * WARP;
/// The first of them, behind those that multiply.
pub(super) const FIRST: i64 = 2 * WARP;
/// Numbers that a thread reads at once, and how often before the first and between those that it writes.
const VECTOR: i64 = 4;
const AHEAD: i64 = 4;
/// The bits of an f32 that tensor cores take.
const TAKEN: i64 = !0x1fff;

/// Whether a product takes a tile as b and multiplies it in parts.
pub(super) fn is_of_parts<'c>(product: IrOp<'c>, tile: IrValue<'c>) -> bool {
    let mma = super::super::types::mma_of(product);
    let by_warpgroups = mma.is_ok_and(|mma| matches!(mma.atom.op, MmaOp::Wgmma(_)));
    by_warpgroups
        && Precision::of(&product) == Ok(Precision::Tf32x3)
        && tile::Dot::of(product).is_some_and(|dot| dot.b() == tile)
}

/// Writes what is ignored of a stage of a buffer to another one.
pub(super) fn split<'c>(
    emit: &Emit<'c>,
    buffer: IrValue<'c>,
    [from, to]: [IrValue<'c>; 2],
) -> Result<(), SemError> {
    let extent = |mode: usize| {
        let view = view_of(buffer)?;
        view.layout.inner().mode(mode)?.size().as_static()
    };
    let missing = || SemError::Illegal("expects a buffer of static shape".into());
    let (rows, columns) = (
        extent(0).ok_or_else(missing)?,
        extent(1).ok_or_else(missing)?,
    );
    let beside = columns / VECTOR;
    let lines = SPLITTING / beside;
    let number = |number: i64| emit.ir.constant(number, "i32");
    let thread = emit
        .ir
        .value(NvvmOp::ReadPtxSregTidX, &[], &[], emit.ir.ty("i32"));
    // Those that multiply are whole warpgroups.
    let thread = emit.binary(ArithOp::Remui, thread, number(SPLITTING));
    let line = emit.binary(ArithOp::Divui, thread, number(beside));
    let vector = emit.binary(ArithOp::Remui, thread, number(beside));
    let piece = emit.constant(Val::int_tuple([1, VECTOR]))?;
    let plain = Attrs::default();
    let vectors = |stage| -> Result<IrValue<'c>, SemError> {
        let stage = emit.stage(buffer, stage)?;
        emit.cute(CuteOp::ZippedDivide, &[stage, piece], &plain)
    };
    let (from, to) = (vectors(from)?, vectors(to)?);
    let atom = emit.constant(Val::CopyAtom(UniversalCopy::of_elements(Elem::F32, VECTOR)))?;
    let copy = |one: IrValue<'c>, other: IrValue<'c>| {
        emit.ir.op(CuteOp::Copy, &[atom, one, other], &[], &[]);
    };
    let passes: Vec<i64> = (0..rows / lines).collect();
    let read = |group: &[i64]| -> Result<Vec<(IrValue<'c>, IrValue<'c>)>, SemError> {
        let each = group.iter().map(|pass| {
            let line = emit.binary(ArithOp::Addi, line, number(pass * lines));
            let held = registers(emit);
            copy(at(emit, from, [line, vector])?, held);
            Ok((line, held))
        });
        each.collect()
    };
    // The next ones are read before these are written, behind which nobody would move them.
    let mut groups = passes.chunks(AHEAD as usize);
    let mut next = groups.next().map(read).transpose()?;
    while let Some(held) = next {
        next = groups.next().map(read).transpose()?;
        for (line, held) in held {
            let small = small_parts(emit, held)?;
            copy(small, at(emit, to, [line, vector])?);
        }
    }
    Ok(())
}

/// The vector at a line.
fn at<'c>(
    emit: &Emit<'c>,
    vectors: IrValue<'c>,
    place: [IrValue<'c>; 2],
) -> Result<IrValue<'c>, SemError> {
    let mut vars = Vars::default();
    let rest = [0, 1].map(|_| Tree::Leaf(Some(vars.fresh(Width::I32, 1))));
    let coordinate = Tree::Node(vec![Tree::Leaf(None), Tree::Node(rest.to_vec())]);
    let ty = emit.ir.val_type(&Val::Tuple(TupleKind::Coord, coordinate));
    let place = emit.ir.value(CuteOp::MakeCoord, &place, &[], ty);
    emit.cute(CuteOp::Slice, &[vectors, place], &Attrs::default())
}

/// Registers of a vector.
fn registers<'c>(emit: &Emit<'c>) -> IrValue<'c> {
    let layout = AnyLayout::Plain(Layout::contiguous(VECTOR));
    let view = View::new(Elem::F32, Space::Rmem, 16, layout);
    let ty = emit.ir.val_type(&Val::View(view));
    emit.ir.value(CuteOp::MemrefAlloca, &[], &[], ty)
}

/// What tensor cores ignore of the numbers of a vector. Of its 13 bits they take the upper 11: 2⁻²² of the number are left out at most, and
/// to round would take three times the instructions.
fn small_parts<'c>(emit: &Emit<'c>, held: IrValue<'c>) -> Result<IrValue<'c>, SemError> {
    let ir = &emit.ir;
    let (f32, word) = (ir.ty("f32"), ir.ty("i32"));
    let ty = ir.vector_type(VECTOR, f32);
    let vector = ir.value(CuteOp::MemrefLoadVec, &[held], &[], ty);
    let mut small = Vec::new();
    for number in 0..VECTOR {
        let position = [("static_position", ir.i64_array(&[number]))];
        let number = ir.value(VectorOp::Extract, &[vector], &position, f32);
        let bits = ir.value(ArithOp::Bitcast, &[number], &[], word);
        let taken = emit.binary(ArithOp::Andi, bits, ir.constant(TAKEN, "i32"));
        let taken = ir.value(ArithOp::Bitcast, &[taken], &[], f32);
        small.push(ir.value(ArithOp::Subf, &[number, taken], &[], f32));
    }
    let small = ir.value(VectorOp::FromElements, &small, &[], ty);
    let written = registers(emit);
    ir.op(CuteOp::MemrefStoreVec, &[small, written], &[], &[]);
    Ok(written)
}
