//! Runs the statements of `test` and `bench` blocks, and evaluates scalar expressions.
//!
//! In reading order: the interpreter itself, with its scopes and budgets; [`statement`], blocks,
//! loops, assignments, launches; [`expression`]; [`call`], functions of the file and those that make
//! tensors or ask them.

mod call;
mod expression;
mod statement;

pub(super) use expression::binary;

use super::builtin;
use super::index::lower::Names;
use super::launch::Launcher;
use super::problem::{Stop, TestProblem, elsewhere};
use super::value::Value;
use cutec_frontend::ast::{Arg, Block, Expr, ExprKind, Function, ItemKind, Kernel};
use cutec_frontend::parser::words;
use cutec_frontend::source::{FileId, SourceMap, Span};
use cutec_frontend::{Items, Program};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Statements and calls that one block may take.
const MAX_STEPS: u64 = 10_000_000;
/// The same where a block is checked, and somebody waits for it.
const MAX_CHECKED_STEPS: u64 = 100_000;
/// Elements that the tensors of one block may have in all: 32 GiB as `f32`.
const MAX_ELEMENTS: u64 = 1 << 33;
/// How deep tuples may nest.
const MAX_TUPLE_NESTING: u64 = 64;
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
    items: Items<'a>,
    launcher: &'a dyn Launcher,
    /// Scopes of the running function, innermost last.
    scopes: RefCell<Vec<HashMap<Arc<str>, Variable>>>,
    calls: Cell<usize>,
    steps: Cell<u64>,
    elements: Cell<u64>,
    seed: Cell<u64>,
    tensors: Cell<u64>,
    report: RefCell<BlockReport>,
    /// What is wrong, of a block that is checked and not run; see [`Interpreter::check`].
    found: RefCell<Option<Vec<Stop>>>,
    /// Whether a block that is checked came to depend on elements of tensors, which it does not have.
    guesses: Cell<bool>,
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
    /// An interpreter over the items of a file and of all that it imports.
    pub fn new(sources: &'a SourceMap, program: &'a Program, launcher: &'a dyn Launcher) -> Self {
        Self {
            sources,
            items: Items::of(program),
            launcher,
            scopes: RefCell::new(Vec::new()),
            calls: Cell::new(0),
            steps: Cell::new(0),
            elements: Cell::new(0),
            seed: Cell::new(0),
            tensors: Cell::new(0),
            report: RefCell::new(BlockReport::default()),
            found: RefCell::new(None),
            guesses: Cell::new(false),
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
        self.begin();
        self.block(body)?;
        Ok(self.report.borrow().clone())
    }

    /// What is wrong with a block before any kernel runs: names, shapes, arguments of launches, as far as they follow from
    /// the text. Tensors have no elements, assertions hold, and the launcher is asked whether a launch would be refused. An
    /// assertion or a launch that is wrong does not hide what is wrong behind it.
    pub fn check(&self, body: &Block) -> Vec<Stop> {
        self.begin();
        self.guesses.set(false);
        *self.found.borrow_mut() = Some(Vec::new());
        if let Err(stop) = self.block(body) {
            self.note(stop);
        }
        self.found.take().unwrap_or_default()
    }

    fn begin(&self) {
        self.tensors.set(0);
        self.steps.set(0);
        self.elements.set(0);
        self.calls.set(0);
        *self.scopes.borrow_mut() = Vec::new();
        *self.report.borrow_mut() = BlockReport::default();
    }

    /// Whether the block is checked and not run.
    pub(super) fn checks(&self) -> bool {
        self.found.borrow().is_some()
    }

    /// Takes note of what is wrong with a block that is checked, once. What may be so only because elements are not known
    /// is left to who runs it.
    fn note(&self, stop: Stop) {
        let code = stop.diagnostic.code;
        let unsure = self.guesses.get() && stop.depends_on_values;
        if unsure || stop.inconclusive {
            return;
        }
        if let Some(found) = self.found.borrow_mut().as_mut() {
            let span = stop.diagnostic.span();
            let told = found
                .iter()
                .any(|told| told.diagnostic.code == code && told.diagnostic.span() == span);
            if !told {
                found.push(stop);
            }
        }
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

    /// What is called is no name: `np.zeros(32)`.
    fn not_a_function(&self, callee: &Expr) -> Stop {
        let ExprKind::Field { name, .. } = &*callee.kind else {
            let what = "a call of this";
            return TestProblem::NotHere { what }.at(callee.span);
        };
        let mut known = self.callable(callee.span.file).chain(builtin::names());
        TestProblem::UnknownFunction {
            name: self.sources.snippet(callee.span).to_owned(),
            closest: known.find(|known| *known == &*name.node).map(str::to_owned),
        }
        .at(callee.span)
    }

    fn unknown_function(&self, name: &str, span: Span) -> Stop {
        let known = self.callable(span.file).chain(builtin::names());
        let closest = match elsewhere(name) {
            Some(_) => None,
            None => words::closest(name, known).map(str::to_owned),
        };
        let name = name.to_owned();
        TestProblem::UnknownFunction { name, closest }.at(span)
    }

    /// The names of the functions and kernels that a file sees.
    fn callable(&self, file: FileId) -> impl Iterator<Item = &'a str> {
        self.items.names(file, &["fn", "kernel"])
    }

    /// The kernel of a name in a file.
    fn kernel(&self, name: &str, file: FileId) -> Option<&'a Kernel> {
        match self.items.get(name, file)? {
            ItemKind::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    fn step(&self, span: Span) -> Result<(), Stop> {
        self.take_steps(1, span)
    }

    /// Counts what it takes to use a value once more; only what is used by name can outgrow the source.
    fn weigh(&self, value: &Value, span: Span) -> Result<(), Stop> {
        let (parts, depth) = value.parts_and_depth();
        if depth > MAX_TUPLE_NESTING {
            let unit = "nested tuples";
            let limit = MAX_TUPLE_NESTING;
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        self.take_steps(parts, span)
    }

    fn take_steps(&self, steps: u64, span: Span) -> Result<(), Stop> {
        self.steps.set(self.steps.get() + steps);
        let limit = match self.checks() {
            true => MAX_CHECKED_STEPS,
            false => MAX_STEPS,
        };
        if self.steps.get() > limit {
            let unit = "steps";
            return Err(TestProblem::Budget { limit, unit }.at(span));
        }
        Ok(())
    }
}

impl Names for Interpreter<'_> {
    fn value(&self, name: &str, file: FileId) -> Option<Value> {
        let found = self
            .scopes
            .borrow()
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).map(|variable| variable.value.clone()));
        if found.is_some() {
            return found;
        }
        if let Some(ItemKind::Const(constant)) = self.items.get(name, file) {
            // A constant sees other constants, not the scopes of whoever uses it.
            if self.calls.get() == MAX_CALLS {
                return None;
            }
            self.calls.set(self.calls.get() + 1);
            let outside = self.scopes.replace(Vec::new());
            let value = self.expr(&constant.value).ok();
            *self.scopes.borrow_mut() = outside;
            self.calls.set(self.calls.get() - 1);
            return value;
        }
        name.parse().ok().map(Value::DType)
    }

    fn function(&self, name: &str, file: FileId) -> Option<&Function> {
        let item = match self.items.own(name, file) {
            None if builtin::is_known(name) => None,
            None => self.items.get(name, file),
            own => own,
        };
        match item? {
            ItemKind::Function(function) => Some(function),
            _ => None,
        }
    }

    fn scalar(&self, expr: &Expr) -> Result<Value, Stop> {
        self.expr(expr)
    }

    fn apply(&self, function: &Function, arguments: Vec<Value>, span: Span) -> Result<Value, Stop> {
        self.apply_function(function, arguments, span)
    }

    fn closest(&self, name: &str, file: FileId) -> Option<String> {
        let scopes = self.scopes.borrow();
        let variables = scopes
            .iter()
            .flat_map(|scope| scope.keys().map(|name| &**name));
        let constants = self.items.names(file, &["const"]);
        words::closest(name, variables.chain(constants)).map(str::to_owned)
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
