//! The rings of a kernel: which copies come together, who reads them, and which are under way longer.
use super::super::super::computed_operand::{passes_on, reads_what_is_written};
use super::super::super::gathers::{GATHERED, GatheredTile};
use super::super::super::multicast::Multicast;
use super::super::super::pingpong::in_turn;
use super::super::super::smem_tile::tile_in;
use super::super::super::stage_operands::BESIDE;
use super::super::super::tensor_box::TensorBox;
use super::super::super::types::{Failed, mma_of, present, view_of};
use super::super::consumers::{is_accumulated, made_for};
use super::super::vectors::Vector;
use super::super::{ancestor_in, map_copy, split};
use super::depth::deepen;
use super::{By, ByMap, Copy, Ring, ShareOfBlock};
use crate::passes::control_flow::in_loop;
use crate::passes::ir_utils::{block_of, blocks, function_block_size, is_in_block, parent, users};
use crate::passes::kernel_abi::min_blocks;
use cutec_dialects::atoms::Place;
use cutec_dialects::builder::{IrOp, operation_key, result_of};
use cutec_dialects::ops::{ScfOp, TileOp, tile};
use cutec_dialects::target::{Target, WARPGROUP};
use cutec_dialects::tile::Precision;
use cutec_layout::tv::Operand;
use melior::ir::operation::OperationLike;
use std::collections::HashMap;

/// Bytes of shared memory that are left for other barriers than those of rings and for what lies unused in front of buffers that begin where a
/// swizzle does: more where results leave by tensor maps.
const RESERVED: i64 = 512;
pub const RESERVED_BY_MAPS: i64 = 2048;

impl<'c> Ring<'c> {
    /// The rings of a kernel with these operations, beside so many bytes of shared memory. Its blocks may stay for several tiles.
    pub fn all(
        function: IrOp<'c>,
        operations: &[IrOp<'c>],
        target: &Target,
        reserved: i64,
        stays: bool,
        multicast: &Multicast,
    ) -> Result<Vec<Self>, Failed<'c>> {
        let numbered = operations.iter().enumerate();
        let numbers: HashMap<usize, usize> = numbered
            .map(|(number, op)| (operation_key(*op), number))
            .collect();
        let number = |op: &IrOp<'c>| numbers.get(&operation_key(*op)).copied().unwrap_or(0);
        let mut rings: Vec<(Option<usize>, Ring<'c>)> = Vec::new();
        for op in operations.iter().copied() {
            let beside = op.attribute(BESIDE).is_ok();
            let (atom, buffer) = match (map_copy(op), tile::Write::of(op)) {
                (Some(atom), _) => {
                    let begun = present(op, tile::CopyAsync::of(op))?;
                    (Some(atom), begun.buffer())
                }
                (None, Some(write)) if beside || op.attribute(GATHERED).is_ok() => {
                    (None, write.buffer())
                }
                (None, _) => continue,
            };
            let reads: Vec<IrOp<'c>> = users(buffer)
                .into_iter()
                .filter(|user| TileOp::Read.is(*user))
                .collect();
            let taken = reads.iter().filter(|_| !beside);
            let takers: Vec<IrOp<'c>> = taken.flat_map(|read| takers_of(*read)).collect();
            let (mut dots, others): (Vec<_>, Vec<_>) =
                takers.into_iter().partition(|op| TileOp::Dot.is(*op));
            dots.sort_by_key(number);
            dots.dedup();
            let first = dots.first().map(number);
            if first.is_none() && !beside {
                return Err((op, "copies what no product takes".into()));
            }
            let stage = view_of(buffer).and_then(|view| tile_in(&view));
            let (tile, _) = stage.ok_or((op, "copies to no buffer of stages".to_string()))?;
            let is_vector = beside && tile.shape.contains(&1);
            let by = match atom {
                Some(atom) => {
                    let share = multicast.share(op).cloned();
                    let mut shape = tile.shape;
                    let atom = match &share {
                        None => atom,
                        Some(share) => {
                            shape[share.axis] /= share.parts;
                            share.atom.clone()
                        }
                    };
                    let tensor_box = TensorBox::of(op, function, &shape);
                    By::Map(ByMap {
                        tensor_box: tensor_box.map_err(|message| (op, message))?,
                        atom,
                        made: None,
                        ordered: buffer,
                        share: share.map(|share| ShareOfBlock { share, part: None }),
                    })
                }
                None if beside => {
                    let vector = tile::Write::of(op).and_then(Vector::of_write);
                    By::Warp(present(op, vector)?)
                }
                None => {
                    let gathered = GatheredTile::of_write(op, function);
                    let gathered = gathered.unwrap_or_else(|| Err("is not gathered".into()));
                    By::Gather(gathered.map_err(|message| (op, message))?)
                }
            };
            let parts = |read: &IrOp<'c>| {
                let read = result_of(*read, 0);
                dots.iter().any(|dot| split::is_of_parts(*dot, read))
            };
            let split = reads.iter().any(parts);
            let copy = Copy {
                op,
                buffer,
                by,
                reads,
                dots,
                has_others: !others.is_empty(),
                split,
                is_vector,
            };
            // The vectors of a loop come together, a tile beside products by itself. The factors of a product come together, and so do those of
            // others which it shares one with: a thread waits for all of them once.
            let alone = beside && !copy.is_vector;
            let of_product = copy.dots.first().copied();
            let together = |(product, ring): &&mut (Option<usize>, Ring<'c>)| {
                let vectors = !beside || ring.is_of_vectors();
                let mut others = ring.copies.iter().flat_map(|copy| &copy.dots);
                let shares = of_product.is_some_and(|dot| others.any(|other| *other == dot));
                let same = *product == first || shares;
                !alone && vectors && same && is_in_block(op, ring.block)
            };
            match rings.iter_mut().find(together) {
                Some((_, ring)) => ring.copies.push(copy),
                None => {
                    let around = parent(op).ok_or((op, "stands nowhere".to_string()))?;
                    let ring = Ring {
                        beside,
                        copies: vec![copy],
                        block: block_of(op),
                        of_loop: ScfOp::For.is(around).then_some(around),
                        repeats: in_loop(op),
                        by_warps: false,
                        in_place: false,
                        overlaps: false,
                        peers: None,
                        stages: 1,
                        barriers: None,
                    };
                    rings.push((first, ring));
                }
            }
        }
        // Those of a warp of their own are behind the others, between them those that have something of both.
        let rings = rings.into_iter().map(|(_, ring)| ring);
        let (beside, mut rings): (Vec<_>, Vec<_>) = rings.partition(|ring| ring.beside);
        let beside = join_vectors(&mut rings, beside);
        rings.sort_by_key(Ring::is_carried);
        rings.extend(beside);
        for ring in &mut rings {
            ring.repeats |= stays;
            let by_threads = ring.reads().any(|read| {
                let mut users = users(result_of(read, 0)).into_iter();
                users.any(|user| !TileOp::Dot.is(user))
            });
            // Beside one that two warps split each warp reads the other factor, to split it.
            ring.by_warps = by_threads || ring.is_split();
        }
        let threads = function_block_size(function).unwrap_or(0);
        let warpgroups = threads / WARPGROUP * in_turn(function);
        let sharing = (warpgroups, min_blocks(function));
        deepen(
            &mut rings,
            operations,
            (sharing, target),
            match reserved {
                0 => RESERVED,
                results => results + RESERVED_BY_MAPS,
            },
            (threads, in_turn(function)),
        )?;
        overlap(&mut rings, operations)?;
        Ok(rings)
    }
}

