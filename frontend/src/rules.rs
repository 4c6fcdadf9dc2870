//! Rules of numbers and tiles that hold however a kernel comes about: from text ([`crate::eval`]) or by
//! calls ([`crate::build`]).

use crate::ast::BinaryOp;
use crate::eval::builtins::{Elementary, Operator};
use cutec_abi::arithmetic::range;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ArithOp;

/// The type in which two integers or floats meet, if they may.
pub(crate) fn common(a: Elem, b: Elem) -> Option<Elem> {
    match (a, b) {
        _ if a == b => Some(a),
        (Elem::I32, Elem::I64) | (Elem::I64, Elem::I32) => Some(Elem::I64),
        (Elem::U32, Elem::U64) | (Elem::U64, Elem::U32) => Some(Elem::U64),
        _ => None,
    }
}

/// The operation of an operator that is no comparison, where the type has it.
pub(crate) fn operation(op: BinaryOp, elem: Elem) -> Option<ArithOp> {
    use BinaryOp::*;
    Some(match (op, elem.is_float()) {
        (Add, true) => ArithOp::Addf,
        (Sub, true) => ArithOp::Subf,
        (Mul, true) => ArithOp::Mulf,
        (Div, true) => ArithOp::Divf,
        (_, true) => return None,
        (BitAnd, _) => ArithOp::Andi,
        (BitOr, _) => ArithOp::Ori,
        (BitXor, _) => ArithOp::Xori,
        _ if elem == Elem::I1 => return None,
        (Add, _) => ArithOp::Addi,
        (Sub, _) => ArithOp::Subi,
        (Mul, _) => ArithOp::Muli,
        (Div, _) if elem.is_unsigned() => ArithOp::Divui,
        (Div, _) => ArithOp::Divsi,
        (Rem, _) if elem.is_unsigned() => ArithOp::Remui,
        (Rem, _) => ArithOp::Remsi,
        (Shl, _) => ArithOp::Shli,
        (Shr, _) if elem.is_unsigned() => ArithOp::Shrui,
        (Shr, _) => ArithOp::Shrsi,
        _ => return None,
    })
}

/// Whether integers of a type have a result with this known right operand: nothing is divided by zero, or shifted by
/// more bits than the type has.
pub(crate) fn computes_by(op: BinaryOp, by: i64, elem: Elem) -> bool {
    match op {
        BinaryOp::Div | BinaryOp::Rem => elem.is_float() || by != 0,
        BinaryOp::Shl | BinaryOp::Shr => (0..elem.bits()).contains(&by),
        _ => true,
    }
}

/// Whether an integer known at compile time is one of the type.
pub(crate) fn fits(value: i64, elem: Elem) -> bool {
    let (least, most) = range(elem.bits() as u32, !elem.is_unsigned());
    (least..=most).contains(&value)
}

/// Whether an integer is the bits of one of the type: from 0 on as many as the type has.
pub(crate) fn fits_bits(value: i64, elem: Elem) -> bool {
    let (least, most) = range(elem.bits() as u32, false);
    (least..=most).contains(&value)
}

/// Whether a function such as `exp` is there for a type: f64 has those alone that are correctly rounded.
pub(crate) fn has_function(function: Elementary, elem: Elem) -> bool {
    elem.is_float() && (function.is_correctly_rounded() || elem != Elem::F64)
}

/// Whether a tile of shape `from` can be repeated to `to`: extents equal or 1, leading ones absent.
pub(crate) fn repeats_to(from: &[i64], to: &[i64]) -> bool {
    from.len() <= to.len()
        && std::iter::zip(from.iter().rev(), to.iter().rev()).all(|(a, b)| a == b || *a == 1)
}

/// Whether two shapes have as many elements.
pub(crate) fn reshapes_to(from: &[i64], to: &[i64]) -> bool {
    from.iter().product::<i64>() == to.iter().product::<i64>()
}

/// The shape to which tiles of two shapes are repeated, if there is one.
pub(crate) fn common_shape(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut common = long.to_vec();
    for (a, b) in common.iter_mut().rev().zip(short.iter().rev()) {
        if *a != *b && *a != 1 && *b != 1 {
            return None;
        }
        *a = (*a).max(*b);
    }
    Some(common)
}

/// In what products of these are added up.
pub(crate) fn sums_of(elem: Elem) -> Option<Elem> {
    match elem {
        Elem::I8 | Elem::U8 => Some(Elem::I32),
        Elem::F64 => Some(Elem::F64),
        elem if elem.is_float() => Some(Elem::F32),
        _ => None,
    }
}

/// Whether there are products of two types: of one and the same, of bytes with and without sign, and of the
/// two kinds of f8.
pub(crate) fn multiplies(a: Elem, b: Elem) -> bool {
    let alike = |kinds: [Elem; 2]| kinds.contains(&a) && kinds.contains(&b);
    a == b || alike([Elem::I8, Elem::U8]) || alike([Elem::F8E4M3, Elem::F8E5M2])
}

/// Whether an instruction on one type takes tiles of another: of tf32 also f32, whose lower bits it ignores.
pub(crate) fn taken_as(of: Elem, by: Elem) -> bool {
    of == by || (of, by) == (Elem::F32, Elem::TF32)
}

/// Whether `reduce` has this operator for a type.
pub(crate) fn reduces(operator: Operator, elem: Elem) -> bool {
    match operator {
        Operator::And | Operator::Or | Operator::Xor => !elem.is_float(),
        Operator::Add | Operator::Mul | Operator::Min | Operator::Max => {
            elem.has_arithmetic() && elem != Elem::I1
        }
    }
}
