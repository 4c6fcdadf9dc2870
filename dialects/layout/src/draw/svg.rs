//! Layouts as SVG: one square an element, coloured by bank or by thread.

use super::cells::Cells;
use super::panel::{Legend, Panel, Square, document, message};
use super::table::{Held, TvTable};
use crate::banks::{Access, BANK_BYTES, BANKS};
use crate::{AnyLayout, Int, IntTuple, Layout, LayoutError, Tree};
use std::collections::{BTreeMap, BTreeSet};

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

/// Between panels.
const GAP: i64 = 24;

/// The values of a layout as SVG: mode 0 downwards, mode 1 to the right. Thicker lines show where
/// the inner mode of a nested one ends.
pub fn svg(layout: &AnyLayout, colour: Colour) -> String {
    let title = layout.to_string();
    let Some(cells) = Cells::new(layout) else {
        return message(&title, "not a static shape");
    };
    let panel = Panel::new(title, &cells, |value| Square {
        fill: number(value).map_or_else(white, |number| shade(number, colour)),
        corner: None,
        lines: vec![value.to_string()],
        alarm: false,
        group: None,
    });
    let legend = match colour {
        Colour::Bank { .. } => bank_legend(Vec::new()),
        Colour::Thread => Legend::default(),
    };
    document(&[(0, 0, panel)], &legend)
}

/// A layout in shared memory and an access to it as SVG: in each square the offset and the thread
/// that accesses it, with the phase of the access in the corner; coloured by bank, and red where a
/// bank is met by more than one word of a phase. The verdict of [`Access`] stands below.
pub fn svg_access(layout: &AnyLayout, access: &Access, elem_bits: u32) -> String {
    let title = layout.to_string();
    let Some(cells) = Cells::new(layout) else {
        return message(&title, "not a static shape");
    };
    let places = places(access, elem_bits);
    let all_rows = cells.all_rows;
    let panel = {
        let mut panel = Panel::new(title, &cells, |value| Square {
            fill: number(value)
                .map_or_else(white, |number| shade(number, Colour::Bank { elem_bits })),
            corner: None,
            lines: vec![value.to_string()],
            alarm: false,
            group: None,
        });
        for (row, line) in panel.squares.iter_mut().enumerate() {
            for (column, square) in line.iter_mut().enumerate() {
                let element = column as i64 * all_rows + row as i64;
                if let Some(place) = places.get(&element) {
                    square.corner = Some(place.phase.to_string());
                    let more = if place.shared { "+" } else { "" };
                    square.lines.push(format!("T{}{more}", place.thread));
                    square.alarm = place.conflict;
                    square.group = Some(place.phase);
                }
            }
        }
        panel
    };
    let mut lines = vec![
        access.verdict(),
        "offset, thread; in the corner the phase".to_owned(),
    ];
    if access.ways() > 1 {
        lines.push("red: the phase needs other words of the bank too".to_owned());
    }
    document(&[(0, 0, panel)], &bank_legend(lines))
}

struct Place {
    phase: usize,
    thread: usize,
    shared: bool,
    conflict: bool,
}

/// Who accesses each element first.
fn places(access: &Access, elem_bits: u32) -> BTreeMap<i64, Place> {
    let bytes = i64::from(elem_bits).div_euclid(8).max(1);
    let mut places: BTreeMap<i64, Place> = BTreeMap::new();
    for (index, (instruction, phase)) in access.phases().into_iter().enumerate() {
        let instruction = &access.instructions[instruction];
        let crowded: BTreeSet<i64> = (0..BANKS)
            .filter(|bank| phase.words[*bank as usize].len() > 1)
            .collect();
        for lane in phase.lanes {
            let thread = instruction.warp * crate::banks::WARP + lane;
            let lane = &instruction.lanes[lane];
            for (at, element) in lane.elements.iter().enumerate() {
                let word = (lane.address + at as i64 * bytes).div_euclid(BANK_BYTES);
                let place = Place {
                    phase: index,
                    thread,
                    shared: false,
                    conflict: crowded.contains(&word.rem_euclid(BANKS)),
                };
                places
                    .entry(*element)
                    .and_modify(|place| place.shared = true)
                    .or_insert(place);
            }
        }
    }
    places
}

