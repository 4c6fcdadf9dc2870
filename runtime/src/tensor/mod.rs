//! Host tensors: random and poisoned data, `.npy` files. Element types are those of the ABI.
//!
//! Modules in reading order:
//! - [`host`]: [`Tensor`], a shape, strides and bytes;
//! - [`random`]: data that is the same on every machine for the same seed;
//! - [`npy`]: NumPy's file format.
//!
//! Invariant: the bytes of a [`Tensor`] hold every element that its shape and strides reach.

pub mod host;
pub mod npy;
pub mod random;

pub use cutec_abi::{DType, UnknownDType};
pub use host::{ShapeError, Tensor};
pub use npy::NpyError;
