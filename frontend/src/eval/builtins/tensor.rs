//! Views, coordinates, partitions and fragments.

use crate::diagnostics::codes;
use crate::eval::call::Call;
use crate::eval::materialize::OpA;
use crate::eval::values::{Cute, Value};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::semantics::{Attrs, SemError, evaluate, recastable};
use cutec_dialects::value::{Ptr, Val, View};
use cutec_layout::tv::Operand;
use cutec_layout::{AnyLayout, Coord, Int, Layout};

pub(super) const NAMES: [&str; 12] = [
    "local_tile",
    "local_partition",
    "domain_offset",
    "identity",
    "in_bounds",
    "elem_less",
    "fragment",
    "fragment_like",
    "smem",
    "slice",
    "view",
    "recast",
];
const COPY_METHODS: [&str; 1] = ["slice"];
const MMA_METHODS: [&str; 4] = ["slice", "fragment_A", "fragment_B", "fragment_C"];
const THREAD_COPY_METHODS: [&str; 5] = [
    "partition_S",
    "partition_D",
    "retile",
    "retile_S",
    "retile_D",
];
const THREAD_MMA_METHODS: [&str; 9] = [
    "partition_A",
    "partition_B",
    "partition_C",
    "fragment_A",
    "fragment_B",
    "fragment_C",
    "partition_fragment_A",
    "partition_fragment_B",
    "partition_fragment_C",
];
const VIEW_METHODS: [&str; 2] = ["fill", "tile"];

/// Alignment of shared memory in bytes: a line of all banks, which every swizzle up to 128 bytes keeps.
const SMEM_ALIGN: i64 = 128;

pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    Some(match name {
        "local_tile" => local_tile(ev, call),
        "local_partition" => super::partition::local_partition(ev, call),
        "domain_offset" => domain_offset(ev, call),
        "identity" => identity(ev, call),
        "in_bounds" => in_bounds(ev, call),
        "elem_less" => elem_less(ev, call),
        "slice" => two(ev, call)
            .and_then(|operands| ev.op("slice", "slice", &operands, &OpA::default(), call.span)),
        "view" => view_as(ev, call),
        "recast" => recast(ev, call),
        "fragment" => allocate(ev, call, Space::Rmem, "memref.alloca"),
        "smem" => allocate(ev, call, Space::Smem, "memref.alloc_smem"),
        "fragment_like" => fragment_like(ev, call),
        _ => return None,
    })
}

/// `view(tensor, layout)`: what begins where the tensor does, under another layout.
fn view_as<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = two(ev, call)?;
    let (tensor, layout) = (operands[0].clone(), operands[1].clone());
    let Value::Cute(Cute {
        val: Val::View(_),
        readonly,
        ..
    }) = &tensor
    else {
        return ev.expected("a tensor", &tensor, call.args[0].expr.span);
    };
    let readonly = readonly.clone();
    let layout = ev.layout_of(&layout, call.args[1].expr.span)?;
    let start = ev.op("get_iter", "view", &[tensor], &OpA::default(), call.span)?;
    let mut made = ev.op(
        "make_view",
        "view",
        &[start, layout],
        &OpA::default(),
        call.span,
    )?;
    if let Value::Cute(cute) = &mut made {
        cute.readonly = readonly;
    }
    Ok(made)
}

/// `recast<i8>(tensor)`: the same memory as elements of another type.
fn recast<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 1..=1, &[])?;
    let elem = super::elem_arg(ev, call, 0)?;
    let tensor = call.positional().remove(0);
    let Value::Cute(Cute {
        val: Val::View(view),
        readonly,
        ..
    }) = &tensor
    else {
        return ev.expected("a tensor", &tensor, call.args[0].expr.span);
    };
    let (view, readonly) = (view.clone(), readonly.clone());
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
    let mut op = |name, operands: &[Value<'c, 'a>], attrs: OpA| {
        ev.op(name, "recast", operands, &attrs, call.span)
    };
    let of = std::slice::from_ref(&tensor);
    let start = op("get_iter", of, OpA::default())?;
    let start = op("recast_iter", &[start], OpA::result(Val::Ptr(declared)))?;
    let layout = op("get_layout", of, OpA::default())?;
    let layout = op("recast_layout", &[layout], OpA::mode(vec![new, old]))?;
    let mut made = op("make_view", &[start, layout], OpA::default())?;
    if let Value::Cute(cute) = &mut made {
        cute.readonly = readonly;
    }
    Ok(made)
}

