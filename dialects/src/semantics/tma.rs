//! Copies of tiles by tensor maps, taken apart into instructions.
use super::mbarrier::check_place;
use super::{SemError, count_error, integers, operand_error};
use crate::atoms::{TmaAtom, TmaKind, tuple};
use crate::elem::Space;
use crate::value::{CoordTensor, Val, View};
use cutec_layout::tma::{MapSpan, TmaBoxes, tma_boxes};
use cutec_layout::{Int, Tree};
use std::sync::Arc;

/// Bytes of which the innermost coordinate of a box is a multiple: else an H100 and an H200 raise an illegal instruction,
/// which the ISA does not say.
const COORDINATE_BYTES: i64 = 16;

/// The instructions of a copy by a tensor map.
#[derive(Clone, Debug)]
pub struct TmaPlan {
    /// The copy.
    pub atom: Arc<TmaAtom>,
    /// The tile in shared memory.
    pub view: View,
    /// Each box.
    pub steps: Vec<TmaStep>,
    /// In im2col mode, by how much pixels are moved, in the order of the map.
    pub offsets: Vec<Int>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct TmaStep {
    /// Elements from where the view begins to the box, before any swizzle.
    pub offset: Int,
    /// Where the box begins in the tensor, in the order of the map.
    pub coords: Vec<Int>,
}

/// Takes a copy apart: `(tile, view, barriers, which[, mask])` of a load, `(view, tile)` of a store. In im2col mode the coordinate of
/// the first pixel's first channel is in the place of the tile, and a load has offsets of the modes of pixels before its mask.
///
/// # Errors
/// What does not fit.
pub fn tma_plan(atom: &Arc<TmaAtom>, operands: &[Val]) -> Result<TmaPlan, SemError> {
    let (tile, view, rest) = match (atom.kind, operands) {
        (TmaKind::Load, [tile, view, barriers, which, rest @ ..]) => {
            check_place(barriers, which)?;
            (tile, view, rest)
        }
        (TmaKind::Load, [_, _]) => {
            return Err(SemError::Illegal(
                "needs a barrier that counts its bytes: `barrier = full[s]`".into(),
            ));
        }
        (TmaKind::Load, _) => return count_error("5 to 7", operands.len() + 1),
        (TmaKind::Store | TmaKind::Reduce(_), [view, tile]) => (tile, view, &[][..]),
        (TmaKind::Store | TmaKind::Reduce(_), _) => return count_error("3", operands.len() + 1),
    };
    let (offsets, mask) = match (atom.kind, atom.pixels, rest) {
        (TmaKind::Load, Some(modes), [offsets, mask @ ..]) => {
            (numbers_of(offsets, modes, "an offset of pixels")?, mask)
        }
        (TmaKind::Load, Some(_), []) => return count_error("6 or 7", operands.len() + 1),
        (TmaKind::Load, None, mask) => (Vec::new(), mask),
        // Without offsets (PTX ISA, "im2col_no_offs").
        (TmaKind::Store | TmaKind::Reduce(_), _, _) => (Vec::new(), rest),
    };
    match mask {
        [] => {}
        [mask] if integers(mask).is_ok_and(|mask| mask.as_leaf().is_some()) => {}
        [mask] => return operand_error("a mask of blocks of the cluster", mask),
        _ => return count_error("6 or 7", operands.len() + 1),
    }
    let view = shared_view(atom, view)?;
    let boxes = boxes_in(atom, view)?;
    let base = match atom.pixels {
        Some(modes) => pixel(atom, modes, tile)?,
        None => first_coordinate(atom, tile)?,
    };
    // What a box lies behind the first one by; in im2col mode along the channels alone.
    let modes = match atom.pixels {
        Some(_) => &[1][..],
        None => &atom.order,
    };
    let inside = offset_behind_swizzle(view)?;
    let steps = boxes.boxes.iter().map(|one| TmaStep {
        offset: inside.add(&Int::Static(one.offset)),
        coords: modes
            .iter()
            .enumerate()
            .fold(base.clone(), |coords, (dimension, mode)| {
                moved(&coords, dimension, one.coord[*mode])
            }),
    });
    Ok(TmaPlan {
        steps: steps.collect(),
        atom: atom.clone(),
        view: view.clone(),
        offsets,
    })
}

/// The view in shared memory of a copy, of elements as large as those of the atom.
fn shared_view<'v>(atom: &TmaAtom, view: &'v Val) -> Result<&'v View, SemError> {
    let Val::View(view) = view else {
        return operand_error("a view in shared memory", view);
    };
    if view.ptr.space != Space::Smem || view.ptr.elem.bits() != atom.elem.bits() {
        return Err(SemError::Operand {
            expected: format!("a view of {} in smem", atom.elem.language_name()),
            found: format!("{} in {}", view.ptr.elem.language_name(), view.ptr.space),
        });
    }
    Ok(view)
}

