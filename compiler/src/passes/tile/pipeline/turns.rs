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
    /// Those of a loop with such products, and with other reads of the buffers; `None` where no load would run under a product.
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
            // Behind the last product nothing is begun.
            if last >= products.len() {
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
        let hidden = turns.groups.iter().any(|group| !turns.is_exposed(group));
        hidden.then_some(turns)
    }

    /// What becomes of the loads, in words.
    pub fn reason(&self) -> String {
        let exposed = self.groups.iter().filter(|group| self.is_exposed(group));
        let exposed: usize = exposed.map(|group| group.fills.len()).sum();
        let but = match exposed {
            0 => String::new(),
            _ => format!(", but for {exposed}, which the first product and the last one read"),
        };
        format!(
            "loads take turns: with one stage each is begun behind the last read of the one before, and runs under the other products{but}"
        )
    }

    /// Whether the products of an iteration all stand between the first and the last one that reads what is loaded: it is waited for at once.
    fn is_exposed(&self, group: &Group<'c>) -> bool {
        group.last - group.first + 1 == self.products
    }

    /// Whether it is under way from an iteration to the next.
    fn is_carried(group: &Group<'c>) -> bool {
        group.first > 0
    }

    /// Whether a product begins with what is waited for behind the one before.
    fn is_late(&self, number: usize) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| self.is_exposed(group) && group.first == number)
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
        let of_first = |(group, token): (&Group<'c>, &IrValue<'c>)| {
            (!Turns::is_carried(group)).then_some(*token)
        };
        let arrive: Vec<IrValue> = turns
            .groups
            .iter()
            .zip(&tokens)
            .filter_map(of_first)
            .collect();
        wait(&ir, Some(&arrive));
        let at = At {
            stage,
            iteration: Some(0),
        };
        let read = match self.products.first() {
            Some(product) if !turns.is_late(0) => product.read_ahead(&mut ir, 0, Some(at))?,
            _ => Operands::default(),
        };

        // The loop carries the first block, the numbers of what is begun next, and what is awaited within it.
        let carried = turns.groups.iter().map(Turns::is_carried);
        let groups = carried.zip(&tokens).filter(|(carried, _)| *carried);
        let groups: Vec<IrValue> = groups.map(|(_, token)| *token).collect();
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
        let under_way = turns.groups.iter().map(|group| match group {
            group if Turns::is_carried(group) => arguments.next(),
            _ => None,
        });
        let under_way: Vec<Option<IrValue>> = under_way.collect();
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
            let mut arrive = Vec::new();
            for (group, token) in turns.groups.iter().zip(&mut under_way) {
                if group.first == next && !turns.is_exposed(group) {
                    arrive.extend(token.take());
                }
            }
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
            let ahead = match is_last {
                true if turns.is_late(next) => Operands::default(),
                false if self.reduces_before(next) => Operands::default(),
                _ => self.products[next].read_ahead(ir, 0, Some(at(i64::from(is_last))))?,
            };
            sums = product.multiply(ir, product.blocks - 1, now, sums)?;
            now = ahead;
            all_sums.push(sums);
        }

        // What had no product to run under.
        let mut late = Vec::new();
        for (group, token) in turns.groups.iter().zip(&mut under_way) {
            if turns.is_exposed(group) {
                late.extend(token.take());
            }
        }
        wait(ir, Some(&late));
        let more = now.into_iter().flatten().chain(next_numbers);
        let more: Vec<IrValue> = more.chain(under_way.into_iter().flatten()).collect();
        self.finish(ir, new, all_sums, more.into_iter())
    }
}
