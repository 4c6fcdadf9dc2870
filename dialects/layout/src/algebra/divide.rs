//! Divides: a layout split into a tile and the rest.

use super::{
    by_basis::{complement_by_basis_to, is_by_basis},
    coalesce, complement,
    complement::complement_apart,
    composition, composition_padded, node2, rank_mismatch, transform_modes,
};
use crate::{Int, IntTuple, Layout, LayoutError, Tiler, Tree};

/// Splits `layout` into `(tile, rest)` by a tiler; a tile splits mode by mode.
///
/// # Errors
/// If the tiler does not divide the layout ([`composition`], [`complement`]) or has too many
/// modes.
pub fn logical_divide(layout: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    match tiler {
        Tiler::Layout(tiler) => logical_divide_layout(layout, tiler),
        Tiler::Int(extent) => {
            logical_divide_layout(layout, &Tiler::extent_layout("logical_divide", extent)?)
        }
        Tiler::All => Ok(layout.clone()),
        Tiler::Tile(tilers) => transform_modes(
            "logical_divide",
            layout,
            tilers,
            || tiler.to_string(),
            true,
            |mode, tiler| logical_divide(&mode, tiler),
        ),
    }
}

/// `composition(layout, (tiler, complement(tiler, shape(layout))))`. The tile is exact; the rest
/// may overstep the layout, which is then padded to whole tiles.
///
/// # Errors
/// As [`logical_divide`].
pub fn logical_divide_layout(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    if let Some(divided) = divide_scalar(layout, tiler) {
        return Ok(divided);
    }
    if matches!(tiler.shape(), Tree::Leaf(Int::Static(1))) && !layout.is_static() {
        // All of the layout is left. Its modes, met one by one, would come out twice each.
        return Ok(Layout::concat([
            composition(layout, tiler)?,
            layout.clone(),
        ]));
    }
    let rest = match is_by_basis(tiler) {
        true => complement_by_basis_to(tiler, layout.shape())?,
        false => complement_apart(tiler, coalesce(layout).shape())?,
    };
    let tile = composition(layout, tiler)?;
    Ok(Layout::concat([tile, composition_padded(layout, &rest)?]))
}

/// The division of `extent:stride` by `tile:1`, which is most of all divisions.
fn divide_scalar(layout: &Layout, tiler: &Layout) -> Option<Layout> {
    let (Tree::Leaf(extent), Tree::Leaf(stride)) = (layout.shape(), layout.stride()) else {
        return None;
    };
    let (Tree::Leaf(tile), Tree::Leaf(Int::Static(1))) = (tiler.shape(), tiler.stride()) else {
        return None;
    };
    if tile.lower_extent() < 2 {
        return None;
    }
    let count = extent.ceil_div(tile);
    let step = match count.is(1) {
        true => Int::ZERO,
        false => tile.mul(stride),
    };
    let shape = node2(tiler.shape().clone(), Tree::Leaf(count));
    let stride = node2(layout.stride().clone(), Tree::Leaf(step));
    Some(Layout::raw(shape, stride))
}

/// Gathers the tiles and the rests of a divided layout into `((tiles…),(rests…, other modes…))`.
///
/// # Errors
/// If a mode at a leaf of the tiler is not split in two.
pub fn tile_unzip(layout: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    let shape = unzip(layout.shape(), tiler)?;
    Ok(Layout::raw(shape, unzip(layout.stride(), tiler)?))
}

fn unzip(tuple: &IntTuple, tiler: &Tiler) -> Result<IntTuple, LayoutError> {
    let (a, b) = unzip_pair(tuple, tiler)?;
    Ok(node2(a, b))
}

fn unzip_pair(tuple: &IntTuple, tiler: &Tiler) -> Result<(IntTuple, IntTuple), LayoutError> {
    const OP: &str = "tile_unzip";
    match (tuple, tiler) {
        (Tree::Node(modes), Tiler::Tile(tilers)) => {
            if tilers.len() > modes.len() {
                return Err(rank_mismatch(OP, tilers.len(), modes.len(), tuple));
            }
            let (mut tiles, mut rests) = (Vec::new(), Vec::new());
            for (mode, tiler) in modes.iter().zip(tilers) {
                let (tile, rest) = unzip_pair(mode, tiler)?;
                tiles.push(tile);
                rests.push(rest);
            }
            rests.extend_from_slice(&modes[tilers.len()..]);
            Ok((Tree::Node(tiles), Tree::Node(rests)))
        }
        (Tree::Node(modes), _) => match modes.as_slice() {
            [tile, rest] => Ok((tile.clone(), rest.clone())),
            _ => Err(rank_mismatch(OP, 2, modes.len(), tuple)),
        },
        (Tree::Leaf(_), _) => Err(rank_mismatch(OP, 2, 1, tuple)),
    }
}

/// `((tiles…),(rests…))`.
///
/// # Errors
/// As [`logical_divide`]; a mode at `_` must be split in two already.
pub fn zipped_divide(layout: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    tile_unzip(&logical_divide(layout, tiler)?, tiler)
}

/// `((tiles…), rest, rest, …)`.
///
/// # Errors
/// As [`zipped_divide`].
pub fn tiled_divide(layout: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    Ok(unpack(
        &zipped_divide(layout, tiler)?,
        &[false, true],
        false,
    ))
}

/// `(tile, tile, …, rest, rest, …)`.
///
/// # Errors
/// As [`zipped_divide`].
pub fn flat_divide(layout: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    Ok(unpack(&zipped_divide(layout, tiler)?, &[true, true], false))
}

/// Replaces the marked modes by their own modes. A mode of rank 1 stays nested unless `unit` is
/// set: C++ CuTe keeps it, CuTe IR does not.
pub fn unpack(layout: &Layout, which: &[bool], unit: bool) -> Layout {
    let mut out = Vec::new();
    for (mode, unpack) in layout.modes().zip(which) {
        if *unpack && (unit || mode.rank() != 1) {
            out.extend(mode.modes());
        } else {
            out.push(mode);
        }
    }
    Layout::concat(out)
}

/// The shape of the rest of a division of `shape` by `tiler`: the number of tiles that cover it.
///
/// # Errors
/// As [`complement`] and [`ceil_div`](super::ceil_div).
pub fn ceil_div_tiler(shape: &IntTuple, tiler: &Tiler) -> Result<IntTuple, LayoutError> {
    match tiler {
        Tiler::Layout(layout) => Ok(complement(layout, shape)?.shape().clone()),
        Tiler::Int(extent) => super::ceil_div(shape, &Tree::Leaf(extent.clone())),
        Tiler::All => Ok(Tree::Leaf(Int::ONE)),
        Tiler::Tile(tilers) => {
            if tilers.len() > shape.rank() {
                return Err(LayoutError::TooManyModes {
                    op: "ceil_div",
                    limit: shape.rank(),
                    found: tilers.len(),
                    value: tiler.to_string(),
                });
            }
            let modes: Result<Vec<_>, _> = shape
                .modes()
                .iter()
                .enumerate()
                .map(|(index, mode)| match tilers.get(index) {
                    Some(tiler) => ceil_div_tiler(mode, tiler),
                    None => Ok(mode.clone()),
                })
                .collect();
            Ok(Tree::Node(modes?))
        }
    }
}
