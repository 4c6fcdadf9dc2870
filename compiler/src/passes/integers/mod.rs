//! Analyses of the integers of a kernel: what is known of a number before it is computed.
//!
//! | analysis | answers | with |
//! |---|---|---|
//! | [`range::Ranges`] | between which numbers does it lie? | an interval of `i64` |
//! | [`Emitter::integer`](super::emit::Emitter::integer) | what is it, given that it is not negative? | an expression ([`cutec_layout::Int`]) |
//! | [`Emitter::signed_integer`](super::emit::Emitter::signed_integer) | what is it, and can it be negative? | an expression |
//!
//! A pass that decides something (may this overflow, is this bound needed) asks for the range: it takes only the IR, and
//! never assumes anything. A lowering that computes addresses needs an expression, which keeps divisors and gives the
//! sums that were there back as they were. Which of the two follows from the operand: a coordinate, an extent or a
//! stride is not negative by the meaning of its operation, even where its definition does not show it, and expressions
//! of it may be divided and compared as such; an offset (`cute.domain_offset`) may be negative, and is known not to
//! be only where its definition shows that. One domain would serve neither: an interval has no divisor and no terms,
//! and an expression whose parts have no bound says nothing of the sum.
//!
//! They share how an integer is defined, [`Definition`], and the arithmetic on expressions, [`combine`]. A new
//! operation on integers is added to `Definition`, and then to each analysis that knows something of it; to the others
//! it is any number.
mod non_negative;
pub(super) mod range;
mod signed;

use super::ir_utils::defining_op;
use cutec_dialects::builder::{IrOp, IrValue, integer_value};
use cutec_dialects::memo::type_text;
use cutec_dialects::ops::{ArithOp, GpuOp, NvvmOp, Op, arith, scf};
use cutec_layout::{Int, Width};
use melior::ir::{OperationRef, ValueLike, operation::OperationLike};

/// How an SSA integer is defined.
pub(super) enum Definition<'c> {
    /// A constant.
    Constant(i64),
    /// The number of a thread or a block, or how many there are; the operation may have a `range`.
    Index(NvvmOp, IrOp<'c>),
    /// An operation of two integers.
    Binary(ArithOp, IrValue<'c>, IrValue<'c>),
    /// One of two integers.
    Either(IrValue<'c>, IrValue<'c>),
    /// The same integer in another type.
    Cast(ArithOp, IrValue<'c>),
    /// The counter of a loop.
    Counter(scf::For<'c>),
    /// A parameter of the kernel.
    Parameter,
    /// Something else that an operation gives.
    Result(IrOp<'c>),
    /// Another argument of a block.
    Argument,
}

impl<'c> Definition<'c> {
    /// That of a value.
    pub fn of(value: IrValue<'c>) -> Self {
        match defining_op(value) {
            Some(op) => Definition::of_result(op),
            None => Definition::of_argument(value),
        }
    }

    fn of_result(op: IrOp<'c>) -> Self {
        let known = match Op::of(op) {
            Some(Op::NvvmOp(register)) if register.is_index() => {
                Some(Definition::Index(register, op))
            }
            Some(Op::ArithOp(ArithOp::Constant)) => {
                let number = op.attribute("value").ok().and_then(integer_value);
                number.map(Definition::Constant)
            }
            Some(Op::ArithOp(kind)) => {
                let binary = arith::Binary::of(op)
                    .map(|binary| Definition::Binary(kind, binary.lhs(), binary.rhs()));
                let select = || {
                    arith::Select::of(op)
                        .map(|select| Definition::Either(select.on_true(), select.on_false()))
                };
                let cast =
                    || arith::IntegerCast::of(op).map(|cast| Definition::Cast(kind, cast.input()));
                binary.or_else(select).or_else(cast)
            }
            _ => None,
        };
        known.unwrap_or(Definition::Result(op))
    }

    fn of_argument(value: IrValue<'c>) -> Self {
        // SAFETY: a block argument's owner is its block, and the block has a parent operation.
        let (parent, index): (IrOp<'c>, _) = unsafe {
            let block = mlir_sys::mlirBlockArgumentGetOwner(value.to_raw());
            let parent = OperationRef::from_raw(mlir_sys::mlirBlockGetParentOperation(block));
            let index = mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw());
            (parent, index)
        };
        match (scf::For::of(parent), index) {
            (Some(counted), 0) => Definition::Counter(counted),
            _ if GpuOp::Func.is(parent) => Definition::Parameter,
            _ => Definition::Argument,
        }
    }
}

/// The expression of an operation of two integers that are expressions; `None` where there is none. Divisions are those
/// of dividends that are not negative, by positive constants.
pub(super) fn combine(kind: ArithOp, a: &Int, b: &Int) -> Option<Int> {
    let divides = || a.lower() >= 0 && b.as_static().is_some_and(|b| b > 0);
    match kind {
        ArithOp::Addi => Some(a.add(b)),
        ArithOp::Subi => Some(a.sub(b)),
        ArithOp::Muli => Some(a.mul(b)),
        ArithOp::Divui | ArithOp::Divsi if divides() => Some(a.floor_div(b)),
        ArithOp::Remui | ArithOp::Remsi if divides() => Some(a.modulo(b)),
        _ => None,
    }
}

/// The width of an SSA integer.
pub(super) fn width_of(value: IrValue) -> Width {
    if &*type_text(value.r#type()) == "i64" {
        Width::I64
    } else {
        Width::I32
    }
}
