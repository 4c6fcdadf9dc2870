//! Errors of the semantics, and those that several places raise, as diagnostics.

use super::builtins::{Operator, bulk_copy, copy_atom, mma_atom, tma_atom};
use super::control::ELSE_IF;
use super::index::ARRAY_INDEX;
use super::values::{Value, elem_name, kind_and_notation, notation};
use super::{Evaluator, Scope, Stop, builtins};
use crate::ast::Expr;
use crate::diagnostics::{Code, Diagnostic, codes};
use crate::source::Span;
use cutec_dialects::atoms::AtomError;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::semantics::{AtomicKind, SemError};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::types::TypeError;
use cutec_dialects::value::{Val, without_widths};
use melior::ir::ValueLike;

/// A budget is used up.
pub fn budget(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::BUDGET, span, message, "here it was used up")
        .with_help("make a loop a run-time loop (`for` without `static`), or its range smaller")
}

/// The ending of what there are so many of, in words: `1`, `at least 1`, `0 to 2`.
pub fn plural(count: &str) -> &'static str {
    match count {
        "1" | "at least 1" => "",
        _ => "s",
    }
}

/// An operation that makes no sense for its operands.
pub fn semantic(span: Span, what: &str, error: &SemError, operands: &[Val]) -> Diagnostic {
    let text = without_widths(&in_the_language(sentence(error), operands));
    let mut diagnostic =
        Diagnostic::error(code_of(error), span, format!("`{what}` {text}"), "here");
    diagnostic.labels[0].text = match error {
        SemError::Layout(_) => "the layouts do not fit".into(),
        SemError::Type(TypeError::Atom(_)) => "no such instruction".into(),
        _ => "not possible with these operands".into(),
    };
    if let SemError::NoAtomic { kind, elem } = error {
        return diagnostic.with_help(atomic_help(*kind, *elem));
    }
    for (at, operand) in operands.iter().enumerate() {
        if matches!(
            operand,
            Val::Layout(_) | Val::View(_) | Val::Tile(_) | Val::CoordTensor(_) | Val::Tuple(..)
        ) {
            let text = without_widths(&notation(operand));
            diagnostic = diagnostic.with_note(format!("operand {}: {text}", at + 1));
        }
    }
    if let Some((_, help)) = error.to_string().split_once("; promise") {
        diagnostic = diagnostic.with_help(format!("promise{help}"));
    }
    let reaches_out =
        |operand: &Val| matches!(operand, Val::View(view) if view.ptr.space == Space::Dsmem);
    if matches!(error, SemError::Operand { .. }) && operands.iter().any(reaches_out) {
        diagnostic = diagnostic.with_help(
            "`dsmem` is the shared memory of another block: elements are read and written there, `universal` and `autovec_copy` copy, `atomic_…` update; other instructions take shared memory of their own block",
        );
    }
    let not_taken = matches!(error, SemError::Illegal(text) if text.contains(" does not take "));
    if let Some(written) = builtins::written(what).filter(|_| not_taken) {
        diagnostic = diagnostic.with_help(written);
    }
    if what == "[]"
        && operands
            .iter()
            .skip(1)
            .any(|operand| matches!(operand, Val::Layout(_)))
    {
        diagnostic = diagnostic.with_help(
            "`:` makes a layout; a whole mode is `_`, a part of one `local_tile(x, (4,), (i,))`: its elements from 4 i to 4 i + 3",
        );
    }
    if let SemError::Descriptor { bits, .. } = error {
        let (base, width) = ((128 / bits).trailing_zeros(), 1024 / bits);
        diagnostic = diagnostic.with_help(format!(
            "rows of 128 bytes are canonical: `smem<…>(tile_to_shape(S<3,{base},3> o 0 o (8, {width}) : ({width}, 1), …))`"
        ));
    }
    diagnostic
}

/// An atomic update of a tile whose elements have no such update.
pub(super) fn no_atomic(span: Span, error: &SemError) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, error.to_string(), "updated here");
    match error {
        SemError::NoAtomic { kind, elem } => diagnostic.with_help(atomic_help(*kind, *elem)),
        _ => diagnostic,
    }
}

/// Of which elements there is an atomic update, and what to make of elements that have none.
fn atomic_help(kind: AtomicKind, elem: Elem) -> String {
    let of: Vec<&str> = kind.elements().map(elem_name).collect();
    let of = format!("`atomic_{}` is of {}", kind.function(), of.join(", "));
    let wide = wide(elem);
    match kind.elements().any(|known| known == wide) {
        true => {
            let wide = elem_name(wide);
            format!(
                "{of}: declare what is updated with elements of {wide}, `mut tensor<{wide}, …>`, and convert: `{wide}(x)`"
            )
        }
        false => of,
    }
}

