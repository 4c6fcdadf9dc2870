//! What a product takes as its instruction reads it, and something else takes too.
//!
//! It is loaded again for the others, so that they have it spread as it suits them: each element in one thread, say, where a thread of a
//! product by multiply-adds reads whole rows that many others read as well. `tile-stage-operands` reads both from one buffer.
use crate::passes::ir_utils::{clone, set_operand, uses};
use cutec_dialects::builder::{Insertion, IrOp, OpBuilder, result_of};
use cutec_dialects::ops::TileOp;
use melior::Context;

/// Gives all but products a load of their own in place of one that products take.
pub(super) fn load_again<'c>(context: &'c Context, load: IrOp<'c>) {
    let mut others = uses(result_of(load, 0));
    others.retain(|(user, _)| !TileOp::Dot.is(*user));
    if others.is_empty() {
        return;
    }
    let ir = OpBuilder::new(context, Insertion::Before(load));
    let again = result_of(ir.insert(clone(load)), 0);
    for (user, index) in others {
        set_operand(user, index, again);
    }
}
