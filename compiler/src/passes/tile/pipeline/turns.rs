//! Loads that take turns: buffers of one stage in a loop of several products.
//!
//! Before: a loop with copies to buffers that its products read, one of each. After: a copy for the next iteration is begun when the last
//! product that reads its buffer has read it, behind a barrier, and awaited in front of the first one that does: it runs under those in
//! between, which read other buffers. So attention loads values while scores are computed, and the next keys while values are weighed.
//!
//! ```text
//! copy keys → commit k; copy values → commit v; wait k
//! for …, carries v
//!   product of queries and keys, in front of whose last block of k:
//!     wait v; copy the next keys → commit k
//!   product of weights and values, in front of whose last block of k:
//!     wait k; copy the next values → commit v; read the first block of keys
//! ```
use super::gathered::Gathered;
use super::k_blocks::{At, Operands, Product, buffer_of};
use super::plan::{Plan, Producer};
use super::rewrite::{Brings, Round, wait};
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::ir_utils::{erase, is_in_block, operations, parent};
use crate::passes::tile::rematerialize::Bounds;
use crate::passes::tile::types::{Failed, present};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, result_of,
};
use melior::Context;
use melior::ir::operation::OperationLike;

/// When the loads of a loop are begun and awaited.
pub(super) struct Turns<'c> {
    /// Those that are begun and awaited together, in the order of the first product that reads them.
    groups: Vec<Group<'c>>,
    products: usize,
}

/// Loads that are begun and awaited together.
struct Group<'c> {
    /// What fills the buffers.
    fills: Vec<IrOp<'c>>,
    /// The first and the last product that reads them.
    first: usize,
    last: usize,
}

impl<'c> Turns<'c> {
    /// What becomes of the loads.
    pub const REASON: &'static str = "loads take turns: with one stage each is begun behind the last read of the one before, and runs under another product";

    /// Those of a loop with such products, and with other reads of the buffers; `None` where a load had no product to run under.
    pub fn of(
        body: IrBlock<'c>,
        (producers, gathered): (&[Producer<'c>], &[Gathered<'c>]),
        products: &[Product<'c>],
        reads: &[IrOp<'c>],
    ) -> Option<Self> {
        let asynchronous = (producers.iter()).all(|tile| matches!(tile, Producer::Copy(_)))
            && gathered.iter().all(Gathered::is_asynchronous);
        if !asynchronous {
            return None;
        }
        let mut turns = Turns {
            groups: Vec::new(),
            products: products.len(),
        };
        let fills = producers.iter().map(Producer::fill);
        for fill in fills.chain(gathered.iter().map(|tile| tile.fill)) {
            let buffer = Some(buffer_of(fill)?);
            let of_products = (0..).zip(products).filter(|(_, product)| {
                let reads = product.factors.iter().filter_map(|factor| factor.read());
                reads.into_iter().any(|read| buffer_of(read) == buffer)
            });
            let others = reads.iter().filter(|read| buffer_of(**read) == buffer);
            let others = others.map(|read| products_before(*read, body, products));
            let readers: Vec<usize> = of_products.map(|(at, _)| at).chain(others).collect();
            let (first, last) = (*readers.iter().min()?, *readers.iter().max()?);
            // Behind the last product nothing is begun, and what the first and the last one read would be waited for at once.
            if last >= products.len() || last - first + 1 == products.len() {
                return None;
            }
            let mut groups = turns.groups.iter_mut();
            match groups.find(|group| (group.first, group.last) == (first, last)) {
                Some(group) => group.fills.push(fill),
                None => turns.groups.push(Group {
                    fills: vec![fill],
                    first,
                    last,
                }),
            }
        }
        turns.groups.sort_by_key(|group| (group.first, group.last));
        Some(turns)
    }

    /// The groups that are awaited in front of a product, by their number.
    fn awaited(&self, product: usize) -> impl Iterator<Item = usize> {
        let groups = (0..).zip(&self.groups);
        groups.filter_map(move |(at, group)| (group.first == product).then_some(at))
    }

    /// Those that are under way from an iteration to the next.
    fn carried(&self) -> impl Iterator<Item = usize> {
        let groups = (0..).zip(&self.groups);
        groups.filter_map(|(at, group)| (group.first > 0).then_some(at))
    }
}

/// How many products stand in front of an operation of a body, or of a branch there.
fn products_before<'c>(op: IrOp<'c>, body: IrBlock<'c>, products: &[Product<'c>]) -> usize {
    let mut around = std::iter::successors(Some(op), |op| parent(*op));
    let op = around.find(|op| is_in_block(*op, body)).unwrap_or(op);
    let before = operations(body).into_iter().take_while(|at| *at != op);
    before
        .filter(|at| products.iter().any(|product| product.dot == *at))
        .count()
}

impl<'c> Plan<'c> {
    /// Rewrites a loop whose loads take turns.
    pub fn take_turns(self, context: &'c Context, turns: Turns<'c>) -> Result<(), Failed<'c>> {
        let mut ir = OpBuilder::new(context, Insertion::Before(self.of));
        ir.location = self.of.location();
        let bounds = Bounds::of(self.of)?;

