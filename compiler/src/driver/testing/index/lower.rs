//! Expressions of the language → [`Program`].

use super::super::builtin;
use super::super::problem::{Stop, TestProblem};
use super::super::value::{HostTensor, Value};
use super::{Affine, Elements, Node, Operation, Program, Reduction, Variable};
use cutec_frontend::ast::{
    Arg, BinaryOp, Block, ElseBranch, Expr, ExprKind, Function, IfExpr, IndexVar, Name,
    PatternKind, StmtKind, UnaryOp,
};
use cutec_frontend::source::Span;
use cutec_runtime::tensor::host::row_major;
use rayon::prelude::*;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Indices of a result; variables of reductions are numbered from here.
const MAX_FREE: usize = 8;
/// Variables in all, which fit a set of bits.
const MAX_VARIABLES: usize = 64;
/// How deep functions may be inlined.
const MAX_INLINING: u32 = 64;

/// Where names come from.
pub trait Names {
    /// The value of a name, if it has one.
    fn value(&self, name: &str) -> Option<Value>;
    /// The function of this name.
    fn function(&self, name: &str) -> Option<Rc<Function>>;
    /// Evaluates an expression without index variables.
    ///
    /// # Errors
    /// What is wrong with it.
    fn scalar(&self, expr: &Expr) -> Result<Value, Stop>;
}

/// Lowers `exprs` into one program; they share their indices. `result` names indices that are to come
/// first, in this order, with their extents.
///
/// # Errors
/// What of the expressions has no meaning.
pub fn lower(names: &dyn Names, exprs: &[&Expr], result: &[(Name, i64)]) -> Result<Program, Stop> {
    let mut lowerer = Lowerer {
        names,
        free: Vec::new(),
        reduced: Vec::new(),
        scopes: Vec::new(),
        slots: 0,
        guards: 0,
        inlined: 0,
        hidden: Vec::new(),
        checks: Vec::new(),
        innermost: Vec::new(),
        permuted: HashMap::new(),
    };
    for (name, extent) in result {
        let variable = lowerer.free_variable(&name.node, name.span)?;
        lowerer.free[variable].extent = Some(*extent);
    }
    let mut roots = Vec::new();
    for expr in exprs {
        roots.push(lowerer.expr(expr)?.node);
    }
    lowerer.finish(roots)
}

/// An index variable whose range may still be unknown.
struct Unranged {
    name: String,
    span: Span,
    start: i64,
    extent: Option<i64>,
    /// The range was given, not inferred.
    explicit: bool,
}

/// What a name stands for inside the notation.
#[derive(Clone)]
enum Binding {
    Variable(usize),
    Slot {
        slot: usize,
        depends_on: u64,
        integer: bool,
    },
    Value(Value),
}

/// A lowered expression and what is known of it.
struct Lowered {
    node: Node,
    affine: Option<Affine>,
    integer: bool,
    depends_on: u64,
}

/// An access whose bounds are checked when all ranges are known.
struct Check {
    tensor: Arc<Elements>,
    mode: usize,
    index: Affine,
    span: Span,
}

struct Lowerer<'a> {
    names: &'a dyn Names,
    free: Vec<Unranged>,
    reduced: Vec<Unranged>,
    scopes: Vec<(Arc<str>, Binding)>,
    slots: usize,
    /// Branches of `if` around the place.
    guards: u32,
    inlined: u32,
    /// Bottoms of `scopes` that inlined functions must not look below.
    hidden: Vec<usize>,
    checks: Vec<Check>,
    /// The innermost variable of each reduction around the place.
    innermost: Vec<usize>,
    /// Elements with another mode fastest, by the address of the originals and the mode.
    permuted: HashMap<(usize, usize), Arc<[f64]>>,
}

impl Lowered {
    fn constant(value: f64, integer: bool) -> Self {
        let affine =
            (integer && value.abs() < 2f64.powi(53)).then(|| Affine::constant(value as i64));
        Self {
            node: Node::Constant(value),
            affine,
            integer,
            depends_on: 0,
        }
    }
}

