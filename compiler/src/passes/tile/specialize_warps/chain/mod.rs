//! Software pipelining of chained products: the first products of a round run beside the last one of the round before.
//!
//! Before: a loop whose last product takes what the iteration computes of its first ones, as the weights of an attention. After:
//! the first products and what is computed of them are one iteration ahead. An iteration begins its first products and the last one
//! of the iteration before, and computes of the former what it does under the latter, which is waited for where its sums
//! are needed. What the next iteration's first products read is awaited behind the first reduction of their sums, the largest scores of an
//! attention: that is a branch, across which ptxas moves nothing, and behind which it puts the wait for the last product. On an H200 this was
//! faster than the whole computation under the product (621 and 603 TFLOP/s at heads of 128, 2026-11-23): of two warpgroups one
//! has its exponentials under the products of the other.
//!
//! ```text
//! for i { x = dot(q, k[i]); y = f(x); s = dot(y, v[i], g(s, x)) }
//! ```
//! becomes
//! ```text
//! if there is an iteration {
//!     await k[0]; x = dot(q, k[0]); wait; y = f(x); t = g(s, x); await k[1], if there is one
//!     for i from the second on {
//!         x = dot(q, k[i]); s = dot(y, v[i - 1], t); wait for x; y = f(x)
//!         (in it: await k[i + 1], if there is one); wait for s; t = g(s, x)
//!     }
//!     s = dot(y, v[last], t); wait
//! }
//! ```
//! The role that loads has the same order: `k[i + 1]` ahead of `v[i]`.
mod rewrite;

pub(super) use rewrite::Waits;

use super::super::computed_operand::reads_what_is_written;
use super::super::types::{is_by_descriptor, mma_of, tile_of};
use super::ring::Ring;
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, is_in_block, operations, users,
};
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, result_of, results_of,
    value_key,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WARPGROUP;
use cutec_layout::tv::Operand;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// Registers of a thread for all but the operands and sums of the products.
const OTHERS: i64 = 24;

/// A loop of chained products.
pub(super) struct Chain<'c> {
    pub of: IrOp<'c>,
    body: IrBlock<'c>,
    pub first: Vec<IrOp<'c>>,
    pub last: IrOp<'c>,
    /// The rings of the loop that the first products read, and the one of the last product.
    pub rings: Vec<usize>,
    pub last_ring: usize,
    /// Which of what the loop carries are the sums of the last product.
    slot: usize,
}

