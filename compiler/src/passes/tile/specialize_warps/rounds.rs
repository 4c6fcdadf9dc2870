//! Whether the blocks of a launch stay and go through its tiles, or have one each.
//!
//! A block that stays takes every so manyth tile, or the next one of a queue, and loads the operands of a tile while the results of the one
//! before are stored. Where tiles take different work and there is no queue, some blocks that stay end long after the others; of blocks with
//! one tile each a multiprocessor begins the next when one ends. `persistent(…)` of a launch pins it, as `tile.persistent`.
use super::emit::Emit;
use crate::passes::ir_utils::{collect_nested, constant_of, defining_op, first_of_block, parent};
use crate::passes::said::say;
use crate::passes::tile::pingpong::in_turn;
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{IrOp, IrValue, operands_of, value_key};
use cutec_dialects::ops::{ArithOp, CuteOp, NvvmOp, ScfOp, TileOp, tile};
use melior::ir::attribute::BoolAttribute;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// The attribute of a kernel: whether its blocks stay.
const PERSISTENT: &str = "tile.persistent";

/// The tiles that the blocks of a launch go through, one after the other.
pub(super) struct Rounds<'c> {
    /// How many there are along each axis.
    counts: Vec<IrValue<'c>>,
    /// The number of the block, of which the tile follows.
    pub block: IrOp<'c>,
}

impl<'c> Rounds<'c> {
    /// Of a kernel with these operations, `top` those of its body; `None` where each block has one tile.
    pub fn of(
        function: IrOp<'c>,
        all: &[IrOp<'c>],
        top: &[IrOp<'c>],
        of_queue: bool,
    ) -> Option<Self> {
        let grid = top.iter().copied().find_map(tile::Grid::of)?;
        let mut blocks = all
            .iter()
            .copied()
            .filter(|op| NvvmOp::ReadPtxSregCtaidX.is(*op));
        let block = blocks.next().filter(|block| top.contains(block))?;
        let known = blocks.next().is_none();
        // Blocks that wait for each other have one tile each.
        let cooperative = abi_of(&function).is_some_and(|abi| abi.cooperative);
        if cooperative {
            say(
                function.location(),
                "each block has one tile: the launch is cooperative".into(),
            );
        }
        (known && !cooperative && stay(function, all, block, of_queue)).then(|| Rounds {
            counts: grid.counts(),
            block,
        })
    }

    /// How many there are.
    pub fn count(&self, emit: &Emit<'c>) -> IrValue<'c> {
        let counts = self.counts.iter().copied();
        let all = counts.reduce(|all, count| emit.binary(ArithOp::Muli, all, count));
        all.unwrap_or_else(|| emit.ir.constant(1, "i32"))
    }
}

/// Whether the blocks of a kernel stay, where its launch says so.
pub(in crate::passes::tile) fn pinned_to_stay(function: IrOp) -> Option<bool> {
    let pinned = BoolAttribute::try_from(function.attribute(PERSISTENT).ok()?);
    pinned.ok().map(|pinned| pinned.value())
}

/// Whether blocks stay: what the launch says, or where the work of a tile is not seen to depend on which it is.
fn stay(function: IrOp, all: &[IrOp], block: IrOp, of_queue: bool) -> bool {
    let chosen = |text: &str| say(function.location(), text.into());
    if let Some(pinned) = pinned_to_stay(function) {
        chosen(match pinned {
            true => "blocks stay and go through the tiles of the launch, as `persistent()` says",
            false => "each block has one tile, as `persistent(false)` says",
        });
        return pinned;
    }
    if of_queue {
        chosen("blocks stay and take tiles from the queue that `queue(…)` names");
        return true;
    }
    if in_turn(function) > 1 {
        chosen("blocks stay and go through the tiles of the launch: their warpgroups take turns");
        return true;
    }
    let Some(uneven) = all.iter().find(|op| is_uneven(**op, block)) else {
        chosen(
            "blocks stay and go through the tiles of the launch, chosen: tiles have as many rounds each, and the next one's operands are loaded \
             while the results of one are stored; `persistent(false)` gives each block one",
        );
        return true;
    };
    let chosen = "how many rounds depends on the tile: each block has one tile, so that a multiprocessor begins the next when one ends; \
                  `queue(…)` of the launch, and the longest tiles first, keep blocks that stay even";
    say(uneven.location(), chosen.into());
    false
}

/// Whether how often a loop runs differs with the tile, or whether products in a branch are computed at all. A loop is taken to be as often for each where both ends move with it, as in slices of k
/// or a window, unless memory says where they are, and where it begins at one of the first steps, as in slices that take every so manyth.
fn is_uneven(op: IrOp, block: IrOp) -> bool {
    if ScfOp::If.is(op) {
        let mut inside = Vec::new();
        collect_nested(op, &mut inside);
        let decides = operands_of(op).next().map(|on| Dependence::of(on, block));
        let multiplies = inside.iter().any(|op| TileOp::Dot.is(*op));
        return multiplies && decides.is_some_and(|on| on.on_tile);
    }
    let mut ends = operands_of(op);
    let (true, Some(first), Some(end), Some(step)) =
        (ScfOp::For.is(op), ends.next(), ends.next(), ends.next())
    else {
        return false;
    };
    let [first, end] = [first, end].map(|end| Dependence::of(end, block));
    if first.by_memory || end.by_memory {
        return true;
    }
    match (first.on_tile, end.on_tile) {
        (true, false) => constant_of(step) == Some(1),
        (first, end) => first != end,
    }
}

/// What an integer follows from, of the tile that a block computes.
#[derive(Default)]
struct Dependence {
    on_tile: bool,
    /// What memory has for the tile.
    by_memory: bool,
}

impl Dependence {
    /// In a kernel where this operation gives the number of the block.
    fn of<'c>(value: IrValue<'c>, block: IrOp<'c>) -> Self {
        let mut found = Dependence::default();
        let (mut open, mut seen) = (vec![(value, false)], HashSet::new());
        while let Some((value, loaded)) = open.pop() {
            if !seen.insert((value_key(value), loaded)) {
                continue;
            }
            let Some(op) = defining_op(value) else {
                // Of a number that a loop counts, its ends.
                let around = first_of_block(value).and_then(parent);
                let ends = around.into_iter().flat_map(|of| operands_of(of).take(3));
                open.extend(ends.map(|end| (end, loaded)));
                continue;
            };
            found.on_tile |= op == block;
            found.by_memory |= op == block && loaded;
            let loaded = loaded || CuteOp::MemrefLoad.is(op) || TileOp::Load.is(op);
            // How large a slice is does not depend on where it is.
            let followed = match CuteOp::Slice.is(op) && !loaded {
                true => 1,
                false => usize::MAX,
            };
            open.extend(operands_of(op).take(followed).map(|of| (of, loaded)));
            // What stands in a branch gives its results.
            let mut inside = Vec::new();
            collect_nested(op, &mut inside);
            open.extend(
                inside
                    .into_iter()
                    .flat_map(operands_of)
                    .map(|of| (of, loaded)),
            );
        }
        found
    }
}
