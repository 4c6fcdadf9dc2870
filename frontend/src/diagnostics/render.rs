//! Diagnostics as text, through ariadne. Nothing else in cutec prints a diagnostic.

use super::harmless::harmless;
use super::{Diagnostic, Severity, codes};
use crate::source::{FileId, SourceMap};
use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind, Source};
use std::borrow::Cow;
use std::collections::HashMap;
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

/// The places of a diagnostic's labels, in their order.
fn places(diagnostic: &Diagnostic, map: &SourceMap) -> Vec<Shown> {
    let mut part = 0;
    let mut above: Option<(FileId, u32)> = None;
    let places = diagnostic.labels.iter().map(|label| {
        let (span, file) = (label.span, map.file(label.span.file));
        let line = file
            .line_column(span.end.saturating_sub(1).max(span.start))
            .line;
        part += usize::from(above.is_some_and(|(of, last)| of != span.file || line < last));
        above = Some((span.file, line));
        let characters = |end: u32| {
            let before = file.text().get(..end as usize).unwrap_or(file.text());
            before.chars().count()
        };
        let (start, mut end) = (characters(span.start), characters(span.end));
        let begin = file.line_column(span.start);
        if begin.line == line {
            let column = begin.column as usize - 1;
            end = end.min(start - column + WIDTH.max(column + BEHIND));
        }
        Shown {
            source: (span.file, part),
            start,
            end,
        }
    });
    places.collect()
}

/// Characters of a line that are shown at least, and those behind the begin of a label.
const WIDTH: usize = 200;
const BEHIND: usize = 60;

struct Files<'a> {
    map: &'a SourceMap,
    /// How much of lines with labels is shown, where that may be more than of others.
    widths: HashMap<(FileId, usize), usize>,
    parsed: Vec<(FileId, Source<Arc<str>>)>,
}

impl<'a> Files<'a> {
    fn new(diagnostics: &[Diagnostic], map: &'a SourceMap) -> Self {
        let mut widths: HashMap<(FileId, usize), usize> = HashMap::new();
        let labels = diagnostics.iter().flat_map(|found| &found.labels);
        for span in labels.map(|label| label.span) {
            let place = |offset| map.file(span.file).line_column(offset);
            let (begin, end) = (place(span.start), place(span.end.saturating_sub(1)));
            let below = (end.line > begin.line).then_some(end);
            for at in std::iter::once(begin).chain(below) {
                let width = widths.entry((span.file, at.line as usize)).or_default();
                *width = (at.column as usize + BEHIND).max(*width);
            }
        }
        Self {
            map,
            widths,
            parsed: Vec::new(),
        }
    }

    /// The text with what is too long of its lines left out; as many characters as it had, so that places stay where they are.
    fn clipped(&self, id: FileId, text: &str) -> Option<String> {
        if text.lines().all(|line| line.len() <= WIDTH) {
            return None;
        }
        let mut clipped = String::with_capacity(text.len());
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let width = self.widths.get(&(id, number + 1)).copied();
            let width = width.unwrap_or(0).max(WIDTH);
            clipped.extend(line.chars().enumerate().map(|(at, letter)| match letter {
                '\r' | '\n' => letter,
                _ if at < width => letter,
                _ if at == width => '…',
                _ => ' ',
            }));
        }
        Some(clipped)
    }
}

impl ariadne::Cache<(FileId, usize)> for Files<'_> {
    type Storage = Arc<str>;

    fn fetch(&mut self, (id, _): &(FileId, usize)) -> Result<&Source<Arc<str>>, impl fmt::Debug> {
        let at = match self.parsed.iter().position(|(known, _)| known == id) {
            Some(at) => at,
            None => {
                let text = self.map.file(*id).text();
                let harmless = harmless(text);
                let shown = match (self.clipped(*id, &harmless), harmless) {
                    (Some(clipped), _) => clipped.into(),
                    (None, Cow::Borrowed(_)) => text.clone(),
                    (None, Cow::Owned(replaced)) => replaced.into(),
                };
                self.parsed.push((*id, Source::from(shown)));
                self.parsed.len() - 1
            }
        };
        Ok::<_, fmt::Error>(&self.parsed[at].1)
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
    let mut files = Files::new(diagnostics, map);
    let mut out = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        // Writing into a vector cannot fail, and the cache has every file.
        let _ = report(diagnostic, map, options).write(&mut files, &mut out);
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

fn report(
    diagnostic: &Diagnostic,
    map: &SourceMap,
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
    let places = places(diagnostic, map);
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
