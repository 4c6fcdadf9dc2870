//! A layout as SVG: one square a value, with its number, coloured by bank or by thread.

use super::cells::Cells;
use crate::{AnyLayout, Int, IntTuple, Layout, LayoutError, Tree, algebra};
use std::fmt::Write;

/// What colours mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Colour {
    /// The bank of shared memory (32 banks of 4 bytes) that an element of `elem_bits` bits at
    /// that offset starts in.
    Bank {
        /// Bits of an element.
        elem_bits: u32,
    },
    /// The value itself, taken as a thread: eight colours in turn.
    Thread,
}

const CELL: i64 = 34;
const MARGIN: i64 = 30;
const TITLE: i64 = 26;

/// The values of a layout as SVG: mode 0 downwards, mode 1 to the right. Thicker lines show where
/// the inner mode of a nested one ends.
pub fn svg(layout: &AnyLayout, colour: Colour) -> String {
    let title = layout.to_string();
    let Some(cells) = Cells::new(layout) else {
        return message(&title, "not a static shape");
    };
    picture(&title, &cells, |value| {
        let number = value.as_leaf().and_then(Int::as_static);
        Square {
            fill: number.map_or_else(|| "#ffffff".to_owned(), |number| shade(number, colour)),
            lines: vec![value.to_string()],
        }
    })
}

/// A thread-value layout as SVG: the tile of shape `tile`, in each square the thread and the
/// value that it holds, coloured by thread. `layout_tv` maps `(thread, value)` to the
/// column-major position in the tile, as the layouts of [`crate::tv`] do.
///
/// # Errors
/// If the layout or the tile is not static, or `layout_tv` does not have two modes.
pub fn svg_tv(layout_tv: &Layout, tile: &IntTuple) -> Result<String, LayoutError> {
    const OP: &str = "svg_tv";
    let not_static = |what: &'static str, value: &Int| LayoutError::NotStatic {
        op: OP,
        what,
        value: value.clone(),
    };
    let (Some(threads), Some(values), 2) = (layout_tv.mode(0), layout_tv.mode(1), layout_tv.rank())
    else {
        return Err(LayoutError::RankMismatch {
            op: OP,
            expected: 2,
            found: layout_tv.rank(),
            value: layout_tv.to_string(),
        });
    };
    let count = |size: Int| size.as_static().ok_or_else(|| not_static("a size", &size));
    let (threads, values) = (count(threads.size())?, count(values.size())?);
    let positions = AnyLayout::Plain(Layout::col_major(tile.clone()));
    let Some(cells) = Cells::new(&positions) else {
        return Err(not_static("the tile", &algebra::product(tile)));
    };
    let area = cells.all_rows.saturating_mul(cells.all_columns);
    let mut owners: Vec<Vec<(i64, i64)>> = vec![Vec::new(); area.clamp(0, 1 << 16) as usize];
    for thread in 0..threads.min(1 << 12) {
        for value in 0..values.min(1 << 12) {
            let coord = Tree::Node([thread, value].map(|n| Tree::Leaf(Int::Static(n))).to_vec());
            let position = algebra::offset_at(&coord, layout_tv)?;
            let slot = position
                .as_static()
                .and_then(|position| usize::try_from(position).ok())
                .and_then(|position| owners.get_mut(position));
            if let Some(slot) = slot {
                slot.push((thread, value));
            }
        }
    }
    let title = format!("{layout_tv} over {tile}");
    Ok(picture(&title, &cells, |position| {
        let owner = position
            .as_leaf()
            .and_then(Int::as_static)
            .and_then(|position| usize::try_from(position).ok())
            .and_then(|position| owners.get(position))
            .map_or(&[][..], Vec::as_slice);
        match owner {
            [] => Square {
                fill: "#ffffff".to_owned(),
                lines: Vec::new(),
            },
            [(thread, value), more @ ..] => Square {
                fill: shade(*thread, Colour::Thread),
                lines: vec![
                    format!("T{thread}"),
                    match more.len() {
                        0 => format!("V{value}"),
                        more => format!("V{value} +{more}"),
                    },
                ],
            },
        }
    }))
}

struct Square {
    fill: String,
    lines: Vec<String>,
}

