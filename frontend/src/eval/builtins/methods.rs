//! Methods: parts of tensors for one thread of a tiled copy or MMA, and what tensors can do.

use super::builtin::{
    Builtin, Kind, Level, LowerMethod, Lowering, Parameter, Receiver, arg, named,
};
use super::warp::{Shuffle, WARP, shuffled};
use crate::ast::BinaryOp;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::atoms::Place;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::semantics::Attrs;
use cutec_dialects::semantics::SemError;
use cutec_dialects::value::Val;
use cutec_layout::tv::Operand;
use cutec_layout::{AnyLayout, Layout};

const TENSOR: &[Parameter] = &[arg("tensor", Kind::View)];
const PART: &[Parameter] = &[arg("part", Kind::View)];
const THREAD: &[Parameter] = &[arg("thread", Kind::Integer)];

const fn of(
    receiver: Receiver,
    name: &'static str,
    lower: LowerMethod,
    documentation: &'static str,
) -> Builtin {
    Builtin::new(name, Lowering::Method(receiver, lower), documentation)
}

pub(super) const TABLE: &[Builtin] = &[
    of(Receiver::View, "tile", |ev, of, call| ev.load_tile(of.0, of.1, call), "The tile of this shape at a coordinate counted in tiles, or at an element. Outside of the tensor it is `fill`. `copy` and `swizzle` pin how an operand of a product gets to shared memory and lies there.")
        .at(Level::Tiles)
        .takes(TILE),
    of(Receiver::View, "gather", |ev, of, call| ev.gather_view(of, call), "The elements at coordinates, a tile of i32 or a number for each mode, as a tile. Outside of the tensor it is `fill`.")
        .at(Level::Tiles)
        .takes(&[arg("coordinates", Kind::Coordinate), named("fill", Kind::Number, "0")]),
    of(Receiver::View, "windows", |ev, of, call| ev.windows_of(of, call), "A tile of the matrix that a convolution multiplies, of so many pixels of the result and channels, of images (n, w, c), (n, h, w, c) or (n, d, h, w, c): at which tile of pixels, which element of the filter, a coordinate or a number, and which tile of channels. Around the image are zeros. With `elements` a tile has the channels of several elements, one behind the other. Of one image, `x[i, _, _, _]`, whose modes of pixels a tuple `filter` counts, what stands behind the last pixel is anything.")
        .at(Level::Tiles)
        .takes(WINDOWS),
    of(Receiver::View, "scatter", |ev, _, call| ev.scatter_is_a_place(call), "The elements at coordinates as a place: `y.scatter((rows, columns)) = v`, `atomic_add(y.scatter(rows), v)`. Nothing is written outside of the tensor.")
        .at(Level::Tiles)
        .takes(&[arg("coordinates", Kind::Coordinate)]),
    of(Receiver::View, "fill", fill, "Writes a number to all elements; also `fill(view, number)`.")
        .takes(&[arg("value", Kind::Number)]),
    of(Receiver::TiledCopy, "slice", thread_of, "One thread of it.").takes(THREAD),
    of(Receiver::CopyThread, "partition_S", |ev, of, call| partition_copy(ev, of.0, call, CuteOp::TiledCopyPartitionS), "What the thread reads of a tensor: (V, M, N, …).").takes(TENSOR),
    of(Receiver::CopyThread, "partition_D", |ev, of, call| partition_copy(ev, of.0, call, CuteOp::TiledCopyPartitionD), "What the thread writes of a tensor: (V, M, N, …).").takes(TENSOR),
    of(Receiver::CopyThread, "retile", retile, "A fragment, ordered as the copy takes it.").takes(FRAGMENT),
    of(Receiver::CopyThread, "retile_S", retile, "As `retile`, of a source.").takes(FRAGMENT),
    of(Receiver::CopyThread, "retile_D", retile, "As `retile`, of a destination.").takes(FRAGMENT),
    of(Receiver::TiledMma, "slice", thread_of, "One thread of it.").takes(THREAD),
    of(Receiver::TiledMma, "fragment_A", |ev, of, call| fragment(ev, of.0, call, Operand::A), "Registers for a part of operand A.").takes(PART),
    of(Receiver::TiledMma, "fragment_B", |ev, of, call| fragment(ev, of.0, call, Operand::B), "Registers for a part of operand B.").takes(PART),
    of(Receiver::TiledMma, "fragment_C", |ev, of, call| fragment(ev, of.0, call, Operand::C), "Registers for a part of the sums.").takes(PART),
    of(Receiver::MmaThread, "partition_A", |ev, of, call| partition(ev, of.0, call, Operand::A), "What the thread has of operand A: (V, M, K).").takes(TENSOR),
    of(Receiver::MmaThread, "partition_B", |ev, of, call| partition(ev, of.0, call, Operand::B), "What the thread has of operand B: (V, N, K).").takes(TENSOR),
    of(Receiver::MmaThread, "partition_C", |ev, of, call| partition(ev, of.0, call, Operand::C), "What the thread has of the sums: (V, M, N).").takes(TENSOR),
    of(Receiver::MmaThread, "fragment_A", |ev, of, call| fragment(ev, of.0, call, Operand::A), "Registers for a part of operand A.").takes(PART),
    of(Receiver::MmaThread, "fragment_B", |ev, of, call| fragment(ev, of.0, call, Operand::B), "Registers for a part of operand B.").takes(PART),
    of(Receiver::MmaThread, "fragment_C", |ev, of, call| fragment(ev, of.0, call, Operand::C), "Registers for a part of the sums.").takes(PART),
    of(Receiver::MmaThread, "partition_fragment_A", |ev, of, call| partition_fragment(ev, of.0, call, Operand::A), "Registers for what the thread has of operand A, a tensor or a shape.").takes(TENSOR),
    of(Receiver::MmaThread, "partition_fragment_B", |ev, of, call| partition_fragment(ev, of.0, call, Operand::B), "Registers for what the thread has of operand B, a tensor or a shape.").takes(TENSOR),
    of(Receiver::MmaThread, "partition_fragment_C", |ev, of, call| partition_fragment(ev, of.0, call, Operand::C), "Registers for what the thread has of the sums, a tensor or a shape.").takes(TENSOR),
];

