//! A thread-value layout as what each element is held by.

use super::cells::Cells;
use crate::{AnyLayout, Int, IntTuple, Layout, LayoutError, Tree, algebra};

/// Threads, values and elements beyond this are left out.
const MOST: i64 = 1 << 12;
const MOST_ELEMENTS: i64 = 1 << 16;
const OP: &str = "draw";

/// A thread-value layout over a tile.
#[derive(Clone, Debug)]
pub struct TvTable {
    /// What stands over it.
    pub title: String,
    /// (thread, value) to the index of an element.
    pub layout_tv: Layout,
    /// (row, column) of the picture to the index of an element.
    pub positions: Layout,
}

impl TvTable {
    /// Over the tile of a shape, elements numbered column-major, as the layouts of [`crate::tv`] do.
    pub fn over(title: impl Into<String>, layout_tv: &Layout, tile: &IntTuple) -> TvTable {
        TvTable {
            title: title.into(),
            layout_tv: layout_tv.clone(),
            positions: Layout::col_major(tile.clone()),
        }
    }
}

/// Who holds the elements of a tile.
pub(super) struct Held {
    pub cells: Cells,
    /// (thread, value) by element.
    owners: Vec<Vec<(i64, i64)>>,
}

impl Held {
    /// # Errors
    /// If a layout is not static, or the thread-value layout does not have two modes.
    pub fn new(table: &TvTable) -> Result<Held, LayoutError> {
        let tv = &table.layout_tv;
        let not_static = |what: &'static str, value: Int| LayoutError::NotStatic {
            op: OP,
            what,
            value,
        };
        let (Some(threads), Some(values), 2) = (tv.mode(0), tv.mode(1), tv.rank()) else {
            return Err(LayoutError::RankMismatch {
                op: OP,
                expected: 2,
                found: tv.rank(),
                value: tv.to_string(),
            });
        };
        let count = |size: Int| size.as_static().ok_or_else(|| not_static("a size", size));
        let (threads, values) = (count(threads.size())?, count(values.size())?);
        let tile = table.positions.size();
        let Some(cells) = Cells::new(&AnyLayout::Plain(table.positions.clone())) else {
            return Err(not_static("the tile", tile));
        };
        let most = tile.as_static().unwrap_or(0).clamp(0, MOST_ELEMENTS);
        let mut owners = vec![Vec::new(); most as usize];
        for thread in 0..threads.min(MOST) {
            for value in 0..values.min(MOST) {
                let coord =
                    Tree::Node([thread, value].map(|n| Tree::Leaf(Int::Static(n))).to_vec());
                let element = algebra::offset_at(&coord, tv)?;
                let slot = element
                    .as_static()
                    .and_then(|element| usize::try_from(element).ok())
                    .and_then(|element| owners.get_mut(element));
                if let Some(slot) = slot {
                    slot.push((thread, value));
                }
            }
        }
        Ok(Held { cells, owners })
    }

    /// The threads and values that hold an element, in order.
    pub fn owners(&self, element: &IntTuple) -> &[(i64, i64)] {
        element
            .as_leaf()
            .and_then(Int::as_static)
            .and_then(|element| usize::try_from(element).ok())
            .and_then(|element| self.owners.get(element))
            .map_or(&[], Vec::as_slice)
    }
}
