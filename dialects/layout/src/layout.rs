//! [`Layout`]: a shape and a stride of the same profile, that is, a function from coordinates to
//! offsets.

use crate::algebra::{compact_col_major, compact_row_major, product};
use crate::{Int, IntTuple, LayoutError, Tree};
use std::fmt;

/// A shape and a stride of the same profile: a function from coordinates to offsets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    pub(crate) shape: IntTuple,
    pub(crate) stride: IntTuple,
}

impl Layout {
    /// A layout of the given shape and stride.
    ///
    /// # Errors
    /// If the two do not have the same profile, a shape has a basis, or the size or an offset
    /// does not fit 64 bits.
    pub fn new(shape: IntTuple, stride: IntTuple) -> Result<Layout, LayoutError> {
        if !shape.congruent(&stride) {
            return Err(LayoutError::ProfileMismatch {
                op: "make_layout",
                expected: shape.to_string(),
                found: stride.to_string(),
            });
        }
        if let Some(basis) = shape.leaves().iter().find(|leaf| !leaf.path().is_empty()) {
            return Err(LayoutError::Unsupported {
                op: "make_layout",
                expected: "an extent",
                found: basis.to_string(),
            });
        }
        Layout { shape, stride }.check("make_layout")
    }

    /// A layout of parts that are known to be congruent.
    pub(crate) fn raw(shape: IntTuple, stride: IntTuple) -> Layout {
        Layout { shape, stride }
    }

    /// The compact layout of `shape` whose first mode is contiguous.
    pub fn col_major(shape: IntTuple) -> Layout {
        let stride = compact_col_major(&shape);
        Layout { shape, stride }
    }

    /// [`Layout::col_major`] of a tuple that may be no shape.
    ///
    /// # Errors
    /// If an integer has a basis, or the size does not fit 64 bits.
    pub fn compact(shape: IntTuple) -> Result<Layout, LayoutError> {
        let stride = compact_col_major(&shape);
        Layout::new(shape, stride)
    }

    /// The compact layout of `shape` whose last mode is contiguous.
    pub fn row_major(shape: IntTuple) -> Layout {
        let stride = compact_row_major(&shape);
        Layout { shape, stride }
    }

    /// `1:0`, the layout of a single element.
    pub fn unit() -> Layout {
        Layout {
            shape: Tree::Leaf(Int::ONE),
            stride: Tree::Leaf(Int::ZERO),
        }
    }

    /// `shape:stride` of rank 1 without a tuple.
    pub fn scalar(shape: impl Into<Int>, stride: impl Into<Int>) -> Layout {
        Layout {
            shape: Tree::Leaf(shape.into()),
            stride: Tree::Leaf(stride.into()),
        }
    }

    /// `extent:1`, or `1:0` for the extent 1.
    pub fn contiguous(extent: impl Into<Int>) -> Layout {
        let extent = extent.into();
        let stride = i64::from(!extent.is(1));
        Layout::scalar(extent, stride)
    }

    /// The layout whose modes are `layouts`.
    pub fn concat(layouts: impl IntoIterator<Item = Layout>) -> Layout {
        let (shapes, strides) = layouts
            .into_iter()
            .map(|layout| (layout.shape, layout.stride))
            .unzip();
        Layout {
            shape: Tree::Node(shapes),
            stride: Tree::Node(strides),
        }
    }

    /// A layout of modes that are integers, each an extent and a stride.
    #[must_use]
    pub fn of_modes(modes: impl IntoIterator<Item = (i64, i64)>) -> Layout {
        let modes = modes.into_iter();
        Layout::concat(modes.map(|(extent, stride)| Layout::scalar(extent, stride)))
    }

    /// The shape.
    pub fn shape(&self) -> &IntTuple {
        &self.shape
    }

    /// The stride.
    pub fn stride(&self) -> &IntTuple {
        &self.stride
    }

    /// Number of modes at the top: 1 for a scalar layout such as `4:2`.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Nesting depth: 0 for a scalar layout.
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// Number of coordinates.
    pub fn size(&self) -> Int {
        product(&self.shape)
    }

    /// Mode `index` as a layout, or `None` when it is out of range.
    pub fn mode(&self, index: usize) -> Option<Layout> {
        Some(Layout {
            shape: self.shape.mode(index)?.clone(),
            stride: self.stride.mode(index)?.clone(),
        })
    }

    /// The modes at the top as layouts; a scalar layout is its own only mode.
    pub fn modes(&self) -> impl Iterator<Item = Layout> + '_ {
        let pairs = self.shape.modes().iter().zip(self.stride.modes());
        pairs.map(|(shape, stride)| Layout {
            shape: shape.clone(),
            stride: stride.clone(),
        })
    }

    /// True if no leaf is a run-time value.
    pub fn is_static(&self) -> bool {
        let is_static = |tree: &IntTuple| tree.leaves().iter().all(|leaf| leaf.is_static());
        is_static(&self.shape) && is_static(&self.stride)
    }

    /// Replaces variables by what `f` gives for them, and simplifies.
    pub fn substitute(&self, f: &dyn Fn(u32) -> Option<Int>) -> Layout {
        Layout {
            shape: self.shape.map(&mut |leaf| leaf.substitute(f)),
            stride: self.stride.map(&mut |leaf| leaf.substitute(f)),
        }
    }

    /// The static layout in which each variable has the value that `env` gives it.
    pub fn eval(&self, env: &dyn Fn(u32) -> i64) -> Layout {
        self.substitute(&|id| Some(Int::Static(env(id))))
    }

    /// Returns the layout if its size and all its offsets fit 64 bits.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] otherwise.
    pub fn check(self, op: &'static str) -> Result<Layout, LayoutError> {
        match self.fits() {
            true => Ok(self),
            false => Err(LayoutError::Overflow { op }),
        }
    }

    /// Whether its numbers, its size and all its offsets fit 64 bits.
    pub fn fits(&self) -> bool {
        if !self.shape.fits() || !self.stride.fits() {
            return false;
        }
        let limit = i128::from(Int::LIMIT);
        let (mut size, mut span) = (1i128, 0i128);
        for (shape, stride) in self.shape.leaves().iter().zip(self.stride.leaves()) {
            let extent = i128::from(shape.as_static().unwrap_or(1));
            let step = i128::from(stride.value().as_static().unwrap_or(0));
            if extent == 0 {
                continue;
            }
            size = size.saturating_mul(extent);
            span = span.saturating_add(step.abs().saturating_mul((extent.abs() - 1).max(1)));
            if size.abs() > limit || span > limit {
                return false;
            }
        }
        true
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape, self.stride)
    }
}
