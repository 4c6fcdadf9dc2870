//! Functions of elements: on numbers known at compile time, run-time numbers, vectors and views.

use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::{ArgValue, Call};
use crate::eval::constant::rounded;
use crate::eval::values::{Scalar, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_abi::arithmetic::{self, Operation};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, LlvmOp, VectorOp};
use cutec_layout::gcd;

use super::builtin::{Builtin, Kind, LowerCall, Lowering, Parameter, arg, optional, rest};
use super::elementary::Elementary;

/// A function of one floating number.
const fn elementary(
    function: Elementary,
    lower: LowerCall,
    documentation: &'static str,
) -> Builtin {
    Builtin::new(function.name(), Lowering::Elementwise(lower), documentation).takes(X)
}

const X: &[Parameter] = &[arg("x", Kind::Number)];

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new(
        "min",
        Lowering::Elementwise(|ev, call| extreme(ev, true, call)),
        "The smallest; NaN where an operand is NaN.",
    )
    .takes(&[
        arg("a", Kind::Number),
        arg("b", Kind::Number),
        rest("more", Kind::Number),
    ]),
    Builtin::new(
        "max",
        Lowering::Elementwise(|ev, call| extreme(ev, false, call)),
        "The largest; NaN where an operand is NaN.",
    )
    .takes(&[
        arg("a", Kind::Number),
        arg("b", Kind::Number),
        rest("more", Kind::Number),
    ]),
    Builtin::new("abs", Lowering::Elementwise(abs), "The absolute value.")
        .takes(&[arg("x", Kind::Number)]),
    Builtin::new(
        "select",
        Lowering::Elementwise(select),
        "`a` where the condition holds, else `b`; both are evaluated.",
    )
    .takes(&[
        arg("condition", Kind::Bool),
        arg("a", Kind::Number),
        arg("b", Kind::Number),
    ]),
    Builtin::new(
        "ceil_div",
        Lowering::Elementwise(ceil_div),
        "The quotient of integers, rounded up; also of tuples, part by part.",
    )
    .takes(&[arg("a", Kind::Integer), arg("b", Kind::Integer)]),
    Builtin::new(
        "mulhi",
        Lowering::Elementwise(mulhi),
        "The upper half of the product of two integers of 32 or 64 bits.",
    )
    .takes(&[arg("a", Kind::Integer), arg("b", Kind::Integer)]),
    Builtin::new(
        "fma",
        Lowering::Elementwise(fma),
        "`a * b + c` of floating numbers, rounded once.",
    )
    .takes(&[
        arg("a", Kind::Number),
        arg("b", Kind::Number),
        arg("c", Kind::Number),
    ]),
    elementary(
        Elementary::Sqrt,
        |ev, call| function(ev, Elementary::Sqrt, call),
        "The square root, correctly rounded.",
    ),
    elementary(
        Elementary::Rsqrt,
        |ev, call| function(ev, Elementary::Rsqrt, call),
        "One over the square root, by `rsqrt.approx.f32`.",
    ),
    elementary(
        Elementary::Rcp,
        |ev, call| function(ev, Elementary::Rcp, call),
        "One over x, by `rcp.approx.ftz.f32`, within 1 ulp: 0 for what is below 2⁻¹²⁶, where `1.0 / x` is correctly rounded, in ten instructions and a branch.",
    ),
    elementary(
        Elementary::Exp,
        |ev, call| function(ev, Elementary::Exp, call),
        "e to the power of x, by `ex2.approx.ftz.f32`: 0 for what is below 2⁻¹²⁶.",
    ),
    elementary(
        Elementary::Exp2,
        |ev, call| function(ev, Elementary::Exp2, call),
        "2 to the power of x, by `ex2.approx.ftz.f32`: 0 for what is below 2⁻¹²⁶.",
    ),
    elementary(
        Elementary::Log,
        |ev, call| function(ev, Elementary::Log, call),
        "The natural logarithm, by `lg2.approx.f32`.",
    ),
    elementary(
        Elementary::Log2,
        |ev, call| function(ev, Elementary::Log2, call),
        "The logarithm to the base of 2, by `lg2.approx.f32`.",
    ),
    elementary(
        Elementary::Tanh,
        |ev, call| function(ev, Elementary::Tanh, call),
        "The hyperbolic tangent, by `tanh.approx.f32`.",
    ),
    elementary(
        Elementary::Erf,
        |ev, call| function(ev, Elementary::Erf, call),
        "The error function, within 3 units in the last place of f32.",
    ),
    elementary(
        Elementary::Sin,
        |ev, call| function(ev, Elementary::Sin, call),
        "The sine, by `sin.approx.f32`.",
    ),
    elementary(
        Elementary::Cos,
        |ev, call| function(ev, Elementary::Cos, call),
        "The cosine, by `cos.approx.f32`.",
    ),
    elementary(
        Elementary::Floor,
        |ev, call| function(ev, Elementary::Floor, call),
        "The largest integer that is not above x, as a floating number.",
    ),
    elementary(
        Elementary::Ceil,
        |ev, call| function(ev, Elementary::Ceil, call),
        "The smallest integer that is not below x, as a floating number.",
    ),
    elementary(
        Elementary::Round,
        |ev, call| function(ev, Elementary::Round, call),
        "The nearest integer, ties to even, as a floating number.",
    ),
    elementary(
        Elementary::Trunc,
        |ev, call| function(ev, Elementary::Trunc, call),
        "x rounded towards zero to an integer, as a floating number.",
    ),
    Builtin::new(
        "bits",
        Lowering::Call(bits),
        "The bits of an element of a type; also `bits<type>()`.",
    )
    .takes(&[arg("type", Kind::ElementType)]),
    Builtin::new(
        "bits",
        Lowering::Call(bits),
        "The bits of an element of a type.",
    )
    .generic(&[arg("type", Kind::ElementType)]),
    Builtin::new(
        "element_type",
        Lowering::Call(element_type),
        "The type of the elements of a tensor, or of a number or values.",
    )
    .takes(&[arg("x", Kind::Any)]),
    Builtin::new(
        "static_assert",
        Lowering::Call(static_assert),
        "Refuses to compile where the condition, which must be known while compiling, is false.",
    )
    .takes(&[arg("condition", Kind::Bool), optional("text", Kind::Text)]),
];

