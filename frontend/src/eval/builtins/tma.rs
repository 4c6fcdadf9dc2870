//! Copies of tiles by tensor maps: `tma_load(a, (bm, bk), sA[_, _, 0])`.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg, named};
use super::hints;
use super::operator::Operator;
use crate::ast::Expr;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::call::{ArgValue, Call};
use crate::eval::maps::Mappable;
use crate::eval::values::{Cute, Origin, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop, problem};
use cutec_abi::TensorMapAbi;
use cutec_abi::counted;
use cutec_abi::tensor_map::{Im2col, L2Promotion, MapSwizzle, OobFill};
use cutec_dialects::atoms::{Reduction, TmaAtom, TmaKind};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::{Attrs, tma_boxes_of};
use cutec_dialects::target::Feature;
use cutec_dialects::value::{Val, View};
use cutec_layout::AnyLayout;
use cutec_layout::tma::{MapSpan, TmaBoxes};
use std::sync::Arc;

const TENSOR: Parameter = arg("tensor", Kind::View);
const TILE: Parameter = arg("tile", Kind::Shape);
const LIES: Parameter = arg("layout", Kind::Shaped);
const FILL: Parameter = named("fill", Kind::Word(&["zero", "nan"]), "zero");
const LOWER: Parameter = named("lower", Kind::Shape, "0");
const UPPER: Parameter = named("upper", Kind::Shape, "0");
const STRIDE: Parameter = named("stride", Kind::Shape, "1");
const L2: Parameter = named("l2", Kind::Integer, "128");
const ATOM: &[Parameter] = &[arg("atom", Kind::CopyAtom)];

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("tma_load", |ev, call| tiles(ev, call, TmaKind::Load), "Copies tiles of this shape from a tensor that the kernel is passed to shared memory, where they lie as the view or layout given. Outside of the tensor are zeros, or NaN with `fill = nan`. `l2` is how many bytes L2 fetches together: 0, 64, 128 or 256.")
        .takes(&[TENSOR, TILE, LIES, FILL, L2, hints::EVICT]),
    of_threads("tma_load_im2col", |ev, call| pixels(ev, call, TmaKind::Load), "Copies pixels of a tensor (n, w, c), (n, h, w, c) or (n, d, h, w, c), as a convolution reads them: tiles of so many pixels and channels. Pixels are gone through from the corner `lower` to `upper`, which is counted from the last pixel, in steps of `stride`; `copy` moves each by `offsets`.")
        .takes(&[TENSOR, TILE, LIES, LOWER, UPPER, STRIDE, FILL, L2, hints::EVICT]),
    of_threads("tma_store", |ev, call| tiles(ev, call, TmaKind::Store), "Copies tiles of this shape from shared memory to a tensor that the kernel is passed. Outside of the tensor nothing is written.")
        .takes(&[TENSOR, TILE, LIES, L2, hints::EVICT]),
    of_threads("tma_store_im2col", |ev, call| pixels(ev, call, TmaKind::Store), "Copies tiles of so many pixels and channels from shared memory to a tensor, to the pixels that `tma_load_im2col` reads with offsets of 0.")
        .takes(&[TENSOR, TILE, LIES, LOWER, UPPER, STRIDE, L2, hints::EVICT]),
    of_threads("tma_reduce", |ev, call| { let kind = reduction(ev, call)?; tiles(ev, call, kind) }, "As `tma_store`, combined with what is there: `add`, `min`, `max`, `and`, `or`, `xor`, element by element at once.")
        .takes(&[TENSOR, TILE, LIES, arg("operator", Kind::Operator), L2, hints::EVICT]),
    of_threads("tma_reduce_im2col", |ev, call| { let kind = reduction(ev, call)?; pixels(ev, call, kind) }, "As `tma_store_im2col`, combined with what is there, as by `tma_reduce`.")
        .takes(&[TENSOR, TILE, LIES, arg("operator", Kind::Operator), LOWER, UPPER, STRIDE, L2, hints::EVICT]),
    of_threads("tma_bytes", bytes, "The bytes of a tile, which a barrier is to expect: `mbarrier_arrive_expect_tx(full[s], tma_bytes(load))`.")
        .takes(ATOM),
    of_threads("tma_prefetch", prefetch, "Fetches the map of a tensor ahead of its first use.")
        .takes(ATOM),
];

