//! What `cutec --version` says: the version, the commit it was built from, and LLVM's version.

use std::sync::LazyLock;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} ({}, LLVM {})",
        env!("CARGO_PKG_VERSION"),
        // Set by what makes programs to hand out: a build that someone works with is of no commit.
        option_env!("CUTEC_COMMIT").unwrap_or("development"),
        cutec::codegen::llvm::version()
    )
});

/// `0.1.0 (a945e33, LLVM 22.1.0)`
pub fn text() -> &'static str {
    &TEXT
}