/// `bits(f16)` or `bits<f16>()`.
fn bits<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let given = call.generics.iter().chain(&call.args).next();
    match given.map(|arg| (arg.value.clone(), arg.expr.span)) {
        Some((Value::Type(elem), _)) => Ok(Value::Int(elem.bits())),
        Some((other, span)) => ev.expected("an element type", &other, span),
        None => Err(Stop::Reported),
    }
}

/// `element_type(x)`, what CuTe calls `x.element_type`.
fn element_type<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [x] = &call.args[..] else {
        return Err(Stop::Reported);
    };
    let elem = match &x.value {
        Value::Scalar(scalar) => Some(scalar.elem),
        Value::Vector(vector) => Some(vector.elem),
        Value::Tile(tile) => Some(tile.elem),
        Value::Slot(slot) => Some(slot.elem),
        Value::Typed(_, elem) => Some(*elem),
        other => other.as_view().map(|(_, view)| view.ptr.elem),
    };
    match elem {
        Some(elem) => Ok(Value::Type(elem)),
        None => ev.expected(
            "a tensor, or a number with a type",
            &x.value.clone(),
            x.expr.span,
        ),
    }
}

fn two<'c, 'a>(call: &Call<'c, 'a>) -> Result<[(Value<'c, 'a>, Span); 2]> {
    let part = |arg: &ArgValue<'c, 'a>| (arg.value.clone(), arg.expr.span);
    match call.args.as_slice() {
        [a, b] => Ok([part(a), part(b)]),
        _ => Err(Stop::Reported),
    }
}

/// `min(a, b, …)`, `max(a, b, …)`; of floating numbers NaN wins.
fn extreme<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    smaller: bool,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let mut args = call
        .args
        .iter()
        .map(|arg| (arg.value.clone(), arg.expr.span));
    let Some(mut result) = args.next() else {
        return Err(Stop::Reported);
    };
    for next in args {
        let value = extreme_of(ev, smaller, result, next, call.span)?;
        result = (value, call.span);
    }
    Ok(result.0)
}