/// The type to which elements are converted that have less operations.
pub(super) fn wide(elem: Elem) -> Elem {
    match elem.is_float() {
        true => Elem::F32,
        false => Elem::I32,
    }
}

/// A reduction whose operator is not defined for what it is given, which is written `operand`.
pub(super) fn no_reduction(
    span: Span,
    (operator, elem): (Operator, Elem),
    operand: &str,
) -> Diagnostic {
    let name = operator.name();
    let message = format!("`{name}` is not defined for {}", elem_name(elem));
    let converted = |to: Elem| format!("`{}({operand})`", elem_name(to));
    let help = match operator {
        Operator::And | Operator::Or | Operator::Xor => {
            "bits are combined of integers and of bool".to_owned()
        }
        Operator::Add if elem == Elem::I1 => {
            format!("convert it to count what is true: {}", converted(Elem::I32))
        }
        Operator::Mul | Operator::Min if elem == Elem::I1 => {
            "`and` says whether all are true".to_owned()
        }
        Operator::Max if elem == Elem::I1 => "`or` says whether any is true".to_owned(),
        Operator::Add | Operator::Mul | Operator::Min | Operator::Max => {
            format!("convert it: {}", converted(wide(elem)))
        }
    };
    Diagnostic::error(codes::WRONG_TYPE, span, message, "here").with_help(help)
}

/// Types of the IR as the language names them.
fn in_the_language(mut text: String, operands: &[Val]) -> String {
    for operand in operands {
        if matches!(operand, Val::TiledCopy(_) | Val::TiledMma(_)) {
            text = text.replace(&format!("`{operand}`"), &kind_and_notation(operand));
        }
        // A tuple that tiles modes one by one.
        if let (Val::Tuple(..), tuple) = (operand, notation(operand)) {
            let flat = tuple.trim_matches(['(', ')']).replace(',', ":1;");
            text = text.replace(&format!("[{flat}:1]"), &tuple);
        }
        let (ir, name) = match operand {
            Val::CopyAtom(atom) => (atom.to_string(), copy_atom(atom)),
            Val::TiledCopy(copy) => (copy.atom.to_string(), copy_atom(&copy.atom)),
            Val::MmaAtom(atom) => (atom.to_string(), mma_atom(atom)),
            Val::TmaAtom(atom) => (atom.to_string(), tma_atom(atom)),
            Val::BulkCopy(atom) => (atom.to_string(), bulk_copy(atom)),
            Val::TiledMma(mma) => (mma.atom.to_string(), mma_atom(&mma.atom)),
            other => (format!("`{other}`"), kind_and_notation(other)),
        };
        text = text.replace(&ir, &name);
    }
    without_types(&text)
}

/// What only the IR knows as values, such as the tuple of one number `` `!cute.int_tuple<"3">` ``, in the notation of layouts.
fn without_types(text: &str) -> String {
    let mut parts = text.split('`');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        let value = part
            .strip_prefix("!cute.")
            .and_then(|part| part.split_once("<\""))
            .and_then(|(kind, value)| Some((kind, value.strip_suffix("\">")?)))
            .filter(|_| at % 2 == 0);
        plain.push('`');
        match value {
            Some((kind, value)) => {
                plain.pop();
                let kind = match kind {
                    "int_tuple" | "coord" | "shape" | "stride" => "tuple",
                    other => other,
                };
                plain += &format!("the {kind} `{}", without_widths(value));
            }
            None => plain += part,
        }
    }
    plain
}

fn sentence(error: &SemError) -> String {
    let text = error.to_string();
    let text = text
        .split_once("; promise")
        .map_or(text.as_str(), |(before, _)| before);
    match error {
        SemError::Operand { .. } | SemError::Count { .. } => text.to_owned(),
        // The operation of the IR may have another name than what was called, and the algebra yet another one.
        _ => match (text.split_once(" does not take "), text.split_once(": ")) {
            (Some((_, found)), _) => format!("does not take {found}"),
            (None, Some((operation, why))) if is_name(operation) => {
                format!("is not possible: {why}")
            }
            _ => format!("is not possible: {text}"),
        },
    }
}

