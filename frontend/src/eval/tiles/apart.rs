//! Tiles of nested modes whose elements do not lie evenly in what the modes are made of: where each lies follows from its
//! number in the mode, by division. So they are gathered, and scattered.
//!
//! A mode of extents (3, 3, c) has its elements numbered in CuTe's order, the first extent the fastest; the tile's `b`
//! elements at coordinate `t` are numbers `t * b` to `t * b + b - 1`, and those from the mode's size on lie outside.

use super::coordinate::Coordinate;
use super::gather::{Along, Element};
use crate::ast::BinaryOp;
use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::{Cute, Origin, Tile, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::memo::{type_text, type_value};
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::Attrs;
use cutec_dialects::tile::{BOUND, GATHERED_SINCE};
use cutec_dialects::types::Vars;
use cutec_dialects::value::without_widths;
use cutec_layout::algebra::product;
use cutec_layout::{AnyLayout, Int};
use melior::ir::{Attribute, ValueLike};

/// The elements of such a tile.
pub(super) struct Apart<'c, 'a> {
    /// The tensor, each extent of a mode a mode of its own.
    pub flat: Value<'c, 'a>,
    /// Of each mode the numbers of the tile's elements, along its axis, and how many elements the mode has.
    numbers: Vec<Along<'c, 'a>>,
    /// The coordinates that follow, along each mode of `flat`.
    pub at: Vec<Value<'c, 'a>>,
    /// Why the tile is no part of the tensor with a layout, and what would make it one.
    why: String,
}

/// Why threads cannot share the elements of a tile as parts with a layout, by the first mode where they cannot; `None` where they can.
pub(super) fn lies_apart(layout: &AnyLayout, shape: &[i64], at: &Coordinate) -> Option<String> {
    let mut modes = layout.inner().modes().zip(shape).enumerate();
    modes.find_map(|(number, (mode, length))| {
        let extents = mode.shape();
        if extents.is_leaf() {
            return None;
        }
        let text = without_widths(&extents.to_string());
        if at.by_element.contains(&number) {
            return Some(format!("the tile begins at any element of mode {number}, of extents {text}"));
        }
        let parts = match extents_of_tile(&extents.leaves(), *length) {
            Ok(parts) => parts,
            Err((place, rest)) => {
                let extent = extents.leaves().get(place).copied().cloned();
                return Some(match extent.and_then(|extent| extent.as_static()) {
                    Some(_) => format!("{length} elements of mode {number} are neither whole extents of {text} nor a part that divides one"),
                    None => format!(
                        "nothing says that the extents of mode {number}, the last one aside, divide {length} or are multiples of it; promise in `where` that {} is a multiple of {rest}",
                        ["the first", "the second", "the third"].get(place).map_or_else(|| format!("extent {place}"), |name| (*name).to_string())
                    ),
                });
            }
        };
        if parts > 1 && !(*length as u64).is_power_of_two() {
            return Some(format!("{length} elements of mode {number} are of several extents of {text}, and no power of two"));
        }
        // What is known to be one tile has no place for others.
        let is_one = product(extents).as_static().is_some_and(|size| size <= *length);
        (is_one && !at.first.contains(&number))
            .then(|| format!("one tile of {length} has all elements of mode {number}, of extents {text}"))
    })
}

/// Over how many extents of a mode each tile of a length goes: whole ones, and at last a part that divides one. The last extent may end within a tile.
///
/// # Errors
/// Which extent is not known to be so, and what it would have to be a multiple of.
fn extents_of_tile(extents: &[&Int], length: i64) -> std::result::Result<usize, (usize, i64)> {
    let (mut rest, mut parts) = (length, 0);
    for (number, extent) in extents.iter().enumerate() {
        if rest == 1 {
            break;
        }
        parts += usize::from(!extent.is(1));
        rest = match extent.as_static() {
            _ if number + 1 == extents.len() || extent.divisible_by(rest) => 1,
            Some(extent) if rest % extent == 0 => rest / extent,
            _ => return Err((number, rest)),
        };
    }
    Ok(parts)
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The elements of a tile of this shape at a coordinate, for the reason of [`lies_apart`].
    pub(super) fn apart(
        &mut self,
        receiver: &Value<'c, 'a>,
        shape: &[i64],
        at: &Coordinate<'c>,
        why: String,
        call: &Call<'c, 'a>,
    ) -> Result<Apart<'c, 'a>> {
        let span = call.span;
        let modes = receiver
            .as_view()
            .map(|(_, view)| view.layout.shape().clone());
        let given = call.arg(1).or(call.named("at"));
        let given = given.map_or(span, |arg| arg.expr.span);
        let none = Attrs::default();
        let tensor = std::slice::from_ref(receiver);
        let flat = self.op(CuteOp::Flatten, "tile", tensor, &none, span)?;
        let mut parts = Apart {
            flat,
            numbers: Vec::new(),
            at: Vec::new(),
            why,
        };
        for (mode, (extent, value)) in shape.iter().zip(&at.values).enumerate() {
            let size = self.size_of_mode(receiver, mode, "tile", span)?;
            if size.number_type() == Some(Elem::I64) {
                let message = format!("mode {mode} may have more elements than an i32 counts");
                let label = "the elements of this tile are numbered by i32";
                return self.error(codes::SHAPE_MISMATCH, span, message, label);
            }
            let mut first = self.coordinate_number(*value, given)?;
            if !at.by_element.contains(&mode) {
                first = self.bounded(&first, (&size, *extent), span)?;
                first = self.part(BinaryOp::Mul, &first, &Value::Int(*extent), span)?;
            }
            let mut own = vec![1; shape.len()];
            own[mode] = *extent;
            let own = self.iota_along(&own, mode, span)?;
            let number = self.part(BinaryOp::Add, &own, &first, span)?;
            let count = modes
                .as_ref()
                .and_then(|modes| modes.mode(mode))
                .map_or(1, |mode| mode.leaves().len());
            let mut rest = number.clone();
            for _ in 1..count {
                let extent = self.size_of_mode(&parts.flat, parts.at.len(), "tile", span)?;
                parts
                    .at
                    .push(self.part(BinaryOp::Rem, &rest, &extent, span)?);
                rest = self.part(BinaryOp::Div, &rest, &extent, span)?;
            }
            parts.at.push(rest);
            parts.numbers.push((number, size));
        }
        Ok(parts)
    }

    /// A coordinate as a number of 32 bits.
    pub(super) fn coordinate_number(
        &mut self,
        ir: IrValue<'c>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let elem = match &*type_text(ir.r#type()) {
            "i32" => Elem::I32,
            "i64" => Elem::I64,
            _ => {
                let Ok(val) = type_value(ir.r#type(), &mut Vars::default()) else {
                    return self.error(
                        codes::WRONG_TYPE,
                        span,
                        "a coordinate that is no integer",
                        "here",
                    );
                };
                let origin = Origin::default();
                let offset = [Value::Cute(Cute { ir, val, origin })];
                let none = Attrs::default();
                let number = self.op(CuteOp::GetScalar, "tile", &offset, &none, span)?;
                return self.numbers(&number, span);
            }
        };
        let number = number_or_vector(ir, elem, None);
        match elem {
            Elem::I64 => {
                let help =
                    "elements that lie each by itself are numbered by i32: convert it, `i32(…)`";
                self.expected_with_help("an i32 as a coordinate", &number, span, help)
            }
            _ => Ok(number),
        }
    }

    /// A coordinate in tiles of so many elements, or that of a tile behind the end of a mode of a size: numbers of elements have 32 bits.
    fn bounded(
        &mut self,
        at: &Value<'c, 'a>,
        (size, length): (&Value<'c, 'a>, i64),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let whole = self.part(BinaryOp::Div, size, &Value::Int(length), span)?;
        let end = self.part(BinaryOp::Add, &whole, &Value::Int(1), span)?;
        let (at, end) = (
            self.number(at, Elem::I32, span)?,
            self.number(&end, Elem::I32, span)?,
        );
        let ir = self.ir(span)?;
        // Without sign, so that negative ones are behind the end too.
        let least = ir.value(
            ArithOp::Minui,
            &[at, end],
            &[(BOUND, ir.i64(length))],
            ir.ty("i32"),
        );
        Ok(number_or_vector(least, Elem::I32, None))
    }

    /// The tile's elements; outside of the tensor `fill`.
    pub(super) fn load_apart(
        &mut self,
        parts: &Apart<'c, 'a>,
        elem: Elem,
        fill: Option<Value<'c, 'a>>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let rank = parts.numbers.len();
        let numbers = parts.numbers.iter().map(|(number, _)| number);
        let of = numbers.chain(&parts.at).map(|of| (of.clone(), span));
        let sizes: Vec<Value<'c, 'a>> =
            parts.numbers.iter().map(|(_, size)| size.clone()).collect();
        let place = |_: &mut Self, mut of: Vec<Value<'c, 'a>>| {
            let at = of.split_off(rank);
            let inside = of.into_iter().zip(sizes).collect();
            Ok(Element { at, inside })
        };
        let since = [(GATHERED_SINCE, self.ir(span)?.string(&parts.why))];
        self.gathered(
            (&parts.flat, elem),
            (of.collect(), place),
            fill,
            &since,
            span,
        )
    }

    /// Writes a tile to these elements, as far as they are in the tensor.
    pub(super) fn store_apart(
        &mut self,
        parts: &Apart<'c, 'a>,
        tile: &Tile<'c>,
        attrs: &[(&'static str, Attribute<'c>)],
        span: Span,
    ) -> Result<()> {
        let mut attrs = attrs.to_vec();
        attrs.push((GATHERED_SINCE, self.ir(span)?.string(&parts.why)));
        let at: Vec<_> = parts.at.iter().map(|at| (at.clone(), span)).collect();
        self.scattered(tile, &parts.flat, &at, &attrs, span)
    }
}
