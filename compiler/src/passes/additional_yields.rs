//! Rebuilds loops and branches with additional iteration arguments and results.
use super::ir_utils::{blocks, borrowed, erase, named_attributes, operations, replace_all_uses};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, operands_of, result_of};
use cutec_dialects::ops::ScfOp;
use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Region, RegionLike, TypeLike, Value, ValueLike};

/// The `scf.for`, `scf.while` or `scf.if` `of` with more results, of the types of `more`; a loop begins with these values.
/// Returns it, and what they are in the body of a loop, or in the condition of one and then in its body. What is inside
/// moves over as it is; each end is to yield them too. The old operation has nothing inside then and is to be erased.
pub(super) fn with_additional_yields<'c>(
    ir: &OpBuilder<'c>,
    of: IrOp<'c>,
    attrs: &[(&str, Attribute<'c>)],
    more: &[IrValue<'c>],
) -> (IrOp<'c>, Vec<IrValue<'c>>) {
    let kind = match ScfOp::of(of) {
        Some(kind @ (ScfOp::For | ScfOp::While)) => kind,
        _ => ScfOp::If,
    };
    let old_count = of.result_count();
    let operands = operands_of(of);
    let begins = if kind == ScfOp::If { &[] } else { more };
    let operands: Vec<IrValue> = operands.chain(begins.iter().copied()).collect();
    let results = (0..old_count).map(|index| result_of(of, index));
    let types: Vec<_> = results
        .chain(more.iter().copied())
        .map(|value| value.r#type())
        .collect();
    let moved = |index: usize| {
        let region = Region::new();
        if let Ok(old) = of.region(index) {
            // SAFETY: both regions are alive.
            unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw()) };
        }
        region
    };
    let regions: Vec<Region> = (0..of.region_count()).map(moved).collect();
    let new = ir.op_with_regions(kind, &operands, attrs, &types, regions);
    for index in 0..old_count {
        replace_all_uses(result_of(of, index), result_of(new, index));
    }
    let mut arguments = Vec::new();
    for body in (0..new.region_count()).flat_map(|region| blocks(new, region)) {
        arguments.extend(begins.iter().map(|value| {
            // SAFETY: the block and the context are alive.
            unsafe {
                Value::from_raw(mlir_sys::mlirBlockAddArgument(
                    body.to_raw(),
                    value.r#type().to_raw(),
                    of.location().to_raw(),
                ))
            }
        }));
    }
    (new, arguments)
}

/// Rebuilds a `scf.for` without some of what it carries, each by its number among the arguments of its body: nothing takes
/// them but the end of the body, which yields them as they are, and nothing takes what they become.
pub(super) fn without_carried<'c>(context: &'c Context, of: IrOp<'c>, dropped: &[usize]) {
    let Some(body) = blocks(of, 0).into_iter().next() else {
        return;
    };
    let kept = |index: &usize| !dropped.contains(index);
    let count = of.result_count();
    if let Some(end) = operations(body).pop() {
        let yielded = operands_of(end).enumerate();
        let yielded: Vec<IrValue> = yielded
            .filter(|(index, _)| kept(&(index + 1)))
            .map(|(_, value)| value)
            .collect();
        let mut ir = OpBuilder::new(context, Insertion::Before(end));
        ir.location = end.location();
        ir.op(ScfOp::Yield, &yielded, &[], &[]);
        erase(end);
    }
    let mut arguments: Vec<usize> = dropped.to_vec();
    arguments.sort_unstable();
    for index in arguments.into_iter().rev() {
        // SAFETY: the block is alive, and nothing uses the argument any more.
        unsafe { mlir_sys::mlirBlockEraseArgument(body.to_raw(), index as u32) };
    }
    let mut ir = OpBuilder::new(context, Insertion::Before(of));
    ir.location = of.location();
    let operands = operands_of(of).enumerate();
    let operands: Vec<IrValue> = operands
        .filter(|(index, _)| *index < 3 || kept(&(index - 2)))
        .map(|(_, value)| value)
        .collect();
    let results: Vec<IrValue> = (0..count)
        .filter(|index| kept(&(index + 1)))
        .map(|index| result_of(of, index))
        .collect();
    let types: Vec<_> = results.iter().map(|value| value.r#type()).collect();
    let region = Region::new();
    if let Ok(old) = of.region(0) {
        // SAFETY: both regions are alive.
        unsafe { mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw()) };
    }
    let attrs = named_attributes(of);
    let new = ir.op_with_regions(
        ScfOp::For,
        &operands,
        &borrowed(&attrs),
        &types,
        vec![region],
    );
    for (index, result) in results.into_iter().enumerate() {
        replace_all_uses(result, result_of(new, index));
    }
    erase(of);
}
