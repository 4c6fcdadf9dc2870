//! Pictures of layouts: a table for the terminal, SVG for a page.
//!
//! Modules: `cells` (the values of a layout as a matrix), `table` (who holds the elements of a tile),
//! `grid` (text), `panel` (the parts of an SVG picture), `svg`.

mod cells;
mod grid;
mod panel;
mod svg;
mod table;

pub use grid::{grid, grid_tv};
pub use svg::{Colour, svg, svg_access, svg_mma, svg_tables, svg_tv};
pub use table::TvTable;
