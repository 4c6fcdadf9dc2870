//! Tensor maps: what the tensor memory accelerator of sm_90 and later is told of a tensor.
//!
//! The ABI says from which argument a map is made and which box it moves; binding checks what the
//! hardware demands of the argument (CUDA driver API, `cuTensorMapEncodeTiled`); the device encodes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DType;
use crate::expr::AbiExpr;
use crate::tensor::TensorDesc;

/// A tensor map that a kernel is passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMapAbi {
    /// Index of the tensor argument.
    pub arg: usize,
    /// The view of it that the map is of; `None` where that is the tensor as it is passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<MapView>,
    /// Its modes, fastest first: the map's dimension `i` is mode `order[i]`. The first has stride 1.
    pub order: Vec<usize>,
    /// Extents of the box that one instruction moves, in the map's order; 1 to 256 each. In im2col mode the channels of a
    /// pixel, and how many pixels, up to 1024.
    #[serde(rename = "box")]
    pub box_extents: Vec<u32>,
    /// The pixels of a map in im2col mode; `None` of one of tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub im2col: Option<Im2col>,
    /// How the box is swizzled in shared memory.
    #[serde(default)]
    pub swizzle: MapSwizzle,
    /// Sectors that the L2 cache fetches together.
    #[serde(default)]
    pub l2_promotion: L2Promotion,
    /// What a load leaves for elements beyond the tensor.
    #[serde(default)]
    pub oob_fill: OobFill,
    /// Whether elements of f32 are loaded as tf32, rounded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tf32: bool,
}

/// A view of a tensor that a map is of: modes of its own, which may overlap, from an element of the tensor on. What they are
/// is computed at launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapView {
    /// Elements from the tensor's first one to the view's.
    pub offset: AbiExpr,
    /// Extents; one below 0 is 0.
    pub extents: Vec<AbiExpr>,
    /// Strides in elements.
    pub strides: Vec<AbiExpr>,
}

/// Which pixels a map in im2col mode goes through: those of a box in the dimensions between channels and images, fastest
/// first (PTX ISA, "Im2col mode"; CUDA driver API, `cuTensorMapEncodeIm2col`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Im2col {
    /// Where the box begins, counted from the first pixel.
    pub lower: Vec<i32>,
    /// Where it ends, counted from the last pixel, which is 0.
    pub upper: Vec<i32>,
    /// From each pixel to the next one, 1 to 8.
    pub steps: Vec<u32>,
}

/// Swizzle of a box in shared memory, in bytes of its span; `0`, `32`, `64` or `128` in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum MapSwizzle {
    /// None.
    #[default]
    None,
    /// 32 bytes.
    B32,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
}

/// What a load leaves in shared memory for elements beyond the tensor; `zeros` or `nan` in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OobFill {
    /// Zeros.
    #[default]
    Zeros,
    /// NaN, for types of floating-point numbers.
    Nan,
}

/// Promotion of L2 requests, in bytes; `0`, `64`, `128` or `256` in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum L2Promotion {
    /// None.
    #[default]
    None,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
}

/// A tensor map of a bound launch, to be encoded with the argument's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// Index of the tensor argument.
    pub arg: usize,
    /// Bytes from the argument's address to the first element.
    pub offset_bytes: i64,
    /// Element type.
    pub dtype: DType,
    /// Whether it is of no elements, so that none may be accessed; all its extents are 1 then, as the driver demands.
    pub empty: bool,
    /// Whether the kernel may write through it.
    pub mutable: bool,
    /// Extents, fastest first.
    pub extents: Vec<u64>,
    /// Strides in bytes of all but the first.
    pub stride_bytes: Vec<u64>,
    /// Extents of the box.
    pub box_extents: Vec<u32>,
    /// The pixels, in im2col mode.
    pub im2col: Option<Im2col>,
    /// Swizzle.
    pub swizzle: MapSwizzle,
    /// L2 promotion.
    pub l2_promotion: L2Promotion,
    /// What elements beyond the tensor are loaded as.
    pub oob_fill: OobFill,
}