/// The offset of a view behind its swizzle, where it has one.
fn offset_behind_swizzle(view: &View) -> Result<Int, SemError> {
    match &view.layout {
        cutec_layout::AnyLayout::Plain(_) => Ok(Int::ZERO),
        cutec_layout::AnyLayout::Composed(composed) => match &composed.offset {
            Tree::Leaf(offset) => Ok(offset.clone()),
            Tree::Node(_) => operand_error("a view behind a swizzle", &Val::View(view.clone())),
        },
    }
}

/// What is fetched ahead of a load: where each box begins in the tensor, in the order of the map, and in im2col mode by how much
/// pixels are moved.
#[derive(Clone, Debug)]
pub struct TmaPrefetchPlan {
    /// The first element of each box.
    pub boxes: Vec<Vec<Int>>,
    /// As of a [`TmaPlan`].
    pub offsets: Vec<Int>,
}

/// Takes a fetch ahead of a load apart, of a tile; in im2col mode of `(coordinate, offsets)`.
///
/// # Errors
/// What does not fit.
pub fn tma_prefetch_plan(atom: &TmaAtom, source: &Val) -> Result<TmaPrefetchPlan, SemError> {
    if atom.kind != TmaKind::Load {
        return Err(SemError::Illegal(
            "only what is loaded is fetched ahead".into(),
        ));
    }
    let (base, offsets) = match atom.pixels {
        Some(modes) => {
            let what = "a coordinate and offsets of pixels";
            let Val::Tuple(kind, Tree::Node(parts)) = source else {
                return operand_error(what, source);
            };
            let [coordinate, offsets] = parts.as_slice() else {
                return operand_error(what, source);
            };
            let [coordinate, offsets] =
                [coordinate, offsets].map(|part| Val::Tuple(*kind, part.clone()));
            (
                pixel(atom, modes, &coordinate)?,
                numbers_of(&offsets, modes, "an offset of pixels")?,
            )
        }
        None => (first_coordinate(atom, source)?, Vec::new()),
    };
    // In im2col mode all pixels are in one box, and the channels of several lie one behind the other.
    let modes: Vec<usize> = match atom.pixels {
        Some(_) => vec![1],
        None => atom.order.clone(),
    };
    let mut boxes = vec![base];
    for (at, (mode, extent)) in modes.iter().zip(&atom.extents).enumerate() {
        boxes = (0..atom.tile[*mode] / extent)
            .flat_map(|step| {
                boxes
                    .iter()
                    .map(move |begun| moved(begun, at, step * extent))
            })
            .collect();
    }
    Ok(TmaPrefetchPlan { boxes, offsets })
}

/// A coordinate, moved along one dimension of the map.
fn moved(coords: &[Int], dimension: usize, by: i64) -> Vec<Int> {
    let mut coords = coords.to_vec();
    coords[dimension] = coords[dimension].add(&Int::Static(by));
    coords
}

/// So many numbers, the last one first, as a map has them.
fn numbers_of(val: &Val, count: usize, what: &str) -> Result<Vec<Int>, SemError> {
    let tuple = integers(val)
        .ok()
        .filter(|tuple| tuple.leaf_count() == count);
    match tuple {
        Some(tuple) => Ok(tuple.leaves().into_iter().rev().cloned().collect()),
        None => operand_error(format!("{what}, {count} numbers"), val),
    }
}

/// The first channel of the first pixel in im2col mode, in the order of the map.
fn pixel(atom: &TmaAtom, modes: usize, coordinate: &Val) -> Result<Vec<Int>, SemError> {
    let base = numbers_of(
        coordinate,
        modes + 2,
        "the coordinate of a channel of a pixel",
    )?;
    let divisor = COORDINATE_BYTES / atom.elem.bytes();
    if !base[0].divisible_by(divisor) {
        return Err(SemError::Illegal(format!(
            "expects a first channel that is a multiple of {divisor} elements, 16 bytes; promise it (`assume`) or begin elsewhere"
        )));
    }
    Ok(base)
}

