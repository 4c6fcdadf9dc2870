//! What an editor shows beside the text: hover, signatures, values beside names, colours of names.

use super::Documents;
use super::analysis::{Analysis, At, Observed, of};
use cutec_frontend::Observation;
use cutec_frontend::eval::builtins::{self, reference};
use cutec_frontend::names::{Definition, Meaning};
use cutec_layout::draw;
use cutec_layout::expr::{Value, eval};
use lsp_types::{
    Hover, HoverContents, HoverParams, InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams,
    MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SemanticToken,
    SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SignatureHelp, SignatureHelpParams, SignatureInformation,
};
use std::collections::BTreeMap;

type Analyses = BTreeMap<String, Analysis>;

/// The largest layout that is drawn on hover, in elements.
const MOST_DRAWN: i64 = 512;
/// The longest value that stands beside a name.
const MOST_BESIDE: usize = 56;
/// How far back a call may begin, in bytes.
const MOST_OF_CALL: usize = 4096;

/// What the name at a place is: its definition, its documentation, and what it stood for when the file was compiled.
pub fn hover(
    documents: &Documents,
    analyses: &Analyses,
    observed: &Observed,
    params: &HoverParams,
) -> Option<Hover> {
    let at = At::find(documents, analyses, &params.text_document_position_params)?;
    let found = at.name();
    let definition = found.and_then(|found| at.analysis.names.meanings(found).next());
    let text = match definition {
        Some(definition) => describe(&at, definition, observed),
        None => {
            let (start, end) = word_around(&at.document.text, at.offset as usize);
            let text = reference::explain(at.document.text.get(start..end)?)?;
            format!("```cute\n{text}```")
        }
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: text,
        }),
        range: found.map(|found| at.analysis.lines().range(found.span)),
    })
}

fn describe(at: &At<'_>, definition: &Definition, observed: &Observed) -> String {
    let head = at.analysis.sources.snippet(definition.head).trim_end();
    let what = definition.meaning.describe();
    let shown = match definition.meaning {
        Meaning::Kernel
        | Meaning::Function
        | Meaning::Method
        | Meaning::Const
        | Meaning::Record
        | Meaning::Test
        | Meaning::Bench => head.to_owned(),
        Meaning::Variable | Meaning::Mutable => head.lines().next().unwrap_or_default().to_owned(),
        Meaning::Field
        | Meaning::StaticParameter
        | Meaning::Parameter
        | Meaning::Extent
        | Meaning::Index
        | Meaning::Role => head.to_owned(),
    };
    let mut text = format!("```cute\n{shown}\n```\n{what}");
    if let Some(parent) = definition.parent {
        let parent = &at.analysis.names.definitions[parent];
        text += &format!(" of `{}`", parent.name);
    }
    if !definition.docs.is_empty() {
        text += &format!("\n\n{}", definition.docs.join("\n"));
    }
    for value in values(at.analysis, definition, observed, at) {
        let between = if value.text.contains('\n') { "\n" } else { " " };
        text += &format!("\n\n```text\n{}:{between}{}\n```", value.kind, value.text);
        if let Some(picture) = value.layout.as_deref().and_then(picture) {
            text += &format!("\n```text\n{picture}\n```");
        }
    }
    text
}

/// What a definition stood for, if the text is still the one that was compiled.
fn values<'o>(
    analysis: &Analysis,
    definition: &Definition,
    observed: &'o Observed,
    at: &At<'_>,
) -> &'o [Observation] {
    if observed.text != at.document.text {
        return &[];
    }
    let file = analysis
        .sources
        .file(definition.span.file)
        .name()
        .to_owned();
    let key = (file, definition.span.start, definition.span.end);
    observed.values.get(&key).map_or(&[], Vec::as_slice)
}

/// A small layout of two modes as a table.
fn picture(layout: &str) -> Option<String> {
    let Ok(Value::Layout(layout)) = eval(layout) else {
        return None;
    };
    let size = layout.size().as_static()?;
    let fits = size <= MOST_DRAWN && layout.rank() <= 2;
    fits.then(|| draw::grid(&layout).trim_end().to_owned())
}

/// Values beside the variables of a part of a file: layouts, tensors, numbers.
pub fn hints(
    documents: &Documents,
    analyses: &Analyses,
    observed: &Observed,
    params: &InlayHintParams,
) -> Option<Vec<InlayHint>> {
    let (document, analysis) = of(documents, analyses, &params.text_document.uri)?;
    if observed.text != document.text {
        return Some(Vec::new());
    }
    let (lines, root) = (analysis.lines(), analysis.root());
    let mut hints = Vec::new();
    for definition in &analysis.names.definitions {
        let variable = matches!(definition.meaning, Meaning::Variable | Meaning::Mutable);
        if !variable || definition.span.file != root {
            continue;
        }
        let position = lines.position(definition.span.end);
        if position < params.range.start || position > params.range.end {
            continue;
        }
        let name = analysis.sources.file(root).name().to_owned();
        let key = (name, definition.span.start, definition.span.end);
        let Some([first, others @ ..]) = observed.values.get(&key).map(Vec::as_slice) else {
            continue;
        };
        let Some(label) = beside(first, analysis.sources.snippet(definition.whole)) else {
            continue;
        };
        let more = if others.is_empty() { "" } else { ", …" };
        hints.push(InlayHint {
            position,
            label: InlayHintLabel::String(format!(": {label}{more}")),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: None,
            data: None,
        });
    }
    Some(hints)
}

