//! Statements.

use super::{Arg, Expr};
use crate::ast::spans::Spans;
use crate::ast::{self, BinaryOp, MAX_DEPTH, PatternKind, Stmt, StmtKind};
use crate::build::position::{Position, Texts};
use crate::build::syntax::Type;
use crate::build::tree;
use crate::parser::context::numbers_of_role;

/// `{ statements; value }`, statement by statement.
#[derive(Debug, Clone, Default)]
pub struct Block {
    stmts: Vec<Stmt>,
    value: Option<Expr>,
    texts: Texts,
    at: Option<Position>,
}

/// What a `let` or a `for` binds: a name, `_`, or names within parentheses.
#[derive(Debug, Clone)]
pub struct Pattern(pub(super) ast::Pattern);

/// A `for`.
#[derive(Debug, Clone)]
pub struct For {
    pattern: Pattern,
    over: Expr,
    body: Block,
    clause: Option<Expr>,
    is_static: bool,
}

/// Warps of a block that do something of their own.
#[derive(Debug, Clone)]
pub struct Role {
    node: ast::Role,
    texts: Texts,
}

impl Pattern {
    /// A name.
    pub fn name(name: &str) -> Self {
        Self(tree::pattern(name))
    }

    /// `_`
    pub fn wildcard() -> Self {
        Self(tree::pattern_of(PatternKind::Wildcard, 1))
    }

    /// `(a, b)`
    pub fn tuple(parts: impl IntoIterator<Item = impl Into<Pattern>>) -> Self {
        let parts = parts.into_iter().map(|part| part.into().0);
        let parts: Vec<ast::Pattern> = parts.collect();
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        Self(match depth > MAX_DEPTH {
            true => tree::pattern_of(PatternKind::Error, 1),
            false => tree::pattern_of(PatternKind::Tuple(parts), depth),
        })
    }
}

impl From<&str> for Pattern {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}

impl For {
    /// `for pattern in over { … }`, over a range, an array, or `tiles(…)`.
    pub fn new(pattern: impl Into<Pattern>, over: impl Into<Expr>, body: Block) -> Self {
        Self {
            pattern: pattern.into(),
            over: over.into(),
            body,
            clause: None,
            is_static: false,
        }
    }

    /// `clause for …`, such as `pipeline(3)`.
    #[must_use]
    pub fn clause(self, clause: Expr) -> Self {
        let clause = Some(clause);
        Self { clause, ..self }
    }

    /// `static for …`: each round is evaluated by itself.
    #[must_use]
    pub fn unrolled(self) -> Self {
        let is_static = true;
        Self { is_static, ..self }
    }
}

impl Role {
    /// `name(args) => { … }`, with `warps = …` and perhaps `registers = …`.
    pub fn new(name: &str, args: impl IntoIterator<Item = impl Into<Arg>>, body: Block) -> Self {
        let (body, mut texts) = body.into_node();
        let (name, args) = (tree::spelled(name), Arg::nodes(args, &mut texts));
        let numbers = numbers_of_role(&name);
        let node = ast::Role {
            name,
            args,
            body,
            numbers,
            span: tree::NOWHERE,
        };
        Self { node, texts }
    }
}

impl Block {
    /// No statements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says where what follows comes from, up to the next call: messages, faults and `.loc` lines are there. `None` is the
    /// place of what is around, at the outermost the listing.
    pub fn at(&mut self, position: impl Into<Option<Position>>) -> &mut Self {
        self.at = position.into();
        self
    }

    fn push(&mut self, kind: StmtKind, texts: &Texts) -> &mut Self {
        self.texts.merge(texts);
        let mut stmt = tree::statement(kind);
        if let Some(at) = &self.at {
            self.texts.add(at.text());
            Spans(&mut tree::place(at.span())).stmt(&mut stmt);
        }
        self.stmts.push(stmt);
        self
    }

    fn declare(
        &mut self,
        mutable: bool,
        pattern: Pattern,
        ty: Option<Type>,
        value: Expr,
    ) -> &mut Self {
        let (pattern, ty, texts) = (pattern.0, ty.map(|ty| ty.node), value.texts);
        let value = value.node;
        let parts = ast::Let {
            mutable,
            pattern,
            ty,
            value,
        };
        self.push(StmtKind::Let(parts), &texts)
    }

    /// `let pattern = value;`
    pub fn bind(&mut self, to: impl Into<Pattern>, value: impl Into<Expr>) -> &mut Self {
        self.declare(false, to.into(), None, value.into())
    }

    /// `let pattern: type = value;`
    pub fn bind_as(
        &mut self,
        to: impl Into<Pattern>,
        ty: Type,
        value: impl Into<Expr>,
    ) -> &mut Self {
        self.declare(false, to.into(), Some(ty), value.into())
    }

    /// `var pattern = value;`
    pub fn variable(&mut self, to: impl Into<Pattern>, value: impl Into<Expr>) -> &mut Self {
        self.declare(true, to.into(), None, value.into())
    }