/// A copy by a tensor map as messages show it.
pub(crate) fn tma_atom(atom: &TmaAtom) -> String {
    let (elem, hints) = (elem_name(atom.elem), atom.hints);
    let tile: Vec<String> = atom.tile.iter().map(i64::to_string).collect();
    let name = match atom.kind {
        TmaKind::Load => "tma_load",
        TmaKind::Store => "tma_store",
        TmaKind::Reduce(_) => "tma_reduce",
    };
    let mode = atom.pixels.map_or("", |_| "_im2col");
    format!("{name}{mode} of {elem}, ({}){hints}", tile.join(", "))
}

/// What `tma_reduce` combines elements by.
fn reduction<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<TmaKind> {
    let Some(operator) = call.arg(3) else {
        return Err(Stop::Reported);
    };
    let found = Operator::of(&operator.value).and_then(|it| Reduction::find(it.name()));
    match found {
        Some(how) => Ok(TmaKind::Reduce(how)),
        None => {
            let what = "`add`, `min`, `max`, `and`, `or` or `xor`";
            ev.expected(what, &operator.value.clone(), operator.expr.span)
        }
    }
}

/// The tensor of a copy and the view in shared memory, checked for what is done with the elements.
fn sides<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    kind: TmaKind,
) -> Result<(Mappable<'a>, View)> {
    ev.needs(Feature::Tma, &call.name, call.span)?;
    let (Some(of), Some(lies)) = (call.arg(0), call.arg(2)) else {
        return Err(Stop::Reported);
    };
    let found = ev.mappable(&of.value, &call.name, of.expr.span)?;
    let elem = found.tensor.elem;
    match kind {
        TmaKind::Load => {}
        TmaKind::Store => ev.check_stored(&of.value, &found, &call.name, of.expr.span)?,
        TmaKind::Reduce(how) => {
            ev.check_stored(&of.value, &found, &call.name, of.expr.span)?;
            if !how.takes(elem) {
                let (name, how, elem) = (&call.name, how.name(), elem_name(elem));
                let message = format!("there is no `{name}` by {how} of {elem}");
                let label = "no such instruction";
                return ev.error(codes::ILLEGAL_OPERATION, call.span, message, label);
            }
        }
    }
    let view = shared_view(ev, lies, elem)?;
    Ok((found, view))
}

/// The boxes of a tile that lies as a view, where the tile's mode `contiguous` is the tensor's fastest.
fn boxes<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    tile: &[i64],
    contiguous: usize,
    view: &View,
) -> Result<(MapSpan, TmaBoxes)> {
    tma_boxes_of(tile, contiguous, view)
        .map_err(|error| ev.report(problem::semantic(call.span, &call.name, &error, &[])))
}

/// `tma_load(a, (bm, bk), sA)` and its kin.
fn tiles<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    kind: TmaKind,
) -> Result<Value<'c, 'a>> {
    let (found, view) = sides(ev, call, kind)?;
    let Some(shape) = call.arg(1) else {
        return Err(Stop::Reported);
    };
    let rank = found.tensor.extents.len();
    let tile = extents(ev, &shape.value, rank, shape.expr)?;
    let (span, boxes) = boxes(ev, call, &tile, found.contiguous, &view)?;
    let map = MapOf {
        order: boxes.order.clone(),
        im2col: None,
    };
    let atom = TmaAtom {
        kind,
        pixels: None,
        elem: found.tensor.elem,
        tile,
        order: boxes.order,
        extents: boxes.extents,
        span,
        hints: hints::of(ev, &call.args, &["evict"])?,
    };
    atom_by(ev, call, found, map, atom)
}

