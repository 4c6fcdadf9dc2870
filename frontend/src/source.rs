//! Source files and spans.
//!
//! The front end reads no files itself. The caller puts texts into a [`SourceMap`] and answers
//! `import` through a [`SourceLoader`].

use std::fmt;
use std::sync::Arc;

/// Which file of a [`SourceMap`] a span lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes in one file. `start <= end`; both lie on character boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of `file`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        debug_assert!(start <= end, "span {start}..{end} runs backwards");
        Span { file, start, end }
    }

    /// The smallest span that holds both. Spans of different files: the first one.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The empty span just past this one.
    pub fn after(self) -> Span {
        Span {
            file: self.file,
            start: self.end,
            end: self.end,
        }
    }

    /// Length in bytes.
    pub fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

/// A value and where it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Attaches a span to a value.
    pub fn new(node: T, span: Span) -> Self {
        Spanned { node, span }
    }
}

/// One source file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    line_starts: Vec<u32>,
}

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl SourceFile {
    fn new(name: String, text: Arc<str>) -> Self {
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        SourceFile {
            name,
            text,
            line_starts,
        }
    }

    /// The name under which the file was added; diagnostics and `.loc` lines show it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Line and column of a byte offset; past the end counts as the end.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let offset = (offset as usize).min(self.text.len());
        let line = self
            .line_starts
            .partition_point(|&start| start as usize <= offset)
            - 1;
        let start = self.line_starts[line] as usize;
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |text| text.chars().count());
        LineColumn {
            line: line as u32 + 1,
            column: column as u32 + 1,
        }
    }
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// The largest source text that spans can address.
pub const MAX_SOURCE_BYTES: usize = u32::MAX as usize - 1;

impl SourceMap {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. A text beyond [`MAX_SOURCE_BYTES`] is cut there.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let mut text: Arc<str> = text.into();
        if text.len() > MAX_SOURCE_BYTES {
            let cut = (0..=MAX_SOURCE_BYTES)
                .rev()
                .find(|&at| text.is_char_boundary(at));
            text = Arc::from(&text[..cut.unwrap_or(0)]);
        }
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile::new(name.into(), text));
        id
    }

    /// The file of that number.
    ///
    /// # Panics
    /// If `id` comes from another map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The file of that name, if it was added.
    pub fn find(&self, name: &str) -> Option<FileId> {
        let at = self.files.iter().position(|file| file.name == name)?;
        Some(FileId(at as u32))
    }

    /// All files in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(at, file)| (FileId(at as u32), file))
    }

    /// The text under a span; empty where the span lies outside of its file.
    pub fn snippet(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column of the start of a span.
    pub fn line_column(&self, span: Span) -> LineColumn {
        self.file(span.file).line_column(span.start)
    }
}

/// What an `import` resolved to.
#[derive(Clone, Debug)]
pub struct LoadedSource {
    /// The canonical name: two imports of one name are one file.
    pub name: String,
    /// The text of the file.
    pub text: Arc<str>,
}

/// Answers `import "path";`. The program that owns the file system implements it.
pub trait SourceLoader {
    /// Finds `path` as written in the file named `importer`. An error is one line saying why not.
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String>;
}

/// A loader that has nothing: every import fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoImports;

impl SourceLoader for NoImports {
    fn load(&self, _importer: &str, _path: &str) -> Result<LoadedSource, String> {
        Err("no other files can be imported here".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let mut map = SourceMap::new();
        let id = map.add("a.cute", "é = 1\nx");
        let at = |offset| map.file(id).line_column(offset);
        assert_eq!(at(0), LineColumn { line: 1, column: 1 });
        assert_eq!(at(2), LineColumn { line: 1, column: 2 });
        assert_eq!(at(7), LineColumn { line: 2, column: 1 });
        assert_eq!(at(999), LineColumn { line: 2, column: 2 });
        assert_eq!(map.snippet(Span::new(id, 0, 2)), "é");
    }
}
