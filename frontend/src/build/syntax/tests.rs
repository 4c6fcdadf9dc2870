//! Every form of the grammar, every built-in and every clause by calls: the files of the language that there are, built again,
//! read as they did.

use super::*;
use crate::ast::{self, ElseBranch, ExprKind, ItemKind, PatternKind, StmtKind, TypeKind};
use crate::build::{Module, SourceText};
use crate::eval::builtins;
use crate::parser::parse_file;
use crate::parser::words::LAUNCH_CLAUSES;
use crate::source::SourceMap;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn parsed(name: &str, text: &str) -> ast::File {
    let (mut sources, mut said) = (SourceMap::new(), Vec::new());
    let id = sources.add(name, text);
    let file = parse_file(&sources, id, &mut said);
    assert!(said.is_empty(), "{name}: {said:?}");
    file
}

/// The files of the library, of the examples, and those that the parser is tested with.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = crate::stdlib::FILES
        .iter()
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in [
        "tests/programs",
        "../examples",
        "../examples/attention",
        "../examples/hopper",
        "../examples/sequence",
    ] {
        let entries = fs::read_dir(root.join(folder)).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        for path in paths.filter(|path| path.extension().is_some_and(|it| it == "cute")) {
            let text = fs::read_to_string(&path).expect("a text");
            files.push((path.display().to_string(), text));
        }
    }
    assert!(files.len() > 40, "{}", files.len());
    files
}

/// A file of the same tree, by calls.
fn rebuilt(file: &ast::File) -> Module {
    let mut built = File::new("rebuilt");
    for item in &file.items {
        let made: Item = match &item.kind {
            ItemKind::Import(item) => Import::new(&item.path.node).into(),
            ItemKind::Const(item) => {
                let ty = item.ty.as_ref().map(ty);
                Constant::new(&item.name.node, ty, expr(&item.value)).into()
            }
            ItemKind::Function(item) => function(item).into(),
            ItemKind::Kernel(item) => kernel(item).into(),
            ItemKind::Record(item) => record(item).into(),
            ItemKind::Test(item) => Test::new(&item.name.node, block(&item.body)).into(),
            ItemKind::Bench(item) => Test::bench(&item.name.node, block(&item.body)).into(),
            ItemKind::Error => panic!("an error"),
        };
        built.add(item.docs.iter().fold(made, |made, line| made.doc(line)));
    }
    built.finish().expect("a module")
}

fn function(item: &ast::Function) -> Function {
    let mut made = Function::new(&item.name.node, block(&item.body));
    for param in &item.static_params {
        made = made.static_param(static_param(param));
    }
    for one in &item.params {
        made = made.param(param(one));
    }
    match &item.result {
        Some(result) => made.result(ty(result)),
        None => made,
    }
}

fn kernel(item: &ast::Kernel) -> Kernel {
    let mut made = Kernel::new(&item.name.node, block(&item.body));
    for param in &item.static_params {
        made = made.static_param(static_param(param));
    }
    for one in &item.params {
        made = made.param(param(one));
    }
    for promise in &item.promises {
        made = made.promise(expr(promise));
    }
    for condition in &item.tunable {
        made = made.tunable(expr(condition));
    }
    for clause in &item.launch {
        made = made.launch(&clause.name.node, args(&clause.args));
    }
    made
}

fn record(item: &ast::Record) -> Record {
    let mut made = Record::new(&item.name.node);
    for field in &item.fields {
        let (ty, default) = (field.ty.as_ref().map(ty), field.default.as_ref().map(expr));
        made = made.field(&field.name.node, field.mutable, ty, default);
        made = field.docs.iter().fold(made, |made, line| made.doc(line));
    }
    for one in &item.functions {
        made = made.function(function(&one.function));
        made = one.docs.iter().fold(made, |made, line| made.doc(line));
    }
    made
}

fn static_param(param: &ast::StaticParam) -> StaticParam {
    let (ty, default) = (param.ty.as_ref().map(ty), param.default.as_ref().map(expr));
    let made = StaticParam::new(&param.name.node, ty, default);
    match &param.candidates {
        Some(candidates) => made.candidates(expr(candidates)),
        None => made,
    }
}

fn param(param: &ast::Param) -> Param {
    match &param.ty {
        Some(known) => Param::new(&param.name.node, ty(known).mutable(param.mutable)),
        None => Param::untyped(&param.name.node, param.mutable),
    }
}

fn ty(from: &ast::Type) -> Type {
    match &from.kind {
        TypeKind::Named { name, args: of } => Type::of(&name.node, args(of)),
        TypeKind::Tuple(parts) => Type::tuple(parts.iter().map(ty)),
        TypeKind::Error => panic!("an error"),
    }
}

