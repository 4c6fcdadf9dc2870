//! Indexing: elements, slices, coordinates.

use super::arith::number_or_vector;
use super::values::{Tile, Value, Vector, notation};
use super::{Evaluator, Result, Stop};
use crate::ast::{Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_dialects::elem::Elem;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::Val;

/// What an index of an array is called.
pub(super) const ARRAY_INDEX: &str = "the index of an array";

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The error of an index that a tuple or an array of so many parts does not have.
    pub(super) fn no_part<T>(
        &mut self,
        whole: &str,
        parts: usize,
        at: i64,
        index: Span,
    ) -> Result<T> {
        let message = format!("{whole} has no part {at}");
        let label = match parts {
            0 => "there is none".to_owned(),
            count => format!("expected 0 to {}", count - 1),
        };
        self.error(codes::MODE_OUT_OF_RANGE, index, message, label)
    }

    /// `base[indices]`.
    pub(super) fn index(
        &mut self,
        base: &'a Expr,
        indices: &'a [Expr],
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let value = self.expr(base)?;
        match &value {
            Value::Tuple(parts) | Value::Array(parts) => {
                let [index] = indices else {
                    return self.error(
                        codes::WRONG_ARGUMENTS,
                        span,
                        "a tuple takes one index",
                        "here",
                    );
                };
                let at = self.static_int(index_of(&value), index)?;
                match usize::try_from(at).ok().and_then(|at| parts.get(at)) {
                    Some(part) => Ok(part.clone()),
                    None => self.no_part(&value.describe(), parts.len(), at, index.span),
                }
            }
            Value::Vector(vector) => {
                let [index] = indices else {
                    let message = "the values of a view take one index";
                    return self.error(codes::WRONG_ARGUMENTS, span, message, "here");
                };
                let at = self.static_int("the index of a value", index)?;
                if !(0..vector.len).contains(&at) {
                    let message = format!("there is no value {at} among {}", value.describe());
                    let label = format!("expected 0 to {}", vector.len - 1);
                    return self.error(codes::MODE_OUT_OF_RANGE, index.span, message, label);
                }
                let element = self.element_of(vector, at, span)?;
                Ok(number_or_vector(element, vector.elem, None))
            }
            Value::Cute(cute) if matches!(cute.val, Val::Tuple(..)) => {
                let [index] = indices else {
                    return self.error(
                        codes::WRONG_ARGUMENTS,
                        span,
                        "a tuple takes one index",
                        "here",
                    );
                };
                let at = self.static_int("the index of a tuple", index)?;
                self.op(CuteOp::Get, "[]", &[value], &Attrs::mode(vec![at]), span)
            }
            _ => {
                let coord = self.coordinate(indices)?;
                self.check_index_count(&value, indices.len(), (base.span, span))?;
                let is_tile = matches!(value, Value::Tile(_));
                match self.is_slice(&coord) && !is_tile {
                    true => self.slice_of(&value, coord, span),
                    false => self.element(&value, &coord, span),
                }
            }
        }
    }

    /// The coordinate that indices spell: one of them is the coordinate itself.
    pub(super) fn coordinate(&mut self, indices: &'a [Expr]) -> Result<Value<'c, 'a>> {
        let mut parts = Vec::new();
        for part in self.exprs(indices)?.iter().zip(indices) {
            let index = self.read_slot(part.0, part.1.span)?;
            self.expect_index(&index, part.1.span)?;
            parts.push(index);
        }
        Ok(match parts.len() {
            // The element of a tensor without modes.
            0 => Value::Int(0),
            1 => parts.remove(0),
            _ => Value::Tuple(parts),
        })
    }

    /// One element of a tensor as a place, not a value: the view, and the coordinate in it. What is no index is a view of
    /// one element.
    pub(super) fn element_place(
        &mut self,
        expr: &'a Expr,
    ) -> Result<(Value<'c, 'a>, Value<'c, 'a>)> {
        let (view, coord, base) = match &*expr.kind {
            ExprKind::Index { base, indices } => {
                let (view, coord) = (self.expr(base), self.coordinate(indices));
                let (view, coord) = (view?, coord?);
                self.check_index_count(&view, indices.len(), (base.span, expr.span))?;
                (view, coord, base)
            }
            _ => (self.expr(expr)?, Value::Int(0), expr),
        };
        let Some((_, of)) = view.as_view() else {
            return self.expected("one element of a tensor, `t[i]`", &view, base.span);
        };
        let whole = !matches!(&*expr.kind, ExprKind::Index { .. });
        if self.is_slice(&coord) || whole && !of.layout.size().is(1) {
            let message = "this is a view, not one element";
            return self.error(codes::WRONG_TYPE, expr.span, message, "expected `t[i]`");
        }
        self.check_writable(&view, base.span)?;
        Ok((view, coord))
    }

    /// Refuses numbers that cannot be an index.
    pub(super) fn expect_index(&mut self, index: &Value<'c, 'a>, span: Span) -> Result<()> {
        match index {
            Value::Scalar(scalar) if !matches!(scalar.elem, Elem::I32 | Elem::I64) => {
                self.expected_index(index, span)
            }
            Value::Large(_)
            | Value::Float(_)
            | Value::Typed(..)
            | Value::Bool(_)
            | Value::Str(_)
            | Value::Type(_) => self.expected("an integer as index", index, span),
            Value::Range(parts) => parts
                .iter()
                .try_for_each(|part| self.expect_index(part, span)),
            Value::Tile(tile) if tile.shape.iter().any(|extent| *extent != 1) => {
                let help = "elements at a tile of coordinates are `x.gather((rows, columns))`; `x.scatter((rows, columns)) = v` writes them";
                self.expected_with_help("an integer as index", index, span, help)
            }
            Value::Static(Val::Layout(_)) => {
                let message = format!("an index is an integer or `_`, not {}", index.describe());
                let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, "here");
                let help = "a part of a mode is a range, `x[0..16]`, or a tile, `local_tile(x, tile, coordinate)`, at tile level `x.tile(shape, coordinate)`";
                Err(self.report(diagnostic.with_help(help)))
            }
            _ => Ok(()),
        }
    }

    /// Whether a coordinate keeps a mode, or a part of one.
    pub(super) fn is_slice(&self, coord: &Value<'c, 'a>) -> bool {
        match coord {
            Value::Underscore | Value::Range(_) => true,
            Value::Tuple(parts) => parts.iter().any(|part| self.is_slice(part)),
            _ => false,
        }
    }

    fn element(
        &mut self,
        value: &Value<'c, 'a>,
        coord: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match value {
            Value::Static(Val::Layout(_)) => self.op(
                CuteOp::Crd2idx,
                "[]",
                &[coord.clone(), value.clone()],
                &Attrs::default(),
                span,
            ),
            Value::Cute(cute) if matches!(cute.val, Val::Layout(_)) => self.op(
                CuteOp::Crd2idx,
                "[]",
                &[coord.clone(), value.clone()],
                &Attrs::default(),
                span,
            ),
            Value::Static(Val::CoordTensor(_)) | Value::Cute(_) => self.op(
                CuteOp::MemrefLoad,
                "[]",
                &[value.clone(), coord.clone()],
                &Attrs::default(),
                span,
            ),
            Value::Error => Err(Stop::Reported),
            other => {
                let what = "a tensor, a layout, a tuple or an array to index";
                match other {
                    Value::Tile(tile) if tile.shape.iter().all(|extent| *extent == 1) => {
                        let help = "a tile of one element is a number where one is needed: `if x < 1.0 { … }`, `y[i] = x`";
                        self.expected_with_help(what, other, span, help)
                    }
                    Value::Tile(tile) => {
                        let help = self.element_of_tile(tile, coord, span);
                        self.expected_with_help(what, other, span, help)
                    }
                    Value::Scalar(_) => self.expected_with_help(
                        what,
                        other,
                        span,
                        "all indices stand in one pair of brackets: `x[i, j]`",
                    ),
                    Value::Builtin("tile") => self.expected_with_help(
                        what,
                        other,
                        span,
                        "its axes have names: `tile.m`, `tile.n`",
                    ),
                    _ => self.expected(what, other, span),
                }
            }
        }
    }

    /// What to write for `x[i, j]` of a tile.
    fn element_of_tile(&self, tile: &Tile<'c>, coord: &Value<'c, 'a>, span: Span) -> String {
        let known = coord
            .as_static()
            .map(|coord| notation(&coord).replace(',', ", "));
        let text = self.text(span);
        let parts = text.strip_suffix(']').and_then(|text| text.split_once('['));
        match (known, parts, coord) {
            (Some(at), Some((name, _)), Value::Tuple(indices))
                if indices.len() == tile.shape.len() && !self.is_slice(coord) =>
            {
                let ones = vec!["1"; indices.len()].join(", ");
                format!("an element of a tile is `scalar(part({name}, ({ones}), {at}))`")
            }
            (_, Some((name, _)), Value::Tuple(indices))
                if let Some((extents, at)) = part_of_tile(&tile.shape, indices) =>
            {
                let list = |numbers: &[i64]| {
                    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                    numbers.join(", ")
                };
                let (extents, at) = (list(&extents), list(&at));
                format!("a part of a tile is `part({name}, ({extents}), ({at}))`, a tile of these extents")
            }
            _ => "a tile is computed with as a whole: `reduce(add, x, axis = 0)`, `select(c, a, b)`; a part is loaded as a tile of its own, a column is `gather(x, (iota(16, 1), j))`, an element of the tensor `x[i, j]`".to_owned(),
        }
    }

    /// A value for arithmetic: variables are read, views are loaded as a whole.
    pub(super) fn operand(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match value {
            Value::Slot(_) => self.read_slot(value, span),
            Value::Cute(_) => self.loaded_view(value, Hints::NONE, span),
            _ => Ok(value.clone()),
        }
    }

    /// Refuses a tensor as a value where nobody knows while compiling how many elements that would be.
    fn elements_of_run_time<T>(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<T> {
        let message = format!(
            "expected a number, or a tensor of so many elements as is known while compiling, found {}",
            value.describe()
        );
        let label = "how many elements it has is known only at run time";
        let rank = value.as_view().map_or(1, |(_, view)| view.layout.rank());
        let indices = ["i", "j", "k", "l", "m"][..rank.clamp(1, 5)].join(", ");
        let tile = vec!["64"; rank.clamp(1, 5)].join(", ");
        let help = match self.tiles {
            Some(_) => format!("a tile of it is a value: `x.tile(({tile}), ({indices}))`"),
            None => format!(
                "`x[{indices}]` is one element; several of one thread are a tile, `zipped_divide(x, 4)[_, i]`"
            ),
        };
        let diagnostic = Diagnostic::error(codes::STATIC_NEEDED, span, message, label);
        Err(self.report(diagnostic.with_help(help)))
    }

    /// All elements of a view; any other value as it is.
    pub(super) fn loaded_view(
        &mut self,
        value: &Value<'c, 'a>,
        hints: Hints,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some((_, view)) = value.as_view() else {
            return Ok(value.clone());
        };
        let (elem, len) = (view.ptr.elem, view.layout.size().as_static());
        if len.is_none() {
            return self.elements_of_run_time(value, span);
        }
        let attrs = Attrs {
            hints,
            ..Attrs::default()
        };
        let of = std::slice::from_ref(value);
        match (
            self.op(CuteOp::MemrefLoadVec, "loading a view", of, &attrs, span)?,
            len,
        ) {
            (Value::Cute(cute), Some(len)) => Ok(Value::Vector(Vector {
                ir: cute.ir,
                elem,
                len,
            })),
            (other, _) => Ok(other),
        }
    }
}

