//! Expressions.

use super::builtins::{Level, Register};
use super::values::{Scalar, Value, elem_name, elem_of};
use super::{Evaluator, Result, Stop, builtins, problem};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, ItemKind, UnaryOp};
use crate::diagnostics::{Diagnostic, codes};
use crate::elsewhere;
use crate::parser::words::closest;
use crate::source::Span;
use crate::stdlib;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{CuteOp, NvvmOp};
use cutec_dialects::printing::name_value;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::target::Feature;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Int, Tree};
use std::sync::Arc;

impl<'c, 'a> Evaluator<'c, 'a> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Result<Value<'c, 'a>> {
        self.step(expr.span)?;
        self.nested(expr.span, |this| this.expr_kind(expr))
    }

    fn expr_kind(&mut self, expr: &'a Expr) -> Result<Value<'c, 'a>> {
        let span = expr.span;
        match &*expr.kind {
            ExprKind::Int { value, suffix } => self.int_literal(*value, suffix.as_deref(), span),
            ExprKind::Float { value, suffix } => match suffix.as_deref() {
                None => Ok(Value::Float(*value)),
                Some(suffix) => self.typed_literal(Value::Float(*value), suffix, span),
            },
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Str(text) => Ok(Value::Str(text.clone())),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Wildcard => Ok(Value::Underscore),
            ExprKind::Tuple(parts) => match parts.as_slice() {
                [] => Ok(Value::Unit),
                parts => Ok(Value::Tuple(self.exprs(parts)?)),
            },
            ExprKind::Array(parts) => Ok(Value::Array(self.exprs(parts)?)),
            ExprKind::Layout { shape, stride } => {
                let (shape, stride) = (self.expr(shape)?, self.expr(stride)?);
                self.op(
                    CuteOp::MakeLayout,
                    ":",
                    &[shape, stride],
                    &Attrs::default(),
                    span,
                )
            }
            ExprKind::Compose(parts) => self.compose(parts, span),
            ExprKind::Range { start, end, step } => {
                let (start, end) = (self.loaded(start)?, self.loaded(end)?);
                let step = match step {
                    Some(step) => self.loaded(step)?,
                    None => Value::Int(1),
                };
                Ok(Value::Range(Box::new([start, end, step])))
            }
            ExprKind::ScaledBasis { scale, mode } => {
                let scale = self.expr(scale)?;
                let (value, mut path) = match scale.as_static() {
                    Some(Val::Scalar(int)) => (int, Vec::new()),
                    Some(Val::Tuple(_, Tree::Leaf(Some(int)))) => {
                        (int.value().clone(), int.path().to_vec())
                    }
                    _ => return self.expected("an integer before `@`", &scale, span),
                };
                path.push(mode.node as usize);
                Ok(Value::Static(Val::Tuple(
                    TupleKind::Stride,
                    Tree::Leaf(Some(Int::scaled(value, path))),
                )))
            }
            ExprKind::Unary { op, operand } => {
                let value = self.loaded(operand)?;
                match op.node {
                    UnaryOp::Neg => self.negate(&value, span),
                    UnaryOp::Not => self.not(&value, span),
                }
            }
            ExprKind::Binary { op, lhs, rhs } => match op.node {
                BinaryOp::And | BinaryOp::Or => self.short_circuit(op.node, lhs, rhs, span),
                _ => {
                    // Both sides are checked even if the first one is wrong.
                    let (left, right) = (self.loaded(lhs), self.loaded(rhs));
                    let (left, right) = ((left?, lhs.span), (right?, rhs.span));
                    match op.node == BinaryOp::Div && self.frame.rounds_up {
                        true => self.ceil_div(left, right, span),
                        false => self.binary(op.node, left, right, span),
                    }
                }
            },
            ExprKind::Field { base, name } => self.field(base, &name.node, span),
            ExprKind::Index { base, indices } => self.index(base, indices, span),
            ExprKind::Generic { base, args } => self.generic(base, args, span),
            ExprKind::Call { callee, args } => self.call(callee, args, expr),
            ExprKind::Record { name, fields } => self.record_value(name, fields, span),
            ExprKind::If(parts) => self.if_value(parts, span),
            ExprKind::Block(block) => self.block_value(block),
            ExprKind::Reduce { op, .. } => self.unsupported(
                op.span,
                "index notation in a kernel",
                "it is for `test` blocks; write a loop",
            ),
            ExprKind::Error => Err(Stop::Reported),
        }
    }

    pub(super) fn exprs(&mut self, exprs: &'a [Expr]) -> Result<Vec<Value<'c, 'a>>> {
        // Errors of all parts are reported.
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match self.expr(expr) {
                Err(Stop::GiveUp) => return Err(Stop::GiveUp),
                value => values.push(value),
            }
        }
        values.into_iter().collect()
    }

    /// The value of an expression, a variable read.
    pub(super) fn loaded(&mut self, expr: &'a Expr) -> Result<Value<'c, 'a>> {
        let value = self.expr(expr)?;
        self.read_slot(&value, expr.span)
    }

    fn int_literal(
        &mut self,
        value: u64,
        suffix: Option<&str>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let value = i64::try_from(value).map_or(Value::Large(value), Value::Int);
        match suffix {
            None => Ok(value),
            Some(suffix) => self.typed_literal(value, suffix, span),
        }
    }

    fn typed_literal(
        &mut self,
        value: Value<'c, 'a>,
        suffix: &str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some(elem) = elem_of(suffix) else {
            return self.error(
                codes::UNKNOWN_NAME,
                span,
                format!("unknown type `{suffix}` behind a number"),
                "here",
            );
        };
        self.convert(elem, &value, span)
    }

    /// What a name stands for.
    pub(super) fn name(&mut self, name: &Arc<str>, span: Span) -> Result<Value<'c, 'a>> {
        let value = self.meaning(name, span)?;
        self.weigh(&value, span)?;
        Ok(value)
    }

    fn meaning(&mut self, name: &Arc<str>, span: Span) -> Result<Value<'c, 'a>> {
        if let Some(binding) = self.lookup(name) {
            binding.read.set(true);
            return match &binding.value {
                Value::Error => Err(Stop::Reported),
                value @ (Value::Slot(_) | Value::Tuple(_) | Value::Record(_)) => {
                    let value = value.clone();
                    self.read_slot(&value, span)
                }
                value => Ok(value.clone()),
            };
        }
        if let Some(kind) = self.items.get(name, span.file) {
            match kind {
                ItemKind::Const(item) => return self.constant(item, span),
                ItemKind::Function(function) => return Ok(Value::Function(function)),
                // A kernel may have the name of a built-in: `gemm`.
                ItemKind::Kernel(_) if builtins::lookup(name).is_none() => {
                    return self.error(
                        codes::WRONG_TYPE,
                        span,
                        "a kernel cannot be used in a kernel",
                        "this is a kernel",
                    );
                }
                ItemKind::Record(record) => {
                    let message = format!("`{name}` is a record, and no value");
                    let diagnostic =
                        Diagnostic::error(codes::WRONG_TYPE, span, message, "the name of a record");
                    let fields: Vec<String> = record
                        .fields
                        .iter()
                        .map(|field| format!("{} = …", field.name.node))
                        .collect();
                    let help = format!("build one: `{name} {{ {} }}`", fields.join(", "));
                    return Err(self.report(diagnostic.with_help(help)));
                }
                ItemKind::Kernel(_)
                | ItemKind::Import(_)
                | ItemKind::Test(_)
                | ItemKind::Bench(_)
                | ItemKind::Error => {}
            }
        }
        if let Some(elem) = elem_of(name) {
            return Ok(Value::Type(elem));
        }
        match builtins::lookup(name) {
            Some(value) => Ok(value),
            None => self.unknown_name(name, span),
        }
    }

    fn constant(&mut self, item: &'a crate::ast::ConstItem, span: Span) -> Result<Value<'c, 'a>> {
        match self.consts.get(&std::ptr::from_ref(item)) {
            Some(Some(Value::Error)) => return Err(Stop::Reported),
            Some(Some(value)) => return Ok(value.clone()),
            Some(None) => {
                return self.error(
                    codes::BUDGET,
                    span,
                    format!("the constant `{}` depends on itself", item.name.node),
                    "here",
                );
            }
            None => {}
        }
        self.consts.insert(item, None);
        // It is the same for all kernels.
        let outer = std::mem::replace(&mut self.frame, super::Frame::new());
        let block = self.block.take();
        let value = self.at_compile_time(|this| this.expr(&item.value));
        (self.frame, self.block) = (outer, block);
        let value = match value {
            Err(Stop::NeedsRuntime) => self.static_needed("the value of a constant", &item.value),
            other => other,
        };
        let known = value.clone().unwrap_or(Value::Error);
        self.consts.insert(item, Some(known));
        value
    }

    pub(super) fn unknown_name<T>(&mut self, name: &str, span: Span) -> Result<T> {
        let mut candidates: Vec<String> = builtins::names().map(String::from).collect();
        candidates.extend(
            self.frame
                .scopes
                .iter()
                .flat_map(|scope| scope.keys())
                .map(|key| key.to_string()),
        );
        let items = ["fn", "kernel", "record", "const"];
        candidates.extend(self.items.names(span.file, &items).map(str::to_owned));
        candidates.extend(
            Elem::ALL
                .iter()
                .map(|(elem, _)| elem_name(*elem).to_owned()),
        );
        let candidates = candidates.iter().map(String::as_str);
        let known = || closest(name, candidates).map(|found| format!("did you mean `{found}`?"));
        let library = || {
            let file = stdlib::file_of(name)?;
            Some(format!(
                "it is in the standard library: `import \"{file}\";`"
            ))
        };
        let variable = || {
            let scopes = self.frame.scopes.iter();
            let variables = scopes.flat_map(|scope| scope.keys()).map(|key| &**key);
            let behind = Span::new(span.file, span.end, span.end + 1);
            let is_called = matches!(self.text(behind), "(" | "<");
            let found = closest(name, variables).filter(|_| !is_called)?;
            Some(format!("did you mean `{found}`?"))
        };
        let help = variable()
            .or_else(library)
            .or_else(|| elsewhere::names::here(name).map(String::from))
            .or_else(|| elsewhere::words::here(name).map(String::from))
            .or_else(|| {
                let of_mma = name.starts_with("sm") && name.contains('x');
                of_mma.then(|| builtins::mma_atoms(&self.options.target))
            })
            .or_else(known);
        let diagnostic = Diagnostic::error(
            codes::UNKNOWN_NAME,
            span,
            format!("unknown name `{name}`"),
            "not in scope",
        );
        Err(self.report(match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }))
    }

    /// `a o b`, `outer o offset o inner`.
    fn compose(&mut self, parts: &'a [Expr], span: Span) -> Result<Value<'c, 'a>> {
        let values = self.exprs(parts)?;
        match values.as_slice() {
            [outer @ Value::Static(Val::Swizzle(_)), inner] => {
                let inner = self.layout_of(inner, span)?;
                self.op(
                    CuteOp::MakeComposedLayout,
                    "o",
                    &[outer.clone(), Value::Int(0), inner],
                    &Attrs::default(),
                    span,
                )
            }
            [outer, offset @ (Value::Int(_) | Value::Scalar(_)), inner] => {
                let inner = self.layout_of(inner, span)?;
                self.op(
                    CuteOp::MakeComposedLayout,
                    "o",
                    &[outer.clone(), offset.clone(), inner],
                    &Attrs::default(),
                    span,
                )
            }
            [first, rest @ ..] => {
                let mut value = self.layout_of(first, span)?;
                for part in rest {
                    value = self.op(
                        CuteOp::Composition,
                        "o",
                        &[value, part.clone()],
                        &Attrs::default(),
                        span,
                    )?;
                }
                Ok(value)
            }
            [] => Err(Stop::Reported),
        }
    }

    /// A layout; a shape alone is compact, first mode fastest.
    pub(super) fn layout_of(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        match value {
            Value::Int(_) | Value::Tuple(_) | Value::Scalar(_) => self.op(
                CuteOp::MakeLayout,
                "layout",
                std::slice::from_ref(value),
                &Attrs::default(),
                span,
            ),
            Value::Cute(cute) if matches!(cute.val, Val::Tuple(..)) => self.op(
                CuteOp::MakeLayout,
                "layout",
                std::slice::from_ref(value),
                &Attrs::default(),
                span,
            ),
            Value::Static(Val::Layout(_)) => Ok(value.clone()),
            Value::Cute(cute) if matches!(cute.val, Val::Layout(_)) => Ok(value.clone()),
            other => self.expected("a layout or a shape", other, span),
        }
    }

    fn field(&mut self, base: &'a Expr, name: &Arc<str>, span: Span) -> Result<Value<'c, 'a>> {
        if self.is_target(base) {
            return self.target_field(name, span);
        }
        if let Some(field) = self.field_of_variable(base, name, span)? {
            return Ok(field);
        }
        let value = self.expr(base)?;
        match &value {
            Value::Record(record) => self.record_field(record, name, span),
            Value::Register(register) => self.register(*register, name, span),
            Value::Builtin(builtin) if builtins::has_tile_index(builtin) => {
                self.tile_index(name, span)
            }
            Value::Error => Err(Stop::Reported),
            other => {
                let found = other.describe();
                let message = format!("{found} has no field `{name}`");
                let diagnostic =
                    Diagnostic::error(codes::UNKNOWN_NAME, span, message, "no such field");
                Err(self.report(match builtins::instead_of_field(other, name) {
                    Some(help) => diagnostic.with_help(help),
                    None => diagnostic,
                }))
            }
        }
    }

    /// `thread_idx.x` and the like.
    pub(super) fn register(
        &mut self,
        register: Register,
        axis: &str,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let register_name = register.name();
        let Some(at) = Register::AXES.iter().position(|name| *name == axis) else {
            let message = format!("`{register_name}` has x, y and z, not `{axis}`");
            return self.error(codes::UNKNOWN_NAME, span, message, "no such field");
        };
        self.check_level(Level::Threads, register_name, span)?;
        let Some(block) = self.block.map(|block| block[at]) else {
            let text = self.text(span);
            let message = format!("`{text}` is known only within a kernel");
            let label = "expected what is known before the kernel is launched";
            return self.error(codes::STATIC_NEEDED, span, message, label);
        };
        let (ops, range) = match register {
            Register::BlockDim => return Ok(Value::Int(block)),
            Register::ThreadIdx if block == 1 && self.ir.is_some() => return Ok(Value::Int(0)),
            Register::ThreadIdx => {
                let end = i32::try_from(block).unwrap_or(i32::MAX);
                (NvvmOp::THREAD_INDEX, Some((0, end)))
            }
            Register::BlockIdx => (NvvmOp::BLOCK_INDEX, None),
            Register::GridDim => (NvvmOp::GRID_SIZE, None),
        };
        let ir = self.ir(span)?;
        let mut attrs = Vec::new();
        if let Some((low, high)) = range {
            attrs.push(("range", ir.range(low, high)));
        }
        let ty = ir.ty("i32");
        let number = ir.value(ops[at], &[], &attrs, ty);
        name_value(number, &format!("{}_{axis}", register.name()));
        Ok(Value::Scalar(Scalar {
            ir: number,
            elem: Elem::I32,
            div: 1,
            tuple: None,
        }))
    }

    /// `base<args>` that is not called: atoms and swizzles.
    fn generic(&mut self, base: &'a Expr, args: &'a [Arg], span: Span) -> Result<Value<'c, 'a>> {
        let Some(name) = base.as_name() else {
            return self.error(
                codes::WRONG_TYPE,
                span,
                "only a name takes generic arguments here",
                "here",
            );
        };
        let call = self.arguments(name.clone(), base.span, span, args, &[])?;
        builtins::generic(self, &call)
    }

    /// A static integer.
    pub(super) fn static_int(&mut self, what: &str, expr: &'a Expr) -> Result<i64> {
        match self.static_value(what, expr)? {
            Value::Int(value) => Ok(value),
            other => self.expected("an integer", &other, expr.span),
        }
    }

    /// A static bool.
    pub(super) fn static_bool(&mut self, what: &str, expr: &'a Expr) -> Result<bool> {
        match self.static_value(what, expr)? {
            Value::Bool(value) => Ok(value),
            other => self.expected_bool(&other, expr.span),
        }
    }

    /// A value known at compile time.
    pub(super) fn static_value(&mut self, what: &str, expr: &'a Expr) -> Result<Value<'c, 'a>> {
        let value = match self.expr(expr) {
            Err(Stop::NeedsRuntime) => return self.static_needed(what, expr),
            other => other?,
        };
        match value {
            Value::Scalar(_)
            | Value::Slot(_)
            | Value::Vector(_)
            | Value::Tile(_)
            | Value::Cute(_) => self.static_needed(what, expr),
            Value::Record(_) if !value.is_known() => self.static_needed(what, expr),
            other => Ok(other),
        }
    }

    /// Reports an atom that is illegal.
    /// Refuses what the target has not.
    pub(super) fn needs(&mut self, feature: Feature, what: &str, span: Span) -> Result<()> {
        let target = self.options.target;
        if target.has(feature) {
            return Ok(());
        }
        Err(self.report(problem::of_target(span, what, feature, &target)))
    }

    pub(super) fn illegal_atom<T>(
        &mut self,
        span: Span,
        error: &cutec_dialects::atoms::AtomError,
    ) -> Result<T> {
        Err(self.report(problem::atom(span, error)))
    }
}
