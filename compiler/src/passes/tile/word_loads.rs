//! Bytes of a factor whose rows lie across memory, loaded as words of 16 bits: `ldmatrix` turns matrices of these.
//!
//! A thread gets a word of each of two neighbours along k, two rows of the factor of bytes or four of half bytes, and takes them apart in its
//! registers. The order of the rows gives it these (`order_of_rows.rs`).
use super::coordinate::Coordinate;
use super::emits::cute;
use super::held_factor::HeldFactor;
use super::layout_classes::LayoutClasses;
use super::order_of_rows::GROUPS;
use super::types::{Failed, fast_axis, tile_of, view_of};
use crate::passes::ir_utils::{clone, erase, replace_all_uses, set_operand, users};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{CuteOp, TileOp, tile};
use cutec_dialects::semantics::{Attrs, SemError};
use cutec_dialects::tile::TileType;
use cutec_dialects::value::{Ptr, Val};
use melior::Context;
use melior::ir::{ValueLike, operation::OperationLike};

/// The words.
const WORD: Elem = Elem::I16;

/// Whether such a factor can be loaded as words, all that it is computed of: instructions multiply elements of the size of a word.
pub(super) fn is_of_words(held: &HeldFactor) -> bool {
    let mut bytes = held.loads.iter().map(|load| bytes_along(*load));
    let of_words = |bytes: Option<TileType>| {
        // Rows of the factor that a thread has at least.
        bytes.is_some_and(|bytes| held.rows % (GROUPS * 2 * held.size / bytes.size()) == 0)
    };
    held.across && held.multiplied == WORD.bits() && bytes.all(of_words)
}

/// Loads what such factors of products are computed of as words.
pub(super) fn load_words<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    dots: &[IrOp<'c>],
) -> Result<(), Failed<'c>> {
    let held = |dot: &IrOp<'c>| {
        let is_whole = dot.attribute("mma").is_err() && !is_of_slices(*dot);
        let held = HeldFactor::of(*dot).filter(|held| is_whole && is_of_words(held));
        Some((*dot, held?))
    };
    let mut held = dots.iter().filter_map(held).peekable();
    if held.peek().is_none() {
        return Ok(());
    }
    let classes = LayoutClasses::of(function)?;
    let factors = classes.of_factors(dots.iter().copied());
    for (dot, held) in held {
        // Sums that are a factor are wanted as that has them.
        let sums = classes.class(result_of(dot, 0));
        if !sums.is_some_and(|sums| factors.contains(&sums)) {
            let loads = held.loads.iter().filter_map(|load| tile::Load::of(*load));
            loads.for_each(|load| load_as_words(context, load).unwrap_or_default());
        }
    }
    Ok(())
}

/// Whether a product gives one of each slice of k.
fn is_of_slices(dot: IrOp) -> bool {
    tile_of(dot, result_of(dot, 0)).is_ok_and(|sums| sums.shape.len() > 2)
}

/// The tile of bytes that a load gives as it lies, with an even number of bytes in a row.
fn bytes_along(load: IrOp) -> Option<TileType> {
    let tile = tile_of(load, result_of(load, 0)).ok()?;
    let of = tile::Load::of(load)?;
    let last = tile.shape.len() - 1;
    let (axis, _) = fast_axis(of.view())?;
    let whole = !Coordinate::of(load).ok()?.is_offset(last) && tile.shape[last] % 2 == 0;
    let plain = of.fill().is_none() && load.attribute("copy").is_err();
    (tile.elem.bits() == 8 && axis == last && whole && plain).then_some(tile)
}

/// Loads a tile of bytes as words, and takes these apart.
fn load_as_words<'c>(context: &'c Context, load: tile::Load<'c>) -> Option<()> {
    let (op, bytes) = (load.op(), bytes_along(load.op())?);
    let mut shape = bytes.shape.clone();
    *shape.last_mut()? /= 2;
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let view = recast_view(&ir, load.view(), WORD).ok()?;
    let words = ir.insert(clone(op));
    set_operand(words, 0, view);
    let given = result_of(words, 0);
    given.set_type(TileType::new(WORD, &shape).ir(context));
    // What takes the bytes apart takes the words apart.
    for user in users(load.result()) {
        if TileOp::Recast.is(user) && user.attribute("order").is_err() {
            set_operand(user, 0, given);
        }
    }
    if !users(load.result()).is_empty() {
        let bytes = ir.value(TileOp::Recast, &[given], &[], bytes.ir(context));
        replace_all_uses(load.result(), bytes);
    }
    erase(op);
    Some(())
}

/// A view with its elements as other ones.
pub(super) fn recast_view<'c>(
    ir: &OpBuilder<'c>,
    view: IrValue<'c>,
    elem: Elem,
) -> Result<IrValue<'c>, SemError> {
    let of = view_of(view).ok_or_else(|| SemError::Illegal("expects a view".into()))?;
    let widths = Attrs::mode([elem.bits(), of.ptr.elem.bits()]);
    let pointer = Attrs::result(Val::Ptr(Ptr { elem, ..of.ptr }));
    let plain = Attrs::default();
    let start = cute(ir, CuteOp::GetIter, &[view], &plain)?;
    let start = cute(ir, CuteOp::RecastIter, &[start], &pointer)?;
    let layout = cute(ir, CuteOp::GetLayout, &[view], &plain)?;
    let layout = cute(ir, CuteOp::RecastLayout, &[layout], &widths)?;
    cute(ir, CuteOp::MakeView, &[start, layout], &plain)
}
