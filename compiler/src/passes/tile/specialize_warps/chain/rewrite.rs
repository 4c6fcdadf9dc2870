//! The rewriting of a loop of chained products.
use super::super::super::emits::Emits;
use super::super::super::stages::DEPTH;
use super::super::consumers::wait_for_products;
use super::super::emit::Emit;
use super::super::ring::Ring;
use super::{Chain, taken};
use crate::passes::cmpi::LESS;
use crate::passes::ir_utils::{
    borrowed, clone, collect_nested, defining_op, erase, is_in_block, move_before,
    named_attributes, operations, replace_all_uses, set_operand,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, argument_of, operands_of, operation_key, region_with_block,
    result_of, results_of, value_key,
};
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, scf, tile};
use cutec_dialects::semantics::SemError;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, Region, RegionLike, Type, TypeLike, Value, ValueLike};
use std::collections::{HashMap, HashSet};

/// Where the rings of the kernel stand in a loop.
pub(in super::super) struct Waits<'a, 'c> {
    pub rings: &'a [Ring<'c>],
    /// The operations that wait for a stage of each ring, and the stages.
    pub ops: &'a [Vec<IrOp<'c>>],
    pub stages: &'a [IrValue<'c>],
    /// Whether the thread is the one that releases them.
    pub leads: IrValue<'c>,
}

impl<'c> Waits<'_, 'c> {
    /// Releases a stage of a ring.
    fn release(
        &self,
        emit: &mut Emit<'c>,
        ring: usize,
        stage: IrValue<'c>,
    ) -> Result<(), SemError> {
        let ring = &self.rings[ring];
        ring.fence_reads(emit);
        ring.release(emit, stage, self.leads)
    }
}

/// What the operations of the body are to the new loop.
struct Parts<'c> {
    /// The first products with what they take.
    begins: Vec<IrOp<'c>>,
    /// What takes their sums.
    computes: Vec<IrOp<'c>>,
    /// What takes the sums of the last product of the iteration before.
    later: Vec<IrOp<'c>>,
    /// The last product with what it alone reads.
    product: Vec<IrOp<'c>>,
    /// The sums that it adds to.
    sums: IrValue<'c>,
    /// What it takes of the others, which is carried to the next iteration.
    carried: Vec<IrValue<'c>>,
    end: IrOp<'c>,
}

impl<'c> Parts<'c> {
    fn of(chain: &Chain<'c>, waits: &Waits<'_, 'c>) -> Option<Self> {
        let sums = tile::Dot::of(chain.last)?.c();
        let mut all = operations(chain.body);
        let end = all.pop()?;
        let behind: HashSet<usize> = waits.rings[chain.last_ring]
            .reads()
            .chain(waits.ops[chain.last_ring].iter().copied())
            .chain([chain.last])
            .map(operation_key)
            .collect();
        let is_behind = |op: &IrOp<'c>| behind.contains(&operation_key(*op));
        let (late, computed) = (chain.late(), chain.computed());
        let (product, others): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) =
            all.into_iter().partition(is_behind);
        let (later, ahead): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) =
            (others.into_iter()).partition(|op| late.contains(&operation_key(*op)));
        let begun = ahead.iter().rposition(|op| chain.first.contains(op))?;
        let (begun, rest) = ahead.split_at(begun + 1);
        let (mut computes, begins): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) =
            (begun.iter()).partition(|op| computed.contains(&operation_key(**op)));
        computes.extend(rest);

        let mut carried: Vec<IrValue<'c>> = Vec::new();
        for value in product.iter().flat_map(|op| taken(*op)) {
            let inside = match defining_op(value) {
                Some(op) => is_in_block(op, chain.body) && !is_behind(&op),
                None => (0..chain.body.argument_count())
                    .any(|index| argument_of(chain.body, index) == value),
            };
            if inside && value != sums && !carried.contains(&value) {
                carried.push(value);
            }
        }
        Some(Parts {
            begins,
            computes,
            later,
            product,
            sums,
            carried,
            end,
        })
    }

    /// What an iteration gives to the next one: the sums as its last product takes them, and what that takes.
    fn yielded(&self, slot: usize) -> Vec<IrValue<'c>> {
        let own = operands_of(self.end).enumerate();
        let own = own.map(|(index, value)| if index == slot { self.sums } else { value });
        own.chain(self.carried.iter().copied()).collect()
    }
}

struct Rewrite<'a, 'c> {
    chain: Chain<'c>,
    emit: &'a mut Emit<'c>,
    waits: Waits<'a, 'c>,
    parts: Parts<'c>,
    lower: IrValue<'c>,
    upper: IrValue<'c>,
    step: IrValue<'c>,
    /// What the loop begins with.
    initial: Vec<IrValue<'c>>,
}

