//! From text to the tokens that the grammar takes.
//!
//! Reading order: [`token`] (the tokens; logos), this file (running logos, comments, errors),
//! [`balance`] (every bracket gets its partner), [`classify`] (what a token means where the
//! grammar alone cannot know: generic `<`, `o`, `step`, statement-initial `if`).
//!
//! Invariants: lexemes ascend and do not overlap; after [`balance`] brackets match; no text makes
//! any of this panic, and all of it is linear in the text.

pub mod balance;
pub mod classify;
pub mod literal;
pub mod token;

pub use token::Token;

use crate::diagnostics::{Code, Diagnostic, Problem, codes};
use crate::elsewhere;
use crate::source::{FileId, Span};
use logos::Logos;
use std::ops::Range;
use token::{Comment, LexError};

/// A token and where it stands, in bytes of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexeme<'s> {
    /// The token.
    pub token: Token<'s>,
    /// First byte.
    pub start: u32,
    /// Byte past the last. Equal to `start` for brackets that [`balance`] supplied.
    pub end: u32,
}

impl Lexeme<'_> {
    /// The span in `file`.
    pub fn span(&self, file: FileId) -> Span {
        Span::new(file, self.start, self.end)
    }
}

/// One line of documentation. `text` lacks the marks and one leading space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocLine<'s> {
    /// The text.
    pub text: &'s str,
    /// Whether it is `//!`, which documents the file.
    pub for_file: bool,
    /// First byte, marks included.
    pub start: u32,
    /// Byte past the last.
    pub end: u32,
}

/// All tokens of a file, and its comments apart from them.
#[derive(Clone, Debug, Default)]
pub struct Lexed<'s> {
    /// The tokens, without comments.
    pub lexemes: Vec<Lexeme<'s>>,
    /// The `///` and `//!` lines.
    pub docs: Vec<DocLine<'s>>,
    /// The bytes of every comment, `///` and `//!` lines among them, marks included.
    pub comments: Vec<Range<u32>>,
}

/// Something that is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LexProblem {
    /// A character without meaning.
    #[error("`{}` has no meaning here", .found.escape_debug())]
    InvalidCharacter {
        /// The character.
        found: char,
    },
    /// A name with letters beyond ASCII.
    #[error("names are written in ASCII letters, found `{}` in `{}`", .found.escape_debug(), .name.escape_debug())]
    NonAsciiName {
        /// The name.
        name: String,
        /// Its first character beyond ASCII.
        found: char,
    },
    /// A string without its closing quote.
    #[error("this string has no closing `\"` on its line")]
    UnterminatedString,
    /// A block comment without its end.
    #[error("this comment has no closing `*/`")]
    UnterminatedComment,
}

impl Problem for LexProblem {
    fn code(&self) -> Code {
        match self {
            LexProblem::InvalidCharacter { .. } => codes::INVALID_CHARACTER,
            LexProblem::NonAsciiName { .. } => codes::NON_ASCII_IDENTIFIER,
            LexProblem::UnterminatedString => codes::UNTERMINATED_STRING,
            LexProblem::UnterminatedComment => codes::UNTERMINATED_COMMENT,
        }
    }

    fn label(&self) -> String {
        match self {
            LexProblem::InvalidCharacter { found } if !found.is_ascii() => {
                format!("U+{:04X}", *found as u32)
            }
            LexProblem::InvalidCharacter { .. } => "this character".to_owned(),
            LexProblem::NonAsciiName { .. } => "only a-z, A-Z, 0-9 and _".to_owned(),
            LexProblem::UnterminatedString => "begins here".to_owned(),
            LexProblem::UnterminatedComment => "begins here".to_owned(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            LexProblem::InvalidCharacter { found } => {
                Some(format!("write {}", look_alike(*found)?))
            }
            LexProblem::UnterminatedComment => {
                Some("comments nest: each `/*` needs a `*/` of its own".to_owned())
            }
            _ => None,
        }
    }
}

/// What was probably meant by a character from elsewhere.
fn look_alike(found: char) -> Option<&'static str> {
    Some(match found {
        '×' | '∗' | '·' => "`*`",
        '−' | '–' | '—' => "`-`",
        '÷' | '∕' => "`/`",
        '≤' => "`<=`",
        '≥' => "`>=`",
        '≠' => "`!=`",
        '∘' => "`o`, with spaces around it",
        '⌈' | '⌉' => "`ceil_div(a, b)`",
        '∧' => "`&&`",
        '∨' => "`||`",
        '¬' => "`!`",
        '“' | '”' | '„' | '\'' | '‘' | '’' => "strings in `\"`",
        '…' => "`..`",
        '，' => "`,`",
        '；' => "`;`",
        '：' => "`:`",
        '（' => "`(`",
        '）' => "`)`",
        '→' => "`->`",
        '#' => "comments as `// …`",
        '~' => "`!x`, which turns the bits of an integer",
        '?' => {
            "`if c { a } else { b }`, or `select(c, a, b)` element by element, for `c ? a : b`; in a shape the name of an extent"
        }
        _ => return None,
    })
}