/// `tma_load_im2col(x, (pixels, channels), sA, lower = (-1, -1), upper = (-1, -1))` and its kin.
fn pixels<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    kind: TmaKind,
) -> Result<Value<'c, 'a>> {
    let (found, view) = sides(ev, call, kind)?;
    let (Some(of), Some(shape)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    let name = &call.name;
    let rank = found.tensor.extents.len();
    if !(3..=5).contains(&rank) || found.contiguous + 1 != rank {
        let message = format!(
            "`{name}` needs a tensor (n, w, c), (n, h, w, c) or (n, d, h, w, c) whose channels lie side by side"
        );
        let label = format!(
            "it has {}, of which mode {} has stride 1",
            counted(rank, "mode"),
            found.contiguous
        );
        return ev.error(codes::ILLEGAL_OPERATION, of.expr.span, message, label);
    }
    let modes = rank - 2;
    let tile = extents(ev, &shape.value, 2, shape.expr)?;
    let (span, boxes) = boxes(ev, call, &tile, 1, &view)?;
    if boxes.extents.get(1) != tile.first() {
        let message =
            format!("`{name}` moves at most 256 pixels at a time, which lie one behind the other");
        let span = shape.expr.span;
        return ev.error(codes::ILLEGAL_OPERATION, span, message, "this tile");
    }
    let corners = Im2col {
        lower: numbers(ev, call, "lower", modes, 0)?,
        upper: numbers(ev, call, "upper", modes, 0)?,
        steps: numbers(ev, call, "stride", modes, 1)?
            .into_iter()
            .map(|step| u32::try_from(step).unwrap_or(0))
            .collect(),
    };
    if !corners.is_of_rank(rank) {
        let bits = [16, 8, 5][modes - 1];
        let message = format!(
            "`{name}` of {modes} modes of pixels has corners of {bits} bits, and strides of 1 to 8"
        );
        return ev.error(codes::ILLEGAL_OPERATION, call.span, message, "out of range");
    }
    let map = MapOf {
        order: (0..rank).rev().collect(),
        im2col: Some(corners),
    };
    let atom = TmaAtom {
        kind,
        pixels: Some(modes),
        elem: found.tensor.elem,
        tile,
        order: boxes.order,
        extents: boxes.extents,
        span,
        hints: hints::of(ev, &call.args, &["evict"])?,
    };
    atom_by(ev, call, found, map, atom)
}

/// The view in shared memory that an argument is, or that lies as a layout.
fn shared_view<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    lies: &ArgValue<'c, 'a>,
    elem: Elem,
) -> Result<View> {
    let view = match lies.value.as_view() {
        Some((_, view)) => view.clone(),
        None => match lies.value.as_static() {
            Some(Val::Layout(layout)) => View::new(elem, Space::Smem, 1024, layout),
            _ => match lies.value.as_layout() {
                Some(layout) => View::new(elem, Space::Smem, 1024, AnyLayout::Plain(layout)),
                None => {
                    let what = "a view in shared memory, or a layout";
                    return ev.expected(what, &lies.value.clone(), lies.expr.span);
                }
            },
        },
    };
    if view.ptr.space != Space::Smem || view.ptr.elem.bits() != elem.bits() {
        let what = format!("a view of {} in shared memory", elem_name(elem));
        return ev.expected(&what, &lies.value.clone(), lies.expr.span);
    }
    Ok(view)
}

/// As many known numbers as there are modes of pixels, the fastest first; what a program writes has the fastest last.
fn numbers<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    name: &str,
    modes: usize,
    default: i32,
) -> Result<Vec<i32>> {
    let Some(arg) = call.named(name) else {
        return Ok(vec![default; modes]);
    };
    let parts = match &arg.value {
        Value::Tuple(parts) => parts.to_vec(),
        other => vec![other.clone()],
    };
    let known = |part: &Value<'c, 'a>| match part {
        Value::Int(number) => i32::try_from(*number).ok(),
        _ => None,
    };
    let numbers: Option<Vec<i32>> = parts.iter().rev().map(known).collect();
    match numbers.filter(|numbers| numbers.len() == modes) {
        Some(numbers) => Ok(numbers),
        None => {
            let what = format!("{modes} known numbers, one for each mode of pixels");
            ev.expected(&what, &arg.value.clone(), arg.expr.span)
        }
    }
}

/// What a map has that its atom does not: how it goes through the tensor.
struct MapOf {
    /// Modes of the tensor, fastest first.
    order: Vec<usize>,
    /// The pixels, in im2col mode.
    im2col: Option<Im2col>,
}

