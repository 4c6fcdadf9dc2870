//! Calls: functions of the program, conversions, built-ins, methods.

use super::builtins::Operator;
use super::exits::returns_by_flag;
use super::stmt::{Flow, Place};
use super::values::Value;
use super::{Evaluator, Frame, MAX_CALLS, Result, Stop, builtins, problem};
use crate::ast::{Arg, Expr, ExprKind, Function, RECEIVER};
use crate::diagnostics::{Diagnostic, Label, codes};
use crate::elsewhere;
use crate::source::Span;
use std::sync::Arc;

/// An evaluated argument.
#[derive(Clone)]
pub(super) struct ArgValue<'c, 'a> {
    pub name: Option<Arc<str>>,
    pub value: Value<'c, 'a>,
    pub expr: &'a Expr,
}

/// A call with its arguments evaluated.
pub(super) struct Call<'c, 'a> {
    pub name: Arc<str>,
    pub name_span: Span,
    pub span: Span,
    pub generics: Vec<ArgValue<'c, 'a>>,
    pub args: Vec<ArgValue<'c, 'a>>,
}

impl<'c, 'a> Call<'c, 'a> {
    /// Positional argument `at`.
    pub fn arg(&self, at: usize) -> Option<&ArgValue<'c, 'a>> {
        self.args.iter().filter(|arg| arg.name.is_none()).nth(at)
    }

    /// The argument of this name.
    pub fn named(&self, name: &str) -> Option<&ArgValue<'c, 'a>> {
        self.args
            .iter()
            .find(|arg| arg.name.as_deref() == Some(name))
    }

    /// The argument of a parameter, by its number or its name.
    pub fn given(&self, at: usize, name: &str) -> Option<&ArgValue<'c, 'a>> {
        self.arg(at).or_else(|| self.named(name))
    }

    /// The generic argument of this name.
    pub fn named_generic(&self, name: &str) -> Option<&ArgValue<'c, 'a>> {
        self.generics
            .iter()
            .find(|arg| arg.name.as_deref() == Some(name))
    }

