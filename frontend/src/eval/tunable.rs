//! The configurations of a kernel: each parameter's default with its candidates, and the conditions between them.
//!
//! A configuration gives each parameter that has candidates a value, as the text that `-D` takes. Parameters are tried in
//! the order of the source, so that a default and a list of candidates may use those before. What `-D` fixes has no
//! candidates.

use super::parameters::{literal, shown};
use super::values::Value;
use super::{Evaluator, Frame, LowerOptions, Result, Stop};
use crate::Program;
use crate::ast::{Expr, Kernel, StaticParam};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::{SourceMap, Span};
use melior::Context;
use std::sync::Arc;

/// Values that all lists of a kernel together may lead to, those that a condition refuses included.
const MAX_CONFIGURATIONS: usize = 1 << 18;
/// Candidates that one parameter may have.
const MAX_CANDIDATES: usize = 4096;

/// Values of the parameters that have candidates, by name, in the order of the source.
pub type Configuration = Vec<(String, String)>;

/// What there is to try of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// The parameters that have candidates and that no `-D` fixes.
    pub parameters: Vec<String>,
    /// The configurations that fulfil all conditions, each once. The first one is that of the defaults.
    pub configurations: Vec<Configuration>,
    /// For each condition behind `where tunable`, its text and how many configurations it is the first to refuse.
    pub refused: Vec<(String, usize)>,
}

