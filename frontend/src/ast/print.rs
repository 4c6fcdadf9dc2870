//! The syntax tree as text.
//!
//! The text parses back to the same tree (spans and depths aside), with as few parentheses as that
//! takes. Comments are lost, so this is for messages and tests, not for formatting files.

use super::*;
use std::fmt::{self, Write};

/// Levels of binding, loosest first; [`BinaryOp::precedence`] lies between.
const LOOSEST: u8 = 0;
const COMPOSE: u8 = 1;
const LAYOUT: u8 = 2;
const OR: u8 = 3;
const UNARY: u8 = 12;
const POSTFIX: u8 = 13;
const ALWAYS: u8 = 14;

struct Printer<'f, 'o> {
    out: &'f mut fmt::Formatter<'o>,
    indent: usize,
    place: Place,
}

/// Where the printer is; within `(…)`, `[…]` and `{…}` it is always `Plain`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Plain,
    /// Between a keyword and its `{`: blocks and reductions need parentheses.
    Head,
    /// Between `<` and `>`: these too, and operators that would end the list.
    Generic,
}

macro_rules! display {
    ($($type:ty => $method:ident;)*) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Printer { out: f, indent: 0, place: Place::Plain }.$method(self)
            }
        })*
    };
}

display! {
    File => file;
    Item => item;
    Stmt => statement;
    Block => block;
    Pattern => pattern;
    Type => ty;
    Expr => whole;
}

/// A kernel as text without its body: parameters with their candidates, conditions, launch.
#[derive(Debug)]
pub struct KernelHead<'a>(pub &'a Kernel);

impl fmt::Display for KernelHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer {
            out: f,
            indent: 0,
            place: Place::Plain,
        };
        printer.kernel_head(self.0)
    }
}