/// The smaller or the larger one of two.
pub(super) fn extreme_of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    smaller: bool,
    a: (Value<'c, 'a>, Span),
    b: (Value<'c, 'a>, Span),
    span: Span,
) -> Result<Value<'c, 'a>> {
    let operation = match smaller {
        true => Operation::Min,
        false => Operation::Max,
    };
    if let Some(value) = ev.known_function(operation, (&a.0, a.1), (&b.0, b.1), span)? {
        return Ok(value);
    }
    // What divides both divides the one that it is.
    let div = gcd(ev.divisor(&a.0), ev.divisor(&b.0)).max(1);
    let pair = ev.pair(if smaller { "min" } else { "max" }, a, b, span)?;
    let op = match (pair.elem.is_float(), smaller) {
        (true, true) => ArithOp::Minimumf,
        (true, false) => ArithOp::Maximumf,
        (false, true) if pair.elem.is_unsigned() => ArithOp::Minui,
        (false, false) if pair.elem.is_unsigned() => ArithOp::Maxui,
        (false, true) => ArithOp::Minsi,
        (false, false) => ArithOp::Maxsi,
    };
    Ok(match ev.elementwise(op, &pair, span)? {
        Value::Scalar(scalar) => Value::Scalar(Scalar { div, ..scalar }),
        other => other,
    })
}

fn abs<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let value = ev.operand(&call.positional()[0], call.span)?;
    match &value {
        Value::Int(value) => match arithmetic::abs(*value) {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => ev.does_not_fit(&format!("abs({value})"), "64 bits", call.span),
        },
        Value::Typed(value, elem) if elem.is_float() => Ok(Value::Typed(value.abs(), *elem)),
        Value::Typed(_, elem) => {
            let ir = ev.number(&value, *elem, call.span)?;
            ev.absolute(&number_or_vector(ir, *elem, None), call.span)
        }
        Value::Float(value) => Ok(Value::Float(value.abs())),
        _ => ev.absolute(&value, call.span),
    }
}

/// `mulhi(a, b)`: the upper half of the product (PTX ISA, "mul.hi").
fn mulhi<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [a, b] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let known = |value: &Value<'c, 'a>| match value {
        Value::Typed(value, Elem::U32) => Some(*value as u64),
        _ => None,
    };
    if let (Some(a), Some(b)) = (known(&a.value), known(&b.value)) {
        return Ok(Value::Typed(((a * b) >> 32) as f64, Elem::U32));
    }
    let pair = ev.pair(
        "mulhi",
        (a.value.clone(), a.expr.span),
        (b.value.clone(), b.expr.span),
        call.span,
    )?;
    let (elem, len) = (pair.elem, pair.len);
    if elem.is_float() || elem.bits() < 32 {
        let message = format!("`mulhi` is not defined for {}", elem_name(elem));
        let label = "expected i32, u32, i64 or u64";
        return ev.error(codes::WRONG_TYPE, call.span, message, label);
    }
    let ir = ev.ir(call.span)?;
    let text = format!("mul.hi.{} $0, $1, $2;", elem.ptx());
    let constraints = if elem.bits() == 32 {
        "=r,r,r"
    } else {
        "=l,l,l"
    };
    let ty = ir.number_type(elem);
    let Some(count) = len else {
        let result = ir.assembly(&text, constraints, &[pair.lhs, pair.rhs], ty);
        return Ok(number_or_vector(result, elem, None));
    };
    let results: Vec<_> = (0..count)
        .map(|at| {
            let place = [("static_position", ir.i64_array(&[at]))];
            let [a, b] =
                [pair.lhs, pair.rhs].map(|of| ir.value(VectorOp::Extract, &[of], &place, ty));
            ir.assembly(&text, constraints, &[a, b], ty)
        })
        .collect();
    ev.vector(&results, elem, call.span)
}

