//! Coordinates to offsets and back.

use super::int_tuple::spell_basis;
use super::size::coprofile;
use super::{plain_integers, product, rank_mismatch, tuple_add};
use crate::{Int, IntTuple, Layout, LayoutError, Tree};

/// The value of `layout` at `coord`: an integer, or for scaled bases a tuple of the profile that
/// they span. An integer
/// coordinate of a tuple of modes runs through the modes from left to right; the last one is not
/// bounded.
///
/// # Errors
/// If the coordinate is nested where the shape is not, or the ranks differ.
pub fn crd2idx(coord: &IntTuple, layout: &Layout) -> Result<IntTuple, LayoutError> {
    plain_integers("crd2idx", coord)?;
    if !layout.stride().any(&mut |leaf| !leaf.path().is_empty()) {
        let mut sum = Int::ZERO;
        add_up(coord, layout.shape(), layout.stride(), &mut sum)?;
        return Ok(Tree::Leaf(sum));
    }
    let value = go(coord, layout.shape(), layout.stride())?;
    Ok(spread(&value, &coprofile("crd2idx", layout.stride())?))
}

/// Spells bases out, and gives zeros the profile that they stand for.
fn spread(value: &IntTuple, profile: &Tree<()>) -> IntTuple {
    match (spell_basis(value), profile) {
        (Tree::Node(modes), Tree::Node(profiles)) => Tree::Node(
            profiles
                .iter()
                .enumerate()
                .map(|(index, profile)| match modes.get(index) {
                    Some(mode) => spread(mode, profile),
                    None => profile.repeat_like(&Int::ZERO),
                })
                .collect(),
        ),
        (Tree::Leaf(zero), profile) if zero.is(0) => profile.repeat_like(&zero),
        (value, _) => value,
    }
}

/// Adds the value of a layout of integer strides to `sum`.
fn add_up(
    coord: &IntTuple,
    shape: &IntTuple,
    stride: &IntTuple,
    sum: &mut Int,
) -> Result<(), LayoutError> {
    match (coord, shape, stride) {
        (Tree::Leaf(coord), shape, stride) => {
            add_up_index(coord.clone(), shape, stride, sum);
            Ok(())
        }
        (Tree::Node(coords), Tree::Node(shapes), Tree::Node(strides))
            if coords.len() == shapes.len() =>
        {
            let modes = coords.iter().zip(shapes.iter().zip(strides));
            modes
                .into_iter()
                .try_for_each(|(coord, (shape, stride))| add_up(coord, shape, stride, sum))
        }
        (coord, shape, _) => Err(rank_mismatch("crd2idx", shape.rank(), coord.rank(), coord)),
    }
}

/// [`add_up`] for an index, which runs through the modes.
fn add_up_index(index: Int, shape: &IntTuple, stride: &IntTuple, sum: &mut Int) {
    let (Tree::Node(shapes), Tree::Node(strides)) = (shape, stride) else {
        if let Tree::Leaf(stride) = stride {
            *sum = sum.add(&index.mul(stride));
        }
        return;
    };
    let Some(last) = shapes.len().checked_sub(1) else {
        return;
    };
    let mut rest = index;
    for (shape, stride) in shapes[..last].iter().zip(strides) {
        let extent = product(shape);
        add_up_index(rest.modulo(&extent), shape, stride, sum);
        rest = rest.floor_div(&extent);
    }
    add_up_index(rest, &shapes[last], &strides[last], sum);
}

fn go(coord: &IntTuple, shape: &IntTuple, stride: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (coord, shape, stride) {
        (Tree::Leaf(coord), Tree::Leaf(_), Tree::Leaf(stride)) => Ok(Tree::Leaf(coord.mul(stride))),
        (Tree::Leaf(coord), Tree::Node(shapes), Tree::Node(strides)) => {
            let mut sum = Tree::Leaf(Int::ZERO);
            let mut rest = coord.clone();
            for (index, (shape, stride)) in shapes.iter().zip(strides).enumerate() {
                let here = if index + 1 == shapes.len() {
                    rest.clone()
                } else {
                    let extent = product(shape);
                    let here = rest.modulo(&extent);
                    rest = rest.floor_div(&extent);
                    here
                };
                sum = tuple_add(&sum, &go(&Tree::Leaf(here), shape, stride)?)?;
            }
            Ok(sum)
        }
        (Tree::Node(coords), Tree::Node(shapes), Tree::Node(strides))
            if coords.len() == shapes.len() =>
        {
            let modes = coords.iter().zip(shapes.iter().zip(strides));
            modes
                .into_iter()
                .try_fold(Tree::Leaf(Int::ZERO), |sum, (coord, (shape, stride))| {
                    tuple_add(&sum, &go(coord, shape, stride)?)
                })
        }
        (coord, shape, _) => Err(rank_mismatch("crd2idx", shape.rank(), coord.rank(), coord)),
    }
}

