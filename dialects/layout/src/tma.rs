//! Boxes of a tensor map: what one instruction of the tensor memory accelerator moves of a tile in shared memory.
//!
//! An instruction moves a box: so many elements along each mode of a tensor, which lie in shared memory without gaps, the
//! mode that is contiguous in global memory fastest (PTX ISA, "Tensor data movement"; CUDA driver API,
//! `cuTensorMapEncodeTiled`). [`tma_boxes`] finds the largest box that a layout of the tile has, and how many of them make
//! the tile, as CuTe's `make_tma_copy` does (`cute/atom/copy_traits_sm90_tma.hpp`).
//!
//! Here is no swizzle: it permutes what the boxes write, and the accelerator and the layout agree on it where it is one of
//! [`MapSpan`].

use crate::{Layout, Swizzle};
use std::fmt;

/// Extents of a box are at most this.
const MOST_EXTENT: i64 = 256;
/// Bytes to which a box in shared memory is aligned, and rows of it are a multiple of the second (PTX ISA,
/// "cp.async.bulk.tensor").
const BOX_ALIGN: i64 = 128;
const ROW_BYTES: i64 = 16;
/// Boxes of a tile: each is an instruction.
pub const MOST_BOXES: usize = 64;

/// The span of a swizzle that the tensor memory accelerator has: 16-byte chunks of a row of so many bytes change places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MapSpan {
    /// Chunks stay.
    #[default]
    None,
    /// Rows of 32 bytes: `S<1,4,3>` of bytes.
    B32,
    /// Rows of 64 bytes: `S<2,4,3>` of bytes.
    B64,
    /// Rows of 128 bytes: `S<3,4,3>` of bytes.
    B128,
}

impl MapSpan {
    /// Every span.
    pub const ALL: [MapSpan; 4] = [MapSpan::None, MapSpan::B32, MapSpan::B64, MapSpan::B128];

    /// Bytes of a row; 0 where nothing is swizzled.
    pub fn bytes(self) -> i64 {
        match self {
            MapSpan::None => 0,
            MapSpan::B32 => 32,
            MapSpan::B64 => 64,
            MapSpan::B128 => 128,
        }
    }

    /// The span of so many bytes.
    pub fn of_bytes(bytes: i64) -> Option<MapSpan> {
        MapSpan::ALL.into_iter().find(|span| span.bytes() == bytes)
    }

    /// Bytes after which the pattern of the swizzle begins anew; buffers are aligned to it.
    pub fn period(self) -> i64 {
        match self {
            MapSpan::None => BOX_ALIGN,
            MapSpan::B32 | MapSpan::B64 | MapSpan::B128 => 8 * self.bytes(),
        }
    }

    /// The span of a swizzle of elements of so many bits, if the accelerator has it.
    pub fn of_swizzle(swizzle: Swizzle, bits: i64) -> Option<MapSpan> {
        if swizzle.is_identity() {
            return Some(MapSpan::None);
        }
        let per_chunk = 8 * ROW_BYTES / bits.max(1);
        let is_ours = swizzle.shift() == 3 && 1i64 << swizzle.base() == per_chunk;
        match swizzle.bits() {
            1 if is_ours => Some(MapSpan::B32),
            2 if is_ours => Some(MapSpan::B64),
            3 if is_ours => Some(MapSpan::B128),
            _ => None,
        }
    }
}

/// One box of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmaBox {
    /// Element of the tile in shared memory at which it begins, before any swizzle.
    pub offset: i64,
    /// Where it begins in the tile, along each mode of the tensor.
    pub coord: Vec<i64>,
}

/// The boxes of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmaBoxes {
    /// Modes of the tensor, fastest first: all of them.
    pub order: Vec<usize>,
    /// Extents of a box in that order.
    pub extents: Vec<i64>,
    /// All boxes, in the order of their place in shared memory.
    pub boxes: Vec<TmaBox>,
}

