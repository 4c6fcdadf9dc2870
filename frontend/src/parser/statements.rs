//! Where statements begin and end, judged by tokens alone. Error recovery needs to know it in
//! places that do not parse.

use crate::lexer::{Lexeme, Token};
use std::ops::Range;

/// The statements between `open` and `close`, the indices of a brace and its partner.
pub fn split(lexemes: &[Lexeme<'_>], open: usize, close: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut depth = 0usize;
    let (mut start, mut block_like) = (open + 1, false);
    let mut at = open + 1;
    while at < close {
        let token = lexemes[at].token;
        if depth == 0 {
            if at > start && begins_statement(lexemes, start, at) {
                ranges.push(start..at);
                start = at;
            }
            if at == start {
                block_like = is_block_like(token);
            } else if token == Token::For {
                block_like = true;
            }
        }
        match token {
            Token::LParen
            | Token::LBracket
            | Token::LBrace
            | Token::FieldsOpen
            | Token::BlockStatement => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => {
                depth = depth.saturating_sub(1);
                let next = lexemes.get(at + 1).map(|lexeme| lexeme.token);
                if depth == 0 && token == Token::RBrace && block_like && next != Some(Token::Else) {
                    ranges.push(start..at + 1);
                    start = at + 1;
                }
            }
            Token::Semi | Token::ErrorStatement if depth == 0 => {
                ranges.push(start..at + 1);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if start < close {
        ranges.push(start..close);
    }
    ranges
}

/// Whether a statement that begins so ends with its last brace.
pub fn is_block_like(first: Token<'_>) -> bool {
    matches!(
        first,
        Token::IfStatement
            | Token::For
            | Token::While
            | Token::Loop
            | Token::Static
            | Token::Roles
            | Token::BlockStatement
    )
}

/// Whether the token at `at` begins a new statement although the one from `start` has not ended.
fn begins_statement(lexemes: &[Lexeme<'_>], start: usize, at: usize) -> bool {
    let token = lexemes[at].token;
    let previous = lexemes[at - 1].token;
    match token {
        Token::For => {
            let named = matches!(lexemes[start].token, Token::Ident(_));
            let clause = named && (previous == Token::RParen || at == start + 1);
            previous != Token::Static && !clause
        }
        Token::IfStatement => previous != Token::Static,
        Token::Static => previous.ends_operand(),
        token => token.starts_statement(),
    }
}

/// The innermost braces of a block around `at`; for a closing brace, its own.
pub fn enclosing_braces(lexemes: &[Lexeme<'_>], at: usize) -> Option<(usize, usize)> {
    let mut stack = Vec::new();
    for (index, lexeme) in lexemes[..at.min(lexemes.len())].iter().enumerate() {
        match lexeme.token {
            Token::LBrace | Token::BlockStatement | Token::FieldsOpen => stack.push(index),
            Token::RBrace => {
                stack.pop();
            }
            _ => {}
        }
    }
    // Within the fields of a record there are no statements.
    let is_block = |open: &usize| lexemes[*open].token != Token::FieldsOpen;
    let open = stack.into_iter().rfind(is_block)?;
    Some((open, closing_brace(lexemes, open)?))
}

/// The partner of the brace at `open`.
pub fn closing_brace(lexemes: &[Lexeme<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, lexeme) in lexemes.iter().enumerate().skip(open) {
        match lexeme.token {
            Token::LBrace | Token::BlockStatement | Token::FieldsOpen => depth += 1,
            Token::RBrace => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// The outermost braces within a range that do not contain `except`.
pub fn brace_groups(
    lexemes: &[Lexeme<'_>],
    range: Range<usize>,
    except: usize,
) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let mut at = range.start;
    while at < range.end {
        if matches!(lexemes[at].token, Token::LBrace | Token::BlockStatement)
            && let Some(close) = closing_brace(lexemes, at)
            && close < range.end
            && !(at + 1..=close).contains(&except)
        {
            groups.push((at, close));
            at = close;
        }
        at += 1;
    }
    groups
}
