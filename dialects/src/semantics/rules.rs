//! What the operations of the algebra accept: how many operands, and of which kinds.
use super::SemError;
use crate::ops::CuteOp;
use crate::value::{TupleKind, Val};
use cutec_layout::{AnyLayout, algebra as layout};

/// A set of kinds of values.
type Kinds = u16;
const INT_TUPLE: Kinds = 1;
const COORD: Kinds = 2;
const SHAPE: Kinds = 4;
const STRIDE: Kinds = 8;
const LAYOUT: Kinds = 16;
const COMPOSED: Kinds = 32;
const TILE: Kinds = 64;
const SWIZZLE: Kinds = 128;
/// Views and coordinate tensors.
const TENSOR: Kinds = 256;
/// Integers of other dialects.
const SCALAR: Kinds = 512;
const TUPLE: Kinds = INT_TUPLE | COORD | SHAPE | STRIDE;
const ANY_LAYOUT: Kinds = LAYOUT | COMPOSED | TENSOR;
const INDEXABLE: Kinds = TUPLE | TILE | ANY_LAYOUT;
const ARITHMETIC: Kinds = INT_TUPLE | SHAPE;
/// What the front end may write instead of a shape or a coordinate.
const LOOSE: Kinds = INT_TUPLE | SCALAR | COORD;
const DIVIDER: Kinds = LAYOUT | TILE | SHAPE | LOOSE;

const NAMES: [(Kinds, &str); 10] = [
    (INT_TUPLE, "!cute.int_tuple"),
    (COORD, "!cute.coord"),
    (SHAPE, "!cute.shape"),
    (STRIDE, "!cute.stride"),
    (LAYOUT, "!cute.layout"),
    (COMPOSED, "!cute.composed_layout"),
    (TILE, "!cute.tile"),
    (SWIZZLE, "!cute.swizzle"),
    (TENSOR, "a view"),
    (SCALAR, "an integer"),
];

fn has_static_shape(layout: &AnyLayout) -> bool {
    let extents = layout.shape().leaves();
    extents.iter().all(|extent| extent.is_static())
}

fn kind_of(val: &Val) -> Kinds {
    match val {
        Val::Tuple(TupleKind::IntTuple, _) => INT_TUPLE,
        Val::Tuple(TupleKind::Coord, _) => COORD,
        Val::Tuple(TupleKind::Shape, _) => SHAPE,
        Val::Tuple(TupleKind::Stride, _) => STRIDE,
        Val::Layout(AnyLayout::Plain(_)) => LAYOUT,
        Val::Layout(AnyLayout::Composed(_)) => COMPOSED,
        Val::Tile(_) => TILE,
        Val::Swizzle(_) => SWIZZLE,
        Val::View(_) | Val::CoordTensor(_) => TENSOR,
        Val::Scalar(_) => SCALAR,
        _ => 0,
    }
}

/// The kinds of the operands, and how many of the last ones may be absent.
fn signature(op: CuteOp) -> Option<(&'static [Kinds], usize)> {
    Some(match op {
        CuteOp::GetShape => (&[ANY_LAYOUT | TILE | LOOSE], 0),
        CuteOp::MakeLayout => (&[SHAPE | LOOSE, STRIDE | LOOSE], 1),
        CuteOp::MakeLayoutLike => (&[ANY_LAYOUT], 0),
        CuteOp::MakeOrderedLayout => (&[SHAPE, INT_TUPLE], 0),
        CuteOp::MakeIdentityLayout => (&[SHAPE], 0),
        CuteOp::MakeComposedLayout => (&[LAYOUT | SWIZZLE, INT_TUPLE, LAYOUT], 0),
        CuteOp::GetLeaves => (&[TUPLE | TILE], 0),
        CuteOp::Get | CuteOp::Select | CuteOp::Flatten => (&[INDEXABLE], 0),
        CuteOp::ToIntTuple => (&[TUPLE], 0),
        CuteOp::ToShape | CuteOp::ToStride | CuteOp::ToCoord => (&[INT_TUPLE], 0),
        CuteOp::Composition => (&[LAYOUT | COMPOSED | TENSOR, DIVIDER], 0),
        CuteOp::Coalesce => (&[ANY_LAYOUT, COORD | LOOSE], 1),
        CuteOp::Complement => (&[LAYOUT, LAYOUT | SHAPE | LOOSE], 1),
        CuteOp::RightInverse | CuteOp::LeftInverse => (&[LAYOUT], 0),
        CuteOp::GroupModes | CuteOp::RecastLayout => (&[ANY_LAYOUT], 0),
        CuteOp::Slice => (&[TUPLE | ANY_LAYOUT, COORD | LOOSE], 0),
        CuteOp::Dice => (&[TUPLE | LAYOUT | COMPOSED, COORD | LOOSE], 0),
        CuteOp::Size => (&[ANY_LAYOUT | SHAPE | LOOSE | TILE], 0),
        CuteOp::Cosize => (&[LAYOUT | COMPOSED], 0),
        CuteOp::TupleProduct | CuteOp::TupleProductEach => (&[ARITHMETIC], 0),
        CuteOp::LayoutEval => (&[COORD, LAYOUT | COMPOSED], 0),
        CuteOp::Crd2idx => (&[COORD | LOOSE, SHAPE | LAYOUT | COMPOSED], 0),
        CuteOp::Idx2crd => (&[INT_TUPLE, SHAPE], 0),
        CuteOp::IncrementCoord => (&[COORD, SHAPE], 0),
        CuteOp::AppendToRank | CuteOp::PrependToRank => {
            (&[TUPLE | LAYOUT | COMPOSED, TUPLE | LAYOUT | COMPOSED], 0)
        }
        CuteOp::TupleAdd | CuteOp::TupleSub => (&[ARITHMETIC, ARITHMETIC], 0),
        CuteOp::ShapeDiv => (&[SHAPE, SHAPE], 0),
        CuteOp::CeilDiv => (&[ARITHMETIC, ARITHMETIC | TILE], 0),
        CuteOp::ElemLess => (
            &[ARITHMETIC | COORD | SCALAR, ARITHMETIC | COORD | SCALAR],
            0,
        ),
        CuteOp::Equal => (&[TUPLE | LAYOUT, TUPLE | LAYOUT], 0),
        CuteOp::LogicalProduct
        | CuteOp::ZippedProduct
        | CuteOp::TiledProduct
        | CuteOp::FlatProduct
        | CuteOp::RakedProduct
        | CuteOp::BlockedProduct => (&[ANY_LAYOUT, LAYOUT], 0),
        CuteOp::LogicalDivide | CuteOp::ZippedDivide | CuteOp::TiledDivide | CuteOp::FlatDivide => {
            (&[ANY_LAYOUT, DIVIDER], 0)
        }
        CuteOp::TileToShape => (&[ANY_LAYOUT, SHAPE | LOOSE, INT_TUPLE], 1),
        _ => return None,
    })
}