/// Why a tile in shared memory does not consist of boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TmaProblem {
    /// The tile has a shape that the layout has not.
    Shape {
        /// Extents of the tile.
        tile: Vec<i64>,
        /// Shape of the layout.
        found: String,
    },
    /// Elements that are neighbours in global memory are none in shared memory.
    Fastest {
        /// The mode that is contiguous in global memory.
        mode: usize,
        /// The layout.
        layout: String,
    },
    /// Several elements of the tile lie at the same place.
    Aliases {
        /// The layout.
        layout: String,
    },
    /// Rows of the box that the accelerator does not move.
    Row {
        /// Bytes of a row of neighbours.
        found: i64,
        /// What it must be.
        expected: Row,
    },
    /// A box begins where none may.
    Align {
        /// Bytes between boxes.
        found: i64,
    },
    /// So many instructions for a tile.
    TooMany {
        /// Their number.
        found: usize,
        /// Extents of a box along the modes of the tensor.
        extents: Vec<i64>,
    },
}

/// What a row of a box must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A multiple of 16 bytes.
    Multiple,
    /// As wide as the span of the swizzle.
    Span(MapSpan),
}

impl fmt::Display for TmaProblem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TmaProblem::Shape { tile, found } => {
                write!(
                    f,
                    "the tile is {}, the layout has shape {found}",
                    tuple(tile)
                )
            }
            TmaProblem::Fastest { mode, layout } => write!(
                f,
                "mode {mode} is contiguous in global memory, but not in shared memory, {layout}; expected stride 1 there too"
            ),
            TmaProblem::Aliases { layout } => {
                write!(
                    f,
                    "several elements of the tile lie at one place in {layout}"
                )
            }
            TmaProblem::Row {
                found,
                expected: Row::Multiple,
            } => write!(
                f,
                "{found} bytes of a row lie side by side; expected a multiple of {ROW_BYTES}"
            ),
            TmaProblem::Row {
                found,
                expected: Row::Span(span),
            } => write!(
                f,
                "{found} bytes of a row lie side by side under a swizzle of {0} bytes; expected {0}",
                span.bytes()
            ),
            TmaProblem::Align { found } => write!(
                f,
                "the parts that an instruction moves begin {found} bytes apart; expected a multiple of {BOX_ALIGN}"
            ),
            TmaProblem::TooMany { found, extents } => write!(
                f,
                "it takes {found} instructions, each for a box of {}; expected at most {MOST_BOXES}",
                tuple(extents)
            ),
        }
    }
}

fn tuple(extents: &[i64]) -> String {
    let extents: Vec<String> = extents.iter().map(i64::to_string).collect();
    match extents.as_slice() {
        [one] => one.clone(),
        all => format!("({})", all.join(",")),
    }
}

/// A part of a mode of the tile: elements that follow each other with one stride.
#[derive(Clone, Copy)]
struct Part {
    /// Mode of the tensor.
    mode: usize,
    /// Step along it.
    scale: i64,
    extent: i64,
    stride: i64,
}

