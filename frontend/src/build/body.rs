//! Statements: what a block computes, call by call.

use super::error::{BuildError, Problem, Result, fail};
use super::kind::{ElemKind, Kind, Literal, dtype};
use super::module::{self, Module};
use super::position::{Position, Texts};
use super::signature::{Extent, Head, Signature};
use super::syntax;
use super::tree;
use super::value::{Home, Place, Value};
use crate::ast::spans::Spans;
use crate::ast::{self, BinaryOp, Expr, ItemKind, Stmt, StmtKind};
use crate::eval::is_built_in;
use cutec_dialects::elem::Elem;
use cutec_dialects::tile::MOST_ELEMENTS;
use std::sync::Arc;

/// Names of the axes of a launch in tiles.
const AXES: [&str; 3] = ["m", "n", "l"];

/// The body of a kernel. Every call appends to it; functions of elements take tiles, numbers and literals alike.
#[derive(Debug)]
pub struct Body {
    signature: Signature,
    head: Head,
    axes: usize,
    /// Blocks that are open, outermost first: the number of each, and its statements.
    pub(super) open: Vec<(usize, Vec<Stmt>)>,
    /// Blocks so far.
    blocks: usize,
    /// Names so far.
    names: usize,
    /// Where statements come from.
    pub(super) at: Option<Position>,
    texts: Texts,
}

impl Signature {
    /// The launch, in tiles along one to three axes; the body follows.
    ///
    /// # Errors
    /// When there is another number of axes.
    #[track_caller]
    pub fn tiles<E: Into<Extent>>(self, counts: impl IntoIterator<Item = E>) -> Result<Body> {
        let counts: Vec<Expr> = counts.into_iter().map(|count| count.into().0).collect();
        let axes = counts.len();
        let head = self.head(counts)?;
        Ok(Body::begin(self, head, axes))
    }
}

impl Body {
    fn begin(signature: Signature, head: Head, axes: usize) -> Self {
        Self {
            signature,
            head,
            axes,
            open: vec![(0, Vec::new())],
            blocks: 1,
            names: 0,
            at: None,
            texts: Texts::default(),
        }
    }

