//! A layout as a table of text.

use super::cells::Cells;
use super::table::{Held, TvTable};
use crate::{AnyLayout, LayoutError};
use std::fmt::Write;

/// The values of a layout as a table: mode 0 downwards, mode 1 to the right; a layout of rank 1
/// as one row. Run-time extents leave only the text of the layout.
pub fn grid(layout: &AnyLayout) -> String {
    let title = format!("{layout}\n");
    let Some(cells) = Cells::new(layout) else {
        return title + "(not a static shape: nothing to draw)\n";
    };
    let text: Vec<Vec<String>> = cells
        .values
        .iter()
        .map(|row| row.iter().map(ToString::to_string).collect())
        .collect();
    title + &table(&cells, &text)
}

/// A thread-value layout as a table: the thread and the value that hold each element, `T4V1`. A `+`
/// follows where others hold it too, and nothing stands where nobody does.
///
/// # Errors
/// If a layout is not static, or the thread-value layout does not have two modes.
pub fn grid_tv(tv: &TvTable) -> Result<String, LayoutError> {
    let held = Held::new(tv)?;
    let cell = |element| match held.owners(element) {
        [] => String::new(),
        [(thread, value)] => format!("T{thread}V{value}"),
        [(thread, value), ..] => format!("T{thread}V{value}+"),
    };
    let text: Vec<Vec<String>> = held
        .cells
        .values
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect();
    Ok(format!("{}\n{}", tv.title, table(&held.cells, &text)))
}

fn table(cells: &Cells, text: &[Vec<String>]) -> String {
    let mut out = String::new();
    let widest = text.iter().flatten().map(String::len).max().unwrap_or(1);
    let width = widest.max(digits(cells.columns));
    let margin = digits(cells.rows);

    let _ = write!(out, "{:margin$} ", "");
    for column in 0..cells.columns {
        let _ = write!(out, "  {column:>width$} ");
    }
    out.push('\n');
    let rule = |out: &mut String, fill: &str| {
        let _ = write!(out, "{:margin$} ", "");
        for column in 0..cells.columns {
            let corner = corner(fill, column % cells.column_block == 0);
            let _ = write!(out, "{corner}{}", fill.repeat(width + 2));
        }
        let _ = writeln!(out, "{}", corner(fill, true));
    };
    for (row, line) in text.iter().enumerate() {
        let heavy = row as i64 % cells.row_block == 0;
        rule(&mut out, if heavy { "=" } else { "-" });
        let _ = write!(out, "{row:>margin$} ");
        for (column, value) in line.iter().enumerate() {
            let heavy = column as i64 % cells.column_block == 0;
            let _ = write!(out, "{} {value:>width$} ", if heavy { "‖" } else { "|" });
        }
        out.push_str("‖\n");
    }
    rule(&mut out, "=");
    if let Some(note) = cells.left_out() {
        let _ = writeln!(out, "({note})");
    }
    out
}

fn corner(fill: &str, heavy: bool) -> &'static str {
    match (fill, heavy) {
        ("=", _) => "#",
        (_, true) => "‖",
        _ => "+",
    }
}

fn digits(value: i64) -> usize {
    (value - 1).max(0).to_string().len()
}
