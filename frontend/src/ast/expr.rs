//! Expressions.

use super::{Block, Name};
use crate::source::{Span, Spanned};
use std::sync::Arc;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: Box<ExprKind>,
    /// From its first to its last token; for one in parentheses these are included.
    pub span: Span,
    /// Levels of nesting, this one included; at most [`super::MAX_DEPTH`].
    pub depth: u32,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `64`, `0xff`, `8u32`.
    Int {
        /// The value; a minus is a [`UnaryOp::Neg`] around it.
        value: u64,
        /// The element type behind it.
        suffix: Option<Arc<str>>,
    },
    /// `0.0`, `1e-3`, `1.0f32`.
    Float {
        /// The value.
        value: f64,
        /// The element type behind it.
        suffix: Option<Arc<str>>,
    },
    /// `true`, `false`.
    Bool(bool),
    /// `"text"`, escapes resolved.
    Str(Arc<str>),
    /// A variable, parameter, extent, function, built-in or element type.
    Name(Arc<str>),
    /// `_`: a whole mode in an index, "not this one" in a tuple.
    Wildcard,
    /// `()`, `(a,)`, `(a, b)`. `(a)` is `a`.
    Tuple(Vec<Expr>),
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `shape : stride`.
    Layout {
        /// Left of the colon.
        shape: Expr,
        /// Right of the colon.
        stride: Expr,
    },
    /// `a o b`, `swizzle o offset o layout`: two or more parts, left to right.
    Compose(Vec<Expr>),
    /// `a..b`, `a..b step s`.
    Range {
        /// First value.
        start: Expr,
        /// Value past the last.
        end: Expr,
        /// Distance; 1 where it is left out.
        step: Option<Expr>,
    },
    /// `1@0`: a stride along one coordinate.
    ScaledBasis {
        /// Left of the `@`; itself a `ScaledBasis` in `1@0@1`.
        scale: Expr,
        /// Right of the `@`.
        mode: Spanned<u32>,
    },
    /// `-x`, `!x`.
    Unary {
        /// The operator.
        op: Spanned<UnaryOp>,
        /// What it applies to.
        operand: Expr,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        op: Spanned<BinaryOp>,
        /// Left operand.
        lhs: Expr,
        /// Right operand.
        rhs: Expr,
    },
    /// `base.name`.
    Field {
        /// Left of the point.
        base: Expr,
        /// Right of the point.
        name: Name,
    },
    /// `base[i, j]`, at least one index.
    Index {
        /// What is indexed.
        base: Expr,
        /// The indices.
        indices: Vec<Expr>,
    },
    /// `base<args>`. `base` is a name or a field.
    Generic {
        /// What gets the arguments.
        base: Expr,
        /// Compile-time arguments.
        args: Vec<Arg>,
    },
    /// `callee(args)`.
    Call {
        /// What is called.
        callee: Expr,
        /// The arguments, named ones last.
        args: Vec<Arg>,
    },
    /// `Ring { index = 0, full }`.
    Record {
        /// The name of the record.
        name: Name,
        /// Its fields, each once.
        fields: Vec<FieldValue>,
    },
    /// `if c { a } else { b }`, also as a statement.
    If(IfExpr),
    /// `{ …; value }`.
    Block(Block),
    /// `sum(l) { a[i, l] * b[j, l] }`: index notation, in tests.
    Reduce {
        /// `sum`, `prod`, `max`, `min`, … ; unchecked.
        op: Name,
        /// The names it runs over.
        vars: Vec<IndexVar>,
        /// What is combined.
        body: Block,
    },
    /// An error was reported here.
    Error,
}

/// `if`, with its branches.
#[derive(Clone, Debug, PartialEq)]
pub struct IfExpr {
    /// `static if`, or an `else if` of one: the condition must be known at compile time, and only
    /// the branch taken is checked.
    pub is_static: bool,
    /// The condition.
    pub condition: Expr,
    /// Where it holds.
    pub then: Block,
    /// Where it does not.
    pub otherwise: Option<ElseBranch>,
}

/// What follows `else`.
#[derive(Clone, Debug, PartialEq)]
pub enum ElseBranch {
    /// `else { … }`.
    Block(Block),
    /// `else if …`: its kind is [`ExprKind::If`] (or `Error`).
    If(Expr),
}

/// A name bound by a reduction, with its range where that does not follow from the indexing.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexVar {
    /// The name.
    pub name: Name,
    /// `l in 0..k`.
    pub range: Option<Expr>,
}

/// An argument of a call, of a clause, or between `<` and `>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `name =`, if it is there.
    pub name: Option<Name>,
    /// The value.
    pub value: Expr,
    /// Name and value.
    pub span: Span,
}

/// A field of a record that is built, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValue {
    /// The name of the field.
    pub name: Name,
    /// The value; of `full` alone the name itself.
    pub value: Expr,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

