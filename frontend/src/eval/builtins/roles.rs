//! What the warps of a block need to do different work: one thread of a warp, registers of a warpgroup, values that a
//! warp has in common, and the order of kernels.

use super::builtin::{Builtin, Kind, Level, LowerCall, Lowering, Parameter, arg};
use super::warp::{Shuffle, WARP, shuffled};
use crate::diagnostics::codes;
use crate::eval::arith::number_or_vector;
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::target::{Feature, WARPGROUP};

const REGISTERS: &[Parameter] = &[arg("registers", Kind::Integer)];

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads("elect", elect, "Whether this is the one thread of the warp that is chosen, always the same. All 32 come to it."),
    of_threads("warp_uniform", warp_uniform, "x of the warp's first lane, where all have the same: a number that the machine may keep once for the warp.")
        .takes(&[arg("x", Kind::Integer)]),
    of_threads("warpgroup_reg_alloc", |ev, call| registers(ev, call, true), "Raises the registers of each thread of the warpgroup to so many, 24 to 256 in steps of 8, once others have given them back. All warps of the warpgroup come to it.")
        .generic(REGISTERS),
    of_threads("warpgroup_reg_dealloc", |ev, call| registers(ev, call, false), "Lowers the registers of each thread of the warpgroup to so many.")
        .generic(REGISTERS),
];

fn elect<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Tma, "elect", call.span)?;
    whole(ev, call, WARP, "warps of 32")?;
    let ir = ev.ir(call.span)?;
    let elected = ir.value(NvvmOp::ElectSync, &[], &[], ir.ty("i1"));
    Ok(number_or_vector(elected, Elem::I1, None))
}

fn warp_uniform<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    let Some(x) = call.arg(0) else {
        return Err(Stop::Reported);
    };
    whole(ev, call, WARP, "warps of 32")?;
    match &x.value {
        Value::Int(_) => Ok(x.value.clone()),
        Value::Scalar(scalar) if matches!(scalar.elem, Elem::I32 | Elem::I64) => {
            of_first_lane(ev, &x.value, call.span)
        }
        other => ev.expected("an integer", &other.clone(), x.expr.span),
    }
}

/// An integer of the warp's first lane.
pub(in crate::eval) fn of_first_lane<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    value: &Value<'c, 'a>,
    span: Span,
) -> Result<Value<'c, 'a>> {
    let first = ev.ir(span)?.constant(0, "i32");
    let uniform = shuffled(ev, Shuffle::Index, value, first, WARP, span)?;
    // What divides the number divides it in every lane.
    Ok(match (uniform, value) {
        (Value::Scalar(mut uniform), Value::Scalar(scalar)) => {
            uniform.div = scalar.div;
            Value::Scalar(uniform)
        }
        (other, _) => other,
    })
}

/// `setmaxnreg` (PTX ISA).
fn registers<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    raises: bool,
) -> Result<Value<'c, 'a>> {
    let name = call.name.clone();
    ev.needs(Feature::Setmaxnreg, &name, call.span)?;
    whole(ev, call, WARPGROUP, "warpgroups of 128")?;
    let Some(count) = call.generics.first() else {
        return Err(Stop::Reported);
    };
    let count = match &count.value {
        Value::Int(number) => checked_registers(ev, *number, count.expr.span)?,
        other => return ev.expected("a number of registers", &other.clone(), count.expr.span),
    };
    set_registers(ev, count, raises, call.span)?;
    Ok(Value::Unit)
}

/// A number of registers that `setmaxnreg` can give a thread.
pub(in crate::eval) fn checked_registers(
    ev: &mut Evaluator<'_, '_>,
    count: i64,
    span: Span,
) -> Result<i64> {
    if (24..=256).contains(&count) && count % 8 == 0 {
        return Ok(count);
    }
    let message = format!("a thread cannot have {count} registers");
    let label = "expected 24 to 256, a multiple of 8";
    ev.error(codes::ILLEGAL_OPERATION, span, message, label)
}

/// Gives each thread of the warpgroup so many registers, more than it has or fewer.
pub(in crate::eval) fn set_registers(
    ev: &mut Evaluator<'_, '_>,
    count: i64,
    raises: bool,
    span: Span,
) -> Result<()> {
    let ir = ev.ir(span)?;
    let action = match raises {
        true => ir.attr("#nvvm<action increase>"),
        false => ir.attr("#nvvm<action decrease>"),
    };
    let attrs = [("action", action), ("regCount", ir.i32(count as i32))];
    ir.op(NvvmOp::Setmaxregister, &[], &attrs, &[]);
    Ok(())
}

/// Refuses a block that does not consist of whole groups of so many threads.
fn whole<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    group: i64,
    what: &str,
) -> Result<()> {
    let threads: i64 = ev.threads_of_block();
    if threads % group == 0 {
        return Ok(());
    }
    let message = format!(
        "`{}` needs a block of {what} threads, not of {threads} threads",
        call.name
    );
    ev.error(codes::ILLEGAL_OPERATION, call.span, message, "here")
}
