//! Tests of the built programs, without linking MLIR.
//!
//! - `lit.cfg.py` and the folders of `.cute`, `.mlir` and `.test` files: one behaviour a file, run by
//!   `lit-22 test-suite`;
//! - `tests/programs.rs`: what a test file cannot say, such as 35 000 expressions or a closed pipe;
//! - `vectors`: results of other implementations of the layout algebra;
//! - `gpu`: measurements on a GPU.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The path of a built program, or of an example as `examples/NAME`: in the folder `CUTEC_PROGRAMS`, or built by cargo beside this test.
///
/// # Panics
/// When the program can neither be found nor built.
pub fn program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match std::env::var_os("CUTEC_PROGRAMS") {
        Some(folder) => PathBuf::from(folder),
        None => build(),
    });
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not built", path.display());
    path
}

/// Builds the programs in the profile of this test, which lies in `target/PROFILE/deps`.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let folder = test
        .ancestors()
        .nth(2)
        .expect("a test lies two folders down");
    let target = folder.parent().expect("a profile is a folder of `target`");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--package",
            "cutec-driver",
            "--package",
            "cutec",
            "--bins",
            "--examples",
            "--profile",
            profile,
        ])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the programs do not build");
    folder.to_path_buf()
}
