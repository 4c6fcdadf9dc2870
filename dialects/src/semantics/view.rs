//! Views: pointers with layouts, slices, tiles, coordinate tensors.
use super::algebra::{on_layout, shape_of};
use super::{Attrs, SemError, coordinate, integers, operand_error, tiler};
use crate::elem::Elem;
use crate::ops::CuteOp;
use crate::value::{CoordTensor, Ptr, TupleKind, Val, View, as_coord};
use cutec_abi::counted;
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Coord, Int, IntTuple, Layout, Tiler, Tree};

pub(super) fn evaluate(
    op: CuteOp,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Val, SemError>> {
    Some(match (op, operands) {
        (CuteOp::MakeView, [Val::Ptr(ptr), Val::Layout(layout)]) => Ok(Val::View(View {
            ptr: ptr.clone(),
            layout: layout.clone(),
        })),
        (CuteOp::MakeIdentityTensor, [shape]) => identity(shape),
        (CuteOp::GetLayout, [Val::View(view)]) => Ok(Val::Layout(view.layout.clone())),
        (CuteOp::GetIter, [Val::View(view)]) => Ok(Val::Ptr(view.ptr.clone())),
        (CuteOp::RecastIter, [Val::Ptr(ptr)]) => match &attrs.result {
            Some(Val::Ptr(declared)) => recast_to(ptr, declared).map(Val::Ptr),
            _ => Err(SemError::Illegal("expects a pointer as result".into())),
        },
        (CuteOp::Slice, [x @ (Val::View(_) | Val::CoordTensor(_)), coord]) => {
            coordinate(coord).and_then(|coord| slice(x, &coord))
        }
        (CuteOp::LocalTile, [x, by, coord]) => local_tile(x, by, coord, attrs),
        (CuteOp::DomainOffset, [x @ (Val::View(_) | Val::CoordTensor(_)), by @ ..]) => {
            domain_offset(x, by)
        }
        (CuteOp::MapSharedRank, [view, rank]) => super::cluster::map_shared_rank(view, rank),
        (CuteOp::Assume, [_]) => match &attrs.result {
            Some(declared @ (Val::Tuple(..) | Val::Ptr(_))) => Ok(declared.clone()),
            _ => Err(SemError::Illegal(
                "expects an integer tuple or a pointer as result".into(),
            )),
        },
        (CuteOp::MemrefLoad, [Val::CoordTensor(tensor), coord]) => {
            integers(coord).and_then(|coord| coordinate_at(tensor, &coord))
        }
        _ => return None,
    })
}

/// The same place as a pointer to elements of another type.
fn recast_ptr(ptr: &Ptr, elem: Elem) -> Result<Ptr, SemError> {
    let (new, old) = (elem.bits(), ptr.elem.bits());
    let bits = ptr.offset.mul(&Int::Static(old));
    if !bits.divisible_by(new) {
        return Err(SemError::Illegal(format!(
            "begins {} of {} behind its base; expected a multiple of {} elements, to be seen as {elem}",
            ptr.offset.as_static().map_or_else(
                || format!("{} elements", ptr.offset),
                |offset| counted(offset, "element")
            ),
            ptr.elem,
            new / old
        )));
    }
    let offset = match new > old {
        true => ptr.offset.floor_div(&Int::Static(new / old)),
        false => ptr.offset.mul(&Int::Static(old / new)),
    };
    Ok(Ptr {
        elem,
        offset,
        ..ptr.clone()
    })
}

/// As [`recast_ptr`], where the alignment and the space are declared: they claim nothing new.
fn recast_to(ptr: &Ptr, declared: &Ptr) -> Result<Ptr, SemError> {
    let recast = recast_ptr(ptr, declared.elem)?;
    if declared.space != ptr.space || declared.align > recast.alignment() {
        return operand_error(
            format!(
                "a pointer to {} aligned to {}",
                declared.space,
                counted(declared.align, "byte")
            ),
            &Val::Ptr(ptr.clone()),
        );
    }
    Ok(recast)
}

/// A view as accesses see it: packed elements as the bytes that hold them.
///
/// # Errors
/// Where elements next to each other in the order of their index do not fill whole bytes.
pub(super) fn in_whole_bytes(view: &View) -> Result<View, SemError> {
    let elem = view.ptr.elem;
    if !elem.is_packed() {
        return Ok(view.clone());
    }
    let per_byte = 8 / elem.bits();
    let merged = layout::coalesce(view.layout.inner());
    let (shape, stride) = (merged.shape().leaves(), merged.stride().leaves());
    let mut modes = shape.iter().zip(&stride);
    let whole = modes
        .next()
        .is_some_and(|(extent, step)| extent.divisible_by(per_byte) && step.is(1))
        && modes.all(|(_, step)| step.divisible_by(per_byte));
    if !whole || !keeps_together(&view.layout, per_byte) {
        return Err(SemError::Illegal(format!(
            "{elem} is moved in whole bytes of {per_byte} elements, but {} does not consist of them",
            view.layout
        )));
    }
    Ok(View {
        ptr: recast_ptr(&view.ptr, Elem::I8)?,
        layout: layout::recast_layout_any(&view.layout, 8, elem.bits())?,
    })
}

/// Whether what lies outside of a layout's strides leaves so many neighbours together.
fn keeps_together(layout: &AnyLayout, count: i64) -> bool {
    match layout {
        AnyLayout::Plain(_) => true,
        composed => composed
            .swizzle()
            .is_some_and(|swizzle| count <= 1 << swizzle.base()),
    }
}

/// Whether a layout of elements of `old` bits is that of whole elements of `new` bits.
///
/// # Errors
/// Where an extent along neighbours is not known to hold whole ones, or a swizzle parts them.
pub fn recastable(layout: &AnyLayout, new: i64, old: i64) -> Result<(), SemError> {
    let count = new / old;
    if count <= 1 {
        return Ok(());
    }
    let inner = layout.inner();
    let (extents, strides) = (inner.shape().leaves(), inner.stride().leaves());
    let whole = extents
        .iter()
        .zip(strides)
        .all(|(extent, stride)| match stride {
            Int::Static(step @ 1..) if *step < count => extent.divisible_by(count / step),
            _ => true,
        });
    match whole && keeps_together(layout, count) {
        true => Ok(()),
        false => Err(SemError::Illegal(format!(
            "{count} neighbours of {old} bits become one element of {new}, but {layout} does not consist of them"
        ))),
    }
}

fn identity(shape: &Val) -> Result<Val, SemError> {
    let shape = integers(shape)?;
    let layout = layout::make_identity_layout(&shape);
    Ok(Val::CoordTensor(CoordTensor {
        base: zeros(&shape),
        layout,
    }))
}

fn zeros(shape: &IntTuple) -> IntTuple {
    match shape {
        Tree::Leaf(_) => Tree::Leaf(Int::Static(0)),
        Tree::Node(modes) => Tree::Node(modes.iter().map(zeros).collect()),
    }
}

fn coordinate_at(tensor: &CoordTensor, coord: &IntTuple) -> Result<Val, SemError> {
    let at = layout::tuple_add(&tensor.base, &layout::crd2idx(coord, &tensor.layout)?)?;
    Ok(Val::Tuple(TupleKind::Coord, as_coord(&at)))
}

/// The part of a tensor at a coordinate: `_` keeps a mode, an integer fixes it.
pub(super) fn slice(x: &Val, coord: &Coord) -> Result<Val, SemError> {
    match x {
        Val::View(view) => Ok(Val::View(slice_view(view, coord)?)),
        Val::CoordTensor(tensor) => {
            let (kept, offset) = layout::slice_and_offset(coord, &tensor.layout)?;
            let base = layout::tuple_add(&tensor.base, &offset)?;
            Ok(Val::CoordTensor(CoordTensor { base, layout: kept }))
        }
        other => operand_error("a view or a coordinate tensor", other),
    }
}

/// See [`slice`].
pub(super) fn slice_view(view: &View, coord: &Coord) -> Result<View, SemError> {
    let (kept, offset) = layout::slice_and_offset(coord, view.layout.inner())?;
    moved(view, kept, &offset)
}

/// The view of `kept` that starts `offset` elements further, inside of a swizzle if there is one.
pub(super) fn moved(view: &View, kept: Layout, offset: &IntTuple) -> Result<View, SemError> {
    let Tree::Leaf(offset) = offset else {
        return Err(SemError::Illegal(
            "expects a layout of integer strides in memory".into(),
        ));
    };
    Ok(match &view.layout {
        AnyLayout::Plain(_) => {
            let ptr = Ptr {
                offset: view.ptr.offset.add(offset),
                ..view.ptr.clone()
            };
            View {
                ptr,
                layout: AnyLayout::Plain(kept),
            }
        }
        AnyLayout::Composed(composed) => {
            let mut composed = composed.with_inner(kept);
            composed.offset = layout::tuple_add(&composed.offset, &Tree::Leaf(offset.clone()))?;
            View {
                ptr: view.ptr.clone(),
                layout: AnyLayout::Composed(composed),
            }
        }
    })
}

/// A tensor of the same layout whose coordinate 0 is where that of the offsets was, one for each mode.
fn domain_offset(x: &Val, by: &[Val]) -> Result<Val, SemError> {
    let shape = shape_of(x)?;
    let extents = match &shape {
        Tree::Leaf(_) => std::slice::from_ref(&shape),
        Tree::Node(modes) => modes,
    };
    if extents.len() != by.len() {
        return super::count_error((extents.len() + 1).to_string(), by.len() + 1);
    }
    let mut offsets = Vec::new();
    for (mode, (extent, by)) in extents.iter().zip(by).enumerate() {
        match integers(by)? {
            Tree::Leaf(by) if extent.is_leaf() || by.is(0) => offsets.push(Tree::Leaf(by)),
            Tree::Leaf(_) => {
                return Err(SemError::Illegal(format!(
                    "expects a mode of one extent to go along, but mode {mode} is {extent}"
                )));
            }
            Tree::Node(_) => return operand_error("an integer for each mode", by),
        }
    }
    let offsets = match (&shape, offsets.as_slice()) {
        (Tree::Leaf(_), [one]) => one.clone(),
        _ => Tree::Node(offsets),
    };
    match x {
        Val::View(view) => {
            let inner = view.layout.inner().clone();
            let offset = layout::crd2idx(&offsets, &inner)?;
            Ok(Val::View(moved(view, inner, &offset)?))
        }
        Val::CoordTensor(tensor) => {
            let offset = layout::crd2idx(&offsets, &tensor.layout)?;
            Ok(Val::CoordTensor(CoordTensor {
                base: layout::tuple_add(&tensor.base, &offset)?,
                layout: tensor.layout.clone(),
            }))
        }
        other => operand_error("a view or a coordinate tensor", other),
    }
}

/// Offset in elements, before any swizzle, of a static coordinate of a view.
pub fn element_offset(view: &View, coord: &IntTuple) -> Result<Int, SemError> {
    Ok(layout::offset_at(coord, view.layout.inner())?)
}

/// Whether a tuple is a projection: 1 for each mode that is kept, and `_` for the others.
pub fn is_projection(modes: &Coord) -> bool {
    modes.modes().iter().all(|mode| match mode {
        Tree::Leaf(None) => true,
        Tree::Leaf(Some(number)) => number.as_static() == Some(1),
        Tree::Node(_) => false,
    })
}

/// The modes that the projection keeps, of a tile or a coordinate.
fn projected<T: Clone>(proj: Option<&Coord>, modes: &[T]) -> Result<Vec<T>, SemError> {
    let Some(proj) = proj else {
        return Ok(modes.to_vec());
    };
    if proj.rank() != modes.len() {
        let expected = format!(
            "a tile and a coordinate of the projection's rank {}",
            proj.rank()
        );
        return Err(SemError::Operand {
            expected,
            found: format!("rank {}", modes.len()),
        });
    }
    if !is_projection(proj) {
        return Err(SemError::Operand {
            expected: "a projection such as `(1, _, 1)`".into(),
            found: Val::Tuple(TupleKind::Coord, proj.clone()).to_string(),
        });
    }
    let kept = proj
        .modes()
        .iter()
        .zip(modes)
        .filter(|(mode, _)| !matches!(mode, Tree::Leaf(None)));
    Ok(kept.map(|(_, mode)| mode.clone()).collect())
}

fn local_tile(x: &Val, by: &Val, coord: &Val, attrs: &Attrs) -> Result<Val, SemError> {
    let proj = attrs.proj.as_ref();
    // A tensor of rank 1 takes a tile and a coordinate that are no tuples.
    let tiles = match tiler(by)? {
        Tiler::Tile(tiles) => tiles,
        Tiler::All => return operand_error("a tile of one mode each", by),
        one => vec![one],
    };
    let coord = match coordinate(coord)? {
        Coord::Node(modes) => modes,
        one => vec![one],
    };
    let tiles = projected(proj, &tiles)?;
    let coord = projected(proj, &coord)?;
    let keep = Tree::Leaf(None);
    if shape_of(x)?.is_leaf()
        && let ([tile], [coord]) = (tiles.as_slice(), coord.as_slice())
    {
        let divided = on_layout(x, |x| layout::zipped_divide(x, tile))?;
        return slice(&divided, &Coord::Node(vec![keep, coord.clone()]));
    }
    let whole = Coord::Node(vec![keep; tiles.len()]);
    let tiles = Tiler::Tile(tiles);
    let divided = on_layout(x, |x| layout::zipped_divide(x, &tiles))?;
    slice(&divided, &Coord::Node(vec![whole, Coord::Node(coord)]))
}
