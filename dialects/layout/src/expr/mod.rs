//! The expression language of `cutec layout`: literals and calls of the layout algebra.
//!
//! ```text
//! composition((20):(2), (5,4):(4,1))
//! recast_layout<16, 32>((8,4):(1,8))
//! zipped_divide(tile_to_shape(S<3,3,3> o 0 o (8,64):(64,1), (128,64)), [64:1;_])
//! ```
//!
//! Literals are those of [`crate::text`]; `A o B` composes. Modules: `parse` (text to a tree with
//! spans), `ops` (the table of operations), `value` ([`Value`] and conversions of arguments).

mod ops;
mod parse;
mod value;

pub use ops::{Operation, operations};
pub use value::Value;

use crate::LayoutError;
use crate::text::TextError;
use std::ops::Range;
use thiserror::Error;

/// Why an expression has no value. Spans are byte ranges of the text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExprError {
    /// The text does not read as an expression.
    #[error("{0}")]
    Text(#[from] TextError),
    /// There is no operation of that name.
    #[error("there is no operation `{name}`{}", suggestion.map_or(String::new(), |name| format!("; did you mean `{name}`?")))]
    UnknownOperation {
        /// Where the name stands.
        span: Range<usize>,
        /// The name.
        name: String,
        /// An operation of a similar name.
        suggestion: Option<&'static str>,
    },
    /// Too few or too many arguments.
    #[error("`{usage}` takes {expected} arguments, found {found}")]
    ArgumentCount {
        /// The call.
        span: Range<usize>,
        /// How the operation is written.
        usage: &'static str,
        /// How many arguments it takes.
        expected: String,
        /// How many were given.
        found: usize,
    },
    /// An argument of the wrong kind.
    #[error("`{usage}`: expected {expected}, found {found}")]
    ArgumentKind {
        /// The argument.
        span: Range<usize>,
        /// How the operation is written.
        usage: &'static str,
        /// The kind that is needed.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// The algebra refuses the operands.
    #[error("{error}{}", legend(error))]
    Layout {
        /// The call.
        span: Range<usize>,
        /// Why.
        error: Box<LayoutError>,
    },
}

impl ExprError {
    /// The message and, unless all of `text` is meant, the part of it that is.
    pub fn render(&self, text: &str) -> String {
        let span = self.span();
        let marked = text.get(span.clone()).unwrap_or("");
        if text.contains('\n') || marked.trim() == text.trim() {
            return self.to_string();
        }
        let width = |text: &str| text.chars().count();
        let before = width(text.get(..span.start).unwrap_or(""));
        let marks = "^".repeat(width(marked).max(1));
        format!("{self}\n  {text}\n  {}{marks}", " ".repeat(before))
    }

    /// The byte range that the error is about.
    pub fn span(&self) -> Range<usize> {
        match self {
            ExprError::Text(error) => error.span(),
            ExprError::UnknownOperation { span, .. }
            | ExprError::ArgumentCount { span, .. }
            | ExprError::ArgumentKind { span, .. }
            | ExprError::Layout { span, .. } => span.clone(),
        }
    }
}

/// What the names of run-time values in an error stand for: each `?` of the expression is one.
fn legend(error: &LayoutError) -> String {
    let LayoutError::Undecided { condition, .. } = error else {
        return String::new();
    };
    let mut vars = Vec::new();
    condition.visit_vars(&mut |var| vars.push(var));
    vars.sort_unstable();
    vars.dedup();
    let names = vars.iter().map(|var| match var {
        0 => "v0 is the first `?`".to_owned(),
        1 => "v1 is the second `?`".to_owned(),
        2 => "v2 is the third `?`".to_owned(),
        var => format!("v{var} is `?` number {}", var + 1),
    });
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    }
}

/// The value of an expression.
///
/// # Errors
/// If the text is no expression, or an operation refuses its operands.
pub fn eval(text: &str) -> Result<Value, ExprError> {
    parse::eval(text)
}
