//! Parts of tiles that threads hold, and tiles put together of them.

use super::{parts_of, shape_text};
use crate::diagnostics::codes;
use crate::eval::call::Call;
use crate::eval::values::{Tile, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use cutec_abi::counted;
use cutec_dialects::ops::TileOp;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `part(x, shape, at)`: the part of a tile at a multiple of its shape.
    pub(in crate::eval) fn tile_part(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let [first, extents, at] = call.args.as_slice() else {
            return Err(Stop::Reported);
        };
        let tile = match &first.value {
            Value::Tile(tile) => tile.clone(),
            other => return self.expected("a tile", &other.clone(), first.expr.span),
        };
        let shape = self.given_shape(&[extents], extents.expr.span)?;
        let mut offsets = Vec::new();
        for offset in parts_of(&at.value) {
            match offset {
                Value::Int(offset) => offsets.push(offset),
                Value::Scalar(_) => return self.static_needed("where a part begins", at.expr),
                other => return self.expected("an integer", &other, at.expr.span),
            }
        }
        for (what, numbers, arg) in [("shape", &shape, extents), ("place", &offsets, at)] {
            if numbers.len() != tile.shape.len() {
                let message = format!(
                    "the {what} of a part has {}, the tile of shape {} has {}",
                    match numbers.len() {
                        1 => "1 axis".to_owned(),
                        count => format!("{count} axes"),
                    },
                    shape_text(&tile.shape),
                    tile.shape.len()
                );
                let label = format!("expected {}", counted(tile.shape.len(), "number"));
                return self.error(codes::SHAPE_MISMATCH, arg.expr.span, message, &label);
            }
        }
        let inside = |axis: usize| {
            let (offset, extent) = (offsets[axis], shape[axis]);
            offset >= 0 && offset % extent == 0 && offset + extent <= tile.shape[axis]
        };
        if let Some(axis) = (0..shape.len()).find(|axis| !inside(*axis)) {
            let message = format!(
                "a part of {} from {} on along axis {axis} of a tile of shape {}",
                counted(shape[axis], "element"),
                offsets[axis],
                shape_text(&tile.shape)
            );
            let label = format!("expected a multiple of {} inside of the tile", shape[axis]);
            return self.error(codes::SHAPE_MISMATCH, at.expr.span, message, &label);
        }
        let attrs = [("offsets", self.ir(call.span)?.i64_array(&offsets))];
        let of = (tile.elem, &shape[..]);
        let result = self.tile_op(TileOp::Slice, &[tile.ir], &attrs, of, call.span)?;
        Ok(Value::Tile(result))
    }

    /// `join(a, b, …, axis = i)`: tiles of one type and shape side by side along an axis.
    pub(in crate::eval) fn tile_join(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let mut parts: Vec<Tile<'c>> = Vec::new();
        for arg in call.args.iter().filter(|arg| arg.name.is_none()) {
            let tile = match &arg.value {
                Value::Tile(tile) => tile.clone(),
                other => return self.expected("a tile", &other.clone(), arg.expr.span),
            };
            if let Some(first) = parts.first()
                && (first.elem, &first.shape) != (tile.elem, &tile.shape)
            {
                let type_of = |tile: &Tile| {
                    format!(
                        "{} of shape {}",
                        elem_name(tile.elem),
                        shape_text(&tile.shape)
                    )
                };
                let message = format!(
                    "tiles of {} and of {} are joined",
                    type_of(first),
                    type_of(&tile)
                );
                let label = "expected tiles of one type and shape";
                return self.error(codes::SHAPE_MISMATCH, arg.expr.span, message, label);
            }
            parts.push(tile);
        }
        let (elem, mut shape) = (parts[0].elem, parts[0].shape.clone());
        let axis = self.axis(call, &shape)?;
        shape[axis] *= parts.len() as i64;
        self.check_size(&shape, call.span)?;
        let ir = self.ir(call.span)?;
        let attrs = [("axis", ir.i32(axis as i32))];
        let operands: Vec<_> = parts.iter().map(|part| part.ir).collect();
        let result = self.tile_op(TileOp::Join, &operands, &attrs, (elem, &shape), call.span)?;
        Ok(Value::Tile(result))
    }
}
