//! How the shared library is linked: the name by which programs find it, whatever its file is called, and what they see of it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcutec.so.{major}");
    // What C++ of the dialects calls of Rust has names of C too: only the functions of this crate are for programs.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
}
