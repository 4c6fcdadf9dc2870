//! Edits of a text: the one style, and what help lines of messages propose.

use super::Documents;
use super::analysis::{Analysis, of};
use super::place;
use cutec_frontend::ast::{ItemKind, Kernel};
use cutec_frontend::diagnostics::codes;
use cutec_frontend::format::format;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic,
    DocumentFormattingParams, NumberOrString, Position, Range, TextEdit, Uri, WorkspaceEdit,
};
use std::collections::{BTreeMap, HashMap};

/// The edit that formats a file; nothing where it is formatted or does not parse.
pub fn formatting(
    documents: &Documents,
    params: &DocumentFormattingParams,
) -> Option<Vec<TextEdit>> {
    let name = place::file_name(&params.text_document.uri);
    let document = documents.get(&name)?;
    let formatted = format(&name, &document.text).ok()?;
    if formatted == *document.text {
        return Some(Vec::new());
    }
    Some(changed_lines(&document.text, &formatted))
}

/// The lines that differ between the first and the last that does, so that cursors elsewhere stay where they are.
fn changed_lines(old: &str, new: &str) -> Vec<TextEdit> {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[before..].iter().rev().zip(new[before..].iter().rev());
    let behind = rest.take_while(|(a, b)| a == b).count();
    let last = old.len() - behind;
    let end = match (old.last(), behind) {
        // A last line without an end.
        (Some(line), 0) if !line.ends_with('\n') => {
            let units = line.chars().map(char::len_utf16).sum::<usize>();
            Position::new(old.len() as u32 - 1, units as u32)
        }
        _ => Position::new(last as u32, 0),
    };
    vec![TextEdit {
        range: Range::new(Position::new(before as u32, 0), end),
        new_text: new[before..new.len() - behind].concat(),
    }]
}

/// What can be done about the messages of a range.
pub fn actions(
    documents: &Documents,
    analyses: &BTreeMap<String, Analysis>,
    params: &CodeActionParams,
) -> Option<Vec<CodeActionOrCommand>> {
    let (document, analysis) = of(documents, analyses, &params.text_document.uri)?;
    let found = params.context.diagnostics.iter().flat_map(|diagnostic| {
        let text = |range: Range| {
            let start = place::offset(&document.text, range.start)?;
            let end = place::offset(&document.text, range.end)?;
            document.text.get(start..end)
        };
        let written = text(diagnostic.range).unwrap_or_default();
        let offset = place::offset(&document.text, diagnostic.range.start).unwrap_or(0);
        let kernel = kernel_at(analysis, offset as u32);
        let fixes = fixes(diagnostic, written, kernel, analysis);
        fixes
            .into_iter()
            .map(|(title, edit)| action(title, edit, diagnostic, &params.text_document.uri))
    });
    Some(found.map(CodeActionOrCommand::CodeAction).collect())
}

fn action(title: String, edit: TextEdit, diagnostic: &Diagnostic, uri: &Uri) -> CodeAction {
    #[allow(clippy::mutable_key_type, reason = "a URI is not changed")]
    let changes = HashMap::from([(uri.clone(), vec![edit])]);
    CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic.clone()]),
        edit: Some(WorkspaceEdit {
            changes: Some(changes),
            ..WorkspaceEdit::default()
        }),
        is_preferred: Some(true),
        ..CodeAction::default()
    }
}

fn kernel_at(analysis: &Analysis, offset: u32) -> Option<&Kernel> {
    let items = analysis
        .program
        .root()
        .into_iter()
        .flat_map(|root| &root.items);
    let mut kernels = items.filter(|item| item.span.start <= offset && offset <= item.span.end);
    kernels.find_map(|item| match &item.kind {
        ItemKind::Kernel(kernel) => Some(kernel),
        _ => None,
    })
}

