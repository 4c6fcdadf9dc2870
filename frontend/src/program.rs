//! A file with everything it imports.
//!
//! `import` includes a file once, however often and from wherever it is named; files may import
//! each other. A name means the item of the file that it stands in, else that of another file, else that of the
//! standard library ([`Items`]); tests and benches belong to their file. No record contains itself. Items of the
//! library are parsed when they are asked for ([`LibraryFile`]).

use crate::ast::{File, Item, ItemKind, Record};
use crate::diagnostics::{Code, Diagnostic, Label, Problem, codes};
use crate::library::{LibraryFile, LibraryItem};
use crate::names;
use crate::parser::{parse_file, words::closest};
use crate::source::{FileId, LoadedSource, SourceLoader, SourceMap, Span};
use crate::stdlib;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Something wrong between items or files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramProblem {
    /// An imported file could not be had.
    #[error("cannot import `{path}`: {reason}")]
    Import {
        /// As written.
        path: Arc<str>,
        /// What the loader said.
        reason: String,
    },
    /// Two items of one name.
    #[error("`{name}` is defined twice")]
    Duplicate {
        /// The name.
        name: Arc<str>,
        /// The keyword of the first one.
        keyword: &'static str,
        /// The name of the first one.
        first: Span,
    },
    /// A name that several files define and the one that it stands in does not.
    #[error("`{name}` is defined in several files, and not in this one")]
    Ambiguous {
        /// The name.
        name: Arc<str>,
        /// The names of the items, with their keywords.
        items: Vec<(&'static str, Span)>,
    },
    /// A record with a field of its own type, perhaps by way of others.
    #[error("the record `{name}` contains itself")]
    Recursive {
        /// The name.
        name: Arc<str>,
        /// The records by whose fields it does.
        through: Vec<Arc<str>>,
    },
}

impl Problem for ProgramProblem {
    fn code(&self) -> Code {
        match self {
            ProgramProblem::Import { .. } => codes::IMPORT_FAILED,
            ProgramProblem::Duplicate { .. } | ProgramProblem::Ambiguous { .. } => {
                codes::DUPLICATE_ITEM
            }
            ProgramProblem::Recursive { .. } => codes::RECURSIVE_RECORD,
        }
    }

    fn label(&self) -> String {
        match self {
            ProgramProblem::Import { .. } => "imported here".to_owned(),
            ProgramProblem::Duplicate { .. } => "second definition".to_owned(),
            ProgramProblem::Ambiguous { .. } => "expected one of this name".to_owned(),
            ProgramProblem::Recursive { name, through } => match through.as_slice() {
                [] => format!("a field of type `{name}`"),
                through => format!("by way of `{}`", through.join("`, `")),
            },
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            ProgramProblem::Import { path, .. } => import_help(path),
            ProgramProblem::Ambiguous { .. } => {
                Some("a file's own items come first: define it here, or give the others names of their own".to_owned())
            }
            ProgramProblem::Duplicate { .. } | ProgramProblem::Recursive { .. } => None,
        }
    }

    fn other_labels(&self) -> Vec<Label> {
        match self {
            ProgramProblem::Import { .. } | ProgramProblem::Recursive { .. } => Vec::new(),
            ProgramProblem::Ambiguous { items, .. } => {
                let label = |(keyword, span): &(&str, Span)| Label {
                    span: *span,
                    text: format!("defined here, as `{keyword}`"),
                };
                items.iter().map(label).collect()
            }
            ProgramProblem::Duplicate { keyword, first, .. } => {
                vec![Label {
                    span: *first,
                    text: format!("first defined here, as `{keyword}`"),
                }]
            }
        }
    }
}

/// The file of the library that is most like the path of an import.
fn of_library(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("std/").unwrap_or(path);
    let of_library = match name.ends_with(".cute") {
        true => format!("std/{name}"),
        false => format!("std/{name}.cute"),
    };
    let mut files = stdlib::FILES.iter().map(|(name, _)| *name);
    let known = files.clone().find(|name| *name == of_library);
    known.or_else(|| closest(&of_library, &mut files))
}

/// What was probably meant by the path of an import that failed.
fn import_help(path: &str) -> Option<String> {
    match of_library(path) {
        Some(known) => Some(format!("did you mean `import \"{known}\";`?")),
        None if !path.ends_with(".cute") => Some(format!("write `import \"{path}.cute\";`")),
        None => None,
    }
}

/// The root file and all imported files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The root file is the first; each file stands before those that it imports.
    pub files: Vec<File>,
    /// The files of the standard library that they need.
    pub library: Vec<LibraryFile>,
}

impl Program {
    /// The file that was asked for.
    pub fn root(&self) -> Option<&File> {
        self.files.first()
    }

