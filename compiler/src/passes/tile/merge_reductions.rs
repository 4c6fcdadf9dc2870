//! `tile-merge-reductions`: a tile that is reduced along one axis after the other is reduced along all of them at once.
//!
//! Before: a chain of `tile.reduce`, or of `tile.fold` by one function, each of what the one before leaves, which nothing else takes; threads share an axis of
//! all but the last, and between their axes there are but extents of 1. After: one such operation on a `tile.reshape` of what the first one takes,
//! in which their axes are one axis. A thread combines all that it has before it exchanges anything: lanes shuffle one number instead of a row of them,
//! and warps meet once instead of once for each axis.
//!
//! Every tile has its layout. A chain whose reshapes would move elements between threads stays as it is.
use super::merge::have_equal_regions;
use super::types::{Failed, is_of_each_thread, present, tile_of};
use crate::passes::ir_utils::{
    Kernel, collect_nested, defining_op, erase, for_each_kernel, next_operation, replace_all_uses,
    same_block, set_attribute, set_operand, users, uses,
};
use crate::passes::{Reported, report};
use cutec_dialects::builder::{
    Insertion, IrOp, OpBuilder, integer_value, operands_of, result_of, results_of, string_value,
};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Merges the reductions of every kernel of the module.
pub fn merge_reductions<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel { function, .. } = kernel;
        let mut all = Vec::new();
        collect_nested(function, &mut all);
        // Those before the last one of a chain are erased with it.
        all.retain(|op| is_reduction(*op) && next_of(*op).is_none());
        for last in all {
            let chain = Chain::to(last).map_err(|(op, message)| report(op.location(), message))?;
            if let Some(chain) = chain {
                chain.merge(context);
            }
        }
        Ok::<(), Reported>(())
    })
}

/// Reductions one after the other that can be one.
struct Chain<'c> {
    operations: Vec<IrOp<'c>>,
    /// What the first one takes, with their axes as one.
    from: TileType,
    axis: usize,
    /// What is left of it.
    left: TileType,
}

impl<'c> Chain<'c> {
    /// The chain that ends with a reduction; `None` of one alone, and where nothing is exchanged before the last one.
    fn to(last: IrOp<'c>) -> Result<Option<Self>, Failed<'c>> {
        let mut operations = vec![last];
        let before = |op: IrOp<'c>| operands_of(op).next().and_then(defining_op);
        while let Some(one) =
            before(operations[0]).filter(|one| next_of(*one) == Some(operations[0]))
        {
            operations.insert(0, one);
        }
        let first = operations[0];
        let begin = tile_of(first, present(first, operands_of(first).next())?)?;
        let end = tile_of(last, result_of(last, 0))?;
        let mut axes = Vec::new();
        for op in &operations {
            axes.push(present(*op, axis_of(*op))?);
        }
        let merged = operations.len() > 1 && exchanges_before(&axes, &begin);
        let merged = merged.then(|| merged_along(&axes, &begin, &end)).flatten();
        Ok(merged.map(|(from, axis, left)| Chain {
            operations,
            from,
            axis,
            left,
        }))
    }

    fn merge(self, context: &'c Context) {
        let [first, .., last] = self.operations[..] else {
            return;
        };
        let builder = |insertion| {
            let mut ir = OpBuilder::new(context, insertion);
            ir.location = last.location();
            ir
        };
        let alike = |tile: &TileType, of: TileType| tile.with_elem(of.elem).ir(context);
        let ir = builder(Insertion::Before(first));
        for (index, input) in operands_of(first).enumerate().collect::<Vec<_>>() {
            let Some(Ok(of)) = TileType::of(input.r#type()) else {
                continue;
            };
            let merged = ir.value(TileOp::Reshape, &[input], &[], alike(&self.from, of));
            set_operand(first, index, merged);
        }
        set_attribute(first, "axis", ir.i32(self.axis as i32));
        // A reduction is never the last of its block.
        let Some(next) = next_operation(first) else {
            return;
        };
        let ir = builder(Insertion::Before(next));
        for (result, whole) in results_of(first).zip(results_of(last)) {
            let Some(Ok(of)) = TileType::of(whole.r#type()) else {
                continue;
            };
            result.set_type(alike(&self.left, of));
            let reshaped = ir.value(TileOp::Reshape, &[result], &[], whole.r#type());
            replace_all_uses(whole, reshaped);
        }
        for op in self.operations[1..].iter().rev() {
            erase(*op);
        }
    }
}

fn is_reduction(op: IrOp) -> bool {
    matches!(TileOp::of(op), Some(TileOp::Reduce | TileOp::Fold)) && !is_of_each_thread(op)
}

fn axis_of(reduction: IrOp) -> Option<usize> {
    let axis = reduction.attribute("axis").ok().and_then(integer_value)?;
    usize::try_from(axis).ok()
}

/// The reduction by the same function that alone takes what one leaves.
fn next_of(reduction: IrOp) -> Option<IrOp> {
    let next = users(result_of(reduction, 0)).pop()?;
    let taken = operands_of(next).eq(results_of(reduction));
    let alone = results_of(reduction).all(|result| uses(result).len() == 1);
    let kind = |op: IrOp| tile::Reduce::of(op)?.kind().and_then(string_value);
    let alike = TileOp::of(next) == TileOp::of(reduction)
        && kind(next) == kind(reduction)
        && have_equal_regions(next, reduction);
    (is_reduction(next) && taken && alone && alike && same_block(next, reduction)).then_some(next)
}

/// Whether threads share an axis of all but the last.
fn exchanges_before(axes: &[usize], begin: &TileType) -> bool {
    let modes = |layout: &TileType| layout.layout.as_ref()?.thread_modes(&layout.shape).ok();
    let mut shared = modes(begin).into_iter().flatten();
    let before_last = &axes[..axes.len() - 1];
    shared.any(|mode| {
        mode.along
            .is_some_and(|(axis, _)| before_last.contains(&axis))
    })
}

/// The tile with several axes as one, that axis, and what is left of the tile along it, which is the end with other axes of extent 1; `None` where
/// something is between the axes or a thread would hold something else.
fn merged_along(
    axes: &[usize],
    begin: &TileType,
    end: &TileType,
) -> Option<(TileType, usize, TileType)> {
    let (axis, behind) = (*axes.iter().min()?, axes.iter().max()? + 1);
    let is_merged = |axis: usize| axes.contains(&axis) || begin.shape[axis] == 1;
    if !(axis..behind).all(is_merged) {
        return None;
    }
    let extent = begin.shape[axis..behind].iter().product();
    let shape = [&begin.shape[..axis], &[extent], &begin.shape[behind..]].concat();
    let layout = begin.layout.as_ref()?;
    let layout = layout.reshaped(&begin.shape, &shape).ok()??;
    let mut left = shape.clone();
    left[axis] = 1;
    let reduced = layout.reduced(&shape, &left).ok()?;
    let back = reduced.reshaped(&left, &end.shape).ok()??;
    back.is_as(end.layout.as_ref()?, &end.shape).then(|| {
        let from = TileType::new(begin.elem, &shape).with_layout(layout);
        let left = TileType::new(begin.elem, &left).with_layout(reduced);
        (from, axis, left)
    })
}
