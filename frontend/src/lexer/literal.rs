//! The values of number and string tokens.

use crate::diagnostics::{Code, Problem, codes};

/// A type written behind a number: `1.0f32`, `8u32`.
pub const SUFFIXES: &[&str] = &[
    "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
];

/// A number or string that has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralProblem {
    /// Not a number, or an unknown suffix.
    #[error("`{text}` is not a number")]
    Malformed {
        /// As written.
        text: String,
        /// The part at fault.
        part: String,
    },
    /// Beyond 64 bits, or beyond f64.
    #[error("`{text}` does not fit into {capacity}")]
    TooLarge {
        /// As written.
        text: String,
        /// What it must fit into.
        capacity: &'static str,
    },
    /// A backslash with something unknown behind.
    #[error("unknown escape `{escape}`")]
    Escape {
        /// As written.
        escape: String,
    },
}

impl Problem for LiteralProblem {
    fn code(&self) -> Code {
        match self {
            LiteralProblem::Malformed { .. } => codes::INVALID_NUMBER,
            LiteralProblem::TooLarge { .. } => codes::NUMBER_TOO_LARGE,
            LiteralProblem::Escape { .. } => codes::INVALID_ESCAPE,
        }
    }

    fn label(&self) -> String {
        match self {
            LiteralProblem::Malformed { part, .. } => format!("`{part}` cannot stand here"),
            LiteralProblem::TooLarge { capacity, .. } => format!("beyond {capacity}"),
            LiteralProblem::Escape { .. } => "in this string".to_owned(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            LiteralProblem::Malformed { text, part } if matches!(&**part, "f" | "F") => {
                let number = text.strip_suffix(['f', 'F']).unwrap_or(text);
                Some(format!(
                    "write `{number}`, which has the type of the other operand, or `{number}f32`"
                ))
            }
            LiteralProblem::Malformed { part, .. }
                if part.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                Some(format!(
                    "types that can stand behind a number: {}",
                    SUFFIXES.join(", ")
                ))
            }
            LiteralProblem::Escape { .. } => {
                Some(r#"escapes are \n \t \r \0 \\ \" \u{…}"#.to_owned())
            }
            _ => None,
        }
    }
}

/// A number: an integer or a float, and the type behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'s> {
    /// Without point and exponent, and without a float type behind.
    Int(u64, Option<&'s str>),
    /// Any other.
    Float(f64, Option<&'s str>),
}

/// The value of an `Int` or `Float` token.
pub fn number(text: &str) -> Result<Number<'_>, LiteralProblem> {
    let malformed = |part: &str| LiteralProblem::Malformed {
        text: text.to_owned(),
        part: part.to_owned(),
    };
    let (radix, body) = match text.get(..2) {
        Some("0x" | "0X") => (16, &text[2..]),
        Some("0b" | "0B") => (2, &text[2..]),
        _ => (10, text),
    };
    if radix != 10 {
        let cut = body
            .find(|c: char| !c.is_digit(radix) && c != '_')
            .unwrap_or(body.len());
        let (digits, suffix) = body.split_at(cut);
        let suffix = check_suffix(suffix).map_err(malformed)?;
        if !digits.contains(|c: char| c != '_') {
            return Err(malformed(text));
        }
        if suffix.is_some_and(|suffix| suffix.contains('f')) {
            return Err(malformed(suffix.unwrap_or_default()));
        }
        return Ok(Number::Int(integer(text, digits, radix)?, suffix));
    }
    let cut = decimal_end(body);
    let (digits, suffix) = body.split_at(cut);
    let suffix = check_suffix(suffix).map_err(malformed)?;
    let is_float = digits.contains(['.', 'e', 'E']) || suffix.is_some_and(|s| s.contains('f'));
    if !is_float {
        return Ok(Number::Int(integer(text, digits, 10)?, suffix));
    }
    if suffix.is_some_and(|suffix| !suffix.contains('f')) {
        return Err(malformed(suffix.unwrap_or_default()));
    }
    let value: f64 = digits
        .replace('_', "")
        .parse()
        .map_err(|_| malformed(digits))?;
    if value.is_finite() {
        Ok(Number::Float(value, suffix))
    } else {
        Err(LiteralProblem::TooLarge {
            text: text.to_owned(),
            capacity: "f64",
        })
    }
}

fn integer(text: &str, digits: &str, radix: u32) -> Result<u64, LiteralProblem> {
    u64::from_str_radix(&digits.replace('_', ""), radix).map_err(|_| LiteralProblem::TooLarge {
        text: text.to_owned(),
        capacity: "64 bits",
    })
}

/// Where the digits, point and exponent of a decimal number end.
fn decimal_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'_') {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let signed = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if bytes.get(signed).is_some_and(u8::is_ascii_digit) {
            at = digits(signed);
        }
    }
    at
}