fn pattern(from: &ast::Pattern) -> Pattern {
    match &from.kind {
        PatternKind::Name(name) => Pattern::name(&name.node),
        PatternKind::Wildcard => Pattern::wildcard(),
        PatternKind::Tuple(parts) => Pattern::tuple(parts.iter().map(pattern)),
        PatternKind::Error => panic!("an error"),
    }
}

fn args(from: &[ast::Arg]) -> Vec<Arg> {
    let one = |arg: &ast::Arg| match &arg.name {
        Some(name) => Arg::named(&name.node, expr(&arg.value)),
        None => expr(&arg.value).into(),
    };
    from.iter().map(one).collect()
}

fn block(from: &ast::Block) -> Block {
    let mut made = Block::new();
    for stmt in &from.stmts {
        match &stmt.kind {
            StmtKind::Let(parts) => {
                let (to, value) = (pattern(&parts.pattern), expr(&parts.value));
                match (parts.mutable, parts.ty.as_ref().map(ty)) {
                    (false, None) => made.bind(to, value),
                    (false, Some(ty)) => made.bind_as(to, ty, value),
                    (true, None) => made.variable(to, value),
                    (true, Some(ty)) => made.variable_as(to, ty, value),
                }
            }
            StmtKind::Assign { target, op, value } => match op {
                None => made.assign(expr(target), expr(value)),
                Some(op) => made.update(op.node, expr(target), expr(value)),
            },
            StmtKind::Expr(value) => made.run(expr(value)),
            StmtKind::For(parts) => {
                let (to, over) = (pattern(&parts.pattern), expr(&parts.over));
                let mut one = For::new(to, over, block(&parts.body));
                if parts.is_static {
                    one = one.unrolled();
                }
                if let Some(clause) = &parts.clause {
                    one = one.clause(expr(clause));
                }
                made.repeat(one)
            }
            StmtKind::While { condition, body } => made.repeat_while(expr(condition), block(body)),
            StmtKind::Loop(body) => made.repeat_forever(block(body)),
            StmtKind::Roles(roles) => {
                let role = |role: &ast::Role| {
                    Role::new(&role.name.node, args(&role.args), block(&role.body))
                };
                made.roles(roles.iter().map(role))
            }
            StmtKind::Break => made.leave(),
            StmtKind::Continue => made.skip(),
            StmtKind::Return(value) => made.return_with(value.as_ref().map(expr)),
            StmtKind::Empty => made.nothing(),
            StmtKind::Error => panic!("an error"),
        };
    }
    if let Some(value) = &from.value {
        made.value(expr(value));
    }
    made
}

fn expr(from: &ast::Expr) -> Expr {
    let all = |parts: &[ast::Expr]| -> Vec<Expr> { parts.iter().map(expr).collect() };
    match &*from.kind {
        ExprKind::Int { value, suffix } => match suffix {
            None => Expr::int(i64::try_from(*value).expect("small")),
            Some(elem) => Expr::int_of(*value, elem),
        },
        ExprKind::Float { value, suffix } => match suffix {
            None => Expr::float(*value),
            Some(elem) => Expr::float_of(*value, elem),
        },
        ExprKind::Bool(value) => Expr::bool(*value),
        ExprKind::Str(text) => Expr::text(text),
        ExprKind::Name(name) => Expr::name(name),
        ExprKind::Wildcard => Expr::wildcard(),
        ExprKind::Tuple(parts) => Expr::tuple(all(parts)),
        ExprKind::Array(parts) => Expr::array(all(parts)),
        ExprKind::Compose(parts) => Expr::compose(all(parts)),
        ExprKind::Layout { shape, stride } => Expr::layout(expr(shape), expr(stride)),
        ExprKind::Range { start, end, step } => match step {
            None => Expr::range(expr(start), expr(end)),
            Some(step) => Expr::range_by(expr(start), expr(end), expr(step)),
        },
        ExprKind::ScaledBasis { scale, mode } => expr(scale).basis(mode.node),
        ExprKind::Unary { op, operand } => Expr::unary(op.node, expr(operand)),
        ExprKind::Binary { op, lhs, rhs } => Expr::binary(op.node, expr(lhs), expr(rhs)),
        ExprKind::Field { base, name } => expr(base).field(&name.node),
        ExprKind::Index { base, indices } => expr(base).index(all(indices)),
        ExprKind::Generic { base, args: of } => expr(base).generic(args(of)),
        ExprKind::Call { callee, args: of } => expr(callee).call(args(of)),
        ExprKind::Record { name, fields } => {
            let fields = fields.iter().map(|one| (&*one.name.node, expr(&one.value)));
            Expr::record(&name.node, fields)
        }
        ExprKind::If(parts) => {
            let (condition, then) = (expr(&parts.condition), block(&parts.then));
            let made = match &parts.otherwise {
                None => Expr::branch(condition, then, None),
                Some(ElseBranch::Block(other)) => Expr::branch(condition, then, block(other)),
                Some(ElseBranch::If(other)) => Expr::branch_else_if(condition, then, expr(other)),
            };
            match parts.is_static {
                true => made.static_branch(),
                false => made,
            }
        }
        ExprKind::Block(inner) => Expr::block(block(inner)),
        ExprKind::Reduce { op, vars, body } => {
            let vars = vars.iter();
            let vars = vars.map(|var| (&*var.name.node, var.range.as_ref().map(expr)));
            Expr::reduction(&op.node, vars, block(body))
        }
        ExprKind::Error => panic!("an error"),
    }
}

