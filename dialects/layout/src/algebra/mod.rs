//! The operations of the layout algebra, one family a file.
//!
//! Reading order: `int_tuple` (arithmetic on nested integers), `compare`, `size`, `compact` (strides made
//! from shapes), `coord` (coordinates and offsets), `slice`, `slice_swizzled`, `modes` (modes as a list),
//! `coalesce`, `filter`, `composition`, `complement`, `inverse`, `divide`, `product`,
//! `fragment`, `tile_to_shape`, `recast`, `alignment`, `swizzled` (through swizzles).
//!
//! Every operation is a function from values to a value or a [`LayoutError`](enum@crate::LayoutError).
//! Results agree with C++ CuTe, text for text, wherever C++ CuTe is right by its own definition.
//! A dynamic leaf never changes the profile of a result: what is decided about profiles is decided
//! from static leaves alone, so a type computed from `?` fits every value of it.

mod alignment;
mod by_basis;
mod coalesce;
mod compact;
mod compare;
mod complement;
mod composition;
mod coord;
mod divide;
mod filter;
mod fragment;
mod int_tuple;
mod inverse;
mod modes;
mod product;
mod recast;
mod size;
mod slice;
mod slice_swizzled;
mod swizzled;
mod tile_to_shape;

pub use alignment::{
    max_alignment, max_alignment_any, max_common_layout, max_common_vector, max_common_vector_any,
};
pub use by_basis::{
    complement_by_basis, complement_by_basis_to, is_by_basis, left_inverse_by_basis,
    minimal_complement, right_inverse_by_basis,
};
pub use coalesce::{
    coalesce, coalesce_profile, coalesce_run_time, coalesce_run_time_profile, coalesce_shape,
};
pub(crate) use coalesce::{coalesce_x, coalesce_x_profile};
pub use compact::{
    compact_col_major, compact_col_major_from, compact_order, compact_row_major,
    make_identity_layout, make_layout_like, make_ordered_layout,
};
pub use compare::{colex_less, lex_less};
pub use complement::{complement, complement_default};
pub(crate) use composition::composition_padded;
pub use composition::{composition, composition_any, composition_tiler};
pub use coord::{crd2crd, crd2idx, crd2idx_shape, flat_coord, idx2crd, idx2crd_strided, offset_at};
pub use divide::{
    ceil_div_tiler, flat_divide, logical_divide, logical_divide_layout, tile_unzip, tiled_divide,
    unpack, zipped_divide,
};
pub use filter::{filter, filter_profile, filter_zeros, filter_zeros_with, nullspace};
pub use fragment::make_fragment_like;
pub use int_tuple::{
    ceil_div, compatible, elem_less, elem_scale, evenly_divides, inner_product, product,
    product_each, product_like, round_up, shape_div, sum, tuple_add, tuple_mul, tuple_neg,
    tuple_sub,
};
pub(crate) use int_tuple::{plain_integer, plain_integers};
pub use inverse::{left_inverse, right_inverse, right_inverse_is_largest};
pub use modes::{
    append, append_to_rank, flatten, get, group_modes, prepend, prepend_to_rank, replace, select,
    take, unflatten, zip,
};
pub use product::{
    blocked_product, flat_product, logical_product, logical_product_layout, raked_product,
    tiled_product, zipped_product,
};
pub use recast::{downcast, recast_layout, recast_layout_any, upcast};
pub use size::{coshape, cosize, cosize_any, depth, rank, size, storage};
pub(crate) use slice::coord_text;
pub use slice::{dice, slice, slice_and_offset};
pub use slice_swizzled::slice_swizzled;
pub use swizzled::{compose, left_inverse_any, right_inverse_any, swizzle_through};
pub use tile_to_shape::{domain_distribute, tile_to_shape};

use crate::{IntTuple, Layout, LayoutError, Tree};

/// Applies `f` to the modes of `layout` paired with the modes of `guide`; the modes of `layout`
/// beyond those of `guide` are appended as they are, or dropped.
fn transform_modes<G>(
    op: &'static str,
    layout: &Layout,
    guide: &[G],
    guide_text: impl FnOnce() -> String,
    keep_rest: bool,
    mut f: impl FnMut(Layout, &G) -> Result<Layout, LayoutError>,
) -> Result<Layout, LayoutError> {
    let rank = layout.rank();
    if guide.len() > rank {
        return Err(LayoutError::TooManyModes {
            op,
            limit: rank,
            found: guide.len(),
            value: guide_text(),
        });
    }
    let mut out = Modes::with_capacity(rank);
    for (index, mode) in layout.modes().enumerate() {
        match guide.get(index) {
            Some(guide) => out.push(f(mode, guide)?),
            None if keep_rest => out.push(mode),
            None => break,
        }
    }
    Ok(out.finish())
}

/// A layout under construction, mode by mode; a single mode takes no memory.
struct Modes {
    first: Option<Layout>,
    shapes: Vec<IntTuple>,
    strides: Vec<IntTuple>,
}

impl Modes {
    /// Room for `count` modes, or for one if that is 0.
    fn with_capacity(count: usize) -> Modes {
        Modes {
            first: None,
            shapes: Vec::with_capacity(count),
            strides: Vec::with_capacity(count),
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.shapes.is_empty()
    }

    fn push(&mut self, mode: Layout) {
        if self.shapes.capacity() == 0 && self.first.is_none() {
            self.first = Some(mode);
            return;
        }
        for mode in self.first.take().into_iter().chain([mode]) {
            self.shapes.push(mode.shape);
            self.strides.push(mode.stride);
        }
    }

    /// The layout of these modes.
    fn finish(mut self) -> Layout {
        if let Some(first) = self.first.take() {
            return Layout::concat([first]);
        }
        Layout::raw(Tree::Node(self.shapes), Tree::Node(self.strides))
    }

    /// The layout of these modes, or the mode itself if it is the only one.
    fn finish_unwrapped(mut self) -> Layout {
        match self.first.take() {
            Some(only) => only,
            None => self.finish(),
        }
    }
}

fn node2(a: IntTuple, b: IntTuple) -> IntTuple {
    Tree::Node(vec![a, b])
}

fn rank_mismatch(
    op: &'static str,
    expected: usize,
    found: usize,
    value: impl ToString,
) -> LayoutError {
    LayoutError::RankMismatch {
        op,
        expected,
        found,
        value: value.to_string(),
    }
}
