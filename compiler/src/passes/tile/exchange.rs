//! Views with their two axes exchanged, and loads of one tile through both.
//!
//! `tile-transpose-loads` loads the operand that a product wants transposed from the exchanged view. Where another product wants the tile as
//! it lies, two loads bring the same elements: twins, for which `tile-stage-operands` has one buffer, that is read in either way.
use super::coordinate::Coordinate;
use crate::passes::ir_utils::{attributes, defining_op, same_block};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, integer_array, operands_of};
use cutec_dialects::ir::build;
use cutec_dialects::ops::{CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::value::View;
use cutec_layout::{Layout, LayoutError};
use melior::ir::operation::OperationLike;

/// The modes of a tensor with its axes exchanged.
pub(super) const OF_TENSOR: [i64; 2] = [1, 0];
/// Those of a buffer, whose last mode counts stages.
pub(super) const OF_BUFFER: [i64; 3] = [1, 0, 2];

/// The view with its modes in another order.
pub(super) fn exchanged<'c>(
    ir: &OpBuilder<'c>,
    view: IrValue<'c>,
    order: impl Into<Vec<i64>>,
) -> Result<IrValue<'c>, SemError> {
    let of = |op: CuteOp, operands: &[IrValue<'c>], attrs: &Attrs| {
        build(ir, op, operands, attrs)?
            .ok_or_else(|| SemError::Illegal(format!("{op} gives nothing")))
    };
    let plain = Attrs::default();
    let layout = of(CuteOp::GetLayout, &[view], &plain)?;
    let layout = of(CuteOp::Select, &[layout], &Attrs::mode(order))?;
    let pointer = of(CuteOp::GetIter, &[view], &plain)?;
    of(CuteOp::MakeView, &[pointer, layout], &plain)
}

/// A buffer with its axes exchanged, as a read of it that is `transposed` has it.
pub(super) fn exchanged_buffer(buffer: &View) -> Result<View, LayoutError> {
    let layout = buffer.layout.map_inner(|inner| {
        let modes: Vec<Layout> = inner.modes().collect();
        match &modes[..] {
            [rows, columns, stages] => {
                Ok(Layout::concat([columns, rows, stages].map(Layout::clone)))
            }
            _ => Ok(Layout::concat(modes)),
        }
    })?;
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
    let is_of = |view, whole| source(view) == Some((whole, vec![1, 0]));
    let same_view = is_of(a.view(), b.view()) || is_of(b.view(), a.view());
    let (Ok(at), Ok(exchanged)) = (Coordinate::of(one), Coordinate::of(other)) else {
        return false;
    };
    let rest = |load| attributes(load, &["fill", "copy", "swizzle", "hints"]);
    same_view
        && same_block(one, other)
        && at.along(&[1, 0]) == exchanged
        && rest(one) == rest(other)
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

/// An operand of the operation of this kind that gives a value.
fn operand_of(value: IrValue, op: CuteOp, index: usize) -> Option<IrValue> {
    let made = defining_op(value).filter(|made| op.is(*made))?;
    operands_of(made).nth(index)
}
