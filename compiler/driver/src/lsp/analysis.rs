//! What the text of an open file says by itself, parsed anew at each change, and what its last compilation has found.
//! Answers come from here: nobody waits for a compilation.

use super::place::{self, Lines};
use super::{Document, Documents, OpenFiles};
use cutec_frontend::names::{Definition, Names, Use, resolve};
use cutec_frontend::source::{FileId, SourceMap, Span};
use cutec_frontend::{Observation, Program, load_program};
use lsp_types::{Location, TextDocumentPositionParams, Uri};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A file with all that it imports.
#[derive(Debug)]
pub struct Analysis {
    /// The texts; the first is the file's own.
    pub sources: SourceMap,
    /// Their trees.
    pub program: Program,
    /// What their names mean.
    pub names: Names,
}

/// What names stood for when a text was last compiled.
#[derive(Debug, Default)]
pub struct Observed {
    /// The text.
    pub text: Arc<str>,
    /// By file and bytes of where a name is bound.
    pub values: HashMap<(String, u32, u32), Vec<Observation>>,
}

/// A place in an open file.
pub struct At<'a> {
    /// The file.
    pub document: &'a Document,
    /// What its text says.
    pub analysis: &'a Analysis,
    /// The byte.
    pub offset: u32,
}

impl Analysis {
    /// Parses the open file of that name, and what it imports.
    pub fn of(name: &str, document: &Document, documents: &Documents) -> Self {
        let mut sources = SourceMap::new();
        let loader = OpenFiles(documents);
        let mut ignored = Vec::new();
        let program = load_program(&mut sources, name, &document.text, &loader, &mut ignored);
        let names = resolve(&program);
        Self {
            sources,
            program,
            names,
        }
    }

    /// The file itself.
    pub fn root(&self) -> FileId {
        self.program.root().map(|root| root.id).unwrap_or_default()
    }

    /// The lines of the file itself.
    pub fn lines(&self) -> Lines<'_> {
        Lines::new(self.sources.file(self.root()).text())
    }

    /// A span with its file; none in the library, which is no file.
    pub fn location(&self, span: Span) -> Option<Location> {
        let file = self.sources.file(span.file);
        if file.name().starts_with("std/") {
            return None;
        }
        Some(Location {
            uri: place::uri_of(file.name())?,
            range: Lines::new(file.text()).range(span),
        })
    }

    /// What tells a definition from all others, in every file that knows it.
    pub fn key(&self, definition: &Definition) -> (String, u32) {
        let file = self.sources.file(definition.span.file).name().to_owned();
        (file, definition.span.start)
    }

    /// The text under a span on one line, as an editor shows it.
    pub fn line_of(&self, span: Span) -> String {
        let words: Vec<&str> = self.sources.snippet(span).split_whitespace().collect();
        words.join(" ")
    }
}

impl<'a> At<'a> {
    /// The place that a request means.
    pub fn find(
        documents: &'a Documents,
        analyses: &'a BTreeMap<String, Analysis>,
        params: &TextDocumentPositionParams,
    ) -> Option<Self> {
        let (document, analysis) = of(documents, analyses, &params.text_document.uri)?;
        let offset = place::offset(&document.text, params.position)? as u32;
        Some(Self {
            document,
            analysis,
            offset,
        })
    }

    /// The name there.
    pub fn name(&self) -> Option<&'a Use> {
        self.analysis.names.at(self.analysis.root(), self.offset)
    }
}

/// An open file by its URI.
pub fn of<'a>(
    documents: &'a Documents,
    analyses: &'a BTreeMap<String, Analysis>,
    uri: &Uri,
) -> Option<(&'a Document, &'a Analysis)> {
    let name = place::file_name(uri);
    Some((documents.get(&name)?, analyses.get(&name)?))
}
