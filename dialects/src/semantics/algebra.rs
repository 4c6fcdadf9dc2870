//! Constructors, accessors and the layout algebra. On a view or a coordinate
//! tensor the algebra acts on the layout.
use super::{Attrs, SemError, coordinate, count_error, integers, operand_error, tiler};
use crate::ops::CuteOp;
use crate::value::{CoordTensor, TupleKind, Val, View, as_coord, without_underscore};
use cutec_layout::algebra as layout;
use cutec_layout::{
    AnyLayout, ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Outer, Tiler, Tree, Width,
};

pub(super) fn evaluate(
    op: CuteOp,
    operands: &[Val],
    attrs: &Attrs,
) -> Option<Result<Val, SemError>> {
    Some(match (op, operands) {
        (CuteOp::Static, _) => static_value(attrs),
        (CuteOp::MakeIntTuple | CuteOp::MakeShape | CuteOp::MakeStride | CuteOp::MakeCoord, _) => {
            make_tuple(operands, attrs)
        }
        (CuteOp::MakeTile, _) => make_tile(operands, attrs),
        (CuteOp::MakeLayout, [shape]) => {
            integers(shape).and_then(|shape| Ok(plain(Layout::compact(shape)?)))
        }
        (CuteOp::MakeLayout, [shape, stride]) => make_layout(shape, stride),
        (CuteOp::MakeComposedLayout, [outer, offset, inner]) => make_composed(outer, offset, inner),
        (CuteOp::GetShape, [x]) => shape_of(x).map(|shape| tuple(TupleKind::Shape, &shape)),
        (CuteOp::GetStride, [Val::Layout(AnyLayout::Plain(x))]) => {
            Ok(tuple(TupleKind::Stride, x.stride()))
        }
        (CuteOp::Get, [x]) => get(x, &attrs.mode),
        (CuteOp::Size, [x]) => {
            get(x, &attrs.mode).and_then(|x| Ok(leaf(layout::product(&shape_of(&x)?))))
        }
        (CuteOp::Cosize, [Val::Layout(_)]) => {
            get(&operands[0], &attrs.mode).and_then(|x| match &x {
                Val::Layout(x) => Ok(leaf(layout::cosize_any(x)?)),
                other => operand_error("a layout", other),
            })
        }
        (CuteOp::GetScalar, [x]) => get_scalar(x),
        (CuteOp::ElemLess, [a, b]) => elem_less(a, b),
        (CuteOp::Crd2idx, [coord, Val::Layout(x)]) => {
            integers(coord).and_then(|coord| Ok(tuple(TupleKind::IntTuple, &x.at(&coord)?)))
        }
        (CuteOp::Composition, [Val::Layout(a), b]) => composition(a, b),
        (CuteOp::Composition, [x @ (Val::View(_) | Val::CoordTensor(_)), by]) => {
            divide(x, by, layout::composition_tiler)
        }
        (CuteOp::Complement, [Val::Layout(AnyLayout::Plain(x))]) => match layout::is_by_basis(x) {
            true => layout::complement_by_basis(x),
            false => layout::minimal_complement(x),
        }
        .map(plain)
        .map_err(SemError::from),
        (CuteOp::Complement, [Val::Layout(AnyLayout::Plain(x)), Val::Layout(cotarget)]) => {
            let cotarget = layout::cosize_any(cotarget).map_err(SemError::from);
            cotarget.and_then(|size| Ok(plain(layout::complement(x, &Tree::Leaf(size))?)))
        }
        (CuteOp::Complement, [Val::Layout(AnyLayout::Plain(x)), size]) => {
            integers(size).and_then(|size| Ok(plain(layout::complement(x, &size)?)))
        }
        (CuteOp::Slice, [x @ Val::Layout(AnyLayout::Composed(composed)), coord])
            if composed.swizzle().is_some()
                && (!composed.inner.is_static()
                    || !coordinate(coord)
                        .is_ok_and(|coord| coord.leaves().iter().any(|leaf| leaf.is_none()))) =>
        {
            operand_error("a static layout behind the swizzle and a `_`", x)
        }
        (CuteOp::MakeLayoutLike, [x @ Val::Layout(layout)])
            if matches!(layout, AnyLayout::Composed(composed) if composed.swizzle().is_none())
                || layout
                    .inner()
                    .stride()
                    .leaves()
                    .iter()
                    .any(|leaf| !leaf.path().is_empty()) =>
        {
            operand_error("a layout of integer strides, perhaps behind a swizzle", x)
        }
        (CuteOp::MakeLayoutLike, [Val::Layout(x)]) => layout::make_layout_like(x.inner())
            .map(plain)
            .map_err(SemError::from),
        (CuteOp::MakeOrderedLayout, [shape, order]) => integers(shape).and_then(|shape| {
            Ok(plain(layout::make_ordered_layout(
                &shape,
                &integers(order)?,
            )?))
        }),
        (CuteOp::MakeIdentityLayout, [shape]) => {
            integers(shape).map(|shape| plain(layout::make_identity_layout(&shape)))
        }
        (CuteOp::RecastLayout, [Val::Layout(x)]) => match attrs.mode.as_slice() {
            [new, old] => layout::recast_layout_any(x, *new, *old)
                .map(Val::Layout)
                .map_err(SemError::from),
            _ => Err(SemError::Illegal("expects two widths in bits".into())),
        },
        (CuteOp::Coalesce, [x, profile]) => coordinate(profile)
            .and_then(|profile| on_layout(x, |x| layout::coalesce_profile(x, &profile))),
        (CuteOp::ZippedProduct, [x, by]) => divide(x, by, layout::zipped_product),
        (CuteOp::TiledProduct, [x, by]) => divide(x, by, layout::tiled_product),
        (CuteOp::FlatProduct, [x, by]) => divide(x, by, layout::flat_product),
        (CuteOp::Dice, [Val::Layout(x), coord]) => coordinate(coord)
            .and_then(|coord| Ok(Val::Layout(x.map_inner(|x| layout::dice(&coord, x))?))),
        (CuteOp::RightInverse, [Val::Layout(AnyLayout::Plain(x))]) if layout::is_by_basis(x) => {
            let inverse = layout::right_inverse_by_basis(x);
            inverse.map(plain).map_err(SemError::from)
        }
        (CuteOp::LeftInverse, [Val::Layout(AnyLayout::Plain(x))]) if layout::is_by_basis(x) => {
            let inverse = layout::left_inverse_by_basis(x);
            inverse.map(plain).map_err(SemError::from)
        }
        (CuteOp::LeftInverse, [Val::Layout(AnyLayout::Plain(x))])
            if x.stride().leaves().iter().all(|stride| stride.is(0)) =>
        {
            Ok(plain(Layout::unit()))
        }
        (CuteOp::RightInverse, [Val::Layout(AnyLayout::Plain(x))]) => {
            Ok(plain(layout::right_inverse(x)))
        }
        (CuteOp::LeftInverse, [Val::Layout(AnyLayout::Plain(x))]) => {
            layout::left_inverse(x).map(plain).map_err(SemError::from)
        }
        // Nothing at all stays nothing.
        (CuteOp::Coalesce, [x @ Val::Layout(AnyLayout::Plain(layout))])
            if layout.shape().leaf_count() == 0 =>
        {
            Ok(x.clone())
        }
        (CuteOp::Coalesce, [x]) => on_layout(x, |x| Ok(layout::coalesce(x))),
        (CuteOp::Flatten, [x]) => on_layout(x, |x| Ok(layout::flatten(x))),
        (CuteOp::LogicalDivide, [x, by]) => divide(x, by, layout::logical_divide),
        (CuteOp::ZippedDivide, [x, by]) => divide(x, by, layout::zipped_divide),
        (CuteOp::TiledDivide, [x, by]) => divide(x, by, layout::tiled_divide),
        // CuTe IR unpacks a tile of one mode too.
        (CuteOp::FlatDivide, [x, by]) => divide(x, by, |x, by| {
            let zipped = layout::zipped_divide(x, by)?;
            Ok(layout::unpack(&zipped, &[true, true], true))
        }),
        (CuteOp::LogicalProduct, [x, by]) => divide(x, by, layout::logical_product),
        (CuteOp::BlockedProduct, [x, by]) => product(x, by, layout::blocked_product),
        (CuteOp::RakedProduct, [x, by]) => product(x, by, |x, by| {
            let raked = layout::raked_product(x, by)?;
            if x.rank() >= by.rank() {
                return Ok(raked);
            }
            // What pads the block to the rank of the tiler leaves no trace.
            let modes = Tree::Node(vec![Tree::Leaf(()); raked.rank()]);
            layout::coalesce_profile(&raked, &modes)
        }),
        (CuteOp::TileToShape, [Val::Layout(x), shape, order @ ..]) => {
            tile_to_shape(x, shape, order)
        }
        (CuteOp::GroupModes, [x]) => group_modes(x, &attrs.mode),
        (CuteOp::Select, [x]) => {
            let modes: Vec<usize> = attrs.mode.iter().map(|mode| *mode as usize).collect();
            on_layout(x, |x| layout::select(x, &modes))
        }
        (CuteOp::Slice, [Val::Layout(AnyLayout::Plain(x)), coord]) => {
            coordinate(coord).and_then(|coord| Ok(plain(layout::slice(&coord, x)?)))
        }
        (CuteOp::Slice, [Val::Layout(AnyLayout::Composed(x)), coord]) if x.swizzle().is_some() => {
            coordinate(coord)
                .and_then(|coord| Ok(Val::Layout(layout::slice_swizzled(&coord, x)?.0)))
        }
        (CuteOp::Slice, [Val::Layout(AnyLayout::Composed(x)), coord]) => coordinate(coord)
            .and_then(|coord| {
                let (kept, offset) = layout::slice_and_offset(&coord, &x.inner)?;
                let mut sliced = x.with_inner(kept);
                sliced.offset = layout::tuple_add(&x.offset, &offset)?;
                Ok(Val::Layout(AnyLayout::Composed(sliced)))
            }),
        _ => return None,
    })
}

