//! Functions of the bits of integers.

use super::builtin::{Builtin, Kind, Lowering, arg};
use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::{Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::LlvmOp;

/// A function of the bits of an integer (PTX ISA, "Integer Arithmetic Instructions": `popc`, `clz`, `brev`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BitFunction {
    Ones,
    LeadingZeros,
    TrailingZeros,
    Reverse,
}

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new(
        "popcount",
        Lowering::Elementwise(|ev, call| bit_function(ev, BitFunction::Ones, call)),
        "How many bits of an integer are 1, as i32.",
    )
    .takes(&[arg("x", Kind::Number)]),
    Builtin::new(
        "leading_zeros",
        Lowering::Elementwise(|ev, call| bit_function(ev, BitFunction::LeadingZeros, call)),
        "How many bits of an integer above its highest 1 are 0, as i32: all of them where it is 0.",
    )
    .takes(&[arg("x", Kind::Number)]),
    Builtin::new(
        "trailing_zeros",
        Lowering::Elementwise(|ev, call| bit_function(ev, BitFunction::TrailingZeros, call)),
        "How many bits of an integer below its lowest 1 are 0, as i32: all of them where it is 0.",
    )
    .takes(&[arg("x", Kind::Number)]),
    Builtin::new(
        "reverse_bits",
        Lowering::Elementwise(|ev, call| bit_function(ev, BitFunction::Reverse, call)),
        "The bits of an integer from the last to the first.",
    )
    .takes(&[arg("x", Kind::Number)]),
];

impl BitFunction {
    /// Of the lowest `width` bits.
    fn evaluate(self, bits: u64, width: u32) -> u64 {
        let above = 64 - width;
        match self {
            BitFunction::Ones => u64::from(bits.count_ones()),
            BitFunction::LeadingZeros => u64::from(bits.leading_zeros() - above),
            BitFunction::TrailingZeros => u64::from(bits.trailing_zeros().min(width)),
            BitFunction::Reverse => bits.reverse_bits() >> above,
        }
    }
}

fn bit_function<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    function: BitFunction,
    call: &Call<'c, 'a>,
) -> Result<Value<'c, 'a>> {
    let [x] = call.args.as_slice() else {
        return Err(Stop::Reported);
    };
    let value = ev.operand(&x.value, x.expr.span)?;
    // A number without a type is what it would be at run time.
    let known = match &value {
        Value::Int(value) if i32::try_from(*value).is_ok() => Some((*value, Elem::I32)),
        Value::Int(value) => Some((*value, Elem::I64)),
        Value::Typed(value, elem) if !elem.is_float() => Some((*value as i64, *elem)),
        Value::Large(value) => Some((*value as i64, Elem::U64)),
        _ => None,
    };
    let elem = match (&known, &value) {
        (Some((_, elem)), _) => *elem,
        (None, Value::Scalar(scalar)) => scalar.elem,
        (None, Value::Vector(vector)) => vector.elem,
        _ => return ev.expected("an integer", &value, x.expr.span),
    };
    if elem.is_float() || elem.bits() < 8 {
        let (name, of) = (&call.name, elem_name(elem));
        let message = format!("`{name}` is not defined for {of}");
        let label = "expected an integer of 8 to 64 bits";
        return ev.error(codes::WRONG_TYPE, x.expr.span, message, label);
    }
    if let Some((known, elem)) = known {
        let (width, unused) = (elem.bits() as u32, 64 - elem.bits() as u32);
        let found = function.evaluate((known as u64) << unused >> unused, width);
        if function != BitFunction::Reverse {
            return Ok(Value::Int(found as i64));
        }
        let signed = (found << unused) as i64 >> unused;
        let found = if elem.is_unsigned() {
            found as i64
        } else {
            signed
        };
        return Ok(match &value {
            Value::Typed(..) => Value::Typed(found as f64, elem),
            _ if elem == Elem::U64 && found < 0 => Value::Large(found as u64),
            _ => Value::Int(found),
        });
    }
    let (ir, len) = match &value {
        Value::Scalar(scalar) => (scalar.ir, None),
        Value::Vector(vector) => (vector.ir, Some(vector.len)),
        _ => return Err(Stop::Reported),
    };
    let builder = ev.ir(call.span)?;
    // Zero has as many zeros as bits.
    let of_zero = [("is_zero_poison", builder.bool(false))];
    let (op, attributes) = match function {
        BitFunction::Ones => (LlvmOp::IntrCtpop, &[][..]),
        BitFunction::LeadingZeros => (LlvmOp::IntrCtlz, &of_zero[..]),
        BitFunction::TrailingZeros => (LlvmOp::IntrCttz, &of_zero[..]),
        BitFunction::Reverse => (LlvmOp::IntrBitreverse, &[][..]),
    };
    let result = builder.value(op, &[ir], attributes, builder.numbers_type(elem, len));
    let result = number_or_vector(result, elem, len);
    match function {
        BitFunction::Reverse => Ok(result),
        _ => ev.convert(Elem::I32, &result, call.span),
    }
}

#[cfg(test)]
mod tests {
    use super::BitFunction;

    #[test]
    fn bits_of_each_width_are_as_rust_counts_them() {
        for x in [
            0_u64,
            1,
            2,
            0x80,
            0x8000_0001,
            0xffff_ffff,
            0x1234_5678_9abc_def0,
            u64::MAX,
        ] {
            let (word, byte) = (x as u32, x as u8);
            let of = |function: BitFunction| {
                [(u64::from(byte), 8), (u64::from(word), 32), (x, 64)]
                    .map(|(bits, width)| function.evaluate(bits, width))
            };
            let counts = |byte: u32, word: u32, all: u32| [byte, word, all].map(u64::from);
            assert_eq!(
                of(BitFunction::Ones),
                counts(byte.count_ones(), word.count_ones(), x.count_ones())
            );
            assert_eq!(
                of(BitFunction::LeadingZeros),
                counts(
                    byte.leading_zeros(),
                    word.leading_zeros(),
                    x.leading_zeros()
                )
            );
            assert_eq!(
                of(BitFunction::TrailingZeros),
                counts(
                    byte.trailing_zeros(),
                    word.trailing_zeros(),
                    x.trailing_zeros()
                )
            );
            let reversed = [
                byte.reverse_bits().into(),
                word.reverse_bits().into(),
                x.reverse_bits(),
            ];
            assert_eq!(of(BitFunction::Reverse), reversed);
        }
    }
}
