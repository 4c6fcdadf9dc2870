//! Elements at computed places: `x.gather((rows, columns))` of a tensor, `gather(x, (rows, columns))` of a tile, and
//! `y.scatter((rows, columns)) = v`. Each axis has a tile of coordinates, or a number; they are repeated to a common
//! shape, which is that of the result.

use super::fetch::Update;
use super::parts_of;
use crate::ast::{Arg, BinaryOp, Expr};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::assign::New;
use crate::eval::builtins::{self, Level, Receiver};
use crate::eval::call::Call;
use crate::eval::values::{Tile, Value};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::{Span, Spanned};
use cutec_abi::counted;
use cutec_dialects::builder::{IrValue, region_with_block, result_of};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp};
use cutec_dialects::semantics::Attrs;
use melior::ir::Attribute;
use std::sync::Arc;

/// A number along an axis, and the extent that it is to lie within.
pub(super) type Along<'c, 'a> = (Value<'c, 'a>, Value<'c, 'a>);

/// An element of a tensor that may lie outside.
pub(super) struct Element<'c, 'a> {
    /// Its coordinates.
    pub at: Vec<Value<'c, 'a>>,
    /// What lies within its extents if the element is inside.
    pub inside: Vec<Along<'c, 'a>>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `x.gather(coordinates, fill = v)` of a tensor: one load for each element, none outside of the tensor.
    pub(in crate::eval) fn gather_view(
        &mut self,
        (receiver, receiver_span): (&Value<'c, 'a>, Span),
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let (elem, extents) = self.global_extents(receiver, receiver_span, call)?;
        let at = self.places(call, extents.len())?;
        let span = call.span;
        let fill = call.named("fill").map(|arg| arg.value.clone());
        let place = |_: &mut Self, at: Vec<Value<'c, 'a>>| {
            let inside = at.iter().cloned().zip(extents).collect();
            Ok(Element { at, inside })
        };
        self.gathered((receiver, elem), (at, place), fill, &[], span)
    }