/// Why an argument cannot be described to the tensor memory accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapProblem {
    /// The fastest mode is not contiguous.
    InnerStride {
        /// The mode.
        mode: usize,
        /// Its stride in elements.
        found: i64,
    },
    /// A stride that is no multiple of 16 bytes, or too large.
    StrideBytes {
        /// The mode.
        mode: usize,
        /// Its stride in bytes.
        found: i64,
        /// The element type.
        dtype: DType,
    },
    /// An extent beyond 2^32.
    Extent {
        /// The mode.
        mode: usize,
        /// The extent.
        found: i64,
    },
    /// A base address that is not aligned to 16 bytes.
    Align {
        /// Its alignment.
        found: u64,
    },
}

/// Alignment of base address and strides, in bytes.
const ALIGN: u64 = 16;
/// Strides are below this, in bytes.
const MAX_STRIDE: u64 = 1 << 40;
/// Extents are at most this.
const MAX_EXTENT: u64 = 1 << 32;
/// Most dimensions of a map.
pub(super) const MAX_RANK: usize = 5;
/// Largest extent of a box.
pub(super) const MAX_BOX: u32 = 256;
/// Most pixels of a box in im2col mode.
pub(super) const MAX_PIXELS: u32 = 1024;
/// Largest step from pixel to pixel.
pub(super) const MAX_STEP: u32 = 8;

impl Im2col {
    /// Whether a map of this rank can have it: as many numbers as there are dimensions of pixels, each of the bits that the
    /// hardware has for it.
    pub fn is_of_rank(&self, rank: usize) -> bool {
        let limit = match rank {
            3 => 1 << 15,
            4 => 1 << 7,
            5 => 1 << 4,
            _ => return false,
        };
        let corners = || self.lower.iter().chain(&self.upper);
        [self.lower.len(), self.upper.len(), self.steps.len()] == [rank - 2; 3]
            && corners().all(|corner| (-limit..limit).contains(corner))
            && self.steps.iter().all(|step| (1..=MAX_STEP).contains(step))
    }
}

impl TensorMapAbi {
    /// The type by which the driver is told of elements of a type.
    pub fn loaded_as(&self, dtype: DType) -> DType {
        match self.tf32 {
            true => DType::TF32,
            false => dtype,
        }
    }

    /// How many modes there are in its order.
    pub fn rank(&self, of_tensor: usize) -> usize {
        self.view
            .as_ref()
            .map_or(of_tensor, |view| view.extents.len())
    }

    /// The map of `tensor`, which `view` says the modes of where it is of a view ([`MapView::of`]); a mode of extent 1 may have any stride, as may all of a tensor without elements.
    pub(super) fn bind(&self, tensor: &TensorDesc) -> Result<TensorMap, MapProblem> {
        if !tensor.align.is_multiple_of(ALIGN) {
            return Err(MapProblem::Align {
                found: tensor.align,
            });
        }
        let size = tensor.dtype.size() as u64;
        let (mut extents, mut stride_bytes) = (Vec::new(), Vec::new());
        // What a mode of extent 1 gets: anything legal. Of a tensor without elements nothing is accessed: its strides are any.
        let mut span = ALIGN;
        let empty = tensor.shape.iter().any(|extent| *extent < 1);
        for (position, &mode) in self.order.iter().enumerate() {
            let extent = tensor.shape.get(mode).copied().unwrap_or(1);
            let stride = tensor.strides.get(mode).copied().unwrap_or(0);
            let found = extent;
            let extent = match empty {
                true => 1,
                false => u64::try_from(extent).unwrap_or(1),
            };
            if extent > MAX_EXTENT {
                return Err(MapProblem::Extent { mode, found });
            }
            let bytes = match u64::try_from(stride).ok().and_then(|s| s.checked_mul(size)) {
                _ if extent == 1 => span,
                Some(bytes) => bytes,
                None => {
                    return Err(MapProblem::StrideBytes {
                        mode,
                        found: stride.saturating_mul(size as i64),
                        dtype: tensor.dtype,
                    });
                }
            };
            if position == 0 && extent > 1 && stride != 1 {
                return Err(MapProblem::InnerStride {
                    mode,
                    found: stride,
                });
            }
            if position > 0 {
                if !bytes.is_multiple_of(ALIGN) || bytes >= MAX_STRIDE {
                    let found = i64::try_from(bytes).unwrap_or(i64::MAX);
                    let dtype = tensor.dtype;
                    return Err(MapProblem::StrideBytes { mode, found, dtype });
                }
                stride_bytes.push(bytes);
            }
            let reach = bytes.saturating_mul(extent).min(MAX_STRIDE - ALIGN);
            span = span.max(reach.next_multiple_of(ALIGN));
            extents.push(extent);
        }
        Ok(TensorMap {
            arg: self.arg,
            offset_bytes: 0,
            empty,
            mutable: false,
            dtype: self.loaded_as(tensor.dtype),
            extents,
            stride_bytes,
            box_extents: self.box_extents.clone(),
            im2col: self.im2col.clone(),
            swizzle: self.swizzle,
            l2_promotion: self.l2_promotion,
            oob_fill: self.oob_fill,
        })
    }
}