/// The edits that the help line of a message describes.
fn fixes(
    diagnostic: &Diagnostic,
    written: &str,
    kernel: Option<&Kernel>,
    analysis: &Analysis,
) -> Vec<(String, TextEdit)> {
    let help = diagnostic
        .message
        .lines()
        .filter_map(|line| line.strip_prefix("help: "));
    let mut fixes = Vec::new();
    for help in help {
        let replace = |new: &str| {
            let edit = TextEdit {
                range: diagnostic.range,
                new_text: new.to_owned(),
            };
            (format!("Replace by `{new}`"), edit)
        };
        if let Some(meant) = quoted_behind(help, "did you mean ") {
            match meant
                .strip_prefix("import ")
                .map(|path| path.trim_end_matches(';'))
            {
                Some(path) => fixes.push(replace(path)),
                None => fixes.push(replace(meant)),
            }
        }
        if let Some(name) =
            quoted_behind(help, "or call it ").filter(|name| name.get(1..) == Some(written))
        {
            fixes.push(replace(name));
        }
        if let Some(import) = import_in(help) {
            let end = Position::new(import_line(analysis), 0);
            let edit = TextEdit {
                range: Range::new(end, end),
                new_text: format!("{import}\n"),
            };
            fixes.push((format!("Add `{import}`"), edit));
        }
        let promise = quoted_behind(help, "promise ").and_then(|it| it.strip_prefix("where "));
        if let (Some(promise), Some(kernel)) = (promise, kernel) {
            fixes.push((
                format!("Promise `{promise}`"),
                promised(promise, kernel, analysis),
            ));
        }
    }
    let code = match &diagnostic.code {
        Some(NumberOrString::String(code)) => code.as_str(),
        _ => "",
    };
    if code == codes::MISSING_SEMICOLON.to_string() {
        let at = diagnostic.range.start;
        let edit = TextEdit {
            range: Range::new(at, at),
            new_text: ";".to_owned(),
        };
        fixes.push(("Add `;`".to_owned(), edit));
    }
    fixes
}

/// The first text in backquotes behind some words.
fn quoted_behind<'h>(help: &'h str, words: &str) -> Option<&'h str> {
    let (_, rest) = help.split_once(words)?;
    rest.strip_prefix('`')?
        .split_once('`')
        .map(|(quoted, _)| quoted)
}

/// `import "std/…";`, where a help line proposes one by other words than a mistake in it.
fn import_in(help: &str) -> Option<&str> {
    let start = help.find("`import \"")? + 1;
    let import = help[start..].split('`').next()?;
    (!help.contains("did you mean")).then_some(import)
}

/// The line behind the last import, or behind the documentation of the file.
fn import_line(analysis: &Analysis) -> u32 {
    let lines = analysis.lines();
    let items = analysis
        .program
        .root()
        .into_iter()
        .flat_map(|root| &root.items);
    let mut imports = items.filter(|item| matches!(item.kind, ItemKind::Import(_)));
    match imports.next_back() {
        Some(last) => lines.position(last.span.end).line + 1,
        None => analysis
            .program
            .root()
            .map_or(0, |root| root.docs.len() as u32),
    }
}

/// The promise among those of a kernel.
fn promised(promise: &str, kernel: &Kernel, analysis: &Analysis) -> TextEdit {
    let lines = analysis.lines();
    let (at, new_text) = match (kernel.promises.last(), kernel.launch.first()) {
        (Some(last), _) => (last.span.end, format!(", {promise}")),
        (None, Some(clause)) => {
            // Before the word `launch`.
            let text = analysis.sources.file(analysis.root()).text();
            let before = &text[..clause.span.start as usize];
            let word = before.rfind("launch").unwrap_or(before.len());
            let begins_line = before[..word].trim_end_matches([' ', '\t']).ends_with('\n');
            let end = if begins_line { "\n" } else { " " };
            (word as u32, format!("where {promise}{end}"))
        }
        (None, None) => (kernel.body.span.start, format!("where {promise} ")),
    };
    let position = lines.position(at);
    TextEdit {
        range: Range::new(position, position),
        new_text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_edited() {
        let edits = changed_lines("a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!(
            edits[0].range,
            Range::new(Position::new(1, 0), Position::new(2, 0))
        );
        assert_eq!(edits[0].new_text, "x\ny\n");
        let edits = changed_lines("a\nb", "a\nb\n");
        assert_eq!(
            edits[0].range,
            Range::new(Position::new(1, 0), Position::new(1, 1))
        );
        assert_eq!(edits[0].new_text, "b\n");
    }

    #[test]
    fn help_lines_are_read() {
        assert_eq!(
            quoted_behind("did you mean `abs`?", "did you mean "),
            Some("abs")
        );
        assert_eq!(
            quoted_behind("promise `where k % 8 == 0`", "promise "),
            Some("where k % 8 == 0")
        );
        assert_eq!(quoted_behind("write so", "did you mean "), None);
    }
}
