//! A tile that is gathered to be transposed is gathered transposed.
//!
//! Before: `tile.transpose` of a `tile.map` that reads elements of tensors, for products alone. After: the map of transposed tiles: what
//! counts along an axis counts along the other, what has one row has one column. So the elements go straight to where products read
//! them, by asynchronous copies where those apply.
use super::rewrite_loads::erase_unused;
use crate::passes::ir_utils::{
    borrowed, clone, collect_nested, defining_op, first_of_block, named_attributes, next_operation,
    replace_all_uses, users,
};
use cutec_dialects::builder::{
    Insertion, IrOp, IrValue, OpBuilder, integer_value, operands_of, result_of, value_key,
};
use cutec_dialects::ops::{CuteOp, TileOp, tile};
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::{RegionLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Gathers the tile that an operation transposes for products, if it is gathered and nothing else takes it.
pub(super) fn gather_transposed<'c>(context: &'c Context, transpose: IrOp<'c>) {
    let transposed = result_of(transpose, 0);
    let Some(gathered) = tile::Reshaping::of(transpose).map(|op| op.input()) else {
        return;
    };
    let multiplied = users(transposed).iter().all(|user| TileOp::Dot.is(*user));
    let is_alone = users(gathered).len() == 1;
    if !multiplied || !is_alone || !defining_op(gathered).is_some_and(reads_elements) {
        return;
    }
    let mut turned = Turned {
        context,
        known: HashMap::new(),
    };
    if !turned.is_cheap(gathered) {
        return;
    }
    if let Some(value) = turned.of(gathered) {
        replace_all_uses(transposed, value);
        erase_unused(transposed);
    }
}

/// Whether a map reads elements of tensors.
fn reads_elements(map: IrOp) -> bool {
    let mut inside = Vec::new();
    if TileOp::Map.is(map) {
        collect_nested(map, &mut inside);
    }
    inside.into_iter().any(|op| CuteOp::MemrefLoad.is(op))
}

/// Tiles and their transposes.
struct Turned<'c> {
    context: &'c Context,
    known: HashMap<usize, IrValue<'c>>,
}

impl<'c> Turned<'c> {
    /// Whether a tile can be made transposed without moving elements between threads.
    fn is_cheap(&self, value: IrValue<'c>) -> bool {
        let mut open = vec![value];
        let mut seen = std::collections::HashSet::new();
        while let Some(value) = open.pop() {
            if !seen.insert(value_key(value)) {
                continue;
            }
            let Some([rows, columns]) = axes(value) else {
                return false;
            };
            let op = defining_op(value);
            match op.and_then(TileOp::of) {
                Some(TileOp::Iota | TileOp::Splat) => {}
                Some(TileOp::Map) => open.extend(op.into_iter().flat_map(operands_of)),
                Some(TileOp::Broadcast) => {
                    let input = op.and_then(|op| operands_of(op).next());
                    match input.filter(|input| axes(*input).is_some()) {
                        Some(input) => open.push(input),
                        None => return false,
                    }
                }
                _ if rows == 1 || columns == 1 => {}
                _ => return false,
            }
        }
        true
    }

    /// The transpose of a tile, behind it.
    fn of(&mut self, value: IrValue<'c>) -> Option<IrValue<'c>> {
        if let Some(known) = self.known.get(&value_key(value)) {
            return Some(*known);
        }
        let made = self.made(value)?;
        self.known.insert(value_key(value), made);
        Some(made)
    }

    fn made(&mut self, value: IrValue<'c>) -> Option<IrValue<'c>> {
        let tile = TileType::of(value.r#type())?.ok()?;
        let [rows, columns] = axes(value)?;
        let to = TileType::new(tile.elem, &[columns, rows]);
        let ty = to.ir(self.context);
        let op = defining_op(value);
        let kind = op.and_then(TileOp::of);
        let mut operands = Vec::new();
        if let (Some(op), Some(TileOp::Map | TileOp::Broadcast)) = (op, kind) {
            for input in operands_of(op).collect::<Vec<_>>() {
                operands.push(self.of(input)?);
            }
        }
        let next = match op {
            Some(op) => next_operation(op),
            None => first_of_block(value),
        };
        let mut ir = OpBuilder::new(self.context, Insertion::Before(next?));
        if let Some(op) = op {
            ir.location = op.location();
        }
        let (op, kind) = match (op, kind) {
            (Some(op), Some(kind)) => (op, kind),
            _ => return Some(ir.value(TileOp::Reshape, &[value], &[], ty)),
        };
        Some(match kind {
            TileOp::Iota => {
                let axis = op.attribute("axis").ok().and_then(integer_value)?;
                let axis = [("axis", ir.integer(1 - axis, ir.ty("i32")))];
                ir.value(kind, &[], &axis, ty)
            }
            TileOp::Splat => {
                let number: Vec<IrValue<'c>> = operands_of(op).collect();
                ir.value(kind, &number, &[], ty)
            }
            TileOp::Broadcast => ir.value(kind, &operands, &[], ty),
            TileOp::Map => {
                let copy = clone(op);
                let region = melior::ir::Region::new();
                // SAFETY: the body of the copy, which is dropped, moves to a region of its own.
                unsafe {
                    let body = copy.region(0).ok()?;
                    mlir_sys::mlirRegionTakeBody(region.to_raw(), body.to_raw());
                }
                let attrs = named_attributes(op);
                let map =
                    ir.op_with_regions(kind, &operands, &borrowed(&attrs), &[ty], vec![region]);
                result_of(map, 0)
            }
            _ => ir.value(TileOp::Reshape, &[value], &[], ty),
        })
    }
}

/// The extents of a tile of two axes.
fn axes(value: IrValue) -> Option<[i64; 2]> {
    let tile = TileType::of(value.r#type())?.ok()?;
    tile.shape.try_into().ok()
}
