//! What the programs that are MLIR's own drivers have in common.

/// MLIR's parser, verifier and printer recurse over nested operations.
const STACK_BYTES: usize = 1 << 30;

/// Runs one of MLIR's drivers over the command line, with a stack that deep nesting does not exhaust,
/// and ends the process with its exit code.
pub fn run(driver: fn(&[String]) -> i32) -> ! {
    run_with(driver, std::env::args().collect())
}

/// The same over other arguments.
pub fn run_with(driver: fn(&[String]) -> i32, args: Vec<String>) -> ! {
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || driver(&args));
    let code = thread.ok().and_then(|thread| thread.join().ok());
    std::process::exit(code.unwrap_or(1));
}