        // The first iteration is under way before the loop.
        let [now, ahead] = &self.numbers.of_first(&mut ir, bounds, 2)?[..] else {
            return Err((self.of, "has no numbers of two iterations".into()));
        };
        let stage = ir.constant(0, "i32");
        let round = Round {
            index: bounds.lower,
            upper: bounds.upper,
            numbers: now.clone(),
        };
        let mut tokens = Vec::new();
        for group in &turns.groups {
            tokens.push(self.begin(&mut ir, &round, (stage, group), 0)?);
        }
        let first: Vec<IrValue> = turns.awaited(0).map(|group| tokens[group]).collect();
        wait(&ir, Some(&first));
        let at = At {
            stage,
            iteration: Some(0),
        };
        let read = match self.products.first() {
            Some(product) => product.read_ahead(&mut ir, 0, Some(at))?,
            None => Operands::default(),
        };

        // The loop carries the first block, the numbers of what is begun next, and what is awaited within it.
        let groups: Vec<IrValue> = turns.carried().map(|group| tokens[group]).collect();
        let read_before = read.into_iter().flatten();
        let kept: Vec<IrValue> = read_before.chain(ahead.iter().copied()).collect();
        let before = self.of.result_count() + kept.len();
        let more = [&kept[..], &groups[..]].concat();
        let (new, arguments) = with_additional_yields(&ir, self.of, &[], &more);
        let left: Vec<IrValue> = (0..groups.len())
            .map(|index| result_of(new, before + index))
            .collect();
        let mut arguments = arguments.into_iter();
        let read = read.map(|read| read.map(|read| arguments.next().unwrap_or(read)));
        let numbers: Vec<IrValue> = arguments.by_ref().take(ahead.len()).collect();
        let mut under_way = vec![None; tokens.len()];
        for group in turns.carried() {
            under_way[group] = arguments.next();
        }
        let old = self.of;
        self.iteration_in_turns(&mut ir, new, turns, (read, numbers, under_way))?;
        ir.insertion = Insertion::Before(old);
        wait(&ir, Some(&left));
        erase(old);
        Ok(())
    }

    /// Begins the loads of a group for an iteration.
    fn begin(
        &self,
        ir: &mut OpBuilder<'c>,
        round: &Round<'c>,
        (stage, group): (IrValue<'c>, &Group<'c>),
        iteration: i64,
    ) -> Result<IrValue<'c>, Failed<'c>> {
        let brings: Brings<'_, 'c> = &|fill, _| group.fills.contains(&fill);
        let fetched = self.fetch(ir, round, (stage, brings), iteration)?;
        present(self.of, fetched.group)
    }

    /// What an iteration does with the first block of k, the numbers of the next iteration, and the groups that are under way.
    fn iteration_in_turns(
        self,
        ir: &mut OpBuilder<'c>,
        new: IrOp<'c>,
        turns: Turns<'c>,
        (mut now, numbers, mut under_way): (
            Operands<'c>,
            Vec<IrValue<'c>>,
            Vec<Option<IrValue<'c>>>,
        ),
    ) -> Result<(), Failed<'c>> {
        let Some(first) = operations(self.body).into_iter().next() else {
            return Err((new, "has no end".into()));
        };
        ir.insertion = Insertion::Before(first);
        let stage = ir.constant(0, "i32");
        self.prepare(ir, stage);
        let bounds = Bounds::of(new)?;
        let (mut all_sums, mut next_numbers) = (Vec::new(), Vec::new());
        let at = |iteration| At {
            stage,
            iteration: Some(iteration),
        };
        for (number, product) in self.products.iter().enumerate() {
            let mut sums = product.sums()?;
            ir.insertion = Insertion::Before(product.dot);
            ir.location = product.dot.location();
            now = product.complete(ir, 0, at(0), now)?;
            for block in 0..product.blocks - 1 {
                let next = product.read(ir, block + 1, Some(at(0)))?;
                sums = product.multiply(ir, block, now, sums)?;
                now = next;
            }

            // All that it reads is in registers: what the next product reads has to be there, and what this one read last makes room.
            let next = (number + 1) % turns.products;
            let is_last = next == 0;
            let arrive = turns.awaited(next);
            let arrive: Vec<IrValue> = arrive.filter_map(|group| under_way[group].take()).collect();
            wait(ir, Some(&arrive));
            for (group, token) in turns.groups.iter().zip(&mut under_way) {
                if group.last == number {
                    let round = Round {
                        index: bounds.ahead(ir, argument_of(self.body, 0), 1),
                        upper: bounds.upper,
                        numbers: numbers.clone(),
                    };
                    *token = Some(self.begin(ir, &round, (stage, group), 1)?);
                }
            }
            if number == 0 {
                next_numbers = self.numbers.ahead(ir, bounds, 2)?;
            }
            let ahead = match !is_last && self.reduces_before(next) {
                true => Operands::default(),
                false => self.products[next].read_ahead(ir, 0, Some(at(i64::from(is_last))))?,
            };
            sums = product.multiply(ir, product.blocks - 1, now, sums)?;
            now = ahead;
            all_sums.push(sums);
        }

        let more = now.into_iter().flatten().chain(next_numbers);
        let more: Vec<IrValue> = more.chain(under_way.into_iter().flatten()).collect();
        self.finish(ir, new, all_sums, more.into_iter())
    }
}
