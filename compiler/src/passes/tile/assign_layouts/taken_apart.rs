//! What becomes of a tile that is taken apart and put together again and again, as by the butterflies of a transform or a merge.
use super::{Assignment, parted_axis, sides_of};
use crate::passes::tile::types::tile_of;
use cutec_dialects::builder::IrValue;
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::TileType;
use std::collections::{HashSet, VecDeque};

/// The bits of a place in a tile, the lowest one first, as bits of places in the tile where the walk began; `None` for one that came since.
type Bits = Vec<Option<u32>>;

impl<'c> Assignment<'c> {
    /// The bits of a place in a tile by which parts that are taken of it, and of what is put together of those, are told apart, the first first. A place
    /// counts elements, the last axis the fastest. None where extents are no powers of two.
    pub(super) fn taken_apart(&self, value: IrValue<'c>, tile: &TileType) -> Vec<u32> {
        if tile.size().count_ones() != 1 {
            return Vec::new();
        }
        let all: Bits = (0..tile.size().ilog2()).map(Some).collect();
        let mut open = VecDeque::from([(value, all)]);
        let mut seen: HashSet<usize> = self.classes.class(value).into_iter().collect();
        let mut found = Vec::new();
        while let Some((value, bits)) = open.pop_front() {
            let Some(class) = self.classes.class(value) else {
                continue;
            };
            for number in self.reshaping.get(&class).into_iter().flatten() {
                let op = self.operations[*number];
                let Some([input, result]) = sides_of(op) else {
                    continue;
                };
                if self.classes.class(input) != Some(class) {
                    continue;
                }
                let (Ok(from), Ok(to)) = (tile_of(op, input), tile_of(op, result)) else {
                    continue;
                };
                let Some((rest, parted)) = behind(TileOp::of(op), &bits, [&from, &to]) else {
                    continue;
                };
                for bit in parted {
                    if !found.contains(&bit) {
                        found.push(bit);
                    }
                }
                if self
                    .classes
                    .class(result)
                    .is_some_and(|class| seen.insert(class))
                {
                    open.push_back((result, rest));
                }
            }
        }
        found
    }
}

/// The bits behind an operation, and those by which it tells parts apart.
fn behind(op: Option<TileOp>, bits: &Bits, [from, to]: [&TileType; 2]) -> Option<(Bits, Vec<u32>)> {
    let mut bits = bits.clone();
    let lower = |shape: &[i64], axis: usize| shape[axis..].iter().product::<i64>().ilog2() as usize;
    let changed = || parted_axis(&from.shape, &to.shape);
    let even = to.size().count_ones() == 1;
    match op? {
        TileOp::Reshape => Some((bits, Vec::new())),
        TileOp::Slice if even => {
            let axis = changed()?;
            let begins = lower(&from.shape, axis + 1) + to.shape[axis].ilog2() as usize;
            let parted = bits.drain(begins..lower(&from.shape, axis));
            let parted = parted.flatten().collect();
            Some((bits, parted))
        }
        TileOp::Join if even => {
            let axis = changed()?;
            let begins = lower(&from.shape, axis);
            let count = (to.shape[axis] / from.shape[axis]).ilog2() as usize;
            bits.splice(begins..begins, std::iter::repeat_n(None, count));
            Some((bits, Vec::new()))
        }
        TileOp::Transpose if from.shape.len() == 2 => {
            bits.rotate_left(lower(&from.shape, 1));
            Some((bits, Vec::new()))
        }
        _ => None,
    }
}
