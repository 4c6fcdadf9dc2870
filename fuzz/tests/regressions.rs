//! Replays every input that once broke a target.

use std::path::{Path, PathBuf};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("regressions")
        .join(target);
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a file").path())
        .collect();
    inputs.sort();
    for input in inputs {
        println!("{}", input.display());
        run(&std::fs::read(&input).expect("readable"));
    }
}

#[test]
fn layout_expr() {
    replay("layout_expr", cutec_fuzz::layout_expr);
}

#[test]
fn ptx_sim() {
    replay("ptx_sim", cutec_fuzz::ptx_sim);
}

#[cfg(feature = "mlir")]
#[test]
fn cute_source() {
    replay("cute_source", cutec_fuzz::cute_source);
}

#[cfg(feature = "mlir")]
#[test]
fn mlir_text() {
    replay("mlir_text", cutec_fuzz::mlir_text);
}
