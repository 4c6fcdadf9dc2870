//! Runs the statements of `test` and `bench` blocks, and evaluates scalar expressions.

use super::assertion;
use super::builtin::{self, Fill};
use super::index::lower::{self, Names};
use super::launch::{KernelCall, LaunchArgument, Launcher};
use super::problem::{Stop, TestProblem};
use super::value::{HostTensor, Kind, Value};
use cutec_frontend::ast::{
    Arg, BinaryOp, Block, ElseBranch, Expr, ExprKind, For, Function, IfExpr, Item, ItemKind,
    Kernel, Let, Name, Pattern, PatternKind, Stmt, StmtKind, UnaryOp,
};
use cutec_frontend::source::{SourceMap, Span};
use cutec_runtime::{DType, Tensor};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Statements and calls that one block may take.
const MAX_STEPS: u64 = 10_000_000;
/// Elements that the tensors of one block may have in all: 32 GiB as `f32`.
const MAX_ELEMENTS: u64 = 1 << 33;
/// How deep functions may call each other.
const MAX_CALLS: usize = 200;

/// What a block did.
#[derive(Debug, Clone, Default)]
pub struct BlockReport {
    /// Assertions that were checked.
    pub assertions: u64,
    /// Kernels that were launched.
    pub launches: u64,
}

/// Evaluates blocks over the items of a program.
pub struct Interpreter<'a> {
    sources: &'a SourceMap,
    functions: HashMap<Arc<str>, Rc<Function>>,
    kernels: HashMap<Arc<str>, &'a Kernel>,
    constants: HashMap<Arc<str>, &'a Expr>,
    launcher: &'a dyn Launcher,
    /// Scopes of the running function, innermost last.
    scopes: RefCell<Vec<HashMap<Arc<str>, Variable>>>,
    calls: Cell<usize>,
    steps: Cell<u64>,
    elements: Cell<u64>,
    seed: Cell<u64>,
    tensors: Cell<u64>,
    report: RefCell<BlockReport>,
}

/// A variable of a block.
#[derive(Clone)]
struct Variable {
    value: Value,
    mutable: bool,
}

/// How a statement ended.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
}

impl<'a> Interpreter<'a> {
    /// An interpreter over `items`, the items of a file and of all that it imports.
    pub fn new(
        sources: &'a SourceMap,
        items: impl IntoIterator<Item = &'a Item>,
        launcher: &'a dyn Launcher,
    ) -> Self {
        let mut functions = HashMap::new();
        let mut kernels = HashMap::new();
        let mut constants = HashMap::new();
        for item in items {
            match &item.kind {
                ItemKind::Function(function) => {
                    let name = Arc::clone(&function.name.node);
                    functions.insert(name, Rc::new(function.clone()));
                }
                ItemKind::Kernel(kernel) => {
                    kernels.insert(Arc::clone(&kernel.name.node), kernel);
                }
                ItemKind::Const(constant) => {
                    constants.insert(Arc::clone(&constant.name.node), &constant.value);
                }
                _ => {}
            }
        }
        Self {
            sources,
            functions,
            kernels,
            constants,
            launcher,
            scopes: RefCell::new(Vec::new()),
            calls: Cell::new(0),
            steps: Cell::new(0),
            elements: Cell::new(0),
            seed: Cell::new(0),
            tensors: Cell::new(0),
            report: RefCell::new(BlockReport::default()),
        }
    }

    /// Runs one block; `seed` and `name` decide its random data.
    ///
    /// # Errors
    /// The first assertion that does not hold, or what else went wrong.
    pub fn run(&self, name: &str, body: &Block, seed: u64) -> Result<BlockReport, Stop> {
        // FNV-1a, so that each test has data of its own whatever stands before it.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        self.seed.set(hash ^ seed);
        self.tensors.set(0);
        self.steps.set(0);
        self.elements.set(0);
        self.calls.set(0);
        *self.scopes.borrow_mut() = Vec::new();
        *self.report.borrow_mut() = BlockReport::default();
        self.block(body)?;
        Ok(self.report.borrow().clone())
    }

