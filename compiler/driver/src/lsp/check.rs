//! What compiling a file reports, as the protocol's diagnostics.

use super::analysis::Observed;
use super::place::{range_of, uri_of};
use super::{Documents, OpenFiles};
use cutec::{Compiler, Failure, FileLoader, Options, Source};
use cutec_frontend::ast::ItemKind;
use cutec_frontend::diagnostics::{Diagnostic, Label, Severity};
use cutec_frontend::parser::parse_file;
use cutec_frontend::source::{FileId, SourceMap, Span};
use cutec_frontend::{LowerOptions, chosen_kernels, load_program, observe_kernels};
use cutec_testing::check::blocks;
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range,
};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks may take longer than that; what is wrong with the kernels is shown then.
const EARLY: Duration = Duration::from_millis(300);

/// What is wrong with an open file, and with files that it imports and nobody has open.
#[derive(Debug, Default)]
pub struct Checked {
    /// Of the file itself. What is wrong in one that it imports is shown at the import.
    pub own: Vec<lsp_types::Diagnostic>,
    /// Of files that are not open, by their names; none where nothing is wrong.
    pub imported: BTreeMap<String, Vec<lsp_types::Diagnostic>>,
}

/// Compiles the open file of that name as far as `options` says, and checks its `test` and `bench` blocks, one by one as
/// long as `go_on` says so. Where that takes long, `early` gets what is wrong with the kernels.
pub fn check(
    name: &str,
    documents: &Documents,
    options: &Options,
    go_on: &dyn Fn() -> bool,
    early: &dyn Fn(Checked),
) -> Checked {
    let Some(document) = documents.get(name) else {
        return Checked::default();
    };
    let source = Source::new(name, Arc::clone(&document.text));
    let (compiler, loader) = (Compiler::new(), OpenFiles(documents));
    let compiled = compiler.compile(&source, &loader, options);
    let (mut found, failures, sources, abi) = match compiled {
        Ok(compiled) => {
            let (warnings, sources) = (compiled.warnings, compiled.sources);
            (warnings, Vec::new(), sources, compiled.abi)
        }
        Err(error) => (error.problems, error.failures, error.sources, None),
    };
    let (start, is_early) = (Instant::now(), Cell::new(false));
    let go_on = || {
        if start.elapsed() > EARLY && !is_early.replace(true) {
            early(checked(documents, &found, &failures, &sources));
        }
        go_on()
    };
    let known = (abi.as_ref(), found.as_slice());
    let of_blocks = blocks(&compiler, &source, &loader, options, known, &go_on);
    found.extend(of_blocks);
    checked(documents, &found, &failures, &sources)
}

/// Diagnostics by the files that they are shown in.
fn checked(
    documents: &Documents,
    diagnostics: &[Diagnostic],
    failures: &[Failure],
    sources: &SourceMap,
) -> Checked {
    let Some((root, _)) = sources.files().next() else {
        return Checked::default();
    };
    let mut checked = Checked::default();
    for (file, imported) in sources.files().skip(1) {
        if documents.contains_key(imported.name()) || !imported.name().starts_with('/') {
            continue;
        }
        let of_file = diagnostics.iter().filter(|found| found.span().file == file);
        let of_file = of_file.map(|found| shown(found, file, sources));
        checked
            .imported
            .insert(imported.name().to_owned(), of_file.collect());
    }
    let own = diagnostics.iter().map(|found| shown(found, root, sources));
    checked.own.extend(own);
    checked
        .own
        .extend(failures.iter().map(|failure| lsp_types::Diagnostic {
            severity: Some(DiagnosticSeverity::ERROR),
            source: Some("cutec".to_owned()),
            message: failure.to_string(),
            ..lsp_types::Diagnostic::default()
        }));
    checked
}

/// What the names of the open file of that name, and of what it imports, stand for in its kernels.
pub fn observe(name: &str, documents: &Documents, options: &Options) -> Observed {
    let Some(document) = documents.get(name) else {
        return Observed::default();
    };
    let mut sources = SourceMap::new();
    let mut wrong = Vec::new();
    let loader = OpenFiles(documents);
    let program = load_program(&mut sources, name, &document.text, &loader, &mut wrong);
    let options = LowerOptions {
        target: options.target,
        kernel: None,
        defines: options.defines.clone(),
    };
    let mut values = HashMap::new();
    if !wrong.iter().any(Diagnostic::is_error)
        && let Ok(kernels) = chosen_kernels(&program, &options)
    {
        let context = cutec_dialects::context();
        let found = observe_kernels(&context, &sources, &program, &kernels, &options);
        let named = found.into_iter().map(|(span, seen)| {
            let file = sources.file(span.file).name().to_owned();
            ((file, span.start, span.end), seen)
        });
        values.extend(named);
    }
    Observed {
        text: Arc::clone(&document.text),
        values,
    }
}

/// The bytes of the path by which the root file imports a file, itself or by way of others: its first import then.
fn import_of(file: FileId, sources: &SourceMap) -> Option<Span> {
    let (root, source) = sources.files().next()?;
    let parsed = parse_file(sources, root, &mut Vec::new());
    let mut imports = parsed.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Import(import) => Some(&import.path),
        _ => None,
    });
    let wanted = sources.file(file).name();
    let direct = |path: &&cutec_frontend::Spanned<Arc<str>>| {
        *path.node == *wanted || FileLoader::name(source.name(), &path.node) == wanted
    };
    let first = imports.clone().next();
    imports.find(direct).or(first).map(|path| path.span)
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
            true => import_of(span.file, sources)
                .map_or_else(Range::default, |import| range_of(import, sources)),
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
