//! What the types and attributes of operations on tiles say.
use super::slices;
use crate::passes::ir_utils::{defining_op, is_zero, operand_value, string_attribute, uses};
use cutec_dialects::atoms::{CopyAtom, Place};
use cutec_dialects::builder::{
    IrOp, IrValue, integer_array, integer_value, operands_of, result_of,
};
use cutec_dialects::elem::Elem;
use cutec_dialects::ir::type_attribute;
use cutec_dialects::memo::type_value;
use cutec_dialects::ops::{CuteOp, GpuOp, TileOp, tile};
use cutec_dialects::semantics::AtomicKind;
use cutec_dialects::target::MOST_WARPS;
use cutec_dialects::tile::{BOX, Mode, TileLayout, TileType, WINDOWS};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TiledCopyVal, TiledMmaVal, Val, View};
use cutec_layout::Int;
use cutec_layout::smem::{Access, Kind};
use cutec_layout::tv::Operand;
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use std::collections::HashMap;
use std::sync::Arc;

/// The operation to blame, and why.
pub(super) type Failed<'c> = (IrOp<'c>, String);

/// The tile that a value is.
pub(super) fn tile_of<'c>(op: IrOp<'c>, value: IrValue<'c>) -> Result<TileType, Failed<'c>> {
    match TileType::of(value.r#type()) {
        Some(Ok(tile)) => Ok(tile),
        Some(Err(message)) => Err((op, message)),
        None => Err((op, format!("expects a tile, but got {}", value.r#type()))),
    }
}

/// Whether a tile is the number 0 for all elements.
pub(super) fn is_zeros(tile: IrValue) -> bool {
    tile::Splat::defining(tile).is_some_and(|splat| is_zero(splat.value()))
}

/// An operand that the operation must have.
pub(super) fn operand<'c>(op: IrOp<'c>, index: usize) -> Result<IrValue<'c>, Failed<'c>> {
    operand_value(op, index).ok_or_else(|| (op, "an operand is missing".into()))
}

/// An operation by its accessors, such as `present(op, tile::Dot::of(op))`.
pub(super) fn present<'c, T>(op: IrOp<'c>, accessors: Option<T>) -> Result<T, Failed<'c>> {
    accessors.ok_or_else(|| (op, "an operand is missing".into()))
}

/// The view that a value is.
pub(super) fn view_of(value: IrValue) -> Option<View> {
    match type_value(value.r#type(), &mut Vars::default()) {
        Ok(Val::View(view)) => Some(view),
        _ => None,
    }
}

/// The axis of a view whose elements are neighbours in memory, if one's are, and their type.
pub(super) fn fast_axis(view: IrValue) -> Option<(usize, Elem)> {
    let view = view_of(view)?;
    let layout = view.layout.inner();
    let neighbours = |axis: &usize| {
        let mode = layout.mode(*axis);
        mode.is_some_and(|mode| mode.stride().leaves().first() == Some(&&Int::Static(1)))
    };
    let axis = (0..layout.rank()).find(neighbours)?;
    Some((axis, view.ptr.elem))
}

/// How a store or a scatter updates what is there; `None` of one that writes, and of anything else.
pub(super) fn update_of(op: IrOp) -> Option<AtomicKind> {
    AtomicKind::parse(&string_attribute(op, "atomic")?).ok()
}

/// The argument of the kernel whose memory a view is into; `None` where that is not known.
pub(super) fn tensor_of(view: IrValue) -> Option<IrValue> {
    let mut at = view;
    while let Some(op) = defining_op(at) {
        CuteOp::of(op)?;
        at = operands_of(op).next()?;
    }
    function_of_argument(at).map(|_| at)
}

/// The kernel of which a block argument is an argument.
pub(super) fn function_of_argument<'c>(argument: IrValue<'c>) -> Option<IrOp<'c>> {
    // SAFETY: it is a block argument, and blocks of a kernel have a parent.
    let owner: IrOp = unsafe {
        let block = mlir_sys::mlirBlockArgumentGetOwner(argument.to_raw());
        OperationRef::from_raw(mlir_sys::mlirBlockGetParentOperation(block))
    };
    GpuOp::Func.is(owner).then_some(owner)
}

/// Whether each thread reduces what it has, and needs no other: of the axis an element for each is left.
pub(super) fn is_of_each_thread(reduction: IrOp) -> bool {
    let left = || {
        let axis = integer_value(tile::Reduce::of(reduction)?.axis()?)? as usize;
        let result = TileType::of(result_of(reduction, 0).r#type())?.ok()?;
        result.shape.get(axis).copied()
    };
    left().is_some_and(|left| left > 1)
}

/// Whether an operation is a product that adds to a tile.
pub(super) fn adds_to<'c>(op: IrOp<'c>, value: IrValue<'c>) -> bool {
    tile::Dot::of(op).is_some_and(|dot| dot.c() == value)
}

