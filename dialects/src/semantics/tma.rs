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

/// Takes a copy apart: `(tile, view, barriers, which[, mask])` of a load, `(view, tile)` of a store.
///
/// # Errors
/// What does not fit.
pub fn tma_plan(atom: &Arc<TmaAtom>, operands: &[Val]) -> Result<TmaPlan, SemError> {
    if let TmaKind::Im2col(modes) = atom.kind {
        return im2col_plan(atom, modes, operands);
    }
    let (tile, view) = match (atom.kind, operands) {
        (TmaKind::Load, [tile, view, barriers, which, mask @ ..]) => {
            check_place(barriers, which)?;
            check_mask(mask, "5 or 6", operands)?;
            (tile, view)
        }
        (TmaKind::Load, [_, _]) => {
            return Err(SemError::Illegal(
                "needs a barrier that counts its bytes: `barrier = full[s]`".into(),
            ));
        }
        (TmaKind::Load | TmaKind::Im2col(_), _) => {
            return count_error("5 or 6", operands.len() + 1);
        }
        (TmaKind::Store | TmaKind::Reduce(_), [view, tile]) => (tile, view),
        (TmaKind::Store | TmaKind::Reduce(_), _) => return count_error("3", operands.len() + 1),
    };
    let Val::CoordTensor(tile) = tile else {
        return operand_error(
            "a tile of coordinates, as of `local_tile(identity(shape(x)), …)`",
            tile,
        );
    };
    let view = shared_view(atom, view)?;
    let base = first_coordinate(atom, tile)?;
    let boxes = boxes_in(atom, view)?;
    let inside = offset_behind_swizzle(view)?;
    let steps = boxes.boxes.iter().map(|one| TmaStep {
        offset: inside.add(&Int::Static(one.offset)),
        coords: atom
            .order
            .iter()
            .map(|mode| base[*mode].add(&Int::Static(one.coord[*mode])))
            .collect(),
    });
    Ok(TmaPlan {
        steps: steps.collect(),
        atom: atom.clone(),
        view: view.clone(),
        offsets: Vec::new(),
    })
}

/// Takes a load in im2col mode apart: `(coordinate, view, barriers, which, offsets[, mask])`, where the coordinate is that of the
/// first pixel's first channel in the tensor, and the offsets are those of the modes of pixels.
fn im2col_plan(atom: &Arc<TmaAtom>, modes: usize, operands: &[Val]) -> Result<TmaPlan, SemError> {
    let [coordinate, view, barriers, which, offsets, mask @ ..] = operands else {
        return match operands {
            [_, _] => Err(SemError::Illegal(
                "needs a barrier that counts its bytes: `barrier = full[s]`".into(),
            )),
            _ => count_error("6 or 7", operands.len() + 1),
        };
    };
    check_place(barriers, which)?;
    check_mask(mask, "6 or 7", operands)?;
    let leaves = |val: &Val, count: usize, what: String| -> Result<Vec<Int>, SemError> {
        let tuple = integers(val)
            .ok()
            .filter(|tuple| tuple.leaf_count() == count);
        match tuple {
            Some(tuple) => Ok(tuple.leaves().into_iter().rev().cloned().collect()),
            None => operand_error(what, val),
        }
    };
    let what = format!(
        "the coordinate of a channel of a pixel, {} numbers",
        modes + 2
    );
    let base = leaves(coordinate, modes + 2, what)?;
    let offsets = leaves(
        offsets,
        modes,
        format!("an offset of pixels, {modes} numbers"),
    )?;
    let view = shared_view(atom, view)?;
    let boxes = boxes_in(atom, view)?;
    let divisor = COORDINATE_BYTES / atom.elem.bytes();
    if !base[0].divisible_by(divisor) {
        return Err(SemError::Illegal(format!(
            "expects a first channel that is a multiple of {divisor} elements, 16 bytes; promise it (`assume`) or begin elsewhere"
        )));
    }
    let inside = offset_behind_swizzle(view)?;
    let steps = boxes.boxes.iter().map(|one| {
        let mut coords = base.clone();
        coords[0] = coords[0].add(&Int::Static(one.coord[1]));
        TmaStep {
            offset: inside.add(&Int::Static(one.offset)),
            coords,
        }
    });
    Ok(TmaPlan {
        steps: steps.collect(),
        atom: atom.clone(),
        view: view.clone(),
        offsets,
    })
}

/// Checks the mask of blocks that a load ends with, where it is multicast; `counts` are the numbers of operands, atom included, of
/// which a load has one.
fn check_mask(mask: &[Val], counts: &'static str, operands: &[Val]) -> Result<(), SemError> {
    match mask {
        [] => Ok(()),
        [mask] if integers(mask).is_ok_and(|mask| mask.as_leaf().is_some()) => Ok(()),
        [mask] => operand_error("a mask of blocks of the cluster", mask),
        _ => count_error(counts, operands.len() + 1),
    }
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

/// Where each box of a tile begins in the tensor, in the order of the map: what is fetched ahead of a load.
///
/// # Errors
/// What does not fit.
pub fn tma_prefetch_plan(atom: &TmaAtom, tile: &Val) -> Result<Vec<Vec<Int>>, SemError> {
    if let TmaKind::Im2col(_) = atom.kind {
        return Err(SemError::Illegal(
            "a copy in im2col mode fetches nothing ahead".into(),
        ));
    }
    let Val::CoordTensor(tile) = tile else {
        return operand_error(
            "a tile of coordinates, as of `local_tile(identity(shape(x)), …)`",
            tile,
        );
    };
    if atom.kind != TmaKind::Load {
        return Err(SemError::Illegal(
            "only what is loaded is fetched ahead".into(),
        ));
    }
    let base = first_coordinate(atom, tile)?;
    let mut boxes = vec![Vec::new()];
    for (mode, extent) in atom.order.iter().zip(&atom.extents) {
        let steps = atom.tile[*mode] / extent;
        boxes = (0..steps)
            .flat_map(|step| {
                let at = base[*mode].add(&Int::Static(step * extent));
                boxes
                    .iter()
                    .map(move |begun| [begun.clone(), vec![at.clone()]].concat())
            })
            .collect();
    }
    Ok(boxes)
}

/// Where a tile begins in the tensor, along each mode.
fn first_coordinate(atom: &TmaAtom, tile: &CoordTensor) -> Result<Vec<Int>, SemError> {
    check_tile(atom, tile)?;
    let base: Vec<Int> = tile.base.leaves().into_iter().cloned().collect();
    let first = &base[atom.order[0]];
    let divisor = COORDINATE_BYTES / atom.elem.bytes();
    if !first.divisible_by(divisor) {
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
