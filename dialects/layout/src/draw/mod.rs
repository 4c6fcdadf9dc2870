//! Pictures of layouts: a table for the terminal, SVG for a page.
//!
//! Modules: `cells` (the values of a layout as a matrix), `grid` (text), `svg`.

mod cells;
mod grid;
mod svg;

pub use grid::grid;
pub use svg::{Colour, svg, svg_tv};
