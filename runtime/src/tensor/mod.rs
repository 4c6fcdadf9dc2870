//! Host tensors: element types, conversions, random and poisoned data, `.npy` files.
//!
//! Modules in reading order:
//! - [`dtype`]: element types, their names, sizes and conversions from and to `f64`;
//! - [`minifloat`]: the 8-bit floating-point formats;
//! - [`host`]: [`Tensor`], a shape, strides and bytes;
//! - [`random`]: data that is the same on every machine for the same seed;
//! - [`npy`]: NumPy's file format.
//!
//! Invariant: the bytes of a [`Tensor`] hold every element that its shape and strides reach.

pub mod dtype;
pub mod host;
pub mod minifloat;
pub mod npy;
pub mod random;

pub use dtype::{DType, UnknownDType};
pub use host::{ShapeError, Tensor};
pub use npy::NpyError;
