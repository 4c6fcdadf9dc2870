//! `tile-transpose-loads`: a tile that is loaded to be transposed is loaded from the transposed view; one that is gathered
//! (`transpose_gathers.rs`) is gathered transposed.
//!
//! Before: `tile.transpose` of a `tile.load`, for products alone. After: a `tile.load` of the same tile of a
//! view with its modes exchanged, which is brought to shared memory as it lies and transposed by the
//! instructions that read it there. Where something else takes the transposed tile, it stays. Where products take the tile
//! as it lies as well, both loads have one buffer (`twins.rs`).
use super::coordinate::Coordinate;
use super::load_early::multiplies;
use super::rewrite_loads::{erase_unused, rewrite_each};
use super::transpose_gathers::gather_transposed;
use super::twins::{OF_TENSOR, exchanged};
use crate::passes::Reported;
use crate::passes::ir_utils::{
    attributes, clone, defining_op, erase, first_of_block, next_operation, replace_all_uses,
    set_operand, users,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, operands_of, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::tile::{BY_ELEMENT, TileType};
use melior::Context;
use melior::ir::{Attribute, Type, ValueLike, operation::OperationLike};

/// Transposes the loads of every kernel of the module.
pub fn transpose_loads<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    rewrite_each(context, module, TileOp::Transpose, load_transposed)?;
    rewrite_each(context, module, TileOp::Transpose, gather_transposed)
}

fn load_transposed<'c>(context: &'c Context, transpose: IrOp<'c>) {
    let transposed = result_of(transpose, 0);
    let multiplied = users(transposed).iter().all(|user| TileOp::Dot.is(*user));
    let input = tile::Reshaping::of(transpose).map(|op| op.input());
    let loaded = input.and_then(tile::Load::defining);
    let Some(loaded) = loaded.filter(|_| multiplied) else {
        return;
    };
    // Beside other products of it the tile is read from the same buffer; for anything else it would be loaded twice.
    let others = users(loaded.result());
    let alone = others.len() == 1;
    if !alone && !others.iter().any(|user| TileOp::Dot.is(*user)) {
        return;
    }
    let load = loaded.op();
    let view = loaded.view();
    if loaded.at().len() != 2 {
        return;
    }
    // Beside the view, so that loops that load ahead have it before them.
    let mut ir = OpBuilder::new(context, Insertion::Before(behind(view).unwrap_or(load)));
    ir.location = load.location();
    // Of a view whose modes do not stand apart the tile is transposed, not the view.
    let Ok(view) = exchanged(&ir, view, OF_TENSOR) else {
        return;
    };
    ir.insertion = Insertion::Before(next_operation(load).unwrap_or(transpose));
    let tile = load_exchanged(&ir, loaded, view, transposed.r#type());
    replace_all_uses(transposed, tile);
    erase(transpose);
    if alone {
        erase(load);
    }
}

/// The operation behind what gives a value.
fn behind<'c>(value: IrValue<'c>) -> Option<IrOp<'c>> {
    match defining_op(value) {
        Some(op) => next_operation(op),
        None => first_of_block(value),
    }
}

/// The tile of a load, of two axes, from the view with its modes exchanged.
fn load_exchanged<'c>(
    ir: &OpBuilder<'c>,
    load: tile::Load<'c>,
    view: IrValue<'c>,
    ty: Type<'c>,
) -> IrValue<'c> {
    let mut attrs = attributes(load.op(), &["fill", "copy", "swizzle", "hints"]);
    attrs.extend(offsets_exchanged(ir, load.op()));
    let at = load.at().into_iter().rev();
    let operands: Vec<IrValue<'c>> = std::iter::once(view).chain(at).collect();
    ir.value(TileOp::Load, &operands, &attrs, ty)
}

