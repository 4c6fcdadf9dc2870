//! Whether two warpgroups take turns with the tensor cores ("ping-pong"): each has every other tile of its block, and one
//! multiplies while the other computes and stores its results.
//!
//! `tile-select-atoms` decides: a product then has one warpgroup, and `tile.pingpong` of the function is the number of those that
//! take turns. Up to `tile-specialize-warps` the kernel is that of one of them; there it gets tiles by the number of the warpgroup.
use super::computed_operand::is_turned;
use super::gathers::GatheredTile;
use super::multicast;
use super::specialize_warps::{is_accumulated, pinned_to_stay};
use super::tensor_box::TensorBox;
use super::types::{Failed, tile_of};
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, operations, parent, set_attribute, users,
};
use crate::passes::kernel_abi::{blocks_of_tile, min_blocks};
use crate::passes::user_error::user_error;
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, argument_of, integer_value, operands_of, operation_key,
    result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{NvvmOp, Op, ScfOp, TileOp, tile};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::tile::cost_model::TilesInTurn;
use cutec_dialects::tile::{Precision, TileType};
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::HashSet;

/// The attribute of a kernel: how many warpgroups take turns.
const PINGPONG: &str = "tile.pingpong";
/// Those that do, where they do.
pub(super) const IN_TURN: i64 = 2;

/// How remarks say that they do.
const TURNS: &str = "two warpgroups take turns, each with every other tile of its block";

/// How many warpgroups take turns, each with tiles of its own; 1 where they do not.
pub(super) fn in_turn(function: IrOp) -> i64 {
    let count = function.attribute(PINGPONG).ok().and_then(integer_value);
    if count == Some(IN_TURN) { IN_TURN } else { 1 }
}

/// Who decides that warpgroups take turns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody.
    No,
    /// The program.
    Pinned,
    /// The cost model.
    Chosen,
}

/// What was decided, and why, as a remark says it.
pub(super) struct Decision {
    pub asked: Asked,
    pub reason: String,
}

impl Decision {
    fn not(why: &str) -> Self {
        Decision {
            asked: Asked::No,
            reason: format!("no two warpgroups take turns with tiles{why}"),
        }
    }

    /// That they were to, and cannot be chosen to, as a clause says.
    pub(super) fn cannot(why: &str) -> Self {
        Self::not(&format!(": {why}"))
    }
}

/// Decides for a kernel with these products, and has `tile.pingpong` say so.
///
/// # Errors
/// Why they cannot where the program says that they are to.
pub(super) fn decide<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    dots: &[IrOp<'c>],
    target: &Target,
) -> Result<Decision, Failed<'c>> {
    let pinned = function.attribute(PINGPONG).is_ok();
    if !target.has(Feature::Wgmma) {
        if pinned {
            set(context, function, 1);
        }
        return Ok(Decision::cannot("the target has no warpgroups"));
    }
    if pinned && in_turn(function) == 1 {
        return Ok(Decision::not(", as `pingpong(false)` says"));
    }
    let tiles = tiles_in_turn(function, dots);
    let against = match tiles {
        None => Some("the tiles of the products have other shapes".to_owned()),
        Some(tiles) => tiles.against(),
    };
    if let (false, Some(against)) = (pinned, &against) {
        let why = format!(", chosen: {against}; `pingpong()` lets them");
        return Ok(Decision::not(&why));
    }
    match (obstacle(function, dots, target), pinned) {
        (None, true) => Ok(Decision {
            asked: Asked::Pinned,
            reason: format!(
                "{TURNS}, as `pingpong()` says: one multiplies while the other computes and stores its results"
            ),
        }),
        (Some(reason), true) => Err((function, refused(&reason))),
        (None, false) => {
            set(context, function, IN_TURN);
            let why = tiles.map_or_else(String::new, |tiles| tiles.favour());
            Ok(Decision {
                asked: Asked::Chosen,
                reason: format!("{TURNS}, chosen: {why}; `pingpong(false)` lets them share each"),
            })
        }
        (Some(reason), false) => Ok(Decision::cannot(&reason)),
    }
}

/// Lets as many take turns.
pub(super) fn set<'c>(context: &'c Context, function: IrOp<'c>, count: i64) {
    let ir = OpBuilder::new(context, Insertion::Before(function));
    set_attribute(function, PINGPONG, ir.i32(count as i32));
}

/// The text of an error: the program says that warpgroups are to take turns, and they cannot.
pub(super) fn refused(reason: &str) -> String {
    let message = format!("no two warpgroups can take turns (`pingpong`): {reason}");
    user_error(codes::PINNED, message, "leave out `pingpong()`")
}

