//! `cutec fmt`: the text of a file in the one style there is.
//!
//! The author decides where lines end, as with gofmt; everything else is decided here: indentation, spaces, blank lines,
//! braces, commas before a closing bracket, and where a line of more than [`MEASURE`] columns is broken. So text that
//! is laid out well stays as it is, and a table of arguments stays a table.
//!
//! 1. [`pieces`]: the text as tokens and comments, with the line breaks between them. Nothing is lost.
//! 2. [`structure`]: what only the syntax tree knows: which `-` is a sign, where statements begin, which `:` is of a type.
//! 3. [`breaks`]: which line breaks stay, and which there must be.
//! 4. [`lines`]: indentation, long lines, trailing comments; [`spacing`] between two pieces of a line.
//!
//! Invariants: the tokens behind are those before, but for commas in front of a closing bracket, and so is every
//! comment ([`format`] compares both); what comes out comes out once more as it is. A text with errors is refused.

mod breaks;
mod lines;
mod pieces;
mod spacing;
mod structure;
#[cfg(test)]
mod tests;

use crate::diagnostics::Diagnostic;
use crate::lexer::{Token, balance::balance, classify::classify, lex};
use crate::parser::parse_file;
use crate::source::{FileId, SourceMap};

/// Columns that a line of code may have. Comments may be longer.
pub const MEASURE: usize = 130;

/// Columns of a level of indentation.
const INDENT: usize = 4;

/// Why a text was not formatted.
#[derive(Debug)]
pub enum Refused {
    /// It does not parse.
    Wrong {
        /// The text under its name.
        sources: SourceMap,
        /// Its errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// What came out does not mean the same: a defect of the formatter. The text is not to be touched.
    Unfaithful,
}

/// How often a text is formatted anew until it stays as it is: comments of several lines that stand in lines with others move what is behind
/// them, and that the comments in one column with it.
const MOST: usize = 8;

/// The text in the style of the language, which formatting leaves as it is.
///
/// # Errors
/// Where the text does not parse.
pub fn format(name: &str, text: &str) -> Result<String, Refused> {
    let mut formatted = format_once(name, text)?;
    for _ in 0..MOST {
        match format_once(name, &formatted) {
            Ok(again) if again != formatted => formatted = again,
            _ => break,
        }
    }
    Ok(formatted)
}

fn format_once(name: &str, text: &str) -> Result<String, Refused> {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let mut diagnostics = Vec::new();
    let file = parse_file(&sources, id, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Refused::Wrong {
            sources,
            diagnostics,
        });
    }
    // A file of another system keeps its line ends, those in comments, too.
    let first = text.split_once('\n');
    if first.is_some_and(|(first, _)| first.ends_with('\r')) {
        let formatted = format_once(name, &text.replace("\r\n", "\n"))?;
        return Ok(formatted.replace('\n', "\r\n"));
    }
    let pieces = pieces::split(text);
    let structure = structure::find(&file, &pieces);
    let breaks = breaks::settle(&pieces, &structure);
    let formatted = lines::lay_out(&pieces, &structure, breaks);
    if meaning(&formatted) != meaning(text) {
        return Err(Refused::Unfaithful);
    }
    Ok(formatted)
}

/// What formatting must not change: the tokens, without commas in front of a closing bracket, and the comments.
fn meaning(text: &str) -> (Vec<(Token<'_>, &str)>, Vec<String>) {
    let mut ignored = Vec::new();
    let lexed = lex(FileId(0), text, &mut ignored);
    let lexemes = classify(&balance(FileId(0), text, &lexed.lexemes, &mut ignored));
    let closes = |at: usize| {
        lexemes
            .get(at)
            .is_some_and(|next| pieces::closes(next.token))
    };
    let tokens = lexemes.iter().enumerate();
    let tokens = tokens.filter(|(at, lexeme)| lexeme.token != Token::Comma || !closes(at + 1));
    let tokens = tokens.map(|(_, lexeme)| {
        let text = &text[lexeme.start as usize..lexeme.end as usize];
        (lexeme.token, text)
    });
    let comments = lexed.comments.iter().map(|range| {
        let comment = &text[range.start as usize..range.end as usize];
        let lines = comment.lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    });
    (tokens.collect(), comments.collect())
}
