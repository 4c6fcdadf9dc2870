//! Syntax errors.

use super::words;
use crate::diagnostics::{Code, Problem, codes};

/// Something that does not fit the grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// A token that cannot stand here.
    #[error("expected {}, found {found}", words::expected(.expected, *.after_operand))]
    Unexpected {
        /// What was found, in words.
        found: String,
        /// The terminals of the grammar that could stand here.
        expected: Vec<String>,
        /// Whether it stands behind an operand. By then the parser has decided that no operator
        /// follows, and `expected` lacks them.
        after_operand: bool,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// A statement or item without its `;`.
    #[error("expected `;`, found {found}")]
    MissingSemicolon {
        /// What follows instead, in words.
        found: String,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// Something at the top level that is no item.
    #[error("expected an item, found {found}")]
    NoItem {
        /// What was found, in words.
        found: String,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// More errors than anybody reads.
    #[error("too many errors")]
    TooMany {
        /// How many were reported.
        limit: usize,
    },
    /// `///` before something that is no item.
    #[error("this comment documents nothing")]
    StrayDoc,
}

impl Problem for SyntaxProblem {
    fn code(&self) -> Code {
        match self {
            SyntaxProblem::Unexpected { .. } | SyntaxProblem::NoItem { .. } => {
                codes::UNEXPECTED_TOKEN
            }
            SyntaxProblem::MissingSemicolon { .. } => codes::MISSING_SEMICOLON,
            SyntaxProblem::TooMany { .. } => codes::TOO_MANY_ERRORS,
            SyntaxProblem::StrayDoc => codes::STRAY_DOC_COMMENT,
        }
    }

    fn severity(&self) -> crate::diagnostics::Severity {
        match self {
            SyntaxProblem::StrayDoc => crate::diagnostics::Severity::Warning,
            _ => crate::diagnostics::Severity::Error,
        }
    }

    fn label(&self) -> String {
        match self {
            SyntaxProblem::Unexpected { .. } => "unexpected".to_owned(),
            SyntaxProblem::MissingSemicolon { .. } => "`;` is missing here".to_owned(),
            SyntaxProblem::NoItem { .. } => {
                format!("expected one of {}", words::ITEM_KEYWORDS.join(", "))
            }
            SyntaxProblem::TooMany { limit } => format!("stopped here after {limit}"),
            SyntaxProblem::StrayDoc => "no item follows".to_owned(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            SyntaxProblem::Unexpected { hint, .. }
            | SyntaxProblem::NoItem { hint, .. }
            | SyntaxProblem::MissingSemicolon { hint, .. } => hint.clone(),
            SyntaxProblem::StrayDoc => Some("use `//`".to_owned()),
            SyntaxProblem::TooMany { .. } => None,
        }
    }
}
