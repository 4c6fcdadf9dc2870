//! The role that multiplies: waits for stages, and releases them.
use super::super::emits::Emits;
use super::super::known_ops::only_computes;
use super::super::stages::DEPTH;
use super::super::types::mma_of;
use super::ancestor_in;
use super::chain::{Chain, Waits};
use super::emit::Emit;
use super::ring::Ring;
use crate::passes::cmpi::{LESS, NOT_EQUAL};
use crate::passes::ir_utils::{
    blocks, defining_op, next_operation, operations, remove_attribute, same_block, set_attribute,
    set_operand, users,
};
use cutec_dialects::atoms::Place;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, result_of, results_of,
};
use cutec_dialects::ops::{NvvmOp, TileOp, scf, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use cutec_layout::tv::Operand;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// The attribute of a product that adds to what its loop carries, in the same registers in each round.
pub(in crate::passes::tile) const IN_PLACE: &str = "tile.in_place";

/// Elements a thread of what is read and computed under a product that is waited for where it stands.
const FEW: i64 = 4;

/// Whether a product adds to an iteration argument of the loop of a body, and nothing else takes either.
pub(in crate::passes::tile) fn is_accumulated<'c>(dot: IrOp<'c>, body: IrBlock<'c>) -> bool {
    let Some(end) = operations(body).pop() else {
        return false;
    };
    let Some(sums) = tile::Dot::of(dot).map(tile::Dot::c) else {
        return false;
    };
    let result = result_of(dot, 0);
    let arguments = 1..body.argument_count();
    let carried = arguments
        .into_iter()
        .find(|index| argument_of(body, *index) == sums);
    let yielded: Vec<usize> = operands_of(end)
        .enumerate()
        .filter(|(_, value)| *value == result)
        .map(|(index, _)| index)
        .collect();
    carried.is_some_and(|index| yielded == [index - 1])
        && users(sums) == [dot]
        && users(result) == [end]
}

/// What the role begins with.
pub(super) fn begin<'c>(emit: &Emit<'c>, rings: &[Ring<'c>]) -> Result<(), SemError> {
    let mut rings = rings.iter().filter(|ring| ring.repeats);
    rings.try_for_each(|ring| ring.begin_to_multiply(emit))
}