/// A tile of the sums of a product that is transposed for its store is stored to the transposed view, from the registers in which the
/// product leaves it: where a tensor map stores it, the tile in shared memory is the one that is transposed. Maps between are of the sums as they lie, and of
/// what is loaded or repeated beside them transposed as well.
pub(super) fn store_transposed<'c>(context: &'c Context, store: IrOp<'c>) {
    let Some(stored) = tile::Store::of(store).filter(|store| store.atomic().is_none()) else {
        return;
    };
    let (view, &[row, column]) = (stored.view(), &stored.at()[..]) else {
        return;
    };
    if transposes(stored.value()) != Some(true) {
        return;
    }
    let mut ir = OpBuilder::new(context, Insertion::Before(behind(view).unwrap_or(store)));
    ir.location = store.location();
    let Ok(view) = exchanged(&ir, view, OF_TENSOR) else {
        return;
    };
    let value = stored.value();
    let Some(input) = as_it_lies(context, value) else {
        return;
    };
    ir.insertion = Insertion::Before(store);
    let mut attrs = attributes(store, &["hints"]);
    attrs.extend(offsets_exchanged(&ir, store));
    ir.op(TileOp::Store, &[input, view, column, row], &attrs, &[]);
    erase(store);
    erase_unused(value);
}

/// Whether what a product gives is transposed in a tile that is made, for one user each, of what can be had transposed as well; `None` of other tiles.
fn transposes(value: IrValue) -> Option<bool> {
    if let Some(input) = transposed_of(value) {
        return Some(is_of_product(input));
    }
    let op = defining_op(value).filter(|_| users(value).len() == 1)?;
    match TileOp::of(op)? {
        TileOp::Map => {
            let inputs = tile::Map::of(op)?.inputs();
            let all = inputs.into_iter().map(transposes);
            all.collect::<Option<Vec<bool>>>()
                .map(|all| all.contains(&true))
        }
        TileOp::Broadcast => transposes(tile::Reshaping::of(op)?.input()),
        TileOp::Load => (tile_shape(value)?.len() == 2).then_some(false),
        TileOp::Reshape => {
            let input = tile_shape(tile::Reshaping::of(op)?.input())?;
            (input.len() == 1 && tile_shape(value)?.contains(&1)).then_some(false)
        }
        _ => None,
    }
}

/// Of a tile that can be had transposed that one.
fn as_it_lies<'c>(context: &'c Context, value: IrValue<'c>) -> Option<IrValue<'c>> {
    if let Some(input) = transposed_of(value) {
        return Some(input);
    }
    let op = defining_op(value)?;
    let tile = TileType::of(value.r#type())?.ok()?;
    let shape: Vec<i64> = tile.shape.iter().rev().copied().collect();
    let ty = TileType::new(tile.elem, &shape).ir(context);
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    if let Some(load) = tile::Load::of(op) {
        let view = exchanged(&ir, load.view(), OF_TENSOR).ok()?;
        return Some(load_exchanged(&ir, load, view, ty));
    }
    let inputs: Vec<IrValue<'c>> = match TileOp::of(op)? {
        TileOp::Map | TileOp::Broadcast => operands_of(op)
            .map(|input| as_it_lies(context, input))
            .collect::<Option<_>>()?,
        _ => operands_of(op).collect(),
    };
    let again = ir.insert(clone(op));
    for (index, input) in inputs.into_iter().enumerate() {
        set_operand(again, index, input);
    }
    let result = result_of(again, 0);
    result.set_type(ty);
    Some(result)
}

/// The shape of a tile.
fn tile_shape(value: IrValue) -> Option<Vec<i64>> {
    Some(TileType::of(value.r#type())?.ok()?.shape)
}

/// What is transposed, of two axes.
fn transposed_of(value: IrValue) -> Option<IrValue> {
    let op = defining_op(value).filter(|op| TileOp::Transpose.is(*op))?;
    Some(tile::Reshaping::of(op)?.input())
}

/// Whether maps make a tile of what a product gives, or a loop with one.
fn is_of_product(value: IrValue) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value) else {
            continue;
        };
        match TileOp::of(op) {
            Some(TileOp::Dot) => return true,
            Some(TileOp::Map) => open.extend(operands_of(op)),
            Some(_) => {}
            None if multiplies(op) => return true,
            None => {}
        }
    }
    false
}

/// Which axes of an access lie at offsets, for the exchanged view.
fn offsets_exchanged<'c>(
    ir: &OpBuilder<'c>,
    access: IrOp<'c>,
) -> Option<(&'static str, Attribute<'c>)> {
    let at = Coordinate::of(access)
        .ok()
        .filter(Coordinate::has_offsets)?;
    let axes = [0, 1].into_iter().filter(|axis| at.is_offset(1 - axis));
    let axes: Vec<i64> = axes.map(|axis| axis as i64).collect();
    Some((BY_ELEMENT, ir.i64_array(&axes)))
}