impl<'c> Chain<'c> {
    /// Rewrites the loop.
    pub fn apply(self, emit: &mut Emit<'c>, waits: Waits<'_, 'c>) -> Result<(), SemError> {
        let missing = || SemError::Illegal("is no loop of chained products".into());
        let bounds = scf::For::of(self.of).ok_or_else(missing)?;
        let parts = Parts::of(&self, &waits).ok_or_else(missing)?;
        let initial = operands_of(self.of).skip(3).collect();
        let rewrite = Rewrite {
            chain: self,
            emit,
            waits,
            parts,
            lower: bounds.lower(),
            upper: bounds.upper(),
            step: bounds.step(),
            initial,
        };
        rewrite.apply()
    }
}

impl<'c> Rewrite<'_, 'c> {
    fn apply(mut self) -> Result<(), SemError> {
        let (of, initial) = (self.chain.of, self.initial.clone());
        self.emit.before(of);
        self.emit.ir.location = of.location();
        let any = self.emit.compare(LESS, self.lower, self.upper);
        let (then, then_block) = region_with_block(&[]);
        self.emit.ir.insertion = Insertion::End(then_block);
        let (second, begin) = self.first_iteration()?;
        let rest = self.rest(second, &begin);
        let results = self.last_product(rest)?;
        self.emit.ir.op(ScfOp::Yield, &results, &[], &[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        self.emit.ir.insertion = Insertion::End(otherwise_block);
        self.emit.ir.op(ScfOp::Yield, &initial, &[], &[]);
        self.emit.before(of);
        let types: Vec<_> = initial.iter().map(|value| value.r#type()).collect();
        let branch =
            (self.emit.ir).op_with_regions(ScfOp::If, &[any], &[], &types, vec![then, otherwise]);
        for index in 0..initial.len() {
            replace_all_uses(result_of(of, index), result_of(branch, index));
        }
        erase(of);
        self.body()
    }

    /// The first iteration without its last product: the index of the second one, and what that begins with.
    fn first_iteration(&mut self) -> Result<(IrValue<'c>, Vec<IrValue<'c>>), SemError> {
        let (chain, parts) = (&self.chain, &self.parts);
        let (lower, step) = (self.lower, self.step);
        let mut known = HashMap::from([(value_key(argument_of(chain.body, 0)), lower)]);
        for (index, value) in self.initial.iter().enumerate() {
            known.insert(value_key(chain.argument(index)), *value);
        }
        copied(self.emit, &parts.begins, &mut known);
        wait_for_products(self.emit, 0);
        let stages = self.waits.stages.iter();
        let stages: Vec<IrValue<'c>> = stages.map(|stage| current(&known, *stage)).collect();
        self.release(&stages)?;
        let (chain, parts) = (&self.chain, &self.parts);
        copied(self.emit, &parts.computes, &mut known);
        copied(self.emit, &parts.later, &mut known);
        let ir = &self.emit.ir;
        let second = ir.value(ArithOp::Addi, &[lower, step], &[], lower.r#type());
        let yielded = parts.yielded(chain.slot);
        let next = self.next(second)?;
        let yielded = yielded.into_iter().map(|value| current(&known, value));
        Ok((second, yielded.chain(next).collect()))
    }

    /// The loop from the second iteration on, with the body of the old one.
    fn rest(&mut self, second: IrValue<'c>, begin: &[IrValue<'c>]) -> IrOp<'c> {
        let mut operands = vec![second, self.upper, self.step];
        operands.extend(begin);
        let types: Vec<_> = begin.iter().map(|value| value.r#type()).collect();
        let mut attrs = named_attributes(self.chain.of);
        attrs.retain(|(name, _)| name != DEPTH);
        let region = Region::new();
        if let Ok(old) = self.chain.of.region(0) {
            // SAFETY: both regions are alive.
            unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw()) };
        }
        let attrs = borrowed(&attrs);
        (self.emit.ir).op_with_regions(ScfOp::For, &operands, &attrs, &types, vec![region])
    }

    /// The last product of the last iteration, behind the new loop, and what the old loop gave.
    fn last_product(&mut self, rest: IrOp<'c>) -> Result<Vec<IrValue<'c>>, SemError> {
        let (chain, parts) = (&self.chain, &self.parts);
        let mut known = HashMap::new();
        known.insert(value_key(parts.sums), result_of(rest, chain.slot));
        for (index, value) in parts.carried.iter().enumerate() {
            let result = result_of(rest, self.initial.len() + index);
            known.insert(value_key(*value), result);
        }
        copied(self.emit, &parts.product, &mut known);
        wait_for_products(self.emit, 0);
        let stage = current(&known, self.waits.stages[chain.last_ring]);
        self.waits.release(self.emit, chain.last_ring, stage)?;
        let done = known[&value_key(result_of(chain.last, 0))];
        let results = (0..self.initial.len()).map(|index| match index == chain.slot {
            true => done,
            false => result_of(rest, index),
        });
        Ok(results.collect())
    }

    /// The body: its last product takes what is carried, and the others its sums.
    fn body(mut self) -> Result<(), SemError> {
        let yielded = self.parts.yielded(self.chain.slot);
        let (argument, own) = (
            self.chain.argument(self.chain.slot),
            result_of(self.chain.last, 0),
        );
        replace_all_uses(argument, own);
        let sums = self.parts.sums;
        let mut arguments =
            HashMap::from([(value_key(own), argument), (value_key(sums), argument)]);
        for value in &self.parts.carried {
            arguments.insert(value_key(*value), self.add_argument(value.r#type()));
        }
        for op in &self.parts.product {
            renamed(*op, &arguments);
        }
        let mut held = self.waits.stages.to_vec();
        for ring in &self.chain.rings {
            held[*ring] = self.add_argument(held[*ring].r#type());
            replace_all_uses(self.waits.stages[*ring], held[*ring]);
        }
        self.order();

        let Parts {
            computes,
            later,
            end,
            ..
        } = &self.parts;
        let (end, late) = (*end, later.first().copied().unwrap_or(*end));
        let reduced = computes.iter().position(|op| TileOp::Reduce.is(*op));
        let behind_reduced = reduced.and_then(|at| computes.get(at + 1)).copied();
        self.emit.before(computes.first().copied().unwrap_or(late));
        wait_for_products(self.emit, 1);
        self.release(&held)?;
        // Behind a branch ptxas waits for the products as early as it can, so this is where they are waited for.
        self.emit.before(behind_reduced.unwrap_or(late));
        let (index, step) = (argument_of(self.chain.body, 0), self.step);
        let ir = &self.emit.ir;
        let behind = ir.value(ArithOp::Addi, &[index, step], &[], index.r#type());
        let next = self.next(behind)?;
        self.emit.before(late);
        wait_for_products(self.emit, 0);
        let last = self.chain.last_ring;
        self.waits
            .release(self.emit, last, self.waits.stages[last])?;
        self.emit.before(end);
        let yielded = yielded.into_iter();
        let yielded = yielded.map(|value| if value == argument { own } else { value });
        let yielded: Vec<IrValue<'c>> = yielded.chain(next).collect();
        self.emit.ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
        Ok(())
    }

    /// Another argument of the body, which the loop carries.
    fn add_argument(&self, ty: Type<'c>) -> IrValue<'c> {
        // SAFETY: the block and the context are alive.
        unsafe {
            let location = self.emit.ir.location.to_raw();
            let body = self.chain.body.to_raw();
            Value::from_raw(mlir_sys::mlirBlockAddArgument(body, ty.to_raw(), location))
        }
    }

    /// Puts the operations of the body in their new order; what the first products read was awaited in the iteration before.
    fn order(&self) {
        let parts = &self.parts;
        let awaited = self
            .chain
            .rings
            .iter()
            .flat_map(|ring| &self.waits.ops[*ring]);
        let awaited: HashSet<usize> = awaited.map(|op| operation_key(*op)).collect();
        let (awaits, begins): (Vec<IrOp<'c>>, Vec<IrOp<'c>>) =
            (parts.begins.iter()).partition(|op| awaited.contains(&operation_key(**op)));
        awaits.into_iter().rev().for_each(erase);
        let ordered = begins.iter().chain(&parts.product);
        for op in ordered.chain(&parts.computes).chain(&parts.later) {
            move_before(*op, parts.end);
        }
    }

    /// Waits for what the first products of an iteration read, if there is that iteration, and gives the stages.
    fn next(&mut self, index: IrValue<'c>) -> Result<Vec<IrValue<'c>>, SemError> {
        let more = self.emit.compare(LESS, index, self.upper);
        let (then, then_block) = region_with_block(&[]);
        let (otherwise, otherwise_block) = region_with_block(&[]);
        let around = std::mem::replace(&mut self.emit.ir.insertion, Insertion::End(then_block));
        let mut stages: Vec<IrValue<'c>> = Vec::new();
        for ring in &self.chain.rings {
            stages.push(self.waits.rings[*ring].wait(self.emit)?);
        }
        self.emit.ir.op(ScfOp::Yield, &stages, &[], &[]);
        self.emit.ir.insertion = Insertion::End(otherwise_block);
        let none = stages.iter().map(|_| self.emit.ir.constant(0, "i32"));
        let none: Vec<IrValue<'c>> = none.collect();
        self.emit.ir.op(ScfOp::Yield, &none, &[], &[]);
        self.emit.ir.insertion = around;
        let types: Vec<_> = stages.iter().map(|stage| stage.r#type()).collect();
        let regions = vec![then, otherwise];
        let branch = (self.emit.ir).op_with_regions(ScfOp::If, &[more], &[], &types, regions);
        Ok(results_of(branch).collect())
    }

    /// Releases what the first products have read: of each ring of the kernel this stage.
    fn release(&mut self, stages: &[IrValue<'c>]) -> Result<(), SemError> {
        let mut own = self.chain.rings.iter();
        own.try_for_each(|ring| self.waits.release(self.emit, *ring, stages[*ring]))
    }
}

/// What a value is by now.
fn current<'c>(known: &HashMap<usize, IrValue<'c>>, value: IrValue<'c>) -> IrValue<'c> {
    known.get(&value_key(value)).copied().unwrap_or(value)
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
