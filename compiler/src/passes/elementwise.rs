//! Elementwise operations of other dialects: which there are, and which must be scalarized.

use cutec_dialects::builder::{IrOp, IrValue, operands_of, result_of, string_value};
use cutec_dialects::ops::{LlvmOp, Op, VectorOp};
use melior::ir::{ValueLike, operation::OperationLike};

/// Overloaded intrinsics: of vectors too, operands and result of one type.
const OVERLOADED: [&str; 11] = [
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
const SCALAR: [&str; 4] = [
    "llvm.nvvm.ex2.approx.ftz.f",
    "llvm.nvvm.lg2.approx.f",
    "llvm.nvvm.rcp.approx.ftz.f",
    "llvm.nvvm.rsqrt.approx.f",
];

/// Whether an operation is elementwise.
pub(super) fn is_elementwise(op: IrOp) -> bool {
    match Op::of(op) {
        Some(Op::ArithOp(_) | Op::VectorOp(VectorOp::Broadcast)) => true,
        Some(Op::LlvmOp(
            LlvmOp::IntrFma
            | LlvmOp::IntrAbs
            | LlvmOp::IntrBitreverse
            | LlvmOp::IntrCtlz
            | LlvmOp::IntrCtpop
            | LlvmOp::IntrCttz,
        )) => true,
        Some(Op::LlvmOp(LlvmOp::CallIntrinsic)) => calls(op, &OVERLOADED) || calls(op, &SCALAR),
        _ => false,
    }
}

/// Whether it calls an intrinsic of scalars only, which must be scalarized.
pub(super) fn is_scalar_intrinsic(op: IrOp) -> bool {
    LlvmOp::CallIntrinsic.is(op) && calls(op, &SCALAR)
}

/// Whether it calls one of these, with operands of the type of its result.
fn calls(op: IrOp, names: &[&str]) -> bool {
    let called = op.attribute("intrin").ok().and_then(string_value);
    let types = |result: IrValue| {
        let mut types = operands_of(op).map(|operand| operand.r#type());
        op.operand_count() > 0 && types.all(|ty| ty == result.r#type())
    };
    called.is_some_and(|called| names.contains(&called.as_str()))
        && op.result_count() == 1
        && types(result_of(op, 0))
}
