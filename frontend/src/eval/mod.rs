//! Compile-time evaluation, type checking and emission of the `cute` dialect, in one walk.
//!
//! The evaluator runs a kernel's body. What is known is computed; everything else becomes operations.
//! A value is static or dynamic, a program is not: the same expression may be either, and the same
//! table of built-ins serves both, because what an operation means stands once, in
//! [`cutec_dialects::semantics`].
//!
//! Reading order:
//! - [`values`]: what an expression is.
//! - `expr`, `index`, `arith`, `constant`, `vectors`, `convert`, `rounding`, `narrow`, `intrinsic`:
//!   expressions.
//! - `stmt`, `control`, `loops`, `roles`, `exits`: statements; `if`; loops; warps with different work; early exits from what
//!   depends on run time.
//! - `materialize`: values as operands of operations, and results as values.
//! - `bounds`, `fragments`: what is checked of them: indices and thread counts that are known while compiling; reads
//!   of fragments that nothing wrote.
//! - `tiles`: the tile level.
//! - `call`, `calls`, `builtins`: functions; the calls that messages of passes show; what the language has built in.
//! - `variables`, `records`: what variables hold, and the ways to their parts; values of named fields, and their functions.
//! - `chosen`, `kernel`, `parameters`, `tunable`, `signature`, `abi`, `maps`: which kernels; one of them, its compile-time
//!   parameters, their candidates, its parameters, the kernel ABI, maps of its tensors.
//! - `problem`: errors of the semantics as diagnostics.
//!
//! Invariants: nothing that was reported wrong is reported twice ([`Stop::Reported`] and
//! [`Value::Error`] are silent); evaluation ends ([`MAX_STEPS`], [`MAX_CALLS`], [`MAX_OPS`]);
//! the operations that are emitted verify.

mod abi;
mod annotations;
mod arith;
mod assign;
mod at_launch;
mod bounds;
pub mod builtins;
mod call;
mod calls;
mod chosen;
mod constant;
mod control;
mod convert;
mod divisors;
mod exits;
mod expr;
mod fragments;
#[cfg(test)]
mod hostile;
mod index;
mod intrinsic;
mod kernel;
mod loops;
mod maps;
mod materialize;
mod modes;
mod narrow;
mod parameters;
mod problem;
mod ranges;
mod records;
mod roles;
mod rounding;
mod show;
mod signature;
mod stmt;
mod target;
mod tiles;
mod tunable;
mod values;
mod variables;
mod vectors;

use crate::ast::{ConstItem, Kernel};
use crate::diagnostics::{Code, Diagnostic};
use crate::program::{Items, Program};
use crate::source::{SourceMap, Span};
use crate::stdlib;
use cutec_dialects::builder::{IrBlock, OpBuilder};
use cutec_dialects::target::Target;
use melior::Context;
use melior::ir::{Location, Module};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use values::{Binding, Slot, Value};

pub use calls::{Calls, NamedCall};
pub use chosen::{check_defines, chosen_kernels};
pub(crate) use rounding::converts;
pub use show::{Observation, Observations};
pub use tunable::{Configuration, Space, space};
pub(crate) use values::elem_name;

/// Whether the language gives a meaning to a name: that of a type or of a built-in.
pub(crate) fn is_built_in(name: &str) -> bool {
    is_element_type(name) || builtins::lookup(name).is_some()
}

/// Whether a name is that of an element type.
pub(crate) fn is_element_type(name: &str) -> bool {
    values::elem_of(name).is_some()
}

/// Expressions and statements that one kernel may take to evaluate.
pub const MAX_STEPS: u64 = 4_000_000;
/// Operations that one kernel may consist of.
pub const MAX_OPS: u64 = 200_000;
/// How deep functions may call each other.
pub const MAX_CALLS: usize = 48;
/// Numbers and other parts that a tuple or an array may consist of.
pub const MAX_PARTS: usize = 1 << 16;
/// How deep tuples may nest; types of the IR are read back with the same limit.
const MAX_TUPLE_NESTING: usize = 64;
/// How deep evaluation may nest, through expressions, blocks and calls.
const MAX_NESTING: usize = 600;
/// Calls around an error that a message shows.
const MAX_CALLS_SHOWN: usize = 3;
/// Errors after which a kernel is given up.
const MAX_ERRORS: usize = 40;

