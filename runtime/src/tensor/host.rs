//! A tensor in host memory.

use rayon::prelude::*;

use zerocopy::{FromBytes, IntoBytes};

use super::element::Bytes;
use super::{DType, Element, ElementError};
use crate::abi::TensorDesc;

/// A tensor in host memory: elements of one type at `sum(index[i] * strides[i])` from the start.
///
/// Strides count elements, not bytes. What lies between the elements (padding of a leading
/// dimension) is kept and means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    bytes: Bytes,
    poisoned: bool,
}

/// Shapes and strides that no tensor can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A negative extent.
    #[error("extent {extent} in mode {mode}: expected 0 or more")]
    NegativeExtent {
        /// The mode.
        mode: usize,
        /// The extent.
        extent: i64,
    },
    /// Shape and strides of different rank.
    #[error("{extents} extents but {strides} strides")]
    Rank {
        /// Number of extents.
        extents: usize,
        /// Number of strides.
        strides: usize,
    },
    /// Elements before the start, or more bytes than there can be.
    #[error("shape {shape:?} with strides {strides:?} does not fit in memory")]
    Span {
        /// The shape.
        shape: Vec<i64>,
        /// The strides.
        strides: Vec<i64>,
    },
    /// A number of elements or bytes that does not fit the shape.
    #[error("shape {shape:?} needs {expected} {unit}, found {found}")]
    Length {
        /// The shape.
        shape: Vec<i64>,
        /// `elements` or `bytes`.
        unit: &'static str,
        /// Number that the shape needs.
        expected: u64,
        /// Number there is.
        found: u64,
    },
}

/// Allocations beyond this are refused: 2^40 bytes.
const MAX_BYTES: u64 = 1 << 40;
/// Elements that one task converts; conversions of less are not worth a thread.
const CHUNK: usize = 1 << 15;

impl Tensor {
    /// A row-major tensor of zeros.
    pub fn zeros(dtype: DType, shape: &[i64]) -> Result<Tensor, ShapeError> {
        Tensor::filled(dtype, shape, &row_major(shape)?, &[0; 8], false)
    }

    /// A row-major tensor of poison: NaN for floating point, `0xAB` bytes for integers. The
    /// simulator treats it as uninitialized.
    pub fn poison(dtype: DType, shape: &[i64]) -> Result<Tensor, ShapeError> {
        Tensor::poison_strided(dtype, shape, &row_major(shape)?)
    }

    /// [`Tensor::poison`] with strides, in elements; what lies between the elements is poison too.
    pub fn poison_strided(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
    ) -> Result<Tensor, ShapeError> {
        Tensor::filled(dtype, shape, strides, &dtype.poison(), true)
    }

    /// A row-major tensor from elements in row-major order, each rounded to nearest even.
    pub fn from_f64(dtype: DType, shape: &[i64], values: &[f64]) -> Result<Tensor, ShapeError> {
        let mut tensor = Tensor::zeros(dtype, shape)?;
        let found = values.len() as u64;
        check_length(shape, "elements", tensor.len() as u64, found)?;
        let size = dtype.size();
        tensor
            .bytes
            .par_chunks_mut(CHUNK * size)
            .zip(values.par_chunks(CHUNK))
            .for_each(|(bytes, values)| dtype.write_all(values, bytes));
        Ok(tensor)
    }

    /// A tensor over bytes that stand as its shape and strides say.
    pub fn from_bytes(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
        bytes: Vec<u8>,
    ) -> Result<Tensor, ShapeError> {
        let expected = span(dtype, shape, strides)?;
        check_length(shape, "bytes", expected, bytes.len() as u64)?;
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        Ok(Tensor {
            dtype,
            shape,
            strides,
            bytes: Bytes::of(bytes, dtype.size()),
            poisoned: false,
        })
    }

    /// A row-major tensor of these elements, in row-major order.
    pub fn from_slice<T: Element>(shape: &[i64], values: &[T]) -> Result<Tensor, ShapeError> {
        let strides = row_major(shape)?;
        let expected = span(T::DTYPE, shape, &strides)? / T::DTYPE.size() as u64;
        check_length(shape, "elements", expected, values.len() as u64)?;
        Tensor::from_bytes(T::DTYPE, shape, &strides, values.as_bytes().to_vec())
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The bytes, little endian, padding between elements included.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to be written; the tensor counts as initialized from here on.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.poisoned = false;
        &mut self.bytes
    }

