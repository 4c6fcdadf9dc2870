//! Variables that hold a tile. There is no memory behind them: an assignment binds another tile, a loop
//! carries them from round to round as its iteration arguments, and branches give them as results.

use crate::ast::{Block, ElseBranch, Expr, ExprKind, IfExpr, StmtKind};
use crate::eval::values::{Tile, Value};
use crate::eval::{Evaluator, Result};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::printing::name_value;
use std::sync::Arc;

/// A variable of a loop, and what it holds before.
pub(in crate::eval) type Carried<'c> = (Arc<str>, Tile<'c>);

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Binds another tile of the same type to a variable.
    pub(in crate::eval) fn set_tile(
        &mut self,
        name: &str,
        new: &Value<'c, 'a>,
        (target, value): (Span, Span),
    ) -> Result<()> {
        let Some(binding) = self.lookup(name).cloned() else {
            return Ok(());
        };
        let Value::Tile(old) = binding.value else {
            return Ok(());
        };
        if binding.regions != self.regions {
            let what = format!(
                "assigning to the tile `{name}` in a run-time branch or loop that is left early"
            );
            let help = "use branches without `return`, and a `for` without `break` and `continue`";
            return self.unsupported(target, &what, help);
        }
        let tile = self.as_tile(new, (old.elem, &old.shape), value)?;
        self.set(name, Value::Tile(tile))
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

    fn carried_of(&self, mut names: Vec<Arc<str>>) -> Vec<Carried<'c>> {
        if self.tiles.is_none() {
            names.clear();
        }
        let carried = names.into_iter().filter_map(|name| {
            let binding = self.lookup(&name).filter(|binding| binding.mutable)?;
            match &binding.value {
                Value::Tile(tile) if binding.regions == self.regions => Some((name, tile.clone())),
                _ => None,
            }
        });
        carried.collect()
    }

    /// Makes the variables hold other tiles of their types, as bound in so many regions.
    pub(in crate::eval) fn rebind(
        &mut self,
        carried: &[Carried<'c>],
        tile: impl Fn(usize) -> IrValue<'c>,
    ) {
        let regions = self.regions;
        for (at, (name, old)) in carried.iter().enumerate() {
            let ir = tile(at);
            name_value(ir, name);
            let scopes = self.frame.scopes.iter_mut().rev();
            if let Some(binding) = scopes.into_iter().find_map(|scope| scope.get_mut(name)) {
                binding.value = Value::Tile(Tile { ir, ..old.clone() });
                binding.regions = regions;
            }
        }
    }

    /// What the variables hold.
    pub(in crate::eval) fn held(&self, carried: &[Carried<'c>]) -> Vec<IrValue<'c>> {
        let held = carried.iter().map(|(name, old)| {
            match self.lookup(name).map(|binding| &binding.value) {
                Some(Value::Tile(tile)) => tile.ir,
                _ => old.ir,
            }
        });
        held.collect()
    }
}

/// Names that statements of a block assign to, each once.
fn assigned(block: &Block, names: &mut Vec<Arc<str>>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Assign { target, value, .. } => {
                if let Some(name) = target.as_name()
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
                assigned_within(value, names);
            }
            StmtKind::Let(parts) => assigned_within(&parts.value, names),
            StmtKind::Expr(expr) | StmtKind::Return(Some(expr)) => assigned_within(expr, names),
            StmtKind::For(parts) => assigned(&parts.body, names),
            StmtKind::While { body, .. } | StmtKind::Loop(body) => assigned(body, names),
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
