//! What the syntax tree knows of the pieces.

use super::pieces::{Piece, closes, opens_brace, opens_tightly};
use crate::ast::visit::{self, Visit};
use crate::ast::*;
use crate::lexer::Token;
use std::collections::HashMap;

/// What a piece is to its surroundings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing that matters here.
    #[default]
    Plain,
    /// An operator between two operands, and how tightly it binds.
    Operator(u8),
    /// The `:` before a type.
    TypeColon,
    /// The first token of what has a line of its own in a broken block: an item, a statement, a function of a record.
    Starter,
    /// The first token of a field.
    Element,
    /// `where` or `launch` of a kernel, or the `{` of its body.
    Head,
}

/// By the numbers of pieces.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// What each is.
    pub roles: Vec<Role>,
    /// Whether it is the `-` or `!` of one operand.
    pub is_sign: Vec<bool>,
    /// The other bracket.
    pub partner: Vec<Option<usize>>,
    /// Of a `{` of a statement or an item, the piece that begins it: what the body is indented from. Of an `else`
    /// likewise.
    pub base: Vec<Option<usize>>,
    /// Whether a `{` holds statements.
    pub is_block: Vec<bool>,
    /// Of a `{`: whether what holds it is a reduction, which is rather kept on its line.
    pub is_reduction: Vec<bool>,
    /// Whether it is in the brackets of `S<…>`, as CuTe writes it.
    pub of_swizzle: Vec<bool>,
    /// `where`, `launch` and `{` of each kernel that has the first two.
    pub heads: Vec<Vec<usize>>,
}

/// Finds all of it.
pub fn find(file: &File, pieces: &[Piece<'_>]) -> Structure {
    let count = pieces.len();
    let mut structure = Structure {
        roles: vec![Role::Plain; count],
        is_sign: vec![false; count],
        partner: partners(pieces),
        base: vec![None; count],
        is_block: vec![false; count],
        is_reduction: vec![false; count],
        of_swizzle: vec![false; count],
        heads: Vec::new(),
    };
    let tokens = pieces
        .iter()
        .enumerate()
        .filter(|(_, piece)| !piece.is_comment());
    let at_byte: HashMap<u32, usize> = tokens.map(|(at, piece)| (piece.start, at)).collect();
    for at in 0..count {
        let opens = pieces[at].is(Token::GenericOpen) && at > 0 && pieces[at - 1].text == "S";
        if let (true, Some(close)) = (opens, structure.partner[at]) {
            structure.of_swizzle[at..close].fill(true);
        }
    }
    let mut finder = Finder {
        pieces,
        at_byte,
        structure,
    };
    for item in &file.items {
        finder.item(item);
    }
    finder.structure
}

fn partners(pieces: &[Piece<'_>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; pieces.len()];
    let mut open = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece.token() {
            Some(token) if opens_tightly(token) || opens_brace(token) => open.push(at),
            Some(token) if closes(token) => {
                if let Some(first) = open.pop() {
                    partners[first] = Some(at);
                    partners[at] = Some(first);
                }
            }
            _ => {}
        }
    }
    partners
}

struct Finder<'p, 's> {
    pieces: &'p [Piece<'s>],
    at_byte: HashMap<u32, usize>,
    structure: Structure,
}

impl Finder<'_, '_> {
    fn set(&mut self, byte: u32, role: Role) {
        if let Some(at) = self.at_byte.get(&byte) {
            self.structure.roles[*at] = role;
        }
    }

    /// The token before a piece.
    fn before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| !self.pieces[*at].is_comment())
    }

    /// The body that begins at `brace` is of what begins at `start`, and so is the `else` before it.
    fn based(&mut self, brace: u32, start: u32) {
        let brace = self.at_byte.get(&brace).copied();
        let start = self.at_byte.get(&start).copied();
        let Some(brace) = brace else { return };
        self.structure.base[brace] = start;
        if let Some(word) = self
            .before(brace)
            .filter(|at| self.pieces[*at].is(Token::Else))
        {
            self.structure.base[word] = start;
        }
    }

    /// The branches of an `if` that is a statement.
    fn branches(&mut self, expr: &Expr, start: u32) {
        let mut expr = expr;
        while let ExprKind::If(parts) = &*expr.kind {
            self.based(parts.then.span.start, start);
            match &parts.otherwise {
                Some(ElseBranch::Block(block)) => return self.based(block.span.start, start),
                Some(ElseBranch::If(next)) => {
                    let word = self.at_byte.get(&next.span.start).copied();
                    if let Some(word) = word.and_then(|at| self.before(at)) {
                        self.structure.base[word] = self.at_byte.get(&start).copied();
                    }
                    expr = next;
                }
                None => return,
            }
        }
        if let ExprKind::Block(block) = &*expr.kind {
            self.based(block.span.start, start);
        }
    }

    fn element(&mut self, byte: u32) {
        self.set(byte, Role::Element);
    }
}

