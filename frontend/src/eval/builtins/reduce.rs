//! Reductions: many values made one, over the elements of a view, the lanes of a warp, the threads
//! of a block.
//!
//! What combines two values is an operator by name, `min`, `max`, or a function of the program.

use super::builtin::{Builtin, Kind, Level, Lowering, Parameter, Register, arg, named};
use super::math::extreme_of;
use super::operator::Operator;
use super::warp::{Shuffle, WARP, shuffled, width_of};
use crate::ast::{BinaryOp, Expr, Function};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::call::{ArgValue, Call};
use crate::eval::tiles::has_tiles;
use crate::eval::values::{Scalar, Value};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::builder::{IrValue, region_with_block};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{CuteOp, NvvmOp, ScfOp};
use cutec_dialects::semantics::Attrs;
use cutec_dialects::value::{Ptr, Val, View};
use cutec_layout::{AnyLayout, Int, Layout};
use melior::ir::Region;

const OPERATOR: Parameter = arg("op", Kind::Operator);

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new(
        "reduce",
        Lowering::Call(reduce),
        "Combines a tile, or a tuple of tiles, along an axis, several, `axis = (0, 1)`, or all, which stay with extent 1; or the elements of a view, a tuple or an array into one.",
    )
    .takes(&[OPERATOR, arg("x", Kind::Number), named("axis", Kind::Integer, "…")]),
    Builtin::new(
        "scan",
        Lowering::Call(|ev, call| ev.scan_tiles(call)),
        "Combines each element of a tile, or of a tuple of tiles, with all before it along an axis, or with `reverse` behind it; without the element itself where `exclusive`, which takes an operator.",
    )
    .at(Level::Tiles)
    .takes(&[
        OPERATOR,
        arg("x", Kind::Tile),
        named("axis", Kind::Integer, "…"),
        named("exclusive", Kind::Bool, "false"),
        named("reverse", Kind::Bool, "false"),
    ]),
    Builtin::new(
        "warp_reduce",
        Lowering::Call(warp_reduce),
        "Combines x of the lanes of a warp; every lane gets the result.",
    )
    .at(Level::Threads)
    .takes(&[OPERATOR, arg("x", Kind::Number), super::warp::WIDTH]),
    Builtin::new(
        "block_reduce",
        Lowering::Call(block_reduce),
        "Combines x of the threads of a block, all of which must come to it; every thread gets the result.",
    )
    .at(Level::Threads)
    .takes(&[OPERATOR, arg("x", Kind::Number)]),
];

/// What makes one value of two.
#[derive(Clone, Copy)]
pub(in crate::eval) enum Combiner<'a> {
    Operator(BinaryOp),
    /// `min` or `max`; whether it is `min`.
    Extreme(bool),
    /// A function, and the argument that names it.
    Function(&'a Function, &'a Expr),
}

/// The combiner and what it is applied to.
fn operands<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<(Combiner<'a>, ArgValue<'c, 'a>)> {
    let (Some(how), Some(value)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    Ok((combiner(ev, how)?, value.clone()))
}

/// What an argument says combines two values.
pub(in crate::eval) fn combiner<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    how: &ArgValue<'c, 'a>,
) -> Result<Combiner<'a>> {
    let combiner = match &how.value {
        Value::Function(function) => Combiner::Function(function, how.expr),
        value => match Operator::of(value) {
            Some(operator) => operator.into(),
            None => return not_a_combiner(ev, how),
        },
    };
    Ok(combiner)
}

impl From<Operator> for Combiner<'_> {
    fn from(operator: Operator) -> Self {
        match operator {
            Operator::Add => Combiner::Operator(BinaryOp::Add),
            Operator::Mul => Combiner::Operator(BinaryOp::Mul),
            Operator::And => Combiner::Operator(BinaryOp::BitAnd),
            Operator::Or => Combiner::Operator(BinaryOp::BitOr),
            Operator::Xor => Combiner::Operator(BinaryOp::BitXor),
            Operator::Min => Combiner::Extreme(true),
            Operator::Max => Combiner::Extreme(false),
        }
    }
}

/// `add(a, b)`: an operator of reductions as a function of two values.
pub(in crate::eval) fn call_operator<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    operator: Operator,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 2..=2, &[], 0..=0, &[])?;
    let (Some(a), Some(b)) = (call.arg(0), call.arg(1)) else {
        return Err(Stop::Reported);
    };
    let [a, b] = [a, b].map(|arg| (arg.value.clone(), arg.expr.span));
    apply(ev, operator.into(), a, b, call.span)
}

