//! Makes `cutec.h` of libcutec's sources by cbindgen, or with `--check` says whether it is up to date. Run by `scripts/capi.sh`.

use std::path::Path;
use std::process::ExitCode;

/// The header that the sources ask for.
fn header(library: &Path) -> String {
    let mut config = cbindgen::Config::from_file(library.join("cbindgen.toml")).expect("a configuration");
    config.after_includes = Some(format!(
        "\n{}\n{}",
        cutec_export::header::DLPACK,
        cutec_export::header::statuses()
    ));
    // It follows the modules of the library.
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = builder.with_src(library.join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("cbindgen reads it").write(&mut header);
    let header = String::from_utf8(header).expect("UTF-8");
    // What is said for Rust in words of C.
    let header = header.replace(" * # Safety\n", " * What it needs:\n");
    let header = header.replace("[`", "`").replace("`]", "`");
    header.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn main() -> ExitCode {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = library.join("include/cutec.h");
    let expected = header(&library);
    if !std::env::args().any(|argument| argument == "--check") {
        std::fs::write(&path, expected).expect("written");
        return ExitCode::SUCCESS;
    }
    if std::fs::read_to_string(&path).unwrap_or_default() == expected {
        return ExitCode::SUCCESS;
    }
    eprintln!("{} is not what the sources say: run scripts/capi.sh --header", path.display());
    ExitCode::FAILURE
}
