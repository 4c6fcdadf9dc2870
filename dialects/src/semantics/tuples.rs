//! Tuples: conversions, leaves, padding, arithmetic, coordinates and indices;
//! and the parts of tiles and composed layouts.
use super::{Attrs, SemError, coordinate, integers, operand_error};
use crate::ops::CuteOp;
use crate::value::{TupleKind, Val, as_coord};
use cutec_layout::algebra as layout;
use cutec_layout::{AnyLayout, Coord, Int, IntTuple, Layout, Outer, Tiler, Tree};

pub(super) fn evaluate(
    op: CuteOp,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Val, SemError>> {
    use TupleKind::{Coord as C, IntTuple as I, Shape, Stride};
    Some(match (op, operands) {
        (CuteOp::ToIntTuple, [x]) => converted(x, I),
        (CuteOp::ToShape, [x]) => converted(x, Shape),
        (CuteOp::ToStride, [x]) => converted(x, Stride),
        (CuteOp::ToCoord, [x]) => converted(x, C),
        (CuteOp::ComposedGetInner, [Val::Layout(AnyLayout::Composed(x))]) => Ok(match &x.outer {
            Outer::Swizzle(swizzle) => Val::Swizzle(*swizzle),
            Outer::Layout(layout) => Val::Layout(AnyLayout::Plain(layout.clone())),
        }),
        (CuteOp::ComposedGetOffset, [Val::Layout(AnyLayout::Composed(x))]) => {
            Ok(tuple(I, &x.offset))
        }
        (CuteOp::ComposedGetOuter, [Val::Layout(AnyLayout::Composed(x))]) => {
            Ok(Val::Layout(AnyLayout::Plain(x.inner.clone())))
        }
        (CuteOp::Get, [Val::Tile(tiler)]) => tile_at(tiler, &attrs.mode),
        (CuteOp::Select, [Val::Tile(tiler)]) => attrs
            .mode
            .iter()
            .map(|mode| tile_mode(tiler, *mode, 0))
            .collect::<Result<_, _>>()
            .map(|modes| Val::Tile(Tiler::Tile(modes))),
        (CuteOp::Select, [Val::Tuple(kind, x)]) => {
            let modes = attrs.mode.iter().map(|mode| tree_mode(x, *mode));
            modes
                .collect::<Result<_, _>>()
                .map(|modes| Val::Tuple(*kind, Tree::Node(modes)))
        }
        (CuteOp::Flatten, [Val::Tuple(kind, x)]) => Ok(Val::Tuple(*kind, x.flatten())),
        (CuteOp::Flatten, [Val::Tile(tiler)]) => Ok(Val::Tile(flat_tile(tiler))),
        (CuteOp::GetShape, [x @ Val::Tile(tiler)]) => {
            let shape = tile_shape(tiler);
            match shape.leaves().iter().any(|leaf| leaf.is_none()) {
                true => operand_error("a tile without `_`", x),
                false => Ok(Val::Tuple(Shape, shape)),
            }
        }
        (CuteOp::Slice | CuteOp::Dice, [Val::Tuple(kind, x), coord]) => {
            coordinate(coord).and_then(|coord| {
                let mut kept = Vec::new();
                pick(&coord, x, op == CuteOp::Slice, &mut kept)?;
                Ok(Val::Tuple(*kind, Tree::Node(kept)))
            })
        }
        (CuteOp::AppendToRank | CuteOp::PrependToRank, [x, element]) => {
            padded(x, element, attrs, op == CuteOp::AppendToRank)
        }
        (CuteOp::TupleProduct, [Val::Tuple(kind, _)]) => {
            integers(&operands[0]).map(|x| Val::Tuple(*kind, Tree::Leaf(Some(layout::product(&x)))))
        }
        (CuteOp::TupleProductEach, [Val::Tuple(kind, _)]) => {
            integers(&operands[0]).map(|x| tuple(*kind, &layout::product_each(&x)))
        }
        (CuteOp::TupleAdd, [Val::Tuple(kind, _), b]) => {
            arithmetic(*kind, &operands[0], b, layout::tuple_add)
        }
        (CuteOp::TupleSub, [Val::Tuple(kind, _), b]) => {
            arithmetic(*kind, &operands[0], b, difference)
        }
        (CuteOp::ShapeDiv, [Val::Tuple(kind, _), b]) => {
            arithmetic(*kind, &operands[0], b, layout::shape_div)
        }
        (CuteOp::CeilDiv, [Val::Tuple(kind, _), Val::Tile(by)]) => {
            integers(&operands[0]).and_then(|a| Ok(tuple(*kind, &layout::ceil_div_tiler(&a, by)?)))
        }
        (CuteOp::CeilDiv, [Val::Tuple(kind, _), b]) => {
            arithmetic(*kind, &operands[0], b, layout::ceil_div)
        }
        (CuteOp::Equal, [_, _]) => Ok(Val::Opaque("i1".into())),
        (CuteOp::LayoutEval, [coord, Val::Layout(x)]) => coordinate(coord).and_then(|coord| {
            // `_` stands for the origin of its mode.
            let coord = coord.map(&mut |leaf| leaf.clone().unwrap_or(Int::ZERO));
            Ok(tuple(I, &x.at(&coord)?))
        }),
        (CuteOp::Crd2idx, [coord, shape @ Val::Tuple(..)]) => integers(coord).and_then(|coord| {
            let index = layout::crd2idx_shape(&coord, &integers(shape)?)?;
            Ok(Val::Tuple(I, Tree::Leaf(Some(index))))
        }),
        (CuteOp::Idx2crd, [index, shape]) => integers(index)
            .and_then(|index| Ok(tuple(C, &layout::idx2crd(&index, &integers(shape)?)?))),
        (CuteOp::IncrementCoord, [coord, shape]) => increment(coord, shape),
        _ => return None,
    })
}

/// The operations with any number of results.
pub(super) fn evaluate_many(
    op: CuteOp,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Vec<Val>, SemError>> {
    let [x] = operands else { return None };
    Some(match op {
        CuteOp::GetLeaves => leaves(x),
        CuteOp::GetLayoutsFromTile => match x {
            Val::Tile(tiler) => {
                let mut found = Vec::new();
                tile_leaves(tiler, &mut found);
                found.retain(|leaf| matches!(leaf, Val::Layout(_)));
                match found.is_empty() {
                    true => operand_error("a tile of at least one layout", x),
                    false => Ok(found),
                }
            }
            _ => operand_error("a tile", x),
        },
        CuteOp::GetScalars => {
            let mut found = scalars(x);
            found.retain(|int| attrs.mode.is_empty() || !int.is_static());
            Ok(found.into_iter().map(Val::Scalar).collect())
        }
        _ => return None,
    })
}

/// What `equal` and `elem_less` answer, where the operands say.
pub fn compare(op: CuteOp, operands: &[Val]) -> Option<bool> {
    let [a, b] = operands else { return None };
    if !a.is_static() || !b.is_static() {
        return None;
    }
    match (op, a, b) {
        (CuteOp::Equal, Val::Layout(a), Val::Layout(b)) => Some(a == b),
        (CuteOp::Equal, Val::Tuple(_, a), Val::Tuple(_, b)) => Some(a == b),
        (CuteOp::ElemLess, a, b) => {
            layout::elem_less(&integers(a).ok()?, &integers(b).ok()?).ok()?
        }
        _ => None,
    }
}

fn tuple(kind: TupleKind, tuple: &IntTuple) -> Val {
    Val::Tuple(kind, as_coord(tuple))
}

fn converted(x: &Val, kind: TupleKind) -> Result<Val, SemError> {
    integers(x).map(|x| tuple(kind, &x))
}

fn arithmetic(
    kind: TupleKind,
    a: &Val,
    b: &Val,
    f: impl FnOnce(&IntTuple, &IntTuple) -> Result<IntTuple, cutec_layout::LayoutError>,
) -> Result<Val, SemError> {
    Ok(tuple(kind, &f(&integers(a)?, &integers(b)?)?))
}

/// Leaf by leaf. What one of the tuples lacks is taken from the other as it is,
/// on either side, as the peer's dialect has it.
fn difference(a: &IntTuple, b: &IntTuple) -> Result<IntTuple, cutec_layout::LayoutError> {
    match (a, b) {
        (Tree::Node(x), Tree::Node(y)) => {
            let common = x.iter().zip(y).map(|(a, b)| difference(a, b));
            let rest = x.iter().skip(y.len()).chain(y.iter().skip(x.len()));
            let modes: Result<Vec<_>, _> =
                common.chain(rest.map(|mode| Ok(mode.clone()))).collect();
            Ok(Tree::Node(modes?))
        }
        _ => layout::tuple_sub(a, b),
    }
}

/// The next coordinate in colexicographic order; the last mode is not bounded.
fn increment(coord: &Val, shape: &Val) -> Result<Val, SemError> {
    let (coord, shape) = (integers(coord)?, integers(shape)?);
    let index = layout::crd2idx_shape(&coord, &shape)?.add(&Int::ONE);
    let next = layout::idx2crd(&Tree::Leaf(index), &shape)?;
    Ok(tuple(TupleKind::Coord, &next))
}

fn no_mode(mode: i64, rank: usize, depth: usize) -> SemError {
    SemError::Illegal(format!(
        "expects mode index in [0, {rank}) at depth {depth}, but got {mode}"
    ))
}

fn tree_mode(x: &Coord, mode: i64) -> Result<Coord, SemError> {
    let index = usize::try_from(mode).unwrap_or(usize::MAX);
    match x.mode(index).filter(|_| index < x.rank()) {
        Some(found) => Ok(found.clone()),
        None => Err(no_mode(mode, x.rank(), 0)),
    }
}

fn tile_mode(tiler: &Tiler, mode: i64, depth: usize) -> Result<Tiler, SemError> {
    let index = usize::try_from(mode).unwrap_or(usize::MAX);
    match tiler {
        Tiler::Tile(modes) => match modes.get(index) {
            Some(found) => Ok(found.clone()),
            None => Err(no_mode(mode, modes.len(), depth)),
        },
        leaf if mode == 0 => Ok(leaf.clone()),
        leaf => Err(no_mode(mode, leaf.rank(), depth)),
    }
}

fn tile_at(tiler: &Tiler, path: &[i64]) -> Result<Val, SemError> {
    let mut here = tiler.clone();
    for (depth, mode) in path.iter().enumerate() {
        if !matches!(here, Tiler::Tile(_)) {
            return Err(SemError::Illegal(format!(
                "expects mode indices to stop at a layout of the tile, but got {} more after depth {depth}",
                path.len() - depth
            )));
        }
        here = tile_mode(&here, *mode, depth)?;
    }
    Ok(Val::Tile(here))
}

fn flat_tile(tiler: &Tiler) -> Tiler {
    fn go(tiler: &Tiler, out: &mut Vec<Tiler>) {
        match tiler {
            Tiler::Tile(modes) => modes.iter().for_each(|mode| go(mode, out)),
            leaf => out.push(leaf.clone()),
        }
    }
    match tiler {
        Tiler::Tile(_) => {
            let mut out = Vec::new();
            go(tiler, &mut out);
            Tiler::Tile(out)
        }
        leaf => leaf.clone(),
    }
}

fn tile_shape(tiler: &Tiler) -> Coord {
    match tiler {
        Tiler::Tile(modes) => Tree::Node(modes.iter().map(tile_shape).collect()),
        Tiler::Layout(layout) => as_coord(layout.shape()),
        Tiler::Int(int) => Tree::Leaf(Some(int.clone())),
        Tiler::All => Tree::Leaf(None),
    }
}

fn tile_leaves(tiler: &Tiler, out: &mut Vec<Val>) {
    match tiler {
        Tiler::Tile(modes) => modes.iter().for_each(|mode| tile_leaves(mode, out)),
        Tiler::Layout(layout) => out.push(Val::Layout(AnyLayout::Plain(layout.clone()))),
        Tiler::Int(int) => out.push(Val::Layout(AnyLayout::Plain(Layout::contiguous(
            int.clone(),
        )))),
        Tiler::All => out.push(Val::Tile(Tiler::All)),
    }
}

fn leaves(x: &Val) -> Result<Vec<Val>, SemError> {
    Ok(match x {
        Val::Tuple(kind, x) => x
            .leaves()
            .into_iter()
            .map(|leaf| Val::Tuple(*kind, Tree::Leaf(leaf.clone())))
            .collect(),
        Val::Tile(tiler) => {
            let mut found = Vec::new();
            tile_leaves(tiler, &mut found);
            found
        }
        _ => return operand_error("a tuple or a tile", x),
    })
}

/// Every integer of a value, from left to right, with its basis.
pub fn leaves_of(x: &Val) -> Vec<Int> {
    let mut out = Vec::new();
    let mut tree = |tree: &IntTuple| tree.visit(&mut |leaf| out.push(leaf.clone()));
    match x {
        Val::Scalar(int) => out.push(int.clone()),
        Val::Tuple(_, x) => out.extend(x.leaves().into_iter().flatten().cloned()),
        Val::Layout(AnyLayout::Plain(x)) => {
            tree(x.shape());
            tree(x.stride());
        }
        Val::Layout(AnyLayout::Composed(x)) => {
            if let Outer::Layout(outer) = &x.outer {
                tree(outer.shape());
                tree(outer.stride());
            }
            tree(&x.offset);
            tree(x.inner.shape());
            tree(x.inner.stride());
        }
        Val::Tile(tiler) => {
            let mut found = Vec::new();
            tile_leaves(tiler, &mut found);
            found.retain(|leaf| matches!(leaf, Val::Layout(_)));
            out.extend(found.iter().flat_map(leaves_of));
        }
        Val::Swizzle(x) => {
            let numbers = [x.bits().into(), x.base().into(), x.shift().into()];
            out.extend(numbers.map(Int::Static));
        }
        _ => {}
    }
    out
}

/// Every integer of a value; the path of a scaled basis after its scale.
fn scalars(x: &Val) -> Vec<Int> {
    let mut out = Vec::new();
    for leaf in leaves_of(x) {
        out.push(leaf.value().clone());
        out.extend(leaf.path().iter().map(|mode| Int::Static(*mode as i64)));
    }
    out
}

/// The modes of a tuple at the `_` of a coordinate, or at its integers.
fn pick(
    coord: &Coord,
    x: &Coord,
    at_underscore: bool,
    out: &mut Vec<Coord>,
) -> Result<(), SemError> {
    match (coord, x) {
        (Tree::Leaf(leaf), x) => {
            if leaf.is_none() == at_underscore {
                out.push(x.clone());
            }
            Ok(())
        }
        (Tree::Node(coords), Tree::Node(modes)) if coords.len() == modes.len() => coords
            .iter()
            .zip(modes)
            .try_for_each(|(coord, mode)| pick(coord, mode, at_underscore, out)),
        (coord, x) => Err(SemError::Illegal(format!(
            "expects a coordinate of rank {}, but got one of rank {}",
            x.rank(),
            coord.rank()
        ))),
    }
}

/// More modes than anyone pads to.
const MAX_RANK: usize = 1024;

/// `x` with copies of an element until it has the rank of the attribute.
fn padded(x: &Val, element: &Val, attrs: &Attrs, after: bool) -> Result<Val, SemError> {
    let rank = attrs.mode.first().copied().unwrap_or_default();
    let current = match x {
        Val::Tuple(_, x) => x.rank(),
        Val::Layout(x) => x.rank(),
        _ => return operand_error("a tuple or a layout", x),
    };
    let Some(rank) = usize::try_from(rank)
        .ok()
        .filter(|rank| (1..=MAX_RANK).contains(rank))
    else {
        return Err(SemError::Illegal(format!(
            "expects a rank of 1 to {MAX_RANK}, but got {rank}"
        )));
    };
    let rank = rank.max(current);
    match (x, element) {
        (Val::Tuple(kind, x), Val::Tuple(other, element)) if kind == other => {
            if rank == current {
                return Ok(Val::Tuple(*kind, x.clone()));
            }
            let mut modes = x.wrap().modes().to_vec();
            let pad = vec![element.clone(); rank - current];
            modes.splice(if after { current..current } else { 0..0 }, pad);
            Ok(Val::Tuple(*kind, Tree::Node(modes)))
        }
        (Val::Layout(x), Val::Layout(AnyLayout::Plain(element))) => {
            let pad = if after {
                layout::append_to_rank
            } else {
                layout::prepend_to_rank
            };
            Ok(Val::Layout(x.map_inner(|x| Ok(pad(x, rank, element)))?))
        }
        _ => operand_error("an element of the same kind", element),
    }
}