fn not_a_combiner<'c, 'a, T>(ev: &mut Evaluator<'c, 'a>, how: &ArgValue<'c, 'a>) -> Result<T> {
    let what = "`add`, `mul`, `min`, `max`, `and`, `or`, `xor` or a function of two values";
    ev.expected(what, &how.value, how.expr.span)
}

/// One value of two; operators take the parts of tuples one by one.
pub(in crate::eval) fn combine<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    combiner: Combiner<'a>,
    a: Value<'c, 'a>,
    b: Value<'c, 'a>,
    span: Span,
) -> Result<Value<'c, 'a>> {
    if let Combiner::Function(function, expr) = combiner {
        let arg = |value| ArgValue {
            name: None,
            value,
            expr,
        };
        let call = Call {
            name: function.name.node.clone(),
            name_span: expr.span,
            span,
            generics: Vec::new(),
            args: vec![arg(a), arg(b)],
        };
        return ev.call_function(function, &call);
    }
    match (a, b) {
        (Value::Tuple(a), Value::Tuple(b)) => {
            let pairs = a.into_iter().zip(b);
            let parts = pairs.map(|(a, b)| combine(ev, combiner, a, b, span));
            Ok(Value::Tuple(parts.collect::<Result<_>>()?))
        }
        (a, b) => apply(ev, combiner, (a, span), (b, span), span),
    }
}

/// What an operator makes of two values.
fn apply<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    combiner: Combiner<'a>,
    a: (Value<'c, 'a>, Span),
    b: (Value<'c, 'a>, Span),
    span: Span,
) -> Result<Value<'c, 'a>> {
    match combiner {
        Combiner::Operator(op) => ev.binary(op, a, b, span),
        Combiner::Extreme(smaller) => extreme_of(ev, smaller, a, b, span),
        Combiner::Function(..) => Err(Stop::Reported),
    }
}

/// Neighbours first, so that what depends on what is a tree.
fn combine_all<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    combiner: Combiner<'a>,
    mut values: Vec<Value<'c, 'a>>,
    span: Span,
) -> Result<Value<'c, 'a>> {
    while values.len() > 1 {
        let mut halved = Vec::with_capacity(values.len().div_ceil(2));
        let mut rest = values.into_iter();
        while let Some(first) = rest.next() {
            halved.push(match rest.next() {
                Some(second) => combine(ev, combiner, first, second, span)?,
                None => first,
            });
        }
        values = halved;
    }
    values.pop().ok_or(Stop::Reported)
}

/// `reduce(op, view)`: of its elements; also of the parts of a tuple or an array.
fn reduce<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    match call.arg(1).map(|arg| &arg.value) {
        Some(Value::Tile(tile)) => return ev.reduce_tile(call, tile),
        Some(value) if has_tiles(value) => return ev.fold_tiles(call),
        _ => {}
    }
    if let Some(axis) = call.named("axis") {
        let found = call
            .arg(1)
            .map_or("nothing".to_owned(), |arg| arg.value.describe());
        let message = format!("`reduce` along an axis is of tiles, this is {found}");
        let diagnostic =
            Diagnostic::error(codes::WRONG_ARGUMENTS, axis.expr.span, message, "an axis");
        let help = "leave out `axis`: all elements are combined into one";
        return Err(ev.report(diagnostic.with_help(help)));
    }
    let (combiner, arg) = operands(ev, call)?;
    let values = match ev.operand(&arg.value, arg.expr.span)? {
        Value::Vector(vector) => {
            let elements = ev.elements(&vector, arg.expr.span)?;
            let number = |ir| number_or_vector(ir, vector.elem, None);
            elements.into_iter().map(number).collect()
        }
        Value::Tuple(parts) | Value::Array(parts) if !parts.is_empty() => parts,
        number if number.number_type().is_some() => vec![number],
        other => return ev.expected("a view, a tuple or an array", &other, arg.expr.span),
    };
    combine_all(ev, combiner, values, call.span)
}

/// `warp_reduce(op, x, width = 32)`: over the lanes of each group of so many; all of them get it.
fn warp_reduce<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (combiner, arg) = operands(ev, call)?;
    let width = width_of(ev, call)?;
    let value = ev.numbers(&arg.value, arg.expr.span)?;
    over_lanes(ev, combiner, value, width, call.span)
}

