//! Arithmetic on nested integers: products, sums, element-wise operations, divisions of shapes.

use super::rank_mismatch;
use crate::obligation::require;
use crate::{Condition, Int, IntTuple, LayoutError, Tree};

/// The product of all leaves; 1 for the empty tuple.
pub fn product(tuple: &IntTuple) -> Int {
    match tuple {
        Tree::Leaf(value) => value.clone(),
        Tree::Node(modes) => modes
            .iter()
            .fold(Int::ONE, |size, mode| size.mul(&product(mode))),
    }
}

/// The product of each mode, as a flat tuple. A leaf becomes a tuple of rank 1.
pub fn product_each(tuple: &IntTuple) -> IntTuple {
    Tree::Node(
        tuple
            .modes()
            .iter()
            .map(|mode| Tree::Leaf(product(mode)))
            .collect(),
    )
}

/// The product of `tuple` at each leaf of `guide`.
///
/// # Errors
/// If `tuple` does not refine the profile of `guide`.
pub fn product_like<T>(tuple: &IntTuple, guide: &Tree<T>) -> Result<IntTuple, LayoutError> {
    match guide {
        Tree::Leaf(_) => Ok(Tree::Leaf(product(tuple))),
        Tree::Node(guides) => {
            let modes = same_rank("product_like", tuple, guides.len())?;
            let modes: Result<Vec<_>, _> = modes
                .iter()
                .zip(guides)
                .map(|(mode, guide)| product_like(mode, guide))
                .collect();
            Ok(Tree::Node(modes?))
        }
    }
}

fn same_rank<'a>(
    op: &'static str,
    tuple: &'a IntTuple,
    rank: usize,
) -> Result<&'a [IntTuple], LayoutError> {
    match tuple {
        Tree::Node(modes) if modes.len() == rank => Ok(modes),
        other => Err(rank_mismatch(op, rank, other.rank(), other)),
    }
}

/// Applies `f` to the leaves of two congruent tuples.
pub(crate) fn zip_leaves(
    op: &'static str,
    a: &IntTuple,
    b: &IntTuple,
    f: &mut impl FnMut(&Int, &Int) -> Result<IntTuple, LayoutError>,
) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Leaf(a), Tree::Leaf(b)) => f(a, b),
        (Tree::Node(a), Tree::Node(b)) if a.len() == b.len() => {
            let modes: Result<Vec<_>, _> = a
                .iter()
                .zip(b)
                .map(|(a, b)| zip_leaves(op, a, b, f))
                .collect();
            Ok(Tree::Node(modes?))
        }
        _ => Err(LayoutError::ProfileMismatch {
            op,
            expected: a.to_string(),
            found: b.to_string(),
        }),
    }
}

/// Sum of two arithmetic tuples. A leaf 0 is the zero of every profile, a scaled basis stands for
/// the tuple that it abbreviates, and a shorter tuple is padded with zeros.
///
/// # Errors
/// If a number other than 0 meets a tuple.
pub fn tuple_add(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Leaf(x), other) | (other, Tree::Leaf(x)) if x.is(0) => Ok(other.clone()),
        (Tree::Leaf(x), Tree::Leaf(y)) if x.path() == y.path() => Ok(Tree::Leaf(x.add(y))),
        (Tree::Node(x), Tree::Node(y)) => {
            let zero = Tree::Leaf(Int::ZERO);
            let rank = x.len().max(y.len());
            let modes: Result<Vec<_>, _> = (0..rank)
                .map(|i| tuple_add(x.get(i).unwrap_or(&zero), y.get(i).unwrap_or(&zero)))
                .collect();
            Ok(Tree::Node(modes?))
        }
        (a, b) => {
            let (x, y) = (spell_basis(a), spell_basis(b));
            if &x == a && &y == b {
                return Err(LayoutError::ProfileMismatch {
                    op: "tuple_add",
                    expected: a.to_string(),
                    found: b.to_string(),
                });
            }
            tuple_add(&x, &y)
        }
    }
}

/// Spells a scaled basis out as the tuple that it abbreviates: `5@1` is `(0,5)`.
pub(crate) fn spell_basis(tuple: &IntTuple) -> IntTuple {
    match tuple {
        Tree::Leaf(Int::Scaled(value, path)) => {
            let inner = Tree::Leaf((**value).clone());
            path.iter().rev().fold(inner, |inner, &mode| {
                let mut modes = vec![Tree::Leaf(Int::ZERO); mode];
                modes.push(inner);
                Tree::Node(modes)
            })
        }
        other => other.clone(),
    }
}

/// The negated tuple.
pub fn tuple_neg(a: &IntTuple) -> IntTuple {
    a.map(&mut |leaf| leaf.neg())
}

/// Difference of two arithmetic tuples.
///
/// # Errors
/// As [`tuple_add`].
pub fn tuple_sub(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    tuple_add(a, &tuple_neg(b))
}