/// What to emit.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// The GPU.
    pub target: Target,
    /// Only this kernel.
    pub kernel: Option<String>,
    /// Values of compile-time parameters, as text of the language.
    pub defines: Vec<(String, String)>,
}

/// Evaluates and checks the program and emits the kernels that `options` asks for. `None` if there are errors,
/// which are added to `diagnostics`.
pub fn emit_module<'c>(
    context: &'c Context,
    sources: &SourceMap,
    program: &Program,
    options: &LowerOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Module<'c>> {
    match chosen_kernels(program, options) {
        Ok(kernels) => emit_kernels(context, sources, program, &kernels, options, diagnostics).0,
        Err(error) => {
            diagnostics.push(error);
            None
        }
    }
}

/// Evaluates, checks and emits some kernels of the program, whatever others [`LowerOptions::kernel`] names. `None`
/// if there are errors, which are added to `diagnostics`. What passes say of the module, [`Calls`] explains.
pub fn emit_kernels<'c>(
    context: &'c Context,
    sources: &SourceMap,
    program: &Program,
    kernels: &[&Kernel],
    options: &LowerOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Module<'c>>, Calls) {
    let mut evaluator = Evaluator::new(context, sources, program, options);
    let module = evaluator.kernels(kernels);
    let failed = evaluator.diagnostics.iter().any(Diagnostic::is_error);
    diagnostics.append(&mut evaluator.diagnostics);
    diagnostics.append(&mut evaluator.printed);
    (module.filter(|_| !failed), evaluator.noted_calls)
}

/// What the names of some kernels, and of the functions that they call, stand for. Errors are left to [`emit_kernels`]: up
/// to one, everything is known.
pub fn observe_kernels(
    context: &Context,
    sources: &SourceMap,
    program: &Program,
    kernels: &[&Kernel],
    options: &LowerOptions,
) -> Observations {
    let mut evaluator = Evaluator::new(context, sources, program, options);
    evaluator.observations = Some(Observations::new());
    let _ = evaluator.kernels(kernels);
    evaluator.observations.unwrap_or_default()
}

/// Why evaluation of an expression ended without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// An error was reported.
    Reported,
    /// An assertion of the called function was reported: nothing else in it means anything.
    Abandoned,
    /// It depends on run time, but evaluation is at compile time only.
    NeedsRuntime,
    /// Budget or error limit, or nothing to go on with: the kernel is given up.
    GiveUp,
}

type Result<T> = std::result::Result<T, Stop>;
type Scope<'c, 'a> = FxHashMap<Arc<str>, Binding<'c, 'a>>;

/// Flags of a loop: whether `break` or `continue` was reached.
#[derive(Clone, Copy)]
struct LoopFrame<'c> {
    exits: Option<(Slot<'c>, Slot<'c>)>,
}

/// What belongs to one call.
struct Frame<'c, 'a> {
    scopes: Vec<Scope<'c, 'a>>,
    loops: Vec<LoopFrame<'c>>,
    /// Whether `/` rounds up, as it does in `tiles(…)` of a launch.
    rounds_up: bool,
    returned: Option<Slot<'c>>,
    /// Where a value lies that some `return` left with by the flag: variables, or a tuple of such.
    result: Option<Value<'c, 'a>>,
    /// Whether some `return` left by the flag without a value.
    returned_nothing: bool,
    /// The expression whose value nobody asks for: a statement by itself, or the end of a block that has no value.
    alone: Option<Span>,
    /// Whether nobody asks for the function's value.
    has_no_value: bool,
}

