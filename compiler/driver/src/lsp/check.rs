//! What compiling a file reports, as the protocol's diagnostics.

use super::Documents;
use super::place::{range_of, uri_of};
use cutec::{Compiler, FileLoader, Options, Source};
use cutec_frontend::diagnostics::{Diagnostic, Label, Severity};
use cutec_frontend::source::{FileId, LoadedSource, SourceLoader, SourceMap};
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range,
};
use std::sync::Arc;

/// Compiles the open file of that name as far as `options` says. What is wrong in a file that it imports is shown at its
/// first line.
pub fn check(name: &str, documents: &Documents, options: &Options) -> Vec<lsp_types::Diagnostic> {
    let Some(document) = documents.get(name) else {
        return Vec::new();
    };
    let source = Source::new(name, Arc::clone(&document.text));
    let compiled = Compiler::new().compile(&source, &OpenFiles(documents), options);
    let (diagnostics, failures, sources) = match compiled {
        Ok(compiled) => (compiled.warnings, Vec::new(), compiled.sources),
        Err(error) => (error.problems, error.failures, error.sources),
    };
    let Some((root, _)) = sources.files().next() else {
        return Vec::new();
    };
    let mut found: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| shown(diagnostic, root, &sources))
        .collect();
    found.extend(failures.iter().map(|failure| lsp_types::Diagnostic {
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("cutec".to_owned()),
        message: failure.to_string(),
        ..lsp_types::Diagnostic::default()
    }));
    found
}

/// Imports: what the editor has open comes before what is on disk.
struct OpenFiles<'a>(&'a Documents);

impl SourceLoader for OpenFiles<'_> {
    fn load(&self, importer: &str, path: &str) -> Result<LoadedSource, String> {
        let name = FileLoader::name(importer, path);
        match self.0.get(&name) {
            Some(document) => Ok(LoadedSource {
                name,
                text: Arc::clone(&document.text),
            }),
            None => FileLoader.load(importer, path),
        }
    }
}

fn shown(diagnostic: &Diagnostic, root: FileId, sources: &SourceMap) -> lsp_types::Diagnostic {
    let span = diagnostic.span();
    let elsewhere = span.file != root;
    let mut message = diagnostic.message.clone();
    if elsewhere {
        let place = sources.line_column(span);
        let name = sources.file(span.file).name();
        message = format!("{name}:{}:{}: {message}", place.line, place.column);
    }
    let here = diagnostic.labels.first().filter(|_| !elsewhere);
    for (title, text) in here
        .map(|label| ("", &label.text))
        .into_iter()
        .chain(diagnostic.notes.iter().map(|note| ("note: ", note)))
        .chain(diagnostic.help.iter().map(|help| ("help: ", help)))
    {
        message = format!("{message}\n{title}{text}");
    }
    let others = match elsewhere {
        true => diagnostic.labels.as_slice(),
        false => diagnostic.labels.get(1..).unwrap_or_default(),
    };
    let related: Vec<_> = others
        .iter()
        .filter_map(|label| related(label, sources))
        .collect();
    lsp_types::Diagnostic {
        range: match elsewhere {
            true => Range::default(),
            false => range_of(span, sources),
        },
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Remark => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_string())),
        source: Some("cutec".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

fn related(label: &Label, sources: &SourceMap) -> Option<DiagnosticRelatedInformation> {
    let uri = uri_of(sources.file(label.span.file).name())?;
    Some(DiagnosticRelatedInformation {
        location: Location {
            uri,
            range: range_of(label.span, sources),
        },
        message: label.text.clone(),
    })
}
