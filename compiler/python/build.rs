//! Links the C++ library, zlib and zstd statically, as far as the machine has them as archives: a wheel asks for no more
//! than glibc 2.34. The linker takes what it finds first, so the archives stand alone in a folder that it looks into first.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVES: [&str; 3] = ["libstdc++.a", "libz.a", "libzstd.a"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("archives");
    fs::create_dir_all(&folder).expect("OUT_DIR is writable");
    for name in ARCHIVES {
        let Some(archive) = find(name) else {
            println!(
                "cargo:warning={name} is not on this machine: the module will need the shared library"
            );
            continue;
        };
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(archive, link).expect("OUT_DIR is writable");
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rerun-if-changed=src/arc4random.c");
    cc::Build::new()
        .file("src/arc4random.c")
        .link_lib_modifier("+whole-archive")
        .compile("cutecarc4random");
}

/// Where the C++ compiler finds an archive.
fn find(name: &str) -> Option<PathBuf> {
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let output = Command::new(compiler)
        .arg(format!("-print-file-name={name}"))
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    // A name that is not found is printed as it is.
    let path = Path::new(path.trim());
    path.is_absolute().then(|| path.to_path_buf())
}
