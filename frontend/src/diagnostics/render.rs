//! Diagnostics as text, through ariadne. Nothing else in cutec prints a diagnostic.

use super::harmless::harmless;
use super::long_lines::Cut;
use super::{Diagnostic, Severity, codes};
use crate::source::{FileId, SourceMap};
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

/// A place as ariadne draws it, in characters. Labels of a file are drawn below one header while their lines go downwards;
/// behind the first one ariadne says where a label is of a source of its own only, so each such part counts as one.
#[derive(Clone, Copy, Default)]
struct Shown {
    source: (FileId, usize),
    start: usize,
    end: usize,
}

impl ariadne::Span for Shown {
    type SourceId = (FileId, usize);
    fn source(&self) -> &(FileId, usize) {
        &self.source
    }
    fn start(&self) -> usize {
        self.start
    }
    fn end(&self) -> usize {
        self.end
    }
}

/// The texts of the files that one diagnostic after the other shows.
struct Files<'a> {
    map: &'a SourceMap,
    parsed: Vec<(FileId, Source<Arc<str>>)>,
    /// Those with long lines, as the diagnostic at hand shows them.
    cut: Vec<(FileId, Cut)>,
}

impl<'a> Files<'a> {
    fn new(map: &'a SourceMap) -> Self {
        Self {
            map,
            parsed: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// How many characters stand before a place.
    fn characters(&self, file: FileId, offset: u32) -> usize {
        let text = self.map.file(file).text();
        let before = text.get(..offset as usize).unwrap_or(text);
        before.chars().count()
    }

    /// Gets ready for a diagnostic: long lines are cut around its places.
    fn show(&mut self, diagnostic: &Diagnostic) {
        let cut = std::mem::take(&mut self.cut);
        self.parsed
            .retain(|(known, _)| cut.iter().all(|(of, _)| of != known));
        let mut seen = Vec::new();
        for file in diagnostic.labels.iter().map(|label| label.span.file) {
            if seen.contains(&file) || self.parsed.iter().any(|(known, _)| *known == file) {
                continue;
            }
            seen.push(file);
            let this = &*self;
            let labels = diagnostic.labels.iter().map(|label| label.span);
            let places = labels.filter(|span| span.file == file).flat_map(|span| {
                let last = span.end.saturating_sub(1).max(span.start);
                let line = |offset| this.map.file(file).line_column(offset).line;
                // Of what has several lines also the last one shows where it ends.
                let below = (line(last) > line(span.start)).then_some(last);
                let places = std::iter::once(span.start).chain(below);
                places.map(move |offset| this.characters(file, offset))
            });
            let places: Vec<usize> = places.collect();
            let text = self.map.file(file).text();
            let harmless = harmless(text);
            let shown: Arc<str> = match (Cut::of(&harmless, &places), harmless) {
                (Some(cut), _) => {
                    let shown = cut.text.as_str().into();
                    self.cut.push((file, cut));
                    shown
                }
                (None, Cow::Borrowed(_)) => text.clone(),
                (None, Cow::Owned(replaced)) => replaced.into(),
            };
            self.parsed.push((file, Source::from(shown)));
        }
    }

    fn cut_of(&self, file: FileId) -> Option<&Cut> {
        let mut all = self.cut.iter();
        all.find(|(of, _)| *of == file).map(|(_, cut)| cut)
    }

    /// The places of a diagnostic's labels, in their order.
    fn places(&self, diagnostic: &Diagnostic) -> Vec<Shown> {
        let mut part = 0;
        let mut above: Option<(FileId, u32)> = None;
        let places = diagnostic.labels.iter().map(|label| {
            let (span, file) = (label.span, self.map.file(label.span.file));
            let last = span.end.saturating_sub(1).max(span.start);
            let line = file.line_column(last).line;
            part += usize::from(above.is_some_and(|(of, last)| of != span.file || line < last));
            above = Some((span.file, line));
            let [mut start, mut end] =
                [span.start, span.end].map(|offset| self.characters(span.file, offset));
            if let Some(cut) = self.cut_of(span.file) {
                [start, end] = [start, end].map(|place| cut.offset(place));
            }
            Shown {
                source: (span.file, part),
                start,
                end,
            }
        });
        places.collect()
    }

    /// What was drawn of a diagnostic, with the columns of the files in the place of those that are shown.
    fn with_columns(&self, mut drawn: String, diagnostic: &Diagnostic) -> String {
        for span in diagnostic.labels.iter().map(|label| label.span) {
            let Some(cut) = self.cut_of(span.file) else {
                continue;
            };
            let place = self.characters(span.file, span.start);
            let Some((line, shown, column)) = cut.at(place) else {
                continue;
            };
            let name = harmless(self.map.file(span.file).name());
            let head = |column: usize| format!("[ {name}:{}:{} ]", line + 1, column + 1);
            drawn = drawn.replacen(&head(shown), &head(column), 1);
        }
        drawn
    }
}

impl ariadne::Cache<(FileId, usize)> for Files<'_> {
    type Storage = Arc<str>;

    fn fetch(&mut self, (id, _): &(FileId, usize)) -> Result<&Source<Arc<str>>, impl fmt::Debug> {
        let mut known = self.parsed.iter();
        let found = known.find(|(known, _)| known == id);
        found.map(|(_, source)| source).ok_or(fmt::Error)
    }

    fn display<'a>(&self, (id, _): &'a (FileId, usize)) -> Option<impl fmt::Display + 'a> {
        Some(harmless(self.map.file(*id).name()).into_owned())
    }
}

/// One diagnostic as text.
pub fn render(diagnostic: &Diagnostic, map: &SourceMap, options: RenderOptions) -> String {
    render_all(std::slice::from_ref(diagnostic), map, options)
}

/// Several diagnostics as text, an empty line between them.
pub fn render_all(diagnostics: &[Diagnostic], map: &SourceMap, options: RenderOptions) -> String {
    let mut files = Files::new(map);
    let mut text = String::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        files.show(diagnostic);
        let places = files.places(diagnostic);
        let mut drawn = Vec::new();
        // Writing into a vector cannot fail, and the files are there.
        let _ = report(diagnostic, places, options).write(&mut files, &mut drawn);
        let drawn = String::from_utf8_lossy(&drawn).into_owned();
        text += &files.with_columns(drawn, diagnostic);
    }
    let mut clean: String = text
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n");
    clean.push('\n');
    clean
}

fn report(
    diagnostic: &Diagnostic,
    places: Vec<Shown>,
    options: RenderOptions,
) -> Report<'static, Shown> {
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
        .with_index_type(IndexType::Char);
    let first = places.first().copied().unwrap_or_default();
    let mut builder = Report::build(kind, first)
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(harmless(&diagnostic.message));
    for (order, (label, place)) in diagnostic.labels.iter().zip(places).enumerate() {
        let color = if order == 0 { color } else { Color::Cyan };
        builder = builder.with_label(
            Label::new(place)
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
