//! `tile-specialize-warps`: one warp loads, warpgroups multiply.
//!
//! Before: a kernel of products by `wgmma`, whose operands `tile.copy_async` brings by tensor maps to buffers of one stage,
//! each waited for where it is multiplied. After: the kernel is two roles. A further warp, of which one thread works, has
//! the control flow around the copies and begins them; the other warps have everything else. Where something is gathered
//! (`gather.rs`), it is a warpgroup, all of whose threads copy. What is loaded for one
//! product, or for several that share a factor, is a ring: its stages, and for each a barrier that counts the bytes which arrive and one that counts the warpgroups
//! which have read it. So the loads of a kernel are as far ahead of its products as its rings are deep, over all its
//! loops.
//!
//! Blocks of a cluster may load together what their tiles have in common (`multicast.rs`): then a stage is filled by all of them, and
//! released in all of them.
//!
//! Where two warpgroups take turns (`turns.rs`), what multiplies is the role of each, with every other tile of the block.
//!
//! A product is under way when the next operation runs. Where a loop adds up products of what is loaded, one round of
//! them is left under way, and the stages of the round before are released. Where the last product of a loop takes what is computed
//! of the others, as in an attention, these are begun a round ahead, beside it (`chain/`). Each other product is waited for at once, but
//! for what is read and computed of few elements next.
mod chain;
mod cluster;
mod columns;
mod consumers;
mod cursor;
mod elements;
mod emit;
mod epilogue;
mod gather;
mod groups;
mod producer;
mod queue;
mod residual;
mod results;
mod ring;
mod rounds;
mod rows;
mod split;
mod turns;
mod vectors;

use super::emits::Emits;
use super::epilogue_load::EpilogueLoad;
use super::gathers::GATHERED;
use super::known_ops::checked_ops;
use super::multicast::{Multicast, UNSHARED, asked};
use super::pingpong::{in_turn, refused};
use super::raster::lower;
use super::roles::{Beside, Roles};
use super::types::Failed;
use crate::passes::cmpi::AT_LEAST;
use crate::passes::ir_utils::{
    blocks, defining_op, erase, for_each_kernel, function_block_size, is_in_block, move_before,
    operations, parent, replace_all_uses, set_attribute,
};
use crate::passes::kernel_abi::{
    Launched, MULTICAST, add_tensor_map, min_blocks, set_block_size, set_clusters, set_launched,
};
use crate::passes::said::say;
use crate::passes::user_error::of_semantics;
use crate::passes::{Reported, report};
use chain::Chain;
use cluster::Cluster;
use cutec_dialects::abi::abi_of;
use cutec_dialects::atoms::TmaAtom;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, OpBuilder, operands_of, operation_key, region_with_block, result_of,
};
use cutec_dialects::ir::{has_no_effect, type_attribute};
use cutec_dialects::ops::{CuteOp, NvvmOp, ScfOp, TileOp};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{Target, WARP, WARPGROUP};
use cutec_dialects::tile::Precision;
use cutec_dialects::value::Val;
use emit::Emit;
use epilogue::PiecewiseLoad;
use melior::Context;
use melior::ir::operation::OperationLike;
use producer::Work;
use queue::TileQueue;
use residual::Residual;
use results::{StoredResult, Threads};
use ring::{By, Ring};
use rounds::Rounds;
use rows::Rows;
use std::collections::HashSet;
use std::sync::Arc;
use turns::{Fills, Turns};

pub(super) use consumers::{IN_PLACE, is_accumulated};
pub(super) use queue::COUNTED;
pub(super) use rounds::pinned_to_stay;

/// The attribute of the branch between the roles: how many threads of the second one share a tile.
pub(super) const CONSUMERS: &str = "tile.consumers";

/// What `griddepcontrol` does (PTX ISA): waits for the launches ahead, lets the next one begin.
const WAIT: &str = "#nvvm<grid_dep_action wait>";
const LAUNCH: &str = "#nvvm<grid_dep_action launch_dependents>";

/// Gives every kernel of the module that loads by tensor maps its roles.
pub fn specialize_warps<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        of_function(kernel.context, kernel.function, &kernel.target)
    })
}

/// The copy by a tensor map that an operation begins.
pub(super) fn map_copy(op: IrOp) -> Option<Arc<TmaAtom>> {
    match TileOp::CopyAsync
        .is(op)
        .then(|| type_attribute(op, "copy"))??
    {
        Ok(Val::TmaAtom(atom)) => Some(atom),
        _ => None,
    }
}