/// Whether each operand is one integer, as what fills the run-time leaves of a tile is.
fn single_integers(operands: &[Val]) -> Result<(), SemError> {
    let single = |operand: &Val| match operand {
        Val::Tuple(TupleKind::IntTuple, tuple) => tuple.is_leaf(),
        other => kind_of(other) == SCALAR,
    };
    match operands.iter().enumerate().find(|(_, x)| !single(x)) {
        None => Ok(()),
        Some((number, operand)) => Err(SemError::Illegal(format!(
            "expects operand #{number} to be an integer or a !cute.int_tuple of one, but got {}",
            operand.describe()
        ))),
    }
}

/// Whether the operands of an operation in the IR are of kinds that it takes.
pub fn check_operands(op: CuteOp, operands: &[Val]) -> Result<(), SemError> {
    if op == CuteOp::MakeTile {
        return single_integers(operands);
    }
    let Some((kinds, optional)) = signature(op) else {
        return Ok(());
    };
    if operands.len() > kinds.len() || operands.len() + optional < kinds.len() {
        return super::count_error(kinds.len().to_string(), operands.len());
    }
    for (number, (operand, kinds)) in operands.iter().zip(kinds).enumerate() {
        if kind_of(operand) & kinds == 0 {
            let names: Vec<_> = NAMES
                .iter()
                .filter(|(kind, _)| kind & kinds != 0)
                .map(|(_, name)| *name)
                .collect();
            return Err(SemError::Illegal(format!(
                "expects operand #{number} to be {}, but got {}",
                names.join(" or "),
                operand.describe()
            )));
        }
    }
    let refuse = |what: &str| Err(SemError::Illegal(what.into()));
    match (op, operands) {
        (CuteOp::Crd2idx, [coord, Val::Tuple(..)]) if kind_of(coord) != COORD => {
            refuse("expects a coordinate and a shape")
        }
        (CuteOp::ToIntTuple, [Val::Tuple(_, tuple)])
            if tuple
                .leaves()
                .into_iter()
                .flatten()
                .any(|leaf| !leaf.path().is_empty()) =>
        {
            refuse("expects integers, not scaled bases")
        }
        (CuteOp::TupleSub, [Val::Tuple(_, a), Val::Tuple(_, b)]) if a.is_leaf() && !b.is_leaf() => {
            refuse("expects a tuple to take a tuple from")
        }
        (CuteOp::LeftInverse, [Val::Layout(x)]) if !has_static_shape(x) => {
            refuse("expects a layout of static shape")
        }
        (CuteOp::RightInverse, [Val::Layout(x)])
            if !has_static_shape(x) && !layout::right_inverse_is_largest(x.inner()) =>
        {
            refuse("expects a layout whose run-time extents leave open no mode of the inverse")
        }
        (CuteOp::Cosize, [Val::Layout(AnyLayout::Composed(x))]) if x.swizzle().is_none() => {
            refuse("expects a layout, perhaps behind a swizzle")
        }
        (CuteOp::Equal | CuteOp::TupleAdd | CuteOp::TupleSub, [a, b])
            if kind_of(a) != kind_of(b) =>
        {
            refuse("expects two operands of one kind")
        }
        (_, [Val::Layout(lhs), rhs]) if op.is_product() => {
            let by_basis = layout::is_by_basis(lhs.inner());
            if !lhs.inner().is_static() || by_basis && !rhs.is_static() {
                return refuse(
                    "expects a static layout to repeat, and static repetitions of coordinates",
                );
            }
            Ok(())
        }
        (CuteOp::Dice, [_, coord]) | (CuteOp::MakeOrderedLayout, [_, coord])
            if !coord.is_static() =>
        {
            refuse("expects a static second operand")
        }
        (CuteOp::TileToShape, [_, shape, order]) => {
            let (rank, order) = (super::integers(shape)?.rank(), super::integers(order)?);
            let order: Option<Vec<i64>> = order
                .modes()
                .iter()
                .map(|mode| mode.as_leaf()?.as_static())
                .collect();
            let mut order = order.unwrap_or_default();
            order.sort_unstable();
            if order != (0..rank as i64).collect::<Vec<_>>() {
                return refuse("expects the order to be a static permutation of the shape's modes");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
