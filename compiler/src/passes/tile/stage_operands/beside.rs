//! Vectors that a loop of products loads beside its operands: the sums of rows that a gradient takes, scales, a bias of keys.
//!
//! Before: a `tile.load` of a vector in the body of a loop whose operands tensor maps bring. Each thread would wait for memory in each round,
//! or hold the next round's elements in registers. After: a `tile.write` to a buffer, which [`BESIDE`] marks, because a warp of its own does it
//! (`specialize_warps/vectors.rs`), and a `tile.read` where the vector, or what is computed of it alone, is first needed.
use super::super::gathers::GATHERED;
use super::super::issuable::{control_flow, issuable_numbers, read_only};
use super::super::known_ops::only_computes;
use super::super::load_early::is_whole;
use super::super::pingpong::in_turn;
use super::super::specialize_warps::{ancestor_in, map_copy};
use super::super::types::{Failed, tile_of};
use super::Staging;
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, hints_of, move_before, next_operation, operations,
    set_operand, users,
};
use crate::passes::remark;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, operands_of, result_of, results_of,
};
use cutec_dialects::elem::Space;
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{CuteOp, ScfOp, TileOp};
use cutec_dialects::tile::TileType;
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Layout};
use melior::ir::operation::OperationLike;

/// The attribute of a `tile.write` that a warp of its own does, with the load of what it writes.
pub(in crate::passes::tile) const BESIDE: &str = "tile.beside";

/// The most elements of a vector, of which a lane of the warp holds its part on their way to shared memory.
const LONGEST: i64 = 512;
/// Alignment of a stage, in bytes.
const ALIGN: i64 = 128;

impl<'c> Staging<'c> {
    /// Stages the vectors that the loops of a kernel load beside their operands, behind which these are staged. Those that gather operands
    /// are a whole warpgroup, and warpgroups that take turns would have to know when all of them are there.
    pub(super) fn beside(&self) -> Result<(), Failed<'c>> {
        let mut all = Vec::new();
        collect_nested(self.function, &mut all);
        if in_turn(self.function) > 1 || all.iter().any(|op| op.attribute(GATHERED).is_ok()) {
            return Ok(());
        }
        for of in all.iter().copied().filter(|op| ScfOp::For.is(*op)) {
            let body = blocks(of, 0).remove(0);
            let here = operations(body);
            if !here.iter().any(|op| map_copy(*op).is_some()) {
                continue;
            }
            for load in here.into_iter().filter(|op| TileOp::Load.is(*op)) {
                if self.is_beside(load) {
                    self.carry(load, body)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a load is of a vector that a role without tiles can load.
    fn is_beside(&self, load: IrOp<'c>) -> bool {
        let loaded = result_of(load, 0);
        let operands: Vec<IrValue<'c>> = operands_of(load).collect();
        let Ok(tile) = tile_of(load, loaded) else {
            return false;
        };
        let is_vector = !is_whole(load)
            && tile.size() <= LONGEST
            && tile.elem.bits() % 8 == 0
            && tile.layout.is_some();
        let plain = hints_of(load) == Hints::NONE && !self.is_written(operands[0]);
        let issuable = || {
            let mut needed = control_flow(load, self.function)?;
            needed.extend(operands);
            issuable_numbers(needed, load, self.function, &read_only(self.function))
        };
        is_vector && plain && !users(loaded).is_empty() && issuable().is_ok()
    }

    /// Takes a vector through shared memory, in the body of a loop.
    fn carry(&self, load: IrOp<'c>, body: IrBlock<'c>) -> Result<(), Failed<'c>> {
        let loaded = result_of(load, 0);
        let tile = tile_of(load, loaded)?;
        let column = TileType {
            shape: vec![tile.size(), 1],
            ..tile.clone()
        };
        remark(
            load.location(),
            format!(
                "a vector of {} {}: a warp of its own loads it for the rounds to come, and brings it through shared memory",
                tile.size(),
                tile.elem.language_name()
            ),
        );
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = load.location();
        let ty = ir.val_type(&Val::View(buffer_of(&column)));
        let buffer = ir.value(CuteOp::MemrefAllocSmem, &[], &[], ty);
        ir.insertion = match next_operation(load) {
            Some(next) => Insertion::Before(next),
            None => return Ok(()),
        };
        let stage = ir.constant(0, "i32");
        let shaped = |from: IrValue<'c>, to: &TileType| match column.shape == tile.shape {
            true => from,
            false => ir.value(TileOp::Reshape, &[from], &[], to.ir(ir.context())),
        };
        let taken: Vec<IrOp<'c>> = users(loaded);
        let written = shaped(loaded, &column);
        let mark = [(BESIDE, ir.unit())];
        ir.op(TileOp::Write, &[written, buffer, stage], &mark, &[]);
        let read = self.read(&ir, (buffer, stage), &column, None);
        let held = shaped(read, &tile);
        for user in taken {
            for (index, operand) in operands_of(user).enumerate().collect::<Vec<_>>() {
                if operand == loaded {
                    set_operand(user, index, held);
                }
            }
        }
        defining_op(read)
            .into_iter()
            .for_each(|read| sink(read, tile.size(), body));
        Ok(())
    }
}

/// A buffer of one stage for a column.
fn buffer_of(column: &TileType) -> View {
    let rows = column.shape[0];
    let bytes = column.elem.bytes_of(rows);
    let stage = (bytes + ALIGN - 1) / ALIGN * ALIGN / column.elem.bytes();
    let modes = [(rows, 1), (1, rows), (1, stage)];
    let modes = modes.map(|(extent, stride)| Layout::scalar(extent, stride));
    let layout = AnyLayout::Plain(Layout::concat(modes));
    View::new(column.elem, Space::Smem, ALIGN, layout)
}

/// Moves an operation, and what is computed of its result and is no longer than so many elements, in front of what first takes it. So
/// nothing waits for the vector, or holds it, while products run that do not need it.
fn sink<'c>(read: IrOp<'c>, most: i64, body: IrBlock<'c>) {
    let mut moved = vec![read];
    let here = operations(body);
    let behind = here.iter().skip_while(|op| **op != read).skip(1);
    for op in behind.copied() {
        let of_moved = operands_of(op)
            .filter_map(defining_op)
            .any(|operand| moved.contains(&operand));
        let results: Vec<IrValue<'c>> = results_of(op).collect();
        let is_small = |value: &IrValue<'c>| {
            let tile = tile_of(op, *value);
            tile.is_ok_and(|tile| tile.size() <= most)
        };
        if of_moved && only_computes(op) && results.iter().all(is_small) {
            moved.push(op);
        }
    }
    // Those behind others have their places first.
    for op in moved.into_iter().rev() {
        let takers = results_of(op).flat_map(users);
        let takers: Vec<IrOp<'c>> = takers.filter_map(|user| ancestor_in(user, body)).collect();
        let first = operations(body).into_iter().find(|op| takers.contains(op));
        first.into_iter().for_each(|first| move_before(op, first));
    }
}
