//! How wide threads access memory for their tiles, and what would make it wider.
use super::Assignment;
use crate::passes::control_flow::loops_around;
use crate::passes::remark;
use crate::passes::tile::coordinate::Coordinate;
use crate::passes::tile::promises::for_vectors;
use crate::passes::tile::types::{
    Failed, fast_axis, mma_of, present, reads_shared_memory, tile_of, view_of,
};
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::tile;
use cutec_dialects::tile::cost_model::TileAccess;
use cutec_dialects::tile::{TileLayout, TileType, WINDOWS};
use melior::ir::operation::OperationLike;

/// Bytes that a thread accesses at once where it can.
pub(super) const VECTOR_BYTES: i64 = 16;
/// Bytes of stores that are worth spreading a tile anew, so that they become wider.
const NARROW_BYTES: i64 = 4;

/// Bytes of shared memory that a tile may take to be spread anew for that: two blocks fit where results lie across.
const EXCHANGED_BYTES: i64 = 64 << 10;

/// What is done to memory, in the order in which it decides how a tile is spread. An atomic update is of one
/// element, however many a thread has beside one another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Load,
    Store,
    Atomic,
}

impl Access {
    pub(super) fn of(store: IrOp) -> Access {
        match tile::Store::of(store).and_then(tile::Store::atomic) {
            Some(_) => Access::Atomic,
            None => Access::Store,
        }
    }
}

impl<'c> Assignment<'c> {
    /// How a tile is to be spread for its store, where threads have too few neighbours as it is; for atomic
    /// updates, where not each has one and the next thread the next.
    pub(super) fn wider(&self, store: IrOp<'c>) -> Result<Option<TileLayout>, Failed<'c>> {
        let value = present(store, tile::Store::of(store))?.value();
        let tile = tile_of(store, value)?;
        let (Some(layout), Some((axis, vector))) = (&tile.layout, vector_along(store, &tile))
        else {
            return Ok(None);
        };
        if Access::of(store) == Access::Atomic {
            let side_by_side = TileLayout::blocked(&tile.shape, axis, 1, self.threads);
            return Ok((side_by_side != *layout).then_some(side_by_side));
        }
        let wider = TileLayout::blocked(&tile.shape, axis, vector, self.threads);
        let width = |layout: &TileLayout| {
            let width = layout.neighbours(&tile.shape, axis);
            width.map_err(|message| (store, message))
        };
        let (width, possible) = (width(layout)?, width(&wider)?);
        let bytes = tile.elem.bytes();
        // Beside stages that are under way it takes the place of another one.
        let by_warpgroups = |op: &IrOp<'c>| mma_of(*op).is_ok_and(|mma| reads_shared_memory(&mma));
        let room =
            tile.size() * bytes < EXCHANGED_BYTES || !self.operations.iter().any(by_warpgroups);
        // In each round of a loop, few are stored sooner than all threads have exchanged them.
        let many = layout.values() * bytes >= VECTOR_BYTES || loops_around(store).next().is_none();
        let narrow = width * bytes <= NARROW_BYTES && width < possible.min(vector) && room && many;
        // Neighbours that a thread has to store one by one lie apart from those of the next thread: each store
        // would write a part of many sectors.
        let scattered = vector * bytes <= NARROW_BYTES
            && width * bytes >= VECTOR_BYTES
            && tile.size() * bytes <= EXCHANGED_BYTES;
        Ok((narrow || scattered).then_some(wider))
    }

    /// Says of an access that is narrow what of its tensor would have to be promised.
    pub(super) fn say_what_would_help(&self, access: IrOp<'c>) {
        let Some(of) = tile::Access::of(access) else {
            return;
        };
        let Ok(tile) = tile_of(access, of.tile) else {
            return;
        };
        let widest = VECTOR_BYTES / tile.elem.bytes();
        let narrow = vector_along(access, &tile).filter(|(axis, vector)| {
            *vector < widest
                && tile.shape[*axis] % widest == 0
                && Access::of(access) != Access::Atomic
        });
        if let Some((_, vector)) = narrow
            && let Some(promise) = for_vectors(of.view, self.function)
        {
            let message = format!(
                "{} bytes are accessed at once where {VECTOR_BYTES} could be; promise `where {promise}`",
                vector * tile.elem.bytes()
            );
            remark(access.location(), message);
        }
    }
}

/// The axis that is fast in the memory which a load or a store accesses, and how many elements along it one
/// access takes: 16 bytes, or fewer where rows of the view or of the tile, or the offset at which the tile lies,
/// are no multiples of that, or not known to be.
pub(super) fn vector_along(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    let view = tile::Access::of(access)?.view;
    // What a tensor map brings.
    if access.attribute(WINDOWS).is_ok() {
        return None;
    }
    let at = Coordinate::of(access).ok()?;
    let (axis, elem) = fast_axis(view)?;
    let view = view_of(view)?;
    let layout = view.layout.inner();
    let strides = (0..layout.rank()).filter(|other| *other != axis);
    let strides =
        strides.filter_map(|other| Some(layout.mode(other)?.stride().leaves().first()?.div()));
    let extent = layout.mode(axis).map_or(1, |mode| mode.size().div());
    let elements = view.alignment() / elem.bytes();
    let all = strides.chain([
        extent,
        tile.shape[axis],
        VECTOR_BYTES / elem.bytes(),
        elements,
        at.divisor(axis),
    ]);
    let bits = all.map(i64::trailing_zeros).min().unwrap_or(0);
    Some((axis, 1 << bits.min(VECTOR_BYTES.ilog2())))
}

/// How loads and stores access the tiles of a size.
pub(super) fn accesses_of(operations: &[IrOp], size: i64) -> Vec<TileAccess> {
    let access = |op: &IrOp| {
        let held = tile::Access::of(*op)?.tile;
        let tile = tile_of(*op, held).ok().filter(|tile| tile.size() == size)?;
        let (_, vector) = vector_along(*op, &tile)?;
        let vector = match Access::of(*op) {
            Access::Atomic => 1,
            Access::Load | Access::Store => vector,
        };
        let elem = tile.elem.bytes();
        Some(TileAccess { elem, vector })
    };
    operations.iter().filter_map(access).collect()
}
