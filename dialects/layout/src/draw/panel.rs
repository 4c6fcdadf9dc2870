//! The parts of a picture in SVG: a table of squares, legends, the document around them.

use super::cells::Cells;
use crate::IntTuple;
use std::fmt::Write;

/// Side of a square.
const CELL: i64 = 40;
/// Room for the numbers of rows, and over the table for its title and the numbers of columns.
const LEFT: i64 = 30;
const TOP: i64 = 44;
const BOTTOM: i64 = 8;
const EDGE: i64 = 10;
const SWATCH: i64 = 26;
const LINE: i64 = 18;

/// The text of one element.
pub(super) struct Square {
    pub fill: String,
    /// Small, in the corner.
    pub corner: Option<String>,
    pub lines: Vec<String>,
    /// Draws attention to the last line.
    pub alarm: bool,
    /// A thick line stands between squares of different groups.
    pub group: Option<usize>,
}

/// A table of squares under a title.
pub(super) struct Panel<'a> {
    pub title: String,
    pub cells: &'a Cells,
    pub squares: Vec<Vec<Square>>,
}

impl<'a> Panel<'a> {
    pub fn new(
        title: impl Into<String>,
        cells: &'a Cells,
        square: impl Fn(&IntTuple) -> Square,
    ) -> Panel<'a> {
        let squares = cells
            .values
            .iter()
            .map(|row| row.iter().map(&square).collect())
            .collect();
        Panel {
            title: title.into(),
            cells,
            squares,
        }
    }

    pub fn width(&self) -> i64 {
        let table = LEFT + self.cells.columns * CELL + 2;
        table.max(text_width(&self.title, 13))
    }

    pub fn height(&self) -> i64 {
        let note = if self.cells.left_out().is_some() {
            LINE
        } else {
            0
        };
        TOP + self.cells.rows * CELL + BOTTOM + note
    }

    pub fn draw(&self, out: &mut String, x: i64, y: i64) {
        let cells = self.cells;
        let (left, top) = (x + LEFT, y + TOP);
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{}\" class=\"title\">{}</text>",
            y + 18,
            escape(&self.title)
        );
        let _ = writeln!(out, "<g class=\"axis\">");
        for column in 0..cells.columns {
            let at = left + column * CELL + CELL / 2;
            let _ = writeln!(out, "<text x=\"{at}\" y=\"{}\">{column}</text>", top - 6);
        }
        for row in 0..cells.rows {
            let at = top + row * CELL + CELL / 2 + 4;
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{at}\" text-anchor=\"end\">{row}</text>",
                left - 6
            );
        }
        let _ = writeln!(out, "</g>\n<g class=\"cells\">");
        let each = || {
            self.squares
                .iter()
                .enumerate()
                .flat_map(move |(row, line)| {
                    line.iter().enumerate().map(move |(column, square)| {
                        let (x, y) = (left + column as i64 * CELL, top + row as i64 * CELL);
                        (x, y, square)
                    })
                })
        };
        for (x, y, square) in each() {
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{}\"/>",
                square.fill
            );
        }
        out.push_str("</g>\n");
        for (x, y, square) in each() {
            draw_text(out, x, y, square);
        }
        let _ = writeln!(out, "<g class=\"lines\">");
        let (right, bottom) = (left + cells.columns * CELL, top + cells.rows * CELL);
        self.group_lines(out, left, top);
        for row in (0..=cells.rows).filter(|at| bounds(*at, cells.rows, cells.row_block)) {
            let _ = writeln!(out, "<path d=\"M{left} {}H{right}\"/>", top + row * CELL);
        }
        for column in
            (0..=cells.columns).filter(|at| bounds(*at, cells.columns, cells.column_block))
        {
            let _ = writeln!(
                out,
                "<path d=\"M{} {top}V{bottom}\"/>",
                left + column * CELL
            );
        }
        out.push_str("</g>\n");
        if let Some(note) = cells.left_out() {
            let _ = writeln!(
                out,
                "<text x=\"{left}\" y=\"{}\" class=\"note\">{note}</text>",
                bottom + LINE
            );
        }
    }

    /// Lines between squares of different groups.
    fn group_lines(&self, out: &mut String, left: i64, top: i64) {
        let group = |row: usize, column: usize| {
            let square = self.squares.get(row).and_then(|line| line.get(column));
            square.and_then(|square| square.group)
        };
        for (row, line) in self.squares.iter().enumerate() {
            for (column, square) in line.iter().enumerate() {
                let (x, y) = (left + column as i64 * CELL, top + row as i64 * CELL);
                if column > 0 && group(row, column - 1) != square.group {
                    let _ = writeln!(out, "<path d=\"M{x} {y}v{CELL}\"/>");
                }
                if row > 0 && group(row - 1, column) != square.group {
                    let _ = writeln!(out, "<path d=\"M{x} {y}h{CELL}\"/>");
                }
            }
        }
    }
}