impl Lowerer<'_> {
    fn finish(self, roots: Vec<Node>) -> Result<Program, Stop> {
        let free = self.free.len();
        let placeholder = || Variable {
            name: String::new(),
            start: 0,
            extent: 1,
        };
        let mut variables: Vec<Variable> =
            std::iter::repeat_with(placeholder).take(MAX_FREE).collect();
        for (number, variable) in self.free.iter().chain(&self.reduced).enumerate() {
            let Some(extent) = variable.extent else {
                let name = variable.name.clone();
                return Err(TestProblem::NoRange { name }.at(variable.span));
            };
            let ranged = Variable {
                name: variable.name.clone(),
                start: variable.start,
                extent,
            };
            match number < free {
                true => variables[number] = ranged,
                false => variables.push(ranged),
            }
        }
        for check in &self.checks {
            let Some((low, high)) = check.index.bounds(&variables) else {
                continue;
            };
            let extent = check.tensor.shape[check.mode];
            if low < 0 || high >= extent {
                return Err(TestProblem::OutOfRange {
                    tensor: check.tensor.name.clone(),
                    mode: check.mode,
                    extent,
                    low,
                    high,
                }
                .at(check.span));
            }
        }
        Ok(Program {
            variables,
            free,
            slots: self.slots,
            roots,
        })
    }

    fn free_variable(&mut self, name: &str, span: Span) -> Result<usize, Stop> {
        if let Some(known) = self.free.iter().position(|variable| variable.name == name) {
            return Ok(known);
        }
        if self.free.len() == MAX_FREE {
            return Err(TestProblem::Budget {
                limit: MAX_FREE as u64,
                unit: "indices in one expression",
            }
            .at(span));
        }
        self.free.push(Unranged {
            name: name.to_owned(),
            span,
            start: 0,
            extent: None,
            explicit: false,
        });
        Ok(self.free.len() - 1)
    }

    fn variable(&mut self, variable: usize) -> &mut Unranged {
        match variable < MAX_FREE {
            true => &mut self.free[variable],
            false => &mut self.reduced[variable - MAX_FREE],
        }
    }

    /// What a name stands for, the innermost meaning first; an unknown name is an index.
    fn resolve(&mut self, name: &Arc<str>, span: Span) -> Result<Binding, Stop> {
        let bottom = self.hidden.last().copied().unwrap_or(0);
        let bound = self.scopes[bottom..]
            .iter()
            .rev()
            .find(|(known, _)| known == name);
        if let Some((_, binding)) = bound {
            return Ok(binding.clone());
        }
        if let Some(value) = self.names.value(name) {
            return Ok(Binding::Value(value));
        }
        if self.inlined > 0 {
            let name = name.to_string();
            return Err(TestProblem::UnknownName { name }.at(span));
        }
        self.free_variable(name, span).map(Binding::Variable)
    }

    fn expr(&mut self, expr: &Expr) -> Result<Lowered, Stop> {
        match &*expr.kind {
            ExprKind::Int { value, .. } => Ok(Lowered::constant(*value as f64, true)),
            ExprKind::Float { value, .. } => Ok(Lowered::constant(*value, false)),
            ExprKind::Bool(value) => Ok(Lowered::constant(f64::from(u8::from(*value)), true)),
            ExprKind::Name(name) => {
                let binding = self.resolve(name, expr.span)?;
                self.bound(binding, expr.span)
            }
            ExprKind::Unary { op, operand } => self.unary(op.node, operand),
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.expr(lhs)?, self.expr(rhs)?);
                Ok(arithmetic(op.node, lhs, rhs))
            }
            ExprKind::Index { base, indices } => self.access(base, indices, expr.span),
            ExprKind::Call { callee, args } => self.call(expr, callee, args),
            ExprKind::Reduce { op, vars, body } => self.reduce(op, vars, body),
            ExprKind::If(parts) => self.select(parts, expr.span),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Wildcard => Err(TestProblem::NotHere {
                what: "`_` as a number",
            }
            .at(expr.span)),
            _ => self.scalar(expr),
        }
    }

    fn bound(&mut self, binding: Binding, span: Span) -> Result<Lowered, Stop> {
        match binding {
            Binding::Variable(variable) => Ok(Lowered {
                node: Node::Variable(variable),
                affine: Some(Affine::variable(variable)),
                integer: true,
                depends_on: 1 << variable,
            }),
            Binding::Slot {
                slot,
                depends_on,
                integer,
            } => Ok(Lowered {
                node: Node::Slot(slot),
                affine: None,
                integer,
                depends_on,
            }),
            Binding::Value(value) => match value.number() {
                Some(number) => Ok(Lowered::constant(number, !matches!(value, Value::Float(_)))),
                None => Err(TestProblem::WrongKind {
                    expected: "a number; a tensor needs its indices",
                    found: value.kind(),
                }
                .at(span)),
            },
        }
    }

    /// An expression that only the interpreter knows: a constant of the notation.
    fn scalar(&mut self, expr: &Expr) -> Result<Lowered, Stop> {
        let value = self.names.scalar(expr)?;
        self.bound(Binding::Value(value), expr.span)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Result<Lowered, Stop> {
        let operand = self.expr(operand)?;
        Ok(match op {
            UnaryOp::Neg => {
                // 0 - x would turn 0 into +0 and lose the sign of zero.
                let minus_one = Lowered::constant(-1.0, true);
                arithmetic(BinaryOp::Mul, minus_one, operand)
            }
            UnaryOp::Not => arithmetic(BinaryOp::Eq, operand, Lowered::constant(0.0, true)),
        })
    }

    fn access(&mut self, base: &Expr, indices: &[Expr], span: Span) -> Result<Lowered, Stop> {
        let (name, tensor) = self.tensor(base)?;
        let shape = tensor.borrow().shape().to_vec();
        if shape.len() != indices.len() {
            return Err(TestProblem::Rank {
                tensor: name,
                expected: shape.len(),
                found: indices.len(),
            }
            .at(span));
        }
        let integer = !tensor.borrow().dtype().is_float();

        let mut lowered = Vec::with_capacity(indices.len());
        for (mode, index) in indices.iter().enumerate() {
            let extent = shape[mode];
            let index_lowered = self.expr(index)?;
            if let Some(variable) = index_lowered.affine.as_ref().and_then(Affine::as_variable) {
                self.infer(variable, extent, index.span)?;
            }
            lowered.push(index_lowered);
        }
        let depends_on = lowered.iter().fold(0, |set, index| set | index.depends_on);
        let (values, strides) = self.fastest_first(tensor.numbers(), &shape, &lowered);
        let elements = Arc::new(Elements {
            name,
            strides,
            values,
            shape,
        });
        let offset = self.offset(&elements, &lowered, indices);
        let node = match offset {
            Some(offset) => Node::Load {
                tensor: elements,
                offset,
            },
            None => Node::Gather {
                tensor: elements,
                indices: lowered.into_iter().map(|index| index.node).collect(),
            },
        };
        Ok(Lowered {
            node,
            affine: None,
            integer,
            depends_on,
        })
    }

    /// Elements and strides in which the mode that the innermost reduced variable runs over is
    /// contiguous: a column is read as often as a row, and far slower unless it is copied once.
    fn fastest_first(
        &mut self,
        values: Arc<[f64]>,
        shape: &[i64],
        indices: &[Lowered],
    ) -> (Arc<[f64]>, Vec<i64>) {
        // The tensor exists, so nothing overflows.
        let strides = row_major(shape).unwrap_or_default();
        let Some(&innermost) = self.innermost.last() else {
            return (values, strides);
        };
        let is_innermost = |index: &Lowered| {
            index.affine.as_ref().and_then(Affine::as_variable) == Some(innermost)
        };
        let last = indices.len() - 1;
        let mode = match indices.iter().position(is_innermost) {
            Some(mode) if mode != last && !is_innermost(&indices[last]) => mode,
            _ => return (values, strides),
        };
        let fast = shape[mode];
        let mut permuted_strides: Vec<i64> = strides
            .iter()
            .enumerate()
            .map(|(other, stride)| match other < mode {
                true => *stride,
                false => stride * fast,
            })
            .collect();
        permuted_strides[mode] = 1;
        let key = (values.as_ptr() as usize, mode);
        let permuted = self.permuted.entry(key).or_insert_with(|| {
            // (outer, fast, inner) becomes (outer, inner, fast).
            let (fast, inner) = (fast as usize, strides[mode] as usize);
            let mut permuted = vec![0.0; values.len()];
            if fast * inner > 0 {
                permuted
                    .par_chunks_mut(fast)
                    .enumerate()
                    .for_each(|(row, fibre)| {
                        let first = row / inner * fast * inner + row % inner;
                        for (at, value) in fibre.iter_mut().enumerate() {
                            *value = values[first + at * inner];
                        }
                    });
            }
            Arc::from(permuted)
        });
        (Arc::clone(permuted), permuted_strides)
    }

    /// The offset of an access whose indices are affine, with its bounds noted for checking; `None`
    /// where an index is computed, or where a condition around the access may guard its bounds.
    fn offset(
        &mut self,
        elements: &Arc<Elements>,
        lowered: &[Lowered],
        indices: &[Expr],
    ) -> Option<Affine> {
        let mut offset = Affine::constant(0);
        let mut checks = Vec::new();
        for (mode, index) in lowered.iter().enumerate() {
            let affine = index.affine.as_ref()?;
            let inferred = affine
                .as_variable()
                .is_some_and(|variable| !self.variable(variable).explicit);
            if self.guards > 0 && !inferred {
                return None;
            }
            offset = offset.plus(affine, elements.strides[mode])?;
            checks.push(Check {
                tensor: Arc::clone(elements),
                mode,
                index: affine.clone(),
                span: indices[mode].span,
            });
        }
        self.checks.extend(checks);
        Some(offset)
    }

    /// A variable stands alone as an index of a mode.
    fn infer(&mut self, variable: usize, extent: i64, span: Span) -> Result<(), Stop> {
        let variable = self.variable(variable);
        if variable.explicit {
            return Ok(());
        }
        match variable.extent {
            None => {
                variable.extent = Some(extent);
                Ok(())
            }
            Some(known) if known == extent => Ok(()),
            Some(known) => Err(TestProblem::TwoRanges {
                name: variable.name.clone(),
                first: known,
                second: extent,
            }
            .at(span)),
        }
    }

    /// The tensor that an access is based on.
    fn tensor(&mut self, base: &Expr) -> Result<(String, Rc<HostTensor>), Stop> {
        let (name, value) = match base.as_name() {
            Some(name) => match self.resolve(name, base.span)? {
                Binding::Value(value) => (name.to_string(), value),
                Binding::Slot { .. } => {
                    return Err(TestProblem::NotHere {
                        what: "an index of a number",
                    }
                    .at(base.span));
                }
                Binding::Variable(_) => {
                    let name = name.to_string();
                    return Err(TestProblem::UnknownName { name }.at(base.span));
                }
            },
            None => ("this tensor".to_owned(), self.names.scalar(base)?),
        };
        match value {
            Value::Tensor(tensor) => Ok((name, tensor)),
            other => Err(TestProblem::WrongKind {
                expected: "a tensor",
                found: other.kind(),
            }
            .at(base.span)),
        }
    }

    fn call(&mut self, expr: &Expr, callee: &Expr, args: &[Arg]) -> Result<Lowered, Stop> {
        let Some(name) = callee.as_name() else {
            return self.scalar(expr);
        };
        if let Some(function) = self.names.function(name) {
            return self.inline(&function, args, expr.span);
        }
        if let Some(named) = args.iter().find_map(|arg| arg.name.as_ref()) {
            return Err(TestProblem::NoSuchArgument {
                function: name.to_string(),
                argument: named.node.to_string(),
            }
            .at(named.span));
        }
        let operation = match &**name {
            "max" => Some(Operation::Max),
            "min" => Some(Operation::Min),
            _ => None,
        };
        if operation.is_none() && builtin::number_function(name).is_none() {
            return self.scalar(expr);
        }
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            arguments.push(self.expr(&arg.value)?);
        }
        let found = arguments.len();
        let count = |expected: String| {
            TestProblem::Count {
                function: name.to_string(),
                expected,
                found,
            }
            .at(expr.span)
        };
        if let Some(operation) = operation {
            return arguments
                .into_iter()
                .reduce(|lhs, rhs| combine(operation, lhs, rhs))
                .filter(|_| found >= 2)
                .ok_or_else(|| count("2 arguments or more".to_owned()));
        }
        let Some((arity, function)) = builtin::number_function(name) else {
            return self.scalar(expr);
        };
        if arity != found {
            return Err(count(builtin::arguments(arity)));
        }
        let depends_on = arguments
            .iter()
            .fold(0, |set, argument| set | argument.depends_on);
        let integer = builtin::keeps_integers(name) && arguments.iter().all(|a| a.integer);
        Ok(Lowered {
            node: Node::Call {
                function,
                arguments: arguments
                    .into_iter()
                    .map(|argument| argument.node)
                    .collect(),
            },
            affine: None,
            integer,
            depends_on,
        })
    }

    /// A call of a function of the language: its body, with the arguments as `let`s around it.
    fn inline(&mut self, function: &Function, args: &[Arg], span: Span) -> Result<Lowered, Stop> {
        if self.inlined == MAX_INLINING {
            return Err(TestProblem::Budget {
                limit: u64::from(MAX_INLINING),
                unit: "nested calls",
            }
            .at(span));
        }
        if function.params.len() != args.len() || args.iter().any(|arg| arg.name.is_some()) {
            return Err(TestProblem::Count {
                function: function.name.node.to_string(),
                expected: builtin::arguments(function.params.len()),
                found: args.len(),
            }
            .at(span));
        }
        let mut lets = Vec::new();
        let mut bound = Vec::new();
        for (param, arg) in function.params.iter().zip(args) {
            let binding = match self.whole_tensor(&arg.value)? {
                Some(value) => Binding::Value(value),
                None => {
                    let value = self.expr(&arg.value)?;
                    self.let_slot(value, &mut lets)
                }
            };
            bound.push((Arc::clone(&param.name.node), binding));
        }
        let bottom = self.scopes.len();
        self.hidden.push(bottom);
        self.scopes.extend(bound);
        self.inlined += 1;
        let body = self.block(&function.body);
        self.inlined -= 1;
        self.scopes.truncate(bottom);
        self.hidden.pop();
        Ok(wrap(lets, body?))
    }

    /// A tensor that is passed as a whole.
    fn whole_tensor(&mut self, expr: &Expr) -> Result<Option<Value>, Stop> {
        let Some(name) = expr.as_name() else {
            return Ok(None);
        };
        Ok(match self.resolve(name, expr.span)? {
            Binding::Value(value @ Value::Tensor(_)) => Some(value),
            _ => None,
        })
    }

    fn let_slot(&mut self, value: Lowered, lets: &mut Vec<(usize, Node)>) -> Binding {
        // Constants and variables are cheaper than a slot, and stay affine.
        match value.node {
            Node::Constant(number) if value.integer => {
                return Binding::Value(Value::Int(number as i64));
            }
            Node::Constant(number) => return Binding::Value(Value::Float(number)),
            Node::Variable(variable) => return Binding::Variable(variable),
            _ => {}
        }
        let slot = self.slots;
        self.slots += 1;
        lets.push((slot, value.node));
        Binding::Slot {
            slot,
            depends_on: value.depends_on,
            integer: value.integer,
        }
    }

    fn reduce(&mut self, op: &Name, vars: &[IndexVar], body: &Block) -> Result<Lowered, Stop> {
        let Some(reduction) = Reduction::by_name(&op.node) else {
            let name = op.node.to_string();
            return Err(TestProblem::UnknownFunction { name }.at(op.span));
        };
        let bottom = self.scopes.len();
        let mut variables = Vec::new();
        for var in vars {
            let number = MAX_FREE + self.reduced.len();
            if number == MAX_VARIABLES {
                return Err(TestProblem::Budget {
                    limit: (MAX_VARIABLES - MAX_FREE) as u64,
                    unit: "reduced indices in one expression",
                }
                .at(var.name.span));
            }
            let (start, extent) = match &var.range {
                None => (0, None),
                Some(range) => match self.names.scalar(range)? {
                    Value::Range {
                        start,
                        end,
                        step: 1,
                    } => (start, Some(end.saturating_sub(start).max(0))),
                    other => {
                        return Err(TestProblem::WrongKind {
                            expected: "a range of step 1",
                            found: other.kind(),
                        }
                        .at(range.span));
                    }
                },
            };
            self.reduced.push(Unranged {
                name: var.name.node.to_string(),
                span: var.name.span,
                start,
                extent,
                explicit: extent.is_some(),
            });
            variables.push(number);
            let name = Arc::clone(&var.name.node);
            self.scopes.push((name, Binding::Variable(number)));
        }
        self.innermost.extend(variables.last());
        let body = self.block(body);
        self.innermost.pop();
        self.scopes.truncate(bottom);
        let body = body?;
        let own = variables
            .iter()
            .fold(0, |set, variable| set | 1 << variable);
        let depends_on = body.depends_on & !own;
        Ok(Lowered {
            node: Node::Reduce {
                reduction,
                variables,
                depends_on,
                body: Box::new(body.node),
            },
            affine: None,
            integer: body.integer,
            depends_on,
        })
    }

    fn select(&mut self, parts: &IfExpr, span: Span) -> Result<Lowered, Stop> {
        let condition = self.expr(&parts.condition)?;
        self.guards += 1;
        let then = self.block(&parts.then);
        let otherwise = match &parts.otherwise {
            Some(ElseBranch::Block(block)) => self.block(block),
            Some(ElseBranch::If(expr)) => self.expr(expr),
            None => Err(TestProblem::NotHere {
                what: "an `if` without `else` as a number",
            }
            .at(span)),
        };
        self.guards -= 1;
        let (then, otherwise) = (then?, otherwise?);
        Ok(Lowered {
            integer: then.integer && otherwise.integer,
            depends_on: condition.depends_on | then.depends_on | otherwise.depends_on,
            affine: None,
            node: Node::Select {
                condition: Box::new(condition.node),
                then: Box::new(then.node),
                otherwise: Box::new(otherwise.node),
            },
        })
    }

    /// A block of `let`s and a value.
    fn block(&mut self, block: &Block) -> Result<Lowered, Stop> {
        let bottom = self.scopes.len();
        let mut lets = Vec::new();
        let result = self.block_inside(block, &mut lets);
        self.scopes.truncate(bottom);
        Ok(wrap(lets, result?))
    }

    fn block_inside(
        &mut self,
        block: &Block,
        lets: &mut Vec<(usize, Node)>,
    ) -> Result<Lowered, Stop> {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let(parts) => {
                    let PatternKind::Name(name) = &parts.pattern.kind else {
                        return Err(TestProblem::NotHere {
                            what: "a pattern in index notation",
                        }
                        .at(parts.pattern.span));
                    };
                    let binding = match self.whole_tensor(&parts.value)? {
                        Some(value) => Binding::Value(value),
                        None => {
                            let value = self.expr(&parts.value)?;
                            self.let_slot(value, lets)
                        }
                    };
                    self.scopes.push((Arc::clone(&name.node), binding));
                }
                StmtKind::Return(Some(value)) => return self.expr(value),
                _ => {
                    return Err(TestProblem::NotHere {
                        what: "this statement in index notation",
                    }
                    .at(stmt.span));
                }
            }
        }
        match &block.value {
            Some(value) => self.expr(value),
            None => Err(TestProblem::NotHere {
                what: "a block without a value as a number",
            }
            .at(block.span)),
        }
    }
}

