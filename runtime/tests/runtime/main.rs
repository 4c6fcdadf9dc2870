//! Tests of the runtime through its public interface; one binary, because each links everything.

mod end_to_end;
mod host;
mod program;
mod simulate;
