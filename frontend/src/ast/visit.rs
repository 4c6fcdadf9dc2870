//! A walk over a tree that changes nothing, in the order of the text.
//!
//! A visitor overrides what it wants to see, and calls the `walk_…` of the same name to go on into the children.

use super::*;

/// Sees the nodes of a tree. Each method, as it is, walks on.
pub trait Visit<'a> {
    /// An item.
    fn item(&mut self, item: &'a Item) {
        walk_item(self, item);
    }

    /// A function, of a file or of a record.
    fn function(&mut self, function: &'a Function) {
        walk_function(self, function);
    }

    /// A block.
    fn block(&mut self, block: &'a Block) {
        walk_block(self, block);
    }

    /// A statement.
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    /// An expression.
    fn expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
    }

    /// The type behind a colon or an arrow.
    fn ty(&mut self, ty: &'a Type) {
        walk_type(self, ty);
    }

    /// What a `let` or `for` binds.
    fn pattern(&mut self, pattern: &'a Pattern) {
        walk_pattern(self, pattern);
    }

    /// An argument.
    fn arg(&mut self, arg: &'a Arg) {
        self.expr(&arg.value);
    }
}

/// Into an item.
pub fn walk_item<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, item: &'a Item) {
    match &item.kind {
        ItemKind::Import(_) | ItemKind::Error => {}
        ItemKind::Const(item) => {
            item.ty.iter().for_each(|ty| visitor.ty(ty));
            visitor.expr(&item.value);
        }
        ItemKind::Function(function) => visitor.function(function),
        ItemKind::Kernel(kernel) => {
            walk_params(visitor, &kernel.static_params, &kernel.params);
            kernel
                .promises
                .iter()
                .for_each(|promise| visitor.expr(promise));
            kernel
                .tunable
                .iter()
                .for_each(|condition| visitor.expr(condition));
            for clause in &kernel.launch {
                clause.args.iter().for_each(|arg| visitor.arg(arg));
            }
            visitor.block(&kernel.body);
        }
        ItemKind::Record(record) => {
            for field in &record.fields {
                field.ty.iter().for_each(|ty| visitor.ty(ty));
                field.default.iter().for_each(|value| visitor.expr(value));
            }
            for function in &record.functions {
                visitor.function(&function.function);
            }
        }
        ItemKind::Test(Test { body, .. }) | ItemKind::Bench(Bench { body, .. }) => {
            visitor.block(body);
        }
    }
}

/// Into a function.
pub fn walk_function<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, function: &'a Function) {
    walk_params(visitor, &function.static_params, &function.params);
    function.result.iter().for_each(|ty| visitor.ty(ty));
    visitor.block(&function.body);
}

fn walk_params<'a, V: Visit<'a> + ?Sized>(
    visitor: &mut V,
    statics: &'a [StaticParam],
    params: &'a [Param],
) {
    for param in statics {
        param.ty.iter().for_each(|ty| visitor.ty(ty));
        param.default.iter().for_each(|value| visitor.expr(value));
        param.candidates.iter().for_each(|list| visitor.expr(list));
    }
    for param in params {
        param.ty.iter().for_each(|ty| visitor.ty(ty));
    }
}

/// Into a block.
pub fn walk_block<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, block: &'a Block) {
    block.stmts.iter().for_each(|stmt| visitor.stmt(stmt));
    block.value.iter().for_each(|value| visitor.expr(value));
}

/// Into a statement.
pub fn walk_stmt<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, stmt: &'a Stmt) {
    match &stmt.kind {
        StmtKind::Let(parts) => {
            visitor.pattern(&parts.pattern);
            parts.ty.iter().for_each(|ty| visitor.ty(ty));
            visitor.expr(&parts.value);
        }
        StmtKind::Assign { target, value, .. } => {
            visitor.expr(target);
            visitor.expr(value);
        }
        StmtKind::Expr(expr) => visitor.expr(expr),
        StmtKind::For(parts) => {
            parts.clause.iter().for_each(|clause| visitor.expr(clause));
            visitor.pattern(&parts.pattern);
            visitor.expr(&parts.over);
            visitor.block(&parts.body);
        }
        StmtKind::While { condition, body } => {
            visitor.expr(condition);
            visitor.block(body);
        }
        StmtKind::Loop(body) => visitor.block(body),
        StmtKind::Roles(roles) => {
            for role in roles {
                role.args.iter().for_each(|arg| visitor.arg(arg));
                visitor.block(&role.body);
            }
        }
        StmtKind::Return(value) => value.iter().for_each(|value| visitor.expr(value)),
        StmtKind::Break | StmtKind::Continue | StmtKind::Empty | StmtKind::Error => {}
    }
}

/// Into an expression.
pub fn walk_expr<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, expr: &'a Expr) {
    match &*expr.kind {
        ExprKind::Generic { base, args } | ExprKind::Call { callee: base, args } => {
            visitor.expr(base);
            args.iter().for_each(|arg| visitor.arg(arg));
        }
        ExprKind::If(parts) => {
            visitor.expr(&parts.condition);
            visitor.block(&parts.then);
            match &parts.otherwise {
                Some(ElseBranch::Block(block)) => visitor.block(block),
                Some(ElseBranch::If(expr)) => visitor.expr(expr),
                None => {}
            }
        }
        ExprKind::Block(block) => visitor.block(block),
        ExprKind::Reduce { vars, body, .. } => {
            for range in vars.iter().filter_map(|var| var.range.as_ref()) {
                visitor.expr(range);
            }
            visitor.block(body);
        }
        kind => kind.for_each_child(&mut |child| visitor.expr(child), &mut |_| {}),
    }
}

/// Into a type.
pub fn walk_type<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, ty: &'a Type) {
    match &ty.kind {
        TypeKind::Named { args, .. } => args.iter().for_each(|arg| visitor.arg(arg)),
        TypeKind::Tuple(parts) => parts.iter().for_each(|part| visitor.ty(part)),
        TypeKind::Error => {}
    }
}

/// Into a pattern.
pub fn walk_pattern<'a, V: Visit<'a> + ?Sized>(visitor: &mut V, pattern: &'a Pattern) {
    match &pattern.kind {
        PatternKind::Tuple(parts) => parts.iter().for_each(|part| visitor.pattern(part)),
        PatternKind::Name(_) | PatternKind::Wildcard | PatternKind::Error => {}
    }
}
