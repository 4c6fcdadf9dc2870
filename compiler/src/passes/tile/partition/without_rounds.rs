//! A loop of products that begin with zeros may have no round: its sums are the zeros then.
//!
//! The first product of such a loop reads no sums, and nothing is stored to their registers in front of it. Before: the loop, what waits for its products
//! and releases their stages, then the zeros, for which no round is needed. After: a branch with the loop and all that, and one with what
//! does not ask whether there was a round, and the zeros. Were there a way past the loop to where the sums are read without a store to them, ptxas
//! would keep what the registers held before, through all that is computed of the sums of the tile before; and zeros that
//! are stored on a way to the wait for the products make it serialize these.
use crate::passes::cmpi::{LESS, cmpi};
use crate::passes::ir_utils::{
    block_of, clone, collect_nested, defining_op, move_before, operations, parent, present,
    set_operand, users, uses,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, operands_of, operation_key, region_with_block, result_of,
    results_of, value_key,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{CuteOp, ScfOp, scf};
use cutec_dialects::semantics::SemError;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// The zeros of a loop.
#[derive(Clone, Copy)]
pub(super) struct Zeros<'c> {
    /// What waits for its products.
    pub wait: IrOp<'c>,
    /// What stores them, behind what releases its stages.
    pub store: IrOp<'c>,
}

/// Makes the branches for all loops of a kernel.
pub(super) fn branch<'c>(context: &'c Context, zeros: &[Zeros<'c>]) -> Result<(), SemError> {
    for (number, of) in zeros.iter().enumerate() {
        let is_same = |other: &&Zeros<'c>| other.wait == of.wait;
        if zeros[..number].iter().any(|other| is_same(&other)) {
            continue;
        }
        let stores: Vec<IrOp<'c>> = zeros.iter().filter(is_same).map(|it| it.store).collect();
        Stretch::of(of.wait, &stores)?.branch(context, &stores)?;
    }
    Ok(())
}

/// What goes into the branch.
struct Stretch<'c> {
    /// The loop, and what stands behind it up to the zeros.
    moved: Vec<IrOp<'c>>,
    inside: HashSet<usize>,
}

