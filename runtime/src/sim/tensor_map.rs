//! Tensor maps as the simulator encodes them: 128 bytes of a format of its own, which kernels pass around by address.
//!
//! What a map says is that of the CUDA driver API, `cuTensorMapEncodeTiled`, without interleaving. Its limits are
//! checked where it is encoded ([`TensorMap::encode`]), so that what decodes is legal.

use super::error::{ErrorKind, SimError};
use super::isa::MapField;
use crate::abi::tensor_map::{MapSwizzle, OobFill};
use crate::tensor::DType;

/// Bytes of an encoded map.
pub const BYTES: usize = 128;
/// What the address of a map is a multiple of.
pub const ALIGN: u64 = 64;
/// Most dimensions.
const MAX_RANK: usize = 5;
/// Where the pixels of a map in im2col mode stand.
const PIXELS: usize = 8 + 4 + 8 + MAX_RANK * 14;
/// What every encoded map begins with.
const MAGIC: [u8; 8] = *b"cutecmap";

/// A tensor in global memory, and the box of it that an instruction moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Element type.
    pub dtype: DType,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents, fastest first; 1 to 5 of them, of 1 to 2^32 each.
    pub extents: Vec<u64>,
    /// Whether it is of no elements, whatever its extents.
    pub empty: bool,
    /// Strides in bytes of all dimensions but the first, multiples of 16 below 2^40.
    pub stride_bytes: Vec<u64>,
    /// Extents of the box, 1 to 256 each; its rows are multiples of 16 bytes. In im2col mode the channels of a pixel, and how
    /// many pixels, up to 1024.
    pub box_extents: Vec<u32>,
    /// The box has every so many-th element of a dimension, 1 to 8; that of the first is not used.
    pub element_strides: Vec<u32>,
    /// The pixels, in im2col mode.
    pub im2col: Option<PixelBox>,
    /// How the box is swizzled in shared memory.
    pub swizzle: MapSwizzle,
    /// What elements beyond the tensor are loaded as.
    pub oob_fill: OobFill,
}

/// The pixels of a map in im2col mode: those of a box in the dimensions between the first and the last, fastest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PixelBox {
    /// Where it begins, counted from the first pixel.
    pub lower: Vec<i32>,
    /// Where it ends, counted from the last pixel, which is 0.
    pub upper: Vec<i32>,
}

/// A row of a box: elements that are consecutive in memory, where it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Address of the first byte that the tensor has.
    pub global: u64,
    /// Bytes of the row before it.
    pub skipped: u32,
    /// Bytes that the tensor has.
    pub valid: u32,
}

impl TensorMap {
    /// The map in 128 bytes.
    ///
    /// # Errors
    /// What no hardware takes.
    pub fn encode(&self) -> Result<[u8; BYTES], SimError> {
        self.check()?;
        Ok(self.unchecked_bytes())
    }

