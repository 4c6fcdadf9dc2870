//! Gives every bracket its partner, so that the grammar sees only balanced input.
//!
//! A missing closing bracket is reported and supplied where the construct must have ended: a `(`
//! or `[` before the next `;` or statement keyword, a `{` before the next item keyword (items do
//! not nest, but for the functions of a record) or at the end. A closing bracket without partner is reported and dropped.

use super::{Lexeme, Token};
use crate::diagnostics::{Code, Diagnostic, Label, Problem, codes};
use crate::elsewhere;
use crate::source::{FileId, Span};

/// A bracket without its partner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BracketProblem {
    /// Opened and not closed.
    #[error("this `{open}` is never closed")]
    Unclosed {
        /// The opening bracket.
        open: char,
        /// Where the partner was expected at the latest.
        expected_at: Span,
        /// The partner it got, if that one stands under another indentation.
        suspicious_partner: Option<Span>,
    },
    /// Closed and not opened.
    #[error("{}", match .innermost {
        Some((open, _)) => format!("expected `{}` to close `{open}`, found `{close}`", partner(*open)),
        None => format!("this `{close}` closes nothing"),
    })]
    Unmatched {
        /// The closing bracket.
        close: char,
        /// The `(` or `[` that is open here and would need another partner.
        innermost: Option<(char, Span)>,
    },
}

impl Problem for BracketProblem {
    fn code(&self) -> Code {
        match self {
            BracketProblem::Unclosed { .. } => codes::UNCLOSED_DELIMITER,
            BracketProblem::Unmatched { .. } => codes::UNMATCHED_DELIMITER,
        }
    }

    fn label(&self) -> String {
        match self {
            BracketProblem::Unclosed {
                suspicious_partner: Some(_),
                ..
            } => "seems to lack its partner".to_owned(),
            BracketProblem::Unclosed { .. } => "opened here".to_owned(),
            BracketProblem::Unmatched {
                innermost: Some((open, _)),
                ..
            } => {
                format!("expected `{}`", partner(*open))
            }
            BracketProblem::Unmatched { .. } => "has no partner".to_owned(),
        }
    }

    fn other_labels(&self) -> Vec<Label> {
        match self {
            BracketProblem::Unclosed {
                open,
                expected_at,
                suspicious_partner,
            } => match suspicious_partner {
                Some(span) => vec![Label {
                    span: *span,
                    text: "closes it, but is indented otherwise".to_owned(),
                }],
                None => vec![Label {
                    span: *expected_at,
                    text: format!("expected `{}` before this", partner(*open)),
                }],
            },
            BracketProblem::Unmatched {
                innermost: Some((open, span)),
                ..
            } => {
                vec![Label {
                    span: *span,
                    text: format!("`{open}` opened here"),
                }]
            }
            BracketProblem::Unmatched {
                innermost: None, ..
            } => Vec::new(),
        }
    }
}

fn partner(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The partner of a bracket that is open at `at`, where no brace stands before it.
fn closing(lexemes: &[Lexeme<'_>], at: usize, open: char) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, lexeme) in lexemes[at..].iter().enumerate() {
        match lexeme.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth > 0 => depth -= 1,
            Token::RParen => return (open == '(').then_some(at + offset),
            Token::RBracket => return (open == '[').then_some(at + offset),
            Token::LBrace | Token::RBrace => return None,
            _ => {}
        }
    }
    None
}

#[derive(Clone, Copy)]
struct Open {
    bracket: char,
    start: u32,
    /// Column of the first token of its line.
    indent: u32,
    line: u32,
}

struct Balancer<'s, 'd> {
    file: FileId,
    text: &'s str,
    out: Vec<Lexeme<'s>>,
    stack: Vec<Open>,
    /// First `{` of the item whose `}` stands under another indentation, and that `}`.
    suspicious: Option<(Open, Span)>,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// Lexemes up to this one belong to a construct of another language, which was reported.
    skip_to: usize,
    /// Whether the item is a record, where functions may stand.
    in_record: bool,
}

