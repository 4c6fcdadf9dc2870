//! Passes of the tile level, in their order; `docs/tile.md` says what each decides.
pub mod assign_layouts;
mod classes;