    /// The elements of a row-major tensor, where they lie.
    ///
    /// # Errors
    /// Where they are of another type, or do not lie so.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], ElementError> {
        self.check_row_major()?;
        self.storage()
    }

    /// The elements of a row-major tensor, where they lie, to be written; it counts as initialized from here on.
    ///
    /// # Errors
    /// Where they are of another type, or do not lie so.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], ElementError> {
        self.check_row_major()?;
        self.storage_mut()
    }

    /// The memory of the tensor, what lies between the elements included.
    ///
    /// # Errors
    /// Where they are of another type.
    pub fn storage<T: Element>(&self) -> Result<&[T], ElementError> {
        self.check_elements::<T>()?;
        // Bytes are aligned, and as many as elements take.
        <[T]>::ref_from_bytes(&self.bytes).map_err(|_| self.not_row_major())
    }

    /// The memory of the tensor, to be written; it counts as initialized from here on.
    ///
    /// # Errors
    /// Where they are of another type.
    pub fn storage_mut<T: Element>(&mut self) -> Result<&mut [T], ElementError> {
        self.check_elements::<T>()?;
        self.poisoned = false;
        let wrong = self.not_row_major();
        <[T]>::mut_from_bytes(&mut self.bytes).map_err(|_| wrong)
    }

    /// A copy of all elements in row-major order of the indices, whatever the strides.
    ///
    /// # Errors
    /// Where they are of another type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, ElementError> {
        let storage = self.storage::<T>()?;
        if self.is_row_major() {
            return Ok(storage.to_vec());
        }
        let mut values = Vec::with_capacity(self.len());
        for_each_offset(&self.shape, &self.strides, |at| values.push(storage[at]));
        Ok(values)
    }

    /// The element at `index`, one number a mode; `None` outside of the shape.
    ///
    /// # Errors
    /// Where elements are of another type.
    pub fn element<T: Element>(&self, index: &[i64]) -> Result<Option<T>, ElementError> {
        let storage = self.storage::<T>()?;
        Ok(self.offset(index).map(|at| storage[at]))
    }

    fn check_elements<T: Element>(&self) -> Result<(), ElementError> {
        match T::holds(self.dtype) {
            true => Ok(()),
            false => Err(ElementError::DType {
                expected: T::DTYPE,
                found: self.dtype,
            }),
        }
    }

    fn check_row_major(&self) -> Result<(), ElementError> {
        match self.is_row_major() {
            true => Ok(()),
            false => Err(self.not_row_major()),
        }
    }

    fn not_row_major(&self) -> ElementError {
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        ElementError::Strides { shape, strides }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().map(|&extent| extent as usize).product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether it is poison that nobody has written to: the simulator then reports reads.
    pub fn is_poison(&self) -> bool {
        self.poisoned
    }

    /// What binding checks: a buffer of this tensor is aligned to `align` bytes and mutable.
    pub fn desc(&self, align: u64) -> TensorDesc {
        TensorDesc {
            dtype: self.dtype,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            align,
            mutable: true,
        }
    }

    /// The element at `index`, one number a mode; `None` outside of the shape.
    pub fn get(&self, index: &[i64]) -> Option<f64> {
        let at = self.offset(index)? * self.dtype.size();
        Some(self.dtype.read(&self.bytes[at..]))
    }

    /// Writes the element at `index`; false outside of the shape.
    pub fn set(&mut self, index: &[i64], value: f64) -> bool {
        let Some(at) = self.offset(index) else {
            return false;
        };
        let at = at * self.dtype.size();
        self.dtype.write(value, &mut self.bytes[at..]);
        self.poisoned = false;
        true
    }

    /// All elements in row-major order of the indices, whatever the strides.
    pub fn to_f64(&self) -> Vec<f64> {
        let size = self.dtype.size();
        if self.is_row_major() {
            let mut values = vec![0.0; self.len()];
            values
                .par_chunks_mut(CHUNK)
                .zip(self.bytes.par_chunks(CHUNK * size))
                .for_each(|(values, bytes)| self.dtype.read_all(bytes, values));
            return values;
        }
        let mut values = Vec::with_capacity(self.len());
        for_each_offset(&self.shape, &self.strides, |at| {
            values.push(self.dtype.read(&self.bytes[at * size..]));
        });
        values
    }

    /// The same elements as another type, row-major.
    pub fn convert(&self, dtype: DType) -> Result<Tensor, ShapeError> {
        if self.is_row_major() {
            let mut tensor = Tensor::zeros(dtype, &self.shape)?;
            let sources = self.bytes.par_chunks(CHUNK * self.dtype.size());
            let places = tensor.bytes.par_chunks_mut(CHUNK * dtype.size());
            places.zip(sources).for_each(|(to, from)| {
                let mut values = vec![0.0; from.len() / self.dtype.size()];
                self.dtype.read_all(from, &mut values);
                dtype.write_all(&values, to);
            });
            return Ok(tensor);
        }
        Tensor::from_f64(dtype, &self.shape, &self.to_f64())
    }

    /// The same elements at other strides; poison stays poison.
    pub fn with_strides(&self, strides: &[i64]) -> Result<Tensor, ShapeError> {
        if strides == self.strides {
            return Ok(self.clone());
        }
        let mut tensor = Tensor::poison_strided(self.dtype, &self.shape, strides)?;
        if !self.poisoned {
            let size = self.dtype.size();
            for_each_offsets(&self.shape, [&self.strides, strides], |[from, to]| {
                tensor.bytes[to * size..][..size]
                    .copy_from_slice(&self.bytes[from * size..][..size]);
            });
            tensor.poisoned = false;
        }
        Ok(tensor)
    }

    /// The same memory seen with other extents in modes of stride 0, in which all elements are one.
    ///
    /// # Errors
    /// Where another mode has another extent, or no tensor has so many elements.
    pub fn broadcast(self, shape: &[i64]) -> Result<Tensor, ShapeError> {
        let expected = span(self.dtype, shape, &self.strides)?;
        check_length(shape, "bytes", expected, self.bytes.len() as u64)?;
        Ok(Tensor {
            shape: shape.to_vec(),
            ..self
        })
    }

    /// Whether the elements stand in row-major order without gaps.
    pub fn is_row_major(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut expected = 1;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if extent > 1 && stride != expected {
                return false;
            }
            expected *= extent;
        }
        true
    }

    fn filled(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
        element: &[u8],
        poisoned: bool,
    ) -> Result<Tensor, ShapeError> {
        let bytes = span(dtype, shape, strides)? as usize;
        let element = &element[..dtype.size()];
        // Zeros come from the system a page at a time, when and by whom they are first written; it is
        // asked before whether there are so many, because `vec!` ends the process where there are not.
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            let (shape, strides) = (shape.to_vec(), strides.to_vec());
            return Err(ShapeError::Span { shape, strides });
        }
        let mut filled = vec![0; bytes];
        if element.iter().any(|byte| *byte != 0) {
            filled
                .par_chunks_mut(CHUNK * element.len())
                .for_each(|bytes| {
                    let places = bytes.chunks_exact_mut(element.len());
                    places.for_each(|place| place.copy_from_slice(element));
                });
        }
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        Ok(Tensor {
            dtype,
            shape,
            strides,
            bytes: Bytes::of(filled, dtype.size()),
            poisoned,
        })
    }

    fn offset(&self, index: &[i64]) -> Option<usize> {
        if index.len() != self.shape.len() {
            return None;
        }
        let inside = index
            .iter()
            .zip(&self.shape)
            .all(|(i, extent)| (0..*extent).contains(i));
        let offset: i64 = index
            .iter()
            .zip(&self.strides)
            .map(|(i, stride)| i * stride)
            .sum();
        if inside {
            usize::try_from(offset).ok()
        } else {
            None
        }
    }
}

