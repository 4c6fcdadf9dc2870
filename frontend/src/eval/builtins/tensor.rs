//! Views, coordinates, partitions and fragments.

use super::builtin::{Builtin, Kind, Level, Lowering, Parameter, arg, named, optional};
use super::partition::{local_partition, projection};
use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::{Cute, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, CuteOp};
use cutec_dialects::semantics::{Attrs, evaluate, recastable};
use cutec_dialects::target::{Feature, Target};
use cutec_dialects::value::{Ptr, Val, View};
use cutec_layout::{AnyLayout, Int};

const X: Parameter = arg("x", Kind::View);
const PROJECTION: Parameter = named("proj", Kind::Projection, "…");
const TYPE: &[Parameter] = &[arg("type", Kind::ElementType)];

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("local_tile", Lowering::Call(local_tile), "The tile at a coordinate; `_` in the coordinate keeps all tiles of that mode. `proj` leaves out modes of tile and coordinate.")
        .takes(&[X, arg("tile", Kind::Tiler), arg("coordinate", Kind::Coordinate), PROJECTION]),
    Builtin::new("local_partition", Lowering::Call(local_partition), "The elements of one thread: in each tile of the shape of `threads`, the element at which the layout `threads` has the value `index`.")
        .takes(&[X, arg("threads", Kind::Layout), arg("index", Kind::Integer), PROJECTION]),
    Builtin::new("domain_offset", Lowering::Call(domain_offset), "The tensor with its origin moved by offsets, which may be negative.")
        .takes(&[X, arg("offsets", Kind::Coordinate)]),
    Builtin::new("slice", Lowering::Call(slice), "The elements at a coordinate, as `x[coordinate]`; `_` keeps a mode.")
        .takes(&[X, arg("coordinate", Kind::Coordinate)]),
    Builtin::new("view", Lowering::Call(view_as), "What begins where a tensor does, under another layout.")
        .takes(&[X, arg("layout", Kind::Layout)]),
    Builtin::new("recast", Lowering::Call(recast), "The same memory as elements of another type; of a number, a vector or a tile its bits as numbers of another type of that width, of a tile also as several narrower ones along its last axis, which `order` permutes.").generic(TYPE).takes(&[arg("x", Kind::Any), named("order", Kind::Layout, "…")]),
    Builtin::new("identity", Lowering::Call(identity), "The tensor of coordinates: each element is its own.")
        .takes(&[arg("shape", Kind::Shape)]),
    Builtin::new("in_bounds", Lowering::Call(in_bounds), "The predicate of a copy: which coordinates lie within a shape.")
        .takes(&[arg("coordinates", Kind::Coordinate), arg("shape", Kind::Shape)]),
    Builtin::new("elem_less", Lowering::Call(elem_less), "Whether each part of one coordinate is less than that of another.")
        .takes(&[arg("a", Kind::Coordinate), arg("b", Kind::Coordinate)]),
    Builtin::new("fragment", Lowering::Call(|ev, call| allocate(ev, call, Space::Rmem, CuteOp::MemrefAlloca)), "Registers of a thread for a layout or a shape.")
        .at(Level::Threads)
        .generic(TYPE)
        .takes(&[arg("layout", Kind::Layout), named("align", Kind::Integer, "16")]),
    Builtin::new("fragment_like", Lowering::Call(fragment_like), "Registers with the shape of a view, of its element type or another.")
        .at(Level::Threads)
        .generic(&[optional("type", Kind::ElementType)])
        .takes(&[X]),
    Builtin::new("smem", Lowering::Call(|ev, call| allocate(ev, call, Space::Smem, CuteOp::MemrefAllocSmem)), "Shared memory of a block for a layout or a shape.")
        .at(Level::Threads)
        .generic(TYPE)
        .takes(&[arg("layout", Kind::Layout), named("align", Kind::Integer, "128")]),
];

/// Alignment of shared memory in bytes: a line of all banks, which every swizzle up to 128 bytes keeps.
const SMEM_ALIGN: i64 = 128;
/// Bytes after which the widest swizzle of a descriptor repeats.
const MAX_PATTERN: i64 = 1024;