    /// The elements of a tensor, outside of it `fill` or zeros, at the places that a function makes of elements of tiles; the map that
    /// reads them has attributes.
    pub(super) fn gathered(
        &mut self,
        (receiver, elem): (&Value<'c, 'a>, Elem),
        (of, place): (
            Vec<(Value<'c, 'a>, Span)>,
            impl FnOnce(&mut Self, Vec<Value<'c, 'a>>) -> Result<Element<'c, 'a>>,
        ),
        fill: Option<Value<'c, 'a>>,
        attrs: &[(&str, Attribute<'c>)],
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let fill = match fill {
            Some(fill) => fill,
            None if elem == Elem::I1 => Value::Bool(false),
            None => Value::Int(0),
        };
        self.map_tiles_with(of, attrs, span, |this, of| {
            let Element { mut at, inside } = place(this, of)?;
            let inside = this.inside_of(&inside, span)?;
            let load = |this: &mut Self| {
                let at = match at.len() {
                    1 => at.remove(0),
                    _ => Value::Tuple(at),
                };
                let operands = [receiver.clone(), at];
                let none = Attrs::default();
                let element = this.op(CuteOp::MemrefLoad, "gather", &operands, &none, span)?;
                this.number(&element, elem, span)
            };
            let otherwise = |this: &mut Self| this.number(&fill, elem, span);
            let loaded = this.one_of(inside, elem, load, otherwise, span)?;
            Ok(number_or_vector(loaded, elem, None))
        })
    }

    /// `gather(x, coordinates, fill = v)` of a tile.
    pub(in crate::eval) fn gather_tile(&mut self, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        let Some(first) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        let tile = match &first.value {
            Value::Tile(tile) => tile.clone(),
            other => {
                let what = "a tile; of a tensor it is `x.gather(…)`";
                return self.expected(what, &other.clone(), first.expr.span);
            }
        };
        let (span, elem) = (call.span, tile.elem);
        let at = self.places_of(call, 1, tile.shape.len())?;
        let shape = self.common_shape(&at, span)?;
        let (mut operands, mut all) = (vec![tile.ir], Vec::new());
        for (at, at_span) in &at {
            let at = self.as_tile(at, (Elem::I32, &shape), *at_span)?;
            operands.push(at.ir);
            all.push((Value::Tile(at), *at_span));
        }
        let gathered = self.tile_op(TileOp::Gather, &operands, &[], (elem, &shape), span)?;
        all.push((Value::Tile(gathered), span));
        let fill = match call.named("fill") {
            Some(arg) => arg.value.clone(),
            None if elem == Elem::I1 => Value::Bool(false),
            None => Value::Int(0),
        };
        let extents = tile.shape.into_iter().map(Value::Int);
        // Outside of the tile it has any element.
        self.map_tiles(all, span, |this, mut at| {
            let Some(element) = at.pop() else {
                return Err(Stop::Reported);
            };
            let along: Vec<Along> = at.into_iter().zip(extents).collect();
            let inside = this.inside_of(&along, span)?;
            this.pick(inside, (&element, &fill), elem, span)
        })
    }

    /// `base.scatter(coordinates) = value`.
    pub(in crate::eval) fn assign_scattered(
        &mut self,
        (base, name, args): (&'a Expr, &'a Spanned<Arc<str>>, &'a [Arg]),
        op: Option<Spanned<BinaryOp>>,
        (value, target): (New<'_, 'c, 'a>, Span),
        span: Span,
    ) -> Result<()> {
        if let Some(op) = op {
            let message =
                "elements are scattered by `=`: of several for one place one would be left";
            let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, op.span, message, "here");
            let help = "`atomic_add(y.scatter(coordinates), v)` counts all of them";
            return Err(self.report(diagnostic.with_help(help)));
        }
        let receiver = self.expr(base)?;
        let call = self.arguments(name.node.clone(), name.span, target, &[], args)?;
        let new = [(self.new_value(value)?, value.span())];
        self.scatter((&receiver, base.span), &call, &new, None, span)
            .map(drop)
    }

    /// `atomic_add(base.scatter(coordinates), value)` and the like.
    pub(in crate::eval) fn update_scattered(
        &mut self,
        update: Update,
        (base, name, args): (&'a Expr, &'a Spanned<Arc<str>>, &'a [Arg]),
        rest: &'a [Arg],
        (target, span): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let receiver = self.expr(base)?;
        let place = self.arguments(name.node.clone(), name.span, target, &[], args)?;
        let new = self.new_elements(update, rest, span)?;
        self.scatter((&receiver, base.span), &place, &new, Some(update), span)
    }

    /// Writes new elements to their places, or updates what is there; what was, where that is asked for.
    fn scatter(
        &mut self,
        (receiver, receiver_span): (&Value<'c, 'a>, Span),
        call: &Call<'c, 'a>,
        new: &[(Value<'c, 'a>, Span)],
        update: Option<Update>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        self.check_level(Level::Tiles, ".scatter", call.name_span)?;
        if let Some(form) = builtins::table::method(Receiver::View, "scatter") {
            builtins::check(self, form, call)?;
        }
        let (elem, extents) = self.global_extents(receiver, receiver_span, call)?;
        self.check_writable(receiver, receiver_span)?;
        if let Some(update) = update {
            self.check_update(update, elem, call.span)?;
        }
        let at = self.places(call, extents.len())?;
        let tiles = new.iter().filter(|(new, _)| matches!(new, Value::Tile(_)));
        let all: Vec<_> = at.iter().chain(tiles).cloned().collect();
        let shape = self.common_shape(&all, span)?;
        if let Some(update) = update.filter(|update| update.fetches()) {
            let of = (elem, &shape[..]);
            let was = self.fetched(update.kind, (receiver, &at), of, new, span)?;
            return Ok(Value::Tile(was));
        }
        let Some((new, new_span)) = new.first() else {
            return Err(Stop::Reported);
        };
        let new = self.as_tile(new, (elem, &shape), *new_span)?;
        let ir = self.ir(span)?;
        let kind = update.map(|update| ("atomic", ir.string(update.kind.name())));
        let attrs: Vec<_> = kind.into_iter().collect();
        self.scattered(&new, receiver, &at, &attrs, span)?;
        Ok(Value::Unit)
    }

    /// Writes the elements of a tile to a tensor at these coordinates, where they are inside.
    pub(super) fn scattered(
        &mut self,
        new: &Tile<'c>,
        receiver: &Value<'c, 'a>,
        at: &[(Value<'c, 'a>, Span)],
        attrs: &[(&str, Attribute<'c>)],
        span: Span,
    ) -> Result<()> {
        let mut operands = vec![new.ir];
        operands.extend(receiver.as_view().map(|(cute, _)| cute.ir));
        for (at, at_span) in at {
            let at = self.as_tile(at, (Elem::I32, &new.shape), *at_span)?;
            operands.push(at.ir);
        }
        self.ir(span)?.op(TileOp::Scatter, &operands, attrs, &[]);
        Ok(())
    }

    /// The element type and the extents of a tensor in global memory.
    pub(super) fn global_extents(
        &mut self,
        receiver: &Value<'c, 'a>,
        receiver_span: Span,
        call: &Call<'c, 'a>,
    ) -> Result<(Elem, Vec<Value<'c, 'a>>)> {
        let (elem, modes) = match receiver.as_view() {
            Some((_, view)) if view.ptr.space == Space::Gmem => {
                (view.ptr.elem, view.layout.shape().clone())
            }
            _ => return self.expected("a tensor in global memory", receiver, receiver_span),
        };
        self.has_values(elem, receiver_span)?;
        let mut extents = Vec::new();
        for mode in 0..modes.rank() {
            if let Some(nested) = modes.mode(mode).filter(|extent| !extent.is_leaf()) {
                let message = format!("coordinates along mode {mode}, which is {nested}");
                let label = "expected a mode of one extent";
                return self.error(codes::SHAPE_MISMATCH, receiver_span, message, label);
            }
            extents.push(self.size_of_mode(receiver, mode, &call.name, call.span)?);
        }
        Ok((elem, extents))
    }

    /// How many elements a mode of a tensor has.
    pub(super) fn size_of_mode(
        &mut self,
        tensor: &Value<'c, 'a>,
        mode: usize,
        what: &str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let (tensor, mode) = (std::slice::from_ref(tensor), Attrs::mode([mode as i64]));
        let size = self.op(CuteOp::Size, what, tensor, &mode, span)?;
        self.numbers(&size, span)
    }

    /// The coordinates that a call gives first.
    fn places(&mut self, call: &Call<'c, 'a>, rank: usize) -> Result<Vec<(Value<'c, 'a>, Span)>> {
        self.places_of(call, 0, rank)
    }

    /// A tile of coordinates or a number for each axis, at least one of them a tile.
    fn places_of(
        &mut self,
        call: &Call<'c, 'a>,
        argument: usize,
        rank: usize,
    ) -> Result<Vec<(Value<'c, 'a>, Span)>> {
        let Some(arg) = call.arg(argument) else {
            return Err(Stop::Reported);
        };
        let span = arg.expr.span;
        let parts = parts_of(&arg.value);
        if parts.len() != rank {
            let message = format!(
                "{} of a tensor or tile with {}",
                counted(parts.len(), "coordinate"),
                match rank {
                    1 => "1 axis".to_owned(),
                    rank => format!("{rank} axes"),
                }
            );
            let diagnostic =
                Diagnostic::error(codes::WRONG_RANK, span, message, "expected one for each");
            let help = "`x.gather((rows, columns))`: a tile of i32, or a number, for each axis";
            return Err(self.report(diagnostic.with_help(help)));
        }
        if !parts.iter().any(|part| matches!(part, Value::Tile(_))) {
            let diagnostic = Diagnostic::error(
                codes::WRONG_TYPE,
                span,
                "no coordinate is a tile",
                "expected a tile of i32 for at least one axis",
            );
            return Err(self.report(
                diagnostic.with_help("`x.tile(shape, coordinate)` is a tile at a number"),
            ));
        }
        let mut places = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let span = match rank {
                1 => span,
                _ => arg.expr.part(at).span,
            };
            let part = self.read_slot(part, span)?;
            match &part {
                Value::Tile(tile) if tile.elem != Elem::I32 => {
                    let what = "a tile of i32";
                    let text = self.text(span);
                    let help = format!("coordinates are i32: convert them, `i32({text})`");
                    return self.expected_with_help(what, &part, span, help);
                }
                Value::Tile(_) => {}
                other => {
                    self.number(other, Elem::I32, span)?;
                }
            }
            places.push((part, span));
        }
        Ok(places)
    }

    /// Whether coordinates lie within their extents.
    fn inside_of(&mut self, along: &[Along<'c, 'a>], span: Span) -> Result<Value<'c, 'a>> {
        let mut inside = Value::Bool(true);
        for (at, extent) in along {
            // As numbers without sign, so that both sides are asked for at once.
            let at = self.number(at, Elem::I32, span)?;
            let extent = self.number(extent, Elem::I32, span)?;
            let ir = self.ir(span)?;
            let below = [("predicate", ir.i64(6))];
            let holds = ir.value(ArithOp::Cmpi, &[at, extent], &below, ir.ty("i1"));
            let holds = number_or_vector(holds, Elem::I1, None);
            inside = match inside {
                Value::Bool(_) => holds,
                so_far => self.binary(BinaryOp::BitAnd, (so_far, span), (holds, span), span)?,
            };
        }
        Ok(inside)
    }

    /// `a` where a condition holds, else `b`.
    fn pick(
        &mut self,
        condition: Value<'c, 'a>,
        (a, b): (&Value<'c, 'a>, &Value<'c, 'a>),
        elem: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let condition = self.number(&condition, Elem::I1, span)?;
        let (a, b) = (self.number(a, elem, span)?, self.number(b, elem, span)?);
        let ir = self.ir(span)?;
        let ty = ir.ty(elem.value_type());
        let picked = ir.value(ArithOp::Select, &[condition, a, b], &[], ty);
        Ok(number_or_vector(picked, elem, None))
    }

    /// What one of two branches gives.
    fn one_of(
        &mut self,
        condition: Value<'c, 'a>,
        elem: Elem,
        then: impl FnOnce(&mut Self) -> Result<IrValue<'c>>,
        otherwise: impl FnOnce(&mut Self) -> Result<IrValue<'c>>,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let condition = self.number(&condition, Elem::I1, span)?;
        let (first, first_block) = region_with_block(&[]);
        self.in_block(first_block, |this| {
            let number = then(this)?;
            this.terminate(ScfOp::Yield, &[number], span)
        })?;
        let (second, second_block) = region_with_block(&[]);
        self.in_block(second_block, |this| {
            let number = otherwise(this)?;
            this.terminate(ScfOp::Yield, &[number], span)
        })?;
        let ir = self.ir(span)?;
        let types = [ir.ty(elem.value_type())];
        let regions = vec![first, second];
        // No branch is left of it: the load gets a predicate.
        let guard = [("cute.guard", ir.unit())];
        let op = ir.op_with_regions(ScfOp::If, &[condition], &guard, &types, regions);
        Ok(result_of(op, 0))
    }

    /// A tile that is scattered is written, and has no value.
    pub(in crate::eval) fn scatter_is_a_place(
        &mut self,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let message = "`.scatter` is a place to write to";
        let diagnostic = Diagnostic::error(codes::WRONG_TYPE, call.span, message, "read here");
        let help = "`y.scatter(coordinates) = v`; what is read is `x.gather(coordinates)`";
        Err(self.report(diagnostic.with_help(help)))
    }
}
