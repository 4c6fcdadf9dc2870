//! How a tile is spread of which no product and no other tile says it: along memory where it lies there, by whole rows where a loop reduces it.
use super::accesses::{Kind, Reach};
use super::{Assignment, parted_axis, sides_of};
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::{defining_op, is_inside, users};
use crate::passes::kernel_abi::blocks_of_tile;
use crate::passes::tile::gathers::Vectors;
use crate::passes::tile::shifts::Shift;
use crate::passes::tile::stage_operands::gathered_along;
use crate::passes::tile::types::{Failed, differ_in_units, mma_of, tile_of};
use crate::passes::user_error::user_error;
use crate::passes::warn;
use cutec_dialects::builder::{
    IrOp, IrValue, integer_value, operands_of, operation_key, result_of,
};
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::cost_model::{ReducedRow, threads_of_row};
use cutec_dialects::tile::{Narrower, SideBySide, TileLayout, TileType};
use cutec_frontend::diagnostics::codes;
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

impl<'c> Assignment<'c> {
    /// Spreads a tile as memory has it, and what follows from that, if nothing has said yet how it is spread.
    pub(super) fn spread_by_itself(
        &mut self,
        value: IrValue<'c>,
        tile: &TileType,
    ) -> Result<(), Failed<'c>> {
        if self.layout(value).is_some() {
            return Ok(());
        }
        let along = self.along(value, tile);
        let layout = match self.by_parts(value, tile, &along)? {
            Some(layout) => layout,
            None => self.of_all_threads(value, tile, &along)?,
        };
        self.warn_of_copies(value, tile, &layout);
        self.assign(value, layout);
        self.derive()
    }

    /// The layout in which all threads share a tile. Where several blocks do, and the threads of one are no power of two, each block has a part.
    fn of_all_threads(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        along: &SideBySide,
    ) -> Result<TileLayout, Failed<'c>> {
        let blocks = blocks_of_tile(self.function);
        let own = self.threads / blocks;
        if blocks == 1 || own.count_ones() == 1 {
            return Ok(TileLayout::of_threads(&tile.shape, along, self.threads));
        }
        let mut axes = std::iter::once(along.axis).chain(0..tile.shape.len());
        let axis = axes.find(|axis| tile.shape[*axis] % blocks == 0);
        let mut part = tile.shape.clone();
        if let Some(axis) = axis {
            part[axis] /= blocks;
        }
        let layout = TileLayout::of_threads(&part, along, own);
        let whole = layout.of_blocks(&part, axis, blocks);
        whole.map_err(|message| (defining_op(value).unwrap_or(self.function), message))
    }

    /// Along which axis threads stand side by side.
    pub(super) fn along(&self, value: IrValue<'c>, tile: &TileType) -> SideBySide {
        let last = tile.shape.len().saturating_sub(1);
        let all = SideBySide {
            combined: self.combined(value, tile),
            evenly: blocks_of_tile(self.function) > 1,
            ..SideBySide::along(last, 8 * WIDEST_ACCESS / tile.elem.bits(), self.threads)
        };
        let gathered = self.gathered(value);
        if gathered.is_none()
            && let Some(row) = self.reduced_in_a_loop(value, tile)
        {
            return SideBySide {
                combined: all.combined,
                evenly: all.evenly,
                ..row
            };
        }
        let gathered = gathered.map(|along| along.unwrap_or((last, 1)));
        let accessed = self.memory(value, tile).or(gathered);
        let (axis, mut vector) = accessed.unwrap_or((all.axis, all.vector));
        if self.is_updated_one_by_one(value) {
            vector = 1;
        }
        let scanned = self.scanned(value);
        if scanned == Some(axis) {
            // Lanes combine once what neighbours are of one, however memory is accessed.
            vector = vector.max(8 * WIDEST_ACCESS / tile.elem.bits());
        }
        let together = scanned.or_else(|| self.shifted(value, axis));
        SideBySide {
            axis,
            vector,
            threads: match scanned == Some(axis) {
                true => all.threads,
                false => self.sharing(tile, (axis, vector), &all.combined),
            },
            narrower: match accessed {
                Some(_) => Narrower::AtNoAccess,
                None => Narrower::Always,
            },
            together: together.filter(|together| *together != axis),
            ..all
        }
    }

    /// Whether each element of the class updates what lies at a place of its own. Neighbours often have places in one sector, and what a warp updates there it
    /// updates at once where they are of neighbouring threads ("Atomic updates").
    fn is_updated_one_by_one(&self, value: IrValue<'c>) -> bool {
        let class = self.classes.class(value);
        class.is_some_and(|class| self.updated.contains(&class))
    }

    /// How many threads stand along an axis of vectors, at most: along one that is combined as many as share a row of it, where others leave none without a row.
    fn sharing(&self, tile: &TileType, (axis, vector): (usize, i64), combined: &[usize]) -> i64 {
        let rows = tile.size() / tile.shape.get(axis).map_or(1, |extent| (*extent).max(1));
        let even = tile.size().count_ones() == 1 && self.threads.count_ones() == 1;
        match even && combined.contains(&axis) && blocks_of_tile(self.function) == 1 {
            true => threads_of_row(rows, tile.elem.bytes_of(vector), self.threads),
            false => self.threads,
        }
    }

    /// The axis along which tiles of a class are scanned: a thread combines what lies together by itself, and only the whole of it with others.
    fn scanned(&self, value: IrValue<'c>) -> Option<usize> {
        self.scanned.get(&self.classes.class(value)?).copied()
    }

    /// The axis along which the most tiles lie beside one that is loaded, but for the one that is fast: a thread loads neighbours along it once for all of them.
    pub(super) fn shifted(&self, value: IrValue<'c>, fast: usize) -> Option<usize> {
        let accesses = self.accesses.get(&self.classes.class(value)?)?;
        let group = accesses.iter().find_map(|op| Shift::of(*op))?.group;
        let shifts = self.shifts.get(&group)?;
        let rank = shifts.first()?.len();
        let places = |axis: &usize| {
            let along = shifts.iter().map(|offsets| offsets[*axis]);
            along.collect::<HashSet<_>>().len()
        };
        let axes = (0..rank).filter(|axis| *axis != fast && places(axis) > 1);
        axes.max_by_key(places)
    }

    /// The layout of a tile that is taken apart, or put together, such that each thread has the same of every part, be it with other axes of extent 1;
    /// `None` where parts are not alike, or have not something for each thread.
    fn by_parts(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        along: &SideBySide,
    ) -> Result<Option<TileLayout>, Failed<'c>> {
        let accessed = self.memory(value, tile).is_some();
        if let Some(layout) = self.by_own_parts(value, tile, along, accessed)? {
            return Ok(Some(layout));
        }
        let class = self.classes.class(value);
        let reshaping = class.and_then(|class| self.reshaping.get(&class));
        for number in reshaping.into_iter().flatten() {
            let op = self.operations[*number];
            let Some(sides) = sides_of(op).filter(|_| TileOp::Reshape.is(op)) else {
                continue;
            };
            let is_open = |side: &IrValue<'c>| {
                self.classes.class(*side) != class && self.layout(*side).is_none()
            };
            let Some(other) = sides.into_iter().find(is_open) else {
                continue;
            };
            let other_tile = tile_of(op, other)?;
            let Some(along) = in_other_units(along, &tile.shape, &other_tile.shape) else {
                continue;
            };
            let layout = self.by_own_parts(other, &other_tile, &along, accessed)?;
            let layout = layout.map(|layout| layout.reshaped(&other_tile.shape, &tile.shape));
            if let Some(layout) = layout.transpose().map_err(|message| (op, message))? {
                return Ok(layout);
            }
        }
        Ok(None)
    }

    /// The same of what is itself taken apart or put together; `accessed` says whether memory has it, perhaps with other axes of extent 1.
    fn by_own_parts(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        along: &SideBySide,
        accessed: bool,
    ) -> Result<Option<TileLayout>, Failed<'c>> {
        let class = self.classes.class(value);
        let reshaping = class.and_then(|class| self.reshaping.get(&class));
        let mut parts = Vec::new();
        for number in reshaping.into_iter().flatten() {
            let op = self.operations[*number];
            let slice = tile::Slice::of(op).map(|slice| (slice.input(), slice.result()));
            let join = || Some((result_of(op, 0), *tile::Join::of(op)?.parts().first()?));
            let Some((_, part)) = slice
                .or_else(join)
                .filter(|(whole, _)| self.classes.class(*whole) == class)
            else {
                continue;
            };
            parts.push(tile_of(op, part)?.shape);
        }
        parts.dedup();
        let [part] = &parts[..] else {
            return Ok(None);
        };
        let size: i64 = part.iter().product();
        let Some(axis) = parted_axis(&tile.shape, part) else {
            return Ok(None);
        };
        // Blocks of a cluster that are no power of two of threads have parts of their own.
        let blocks = blocks_of_tile(self.function);
        let has_all = blocks == 1 || (self.threads / blocks).count_ones() == 1;
        if !has_all || size < self.threads || tile.shape[axis] % part[axis] != 0 {
            return Ok(None);
        }
        let along = SideBySide {
            threads: self.threads,
            together: None,
            ..along.clone()
        };
        let count = tile.shape[axis] / part[axis];
        let layout = (!accessed).then(|| self.of_halves(value, tile, (part, axis), &along));
        let layout = layout.flatten();
        let layout = layout.unwrap_or_else(|| TileLayout::of_threads(part, &along, self.threads));
        let whole = layout.joined(part, axis, count);
        let op = defining_op(value).unwrap_or(self.function);
        whole.map(Some).map_err(|message| (op, message))
    }

    /// The layout of a part along an axis of which each thread has both halves of what steps further on take apart, where no lanes that combine it say
    /// how it is spread.
    fn of_halves(
        &self,
        value: IrValue<'c>,
        tile: &TileType,
        (part, axis): (&[i64], usize),
        along: &SideBySide,
    ) -> Option<TileLayout> {
        if !along.combined.is_empty() || blocks_of_tile(self.function) > 1 {
            return None;
        }
        // Places in a part lack the bits that tell parts apart.
        let of_axis = part[axis..].iter().product::<i64>().ilog2();
        let count = (tile.shape[axis] / part[axis]).ilog2();
        let of_part = |bit: u32| match bit < of_axis {
            true => Some(bit),
            false => bit.checked_sub(count).filter(|bit| *bit >= of_axis),
        };
        let halves = self.taken_apart(value, tile).into_iter();
        let halves: Vec<u32> = halves.filter_map(of_part).collect();
        if halves.is_empty() {
            return None;
        }
        TileLayout::of_halves(part, (along.axis, along.vector), self.threads, &halves)
    }

    /// Warns where threads hold the same, though each could have a part of its own.
    fn warn_of_copies(&self, value: IrValue<'c>, tile: &TileType, layout: &TileLayout) {
        let size = tile.size();
        let holders = self.threads * layout.values() / size.max(1);
        let parts = size * tile.elem.bytes() / WIDEST_ACCESS;
        if holders <= 1 || parts < self.threads {
            return;
        }
        let op = defining_op(value).unwrap_or(self.function);
        let shape: Vec<String> = tile.shape.iter().map(i64::to_string).collect();
        let message = format!(
            "{holders} of {} threads hold each element of this tile of {}, which does the same work as often",
            self.threads,
            shape.join(" × ")
        );
        let help = "give it extents that are powers of two, so that threads share them; what of a tile lies outside of the tensor costs neither loads nor stores";
        warn(op.location(), user_error(codes::SLOW, message, help));
    }

    /// The axis of a class that is fast in memory, where what is loaded decides before what is stored, and
    /// the elements along it of the narrowest access; of updates one by one it does not ask.
    pub(super) fn memory(&self, value: IrValue<'c>, tile: &TileType) -> Option<(usize, i64)> {
        let of_class = self.accesses.get(&self.classes.class(value)?)?.iter();
        let accesses = of_class.filter_map(|op| Reach::of(*op, tile, &self.target));
        let mut accesses: Vec<Reach> = accesses.collect();
        accesses.sort_by_key(|reach| reach.kind);
        let (first, fast) = accesses.first().map(|reach| (reach.kind, reach.axis))?;
        let along = accesses.iter().filter(|reach| {
            let one_by_one = reach.kind == Kind::Atomic && reach.vector == 1;
            reach.axis == fast && (!one_by_one || first == Kind::Atomic)
        });
        let vector = along.map(|reach| reach.vector).min();
        Some((fast, vector.unwrap_or(1)))
    }

    /// How a tile is spread that a loop reduces, and that it neither loads nor stores as it is.
    fn reduced_in_a_loop(&self, value: IrValue<'c>, tile: &TileType) -> Option<SideBySide> {
        let class = self.classes.class(value)?;
        self.reshaping.get(&class)?.iter().find_map(|number| {
            let op = self.operations[*number];
            let reduce = tile::Reduce::of(op)?;
            let around = loops_around(op).next()?;
            let mut accesses = self.accesses.get(&class).into_iter().flatten();
            let accessed = accesses.any(|access| loops_around(*access).any(|of| of == around));
            if self.classes.class(reduce.input()) != Some(class) || accessed {
                return None;
            }
            let axis = reduce.axis().and_then(integer_value)? as usize;
            let row = ReducedRow {
                extent: tile.shape.get(axis).copied()?,
                rows: tile.size() / tile.shape.get(axis)?,
                elem: tile.elem,
                loaded: self.has_rows_loaded(class, axis, around),
            };
            // What memory has on the way is spread as it lies there, but for rows that a thread has as a whole.
            if !row.is_short() && self.memory(value, tile).is_some() {
                return None;
            }
            let (vector, threads) = row.spread(self.threads)?;
            Some(SideBySide::along(axis, vector, threads))
        })
    }

    /// Whether a loop loads tiles that are repeated to a class, as long along an axis as it is.
    fn has_rows_loaded(&self, class: usize, axis: usize, of: IrOp<'c>) -> bool {
        let mut reshaping = self.reshaping.get(&class).into_iter().flatten();
        reshaping.any(|number| {
            let op = self.operations[*number];
            let broadcast = tile::Reshaping::of(op).filter(|_| TileOp::Broadcast.is(op));
            broadcast.is_some_and(|broadcast| {
                let input = tile_of(op, broadcast.input());
                self.classes.class(broadcast.result()) == Some(class)
                    && input.is_ok_and(|input| input.shape[axis] > 1)
                    && is_loaded_in(broadcast.input(), of)
            })
        })
    }

    /// Whether maps of the class go to memory, and along which axis how many elements are copied at once where they are
    /// gathered for products. Others are gathered one by one: neighbours in memory are of neighbouring threads.
    fn gathered(&self, value: IrValue<'c>) -> Option<Option<(usize, i64)>> {
        let maps = self.classes.class(value);
        let maps = maps.and_then(|class| self.gathering.get(&class));
        let maps = maps.into_iter().flatten();
        let mut found: Vec<Option<(usize, i64)>> =
            maps.map(|map| self.copied_at_once(*map)).collect();
        found.dedup();
        match found[..] {
            [] => None,
            [along] => Some(along),
            _ => Some(None),
        }
    }

    /// Along which axis how many elements of a map are copied at once: for the product that alone takes it, or into registers.
    fn copied_at_once(&self, map: IrOp<'c>) -> Option<(usize, i64)> {
        let tile = tile_of(map, result_of(map, 0)).ok()?;
        let of_product = |dot: tile::Dot<'c>| {
            let factors = dot.factors();
            let index = factors
                .iter()
                .position(|factor| *factor == result_of(map, 0))?;
            let axes = gathered_along(&*mma_of(dot.op()).ok()?, index, tile.elem);
            Vectors::of(map, axes, self.function)
        };
        let vectors = match users(result_of(map, 0))[..] {
            [user] if TileOp::Dot.is(user) => of_product(tile::Dot::of(user)?),
            _ => Vectors::in_registers(map, |axis| tile.shape[axis]),
        };
        let vectors = vectors?;
        Some((vectors.fast, vectors.atom.src_values()))
    }
}

