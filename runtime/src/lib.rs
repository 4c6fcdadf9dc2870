//! Runs what `cutec` compiles: on a GPU, or on the CPU in a simulator of PTX.
//!
//! This crate links neither MLIR nor LLVM, and it builds and starts without CUDA. It knows a kernel
//! only by its ABI, which the compiler writes into the artifact.
//!
//! Modules in reading order:
//! - [`tensor`]: element types, host tensors, random and poisoned data, `.npy` files.
//! - [`abi`]: what the compiler says about a kernel, how it travels, and how arguments are checked
//!   against it before anything is launched.
//!
//! Invariants: no argument reaches a device unless it was bound against the ABI; nothing that a user
//! passes (files, arguments, artifacts) makes this crate panic.

pub mod abi;
pub mod sim;
pub mod tensor;

pub use abi::{Abi, Arg, BindError, KernelAbi, Launch};
pub use tensor::{DType, Tensor};