/// Row-major strides of a shape, in elements.
pub fn row_major(shape: &[i64]) -> Result<Vec<i64>, ShapeError> {
    let mut strides = compact(shape.iter().rev(), shape)?;
    strides.reverse();
    Ok(strides)
}

/// Column-major strides of a shape, in elements.
pub fn col_major(shape: &[i64]) -> Result<Vec<i64>, ShapeError> {
    compact(shape.iter(), shape)
}

/// Compact strides, the first extent fastest.
fn compact<'a>(
    extents: impl Iterator<Item = &'a i64>,
    shape: &[i64],
) -> Result<Vec<i64>, ShapeError> {
    let mut next: i64 = 1;
    extents
        .map(|&extent| {
            let stride = next;
            // An empty tensor has the strides that it would have with an extent of 1.
            next = next
                .checked_mul(extent.max(1))
                .ok_or_else(|| ShapeError::Span {
                    shape: shape.to_vec(),
                    strides: Vec::new(),
                })?;
            Ok(stride)
        })
        .collect()
}

/// Bytes from the start to the end of the last element, checked to be something that a machine has.
fn span(dtype: DType, shape: &[i64], strides: &[i64]) -> Result<u64, ShapeError> {
    if shape.len() != strides.len() {
        return Err(ShapeError::Rank {
            extents: shape.len(),
            strides: strides.len(),
        });
    }
    if let Some(mode) = shape.iter().position(|&extent| extent < 0) {
        return Err(ShapeError::NegativeExtent {
            mode,
            extent: shape[mode],
        });
    }
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let desc = TensorDesc {
        dtype,
        shape,
        strides,
        align: 1,
        mutable: false,
    };
    // The number of elements is bounded too: strides of 0 make it larger than the span.
    let elements = desc
        .shape
        .iter()
        .try_fold(1i64, |product, &extent| product.checked_mul(extent));
    desc.span_bytes()
        .filter(|&bytes| bytes <= MAX_BYTES && elements.is_some_and(|n| n <= 1 << 40))
        .ok_or(ShapeError::Span {
            shape: desc.shape,
            strides: desc.strides,
        })
}

