//! Texts that must not reach MLIR's parser.

use std::borrow::Cow;

/// How deep the brackets of MLIR text may nest: MLIR's parser recurses.
const MAX_NESTING: usize = 1000;

/// The largest number of a result, as in `%0#1`: MLIR's parser makes place for all before it.
const MAX_RESULT: usize = 1 << 16;

/// The most elements of a vector or a tensor: parsers of operations make place for all of them.
const MAX_ELEMENTS: u64 = 1 << 20;

/// The largest place in an aggregate, or number in an array of attributes: MLIR's LLVM dialect compares 32 bits of a
/// position with the number of parts, and then takes the part at all 64 (MLIR 22, `llvm.extractvalue`).
const MAX_POSITION: u64 = i32::MAX as u64;

/// Where MLIR would take a text for another one, which a NUL ends, or recurse or allocate without
/// measure, and what is wrong there.
pub fn unreadable(text: &[u8]) -> Option<(usize, String)> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            0 => return Some((at, "a NUL has no meaning here".into())),
            b'[' if is_far(text, at) => {
                return Some((at, format!("a position is at most {MAX_POSITION}")));
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' if result_number(text, at).is_some_and(|number| number > MAX_RESULT) => {
                return Some((at, format!("no operation has {MAX_RESULT} results")));
            }
            b'<' if elements(text, at).is_some_and(|count| count > MAX_ELEMENTS) => {
                let problem = format!("a vector or tensor has at most {MAX_ELEMENTS} elements");
                return Some((at, problem));
            }
            b':' if is_far(text, at) => {
                return Some((at, format!("a position is at most {MAX_POSITION}")));
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

/// The elements of the shape behind the `<` at `at`, where the name of a vector or tensor type stands before it.
fn elements(text: &[u8], at: usize) -> Option<u64> {
    let names: [&[u8]; 3] = [b"vector", b"tensor", b"vec"];
    if !names
        .iter()
        .any(|name| text[..at].trim_ascii_end().ends_with(name))
    {
        return None;
    }
    // `[4]` is a scalable extent, `?` one that only run time knows; `vec<4 x f32>` is written with spaces.
    let shape = text[at + 1..]
        .iter()
        .filter(|byte| !b"[] \t\r\n".contains(byte));
    let (mut count, mut extent) = (1_u64, None);
    for byte in shape {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                let before: u64 = extent.unwrap_or(0);
                extent = Some(before.saturating_mul(10).saturating_add(digit));
            }
            b'x' => count = count.saturating_mul(extent.take().unwrap_or(1).max(1)),
            b'?' => {}
            _ => break,
        }
    }
    Some(count)
}

/// Whether a list that begins behind `at` holds a number larger than any position: the `[…]` of `llvm.extractvalue` and
/// `llvm.insertvalue`, or `array<i64: …>`, which may become the attribute of one.
fn is_far(text: &[u8], at: usize) -> bool {
    /// How far before a list the name of its operation may stand: two operands, on lines of their own.
    const NAME_BEFORE: usize = 256;
    let before = &text[at.saturating_sub(NAME_BEFORE)..at];
    // Its first list, and not one of an operation behind it.
    let is_first_of = |name: &[u8]| {
        let named = before.windows(name.len()).rposition(|word| word == name);
        named.is_some_and(|named| !before[named..].contains(&b']'))
    };
    let (is_list, end) = match text[at] {
        b'[' => (
            is_first_of(b"extractvalue") || is_first_of(b"insertvalue"),
            b']',
        ),
        _ => (names_array_of_i64(before), b'>'),
    };
    if !is_list {
        return false;
    }
    let list = text[at + 1..].iter().take_while(|byte| **byte != end);
    let mut number = 0_u64;
    for byte in list {
        number = match byte {
            b'0'..=b'9' => number
                .saturating_mul(10)
                .saturating_add(u64::from(byte - b'0')),
            // No hexadecimal digits: MLIR takes none here.
            _ => 0,
        };
        if number > MAX_POSITION {
            return true;
        }
    }
    false
}

/// Whether a text ends with `array<i64`.
fn names_array_of_i64(text: &[u8]) -> bool {
    let text = text.trim_ascii_end().strip_suffix(b"i64");
    let text = text.and_then(|text| text.trim_ascii_end().strip_suffix(b"<"));
    text.is_some_and(|text| text.trim_ascii_end().ends_with(b"array"))
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
    fn vectors_without_measure_are_refused() {
        let place = |text: &str| unreadable(text.as_bytes()).map(|(at, _)| at);
        assert_eq!(place("%0 = f : vector<4294967296xf32>"), Some(15));
        assert_eq!(place("vector<65536x[65536]xf32>"), Some(6));
        assert_eq!(
            place("!llvm.vec< ? x 99999999999999999999999 x f32>"),
            Some(9)
        );
        assert_eq!(place("tensor<?x4294967296xf32>"), Some(6));
        assert_eq!(
            place("vector<1048576xf32> tensor<*xf32> i4294967296 vector<0x4xf32>"),
            None
        );
    }

    #[test]
    fn positions_of_more_than_32_bits_are_refused() {
        let place = |text: &str| unreadable(text.as_bytes()).map(|(at, _)| at);
        assert_eq!(place("llvm.extractvalue %s[4294967296] : !llvm"), Some(20));
        assert_eq!(place("insertvalue %f,\n %s [1, 2147483648] : x"), Some(20));
        assert_eq!(place("#p = array<i64: 1, 4294967297>"), Some(14));
        assert_eq!(
            place("llvm.extractvalue %s[2147483647] {a = 4294967296 : i64} : x"),
            None
        );
        assert_eq!(place("array <i64 : 4294967297>"), Some(11));
        assert_eq!(
            place("llvm.extractvalue %s[0] : x llvm.switch %n : i64, ^a [4294967296: ^b]"),
            None
        );
        assert_eq!(place("array<i64: 1, 2> array<i32: 9999999999>"), None);
        assert_eq!(
            place("%0 = addi %a, %c6_i64 : i64 %c = constant 4294967296 : i64 vector<4xi64>"),
            None
        );
    }

    #[test]
    fn nothing_nests_without_measure() {
        assert_eq!(unreadable(&[b'('; MAX_NESTING]), None);
        assert!(unreadable(&[b'('; MAX_NESTING + 1]).is_some());
        assert!(unreadable(b"module {}\0").is_some());
    }
}
