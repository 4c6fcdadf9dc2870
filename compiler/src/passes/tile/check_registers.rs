//! `tile-check-registers`: warns of kernels whose tiles do not fit the registers of a thread.
//!
//! After `tile-assign-layouts`. Nothing is changed. The assembler says the same afterwards, of a cubin alone and without a reason.
use super::known_ops::checked_ops;
use super::pingpong::in_turn;
use super::registers::{for_bits, largest_load, of_thread, peak};
use super::types::Failed;
use crate::passes::ir_utils::{Kernel, for_each_kernel, function_block_size};
use crate::passes::kernel_abi::min_blocks;
use crate::passes::user_error::user_error;
use crate::passes::{Reported, report, warn};
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::TileOp;
use cutec_dialects::target::{BLOCK_SIZES, Target, WARP, registers_of_thread};
use cutec_frontend::diagnostics::codes;
use melior::Context;
use melior::ir::operation::OperationLike;

/// Warns once of each kernel of the module that cannot hold its tiles.
pub fn check_registers<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            function, target, ..
        } = kernel;
        check(function, &target).map_err(|(op, message)| report(op.location(), message))?;
        Ok::<_, Reported>(())
    })
}

fn check<'c>(function: IrOp<'c>, target: &Target) -> Result<(), Failed<'c>> {
    checked_ops(function)?;
    let Some(threads) = function_block_size(function) else {
        return Ok(());
    };
    let there = of_thread(function, threads, target);
    let peaks = [largest_load(function)?, peak(function)?];
    let Some(peak) = peaks.into_iter().flatten().max_by_key(|peak| peak.all) else {
        return Ok(());
    };
    let taken = for_bits(peak.all);
    if taken <= there {
        return Ok(());
    }
    let own = for_bits(peak.own);
    let held = match TileOp::of(peak.op) {
        Some(TileOp::Dot) => "the sums of this product and a block of its operands",
        Some(TileOp::Load) => "the elements of this tile",
        Some(TileOp::Reduce | TileOp::Fold | TileOp::Scan) => {
            "the tiles that are held across this reduction"
        }
        _ => "the tiles that this loop carries",
    };
    let held = match taken - own {
        0 => format!("{held} take {taken}"),
        others => format!("{held} take {own}, other tiles {others}, together {taken}"),
    };
    let message = format!(
        "{held} registers of each of {threads} threads, which has {there}; what does not fit goes to local memory"
    );
    let help = match in_turn(function) {
        1 => advice(taken * threads, threads, min_blocks(function)),
        _ => "make the tiles of fewer rows or columns, or leave out `pingpong()`: two warpgroups then share one".into(),
    };
    warn(peak.op.location(), user_error(codes::SLOW, message, &help));
    Ok(())
}

/// What to write instead, of a kernel whose threads hold so many registers together.
fn advice(registers: i64, threads: i64, blocks: i64) -> String {
    let mut wider = threads * 2;
    while wider <= *BLOCK_SIZES.end() {
        if registers / wider < registers_of_thread(wider, blocks) {
            return format!(
                "write `warps({})`, or tiles of fewer rows or columns",
                wider / WARP
            );
        }
        wider *= 2;
    }
    match blocks {
        1 => "make the tiles of fewer rows or columns".into(),
        _ => "make the tiles of fewer rows or columns, or `min_blocks` smaller".into(),
    }
}
