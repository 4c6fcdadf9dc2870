//! What the operations of the algebra accept: how many operands, and of which kinds.
use super::SemError;
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
fn signature(name: &str) -> Option<(&'static [Kinds], usize)> {
    Some(match name {
        "get_shape" => (&[ANY_LAYOUT | TILE | LOOSE], 0),
        "make_layout" => (&[SHAPE | LOOSE, STRIDE | LOOSE], 1),
        "make_layout_like" => (&[ANY_LAYOUT], 0),
        "make_ordered_layout" => (&[SHAPE, INT_TUPLE], 0),
        "make_identity_layout" => (&[SHAPE], 0),
        "make_composed_layout" => (&[LAYOUT | SWIZZLE, INT_TUPLE, LAYOUT], 0),
        "get_leaves" => (&[TUPLE | TILE], 0),
        "get" | "select" | "flatten" => (&[INDEXABLE], 0),
        "to_int_tuple" => (&[TUPLE], 0),
        "to_shape" | "to_stride" | "to_coord" => (&[INT_TUPLE], 0),
        "composition" => (&[LAYOUT | COMPOSED | TENSOR, DIVIDER], 0),
        "coalesce" => (&[ANY_LAYOUT, COORD | LOOSE], 1),
        "complement" => (&[LAYOUT, LAYOUT | SHAPE | LOOSE], 1),
        "right_inverse" | "left_inverse" => (&[LAYOUT], 0),
        "group_modes" | "recast_layout" => (&[ANY_LAYOUT], 0),
        "slice" => (&[TUPLE | ANY_LAYOUT, COORD | LOOSE], 0),
        "dice" => (&[TUPLE | LAYOUT | COMPOSED, COORD | LOOSE], 0),
        "size" => (&[ANY_LAYOUT | SHAPE | LOOSE | TILE], 0),
        "cosize" => (&[LAYOUT | COMPOSED], 0),
        "tuple_product" | "tuple_product_each" => (&[ARITHMETIC], 0),
        "layout_eval" => (&[COORD, LAYOUT | COMPOSED], 0),
        "crd2idx" => (&[COORD | LOOSE, SHAPE | LAYOUT | COMPOSED], 0),
        "idx2crd" => (&[INT_TUPLE, SHAPE], 0),
        "increment_coord" => (&[COORD, SHAPE], 0),
        "append_to_rank" | "prepend_to_rank" => {
            (&[TUPLE | LAYOUT | COMPOSED, TUPLE | LAYOUT | COMPOSED], 0)
        }
        "tuple_add" | "tuple_sub" => (&[ARITHMETIC, ARITHMETIC], 0),
        "shape_div" => (&[SHAPE, SHAPE], 0),
        "ceil_div" => (&[ARITHMETIC, ARITHMETIC | TILE], 0),
        "elem_less" => (
            &[ARITHMETIC | COORD | SCALAR, ARITHMETIC | COORD | SCALAR],
            0,
        ),
        "equal" => (&[TUPLE | LAYOUT, TUPLE | LAYOUT], 0),
        "logical_product" | "zipped_product" | "tiled_product" | "flat_product"
        | "raked_product" | "blocked_product" => (&[ANY_LAYOUT, LAYOUT], 0),
        "logical_divide" | "zipped_divide" | "tiled_divide" | "flat_divide" => {
            (&[ANY_LAYOUT, DIVIDER], 0)
        }
        "tile_to_shape" => (&[ANY_LAYOUT, SHAPE | LOOSE, INT_TUPLE], 1),
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
pub fn check_operands(name: &str, operands: &[Val]) -> Result<(), SemError> {
    if name == "make_tile" {
        return single_integers(operands);
    }
    let Some((kinds, optional)) = signature(name) else {
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
    match (name, operands) {
        ("crd2idx", [coord, Val::Tuple(..)]) if kind_of(coord) != COORD => {
            refuse("expects a coordinate and a shape")
        }
        ("to_int_tuple", [Val::Tuple(_, tuple)])
            if tuple
                .leaves()
                .into_iter()
                .flatten()
                .any(|leaf| !leaf.path().is_empty()) =>
        {
            refuse("expects integers, not scaled bases")
        }
        ("tuple_sub", [Val::Tuple(_, a), Val::Tuple(_, b)]) if a.is_leaf() && !b.is_leaf() => {
            refuse("expects a tuple to take a tuple from")
        }
        ("left_inverse", [Val::Layout(x)]) if !has_static_shape(x) => {
            refuse("expects a layout of static shape")
        }
        ("right_inverse", [Val::Layout(x)])
            if !has_static_shape(x) && !layout::right_inverse_is_largest(x.inner()) =>
        {
            refuse("expects a layout whose run-time extents leave open no mode of the inverse")
        }
        ("cosize", [Val::Layout(AnyLayout::Composed(x))]) if x.swizzle().is_none() => {
            refuse("expects a layout, perhaps behind a swizzle")
        }
        ("equal" | "tuple_add" | "tuple_sub", [a, b]) if kind_of(a) != kind_of(b) => {
            refuse("expects two operands of one kind")
        }
        (_, [Val::Layout(lhs), rhs]) if name.ends_with("_product") => {
            let by_basis = layout::is_by_basis(lhs.inner());
            if !lhs.inner().is_static() || by_basis && !rhs.is_static() {
                return refuse(
                    "expects a static layout to repeat, and static repetitions of coordinates",
                );
            }
            Ok(())
        }
        ("dice", [_, coord]) | ("make_ordered_layout", [_, coord]) if !coord.is_static() => {
            refuse("expects a static second operand")
        }
        ("tile_to_shape", [_, shape, order]) => {
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
