//! A loop that carries more than it did.
use crate::passes::tile::types::{Failed, operand};
use crate::passes::walk::replace;
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, OpBuilder, result_of};
use melior::ir::operation::OperationLike;
use melior::ir::{Region, RegionLike, TypeLike, Value, ValueLike};

/// The loop `of` with `more` beside what it carries, and what these are in its body, which moves over as it
/// is; its end is to yield them too. The old loop has no body then and is to be erased.
pub(super) fn carrying<'c>(
    ir: &OpBuilder<'c>,
    of: IrOp<'c>,
    body: IrBlock<'c>,
    more: &[IrValue<'c>],
) -> Result<(IrOp<'c>, Vec<IrValue<'c>>), Failed<'c>> {
    let old_count = of.result_count();
    let mut operands: Vec<IrValue> = (0..old_count + 3)
        .map(|index| operand(of, index))
        .collect::<Result<_, _>>()?;
    operands.extend(more);
    let types: Vec<_> = operands[3..].iter().map(|value| value.r#type()).collect();
    let region = Region::new();
    // SAFETY: both regions are alive.
    unsafe {
        let old = of.region(0).map_err(|error| (of, error.to_string()))?;
        mlir_sys::mlirRegionTakeBody(region.to_raw(), old.to_raw());
    }
    let new = ir.op_with_regions("scf.for", &operands, &[], &types, vec![region]);
    for index in 0..old_count {
        replace(result_of(of, index), result_of(new, index));
    }
    let argument = |value: &IrValue<'c>| {
        // SAFETY: the block and the context are alive.
        unsafe {
            Value::from_raw(mlir_sys::mlirBlockAddArgument(
                body.to_raw(),
                value.r#type().to_raw(),
                of.location().to_raw(),
            ))
        }
    };
    Ok((new, more.iter().map(argument).collect()))
}
