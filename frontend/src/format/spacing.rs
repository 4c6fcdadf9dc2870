//! Whether a space stands between two pieces of a line.

use super::pieces::{Kind, Piece, opens_brace, opens_tightly};
use super::structure::{Role, Structure};
use crate::lexer::Token;

/// Whether a space stands before the piece at `at`, which follows another one on its line.
pub fn spaced(pieces: &[Piece<'_>], structure: &Structure, at: usize) -> bool {
    use Token::*;
    let Some(before) = at.checked_sub(1) else {
        return false;
    };
    let (left, right) = (&pieces[before], &pieces[at]);
    let (left, right) = match (left.kind, right.kind) {
        (Kind::Token(left), Kind::Token(right)) => (left, right),
        (Kind::Token(left), _) => return !opens_tightly(left),
        (_, Kind::Token(Comma | Semi | RParen | RBracket | GenericClose)) => return false,
        _ => return true,
    };
    match (left, right) {
        // `- -x` is no decrement.
        (Minus, Minus) => true,
        _ if opens_tightly(left) => false,
        _ if opens_brace(left) => right != RBrace,
        (_, RParen | RBracket | GenericClose | Comma | Semi | GenericOpen) => false,
        (Dot | DotDot | At, _) | (_, Dot | DotDot | At) => false,
        (Minus | Bang, _) if structure.is_sign[before] => false,
        (Comma, _) => !structure.of_swizzle[before],
        (_, Colon) => structure.roles[at] != Role::TypeColon,
        (Ident(_) | Reduction(_) | GenericClose | RParen | RBracket, LParen) => false,
        (Ident(_) | GenericClose | RParen | RBracket | Str(_) | RBrace, LBracket) => false,
        _ => true,
    }
}