/// Element-wise product of two congruent tuples.
///
/// # Errors
/// If they are not congruent.
pub fn tuple_mul(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    zip_leaves("tuple_mul", a, b, &mut |a, b| Ok(Tree::Leaf(a.mul(b))))
}

/// The sum of all leaves, an arithmetic tuple if there are scaled bases among them.
///
/// # Errors
/// If integers and bases are mixed.
pub fn sum(tuple: &IntTuple) -> Result<IntTuple, LayoutError> {
    let zero = Tree::Leaf(Int::ZERO);
    tuple
        .leaves()
        .into_iter()
        .try_fold(zero, |sum, leaf| tuple_add(&sum, &Tree::Leaf(leaf.clone())))
}

/// The inner product of two congruent tuples.
///
/// # Errors
/// If they are not congruent.
pub fn inner_product(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Leaf(a), Tree::Leaf(b)) => Ok(Tree::Leaf(a.mul(b))),
        (Tree::Node(x), Tree::Node(y)) if x.len() == y.len() => {
            let zero = Tree::Leaf(Int::ZERO);
            x.iter()
                .zip(y)
                .try_fold(zero, |sum, (x, y)| tuple_add(&sum, &inner_product(x, y)?))
        }
        _ => Err(LayoutError::ProfileMismatch {
            op: "inner_product",
            expected: a.to_string(),
            found: b.to_string(),
        }),
    }
}

/// Element-wise `a * size(b)` at the leaves of `a`.
///
/// # Errors
/// If `b` does not refine the profile of `a`.
pub fn elem_scale(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match a {
        Tree::Leaf(a) => Ok(Tree::Leaf(a.mul(&product(b)))),
        Tree::Node(modes) => {
            let others = same_rank("elem_scale", b, modes.len())?;
            let modes: Result<Vec<_>, _> = modes
                .iter()
                .zip(others)
                .map(|(a, b)| elem_scale(a, b))
                .collect();
            Ok(Tree::Node(modes?))
        }
    }
}

/// Refuses a scaled basis where a plain integer is needed.
pub(crate) fn plain_integer(op: &'static str, value: &Int) -> Result<(), LayoutError> {
    if value.path().is_empty() {
        return Ok(());
    }
    Err(LayoutError::Unsupported {
        op,
        expected: "an integer without a basis",
        found: value.to_string(),
    })
}

/// Refuses scaled bases where plain integers are needed.
pub(crate) fn plain_integers(op: &'static str, tuple: &IntTuple) -> Result<(), LayoutError> {
    let mut result = Ok(());
    tuple.visit(&mut |leaf| {
        if result.is_ok() {
            result = plain_integer(op, leaf);
        }
    });
    result
}

/// Division rounded up. A tuple by a tuple goes mode by mode, missing modes of `b` counting as 1;
/// a tuple by an integer folds the divisor through the modes from left to right.
///
/// # Errors
/// If `b` has more modes than `a`, or a static divisor is not positive.
pub fn ceil_div(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Node(x), Tree::Node(y)) => {
            if y.len() > x.len() {
                return Err(LayoutError::TooManyModes {
                    op: "ceil_div",
                    limit: x.len(),
                    found: y.len(),
                    value: b.to_string(),
                });
            }
            let one = Tree::Leaf(Int::ONE);
            let modes: Result<Vec<_>, _> = x
                .iter()
                .enumerate()
                .map(|(i, x)| ceil_div(x, y.get(i).unwrap_or(&one)))
                .collect();
            Ok(Tree::Node(modes?))
        }
        (Tree::Node(x), Tree::Leaf(b)) => {
            let mut rest = b.clone();
            let mut out = Vec::with_capacity(x.len());
            for mode in x {
                out.push(ceil_div(mode, &Tree::Leaf(rest.clone()))?);
                rest = rest.ceil_div(&positive("ceil_div", &product(mode))?);
            }
            Ok(Tree::Node(out))
        }
        (Tree::Leaf(a), b) => {
            let divisor = positive("ceil_div", &product(b))?;
            Ok(Tree::Leaf(a.ceil_div(&divisor)))
        }
    }
}

fn positive(op: &'static str, divisor: &Int) -> Result<Int, LayoutError> {
    match divisor {
        Int::Static(value) if *value <= 0 => Err(LayoutError::Unsupported {
            op,
            expected: "a positive divisor",
            found: divisor.to_string(),
        }),
        Int::Scaled(..) => Err(LayoutError::Unsupported {
            op,
            expected: "an integer divisor",
            found: divisor.to_string(),
        }),
        other => Ok(other.clone()),
    }
}

