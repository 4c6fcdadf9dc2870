//! The values of a layout as a matrix of rows and columns.

use crate::{AnyLayout, Int, IntTuple, Tree, algebra};

/// Rows and columns beyond this are left out of a picture.
pub(super) const LIMIT: i64 = 256;

/// The values of a layout of rank 2. A layout of rank 1 is one row; of more than two modes, the
/// later ones follow each other as columns.
pub(super) struct Cells {
    pub rows: i64,
    pub columns: i64,
    /// Rows and columns in all, of which only some are in `values`.
    pub all_rows: i64,
    pub all_columns: i64,
    /// `values[row][column]`.
    pub values: Vec<Vec<IntTuple>>,
    /// Where the inner mode of the rows and of the columns ends, for thicker lines.
    pub row_block: i64,
    pub column_block: i64,
}

impl Cells {
    /// The matrix, or `None` if an extent is not static.
    pub fn new(layout: &AnyLayout) -> Option<Cells> {
        let shape = layout.shape();
        let (row_shape, column_shape) = match shape {
            Tree::Node(modes) if modes.len() >= 2 => {
                let columns = match &modes[1..] {
                    [only] => only.clone(),
                    more => Tree::Node(more.to_vec()),
                };
                (modes[0].clone(), columns)
            }
            other => (Tree::Leaf(Int::ONE), other.clone()),
        };
        let all_rows = algebra::product(&row_shape).as_static()?;
        let all_columns = algebra::product(&column_shape).as_static()?;
        let (rows, columns) = (all_rows.clamp(0, LIMIT), all_columns.clamp(0, LIMIT));
        let mut values = Vec::new();
        for row in 0..rows {
            let mut line = Vec::new();
            for column in 0..columns {
                let index =
                    Tree::Leaf(Int::Static(column.checked_mul(all_rows)?.checked_add(row)?));
                line.push(layout.at(&index).ok()?);
            }
            values.push(line);
        }
        Some(Cells {
            rows,
            columns,
            all_rows,
            all_columns,
            values,
            row_block: inner_extent(&row_shape),
            column_block: inner_extent(&column_shape),
        })
    }

    /// What to say of the rows and columns that are left out.
    pub fn left_out(&self) -> Option<String> {
        let cut = self.rows < self.all_rows || self.columns < self.all_columns;
        cut.then(|| {
            format!(
                "{} of {} rows, {} of {} columns",
                self.rows, self.all_rows, self.columns, self.all_columns
            )
        })
    }
}

/// The extent of the first leaf of a nested mode; of a flat one, all of it.
fn inner_extent(shape: &IntTuple) -> i64 {
    let leaves = shape.leaves();
    let first = leaves.iter().find(|leaf| !leaf.is(1));
    match first {
        Some(first) if leaves.len() > 1 => first.as_static().unwrap_or(i64::MAX).max(1),
        _ => i64::MAX,
    }
}
