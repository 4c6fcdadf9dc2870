//! The table of operations, and how each takes its arguments.

use super::{ExprError, Value};
use crate::algebra as alg;
use crate::{
    AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, Tree,
};
use std::ops::{Range, RangeInclusive};

/// An operation of the expression language.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    apply: fn(&Args) -> Result<Value, ExprError>,
}

impl Operation {
    pub(super) fn apply(&self, args: &Args) -> Result<Value, ExprError> {
        within_range((self.apply)(args)?, self.name, &args.span)
    }
}

/// The value of an operation, unless it is beyond the integers that a text may have.
pub(super) fn within_range(
    value: Value,
    op: &'static str,
    span: &Range<usize>,
) -> Result<Value, ExprError> {
    match value.fits() {
        true => Ok(value),
        false => Err(ExprError::Layout {
            span: span.clone(),
            error: Box::new(LayoutError::Overflow { op }),
        }),
    }
}

/// All operations, in the order of a reference.
pub fn operations() -> &'static [Operation] {
    OPERATIONS
}

/// The arguments of a call.
pub(super) struct Args {
    pub usage: &'static str,
    pub span: Range<usize>,
    pub parameters: Vec<i64>,
    pub arguments: Vec<(Value, Range<usize>)>,
}

pub(super) fn find(name: &str, span: Range<usize>) -> Result<&'static Operation, ExprError> {
    OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .ok_or_else(|| ExprError::UnknownOperation {
            span,
            name: name.to_owned(),
            suggestion: OPERATIONS
                .iter()
                .map(|operation| (distance(name, operation.name), operation.name))
                .min()
                .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
                .map(|(_, name)| name),
        })
}

/// Edit distance of two names.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (corner + usize::from(x != y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            corner = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

pub(super) fn tuple_argument(
    argument: &(Value, Range<usize>),
    usage: &'static str,
) -> Result<IntTuple, ExprError> {
    convert(argument, usage, "a tuple of integers", Value::to_tuple)
}

pub(super) fn layout_argument(
    argument: &(Value, Range<usize>),
    usage: &'static str,
) -> Result<Layout, ExprError> {
    convert(argument, usage, "a layout", Value::to_layout)
}

fn convert<T>(
    (value, span): &(Value, Range<usize>),
    usage: &'static str,
    expected: &'static str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, ExprError> {
    read(value).ok_or_else(|| ExprError::ArgumentKind {
        span: span.clone(),
        usage,
        expected,
        found: value.kind().to_owned(),
    })
}

/// `outer o inner`.
pub(super) fn compose(
    outer: &(Value, Range<usize>),
    inner: &(Value, Range<usize>),
    span: &Range<usize>,
) -> Result<Value, ExprError> {
    let usage = "A o B";
    if let Value::Swizzle(swizzle) = outer.0 {
        let inner = layout_argument(inner, usage)?;
        let composed = Value::Layout(ComposedLayout::swizzle_of(swizzle, inner));
        return within_range(composed, "composition", span);
    }
    let lhs = convert(outer, usage, "a layout or a swizzle", Value::to_any_layout)?;
    let composed = match &inner.0 {
        Value::Layout(rhs @ AnyLayout::Composed(_)) => alg::compose(&lhs, rhs),
        _ => {
            let tiler = convert(inner, usage, "a layout or a tile", Value::to_tiler)?;
            alg::composition_any(&lhs, &tiler)
        }
    };
    match composed {
        Ok(layout) => within_range(Value::Layout(layout), "composition", span),
        Err(error) => Err(ExprError::Layout {
            span: span.clone(),
            error: Box::new(error),
        }),
    }
}

impl Args {
    fn count(&self, range: RangeInclusive<usize>) -> Result<(), ExprError> {
        let found = self.arguments.len();
        if range.contains(&found) && self.parameters.is_empty() {
            return Ok(());
        }
        let (low, high) = (range.start(), range.end());
        Err(ExprError::ArgumentCount {
            span: self.span.clone(),
            usage: self.usage,
            expected: match (low, high) {
                (low, high) if low == high => low.to_string(),
                (low, &usize::MAX) => format!("{low} or more"),
                (low, high) => format!("{low} to {high}"),
            },
            found,
        })
    }

