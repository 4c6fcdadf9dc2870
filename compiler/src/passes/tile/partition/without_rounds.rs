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
use cutec_dialects::ops::{ScfOp, scf};
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
        branch_of(context, of.wait, &stores)?;
    }
    Ok(())
}

fn branch_of<'c>(
    context: &'c Context,
    wait: IrOp<'c>,
    stores: &[IrOp<'c>],
) -> Result<(), SemError> {
    let missing = || SemError::Illegal("waits for no loop".into());
    let here = operations(block_of(wait));
    let place = |op: IrOp<'c>| here.iter().position(|other| *other == op);
    let behind = place(wait).ok_or_else(missing)?;
    let of = here[..behind].iter().rposition(|op| ScfOp::For.is(*op));
    let of = of.ok_or_else(missing)?;
    let end = stores.iter().filter_map(|store| place(*store)).min();
    let all = &here[of..end.ok_or_else(missing)?];
    let bounds = present(scf::For::of(here[of]))?;

    // What is computed there for others stays: behind the branch, or in front of it where it is needed inside as well.
    let mut inside: HashSet<usize> = all.iter().map(|op| operation_key(*op)).collect();
    let computes = |op: &IrOp<'c>| *op != here[of] && has_no_effect(*op);
    for op in all.iter().rev().copied().filter(computes) {
        let mut users = results_of(op).flat_map(users);
        if users.all(|user| !stands_in(user, &inside)) {
            inside.remove(&operation_key(op));
        }
    }
    for op in all.iter().copied().filter(computes) {
        let is_given = results_of(op)
            .flat_map(users)
            .any(|user| !stands_in(user, &inside));
        let mut made = operands_of(op).filter_map(defining_op);
        if inside.contains(&operation_key(op))
            && is_given
            && made.all(|made| !stands_in(made, &inside))
        {
            inside.remove(&operation_key(op));
            move_before(op, here[of]);
        }
    }
    let moved: Vec<IrOp<'c>> = all
        .iter()
        .copied()
        .filter(|op| inside.contains(&operation_key(*op)))
        .collect();
    let is_outside = |user: &(IrOp<'c>, usize)| !stands_in(user.0, &inside);
    let results = moved.iter().flat_map(|op| results_of(*op));
    let given: Vec<IrValue<'c>> = results
        .filter(|result| uses(*result).iter().any(is_outside))
        .collect();

    let mut ir = OpBuilder::new(context, Insertion::Before(here[of]));
    ir.location = here[of].location();
    let some = cmpi(&ir, LESS, bounds.lower(), bounds.upper());
    let [(with_rounds, with), (without_rounds, without)] =
        [region_with_block(&[]), region_with_block(&[])];
    // Without a round a loop gives what it begins with.
    let begins = operands_of(here[of]).skip(3);
    let mut instead: HashMap<usize, IrValue<'c>> =
        results_of(here[of]).map(value_key).zip(begins).collect();
    ir.insertion = Insertion::End(without);
    for op in &moved[1..] {
        let copy = ir.insert(clone(*op));
        replace_inside(copy, &instead);
        let copies = (0..op.result_count())
            .map(|index| (value_key(result_of(*op, index)), result_of(copy, index)));
        instead.extend(copies);
    }
    let yielded: Vec<IrValue<'c>> = given
        .iter()
        .map(|value| instead.get(&value_key(*value)).copied().unwrap_or(*value))
        .collect();
    let last = ir.op(ScfOp::Yield, &yielded, &[], &[]);
    for store in stores {
        move_before(*store, last);
    }
    ir.insertion = Insertion::End(with);
    let last = ir.op(ScfOp::Yield, &given, &[], &[]);

    ir.insertion = Insertion::Before(here[of]);
    let types: Vec<_> = given.iter().map(|value| value.r#type()).collect();
    let regions = vec![with_rounds, without_rounds];
    let branch = ir.op_with_regions(ScfOp::If, &[some], &[], &types, regions);
    for (index, value) in given.iter().enumerate() {
        for (user, operand) in uses(*value).into_iter().filter(is_outside) {
            if user != last {
                set_operand(user, operand, result_of(branch, index));
            }
        }
    }
    for op in moved {
        move_before(op, last);
    }
    Ok(())
}

/// Whether an operation is one of some, or stands in one.
fn stands_in(op: IrOp, some: &HashSet<usize>) -> bool {
    std::iter::successors(Some(op), |op| parent(*op)).any(|op| some.contains(&operation_key(op)))
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
