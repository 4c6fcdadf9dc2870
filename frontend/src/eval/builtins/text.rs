//! What a kernel says in another language, `printf("…", …)` and `ptx("…", …)`, and while it compiles, `print(…)`.

use super::builtin::{Builtin, Kind, Lowering, arg, named, rest};
use crate::diagnostics::{Diagnostic, Severity, codes};
use crate::eval::arith::number_or_vector;
use crate::eval::call::{ArgValue, Call};
use crate::eval::show;
use crate::eval::values::{Tile, Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use cutec_dialects::builder::{IrValue, result_of};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{GpuOp, LlvmOp, TileOp};
use std::sync::Arc;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new(
        "printf",
        Lowering::Call(printf),
        "Prints a line of each thread that comes to it, at tile level of each block, with a tile among the values one for each row. There are `%d %u %x %o %c`, `%lld` and the like for i64, `%f %e %g`, `%%`.",
    )
    .takes(&[arg("text", Kind::Text), rest("values", Kind::Number)]),
    Builtin::new(
        "print",
        Lowering::Call(print),
        "Shows values while compiling: layouts as CuTe prints them, tiled copies, tuples, records, and of what is known at run time alone its type.",
    )
    .takes(&[rest("values", Kind::Any)]),
    Builtin::new(
        "ptx",
        Lowering::Call(ptx),
        "Inline PTX: `$0` is the first result, the arguments follow behind the results. `result` is a type or a tuple of types; `pure` says that nothing but the operands matters.",
    )
    .takes(&[
        arg("text", Kind::Text),
        rest("operands", Kind::Number),
        named("result", Kind::ElementType, "()"),
        named("pure", Kind::Bool, "false"),
    ]),
];

/// The most numbers that one line prints.
const MOST_PRINTED: usize = 32;
/// The most operands of inline PTX: an instruction of LLVM's inline assembly names no more.
const MOST_OPERANDS: usize = 30;

/// The text that is the first argument, and the others.
fn text_and_rest<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    most: usize,
) -> Result<(Arc<str>, ArgValue<'c, 'a>, Vec<ArgValue<'c, 'a>>)> {
    let mut positional = call.args.iter().filter(|arg| arg.name.is_none());
    let Some(first) = positional.next() else {
        return Err(Stop::Reported);
    };
    let given = positional.clone().count();
    if given > most {
        let message = format!(
            "`{}` takes at most {most} values, but {given} {} given",
            call.name,
            if given == 1 { "is" } else { "are" }
        );
        return ev.error(codes::WRONG_ARGUMENTS, call.span, message, "too many");
    }
    match &first.value {
        Value::Str(text) => Ok((text.clone(), first.clone(), positional.cloned().collect())),
        other => ev.expected("a text", &other.clone(), first.expr.span),
    }
}

/// What one conversion of a format takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// 32 bits.
    Integer,
    /// 64 bits: `%lld`.
    Long,
    Float,
}

/// What the conversions of a format take, or the one that is none.
fn conversions(format: &str) -> std::result::Result<Vec<Takes>, String> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let body = &rest[at + 1..];
        let plain = |c: char| "-+ #0123456789.".contains(c);
        let length_at = body.find(|c| !plain(c)).unwrap_or(body.len());
        let kind_at = body[length_at..]
            .find(|c| c != 'l')
            .map_or(body.len(), |offset| length_at + offset);
        let long = kind_at > length_at;
        let end = kind_at + body[kind_at..].chars().next().map_or(0, char::len_utf8);
        let wrong = || format!("%{}", &body[..end]);
        match body[kind_at..].chars().next() {
            Some('%') if kind_at == 0 => {}
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o') if long => found.push(Takes::Long),
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c') if !long => found.push(Takes::Integer),
            Some('f' | 'F' | 'e' | 'E' | 'g' | 'G') if !long => found.push(Takes::Float),
            _ => return Err(wrong()),
        }
        rest = &body[end..];
    }
    Ok(found)
}

/// What a kernel prints at most while it compiles.
const MOST_SHOWN: usize = 100;

