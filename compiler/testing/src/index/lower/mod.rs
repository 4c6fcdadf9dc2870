//! Expressions of the language → [`Program`].
//!
//! In reading order: names, indices and operators here; [`access`], elements of tensors and the ranges
//! that follow from them; [`scope`], what has names or branches of its own: functions, reductions,
//! blocks, `if`.

mod access;
mod scope;

use super::super::problem::{Stop, TestProblem};
use super::super::value::Value;
use super::{Affine, Elements, Node, Operation, Program, Variable};
use cutec_frontend::ast::{BinaryOp, Expr, ExprKind, Function, Name, UnaryOp};
use cutec_frontend::source::{FileId, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Indices of a result; variables of reductions are numbered from here.
const MAX_FREE: usize = 8;
/// Variables in all, which fit a set of bits.
const MAX_VARIABLES: usize = 64;
/// How deep functions may be inlined.
const MAX_INLINING: u32 = 64;

/// Where names come from.
pub trait Names {
    /// The value of a name in a file, if it has one.
    fn value(&self, name: &str, file: FileId) -> Option<Value>;
    /// The function that a file calls by this name, unless that is one of [`builtin`](crate::builtin): those come before the
    /// library's, which are of f32.
    fn function(&self, name: &str, file: FileId) -> Option<&Function>;
    /// Evaluates an expression without index variables.
    ///
    /// # Errors
    /// What is wrong with it.
    fn scalar(&self, expr: &Expr) -> Result<Value, Stop>;
    /// Calls a function with these arguments, as many as it has parameters.
    ///
    /// # Errors
    /// What is wrong with it.
    fn apply(&self, function: &Function, arguments: Vec<Value>, span: Span) -> Result<Value, Stop>;
    /// The known name that is most like an unknown one, if one is like it at all.
    fn closest(&self, name: &str, file: FileId) -> Option<String>;
    /// The error of a name that nothing has.
    fn unknown(&self, name: &str, span: Span) -> Stop {
        let closest = self.closest(name, span.file);
        let name = name.to_owned();
        TestProblem::UnknownName { name, closest }.at(span)
    }

    /// The name of the function that is called by a name, which may be that of a variable, and the file that names it so.
    fn called(&self, name: &Arc<str>, file: FileId) -> (Arc<str>, FileId) {
        match self.value(name, file) {
            Some(Value::Function(function, file)) => (function, file),
            _ => (Arc::clone(name), file),
        }
    }
}

/// Lowers `exprs` into one program; they share their indices. `result` names indices that are to come
/// first, in this order, with their extents.
///
/// # Errors
/// What of the expressions has no meaning.
pub fn lower(names: &dyn Names, exprs: &[&Expr], result: &[(Name, i64)]) -> Result<Program, Stop> {
    let mut lowerer = Lowerer::new(names, result)?;
    let mut roots = Vec::new();
    for expr in exprs {
        roots.push(lowerer.expr(expr)?.node);
    }
    lowerer.finish(roots)
}

/// A value, lowered.
pub struct Valued {
    /// What was lowered before it, and then the value.
    pub program: Program,
    /// Whether the value is an integer.
    pub integer: bool,
}

/// Lowers an expression without indices of its own.
///
/// # Errors
/// What of the expression has no meaning.
pub fn lower_number(names: &dyn Names, expr: &Expr) -> Result<Valued, Stop> {
    let mut lowerer = Lowerer::new(names, &[])?;
    let value = lowerer.expr(expr)?;
    if let Some(index) = lowerer.free.first() {
        return Err(names.unknown(&index.name, expr.span));
    }
    Ok(Valued {
        program: lowerer.finish(vec![value.node])?,
        integer: value.integer,
    })
}

/// Lowers the value of an assignment to elements, and those indices of the target that are more than a name; `result`
/// has the names, with the extents of their modes. The value may depend on what the target depends on.
///
/// # Errors
/// What of the expressions has no meaning.
pub fn lower_assignment(
    names: &dyn Names,
    indices: &[&Expr],
    value: &Expr,
    result: &[(Name, i64)],
) -> Result<Valued, Stop> {
    let mut lowerer = Lowerer::new(names, result)?;
    let mut roots = Vec::new();
    for index in indices {
        roots.push(lowerer.expr(index)?.node);
    }
    let known = lowerer.free.len();
    let value = lowerer.expr(value)?;
    if let Some(extra) = lowerer.free.get(known) {
        let name = extra.name.clone();
        return Err(TestProblem::NotOfTarget { name }.at(extra.span));
    }
    roots.push(value.node);
    Ok(Valued {
        program: lowerer.finish(roots)?,
        integer: value.integer,
    })
}

/// An index variable whose range may still be unknown.
struct Unranged {
    name: String,
    span: Span,
    start: i64,
    extent: Option<i64>,
    /// What it runs over where nothing else says so: the shortest mode that it leads to in the range of a reduction.
    at_most: Option<i64>,
    /// What it runs over where nothing without a condition says so: the mode that it leads to in a branch of an `if`.
    guarded: Option<i64>,
    /// Another mode in such a branch, which is not as long.
    guarded_clash: Option<(i64, Span)>,
    /// The range was given, not inferred.
    explicit: bool,
    /// The range depends on other variables: `start` and `extent` say nothing.
    computed: bool,
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
    /// Ranges of reductions around the place.
    ranges: u32,
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

impl<'a> Lowerer<'a> {
    fn new(names: &'a dyn Names, result: &[(Name, i64)]) -> Result<Self, Stop> {
        let mut lowerer = Self {
            names,
            free: Vec::new(),
            reduced: Vec::new(),
            scopes: Vec::new(),
            slots: 0,
            guards: 0,
            ranges: 0,
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
        Ok(lowerer)
    }

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
            let inferred = match (variable.extent, variable.guarded, variable.guarded_clash) {
                (None, Some(first), Some((second, span))) => {
                    let name = variable.name.clone();
                    let clash = TestProblem::TwoRanges {
                        name,
                        first,
                        second,
                    };
                    return Err(clash.at(span));
                }
                (known, guarded, _) => known.or(guarded).or(variable.at_most),
            };
            let Some(extent) = inferred else {
                let name = variable.name.clone();
                let closest = self.names.closest(&name, variable.span.file);
                return Err(TestProblem::NoRange { name, closest }.at(variable.span));
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
            at_most: None,
            guarded: None,
            guarded_clash: None,
            explicit: false,
            computed: false,
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
        if let Some(value) = self.names.value(name, span.file) {
            return Ok(Binding::Value(value));
        }
        if self.inlined > 0 {
            return Err(self.names.unknown(name, span));
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
                if let Binding::Value(value @ Value::Tensor(_)) = &binding {
                    let (name, found) = (name.to_string(), value.kind());
                    return Err(TestProblem::TakenName { name, found }.at(expr.span));
                }
                self.bound(binding, expr.span)
            }
            ExprKind::Unary { op, operand } => self.unary(op.node, operand),
            ExprKind::Binary { op, lhs, rhs } => {
                let sides = [lhs, rhs];
                let (lhs, rhs) = (self.expr(lhs)?, self.expr(rhs)?);
                if op.node.is_bitwise()
                    && let [Some(one), Some(other)] = sides.map(|side| self.is_condition(side))
                    && one != other
                {
                    let symbol = op.node.symbol();
                    return Err(TestProblem::BitsOfBool { symbol }.at(expr.span));
                }
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

    /// Whether an expression that was lowered is a condition, and no number; `None` where a call or what stands in a function's `let` says it.
    fn is_condition(&mut self, expr: &Expr) -> Option<bool> {
        match &*expr.kind {
            ExprKind::Bool(_) => Some(true),
            ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Index { .. } => Some(false),
            ExprKind::Name(name) => match self.resolve(name, expr.span) {
                Ok(Binding::Variable(_)) => Some(false),
                Ok(Binding::Value(value)) => Some(matches!(value, Value::Bool(_))),
                Ok(Binding::Slot { .. }) | Err(_) => None,
            },
            ExprKind::Unary { op, operand } => match op.node {
                UnaryOp::Not => self.is_condition(operand),
                UnaryOp::Neg => Some(false),
            },
            ExprKind::Binary { op, lhs, rhs } if op.node.is_bitwise() => {
                self.is_condition(lhs).or_else(|| self.is_condition(rhs))
            }
            ExprKind::Binary { op, .. } => {
                let joins = matches!(op.node, BinaryOp::And | BinaryOp::Or);
                Some(joins || op.node.is_comparison())
            }
            _ => None,
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
    let operation = operation(op, integers);
    let boolean = op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or);
    if let (Node::Constant(lhs), Node::Constant(rhs)) = (&lhs.node, &rhs.node) {
        return Lowered::constant(operation.apply(*lhs, *rhs), integers || boolean);
    }
    let mut result = combine(operation, lhs, rhs);
    result.integer = integers || boolean;
    result.affine = affine;
    result
}

/// The operation that an operator means on two integers, or on other numbers.
pub fn operation(op: BinaryOp, integers: bool) -> Operation {
    match op {
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
    }
}
