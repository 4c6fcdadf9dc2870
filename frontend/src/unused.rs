//! Warnings about what a file says in vain: variables, parameters, functions, records and constants that nothing uses, and
//! statements that are never reached.
//!
//! Names are resolved by their place in the text, so what a name of a compile-time branch that is not taken mentions is
//! used. A name that begins with `_` is meant to be unused. An assignment counts as a use: it may write elements. Parameters
//! that others ask for may be unused: those of a function that is passed on as a value, and of a function of a record that
//! another record has too, or that an imported file of the library calls.

use crate::Program;
use crate::ast::{
    Arg, Block, ElseBranch, Expr, ExprKind, File, Function, Item, ItemKind, Kernel, Name, Param,
    Pattern, RECEIVER, Record, Stmt, StmtKind, Type, TypeKind,
};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A name that a scope binds.
struct Bound {
    span: Span,
    what: &'static str,
    /// A `var`: a name that hides it and is not read has a warning of its own ([`codes::HIDDEN_VARIABLE`]).
    mutable: bool,
    used: bool,
}

/// Who says which parameters a function has, if not it alone.
#[derive(Clone, Copy)]
enum Signature<'a> {
    /// Whoever calls the function of this name as a value.
    Function(&'a str),
    /// Whoever calls functions of this name of records.
    Method(&'a str),
}

/// Walks a file in the order of its text.
#[derive(Default)]
struct Walk<'a> {
    scopes: Vec<FxHashMap<&'a str, Bound>>,
    /// Every name that is used, wherever it is bound.
    mentioned: FxHashSet<&'a str>,
    /// Names of no variables that stand for values, and are not called where they stand.
    passed: FxHashSet<&'a str>,
    /// The functions of records that are called.
    called: FxHashSet<&'a str>,
    /// How many records have a function of a name.
    methods: FxHashMap<&'a str, usize>,
    /// The function whose parameters are bound.
    signature: Option<Signature<'a>>,
    /// What is found, with the function whose parameter it is.
    found: Vec<(Option<Signature<'a>>, Diagnostic)>,
}

/// The warnings for the root file of a program without errors, in the order of the text.
pub fn unused(program: &Program) -> Vec<Diagnostic> {
    let Some(root) = program.root() else {
        return Vec::new();
    };
    let mut walk = Walk::default();
    let mut others = Walk::default();
    // The library names nothing of a program.
    for file in &program.files {
        let walk = if std::ptr::eq(file, root) {
            &mut walk
        } else {
            &mut others
        };
        walk.file(file);
    }
    let mut library = None;
    let mut is_asked_for = |signature: &Signature<'_>| match signature {
        Signature::Function(name) => walk.passed.contains(name) || others.passed.contains(name),
        Signature::Method(name) => {
            let library = library.get_or_insert_with(|| {
                let mut library = Walk::default();
                program.library_items().for_each(|item| library.item(item));
                library
            });
            let records = [&walk, &others, library];
            let records = records.iter().filter_map(|walk| walk.methods.get(name));
            library.called.contains(name) || records.sum::<usize>() > 1
        }
    };
    let found = walk.found.iter();
    let found = found.filter(|(signature, _)| !signature.as_ref().is_some_and(&mut is_asked_for));
    let mut found: Vec<Diagnostic> = found.map(|(_, found)| found.clone()).collect();
    let launches = |kind: &ItemKind| matches!(kind, ItemKind::Kernel(_));
    // A file without kernels is there for others.
    if root.items.iter().any(|item| launches(&item.kind)) {
        let used = |name: &Name| {
            let name = &*name.node;
            walk.mentioned.contains(name) || others.mentioned.contains(name)
        };
        for item in &root.items {
            if let ItemKind::Function(_) | ItemKind::Const(_) | ItemKind::Record(_) = item.kind
                && let Some(name) = item.kind.name().filter(|name| !used(name))
            {
                let what = match item.kind {
                    ItemKind::Const(_) => "constant",
                    ItemKind::Record(_) => "record",
                    _ => "function",
                };
                found.extend(warning(what, &name.node, name.span));
            }
        }
    }
    found.sort_by_key(Diagnostic::span);
    found
}

