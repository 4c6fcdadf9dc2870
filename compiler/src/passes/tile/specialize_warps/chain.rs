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
use super::super::emits::Emits;
use super::super::pipeline::DEPTH;
use super::super::types::{is_by_descriptor, mma_of, tile_of};
use super::consumers::wait_for_products;
use super::emit::Emit;
use super::ring::Ring;
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{
    blocks, borrowed, clone, collect_nested, defining_op, erase, is_in_block, named_attributes,
    operations, replace_all_uses, set_operand, users,
};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, argument_of, operands_of, operation_key, region_with_block,
    result_of, results_of, value_key,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, scf, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::WARPGROUP;
use cutec_layout::tv::Operand;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, Region, RegionLike, TypeLike, Value, ValueLike};
use std::collections::{HashMap, HashSet};

/// Registers of a thread for all but the operands and sums of the products.
const OTHERS: i64 = 24;

/// A loop of chained products.
pub(super) struct Chain<'c> {
    of: IrOp<'c>,
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
        for ring in rings.iter().filter(|ring| !ring.overlaps) {
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

        // What it reads is its own, and there are two stages: one is held while what the next iteration reads is awaited.
        let of_last = |ring: &Ring<'c>| ring.copies.iter().any(|copy| copy.dots.contains(&last));
        let last_ring = rings.iter().position(of_last)?;
        let its = &rings[last_ring];
        let alone = its.copies.iter().all(|copy| copy.dots == [last]);
        let once = rings.iter().filter(|ring| of_last(ring)).count() == 1;
        if its.of_loop != Some(of) || !alone || !once || its.stages() < 2 {
            return None;
        }
        let own = (0..rings.len()).filter(|ring| rings[*ring].of_loop == Some(of));
        let own: Vec<usize> = own.filter(|ring| *ring != last_ring).collect();
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
        (by_descriptors && movable && independent).then_some(chain)
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

    /// Rewrites the loop. `waits` are the operations that wait for a stage of each ring, and `stages` the stages.
    pub fn apply(
        self,
        emit: &mut Emit<'c>,
        rings: &[Ring<'c>],
        waits: &[Vec<IrOp<'c>>],
        stages: &[IrValue<'c>],
        leads: IrValue<'c>,
    ) -> Result<(), SemError> {
        let missing = || SemError::Illegal("is no loop of chained products".into());
        let bounds = scf::For::of(self.of).ok_or_else(missing)?;
        let last = tile::Dot::of(self.last).ok_or_else(missing)?;
        let Some((end, all)) = operations(self.body)
            .split_last()
            .map(|(end, all)| (*end, all.to_vec()))
        else {
            return Err(missing());
        };

        // The last product with what it alone reads, and the others, those that take its sums last.
        let its = &rings[self.last_ring];
        let reads = its.copies.iter().flat_map(|copy| &copy.reads);
        let behind: HashSet<usize> = reads
            .chain(&waits[self.last_ring])
            .chain([&self.last])
            .map(|op| operation_key(*op))
            .collect();
        let late = self.late();
        let is_behind = |op: &IrOp<'c>| behind.contains(&operation_key(*op));
        let product: Vec<IrOp<'c>> = all.iter().copied().filter(is_behind).collect();
        let (later, ahead): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) = all
            .into_iter()
            .filter(|op| !is_behind(op))
            .partition(|op| late.contains(&operation_key(*op)));
        let computed = self.computed();
        let begun = ahead.iter().rposition(|op| self.first.contains(op));
        let (begun, rest) = ahead.split_at(begun.ok_or_else(missing)? + 1);
        let (mut computes, begins): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) = begun
            .iter()
            .partition(|op| computed.contains(&operation_key(**op)));
        computes.extend(rest);

        // What the last product takes of the others is carried to the next iteration.
        let sums = last.c();
        let mut carried: Vec<IrValue<'c>> = Vec::new();
        for value in product.iter().flat_map(|op| taken(*op)) {
            let inside = match defining_op(value) {
                Some(op) => is_in_block(op, self.body) && !is_behind(&op),
                None => (0..self.body.argument_count())
                    .any(|index| argument_of(self.body, index) == value),
            };
            if inside && value != sums && !carried.contains(&value) {
                carried.push(value);
            }
        }
        let yielded: Vec<IrValue<'c>> = operands_of(end).collect();
        let yielded = yielded.into_iter().enumerate();
        let mut yielded: Vec<IrValue<'c>> = yielded
            .map(|(index, value)| if index == self.slot { sums } else { value })
            .collect();
        yielded.extend(&carried);

        // The first iteration without its last product.
        emit.before(self.of);
        emit.ir.location = self.of.location();
        let (lower, upper, step) = (bounds.lower(), bounds.upper(), bounds.step());
        let initial: Vec<IrValue<'c>> = operands_of(self.of).skip(3).collect();
        let any = emit.compare(LESS, lower, upper);
        let (then, then_block) = region_with_block(&[]);
        emit.ir.insertion = Insertion::End(then_block);
        let mut known = HashMap::from([(value_key(argument_of(self.body, 0)), lower)]);
        for (index, value) in initial.iter().enumerate() {
            known.insert(value_key(self.argument(index)), *value);
        }
        copied(emit, &begins, &mut known);
        wait_for_products(emit, 0);
        self.release(
            emit,
            rings,
            |ring| (known.get(&value_key(stages[ring])).copied()).unwrap_or(stages[ring]),
            leads,
        )?;
        copied(emit, &computes, &mut known);
        copied(emit, &later, &mut known);
        let second = emit
            .ir
            .value(ArithOp::Addi, &[lower, step], &[], lower.r#type());
        let next = self.next(emit, rings, second, upper)?;
        let begin = |value: &IrValue<'c>| known.get(&value_key(*value)).copied().unwrap_or(*value);
        let begin = yielded.iter().map(begin).chain(next);
        let begin: Vec<IrValue<'c>> = begin.collect();

        // The loop from the second one on.
        let operands: Vec<IrValue<'c>> = [second, upper, step]
            .into_iter()
            .chain(begin.iter().copied())
            .collect();
        let types: Vec<_> = begin.iter().map(|value| value.r#type()).collect();
        let mut attrs = named_attributes(self.of);
        attrs.retain(|(name, _)| name != DEPTH);
        let region = Region::new();
        if let Ok(old) = self.of.region(0) {
            // SAFETY: both regions are alive.
            unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw()) };
        }
        let attrs = borrowed(&attrs);
        let rest = emit
            .ir
            .op_with_regions(ScfOp::For, &operands, &attrs, &types, vec![region]);

        // Behind it the last product of the last iteration.
        let mut known = HashMap::new();
        known.insert(value_key(sums), result_of(rest, self.slot));
        for (index, value) in carried.iter().enumerate() {
            known.insert(value_key(*value), result_of(rest, initial.len() + index));
        }
        copied(emit, &product, &mut known);
        wait_for_products(emit, 0);
        let stage = stages[self.last_ring];
        let stage = known.get(&value_key(stage)).copied().unwrap_or(stage);
        its.release(emit, stage, leads)?;
        let done = known[&value_key(result_of(self.last, 0))];
        let results = (0..initial.len()).map(|index| match index == self.slot {
            true => done,
            false => result_of(rest, index),
        });
        let results: Vec<IrValue<'c>> = results.collect();
        emit.ir.op(ScfOp::Yield, &results, &[], &[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        emit.ir.insertion = Insertion::End(otherwise_block);
        emit.ir.op(ScfOp::Yield, &initial, &[], &[]);
        emit.before(self.of);
        let types: Vec<_> = initial.iter().map(|value| value.r#type()).collect();
        let branch = emit
            .ir
            .op_with_regions(ScfOp::If, &[any], &[], &types, vec![then, otherwise]);
        for index in 0..initial.len() {
            replace_all_uses(result_of(self.of, index), result_of(branch, index));
        }
        erase(self.of);

        // In the loop the last product takes what is carried, and the others its sums.
        let argument = self.argument(self.slot);
        let own = result_of(self.last, 0);
        replace_all_uses(argument, own);
        let mut arguments = HashMap::from([(value_key(own), argument)]);
        arguments.insert(value_key(sums), argument);
        let add = |ty: melior::ir::Type<'c>| -> IrValue<'c> {
            // SAFETY: the block and the context are alive.
            unsafe {
                let location = emit.ir.location.to_raw();
                let body = self.body.to_raw();
                Value::from_raw(mlir_sys::mlirBlockAddArgument(body, ty.to_raw(), location))
            }
        };
        for value in &carried {
            arguments.insert(value_key(*value), add(value.r#type()));
        }
        for op in &product {
            renamed(*op, &arguments);
        }
        let mut held = stages.to_vec();
        for ring in &self.rings {
            held[*ring] = add(stages[*ring].r#type());
            replace_all_uses(stages[*ring], held[*ring]);
        }
        let yielded: Vec<IrValue<'c>> = yielded
            .into_iter()
            .map(|value| if value == argument { own } else { value })
            .collect();
        let awaited: HashSet<usize> = (self.rings.iter())
            .flat_map(|ring| &waits[*ring])
            .map(|op| operation_key(*op))
            .collect();
        let (awaits, begins): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) = begins
            .iter()
            .partition(|op| awaited.contains(&operation_key(**op)));
        awaits.into_iter().rev().for_each(erase);
        for op in begins.iter().chain(&product).chain(&computes).chain(&later) {
            // SAFETY: both operations are alive.
            unsafe { mlir_sys::mlirOperationMoveBefore(op.to_raw(), end.to_raw()) };
        }
        let next = computes.first().or(later.first()).copied().unwrap_or(end);
        emit.before(next);
        wait_for_products(emit, 1);
        self.release(emit, rings, |ring| held[ring], leads)?;
        // Behind a branch ptxas waits for the products as early as it can, so this is where they are waited for.
        let place = later.first().copied().unwrap_or(end);
        let reduced = computes.iter().position(|op| TileOp::Reduce.is(*op));
        let behind_reduced = reduced.and_then(|at| computes.get(at + 1)).copied();
        emit.before(behind_reduced.unwrap_or(place));
        let index = argument_of(self.body, 0);
        let behind = emit
            .ir
            .value(ArithOp::Addi, &[index, step], &[], index.r#type());
        let next = self.next(emit, rings, behind, upper)?;
        emit.before(place);
        wait_for_products(emit, 0);
        its.release(emit, stages[self.last_ring], leads)?;
        emit.before(end);
        let yielded: Vec<IrValue<'c>> = yielded.into_iter().chain(next).collect();
        emit.ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
        Ok(())
    }

    /// Waits for what the first products of an iteration read, if there is that iteration, and gives the stages.
    fn next(
        &self,
        emit: &mut Emit<'c>,
        rings: &[Ring<'c>],
        index: IrValue<'c>,
        upper: IrValue<'c>,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        let more = emit.compare(LESS, index, upper);
        let (then, then_block) = region_with_block(&[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        let around = std::mem::replace(&mut emit.ir.insertion, Insertion::End(then_block));
        let own = self.rings.iter();
        let stages: Result<Vec<IrValue<'c>>, SemError> =
            own.map(|ring| rings[*ring].wait(emit)).collect();
        let stages = stages?;
        emit.ir.op(ScfOp::Yield, &stages, &[], &[]);
        emit.ir.insertion = Insertion::End(otherwise_block);
        let none = stages.iter().map(|_| emit.ir.constant(0, "i32"));
        let none: Vec<IrValue<'c>> = none.collect();
        emit.ir.op(ScfOp::Yield, &none, &[], &[]);
        emit.ir.insertion = around;
        let types: Vec<_> = stages.iter().map(|stage| stage.r#type()).collect();
        let regions = vec![then, otherwise];
        let branch = emit
            .ir
            .op_with_regions(ScfOp::If, &[more], &[], &types, regions);
        Ok(results_of(branch).collect())
    }

    /// Releases what the first products have read.
    fn release(
        &self,
        emit: &mut Emit<'c>,
        rings: &[Ring<'c>],
        stage: impl Fn(usize) -> IrValue<'c>,
        leads: IrValue<'c>,
    ) -> Result<(), SemError> {
        let mut own = self.rings.iter();
        own.try_for_each(|ring| rings[*ring].release(emit, stage(*ring), leads))
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

/// Lets an operation and those inside of it take other values.
fn renamed<'c>(op: IrOp<'c>, values: &HashMap<usize, IrValue<'c>>) {
    let mut inside = vec![op];
    collect_nested(op, &mut inside);
    for op in inside {
        for (index, operand) in operands_of(op).enumerate().collect::<Vec<_>>() {
            if let Some(value) = values.get(&value_key(operand)) {
                set_operand(op, index, *value);
            }
        }
    }
}

/// Emits operations once more, of other values; what they give is known then.
fn copied<'c>(emit: &Emit<'c>, ops: &[IrOp<'c>], known: &mut HashMap<usize, IrValue<'c>>) {
    for op in ops {
        let again = emit.ir.insert(clone(*op));
        renamed(again, known);
        let results = results_of(*op).enumerate().collect::<Vec<_>>();
        for (index, result) in results {
            known.insert(value_key(result), result_of(again, index));
        }
    }
}
