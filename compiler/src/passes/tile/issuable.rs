//! What a role that holds no tiles can do by itself.
use super::insert_barriers::written_tensors;
use super::tensor_box::TensorBox;
use super::types::tensor_of;
use crate::passes::ir_utils::{blocks, collect_nested, defining_op, parent};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, operands_of, value_key};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{CuteOp, ScfOp, TileOp, cute};
use melior::ir::{BlockLike, operation::OperationLike};
use std::collections::HashSet;

/// Whether a role that has no tiles can begin a copy: whether it can compute how often and of which box.
///
/// # Errors
/// What it cannot compute, as a sentence.
pub(super) fn issuable<'c>(
    load: IrOp<'c>,
    tensor_box: &TensorBox<'c>,
    function: IrOp<'c>,
) -> Result<(), String> {
    let mut needed: Vec<IrValue<'c>> = tensor_box.begins().collect();
    needed.extend(control_flow(load, function)?);
    issuable_numbers(needed, load, function, &read_only(function))
}

/// The numbers that the control flow around an operation follows from.
///
/// # Errors
/// Which control flow a role that has no tiles cannot have, as a clause.
pub(super) fn control_flow<'c>(
    op: IrOp<'c>,
    function: IrOp<'c>,
) -> Result<Vec<IrValue<'c>>, String> {
    let (mut around, mut numbers) = (parent(op), Vec::new());
    while let Some(op) = around.filter(|op| *op != function) {
        match ScfOp::of(op) {
            Some(ScfOp::For) => numbers.extend(operands_of(op).take(3)),
            Some(ScfOp::If) => numbers.extend(operands_of(op).take(1)),
            _ => return Err("it stands in a loop that ends when what it computes says so".into()),
        }
        around = parent(op);
    }
    Ok(numbers)
}

/// Whether a role that has no tiles can compute numbers which an operation depends on: from arguments, indices of loops and single
/// elements of tensors that the kernel does not write.
///
/// # Errors
/// What it cannot compute, as a clause.
pub(super) fn issuable_numbers<'c>(
    mut needed: Vec<IrValue<'c>>,
    of: IrOp<'c>,
    function: IrOp<'c>,
    is_read_only: &impl Fn(IrValue<'c>) -> bool,
) -> Result<(), String> {
    let mut indices = HashSet::new();
    let mut around = parent(of);
    while let Some(op) = around.filter(|op| *op != function) {
        if let (Some(ScfOp::For), Some(body)) = (ScfOp::of(op), blocks(op, 0).first()) {
            indices.insert(value_key(argument_of(*body, 0)));
        }
        around = parent(op);
    }
    let mut seen = HashSet::new();
    while let Some(value) = needed.pop() {
        if !seen.insert(value_key(value)) || indices.contains(&value_key(value)) {
            continue;
        }
        let Some(op) = defining_op(value) else {
            let arguments = blocks(function, 0);
            let of_kernel = arguments.first().is_some_and(|entry| {
                (0..entry.argument_count()).any(|index| argument_of(*entry, index) == value)
            });
            match of_kernel {
                true => continue,
                false => return Err("where it lies depends on what a loop carries".into()),
            }
        };
        let reads = CuteOp::MemrefLoad.is(op)
            && cute::MemrefLoad::of(op).is_some_and(|load| is_read_only(load.view()));
        let number = TileOp::of(op).is_none_or(|op| op == TileOp::Index);
        let computed = number && has_no_effect(op) && op.region_count() == 0;
        if !computed && !reads {
            return Err("where it lies depends on what the kernel reads or computes".into());
        }
        needed.extend(operands_of(op));
    }
    Ok(())
}

/// Whether a kernel does not write the tensor that a view is into.
pub(super) fn read_only<'c>(function: IrOp<'c>) -> impl Fn(IrValue<'c>) -> bool {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let written = written_tensors(&operations);
    move |view| {
        let tensor = tensor_of(view).map(value_key);
        let written = written.as_ref();
        tensor.is_some_and(|tensor| written.is_some_and(|written| !written.contains(&tensor)))
    }
}
