//! The walk that finds names, scope by scope.

use super::{Definition, Meaning, Names, Use};
use crate::Program;
use crate::ast::visit::{self, Visit};
use crate::ast::*;
use crate::program::Items;
use crate::source::{FileId, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Finds all names of a program.
pub fn walk(program: &Program) -> Names {
    let mut walk = Walk {
        items: Items::of(program),
        ..Walk::default()
    };
    walk.names.library = program.library.iter().map(|file| file.id).collect();
    for item in program.items().chain(program.library_items()) {
        walk.declare(item);
    }
    for item in program.items().chain(program.library_items()) {
        walk.item(item);
    }
    let mut names = walk.names;
    names
        .uses
        .sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
    names
}

#[derive(Default)]
struct Walk<'a> {
    names: Names,
    /// What files can name.
    items: Items<'a>,
    /// Fields and functions of records, by their names.
    members: HashMap<&'a str, Vec<usize>>,
    /// Parameters of functions and kernels, for arguments by name.
    parameters: HashMap<(usize, &'a str), usize>,
    scopes: Vec<HashMap<&'a str, usize>>,
    /// The end of each scope.
    ends: Vec<Span>,
    /// The item that is walked.
    parent: Option<usize>,
    /// Whether names that nothing defines are indices.
    in_test: bool,
    /// What is declared, by the bytes of its name.
    declared: HashMap<Span, usize>,
}

impl<'a> Walk<'a> {
    /// The items and members of a file, before anything names them.
    fn declare(&mut self, item: &'a Item) {
        let Some(name) = item.kind.name() else { return };
        let meaning = match &item.kind {
            ItemKind::Kernel(_) => Meaning::Kernel,
            ItemKind::Function(_) => Meaning::Function,
            ItemKind::Record(_) => Meaning::Record,
            ItemKind::Const(_) => Meaning::Const,
            ItemKind::Test(_) => Meaning::Test,
            ItemKind::Bench(_) => Meaning::Bench,
            ItemKind::Import(_) | ItemKind::Error => return,
        };
        let head = match &item.kind {
            ItemKind::Kernel(kernel) => until(item.span, kernel.body.span),
            ItemKind::Function(function) => until(item.span, function.body.span),
            ItemKind::Test(Test { body, .. }) | ItemKind::Bench(Bench { body, .. }) => {
                until(item.span, body.span)
            }
            ItemKind::Const(_) | ItemKind::Record(_) | ItemKind::Import(_) | ItemKind::Error => {
                item.span
            }
        };
        let number = self.define(Definition {
            name: name.node.clone(),
            span: name.span,
            meaning,
            whole: item.span,
            head,
            docs: item.docs.clone(),
            scope: None,
            parent: None,
        });
        match &item.kind {
            ItemKind::Kernel(kernel) => self.declare_parameters(
                number,
                &kernel.static_params,
                &kernel.params,
                kernel.body.span,
            ),
            ItemKind::Function(function) => {
                self.declare_parameters(
                    number,
                    &function.static_params,
                    &function.params,
                    function.body.span,
                );
            }
            ItemKind::Record(record) => {
                for field in &record.fields {
                    let member = self.define(Definition {
                        name: field.name.node.clone(),
                        span: field.name.span,
                        meaning: Meaning::Field,
                        whole: field.span,
                        head: field.span,
                        docs: field.docs.clone(),
                        scope: None,
                        parent: Some(number),
                    });
                    self.members
                        .entry(&field.name.node)
                        .or_default()
                        .push(member);
                }
                for function in &record.functions {
                    let (docs, whole, function) =
                        (&function.docs, function.span, &function.function);
                    let member = self.define(Definition {
                        name: function.name.node.clone(),
                        span: function.name.span,
                        meaning: Meaning::Method,
                        whole,
                        head: until(whole, function.body.span),
                        docs: docs.clone(),
                        scope: None,
                        parent: Some(number),
                    });
                    self.members
                        .entry(&function.name.node)
                        .or_default()
                        .push(member);
                    self.declare_parameters(
                        member,
                        &function.static_params,
                        &function.params,
                        function.body.span,
                    );
                }
            }
            ItemKind::Const(_)
            | ItemKind::Test(_)
            | ItemKind::Bench(_)
            | ItemKind::Import(_)
            | ItemKind::Error => {}
        }
    }

    fn declare_parameters(
        &mut self,
        of: usize,
        statics: &'a [StaticParam],
        params: &'a [Param],
        body: Span,
    ) {
        let statics = statics
            .iter()
            .map(|it| (&it.name, it.span, Meaning::StaticParameter));
        let params = params
            .iter()
            .map(|it| (&it.name, it.span, Meaning::Parameter));
        for (name, whole, meaning) in statics.chain(params) {
            let number = self.define(Definition {
                name: name.node.clone(),
                span: name.span,
                meaning,
                whole,
                head: whole,
                docs: Vec::new(),
                scope: Some(name.span.to(body)),
                parent: Some(of),
            });
            self.parameters.insert((of, &name.node), number);
        }
    }

    fn define(&mut self, definition: Definition) -> usize {
        let number = self.names.definitions.len();
        self.names.uses.push(Use {
            span: definition.span,
            definitions: vec![number],
            defines: true,
            is_member: definition.meaning.is_member(),
            shorthand: false,
        });
        self.declared.insert(definition.span, number);
        self.names.definitions.push(definition);
        number
    }

    fn scoped(&mut self, around: Span, body: impl FnOnce(&mut Self)) {
        self.scopes.push(HashMap::new());
        self.ends.push(around);
        body(self);
        self.scopes.pop();
        self.ends.pop();
    }

    /// A name that a scope binds from here on.
    fn bind(&mut self, name: &'a Name, meaning: Meaning, whole: Span) {
        let around = self.ends.last().copied().unwrap_or(whole);
        let number = self.define(Definition {
            name: name.node.clone(),
            span: name.span,
            meaning,
            whole,
            head: whole,
            docs: Vec::new(),
            scope: Some(Span::new(whole.file, whole.end.min(around.end), around.end)),
            parent: self.parent,
        });
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(&name.node, number);
        }
    }

    /// What was declared before its scope was walked.
    fn bring(&mut self, name: &'a Name) {
        if let (Some(number), Some(scope)) = (self.declared.get(&name.span), self.scopes.last_mut())
        {
            scope.insert(&name.node, *number);
        }
    }

    /// What a name means here, which is in `file`.
    fn find(&self, name: &str, file: FileId) -> Option<usize> {
        let bound = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        let item = || self.declared.get(&self.items.get(name, file)?.name()?.span);
        bound.or_else(item).copied()
    }

    fn used(&mut self, span: Span, definitions: Vec<usize>, is_member: bool) {
        self.names.uses.push(Use {
            span,
            definitions,
            defines: false,
            is_member,
            shorthand: false,
        });
    }

    /// A name as an operand or a type.
    fn mention(&mut self, name: &'a Arc<str>, span: Span) {
        // An extent is defined by its first mention.
        if self.declared.contains_key(&span) {
            return;
        }
        let found = self.find(name, span.file);
        self.used(span, found.into_iter().collect(), false);
    }

    fn member(&mut self, name: &'a Name) {
        let found = self.members.get(&*name.node).cloned();
        self.used(name.span, found.unwrap_or_default(), true);
    }

    /// The arguments of what `callee` names.
    fn arguments(&mut self, callee: &'a Expr, args: &'a [Arg]) {
        let callee = match &*callee.kind {
            ExprKind::Generic { base, .. } => base,
            _ => callee,
        };
        let of: Vec<usize> = match &*callee.kind {
            ExprKind::Name(name) => {
                let found = self.find(name, callee.span.file);
                found.into_iter().collect()
            }
            ExprKind::Field { name, .. } => {
                self.members.get(&*name.node).cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        };
        for arg in args {
            if let Some(name) = &arg.name {
                let found = of
                    .iter()
                    .filter_map(|of| self.parameters.get(&(*of, &*name.node)));
                let found = found.copied().collect();
                self.used(name.span, found, false);
            }
            self.expr(&arg.value);
        }
    }

    fn pattern_names(&mut self, pattern: &'a Pattern, meaning: Meaning, whole: Span) {
        for name in pattern.names() {
            self.bind(name, meaning, whole);
        }
    }

    /// The extents that the types of tensors name first.
    fn extents(&mut self, params: &'a [Param], body: Span) {
        let mut extents = Extents(Vec::new());
        for param in params {
            param.ty.iter().for_each(|ty| extents.ty(ty));
        }
        for (name, span) in extents.0 {
            let known = self.find(name, span.file).is_some() || crate::eval::is_built_in(name);
            if known {
                continue;
            }
            let number = self.define(Definition {
                name: name.clone(),
                span,
                meaning: Meaning::Extent,
                whole: span,
                head: span,
                docs: Vec::new(),
                scope: Some(span.to(body)),
                parent: self.parent,
            });
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name, number);
            }
        }
    }
}

