//! Kernels by calls, without text: at tile level by typed calls, and everything that the language has by [`syntax`].
//!
//! ```
//! use cutec_frontend::build::{DType, Extent, Loop, Signature};
//!
//! /// c = a · bᵀ
//! let mut gemm = Signature::new("gemm")?;
//! let a = gemm.tensor("a", DType::BF16, ["m", "k"])?;
//! let b = gemm.tensor("b", DType::BF16, ["n", "k"])?;
//! let c = gemm.tensor_mut("c", DType::BF16, ["m", "n"])?;
//! gemm.raster(8)?;
//! let mut body = gemm.tiles([Extent::name("m").tiles(128), Extent::name("n").tiles(128)])?;
//!
//! let (i, j, k) = (body.tile_index(0)?, body.tile_index(1)?, body.extent("k")?);
//! let zeros = body.zeros(DType::F32, [128, 128])?;
//! let [sums] = body.repeat(Loop::tiles(&k, 64).pipeline(3), [zeros], |body, t, [sums]| {
//!     let x = body.load(&a, [128, 64], [&i, t])?;
//!     let y = body.load(&b, [128, 64], [&j, t])?;
//!     Ok([body.dot_onto(&sums, &x, &y)?])
//! })?;
//! let sums = body.convert(DType::BF16, &sums)?;
//! body.store(&c, [128, 128], [&i, &j], &sums)?;
//! let kernel = body.finish()?;
//!
//! // The same kernel as text, which is what errors and profiles show lines of.
//! assert!(kernel.listing().contains("pipeline(3) for"));
//! # Ok::<(), cutec_frontend::build::BuildError>(())
//! ```
//!
//! Names are those of the language (`docs/language.md`, "Tile level"), and so is the meaning: a kernel that
//! is built is a syntax tree, which [`crate::emit_module`] turns into IR as it does with one that was written. Each
//! call checks element types, shapes and scopes by the rules of the evaluator (`rules.rs`), and an error says what was
//! expected, what was found, and which line of the host program it comes from.
//!
//! Reading order: [`signature`] (parameters, promises, launch), [`value`] (what calls take and give), `kind` (tiles, numbers, literals),
//! [`body`] (what is open and bound), `memory` (tiles of tensors and of constants), `elements` (functions of elements), `shapes` (tiles of other shapes),
//! `product`, `loops`, [`syntax`] (what has no method), `position` (texts of the host), [`error`], `tree` (nodes of the tree),
//! `module` (what was built).
//!
//! Invariants: nothing here panics; a [`Module`] is plain data, good for any number of compilations on any thread.

pub mod body;
mod elements;
pub mod error;
mod kind;
mod loops;
mod memory;
mod module;
mod position;
mod product;
mod shapes;
pub mod signature;
pub mod syntax;
mod tree;
pub mod value;

pub use body::Body;
pub use cutec_abi::DType;
pub use cutec_dialects::tile::Precision;
pub use elements::Round;
pub use error::{BuildError, Problem};
pub use kind::{Kind, Literal};
pub use loops::{Carried, Loop};
pub use memory::{At, Load};
pub use module::Module;
pub use position::{Position, SourceText};
pub use product::Mma;
pub use shapes::Reduction;
pub use signature::{Extent, Signature, Tensor};
pub use value::Value;

#[cfg(test)]
mod tests;