/// The boxes of a tile of extents `tile` along the modes of a tensor, of which `contiguous` has stride 1, that lies in
/// shared memory as `layout` says, behind a swizzle of `span`. The layout has a mode for each of the tile's, or for each
/// whose extent is not 1.
///
/// # Errors
/// What is in the way.
pub fn tma_boxes(
    tile: &[i64],
    contiguous: usize,
    layout: &Layout,
    span: MapSpan,
    elem_bits: i64,
) -> Result<TmaBoxes, TmaProblem> {
    let mut parts = parts_of(tile, layout)?;
    let bytes_of = |elements: i64| elements.saturating_mul(elem_bits) / 8;
    let span_elements = 8 * span.bytes() / elem_bits.max(1);
    let mut extents = vec![1; tile.len()];
    let mut order: Vec<usize> = Vec::new();
    let mut elements = 1;
    while let Some(at) = parts.iter().position(|part| {
        let continues = match order.last() {
            None => part.mode == contiguous,
            Some(last) => part.mode == *last || !order.contains(&part.mode),
        };
        continues && part.stride == elements && part.scale == extents[part.mode]
    }) {
        let part = &mut parts[at];
        let most = match (part.mode == contiguous, span) {
            (false, _) | (true, MapSpan::None) => MOST_EXTENT,
            (true, _) => span_elements.min(MOST_EXTENT),
        };
        let factor = largest_divisor(part.extent, most / extents[part.mode]);
        if factor <= 1 {
            break;
        }
        extents[part.mode] *= factor;
        elements *= factor;
        if order.last() != Some(&part.mode) {
            order.push(part.mode);
        }
        if factor < part.extent {
            part.extent /= factor;
            part.stride *= factor;
            part.scale *= factor;
            break;
        }
        parts.remove(at);
    }
    if order.is_empty() && tile.get(contiguous).is_some_and(|extent| *extent > 1) {
        return Err(TmaProblem::Fastest {
            mode: contiguous,
            layout: layout.to_string(),
        });
    }
    let row = bytes_of(extents.get(contiguous).copied().unwrap_or(1));
    if row % ROW_BYTES != 0 {
        let expected = Row::Multiple;
        return Err(TmaProblem::Row {
            found: row,
            expected,
        });
    }
    // Rows of a box lie without gaps, and the pattern of a swizzle goes by rows of its span.
    if span != MapSpan::None && order.len() > 1 && row != span.bytes() {
        let expected = Row::Span(span);
        return Err(TmaProblem::Row {
            found: row,
            expected,
        });
    }
    let found = parts.iter().fold(1usize, |count, part| {
        count.saturating_mul(usize::try_from(part.extent).unwrap_or(usize::MAX))
    });
    if found > MOST_BOXES {
        return Err(TmaProblem::TooMany { found, extents });
    }
    if let Some(part) = parts
        .iter()
        .find(|part| bytes_of(part.stride) % BOX_ALIGN != 0)
    {
        let found = bytes_of(part.stride);
        return Err(TmaProblem::Align { found });
    }
    let mut boxes = vec![TmaBox {
        offset: 0,
        coord: vec![0; tile.len()],
    }];
    for part in &parts {
        let repeat = |at: i64| {
            boxes.iter().map(move |first| {
                let mut moved = first.clone();
                moved.offset += at * part.stride;
                moved.coord[part.mode] += at * part.scale;
                moved
            })
        };
        boxes = (0..part.extent).flat_map(repeat).collect();
    }
    boxes.sort_by_key(|one| one.offset);
    // What the box has one element of comes last, the contiguous mode aside.
    for mode in std::iter::once(contiguous).chain(0..tile.len()) {
        if !order.contains(&mode) {
            order.push(mode);
        }
    }
    let extents = order.iter().map(|mode| extents[*mode]).collect();
    Ok(TmaBoxes {
        order,
        extents,
        boxes,
    })
}

/// The parts of a tile's modes, those of extent 1 left out.
fn parts_of(tile: &[i64], layout: &Layout) -> Result<Vec<Part>, TmaProblem> {
    let shape = || TmaProblem::Shape {
        tile: tile.to_vec(),
        found: layout.shape().to_string(),
    };
    let modes: Vec<Layout> = (0..layout.rank())
        .map(|at| layout.mode(at))
        .collect::<Option<_>>()
        .ok_or_else(shape)?;
    let whole: Vec<usize> = (0..tile.len()).filter(|mode| tile[*mode] != 1).collect();
    let named: Vec<usize> = match modes.len() == tile.len() {
        true => (0..tile.len()).collect(),
        false => whole,
    };
    if named.len() != modes.len() {
        return Err(shape());
    }
    let mut parts = Vec::new();
    for (mode, layout_of_mode) in named.into_iter().zip(&modes) {
        let extents = layout_of_mode.shape().leaves();
        let strides = layout_of_mode.stride().leaves();
        let mut scale = 1;
        for (extent, stride) in extents.into_iter().zip(strides) {
            let (Some(extent), Some(stride)) = (extent.as_static(), stride.as_static()) else {
                return Err(shape());
            };
            if extent != 1 {
                if stride <= 0 {
                    let layout = layout.to_string();
                    return Err(TmaProblem::Aliases { layout });
                }
                parts.push(Part {
                    mode,
                    scale,
                    extent,
                    stride,
                });
            }
            scale *= extent;
        }
        if scale != tile[mode] {
            return Err(shape());
        }
    }
    Ok(parts)
}

/// The largest divisor of a number that is at most `limit`; 1 where the limit is less.
fn largest_divisor(number: i64, limit: i64) -> i64 {
    let mut divisors = (1..=number.min(limit).max(1)).rev();
    divisors.find(|factor| number % factor == 0).unwrap_or(1)
}
