//! Conversions that say how they round, or that saturate: `f16(x, round = zero)`,
//! `i8(x, saturate = true)`.
//!
//! Each is one `cvt` (PTX ISA, "cvt"); LLVM has no name for most of them, so they are inline assembly.

use super::arith::number_or_vector;
use super::builtins::{self, Builtin, Kind, Lowering, arg, named};
use super::call::Call;
use super::values::{Value, elem_name};
use super::{Evaluator, Result, Stop};
use crate::diagnostics::{Diagnostic, codes};
use crate::source::Span;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ArithOp;

/// Names of roundings.
const WORDS: [&str; 4] = ["nearest", "zero", "up", "down"];

/// A conversion: the name of a type, called.
pub(super) const CONVERSION: &Builtin = &Builtin::new(
    "type",
    // Reached through the type's name.
    Lowering::Call(|_, _| Err(Stop::Reported)),
    "The number in this type, rounded to the nearest, to an integer towards zero, or as `round` says; with `saturate` an integer takes what fits.",
)
.takes(&[
    arg("x", Kind::Number),
    named("round", Kind::Word(&WORDS), "…"),
    named("saturate", Kind::Bool, "false"),
]);

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `type(value, round = …, saturate = …)`.
    pub(super) fn conversion(&mut self, to: Elem, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
        builtins::check(self, CONVERSION, call)?;
        self.has_values(to, call.span)?;
        let Some(arg) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        if let Value::Tile(tile) = &arg.value {
            return match tile.elem == to && call.args.len() == 1 {
                true => Ok(arg.value.clone()),
                false => self.map_call(call, |this, call| this.conversion(to, call)),
            };
        }
        let round = match call.named("round") {
            None => None,
            Some(arg) => match &arg.value {
                Value::Str(word) if WORDS.contains(&&**word) => Some(word.clone()),
                other => {
                    let what = "`nearest`, `zero`, `up` or `down`";
                    return self.expected(what, &other.clone(), arg.expr.span);
                }
            },
        };
        let saturate = match call.named("saturate") {
            None => false,
            Some(arg) => match &arg.value {
                Value::Bool(flag) => *flag,
                other => return self.expected("`true` or `false`", &other.clone(), arg.expr.span),
            },
        };
        if round.is_none() && !saturate {
            return self.convert(to, &arg.value, arg.expr.span);
        }
        let value = match self.operand(&arg.value, arg.expr.span)? {
            known @ (Value::Int(_) | Value::Large(_) | Value::Float(_) | Value::Typed(..)) => {
                let elem = match known {
                    Value::Int(_) => Elem::I64,
                    Value::Large(_) => Elem::U64,
                    Value::Typed(_, elem) => elem,
                    _ => Elem::F64,
                };
                let number = self.number(&known, elem, arg.expr.span)?;
                number_or_vector(number, elem, None)
            }
            other => other,
        };
        let from = match &value {
            Value::Scalar(scalar) => scalar.elem,
            Value::Vector(vector) => vector.elem,
            other => return self.expected("a number or a view to convert", other, arg.expr.span),
        };
        if round.is_none() && holds_all(to, from) {
            return self.convert(to, &value, arg.expr.span);
        }
        // Exact, and what bf16 has no `cvt` for.
        if from == Elem::BF16 {
            let wide = self.convert(Elem::F32, &value, arg.expr.span)?;
            return self.rounded(to, Elem::F32, &wide, round.as_deref(), saturate, call.span);
        }
        self.rounded(to, from, &value, round.as_deref(), saturate, call.span)
    }

    fn rounded(
        &mut self,
        to: Elem,
        from: Elem,
        value: &Value<'c, 'a>,
        round: Option<&str>,
        saturate: bool,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        let Some(instruction) = instruction(to, from, round, saturate) else {
            let how = match (round, saturate) {
                (Some(round), true) => format!("round = {round} and saturate"),
                (Some(round), false) => format!("round = {round}"),
                _ => "saturate".to_owned(),
            };
            let (from, name) = (elem_name(from), elem_name(to));
            let message = format!("no instruction converts {from} to {name} with {how}");
            let diagnostic = Diagnostic::error(
                codes::ILLEGAL_OPERATION,
                span,
                message,
                "not on this machine",
            );
            let help = match to.is_float() {
                true => "to f16 and f32 there is every rounding, to bf16 `nearest` and `zero`",
                false => "integers saturate; floating numbers become integers with every rounding",
            };
            return Err(self.report(diagnostic.with_help(help)));
        };
        self.each_number(value, to, span, &mut |this, number| {
            this.assembly(&instruction, number, to, from, span)
        })
    }

    /// `cvt` as inline assembly; registers have at least 16 bits.
    fn assembly(
        &mut self,
        instruction: &str,
        number: IrValue<'c>,
        to: Elem,
        from: Elem,
        span: Span,
    ) -> Result<IrValue<'c>> {
        let ir = self.ir(span)?;
        let number = match from {
            Elem::I8 => ir.value(ArithOp::Extsi, &[number], &[], ir.ty("i16")),
            Elem::U8 => ir.value(ArithOp::Extui, &[number], &[], ir.ty("i16")),
            _ => number,
        };
        let (result, source) = (register(to), register(from));
        let ty = match to.bits() {
            8 => ir.ty("i16"),
            _ => ir.number_type(to),
        };
        let text = format!("{instruction} $0, $1;");
        let result = ir.assembly(&text, &format!("={result},{source}"), &[number], ty);
        Ok(match to {
            Elem::I8 | Elem::U8 => ir.value(ArithOp::Trunci, &[result], &[], ir.ty("i8")),
            _ => result,
        })
    }
}