/// Why two warpgroups cannot take turns, as a clause.
fn obstacle<'c>(function: IrOp<'c>, dots: &[IrOp<'c>], target: &Target) -> Option<String> {
    if dots.is_empty() {
        return Some("there is no product".into());
    }
    if function.attribute("tile.queue").is_ok() {
        return Some("the tiles come from a queue".into());
    }
    if pinned_to_stay(function) == Some(false) {
        return Some("blocks have one tile each, as `persistent(false)` says".into());
    }
    if multicast::asked(function, target).is_some() || blocks_of_tile(function) > 1 {
        return Some("the blocks form clusters".into());
    }
    if abi_of(&function).is_some_and(|abi| abi.cooperative) {
        return Some("the launch is cooperative, and each block has one tile".into());
    }
    let mut inside = Vec::new();
    collect_nested(function, &mut inside);
    let counts = |op: &IrOp| matches!(TileOp::of(*op), Some(TileOp::Arrive | TileOp::GridBarrier));
    if inside.iter().any(counts) {
        return Some("the kernel counts its blocks".into());
    }
    let asks = |op: &IrOp| NvvmOp::ReadPtxSregCtaidX.is(*op) || TileOp::Index.is(*op);
    if !inside.iter().any(asks) {
        return Some("all tiles are the same one".into());
    }
    if loads_between(function, dots) {
        return Some("what is no operand is loaded between products".into());
    }
    dots.iter().find_map(|dot| obstacle_of(*dot, function))
}

/// Whether something else than operands is loaded between the first and the last of some products: it would come through their rings.
fn loads_between<'c>(function: IrOp<'c>, dots: &[IrOp<'c>]) -> bool {
    let Some(body) = blocks(function, 0).into_iter().next() else {
        return false;
    };
    let all = operations(body);
    let multiplies = |op: &IrOp<'c>| {
        let mut inside = vec![*op];
        collect_nested(*op, &mut inside);
        inside.iter().any(|op| dots.contains(op))
    };
    let (first, last) = (
        all.iter().position(multiplies),
        all.iter().rposition(multiplies),
    );
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    let is_other = |load: &IrOp<'c>| {
        let mut users = users(result_of(*load, 0)).into_iter();
        users.any(|user| !TileOp::Dot.is(user))
    };
    let mut between = all[first..=last].iter();
    between.any(|op| TileOp::Load.is(*op) && is_other(op))
}

/// The same of one product: how much is loaded for a tile has to be the same for each.
fn obstacle_of<'c>(dot: IrOp<'c>, function: IrOp<'c>) -> Option<String> {
    if Precision::of(&dot) == Ok(Precision::Tf32x3) {
        return Some("operands are split into parts of f32".into());
    }
    let factors = tile::Dot::of(dot)?.factors();
    if (factors.into_iter()).any(|factor| GatheredTile::of(factor, function).is_some()) {
        return Some("an operand is gathered".into());
    }
    let [of_a, of_b] = factors;
    let is_written = tile_of(dot, of_a).is_ok_and(|a| is_turned(of_a, &a));
    if tile::Load::defining(of_b).is_none() || is_written {
        return Some(
            "an operand is computed, and goes through shared memory that both would write".into(),
        );
    }
    let around = parent(dot)?;
    if around == function {
        return None;
    }
    if !ScfOp::For.is(around) || parent(around) != Some(function) {
        return Some("a product stands in a branch, or in a loop inside of another".into());
    }
    let adds = blocks(around, 0)
        .first()
        .is_some_and(|body| is_accumulated(dot, *body));
    if !adds {
        return Some("a loop does not only add up its products".into());
    }
    if around.attribute("unsignedCmp").is_ok() {
        return Some("a loop counts without sign".into());
    }
    let mut bounds = operands_of(around).take(3);
    (!bounds.all(is_of_launch))
        .then(|| "how many products a tile takes depends on the tile, or on memory".into())
}

/// Whether a number follows from the arguments of the kernel.
fn is_of_launch(value: IrValue) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value) else {
            // An argument of the kernel: loops stand in its body, and take no arguments of others.
            continue;
        };
        if !seen.insert(operation_key(op)) {
            continue;
        }
        let computes = match Op::of(op) {
            Some(Op::TileOp(_) | Op::NvvmOp(_)) => false,
            _ => op.region_count() == 0 && has_no_effect(op),
        };
        if !computes {
            return false;
        }
        open.extend(operands_of(op));
    }
    true
}

