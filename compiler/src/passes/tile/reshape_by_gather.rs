//! A reshaped tile, or a part of one, that threads cannot keep as they hold it: what `tile-assign-layouts` makes of its `tile.reshape` or `tile.slice`.
use super::gathers::Vectors;
use super::types::{Failed, offsets_of, tile_of};
use crate::passes::ir_utils::{defining_op, replace_all_uses};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, region_with_block, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, TileOp};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// A tile of another shape whose threads hold other elements: they are gathered, each by the number that it has, or by its place in the whole. Nothing
/// uses the operation then.
pub(super) fn reshape_by_gather<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    [input, result]: [IrValue<'c>; 2],
) -> Result<(), Failed<'c>> {
    let (from, to) = (tile_of(op, input)?, tile_of(op, result)?);
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let places = to.with_elem(Elem::I32).ir(context);
    let word = ir.ty("i32");
    let offsets = match TileOp::Slice.is(op) {
        true => Some(offsets_of(op).map_err(|message| (op, message))?),
        false => None,
    };
    // One at least, for a map takes tiles.
    let long = (0..to.shape.len()).filter(|axis| to.shape[*axis] > 1 || to.size() == 1);
    let axes: Vec<usize> = long.collect();
    let along: Vec<IrValue<'c>> = axes
        .iter()
        .map(|axis| {
            let attrs = [("axis", ir.i32(*axis as i32))];
            ir.value(TileOp::Iota, &[], &attrs, places)
        })
        .collect();
    // The coordinate along an axis of the tile.
    let coordinate = |ir: &mut OpBuilder<'c>, axis: usize| {
        let arguments = vec![(word, ir.location); along.len()];
        let (region, block) = region_with_block(&arguments);
        let inside = {
            let mut ir = OpBuilder::new(context, Insertion::End(block));
            ir.location = op.location();
            ir
        };
        let binary = |op: ArithOp, one, by: i64| {
            let by = inside.constant(by, "i32");
            inside.value(op, &[one, by], &[], word)
        };
        let at = if let Some(offsets) = &offsets {
            let at = axes.iter().position(|of| *of == axis);
            let at = at.map_or_else(|| inside.constant(0, "i32"), |at| argument_of(block, at));
            binary(ArithOp::Addi, at, offsets[axis])
        } else if from.shape[axis] == 1 {
            inside.constant(0, "i32")
        } else {
            // By its number, the last axis the fastest.
            let mut number = inside.constant(0, "i32");
            for (at, axis) in axes.iter().enumerate() {
                let weight = to.shape[axis + 1..].iter().product();
                let part = binary(ArithOp::Muli, argument_of(block, at), weight);
                number = inside.value(ArithOp::Addi, &[number, part], &[], word);
            }
            let weight = from.shape[axis + 1..].iter().product();
            let at = binary(ArithOp::Divui, number, weight);
            binary(ArithOp::Remui, at, from.shape[axis])
        };
        inside.op(TileOp::Yield, &[at], &[], &[]);
        let map = ir.op_with_regions(TileOp::Map, &along, &[], &[places], vec![region]);
        result_of(map, 0)
    };
    let mut operands = vec![input];
    for axis in 0..from.shape.len() {
        operands.push(coordinate(&mut ir, axis));
    }
    let ty = result.r#type();
    let gathered = ir.value(TileOp::Gather, &operands, &[], ty);
    if let (Some(gather), Some(layout)) = (defining_op(gathered), &to.layout) {
        let neighbours = |axis| layout.neighbours(&to.shape, axis).unwrap_or(1);
        if let Some(vectors) = Vectors::of_tile(gather, neighbours) {
            vectors.say(gather, &ir);
        }
    }
    replace_all_uses(result, gathered);
    Ok(())
}
