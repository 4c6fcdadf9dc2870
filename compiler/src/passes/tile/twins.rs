//! Views with their two axes exchanged, and loads of one tile through both.
//!
//! `tile-transpose-loads` loads the operand that a product wants transposed from the exchanged view. Where another product wants the tile as
//! it lies, two loads bring the same elements: twins, for which `tile-stage-operands` has one buffer, that is read in either way.
use super::coordinate::Coordinate;
use super::emits::cute;
use super::types::operand_of;
use crate::passes::ir_utils::{attributes, defining_op, same_block};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, integer_array};
use cutec_dialects::ops::{CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::{BOX, BY_ELEMENT, WINDOWS};
use cutec_dialects::value::View;
use cutec_layout::LayoutError;
use cutec_layout::algebra::select;
use melior::ir::operation::OperationLike;

/// The modes of a tensor with its axes exchanged.
pub(super) const OF_TENSOR: [usize; 2] = [1, 0];
/// Those of a buffer, whose last mode counts stages.
pub(super) const OF_BUFFER: [usize; 3] = [1, 0, 2];

/// The view with its modes in another order.
pub(super) fn exchanged<'c, const MODES: usize>(
    ir: &OpBuilder<'c>,
    view: IrValue<'c>,
    order: [usize; MODES],
) -> Result<IrValue<'c>, SemError> {
    let plain = Attrs::default();
    let layout = cute(ir, CuteOp::GetLayout, &[view], &plain)?;
    let order = Attrs::mode(order.map(|mode| mode as i64));
    let layout = cute(ir, CuteOp::Select, &[layout], &order)?;
    let pointer = cute(ir, CuteOp::GetIter, &[view], &plain)?;
    cute(ir, CuteOp::MakeView, &[pointer, layout], &plain)
}

/// A buffer with its axes exchanged, as a read of it that is `transposed` has it.
pub(super) fn exchanged_buffer(buffer: &View) -> Result<View, LayoutError> {
    let layout = buffer.layout.map_inner(|inner| select(inner, &OF_BUFFER))?;
    Ok(View {
        layout,
        ..buffer.clone()
    })
}

/// Whether two loads side by side bring the same tile, one of them from the exchanged view and as its transpose.
pub(super) fn are_twins(one: IrOp, other: IrOp) -> bool {
    let (Some(a), Some(b)) = (tile::Load::of(one), tile::Load::of(other)) else {
        return false;
    };
    let is_of = |view, whole| source(view) == Some((whole, OF_TENSOR.to_vec()));
    if !same_block(one, other) || !(is_of(a.view(), b.view()) || is_of(b.view(), a.view())) {
        return false;
    }
    let (Ok(at), Ok(exchanged)) = (Coordinate::of(one), Coordinate::of(other)) else {
        return false;
    };
    let rest = |load| attributes(load, &["fill", "copy", "swizzle", "hints"]);
    at.along(&OF_TENSOR) == exchanged && rest(one) == rest(other)
}

/// Whether two loads side by side bring the same tile.
pub(super) fn are_same(one: IrOp, other: IrOp) -> bool {
    let (Some(a), Some(b)) = (tile::Load::of(one), tile::Load::of(other)) else {
        return false;
    };
    let rest = |load| {
        attributes(
            load,
            &["fill", "copy", "swizzle", "hints", BY_ELEMENT, WINDOWS, BOX],
        )
    };
    a.view() == b.view() && a.at() == b.at() && same_block(one, other) && rest(one) == rest(other)
}

/// The view of which [`exchanged`] made this one, and the order of its modes.
pub(super) fn source(view: IrValue) -> Option<(IrValue, Vec<usize>)> {
    let pointer = operand_of(view, CuteOp::MakeView, 0)?;
    let selected = operand_of(view, CuteOp::MakeView, 1)?;
    let order = integer_array(defining_op(selected)?.attribute("mode").ok()?)?;
    let layout = operand_of(selected, CuteOp::Select, 0)?;
    let whole = operand_of(layout, CuteOp::GetLayout, 0)?;
    let order = order.into_iter().map(usize::try_from);
    let order = order.collect::<Result<Vec<usize>, _>>().ok()?;
    (operand_of(pointer, CuteOp::GetIter, 0) == Some(whole)).then_some((whole, order))
}
