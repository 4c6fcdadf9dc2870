//! What a loop of products loads beside its operands: the sums of rows that a gradient takes, scales, a bias of keys or of scores.
//!
//! Before: a `tile.load` in the body of a loop whose operands tensor maps bring. Each thread would wait for memory in each round, or hold the
//! next round's elements in registers. After: a buffer, and a `tile.read` where the tile, or what is computed of a vector alone, is first needed.
//! What fills the buffer [`BESIDE`] marks, because a warp of its own does it: a `tile.write` of a vector (`specialize_warps/vectors.rs`), or
//! the `tile.copy_async` of a whole tile by a tensor map, where there is one.
use super::super::computed_operand::plain_buffer;
use super::super::gathers::GATHERED;
use super::super::issuable::{control_flow, issuable_numbers, read_only};
use super::super::known_ops::only_computes;
use super::super::load_early::is_whole;
use super::super::mapped_view::UNIT;
use super::super::outside;
use super::super::pingpong::in_turn;
use super::super::specialize_warps::{ancestor_in, map_copy};
use super::super::tensor_box::TensorBox;
use super::super::types::{Failed, present, tile_of};
use super::super::warpgroup_products::zeros_outside;
use super::matrices::MatrixRead;
use super::{Arrives, Staging, allocate_view};
use crate::passes::ir_utils::{
    blocks, collect_nested, defining_op, erase, hints_of, move_before, next_operation, operations,
    replace_all_uses, set_attribute, users,
};
use crate::passes::remark;
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, operands_of, results_of,
};
use cutec_dialects::hints::Hints;
use cutec_dialects::ops::{ScfOp, TileOp, tile};
use cutec_dialects::tile::TileType;
use cutec_dialects::value::View;
use melior::ir::operation::OperationLike;

/// The attribute of what a warp of its own does: a copy by a tensor map, or a `tile.write`, with the load of what that writes.
pub(in crate::passes::tile) const BESIDE: &str = "tile.beside";

/// The most elements of a vector, of which a lane of the warp holds its part on their way to shared memory.
const LONGEST: i64 = 512;