/// The methods of a value, for messages.
pub(super) fn methods_of(receiver: &Value<'_, '_>) -> &'static [&'static str] {
    match receiver {
        Value::Static(Val::TiledCopy(_)) => &COPY_METHODS,
        Value::Static(Val::TiledMma(_)) => &MMA_METHODS,
        Value::Thread(parts) => match &parts.0 {
            Value::Static(Val::TiledMma(_)) => &THREAD_MMA_METHODS,
            _ => &THREAD_COPY_METHODS,
        },
        Value::Cute(Cute {
            val: Val::View(_), ..
        }) => &VIEW_METHODS,
        _ => &[],
    }
}

/// Methods; `None` where the receiver does not have it.
pub(super) fn method<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    receiver: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    let name = *methods_of(receiver)
        .iter()
        .find(|known| **known == &*call.name)?;
    if let Err(stop) = ev.check_args(call, 1..=1, &[], 0..=0, &[]) {
        return Some(Err(stop));
    }
    let arg = call.positional().remove(0);
    let span = call.span;
    Some(match (name, receiver) {
        ("slice", _) => Ok(Value::Thread(Box::new((receiver.clone(), arg)))),
        ("fill", _) => ev
            .store(receiver, &arg, span, call.args[0].expr.span, span)
            .map(|()| Value::Unit),
        (name, Value::Thread(parts)) => {
            let (tiled, thread) = (parts.0.clone(), parts.1.clone());
            match name {
                "partition_S" => ev.op(
                    "tiled.copy.partition_S",
                    name,
                    &[tiled, arg, thread],
                    &OpA::default(),
                    span,
                ),
                "partition_D" => ev.op(
                    "tiled.copy.partition_D",
                    name,
                    &[tiled, arg, thread],
                    &OpA::default(),
                    span,
                ),
                "retile" | "retile_S" | "retile_D" => ev.op(
                    "tiled.copy.retile",
                    name,
                    &[tiled, arg],
                    &OpA::default(),
                    span,
                ),
                _ => of_mma(ev, name, tiled, arg, Some(thread), call),
            }
        }
        (name, tiled) => of_mma(ev, name, tiled.clone(), arg, None, call),
    })
}

/// `partition_A`, `fragment_A` and the like.
fn of_mma<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    tiled: Value<'c, 'a>,
    arg: Value<'c, 'a>,
    thread: Option<Value<'c, 'a>>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let operand = OpA::operand(operand_of(name));
    let fragment = name.contains("fragment");
    let part = match (name.starts_with("partition"), thread) {
        (false, _) => arg,
        (true, None) => return Err(Stop::Reported),
        (true, Some(_)) if fragment && arg.as_layout().is_some() => {
            of_shape(ev, name, &tiled, &arg, call)?
        }
        (true, Some(thread)) => {
            let operands = [tiled.clone(), arg, thread];
            ev.op("tiled.mma.partition", name, &operands, &operand, call.span)?
        }
    };
    match fragment {
        true => ev.op(
            "mma.make_fragment",
            name,
            &[tiled, part],
            &operand,
            call.span,
        ),
        false => Ok(part),
    }
}

/// What a thread holds of a matrix of this shape, as a compact layout.
fn of_shape<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    tiled: &Value<'c, 'a>,
    shape: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let (Value::Static(Val::TiledMma(mma)), Some(matrix)) = (tiled, shape.as_layout()) else {
        return Err(Stop::Reported);
    };
    let operand = match operand_of(name) {
        "A" => Operand::A,
        "B" => Operand::B,
        _ => Operand::C,
    };
    match mma.tiled.partition_shape(operand, matrix.shape()) {
        Ok(shape) => Ok(Value::Static(Val::Layout(AnyLayout::Plain(
            Layout::col_major(shape),
        )))),
        Err(error) => {
            let error = SemError::Layout(error);
            Err(ev.report(crate::eval::problem::semantic(call.span, name, &error, &[])))
        }
    }
}