/// A value in so many characters as fit beside a name; nothing of what its own text shows.
fn beside(value: &Observation, statement: &str) -> Option<String> {
    let text = value.text.lines().next().unwrap_or_default();
    let literal = statement
        .split_once('=')
        .is_some_and(|(_, right)| right.trim().trim_end_matches(';') == text);
    if literal || value.text.is_empty() {
        return None;
    }
    let text = match value.text.contains('\n') {
        // The first line of a tiled copy or MMA says what it is.
        true => value.kind.clone(),
        false => text.to_owned(),
    };
    Some(match text.chars().count() > MOST_BESIDE {
        true => text.chars().take(MOST_BESIDE).chain(['…']).collect(),
        false => text,
    })
}

/// The signature of the call around a place, and which argument it is in.
pub fn signature(
    documents: &Documents,
    analyses: &Analyses,
    params: &SignatureHelpParams,
) -> Option<SignatureHelp> {
    let at = At::find(documents, analyses, &params.text_document_position_params)?;
    let call = call_around(&at.document.text, at.offset as usize)?;
    let known = at
        .analysis
        .names
        .visible(at.analysis.root(), call.name_start as u32);
    let own = at.analysis.names.definitions.iter().filter(|it| {
        let of_record = call.of_value && it.meaning == Meaning::Method;
        let item = !call.of_value && matches!(it.meaning, Meaning::Function | Meaning::Kernel);
        *it.name == *call.name && (of_record || item)
    });
    let own: Vec<SignatureInformation> = own
        .map(|definition| {
            let label = at.analysis.line_of(definition.head);
            let documentation = definition.docs.join("\n");
            information(label, &documentation)
        })
        .collect();
    let hidden = known
        .iter()
        .any(|it| *it.name == *call.name && it.scope.is_some());
    let signatures = match own.is_empty() && !hidden {
        false => own,
        true => {
            let forms = builtins::all();
            let forms =
                forms.filter(|it| it.name == call.name && it.receiver().is_some() == call.of_value);
            forms
                .map(|it| information(it.signature(), it.documentation))
                .collect()
        }
    };
    if signatures.is_empty() {
        return None;
    }
    Some(SignatureHelp {
        signatures,
        active_signature: Some(0),
        active_parameter: Some(call.argument),
    })
}