/// Makes the role of the operations of the kernel, where they stand.
pub(super) fn role<'c>(
    emit: &mut Emit<'c>,
    rings: &[Ring<'c>],
    chains: Vec<Chain<'c>>,
    products: &[IrOp<'c>],
    leads: IrValue<'c>,
) -> Result<(), SemError> {
    let dots = Ring::products(rings);
    let mut loops: Vec<IrOp<'c>> = Vec::new();
    for of in rings
        .iter()
        .filter(|ring| ring.in_place)
        .filter_map(|ring| ring.of_loop)
    {
        if !loops.contains(&of) {
            loops.push(of);
        }
    }

    let is_chained = |ring: usize| {
        let mut chains = chains.iter();
        chains.any(|chain| chain.last_ring == ring || chain.rings.contains(&ring))
    };

    let (mut stages, mut waits) = (Vec::new(), Vec::new());
    for ring in rings {
        let reads: Vec<IrOp<'c>> = ring.reads().collect();
        let first = first_around(ring.block, &reads);
        emit.before(first.ok_or_else(|| SemError::Illegal("nothing reads a ring".into()))?);
        emit.ir.location = ring.copies[0].op.location();
        let before: HashSet<usize> = operations(ring.block)
            .into_iter()
            .map(operation_key)
            .collect();
        let stage = ring.wait(emit)?;
        let mut added = operations(ring.block);
        added.retain(|op| !before.contains(&operation_key(*op)));
        waits.push(added);
        for read in reads {
            set_operand(read, 1, stage);
        }
        ring.erase_copies();
        stages.push(stage);
    }

    // Products are waited for, those of the loops that overlap a round later.
    let mut waited = HashMap::new();
    let mut overlapped = HashSet::new();
    for chain in &chains {
        let all = chain.first.iter().chain([&chain.last]);
        overlapped.extend(all.map(|dot| operation_key(*dot)));
    }
    for of in &loops {
        let body = blocks(*of, 0).remove(0);
        let inside: Vec<IrOp<'c>> = operations(body)
            .into_iter()
            .filter(|op| dots.contains(op))
            .collect();
        let chained = inside
            .iter()
            .any(|dot| overlapped.contains(&operation_key(*dot)));
        let Some(last) = inside.last().copied().filter(|_| !chained) else {
            continue;
        };
        overlapped.extend(inside.iter().map(|dot| operation_key(*dot)));
        for dot in &inside {
            set_attribute(*dot, IN_PLACE, emit.ir.unit());
        }
        let bounds = scf::For::of(*of).ok_or_else(|| SemError::Illegal("is no loop".into()))?;
        let here: Vec<&Ring<'c>> = rings
            .iter()
            .filter(|ring| ring.of_loop == Some(*of))
            .collect();
        behind(emit, last)?;
        if !here.iter().any(|ring| ring.overlaps) {
            // The next round's factors are for the registers of this one's.
            let wait = wait_for_products(emit, 0);
            waited.extend(inside.iter().map(|dot| (operation_key(*dot), wait)));
            behind(emit, *of)?;
            wait_for_products(emit, 0);
            continue;
        }
        // Under the products.
        let reads = here.iter().flat_map(|ring| ring.reads());
        let reads: Vec<IrOp<'c>> = reads.chain([last]).collect();
        behind(emit, last_around(body, &reads).unwrap_or(last))?;
        here.iter().for_each(|ring| ring.fence_reads(emit));
        behind(emit, last)?;
        match made_for(last).filter(|_| inside.len() == 1) {
            // Into the registers that the products of the round before read. What it is made of is computed under them.
            Some(map) => {
                emit.ir.location = map.location();
                emit.before(map);
                wait_for_products(emit, 0);
            }
            None => {
                wait_for_products(emit, inside.len() as i64);
            }
        }
        let later = emit.compare(NOT_EQUAL, argument_of(body, 0), bounds.lower());
        emit.only_if(later, |emit| {
            here.iter()
                .try_for_each(|ring| ring.release_oldest(emit, leads))
        })?;
        behind(emit, *of)?;
        wait_for_products(emit, 0);
        let any = emit.compare(LESS, bounds.lower(), bounds.upper());
        emit.only_if(any, |emit| {
            here.iter()
                .try_for_each(|ring| ring.release_oldest(emit, leads))
        })?;
    }
    // Those of which nothing is loaded, too.
    for dot in products
        .iter()
        .filter(|dot| !overlapped.contains(&operation_key(**dot)))
    {
        behind(emit, last_under(*dot, &waits))?;
        waited.insert(operation_key(*dot), wait_for_products(emit, 0));
    }

    for (number, (ring, stage)) in rings.iter().zip(&stages).enumerate() {
        if let Some(of) = ring.of_loop {
            remove_attribute(of, DEPTH);
        }
        if ring.overlaps || !ring.repeats || is_chained(number) {
            continue;
        }
        // Products and the waits for them, and reads for others; or what takes what threads have read.
        let takers: Vec<IrOp<'c>> = ring
            .copies
            .iter()
            .flat_map(|copy| copy.takers(ring.beside))
            .collect();
        let no_reader = || SemError::Illegal("no product reads a ring".into());
        // Under the products, where they are waited for.
        let reads: Vec<IrOp<'c>> = ring.reads().chain(takers.iter().copied()).collect();
        behind(emit, last_around(ring.block, &reads).ok_or_else(no_reader)?)?;
        ring.fence_reads(emit);
        let waits = takers
            .iter()
            .filter_map(|dot| waited.get(&operation_key(*dot)));
        let takers: Vec<IrOp<'c>> = waits.chain(&takers).copied().collect();
        let last = last_around(ring.block, &takers);
        let mut last = last.ok_or_else(no_reader)?;
        let waits = [NvvmOp::WgmmaWaitGroup, NvvmOp::FenceProxy];
        let waits = |op: &IrOp| waits.iter().any(|wait| wait.is(*op));
        while let Some(wait) = next_operation(last).filter(waits) {
            last = wait;
        }
        behind(emit, last)?;
        ring.release(emit, *stage, leads)?;
    }
    for chain in chains {
        let waits = Waits {
            rings,
            ops: &waits,
            stages: &stages,
            leads,
        };
        chain.apply(emit, waits)?;
    }
    Ok(())
}

/// The map that makes the first factor of a product, in registers, for it alone: what something else takes is there ahead of the wait for the products
/// that read these registers, and ptxas 13.0 makes one of it and of what is packed behind the wait.
pub(super) fn made_for(dot: IrOp<'_>) -> Option<IrOp<'_>> {
    let mma = mma_of(dot).ok()?;
    let factor = tile::Dot::of(dot)?.a();
    let map = defining_op(factor).filter(|map| TileOp::Map.is(*map) && same_block(*map, dot));
    let in_registers = mma.atom.operand(Operand::A).place == Place::Registers;
    map.filter(|_| in_registers && users(factor) == [dot])
}

pub(super) fn wait_for_products<'c>(emit: &Emit<'c>, left: i64) -> IrOp<'c> {
    let left = [("group", emit.ir.i64(left))];
    emit.ir.op(NvvmOp::WgmmaWaitGroup, &[], &left, &[])
}

