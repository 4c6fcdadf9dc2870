//! What the actions of the grammar need: building nodes, and the checks that belong to syntax but
//! not to the grammar. What these find ([`super::shape`]) does not stop the parser.

use super::shape::{ShapeProblem, describe, not_assignable};
use super::words;
use crate::ast::*;
use crate::diagnostics::{Diagnostic, Problem};
use crate::lexer::literal::{self, LiteralProblem, Number};
use crate::source::{FileId, Span, Spanned};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// What the name of a role has: the number of the thread, warp and warpgroup among those of the role, and how many there
/// are.
pub const ROLE_NUMBERS: [&str; 5] = ["thread", "warp", "warpgroup", "threads", "warps"];

/// What the name of a role stands for in its body.
pub(crate) fn numbers_of_role(name: &Name) -> Record {
    let field = |text: &str| RecordField {
        docs: Vec::new(),
        mutable: false,
        name: Spanned::new(Arc::from(text), name.span),
        ty: None,
        default: None,
        span: name.span,
    };
    Record {
        name: name.clone(),
        fields: ROLE_NUMBERS.map(field).to_vec(),
        functions: Vec::new(),
    }
}

/// A condition behind `where`.
#[derive(Clone, Debug, PartialEq)]
pub enum Promise {
    /// On what a host passes.
    OfArguments(Expr),
    /// On compile-time parameters, for `cutec tune`.
    OfCandidates(Expr),
}

/// State of one attempt to parse an item.
pub struct ParseContext {
    file: FileId,
    diagnostics: RefCell<Vec<Diagnostic>>,
    too_deep_reported: Cell<bool>,
}

impl ParseContext {
    /// For an item of `file`.
    pub fn new(file: FileId) -> Self {
        ParseContext {
            file,
            diagnostics: RefCell::new(Vec::new()),
            too_deep_reported: Cell::new(false),
        }
    }