fn plain(layout: Layout) -> Val {
    Val::Layout(AnyLayout::Plain(layout))
}

fn tuple(kind: TupleKind, tuple: &IntTuple) -> Val {
    Val::Tuple(kind, as_coord(tuple))
}

fn leaf(int: Int) -> Val {
    Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(int)))
}

fn static_value(attrs: &Attrs) -> Result<Val, SemError> {
    match &attrs.result {
        Some(result) if result.is_static() => Ok(result.clone()),
        Some(result) => operand_error("result to be static", result),
        None => count_error("a declared result and no", 0),
    }
}

/// Fills the dynamic leaves of the declared type with the operands, in order.
struct Filler<'a> {
    operands: std::slice::Iter<'a, Val>,
}

impl Filler<'_> {
    fn fill(&mut self, declared: &Int) -> Result<Int, SemError> {
        match declared {
            Int::Static(_) => Ok(declared.clone()),
            Int::Scaled(value, path) => Ok(Int::scaled(self.fill(value)?, path.clone())),
            Int::Dyn(_) => {
                let Some(operand) = self.operands.next() else {
                    return Err(SemError::Illegal(
                        "fewer operands than dynamic leaves in the result type".into(),
                    ));
                };
                let given = match integers(operand)? {
                    Tree::Leaf(int) => int,
                    Tree::Node(_) => {
                        return operand_error("one integer for each dynamic leaf", operand);
                    }
                };
                if !given.is_static()
                    && given.width() == Width::I64
                    && declared.width() == Width::I32
                {
                    return operand_error("a 32-bit integer for a leaf `?`", operand);
                }
                if given.div() % declared.div() != 0 {
                    return operand_error(
                        format!("an integer divisible by {}", declared.div()),
                        operand,
                    );
                }
                Ok(given)
            }
        }
    }

    fn tuple(&mut self, declared: &Coord) -> Result<Coord, SemError> {
        Ok(match declared {
            Tree::Leaf(leaf) => Tree::Leaf(leaf.as_ref().map(|leaf| self.fill(leaf)).transpose()?),
            Tree::Node(modes) => Tree::Node(
                modes
                    .iter()
                    .map(|mode| self.tuple(mode))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    fn integers(&mut self, declared: &IntTuple) -> Result<IntTuple, SemError> {
        let filled = self.tuple(&as_coord(declared))?;
        Ok(without_underscore(&filled).unwrap_or_else(|| declared.clone()))
    }

    fn tile(&mut self, declared: &Tiler) -> Result<Tiler, SemError> {
        Ok(match declared {
            Tiler::Layout(layout) => Tiler::Layout(Layout::new(
                self.integers(layout.shape())?,
                self.integers(layout.stride())?,
            )?),
            Tiler::Int(int) => Tiler::Int(self.fill(int)?),
            Tiler::Tile(modes) => {
                let modes = modes.iter().map(|mode| self.tile(mode));
                Tiler::Tile(modes.collect::<Result<_, _>>()?)
            }
            Tiler::All => Tiler::All,
        })
    }

    fn done(mut self) -> Result<(), SemError> {
        match self.operands.next() {
            None => Ok(()),
            Some(_) => Err(SemError::Illegal(
                "more operands than dynamic leaves in the result type".into(),
            )),
        }
    }
}

fn make_tuple(operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    let Some(Val::Tuple(kind, declared)) = &attrs.result else {
        return Err(SemError::Illegal("expects a tuple type as result".into()));
    };
    let mut filler = Filler {
        operands: operands.iter(),
    };
    let filled = filler.tuple(declared)?;
    filler.done()?;
    Ok(Val::Tuple(*kind, filled))
}

/// The declared tile, its run-time leaves filled with the operands.
fn make_tile(operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    let Some(Val::Tile(declared)) = &attrs.result else {
        return Err(SemError::Illegal("expects a tile type as result".into()));
    };
    let mut filler = Filler {
        operands: operands.iter(),
    };
    let filled = filler.tile(declared)?;
    filler.done()?;
    Ok(Val::Tile(filled))
}

fn make_layout(shape: &Val, stride: &Val) -> Result<Val, SemError> {
    Ok(plain(Layout::new(integers(shape)?, integers(stride)?)?))
}

fn make_composed(outer: &Val, offset: &Val, inner: &Val) -> Result<Val, SemError> {
    let Val::Layout(AnyLayout::Plain(inner)) = inner else {
        return operand_error("a layout", inner);
    };
    let outer = match outer {
        Val::Swizzle(swizzle) => Outer::Swizzle(*swizzle),
        Val::Layout(AnyLayout::Plain(layout)) => Outer::Layout(layout.clone()),
        other => return operand_error("a swizzle or a layout", other),
    };
    let composed = ComposedLayout {
        outer,
        offset: integers(offset)?,
        inner: inner.clone(),
    };
    Ok(Val::Layout(AnyLayout::Composed(composed)))
}

/// The shape of a layout, a view, or of a tuple taken as a shape.
pub(super) fn shape_of(x: &Val) -> Result<IntTuple, SemError> {
    match x {
        Val::Layout(x) => Ok(x.shape().clone()),
        Val::View(view) => Ok(view.layout.shape().clone()),
        Val::CoordTensor(tensor) => Ok(tensor.layout.shape().clone()),
        Val::Tuple(..) | Val::Scalar(_) => integers(x),
        _ => operand_error("a layout, a tensor or a shape", x),
    }
}

fn get(x: &Val, path: &[i64]) -> Result<Val, SemError> {
    let mut current = x.clone();
    for (depth, mode) in path.iter().enumerate() {
        let scalar = match &current {
            Val::Tuple(_, tuple) => tuple.is_leaf(),
            Val::Layout(layout) => layout.shape().is_leaf(),
            _ => false,
        };
        if scalar && depth > 0 {
            return Err(SemError::Illegal(format!(
                "expects mode indices to stop at a scalar leaf, but got {} more after depth {depth}",
                path.len() - depth
            )));
        }
        let index = usize::try_from(*mode).unwrap_or(usize::MAX);
        let rank = match &current {
            Val::Tuple(_, tuple) => tuple.rank(),
            other => shape_of(other)?.rank(),
        };
        let out_of_range = || SemError::Operand {
            expected: format!("mode {mode} of a value of rank {rank}"),
            found: current.describe(),
        };
        current = match &current {
            Val::Tuple(kind, tuple) => Val::Tuple(
                *kind,
                tuple
                    .mode(index)
                    .filter(|_| index < rank)
                    .ok_or_else(out_of_range)?
                    .clone(),
            ),
            _ if index >= rank => return Err(out_of_range()),
            other => on_layout(other, |x| layout::get(x, &[index]))?,
        };
    }
    Ok(current)
}

fn group_modes(x: &Val, range: &[i64]) -> Result<Val, SemError> {
    let &[begin, end] = range else {
        return Err(SemError::Illegal(
            "expects `mode` to be a range [begin, end]".into(),
        ));
    };
    match (usize::try_from(begin), usize::try_from(end)) {
        (Ok(from), Ok(to)) if from < to => on_layout(x, |x| layout::group_modes(x, from, to)),
        _ => Err(SemError::Illegal(format!(
            "expects modes from `begin` up to `end`, 0 <= begin < end, but got begin={begin}, end={end}"
        ))),
    }
}

fn get_scalar(x: &Val) -> Result<Val, SemError> {
    match integers(x)? {
        Tree::Leaf(int) => Ok(Val::Scalar(int)),
        Tree::Node(_) => operand_error("a single integer", x),
    }
}

/// Compares leaf by leaf; the profiles agree.
fn elem_less(a: &Val, b: &Val) -> Result<Val, SemError> {
    let (a, b) = (integers(a)?, integers(b)?);
    if !a.congruent(&b) {
        return Err(SemError::Illegal(format!(
            "compares {a} with {b}; expects tuples of one profile"
        )));
    }
    Ok(Val::Opaque("i1".into()))
}

fn composition(a: &AnyLayout, b: &Val) -> Result<Val, SemError> {
    let by = tiler(b)?;
    Ok(Val::Layout(
        a.map_inner(|a| layout::composition_tiler(a, &by))?,
    ))
}

/// Applies a function of layouts to a layout, or to the layout of a view.
pub(super) fn on_layout(
    x: &Val,
    f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
) -> Result<Val, SemError> {
    Ok(match x {
        Val::Layout(x) => Val::Layout(x.map_inner(f)?),
        Val::View(view) => Val::View(View {
            ptr: view.ptr.clone(),
            layout: view.layout.map_inner(f)?,
        }),
        Val::CoordTensor(tensor) => Val::CoordTensor(CoordTensor {
            base: tensor.base.clone(),
            layout: f(&tensor.layout)?,
        }),
        Val::Tuple(kind, shape) => {
            let Some(shape) = without_underscore(shape) else {
                return operand_error("a shape without `_`", x);
            };
            tuple(*kind, f(&Layout::col_major(shape))?.shape())
        }
        _ => return operand_error("a layout or a tensor", x),
    })
}

fn divide(
    x: &Val,
    by: &Val,
    f: impl FnOnce(&Layout, &Tiler) -> Result<Layout, LayoutError>,
) -> Result<Val, SemError> {
    let by = tiler(by)?;
    on_layout(x, |x| f(x, &by))
}

/// A block repeated over a shape. A `!cute.shape` is covered where the block does not divide it.
fn tile_to_shape(x: &AnyLayout, target: &Val, order: &[Val]) -> Result<Val, SemError> {
    let shape = integers(target)?;
    let order = order.first().map(integers).transpose()?;
    let covers = matches!(target, Val::Tuple(TupleKind::Shape, _));
    let tiled = x.map_inner(|x| {
        let exact = layout::tile_to_shape(x, &shape, order.as_ref());
        if !covers || !matches!(exact, Err(LayoutError::NotDivisible { .. })) {
            return exact;
        }
        let block = layout::append_to_rank(x, shape.rank(), &Layout::unit());
        let extents = layout::product_each(block.shape());
        let copies = layout::ceil_div(&layout::product_each(&shape), &extents)?;
        let copies = match &order {
            Some(order) => layout::make_ordered_layout(&copies, order)?,
            None => Layout::col_major(copies),
        };
        layout::blocked_product(&block, &copies)
    });
    Ok(Val::Layout(tiled?))
}

fn product(
    x: &Val,
    by: &Val,
    f: impl FnOnce(&Layout, &Layout) -> Result<Layout, LayoutError>,
) -> Result<Val, SemError> {
    let Val::Layout(AnyLayout::Plain(by)) = by else {
        return operand_error("a layout", by);
    };
    on_layout(x, |x| f(x, by))
}