impl<'c> Staging<'c> {
    /// Stages what the loops of a kernel load beside their operands, behind which these are staged. Those that gather operands
    /// are a whole warpgroup, and warpgroups that take turns would have to know when all of it is there.
    pub(super) fn beside(&self) -> Result<(), Failed<'c>> {
        let mut all = Vec::new();
        collect_nested(self.function, &mut all);
        if in_turn(self.function) > 1 || all.iter().any(|op| op.attribute(GATHERED).is_ok()) {
            return Ok(());
        }
        // Loads are erased on the way.
        let loops: Vec<IrOp<'c>> = all
            .iter()
            .copied()
            .filter(|op| ScfOp::For.is(*op))
            .collect();
        for of in loops {
            let body = blocks(of, 0).remove(0);
            let here = operations(body);
            if !here.iter().any(|op| map_copy(*op).is_some()) {
                continue;
            }
            for load in here.into_iter().filter_map(tile::Load::of) {
                let op = load.op();
                // What the next round takes is ahead as it is.
                let takers = users(load.result());
                if takers.is_empty() || takers.iter().any(|op| ScfOp::Yield.is(*op)) {
                    continue;
                }
                let tile = tile_of(op, load.result())?;
                if is_whole(op) {
                    match self.boxed_beside(load, &tile) {
                        Ok(by) => self.by_map(load, &tile, by, body)?,
                        Err(why) => remark(
                            op.location(),
                            format!("each thread loads its elements of this tile: {why}"),
                        ),
                    }
                } else if self.is_vector(load, &tile) {
                    self.vector(load, &tile, body)?;
                }
            }
        }
        Ok(())
    }

    /// The buffer for a whole tile, and how threads read it from there, where that is not by vectors.
    ///
    /// # Errors
    /// Why no tensor map brings it, as a clause.
    fn boxed_beside(
        &self,
        load: tile::Load<'c>,
        tile: &TileType,
    ) -> Result<(View, Option<MatrixRead>), String> {
        if hints_of(load.op()) != Hints::NONE {
            return Err("its cache hints are those of threads".into());
        }
        if tile.shape.len() != 2 {
            return Err("it has more than two axes".into());
        }
        self.buffer_of_box(load.op(), tile)
    }

    /// Lets a tensor map bring a vector, or the lanes of a warp.
    fn vector(
        &self,
        load: tile::Load<'c>,
        tile: &TileType,
        body: IrBlock<'c>,
    ) -> Result<(), Failed<'c>> {
        let place = load.op().location();
        let brought = match self.boxed_vector(load, tile) {
            Ok(buffer) => {
                self.by_map(load, tile, (buffer, None), body)?;
                "a tensor map brings it for the rounds to come".to_owned()
            }
            Err(why) => {
                self.by_warp(load, tile, body)?;
                format!(
                    "a warp of its own loads it for the rounds to come, and brings it through shared memory: {why}"
                )
            }
        };
        let (size, elem) = (tile.size(), tile.elem.language_name());
        let message = format!("a vector of {size} {elem}: {brought}");
        remark(place, message);
        Ok(())
    }

    /// The buffer for a vector.
    ///
    /// # Errors
    /// Why no tensor map brings it, as a clause.
    fn boxed_vector(&self, load: tile::Load<'c>, tile: &TileType) -> Result<View, String> {
        zeros_outside(load.op())?;
        if tile.elem.bytes_of(tile.size()) % UNIT != 0 {
            return Err(format!("a tensor map brings multiples of {UNIT} bytes"));
        }
        let column = column_of(tile);
        let tensor_box = TensorBox::of(load.op(), self.function, &column.shape)?;
        let (_, buffer) = plain_buffer(&column, 0);
        let atom = tensor_box.load(&buffer);
        atom.map(|_| buffer).map_err(|error| error.to_string())
    }

    /// Lets a tensor map bring a whole tile, or a vector.
    fn by_map(
        &self,
        load: tile::Load<'c>,
        tile: &TileType,
        (buffer, by): (View, Option<MatrixRead>),
        body: IrBlock<'c>,
    ) -> Result<(), Failed<'c>> {
        let op = load.op();
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = op.location();
        let allocated = allocate_view(&ir, &buffer);
        ir.insertion = Insertion::Before(op);
        let stage = ir.constant(0, "i32");
        let column = column_of(tile);
        let arrives = self.fill_by_map(&ir, op, &column, (allocated, &buffer), stage)?;
        if let Arrives::Later(begun) = &arrives {
            set_attribute(present(op, defining_op(*begun))?, BESIDE, ir.unit());
        }
        arrives.wait(&ir);
        let (read, reads) = self.read_by(&ir, (allocated, stage), &column, by);
        let taken = match load.fill() {
            None => reshaped(&ir, read, [&column, tile]),
            Some(fill) => outside::filled(&ir, (load, tile), read, fill)
                .map_err(|error| (op, error.to_string()))?,
        };
        replace_all_uses(load.result(), taken);
        erase(op);
        for reads in [present(op, defining_op(taken))?, reads] {
            sink(reads, tile.size(), body);
        }
        Ok(())
    }

    /// Whether a load is of a vector that a role without tiles can load.
    fn is_vector(&self, load: tile::Load<'c>, tile: &TileType) -> bool {
        let (op, function) = (load.op(), self.function);
        let short = tile.size() <= LONGEST && tile.elem.bits() % 8 == 0;
        let plain = hints_of(op) == Hints::NONE && !self.is_written(load.view());
        let issuable = || {
            let mut needed = control_flow(op, function)?;
            needed.extend(operands_of(op));
            issuable_numbers(needed, op, function, &read_only(function))
        };
        short && plain && issuable().is_ok()
    }

    /// Lets the lanes of a warp bring a vector.
    fn by_warp(
        &self,
        load: tile::Load<'c>,
        tile: &TileType,
        body: IrBlock<'c>,
    ) -> Result<(), Failed<'c>> {
        let (op, loaded) = (load.op(), load.result());
        let column = TileType {
            shape: vec![tile.size(), 1],
            ..tile.clone()
        };
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = op.location();
        let buffer = allocate_view(&ir, &plain_buffer(&column, 0).1);
        ir.insertion = Insertion::Before(present(op, next_operation(op))?);
        let stage = ir.constant(0, "i32");
        let read = self.read(&ir, (buffer, stage), &column, None);
        replace_all_uses(loaded, reshaped(&ir, read, [&column, tile]));
        let reads = present(op, defining_op(read))?;
        ir.insertion = Insertion::Before(reads);
        let written = reshaped(&ir, loaded, [tile, &column]);
        let mark = [(BESIDE, ir.unit())];
        ir.op(TileOp::Write, &[written, buffer, stage], &mark, &[]);
        sink(reads, tile.size(), body);
        Ok(())
    }
}

/// A tile as a matrix: of one axis a column.
fn column_of(tile: &TileType) -> TileType {
    let mut column = tile.clone();
    if let &[extent] = &tile.shape[..] {
        column.shape = vec![extent, 1];
    }
    column
}

/// A tile of the shape of the first type in that of the second.
fn reshaped<'c>(ir: &OpBuilder<'c>, tile: IrValue<'c>, [from, to]: [&TileType; 2]) -> IrValue<'c> {
    match from.shape == to.shape {
        true => tile,
        false => ir.value(TileOp::Reshape, &[tile], &[], to.ir(ir.context())),
    }
}

/// Moves what reads a tile, and what is computed of that alone, in front of what first takes it. So nothing waits for the tile, or holds
/// it, while products run that do not need it. Of a vector what is repeated to a whole tile stays.
pub(super) fn sink<'c>(read: IrOp<'c>, most: i64, body: IrBlock<'c>) {
    let mut moved = vec![read];
    let here = operations(body);
    let behind = here.iter().skip_while(|op| **op != read).skip(1);
    for op in behind.copied().filter(|op| only_computes(*op)) {
        let tiles = operands_of(op).filter(|operand| tile_of(op, *operand).is_ok());
        let mut makers = tiles.filter_map(defining_op).peekable();
        let alone = makers.peek().is_some() && makers.all(|maker| moved.contains(&maker));
        let mut results = results_of(op).map(|value| tile_of(op, value));
        if alone && results.all(|tile| tile.is_ok_and(|tile| tile.size() <= most)) {
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
