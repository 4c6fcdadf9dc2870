//! Stages of buffers: how many a loop asks for, and buffers that have them.
use super::types::{Failed, view_of};
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder, integer_value};
use cutec_dialects::tile::{self, CHOSEN_STAGES as CHOSEN};
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Int, Layout};
use melior::ir::{ValueLike, operation::OperationLike};

/// What a loop says of its depth: iterations under way, or that the cost model is to choose.
pub(super) const DEPTH: &str = "tile.stages";

/// Whether a loop asks to be pipelined, to a depth that it says or as the cost model has it.
pub(super) fn is_pipelined(of: IrOp<'_>) -> bool {
    of.attribute(DEPTH).is_ok()
}

/// The depth that a loop asks for; `None` where it leaves that to the cost model.
pub(super) fn depth_of(of: IrOp<'_>) -> Result<Option<i64>, Failed<'_>> {
    let Ok(depth) = of.attribute(DEPTH) else {
        return Ok(None);
    };
    match integer_value(depth).filter(|depth| *depth == CHOSEN || tile::STAGES.contains(depth)) {
        Some(CHOSEN) => Ok(None),
        Some(depth) => Ok(Some(depth)),
        None => {
            let (least, most) = tile::STAGES.into_inner();
            let message = format!("expects {least} to {most} as `{DEPTH}`, but got {depth}");
            Err((of, message))
        }
    }
}

/// Gives a buffer so many stages.
pub(super) fn widen<'c>(
    ir: &OpBuilder<'c>,
    buffer: IrValue<'c>,
    stages: i64,
) -> Result<(), String> {
    let view = view_of(buffer).ok_or("expects a view")?;
    let layout = view.layout.map_inner(|inner| {
        let mut modes: Vec<Layout> = inner.modes().collect();
        if let Some(last) = modes.pop() {
            let stride = last
                .stride()
                .leaves()
                .first()
                .map(|stride| (*stride).clone());
            modes.push(Layout::scalar(stages, stride.unwrap_or(Int::ZERO)));
        }
        Ok(Layout::concat(modes))
    });
    let layout: AnyLayout = layout.map_err(|error: cutec_layout::LayoutError| error.to_string())?;
    buffer.set_type(ir.val_type(&Val::View(View { layout, ..view })));
    Ok(())
}