/// [`crd2idx`] for a layout of integer strides.
///
/// # Errors
/// As [`crd2idx`]; also if the layout has scaled bases.
pub fn offset_at(coord: &IntTuple, layout: &Layout) -> Result<Int, LayoutError> {
    match crd2idx(coord, layout)? {
        Tree::Leaf(offset) if offset.path().is_empty() => Ok(offset),
        other => Err(LayoutError::Unsupported {
            op: "crd2idx",
            expected: "a layout of integer strides",
            found: other.to_string(),
        }),
    }
}

/// The index of `coord` in the colexicographic order of `shape`.
///
/// # Errors
/// If the coordinate does not fit the shape.
pub fn crd2idx_shape(coord: &IntTuple, shape: &IntTuple) -> Result<Int, LayoutError> {
    fn horner(
        coord: &IntTuple,
        shape: &IntTuple,
        scale: &mut Int,
        sum: &mut Int,
    ) -> Result<(), LayoutError> {
        match (coord, shape) {
            (Tree::Leaf(coord), shape) => {
                *sum = sum.add(&coord.mul(scale));
                *scale = scale.mul(&product(shape));
                Ok(())
            }
            (Tree::Node(coords), Tree::Node(shapes)) if coords.len() == shapes.len() => coords
                .iter()
                .zip(shapes)
                .try_for_each(|(coord, shape)| horner(coord, shape, scale, sum)),
            (coord, shape) => Err(rank_mismatch("crd2idx", shape.rank(), coord.rank(), coord)),
        }
    }
    plain_integers("crd2idx", coord)?;
    plain_integers("crd2idx", shape)?;
    let (mut scale, mut sum) = (Int::ONE, Int::ZERO);
    horner(coord, shape, &mut scale, &mut sum)?;
    Ok(sum)
}

/// The coordinate of index `index` in the colexicographic order of `shape`. The last mode is not
/// bounded. A tuple of indices goes mode by mode.
///
/// # Errors
/// If a tuple of indices does not fit the shape.
pub fn idx2crd(index: &IntTuple, shape: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (index, shape) {
        (Tree::Leaf(_), Tree::Leaf(_)) => Ok(index.clone()),
        (Tree::Leaf(index), Tree::Node(modes)) => {
            let mut rest = index.clone();
            let mut out = Vec::with_capacity(modes.len());
            for (place, mode) in modes.iter().enumerate() {
                let here = if place + 1 == modes.len() {
                    rest.clone()
                } else {
                    let extent = product(mode);
                    let here = rest.modulo(&extent);
                    rest = rest.floor_div(&extent);
                    here
                };
                out.push(idx2crd(&Tree::Leaf(here), mode)?);
            }
            Ok(Tree::Node(out))
        }
        (Tree::Node(indices), Tree::Node(modes)) if indices.len() == modes.len() => {
            let coords: Result<Vec<_>, _> = indices
                .iter()
                .zip(modes)
                .map(|(index, mode)| idx2crd(index, mode))
                .collect();
            Ok(Tree::Node(coords?))
        }
        (index, shape) => Err(rank_mismatch("idx2crd", shape.rank(), index.rank(), index)),
    }
}

/// The coordinate at which a compact layout has the value `index`: `(index / stride) % shape` at
/// every leaf.
///
/// # Errors
/// If a stride is 0 in a mode of more than one element, negative, or a scaled basis.
pub fn idx2crd_strided(index: &Int, layout: &Layout) -> Result<IntTuple, LayoutError> {
    super::int_tuple::zip_leaves(
        "idx2crd",
        layout.shape(),
        layout.stride(),
        &mut |shape, stride| {
            if shape.is(1) {
                return Ok(Tree::Leaf(Int::ZERO));
            }
            if !stride.path().is_empty() || stride.as_static().is_some_and(|stride| stride <= 0) {
                return Err(LayoutError::Unsupported {
                    op: "idx2crd",
                    expected: "a compact layout",
                    found: layout.to_string(),
                });
            }
            Ok(Tree::Leaf(index.floor_div(stride).modulo(shape)))
        },
    )
}

/// The flat coordinate, one index a mode, at which a compact layout has the value `index`.
///
/// # Errors
/// As [`idx2crd_strided`].
pub fn flat_coord(index: &Int, layout: &Layout) -> Result<Vec<Int>, LayoutError> {
    let coord = idx2crd_strided(index, layout)?;
    let modes = coord.modes().iter().zip(layout.shape().modes());
    modes
        .map(|(coord, shape)| crd2idx_shape(coord, shape))
        .collect()
}

/// A coordinate of `from` as a coordinate of `to`, through the common index.
///
/// # Errors
/// If the coordinate does not fit.
pub fn crd2crd(coord: &IntTuple, from: &IntTuple, to: &IntTuple) -> Result<IntTuple, LayoutError> {
    match (coord, from, to) {
        (Tree::Node(coords), Tree::Node(froms), Tree::Node(tos))
            if coords.len() == froms.len() && froms.len() == tos.len() =>
        {
            let modes: Result<Vec<_>, _> = coords
                .iter()
                .zip(froms.iter().zip(tos))
                .map(|(coord, (from, to))| crd2crd(coord, from, to))
                .collect();
            Ok(Tree::Node(modes?))
        }
        _ => idx2crd(&Tree::Leaf(crd2idx_shape(coord, from)?), to),
    }
}