struct Evaluator<'c, 'a> {
    context: &'c Context,
    sources: &'a SourceMap,
    options: &'a LowerOptions,
    items: Items<'a>,
    diagnostics: Vec<Diagnostic>,
    /// What `print` shows.
    printed: Vec<Diagnostic>,
    /// What names stand for, where somebody wants to know.
    observations: Option<Observations>,
    /// Where operations go; `None` while everything has to be known at compile time.
    ir: Option<OpBuilder<'c>>,
    entry: Option<IrBlock<'c>>,
    frame: Frame<'c, 'a>,
    consts: FxHashMap<*const ConstItem, Option<Value<'c, 'a>>>,
    /// Threads of the block along each axis, from where the kernel's launch has said how many; at tile level nobody knows.
    block: Option<[i64; 3]>,
    /// How many of them the kernel says are to fit a multiprocessor.
    min_blocks: i64,
    /// Blocks of a cluster.
    cluster: [i64; 3],
    /// Whether all blocks of the kernel's launch run at the same time.
    cooperative: bool,
    /// Whether the kernel has waited for the launch ahead of it.
    waits_for_launch: bool,
    /// The role whose body is evaluated.
    role: Option<roles::RoleOfWarps<'c>>,
    /// The tensors that the host passes, and the maps of them that are asked for.
    maps: maps::Maps<'c, 'a>,
    /// Axes of the launch of a kernel at tile level.
    tiles: Option<usize>,
    /// Which tile a block computes, along each axis of that launch.
    tile_indices: Vec<cutec_dialects::builder::IrValue<'c>>,
    /// The parameter with the counter that blocks take their tiles from, by its number.
    tile_queue: Option<i32>,
    /// Regions of the IR around the insertion point, within the kernel.
    regions: usize,
    /// Loops of the IR around the insertion point.
    runtime_loops: usize,
    steps: u64,
    ops: u64,
    /// Fragments of the kernel, and what may have been written of them.
    fragments: fragments::Fragments,
    /// Calls of functions that are being evaluated: name and place.
    calls: Vec<calls::NamedCall>,
    /// Which of them led to which places.
    noted_calls: Calls,
    nesting: usize,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    fn new(
        context: &'c Context,
        sources: &'a SourceMap,
        program: &'a Program,
        options: &'a LowerOptions,
    ) -> Self {
        Evaluator {
            context,
            sources,
            options,
            items: Items::of(program),
            diagnostics: Vec::new(),
            printed: Vec::new(),
            observations: None,
            ir: None,
            entry: None,
            frame: Frame::new(),
            consts: FxHashMap::default(),
            block: None,
            min_blocks: 1,
            cluster: [1; 3],
            cooperative: false,
            waits_for_launch: false,
            role: None,
            maps: maps::Maps::default(),
            tiles: None,
            tile_indices: Vec::new(),
            tile_queue: None,
            regions: 0,
            runtime_loops: 0,
            steps: 0,
            ops: 0,
            fragments: fragments::Fragments::default(),
            calls: Vec::new(),
            noted_calls: Calls::default(),
            nesting: 0,
        }
    }