/// Lets the vectors of a loop come in the stages of its operands, so that those that multiply wait once a round, where these are one ring and
/// each product is waited for where it stands. Gives the rings that are left.
fn join_vectors<'c>(operands: &mut [Ring<'c>], beside: Vec<Ring<'c>>) -> Vec<Ring<'c>> {
    let mut left = Vec::new();
    for mut ring in beside {
        let mut here = operands.iter_mut().filter(|other| {
            ring.is_of_vectors() && other.of_loop.is_some() && other.of_loop == ring.of_loop
        });
        match (here.next(), here.next()) {
            (Some(other), None) if other.is_waited_for() => {
                for copy in &mut ring.copies {
                    copy.has_others = true;
                }
                other.copies.append(&mut ring.copies);
            }
            _ => left.push(ring),
        }
    }
    left
}

/// What takes a tile that is read, or what is computed of it element by element: products, and others.
fn takers_of<'c>(read: IrOp<'c>) -> Vec<IrOp<'c>> {
    let (mut found, mut open) = (Vec::new(), vec![result_of(read, 0)]);
    while let Some(value) = open.pop() {
        for user in users(value) {
            match TileOp::of(user) {
                Some(kind) if passes_on(kind) => open.push(result_of(user, 0)),
                _ => found.push(user),
            }
        }
    }
    found
}

/// Finds the loops whose sums stay in place: of all products in their body the operands are loaded in the same round, or computed of
/// what is, and each adds to what the loop carries. A round of products is left under way where none is in registers, or one that a map
/// makes: that is computed behind them, as it overwrites the registers that they read.
fn overlap<'c>(rings: &mut [Ring<'c>], operations: &[IrOp<'c>]) -> Result<(), Failed<'c>> {
    let dots: Vec<IrOp<'c>> = operations
        .iter()
        .copied()
        .filter(|op| TileOp::Dot.is(*op))
        .collect();
    let loops: Vec<IrOp<'c>> = rings.iter().filter_map(|ring| ring.of_loop).collect();
    for of in loops {
        let Some(body) = blocks(of, 0).into_iter().next() else {
            continue;
        };
        let inside: Vec<IrOp<'c>> = dots
            .iter()
            .copied()
            .filter(|dot| ancestor_in(*dot, body).is_some())
            .collect();
        let made = match inside[..] {
            [dot] => made_for(dot).is_some(),
            _ => false,
        };
        let (mut in_place, mut in_memory) = (true, true);
        for dot in &inside {
            in_place &= is_in_block(*dot, body) && is_accumulated(*dot, body);
            // Products of parts begin with zeros, and are added to the sums behind.
            in_place &= Precision::of(dot) != Ok(Precision::Tf32x3);
            // What they read is written anew in the next round.
            in_place &= !reads_what_is_written(*dot);
            let mma = mma_of(*dot)?;
            in_memory &= [Operand::A, Operand::B]
                .into_iter()
                .all(|which| mma.atom.operand(which).place == Place::SharedDescriptor);
        }
        let of_body = |ring: &Ring<'c>| ring.of_loop == Some(of) && !ring.beside;
        let mut here = rings.iter().filter(|ring| of_body(ring));
        let deep = here.all(|ring| ring.stages > 1);
        // What they read and was not loaded in this round is not released in it either.
        for ring in rings.iter_mut().filter(|ring| of_body(ring)) {
            ring.in_place = in_place && (deep || !in_memory);
            ring.overlaps = in_place && (in_memory || made) && deep;
        }
    }
    Ok(())
}
