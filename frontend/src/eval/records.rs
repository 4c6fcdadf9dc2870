//! Records: values of named fields, and functions that are called on them.
//!
//! What a variable holds of a record is a record again: each `var` field is held as a variable of its own would be
//! ([`Evaluator::held_in_variable`]), the others are the values that they were given. So a loop or a branch carries a field
//! as it carries a variable, and what `mut self` changes is the caller's variable itself.

use super::call::{ArgValue, Call};
use super::values::{RecordValue, Value};
use super::{Evaluator, Frame, Result, Stop};
use crate::ast::{
    Arg, BinaryOp, Expr, ExprKind, FieldValue, ItemKind, Name, RECEIVER, Record, RecordField,
    RecordFunction, Type, TypeKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::Span;
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
    /// `Ring { index = 0, full }`.
    pub(super) fn record_value(
        &mut self,
        name: &'a Name,
        given: &'a [FieldValue],
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let declaration = self.record_named(name);
        // Errors of all fields are reported.
        let mut values = Vec::new();
        for field in given {
            match self.loaded(&field.value) {
                Err(Stop::GiveUp) => return Err(Stop::GiveUp),
                value => values.push(value),
            }
        }
        let declaration = declaration?;
        for field in given {
            if declaration.field(&field.name.node).is_none() {
                return self.no_such_field(declaration, &field.name.node, field.name.span);
            }
        }
        let mut values = values.into_iter().collect::<Result<Vec<_>>>()?;
        let mut fields = Vec::new();
        let mut missing = Vec::new();
        for field in &declaration.fields {
            let at = given
                .iter()
                .position(|given| given.name.node == field.name.node);
            let (value, span) = match (at, &field.default) {
                (Some(at), _) => {
                    let value = std::mem::replace(&mut values[at], Value::Error);
                    (value, given[at].value.span)
                }
                (None, Some(default)) => (self.default_of(field, default)?, span),
                (None, None) => {
                    missing.push(format!("`{}`", field.name.node));
                    continue;
                }
            };
            let value = match &field.ty {
                Some(ty) => self.of_declared_type(value, ty, span)?,
                None => value,
            };
            fields.push(value);
        }
        if !missing.is_empty() {
            let (record, missing) = (&declaration.name.node, missing.join(", "));
            let message = format!("`{record}` is built without {missing}");
            let diagnostic =
                Diagnostic::error(codes::MISSING_FIELD, span, message, "not all fields")
                    .with_label(declaration.name.span, "declared here");
            return Err(self.report(diagnostic));
        }
        Ok(Value::Record(RecordValue {
            declaration,
            fields,
        }))
    }

    /// The record of a name.
    fn record_named(&mut self, name: &'a Name) -> Result<&'a Record> {
        match self.items.get(&*name.node).copied() {
            Some(ItemKind::Record(record)) => Ok(record),
            Some(other) => {
                let message = format!("`{}` is no record", name.node);
                let label = format!("defined as `{}`", other.keyword());
                self.error(codes::WRONG_TYPE, name.span, message, label)
            }
            None => {
                let records = self.items.values().filter_map(|item| match item {
                    ItemKind::Record(record) => Some(&*record.name.node),
                    _ => None,
                });
                match closest(&name.node, records) {
                    None => self.unknown_name(&name.node, name.span),
                    Some(found) => {
                        let message = format!("unknown record `{}`", name.node);
                        let diagnostic =
                            Diagnostic::error(codes::UNKNOWN_NAME, name.span, message, "no record");
                        let help = format!("did you mean `{found}`?");
                        Err(self.report(diagnostic.with_help(help)))
                    }
                }
            }
        }
    }

    /// The value of a field that none is given: it sees what the whole file sees.
    fn default_of(&mut self, field: &RecordField, default: &'a Expr) -> Result<Value<'c, 'a>> {
        let outer = std::mem::replace(&mut self.frame, Frame::new());
        let value = self.static_value(&format!("the default of `{}`", field.name.node), default);
        self.frame = outer;
        value
    }

    /// A value where the declaration of a record says what it is.
    fn of_declared_type(
        &mut self,
        value: Value<'c, 'a>,
        ty: &'a Type,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match &ty.kind {
            TypeKind::Tuple(types) => match value {
                Value::Tuple(parts) if parts.len() == types.len() => {
                    let parts = parts.into_iter().zip(types);
                    let parts = parts.map(|(part, ty)| self.of_declared_type(part, ty, span));
                    Ok(Value::Tuple(parts.collect::<Result<_>>()?))
                }
                other => self.expected(&format!("a tuple of {}", types.len()), &other, span),
            },
            TypeKind::Named { name, args } => {
                let value = self.typed(&value, ty, span)?;
                self.check_kind(&value, (&name.node, args), span)?;
                Ok(value)
            }
            TypeKind::Error => Err(Stop::Reported),
        }
    }

    /// Whether a value is of the kind that a type names: `tensor`, `int`, `layout`, …
    fn check_kind(
        &mut self,
        value: &Value<'c, 'a>,
        (name, args): (&str, &'a [Arg]),
        span: Span,
    ) -> Result<()> {
        use cutec_dialects::elem::Elem;
        use cutec_dialects::value::Val;
        let val = match value {
            Value::Static(val) => Some(val),
            Value::Cute(cute) => Some(&cute.val),
            _ => None,
        };
        let (fits, what) = match name {
            "tensor" => (
                matches!(val, Some(Val::View(_) | Val::CoordTensor(_))),
                "a tensor",
            ),
            "layout" => (matches!(val, Some(Val::Layout(_))), "a layout"),
            "atom" => (
                matches!(val, Some(Val::CopyAtom(_) | Val::MmaAtom(_))),
                "an atom",
            ),
            "int" => (
                matches!(value, Value::Int(_))
                    || matches!(value, Value::Scalar(s) if matches!(s.elem, Elem::I32 | Elem::I64)),
                "an integer",
            ),
            "float" => (
                matches!(value, Value::Float(_))
                    || value.number_type().is_some_and(|elem| elem.is_float()),
                "a floating number",
            ),
            "dtype" => (matches!(value, Value::Type(_)), "an element type"),
            "str" => (matches!(value, Value::Str(_)), "a string"),
            _ => (true, ""),
        };
        if !fits {
            return self.expected(what, value, span);
        }
        let Some((_, view)) = value.as_view().filter(|_| name == "tensor") else {
            return Ok(());
        };
        let found = view.ptr.elem;
        match args {
            [] => Ok(()),
            [elem] => match self.static_value("an element type", &elem.value)? {
                Value::Type(wanted) if wanted == found => Ok(()),
                Value::Type(wanted) => {
                    let what = format!("a tensor of {}", super::values::elem_name(wanted));
                    self.expected(&what, value, span)
                }
                other => self.expected("an element type", &other, elem.value.span),
            },
            [_, shape, ..] => {
                let help = "write `tensor<f32>`, the type of its elements";
                self.unsupported(shape.span, "a shape in the type of a field", help)
            }
        }
    }

    /// `record.name`.
    pub(super) fn record_field(
        &mut self,
        record: &RecordValue<'c, 'a>,
        name: &str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match record.declaration.field(name) {
            Some(at) => {
                let field = &record.fields[at];
                self.weigh(field, span)?;
                self.read_slot(field, span)
            }
            None => self.no_such_field(record.declaration, name, span),
        }
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

    fn no_such_field<T>(&mut self, record: &Record, name: &str, span: Span) -> Result<T> {
        let message = format!("`{}` has no field `{name}`", record.name.node);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, span, message, "no such field")
            .with_label(record.name.span, "declared here");
        let fields = || record.fields.iter().map(|field| &*field.name.node);
        let help = match closest(name, fields()) {
            _ if record.function(name).is_some() => format!("a function is called: `.{name}(…)`"),
            Some(found) => format!("did you mean `{found}`?"),
            None => format!("it has {}", fields().collect::<Vec<_>>().join(", ")),
        };
        Err(self.report(diagnostic.with_help(help)))
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
                let parts = match self.at(&path) {
                    Some(Value::Tuple(parts) | Value::Array(parts)) => parts.len(),
                    _ => return Ok(None),
                };
                let [index] = indices.as_slice() else {
                    return Ok(None);
                };
                let at = self.static_int("the index of a tuple", index)?;
                let at = usize::try_from(at).ok().filter(|at| *at < parts);
                (path, at)
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

    /// Whether all fields of two records are equal.
    pub(super) fn equal_records(
        &mut self,
        (left, at): &(Value<'c, 'a>, Span),
        (right, other): &(Value<'c, 'a>, Span),
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let (Value::Record(left), Value::Record(right)) = (left, right) else {
            return Err(Stop::Reported);
        };
        if !std::ptr::eq(left.declaration, right.declaration) {
            let what = format!("a record `{}`", left.declaration.name.node);
            return self.expected(&what, &Value::Record(right.clone()), *other);
        }
        let mut all = Value::Bool(true);
        let declared = left.declaration.fields.iter();
        for (field, (x, y)) in declared.zip(left.fields.iter().zip(&right.fields)) {
            if x.is_same(y) {
                continue;
            }
            let equal = match x.as_view().or(y.as_view()) {
                Some(_) => Value::Unit,
                None => self.binary(BinaryOp::Eq, (x.clone(), *at), (y.clone(), *other), span)?,
            };
            if !equal.is_bool() || matches!(equal, Value::Vector(_)) {
                let name = &field.name.node;
                let message = format!("the field `{name}` has no `==`: it is {}", x.describe());
                return self.error(codes::WRONG_TYPE, span, message, "compare other fields");
            }
            all = match (all, equal) {
                (Value::Bool(true), equal) => equal,
                (all, Value::Bool(true)) => all,
                (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
                (all, equal) => self.binary(BinaryOp::BitAnd, (all, span), (equal, span), span)?,
            };
        }
        Ok(all)
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

    /// `Ring.of(4)`: a function of a record that is called on the record's name. `None` where the name is none of a record.
    pub(super) fn record_function(
        &mut self,
        base: &Expr,
        name: &Name,
        (generics, args): (&'a [Arg], &'a [Arg]),
        span: Span,
    ) -> Result<Option<Value<'c, 'a>>> {
        let Some(of) = base.as_name().filter(|of| self.lookup(of).is_none()) else {
            return Ok(None);
        };
        let Some(ItemKind::Record(record)) = self.items.get(&**of).copied() else {
            return Ok(None);
        };
        let call = self.arguments(name.node.clone(), name.span, span, generics, args);
        let Some(function) = record.function(&name.node) else {
            return self.no_such_function(record, name);
        };
        if function.receiver().is_some() {
            let (of, name_text) = (&record.name.node, &name.node);
            let message = format!("`{name_text}` is called on a value, not on `{of}`");
            let diagnostic =
                Diagnostic::error(codes::WRONG_RECEIVER, base.span, message, "not a value")
                    .with_label(function.function.name.span, "takes `self`");
            return Err(self.report(diagnostic));
        }
        let value = self.call_function(&function.function, &call?)?;
        Ok(Some(value))
    }

    /// `ring.advance()`. What `mut self` changes is what stands at `path`.
    pub(super) fn record_method(
        &mut self,
        (record, path): (&RecordValue<'c, 'a>, Option<&Path>),
        receiver: &'a Expr,
        name: &Name,
        call: Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let declaration = record.declaration;
        let Some(function) = declaration.function(&name.node) else {
            // A field may hold a function.
            return match declaration.field(&name.node).map(|at| &record.fields[at]) {
                Some(field) => self.call_value(field, &call),
                None => self.no_such_function(declaration, name),
            };
        };
        let Some(self_param) = function.receiver() else {
            let of = &declaration.name.node;
            let message = format!("`{}` takes no `self`", name.node);
            let diagnostic = Diagnostic::error(
                codes::WRONG_RECEIVER,
                name.span,
                message,
                "called on a value",
            )
            .with_label(function.function.name.span, "declared here");
            let help = format!("write `{of}.{}(…)`", name.node);
            return Err(self.report(diagnostic.with_help(help)));
        };
        if !self_param.mutable {
            let value = self.read_slot(&Value::Record(record.clone()), receiver.span)?;
            return self
                .called_on(function, value, receiver, call)
                .map(|(value, _)| value);
        }
        let Some(path) = path else {
            let message = format!("`{}` changes what it is called on", name.node);
            let diagnostic = Diagnostic::error(
                codes::WRONG_RECEIVER,
                receiver.span,
                message,
                "nobody keeps this value",
            )
            .with_label(self_param.span, "takes `mut self`");
            let help = "call it on a variable: `var x = …; x.f()`";
            return Err(self.report(diagnostic.with_help(help)));
        };
        self.check_changeable(path, receiver, "changed")?;
        let (value, changed) =
            self.called_on(function, Value::Record(record.clone()), receiver, call)?;
        if let Some(changed) = changed {
            self.check_tiles_may_change(path, &changed, receiver.span)?;
            self.set_at(path, changed)?;
        }
        Ok(value)
    }

    /// Calls a function with `self`; its result, and what it made of `mut self`.
    fn called_on(
        &mut self,
        function: &'a RecordFunction,
        value: Value<'c, 'a>,
        receiver: &'a Expr,
        mut call: Call<'c, 'a>,
    ) -> Result<(Value<'c, 'a>, Option<Value<'c, 'a>>)> {
        let names = |params: &'a [crate::ast::Param]| -> Vec<&'a str> {
            params.iter().map(|param| &*param.name.node).collect()
        };
        let statics = function.function.static_params.iter();
        let statics: Vec<&str> = statics.map(|param| &*param.name.node).collect();
        // Counted without `self`, which nobody writes among the arguments.
        let names = names(&function.function.params[1..]);
        self.check_args(&call, 0..=names.len(), &names, 0..=statics.len(), &statics)?;
        call.args.insert(
            0,
            ArgValue {
                name: None,
                value,
                expr: receiver,
            },
        );
        self.call_function_on(&function.function, &call)
    }

    fn no_such_function<T>(&mut self, record: &Record, name: &Name) -> Result<T> {
        let message = format!("`{}` has no function `{}`", record.name.node, name.node);
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_FIELD, name.span, message, "no such function")
                .with_label(record.name.span, "declared here");
        let functions: Vec<&str> = record
            .functions
            .iter()
            .map(|function| &*function.function.name.node)
            .collect();
        let help = match closest(&name.node, functions.iter().copied()) {
            Some(found) => format!("did you mean `{found}`?"),
            None if functions.is_empty() => "it has none".to_owned(),
            None => format!("it has {}", functions.join(", ")),
        };
        Err(self.report(diagnostic.with_help(help)))
    }
}
