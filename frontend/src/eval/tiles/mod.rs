//! The tile level: what a block computes on whole tiles, as operations of the `tile` dialect.
//!
//! - `launch`: how many tiles there are, and which one a block computes.
//! - `place`: tiles of tensors, read and written.
//! - `coordinate`: where in a tensor they lie.
//! - `apart`: tiles whose elements lie in no layout.
//! - `element`: the element of a tensor of rank 0.
//! - `shape`: tiles of constants, and tiles brought to other shapes.
//! - `map`: what is computed element by element.
//! - `combine`: reductions by functions, and scans.
//! - `gather`: elements at computed places.
//! - `windows`: windows of a convolution.
//! - `dot`: products.
//! - `variables`: tiles that loops carry from round to round.

mod apart;
mod combine;
mod coordinate;
mod dot;
mod element;
mod fetch;
mod gather;
mod launch;
mod map;
mod parts;
mod place;
mod shape;
mod variables;
mod windows;

pub(super) use combine::has_tiles;
pub(super) use fetch::Update;
pub(super) use launch::TileLaunch;
pub(super) use variables::Carried;

pub(super) use launch::AXES;

use super::builtins::Level;
use super::values::{Tile, Value, elem_name};
use super::{Evaluator, Result};
use crate::diagnostics::{Diagnostic, codes};
use crate::rules::repeats_to;
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::TileType;
use melior::ir::{Attribute, Type};

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Built-ins of the thread level stand in no kernel at tile level, and the other way round.
    pub(super) fn check_level(&mut self, level: Level, name: &str, span: Span) -> Result<()> {
        let (level, help) = match (level, self.tiles.is_some()) {
            (Level::Threads, true) => (
                "thread",
                "a kernel launched with `tiles(…)` says what a block computes on tiles",
            ),
            (Level::Tiles, false) if name == "scan" => (
                "tile",
                "of threads, `import \"std/scan.cute\";` has `warp_scan` and `block_scan`; a kernel launched with `tiles(…)` scans tiles",
            ),
            (Level::Tiles, false) => ("tile", "launch the kernel with `tiles(…)`"),
            (Level::Both, _) | (Level::Threads, false) | (Level::Tiles, true) => return Ok(()),
        };
        let message = format!("`{name}` is of the {level} level, this kernel is not");
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, span, message, "here");
        Err(self.report(diagnostic.with_help(help)))
    }

    /// An operation that gives a tile.
    fn tile_op(
        &mut self,
        op: TileOp,
        operands: &[IrValue<'c>],
        attrs: &[(&str, Attribute<'c>)],
        (elem, shape): (Elem, &[i64]),
        span: Span,
    ) -> Result<Tile<'c>> {
        let ty = self.tile_type(elem, shape, span)?;
        let ir = self.ir(span)?.value(op, operands, attrs, ty);
        Ok(Tile {
            ir,
            elem,
            shape: shape.to_vec(),
        })
    }

    fn tile_type(&mut self, elem: Elem, shape: &[i64], span: Span) -> Result<Type<'c>> {
        let context = self.ir(span)?.context();
        Ok(TileType::new(elem, shape).ir(context))
    }

    /// A tile, or a number repeated, as a tile of this type and shape.
    pub(super) fn as_tile(
        &mut self,
        value: &Value<'c, 'a>,
        (elem, shape): (Elem, &[i64]),
        span: Span,
    ) -> Result<Tile<'c>> {
        match value {
            Value::Tile(tile) if tile.elem != elem => {
                let (to, from) = (elem_name(elem), elem_name(tile.elem));
                let message = format!("expected a tile of {to}, found one of {from}");
                let label = format!("this is {from}");
                let diagnostic = Diagnostic::error(codes::MIXED_TYPES, span, message, label);
                let text = self.text(span);
                Err(self.report(diagnostic.with_help(format!("convert it: `{to}({text})`"))))
            }
            Value::Tile(tile) if !repeats_to(&tile.shape, shape) => {
                let diagnostic = self.another_shape(&tile.shape, shape, span);
                Err(self.report(diagnostic))
            }
            Value::Tile(tile) => self.repeated(tile, shape, span),
            value if value.number_type().is_some() => {
                let number = self.number(value, elem, span)?;
                self.tile_op(TileOp::Splat, &[number], &[], (elem, shape), span)
            }
            other => self.expected("a tile or a number", other, span),
        }
    }

    /// A tile of one shape where one of another was expected.
    fn another_shape(&self, from: &[i64], to: &[i64], span: Span) -> Diagnostic {
        let help = as_shape(self.text(span), from, to);
        let (to, from) = (shape_text(to), shape_text(from));
        let message = format!("expected a tile of shape {to}, found one of {from}");
        let label = "its extents must be those, or 1";
        let diagnostic = Diagnostic::error(codes::SHAPE_MISMATCH, span, message, label);
        match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

/// What gives a tile another shape, where it has the same elements, or the same axes in another order, or can be reduced to it.
fn as_shape(text: &str, from: &[i64], to: &[i64]) -> Option<String> {
    let longer = |shape: &[i64]| -> Vec<i64> {
        let extents = shape.iter().copied();
        extents.filter(|extent| *extent != 1).collect()
    };
    if from.len() == 2 && to == [from[1], from[0]] {
        return Some(format!("`transpose({text})` exchanges its axes"));
    }
    if from.len() == to.len() && repeats_to(to, from) {
        let axes: Vec<usize> = (0..to.len())
            .filter(|axis| from[*axis] != to[*axis])
            .collect();
        return Some(match axes[..] {
            [axis] => format!("`reduce(add, {text}, axis = {axis})` adds it up along that axis"),
            _ => format!("`reduce(add, {text})` adds up all elements"),
        })
        .filter(|_| axes.len() == 1 || axes.len() == to.len());
    }
    let extents: Vec<String> = to.iter().map(i64::to_string).collect();
    (longer(from) == longer(to)).then(|| format!("write `reshape({text}, {})`", extents.join(", ")))
}

/// What a tuple has, or the one value.
fn parts_of<'c, 'a>(value: &Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
    match value {
        Value::Tuple(parts) => parts.clone(),
        other => vec![other.clone()],
    }
}

/// A shape as the language writes it.
pub(super) fn shape_text(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("({})", extents.join(", "))
}
