//! Decides what the grammar alone cannot.
//!
//! - `<` directly behind a name (no space) opens generic arguments if a `>` closes them before
//!   `;`, a brace, `&&` or `||`. Where a comma stands between the two, `f(a<b, c>d)` would be
//!   possible; then the `>` must be followed by `(`, `{` or something that cannot begin an operand. A `<` with a space before it always compares.
//! - `>` `>` that close nothing and touch are a shift.
//! - `o` and `step` between two operands are operators; elsewhere they are names.
//! - `if` and `{` at the start of a statement begin a statement, elsewhere an expression.
//! - `{` directly behind a name, and not in the head of an `if`, `while`, `for` or item, begins the fields of a record if
//!   a name and `=`, `:`, `,` or `}` follow, and no `;` stands among them. Between such braces there may be nothing if
//!   the name begins with a capital.
//! - `tunable` behind `where` or a comma of its list, with what begins an operand behind it, begins a condition on
//!   candidates; elsewhere it is a name.
//! - `roles` at the start of a statement, with `{` behind it, begins one; elsewhere it is a name.
//! - A name before `(…) {` is a reduction, `sum(l) { … }`, unless the brace belongs to the head of
//!   an `if`, `while`, `for` or item.
//!
//! Input must be balanced ([`super::balance`]).

use super::{Lexeme, Token};

/// Generic arguments longer than this many tokens are read as a comparison; keeps the scan linear.
const MAX_GENERIC_TOKENS: usize = 400;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Angle {
    None,
    Open,
    Close,
}

/// Replaces tokens by their contextual variants.
pub fn classify<'s>(lexemes: &[Lexeme<'s>]) -> Vec<Lexeme<'s>> {
    let partners = partners(lexemes);
    let angles = angles(lexemes);
    let mut out: Vec<Lexeme<'s>> = Vec::with_capacity(lexemes.len());
    // For each open bracket: whether the next `{` at this level is the body of a head.
    let mut heads = vec![false];
    // Braces that belong to a reduction or a record, and whether the last `}` was one of them.
    let mut of_operand = vec![false; lexemes.len() + 1];
    let mut after_operand = false;
    // Brackets around the conditions of a kernel, from its `where` to its `launch` or body.
    let mut conditions = None;
    let mut at = 0;
    while at < lexemes.len() {
        let mut lexeme = lexemes[at];
        let previous = out.last().map(|lexeme| lexeme.token);
        let in_head = heads.last().copied().unwrap_or(false);
        let statement_start = !in_head && begins_statement(&out);
        match lexeme.token {
            Token::Less if angles[at] == Angle::Open => lexeme.token = Token::GenericOpen,
            Token::Greater if angles[at] == Angle::Close => lexeme.token = Token::GenericClose,
            Token::Greater => {
                let next = lexemes
                    .get(at + 1)
                    .filter(|next| next.start == lexeme.end && angles[at + 1] == Angle::None);
                let joined = match next.map(|next| next.token) {
                    Some(Token::Greater) => Some(Token::Shr),
                    Some(Token::GreaterEq) => Some(Token::ShrAssign),
                    _ => None,
                };
                if let Some(token) = joined {
                    lexeme = Lexeme {
                        token,
                        start: lexeme.start,
                        end: lexemes[at + 1].end,
                    };
                    at += 1;
                }
            }
            Token::Ident("o") if continues_operand(previous, after_operand) => {
                lexeme.token = Token::Compose
            }
            Token::Ident("step") if continues_operand(previous, after_operand) => {
                lexeme.token = Token::Step
            }
            Token::Ident("tunable")
                if conditions == Some(heads.len())
                    && matches!(previous, Some(Token::Where | Token::Comma))
                    && lexemes
                        .get(at + 1)
                        .is_some_and(|next| begins_condition(next.token)) =>
            {
                lexeme.token = Token::Tunable
            }
            Token::Ident("roles")
                if statement_start
                    && lexemes
                        .get(at + 1)
                        .is_some_and(|next| next.token == Token::LBrace) =>
            {
                lexeme.token = Token::Roles
            }
            Token::Ident(name)
                if !in_head
                    && previous != Some(Token::Dot)
                    && opens_reduction(lexemes, &partners, at) =>
            {
                lexeme.token = Token::Reduction(name);
                let body = partners[at + 1] + 1;
                of_operand[body] = true;
                of_operand[partners[body]] = true;
            }
            Token::If if statement_start => lexeme.token = Token::IfStatement,
            Token::LBrace if statement_start => lexeme.token = Token::BlockStatement,
            Token::LBrace if !in_head && opens_fields(lexemes, &partners, at) => {
                lexeme.token = Token::FieldsOpen;
                of_operand[partners[at]] = true;
            }
            _ => {}
        }
        match lexeme.token {
            Token::LParen | Token::LBracket => heads.push(false),
            Token::LBrace | Token::BlockStatement | Token::FieldsOpen => {
                if let Some(head) = heads.last_mut() {
                    *head = false;
                }
                heads.push(false);
            }
            Token::RParen | Token::RBracket | Token::RBrace if heads.len() > 1 => {
                heads.pop();
            }
            Token::If | Token::IfStatement | Token::While | Token::For => {
                if let Some(head) = heads.last_mut() {
                    *head = true;
                }
            }
            // A function of a record.
            Token::Fn if heads.len() > 1 => {
                if let Some(head) = heads.last_mut() {
                    *head = true;
                }
            }
            token if token.starts_item() => {
                heads.clear();
                heads.push(!matches!(token, Token::Import | Token::Const));
            }
            _ => {}
        }
        match lexeme.token {
            Token::Where => conditions = Some(heads.len()),
            Token::Launch => conditions = None,
            // The body, which was pushed above; a brace within brackets belongs to a condition.
            Token::LBrace if conditions == Some(heads.len() - 1) => conditions = None,
            _ => {}
        }
        if lexeme.token == Token::RBrace {
            after_operand = of_operand[at];
        }
        out.push(lexeme);
        at += 1;
    }
    out
}

