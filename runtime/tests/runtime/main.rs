//! Tests of the runtime through its public interface; one binary, because each links everything.

mod abi;
mod bind;
mod end_to_end;
mod program;
mod simulate;