fn picture(title: &str, cells: &Cells, square: impl Fn(&IntTuple) -> Square) -> String {
    let width = MARGIN + cells.columns * CELL + 10;
    let title_width = 7 * title.chars().count() as i64 + 20;
    let height = TITLE + MARGIN + cells.rows * CELL + 30;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{height}\" \
         viewBox=\"0 0 {w} {height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         text-anchor=\"middle\">",
        w = width.max(title_width)
    );
    let _ = writeln!(
        out,
        "<text x=\"4\" y=\"16\" font-size=\"12\" font-family=\"monospace\" \
         text-anchor=\"start\">{}</text>",
        escape(title)
    );
    let (left, top) = (MARGIN, TITLE + MARGIN - 8);
    let _ = writeln!(out, "<g font-size=\"10\" fill=\"#555555\">");
    for column in 0..cells.columns {
        let x = left + column * CELL + CELL / 2;
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{}\">{column}</text>", top - 5);
    }
    for row in 0..cells.rows {
        let y = top + row * CELL + CELL / 2 + 4;
        let _ = writeln!(out, "<text x=\"{}\" y=\"{y}\">{row}</text>", left - 12);
    }
    let _ = writeln!(out, "</g>\n<g stroke=\"#444444\" stroke-width=\"0.6\">");
    let mut texts = String::new();
    for (row, line) in cells.values.iter().enumerate() {
        for (column, value) in line.iter().enumerate() {
            let (x, y) = (left + column as i64 * CELL, top + row as i64 * CELL);
            let square = square(value);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{}\"/>",
                square.fill
            );
            let count = square.lines.len() as i64;
            for (index, text) in square.lines.iter().enumerate() {
                let below = (2 * index as i64 - (count - 1)) * 6 + 4;
                let _ = writeln!(
                    texts,
                    "<text x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>",
                    x + CELL / 2,
                    y + CELL / 2 + below,
                    if text.len() > 4 { 8 } else { 11 },
                    escape(text)
                );
            }
        }
    }
    let _ = writeln!(out, "</g>\n<g fill=\"#111111\">\n{texts}</g>");
    let _ = writeln!(out, "<g stroke=\"#000000\" stroke-width=\"1.8\">");
    let (right, bottom) = (left + cells.columns * CELL, top + cells.rows * CELL);
    for row in (0..=cells.rows).filter(|row| bounds(*row, cells.rows, cells.row_block)) {
        let y = top + row * CELL;
        let _ = writeln!(out, "<path d=\"M{left} {y}H{right}\"/>");
    }
    for column in (0..=cells.columns).filter(|at| bounds(*at, cells.columns, cells.column_block)) {
        let x = left + column * CELL;
        let _ = writeln!(out, "<path d=\"M{x} {top}V{bottom}\"/>");
    }
    out.push_str("</g>\n");
    if let Some(note) = cells.left_out() {
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{}\" font-size=\"11\" text-anchor=\"start\">{note}</text>",
            bottom + 18
        );
    }
    out.push_str("</svg>\n");
    out
}

fn bounds(at: i64, end: i64, block: i64) -> bool {
    at == 0 || at == end || at % block == 0
}

fn message(title: &str, text: &str) -> String {
    let width = 7 * title.chars().count().max(text.len()) + 20;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"44\">\n\
         <text x=\"4\" y=\"16\" font-size=\"12\" font-family=\"monospace\">{}</text>\n\
         <text x=\"4\" y=\"34\" font-size=\"12\">{}</text>\n</svg>\n",
        escape(title),
        escape(text)
    )
}

/// A light colour, so that black text is read on it; neighbours differ in hue or lightness.
fn shade(value: i64, colour: Colour) -> String {
    let (hue, lightness) = match colour {
        Colour::Bank { elem_bits } => {
            let bytes = i128::from(value) * i128::from(elem_bits) / 8;
            let bank = (bytes / 4).rem_euclid(32) as u32;
            (
                f64::from(bank) * 360.0 / 32.0,
                if bank.is_multiple_of(2) { 0.72 } else { 0.84 },
            )
        }
        Colour::Thread => {
            let (turn, round) = (value.rem_euclid(8), value.div_euclid(8).rem_euclid(4));
            (turn as f64 * 45.0, 0.90 - 0.07 * round as f64)
        }
    };
    rgb(hue, 0.62, lightness)
}

/// HSL to `#rrggbb`.
fn rgb(hue: f64, saturation: f64, lightness: f64) -> String {
    let chroma = (1.0 - (2.0 * lightness - 1.0).abs()) * saturation;
    let channel = |offset: f64| {
        let place = (offset + hue / 30.0) % 12.0;
        let value = lightness - chroma / 2.0 * (place - 3.0).min(9.0 - place).clamp(-1.0, 1.0);
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    };
    format!(
        "#{:02x}{:02x}{:02x}",
        channel(0.0),
        channel(8.0),
        channel(4.0)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