/// `print("layout of a:", layout(a))`: a remark at its place, with the values side by side.
fn print<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let values = call.positional();
    let texts: Vec<String> = values.iter().map(show::text).collect();
    let of_run_time = values
        .iter()
        .any(|value| matches!(value, Value::Scalar(_) | Value::Slot(_) | Value::Tile(_)));
    let mut diagnostic =
        Diagnostic::error(codes::PRINTED, call.span, texts.join(" "), "printed here");
    diagnostic.severity = Severity::Remark;
    if of_run_time {
        diagnostic = diagnostic.with_help("numbers and tiles of run time are printed by `printf`");
    }
    let diagnostic = ev.with_calls(diagnostic);
    if ev.printed.len() < MOST_SHOWN && !ev.printed.contains(&diagnostic) {
        ev.printed.push(diagnostic);
    }
    Ok(Value::Unit)
}

/// `printf("x[%d] = %f\n", i, x)`: one line of a thread's own.
fn printf<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (format, first, rest) = text_and_rest(ev, call, MOST_PRINTED)?;
    let wanted = match conversions(&format) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            let message = format!("`{wrong}` is no conversion of `printf`");
            let diagnostic = Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                first.expr.span,
                message,
                "in this text",
            );
            let help = "there are `%d %u %x %o %c` for integers, `%lld` and the like for i64, `%f %e %g` for floating numbers, `%%`";
            return Err(ev.report(diagnostic.with_help(help)));
        }
    };
    if format.contains('\0') {
        let message = "a text to print has no `\\0`";
        return ev.error(
            codes::WRONG_ARGUMENTS,
            first.expr.span,
            message,
            "in this text",
        );
    }
    if wanted.len() != rest.len() {
        let (takes, given) = (wanted.len(), rest.len());
        let values = if takes == 1 { "value" } else { "values" };
        let are = if given == 1 { "is" } else { "are" };
        let message = format!("the text takes {takes} {values}, but {given} {are} given");
        return ev.error(
            codes::WRONG_ARGUMENTS,
            call.span,
            message,
            "they must be as many",
        );
    }
    let tiles: Vec<_> = rest
        .iter()
        .filter(|arg| matches!(arg.value, Value::Tile(_)))
        .map(|arg| (arg.value.clone(), arg.expr.span))
        .collect();
    let shape = ev.common_shape(&tiles, call.span)?;
    // Each line has the coordinates of its row, but for the last one.
    if !tiles.is_empty() && rest.len() + shape.len() > MOST_PRINTED + 1 {
        let message = format!(
            "a line of at most {MOST_PRINTED} numbers, but {} are given beside the coordinates of a row",
            rest.len()
        );
        return ev.error(codes::WRONG_ARGUMENTS, call.span, message, "too many");
    }
    let mut operands = Vec::with_capacity(rest.len());
    for (arg, wanted) in rest.iter().zip(wanted) {
        operands.push(match &arg.value {
            Value::Tile(tile) => printed_tile(ev, arg, tile, &shape, wanted)?,
            _ => printed(ev, arg, wanted)?,
        });
    }
    let ir = ev.ir(call.span)?;
    let attrs = [("format", ir.string(&format))];
    match tiles.is_empty() {
        true => ir.op(GpuOp::Printf, &operands, &attrs, &[]),
        false => ir.op(TileOp::Print, &operands, &attrs, &[]),
    };
    Ok(Value::Unit)
}

/// A tile as its conversion takes the elements of its rows.
fn printed_tile<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    arg: &ArgValue<'c, 'a>,
    tile: &Tile<'c>,
    shape: &[i64],
    wanted: Takes,
) -> Result<IrValue<'c>> {
    let span = arg.expr.span;
    check_fits(ev, arg, wanted, Some(tile.elem))?;
    let to = match wanted {
        Takes::Float if tile.elem == Elem::F64 => Elem::F64,
        Takes::Float => Elem::F32,
        Takes::Long => Elem::I64,
        Takes::Integer => Elem::I32,
    };
    let value = Value::Tile(tile.clone());
    let value = match tile.elem == to {
        true => value,
        false => ev.map_tiles(vec![(value, span)], span, |ev, mut element| {
            ev.convert(to, &element.remove(0), span)
        })?,
    };
    Ok(ev.as_tile(&value, (to, shape), span)?.ir)
}

