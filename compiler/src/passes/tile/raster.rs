//! `tile-raster`: which tile a block computes, from its number.
//!
//! Before: `tile.grid` with the number of tiles along each axis, and `tile.index`. After: arithmetic on the
//! number of the block. With `tile.raster = w` on the function, tiles go down `w` rows before they go
//! to the next column: blocks that run at the same time share rows and columns, which L2 then holds. Where the program does not say it, so
//! do the tiles of a product by tensor cores of which one factor is that of their row and the other that of their column.
//!
//! A kernel whose blocks may load together (`multicast.rs`) stays as it is: `tile-specialize-warps` knows whether they do, and lowers
//! it by [`lower`], as `tile-select-atoms` does where nothing is loaded by tensor maps.
use super::coordinate::{Coordinate, multiple, number};
use super::issuable::read_only;
use super::known_ops::checked_ops;
use super::multicast;
use super::stay;
use super::types::{operand_of, tile_of};
use crate::passes::cmpi::{BELOW, cmpi};
use crate::passes::ir_utils::{
    collect_nested, defining_op, erase, for_each_kernel, replace_all_uses, set_attribute,
    set_operand,
};
use crate::passes::kernel_abi::blocks_of_tile;
use crate::passes::{Reported, remark, report};
use cutec_abi::counted;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of, value_key,
};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, TileOp, tile};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::tile::Precision;
use cutec_dialects::tile::cost_model::rows_of_raster;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// Marks the coordinate of an access that is that of the tile, or behind every tensor where a block has no tile.
pub(super) const OF_TILE: &str = "tile.of_tile";

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
    if function.attribute("tile.raster").is_err()
        && let Some((dot, rows)) = operations
            .iter()
            .find_map(|op| Some((*op, rows_of_product(*op)?)))
    {
        let ir = OpBuilder::new(context, Insertion::Before(dot));
        set_attribute(function, "tile.raster", ir.i32(rows));
        remark(
            dot.location(),
            format!(
                "blocks compute {} of tiles before they go to the next column, so that L2 holds their factors; `raster(n)` pins it",
                counted(rows, "row")
            ),
        );
    }
    if stay::asked(function, &operations) {
        return stay::stay(context, function, &operations);
    }
    if multicast::asked(function, target).is_some() {
        return Ok(());
    }
    let grid = lower(context, function, [1, 1])?;
    // Blocks of warpgroups may stay, and go through all tiles: `tile-select-atoms` knows.
    if !target.has(Feature::Wgmma) {
        grid.into_iter().for_each(erase);
    }
    Ok(())
}

/// How many rows of tiles blocks are to go down for a product of which tiles of the launch below each other have one factor in common, and those beside
/// each other the other one.
fn rows_of_product(op: IrOp) -> Option<i32> {
    let dot = tile::Dot::of(op)?;
    let shares = matches!(
        dot.factors().map(varies_along),
        [[true, false], [false, true]] | [[false, true], [true, false]]
    );
    let factor = tile_of(op, dot.a()).ok().filter(|_| shares)?.elem;
    let multiplied = Precision::of(&op).ok()?.multiplied_as(factor);
    i32::try_from(rows_of_raster(multiplied)?).ok()
}

/// Along which of the first two axes of the launch it differs what a value is computed of.
pub(super) fn varies_along(value: IrValue) -> [bool; 2] {
    let (mut open, mut seen, mut varies) = (vec![value], HashSet::new(), [false; 2]);
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value).filter(|_| seen.insert(value_key(value))) else {
            continue;
        };
        if TileOp::Index.is(op) {
            let axis = op.attribute("axis").ok().and_then(integer_value);
            let axis = axis.and_then(|axis| usize::try_from(axis).ok());
            if let Some(varies) = axis.and_then(|axis| varies.get_mut(axis)) {
                *varies = true;
            }
        }
        let mut all = vec![op];
        collect_nested(op, &mut all);
        open.extend(all.into_iter().flat_map(operands_of));
    }
    varies
}