/// Where a tile begins in the tensor, in the order of the map: said by a tile of coordinates or by the first of them.
fn first_coordinate(atom: &TmaAtom, tile: &Val) -> Result<Vec<Int>, SemError> {
    let base = match tile {
        Val::CoordTensor(tile) => {
            check_tile(atom, tile)?;
            tile.base.clone()
        }
        other => integers(other)
            .ok()
            .filter(|coordinate| coordinate.leaf_count() == atom.tile.len())
            .map_or_else(
                || {
                    let rank = atom.tile.len();
                    let expected = format!("a tile of coordinates, as of `local_tile(identity(shape(x)), …)`, or its first coordinate, {rank} numbers");
                    operand_error(expected, other)
                },
                Ok,
            )?,
    };
    let base = base.leaves();
    let base: Vec<Int> = atom.order.iter().map(|mode| base[*mode].clone()).collect();
    let divisor = COORDINATE_BYTES / atom.elem.bytes();
    if !base[0].divisible_by(divisor) {
        return Err(SemError::Illegal(format!(
            "expects a tile whose first coordinate along mode {} is a multiple of {divisor} elements, 16 bytes; promise it (`assume`) or begin elsewhere",
            atom.order[0]
        )));
    }
    Ok(base)
}

/// Whether a tile of coordinates is one of those that an atom moves.
fn check_tile(atom: &TmaAtom, tile: &CoordTensor) -> Result<(), SemError> {
    let wrong = || SemError::Operand {
        expected: format!(
            "coordinates of a tile of {} of the tensor of the map, each mode with steps of 1",
            tuple(&atom.tile)
        ),
        found: format!("`{}`", Val::CoordTensor(tile.clone())),
    };
    let rank = atom.tile.len();
    if tile.base.leaf_count() != rank {
        return Err(wrong());
    }
    let mut extents = vec![1; rank];
    let (shape, stride) = (tile.layout.shape().leaves(), tile.layout.stride().leaves());
    let mut before = 0;
    for (extent, step) in shape.into_iter().zip(stride) {
        let Some(extent) = extent.as_static() else {
            return Err(wrong());
        };
        if extent == 1 {
            continue;
        }
        let mode = match step.path() {
            [] => 0,
            [mode] => *mode,
            _ => return Err(wrong()),
        };
        // The modes of the tile are those of the tensor, in their order.
        if mode < before || mode >= rank || !step.value().is(extents[mode]) {
            return Err(wrong());
        }
        before = mode;
        extents[mode] *= extent;
    }
    match extents == atom.tile {
        true => Ok(()),
        false => Err(wrong()),
    }
}

/// The boxes of a view in shared memory, which must be those that the map of an atom has been made for.
fn boxes_in(atom: &TmaAtom, view: &View) -> Result<TmaBoxes, SemError> {
    let (span, boxes) = tma_boxes_of(&atom.tile, atom.order[0], view)?;
    if span != atom.span || boxes.order != atom.order || boxes.extents != atom.extents {
        return Err(SemError::Illegal(format!(
            "expects a view that lies as the one that the map was made for, in boxes of {} with a swizzle of {} bytes, but {} has boxes of {} with one of {}",
            tuple(&atom.extents),
            atom.span.bytes(),
            view.layout,
            tuple(&boxes.extents),
            span.bytes()
        )));
    }
    let (found, expected) = (view.ptr.alignment(), span.period());
    if found < expected {
        return Err(SemError::Illegal(format!(
            "expects a view aligned to {expected} bytes, but it is proven to lie at multiples of {found} only; allocate it with `align = {expected}`, and stages of a multiple of that"
        )));
    }
    if !offset_behind_swizzle(view)?.divisible_by(128 / view.ptr.elem.bytes()) {
        return Err(SemError::Illegal(
            "expects a view that begins at a multiple of 128 bytes of its buffer".into(),
        ));
    }
    Ok(boxes)
}

/// The swizzle and the boxes of a tile that lies as a view.
///
/// # Errors
/// What is in the way.
pub fn tma_boxes_of(
    tile: &[i64],
    contiguous: usize,
    view: &View,
) -> Result<(MapSpan, TmaBoxes), SemError> {
    let bits = view.ptr.elem.bits();
    let span = match (&view.layout, view.layout.swizzle()) {
        (cutec_layout::AnyLayout::Plain(_), _) => Some(MapSpan::None),
        (_, Some(swizzle)) => MapSpan::of_swizzle(swizzle, bits),
        (_, None) => None,
    };
    let Some(span) = span else {
        let base = (128 / bits.max(1)).ilog2();
        return Err(SemError::Illegal(format!(
            "no tensor map swizzles as {}; of elements of {bits} bits there are the swizzles S<1,{base},3>, S<2,{base},3> and S<3,{base},3>",
            view.layout
        )));
    };
    let inner = view.layout.inner();
    if !inner.is_static() {
        return Err(SemError::Illegal(format!(
            "expects a layout in shared memory that is known while compiling, not {}",
            view.layout
        )));
    }
    match tma_boxes(tile, contiguous, inner, span, bits) {
        Ok(boxes) => Ok((span, boxes)),
        Err(problem) => Err(SemError::Illegal(format!(
            "tiles of {} that lie as {} do not consist of boxes: {problem}",
            tuple(tile),
            view.layout
        ))),
    }
}
