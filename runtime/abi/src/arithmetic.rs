//! Arithmetic of the language on numbers that are known: while a kernel is compiled, when it is launched, and in
//! `test` blocks.
//!
//! All three compute here, so they agree by construction. A kernel computes the same in the width of its types
//! (`docs/language.md`, "Arithmetic"): where each intermediate result fits the type, the results are equal. Where
//! one does not fit, a kernel wraps, and what is known is an error.
//!
//! Integers have 64 bits with a sign. Division truncates towards zero, and the remainder has the sign of the
//! dividend; [`ceil_div`] is the exact quotient rounded up, for all signs.

use std::fmt;

/// An operation of two numbers of one type with a result of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, rounded towards zero.
    Div,
    /// Remainder of [`Operation::Div`].
    Rem,
    /// Quotient, rounded up.
    CeilDiv,
    /// The smaller; NaN where one is.
    Min,
    /// The larger; NaN where one is.
    Max,
    /// Bits of both.
    BitAnd,
    /// Bits of either.
    BitOr,
    /// Bits of one of the two.
    BitXor,
    /// Times a power of two.
    Shl,
    /// Divided by a power of two, rounded down.
    Shr,
}

/// A comparison. With NaN only [`Comparison::Ne`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithmeticError {
    /// Division or remainder by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The result does not fit 64 bits.
    #[error("the result does not fit 64 bits")]
    Overflow,
    /// A shift by a negative number of bits, or by 64 and more.
    #[error("a shift by {0} bits; expected 0 to 63")]
    Shift(i64),
}

impl Operation {
    /// The result for integers.
    ///
    /// # Errors
    /// If there is none in 64 bits.
    pub fn integers(self, a: i64, b: i64) -> Result<i64, ArithmeticError> {
        match self {
            Operation::Add => a.checked_add(b).ok_or(ArithmeticError::Overflow),
            Operation::Sub => a.checked_sub(b).ok_or(ArithmeticError::Overflow),
            Operation::Mul => a.checked_mul(b).ok_or(ArithmeticError::Overflow),
            Operation::Div => div(a, b),
            Operation::Rem => rem(a, b),
            Operation::CeilDiv => ceil_div(a, b),
            Operation::Min => Ok(a.min(b)),
            Operation::Max => Ok(a.max(b)),
            Operation::BitAnd => Ok(a & b),
            Operation::BitOr => Ok(a | b),
            Operation::BitXor => Ok(a ^ b),
            Operation::Shl => {
                let shifted = a << shift(b)?;
                let fits = shifted >> b == a;
                fits.then_some(shifted).ok_or(ArithmeticError::Overflow)
            }
            Operation::Shr => Ok(a >> shift(b)?),
        }
    }

    /// The result for floating numbers, in f64; `None` where the operation is for integers alone.
    pub fn floats(self, a: f64, b: f64) -> Option<f64> {
        Some(match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Mul => a * b,
            Operation::Div => a / b,
            Operation::Min => minimum(a, b),
            Operation::Max => maximum(a, b),
            Operation::Rem
            | Operation::CeilDiv
            | Operation::BitAnd
            | Operation::BitOr
            | Operation::BitXor
            | Operation::Shl
            | Operation::Shr => return None,
        })
    }
}

impl Comparison {
    /// Whether it holds.
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
        }
    }
}

/// Quotient, rounded towards zero.
///
/// # Errors
/// If `b` is zero, or the quotient does not fit.
pub fn div(a: i64, b: i64) -> Result<i64, ArithmeticError> {
    match b {
        0 => Err(ArithmeticError::DivisionByZero),
        b => a.checked_div(b).ok_or(ArithmeticError::Overflow),
    }
}

/// Remainder of [`div`]: it has the sign of `a`.
///
/// # Errors
/// If `b` is zero.
pub fn rem(a: i64, b: i64) -> Result<i64, ArithmeticError> {
    match b {
        0 => Err(ArithmeticError::DivisionByZero),
        // The quotient by -1 may not fit; the remainder does.
        b => Ok(a.wrapping_rem(b)),
    }
}

/// Quotient, rounded up.
///
/// # Errors
/// If `b` is zero, or the quotient does not fit.
pub fn ceil_div(a: i64, b: i64) -> Result<i64, ArithmeticError> {
    let (quotient, rest) = (div(a, b)?, rem(a, b)?);
    // `div` has rounded a positive quotient down and a negative one up.
    Ok(quotient + i64::from(rest != 0 && (rest < 0) == (b < 0)))
}

/// The negated number.
///
/// # Errors
/// If it does not fit.
pub fn neg(a: i64) -> Result<i64, ArithmeticError> {
    a.checked_neg().ok_or(ArithmeticError::Overflow)
}

/// The absolute value.
///
/// # Errors
/// If it does not fit.
pub fn abs(a: i64) -> Result<i64, ArithmeticError> {
    a.checked_abs().ok_or(ArithmeticError::Overflow)
}

/// The smaller number; NaN where one is, and -0 is less than 0 (IEEE 754-2019, `minimum`).
pub fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// The larger number; NaN where one is, and 0 is greater than -0 (IEEE 754-2019, `maximum`).
pub fn maximum(a: f64, b: f64) -> f64 {
    -minimum(-a, -b)
}

/// The lower `bits` bits of a number, as a number with a sign or without.
pub fn wrapped(value: i64, bits: u32, signed: bool) -> i64 {
    let unused = 64u32.saturating_sub(bits.clamp(1, 64));
    match signed {
        true => (value << unused) >> unused,
        false => (((value as u64) << unused) >> unused) as i64,
    }
}