/// `view(tensor, layout)`: what begins where the tensor does, under another layout.
fn view_as<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    let (tensor, layout) = (operands[0].clone(), operands[1].clone());
    if tensor.as_view().is_none() {
        return ev.expected("a tensor", &tensor, call.args[0].expr.span);
    }
    let layout = ev.layout_of(&layout, call.args[1].expr.span)?;
    ev.under_layout(tensor, layout, "view", call.span)
}

/// `recast<i32>(x)` of a number, or of all of a tile or a vector: its bits as a number of another type.
fn recast_number<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (elem, number): (Elem, &Value<'c, 'a>),
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let span = call.args[0].expr.span;
    let old = match number {
        Value::Tile(tile) => tile.elem,
        Value::Scalar(scalar) => scalar.elem,
        Value::Vector(vector) => vector.elem,
        Value::Typed(_, elem) => *elem,
        other => return ev.expected("a tensor, or a number with a type", other, span),
    };
    ev.has_values(elem, span)?;
    if elem.bits() != old.bits() || elem == Elem::I1 || old == Elem::I1 {
        let (new, of) = (elem_name(elem), elem_name(old));
        let message = format!("`recast<{new}>` of a number of {of}");
        let label = format!("expected one of {} bits", elem.bits());
        return ev.error(codes::WRONG_TYPE, span, message, label);
    }
    let bits_of = |ev: &mut Evaluator<'c, 'a>, of: &Value<'c, 'a>| {
        let (of, len) = match of {
            Value::Vector(vector) => (vector.ir, Some(vector.len)),
            of => (ev.number(of, old, span)?, None),
        };
        let ir = ev.ir(span)?;
        let bits = match elem.value_type() == old.value_type() {
            true => of,
            false => ir.value(ArithOp::Bitcast, &[of], &[], ir.numbers_type(elem, len)),
        };
        Ok(number_or_vector(bits, elem, len))
    };
    match number {
        Value::Tile(_) => ev.map_tiles(vec![(number.clone(), span)], span, |ev, of| {
            bits_of(ev, &of[0])
        }),
        _ => bits_of(ev, number),
    }
}

/// `recast<i8>(tensor)`: the same memory as elements of another type.
fn recast<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let tensor = call.positional().remove(0);
    let Value::Cute(Cute {
        val: Val::View(view),
        ..
    }) = &tensor
    else {
        let number = ev.read_slot(&tensor, call.args[0].expr.span)?;
        return match &number {
            Value::Tile(tile)
                if elem.bits() < tile.elem.bits() || call.named("order").is_some() =>
            {
                ev.recast_tile(call, elem, tile)
            }
            _ => recast_number(ev, (elem, &number), call),
        };
    };
    if let Some(order) = call.named("order") {
        let label = "a tensor has its order in its layout";
        let message = "`recast` of a tensor takes no `order`";
        return ev.error(codes::WRONG_ARGUMENTS, order.expr.span, message, label);
    }
    let view = view.clone();
    let (new, old) = (elem.bits(), view.ptr.elem.bits());
    if let Err(error) = recastable(&view.layout, new, old) {
        let problem = crate::eval::problem::semantic(call.span, "recast", &error, &[]);
        return Err(ev.report(problem));
    }
    let declared = Ptr {
        elem,
        align: view.ptr.align.max(elem.bytes()),
        ..view.ptr
    };
    let mut op = |name, operands: &[Value<'c, 'a>], attrs: Attrs| {
        ev.op(name, "recast", operands, &attrs, call.span)
    };
    let of = std::slice::from_ref(&tensor);
    let start = op(CuteOp::GetIter, of, Attrs::default())?;
    let start = op(
        CuteOp::RecastIter,
        &[start],
        Attrs::result(Val::Ptr(declared)),
    )?;
    let layout = op(CuteOp::GetLayout, of, Attrs::default())?;
    let layout = op(CuteOp::RecastLayout, &[layout], Attrs::mode(vec![new, old]))?;
    op(CuteOp::MakeView, &[start, layout], Attrs::default())
}

