//! The `cute`, `cute_nvgpu` and `tile` dialects of MLIR, the atoms and the targets.
//!
//! Reading order: `elem`, `hints` and `target` (what a GPU has), `atoms` (the instructions that copy and
//! multiply, one file each), `value` (what an SSA value is),
//! `types` (MLIR's text of it), `memo` (that text read once), `semantics` (what each operation computes),
//! `ops` (their names), `ir` (operations in MLIR), `abi` (the kernel ABI on a function), `signature` (the types of its tensors), `readable` (texts for MLIR's parser),
//! `handles` (values and operations of a context), `builder` (creating them), `ffi` (what C++ asks).
//!
//! `tile` has the types of the `tile` dialect and its rules.
//!
//! The dialects are declared in `cpp/Cute.td` and `cpp/Tile.td`. C++ asks Rust whether a type or
//! an operation is legal and decides nothing itself. No I/O here.
pub mod abi;
pub mod atoms;
pub mod builder;
pub mod elem;
mod ffi;
pub mod handles;
pub mod hints;
pub mod ir;
pub mod legal;
pub mod memo;
pub mod ops;
pub mod printing;
pub mod readable;
pub mod registration;
pub mod semantics;
pub mod signature;
pub mod target;
pub mod tile;
pub mod types;
pub mod value;

pub use ir::context;