fn check_suffix(suffix: &str) -> Result<Option<&str>, &str> {
    match suffix {
        "" => Ok(None),
        known if SUFFIXES.contains(&known) => Ok(Some(known)),
        unknown => Err(unknown),
    }
}

/// The value of a string token's text.
pub fn unescape(raw: &str) -> Result<String, LiteralProblem> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let unknown = |len: usize| LiteralProblem::Escape {
            escape: rest[at..].chars().take(1 + len).collect(),
        };
        let (value, used) = match tail.chars().next() {
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some('r') => ('\r', 1),
            Some('0') => ('\0', 1),
            Some('\\') => ('\\', 1),
            Some('"') => ('"', 1),
            Some('u') => {
                let end = tail.find('}').ok_or_else(|| unknown(1))?;
                let value = tail
                    .get(..end)
                    .and_then(|text| text.strip_prefix("u{"))
                    .filter(|hex| hex.len() <= 6)
                    .and_then(|hex| u32::from_str_radix(hex, 16).ok())
                    .and_then(char::from_u32)
                    .ok_or_else(|| unknown(1))?;
                (value, end + 1)
            }
            _ => return Err(unknown(1)),
        };
        out.push(value);
        rest = &tail[used..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_values() {
        assert_eq!(number("65_536"), Ok(Number::Int(65536, None)));
        assert_eq!(number("0xff"), Ok(Number::Int(255, None)));
        assert_eq!(number("0xffu8"), Ok(Number::Int(255, Some("u8"))));
        assert_eq!(number("0b1010"), Ok(Number::Int(10, None)));
        assert_eq!(number("8u32"), Ok(Number::Int(8, Some("u32"))));
        assert_eq!(number("1f32"), Ok(Number::Float(1.0, Some("f32"))));
        assert_eq!(number("0.5"), Ok(Number::Float(0.5, None)));
        assert_eq!(number("1e-3"), Ok(Number::Float(1e-3, None)));
        assert_eq!(number("1.5e3bf16"), Ok(Number::Float(1500.0, Some("bf16"))));
        assert_eq!(
            number("18446744073709551615"),
            Ok(Number::Int(u64::MAX, None))
        );
    }

    #[test]
    fn wrong_numbers_are_refused() {
        for text in ["12abc", "0x", "0x_", "1.0u32", "0b12", "1e", "1.5x"] {
            let found = number(text);
            assert!(
                matches!(found, Err(LiteralProblem::Malformed { .. })),
                "{text}: {found:?}"
            );
        }
        for text in ["18446744073709551616", "1e999"] {
            let found = number(text);
            assert!(
                matches!(found, Err(LiteralProblem::TooLarge { .. })),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn strings_resolve_their_escapes() {
        assert_eq!(unescape(r#"a\n\"b\\ \u{e9}"#).as_deref(), Ok("a\n\"b\\ é"));
        for raw in [r"\q", r"\u{110000}", r"\u{", r"\uéé}", "\\"] {
            assert!(unescape(raw).is_err(), "{raw}");
        }
    }
}
