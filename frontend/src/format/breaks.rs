//! Which line breaks of the author stay, and which there must be.

use super::pieces::{Kind, Piece, closes, opens_brace, opens_tightly};
use super::structure::{Role, Structure};
use crate::lexer::Token;

/// What stands between a piece and the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    /// Nothing, or a space.
    #[default]
    None,
    /// The end of the line.
    Line,
    /// An empty line.
    Blank,
}

/// The break before each piece.
pub fn settle(pieces: &[Piece<'_>], structure: &Structure) -> Vec<Break> {
    let mut breaks = of_author(pieces, structure);
    for (at, piece) in pieces.iter().enumerate() {
        let brace = piece.token().is_some_and(opens_brace);
        if let (true, Some(close)) = (brace, structure.partner[at])
            && breaks[at + 1..=close].iter().any(|it| *it > Break::None)
        {
            open_braces(pieces, structure, &mut breaks, at);
        }
    }
    for heads in &structure.heads {
        if heads.iter().any(|at| breaks[*at] > Break::None) {
            break_heads(structure, &mut breaks, heads);
        }
    }
    breaks
}

/// Gives `where` and `launch` of a kernel lines of their own, and its `{` where its body has them.
pub fn break_heads(structure: &Structure, breaks: &mut [Break], heads: &[usize]) {
    let Some((brace, words)) = heads.split_last() else {
        return;
    };
    words.iter().for_each(|at| breaks[*at] = Break::Line);
    let body = structure.partner[*brace].unwrap_or(*brace);
    breaks[*brace] = match breaks[brace + 1..=body].iter().any(|it| *it > Break::None) {
        true => Break::Line,
        false => Break::None,
    };
}

/// Gives the braces at `open` lines of their own, and each statement directly in them; an `else` stands behind the second one.
pub fn open_braces(pieces: &[Piece<'_>], structure: &Structure, breaks: &mut [Break], open: usize) {
    let Some(close) = structure.partner[open] else {
        return;
    };
    if close == open + 1 {
        return;
    }
    let mut at = open + 1;
    // A comment behind the brace stays there.
    if !(pieces[at].is_comment() && pieces[at].newlines == 0) {
        breaks[at] = Break::Line;
    }
    while at < close {
        if structure.roles[at] == Role::Starter {
            let mut first = at;
            while first > open + 1
                && pieces[first - 1].kind == Kind::BlockComment
                && breaks[first] == Break::None
            {
                first -= 1;
            }
            breaks[first] = breaks[first].max(Break::Line);
        }
        at = match structure.partner[at] {
            Some(partner) if partner > at => partner,
            _ => at + 1,
        };
    }
    // Empty lines at the edges are none.
    breaks[open + 1] = breaks[open + 1].min(Break::Line);
    breaks[close] = Break::Line;
    if pieces
        .get(close + 1)
        .is_some_and(|next| next.is(Token::Else))
    {
        breaks[close + 1] = Break::None;
    }
}

/// The author's breaks, as far as they may stay, and those behind `// …`.
fn of_author(pieces: &[Piece<'_>], structure: &Structure) -> Vec<Break> {
    let mut breaks = vec![Break::None; pieces.len()];
    let mut depth = 0usize;
    for at in 0..pieces.len() {
        let piece = &pieces[at];
        if at > 0 {
            let before = &pieces[at - 1];
            let written = match piece.newlines {
                0 => Break::None,
                1 => Break::Line,
                _ => Break::Blank,
            };
            let starts = matches!(structure.roles[at], Role::Starter | Role::Element);
            let own_line =
                before.is_comment() && (before.newlines > 0 || before.kind == Kind::LineComment);
            breaks[at] = match (before.token(), piece.token()) {
                (_, None) | (None, Some(_)) if own_line || piece.is_comment() => written,
                _ if starts => written,
                (Some(left), Some(right)) if opens_brace(left) && closes(right) => Break::None,
                (Some(left), Some(right)) if may_break(structure, at, left, right) => {
                    written.min(Break::Line)
                }
                (_, Some(_)) | (_, None) => Break::None,
            };
            let introduced = before.kind == Kind::BlockComment
                && piece.newlines == 0
                && (at == 1 || breaks[at - 1] > Break::None);
            let item = depth == 0 && structure.roles[at] == Role::Starter && !introduced;
            if before.kind == Kind::LineComment || item {
                breaks[at] = breaks[at].max(Break::Line);
            }
            // An empty line behind an opening bracket, or before a closing one, is none.
            if piece.token().is_some_and(closes)
                || before
                    .token()
                    .is_some_and(|left| opens_tightly(left) || opens_brace(left))
            {
                breaks[at] = breaks[at].min(Break::Line);
            }
        }
        match piece.token() {
            Some(token) if opens_tightly(token) || opens_brace(token) => depth += 1,
            Some(token) if closes(token) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    breaks
}

/// Whether a line may end between two tokens.
fn may_break(structure: &Structure, at: usize, left: Token<'_>, right: Token<'_>) -> bool {
    use Token::*;
    let operator = |at: usize| matches!(structure.roles[at], Role::Operator(_));
    let assigns = matches!(
        left,
        Assign
            | AddAssign
            | SubAssign
            | MulAssign
            | DivAssign
            | RemAssign
            | AndAssign
            | OrAssign
            | XorAssign
            | ShlAssign
            | ShrAssign
    );
    let of_layout = |at: usize, token| token == Colon && structure.roles[at] != Role::TypeColon;
    opens_tightly(left)
        || opens_brace(left)
        || closes(right)
        || assigns
        || operator(at)
        || operator(at - 1)
        || of_layout(at, right)
        || of_layout(at - 1, left)
        || structure.roles[at] == Role::Head
        || matches!(left, Comma | Semi | Compose | In | Where | Launch)
        || matches!(right, Dot | Compose | Step | Else)
}
