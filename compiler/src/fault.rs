//! What went wrong on a device, as the parts of a diagnostic: the lines of the kernel, facts, the
//! usual fix.

use crate::codegen::messages::Place;
use crate::report;
use cutec_frontend::Calls;
use cutec_frontend::diagnostics::codes::LAUNCH_FAILED;
use cutec_frontend::diagnostics::{Diagnostic, Label};
use cutec_frontend::source::{SourceMap, Span};
use cutec_runtime::DeviceError;
use cutec_runtime::sim::SourceLoc;

/// The parts.
pub struct Fault {
    /// One sentence.
    pub reason: String,
    /// Where in the kernel; empty where nobody knows.
    pub labels: Vec<Label>,
    /// Facts, a line each.
    pub notes: Vec<String>,
    /// The usual fix.
    pub help: Option<String>,
}

impl Fault {
    /// Takes an error apart; `sources` are those of the kernel, and `calls` led to its places.
    pub fn of(error: &DeviceError, sources: &SourceMap, calls: &Calls) -> Self {
        let text = error.to_string();
        let mut lines = text.lines();
        let mut fault = Self {
            reason: lines.next().unwrap_or("it failed").to_owned(),
            labels: Vec::new(),
            notes: lines.map(|line| line.trim().to_owned()).collect(),
            help: None,
        };
        let Some(location) = error.source_location() else {
            return fault;
        };
        let Some(span) = span(location, sources) else {
            return fault;
        };
        if let Some(rest) = fault.reason.strip_prefix(&format!("{location}: ")) {
            fault.reason = rest.to_owned();
        }
        let text = "in this operation of the kernel".to_owned();
        fault.labels.push(Label { span, text });
        fault.labels.extend(calls.to(span));
        if let Some(error) = error.sim() {
            fault.help = error.help();
            for (place, text) in error.places() {
                if let Some(span) = self::span(place, sources) {
                    fault.labels.push(Label { span, text });
                }
            }
        }
        fault
    }

    /// The diagnostic where the kernel was launched from outside of any file.
    pub fn diagnostic(self, kernel: &str) -> Option<Diagnostic> {
        let first = self.labels.first()?;
        let message = format!("`{kernel}` failed: {}", self.reason);
        let mut diagnostic = Diagnostic::error(LAUNCH_FAILED, first.span, message, "");
        diagnostic.labels = self.labels;
        diagnostic.notes = self.notes;
        diagnostic.help = self.help;
        Some(diagnostic)
    }
}

fn span(location: &SourceLoc, sources: &SourceMap) -> Option<Span> {
    let place = Place {
        file: location.file.clone(),
        line: location.line,
        column: location.column,
    };
    report::span_of(&place, sources)
}