fn warning(what: &str, name: &str, span: Span) -> Option<Diagnostic> {
    if name.starts_with('_') {
        return None;
    }
    let message = format!("the {what} `{name}` is never used");
    let help = match what {
        "function" | "constant" | "record" => "remove it".to_owned(),
        _ => format!("remove it, or call it `_{name}`"),
    };
    Some(Diagnostic::warning(codes::UNUSED, span, message, "never used").with_help(help))
}

impl<'a> Walk<'a> {
    fn file(&mut self, file: &'a File) {
        file.items.iter().for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &'a Item) {
        match &item.kind {
            ItemKind::Const(item) => {
                self.optional_type(item.ty.as_ref());
                self.expr(&item.value);
            }
            ItemKind::Function(function) => {
                self.function(function, Signature::Function(&function.name.node));
            }
            ItemKind::Kernel(kernel) => self.kernel(kernel),
            ItemKind::Record(record) => self.record(record),
            ItemKind::Test(test) => self.block(&test.body),
            ItemKind::Bench(bench) => self.block(&bench.body),
            ItemKind::Import(_) | ItemKind::Error => {}
        }
    }

    fn function(&mut self, function: &'a Function, signature: Signature<'a>) {
        self.signature = Some(signature);
        self.scoped(|this| {
            for param in &function.static_params {
                this.optional_type(param.ty.as_ref());
                param.default.iter().for_each(|value| this.expr(value));
                this.bind(&param.name, "compile-time parameter", false);
            }
            for param in &function.params {
                this.bind(&param.name, "parameter", false);
                if &*param.name.node == RECEIVER {
                    this.mention(RECEIVER);
                }
            }
            for param in &function.params {
                this.optional_type(param.ty.as_ref());
            }
            this.optional_type(function.result.as_ref());
            this.block(&function.body);
            this.use_for_extents(&function.params);
        });
        self.signature = None;
    }

    /// A record is used by whoever builds it or names it as a type, so it may well mention itself.
    fn record(&mut self, record: &'a Record) {
        let mentioned = self.mentioned.contains(&*record.name.node);
        for field in &record.fields {
            self.optional_type(field.ty.as_ref());
            field.default.iter().for_each(|value| self.expr(value));
        }
        for function in &record.functions {
            let name = &*function.function.name.node;
            *self.methods.entry(name).or_default() += 1;
            self.function(&function.function, Signature::Method(name));
        }
        if !mentioned {
            self.mentioned.remove(&*record.name.node);
        }
    }

    fn kernel(&mut self, kernel: &'a Kernel) {
        self.scoped(|this| {
            for param in &kernel.static_params {
                this.optional_type(param.ty.as_ref());
                param.default.iter().for_each(|value| this.expr(value));
                param.candidates.iter().for_each(|values| this.expr(values));
                this.bind(&param.name, "compile-time parameter", false);
            }
            this.conditions(&kernel.tunable);
            for param in &kernel.params {
                this.bind(&param.name, "parameter", false);
            }
            // Extents are bound where they first stand; a tensor may be there for them alone.
            let mut before = Vec::new();
            for param in &kernel.params {
                before.push(std::mem::take(&mut this.mentioned));
                this.optional_type(param.ty.as_ref());
                let of_type = std::mem::take(&mut this.mentioned);
                before.push(of_type);
            }
            kernel
                .promises
                .iter()
                .for_each(|promise| this.expr(promise));
            for clause in &kernel.launch {
                this.args(&clause.args);
            }
            this.block(&kernel.body);
            this.use_for_extents(&kernel.params);
            this.mentioned.extend(before.into_iter().flatten());
        });
    }

