//! [`TiledCopy`]: copies of a copy atom over threads and values that cover a tile.

use super::partition::{Partition, slice_any};
use crate::algebra::{
    coalesce_profile, composition, composition_any, composition_tiler, logical_product_layout,
    product_each, right_inverse, slice, upcast, zip, zipped_divide,
};
use crate::{AnyLayout, Coord, Int, IntTuple, Layout, LayoutError, Tiler, Tree};

/// The thread-value layouts of a copy instruction, in elements of the type it is used with:
/// `(thread, value) -> position`, as the source, the destination and the reference order see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CopyAtom {
    /// What each thread reads.
    pub src_tv: Layout,
    /// What each thread writes.
    pub dst_tv: Layout,
    /// The order in which a tiled copy counts threads and values.
    pub ref_tv: Layout,
}

impl CopyAtom {
    /// The atom of one thread that copies `values` contiguous elements.
    pub fn universal(values: i64) -> CopyAtom {
        let tv = Layout::concat([
            Layout::unit(),
            Layout::scalar(values, i64::from(values != 1)),
        ]);
        CopyAtom {
            src_tv: tv.clone(),
            dst_tv: tv.clone(),
            ref_tv: tv,
        }
    }

    /// The same instruction for elements of `new_bits` bits instead of `old_bits`.
    ///
    /// # Errors
    /// If the layouts cannot be recast.
    pub fn recast(&self, new_bits: i64, old_bits: i64) -> Result<CopyAtom, LayoutError> {
        let recast = |tv| crate::algebra::recast_layout(tv, new_bits, old_bits);
        Ok(CopyAtom {
            src_tv: recast(&self.src_tv)?,
            dst_tv: recast(&self.dst_tv)?,
            ref_tv: recast(&self.ref_tv)?,
        })
    }

    /// Number of threads that execute the instruction together.
    pub fn threads(&self) -> Int {
        mode_size(&self.ref_tv, 0)
    }

    /// Number of values a thread.
    pub fn values(&self) -> Int {
        mode_size(&self.ref_tv, 1)
    }
}

pub(super) fn mode_size(layout: &Layout, mode: usize) -> Int {
    layout.mode(mode).map_or(Int::ONE, |mode| mode.size())
}

/// Copies of an atom over threads and values that cover a tile of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TiledCopy {
    atom: CopyAtom,
    layout_tv: Layout,
    tiler_mn: Tiler,
}

impl TiledCopy {
    /// A tiled copy from `(thread, value) -> position in the tile` and the tile of the tensor.
    ///
    /// # Errors
    /// If there are fewer threads or values than the atom needs, or not a multiple of them.
    pub fn new(
        atom: CopyAtom,
        layout_tv: Layout,
        tiler_mn: Tiler,
    ) -> Result<TiledCopy, LayoutError> {
        const OP: &str = "make_tiled_copy";
        let pairs = [
            (
                "a number of threads",
                atom.threads(),
                mode_size(&layout_tv, 0),
            ),
            (
                "a number of values",
                atom.values(),
                mode_size(&layout_tv, 1),
            ),
        ];
        for (what, divisor, value) in pairs {
            if !value.modulo(&divisor).is(0) {
                return Err(LayoutError::NotDivisible {
                    op: OP,
                    what,
                    divisor,
                    value,
                });
            }
        }
        Ok(TiledCopy {
            atom,
            layout_tv,
            tiler_mn,
        })
    }

    /// The atom.
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// `(thread, value) -> position in the tile`, in the reference order.
    pub fn layout_tv(&self) -> &Layout {
        &self.layout_tv
    }

    /// The tile of the tensor that one round of the copy covers.
    pub fn tiler_mn(&self) -> &Tiler {
        &self.tiler_mn
    }

    /// Number of threads.
    pub fn threads(&self) -> Int {
        mode_size(&self.layout_tv, 0)
    }

    /// Number of values a thread and round.
    pub fn values(&self) -> Int {
        mode_size(&self.layout_tv, 1)
    }

    /// A source tensor `(M, N, …)` as `(thread, (value, rest), (RestM, RestN, …))`.
    ///
    /// # Errors
    /// If the tensor has too few modes or is not divided by the tile.
    pub fn tidfrg_s(&self, tensor: &AnyLayout) -> Result<AnyLayout, LayoutError> {
        self.tidfrg(tensor, &self.atom.src_tv)
    }

    /// A destination tensor `(M, N, …)` as `(thread, (value, rest), (RestM, RestN, …))`.
    ///
    /// # Errors
    /// As [`TiledCopy::tidfrg_s`].
    pub fn tidfrg_d(&self, tensor: &AnyLayout) -> Result<AnyLayout, LayoutError> {
        self.tidfrg(tensor, &self.atom.dst_tv)
    }

    /// What thread `thread` reads of a source tensor: `(value, RestM, RestN, …)`.
    ///
    /// # Errors
    /// As [`TiledCopy::tidfrg_s`].
    pub fn partition_s(&self, thread: &Int, tensor: &AnyLayout) -> Result<Partition, LayoutError> {
        at_thread(thread, tensor.rank(), &self.tidfrg_s(tensor)?)
    }

    /// What thread `thread` writes of a destination tensor: `(value, RestM, RestN, …)`.
    ///
    /// # Errors
    /// As [`TiledCopy::tidfrg_s`].
    pub fn partition_d(&self, thread: &Int, tensor: &AnyLayout) -> Result<Partition, LayoutError> {
        at_thread(thread, tensor.rank(), &self.tidfrg_d(tensor)?)
    }

    /// `(thread, value) -> position in the tile` of the source.
    ///
    /// # Errors
    /// As [`TiledCopy::tidfrg_s`].
    pub fn layout_s_tv(&self) -> Result<Layout, LayoutError> {
        self.side_tv(&self.atom.src_tv)
    }

