//! Calls in which functions were evaluated: what passes say of an operation of such a function, or what goes wrong in it at
//! run time, concerns the program where it makes the call.

use crate::diagnostics::{Diagnostic, Label, Severity};
use crate::source::{FileId, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls that are kept of those that come to one place, and that a message shows.
const MAX_SHOWN: usize = 3;

/// A call: the name of the function, and all of the call.
pub type NamedCall = (Arc<str>, Span);

/// A place in the body of a function: file and offset.
pub type Place = (FileId, u32);

/// The calls that led to places in functions. Of a function of the library it is the call by which the program came into
/// the library. The place of a call in a function has calls of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    to: FxHashMap<Place, Vec<NamedCall>>,
}

impl Calls {
    /// Takes note of the call of a function in which a place was evaluated.
    pub fn add(&mut self, place: Place, (name, call): &NamedCall) {
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
                self.add(*place, call);
            }
        }
    }

    /// All places with the calls that led there, in the order of files and offsets.
    pub fn places(&self) -> Vec<(Place, &[NamedCall])> {
        let places = self.to.iter();
        let mut places: Vec<_> = places.map(|(at, calls)| (*at, calls.as_slice())).collect();
        places.sort_unstable_by_key(|((file, offset), _)| (file.0, *offset));
        places
    }

    /// The calls that led to a place, innermost first; none where it is in no function. Of many the innermost and the
    /// outermost.
    pub fn to(&self, place: Span) -> Vec<Label> {
        let label = |text: String, span: Span| Label { span, text };
        let mut labels: Vec<Label> = Vec::new();
        let mut at = (place.file, place.start);
        while let Some(calls) = self.to.get(&at) {
            if let [(name, call)] = calls.as_slice() {
                if labels.iter().any(|known| known.span == *call) {
                    break;
                }
                labels.push(label(format!("in this call of `{name}`"), *call));
                at = (call.file, call.start);
                continue;
            }
            let such = calls
                .iter()
                .map(|(name, call)| label(format!("in a call such as this of `{name}`"), *call));
            let room = MAX_SHOWN.saturating_sub(labels.len()).max(1);
            labels.extend(such.take(room));
            break;
        }
        let between = labels.len().saturating_sub(MAX_SHOWN);
        if between > 0 {
            labels.drain(MAX_SHOWN - 1..labels.len() - 1);
            if let Some(outermost) = labels.last_mut() {
                outermost.text += &match between {
                    1 => ", with one call in between".to_owned(),
                    _ => format!(", with {between} calls in between"),
                };
            }
        }
        labels
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the calls that led to place 0, where the function of call `n` has call `n + 1`.
    fn shown(calls: &[(u32, &str, u32)]) -> Vec<String> {
        let span = |at| Span::new(FileId(0), at, at + 5);
        let mut noted = Calls::default();
        for (place, name, call) in calls {
            noted.add((FileId(0), *place), &(Arc::from(*name), span(*call)));
        }
        let labels = noted.to(span(0)).into_iter();
        labels
            .map(|label| format!("{} {}", label.span.start, label.text))
            .collect()
    }

    #[test]
    fn calls_are_followed_outwards_to_the_kernel() {
        assert!(shown(&[(1, "f", 10)]).is_empty());
        assert_eq!(
            shown(&[(0, "f", 10), (10, "g", 20)]),
            ["10 in this call of `f`", "20 in this call of `g`"]
        );
        // Of a function that calls itself at the same place every call is the same.
        assert_eq!(
            shown(&[(0, "f", 10), (10, "f", 10)]),
            ["10 in this call of `f`"]
        );
    }

    #[test]
    fn of_several_calls_some_are_shown() {
        assert_eq!(
            shown(&[
                (0, "f", 10),
                (0, "f", 20),
                (0, "f", 30),
                (0, "f", 40),
                (10, "g", 50)
            ]),
            [
                "10 in a call such as this of `f`",
                "20 in a call such as this of `f`",
                "30 in a call such as this of `f`"
            ]
        );
        assert_eq!(
            shown(&[(0, "f", 10), (10, "g", 20), (20, "h", 30), (20, "h", 40)]),
            [
                "10 in this call of `f`",
                "20 in this call of `g`",
                "30 in a call such as this of `h`"
            ]
        );
    }

    #[test]
    fn of_many_calls_the_innermost_and_the_outermost_are_shown() {
        let names = ["a", "b", "c", "d", "e"];
        let calls = names
            .iter()
            .zip(0..)
            .map(|(name, at)| (at * 10, *name, at * 10 + 10));
        assert_eq!(
            shown(&calls.collect::<Vec<_>>()),
            [
                "10 in this call of `a`",
                "20 in this call of `b`",
                "50 in this call of `e`, with 2 calls in between"
            ]
        );
    }
}
