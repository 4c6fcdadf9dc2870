//! What a role that holds no tiles can do by itself.
use super::tensor_box::TensorBox;
use crate::passes::ir_utils::{blocks, defining_op, parent};
use cutec_dialects::builder::{IrOp, IrValue, argument_of, operands_of, value_key};
use cutec_dialects::ir::has_no_effect;
use cutec_dialects::ops::{ScfOp, TileOp};
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
    let mut around = parent(load);
    let mut indices = HashSet::new();
    while let Some(op) = around.filter(|op| *op != function) {
        match ScfOp::of(op) {
            Some(ScfOp::For) => {
                needed.extend(operands_of(op).take(3));
                if let Some(body) = blocks(op, 0).first() {
                    indices.insert(value_key(argument_of(*body, 0)));
                }
            }
            Some(ScfOp::If) => needed.extend(operands_of(op).take(1)),
            _ => return Err("it stands in a loop that ends when what it computes says so".into()),
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
        let computed = TileOp::of(op).is_none() && has_no_effect(op) && op.region_count() == 0;
        if !computed {
            return Err("where it lies depends on what the kernel reads or computes".into());
        }
        needed.extend(operands_of(op));
    }
    Ok(())
}
