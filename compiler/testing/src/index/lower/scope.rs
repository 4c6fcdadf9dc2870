//! What has names or branches of its own: calls, reductions, `if`, blocks.

use super::super::{Node, Operation, Reduced, Reduction};
use super::{
    Binding, Lowered, Lowerer, MAX_FREE, MAX_INLINING, MAX_VARIABLES, Unranged, combine, wrap,
};
use crate::builtin;
use crate::problem::{Stop, TestProblem};
use crate::value::{Kind, Value};
use cutec_frontend::ast::{
    Arg, Block, ElseBranch, Expr, ExprKind, Function, IfExpr, IndexVar, Name, Pattern, PatternKind,
    StmtKind,
};
use cutec_frontend::source::Span;
use std::sync::Arc;

/// What a reduced variable runs over.
enum Range {
    /// What follows from the places where it stands alone as an index.
    Inferred,
    /// This.
    Known { start: i64, extent: i64 },
    /// What depends on other variables.
    Computed { start: Lowered, end: Lowered },
}

impl Lowerer<'_> {
    pub(super) fn call(
        &mut self,
        expr: &Expr,
        callee: &Expr,
        args: &[Arg],
    ) -> Result<Lowered, Stop> {
        let Some(name) = callee.as_name() else {
            return self.scalar(expr);
        };
        let (name, file) = self.names.called(name, callee.span.file);
        let name = &*name;
        if let Some(function) = self.names.function(name, file) {
            return self.inline(function, args, expr.span);
        }
        if let Some(named) = args.iter().find_map(|arg| arg.name.as_ref()) {
            return Err(TestProblem::NoSuchArgument {
                function: name.to_string(),
                argument: named.node.to_string(),
            }
            .at(named.span));
        }
        let operation = match name {
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
        let constant = |argument: &Lowered| match argument.node {
            Node::Constant(value) => Some(value),
            _ => None,
        };
        if let Some(values) = arguments.iter().map(constant).collect::<Option<Vec<f64>>>() {
            return Ok(Lowered::constant(function(&values), integer));
        }
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
        let statement = statement_of(&function.body);
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
        if let Some(statement) = statement {
            let known = bound.into_iter().map(|(_, binding)| match binding {
                Binding::Value(value) => Some(value),
                Binding::Variable(_) | Binding::Slot { .. } => None,
            });
            let Some(known) = known.collect::<Option<Vec<Value>>>() else {
                return Err(TestProblem::OfIndex.at(statement));
            };
            let value = self.names.apply(function, known, span)?;
            return self.bound(Binding::Value(value), span);
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

    pub(super) fn reduce(
        &mut self,
        op: &Name,
        vars: &[IndexVar],
        body: &Block,
    ) -> Result<Lowered, Stop> {
        let Some(reduction) = Reduction::by_name(&op.node) else {
            return Err(TestProblem::UnknownReduction {
                name: op.node.to_string(),
            }
            .at(op.span));
        };
        let bottom = self.scopes.len();
        let mut variables = Vec::new();
        let mut depends_on = 0;
        for var in vars {
            let range = match &var.range {
                None => Range::Inferred,
                Some(range) => self.range(range)?,
            };
            // After the range, in which other variables of the reduction may stand.
            let number = MAX_FREE + self.reduced.len();
            if number == MAX_VARIABLES {
                return Err(TestProblem::Budget {
                    limit: (MAX_VARIABLES - MAX_FREE) as u64,
                    unit: "reduced indices in one expression",
                }
                .at(var.name.span));
            }
            let (start, extent) = match &range {
                Range::Inferred => (0, None),
                Range::Known { start, extent } => (*start, Some(*extent)),
                Range::Computed { .. } => (0, Some(0)),
            };
            self.reduced.push(Unranged {
                name: var.name.node.to_string(),
                span: var.name.span,
                start,
                extent,
                at_most: None,
                guarded: None,
                guarded_clash: None,
                explicit: extent.is_some(),
                computed: matches!(range, Range::Computed { .. }),
            });
            variables.push(Reduced {
                variable: number,
                computed: match range {
                    Range::Inferred | Range::Known { .. } => None,
                    Range::Computed { start, end } => {
                        depends_on |= start.depends_on | end.depends_on;
                        Some((start.node, end.node))
                    }
                },
            });
            let name = Arc::clone(&var.name.node);
            self.scopes.push((name, Binding::Variable(number)));
        }
        let innermost = variables.last().map(|reduced| reduced.variable);
        self.innermost.extend(innermost);
        let body = self.block(body);
        if innermost.is_some() {
            self.innermost.pop();
        }
        self.scopes.truncate(bottom);
        let body = body?;
        let own = variables
            .iter()
            .fold(0, |set, reduced| set | 1 << reduced.variable);
        let depends_on = (depends_on | body.depends_on) & !own;
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

    /// The range of a reduced variable: known now, or where the variables around have values.
    fn range(&mut self, range: &Expr) -> Result<Range, Stop> {
        if let ExprKind::Range { start, end, step } = &*range.kind
            && step.is_none()
        {
            let (start_at, end_at) = (start.span, end.span);
            self.ranges += 1;
            let bounds = self
                .expr(start)
                .and_then(|start| Ok((start, self.expr(end)?)));
            self.ranges -= 1;
            let (start, end) = bounds?;
            for (bound, span) in [(&start, start_at), (&end, end_at)] {
                if !bound.integer {
                    return Err(TestProblem::WrongKind {
                        expected: "an integer",
                        found: Kind::Float,
                    }
                    .at(span));
                }
            }
            let constant = |bound: &Lowered| match &bound.affine {
                Some(affine) if affine.terms.is_empty() => Some(affine.constant),
                _ => None,
            };
            return Ok(match (constant(&start), constant(&end)) {
                (Some(start), Some(end)) => Range::Known {
                    start,
                    extent: end.saturating_sub(start).max(0),
                },
                _ => Range::Computed { start, end },
            });
        }
        match self.names.scalar(range)? {
            Value::Range {
                start,
                end,
                step: 1,
            } => Ok(Range::Known {
                start,
                extent: end.saturating_sub(start).max(0),
            }),
            other => Err(TestProblem::WrongKind {
                expected: "a range of step 1",
                found: other.kind(),
            }
            .at(range.span)),
        }
    }

    pub(super) fn select(&mut self, parts: &IfExpr, span: Span) -> Result<Lowered, Stop> {
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
    pub(super) fn block(&mut self, block: &Block) -> Result<Lowered, Stop> {
        let bottom = self.scopes.len();
        let mut lets = Vec::new();
        let result = self.block_inside(block, &mut lets);
        self.scopes.truncate(bottom);
        Ok(wrap(lets, result?))
    }

    /// What the names of a pattern are, of a tuple's parts those of its own; none of them is known to another.
    fn bind(
        &mut self,
        pattern: &Pattern,
        value: &Expr,
        lets: &mut Vec<(usize, Node)>,
        bound: &mut Vec<(Arc<str>, Binding)>,
    ) -> Result<(), Stop> {
        match (&pattern.kind, &*value.kind) {
            (PatternKind::Name(name), _) => {
                let binding = match self.whole_tensor(value)? {
                    Some(value) => Binding::Value(value),
                    None => {
                        let value = self.expr(value)?;
                        self.let_slot(value, lets)
                    }
                };
                bound.push((Arc::clone(&name.node), binding));
                Ok(())
            }
            (PatternKind::Wildcard, _) => self.expr(value).map(drop),
            (PatternKind::Tuple(patterns), ExprKind::Tuple(values))
                if patterns.len() == values.len() =>
            {
                let mut parts = patterns.iter().zip(values);
                parts.try_for_each(|(pattern, value)| self.bind(pattern, value, lets, bound))
            }
            _ => Err(TestProblem::NotHere {
                what: "a pattern of another shape than its value in index notation",
            }
            .at(pattern.span)),
        }
    }

    fn block_inside(
        &mut self,
        block: &Block,
        lets: &mut Vec<(usize, Node)>,
    ) -> Result<Lowered, Stop> {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Let(parts) => {
                    let mut bound = Vec::new();
                    self.bind(&parts.pattern, &parts.value, lets, &mut bound)?;
                    self.scopes.extend(bound);
                }
                StmtKind::Return(Some(value)) => return self.expr(value),
                _ => return Err(TestProblem::OfIndex.at(stmt.span)),
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

/// The first statement of a body that is no part of an expression: a loop, an assignment, a return on one path alone.
fn statement_of(block: &Block) -> Option<Span> {
    let statements = block.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Let(parts) => statement_in(&parts.value),
        StmtKind::Return(Some(value)) => statement_in(value),
        _ => Some(stmt.span),
    });
    statements.or_else(|| block.value.as_ref().and_then(statement_in))
}

fn statement_in(value: &Expr) -> Option<Span> {
    match &*value.kind {
        ExprKind::Block(block) => statement_of(block),
        ExprKind::If(parts) => {
            let otherwise = parts.otherwise.as_ref();
            statement_of(&parts.then).or_else(|| match otherwise? {
                ElseBranch::Block(block) => statement_of(block),
                ElseBranch::If(expr) => statement_in(expr),
            })
        }
        _ => None,
    }
}
