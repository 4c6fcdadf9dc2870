//! Where in a view a tile lies, from the operation that accesses it.
use super::emits::cute;
use cutec_dialects::builder::{IrOp, IrValue, OpBuilder};
use cutec_dialects::memo::{type_text, val_of};
use cutec_dialects::ops::{ArithOp, CuteOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::by_element;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val};
use cutec_layout::{Tree, Width};
use melior::ir::{Type, ValueLike};

/// The coordinate of a tile.
#[derive(PartialEq)]
pub(super) struct Coordinate<'c> {
    /// An integer for each axis.
    pub values: Vec<IrValue<'c>>,
    by_element: Vec<bool>,
}

impl<'c> Coordinate<'c> {
    /// Of an operation that accesses a tile of a view.
    pub fn of(op: IrOp<'c>) -> Result<Self, String> {
        let load = tile::Load::of(op).map(tile::Load::at);
        let store = || tile::Store::of(op).map(tile::Store::at);
        let copy = || tile::CopyAsync::of(op).map(tile::CopyAsync::at);
        let waiting = || tile::Waiting::of(op).map(tile::Waiting::at);
        let values = load.or_else(store).or_else(copy).or_else(waiting);
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

    /// Where a tile of so many elements along an axis begins there, in elements, in 32 bits: one beyond these is the last of its side.
    pub fn begin(
        &self,
        ir: &OpBuilder<'c>,
        axis: usize,
        length: i64,
    ) -> Result<IrValue<'c>, SemError> {
        let at = number(ir, self.values[axis])?;
        let ty = at.r#type();
        let begin = match self.is_offset(axis) {
            true => at,
            false => ir.value(ArithOp::Muli, &[at, ir.constant_of(length, ty)], &[], ty),
        };
        Ok(narrowed(ir, begin))
    }

    /// What is known to divide the offset along an axis; 0 where tiles are counted.
    pub fn divisor(&self, axis: usize) -> i64 {
        match self.values.get(axis) {
            Some(value) if self.is_offset(axis) => divisor(*value),
            _ => 0,
        }
    }
}

/// An integer of the `cute` dialect as a number; one that is a number stays.
pub(super) fn number<'c>(
    ir: &OpBuilder<'c>,
    integer: IrValue<'c>,
) -> Result<IrValue<'c>, SemError> {
    if ["i32", "i64"].contains(&&*type_text(integer.r#type())) {
        return Ok(integer);
    }
    let width = match val_of(integer)? {
        Val::Tuple(_, Tree::Leaf(Some(leaf))) => leaf.width(),
        _ => Width::I32,
    };
    let attrs = Attrs::result(Val::integer(width));
    cute(ir, CuteOp::GetScalar, &[integer], &attrs)
}

/// A number in 32 bits: of 64 the last of its side where it does not fit.
pub(super) fn narrowed<'c>(ir: &OpBuilder<'c>, number: IrValue<'c>) -> IrValue<'c> {
    narrowed_multiple(ir, number, 1)
}

/// A multiple of a number in 32 bits: of 64 the last one of its side where it does not fit.
fn narrowed_multiple<'c>(ir: &OpBuilder<'c>, number: IrValue<'c>, of: i64) -> IrValue<'c> {
    let (wide, word) = (ir.ty("i64"), ir.ty("i32"));
    if number.r#type() != wide {
        return number;
    }
    let [least, most] = [i32::MIN, i32::MAX].map(|end| {
        let end = i64::from(end);
        ir.constant(end - end % of, "i64")
    });
    let number = ir.value(ArithOp::Maxsi, &[number, least], &[], wide);
    let number = ir.value(ArithOp::Minsi, &[number, most], &[], wide);
    ir.value(ArithOp::Trunci, &[number], &[], word)
}

/// An integer as a tensor map takes it: of 64 bits in 32, with what is known to divide it.
pub(super) fn in_word<'c>(
    ir: &OpBuilder<'c>,
    integer: IrValue<'c>,
) -> Result<IrValue<'c>, SemError> {
    if !type_text(integer.r#type()).contains("i64") {
        return Ok(integer);
    }
    let divisor = divisor(integer);
    let number = narrowed_multiple(ir, number(ir, integer)?, divisor.max(1));
    multiple(ir, number, divisor)
}

/// A number of which is known what divides it.
pub(super) fn multiple<'c>(
    ir: &OpBuilder<'c>,
    number: IrValue<'c>,
    divisor: i64,
) -> Result<IrValue<'c>, SemError> {
    if divisor <= 1 {
        return Ok(number);
    }
    let known = Vars::default().fresh(width_of(number.r#type()), divisor);
    let known = Attrs::result(Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(known))));
    cute(ir, CuteOp::Assume, &[number], &known)
}

/// How many bits a number of a type has.
pub(super) fn width_of(ty: Type) -> Width {
    match &*type_text(ty) {
        "i64" => Width::I64,
        _ => Width::I32,
    }
}

/// The extent of a view along an axis.
pub(super) fn extent<'c>(
    ir: &OpBuilder<'c>,
    view: IrValue<'c>,
    axis: usize,
    width: Width,
) -> Result<IrValue<'c>, SemError> {
    let size = cute(ir, CuteOp::Size, &[view], &Attrs::mode([axis as i64]))?;
    let attrs = Attrs::result(Val::integer(width));
    cute(ir, CuteOp::GetScalar, &[size], &attrs)
}

/// What the type of an integer says to divide it: 0 for a static zero.
fn divisor(value: IrValue) -> i64 {
    match val_of(value) {
        Ok(Val::Tuple(_, Tree::Leaf(Some(leaf)))) => leaf.div(),
        _ => 1,
    }
}
