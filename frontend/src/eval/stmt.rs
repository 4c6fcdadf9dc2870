//! Statements.

use super::assign::New;
use super::values::{Value, elem_name, elem_of};
use super::{Evaluator, Result, Stop};
use crate::ast::{
    Block, Expr, ExprKind, Let, Name, Pattern, PatternKind, Record, Stmt, StmtKind, Type, TypeKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::Val;
use cutec_layout::Tree;

/// How a list of statements ends.
pub(super) enum Flow<'c, 'a> {
    /// At its end, with its value.
    Next(Value<'c, 'a>),
    /// In `return`.
    Return(Value<'c, 'a>),
    /// In `break`.
    Break,
    /// In `continue`.
    Continue,
    /// At its end or, as flags say at run time, in one of these: a set of [`RETURNS`], [`BREAKS`] and
    /// [`CONTINUES`].
    Maybe(u8),
}

/// See [`Flow::Maybe`].
pub(super) const RETURNS: u8 = 1;
/// See [`Flow::Maybe`].
pub(super) const BREAKS: u8 = 2;
/// See [`Flow::Maybe`].
pub(super) const CONTINUES: u8 = 4;

/// What stands behind a statement in its list.
pub(super) type Rest<'a> = (&'a [Stmt], Option<&'a Expr>);

/// Where a list of statements stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Nothing of the function follows it.
    pub tail: bool,
    /// Its value is used.
    pub wanted: bool,
}

impl Place {
    pub const INNER: Place = Place {
        tail: false,
        wanted: false,
    };
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The value of a block in an expression.
    pub(super) fn block_value(&mut self, block: &'a Block) -> Result<Value<'c, 'a>> {
        match self.block(
            block,
            Place {
                tail: false,
                wanted: true,
            },
        )? {
            Flow::Next(value) => Ok(value),
            _ => self.unsupported(
                block.span,
                "leaving a block that has a value",
                "use a statement",
            ),
        }
    }

    /// Runs a block in a scope of its own.
    pub(super) fn block(&mut self, block: &'a Block, place: Place) -> Result<Flow<'c, 'a>> {
        self.nested(block.span, |this| {
            this.scoped(|this| this.list((&block.stmts, block.value.as_ref()), place))
        })
    }

    /// Runs statements, and the value behind them. After an error it goes on, to find others.
    pub(super) fn list(&mut self, (stmts, value): Rest<'a>, place: Place) -> Result<Flow<'c, 'a>> {
        let mut failed = false;
        for (at, stmt) in stmts.iter().enumerate() {
            let rest = (&stmts[at + 1..], value);
            let flow = match self.stmt(stmt, rest, place) {
                Err(Stop::Reported) => {
                    self.poison(stmt);
                    failed = true;
                    continue;
                }
                other => other?,
            };
            match flow {
                (Flow::Next(_), false) => {}
                (flow, true) => {
                    return if failed {
                        Err(Stop::Reported)
                    } else {
                        Ok(flow)
                    };
                }
                (Flow::Maybe(exits), false) if !rest.0.is_empty() || rest.1.is_some() => {
                    let inner = if place.tail { place } else { Place::INNER };
                    let end = rest.1.map_or(stmt.span, |value| value.span);
                    let flow =
                        self.guarded(exits, inner.tail, end, |this| this.list(rest, inner))?;
                    return if failed {
                        Err(Stop::Reported)
                    } else {
                        Ok(flow)
                    };
                }
                (flow, false) => {
                    return if failed {
                        Err(Stop::Reported)
                    } else {
                        Ok(flow)
                    };
                }
            }
        }
        let flow = match value {
            Some(expr) => self.last(expr, place),
            None => Ok(Flow::Next(Value::Unit)),
        };
        if failed {
            flow.and(Err(Stop::Reported))
        } else {
            flow
        }
    }