fn over_lanes<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    combiner: Combiner<'a>,
    mut value: Value<'c, 'a>,
    width: i64,
    span: Span,
) -> Result<Value<'c, 'a>> {
    if let (Value::Scalar(scalar), WARP, Some(kind)) = (&value, width, one_instruction(combiner))
        && scalar.elem == Elem::I32
    {
        let number = scalar.ir;
        let ir = ev.ir(span)?;
        let members = ir.constant(-1, "i32");
        let kind = ir.attr(kind);
        let ty = ir.ty("i32");
        let result = ir.value(NvvmOp::ReduxSync, &[number, members], &[("kind", kind)], ty);
        return Ok(number_or_vector(result, Elem::I32, None));
    }
    let mut step = width / 2;
    while step > 0 {
        let by = ev.ir(span)?.constant(step, "i32");
        let other = shuffled(ev, Shuffle::Xor, &value, by, width, span)?;
        value = combine(ev, combiner, value, other, span)?;
        step /= 2;
    }
    Ok(value)
}

/// The kind of `redux.sync` that combines i32 of a whole warp.
fn one_instruction(combiner: Combiner<'_>) -> Option<&'static str> {
    match combiner {
        Combiner::Operator(BinaryOp::Add) => Some("#nvvm<redux_kind add>"),
        Combiner::Operator(BinaryOp::BitAnd) => Some("#nvvm<redux_kind and>"),
        Combiner::Operator(BinaryOp::BitOr) => Some("#nvvm<redux_kind or>"),
        Combiner::Operator(BinaryOp::BitXor) => Some("#nvvm<redux_kind xor>"),
        Combiner::Extreme(true) => Some("#nvvm<redux_kind min>"),
        Combiner::Extreme(false) => Some("#nvvm<redux_kind max>"),
        _ => None,
    }
}

/// `block_reduce(op, x)`: over all threads of the block; all of them get it.
///
/// Each warp leaves its result in shared memory, and every thread combines what the warps have left.
fn block_reduce<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (combiner, arg) = operands(ev, call)?;
    let span = call.span;
    let threads: i64 = ev.threads_of_block();
    let warps = threads / WARP;
    if warps <= 1 && threads.count_ones() == 1 {
        let value = ev.numbers(&arg.value, arg.expr.span)?;
        return over_lanes(ev, combiner, value, threads, span);
    }
    ev.all_threads_come(call)?;
    width_of(ev, call)?;
    let value = ev.numbers(&arg.value, arg.expr.span)?;
    let value = over_lanes(ev, combiner, value, WARP, span)?;
    let mut leaves = Vec::new();
    flatten(&value, &mut leaves);
    let mut buffers = Vec::new();
    for leaf in &leaves {
        buffers.push(buffer(ev, leaf, warps, call)?);
    }
    let thread = linear_thread(ev, span)?;
    let by_warps = |op, ev: &mut Evaluator<'c, 'a>| {
        ev.binary(op, (thread.clone(), span), (Value::Int(WARP), span), span)
    };
    let (warp, lane) = (by_warps(BinaryOp::Div, ev)?, by_warps(BinaryOp::Rem, ev)?);
    // In a loop the last round may still be reading.
    if ev.runtime_loops > 0 {
        ev.ir(span)?.op(NvvmOp::Barrier0, &[], &[], &[]);
    }
    let first = ev.binary(BinaryOp::Eq, (lane, span), (Value::Int(0), span), span)?;
    let first = ev.number(&first, Elem::I1, span)?;
    let (region, block) = region_with_block(&[]);
    ev.in_block(block, |ev| {
        for (leaf, buffer) in leaves.iter().zip(&buffers) {
            leave(ev, leaf, buffer, &warp, span)?;
        }
        ev.terminate(ScfOp::Yield, &[], span)
    })?;
    let regions = vec![region, Region::new()];
    let ir = ev.ir(span)?;
    ir.op_with_regions(ScfOp::If, &[first], &[], &[], regions);
    ir.op(NvvmOp::Barrier0, &[], &[], &[]);
    let mut columns = Vec::new();
    for (leaf, buffer) in leaves.iter().zip(&buffers) {
        columns.push(left_by_warps(ev, leaf, buffer, warps, span)?);
    }
    let mut of_warps = Vec::new();
    for at in 0..warps as usize {
        let mut leaves = columns.iter().map(|column| column[at].clone());
        of_warps.push(rebuild(&value, &mut leaves)?);
    }
    combine_all(ev, combiner, of_warps, span)
}

/// The number of this thread in its block.
fn linear_thread<'c, 'a>(ev: &mut Evaluator<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
    let mut thread = Value::Int(0);
    for (at, axis) in ["z", "y", "x"].into_iter().enumerate() {
        let extent = Value::Int(ev.block.map_or(1, |block| block[2 - at]));
        let index = ev.register(Register::ThreadIdx, axis, span)?;
        let rows = ev.binary(BinaryOp::Mul, (thread, span), (extent, span), span)?;
        thread = match rows {
            Value::Int(0) => index,
            rows => ev.binary(BinaryOp::Add, (rows, span), (index, span), span)?,
        };
    }
    Ok(thread)
}

