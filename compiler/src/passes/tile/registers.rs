//! The registers that a thread needs for its tiles, and those that it has.
//!
//! After `tile-assign-layouts`. An estimate from liveness at tile level: at each loop, product and
//! reduction a thread holds the tiles that are live across it, what it carries or gives, and of operands of
//! products a block of k. Element-wise operations in between are computed piece by piece and count nothing, nor do
//! tiles of one number, coordinates and repeated tiles, which cost no registers of their own.
use super::gathers::GatheredTile;
use super::pingpong;
use super::roles::{Beside, Roles};
use super::stage_operands::HELD_REGISTERS;
use super::types::{
    Failed, adds_to, is_by_descriptor, is_of_each_thread, mma_of, present, reads_shared_memory,
};
use crate::passes::ir_utils::{block_of, blocks, collect_nested, parent, users, users_through};
use crate::passes::kernel_abi::min_blocks;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operation_key, result_of, results_of, value_key,
};
use cutec_dialects::ops::{Op, ScfOp, TileOp, tile};
use cutec_dialects::target::{Target, registers_of_thread};
use cutec_dialects::tile::{Precision, TileType};
use cutec_layout::tv::Operand;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Registers of each of the threads that compute, so many of which share a tile.
pub(super) fn of_thread(function: IrOp, threads: i64, target: &Target) -> i64 {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let by_descriptor =
        |op: &IrOp| TileOp::Dot.is(*op) && mma_of(*op).is_ok_and(|mma| reads_shared_memory(&mma));
    match operations.iter().any(by_descriptor) {
        true => {
            let dots = || operations.iter().copied().filter_map(tile::Dot::of);
            let gathers = dots()
                .flat_map(tile::Dot::factors)
                .any(|factor| matches!(GatheredTile::of(factor, function), Some(Ok(_))));
            let splits = dots().any(|dot| Precision::of(&dot.op()) == Ok(Precision::Tf32x3));
            let beside = match (gathers, splits) {
                (true, _) => Beside::Gathers,
                (false, true) => Beside::Splits,
                (false, false) => Beside::Nothing,
            };
            let multiplying = threads * pingpong::in_turn(function);
            Roles::of(multiplying, min_blocks(function), beside, target).registers
        }
        false => registers_of_thread(threads, min_blocks(function)),
    }
}

/// Bits of a register.
pub(super) const REGISTER_BITS: i64 = 32;

/// Registers for so many bits.
pub(super) fn for_bits(bits: i64) -> i64 {
    (bits + REGISTER_BITS - 1) / REGISTER_BITS
}

/// The most that is held at one place of a kernel.
pub(super) struct Peak<'c> {
    pub op: IrOp<'c>,
    /// Bits of what the operation carries, gives or multiplies, and of all tiles.
    pub own: i64,
    pub all: i64,
}

/// Where the most registers are held.
pub(super) fn peak<'c>(function: IrOp<'c>) -> Result<Option<Peak<'c>>, Failed<'c>> {
    peak_with(function, &[])
}

/// The same where these loads read a whole tile at once, before anything is computed of it.
pub(super) fn peak_with<'c>(
    function: IrOp<'c>,
    at_once: &[IrOp<'c>],
) -> Result<Option<Peak<'c>>, Failed<'c>> {
    let all = held(function, at_once)?.into_iter();
    // The first of those that hold the most.
    Ok(all.rev().max_by_key(|peak| peak.all))
}

/// What is held at each loop, product and reduction, in program order, and at the loads that read a whole tile at once.
pub(super) fn held<'c>(
    function: IrOp<'c>,
    at_once: &[IrOp<'c>],
) -> Result<Vec<Peak<'c>>, Failed<'c>> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let live = live(function, &operations, |_| true)?;
    let mut found = Vec::new();
    for (at, op) in operations.iter().enumerate() {
        let (own, others) = match Op::of(*op) {
            Some(Op::ScfOp(ScfOp::For | ScfOp::While)) => (results(*op)?, live.across[at]),
            Some(Op::TileOp(TileOp::Dot)) => {
                (results(*op)? + operand_blocks(*op)?, live.across[at])
            }
            Some(Op::TileOp(TileOp::Reduce)) if is_of_each_thread(*op) && is_only_carried(*op) => {
                continue;
            }
            // Its operand is read to the end; what it gives is small.
            Some(Op::TileOp(TileOp::Reduce | TileOp::Fold | TileOp::Scan)) => (live.at[at], 0),
            Some(Op::TileOp(TileOp::Load)) if at_once.contains(op) => {
                (results(*op)?, live.across[at])
            }
            _ => continue,
        };
        found.push(Peak {
            op: *op,
            own,
            all: own + others,
        });
    }
    Ok(found)
}

