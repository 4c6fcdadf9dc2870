//! Slices: the modes at a `_` stay, the others are fixed.

use super::{crd2idx, rank_mismatch};
use crate::{Coord, Int, IntTuple, Layout, LayoutError, Tree};

/// The sub-layout at the `_` of `coord`.
///
/// # Errors
/// If the coordinate is nested where the layout is not, or the ranks differ.
pub fn slice(coord: &Coord, layout: &Layout) -> Result<Layout, LayoutError> {
    pick("slice", coord, layout, true)
}

/// The sub-layout at the integers of `coord`.
///
/// # Errors
/// As [`slice()`].
pub fn dice(coord: &Coord, layout: &Layout) -> Result<Layout, LayoutError> {
    pick("dice", coord, layout, false)
}

/// The slice, and the offset of its origin.
///
/// # Errors
/// As [`slice()`].
pub fn slice_and_offset(coord: &Coord, layout: &Layout) -> Result<(Layout, IntTuple), LayoutError> {
    let origin = coord.map(&mut |leaf| leaf.clone().unwrap_or(Int::ZERO));
    Ok((slice(coord, layout)?, crd2idx(&origin, layout)?))
}

fn pick(
    op: &'static str,
    coord: &Coord,
    layout: &Layout,
    at_underscore: bool,
) -> Result<Layout, LayoutError> {
    if let Tree::Leaf(leaf) = coord {
        return Ok(if leaf.is_none() == at_underscore {
            layout.clone()
        } else {
            Layout::raw(Tree::Node(Vec::new()), Tree::Node(Vec::new()))
        });
    }
    let (mut shapes, mut strides) = (Vec::new(), Vec::new());
    lift(op, coord, layout.shape(), at_underscore, &mut shapes)?;
    lift(op, coord, layout.stride(), at_underscore, &mut strides)?;
    Ok(Layout::raw(Tree::Node(shapes), Tree::Node(strides)))
}

/// A coordinate as it is written.
pub(crate) fn coord_text(coord: &Coord) -> String {
    match coord {
        Tree::Leaf(leaf) => leaf.as_ref().map_or("_".to_owned(), Int::to_string),
        Tree::Node(modes) => {
            let modes: Vec<String> = modes.iter().map(coord_text).collect();
            format!("({})", modes.join(","))
        }
    }
}

fn lift(
    op: &'static str,
    coord: &Coord,
    tuple: &IntTuple,
    at_underscore: bool,
    out: &mut Vec<IntTuple>,
) -> Result<(), LayoutError> {
    match (coord, tuple) {
        (Tree::Leaf(leaf), tuple) => {
            if leaf.is_none() == at_underscore {
                out.push(tuple.clone());
            }
            Ok(())
        }
        (Tree::Node(coords), Tree::Node(modes)) if coords.len() == modes.len() => coords
            .iter()
            .zip(modes)
            .try_for_each(|(coord, mode)| lift(op, coord, mode, at_underscore, out)),
        (coord, tuple) => {
            let coord_text = coord_text(coord);
            Err(rank_mismatch(op, tuple.rank(), coord.rank(), coord_text))
        }
    }
}