impl Printer<'_, '_> {
    fn file(&mut self, file: &File) -> fmt::Result {
        for doc in &file.docs {
            writeln!(self.out, "//! {doc}")?;
        }
        for (at, item) in file.items.iter().enumerate() {
            if at > 0 || !file.docs.is_empty() {
                self.out.write_char('\n')?;
            }
            self.item(item)?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> fmt::Result {
        for doc in &item.docs {
            writeln!(self.out, "/// {doc}")?;
        }
        match &item.kind {
            ItemKind::Import(import) => {
                self.out.write_str("import ")?;
                self.string(&import.path.node)?;
                self.out.write_char(';')
            }
            ItemKind::Const(item) => {
                write!(self.out, "const {}", item.name.node)?;
                self.annotation(&item.ty)?;
                self.out.write_str(" = ")?;
                self.whole(&item.value)?;
                self.out.write_char(';')
            }
            ItemKind::Function(item) => self.function(item),
            ItemKind::Kernel(item) => {
                self.kernel_head(item)?;
                self.out.write_char('\n')?;
                self.block(&item.body)
            }
            ItemKind::Record(item) => self.record(item),
            ItemKind::Test(item) => {
                write!(self.out, "test {} ", item.name.node)?;
                self.block(&item.body)
            }
            ItemKind::Bench(item) => {
                write!(self.out, "bench {} ", item.name.node)?;
                self.block(&item.body)
            }
            ItemKind::Error => self.out.write_str("/* error */"),
        }
    }

    /// A kernel without its body.
    fn kernel_head(&mut self, item: &Kernel) -> fmt::Result {
        write!(self.out, "kernel {}", item.name.node)?;
        self.params(&item.static_params, &item.params)?;
        if !item.promises.is_empty() || !item.tunable.is_empty() {
            self.out.write_str("\nwhere ")?;
            self.place = Place::Head;
            self.list(&item.promises, Self::whole)?;
            if !item.promises.is_empty() && !item.tunable.is_empty() {
                self.out.write_str(", ")?;
            }
            self.list(&item.tunable, |this, condition| {
                this.out.write_str("tunable ")?;
                this.whole(condition)
            })?;
            self.place = Place::Plain;
        }
        if !item.launch.is_empty() {
            self.out.write_str("\nlaunch ")?;
            self.list(&item.launch, |this, clause| {
                write!(this.out, "{}(", clause.name.node)?;
                this.list(&clause.args, Self::arg)?;
                this.out.write_char(')')
            })?;
        }
        Ok(())
    }

    fn function(&mut self, item: &Function) -> fmt::Result {
        write!(self.out, "fn {}", item.name.node)?;
        self.params(&item.static_params, &item.params)?;
        if let Some(result) = &item.result {
            self.out.write_str(" -> ")?;
            self.ty(result)?;
        }
        self.out.write_char(' ')?;
        self.block(&item.body)
    }

    fn record(&mut self, record: &Record) -> fmt::Result {
        write!(self.out, "record {} {{", record.name.node)?;
        self.indent += 1;
        for field in &record.fields {
            self.docs(&field.docs)?;
            self.line()?;
            let var = if field.mutable { "var " } else { "" };
            write!(self.out, "{var}{}", field.name.node)?;
            self.annotation(&field.ty)?;
            if let Some(default) = &field.default {
                self.out.write_str(" = ")?;
                self.whole(default)?;
            }
            self.out.write_char(',')?;
        }
        for function in &record.functions {
            self.docs(&function.docs)?;
            self.line()?;
            self.function(&function.function)?;
        }
        self.indent -= 1;
        self.line()?;
        self.out.write_char('}')
    }

    /// `///` lines, each on a line of its own.
    fn docs(&mut self, docs: &[Arc<str>]) -> fmt::Result {
        for doc in docs {
            self.line()?;
            write!(self.out, "/// {doc}")?;
        }
        Ok(())
    }

    fn params(&mut self, statics: &[StaticParam], params: &[Param]) -> fmt::Result {
        if !statics.is_empty() {
            self.angles(statics, |this, param| {
                write!(this.out, "{}", param.name.node)?;
                this.annotation(&param.ty)?;
                if let Some(default) = &param.default {
                    this.out.write_str(" = ")?;
                    this.whole(default)?;
                }
                if let Some(candidates) = &param.candidates {
                    this.out.write_str(" in ")?;
                    this.whole(candidates)?;
                }
                Ok(())
            })?;
        }
        self.out.write_char('(')?;
        self.list(params, |this, param| {
            if param.mutable && param.ty.is_none() {
                this.out.write_str("mut ")?;
            }
            write!(this.out, "{}", param.name.node)?;
            if let Some(ty) = &param.ty {
                this.out
                    .write_str(if param.mutable { ": mut " } else { ": " })?;
                this.ty(ty)?;
            }
            Ok(())
        })?;
        self.out.write_char(')')
    }

    fn annotation(&mut self, ty: &Option<Type>) -> fmt::Result {
        match ty {
            Some(ty) => {
                self.out.write_str(": ")?;
                self.ty(ty)
            }
            None => Ok(()),
        }
    }

    fn ty(&mut self, ty: &Type) -> fmt::Result {
        match &ty.kind {
            TypeKind::Named { name, args } => {
                write!(self.out, "{}", name.node)?;
                if args.is_empty() {
                    Ok(())
                } else {
                    self.generic_args(args)
                }
            }
            TypeKind::Tuple(parts) => {
                self.out.write_char('(')?;
                self.list(parts, Self::ty)?;
                self.out.write_char(')')
            }
            TypeKind::Error => self.out.write_str("/* error */"),
        }
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        let outer = std::mem::replace(&mut self.place, Place::Plain);
        if block.stmts.is_empty() && block.value.is_none() {
            self.out.write_str("{}")?;
        } else {
            self.out.write_char('{')?;
            self.indent += 1;
            for stmt in &block.stmts {
                self.line()?;
                self.statement(stmt)?;
            }
            if let Some(value) = &block.value {
                self.line()?;
                self.statement_expr(value)?;
            }
            self.indent -= 1;
            self.line()?;
            self.out.write_char('}')?;
        }
        self.place = outer;
        Ok(())
    }

    fn line(&mut self) -> fmt::Result {
        write!(self.out, "\n{:width$}", "", width = 4 * self.indent)
    }

    fn statement(&mut self, stmt: &Stmt) -> fmt::Result {
        match &stmt.kind {
            StmtKind::Let(parts) => {
                self.out
                    .write_str(if parts.mutable { "var " } else { "let " })?;
                self.pattern(&parts.pattern)?;
                self.annotation(&parts.ty)?;
                self.out.write_str(" = ")?;
                self.whole(&parts.value)?;
                self.out.write_char(';')
            }
            StmtKind::Assign { target, op, value } => {
                self.statement_expr(target)?;
                let symbol = op.map_or("", |op| op.node.symbol());
                write!(self.out, " {symbol}= ")?;
                self.whole(value)?;
                self.out.write_char(';')
            }
            StmtKind::Expr(expr) => {
                self.statement_expr(expr)?;
                match *expr.kind {
                    ExprKind::If(_) | ExprKind::Block(_) => Ok(()),
                    _ => self.out.write_char(';'),
                }
            }
            StmtKind::For(parts) => {
                if let Some(clause) = &parts.clause {
                    self.expr(clause, LOOSEST)?;
                    self.out.write_char(' ')?;
                }
                self.out.write_str(if parts.is_static {
                    "static for "
                } else {
                    "for "
                })?;
                self.pattern(&parts.pattern)?;
                self.out.write_str(" in ")?;
                self.head(&parts.over)?;
                self.block(&parts.body)
            }
            StmtKind::While { condition, body } => {
                self.out.write_str("while ")?;
                self.head(condition)?;
                self.block(body)
            }
            StmtKind::Loop(body) => {
                self.out.write_str("loop ")?;
                self.block(body)
            }
            StmtKind::Roles(roles) => {
                self.out.write_str("roles {")?;
                self.indent += 1;
                for role in roles {
                    self.line()?;
                    self.out.write_str(&role.name.node)?;
                    self.bracketed("(", &role.args, ") => ", Self::arg)?;
                    self.block(&role.body)?;
                }
                self.indent -= 1;
                self.line()?;
                self.out.write_char('}')
            }
            StmtKind::Break => self.out.write_str("break;"),
            StmtKind::Continue => self.out.write_str("continue;"),
            StmtKind::Return(None) => self.out.write_str("return;"),
            StmtKind::Return(Some(value)) => {
                self.out.write_str("return ")?;
                self.whole(value)?;
                self.out.write_char(';')
            }
            StmtKind::Empty => self.out.write_char(';'),
            StmtKind::Error => self.out.write_str("/* error */;"),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) -> fmt::Result {
        match &pattern.kind {
            PatternKind::Name(name) => self.out.write_str(&name.node),
            PatternKind::Wildcard => self.out.write_char('_'),
            PatternKind::Tuple(parts) => {
                self.out.write_char('(')?;
                self.list(parts, Self::pattern)?;
                self.out.write_char(')')
            }
            PatternKind::Error => self.out.write_str("/* error */"),
        }
    }

    /// An expression at the start of a statement, where `if` and `{` begin statements.
    fn statement_expr(&mut self, expr: &Expr) -> fmt::Result {
        match &*expr.kind {
            ExprKind::If(parts) => self.if_parts(parts),
            ExprKind::Block(block) => self.block(block),
            _ => self.expr(expr, LOOSEST),
        }
    }

    /// An expression before a `{`, and a space.
    fn head(&mut self, expr: &Expr) -> fmt::Result {
        self.place = Place::Head;
        self.whole(expr)?;
        self.place = Place::Plain;
        self.out.write_char(' ')
    }

    /// An expression that stands by itself.
    fn whole(&mut self, expr: &Expr) -> fmt::Result {
        match &*expr.kind {
            ExprKind::If(parts) if self.place == Place::Plain => self.if_parts(parts),
            ExprKind::Block(block) if self.place == Place::Plain => self.block(block),
            _ => self.expr(expr, LOOSEST),
        }
    }

    fn if_parts(&mut self, parts: &IfExpr) -> fmt::Result {
        if parts.is_static {
            self.out.write_str("static ")?;
        }
        let mut parts = parts;
        loop {
            self.out.write_str("if ")?;
            self.head(&parts.condition)?;
            self.block(&parts.then)?;
            match &parts.otherwise {
                None => return Ok(()),
                Some(ElseBranch::Block(block)) => {
                    self.out.write_str(" else ")?;
                    return self.block(block);
                }
                Some(ElseBranch::If(next)) => {
                    self.out.write_str(" else ")?;
                    match &*next.kind {
                        ExprKind::If(next) => parts = next,
                        _ => return self.out.write_str("{ /* error */ }"),
                    }
                }
            }
        }
    }

    /// An expression where `level` or tighter is wanted.
    fn expr(&mut self, expr: &Expr, level: u8) -> fmt::Result {
        let own = precedence(&expr.kind);
        let block_like = matches!(
            *expr.kind,
            ExprKind::If(_)
                | ExprKind::Block(_)
                | ExprKind::Reduce { .. }
                | ExprKind::Record { .. }
        );
        let parentheses = own < level
            || (self.place != Place::Plain && block_like)
            || (self.place == Place::Generic && ends_generic(&expr.kind))
            || matches!(*expr.kind, ExprKind::If(_) | ExprKind::Block(_));
        if !parentheses {
            return self.bare(expr);
        }
        let outer = std::mem::replace(&mut self.place, Place::Plain);
        self.out.write_char('(')?;
        match &*expr.kind {
            ExprKind::If(parts) => self.if_parts(parts)?,
            ExprKind::Block(block) => self.block(block)?,
            _ => self.bare(expr)?,
        }
        self.place = outer;
        self.out.write_char(')')
    }

    /// An expression before something that could make its `a<b, c>` two comparisons.
    fn operand(&mut self, expr: &Expr, level: u8) -> fmt::Result {
        let generic = matches!(&*expr.kind, ExprKind::Generic { args, .. } if args.len() > 1);
        self.expr(expr, if generic { ALWAYS } else { level })
    }

    fn bare(&mut self, expr: &Expr) -> fmt::Result {
        match &*expr.kind {
            ExprKind::Int { value, suffix } => {
                write!(self.out, "{value}{}", suffix.as_deref().unwrap_or(""))
            }
            ExprKind::Float { value, suffix } => {
                write!(self.out, "{value:?}{}", suffix.as_deref().unwrap_or(""))
            }
            ExprKind::Bool(value) => write!(self.out, "{value}"),
            ExprKind::Str(text) => self.string(text),
            ExprKind::Name(name) => self.out.write_str(name),
            ExprKind::Wildcard => self.out.write_char('_'),
            ExprKind::Tuple(parts) => {
                let single = parts.len() == 1;
                self.bracketed("(", parts, if single { ",)" } else { ")" }, Self::whole)
            }
            ExprKind::Array(parts) => self.bracketed("[", parts, "]", Self::whole),
            ExprKind::Layout { shape, stride } => {
                self.expr(shape, OR)?;
                self.out.write_str(" : ")?;
                self.expr(stride, OR)
            }
            ExprKind::Compose(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        self.out.write_str(" o ")?;
                    }
                    self.expr(part, LAYOUT)?;
                }
                Ok(())
            }
            ExprKind::Range { start, end, step } => {
                self.expr(start, COMPOSE)?;
                self.out.write_str("..")?;
                self.expr(end, COMPOSE)?;
                if let Some(step) = step {
                    self.out.write_str(" step ")?;
                    self.expr(step, COMPOSE)?;
                }
                Ok(())
            }
            ExprKind::ScaledBasis { scale, mode } => {
                self.expr(scale, POSTFIX)?;
                write!(self.out, "@{}", mode.node)
            }
            ExprKind::Unary { op, operand } => {
                self.out.write_str(op.node.symbol())?;
                self.operand(operand, UNARY)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let level = op.node.precedence() + LAYOUT;
                let left = if op.node.is_comparison() {
                    level + 1
                } else {
                    level
                };
                self.operand(lhs, left)?;
                write!(self.out, " {} ", op.node.symbol())?;
                self.operand(rhs, level + 1)
            }
            ExprKind::Field { base, name } => {
                self.expr(base, POSTFIX)?;
                write!(self.out, ".{}", name.node)
            }
            ExprKind::Index { base, indices } => {
                self.operand(base, POSTFIX)?;
                self.bracketed("[", indices, "]", Self::whole)
            }
            ExprKind::Generic { base, args } => {
                self.operand(base, POSTFIX)?;
                self.generic_args(args)
            }
            ExprKind::Call { callee, args } => {
                self.expr(callee, POSTFIX)?;
                self.bracketed("(", args, ")", Self::arg)
            }
            ExprKind::Reduce { op, vars, body } => {
                self.out.write_str(&op.node)?;
                self.bracketed("(", vars, ") ", |this, var| {
                    this.out.write_str(&var.name.node)?;
                    if let Some(range) = &var.range {
                        this.out.write_str(" in ")?;
                        this.whole(range)?;
                    }
                    Ok(())
                })?;
                self.block(body)
            }
            ExprKind::Record { name, fields } => {
                write!(self.out, "{} {{ ", name.node)?;
                let outer = std::mem::replace(&mut self.place, Place::Plain);
                self.list(fields, |this, field| {
                    write!(this.out, "{} = ", field.name.node)?;
                    this.whole(&field.value)
                })?;
                self.place = outer;
                self.out.write_str(" }")
            }
            ExprKind::If(parts) => self.if_parts(parts),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Error => self.out.write_str("/* error */"),
        }
    }

    fn arg(&mut self, arg: &Arg) -> fmt::Result {
        if let Some(name) = &arg.name {
            write!(self.out, "{} = ", name.node)?;
        }
        self.whole(&arg.value)
    }

    fn generic_args(&mut self, args: &[Arg]) -> fmt::Result {
        self.angles(args, Self::arg)
    }

    /// A list between `<` and `>`.
    fn angles<T>(
        &mut self,
        parts: &[T],
        each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        let outer = std::mem::replace(&mut self.place, Place::Generic);
        self.out.write_char('<')?;
        self.list(parts, each)?;
        self.place = outer;
        self.out.write_char('>')
    }

    fn bracketed<T>(
        &mut self,
        open: &str,
        parts: &[T],
        close: &str,
        each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        let outer = std::mem::replace(&mut self.place, Place::Plain);
        self.out.write_str(open)?;
        self.list(parts, each)?;
        self.place = outer;
        self.out.write_str(close)
    }

    fn list<T>(
        &mut self,
        parts: &[T],
        mut each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.out.write_str(", ")?;
            }
            each(self, part)?;
        }
        Ok(())
    }

    fn string(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        for c in text.chars() {
            match c {
                '"' => self.out.write_str("\\\"")?,
                '\\' => self.out.write_str("\\\\")?,
                '\n' => self.out.write_str("\\n")?,
                '\t' => self.out.write_str("\\t")?,
                '\r' => self.out.write_str("\\r")?,
                '\0' => self.out.write_str("\\0")?,
                c => self.out.write_char(c)?,
            }
        }
        self.out.write_char('"')
    }
}

/// Whether the operator could be taken for the end of generic arguments.
fn ends_generic(kind: &ExprKind) -> bool {
    use BinaryOp::*;
    matches!(kind, ExprKind::Binary { op, .. }
        if matches!(op.node, Or | And | Lt | Le | Gt | Ge | Shl | Shr))
}

fn precedence(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Range { .. } => LOOSEST,
        ExprKind::Compose(_) => COMPOSE,
        ExprKind::Layout { .. } => LAYOUT,
        ExprKind::Binary { op, .. } => op.node.precedence() + LAYOUT,
        ExprKind::Unary { .. } => UNARY,
        _ => POSTFIX,
    }
}