/// Where the most registers are held at a load, in a kernel without products, whose operands wait elsewhere: a tile is loaded as a whole. What
/// maps beside it in its block give is computed piece by piece once it is there.
pub(super) fn largest_load<'c>(function: IrOp<'c>) -> Result<Option<Peak<'c>>, Failed<'c>> {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    if operations.iter().any(|op| TileOp::Dot.is(*op)) {
        return Ok(None);
    }
    let mut largest: Option<Peak> = None;
    let mut known: Vec<(IrBlock, Live)> = Vec::new();
    for (at, op) in operations.iter().enumerate() {
        if !TileOp::Load.is(*op) {
            continue;
        }
        let block = block_of(*op);
        if known.iter().all(|(of, _)| *of != block) {
            let beside = |op: IrOp| TileOp::Map.is(op) && block_of(op) == block;
            known.push((block, live(function, &operations, |op| !beside(op))?));
        }
        let live = known.iter().find(|(of, _)| *of == block);
        let own = results(*op)?;
        let all = own + live.map_or(0, |(_, live)| live.across[at]);
        if largest.as_ref().is_none_or(|largest| largest.all < all) {
            largest = Some(Peak { op: *op, own, all });
        }
    }
    Ok(largest)
}

/// Bits of the tiles that are live in a thread, for each operation in program order.
struct Live {
    /// Before it and behind it.
    across: Vec<i64>,
    /// Before it, its operands included.
    at: Vec<i64>,
}

/// Which tiles are live where, of the results of operations that count.
///
/// A tile whose last user stands in a loop that does not contain its definition is live up to the end of the loop, so
/// an interval of operations says where a tile is live, loops between its ends included.
fn live<'c>(
    function: IrOp<'c>,
    operations: &[IrOp<'c>],
    counts: impl Fn(IrOp<'c>) -> bool,
) -> Result<Live, Failed<'c>> {
    let number: HashMap<usize, usize> = operations
        .iter()
        .enumerate()
        .map(|(at, op)| (operation_key(*op), at))
        .collect();
    let mut found = Vec::new();
    let mut gathered = HashMap::new();
    for (at, op) in operations.iter().enumerate() {
        let owned = owns_registers(*op) && counts(*op);
        let results = results_of(*op);
        for value in results.filter(|_| owned) {
            found.push((*op, at + inside_count(*op), value));
        }
        for block in (0..op.region_count()).flat_map(|region| blocks(*op, region)) {
            if !TileOp::Map.is(*op) {
                let arguments = 0..block.argument_count();
                found.extend(arguments.map(|index| (*op, at, argument_of(block, index))));
            }
        }
    }
    // What begins to be live at an operation, less what ends there.
    let mut across = vec![0; operations.len() + 3];
    let mut at = across.clone();
    for (op, first, value) in found {
        let elsewhere = is_staged(value) || is_of_gathers(value, &mut gathered);
        if TileType::of(value.r#type()).is_none() || elsewhere {
            continue;
        }
        let mut last = first;
        for user in users_through_aliases(value) {
            last = last.max(last_use(function, &number, user, first));
        }
        if first < last {
            let bits = bits(op, value)?;
            across[first + 1] += bits;
            across[last] -= bits;
            at[first + 1] += bits;
            at[last + 1] -= bits;
        }
    }
    let sums = |changes: Vec<i64>| {
        let running = changes.into_iter().scan(0, |held, change| {
            *held += change;
            Some(*held)
        });
        running.collect()
    };
    Ok(Live {
        across: sums(across),
        at: sums(at),
    })
}

/// The operation up to whose end a value that is defined at `first` is live for a user: the user itself, or the
/// outermost loop around it that does not contain the definition, which uses the value in each iteration.
fn last_use<'c>(
    function: IrOp<'c>,
    number: &HashMap<usize, usize>,
    user: IrOp<'c>,
    first: usize,
) -> usize {
    let at = |op: IrOp| number.get(&operation_key(op)).copied().unwrap_or(0);
    let mut last = at(user);
    let mut around = parent(user);
    while let Some(op) = around.filter(|op| *op != function && at(*op) > first) {
        if matches!(ScfOp::of(op), Some(ScfOp::For | ScfOp::While)) {
            last = at(op) + inside_count(op) + 1;
        }
        around = parent(op);
    }
    last
}

/// Whether a map is computed element by element on its way into one reduction.
fn is_reduced(op: IrOp) -> bool {
    TileOp::Map.is(op) && matches!(users(result_of(op, 0))[..], [user] if TileOp::Reduce.is(user))
}

/// Whether a loop carries what a reduction gives and nothing else takes it: its operand is computed piece by piece then.
fn is_only_carried(op: IrOp) -> bool {
    use TileOp::{Map, Reduce, Reshape};
    let passes_on = |user: IrOp| matches!(TileOp::of(user), Some(Reduce | Reshape | Map));
    let users = users_through(result_of(op, 0), passes_on);
    users
        .into_iter()
        .all(|user| passes_on(user) || ScfOp::Yield.is(user))
}