/// Gives every block of a kernel its tile, and every cluster so many neighbouring ones along m and n; gives `tile.grid`, which counts those of
/// whole clusters then. A block whose tile is outside of the launch computes the last one, reads nothing of what
/// the kernel writes, and stores nothing.
pub(super) fn lower<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    cluster: [i64; 2],
) -> Result<Option<IrOp<'c>>, Reported> {
    let operations = checked_ops(function);
    let operations = operations.map_err(|(op, message)| report(op.location(), message))?;
    let named = |kind: TileOp| -> Vec<IrOp<'c>> {
        let ops = operations.iter().copied();
        ops.filter(|op| kind.is(*op)).collect()
    };
    let (grids, indices) = (named(TileOp::Grid), named(TileOp::Index));
    let grid = match (grids.as_slice(), indices.first()) {
        ([], None) => return Ok(None),
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
    let (counts, width) = (counts_of(grid), width_of(function));
    let word = ir.ty("i32");
    let block = ir.value(NvvmOp::ReadPtxSregCtaidX, &[], &[], word);
    let places = match (cluster, blocks_of_tile(function)) {
        ([1, 1], 1) => places(&ir, block, &counts, width),
        ([1, 1], blocks) => {
            let blocks = ir.constant(blocks, "i32");
            let cluster = ir.value(ArithOp::Divui, &[block, blocks], &[], word);
            places(&ir, cluster, &counts, width)
        }
        _ => {
            let (places, inside) = places_in_cluster(&ir, (grid, block), &counts, width, cluster);
            let is_read_only = read_only(function);
            for op in operations.iter().copied() {
                let moved = move_outside(&mut ir, op, inside, &is_read_only);
                moved.map_err(|message| report(op.location(), message))?;
            }
            places
        }
    };
    give(&indices, &places)?;
    Ok(Some(grid))
}

/// How many tiles there are along each axis of a `tile.grid`.
pub(super) fn counts_of<'c>(grid: IrOp<'c>) -> Vec<IrValue<'c>> {
    operands_of(grid).collect()
}

/// Rows of tiles that blocks go down before the next column, where the program says it.
fn width_of(function: IrOp) -> Option<i64> {
    let width = function.attribute("tile.raster").ok();
    width.and_then(integer_value)
}

/// Computes the place of a tile of this number, of so many, for all that asks for it. The number may be behind the last one, as that of what is loaded ahead;
/// in groups of rows the last one takes its place, for there is no group behind.
pub(super) fn give_places<'c>(
    ir: &OpBuilder<'c>,
    function: IrOp<'c>,
    grid: IrOp<'c>,
    (mut number, tiles): (IrValue<'c>, IrValue<'c>),
) -> Result<(), Reported> {
    let mut all = Vec::new();
    collect_nested(function, &mut all);
    all.retain(|op| TileOp::Index.is(*op));
    let width = width_of(function);
    if width.is_some_and(|width| width > 1) {
        let word = ir.ty("i32");
        let last = [tiles, ir.constant(1, "i32")];
        let last = ir.value(ArithOp::Subi, &last, &[], word);
        number = ir.value(ArithOp::Minui, &[number, last], &[], word);
    }
    give(&all, &places(ir, number, &counts_of(grid), width))
}

/// Puts the places of a tile where they are asked for.
fn give<'c>(indices: &[IrOp<'c>], places: &[IrValue<'c>]) -> Result<(), Reported> {
    for index in indices.iter().copied() {
        let axis = index.attribute("axis").ok().and_then(integer_value);
        let place = axis
            .and_then(|axis| usize::try_from(axis).ok())
            .and_then(|axis| places.get(axis));
        let Some(place) = place else {
            let message = format!("expects an axis of the grid, of {} axes", places.len());
            return Err(report(index.location(), message));
        };
        replace_all_uses(result_of(index, 0), *place);
        // SAFETY: nothing uses its result any more.
        unsafe { mlir_sys::mlirOperationDestroy(index.to_raw()) };
    }
    Ok(())
}

