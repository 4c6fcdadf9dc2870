//! Values of a kernel's compile-time parameters: what `-D`, a test or a host gives, as text, or the default.
//!
//! A text is a number, a bool, a type, a tuple of these, or the name of a function: one of the program, or a built-in. It is a
//! function, or an operator of reductions, where the default is one, and then it takes as many arguments as that.

use super::builtins::{self, Operator, table};
use super::values::{Value, elem_name, elem_of, notation};
use super::{Evaluator, Result};
use crate::ast::visit::{Visit, walk_expr};
use crate::ast::{Expr, Function, ItemKind, Kernel, StaticParam};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::words::closest;
use crate::source::FileId;
use crate::stdlib;
use cutec_abi::counted;
use rustc_hash::FxHashSet;
use std::fmt;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The value of a compile-time parameter: `-D`, or its default.
    pub(super) fn static_param(
        &mut self,
        kernel: &'a Kernel,
        param: &'a StaticParam,
    ) -> Result<Value<'c, 'a>> {
        let name = &param.name.node;
        let define = self
            .options
            .defines
            .iter()
            .rev()
            .find(|(defined, _)| **defined == **name);
        let Some((_, text)) = define else {
            return match &param.default {
                Some(_) => {
                    let reported = self.diagnostics.len();
                    let value = self.default_value(param);
                    self.explain_extents(kernel, reported);
                    value
                }
                None => {
                    let message = format!(
                        "the compile-time parameter `{name}` of `{}` has no value",
                        kernel.name.node
                    );
                    let diagnostic =
                        Diagnostic::error(codes::BAD_DEFINE, param.span, message, "no default");
                    let kernel = &kernel.name.node;
                    Err(self.report(diagnostic.with_help(format!(
                        "give it with `-D {name}=…`, in a test `{kernel}<{name} = …>(…)`"
                    ))))
                }
            };
        };
        let text = text.trim();
        if param.default.is_none() {
            return match literal(text).or_else(|| self.function_named(text, param.span.file)) {
                Some(value) => Ok(value),
                None => self.no_value(param, text),
            };
        }
        let known = literal(text);
        let is_name = param
            .default
            .as_ref()
            .is_some_and(|default| default.as_name().is_some());
        if let Some(value) = known.clone().filter(|_| !is_name) {
            return Ok(value);
        }
        // A default that means nothing is an error where it is asked for, and does not stand in the way of another value.
        let reported = self.diagnostics.len();
        let default = self.default_value(param);
        if default.is_err() {
            self.diagnostics.truncate(reported);
        }
        match default {
            Ok(default) if is_function(&default) => self.chosen_function(param, text, &default),
            default => match (known, default, builtins::lookup(text)) {
                (Some(value), ..) => Ok(value),
                // A word that a built-in takes, as a type may be.
                (None, Ok(Value::Str(_) | Value::Type(_)), Some(word @ Value::Str(_))) => Ok(word),
                (None, ..) => self.no_value(param, text),
            },
        }
    }

    pub(super) fn default_value(&mut self, param: &'a StaticParam) -> Result<Value<'c, 'a>> {
        let Some(default) = &param.default else {
            return Err(super::Stop::Reported);
        };
        self.at_compile_time(|this| this.static_value("a default", default))
    }

    /// Says of names in a default that nobody knows, which are errors from one on, where they are extents of the kernel.
    fn explain_extents(&mut self, kernel: &Kernel, from: usize) {
        let mut names = NamesOfTypes::default();
        for param in &kernel.params {
            param.ty.iter().for_each(|ty| names.ty(ty));
        }
        let sources = self.sources;
        for error in &mut self.diagnostics[from..] {
            let name = sources.snippet(error.span());
            if error.code == codes::UNKNOWN_NAME && names.0.contains(name) {
                error.help = Some(format!(
                    "`{name}` is an extent, which a launch says; compile-time parameters are known before: give a number, which `-D` and a launch can replace"
                ));
            }
        }
    }

    /// The function that a file sees, or the built-in one or operator, of a name.
    fn function_named(&self, name: &str, file: FileId) -> Option<Value<'c, 'a>> {
        if let Some(ItemKind::Function(function)) = self.items.get(name, file) {
            return Some(Value::Function(function));
        }
        match builtins::lookup(name)? {
            Value::Builtin(name) if !table::functions(name).is_empty() => {
                Some(Value::Builtin(name))
            }
            operator => Operator::of(&operator).map(|_| operator),
        }
    }

    /// The function that a text names, where the default is one.
    fn chosen_function(
        &mut self,
        param: &'a StaticParam,
        text: &str,
        default: &Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let name = &param.name.node;
        let takes = Takes::of(default);
        let label = match &takes {
            Some(takes) => format!("expected a function of {takes} as `{}`", shown(default)),
            None => format!("expected a function as `{}`", shown(default)),
        };
        let Some(chosen) = self.function_named(text, param.span.file) else {
            let functions = self.items.names(param.span.file, &["fn"]);
            let operators = Operator::of(default).map_or(&[][..], |_| Operator::NAMES);
            let all = functions.chain(operators.iter().copied());
            let help = match (closest(text, all), stdlib::file_of(text)) {
                (_, Some(file)) => Some(format!(
                    "it is in the standard library: `import \"{file}\";`"
                )),
                (Some(found), None) => Some(format!("did you mean `{found}`?")),
                (None, None) => None,
            };
            let message = format!("`-D {name}={text}`: not the name of a function");
            let diagnostic = Diagnostic::error(codes::BAD_DEFINE, param.span, message, label);
            return Err(self.report(match help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }));
        };
        if takes.is_some_and(|takes| !takes.are_taken_by(&chosen)) {
            let found = match &chosen {
                Value::Function(function) => format!("takes {}", Takes::of_function(function)),
                other => match table::functions(&shown(other)).first() {
                    Some(form) => format!("is called `{}`", form.signature()),
                    // An operator of reductions.
                    None => "takes 2 arguments".to_owned(),
                },
            };
            let message = format!("`-D {name}={text}`: `{text}` {found}");
            let mut diagnostic = Diagnostic::error(codes::BAD_DEFINE, param.span, message, label);
            if let Value::Function(function) = &chosen {
                diagnostic = diagnostic.with_label(function.name.span, "this is chosen");
            }
            return Err(self.report(diagnostic));
        }
        Ok(chosen)
    }

    fn no_value<T>(&mut self, param: &StaticParam, text: &str) -> Result<T> {
        let message = format!("`-D {}={text}`: not a value", param.name.node);
        let label = match param.default {
            Some(_) => "expected an integer, a number, a bool, a type, or a tuple of these",
            None => {
                "expected an integer, a number, a bool, a type, a tuple of these, or a function"
            }
        };
        self.error(codes::BAD_DEFINE, param.span, message, label)
    }
}

