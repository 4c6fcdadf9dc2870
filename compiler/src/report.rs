//! MLIR's messages as diagnostics of the source, and everything that went wrong as text.

use crate::codegen::messages::Place;
use crate::codegen::{CubinError, LlvmError, Message, SassError, Severity};
use crate::passes::user_error::split;
use cutec_frontend::diagnostics::codes::{INTERNAL, INVALID_MLIR, REMARK, SLOW};
use cutec_frontend::diagnostics::render::{RenderOptions, render_all};
use cutec_frontend::diagnostics::{self, Diagnostic, Label};
use cutec_frontend::source::{SourceMap, Span};
use std::fmt::Write;

/// A failure without a place in the source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// MLIR reported it.
    #[error("{0}")]
    Mlir(Message),
    /// A step of the pipeline failed without a report.
    #[error("{0} failed and MLIR does not say why")]
    Step(&'static str),
    /// LLVM.
    #[error(transparent)]
    Llvm(#[from] LlvmError),
    /// The assembler.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The disassembler.
    #[error(transparent)]
    Sass(#[from] SassError),
    /// The ABI cannot be made.
    #[error("{0}")]
    Abi(String),
}

/// Sorts `messages` into diagnostics (where the place lies in a known file) and failures. Remarks
/// and notes that stand alone are dropped.
pub fn sort_messages(
    messages: Vec<Message>,
    sources: &SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
    failures: &mut Vec<Failure>,
) {
    for message in messages {
        if !matches!(message.severity, Severity::Error | Severity::Warning) {
            continue;
        }
        match diagnostic(&message, sources) {
            Some(diagnostic) => diagnostics.push(diagnostic),
            None if message.severity == Severity::Error => failures.push(Failure::Mlir(message)),
            None => {}
        }
    }
}

/// The diagnostic for a message whose place is known.
pub fn diagnostic(message: &Message, sources: &SourceMap) -> Option<Diagnostic> {
    let span = span_of(message.place.as_ref()?, sources)?;
    let severity = match message.severity {
        Severity::Warning => diagnostics::Severity::Warning,
        Severity::Remark => diagnostics::Severity::Remark,
        _ => diagnostics::Severity::Error,
    };
    let mut labels = vec![Label {
        span,
        text: "here".to_owned(),
    }];
    let mut notes = Vec::new();
    for note in &message.notes {
        match note
            .place
            .as_ref()
            .and_then(|place| span_of(place, sources))
        {
            Some(span) if span != labels[0].span && note.text.len() < 120 => labels.push(Label {
                span,
                text: note.text.clone(),
            }),
            _ => notes.push(without_regions(&note.text)),
        }
    }
    let parts = split(&message.text);
    let (mut said, mut help) = (parts.message.to_owned(), parts.help.map(str::to_owned));
    let code = match (parts.code, severity) {
        (Some(code), _) => code,
        (None, diagnostics::Severity::Remark) => REMARK,
        (None, diagnostics::Severity::Warning) => SLOW,
        (None, diagnostics::Severity::Error) if is_of_the_language(span, sources) => {
            labels[0].text = "while this was compiled".to_owned();
            notes.insert(0, said);
            said = "the compiler cannot go on with what it made of this".to_owned();
            help = Some(format!(
                "this is a bug of cutec: please report it, with this file and the command; `cutec explain {INTERNAL}`"
            ));
            INTERNAL
        }
        (None, diagnostics::Severity::Error) => INVALID_MLIR,
    };
    Some(Diagnostic {
        code,
        severity,
        message: said,
        labels,
        notes,
        help,
    })
}

/// A note of MLIR; of an operation that it shows, what stands before its regions, which may be thousands of lines.
fn without_regions(note: &str) -> String {
    const SHOWN: &str = "see current operation:";
    match note.strip_prefix(SHOWN) {
        Some(operation) => {
            let first = operation.trim_start().lines().next();
            format!("{SHOWN} {}", first.unwrap_or_default())
        }
        None => note.to_owned(),
    }
}

/// Whether a place lies in a file of the language, and not in MLIR.
fn is_of_the_language(span: Span, sources: &SourceMap) -> bool {
    !sources.file(span.file).name().ends_with(".mlir")
}

/// The word at a place that names only where it begins, as MLIR's and the simulator's do.
pub(crate) fn span_of(place: &Place, sources: &SourceMap) -> Option<Span> {
    let id = sources.find(&place.file)?;
    let text = sources.file(id).text();
    let line_start = match place.line {
        0 => return None,
        1 => 0,
        line => text
            .match_indices('\n')
            .nth(line as usize - 2)
            .map(|(at, _)| at + 1)?,
    };
    let rest = text.get(line_start..)?;
    let line = rest.lines().next().unwrap_or("");
    // The front end counts characters, as editors do.
    let column = line
        .char_indices()
        .nth(place.column.max(1) as usize - 1)
        .map_or(line.len(), |(at, _)| at);
    let is_word = |character: char| character.is_alphanumeric() || "_.%@$#".contains(character);
    let word = line[column..]
        .find(|character| !is_word(character))
        .unwrap_or(line.len() - column);
    let length = match word {
        0 => line[column..].chars().next().map_or(0, char::len_utf8),
        word => word,
    };
    let start = line_start + column;
    Some(Span::new(id, start as u32, (start + length) as u32))
}

/// Diagnostics with their source lines, then failures, one `error: …` each.
pub fn render(
    diagnostics: &[Diagnostic],
    failures: &[Failure],
    sources: &SourceMap,
    options: RenderOptions,
) -> String {
    let mut text = String::new();
    if !diagnostics.is_empty() {
        text.push_str(&render_all(diagnostics, sources, options));
    }
    for failure in failures {
        let failure = failure.to_string();
        let _ = if failure.contains(": error: ") {
            writeln!(text, "{failure}")
        } else {
            writeln!(text, "error: {failure}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_becomes_the_word_that_begins_there() {
        let mut sources = SourceMap::new();
        sources.add("a.mlir", "first\n  %x = cute.size %y\n");
        let place = |line, column| Place {
            file: "a.mlir".to_owned(),
            line,
            column,
        };
        let snippet = |line, column| {
            span_of(&place(line, column), &sources).map(|span| sources.snippet(span).to_owned())
        };
        assert_eq!(snippet(2, 8).as_deref(), Some("cute.size"));
        assert_eq!(snippet(1, 1).as_deref(), Some("first"));
        assert_eq!(snippet(2, 6).as_deref(), Some("="));
        assert_eq!(snippet(2, 99).as_deref(), Some(""));
        assert_eq!(snippet(9, 1), None);
    }
}
