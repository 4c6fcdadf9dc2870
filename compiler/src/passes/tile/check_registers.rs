//! `tile-check-registers`: warns of tiles that threads have to keep and have no registers for.
//!
//! After `tile-assign-layouts`. Nothing is changed. What a loop carries, and the sums of a product, is held from round to
//! round: more than a thread's registers goes to local memory, which the assembler says only to those who ask.
//! Other tiles may be computed piece by piece, so nothing is said of them.
use super::types::Failed;
use crate::passes::walk::{all_inside, function_block_size, kernels, name_of};
use crate::passes::{Reported, report, warn};
use cutec_dialects::builder::{IrOp, integer_value, result_of};
use cutec_dialects::target::Target;
use cutec_dialects::tile::TileType;
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// Registers of a thread and of a multiprocessor, of 32 bits (CUDA C++ Programming Guide, "Compute Capabilities":
/// the same for every target), and how many are handed out at once.
const OF_A_THREAD: i64 = 255;
const OF_A_MULTIPROCESSOR: i64 = 64 * 1024;
const AT_ONCE: i64 = 8;

/// Warns once of each kernel of the module that cannot hold its tiles.
pub fn check_registers(_: &Context, module: IrOp, _target: &Target) -> Result<(), Reported> {
    for (_, functions) in kernels(module) {
        for function in functions {
            check(function).map_err(|(op, message)| report(op.location(), message))?;
        }
    }
    Ok(())
}

fn check(function: IrOp) -> Result<(), Failed> {
    let Some(threads) = function_block_size(function) else {
        return Ok(());
    };
    let blocks = function.attribute("nvvm.minctasm").ok();
    let blocks = blocks.and_then(integer_value).unwrap_or(1).max(1);
    let share = OF_A_MULTIPROCESSOR / (threads * blocks).max(1);
    let there = OF_A_THREAD.min(share / AT_ONCE * AT_ONCE);
    let mut operations = Vec::new();
    all_inside(function, &mut operations);
    for op in operations {
        let held = match name_of(op).as_str() {
            "scf.for" | "scf.while" => "the tiles that this loop carries",
            "tile.dot" => "the sums of this product",
            _ => continue,
        };
        let mut bits = 0;
        for index in 0..op.result_count() {
            bits += bits_of_thread(op, index)?;
        }
        let taken = (bits + 31) / 32;
        if taken > there {
            let message = format!(
                "{held} take {taken} registers of each of {threads} threads, which has {there}; what does not fit goes to local memory: expected smaller tiles, or more warps"
            );
            warn(op.location(), message);
            return Ok(());
        }
    }
    Ok(())
}

/// Bits of a result that a thread holds; 0 where it is no tile.
fn bits_of_thread(op: IrOp, index: usize) -> Result<i64, Failed> {
    match TileType::of(result_of(op, index).r#type()) {
        None => Ok(0),
        Some(Err(message)) => Err((op, message)),
        Some(Ok(tile)) => match &tile.layout {
            Some(layout) => Ok(layout.values() * tile.elem.bits()),
            None => Err((
                op,
                format!("{tile} has no layout; run tile-assign-layouts first"),
            )),
        },
    }
}