fn check_length(
    shape: &[i64],
    unit: &'static str,
    expected: u64,
    found: u64,
) -> Result<(), ShapeError> {
    if expected == found {
        return Ok(());
    }
    Err(ShapeError::Length {
        shape: shape.to_vec(),
        unit,
        expected,
        found,
    })
}

/// Calls `visit` with the offset of every element, in row-major order of the indices.
fn for_each_offset(shape: &[i64], strides: &[i64], mut visit: impl FnMut(usize)) {
    for_each_offsets(shape, [strides], |[at]| visit(at));
}

/// Calls `visit` with the offsets that every element has by each of `strides`, in row-major order of the
/// indices.
fn for_each_offsets<const N: usize>(
    shape: &[i64],
    strides: [&[i64]; N],
    mut visit: impl FnMut([usize; N]),
) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0; shape.len()];
    let mut offsets = [0_i64; N];
    // A mode of extent 1 may have any stride; what it adds is taken away below.
    let advance = |offsets: &mut [i64; N], mode: usize, by: i64| {
        for (offset, strides) in offsets.iter_mut().zip(strides) {
            *offset = offset.wrapping_add(strides[mode].wrapping_mul(by));
        }
    };
    loop {
        visit(offsets.map(|offset| offset as usize));
        let mut mode = shape.len();
        loop {
            if mode == 0 {
                return;
            }
            mode -= 1;
            index[mode] += 1;
            advance(&mut offsets, mode, 1);
            if index[mode] < shape[mode] {
                break;
            }
            advance(&mut offsets, mode, -shape[mode]);
            index[mode] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_say_where_elements_stand() {
        let values: Vec<f64> = (0..6).map(f64::from).collect();
        let row = Tensor::from_f64(DType::I32, &[2, 3], &values).unwrap();
        assert_eq!(row.strides(), [3, 1]);
        let padded = row.with_strides(&[1, 4]).unwrap();
        assert_eq!(padded.bytes().len(), (2 * 4 + 1 + 1) * 4);
        assert_eq!(padded.to_f64(), values);
        assert_eq!(padded.get(&[1, 2]), Some(5.0));
        assert_eq!(padded.get(&[2, 0]), None);
        assert_eq!(padded.with_strides(&[3, 1]).unwrap(), row);
    }

    #[test]
    fn conversion_rounds_to_nearest_even() {
        let tensor = Tensor::from_f64(DType::F32, &[3], &[2049.0, 2051.0, 70000.0]).unwrap();
        let half = tensor.convert(DType::F16).unwrap();
        assert_eq!(half.to_f64(), [2048.0, 2052.0, f64::INFINITY]);
    }

    #[test]
    fn empty_and_scalar_shapes() {
        let empty = Tensor::zeros(DType::F32, &[0, 3]).unwrap();
        assert!(empty.is_empty() && empty.bytes().is_empty() && empty.to_f64().is_empty());
        let scalar = Tensor::from_f64(DType::F32, &[], &[1.5]).unwrap();
        assert_eq!((scalar.len(), scalar.to_f64()), (1, vec![1.5]));
    }

    #[test]
    fn poison_shows_and_ends_with_the_first_write() {
        let mut tensor = Tensor::poison(DType::F16, &[2]).unwrap();
        assert!(tensor.is_poison() && tensor.to_f64().iter().all(|value| value.is_nan()));
        assert!(tensor.set(&[1], 2.0));
        assert!(!tensor.is_poison());
        let integers = Tensor::poison(DType::U16, &[1]).unwrap();
        assert_eq!(integers.bytes(), [0xAB, 0xAB]);
    }

    #[test]
    fn strides_of_single_elements_may_be_anything() {
        let strides = [1, i64::MAX, -3];
        let tensor = Tensor::poison_strided(DType::F32, &[3, 1, 1], &strides).unwrap();
        assert_eq!(tensor.to_f64().len(), 3);
        let values = Tensor::from_f64(DType::F32, &[3, 1, 1], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(
            values.with_strides(&strides).unwrap().to_f64(),
            [1.0, 2.0, 3.0]
        );
        let empty = Tensor::from_bytes(DType::F32, &[0, 1 << 62, 1 << 62], &[1; 3], vec![]);
        assert!(empty.unwrap().is_row_major());
    }

    #[test]
    fn a_broadcast_takes_the_memory_of_what_it_repeats() {
        let column = Tensor::from_f64(DType::F32, &[3, 1], &[1.0, 2.0, 3.0]).unwrap();
        let column = column.with_strides(&[1, 0]).unwrap();
        let wide = column.clone().broadcast(&[3, 1 << 30]).unwrap();
        assert_eq!(wide.bytes().len(), 12);
        assert_eq!(wide.get(&[2, 1 << 29]), Some(3.0));
        assert!(matches!(
            column.clone().broadcast(&[4, 1]),
            Err(ShapeError::Length { .. })
        ));
        let poison = Tensor::poison_strided(DType::F32, &[1], &[0]).unwrap();
        assert!(poison.broadcast(&[5]).unwrap().is_poison());
    }

    #[test]
    fn impossible_shapes_are_errors() {
        use ShapeError::*;
        let zeros = |shape: &[i64]| Tensor::zeros(DType::F64, shape).unwrap_err();
        assert_eq!(
            zeros(&[2, -1]),
            NegativeExtent {
                mode: 1,
                extent: -1
            }
        );
        assert!(matches!(zeros(&[i64::MAX, 2]), Span { .. }));
        assert!(matches!(zeros(&[1 << 62]), Span { .. }));
        let strided = |shape: &[i64], strides: &[i64]| {
            Tensor::poison_strided(DType::F32, shape, strides).unwrap_err()
        };
        assert!(matches!(
            strided(&[2], &[1, 1]),
            Rank {
                extents: 1,
                strides: 2
            }
        ));
        assert!(matches!(strided(&[2], &[-1]), Span { .. }));
        assert!(matches!(
            strided(&[i64::MAX, i64::MAX], &[0, 0]),
            Span { .. }
        ));
        let short = Tensor::from_f64(DType::F32, &[2], &[1.0]).unwrap_err();
        assert_eq!(short.to_string(), "shape [2] needs 2 elements, found 1");
    }
}
