//! Partitions: the part of a tensor that one thread of a tiled copy or MMA owns.
use super::effects::allocatable;
use super::view::moved;
use super::{Attrs, SemError, integers, operand_error};
use crate::atoms::{MmaOperand, Place};
use crate::elem::Space;
use crate::ops::CuteOp;
use crate::value::{CoordTensor, Ptr, TiledCopyVal, TiledMmaVal, Val, View};
use cutec_abi::counted;
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Int, Layout, LayoutError, Tree, tv};

pub(super) fn evaluate(
    op: CuteOp,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Val, SemError>> {
    Some(match (op, operands) {
        (CuteOp::TiledCopyPartitionS, [Val::TiledCopy(copy), x, thread]) => copy_divides(copy, x)
            .and_then(|()| thread_index(thread))
            .and_then(|thread| partition(x, |layout| copy.tiled.partition_s(&thread, layout))),
        (CuteOp::TiledCopyPartitionD, [Val::TiledCopy(copy), x, thread]) => copy_divides(copy, x)
            .and_then(|()| thread_index(thread))
            .and_then(|thread| partition(x, |layout| copy.tiled.partition_d(&thread, layout))),
        (CuteOp::TiledCopyRetile, [Val::TiledCopy(copy), x]) => {
            super::algebra::on_layout(x, |layout| copy.tiled.retile(layout))
        }
        (CuteOp::TiledMmaPartition, [Val::TiledMma(mma), x, thread]) => match operand_of(attrs) {
            Ok(which) => mma_divides(mma, which, x)
                .and_then(|()| thread_index(thread))
                .and_then(|thread| {
                    partition(x, |layout| mma.tiled.partition(which, &thread, layout))
                }),
            Err(error) => Err(error),
        },
        (CuteOp::MmaMakeFragment, [Val::TiledMma(mma), x]) => match operand_of(attrs) {
            Ok(which) => make_fragment(mma, which, x),
            Err(error) => Err(error),
        },
        (CuteOp::MakeFragmentLike, [Val::View(view)]) => {
            fragment_like(view, view.ptr.elem, &view.layout)
        }
        _ => return None,
    })
}

fn thread_index(thread: &Val) -> Result<Int, SemError> {
    match integers(thread)? {
        Tree::Leaf(int) => Ok(int),
        Tree::Node(_) => operand_error("a thread index", thread),
    }
}

/// The operand of a tiled MMA that `operand = "A"` names.
fn operand_of(attrs: &Attrs) -> Result<tv::Operand, SemError> {
    let missing = "expects the attribute operand = \"A\", \"B\" or \"C\"";
    attrs
        .operand
        .ok_or_else(|| SemError::Illegal(missing.into()))
}

fn copy_divides(copy: &TiledCopyVal, x: &Val) -> Result<(), SemError> {
    let tile = copy.tiled.tile_shape()?;
    let extents: Vec<Int> = tile.modes().iter().map(layout::product).collect();
    must_divide(x, &extents, "the tiled copy")
}

fn mma_divides(mma: &TiledMmaVal, which: tv::Operand, x: &Val) -> Result<(), SemError> {
    let extents = which.modes().map(|mode| mma.tiled.tile_size(mode));
    must_divide(x, &extents, "the tiled MMA")
}

/// A tile that does not divide a static extent would reach beyond the tensor.
fn must_divide(x: &Val, tile: &[Int], what: &str) -> Result<(), SemError> {
    let layout = match x {
        Val::View(view) => view.layout.inner(),
        Val::CoordTensor(tensor) => &tensor.layout,
        _ => return Ok(()),
    };
    for (index, tile) in tile.iter().enumerate() {
        let extent = layout.mode(index).and_then(|mode| mode.size().as_static());
        let (Some(extent), Some(tile)) = (extent, tile.as_static()) else {
            continue;
        };
        if tile == 0 || extent % tile != 0 {
            let shape = layout.shape();
            return Err(SemError::Illegal(format!(
                "{what} covers {} of mode {index}, which does not divide the {extent} of {shape}",
                counted(tile, "element")
            )));
        }
    }
    Ok(())
}

fn partition(
    x: &Val,
    f: impl FnOnce(&AnyLayout) -> Result<tv::Partition, LayoutError>,
) -> Result<Val, SemError> {
    match x {
        Val::View(view) => {
            let part = f(&AnyLayout::Plain(view.layout.inner().clone()))?;
            Ok(Val::View(moved(
                view,
                part.layout.inner().clone(),
                &part.offset,
            )?))
        }
        Val::CoordTensor(tensor) => {
            let part = f(&AnyLayout::Plain(tensor.layout.clone()))?;
            let base = layout::tuple_add(&tensor.base, &part.offset)?;
            Ok(Val::CoordTensor(CoordTensor {
                base,
                layout: part.layout.inner().clone(),
            }))
        }
        other => operand_error("a view or a coordinate tensor", other),
    }
}

/// Registers for the part of a tensor that a thread's atoms read or write.
fn make_fragment(mma: &TiledMmaVal, which: tv::Operand, x: &Val) -> Result<Val, SemError> {
    let MmaOperand { elem, place, .. } = mma.atom.operand(which);
    match place {
        Place::Registers => {}
        Place::Shared | Place::SharedDescriptor | Place::Global | Place::Anywhere => {
            let atom = mma.atom;
            return Err(SemError::Illegal(format!(
                "{atom} reads this operand from {place}: it has no fragment in registers"
            )));
        }
    }
    let layout = match x {
        Val::View(view) => &view.layout,
        Val::Layout(layout) => layout,
        other => return operand_error("a partitioned tensor", other),
    };
    let shape = layout.shape().clone();
    if !shape.leaves().iter().all(|leaf| leaf.is_static()) {
        return Err(SemError::Illegal(format!(
            "a fragment has a static shape, but the tensor has {shape}"
        )));
    }
    fresh_registers(elem, mma.tiled.make_fragment(which, layout.inner())?)
}

fn fragment_like(
    view: &View,
    elem: crate::elem::Elem,
    layout: &AnyLayout,
) -> Result<Val, SemError> {
    if !view
        .layout
        .shape()
        .leaves()
        .iter()
        .all(|leaf| leaf.is_static())
    {
        let shape = view.layout.shape();
        return Err(SemError::Illegal(format!(
            "a fragment has a static shape, but the tensor has {shape}"
        )));
    }
    fresh_registers(elem, layout::make_fragment_like(layout.inner())?)
}

/// A view of fresh registers.
fn fresh_registers(elem: crate::elem::Elem, layout: Layout) -> Result<Val, SemError> {
    let ptr = Ptr {
        elem,
        space: Space::Rmem,
        align: 16.max(elem.bytes()),
        base: 0,
        offset: Int::Static(0),
    };
    let layout = AnyLayout::Plain(layout);
    allocatable(&layout)?;
    Ok(Val::View(View { ptr, layout }))
}