    /// The map in 128 bytes, whatever it says.
    fn unchecked_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        let mut put = |value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        };
        put(&MAGIC);
        let dtype = DType::ALL.iter().position(|&dtype| dtype == self.dtype);
        put(&[
            dtype.unwrap_or(0) as u8,
            self.extents.len() as u8,
            self.swizzle.bytes() as u8,
            u8::from(self.oob_fill == OobFill::Nan) | u8::from(self.empty) << 1,
        ]);
        put(&self.address.to_le_bytes());
        for i in 0..MAX_RANK {
            let of = |list: &[u32]| list.get(i).map_or(0, |&n| n.wrapping_sub(1)) as u8;
            let extent = self.extents.get(i).map_or(0, |&n| n.wrapping_sub(1)) as u32;
            let stride = i.checked_sub(1).and_then(|i| self.stride_bytes.get(i));
            put(&extent.to_le_bytes());
            put(&stride.copied().unwrap_or(0).to_le_bytes());
            put(&[of(&self.box_extents), of(&self.element_strides)]);
        }
        if let Some(pixels) = &self.im2col {
            let count = self.box_extents.get(1).map_or(0, |&n| n.wrapping_sub(1)) as u16;
            put(&[1]);
            put(&count.to_le_bytes());
            for i in 0..MAX_RANK - 2 {
                let of = |list: &[i32]| list.get(i).map_or(0, |&n| n as i16).to_le_bytes();
                put(&of(&pixels.lower));
                put(&of(&pixels.upper));
            }
        }
        bytes
    }

    /// The map that is encoded in bytes, if it is one.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<TensorMap> {
        let map = TensorMap::unchecked(bytes)?;
        map.check().ok()?;
        Some(map)
    }

    /// The map in bytes, as a copy that uses it finds it.
    pub(crate) fn in_use(bytes: &[u8; BYTES]) -> Result<TensorMap, ErrorKind> {
        let map = TensorMap::unchecked(bytes).ok_or_else(|| ErrorKind::TensorMap {
            what: "128 bytes",
            expected: "a map that the host has encoded".to_owned(),
            found: "other bytes".to_owned(),
        })?;
        map.check().map_err(|error| error.kind)?;
        Ok(map)
    }

    /// Sets one field of a map in bytes (PTX ISA, "tensormap.replace"). What it says then is checked where it is used.
    pub(crate) fn replace(
        bytes: &mut [u8; BYTES],
        field: MapField,
        value: u64,
    ) -> Result<(), ErrorKind> {
        let no_map = || ErrorKind::TensorMap {
            what: "128 bytes",
            expected: "a map, of which a field is replaced".to_owned(),
            found: "other bytes".to_owned(),
        };
        let mut map = TensorMap::unchecked(bytes).ok_or_else(no_map)?;
        let rank = map.extents.len();
        let beyond = |dimension: usize| ErrorKind::TensorMap {
            what: "dimension whose field is replaced",
            expected: format!("one below the rank, {rank}"),
            found: dimension.to_string(),
        };
        let wrong = |what, expected: &str| ErrorKind::TensorMap {
            what,
            expected: expected.to_owned(),
            found: value.to_string(),
        };
        let small = u32::try_from(value).unwrap_or(u32::MAX);
        match field {
            MapField::Address => map.address = value,
            MapField::Extent(at) => {
                if value == 0 {
                    return Err(wrong("extent", "1 to 2^32"));
                }
                *map.extents.get_mut(at).ok_or_else(|| beyond(at))? = value;
            }
            MapField::Stride(at) => {
                *map.stride_bytes.get_mut(at).ok_or_else(|| beyond(at))? = value;
            }
            MapField::Box(at) => {
                if !(1..=256).contains(&value) {
                    return Err(wrong("extent of the box", "1 to 256"));
                }
                *map.box_extents.get_mut(at).ok_or_else(|| beyond(at))? = small;
            }
            MapField::ElementStride(at) => {
                if !(1..=8).contains(&value) {
                    return Err(wrong("element stride", "1 to 8"));
                }
                *map.element_strides.get_mut(at).ok_or_else(|| beyond(at))? = small;
            }
            MapField::Rank => {
                let rank = value.saturating_add(1);
                if !(1..=MAX_RANK as u64).contains(&rank) {
                    return Err(wrong("rank less one", "0 to 4"));
                }
                let rank = rank as usize;
                map.extents.resize(rank, 1);
                map.stride_bytes.resize(rank - 1, 0);
                map.box_extents.resize(rank, 1);
                map.element_strides.resize(rank, 1);
            }
            MapField::Swizzle => {
                let bytes = [0, 32, 64, 128].get(small as usize).copied();
                let swizzle = bytes.and_then(|bytes| MapSwizzle::try_from(bytes).ok());
                map.swizzle = swizzle.ok_or_else(|| wrong("swizzle mode", "0 to 3"))?;
            }
            MapField::Fill => {
                map.oob_fill = match value {
                    0 => OobFill::Zeros,
                    1 => OobFill::Nan,
                    _ => return Err(wrong("fill mode", "0 or 1")),
                }
            }
        }
        *bytes = map.unchecked_bytes();
        Ok(())
    }

    /// Up to where a mode has elements.
    fn extent(&self, mode: usize) -> u64 {
        if self.empty { 0 } else { self.extents[mode] }
    }

    fn unchecked(bytes: &[u8; BYTES]) -> Option<TensorMap> {
        let mut at = 0;
        let mut take = |count: usize| {
            at += count;
            &bytes[at - count..at]
        };
        if take(MAGIC.len()) != MAGIC {
            return None;
        }
        let &[dtype, rank, swizzle, flags] = take(4) else {
            return None;
        };
        let number = |bytes: &[u8]| {
            let digits = bytes.iter().rev();
            digits.fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let mut map = TensorMap {
            im2col: None,
            dtype: *DType::ALL.get(usize::from(dtype))?,
            address: number(take(8)),
            extents: Vec::new(),
            stride_bytes: Vec::new(),
            box_extents: Vec::new(),
            element_strides: Vec::new(),
            swizzle: MapSwizzle::try_from(u32::from(swizzle)).ok()?,
            empty: flags >> 1 == 1,
            oob_fill: match flags & 1 {
                0 => OobFill::Zeros,
                _ => OobFill::Nan,
            },
        };
        for i in 0..usize::from(rank) {
            map.extents.push(number(take(4)) + 1);
            let stride = number(take(8));
            if i > 0 {
                map.stride_bytes.push(stride);
            }
            let &[box_extent, element_stride] = take(2) else {
                return None;
            };
            map.box_extents.push(u32::from(box_extent) + 1);
            map.element_strides.push(u32::from(element_stride) + 1);
        }
        if !(1..=MAX_RANK).contains(&map.extents.len()) {
            return None;
        }
        if let [1, low, high, corners @ ..] = &bytes[PIXELS..] {
            let spatial = map.extents.len().checked_sub(2)?;
            map.box_extents.truncate(1);
            map.box_extents
                .push(u32::from(u16::from_le_bytes([*low, *high])) + 1);
            let corner = |at: usize| {
                let place = corners.get(2 * at..2 * at + 2)?;
                Some(i32::from(i16::from_le_bytes([place[0], place[1]])))
            };
            map.im2col = Some(PixelBox {
                lower: (0..spatial).map(|i| corner(2 * i)).collect::<Option<_>>()?,
                upper: (0..spatial)
                    .map(|i| corner(2 * i + 1))
                    .collect::<Option<_>>()?,
            });
        }
        Some(map)
    }

    fn check(&self) -> Result<(), SimError> {
        let wrong = |what, expected: &str, found: u64| {
            let kind = ErrorKind::TensorMap {
                what,
                expected: expected.to_owned(),
                found: found.to_string(),
            };
            Err(SimError::from(kind))
        };
        let rank = self.extents.len();
        if !(1..=MAX_RANK).contains(&rank) {
            return wrong("rank", "1 to 5", rank as u64);
        }
        if let Some(pixels) = &self.im2col {
            let corners = crate::abi::tensor_map::Im2col {
                lower: pixels.lower.clone(),
                upper: pixels.upper.clone(),
                steps: vec![1; pixels.lower.len()],
            };
            if !corners.is_of_rank(rank) {
                return wrong(
                    "rank in im2col mode",
                    "3 to 5, with corners of its bits",
                    rank as u64,
                );
            }
            if self.box_extents.len() != 2 {
                let found = self.box_extents.len() as u64;
                return wrong(
                    "extents of the box in im2col mode",
                    "channels and pixels",
                    found,
                );
            }
        }
        let counts = [
            self.stride_bytes.len() + 1,
            match self.im2col {
                None => self.box_extents.len(),
                Some(_) => rank,
            },
            self.element_strides.len(),
        ];
        if let Some(&count) = counts.iter().find(|&&count| count != rank) {
            return wrong("dimensions of a part", &rank.to_string(), count as u64);
        }
        if !self.address.is_multiple_of(16) {
            return wrong("address", "a multiple of 16", self.address);
        }
        if let Some(&found) = self.extents.iter().find(|&&n| n == 0 || n > 1 << 32) {
            return wrong("extent", "1 to 2^32", found);
        }
        let legal = |stride: u64| stride.is_multiple_of(16) && stride < 1 << 40;
        if let Some(&found) = self.stride_bytes.iter().find(|&&stride| !legal(stride)) {
            let expected = "a multiple of 16 bytes below 2^40";
            return wrong("stride", expected, found);
        }
        let most = |at: usize| match (&self.im2col, at) {
            (Some(_), 1) => 1024,
            _ => 256,
        };
        let mut extents = self.box_extents.iter().enumerate();
        if let Some((at, &found)) = extents.find(|&(at, &n)| n == 0 || n > most(at)) {
            return wrong(
                "extent of the box",
                &format!("1 to {}", most(at)),
                found.into(),
            );
        }
        if let Some(&found) = self.element_strides.iter().find(|&&n| n == 0 || n > 8) {
            return wrong("element stride", "1 to 8", found.into());
        }
        let row = self.row_bytes();
        if !row.is_multiple_of(16) {
            return wrong("bytes of a row of the box", "a multiple of 16", row.into());
        }
        let span = self.swizzle.bytes();
        if span > 0 && row > span {
            let expected = format!("at most the swizzle's {span}");
            return wrong("bytes of a row of the box", &expected, row.into());
        }
        if span > 0 && row < span && self.rows() > 1 {
            // The ISA does not say how far apart such rows are.
            let expected = format!("the swizzle's {span}, as the simulator has it");
            return wrong("bytes of a row of the box", &expected, row.into());
        }
        if self.oob_fill == OobFill::Nan && !(self.dtype.is_float() && self.dtype.size() > 1) {
            let expected = "16 or more, of floating-point numbers, to fill with NaN";
            let found = 8 * self.dtype.size() as u64;
            return wrong("bits of an element", expected, found);
        }
        Ok(())
    }

    /// Bytes of a row of the box.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.box_extents[0] * self.dtype.size() as u32
    }

    /// Elements of the box in a dimension.
    fn steps(&self, dimension: usize) -> u32 {
        let stride = match dimension {
            0 => 1,
            _ => self.element_strides[dimension],
        };
        self.box_extents[dimension].div_ceil(stride)
    }

    fn rows(&self) -> u64 {
        if self.im2col.is_some() {
            return self.box_extents[1].into();
        }
        let outer = 1..self.extents.len();
        outer
            .map(|dimension| u64::from(self.steps(dimension)))
            .product()
    }

    /// Bytes that the box fills in shared memory, elements beyond the tensor included.
    pub(crate) fn box_bytes(&self) -> u64 {
        self.rows() * u64::from(self.row_bytes())
    }

    /// What elements beyond the tensor are loaded as, repeated to 16 bytes.
    pub(crate) fn fill(&self) -> [u8; 16] {
        let nan: &[u8] = match (self.oob_fill, self.dtype.size()) {
            (OobFill::Zeros, _) => &[0],
            (OobFill::Nan, 2) => &[0xff, 0x7f],
            (OobFill::Nan, 4) => &[0xff, 0xff, 0xff, 0x7f],
            (OobFill::Nan, _) => &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        };
        std::array::from_fn(|i| nan[i % nan.len()])
    }

    /// The pixels of the box from coordinates on, in the order in which they lie in shared memory, each moved by offsets (PTX
    /// ISA 5.5.4): those of the first dimension of pixels run fastest, and begin anew where the box of pixels ends.
    pub(crate) fn pixels_at(
        &self,
        pixels: &PixelBox,
        coordinates: &[i32],
        offsets: &[u16],
    ) -> Vec<Row> {
        let spatial = pixels.lower.len();
        let mut at: Vec<i64> = coordinates[1..].iter().map(|&c| c.into()).collect();
        let mut rows = Vec::with_capacity(self.box_extents[1] as usize);
        for _ in 0..self.box_extents[1] {
            let moved = |i: usize| at[i] + offsets.get(i).map_or(0, |&by| i64::from(by));
            let place: Vec<i32> = (0..=spatial)
                .map(|i| i32::try_from(moved(i)).unwrap_or(i32::MAX))
                .collect();
            let row = TensorMap {
                box_extents: [vec![self.box_extents[0]], vec![1; spatial + 1]].concat(),
                im2col: None,
                ..self.clone()
            };
            rows.extend(row.rows_at(&[&coordinates[..1], &place].concat()));
            let goes_on = (0..spatial).any(|i| {
                at[i] += i64::from(self.element_strides[i + 1]);
                let end = i64::try_from(self.extent(i + 1)).unwrap_or(i64::MAX);
                let inside = at[i] < end + i64::from(pixels.upper[i]);
                if !inside {
                    at[i] = pixels.lower[i].into();
                }
                inside
            });
            if !goes_on {
                at[spatial] += 1;
            }
        }
        rows
    }

    /// The rows of the box at coordinates, in the order in which they lie in shared memory.
    pub(crate) fn rows_at(&self, coordinates: &[i32]) -> Vec<Row> {
        let bytes = self.row_bytes();
        let size = self.dtype.size() as i64;
        let first = i64::from(coordinates[0]) * size;
        let end = i64::try_from(self.extent(0)).unwrap_or(i64::MAX) * size;
        let skipped = (-first).clamp(0, bytes.into());
        let valid = (end - first).clamp(skipped, bytes.into()) - skipped;
        let inner = self.address.wrapping_add_signed(first + skipped);
        let mut steps = vec![0; self.extents.len()];
        let mut rows = Vec::with_capacity(self.rows() as usize);
        for _ in 0..self.rows() {
            let (mut global, mut inside) = (inner, true);
            for (dimension, &step) in steps.iter().enumerate().skip(1) {
                let step = i64::from(step * self.element_strides[dimension]);
                let at = i64::from(coordinates[dimension]) + step;
                inside &= u64::try_from(at).is_ok_and(|at| at < self.extent(dimension));
                let stride = self.stride_bytes[dimension - 1];
                global = global.wrapping_add((at as u64).wrapping_mul(stride));
            }
            rows.push(Row {
                global,
                skipped: skipped as u32,
                valid: if inside { valid as u32 } else { 0 },
            });
            for (dimension, step) in steps.iter_mut().enumerate().skip(1) {
                *step += 1;
                if *step < self.steps(dimension) {
                    break;
                }
                *step = 0;
            }
        }
        rows
    }
}

/// Where a byte of a box goes: the swizzle of its address (PTX ISA 5.5.7).
pub(crate) fn swizzled(swizzle: MapSwizzle, address: u64) -> u64 {
    let bits = match swizzle {
        MapSwizzle::None => 0,
        MapSwizzle::B32 => 0x10,
        MapSwizzle::B64 => 0x30,
        MapSwizzle::B128 => 0x70,
    };
    address ^ address >> 3 & bits
}
