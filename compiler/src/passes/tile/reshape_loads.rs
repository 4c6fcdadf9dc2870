//! `tile-reshape-loads`: an operand of a product that is loaded with axes of extent 1 is loaded without them, and so is a whole tile
//! that a loop of products loads beside; results beside products are stored without them.
//!
//! Before: `tile.reshape` that leaves out axes of a `tile.load`. After: a `tile.load` of the view
//! sliced at the coordinates along these axes, which is brought to shared memory like any other. Where such a
//! coordinate is outside of the view, the tile is put outside along another axis. A `tile.store` of a `tile.reshape` that adds axes is one of
//! what is reshaped, as a tensor map and threads of a product take it.
use super::coordinate::{Coordinate, extent, number, width_of};
use super::emits::cute;
use super::outside;
use super::rewrite_loads::{erase_unused, rewrite_each, sole_load};
use super::types::{adds_to, tile_of, view_of};
use super::warpgroup_products::check_load;
use crate::passes::ir_utils::{
    attributes, blocks, collect_nested, constant_of, defining_op, erase, operations, parent,
    replace_all_uses, users,
};
use crate::passes::{Reported, remark};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, operands_of, result_of};
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::{BOX, BY_ELEMENT, TileType, modes_of_axes};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::Tree;
use melior::Context;
use melior::ir::{Attribute, ValueLike, operation::OperationLike};

/// Reshapes the loads of every kernel of the module.
pub fn reshape_loads<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    rewrite_each(context, module, TileOp::Reshape, load_reshaped)?;
    rewrite_each(context, module, TileOp::Store, store_reshaped)
}

