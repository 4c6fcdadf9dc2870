//! Files and positions as the protocol has them: percent-encoded URIs, lines from 0, columns in UTF-16
//! units.

use cutec_frontend::source::{SourceMap, Span};
use lsp_types::{Position, Range, Uri};
use std::fmt::Write;

/// The file that a URI names. One that is no file is its own name.
pub fn file_name(uri: &Uri) -> String {
    let text = uri.as_str();
    let Some(path) = text.strip_prefix("file://") else {
        return text.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URI of a file; `None` where there is none.
pub fn uri_of(name: &str) -> Option<Uri> {
    if !name.starts_with('/') {
        return name.parse().ok();
    }
    let mut uri = "file://".to_owned();
    for byte in name.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.parse().ok()
}

/// A span as lines and columns.
pub fn range_of(span: Span, sources: &SourceMap) -> Range {
    let text = sources.file(span.file).text();
    Range {
        start: position(text, span.start as usize),
        end: position(text, span.end as usize),
    }
}

/// The byte of a text at a position; one behind the end of a line is that end.
pub fn offset(text: &str, position: Position) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(position.line as usize)
        .map(str::len)
        .sum();
    let line = lines.next().unwrap_or("").trim_end_matches(['\r', '\n']);
    if text.matches('\n').count() < position.line as usize {
        return None;
    }
    let mut units = 0;
    for (at, character) in line.char_indices() {
        if units >= position.character as usize {
            return Some(before + at);
        }
        units += character.len_utf16();
    }
    Some(before + line.len())
}

fn position(text: &str, offset: usize) -> Position {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column: usize = before[line_start..].chars().map(char::len_utf16).sum();
    Position {
        line: before.matches('\n').count() as u32,
        character: column as u32,
    }
}

/// Where the lines of a text begin, for many positions in one text.
#[derive(Debug)]
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of a text.
    pub fn new(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { text, starts }
    }

    /// The position of a byte.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or("");
        Position {
            line: line as u32,
            character: before.chars().map(char::len_utf16).sum::<usize>() as u32,
        }
    }

    /// The range of a span.
    pub fn range(&self, span: Span) -> Range {
        Range {
            start: self.position(span.start),
            end: self.position(span.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_and_uris_are_each_others_inverse() {
        for (name, uri) in [
            ("/a/b c.cute", "file:///a/b%20c.cute"),
            ("/é/ü.cute", "file:///%C3%A9/%C3%BC.cute"),
        ] {
            assert_eq!(uri_of(name).expect("a URI").as_str(), uri);
            assert_eq!(file_name(&uri.parse().expect("a URI")), name);
        }
        let untitled: Uri = "untitled:Untitled-1".parse().expect("a URI");
        assert_eq!(uri_of(&file_name(&untitled)).as_ref(), Some(&untitled));
    }

    #[test]
    fn columns_are_utf_16_units() {
        let text = "é𝄞x\n𝄞y";
        let at = |needle: &str| position(text, text.find(needle).expect("there"));
        assert_eq!(at("x"), Position::new(0, 3));
        assert_eq!(at("y"), Position::new(1, 2));
        assert_eq!(position(text, text.len()), Position::new(1, 3));
        for at in [
            0,
            text.find('x').expect("there"),
            text.find('y').expect("there"),
            text.len(),
        ] {
            assert_eq!(offset(text, position(text, at)), Some(at));
        }
        assert_eq!(offset(text, Position::new(7, 0)), None);
    }
}