/// `select(c, a, b)`: both are evaluated.
fn select<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [condition, a, b] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let chooser = ev.operand(&condition.value, condition.expr.span)?;
    let chooser = match &chooser {
        Value::Bool(true) => return Ok(a.value.clone()),
        Value::Bool(false) => return Ok(b.value.clone()),
        Value::Scalar(scalar) if scalar.elem == Elem::I1 => scalar.ir,
        Value::Vector(vector) if vector.elem == Elem::I1 => vector.ir,
        other => return ev.expected_bool(&other.clone(), condition.expr.span),
    };
    let pair = ev.pair(
        "select",
        (a.value.clone(), a.expr.span),
        (b.value.clone(), b.expr.span),
        call.span,
    )?;
    let ir = ev.ir(call.span)?;
    let ty = ir.numbers_type(pair.elem, pair.len);
    let result = ir.value(ArithOp::Select, &[chooser, pair.lhs, pair.rhs], &[], ty);
    Ok(number_or_vector(result, pair.elem, pair.len))
}

/// `ceil_div(a, b)`, also of tuples.
fn ceil_div<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [a, b] = two(call)?;
    ceil_div_each(ev, a, b, call.span)
}

fn ceil_div_each<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    a: (Value<'c, 'a>, Span),
    b: (Value<'c, 'a>, Span),
    span: Span,
) -> Result<Value<'c, 'a>> {
    if let (Value::Tuple(x), Value::Tuple(y)) = (&a.0, &b.0)
        && x.len() == y.len()
    {
        let parts = x
            .iter()
            .zip(y)
            .map(|(x, y)| ceil_div_each(ev, (x.clone(), a.1), (y.clone(), b.1), span));
        return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
    }
    ev.ceil_div(a, b, span)
}

/// `fma(a, b, c)`: `a * b + c`, rounded once.
fn fma<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [a, b, c] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let part = |arg: &ArgValue<'c, 'a>| (arg.value.clone(), arg.expr.span);
    let factors = ev.pair("fma", part(a), part(b), call.span)?;
    if !factors.elem.is_float() {
        return ev.error(
            codes::WRONG_TYPE,
            call.span,
            "`fma` takes floating numbers",
            "here",
        );
    }
    let product = number_or_vector(factors.lhs, factors.elem, factors.len);
    let sum = ev.pair("fma", (product, a.expr.span), part(c), call.span)?;
    let rhs = number_or_vector(factors.rhs, factors.elem, factors.len);
    let rhs = ev.spread(&rhs, sum.elem, sum.len, b.expr.span)?;
    let ir = ev.ir(call.span)?;
    let ty = ir.numbers_type(sum.elem, sum.len);
    let result = ir.value(LlvmOp::IntrFma, &[sum.lhs, rhs, sum.rhs], &[], ty);
    Ok(number_or_vector(result, sum.elem, sum.len))
}

fn function<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    function: Elementary,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let value = ev.operand(&call.positional()[0], call.span)?;
    let known = match &value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Typed(value, elem) if elem.is_float() => Some(*value),
        Value::Typed(..) => {
            let what = format!("a floating number for `{}`", function.name());
            return ev.expected(&what, &value, call.span);
        }
        _ => None,
    };
    if let Some(x) = known {
        let result = function.evaluate(x);
        return Ok(match value {
            Value::Typed(_, elem) => Value::Typed(rounded(result, elem), elem),
            _ => Value::Float(result),
        });
    }
    ev.elementary(function, &value, call.span)
}

fn static_assert<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let Some(condition) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    let text = match call.arg(1).map(|arg| &arg.value) {
        Some(Value::Str(text)) => format!(": {text}"),
        _ => String::new(),
    };
    match &condition.value {
        Value::Bool(true) => Ok(Value::Unit),
        Value::Bool(false) => {
            let message = format!("static assertion failed{text}");
            let expr = condition.expr;
            let sides = ev.sides(expr);
            let label = match sides.is_empty() {
                true => "this is false".to_owned(),
                false => format!("this is false: {}", sides.join(", ")),
            };
            let stop = ev.error(codes::STATIC_ASSERT, expr.span, message, label);
            match ev.calls.is_empty() {
                true => stop,
                false => stop.map_err(|_| Stop::Abandoned),
            }
        }
        Value::Scalar(_) => ev.static_needed("the condition of `static_assert`", condition.expr),
        other => ev.expected_bool(&other.clone(), condition.expr.span),
    }
}