fn until(whole: Span, body: Span) -> Span {
    Span::new(whole.file, whole.start, body.start.max(whole.start))
}

/// Names in the arguments of tensor types.
struct Extents<'a>(Vec<(&'a Arc<str>, Span)>);

impl<'a> Visit<'a> for Extents<'a> {
    fn ty(&mut self, ty: &'a Type) {
        if let TypeKind::Named { name, args } = &ty.kind
            && &*name.node == "tensor"
        {
            // The first argument is the type of the elements.
            args.iter().skip(1).for_each(|arg| self.arg(arg));
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &*expr.kind {
            ExprKind::Name(name) => self.0.push((name, expr.span)),
            ExprKind::Call { args, .. } => args.iter().for_each(|arg| self.arg(arg)),
            _ => visit::walk_expr(self, expr),
        }
    }
}

impl<'a> Visit<'a> for Walk<'a> {
    fn item(&mut self, item: &'a Item) {
        self.parent = item
            .kind
            .name()
            .and_then(|name| self.declared.get(&name.span).copied());
        self.in_test = matches!(item.kind, ItemKind::Test(_) | ItemKind::Bench(_));
        match &item.kind {
            ItemKind::Kernel(kernel) => self.scoped(item.span, |this| {
                for param in &kernel.static_params {
                    param.ty.iter().for_each(|ty| this.ty(ty));
                    param.default.iter().for_each(|value| this.expr(value));
                    param.candidates.iter().for_each(|list| this.expr(list));
                    this.bring(&param.name);
                }
                kernel
                    .tunable
                    .iter()
                    .for_each(|condition| this.expr(condition));
                this.extents(&kernel.params, kernel.body.span);
                for param in &kernel.params {
                    this.bring(&param.name);
                    param.ty.iter().for_each(|ty| this.ty(ty));
                }
                kernel
                    .promises
                    .iter()
                    .for_each(|promise| this.expr(promise));
                for clause in &kernel.launch {
                    clause.args.iter().for_each(|arg| this.arg(arg));
                }
                this.block(&kernel.body);
            }),
            ItemKind::Record(record) => {
                for field in &record.fields {
                    field.ty.iter().for_each(|ty| self.ty(ty));
                    field.default.iter().for_each(|value| self.expr(value));
                }
                let parent = self.parent;
                for function in &record.functions {
                    self.parent = self.declared.get(&function.function.name.span).copied();
                    self.function(&function.function);
                }
                self.parent = parent;
            }
            _ => visit::walk_item(self, item),
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.scoped(function.body.span, |this| {
            for param in &function.static_params {
                param.ty.iter().for_each(|ty| this.ty(ty));
                param.default.iter().for_each(|value| this.expr(value));
                this.bring(&param.name);
            }
            // An extent may be what another parameter says.
            for param in &function.params {
                this.bring(&param.name);
            }
            this.extents(&function.params, function.body.span);
            for param in &function.params {
                param.ty.iter().for_each(|ty| this.ty(ty));
            }
            function.result.iter().for_each(|ty| this.ty(ty));
            this.block(&function.body);
        });
    }

    fn block(&mut self, block: &'a Block) {
        self.scoped(block.span, |this| visit::walk_block(this, block));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Let(parts) => {
                parts.ty.iter().for_each(|ty| self.ty(ty));
                self.expr(&parts.value);
                let meaning = if parts.mutable {
                    Meaning::Mutable
                } else {
                    Meaning::Variable
                };
                self.pattern_names(&parts.pattern, meaning, stmt.span);
            }
            StmtKind::For(parts) => {
                parts.clause.iter().for_each(|clause| self.expr(clause));
                self.expr(&parts.over);
                self.scoped(parts.body.span, |this| {
                    let head = Span::new(stmt.span.file, stmt.span.start, parts.over.span.end);
                    this.pattern_names(&parts.pattern, Meaning::Variable, head);
                    this.block(&parts.body);
                });
            }
            StmtKind::Roles(roles) => {
                for role in roles {
                    role.args.iter().for_each(|arg| self.arg(arg));
                    self.scoped(role.body.span, |this| {
                        this.bind(&role.name, Meaning::Role, until(role.span, role.body.span));
                        this.block(&role.body);
                    });
                }
            }
            // Names of a test that nothing defines are indices of their statement.
            _ if self.in_test => self.scoped(stmt.span, |this| visit::walk_stmt(this, stmt)),
            _ => visit::walk_stmt(self, stmt),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &*expr.kind {
            ExprKind::Name(name) => {
                let unknown =
                    self.find(name, expr.span.file).is_none() && !crate::eval::is_built_in(name);
                if self.in_test && unknown && name.len() <= 2 {
                    let around = self.ends.last().copied().unwrap_or(expr.span);
                    let number = self.define(Definition {
                        name: name.clone(),
                        span: expr.span,
                        meaning: Meaning::Index,
                        whole: expr.span,
                        head: expr.span,
                        docs: Vec::new(),
                        scope: Some(around),
                        parent: self.parent,
                    });
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.insert(name, number);
                    }
                } else {
                    self.mention(name, expr.span);
                }
            }
            ExprKind::Field { base, name } => {
                self.expr(base);
                self.member(name);
            }
            ExprKind::Generic { base, args } | ExprKind::Call { callee: base, args } => {
                self.expr(base);
                self.arguments(base, args);
            }
            ExprKind::Record { name, fields } => {
                self.mention(&name.node, name.span);
                for field in fields {
                    let before = self.names.uses.len();
                    self.member(&field.name);
                    self.expr(&field.value);
                    if field.value.span == field.name.span {
                        for of in &mut self.names.uses[before..] {
                            of.shorthand = true;
                        }
                    }
                }
            }
            ExprKind::Reduce { op, vars, body } => {
                self.used(op.span, Vec::new(), false);
                for range in vars.iter().filter_map(|var| var.range.as_ref()) {
                    self.expr(range);
                }
                self.scoped(body.span, |this| {
                    for var in vars {
                        this.bind(&var.name, Meaning::Index, var.name.span);
                    }
                    this.block(body);
                });
            }
            _ => visit::walk_expr(self, expr),
        }
    }

    fn ty(&mut self, ty: &'a Type) {
        if let TypeKind::Named { name, .. } = &ty.kind {
            self.mention(&name.node, name.span);
        }
        visit::walk_type(self, ty);
    }
}
