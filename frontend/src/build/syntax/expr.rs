//! Expressions.

use super::Block;
use crate::ast::{self, BinaryOp, ElseBranch, ExprKind, MAX_DEPTH, UnaryOp};
use crate::build::position::Texts;
use crate::build::tree;
use std::ops;

/// An expression. Integers, floating numbers and bools become literals, texts (`&str`) names.
#[derive(Debug, Clone)]
pub struct Expr {
    pub(in crate::build) node: ast::Expr,
    pub(in crate::build) texts: Texts,
}

/// An argument, perhaps by its name: whatever becomes an [`Expr`], and `("axis", expr)`.
#[derive(Debug, Clone)]
pub struct Arg {
    name: Option<String>,
    value: Expr,
}

impl Arg {
    /// `name = value`
    pub fn named(name: &str, value: impl Into<Expr>) -> Self {
        let (name, value) = (Some(name.to_owned()), value.into());
        Self { name, value }
    }

    /// The nodes of arguments; the texts of their places go to `texts`.
    pub(super) fn nodes(
        args: impl IntoIterator<Item = impl Into<Arg>>,
        texts: &mut Texts,
    ) -> Vec<ast::Arg> {
        let node = |arg: Arg| {
            texts.merge(&arg.value.texts);
            match arg.name {
                Some(name) => tree::named(&name, arg.value.node),
                None => tree::arg(arg.value.node),
            }
        };
        args.into_iter().map(Into::into).map(node).collect()
    }
}

impl<E: Into<Expr>> From<E> for Arg {
    fn from(value: E) -> Self {
        let value = value.into();
        Self { name: None, value }
    }
}

impl From<(&str, Expr)> for Arg {
    fn from((name, value): (&str, Expr)) -> Self {
        Self::named(name, value)
    }
}

impl Expr {
    /// A node; one that is nested too deep is an error, of which [`super::File::finish`] speaks.
    pub(in crate::build) fn of(kind: ExprKind, texts: Texts) -> Self {
        let node = match tree::expr(kind) {
            node if node.depth > MAX_DEPTH => tree::expr(ExprKind::Error),
            node => node,
        };
        Self { node, texts }
    }

    fn leaf(kind: ExprKind) -> Self {
        Self::of(kind, Texts::default())
    }

    /// A variable, a parameter, an extent, a function, a built-in, an element type.
    pub fn name(name: &str) -> Self {
        Self::leaf(ExprKind::Name(name.into()))
    }

    /// An integer.
    pub fn int(value: i64) -> Self {
        let (node, texts) = (tree::int(value), Texts::default());
        Self { node, texts }
    }

    /// An integer of an element type: `8u64`.
    pub fn int_of(value: u64, elem: &str) -> Self {
        let suffix = Some(elem.into());
        Self::leaf(ExprKind::Int { value, suffix })
    }

    /// A floating number; what is not finite is a quotient.
    pub fn float(value: f64) -> Self {
        let (node, texts) = (tree::float(value), Texts::default());
        Self { node, texts }
    }

    /// A floating number of an element type, `1.0f32`; it has no sign, and is finite.
    pub fn float_of(value: f64, elem: &str) -> Self {
        let suffix = Some(elem.into());
        Self::leaf(match value.is_finite() && value.is_sign_positive() {
            true => ExprKind::Float { value, suffix },
            false => ExprKind::Error,
        })
    }

    /// `true`, `false`
    pub fn bool(value: bool) -> Self {
        Self::leaf(ExprKind::Bool(value))
    }

    /// `"text"`
    pub fn text(text: &str) -> Self {
        Self::leaf(ExprKind::Str(text.into()))
    }

    /// `_`
    pub fn wildcard() -> Self {
        Self::leaf(ExprKind::Wildcard)
    }

    /// `(a, b)`, also of no parts or one.
    pub fn tuple(parts: impl IntoIterator<Item = impl Into<Expr>>) -> Self {
        let (parts, texts) = nodes(parts);
        Self::of(ExprKind::Tuple(parts), texts)
    }

    /// `[a, b]`
    pub fn array(parts: impl IntoIterator<Item = impl Into<Expr>>) -> Self {
        let (parts, texts) = nodes(parts);
        Self::of(ExprKind::Array(parts), texts)
    }

    /// `shape : stride`
    pub fn layout(shape: impl Into<Expr>, stride: impl Into<Expr>) -> Self {
        let [shape, stride] = [shape.into(), stride.into()];
        let texts = both(&shape, &stride);
        let (shape, stride) = (shape.node, stride.node);
        Self::of(ExprKind::Layout { shape, stride }, texts)
    }