/// Splits a text into tokens. What is no token is reported and left out.
pub fn lex<'s>(file: FileId, text: &'s str, diagnostics: &mut Vec<Diagnostic>) -> Lexed<'s> {
    lex_part(file, text, 0..text.len(), diagnostics)
}

/// The same of a part of a text, which begins and ends between tokens.
pub fn lex_part<'s>(
    file: FileId,
    text: &'s str,
    part: Range<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Lexed<'s> {
    let mut out = Lexed::default();
    let mut last_bad_end = None;
    let mut skip_to = 0;
    let mut lexer = Token::lexer(&text[..part.end]);
    lexer.bump(part.start);
    for (result, range) in lexer.spanned() {
        let (start, end) = (range.start as u32, range.end as u32);
        match result {
            Ok(Token::Comment(comment)) => {
                out.comments.push(start..end);
                let (text, for_file) = match comment {
                    Comment::Plain => continue,
                    Comment::Doc(text) => (text, false),
                    Comment::FileDoc(text) => (text, true),
                };
                out.docs.push(DocLine {
                    text,
                    for_file,
                    start,
                    end,
                });
            }
            Ok(_) if start < skip_to => {}
            Ok(token) => {
                if let Token::Ident(name) = token
                    && let Some(found) = name.chars().find(|c| !c.is_ascii())
                {
                    let problem = LexProblem::NonAsciiName {
                        name: name.to_owned(),
                        found,
                    };
                    diagnostics.push(Diagnostic::of(Span::new(file, start, end), &problem));
                }
                out.lexemes.push(Lexeme { token, start, end });
            }
            Err(_) if start < skip_to => {}
            Err(error) => {
                if text[range.start..].starts_with('#') {
                    // A comment of Python or a directive of C is one error, to the end of its line.
                    let rest = &text[range.end..];
                    skip_to = end + rest.find('\n').unwrap_or(rest.len()) as u32;
                    let word = rest.trim_start_matches([' ', '\t']);
                    let letters = word.find(|c: char| !c.is_ascii_alphabetic());
                    let word = &word[..letters.unwrap_or(word.len())];
                    if let Some(foreign) = elsewhere::construct::directive(word) {
                        diagnostics.push(Diagnostic::of(Span::new(file, start, end), &foreign));
                        continue;
                    }
                }
                // A run of bad characters is one error.
                let continues = error == LexError::InvalidCharacter && last_bad_end == Some(start);
                if !continues {
                    let problem = match error {
                        LexError::InvalidCharacter => LexProblem::InvalidCharacter {
                            found: text[range.start..].chars().next().unwrap_or('\u{fffd}'),
                        },
                        LexError::UnterminatedString => LexProblem::UnterminatedString,
                        LexError::UnterminatedComment => LexProblem::UnterminatedComment,
                    };
                    let shown = match error {
                        LexError::UnterminatedComment => start + 2,
                        _ => end,
                    };
                    diagnostics.push(Diagnostic::of(Span::new(file, start, shown), &problem));
                }
                if error == LexError::UnterminatedString {
                    // Keep an operand in its place, so that no second error follows.
                    out.lexemes.push(Lexeme {
                        token: Token::Str(""),
                        start,
                        end,
                    });
                }
                last_bad_end = Some(end);
            }
        }
    }
    out
}
