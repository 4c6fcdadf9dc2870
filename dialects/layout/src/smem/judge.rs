//! Whether accesses are legal on a layout, and how many wavefronts they take.
//!
//! The search counts with arrays that it uses again; what it returns is counted by [`crate::banks`].

use super::access::{Plan, enumerate};
use super::{Fault, MAX_ELEMENTS, SmemError, Tile};
use crate::algebra::{crd2idx, product};
use crate::banks::{BANK_BYTES, BANKS};
use crate::{AnyLayout, Int, Outer, Tree};

const COUNT: usize = BANKS as usize;

/// The words of each bank that a phase needs.
pub(super) struct Scratch {
    /// A phase that is legal has at most 32 words.
    words: [[i64; COUNT]; COUNT],
    count: [usize; COUNT],
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            words: [[0; COUNT]; COUNT],
            count: [0; COUNT],
        }
    }
}

/// What a legal layout of these offsets is worth: its wavefronts, and whether none of them is due to a conflict.
/// `None` if it takes as many as the best so far, `limit`.
pub(super) fn judge(
    tile: Tile,
    plans: &[Plan],
    offsets: &[i64],
    limit: Option<usize>,
    scratch: &mut Scratch,
) -> Option<(usize, bool)> {
    // Each phase takes one wavefront at least, so that a bad layout shows early.
    let least: usize = plans.iter().map(|plan| plan.phases().count()).sum();
    let mut wavefronts = least;
    for plan in plans {
        for phase in plan.phases() {
            let pieces = phase.map(|piece| offsets[plan.piece(piece)[0]]);
            let addresses = pieces.map(|offset| offset * i64::from(tile.elem_bits) / 8);
            wavefronts += scratch.wavefronts(addresses, i64::from(plan.bytes)) - 1;
            if limit.is_some_and(|limit| wavefronts >= limit) {
                return None;
            }
        }
    }
    Some((wavefronts, wavefronts == least))
}

impl Scratch {
    /// Passes over the banks for one phase, at least 1.
    fn wavefronts(&mut self, addresses: impl Iterator<Item = i64>, bytes: i64) -> usize {
        self.count = [0; COUNT];
        let mut most = 1;
        for address in addresses {
            let first = address / BANK_BYTES;
            for word in first..=(address + bytes - 1) / BANK_BYTES {
                let bank = word as usize % COUNT;
                let held = self.count[bank];
                if !self.words[bank][..held].contains(&word) {
                    self.words[bank][held] = word;
                    self.count[bank] = held + 1;
                    most = most.max(held + 1);
                }
            }
        }
        most
    }
}

/// The first access that is illegal, by its index, and why.
pub(super) fn first_fault(tile: Tile, plans: &[Plan], offsets: &[i64]) -> Option<(usize, Fault)> {
    let faults = plans.iter().map(|plan| fault(tile, plan, offsets));
    faults
        .enumerate()
        .find_map(|(index, fault)| Some((index, fault?)))
}

/// Why an access is illegal: a piece that is not aligned, or not one piece.
fn fault(tile: Tile, plan: &Plan, offsets: &[i64]) -> Option<Fault> {
    if plan.width == 1 {
        return None;
    }
    for elements in plan.elements.chunks_exact(plan.width) {
        let first = offsets[elements[0]];
        let apart = elements
            .iter()
            .zip(first..)
            .position(|(at, offset)| offsets[*at] != offset);
        let place = |at: usize| (at as i64 % tile.rows, at as i64 / tile.rows);
        if let Some(apart) = apart {
            return Some(Fault::Apart {
                bytes: plan.bytes,
                first: place(elements[0]),
                apart: place(elements[apart]),
            });
        }
        if first % plan.width as i64 != 0 {
            return Some(Fault::Misaligned {
                bytes: plan.bytes,
                first: place(elements[0]),
                address: first * i64::from(tile.elem_bits) / 8,
            });
        }
    }
    None
}

/// The offsets of a layout of the tile that sends each element to a place of its own.
pub(super) fn own_places(tile: Tile, layout: &AnyLayout) -> Result<Vec<i64>, SmemError> {
    let offsets = offsets(tile, layout).ok_or_else(|| SmemError::Layout {
        layout: layout.to_string(),
        tile,
    })?;
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_unstable_by_key(|at| offsets[*at]);
    let place = |at: usize| (at as i64 % tile.rows, at as i64 / tile.rows);
    match order.windows(2).find(|at| offsets[at[0]] == offsets[at[1]]) {
        Some(at) => Err(SmemError::Overlap {
            layout: layout.to_string(),
            one: place(at[0].min(at[1])),
            other: place(at[0].max(at[1])),
        }),
        None => Ok(offsets),
    }
}

/// The offsets of a layout of (rows, columns), rows fastest.
fn offsets(tile: Tile, layout: &AnyLayout) -> Option<Vec<i64>> {
    let modes = layout.shape().modes().iter().map(product);
    let extents: Vec<Option<i64>> = modes.map(|extent| extent.as_static()).collect();
    if extents[..] != [Some(tile.rows), Some(tile.columns)] {
        return None;
    }
    let offsets: Vec<i64> = match layout {
        AnyLayout::Plain(layout) => enumerate(layout, MAX_ELEMENTS)?,
        AnyLayout::Composed(composed) => {
            let inner = enumerate(&composed.inner, MAX_ELEMENTS)?;
            let start = composed.offset.as_leaf().and_then(Int::as_static)?;
            let at = |inner: &i64| {
                let index = inner.checked_add(start).filter(|index| *index >= 0)?;
                match &composed.outer {
                    Outer::Swizzle(swizzle) => Some(swizzle.apply(index)),
                    Outer::Layout(outer) => {
                        let value = crd2idx(&Tree::Leaf(Int::Static(index)), outer).ok()?;
                        value.as_leaf().and_then(Int::as_static)
                    }
                }
            };
            inner.iter().map(at).collect::<Option<_>>()?
        }
    };
    // Beyond this, times bits of an element, an i64 is too small.
    let usual = |offset: &i64| (0..1 << 48).contains(offset);
    offsets.iter().all(usual).then_some(offsets)
}
