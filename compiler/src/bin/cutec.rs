//! The program `cutec`; everything is in the library.

fn main() -> std::process::ExitCode {
    cutec::driver::main()
}