/// The last operation that runs under a product which is waited for where it stands: it, or of what is read and computed next, ahead of what
/// takes the product, the last of few elements a thread; `waits` are for rings. More would take registers, and shared memory that the
/// product reads.
fn last_under<'c>(dot: IrOp<'c>, waits: &[Vec<IrOp<'c>>]) -> IrOp<'c> {
    let sums = result_of(dot, 0);
    let few = |op: &IrOp| {
        let mut results = results_of(*op).map(|value| TileType::of(value.r#type()));
        results.all(|tile| match tile {
            None => true,
            Some(tile) => {
                let layout = tile.ok().and_then(|tile| tile.layout);
                layout.is_some_and(|layout| layout.values() <= FEW)
            }
        })
    };
    let is_light = |op: &IrOp| {
        let reads = TileOp::Read.is(*op) && few(op);
        let computes = !TileOp::Dot.is(*op) && only_computes(*op) && few(op);
        let waits = waits.iter().flatten().any(|wait| wait == op);
        (reads || computes || waits) && !operands_of(*op).any(|operand| operand == sums)
    };
    let next = std::iter::successors(next_operation(dot), |op| next_operation(*op));
    let light = next.take_while(is_light);
    let tiles = light.filter(|op| TileOp::of(*op).is_some());
    tiles.last().unwrap_or(dot)
}

/// Goes on behind an operation.
fn behind<'c>(emit: &mut Emit<'c>, op: IrOp<'c>) -> Result<(), SemError> {
    emit.ir.location = op.location();
    let next = next_operation(op);
    emit.before(next.ok_or_else(|| SemError::Illegal("is the last of its block".into()))?);
    Ok(())
}

/// The first operation of a block that is, or has inside, one of some.
pub(super) fn first_around<'c>(block: IrBlock<'c>, ops: &[IrOp<'c>]) -> Option<IrOp<'c>> {
    let around: Vec<IrOp<'c>> = ops
        .iter()
        .filter_map(|op| ancestor_in(*op, block))
        .collect();
    operations(block).into_iter().find(|op| around.contains(op))
}

/// The last such one.
pub(super) fn last_around<'c>(block: IrBlock<'c>, ops: &[IrOp<'c>]) -> Option<IrOp<'c>> {
    let around: Vec<IrOp<'c>> = ops
        .iter()
        .filter_map(|op| ancestor_in(*op, block))
        .collect();
    operations(block)
        .into_iter()
        .rev()
        .find(|op| around.contains(op))
}
