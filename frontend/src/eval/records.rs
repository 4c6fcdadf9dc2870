//! Records: values of named fields, and functions that are called on them.
//!
//! What a variable holds of a record is a record again: each `var` field is held as a variable of its own would be
//! ([`Evaluator::record_in_variable`]), the others are the values that they were given. What `mut self` changes is the caller's
//! variable itself.

use super::call::{ArgValue, Call};
use super::values::{RecordValue, Value};
use super::variables::Path;
use super::{Evaluator, Frame, Result, Stop};
use crate::ast::{
    Arg, BinaryOp, Expr, FieldValue, ItemKind, Name, Record, RecordField, RecordFunction, Type,
    TypeKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::Span;

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
        match self.items.get(&name.node, name.span.file) {
            Some(ItemKind::Record(record)) => Ok(record),
            Some(other) => {
                let message = format!("`{}` is no record", name.node);
                let label = format!("defined as `{}`", other.keyword());
                self.error(codes::WRONG_TYPE, name.span, message, label)
            }
            None => {
                let records = self.items.names(name.span.file, &["record"]);
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

    /// Reports a field that the declaration of a record does not list.
    pub(super) fn no_such_field<T>(
        &mut self,
        record: &Record,
        name: &str,
        span: Span,
    ) -> Result<T> {
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
        let named = self.items.get(of, base.span.file);
        let Some(record) = named.and_then(ItemKind::record) else {
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
        let statics = function.function.static_params.iter();
        let statics: Vec<&str> = statics.map(|param| &*param.name.node).collect();
        // Counted without `self`, which nobody writes among the arguments.
        let names = function.function.params.iter().skip(1);
        let names: Vec<&str> = names.map(|param| &*param.name.node).collect();
        self.check_args_of(
            Some(&function.function),
            &call,
            0..=names.len(),
            &names,
            0..=statics.len(),
            &statics,
        )?;
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
