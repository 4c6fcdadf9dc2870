//! The program `cute-opt`: MLIR's own driver over cutec's dialects and passes.

/// MLIR's parser, verifier and printer recurse over nested operations.
const STACK_BYTES: usize = 1 << 30;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let run = move || cutec::passes::opt_main(&args);
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(run);
    let code = thread.ok().and_then(|thread| thread.join().ok());
    std::process::exit(code.unwrap_or(1));
}
