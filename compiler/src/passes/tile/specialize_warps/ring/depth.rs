//! How many stages rings have.
use super::super::super::partition::Scratch;
use super::super::super::smem_tile::bytes_of;
use super::super::super::stages::depth_of;
use super::super::super::types::Failed;
use super::Ring;
use crate::passes::remark;
use cutec_abi::counted;
use cutec_dialects::builder::{IrOp, result_of};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::target::Target;
use cutec_dialects::tile::cost_model::Stages;
use melior::ir::operation::OperationLike;

/// Stages of the vectors that a warp of its own loads: so many hide how long memory takes, and are small.
const OF_VECTORS: i64 = 4;
/// The most of a tile: one is read as soon as it is needed, and filled again meanwhile.
const OF_TILES: i64 = 2;
/// Stages of operands that come before such a tile, where the loop says nothing.
const LEAST: i64 = 2;
/// Bytes of barriers of all stages, which are as aligned as a buffer.
const BARRIERS: i64 = 128;

/// Gives rings in loops as many stages as the loop says, or as the cost model chooses of what fits, where so many warpgroups multiply and
/// so many blocks share a multiprocessor; then those of what is loaded for each tile two, if they fit. Of other buffers that threads share
/// there are as many as warpgroups take turns.
pub(super) fn deepen<'c>(
    rings: &mut [Ring<'c>],
    operations: &[IrOp<'c>],
    (sharing, target): ((i64, i64), &Target),
    mut others: i64,
    (threads, in_turn): (i64, i64),
) -> Result<(), Failed<'c>> {
    for ring in rings.iter() {
        // Of stages that are full, empty and split.
        others += BARRIERS * if ring.is_split() { 3 } else { 2 };
    }
    for op in operations.iter().copied() {
        if CuteOp::MemrefAllocSmem.is(op) {
            let buffer = result_of(op, 0);
            let in_ring = rings.iter().flat_map(|ring| &ring.copies);
            if !in_ring.into_iter().any(|copy| copy.buffer == buffer) {
                others += bytes_of(buffer);
            }
        }
    }
    others += Scratch::bytes_of(operations, (threads, in_turn));
    let of_products = rings.iter().position(|ring| ring.beside);
    let (rings, beside) = rings.split_at_mut(of_products.unwrap_or(rings.len()));
    let mut said = Vec::new();
    for ring in rings.iter() {
        said.push(match ring.of_loop {
            Some(of) => depth_of(of)?,
            None => Some(1),
        });
    }
    let least = rings.iter().zip(&said);
    let least = least.map(|(ring, said)| said.unwrap_or(LEAST) * ring.bytes());
    let least: i64 = least.sum();
    let share = i64::from(target.max_smem) / sharing.1.max(1);
    for ring in beside {
        ring.stages = match ring.is_of_vectors() {
            true => OF_VECTORS,
            false => ((share - others - least) / ring.bytes()).clamp(0, OF_TILES),
        };
        others += ring.stages * ring.bytes();
        if ring.stages == 0 {
            let message = format!(
                "each thread loads its elements of this tile: beside {least} bytes of operands and {others} for other things there is no room for {} more",
                ring.bytes()
            );
            remark(ring.copies[0].op.location(), message);
        }
    }
    // Those that are chosen share what the others leave.
    let (mut open, mut rest) = (0, others);
    for (ring, said) in rings.iter().zip(&said) {
        match said {
            Some(depth) => rest += depth * ring.bytes(),
            None => open += ring.bytes(),
        }
    }
    let chosen = Stages::of_ring(open, rest, sharing, target);
    let wanted: Vec<i64> = said
        .iter()
        .map(|said| said.unwrap_or(chosen.count))
        .collect();
    let room = i64::from(target.max_smem) - others;
    let taken = |depth: i64| -> i64 {
        let rings = rings.iter().zip(&wanted);
        rings
            .map(|(ring, wanted)| ring.bytes() * depth.min(*wanted))
            .sum()
    };
    let most = wanted.iter().copied().max().unwrap_or(1);
    let depth = (2..=most)
        .rev()
        .find(|depth| taken(*depth) <= room)
        .unwrap_or(1);
    let mut left = room - taken(depth);
    for ((ring, wanted), said) in rings.iter_mut().zip(wanted).zip(said) {
        ring.stages = wanted.min(depth);
        if let Some(of) = ring.of_loop {
            let (bytes, stages) = (ring.bytes(), ring.stages);
            let why = match said {
                Some(said) if said == stages => {
                    format!(
                        "{} of {bytes} bytes, as the loop says",
                        counted(stages, "stage")
                    )
                }
                Some(said) => format!(
                    "{} of {bytes} bytes: the {said} that the loop says do not fit beside {others} bytes for other things",
                    counted(stages, "stage")
                ),
                None => chosen.reason(bytes, rest, target),
            };
            remark(of.location(), why);
        }
        let of_tile = ring.of_loop.is_none() && ring.repeats;
        if of_tile && ring.bytes() <= left {
            ring.stages = 2;
            left -= ring.bytes();
        }
    }
    Ok(())
}
