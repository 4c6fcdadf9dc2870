//! The layouts that are tried, in order.

use super::access::Plan;
use super::{Axis, BANK_ROW_BITS, Tile};
use crate::{Layout, Swizzle};

/// Bytes of the pieces into which the fast axis is cut.
const PIECES: [i64; 3] = [128, 64, 32];
/// How far beyond the bits of a bank row a swizzle looks.
const SHIFTS: i64 = 2;
/// Of a row at most such a part, one divided by it, is added to it before swizzles are tried.
const MOST_PADDING: i64 = 4;
/// Bits of the largest buffer to whose rows more is added: of larger ones less fit beside each other, which costs more than conflicts.
const MOST_LONG: i64 = 8 << 14;
/// Bits of a word of a bank.
const WORD_BITS: i64 = 8 * crate::banks::BANK_BYTES;

/// A layout and what is tried in front of it.
pub(super) struct Base {
    pub(super) inner: Layout,
    pub(super) swizzles: Vec<Swizzle>,
}

/// All candidates.
pub(super) fn bases(tile: Tile, plans: &[Plan]) -> Vec<Base> {
    let other = match tile.fast {
        Axis::Rows => Axis::Columns,
        Axis::Columns => Axis::Rows,
    };
    let axes = [tile.fast, other];
    let along = axes.map(|fast| along(Tile { fast, ..tile }, plans));
    along.into_iter().flatten().collect()
}

/// The layouts behind a pinned swizzle.
pub(super) fn pinned(tile: Tile, swizzle: Swizzle, plans: &[Plan]) -> Vec<Base> {
    let (fast, _) = extents(tile);
    let mut pieces = PIECES.iter().map(|bytes| bytes * 8 / elem_bits(tile));
    let width = pieces.find(|width| *width > 1 && fast % width == 0);
    let base = |order: &u64| Base {
        inner: pieces_of(tile, width.unwrap_or(fast), *order),
        swizzles: vec![swizzle],
    };
    orders(tile, plans).iter().map(base).collect()
}

/// The candidates with the fast axis of `tile`.
fn along(tile: Tile, plans: &[Plan]) -> Vec<Base> {
    let (fast, slow_extent) = extents(tile);
    let none = || Swizzle::new(0, 0, 0).into_iter().collect();
    let orders = orders(tile, plans);
    let bases = vec![Base {
        inner: pieces_of(tile, fast, 0),
        swizzles: none(),
    }];
    let vector = vector(tile, plans);
    let mut swizzled = Vec::new();
    for bytes in PIECES {
        let width = bytes * 8 / elem_bits(tile);
        if width <= vector || fast % width != 0 {
            continue;
        }
        swizzled.extend(orders.iter().map(|order| Base {
            inner: pieces_of(tile, width, *order),
            swizzles: swizzles(tile, vector, width),
        }));
    }
    let row = BANK_ROW_BITS / elem_bits(tile);
    // Of rows that are shorter than a piece several lie in a row of all banks.
    if fast * elem_bits(tile) < 8 * PIECES[PIECES.len() - 1] && row % fast == 0 {
        swizzled.extend(orders.iter().map(|order| Base {
            inner: pieces_of(tile, fast, *order),
            swizzles: swizzles(tile, vector, row),
        }));
    }
    let rounded = (fast + vector - 1) / vector * vector;
    let strides = (0..=row / vector).map(|pad| rounded + pad * vector);
    let (mut padded, mut long) = (Vec::new(), Vec::new());
    for stride in strides.filter(|stride| *stride != fast) {
        let rows = match (stride - fast) * MOST_PADDING <= fast {
            true => &mut padded,
            false if stride * slow_extent * elem_bits(tile) <= MOST_LONG => &mut long,
            false => continue,
        };
        rows.extend(orders.iter().map(|order| Base {
            inner: join(tile, Layout::scalar(fast, 1), slow(tile, stride, *order)),
            swizzles: none(),
        }));
    }
    // Places behind a swizzle are computed, those in rows of any length are at fixed distances, which
    // instructions of vectors have room for.
    let [first, second] = match plans.iter().any(|plan| plan.matrices) {
        true => [swizzled, padded],
        false => [padded, swizzled],
    };
    let all = [bases, first, second, long];
    all.into_iter().flatten().collect()
}

