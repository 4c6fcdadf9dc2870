//! Diagnostics: what a user sees when a program is wrong.
//!
//! Reading order: [`codes`] (the table of stable codes), this file (the type), [`render`] (the one
//! place that turns a diagnostic into text).
//!
//! A check raises a small `thiserror` type that holds data; [`Problem`] says how such a type reads
//! as a diagnostic, and [`Diagnostic::of`] attaches the span. Invariants: every diagnostic has a
//! code of the table and at least one label, the first one being the place that is wrong.

pub mod codes;
mod harmless;
mod long_lines;
pub mod render;

pub use codes::Code;

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning, but perhaps not the intended one.
    Warning,
    /// What the compiler made of it.
    Remark,
}

/// A place in the source and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, `E0001`.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence without the place: what was expected and what was found.
    pub message: String,
    /// Places; the first is where the error is.
    pub labels: Vec<Label>,
    /// Facts that explain the error.
    pub notes: Vec<String>,
    /// How to mend it, where that is known.
    pub help: Option<String>,
}

/// An error type that knows how to be shown. `Display` is the message.
pub trait Problem: std::error::Error {
    /// Its code.
    fn code(&self) -> Code;
    /// The text at the offending place.
    fn label(&self) -> String;
    /// Error or warning.
    fn severity(&self) -> Severity {
        Severity::Error
    }
    /// Other places that matter.
    fn other_labels(&self) -> Vec<Label> {
        Vec::new()
    }
    /// Explaining facts.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// The fix, where it is known.
    fn help(&self) -> Option<String> {
        None
    }
}

impl Diagnostic {
    /// The diagnostic for `problem` at `span`.
    pub fn of(span: Span, problem: &dyn Problem) -> Self {
        let mut labels = vec![Label {
            span,
            text: problem.label(),
        }];
        labels.extend(problem.other_labels());
        Diagnostic {
            code: problem.code(),
            severity: problem.severity(),
            message: problem.to_string(),
            labels,
            notes: problem.notes(),
            help: problem.help(),
        }
    }

    /// An error put together by hand; checks with data of their own use [`Problem`].
    pub fn error(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label {
                span,
                text: label.into(),
            }],
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning put together by hand.
    pub fn warning(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, span, message, label)
        }
    }

    /// Adds another place.
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds an explaining fact.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says how to mend it.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Where the error is.
    pub fn span(&self) -> Span {
        self.labels
            .first()
            .map(|label| label.span)
            .unwrap_or_default()
    }

    /// Whether `earlier` has said it: what is wrong at a place is wrong in every kernel that comes to it. Remarks may say
    /// different things of one place.
    pub fn repeats(&self, earlier: &Diagnostic) -> bool {
        let same_text = self.severity != Severity::Remark || self.message == earlier.message;
        self.code == earlier.code && self.span() == earlier.span() && same_text
    }

    /// Whether it stops compilation.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
