//! One element of a tensor as a place: `y[i, j] = v`, `y[i, j] += v` and `atomic_add(y[i, j], v)`, of a number or of a tile that
//! has one element. `y[]` is that of a tensor of rank 0. It is a tile of one element; outside of the tensor nothing is written.

use super::apart::lies_apart;
use super::coordinate::Coordinate;
use super::fetch::Update;
use super::place::Place;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::assign::New;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::{Span, Spanned};
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::{Elem, Space};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `base[indices] = value`, or with an operator.
    pub(in crate::eval) fn assign_element(
        &mut self,
        (base, indices): (&'a Expr, &'a [Expr]),
        op: Option<Spanned<BinaryOp>>,
        (value, target): (New<'_, 'c, 'a>, Span),
        span: Span,
    ) -> Result<()> {
        let view = self.expr(base);
        let at = self.exprs(indices);
        let new = self.new_value(value);
        let (view, at, new) = (view?, at?, new?);
        let place = self.one_place((&view, base.span), (indices, &at), target)?;
        let mut new = self.as_number(new, value.span())?;
        if let Some(op) = op {
            let old = self.load(&place, target)?;
            new = self.binary(op.node, (old, target), (new, value.span()), span)?;
        }
        self.write_tile(&place, (&new, value.span()), &[], span)
    }

    /// `atomic_add(base[indices], value)` and the like, `rest` what stands behind the place.
    pub(in crate::eval) fn update_element(
        &mut self,
        update: Update,
        (base, indices): (&'a Expr, &'a [Expr]),
        rest: &'a [Arg],
        (target, span): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let view = self.expr(base);
        let at = self.exprs(indices);
        let new = self.new_elements(update, rest, span);
        let (view, at) = (view?, at?);
        let (ir, elem, place) = self.one_element((&view, base.span), (indices, &at), target)?;
        self.check_update(update, elem, target)?;
        let mut numbers = Vec::new();
        for (new, new_span) in new? {
            numbers.push((self.as_number(new, new_span)?, new_span));
        }
        if update.fetches() {
            let at = place.values.iter();
            let at = at.map(|at| Ok((self.coordinate_number(*at, target)?, target)));
            let at = at.collect::<Result<Vec<_>>>()?;
            let of = (elem, &[1][..]);
            let was = self.fetched(update.kind, (&view, &at), of, &numbers, span)?;
            return self.only_element(&was, span);
        }
        let Some((new, new_span)) = numbers.first() else {
            return Err(Stop::Reported);
        };
        let kind = self.ir(span)?.string(update.kind.name());
        let place = Place::of_element(ir, elem, place);
        self.write_tile(&place, (new, *new_span), &[("atomic", kind)], span)?;
        Ok(Value::Unit)
    }

    /// What to write instead of a place in a tile, `v[_, 0] = x`.
    fn help_for_place(
        &self,
        view: &Value<'c, 'a>,
        (base, indices): (Span, &'a [Expr]),
    ) -> Option<String> {
        let Value::Tile(tile) = view else {
            return None;
        };
        let (name, rank) = (self.text(base), tile.shape.len());
        let mut conditions = Vec::new();
        for (mode, (index, extent)) in indices.iter().zip(&tile.shape).enumerate() {
            let mut extents = vec!["1".to_owned(); rank];
            extents[mode] = extent.to_string();
            let along = format!("iota({})", extents.join(", "));
            let text = self.text(index.span);
            match &*index.kind {
                ExprKind::Wildcard => {}
                ExprKind::Range { start, end, .. } => {
                    let (start, end) = (self.text(start.span), self.text(end.span));
                    conditions.push(format!("{along} >= {start}"));
                    conditions.push(format!("{along} < {end}"));
                }
                _ => conditions.push(format!("{along} == {text}")),
            }
        }
        let written = match conditions.is_empty() || indices.len() != rank {
            true => "select(condition, x, v)".to_owned(),
            false => format!("select({}, x, {name})", conditions.join(" & ")),
        };
        Some(format!(
            "a tile is a value, no memory: a variable `var {name}` gets another one, `{name} = {written}`, of which these elements are x"
        ))
    }

    /// A number, or the element of a tile that has one.
    fn as_number(&mut self, value: Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match &value {
            Value::Tile(tile) => self.only_element(tile, span),
            _ => Ok(value),
        }
    }

    /// The place of one element of a tensor.
    fn one_place(
        &mut self,
        view: (&Value<'c, 'a>, Span),
        at: (&'a [Expr], &[Value<'c, 'a>]),
        target: Span,
    ) -> Result<Place<'c, 'a>> {
        let (ir, elem, at) = self.one_element(view, at, target)?;
        Ok(Place::of_element(ir, elem, at))
    }

    /// The tensor of one element, its type, and where it lies.
    fn one_element(
        &mut self,
        (view, base): (&Value<'c, 'a>, Span),
        (indices, at): (&'a [Expr], &[Value<'c, 'a>]),
        target: Span,
    ) -> Result<(IrValue<'c>, Elem, Coordinate<'c>)> {
        let (ir, elem, layout) = match view.as_view() {
            Some((cute, of)) if of.ptr.space == Space::Gmem => {
                (cute.ir, of.ptr.elem, of.layout.clone())
            }
            _ => {
                let what = "a tensor in global memory";
                return match self.help_for_place(view, (base, indices)) {
                    Some(help) => self.expected_with_help(what, view, base, help),
                    None => self.expected(what, view, base),
                };
            }
        };
        self.check_index_count(view, at.len(), (base, target))?;
        // A tensor of rank 0 has a layout of one mode.
        if !at.is_empty() && layout.rank() != at.len() {
            return self.not_one_element(target, "expected an integer for each mode");
        }
        self.check_writable(view, base)?;
        let mut coordinate = Coordinate {
            values: Vec::new(),
            by_element: Vec::new(),
            first: Vec::new(),
        };
        // Before the tensor nothing is written either, which offsets in elements see to.
        let flat: Vec<bool> = layout
            .inner()
            .modes()
            .map(|mode| mode.shape().is_leaf())
            .collect();
        for (mode, (index, expr)) in at.iter().zip(indices).enumerate() {
            if flat[mode] {
                coordinate.by_element.push(mode);
            }
            let index = self.read_slot(index, expr.span)?;
            let index = match index {
                Value::Tile(tile) => self.only_element(&tile, expr.span)?,
                other => other,
            };
            self.expect_index(&index, expr.span)?;
            coordinate.values.push(match &index {
                Value::Int(number) => {
                    if *number == 0 {
                        coordinate.first.push(mode);
                    }
                    self.number(&index, Elem::I32, expr.span)?
                }
                Value::Scalar(scalar) if matches!(scalar.elem, Elem::I32 | Elem::I64) => scalar.ir,
                _ => return self.not_one_element(target, "expected an integer for each mode"),
            });
        }
        if at.is_empty() {
            let first = self.number(&Value::Int(0), Elem::I32, target)?;
            coordinate.values.push(first);
        }
        let shape = vec![1; coordinate.values.len()];
        if lies_apart(&layout, &shape, &coordinate).is_some() {
            return self.not_one_element(target, "a mode is nested");
        }
        Ok((ir, elem, coordinate))
    }

    /// A kernel at tile level writes tiles and single elements, no other parts of tensors.
    fn not_one_element<T>(&mut self, span: Span, why: &str) -> Result<T> {
        let message = "a kernel at tile level writes tiles and single elements";
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, why);
        Err(self
            .report(diagnostic.with_help("a part of a tensor is `x.tile(shape, coordinate) = …`")))
    }
}
