//! What a loop of products that wait for memory loads for something else than a product, by asynchronous copies: weights or keys of narrow
//! types, of which a factor is computed, and their scales.
//!
//! Through registers a tile is under way for a round at most, and with few rows a round is shorter than memory takes. So it has a ring of
//! stages, as operands have, from which each thread reads what it would have loaded. Loops whose products many rows share keep their
//! registers and instructions.
use super::copies::{Span, loaders};
use super::fill::fill_by_copy;
use super::matrices::MatrixRead;
use super::{Staging, allocate_view, buffer_type, products};
use crate::passes::ir_utils::{blocks, collect_nested, erase, operations, replace_all_uses, users};
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::held_factor::all_wait_for_memory;
use crate::passes::tile::rematerialize::Rematerialization;
use crate::passes::tile::twins::are_same;
use crate::passes::tile::types::{Failed, fast_axis, mma_of, reads_shared_memory, tile_of};
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, OpBuilder};
use cutec_dialects::ops::{ScfOp, TileOp, tile};
use cutec_dialects::tile::BY_ELEMENT;
use melior::ir::operation::OperationLike;

/// Bytes of the largest tile that has stages so: larger ones would leave none to the operands.
const MOST_BYTES: i64 = 32 << 10;

impl<'c> Staging<'c> {
    /// Lets asynchronous copies bring what such loops of a kernel load.
    pub(super) fn copied(&self) -> Result<(), Failed<'c>> {
        let mut all = Vec::new();
        collect_nested(self.function, &mut all);
        // Loads are erased on the way.
        all.retain(|op| ScfOp::For.is(*op));
        for of in all {
            let body = blocks(of, 0).remove(0);
            let here = operations(body);
            if !is_for_copies(&here)? {
                continue;
            }
            // What a product takes as well is read from the buffer of that.
            let loads: Vec<tile::Load<'c>> = here.into_iter().filter_map(tile::Load::of).collect();
            let is_multiplied = |load: &tile::Load<'c>| !products(load.result()).is_empty();
            let (multiplied, others): (Vec<_>, Vec<_>) = loads.into_iter().partition(is_multiplied);
            for load in others {
                let same = |other: &tile::Load<'c>| are_same(load.op(), other.op());
                if !multiplied.iter().any(same) {
                    self.copied_tile(load, body)?;
                }
            }
        }
        Ok(())
    }

    /// The same of a tile of one or two axes that no product takes as it is loaded, and of which a round knows where it lies in later ones.
    fn copied_tile(&self, load: tile::Load<'c>, body: IrBlock<'c>) -> Result<(), Failed<'c>> {
        let (op, loaded) = (load.op(), load.result());
        let tile = tile_of(op, loaded)?;
        let takers = users(loaded);
        // What the next round takes is ahead as it is.
        let is_ahead = takers.is_empty() || takers.iter().any(|op| ScfOp::Yield.is(*op));
        let is_plain = op.attribute("copy").is_err() && op.attribute(BY_ELEMENT).is_err();
        let is_small = tile.shape.len() <= 2 && tile.elem.bytes_of(tile.size()) <= MOST_BYTES;
        if is_ahead || !is_plain || !is_small {
            return Ok(());
        }
        let at = Coordinate::of(op).map_err(|message| (op, message))?;
        let is_known = (Rematerialization { body }).numbers_to_bring(load.view(), &at);
        let Some((fast, _)) = fast_axis(load.view()).filter(|_| is_known.is_some()) else {
            return Ok(());
        };
        let buffer = buffer_type(&tile, fast);
        let loaders = loaders(op, &tile, [fast, fast], (self.threads, Span::Row))?;
        let Some(copy) = self.asynchronous(op, &tile, &buffer, loaders)? else {
            return Ok(());
        };
        let mut ir = OpBuilder::new(self.ir.context(), Insertion::Before(self.entry));
        ir.location = op.location();
        let allocated = allocate_view(&ir, &buffer);
        ir.insertion = Insertion::Before(op);
        let stage = ir.constant(0, "i32");
        fill_by_copy(&ir, op, copy, (allocated, stage)).wait(&ir);
        let by = MatrixRead::of(&tile, (&buffer, fast), &self.dots);
        let (read, _) = self.read_by(&ir, (allocated, stage), &tile, by);
        replace_all_uses(loaded, read);
        erase(op);
        Ok(())
    }
}

/// Whether memory decides how long a loop with such a body takes, and all its products are by instructions that take factors from registers.
fn is_for_copies<'c>(body: &[IrOp<'c>]) -> Result<bool, Failed<'c>> {
    for dot in body.iter().copied().filter(|op| TileOp::Dot.is(*op)) {
        if reads_shared_memory(&*mma_of(dot)?) {
            return Ok(false);
        }
    }
    Ok(all_wait_for_memory(body))
}