/// A value as its conversion takes it.
fn printed<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    arg: &ArgValue<'c, 'a>,
    wanted: Takes,
) -> Result<IrValue<'c>> {
    let span = arg.expr.span;
    let elem = match &arg.value {
        Value::Int(_) | Value::Bool(_) => None,
        Value::Float(_) => Some(Elem::F64),
        Value::Typed(_, elem) => Some(*elem),
        Value::Scalar(scalar) => Some(scalar.elem),
        other => return ev.expected("a number to print", &other.clone(), span),
    };
    check_fits(ev, arg, wanted, elem)?;
    let to = match wanted {
        Takes::Float => Elem::F64,
        Takes::Long => Elem::I64,
        Takes::Integer => Elem::I32,
    };
    let number = ev.convert(to, &arg.value, span)?;
    ev.number(&number, to, span)
}

/// Refuses a number, or elements, of a type that a conversion does not take; `None` is an integer known while compiling.
fn check_fits<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    arg: &ArgValue<'c, 'a>,
    wanted: Takes,
    elem: Option<Elem>,
) -> Result<()> {
    let span = arg.expr.span;
    let fits = match (wanted, elem) {
        (_, None) => wanted != Takes::Float,
        (Takes::Float, Some(elem)) => elem.is_float(),
        (Takes::Long, Some(elem)) => matches!(elem, Elem::I64 | Elem::U64),
        (Takes::Integer, Some(elem)) => !elem.is_float() && elem.bits() < 64,
    };
    if !fits {
        let what = match wanted {
            Takes::Float => "a floating number for `%f`",
            Takes::Long => "an i64 or u64 for `%lld`",
            Takes::Integer => "an integer of at most 32 bits for `%d`",
        };
        let help = match elem {
            Some(elem) if elem.is_float() => "`%f` prints it",
            Some(Elem::I64 | Elem::U64) => "`%lld` prints it",
            _ if wanted == Takes::Float => "`%d` prints it",
            _ => "`i64(x)` converts",
        };
        return ev.expected_with_help(what, &arg.value.clone(), span, help);
    }
    Ok(())
}

