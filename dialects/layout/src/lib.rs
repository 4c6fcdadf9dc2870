//! CuTe's layout algebra: shapes, strides, layouts, swizzles and the operations on them, and the
//! thread-value layouts of tiled copies and matrix multiplications.
//!
//! Plain values and functions; no MLIR, no I/O. Every integer may be static or known only at run
//! time ([`Int`]); the same operations work on both, and where a run-time value leaves a result
//! undecided, the operation says so instead of guessing ([`assuming`]).
//!
//! Modules in reading order:
//! - [`Tree`], [`Int`], [`Sym`]: nested tuples of static and run-time integers.
//! - [`Layout`], [`Swizzle`], [`ComposedLayout`], [`AnyLayout`], [`Tiler`]: the values.
//! - [`algebra`]: the operations.
//! - [`tv`]: tiled copies and tiled MMAs.
//! - [`text`]: reading layouts as CuTe IR writes them; `Display` writes them.
//! - [`expr`]: the expression language of `cutec layout`.
//! - [`banks`]: bank conflicts of an access to a layout in shared memory.
//! - [`matrix_descriptor`]: layouts in shared memory that a warpgroup MMA can be told of.
//! - [`smem`]: a layout of a tile in shared memory for all accesses to it.
//! - [`tma`]: boxes of tensor maps that a tile in shared memory consists of.
//! - [`draw`]: layouts as text tables and SVG.
//!
//! Invariants: shape and stride of a layout have the same profile; an extent has no basis; no
//! function panics on any value that the public API lets one make.

pub mod algebra;
pub mod banks;
mod composed;
pub mod draw;
mod error;
pub mod expr;
mod int;
mod layout;
pub mod matrix_descriptor;
mod obligation;
pub mod smem;
mod swizzle;
mod sym;
pub mod text;
mod tiler;
pub mod tma;
mod tree;
pub mod tv;

pub use composed::{AnyLayout, ComposedLayout, Outer};
pub use error::LayoutError;
pub use int::{Int, divisor_of_product, gcd};
pub use layout::Layout;
pub use obligation::{Condition, assuming};
pub use swizzle::Swizzle;
pub use sym::{Expr, Sym, SymInfo, Width};
pub use tiler::Tiler;
pub use tree::Tree;

/// A nested tuple of integers: a shape, a stride, an offset.
pub type IntTuple = Tree<Int>;

/// A coordinate; `None` is `_`.
pub type Coord = Tree<Option<Int>>;
