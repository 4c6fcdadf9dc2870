//! Where in a view a tile lies, from the operation that accesses it.
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::tile;
use cutec_dialects::tile::by_element;
use cutec_dialects::value::Val;
use cutec_layout::Tree;

/// The coordinate of a tile.
#[derive(PartialEq)]
pub(super) struct Coordinate<'c> {
    /// An integer for each axis.
    pub values: Vec<IrValue<'c>>,
    by_element: Vec<bool>,
}

impl<'c> Coordinate<'c> {
    /// Of a `tile.load`, `tile.store` or `tile.copy_async`.
    pub fn of(op: IrOp<'c>) -> Result<Self, String> {
        let load = tile::Load::of(op).map(tile::Load::at);
        let store = || tile::Store::of(op).map(tile::Store::at);
        let copy = || tile::CopyAsync::of(op).map(tile::CopyAsync::at);
        let values = load.or_else(store).or_else(copy);
        let values = values.ok_or("has no coordinate")?;
        let by_element = by_element(&op, values.len())?;
        Ok(Coordinate { values, by_element })
    }

    /// The same along some of its axes.
    pub fn along(&self, axes: &[usize]) -> Self {
        let values = axes.iter().map(|axis| self.values[*axis]);
        let by_element = axes.iter().map(|axis| self.is_offset(*axis));
        Coordinate {
            values: values.collect(),
            by_element: by_element.collect(),
        }
    }

    /// Whether it is an offset along an axis, in elements, which may be negative.
    pub fn is_offset(&self, axis: usize) -> bool {
        self.by_element.get(axis).copied().unwrap_or(false)
    }

    /// Whether it is one along any axis.
    pub fn has_offsets(&self) -> bool {
        self.by_element.contains(&true)
    }

    /// What is known to divide the offset along an axis; 0 where tiles are counted.
    pub fn divisor(&self, axis: usize) -> i64 {
        match self.values.get(axis) {
            Some(value) if self.is_offset(axis) => divisor(*value),
            _ => 0,
        }
    }
}

/// What the type of an integer says to divide it: 0 for a static zero.
fn divisor(value: IrValue) -> i64 {
    match val_of(value) {
        Ok(Val::Tuple(_, Tree::Leaf(Some(leaf)))) => leaf.div(),
        _ => 1,
    }
}
