//! `tile-turn-loads`: what is loaded only to be turned is loaded from the turned view.
//!
//! Before: `tile.transpose` of a `tile.load`, for products alone. After: a `tile.load` of the same tile of a
//! view with its modes exchanged, which is brought to shared memory as it lies and turned by the
//! instructions that read it there. Where something else takes the turned tile, it stays.
use super::coordinate::Coordinate;
use super::known_ops::checked_ops;
use crate::passes::ir_utils::{Kernel, defining_op, for_each_kernel, next_operation};
use crate::passes::ir_utils::{operand_value, replace_all_uses, users};
use crate::passes::{Reported, report};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::ir::build;
use cutec_dialects::ops::{CuteOp, TileOp};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::BY_ELEMENT;
use melior::Context;
use melior::ir::{Attribute, ValueLike, operation::OperationLike};

/// Turns the loads of every kernel of the module.
pub fn turn_loads<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let operations = checked_ops(function);
        let mut operations = operations.map_err(|(op, message)| report(op.location(), message))?;
        operations.retain(|op| TileOp::Transpose.is(*op));
        for op in operations {
            turn(context, op);
        }
        Ok(())
    })
}

fn turn<'c>(context: &'c Context, transpose: IrOp<'c>) {
    let turned = result_of(transpose, 0);
    let for_products = users(turned).iter().all(|user| TileOp::Dot.is(*user));
    let Some(loaded) = operand_value(transpose, 0).filter(|_| for_products) else {
        return;
    };
    let load = defining_op(loaded).filter(|op| TileOp::Load.is(*op));
    let Some(load) = load.filter(|_| users(loaded).len() == 1) else {
        return;
    };
    let (Some(view), Some(row), Some(column)) = (
        operand_value(load, 0),
        operand_value(load, 1),
        operand_value(load, 2),
    ) else {
        return;
    };
    // Beside the view, so that loops that load ahead have it before them.
    let place = defining_op(view).and_then(next_operation);
    let mut ir = OpBuilder::new(context, Insertion::Before(place.unwrap_or(load)));
    ir.location = load.location();
    // Of a view whose modes do not stand apart the tile is turned, not the view.
    let Ok(view) = exchanged(&ir, view) else {
        return;
    };
    ir.insertion = Insertion::Before(load);
    let attrs = ["fill", "copy", "swizzle"];
    let attrs = attrs.map(|name| Some((name, load.attribute(name).ok()?)));
    let mut attrs: Vec<(&str, Attribute<'c>)> = attrs.into_iter().flatten().collect();
    if let Ok(at) = Coordinate::of(load)
        && at.has_offsets()
    {
        let axes = [0, 1].into_iter().filter(|axis| at.is_offset(1 - axis));
        let axes: Vec<i64> = axes.map(|axis| axis as i64).collect();
        attrs.push((BY_ELEMENT, ir.i64_array(&axes)));
    }
    let tile = ir.value(TileOp::Load, &[view, column, row], &attrs, turned.r#type());
    replace_all_uses(turned, tile);
    for dead in [transpose, load] {
        // SAFETY: nothing uses its result any more.
        unsafe { mlir_sys::mlirOperationDestroy(dead.to_raw()) };
    }
}

/// The view with its two modes exchanged.
fn exchanged<'c>(ir: &OpBuilder<'c>, view: IrValue<'c>) -> Result<IrValue<'c>, SemError> {
    let of = |op: CuteOp, operands: &[IrValue<'c>], attrs: &Attrs| {
        build(ir, op, operands, attrs)?
            .ok_or_else(|| SemError::Illegal(format!("{op} gives nothing")))
    };
    let plain = Attrs::default();
    let both = Attrs::mode([1, 0]);
    let layout = of(CuteOp::GetLayout, &[view], &plain)?;
    let layout = of(CuteOp::Select, &[layout], &both)?;
    let pointer = of(CuteOp::GetIter, &[view], &plain)?;
    of(CuteOp::MakeView, &[pointer, layout], &plain)
}
