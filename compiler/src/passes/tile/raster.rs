//! `tile-raster`: which tile a block computes, from its number.
//!
//! Before: `tile.grid` with the number of tiles along each axis, and `tile.index`. After: arithmetic on the
//! number of the block. With `tile.raster = w` on the function, tiles go down `w` rows before they go
//! to the next column: blocks that run at the same time share rows and columns, which L2 then holds.
use super::known_ops::checked_ops;
use crate::passes::ir_utils::{erase, for_each_kernel, replace_all_uses};
use crate::passes::kernel_abi::cluster_size;
use crate::passes::{Reported, report};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of,
};
use cutec_dialects::ops::{ArithOp, NvvmOp, TileOp};
use cutec_dialects::target::{Feature, Target};
use melior::Context;
use melior::ir::operation::OperationLike;

/// Gives every block of every kernel its tile.
pub fn raster<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        function_of(kernel.context, kernel.function, &kernel.target)
    })
}

fn function_of<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    target: &Target,
) -> Result<(), Reported> {
    let operations = checked_ops(function);
    let operations = operations.map_err(|(op, message)| report(op.location(), message))?;
    let named = |kind: TileOp| -> Vec<IrOp<'c>> {
        let ops = operations.iter().copied();
        ops.filter(|op| kind.is(*op)).collect()
    };
    let (grids, indices) = (named(TileOp::Grid), named(TileOp::Index));
    let grid = match (grids.as_slice(), indices.first()) {
        ([], None) => return Ok(()),
        ([grid], _) => *grid,
        ([], Some(index)) => {
            let message = "needs one tile.grid before it, which says how many tiles there are";
            return Err(report(index.location(), message));
        }
        ([_, second, ..], _) => {
            return Err(report(second.location(), "is the second of its function"));
        }
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(grid));
    ir.location = grid.location();
    let counts: Vec<IrValue<'c>> = operands_of(grid).collect();
    let width = function
        .attribute("tile.raster")
        .ok()
        .and_then(integer_value);
    let places = places(&ir, &counts, width, cluster_size(function));
    for index in indices {
        let axis = index.attribute("axis").ok().and_then(integer_value);
        let place = axis
            .and_then(|axis| usize::try_from(axis).ok())
            .and_then(|axis| places.get(axis));
        let Some(place) = place else {
            let message = format!("expects an axis of the grid, of {} axes", counts.len());
            return Err(report(index.location(), message));
        };
        replace_all_uses(result_of(index, 0), *place);
        // SAFETY: nothing uses its result any more.
        unsafe { mlir_sys::mlirOperationDestroy(index.to_raw()) };
    }
    // Blocks of warpgroups may stay, and go through all tiles: `tile-select-atoms` knows.
    if !target.has(Feature::Wgmma) {
        erase(grid);
    }
    Ok(())
}

/// The place along each axis of the tile that a block has, or a cluster of so many.
fn places<'c>(
    ir: &OpBuilder<'c>,
    counts: &[IrValue<'c>],
    width: Option<i64>,
    cluster: i64,
) -> Vec<IrValue<'c>> {
    let i32_type = ir.ty("i32");
    let op = |kind: ArithOp, a: IrValue<'c>, b: IrValue<'c>| ir.value(kind, &[a, b], &[], i32_type);
    let (div, rem) = (ArithOp::Divui, ArithOp::Remui);
    let block = ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], i32_type);
    let block = match cluster {
        1 => block,
        _ => op(div, block, ir.constant(cluster, "i32")),
    };
    let [rows, columns, rest @ ..] = counts else {
        return vec![block];
    };
    let (plane, mut places) = match rest {
        [] => (block, Vec::new()),
        _ => {
            let size = op(ArithOp::Muli, *rows, *columns);
            let plane = op(rem, block, size);
            let mut left = op(div, block, size);
            let mut places = Vec::new();
            for count in &rest[..rest.len() - 1] {
                places.push(op(rem, left, *count));
                left = op(div, left, *count);
            }
            places.push(left);
            (plane, places)
        }
    };
    let (row, column) = match width.filter(|width| *width > 1) {
        None => (op(rem, plane, *rows), op(div, plane, *rows)),
        Some(width) => {
            let width = ir.constant(width, "i32");
            let whole = op(ArithOp::Muli, width, *columns);
            let first = op(ArithOp::Muli, op(div, plane, whole), width);
            let height = op(ArithOp::Minui, op(ArithOp::Subi, *rows, first), width);
            let inside = op(rem, plane, whole);
            let row = op(ArithOp::Addi, first, op(rem, inside, height));
            (row, op(div, inside, height))
        }
    };
    places.splice(0..0, [row, column]);
    places
}
