//! What MLIR reports, as data: parser errors, verifier errors, failed passes.

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::ir::Location;
use std::fmt;
use std::sync::{Arc, Mutex};

/// How bad a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something is wrong.
    Error,
    /// Something looks wrong.
    Warning,
    /// Said in addition.
    Note,
    /// What a pass did or could not do.
    Remark,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::Remark => "remark",
        })
    }
}

/// A place in a file; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file as MLIR knows it.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One report of MLIR with its notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How bad.
    pub severity: Severity,
    /// Where, if MLIR knows.
    pub place: Option<Place>,
    /// The text.
    pub text: String,
    /// What MLIR adds.
    pub notes: Vec<Message>,
}

impl Message {
    fn new(diagnostic: &Diagnostic<'_>) -> Self {
        let severity = match diagnostic.severity() {
            DiagnosticSeverity::Error => Severity::Error,
            DiagnosticSeverity::Warning => Severity::Warning,
            DiagnosticSeverity::Note => Severity::Note,
            DiagnosticSeverity::Remark => Severity::Remark,
        };
        let notes = (0..diagnostic.note_count())
            .filter_map(|index| diagnostic.note(index).ok())
            .map(|note| Self::new(&note))
            .collect();
        Self {
            severity,
            place: place(diagnostic.location()),
            text: diagnostic.to_string(),
            notes,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(formatter, "{place}: ")?;
        }
        write!(formatter, "{}: {}", self.severity, self.text)?;
        for note in &self.notes {
            write!(formatter, "\n{note}")?;
        }
        Ok(())
    }
}

/// Runs `work` and collects what MLIR reports to `context` meanwhile, instead of printing it.
pub fn collect<T>(context: &Context, work: impl FnOnce() -> T) -> (T, Vec<Message>) {
    // Shared with the handler, which MLIR may call from its worker threads.
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        if let Ok(mut messages) = sink.lock() {
            messages.push(Message::new(&diagnostic));
        }
        true
    });
    let result = work();
    context.detach_diagnostic_handler(handler);
    let messages = messages
        .lock()
        .map(|mut messages| std::mem::take(&mut *messages))
        .unwrap_or_default();
    (result, messages)
}

/// The file position that `location` leads to: through names, the callee of a call site, and the
/// first of fused locations that has one.
pub fn place(location: Location<'_>) -> Option<Place> {
    // SAFETY: the location is alive; each accessor is called on a location of its kind.
    unsafe { raw_place(location.to_raw()) }
}

/// # Safety
/// `location` is a live location.
unsafe fn raw_place(location: mlir_sys::MlirLocation) -> Option<Place> {
    use mlir_sys::*;
    // SAFETY: by the contract above, and each accessor is guarded by its `IsA`.
    unsafe {
        if mlirLocationIsAFileLineColRange(location) {
            let file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
            let bytes = cutec_dialects::builder::bytes_of(file);
            return Some(Place {
                file: String::from_utf8_lossy(bytes).into_owned(),
                line: mlirLocationFileLineColRangeGetStartLine(location).max(0) as u32,
                column: mlirLocationFileLineColRangeGetStartColumn(location).max(0) as u32,
            });
        }
        if mlirLocationIsAName(location) {
            return raw_place(mlirLocationNameGetChildLoc(location));
        }
        if mlirLocationIsACallSite(location) {
            return raw_place(mlirLocationCallSiteGetCallee(location));
        }
        if mlirLocationIsAFused(location) {
            let count = mlirLocationFusedGetNumLocations(location);
            let mut locations = vec![location; count as usize];
            mlirLocationFusedGetLocations(location, locations.as_mut_ptr());
            return locations.into_iter().find_map(|inner| raw_place(inner));
        }
        None
    }
}
