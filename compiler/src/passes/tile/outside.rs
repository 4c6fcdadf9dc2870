//! Coordinates that lie outside of their view: nothing is read there, a tile is zeros or its `fill`.
use super::coordinate::{Coordinate, extent};
use crate::passes::cmpi::{BELOW, GREATER, LESS, cmpi};
use cutec_dialects::builder::{
    Insertion, IrValue, OpBuilder, argument_of, region_with_block, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, CuteOp, ScfOp, TileOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_dialects::tile::TileType;
use cutec_layout::Width;
use melior::ir::{Attribute, ValueLike};

/// Elements beyond every view.
const OUTSIDE: i64 = 1 << 30;

/// The axis along which a tile can be put outside of its view: one along which tiles are counted, or one with an
/// offset that is not static.
pub(super) fn axis_of(at: &Coordinate) -> Option<usize> {
    let mut axes = 0..at.values.len();
    let counted = axes.clone().find(|axis| !at.is_offset(*axis));
    counted.or_else(|| axes.find(|axis| at.divisor(*axis) != 0))
}

/// The coordinate along an axis where `there` holds, else one outside of every view. `extent` is that of the tile along
/// the axis, `value` the coordinate, of the type that `at` has there.
pub(super) fn unless<'c>(
    ir: &OpBuilder<'c>,
    there: IrValue<'c>,
    (at, axis): (&Coordinate<'c>, usize),
    extent: i64,
    value: IrValue<'c>,
) -> IrValue<'c> {
    let ty = value.r#type();
    let text = type_text(ty);
    let is_integer = ["i32", "i64"].contains(&&*text);
    let integer = if text.contains("i64") { "i64" } else { "i32" };
    // An offset of which a divisor is declared is an integer meanwhile.
    let inside = match is_integer {
        true => value,
        false => ir.value(CuteOp::GetScalar, &[value], &[], ir.ty(integer)),
    };
    let outside = match at.is_offset(axis) {
        true => OUTSIDE - OUTSIDE % at.divisor(axis).max(1),
        false => OUTSIDE / extent.max(1),
    };
    let outside = ir.constant(outside, integer);
    let chosen = ir.value(
        ArithOp::Select,
        &[there, inside, outside],
        &[],
        inside.r#type(),
    );
    match is_integer {
        true => chosen,
        false => ir.value(CuteOp::Assume, &[chosen], &[], ty),
    }
}

/// What `read` gives of a tile of rows and columns, with a number in place of the zeros that a tensor map brings from outside of the view: in a branch, which only tiles at an
/// edge take. Coordinates have 32 bits.
pub(super) fn filled<'c>(
    ir: &OpBuilder<'c>,
    (load, tile): (tile::Load<'c>, &TileType),
    read: IrValue<'c>,
    fill: Attribute<'c>,
) -> Result<IrValue<'c>, SemError> {
    let at = Coordinate::of(load.op()).map_err(SemError::Illegal)?;
    let (word, bit) = (ir.ty("i32"), ir.ty("i1"));
    let (mut places, mut cut) = (Vec::new(), None);
    for (axis, length) in tile.shape.iter().enumerate() {
        let begin = at.begin(ir, axis, *length)?;
        let size = extent(ir, load.view(), axis, Width::I32)?;
        let length = ir.constant(*length, "i32");
        let rest = ir.value(ArithOp::Subi, &[size, length], &[], word);
        let (behind, ahead) = (
            cmpi(ir, GREATER, begin, rest),
            cmpi(ir, LESS, begin, ir.constant(0, "i32")),
        );
        for outside in [behind, ahead] {
            cut = Some(match cut {
                None => outside,
                Some(so_far) => ir.value(ArithOp::Ori, &[so_far, outside], &[], bit),
            });
        }
        places.push((begin, size));
    }
    let Some(cut) = cut else {
        return Ok(read);
    };
    let within = |block| {
        let mut inside = OpBuilder::new(ir.context(), Insertion::End(block));
        inside.location = ir.location;
        inside
    };
    let (at_edge, block) = region_with_block(&[]);
    let here = within(block);
    let numbers = TileType {
        elem: Elem::I32,
        ..tile.clone()
    }
    .ir(ir.context());
    let number = |axis: i32| here.value(TileOp::Iota, &[], &[("axis", here.i32(axis))], numbers);
    let tiles = [read, number(0), number(1)];
    let element = here.number_type(tile.elem);
    let arguments = [element, word, word].map(|ty| (ty, ir.location));
    let (function, body) = region_with_block(&arguments);
    let each = within(body);
    let inside = places
        .into_iter()
        .zip(1..)
        .map(|((begin, size), argument)| {
            let place = each.value(
                ArithOp::Addi,
                &[begin, argument_of(body, argument)],
                &[],
                word,
            );
            cmpi(&each, BELOW, place, size)
        });
    let inside = inside.reduce(|one, other| each.value(ArithOp::Andi, &[one, other], &[], bit));
    let fill = each.number(fill, element);
    let chosen = inside.map(|inside| [inside, argument_of(body, 0), fill]);
    let chosen = chosen.map_or(fill, |chosen| {
        each.value(ArithOp::Select, &chosen, &[], element)
    });
    each.op(TileOp::Yield, &[chosen], &[], &[]);
    let ty = read.r#type();
    let map = here.op_with_regions(TileOp::Map, &tiles, &[], &[ty], vec![function]);
    here.op(ScfOp::Yield, &[result_of(map, 0)], &[], &[]);
    let (whole, block) = region_with_block(&[]);
    within(block).op(ScfOp::Yield, &[read], &[], &[]);
    let branch = ir.op_with_regions(ScfOp::If, &[cut], &[], &[ty], vec![at_edge, whole]);
    Ok(result_of(branch, 0))
}
