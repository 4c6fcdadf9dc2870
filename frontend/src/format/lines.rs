//! From pieces and breaks to lines: indentation, lines that are too long, trailing comments.

use super::breaks::{Break, break_heads, open_braces};
use super::pieces::{Kind, Piece, closes, opens_brace, opens_tightly};
use super::spacing::spaced;
use super::structure::{Role, Structure};
use super::{INDENT, MEASURE};
use crate::lexer::Token;
use std::collections::HashMap;

/// The text.
pub fn lay_out(pieces: &[Piece<'_>], structure: &Structure, breaks: Vec<Break>) -> String {
    let mut layout = Layout {
        pieces,
        structure,
        breaks,
        open: Vec::new(),
        indent: 0,
        began_at: vec![0; pieces.len()],
        lines: Vec::new(),
    };
    let mut start = 0;
    while start < pieces.len() {
        start = layout.line(start);
    }
    layout.finish()
}

/// A bracket that is open at the start of a line.
#[derive(Clone, Copy)]
struct Open {
    piece: usize,
    /// What a line is indented by that the bracket closes.
    outer: usize,
}

struct Line {
    blank: bool,
    indent: usize,
    code: String,
    /// The number of the comment at its end.
    comment: Option<usize>,
    /// The first piece.
    first: usize,
    item: usize,
}

struct Layout<'p, 's> {
    pieces: &'p [Piece<'s>],
    structure: &'p Structure,
    breaks: Vec<Break>,
    open: Vec<Open>,
    /// What the brackets that open next are indented from.
    indent: usize,
    /// That of each piece, when it was laid out.
    began_at: Vec<usize>,
    lines: Vec<Line>,
}

impl Layout<'_, '_> {
    /// Lays out the line that begins with a piece; the first of the next line.
    fn line(&mut self, start: usize) -> usize {
        let indent = self.indent_of(start);
        let (end, code) = loop {
            let end = self.end_of(start);
            let code = self.text(start, end);
            let fits = indent + code.chars().count() <= MEASURE;
            if fits || !self.shorten(start, end, indent) {
                break (end, code);
            }
        };
        self.indent = indent;
        for at in start..end {
            self.began_at[at] = self.indent;
            self.take(at);
        }
        let last = end - 1;
        let trails = last > start && self.pieces[last].kind == Kind::LineComment;
        let item = match (self.lines.last(), self.open.is_empty() || start == 0) {
            (Some(line), _) if self.structure.roles[start] != Role::Starter || indent > 0 => {
                line.item
            }
            (Some(line), _) => line.item + 1,
            (None, _) => 0,
        };
        self.lines.push(Line {
            blank: self.breaks[start] == Break::Blank,
            indent,
            code,
            comment: trails.then_some(last),
            first: start,
            item,
        });
        end
    }

    /// Opens and closes brackets.
    fn take(&mut self, at: usize) {
        match self.pieces[at].token() {
            Some(token) if opens_tightly(token) || opens_brace(token) => {
                if let Some(base) = self.structure.base[at] {
                    self.indent = self.began_at[base];
                }
                self.open.push(Open {
                    piece: at,
                    outer: self.indent,
                });
            }
            Some(token) if closes(token) => {
                if let Some(open) = self.open.pop() {
                    self.indent = open.outer;
                }
            }
            _ => {}
        }
    }

    fn indent_of(&self, start: usize) -> usize {
        // A comment stands where what follows stands.
        let next = (start..self.pieces.len()).find(|at| !self.pieces[*at].is_comment());
        let Some(next) = next else { return 0 };
        let comment = self.pieces[start].is_comment();
        let within = self.open.last();
        if self.pieces[next].token().is_some_and(closes) {
            let outer = within.map_or(0, |open| open.outer);
            return if comment { outer + INDENT } else { outer };
        }
        if let (true, Some(base)) = (self.pieces[next].is(Token::Else), self.structure.base[next]) {
            return self.began_at[base];
        }
        let role = self.structure.roles[next];
        let inner = within.map_or(0, |open| open.outer + INDENT);
        let continues = match within {
            Some(open) => self.pieces[open.piece].token().is_some_and(opens_brace),
            None => true,
        };
        match role {
            Role::Starter | Role::Element | Role::Head => inner,
            _ if !continues => inner,
            _ => inner + INDENT,
        }
    }