/// Returns the lexemes with balanced brackets.
pub fn balance<'s>(
    file: FileId,
    text: &'s str,
    lexemes: &[Lexeme<'s>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Lexeme<'s>> {
    let mut balancer = Balancer {
        file,
        text,
        out: Vec::with_capacity(lexemes.len()),
        stack: Vec::new(),
        suspicious: None,
        diagnostics,
        skip_to: 0,
        in_record: false,
    };
    let (mut line, mut indent, mut end) = (0u32, 0u32, 0u32);
    for (at, lexeme) in lexemes.iter().enumerate() {
        let gap = text.get(end as usize..lexeme.start as usize).unwrap_or("");
        let breaks = gap.bytes().filter(|&byte| byte == b'\n').count() as u32;
        if breaks > 0 || at == 0 {
            line += breaks;
            indent = gap.rfind('\n').map_or(gap.len(), |at| gap.len() - at - 1) as u32;
        }
        end = lexeme.end;
        if balancer.skips(lexemes, at) {
            continue;
        }
        balancer.take(*lexeme, line, indent);
    }
    let end = text.trim_end().len() as u32;
    balancer.close_all(Span::new(file, end, end));
    balancer.out
}

impl<'s> Balancer<'s, '_> {
    /// Whether the lexeme at `at` is left out: a `;` within brackets, and what follows up to the closing one. That
    /// is a loop of C or an array of Rust, where a bracket that is never closed has no partner before the next brace.
    fn skips(&mut self, lexemes: &[Lexeme<'s>], at: usize) -> bool {
        if at < self.skip_to {
            return true;
        }
        let Some(open) = self
            .stack
            .last()
            .filter(|_| lexemes[at].token == Token::Semi)
        else {
            return false;
        };
        let begin = lexemes.partition_point(|lexeme| lexeme.start < open.start);
        let (foreign, shown) = match open.bracket {
            '(' if begin > 0 && lexemes[begin - 1].token == Token::For => {
                (elsewhere::construct::c_style_for(), lexemes[begin - 1])
            }
            '[' => (elsewhere::construct::repeated_array(), lexemes[begin]),
            _ => return false,
        };
        let Some(close) = closing(lexemes, at, open.bracket) else {
            return false;
        };
        let span = shown.span(self.file).to(lexemes[close].span(self.file));
        self.diagnostics.push(Diagnostic::of(span, &foreign));
        self.skip_to = close;
        true
    }

    fn take(&mut self, lexeme: Lexeme<'s>, line: u32, indent: u32) {
        use Token::*;
        let span = lexeme.span(self.file);
        match lexeme.token {
            LParen | LBracket | LBrace => {
                let bracket = match lexeme.token {
                    LParen => '(',
                    LBracket => '[',
                    _ => '{',
                };
                self.stack.push(Open {
                    bracket,
                    start: lexeme.start,
                    indent,
                    line,
                });
            }
            RParen | RBracket | RBrace => {
                let close = match lexeme.token {
                    RParen => ')',
                    RBracket => ']',
                    _ => '}',
                };
                if !self.close(close, span, line, indent) {
                    return;
                }
            }
            Fn if self.in_record && self.is_of_record(indent) => {
                self.close_parentheses(span);
                // The function before it lacks braces.
                while self.stack.len() > 1 {
                    self.supply(span);
                }
            }
            // A constant or a function in a block is misplaced, where its indentation says that no brace is missing.
            Const | Fn if self.stack.last().is_some_and(|open| indent > open.indent) => {
                self.close_parentheses(span);
            }
            token if token.starts_item() && self.out.last().map(|last| last.token) != Some(Dot) => {
                self.close_all(span);
                self.suspicious = None;
                self.in_record = token == Record;
            }
            // NumPy's function, which the parser reports; the clause has a space.
            Where if self.is_called(&lexeme) => {}
            Semi | Let | Var | For | While | Loop | Break | Continue | Return | Where | Launch => {
                self.close_parentheses(span);
            }
            _ => {}
        }
        self.out.push(lexeme);
    }

    /// Whether `(` stands at the end of a word.
    fn is_called(&self, word: &Lexeme<'s>) -> bool {
        let rest = self.text.get(word.end as usize..);
        rest.is_some_and(|rest| rest.starts_with('('))
    }

    /// Whether a function that begins here, on a line of this indentation, is one of the record around it.
    fn is_of_record(&self, indent: u32) -> bool {
        match self.stack.as_slice() {
            [] => false,
            [_] => true,
            [record, function, ..] => record.indent < indent && indent <= function.indent,
        }
    }

    /// Whether the closing bracket has a partner; if not it must be dropped.
    fn close(&mut self, close: char, span: Span, line: u32, indent: u32) -> bool {
        // `)` and `]` do not reach over a `{`; `}` reaches over any `(` and `[`.
        let reaches = |open: &&Open| close == '}' || open.bracket != '{';
        let depth = self
            .stack
            .iter()
            .rev()
            .take_while(reaches)
            .position(|open| partner(open.bracket) == close);
        let Some(depth) = depth else {
            let innermost = self
                .stack
                .last()
                .copied()
                .filter(|open| open.bracket != '{');
            let shown = innermost.map(|open| (open.bracket, self.open_span(&open)));
            let problem = BracketProblem::Unmatched {
                close,
                innermost: shown,
            };
            self.diagnostics.push(Diagnostic::of(span, &problem));
            // `f[x)`: the wrong bracket stands for the right one.
            if let Some(open) = innermost {
                self.stack.pop();
                self.push_partner(open.bracket, span);
            }
            return false;
        };
        for _ in 0..depth {
            self.supply(span);
        }
        if let Some(open) = self.stack.pop()
            && close == '}'
            && open.line != line
            && open.indent != indent
            && self.suspicious.is_none()
        {
            self.suspicious = Some((open, span));
        }
        true
    }

    /// Closes `(` and `[` down to the innermost `{`.
    fn close_parentheses(&mut self, before: Span) {
        while self.stack.last().is_some_and(|open| open.bracket != '{') {
            self.supply(before);
        }
    }

    /// Closes everything; reports only the innermost parentheses and one brace.
    fn close_all(&mut self, before: Span) {
        self.close_parentheses(before);
        let Some(outermost) = self.stack.first().copied() else {
            return;
        };
        let (open, suspicious_partner) = match self.suspicious.take() {
            Some((open, partner)) if open.start > outermost.start => (open, Some(partner)),
            _ => (outermost, None),
        };
        self.report_unclosed(&open, before, suspicious_partner);
        while let Some(open) = self.stack.pop() {
            self.push_partner(open.bracket, before);
        }
    }

    fn supply(&mut self, before: Span) {
        if let Some(open) = self.stack.pop() {
            self.report_unclosed(&open, before, None);
            self.push_partner(open.bracket, before);
        }
    }

    fn report_unclosed(&mut self, open: &Open, before: Span, partner: Option<Span>) {
        let problem = BracketProblem::Unclosed {
            open: open.bracket,
            expected_at: before,
            suspicious_partner: partner,
        };
        let span = self.open_span(open);
        let mut diagnostic = Diagnostic::of(span, &problem);
        if self.is_closed_by_comment(open) {
            let help = "`//` begins a comment; `/` divides integers, rounding towards zero";
            diagnostic = diagnostic.with_help(help);
        }
        self.diagnostics.push(diagnostic);
    }

    /// Whether the partner stands in a comment behind it: `(n // 2)`.
    fn is_closed_by_comment(&self, open: &Open) -> bool {
        let line = self.text.get(open.start as usize..);
        let line = line.and_then(|text| text.lines().next()).unwrap_or("");
        let comment = line.split_once("//").map_or("", |(_, comment)| comment);
        open.bracket != '{' && comment.contains(partner(open.bracket))
    }

    fn push_partner(&mut self, open: char, before: Span) {
        let token = match open {
            '(' => Token::RParen,
            '[' => Token::RBracket,
            _ => Token::RBrace,
        };
        // Just behind the token before, so that spans do not swallow the gap.
        let at = self.out.last().map_or(before.start, |last| last.end);
        self.out.push(Lexeme {
            token,
            start: at,
            end: at,
        });
    }

    fn open_span(&self, open: &Open) -> Span {
        Span::new(self.file, open.start, open.start + 1)
    }
}
