//! Numbers as somebody wrote them, until the type is known in which a kernel takes them. What the type cannot hold is
//! refused: an integer is passed exactly, a floating-point number is rounded, and neither becomes another one.

use crate::abi::ScalarValue;
use crate::tensor::DType;
use std::fmt;
use std::str::FromStr;

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// `12`
    Integer(i128),
    /// `1.5`, `1e6`, `nan`, `-inf`
    Float(f64),
    /// `true`
    Bool(bool),
}

/// A number that a type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// No integer, or one out of range.
    #[error("expected an integer from {low} to {high}, for {dtype}; found {found}")]
    Integer {
        /// The type.
        dtype: DType,
        /// Its smallest number.
        low: i128,
        /// Its largest number.
        high: i128,
        /// The number.
        found: Number,
    },
    /// Beyond the largest number of the type.
    #[error("expected a number from -{largest} to {largest}, for {dtype}; found {found}")]
    Beyond {
        /// The type.
        dtype: DType,
        /// Its largest number.
        largest: f64,
        /// The number.
        found: Number,
    },
    /// An infinity, and the type has none.
    #[error("expected a number, for {dtype}, which has no infinity; found {found}")]
    Infinity {
        /// The type.
        dtype: DType,
        /// The number.
        found: Number,
    },
    /// No condition.
    #[error("expected true, false, 1 or 0, for bool; found {found}")]
    Bool {
        /// The number.
        found: Number,
    },
    /// A condition, and the type is one of numbers.
    #[error("expected a number, for {dtype}; found {found}")]
    Condition {
        /// The type.
        dtype: DType,
        /// The condition.
        found: Number,
    },
}

impl Number {
    /// The argument of a kernel that takes a `dtype`.
    ///
    /// # Errors
    /// Where the type cannot hold the number.
    pub fn to_scalar(self, dtype: DType) -> Result<ScalarValue, NumberError> {
        let found = self;
        if dtype == DType::Bool {
            return match self {
                Number::Bool(value) => Ok(ScalarValue::new(dtype, f64::from(u8::from(value)))),
                Number::Integer(value @ 0..=1) => Ok(ScalarValue::new(dtype, value as f64)),
                Number::Integer(_) | Number::Float(_) => Err(NumberError::Bool { found }),
            };
        }
        if let Number::Bool(_) = self {
            return Err(NumberError::Condition { dtype, found });
        }
        if let Some((low, high)) = dtype.integer_range() {
            let value = self.integer().filter(|value| (low..=high).contains(value));
            let value = value.ok_or(NumberError::Integer {
                dtype,
                low,
                high,
                found,
            })?;
            let mut bytes = (value as i64).to_le_bytes();
            bytes[dtype.size()..].fill(0);
            return Ok(ScalarValue { dtype, bytes });
        }
        let value = match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
            Number::Bool(value) => f64::from(u8::from(value)),
        };
        if value.is_infinite() && dtype == DType::F8E4M3 {
            return Err(NumberError::Infinity { dtype, found });
        }
        let largest = largest(dtype);
        if value.is_finite() && value.abs() > largest {
            return Err(NumberError::Beyond {
                dtype,
                largest,
                found,
            });
        }
        Ok(ScalarValue::new(dtype, value))
    }

    /// The integer that it is.
    fn integer(self) -> Option<i128> {
        match self {
            Number::Integer(value) => Some(value),
            // Beyond 2^64 no type has room anyway.
            Number::Float(value) if value.fract() == 0.0 && value.abs() < 2f64.powi(65) => {
                Some(value as i128)
            }
            Number::Float(_) | Number::Bool(_) => None,
        }
    }
}

/// The largest finite number of a floating-point type.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        DType::TF32 | DType::F32 => f64::from(f32::MAX),
        DType::F8E4M3 => 448.0,
        DType::F8E5M2 => 57344.0,
        DType::F64
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64
        | DType::Bool => f64::MAX,
    }
}

/// A text that is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no number, or beyond all of 64 bits")]
pub struct NotANumber {
    /// The text.
    pub text: String,
}

impl FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Number, NotANumber> {
        let not_a_number = || NotANumber {
            text: text.to_string(),
        };
        match text {
            "true" => return Ok(Number::Bool(true)),
            "false" => return Ok(Number::Bool(false)),
            _ => {}
        }
        if let Ok(value) = text.parse() {
            return Ok(Number::Integer(value));
        }
        let value: f64 = text.parse().map_err(|_| not_a_number())?;
        // `1e400` reads as an infinity that nobody wrote.
        match value.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
            true => Err(not_a_number()),
            false => Ok(Number::Float(value)),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(f),
            Number::Float(value) => write!(f, "{value:?}"),
            Number::Bool(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str, dtype: DType) -> Result<f64, String> {
        let number: Number = text
            .parse()
            .map_err(|error: NotANumber| error.to_string())?;
        let scalar = number.to_scalar(dtype).map_err(|error| error.to_string())?;
        Ok(dtype.read(&scalar.bytes[..dtype.size()]))
    }

    #[test]
    fn what_a_type_can_hold_is_passed() {
        use DType::*;
        for (text, dtype, expected) in [
            ("-7", I8, -7.0),
            ("2147483647", I32, 2147483647.0),
            ("1e6", I32, 1e6),
            ("3", F16, 3.0),
            ("0.1", F32, f64::from(0.1_f32)),
            ("inf", F32, f64::INFINITY),
            ("true", Bool, 1.0),
            ("0", Bool, 0.0),
            ("448", F8E4M3, 448.0),
        ] {
            assert_eq!(passed(text, dtype), Ok(expected), "{text} as {dtype}");
        }
        assert!(passed("nan", F32).is_ok_and(f64::is_nan));
        let large = Number::Integer(i128::from(u64::MAX)).to_scalar(U64);
        assert_eq!(large.map(|scalar| scalar.bytes), Ok([0xff; 8]));
        let exact = Number::Integer((1 << 60) + 1).to_scalar(I64);
        assert_eq!(exact.map(|scalar| scalar.as_i64()), Ok(Some((1 << 60) + 1)));
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused() {
        use DType::*;
        for (text, dtype) in [
            ("1.5", I32),
            ("nan", I32),
            ("inf", I64),
            ("99999999999", I32),
            ("-1", U32),
            ("256", U8),
            ("18446744073709551616", U64),
            ("9223372036854775808", I64),
            ("1e300", I64),
            ("65505", F16),
            ("1e39", F32),
            ("449", F8E4M3),
            ("-inf", F8E4M3),
            ("2", Bool),
            ("0.5", Bool),
            ("true", I32),
            ("1e400", F64),
            ("x", F64),
        ] {
            let result = passed(text, dtype);
            assert!(result.is_err(), "{text} as {dtype}: {result:?}");
        }
        assert_eq!(
            passed("1.5", I32),
            Err(
                "expected an integer from -2147483648 to 2147483647, for i32; found 1.5"
                    .to_string()
            )
        );
    }
}