/// A thread-value layout as SVG: the tile of shape `tile`, in each square the thread and the
/// value that hold it, coloured by thread, and in the corner its column-major index. `layout_tv`
/// maps `(thread, value)` to that index, as the layouts of [`crate::tv`] do.
///
/// # Errors
/// If the layout or the tile is not static, or `layout_tv` does not have two modes.
pub fn svg_tv(layout_tv: &Layout, tile: &IntTuple) -> Result<String, LayoutError> {
    let title = format!("{layout_tv} over {tile}");
    svg_tables("", &[TvTable::over(title, layout_tv, tile)])
}

/// Thread-value layouts beside each other; `title`, if any, stands below.
///
/// # Errors
/// As [`svg_tv`].
pub fn svg_tables(title: &str, tables: &[TvTable]) -> Result<String, LayoutError> {
    let held: Result<Vec<Held>, LayoutError> = tables.iter().map(Held::new).collect();
    let held = held?;
    let mut x = 0;
    let mut panels = Vec::new();
    for (table, held) in tables.iter().zip(&held) {
        let panel = owners_panel(&table.title, held);
        let width = panel.width();
        panels.push((x, 0, panel));
        x += width + GAP;
    }
    Ok(document(&panels, &owners_legend(title)))
}

/// The operands of a matrix multiplication as they meet: A (M, K) left of C (M, N), B over it with
/// K downwards, so that rows and columns line up. `title` stands below.
///
/// # Errors
/// As [`svg_tv`].
pub fn svg_mma(title: &str, a: &TvTable, b: &TvTable, c: &TvTable) -> Result<String, LayoutError> {
    let [held_a, held_b, held_c] = [Held::new(a)?, Held::new(b)?, Held::new(c)?];
    let [a, b, c] = [
        owners_panel(&a.title, &held_a),
        owners_panel(&b.title, &held_b),
        owners_panel(&c.title, &held_c),
    ];
    let right = a.width() + GAP;
    let below = b.height() + GAP / 2;
    let panels = [(0, below, a), (right, 0, b), (right, below, c)];
    Ok(document(&panels, &owners_legend(title)))
}

fn owners_panel<'a>(title: &str, held: &'a Held) -> Panel<'a> {
    Panel::new(title, &held.cells, |element| match held.owners(element) {
        [] => Square {
            fill: white(),
            corner: Some(element.to_string()),
            lines: Vec::new(),
            alarm: false,
            group: None,
        },
        [(thread, value), more @ ..] => Square {
            fill: shade(*thread, Colour::Thread),
            corner: Some(element.to_string()),
            lines: vec![
                format!("T{thread}"),
                match more.len() {
                    0 => format!("V{value}"),
                    more => format!("V{value} +{more}"),
                },
            ],
            alarm: false,
            group: None,
        },
    })
}

fn owners_legend(title: &str) -> Legend {
    let meaning = "T thread, V value; in the corner the index of the element".to_owned();
    let lines = match title {
        "" => vec![meaning],
        title => vec![title.to_owned(), meaning],
    };
    Legend {
        lines,
        ..Legend::default()
    }
}

fn bank_legend(lines: Vec<String>) -> Legend {
    let swatch = |bank: i64| {
        let fill = shade(bank, Colour::Bank { elem_bits: 32 });
        (fill, bank.to_string())
    };
    Legend {
        name: "bank",
        swatches: (0..BANKS).map(swatch).collect(),
        lines,
    }
}

fn number(value: &IntTuple) -> Option<i64> {
    match value {
        Tree::Leaf(leaf) => Int::as_static(leaf),
        Tree::Node(_) => None,
    }
}

fn white() -> String {
    "#ffffff".to_owned()
}

/// A light colour, so that black text is read on it; neighbours differ in hue or lightness.
fn shade(value: i64, colour: Colour) -> String {
    let (hue, lightness) = match colour {
        Colour::Bank { elem_bits } => {
            let bytes = i128::from(value) * i128::from(elem_bits) / 8;
            let bank = (bytes / i128::from(BANK_BYTES)).rem_euclid(i128::from(BANKS)) as u32;
            let step = [0.90, 0.82, 0.76, 0.86][bank as usize % 4];
            (f64::from(bank / 4) * 45.0 + f64::from(bank % 4) * 9.0, step)
        }
        Colour::Thread => {
            let (turn, round) = (value.rem_euclid(8), value.div_euclid(8).rem_euclid(4));
            (turn as f64 * 45.0, 0.90 - 0.06 * round as f64)
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
