//! What is wrong with the form of a construct that the grammar takes, and what there is to say about it.

use super::words;
use crate::ast::{Expr, ExprKind};
use crate::diagnostics::{Code, Label, Problem, codes};
use crate::source::Span;
use std::sync::Arc;

/// A construct that fits the grammar but is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ShapeProblem {
    #[error("nested more than {limit} levels deep")]
    TooDeep { limit: u32 },
    #[error("comparisons do not chain: found `{second}` after `{first}`")]
    ChainedComparison {
        first: &'static str,
        second: &'static str,
    },
    #[error("cannot assign to {found}")]
    AssignmentTarget { found: &'static str, tuple: bool },
    #[error("{what} `{name}` is given twice")]
    DuplicateName {
        what: &'static str,
        name: Arc<str>,
        first: Span,
    },
    #[error("kernel parameter `{name}` needs a type")]
    MissingType { name: Arc<str> },
    #[error("kernel `{kernel}` does not say how it is launched")]
    MissingLaunch { kernel: Arc<str> },
    #[error("kernel `{kernel}` has no `{clause}(…)` clause")]
    MissingClause {
        kernel: Arc<str>,
        clause: &'static str,
    },
    #[error("there is no launch clause `{name}`")]
    UnknownClause { name: Arc<str> },
    #[error("a positional argument follows a named one")]
    PositionalAfterNamed { named: Span },
    #[error("expected a call before `for`, found {found}")]
    LoopClause { found: &'static str },
    #[error("expected a mode number after `@`, found `{text}`")]
    BasisMode { text: String },
    #[error("the value of the field `{name}` stands behind `=`")]
    FieldColon { name: Arc<str> },
    #[error("the record `{name}` is empty")]
    NoFields { name: Arc<str> },
    #[error("`self` is what a function of a record is called on")]
    MisplacedReceiver,
    #[error("only `self` is taken `mut` without a type")]
    MutableParameter { name: Arc<str> },
    #[error("the candidates of `{name}` stand beside a default")]
    NoDefault { name: Arc<str> },
    #[error("only the compile-time parameters of a kernel have candidates")]
    MisplacedCandidates,
}

impl Problem for ShapeProblem {
    fn code(&self) -> Code {
        use ShapeProblem::*;
        match self {
            TooDeep { .. } => codes::NESTING_TOO_DEEP,
            ChainedComparison { .. } => codes::CHAINED_COMPARISON,
            AssignmentTarget { .. } => codes::INVALID_ASSIGNMENT_TARGET,
            DuplicateName { .. } => codes::DUPLICATE_NAME,
            MissingType { .. } => codes::MISSING_TYPE,
            MissingLaunch { .. } | MissingClause { .. } | UnknownClause { .. } => {
                codes::INVALID_LAUNCH
            }
            PositionalAfterNamed { .. } => codes::POSITIONAL_AFTER_NAMED,
            LoopClause { .. } => codes::UNEXPECTED_TOKEN,
            BasisMode { .. } => codes::INVALID_NUMBER,
            FieldColon { .. } => codes::FOREIGN_SYNTAX,
            NoFields { .. } | MisplacedReceiver | MutableParameter { .. } => codes::INVALID_RECORD,
            NoDefault { .. } | MisplacedCandidates => codes::BAD_CANDIDATES,
        }
    }

    fn label(&self) -> String {
        use ShapeProblem::*;
        match self {
            TooDeep { .. } => "too deep from here on".to_owned(),
            ChainedComparison { .. } => "second comparison".to_owned(),
            AssignmentTarget { .. } => {
                "expected a variable, tensor elements or a tensor view".to_owned()
            }
            DuplicateName { .. } => "second time".to_owned(),
            MissingType { .. } => "expected `: type`".to_owned(),
            MissingLaunch { .. } => {
                "expected `launch grid(…), block(…)` before the body".to_owned()
            }
            MissingClause { clause, .. } => format!("expected `{clause}(…)` behind `launch`"),
            UnknownClause { .. } => {
                format!("expected one of {}", words::LAUNCH_CLAUSES.join(", "))
            }
            PositionalAfterNamed { .. } => "positional".to_owned(),
            LoopClause { .. } => "expected a clause such as `pipeline(3)`".to_owned(),
            BasisMode { .. } => "expected 0, 1, 2, …".to_owned(),
            FieldColon { .. } => "expected `=`".to_owned(),
            NoFields { .. } => "expected a field or a function".to_owned(),
            MisplacedReceiver => {
                "expected as the first parameter of a function of a record".to_owned()
            }
            MutableParameter { .. } => "not `self`".to_owned(),
            NoDefault { name } => format!("expected `{name} = … in`"),
            MisplacedCandidates => "of a function".to_owned(),
        }
    }

    fn other_labels(&self) -> Vec<Label> {
        match self {
            ShapeProblem::DuplicateName { first, .. } => {
                vec![Label {
                    span: *first,
                    text: "first time".to_owned(),
                }]
            }
            ShapeProblem::PositionalAfterNamed { named } => {
                vec![Label {
                    span: *named,
                    text: "named".to_owned(),
                }]
            }
            ShapeProblem::TooDeep { .. }
            | ShapeProblem::ChainedComparison { .. }
            | ShapeProblem::AssignmentTarget { .. }
            | ShapeProblem::MissingType { .. }
            | ShapeProblem::MissingLaunch { .. }
            | ShapeProblem::MissingClause { .. }
            | ShapeProblem::UnknownClause { .. }
            | ShapeProblem::LoopClause { .. }
            | ShapeProblem::BasisMode { .. }
            | ShapeProblem::FieldColon { .. }
            | ShapeProblem::NoFields { .. }
            | ShapeProblem::MisplacedReceiver
            | ShapeProblem::MutableParameter { .. }
            | ShapeProblem::NoDefault { .. }
            | ShapeProblem::MisplacedCandidates => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        use ShapeProblem::*;
        match self {
            TooDeep { .. } => Some("name parts of it with `let`".to_owned()),
            ChainedComparison { second: ">", .. } => Some(
                "generic arguments have no space before `<`: `size<1>(x)`; \
                 two comparisons are joined by `&&`"
                    .to_owned(),
            ),
            ChainedComparison { .. } => {
                Some("join two comparisons by `&&`: `a < b && b < c`".to_owned())
            }
            MissingType { name } => Some(format!("`{name}: f32`, `{name}: tensor<f32, (m, n)>`")),
            FieldColon { name } => Some(format!("write `{name} = …`")),
            NoFields { name } => Some(format!("`record {name} {{ index, phase }}`")),
            MutableParameter { name } => Some(format!(
                "a tensor that is written is `{name}: mut tensor<f32, n>`; a record is changed by its own functions, `fn f(mut self)`"
            )),
            UnknownClause { name } => words::closest(name, words::LAUNCH_CLAUSES.iter().copied())
                .map(|known| format!("did you mean `{known}`?")),
            MissingLaunch { .. } => Some(
                "`launch tiles(ceil_div(n, 128))` computes on tiles, `launch grid(ceil_div(n, 256)), block(256)` in threads"
                    .to_owned(),
            ),
            AssignmentTarget { tuple: true, .. } => Some(
                "each place of a tuple is given its part by `=`: `(a, b) = (a + 1, b + 1)`".to_owned(),
            ),
            AssignmentTarget { .. }
            | DuplicateName { .. }
            | MissingClause { .. }
            | PositionalAfterNamed { .. }
            | LoopClause { .. }
            | BasisMode { .. }
            | MisplacedReceiver
            | NoDefault { .. }
            | MisplacedCandidates => None,
        }
    }
}

/// What of the left side of an assignment, by an operator or without one, cannot be assigned to.
pub fn not_assignable(target: &Expr, by_operator: bool) -> Option<&Expr> {
    match &*target.kind {
        ExprKind::Name(_)
        | ExprKind::Index { .. }
        | ExprKind::Field { .. }
        | ExprKind::Call { .. }
        | ExprKind::Error => None,
        ExprKind::Tuple(targets) if !by_operator && !targets.is_empty() => {
            let mut targets = targets.iter().filter(|target| !target.is_wildcard());
            targets.find_map(|target| not_assignable(target, false))
        }
        _ => Some(target),
    }
}

/// What an expression is, for messages: `a number`.
pub fn describe(expr: &Expr) -> &'static str {
    match &*expr.kind {
        ExprKind::Int { .. } | ExprKind::Float { .. } => "a number",
        ExprKind::Bool(_) => "a bool",
        ExprKind::Str(_) => "a string",
        ExprKind::Name(_) => "a name",
        ExprKind::Wildcard => "`_`",
        ExprKind::Tuple(_) => "a tuple",
        ExprKind::Array(_) => "an array",
        ExprKind::Layout { .. } => "a layout",
        ExprKind::Compose(_) => "a composed layout",
        ExprKind::Range { .. } => "a range",
        ExprKind::ScaledBasis { .. } => "a scaled basis",
        ExprKind::Unary { .. } | ExprKind::Binary { .. } => "an operation",
        ExprKind::Field { .. } => "a field",
        ExprKind::Index { .. } => "tensor elements",
        ExprKind::Generic { .. } => "a name with compile-time arguments",
        ExprKind::Call { .. } => "a call",
        ExprKind::Record { .. } => "a record",
        ExprKind::If(_) => "an `if`",
        ExprKind::Block(_) => "a block",
        ExprKind::Reduce { .. } => "a reduction",
        ExprKind::Error => "an error",
    }
}