/// `ptx("add.s32 $0, $1, $2;", a, b, result = i32)`: inline PTX; `result` is a type, or a tuple of types.
/// It stays where it is, unless `pure = true` says that its result depends on its operands alone.
fn ptx<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let (text, first, rest) = text_and_rest(ev, call, MOST_OPERANDS)?;
    let (results, is_tuple) = match call.named("result") {
        None => (Vec::new(), false),
        Some(arg) => match &arg.value {
            Value::Type(elem) => (vec![*elem], false),
            Value::Tuple(parts) => {
                let types = parts.iter().map(|part| match part {
                    Value::Type(elem) => Some(*elem),
                    _ => None,
                });
                match types.collect::<Option<Vec<_>>>() {
                    Some(types) => (types, true),
                    None => {
                        let what = "a type or a tuple of types";
                        return ev.expected(what, &arg.value.clone(), arg.expr.span);
                    }
                }
            }
            other => {
                let what = "a type or a tuple of types";
                return ev.expected(what, &other.clone(), arg.expr.span);
            }
        },
    };
    let pure = match call.named("pure").map(|arg| (&arg.value, arg.expr.span)) {
        None => false,
        Some((Value::Bool(pure), _)) => *pure,
        Some((other, span)) => return ev.expected("`true` or `false`", &other.clone(), span),
    };
    if let Err(wrong) = placeholders(&text, results.len() + rest.len()) {
        let count = results.len() + rest.len();
        let message = format!("`{wrong}` names no operand of {count}");
        let diagnostic = Diagnostic::error(
            codes::WRONG_ARGUMENTS,
            first.expr.span,
            message,
            "in this text",
        );
        let help =
            "`$0` is the first result, the arguments follow behind the results; `$$` is a `$`";
        return Err(ev.report(diagnostic.with_help(help)));
    }
    let mut constraints = Vec::new();
    for elem in &results {
        let span = call.named("result").map_or(call.span, |arg| arg.expr.span);
        match register(*elem) {
            Some(letter) => constraints.push(format!("={letter}")),
            None => return no_register(ev, *elem, span),
        }
    }
    let mut operands = Vec::with_capacity(rest.len());
    for arg in &rest {
        let span = arg.expr.span;
        let value = ev.numbers(&arg.value, span)?;
        let Value::Scalar(scalar) = &value else {
            return ev.expected("a number", &value, span);
        };
        match register(scalar.elem) {
            Some(letter) => constraints.push(letter.to_owned()),
            None => return no_register(ev, scalar.elem, span),
        }
        operands.push(scalar.ir);
    }
    let ir = ev.ir(call.span)?;
    let types: Vec<_> = results.iter().map(|elem| ir.number_type(*elem)).collect();
    let ty = match types.as_slice() {
        [] => None,
        [one] => Some(*one),
        fields => Some(ir.struct_type(fields)),
    };
    let mut attrs = vec![("asm_string", ir.string(&text)), ("asm_dialect", ir.i64(0))];
    if !pure {
        attrs.push(("has_side_effects", ir.unit()));
        constraints.push("~{memory}".to_owned());
    }
    attrs.push(("constraints", ir.string(&constraints.join(","))));
    let types: Vec<_> = ty.into_iter().collect();
    let op = ir.op(LlvmOp::InlineAsm, &operands, &attrs, &types);
    let values: Vec<_> = match results.as_slice() {
        [] => return Ok(Value::Unit),
        [elem] => vec![number_or_vector(result_of(op, 0), *elem, None)],
        results => (0..results.len())
            .map(|at| {
                let position = [("position", ir.i64_array(&[at as i64]))];
                let part = ir.ty(results[at].value_type());
                let whole = [result_of(op, 0)];
                let value = ir.value(LlvmOp::Extractvalue, &whole, &position, part);
                number_or_vector(value, results[at], None)
            })
            .collect(),
    };
    match is_tuple {
        true => Ok(Value::Tuple(values)),
        false => values.into_iter().next().ok_or(Stop::Reported),
    }
}

/// Checks that every `$` of a text is `$$` or names one of `count` operands.
fn placeholders(text: &str, count: usize) -> std::result::Result<(), String> {
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let body = &rest[at + 1..];
        let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let known = body[..digits].parse::<usize>().is_ok_and(|at| at < count);
        if !known && !body.starts_with('$') {
            let end = digits.max(body.chars().next().map_or(0, char::len_utf8));
            return Err(format!("${}", &body[..end]));
        }
        rest = &body[digits.max(1).min(body.len())..];
    }
    Ok(())
}

/// The letter of a register for a type.
fn register(elem: Elem) -> Option<&'static str> {
    Some(match elem {
        Elem::I1 => "b",
        Elem::I16 | Elem::F16 | Elem::BF16 => "h",
        Elem::I32 | Elem::U32 => "r",
        Elem::I64 | Elem::U64 => "l",
        Elem::F32 | Elem::TF32 => "f",
        Elem::F64 => "d",
        _ => return None,
    })
}

fn no_register<T>(ev: &mut Evaluator<'_, '_>, elem: Elem, span: crate::source::Span) -> Result<T> {
    let name = elem_name(elem);
    let message = format!("PTX has no registers of {name}");
    let diagnostic = Diagnostic::error(codes::WRONG_TYPE, span, message, "8 bits are too few");
    Err(ev.report(diagnostic.with_help("convert to i16 or i32")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_say_what_they_take() {
        let takes = |format| conversions(format).map(|found| found.len());
        assert_eq!(takes("x[%d] = %8.3f %% %lld\n"), Ok(3));
        assert_eq!(takes("plain"), Ok(0));
        for wrong in ["%s", "%lf", "%", "%5", "%ö", "%l"] {
            assert!(takes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn placeholders_name_operands() {
        assert!(placeholders("add.s32 $0, $1, $2;", 3).is_ok());
        assert!(placeholders("$$L$1: bra $$L$1;", 2).is_ok());
        for wrong in ["$3", "$x", "$", "${0}", "$99999999999999999999"] {
            assert!(placeholders(wrong, 3).is_err(), "{wrong}");
        }
    }
}