/// Whether a value is called as a function: one of the program, a built-in, or an operator of reductions.
fn is_function(value: &Value<'_, '_>) -> bool {
    matches!(value, Value::Function(_) | Value::Builtin(_)) || Operator::of(value).is_some()
}

/// What a function is called with.
struct Takes {
    arguments: usize,
    /// Compile-time arguments that it must be given, and that it may be given.
    required: usize,
    statics: usize,
}

impl Takes {
    fn of_function(function: &Function) -> Self {
        Self {
            arguments: function.params.len(),
            required: required(function),
            statics: function.static_params.len(),
        }
    }

    /// What a function of the program takes, or a built-in one that takes as many arguments in each of its forms.
    fn of(default: &Value<'_, '_>) -> Option<Self> {
        match default {
            Value::Function(function) => Some(Self::of_function(function)),
            Value::Builtin(name) => Some(Self {
                arguments: table::arguments_of(name)?,
                required: 0,
                statics: 0,
            }),
            _ => None,
        }
    }

    /// Whether another function takes them as well.
    fn are_taken_by(&self, function: &Value<'_, '_>) -> bool {
        match function {
            Value::Function(function) => {
                function.params.len() == self.arguments
                    && required(function) <= self.statics
                    && self.required <= function.static_params.len()
            }
            Value::Builtin(name) => {
                let mut forms = table::functions(name).into_iter();
                self.required == 0 && forms.any(|form| form.takes_like(self.arguments, &[]))
            }
            operator if Operator::of(operator).is_some() => {
                self.required == 0 && self.arguments == 2
            }
            _ => false,
        }
    }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.required > 0 {
            write!(
                f,
                "{} and ",
                counted(self.required, "compile-time argument")
            )?;
        }
        f.write_str(&counted(self.arguments, "argument"))
    }
}

/// How many compile-time arguments a function must be given.
fn required(function: &Function) -> usize {
    let statics = function.static_params.iter();
    statics.filter(|param| param.default.is_none()).count()
}

/// The names in the types of parameters.
#[derive(Default)]
struct NamesOfTypes<'a>(FxHashSet<&'a str>);

impl<'a> Visit<'a> for NamesOfTypes<'a> {
    fn expr(&mut self, expr: &'a Expr) {
        self.0.extend(expr.as_name().map(|name| &**name));
        walk_expr(self, expr);
    }
}

/// The value of a `-D`.
pub(super) fn literal<'c, 'a>(text: &str) -> Option<Value<'c, 'a>> {
    if let Some(inner) = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    {
        let parts = inner
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        return parts
            .map(literal)
            .collect::<Option<Vec<_>>>()
            .map(Value::Tuple);
    }
    match text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        _ => {}
    }
    let digits = text.replace('_', "");
    if let Ok(value) = digits.parse::<i64>() {
        return Some(Value::Int(value));
    }
    let unsigned = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    if let Ok(value) = unsigned {
        return Some(i64::try_from(value).map_or(Value::Large(value), Value::Int));
    }
    if digits.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        // A number without a point is an integer, and as in a program it fits or is an error.
        let whole = digits
            .trim_start_matches('-')
            .bytes()
            .all(|b| b.is_ascii_digit());
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        return number.filter(|_| !whole).map(Value::Float);
    }
    elem_of(text).map(Value::Type)
}

/// A compile-time parameter as text, for the ABI.
pub(super) fn shown(value: &Value<'_, '_>) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Large(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Typed(value, elem) => format!("{}({value:?})", elem_name(*elem)),
        Value::Bool(value) => value.to_string(),
        Value::Str(text) => text.to_string(),
        Value::Type(elem) => elem_name(*elem).into(),
        Value::Function(function) => function.name.node.to_string(),
        Value::Builtin(name) => (*name).into(),
        other => match other.as_static() {
            Some(val) => notation(&val),
            None => other.describe(),
        },
    }
}