/// The operand that the name of a method ends in.
fn operand_of(name: &str) -> &'static str {
    if name.ends_with('A') {
        "A"
    } else if name.ends_with('B') {
        "B"
    } else {
        "C"
    }
}

fn two<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Vec<Value<'c, 'a>>> {
    ev.check_args(call, 2..=2, &[], 0..=0, &[])?;
    Ok(call.positional())
}

/// `local_tile(tensor, tile, coordinate, proj = (1, _, 1))`.
fn local_tile<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 3..=3, &["proj"], 0..=0, &[])?;
    let attrs = OpA {
        proj: projection(ev, call)?,
        ..OpA::default()
    };
    ev.op(
        "local_tile",
        "local_tile",
        &call.positional(),
        &attrs,
        call.span,
    )
}

/// Which modes `proj = (1, _, 1)` takes.
pub(super) fn projection<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Option<Coord>> {
    let Some(proj) = call.named("proj") else {
        return Ok(None);
    };
    match proj.value.as_static() {
        Some(Val::Tuple(_, modes)) => Ok(Some(modes)),
        _ => ev.expected(
            "a projection such as `(1, _, 1)`",
            &proj.value.clone(),
            proj.expr.span,
        ),
    }
}

/// `domain_offset(tensor, (r, c))`: the same layout from offsets on, which may be negative.
fn domain_offset<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let operands = two(ev, call)?;
    let (name, none) = ("domain_offset", OpA::default());
    let operands = match operands.as_slice() {
        [tensor, Value::Tuple(offsets)] => [std::slice::from_ref(tensor), offsets].concat(),
        _ => operands,
    };
    ev.op(name, name, &operands, &none, call.span)
}

/// `identity(shape)`: the tensor whose elements are their coordinates.
fn identity<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    let operands = call.positional();
    // A static shape has to become an operation as well where its tensor is sliced at run time: a
    // tensor of coordinates known at compile time materializes itself.
    ev.op(
        "make_identity_tensor",
        "identity",
        &operands,
        &OpA::default(),
        call.span,
    )
}

/// `in_bounds(coordinates, shape)`: the predicate of a copy.
fn in_bounds<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let mut operands = two(ev, call)?;
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
    let operands = two(ev, call)?;
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
                    "get",
                    &call.name,
                    of,
                    &OpA::mode(vec![at as i64]),
                    call.span,
                )?;
                all.extend(flat(ev, &part, call)?);
            }
            Ok(all)
        }
        other => ev.expected("a coordinate", other, call.span),
    }
}

/// `fragment<f32>(layout)`, `smem<f16>(layout)`.
fn allocate<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    space: Space,
    op: &str,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &["align"], 1..=1, &[])?;
    let elem = super::elem_arg(ev, call, 0)?;
    let mut align = if space == Space::Smem { SMEM_ALIGN } else { 16 };
    if let Some(arg) = call.named("align") {
        align = match &arg.value {
            Value::Int(bytes) if *bytes >= elem.bytes() && bytes.count_ones() == 1 => *bytes,
            other => {
                return ev.expected(
                    "a power of two not below the element's size",
                    &other.clone(),
                    arg.expr.span,
                );
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
        self.allocation("memref.alloca", View { ptr, layout }, place)
    }

    fn allocation(
        &mut self,
        op: &str,
        view: View,
        (name, span): (&str, Span),
    ) -> Result<Value<'c, 'a>> {
        self.op(op, name, &[], &OpA::result(Val::View(view)), span)
    }
}

/// `fragment_like(view)`, `fragment_like<bf16>(view)`: registers of the same shape.
fn fragment_like<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=1, &[])?;
    let operands = call.positional();
    if call.generics.is_empty() {
        return ev.op(
            "make_fragment_like",
            "fragment_like",
            &operands,
            &OpA::default(),
            call.span,
        );
    }
    let elem = super::elem_arg(ev, call, 0)?;
    let Some((cute, _)) = operands[0].as_view() else {
        return ev.expected("a view", &operands[0], call.span);
    };
    let like = std::slice::from_ref(&cute.val);
    match evaluate("make_fragment_like", like, &Attrs::default()) {
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
