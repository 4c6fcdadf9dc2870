//! Runs what `cutec` compiles: on a GPU, or on the CPU in a simulator of PTX.
//!
//! This crate links neither MLIR nor LLVM, and it builds and starts without CUDA. It knows a kernel
//! only by its ABI ([`cutec_abi`]), which the compiler writes into the artifact.
//!
//! Modules in reading order:
//! - [`abi`]: what the compiler says about a kernel, how it travels, and how arguments are checked
//!   against it before anything is launched; a crate of its own.
//! - [`tensor`]: host tensors, random and poisoned data, `.npy` files.
//! - [`artifact`]: PTX or a cubin, with its ABI.
//! - [`launch`]: the checked way to run a kernel; begin here to use the crate.
//! - [`host`]: the same on the caller's own memory, in the simulator;
//! - [`argument`]: arguments as they are written on a command line; [`number`]: numbers before their type is
//!   known; [`regular_file`]: files that somebody else named;
//!   [`output_file`]: files that are written all or nothing; [`temporary`]: files that exist for a while;
//!   `signals`: what a signal that ends the program leaves behind.
//! - [`device`]: what a device can do; [`resource`]: what belongs to one, its memory and its code; `device_error`: what can go
//!   wrong.
//! - [`Cancel`]: how a host ends what takes long.
//! - [`sim_device`] and [`cuda`]: the devices; `open`: how one is chosen.
//! - [`sim`]: the simulator of PTX.
//!
//! ```
//! use cutec_runtime::{Artifact, DType, SimDevice, Tensor, Value, run_kernel};
//!
//! // What the compiler writes: PTX with the kernel's ABI in front.
//! let ptx = r#"
//! // cutec-abi-begin
//! // {"cutec_abi": 1, "kernels": [{"name": "fill", "entry": "fill", "target": "sm_80",
//! //  "args": [{"kind": "tensor", "name": "y", "dtype": "f32", "mutable": true,
//! //            "extents": [{"symbol": 0}], "strides": [{"const": 1}]}],
//! //  "symbols": [{"name": "n", "width": 32, "divisible_by": 32, "from": {"extent": {"arg": 0, "mode": 0}}}],
//! //  "params": [{"pointer": {"arg": 0}}],
//! //  "grid": [{"ceil_div": [{"symbol": 0}, {"const": 32}]}, {"const": 1}, {"const": 1}],
//! //  "block": [{"const": 32}, {"const": 1}, {"const": 1}]}]}
//! // cutec-abi-end
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry fill(.param .u64 y) {
//!   .reg .b32 %r<5>;
//!   .reg .b64 %rd<4>;
//!   .reg .f32 %f<2>;
//!   ld.param.u64 %rd1, [y];
//!   mov.u32 %r1, %ctaid.x;
//!   mov.u32 %r2, %tid.x;
//!   mad.lo.s32 %r3, %r1, 32, %r2;
//!   mul.wide.s32 %rd2, %r3, 4;
//!   add.s64 %rd3, %rd1, %rd2;
//!   cvt.rn.f32.s32 %f1, %r3;
//!   st.global.f32 [%rd3], %f1;
//!   ret;
//! }"#;
//! let artifact = Artifact::from_ptx(ptx)?;
//! let mut device = SimDevice::new(); // or open(None)?, which prefers a GPU
//! let mut args = [Value::from(Tensor::poison(DType::F32, &[64])?)];
//! run_kernel(&mut device, &artifact, "fill", &mut args)?;
//! assert_eq!(args[0].as_tensor().and_then(|y| y.get(&[63])), Some(63.0));
//!
//! let mut args = [Value::from(Tensor::poison(DType::F32, &[65])?)];
//! let error = run_kernel(&mut device, &artifact, "fill", &mut args).unwrap_err();
//! assert_eq!(error.to_string(), "mode 0 of `y`: `n` must be divisible by 32, found 65");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: no argument reaches a device unless it was bound against the ABI; nothing that a user
//! passes (files, arguments, artifacts) makes this crate panic.

// Without a device there is nobody who makes what belongs to one.
#![cfg_attr(not(any(feature = "cuda", feature = "simulator")), allow(dead_code))]

#[cfg(feature = "npy")]
pub mod argument;
pub mod artifact;
mod cancel;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
mod device_error;
pub mod ending;
#[cfg(feature = "simulator")]
pub mod host;
pub mod launch;
pub mod number;
mod open;
pub mod output_file;
pub mod regular_file;
pub mod resource;
#[cfg(feature = "signals")]
pub mod signals;
#[cfg(feature = "simulator")]
pub mod sim;
#[cfg(feature = "simulator")]
pub mod sim_device;
pub mod temporary;
pub mod tensor;

pub use artifact::{Artifact, Code};
pub use cancel::Cancel;
pub use cutec_abi as abi;
pub use cutec_abi::{Abi, Arg, BindError, KernelAbi, Launch};
pub use device::{Buffer, Device, DeviceError, Gpu};
pub use launch::{
    DevicePointer, DeviceTensor, DeviceValue, Loaded, RunError, RunReport, Value, run_kernel,
};
pub use open::open;
#[cfg(feature = "simulator")]
pub use sim_device::SimDevice;
pub use tensor::{DType, Element, ElementError, F8E4M3, F8E5M2, Tensor};