    /// `a o b o c`, of two parts or more.
    pub fn compose(parts: impl IntoIterator<Item = impl Into<Expr>>) -> Self {
        let (parts, texts) = nodes(parts);
        Self::of(ExprKind::Compose(parts), texts)
    }

    /// `start..end`
    pub fn range(start: impl Into<Expr>, end: impl Into<Expr>) -> Self {
        let [start, end] = [start.into(), end.into()];
        let texts = both(&start, &end);
        let (start, end, step) = (start.node, end.node, None);
        Self::of(ExprKind::Range { start, end, step }, texts)
    }

    /// `start..end step by`
    pub fn range_by(start: impl Into<Expr>, end: impl Into<Expr>, step: impl Into<Expr>) -> Self {
        let [start, end, step] = [start.into(), end.into(), step.into()];
        let mut texts = both(&start, &end);
        texts.merge(&step.texts);
        let (start, end, step) = (start.node, end.node, Some(step.node));
        Self::of(ExprKind::Range { start, end, step }, texts)
    }

    /// `scale@mode`: a stride along one coordinate.
    #[must_use]
    pub fn basis(self, mode: u32) -> Self {
        let (scale, mode) = (self.node, tree::spanned(mode));
        Self::of(ExprKind::ScaledBasis { scale, mode }, self.texts)
    }

    /// An operator with one operand.
    pub fn unary(op: UnaryOp, operand: impl Into<Expr>) -> Self {
        let operand = operand.into();
        let (op, node) = (tree::spanned(op), operand.node);
        let kind = ExprKind::Unary { op, operand: node };
        Self::of(kind, operand.texts)
    }

    /// An operator with two operands; `+ - * / % & | ^ << >>` of Rust make the same.
    pub fn binary(op: BinaryOp, lhs: impl Into<Expr>, rhs: impl Into<Expr>) -> Self {
        let [lhs, rhs] = [lhs.into(), rhs.into()];
        let texts = both(&lhs, &rhs);
        let (op, lhs, rhs) = (tree::spanned(op), lhs.node, rhs.node);
        Self::of(ExprKind::Binary { op, lhs, rhs }, texts)
    }

