//! How many threads a block has of which no product says it, and along which axes they combine what they have.
use super::Assignment;
use super::accesses::accesses_of;
use crate::passes::kernel_abi::blocks_of_tile;
use crate::passes::remark;
use crate::passes::tile::types::{differ_in_units, tile_of};
use cutec_abi::counted;
use cutec_dialects::builder::{IrOp, IrValue, integer_value, result_of};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WARP;
use cutec_dialects::tile::cost_model::{most_threads_of_memory, threads_of_memory};
use cutec_dialects::tile::{TileLayout, TileType};
use melior::ir::operation::OperationLike;
use std::collections::HashMap;

impl<'c> Assignment<'c> {
    /// The threads of a block that nothing pins, as the cost model says for the largest tiles; or more of them, up to twice as many, where the extents of these
    /// leave fewer without something of their own.
    pub(super) fn chosen_threads(&mut self) -> i64 {
        let blocks = blocks_of_tile(self.function);
        let tiles = self.classes.tiles.iter();
        let size = tiles.map(|(_, tile)| tile.size()).max().unwrap_or(0) / blocks;
        let reduces = self.operations.iter().any(|op| {
            matches!(
                TileOp::of(*op),
                Some(TileOp::Reduce | TileOp::Fold | TileOp::Scan)
            )
        });
        let accesses = accesses_of(&self.operations, size, &self.target);
        let least = threads_of_memory(size, &accesses, reduces);
        let threads = match blocks {
            1 => self.best_of(least, size),
            _ => least,
        };
        let vectors = accesses.iter().map(|access| access.vector).min();
        let vectors = match vectors {
            Some(vector) => format!(", accessed {vector} at once"),
            None => String::new(),
        };
        let message = format!(
            "{threads} threads a block, chosen: {} of {} for each of the largest tiles{vectors}; `warps(n)` pins them",
            (size + threads - 1) / threads.max(1),
            counted(size, "element")
        );
        remark(self.function.location(), message);
        threads
    }

    /// So many threads, or more by whole warps: the number of which all together hold the fewest elements of the tiles of a size.
    fn best_of(&mut self, least: i64, size: i64) -> i64 {
        let tiles = self.classes.tiles.iter();
        let largest = tiles.filter(|(_, tile)| tile.size() == size).cloned();
        let largest: Vec<(IrValue<'c>, TileType)> = largest.collect();
        let held = |this: &mut Self, threads: i64| -> (i64, i64) {
            this.threads = threads;
            let mut all = (0, 0);
            for (value, tile) in &largest {
                let along = this.along(*value, tile);
                let layout = TileLayout::of_threads(&tile.shape, &along, threads);
                let neighbours = layout.neighbours(&tile.shape, along.axis).unwrap_or(1);
                all.0 += threads * layout.values();
                all.1 += neighbours.min(along.vector);
            }
            all
        };
        let (mut best, mut fewest) = (least, held(self, least));
        // What each has once cannot be spread better.
        if fewest.0 <= size * largest.len() as i64 {
            return least;
        }
        for threads in (least..=most_threads_of_memory(least)).step_by(WARP as usize) {
            let (elements, neighbours) = held(self, threads);
            if elements < fewest.0 && neighbours >= fewest.1 {
                (best, fewest) = (threads, (elements, fewest.1));
            }
        }
        best
    }

    /// The axes along which a tile is combined, or one that follows from how it is spread.
    pub(super) fn combined(&self, value: IrValue<'c>, tile: &TileType) -> Vec<usize> {
        let Some(class) = self.classes.class(value) else {
            return Vec::new();
        };
        // The axes of a class as those of the tile.
        let mut named: HashMap<usize, Vec<Option<usize>>> = HashMap::new();
        let mut open = vec![(class, (0..tile.shape.len()).map(Some).collect::<Vec<_>>())];
        let mut found = Vec::new();
        while let Some((class, names)) = open.pop() {
            if named.contains_key(&class) {
                continue;
            }
            let of_class = |value| self.classes.class(value) == Some(class);
            for number in self.reshaping.get(&class).into_iter().flatten() {
                let op = self.operations[*number];
                let Some([input, result]) = super::sides_of(op) else {
                    continue;
                };
                if let Some(axis) = combined_along(op).filter(|_| of_class(input)) {
                    found.extend(names.get(axis).copied().flatten());
                }
                for (one, other) in [(input, result), (result, input)] {
                    if of_class(one)
                        && let Some(class) = self.classes.class(other)
                        && let Some(names) = across(op, [one, other], &names)
                    {
                        open.push((class, names));
                    }
                }
            }
            named.insert(class, names);
        }
        for op in self.operations.iter().filter(|op| TileOp::Scan.is(**op)) {
            let names = self
                .classes
                .class(result_of(*op, 0))
                .and_then(|class| named.get(&class));
            if let (Some(names), Some(axis)) = (names, combined_along(*op)) {
                found.extend(names.get(axis).copied().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The axis along which an operation combines elements.
fn combined_along(op: IrOp) -> Option<usize> {
    let axis = match TileOp::of(op) {
        Some(TileOp::Reduce) => tile::Reduce::of(op)?.axis()?,
        Some(TileOp::Fold | TileOp::Scan) => tile::Combining::of(op)?.axis()?,
        _ => return None,
    };
    usize::try_from(integer_value(axis)?).ok()
}

/// The names of the axes of one side of an operation, of those that its other side has; `None` where they are others.
fn across<'c>(
    op: IrOp<'c>,
    [one, other]: [IrValue<'c>; 2],
    names: &[Option<usize>],
) -> Option<Vec<Option<usize>>> {
    let mut names = names.to_vec();
    match TileOp::of(op)? {
        TileOp::Transpose => names.reverse(),
        TileOp::Reshape => {
            let (from, to) = (tile_of(op, one).ok()?.shape, tile_of(op, other).ok()?.shape);
            if !differ_in_units(&from, &to) {
                return None;
            }
            // The axes longer than 1 keep their order.
            let mut long = std::iter::zip(from, names).filter(|(extent, _)| *extent > 1);
            let name = |extent: &i64| match extent {
                1 => None,
                _ => long.next().and_then(|(_, name)| name),
            };
            names = to.iter().map(name).collect();
        }
        _ => {}
    }
    Some(names)
}