/// A signature, whose parameters are found in its text.
fn information(label: String, documentation: &str) -> SignatureInformation {
    let mut parameters = Vec::new();
    if let Some(open) = label.find('(') {
        let (mut depth, mut start) = (0, open + 1);
        for (at, character) in label.char_indices().skip_while(|(at, _)| *at < open) {
            match character {
                '(' | '[' | '<' | '{' => depth += 1,
                ')' | ']' | '>' | '}' => depth -= 1,
                _ => {}
            }
            if (character == ',' && depth == 1) || depth == 0 {
                let text = label[start..at].trim();
                if !text.is_empty() {
                    parameters.push(ParameterInformation {
                        label: ParameterLabel::Simple(text.to_owned()),
                        documentation: None,
                    });
                }
                start = at + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    SignatureInformation {
        label,
        documentation: (!documentation.is_empty())
            .then(|| lsp_types::Documentation::String(documentation.to_owned())),
        parameters: Some(parameters),
        active_parameter: None,
    }
}

/// A call that is being written.
struct CallAround<'t> {
    name: &'t str,
    name_start: usize,
    /// Whether it stands behind a point.
    of_value: bool,
    argument: u32,
}

/// The innermost call whose parentheses a byte is in.
fn call_around(text: &str, at: usize) -> Option<CallAround<'_>> {
    let bytes = text.as_bytes();
    let (mut depth, mut argument) = (0usize, 0);
    let first = at.saturating_sub(MOST_OF_CALL);
    let open = (first..at).rev().find(|&index| {
        match bytes[index] {
            b')' | b']' | b'}' => depth += 1,
            b'(' if depth == 0 => return true,
            b'[' | b'{' if depth == 0 => argument = u32::MAX,
            b'(' | b'[' | b'{' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && argument != u32::MAX => argument += 1,
            _ => {}
        }
        false
    })?;
    let mut end = open;
    if bytes[..open].ends_with(b">") {
        let mut depth = 0;
        end = (first..open).rev().find(|&index| {
            match bytes[index] {
                b'>' => depth += 1,
                b'<' => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
    }
    let (name_start, _) = word_around(text, end);
    let name = text.get(name_start..end)?;
    (!name.is_empty()).then(|| CallAround {
        name,
        name_start,
        of_value: text[..name_start].trim_end().ends_with('.'),
        argument: if argument == u32::MAX { 0 } else { argument },
    })
}

/// The bytes of the word around an offset.
pub fn word_around(text: &str, at: usize) -> (usize, usize) {
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

/// What names are coloured as.
const TOKEN_TYPES: [SemanticTokenType; 7] = [
    SemanticTokenType::FUNCTION,
    SemanticTokenType::METHOD,
    SemanticTokenType::STRUCT,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::VARIABLE,
];

/// What else is known of a name.
const TOKEN_MODIFIERS: [SemanticTokenModifier; 3] = [
    SemanticTokenModifier::DECLARATION,
    SemanticTokenModifier::READONLY,
    SemanticTokenModifier::DEFAULT_LIBRARY,
];

/// The colours by number.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TOKEN_TYPES.into(),
        token_modifiers: TOKEN_MODIFIERS.into(),
    }
}

/// The colours of all names of a file.
pub fn tokens(
    documents: &Documents,
    analyses: &Analyses,
    params: &SemanticTokensParams,
) -> Option<SemanticTokens> {
    let (_, analysis) = of(documents, analyses, &params.text_document.uri)?;
    let (lines, root) = (analysis.lines(), analysis.root());
    let mut data: Vec<SemanticToken> = Vec::new();
    let (mut line, mut column) = (0, 0);
    let mut end = 0;
    for found in analysis.names.uses.iter().filter(|it| it.span.file == root) {
        let Some((kind, modifiers)) = colour(analysis, found) else {
            continue;
        };
        if found.span.start < end {
            continue;
        }
        end = found.span.end;
        let range = lines.range(found.span);
        let same_line = range.start.line == line;
        data.push(SemanticToken {
            delta_line: range.start.line - line,
            delta_start: match same_line {
                true => range.start.character - column,
                false => range.start.character,
            },
            length: range.end.character - range.start.character,
            token_type: kind,
            token_modifiers_bitset: modifiers,
        });
        (line, column) = (range.start.line, range.start.character);
    }
    Some(SemanticTokens {
        result_id: None,
        data,
    })
}

fn colour(analysis: &Analysis, found: &cutec_frontend::names::Use) -> Option<(u32, u32)> {
    const READONLY: u32 = 2;
    const LIBRARY: u32 = 4;
    let declaration = u32::from(found.defines);
    let Some(definition) = analysis.names.meanings(found).next() else {
        let name = analysis.sources.snippet(found.span);
        let mut forms = builtins::all().filter(|it| it.name == name);
        let form = forms.find(|it| it.receiver().is_some() == found.is_member)?;
        let kind = match (found.is_member, form.is_function()) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => 6,
        };
        return Some((kind, LIBRARY));
    };
    let (kind, modifiers) = match definition.meaning {
        Meaning::Kernel | Meaning::Function | Meaning::Test | Meaning::Bench => (0, 0),
        Meaning::Method => (1, 0),
        Meaning::Record => (2, 0),
        Meaning::Field => (3, 0),
        Meaning::Parameter => (4, 0),
        Meaning::StaticParameter | Meaning::Extent => (5, READONLY),
        Meaning::Const => (6, READONLY),
        Meaning::Variable | Meaning::Index | Meaning::Role => (6, READONLY),
        Meaning::Mutable => (6, 0),
    };
    Some((kind, modifiers | declaration))
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

    #[test]
    fn the_call_around_a_place_is_the_innermost() {
        let text = "f(a, g<1, 2>(b, (c, d), x.h(";
        let call = |at: usize| call_around(text, at).map(|it| (it.name, it.of_value, it.argument));
        assert_eq!(call(5), Some(("f", false, 1)));
        assert_eq!(call(text.find("(c").expect("there")), Some(("g", false, 1)));
        assert_eq!(call(text.len()), Some(("h", true, 0)));
        assert_eq!(call(0), None);
    }

    #[test]
    fn parameters_are_found_in_a_signature() {
        let found = information("fn f<a = 1>(x: tensor<f32, (m, n)>, y)".to_owned(), "");
        let labels: Vec<_> = found
            .parameters
            .into_iter()
            .flatten()
            .map(|it| it.label)
            .collect();
        let simple = |text: &str| ParameterLabel::Simple(text.to_owned());
        assert_eq!(labels, [simple("x: tensor<f32, (m, n)>"), simple("y")]);
    }
}
