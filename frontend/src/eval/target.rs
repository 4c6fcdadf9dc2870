//! `target`: what is compiled for, as compile-time values.
//!
//! `target.name`, `target.sm` and `target.smem` are constants; `target.has(name)` asks for a feature of
//! [`Feature::ALL`] or for an atom by its name, which is not evaluated; `target.tiles(t)` and `target.blocks(t)` ask the cost model for
//! the tile of a product. A variable, constant or function named `target` hides it.
use super::values::Value;
use super::{Evaluator, Result};
use crate::ast::{Arg, Expr, ExprKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::Span;
use cutec_dialects::atoms;
use cutec_dialects::target::Feature;
use cutec_dialects::tile::cost_model::ProductTile;

/// What it is called.
pub(super) const NAME: &str = "target";
pub(super) const FIELDS: [&str; 3] = ["name", "sm", "smem"];
pub(super) const METHODS: [&str; 3] = ["has", "tiles", "blocks"];

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Whether an expression is the built-in `target`.
    pub(super) fn is_target(&mut self, expr: &Expr) -> bool {
        let ExprKind::Name(name) = &*expr.kind else {
            return false;
        };
        let item = || self.items.get(NAME, expr.span.file);
        &**name == NAME && self.lookup(name).is_none() && item().is_none()
    }

    /// `target.field`.
    pub(super) fn target_field(&mut self, field: &str, span: Span) -> Result<Value<'c, 'a>> {
        let target = self.options.target;
        match field {
            "name" => Ok(Value::Str(target.name.into())),
            "sm" => Ok(Value::Int(i64::from(target.sm))),
            "smem" => Ok(Value::Int(i64::from(target.max_smem))),
            _ => {
                let message = format!("`{NAME}` has no field `{field}`");
                let label = "no such field";
                let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, message, label);
                let help = match field {
                    "has" => "it is called with a name: `target.has(cp_async)`".into(),
                    "tiles" | "blocks" => {
                        format!("it is called with an element type: `target.{field}(bf16)`")
                    }
                    _ => format!(
                        "there are `{}`, `has(…)`, `tiles(…)` and `blocks(…)`",
                        FIELDS.join("`, `")
                    ),
                };
                Err(self.report(diagnostic.with_help(help)))
            }
        }
    }

    /// `target.has(name)`, `target.tiles(type)`, `target.blocks(type)`.
    pub(super) fn target_method(
        &mut self,
        name: &str,
        args: &'a [Arg],
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match name {
            "has" => self.target_has(args, span),
            _ => self.target_tile(name, args, span),
        }
    }

    /// Whether there is such a method.
    pub(super) fn is_target_method(name: &str) -> bool {
        METHODS.contains(&name)
    }

    /// What the cost model says of a product of elements of a type: the extents of its tile, or how many blocks share a multiprocessor.
    fn target_tile(&mut self, name: &str, args: &'a [Arg], span: Span) -> Result<Value<'c, 'a>> {
        let [
            Arg {
                name: None, value, ..
            },
        ] = args
        else {
            let message = format!("`{NAME}.{name}` takes the element type of a product");
            let label = format!("expected one type, as in `{NAME}.{name}(bf16)`");
            return self.error(codes::WRONG_ARGUMENTS, span, message, label);
        };
        let elem = match self.expr(value)? {
            Value::Type(elem) => elem,
            other => return self.expected("an element type", &other, value.span),
        };
        let tile = ProductTile::of(elem, &self.options.target);
        Ok(match name {
            "blocks" => Value::Int(tile.blocks),
            _ => Value::Tuple(tile.extents.map(Value::Int).into_iter().collect()),
        })
    }

    /// `target.has(name)`.
    fn target_has(&mut self, args: &'a [Arg], span: Span) -> Result<Value<'c, 'a>> {
        let named = match args {
            [arg] if arg.name.is_none() => match &*arg.value.kind {
                ExprKind::Name(name) => Some((&**name, arg.value.span)),
                _ => None,
            },
            _ => None,
        };
        let Some((name, span)) = named else {
            let message = "`target.has` takes the name of a feature or of an atom";
            let diagnostic = Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                span,
                message,
                "expected one name, as in `target.has(cp_async)`",
            );
            return Err(self.report(diagnostic.with_help(features())));
        };
        let target = self.options.target;
        if let Some(feature) = Feature::find(name) {
            return Ok(Value::Bool(target.has(feature)));
        }
        let legal = match atoms::find(name) {
            Some(atom) => atom.legal_on(&target),
            None => {
                let message = format!("no feature or atom is named `{name}`");
                let label = "unknown feature";
                let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, message, label);
                let known = Feature::ALL.map(Feature::name);
                let help = match closest(name, known) {
                    Some(near) => format!("did you mean `{near}`? {}", features()),
                    None => features(),
                };
                return Err(self.report(diagnostic.with_help(help)));
            }
        };
        Ok(Value::Bool(legal.is_ok()))
    }
}

fn features() -> String {
    let names = Feature::ALL.map(Feature::name);
    format!(
        "features are {}; atoms have names such as `sm80_16x8x16_f32f16f16f32`",
        names.join(", ")
    )
}
