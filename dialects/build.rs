//! Runs TableGen over `cpp/Cute.td` and `cpp/Tile.td`, and compiles the C++ shim.
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

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
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(1)
        .debug(false)
        .warnings(false)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .define("_GNU_SOURCE", None)
        .define("__STDC_CONSTANT_MACROS", None)
        .define("__STDC_FORMAT_MACROS", None)
        .define("__STDC_LIMIT_MACROS", None)
        .include(prefix.join("include"))
        .include(&out)
        .include("cpp")
        .file("cpp/Abi.cpp")
        .file("cpp/Aliases.cpp")
        .file("cpp/Cute.cpp")
        .file("cpp/CuteNvgpu.cpp")
        .file("cpp/Lowering.cpp")
        .file("cpp/Registration.cpp")
        .file("cpp/Tile.cpp")
        .compile("cutecdialects");
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-env-changed=MLIR_SYS_220_PREFIX");
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
