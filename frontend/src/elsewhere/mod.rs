//! What newcomers type: constructs, words and names of CUDA C++, CuTe, Python with Triton, PyTorch or CuTe DSL, and
//! Rust, each with what to write here.
//!
//! [`mod@construct`] is what is said of a construct, [`syntax`] knows constructs by their tokens, [`words`] words that no
//! grammar takes, [`names`] what is called otherwise here. Each only adds a message to what is wrong anyway: nothing of it changes what a program means.

pub mod construct;
pub mod names;
pub mod syntax;
pub mod words;
