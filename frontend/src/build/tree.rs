//! Nodes of the syntax tree. They have no places but those in texts of the host; `module` gives the others those of the listing.

use crate::ast::*;
use crate::eval::builtins;
use crate::source::{Span, Spanned};
use std::sync::Arc;

/// Of what has no place yet.
pub(super) const NOWHERE: Span = Span {
    file: crate::source::FileId(0),
    start: 0,
    end: 0,
};

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, NOWHERE)
}

pub(super) fn spelled(text: &str) -> Name {
    Spanned::new(text.into(), NOWHERE)
}

/// A part of a node.
pub(super) fn spanned<T>(node: T) -> Spanned<T> {
    Spanned::new(node, NOWHERE)
}

pub(super) fn name(text: &str) -> Expr {
    expr(ExprKind::Name(text.into()))
}

/// An integer, with a minus where it needs one.
pub(super) fn int(value: i64) -> Expr {
    let size = expr(ExprKind::Int {
        value: value.unsigned_abs(),
        suffix: None,
    });
    if value < 0 {
        unary(UnaryOp::Neg, size)
    } else {
        size
    }
}

/// A floating number; what has no digits is a quotient.
pub(super) fn float(value: f64) -> Expr {
    let digits = |value: f64| {
        expr(ExprKind::Float {
            value,
            suffix: None,
        })
    };
    let size = match value.abs() {
        size if size.is_finite() => digits(size),
        size if size.is_infinite() => binary(BinaryOp::Div, digits(1.0), digits(0.0)),
        _ => binary(BinaryOp::Div, digits(0.0), digits(0.0)),
    };
    if value.is_sign_negative() && !value.is_nan() {
        unary(UnaryOp::Neg, size)
    } else {
        size
    }
}

pub(super) fn unary(op: UnaryOp, operand: Expr) -> Expr {
    let op = Spanned::new(op, NOWHERE);
    expr(ExprKind::Unary { op, operand })
}

pub(super) fn binary(op: BinaryOp, lhs: Expr, rhs: Expr) -> Expr {
    let op = Spanned::new(op, NOWHERE);
    expr(ExprKind::Binary { op, lhs, rhs })
}

pub(super) fn field(base: Expr, of: &str) -> Expr {
    expr(ExprKind::Field {
        base,
        name: spelled(of),
    })
}

pub(super) fn arg(value: Expr) -> Arg {
    Arg {
        name: None,
        value,
        span: NOWHERE,
    }
}

pub(super) fn named(of: &str, value: Expr) -> Arg {
    Arg {
        name: Some(spelled(of)),
        ..arg(value)
    }
}

pub(super) fn call(callee: Expr, args: impl IntoIterator<Item = Expr>) -> Expr {
    call_with(callee, args.into_iter().map(arg).collect())
}

pub(super) fn call_with(callee: Expr, args: Vec<Arg>) -> Expr {
    debug_assert!(is_of_the_language(&callee, &args), "{callee:?}");
    expr(ExprKind::Call { callee, args })
}

/// Whether a call is one of a built-in that takes these arguments, of a method, a type, or a clause.
fn is_of_the_language(callee: &Expr, args: &[Arg]) -> bool {
    let name = match &*callee.kind {
        ExprKind::Generic { base, .. } => base.as_name(),
        ExprKind::Field { .. } => return true,
        _ => callee.as_name(),
    };
    let places = args.iter().filter(|arg| arg.name.is_none()).count();
    let names: Vec<&str> = args
        .iter()
        .filter_map(|arg| Some(&*arg.name.as_ref()?.node))
        .collect();
    name.is_some_and(|name| {
        matches!(&**name, "pipeline" | "align")
            || crate::eval::is_element_type(name)
            || builtins::entries(name)
                .iter()
                .any(|form| form.takes_like(places, &names))
    })
}

pub(super) fn generic(base: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    expr(ExprKind::Generic {
        base: name(base),
        args: args.into_iter().map(arg).collect(),
    })
}

/// `(a, b)`, and `a` alone without parentheses.
pub(super) fn tuple(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => expr(ExprKind::Tuple(parts)),
    }
}

pub(super) fn statement(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        span: NOWHERE,
    }
}

/// `let x = …;`, `var x = …;`.
pub(super) fn binding(mutable: bool, to: &Arc<str>, value: Expr) -> Stmt {
    statement(StmtKind::Let(Let {
        mutable,
        pattern: pattern(to),
        ty: None,
        value,
    }))
}

pub(super) fn pattern(to: &str) -> Pattern {
    pattern_of(PatternKind::Name(spelled(to)), 1)
}

pub(super) fn pattern_of(kind: PatternKind, depth: u32) -> Pattern {
    Pattern {
        kind,
        span: NOWHERE,
        depth,
    }
}

pub(super) fn assignment(target: Expr, op: Option<BinaryOp>, value: Expr) -> Stmt {
    let op = op.map(|op| Spanned::new(op, NOWHERE));
    statement(StmtKind::Assign { target, op, value })
}

pub(super) fn branch(condition: Expr, then: Block, otherwise: Option<Block>) -> Stmt {
    let otherwise = otherwise.map(ElseBranch::Block);
    let is_static = false;
    statement(StmtKind::Expr(expr(ExprKind::If(IfExpr {
        is_static,
        condition,
        then,
        otherwise,
    }))))
}

/// A block; a last `if` or block is its value, as where it is read.
pub(super) fn block(stmts: Vec<Stmt>) -> Block {
    block_with(stmts, None)
}

/// A block with a value.
pub(super) fn block_with(mut stmts: Vec<Stmt>, value: Option<Expr>) -> Block {
    let value = value.or_else(|| {
        let last = stmts.pop_if(|last| {
            matches!(&last.kind, StmtKind::Expr(expr) if matches!(*expr.kind, ExprKind::If(_) | ExprKind::Block(_)))
        })?;
        match last.kind {
            StmtKind::Expr(value) => Some(value),
            _ => None,
        }
    });
    let inner = stmts.iter().map(Stmt::depth).max().unwrap_or(0);
    let value_depth = value.as_ref().map_or(0, |value| value.depth);
    Block {
        stmts,
        value,
        span: NOWHERE,
        depth: 1 + inner.max(value_depth),
    }
}

/// Gives nodes without a place this one.
pub(super) fn place(at: Span) -> impl FnMut(&mut Span) {
    move |span| {
        if span.file == NOWHERE.file {
            *span = at;
        }
    }
}

pub(super) fn ty(of: &str, args: Vec<Expr>) -> Type {
    let depth = 1 + args.iter().map(|arg| arg.depth).max().unwrap_or(0);
    Type {
        kind: TypeKind::Named {
            name: spelled(of),
            args: args.into_iter().map(arg).collect(),
        },
        span: NOWHERE,
        depth,
    }
}

pub(super) fn param(of: &str, mutable: bool, ty: Option<Type>) -> Param {
    Param {
        name: spelled(of),
        mutable,
        ty,
        span: NOWHERE,
    }
}

pub(super) fn clause(of: &str, args: Vec<Expr>) -> Clause {
    clause_with(of, args.into_iter().map(arg).collect())
}

pub(super) fn clause_with(of: &str, args: Vec<Arg>) -> Clause {
    Clause {
        name: spelled(of),
        args,
        span: NOWHERE,
    }
}

pub(super) fn item(kind: ItemKind) -> Item {
    Item {
        docs: Vec::new(),
        kind,
        span: NOWHERE,
    }
}
