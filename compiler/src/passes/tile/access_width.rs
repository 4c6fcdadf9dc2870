//! How many elements of a tile lie side by side in memory, aligned, so that one access takes them.
use super::coordinate::Coordinate;
use super::shifts::Shift;
use super::types::{fast_axis, is_by_map_alone, view_of};
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::tile;
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_dialects::tile::TileType;

/// Bytes that the memory reads, writes and updates at once (`docs/performance.md`, "Atomic updates").
pub(super) const SECTOR: i64 = 32;

/// The axis that is fast in the memory which a load or a store accesses, and how many elements along it one
/// access takes: 16 bytes, or fewer where rows of the view or of the tile, or the offset at which the tile lies,
/// are no multiples of that, or not known to be.
pub(super) fn vector_along(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    along(access, tile, Known::All)
}

/// The same where the end of the view may part a vector, of which elements are accessed one by one then (`partition/tail.rs`).
pub(super) fn vector_with_tail(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    along(access, tile, Known::AllButExtent)
}

/// The same where all is promised of the tensor that promises can say (`promises.rs`): what is left is where in it the tile begins, and modes of
/// extent 1, of whose strides there are none.
pub(super) fn vector_if_promised(access: IrOp, tile: &TileType) -> Option<(usize, i64)> {
    along(access, tile, Known::Place)
}

/// What counts of what is known of the tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    All,
    /// Not how long its rows are.
    AllButExtent,
    /// Only where in it the tile begins.
    Place,
}

fn along(access: IrOp, tile: &TileType, known: Known) -> Option<(usize, i64)> {
    let view = tile::Access::of(access)?.view;
    if is_by_map_alone(access) {
        return None;
    }
    let at = Coordinate::of(access).ok()?;
    let (axis, elem) = fast_axis(view)?;
    let view = view_of(view)?;
    let layout = view.layout.inner();
    let strides = (0..layout.rank()).filter(|other| *other != axis);
    let strides = strides.filter_map(|other| {
        let mode = layout.mode(other)?;
        let counts = known != Known::Place || mode.size().is(1);
        counts.then_some(mode.stride().leaves().first()?.div())
    });
    let extent = layout.mode(axis).map_or(1, |mode| mode.size().div());
    let extent = (known == Known::All).then_some(extent);
    let elements = view.alignment() / elem.bytes();
    let elements = (known != Known::Place).then_some(elements);
    let all = strides.chain(extent).chain(elements).chain([
        tile.shape[axis],
        WIDEST_ACCESS / elem.bytes(),
        // What lies beside an aligned tile is taken from what a thread loads of that.
        Shift::of(access).map_or_else(|| at.divisor(axis), |shift| shift.divisors[axis]),
    ]);
    let bits = all.map(i64::trailing_zeros).min().unwrap_or(0);
    Some((axis, 1 << bits.min(WIDEST_ACCESS.ilog2())))
}

/// Bytes that neighbouring threads write side by side at once, each as many neighbours along an axis as it has, and at most so many.
///
/// # Errors
/// Where the tile's layout goes beyond its shape.
pub(super) fn bytes_side_by_side(tile: &TileType, axis: usize, most: i64) -> Result<i64, String> {
    let Some(layout) = &tile.layout else {
        return Ok(0);
    };
    let vector = layout.neighbours(&tile.shape, axis)?.min(most);
    Ok(layout.side_by_side(&tile.shape, axis, vector)? * tile.elem.bytes())
}
