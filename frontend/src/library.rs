//! The standard library in a program: of its files an item is parsed when somebody asks for it, since a program uses few of them.
//!
//! The files are ours and in the style of the language, so that an item begins where a line begins with its keyword.

use crate::ast::{Item, ItemKind};
use crate::parser::parse_part;
use crate::source::{FileId, Span};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What lines of library files begin with that are items others can name.
const KEYWORDS: [&str; 3] = ["fn", "record", "const"];
const IMPORT: &str = "import \"";

/// A file of the standard library.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryFile {
    /// Which file.
    pub id: FileId,
    /// Its items but for imports, in the order of the text.
    pub items: Vec<LibraryItem>,
    text: Arc<str>,
}

/// An item of a library file.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryItem {
    file: FileId,
    text: Arc<str>,
    keyword: &'static str,
    name: Range<usize>,
    /// With the lines before it that document it.
    whole: Range<usize>,
    parsed: OnceLock<Item>,
}

impl LibraryFile {
    /// The file of this text.
    pub fn new(id: FileId, text: &Arc<str>) -> Self {
        let mut items: Vec<LibraryItem> = Vec::new();
        // Where the lines begin that document the next item.
        let mut docs = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let first = docs.unwrap_or(start);
            let head = item_head(line);
            if head.is_some() || line.starts_with(IMPORT) {
                end_at(items.last_mut(), first);
            }
            if let Some((keyword, name)) = head {
                let at = start + keyword.len() + 1;
                items.push(LibraryItem {
                    file: id,
                    text: Arc::clone(text),
                    keyword,
                    name: at..at + name.len(),
                    whole: first..text.len(),
                    parsed: OnceLock::new(),
                });
            }
            docs = line.starts_with("///").then_some(first);
            start += line.len();
        }
        LibraryFile {
            id,
            items,
            text: Arc::clone(text),
        }
    }

    /// The paths of the files that it imports.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        let paths = self.text.lines().map(|line| line.strip_prefix(IMPORT));
        paths.flatten().filter_map(|rest| rest.split('"').next())
    }
}

impl LibraryItem {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.text[self.name.clone()]
    }

    /// Its keyword.
    pub fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// What it is.
    pub fn item(&self) -> &Item {
        self.parsed.get_or_init(|| {
            let mut items = parse_part(self.file, &self.text, self.whole.clone(), &mut Vec::new());
            items.pop().unwrap_or(Item {
                docs: Vec::new(),
                kind: ItemKind::Error,
                span: Span::new(self.file, self.name.start as u32, self.name.end as u32),
            })
        })
    }
}

/// The keyword and the name of the item that a line of a library file begins.
pub fn item_head(line: &str) -> Option<(&'static str, &str)> {
    KEYWORDS.into_iter().find_map(|keyword| {
        let rest = line.strip_prefix(keyword)?.strip_prefix(' ')?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Some((keyword, &rest[..end.unwrap_or(rest.len())]))
    })
}

fn end_at(item: Option<&mut LibraryItem>, end: usize) {
    if let Some(item) = item {
        item.whole.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_text;
    use crate::stdlib;
    use std::collections::HashSet;

    /// Item by item each file is what it is as a whole; no two items of the library have one name.
    #[test]
    fn items_are_those_of_the_whole_file() {
        let mut names = HashSet::new();
        for (path, text) in stdlib::FILES {
            let mut diagnostics = Vec::new();
            let whole = parse_text(FileId(3), text, &mut diagnostics);
            assert!(diagnostics.is_empty(), "{path}: {diagnostics:?}");
            let file = LibraryFile::new(FileId(3), &Arc::from(*text));
            let (imports, items): (Vec<&Item>, Vec<&Item>) = whole
                .items
                .iter()
                .partition(|item| matches!(item.kind, ItemKind::Import(_)));
            let parsed: Vec<&Item> = file.items.iter().map(LibraryItem::item).collect();
            assert_eq!(parsed, items, "{path}");
            for (item, of_file) in file.items.iter().zip(items) {
                let name = of_file.kind.name().map(|name| &*name.node);
                assert_eq!(Some(item.name()), name);
                assert_eq!(item.keyword(), of_file.kind.keyword());
                assert!(
                    names.insert(item.name().to_owned()),
                    "{path}: {}",
                    item.name()
                );
            }
            let paths = imports.into_iter().map(|item| match &item.kind {
                ItemKind::Import(import) => &*import.path.node,
                _ => "",
            });
            let found: Vec<&str> = file.imports().collect();
            assert_eq!(found, paths.collect::<Vec<_>>(), "{path}");
            for path in found {
                assert!(matches!(stdlib::load(path), Some(Ok(_))), "{path}");
            }
        }
    }
}
