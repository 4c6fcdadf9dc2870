//! The syntax tree.
//!
//! Reading order: [`item`] (files, kernels, functions, tests), [`stmt`] (statements, blocks,
//! patterns), [`expr`] (expressions, which are also types, shapes, layouts and index notation),
//! [`print`] (back to text), [`visit`] (a walk over all of it).
//!
//! The tree is what was written, with names unresolved and nothing evaluated. What is static and
//! what is dynamic is not a matter of syntax, so nothing here says it, except for the word
//! `static` before `if` and `for` (a demand) and generic arguments (always static).
//!
//! How the parts of the language look in the tree:
//!
//! | written | tree |
//! |---|---|
//! | `x`, `f16`, `thread_idx` | [`ExprKind::Name`]; element types and built-ins are plain names |
//! | `thread_idx.x`, `copy.slice` | [`ExprKind::Field`] |
//! | `f(a, n = 1)` | [`ExprKind::Call`] of a name |
//! | `c.slice(t)` | [`ExprKind::Call`] of a [`ExprKind::Field`]: see [`Expr::as_method_call`] |
//! | `size<1>(x)`, `k<bm = 64>(a)` | [`ExprKind::Call`] of a [`ExprKind::Generic`] |
//! | `S<3,3,3>`, `fma<f32>` | [`ExprKind::Generic`] |
//! | `t[_, i, (_, j)]` | [`ExprKind::Index`]; `_` is [`ExprKind::Wildcard`] |
//! | `(8, 64) : (64, 1)` | [`ExprKind::Layout`] |
//! | `S<3,3,3> o 0 o L` | [`ExprKind::Compose`] of three parts, left to right |
//! | `1@0` | [`ExprKind::ScaledBasis`] |
//! | `a..b step s` | [`ExprKind::Range`] |
//! | `f16(x)` | a call; a conversion if the name turns out to be a type |
//! | `Ring { index = 0, full }` | [`ExprKind::Record`]; a field alone is given the variable of its name |
//! | `sum(l) { … }` | [`ExprKind::Reduce`] |
//! | `c[i, j]` in `assert_eq` | an index with unbound names; the evaluator binds them |
//! | `static_assert(c, "…")` | a call |
//! | `zeros<f32>(m, n)`, launches | calls |
//!
//! Invariants: every node has a span in its file; children lie within their parent's span, except
//! that brackets supplied by error recovery have empty spans; no path from the root is longer than
//! [`MAX_DEPTH`], so recursion over the tree is safe. `Error` nodes stand where an error was
//! reported: a later stage must pass over them silently.

pub mod expr;
pub mod item;
pub mod print;
pub(crate) mod spans;
pub mod stmt;
pub mod visit;

pub use expr::{
    Arg, BinaryOp, ElseBranch, Expr, ExprKind, FieldValue, IfExpr, IndexVar, MethodCall, UnaryOp,
};
pub use item::{
    Bench, Clause, ConstItem, File, Function, Import, Item, ItemKind, Kernel, Param, RECEIVER,
    Record, RecordField, RecordFunction, StaticParam, Test, Type, TypeKind,
};
pub use stmt::{Block, For, Let, Pattern, PatternKind, Role, Stmt, StmtKind};

use crate::source::Spanned;
use std::sync::Arc;

/// A name and where it is written.
pub type Name = Spanned<Arc<str>>;

/// How deep expressions, blocks, patterns and types may nest, all together.
pub const MAX_DEPTH: u32 = 200;
