//! `tile.print`: the first rows and columns of tiles go through shared memory to one thread, which prints a line for each row;
//! and `gpu.printf` of numbers, which all threads have: one prints.
use super::super::emits::Emits;
use super::super::types::Failed;
use super::exchange::Among;
use super::scratch::{Scratch, Through};
use super::{Partition, Spread};
use crate::passes::cmpi::{EQUAL, LESS};
use crate::passes::ir_utils::{clone, present, string_attribute};
use crate::passes::user_error::of_semantics;
use cutec_dialects::builder::{Insertion, IrOp, IrValue, argument_of, region_with_block};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, ScfOp, tile};
use cutec_dialects::semantics::SemError;
use cutec_layout::{AnyLayout, Layout};

/// What one call of `vprintf` takes (CUDA C++ Programming Guide, "Formatted Output").
const MOST_ARGUMENTS: usize = 32;
/// The most elements of a row that are printed, and the most rows.
const MOST_COLUMNS: i64 = 16;
const MOST_ROWS: i64 = 32;

/// What is printed of tiles of a shape: so many of their first rows, of each so many of its first elements.
pub(super) struct Window {
    shape: Vec<i64>,
    rows: i64,
    columns: i64,
}

impl Window {
    /// Of tiles of a shape, `tiles` of them beside so many numbers.
    pub(super) fn of(shape: &[i64], tiles: usize, numbers: usize) -> Window {
        let (last, outer) = shape.split_last().unwrap_or((&1, &[]));
        let room = MOST_ARGUMENTS.saturating_sub(numbers + outer.len()) / tiles.max(1);
        Window {
            shape: shape.to_vec(),
            rows: outer.iter().product::<i64>().min(MOST_ROWS),
            columns: (*last).min(MOST_COLUMNS).min(room as i64).max(1),
        }
    }

    /// The buffer for the tile of a number.
    pub(super) fn scratch(&self, elem: Elem, number: usize) -> Scratch {
        let layout = AnyLayout::Plain(Layout::scalar(self.rows * self.columns, 1));
        Scratch::of(Through::Print, elem, layout).numbered(number)
    }

    /// Rows that there are.
    fn all_rows(&self) -> i64 {
        let (_, outer) = self.shape.split_last().unwrap_or((&1, &[]));
        outer.iter().product()
    }

    fn is_all(&self) -> bool {
        self.rows == self.all_rows() && self.shape.last() == Some(&self.columns)
    }

    /// What stands in front of a row: its coordinates, and how far it goes where it does not go to the end.
    fn place(&self) -> String {
        let outer = self.shape.len().saturating_sub(1);
        let last = match self.shape.last() == Some(&self.columns) {
            true => ":".to_owned(),
            false => format!(":{}", self.columns),
        };
        format!("[{}{last}] ", "%d, ".repeat(outer))
    }
}

/// The conversions of a text, each with what stands before it, and what stands behind the last one.
fn pieces(text: &str) -> (Vec<(String, String)>, String) {
    let (mut found, mut before) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let body = &rest[at + 1..];
        let length = body.find(|c: char| c.is_ascii_alphabetic() && c != 'l' || c == '%');
        let end = at + 1 + length.map_or(body.len(), |length| length + 1);
        before.push_str(&rest[..at]);
        match &rest[at..end] {
            "%%" => before.push_str("%%"),
            conversion => found.push((std::mem::take(&mut before), conversion.to_owned())),
        }
        rest = &rest[end..];
    }
    before.push_str(rest);
    (found, before)
}

impl<'c> Partition<'c> {
    /// Numbers are the same in all threads.
    pub(super) fn print_once(&mut self, op: IrOp<'c>) -> Result<(), Failed<'c>> {
        let first = self.is_first_thread();
        let printed = self.only_if(first, |this| {
            this.ir.insert(clone(op));
            Ok(())
        });
        printed.map_err(|error| (op, of_semantics(&error)))
    }

    fn is_first_thread(&mut self) -> IrValue<'c> {
        let (thread, zero) = (self.thread(), self.ir.constant(0, "i32"));
        self.compare(EQUAL, thread, zero)
    }

