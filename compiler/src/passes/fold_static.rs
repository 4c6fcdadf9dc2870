//! `cute-fold-static`: values that are known at compile time become `cute.static`.
//!
//! Before: operations of the layout algebra on static operands. After: a
//! `cute.static` for each result whose type says it all, `arith.constant` for
//! comparisons of static operands; operations that nothing uses any more are
//! gone. Operations with effects and memory stay.
use super::ir_utils::{collect_nested, replace_all_uses};
use super::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, operands_of, result_of};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::compare;
use cutec_dialects::types::Vars;
use cutec_dialects::value::Val;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Folds every operation of a module.
pub fn fold_static<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for op in algebra(module) {
        fold(context, op)?;
    }
    erase_unused(module);
    Ok(())
}

/// Erases operations of the algebra that nothing uses.
pub(super) fn erase_unused(module: IrOp) {
    for op in algebra(module).into_iter().rev() {
        let unused = (0..op.result_count()).all(|index| is_unused(op, index));
        if unused {
            // SAFETY: nothing uses its results, and it has no effects.
            unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) };
        }
    }
}

fn algebra(module: IrOp) -> Vec<IrOp> {
    let mut operations = Vec::new();
    collect_nested(module, &mut operations);
    operations.retain(|op| CuteOp::of(*op).is_some() && has_no_effect(*op));
    operations
}

fn is_unused(op: IrOp, index: usize) -> bool {
    // SAFETY: the result is alive.
    unsafe {
        mlir_sys::mlirOpOperandIsNull(mlir_sys::mlirValueGetFirstUse(
            result_of(op, index).to_raw(),
        ))
    }
}

fn fold<'c>(context: &'c Context, op: IrOp<'c>) -> Result<(), Reported> {
    let Some(kind) = CuteOp::of(op).filter(|kind| *kind != CuteOp::Static) else {
        return Ok(());
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    if matches!(kind, CuteOp::Equal | CuteOp::ElemLess) {
        let mut vars = Vars::default();
        let operands: Result<Vec<Val>, _> = operands_of(op)
            .map(|operand| type_value(operand.r#type(), &mut vars))
            .collect();
        let operands = operands.map_err(|error| report(op.location(), error))?;
        if let Some(answer) = compare(kind, &operands) {
            let constant = ir.number(ir.bool(answer), ir.ty("i1"));
            replace_all_uses(result_of(op, 0), constant);
        }
        return Ok(());
    }
    for index in 0..op.result_count() {
        let ty = result_of(op, index).r#type();
        let val = type_value(ty, &mut Vars::default());
        let algebraic = |val: &Val| {
            matches!(
                val,
                Val::Tuple(..) | Val::Layout(_) | Val::Swizzle(_) | Val::Tile(_)
            )
        };
        if val.is_ok_and(|val| algebraic(&val) && val.is_static()) && !is_unused(op, index) {
            let constant = ir.value(CuteOp::Static, &[], &[], ty);
            replace_all_uses(result_of(op, index), constant);
        }
    }
    Ok(())
}
