//! Statements: blocks, loops, bindings, assignments, launches.

use super::expression::binary;
use super::{Flow, Interpreter, Variable, callee_name, wrong_kind};
use crate::assertion;
use crate::index::lower::Names;
use crate::launch::{KernelCall, LaunchArgument};
use crate::problem::{Stop, TestProblem};
use crate::value::Value;
use cutec_abi::counted;
use cutec_frontend::ast::{
    Arg, BinaryOp, Block, ElseBranch, Expr, ExprKind, For, IfExpr, Kernel, Let, Pattern,
    PatternKind, Stmt, StmtKind,
};
use cutec_frontend::source::Span;
use cutec_runtime::number::Number;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

impl Interpreter<'_> {
    pub(super) fn block(&self, block: &Block) -> Result<(Flow, Option<Value>), Stop> {
        self.scopes.borrow_mut().push(HashMap::new());
        let result = self.block_inside(block);
        self.scopes.borrow_mut().pop();
        result
    }

    fn block_inside(&self, block: &Block) -> Result<(Flow, Option<Value>), Stop> {
        for stmt in &block.stmts {
            match self.statement(stmt) {
                Ok(Flow::Next) => {}
                Ok(flow) => return Ok((flow, None)),
                // What follows does not build on an assertion, a launch or new elements of a tensor.
                Err(stop) if self.checks() && binds_nothing(stmt) => {
                    self.note(stop);
                }
                Err(stop) => return Err(stop),
            }
        }
        match &block.value {
            Some(value) => match &*value.kind {
                ExprKind::If(parts) => self.branch(parts),
                ExprKind::Block(block) => self.block(block),
                _ => Ok((Flow::Next, Some(self.expr(value)?))),
            },
            None => Ok((Flow::Next, None)),
        }
    }

    fn statement(&self, stmt: &Stmt) -> Result<Flow, Stop> {
        self.step(stmt.span)?;
        match &stmt.kind {
            StmtKind::Let(parts) => self.bind_let(parts)?,
            StmtKind::Assign { target, op, value } => {
                self.assign(target, op.map(|op| op.node), value)?;
            }
            StmtKind::Expr(expr) => match &*expr.kind {
                ExprKind::If(parts) => return Ok(self.branch(parts)?.0),
                ExprKind::Block(block) => return Ok(self.block(block)?.0),
                ExprKind::Call { callee, args } => self.effect(expr, callee, args)?,
                _ => {
                    self.expr(expr)?;
                }
            },
            StmtKind::For(parts) => return self.for_loop(parts),
            StmtKind::While { condition, body } => {
                while self.condition(condition)? {
                    match self.round(body)? {
                        Some(flow) => return Ok(flow),
                        None => self.step(stmt.span)?,
                    }
                }
            }
            StmtKind::Loop(body) => loop {
                match self.round(body)? {
                    Some(flow) => return Ok(flow),
                    None => self.step(stmt.span)?,
                }
            },
            StmtKind::Roles(_) => {
                let what = "`roles`, which is for kernels";
                return Err(TestProblem::NotHere { what }.at(stmt.span));
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Return(value) => {
                let value = value.as_ref().map(|value| self.expr(value)).transpose()?;
                return Ok(Flow::Return(value));
            }
            StmtKind::Empty | StmtKind::Error => {}
        }
        Ok(Flow::Next)
    }

    /// One round of a loop: `Some` when the loop ends with it.
    fn round(&self, body: &Block) -> Result<Option<Flow>, Stop> {
        Ok(match self.block(body)?.0 {
            Flow::Next | Flow::Continue => None,
            Flow::Break => Some(Flow::Next),
            flow @ Flow::Return(_) => Some(flow),
        })
    }

    fn for_loop(&self, parts: &For) -> Result<Flow, Stop> {
        if let Some(clause) = &parts.clause {
            let what = "a clause of a loop";
            return Err(TestProblem::NotHere { what }.at(clause.span));
        }
        let over = self.expr(&parts.over)?;
        let round = |value: Value| -> Result<Option<Flow>, Stop> {
            self.step(parts.over.span)?;
            self.scopes.borrow_mut().push(HashMap::new());
            let result = self
                .bind(&parts.pattern, value, false)
                .and_then(|()| self.round(&parts.body));
            self.scopes.borrow_mut().pop();
            result
        };
        match over {
            Value::Tuple(values) => {
                for value in values {
                    if let Some(flow) = round(value)? {
                        return Ok(flow);
                    }
                }
            }
            Value::Range { start, end, step } => {
                let mut value = start;
                while (step > 0 && value < end) || (step < 0 && value > end) {
                    if let Some(flow) = round(Value::Int(value))? {
                        return Ok(flow);
                    }
                    value = match value.checked_add(step) {
                        Some(next) => next,
                        None => break,
                    };
                }
            }
            other => return Err(wrong_kind("a range or an array", &other, parts.over.span)),
        }
        Ok(Flow::Next)
    }

    pub(super) fn branch(&self, parts: &IfExpr) -> Result<(Flow, Option<Value>), Stop> {
        if self.condition(&parts.condition)? {
            return self.block(&parts.then);
        }
        match &parts.otherwise {
            None => Ok((Flow::Next, None)),
            Some(ElseBranch::Block(block)) => self.block(block),
            Some(ElseBranch::If(expr)) => match &*expr.kind {
                ExprKind::If(parts) => self.branch(parts),
                _ => Ok((Flow::Next, None)),
            },
        }
    }

    pub(super) fn condition(&self, expr: &Expr) -> Result<bool, Stop> {
        match self.expr(expr)? {
            Value::Bool(value) => Ok(value),
            other => Err(wrong_kind("a condition", &other, expr.span)),
        }
    }

    fn bind_let(&self, parts: &Let) -> Result<(), Stop> {
        let value = self.expr(&parts.value)?;
        self.bind(&parts.pattern, value, parts.mutable)
    }

    fn bind(&self, pattern: &Pattern, value: Value, mutable: bool) -> Result<(), Stop> {
        match &pattern.kind {
            PatternKind::Name(name) => {
                if let Some(scope) = self.scopes.borrow_mut().last_mut() {
                    scope.insert(Arc::clone(&name.node), Variable { value, mutable });
                }
                Ok(())
            }
            PatternKind::Wildcard | PatternKind::Error => Ok(()),
            PatternKind::Tuple(patterns) => {
                let parts = parts(value, patterns.len(), pattern.span)?;
                let mut parts = patterns.iter().zip(parts);
                parts.try_for_each(|(pattern, part)| self.bind(pattern, part, mutable))
            }
        }
    }

    fn assign(&self, target: &Expr, op: Option<BinaryOp>, value: &Expr) -> Result<(), Stop> {
        match &*target.kind {
            ExprKind::Index { base, indices } => {
                assertion::assign_elements(self, target, base, indices, op, value)
            }
            _ => {
                let mut new = self.expr(value)?;
                if let Some(op) = op {
                    let old = self.expr(target)?;
                    new = binary(op, old, new, target.span.to(value.span))?;
                }
                self.assign_parts(target, new)
            }
        }
    }

    /// Assigns to a variable, or the parts of a tuple to several.
    fn assign_parts(&self, target: &Expr, new: Value) -> Result<(), Stop> {
        match &*target.kind {
            ExprKind::Wildcard => Ok(()),
            ExprKind::Name(name) => self.assign_variable(name, target.span, new),
            ExprKind::Tuple(targets) => {
                let parts = parts(new, targets.len(), target.span)?;
                let mut parts = targets.iter().zip(parts);
                parts.try_for_each(|(target, part)| self.assign_parts(target, part))
            }
            _ => {
                let what = "this left side of an assignment";
                Err(TestProblem::NotHere { what }.at(target.span))
            }
        }
    }

    fn assign_variable(&self, name: &str, place: Span, new: Value) -> Result<(), Stop> {
        let mut scopes = self.scopes.borrow_mut();
        let variable = scopes
            .iter_mut()
            .rev()
            .find_map(|scope| scope.get_mut(name));
        match variable {
            Some(variable) if variable.mutable => {
                variable.value = new;
                Ok(())
            }
            Some(_) => {
                let what = "an assignment to what `let` binds: say `var`";
                Err(TestProblem::NotHere { what }.at(place))
            }
            None => {
                drop(scopes);
                Err(self.unknown(name, place))
            }
        }
    }

    /// A call as a statement: an assertion, a launch, or any other call.
    fn effect(&self, expr: &Expr, callee: &Expr, args: &[Arg]) -> Result<(), Stop> {
        let (name, generics) = callee_name(callee);
        match name.map(|name| &**name) {
            Some("assert_eq") => assertion::assert_eq(self, args, expr.span),
            Some("assert_close") => assertion::assert_close(self, args, expr.span),
            Some("assert") => assertion::assert(self, args, expr.span),
            _ => {
                let called = name.map(|name| self.called(name, callee.span.file));
                match called.and_then(|(name, file)| self.kernel(&name, file)) {
                    Some(kernel) => self.launch(kernel, generics, args, expr.span),
                    None => self.expr(expr).map(|_| ()),
                }
            }
        }
    }

    fn launch(
        &self,
        kernel: &Kernel,
        generics: &[Arg],
        args: &[Arg],
        span: Span,
    ) -> Result<(), Stop> {
        let name = &*kernel.name.node;
        if let Some(named) = args.iter().find_map(|arg| arg.name.as_ref()) {
            let mut parameters = kernel.static_params.iter();
            return Err(TestProblem::NamedArgument {
                kernel: name.to_owned(),
                argument: named.node.to_string(),
                is_static: parameters.any(|param| param.name.node == named.node),
            }
            .at(named.span));
        }
        let defines = self.defines(kernel, generics)?;
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.expr(&arg.value)?;
            arguments.push(match &value {
                Value::Tensor(tensor) => LaunchArgument::Tensor(Rc::clone(tensor)),
                Value::Int(number) => LaunchArgument::Number(Number::Integer((*number).into())),
                Value::Float(number) => LaunchArgument::Number(Number::Float(*number)),
                Value::Bool(value) => LaunchArgument::Number(Number::Bool(*value)),
                other => return Err(wrong_kind("a tensor or a number", other, arg.value.span)),
            });
        }
        self.report.borrow_mut().launches += 1;
        self.launcher.launch(&KernelCall {
            kernel: name,
            parameters: kernel
                .static_params
                .iter()
                .map(|param| &*param.name.node)
                .collect(),
            defines,
            arguments,
            places: args.iter().map(|arg| arg.value.span).collect(),
            declared: kernel
                .params
                .iter()
                .map(|param| (&*param.name.node, param.span))
                .collect(),
            span,
        })
    }

    /// The compile-time parameters of a launch, as text.
    fn defines(&self, kernel: &Kernel, generics: &[Arg]) -> Result<Vec<(String, String)>, Stop> {
        let mut defines: Vec<(String, String)> = Vec::new();
        for (position, arg) in generics.iter().enumerate() {
            let name = match &arg.name {
                Some(name) => {
                    let mut known = kernel.static_params.iter().map(|param| &param.name.node);
                    if !known.any(|known| *known == name.node) {
                        let known = kernel.static_params.iter();
                        return Err(TestProblem::UnknownParameter {
                            kernel: kernel.name.node.to_string(),
                            name: name.node.to_string(),
                            known: known.map(|param| param.name.node.to_string()).collect(),
                        }
                        .at(name.span));
                    }
                    name.node.to_string()
                }
                None => match kernel.static_params.get(position) {
                    Some(param) => param.name.node.to_string(),
                    None => {
                        return Err(TestProblem::Count {
                            function: kernel.name.node.to_string(),
                            expected: format!(
                                "{} compile-time parameters",
                                kernel.static_params.len()
                            ),
                            found: generics.len(),
                        }
                        .at(arg.span));
                    }
                },
            };
            if defines.iter().any(|(known, _)| *known == name) {
                return Err(TestProblem::ParameterTwice { name }.at(arg.span));
            }
            // What the host cannot evaluate (a layout, an atom) goes to the compiler as it stands.
            let text = self
                .expr(&arg.value)
                .ok()
                .and_then(|value| value.source_text())
                .unwrap_or_else(|| self.sources.snippet(arg.value.span).to_owned());
            defines.push((name, text));
        }
        Ok(defines)
    }
}

/// Whether nothing behind a statement needs what it gives.
fn binds_nothing(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Expr(expr) => matches!(*expr.kind, ExprKind::Call { .. }),
        StmtKind::Assign { target, .. } => matches!(*target.kind, ExprKind::Index { .. }),
        _ => false,
    }
}

/// The parts of a tuple, for as many names or places, which stand there.
fn parts(value: Value, count: usize, place: Span) -> Result<Vec<Value>, Stop> {
    match value {
        Value::Tuple(parts) if parts.len() == count => Ok(parts),
        Value::Tuple(parts) => Err(TestProblem::Count {
            function: "this pattern".to_owned(),
            expected: counted(count, "value"),
            found: parts.len(),
        }
        .at(place)),
        other => Err(wrong_kind("a tuple", &other, place)),
    }
}
