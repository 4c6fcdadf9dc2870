//! Variables that hold a tile. There is no memory behind them: an assignment binds another tile, a loop
//! carries them from round to round as its iteration arguments, and branches give them as results.

use crate::ast::{Block, ElseBranch, Expr, ExprKind, IfExpr, StmtKind};
use crate::eval::values::{Tile, Value};
use crate::eval::variables::Path;
use crate::eval::{Evaluator, Result, Stop};
use crate::rules::repeats_to;
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::printing::name_value;
use std::sync::Arc;

/// A variable of a loop, or a part of one, and what it holds before.
pub(in crate::eval) type Carried<'c> = (Path, Tile<'c>);

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Another tile of the same type, for a variable or a part of one.
    pub(in crate::eval) fn other_tile(
        &mut self,
        path: &Path,
        old: &Tile<'c>,
        new: &Value<'c, 'a>,
        (target, value): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        self.check_region_of_tile(path, target)?;
        if let Value::Tile(tile) = new
            && tile.elem == old.elem
            && !repeats_to(&tile.shape, &old.shape)
            && let Some(declared) = self.lookup(&path.name).map(|binding| binding.span)
        {
            let label = format!("`{}` keeps the shape that it has here", path.name);
            let diagnostic = self.another_shape(&tile.shape, &old.shape, value);
            return Err(self.report(diagnostic.with_label(declared, label)));
        }
        let tile = self.as_tile(new, (old.elem, &old.shape), value)?;
        Ok(Value::Tile(tile))
    }

    /// Checks that tiles which a function of a record changed may change here.
    pub(in crate::eval) fn check_tiles_may_change(
        &mut self,
        path: &Path,
        new: &Value<'c, 'a>,
        span: Span,
    ) -> Result<()> {
        let Some(old) = self.at(path) else {
            return Err(Stop::Reported);
        };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        tiles_of(old, path, &mut before);
        tiles_of(new, path, &mut after);
        let unchanged = before.len() == after.len()
            && std::iter::zip(&before, &after).all(|((_, old), (_, new))| old.ir == new.ir);
        match unchanged {
            true => Ok(()),
            false => self.check_region_of_tile(path, span),
        }
    }

    fn check_region_of_tile(&mut self, path: &Path, span: Span) -> Result<()> {
        let Some(binding) = self.lookup(&path.name) else {
            return Err(Stop::Reported);
        };
        if binding.regions == self.regions {
            return Ok(());
        }
        let name = &path.name;
        let what = format!(
            "assigning to the tile `{name}` in a branch that returns, or in the condition of a loop,"
        );
        let help = "assign to it behind the branch, or let the branch do without `return`";
        self.unsupported(span, &what, help)
    }

    /// Variables of tiles, bound outside of `body`, that it assigns to.
    pub(in crate::eval) fn carried(&self, body: &Block) -> Vec<Carried<'c>> {
        let mut names = Vec::new();
        assigned(body, &mut names);
        self.carried_of(names)
    }

    /// The same for the branches of an `if`.
    pub(in crate::eval) fn carried_by_if(&self, parts: &IfExpr) -> Vec<Carried<'c>> {
        let mut names = Vec::new();
        assigned(&parts.then, &mut names);
        match &parts.otherwise {
            Some(ElseBranch::Block(block)) => assigned(block, &mut names),
            Some(ElseBranch::If(expr)) => assigned_within(expr, &mut names),
            None => {}
        }
        self.carried_of(names)
    }

    /// Every variable of tiles that may be assigned to here, of what stands behind an exit.
    pub(in crate::eval) fn carried_by_any(&self) -> Vec<Carried<'c>> {
        let scopes = self.frame.scopes.iter();
        let mut names: Vec<Arc<str>> = scopes.flat_map(|scope| scope.keys().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        self.carried_of(names)
    }

    fn carried_of(&self, mut names: Vec<Arc<str>>) -> Vec<Carried<'c>> {
        if self.tiles.is_none() {
            names.clear();
        }
        let mut carried = Vec::new();
        for name in names {
            let binding = self.lookup(&name).filter(|binding| binding.mutable);
            if let Some(binding) = binding.filter(|binding| binding.regions == self.regions) {
                let steps = Vec::new();
                tiles_of(&binding.value, &Path { name, steps }, &mut carried);
            }
        }
        carried
    }

    /// Makes the variables hold other tiles of their types, as bound in so many regions.
    pub(in crate::eval) fn rebind(
        &mut self,
        carried: &[Carried<'c>],
        tile: impl Fn(usize) -> IrValue<'c>,
    ) {
        let regions = self.regions;
        for (at, (path, old)) in carried.iter().enumerate() {
            // Of what an error was reported nothing more is said.
            if matches!(self.at(path), Some(Value::Error)) {
                continue;
            }
            let ir = tile(at);
            name_value(ir, &path.name);
            // A path leads to a part of what the variable holds as long as that is bound.
            let _ = self.set_at(path, Value::Tile(Tile { ir, ..old.clone() }));
            let scopes = self.frame.scopes.iter_mut().rev();
            if let Some(binding) = scopes
                .into_iter()
                .find_map(|scope| scope.get_mut(&path.name))
            {
                binding.regions = regions;
            }
        }
    }

    /// What the variables hold.
    pub(in crate::eval) fn held(&self, carried: &[Carried<'c>]) -> Vec<IrValue<'c>> {
        let held = carried.iter().map(|(path, old)| match self.at(path) {
            Some(Value::Tile(tile)) => tile.ir,
            _ => old.ir,
        });
        held.collect()
    }
}

/// The tiles of what a variable holds that may be assigned to, each with the way to it.
fn tiles_of<'c>(value: &Value<'c, '_>, path: &Path, found: &mut Vec<Carried<'c>>) {
    let below = |step: usize| {
        let mut path = path.clone();
        path.steps.push(step);
        path
    };
    match value {
        Value::Tile(tile) => found.push((path.clone(), tile.clone())),
        Value::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                tiles_of(part, &below(at), found);
            }
        }
        Value::Record(record) => {
            for (at, field) in record.declaration.fields.iter().enumerate() {
                if field.mutable {
                    tiles_of(&record.fields[at], &below(at), found);
                }
            }
        }
        _ => {}
    }
}

