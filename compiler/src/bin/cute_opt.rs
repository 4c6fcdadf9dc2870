//! The program `cute-opt`; everything is in the library.

fn main() -> std::process::ExitCode {
    cutec::driver::opt::main()
}