fn is_name(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn code_of(error: &SemError) -> Code {
    let text = error.to_string();
    match error {
        SemError::Layout(_) | SemError::Type(TypeError::Layout(_)) => codes::LAYOUT_ALGEBRA,
        SemError::Type(TypeError::Atom(_)) => codes::ILLEGAL_ATOM,
        SemError::Type(TypeError::Threads { .. }) => codes::TOO_FEW_THREADS,
        SemError::Operand { expected, .. } if expected.starts_with("mode ") => {
            codes::MODE_OUT_OF_RANGE
        }
        SemError::Count { .. } => codes::WRONG_ARGUMENTS,
        SemError::Operand { .. } => codes::WRONG_TYPE,
        _ if text.contains("promise") => codes::MISSING_PROMISE,
        _ if text.contains("which does not divide")
            || text.contains("shapes do not fit")
            || text.contains("same static number")
            || text.contains("instructions and") =>
        {
            codes::SHAPE_MISMATCH
        }
        _ => codes::ILLEGAL_OPERATION,
    }
}

/// Something that only other targets have.
pub fn of_target(span: Span, what: &str, feature: Feature, target: &Target) -> Diagnostic {
    let targets = feature.targets();
    let message = format!("`{what}` needs {targets}; the target is {}", target.name);
    Diagnostic::error(codes::ILLEGAL_ATOM, span, message, "not on this target")
        .with_help(compile_for(&targets))
}

/// What to do where only such targets have something: those that have all of it first.
pub(super) fn compile_for(targets: &str) -> String {
    let oldest = targets.split([' ', ',']).next().unwrap_or_default();
    // What has TMA is rarely used without the rest of its generation.
    let arch = if oldest == "sm_90" { "sm_90a" } else { oldest };
    format!("compile for another target: `--arch {arch}`")
}

/// An atom that there is not, or not for this target.
pub fn atom(span: Span, error: &AtomError) -> Diagnostic {
    let code = codes::ILLEGAL_ATOM;
    match error {
        AtomError::Target { needs, target, .. } => {
            let message = format!("this instruction needs {needs}; the target is {target}");
            Diagnostic::error(code, span, message, "not on this target")
                .with_help(compile_for(needs))
        }
        AtomError::NoMma(wanted) => {
            let near = wanted.near();
            let near: Vec<String> = near
                .iter()
                .map(|atom| format!("`{}`", mma_atom(atom)))
                .collect();
            let message = format!("there is no instruction `{}`", mma_atom(wanted));
            Diagnostic::error(code, span, message, "no such instruction")
                .with_help(format!("near it there are {}", near.join(", ")))
        }
        AtomError::Hint { .. }
        | AtomError::CopyWidth { .. }
        | AtomError::AsyncGlobalWidth { .. }
        | AtomError::Matrices { .. }
        | AtomError::MatrixElement { .. }
        | AtomError::NegatedInteger { .. }
        | AtomError::SparsePair { .. }
        | AtomError::NoFma { .. }
        | AtomError::Red { .. } => Diagnostic::error(
            code,
            span,
            format!("illegal atom: {error}"),
            "no such instruction",
        ),
    }
}

/// The warning that something of a fragment is read before anything wrote it.
pub(super) fn unwritten(span: Span, what: &str) -> Diagnostic {
    let message = format!("{what} is read, but nothing has written it");
    let help = "write it first: `fill(f, 0.0)`, a copy, or `f[…] = …`";
    Diagnostic::warning(codes::UNWRITTEN_FRAGMENT, span, message, "has no value yet")
        .with_help(help)
}

/// The warning that a kernel may begin before the launch ahead of it has ended, and never waits for that.
pub(super) fn no_wait_for_launch(kernel: &str, span: Span) -> Diagnostic {
    let message = format!(
        "`{kernel}` may begin before the launch ahead of it has ended, and never waits for that"
    );
    let help = "call `griddepcontrol_wait()` before the first access to what an earlier launch writes or reads";
    let label = "nothing orders it behind earlier launches";
    Diagnostic::warning(codes::UNORDERED_LAUNCH, span, message, label).with_help(help)
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Refuses indices that are not as many as a tensor or a layout has modes; one alone is the whole coordinate.
    pub(super) fn check_index_count(
        &mut self,
        value: &Value<'c, 'a>,
        count: usize,
        (base, span): (Span, Span),
    ) -> super::Result<()> {
        let known = match value {
            Value::Static(Val::Layout(layout)) => Some(layout.inner()),
            Value::Cute(cute) => match &cute.val {
                Val::Layout(layout) => Some(layout.inner()),
                Val::View(view) => Some(view.layout.inner()),
                Val::CoordTensor(tensor) => Some(&tensor.layout),
                _ => None,
            },
            _ => None,
        };
        let Some(layout) = known else {
            return match count {
                0 => self.expected("a tensor without modes", value, base),
                _ => Ok(()),
            };
        };
        let rank = layout.rank();
        // A tensor of rank 0 has the layout `1:0`.
        let is_one = layout.size().as_static() == Some(1);
        if count == 1 || count == rank || count == 0 && is_one {
            return Ok(());
        }
        let name = self.text(base).to_owned();
        let modes = if rank == 1 { "mode" } else { "modes" };
        let message = format!("`{name}` has {rank} {modes}, but {count} indices are given");
        let indices = match rank {
            1 => "i".to_owned(),
            rank => ["i", "j", "k", "l"]
                .into_iter()
                .cycle()
                .take(rank.min(4))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let label = format!("expected {rank}");
        let diagnostic = Diagnostic::error(codes::WRONG_RANK, span, message, label);
        Err(self.report(diagnostic.with_help(format!(
            "`{name}[{indices}]` is an element, `_` keeps a mode"
        ))))
    }

    /// A value of another type was expected.
    pub(super) fn expected<T>(
        &mut self,
        what: &str,
        found: &Value<'c, 'a>,
        span: Span,
    ) -> super::Result<T> {
        if matches!(found, Value::Error) {
            return Err(Stop::Reported);
        }
        Err(self.report(not_expected(what, found, span)))
    }

    /// A bool was expected, as where something is decided for all elements at once.
    pub(super) fn expected_bool<T>(
        &mut self,
        found: &Value<'c, 'a>,
        span: Span,
    ) -> super::Result<T> {
        if matches!(found, Value::Error) {
            return Err(Stop::Reported);
        }
        let diagnostic = not_expected("a bool", found, span);
        let help = match found {
            Value::Tile(tile) if tile.elem == Elem::I1 => "`any(…)` and `all(…)` make one of all elements, `select(condition, a, b)` chooses element by element; so `a & b` and `a | b` are".to_owned(),
            Value::Tile(_) | Value::Vector(_) => {
                "`select(condition, a, b)` chooses element by element".to_owned()
            }
            Value::Int(number) => format!("write `{}`", *number != 0),
            _ if found.number_type().is_some() => {
                let text = self.text(span);
                let number = text.strip_prefix('!').unwrap_or(text);
                let zero = match found.number_type() {
                    Some(elem) if elem.is_float() => "0.0",
                    _ => "0",
                };
                match number == text {
                    true => format!("compare it: `{number} != {zero}`"),
                    false => format!("compare it: `{number} == {zero}`"),
                }
            }
            _ => return Err(self.report(diagnostic)),
        };
        Err(self.report(diagnostic.with_help(help)))
    }

    /// A value of another type was expected; `help` says what to write.
    pub(super) fn expected_with_help<T>(
        &mut self,
        what: &str,
        found: &Value<'c, 'a>,
        span: Span,
        help: impl Into<String>,
    ) -> super::Result<T> {
        if matches!(found, Value::Error) {
            return Err(Stop::Reported);
        }
        let diagnostic = not_expected(what, found, span);
        Err(self.report(diagnostic.with_help(help)))
    }

    /// An index was expected, and a number of another type found.
    pub(super) fn expected_index<T>(
        &mut self,
        found: &Value<'c, 'a>,
        span: Span,
    ) -> super::Result<T> {
        let diagnostic = not_expected("an index of i32 or i64", found, span);
        let help = format!("`i32({})` converts", self.text(span));
        Err(self.report(diagnostic.with_help(help)))
    }

    /// A `let` that hides a variable around it and is never read was perhaps meant as an assignment.
    pub(super) fn warn_of_hidden(&mut self, scope: &Scope<'c, 'a>) {
        let mut hidden = Vec::new();
        for (name, binding) in scope {
            let unread = !binding.read.get() && !binding.mutable && !name.starts_with('_');
            if let Some(outer) = self.lookup(name).filter(|outer| unread && outer.mutable) {
                hidden.push((binding.span, name, outer.span));
            }
        }
        hidden.sort_by_key(|(span, ..)| *span);
        for (span, name, outer) in hidden {
            let message = format!("`{name}` is not read, and hides the variable `{name}`");
            let warning = Diagnostic::warning(codes::HIDDEN_VARIABLE, span, message, "never read")
                .with_label(outer, "this keeps its value")
                .with_help(format!("`{name} = …` gives the variable a new value"));
            if !self.diagnostics.iter().any(|old| warning.repeats(old)) {
                self.diagnostics.push(warning);
            }
        }
    }

    /// A value known at compile time was expected.
    pub(super) fn static_needed<T>(&mut self, what: &str, expr: &Expr) -> super::Result<T> {
        let mut names = Vec::new();
        self.runtime_names(expr, &mut names);
        let text = self.text(expr.span);
        let message =
            format!("{what} must be known at compile time, but `{text}` is known only at run time");
        let mut diagnostic = Diagnostic::error(
            codes::STATIC_NEEDED,
            expr.span,
            message,
            "depends on run time",
        );
        for (name, span) in names.iter().take(3) {
            if name != text {
                diagnostic = diagnostic.with_label(*span, format!("`{name}` is a run-time value"));
            }
        }
        if what == ELSE_IF {
            diagnostic = diagnostic.with_help(
                "each `else if` behind `static if` is static too; a branch of run time is `else { if … { … } }`",
            );
        } else if what == ARRAY_INDEX && expr.as_name().is_some() {
            diagnostic = diagnostic.with_help(format!(
                "a loop over the parts of an array is unrolled: `static for {text} in …`"
            ));
        } else if let Some((name, _)) = names.iter().find(|(name, _)| self.is_passed(name)) {
            diagnostic = diagnostic.with_help(format!(
                "`{name}` is passed at launch; known while compiling is a parameter in `kernel f<{name} = 64>(…)`, which `-D {name}=64` sets"
            ));
        }
        Err(self.report(diagnostic))
    }

    /// Whether a name is that of an extent or a number that the host passes to the kernel.
    fn is_passed(&self, name: &str) -> bool {
        let binding = self.frame.scopes.first().and_then(|scope| scope.get(name));
        // The names of a function are those of its parameters.
        self.calls.is_empty()
            && matches!(
                binding.map(|binding| &binding.value),
                Some(Value::Scalar(scalar)) if scalar.ir.is_block_argument()
            )
    }

    fn runtime_names(&self, expr: &Expr, names: &mut Vec<(String, Span)>) {
        if let Some(name) = expr.as_name() {
            let dynamic = match self.lookup(name).map(|binding| &binding.value) {
                Some(Value::Scalar(_) | Value::Cute(_) | Value::Vector(_) | Value::Slot(_)) => true,
                Some(Value::Tile(_)) => true,
                Some(value @ Value::Record(_)) => !value.is_known(),
                Some(_) => false,
                None => builtins::is_of_run_time(name),
            };
            if dynamic && !names.iter().any(|(known, _)| **known == **name) {
                names.push((name.to_string(), expr.span));
            }
        }
        let mut children = Vec::new();
        expr.kind
            .for_each_child(&mut |child| children.push(child), &mut |_| {});
        for child in children {
            self.runtime_names(child, names);
        }
    }

    /// Refuses a type of which a byte holds several elements where one of them is wanted.
    pub(super) fn has_values(&mut self, elem: Elem, span: Span) -> super::Result<()> {
        if !elem.is_packed() {
            return Ok(());
        }
        let name = super::values::elem_name(elem);
        let diagnostic = Diagnostic::error(
            codes::WRONG_TYPE,
            span,
            format!("there are no single values of `{name}`"),
            "a byte holds two of them",
        );
        Err(self.report(diagnostic.with_help(format!(
            "pass and keep whole bytes as `u8`; `recast<{name}>(…)` sees them as `{name}`, for copies and MMAs, and in tiles for conversions"
        ))))
    }

    /// Not implemented, and said so.
    pub(super) fn unsupported<T>(
        &mut self,
        span: Span,
        what: &str,
        help: &str,
    ) -> super::Result<T> {
        let diagnostic = Diagnostic::error(
            codes::UNSUPPORTED,
            span,
            format!("{what} is not supported"),
            "here",
        );
        Err(self.report(if help.is_empty() {
            diagnostic
        } else {
            diagnostic.with_help(help)
        }))
    }
}

pub(super) fn not_expected(what: &str, found: &Value<'_, '_>, span: Span) -> Diagnostic {
    let description = found.describe();
    let message = format!("expected {what}, found {description}");
    let label = format!("this is {description}");
    let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, label);
    match found {
        Value::Str(word) => match builtins::word_here(word) {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        },
        _ => diagnostic,
    }
}
