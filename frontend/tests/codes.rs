//! Every code is shown by a test: a snapshot, an expectation beside the line to blame, or a check of a lit test.

use cutec_frontend::diagnostics::codes::{ALL, INTERNAL};
use std::fs;
use std::path::Path;

/// The texts of all tests under a folder.
fn collect(folder: &Path, texts: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name();
        if name == "target" || name == "codes.rs" {
            continue;
        }
        if path.is_dir() {
            collect(&path, texts);
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.push_str(&text);
        }
    }
}

#[test]
fn every_code_is_shown_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = String::new();
    for folder in [
        "frontend/tests",
        "test-suite",
        "compiler/testing/tests",
        "compiler/tests",
    ] {
        collect(&root.join(folder), &mut texts);
    }
    let missing: Vec<_> = ALL
        .iter()
        // A program that shows a bug of ours is a defect to mend, not a test.
        .filter(|info| info.code != INTERNAL)
        .filter(|info| !texts.contains(&info.code.to_string()))
        .map(|info| format!("{} {}", info.code, info.name))
        .collect();
    assert!(missing.is_empty(), "no test shows {missing:?}");
}