/// Operators with two operands, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitXor,
    BitAnd,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl BinaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Or => "||",
            And => "&&",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            BitOr => "|",
            BitXor => "^",
            BitAnd => "&",
            Shl => "<<",
            Shr => ">>",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Rem => "%",
        }
    }

    /// How tightly it binds: `||` 1, `*` 9.
    pub fn precedence(self) -> u8 {
        use BinaryOp::*;
        match self {
            Or => 1,
            And => 2,
            BitOr => 3,
            BitXor => 4,
            BitAnd => 5,
            Eq | Ne | Lt | Le | Gt | Ge => 6,
            Shl | Shr => 7,
            Add | Sub => 8,
            Mul | Div | Rem => 9,
        }
    }

    /// Whether the result is a bool that says how the operands relate.
    pub fn is_comparison(self) -> bool {
        self.precedence() == 6
    }

    /// Whether it combines bits, or bools of both sides.
    pub fn is_bitwise(self) -> bool {
        (3..=5).contains(&self.precedence())
    }
}

impl UnaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
        }
    }
}

/// `receiver.method<generic_args>(args)`.
#[derive(Clone, Copy, Debug)]
pub struct MethodCall<'a> {
    /// Left of the point.
    pub receiver: &'a Expr,
    /// The name of the method.
    pub method: &'a Name,
    /// Between `<` and `>`; empty without.
    pub generic_args: &'a [Arg],
    /// Between the parentheses.
    pub args: &'a [Arg],
}

impl Expr {
    /// Puts a node together and counts its depth.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        let depth = 1 + kind.children_depth();
        Expr {
            kind: Box::new(kind),
            span,
            depth,
        }
    }

    /// The expression of a part of a tuple, where the parts stand one by one, or of the whole.
    pub fn part(&self, at: usize) -> &Expr {
        match &*self.kind {
            ExprKind::Tuple(parts) => parts.get(at).unwrap_or(self),
            _ => self,
        }
    }

    /// The node that stands where an error was reported.
    pub fn error(span: Span) -> Self {
        Expr::new(ExprKind::Error, span)
    }

    /// The name, if it is nothing but a name.
    pub fn as_name(&self) -> Option<&Arc<str>> {
        match &*self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Whether it is `_`.
    pub fn is_wildcard(&self) -> bool {
        matches!(*self.kind, ExprKind::Wildcard)
    }

    /// The parts of a call whose callee is a field.
    pub fn as_method_call(&self) -> Option<MethodCall<'_>> {
        let ExprKind::Call { callee, args } = &*self.kind else {
            return None;
        };
        let (field, generic_args) = match &*callee.kind {
            ExprKind::Generic { base, args } => (base, args.as_slice()),
            _ => (callee, [].as_slice()),
        };
        match &*field.kind {
            ExprKind::Field { base, name } => Some(MethodCall {
                receiver: base,
                method: name,
                generic_args,
                args,
            }),
            _ => None,
        }
    }
}

impl ExprKind {
    /// Calls `visit` for every expression directly within this one, in the order of the text.
    /// Blocks are handed to `visit_block`.
    pub fn for_each_child<'a>(
        &'a self,
        visit: &mut dyn FnMut(&'a Expr),
        visit_block: &mut dyn FnMut(&'a Block),
    ) {
        match self {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Name(_)
            | ExprKind::Wildcard
            | ExprKind::Error => {}
            ExprKind::Tuple(parts) | ExprKind::Array(parts) | ExprKind::Compose(parts) => {
                parts.iter().for_each(visit);
            }
            ExprKind::Layout { shape, stride } => {
                visit(shape);
                visit(stride);
            }
            ExprKind::Range { start, end, step } => {
                visit(start);
                visit(end);
                step.iter().for_each(visit);
            }
            ExprKind::ScaledBasis { scale, .. } => visit(scale),
            ExprKind::Unary { operand, .. } => visit(operand),
            ExprKind::Binary { lhs, rhs, .. } => {
                visit(lhs);
                visit(rhs);
            }
            ExprKind::Field { base, .. } => visit(base),
            ExprKind::Index { base, indices } => {
                visit(base);
                indices.iter().for_each(visit);
            }
            ExprKind::Generic { base, args } | ExprKind::Call { callee: base, args } => {
                visit(base);
                args.iter().for_each(|arg| visit(&arg.value));
            }
            ExprKind::If(parts) => {
                visit(&parts.condition);
                visit_block(&parts.then);
                match &parts.otherwise {
                    Some(ElseBranch::Block(block)) => visit_block(block),
                    Some(ElseBranch::If(expr)) => visit(expr),
                    None => {}
                }
            }
            ExprKind::Block(block) => visit_block(block),
            ExprKind::Record { fields, .. } => fields.iter().for_each(|field| visit(&field.value)),
            ExprKind::Reduce { vars, body, .. } => {
                vars.iter()
                    .filter_map(|var| var.range.as_ref())
                    .for_each(visit);
                visit_block(body);
            }
        }
    }

    fn children_depth(&self) -> u32 {
        let (mut exprs, mut blocks) = (0, 0);
        self.for_each_child(&mut |child| exprs = exprs.max(child.depth), &mut |block| {
            blocks = blocks.max(block.depth)
        });
        exprs.max(blocks)
    }
}