    /// `self.name`
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let (base, name) = (self.node, tree::spelled(name));
        Self::of(ExprKind::Field { base, name }, self.texts)
    }

    /// `self[i, j]`, with one index or more.
    #[must_use]
    pub fn index(self, indices: impl IntoIterator<Item = impl Into<Expr>>) -> Self {
        let (indices, mut texts) = nodes(indices);
        texts.merge(&self.texts);
        let base = self.node;
        Self::of(ExprKind::Index { base, indices }, texts)
    }

    /// `self<args>`, of a name or a field.
    #[must_use]
    pub fn generic(self, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        let mut texts = self.texts;
        let (base, args) = (self.node, Arg::nodes(args, &mut texts));
        Self::of(ExprKind::Generic { base, args }, texts)
    }

    /// `self(args)`
    #[must_use]
    pub fn call(self, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        let mut texts = self.texts;
        let (callee, args) = (self.node, Arg::nodes(args, &mut texts));
        Self::of(ExprKind::Call { callee, args }, texts)
    }

    /// `name(self, args)`
    #[must_use]
    pub fn call_named(self, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        let args = args.into_iter().map(Into::into);
        Self::name(name).call(std::iter::once(Arg::from(self)).chain(args))
    }

    /// `self.name(args)`
    #[must_use]
    pub fn method(self, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Self {
        self.field(name).call(args)
    }

    /// `Record { name = value, … }`
    pub fn record<'n>(
        name: &str,
        fields: impl IntoIterator<Item = (&'n str, impl Into<Expr>)>,
    ) -> Self {
        let mut texts = Texts::default();
        let field = |(name, value): (&str, _)| {
            let value: Expr = Into::into(value);
            texts.merge(&value.texts);
            let (name, value) = (tree::spelled(name), value.node);
            ast::FieldValue { name, value }
        };
        let fields = fields.into_iter().map(field).collect();
        let name = tree::spelled(name);
        Self::of(ExprKind::Record { name, fields }, texts)
    }

    /// `if condition { … } else { … }`; an `otherwise` whose value is an `if` alone reads the same as `else if`.
    pub fn branch(
        condition: impl Into<Expr>,
        then: Block,
        otherwise: impl Into<Option<Block>>,
    ) -> Self {
        let otherwise = otherwise.into().map(Block::into_node);
        let (otherwise, texts) = match otherwise {
            Some((block, texts)) => (Some(ElseBranch::Block(block)), texts),
            None => (None, Texts::default()),
        };
        Self::if_node(condition.into(), then, otherwise, texts)
    }

    /// `if condition { … } else if …`, where the second one is an `if` too.
    pub fn branch_else_if(condition: impl Into<Expr>, then: Block, otherwise: Expr) -> Self {
        let texts = otherwise.texts;
        let otherwise = Some(ElseBranch::If(otherwise.node));
        Self::if_node(condition.into(), then, otherwise, texts)
    }

    fn if_node(
        condition: Expr,
        then: Block,
        otherwise: Option<ElseBranch>,
        mut texts: Texts,
    ) -> Self {
        let (then, inside) = then.into_node();
        texts.merge(&condition.texts);
        texts.merge(&inside);
        let parts = ast::IfExpr {
            is_static: false,
            condition: condition.node,
            then,
            otherwise,
        };
        Self::of(ExprKind::If(parts), texts)
    }

    /// `static if`, of an `if`; with it, the `if` behind its `else`.
    #[must_use]
    pub fn static_branch(mut self) -> Self {
        let mut node = &mut self.node;
        while let ExprKind::If(parts) = &mut *node.kind {
            parts.is_static = true;
            match &mut parts.otherwise {
                Some(ElseBranch::If(next)) => node = next,
                Some(ElseBranch::Block(_)) | None => break,
            }
        }
        self
    }

    /// `{ …; value }`
    pub fn block(block: Block) -> Self {
        let (block, texts) = block.into_node();
        Self::of(ExprKind::Block(block), texts)
    }

    /// `sum(l in 0..k) { … }`: index notation of tests, by `sum`, `prod`, `max` or `min`, over names with or without a range.
    pub fn reduction<'n>(
        op: &str,
        over: impl IntoIterator<Item = (&'n str, Option<Expr>)>,
        body: Block,
    ) -> Self {
        let (body, mut texts) = body.into_node();
        let var = |(name, range): (&str, Option<Expr>)| ast::IndexVar {
            name: tree::spelled(name),
            range: range.map(|range| {
                texts.merge(&range.texts);
                range.node
            }),
        };
        let vars = over.into_iter().map(var).collect();
        let op = tree::spelled(op);
        Self::of(ExprKind::Reduce { op, vars, body }, texts)
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => { impl Expr { $(
        $(#[$doc])*
        #[must_use]
        pub fn $name(self, other: impl Into<Expr>) -> Self {
            Self::binary(BinaryOp::$op, self, other)
        }
    )* } };
}
comparisons! {
    /// `self == other`
    equal: Eq;
    /// `self != other`
    not_equal: Ne;
    /// `self < other`
    less: Lt;
    /// `self <= other`
    at_most: Le;
    /// `self > other`
    greater: Gt;
    /// `self >= other`
    at_least: Ge;
    /// `self && other`
    and: And;
    /// `self || other`
    or: Or;
}

macro_rules! operators {
    ($($operator:ident::$method:ident: $op:ident;)*) => { $(
        impl<E: Into<Expr>> ops::$operator<E> for Expr {
            type Output = Expr;

            fn $method(self, other: E) -> Expr {
                Expr::binary(BinaryOp::$op, self, other)
            }
        }
    )* };
}
operators! {
    Add::add: Add;
    Sub::sub: Sub;
    Mul::mul: Mul;
    Div::div: Div;
    Rem::rem: Rem;
    BitAnd::bitand: BitAnd;
    BitOr::bitor: BitOr;
    BitXor::bitxor: BitXor;
    Shl::shl: Shl;
    Shr::shr: Shr;
}

impl ops::Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        Expr::unary(UnaryOp::Neg, self)
    }
}

impl ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::unary(UnaryOp::Not, self)
    }
}

macro_rules! literals {
    ($($from:ty => $make:ident;)*) => { $(
        impl From<$from> for Expr {
            fn from(value: $from) -> Self {
                Self::$make(value.into())
            }
        }
    )* };
}
literals! {
    bool => bool;
    i32 => int;
    u32 => int;
    i64 => int;
    f32 => float;
    f64 => float;
}

impl From<&str> for Expr {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Self {
        expr.clone()
    }
}

fn nodes(parts: impl IntoIterator<Item = impl Into<Expr>>) -> (Vec<ast::Expr>, Texts) {
    let mut texts = Texts::default();
    let node = |part: Expr| {
        texts.merge(&part.texts);
        part.node
    };
    let nodes = parts.into_iter().map(Into::into).map(node).collect();
    (nodes, texts)
}

fn both(one: &Expr, other: &Expr) -> Texts {
    let mut texts = one.texts.clone();
    texts.merge(&other.texts);
    texts
}