/// Whether a load has more of a view than its coordinate and shape say, which a tensor map alone brings.
pub(super) fn is_by_map_alone(load: IrOp) -> bool {
    [WINDOWS, BOX]
        .iter()
        .any(|name| load.attribute(name).is_ok())
}

/// An operand of the operation of this kind that gives a value.
pub(super) fn operand_of(value: IrValue, op: CuteOp, index: usize) -> Option<IrValue> {
    let made = defining_op(value).filter(|made| op.is(*made))?;
    operands_of(made).nth(index)
}

/// The products that have a tile as a factor, with the number of the operand.
pub(super) fn factors(tile: IrValue) -> Vec<(IrOp, usize)> {
    let mut taken = uses(tile);
    taken.retain(|(user, _)| TileOp::Dot.is(*user) && !adds_to(*user, tile));
    taken
}

/// Whether products take a tile as a factor, and nothing else does.
pub(super) fn is_only_multiplied(tile: IrValue) -> bool {
    let count = factors(tile).len();
    count > 0 && count == uses(tile).len()
}

/// The transpose of a tile, of which each thread holds the same elements.
pub(super) fn transposed(tile: &TileType) -> Option<TileType> {
    let &[rows, columns] = &tile.shape[..] else {
        return None;
    };
    let shape = [columns, rows];
    let layout = tile.layout.as_ref()?;
    let layout = layout.renamed(&tile.shape, &shape, |axis| 1 - axis).ok()?;
    Some(TileType::new(tile.elem, &shape).with_layout(layout))
}

/// The tiled MMA of a product.
pub(super) fn mma_of<'c>(dot: IrOp<'c>) -> Result<Arc<TiledMmaVal>, Failed<'c>> {
    let message = match type_attribute(dot, "mma") {
        Some(Ok(Val::TiledMma(mma))) => return Ok(mma),
        None => "has no `mma`; run tile-select-atoms first".into(),
        Some(Ok(other)) => format!("expects a tiled MMA as `mma`, but got {other}"),
        Some(Err(error)) => error.to_string(),
    };
    Err((dot, message))
}

/// Whether the instruction of a product reads a or b from shared memory itself.
pub(super) fn reads_shared_memory(mma: &TiledMmaVal) -> bool {
    [Operand::A, Operand::B]
        .into_iter()
        .any(|which| is_by_descriptor(mma, which))
}

/// Whether it reads an operand so.
pub(super) fn is_by_descriptor(mma: &TiledMmaVal, which: Operand) -> bool {
    match mma.atom.operand(which).place {
        Place::SharedDescriptor => true,
        Place::Registers | Place::Shared | Place::Global | Place::Anywhere => false,
    }
}

/// The tiled copy that the attribute `copy` of an operation asks for; `None` where it asks for none.
pub(super) fn tiled_copy_of(op: IrOp) -> Result<Option<Arc<TiledCopyVal>>, String> {
    match type_attribute(op, "copy") {
        None => Ok(None),
        Some(Ok(Val::TiledCopy(copy))) => Ok(Some(copy)),
        Some(Ok(other)) => Err(format!("expects a tiled copy as `copy`, but got {other}")),
        Some(Err(error)) => Err(error.to_string()),
    }
}

/// The copy atom that an operation names as `copy`.
pub(super) fn copy_atom_of(op: IrOp) -> Result<CopyAtom, String> {
    match type_attribute(op, "copy") {
        Some(Ok(Val::CopyAtom(atom))) => Ok(atom),
        Some(Ok(other)) => Err(format!("expects a copy atom as `copy`, but got {other}")),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("has no `copy`".into()),
    }
}

/// How an operand of a product, or a part of it of some shape, is spread: a, b and c in this order.
pub(super) fn operand_layout(
    mma: &TiledMmaVal,
    index: usize,
    shape: &[i64],
) -> Result<TileLayout, String> {
    let which = [Operand::A, Operand::B, Operand::C][index];
    match mma.atom.operand(which).place {
        // Of what an instruction reads by a descriptor each of its threads names all.
        Place::Registers | Place::SharedDescriptor => {}
        place @ (Place::Shared | Place::Global | Place::Anywhere) => {
            return Err(format!(
                "{} takes this operand from {place}: no thread holds it",
                mma.atom
            ));
        }
    }
    if let (Operand::C, [slices, rows, columns]) = (which, shape) {
        return slices::layout_of(mma, *slices, [*rows, *columns]);
    }
    let &[rows, columns] = shape else {
        return Err(format!("no operand has {} axes", shape.len()));
    };
    let extents = [rows, columns].map(Int::Static);
    let layout = mma.tiled.layout_tv_over(which, extents);
    let layout = TileLayout::new(layout.map_err(|error| error.to_string())?)?;
    layout.check(shape)?;
    Ok(layout)
}