    /// All items of all files but for the library's, which has no kernels, tests or benches.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.files.iter().flat_map(|file| &file.items)
    }

    /// All items of the library, parsed.
    pub fn library_items(&self) -> impl Iterator<Item = &Item> {
        let items = self.library.iter().flat_map(|file| &file.items);
        items.map(LibraryItem::item)
    }

    /// Takes a file of the library in, with those that it imports.
    fn add_library(&mut self, map: &mut SourceMap, loaded: LoadedSource) {
        if map.find(&loaded.name).is_some() {
            return;
        }
        let text = loaded.text.clone();
        let file = LibraryFile::new(map.add(loaded.name, loaded.text), &text);
        let imported: Vec<_> = file.imports().filter_map(stdlib::load).collect();
        self.library.push(file);
        for loaded in imported.into_iter().flatten() {
            self.add_library(map, loaded);
        }
    }
}

/// The items of a program by their names, as each of its files sees them.
///
/// A file of the standard library sees the items of the library. Every other file sees its own, behind them those of the
/// other files of the program, and behind them the library's: a file may call an item of its own as another one or the
/// library calls one, which goes on using that one.
#[derive(Debug, Default)]
pub struct Items<'a> {
    /// With the file of each, in the order of the files.
    own: FxHashMap<&'a str, Vec<(FileId, &'a ItemKind)>>,
    library: FxHashMap<&'a str, &'a LibraryItem>,
    library_files: Vec<FileId>,
}

impl<'a> Items<'a> {
    /// The items of a program but for tests and benches; of several with a name in a file the first one.
    pub fn of(program: &'a Program) -> Self {
        let mut items = Items::default();
        for item in program.items().filter(|item| item.kind.is_shared()) {
            if let Some(name) = item.kind.name() {
                let known = items.own.entry(&name.node).or_default();
                if known.iter().all(|(file, _)| *file != name.span.file) {
                    known.push((name.span.file, &item.kind));
                }
            }
        }
        for file in &program.library {
            items.library_files.push(file.id);
            let named = file.items.iter().map(|item| (item.name(), item));
            items.library.extend(named);
        }
        items
    }

    /// What a name means in a file.
    pub fn get(&self, name: &str, file: FileId) -> Option<&'a ItemKind> {
        let library = || Some(&self.library.get(name)?.item().kind);
        self.own(name, file).or_else(library)
    }

    /// What a name means in a file, unless that is of the library.
    pub fn own(&self, name: &str, file: FileId) -> Option<&'a ItemKind> {
        match self.library_files.contains(&file) {
            true => None,
            false => {
                let known = self.own.get(name)?;
                let of_file = known.iter().find(|(of, _)| *of == file);
                let (_, item) = of_file.or(known.first())?;
                Some(item)
            }
        }
    }

    /// The items of a name that a file does not define and several others do.
    fn ambiguous(&self, name: &str, file: FileId) -> Option<&[(FileId, &'a ItemKind)]> {
        let known = self.own.get(name).filter(|known| known.len() > 1)?;
        let foreign = !self.library_files.contains(&file);
        (foreign && known.iter().all(|(of, _)| *of != file)).then_some(known)
    }

    /// The names of all items of some keywords that a file sees.
    pub fn names(&self, file: FileId, keywords: &[&str]) -> impl Iterator<Item = &'a str> {
        let own = self.own.keys().filter_map(move |name| {
            let item = self.own(name, file)?;
            Some((*name, item.keyword()))
        });
        let own = own.filter(move |_| !self.library_files.contains(&file));
        let library = self.library.iter();
        let library = library.map(|(name, item)| (*name, item.keyword()));
        let wanted = move |(name, keyword)| keywords.contains(&keyword).then_some(name);
        own.chain(library).filter_map(wanted)
    }
}

/// Adds the root file to `map`, parses it, and everything that it imports.
pub fn load_program(
    map: &mut SourceMap,
    name: &str,
    text: &str,
    loader: &dyn SourceLoader,
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let root = map.add(name, text);
    let root = parse_file(map, root, diagnostics);
    load_imports(map, root, loader, diagnostics)
}

