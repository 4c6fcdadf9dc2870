//! From tokens to the syntax tree, with error recovery.
//!
//! Reading order: this file (items and recovery), [`context`] (actions of `grammar.lalrpop`, and
//! checks of form), [`shape`] (what these find), [`statements`] (where statements end), [`error`] and [`words`] (messages).
//!
//! Item keywords stand nowhere else and brackets are balanced, so a file falls apart into items
//! before anything is parsed: an error never spoils the next item. Within an item the statement
//! with the first error is replaced by one token, and the item is parsed again, until no error is
//! left. So each statement yields at most one error, and none is a consequence of another.

pub mod context;
pub mod error;
pub mod shape;
pub mod statements;
pub mod words;

use crate::ast::{Block, File, Item, ItemKind, MAX_DEPTH};
use crate::diagnostics::{Diagnostic, codes};
use crate::elsewhere;
use crate::grammar::ItemParser;
use crate::lexer::{DocLine, Lexeme, Token, balance::balance, classify::classify, lex_part};
use crate::source::{FileId, SourceMap, Span};
use context::ParseContext;
use error::SyntaxProblem;
use lalrpop_util::ParseError;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Errors after which reading a file stops.
pub const MAX_ERRORS: usize = 40;

/// Parses one file. Where `diagnostics` holds errors afterwards, the tree has `Error` nodes.
pub fn parse_file(map: &SourceMap, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> File {
    let text = map.file(file).text().clone();
    parse_text(file, &text, diagnostics)
}

/// Parses the text of a file.
pub fn parse_text(file: FileId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> File {
    let (docs, items) = parse_range(file, text, 0..text.len(), diagnostics);
    File {
        id: file,
        docs,
        items,
    }
}

/// Parses the items in a part of a text, which begins and ends between items.
pub fn parse_part(
    file: FileId,
    text: &str,
    part: Range<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Item> {
    parse_range(file, text, part, diagnostics).1
}

/// The `//!` lines and the items in a part of a text.
fn parse_range(
    file: FileId,
    text: &str,
    part: Range<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Arc<str>>, Vec<Item>) {
    let mut found = Vec::new();
    let lexed = lex_part(file, text, part, &mut found);
    let lexemes = classify(&balance(file, text, &lexed.lexemes, &mut found));
    let mut reported: Vec<Span> = found.iter().map(Diagnostic::span).collect();
    reported.sort();
    found.sort_by_key(Diagnostic::span);
    found.truncate(MAX_ERRORS);
    let mut parser = Parser {
        file,
        text,
        diagnostics: found,
        reported,
        full: false,
    };
    let mut items = Vec::new();
    parser.is_full();
    for range in split_items(&lexemes) {
        if parser.is_full() {
            break;
        }
        items.push(parser.item(&lexemes[range]));
    }
    let file_docs = lexed.docs.iter().filter(|doc| doc.for_file);
    let docs = file_docs.map(|doc| Arc::from(doc.text)).collect();
    parser.attach_docs(&lexed.docs, &lexemes, &mut items);
    let mut found = parser.diagnostics;
    found.sort_by_key(|diagnostic| (diagnostic.span().start, diagnostic.code));
    found.dedup();
    diagnostics.append(&mut found);
    (docs, items)
}

/// The items of a balanced file: each begins with a keyword, or is something else up to the next.
fn split_items(lexemes: &[Lexeme<'_>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < lexemes.len() {
        let first = lexemes[start].token;
        let ends_at_semicolon = matches!(first, Token::Import | Token::Const);
        let known = first.starts_item();
        let mut depth = 0usize;
        let mut end = start;
        while end < lexemes.len() {
            let token = lexemes[end].token;
            if end > start && depth == 0 && token.starts_item() && !is_of_path(lexemes, end) {
                break;
            }
            end += 1;
            match token {
                Token::LParen
                | Token::LBracket
                | Token::LBrace
                | Token::FieldsOpen
                | Token::BlockStatement => {
                    depth += 1;
                }
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::RBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && !ends_at_semicolon {
                        break;
                    }
                }
                Token::Semi if depth == 0 && (ends_at_semicolon || !known) => break,
                _ => {}
            }
        }
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// Whether the word at `at` is a part of a name of another language: `@cute.kernel`.
fn is_of_path(lexemes: &[Lexeme<'_>], at: usize) -> bool {
    at > 0 && lexemes[at - 1].token == Token::Dot
}

/// An error of the generated parser: the index of the token, and what could have stood there.
struct Failure {
    at: usize,
    expected: Vec<String>,
}

struct Parser<'s> {
    file: FileId,
    text: &'s str,
    diagnostics: Vec<Diagnostic>,
    /// Where something was reported before parsing: what does not parse there is a consequence.
    reported: Vec<Span>,
    full: bool,
}

impl Parser<'_> {
    fn is_full(&mut self) -> bool {
        if !self.full && self.diagnostics.len() >= MAX_ERRORS {
            self.full = true;
            let last = self
                .diagnostics
                .iter()
                .map(Diagnostic::span)
                .max()
                .unwrap_or_default();
            let problem = SyntaxProblem::TooMany { limit: MAX_ERRORS };
            self.diagnostics.push(Diagnostic::of(last, &problem));
        }
        self.full
    }

    fn item(&mut self, lexemes: &[Lexeme<'_>]) -> Item {
        let span = match (lexemes.first(), lexemes.last()) {
            (Some(first), Some(last)) => Span::new(self.file, first.start, last.end),
            _ => Span::new(self.file, 0, 0),
        };
        let kind = match lexemes.first() {
            Some(first) if first.token.starts_item() => self.parse(lexemes.to_vec()),
            Some(first) if first.token == Token::At => {
                // A decorator, and the function behind it, which would be an error once more.
                let decorator = elsewhere::construct::decorator();
                let end = lexemes.get(3).filter(|third| third.end > first.end);
                let shown = end.map_or(first.span(self.file), |end| {
                    first.span(self.file).to(end.span(self.file))
                });
                self.diagnostics.push(Diagnostic::of(shown, &decorator));
                ItemKind::Error
            }
            first => {
                let found = first.map_or("nothing".to_owned(), |first| first.token.to_string());
                let hint = match first.map(|first| first.token) {
                    Some(Token::Ident(word) | Token::Reduction(word)) => words::item_hint(word),
                    Some(token) => words::item_hint(token.to_string().trim_matches('`')),
                    None => None,
                };
                let shown = first.map_or(span, |first| first.span(self.file));
                let problem = SyntaxProblem::NoItem { found, hint };
                self.diagnostics.push(Diagnostic::of(shown, &problem));
                self.check_blocks_of_broken_item(lexemes, 0);
                ItemKind::Error
            }
        };
        Item {
            docs: Vec::new(),
            kind,
            span,
        }
    }

    /// Parses an item; replaces each statement with an error and tries again.
    fn parse(&mut self, mut lexemes: Vec<Lexeme<'_>>) -> ItemKind {
        loop {
            let failure = match self.attempt(&lexemes) {
                Ok(kind) => return kind,
                Err(failure) => failure,
            };
            let statement = statement_at_fault(&lexemes, &failure);
            let blamed = statement
                .clone()
                .unwrap_or(0..(failure.at + 1).min(lexemes.len()));
            if !self.is_consequence(&lexemes[blamed]) {
                self.report(&lexemes, &failure);
            }
            if self.is_full() {
                return ItemKind::Error;
            }
            let Some(statement) = statement else {
                self.check_blocks_of_broken_item(&lexemes, failure.at);
                return ItemKind::Error;
            };
            if statements::is_block_like(lexemes[statement.start].token) {
                let groups = statements::brace_groups(&lexemes, statement.clone(), failure.at);
                for (open, close) in groups {
                    self.check_block(&lexemes[open..=close]);
                }
            }
            let replacement = Lexeme {
                token: Token::ErrorStatement,
                start: lexemes[statement.start].start,
                end: lexemes[statement.end - 1].end,
            };
            lexemes.splice(statement, [replacement]);
        }
    }

    fn attempt(&mut self, lexemes: &[Lexeme<'_>]) -> Result<ItemKind, Failure> {
        let cx = ParseContext::new(self.file);
        let taken = Cell::new(0usize);
        let tokens = lexemes.iter().map(|lexeme| {
            taken.set(taken.get() + 1);
            (lexeme.start, lexeme.token, lexeme.end)
        });
        match ItemParser::new().parse(&cx, tokens) {
            Ok(kind) => {
                let mut found = cx.into_diagnostics();
                for deep in found
                    .iter_mut()
                    .filter(|found| found.code == codes::NESTING_TOO_DEEP)
                {
                    let label = &mut deep.labels[0];
                    if let Some(bracket) = first_too_deep(lexemes, label.span.start) {
                        label.span = bracket.span(self.file);
                    }
                }
                self.diagnostics.append(&mut found);
                Ok(kind)
            }
            Err(error) => {
                let (at, expected) = match error {
                    ParseError::UnrecognizedEof { expected, .. } => (lexemes.len(), expected),
                    ParseError::UnrecognizedToken { expected, .. } => {
                        (taken.get().saturating_sub(1), expected)
                    }
                    ParseError::ExtraToken { .. } | ParseError::InvalidToken { .. } => {
                        (taken.get().saturating_sub(1), Vec::new())
                    }
                    ParseError::User { error } => match error {},
                };
                let expected = expected
                    .iter()
                    .map(|terminal| terminal.trim_matches('"').to_owned())
                    .collect();
                Err(Failure { at, expected })
            }
        }
    }

    /// Whether the lexer or the bracket matcher complained about something in these lexemes.
    fn is_consequence(&self, lexemes: &[Lexeme<'_>]) -> bool {
        let (Some(first), Some(last)) = (lexemes.first(), lexemes.last()) else {
            return false;
        };
        let next = self
            .reported
            .partition_point(|span| span.start < first.start);
        self.reported
            .get(next)
            .is_some_and(|span| span.start <= last.end)
    }

    /// Parses a block only to find its errors.
    fn check_block(&mut self, lexemes: &[Lexeme<'_>]) {
        let Some(first) = lexemes.first() else { return };
        let mut wrapped = Vec::with_capacity(lexemes.len() + 2);
        let at = first.start;
        wrapped.push(Lexeme {
            token: Token::Test,
            start: at,
            end: at,
        });
        wrapped.push(Lexeme {
            token: Token::Ident("block"),
            start: at,
            end: at,
        });
        wrapped.push(Lexeme {
            token: Token::LBrace,
            ..*first
        });
        wrapped.extend(&lexemes[1..]);
        self.parse(wrapped);
    }

    /// The body of an item whose head is broken still has errors worth knowing.
    fn check_blocks_of_broken_item(&mut self, lexemes: &[Lexeme<'_>], failed_at: usize) {
        if is_record(lexemes) {
            return;
        }
        let body = statements::brace_groups(lexemes, 0..lexemes.len(), lexemes.len()).pop();
        if let Some((open, close)) = body
            && close + 1 == lexemes.len()
            && failed_at <= open
        {
            self.check_block(&lexemes[open..=close]);
        }
    }

    fn report(&mut self, lexemes: &[Lexeme<'_>], failure: &Failure) {
        let before: Vec<Token<'_>> = lexemes[..failure.at]
            .iter()
            .map(|lexeme| lexeme.token)
            .collect();
        let found = lexemes.get(failure.at);
        let end = lexemes.last().map_or(0, |last| last.end);
        let span = match found {
            Some(found) => found.span(self.file),
            None => Span::new(self.file, end, end),
        };
        let tokens: Vec<Token<'_>> = lexemes.iter().map(|lexeme| lexeme.token).collect();
        let expects = |what: &str| failure.expected.iter().any(|terminal| terminal == what);
        if let Some(foreign) = elsewhere::syntax::at(&tokens, failure.at, expects) {
            let first = failure.at.saturating_sub(foreign.before);
            let span = lexemes[first].span(self.file).to(span);
            self.diagnostics.push(Diagnostic::of(span, &foreign));
            return;
        }
        if let Some(open) = body_taken_as_operand(&tokens, failure.at) {
            let problem = SyntaxProblem::Unexpected {
                found: tokens[open].to_string(),
                expected: ["name", "integer", "("].map(str::to_owned).to_vec(),
                after_operand: false,
                hint: Some("write `for i in 0..n { … }`, or `0..n step 2`".to_owned()),
            };
            let span = lexemes[open].span(self.file);
            self.diagnostics.push(Diagnostic::of(span, &problem));
            return;
        }
        let hint = words::hint(&before, found.map(|found| found.token), &failure.expected);
        let found_words = match found {
            Some(found) => found.token.to_string(),
            None => "the end of the item".to_owned(),
        };
        let previous = failure.at.checked_sub(1).map(|at| lexemes[at]);
        let expects_semicolon = failure.expected.iter().any(|terminal| terminal == ";");
        let ends_here = found.is_none_or(|found| {
            found.token.starts_statement()
                || matches!(found.token, Token::RBrace | Token::If)
                || matches!(found.token, Token::Ident(_) | Token::Reduction(_))
                    && previous.is_some_and(|previous| previous.token.ends_operand())
        });
        let diagnostic = match previous {
            Some(previous) if expects_semicolon && ends_here => {
                let hint = hint.or_else(|| self.divided_by_comment(previous.end));
                let problem = SyntaxProblem::MissingSemicolon {
                    found: found_words,
                    hint,
                };
                let last = previous.span(self.file);
                Diagnostic::of(last.after(), &problem)
            }
            _ => {
                let problem = SyntaxProblem::Unexpected {
                    found: found_words,
                    expected: failure.expected.clone(),
                    after_operand: previous.is_some_and(|previous| {
                        previous.token.ends_operand() && previous.token != Token::RBrace
                    }),
                    hint,
                };
                Diagnostic::of(span, &problem)
            }
        };
        self.diagnostics.push(diagnostic);
    }

    /// A help line for `x // 2;`, where the statement that lacks its `;` at `end` has one in the comment behind it.
    fn divided_by_comment(&self, end: u32) -> Option<String> {
        let line = self.text.get(end as usize..)?.lines().next()?;
        let comment = line.trim_start().strip_prefix("//")?;
        let divides = comment.trim_end().ends_with(';');
        divides.then(|| {
            "`//` begins a comment; `/` divides integers, rounding towards zero".to_owned()
        })
    }

    /// Hands each `///` line to the item, or the part of a record, that begins at the next token. Where something does not
    /// parse, what is documented may just not have become an item.
    fn attach_docs(&mut self, docs: &[DocLine<'_>], lexemes: &[Lexeme<'_>], items: &mut [Item]) {
        let parsed = !self.diagnostics.iter().any(Diagnostic::is_error);
        for doc in docs.iter().filter(|doc| !doc.for_file) {
            let next = lexemes.partition_point(|lexeme| lexeme.start < doc.end);
            let next = lexemes.get(next).map(|lexeme| lexeme.start);
            let documented = next.and_then(|start| {
                let before = items.partition_point(|item| item.span.start <= start);
                let item = items.get_mut(before.checked_sub(1)?)?;
                match &mut item.kind {
                    _ if item.span.start == start => Some(&mut item.docs),
                    ItemKind::Record(record) => record.docs_at(start),
                    _ => None,
                }
            });
            match documented {
                Some(docs) => docs.push(Arc::from(doc.text)),
                None if parsed => {
                    let span = Span::new(self.file, doc.start, doc.end);
                    self.diagnostics
                        .push(Diagnostic::of(span, &SyntaxProblem::StrayDoc));
                }
                None => {}
            }
        }
    }
}

/// The first bracket that nests too deep of those around a place: a tree counts its levels from the leaves on, a reader
/// from outside.
fn first_too_deep<'t, 'l>(lexemes: &'l [Lexeme<'t>], place: u32) -> Option<&'l Lexeme<'t>> {
    let mut open = Vec::new();
    for lexeme in lexemes.iter().take_while(|lexeme| lexeme.start <= place) {
        match lexeme.token {
            Token::LParen
            | Token::LBracket
            | Token::LBrace
            | Token::BlockStatement
            | Token::FieldsOpen => open.push(lexeme),
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            _ => {}
        }
    }
    open.get(MAX_DEPTH as usize).copied()
}

/// The statement to blame for a failure, if it lies in a block.
fn statement_at_fault(lexemes: &[Lexeme<'_>], failure: &Failure) -> Option<Range<usize>> {
    let (open, close) = statements::enclosing_braces(lexemes, failure.at)?;
    let outermost = lexemes[..open]
        .iter()
        .all(|lexeme| lexeme.token != Token::LBrace);
    if outermost && is_record(lexemes) {
        return None;
    }
    let ranges = statements::split(lexemes, open, close);
    let at = match ranges.iter().position(|range| range.contains(&failure.at)) {
        // At the closing brace: the last statement lacks something.
        None => ranges.len().checked_sub(1)?,
        // At the first token of a statement, which could not begin there: the one before.
        Some(at)
            if at > 0
                && ranges[at].start == failure.at
                && !failure.expected.iter().any(|terminal| terminal == "let") =>
        {
            at - 1
        }
        Some(at) => at,
    };
    let range = ranges[at].clone();
    // Progress: a statement is replaced once.
    let replaced = range.len() == 1 && lexemes[range.start].token == Token::ErrorStatement;
    (!replaced).then_some(range)
}

/// Where the body of a loop begins that was taken for the end or the step of its range, which is missing, if the error at
/// `failed_at` comes of that.
fn body_taken_as_operand(tokens: &[Token<'_>], failed_at: usize) -> Option<usize> {
    let close = failed_at.checked_sub(1)?;
    if tokens[close] != Token::RBrace {
        return None;
    }
    let mut depth = 0;
    let open = (0..=close).rev().find(|at| {
        match tokens[*at] {
            Token::RBrace => depth += 1,
            Token::LBrace | Token::BlockStatement | Token::FieldsOpen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let before = tokens.get(open.checked_sub(1)?)?;
    matches!(before, Token::DotDot | Token::Step | Token::Ident("step")).then_some(open)
}

/// Whether the item is a record, whose braces hold no statements.
fn is_record(lexemes: &[Lexeme<'_>]) -> bool {
    lexemes
        .first()
        .is_some_and(|first| first.token == Token::Record)
}

/// The blocks of an item, for callers that want to look at statements only.
pub fn body_of(kind: &ItemKind) -> Option<&Block> {
    match kind {
        ItemKind::Function(item) => Some(&item.body),
        ItemKind::Kernel(item) => Some(&item.body),
        ItemKind::Test(item) => Some(&item.body),
        ItemKind::Bench(item) => Some(&item.body),
        ItemKind::Import(_) | ItemKind::Const(_) | ItemKind::Record(_) | ItemKind::Error => None,
    }
}
