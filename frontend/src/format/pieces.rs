//! A text as tokens and comments in their order, with what stood between them.

use crate::lexer::{Lexeme, Token, balance::balance, classify::classify, lex};
use crate::source::FileId;

/// A token or a comment.
#[derive(Clone, Debug)]
pub struct Piece<'s> {
    /// As it is written; a comment without spaces at its end.
    pub text: &'s str,
    /// What it is.
    pub kind: Kind<'s>,
    /// Its first byte.
    pub start: u32,
    /// How many lines ended between the piece before and this one.
    pub newlines: usize,
    /// Where it stood in its line, in characters from 0.
    pub column: usize,
    /// Spaces before it, where it is not the first of its line.
    pub gap: usize,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind<'s> {
    /// A token, as the grammar takes it.
    Token(Token<'s>),
    /// `// …`, to the end of its line.
    LineComment,
    /// `/* … */`
    BlockComment,
}

impl<'s> Piece<'s> {
    /// The token, unless it is a comment.
    pub fn token(&self) -> Option<Token<'s>> {
        match self.kind {
            Kind::Token(token) => Some(token),
            Kind::LineComment | Kind::BlockComment => None,
        }
    }

    /// Whether it is this token.
    pub fn is(&self, token: Token<'_>) -> bool {
        self.token() == Some(token)
    }

    /// Whether it is a comment.
    pub fn is_comment(&self) -> bool {
        self.token().is_none()
    }
}

/// The pieces of a text that parses.
pub fn split(text: &str) -> Vec<Piece<'_>> {
    let mut ignored = Vec::new();
    let lexed = lex(FileId(0), text, &mut ignored);
    let lexemes = classify(&balance(FileId(0), text, &lexed.lexemes, &mut ignored));
    let mut tokens = lexemes.iter().peekable();
    let mut comments = lexed.comments.iter().peekable();
    let mut pieces = Vec::with_capacity(lexemes.len() + lexed.comments.len());
    let mut end = 0;
    let mut line_start = 0;
    loop {
        let (start, until, kind) = match (tokens.peek(), comments.peek()) {
            (None, None) => return pieces,
            (Some(Lexeme { start, end, token }), comment)
                if comment.is_none_or(|comment| *start < comment.start) =>
            {
                tokens.next();
                (*start, *end, Kind::Token(*token))
            }
            (_, Some(comment)) => {
                let block = text[comment.start as usize..].starts_with("/*");
                let kind = match block {
                    true => Kind::BlockComment,
                    false => Kind::LineComment,
                };
                let (start, until) = (comment.start, comment.end);
                comments.next();
                (start, until, kind)
            }
            (Some(_), None) => return pieces,
        };
        let between = &text[end as usize..start as usize];
        let newlines = between.matches('\n').count();
        if let Some(at) = text[..start as usize]
            .get(line_start..)
            .and_then(|line| line.rfind('\n'))
        {
            line_start += at + 1;
        }
        let own = text[start as usize..until as usize].trim_end();
        pieces.push(Piece {
            text: own,
            kind,
            start,
            newlines,
            column: text[line_start..start as usize].chars().count(),
            gap: between.chars().count(),
        });
        end = until;
    }
}

/// Whether the token opens a bracket that nothing is spaced from: `(`, `[` and the `<` of arguments.
pub fn opens_tightly(token: Token<'_>) -> bool {
    matches!(token, Token::LParen | Token::LBracket | Token::GenericOpen)
}

/// Whether the token is a `{`.
pub fn opens_brace(token: Token<'_>) -> bool {
    matches!(
        token,
        Token::LBrace | Token::BlockStatement | Token::FieldsOpen
    )
}

/// Whether the token closes a bracket.
pub fn closes(token: Token<'_>) -> bool {
    use Token::*;
    matches!(token, RParen | RBracket | RBrace | GenericClose)
}
