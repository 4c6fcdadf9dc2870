//! Diagnostics as text, through ariadne. Nothing else in cutec prints a diagnostic.

use super::harmless::harmless;
use super::{Diagnostic, Severity, codes};
use crate::source::{FileId, SourceMap, Span};
use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind, Source};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How diagnostics look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// ANSI colours.
    pub color: bool,
    /// Box-drawing characters; without them the drawing is ASCII.
    pub unicode: bool,
}

impl RenderOptions {
    /// Plain ASCII, the same everywhere: for snapshots and logs.
    pub const PLAIN: RenderOptions = RenderOptions {
        color: false,
        unicode: false,
    };
    /// Colours and lines, for a terminal.
    pub const TERMINAL: RenderOptions = RenderOptions {
        color: true,
        unicode: true,
    };
}

impl ariadne::Span for Span {
    type SourceId = FileId;
    fn source(&self) -> &FileId {
        &self.file
    }
    fn start(&self) -> usize {
        self.start as usize
    }
    fn end(&self) -> usize {
        self.end as usize
    }
}

struct Files<'a> {
    map: &'a SourceMap,
    parsed: Vec<(FileId, Source<Arc<str>>)>,
}

impl ariadne::Cache<FileId> for Files<'_> {
    type Storage = Arc<str>;

    fn fetch(&mut self, id: &FileId) -> Result<&Source<Arc<str>>, impl fmt::Debug> {
        let at = match self.parsed.iter().position(|(known, _)| known == id) {
            Some(at) => at,
            None => {
                let text = self.map.file(*id).text();
                let shown = match harmless(text) {
                    Cow::Borrowed(_) => text.clone(),
                    Cow::Owned(replaced) => replaced.into(),
                };
                self.parsed.push((*id, Source::from(shown)));
                self.parsed.len() - 1
            }
        };
        Ok::<_, fmt::Error>(&self.parsed[at].1)
    }

    fn display<'a>(&self, id: &'a FileId) -> Option<impl fmt::Display + 'a> {
        Some(harmless(self.map.file(*id).name()).into_owned())
    }
}

/// One diagnostic as text.
pub fn render(diagnostic: &Diagnostic, map: &SourceMap, options: RenderOptions) -> String {
    render_all(std::slice::from_ref(diagnostic), map, options)
}

/// Several diagnostics as text, an empty line between them.
pub fn render_all(diagnostics: &[Diagnostic], map: &SourceMap, options: RenderOptions) -> String {
    let mut files = Files {
        map,
        parsed: Vec::new(),
    };
    let mut out = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        // Writing into a vector cannot fail, and the cache has every file.
        let _ = report(diagnostic, options).write(&mut files, &mut out);
    }
    let text = String::from_utf8_lossy(&out);
    let mut clean: String = text
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n");
    clean.push('\n');
    clean
}

fn report(diagnostic: &Diagnostic, options: RenderOptions) -> Report<'static, Span> {
    let (kind, color) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        Severity::Remark => (ReportKind::Advice, Color::Blue),
    };
    let config = Config::default()
        .with_color(options.color)
        .with_char_set(if options.unicode {
            CharSet::Unicode
        } else {
            CharSet::Ascii
        })
        .with_index_type(IndexType::Byte);
    let mut builder = Report::build(kind, diagnostic.span())
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(harmless(&diagnostic.message));
    for (order, label) in diagnostic.labels.iter().enumerate() {
        let color = if order == 0 { color } else { Color::Cyan };
        builder = builder.with_label(
            Label::new(label.span)
                .with_message(harmless(&label.text))
                .with_color(color)
                .with_order(order as i32),
        );
    }
    for note in &diagnostic.notes {
        builder = builder.with_note(harmless(note));
    }
    if let Some(help) = &diagnostic.help {
        builder = builder.with_help(harmless(help));
    }
    builder.finish()
}

/// The long text for `cutec --explain E0001`: title, explanation, and nothing about one program.
pub fn explain(code: &str) -> Option<String> {
    let info = codes::lookup(code)?;
    Some(format!(
        "{}: {}\n\n{}\n",
        info.code,
        info.title,
        info.explanation.trim()
    ))
}
