//! Statements.

use super::values::{Value, elem_name, elem_of};
use super::{Evaluator, Result, Stop};
use crate::ast::{
    BinaryOp, Block, Expr, ExprKind, ItemKind, Let, Name, Pattern, PatternKind, Record, Stmt,
    StmtKind, Type, TypeKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::{Span, Spanned};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::hints::Hints;
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
            _ => Ok(Flow::Next(self.expr(expr)?)),
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
                self.assign(target, *op, value, stmt.span)?;
                next
            }
            StmtKind::Expr(expr) => match &*expr.kind {
                ExprKind::If(parts) => return self.if_flow(parts, rest, place, expr.span),
                ExprKind::Block(block) => self.block(block, Place::INNER)?,
                _ => {
                    self.expr(expr)?;
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
        let Some(elem) = self.declared(ty)? else {
            return Ok(value.clone());
        };
        match value {
            Value::Scalar(scalar) if scalar.elem == elem => Ok(value.clone()),
            Value::Typed(_, found) if *found == elem => Ok(value.clone()),
            Value::Scalar(_) | Value::Typed(..) => {
                self.number(value, elem, span).map(|_| Value::Unit)
            }
            Value::Bool(_) if elem == Elem::I1 => Ok(value.clone()),
            Value::Int(_) if elem.is_float() => self.convert(elem, value, span),
            Value::Int(_) => self.literal(value, elem, span).map(|_| value.clone()),
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
        match self.items.get(&*name.node)? {
            ItemKind::Record(record) => Some(record),
            _ => None,
        }
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
                let parts = match value {
                    Value::Tuple(parts) => parts.clone(),
                    Value::Cute(cute) => match &cute.val {
                        Val::Tuple(_, Tree::Node(modes)) => {
                            let of = std::slice::from_ref(value);
                            let mut parts = Vec::new();
                            for at in 0..modes.len() {
                                parts.push(self.op(
                                    CuteOp::Get,
                                    "a pattern",
                                    of,
                                    &Attrs::mode(vec![at as i64]),
                                    pattern.span,
                                )?);
                            }
                            parts
                        }
                        _ => return self.expected("a tuple", value, pattern.span),
                    },
                    other => return self.expected("a tuple", other, pattern.span),
                };
                if parts.len() != patterns.len() {
                    let message = format!(
                        "the pattern takes {} parts, the value has {}",
                        patterns.len(),
                        parts.len()
                    );
                    return self.error(codes::SHAPE_MISMATCH, pattern.span, message, "here");
                }
                for (pattern, part) in patterns.iter().zip(&parts) {
                    self.each_part(pattern, part, act)?;
                }
            }
        }
        Ok(())
    }

    fn assign(
        &mut self,
        target: &'a Expr,
        op: Option<Spanned<BinaryOp>>,
        value: &'a Expr,
        span: Span,
    ) -> Result<()> {
        if let Some(path) = self.path(target)? {
            return self.assign_variable(&path, target, op, value, span);
        }
        match &*target.kind {
            ExprKind::Name(name) => self.unknown_name(name, target.span),
            ExprKind::Field { base, .. } if self.named_record(base)?.is_some() => {
                self.expr(target).and(Err(Stop::Reported))
            }
            ExprKind::Index { base, indices } if indices.is_empty() && self.tiles.is_some() => {
                self.assign_only_element(base, op, (value, target.span), span)
            }
            ExprKind::Index { base, indices } => {
                self.refuse_element_write(target.span)?;
                let view = self.expr(base);
                let coord = self.coordinate(indices);
                let new = self.loaded(value);
                let (view, coord, mut new) = (view?, coord?, new?);
                if view.as_view().is_none() {
                    let help = "all indices stand in one pair of brackets: `x[i, j] = …`";
                    return match view {
                        Value::Scalar(_) => {
                            self.expected_with_help("a tensor to write to", &view, base.span, help)
                        }
                        _ => self.expected("a tensor to write to", &view, base.span),
                    };
                }
                self.check_index_count(&view, indices.len(), (base.span, target.span))?;
                self.check_writable(&view, base.span)?;
                if self.is_slice(&coord) {
                    let part = self.op(
                        CuteOp::Slice,
                        "[]",
                        &[view, coord],
                        &Attrs::default(),
                        target.span,
                    )?;
                    if let Some(op) = op {
                        new = self.binary(
                            op.node,
                            (part.clone(), target.span),
                            (new, value.span),
                            span,
                        )?;
                    }
                    return self.store(&part, &new, target.span, value.span, span);
                }
                if let Some(op) = op {
                    let operands = [view.clone(), coord.clone()];
                    let old = self.op(
                        CuteOp::MemrefLoad,
                        "[]",
                        &operands,
                        &Attrs::default(),
                        target.span,
                    )?;
                    new = self.binary(op.node, (old, target.span), (new, value.span), span)?;
                }
                let Some(elem) = view.as_view().map(|(_, view)| view.ptr.elem) else {
                    return Err(Stop::Reported);
                };
                let ir = self.number(&new, elem, value.span)?;
                let number = super::arith::number_or_vector(ir, elem, None);
                self.op(
                    CuteOp::MemrefStore,
                    "[] =",
                    &[number, view, coord],
                    &Attrs::default(),
                    span,
                )?;
                Ok(())
            }
            ExprKind::Call { callee, args }
                if let ExprKind::Field { base, name } = &*callee.kind
                    && &*name.node == "tile" =>
            {
                self.assign_tile((base, name, args), op, (value, target.span), span)
            }
            ExprKind::Call { callee, args }
                if let ExprKind::Field { base, name } = &*callee.kind
                    && &*name.node == "scatter" =>
            {
                self.assign_scattered((base, name, args), op, (value, target.span), span)
            }
            _ => {
                let view = self.expr(target)?;
                let mut new = self.loaded(value)?;
                if let Some(op) = op {
                    new = self.binary(
                        op.node,
                        (view.clone(), target.span),
                        (new, value.span),
                        span,
                    )?;
                }
                self.store(&view, &new, target.span, value.span, span)
            }
        }
    }

    /// A view of an argument that is not `mut` may not be written.
    pub(super) fn check_writable(&mut self, view: &Value<'c, 'a>, span: Span) -> Result<()> {
        let Some((cute, _)) = view.as_view() else {
            return Ok(());
        };
        let Some(argument) = cute.origin.readonly.clone() else {
            return Ok(());
        };
        let message = format!("`{argument}` is not `mut`: it may only be read");
        let diagnostic = Diagnostic::error(codes::NOT_MUTABLE, span, message, "written here");
        Err(self.report(diagnostic.with_help(format!("declare it `{argument}: mut tensor<…>`"))))
    }

    /// Writes all elements of a view.
    pub(super) fn store(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        view_span: Span,
        value_span: Span,
        span: Span,
    ) -> Result<()> {
        self.store_hinted(view, value, Hints::NONE, (view_span, value_span, span))
    }

    /// As [`Evaluator::store`], asking something of the caches. The places are those of the view, the
    /// value and the whole.
    pub(super) fn store_hinted(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        hints: Hints,
        spans: (Span, Span, Span),
    ) -> Result<()> {
        if let (Some((_, of)), Some(hint)) = (view.as_view(), hints.first())
            && of.ptr.space != Space::Gmem
        {
            let what = format!("a view in global memory for `{hint}`");
            return self.expected(&what, view, spans.0);
        }
        let vector = self.vector_for(view, value, spans)?;
        let attrs = Attrs {
            hints,
            ..Attrs::default()
        };
        self.op(
            CuteOp::MemrefStoreVec,
            "=",
            &[vector, view.clone()],
            &attrs,
            spans.2,
        )?;
        Ok(())
    }

    /// What is written to all elements of a view, as a vector of them. The places are those of the view, the value and
    /// the whole.
    pub(super) fn vector_for(
        &mut self,
        view: &Value<'c, 'a>,
        value: &Value<'c, 'a>,
        (view_span, value_span, span): (Span, Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let Some((elem, size, shape)) = view.as_view().map(|(_, view)| {
            (
                view.ptr.elem,
                view.layout.size().as_static(),
                view.layout.shape().to_string(),
            )
        }) else {
            return self.expected("a view to write to", view, view_span);
        };
        self.check_writable(view, view_span)?;
        let value = self.operand(value, value_span)?;
        let Some(size) = size else {
            let message = format!("the view written has a run-time number of elements: {shape}");
            return self.error(
                codes::STATIC_NEEDED,
                view_span,
                message,
                "expected a static shape",
            );
        };
        if let Value::Vector(vector) = &value {
            if vector.len != size {
                let message = format!(
                    "{} elements are written to {size}, of shape {shape}",
                    vector.len
                );
                return self.error(codes::SHAPE_MISMATCH, span, message, "they must be as many");
            }
            if vector.elem != elem {
                let (to, from) = (elem_name(elem), elem_name(vector.elem));
                let message = format!("values of {from} are written to elements of {to}");
                let diagnostic = Diagnostic::error(
                    codes::MIXED_TYPES,
                    value_span,
                    message,
                    format!("this is {from}"),
                );
                return Err(self.report(diagnostic.with_help(format!("convert them: `{to}(…)`"))));
            }
        }
        let ir = self.spread(&value, elem, Some(size), value_span)?;
        Ok(super::arith::number_or_vector(ir, elem, Some(size)))
    }
}
