//! Calls in which functions of the standard library were evaluated: what passes say of an operation of such a function
//! concerns the program where it makes the call.

use crate::diagnostics::{Diagnostic, Label, Severity};
use crate::source::{FileId, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls that a message shows of those that come to one place.
const MAX_SHOWN: usize = 3;

/// A call: the name of the function, and all of the call.
pub(super) type NamedCall = (Arc<str>, Span);

/// The calls that led to places of the library, by file and offset.
#[derive(Debug, Default)]
pub struct Calls {
    to: FxHashMap<(FileId, u32), Vec<NamedCall>>,
}

impl Calls {
    /// Takes note of the call of a function in which a place was evaluated.
    pub(super) fn add(&mut self, place: Span, (name, call): &NamedCall) {
        let calls = self.to.entry((place.file, place.start)).or_default();
        let is_known = calls.iter().any(|(_, known)| known == call);
        if !is_known && calls.len() < MAX_SHOWN {
            calls.push((name.clone(), *call));
        }
    }

    /// A warning with the calls that led to its place.
    pub fn explain(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let place = diagnostic.span();
        let Some(calls) = self.to.get(&(place.file, place.start)) else {
            return diagnostic;
        };
        if diagnostic.severity != Severity::Warning || diagnostic.labels.len() > 1 {
            return diagnostic;
        }
        let labels = calls.iter().map(|(name, span)| Label {
            span: *span,
            text: match calls.len() {
                1 => format!("in this call of `{name}`"),
                _ => format!("in a call such as this of `{name}`"),
            },
        });
        diagnostic.labels.extend(labels);
        diagnostic
    }
}
