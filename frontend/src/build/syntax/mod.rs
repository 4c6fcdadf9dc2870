//! Everything that the language has, by calls: what a [`Body`](super::Body) has no method for, kernels of threads, functions,
//! records, tests.
//!
//! ```
//! use cutec_frontend::build::syntax::{Block, Expr, File, Function, Kernel, Param, Type};
//!
//! // y = max(x, 0), a thread for each element
//! let at = Expr::name("block_idx").field("x") * 256 + Expr::name("thread_idx").field("x");
//! let mut body = Block::new();
//! body.bind("i", at);
//! let mut inside = Block::new();
//! inside.assign(Expr::name("y").index(["i"]), Expr::name("x").index(["i"]).call_named("max", [0.0]));
//! body.branch(Expr::name("i").less("n"), inside, None);
//!
//! let elements = |mutable| Type::tensor("f32", "n").mutable(mutable);
//! let relu = Kernel::new("relu", body)
//!     .param(Param::new("x", elements(false)))
//!     .param(Param::new("y", elements(true)))
//!     .launch("grid", [Expr::name("ceil_div").call(["n".into(), Expr::int(256)])])
//!     .launch("block", [256]);
//! let mut file = File::new("relu");
//! file.add(relu);
//! let module = file.finish()?;
//! assert!(module.listing().contains("y[i] = max(x[i], 0.0);"), "{}", module.listing());
//! # Ok::<(), cutec_frontend::build::BuildError>(())
//! ```
//!
//! There is a node here for each form of the grammar, and names, types and levels are checked where a written text is checked:
//! when it is compiled, with messages at the places that [`Block::at`] gave. What cannot be read back as the tree that was
//! built (a name with a space) is refused by [`File::finish`].
//!
//! Reading order: [`expr`], [`block`] (statements), [`items`].

pub mod block;
pub mod expr;
pub mod items;

#[cfg(test)]
mod tests;

pub use crate::ast::{BinaryOp, UnaryOp};
pub use block::{Block, For, Pattern, Role};
pub use expr::{Arg, Expr};
pub use items::{
    Constant, File, Function, Import, Item, Kernel, Param, Record, StaticParam, Test, Type,
};
