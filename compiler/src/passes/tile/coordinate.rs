//! Where in a view a tile lies, from the operation that accesses it.
use crate::passes::ir_utils::operand_value;
use cutec_dialects::builder::{IrOp, IrValue};
use cutec_dialects::memo::val_of;
use cutec_dialects::ops::{Op, TileOp};
use cutec_dialects::tile::by_element;
use cutec_dialects::value::Val;
use cutec_layout::Tree;
use melior::ir::operation::OperationLike;

/// The coordinate of a tile.
pub(super) struct Coordinate<'c> {
    /// An integer for each axis.
    pub values: Vec<IrValue<'c>>,
    by_element: Vec<bool>,
}

impl<'c> Coordinate<'c> {
    /// Of a `tile.load`, `tile.store` or `tile.copy_async`.
    pub fn of(op: IrOp<'c>) -> Result<Self, String> {
        let count = op.operand_count();
        let (first, end) = match Op::of(op) {
            Some(Op::TileOp(TileOp::Store)) => (2, count),
            Some(Op::TileOp(TileOp::CopyAsync)) => (1, count.saturating_sub(2)),
            _ => (1, count),
        };
        let values: Vec<IrValue<'c>> = (first..end)
            .filter_map(|index| operand_value(op, index))
            .collect();
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
