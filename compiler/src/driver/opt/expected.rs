//! `--verify-diagnostics`: the messages of a run against the comments that announce them.
//!
//! `// expected-error {{part of the message}}` expects an error on its own line, `@+2`, `@-1` that
//! many lines below or above, `@below` and `@above` the next or previous line without such a comment,
//! `@unknown` anywhere. `expected-warning`, `expected-remark` and `expected-note` likewise.

use crate::codegen::{Message, Severity};

/// One expected message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expectation {
    severity: Severity,
    /// Line in the file, from 1; `None` for `@unknown`.
    line: Option<u32>,
    text: String,
    /// Where the comment stands.
    written: u32,
    met: bool,
}

/// Complaints about `messages` against the comments in `text`, which begins after `lines_before`
/// lines of `file`. None when all is as announced.
pub fn check(text: &str, lines_before: u32, file: &str, messages: &[Message]) -> Vec<String> {
    let mut expectations = expectations(text, lines_before);
    let mut complaints = Vec::new();
    for message in messages {
        check_message(message, file, &mut expectations, &mut complaints);
    }
    for expectation in expectations.iter().filter(|expectation| !expectation.met) {
        complaints.push(format!(
            "{file}:{}: error: expected {} \"{}\" was not produced",
            expectation.written, expectation.severity, expectation.text
        ));
    }
    complaints
}

fn check_message(
    message: &Message,
    file: &str,
    expectations: &mut [Expectation],
    complaints: &mut Vec<String>,
) {
    let line = message
        .place
        .as_ref()
        .filter(|place| place.file == file)
        .map(|place| place.line);
    let fitting = expectations.iter_mut().find(|expectation| {
        !expectation.met
            && expectation.severity == message.severity
            && (expectation.line.is_none() || expectation.line == line)
            && message.text.contains(&expectation.text)
    });
    match fitting {
        Some(expectation) => expectation.met = true,
        None => {
            let place = match &message.place {
                Some(place) => format!("{place}: "),
                None => String::new(),
            };
            complaints.push(format!(
                "{place}error: unexpected {}: {}",
                message.severity, message.text
            ));
        }
    }
    // Notes need not be announced; those that are must come.
    for note in &message.notes {
        let mut ignored = Vec::new();
        check_message(note, file, expectations, &mut ignored);
    }
}

fn expectations(text: &str, lines_before: u32) -> Vec<Expectation> {
    let lines: Vec<&str> = text.lines().collect();
    let is_plain = |index: &usize| !lines[*index].contains("expected-");
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut rest = *line;
        while let Some(at) = rest.find("expected-") {
            rest = &rest[at + "expected-".len()..];
            let kinds = [
                ("error", Severity::Error),
                ("warning", Severity::Warning),
                ("remark", Severity::Remark),
                ("note", Severity::Note),
            ];
            let Some((word, severity)) = kinds.iter().find(|(word, _)| rest.starts_with(word))
            else {
                continue;
            };
            rest = &rest[word.len()..];
            let Some((designator, after)) = rest.split_once("{{") else {
                continue;
            };
            let Some((message, after)) = after.split_once("}}") else {
                continue;
            };
            rest = after;
            let number = |index: usize| Some(lines_before + index as u32 + 1);
            let line = match designator.trim() {
                "" => number(index),
                "@below" => (index + 1..lines.len()).find(is_plain).and_then(number),
                "@above" => (0..index).rev().find(is_plain).and_then(number),
                "@unknown" => None,
                relative => relative
                    .strip_prefix('@')
                    .and_then(|relative| relative.parse::<i64>().ok())
                    .and_then(|relative| usize::try_from(index as i64 + relative).ok())
                    .and_then(number),
            };
            found.push(Expectation {
                severity: *severity,
                line,
                text: message.trim().to_owned(),
                written: lines_before + index as u32 + 1,
                met: false,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::messages::Place;

    fn error(line: u32, text: &str) -> Message {
        Message {
            severity: Severity::Error,
            place: Some(Place {
                file: "f".to_owned(),
                line,
                column: 1,
            }),
            text: text.to_owned(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn designators_name_lines() {
        let text = "\
// expected-error@+2 {{one}}
// expected-error@below {{two}}
op
// expected-error@above {{three}}
op // expected-error {{four}} expected-error {{five}}
";
        let messages = [
            error(13, "has one"),
            error(13, "has two"),
            error(13, "three"),
            error(15, "four"),
            error(15, "five"),
        ];
        assert_eq!(check(text, 10, "f", &messages), [""; 0]);
    }

    #[test]
    fn what_is_missing_and_what_is_new_are_complaints() {
        let complaints = check("// expected-error {{x}}\n", 0, "f", &[error(2, "y")]);
        assert_eq!(
            complaints,
            [
                "f:2:1: error: unexpected error: y",
                "f:1: error: expected error \"x\" was not produced"
            ]
        );
    }
}
