//! `expand-loop-steps`: no loop counter leaves its type.
//!
//! Before: `scf.for %i = %first to %end step %step`, of which the last counter plus the step may be more than the
//! type has; it would wrap around and the loop go on. After: such a loop counts its iterations, of which there
//! are fewer than the type has numbers, and computes the counter. Loops of which the ranges of their bounds
//! show that it fits stay as they are.
use super::cmpi::{LESS, cmpi};
use super::integers::range::Ranges;
use super::ir_utils::{Kernel, blocks, collect_nested, for_each_kernel, operations, set_operand};
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, argument_of};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, ScfOp, scf};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Expands the loops of every kernel of the module.
pub fn expand_loop_steps<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut operations = Vec::new();
        collect_nested(function, &mut operations);
        let mut ranges = Ranges::default();
        for op in operations {
            if ScfOp::For.is(op) && may_overflow(op, &mut ranges) {
                expand(context, op, &mut ranges)
                    .ok_or_else(|| report(op.location(), "is no loop from a number to another"))?;
            }
        }
        Ok::<_, Reported>(())
    })
}

/// Whether the counter behind the last iteration may not fit its type.
fn may_overflow(op: IrOp, ranges: &mut Ranges) -> bool {
    let Some(counted) = scf::For::of(op) else {
        return false;
    };
    let limit = match &*type_text(counted.step().r#type()) {
        "i32" => i64::from(i32::MAX),
        "i64" | "index" => i64::MAX,
        // Loops of other types are none of the language's.
        _ => return false,
    };
    let (end, step) = (ranges.of(counted.upper()), ranges.of(counted.step()));
    // The last counter is below the end.
    step.most > 1 && end.most.saturating_sub(1) > limit - step.most
}

/// Lets a loop count its iterations.
fn expand<'c>(context: &'c Context, op: IrOp<'c>, ranges: &mut Ranges) -> Option<()> {
    let counted = scf::For::of(op)?;
    let (first, end, mut step) = (counted.lower(), counted.upper(), counted.step());
    let body = blocks(op, 0).into_iter().next()?;
    let ty = step.r#type();
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let (zero, one) = (ir.constant_of(0, ty), ir.constant_of(1, ty));
    if ranges.of(step).least < 1 {
        step = ir.value(ArithOp::Maxsi, &[step, one], &[], ty);
    }
    // (end - first - 1) / step + 1 where there is an iteration, without sign: the difference has one bit more.
    let runs = cmpi(&ir, LESS, first, end);
    let distance = ir.value(ArithOp::Subi, &[end, first], &[], ty);
    let distance = ir.value(ArithOp::Subi, &[distance, one], &[], ty);
    let others = ir.value(ArithOp::Divui, &[distance, step], &[], ty);
    let count = ir.value(ArithOp::Addi, &[others, one], &[], ty);
    let count = ir.value(ArithOp::Select, &[runs, count, zero], &[], ty);

    let number = argument_of(body, 0);
    let begin = operations(body).into_iter().next()?;
    ir.insertion = Insertion::Before(begin);
    let distance = ir.value(ArithOp::Muli, &[number, step], &[], ty);
    let counter = ir.value(ArithOp::Addi, &[first, distance], &[], ty);
    super::ir_utils::replace_all_uses(number, counter);
    // What computes it takes the number of the iteration.
    let product = super::ir_utils::defining_op(distance)?;
    set_operand(product, 0, number);
    for (index, value) in [zero, count, one].into_iter().enumerate() {
        set_operand(op, index, value);
    }
    super::ir_utils::set_attribute(op, "unsignedCmp", ir.unit());
    Some(())
}
