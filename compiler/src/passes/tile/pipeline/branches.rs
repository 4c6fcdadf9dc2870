//! Copies that stand in a branch of a loop: they are begun in front of it, from where they can be begun iterations ahead.
//!
//! Before: a branch with an asynchronous copy to a buffer that nothing else uses, whose condition other iterations know. After: the copy stands in
//! front of the branch, of a tile outside of its view where the branch is not taken, so that nothing is read then. What reads the buffer stays.
use crate::passes::ir_utils::{
    blocks, defining_op, is_in_block, move_before, operand, operations, parent, set_operand, users,
};
use crate::passes::remark;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::outside;
use crate::passes::tile::rematerialize::Rematerialization;
use crate::passes::tile::types::{Failed, present, view_of};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, operands_of, result_of,
};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ArithOp, ScfOp, TileOp, tile};
use melior::Context;
use melior::ir::operation::OperationLike;

/// Begins copies in front of the branches of a loop.
pub(super) fn begin_in_front<'c>(context: &'c Context, of: IrOp<'c>) -> Result<(), Failed<'c>> {
    let Some(body) = blocks(of, 0).into_iter().next() else {
        return Ok(());
    };
    for branch in operations(body).into_iter().filter(|op| ScfOp::If.is(*op)) {
        of_branch(context, branch, body)?;
    }
    Ok(())
}

/// Whether an operation stands in the body of a loop, or in a branch there.
pub(super) fn stands_in<'c>(op: IrOp<'c>, body: IrBlock<'c>) -> bool {
    let around = std::iter::successors(Some(op), |op| parent(*op).filter(|op| ScfOp::If.is(*op)));
    around.into_iter().any(|op| is_in_block(op, body))
}

fn of_branch<'c>(
    context: &'c Context,
    branch: IrOp<'c>,
    body: IrBlock<'c>,
) -> Result<(), Failed<'c>> {
    let sides = (0..branch.region_count()).flat_map(|region| blocks(branch, region));
    for (side, block) in sides.enumerate() {
        for inner in operations(block).into_iter().filter(|op| ScfOp::If.is(*op)) {
            of_branch(context, inner, body)?;
        }
        let copies = operations(block)
            .into_iter()
            .filter_map(tile::CopyAsync::of);
        for copy in copies {
            if let Some(reason) = begin_or_why_not(context, (branch, side, block), copy, body)? {
                let reason = format!("not begun ahead, but in its branch: {reason}");
                remark(copy.op().location(), reason);
            }
        }
    }
    Ok(())
}

/// Begins a copy in front of its branch, or says what stands in the way.
fn begin_or_why_not<'c>(
    context: &'c Context,
    (branch, side, block): (IrOp<'c>, usize, IrBlock<'c>),
    copy: tile::CopyAsync<'c>,
    body: IrBlock<'c>,
) -> Result<Option<&'static str>, Failed<'c>> {
    let op = copy.op();
    let at = Coordinate::of(op).map_err(|message| (op, message))?;
    let using = users(copy.buffer());
    let within = |op: &IrOp<'c>| stands_in(*op, block);
    let fills = using.iter().filter(|op| !TileOp::Read.is(**op));
    if !using.iter().all(within) || fills.count() != 1 {
        return Ok(Some("what it brings is read elsewhere as well"));
    }
    let taken = operand(branch, 0).map_err(|error| (branch, error.to_string()))?;
    let knows = Rematerialization { body };
    let Some(axis) = outside::axis_of(&at).filter(|_| knows.numbers_of(vec![taken]).is_some())
    else {
        return Ok(Some("only its round knows whether it is taken"));
    };
    // Where the tile lies is computed in front of the branch, too.
    let mut needed = Vec::new();
    let computed = operands_of(op).all(|operand| collect(operand, block, &mut needed));
    let groups = users(result_of(op, 0));
    let waits = groups.iter().flat_map(|group| users(result_of(*group, 0)));
    let waits: Vec<IrOp> = waits.collect();
    let alone = groups
        .iter()
        .chain(&waits)
        .all(|op| op.operand_count() == 1);
    if !computed || !alone {
        return Ok(Some("only its round knows where it lies"));
    }
    for op in needed.into_iter().chain([op]).chain(groups).chain(waits) {
        move_before(op, branch);
    }
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let there = match side {
        0 => taken,
        _ => {
            let yes = ir.constant(1, "i1");
            ir.value(ArithOp::Xori, &[taken, yes], &[], ir.ty("i1"))
        }
    };
    let buffer = present(op, view_of(copy.buffer()))?;
    let extent = buffer
        .layout
        .inner()
        .mode(axis)
        .and_then(|mode| mode.size().as_static());
    let chosen = outside::unless(
        &ir,
        there,
        (&at, axis),
        extent.unwrap_or(1),
        at.values[axis],
    );
    set_operand(op, 1 + axis, chosen);
    Ok(None)
}

/// Adds what of a block a value is computed of, first things first; whether it can be moved.
fn collect<'c>(value: IrValue<'c>, block: IrBlock<'c>, needed: &mut Vec<IrOp<'c>>) -> bool {
    let Some(op) = defining_op(value).filter(|op| is_in_block(*op, block)) else {
        return true;
    };
    if needed.contains(&op) {
        return true;
    }
    let movable = has_no_effect(op)
        && op.region_count() == 0
        && operands_of(op).all(|operand| collect(operand, block, needed));
    needed.push(op);
    movable
}