    fn end_of(&self, start: usize) -> usize {
        let next = (start + 1..self.pieces.len()).find(|at| self.breaks[*at] > Break::None);
        next.unwrap_or(self.pieces.len())
    }

    /// The line without its indentation and the comment at its end.
    fn text(&self, start: usize, end: usize) -> String {
        let mut text = String::new();
        for at in start..end {
            if at > start && at + 1 == end && self.pieces[at].kind == Kind::LineComment {
                break;
            }
            if self.is_dropped(at) {
                continue;
            }
            if at > start && spaced(self.pieces, self.structure, at) {
                text.push(' ');
            }
            text.push_str(self.pieces[at].text);
            if self.wants_comma(at) {
                text.push(',');
            }
        }
        text
    }

    /// The closing bracket that the token at `at` stands before, comments aside.
    fn closer_behind(&self, at: usize) -> Option<usize> {
        let next = (at + 1..self.pieces.len()).find(|next| !self.pieces[*next].is_comment())?;
        self.pieces[next]
            .token()
            .is_some_and(closes)
            .then_some(next)
    }

    fn stands_apart(&self, at: usize, closer: usize) -> bool {
        self.breaks[at + 1..=closer]
            .iter()
            .any(|it| *it > Break::None)
    }

    /// Whether the brackets that close at `closer` hold a list of several, or the fields of a record.
    fn is_list(&self, closer: usize) -> bool {
        let Some(open) = self.structure.partner[closer] else {
            return false;
        };
        match self.pieces[open].token() {
            Some(Token::FieldsOpen) => true,
            Some(token) if opens_brace(token) => {
                !self.structure.is_block[open] && self.elements(open, closer)
            }
            _ => self.commas(open, closer) > 0,
        }
    }

    /// Whether a record has fields and no functions, so that a comma may follow the last.
    fn elements(&self, open: usize, closer: usize) -> bool {
        let roles = &self.structure.roles[open..closer];
        roles.contains(&Role::Element) && self.last_start(open, closer) == Some(Role::Element)
    }

    fn last_start(&self, open: usize, closer: usize) -> Option<Role> {
        let mut found = None;
        let mut at = open + 1;
        while at < closer {
            if matches!(self.structure.roles[at], Role::Element | Role::Starter) {
                found = Some(self.structure.roles[at]);
            }
            at = match self.structure.partner[at] {
                Some(partner) if partner > at => partner,
                _ => at + 1,
            };
        }
        found
    }

    /// The commas directly between two brackets, but for the one before the closing bracket.
    fn commas(&self, open: usize, closer: usize) -> usize {
        let mut count = 0;
        let mut at = open + 1;
        while at < closer {
            if self.pieces[at].is(Token::Comma) && self.closer_behind(at) != Some(closer) {
                count += 1;
            }
            at = match self.structure.partner[at] {
                Some(partner) if partner > at => partner,
                _ => at + 1,
            };
        }
        count
    }

    fn wants_comma(&self, at: usize) -> bool {
        let piece = &self.pieces[at];
        let ends = piece.token().is_some_and(|token| {
            token != Token::Comma
                && token != Token::Semi
                && !opens_tightly(token)
                && !opens_brace(token)
        });
        ends && self
            .closer_behind(at)
            .is_some_and(|closer| self.stands_apart(at, closer) && self.is_list(closer))
    }

    fn is_dropped(&self, at: usize) -> bool {
        self.pieces[at].is(Token::Comma)
            && self
                .closer_behind(at)
                .is_some_and(|closer| !self.stands_apart(at, closer) && self.is_list(closer))
    }

