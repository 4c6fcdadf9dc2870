//! What is computed element by element: the scalar operation, in the body of a `tile.map`.

use crate::eval::arith::number_or_vector;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::{argument_of, region_with_block};
use cutec_dialects::ops::TileOp;
use melior::ir::Attribute;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `body` on the elements of the tiles among `values`, which are repeated to a common shape.
    pub(in crate::eval) fn map_tiles(
        &mut self,
        values: Vec<(Value<'c, 'a>, Span)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Value<'c, 'a>>) -> Result<Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>> {
        self.map_tiles_with(values, &[], span, body)
    }

    /// The same with attributes.
    pub(super) fn map_tiles_with(
        &mut self,
        values: Vec<(Value<'c, 'a>, Span)>,
        attrs: &[(&str, Attribute<'c>)],
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Value<'c, 'a>>) -> Result<Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>> {
        let shape = self.common_shape(&values, span)?;
        let mut inputs = Vec::new();
        for (value, at) in &values {
            if let Value::Tile(tile) = value {
                inputs.push(self.repeated(tile, &shape, *at)?);
            }
        }
        let ir = self.ir(span)?;
        let arguments: Vec<_> = inputs
            .iter()
            .map(|tile| (ir.ty(tile.elem.value_type()), ir.location))
            .collect();
        let (region, block) = region_with_block(&arguments);
        let mut next = 0;
        let elements = values.into_iter().map(|(value, _)| match value {
            Value::Tile(tile) => {
                next += 1;
                number_or_vector(argument_of(block, next - 1), tile.elem, None)
            }
            other => other,
        });
        let elements = elements.collect();
        let elem = self.in_block(block, |this| {
            let result = body(this, elements)?;
            let Some(elem) = result.number_type() else {
                return this.expected("a number for each element", &result, span);
            };
            let number = this.number(&result, elem, span)?;
            this.terminate(TileOp::Yield, &[number], span)?;
            Ok(elem)
        })?;
        let ty = self.tile_type(elem, &shape, span)?;
        let operands: Vec<_> = inputs.iter().map(|tile| tile.ir).collect();
        let ir = self.ir(span)?;
        let op = ir.op_with_regions(TileOp::Map, &operands, attrs, &[ty], vec![region]);
        Ok(Value::Tile(crate::eval::values::Tile {
            ir: cutec_dialects::builder::result_of(op, 0),
            elem,
            shape,
        }))
    }

    /// A call of which some arguments are tiles, made for each element.
    pub(in crate::eval) fn map_call(
        &mut self,
        call: &Call<'c, 'a>,
        body: impl FnOnce(&mut Self, &Call<'c, 'a>) -> Result<Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>> {
        let values = call.args.iter();
        let values = values.map(|arg| (arg.value.clone(), arg.expr.span));
        self.map_tiles(values.collect(), call.span, |this, values| {
            let args = call.args.iter().zip(values);
            let args = args.map(|(arg, value)| ArgValue {
                name: arg.name.clone(),
                value,
                expr: arg.expr,
            });
            let of_elements = Call {
                name: call.name.clone(),
                name_span: call.name_span,
                span: call.span,
                generics: call.generics.clone(),
                args: args.collect(),
            };
            body(this, &of_elements)
        })
    }
}