    fn get<T>(
        &self,
        index: usize,
        expected: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ExprError> {
        match self.arguments.get(index) {
            Some(argument) => convert(argument, self.usage, expected, read),
            None => Err(ExprError::ArgumentCount {
                span: self.span.clone(),
                usage: self.usage,
                expected: format!("{} or more", index + 1),
                found: self.arguments.len(),
            }),
        }
    }

    fn layout(&self, index: usize) -> Result<Layout, ExprError> {
        self.get(index, "a layout", Value::to_layout)
    }

    fn any(&self, index: usize) -> Result<AnyLayout, ExprError> {
        self.get(index, "a layout", Value::to_any_layout)
    }

    fn tuple(&self, index: usize) -> Result<IntTuple, ExprError> {
        self.get(index, "a tuple of integers", Value::to_tuple)
    }

    fn tiler(&self, index: usize) -> Result<Tiler, ExprError> {
        self.get(index, "a tiler", Value::to_tiler)
    }

    fn coord(&self, index: usize) -> Result<Coord, ExprError> {
        self.get(index, "a coordinate", Value::to_coord)
    }

    fn number(&self, index: usize) -> Result<i64, ExprError> {
        self.get(index, "a static integer", Value::to_static)
    }

    fn mode(&self, index: usize) -> Result<usize, ExprError> {
        self.get(index, "a mode", |value| {
            usize::try_from(value.to_static()?).ok()
        })
    }

    fn modes(&self, from: usize) -> Result<Vec<usize>, ExprError> {
        (from..self.arguments.len())
            .map(|index| self.mode(index))
            .collect()
    }

    fn ok<T>(&self, result: Result<T, LayoutError>) -> Result<T, ExprError> {
        result.map_err(|error| ExprError::Layout {
            span: self.span.clone(),
            error: Box::new(error),
        })
    }

    fn plain(&self, result: Result<Layout, LayoutError>) -> Result<Value, ExprError> {
        Ok(Value::Layout(AnyLayout::Plain(self.ok(result)?)))
    }

    /// A unary operation on the inner layout.
    fn inner(
        &self,
        f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
    ) -> Result<Value, ExprError> {
        let mapped = self.any(0)?.map_inner(f);
        Ok(Value::Layout(self.ok(mapped)?))
    }

    /// An operation of a layout, which may be composed, and a tiler.
    fn tiled(
        &self,
        f: fn(&Layout, &Tiler) -> Result<Layout, LayoutError>,
    ) -> Result<Value, ExprError> {
        self.count(2..=2)?;
        let tiler = self.tiler(1)?;
        self.inner(|layout| f(layout, &tiler))
    }

    /// An operation of two layouts, the first of which may be composed.
    fn binary(
        &self,
        f: fn(&Layout, &Layout) -> Result<Layout, LayoutError>,
    ) -> Result<Value, ExprError> {
        self.count(2..=2)?;
        let other = self.layout(1)?;
        self.inner(|layout| f(layout, &other))
    }

    /// An operation of two tuples.
    fn tuples(
        &self,
        f: fn(&IntTuple, &IntTuple) -> Result<IntTuple, LayoutError>,
    ) -> Result<Value, ExprError> {
        self.count(2..=2)?;
        let result = f(&self.tuple(0)?, &self.tuple(1)?);
        Ok(Value::Tuple(self.ok(result)?))
    }
}

fn int(value: impl Into<Int>) -> Value {
    Value::Tuple(Tree::Leaf(value.into()))
}

fn truth(args: &Args, answer: Option<bool>) -> Result<Value, ExprError> {
    match answer {
        Some(answer) => Ok(Value::Bool(answer)),
        None => args.ok(Err(LayoutError::Unsupported {
            op: "comparison",
            expected: "values that are known",
            found: "run-time values that leave it open".to_owned(),
        })),
    }
}

/// `op<new, old>` as in C++, or `op(…, new, old)`.
fn widths(args: &Args) -> Result<(i64, i64), ExprError> {
    match (args.parameters.as_slice(), args.arguments.len()) {
        ([new, old], 1) => Ok((*new, *old)),
        ([], 3) => Ok((args.number(1)?, args.number(2)?)),
        _ => Err(ExprError::ArgumentCount {
            span: args.span.clone(),
            usage: args.usage,
            expected: "1 layout and 2 widths as".to_owned(),
            found: args.arguments.len(),
        }),
    }
}

fn composition(args: &Args) -> Result<Value, ExprError> {
    args.count(2..=3)?;
    match args.arguments.as_slice() {
        [outer, inner] => {
            let value = compose(outer, inner, &args.span)?;
            Ok(value)
        }
        _ => {
            let outer = match &args.arguments[0].0 {
                Value::Swizzle(swizzle) => crate::Outer::Swizzle(*swizzle),
                _ => crate::Outer::Layout(args.layout(0)?),
            };
            Ok(Value::Layout(AnyLayout::Composed(ComposedLayout {
                outer,
                offset: args.tuple(1)?,
                inner: args.layout(2)?,
            })))
        }
    }
}

fn recast(args: &Args) -> Result<Value, ExprError> {
    let (new, old) = widths(args)?;
    if let Some((Value::Swizzle(swizzle), _)) = args.arguments.first() {
        return Ok(Value::Swizzle(args.ok(swizzle.recast(old, new))?));
    }
    let layout = args.any(0)?;
    Ok(Value::Layout(
        args.ok(alg::recast_layout_any(&layout, new, old))?,
    ))
}

fn crd2idx(args: &Args) -> Result<Value, ExprError> {
    args.count(2..=3)?;
    // A `_` stands at the origin of what it leaves open.
    let coord = args.coord(0)?;
    let coord = coord.map(&mut |leaf| leaf.clone().unwrap_or(Int::ZERO));
    if args.arguments.len() == 3 {
        let layout = args.ok(Layout::new(args.tuple(1)?, args.tuple(2)?))?;
        return Ok(Value::Tuple(args.ok(alg::crd2idx(&coord, &layout))?));
    }
    if let Some((Value::Tuple(shape), _)) = args.arguments.get(1) {
        return Ok(int(args.ok(alg::crd2idx_shape(&coord, shape))?));
    }
    if let Some((Value::Swizzle(swizzle), _)) = args.arguments.get(1) {
        return swizzled(args, *swizzle, &coord);
    }
    let layout = args.any(1)?;
    Ok(Value::Tuple(args.ok(layout.at(&coord))?))
}

fn swizzled(args: &Args, swizzle: Swizzle, offset: &IntTuple) -> Result<Value, ExprError> {
    match offset {
        Tree::Leaf(offset) => Ok(int(swizzle.apply_int(offset))),
        other => args.ok(Err(LayoutError::Unsupported {
            op: "swizzle",
            expected: "an integer offset",
            found: other.to_string(),
        })),
    }
}

fn idx2crd(args: &Args) -> Result<Value, ExprError> {
    args.count(2..=3)?;
    let index = args.tuple(0)?;
    let shape = match args.arguments.get(1) {
        Some((Value::Layout(layout), _)) => layout.shape().clone(),
        _ => args.tuple(1)?,
    };
    Ok(Value::Tuple(args.ok(alg::idx2crd(&index, &shape))?))
}

fn tile_to_shape(args: &Args) -> Result<Value, ExprError> {
    args.count(2..=3)?;
    let target = args.tuple(1)?;
    let order = match args.arguments.len() {
        3 => Some(args.tuple(2)?),
        _ => None,
    };
    args.inner(|block| alg::tile_to_shape(block, &target, order.as_ref()))
}

fn with_profile(
    args: &Args,
    plain: fn(&Layout) -> Layout,
    by_profile: fn(&Layout, &IntTuple) -> Result<Layout, LayoutError>,
) -> Result<Value, ExprError> {
    args.count(1..=2)?;
    if args.arguments.len() == 1 {
        return args.inner(|layout| Ok(plain(layout)));
    }
    let profile = args.tuple(1)?;
    args.inner(|layout| by_profile(layout, &profile))
}

fn shape_of(args: &Args, index: usize) -> Result<IntTuple, ExprError> {
    match args.arguments.get(index) {
        Some((Value::Layout(layout), _)) => Ok(layout.shape().clone()),
        Some((Value::Tiler(tiler), _)) => match tiler.shape() {
            Some(shape) => Ok(shape),
            None => args.tuple(index),
        },
        _ => args.tuple(index),
    }
}

fn append_like(
    args: &Args,
    to_rank: fn(&Layout, usize, &Layout) -> Layout,
) -> Result<Value, ExprError> {
    args.count(2..=3)?;
    let rank = args.mode(1)?;
    let unit = match args.arguments.len() {
        3 => args.layout(2)?,
        _ => Layout::unit(),
    };
    args.inner(|layout| Ok(to_rank(layout, rank.min(256), &unit)))
}

macro_rules! op {
    ($name:literal, $usage:literal, $apply:expr) => {
        Operation {
            name: $name,
            usage: $usage,
            apply: $apply,
        }
    };
}

#[rustfmt::skip]
static OPERATIONS: &[Operation] = &[
    op!("shape", "shape(layout)", |a| { a.count(1..=1)?; Ok(Value::Tuple(shape_of(a, 0)?)) }),
    op!("stride", "stride(layout)", |a| { a.count(1..=1)?; Ok(Value::Tuple(a.any(0)?.inner().stride().clone())) }),
    op!("size", "size(layout)", |a| { a.count(1..=1)?; Ok(int(alg::product(&shape_of(a, 0)?))) }),
    op!("cosize", "cosize(layout)", |a| { a.count(1..=1)?; Ok(int(a.ok(alg::cosize_any(&a.any(0)?))?)) }),
    op!("coshape", "coshape(layout)", |a| { a.count(1..=1)?; Ok(Value::Tuple(a.ok(alg::coshape(&a.layout(0)?))?)) }),
    op!("rank", "rank(layout)", |a| { a.count(1..=1)?; Ok(int(shape_of(a, 0)?.rank() as i64)) }),
    op!("depth", "depth(layout)", |a| { a.count(1..=1)?; Ok(int(shape_of(a, 0)?.depth() as i64)) }),
    op!("coalesce", "coalesce(layout, profile?)", |a| with_profile(a, alg::coalesce_run_time, alg::coalesce_run_time_profile)),
    op!("flatten", "flatten(layout)", |a| { a.count(1..=1)?; a.inner(|l| Ok(alg::flatten(l))) }),
    op!("filter", "filter(layout, profile?)", |a| with_profile(a, alg::filter, alg::filter_profile)),
    op!("filter_zeros", "filter_zeros(layout, profile?)", |a| with_profile(a, alg::filter_zeros, alg::filter_zeros_with)),
    op!("nullspace", "nullspace(layout)", |a| { a.count(1..=1)?; a.plain(Ok(alg::nullspace(&a.layout(0)?))) }),
    op!("composition", "composition(layout, tiler)", composition),
    op!("complement", "complement(layout, size?)", |a| {
        a.count(1..=2)?;
        let layout = a.any(0)?.inner().clone();
        let result = match a.arguments.len() {
            2 => alg::complement(&layout, &shape_of(a, 1)?),
            _ => alg::complement_default(&layout),
        };
        a.plain(result)
    }),
    op!("right_inverse", "right_inverse(layout)", |a| { a.count(1..=1)?; Ok(Value::Layout(a.ok(alg::right_inverse_any(&a.any(0)?))?)) }),
    op!("left_inverse", "left_inverse(layout)", |a| { a.count(1..=1)?; Ok(Value::Layout(a.ok(alg::left_inverse_any(&a.any(0)?))?)) }),
    op!("logical_divide", "logical_divide(layout, tiler)", |a| a.tiled(alg::logical_divide)),
    op!("zipped_divide", "zipped_divide(layout, tiler)", |a| a.tiled(alg::zipped_divide)),
    op!("tiled_divide", "tiled_divide(layout, tiler)", |a| a.tiled(alg::tiled_divide)),
    op!("flat_divide", "flat_divide(layout, tiler)", |a| a.tiled(alg::flat_divide)),
    op!("logical_product", "logical_product(block, tiler)", |a| a.tiled(alg::logical_product)),
    op!("zipped_product", "zipped_product(block, tiler)", |a| a.tiled(alg::zipped_product)),
    op!("tiled_product", "tiled_product(block, tiler)", |a| a.tiled(alg::tiled_product)),
    op!("flat_product", "flat_product(block, tiler)", |a| a.tiled(alg::flat_product)),
    op!("blocked_product", "blocked_product(block, tiler)", |a| a.binary(alg::blocked_product)),
    op!("raked_product", "raked_product(block, tiler)", |a| a.binary(alg::raked_product)),
    op!("tile_to_shape", "tile_to_shape(block, shape, order?)", tile_to_shape),
    op!("slice", "slice(coord, layout)", |a| {
        a.count(2..=2)?;
        let coord = a.coord(0)?;
        let part = a.ok(crate::tv::slice_any(&coord, &a.any(1)?))?;
        Ok(Value::Layout(part.layout))
    }),
    op!("dice", "dice(coord, layout)", |a| {
        a.count(2..=2)?;
        let coord = a.coord(0)?;
        a.plain(alg::dice(&coord, a.any(1)?.inner()))
    }),
    op!("crd2idx", "crd2idx(coord, layout)", crd2idx),
    op!("idx2crd", "idx2crd(index, shape)", idx2crd),
    op!("crd2crd", "crd2crd(coord, shape, shape)", |a| { a.count(3..=3)?; Ok(Value::Tuple(a.ok(alg::crd2crd(&a.tuple(0)?, &a.tuple(1)?, &a.tuple(2)?))?)) }),
    op!("get", "get(layout, mode, mode…)", |a| { a.count(1..=usize::MAX)?; let path = a.modes(1)?; a.inner(|l| alg::get(l, &path)) }),
    op!("select", "select(layout, mode, mode…)", |a| { a.count(1..=usize::MAX)?; let modes = a.modes(1)?; a.inner(|l| alg::select(l, &modes)) }),
    op!("take", "take(layout, begin, end)", |a| { a.count(3..=3)?; let (b, e) = (a.mode(1)?, a.mode(2)?); a.inner(|l| alg::take(l, b, e)) }),
    op!("group_modes", "group_modes(layout, begin, end)", |a| { a.count(3..=3)?; let (b, e) = (a.mode(1)?, a.mode(2)?); a.inner(|l| alg::group_modes(l, b, e)) }),
    op!("append", "append(layout, layout)", |a| { a.count(2..=2)?; let mode = a.layout(1)?; a.inner(|l| Ok(alg::append(l, &mode))) }),
    op!("prepend", "prepend(layout, layout)", |a| { a.count(2..=2)?; let mode = a.layout(1)?; a.inner(|l| Ok(alg::prepend(l, &mode))) }),
    op!("append_to_rank", "append_to_rank(layout, rank, layout?)", |a| append_like(a, alg::append_to_rank)),
    op!("prepend_to_rank", "prepend_to_rank(layout, rank, layout?)", |a| append_like(a, alg::prepend_to_rank)),
    op!("replace", "replace(layout, mode, layout)", |a| { a.count(3..=3)?; let (at, mode) = (a.mode(1)?, a.layout(2)?); a.inner(|l| alg::replace(l, at, &mode)) }),
    op!("unflatten", "unflatten(layout, profile)", |a| { a.count(2..=2)?; let profile = a.tuple(1)?; a.inner(|l| alg::unflatten(l, &profile)) }),
    op!("tile_unzip", "tile_unzip(layout, tiler)", |a| a.tiled(alg::tile_unzip)),
    op!("zip", "zip(layout)", |a| { a.count(1..=1)?; a.inner(alg::zip) }),
    op!("make_layout", "make_layout(shape, stride?)", |a| {
        a.count(1..=2)?;
        let shape = a.tuple(0)?;
        match a.arguments.len() {
            2 => a.plain(Layout::new(shape, a.tuple(1)?)),
            _ => a.plain(Layout::compact(shape)),
        }
    }),
    op!("make_ordered_layout", "make_ordered_layout(shape, order)", |a| { a.count(2..=2)?; a.plain(alg::make_ordered_layout(&a.tuple(0)?, &a.tuple(1)?)) }),
    op!("make_layout_like", "make_layout_like(layout)", |a| { a.count(1..=1)?; a.plain(alg::make_layout_like(a.any(0)?.inner())) }),
    op!("make_fragment_like", "make_fragment_like(layout)", |a| { a.count(1..=1)?; a.plain(alg::make_fragment_like(a.any(0)?.inner())) }),
    op!("make_identity_layout", "make_identity_layout(shape)", |a| { a.count(1..=1)?; let shape = a.layout(0)?; a.plain(Ok(alg::make_identity_layout(shape.shape()))) }),
    op!("recast_layout", "recast_layout<new_bits, old_bits>(layout)", recast),
    op!("upcast", "upcast(layout, n)", |a| { a.count(2..=2)?; let n = a.number(1)?; a.plain(alg::upcast(&a.layout(0)?, n)) }),
    op!("downcast", "downcast(layout, n)", |a| { a.count(2..=2)?; let n = a.number(1)?; a.plain(alg::downcast(&a.layout(0)?, n)) }),
    op!("max_alignment", "max_alignment(layout)", |a| { a.count(1..=1)?; Ok(int(alg::max_alignment_any(&a.any(0)?))) }),
    op!("max_common_layout", "max_common_layout(layout, layout)", |a| { a.count(2..=2)?; a.plain(alg::max_common_layout(&a.layout(0)?, &a.layout(1)?)) }),
    op!("max_common_vector", "max_common_vector(layout, layout)", |a| { a.count(2..=2)?; Ok(int(a.ok(alg::max_common_vector_any(&a.any(0)?, &a.any(1)?))?)) }),
    op!("domain_distribute", "domain_distribute(shape, count)", |a| { a.count(2..=2)?; a.plain(alg::domain_distribute(&a.tuple(0)?, a.number(1)?)) }),
    op!("shape_div", "shape_div(tuple, tuple)", |a| a.tuples(alg::shape_div)),
    op!("ceil_div", "ceil_div(tuple, tiler)", |a| {
        a.count(2..=2)?;
        let shape = a.tuple(0)?;
        match a.tuple(1) {
            Ok(divisor) => Ok(Value::Tuple(a.ok(alg::ceil_div(&shape, &divisor))?)),
            Err(_) => Ok(Value::Tuple(a.ok(alg::ceil_div_tiler(&shape, &a.tiler(1)?))?)),
        }
    }),
    op!("round_up", "round_up(tuple, tuple)", |a| a.tuples(alg::round_up)),
    op!("tuple_add", "tuple_add(tuple, tuple)", |a| a.tuples(alg::tuple_add)),
    op!("tuple_sub", "tuple_sub(tuple, tuple)", |a| a.tuples(alg::tuple_sub)),
    op!("inner_product", "inner_product(tuple, tuple)", |a| a.tuples(alg::inner_product)),
    op!("elem_scale", "elem_scale(tuple, tuple)", |a| a.tuples(alg::elem_scale)),
    op!("product_each", "product_each(tuple)", |a| { a.count(1..=1)?; Ok(Value::Tuple(alg::product_each(&a.tuple(0)?))) }),
    op!("product_like", "product_like(tuple, profile)", |a| a.tuples(alg::product_like)),
    op!("sum", "sum(tuple)", |a| { a.count(1..=1)?; Ok(Value::Tuple(a.ok(alg::sum(&a.tuple(0)?))?)) }),
    op!("lex_less", "lex_less(tuple, tuple)", |a| { a.count(2..=2)?; let less = a.ok(alg::lex_less(&a.tuple(0)?, &a.tuple(1)?))?; truth(a, less) }),
    op!("colex_less", "colex_less(tuple, tuple)", |a| { a.count(2..=2)?; let less = a.ok(alg::colex_less(&a.tuple(0)?, &a.tuple(1)?))?; truth(a, less) }),
    op!("congruent", "congruent(tuple, tuple)", |a| { a.count(2..=2)?; Ok(Value::Bool(a.tuple(0)?.congruent(&a.tuple(1)?))) }),
    op!("weakly_congruent", "weakly_congruent(tuple, tuple)", |a| { a.count(2..=2)?; Ok(Value::Bool(a.tuple(0)?.weakly_congruent(&a.tuple(1)?))) }),
    op!("evenly_divides", "evenly_divides(shape, shape)", |a| { a.count(2..=2)?; truth(a, alg::evenly_divides(&a.tuple(0)?, &a.tuple(1)?)) }),
    op!("elem_less", "elem_less(tuple, tuple)", |a| { a.count(2..=2)?; let less = a.ok(alg::elem_less(&a.tuple(0)?, &a.tuple(1)?))?; truth(a, less) }),
    op!("compatible", "compatible(shape, shape)", |a| { a.count(2..=2)?; truth(a, alg::compatible(&a.tuple(0)?, &a.tuple(1)?)) }),
    op!("swizzle", "swizzle(swizzle, offset)", |a| {
        a.count(2..=2)?;
        let swizzle = a.get(0, "a swizzle", |v| match v { Value::Swizzle(s) => Some(*s), _ => None })?;
        swizzled(a, swizzle, &a.tuple(1)?)
    }),
];
