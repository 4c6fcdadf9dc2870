//! Programmatic dependent launch (PTX ISA, "griddepcontrol"): a kernel that begins before the launch ahead of it has ended.

use super::builtin::{Builtin, Level, LowerCall, Lowering};
use crate::eval::call::Call;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::ops::NvvmOp;
use cutec_dialects::target::Feature;

const fn of_threads(name: &'static str, lower: LowerCall, documentation: &'static str) -> Builtin {
    Builtin::new(name, Lowering::Call(lower), documentation).at(Level::Threads)
}

pub(super) const TABLE: &[Builtin] = &[
    of_threads(
        "griddepcontrol_wait",
        wait,
        "Waits until the launches ahead of this one have ended and what they wrote is visible. Returns at once where the launch does not say `pdl()`.",
    ),
    of_threads(
        "griddepcontrol_launch",
        |ev, call| control(ev, call, "#nvvm<grid_dep_action launch_dependents>"),
        "Lets the next launch begin, if that says `pdl()`, once all blocks have come here or ended. It orders no memory.",
    ),
];

fn wait<'c, 'a>(ev: &mut Evaluator<'c, 'a>, call: &Call<'c, 'a>) -> Result<Value<'c, 'a>> {
    ev.waits_for_launch = true;
    control(ev, call, "#nvvm<grid_dep_action wait>")
}

fn control<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    call: &Call<'c, 'a>,
    action: &'static str,
) -> Result<Value<'c, 'a>> {
    ev.needs(Feature::Pdl, &call.name.clone(), call.span)?;
    let ir = ev.ir(call.span)?;
    let kind = [("kind", ir.attr(action))];
    ir.op(NvvmOp::Griddepcontrol, &[], &kind, &[]);
    Ok(Value::Unit)
}
