//! PTX text → tokens. A token is a kind, a slice of the text, and a line.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, register names with `%` included.
    Name,
    /// `.name`, with further `::name` parts: a directive, a modifier or a register's component.
    Dotted,
    /// A number in any notation.
    Number,
    /// A quoted string, quotes included.
    String,
    /// One punctuation character.
    Punct(u8),
    /// The end of the text.
    End,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub start: usize,
    pub line: u32,
}

impl Token<'_> {
    /// What it is, for errors.
    pub fn describe(&self) -> String {
        match self.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.text),
        }
    }
}

/// Cuts the text. A character that PTX does not have becomes a [`Kind::Punct`] of its first byte,
/// which no rule of the grammar accepts.
pub(crate) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
    };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.kind == Kind::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Token<'a> {
        self.skip_blank();
        let start = self.at;
        let line = self.line;
        let kind = self.scan();
        // Only whole ASCII tokens and whole characters were consumed, so the slice is on
        // character boundaries; `get` keeps that a fact and not an assumption.
        Token {
            kind,
            text: self.text.get(start..self.at).unwrap_or(""),
            start,
            line,
        }
    }

    fn skip_blank(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'/', b'/') => self.skip_while(|b| b != b'\n'),
                (b'/', b'*') => {
                    self.at += 2;
                    while self.at < self.bytes.len() && (self.peek(0), self.peek(1)) != (b'*', b'/')
                    {
                        self.line += u32::from(self.peek(0) == b'\n');
                        self.at += 1;
                    }
                    self.at = (self.at + 2).min(self.bytes.len());
                }
                _ => return,
            }
        }
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && keep(self.bytes[self.at]) {
            self.at += 1;
        }
    }

    fn scan(&mut self) -> Kind {
        let Some(&first) = self.bytes.get(self.at) else {
            return Kind::End;
        };
        match first {
            b'%' | b'$' | b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.at += 1;
                self.skip_while(is_word);
                Kind::Name
            }
            b'.' if is_word(self.peek(1)) => {
                self.at += 1;
                self.skip_while(is_word);
                while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                    self.at += 2;
                    self.skip_while(is_word);
                }
                Kind::Dotted
            }
            b'0'..=b'9' => {
                self.skip_while(is_word);
                // A decimal float: digits, point, digits, exponent with sign.
                if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
                    self.at += 1;
                    self.skip_while(is_word);
                    if matches!(self.bytes[self.at - 1], b'e' | b'E')
                        && matches!(self.peek(0), b'+' | b'-')
                    {
                        self.at += 1;
                        self.skip_while(is_word);
                    }
                }
                Kind::Number
            }
            b'"' => {
                self.at += 1;
                self.skip_while(|b| b != b'"' && b != b'\n');
                if self.peek(0) != b'"' {
                    return Kind::Punct(b'"');
                }
                self.at += 1;
                Kind::String
            }
            _ => {
                let width = self
                    .text
                    .get(self.at..)
                    .and_then(|t| t.chars().next())
                    .map_or(1, char::len_utf8);
                self.at += width;
                Kind::Punct(first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        tokenize(text).iter().map(|t| (t.kind, t.text)).collect()
    }

    #[test]
    fn instruction() {
        let expected = [
            (Kind::Punct(b'@'), "@"),
            (Kind::Name, "%p1"),
            (Kind::Name, "ld"),
            (Kind::Dotted, ".global"),
            (Kind::Dotted, ".L2::128B"),
            (Kind::Name, "%r1"),
            (Kind::Punct(b','), ","),
            (Kind::Number, "0f3F800000"),
            (Kind::End, ""),
        ];
        assert_eq!(
            kinds("@%p1 ld.global.L2::128B %r1, /* x\n */ 0f3F800000 // end"),
            expected
        );
    }

    #[test]
    fn lines_count_through_comments() {
        let tokens = tokenize("a\n/*\n\n*/ b\n// c\nd");
        assert_eq!(
            tokens.iter().map(|t| t.line).collect::<Vec<_>>(),
            [1, 4, 6, 6]
        );
    }

    #[test]
    fn foreign_characters_are_tokens() {
        assert_eq!(
            kinds("é§"),
            [
                (Kind::Punct(0xc3), "é"),
                (Kind::Punct(0xc2), "§"),
                (Kind::End, "")
            ]
        );
    }
}