    /// Breaks a line that is too long; whether there was a place for it.
    fn shorten(&mut self, start: usize, end: usize, indent: usize) -> bool {
        let places = self.places(start, end, indent);
        let mut depths: Vec<i32> = places.iter().map(|place| place.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        for depth in depths {
            let at_depth: Vec<&Place> = places.iter().filter(|it| it.depth == depth).collect();
            if self.break_heads(&at_depth) {
                return true;
            }
            let header = matches!(self.pieces[start].token(), Some(Token::Kernel | Token::Fn));
            let first_braces = depth <= 0;
            if first_braces && self.break_braces(&at_depth, end, false) {
                return true;
            }
            let found = match header {
                true => at_depth
                    .iter()
                    .rfind(|it| it.fits && it.kind == PlaceKind::Opened),
                false => None,
            };
            let last =
                |kind: fn(PlaceKind) -> bool| at_depth.iter().rfind(|it| it.fits && kind(it.kind));
            let loosest = at_depth
                .iter()
                .filter(|it| it.fits)
                .filter_map(|it| match it.kind {
                    PlaceKind::Operator(binding) => Some(binding),
                    _ => None,
                });
            let loosest = loosest.min();
            let found = found
                .or_else(|| last(|kind| kind == PlaceKind::Comma))
                .or_else(|| {
                    at_depth.iter().rfind(|it| {
                        it.fits
                            && loosest
                                .is_some_and(|binding| it.kind == PlaceKind::Operator(binding))
                    })
                });
            if let Some(place) = found {
                let at = place.at;
                self.break_at(start, end, at);
                return true;
            }
            if self.break_braces(&at_depth, end, true) {
                return true;
            }
        }
        for kind in [PlaceKind::Opened, PlaceKind::Assign] {
            if let Some(place) = places.iter().find(|it| it.fits && it.kind == kind) {
                let at = place.at;
                self.break_at(start, end, at);
                return true;
            }
        }
        false
    }

    /// Breaks before a piece, or opens the outermost braces on this line that it stands in.
    fn break_at(&mut self, start: usize, end: usize, at: usize) {
        let holds = |open: &usize| {
            self.pieces[*open].token().is_some_and(opens_brace)
                && self.structure.partner[*open].is_some_and(|close| close >= at && close < end)
        };
        match (start..at).find(holds) {
            Some(open) if self.breaks[open + 1] == Break::None => {
                self.open_braces(open);
            }
            _ => self.breaks[at] = Break::Line,
        }
    }

    /// Gives braces lines of their own; those of a kernel whose head has several lines stand below it.
    fn open_braces(&mut self, open: usize) {
        open_braces(self.pieces, self.structure, &mut self.breaks, open);
        let heads = self
            .structure
            .heads
            .iter()
            .find(|heads| heads.last() == Some(&open));
        if let Some(heads) = heads.filter(|heads| self.breaks[heads[0]] > Break::None) {
            break_heads(self.structure, &mut self.breaks, heads);
        }
    }

    fn break_heads(&mut self, places: &[&Place]) -> bool {
        let head = places.iter().find(|place| place.kind == PlaceKind::Head);
        let Some(head) = head.map(|place| place.at) else {
            return false;
        };
        let heads = self
            .structure
            .heads
            .iter()
            .find(|heads| heads.contains(&head));
        let Some(heads) = heads else { return false };
        let brace = heads.last().copied().unwrap_or(head);
        let brace_fits = places.iter().any(|place| place.at == brace && place.fits);
        let close = self.structure.partner[brace].unwrap_or(brace);
        let body = close > brace + 1 && self.breaks[brace + 1] == Break::None;
        if body {
            self.open_braces(brace);
        }
        // The head alone may be short enough.
        if !body || !brace_fits {
            break_heads(self.structure, &mut self.breaks, heads);
        }
        true
    }

    /// Opens all braces of a depth that lie on this line.
    fn break_braces(&mut self, places: &[&Place], end: usize, reductions: bool) -> bool {
        let mut found = false;
        for place in places.iter().filter(|place| place.kind == PlaceKind::Brace) {
            let close = self.structure.partner[place.at];
            let whole = close.is_some_and(|close| close < end && close > place.at + 1);
            if whole && (reductions || !self.structure.is_reduction[place.at]) {
                self.open_braces(place.at);
                found = true;
            }
        }
        found
    }

    /// Where a line could be broken, from left to right.
    fn places(&self, start: usize, end: usize, indent: usize) -> Vec<Place> {
        let mut places = Vec::new();
        let mut depth = 0;
        let mut column = indent;
        for at in start..end {
            let piece = &self.pieces[at];
            let token = piece.token();
            if token.is_some_and(closes) {
                depth -= 1;
            }
            if at > start {
                let left = self.pieces[at - 1].token();
                let kind = match (left, token) {
                    _ if self.structure.roles[at] == Role::Head => Some(PlaceKind::Head),
                    (
                        _,
                        Some(Token::RParen | Token::RBracket | Token::GenericClose | Token::RBrace),
                    ) => None,
                    (Some(Token::Comma), _) if !self.structure.of_swizzle[at - 1] => {
                        Some(PlaceKind::Comma)
                    }
                    (Some(left), _) if opens_tightly(left) => Some(PlaceKind::Opened),
                    (Some(Token::Assign), _) => Some(PlaceKind::Assign),
                    _ => match self.structure.roles[at - 1] {
                        Role::Operator(binding) => Some(PlaceKind::Operator(binding)),
                        _ => None,
                    },
                };
                if let Some(kind) = kind {
                    // What is behind an opening bracket has the depth of the bracket.
                    let depth = if kind == PlaceKind::Opened {
                        depth - 1
                    } else {
                        depth
                    };
                    let fits = column <= MEASURE;
                    places.push(Place {
                        at,
                        kind,
                        depth,
                        fits,
                    });
                }
            }
            if token.is_some_and(opens_brace) {
                let fits = column < MEASURE;
                places.push(Place {
                    at,
                    kind: PlaceKind::Brace,
                    depth,
                    fits,
                });
            }
            if token.is_some_and(|token| opens_tightly(token) || opens_brace(token)) {
                depth += 1;
            }
            column += piece.text.chars().count();
            column += usize::from(at > start && spaced(self.pieces, self.structure, at));
        }
        places
    }

    /// Puts the lines together, with the comments at their ends.
    fn finish(self) -> String {
        let columns = self.comment_columns();
        let mut out = String::new();
        for (number, line) in self.lines.iter().enumerate() {
            if line.blank {
                out.push('\n');
            }
            let code = format!("{:indent$}{}", "", line.code, indent = line.indent);
            out.push_str(&code);
            if let Some(comment) = line.comment {
                let width = code.chars().count();
                let column = columns.get(&number).copied().unwrap_or(width + 1);
                out.extend(std::iter::repeat_n(' ', column.saturating_sub(width)));
                out.push_str(self.pieces[comment].text);
            }
            out.push('\n');
        }
        out
    }

    /// The column of the comment at the end of each line that has one. Comments of an item that stood in one column
    /// stand in one column: the same, unless code has become too long for it.
    fn comment_columns(&self) -> HashMap<usize, usize> {
        let mut groups: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for (number, line) in self.lines.iter().enumerate() {
            let Some(comment) = line.comment else {
                continue;
            };
            // The line may have moved, and comments with it.
            let was = (line.first..=comment).find(|at| self.pieces[*at].newlines > 0 || *at == 0);
            let was = was.map_or(line.indent, |at| self.pieces[at].column);
            let column = (self.pieces[comment].column + line.indent).saturating_sub(was);
            groups.entry((line.item, column)).or_default().push(number);
        }
        let mut columns = HashMap::new();
        for ((_, column), numbers) in groups {
            let width = |number: &usize| {
                self.lines[*number].indent + self.lines[*number].code.chars().count()
            };
            let gap = |number: &usize| {
                let comment = self.lines[*number].comment;
                comment.map_or(1, |comment| self.pieces[comment].gap.clamp(1, 2))
            };
            let least = numbers.iter().map(gap).min().unwrap_or(1);
            let widest = numbers.iter().map(width).max().unwrap_or(0);
            let attached = numbers.len() == 1
                && self.lines[numbers[0]]
                    .comment
                    .is_some_and(|at| self.pieces[at].gap <= 2);
            let column = match attached {
                true => widest + least,
                false => column.max(widest + least),
            };
            columns.extend(numbers.iter().map(|number| (*number, column)));
        }
        columns
    }
}

/// Where a line could be broken.
struct Place {
    /// Before this piece; of braces, the opening one.
    at: usize,
    kind: PlaceKind,
    /// Brackets around it that are opened on this line.
    depth: i32,
    /// Whether what stands before it is short enough.
    fits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Head,
    Brace,
    Comma,
    Opened,
    Operator(u8),
    Assign,
}