/// The variable that an expression is, or is a part of.
fn variable_of(expr: &Expr) -> Option<&Arc<str>> {
    match &*expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => variable_of(base),
        _ => None,
    }
}

fn add(name: &Arc<str>, names: &mut Vec<Arc<str>>) {
    if !names.contains(name) {
        names.push(name.clone());
    }
}

/// The variables that an assignment changes, or parts of them.
fn places_of(target: &Expr, names: &mut Vec<Arc<str>>) {
    match &*target.kind {
        ExprKind::Tuple(targets) => targets.iter().for_each(|target| places_of(target, names)),
        _ => variable_of(target)
            .into_iter()
            .for_each(|name| add(name, names)),
    }
}

/// Names that statements of a block assign to, or call a function on that may change them, each once.
fn assigned(block: &Block, names: &mut Vec<Arc<str>>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Assign { target, value, .. } => {
                places_of(target, names);
                assigned_within(target, names);
                assigned_within(value, names);
            }
            StmtKind::Let(parts) => assigned_within(&parts.value, names),
            StmtKind::Expr(expr) | StmtKind::Return(Some(expr)) => assigned_within(expr, names),
            StmtKind::For(parts) => assigned(&parts.body, names),
            StmtKind::While { body, .. } | StmtKind::Loop(body) => assigned(body, names),
            StmtKind::Roles(roles) => roles.iter().for_each(|role| assigned(&role.body, names)),
            _ => {}
        }
    }
    if let Some(value) = &block.value {
        assigned_within(value, names);
    }
}

fn assigned_within(expr: &Expr, names: &mut Vec<Arc<str>>) {
    if matches!(*expr.kind, ExprKind::Name(_)) {
        return;
    }
    if let Some(call) = expr.as_method_call()
        && let Some(name) = variable_of(call.receiver)
    {
        add(name, names);
    }
    let (mut children, mut blocks) = (Vec::new(), Vec::new());
    expr.kind
        .for_each_child(&mut |child| children.push(child), &mut |block| {
            blocks.push(block)
        });
    children
        .into_iter()
        .for_each(|child| assigned_within(child, names));
    blocks.into_iter().for_each(|block| assigned(block, names));
}