/// Extents and place of the part of a tile that indices name, where `part` takes it: whole axes, known ranges and known numbers.
fn part_of_tile(shape: &[i64], indices: &[Value<'_, '_>]) -> Option<(Vec<i64>, Vec<i64>)> {
    let parts = indices.iter().zip(shape).map(|(index, extent)| {
        let (from, to) = match index {
            Value::Underscore => (0, *extent),
            Value::Int(at) => (*at, at.checked_add(1)?),
            Value::Range(range) => match &**range {
                [Value::Int(from), Value::Int(to), Value::Int(1)] => (*from, *to),
                _ => return None,
            },
            _ => return None,
        };
        let is_part = 0 <= from && from < to && to <= *extent && from % (to - from) == 0;
        is_part.then_some((to - from, from))
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    (parts.len() == shape.len()).then(|| parts.into_iter().unzip())
}

/// What an index of an array or a tuple is called. A variable holds the parts of an array as those of a tuple.
pub(super) fn index_of(value: &Value<'_, '_>) -> &'static str {
    match value {
        Value::Array(_) => ARRAY_INDEX,
        Value::Tuple(parts) if alike(parts) => ARRAY_INDEX,
        _ => "the index of a tuple",
    }
}

/// Whether parts are tiles of one type and shape, as those of an array.
fn alike(parts: &[Value<'_, '_>]) -> bool {
    let mut tiles = parts.iter().map(|part| match part {
        Value::Tile(tile) => Some((tile.elem, &tile.shape)),
        _ => None,
    });
    match tiles.next().flatten() {
        Some(first) => tiles.all(|tile| tile == Some(first)),
        None => false,
    }
}
