//! Orders of tuples: lexicographic, and colexicographic, which is the order of indices.

use super::{plain_integer, plain_integers};
use crate::{Condition, Int, IntTuple, LayoutError, Tree};

/// Whether `a` comes before `b` where the first modes count most; of two that begin alike the shorter
/// one does. `None` if that depends on run-time values.
///
/// # Errors
/// If a leaf meets a tuple, or one of them has a basis.
pub fn lex_less(a: &IntTuple, b: &IntTuple) -> Result<Option<bool>, LayoutError> {
    less("lex_less", a, b, false)
}

/// Whether `a` comes before `b` where the last modes count most: the order of the indices of a shape.
///
/// # Errors
/// As [`lex_less`].
pub fn colex_less(a: &IntTuple, b: &IntTuple) -> Result<Option<bool>, LayoutError> {
    less("colex_less", a, b, true)
}

fn less(
    op: &'static str,
    a: &IntTuple,
    b: &IntTuple,
    from_the_back: bool,
) -> Result<Option<bool>, LayoutError> {
    match (a, b) {
        (Tree::Leaf(a), Tree::Leaf(b)) => {
            plain_integer(op, a)?;
            plain_integer(op, b)?;
            Ok(below(a, b))
        }
        (Tree::Node(x), Tree::Node(y)) => {
            plain_integers(op, a)?;
            plain_integers(op, b)?;
            for step in 0..x.len().min(y.len()) {
                let at = |modes: &[IntTuple]| match from_the_back {
                    true => modes[modes.len() - 1 - step].clone(),
                    false => modes[step].clone(),
                };
                let (a, b) = (at(x), at(y));
                if a == b {
                    continue;
                }
                return match (
                    less(op, &a, &b, from_the_back)?,
                    less(op, &b, &a, from_the_back)?,
                ) {
                    (Some(false), Some(false)) => continue,
                    (Some(true), _) => Ok(Some(true)),
                    (_, Some(true)) => Ok(Some(false)),
                    _ => Ok(None),
                };
            }
            Ok(Some(x.len() < y.len()))
        }
        (a, b) => Err(LayoutError::ProfileMismatch {
            op,
            expected: a.to_string(),
            found: b.to_string(),
        }),
    }
}

fn below(a: &Int, b: &Int) -> Option<bool> {
    let (left, right) = (a.add(&Int::ONE), b.clone());
    Condition::AtMost { left, right }.decide()
}
