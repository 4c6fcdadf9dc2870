//! Results of products that are scattered, of which a thread has too few neighbours to write whole sectors.
//!
//! A scatter takes its places as its value is spread, and they are computed for each element. So the value is spread anew before layouts are
//! chosen: a `tile.convert_layout` of which the result has a layout of its own, for which places are computed.
use super::accesses::{EXCHANGED_BYTES, Reach, is_by_warpgroups, is_narrow};
use super::operand_layout;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::set_operand;
use crate::passes::tile::layout_classes::LayoutClasses;
use crate::passes::tile::types::{Failed, tile_of, update_of};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::Target;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Puts conversions between products and scatters; whether there are some.
pub(super) fn spread_anew<'c>(
    context: &'c Context,
    operations: &[IrOp<'c>],
    classes: &LayoutClasses<'c>,
    target: &Target,
) -> Result<bool, Failed<'c>> {
    let mut found = false;
    for scatter in operations.iter().copied().filter_map(tile::Scatter::of) {
        let op = scatter.op();
        let tile = tile_of(op, scatter.value())?;
        let class = classes.class(scatter.value());
        let product = operations.iter().copied().find(|dot| {
            TileOp::Dot.is(*dot)
                && class.is_some()
                && classes.class(result_of(*dot, 0)) == class
                && tile_of(*dot, result_of(*dot, 0)).is_ok_and(|sums| sums.shape == tile.shape)
        });
        let (Some(dot), Some(reach)) = (product, Reach::of(op, &tile, target)) else {
            continue;
        };
        // Beside stages that are under way it takes the place of another one.
        let room = tile.elem.bytes_of(tile.size()) < EXCHANGED_BYTES
            || !operations.iter().any(is_by_warpgroups);
        let held = tile.with_layout(operand_layout(dot, 2)?);
        let narrow = is_narrow(&held, &reach).map_err(|message| (op, message))?;
        if narrow && room && update_of(op).is_none() && loops_around(op).next().is_none() {
            let mut ir = OpBuilder::new(context, Insertion::Before(op));
            ir.location = op.location();
            let (value, ty) = (scatter.value(), scatter.value().r#type());
            let converted = ir.value(TileOp::ConvertLayout, &[value], &[], ty);
            set_operand(op, 0, converted);
            found = true;
        }
    }
    Ok(found)
}