    /// Positional arguments.
    pub fn positional(&self) -> Vec<Value<'c, 'a>> {
        self.args
            .iter()
            .filter(|arg| arg.name.is_none())
            .map(|arg| arg.value.clone())
            .collect()
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `callee(args)`.
    pub(super) fn call(
        &mut self,
        callee: &'a Expr,
        args: &'a [Arg],
        whole: &'a Expr,
    ) -> Result<Value<'c, 'a>> {
        let span = whole.span;
        let (target, generics): (&'a Expr, &'a [Arg]) = match &*callee.kind {
            ExprKind::Generic { base, args } => (base, args),
            _ => (callee, &[]),
        };
        match &*target.kind {
            ExprKind::Field { base, name }
                if Self::is_target_method(&name.node) && self.is_target(base) =>
            {
                self.target_method(&name.node, args, span)
            }
            ExprKind::Field { base, name } => {
                if let Some(value) = self.record_function(base, name, (generics, args), span)? {
                    return Ok(value);
                }
                if let Some((path, record)) = self.named_record(base)? {
                    let call =
                        self.arguments(name.node.clone(), name.span, span, generics, args)?;
                    // The arguments may have changed it.
                    let record = match self.at(&path) {
                        Some(Value::Record(record)) => record.clone(),
                        _ => record,
                    };
                    return self.record_method((&record, Some(&path)), base, name, call);
                }
                let receiver = self.expr(base);
                if let Ok(Value::Record(record)) = &receiver {
                    let call =
                        self.arguments(name.node.clone(), name.span, span, generics, args)?;
                    return self.record_method((record, None), base, name, call);
                }
                let receiver = receiver?;
                let call = self.arguments(name.node.clone(), name.span, span, generics, args)?;
                builtins::method(self, &receiver, base.span, &call)
            }
            ExprKind::Name(name) => {
                let function = self.name(name, target.span);
                if let Ok(Value::Builtin(builtin)) = function
                    && let Some(form) = builtins::table::functions(builtin).first()
                {
                    self.check_level(form.level, builtin, target.span)?;
                }
                if let Ok(Value::Builtin(builtin)) = function
                    && let Some(result) = builtins::call_at_place(self, builtin, args, whole)
                {
                    return result;
                }
                let places = match function {
                    Ok(Value::Builtin(builtin)) => builtins::table::named_places(builtin),
                    _ => Vec::new(),
                };
                let name = name.clone();
                let call =
                    self.arguments_with_places((name, target.span, span), generics, args, &places);
                let (function, call) = (function?, call?);
                self.call_value(&function, &call)
            }
            _ => self.error(
                codes::WRONG_TYPE,
                target.span,
                "only a name can be called",
                "not a function",
            ),
        }
    }

    /// Calls what a name or a field of a record stands for.
    pub(super) fn call_value(
        &mut self,
        function: &Value<'c, 'a>,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let reported = self.diagnostics.len();
        let result = self.call_callable(function, call);
        if result.is_err() {
            self.explain_name(function, call, reported);
        }
        result
    }

    /// Says of an error in the arguments of a call, one of those from `from` on, which function the name stands for, and
    /// where that is said.
    fn explain_name(&mut self, function: &Value<'c, 'a>, call: &Call<'c, 'a>, from: usize) {
        let own = match function {
            Value::Function(function) => &*function.name.node,
            Value::Builtin(name) => name,
            Value::Str(operator) => operator,
            _ => return,
        };
        let Some(binding) = self.lookup(&call.name).filter(|_| *own != *call.name) else {
            return;
        };
        let mut defines = self.options.defines.iter();
        let is_given = defines.any(|(name, text)| **name == *call.name && text.trim() == own);
        let label = match is_given {
            true => format!("`-D {}={own}` makes it `{own}`", call.name),
            false => format!("`{}` is `{own}`", call.name),
        };
        let bound = binding.span;
        for error in &mut self.diagnostics[from..] {
            if error.code == codes::WRONG_ARGUMENTS && error.span() == call.span {
                error.labels.push(Label {
                    span: bound,
                    text: label.clone(),
                });
            }
        }
    }

    fn call_callable(
        &mut self,
        function: &Value<'c, 'a>,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        match function {
            Value::Function(function) => self.call_function(function, call),
            Value::Type(elem) => self.conversion(*elem, call),
            Value::Builtin(builtin) => builtins::call(self, builtin, call),
            other => {
                if let Some(operator) = Operator::of(other) {
                    return builtins::call_operator(self, operator, call);
                }
                let message = format!("{} cannot be called", other.describe());
                let (span, label) = (call.name_span, "not a function");
                let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, label);
                let item = self.items.get(&call.name, span.file);
                let help = match item.is_some() || builtins::lookup(&call.name).is_some() {
                    true => Some("a variable of this name hides the function: call it otherwise"),
                    false => elsewhere::names::here(&call.name),
                };
                Err(self.report(match help {
                    Some(help) => diagnostic.with_help(help),
                    None => diagnostic,
                }))
            }
        }
    }

    /// Evaluates the arguments of a call.
    pub(super) fn arguments(
        &mut self,
        name: Arc<str>,
        name_span: Span,
        span: Span,
        generics: &'a [Arg],
        args: &'a [Arg],
    ) -> Result<Call<'c, 'a>> {
        self.arguments_with_places((name, name_span, span), generics, args, &[])
    }