const WINDOWS: &[Parameter] = &[
    arg("shape", Kind::Shape),
    arg("coordinate", Kind::Coordinate),
    named("filter", Kind::Any, "…"),
    named("pad", Kind::Any, "0"),
    named("after", Kind::Any, "pad"),
    named("step", Kind::Any, "1"),
    named("dilation", Kind::Any, "1"),
    named("elements", Kind::Integer, "1"),
];
const FRAGMENT: &[Parameter] = &[arg("fragment", Kind::View)];
const TILE: &[Parameter] = &[
    arg("shape", Kind::Shape),
    super::builtin::optional("coordinate", Kind::Coordinate),
    named("at", Kind::Coordinate, "…"),
    named("fill", Kind::Number, "0"),
    named("copy", Kind::Copier, "…"),
    named("swizzle", Kind::Any, "…"),
    super::hints::CACHE,
    super::hints::PREFETCH,
    super::hints::EVICT,
];

type Of<'x, 'c, 'a> = (&'x Value<'c, 'a>, Span);

/// `tensor.fill(number)`.
fn fill<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (view, _): Of<'_, 'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let value = call.positional().remove(0);
    let span = call.args[0].expr.span;
    ev.store(view, &value, call.span, span, call.span)?;
    Ok(Value::Unit)
}

/// `tiled.slice(thread)`.
fn thread_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (tiled, _): Of<'_, 'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let thread = call.positional().remove(0);
    ev.check_threads(tiled, &thread, call.args[0].expr.span)?;
    Ok(Value::Thread(Box::new((tiled.clone(), thread))))
}

/// The tiled copy or MMA, the thread of it where there is one, and the argument.
fn operands<'c, 'a>(
    of: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
) -> (Value<'c, 'a>, Option<Value<'c, 'a>>, Value<'c, 'a>) {
    let arg = call.positional().remove(0);
    match of {
        Value::Thread(parts) => (parts.0.clone(), Some(parts.1.clone()), arg),
        tiled => (tiled.clone(), None, arg),
    }
}

fn partition_copy<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    of: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
    operation: CuteOp,
) -> Result<Value<'c, 'a>> {
    let (tiled, Some(thread), tensor) = operands(of, call) else {
        return Err(Stop::Reported);
    };
    let operands = [tiled, tensor, thread];
    ev.op(
        operation,
        &call.name,
        &operands,
        &Attrs::default(),
        call.span,
    )
}

fn retile<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    (of, _): Of<'_, 'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let (tiled, _, fragment) = operands(of, call);
    let operands = [tiled, fragment];
    let op = CuteOp::TiledCopyRetile;
    ev.op(op, &call.name, &operands, &Attrs::default(), call.span)
}