    pub(super) fn print(&mut self, op: IrOp<'c>) -> Result<(), SemError> {
        self.within_a_block("a tile that is printed")?;
        let values = present(tile::Print::of(op))?.values();
        let format = string_attribute(op, "format").unwrap_or_default();
        let mut tiles = Vec::new();
        for index in 0..values.len() {
            if let Ok((vector, spread)) = self.of(op, index) {
                tiles.push((index, vector, spread));
            }
        }
        let Some((.., spread)) = tiles.first() else {
            return Err(SemError::Illegal("expects a tile to print".into()));
        };
        let numbers = values.len() - tiles.len();
        let window = Window::of(&spread.tile.shape, tiles.len(), numbers);
        self.meet_before_writing(op);
        let mut buffers = Vec::new();
        for (number, (index, vector, spread)) in tiles.iter().enumerate() {
            let elem = spread.tile.elem;
            let buffer = self.scratch(op, window.scratch(elem, number))?;
            self.show(*vector, spread, &window, buffer)?;
            buffers.push((*index, buffer, elem));
        }
        self.meet(Among::Block);
        let first = self.is_first_thread();
        self.only_if(first, |this| this.rows(&format, &values, &buffers, &window))?;
        // Before the memory is used for anything else.
        self.meet(Among::Block);
        Ok(())
    }

