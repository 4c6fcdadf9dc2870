//! Warnings, remarks and calls as one line of an entry. Their places are offsets in the files of the source, which whoever
//! looks an entry up has at hand: its key is a hash of them.

use cutec_frontend::diagnostics::codes::ALL;
use cutec_frontend::diagnostics::{Diagnostic, Label, Severity};
use cutec_frontend::source::{FileId, SourceMap, Span};
use cutec_frontend::{Calls, NamedCall};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an entry says about its source.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Notices {
    /// What looks wrong.
    pub warnings: Vec<Diagnostic>,
    /// What each copy and gemm became.
    pub remarks: Vec<Diagnostic>,
    /// What calls led to places in functions.
    pub calls: Calls,
}

#[derive(Serialize, Deserialize)]
struct Line {
    warnings: Vec<Notice>,
    remarks: Vec<Notice>,
    /// Calls, with the names of their functions.
    calls: Vec<Place>,
    /// Places in functions, and the calls that led to each by their numbers.
    called: Vec<(u32, u32, Vec<usize>)>,
}

#[derive(Serialize, Deserialize)]
struct Notice {
    code: u16,
    severity: Level,
    message: String,
    labels: Vec<Place>,
    notes: Vec<String>,
    help: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Level {
    Error,
    Warning,
    Remark,
}

#[derive(Serialize, Deserialize)]
struct Place {
    file: u32,
    start: u32,
    end: u32,
    text: String,
}

impl Notices {
    /// As one line without its end.
    pub fn to_line(&self) -> serde_json::Result<String> {
        let mut calls: Vec<&NamedCall> = Vec::new();
        let mut called = Vec::new();
        for ((file, offset), of_place) in self.calls.places() {
            let numbers = of_place.iter().map(|call| {
                let known = calls.iter().position(|known| *known == call);
                known.unwrap_or_else(|| {
                    calls.push(call);
                    calls.len() - 1
                })
            });
            let numbers: Vec<usize> = numbers.collect();
            called.push((file.0, offset, numbers));
        }
        let calls = calls.into_iter();
        let line = Line {
            warnings: self.warnings.iter().map(Notice::of).collect(),
            remarks: self.remarks.iter().map(Notice::of).collect(),
            calls: calls.map(|(name, call)| Place::of(*call, name)).collect(),
            called,
        };
        serde_json::to_string(&line)
    }

    /// From a line; `None` where it is none, or is of other sources.
    pub fn from_line(line: &str, sources: &SourceMap) -> Option<Self> {
        let line: Line = serde_json::from_str(line).ok()?;
        let all = |notices: Vec<Notice>| {
            let diagnostics = notices.into_iter().map(|notice| notice.diagnostic(sources));
            diagnostics.collect::<Option<Vec<_>>>()
        };
        let named = line.calls.into_iter().map(|place| {
            let label = place.label(sources)?;
            Some((Arc::from(label.text), label.span))
        });
        let named = named.collect::<Option<Vec<NamedCall>>>()?;
        let mut calls = Calls::default();
        for (file, offset, of_place) in line.called {
            for number in of_place {
                calls.add((FileId(file), offset), named.get(number)?);
            }
        }
        Some(Self {
            warnings: all(line.warnings)?,
            remarks: all(line.remarks)?,
            calls,
        })
    }
}

impl Place {
    fn of(span: Span, text: &str) -> Self {
        Self {
            file: span.file.0,
            start: span.start,
            end: span.end,
            text: text.to_owned(),
        }
    }

    fn label(self, sources: &SourceMap) -> Option<Label> {
        let (_, file) = sources.files().nth(self.file as usize)?;
        file.text().get(self.start as usize..self.end as usize)?;
        Some(Label {
            span: Span::new(FileId(self.file), self.start, self.end),
            text: self.text,
        })
    }
}

impl Notice {
    fn of(diagnostic: &Diagnostic) -> Self {
        let place = |label: &Label| Place::of(label.span, &label.text);
        Self {
            code: diagnostic.code.0,
            severity: match diagnostic.severity {
                Severity::Error => Level::Error,
                Severity::Warning => Level::Warning,
                Severity::Remark => Level::Remark,
            },
            message: diagnostic.message.clone(),
            labels: diagnostic.labels.iter().map(place).collect(),
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
        }
    }

    fn diagnostic(self, sources: &SourceMap) -> Option<Diagnostic> {
        let known = ALL.iter().find(|info| info.code.0 == self.code)?;
        let labels: Option<Vec<Label>> = self
            .labels
            .into_iter()
            .map(|place| place.label(sources))
            .collect();
        Some(Diagnostic {
            code: known.code,
            severity: match self.severity {
                Level::Error => Severity::Error,
                Level::Warning => Severity::Warning,
                Level::Remark => Severity::Remark,
            },
            message: self.message,
            labels: labels.filter(|labels| !labels.is_empty())?,
            notes: self.notes,
            help: self.help,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_frontend::diagnostics::codes::UNEXPECTED_TOKEN;

    #[test]
    fn a_line_gives_what_it_was_made_of_and_nothing_for_other_sources() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.cute", "é let x;\n");
        let span = Span::new(file, 3, 6);
        let warning = Diagnostic::warning(UNEXPECTED_TOKEN, span, "an \"x\"\nof `é`", "here");
        let warning = warning.with_note("a note").with_help("a help");
        let mut calls = Calls::default();
        for (place, name, at) in [(4, "f", 3), (4, "g", 7), (6, "f", 3)] {
            let call = (Arc::from(name), Span::new(file, at, at + 1));
            calls.add((file, place), &call);
        }
        let notices = Notices {
            warnings: vec![warning],
            remarks: Vec::new(),
            calls,
        };
        let line = notices.to_line().expect("text");
        assert!(!line.contains('\n'));
        assert_eq!(Notices::from_line(&line, &sources), Some(notices));
        assert_eq!(Notices::from_line(&line, &SourceMap::new()), None);
        let mut other = SourceMap::new();
        other.add("a.cute", "xé");
        assert_eq!(Notices::from_line(&line, &other), None);
        assert_eq!(Notices::from_line("{}", &sources), None);
    }
}
