//! Names that may continue a text: members behind a point, those of a built-in alone where one stands before it, files
//! behind `import`, else what is in scope, built-ins,
//! types and keywords.

use super::Documents;
use super::analysis::{Analysis, At};
use super::show::word_around;
use cutec_frontend::ast::ItemKind;
use cutec_frontend::eval::builtins::{self, Builtin, Receiver};
use cutec_frontend::names::{Definition, Meaning};
use cutec_frontend::stdlib;
use lsp_types::{CompletionItem, CompletionItemKind, CompletionParams, Documentation};
use std::collections::{BTreeMap, BTreeSet};

const KEYWORDS: [&str; 24] = [
    "import", "const", "fn", "kernel", "record", "test", "bench", "where", "launch", "let", "var",
    "mut", "if", "else", "static", "for", "in", "while", "loop", "break", "continue", "return",
    "true", "false",
];

const TYPES: [&str; 5] = ["tensor", "layout", "int", "float", "dtype"];

/// What may stand at a place.
pub fn complete(
    documents: &Documents,
    analyses: &BTreeMap<String, Analysis>,
    params: &CompletionParams,
) -> Option<Vec<CompletionItem>> {
    let at = At::find(documents, analyses, &params.text_document_position)?;
    let (text, offset) = (&at.document.text, at.offset as usize);
    let (start, _) = word_around(text, offset);
    let begun = text.get(start..offset)?;
    let line = &text[text[..offset].rfind('\n').map_or(0, |end| end + 1)..offset];
    if let Some((_, path)) = line
        .split_once('"')
        .filter(|(before, _)| before.trim() == "import")
    {
        return Some(imports(path));
    }
    let before = text.get(..start)?.trim_end();
    let value = before.strip_suffix('.').filter(|it| !it.ends_with('.'));
    let visible = at.analysis.names.visible(at.analysis.root(), at.offset);
    if let Some(value) = value {
        let (start, end) = word_around(value, value.len());
        let name = value.get(start..end)?;
        let parts = match visible.iter().any(|it| *it.name == *name) {
            true => Vec::new(),
            false => builtins::members(name),
        };
        if !parts.is_empty() {
            let parts = parts.into_iter().filter(|part| part.starts_with(begun));
            let parts = parts.map(|part| simple(part, CompletionItemKind::FIELD));
            return Some(parts.collect());
        }
    }
    let of_value = value.is_some();
    let fits =
        |entry: &&Builtin| entry.receiver().is_some() == of_value && entry.name.starts_with(begun);
    let mut items: Vec<CompletionItem> = Vec::new();
    if of_value {
        let members = at.analysis.names.definitions.iter();
        let members = members.filter(|it| it.meaning.is_member() && it.name.starts_with(begun));
        items.extend(members.map(|it| own(at.analysis, it)));
    } else {
        let visible = visible.into_iter().filter(|it| it.name.starts_with(begun));
        let callable = |it: &&Definition| !matches!(it.meaning, Meaning::Test | Meaning::Bench);
        items.extend(visible.filter(callable).map(|it| own(at.analysis, it)));
        items.extend(library(at.analysis, begun));
    }
    items.extend(builtins::all().filter(fits).map(built_in));
    if !of_value {
        let words = KEYWORDS
            .iter()
            .map(|word| (*word, CompletionItemKind::KEYWORD));
        let types = TYPES.iter().map(|word| (*word, CompletionItemKind::CLASS));
        let elements = cutec_dialects::elem::Elem::ALL.iter();
        let elements = elements.map(|(elem, _)| (elem.language_name(), CompletionItemKind::CLASS));
        let words = words
            .chain(types)
            .chain(elements)
            .filter(|(word, _)| word.starts_with(begun));
        items.extend(words.map(|(word, kind)| simple(word, kind)));
    }
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert((item.label.clone(), item.detail.clone())));
    Some(items)
}

fn simple(label: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        ..CompletionItem::default()
    }
}

