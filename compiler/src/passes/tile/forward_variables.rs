//! `tile-forward-variables`: what a variable of a number holds is the value that was assigned to it last, where that is known.
//!
//! Before: a variable is a register in memory, `cute.memref.alloca` of one element, which is stored to and loaded from. After: a load behind a
//! store, with no loop or long branch between them that stores, is what was stored; a short branch that only computes what it
//! stores is a select; variables that nothing loads are gone. A role that holds no tiles can compute coordinates that follow from values,
//! from memory it cannot (`issuable.rs`). What loops change stays in memory.
use super::known_ops::checked_ops;
use super::speculate::{has_few, is_safe, put_ahead};
use super::types::{Failed, view_of};
use crate::passes::Reported;
use crate::passes::ir_utils::{
    Kernel, blocks, collect_nested, erase, for_each_kernel, move_before, operations,
    replace_all_uses, set_operand, users,
};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, operands_of, result_of, value_key,
};
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, cute};
use melior::Context;
use melior::ir::{TypeLike, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// What variables hold, by their addresses.
type Known<'c> = HashMap<usize, IrValue<'c>>;

/// Forwards the variables of every kernel of the module.
///
/// # Errors
/// An operation that is not known at the tile level.
pub fn forward_variables<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let all = checked_ops(function)?;
        let variables: Vec<IrOp<'c>> = all.into_iter().filter(|op| is_variable(*op)).collect();
        let keys = variables.iter().map(|op| value_key(result_of(*op, 0)));
        let forward = Forward {
            context,
            variables: keys.collect(),
        };
        for block in blocks(function, 0) {
            forward.block(block, &mut Known::new());
        }
        for variable in variables {
            let uses = users(result_of(variable, 0));
            if !uses.iter().any(|op| CuteOp::MemrefLoad.is(*op)) {
                uses.into_iter().for_each(erase);
                erase(variable);
            }
        }
        Ok::<_, Failed>(())
    })
}

/// Whether it is a register of one number that is only loaded and stored.
fn is_variable(op: IrOp) -> bool {
    let is_number = |value: IrValue| {
        let size = view_of(value).and_then(|view| view.layout.inner().size().as_static());
        size == Some(1)
    };
    let is_place = |user: &IrOp, value: IrValue| {
        let stores = cute::MemrefStore::of(*user).filter(|_| CuteOp::MemrefStore.is(*user));
        CuteOp::MemrefLoad.is(*user) || stores.is_some_and(|store| store.view() == value)
    };
    CuteOp::MemrefAlloca.is(op) && {
        let value = result_of(op, 0);
        is_number(value) && users(value).iter().all(|user| is_place(user, value))
    }
}

struct Forward<'c> {
    context: &'c Context,
    variables: HashSet<usize>,
}

impl<'c> Forward<'c> {
    /// The variable that an operation stores to, and the value.
    fn stored(&self, op: IrOp<'c>) -> Option<(usize, IrValue<'c>)> {
        let store = cute::MemrefStore::of(op)?;
        let variable = value_key(store.view());
        (self.variables.contains(&variable)).then_some((variable, store.value()))
    }

    fn loaded(&self, op: IrOp<'c>) -> Option<usize> {
        let variable = value_key(cute::MemrefLoad::of(op)?.view());
        self.variables.contains(&variable).then_some(variable)
    }

    /// Forwards in a block that begins with what is known, and leaves what is known at its end.
    fn block(&self, block: IrBlock<'c>, known: &mut Known<'c>) {
        for op in operations(block) {
            if let Some((variable, value)) = self.stored(op) {
                known.insert(variable, value);
            } else if let Some(variable) = self.loaded(op) {
                let loaded = result_of(op, 0);
                if let Some(value) = known.get(&variable) {
                    replace_all_uses(loaded, *value);
                    erase(op);
                } else {
                    known.insert(variable, loaded);
                }
            } else if op.region_count() > 0 {
                self.regions(op, known);
            }
        }
    }

    fn regions(&self, op: IrOp<'c>, known: &mut Known<'c>) {
        let mut inside = Vec::new();
        collect_nested(op, &mut inside);
        let mut changed: Vec<usize> = Vec::new();
        for (variable, _) in inside.iter().filter_map(|op| self.stored(*op)) {
            if !changed.contains(&variable) {
                changed.push(variable);
            }
        }
        if !ScfOp::If.is(op) {
            // A round begins with what the one before has stored.
            known.retain(|variable, _| !changed.contains(variable));
        }
        let ends = (0..op.region_count()).map(|region| {
            let mut at_end = known.clone();
            for block in blocks(op, region) {
                self.block(block, &mut at_end);
            }
            at_end
        });
        let ends: Vec<Known<'c>> = ends.collect();
        let chosen = match &ends[..] {
            [then, otherwise] if self.only_assigns(op) => changed
                .iter()
                .map(|variable| Some((*variable, *then.get(variable)?, *otherwise.get(variable)?)))
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        known.retain(|variable, _| !changed.contains(variable));
        if let Some(chosen) = chosen {
            self.flatten(op, chosen, known);
        }
    }

    /// Whether branches without results only compute a few integers and store them to variables.
    fn only_assigns(&self, branch: IrOp<'c>) -> bool {
        let assigns = |op: IrOp<'c>| match self.stored(op) {
            Some((_, value)) => value.r#type().is_integer(),
            None => is_safe(op),
        };
        branch.result_count() == 0 && has_few(branch, assigns)
    }

    /// Computes both branches, and stores what each variable holds behind them.
    fn flatten(
        &self,
        branch: IrOp<'c>,
        chosen: Vec<(usize, IrValue<'c>, IrValue<'c>)>,
        known: &mut Known<'c>,
    ) {
        let Some(condition) = operands_of(branch).next() else {
            return;
        };
        let mut inside = Vec::new();
        collect_nested(branch, &mut inside);
        put_ahead(branch);
        let mut stores: HashMap<usize, IrOp<'c>> = HashMap::new();
        for op in inside {
            if let Some((variable, _)) = self.stored(op)
                && let Some(earlier) = stores.insert(variable, op)
            {
                erase(earlier);
            }
        }
        let mut ir = OpBuilder::new(self.context, Insertion::Before(branch));
        ir.location = branch.location();
        for (variable, then, otherwise) in chosen {
            let operands = [condition, then, otherwise];
            let value = ir.value(ArithOp::Select, &operands, &[], then.r#type());
            known.insert(variable, value);
            if let Some(store) = stores.get(&variable) {
                set_operand(*store, 0, value);
                move_before(*store, branch);
            }
        }
        erase(branch);
    }
}