/// For each bracket the index of its partner; for all else, and without partner, its own index.
pub fn partners(lexemes: &[Lexeme<'_>]) -> Vec<usize> {
    let mut partners: Vec<usize> = (0..lexemes.len()).collect();
    let mut stack = Vec::new();
    for (at, lexeme) in lexemes.iter().enumerate() {
        match lexeme.token {
            Token::LParen | Token::LBracket | Token::LBrace | Token::BlockStatement => {
                stack.push(at);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                if let Some(open) = stack.pop() {
                    partners[open] = at;
                    partners[at] = open;
                }
            }
            _ => {}
        }
    }
    partners
}

fn begins_statement(out: &[Lexeme<'_>]) -> bool {
    let boundary = |at: Option<usize>| match at.map(|at| out[at].token) {
        None => true,
        Some(token) => matches!(
            token,
            Token::LBrace
                | Token::BlockStatement
                | Token::RBrace
                | Token::Semi
                | Token::ErrorStatement
        ),
    };
    match out.last().map(|lexeme| lexeme.token) {
        Some(Token::Static) => boundary(out.len().checked_sub(2)),
        _ => boundary(out.len().checked_sub(1)),
    }
}

/// Whether a name here can only be an operator. A `}` ends an operand only if it ends a reduction or a record;
/// others may have ended a statement.
fn continues_operand(previous: Option<Token<'_>>, after_operand: bool) -> bool {
    previous.is_some_and(|token| token.ends_operand() && (token != Token::RBrace || after_operand))
}

/// Whether a condition can begin so, and nothing that goes on behind a name, but for `(`: a condition is no call.
fn begins_condition(token: Token<'_>) -> bool {
    use Token::*;
    matches!(
        token,
        Ident(_) | Int(_) | Float(_) | Str(_) | True | False | LParen | Bang | If
    )
}

/// Whether the `{` at `at`, which is in no head, begins the fields of a record.
fn opens_fields(lexemes: &[Lexeme<'_>], partners: &[usize], at: usize) -> bool {
    let token = |at: usize| lexemes.get(at).map(|lexeme| lexeme.token);
    let Some(Token::Ident(name)) = at.checked_sub(1).and_then(token) else {
        return false;
    };
    let begins = match (token(at + 1), token(at + 2)) {
        (Some(Token::RBrace), _) => name.starts_with(|c: char| c.is_ascii_uppercase()),
        (Some(Token::Ident(_)), Some(next)) => matches!(
            next,
            Token::Assign | Token::Colon | Token::Comma | Token::RBrace
        ),
        _ => false,
    };
    // What has a `;` directly between its braces is a block: `do { i = 1; }` of another language.
    let mut inner = at + 1;
    while begins && inner < partners[at] {
        match lexemes[inner].token {
            Token::Semi => return false,
            _ => inner = partners[inner].max(inner) + 1,
        }
    }
    begins && partners[at] > at
}

fn opens_reduction(lexemes: &[Lexeme<'_>], partners: &[usize], at: usize) -> bool {
    let open = at + 1;
    lexemes
        .get(open)
        .is_some_and(|lexeme| lexeme.token == Token::LParen)
        && lexemes
            .get(partners[open] + 1)
            .is_some_and(|lexeme| partners[open] > open && lexeme.token == Token::LBrace)
}

fn angles(lexemes: &[Lexeme<'_>]) -> Vec<Angle> {
    let mut angles = vec![Angle::None; lexemes.len()];
    for at in 0..lexemes.len() {
        if !could_open_generic(lexemes, at) {
            continue;
        }
        if let Some(close) = find_generic_close(lexemes, at) {
            angles[at] = Angle::Open;
            angles[close] = Angle::Close;
        }
    }
    angles
}

/// Whether the lexeme is a `<` directly behind a name, or behind the name of a definition.
fn could_open_generic(lexemes: &[Lexeme<'_>], at: usize) -> bool {
    if lexemes[at].token != Token::Less || at == 0 {
        return false;
    }
    let name = lexemes[at - 1];
    matches!(name.token, Token::Ident(_))
        && (name.end == lexemes[at].start || is_definition(lexemes, at - 1))
}

fn is_definition(lexemes: &[Lexeme<'_>], name: usize) -> bool {
    name > 0
        && matches!(
            lexemes[name - 1].token,
            Token::Fn | Token::Kernel | Token::Record
        )
}

fn find_generic_close(lexemes: &[Lexeme<'_>], open: usize) -> Option<usize> {
    let (mut brackets, mut angles, mut comma) = (0usize, 1usize, false);
    let end = lexemes.len().min(open + 1 + MAX_GENERIC_TOKENS);
    for at in open + 1..end {
        match lexemes[at].token {
            Token::LParen | Token::LBracket => brackets += 1,
            Token::RParen | Token::RBracket if brackets == 0 => return None,
            Token::RParen | Token::RBracket => brackets -= 1,
            _ if brackets > 0 => {}
            Token::Semi | Token::LBrace | Token::RBrace | Token::AndAnd | Token::OrOr => {
                return None;
            }
            Token::Comma => comma |= angles == 1,
            Token::Less if could_open_generic(lexemes, at) => angles += 1,
            Token::Greater => {
                angles -= 1;
                if angles == 0 {
                    let sure = !comma
                        || is_definition(lexemes, open - 1)
                        || follows_generic(lexemes.get(at + 1).map(|next| next.token));
                    return sure.then_some(at);
                }
            }
            token if token.starts_item() => return None,
            _ => {}
        }
    }
    None
}

/// Whether a `>` before `next` closes generic arguments rather than compares: `next` is `(`, `{` or
/// cannot begin an operand.
fn follows_generic(next: Option<Token<'_>>) -> bool {
    use Token::*;
    !matches!(
        next,
        Some(
            Int(_)
                | Float(_)
                | Str(_)
                | True
                | False
                | Underscore
                | LBracket
                | Minus
                | Bang
                | If
                | Static
        )
    ) && !matches!(next, Some(Ident(name)) if name != "o" && name != "step")
}