/// Whether there is a conversion that rounds and saturates so; what bf16 has none for goes through f32.
pub(crate) fn converts(to: Elem, from: Elem, round: Option<&str>, saturate: bool) -> bool {
    let from = if from == Elem::BF16 { Elem::F32 } else { from };
    round.is_none() && holds_all(to, from) || instruction(to, from, round, saturate).is_some()
}

/// Whether both are integers, and one has every number of the other: then there is nothing to saturate, and PTX allows no
/// `.sat` (PTX ISA, "cvt").
fn holds_all(to: Elem, from: Elem) -> bool {
    match (is_signed(to), is_signed(from)) {
        (Some(to_signed), Some(from_signed)) if to_signed == from_signed => {
            to.bits() >= from.bits()
        }
        (Some(true), Some(false)) => to.bits() > from.bits(),
        _ => false,
    }
}

/// Whether an integer type has a sign; nothing for other types.
fn is_signed(elem: Elem) -> Option<bool> {
    match elem {
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => Some(true),
        Elem::U8 | Elem::U32 | Elem::U64 => Some(false),
        _ => None,
    }
}

/// The instruction, if there is one.
fn instruction(to: Elem, from: Elem, round: Option<&str>, saturate: bool) -> Option<String> {
    let name = |elem: Elem| match elem {
        Elem::I8 => Some("s8"),
        Elem::U8 => Some("u8"),
        Elem::I16 => Some("s16"),
        Elem::I32 => Some("s32"),
        Elem::U32 => Some("u32"),
        Elem::I64 => Some("s64"),
        Elem::U64 => Some("u64"),
        Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64 => Some(elem.name()),
        _ => None,
    };
    let (to_name, from_name) = (name(to)?, name(from)?);
    let float = match round {
        None | Some("nearest") => "rn",
        Some("zero") => "rz",
        Some("up") => "rp",
        _ => "rm",
    };
    let modifiers = match (from.is_float(), to.is_float()) {
        (true, true) => {
            let narrows = to.bits() < from.bits();
            let there = to != Elem::BF16 || from == Elem::F32 && matches!(float, "rn" | "rz");
            (narrows && there && !saturate).then(|| float.to_owned())?
        }
        (false, true) => (to != Elem::BF16 && !saturate).then(|| float.to_owned())?,
        // The result is clamped to the range of its type in any case.
        (true, false) => format!("{}i", if round.is_none() { "rz" } else { float }),
        (false, false) => (round.is_none() && !holds_all(to, from)).then(|| "sat".to_owned())?,
    };
    Some(format!("cvt.{modifiers}.{to_name}.{from_name}"))
}

/// The letter of inline assembly for a register of a type.
fn register(elem: Elem) -> &'static str {
    match elem {
        Elem::F32 => "f",
        Elem::F64 => "d",
        Elem::I64 | Elem::U64 => "l",
        Elem::I32 | Elem::U32 => "r",
        _ => "h",
    }
}