/// Parses everything that a file imports which `map` has already.
pub fn load_imports(
    map: &mut SourceMap,
    root: File,
    loader: &dyn SourceLoader,
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let mut program = Program::default();
    let mut queue: Vec<FileId> = Vec::new();
    let mut next = 0;
    let mut parsed = Some(root);
    while let Some(file) = parsed {
        for item in &file.items {
            let ItemKind::Import(import) = &item.kind else {
                continue;
            };
            let importer = map.file(file.id).name().to_owned();
            let from_library = stdlib::load(&import.path.node);
            let is_library = from_library.is_some();
            let loaded = from_library.unwrap_or_else(|| loader.load(&importer, &import.path.node));
            match loaded {
                Ok(loaded) if is_library => program.add_library(map, loaded),
                Ok(loaded) if map.find(&loaded.name).is_some() => {}
                Ok(loaded) => queue.push(map.add(loaded.name, loaded.text)),
                Err(mut reason) => {
                    let path = import.path.node.clone();
                    // Which files there are nobody needs to know who meant one of them.
                    if is_library && of_library(&path).is_some() {
                        reason = "the standard library has no such file".to_owned();
                    }
                    let problem = ProgramProblem::Import { path, reason };
                    diagnostics.push(Diagnostic::of(import.path.span, &problem));
                }
            }
        }
        program.files.push(file);
        parsed = queue.get(next).map(|id| parse_file(map, *id, diagnostics));
        next += 1;
    }
    check_duplicates(&program, diagnostics);
    check_ambiguous(&program, diagnostics);
    check_recursive_records(&program, diagnostics);
    program
}

/// Reports each field by which a record contains itself.
fn check_recursive_records(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let items = Items::of(program);
    for item in program.items() {
        let ItemKind::Record(record) = &item.kind else {
            continue;
        };
        for (name, span) in record.types() {
            let field = items.get(name, span.file).and_then(ItemKind::record);
            let Some(through) = field.and_then(|field| leads_to(record, field, &items)) else {
                continue;
            };
            let problem = ProgramProblem::Recursive {
                name: record.name.node.clone(),
                through,
            };
            diagnostics.push(Diagnostic::of(span, &problem));
        }
    }
}

/// The records by way of which `from`, and what its fields are, leads to the record `to`.
fn leads_to<'a>(to: &Record, from: &'a Record, items: &Items<'a>) -> Option<Vec<Arc<str>>> {
    // Each with the record that leads to it.
    let mut reached: Vec<(&Record, Option<usize>)> = vec![(from, None)];
    let mut at = 0;
    while let Some(&(record, before)) = reached.get(at) {
        if std::ptr::eq(record, to) {
            let mut through = Vec::new();
            let mut last = before;
            while let Some(index) = last {
                through.push(Arc::clone(&reached[index].0.name.node));
                last = reached[index].1;
            }
            through.reverse();
            return Some(through);
        }
        for (name, span) in record.types() {
            let next = items.get(name, span.file).and_then(ItemKind::record);
            if let Some(next) = next
                && !reached.iter().any(|(known, _)| std::ptr::eq(*known, next))
            {
                reached.push((next, Some(at)));
            }
        }
        at += 1;
    }
    None
}

/// Reports each item whose name its file has already, and each kernel whose name another file has: it is that of its entry.
fn check_duplicates(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let mut kernels: HashMap<&str, (&'static str, Span)> = HashMap::new();
    for file in &program.files {
        let [mut shared, mut blocks]: [HashMap<&str, (&'static str, Span)>; 2] = Default::default();
        for item in &file.items {
            let Some(name) = item.kind.name() else {
                continue;
            };
            let names = match item.kind.is_shared() {
                true => &mut shared,
                false => &mut blocks,
            };
            let is_kernel = matches!(item.kind, ItemKind::Kernel(_));
            let of_kernel = kernels.get(&*name.node).filter(|_| is_kernel);
            match names.get(&*name.node).or(of_kernel) {
                Some(&(keyword, first)) => {
                    let name_text = name.node.clone();
                    let problem = ProgramProblem::Duplicate {
                        name: name_text,
                        keyword,
                        first,
                    };
                    diagnostics.push(Diagnostic::of(name.span, &problem));
                }
                None => {
                    let place = (item.kind.keyword(), name.span);
                    names.insert(&name.node, place);
                    if is_kernel {
                        kernels.insert(&name.node, place);
                    }
                }
            }
        }
    }
}

/// Reports each use of a name in a file that does not define it where several others do.
fn check_ambiguous(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let items = Items::of(program);
    if items.own.values().all(|known| known.len() < 2) {
        return;
    }
    let names = names::resolve(program);
    for used in names
        .uses
        .iter()
        .filter(|used| !used.defines && !used.is_member)
    {
        let definitions = used.definitions.iter();
        let mut definitions = definitions.filter_map(|number| names.definitions.get(*number));
        let of_item = definitions.find_map(|definition| {
            let found = items.ambiguous(&definition.name, used.span.file)?;
            let spans = found.iter().filter_map(|(_, item)| item.name());
            let mut spans = spans.map(|name| name.span);
            spans
                .any(|span| span == definition.span)
                .then_some((&definition.name, found))
        });
        if let Some((name, found)) = of_item {
            let found = found.iter();
            let found = found.filter_map(|(_, item)| Some((item.keyword(), item.name()?.span)));
            let problem = ProgramProblem::Ambiguous {
                name: Arc::clone(name),
                items: found.collect(),
            };
            diagnostics.push(Diagnostic::of(used.span, &problem));
        }
    }
}