    /// The values of the integers and conditions in scope, for messages.
    pub fn scalars_in_scope(&self) -> Vec<(String, String)> {
        let scopes = self.scopes.borrow();
        let mut found: Vec<(String, String)> = scopes
            .iter()
            .flatten()
            .filter(|(_, variable)| matches!(variable.value, Value::Int(_) | Value::Bool(_)))
            .filter_map(|(name, variable)| Some((name.to_string(), variable.value.source_text()?)))
            .collect();
        found.sort();
        found
    }

    pub(super) fn count_assertion(&self) {
        self.report.borrow_mut().assertions += 1;
    }

    fn step(&self, span: Span) -> Result<(), Stop> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS {
            let unit = "steps";
            let limit = MAX_STEPS;
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        Ok(())
    }

    fn block(&self, block: &Block) -> Result<(Flow, Option<Value>), Stop> {
        self.scopes.borrow_mut().push(HashMap::new());
        let result = self.block_inside(block);
        self.scopes.borrow_mut().pop();
        result
    }

    fn block_inside(&self, block: &Block) -> Result<(Flow, Option<Value>), Stop> {
        for stmt in &block.stmts {
            match self.statement(stmt)? {
                Flow::Next => {}
                flow => return Ok((flow, None)),
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

    fn branch(&self, parts: &IfExpr) -> Result<(Flow, Option<Value>), Stop> {
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

    fn condition(&self, expr: &Expr) -> Result<bool, Stop> {
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
            PatternKind::Tuple(patterns) => match value {
                Value::Tuple(values) if values.len() == patterns.len() => {
                    for (pattern, value) in patterns.iter().zip(values) {
                        self.bind(pattern, value, mutable)?;
                    }
                    Ok(())
                }
                Value::Tuple(values) => Err(TestProblem::Count {
                    function: "this pattern".to_owned(),
                    expected: format!("{} values", patterns.len()),
                    found: values.len(),
                }
                .at(pattern.span)),
                other => Err(wrong_kind("a tuple", &other, pattern.span)),
            },
        }
    }

    fn assign(&self, target: &Expr, op: Option<BinaryOp>, value: &Expr) -> Result<(), Stop> {
        if let ExprKind::Index { base, indices } = &*target.kind {
            return assertion::assign_elements(self, target, base, indices, op, value);
        }
        let Some(name) = target.as_name() else {
            let what = "this left side of an assignment";
            return Err(TestProblem::NotHere { what }.at(target.span));
        };
        let mut new = self.expr(value)?;
        if let Some(op) = op {
            let old = self.expr(target)?;
            new = binary(op, old, new, target.span.to(value.span))?;
        }
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
                Err(TestProblem::NotHere { what }.at(target.span))
            }
            None => {
                let name = name.to_string();
                Err(TestProblem::UnknownName { name }.at(target.span))
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
            Some(name) if self.kernels.contains_key(name) => {
                self.launch(name, generics, args, expr.span)
            }
            _ => self.expr(expr).map(|_| ()),
        }
    }

    fn launch(&self, name: &str, generics: &[Arg], args: &[Arg], span: Span) -> Result<(), Stop> {
        let kernel = self.kernels[name];
        let defines = self.defines(kernel, generics)?;
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            if let Some(named) = &arg.name {
                return Err(TestProblem::NoSuchArgument {
                    function: name.to_owned(),
                    argument: named.node.to_string(),
                }
                .at(named.span));
            }
            let value = self.expr(&arg.value)?;
            arguments.push(match &value {
                Value::Tensor(tensor) => LaunchArgument::Tensor(Rc::clone(tensor)),
                other => match other.number() {
                    Some(number) => LaunchArgument::Number(number),
                    None => {
                        return Err(wrong_kind("a tensor or a number", other, arg.value.span));
                    }
                },
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
            span,
        })
    }

    /// The compile-time parameters of a launch, as text.
    fn defines(&self, kernel: &Kernel, generics: &[Arg]) -> Result<Vec<(String, String)>, Stop> {
        let mut defines = Vec::new();
        for (position, arg) in generics.iter().enumerate() {
            let name = match &arg.name {
                Some(name) => name.node.to_string(),
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

    /// Evaluates an expression without index variables.
    pub(super) fn expr(&self, expr: &Expr) -> Result<Value, Stop> {
        let span = expr.span;
        match &*expr.kind {
            ExprKind::Int { value, .. } => i64::try_from(*value)
                .map(Value::Int)
                .map_err(|_| TestProblem::Overflow.at(span)),
            ExprKind::Float { value, .. } => Ok(Value::Float(*value)),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Str(text) => Ok(Value::Text(Arc::clone(text))),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                let parts: Result<Vec<Value>, Stop> =
                    parts.iter().map(|part| self.expr(part)).collect();
                parts.map(Value::Tuple)
            }
            ExprKind::Range { start, end, step } => {
                let step = match step {
                    Some(step) => self.integer(step)?,
                    None => 1,
                };
                if step == 0 {
                    let what = "a range of step 0";
                    return Err(TestProblem::NotHere { what }.at(span));
                }
                Ok(Value::Range {
                    start: self.integer(start)?,
                    end: self.integer(end)?,
                    step,
                })
            }
            ExprKind::Unary { op, operand } => match (op.node, self.expr(operand)?) {
                (UnaryOp::Neg, Value::Int(value)) => value
                    .checked_neg()
                    .map(Value::Int)
                    .ok_or_else(|| TestProblem::Overflow.at(span)),
                (UnaryOp::Neg, Value::Float(value)) => Ok(Value::Float(-value)),
                (UnaryOp::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
                (UnaryOp::Not, other) => Err(wrong_kind("a condition", &other, operand.span)),
                (UnaryOp::Neg, other) => Err(wrong_kind("a number", &other, operand.span)),
            },
            ExprKind::Binary { op, lhs, rhs } => self.binary(op.node, lhs, rhs, span),
            ExprKind::If(parts) => self.valued(self.branch(parts)?, span),
            ExprKind::Block(block) => self.valued(self.block(block)?, span),
            ExprKind::Field { base, name } => self.field(base, name),
            ExprKind::Index { base, indices } => self.index(expr, base, indices),
            ExprKind::Call { callee, args } => self.call(callee, args, span),
            ExprKind::Reduce { .. } => self.number(expr),
            ExprKind::Wildcard => Err(TestProblem::NotHere { what: "`_`" }.at(span)),
            ExprKind::Layout { .. } | ExprKind::Compose(_) | ExprKind::ScaledBasis { .. } => {
                let what = "a layout as a value";
                Err(TestProblem::NotHere { what }.at(span))
            }
            ExprKind::Generic { .. } => {
                let what = "compile-time arguments without a call";
                Err(TestProblem::NotHere { what }.at(span))
            }
            ExprKind::Error => {
                let what = "what could not be read";
                Err(TestProblem::NotHere { what }.at(span))
            }
        }
    }

    fn valued(&self, result: (Flow, Option<Value>), span: Span) -> Result<Value, Stop> {
        match result {
            (Flow::Next, Some(value)) => Ok(value),
            _ => Err(TestProblem::WrongKind {
                expected: "a value",
                found: Kind::Nothing,
            }
            .at(span)),
        }
    }

    fn name(&self, name: &Arc<str>, span: Span) -> Result<Value, Stop> {
        if let Some(value) = self.value(name) {
            return Ok(value);
        }
        let name = name.to_string();
        Err(TestProblem::UnknownName { name }.at(span))
    }

    fn integer(&self, expr: &Expr) -> Result<i64, Stop> {
        match self.expr(expr)? {
            Value::Int(value) => Ok(value),
            other => Err(wrong_kind("an integer", &other, expr.span)),
        }
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr, span: Span) -> Result<Value, Stop> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let lhs = self.condition(lhs)?;
            return match (op, lhs) {
                (BinaryOp::And, false) | (BinaryOp::Or, true) => Ok(Value::Bool(lhs)),
                _ => self.condition(rhs).map(Value::Bool),
            };
        }
        binary(op, self.expr(lhs)?, self.expr(rhs)?, span)
    }

    fn field(&self, base: &Expr, name: &Name) -> Result<Value, Stop> {
        let base_value = self.expr(base)?;
        match (&*name.node, &base_value) {
            ("shape", Value::Tensor(tensor)) => {
                let tensor = tensor.borrow();
                let shape = tensor.shape().iter().copied();
                Ok(Value::Tuple(shape.map(Value::Int).collect()))
            }
            ("dtype", Value::Tensor(tensor)) => Ok(Value::DType(tensor.borrow().dtype())),
            (other, _) => {
                let name = other.to_owned();
                Err(TestProblem::UnknownName { name }.at(base.span))
            }
        }
    }

    /// An element of a tuple, or of a tensor.
    fn index(&self, expr: &Expr, base: &Expr, indices: &[Expr]) -> Result<Value, Stop> {
        let value = self.expr(base)?;
        let Value::Tuple(parts) = value else {
            return self.number(expr);
        };
        let [index] = indices else {
            return Err(TestProblem::Rank {
                tensor: "the tuple".to_owned(),
                expected: 1,
                found: indices.len(),
            }
            .at(expr.span));
        };
        let at = self.integer(index)?;
        let found = usize::try_from(at).ok().and_then(|at| parts.get(at));
        found.cloned().ok_or_else(|| {
            TestProblem::OutOfRange {
                tensor: "the tuple".to_owned(),
                mode: 0,
                extent: parts.len() as i64,
                low: at,
                high: at,
            }
            .at(index.span)
        })
    }

    /// An expression of index notation without indices of its own: one number.
    fn number(&self, expr: &Expr) -> Result<Value, Stop> {
        let program = lower::lower(self, &[expr], &[])?;
        if let Some(index) = program.variables[..program.free].first() {
            let name = index.name.clone();
            return Err(TestProblem::UnknownName { name }.at(expr.span));
        }
        let number = program.fold(
            || f64::NAN,
            |_, block| block.roots[0][0],
            |a, b| if a.is_nan() { b } else { a },
        );
        Ok(Value::Float(number))
    }

    fn call(&self, callee: &Expr, args: &[Arg], span: Span) -> Result<Value, Stop> {
        self.step(span)?;
        let (Some(name), generics) = callee_name(callee) else {
            let what = "a call of this";
            return Err(TestProblem::NotHere { what }.at(callee.span));
        };
        if let Some(function) = self.functions.get(name) {
            return self.call_function(&Rc::clone(function), args, span);
        }
        if self.kernels.contains_key(name) {
            let what = "a launch as a value: a kernel writes to its arguments";
            return Err(TestProblem::NotHere { what }.at(span));
        }
        if let Some(fill) = Fill::by_name(name, 0.0, 1.0) {
            return self.make_tensor(name, fill, generics, args, span);
        }
        match &**name {
            "size" | "rank" => self.size(name, generics, args, span),
            "full" => self.full(generics, args, span),
            _ => self.call_numbers(name, args, span),
        }
    }

    fn call_function(&self, function: &Function, args: &[Arg], span: Span) -> Result<Value, Stop> {
        let count = |found| {
            TestProblem::Count {
                function: function.name.node.to_string(),
                expected: builtin::arguments(function.params.len()),
                found,
            }
            .at(span)
        };
        if function.params.len() != args.len() {
            return Err(count(args.len()));
        }
        if self.calls.get() == MAX_CALLS {
            let limit = MAX_CALLS as u64;
            let unit = "nested calls";
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        let mut scope = HashMap::new();
        for (param, arg) in function.params.iter().zip(args) {
            let value = self.expr(&arg.value)?;
            let mutable = false;
            scope.insert(Arc::clone(&param.name.node), Variable { value, mutable });
        }
        let outside = self.scopes.replace(vec![scope]);
        self.calls.set(self.calls.get() + 1);
        let result = self.block(&function.body);
        self.calls.set(self.calls.get() - 1);
        *self.scopes.borrow_mut() = outside;
        match result? {
            (Flow::Return(Some(value)), _) | (_, Some(value)) => Ok(value),
            _ => Ok(Value::Tuple(Vec::new())),
        }
    }

    /// `random<f16>(m, n)`, `zeros<f32>((m, n) : (1, m))`, `uniform<f32>(n, low = -1, high = 1)`.
    fn make_tensor(
        &self,
        name: &str,
        fill: Fill,
        generics: &[Arg],
        args: &[Arg],
        span: Span,
    ) -> Result<Value, Stop> {
        let dtype = self.dtype_argument(name, generics, span)?;
        let (mut low, mut high) = (0.0, 1.0);
        let mut extents = Vec::new();
        let mut strides = None;
        for arg in args {
            match &arg.name {
                None => match &*arg.value.kind {
                    ExprKind::Layout { shape, stride } => {
                        self.extents(shape, &mut extents)?;
                        let mut found = Vec::new();
                        self.extents(stride, &mut found)?;
                        strides = Some(found);
                    }
                    _ => self.extents(&arg.value, &mut extents)?,
                },
                Some(named) => {
                    let value = self.expr(&arg.value)?;
                    let number = value
                        .number()
                        .ok_or_else(|| wrong_kind("a number", &value, arg.value.span))?;
                    match &*named.node {
                        "low" if name == "uniform" => low = number,
                        "high" if name == "uniform" => high = number,
                        other => {
                            return Err(TestProblem::NoSuchArgument {
                                function: name.to_owned(),
                                argument: other.to_owned(),
                            }
                            .at(named.span));
                        }
                    }
                }
            }
        }
        let fill = match fill {
            Fill::Uniform(..) => Fill::Uniform(low, high),
            other => other,
        };
        self.new_tensor(fill, dtype, &extents, strides.as_deref(), span)
    }

    /// `full<f32>(1.5, m, n)`
    fn full(&self, generics: &[Arg], args: &[Arg], span: Span) -> Result<Value, Stop> {
        let dtype = self.dtype_argument("full", generics, span)?;
        let Some((value, args)) = args.split_first() else {
            return Err(TestProblem::Count {
                function: "full".to_owned(),
                expected: "a value and extents".to_owned(),
                found: 0,
            }
            .at(span));
        };
        let number = self.expr(&value.value)?;
        let number = number
            .number()
            .ok_or_else(|| wrong_kind("a number", &number, value.value.span))?;
        let mut extents = Vec::new();
        for arg in args {
            self.extents(&arg.value, &mut extents)?;
        }
        self.new_tensor(Fill::Constant(number), dtype, &extents, None, span)
    }

    fn new_tensor(
        &self,
        fill: Fill,
        dtype: DType,
        extents: &[i64],
        strides: Option<&[i64]>,
        span: Span,
    ) -> Result<Value, Stop> {
        let elements = extents
            .iter()
            .try_fold(1_u64, |product, extent| {
                product.checked_mul(u64::try_from(*extent).ok()?)
            })
            .and_then(|elements| elements.checked_add(self.elements.get()))
            .unwrap_or(u64::MAX);
        if elements > MAX_ELEMENTS && extents.iter().all(|extent| *extent >= 0) {
            let limit = MAX_ELEMENTS;
            let unit = "elements";
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        self.elements.set(elements);
        let number = self.tensors.get();
        self.tensors.set(number + 1);
        let seed = self.seed.get().wrapping_add(number);
        let tensor: Tensor =
            builtin::make_tensor(fill, dtype, extents, strides, seed).map_err(|error| {
                let reason = error.to_string();
                TestProblem::Shape { reason }.at(span)
            })?;
        Ok(Value::Tensor(HostTensor::new(tensor)))
    }

    fn dtype_argument(&self, name: &str, generics: &[Arg], span: Span) -> Result<DType, Stop> {
        let [arg] = generics else {
            return Err(TestProblem::Count {
                function: name.to_owned(),
                expected: "one element type between `<` and `>`".to_owned(),
                found: generics.len(),
            }
            .at(span));
        };
        match self.expr(&arg.value)? {
            Value::DType(dtype) => Ok(dtype),
            other => Err(wrong_kind("an element type", &other, arg.value.span)),
        }
    }

    /// Integers, and the integers in tuples, one after the other.
    fn extents(&self, expr: &Expr, extents: &mut Vec<i64>) -> Result<(), Stop> {
        fn collect(value: &Value, span: Span, extents: &mut Vec<i64>) -> Result<(), Stop> {
            match value {
                Value::Int(extent) => {
                    extents.push(*extent);
                    Ok(())
                }
                Value::Tuple(parts) => parts
                    .iter()
                    .try_for_each(|part| collect(part, span, extents)),
                other => Err(wrong_kind("extents", other, span)),
            }
        }
        collect(&self.expr(expr)?, expr.span, extents)
    }

    /// `size(x)`, `size<1>(x)`, `rank(x)` of a tensor or a tuple.
    fn size(&self, name: &str, generics: &[Arg], args: &[Arg], span: Span) -> Result<Value, Stop> {
        let [arg] = args else {
            return Err(TestProblem::Count {
                function: name.to_owned(),
                expected: builtin::arguments(1),
                found: args.len(),
            }
            .at(span));
        };
        let extents: Vec<i64> = match self.expr(&arg.value)? {
            Value::Tensor(tensor) => tensor.borrow().shape().to_vec(),
            Value::Tuple(_) => {
                let mut extents = Vec::new();
                self.extents(&arg.value, &mut extents)?;
                extents
            }
            other => return Err(wrong_kind("a tensor or a tuple", &other, arg.value.span)),
        };
        if name == "rank" {
            return Ok(Value::Int(extents.len() as i64));
        }
        let Some(mode) = generics.first() else {
            return Ok(Value::Int(extents.iter().product()));
        };
        let at = self.integer(&mode.value)?;
        let extent = usize::try_from(at).ok().and_then(|at| extents.get(at));
        extent.map(|extent| Value::Int(*extent)).ok_or_else(|| {
            TestProblem::OutOfRange {
                tensor: "the shape".to_owned(),
                mode: 0,
                extent: extents.len() as i64,
                low: at,
                high: at,
            }
            .at(mode.span)
        })
    }

    fn call_numbers(&self, name: &str, args: &[Arg], span: Span) -> Result<Value, Stop> {
        let mut numbers = Vec::with_capacity(args.len());
        let mut integers = true;
        for arg in args {
            if let Some(named) = &arg.name {
                return Err(TestProblem::NoSuchArgument {
                    function: name.to_owned(),
                    argument: named.node.to_string(),
                }
                .at(named.span));
            }
            let value = self.expr(&arg.value)?;
            let number = value
                .number()
                .ok_or_else(|| wrong_kind("a number", &value, arg.value.span))?;
            integers &= !matches!(value, Value::Float(_));
            numbers.push(number);
        }
        let result = match (name, builtin::number_function(name)) {
            ("max", _) if numbers.len() >= 2 => {
                numbers.into_iter().fold(f64::NEG_INFINITY, f64::max)
            }
            ("min", _) if numbers.len() >= 2 => numbers.into_iter().fold(f64::INFINITY, f64::min),
            (_, Some((arity, function))) if arity == numbers.len() => {
                integers &= builtin::keeps_integers(name);
                function(&numbers)
            }
            (_, Some((arity, _))) => {
                return Err(TestProblem::Count {
                    function: name.to_owned(),
                    expected: builtin::arguments(arity),
                    found: numbers.len(),
                }
                .at(span));
            }
            _ => {
                let name = name.to_owned();
                return Err(TestProblem::UnknownFunction { name }.at(span));
            }
        };
        Ok(match integers && result.abs() < 2f64.powi(53) {
            true => Value::Int(result as i64),
            false => Value::Float(result),
        })
    }
}

impl Names for Interpreter<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let found = self
            .scopes
            .borrow()
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).map(|variable| variable.value.clone()));
        if found.is_some() {
            return found;
        }
        if let Some(constant) = self.constants.get(name) {
            // A constant sees other constants, not the scopes of whoever uses it.
            if self.calls.get() == MAX_CALLS {
                return None;
            }
            self.calls.set(self.calls.get() + 1);
            let outside = self.scopes.replace(Vec::new());
            let value = self.expr(constant).ok();
            *self.scopes.borrow_mut() = outside;
            self.calls.set(self.calls.get() - 1);
            return value;
        }
        name.parse().ok().map(Value::DType)
    }

    fn function(&self, name: &str) -> Option<Rc<Function>> {
        self.functions.get(name).cloned()
    }

    fn scalar(&self, expr: &Expr) -> Result<Value, Stop> {
        self.expr(expr)
    }
}

/// The name that is called, and the compile-time arguments behind it.
fn callee_name(callee: &Expr) -> (Option<&Arc<str>>, &[Arg]) {
    match &*callee.kind {
        ExprKind::Generic { base, args } => (base.as_name(), args),
        _ => (callee.as_name(), &[]),
    }
}

pub(super) fn wrong_kind(expected: &'static str, found: &Value, span: Span) -> Stop {
    let found = found.kind();
    TestProblem::WrongKind { expected, found }.at(span)
}

fn binary(op: BinaryOp, lhs: Value, rhs: Value, span: Span) -> Result<Value, Stop> {
    use BinaryOp::*;
    let overflow = || TestProblem::Overflow.at(span);
    match (lhs, rhs) {
        (Value::Int(a), Value::Int(b)) => {
            if matches!(op, Div | Rem) && b == 0 {
                return Err(TestProblem::DivisionByZero.at(span));
            }
            let shift = u32::try_from(b).ok();
            let value = match op {
                Add => a.checked_add(b),
                Sub => a.checked_sub(b),
                Mul => a.checked_mul(b),
                Div => a.checked_div(b),
                Rem => a.checked_rem(b),
                BitAnd => Some(a & b),
                BitOr => Some(a | b),
                BitXor => Some(a ^ b),
                Shl => shift.and_then(|shift| a.checked_shl(shift)),
                Shr => shift.and_then(|shift| a.checked_shr(shift)),
                _ => return Ok(Value::Bool(compare(op, &a, &b))),
            };
            value.map(Value::Int).ok_or_else(overflow)
        }
        (Value::Bool(a), Value::Bool(b)) => match op {
            Eq => Ok(Value::Bool(a == b)),
            Ne => Ok(Value::Bool(a != b)),
            _ => Err(wrong_kind("a number", &Value::Bool(a), span)),
        },
        (Value::DType(a), Value::DType(b)) if matches!(op, Eq | Ne) => {
            Ok(Value::Bool((a == b) == (op == Eq)))
        }
        (lhs, rhs) => {
            let a = lhs
                .number()
                .ok_or_else(|| wrong_kind("a number", &lhs, span))?;
            let b = rhs
                .number()
                .ok_or_else(|| wrong_kind("a number", &rhs, span))?;
            let value = match op {
                Add => a + b,
                Sub => a - b,
                Mul => a * b,
                Div => a / b,
                Rem => a % b,
                BitAnd | BitOr | BitXor | Shl | Shr => {
                    let wrong = if matches!(lhs, Value::Int(_)) {
                        &rhs
                    } else {
                        &lhs
                    };
                    return Err(wrong_kind("an integer", wrong, span));
                }
                _ => return Ok(Value::Bool(compare(op, &a, &b))),
            };
            Ok(Value::Float(value))
        }
    }
}

fn compare<T: PartialOrd>(op: BinaryOp, a: &T, b: &T) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => false,
    }
}