fn partition<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    of: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
    matrix: Operand,
) -> Result<Value<'c, 'a>> {
    let (tiled, Some(thread), tensor) = operands(of, call) else {
        return Err(Stop::Reported);
    };
    let thread = uniform_thread(ev, &tiled, thread, matrix, call)?;
    let attrs = Attrs::operand(matrix);
    let operands = [tiled, tensor, thread];
    ev.op(
        CuteOp::TiledMmaPartition,
        &call.name,
        &operands,
        &attrs,
        call.span,
    )
}

/// The thread by which an operand is partitioned that an instruction reads by a descriptor. All threads of an
/// instruction name the same one, so it is the first of them, in a register that is uniform in a warp.
fn uniform_thread<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    tiled: &Value<'c, 'a>,
    thread: Value<'c, 'a>,
    matrix: Operand,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let Value::Static(Val::TiledMma(mma)) = tiled else {
        return Ok(thread);
    };
    match mma.atom.operand(matrix).place {
        Place::SharedDescriptor => {}
        Place::Registers | Place::Shared | Place::Global | Place::Anywhere => return Ok(thread),
    }
    let atoms = mma.tiled.thr_layout_vmnk();
    let several = matrix.modes().into_iter().any(|mode| {
        let atoms = atoms.mode(mode + 1).map(|mode| mode.size());
        !atoms.is_some_and(|size| size.is(1))
    });
    let Value::Scalar(_) = &thread else {
        return Ok(thread);
    };
    if !several {
        return Ok(Value::Int(0));
    }
    let span = call.span;
    let of_atom = (Value::Int(mma.atom.issuer().threads()), span);
    let atom = ev.binary(BinaryOp::Div, (thread, span), of_atom.clone(), span)?;
    let first = ev.number(&Value::Int(0), Elem::I32, span)?;
    let atom = shuffled(ev, Shuffle::Index, &atom, first, WARP, span)?;
    ev.binary(BinaryOp::Mul, (atom, span), of_atom, span)
}

fn fragment<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    of: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
    matrix: Operand,
) -> Result<Value<'c, 'a>> {
    let (tiled, _, part) = operands(of, call);
    make_fragment(ev, [tiled, part], call, matrix)
}

fn make_fragment<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    operands: [Value<'c, 'a>; 2],
    call: &Call<'c, 'a>,
    matrix: Operand,
) -> Result<Value<'c, 'a>> {
    let attrs = Attrs::operand(matrix);
    let op = CuteOp::MmaMakeFragment;
    let result = ev.op(op, &call.name, &operands, &attrs, call.span);
    let place = operands[0].as_static().and_then(|mma| mma.mma_atom());
    let place = place.map(|atom| atom.operand(matrix).place);
    if result.is_err()
        && place == Some(Place::SharedDescriptor)
        && let Some(diagnostic) = ev.diagnostics.last_mut()
    {
        diagnostic.help = Some(format!(
            "`gemm` takes the part of the buffer itself, `mma.slice(t).partition_{matrix:?}(…)`"
        ));
    }
    result
}

fn partition_fragment<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    of: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
    matrix: Operand,
) -> Result<Value<'c, 'a>> {
    let (tiled, _, of_what) = operands(of, call);
    let part = match of_what.as_layout() {
        Some(_) => of_shape(ev, &tiled, &of_what, call, matrix)?,
        None => partition(ev, of, call, matrix)?,
    };
    make_fragment(ev, [tiled, part], call, matrix)
}

/// What a thread holds of a matrix of this shape, as a compact layout.
fn of_shape<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    tiled: &Value<'c, 'a>,
    shape: &Value<'c, 'a>,
    call: &Call<'c, 'a>,
    operand: Operand,
) -> Result<Value<'c, 'a>> {
    let (Value::Static(Val::TiledMma(mma)), Some(matrix)) = (tiled, shape.as_layout()) else {
        return Err(Stop::Reported);
    };
    match mma.tiled.partition_shape(operand, matrix.shape()) {
        Ok(shape) => Ok(Value::Static(Val::Layout(AnyLayout::Plain(
            Layout::col_major(shape),
        )))),
        Err(error) => {
            let error = SemError::Layout(error);
            let problem = crate::eval::problem::semantic(call.span, &call.name, &error, &[]);
            Err(ev.report(problem))
        }
    }
}
