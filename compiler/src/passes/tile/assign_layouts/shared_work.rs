//! Small tiles that many threads would load and compute, each for itself: what is repeated along an axis that threads share, and what a
//! reduction leaves in all of them. Where that is more work than to spread it anew, it is spread by itself, and each element is computed once.
use super::Assignment;
use super::accesses::Reach;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{blocks, is_inside, operations};
use crate::passes::kernel_abi::blocks_of_tile;
use crate::passes::tile::types::tile_of;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::ops::{ArithOp, TileOp, tile};
use cutec_dialects::target::WARP;
use cutec_dialects::tile::cost_model::{RepeatedTile, Work};
use cutec_dialects::tile::{TileLayout, TileType};
use std::collections::BTreeSet;

impl<'c> Assignment<'c> {
    /// Whether a tile is rather spread by itself than as what it is repeated to, or is reduced of, says.
    pub(super) fn is_rather_shared(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        layout: &TileLayout,
    ) -> bool {
        let mut repeated = RepeatedTile {
            held: layout.values(),
            evenly: (tile.size() + self.threads - 1) / self.threads,
            work: 0,
            conversions: 0,
            beside_products: false,
        };
        // What is spread anew goes through the memory of one block.
        if !repeated.is_repeated() || blocks_of_tile(self.function) > 1 {
            return false;
        }
        // What products take besides comes by copies.
        repeated.beside_products = self.operations.iter().any(|op| TileOp::Dot.is(*op));
        let Some(classes) = self.spread_alike(value) else {
            return false;
        };
        let is_of = |value| {
            self.classes
                .class(value)
                .is_some_and(|class| classes.contains(&class))
        };
        for op in &self.operations {
            let loops = loops_around(*op).count();
            // What stands behind products is computed while others multiply.
            if repeated.beside_products && loops == 0 {
                continue;
            }
            let of_op = Work::rounds(loops);
            match TileOp::of(*op) {
                Some(TileOp::Map) if is_of(result_of(*op, 0)) => {
                    repeated.work += of_op * repeated.held * instructions_of(*op);
                }
                Some(TileOp::Gather) if is_of(result_of(*op, 0)) => {
                    repeated.work += of_op * repeated.held * Work::load(tile.elem.bytes(), 1);
                }
                Some(TileOp::Load) if is_of(result_of(*op, 0)) && !repeated.beside_products => {
                    repeated.work += of_op * self.cost_of_loads(*op, tile, layout);
                }
                Some(TileOp::Reduce | TileOp::Fold) if is_of(result_of(*op, 0)) => {
                    repeated.conversions += of_op;
                }
                Some(TileOp::Broadcast) => {
                    let input = tile::Reshaping::of(*op).map(|op| op.input());
                    if let Some(input) = input.filter(|input| is_of(*input)) {
                        // What a loop does not change is spread anew in front of it.
                        let inside = loops_around(*op).filter(|around| is_inside(input, *around));
                        repeated.conversions += Work::rounds(inside.count());
                    }
                }
                _ => {}
            }
        }
        repeated.is_rather_shared()
    }

    /// What the loads of a tile cost a thread, where a tile of the same elements has a layout.
    fn cost_of_loads(&self, load: IrOp<'c>, tile: &TileType, layout: &TileLayout) -> i64 {
        let known = || {
            let loaded = tile_of(load, result_of(load, 0)).ok()?;
            let layout = match loaded.shape == tile.shape {
                true => layout.clone(),
                false => layout.reshaped(&tile.shape, &loaded.shape).ok()??,
            };
            let Reach { axis, vector, .. } = Reach::of(load, &loaded, &self.target)?;
            let own = layout.neighbours(&loaded.shape, axis).ok()?;
            let (mut lanes, mut different, mut run) = (WARP, 1, own);
            for mode in layout.thread_modes(&loaded.shape).ok()? {
                let extent = mode.extent.min(lanes);
                lanes /= extent.max(1);
                if let Some((along, step)) = mode.along {
                    different *= extent;
                    run *= match (along, step) == (axis, run) {
                        true => extent,
                        false => 1,
                    };
                }
            }
            // Rows that a warp reads parts of.
            let rows = (different * own / run).max(1);
            let at_once = own.min(vector);
            let bytes = at_once * loaded.elem.bytes();
            Some(layout.values() / at_once * Work::load(bytes, rows))
        };
        known().unwrap_or(layout.values() * Work::load(tile.elem.bytes(), 1))
    }

    /// The classes of tiles that are spread as one is because they have the same elements in the same order, itself among them; `None` where one of them
    /// has its layout.
    fn spread_alike(&self, value: IrValue<'c>) -> Option<BTreeSet<usize>> {
        let mut open = vec![self.classes.class(value)?];
        let mut found = BTreeSet::new();
        while let Some(class) = open.pop() {
            if self.layouts.contains_key(&class) {
                return None;
            }
            if !found.insert(class) {
                continue;
            }
            for number in self.reshaping.get(&class).into_iter().flatten() {
                let op = self.operations[*number];
                let is_alike = matches!(TileOp::of(op), Some(TileOp::Reshape | TileOp::Transpose));
                let sides = tile::Reshaping::of(op).filter(|_| is_alike);
                let sides = sides.map(|op| [op.input(), op.result()]);
                open.extend(
                    sides
                        .into_iter()
                        .flatten()
                        .filter_map(|side| self.classes.class(side)),
                );
            }
        }
        Some(found)
    }
}

/// Operations that a map does for each element.
fn instructions_of(map: IrOp) -> i64 {
    let inside = blocks(map, 0).into_iter().flat_map(operations);
    let counted = inside.filter(|op| !ArithOp::Constant.is(*op) && !TileOp::Yield.is(*op));
    counted.count() as i64
}
