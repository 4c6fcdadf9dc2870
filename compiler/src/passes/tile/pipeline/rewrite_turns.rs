//! Rewrites a loop whose loads take turns (`turns.rs`).
use super::k_blocks::{At, Operands};
use super::plan::Plan;
use super::rewrite::{Brings, Round, wait};
use super::turns::{Group, Turns};
use crate::passes::additional_yields::with_additional_yields;
use crate::passes::ir_utils::{erase, operations};
use crate::passes::tile::rematerialize::Bounds;
use crate::passes::tile::types::{Failed, present};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, argument_of, result_of};
use melior::Context;
use melior::ir::operation::OperationLike;

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
