//! Functions of elements: on numbers known at compile time, run-time numbers, vectors and views.

use crate::diagnostics::codes;
use crate::eval::arith::{number_or_vector, type_text};
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::elem::Elem;

pub(super) const NAMES: [&str; 22] = [
    "min",
    "max",
    "abs",
    "select",
    "ceil_div",
    "sqrt",
    "rsqrt",
    "exp",
    "exp2",
    "log",
    "log2",
    "tanh",
    "erf",
    "sin",
    "cos",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fma",
    "bits",
    "static_assert",
];

pub(super) fn call<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &'static str,
    call: &Call<'c, 'a>,
) -> Option<Result<Value<'c, 'a>>> {
    Some(match name {
        "min" | "max" => extreme(ev, name, call),
        "abs" => abs(ev, call),
        "select" => select(ev, call),
        "ceil_div" => ceil_div(ev, call),
        "fma" => fma(ev, call),
        "bits" => super::elem_arg(ev, &as_generic(call), 0).map(|elem| Value::Int(elem.bits())),
        "static_assert" => static_assert(ev, call),
        "sqrt" | "rsqrt" | "exp" | "exp2" | "log" | "log2" | "tanh" | "erf" | "sin" | "cos"
        | "floor" | "ceil" | "round" | "trunc" => function(ev, name, call),
        _ => return None,
    })
}

/// `bits(f16)` is `bits<f16>`.
fn as_generic<'c, 'a>(call: &Call<'c, 'a>) -> Call<'c, 'a> {
    Call {
        name: call.name.clone(),
        name_span: call.name_span,
        span: call.span,
        generics: call.generics.iter().chain(&call.args).cloned().collect(),
        args: Vec::new(),
    }
}

fn two<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
) -> Result<[(Value<'c, 'a>, Span); 2]> {
    ev.check_args(call, 2..=2, &[], 0..=0, &[])?;
    let part = |arg: &ArgValue<'c, 'a>| (arg.value.clone(), arg.expr.span);
    match call.args.as_slice() {
        [a, b] => Ok([part(a), part(b)]),
        _ => Err(Stop::Reported),
    }
}

/// `min(a, b, …)`, `max(a, b, …)`; of floating numbers NaN wins.
fn extreme<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 2..=usize::MAX, &[], 0..=0, &[])?;
    let smaller = name == "min";
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
    match (&a.0, &b.0) {
        (Value::Int(a), Value::Int(b)) => {
            Ok(Value::Int(if smaller { *a.min(b) } else { *a.max(b) }))
        }
        (Value::Float(a), Value::Float(b)) => {
            Ok(Value::Float(if smaller { a.min(*b) } else { a.max(*b) }))
        }
        _ => {
            let pair = ev.pair(if smaller { "min" } else { "max" }, a, b, span)?;
            let op = match (pair.elem.is_float(), smaller) {
                (true, true) => "arith.minimumf",
                (true, false) => "arith.maximumf",
                (false, true) => "arith.minsi",
                (false, false) => "arith.maxsi",
            };
            ev.elementwise(op, &pair, span)
        }
    }
}

fn abs<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    let value = ev.operand(&call.positional()[0], call.span)?;
    match &value {
        Value::Int(value) => match value.checked_abs() {
            Some(value) => Ok(Value::Int(value)),
            None => ev.error(
                codes::ARITHMETIC,
                call.span,
                format!("`abs({value})` does not fit 64 bits"),
                "here",
            ),
        },
        Value::Float(value) => Ok(Value::Float(value.abs())),
        _ => ev.absolute(&value, call.span),
    }
}

/// `select(c, a, b)`: both are evaluated.
fn select<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 3..=3, &[], 0..=0, &[])?;
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
    let ty = ir.ty(&type_text(pair.elem, pair.len));
    let result = ir.value("arith.select", &[chooser, pair.lhs, pair.rhs], &[], ty);
    Ok(number_or_vector(result, pair.elem, pair.len))
}

/// `ceil_div(a, b)`, also of tuples.
fn ceil_div<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let [a, b] = two(ev, call)?;
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
    ev.check_args(call, 3..=3, &[], 0..=0, &[])?;
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
    let ty = ir.ty(&type_text(sum.elem, sum.len));
    let result = ir.value("llvm.intr.fma", &[sum.lhs, rhs, sum.rhs], &[], ty);
    Ok(number_or_vector(result, sum.elem, sum.len))
}

fn function<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    name: &str,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=1, &[], 0..=0, &[])?;
    let value = ev.operand(&call.positional()[0], call.span)?;
    let known = match &value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    if let Some(x) = known {
        return Ok(Value::Float(match name {
            "sqrt" => x.sqrt(),
            "rsqrt" => 1.0 / x.sqrt(),
            "exp" => x.exp(),
            "exp2" => x.exp2(),
            "log" => x.ln(),
            "log2" => x.log2(),
            "tanh" => x.tanh(),
            "erf" => crate::eval::intrinsic::erf(x),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "floor" => x.floor(),
            "round" => x.round_ties_even(),
            "trunc" => x.trunc(),
            _ => x.ceil(),
        }));
    }
    ev.elementary(name, &value, call.span)
}

fn static_assert<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.check_args(call, 1..=2, &[], 0..=0, &[])?;
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
            let stop = ev.error(
                codes::STATIC_ASSERT,
                condition.expr.span,
                message,
                "this is false",
            );
            match ev.calls.is_empty() {
                true => stop,
                false => stop.map_err(|_| Stop::Abandoned),
            }
        }
        Value::Scalar(_) => ev.static_needed("the condition of `static_assert`", condition.expr),
        other => ev.expected_bool(&other.clone(), condition.expr.span),
    }
}