/// Swizzles of pieces of `width` elements that leave `vector` of them together: the one that mixes
/// as many bits as there are, from the first bits above a row of all banks, then others.
fn swizzles(tile: Tile, vector: i64, width: i64) -> Vec<Swizzle> {
    let log2 = |n: i64| i64::from(n.trailing_zeros());
    let row = log2(BANK_ROW_BITS / elem_bits(tile));
    let mut found = Vec::new();
    for base in log2(vector)..log2(width) {
        let (room, full) = (log2(width) - base, row - base);
        let beyond = full..=full + SHIFTS;
        let below = (room..full).rev();
        let shifts: Vec<i64> = beyond.chain(below).collect();
        for bits in (1..=room).rev() {
            let shifts = shifts.iter().filter(|shift| **shift >= bits);
            found.extend(shifts.flat_map(|shift| Swizzle::new(bits, base, *shift)));
        }
    }
    found
}

/// Elements of the widest vector; at least a word.
fn vector(tile: Tile, plans: &[Plan]) -> i64 {
    let widest = plans.iter().map(|plan| plan.width as i64).max();
    widest.unwrap_or(1).max(WORD_BITS / elem_bits(tile))
}

/// The fast axis in pieces of `width` elements, piece after piece; in each, all of the slow axis.
fn pieces_of(tile: Tile, width: i64, order: u64) -> Layout {
    let (fast, slow_extent) = extents(tile);
    let pieces = match fast == width {
        true => Layout::scalar(fast, 1),
        false => Layout::of_modes([(width, 1), (fast / width, width * slow_extent)]),
    };
    join(tile, pieces, slow(tile, width, order))
}

fn join(tile: Tile, fast: Layout, slow: Layout) -> Layout {
    match tile.fast {
        Axis::Rows => Layout::concat([fast, slow]),
        Axis::Columns => Layout::concat([slow, fast]),
    }
}

/// The slow axis in steps of `unit`. The bits of its index that are set in `order` come first, so that
/// the indices that differ in these alone lie beside each other.
fn slow(tile: Tile, unit: i64, order: u64) -> Layout {
    let (_, extent) = extents(tile);
    let count = u64::BITS - order.leading_zeros();
    let first = (0..count).filter(|bit| order >> bit & 1 == 1);
    let rest = (0..count).filter(|bit| order >> bit & 1 == 0);
    let places: Vec<u32> = first.chain(rest).collect();
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for bit in 0..count {
        let place = places.iter().position(|other| *other == bit);
        let stride = unit << place.unwrap_or(0);
        match runs.last_mut() {
            Some((extent, first)) if *first * *extent == stride => *extent *= 2,
            _ => runs.push((2, stride)),
        }
    }
    let left = extent >> count;
    match (runs.is_empty(), left) {
        (true, _) => return Layout::scalar(extent, unit),
        (false, 1) => {}
        (false, _) => runs.push((left, unit << count)),
    }
    Layout::of_modes(runs)
}

/// The orders of the slow axis: its own, 0, and those in which indices that an access needs at once
/// are neighbours.
fn orders(tile: Tile, plans: &[Plan]) -> Vec<u64> {
    let (_, extent) = extents(tile);
    let mut orders = vec![0];
    for plan in plans {
        let Some(phase) = plan.phases().next() else {
            continue;
        };
        let index = |piece: usize| {
            let at = plan.piece(piece)[0] as i64;
            match tile.fast {
                Axis::Rows => at / tile.rows,
                Axis::Columns => at % tile.rows,
            }
        };
        let mut indices: Vec<i64> = phase.map(index).collect();
        indices.sort_unstable();
        indices.dedup();
        let differ = indices.iter().fold(0, |bits, at| bits | (at ^ indices[0])) as u64;
        let above = u64::BITS - differ.leading_zeros();
        let spread = (differ + 1).count_ones() > 1;
        let whole = 1 << differ.count_ones() == indices.len();
        if spread && whole && extent % (1 << above) == 0 && !orders.contains(&differ) {
            orders.push(differ);
        }
    }
    orders
}

/// Extents of the fast and of the slow axis.
fn extents(tile: Tile) -> (i64, i64) {
    match tile.fast {
        Axis::Rows => (tile.rows, tile.columns),
        Axis::Columns => (tile.columns, tile.rows),
    }
}

fn elem_bits(tile: Tile) -> i64 {
    i64::from(tile.elem_bits)
}