    /// Evaluates the arguments of a call, those of the names `places` to a place: the view and the coordinate.
    pub(super) fn arguments_with_places(
        &mut self,
        (name, name_span, span): (Arc<str>, Span, Span),
        generics: &'a [Arg],
        args: &'a [Arg],
        places: &[&str],
    ) -> Result<Call<'c, 'a>> {
        let mut failed = None;
        let mut evaluated = |this: &mut Self, list: &'a [Arg], is_static: bool| {
            let mut values = Vec::new();
            for arg in list {
                let is_place = arg
                    .name
                    .as_ref()
                    .is_some_and(|name| places.contains(&&*name.node));
                let value = match is_static {
                    _ if is_place => this
                        .element_place(&arg.value)
                        .map(|(view, at)| Value::Tuple(vec![view, at])),
                    true => this.static_value("a generic argument", &arg.value),
                    false => this.loaded(&arg.value),
                };
                match value {
                    Ok(value) => {
                        let name = arg.name.as_ref().map(|name| name.node.clone());
                        values.push(ArgValue {
                            name,
                            value,
                            expr: &arg.value,
                        });
                    }
                    Err(stop) => {
                        failed =
                            Some(failed.map_or(stop, |old| {
                                if stop == Stop::Reported { old } else { stop }
                            }))
                    }
                }
            }
            values
        };
        let generics = evaluated(self, generics, true);
        let args = evaluated(self, args, false);
        match failed {
            Some(stop) => Err(stop),
            None => Ok(Call {
                name,
                name_span,
                span,
                generics,
                args,
            }),
        }
    }

    /// Checks numbers and names of arguments.
    pub(super) fn check_args(
        &mut self,
        call: &Call<'c, 'a>,
        count: std::ops::RangeInclusive<usize>,
        named: &[&str],
        generic_count: std::ops::RangeInclusive<usize>,
        named_generics: &[&str],
    ) -> Result<()> {
        self.check_args_of(None, call, count, named, generic_count, named_generics)
    }

    /// The same of a function, if it is one: each argument is needed, in its place or by its name.
    pub(super) fn check_args_of(
        &mut self,
        function: Option<&'a Function>,
        call: &Call<'c, 'a>,
        count: std::ops::RangeInclusive<usize>,
        named: &[&str],
        generic_count: std::ops::RangeInclusive<usize>,
        named_generics: &[&str],
    ) -> Result<()> {
        for (list, count, names, what) in [
            (&call.args, count, named, "argument"),
            (
                &call.generics,
                generic_count,
                named_generics,
                "generic argument",
            ),
        ] {
            for arg in list {
                if let Some(name) = &arg.name
                    && !names.contains(&&**name)
                {
                    let message = format!("`{}` has no {what} named `{name}`", call.name);
                    let diagnostic =
                        Diagnostic::error(codes::WRONG_ARGUMENTS, arg.expr.span, message, "here");
                    let help = match names {
                        [] => "it takes no named ones".to_owned(),
                        names => format!(
                            "it takes {}",
                            names
                                .iter()
                                .map(|name| format!("`{name} = …`"))
                                .collect::<Vec<_>>()
                                .join(", ")
                        ),
                    };
                    return Err(self.report(diagnostic.with_help(help)));
                }
            }
            let found = list.iter().filter(|arg| arg.name.is_none()).count();
            if !count.contains(&found) {
                let expected = match (*count.start(), *count.end()) {
                    (a, b) if a == b => a.to_string(),
                    (a, usize::MAX) => format!("at least {a}"),
                    (_, b) if function.is_some() && what == "argument" => b.to_string(),
                    (a, b) => format!("{a} to {b}"),
                };
                let plural = problem::plural(&expected);
                let are = if found == 1 { "is" } else { "are" };
                let message = format!(
                    "`{}` takes {expected} {what}{plural}, but {found} {are} given",
                    call.name
                );
                let label = format!("{found} given");
                let diagnostic =
                    Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, label);
                return Err(self.report(match function {
                    Some(function) => diagnostic.with_help(written(function)),
                    None => diagnostic,
                }));
            }
        }
        Ok(())
    }

    /// Inlines a function: at compile time if that is possible.
    pub(super) fn call_function(
        &mut self,
        function: &'a Function,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        self.call_function_on(function, call)
            .map(|(value, _)| value)
    }

    /// As [`Evaluator::call_function`]; with what the function made of `mut self`.
    pub(super) fn call_function_on(
        &mut self,
        function: &'a Function,
        call: &Call<'c, 'a>,
    ) -> Result<(Value<'c, 'a>, Option<Value<'c, 'a>>)> {
        if self.calls.len() >= MAX_CALLS {
            let message = format!("functions call each other more than {MAX_CALLS} deep");
            let label = "one call more";
            let diagnostic = Diagnostic::error(codes::BUDGET, call.span, message, label);
            let help = "a function is put in the place of its call: end its calls of itself by `static if`, or write a loop";
            self.report(diagnostic.with_help(help));
            return Err(Stop::GiveUp);
        }
        if self.ir.is_some() {
            self.note_call(call.span);
        }
        self.calls.push((call.name.clone(), call.span));
        let result = self.nested(call.span, |this| {
            if this.ir.is_some() && call.args.iter().all(|arg| arg.value.is_known()) {
                let reported = this.diagnostics.len();
                match this.at_compile_time(|this| this.inline(function, call)) {
                    Err(Stop::NeedsRuntime) => this.diagnostics.truncate(reported),
                    other => return other,
                }
            }
            this.inline(function, call)
        });
        self.calls.pop();
        result.map_err(|stop| match stop {
            Stop::Abandoned => Stop::Reported,
            other => other,
        })
    }

    fn inline(
        &mut self,
        function: &'a Function,
        call: &Call<'c, 'a>,
    ) -> Result<(Value<'c, 'a>, Option<Value<'c, 'a>>)> {
        let inner = Frame {
            has_no_value: self.frame.alone == Some(call.span),
            ..Frame::new()
        };
        let outer = std::mem::replace(&mut self.frame, inner);
        let result = self.run_function(function, call);
        let inner = std::mem::replace(&mut self.frame, outer);
        let receiver = inner.scopes.first().and_then(|scope| scope.get(RECEIVER));
        let receiver = receiver.filter(|binding| binding.mutable);
        result.map(|value| (value, receiver.map(|binding| binding.value.clone())))
    }

    fn run_function(
        &mut self,
        function: &'a Function,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let generic_names: Vec<&str> = function
            .static_params
            .iter()
            .map(|param| &*param.name.node)
            .collect();
        let names: Vec<&str> = function
            .params
            .iter()
            .map(|param| &*param.name.node)
            .collect();
        self.check_args_of(
            Some(function),
            call,
            0..=names.len(),
            &names,
            0..=generic_names.len(),
            &generic_names,
        )?;
        for (at, param) in function.static_params.iter().enumerate() {
            let given = call
                .generics
                .iter()
                .filter(|arg| arg.name.is_none())
                .nth(at);
            let given = given.or_else(|| call.named_generic(&param.name.node));
            let inferred = || Self::inferred(function, call, &param.name.node);
            let given = given.map(|arg| arg.value.clone());
            let value = match (
                given.or_else(|| inferred().map(Value::Type)),
                &param.default,
            ) {
                (Some(value), _) => value,
                (None, Some(default)) => self.static_value("a default", default)?,
                (None, None) => return self.missing_argument(call, &param.name.node),
            };
            self.bind(param.name.node.clone(), value, false, param.name.span);
        }
        for (at, param) in function.params.iter().enumerate() {
            let Some(arg) = call.given(at, &param.name.node) else {
                return self.missing_argument(call, &param.name.node);
            };
            let (value, span) = (arg.value.clone(), arg.expr.span);
            let value = match &param.ty {
                Some(ty) => self.typed(&value, ty, span)?,
                None => value,
            };
            let changes = param.mutable && &*param.name.node == RECEIVER;
            self.bind(param.name.node.clone(), value, changes, param.name.span);
        }
        self.check_tensors(function, call)?;
        // The flag must be clear at each call, also in a loop.
        if self.ir.is_some() && returns_by_flag(&function.body) {
            let flag = self.return_flag(call.span)?;
            self.set_flag(flag, false, call.span)?;
        }
        let body = &function.body;
        match self.list(
            (&body.stmts, body.value.as_ref()),
            Place {
                tail: true,
                wanted: true,
            },
        )? {
            Flow::Next(value) | Flow::Return(value) => self.read_slot(&value, call.span),
            Flow::Maybe(_) => self.kept_result(function, call.span),
            Flow::Break | Flow::Continue => Err(Stop::Reported),
        }
    }

    fn missing_argument<T>(&mut self, call: &Call<'c, 'a>, name: &str) -> Result<T> {
        let message = format!("`{}` is called without its argument `{name}`", call.name);
        self.error(
            codes::WRONG_ARGUMENTS,
            call.span,
            message,
            format!("`{name}` is missing"),
        )
    }
}

/// How a call of a function is written.
fn written(function: &Function) -> String {
    let names = |params: Vec<&str>| params.join(", ");
    let statics = function.static_params.iter();
    let statics: Vec<&str> = statics.map(|param| &*param.name.node).collect();
    let generics = match statics.is_empty() {
        true => String::new(),
        false => format!("<{}>", names(statics)),
    };
    let params = function.params.iter().map(|param| &*param.name.node);
    let params = names(params.filter(|name| *name != RECEIVER).collect());
    format!("it is written `{}{generics}({params})`", function.name.node)
}