/// `a` rounded up to a multiple of `b`, mode by mode.
///
/// # Errors
/// As [`ceil_div`].
pub fn round_up(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Node(x), Tree::Node(y)) if y.len() <= x.len() => {
            let one = Tree::Leaf(Int::ONE);
            let modes: Result<Vec<_>, _> = x
                .iter()
                .enumerate()
                .map(|(i, x)| round_up(x, y.get(i).unwrap_or(&one)))
                .collect();
            Ok(Tree::Node(modes?))
        }
        (Tree::Leaf(a), Tree::Leaf(b)) => {
            let b = positive("round_up", b)?;
            Ok(Tree::Leaf(a.ceil_div(&b).mul(&b)))
        }
        _ => Err(rank_mismatch("round_up", a.rank(), b.rank(), b)),
    }
}

/// Division of shapes: [`ceil_div`] where of every two numbers one divides the other.
///
/// # Errors
/// If the ranks differ, or two numbers do not divide each other.
pub fn shape_div(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (a, b) {
        (Tree::Node(x), Tree::Node(y)) => {
            if x.len() != y.len() {
                return Err(rank_mismatch("shape_div", x.len(), y.len(), b));
            }
            let modes: Result<Vec<_>, _> = x.iter().zip(y).map(|(x, y)| shape_div(x, y)).collect();
            Ok(Tree::Node(modes?))
        }
        (Tree::Node(x), Tree::Leaf(b)) => {
            let mut rest = b.clone();
            let mut out = Vec::with_capacity(x.len());
            for mode in x {
                out.push(shape_div(mode, &Tree::Leaf(rest.clone()))?);
                rest = shape_div_int(&rest, &product(mode))?;
            }
            Ok(Tree::Node(out))
        }
        (Tree::Leaf(a), b) => Ok(Tree::Leaf(shape_div_int(a, &product(b))?)),
    }
}

fn shape_div_int(a: &Int, b: &Int) -> Result<Int, LayoutError> {
    let b = positive("shape_div", b)?;
    let divides = |divisor: &Int, value: &Int| Condition::Divides {
        divisor: divisor.clone(),
        value: value.clone(),
    };
    let either = Condition::Either(Box::new(divides(&b, a)), Box::new(divides(a, &b)));
    require("shape_div", either, || LayoutError::Unrelated {
        op: "shape_div",
        what: "a divisor",
        value: b.clone(),
        other: a.clone(),
    })?;
    Ok(a.ceil_div(&b))
}

/// Whether every leaf of `a` is less than the leaf of `b` at its place; `None` if that depends on
/// run-time values. A leaf of `a` against a tuple compares as an index into that shape.
///
/// # Errors
/// If `a` has a tuple where `b` has a leaf, or their ranks differ.
pub fn elem_less(a: &IntTuple, b: &IntTuple) -> Result<Option<bool>, LayoutError> {
    match (a, b) {
        (Tree::Leaf(a), b) => {
            let bound = product(b);
            plain_integer("elem_less", a)?;
            plain_integers("elem_less", b)?;
            let less = Condition::AtMost {
                left: a.add(&Int::ONE),
                right: bound,
            };
            Ok(less.decide())
        }
        (Tree::Node(x), Tree::Node(y)) if x.len() == y.len() => {
            let mut all = Some(true);
            for (x, y) in x.iter().zip(y) {
                match elem_less(x, y)? {
                    Some(true) => {}
                    Some(false) => all = Some(false),
                    None => all = all.filter(|all| !*all),
                }
            }
            Ok(all)
        }
        (a, b) => Err(LayoutError::ProfileMismatch {
            op: "elem_less",
            expected: b.to_string(),
            found: a.to_string(),
        }),
    }
}

/// Whether any coordinate of shape `a` is one of shape `b` and the sizes agree at every leaf of
/// `a`; `None` if that depends on run-time values.
pub fn compatible(a: &IntTuple, b: &IntTuple) -> Option<bool> {
    match (a, b) {
        (Tree::Leaf(a), b) => {
            let (left, right) = (a.clone(), product(b));
            Condition::Equal { left, right }.decide()
        }
        (Tree::Node(x), Tree::Node(y)) if x.len() == y.len() => {
            let mut all = Some(true);
            for (x, y) in x.iter().zip(y) {
                match compatible(x, y) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => all = None,
                }
            }
            all
        }
        _ => Some(false),
    }
}

/// Whether tiles of shape `tiler` fill shape `a` exactly; `None` if that depends on run-time
/// values.
pub fn evenly_divides(a: &IntTuple, tiler: &IntTuple) -> Option<bool> {
    match tiler {
        Tree::Node(tilers) => {
            if tilers.len() > a.rank() {
                return Some(false);
            }
            let mut all = Some(true);
            for (a, tiler) in a.modes().iter().zip(tilers) {
                match evenly_divides(a, tiler) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => all = None,
                }
            }
            all
        }
        Tree::Leaf(_) => {
            let covered = product(&ceil_div(a, tiler).ok()?).mul(&product(tiler));
            let (left, right) = (product(a), covered);
            Condition::Equal { left, right }.decide()
        }
    }
}