/// Operations that use a tile, or the same registers under another name.
fn users_through_aliases(value: IrValue<'_>) -> Vec<IrOp<'_>> {
    use TileOp::{Broadcast, Reshape, Transpose};
    users_through(value, |user| {
        matches!(TileOp::of(user), Some(Broadcast | Reshape | Transpose)) || is_reduced(user)
    })
}

/// Whether the results of an operation are registers of their own.
fn owns_registers(op: IrOp) -> bool {
    use TileOp::{Broadcast, Iota, Reshape, Splat, Transpose};
    let alias = matches!(
        TileOp::of(op),
        Some(Splat | Iota | Broadcast | Reshape | Transpose)
    );
    !alias && !is_reduced(op)
}

/// Whether a tile is only multiplied, as it is or spread anew: operands are read block by block of k.
fn is_staged(value: IrValue) -> bool {
    let all = users(value);
    let multiplied = |user: &IrOp| match TileOp::of(*user) {
        Some(TileOp::Dot) => !adds_to(*user, value),
        Some(TileOp::ConvertLayout) => {
            let converted = result_of(*user, 0);
            users(converted)
                .iter()
                .all(|dot| TileOp::Dot.is(*dot) && !adds_to(*dot, converted))
        }
        _ => false,
    };
    !all.is_empty() && all.iter().all(multiplied)
}

/// Whether a tile is only computed for operands that are gathered for descriptors: those that load compute it.
fn is_of_gathers<'c>(value: IrValue<'c>, known: &mut HashMap<usize, bool>) -> bool {
    if let Some(known) = known.get(&value_key(value)) {
        return *known;
    }
    let all = users(value);
    let found = !all.is_empty()
        && all.into_iter().all(|user| match TileOp::of(user) {
            Some(TileOp::Dot) => {
                let factors = tile::Dot::of(user).map(tile::Dot::factors);
                let mma = mma_of(user).ok();
                factors.zip(mma).is_some_and(|(factors, mma)| {
                    let sides = factors.into_iter().zip([Operand::A, Operand::B]);
                    !adds_to(user, value)
                        && sides
                            .filter(|(factor, _)| *factor == value)
                            .all(|(_, which)| is_by_descriptor(&mma, which))
                })
            }
            Some(TileOp::Map | TileOp::Broadcast | TileOp::Reshape | TileOp::ConvertLayout) => {
                is_of_gathers(result_of(user, 0), known)
            }
            _ => false,
        });
    known.insert(value_key(value), found);
    found
}

/// Registers of a block of k that are read while another one is multiplied: ptxas reads a larger one in parts.
const READ_AHEAD: i64 = 32;

/// Bits of the operands of a product in a thread: two blocks of k where one is read while the other is multiplied, three where
/// that one is split, or what is held of one that is computed.
fn operand_blocks(dot: IrOp) -> Result<i64, Failed> {
    let mut all = 0;
    let depth = match dot.attribute("mma") {
        Ok(_) => mma_of(dot)?.tiled.tile_size(2).as_static(),
        Err(_) => None,
    };
    let shared = match dot.attribute("mma") {
        Ok(_) => {
            let mma = mma_of(dot)?;
            [Operand::A, Operand::B].map(|which| is_by_descriptor(&mma, which))
        }
        Err(_) => [false; 2],
    };
    // Of what is split there are both parts, and the block behind; of warpgroups also sums that are still to be added.
    let held = match Precision::of(&dot).map_err(|message| (dot, message))? {
        Precision::Ieee | Precision::Tf32 => 2,
        Precision::Tf32x3 => 3,
    };
    if held == 3 && shared.contains(&true) {
        all += results(dot)?;
    }
    let factors = present(dot, tile::Dot::of(dot))?.factors();
    for (value, shared) in factors.into_iter().zip(shared) {
        if shared {
            continue;
        }
        let whole = bits(dot, value)?;
        let extent = match TileType::of(value.r#type()) {
            Some(Ok(tile)) => tile.shape.last().copied().unwrap_or(1),
            _ => 1,
        };
        let block = depth.map(|depth| whole * depth.min(extent) / extent.max(1));
        let blocks = block.map_or(whole, |block| {
            whole.min(block + (held - 1) * block.min(32 * READ_AHEAD))
        });
        all += blocks.max(whole.min(if is_loaded(value) {
            0
        } else {
            32 * HELD_REGISTERS
        }));
    }
    Ok(all)
}

/// Whether a tile is what a load gives, as it is or spread anew.
fn is_loaded(value: IrValue) -> bool {
    let mut at = value;
    while let Some(convert) = tile::ConvertLayout::defining(at) {
        at = convert.input();
    }
    tile::Load::defining(at).is_some()
}

/// How many operations are inside of one.
fn inside_count(op: IrOp) -> usize {
    let mut inside = Vec::new();
    collect_nested(op, &mut inside);
    inside.len()
}

/// Bits of all results of an operation in a thread.
fn results(op: IrOp<'_>) -> Result<i64, Failed<'_>> {
    let results = (0..op.result_count()).map(|index| bits(op, result_of(op, index)));
    results.sum()
}

/// Bits of a value that a thread holds; 0 where it is no tile.
fn bits<'c>(op: IrOp<'c>, value: IrValue<'c>) -> Result<i64, Failed<'c>> {
    match TileType::of(value.r#type()) {
        None => Ok(0),
        Some(Err(message)) => Err((op, message)),
        Some(Ok(tile)) => match &tile.layout {
            Some(layout) => Ok(layout.values() * tile.elem.bits()),
            None => Err((
                op,
                format!("{tile} has no layout; run tile-assign-layouts first"),
            )),
        },
    }
}