/// What the cost model has to know: the tiles of the products, what is held beside them, and how much is computed of an element behind them.
fn tiles_in_turn<'c>(function: IrOp<'c>, dots: &[IrOp<'c>]) -> Option<TilesInTurn> {
    let (mut extents, mut sums, mut computes) = ([0, 0], 0, false);
    for dot in dots {
        let tile = tile_of(*dot, result_of(*dot, 0)).ok()?;
        let &[m, n] = &tile.shape[..] else {
            return None;
        };
        if m * n > extents[0] * extents[1] {
            extents = [m, n];
        }
        let of = tile::Dot::of(*dot)?;
        if !continues(of) {
            sums += m * n;
        }
        let mut factors = of.factors().into_iter();
        computes |= factors.any(|factor| tile::Load::defining(factor).is_none());
    }
    let top = operations(blocks(function, 0).into_iter().next()?);
    let mut work = 0;
    for map in top.into_iter().filter(|op| TileOp::Map.is(*op)) {
        if whole(result_of(map, 0), extents).is_some() {
            let body = blocks(map, 0).into_iter().next()?;
            // All but the yield.
            work += operations(body).len() as i64 - 1;
        }
    }
    Some(TilesInTurn {
        extents,
        sums,
        operations: work,
        computes,
        by_maps: is_by_maps(function, extents),
        blocks: min_blocks(function),
    })
}

/// How many times as many registers the sums take at most where what is read beside them is large.
const LARGE: i64 = 4;

/// The elements of a tile as large as those of the products.
fn whole(value: IrValue, extents: [i64; 2]) -> Option<Elem> {
    let tile = TileType::of(value.r#type()).and_then(Result::ok)?;
    (tile.shape == extents).then_some(tile.elem)
}

/// Whether all tiles as large as those of the products that a kernel writes leave by tensor maps, and what it reads beside its operands is
/// one that can come through the buffers of its only result (`specialize_warps/residual.rs`).
fn is_by_maps<'c>(function: IrOp<'c>, extents: [i64; 2]) -> bool {
    let mut inside = Vec::new();
    collect_nested(function, &mut inside);
    let (mut read, mut written, mut turned) = (Vec::new(), Vec::new(), false);
    for op in inside {
        turned |= TileOp::Transpose.is(op) && whole(result_of(op, 0), extents).is_some();
        let load = tile::Load::of(op).map(tile::Load::result);
        // What something else takes as well is read from the stage of the product.
        let load = load.filter(|tile| !users(*tile).into_iter().all(|user| TileOp::Dot.is(user)));
        let store = tile::Store::of(op).filter(|store| store.atomic().is_none());
        let value = load.or(store.map(tile::Store::value));
        let Some(elem) = value.and_then(|value| whole(value, extents)) else {
            // For what is nearly as large beside the sums a thread has no registers.
            let words = load
                .and_then(|tile| TileType::of(tile.r#type())?.ok())
                .map(|tile| tile.size() * tile.elem.bits() / 32);
            if words.is_some_and(|words| LARGE * words >= extents[0] * extents[1]) {
                return false;
            }
            // What is added to memory or scattered is written by threads.
            if tile::written_view(op).is_some() && store.is_none() {
                return false;
            }
            continue;
        };
        let Some(tensor_box) = TensorBox::of(op, function, &extents)
            .ok()
            .filter(|_| parent(op) == Some(function))
        else {
            return false;
        };
        match load {
            Some(_) => read.push((op, elem, tensor_box.fast())),
            None => written.push((op, elem, tensor_box.fast())),
        }
    }
    match read[..] {
        [] => true,
        [(load, elem, fast)] => {
            let alike = |(_, of, along): &(IrOp, Elem, usize)| (*of, *along) == (elem, fast);
            let stored = written.iter().all(alike) && written.len() == 1;
            stored && !turned && becomes(load, written[0].0)
        }
        _ => false,
    }
}

/// Whether maps make of what is loaded what one operation stores, and nothing else.
fn becomes<'c>(load: IrOp<'c>, store: IrOp<'c>) -> bool {
    let mut open = vec![result_of(load, 0)];
    while let Some(value) = open.pop() {
        for user in users(value) {
            match TileOp::of(user) {
                Some(TileOp::Map) => open.push(result_of(user, 0)),
                _ if user == store => {}
                _ => return false,
            }
        }
    }
    true
}

/// Whether a product adds to the sums of another one, or of a loop in front.
fn continues<'c>(dot: tile::Dot<'c>) -> bool {
    let begun = match defining_op(dot.c()) {
        Some(_) => Some(dot.c()),
        None => parent(dot.op()).and_then(|of| {
            let body = blocks(of, 0).into_iter().next()?;
            let carried =
                (1..body.argument_count()).find(|index| argument_of(body, *index) == dot.c())?;
            // Behind the bounds and the step.
            operands_of(of).nth(3 + carried - 1)
        }),
    };
    let begun = begun.and_then(defining_op);
    begun.is_some_and(|op| ScfOp::For.is(op) || TileOp::Dot.is(op))
}
