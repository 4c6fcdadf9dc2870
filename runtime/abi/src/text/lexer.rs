//! Words of the notation.

use super::TextError;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(String),
    /// A number without sign.
    Number(String),
    /// A text in quotes, without them.
    Text(String),
    /// Punctuation or an operator.
    Sign(&'static str),
    /// The end.
    End,
}

/// Signs, longer ones before those that they begin with.
const SIGNS: [&str; 18] = [
    "||", "&&", "==", "!=", "(", ")", "[", "]", "<", ">", ",", ":", "=", "+", "-", "*", "/", "%",
];

/// The words of `text` with their places, [`Token::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, TextError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if first.is_ascii_alphabetic() || first == '_' {
            let word = prefix(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            found.push((at, Token::Word(word.into())));
            at += word.len();
        } else if first.is_ascii_digit() {
            let number = prefix(rest, |c| c.is_ascii_digit());
            found.push((at, Token::Number(number.into())));
            at += number.len();
        } else if first == '"' {
            let (value, length) = quoted(rest).map_err(|message| TextError { at, message })?;
            found.push((at, Token::Text(value)));
            at += length;
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            found.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            let message = format!("`{}` has no meaning here", first.escape_default());
            return Err(TextError { at, message });
        }
    }
    found.push((at, Token::End));
    Ok(found)
}

fn prefix(text: &str, part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !part(c)).unwrap_or(text.len())]
}

/// The text in quotes that stands first, and its length with quotes; escapes are those of MLIR.
fn quoted(text: &str) -> Result<(String, usize), String> {
    let mut value = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match (bytes.get(at), bytes.get(at + 1), bytes.get(at + 2)) {
            (None, ..) => return Err("a text without closing quotes".into()),
            (Some(b'"'), ..) => break,
            (Some(b'\\'), Some(escaped @ (b'"' | b'\\')), _) => {
                value.push(*escaped);
                at += 2;
            }
            (Some(b'\\'), Some(b'n'), _) => {
                value.push(b'\n');
                at += 2;
            }
            (Some(b'\\'), Some(b't'), _) => {
                value.push(b'\t');
                at += 2;
            }
            (Some(b'\\'), Some(high), Some(low)) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return Err(
                        "an escape is `\\\\`, `\\\"`, `\\n`, `\\t` or two hexadecimal digits"
                            .into(),
                    );
                };
                value.push((high * 16 + low) as u8);
                at += 3;
            }
            (Some(byte), ..) => {
                value.push(*byte);
                at += 1;
            }
        }
    }
    let value = String::from_utf8(value).map_err(|_| "this text is not UTF-8".to_string())?;
    Ok((value, at + 1))
}