/// The place along each axis of the tile that a block of a cluster has, the last one where the launch has none there, and whether it has.
fn places_in_cluster<'c>(
    ir: &OpBuilder<'c>,
    (grid, block): (IrOp<'c>, IrValue<'c>),
    counts: &[IrValue<'c>],
    width: Option<i64>,
    cluster: [i64; 2],
) -> (Vec<IrValue<'c>>, IrValue<'c>) {
    let (word, bit) = (ir.ty("i32"), ir.ty("i1"));
    let op = |kind: ArithOp, a: IrValue<'c>, b: IrValue<'c>| ir.value(kind, &[a, b], &[], word);
    let number = |number: i64| ir.constant(number, "i32");
    let blocks = number(cluster.iter().product());
    let rank = op(ArithOp::Remui, block, blocks);
    let ranks = [
        op(ArithOp::Remui, rank, number(cluster[0])),
        op(ArithOp::Divui, rank, number(cluster[0])),
    ];
    let mut clusters = counts.to_vec();
    for (count, along) in clusters
        .iter_mut()
        .zip(cluster)
        .filter(|(_, along)| *along > 1)
    {
        let last = op(ArithOp::Addi, *count, number(along - 1));
        *count = op(ArithOp::Divui, last, number(along));
    }
    let width = width.map(|width| (width / cluster[0]).max(1));
    let mut places = places(ir, op(ArithOp::Divui, block, blocks), &clusters, width);
    let mut inside: Option<IrValue<'c>> = None;
    for (axis, along) in cluster.into_iter().enumerate().take(counts.len()) {
        if along == 1 {
            continue;
        }
        let first = op(ArithOp::Muli, places[axis], number(along));
        let place = op(ArithOp::Addi, first, ranks[axis]);
        let here = cmpi(ir, BELOW, place, counts[axis]);
        inside = Some(match inside {
            None => here,
            Some(inside) => ir.value(ArithOp::Andi, &[inside, here], &[], bit),
        });
        let last = op(ArithOp::Subi, counts[axis], number(1));
        places[axis] = op(ArithOp::Minui, place, last);
        set_operand(grid, axis, op(ArithOp::Muli, clusters[axis], number(along)));
    }
    let inside = inside.unwrap_or_else(|| ir.constant(1, "i1"));
    (places, inside)
}

/// What divides the offset behind the end that takes the place of zero, which everything divides.
const OF_ZERO: i64 = 1 << 16;

/// Gives a store, or a load of what the kernel writes, a coordinate behind the end of every tensor where a condition does not hold: nothing
/// is written or read there.
fn move_outside<'c>(
    ir: &mut OpBuilder<'c>,
    op: IrOp<'c>,
    inside: IrValue<'c>,
    is_read_only: &impl Fn(IrValue<'c>) -> bool,
) -> Result<(), String> {
    // The coordinate stands behind the view, and that behind what is stored.
    let (tile, first) = match (tile::Store::of(op), tile::Load::of(op)) {
        (Some(store), _) => (store.value(), 2),
        (None, Some(load)) if !is_read_only(load.view()) => (load.result(), 1),
        (None, _) => return Ok(()),
    };
    let at = Coordinate::of(op)?;
    let shape = tile_of(op, tile).map_err(|(_, message)| message)?.shape;
    let is_word = |axis: &usize| at.values[*axis].r#type().to_string() == "i32";
    let axis = (0..shape.len()).find(is_word).unwrap_or(0);
    let most = i64::from(i32::MAX);
    // What divides an offset still does.
    let (behind, divisor) = match at.is_offset(axis) {
        true => {
            let divisor = match at.divisor(axis) {
                0 => OF_ZERO,
                divisor => divisor,
            };
            (most - shape[axis] - (most - shape[axis]) % divisor, divisor)
        }
        false => (most / shape[axis] - 1, 1),
    };
    let around = std::mem::replace(&mut ir.insertion, Insertion::Before(op));
    let place = number(ir, at.values[axis]).map_err(|error| error.to_string())?;
    let ty = place.r#type();
    let behind = ir.constant_of(behind, ty);
    let marked = [(OF_TILE, ir.unit())];
    let place = ir.value(ArithOp::Select, &[inside, place, behind], &marked, ty);
    let place = multiple(ir, place, divisor).map_err(|error| error.to_string())?;
    ir.insertion = around;
    set_operand(op, first + axis, place);
    Ok(())
}

/// A coordinate of a tile, as it is where a block has that tile.
pub(super) fn of_tile(coordinate: IrValue) -> IrValue {
    let known = operand_of(coordinate, CuteOp::Assume, 0);
    let marked = defining_op(known.unwrap_or(coordinate));
    let marked = marked.filter(|op| op.attribute(OF_TILE).is_ok());
    let place = marked.and_then(|op| operands_of(op).nth(1));
    place.unwrap_or(coordinate)
}

/// The place along each axis of the tile of a block, or of a cluster, of this number.
fn places<'c>(
    ir: &OpBuilder<'c>,
    block: IrValue<'c>,
    counts: &[IrValue<'c>],
    width: Option<i64>,
) -> Vec<IrValue<'c>> {
    let i32_type = ir.ty("i32");
    let op = |kind: ArithOp, a: IrValue<'c>, b: IrValue<'c>| ir.value(kind, &[a, b], &[], i32_type);
    let (div, rem) = (ArithOp::Divui, ArithOp::Remui);
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