    /// The expression at the end of a block.
    fn last(&mut self, expr: &'a Expr, place: Place) -> Result<Flow<'c, 'a>> {
        match &*expr.kind {
            ExprKind::If(parts) => {
                self.step(expr.span)?;
                Ok(self.if_flow(parts, (&[], None), place, expr.span)?.0)
            }
            ExprKind::Block(block) => self.block(block, place),
            _ => {
                let is_asked = place.wanted && !(place.tail && self.frame.has_no_value);
                self.frame.alone = (!is_asked).then_some(expr.span);
                Ok(Flow::Next(self.expr(expr)?))
            }
        }
    }

    /// Names bound by a statement with an error are erroneous themselves.
    fn poison(&mut self, stmt: &'a Stmt) {
        if let StmtKind::Let(parts) = &stmt.kind {
            for name in parts.pattern.names() {
                self.bind(name.node.clone(), Value::Error, true, name.span);
            }
        }
    }

    /// Runs a statement; true if it ran `rest` too.
    fn stmt(
        &mut self,
        stmt: &'a Stmt,
        rest: Rest<'a>,
        place: Place,
    ) -> Result<(Flow<'c, 'a>, bool)> {
        self.step(stmt.span)?;
        let next = Flow::Next(Value::Unit);
        let flow = match &stmt.kind {
            StmtKind::Let(parts) => {
                self.let_statement(parts)?;
                next
            }
            StmtKind::Assign { target, op, value } => {
                self.assign(target, *op, New::Of(value), stmt.span)?;
                next
            }
            StmtKind::Expr(expr) => match &*expr.kind {
                ExprKind::If(parts) => return self.if_flow(parts, rest, place, expr.span),
                ExprKind::Block(block) => self.block(block, Place::INNER)?,
                _ => {
                    self.frame.alone = Some(expr.span);
                    let value = self.expr(expr)?;
                    self.check_called(&value, expr)?;
                    next
                }
            },
            StmtKind::For(parts) => self.for_statement(parts, stmt.span)?,
            StmtKind::While { condition, body } => {
                self.while_statement(Some(condition), body, stmt.span)?
            }
            StmtKind::Loop(body) => self.while_statement(None, body, stmt.span)?,
            StmtKind::Roles(roles) => self.roles(roles, stmt.span)?,
            StmtKind::Break | StmtKind::Continue if self.frame.loops.is_empty() => {
                return self.error(
                    codes::ILLEGAL_OPERATION,
                    stmt.span,
                    "this stands in no loop",
                    "outside of a loop",
                );
            }
            StmtKind::Break => Flow::Break,
            StmtKind::Continue => Flow::Continue,
            StmtKind::Return(None) => Flow::Return(Value::Unit),
            StmtKind::Return(Some(value)) if self.calls.is_empty() => {
                let message = "a kernel returns nothing";
                let label = "a value is returned here";
                let diagnostic = Diagnostic::error(codes::WRONG_TYPE, value.span, message, label);
                let help = "write it to a tensor that is `mut`: `y[i] = …;`, then `return;`";
                return Err(self.report(diagnostic.with_help(help)));
            }
            StmtKind::Return(Some(value)) => Flow::Return(self.loaded(value)?),
            StmtKind::Empty => next,
            StmtKind::Error => return Err(Stop::Reported),
        };
        Ok((flow, false))
    }

    /// Reports a function that stands alone in a statement and is not called: it would do nothing.
    fn check_called(&mut self, value: &Value<'c, 'a>, expr: &Expr) -> Result<()> {
        if !matches!(value, Value::Builtin(_) | Value::Function(_)) {
            return Ok(());
        }
        let text = self.text(expr.span);
        let message = format!("{} is named here, and not called", value.describe());
        let diagnostic = Diagnostic::error(codes::WRONG_TYPE, expr.span, message, "does nothing")
            .with_help(format!("call it: `{text}()`"));
        Err(self.report(diagnostic))
    }