/// `slice(tensor, coordinate)`.
fn slice<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.op(
        CuteOp::Slice,
        "slice",
        &call.positional(),
        &Attrs::default(),
        call.span,
    )
}

/// `local_tile(tensor, tile, coordinate, proj = (1, _, 1))`.
fn local_tile<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let attrs = Attrs {
        proj: projection(ev, call)?,
        ..Attrs::default()
    };
    ev.op(
        CuteOp::LocalTile,
        "local_tile",
        &call.positional(),
        &attrs,
        call.span,
    )
}

/// `domain_offset(tensor, (r, c))`: the same layout from offsets on, which may be negative.
fn domain_offset<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    let (op, none) = (CuteOp::DomainOffset, Attrs::default());
    let operands = match operands.as_slice() {
        [tensor, Value::Tuple(offsets)] => [std::slice::from_ref(tensor), offsets].concat(),
        _ => operands,
    };
    ev.op(op, op.mnemonic(), &operands, &none, call.span)
}

/// `identity(shape)`: the tensor whose elements are their coordinates.
fn identity<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    // A static shape has to become an operation as well where its tensor is sliced at run time: a
    // tensor of coordinates known at compile time materializes itself.
    ev.op(
        CuteOp::MakeIdentityTensor,
        "identity",
        &operands,
        &Attrs::default(),
        call.span,
    )
}

/// `in_bounds(coordinates, shape)`: the predicate of a copy.
fn in_bounds<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut operands = call.positional();
    let is_tensor = match &operands[0] {
        Value::Static(Val::CoordTensor(_)) => true,
        Value::Cute(cute) => matches!(cute.val, Val::CoordTensor(_)),
        _ => false,
    };
    if !is_tensor {
        return elem_less(ev, call);
    }
    let shape = operands.remove(1);
    Ok(Value::Predicate(Box::new((operands.remove(0), shape))))
}

/// `elem_less(a, b)`: whether each leaf of `a` is less than that of `b`.
fn elem_less<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    let (a, b) = (flat(ev, &operands[0], call)?, flat(ev, &operands[1], call)?);
    if a.len() != b.len() {
        let message = format!("`elem_less` compares {} integers with {}", a.len(), b.len());
        return ev.error(
            codes::SHAPE_MISMATCH,
            call.span,
            message,
            "they must be as many",
        );
    }
    let mut all = Value::Bool(true);
    for (a, b) in a.into_iter().zip(b) {
        let less = ev.binary(
            crate::ast::BinaryOp::Lt,
            (a, call.span),
            (b, call.span),
            call.span,
        )?;
        all = match (&all, &less) {
            (Value::Bool(true), _) => less,
            (Value::Bool(false), _) | (_, Value::Bool(true)) => all,
            _ => ev.binary(
                crate::ast::BinaryOp::BitAnd,
                (all, call.span),
                (less, call.span),
                call.span,
            )?,
        };
    }
    Ok(all)
}

/// The leaves of a tuple as numbers.
fn flat<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Vec<Value<'c, 'a>>> {
    match value {
        Value::Int(_) | Value::Scalar(_) => Ok(vec![value.clone()]),
        Value::Tuple(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(flat(ev, part, call)?);
            }
            Ok(all)
        }
        Value::Cute(Cute {
            val: Val::Tuple(_, cutec_layout::Tree::Node(modes)),
            ..
        }) => {
            let mut all = Vec::new();
            for at in 0..modes.len() {
                let of = std::slice::from_ref(value);
                let part = ev.op(
                    CuteOp::Get,
                    &call.name,
                    of,
                    &Attrs::mode(vec![at as i64]),
                    call.span,
                )?;
                all.extend(flat(ev, &part, call)?);
            }
            Ok(all)
        }
        other => ev.expected("a coordinate", other, call.span),
    }
}