    /// `var pattern: type = value;`
    pub fn variable_as(
        &mut self,
        to: impl Into<Pattern>,
        ty: Type,
        value: impl Into<Expr>,
    ) -> &mut Self {
        self.declare(true, to.into(), Some(ty), value.into())
    }

    /// `target = value;`
    pub fn assign(&mut self, target: impl Into<Expr>, value: impl Into<Expr>) -> &mut Self {
        self.assignment(target.into(), None, value.into())
    }

    /// `target += value;` and the like.
    pub fn update(
        &mut self,
        op: BinaryOp,
        target: impl Into<Expr>,
        value: impl Into<Expr>,
    ) -> &mut Self {
        self.assignment(target.into(), Some(op), value.into())
    }

    fn assignment(&mut self, target: Expr, op: Option<BinaryOp>, value: Expr) -> &mut Self {
        let mut texts = target.texts;
        texts.merge(&value.texts);
        let stmt = tree::assignment(target.node, op, value.node);
        self.push(stmt.kind, &texts)
    }

    /// `expr;`: a call for its effect, an `if`, a block.
    pub fn run(&mut self, expr: impl Into<Expr>) -> &mut Self {
        let Expr { node, texts } = expr.into();
        self.push(StmtKind::Expr(node), &texts)
    }

    /// `if condition { … } else { … }`
    pub fn branch(
        &mut self,
        condition: impl Into<Expr>,
        then: Block,
        otherwise: impl Into<Option<Block>>,
    ) -> &mut Self {
        self.run(Expr::branch(condition, then, otherwise))
    }

    /// A `for`.
    pub fn repeat(&mut self, parts: For) -> &mut Self {
        let (body, mut texts) = parts.body.into_node();
        texts.merge(&parts.over.texts);
        let clause = parts.clause.map(|clause| {
            texts.merge(&clause.texts);
            clause.node
        });
        let node = ast::For {
            is_static: parts.is_static,
            clause,
            pattern: parts.pattern.0,
            over: parts.over.node,
            body,
        };
        self.push(StmtKind::For(node), &texts)
    }

    /// `while condition { … }`
    pub fn repeat_while(&mut self, condition: impl Into<Expr>, body: Block) -> &mut Self {
        let condition = condition.into();
        let (body, mut texts) = body.into_node();
        texts.merge(&condition.texts);
        let condition = condition.node;
        self.push(StmtKind::While { condition, body }, &texts)
    }

    /// `loop { … }`
    pub fn repeat_forever(&mut self, body: Block) -> &mut Self {
        let (body, texts) = body.into_node();
        self.push(StmtKind::Loop(body), &texts)
    }

    /// `roles { … }`
    pub fn roles(&mut self, roles: impl IntoIterator<Item = Role>) -> &mut Self {
        let mut texts = Texts::default();
        let node = |role: Role| {
            texts.merge(&role.texts);
            role.node
        };
        let roles = roles.into_iter().map(node).collect();
        self.push(StmtKind::Roles(roles), &texts)
    }

    /// `break;`
    pub fn leave(&mut self) -> &mut Self {
        self.push(StmtKind::Break, &Texts::default())
    }

    /// `continue;`
    pub fn skip(&mut self) -> &mut Self {
        self.push(StmtKind::Continue, &Texts::default())
    }

    /// `;`: no statement.
    pub fn nothing(&mut self) -> &mut Self {
        self.push(StmtKind::Empty, &Texts::default())
    }

    /// `return;`, `return value;`
    pub fn return_with(&mut self, value: impl Into<Option<Expr>>) -> &mut Self {
        let (node, texts) = match value.into() {
            Some(value) => (Some(value.node), value.texts),
            None => (None, Texts::default()),
        };
        self.push(StmtKind::Return(node), &texts)
    }

    /// The value of the block, behind all statements.
    pub fn value(&mut self, value: impl Into<Expr>) -> &mut Self {
        let mut value = value.into();
        if let Some(at) = &self.at {
            self.texts.add(at.text());
            Spans(&mut tree::place(at.span())).expr(&mut value.node);
        }
        self.value = Some(value);
        self
    }

    pub(in crate::build) fn into_node(self) -> (ast::Block, Texts) {
        let mut texts = self.texts;
        let value = self.value.map(|value| {
            texts.merge(&value.texts);
            value.node
        });
        let block = tree::block_with(self.stmts, value);
        match block.depth > MAX_DEPTH {
            true => {
                let error = Some(tree::expr(ast::ExprKind::Error));
                (tree::block_with(Vec::new(), error), texts)
            }
            false => (block, texts),
        }
    }

    /// Its statements, for a block that is open elsewhere.
    pub(in crate::build) fn into_statements(self) -> (Vec<Stmt>, Texts) {
        let (block, texts) = self.into_node();
        let mut stmts = block.stmts;
        stmts.extend(
            block
                .value
                .map(|value| tree::statement(StmtKind::Expr(value))),
        );
        (stmts, texts)
    }
}
