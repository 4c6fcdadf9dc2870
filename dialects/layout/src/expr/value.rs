//! [`Value`]: what an expression can be, and its reading as an argument.

use crate::algebra::coord_text;
use crate::{AnyLayout, Coord, Int, IntTuple, Layout, Swizzle, Tiler, Tree};
use std::fmt;

/// The value of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// An integer or a tuple of integers.
    Tuple(IntTuple),
    /// A coordinate with a `_` in it.
    Coord(Coord),
    /// A layout.
    Layout(AnyLayout),
    /// A swizzle alone.
    Swizzle(Swizzle),
    /// A tile in brackets.
    Tiler(Tiler),
    /// The answer of a comparison.
    Bool(bool),
}

impl Value {
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Tuple(Tree::Leaf(_)) => "an integer",
            Value::Tuple(_) => "a tuple",
            Value::Coord(_) => "a coordinate",
            Value::Layout(AnyLayout::Plain(_)) => "a layout",
            Value::Layout(AnyLayout::Composed(_)) => "a composed layout",
            Value::Swizzle(_) => "a swizzle",
            Value::Tiler(_) => "a tile",
            Value::Bool(_) => "a truth value",
        }
    }

    /// Whether it consists of integers that a text may have, and of layouts whose sizes and offsets fit.
    pub(super) fn fits(&self) -> bool {
        match self {
            Value::Tuple(value) => value.fits(),
            Value::Coord(value) => value.leaves().into_iter().flatten().all(Int::fits),
            Value::Layout(value) => value.fits(),
            Value::Tiler(value) => value.fits(),
            Value::Swizzle(_) | Value::Bool(_) => true,
        }
    }

    /// As a layout; a shape stands for its column-major layout.
    pub(super) fn to_any_layout(&self) -> Option<AnyLayout> {
        match self {
            Value::Layout(layout) => Some(layout.clone()),
            Value::Tuple(shape) => {
                let plain = shape.leaves().iter().all(|leaf| leaf.path().is_empty());
                plain.then(|| AnyLayout::Plain(Layout::col_major(shape.clone())))
            }
            _ => None,
        }
    }

    /// As a plain layout.
    pub(super) fn to_layout(&self) -> Option<Layout> {
        match self.to_any_layout()? {
            AnyLayout::Plain(layout) => Some(layout),
            AnyLayout::Composed(_) => None,
        }
    }

    /// As an integer tuple.
    pub(super) fn to_tuple(&self) -> Option<IntTuple> {
        match self {
            Value::Tuple(tuple) => Some(tuple.clone()),
            _ => None,
        }
    }

    /// As a static integer.
    pub(super) fn to_static(&self) -> Option<i64> {
        match self {
            Value::Tuple(Tree::Leaf(Int::Static(value))) => Some(*value),
            _ => None,
        }
    }

    /// As a coordinate.
    pub(super) fn to_coord(&self) -> Option<Coord> {
        match self {
            Value::Tuple(tuple) => Some(tuple.map(&mut |leaf| Some(leaf.clone()))),
            Value::Coord(coord) => Some(coord.clone()),
            _ => None,
        }
    }

    /// As a tiler: a layout, an integer, a shape or `_` will do. An integer alone is `n:1`, in CuTe IR
    /// also for 1; within a shape, 1 is `1:0` as in C++, which has no stride to carry along.
    pub(super) fn to_tiler(&self) -> Option<Tiler> {
        match self {
            Value::Tiler(tiler) => Some(tiler.clone()),
            Value::Tuple(Tree::Leaf(one)) if one.is(1) => Some(Tiler::Layout(Layout::scalar(1, 1))),
            Value::Tuple(shape) => Some(Tiler::from_shape(shape)),
            Value::Layout(AnyLayout::Plain(layout)) => Some(Tiler::Layout(layout.clone())),
            Value::Coord(coord) => Some(tiler_of_coord(coord)),
            _ => None,
        }
    }
}

fn tiler_of_coord(coord: &Coord) -> Tiler {
    match coord {
        Tree::Leaf(Some(extent)) => Tiler::Int(extent.clone()),
        Tree::Leaf(None) => Tiler::All,
        Tree::Node(modes) => Tiler::Tile(modes.iter().map(tiler_of_coord).collect()),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Tuple(tuple) => tuple.fmt(f),
            Value::Coord(coord) => f.write_str(&coord_text(coord)),
            Value::Layout(layout) => layout.fmt(f),
            Value::Swizzle(swizzle) => swizzle.fmt(f),
            Value::Tiler(tiler) => tiler.fmt(f),
            Value::Bool(value) => value.fmt(f),
        }
    }
}
