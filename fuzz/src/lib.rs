//! Fuzz targets: each takes any bytes, and panics where something that must hold of every text does not.
//!
//! [`layout_expr`], [`ptx_sim`], [`cute_source`] and [`mlir_text`] are the targets, [`mutate`] changes a
//! text token by token, and [`program!`] makes a program of a target that libFuzzer runs (`fuzz_targets`).
//! `tests/regressions.rs` replays `regressions`, the inputs that once broke something.

mod layout_expr;
#[cfg(feature = "libfuzzer")]
pub mod mutate;
#[cfg(feature = "libfuzzer")]
pub mod program;
mod ptx_sim;

#[cfg(feature = "mlir")]
mod cute_source;
#[cfg(feature = "mlir")]
mod mlir_text;

#[cfg(feature = "mlir")]
pub use cute_source::cute_source;
pub use layout_expr::layout_expr;
#[cfg(feature = "mlir")]
pub use mlir_text::mlir_text;
pub use ptx_sim::ptx_sim;

/// A text, if the bytes are one.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