/// The numbers of an integer type of so many bits: the least and the greatest.
pub fn range(bits: u32, signed: bool) -> (i64, i64) {
    let unused = 64u32.saturating_sub(bits.clamp(1, 64));
    match signed {
        true => (i64::MIN >> unused, i64::MAX >> unused),
        // The upper half of 64 bits without a sign has no number here.
        false => (0, (u64::MAX >> unused).min(i64::MAX as u64) as i64),
    }
}

/// A floating number as an integer of so many bits, rounded towards zero.
///
/// # Errors
/// If it is NaN, or does not fit.
pub fn to_integer(value: f64, bits: u32, signed: bool) -> Result<i64, ArithmeticError> {
    let (least, most) = range(bits, signed);
    let whole = value.trunc();
    // Beyond 2^53 `most` is rounded up to a power of two, which itself does not fit.
    let fits = whole >= least as f64 && (whole <= most as f64 && whole < 2f64.powi(63));
    fits.then_some(whole as i64)
        .ok_or(ArithmeticError::Overflow)
}

fn shift(by: i64) -> Result<u32, ArithmeticError> {
    let bits = u32::try_from(by).ok().filter(|by| *by < 64);
    bits.ok_or(ArithmeticError::Shift(by))
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Add => "+",
            Operation::Sub => "-",
            Operation::Mul => "*",
            Operation::Div => "/",
            Operation::Rem => "%",
            Operation::CeilDiv => "ceil_div",
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::BitAnd => "&",
            Operation::BitOr => "|",
            Operation::BitXor => "^",
            Operation::Shl => "<<",
            Operation::Shr => ">>",
        })
    }
}

/// The error function.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Operation; 13] = [
        Operation::Add,
        Operation::Sub,
        Operation::Mul,
        Operation::Div,
        Operation::Rem,
        Operation::CeilDiv,
        Operation::Min,
        Operation::Max,
        Operation::BitAnd,
        Operation::BitOr,
        Operation::BitXor,
        Operation::Shl,
        Operation::Shr,
    ];

    /// The definition, in numbers that do not overflow.
    fn exact(operation: Operation, a: i64, b: i64) -> Option<i128> {
        let (x, y) = (i128::from(a), i128::from(b));
        Some(match operation {
            Operation::Add => x + y,
            Operation::Sub => x - y,
            Operation::Mul => x * y,
            Operation::Div if y != 0 => x.abs() / y.abs() * (x.signum() * y.signum()),
            Operation::Rem if y != 0 => x.abs() % y.abs() * x.signum(),
            // The least whole number that is not below x / y.
            Operation::CeilDiv if y != 0 => -(-x * y.signum()).div_euclid(y.abs()),
            Operation::Min => x.min(y),
            Operation::Max => x.max(y),
            Operation::BitAnd => x & y,
            Operation::BitOr => x | y,
            Operation::BitXor => x ^ y,
            Operation::Shl if (0..64).contains(&y) => x * (1i128 << y),
            Operation::Shr if (0..64).contains(&y) => x.div_euclid(1i128 << y),
            _ => return None,
        })
    }

    fn edges() -> impl Strategy<Value = i64> {
        prop_oneof![
            Just(i64::MIN),
            Just(i64::MIN + 1),
            Just(i64::MAX),
            -70..70i64,
            (0..63u32).prop_map(|bit| 1i64 << bit),
            (0..63u32).prop_map(|bit| -(1i64 << bit)),
            any::<i64>(),
        ]
    }

    proptest! {
        #[test]
        fn integers_are_exact_or_an_error(a in edges(), b in edges()) {
            for operation in ALL {
                let expected = exact(operation, a, b).and_then(|value| i64::try_from(value).ok());
                prop_assert_eq!(operation.integers(a, b).ok(), expected, "{} {} {}", a, operation, b);
            }
        }

        #[test]
        fn wrapped_numbers_are_of_the_type(value in any::<i64>(), bits in 1..65u32, signed: bool) {
            let (least, most) = range(bits, signed);
            let found = wrapped(value, bits, signed);
            if signed || bits < 64 {
                prop_assert!((least..=most).contains(&found));
            }
            prop_assert_eq!(wrapped(value ^ found, bits, true), 0);
        }
    }

    #[test]
    fn floats_become_integers_of_their_range_alone() {
        for (value, bits, signed, expected) in [
            (2.9, 32, true, Some(2)),
            (-2.9, 32, true, Some(-2)),
            (2147483647.9, 32, true, Some(2147483647)),
            (2147483648.0, 32, true, None),
            (-2147483648.9, 32, true, Some(-2147483648)),
            (-2147483649.0, 32, true, None),
            (255.5, 8, false, Some(255)),
            (256.0, 8, false, None),
            (-0.5, 8, false, Some(0)),
            (9223372036854775807.0, 64, true, None),
            (-9223372036854775808.0, 64, true, Some(i64::MIN)),
            (f64::NAN, 32, true, None),
            (f64::INFINITY, 64, true, None),
        ] {
            assert_eq!(to_integer(value, bits, signed).ok(), expected, "{value}");
        }
    }

    #[test]
    fn the_smaller_number_is_nan_where_one_is() {
        assert!(minimum(f64::NAN, 1.0).is_nan() && maximum(1.0, f64::NAN).is_nan());
        assert!(minimum(0.0, -0.0).is_sign_negative() && minimum(-0.0, 0.0).is_sign_negative());
        assert!(maximum(0.0, -0.0).is_sign_positive() && maximum(-0.0, 0.0).is_sign_positive());
        assert_eq!((minimum(1.0, 2.0), maximum(1.0, 2.0)), (1.0, 2.0));
    }

    #[test]
    fn erf_is_exact_to_fifteen_digits() {
        // Abramowitz and Stegun, table 7.1
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (3.0, 0.999_977_909_503_001_4),
        ] {
            assert!((erf(x) - expected).abs() < 1e-15, "erf({x}) = {}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
    }
}
