//! From a name to its definition and its other places: definition, references, highlights, rename, symbols.

use super::Documents;
use super::analysis::{Analysis, At, of};
use cutec_frontend::ast::ItemKind;
use cutec_frontend::lexer::{Token, lex};
use cutec_frontend::names::{Definition, Meaning};
use cutec_frontend::source::{FileId, Span};
use lsp_types::{
    DocumentHighlight, DocumentSymbol, DocumentSymbolParams, GotoDefinitionParams, Location,
    PrepareRenameResponse, ReferenceParams, RenameParams, SymbolInformation, SymbolKind,
    TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit, WorkspaceSymbolParams,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

type Analyses = BTreeMap<String, Analysis>;

/// Where a name is defined; of an import the file.
pub fn definition(
    documents: &Documents,
    analyses: &Analyses,
    params: &GotoDefinitionParams,
) -> Option<Vec<Location>> {
    let at = At::find(documents, analyses, &params.text_document_position_params)?;
    if let Some(import) = import_at(&at) {
        return Some(vec![import]);
    }
    let found = at.analysis.names.meanings(at.name()?);
    Some(
        found
            .filter_map(|it| at.analysis.location(it.span))
            .collect(),
    )
}

/// The first line of the file that the import at a place means.
fn import_at(at: &At<'_>) -> Option<Location> {
    let root = at.analysis.program.root()?;
    let import = root.items.iter().find_map(|item| match &item.kind {
        ItemKind::Import(import) => {
            let span = import.path.span;
            (span.start <= at.offset && at.offset <= span.end).then_some(import)
        }
        _ => None,
    })?;
    let importer = at.analysis.sources.file(root.id).name();
    let name = cutec::FileLoader::name(importer, &import.path.node);
    let file = at.analysis.sources.find(&name)?;
    at.analysis.location(Span::new(file, 0, 0))
}

/// Every place of what the name at a place stands for, in all open files and in what they import.
fn places(
    at: &At<'_>,
    analyses: &Analyses,
    with_definition: bool,
) -> Option<Vec<(Location, bool)>> {
    let found = at.name()?;
    let keys: BTreeSet<(String, u32)> = at
        .analysis
        .names
        .meanings(found)
        .map(|definition| at.analysis.key(definition))
        .collect();
    let mut places: Vec<(Location, bool)> = Vec::new();
    for analysis in analyses.values() {
        let numbered = analysis.names.definitions.iter().enumerate();
        let same: Vec<usize> = numbered
            .filter(|(_, definition)| keys.contains(&analysis.key(definition)))
            .map(|(number, _)| number)
            .collect();
        for of in analysis.names.references(&same) {
            if let Some(location) = analysis
                .location(of.span)
                .filter(|_| with_definition || !of.defines)
            {
                let known = places.iter().any(|(known, _)| *known == location);
                if !known {
                    places.push((location, of.shorthand));
                }
            }
        }
    }
    Some(places)
}

/// Where a name is used.
pub fn references(
    documents: &Documents,
    analyses: &Analyses,
    params: &ReferenceParams,
) -> Option<Vec<Location>> {
    let at = At::find(documents, analyses, &params.text_document_position)?;
    let places = places(&at, analyses, params.context.include_declaration)?;
    Some(places.into_iter().map(|(place, _)| place).collect())
}

/// The places of a name in its file.
pub fn highlights(
    documents: &Documents,
    analyses: &Analyses,
    params: &TextDocumentPositionParams,
) -> Option<Vec<DocumentHighlight>> {
    let at = At::find(documents, analyses, params)?;
    let (lines, root) = (at.analysis.lines(), at.analysis.root());
    let found = at.analysis.names.references(&at.name()?.definitions);
    let found = found
        .filter(|of| of.span.file == root)
        .map(|of| DocumentHighlight {
            range: lines.range(of.span),
            kind: None,
        });
    Some(found.collect())
}

/// Why a name cannot be renamed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum NotRenamed {
    #[error("there is no name here")]
    Nothing,
    #[error("`{0}` is not defined in a file of yours")]
    Foreign(String),
    #[error("`{0}` is a part of several records: rename it by hand")]
    Several(String),
    #[error("`{0}` is no name: expected a letter or `_`, and then letters, digits and `_`")]
    NoName(String),
    #[error("`{0}` means something here already")]
    Taken(String),
}

/// The definition that is renamed with the name at a place.
fn renamed<'a>(at: &At<'a>) -> Result<&'a Definition, NotRenamed> {
    let found = at.name().ok_or(NotRenamed::Nothing)?;
    let text = at.analysis.sources.snippet(found.span).to_owned();
    let mut meanings = at.analysis.names.meanings(found);
    let definition = meanings
        .next()
        .ok_or_else(|| NotRenamed::Foreign(text.clone()))?;
    if meanings.next().is_some() {
        return Err(NotRenamed::Several(text));
    }
    match at.analysis.location(definition.span) {
        Some(_) => Ok(definition),
        None => Err(NotRenamed::Foreign(text)),
    }
}

/// The range of the name that would be renamed.
///
/// # Errors
/// Where it cannot be.
pub fn prepare_rename(
    documents: &Documents,
    analyses: &Analyses,
    params: &TextDocumentPositionParams,
) -> Result<PrepareRenameResponse, NotRenamed> {
    let at = At::find(documents, analyses, params).ok_or(NotRenamed::Nothing)?;
    let definition = renamed(&at)?;
    let found = at.name().ok_or(NotRenamed::Nothing)?;
    Ok(PrepareRenameResponse::RangeWithPlaceholder {
        range: at.analysis.lines().range(found.span),
        placeholder: definition.name.to_string(),
    })
}

