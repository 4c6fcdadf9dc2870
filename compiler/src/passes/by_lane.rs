//! Which operations of other dialects compute each lane of a vector for itself.

use super::walk::operand_value;
use cutec_dialects::builder::{IrOp, IrValue, result_of, string_value};
use melior::ir::{ValueLike, operation::OperationLike};

/// Intrinsics called by name that LLVM knows of vectors, operands and result of one type.
const OF_VECTORS: [&str; 11] = [
    "llvm.ceil",
    "llvm.copysign",
    "llvm.cos",
    "llvm.exp2",
    "llvm.fabs",
    "llvm.floor",
    "llvm.roundeven",
    "llvm.sin",
    "llvm.sqrt",
    "llvm.tanh",
    "llvm.trunc",
];
/// Intrinsics of one f32. Above LLVM they may be called with vectors, which
/// `convert-cute-to-gpu` takes apart.
const OF_NUMBERS: [&str; 3] = [
    "llvm.nvvm.ex2.approx.ftz.f",
    "llvm.nvvm.lg2.approx.f",
    "llvm.nvvm.rsqrt.approx.f",
];

/// Whether each lane of the result is computed of the same lane of each operand.
pub(super) fn by_lane(op: IrOp, name: &str) -> bool {
    match name {
        "vector.broadcast" | "llvm.intr.fma" | "llvm.intr.abs" => true,
        "llvm.call_intrinsic" => calls(op, &OF_VECTORS) || calls(op, &OF_NUMBERS),
        _ => name.starts_with("arith."),
    }
}

/// Whether it is an intrinsic that has to be called for each lane.
pub(super) fn lane_at_a_time(op: IrOp, name: &str) -> bool {
    name == "llvm.call_intrinsic" && calls(op, &OF_NUMBERS)
}

/// Whether it calls one of these, with operands of the type of its result.
fn calls(op: IrOp, names: &[&str]) -> bool {
    let called = op.attribute("intrin").ok().and_then(string_value);
    let operands = (0..op.operand_count()).map(|index| operand_value(op, index));
    let types = |result: IrValue| {
        let mut types = operands.map(|operand| operand.map(|operand| operand.r#type()));
        op.operand_count() > 0 && types.all(|ty| ty == Some(result.r#type()))
    };
    called.is_some_and(|called| names.contains(&called.as_str()))
        && op.result_count() == 1
        && types(result_of(op, 0))
}
