//! What a host says of a tensor that it passes.

use crate::DType;

/// Shape and placement of a tensor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDesc {
    /// Element type.
    pub dtype: DType,
    /// Extents, one a mode.
    pub shape: Vec<i64>,
    /// Strides in elements, one a mode.
    pub strides: Vec<i64>,
    /// Alignment of the base address, in bytes.
    pub align: u64,
    /// Whether the kernel may write to it.
    pub mutable: bool,
}

impl TensorDesc {
    /// Bytes from the base address to the end of the last element, 0 for an empty tensor; `None`
    /// where that does not fit an `i64`, or an element lies before the base address.
    pub fn span_bytes(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let mut last: i64 = 0;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            if extent > 1 && stride < 0 {
                return None;
            }
            if extent > 1 {
                last = last.checked_add(extent.checked_sub(1)?.checked_mul(stride)?)?;
            }
        }
        let size = i64::try_from(self.dtype.size()).ok()?;
        u64::try_from(last.checked_add(1)?.checked_mul(size)?).ok()
    }
}
