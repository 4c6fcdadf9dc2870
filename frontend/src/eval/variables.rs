//! What variables hold, and the ways to their parts.
//!
//! A variable of a kernel holds a value: a number lies in a register of its own ([`Value::Slot`]), which later passes promote,
//! views and tiles are what they are, and a tuple or a record is one of such values. So loops and branches carry what is
//! written in them, whatever it is a part of. While compiling, a variable holds what was assigned to it.

use super::assign::New;
use super::index::index_of;
use super::values::{Binding, RecordValue, Tile, Value, elem_name};
use super::{Evaluator, Result, Stop, problem};
use crate::ast::{BinaryOp, Expr, ExprKind, Name, RECEIVER, Type, TypeKind};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::{Span, Spanned};
use cutec_dialects::elem::Elem;
use cutec_dialects::value::Val;
use cutec_layout::{AnyLayout, Layout};
use std::sync::Arc;

/// A variable, or a part of one: `ring`, `pipe.ring.index`, `pair[0]`.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The variable.
    pub name: Arc<str>,
    /// Which field of a record, or part of a tuple, from the outermost on.
    pub steps: Vec<usize>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// What a variable of a kernel holds: a number in a register, views and tiles as they are, tuples and records of these.
    /// An integer without a type is one of `written`.
    pub(super) fn held_in_variable(
        &mut self,
        value: &Value<'c, 'a>,
        written: Option<Elem>,
        (what, name): (&str, &Name),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let elem = match value {
            Value::Int(_) => written.unwrap_or(Elem::I32),
            Value::Large(_) => written.unwrap_or(Elem::U64),
            Value::Float(_) => Elem::F32,
            Value::Bool(_) => Elem::I1,
            Value::Typed(_, elem) => *elem,
            Value::Scalar(scalar) => scalar.elem,
            Value::Cute(cute) if matches!(cute.val, Val::View(_)) => return Ok(value.clone()),
            Value::Tile(_) => return Ok(value.clone()),
            Value::Vector(vector) => {
                let layout = AnyLayout::Plain(Layout::contiguous(vector.len));
                let held = self.registers(vector.elem, layout, ("var", name.span))?;
                self.store(&held, value, name.span, span, span)?;
                return Ok(held);
            }
            // An array is state as a tuple is, part by part.
            Value::Tuple(parts) | Value::Array(parts) => {
                let parts = parts
                    .iter()
                    .map(|part| self.held_in_variable(part, None, (what, name), span));
                return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
            }
            Value::Record(record) => return self.record_in_variable(record, (name, span)),
            other => {
                let wanted = format!("a number or values of a view: that is what {what} holds");
                return self.expected(&wanted, other, span);
            }
        };
        let number = self.number(value, elem, span)?;
        let slot = self.slot(elem, name.span)?;
        self.write_slot(slot, number, name.span)?;
        Ok(Value::Slot(slot))
    }

    /// What a variable holds of a record.
    pub(super) fn record_in_variable(
        &mut self,
        record: &RecordValue<'c, 'a>,
        (name, span): (&Name, Span),
    ) -> Result<Value<'c, 'a>> {
        let declaration = record.declaration;
        let mut fields = Vec::new();
        for (field, value) in declaration.fields.iter().zip(&record.fields) {
            if !field.mutable {
                fields.push(value.clone());
                continue;
            }
            let what = format!("the `var` field `{}`", field.name.node);
            fields.push(self.field_in_variable(value, field.ty.as_ref(), (&what, name), span)?);
        }
        Ok(Value::Record(RecordValue {
            declaration,
            fields,
        }))
    }

    /// What a variable holds of a `var` field, whose integers are of the types that the declaration gives them.
    fn field_in_variable(
        &mut self,
        value: &Value<'c, 'a>,
        ty: Option<&'a Type>,
        names: (&str, &Name),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match (value, ty.map(|ty| &ty.kind)) {
            (Value::Tuple(parts), Some(TypeKind::Tuple(types))) => {
                let parts = parts.iter().zip(types);
                let parts =
                    parts.map(|(part, ty)| self.field_in_variable(part, Some(ty), names, span));
                Ok(Value::Tuple(parts.collect::<Result<_>>()?))
            }
            _ => {
                let elem = match ty {
                    Some(ty) => self.declared(ty)?,
                    None => None,
                };
                self.held_in_variable(value, elem, names, span)
            }
        }
    }

    /// The variable, or the part of one, that an expression names; `None` for any other expression.
    pub(super) fn path(&mut self, expr: &'a Expr) -> Result<Option<Path>> {
        let (base, step) = match &*expr.kind {
            ExprKind::Name(name) => {
                let bound = self.lookup(name).is_some();
                return Ok(bound.then(|| Path {
                    name: name.clone(),
                    steps: Vec::new(),
                }));
            }
            ExprKind::Field { base, name } => {
                let Some(path) = self.path(base)? else {
                    return Ok(None);
                };
                let step = match self.at(&path) {
                    Some(Value::Record(record)) => record.declaration.field(&name.node),
                    _ => None,
                };
                (path, step)
            }
            ExprKind::Index { base, indices } => {
                let Some(path) = self.path(base)? else {
                    return Ok(None);
                };
                let (parts, what) = match self.at(&path) {
                    Some(value @ (Value::Tuple(parts) | Value::Array(parts))) => {
                        (parts.len(), index_of(value))
                    }
                    _ => return Ok(None),
                };
                let [index] = indices.as_slice() else {
                    return Ok(None);
                };
                let at = self.static_int(what, index)?;
                match usize::try_from(at).ok().filter(|at| *at < parts) {
                    None => {
                        let whole = self.at(&path).map(Value::describe);
                        return self.no_part(&whole.unwrap_or_default(), parts, at, index.span);
                    }
                    at => (path, at),
                }
            }
            _ => return Ok(None),
        };
        Ok(step.map(|step| {
            let mut path = base;
            path.steps.push(step);
            path
        }))
    }

    /// What a variable or a part of one holds; variables of it are not read.
    pub(super) fn at(&self, path: &Path) -> Option<&Value<'c, 'a>> {
        let mut value = &self.lookup(&path.name)?.value;
        for step in &path.steps {
            value = match value {
                Value::Tuple(parts) | Value::Array(parts) => parts.get(*step)?,
                Value::Record(record) => record.fields.get(*step)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// The type that the declaration of a record gives the field at `path`.
    pub(super) fn declared_at(&self, path: &Path) -> Option<&'a Type> {
        let (last, steps) = path.steps.split_last()?;
        let of = Path {
            name: path.name.clone(),
            steps: steps.to_vec(),
        };
        match self.at(&of)? {
            Value::Record(record) => record.declaration.fields.get(*last)?.ty.as_ref(),
            _ => None,
        }
    }

    /// The record that an expression names, where that is a variable or a part of one.
    pub(super) fn named_record(
        &mut self,
        expr: &'a Expr,
    ) -> Result<Option<(Path, RecordValue<'c, 'a>)>> {
        let Some(path) = self.path(expr)? else {
            return Ok(None);
        };
        let found = match self.at(&path) {
            Some(Value::Record(record)) => record.clone(),
            _ => return Ok(None),
        };
        if let Some(binding) = self.lookup(&path.name) {
            binding.read.set(true);
        }
        let found = Value::Record(found);
        self.weigh(&found, expr.span)?;
        Ok(match found {
            Value::Record(found) => Some((path, found)),
            _ => None,
        })
    }

    /// `variable.name`, of whose fields this alone is read; `None` where that is no variable, or none of a record.
    pub(super) fn field_of_variable(
        &mut self,
        base: &'a Expr,
        name: &str,
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        let Some(mut path) = self.path(base)? else {
            return Ok(None);
        };
        let Some(Value::Record(record)) = self.at(&path) else {
            return Ok(None);
        };
        let declaration = record.declaration;
        let Some(step) = declaration.field(name) else {
            return self.no_such_field(declaration, name, span);
        };
        path.steps.push(step);
        let field = self.at(&path).cloned().ok_or(Stop::Reported)?;
        if let Some(binding) = self.lookup(&path.name) {
            binding.read.set(true);
        }
        self.weigh(&field, span)?;
        self.read_slot(&field, span).map(Some)
    }

    /// Assigns to a variable, or to a part of one.
    pub(super) fn assign_variable(
        &mut self,
        path: &Path,
        target: &'a Expr,
        op: Option<Spanned<BinaryOp>>,
        value: New<'_, 'c, 'a>,
        span: Span,
    ) -> Result<()> {
        let old = self.at(path).cloned().ok_or(Stop::Reported)?;
        let product = match (&old, op, value) {
            (Value::Tile(sum), Some(op), New::Of(value)) if op.node == BinaryOp::Add => {
                self.dot_onto(sum, value)
            }
            _ => None,
        };
        let added = product.is_some();
        let new = match product {
            Some(sum) => sum,
            None => self.new_value(value),
        };
        if matches!(old, Value::Error) {
            return Err(Stop::Reported);
        }
        self.check_changeable(path, target, "assigned to")?;
        if added && new.is_err() && matches!(&old, Value::Tile(sum) if sum.elem.bits() < 32) {
            // No product is added up in such a type: that it is wrong is said once.
            self.set_at(path, Value::Error)?;
        }
        let mut new = new?;
        if let Some(op) = op.filter(|_| !added) {
            let old = self.read_slot(&old, target.span)?;
            new = self.binary(op.node, (old, target.span), (new, value.span()), span)?;
        }
        if matches!(old, Value::Tuple(_) | Value::Record(_)) && self.ir.is_some() {
            new = self.read_before(&new, value.span())?;
        }
        let ty = self.declared_at(path);
        let held = self.put(path, (&old, ty), &new, (target.span, value.span()))?;
        self.set_at(path, held)
    }

    /// What is written at a place may change: the variable is one, and so is each field on the way.
    pub(super) fn check_changeable(
        &mut self,
        path: &Path,
        whole: &'a Expr,
        why: &str,
    ) -> Result<()> {
        let Some(binding) = self.lookup(&path.name).cloned() else {
            return self.unknown_name(&path.name, whole.span);
        };
        let is_view = self.at(path).is_some_and(|value| value.as_view().is_some());
        let elements = || format!("write its elements: `{}[…] = …`", self.text(whole.span));
        if !binding.mutable {
            let name = &path.name;
            let help = match &**name {
                _ if is_view => elements(),
                RECEIVER => "take `mut self` to change what the function is called on".to_owned(),
                _ => format!("declare it with `var {name} = …`"),
            };
            let message = format!("`{name}` cannot be {why}");
            let diagnostic =
                Diagnostic::error(codes::NOT_MUTABLE, whole.span, message, "not a variable")
                    .with_label(binding.span, "bound here");
            return Err(self.report(diagnostic.with_help(help)));
        }
        let mut value = &binding.value;
        for step in &path.steps {
            let part = match value {
                Value::Tuple(parts) | Value::Array(parts) => parts.get(*step),
                Value::Record(record) => {
                    let field = &record.declaration.fields[*step];
                    if !field.mutable {
                        let (of, name) = (&record.declaration.name.node, &field.name.node);
                        let message = format!("the field `{name}` of `{of}` cannot be {why}");
                        let label = "not a `var` field";
                        let help = match is_view {
                            true => elements(),
                            false => format!("declare it `var {name}`"),
                        };
                        let diagnostic =
                            Diagnostic::error(codes::NOT_MUTABLE, whole.span, message, label)
                                .with_label(field.name.span, "declared here");
                        return Err(self.report(diagnostic.with_help(help)));
                    }
                    record.fields.get(*step)
                }
                _ => None,
            };
            value = part.ok_or(Stop::Reported)?;
        }
        Ok(())
    }

    /// What a variable, or the part of one at `path`, holds when it is given another value.
    pub(super) fn put(
        &mut self,
        path: &Path,
        (old, ty): (&Value<'c, 'a>, Option<&'a Type>),
        new: &Value<'c, 'a>,
        (target, span): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        match old {
            Value::Slot(slot) => {
                if let Value::Tile(tile) = new {
                    return self.number_becomes_tile(path, slot.elem, tile, span);
                }
                let number = self.number(new, slot.elem, span)?;
                self.write_slot(*slot, number, target.to(span))?;
                Ok(old.clone())
            }
            Value::Cute(_) => {
                self.store(old, new, target, span, target.to(span))?;
                Ok(old.clone())
            }
            Value::Tile(tile) => self.other_tile(path, tile, new, (target, span)),
            Value::Record(record) => self.put_record(path, record, new, (target, span)),
            Value::Tuple(parts) if self.ir.is_some() => match new {
                Value::Tuple(values) | Value::Array(values) if values.len() == parts.len() => {
                    let parts = parts.iter().zip(values);
                    let parts =
                        parts.map(|(old, new)| self.put(path, (old, None), new, (target, span)));
                    Ok(Value::Tuple(parts.collect::<Result<_>>()?))
                }
                other => self.expected(&format!("a tuple of {}", parts.len()), other, span),
            },
            _ => match ty {
                Some(ty) => self.typed(new, ty, span),
                None => Ok(new.clone()),
            },
        }
    }

    /// Reports that a variable of a number, or a part of one, is given a tile.
    fn number_becomes_tile<T>(
        &mut self,
        path: &Path,
        elem: Elem,
        tile: &Tile<'c>,
        span: Span,
    ) -> Result<T> {
        let ty = elem_name(elem);
        let is_number = |binding: &&Binding<'_, '_>| matches!(binding.value, Value::Slot(_));
        let name = self.lookup(&path.name).filter(is_number);
        let (name, declared) = match name {
            Some(binding) => (&*path.name, Some(binding.span)),
            None => ("s", None),
        };
        let extents: Vec<String> = tile.shape.iter().map(i64::to_string).collect();
        let extents = extents.join(", ");
        let is_one = tile.shape.iter().all(|extent| *extent == 1);
        let number = match is_one {
            true => format!("`scalar({})` is the number", self.text(span)),
            false => "`scalar(reduce(add, x))` is a number, the sum of a tile".to_owned(),
        };
        let help = match tile.elem == elem {
            true => format!(
                "a variable that becomes a tile begins as one, `var {name} = zeros<{ty}>({extents})`; {number}"
            ),
            false => number,
        };
        let found = Value::Tile(tile.clone());
        let diagnostic = problem::not_expected(&format!("a number of {ty}"), &found, span);
        let diagnostic = match declared {
            Some(declared) => {
                diagnostic.with_label(declared, format!("`{name}` holds a number of {ty}"))
            }
            None => diagnostic,
        };
        Err(self.report(diagnostic.with_help(help)))
    }

    /// What a variable holds of a record that is assigned to it: its `var` fields take the new values, the others must have
    /// them already.
    pub(super) fn put_record(
        &mut self,
        path: &Path,
        old: &RecordValue<'c, 'a>,
        new: &Value<'c, 'a>,
        (target, span): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let declaration = old.declaration;
        let Value::Record(new) = new else {
            return self.expected(&format!("a record `{}`", declaration.name.node), new, span);
        };
        if !std::ptr::eq(declaration, new.declaration) {
            let what = format!("a record `{}`", declaration.name.node);
            return self.expected(&what, &Value::Record(new.clone()), span);
        }
        let mut fields = Vec::new();
        for (field, (old, new)) in declaration
            .fields
            .iter()
            .zip(old.fields.iter().zip(&new.fields))
        {
            if field.mutable {
                let ty = field.ty.as_ref();
                fields.push(self.put(path, (old, ty), new, (target, span))?);
                continue;
            }
            if !old.is_same(new) {
                let (of, name) = (&declaration.name.node, &field.name.node);
                let message = format!(
                    "the field `{name}` of `{of}` is {}, and cannot become {}",
                    old.describe(),
                    match old.describe() == new.describe() {
                        true => "another one".to_owned(),
                        false => new.describe(),
                    }
                );
                let diagnostic =
                    Diagnostic::error(codes::NOT_MUTABLE, span, message, "another value of it")
                        .with_label(field.name.span, "not a `var` field");
                let help = format!("declare it `var {name}`, or assign to the fields that change");
                return Err(self.report(diagnostic.with_help(help)));
            }
            fields.push(old.clone());
        }
        Ok(Value::Record(RecordValue {
            declaration,
            fields,
        }))
    }

    /// Gives a variable, or a part of one, another value. Memory that stands behind it has been written.
    pub(super) fn set_at(&mut self, path: &Path, new: Value<'c, 'a>) -> Result<()> {
        let scopes = self.frame.scopes.iter_mut().rev();
        let binding = scopes
            .into_iter()
            .find_map(|scope| scope.get_mut(&path.name));
        let mut value = &mut binding.ok_or(Stop::Reported)?.value;
        for step in &path.steps {
            let part = match value {
                Value::Tuple(parts) | Value::Array(parts) => parts.get_mut(*step),
                Value::Record(record) => record.fields.get_mut(*step),
                _ => None,
            };
            value = part.ok_or(Stop::Reported)?;
        }
        new.name_for_readers(&path.name);
        *value = new;
        Ok(())
    }
}