    /// Writes what is printed of a tile to a buffer, a row after the other.
    fn show(
        &mut self,
        vector: IrValue<'c>,
        spread: &Spread,
        window: &Window,
        buffer: IrValue<'c>,
    ) -> Result<(), SemError> {
        let last = window.shape.len().saturating_sub(1);
        let (word, bit) = (self.ir.ty("i32"), self.ir.ty("i1"));
        // The row of each element, and its place in it.
        let mut rows: Vec<IrValue<'c>> = Vec::new();
        let mut columns = Vec::new();
        for axis in 0..=last {
            let at = self.coordinates(spread, axis)?;
            let at = self.elements_of(at, spread.values(), Elem::I32);
            if axis == last {
                columns = at;
                continue;
            }
            let extent = self.ir.constant(window.shape[axis], "i32");
            rows = match rows.is_empty() {
                true => at,
                false => std::iter::zip(rows, at)
                    .map(|(row, at)| {
                        let row = self.ir.value(ArithOp::Muli, &[row, extent], &[], word);
                        self.ir.value(ArithOp::Addi, &[row, at], &[], word)
                    })
                    .collect(),
            };
        }
        let elements = self.elements(vector, spread);
        let coord = self.coordinate_type(1);
        self.once(spread, |this| {
            let (most_rows, most_columns) = (
                this.ir.constant(window.rows, "i32"),
                this.ir.constant(window.columns, "i32"),
            );
            for (at, number) in elements.into_iter().enumerate() {
                let column = columns[at];
                let place = match rows.get(at) {
                    None => column,
                    Some(row) => {
                        let row = this
                            .ir
                            .value(ArithOp::Muli, &[*row, most_columns], &[], word);
                        this.ir.value(ArithOp::Addi, &[row, column], &[], word)
                    }
                };
                let store = |this: &mut Self| {
                    let at = this.ir.value(CuteOp::MakeCoord, &[place], &[], coord);
                    let operands = [number, buffer, at];
                    this.ir.op(CuteOp::MemrefStore, &operands, &[], &[]);
                    Ok(())
                };
                if window.is_all() {
                    store(this)?;
                    continue;
                }
                let mut inside = this.compare(LESS, column, most_columns);
                if let Some(row) = rows.get(at) {
                    let above = this.compare(LESS, *row, most_rows);
                    inside = this.ir.value(ArithOp::Andi, &[inside, above], &[], bit);
                }
                this.only_if(inside, store)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The lines of all rows, by one thread.
    fn rows(
        &mut self,
        format: &str,
        values: &[IrValue<'c>],
        buffers: &[(usize, IrValue<'c>, Elem)],
        window: &Window,
    ) -> Result<(), SemError> {
        let word = self.ir.ty("i32");
        let (conversions, behind) = pieces(format.strip_suffix('\n').unwrap_or(format));
        let mut text = window.place();
        for (index, (before, conversion)) in conversions.iter().enumerate() {
            text.push_str(before);
            let is_tile = buffers.iter().any(|(of, ..)| *of == index);
            let count = if is_tile { window.columns as usize } else { 1 };
            text.push_str(&vec![conversion.as_str(); count].join(" "));
            if is_tile && window.shape.last() != Some(&window.columns) {
                text.push_str(" …");
            }
        }
        text.push_str(&behind);
        text.push('\n');
        let coord = self.coordinate_type(1);
        let bounds = [0, window.rows, 1].map(|bound| self.ir.constant(bound, "i32"));
        let (region, block) = region_with_block(&[(word, self.ir.location)]);
        let outside = std::mem::replace(&mut self.ir.insertion, Insertion::End(block));
        let row = argument_of(block, 0);
        let mut operands = Vec::new();
        // The coordinates of the row, of which the last is the fastest.
        let outer = window.shape.len().saturating_sub(1);
        for axis in 0..outer {
            let step: i64 = window.shape[axis + 1..outer].iter().product();
            let step = self.ir.constant(step, "i32");
            let mut at = self.ir.value(ArithOp::Divui, &[row, step], &[], word);
            if axis > 0 {
                let extent = self.ir.constant(window.shape[axis], "i32");
                at = self.ir.value(ArithOp::Remui, &[at, extent], &[], word);
            }
            operands.push(at);
        }
        let columns = self.ir.constant(window.columns, "i32");
        let first = self.ir.value(ArithOp::Muli, &[row, columns], &[], word);
        for (index, value) in values.iter().enumerate() {
            let Some((_, buffer, elem)) = buffers.iter().find(|(of, ..)| *of == index) else {
                operands.push(*value);
                continue;
            };
            let ty = self.ir.number_type(*elem);
            for column in 0..window.columns {
                let column = self.ir.constant(column, "i32");
                let place = self.ir.value(ArithOp::Addi, &[first, column], &[], word);
                let at = self.ir.value(CuteOp::MakeCoord, &[place], &[], coord);
                let mut number = self.ir.value(CuteOp::MemrefLoad, &[*buffer, at], &[], ty);
                if *elem == Elem::F32 {
                    let wide = self.ir.ty("f64");
                    number = self.ir.value(ArithOp::Extf, &[number], &[], wide);
                }
                operands.push(number);
            }
        }
        let attrs = [("format", self.ir.string(&text))];
        self.ir.op(GpuOp::Printf, &operands, &attrs, &[]);
        self.ir.op(ScfOp::Yield, &[], &[], &[]);
        self.ir.insertion = outside;
        self.ir
            .op_with_regions(ScfOp::For, &bounds, &[], &[], vec![region]);
        let more = window.all_rows() - window.rows;
        if more > 0 {
            let text = format!("… {more} more rows\n");
            let attrs = [("format", self.ir.string(&text))];
            self.ir.op(GpuOp::Printf, &[], &attrs, &[]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn conversions_are_told_from_what_stands_around() {
        let (found, behind) = pieces("x[%d] %% = %-8.3f, %lld.");
        let found: Vec<_> = found
            .iter()
            .map(|(before, conversion)| (before.as_str(), conversion.as_str()))
            .collect();
        assert_eq!(found, [("x[", "%d"), ("] %% = ", "%-8.3f"), (", ", "%lld")]);
        assert_eq!(behind, ".");
    }
}
