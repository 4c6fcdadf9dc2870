//! Assignments: to variables, elements, views and tiles, and to several of these at once.

use super::values::{RecordValue, Value, elem_name};
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::{Span, Spanned};
use cutec_dialects::elem::Space;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;

/// What is assigned.
#[derive(Clone, Copy)]
pub(super) enum New<'v, 'c, 'a> {
    /// The value of an expression, which is not evaluated yet.
    Of(&'a Expr),
    /// A part of a value, and the expression that gave it, or the whole.
    Part(&'v Value<'c, 'a>, &'a Expr),
}

impl<'a> New<'_, '_, 'a> {
    fn expr(&self) -> &'a Expr {
        match self {
            New::Of(expr) | New::Part(_, expr) => expr,
        }
    }

    /// Where it stands.
    pub(super) fn span(&self) -> Span {
        self.expr().span
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The value that is assigned.
    pub(super) fn new_value(&mut self, new: New<'_, 'c, 'a>) -> Result<Value<'c, 'a>> {
        match new {
            New::Of(expr) => self.loaded(expr),
            New::Part(value, _) => Ok(value.clone()),
        }
    }

    /// A value that is assigned part by part, of whose views the elements are read before any part is written:
    /// `(x, y) = (y, x)` swaps them.
    pub(super) fn read_before(
        &mut self,
        value: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        Ok(match value {
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.read_before(part, span));
                Value::Tuple(parts.collect::<Result<_>>()?)
            }
            Value::Array(parts) => {
                let parts = parts.iter().map(|part| self.read_before(part, span));
                Value::Array(parts.collect::<Result<_>>()?)
            }
            Value::Record(record) => {
                let fields = record.declaration.fields.iter().zip(&record.fields);
                let fields = fields.map(|(field, value)| match field.mutable {
                    true => self.read_before(value, span),
                    false => Ok(value.clone()),
                });
                Value::Record(RecordValue {
                    declaration: record.declaration,
                    fields: fields.collect::<Result<_>>()?,
                })
            }
            Value::Cute(_) if value.as_view().is_some() => self.operand(value, span)?,
            _ => value.clone(),
        })
    }

    /// `target = value`, or with an operator.
    pub(super) fn assign(
        &mut self,
        target: &'a Expr,
        op: Option<Spanned<BinaryOp>>,
        value: New<'_, 'c, 'a>,
        span: Span,
    ) -> Result<()> {
        if let Some(path) = self.path(target)? {
            return self.assign_variable(&path, target, op, value, span);
        }
        match &*target.kind {
            ExprKind::Tuple(targets) => {
                let new = self.new_value(value)?;
                let new = self.read_before(&new, value.span())?;
                let parts = self.parts(&new, targets.len(), (target.span, value.span()))?;
                for (at, (target, part)) in targets.iter().zip(&parts).enumerate() {
                    self.assign(target, None, New::Part(part, value.expr().part(at)), span)?;
                }
                Ok(())
            }
            ExprKind::Wildcard => self.new_value(value).map(drop),
            ExprKind::Name(name) => self.unknown_name(name, target.span),
            ExprKind::Field { base, .. } if self.named_record(base)?.is_some() => {
                self.expr(target).and(Err(Stop::Reported))
            }
            ExprKind::Index { base, indices } if self.tiles.is_some() => {
                self.assign_element((base, indices), op, (value, target.span), span)
            }
            ExprKind::Index { base, indices } => {
                let view = self.expr(base);
                let coord = self.coordinate(indices);
                let new = self.new_value(value);
                let (view, coord, mut new) = (view?, coord?, new?);
                if view.as_view().is_none() {
                    let help = "all indices stand in one pair of brackets: `x[i, j] = …`";
                    return match view {
                        Value::Scalar(_) => {
                            self.expected_with_help("a tensor to write to", &view, base.span, help)
                        }
                        _ => self.expected("a tensor to write to", &view, base.span),
                    };
                }
                self.check_index_count(&view, indices.len(), (base.span, target.span))?;
                self.check_writable(&view, base.span)?;
                if self.is_slice(&coord) {
                    let part = self.slice_of(&view, coord, target.span)?;
                    return self.store_by(op, (part, target.span), (new, value.span()), span);
                }
                if let Some(op) = op {
                    let operands = [view.clone(), coord.clone()];
                    let old = self.op(
                        CuteOp::MemrefLoad,
                        "[]",
                        &operands,
                        &Attrs::default(),
                        target.span,
                    )?;
                    new = self.binary(op.node, (old, target.span), (new, value.span()), span)?;
                }
                let Some(elem) = view.as_view().map(|(_, view)| view.ptr.elem) else {
                    return Err(Stop::Reported);
                };
                let ir = self.number(&new, elem, value.span())?;
                let number = super::arith::number_or_vector(ir, elem, None);
                self.op(
                    CuteOp::MemrefStore,
                    "[] =",
                    &[number, view, coord],
                    &Attrs::default(),
                    span,
                )?;
                Ok(())
            }
            ExprKind::Call { callee, args }
                if let ExprKind::Field { base, name } = &*callee.kind
                    && &*name.node == "tile" =>
            {
                self.assign_tile((base, name, args), op, (value, target.span), span)
            }
            ExprKind::Call { callee, args }
                if let ExprKind::Field { base, name } = &*callee.kind
                    && &*name.node == "scatter" =>
            {
                self.assign_scattered((base, name, args), op, (value, target.span), span)
            }
            _ => {
                let view = self.expr(target)?;
                let new = self.new_value(value)?;
                self.store_by(op, (view, target.span), (new, value.span()), span)
            }
        }
    }

    /// Writes all elements of a view, or updates them by an operator.
    fn store_by(
        &mut self,
        op: Option<Spanned<BinaryOp>>,
        (view, target): (Value<'c, 'a>, Span),
        (mut new, given): (Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<()> {
        if let Some(op) = op {
            new = self.binary(op.node, (view.clone(), target), (new, given), span)?;
        }
        self.store(&view, &new, target, given, span)
    }

    /// A view of an argument that is not `mut` may not be written.
    pub(super) fn check_writable(&mut self, view: &Value<'c, 'a>, span: Span) -> Result<()> {
        let Some((cute, _)) = view.as_view() else {
            return Ok(());
        };
        let Some(argument) = cute.origin.readonly.clone() else {
            return Ok(());
        };
        let message = format!("`{argument}` is not `mut`: it may only be read");
        let diagnostic = Diagnostic::error(codes::NOT_MUTABLE, span, message, "written here");
        Err(self.report(diagnostic.with_help(format!("declare it `{argument}: mut tensor<…>`"))))
    }

    /// Writes all elements of a view.
    pub(super) fn store(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        view_span: Span,
        value_span: Span,
        span: Span,
    ) -> Result<()> {
        self.store_hinted(view, value, Hints::NONE, (view_span, value_span, span))
    }

    /// As [`Evaluator::store`], asking something of the caches. The places are those of the view, the
    /// value and the whole.
    pub(super) fn store_hinted(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        hints: Hints,
        spans: (Span, Span, Span),
    ) -> Result<()> {
        if let (Some((_, of)), Some(hint)) = (view.as_view(), hints.first())
            && of.ptr.space != Space::Gmem
        {
            let what = format!("a view in global memory for `{hint}`");
            return self.expected(&what, view, spans.0);
        }
        let vector = self.vector_for(view, value, spans)?;
        let attrs = Attrs {
            hints,
            ..Attrs::default()
        };
        self.op(
            CuteOp::MemrefStoreVec,
            "=",
            &[vector, view.clone()],
            &attrs,
            spans.2,
        )?;
        Ok(())
    }

    /// What is written to all elements of a view, as a vector of them. The places are those of the view, the value and
    /// the whole.
    pub(super) fn vector_for(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        (view_span, value_span, span): (Span, Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let Some((elem, size, shape)) = view.as_view().map(|(_, view)| {
            (
                view.ptr.elem,
                view.layout.size().as_static(),
                view.layout.shape().to_string(),
            )
        }) else {
            let help = "places are `y.tile(shape, coordinate) = x`, `y.scatter((rows, columns)) = x`, `y[i, j] = x`";
            return match view {
                Value::Tile(_) => {
                    self.expected_with_help("a view to write to", view, view_span, help)
                }
                _ => self.expected("a view to write to", view, view_span),
            };
        };
        self.check_writable(view, view_span)?;
        let value = self.operand(value, value_span)?;
        let Some(size) = size else {
            let message = format!("the view written has a run-time number of elements: {shape}");
            return self.error(
                codes::STATIC_NEEDED,
                view_span,
                message,
                "expected a static shape",
            );
        };
        if let Value::Vector(vector) = &value {
            if vector.len != size {
                let message = format!(
                    "{} written to {size}, of shape {shape}",
                    match vector.len {
                        1 => "1 element is".to_owned(),
                        count => format!("{count} elements are"),
                    }
                );
                return self.error(codes::SHAPE_MISMATCH, span, message, "they must be as many");
            }
            if vector.elem != elem {
                let (to, from) = (elem_name(elem), elem_name(vector.elem));
                let message = format!("values of {from} are written to elements of {to}");
                let diagnostic = Diagnostic::error(
                    codes::MIXED_TYPES,
                    value_span,
                    message,
                    format!("this is {from}"),
                );
                let help = format!("convert them: `{to}({})`", self.text(value_span));
                return Err(self.report(diagnostic.with_help(help)));
            }
        }
        let ir = self.spread(&value, elem, Some(size), value_span)?;
        Ok(super::arith::number_or_vector(ir, elem, Some(size)))
    }
}
