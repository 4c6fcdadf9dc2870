//! Partitions: the part of a tensor that one thread of a tiled copy or MMA owns.
use super::view::moved;
use super::{Attrs, SemError, integers, operand_error};
use crate::elem::Space;
use crate::value::{CoordTensor, Ptr, TiledMmaVal, Val, View};
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Int, Layout, LayoutError, Tree, tv};

pub(super) fn evaluate(
    name: &str,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Val, SemError>> {
    Some(match (name, operands) {
        ("tiled.copy.partition_S", [Val::TiledCopy(copy), x, thread]) => thread_index(thread)
            .and_then(|thread| partition(x, |layout| copy.tiled.partition_s(&thread, layout))),
        ("tiled.copy.partition_D", [Val::TiledCopy(copy), x, thread]) => thread_index(thread)
            .and_then(|thread| partition(x, |layout| copy.tiled.partition_d(&thread, layout))),
        ("tiled.copy.retile", [Val::TiledCopy(copy), x]) => {
            super::algebra::on_layout(x, |layout| copy.tiled.retile(layout))
        }
        ("tiled.mma.partition", [Val::TiledMma(mma), x, thread]) => match operand_of(attrs) {
            Ok(which) => thread_index(thread).and_then(|thread| {
                partition(x, |layout| mma.tiled.partition(which, &thread, layout))
            }),
            Err(error) => Err(error),
        },
        ("mma.make_fragment", [Val::TiledMma(mma), x]) => match operand_of(attrs) {
            Ok(which) => make_fragment(mma, which, x),
            Err(error) => Err(error),
        },
        ("make_fragment_like", [Val::View(view)]) => {
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
    match attrs.operand.as_deref() {
        Some("A") => Ok(tv::Operand::A),
        Some("B") => Ok(tv::Operand::B),
        Some("C") => Ok(tv::Operand::C),
        _ => Err(SemError::Illegal(
            "expects the attribute operand = \"A\", \"B\" or \"C\"".into(),
        )),
    }
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
    let elem = match which {
        tv::Operand::A => mma.atom.a,
        tv::Operand::B => mma.atom.b,
        tv::Operand::C => mma.atom.c,
    };
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
    Ok(Val::View(registers(
        elem,
        mma.tiled.make_fragment(which, layout.inner())?,
    )))
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
    Ok(Val::View(registers(
        elem,
        layout::make_fragment_like(layout.inner())?,
    )))
}

/// A view of fresh registers.
pub(super) fn registers(elem: crate::elem::Elem, layout: Layout) -> View {
    let ptr = Ptr {
        elem,
        space: Space::Rmem,
        align: 16.max(elem.bytes()),
        base: 0,
        offset: Int::Static(0),
    };
    View {
        ptr,
        layout: AnyLayout::Plain(layout),
    }
}