fn of_function<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    target: &Target,
) -> Result<(), Reported> {
    let failed = |(op, message): Failed| report(op.location(), message);
    let multicast = clusters(context, function, target)?;
    let all = checked_ops(function).map_err(failed)?;
    let loads = |op: &IrOp| map_copy(*op).is_some() || op.attribute(GATHERED).is_ok();
    if !all.iter().any(loads) {
        return Ok(());
    }
    let illegal = |error: SemError| report(function.location(), of_semantics(&error));
    let (Some(threads), Some(body)) = (
        function_block_size(function),
        blocks(function, 0).into_iter().next(),
    ) else {
        return Err(report(function.location(), "has no threads yet"));
    };
    let mut top = operations(body);
    let Some(end) = top.pop() else {
        return Err(report(function.location(), "has no end"));
    };
    let mut results = StoredResult::all(function, &all, (threads, target));
    let mut residual = Residual::of(function, &all, &results).map_err(illegal)?;
    let reserved = StoredResult::bytes(&results);
    // Blocks that wait for each other are no launch that begins early.
    let cooperative = abi_of(&function).is_some_and(|abi| abi.cooperative);
    // More threads than the one that begins copies would need the number of what is gathered or split, and all blocks of a cluster: these
    // take every so manyth tile.
    let by_one_thread = multicast.blocks() == 1 && !all.iter().any(|op| is_by_others(*op));
    let counter = queue::counter(function).filter(|_| by_one_thread);
    let rounds = Rounds::of(function, &all, &top, counter.is_some());
    let mut rings = Ring::all(
        function,
        &all,
        target,
        reserved,
        rounds.is_some(),
        &multicast,
    )
    .map_err(failed)?;
    let mut epilogue = PiecewiseLoad::all(EpilogueLoad::all(function, target), &rings);
    let by_map: Vec<IrOp<'c>> = epilogue
        .iter()
        .map(PiecewiseLoad::load)
        .chain(residual.iter().map(|residual| residual.load))
        .collect();
    let rows = Rows::of(&all, &by_map, &results, threads).map_err(illegal)?;
    let by_rows = rows.as_ref().map(Rows::load);
    StoredResult::see_loads(&mut results, &all, &by_map, by_rows);
    let dots: Vec<IrOp<'c>> = all.into_iter().filter(|op| TileOp::Dot.is(*op)).collect();
    // Those that share a tile, and all threads that multiply.
    let warpgroups = threads / WARPGROUP;
    let multiplying = threads * in_turn(function);
    let mut ir = OpBuilder::new(context, Insertion::Before(end));
    ir.location = function.location();
    let mut emit = Emit { ir };
    for ring in rings.extract_if(.., |ring| ring.has_no_room()) {
        ring.load_by_threads(&mut emit.ir).map_err(failed)?;
    }
    // Without the buffers of these.
    let mut top = operations(body);
    top.pop();
    emit.before(end);
    emit.ir.location = function.location();
    for ring in &mut rings {
        ring.widen(&emit.ir)
            .map_err(|message| report(function.location(), message))?;
    }

    // What both roles compute of the arguments stands in front of them.
    let mut shared: HashSet<usize> = HashSet::new();
    for op in &top {
        let known = operands_of(*op).all(|operand| {
            let defining = defining_op(operand);
            defining.is_none_or(|op| shared.contains(&operation_key(op)))
        });
        let of_tile = rounds.as_ref().is_some_and(|rounds| rounds.block == *op);
        if known && !of_tile && is_shared(*op) {
            shared.insert(operation_key(*op));
        }
    }

    let impossible = |reason: &str| report(function.location(), refused(reason));
    let fills = match (in_turn(function), &rounds) {
        (1, _) => None,
        (_, None) => return Err(impossible("blocks have one tile each")),
        (_, Some(_)) => {
            let is_shared = |op: IrOp| shared.contains(&operation_key(op));
            let fills = Fills::all(&rings, body, is_shared);
            Some(fills.map_err(|reason| impossible(&reason))?)
        }
    };

    // The barriers, and the maps.
    let begin = emit.ir.constant(0, "i32");
    let begin = defining_op(begin);
    let alone = rings.len() == 1;
    let word = emit.ir.ty("i32");
    let thread = emit.ir.value(NvvmOp::ReadPtxSregTidX, &[], &[], word);
    let cluster = (multicast.blocks() > 1).then(|| Cluster::of(&emit, thread, multicast.extents));
    for ring in &mut rings {
        for copy in &mut ring.copies {
            let is_rounded = copy.is_multiplied_as_tf32();
            let By::Map(by) = &mut copy.by else { continue };
            let mut map = by.tensor_box.map(&by.atom);
            map.tf32 = is_rounded;
            let parameter = add_tensor_map(context, function, map)?;
            let ty = emit.ir.val_type(&Val::TmaAtom(by.atom.clone()));
            by.made = Some(emit.ir.value(CuteOp::MakeTmaAtom, &[parameter], &[], ty));
            by.allocate(&emit, copy.buffer, cluster.as_ref())
                .map_err(illegal)?;
        }
        ring.allocate(&emit, alone, cluster.as_ref());
    }
    for load in &mut epilogue {
        let parameter = add_tensor_map(context, function, load.map())?;
        load.allocate(&emit, &rings, parameter).map_err(illegal)?;
    }
    for number in 0..results.len() {
        let (before, here) = results.split_at_mut(number);
        let result = &mut here[0];
        let map = result.map();
        let parameter = map.map(|map| add_tensor_map(context, function, map));
        let parameter = parameter.transpose()?;
        result.allocate(&emit, parameter, before).map_err(illegal)?;
    }
    if let (Some(residual), Some(result)) = (&mut residual, results.first()) {
        let parameter = add_tensor_map(context, function, residual.map())?;
        residual
            .allocate(&emit, result, parameter)
            .map_err(illegal)?;
    }
    let gathers = rings.iter().any(Ring::is_gathered);
    let splits = rings.iter().any(Ring::is_split);
    let queue = counter
        .filter(|_| rounds.is_some())
        .map(|counter| TileQueue::allocate(&emit, counter));
    // Those of a warp of their own are behind the others, and it brings some of the last of these.
    let behind = |is_behind: fn(&Ring<'c>) -> bool| {
        let first = rings.iter().position(is_behind);
        first.unwrap_or(rings.len())
    };
    let of_products = &rings[..behind(|ring| ring.beside)];
    let carried = &rings[behind(|ring| ring.beside || ring.is_carried())..];
    let first = emit.equal(thread, 0);
    emit.only_if(first, |emit| {
        for ring in &rings {
            for map in ring.copies.iter().filter_map(|copy| copy.map()) {
                emit.ir.op(CuteOp::PrefetchTmaDesc, &map.made()?, &[], &[]);
            }
        }
        rings
            .iter()
            .try_for_each(|ring| ring.init(emit, warpgroups))?;
        let told = threads / WARP + i64::from(!carried.is_empty());
        (queue.iter()).try_for_each(|queue| queue.init(emit, told))?;
        (residual.iter()).try_for_each(|residual| residual.init(emit))?;
        emit.ir.op(NvvmOp::FenceMbarrierInit, &[], &[], &[]);
        Ok(())
    })
    .map_err(illegal)?;
    match cluster.is_some() {
        false => {
            emit.ir.op(NvvmOp::Barrier0, &[], &[], &[]);
        }
        true => cluster::begin(&emit),
    }
    let warp = emit.warp(thread);
    let loader = emit.equal(warp, multiplying / WARP);
    let blocks_beside = min_blocks(function).max(1);
    let possible = !cooperative && !gathers && !splits;
    let mut fetched = rings.iter().map(|ring| ring.rounds_fetched(blocks_beside));
    if possible && fetched.any(|rounds| rounds > 0) {
        let tiles = rounds.as_ref().map(|rounds| producer::Tiles {
            block: rounds.block,
            count: thread,
            queue: None,
        });
        emit.only_if(loader, |emit| {
            let work = Work::Fetch(blocks_beside);
            producer::role(emit, work, of_products, body, &shared, tiles, thread)
        })
        .map_err(illegal)?;
    }
    // What came before runs beside the end of the launch ahead.
    for action in [WAIT, LAUNCH] {
        let kind = [("kind", emit.ir.attr(action))];
        emit.ir.op(NvvmOp::Griddepcontrol, &[], &kind, &[]);
    }
    if !cooperative {
        set_launched(context, function, Launched::Overlapping)?;
    }

    // The roles: a warp behind the others loads.
    let beside = match (gathers, splits) {
        (true, _) => Beside::Gathers,
        (false, true) => Beside::Splits,
        (false, false) if !carried.is_empty() => Beside::Carries,
        (false, false) => Beside::Nothing,
    };
    let roles = Roles::of(multiplying, min_blocks(function), beside, target);
    if let (true, Some(product)) = (roles.none_left, dots.first()) {
        let (own, wanted) = (roles.registers, roles.of_loading);
        let why = format!(
            "each thread keeps its {own} registers: those that load need {wanted}, which leaves none for those that multiply"
        );
        say(product.location(), why);
    }
    let loads = match roles.loading > WARP {
        true => emit.compare(AT_LEAST, warp, emit.ir.constant(multiplying / WARP, "i32")),
        false => loader,
    };
    let leads = emit.leads(thread);
    let tiles = rounds
        .as_ref()
        .map(|rounds| (rounds.block, rounds.count(&emit)));
    let (loading, loading_block) = region_with_block(&[]);
    let (rest, rest_block) = region_with_block(&[]);
    let around = std::mem::replace(&mut emit.ir.insertion, Insertion::End(loading_block));
    let tiles_of = || {
        tiles.map(|(block, count)| producer::Tiles {
            block,
            count,
            queue: queue.as_ref(),
        })
    };
    let chains = Chain::all(&rings, warpgroups, roles.registers);
    let load = |emit: &mut Emit<'c>| {
        let work = Work::Load(&epilogue, &chains);
        producer::role(emit, work, of_products, body, &shared, tiles_of(), thread)
    };
    if roles.handed_over {
        emit.set_registers(false, roles.of_loading);
    }
    if roles.loading > WARP && !gathers {
        emit.only_if(loader, load)
    } else {
        load(&mut emit)
    }
    .map_err(illegal)?;
    if splits {
        let first = emit.ir.constant((threads + split::FIRST) / WARP, "i32");
        let splitting = emit.compare(AT_LEAST, warp, first);
        let split = |emit: &mut Emit<'c>| {
            producer::role(
                emit,
                Work::Split,
                of_products,
                body,
                &shared,
                tiles_of(),
                thread,
            )
        };
        emit.only_if(splitting, split).map_err(illegal)?;
    }
    if !carried.is_empty() {
        let carrying = emit.equal(warp, multiplying / WARP + 1);
        let carry = |emit: &mut Emit<'c>| {
            producer::role(
                emit,
                Work::Carry,
                carried,
                body,
                &shared,
                tiles_of(),
                thread,
            )
        };
        emit.only_if(carrying, carry).map_err(illegal)?;
    }
    emit.ir.op(ScfOp::Yield, &[], &[], &[]);
    emit.ir.insertion = Insertion::End(rest_block);
    if roles.handed_over {
        emit.set_registers(true, roles.registers);
    }
    consumers::begin(&emit, &rings).map_err(illegal)?;
    let turns = match fills {
        Some(fills) => {
            let turns = Turns::begin(&mut emit, warp, &fills, &rings).map_err(illegal)?;
            if let Some(residual) = &mut residual {
                residual.begin(&emit, turns.number).map_err(illegal)?;
            }
            Some(turns)
        }
        None => None,
    };
    let warpgroup = StoredResult::are_own(&results).then(|| emit.warpgroup(warp));
    if let Some(warpgroup) = warpgroup {
        let mut results = results.iter_mut();
        results
            .try_for_each(|result| result.begin(&emit, warpgroup))
            .map_err(illegal)?;
    }
    let of_results = Threads {
        first: match turns.is_some() || warpgroup.is_some() {
            true => leads,
            false => first,
        },
        leads,
        turn: turns.as_ref().map(|turns| turns.number),
        warpgroup,
    };
    let mut rest_end = None;
    let mut index = None;
    if let (Some((_, count)), Some(queue)) = (tiles, &queue) {
        let (tile, body) = queue.multiply(&mut emit, count, thread).map_err(illegal)?;
        index = Some(tile);
        rest_end = operations(body).into_iter().next();
    } else if let Some((_, count)) = tiles {
        let turn = turns
            .as_ref()
            .map(|turns| (turns.number, in_turn(function)));
        let body = emit.rounds(count, turn, |emit, tile| {
            index = Some(tile);
            rest_end = Some(emit.ir.op(ScfOp::Yield, &[], &[], &[]));
            Ok(())
        });
        body.map_err(illegal)?;
    }
    let waits = results.iter().any(StoredResult::leaves_by_map);
    if waits {
        results::wait_for_reads(&mut emit, of_results.first, 0).map_err(illegal)?;
    }
    let last = emit.ir.op(ScfOp::Yield, &[], &[], &[]);
    if turns.is_some() && !chains.is_empty() {
        return Err(impossible("a product takes what another one gives"));
    }
    if let Some(turns) = &turns {
        let first = turns::first_read(&rings, body).map_err(illegal)?;
        turns.wait(&mut emit, first);
        if let (Some(residual), Some(result)) = (&residual, results.first()) {
            let fetched = residual.fetch(&mut emit, result, of_results, first);
            fetched.map_err(illegal)?;
        }
    }
    let products = Ring::products(&rings);
    consumers::role(&mut emit, &rings, chains, &dots, leads).map_err(illegal)?;
    if let Some(turns) = &turns {
        let passed = turns.pass_behind(&mut emit, &products, body);
        passed.map_err(illegal)?;
    }
    let read = (&epilogue[..], residual.as_ref(), rows.as_ref());
    groups::emit(&mut emit, &results, read, &rings, of_results).map_err(illegal)?;
    for op in operations(body) {
        if Some(op) == begin {
            break;
        }
        if TileOp::Grid.is(op) {
            erase(op);
        } else if !shared.contains(&operation_key(op)) {
            let end = rest_end.unwrap_or_else(|| match waits {
                false => last,
                // In front of what waits for the results.
                true => operations(rest_block)
                    .into_iter()
                    .rev()
                    .nth(1)
                    .unwrap_or(last),
            });
            move_before(op, end);
        }
    }
    if let (Some(turns), Some(end)) = (&turns, rest_end) {
        emit.before(end);
        turns.end(&emit, &rings).map_err(illegal)?;
    }
    if let (Some(rounds), Some(index)) = (rounds, index) {
        replace_all_uses(result_of(rounds.block, 0), index);
        erase(rounds.block);
        set_launched(context, function, Launched::Persistent)?;
    }
    emit.ir.insertion = around;
    let attrs = [(CONSUMERS, emit.ir.i32(threads as i32))];
    let regions = vec![loading, rest];
    emit.ir
        .op_with_regions(ScfOp::If, &[loads], &attrs, &[], regions);
    if cluster.is_some() {
        cluster::end(&emit);
    }
    set_block_size(context, function, multiplying + roles.loading)
}