/// The configurations of a kernel of the program, for a target and with what `options` defines.
///
/// # Errors
/// What is wrong with candidates, conditions or defaults.
pub fn space(
    context: &Context,
    sources: &SourceMap,
    program: &Program,
    kernel: &Kernel,
    options: &LowerOptions,
) -> std::result::Result<Space, Vec<Diagnostic>> {
    let mut evaluator = Evaluator::new(context, sources, program, options);
    let mut space = Space::default();
    let fixed = |param: &StaticParam| {
        let mut defines = options.defines.iter();
        defines.any(|(name, _)| **name == *param.name.node)
    };
    let tunable = |param: &&StaticParam| param.candidates.is_some() && !fixed(param);
    let tunable = kernel.static_params.iter().filter(tunable);
    space.parameters = tunable.map(|param| param.name.node.to_string()).collect();
    let text = |condition: &Expr| sources.snippet(condition.span).to_owned();
    space.refused = kernel.tunable.iter().map(|c| (text(c), 0)).collect();
    let mut visited = 0;
    let result = evaluator.visit(kernel, 0, &mut Vec::new(), &mut space, &mut visited);
    let failed = result.is_err() || evaluator.diagnostics.iter().any(Diagnostic::is_error);
    match failed {
        true => Err(evaluator.diagnostics),
        false => Ok(space),
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Adds the configurations with these values of the parameters before parameter number `at`.
    fn visit(
        &mut self,
        kernel: &'a Kernel,
        at: usize,
        chosen: &mut Vec<(&'a StaticParam, Value<'c, 'a>)>,
        space: &mut Space,
        visited: &mut usize,
    ) -> Result<()> {
        let Some(param) = kernel.static_params.get(at) else {
            *visited += 1;
            if *visited > MAX_CONFIGURATIONS {
                let message = format!("there are more than {MAX_CONFIGURATIONS} configurations");
                let label = "candidates of this kernel";
                return self.error(codes::BAD_CANDIDATES, kernel.name.span, message, label);
            }
            return self.visit_one(kernel, chosen, space);
        };
        (self.steps, self.nesting) = (0, 0);
        self.bind_all(chosen);
        let default = self.static_param(kernel, param)?;
        let values = match &param.candidates {
            Some(candidates) if space.parameters.iter().any(|p| **p == *param.name.node) => {
                let mut values = vec![default];
                for value in self.candidates(param, candidates, &values[0].clone())? {
                    let text = shown(&value);
                    if values.iter().all(|known| shown(known) != text) {
                        values.push(value);
                    }
                }
                values
            }
            _ => vec![default],
        };
        for value in values {
            chosen.push((param, value));
            let result = self.visit(kernel, at + 1, chosen, space, visited);
            chosen.pop();
            result?;
        }
        Ok(())
    }

    /// Adds one configuration, if it fulfils all conditions.
    fn visit_one(
        &mut self,
        kernel: &'a Kernel,
        chosen: &[(&'a StaticParam, Value<'c, 'a>)],
        space: &mut Space,
    ) -> Result<()> {
        (self.steps, self.nesting) = (0, 0);
        self.bind_all(chosen);
        // The first one that is visited is that of the defaults.
        let of_defaults =
            space.configurations.is_empty() && space.refused.iter().all(|(_, count)| *count == 0);
        for (index, condition) in kernel.tunable.iter().enumerate() {
            if self.condition_holds(condition)? {
                continue;
            }
            if of_defaults {
                return Err(self.broken(kernel, condition));
            }
            space.refused[index].1 += 1;
            return Ok(());
        }
        let tunable = chosen.iter().filter(|(param, _)| {
            let mut parameters = space.parameters.iter();
            parameters.any(|name| **name == *param.name.node)
        });
        let values = tunable.map(|(param, value)| (param.name.node.to_string(), shown(value)));
        space.configurations.push(values.collect());
        Ok(())
    }

    fn bind_all(&mut self, chosen: &[(&'a StaticParam, Value<'c, 'a>)]) {
        self.frame = Frame::new();
        for (param, value) in chosen {
            let name = Arc::clone(&param.name.node);
            self.bind(name, value.clone(), false, param.name.span);
        }
    }

    /// Checks lists and conditions of a kernel whose compile-time parameters are bound. What `-D` gives need not be a
    /// candidate; the defaults fulfil the conditions.
    pub(super) fn check_candidates(&mut self, kernel: &'a Kernel) -> Result<()> {
        let by_default = kernel.static_params.iter().all(|param| {
            let mut defines = self.options.defines.iter();
            !defines.any(|(name, _)| **name == *param.name.node)
        });
        if !by_default {
            return Ok(());
        }
        for param in &kernel.static_params {
            if let Some(candidates) = &param.candidates {
                let default = self.default_value(param)?;
                self.candidates(param, candidates, &default)?;
            }
        }
        for condition in &kernel.tunable {
            if !self.condition_holds(condition)? {
                return Err(self.broken(kernel, condition));
            }
        }
        Ok(())
    }

    fn broken(&mut self, kernel: &Kernel, condition: &Expr) -> Stop {
        let message = format!("the defaults of `{}` break a condition", kernel.name.node);
        let label = "this is false of them";
        let diagnostic = Diagnostic::error(codes::BAD_CANDIDATES, condition.span, message, label);
        let values = kernel.static_params.iter().filter_map(|param| {
            let value = self.lookup(&param.name.node)?;
            Some(format!("{} = {}", param.name.node, shown(&value.value)))
        });
        let values: Vec<String> = values.collect();
        self.report(diagnostic.with_help(format!("they are {}", values.join(", "))))
    }

    fn condition_holds(&mut self, condition: &'a Expr) -> Result<bool> {
        let what = "a condition on candidates";
        match self.at_compile_time(|this| this.static_value(what, condition))? {
            Value::Bool(holds) => Ok(holds),
            Value::Error => Err(Stop::Reported),
            other => {
                let message = format!("{what} is a bool; found {}", other.describe());
                let label = "expected a bool";
                self.error(codes::BAD_CANDIDATES, condition.span, message, label)
            }
        }
    }

    /// The values of a list of candidates, which are of the same kind as the default.
    fn candidates(
        &mut self,
        param: &'a StaticParam,
        candidates: &'a Expr,
        default: &Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>> {
        let list = self.at_compile_time(|this| this.static_value("a candidate", candidates))?;
        let values = match list {
            Value::Array(values) => values,
            Value::Range(range) => self.integers_of(&range, candidates.span)?,
            Value::Error => return Err(Stop::Reported),
            other => {
                let message = format!(
                    "the candidates of `{}` are a list or a range; found {}",
                    param.name.node,
                    other.describe()
                );
                let label = "expected `[…]` or `from..to`";
                return self.error(codes::BAD_CANDIDATES, candidates.span, message, label);
            }
        };
        let Some(expected) = kind(default) else {
            let message = format!(
                "`{}` has no candidates: no `-D` gives it a value as {}",
                param.name.node,
                default.describe()
            );
            let label = "expected an integer, a number, a bool, a type, a function or a tuple";
            return self.error(codes::BAD_CANDIDATES, param.span, message, label);
        };
        if let Some(wrong) = values.iter().find(|value| kind(value) != Some(expected)) {
            let message = format!(
                "a candidate of `{}` is {expected} as the default is; found {}",
                param.name.node,
                wrong.describe()
            );
            let label = format!("expected {expected} each");
            return self.error(codes::BAD_CANDIDATES, candidates.span, message, label);
        }
        Ok(values)
    }

    /// The numbers of a range.
    fn integers_of(
        &mut self,
        range: &[Value<'c, 'a>; 3],
        span: Span,
    ) -> Result<Vec<Value<'c, 'a>>> {
        let [Value::Int(start), Value::Int(end), Value::Int(step)] = *range else {
            let message = "a range of candidates is one of integers";
            return self.error(codes::BAD_CANDIDATES, span, message, "expected integers");
        };
        let mut values = Vec::new();
        let mut value = start;
        while (step > 0 && value < end) || (step < 0 && value > end) {
            if values.len() == MAX_CANDIDATES {
                let message = format!("a range of more than {MAX_CANDIDATES} candidates");
                return self.error(codes::BAD_CANDIDATES, span, message, "expected fewer");
            }
            values.push(Value::Int(value));
            value = match value.checked_add(step) {
                Some(next) => next,
                None => break,
            };
        }
        Ok(values)
    }
}

/// The kind of a value that a `-D` can give; `None` of what it cannot.
fn kind(value: &Value<'_, '_>) -> Option<&'static str> {
    match value {
        Value::Int(_) | Value::Large(_) => Some("an integer"),
        Value::Float(_) => Some("a number with a point"),
        Value::Bool(_) => Some("a bool"),
        Value::Type(_) => Some("a type"),
        Value::Function(_) | Value::Builtin(_) => Some("a function"),
        Value::Tuple(_) => literal(&shown(value)).map(|_| "a tuple"),
        Value::Unit
        | Value::Typed(..)
        | Value::Str(_)
        | Value::Underscore
        | Value::Array(_)
        | Value::Record(_)
        | Value::Range(_)
        | Value::Static(_)
        | Value::Scalar(_)
        | Value::Cute(_)
        | Value::Vector(_)
        | Value::Tile(_)
        | Value::Thread(_)
        | Value::Predicate(_)
        | Value::Slot(_)
        | Value::Register(_)
        | Value::Error => None,
    }
}
