//! Products: `dot(a, b)` is a · bᵀ.

use super::shape_text;
use crate::ast::{Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::builtins;
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::{Tile, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use crate::rules::{self, sums_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::{PRECISION, Precision};
use cutec_dialects::value::Val;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `sum += dot(a, b)`, where `value` is that call: the product is added as it is computed. `None` where
    /// it is something else.
    pub(in crate::eval) fn dot_onto(
        &mut self,
        sum: &Tile<'c>,
        value: &'a Expr,
    ) -> Option<Result<Value<'c, 'a>>> {
        let ExprKind::Call { callee, args } = &*value.kind else {
            return None;
        };
        let name = callee.as_name().filter(|name| &***name == "dot")?;
        let item = self.items.get("dot", callee.span.file);
        if self.lookup("dot").is_some() || item.is_some() {
            return None;
        }
        let call = self.arguments(name.clone(), callee.span, value.span, &[], args);
        Some(call.and_then(|call| {
            for form in builtins::table::functions(name) {
                builtins::check(self, form, &call)?;
            }
            self.dot(&call, Some(sum))
        }))
    }

    /// `dot(a, b)`, added to `sum` if there is one.
    pub(in crate::eval) fn dot(
        &mut self,
        call: &Call<'c, 'a>,
        sum: Option<&Tile<'c>>,
    ) -> Result<Value<'c, 'a>> {
        let (Some(first), Some(second)) = (call.arg(0), call.arg(1)) else {
            return Err(Stop::Reported);
        };
        let (a, b) = (self.factor(first)?, self.factor(second)?);
        if !rules::multiplies(a.elem, b.elem) {
            let (x, y) = (elem_name(a.elem), elem_name(b.elem));
            let message = format!("`dot` has operands of different types: {x} and {y}");
            let label = "nothing is converted silently";
            let diagnostic = Diagnostic::error(codes::MIXED_TYPES, call.span, message, label)
                .with_label(first.expr.span, format!("this is {x}"))
                .with_label(second.expr.span, format!("this is {y}"));
            let narrower = |a: Elem, b: Elem| if a.bits() <= b.bits() { a } else { b };
            let to = match (a.elem.is_float(), b.elem.is_float()) {
                (true, false) => a.elem,
                (false, true) => b.elem,
                _ => narrower(a.elem, b.elem),
            };
            let from = if to == a.elem { second } else { first };
            let help = format!(
                "convert one of them: `{}({})`",
                elem_name(to),
                self.text(from.expr.span)
            );
            return Err(self.report(diagnostic.with_help(help)));
        }
        if a.shape[1] != b.shape[1] {
            let (x, y) = (shape_text(&a.shape), shape_text(&b.shape));
            let message = format!("`dot` has operands of shapes {x} and {y}");
            let label = "expected (m, k) and (n, k): it is a · bᵀ";
            let diagnostic = Diagnostic::error(codes::SHAPE_MISMATCH, call.span, message, label);
            let exchange = |arg: &ArgValue<'c, 'a>| match &*arg.expr.kind {
                ExprKind::Call { callee, args }
                    if callee.as_name().is_some_and(|name| &**name == "transpose")
                        && args.len() == 1 =>
                {
                    self.text(args[0].value.span).to_owned()
                }
                _ => format!("transpose({})", self.text(arg.expr.span)),
            };
            let help = match (a.shape[1] == b.shape[0], a.shape[0] == b.shape[1]) {
                (true, _) => Some(format!(
                    "as the second operand write `{}`",
                    exchange(second)
                )),
                (_, true) => Some(format!("as the first operand write `{}`", exchange(first))),
                _ => None,
            };
            return Err(self.report(match help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }));
        }
        let Some(elem) = sums_of(a.elem) else {
            let message = format!("`dot` is not defined for {}", elem_name(a.elem));
            return self.error(codes::WRONG_TYPE, call.span, message, "here");
        };
        let precision = match call.named("precision") {
            Some(arg) => Some(self.precision(arg, a.elem)?),
            None => None,
        };
        let pinned = match call.named("mma") {
            Some(arg) => Some(self.pinned_mma(arg, [a.elem, b.elem, elem], precision)?),
            None => None,
        };
        let mut shape = vec![a.shape[0], b.shape[0]];
        if let Some(arg) = call.named("slices") {
            shape.insert(0, self.slices(arg, a.shape[1])?);
        }
        let of = (elem, &shape[..]);
        let sum = match sum {
            Some(sum) if sum.elem == elem && sum.shape == shape => sum.clone(),
            Some(sum) => {
                let found = Value::Tile(sum.clone()).describe();
                let same_shape = sum.shape == shape;
                let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
                let (elem, shape) = (elem_name(elem), shape_text(&shape));
                let message = format!("the product is a tile of {elem} of shape {shape}");
                let label = format!("added to {found}");
                let diagnostic =
                    Diagnostic::error(codes::SHAPE_MISMATCH, call.span, message, label);
                let extents = extents.join(", ");
                return Err(self.report(match same_shape {
                    true => diagnostic.with_help(format!(
                        "products are added up in {elem}: declare the sum `zeros<{elem}>({extents})`, and convert it behind the loop"
                    )),
                    false => diagnostic,
                }));
            }
            None => self.as_tile(&Value::Int(0), of, call.span)?,
        };
        let operands = [a.ir, b.ir, sum.ir];
        let mut attrs = match pinned {
            Some(mma) => {
                let ty = self.static_type(&mma, call.span)?;
                vec![("mma", self.ir(call.span)?.type_attr(ty))]
            }
            None => Vec::new(),
        };
        match precision {
            None | Some(Precision::Ieee) => {}
            Some(precision @ (Precision::Tf32 | Precision::Tf32x3)) => {
                attrs.push((PRECISION, self.ir(call.span)?.string(precision.name())));
            }
        }
        let result = self.tile_op(TileOp::Dot, &operands, &attrs, of, call.span)?;
        Ok(Value::Tile(result))
    }

    /// `slices = …`: in how many parts k is, whose products are apart.
    fn slices(&mut self, arg: &ArgValue<'c, 'a>, k: i64) -> Result<i64> {
        match &arg.value {
            Value::Int(slices) if *slices > 0 && k % slices == 0 => Ok(*slices),
            Value::Int(slices) => {
                let message = format!("{slices} slices of {k} along k");
                let label = "expected a divisor";
                self.error(codes::TILE_SHAPE, arg.expr.span, message, label)
            }
            Value::Scalar(_) => self.static_needed("the slices of a product", arg.expr),
            other => self.expected("an integer", &other.clone(), arg.expr.span),
        }
    }

    /// `precision = …`: how factors of a type are multiplied.
    fn precision(&mut self, arg: &ArgValue<'c, 'a>, factor: Elem) -> Result<Precision> {
        let precision = match &arg.value {
            Value::Str(word) => Precision::of_name(word),
            // A type of elements has the name as well.
            Value::Type(Elem::TF32) => Some(Precision::Tf32),
            _ => None,
        };
        let Some(precision) = precision else {
            let names = Precision::NAMES.map(|name| format!("`{name}`"));
            let what = names.join(", ");
            return self.expected(&what, &arg.value.clone(), arg.expr.span);
        };
        if precision != Precision::Ieee && factor != Elem::F32 {
            let (name, found) = (precision.name(), elem_name(factor));
            let message = format!("`precision = {name}` is of products of f32, not of {found}");
            let label = format!("expected tiles of f32, but these are of {found}");
            let help = format!("leave it out: {found} is multiplied as it is");
            let diagnostic = Diagnostic::error(codes::WRONG_TYPE, arg.expr.span, message, label);
            return Err(self.report(diagnostic.with_help(help)));
        }
        Ok(precision)
    }

    /// `mma = …`: the atom, or how warps share the tile too, as a type of the IR.
    fn pinned_mma(
        &mut self,
        arg: &ArgValue<'c, 'a>,
        [a, b, sums]: [Elem; 3],
        precision: Option<Precision>,
    ) -> Result<Val> {
        let (atom, pinned) = match &arg.value {
            Value::Static(val @ Val::MmaAtom(atom)) => (*atom, val.clone()),
            Value::Static(val @ Val::TiledMma(mma)) => (mma.atom, val.clone()),
            other => {
                let what = "an MMA atom or a tiled MMA";
                return self.expected(what, &other.clone(), arg.expr.span);
            }
        };
        let takes = rules::taken_as(a, atom.a) && rules::taken_as(b, atom.b);
        if !takes || atom.c != sums {
            let [a, b, sums] = [a, b, sums].map(elem_name);
            let of = if a == b {
                a.to_owned()
            } else {
                format!("{a} and {b}")
            };
            let message = format!(
                "`{}` does not multiply tiles of {of} and add up in {sums}",
                builtins::mma_atom(&atom)
            );
            let label = format!("expected one of {a}, {b} and {sums}");
            return self.error(codes::ILLEGAL_ATOM, arg.expr.span, message, label);
        }
        if let Some(precision) = precision
            && precision.multiplied_as(a) != atom.a
        {
            let (name, expected) = (precision.name(), elem_name(precision.multiplied_as(a)));
            let message = format!(
                "`{}` multiplies {}, but the product is asked for with `precision = {name}`",
                builtins::mma_atom(&atom),
                elem_name(atom.a)
            );
            let label = format!("expected an instruction on {expected}");
            let help = "leave out one of `mma` and `precision`";
            let diagnostic = Diagnostic::error(codes::ILLEGAL_ATOM, arg.expr.span, message, label);
            return Err(self.report(diagnostic.with_help(help)));
        }
        Ok(pinned)
    }

    fn factor(&mut self, arg: &ArgValue<'c, 'a>) -> Result<Tile<'c>> {
        match &arg.value {
            Value::Tile(tile) if tile.shape.len() == 2 => Ok(tile.clone()),
            other => self.expected("a tile of two axes", other, arg.expr.span),
        }
    }
}
