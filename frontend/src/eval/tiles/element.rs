//! The element of a tensor of rank 0, as a place: `y[] = v`, `y[] += v` and `atomic_add(y[], v)`, of a number or of a tile that
//! has one element.

use super::coordinate::Coordinate;
use super::place::Place;
use crate::ast::{Arg, BinaryOp, Expr};
use crate::diagnostics::codes;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::{Span, Spanned};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{AtomicKind, Attrs};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `base[] = value`, or with an operator.
    pub(in crate::eval) fn assign_only_element(
        &mut self,
        base: &'a Expr,
        op: Option<Spanned<BinaryOp>>,
        (value, target): (&'a Expr, Span),
        span: Span,
    ) -> Result<()> {
        let view = self.expr(base);
        let new = self.loaded(value);
        let (view, new) = (view?, new?);
        let place = self.only_place(&view, base.span, target)?;
        let mut new = self.as_number(new, value.span)?;
        if let Some(op) = op {
            let operands = [view, Value::Int(0)];
            let none = Attrs::default();
            let old = self.op(CuteOp::MemrefLoad, "[]", &operands, &none, target)?;
            new = self.binary(op.node, (old, target), (new, value.span), span)?;
        }
        self.write_tile(&place, (&new, value.span), &[], span)
    }

    /// `atomic_add(base[], value)` and the like, `rest` what stands behind the place.
    pub(in crate::eval) fn update_only_element(
        &mut self,
        (function, kind): (&'static str, AtomicKind),
        base: &'a Expr,
        rest: &'a [Arg],
        (target, span): (Span, Span),
    ) -> Result<()> {
        let view = self.expr(base);
        let call = self.arguments(function.into(), span, span, &[], rest)?;
        let place = self.only_place(&view?, base.span, target)?;
        self.check_args(&call, 1..=1, &[], 0..=0, &[])?;
        let Some(value) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        if let Err(error) = AtomicKind::updates(kind.name(), place.elem) {
            return self.error(codes::WRONG_TYPE, target, error.to_string(), "updated here");
        }
        let new = self.read_slot(&value.value, value.expr.span)?;
        let new = self.as_number(new, value.expr.span)?;
        let kind = self.ir(span)?.string(kind.name());
        self.write_tile(&place, (&new, value.expr.span), &[("atomic", kind)], span)
    }

    /// A number, or the element of a tile that has one.
    fn as_number(&mut self, value: Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match &value {
            Value::Tile(tile) => self.only_element(tile, span),
            _ => Ok(value),
        }
    }

    /// The place of the element of a tensor that has one.
    fn only_place(
        &mut self,
        view: &Value<'c, 'a>,
        base: Span,
        target: Span,
    ) -> Result<Place<'c, 'a>> {
        let (ir, elem) = match view.as_view() {
            Some((cute, of)) if of.ptr.space == Space::Gmem => (cute.ir, of.ptr.elem),
            _ => return self.expected("a tensor in global memory", view, base),
        };
        self.check_index_count(view, 0, (base, target))?;
        self.check_writable(view, base)?;
        let first = self.number(&Value::Int(0), Elem::I32, target)?;
        let at = Coordinate {
            values: vec![first],
            by_element: Vec::new(),
            first: Vec::new(),
        };
        Ok(Place::of_element(ir, elem, at))
    }
}