    /// `(thread, value) -> position in the tile` of the destination.
    ///
    /// # Errors
    /// As [`TiledCopy::tidfrg_s`].
    pub fn layout_d_tv(&self) -> Result<Layout, LayoutError> {
        self.side_tv(&self.atom.dst_tv)
    }

    /// A register fragment of another partition, seen in the order of this copy:
    /// `(value, RestM, RestN, …)`. The fragment's first mode must be the first values of each
    /// thread.
    ///
    /// # Errors
    /// If the fragment does not divide that way.
    pub fn retile(&self, fragment: &Layout) -> Result<Layout, LayoutError> {
        let rank = fragment.rank();
        let held = mode_size(fragment, 0);
        let shape = self.tile_shape()?;
        let inverse = right_inverse(&self.layout_tv);
        let shaped = composition(&inverse, &Layout::col_major(shape))?;
        let unit = self.threads().mul(&held);
        let unit = unit.as_static().ok_or_else(|| LayoutError::NotStatic {
            op: "retile",
            what: "the number of threads and values",
            value: unit.clone(),
        })?;
        let order_mn = upcast(&shaped, unit)?;
        let first = Layout::contiguous(held.clone());
        let order_v = logical_product_layout(&first, &right_inverse(&order_mn))?;
        let atom_values = Layout::contiguous(self.atom.values());
        let order_v = zipped_divide(&order_v, &Tiler::Layout(atom_values))?;

        let mut tile = vec![Tree::Leaf(held)];
        tile.extend(product_each(order_mn.shape()).modes().iter().cloned());
        let tiled = zipped_divide(fragment, &Tiler::from_shape(&Tree::Node(tile)))?;
        let by_value = Tiler::Tile(vec![Tiler::Layout(order_v), Tiler::All]);
        let tiled = composition_tiler(&tiled, &by_value)?;
        let mut rest: Vec<Coord> = vec![Tree::Leaf(None); rank];
        if let Some(first) = rest.first_mut() {
            *first = Tree::Leaf(Some(Int::ZERO));
        }
        let rest = match rank {
            1 => Tree::Leaf(Some(Int::ZERO)),
            _ => Tree::Node(rest),
        };
        slice(&Tree::Node(vec![Tree::Leaf(None), rest]), &tiled)
    }

    /// The shape of the tile.
    ///
    /// # Errors
    /// If the tiler leaves a mode open.
    pub fn tile_shape(&self) -> Result<IntTuple, LayoutError> {
        self.tiler_mn
            .shape()
            .ok_or_else(|| LayoutError::Unsupported {
                op: "tiled_copy",
                expected: "a tiler without `_`",
                found: self.tiler_mn.to_string(),
            })
    }

    fn tidfrg(&self, tensor: &AnyLayout, side: &Layout) -> Result<AnyLayout, LayoutError> {
        let (needed, found) = (self.tiler_mn.rank(), tensor.rank());
        if found < needed {
            return Err(LayoutError::RankMismatch {
                op: "partition",
                expected: needed,
                found,
                value: tensor.to_string(),
            });
        }
        let tiled = tensor.map_inner(|inner| zipped_divide(inner, &self.tiler_mn))?;
        self.tile_to_threads(&tiled, side)
    }

    /// `((TileM, …), (RestM, …))` as `(thread, (value, rest), (RestM, …))`.
    fn tile_to_threads(&self, tiled: &AnyLayout, side: &Layout) -> Result<AnyLayout, LayoutError> {
        let from_ref = composition(&right_inverse(&self.atom.ref_tv), side)?;
        let atom_tile = Tiler::Tile(vec![
            Tiler::Int(self.atom.threads()),
            Tiler::Int(self.atom.values()),
        ]);
        let atom_tv = zipped_divide(&self.layout_tv, &atom_tile)?;
        let side_tile = Tiler::Tile(vec![Tiler::Layout(from_ref), Tiler::All]);
        let side_tv = zip(&composition_tiler(&atom_tv, &side_tile)?)?;
        let leaf = || Tree::Leaf(());
        let profile = Tree::Node(vec![leaf(), Tree::Node(vec![leaf(), leaf()])]);
        let tv = coalesce_profile(&side_tv, &profile)?;
        let tv_tile = Tiler::Tile(vec![Tiler::Layout(tv), Tiler::All]);
        let by_thread = composition_any(tiled, &tv_tile)?;
        let all = || Tree::Leaf(None);
        let coord = Tree::Node(vec![Tree::Node(vec![all(), all()]), all()]);
        by_thread.map_inner(|inner| slice(&coord, inner))
    }

    fn side_tv(&self, side: &Layout) -> Result<Layout, LayoutError> {
        let unit = Tree::Leaf(Int::ONE);
        let tile = Layout::col_major(Tree::Node(vec![self.tile_shape()?, unit]));
        let by_thread = self.tile_to_threads(&AnyLayout::Plain(tile), side)?;
        let coord = Tree::Node(vec![
            Tree::Leaf(None),
            Tree::Leaf(None),
            Tree::Leaf(Some(Int::ZERO)),
        ]);
        slice(&coord, by_thread.inner())
    }
}

/// Slices `(thread, value, (RestM, RestN, …))` at a thread.
fn at_thread(thread: &Int, rank: usize, by_thread: &AnyLayout) -> Result<Partition, LayoutError> {
    let rest = match rank {
        1 => Tree::Leaf(None),
        rank => Tree::Node(vec![Tree::Leaf(None); rank]),
    };
    let coord = Tree::Node(vec![
        Tree::Leaf(Some(thread.clone())),
        Tree::Leaf(None),
        rest,
    ]);
    slice_any(&coord, by_thread)
}