    /// What the actions complained about.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics.into_inner()
    }

    fn report(&self, span: Span, problem: &dyn Problem) {
        self.diagnostics
            .borrow_mut()
            .push(Diagnostic::of(span, problem));
    }

    /// Reports a node that is too deep; once an item, because its neighbours are too.
    fn too_deep(&self, depth: u32, span: Span) -> bool {
        if depth <= MAX_DEPTH {
            return false;
        }
        if !self.too_deep_reported.replace(true) {
            let shown = Span {
                end: span.end.min(span.start + 1),
                ..span
            };
            self.report(shown, &ShapeProblem::TooDeep { limit: MAX_DEPTH });
        }
        true
    }

    /// The span `start..end`. Empty rules of the grammar can ask for `start > end`.
    pub fn span(&self, start: u32, end: u32) -> Span {
        Span::new(self.file, start.min(end), end)
    }

    /// An operator with its span.
    pub fn op(&self, op: BinaryOp, start: u32, end: u32) -> Spanned<BinaryOp> {
        Spanned::new(op, self.span(start, end))
    }

    /// A node, or an error node if it is too deep.
    pub fn expr(&self, kind: ExprKind, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        let expr = Expr::new(kind, span);
        if self.too_deep(expr.depth, span) {
            Expr::error(span)
        } else {
            expr
        }
    }

    /// `(inner)`: the node inside, its span widened.
    pub fn parenthesized(&self, mut inner: Expr, start: u32, end: u32) -> Expr {
        inner.span = self.span(start, end);
        inner.depth += 1;
        if self.too_deep(inner.depth, inner.span) {
            Expr::error(inner.span)
        } else {
            inner
        }
    }

    /// `(first, rest…)`.
    pub fn tuple(&self, first: Expr, rest: Vec<Expr>, start: u32, end: u32) -> Expr {
        let mut parts = vec![first];
        parts.extend(rest);
        self.expr(ExprKind::Tuple(parts), start, end)
    }

    /// A number token.
    pub fn number(&self, text: &str, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        let kind = match literal::number(text) {
            Ok(Number::Int(value, suffix)) => ExprKind::Int {
                value,
                suffix: suffix.map(Arc::from),
            },
            Ok(Number::Float(value, suffix)) => ExprKind::Float {
                value,
                suffix: suffix.map(Arc::from),
            },
            Err(problem) => {
                self.report(span, &problem);
                ExprKind::Error
            }
        };
        Expr::new(kind, span)
    }

    /// A string token.
    pub fn string(&self, raw: &str, start: u32, end: u32) -> Spanned<Arc<str>> {
        let span = self.span(start, end);
        let text = literal::unescape(raw).unwrap_or_else(|problem: LiteralProblem| {
            self.report(span, &problem);
            raw.to_owned()
        });
        Spanned::new(Arc::from(text), span)
    }

    /// `scale@mode`.
    pub fn scaled_basis(&self, scale: Expr, mode: &str, at: u32, start: u32, end: u32) -> Expr {
        let span = self.span(at, end);
        match literal::number(mode) {
            Ok(Number::Int(mode, None)) if mode < 64 => {
                let mode = Spanned::new(mode as u32, span);
                self.expr(ExprKind::ScaledBasis { scale, mode }, start, end)
            }
            _ => {
                self.report(
                    span,
                    &ShapeProblem::BasisMode {
                        text: mode.to_owned(),
                    },
                );
                Expr::error(self.span(start, end))
            }
        }
    }

    /// A binary operation.
    pub fn binary(
        &self,
        op: Spanned<BinaryOp>,
        lhs: Expr,
        rhs: Expr,
        start: u32,
        end: u32,
    ) -> Expr {
        // A comparison in parentheses starts before its own left operand.
        if op.node.is_comparison()
            && let ExprKind::Binary {
                op: first,
                lhs: inner,
                ..
            } = &*lhs.kind
            && first.node.is_comparison()
            && inner.span.start == lhs.span.start
        {
            let problem = ShapeProblem::ChainedComparison {
                first: first.node.symbol(),
                second: op.node.symbol(),
            };
            self.report(op.span, &problem);
            return Expr::error(self.span(start, end));
        }
        self.expr(ExprKind::Binary { op, lhs, rhs }, start, end)
    }

    /// `static if`: its `else if`s are static too.
    pub fn static_if(&self, mut parts: IfExpr, start: u32, end: u32) -> Expr {
        fn mark(parts: &mut IfExpr) {
            parts.is_static = true;
            if let Some(ElseBranch::If(next)) = &mut parts.otherwise
                && let ExprKind::If(next) = &mut *next.kind
            {
                mark(next);
            }
        }
        mark(&mut parts);
        self.expr(ExprKind::If(parts), start, end)
    }

    /// `sum(l) { … }`.
    pub fn reduce(
        &self,
        op: &str,
        op_end: u32,
        vars: Vec<IndexVar>,
        body: Block,
        start: u32,
        end: u32,
    ) -> Expr {
        self.no_duplicates("index", vars.iter().map(|var| &var.name));
        let op = Spanned::new(Arc::from(op), self.span(start, op_end));
        self.expr(ExprKind::Reduce { op, vars, body }, start, end)
    }

    /// The arguments of a call, named ones last and each once.
    pub fn args(&self, args: Vec<Arg>) -> Vec<Arg> {
        let mut named: Option<Span> = None;
        for arg in &args {
            match (&arg.name, named) {
                (Some(_), _) => named = Some(arg.span),
                (None, Some(named)) => {
                    self.report(arg.span, &ShapeProblem::PositionalAfterNamed { named });
                    break;
                }
                (None, None) => {}
            }
        }
        self.no_duplicates("argument", args.iter().filter_map(|arg| arg.name.as_ref()));
        args
    }

    /// A block. A last statement that can be its value is.
    pub fn block(&self, mut stmts: Vec<Stmt>, value: Option<Expr>, start: u32, end: u32) -> Block {
        let span = self.span(start, end);
        let mut value = value;
        let has_value = |stmt: &Stmt| {
            // `e;` ends behind its expression, `if` and blocks end with it.
            matches!(&stmt.kind, StmtKind::Expr(last) if last.span.end == stmt.span.end)
        };
        if value.is_none()
            && stmts.last().is_some_and(has_value)
            && let Some(Stmt {
                kind: StmtKind::Expr(last),
                ..
            }) = stmts.pop()
        {
            value = Some(last);
        }
        let inner = stmts.iter().map(Stmt::depth).max().unwrap_or(0);
        let depth = 1 + inner.max(value.as_ref().map_or(0, |value| value.depth));
        if self.too_deep(depth, span) {
            return Block {
                stmts: Vec::new(),
                value: None,
                span,
                depth: 1,
            };
        }
        Block {
            stmts,
            value,
            span,
            depth,
        }
    }

    /// `let` and `var`.
    pub fn let_statement(
        &self,
        mutable: bool,
        pattern: Pattern,
        ty: Option<Type>,
        value: Expr,
    ) -> StmtKind {
        self.no_duplicates("variable", pattern.names());
        StmtKind::Let(Let {
            mutable,
            pattern,
            ty,
            value,
        })
    }

    /// An assignment; the target is checked.
    pub fn assign(&self, target: Expr, op: Option<Spanned<BinaryOp>>, value: Expr) -> StmtKind {
        if let Some(wrong) = not_assignable(&target, op.is_some()) {
            let found = describe(wrong);
            let tuple = matches!(&*wrong.kind, ExprKind::Tuple(parts) if !parts.is_empty());
            self.report(wrong.span, &ShapeProblem::AssignmentTarget { found, tuple });
            return StmtKind::Error;
        }
        StmtKind::Assign { target, op, value }
    }

    /// A role of `roles { … }`.
    pub fn role(&self, name: Name, args: Vec<Arg>, body: Block, start: u32, end: u32) -> Role {
        let numbers = numbers_of_role(&name);
        Role {
            name,
            args,
            body,
            numbers,
            span: self.span(start, end),
        }
    }

    /// A `for`, perhaps with a clause before it.
    pub fn for_loop(
        &self,
        is_static: bool,
        clause: Option<Expr>,
        (pattern, over): (Pattern, Expr),
        body: Block,
    ) -> StmtKind {
        self.no_duplicates("variable", pattern.names());
        if let Some(clause) = &clause
            && !matches!(
                *clause.kind,
                ExprKind::Call { .. } | ExprKind::Name(_) | ExprKind::Error
            )
        {
            self.report(
                clause.span,
                &ShapeProblem::LoopClause {
                    found: describe(clause),
                },
            );
            return StmtKind::Error;
        }
        StmtKind::For(For {
            is_static,
            clause,
            pattern,
            over,
            body,
        })
    }

    /// `x` in a pattern.
    pub fn name_pattern(&self, name: Name) -> Pattern {
        let span = name.span;
        if &*name.node == RECEIVER {
            self.report(span, &ShapeProblem::MisplacedReceiver);
        }
        Pattern {
            kind: PatternKind::Name(name),
            span,
            depth: 1,
        }
    }

    /// `_` and `(a, b)` in a pattern.
    pub fn pattern(&self, kind: PatternKind, start: u32, end: u32) -> Pattern {
        let span = self.span(start, end);
        let inner = match &kind {
            PatternKind::Tuple(parts) => parts.iter().map(|part| part.depth).max().unwrap_or(0),
            _ => 0,
        };
        if self.too_deep(inner + 1, span) {
            return Pattern {
                kind: PatternKind::Error,
                span,
                depth: 1,
            };
        }
        Pattern {
            kind,
            span,
            depth: inner + 1,
        }
    }

    /// `name<args>` as a type.
    pub fn named_type(&self, name: Name, args: Vec<Arg>, start: u32, end: u32) -> Type {
        let inner = args.iter().map(|arg| arg.value.depth).max().unwrap_or(0);
        self.ty(TypeKind::Named { name, args }, inner + 1, start, end)
    }

    /// `(a, b)` as a type.
    pub fn tuple_type(&self, parts: Vec<Type>, start: u32, end: u32) -> Type {
        let inner = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        self.ty(TypeKind::Tuple(parts), inner + 1, start, end)
    }

    fn ty(&self, kind: TypeKind, depth: u32, start: u32, end: u32) -> Type {
        let span = self.span(start, end);
        if self.too_deep(depth, span) {
            return Type {
                kind: TypeKind::Error,
                span,
                depth: 1,
            };
        }
        Type { kind, span, depth }
    }

    /// `fn`, in a record or not.
    pub fn function(
        &self,
        name: Name,
        static_params: Vec<StaticParam>,
        params: Vec<Param>,
        result: Option<Type>,
        body: Block,
    ) -> Function {
        self.check_params(&static_params, &params);
        for candidates in static_params.iter().filter_map(|p| p.candidates.as_ref()) {
            self.report(candidates.span, &ShapeProblem::MisplacedCandidates);
        }
        let bare = params
            .iter()
            .filter(|param| param.mutable && param.ty.is_none() && &*param.name.node != RECEIVER);
        for param in bare {
            let name = param.name.node.clone();
            self.report(param.span, &ShapeProblem::MutableParameter { name });
        }
        Function {
            name,
            static_params,
            params,
            result,
            body,
        }
    }

    /// `fn` at the top of a file.
    pub fn function_item(&self, function: Function) -> ItemKind {
        self.no_receiver(&function.params);
        ItemKind::Function(function)
    }

    /// Reports `self` where nothing is called on a record.
    fn no_receiver(&self, params: &[Param]) {
        for param in params.iter().filter(|param| &*param.name.node == RECEIVER) {
            self.report(param.span, &ShapeProblem::MisplacedReceiver);
        }
    }

    /// `record`.
    pub fn record(
        &self,
        name: Name,
        fields: Vec<RecordField>,
        functions: Vec<RecordFunction>,
    ) -> ItemKind {
        if fields.is_empty() && functions.is_empty() {
            let problem = ShapeProblem::NoFields {
                name: name.node.clone(),
            };
            self.report(name.span, &problem);
        }
        self.no_duplicates("field", fields.iter().map(|field| &field.name));
        let names = functions.iter().map(|function| &function.function.name);
        self.no_duplicates("function", names);
        for function in &functions {
            self.no_receiver(function.function.params.get(1..).unwrap_or_default());
        }
        ItemKind::Record(Record {
            name,
            fields,
            functions,
        })
    }

    /// `Ring { index = 0, full }`.
    pub fn record_value(&self, name: Name, fields: Vec<FieldValue>, start: u32, end: u32) -> Expr {
        self.no_duplicates("field", fields.iter().map(|field| &field.name));
        self.expr(ExprKind::Record { name, fields }, start, end)
    }

    /// `full`, which is given the variable of its name.
    pub fn field_of_its_name(&self, name: Name) -> FieldValue {
        let value = Expr::new(ExprKind::Name(name.node.clone()), name.span);
        FieldValue { name, value }
    }

    /// `index: 0`, as Rust writes it.
    pub fn field_behind_colon(&self, name: Name, value: Expr, start: u32, end: u32) -> FieldValue {
        let problem = ShapeProblem::FieldColon {
            name: name.node.clone(),
        };
        self.report(self.span(start, end), &problem);
        FieldValue { name, value }
    }

    /// `kernel`.
    pub fn kernel(
        &self,
        name: Name,
        static_params: Vec<StaticParam>,
        params: Vec<Param>,
        conditions: Vec<Promise>,
        launch: Option<Vec<Clause>>,
        body: Block,
    ) -> ItemKind {
        self.check_params(&static_params, &params);
        self.no_receiver(&params);
        let without = static_params.iter().filter(|param| param.default.is_none());
        for (param, candidates) in without.filter_map(|p| Some((p, p.candidates.as_ref()?))) {
            let name = param.name.node.clone();
            self.report(candidates.span, &ShapeProblem::NoDefault { name });
        }
        let (mut promises, mut tunable) = (Vec::new(), Vec::new());
        for condition in conditions {
            match condition {
                Promise::OfArguments(condition) => promises.push(condition),
                Promise::OfCandidates(condition) => tunable.push(condition),
            }
        }
        for param in params.iter().filter(|param| param.ty.is_none()) {
            let problem = ShapeProblem::MissingType {
                name: param.name.node.clone(),
            };
            self.report(param.name.span, &problem);
        }
        let kernel = &name.node;
        match &launch {
            None => {
                let problem = ShapeProblem::MissingLaunch {
                    kernel: kernel.clone(),
                };
                self.report(name.span, &problem);
            }
            Some(clauses) => self.check_launch(&name, clauses),
        }
        let launch = launch.unwrap_or_default();
        ItemKind::Kernel(Kernel {
            name,
            static_params,
            params,
            promises,
            tunable,
            launch,
            body,
        })
    }

    fn check_launch(&self, kernel: &Name, clauses: &[Clause]) {
        self.no_duplicates("launch clause", clauses.iter().map(|clause| &clause.name));
        let known = |clause: &&Clause| words::LAUNCH_CLAUSES.contains(&&*clause.name.node);
        let mut all_known = true;
        for clause in clauses.iter().filter(|clause| !known(clause)) {
            let problem = ShapeProblem::UnknownClause {
                name: clause.name.node.clone(),
            };
            self.report(clause.name.span, &problem);
            all_known = false;
        }
        let has = |name: &str| clauses.iter().any(|clause| &*clause.name.node == name);
        if !all_known || has("tiles") {
            return;
        }
        for clause in ["grid", "block"] {
            if !(has(clause) || clause == "grid" && has("persistent")) {
                let kernel_name = kernel.node.clone();
                let problem = ShapeProblem::MissingClause {
                    kernel: kernel_name,
                    clause,
                };
                let last = clauses.last().map_or(kernel.span, |clause| clause.span);
                self.report(last, &problem);
            }
        }
    }

    fn check_params(&self, static_params: &[StaticParam], params: &[Param]) {
        let statics = static_params.iter().map(|param| &param.name);
        self.no_duplicates(
            "parameter",
            statics.chain(params.iter().map(|param| &param.name)),
        );
    }

    fn no_duplicates<'a>(&self, what: &'static str, names: impl IntoIterator<Item = &'a Name>) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for name in names {
            match seen.get(&*name.node) {
                Some(&first) => {
                    let name_text = name.node.clone();
                    let problem = ShapeProblem::DuplicateName {
                        what,
                        name: name_text,
                        first,
                    };
                    self.report(name.span, &problem);
                }
                None => {
                    seen.insert(&name.node, name.span);
                }
            }
        }
    }
}
