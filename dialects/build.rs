//! Runs TableGen over `cpp/Cute.td` and `cpp/Tile.td`, and compiles the C++ shim.
//!
//! To compile it takes two minutes, most of them for MLIR's headers, and Cargo runs this script for each of its profiles, for Clippy, and
//! once more for the fuzz targets. So the archive stays in `cutec-shim` in the target folder as well, by a hash of all that it is made of,
//! and is taken from there.
use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

const ARCHIVE: &str = "libcutecdialects.a";

const GENERATED: [(&[&str], &str); 10] = [
    (
        &["-gen-dialect-decls", "-dialect=cute"],
        "CuteDialect.h.inc",
    ),
    (
        &["-gen-dialect-defs", "-dialect=cute"],
        "CuteDialect.cpp.inc",
    ),
    (
        &["-gen-dialect-decls", "-dialect=cute_nvgpu"],
        "CuteNvgpuDialect.h.inc",
    ),
    (
        &["-gen-dialect-defs", "-dialect=cute_nvgpu"],
        "CuteNvgpuDialect.cpp.inc",
    ),
    (
        &["-gen-attrdef-decls", "-attrdefs-dialect=cute"],
        "CuteAttrs.h.inc",
    ),
    (
        &["-gen-attrdef-defs", "-attrdefs-dialect=cute"],
        "CuteAttrs.cpp.inc",
    ),
    (
        &["-gen-typedef-decls", "-typedefs-dialect=cute"],
        "CuteTypes.h.inc",
    ),
    (
        &["-gen-typedef-defs", "-typedefs-dialect=cute"],
        "CuteTypes.cpp.inc",
    ),
    (
        &["-gen-typedef-decls", "-typedefs-dialect=cute_nvgpu"],
        "CuteNvgpuTypes.h.inc",
    ),
    (
        &["-gen-typedef-defs", "-typedefs-dialect=cute_nvgpu"],
        "CuteNvgpuTypes.cpp.inc",
    ),
];
const OPERATIONS: [(&[&str], &str); 2] = [
    (&["-gen-op-decls"], "CuteOps.h.inc"),
    (&["-gen-op-defs"], "CuteOps.cpp.inc"),
];

/// The same of the `tile` dialect.
const TILE: [(&[&str], &str); 8] = [
    (
        &["-gen-dialect-decls", "-dialect=tile"],
        "TileDialect.h.inc",
    ),
    (
        &["-gen-dialect-defs", "-dialect=tile"],
        "TileDialect.cpp.inc",
    ),
    (
        &["-gen-attrdef-decls", "-attrdefs-dialect=tile"],
        "TileAttrs.h.inc",
    ),
    (
        &["-gen-attrdef-defs", "-attrdefs-dialect=tile"],
        "TileAttrs.cpp.inc",
    ),
    (
        &["-gen-typedef-decls", "-typedefs-dialect=tile"],
        "TileTypes.h.inc",
    ),
    (
        &["-gen-typedef-defs", "-typedefs-dialect=tile"],
        "TileTypes.cpp.inc",
    ),
    (&["-gen-op-decls"], "TileOps.h.inc"),
    (&["-gen-op-defs"], "TileOps.cpp.inc"),
];

fn main() {
    let prefix =
        PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or("/usr/lib/llvm-22".into()));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (flags, file) in GENERATED.iter().chain(&OPERATIONS) {
        tblgen(&prefix, "cpp/Cute.td", flags, &out.join(file));
    }
    for (flags, file) in TILE {
        tblgen(&prefix, "cpp/Tile.td", flags, &out.join(file));
    }
    write_verifiers(&out.join("CuteOps.h.inc"), &out.join("CuteVerifiers.inc"));
    write_verifiers(&out.join("TileOps.h.inc"), &out.join("TileVerifiers.inc"));
    shim(&prefix, &out);
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=cutecdialects");
    println!("cargo:rustc-link-lib=stdc++");
    println!("cargo:rerun-if-changed=cpp");
    for variable in ["MLIR_SYS_220_PREFIX", "CXX", "CXXFLAGS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
}

