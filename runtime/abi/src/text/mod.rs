//! The ABI of a kernel as people read and write it: the notation of the attribute `#cute.abi<…>`.
//!
//! ```text
//! "gemm"
//!   source "gemm.cute"
//!   arg a: tensor<f16, (m, k):(k, 1)> align 16
//!   arg c: mut tensor<f16, (m, 64):(64, 1)> align 16
//!   arg alpha: f32
//!   symbol m: i32 = extent 0 of a
//!   symbol k: i32 = extent 1 of a div 8
//!   tensor_map 0 of a order [1, 0] box [64, 128] swizzle 128 l2 128 fill nan
//!   params (pointer a, pointer c, symbol m, symbol k, scalar alpha, tensor_map 0)
//!   promise "k > 8": gt(k, 8)
//!   grid (2 * ceil_div(m, 256), 1, 1)
//!   cluster (2, 1, 1)
//!   pdl
//!   block (256, 1, 1)
//!   smem 65536
//!   define bm = "128", bk = "64"
//!   candidates bm = "[64, 128]"
//!   tunable "bm >= bk"
//! ```
//!
//! A map of a view says behind its tensor how many elements behind the first one it begins, and its layout: `of a at (k) as (m, 64):(2 * k, 1) order …`.
//!
//! Clauses stand in this order. What is left out has the value that JSON gives it; `entry` is the
//! name, and `block` is not decided yet. Comparisons are written as functions because angle brackets
//! must balance in an attribute of MLIR.
//!
//! Modules: [`write`], [`read`] and its [`lexer`].
//!
//! Invariant: what is written reads back as the same ABI, for every ABI that is valid; but for
//! [`KernelAbi::smem`], which only compiled code has.

mod lexer;
mod read;
mod write;

use std::fmt;

use crate::KernelAbi;

/// A text that is no ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Where it goes wrong, in bytes from the start.
    pub at: usize,
    /// What was expected there and what was found, or what contradicts itself.
    pub message: String,
}

impl KernelAbi {
    /// Reads the notation of this module, and validates what it says.
    ///
    /// # Errors
    /// At the first place that does not read as an ABI, or at the start where the ABI contradicts itself.
    pub fn parse(text: &str) -> Result<KernelAbi, TextError> {
        let kernel = read::kernel(text)?;
        match kernel.check() {
            Ok(()) => Ok(kernel),
            Err(problem) => Err(TextError {
                at: 0,
                message: problem.to_string(),
            }),
        }
    }

    /// The ABI in the notation of this module; symbols that it does not have are numbers.
    pub fn text(&self) -> String {
        write::kernel(self)
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TextError {}