impl<'a> Visit<'a> for Finder<'_, '_> {
    fn item(&mut self, item: &'a Item) {
        let start = item.span.start;
        self.set(start, Role::Starter);
        match &item.kind {
            ItemKind::Kernel(kernel) => {
                let first = kernel.params.last().map_or(start, |param| param.span.end);
                let from = self.pieces.partition_point(|piece| piece.start < first);
                let brace = self.at_byte.get(&kernel.body.span.start).copied();
                let until = brace.unwrap_or(from);
                let heads: Vec<usize> = (from..until)
                    .filter(|at| {
                        self.pieces[*at].is(Token::Where) || self.pieces[*at].is(Token::Launch)
                    })
                    .chain(brace)
                    .collect();
                if heads.len() > 1 {
                    for at in &heads {
                        self.structure.roles[*at] = Role::Head;
                    }
                    self.structure.heads.push(heads);
                }
                self.based(kernel.body.span.start, start);
            }
            ItemKind::Function(function) => self.based(function.body.span.start, start),
            ItemKind::Test(Test { body, .. }) | ItemKind::Bench(Bench { body, .. }) => {
                self.based(body.span.start, start);
            }
            ItemKind::Record(record) => {
                for field in &record.fields {
                    self.element(field.span.start);
                }
                for function in &record.functions {
                    self.set(function.span.start, Role::Starter);
                    self.based(function.function.body.span.start, function.span.start);
                }
            }
            ItemKind::Import(_) | ItemKind::Const(_) | ItemKind::Error => {}
        }
        visit::walk_item(self, item);
    }

    fn block(&mut self, block: &'a Block) {
        if let Some(at) = self.at_byte.get(&block.span.start) {
            self.structure.is_block[*at] = true;
        }
        if let Some(value) = &block.value {
            self.set(value.span.start, Role::Starter);
            self.branches(value, value.span.start);
        }
        visit::walk_block(self, block);
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let start = stmt.span.start;
        if !matches!(stmt.kind, StmtKind::Empty) {
            self.set(start, Role::Starter);
        }
        match &stmt.kind {
            StmtKind::Expr(expr) => self.branches(expr, start),
            StmtKind::For(parts) => self.based(parts.body.span.start, start),
            StmtKind::While { body, .. } | StmtKind::Loop(body) => {
                self.based(body.span.start, start);
            }
            StmtKind::Roles(roles) => {
                for role in roles {
                    self.set(role.span.start, Role::Starter);
                    self.based(role.body.span.start, role.span.start);
                }
            }
            StmtKind::Let(_)
            | StmtKind::Assign { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Empty
            | StmtKind::Error => {}
        }
        visit::walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &*expr.kind {
            ExprKind::Unary { op, .. } => {
                if let Some(at) = self.at_byte.get(&op.span.start) {
                    self.structure.is_sign[*at] = true;
                }
            }
            ExprKind::Binary { op, .. } => {
                self.set(op.span.start, Role::Operator(op.node.precedence()));
            }
            ExprKind::Record { fields, .. } => {
                for field in fields {
                    self.element(field.name.span.start);
                }
            }
            ExprKind::Reduce { body, .. } => {
                if let Some(at) = self.at_byte.get(&body.span.start) {
                    self.structure.is_reduction[*at] = true;
                }
            }
            _ => {}
        }
        visit::walk_expr(self, expr);
    }

    fn ty(&mut self, ty: &'a Type) {
        let mut at = self.at_byte.get(&ty.span.start).copied();
        at = at.and_then(|at| self.before(at));
        if at.is_some_and(|at| self.pieces[at].is(Token::Mut)) {
            at = at.and_then(|at| self.before(at));
        }
        if let Some(at) = at.filter(|at| self.pieces[*at].is(Token::Colon)) {
            self.structure.roles[at] = Role::TypeColon;
        }
        visit::walk_type(self, ty);
    }
}
