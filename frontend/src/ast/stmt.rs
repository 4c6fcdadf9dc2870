//! Statements, blocks and patterns.

use super::{Arg, BinaryOp, Expr, Name, Record, Type};
use crate::source::{Span, Spanned};

/// `{ statements; value }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The value: a last expression without `;`, or a last `if` or block. Such an `if` may well
    /// be meant as a statement and have no value: then neither does the block.
    pub value: Option<Expr>,
    /// Braces included.
    pub span: Span,
    /// Levels of nesting, this one included.
    pub depth: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// The `;` included.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let p: T = e;` and `var p: T = e;`.
    Let(Let),
    /// `x = e;`, `t[_, i] = e;`, `x += e;`.
    Assign {
        /// Left of the operator: a name, an index, a field or a call that gives a view.
        target: Expr,
        /// `Add` of `+=`; nothing for `=`.
        op: Option<Spanned<BinaryOp>>,
        /// Right of the operator.
        value: Expr,
    },
    /// An expression for its effect, and `if` and blocks as statements.
    Expr(Expr),
    /// `for`.
    For(For),
    /// `while c { … }`.
    While {
        /// Asked before each round.
        condition: Expr,
        /// The round.
        body: Block,
    },
    /// `loop { … }`.
    Loop(Block),
    /// `roles { … }`: parts of a block's warps, each with what it does.
    Roles(Vec<Role>),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;`, `return e;`
    Return(Option<Expr>),
    /// A `;` alone.
    Empty,
    /// An error was reported here.
    Error,
}

/// `let` or `var`.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// `var`: may be assigned to.
    pub mutable: bool,
    /// The name or names.
    pub pattern: Pattern,
    /// The type behind the colon.
    pub ty: Option<Type>,
    /// The value.
    pub value: Expr,
}

/// Warps of a block that do something of their own: `loads(warps = 4, registers = 40) => { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Its name, by which its body asks for numbers of threads and warps.
    pub name: Name,
    /// `warps = …`, `registers = …`.
    pub args: Vec<Arg>,
    /// What these warps do.
    pub body: Block,
    /// What its name stands for in the body: `loads.thread` and the like.
    pub numbers: Record,
    /// All of it.
    pub span: Span,
}

/// `for`, over a range, an array or (tile level) tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// `static for`: unrolled; each round is evaluated by itself.
    pub is_static: bool,
    /// A call before `for`, which says how to run the loop: `pipeline(3) for …`.
    pub clause: Option<Expr>,
    /// What each round binds.
    pub pattern: Pattern,
    /// What it runs over.
    pub over: Expr,
    /// The round.
    pub body: Block,
}

/// What a `let` or `for` binds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// Where it stands.
    pub span: Span,
    /// Levels of nesting, this one included.
    pub depth: u32,
}

/// The kinds of pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternKind {
    /// `x`
    Name(Name),
    /// `_`
    Wildcard,
    /// `(a, b)`
    Tuple(Vec<Pattern>),
    /// An error was reported here.
    Error,
}

impl Pattern {
    /// Every name it binds, left to right.
    pub fn names(&self) -> Vec<&Name> {
        match &self.kind {
            PatternKind::Name(name) => vec![name],
            PatternKind::Wildcard | PatternKind::Error => Vec::new(),
            PatternKind::Tuple(parts) => parts.iter().flat_map(Pattern::names).collect(),
        }
    }
}

impl Stmt {
    /// Levels of nesting below and with this statement.
    pub fn depth(&self) -> u32 {
        let inner = match &self.kind {
            StmtKind::Let(parts) => {
                let ty = parts.ty.as_ref().map_or(0, |ty| ty.depth);
                parts.pattern.depth.max(ty).max(parts.value.depth)
            }
            StmtKind::Assign { target, value, .. } => target.depth.max(value.depth),
            StmtKind::Expr(expr) => expr.depth,
            StmtKind::For(parts) => {
                let clause = parts.clause.as_ref().map_or(0, |clause| clause.depth);
                parts
                    .pattern
                    .depth
                    .max(clause)
                    .max(parts.over.depth)
                    .max(parts.body.depth)
            }
            StmtKind::While { condition, body } => condition.depth.max(body.depth),
            StmtKind::Loop(body) => body.depth,
            StmtKind::Roles(roles) => {
                let args = roles.iter().flat_map(|role| &role.args);
                let args = args.map(|arg| arg.value.depth);
                let bodies = roles.iter().map(|role| role.body.depth);
                args.chain(bodies).max().unwrap_or(0)
            }
            StmtKind::Return(value) => value.as_ref().map_or(0, |value| value.depth),
            StmtKind::Break | StmtKind::Continue | StmtKind::Empty | StmtKind::Error => 0,
        };
        inner + 1
    }
}
