//! Diagnostics as JSON, one object a line, for editors and scripts: `--message-format json`.
//!
//! An object has `reason` (`diagnostic`, or another word for what is no diagnostic), `level` (`error`, `warning`, `remark`),
//! `code` (or null), `message`, `spans` (the first is where it is), `notes`, `help` (or null), and `rendered`, the text
//! that is shown otherwise. Lines and columns count from 1, columns in characters; bytes from 0.

use cutec::report::Failure;
use cutec_frontend::diagnostics::render::{RenderOptions, render};
use cutec_frontend::diagnostics::{Diagnostic, Label, Severity};
use cutec_frontend::source::SourceMap;
use serde::Serialize;

/// A line.
#[derive(Debug, Serialize)]
struct Message<'a> {
    reason: &'static str,
    level: &'static str,
    code: Option<String>,
    message: &'a str,
    spans: Vec<Place<'a>>,
    notes: &'a [String],
    help: Option<&'a str>,
    rendered: String,
}

/// A place in a source.
#[derive(Debug, Serialize)]
struct Place<'a> {
    file: &'a str,
    byte_start: u32,
    byte_end: u32,
    line_start: u32,
    column_start: u32,
    line_end: u32,
    column_end: u32,
    is_primary: bool,
    label: &'a str,
}

/// A diagnostic as a line, without its end.
pub fn diagnostic(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let spans = diagnostic.labels.iter().enumerate();
    let spans = spans.map(|(number, label)| place(label, number == 0, sources));
    line(&Message {
        reason: "diagnostic",
        level: level(diagnostic.severity),
        code: Some(diagnostic.code.to_string()),
        message: &diagnostic.message,
        spans: spans.collect(),
        notes: &diagnostic.notes,
        help: diagnostic.help.as_deref(),
        rendered: render(diagnostic, sources, RenderOptions::PLAIN),
    })
}

/// A failure without a place as a line.
pub fn failure(failure: &Failure) -> String {
    plain("error", &failure.to_string())
}

/// What has no code and no place, as a line.
pub fn plain(level: &'static str, message: &str) -> String {
    line(&Message {
        reason: "diagnostic",
        level,
        code: None,
        message,
        spans: Vec::new(),
        notes: &[],
        help: None,
        rendered: format!("{level}: {message}\n"),
    })
}

fn line(message: &Message<'_>) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// A severity by its name.
pub fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Remark => "remark",
    }
}

fn place<'a>(label: &'a Label, is_primary: bool, sources: &'a SourceMap) -> Place<'a> {
    let file = sources.file(label.span.file);
    let (start, end) = (
        file.line_column(label.span.start),
        file.line_column(label.span.end),
    );
    Place {
        file: file.name(),
        byte_start: label.span.start,
        byte_end: label.span.end,
        line_start: start.line,
        column_start: start.column,
        line_end: end.line,
        column_end: end.column,
        is_primary,
        label: &label.text,
    }
}
