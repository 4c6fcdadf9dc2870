//! What an editor shows of built-ins: documentation of the one under the cursor, names that continue the word
//! before it. Both come from the front end's table.

use super::{Document, Documents, place};
use cutec_frontend::eval::builtins::{self, Builtin, Receiver, reference};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, Documentation, Hover, HoverContents,
    HoverParams, MarkupContent, MarkupKind, TextDocumentPositionParams,
};

/// The documentation of the built-in at a position.
pub fn hover(documents: &Documents, params: &HoverParams) -> Option<Hover> {
    let (document, at) = find(documents, &params.text_document_position_params)?;
    let (start, end) = word_around(&document.text, at);
    let text = reference::explain(document.text.get(start..end)?)?;
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: format!("```cute\n{text}```"),
        }),
        range: None,
    })
}

/// The built-ins that may stand at a position: methods behind a point, else functions and atoms.
pub fn complete(documents: &Documents, params: &CompletionParams) -> Option<Vec<CompletionItem>> {
    let (document, at) = find(documents, &params.text_document_position)?;
    let (start, _) = word_around(&document.text, at);
    let begun = document.text.get(start..at)?;
    let of_value = document.text.get(..start)?.trim_end().ends_with('.');
    let fits =
        |entry: &&Builtin| entry.receiver().is_some() == of_value && entry.name.starts_with(begun);
    Some(builtins::all().filter(fits).map(item).collect())
}

fn item(entry: &Builtin) -> CompletionItem {
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
        label: entry.name.to_owned(),
        kind: Some(kind),
        detail: Some(entry.signature()),
        documentation: Some(Documentation::String(entry.documentation.to_owned())),
        ..CompletionItem::default()
    }
}

/// An open document and the offset of a position in it.
fn find<'d>(
    documents: &'d Documents,
    params: &TextDocumentPositionParams,
) -> Option<(&'d Document, usize)> {
    let document = documents.get(&place::file_name(&params.text_document.uri))?;
    let at = place::offset(&document.text, params.position)?;
    Some((document, at))
}

/// The bytes of the word around an offset.
fn word_around(text: &str, at: usize) -> (usize, usize) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    let before = bytes[..at]
        .iter()
        .rev()
        .take_while(|byte| is_part(byte))
        .count();
    let behind = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
    (at - before, at + behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_reaches_to_both_sides() {
        let text = "é zipped_divide(x)";
        let at = text.find("divide").expect("there");
        let (start, end) = word_around(text, at);
        assert_eq!(&text[start..end], "zipped_divide");
        assert_eq!(word_around("", 0), (0, 0));
        assert_eq!(word_around("a b", 3), (2, 3));
    }
}
