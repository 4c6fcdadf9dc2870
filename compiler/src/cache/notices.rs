//! Warnings and remarks as one line of an entry. Their places are offsets in the files of the source, which whoever
//! looks an entry up has at hand: its key is a hash of them.

use cutec_frontend::diagnostics::codes::ALL;
use cutec_frontend::diagnostics::{Diagnostic, Label, Severity};
use cutec_frontend::source::{FileId, SourceMap, Span};
use serde::{Deserialize, Serialize};

/// What an entry says about its source.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Notices {
    /// What looks wrong.
    pub warnings: Vec<Diagnostic>,
    /// What each copy and gemm became.
    pub remarks: Vec<Diagnostic>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    warnings: Vec<Notice>,
    remarks: Vec<Notice>,
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
        let line = Line {
            warnings: self.warnings.iter().map(Notice::of).collect(),
            remarks: self.remarks.iter().map(Notice::of).collect(),
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
        Some(Self {
            warnings: all(line.warnings)?,
            remarks: all(line.remarks)?,
        })
    }
}

impl Notice {
    fn of(diagnostic: &Diagnostic) -> Self {
        let place = |label: &Label| Place {
            file: label.span.file.0,
            start: label.span.start,
            end: label.span.end,
            text: label.text.clone(),
        };
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
        let label = |place: Place| {
            let (_, file) = sources.files().nth(place.file as usize)?;
            let (start, end) = (place.start, place.end);
            file.text().get(start as usize..end as usize)?;
            Some(Label {
                span: Span::new(FileId(place.file), start, end),
                text: place.text,
            })
        };
        let known = ALL.iter().find(|info| info.code.0 == self.code)?;
        let labels: Option<Vec<Label>> = self.labels.into_iter().map(label).collect();
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
        let notices = Notices {
            warnings: vec![warning],
            remarks: Vec::new(),
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
