//! Host tensors: element types, conversions, random and poisoned data, `.npy` files.
//!
//! - [`dtype`]: element types, their names and sizes;
//! - [`minifloat`]: 8-bit floating point, by rounding to nearest even.

pub mod dtype;
pub mod minifloat;

pub use dtype::{DType, UnknownDType};
