//! Values as people read them: what `print` shows, and what an editor shows beside a name. Layouts look as in CuTe.

use super::values::{Value, elem_name, notation};
use super::{Evaluator, Result};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::source::Span;
use cutec_dialects::value::{Val, without_widths};
use std::collections::HashMap;

/// What a name stood for while its kernel was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What kind of value it is: `layout`, `f32`, `tensor of f16`.
    pub kind: String,
    /// The value, as far as it is known; perhaps of several lines.
    pub text: String,
    /// Its layout, for a picture, where all of it is known.
    pub layout: Option<String>,
}

/// What names stood for, by the place where each is bound: in a function that is called several times, each thing once.
pub type Observations = HashMap<Span, Vec<Observation>>;

/// Different values of one name that are kept.
const MOST_OBSERVED: usize = 8;

/// The most that is printed of one value, in bytes: a table that long is read by nobody.
const MOST_SHOWN: usize = 4096;

/// A value as text.
pub fn text(value: &Value<'_, '_>) -> String {
    let mut text = full(value);
    if text.len() > MOST_SHOWN {
        let end = (0..=MOST_SHOWN).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}

fn full(value: &Value<'_, '_>) -> String {
    let list = |parts: &[Value<'_, '_>], between: &str| {
        let parts: Vec<String> = parts.iter().map(text).collect();
        parts.join(between)
    };
    match value {
        Value::Unit => "()".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Large(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Typed(number, elem) if elem.is_float() => format!("{number:?}{}", elem_name(*elem)),
        Value::Typed(number, elem) => format!("{number}{}", elem_name(*elem)),
        Value::Bool(value) => value.to_string(),
        Value::Str(text) => text.to_string(),
        Value::Type(elem) => elem_name(*elem).to_owned(),
        Value::Underscore => "_".to_owned(),
        Value::Tuple(parts) => format!("({})", list(parts, ",")),
        Value::Array(parts) => format!("[{}]", list(parts, ", ")),
        Value::Record(record) => {
            let fields = record.declaration.fields.iter().zip(&record.fields);
            let fields: Vec<String> = fields
                .map(|(field, value)| format!("{} = {}", field.name.node, text(value)))
                .collect();
            format!(
                "{} {{ {} }}",
                record.declaration.name.node,
                fields.join(", ")
            )
        }
        Value::Range(parts) => match &parts[2] {
            Value::Int(1) => format!("{}..{}", text(&parts[0]), text(&parts[1])),
            step => format!(
                "{}..{} step {}",
                text(&parts[0]),
                text(&parts[1]),
                text(step)
            ),
        },
        Value::Static(val) => of_val(val),
        Value::Cute(cute) => of_val(&cute.val),
        Value::Scalar(scalar) if scalar.div > 1 => {
            format!(
                "? ({}, a multiple of {})",
                elem_name(scalar.elem),
                scalar.div
            )
        }
        Value::Scalar(scalar) => format!("? ({})", elem_name(scalar.elem)),
        Value::Thread(parts) => format!("thread {} of {}", text(&parts.1), text(&parts.0)),
        Value::Predicate(parts) => format!("{} within {}", text(&parts.0), text(&parts.1)),
        Value::Vector(_)
        | Value::Tile(_)
        | Value::Slot(_)
        | Value::Function(_)
        | Value::Register(_)
        | Value::Builtin(_)
        | Value::Error => value.describe(),
    }
}

/// A value of the `cute` dialect in the notation of CuTe.
fn of_val(val: &Val) -> String {
    let plain = || without_widths(&notation(val));
    match val {
        Val::View(view) => {
            format!(
                "{} {} o {}",
                view.ptr.space,
                elem_name(view.ptr.elem),
                plain()
            )
        }
        Val::TiledCopy(copy) => format!(
            "TiledCopy\n  Tiler_MN:       {}\n  TiledLayout_TV: {}\n  Atom:           {}",
            copy.tiled.tiler_mn(),
            copy.tiled.layout_tv(),
            notation(&Val::CopyAtom(copy.atom))
        ),
        Val::TiledMma(mma) => {
            let [m, n, k] = mma.tiled.permutation_mnk();
            format!(
                "TiledMMA\n  ThrLayoutVMNK:  {}\n  PermutationMNK: ({m},{n},{k})\n  Atom:           {}",
                mma.tiled.thr_layout_vmnk(),
                notation(&Val::MmaAtom(mma.atom))
            )
        }
        _ => plain(),
    }
}

/// What an editor shows of a value.
pub(super) fn observe(value: &Value<'_, '_>) -> Observation {
    let kind = match value {
        Value::Int(_) | Value::Large(_) => "int".to_owned(),
        Value::Float(_) => "float".to_owned(),
        Value::Typed(_, elem) | Value::Slot(super::values::Slot { elem, .. }) => {
            elem_name(*elem).to_owned()
        }
        Value::Scalar(scalar) => elem_name(scalar.elem).to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Str(_) => "text".to_owned(),
        Value::Type(_) => "dtype".to_owned(),
        Value::Tuple(_) => "tuple".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Record(record) => record.declaration.name.node.to_string(),
        Value::Range(_) => "range".to_owned(),
        Value::Static(val) => kind_of(val),
        Value::Cute(cute) => kind_of(&cute.val),
        Value::Vector(vector) => format!("{} × {}", vector.len, elem_name(vector.elem)),
        Value::Tile(tile) => format!("tile of {}", elem_name(tile.elem)),
        Value::Thread(_) => "one thread of a tiled copy or MMA".to_owned(),
        Value::Predicate(_) => "predicate".to_owned(),
        Value::Unit
        | Value::Underscore
        | Value::Function(_)
        | Value::Register(_)
        | Value::Builtin(_)
        | Value::Error => value.describe(),
    };
    let layout = match value {
        Value::Static(Val::Layout(layout)) => Some(layout.to_string()),
        Value::Cute(cute) => match &cute.val {
            Val::Layout(layout) => Some(layout.to_string()),
            Val::View(view) => Some(view.layout.to_string()),
            _ => None,
        },
        _ => None,
    };
    Observation {
        kind,
        text: text(value),
        layout: layout.filter(|layout| !layout.contains(['?', '{'])),
    }
}

fn kind_of(val: &Val) -> String {
    match val {
        Val::Scalar(_) => "int".to_owned(),
        Val::Opaque(ty) => ty.clone(),
        Val::Tuple(..) => "tuple".to_owned(),
        Val::Layout(_) => "layout".to_owned(),
        Val::Swizzle(_) => "swizzle".to_owned(),
        Val::Tile(_) => "tiler".to_owned(),
        Val::Ptr(_) => "pointer".to_owned(),
        Val::View(view) => format!(
            "tensor of {} in {}",
            elem_name(view.ptr.elem),
            view.ptr.space
        ),
        Val::CoordTensor(_) => "tensor of coordinates".to_owned(),
        Val::CopyAtom(_) | Val::TmaAtom(_) | Val::BulkCopy(_) => "copy atom".to_owned(),
        Val::MmaAtom(_) => "MMA atom".to_owned(),
        Val::TiledCopy(_) => "tiled copy".to_owned(),
        Val::TiledMma(_) => "tiled MMA".to_owned(),
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Keeps what a name stands for, where an editor wants to know.
    pub(super) fn observed(&mut self, span: Span, value: &Value<'c, 'a>) {
        let Some(observations) = &mut self.observations else {
            return;
        };
        let known = observations.entry(span).or_default();
        if known.len() < MOST_OBSERVED && !matches!(value, Value::Error) {
            let seen = observe(value);
            if !known.contains(&seen) {
                known.push(seen);
            }
        }
    }

    /// The values of both sides of a comparison that does not hold, or of that part of a condition which does not:
    /// `` `bn` is 96 ``.
    pub(super) fn sides(&mut self, condition: &'a Expr) -> Vec<String> {
        let before = self.diagnostics.len();
        let sides = self.failing_sides(condition).unwrap_or_default();
        self.diagnostics.truncate(before);
        sides
    }

    fn failing_sides(&mut self, condition: &'a Expr) -> Result<Vec<String>> {
        let ExprKind::Binary { op, lhs, rhs } = &*condition.kind else {
            return Ok(Vec::new());
        };
        match op.node {
            BinaryOp::And => {
                let failing = match self.expr(lhs)? {
                    Value::Bool(false) => lhs,
                    _ => rhs,
                };
                self.failing_sides(failing)
            }
            BinaryOp::Or => {
                let mut sides = self.failing_sides(lhs)?;
                sides.extend(self.failing_sides(rhs)?);
                Ok(sides)
            }
            op if op.is_comparison() => {
                let mut sides = Vec::new();
                for side in [lhs, rhs] {
                    let literal = matches!(
                        *side.kind,
                        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_)
                    );
                    let value = self.expr(side)?;
                    if !literal {
                        let source = self.text(side.span);
                        sides.push(format!("`{source}` is {}", text(&value)));
                    }
                }
                Ok(sides)
            }
            _ => Ok(Vec::new()),
        }
    }
}