/// Gives every block of a kernel its tile, in clusters where some load together.
fn clusters<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    target: &Target,
) -> Result<Multicast, Reported> {
    if asked(function, target).is_none() {
        return Ok(Multicast::alone());
    }
    let all = checked_ops(function);
    let all = all.map_err(|(op, message)| report(op.location(), message))?;
    let copies = all.iter().copied().filter(|op| map_copy(*op).is_some());
    let ir = OpBuilder::new(context, Insertion::Before(function));
    let multicast = match Multicast::of(function, &all, &copies.collect::<Vec<_>>(), target) {
        Ok(multicast) => multicast,
        Err(reason) => {
            for dot in all.iter().filter(|op| TileOp::Dot.is(**op)) {
                set_attribute(*dot, UNSHARED, ir.string(&reason));
            }
            Multicast::alone()
        }
    };
    let grid = lower(context, function, multicast.extents)?;
    if multicast.blocks() > 1 {
        let axes = grid.map_or(1, |grid| operands_of(grid).count());
        let extents = multicast.extents.map(|blocks| blocks as i32);
        set_attribute(function, MULTICAST, ir.i32_array(&extents));
        set_clusters(context, function, axes, multicast.extents)?;
    }
    Ok(multicast)
}

/// Whether more threads than one load what an operation takes: a warpgroup gathers it, or warps split it.
fn is_by_others(op: IrOp) -> bool {
    op.attribute(GATHERED).is_ok()
        || TileOp::Dot.is(op) && Precision::of(&op) == Ok(Precision::Tf32x3)
}

/// Whether both roles may have what an operation computes.
fn is_shared(op: IrOp) -> bool {
    let computes = match CuteOp::of(op) {
        Some(CuteOp::MemrefAllocSmem | CuteOp::MemrefAlloca) => true,
        _ => TileOp::of(op).is_none() && has_no_effect(op),
    };
    op.region_count() == 0 && computes
}

/// The operation of a block in which another one stands, or that one itself.
pub(super) fn ancestor_in<'c>(op: IrOp<'c>, block: IrBlock<'c>) -> Option<IrOp<'c>> {
    let mut at = op;
    loop {
        if is_in_block(at, block) {
            return Some(at);
        }
        at = parent(at)?;
    }
}
