//! Calls in which functions of the standard library were evaluated: what passes say of an operation of such a function, or
//! what goes wrong in it at run time, concerns the program where it makes the call.

use crate::diagnostics::{Diagnostic, Label, Severity};
use crate::source::{FileId, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls that a message shows of those that come to one place.
const MAX_SHOWN: usize = 3;

/// A call: the name of the function, and all of the call.
pub(super) type NamedCall = (Arc<str>, Span);

/// The calls that led to places of the library, by file and offset.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    to: FxHashMap<(FileId, u32), Vec<NamedCall>>,
}

impl Calls {
    /// Takes note of the call of a function in which a place was evaluated.
    pub(super) fn add(&mut self, place: Span, call: &NamedCall) {
        self.add_at((place.file, place.start), call);
    }

    fn add_at(&mut self, place: (FileId, u32), (name, call): &NamedCall) {
        let calls = self.to.entry(place).or_default();
        let is_known = calls.iter().any(|(_, known)| known == call);
        if !is_known && calls.len() < MAX_SHOWN {
            calls.push((name.clone(), *call));
        }
    }

    /// Takes over those of other kernels of the program.
    pub fn merge(&mut self, others: &Calls) {
        for (place, calls) in &others.to {
            for call in calls {
                self.add_at(*place, call);
            }
        }
    }

    /// The calls that led to a place; none where it is not of the library.
    pub fn to(&self, place: Span) -> Vec<Label> {
        let calls = self.to.get(&(place.file, place.start));
        let calls = calls.map_or(&[][..], Vec::as_slice);
        let label = |(name, span): &NamedCall| Label {
            span: *span,
            text: match calls.len() {
                1 => format!("in this call of `{name}`"),
                _ => format!("in a call such as this of `{name}`"),
            },
        };
        calls.iter().map(label).collect()
    }

    /// A warning or an error with the calls that led to its place; those of the evaluator have them.
    pub fn explain(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if diagnostic.severity != Severity::Remark && diagnostic.labels.len() == 1 {
            let calls = self.to(diagnostic.span());
            diagnostic.labels.extend(calls);
        }
        diagnostic
    }
}