    fn let_statement(&mut self, parts: &'a Let) -> Result<()> {
        let value = self.loaded(&parts.value)?;
        let span = parts.value.span;
        let value = match &parts.ty {
            Some(ty) => self.typed(&value, ty, span)?,
            None => value,
        };
        if !parts.mutable || self.ir.is_none() {
            return self.destructure(&parts.pattern, &value, parts.mutable);
        }
        let written = match &value {
            Value::Int(_) => self.written_type(parts)?,
            _ => None,
        };
        self.each_part(&parts.pattern, &value, &mut |this, name, part| {
            let what = ("a `var` of a kernel", name);
            let held = this.held_in_variable(part, written, what, span)?;
            this.bind(name.node.clone(), held, true, name.span);
            Ok(())
        })
    }

    /// A value where a type says what it is: literals take it, other numbers must have it.
    pub(super) fn typed(
        &mut self,
        value: &Value<'c, 'a>,
        ty: &'a Type,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        if let Some(declaration) = self.declared_record(ty) {
            return match value {
                Value::Record(record) if std::ptr::eq(record.declaration, declaration) => {
                    Ok(value.clone())
                }
                other => {
                    let what = format!("a record `{}`", declaration.name.node);
                    self.expected(&what, other, span)
                }
            };
        }
        if let Some(kinds) = self.named_tuple(ty) {
            return self.typed_parts(value, &kinds, span);
        }
        let Some(elem) = self.declared(ty)? else {
            return Ok(value.clone());
        };
        self.typed_number(value, elem, span)
    }

    /// The types that a name stands for which is a tuple of types.
    fn named_tuple(&self, ty: &'a Type) -> Option<Vec<Value<'c, 'a>>> {
        let TypeKind::Named { name, args } = &ty.kind else {
            return None;
        };
        match self.lookup(&name.node).map(|binding| &binding.value) {
            Some(Value::Tuple(kinds)) if args.is_empty() => Some(kinds.clone()),
            _ => None,
        }
    }

    /// A tuple whose parts are of these types.
    fn typed_parts(
        &mut self,
        value: &Value<'c, 'a>,
        kinds: &[Value<'c, 'a>],
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let parts = match value {
            Value::Tuple(parts) if parts.len() == kinds.len() => parts,
            other => {
                let what = format!("a tuple of {}", counted(kinds.len() as u64, "part"));
                return self.expected(&what, other, span);
            }
        };
        let parts = parts.iter().zip(kinds).map(|(part, kind)| match kind {
            Value::Type(elem) => self.typed_number(part, *elem, span),
            Value::Tuple(kinds) => self.typed_parts(part, kinds, span),
            other => self.expected("an element type", other, span),
        });
        Ok(Value::Tuple(parts.collect::<Result<_>>()?))
    }

    fn typed_number(
        &mut self,
        value: &Value<'c, 'a>,
        elem: Elem,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match value {
            Value::Scalar(scalar) if scalar.elem == elem => Ok(value.clone()),
            Value::Typed(_, found) if *found == elem => Ok(value.clone()),
            Value::Scalar(_) | Value::Typed(..) => {
                self.number(value, elem, span).map(|_| Value::Unit)
            }
            Value::Bool(_) if elem == Elem::I1 => Ok(value.clone()),
            Value::Int(_) | Value::Large(_) if elem.is_float() => self.convert(elem, value, span),
            Value::Int(_) => self.literal(value, elem, span).map(|_| value.clone()),
            Value::Large(number) => {
                self.literal(value, elem, span)?;
                Ok(match elem {
                    Elem::U64 => value.clone(),
                    _ => Value::Int(*number as i64),
                })
            }
            Value::Float(_) if elem.is_float() => self.convert(elem, value, span),
            other => self.expected(elem_name(elem), other, span),
        }
    }

    /// The type that a `var` says its integer has: its own, or that of the conversion which it begins with. A
    /// number that is known while compiling has none.
    fn written_type(&mut self, parts: &'a Let) -> Result<Option<Elem>> {
        if let Some(ty) = &parts.ty {
            return self.declared(ty);
        }
        let name = match &*parts.value.kind {
            ExprKind::Call { callee, .. } => callee.as_name(),
            _ => None,
        };
        Ok(name.and_then(|name| self.named_element(name)))
    }

    /// The element that a type names; none where it names a kind of values.
    pub(super) fn declared(&mut self, ty: &'a Type) -> Result<Option<Elem>> {
        let TypeKind::Named { name, args } = &ty.kind else {
            return Ok(None);
        };
        if self.declared_record(ty).is_some() {
            return Ok(None);
        }
        let elem = self.named_element(&name.node).filter(|_| args.is_empty());
        match (elem, &*name.node) {
            (None, "tensor" | "int" | "dtype" | "layout" | "float" | "str" | "atom") => Ok(None),
            (None, other) => self.unknown_name(other, name.span),
            (elem, _) => Ok(elem),
        }
    }

    /// The record that a type names.
    fn declared_record(&self, ty: &Type) -> Option<&'a Record> {
        let TypeKind::Named { name, .. } = &ty.kind else {
            return None;
        };
        self.items.get(&name.node, name.span.file)?.record()
    }

    /// The element that a name stands for.
    fn named_element(&self, name: &str) -> Option<Elem> {
        match self.lookup(name).map(|binding| &binding.value) {
            Some(Value::Type(elem)) => Some(*elem),
            _ => elem_of(name),
        }
    }

    /// Binds the names of a pattern.
    pub(super) fn destructure(
        &mut self,
        pattern: &'a Pattern,
        value: &Value<'c, 'a>,
        mutable: bool,
    ) -> Result<()> {
        self.each_part(pattern, value, &mut |this, name, part| {
            this.bind(name.node.clone(), part.clone(), mutable, name.span);
            Ok(())
        })
    }

    /// Acts on each name of a pattern and the part of the value that it stands for.
    fn each_part(
        &mut self,
        pattern: &'a Pattern,
        value: &Value<'c, 'a>,
        act: &mut dyn FnMut(&mut Self, &'a Name, &Value<'c, 'a>) -> Result<()>,
    ) -> Result<()> {
        match &pattern.kind {
            PatternKind::Name(name) => act(self, name, value)?,
            PatternKind::Wildcard => {}
            PatternKind::Error => return Err(Stop::Reported),
            PatternKind::Tuple(patterns) => {
                let parts = self.parts(value, patterns.len(), (pattern.span, pattern.span))?;
                for (pattern, part) in patterns.iter().zip(&parts) {
                    self.each_part(pattern, part, act)?;
                }
            }
        }
        Ok(())
    }

    /// The parts of a tuple, for as many names or places. The spans are theirs and that of the value.
    pub(super) fn parts(
        &mut self,
        value: &Value<'c, 'a>,
        count: usize,
        (span, given): (Span, Span),
    ) -> Result<Vec<Value<'c, 'a>>> {
        let parts = match value {
            Value::Tuple(parts) => parts.clone(),
            Value::Cute(cute) if let Val::Tuple(_, Tree::Node(modes)) = &cute.val => {
                let of = std::slice::from_ref(value);
                let mut parts = Vec::new();
                for at in 0..modes.len() {
                    let mode = Attrs::mode(vec![at as i64]);
                    parts.push(self.op(CuteOp::Get, "a pattern", of, &mode, span)?);
                }
                parts
            }
            other => return self.expected("a tuple", other, given),
        };
        if parts.len() != count {
            let message = format!(
                "the pattern takes {}, the value has {}",
                counted(count, "part"),
                parts.len()
            );
            return self.error(codes::SHAPE_MISMATCH, span, message, "here");
        }
        Ok(parts)
    }
}
