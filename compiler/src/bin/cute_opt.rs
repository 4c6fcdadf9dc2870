//! The program `cute-opt`: MLIR's own driver over cutec's dialects and passes.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    std::process::exit(cutec::passes::opt_main(&args));
}
