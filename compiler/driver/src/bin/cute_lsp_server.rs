//! The program `cute-lsp-server`: MLIR's own language server over cutec's dialects.

cutec::only_own_registrations!();

fn main() {
    cutec_driver::mlir_server::run(cutec_dialects::ir::lsp_main)
}
