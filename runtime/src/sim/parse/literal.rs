//! Number literals (PTX ISA 4.5).

use super::ast::Operand;

/// The value of a number token, or `None` when it is not a PTX number.
pub(super) fn parse(text: &str) -> Option<Operand<'static>> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0f") {
        return (digits.len() == 8)
            .then(|| u32::from_str_radix(digits, 16).ok().map(Operand::Single))?;
    }
    if let Some(digits) = lower.strip_prefix("0d") {
        return (digits.len() == 16)
            .then(|| u64::from_str_radix(digits, 16).ok().map(Operand::Double))?;
    }
    if lower.contains('.') {
        return lower
            .parse::<f64>()
            .ok()
            .map(|v| Operand::Double(v.to_bits()));
    }
    integer(&lower).map(Operand::Int)
}

/// The value of an integer literal, `U` suffix allowed.
pub(super) fn integer(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u64::from_str_radix(binary, 2).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8).ok()
    } else {
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation() {
        assert_eq!(parse("42"), Some(Operand::Int(42)));
        assert_eq!(parse("42U"), Some(Operand::Int(42)));
        assert_eq!(parse("0xFF"), Some(Operand::Int(255)));
        assert_eq!(parse("0b101"), Some(Operand::Int(5)));
        assert_eq!(parse("017"), Some(Operand::Int(15)));
        assert_eq!(parse("0f3F800000"), Some(Operand::Single(1f32.to_bits())));
        assert_eq!(
            parse("0d3FF0000000000000"),
            Some(Operand::Double(1f64.to_bits()))
        );
        assert_eq!(parse("1.5e+2"), Some(Operand::Double(150f64.to_bits())));
        assert_eq!(parse("0f3F8"), None);
        assert_eq!(parse("12ab"), None);
    }
}
