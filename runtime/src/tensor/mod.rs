//! Host tensors: random and poisoned data, `.npy` files. Element types are those of the ABI.
//!
//! Modules in reading order:
//! - [`host`]: [`Tensor`], a shape, strides and bytes;
//! - [`element`]: elements as values of Rust, without copies;
//! - [`random`]: data that is the same on every machine for the same seed;
//! - [`npy`]: NumPy's file format.
//!
//! Invariant: the bytes of a [`Tensor`] hold every element that its shape and strides reach.

pub mod element;
pub mod host;
#[cfg(feature = "npy")]
pub mod npy;
pub mod random;

pub use cutec_abi::{DType, UnknownDType};
pub use element::{Element, ElementError, F8E4M3, F8E5M2};
pub use host::{ShapeError, Tensor};
#[cfg(feature = "npy")]
pub use npy::NpyError;
