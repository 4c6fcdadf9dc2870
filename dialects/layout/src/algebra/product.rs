//! Products: a layout repeated over another one.

use super::by_basis::{free_by_basis, is_by_basis};
use super::divide::unpack;
use super::{
    append_to_rank, complement, composition_padded, cosize, tile_unzip, transform_modes, zip,
};
use crate::{Layout, LayoutError, Tiler, Tree};

/// `(block, repeated)`: `block` repeated as `tiler` says, each repetition in its own place of the
/// codomain. A tile multiplies mode by mode.
///
/// # Errors
/// If the block has no complement ([`complement`]) or it does not compose with the tiler.
pub fn logical_product(block: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    match tiler {
        Tiler::Layout(tiler) => logical_product_layout(block, tiler),
        Tiler::Int(extent) => {
            logical_product_layout(block, &Tiler::extent_layout("logical_product", extent)?)
        }
        Tiler::All => Ok(block.clone()),
        Tiler::Tile(tilers) => transform_modes(
            "logical_product",
            block,
            tilers,
            || tiler.to_string(),
            true,
            |mode, tiler| logical_product(&mode, tiler),
        ),
    }
}

/// `(block, composition(complement(block, size(block) * cosize(tiler)), tiler))`.
///
/// # Errors
/// As [`logical_product`].
pub fn logical_product_layout(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    let span = block.size().mul(&cosize(tiler)?);
    let free = match is_by_basis(block) {
        true => free_by_basis(block, span)?,
        false => complement(block, &Tree::Leaf(span))?,
    };
    Ok(Layout::concat([
        block.clone(),
        composition_padded(&free, tiler)?,
    ]))
}

/// `((blocks…),(tiles…))`.
///
/// # Errors
/// As [`logical_product`].
pub fn zipped_product(block: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    tile_unzip(&logical_product(block, tiler)?, tiler)
}

/// `((blocks…), tile, tile, …)`. Unlike in the divides, a tile of rank 1 is unpacked too.
///
/// # Errors
/// As [`logical_product`].
pub fn tiled_product(block: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    Ok(unpack(&zipped_product(block, tiler)?, &[false, true], true))
}

/// `(block, block, …, tile, tile, …)`. Unlike in the divides, modes of rank 1 are unpacked too.
///
/// # Errors
/// As [`logical_product`].
pub fn flat_product(block: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    Ok(unpack(&zipped_product(block, tiler)?, &[true, true], true))
}

/// `((block0,tile0),(block1,tile1),…)`: blocks side by side.
///
/// # Errors
/// As [`logical_product`]; both must have the same nesting at the top.
pub fn blocked_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    zip(&ranked_product(block, tiler, false)?)
}

/// `((tile0,block0),(tile1,block1),…)`: blocks interleaved.
///
/// # Errors
/// As [`blocked_product`].
pub fn raked_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    zip(&ranked_product(block, tiler, true)?)
}

fn ranked_product(block: &Layout, tiler: &Layout, swap: bool) -> Result<Layout, LayoutError> {
    let rank = block.rank().max(tiler.rank());
    let unit = Layout::unit();
    let block = append_to_rank(block, rank, &unit);
    let tiler = append_to_rank(tiler, rank, &unit);
    let product = logical_product_layout(&block, &tiler)?;
    let mut modes: Vec<Layout> = product.modes().collect();
    if swap {
        modes.reverse();
    }
    Ok(Layout::concat(modes))
}
