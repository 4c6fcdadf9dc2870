//! Which form of a built-in a call means, by the number and the names of its arguments.

use super::builtin::{Builtin, Kind, Parameter, Presence};
use crate::diagnostics::{Diagnostic, codes};
use crate::elsewhere::names::argument_here;
use crate::eval::call::{ArgValue, Call};
use crate::eval::problem::plural;
use crate::eval::{Evaluator, Result};
use std::ops::RangeInclusive;

/// The first of `forms` that takes arguments like those of the call; there is at least one form. `before` arguments
/// of the text are not among those of the call: places, which are not evaluated.
pub(in crate::eval) fn chosen<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    forms: &[&'static Builtin],
    call: &Call<'c, 'a>,
    before: usize,
) -> Result<&'static Builtin> {
    let fits = |form: &&&Builtin| {
        fits(form.generics, &call.generics, 0) && fits(form.parameters, &call.args, before)
    };
    match forms.iter().find(fits) {
        Some(form) => Ok(form),
        None => Err(ev.report(mismatch(forms, call, before))),
    }
}

impl Builtin {
    /// Whether it takes so many arguments by their place and these by name.
    pub(crate) fn takes_like(&self, places: usize, names: &[&str]) -> bool {
        let has = |name: &&str| {
            let mut parameters = self.parameters.iter();
            parameters.any(|parameter| parameter.has_name() && parameter.name == *name)
        };
        by_place(self.parameters).contains(&places) && names.iter().all(has)
    }

    /// How many arguments may be given by their place.
    pub(crate) fn places(&self) -> RangeInclusive<usize> {
        by_place(self.parameters)
    }
}

fn fits(parameters: &[Parameter], args: &[ArgValue<'_, '_>], before: usize) -> bool {
    wrong_name(&[parameters], args).is_none()
        && by_place(parameters).contains(&(places(args) + before))
        && missing(parameters, args).is_none()
}

/// How many arguments may be given by their place.
fn by_place(parameters: &[Parameter]) -> RangeInclusive<usize> {
    let (mut least, mut most) = (0, 0usize);
    for parameter in parameters {
        match parameter.presence {
            Presence::Required => {
                least += 1;
                most = most.saturating_add(1);
            }
            Presence::Either | Presence::EitherOr(_) | Presence::Optional => {
                most = most.saturating_add(1);
            }
            Presence::Rest => most = usize::MAX,
            Presence::Named(_) => {}
        }
    }
    least..=most
}

fn places(args: &[ArgValue<'_, '_>]) -> usize {
    args.iter().filter(|arg| arg.name.is_none()).count()
}

/// The first argument with a name that none of the lists has.
fn wrong_name<'x, 'c, 'a>(
    lists: &[&[Parameter]],
    args: &'x [ArgValue<'c, 'a>],
) -> Option<(&'x str, &'x ArgValue<'c, 'a>)> {
    let known = |name: &str| {
        let mut parameters = lists.iter().copied().flatten();
        parameters.any(|parameter| parameter.has_name() && parameter.name == name)
    };
    let mut named = args
        .iter()
        .filter_map(|arg| Some((arg.name.as_deref()?, arg)));
    named.find(|(name, _)| !known(name))
}

/// The first argument that must be given and is not, of those that may be given by name.
fn missing<'x>(parameters: &'x [Parameter], args: &[ArgValue<'_, '_>]) -> Option<&'x Parameter> {
    let given = places(args);
    let named = |name: &str| args.iter().any(|arg| arg.name.as_deref() == Some(name));
    let mut listed = parameters.iter().enumerate();
    let absent = listed.find(|(at, parameter)| {
        parameter.presence == Presence::Either && *at >= given && !named(parameter.name)
    });
    absent.map(|(_, parameter)| parameter)
}

fn mismatch(forms: &[&'static Builtin], call: &Call<'_, '_>, before: usize) -> Diagnostic {
    let name = &call.name;
    let signatures: Vec<String> = forms
        .iter()
        .map(|form| format!("`{}`", form.signature()))
        .collect();
    let written = format!("it is written {}", signatures.join(" or "));
    let lists = |of: fn(&Builtin) -> &'static [Parameter]| -> Vec<&'static [Parameter]> {
        forms.iter().map(|form| of(form)).collect()
    };
    let sides = [
        (
            &call.args,
            lists(|form| form.parameters),
            "argument",
            before,
        ),
        (
            &call.generics,
            lists(|form| form.generics),
            "generic argument",
            0,
        ),
    ];
    for (args, lists, what, before) in &sides {
        if let Some((wrong, arg)) = wrong_name(lists, args) {
            let message = format!("`{name}` has no {what} named `{wrong}`");
            let diagnostic =
                Diagnostic::error(codes::WRONG_ARGUMENTS, arg.expr.span, message, "here");
            let parameters = lists.iter().copied().flatten();
            let known: Vec<&str> = parameters
                .filter(|parameter| parameter.has_name())
                .map(|parameter| parameter.name)
                .collect();
            let help = match (argument_here(name, wrong), known.as_slice()) {
                (Some(help), _) => help.to_owned(),
                (None, []) => "it takes no named ones".to_owned(),
                (None, known) => format!("it takes `{} = …`", known.join(" = …`, `")),
            };
            return diagnostic.with_help(help);
        }
        let found = places(args) + before;
        let ranges: Vec<_> = lists.iter().map(|list| by_place(list)).collect();
        if !ranges.iter().any(|range| range.contains(&found)) {
            let too_many = ranges.iter().all(|range| found > *range.end());
            let expected = counts(ranges);
            let plural = plural(&expected);
            let are = if found == 1 { "is" } else { "are" };
            let message =
                format!("`{name}` takes {expected} {what}{plural}, but {found} {are} given");
            let label = format!("{found} given");
            let tuple = lists
                .iter()
                .copied()
                .flatten()
                .find(|parameter| matches!(parameter.kind, Kind::Coordinate | Kind::Shape));
            let help = match tuple {
                Some(Parameter { name, .. }) if too_many => {
                    format!("{written}; for several modes `{name}` is a tuple, `(…, …)`")
                }
                _ => written,
            };
            return Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, label)
                .with_help(help);
        }
    }
    for (args, lists, ..) in &sides {
        if let [list] = lists.as_slice()
            && let Some(parameter) = missing(list, args)
        {
            let message = format!("`{name}` needs `{} = …`", parameter.name);
            let label = format!(
                "`{}` is missing: {}",
                parameter.name,
                parameter.kind.describe()
            );
            return Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, label)
                .with_help(written);
        }
    }
    let message = format!("`{name}` has no form with these arguments");
    Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, "here").with_help(written)
}

/// Numbers of arguments in words: `2`, `0 or 2`, `at least 1`.
fn counts(mut ranges: Vec<RangeInclusive<usize>>) -> String {
    ranges.sort_by_key(|range| (*range.start(), *range.end()));
    ranges.dedup();
    let one = |range: &RangeInclusive<usize>| match (*range.start(), *range.end()) {
        (0, 0) => "no".to_owned(),
        (least, most) if least == most => least.to_string(),
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(" or ")
}
