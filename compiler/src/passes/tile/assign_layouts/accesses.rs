//! How wide threads access memory for their tiles, and what would make it wider.
use super::Assignment;
use crate::passes::control_flow::loops_around;
use crate::passes::ir_utils::users;
use crate::passes::kernel_abi::blocks_of_tile;
use crate::passes::remark;
use crate::passes::tile::access_width::{
    SECTOR, bytes_side_by_side, vector_along, vector_if_promised, vector_with_tail,
};
use crate::passes::tile::gathers::Vectors;
use crate::passes::tile::partition::is_within_warps;
use crate::passes::tile::promises::for_vectors;
use crate::passes::tile::shifts::Shift;
use crate::passes::tile::types::{
    Failed, mma_of, present, reads_shared_memory, tile_of, update_of,
};
use cutec_abi::counted;
use cutec_dialects::atoms::Red;
use cutec_dialects::builder::{IrOp, IrValue, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{TileOp, tile};
use cutec_dialects::semantics::AtomicKind;
use cutec_dialects::target::{Target, WIDEST_ACCESS};
use cutec_dialects::tile::cost_model::TileAccess;
use cutec_dialects::tile::{TileLayout, TileType};
use melior::ir::operation::OperationLike;
use std::collections::HashSet;

/// Bytes of stores that are worth spreading a tile anew, so that they become wider.
const NARROW_BYTES: i64 = 4;

/// Bytes of shared memory that a tile may take to be spread anew for that: two blocks fit where results lie across.
pub(super) const EXCHANGED_BYTES: i64 = 64 << 10;

/// What is done to memory, in the order in which it decides how a tile is spread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Load,
    Store,
    Atomic,
}

/// How an operation accesses the memory of a tile.
pub(super) struct Reach {
    pub kind: Kind,
    /// The axis along which neighbours lie side by side.
    pub axis: usize,
    /// How many of them one access takes.
    pub vector: i64,
}

impl Reach {
    /// That of a load or a store, or of a scatter whose elements are neighbours in memory; an atomic update takes as many as the target updates at once.
    pub(super) fn of(op: IrOp, tile: &TileType, target: &Target) -> Option<Reach> {
        let update = update_of(op);
        let kind = match update {
            None if TileOp::Load.is(op) => Kind::Load,
            None => Kind::Store,
            Some(_) => Kind::Atomic,
        };
        let (axis, vector) = match TileOp::Scatter.is(op) {
            true => {
                let vectors = Vectors::scattered(op, target, |axis| tile.shape[axis])?;
                (vectors.fast, vectors.atom.src_values())
            }
            false => {
                let (axis, vector) = of_access(op, tile)?;
                (axis, at_once(update, tile.elem, vector, target))
            }
        };
        Some(Reach { kind, axis, vector })
    }
}

impl<'c> Assignment<'c> {
    /// How a tile is to be spread for its store, where threads have too few neighbours as it is; for atomic
    /// updates, where not each has one and the next thread the next. What blocks of a cluster share stays within their warps: it goes through the
    /// memory of one block.
    pub(super) fn wider(&self, store: IrOp<'c>) -> Result<Option<TileLayout>, Failed<'c>> {
        let value = present(store, tile::Store::of(store))?.value();
        let tile = tile_of(store, value)?;
        let of_a_block = blocks_of_tile(self.function) == 1;
        let wider = self.wider_in_a_block(store, &tile)?;
        Ok(wider
            .filter(|wider| of_a_block || is_within_warps(&tile, &tile.with_layout(wider.clone()))))
    }

    fn wider_in_a_block(
        &self,
        store: IrOp<'c>,
        tile: &TileType,
    ) -> Result<Option<TileLayout>, Failed<'c>> {
        let (Some(layout), Some(reach)) = (&tile.layout, Reach::of(store, tile, &self.target))
        else {
            return Ok(None);
        };
        let Reach { kind, axis, vector } = reach;
        let width = |layout: &TileLayout| {
            let width = layout.neighbours(&tile.shape, axis);
            width.map_err(|message| (store, message))
        };
        if kind == Kind::Atomic {
            let side_by_side = TileLayout::blocked(&tile.shape, axis, vector, self.threads);
            // Where each of a few has neighbours, together they update whole sectors at once.
            let few = width(layout)?.min(vector);
            let run = bytes_side_by_side(tile, axis, vector);
            let run = run.map_err(|message| (store, message))?;
            let whole = few > 1 && run >= SECTOR;
            return Ok((!whole && side_by_side != *layout).then_some(side_by_side));
        }
        let wider = TileLayout::blocked(&tile.shape, axis, vector, self.threads);
        let (width, possible) = (width(layout)?, width(&wider)?);
        let bytes = tile.elem.bytes();
        // Beside stages that are under way it takes the place of another one.
        let room =
            tile.size() * bytes < EXCHANGED_BYTES || !self.operations.iter().any(is_by_warpgroups);
        // In each round of a loop, few are stored sooner than all threads have exchanged them.
        let many = layout.values() * bytes >= WIDEST_ACCESS || loops_around(store).next().is_none();
        let is_narrow = is_narrow(tile, &reach).map_err(|message| (store, message))?;
        let narrow = is_narrow && width < possible && room && many;
        // Neighbours that a thread has to store one by one lie apart from those of the next thread: each store
        // would write a part of many sectors.
        let scattered = vector * bytes <= NARROW_BYTES
            && width * bytes >= WIDEST_ACCESS
            && tile.size() * bytes <= EXCHANGED_BYTES;
        Ok((narrow || scattered).then_some(wider))
    }

