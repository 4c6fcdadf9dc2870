//! Tiled copies made from thread and value layouts, or to fit a tiled MMA.

use super::copy::{CopyAtom, TiledCopy, mode_size};
use super::mma::{Operand, TiledMma};
use crate::algebra::{
    coalesce, composition, composition_tiler, filter, left_inverse, product_each, raked_product,
    right_inverse,
};
use crate::{Int, IntTuple, Layout, LayoutError, Tiler, Tree};

/// A tiled copy from `(m, n) -> thread` and `(m, n) -> value`: each thread owns a block of
/// values, and the blocks lie as the threads do.
///
/// # Errors
/// If the layouts do not multiply, or have too few threads or values for the atom.
pub fn make_tiled_copy_tv(
    atom: CopyAtom,
    thr_layout: &Layout,
    val_layout: &Layout,
) -> Result<TiledCopy, LayoutError> {
    let layout_mn = raked_product(thr_layout, val_layout)?;
    let shape = Tree::Node(vec![
        Tree::Leaf(thr_layout.size()),
        Tree::Leaf(val_layout.size()),
    ]);
    let layout_tv = composition(&right_inverse(&layout_mn), &Layout::col_major(shape))?;
    let tiler = Tiler::from_shape(&product_each(layout_mn.shape()));
    TiledCopy::new(atom, layout_tv, tiler)
}

/// The tiled copy whose values are those of operand A of `mma`.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_a(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy, LayoutError> {
    for_operand(atom, mma, Operand::A)
}

/// The tiled copy whose values are those of operand B of `mma`.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_b(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy, LayoutError> {
    for_operand(atom, mma, Operand::B)
}

/// The tiled copy whose values are those of the accumulator of `mma`.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_c(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy, LayoutError> {
    for_operand(atom, mma, Operand::C)
}

fn for_operand(atom: CopyAtom, mma: &TiledMma, operand: Operand) -> Result<TiledCopy, LayoutError> {
    TiledCopy::new(
        atom,
        mma.layout_tv(operand)?,
        Tiler::from_shape(&tile_shape(mma, operand)),
    )
}

fn tile_shape(mma: &TiledMma, operand: Operand) -> IntTuple {
    let modes = operand.modes().map(|mode| Tree::Leaf(mma.tile_size(mode)));
    Tree::Node(modes.to_vec())
}

/// The smallest tiled copy that [retiles](TiledCopy::retile) the accumulator of `mma`: its tile
/// holds only as many values a thread as the atom copies.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_c_atom(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy, LayoutError> {
    let whole = mma.layout_tv(Operand::C)?;
    let values = mode_size(&atom.src_tv, 1);
    let shape = Tree::Node(vec![Tree::Leaf(mode_size(&whole, 0)), Tree::Leaf(values)]);
    let layout_tv = composition(&whole, &Layout::col_major(shape))?;
    let (layout_tv, tiler) = shrink(&layout_tv, &tile_shape(mma, Operand::C))?;
    TiledCopy::new(atom, layout_tv, tiler)
}

/// A tiled copy from the memory that each thread touches: `(thread, value) -> address`, and the
/// layout `coordinate -> address` of the tensor.
///
/// # Errors
/// If the addresses are not all in the tensor, or the layouts are not static.
pub fn make_cotiled_copy(
    atom: CopyAtom,
    address_tv: &Layout,
    data: &Layout,
) -> Result<TiledCopy, LayoutError> {
    let to_coord = Layout::concat([left_inverse(data)?, Layout::unit()]);
    let layout_tv = composition(&to_coord, address_tv)?;
    let back = Layout::concat([data.clone(), Layout::unit()]);
    if let (Some(values), Some(wanted)) = (layout_tv.mode(1), address_tv.mode(1)) {
        let found = coalesce(&composition(&back, &values)?);
        if found != coalesce(&wanted) {
            return Err(LayoutError::Unsupported {
                op: "make_cotiled_copy",
                expected: "addresses inside of the data layout",
                found: address_tv.to_string(),
            });
        }
    }
    let (layout_tv, tiler) = shrink(&layout_tv, &product_each(data.shape()))?;
    TiledCopy::new(atom, layout_tv, tiler)
}

/// The tile of `shape` that `layout_tv` touches, and `layout_tv` into that tile.
fn shrink(layout_tv: &Layout, shape: &IntTuple) -> Result<(Layout, Tiler), LayoutError> {
    let rank = shape.rank();
    let mut tiler = Vec::with_capacity(rank);
    for mode in 0..rank {
        let strides = (0..rank).map(|other| Tree::Leaf(Int::Static(i64::from(other == mode))));
        let along = Layout::new(shape.clone(), Tree::Node(strides.collect()))?;
        tiler.push(Tiler::Layout(filter(&composition(&along, layout_tv)?)));
    }
    let tiler = Tiler::Tile(tiler);
    let in_tile = composition_tiler(&Layout::col_major(shape.clone()), &tiler)?;
    let layout_tv = composition(&left_inverse(&in_tile)?, layout_tv)?;
    Ok((layout_tv, tiler))
}

/// A tiled copy of `atom` whose values are those that `other` reads.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_s(atom: CopyAtom, other: &TiledCopy) -> Result<TiledCopy, LayoutError> {
    TiledCopy::new(atom, other.layout_s_tv()?, other.tiler_mn().clone())
}

/// A tiled copy of `atom` whose values are those that `other` writes.
///
/// # Errors
/// If the atom copies more than a thread holds.
pub fn make_tiled_copy_d(atom: CopyAtom, other: &TiledCopy) -> Result<TiledCopy, LayoutError> {
    TiledCopy::new(atom, other.layout_d_tv()?, other.tiler_mn().clone())
}
