//! Control flow of the `scf` dialect.
use super::{ScfOp, accessors};

accessors! {
    /// A counted loop; its iteration arguments follow the bounds.
    For is ScfOp::For, 3 operands {
        operand lower 0; operand upper 1; operand step 2; operands initial 3 0;
    }
    /// What a region gives.
    Yield is ScfOp::Yield, 0 operands { operands results 0 0; }
}
