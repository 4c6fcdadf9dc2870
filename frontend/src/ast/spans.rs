//! Every span of a tree, in one order: what gives the nodes of one tree the places of another.

use super::*;
use crate::source::Span;

/// Visits spans that may be replaced.
pub(crate) struct Spans<'f>(pub &'f mut dyn FnMut(&mut Span));

impl Spans<'_> {
    fn name(&mut self, name: &mut Name) {
        (self.0)(&mut name.span);
    }

    /// Those of a file.
    pub fn file(&mut self, file: &mut File) {
        file.items.iter_mut().for_each(|item| self.item(item));
    }

    /// Those of an item.
    pub fn item(&mut self, item: &mut Item) {
        (self.0)(&mut item.span);
        match &mut item.kind {
            ItemKind::Import(import) => (self.0)(&mut import.path.span),
            ItemKind::Const(item) => {
                self.name(&mut item.name);
                item.ty.iter_mut().for_each(|ty| self.ty(ty));
                self.expr(&mut item.value);
            }
            ItemKind::Function(function) => self.function(function),
            ItemKind::Kernel(kernel) => self.kernel(kernel),
            ItemKind::Record(record) => self.record(record),
            ItemKind::Test(Test { name, body }) | ItemKind::Bench(Bench { name, body }) => {
                self.name(name);
                self.block(body);
            }
            ItemKind::Error => {}
        }
    }

    fn function(&mut self, function: &mut Function) {
        self.name(&mut function.name);
        self.static_params(&mut function.static_params);
        self.params(&mut function.params);
        function.result.iter_mut().for_each(|ty| self.ty(ty));
        self.block(&mut function.body);
    }

    fn kernel(&mut self, kernel: &mut Kernel) {
        self.name(&mut kernel.name);
        self.static_params(&mut kernel.static_params);
        self.params(&mut kernel.params);
        self.exprs(&mut kernel.promises);
        for clause in &mut kernel.launch {
            (self.0)(&mut clause.span);
            self.name(&mut clause.name);
            self.args(&mut clause.args);
        }
        self.block(&mut kernel.body);
    }

    fn record(&mut self, record: &mut Record) {
        self.name(&mut record.name);
        for field in &mut record.fields {
            (self.0)(&mut field.span);
            self.name(&mut field.name);
            field.ty.iter_mut().for_each(|ty| self.ty(ty));
            field.default.iter_mut().for_each(|value| self.expr(value));
        }
        for function in &mut record.functions {
            (self.0)(&mut function.span);
            self.function(&mut function.function);
        }
    }

    fn static_params(&mut self, params: &mut [StaticParam]) {
        for param in params {
            (self.0)(&mut param.span);
            self.name(&mut param.name);
            param.ty.iter_mut().for_each(|ty| self.ty(ty));
            param.default.iter_mut().for_each(|value| self.expr(value));
        }
    }

    fn params(&mut self, params: &mut [Param]) {
        for param in params {
            (self.0)(&mut param.span);
            self.name(&mut param.name);
            param.ty.iter_mut().for_each(|ty| self.ty(ty));
        }
    }

    fn ty(&mut self, ty: &mut Type) {
        (self.0)(&mut ty.span);
        match &mut ty.kind {
            TypeKind::Named { name, args } => {
                self.name(name);
                self.args(args);
            }
            TypeKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.ty(part)),
            TypeKind::Error => {}
        }
    }

    /// Those of a block.
    pub fn block(&mut self, block: &mut Block) {
        (self.0)(&mut block.span);
        block.stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
        block.value.iter_mut().for_each(|value| self.expr(value));
    }

    /// Those of a statement.
    pub fn stmt(&mut self, stmt: &mut Stmt) {
        (self.0)(&mut stmt.span);
        match &mut stmt.kind {
            StmtKind::Let(parts) => {
                self.pattern(&mut parts.pattern);
                parts.ty.iter_mut().for_each(|ty| self.ty(ty));
                self.expr(&mut parts.value);
            }
            StmtKind::Assign { target, op, value } => {
                self.expr(target);
                op.iter_mut().for_each(|op| (self.0)(&mut op.span));
                self.expr(value);
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::For(parts) => {
                parts.clause.iter_mut().for_each(|clause| self.expr(clause));
                self.pattern(&mut parts.pattern);
                self.expr(&mut parts.over);
                self.block(&mut parts.body);
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::Loop(body) => self.block(body),
            StmtKind::Roles(roles) => {
                for role in roles {
                    (self.0)(&mut role.span);
                    self.name(&mut role.name);
                    self.args(&mut role.args);
                    self.block(&mut role.body);
                    self.record(&mut role.numbers);
                }
            }
            StmtKind::Return(value) => value.iter_mut().for_each(|value| self.expr(value)),
            StmtKind::Break | StmtKind::Continue | StmtKind::Empty | StmtKind::Error => {}
        }
    }

    fn pattern(&mut self, pattern: &mut Pattern) {
        (self.0)(&mut pattern.span);
        match &mut pattern.kind {
            PatternKind::Name(name) => self.name(name),
            PatternKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.pattern(part)),
            PatternKind::Wildcard | PatternKind::Error => {}
        }
    }

    fn args(&mut self, args: &mut [Arg]) {
        for arg in args {
            (self.0)(&mut arg.span);
            arg.name.iter_mut().for_each(|name| self.name(name));
            self.expr(&mut arg.value);
        }
    }

    fn exprs(&mut self, exprs: &mut [Expr]) {
        exprs.iter_mut().for_each(|expr| self.expr(expr));
    }

    /// Those of an expression.
    pub fn expr(&mut self, expr: &mut Expr) {
        (self.0)(&mut expr.span);
        match &mut *expr.kind {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Name(_)
            | ExprKind::Wildcard
            | ExprKind::Error => {}
            ExprKind::Tuple(parts) | ExprKind::Array(parts) | ExprKind::Compose(parts) => {
                self.exprs(parts);
            }
            ExprKind::Layout { shape, stride } => {
                self.expr(shape);
                self.expr(stride);
            }
            ExprKind::Range { start, end, step } => {
                self.expr(start);
                self.expr(end);
                step.iter_mut().for_each(|step| self.expr(step));
            }
            ExprKind::ScaledBasis { scale, mode } => {
                self.expr(scale);
                (self.0)(&mut mode.span);
            }
            ExprKind::Unary { op, operand } => {
                (self.0)(&mut op.span);
                self.expr(operand);
            }
            ExprKind::Binary { op, lhs, rhs } => {
                self.expr(lhs);
                (self.0)(&mut op.span);
                self.expr(rhs);
            }
            ExprKind::Field { base, name } => {
                self.expr(base);
                self.name(name);
            }
            ExprKind::Index { base, indices } => {
                self.expr(base);
                self.exprs(indices);
            }
            ExprKind::Generic { base, args } | ExprKind::Call { callee: base, args } => {
                self.expr(base);
                self.args(args);
            }
            ExprKind::Record { name, fields } => {
                self.name(name);
                for field in fields {
                    self.name(&mut field.name);
                    self.expr(&mut field.value);
                }
            }
            ExprKind::If(parts) => {
                self.expr(&mut parts.condition);
                self.block(&mut parts.then);
                match &mut parts.otherwise {
                    Some(ElseBranch::Block(block)) => self.block(block),
                    Some(ElseBranch::If(expr)) => self.expr(expr),
                    None => {}
                }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Reduce { op, vars, body } => {
                self.name(op);
                for var in vars {
                    self.name(&mut var.name);
                    var.range.iter_mut().for_each(|range| self.expr(range));
                }
                self.block(body);
            }
        }
    }
}
