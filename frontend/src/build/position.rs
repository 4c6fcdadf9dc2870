//! Where kernels come from: places in texts of the host, such as a model or a program of another language.

use crate::source::{FileId, MAX_SOURCE_BYTES, Span};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A text of the host that kernels are made of. Messages show its lines, `.loc` and faults name it.
#[derive(Debug, Clone)]
pub struct SourceText(Arc<Text>);

#[derive(Debug)]
struct Text {
    /// Another one for each text of the process, and none that a file of a tree has before it has places.
    id: u32,
    name: String,
    text: Arc<str>,
}

/// A part of a text of the host.
#[derive(Debug, Clone)]
pub struct Position {
    text: SourceText,
    start: u32,
    end: u32,
}

impl SourceText {
    /// A text under the name that messages and `.loc` lines have. One module takes texts of different names.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        static TEXTS: AtomicU32 = AtomicU32::new(1);
        Self(Arc::new(Text {
            id: TEXTS.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            text: text.into(),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.0.text
    }

    /// These bytes. What lies outside of the text is left out, and what begins or ends within a character begins before it.
    pub fn span(&self, bytes: Range<usize>) -> Position {
        let text = self.text();
        let boundary = |at: usize| {
            let at = at.min(text.len()).min(MAX_SOURCE_BYTES);
            text.floor_char_boundary(at) as u32
        };
        let (start, end) = (boundary(bytes.start), boundary(bytes.end));
        Position {
            text: self.clone(),
            start,
            end: end.max(start),
        }
    }

    /// This line, counted from 1, without the spaces around it; the end of the text where it has fewer.
    pub fn line(&self, line: usize) -> Position {
        let mut start = 0;
        for (at, text) in self.text().split('\n').enumerate() {
            if at + 1 == line {
                let indent = text.len() - text.trim_start().len();
                return self.span(start + indent..start + text.trim_end().len().max(indent));
            }
            start += text.len() + 1;
        }
        self.span(start..start)
    }

    /// What stands for its file while a tree has no places.
    pub(super) fn id(&self) -> FileId {
        FileId(self.0.id)
    }
}

impl Position {
    /// The text.
    pub fn text(&self) -> &SourceText {
        &self.text
    }

    /// The bytes.
    pub fn bytes(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn span(&self) -> Span {
        Span::new(self.text.id(), self.start, self.end)
    }
}

/// Texts that the nodes of a tree are placed in, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts(pub Vec<SourceText>);

impl Texts {
    pub fn add(&mut self, text: &SourceText) {
        if !self.0.iter().any(|known| known.id() == text.id()) {
            self.0.push(text.clone());
        }
    }

    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|text| self.add(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_lie_within_their_text_on_boundaries_of_characters() {
        let text = SourceText::new("model.py", "a = 1\n  é = 2  \n");
        let shown = |position: Position| text.text()[position.bytes()].to_owned();
        assert_eq!(shown(text.line(1)), "a = 1");
        assert_eq!(shown(text.line(2)), "é = 2");
        assert_eq!(shown(text.line(3)), "");
        assert_eq!(shown(text.line(40)), "");
        assert_eq!(shown(text.line(0)), "");
        assert_eq!(shown(text.span(9..10)), "é");
        assert_eq!(shown(text.span(5..usize::MAX)), "\n  é = 2  \n");
        assert_eq!(shown(text.span(Range { start: 5, end: 2 })), "");
    }
}
