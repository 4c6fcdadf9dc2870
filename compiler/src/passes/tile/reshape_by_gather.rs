//! A reshaped tile that threads cannot keep as they hold it: what `tile-assign-layouts` makes of its `tile.reshape`.
use super::types::{Failed, tile_of};
use crate::passes::ir_utils::{erase, replace_all_uses};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, region_with_block, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, TileOp, tile};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// A tile of another shape whose threads hold other elements: they are gathered, each by the number that it has.
pub(super) fn reshape_by_gather<'c>(
    context: &'c Context,
    op: IrOp<'c>,
    reshaping: tile::Reshaping<'c>,
) -> Result<(), Failed<'c>> {
    let (from, to) = (
        tile_of(op, reshaping.input())?,
        tile_of(op, reshaping.result())?,
    );
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let places = to.with_elem(Elem::I32).ir(context);
    let word = ir.ty("i32");
    let axes: Vec<usize> = (0..to.shape.len())
        .filter(|axis| to.shape[*axis] > 1)
        .collect();
    let along: Vec<IrValue<'c>> = axes
        .iter()
        .map(|axis| {
            let attrs = [("axis", ir.i32(*axis as i32))];
            ir.value(TileOp::Iota, &[], &attrs, places)
        })
        .collect();
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
    let add = |one, other| inside.value(ArithOp::Addi, &[one, other], &[], word);
    // The number of the element, the last axis the fastest, and the index that its coordinate has in the tile, of which the
    // first is.
    let mut number = inside.constant(0, "i32");
    for (at, axis) in axes.iter().enumerate() {
        let weight = to.shape[axis + 1..].iter().product();
        number = add(
            number,
            binary(ArithOp::Muli, argument_of(block, at), weight),
        );
    }
    let mut index = inside.constant(0, "i32");
    for axis in (0..from.shape.len()).filter(|axis| from.shape[*axis] > 1) {
        let weight = from.shape[axis + 1..].iter().product();
        let at = binary(ArithOp::Divui, number, weight);
        let at = binary(ArithOp::Remui, at, from.shape[axis]);
        let stride = from.shape[..axis].iter().product();
        index = add(index, binary(ArithOp::Muli, at, stride));
    }
    inside.op(TileOp::Yield, &[index], &[], &[]);
    let map = ir.op_with_regions(TileOp::Map, &along, &[], &[places], vec![region]);
    let operands = [reshaping.input(), result_of(map, 0)];
    let ty = reshaping.result().r#type();
    let gathered = ir.value(TileOp::Gather, &operands, &[], ty);
    replace_all_uses(reshaping.result(), gathered);
    erase(op);
    Ok(())
}