impl<'c> Chain<'c> {
    /// The chains of a kernel with these rings, whose products so many warpgroups share, of threads of so many registers.
    pub fn all(rings: &[Ring<'c>], warpgroups: i64, registers: i64) -> Vec<Self> {
        let dots = Ring::products(rings);
        let mut loops: Vec<IrOp<'c>> = Vec::new();
        for ring in rings.iter().filter(|ring| !ring.overlaps && !ring.beside) {
            loops.extend(ring.of_loop.filter(|of| !loops.contains(of)));
        }
        let chain = |of| {
            Chain::of(of, &dots, rings)
                .filter(|chain| chain.fits(warpgroups * WARPGROUP, registers))
        };
        loops.into_iter().filter_map(chain).collect()
    }

    fn of(of: IrOp<'c>, dots: &[IrOp<'c>], rings: &[Ring<'c>]) -> Option<Self> {
        let body = blocks(of, 0).into_iter().next()?;
        let mut nested = Vec::new();
        collect_nested(of, &mut nested);
        let mut first: Vec<IrOp<'c>> = nested;
        first.retain(|op| TileOp::Dot.is(*op));
        let direct = |dot: &IrOp<'c>| is_in_block(*dot, body) && dots.contains(dot);
        let last = first.pop()?;
        if first.is_empty() || !first.iter().all(direct) || !direct(&last) {
            return None;
        }

        // The sums of the last product are for the next iteration.
        let end = operations(body).pop()?;
        let sums = result_of(last, 0);
        let mut slots = operands_of(end).enumerate();
        let slot = slots.find(|(_, value)| *value == sums)?.0;
        if users(sums) != [end] || slots.any(|(_, value)| value == sums) {
            return None;
        }

        // What it reads is its own, as it lies there, and there are two stages: one is held while what the next iteration reads is awaited.
        let of_last = |ring: &Ring<'c>| ring.copies.iter().any(|copy| copy.dots.contains(&last));
        let last_ring = rings.iter().position(of_last)?;
        let its = &rings[last_ring];
        let mut reads = its.copies.iter().flat_map(|copy| &copy.reads);
        let alone = reads.all(|read| users(result_of(*read, 0)) == [last]);
        let once = rings.iter().filter(|ring| of_last(ring)).count() == 1;
        if its.of_loop != Some(of) || !alone || !once || its.stages() < 2 {
            return None;
        }
        let of_body = |ring: &Ring<'c>| ring.of_loop == Some(of) && !ring.beside;
        let own = (0..rings.len()).filter(|ring| of_body(&rings[*ring]));
        let own: Vec<usize> = own.filter(|ring| *ring != last_ring).collect();
        // The stages of the others are released behind the first products, so nothing else reads them.
        let mut held = own.iter().flat_map(|ring| &rings[*ring].copies);
        if held.any(|copy| copy.has_others) {
            return None;
        }
        let by_descriptors = first.iter().all(|dot| {
            let mma = mma_of(*dot).ok();
            mma.is_some_and(|mma| {
                [Operand::A, Operand::B]
                    .into_iter()
                    .all(|which| is_by_descriptor(&mma, which))
            })
        });
        let chain = Chain {
            of,
            body,
            first,
            last,
            rings: own,
            last_ring,
            slot,
        };
        // What takes the sums of the iteration before comes last, what takes the first products' sums behind all of these.
        let (late, computed) = (chain.late(), chain.computed());
        let late = |op: &IrOp<'c>| late.contains(&operation_key(*op));
        let computed = |op: &IrOp<'c>| computed.contains(&operation_key(*op));
        let all = operations(body);
        let begun = all.iter().rposition(|op| chain.first.contains(op))?;
        let moved = all.iter().enumerate().filter(|(at, op)| {
            **op != last && **op != end && (late(op) || *at < begun && computed(op))
        });
        let movable = moved.into_iter().all(|(_, op)| has_no_effect(*op));
        let independent = !chain.first.iter().any(|dot| late(dot) || computed(dot));
        let loaded = !chain
            .first
            .iter()
            .chain([&last])
            .any(|dot| reads_what_is_written(*dot));
        (by_descriptors && movable && independent && loaded).then_some(chain)
    }

    /// Whether so many threads of so many registers have room for the operands and sums of both kinds of products at once.
    fn fits(&self, threads: i64, registers: i64) -> bool {
        let Some(last) = tile::Dot::of(self.last) else {
            return false;
        };
        let dots = self.first.iter().chain([&self.last]);
        let sums = dots.map(|dot| (*dot, result_of(*dot, 0)));
        let held = sums.chain([(self.last, last.a())]);
        let taken: Option<i64> = held
            .map(|(op, value)| {
                let tile = tile_of(op, value).ok()?;
                Some(tile.size() * tile.elem.bits() / (32 * threads))
            })
            .sum();
        taken.is_some_and(|taken| taken + OTHERS <= registers)
    }

    /// Whether the role that loads can bring what the first products read an iteration ahead.
    pub fn loads_ahead(&self, rings: &[Ring<'c>]) -> bool {
        let mut copies = self.rings.iter().flat_map(|ring| &rings[*ring].copies);
        copies.all(|copy| copy.map().is_some() && is_in_block(copy.op, self.body))
    }

    fn argument(&self, number: usize) -> IrValue<'c> {
        argument_of(self.body, number + 1)
    }

    /// The operations of the body that take the sums of the iteration before, but the last product; and those that convert its
    /// first operand, which would take more registers while the one of the iteration before is read.
    fn late(&self) -> HashSet<usize> {
        let mut late = HashSet::new();
        let mut values = HashSet::from([value_key(self.argument(self.slot))]);
        let mut made = tile::Dot::of(self.last).map(tile::Dot::a);
        let mut user = self.last;
        while let Some(op) = made.and_then(defining_op).filter(|op| {
            let converts = TileOp::ConvertLayout.is(*op);
            let computes = TileOp::Map.is(*op) && op.operand_count() == 1;
            (converts || computes)
                && is_in_block(*op, self.body)
                && users(result_of(*op, 0)) == [user]
        }) {
            late.insert(operation_key(op));
            (user, made) = (op, operands_of(op).next());
        }
        let mut operations = operations(self.body);
        operations.pop();
        for op in operations {
            let takes = taken(op)
                .iter()
                .any(|value| values.contains(&value_key(*value)));
            if takes && op != self.last {
                late.insert(operation_key(op));
                values.extend(results_of(op).map(value_key));
            }
        }
        late
    }

    /// The operations of the body that take the sums of the first products.
    fn computed(&self) -> HashSet<usize> {
        let mut computed = HashSet::new();
        let sums = self.first.iter().map(|dot| value_key(result_of(*dot, 0)));
        let mut values: HashSet<usize> = sums.collect();
        for op in operations(self.body) {
            if taken(op)
                .iter()
                .any(|value| values.contains(&value_key(*value)))
            {
                computed.insert(operation_key(op));
                values.extend(results_of(op).map(value_key));
            }
        }
        computed
    }
}

/// What an operation and those inside of it take.
fn taken<'c>(op: IrOp<'c>) -> Vec<IrValue<'c>> {
    let mut inside = vec![op];
    collect_nested(op, &mut inside);
    inside
        .into_iter()
        .flat_map(|op| operands_of(op).collect::<Vec<_>>())
        .collect()
}
