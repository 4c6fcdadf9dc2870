//! A file with everything it imports.
//!
//! `import` includes a file once, however often and from wherever it is named; files may import
//! each other. All items of all files share one set of names, except tests and benches, which
//! belong to their file.

use crate::ast::{File, Item, ItemKind};
use crate::diagnostics::{Code, Diagnostic, Label, Problem, codes};
use crate::parser::parse_file;
use crate::source::{FileId, SourceLoader, SourceMap, Span};
use crate::stdlib;
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
}

impl Problem for ProgramProblem {
    fn code(&self) -> Code {
        match self {
            ProgramProblem::Import { .. } => codes::IMPORT_FAILED,
            ProgramProblem::Duplicate { .. } => codes::DUPLICATE_ITEM,
        }
    }

    fn label(&self) -> String {
        match self {
            ProgramProblem::Import { .. } => "imported here".to_owned(),
            ProgramProblem::Duplicate { .. } => "second definition".to_owned(),
        }
    }

    fn other_labels(&self) -> Vec<Label> {
        match self {
            ProgramProblem::Import { .. } => Vec::new(),
            ProgramProblem::Duplicate { keyword, first, .. } => {
                vec![Label {
                    span: *first,
                    text: format!("first defined here, as `{keyword}`"),
                }]
            }
        }
    }
}

/// The root file and all imported files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The root file is the first; each file stands before those that it imports.
    pub files: Vec<File>,
}

impl Program {
    /// The file that was asked for.
    pub fn root(&self) -> Option<&File> {
        self.files.first()
    }

    /// All items of all files.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.files.iter().flat_map(|file| &file.items)
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
    let mut program = Program::default();
    let mut queue: Vec<FileId> = vec![root];
    let mut next = 0;
    while let Some(&id) = queue.get(next) {
        next += 1;
        let file = parse_file(map, id, diagnostics);
        for item in &file.items {
            let ItemKind::Import(import) = &item.kind else {
                continue;
            };
            let importer = map.file(id).name().to_owned();
            let loaded = match stdlib::load(&import.path.node) {
                Some(found) => found,
                None => loader.load(&importer, &import.path.node),
            };
            match loaded {
                Ok(loaded) if map.find(&loaded.name).is_some() => {}
                Ok(loaded) => queue.push(map.add(loaded.name, loaded.text)),
                Err(reason) => {
                    let path = import.path.node.clone();
                    let problem = ProgramProblem::Import { path, reason };
                    diagnostics.push(Diagnostic::of(import.path.span, &problem));
                }
            }
        }
        program.files.push(file);
    }
    check_duplicates(&program, diagnostics);
    program
}

fn check_duplicates(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let mut shared: HashMap<&str, (&'static str, Span)> = HashMap::new();
    for file in &program.files {
        let mut own: HashMap<&str, (&'static str, Span)> = HashMap::new();
        for item in &file.items {
            let Some(name) = item.kind.name() else {
                continue;
            };
            let names = match item.kind {
                ItemKind::Test(_) | ItemKind::Bench(_) => &mut own,
                _ => &mut shared,
            };
            match names.get(&*name.node) {
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
                    names.insert(&name.node, (item.kind.keyword(), name.span));
                }
            }
        }
    }
}