    /// Reports an error.
    fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        if self.diagnostics.iter().any(|old| diagnostic.repeats(old)) {
            return Stop::Reported;
        }
        let diagnostic = self.with_calls(diagnostic);
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() >= MAX_ERRORS {
            Stop::GiveUp
        } else {
            Stop::Reported
        }
    }

    /// Says in which calls an error inside of functions came up, innermost first.
    fn with_calls(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let span = diagnostic.span();
        let around = self.calls.iter().rev().filter(|(_, call)| {
            !(call.file == span.file && call.start <= span.start && span.end <= call.end)
        });
        for (name, call) in around.take(MAX_CALLS_SHOWN) {
            diagnostic = diagnostic.with_label(*call, format!("in this call of `{name}`"));
        }
        diagnostic
    }

    /// Reports an error put together here.
    fn error<T>(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Result<T> {
        Err(self.report(Diagnostic::error(code, span, message, label)))
    }

    /// Counts a step of evaluation.
    fn step(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let message = format!("evaluation takes more than {MAX_STEPS} steps");
            self.report(problem::budget(span, message));
            return Err(Stop::GiveUp);
        }
        Ok(())
    }

    /// Counts what it takes to use a value once more, and refuses one that grew beyond all measure: a
    /// value grows faster than the source only where the source names it.
    fn weigh(&mut self, value: &Value<'c, 'a>, span: Span) -> Result<()> {
        let (parts, depth) = value.parts_and_depth();
        if parts > MAX_PARTS || depth > MAX_TUPLE_NESTING {
            let message = format!(
                "a value of {parts} parts in {depth} levels; expected at most {MAX_PARTS} in {MAX_TUPLE_NESTING}"
            );
            self.report(problem::budget(span, message));
            return Err(Stop::GiveUp);
        }
        self.steps += parts as u64;
        self.step(span)
    }

    /// Where operations go, with the location set; counts them.
    fn ir(&mut self, span: Span) -> Result<&mut OpBuilder<'c>> {
        if self.ir.is_none() {
            return Err(Stop::NeedsRuntime);
        }
        self.ops += 1;
        if self.ops > MAX_OPS {
            let message = format!("the kernel has more than {MAX_OPS} operations");
            self.report(problem::budget(span, message));
            return Err(Stop::GiveUp);
        }
        self.note_call(span);
        let location = self.location(span);
        let ir = self.ir.as_mut().ok_or(Stop::NeedsRuntime)?;
        ir.location = location;
        Ok(ir)
    }

    /// Takes note of the program's call by which evaluation came to a place in a function: the innermost one that is not made
    /// by the library.
    fn note_call(&mut self, span: Span) {
        let mut calls = self.calls.iter().rev();
        let call = calls.find(|(_, call)| {
            let holds = call.file == span.file && call.start <= span.start && span.end <= call.end;
            !holds && !stdlib::is_of_library(self.sources.file(call.file).name())
        });
        if let Some(call) = call {
            self.noted_calls.add((span.file, span.start), call);
        }
    }

    fn location(&self, span: Span) -> Location<'c> {
        let at = self.sources.line_column(span);
        let file = self.sources.file(span.file).name();
        Location::new(self.context, file, at.line as usize, at.column as usize)
    }

    /// The text under a span, for messages.
    fn text(&self, span: Span) -> &'a str {
        self.sources.snippet(span)
    }

    fn lookup(&self, name: &str) -> Option<&Binding<'c, 'a>> {
        self.frame
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
    }

    fn bind(&mut self, name: Arc<str>, value: Value<'c, 'a>, mutable: bool, span: Span) {
        let regions = self.regions;
        self.observed(span, &value);
        value.name_for_readers(&name);
        if let Some(scope) = self.frame.scopes.last_mut() {
            scope.insert(
                name,
                Binding {
                    value,
                    mutable,
                    span,
                    regions,
                    read: Cell::new(false),
                },
            );
        }
    }

    /// Runs `body` with a scope of its own.
    fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.frame.scopes.push(Scope::default());
        let result = body(self);
        if let Some(scope) = self.frame.scopes.pop()
            && result.is_ok()
        {
            self.warn_of_hidden(&scope);
        }
        result
    }

    /// Runs `body` one level deeper.
    fn nested<T>(&mut self, span: Span, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("evaluation nests deeper than {MAX_NESTING} levels");
            self.report(problem::budget(span, message));
            return Err(Stop::GiveUp);
        }
        self.nesting += 1;
        let result = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || body(self));
        self.nesting -= 1;
        result
    }

    /// The threads of the block, all axes together.
    fn threads_of_block(&self) -> i64 {
        self.block.iter().flatten().product()
    }

    /// Runs `body` at compile time only.
    fn at_compile_time<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let ir = self.ir.take();
        let result = body(self);
        self.ir = ir;
        result
    }
}

impl Frame<'_, '_> {
    fn new() -> Self {
        Frame {
            scopes: vec![Scope::default()],
            loops: Vec::new(),
            rounds_up: false,
            returned: None,
            result: None,
            returned_nothing: false,
            alone: None,
            has_no_value: false,
        }
    }
}
