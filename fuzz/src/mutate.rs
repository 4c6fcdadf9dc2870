//! Changes of a text by tokens, so that more of what comes out is nearly right than by bytes.

use std::ops::Range;

/// Numbers at the edges of what fits where.
const NUMBERS: [u128; 32] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    1024,
    65535,
    65536,
    1048576,
    2147483647,
    2147483648,
    4294967295,
    4294967296,
    1099511627776,
    4611686018427387904,
    9223372036854775807,
    9223372036854775808,
    18446744073709551616,
];

/// What means something in one of the languages.
const SYMBOLS: [&str; 24] = [
    "(", ")", "[", "]", "{", "}", "<", ">", ",", ":", ";", "?", "_", "@", "-", "*", " o ", "=",
    ".", "?{div=8}", "?{i64}", "(1,2)", "()", "\n",
];

/// Changes the first `size` of the bytes and returns how many there are then, at most `max_size`.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(u64::from(seed) << 1 | 1);
    // Some of the time as libFuzzer does: bytes, dictionary, parts of comparisons.
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if size > 0 && random.below(3) > 0 => text,
        _ => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    };
    let mut tokens: Vec<String> = split(text).map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        change(&mut tokens, &mut random);
    }
    let mut changed = tokens.concat().into_bytes();
    changed.truncate(max_size.min(data.len()));
    data[..changed.len()].copy_from_slice(&changed);
    changed.len()
}

fn change(tokens: &mut Vec<String>, random: &mut Random) {
    if tokens.is_empty() {
        tokens.push(SYMBOLS[random.below(SYMBOLS.len())].to_owned());
        return;
    }
    let at = random.below(tokens.len());
    match random.below(9) {
        0 => drop(tokens.drain(some(tokens, at, random))),
        1 => {
            let copied = tokens[some(tokens, at, random)].to_vec();
            let to = random.below(tokens.len() + 1);
            tokens.splice(to..to, copied);
        }
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(at, other);
        }
        3 | 4 => {
            // A number for a number, a word for a word.
            let kind = kind(&tokens[at]);
            let alike: Vec<usize> = (0..tokens.len())
                .filter(|other| self::kind(&tokens[*other]) == kind)
                .collect();
            tokens[at] = tokens[alike[random.below(alike.len())]].clone();
        }
        5 | 6 => {
            let numbers: Vec<usize> = (0..tokens.len())
                .filter(|other| kind(&tokens[*other]) == 0)
                .collect();
            if !numbers.is_empty() {
                let at = numbers[random.below(numbers.len())];
                tokens[at] = NUMBERS[random.below(NUMBERS.len())].to_string();
            }
        }
        7 => {
            let symbol = SYMBOLS[random.below(SYMBOLS.len())].to_owned();
            match random.below(2) {
                0 => tokens[at] = symbol,
                _ => tokens.insert(at, symbol),
            }
        }
        _ => {
            // One group in brackets in the place of another.
            let (from, to) = (group(tokens, at), group(tokens, random.below(tokens.len())));
            let copied = tokens[from].to_vec();
            tokens.splice(to, copied);
        }
    }
}

/// A few tokens from `at`.
fn some(tokens: &[String], at: usize, random: &mut Random) -> Range<usize> {
    let most = if random.below(4) == 0 { 40 } else { 4 };
    at..(at + 1 + random.below(most)).min(tokens.len())
}

/// The group in brackets that opens at or after `at`; one token where none does.
fn group(tokens: &[String], at: usize) -> Range<usize> {
    let opens = |token: &String| matches!(token.as_str(), "(" | "[" | "{" | "<");
    let closes = |token: &String| matches!(token.as_str(), ")" | "]" | "}" | ">");
    let Some(start) = (at..tokens.len()).find(|at| opens(&tokens[*at])) else {
        return at..at + 1;
    };
    let mut depth = 0_usize;
    for (end, token) in tokens.iter().enumerate().skip(start) {
        depth += usize::from(opens(token));
        depth -= usize::from(closes(token));
        if depth == 0 {
            return start..end + 1;
        }
    }
    start..start + 1
}

/// Digits, words, and everything else.
fn kind(token: &str) -> u8 {
    match token.bytes().next() {
        Some(b'0'..=b'9') => 0,
        Some(first) if first == b'_' || first.is_ascii_alphabetic() => 1,
        _ => 2,
    }
}

/// Numbers, words, single characters.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let in_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let end = match in_word(first) {
            true => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}