impl<'c> Stretch<'c> {
    /// That of a loop whose products an operation waits for, with these stores of zeros.
    fn of(wait: IrOp<'c>, stores: &[IrOp<'c>]) -> Result<Self, SemError> {
        let missing = || SemError::Illegal("waits for no loop".into());
        let here = operations(block_of(wait));
        let place = |op: IrOp<'c>| here.iter().position(|other| *other == op);
        let behind = place(wait).ok_or_else(missing)?;
        let of = here[..behind].iter().rposition(|op| ScfOp::For.is(*op));
        let of = of.ok_or_else(missing)?;
        let end = stores.iter().filter_map(|store| place(*store)).min();
        let all = &here[of..end.ok_or_else(missing)?];
        let mut stretch = Stretch {
            moved: all.to_vec(),
            inside: all.iter().map(|op| operation_key(*op)).collect(),
        };
        stretch
            .leave_out(|op| op != here[of] && (has_no_effect(op) || CuteOp::MemrefAlloca.is(op)));
        Ok(stretch)
    }

    /// Leaves out what may be computed elsewhere for others: what nothing inside takes stays behind the branch, and what is taken there as well comes in
    /// front of it.
    fn leave_out(&mut self, may_be: impl Fn(IrOp<'c>) -> bool) {
        let of = self.moved[0];
        let candidates: Vec<IrOp<'c>> = self
            .moved
            .iter()
            .copied()
            .filter(|op| may_be(*op))
            .collect();
        for op in candidates.iter().rev() {
            let mut users = results_of(*op).flat_map(users);
            if users.all(|user| self.is_outside(user)) {
                self.inside.remove(&operation_key(*op));
            }
        }
        for op in candidates {
            let mut users = results_of(op).flat_map(users);
            let mut made = operands_of(op).filter_map(defining_op);
            if self.inside.contains(&operation_key(op))
                && users.any(|user| self.is_outside(user))
                && made.all(|made| self.is_outside(made))
            {
                self.inside.remove(&operation_key(op));
                move_before(op, of);
            }
        }
        let inside = &self.inside;
        self.moved.retain(|op| inside.contains(&operation_key(*op)));
    }

    fn is_outside(&self, op: IrOp) -> bool {
        let mut around = std::iter::successors(Some(op), |op| parent(*op));
        around.all(|op| !self.inside.contains(&operation_key(op)))
    }

    /// Uses of a value outside.
    fn uses_outside(&self, value: IrValue<'c>) -> Vec<(IrOp<'c>, usize)> {
        let mut uses = uses(value);
        uses.retain(|(user, _)| self.is_outside(*user));
        uses
    }

    /// Puts it into a branch for some rounds, beside one for none with the stores.
    fn branch(self, context: &'c Context, stores: &[IrOp<'c>]) -> Result<(), SemError> {
        let of = self.moved[0];
        let bounds = present(scf::For::of(of))?;
        let results = self.moved.iter().flat_map(|op| results_of(*op));
        let given = results.map(|result| (result, self.uses_outside(result)));
        let given: Vec<_> = given.filter(|(_, uses)| !uses.is_empty()).collect();

        let mut ir = OpBuilder::new(context, Insertion::Before(of));
        ir.location = of.location();
        let some = cmpi(&ir, LESS, bounds.lower(), bounds.upper());
        let [(rounds, with), (none, without)] = [region_with_block(&[]), region_with_block(&[])];
        ir.insertion = Insertion::End(without);
        let instead = self.without_rounds(&ir);
        let yielded = given
            .iter()
            .map(|(value, _)| instead.get(&value_key(*value)).copied().unwrap_or(*value));
        let yielded: Vec<IrValue<'c>> = yielded.collect();
        let last = ir.op(ScfOp::Yield, &yielded, &[], &[]);
        for store in stores {
            move_before(*store, last);
        }
        ir.insertion = Insertion::End(with);
        let values: Vec<IrValue<'c>> = given.iter().map(|(value, _)| *value).collect();
        let last = ir.op(ScfOp::Yield, &values, &[], &[]);

        ir.insertion = Insertion::Before(of);
        let types: Vec<_> = values.iter().map(|value| value.r#type()).collect();
        let regions = vec![rounds, none];
        let branch = ir.op_with_regions(ScfOp::If, &[some], &[], &types, regions);
        for (index, (_, uses)) in given.into_iter().enumerate() {
            for (user, operand) in uses {
                set_operand(user, operand, result_of(branch, index));
            }
        }
        for op in self.moved {
            move_before(op, last);
        }
        Ok(())
    }

    /// What stands behind the loop, without it; gives what is there in place of each result.
    fn without_rounds(&self, ir: &OpBuilder<'c>) -> HashMap<usize, IrValue<'c>> {
        // The loop gives what it begins with.
        let begins = operands_of(self.moved[0]).skip(3);
        let results = results_of(self.moved[0]).map(value_key);
        let mut instead: HashMap<usize, IrValue<'c>> = results.zip(begins).collect();
        for op in &self.moved[1..] {
            let copy = ir.insert(clone(*op));
            replace_inside(copy, &instead);
            instead.extend(results_of(*op).map(value_key).zip(results_of(copy)));
        }
        instead
    }
}

/// Lets an operation, with what it holds, take other values.
fn replace_inside<'c>(op: IrOp<'c>, instead: &HashMap<usize, IrValue<'c>>) {
    let mut all = vec![op];
    collect_nested(op, &mut all);
    for inner in all {
        for (index, value) in operands_of(inner).enumerate() {
            if let Some(other) = instead.get(&value_key(value)) {
                set_operand(inner, index, *other);
            }
        }
    }
}
