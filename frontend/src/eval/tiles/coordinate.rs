//! Where in a tensor a tile lies: `x.tile(shape, (i, j))` counts tiles, `x.tile(shape, at = (r, c))` elements,
//! and of `x.tile(shape, (i, _), at = (_, c))` each says what the other leaves open.

use super::parts_of;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::{Leaf, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::value::Val;
use cutec_layout::Tree;

/// The coordinate of a tile.
pub(super) struct Coordinate<'c> {
    /// An integer for each mode.
    pub values: Vec<IrValue<'c>>,
    /// The modes along which it counts elements.
    pub by_element: Vec<usize>,
    /// The modes along which it is known to be the first tile.
    pub first: Vec<usize>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The coordinate that a call of `.tile` says, in a tensor of so many modes.
    pub(super) fn tile_coordinate(
        &mut self,
        call: &Call<'c, 'a>,
        rank: usize,
    ) -> Result<Coordinate<'c>> {
        let (tiles, elements) = (call.arg(1), call.named("at"));
        let Some(given) = tiles.or(elements) else {
            let message = "`.tile` needs a coordinate";
            let label = "expected one counted in tiles, or `at = …` in elements";
            return self.error(codes::WRONG_ARGUMENTS, call.span, message, label);
        };
        let mut places: Vec<Option<IrValue<'c>>> = vec![None; rank];
        let (mut by_element, mut first) = (Vec::new(), Vec::new());
        if let Some(arg) = tiles {
            let parts = parts_of(&arg.value);
            self.check_rank("coordinates", parts.len(), rank, arg.expr.span)?;
            for (mode, part) in parts.iter().enumerate() {
                if matches!(part, Value::Int(0)) {
                    first.push(mode);
                }
                places[mode] = match part {
                    Value::Underscore if elements.is_some() => None,
                    Value::Int(_) => Some(self.number(part, Elem::I32, arg.expr.span)?),
                    Value::Scalar(scalar) if matches!(scalar.elem, Elem::I32 | Elem::I64) => {
                        Some(scalar.ir)
                    }
                    other => return self.expected("an integer", other, arg.expr.span),
                };
            }
        }
        if let Some(arg) = elements {
            let offsets = self.offsets(arg)?;
            self.check_rank("offsets", offsets.len(), rank, arg.expr.span)?;
            for (mode, offset) in offsets.into_iter().enumerate() {
                if let Some(offset) = offset {
                    if places[mode].is_some() {
                        let message = format!("mode {mode} has a coordinate and an offset");
                        let diagnostic = Diagnostic::error(
                            codes::WRONG_ARGUMENTS,
                            arg.expr.span,
                            message,
                            "this is the offset",
                        );
                        let help = "write `_` for it in one of the two";
                        return Err(self.report(diagnostic.with_help(help)));
                    }
                    places[mode] = Some(offset);
                    by_element.push(mode);
                }
            }
        }
        let open = places.iter().position(Option::is_none);
        if let Some(mode) = open {
            let message = format!("mode {mode} has neither a coordinate nor an offset");
            let label = "expected an integer for it";
            return self.error(codes::WRONG_ARGUMENTS, given.expr.span, message, label);
        }
        Ok(Coordinate {
            values: places.into_iter().flatten().collect(),
            by_element,
            first,
        })
    }

    /// The offsets that `at = …` gives; what is known to divide one stands in its type.
    fn offsets(&mut self, arg: &ArgValue<'c, 'a>) -> Result<Vec<Option<IrValue<'c>>>> {
        let span = arg.expr.span;
        let leaves = match self.leaves(&arg.value, span)? {
            Tree::Node(modes) => modes,
            one => vec![one],
        };
        let mut offsets = Vec::new();
        for leaf in leaves {
            offsets.push(match leaf {
                Tree::Leaf(Leaf::Underscore) => None,
                Tree::Leaf(Leaf::Dynamic(value, ..)) => Some(value),
                Tree::Leaf(Leaf::Static(int)) => {
                    Some(self.static_operand(&Val::Scalar(int), span)?)
                }
                Tree::Node(_) => return self.expected("an integer", &arg.value, span),
            });
        }
        Ok(offsets)
    }

    /// Whether there are as many of something as a tensor has modes.
    pub(super) fn check_rank(
        &mut self,
        what: &str,
        found: usize,
        rank: usize,
        span: Span,
    ) -> Result<()> {
        if found == rank {
            return Ok(());
        }
        let modes = if rank == 1 { "mode" } else { "modes" };
        let are = if found == 1 { "is" } else { "are" };
        let message =
            format!("a tensor of {rank} {modes} takes {rank} {what}, but {found} {are} given");
        let label = format!("expected {rank}");
        let help = match rank {
            1 => "`x.tile(64, i)`: an extent and a coordinate".to_owned(),
            rank => {
                let extents = vec!["64"; rank.min(6)].join(", ");
                let coordinates = ["i", "j", "k", "l", "m", "n"][..rank.min(6)].join(", ");
                format!("`x.tile(({extents}), ({coordinates}))`: one for each mode")
            }
        };
        let diagnostic = Diagnostic::error(codes::WRONG_RANK, span, message, label);
        Err(self.report(diagnostic.with_help(help)))
    }
}