/// Makes `OUT_DIR/libcutecdialects.a`.
fn shim(prefix: &Path, out: &Path) {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(1)
        .debug(false)
        .warnings(false)
        .cargo_metadata(false)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .define("_GNU_SOURCE", None)
        .define("__STDC_CONSTANT_MACROS", None)
        .define("__STDC_FORMAT_MACROS", None)
        .define("__STDC_LIMIT_MACROS", None)
        .include(prefix.join("include"));
    let kept = target_folder(out).map(|target| {
        let name = format!("{:016x}", ingredients(&build, prefix, out));
        target.join("cutec-shim").join(name)
    });
    let made = out.join(ARCHIVE);
    if let Some(kept) = &kept
        && fs::copy(kept.join(ARCHIVE), &made).is_ok()
    {
        return;
    }
    let sources = files("cpp");
    let sources = sources.iter().filter(|path| has_extension(path, "cpp"));
    build
        .include(out)
        .include("cpp")
        .files(sources)
        .compile("cutecdialects");
    if let Some(kept) = kept {
        // Under its name at once; whoever was quicker has made the same.
        let new = kept.with_extension(std::process::id().to_string());
        let is_written = fs::create_dir_all(&new).is_ok()
            && fs::copy(&made, new.join(ARCHIVE)).is_ok()
            && fs::rename(&new, &kept).is_ok();
        if !is_written {
            let _ = fs::remove_dir_all(&new);
        }
    }
}

/// A hash of what the archive is made of: the sources, what TableGen makes of them, the compiler with its flags, and the version of LLVM.
fn ingredients(build: &cc::Build, prefix: &Path, out: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let compiler = build.get_compiler();
    (compiler.path(), compiler.args()).hash(&mut hasher);
    let version = Command::new(compiler.path()).arg("--version").output();
    version.map(|output| output.stdout).ok().hash(&mut hasher);
    let config = prefix.join("include/llvm/Config/llvm-config.h");
    let generated = files(out);
    let generated = generated
        .into_iter()
        .filter(|path| has_extension(path, "inc"));
    for path in files("cpp").into_iter().chain(generated).chain([config]) {
        path.file_name().hash(&mut hasher);
        fs::read(&path).ok().hash(&mut hasher);
    }
    hasher.finish()
}

/// Cargo's target folder, which it marks as a cache; so it does that of a target within.
fn target_folder(out: &Path) -> Option<&Path> {
    let folders = out.ancestors();
    folders
        .filter(|folder| folder.join("CACHEDIR.TAG").is_file())
        .last()
}

/// The files of a folder, in order.
fn files(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    files.sort();
    files
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn tblgen(prefix: &Path, file: &str, flags: &[&str], out: &Path) {
    let status = Command::new(prefix.join("bin/mlir-tblgen"))
        .args(flags)
        .arg("-I")
        .arg(prefix.join("include"))
        .arg(file)
        .arg("-o")
        .arg(out)
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!(
            "mlir-tblgen {flags:?} failed ({other:?}); is MLIR 22 installed in {}?",
            prefix.display()
        ),
    }
}

/// Every operation verifies in Rust, or infers its result types there: forwarding methods a class.
fn write_verifiers(header: &Path, out: &Path) {
    let header = fs::read_to_string(header).expect("mlir-tblgen wrote it");
    let mut methods = String::new();
    for part in header.split("\nclass ").skip(1) {
        let class: String = part
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        // The first class of each operation's declarations is its forward declaration, the last its own.
        if !class.ends_with("Op") || part.starts_with(&format!("{class};")) {
            continue;
        }
        if part.contains("inferReturnTypes(") {
            let attributes = if part.contains("getPropertiesAsAttr(") {
                "p ? getPropertiesAsAttr(c, *p.as<Properties *>()) : Attribute(a)"
            } else {
                "a"
            };
            methods += &format!(
                "LogicalResult {class}::inferReturnTypes(MLIRContext *c, std::optional<Location> l, ValueRange o, \
                 DictionaryAttr a, OpaqueProperties p, RegionRange, SmallVectorImpl<Type> &t) {{ \
                 return inferTypes(getOperationName(), c, l, o, {attributes}, t); }}\n\
                 bool {class}::isCompatibleReturnTypes(TypeRange a, TypeRange b) {{ return compatibleTypes(a, b); }}\n"
            );
        } else {
            methods +=
                &format!("LogicalResult {class}::verify() {{ return verifyOperation(*this); }}\n");
        }
    }
    fs::write(out, methods).expect("OUT_DIR is writable");
}
