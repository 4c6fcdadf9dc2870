//! `tile-speculate`: branches that only compute numbers become selects.
//!
//! Before: `%row = scf.if %c -> i32 { yield %a } else { %b = arith.addi …; yield %b }`. After: `%b = arith.addi …`,
//! `%row = arith.select %c, %a, %b`. What a coordinate is computed of a role that only loads can compute again, a
//! branch it cannot (`specialize_warps/producer.rs`). A branch that reads memory, divides or is long stays.
use super::known_ops::checked_ops;
use super::types::Failed;
use crate::passes::Reported;
use crate::passes::ir_utils::{
    Kernel, blocks, erase, for_each_kernel, move_before, operations, replace_all_uses,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, operands_of, result_of, results_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, Op, ScfOp};
use melior::Context;
use melior::ir::{TypeLike, ValueLike, operation::OperationLike};

/// Operations of a branch that are computed whether it is taken or not.
const MOST: usize = 16;

/// Makes selects of short branches in every kernel of the module.
///
/// # Errors
/// An operation that is not known at the tile level.
pub fn speculate<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        // What was inside of a branch is looked at again once that is gone.
        while let Some(branch) = checked_ops(function)?.into_iter().find(|op| is_short(*op)) {
            flatten(context, branch);
        }
        Ok::<_, Failed>(())
    })
}

/// Whether both branches do nothing but compute a few integers.
fn is_short(op: IrOp) -> bool {
    let integers = || results_of(op).all(|value| value.r#type().is_integer());
    op.result_count() > 0 && integers() && has_few(op, is_safe)
}

/// Whether it is a branch of which both sides have a few operations, such ones alone.
pub(super) fn has_few<'c>(op: IrOp<'c>, allowed: impl Fn(IrOp<'c>) -> bool) -> bool {
    ScfOp::If.is(op)
        && op.region_count() == 2
        && op.attribute("cute.guard").is_err()
        && (0..2).all(|region| match blocks(op, region)[..] {
            [] => true,
            [block] => {
                let mut inside = operations(block);
                inside.pop();
                inside.len() <= MOST && inside.into_iter().all(&allowed)
            }
            _ => false,
        })
}

/// Puts what both sides of a branch compute in front of it; gives what each yields.
pub(super) fn put_ahead<'c>(branch: IrOp<'c>) -> [Vec<IrValue<'c>>; 2] {
    [0, 1].map(|region| {
        let mut yielded = Vec::new();
        for block in blocks(branch, region) {
            let mut inside = operations(block);
            yielded.extend(inside.pop().into_iter().flat_map(operands_of));
            inside.into_iter().for_each(|op| move_before(op, branch));
        }
        yielded
    })
}

/// Whether an operation may be computed where the program does not ask for it.
pub(super) fn is_safe(op: IrOp) -> bool {
    use ArithOp::{Ceildivsi, Ceildivui, Divsi, Divui, Floordivsi, Remsi, Remui};
    let divides = [Ceildivsi, Ceildivui, Divsi, Divui, Floordivsi, Remsi, Remui];
    let computes = match Op::of(op) {
        Some(Op::ArithOp(kind)) => !divides.contains(&kind),
        Some(Op::CuteOp(_)) => true,
        _ => false,
    };
    computes && op.region_count() == 0 && has_no_effect(op)
}

fn flatten<'c>(context: &'c Context, branch: IrOp<'c>) {
    let mut ir = OpBuilder::new(context, Insertion::Before(branch));
    ir.location = branch.location();
    let [first, second] = put_ahead(branch);
    let Some(condition) = operands_of(branch).next() else {
        return;
    };
    for (at, (a, b)) in first.into_iter().zip(second).enumerate() {
        let old = result_of(branch, at);
        let chosen = ir.value(ArithOp::Select, &[condition, a, b], &[], old.r#type());
        replace_all_uses(old, chosen);
    }
    erase(branch);
}