fn wrap(lets: Vec<(usize, Node)>, mut body: Lowered) -> Lowered {
    if lets.is_empty() {
        return body;
    }
    for (slot, value) in lets.into_iter().rev() {
        body.node = Node::Let {
            slot,
            value: Box::new(value),
            body: Box::new(body.node),
        };
    }
    body
}

fn combine(operation: Operation, lhs: Lowered, rhs: Lowered) -> Lowered {
    Lowered {
        affine: None,
        integer: lhs.integer && rhs.integer,
        depends_on: lhs.depends_on | rhs.depends_on,
        node: Node::Binary {
            operation,
            lhs: Box::new(lhs.node),
            rhs: Box::new(rhs.node),
        },
    }
}

fn arithmetic(op: BinaryOp, lhs: Lowered, rhs: Lowered) -> Lowered {
    let integers = lhs.integer && rhs.integer;
    let affine = match (op, &lhs.affine, &rhs.affine) {
        (BinaryOp::Add, Some(a), Some(b)) => a.plus(b, 1),
        (BinaryOp::Sub, Some(a), Some(b)) => a.plus(b, -1),
        (BinaryOp::Mul, Some(a), Some(b)) if a.terms.is_empty() => {
            Affine::constant(0).plus(b, a.constant)
        }
        (BinaryOp::Mul, Some(a), Some(b)) if b.terms.is_empty() => {
            Affine::constant(0).plus(a, b.constant)
        }
        _ => None,
    };
    let operation = match op {
        BinaryOp::Or => Operation::Or,
        BinaryOp::And => Operation::And,
        BinaryOp::Eq => Operation::Eq,
        BinaryOp::Ne => Operation::Ne,
        BinaryOp::Lt => Operation::Lt,
        BinaryOp::Le => Operation::Le,
        BinaryOp::Gt => Operation::Gt,
        BinaryOp::Ge => Operation::Ge,
        BinaryOp::BitOr => Operation::BitOr,
        BinaryOp::BitXor => Operation::BitXor,
        BinaryOp::BitAnd => Operation::BitAnd,
        BinaryOp::Shl => Operation::Shl,
        BinaryOp::Shr => Operation::Shr,
        BinaryOp::Add => Operation::Add,
        BinaryOp::Sub => Operation::Sub,
        BinaryOp::Mul => Operation::Mul,
        BinaryOp::Div if integers => Operation::IntDiv,
        BinaryOp::Div => Operation::Div,
        BinaryOp::Rem => Operation::Rem,
    };
    let boolean = op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or);
    let mut result = combine(operation, lhs, rhs);
    result.integer = integers || boolean;
    result.affine = affine;
    result
}
