//! Tiles of constants, and tiles brought to other shapes.

use super::{parts_of, shape_text};
use crate::ast::Expr;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::builtins::Operator;
use crate::eval::call::{ArgValue, Call};
use crate::eval::problem;
use crate::eval::values::{Tile, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use crate::rules;
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::{MOST_ELEMENTS, Recast, TileType};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Extents of a tile, each with the expression that gives it.
    pub(in crate::eval) fn tile_shape(
        &mut self,
        extents: &[(Value<'c, 'a>, &'a Expr)],
        span: Span,
    ) -> Result<Vec<i64>> {
        let mut shape = Vec::new();
        for (extent, expr) in extents {
            match extent {
                Value::Int(extent @ 1..) => shape.push(*extent),
                Value::Int(extent) => {
                    let message = format!("an extent of a tile is {extent}");
                    let label = "expected at least 1";
                    return self.error(codes::ILLEGAL_OPERATION, expr.span, message, label);
                }
                Value::Scalar(_) => return self.static_needed("the shape of a tile", expr),
                other => return self.expected("an integer", other, expr.span),
            }
        }
        self.check_size(&shape, span)?;
        Ok(shape)
    }

    /// Whether a tile may have so many elements.
    pub(super) fn check_size(&mut self, shape: &[i64], span: Span) -> Result<()> {
        let mut extents = shape.iter();
        let size = extents.try_fold(1i64, |size, extent| size.checked_mul(*extent));
        match size {
            Some(1..=MOST_ELEMENTS) => Ok(()),
            _ => {
                let message = format!("a tile of shape {}", shape_text(shape));
                let label = format!("expected at most {MOST_ELEMENTS} elements");
                self.error(codes::ILLEGAL_OPERATION, span, message, label)
            }
        }
    }

    /// The shape of a tile that arguments give: an extent each, or all of them as a tuple.
    pub(in crate::eval) fn given_shape(
        &mut self,
        args: &[&ArgValue<'c, 'a>],
        span: Span,
    ) -> Result<Vec<i64>> {
        let extents: Vec<_> = match args {
            [shape] => {
                let extents = parts_of(&shape.value).into_iter();
                extents.map(|extent| (extent, shape.expr)).collect()
            }
            extents => {
                let extents = extents.iter();
                extents.map(|arg| (arg.value.clone(), arg.expr)).collect()
            }
        };
        self.tile_shape(&extents, span)
    }

    /// A tile repeated to a shape that it fits.
    pub(super) fn repeated(
        &mut self,
        tile: &Tile<'c>,
        shape: &[i64],
        span: Span,
    ) -> Result<Tile<'c>> {
        let mut tile = tile.clone();
        if tile.shape.len() < shape.len() {
            let mut longer = vec![1; shape.len() - tile.shape.len()];
            longer.extend(&tile.shape);
            tile = self.tile_op(TileOp::Reshape, &[tile.ir], &[], (tile.elem, &longer), span)?;
        }
        if tile.shape != shape {
            tile = self.tile_op(TileOp::Broadcast, &[tile.ir], &[], (tile.elem, shape), span)?;
        }
        Ok(tile)
    }

    /// The shape to which all of the tiles are repeated.
    pub(in crate::eval) fn common_shape(
        &mut self,
        values: &[(Value<'c, 'a>, Span)],
        span: Span,
    ) -> Result<Vec<i64>> {
        let mut shape: Vec<i64> = Vec::new();
        for (value, _) in values {
            let Value::Tile(tile) = value else { continue };
            let Some(common) = rules::common_shape(&shape, &tile.shape) else {
                let (a, b) = (shape_text(&shape), shape_text(&tile.shape));
                let message = format!("tiles of shapes {a} and {b} meet");
                let label = "expected extents that are equal, or 1";
                let column = values
                    .iter()
                    .find_map(|(value, at)| Some((self.as_column(value, &tile.shape, *at)?, *at)));
                return Err(match column {
                    Some((help, at)) => self.report(
                        Diagnostic::error(codes::SHAPE_MISMATCH, at, message, label)
                            .with_help(help),
                    ),
                    None => self.report(Diagnostic::error(
                        codes::SHAPE_MISMATCH,
                        span,
                        message,
                        label,
                    )),
                });
            };
            shape = common;
        }
        Ok(shape)
    }

    /// How a tile of one axis meets one of two axes as its column.
    fn as_column(&self, value: &Value<'c, 'a>, other: &[i64], span: Span) -> Option<String> {
        let Value::Tile(tile) = value else {
            return None;
        };
        let ([extent], [_, _]) = (&tile.shape[..], other) else {
            return None;
        };
        rules::common_shape(&[*extent, 1], other)?;
        let text = self.text(span);
        Some(format!("a column is `reshape({text}, {extent}, 1)`"))
    }

    /// `scalar(x)`: the element of a tile that has one.
    pub(in crate::eval) fn scalar_of(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let Some(arg) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        match &arg.value {
            Value::Tile(tile) => self.only_element(tile, arg.expr.span),
            other => self.expected("a tile of one element", &other.clone(), arg.expr.span),
        }
    }

    /// The element of a tile that has one, as a number that all threads have.
    pub(in crate::eval) fn only_element(
        &mut self,
        tile: &Tile<'c>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        if tile.shape.iter().any(|extent| *extent != 1) {
            let message = format!(
                "expected a tile of one element, found one of shape {}",
                shape_text(&tile.shape)
            );
            let diagnostic =
                Diagnostic::error(codes::SHAPE_MISMATCH, span, message, "this has several");
            let help = match tile.elem {
                Elem::I1 => "`any(x)` and `all(x)` are of all elements",
                _ => "`reduce(op, x)` makes one of all elements",
            };
            return Err(self.report(diagnostic.with_help(help)));
        }
        let ir = self.ir(span)?;
        let ty = ir.ty(tile.elem.value_type());
        let number = ir.value(TileOp::Extract, &[tile.ir], &[], ty);
        Ok(number_or_vector(number, tile.elem, None))
    }

    /// `any(x)`, `all(x)` of a tile of bools.
    pub(in crate::eval) fn vote_of_tile(
        &mut self,
        kind: &'static str,
        tile: &Tile<'c>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        if tile.elem != Elem::I1 {
            return self.expected("a tile of bool", &Value::Tile(tile.clone()), span);
        }
        let mut found = tile.clone();
        for axis in 0..tile.shape.len() {
            if found.shape[axis] > 1 {
                found = self.reduced_along(&found, kind, axis, span)?;
            }
        }
        self.only_element(&found, span)
    }

    /// `iota(extents…, axis = a)`: the coordinate along an axis.
    pub(in crate::eval) fn iota(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let extents = call.args.iter().filter(|arg| arg.name.is_none());
        let extents: Vec<_> = extents.collect();
        let shape = self.given_shape(&extents, call.span)?;
        // It counts along the one axis that there is to count along, unless told.
        let mut long = (0..shape.len()).filter(|axis| shape[*axis] != 1);
        let axis = match (call.named("axis"), long.next(), long.next()) {
            (None, axis, None) => axis.unwrap_or(0),
            _ => self.axis(call, &shape)?,
        };
        self.iota_along(&shape, axis, call.span)
    }

    /// The coordinate along an axis, as a tile of a shape.
    pub(super) fn iota_along(
        &mut self,
        shape: &[i64],
        axis: usize,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let ir = self.ir(span)?;
        let attrs = [("axis", ir.integer(axis as i64, ir.ty("i32")))];
        let tile = self.tile_op(TileOp::Iota, &[], &attrs, (Elem::I32, shape), span)?;
        Ok(Value::Tile(tile))
    }

    /// `reduce(op, x, axis = a)`: combines along an axis, several or all, which stay with extent 1.
    pub(in crate::eval) fn reduce_tile(
        &mut self,
        call: &Call<'c, 'a>,
        tile: &Tile<'c>,
    ) -> Result<Value<'c, 'a>> {
        let Some(how) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        let Some(operator) = Operator::of(&how.value) else {
            return self.fold_tiles(call);
        };
        let kind = operator.name();
        if !rules::reduces(operator, tile.elem) {
            let operand = call.arg(1).map_or("x", |arg| self.text(arg.expr.span));
            let problem = problem::no_reduction(call.span, (operator, tile.elem), operand);
            return Err(self.report(problem));
        }
        let mut result = tile.clone();
        for axis in self.axes(call, &tile.shape)? {
            result = self.reduced_along(&result, kind, axis, call.span)?;
        }
        Ok(Value::Tile(result))
    }

    fn reduced_along(
        &mut self,
        tile: &Tile<'c>,
        kind: &'static str,
        axis: usize,
        span: Span,
    ) -> Result<Tile<'c>> {
        let mut shape = tile.shape.clone();
        shape[axis] = 1;
        let ir = self.ir(span)?;
        let attrs = [
            ("axis", ir.integer(axis as i64, ir.ty("i32"))),
            ("kind", ir.string(kind)),
        ];
        self.tile_op(
            TileOp::Reduce,
            &[tile.ir],
            &attrs,
            (tile.elem, &shape),
            span,
        )
    }

    /// `axis = a`, which a tile of one axis may do without.
    pub(super) fn axis(&mut self, call: &Call<'c, 'a>, shape: &[i64]) -> Result<usize> {
        let rank = shape.len();
        match call.named("axis") {
            None if rank == 1 => Ok(0),
            None => {
                let message = format!("`{}` of {rank} axes needs `axis = …`", call.name);
                self.error(codes::WRONG_ARGUMENTS, call.span, message, "here")
            }
            Some(arg) => match &arg.value {
                Value::Int(axis) if (0..rank as i64).contains(axis) => Ok(*axis as usize),
                Value::Int(axis) => {
                    let message = format!("axis {axis} of a tile of shape {}", shape_text(shape));
                    let label = format!("expected 0 to {}", rank - 1);
                    self.error(codes::MODE_OUT_OF_RANGE, arg.expr.span, message, label)
                }
                Value::Scalar(_) => self.static_needed("the axis of a tile", arg.expr),
                other => self.expected("an integer", &other.clone(), arg.expr.span),
            },
        }
    }

    /// The axes that a reduction is along: `axis = a`, `axis = (a, b)`, or all.
    pub(super) fn axes(&mut self, call: &Call<'c, 'a>, shape: &[i64]) -> Result<Vec<usize>> {
        let Some(arg) = call.named("axis") else {
            return Ok((0..shape.len()).collect());
        };
        let Value::Tuple(parts) = &arg.value else {
            return Ok(vec![self.axis(call, shape)?]);
        };
        let (rank, span) = (shape.len(), arg.expr.span);
        let mut axes = Vec::new();
        for part in parts {
            match part {
                Value::Int(axis) if (0..rank as i64).contains(axis) => {
                    let axis = *axis as usize;
                    if axes.contains(&axis) {
                        let message = format!("axis {axis} is named twice");
                        return self.error(codes::WRONG_ARGUMENTS, span, message, "here");
                    }
                    axes.push(axis);
                }
                Value::Int(axis) => {
                    let message = format!("axis {axis} of a tile of shape {}", shape_text(shape));
                    let label = format!("expected 0 to {}", rank - 1);
                    return self.error(codes::MODE_OUT_OF_RANGE, span, message, label);
                }
                other => return self.expected("integers", &other.clone(), span),
            }
        }
        Ok(axes)
    }

    /// `reshape(x, extents…)`: another shape of as many elements, in their order with the last axis the fastest.
    pub(in crate::eval) fn reshape(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let (tile, shape) = self.tile_and_shape(call)?;
        if !rules::reshapes_to(&tile.shape, &shape) {
            let (found, wanted): (i64, i64) = (tile.shape.iter().product(), shape.iter().product());
            let label = format!(
                "expected a shape of {}, found one of {wanted}",
                counted(found, "element")
            );
            return self.unfit_shape(call, (&tile.shape, &shape), &label);
        }
        self.reshaped(&tile, &shape, call.span).map(Value::Tile)
    }

    /// A tile in another shape of as many elements.
    pub(in crate::eval) fn reshaped(
        &mut self,
        tile: &Tile<'c>,
        shape: &[i64],
        span: Span,
    ) -> Result<Tile<'c>> {
        match tile.shape == shape {
            true => Ok(tile.clone()),
            false => self.tile_op(TileOp::Reshape, &[tile.ir], &[], (tile.elem, shape), span),
        }
    }

    /// `recast<i4>(x, order = layout)`: the bits of a tile as narrower elements along its last axis.
    pub(in crate::eval) fn recast_tile(
        &mut self,
        call: &Call<'c, 'a>,
        elem: Elem,
        tile: &Tile<'c>,
    ) -> Result<Value<'c, 'a>> {
        let mut shape = tile.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last *= (tile.elem.bits() / elem.bits()).max(1);
        }
        let order = match call.named("order") {
            None => None,
            Some(arg) => match arg.value.as_layout() {
                Some(layout) => Some((layout, arg.expr.span)),
                None if arg.value.as_static().is_none() => {
                    return self.static_needed("the order of elements", arg.expr);
                }
                None => return self.expected("a layout", &arg.value.clone(), arg.expr.span),
            },
        };
        let text = order.as_ref().map(|(layout, _)| layout.to_string());
        let types = [(tile.elem, &tile.shape), (elem, &shape)];
        let [input, result] = types.map(|(elem, shape)| TileType::new(elem, shape));
        if let Err(label) = Recast::of([&input, &result], text.as_deref()) {
            let span = order.map_or(call.span, |(_, span)| span);
            let message = format!(
                "`recast<{}>` of a tile of {} of shape {}",
                elem_name(elem),
                elem_name(tile.elem),
                shape_text(&tile.shape)
            );
            return self.error(codes::SHAPE_MISMATCH, span, message, &label);
        }
        let ir = self.ir(call.span)?;
        let attrs: Vec<_> = text.iter().map(|text| ("order", ir.string(text))).collect();
        let of = (elem, &shape[..]);
        let result = self.tile_op(TileOp::Recast, &[tile.ir], &attrs, of, call.span)?;
        Ok(Value::Tile(result))
    }

    /// `broadcast(x, extents…)`: repeats along axes of extent 1, and along new ones at the front.
    pub(in crate::eval) fn broadcast(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let (tile, shape) = self.tile_and_shape(call)?;
        if !rules::repeats_to(&tile.shape, &shape) {
            let label = "extents must be equal, or 1, or absent at the front";
            return self.unfit_shape(call, (&tile.shape, &shape), label);
        }
        self.repeated(&tile, &shape, call.span).map(Value::Tile)
    }

    fn unfit_shape<T>(
        &mut self,
        call: &Call<'c, 'a>,
        (from, to): (&[i64], &[i64]),
        label: &str,
    ) -> Result<T> {
        let (name, from, to) = (&call.name, shape_text(from), shape_text(to));
        let message = format!("`{name}` of a tile of shape {from} to {to}");
        self.error(codes::SHAPE_MISMATCH, call.span, message, label)
    }

    /// A tile, and the extents behind it.
    fn tile_and_shape(&mut self, call: &Call<'c, 'a>) -> Result<(Tile<'c>, Vec<i64>)> {
        let (first, extents) = (&call.args[0], call.args[1..].iter());
        let tile = match &first.value {
            Value::Tile(tile) => tile.clone(),
            other => return self.expected("a tile", &other.clone(), first.expr.span),
        };
        let extents: Vec<_> = extents.collect();
        let shape = self.given_shape(&extents, call.span)?;
        Ok((tile, shape))
    }

    /// `transpose(x)`: exchanges the two axes.
    pub(in crate::eval) fn transpose(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        match &call.args[0].value {
            Value::Tile(tile) if tile.shape.len() == 2 => {
                let shape = [tile.shape[1], tile.shape[0]];
                let operands = [tile.ir];
                let of = (tile.elem, &shape[..]);
                let result = self.tile_op(TileOp::Transpose, &operands, &[], of, call.span)?;
                Ok(Value::Tile(result))
            }
            other => {
                let (found, span) = (other.clone(), call.args[0].expr.span);
                let help = match &found {
                    Value::Tile(tile) if tile.shape.len() == 1 => format!(
                        "a column is `reshape({}, {}, 1)`",
                        self.text(span),
                        tile.shape[0]
                    ),
                    _ => {
                        "`permute<(0, 2, 1)>(x)` of `std/tiles.cute` puts any axes in another order"
                            .to_owned()
                    }
                };
                self.expected_with_help("a tile of two axes", &found, span, help)
            }
        }
    }
}
