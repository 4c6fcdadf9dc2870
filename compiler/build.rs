//! Tells one build of the compiler from another: `CUTEC_SOURCES` is a hash of the sources that decide what it makes
//! of a kernel. Results kept on disk depend on it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// Beside this crate only where it is built in its repository; a published one has a version of its own.
const SOURCES: [&str; 8] = [
    "src",
    "../Cargo.lock",
    "../dialects/cpp",
    "../dialects/layout/src",
    "../dialects/src",
    "../frontend/src",
    "../frontend/std",
    "../runtime/abi/src",
];

fn main() {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        if Path::new(source).exists() {
            println!("cargo:rerun-if-changed={source}");
            add(Path::new(source), &mut hasher);
        }
    }
    println!("cargo:rustc-env=CUTEC_SOURCES={:016x}", hasher.finish());
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| add(path, hasher));
    } else if let Ok(bytes) = fs::read(path) {
        path.hash(hasher);
        bytes.hash(hasher);
    }
}