    /// Says where what follows comes from, up to the next call or the end of the loop or branch at hand: messages, faults of the
    /// simulator and `.loc` lines are there. `None` is the place of the signature, or of the listing.
    pub fn at<'p>(&mut self, position: impl Into<Option<&'p Position>>) -> &mut Self {
        self.at = position.into().cloned();
        self
    }

    /// The kernel.
    ///
    /// # Errors
    /// When it is larger than the language allows, or says what its grammar refuses.
    #[track_caller]
    pub fn finish(mut self) -> Result<Module> {
        let stmts = self.open.pop().map(|(_, stmts)| stmts).unwrap_or_default();
        let name = self.signature.name.clone();
        let mut item = tree::item(ItemKind::Kernel(ast::Kernel {
            name: tree::spelled(&name),
            static_params: Vec::new(),
            params: self.head.params,
            promises: self.head.promises,
            tunable: Vec::new(),
            launch: self.head.launch,
            body: tree::block(stmts),
        }));
        let mut texts = self.texts;
        if let Some(at) = &self.signature.at {
            texts.add(at.text());
            Spans(&mut tree::place(at.span())).item(&mut item);
        }
        let mut items = Vec::new();
        for used in self.signature.items {
            texts.merge(&used.texts);
            items.push(used.node);
        }
        items.push(item);
        module::finished(&name, items, texts)
    }

    /// A value as an expression of the language, for what has no method here.
    ///
    /// # Errors
    /// When the value is of another kernel, or of a loop that has ended.
    #[track_caller]
    pub fn expr(&self, value: impl Into<Value>) -> Result<syntax::Expr> {
        let (node, texts) = (self.operand("expr", &value.into())?, Texts::default());
        Ok(syntax::Expr { node, texts })
    }

    /// The value of an expression of the language: of functions of the standard library or of the signature, of built-ins that have
    /// no method here. That it is a value of this kind is the caller's word, which compilation checks where the value is used.
    ///
    /// # Errors
    /// When kernels have no such elements.
    #[track_caller]
    pub fn evaluate(&mut self, expr: impl Into<syntax::Expr>, kind: Kind) -> Result<Value> {
        let kind = kind.elements("evaluate")?;
        let syntax::Expr { node, texts } = expr.into();
        self.texts.merge(&texts);
        Ok(self.bound(node, kind))
    }

    /// The value of a call by name: [`Body::evaluate`] of a function that takes values alone.
    ///
    /// # Errors
    /// When a value is of another kernel, or of a loop that has ended.
    #[track_caller]
    pub fn call<V: Into<Value>>(
        &mut self,
        function: &str,
        args: impl IntoIterator<Item = V>,
        kind: Kind,
    ) -> Result<Value> {
        let kind = kind.elements("call")?;
        let mut nodes = Vec::new();
        for arg in args {
            nodes.push(tree::arg(self.operand("call", &arg.into())?));
        }
        let callee = tree::name(function);
        let call = tree::expr(ast::ExprKind::Call {
            callee,
            args: nodes,
        });
        Ok(self.bound(call, kind))
    }

    /// An expression for its effect: `printf(…)`, `assume(…)`, `static_assert(…)`.
    pub fn run(&mut self, expr: impl Into<syntax::Expr>) {
        let syntax::Expr { node, texts } = expr.into();
        self.texts.merge(&texts);
        self.push(tree::statement(StmtKind::Expr(node)));
    }

    /// Statements of the language; the names that they bind are seen by what follows.
    pub fn append(&mut self, block: syntax::Block) {
        let (stmts, texts) = block.into_statements();
        self.texts.merge(&texts);
        stmts.into_iter().for_each(|stmt| self.push(stmt));
    }

    /// An extent, a stride or a number that the kernel is passed.
    ///
    /// # Errors
    /// When it has none of this name.
    #[track_caller]
    pub fn extent(&self, name: &str) -> Result<Value> {
        self.signature.symbol_value(name)
    }

    /// Which tile of the launch the block computes, along an axis.
    ///
    /// # Errors
    /// When the launch has fewer axes.
    #[track_caller]
    pub fn tile_index(&self, axis: usize) -> Result<Value> {
        let home = Home {
            block: 0,
            ..self.home()
        };
        let known = AXES.get(axis).filter(|_| axis < self.axes);
        match known {
            Some(axis) => Ok(Value {
                kind: ElemKind::Number(Elem::I32),
                place: Place::Axis { axis, home },
            }),
            None => Err(fail(Problem::Range {
                operation: "tile_index",
                what: "the axis",
                least: 0,
                most: self.axes as i64 - 1,
                found: i64::try_from(axis).unwrap_or(i64::MAX),
            })),
        }
    }

    /// Whether something belongs to this kernel.
    pub(super) fn owns(&self, kernel: &Arc<str>) -> bool {
        Arc::ptr_eq(kernel, &self.signature.name)
    }

    /// A value as an expression, where this kernel can still use it.
    #[track_caller]
    pub(super) fn operand(&self, operation: &'static str, value: &Value) -> Result<Expr> {
        if let Some(home) = value.home() {
            if !self.owns(&home.kernel) {
                let what = "a value";
                return Err(fail(Problem::Foreign { operation, what }));
            }
            if !self.open.iter().any(|(block, _)| *block == home.block) {
                return Err(fail(Problem::Ended { operation }));
            }
        }
        Ok(value.expr())
    }

    /// A tile, or a number to repeat, for a tile of this type and shape.
    #[track_caller]
    pub(super) fn fitting(
        &self,
        operation: &'static str,
        value: &Value,
        elem: Elem,
        shape: &[i64],
    ) -> Result<Expr> {
        let expr = self.operand(operation, value)?;
        match &value.kind {
            ElemKind::Literal(literal) => check_literal(operation, *literal, elem)?,
            ElemKind::Number(found) | ElemKind::Tile { elem: found, .. } if *found != elem => {
                return Err(fail(Problem::types(operation, elem, *found)));
            }
            ElemKind::Tile { shape: found, .. } if !crate::rules::repeats_to(found, shape) => {
                return Err(fail(Problem::Shapes {
                    operation,
                    rule: "extents that are equal, or 1",
                    expected: shape.to_vec(),
                    found: found.clone(),
                }));
            }
            _ => {}
        }
        Ok(expr)
    }

    /// An axis of a tile of so many.
    #[track_caller]
    pub(super) fn axis(&self, operation: &'static str, axis: usize, rank: usize) -> Result<i64> {
        let found = i64::try_from(axis).unwrap_or(i64::MAX);
        if axis < rank {
            return Ok(found);
        }
        Err(fail(Problem::Range {
            operation,
            what: "the axis",
            least: 0,
            most: rank as i64 - 1,
            found,
        }))
    }

    pub(super) fn push(&mut self, mut stmt: Stmt) {
        if let Some(at) = &self.at {
            self.texts.add(at.text());
            Spans(&mut tree::place(at.span())).stmt(&mut stmt);
        }
        if let Some((_, stmts)) = self.open.last_mut() {
            stmts.push(stmt);
        }
    }

    /// Where values of the innermost block live.
    pub(super) fn home(&self) -> Home {
        Home {
            kernel: self.signature.name.clone(),
            block: self.open.last().map_or(0, |(block, _)| *block),
        }
    }

    /// A name that nothing else has.
    pub(super) fn fresh(&mut self, letter: &str) -> Arc<str> {
        loop {
            let name = format!("{letter}{}", self.names);
            self.names += 1;
            // `i8` is a type.
            if !self.signature.has(&name) && !is_built_in(&name) {
                return name.into();
            }
        }
    }

    /// Binds an expression to a name.
    pub(super) fn bound(&mut self, expr: Expr, kind: ElemKind) -> Value {
        let name = self.fresh("v");
        self.push(tree::binding(false, &name, expr));
        self.named(name, kind)
    }

    pub(super) fn named(&self, name: Arc<str>, kind: ElemKind) -> Value {
        let home = self.home();
        let place = Place::Name { name, home };
        Value { kind, place }
    }

    pub(super) fn tile(&mut self, expr: Expr, elem: Elem, shape: Vec<i64>) -> Value {
        self.bound(expr, ElemKind::Tile { elem, shape })
    }

    /// Opens a block, whose statements [`Body::close`] gives back.
    pub(super) fn enter(&mut self) {
        self.open.push((self.blocks, Vec::new()));
        self.blocks += 1;
    }

    pub(super) fn close(&mut self) -> ast::Block {
        let stmts = self.open.pop().map(|(_, stmts)| stmts);
        tree::block(stmts.unwrap_or_default())
    }

    /// `value op= other`, where `value` is a tile: a new name for the result.
    pub(super) fn updated(
        &mut self,
        value: Expr,
        op: BinaryOp,
        other: Expr,
        kind: ElemKind,
    ) -> Value {
        let name = self.fresh("s");
        self.push(tree::binding(true, &name, value));
        self.push(tree::assignment(tree::name(&name), Some(op), other));
        self.named(name, kind)
    }
}

/// The name of an element type.
pub(super) fn elem_expr(elem: Elem) -> Expr {
    tree::name(crate::eval::elem_name(elem))
}

#[track_caller]
pub(super) fn expected(
    operation: &'static str,
    expected: &'static str,
    found: &Value,
) -> BuildError {
    fail(Problem::Expected {
        operation,
        expected,
        found: found.kind(),
    })
}

#[track_caller]
pub(super) fn check_literal(operation: &'static str, found: Literal, expected: Elem) -> Result<()> {
    if found.can_be(expected) {
        return Ok(());
    }
    Err(fail(Problem::Literal {
        operation,
        expected: dtype(expected),
        found,
    }))
}

#[track_caller]
pub(super) fn check_shape(operation: &'static str, shape: &[i64]) -> Result<()> {
    let positive = shape.iter().all(|extent| *extent > 0) && !shape.is_empty();
    let size = shape
        .iter()
        .try_fold(1i64, |size, extent| size.checked_mul(*extent));
    if positive && size.is_some_and(|size| size <= MOST_ELEMENTS) {
        return Ok(());
    }
    Err(fail(Problem::Elements {
        operation,
        shape: shape.to_vec(),
        most: MOST_ELEMENTS,
    }))
}
