//! Parts of a tensor by ranges of coordinates: `x[_, 16..48]`, `x[batch, first..last, _]`.
//!
//! The tensor begins at the first coordinate of each range, and has as many elements along a mode as its range; what indices choose is sliced as
//! without ranges.
use super::modes::known;
use super::values::{Cute, Value};
use super::{Evaluator, Result};
use crate::ast::BinaryOp;
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::Val;
use cutec_layout::AnyLayout;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The part of a view at indices, of which some are `_`, and some may be ranges.
    pub(super) fn slice_of(
        &mut self,
        view: &Value<'c, 'a>,
        coord: Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let indices = match coord {
            Value::Tuple(parts) => parts,
            one => vec![one],
        };
        if !indices.iter().any(|index| matches!(index, Value::Range(_))) {
            return self.slice_at(view, indices, span);
        }
        let Value::Cute(Cute {
            val: Val::View(of), ..
        }) = view
        else {
            return self.expected("a tensor of which to take ranges", view, span);
        };
        let AnyLayout::Plain(plain) = &of.layout else {
            let message = "a range of a tensor behind a swizzle";
            let diagnostic = Diagnostic::error(codes::LAYOUT_ALGEBRA, span, message, "here");
            let help = "a part of it is a tile: `local_tile(x, tile, coordinate)`";
            return Err(self.report(diagnostic.with_help(help)));
        };
        if indices.len() != plain.rank() {
            let message = format!("a range of a tensor of {}", counted(plain.rank(), "mode"));
            let label = "expected an index, a range or `_` for each";
            return self.error(codes::WRONG_ARGUMENTS, span, message, label);
        }
        let none = Attrs::default();
        let layout = self.op(
            CuteOp::GetLayout,
            "[]",
            std::slice::from_ref(view),
            &none,
            span,
        )?;
        let (mut offsets, mut shape, mut stride, mut kept) = (vec![], vec![], vec![], vec![]);
        for (mode, index) in indices.into_iter().enumerate() {
            let one = [self.mode_of(&layout, mode, "[]", span)?];
            stride.push(self.op(CuteOp::GetStride, "[]", &one, &none, span)?);
            let Value::Range(range) = index else {
                offsets.push(Value::Int(0));
                shape.push(self.op(CuteOp::GetShape, "[]", &one, &none, span)?);
                kept.push(index);
                continue;
            };
            let message = format!("a range of mode {mode}, which is made of several");
            self.expect_one_mode(&one[0], message, span)?;
            let extent = known(&one[0]).and_then(|mode| mode.size().as_static());
            let [first, end, step] = *range;
            self.check_range(&[&first, &end, &step], extent, span)?;
            shape.push(match &first {
                Value::Int(0) => end,
                _ => self.binary(BinaryOp::Sub, (end, span), (first.clone(), span), span)?,
            });
            offsets.push(first);
            kept.push(Value::Underscore);
        }
        let moved = offsets
            .iter()
            .any(|offset| !matches!(offset, Value::Int(0)));
        let from = match moved {
            true => self.op(
                CuteOp::DomainOffset,
                "[]",
                &[std::slice::from_ref(view), &offsets].concat(),
                &none,
                span,
            )?,
            false => view.clone(),
        };
        let layout = self.layout_of_modes([shape, stride], "[]", span)?;
        let mut part = self.under_layout(from, layout, "[]", span)?;
        if let (Value::Cute(part), Value::Cute(of)) = (&mut part, view) {
            // Of a part nothing lies outside of its range.
            part.origin.displaced = of.origin.displaced;
        }
        match kept.iter().all(|index| matches!(index, Value::Underscore)) {
            true => Ok(part),
            false => self.slice_at(&part, kept, span),
        }
    }

    fn slice_at(
        &mut self,
        view: &Value<'c, 'a>,
        mut indices: Vec<Value<'c, 'a>>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let coord = match indices.len() {
            1 => indices.remove(0),
            _ => Value::Tuple(indices),
        };
        self.op(
            CuteOp::Slice,
            "[]",
            &[view.clone(), coord],
            &Attrs::default(),
            span,
        )
    }

    /// Refuses what of a range is known to leave a mode, and steps.
    fn check_range(
        &mut self,
        [first, end, step]: &[&Value<'c, 'a>; 3],
        extent: Option<i64>,
        span: Span,
    ) -> Result<()> {
        if !matches!(step, Value::Int(1)) {
            let message = "a range of a tensor goes by ones";
            let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, "here");
            let help = "every other element is a tile of a division: `zipped_divide(x, 2)[0, _]`";
            return Err(self.report(diagnostic.with_help(help)));
        }
        let number = |value: &Value<'c, 'a>| match value {
            Value::Int(number) => Some(*number),
            _ => None,
        };
        let (from, to) = (number(first), number(end));
        let outside = from.is_some_and(|from| from < 0)
            || to.zip(extent).is_some_and(|(to, extent)| to > extent)
            || from.zip(to).is_some_and(|(from, to)| from >= to);
        if outside {
            let shown = |number: Option<i64>| number.map_or("…".to_owned(), |it| it.to_string());
            let message = format!(
                "the range {}..{} of a mode of {}",
                shown(from),
                shown(to),
                match extent {
                    Some(extent) => counted(extent, "element"),
                    None => "as many elements as it has when it runs".to_owned(),
                }
            );
            let label = match extent {
                Some(extent) => {
                    format!("expected numbers from 0 to {extent}, the second one greater")
                }
                None => "expected numbers from 0 on, the second one greater".to_owned(),
            };
            return self.error(codes::OUT_OF_BOUNDS, span, message, label);
        }
        Ok(())
    }
}
