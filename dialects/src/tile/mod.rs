//! The `tile` dialect: types of tiles, and what makes an operation legal.
//!
//! A tile is a ranked tensor of static shape. Once a pass has chosen how it is spread over the
//! threads of a block, its type carries that as [`TileLayout`], in the encoding. What is chosen where a program does not say it
//! follows from the [`cost_model`].
pub mod cost_model;
mod layout;
mod merged;
mod place;
mod precision;
mod recast;
mod verify;
mod windows;

pub use crate::ops::TileOp;
pub use layout::{Mode, Narrower, SideBySide, TileLayout};
pub use merged::{BOX, box_extents, modes_of_axes};
pub use place::{BOUND, BY_ELEMENT, by_element};
pub use precision::{PRECISION, Precision};
pub use recast::Recast;
pub use verify::{MOST_AXES, REDUCTIONS, check_op};
pub use windows::{GATHERED_SINCE, WINDOWS, Windows};

/// The attribute of a `tile.read` whose tile is the transpose of what the buffer holds.
pub const TRANSPOSED: &str = "transposed";

/// The attribute of a product that is taken off the sums.
pub const NEGATED: &str = "negated";

use crate::elem::Elem;
use crate::memo::{tile_type, type_text};
use melior::Context;
use melior::ir::{Attribute, Type, TypeLike};
use std::fmt;
use std::ops::RangeInclusive;

/// Whether a type is `!tile.token`.
pub fn is_token(ty: Type) -> bool {
    &*type_text(ty) == "!tile.token"
}

/// The type of a tile.
#[derive(Clone, Debug, PartialEq)]
pub struct TileType {
    /// Element type.
    pub elem: Elem,
    /// Extents, all static.
    pub shape: Vec<i64>,
    /// How it is spread over threads, once chosen.
    pub layout: Option<TileLayout>,
}

impl TileType {
    /// A tile that is not spread yet.
    pub fn new(elem: Elem, shape: &[i64]) -> Self {
        TileType {
            elem,
            shape: shape.to_vec(),
            layout: None,
        }
    }

    /// The tile that an MLIR type is; `None` for types that are no ranked tensors.
    ///
    /// # Errors
    /// Why a ranked tensor is no tile.
    pub fn of(ty: Type) -> Option<Result<TileType, String>> {
        // SAFETY: the type is alive.
        unsafe { mlir_sys::mlirTypeIsARankedTensor(ty.to_raw()) }.then(|| tile_type(ty))
    }

    /// Reads a ranked tensor; [`crate::memo`] keeps what it is.
    pub(crate) fn read(ty: Type) -> Result<TileType, String> {
        let raw = ty.to_raw();
        // SAFETY: the type is a ranked tensor; an absent encoding is null.
        let (elem, shape, encoding) = unsafe {
            let rank = mlir_sys::mlirShapedTypeGetRank(raw);
            let shape: Vec<i64> = (0..rank as isize)
                .map(|axis| mlir_sys::mlirShapedTypeGetDimSize(raw, axis))
                .collect();
            (
                Type::from_raw(mlir_sys::mlirShapedTypeGetElementType(raw)).to_string(),
                shape,
                Attribute::from_option_raw(mlir_sys::mlirRankedTensorTypeGetEncoding(raw)),
            )
        };
        let Some(elem) = Elem::parse(&elem) else {
            return Err(format!("{elem} is no element type of a tile"));
        };
        if let Some(extent) = shape.iter().find(|extent| **extent < 1) {
            let found = match *extent {
                0 => "0",
                _ => "an extent that is not static",
            };
            return Err(format!("expects extents of at least 1, but got {found}"));
        }
        let size = shape
            .iter()
            .try_fold(1i64, |size, extent| size.checked_mul(*extent));
        if size.is_none_or(|size| size > MOST_ELEMENTS) {
            return Err(format!("a tile has at most {MOST_ELEMENTS} elements"));
        }
        let layout = encoding
            .map(|encoding| TileLayout::of_attribute(&encoding.to_string()))
            .transpose()?;
        if let Some(layout) = &layout {
            layout.check(&shape)?;
        }
        Ok(TileType {
            elem,
            shape,
            layout,
        })
    }

    /// The same, spread as told.
    pub fn with_layout(&self, layout: TileLayout) -> TileType {
        TileType {
            layout: Some(layout),
            ..self.clone()
        }
    }

    /// The same of another element type.
    pub fn with_elem(&self, elem: Elem) -> TileType {
        TileType {
            elem,
            ..self.clone()
        }
    }

    /// Elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// As an MLIR type.
    ///
    /// # Panics
    /// Where the layout does not fit the shape: a mistake in cutec, not in its input.
    #[allow(clippy::disallowed_methods)]
    pub fn ir<'c>(&self, context: &'c Context) -> Type<'c> {
        let text = self.to_string();
        Type::parse(context, &text).unwrap_or_else(|| panic!("internal: `{text}` is no MLIR type"))
    }
}

/// Elements of the largest tile.
pub const MOST_ELEMENTS: i64 = 1 << 20;

/// Iterations of a loop that may be under way at a time.
pub const STAGES: RangeInclusive<i64> = 1..=16;

/// What a loop says in place of that where the cost model is to choose: `pipeline for`.
pub const CHOSEN_STAGES: i64 = 0;

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("tensor<")?;
        for extent in &self.shape {
            write!(f, "{extent}x")?;
        }
        write!(f, "{}", self.elem)?;
        if let Some(layout) = &self.layout {
            write!(f, ", #tile.tv<\"{}\">", layout.tv())?;
        }
        f.write_str(">")
    }
}