/// How threads stand side by side in a tile of another shape, which differs in axes of extent 1 alone; `None` where it does not.
fn in_other_units(along: &SideBySide, shape: &[i64], other: &[i64]) -> Option<SideBySide> {
    let long = |shape: &[i64]| -> Vec<usize> {
        (0..shape.len()).filter(|axis| shape[*axis] != 1).collect()
    };
    let (from, to) = (long(shape), long(other));
    let renamed = |axis: usize| {
        let number = from.iter().position(|long| *long == axis)?;
        to.get(number).copied()
    };
    let combined = along.combined.iter().filter_map(|axis| renamed(*axis));
    differ_in_units(shape, other).then_some(())?;
    Some(SideBySide {
        axis: renamed(along.axis)?,
        together: along.together.and_then(renamed),
        combined: combined.collect(),
        ..along.clone()
    })
}

/// Whether a tile is computed of what a loop loads in each round.
fn is_loaded_in<'c>(value: IrValue<'c>, of: IrOp<'c>) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        let Some(op) = defining_op(value).filter(|_| is_inside(value, of)) else {
            continue;
        };
        match TileOp::of(op) {
            Some(TileOp::Load) => return true,
            Some(TileOp::Map | TileOp::Reshape | TileOp::Transpose | TileOp::Broadcast)
                if seen.insert(operation_key(op)) =>
            {
                open.extend(operands_of(op));
            }
            _ => {}
        }
    }
    false
}