/// The lines of a square, as large as it holds.
fn draw_text(out: &mut String, x: i64, y: i64, square: &Square) {
    if let Some(corner) = &square.corner {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" class=\"corner\">{}</text>",
            x + 3,
            y + 9,
            escape(corner)
        );
    }
    let count = square.lines.len() as i64;
    let below_corner = if square.corner.is_some() && count > 1 {
        4
    } else {
        0
    };
    for (index, text) in square.lines.iter().enumerate() {
        let fits = 10 * (CELL - 6) / (6 * text.chars().count().max(1) as i64);
        let size = fits.clamp(5, if count > 1 { 12 } else { 13 });
        let ink = match square.alarm && index as i64 + 1 == count {
            true => " fill=\"#b00020\" font-weight=\"bold\"",
            false => "",
        };
        let down = (2 * index as i64 - (count - 1)) * 13 / 2 + 4 + below_corner;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{size}\"{ink}>{}</text>",
            x + CELL / 2,
            y + CELL / 2 + down,
            escape(text)
        );
    }
}

fn bounds(at: i64, end: i64, block: i64) -> bool {
    at == 0 || at == end || at % block == 0
}

/// What stands under the tables: swatches of colours with their names, then lines of text.
#[derive(Default)]
pub(super) struct Legend {
    pub name: &'static str,
    /// Colour and name.
    pub swatches: Vec<(String, String)>,
    pub lines: Vec<String>,
}

impl Legend {
    fn per_row(&self, width: i64) -> i64 {
        let fits = (width - LEFT - 40) / SWATCH;
        [32, 16, 8]
            .into_iter()
            .find(|n| *n <= fits)
            .unwrap_or(8)
            .min(self.swatches.len().max(1) as i64)
    }

    fn width(&self, width: i64) -> i64 {
        let swatches = match self.swatches.is_empty() {
            true => 0,
            false => LEFT + 40 + self.per_row(width) * SWATCH,
        };
        let lines = self.lines.iter().map(|line| LEFT + text_width(line, 12));
        lines.fold(swatches, i64::max)
    }

    fn height(&self, width: i64) -> i64 {
        let rows = (self.swatches.len() as i64 + self.per_row(width) - 1) / self.per_row(width);
        rows * (SWATCH - 4) + self.lines.len() as i64 * LINE + 8
    }

    fn draw(&self, out: &mut String, x: i64, y: i64, width: i64) {
        let per_row = self.per_row(width);
        let left = x + LEFT;
        if !self.swatches.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{left}\" y=\"{}\" class=\"note\">{}</text>",
                y + 16,
                self.name
            );
        }
        for (index, (fill, text)) in self.swatches.iter().enumerate() {
            let (row, column) = (index as i64 / per_row, index as i64 % per_row);
            let (x, y) = (left + 40 + column * SWATCH, y + row * (SWATCH - 4));
            let _ = writeln!(
                out,
                "<path d=\"M{x} {y}h{SWATCH}v{h}h-{SWATCH}z\" fill=\"{fill}\" class=\"swatch\"/>\n\
                 <text x=\"{}\" y=\"{}\" font-size=\"11\">{text}</text>",
                x + SWATCH / 2,
                y + 15,
                h = SWATCH - 4,
            );
        }
        let below = self.height(width) - 8 - self.lines.len() as i64 * LINE;
        for (index, line) in self.lines.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{left}\" y=\"{}\" class=\"note\">{}</text>",
                y + below + (index as i64 + 1) * LINE,
                escape(line)
            );
        }
    }
}

/// Panels at their places, and a legend under all of them.
pub(super) fn document(panels: &[(i64, i64, Panel<'_>)], legend: &Legend) -> String {
    let right = panels.iter().map(|(x, _, panel)| x + panel.width()).max();
    let bottom = panels.iter().map(|(_, y, panel)| y + panel.height()).max();
    let (right, bottom) = (right.unwrap_or(0), bottom.unwrap_or(0));
    let width = right.max(legend.width(right)) + 2 * EDGE;
    let height = bottom + legend.height(right) + 2 * EDGE;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, 'Liberation Sans', \
         sans-serif\" text-anchor=\"middle\" fill=\"#111111\">\n{STYLE}\n\
         <path d=\"M0 0H{width}V{height}H0z\" fill=\"#ffffff\"/>"
    );
    for (x, y, panel) in panels {
        panel.draw(&mut out, x + EDGE, y + EDGE);
    }
    legend.draw(&mut out, EDGE, bottom + EDGE, right);
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "<style>\n\
    .title { font-size: 13px; font-family: Menlo, Consolas, 'DejaVu Sans Mono', monospace; \
    text-anchor: start }\n\
    .axis { font-size: 11px; fill: #555555 }\n\
    .note { font-size: 12px; text-anchor: start }\n\
    .corner { font-size: 8px; fill: #444444; text-anchor: start }\n\
    .cells, .swatch { stroke: #555555; stroke-width: 0.6 }\n\
    .lines { stroke: #000000; stroke-width: 1.8; stroke-linecap: square }\n\
    </style>";

/// A picture of words only.
pub(super) fn message(title: &str, text: &str) -> String {
    let legend = Legend {
        lines: vec![title.to_owned(), text.to_owned()],
        ..Legend::default()
    };
    document(&[], &legend)
}

/// An estimate, for fonts of common width.
fn text_width(text: &str, size: i64) -> i64 {
    text.chars().count() as i64 * size * 62 / 100 + 10
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
