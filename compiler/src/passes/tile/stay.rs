//! Blocks of a kernel without products that stay, as `persistent()` of its launch says: all that is computed of a tile is the body of a loop
//! over those of the launch, of which a block, or a cluster, takes every so manyth. So the next tile is loaded ahead as in any loop.
use super::raster::{counts_of, give_places};
use super::specialize_warps::pinned_to_stay;
use super::stages::DEPTH;
use crate::passes::Reported;
use crate::passes::ir_utils::{block_of, erase, move_before, operations};
use crate::passes::kernel_abi::{Launched, blocks_of_tile, set_launched};
use crate::passes::said::say;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, region_with_block,
};
use cutec_dialects::ops::{ArithOp, NvvmOp, ScfOp, TileOp};
use cutec_dialects::tile::CHOSEN_STAGES;
use melior::Context;
use melior::ir::operation::OperationLike;

/// Whether the blocks of a kernel are to go round so.
pub(super) fn asked(function: IrOp, all: &[IrOp]) -> bool {
    let in_turn = [TileOp::Dot, TileOp::GridBarrier];
    pinned_to_stay(function) == Some(true)
        && !all.iter().any(|op| in_turn.iter().any(|kind| kind.is(*op)))
}

/// Lets the blocks of a kernel go through the tiles that its `tile.grid` counts.
pub(super) fn stay<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    all: &[IrOp<'c>],
) -> Result<(), Reported> {
    let Some(grid) = all.iter().copied().find(|op| TileOp::Grid.is(*op)) else {
        return Ok(());
    };
    let text = "blocks stay and go through the tiles of the launch, as `persistent()` says: the next tile is loaded while one is computed";
    say(function.location(), text.into());
    let body = operations(block_of(grid));
    let behind = body.iter().copied().skip_while(|op| *op != grid).skip(1);
    let behind: Vec<IrOp<'c>> = behind.collect();
    let Some((end, computed)) = behind.split_last() else {
        return Ok(());
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(*end));
    ir.location = grid.location();
    let word = ir.ty("i32");
    let op = |kind: ArithOp, a: IrValue<'c>, b: IrValue<'c>| ir.value(kind, &[a, b], &[], word);
    let of_clusters = |blocks: NvvmOp| {
        let blocks = ir.value(blocks, &[], &[], word);
        op(
            ArithOp::Divui,
            blocks,
            ir.constant(blocks_of_tile(function), "i32"),
        )
    };
    let counts = counts_of(grid);
    let tiles = counts.iter().copied();
    let tiles = tiles.reduce(|tiles, count| op(ArithOp::Muli, tiles, count));
    let tiles = tiles.unwrap_or_else(|| ir.constant(1, "i32"));
    let bounds = [
        of_clusters(NvvmOp::ReadPtxSregCtaidX),
        tiles,
        of_clusters(NvvmOp::ReadPtxSregNctaidX),
    ];
    let (region, block) = region_with_block(&[(word, grid.location())]);
    let depth = [(DEPTH, ir.i32(CHOSEN_STAGES as i32))];
    ir.op_with_regions(ScfOp::For, &bounds, &depth, &[], vec![region]);
    ir.insertion = Insertion::End(block);
    let last = ir.op(ScfOp::Yield, &[], &[], &[]);
    for op in computed {
        move_before(*op, last);
    }
    if let Some(first) = computed.first() {
        ir.insertion = Insertion::Before(*first);
    }
    give_places(&ir, function, grid, (argument_of(block, 0), tiles))?;
    erase(grid);
    set_launched(context, function, Launched::Persistent)
}