impl MapView {
    /// All its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &AbiExpr> {
        let modes = self.extents.iter().chain(&self.strides);
        std::iter::once(&self.offset).chain(modes)
    }

    /// The view of `tensor` as a tensor, and how many bytes behind its first element it begins; `value` evaluates an expression.
    pub(super) fn of<E>(
        &self,
        tensor: &TensorDesc,
        value: impl Fn(&AbiExpr) -> Result<i64, E>,
        too_far: impl FnOnce() -> E,
    ) -> Result<(TensorDesc, i64), E> {
        let all = |exprs: &[AbiExpr]| exprs.iter().map(&value).collect::<Result<Vec<_>, _>>();
        let offset = value(&self.offset)?;
        let bytes = offset.checked_mul(tensor.dtype.size() as i64);
        let bytes = bytes.ok_or_else(too_far)?;
        let mut shape = all(&self.extents)?;
        shape
            .iter_mut()
            .for_each(|extent| *extent = (*extent).max(0));
        let view = TensorDesc {
            shape,
            strides: all(&self.strides)?,
            align: match bytes {
                0 => tensor.align,
                _ => tensor.align.min(1 << bytes.trailing_zeros().min(62)),
            },
            ..tensor.clone()
        };
        Ok((view, bytes))
    }
}

impl MapSwizzle {
    /// Bytes of its span; 0 where there is none.
    pub fn bytes(self) -> u32 {
        match self {
            MapSwizzle::None => 0,
            MapSwizzle::B32 => 32,
            MapSwizzle::B64 => 64,
            MapSwizzle::B128 => 128,
        }
    }
}

impl From<MapSwizzle> for u32 {
    fn from(swizzle: MapSwizzle) -> u32 {
        swizzle.bytes()
    }
}

impl TryFrom<u32> for MapSwizzle {
    type Error = String;

    fn try_from(bytes: u32) -> Result<MapSwizzle, String> {
        [
            MapSwizzle::None,
            MapSwizzle::B32,
            MapSwizzle::B64,
            MapSwizzle::B128,
        ]
        .into_iter()
        .find(|swizzle| swizzle.bytes() == bytes)
        .ok_or_else(|| format!("swizzle {bytes}: expected 0, 32, 64 or 128"))
    }
}

impl From<L2Promotion> for u32 {
    fn from(promotion: L2Promotion) -> u32 {
        match promotion {
            L2Promotion::None => 0,
            L2Promotion::B64 => 64,
            L2Promotion::B128 => 128,
            L2Promotion::B256 => 256,
        }
    }
}

impl TryFrom<u32> for L2Promotion {
    type Error = String;

    fn try_from(bytes: u32) -> Result<L2Promotion, String> {
        [
            L2Promotion::None,
            L2Promotion::B64,
            L2Promotion::B128,
            L2Promotion::B256,
        ]
        .into_iter()
        .find(|promotion| u32::from(*promotion) == bytes)
        .ok_or_else(|| format!("L2 promotion {bytes}: expected 0, 64, 128 or 256"))
    }
}

impl fmt::Display for MapProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapProblem::InnerStride { mode, found } => {
                write!(f, "stride of mode {mode}: expected 1, found {found}")
            }
            MapProblem::StrideBytes { mode, found, dtype } => {
                let elements = (ALIGN as usize / dtype.size()).max(1);
                write!(
                    f,
                    "stride of mode {mode}: expected a multiple of {ALIGN} bytes, {elements} elements of {dtype}, below 2^40, \
                     found {found} bytes"
                )
            }
            MapProblem::Extent { mode, found } => {
                write!(
                    f,
                    "extent of mode {mode}: expected at most 2^32, found {found}"
                )
            }
            MapProblem::Align { found } => {
                write!(f, "base address: expected alignment {ALIGN}, found {found}")
            }
        }
    }
}
