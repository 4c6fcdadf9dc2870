//! Tests of the kernel ABI through its public interface.

mod bind;
mod infer;
mod notation;
mod text;