    /// Walks conditions on candidates: a parameter that nothing else mentions changes nothing of the kernel.
    fn conditions(&mut self, conditions: &'a [Expr]) {
        let used = |scope: &FxHashMap<&'a str, Bound>| -> Vec<&'a str> {
            let used = scope.iter().filter(|(_, bound)| bound.used);
            used.map(|(name, _)| *name).collect()
        };
        let before = self.scopes.last().map(used).unwrap_or_default();
        conditions.iter().for_each(|condition| self.expr(condition));
        for (name, bound) in self.scopes.last_mut().into_iter().flatten() {
            bound.used = before.contains(name);
        }
    }

    /// A tensor whose shape or strides name what the kernel uses is used.
    fn use_for_extents(&mut self, params: &'a [Param]) {
        for param in params {
            let mut names = Walk::default();
            names.optional_type(param.ty.as_ref());
            let serves = names.mentioned.iter().any(|name| {
                let is_extent = !self.scopes.iter().any(|scope| scope.contains_key(name));
                is_extent && self.mentioned.contains(name)
            });
            if serves {
                self.mention(&param.name.node);
            }
        }
    }

    fn scoped(&mut self, body: impl FnOnce(&mut Self)) {
        self.scopes.push(FxHashMap::default());
        body(self);
        let bound = self.scopes.pop().unwrap_or_default();
        for (name, bound) in bound.into_iter().filter(|(_, bound)| !bound.used) {
            let signature = self.signature.filter(|_| bound.what == "parameter");
            let found = warning(bound.what, name, bound.span);
            self.found.extend(found.map(|found| (signature, found)));
        }
    }