    /// Whether threads would access more neighbours at once, were so many at once possible, not so few: they have these as the tile is spread, or would,
    /// were it spread for the access.
    fn would_be_wider(
        &self,
        access: IrOp<'c>,
        tile: &TileType,
        axis: usize,
        [vector, widest]: [i64; 2],
    ) -> bool {
        // Factors are copied to shared memory however threads multiply them, and what is spread as sums of warpgroups are leaves by a tensor map.
        let by_copies = match TileOp::Load.is(access) {
            true => users(result_of(access, 0)).iter().any(is_multiplied),
            false => self.operations.iter().any(is_by_warpgroups),
        };
        if by_copies {
            return true;
        }
        let Some(layout) = &tile.layout else {
            return false;
        };
        let wide = TileLayout::blocked(&tile.shape, axis, widest, self.threads);
        [layout, &wide].into_iter().any(|layout| {
            let width = layout.neighbours(&tile.shape, axis);
            width.is_ok_and(|width| width > vector)
        })
    }

    /// Says of an access that is narrow what of its tensor would have to be promised.
    pub(super) fn say_what_would_help(&self, access: IrOp<'c>) {
        let Some(of) = tile::Access::of(access) else {
            return;
        };
        let users = match TileOp::Load.is(access) {
            true => users(of.tile),
            false => Vec::new(),
        };
        // What only such products take comes by a tensor map, or it is said why not.
        if !users.is_empty() && users.iter().all(is_by_warpgroups) {
            return;
        }
        let Ok(tile) = tile_of(access, of.tile) else {
            return;
        };
        let Some(((axis, vector), (_, widest))) =
            of_access(access, &tile).zip(vector_if_promised(access, &tile))
        else {
            return;
        };
        // As many as are accessed at once if everything is promised.
        let widest = at_once(update_of(access), tile.elem, widest, &self.target);
        if vector < widest
            && self.would_be_wider(access, &tile, axis, [vector, widest])
            && let Some(promise) = for_vectors(of.view, widest * tile.elem.bytes())
        {
            let bytes = tile.elem.bytes();
            let are = if vector * bytes == 1 { "is" } else { "are" };
            let message = format!(
                "{} {are} accessed at once where {} could be; promise `where {promise}`",
                counted(vector * bytes, "byte"),
                widest * bytes
            );
            remark(access.location(), message);
        }
    }
}

/// Whether threads have few neighbours of a tile with a layout, fewer than one access takes, and those of several do not make whole sectors.
pub(super) fn is_narrow(tile: &TileType, reach: &Reach) -> Result<bool, String> {
    let Reach { axis, vector, .. } = *reach;
    let width = match &tile.layout {
        Some(layout) => layout.neighbours(&tile.shape, axis)?,
        None => return Ok(false),
    };
    let few = width * tile.elem.bytes() <= NARROW_BYTES && width < vector;
    Ok(few && bytes_side_by_side(tile, axis, vector)? < SECTOR)
}

/// Whether an operation multiplies a tile, or spreads it anew to be multiplied.
fn is_multiplied(op: &IrOp) -> bool {
    match TileOp::of(*op) {
        Some(TileOp::ConvertLayout) => {
            let users = users(result_of(*op, 0));
            users.into_iter().any(|user| TileOp::Dot.is(user))
        }
        kind => kind == Some(TileOp::Dot),
    }
}

/// Whether an operation is a product of operands that warpgroups read from shared memory.
pub(super) fn is_by_warpgroups(op: &IrOp) -> bool {
    mma_of(*op).is_ok_and(|mma| reads_shared_memory(&mma))
}

/// The axis that is fast in memory, and how many elements along it an access takes: where it updates what is there, no vector may be parted.
fn of_access(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    match update_of(access) {
        None => vector_with_tail(access, tile),
        Some(_) => vector_along(access, tile),
    }
}

/// The tile of which an operation updates what lies at the place of each element, one by one.
pub(super) fn updated_one_by_one<'c>(op: IrOp<'c>, target: &Target) -> Option<IrValue<'c>> {
    let fetched = tile::Atomic::of(op).map(tile::Atomic::result);
    fetched.or_else(|| {
        let scatter = tile::Scatter::of(op).filter(|_| update_of(op).is_some())?;
        let tile = tile_of(op, scatter.value()).ok()?;
        let by_vectors = Vectors::scattered(op, target, |axis| tile.shape[axis]).is_some();
        (!by_vectors).then(|| scatter.value())
    })
}

/// How many of so many neighbours an instruction accesses, or updates.
fn at_once(update: Option<AtomicKind>, elem: Elem, most: i64, target: &Target) -> i64 {
    update.map_or(most, |kind| {
        let how = kind.reduction();
        let atom = how.and_then(|how| Red::widest(how, elem, most, target));
        atom.map_or(1, |atom| atom.src_values())
    })
}

/// How operations access the tiles of a size.
pub(super) fn accesses_of(operations: &[IrOp], size: i64, target: &Target) -> Vec<TileAccess> {
    let mut groups = HashSet::new();
    let access = |op: &IrOp| {
        let scatter = || tile::Scatter::of(*op).map(tile::Scatter::value);
        let of_size = |value| {
            let tile = tile_of(*op, value).ok();
            tile.filter(|tile| tile.size() == size)
        };
        if let Some(updated) = updated_one_by_one(*op, target) {
            return Some(TileAccess {
                elem: of_size(updated)?.elem.bytes(),
                vector: 1,
                brings: false,
            });
        }
        let access = tile::Access::of(*op).map(|access| access.tile);
        let tile = of_size(access.or_else(scatter)?)?;
        let Reach { kind, vector, .. } = Reach::of(*op, &tile, target)?;
        let first = Shift::of(*op).is_none_or(|shift| groups.insert(shift.group));
        Some(TileAccess {
            elem: tile.elem.bytes(),
            vector,
            brings: kind == Kind::Load && first,
        })
    };
    operations.iter().filter_map(access).collect()
}
