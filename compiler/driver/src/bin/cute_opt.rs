//! The program `cute-opt`: MLIR's own driver over cutec's dialects and passes.

cutec::only_own_registrations!();

fn main() {
    cutec_driver::mlir_tool::run(cutec::passes::opt_main)
}