/// Files of the library.
fn imports(begun: &str) -> Vec<CompletionItem> {
    let files = stdlib::FILES.iter().map(|(name, _)| *name);
    files
        .filter(|name| name.starts_with(begun))
        .map(|name| simple(name, CompletionItemKind::FILE))
        .collect()
}

/// What the library has that the file does not import; the import comes with it.
fn library<'t>(
    analysis: &'t Analysis,
    begun: &'t str,
) -> impl Iterator<Item = CompletionItem> + 't {
    let root = analysis.program.root();
    let imported: BTreeSet<&str> = analysis
        .sources
        .files()
        .map(|(_, file)| file.name())
        .collect();
    let mut items = root.into_iter().flat_map(|root| &root.items);
    let last = items.rfind(|item| matches!(item.kind, ItemKind::Import(_)));
    let lines = analysis.lines();
    let position = match (last, root.and_then(|root| root.items.first())) {
        (Some(import), _) => lines.position(import.span.end),
        (None, Some(first)) => {
            let mut position = lines.position(first.span.start);
            // Its documentation stays with it.
            position.line = position.line.saturating_sub(first.docs.len() as u32);
            position.character = 0;
            position
        }
        (None, None) => lines.position(0),
    };
    let behind = last.is_some();
    let files = stdlib::FILES
        .iter()
        .filter(move |(name, _)| !imported.contains(name));
    files.flat_map(move |(file, text)| {
        let names = text.lines().filter_map(|line| {
            let item = line
                .strip_prefix("fn ")
                .or_else(|| line.strip_prefix("record "))?;
            let end = item.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
            Some(&item[..end])
        });
        let names: Vec<&str> = names
            .filter(|name| begun.len() >= 2 && name.starts_with(begun))
            .collect();
        names.into_iter().map(move |name| {
            let import = format!("import \"{file}\";");
            let new_text = if behind {
                format!("\n{import}")
            } else {
                format!("{import}\n\n")
            };
            CompletionItem {
                detail: Some(import),
                additional_text_edits: Some(vec![lsp_types::TextEdit {
                    range: lsp_types::Range::new(position, position),
                    new_text,
                }]),
                ..simple(name, CompletionItemKind::FUNCTION)
            }
        })
    })
}

/// What the file or an import defines.
fn own(analysis: &Analysis, definition: &Definition) -> CompletionItem {
    let kind = match definition.meaning {
        Meaning::Kernel | Meaning::Function | Meaning::Test | Meaning::Bench => {
            CompletionItemKind::FUNCTION
        }
        Meaning::Method => CompletionItemKind::METHOD,
        Meaning::Record => CompletionItemKind::STRUCT,
        Meaning::Field => CompletionItemKind::FIELD,
        Meaning::Const => CompletionItemKind::CONSTANT,
        Meaning::StaticParameter | Meaning::Extent => CompletionItemKind::TYPE_PARAMETER,
        Meaning::Parameter
        | Meaning::Variable
        | Meaning::Mutable
        | Meaning::Index
        | Meaning::Role => CompletionItemKind::VARIABLE,
    };
    let docs = definition.docs.join("\n");
    CompletionItem {
        detail: Some(match definition.meaning {
            Meaning::Record => format!("record {}", definition.name),
            _ => analysis.line_of(definition.head),
        }),
        documentation: (!docs.is_empty()).then_some(Documentation::String(docs)),
        ..simple(&definition.name, kind)
    }
}

fn built_in(entry: &Builtin) -> CompletionItem {
    let kind = match entry.receiver() {
        Some(
            Receiver::View
            | Receiver::TiledCopy
            | Receiver::TiledMma
            | Receiver::CopyThread
            | Receiver::MmaThread,
        ) => CompletionItemKind::METHOD,
        None if entry.is_function() => CompletionItemKind::FUNCTION,
        None => CompletionItemKind::CONSTANT,
    };
    CompletionItem {
        detail: Some(entry.signature()),
        documentation: Some(Documentation::String(entry.documentation.to_owned())),
        ..simple(entry.name, kind)
    }
}