#[test]
fn what_is_written_can_be_built() {
    let (mut clauses, mut names) = (HashSet::<&str>::new(), HashSet::<String>::new());
    for (name, text) in files() {
        let file = parsed(&name, &text);
        let module = rebuilt(&file);
        let written = ast::File {
            docs: Vec::new(),
            ..file
        };
        let (made, expected) = (module.listing(), written.to_string());
        for (made, expected) in std::iter::zip(made.lines(), expected.lines()) {
            assert_eq!(made, expected, "{name}");
        }
        assert_eq!(made.len(), expected.len(), "{name}");
        clauses.extend(
            LAUNCH_CLAUSES
                .iter()
                .filter(|clause| text.contains(&format!("{clause}("))),
        );
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.extend(words.map(str::to_owned));
    }
    // Whatever the table of built-ins has is a name that is called, so it can be said too; a few stand in no file.
    let known: Vec<&str> = builtins::all().map(|entry| entry.name).collect();
    assert!(known.iter().filter(|name| names.contains(**name)).count() * 2 > known.len());
    assert_eq!(clauses.len(), LAUNCH_CLAUSES.len(), "{clauses:?}");
}

#[test]
fn every_built_in_can_be_called() {
    for entry in builtins::all() {
        let generics = entry.generics.iter().map(|part| Expr::name(part.name));
        let callee = Expr::name(entry.name);
        let callee = match entry.generics.is_empty() {
            true => callee,
            false => callee.generic(generics),
        };
        let mut args: Vec<Arg> = Vec::new();
        for parameter in entry.parameters {
            let value = Expr::name(&format!("{}_", parameter.name));
            args.push(match parameter.has_name() {
                true => Arg::named(parameter.name, value),
                false => value.into(),
            });
        }
        let mut body = Block::new();
        body.run(callee.call(args));
        let mut file = File::new("calls");
        file.add(Function::new("f", body));
        let module = file
            .finish()
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert!(module.listing().contains(entry.name), "{}", entry.name);
    }
}

#[test]
fn what_reads_as_something_else_is_refused() {
    let said = |value: Expr| {
        let mut body = Block::new();
        body.bind("x", value);
        let mut file = File::new("f");
        file.add(Function::new("f", body));
        let error = file.finish().expect_err("this is wrong");
        assert!(error.at.file().ends_with("syntax/tests.rs"), "{}", error.at);
        error.problem.to_string()
    };
    let mut deep = Expr::int(0);
    for _ in 0..100_000 {
        deep = -deep;
    }
    let chained = Expr::name("a").less("b").less("c");
    // Read with parentheses, which it is printed with.
    let mut fine = Block::new();
    fine.bind("x", chained);
    let mut file = File::new("f");
    file.add(Function::new("f", fine));
    assert!(file.finish().is_ok());
    for wrong in [
        Expr::name("a + b"),
        Expr::name("a); f(b"),
        Expr::name(""),
        Expr::name("kernel"),
        Expr::name("x").field("0 y"),
        Expr::float_of(-1.0, "f32"),
        Expr::compose(["a"]),
        deep,
    ] {
        let shown = format!("{:?}", wrong.node.kind);
        let message = said(wrong);
        let expected = "the listing does not read as what was built: ";
        assert!(message.starts_with(expected), "{shown}: {message}");
    }
}

#[test]
fn texts_of_one_name_are_refused() {
    let mut body = Block::new();
    for _ in 0..2 {
        let text = SourceText::new("model.py", "a = 1");
        body.at(text.line(1)).bind("x", 1);
    }
    let mut file = File::new("f");
    file.add(Function::new("f", body));
    let error = file.finish().expect_err("two texts");
    let message = error.problem.to_string();
    assert_eq!(message, "two texts of the module have the name `model.py`");
}