fn store_reshaped<'c>(context: &'c Context, op: IrOp<'c>) {
    let reshape = tile::Store::of(op).and_then(|store| {
        let reshape = defining_op(store.value())?;
        Some((store, tile::Reshaping::of(reshape)?)).filter(|_| TileOp::Reshape.is(reshape))
    });
    let Some((store, reshape)) = reshape.filter(|_| is_beside_product(op)) else {
        return;
    };
    let tiles = [reshape.input(), store.value()].map(|tile| TileType::of(tile.r#type()));
    let ([Some(Ok(to)), Some(Ok(from))], Ok(at)) = (tiles, Coordinate::of(op)) else {
        return;
    };
    let Some(kept) = kept_axes(&from.shape, &to.shape).filter(|kept| kept.len() == 2) else {
        return;
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let Ok(Some((view, coordinate))) = sliced(&ir, store.view(), &at, (&from.shape, &kept)) else {
        return;
    };
    let mut attrs = attributes(op, &["atomic", "hints"]);
    attrs.extend(offsets_along(&ir, &at, &kept));
    let operands = [&[reshape.input(), view], &coordinate[..]].concat();
    ir.op(TileOp::Store, &operands, &attrs, &[]);
    erase(op);
    erase_unused(reshape.result());
}

/// Which of the axes that are kept have offsets of elements, under their new numbers.
fn offsets_along<'c>(
    ir: &OpBuilder<'c>,
    at: &Coordinate<'c>,
    kept: &[usize],
) -> Option<(&'static str, Attribute<'c>)> {
    let offsets = (0..).zip(kept).filter(|(_, axis)| at.is_offset(**axis));
    let offsets: Vec<i64> = offsets.map(|(axis, _): (i64, _)| axis).collect();
    (!offsets.is_empty()).then(|| (BY_ELEMENT, ir.i64_array(&offsets)))
}

/// Whether the kernel of an operation has a product.
fn is_beside_product(op: IrOp) -> bool {
    let function = std::iter::successors(Some(op), |op| parent(*op)).find(|op| GpuOp::Func.is(*op));
    let mut inside = Vec::new();
    if let Some(function) = function {
        collect_nested(function, &mut inside);
    }
    inside.into_iter().any(|op| TileOp::Dot.is(op))
}

fn load_reshaped<'c>(context: &'c Context, reshape: IrOp<'c>) {
    let reshaped = result_of(reshape, 0);
    let wanted = is_for_products(reshaped) || is_beside_products(reshape);
    let Some(load) = sole_load(reshape).filter(|_| wanted) else {
        return;
    };
    let loaded = result_of(load, 0);
    let tiles = (
        TileType::of(loaded.r#type()),
        TileType::of(reshaped.r#type()),
    );
    let ((Some(Ok(from)), Some(Ok(to))), Ok(at)) = (tiles, Coordinate::of(load)) else {
        return;
    };
    let Some(kept) = kept_axes(&from.shape, &to.shape) else {
        return;
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(load));
    ir.location = load.location();
    // What the type of the view does not let slice stays as it is.
    let Some(view) = tile::Load::of(load).map(tile::Load::view) else {
        return;
    };
    let Ok(Some((view, coordinate))) = sliced(&ir, view, &at, (&from.shape, &kept)) else {
        return;
    };
    let mut attrs = attributes(load, &["fill", "copy", "swizzle", "hints"]);
    attrs.extend(offsets_along(&ir, &at, &kept));
    let operands = [&[view], &coordinate[..]].concat();
    let tile = ir.value(TileOp::Load, &operands, &attrs, reshaped.r#type());
    replace_all_uses(reshaped, tile);
    erase(reshape);
    erase(load);
}

/// The load of a reshaped tile of which modes of the view side by side are an axis, where a tensor map can bring it to a product.
pub(super) fn merged_load<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    reshape: IrOp<'c>,
) -> Option<IrOp<'c>> {
    let load = sole_load(reshape)?;
    let reshaped = result_of(reshape, 0);
    let from = tile_of(load, result_of(load, 0)).ok()?;
    let to = tile_of(reshape, reshaped).ok()?;
    modes_of_axes(&from.shape, &to.shape)?;
    let mut ir = OpBuilder::new(context, Insertion::Before(load));
    ir.location = load.location();
    let mut attrs = attributes(load, &["fill", "copy", "swizzle", "hints", BY_ELEMENT]);
    attrs.push((BOX, ir.i64_array(&from.shape)));
    let operands: Vec<IrValue<'c>> = operands_of(load).collect();
    let merged = defining_op(ir.value(TileOp::Load, &operands, &attrs, reshaped.r#type()))?;
    match check_load(merged, &to, function) {
        Ok(_) => Some(merged),
        Err(why) => {
            let message = format!("no tensor map brings these modes together: {why}");
            remark(load.location(), message);
            erase(merged);
            None
        }
    }
}

/// Whether a tile is only multiplied, as it is, transposed, or after maps of it alone.
fn is_for_products(value: IrValue) -> bool {
    let all = users(value);
    !all.is_empty()
        && all.iter().all(|user| match TileOp::of(*user) {
            Some(TileOp::Dot) => !adds_to(*user, value),
            Some(TileOp::Transpose) => is_for_products(result_of(*user, 0)),
            Some(TileOp::Map) => user.operand_count() == 1 && is_for_products(result_of(*user, 0)),
            _ => false,
        })
}

/// Whether a tile of rows and columns is loaded in a loop of products: a tensor map can bring it (`stage_operands/beside.rs`).
fn is_beside_products(reshape: IrOp) -> bool {
    let tile = TileType::of(result_of(reshape, 0).r#type());
    let Some(Ok(TileType { shape, .. })) = tile else {
        return false;
    };
    let whole = shape.len() == 2 && shape.iter().all(|extent| *extent > 1);
    let of = parent(reshape).filter(|of| whole && ScfOp::For.is(*of));
    let body = of.and_then(|of| blocks(of, 0).into_iter().next());
    body.is_some_and(|body| operations(body).into_iter().any(|op| TileOp::Dot.is(op)))
}

/// The axes of a shape that another one, with some of extent 1 left out, still has.
fn kept_axes(from: &[i64], to: &[i64]) -> Option<Vec<usize>> {
    let (mut kept, mut wanted) = (Vec::new(), to.iter().peekable());
    let mut left = from.len();
    for (axis, extent) in from.iter().enumerate() {
        left -= 1;
        // One of extent 1 is left out where enough of them follow.
        let is_needed = *extent != 1 || to.len() - kept.len() > left;
        if wanted.peek() == Some(&extent) && is_needed {
            wanted.next();
            kept.push(axis);
        } else if *extent != 1 {
            return None;
        }
    }
    (wanted.next().is_none() && kept.len() < from.len()).then_some(kept)
}

/// A view sliced along all axes but some, and the coordinate of a tile along these; `None` where no axis is left to
/// put the tile outside along.
#[allow(clippy::type_complexity)]
fn sliced<'c>(
    ir: &OpBuilder<'c>,
    view: IrValue<'c>,
    at: &Coordinate<'c>,
    (shape, kept): (&[i64], &[usize]),
) -> Result<Option<(IrValue<'c>, Vec<IrValue<'c>>)>, SemError> {
    let Some(known) = view_of(view) else {
        return Ok(None);
    };
    let (bit, below) = (ir.ty("i1"), [("predicate", ir.i64(6))]);
    let (mut leaves, mut taken, mut there) = (Vec::new(), Vec::new(), None);
    let mut vars = Vars::default();
    for axis in 0..at.values.len() {
        if kept.contains(&axis) {
            leaves.push(None);
            continue;
        }
        let mode = known.layout.inner().mode(axis);
        if mode.as_ref().is_none_or(|mode| !mode.shape().is_leaf()) {
            return Ok(None);
        }
        let place = number(ir, at.values[axis])?;
        let ty = place.r#type();
        let width = width_of(ty);
        leaves.push(Some(vars.fresh(width, 1)));
        let is_all = mode.and_then(|mode| mode.size().as_static()) == Some(1)
            && constant_of(place) == Some(0);
        if is_all {
            taken.push(place);
            continue;
        }
        let size = extent(ir, view, axis, width)?;
        // As an unsigned number it is asked for both ends at once.
        let inside = ir.value(ArithOp::Cmpi, &[place, size], &below, bit);
        // A slice is at no negative place, even where nothing is read of it.
        let first = ir.constant_of(0, ty);
        let operands = [inside, place, first];
        taken.push(ir.value(ArithOp::Select, &operands, &[], ty));
        there = Some(match there {
            None => inside,
            Some(so_far) => ir.value(ArithOp::Andi, &[so_far, inside], &[], bit),
        });
    }
    let coord = ir.val_type(&Val::Tuple(
        TupleKind::Coord,
        Tree::Node(leaves.into_iter().map(Tree::Leaf).collect()),
    ));
    let coord = ir.value(CuteOp::MakeCoord, &taken, &[], coord);
    let view = cute(ir, CuteOp::Slice, &[view, coord], &Attrs::default())?;
    let rest = at.along(kept);
    let mut coordinate = rest.values.clone();
    if let Some(there) = there {
        let Some(axis) = outside::axis_of(&rest) else {
            return Ok(None);
        };
        coordinate[axis] = outside::unless(
            ir,
            there,
            (&rest, axis),
            shape[kept[axis]],
            coordinate[axis],
        );
    }
    Ok(Some((view, coordinate)))
}

#[cfg(test)]
mod tests {
    use super::kept_axes;

    #[test]
    fn axes_of_extent_one_are_left_out() {
        assert_eq!(kept_axes(&[1, 128, 16], &[128, 16]), Some(vec![1, 2]));
        assert_eq!(kept_axes(&[128, 1, 16], &[128, 16]), Some(vec![0, 2]));
        assert_eq!(kept_axes(&[1, 1, 16], &[1, 16]), Some(vec![1, 2]));
        assert_eq!(kept_axes(&[16, 1, 1], &[16, 1]), Some(vec![0, 2]));
        assert_eq!(kept_axes(&[128, 16], &[128, 16]), None);
        assert_eq!(kept_axes(&[128], &[128, 1]), None);
    }
}