/// The numbers and vectors of a value, in order.
pub(in crate::eval) fn flatten<'c, 'a>(value: &Value<'c, 'a>, leaves: &mut Vec<Value<'c, 'a>>) {
    match value {
        Value::Tuple(parts) => parts.iter().for_each(|part| flatten(part, leaves)),
        leaf => leaves.push(leaf.clone()),
    }
}

/// The value of the same form with other numbers and vectors.
pub(in crate::eval) fn rebuild<'c, 'a>(
    like: &Value<'c, 'a>,
    leaves: &mut dyn Iterator<Item = Value<'c, 'a>>,
) -> Result<Value<'c, 'a>> {
    match like {
        Value::Tuple(parts) => {
            let parts = parts.iter().map(|part| rebuild(part, leaves));
            Ok(Value::Tuple(parts.collect::<Result<_>>()?))
        }
        _ => leaves.next().ok_or(Stop::Reported),
    }
}

fn form(leaf: &Value<'_, '_>) -> Option<(Elem, i64)> {
    match leaf {
        Value::Scalar(scalar) => Some((scalar.elem, 1)),
        Value::Vector(vector) => Some((vector.elem, vector.len)),
        _ => None,
    }
}

/// Shared memory for what each warp leaves: (elements, warps).
fn buffer<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    leaf: &Value<'c, 'a>,
    warps: i64,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let Some((elem, len)) = form(leaf) else {
        return ev.expected("numbers", leaf, call.span);
    };
    if matches!(elem, Elem::TF32 | Elem::F8E4M3 | Elem::F8E5M2) {
        let message = format!("`{}` combines no {elem}; convert to f32 first", call.name);
        return ev.error(codes::WRONG_TYPE, call.span, message, "here");
    }
    let mode = |extent, stride| Layout::scalar(extent, stride);
    let layout = Layout::concat([mode(len, 1), mode(warps, len)]);
    let ptr = Ptr {
        elem,
        space: Space::Smem,
        align: 16,
        base: 0,
        offset: Int::Static(0),
    };
    let view = Val::View(View {
        ptr,
        layout: AnyLayout::Plain(layout),
    });
    ev.op(
        CuteOp::MemrefAllocSmem,
        &call.name,
        &[],
        &Attrs::result(view),
        call.span,
    )
}

fn leave<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    leaf: &Value<'c, 'a>,
    buffer: &Value<'c, 'a>,
    warp: &Value<'c, 'a>,
    span: Span,
) -> Result<()> {
    let none = Attrs::default();
    match leaf {
        Value::Scalar(scalar) => {
            let at = Value::Tuple(vec![Value::Int(0), warp.clone()]);
            let number = number_or_vector(scalar.ir, scalar.elem, None);
            let operands = [number, buffer.clone(), at];
            ev.op(CuteOp::MemrefStore, "block_reduce", &operands, &none, span)?;
        }
        _ => {
            let at = Value::Tuple(vec![Value::Underscore, warp.clone()]);
            let part = ev.op(
                CuteOp::Slice,
                "block_reduce",
                &[buffer.clone(), at],
                &none,
                span,
            )?;
            ev.store(&part, leaf, span, span, span)?;
        }
    }
    Ok(())
}

/// What each warp has left of a number or a vector.
fn left_by_warps<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    leaf: &Value<'c, 'a>,
    buffer: &Value<'c, 'a>,
    warps: i64,
    span: Span,
) -> Result<Vec<Value<'c, 'a>>> {
    let none = Attrs::default();
    let scalar = |ir: IrValue<'c>, elem| number_or_vector(ir, elem, None);
    match leaf {
        Value::Scalar(Scalar { elem: Elem::I1, .. }) => (0..warps)
            .map(|at| {
                let at = Value::Tuple(vec![Value::Int(0), Value::Int(at)]);
                ev.op(
                    CuteOp::MemrefLoad,
                    "block_reduce",
                    &[buffer.clone(), at],
                    &none,
                    span,
                )
            })
            .collect(),
        Value::Scalar(number) => match ev.operand(buffer, span)? {
            Value::Vector(all) => {
                let elements = ev.elements(&all, span)?;
                Ok(elements
                    .into_iter()
                    .map(|ir| scalar(ir, number.elem))
                    .collect())
            }
            _ => Err(Stop::Reported),
        },
        _ => (0..warps)
            .map(|at| {
                let at = Value::Tuple(vec![Value::Underscore, Value::Int(at)]);
                let part = ev.op(
                    CuteOp::Slice,
                    "block_reduce",
                    &[buffer.clone(), at],
                    &none,
                    span,
                )?;
                ev.operand(&part, span)
            })
            .collect(),
    }
}
