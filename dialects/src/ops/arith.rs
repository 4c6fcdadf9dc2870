//! Operations of the `arith` dialect, of numbers or of vectors of them.
use super::{ArithOp, accessors};

accessors! {
    /// An operation of two integers.
    Binary is ArithOp::Addi | ArithOp::Subi | ArithOp::Muli | ArithOp::Divsi | ArithOp::Divui | ArithOp::Ceildivsi
        | ArithOp::Ceildivui | ArithOp::Floordivsi | ArithOp::Remsi | ArithOp::Remui | ArithOp::Minsi | ArithOp::Minui
        | ArithOp::Maxsi | ArithOp::Maxui | ArithOp::Andi | ArithOp::Ori | ArithOp::Xori | ArithOp::Shli
        | ArithOp::Shrsi | ArithOp::Shrui, 2 operands {
        operand lhs 0; operand rhs 1;
    }
    /// A comparison of two integers.
    Cmpi is ArithOp::Cmpi, 2 operands {
        operand lhs 0; operand rhs 1;
        attribute predicate;
    }
    /// One of two values.
    Select is ArithOp::Select, 3 operands {
        operand condition 0; operand on_true 1; operand on_false 2;
    }
    /// The same integer in another type.
    IntegerCast is ArithOp::Extsi | ArithOp::Extui | ArithOp::Trunci | ArithOp::IndexCast | ArithOp::IndexCastui, 1 operand {
        operand input 0;
    }
    /// An integer as a floating-point number.
    IntegerToFloat is ArithOp::Sitofp | ArithOp::Uitofp, 1 operand { operand input 0; }
}
