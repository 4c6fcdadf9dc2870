//! Texts that must not reach MLIR's parser.

use std::borrow::Cow;

/// How deep the brackets of MLIR text may nest: MLIR's parser recurses.
const MAX_NESTING: usize = 1000;

/// The largest number of a result, as in `%0#1`: MLIR's parser makes place for all before it.
const MAX_RESULT: usize = 1 << 16;

/// Where MLIR would take a text for another one, which a NUL ends, or recurse or allocate without
/// measure, and what is wrong there.
pub fn unreadable(text: &[u8]) -> Option<(usize, String)> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            0 => return Some((at, "a NUL has no meaning here".into())),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' if result_number(text, at).is_some_and(|number| number > MAX_RESULT) => {
                return Some((at, format!("no operation has {MAX_RESULT} results")));
            }
            _ => {}
        }
        if depth > MAX_NESTING {
            return Some((at, format!("nested more than {MAX_NESTING} levels deep")));
        }
    }
    None
}

/// The text with every result number that is too large as the first such number, in as many digits: MLIR
/// refuses that as well, at the same place.
pub fn with_bounded_results(text: &str) -> Cow<'_, str> {
    let mut bounded = Cow::Borrowed(text);
    for (at, _) in text.match_indices('#') {
        let too_large =
            result_number(text.as_bytes(), at).is_some_and(|number| number > MAX_RESULT);
        if !too_large {
            continue;
        }
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit);
        let width = digits.count();
        let number = format!("{MAX_RESULT:0width$}");
        bounded
            .to_mut()
            .replace_range(at + 1..at + 1 + width, &number);
    }
    bounded
}

/// The number behind the `#` at `at`, where the name of a value stands before it.
fn result_number(text: &[u8], at: usize) -> Option<usize> {
    let (before, after) = (&text[..at], &text[at + 1..]);
    let part_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$.-".contains(byte);
    let sigil = before.iter().rev().find(|byte| !part_of_name(byte));
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(None, |number: Option<usize>, digit| {
        let digit = usize::from(digit - b'0');
        Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit))
    });
    number.filter(|_| sigil == Some(&b'%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_measure_are_refused() {
        let place = |text: &str| unreadable(text.as_bytes()).map(|(at, _)| at);
        assert_eq!(place("return %0#2147483648 : i32"), Some(9));
        assert_eq!(place("return %a.b#99999999999999999999"), Some(11));
        assert_eq!(place("return %0#1, %1#65536 // see #2147483648"), None);
        assert_eq!(place("#65537 0#65537 %é#65537 %0#"), None);
    }

    #[test]
    fn numbers_of_results_are_bounded_in_place() {
        let bounded = |text| with_bounded_results(text).into_owned();
        assert_eq!(
            bounded("%0#2147483648, %a#65537 é %b#7 // #99999"),
            "%0#0000065536, %a#65536 é %b#7 // #99999"
        );
    }

    #[test]
    fn nothing_nests_without_measure() {
        assert_eq!(unreadable(&[b'('; MAX_NESTING]), None);
        assert!(unreadable(&[b'('; MAX_NESTING + 1]).is_some());
        assert!(unreadable(b"module {}\0").is_some());
    }
}
