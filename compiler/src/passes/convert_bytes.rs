//! `convert-bytes`: integers of one byte become floating numbers by arithmetic.
//!
//! Before: `arith.sitofp` and `arith.uitofp` of i8, or of vectors of it, to f16, bf16 and f32. After: the byte is
//! put into the mantissa of a power of two that is large enough, and that subtracted, which is exact. The
//! instruction for it gives a quarter of a warp its numbers in a cycle (CUDA C++ Programming Guide, "Arithmetic
//! Instructions": conversions from and to 8-bit integers), the arithmetic all of it, and of f16 twice as many.
use super::Reported;
use super::ir_utils::{
    Kernel, collect_nested, erase, for_each_kernel, replace_all_uses, vector_elements,
};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, result_of};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, arith};
use melior::Context;
use melior::ir::{Type, ValueLike, operation::OperationLike};

/// A floating type in whose mantissa a byte is put.
struct Form {
    float: &'static str,
    /// The integer of the same width.
    bits: &'static str,
    /// The power of two of which the lowest bit of the mantissa is 1, and its bits.
    power: f64,
    power_bits: i64,
}

const F16: Form = Form {
    float: "f16",
    bits: "i16",
    power: 1024.0,
    power_bits: 0x6400,
};
const F32: Form = Form {
    float: "f32",
    bits: "i32",
    power: 8_388_608.0,
    power_bits: 0x4B00_0000,
};

/// Expands every conversion of bytes in the kernels of the module.
pub fn convert_bytes<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    for_each_kernel(context, module, |kernel| {
        let Kernel {
            context, function, ..
        } = kernel;
        let mut inside = Vec::new();
        collect_nested(function, &mut inside);
        for op in inside {
            let signed = match ArithOp::of(op) {
                Some(ArithOp::Sitofp) => true,
                Some(ArithOp::Uitofp) => false,
                _ => continue,
            };
            if let Some(convert) = arith::IntegerToFloat::of(op) {
                expand(context, op, convert.input(), signed);
            }
        }
        Ok::<_, Reported>(())
    })
}

/// How many elements a vector has, and their type; of a number itself.
fn elements<'c>(ty: Type<'c>) -> (Option<i64>, Type<'c>) {
    vector_elements(ty).map_or((None, ty), |(count, elem)| (Some(count), elem))
}

fn expand<'c>(context: &'c Context, op: IrOp<'c>, bytes: IrValue<'c>, signed: bool) {
    let result = result_of(op, 0);
    // Vectors of so many elements, or numbers.
    let (count, from) = elements(bytes.r#type());
    let (_, to) = elements(result.r#type());
    let form = match &*type_text(to) {
        _ if &*type_text(from) != "i8" => return,
        "f16" => F16,
        "f32" | "bf16" => F32,
        _ => return,
    };
    let mut ir = OpBuilder::new(context, Insertion::Before(op));
    ir.location = op.location();
    let (bit, one) = (ir.ty(form.bits), ir.ty(form.float));
    let ty = |elem| count.map_or(elem, |count| ir.vector_type(count, elem));
    let (bits, float) = (ty(bit), ty(one));
    let constant = |number, ty| match count {
        None => ir.number(number, ty),
        Some(_) => ir.number(ir.splat(ty, number), ty),
    };
    let mut number = ir.value(ArithOp::Extui, &[bytes], &[], bits);
    if signed {
        let sign = constant(ir.integer(128, bit), bits);
        number = ir.value(ArithOp::Xori, &[number, sign], &[], bits);
    }
    let power = constant(ir.integer(form.power_bits, bit), bits);
    let number = ir.value(ArithOp::Ori, &[number, power], &[], bits);
    let number = ir.value(ArithOp::Bitcast, &[number], &[], float);
    // A sign that is turned around is 128 more.
    let more = form.power + if signed { 128.0 } else { 0.0 };
    let more = constant(ir.float(more, one), float);
    let mut number = ir.value(ArithOp::Subf, &[number, more], &[], float);
    if number.r#type() != result.r#type() {
        number = ir.value(ArithOp::Truncf, &[number], &[], result.r#type());
    }
    replace_all_uses(result, number);
    erase(op);
}
