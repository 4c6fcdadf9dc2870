//! `test` and `bench` blocks, evaluated on the host.
//!
//! In reading order:
//! - [`problem`]: everything that can be wrong with a block or fail in it;
//! - [`value`]: what a name stands for in a block;
//! - [`interpret`]: statements and scalar expressions;
//! - [`builtin`]: functions of numbers, and the functions that make tensors;
//! - [`index`]: index notation, `c[i, j]` and `sum(l) { … }`, over whole tensors in `f64`;
//! - [`assertion`]: `assert_eq` and `assert_close`;
//! - [`program`]: the syntax tree of a file and its imports;
//! - [`launch`]: kernels, compiled once for each set of compile-time parameters;
//! - [`check`]: what is wrong with blocks before any kernel runs;
//! - [`tune`]: the launches of a bench with all configurations of their kernels.
//!
//! Invariants: numbers are `f64`, so a reference is more exact than any kernel; integers have 64 bits and are computed
//! as the compiler computes them (`cutec_abi::arithmetic`), but elements stay exact up
//! to 2⁵³. Random data depend on the seed, the test's name and the number of the tensor in the test
//! alone. A block has a budget of steps and of elements, so that every test ends.

pub mod assertion;
pub mod builtin;
pub mod check;
pub mod index;
pub mod interpret;
pub mod launch;
pub mod problem;
pub mod program;
pub mod tune;
pub mod value;

pub use interpret::{BlockReport, Interpreter};
pub use problem::TestProblem;

#[cfg(test)]
mod tests;