/// The atom of a copy, by a map that the host makes.
fn atom_by<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    of: Mappable<'a>,
    MapOf { order, im2col }: MapOf,
    atom: TmaAtom,
) -> Result<Value<'c, 'a>> {
    let map = TensorMapAbi {
        view: None,
        arg: of.arg,
        order,
        box_extents: atom.extents.iter().map(|extent| *extent as u32).collect(),
        im2col,
        swizzle: MapSwizzle::try_from(atom.span.bytes() as u32).unwrap_or_default(),
        l2_promotion: promotion(ev, call)?,
        oob_fill: fill(ev, call, &of.tensor)?,
        tf32: false,
    };
    let parameter = ev.tensor_map(map, call.span)?;
    let val = Val::TmaAtom(Arc::new(atom));
    let ir = ev.ir(call.span)?;
    let ty = ir.val_type(&val);
    let ir = ir.value(CuteOp::MakeTmaAtom, &[parameter], &[], ty);
    let origin = Origin::default();
    Ok(Value::Cute(Cute { ir, val, origin }))
}

/// The extents of a tile along the modes of a tensor.
fn extents<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    rank: usize,
    expr: &'a Expr,
) -> Result<Vec<i64>> {
    let parts = match value {
        Value::Tuple(parts) => parts.clone(),
        other => vec![other.clone()],
    };
    let mut extents = Vec::new();
    for part in &parts {
        match part {
            Value::Int(extent) if *extent > 0 => extents.push(*extent),
            Value::Scalar(_) => return ev.static_needed("the shape of a tile", expr),
            other => return ev.expected("a positive extent", &other.clone(), expr.span),
        }
    }
    if extents.len() == rank {
        return Ok(extents);
    }
    let message = format!(
        "the tile has {}, the tensor {rank}; expected an extent for each",
        counted(extents.len(), "mode")
    );
    let diagnostic = Diagnostic::error(codes::SHAPE_MISMATCH, expr.span, message, "this tile");
    Err(ev.report(diagnostic.with_help("a mode of which a tile has one element has the extent 1")))
}

fn promotion<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<L2Promotion> {
    let Some(arg) = call.named("l2") else {
        return Ok(L2Promotion::B128);
    };
    let bytes = match &arg.value {
        Value::Int(bytes) => u32::try_from(*bytes).ok(),
        _ => None,
    };
    match bytes.and_then(|bytes| L2Promotion::try_from(bytes).ok()) {
        Some(promotion) => Ok(promotion),
        None => ev.expected("0, 64, 128 or 256 bytes", &arg.value.clone(), arg.expr.span),
    }
}

fn fill<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    tensor: &crate::eval::signature::TensorArgument<'a>,
) -> Result<OobFill> {
    let Some(arg) = call.named("fill") else {
        return Ok(OobFill::Zeros);
    };
    match &arg.value {
        Value::Str(word) if &**word == "zero" => Ok(OobFill::Zeros),
        Value::Str(word)
            if &**word == "nan" && tensor.elem.is_float() && tensor.elem.bytes() > 1 =>
        {
            Ok(OobFill::Nan)
        }
        other => {
            let what = "`zero`, or `nan` for floating numbers of 16 bits or more";
            ev.expected(what, &other.clone(), arg.expr.span)
        }
    }
}

/// The copy that an argument is.
pub(super) fn atom_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<(Value<'c, 'a>, Arc<TmaAtom>)> {
    let Some(arg) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    match &arg.value {
        Value::Cute(Cute {
            val: Val::TmaAtom(atom),
            ..
        }) => Ok((arg.value.clone(), atom.clone())),
        other => {
            let what = "what `tma_load`, `tma_store` or `tma_reduce` gives";
            ev.expected(what, &other.clone(), arg.expr.span)
        }
    }
}

fn bytes<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (_, atom) = atom_of(ev, call)?;
    Ok(Value::Int(atom.bytes()))
}

fn prefetch<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (value, _) = atom_of(ev, call)?;
    let attrs = Attrs::default();
    ev.op(
        CuteOp::PrefetchTmaDesc,
        "tma_prefetch",
        &[value],
        &attrs,
        call.span,
    )
}
