//! [`Access`]: which elements of a tile the threads access by one instruction or several.

use super::{BadAccess, Tile};
use crate::banks::{self, Instruction, Lane, WARP};
use crate::{Layout, algebra};
use std::ops::Range;

/// Elements of an access, those that several threads access counted for each.
const MAX_ACCESSED: i64 = 1 << 20;
/// Bits of a row of a matrix of `ldmatrix`, and rows.
const MATRIX_ROW_BITS: u32 = 128;
const MATRIX_ROWS: usize = 8;

/// What kind of instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A load, a store or a `cp.async`: each thread accesses so many bits in one piece.
    Vector {
        /// Bits, a power of two from 8 to 128.
        bits: u32,
    },
    /// `ldmatrix` or `stmatrix`: each of the first `8 * matrices` lanes of a warp gives the address
    /// of 16 bytes in one piece.
    Ldmatrix {
        /// Matrices of an instruction: 1, 2 or 4.
        matrices: u32,
        /// `.trans`, for elements of at most 16 bits.
        transpose: bool,
    },
}

/// What threads access in a tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Its name in messages, such as `ldmatrix of a`.
    pub what: String,
    /// The instruction.
    pub kind: Kind,
    /// From (thread, value) to the index in the tile, rows fastest whatever its fast axis is. Values
    /// that one instruction accesses stand beside each other; there may be several groups of them,
    /// each an instruction. For `ldmatrix` the values are the 16 bytes to which a lane points.
    pub layout_tv: Layout,
}

/// An access as instructions: pieces of `width` elements, one a lane.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) what: String,
    layout_tv: Layout,
    /// Whether it is an `ldmatrix`.
    pub(super) matrices: bool,
    /// Elements that a lane accesses in one piece.
    pub(super) width: usize,
    pub(super) bytes: u32,
    /// Indices in the tile, `width` of them a piece.
    pub(super) elements: Vec<usize>,
    /// The pieces of each instruction, and its warp.
    pub(super) instructions: Vec<(usize, Range<usize>)>,
}

impl Plan {
    pub(super) fn new(tile: Tile, access: &Access) -> Result<Plan, BadAccess> {
        let (bits, lanes) = instruction(access.kind, tile.elem_bits)?;
        let width = (bits / tile.elem_bits) as usize;
        let layout = &access.layout_tv;
        let extents = layout.shape().modes().iter().map(algebra::product);
        let extents: Vec<_> = extents.map(|extent| extent.as_static()).collect();
        let [Some(threads), Some(values)] = extents[..] else {
            return Err(BadAccess::Layout {
                layout: layout.to_string(),
            });
        };
        if threads < 1 || values < 1 || values % width as i64 != 0 {
            return Err(BadAccess::Values { width, values });
        }
        let indices = enumerate(layout, MAX_ACCESSED).ok_or_else(|| BadAccess::Layout {
            layout: layout.to_string(),
        })?;
        let size = tile.rows.saturating_mul(tile.columns);
        if let Some(index) = indices.iter().find(|index| !(0..size).contains(index)) {
            return Err(BadAccess::Outside {
                index: *index,
                size,
            });
        }
        let (threads, values) = (threads as usize, values as usize);
        let (mut elements, mut instructions, mut pieces) = (Vec::new(), Vec::new(), 0);
        for first in (0..values).step_by(width) {
            for (warp, start) in (0..threads).step_by(WARP).enumerate() {
                let end = threads.min(start + lanes);
                for thread in start..end {
                    let at = |value: usize| indices[thread + value * threads] as usize;
                    elements.extend((first..first + width).map(at));
                }
                instructions.push((warp, pieces..pieces + end - start));
                pieces += end - start;
            }
        }
        Ok(Plan {
            matrices: matches!(access.kind, Kind::Ldmatrix { .. }),
            what: access.what.clone(),
            layout_tv: layout.clone(),
            width,
            bytes: bits / 8,
            elements,
            instructions,
        })
    }

    /// Whether the part of a thread is a layout where the tile lies so.
    pub(super) fn goes_along(&self, layout: &Layout) -> bool {
        algebra::composition(layout, &self.layout_tv).is_ok()
    }

    /// The elements of a piece.
    pub(super) fn piece(&self, piece: usize) -> &[usize] {
        &self.elements[piece * self.width..(piece + 1) * self.width]
    }

    /// The pieces of each instruction that are served together.
    pub(super) fn phases(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let step = banks::phase_lanes(self.bytes);
        self.instructions.iter().flat_map(move |(_, pieces)| {
            let end = pieces.end;
            let phases = pieces.clone().step_by(step);
            phases.map(move |first| first..(first + step).min(end))
        })
    }

    /// The access to a layout of these offsets, on which it is legal.
    pub(super) fn on(&self, offsets: &[i64], elem_bits: u32) -> banks::Access {
        let lane = |piece: usize| Lane {
            address: offsets[self.piece(piece)[0]] * i64::from(elem_bits) / 8,
            elements: self.piece(piece).iter().map(|at| *at as i64).collect(),
        };
        let instruction = |(warp, pieces): &(usize, Range<usize>)| Instruction {
            warp: *warp,
            lanes: pieces.clone().map(lane).collect(),
        };
        banks::Access {
            bytes: self.bytes,
            instructions: self.instructions.iter().map(instruction).collect(),
        }
    }
}

/// Bits that a lane accesses, and lanes of a warp that do.
fn instruction(kind: Kind, elem_bits: u32) -> Result<(u32, usize), BadAccess> {
    match kind {
        Kind::Vector { bits } => {
            let known = bits.is_power_of_two() && (8..=128).contains(&bits) && bits >= elem_bits;
            match known {
                true => Ok((bits, WARP)),
                false => Err(BadAccess::Vector { bits, elem_bits }),
            }
        }
        Kind::Ldmatrix {
            matrices,
            transpose,
        } => {
            if !matches!(matrices, 1 | 2 | 4) {
                return Err(BadAccess::Matrices { matrices });
            }
            if !matches!(
                (elem_bits, transpose),
                (8 | 16 | 32, false) | (8 | 16, true)
            ) {
                return Err(BadAccess::Element {
                    elem_bits,
                    transpose,
                });
            }
            Ok((MATRIX_ROW_BITS, MATRIX_ROWS * matrices as usize))
        }
    }
}

/// The values of a layout of static integers, the first mode fastest; `None` if it is none, or has more
/// than `limit` values.
pub(super) fn enumerate(layout: &Layout, limit: i64) -> Option<Vec<i64>> {
    if !layout.fits() || layout.size().as_static()? > limit {
        return None;
    }
    let mut values: Vec<i64> = vec![0];
    for (extent, stride) in layout.shape().leaves().iter().zip(layout.stride().leaves()) {
        let (extent, stride) = (extent.as_static()?, stride.as_static()?);
        let before = values.len();
        if extent < 1 {
            return Some(Vec::new());
        }
        values.reserve(before * (extent - 1) as usize);
        for index in 1..extent {
            for at in 0..before {
                let offset = index.checked_mul(stride)?;
                values.push(values[at].checked_add(offset)?);
            }
        }
    }
    Some(values)
}
