//! Runs what `cutec` compiles: on a GPU, or on the CPU in a simulator of PTX.
//!
//! This crate links neither MLIR nor LLVM, and it builds and starts without CUDA. It knows a kernel
//! only by its ABI, which the compiler writes into the artifact.
//!
//! Modules in reading order:
//! - [`tensor`]: element types, host tensors, random and poisoned data, `.npy` files.
//! - [`abi`]: what the compiler says about a kernel, how it travels, and how arguments are checked
//!   against it before anything is launched.
//! - [`artifact`]: PTX or a cubin, with its ABI.
//! - [`launch`]: the checked way to run a kernel; begin here to use the crate.
//! - [`argument`]: arguments as they are written on a command line.
//! - [`device`]: what a device can do, and how one is chosen.
//! - [`sim_device`] and [`cuda`]: the devices.
//! - [`sim`]: the simulator of PTX.
//!
//! Invariants: no argument reaches a device unless it was bound against the ABI; nothing that a user
//! passes (files, arguments, artifacts) makes this crate panic.

pub mod abi;
pub mod argument;
pub mod artifact;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
pub mod launch;
pub mod sim;
pub mod sim_device;
pub mod tensor;

pub use abi::{Abi, Arg, BindError, KernelAbi, Launch};
pub use artifact::{Artifact, Code};
pub use device::{Device, DeviceError, open};
pub use launch::{Loaded, RunError, RunReport, Value, run_kernel};
pub use sim_device::SimDevice;
pub use tensor::{DType, Tensor};
