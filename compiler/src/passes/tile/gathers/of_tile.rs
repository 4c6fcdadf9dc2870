//! Gathers from a tile, which lies in shared memory: which elements are neighbours there, and along which axes threads go.
use super::Vectors;
use super::along::{Along, Neighbours};
use crate::passes::tile::types::{carried, tile_of};
use cutec_dialects::atoms::UniversalCopy;
use cutec_dialects::builder::IrOp;
use cutec_dialects::ops::tile;
use cutec_dialects::target::WIDEST_ACCESS;

impl Vectors {
    /// The widest that a `tile.gather` reads, where a thread has so many neighbours along an axis of the result, and they are some along an axis of the
    /// tile that it takes them from.
    pub fn of_tile(op: IrOp, neighbours: impl Fn(usize) -> i64) -> Option<Self> {
        let gather = tile::Gather::of(op)?;
        let from = tile_of(op, gather.input()).ok()?;
        let to = tile_of(op, gather.result()).ok()?;
        let elem = carried(to.elem);
        let widths = (1..=WIDEST_ACCESS.ilog2()).rev().map(|power| 1 << power);
        let counts = widths.map(|bytes: i64| 8 * bytes / elem.bits());
        counts.filter(|count| *count > 1).find_map(|count| {
            let atom = UniversalCopy::of_elements(elem, count);
            atom.verify().ok()?;
            let axes = (0..to.shape.len()).rev();
            let mut axes = axes.filter(|axis| neighbours(*axis) % count == 0);
            axes.find_map(|fast| {
                Some(Vectors {
                    atom,
                    fast,
                    divisors: beside_in_tile(&gather, &from.shape, fast, count).ok()?,
                })
            })
        })
    }

    /// Why elements along the last axis of a `tile.gather` are read one by one, as a clause; `None` where it has but a few, or their coordinates are no
    /// reason.
    pub(super) fn hindrance_of_tile(gather: &tile::Gather) -> Option<String> {
        let from = tile_of(gather.op(), gather.input()).ok()?;
        let to = tile_of(gather.op(), gather.result()).ok()?;
        let last = to.shape.len().checked_sub(1)?;
        let count = 8 * WIDEST_ACCESS / carried(to.elem).bits();
        let fits = to.shape[last] % count == 0;
        let found = beside_in_tile(gather, &from.shape, last, count);
        found.err().filter(|_| fits)
    }

    /// The axis of the tile that a `tile.gather` takes elements from along which they are neighbours.
    pub fn axis_within(&self) -> Option<usize> {
        self.divisors.iter().position(|divisor| *divisor > 1)
    }
}

/// What divides the coordinates of the first of so many elements along an axis of the result, if they are neighbours along one axis of the tile: its
/// number of elements along that one, which lie inside or outside together, and 1 along the others.
fn beside_in_tile(
    gather: &tile::Gather,
    shape: &[i64],
    fast: usize,
    count: i64,
) -> Result<Vec<i64>, String> {
    let mut known = Neighbours::along(count);
    let mut divisors = Vec::new();
    for (axis, (at, extent)) in gather.at().into_iter().zip(shape).enumerate() {
        divisors.push(match known.of_tile(at, fast) {
            Some(Along { steps: false, .. }) => 1,
            Some(Along { divisor, .. }) if divisor % count == 0 && extent % count == 0 => count,
            Some(Along { divisor, .. }) if divisor % count == 0 => {
                return Err(format!(
                    "{count} of them may lie inside of the tile in part, which has {extent} along axis {axis}"
                ));
            }
            Some(Along { .. }) | None => {
                return Err(format!(
                    "nothing says that their coordinates along axis {axis} of the tile follow each other from a multiple of {count} on, or are one"
                ));
            }
        });
    }
    match divisors.iter().filter(|divisor| **divisor > 1).count() {
        1 => Ok(divisors),
        _ => Err("they are no neighbours in the tile".into()),
    }
}

/// For each axis of the result of a `tile.gather` the axis of the tile along which its elements follow each other, if they do not stay where they are;
/// `None` where that is not known of one.
pub(in crate::passes::tile) fn axes_followed(op: IrOp) -> Option<Vec<Option<usize>>> {
    let gather = tile::Gather::of(op)?;
    let to = tile_of(op, gather.result()).ok()?;
    let along = |(axis, extent): (usize, &i64)| {
        let mut known = Neighbours::along(*extent);
        let mut stepping = None;
        for (within, at) in gather.at().into_iter().enumerate() {
            let moves = *extent > 1 && known.of_tile(at, axis)?.steps;
            if moves && stepping.replace(within).is_some() {
                return None;
            }
        }
        Some(stepping)
    };
    to.shape.iter().enumerate().map(along).collect()
}