/// Shared memory and the shuffles of lanes have bytes: a bool goes as one.
pub(super) fn carried(elem: Elem) -> Elem {
    match elem {
        Elem::I1 => Elem::I8,
        elem => elem,
    }
}

/// How threads access a buffer, `bits` of neighbours along an axis at once.
pub(super) fn vector_access(
    what: &str,
    layout: &TileLayout,
    shape: &[i64],
    fast: usize,
    bits: i64,
) -> Result<Access, String> {
    let threads = layout.thread_modes(shape)?;
    let mut values = layout.value_modes(shape)?;
    values.sort_by_key(|mode| match mode.along {
        Some((axis, step)) if axis == fast => (0, step),
        _ => (1, 0),
    });
    Ok(Access {
        what: what.into(),
        kind: Kind::Vector {
            bits: u32::try_from(bits).unwrap_or(u32::MAX),
        },
        layout_tv: TileLayout::of_modes(&threads, &values, shape).tv().clone(),
    })
}

/// Which of a thread's registers of a tile are those of a part of it at some offsets, in the order of the part's;
/// `None` where that differs between threads, or a thread would need registers of others.
pub(super) fn slice_registers(
    whole: &TileType,
    part: &TileType,
    offsets: &[i64],
) -> Result<Option<Vec<usize>>, String> {
    let layout = |tile: &TileType| {
        tile.layout
            .clone()
            .ok_or_else(|| format!("{tile} has no layout"))
    };
    let (from, to) = (layout(whole)?, layout(part)?);
    if from.thread_modes(&whole.shape)? != to.thread_modes(&part.shape)? {
        return Ok(None);
    }
    let held: HashMap<Vec<i64>, usize> =
        coordinates(&from.value_modes(&whole.shape)?, whole.shape.len())
            .into_iter()
            .zip(0..)
            .collect();
    let wanted = coordinates(&to.value_modes(&part.shape)?, part.shape.len());
    let registers = wanted.into_iter().map(|coordinate| {
        let at: Vec<i64> = std::iter::zip(coordinate, offsets)
            .map(|(at, offset)| at + offset)
            .collect();
        held.get(&at).copied()
    });
    Ok(registers.collect())
}

/// The coordinate, from that of the first, of each value that modes give, the first mode fastest.
fn coordinates(modes: &[Mode], rank: usize) -> Vec<Vec<i64>> {
    let mut all = vec![vec![0; rank]];
    for mode in modes {
        let steps = (0..mode.extent).flat_map(|step| {
            all.iter().map(move |at| {
                let mut at = at.clone();
                if let Some((axis, stride)) = mode.along {
                    at[axis] += step * stride;
                }
                at
            })
        });
        all = steps.collect();
    }
    all
}

/// The offsets of the part that a `tile.read` reads, or a `tile.slice` takes.
pub(super) fn offsets_of(read: IrOp) -> Result<Vec<i64>, String> {
    let attribute = read
        .attribute("offsets")
        .map_err(|error| error.to_string())?;
    let offsets = integer_array(attribute).filter(|offsets| !offsets.is_empty());
    offsets.ok_or_else(|| format!("{attribute} are no offsets"))
}

/// What the attribute `tile.warps` of a function says: how many warps, or how many along m and n.
pub(super) fn pinned_warps(function: IrOp) -> Result<Option<Vec<i64>>, String> {
    let Ok(pinned) = function.attribute("tile.warps") else {
        return Ok(None);
    };
    let legal = |warps: &Vec<i64>| {
        let each = warps.iter().all(|count| (1..=MOST_WARPS).contains(count));
        each && (1..=2).contains(&warps.len()) && warps.iter().product::<i64>() <= MOST_WARPS
    };
    match integer_array(pinned).filter(legal) {
        Some(warps) => Ok(Some(warps)),
        None => Err(format!(
            "expects one or two numbers with a product of at most {MOST_WARPS} as `tile.warps`, but got {pinned}"
        )),
    }
}

/// Whether two shapes are the same but for axes of extent 1.
pub(super) fn differ_in_units(one: &[i64], other: &[i64]) -> bool {
    let long = |shape: &[i64]| -> Vec<i64> {
        let extents = shape.iter().copied();
        extents.filter(|extent| *extent != 1).collect()
    };
    long(one) == long(other)
}