/// The edits that give a name another one.
///
/// # Errors
/// Where it cannot be renamed, or not so.
pub fn rename(
    documents: &Documents,
    analyses: &Analyses,
    params: &RenameParams,
) -> Result<WorkspaceEdit, NotRenamed> {
    let at =
        At::find(documents, analyses, &params.text_document_position).ok_or(NotRenamed::Nothing)?;
    let definition = renamed(&at)?;
    let (old, new) = (&definition.name, params.new_name.as_str());
    if !is_name(new) {
        return Err(NotRenamed::NoName(new.to_owned()));
    }
    let taken = at.analysis.names.definitions.iter().any(|other| {
        let same_kind = other.meaning.is_member() == definition.meaning.is_member();
        let near = other.parent == definition.parent || other.scope.is_none();
        &*other.name == new && same_kind && near
    });
    if taken {
        return Err(NotRenamed::Taken(new.to_owned()));
    }
    let places = places(&at, analyses, true).ok_or(NotRenamed::Nothing)?;
    #[allow(clippy::mutable_key_type, reason = "a URI is not changed")]
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for (place, shorthand) in places {
        // A field alone is given the variable of its name.
        let new_text = match (shorthand, definition.meaning.is_member()) {
            (true, true) => format!("{new} = {old}"),
            (true, false) => format!("{old} = {new}"),
            (false, _) => new.to_owned(),
        };
        changes.entry(place.uri).or_default().push(TextEdit {
            range: place.range,
            new_text,
        });
    }
    Ok(WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    })
}

fn is_name(text: &str) -> bool {
    let mut wrong = Vec::new();
    let lexed = lex(FileId(0), text, &mut wrong);
    let name = matches!(lexed.lexemes.as_slice(), [lexeme] if lexeme.token == Token::Ident(text));
    name && wrong.is_empty() && text.is_ascii()
}

fn symbol_kind(meaning: Meaning) -> SymbolKind {
    match meaning {
        Meaning::Kernel | Meaning::Function => SymbolKind::FUNCTION,
        Meaning::Method => SymbolKind::METHOD,
        Meaning::Record => SymbolKind::STRUCT,
        Meaning::Field => SymbolKind::FIELD,
        Meaning::Const => SymbolKind::CONSTANT,
        Meaning::Test | Meaning::Bench => SymbolKind::EVENT,
        Meaning::StaticParameter | Meaning::Extent => SymbolKind::TYPE_PARAMETER,
        Meaning::Parameter
        | Meaning::Variable
        | Meaning::Mutable
        | Meaning::Index
        | Meaning::Role => SymbolKind::VARIABLE,
    }
}

/// The items of a file, with the members of records in them.
#[allow(deprecated, reason = "a field of the protocol that there must be")]
pub fn symbols(
    documents: &Documents,
    analyses: &Analyses,
    params: &DocumentSymbolParams,
) -> Option<Vec<DocumentSymbol>> {
    let (_, analysis) = of(documents, analyses, &params.text_document.uri)?;
    let (lines, root) = (analysis.lines(), analysis.root());
    let symbol = |definition: &Definition| DocumentSymbol {
        name: definition.name.to_string(),
        detail: Some(definition.meaning.describe().to_owned()),
        kind: symbol_kind(definition.meaning),
        tags: None,
        deprecated: None,
        range: lines.range(definition.whole),
        selection_range: lines.range(definition.span),
        children: None,
    };
    let all = &analysis.names.definitions;
    let of_root = all
        .iter()
        .enumerate()
        .filter(|(_, it)| it.span.file == root && it.scope.is_none());
    let items = of_root.clone().filter(|(_, it)| it.parent.is_none());
    let items = items.map(|(number, item)| {
        let members = of_root.clone().filter(|(_, it)| it.parent == Some(number));
        let members: Vec<DocumentSymbol> = members.map(|(_, it)| symbol(it)).collect();
        DocumentSymbol {
            children: (!members.is_empty()).then_some(members),
            ..symbol(item)
        }
    });
    Some(items.collect())
}

/// The items of all open files, and of what they import, whose names contain a text.
#[allow(deprecated, reason = "a field of the protocol that there must be")]
pub fn workspace_symbols(
    analyses: &Analyses,
    params: &WorkspaceSymbolParams,
) -> Vec<SymbolInformation> {
    let wanted = params.query.to_lowercase();
    let mut found: Vec<SymbolInformation> = Vec::new();
    for analysis in analyses.values() {
        let items = analysis
            .names
            .definitions
            .iter()
            .filter(|it| it.scope.is_none());
        for item in items.filter(|it| it.name.to_lowercase().contains(&wanted)) {
            let Some(location) = analysis.location(item.span) else {
                continue;
            };
            if !found.iter().any(|known| known.location == location) {
                found.push(SymbolInformation {
                    name: item.name.to_string(),
                    kind: symbol_kind(item.meaning),
                    tags: None,
                    deprecated: None,
                    location,
                    container_name: item
                        .parent
                        .map(|of| analysis.names.definitions[of].name.to_string()),
                });
            }
        }
    }
    found
}