/// Bytes to a multiple of which a buffer is aligned at most: to so many a block's shared memory is.
const MOST_ALIGNED: i64 = 1024;

/// What a buffer is aligned to so that tensor maps and descriptors can mean it, where the target has them: their swizzles act
/// on the address, so its pattern begins where the buffer does.
fn pattern(target: &Target, elem: Elem, layout: &AnyLayout) -> i64 {
    match layout.swizzle() {
        Some(swizzle) if target.has(Feature::Tma) => {
            elem.bytes_of(swizzle.period()).min(MAX_PATTERN)
        }
        Some(_) | None => 1,
    }
}

/// `fragment<f32>(layout)`, `smem<f16>(layout)`.
fn allocate<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    space: Space,
    op: CuteOp,
) -> Result<Value<'c, 'a>> {
    let elem = super::elem_arg(ev, call, 0)?;
    let mut align = if space == Space::Smem { SMEM_ALIGN } else { 16 };
    if let Some(arg) = call.named("align") {
        align = match &arg.value {
            Value::Int(bytes)
                if (elem.bytes()..=MOST_ALIGNED).contains(bytes) && bytes.count_ones() == 1 =>
            {
                *bytes
            }
            other => {
                let least = elem.bytes();
                let what = format!("a power of two from {least} to {MOST_ALIGNED} bytes");
                return ev.expected(&what, &other.clone(), arg.expr.span);
            }
        };
    }
    let Some(arg) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    let layout = match arg.value.as_static() {
        Some(Val::Layout(layout)) => layout,
        Some(_) => match arg.value.as_layout() {
            Some(layout) => AnyLayout::Plain(layout),
            None => return ev.expected("a layout or a shape", &arg.value.clone(), arg.expr.span),
        },
        None => return ev.static_needed("what is allocated", arg.expr),
    };
    if !Val::Layout(layout.clone()).is_static() {
        return ev.static_needed("what is allocated", arg.expr);
    }
    if space == Space::Smem && call.named("align").is_none() {
        align = align.max(pattern(&ev.options.target, elem, &layout));
    }
    let ptr = Ptr {
        elem,
        space,
        align,
        base: 0,
        offset: Int::Static(0),
    };
    ev.allocation(op, View { ptr, layout }, (&call.name, call.span))
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Registers for elements that lie as `layout` says.
    pub(in crate::eval) fn registers(
        &mut self,
        elem: Elem,
        layout: AnyLayout,
        place: (&str, Span),
    ) -> Result<Value<'c, 'a>> {
        let ptr = Ptr {
            elem,
            space: Space::Rmem,
            align: 16,
            base: 0,
            offset: Int::Static(0),
        };
        self.allocation(CuteOp::MemrefAlloca, View { ptr, layout }, place)
    }

    fn allocation(
        &mut self,
        op: CuteOp,
        view: View,
        (name, span): (&str, Span),
    ) -> Result<Value<'c, 'a>> {
        self.op(op, name, &[], &Attrs::result(Val::View(view)), span)
    }
}

/// `fragment_like(view)`, `fragment_like<bf16>(view)`: registers of the same shape.
fn fragment_like<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = call.positional();
    if call.generics.is_empty() {
        return ev.op(
            CuteOp::MakeFragmentLike,
            "fragment_like",
            &operands,
            &Attrs::default(),
            call.span,
        );
    }
    let elem = super::elem_arg(ev, call, 0)?;
    let Some((cute, _)) = operands[0].as_view() else {
        return ev.expected("a view", &operands[0], call.span);
    };
    let like = std::slice::from_ref(&cute.val);
    match evaluate(CuteOp::MakeFragmentLike, like, &Attrs::default()) {
        Ok(Val::View(like)) => ev.registers(elem, like.layout, (&call.name, call.span)),
        Ok(_) => Err(Stop::Reported),
        Err(error) => {
            let like = like.to_vec();
            Err(ev.report(crate::eval::problem::semantic(
                call.span,
                "fragment_like",
                &error,
                &like,
            )))
        }
    }
}