    /// Binds a name; what it hides in the same scope ends here.
    fn bind(&mut self, name: &'a Name, what: &'static str, mutable: bool) {
        let outer = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(&*name.node));
        let bound = Bound {
            span: name.span,
            what,
            mutable,
            used: outer.is_some_and(|outer| outer.mutable && !mutable),
        };
        let hidden = self
            .scopes
            .last_mut()
            .and_then(|scope| scope.insert(&name.node, bound));
        if let Some(hidden) = hidden.filter(|hidden| !hidden.used) {
            let found = warning(hidden.what, &name.node, hidden.span);
            self.found.extend(found.map(|found| (None, found)));
        }
    }

    fn mention(&mut self, name: &'a str) {
        self.mentioned.insert(name);
        let bound = self
            .scopes
            .iter_mut()
            .rev()
            .find_map(|scope| scope.get_mut(name));
        if let Some(bound) = bound {
            bound.used = true;
        }
    }

    fn optional_type(&mut self, ty: Option<&'a Type>) {
        match ty.map(|ty| &ty.kind) {
            Some(TypeKind::Named { name, args }) => {
                self.mention(&name.node);
                self.args(args);
            }
            Some(TypeKind::Tuple(parts)) => {
                parts.iter().for_each(|part| self.optional_type(Some(part)));
            }
            Some(TypeKind::Error) | None => {}
        }
    }

    fn args(&mut self, args: &'a [Arg]) {
        args.iter().for_each(|arg| self.expr(&arg.value));
    }

    fn pattern(&mut self, pattern: &'a Pattern, what: &'static str, mutable: bool) {
        for name in pattern.names() {
            self.bind(name, what, mutable);
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.scoped(|this| {
            let mut ended = false;
            for stmt in &block.stmts {
                if std::mem::take(&mut ended) {
                    this.unreachable(stmt.span);
                }
                this.stmt(stmt);
                ended = ends(stmt);
            }
            if let Some(value) = &block.value {
                if ended {
                    this.unreachable(value.span);
                }
                this.expr(value);
            }
        });
    }

    fn unreachable(&mut self, span: Span) {
        let message = "this is never reached";
        let label = "what stands before it always leaves the block";
        let found = Diagnostic::warning(codes::UNREACHABLE, span, message, label);
        self.found.push((None, found));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Let(parts) => {
                self.optional_type(parts.ty.as_ref());
                self.expr(&parts.value);
                self.pattern(&parts.pattern, "variable", parts.mutable);
            }
            StmtKind::Assign { target, value, .. } => {
                self.expr(target);
                self.expr(value);
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::For(parts) => {
                parts.clause.iter().for_each(|clause| self.expr(clause));
                self.expr(&parts.over);
                self.scoped(|this| {
                    this.pattern(&parts.pattern, "loop variable", false);
                    this.block(&parts.body);
                });
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::Loop(body) => self.block(body),
            StmtKind::Roles(roles) => {
                for role in roles {
                    self.args(&role.args);
                    self.scoped(|this| {
                        this.bind(&role.name, "role", false);
                        // A role need not ask for its numbers.
                        this.mention(&role.name.node);
                        this.block(&role.body);
                    });
                }
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::Break | StmtKind::Continue | StmtKind::Empty | StmtKind::Error => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &*expr.kind {
            ExprKind::Name(name) => {
                self.mention(name);
                if !self.scopes.iter().any(|scope| scope.contains_key(&**name)) {
                    self.passed.insert(name);
                }
            }
            ExprKind::Call { callee, args } => {
                self.callee(callee);
                self.args(args);
            }
            ExprKind::Record { name, fields } => {
                self.mention(&name.node);
                fields.iter().for_each(|field| self.expr(&field.value));
            }
            ExprKind::Reduce { vars, body, .. } => {
                for var in vars {
                    var.range.iter().for_each(|range| self.expr(range));
                }
                self.block(body);
            }
            kind => {
                let (mut exprs, mut blocks) = (Vec::new(), Vec::new());
                kind.for_each_child(&mut |child| exprs.push(child), &mut |block| {
                    blocks.push(block)
                });
                exprs.into_iter().for_each(|child| self.expr(child));
                blocks.into_iter().for_each(|block| self.block(block));
            }
        }
    }
}

impl<'a> Walk<'a> {
    /// What is called: a function by its name is no value there.
    fn callee(&mut self, callee: &'a Expr) {
        match &*callee.kind {
            ExprKind::Name(name) => self.mention(name),
            ExprKind::Generic { base, args } => {
                self.callee(base);
                self.args(args);
            }
            ExprKind::Field { base, name } => {
                self.called.insert(&name.node);
                self.expr(base);
            }
            _ => self.expr(callee),
        }
    }
}

/// Whether nothing behind a statement is reached.
fn ends(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::Expr(expr) => expr_ends(expr),
        StmtKind::Loop(_)
        | StmtKind::Let(_)
        | StmtKind::Assign { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Roles(_)
        | StmtKind::Empty
        | StmtKind::Error => false,
    }
}

fn expr_ends(expr: &Expr) -> bool {
    let block_ends =
        |block: &Block| block.stmts.iter().any(ends) || block.value.as_ref().is_some_and(expr_ends);
    match &*expr.kind {
        ExprKind::Block(block) => block_ends(block),
        ExprKind::If(parts) => {
            let otherwise = match &parts.otherwise {
                Some(ElseBranch::Block(block)) => block_ends(block),
                Some(ElseBranch::If(expr)) => expr_ends(expr),
                None => false,
            };
            block_ends(&parts.then) && otherwise
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::load_program;
    use crate::source::{NoImports, SourceMap};

    /// The messages for a text.
    fn messages(text: &str) -> Vec<String> {
        let (mut map, mut diagnostics) = (SourceMap::new(), Vec::new());
        let program = load_program(&mut map, "t.cute", text, &NoImports, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let found = super::unused(&program);
        found.iter().map(|found| found.message.clone()).collect()
    }

    const HEAD: &str = "kernel k(y: mut tensor<f32, n>) launch grid(1), block(32)";

    #[test]
    fn what_nothing_uses_is_named() {
        for (body, expected) in [
            (
                "{ let a = 1; y[0] = 1.0; }",
                "the variable `a` is never used",
            ),
            (
                "{ let (a, b) = (1, 2); y[a] = 1.0; }",
                "the variable `b` is never used",
            ),
            (
                "{ for i in 0..4 { y[0] = 1.0; } }",
                "the loop variable `i` is never used",
            ),
            (
                "{ let a = 1; let a = a + 1; y[0] = 1.0; }",
                "the variable `a` is never used",
            ),
            (
                "{ if n > 1 { let a = 1; } y[0] = 1.0; }",
                "the variable `a` is never used",
            ),
            (
                "{ y[0] = 1.0; return; y[1] = 1.0; }",
                "this is never reached",
            ),
            ("{ loop { break; y[0] = 1.0; } }", "this is never reached"),
            (
                "{ if n > 1 { return; } else { return; } y[0] = 1.0; }",
                "this is never reached",
            ),
            (
                "{ y[0] = 1.0; } fn f(x) { x }",
                "the function `f` is never used",
            ),
            (
                "{ y[0] = 1.0; } const N = 1;",
                "the constant `N` is never used",
            ),
            (
                "{ y[0] = f(1); } fn f(x) { 1.0 }",
                "the parameter `x` is never used",
            ),
            (
                "{ let f = 1; y[0] = g(f); } fn f(x) { 1.0 } fn g(x) { f(x) }",
                "the parameter `x` is never used",
            ),
            (
                "{ y[0] = f<1>(); } fn f<t>() { 1.0 }",
                "the compile-time parameter `t` is never used",
            ),
            (
                "{ y[0] = 1.0; } record R { a, fn f(self) { R { a = 1 } } }",
                "the record `R` is never used",
            ),
            (
                "{ let r = R { a = 1 }; y[r.a] = 1.0; } record R { a, fn f(self, x) { 1 } }",
                "the parameter `x` is never used",
            ),
            (
                "{ roles { a(warps = 1) => { let b = 1; } } y[0] = 1.0; }",
                "the variable `b` is never used",
            ),
        ] {
            assert_eq!(messages(&format!("{HEAD} {body}")), [expected], "{body}");
        }
    }

    #[test]
    fn what_is_used_or_meant_to_be_unused_is_not() {
        for body in [
            "{ let _a = 1; y[0] = 1.0; }",
            "{ for _ in 0..4 { y[0] = 1.0; } }",
            "{ let a = 1; if false { y[a] = 1.0; } }",
            "{ var a = 1; a += 1; y[0] = 1.0; }",
            "{ if n > 1 { return; } y[0] = 1.0; }",
            "{ for i in 0..4 { if i > 1 { break; } y[i] = 1.0; } }",
            "{ var r = R { a = 1 }; r.f(); y[r.a] = 1.0; } record R { var a, fn f(mut self) { self.a = 2; } fn g(self) { 1 } }",
            "{ let r = R { a = 1 }; y[f(r)] = 1.0; } record R { a } fn f(r: R) { r.a }",
            "{ y[R.of().a] = 1.0; } record R { a, fn of() { R { a = 1 } } }",
            "{ roles { a(warps = 1) => { y[0] = 1.0; } b(warps = 1) => { y[b.thread] = 1.0; } } }",
            // Whoever calls these says which parameters they have.
            "{ y[0] = f(g); } fn f(h) { h(1, 2) } fn g(a, b) { a }",
            "{ y[0] = f<g>(); } fn f<h>() { h(1, 2) } fn g(a, b) { a }",
            "{ let (r, s) = (R { a = 1 }, S { a = 1 }); y[r.f(0)] = s.f(1); } record R { a, fn f(self, x) { self.a } } record S { a, fn f(self, x) { x } }",
            "{ y[0] = 1.0; } test t { let x = zeros<f32>(4); k(x); assert_eq(x[i], 1.0); }",
        ] {
            assert_eq!(messages(&format!("{HEAD} {body}")), [""; 0], "{body}");
        }
        // A tensor may be there for its extents, and a library has functions for others.
        for text in [
            "kernel k(x: tensor<f32, (m, n)>, y: mut tensor<f32, m>) launch grid(n), block(1) { y[0] = 1.0; }",
            "fn f(x) { x }",
        ] {
            assert_eq!(messages(text), [""; 0], "{text}");
        }
    }
}
