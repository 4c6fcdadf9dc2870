//! What a bulk copy moves of global memory, and how it lies in shared memory: consecutive bytes, or the box of a
//! tensor map.

use super::access;
use super::cta::Cta;
use super::shared::value;
use crate::abi::tensor_map::MapSwizzle;
use crate::sim::Space;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::isa::Update;
use crate::sim::tensor_map::{self, Row, TensorMap, swizzled};

/// Bytes of what a swizzle moves as one.
pub(super) const CHUNK: usize = 16;

/// Bytes in global memory, and how they lie in shared memory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    rows: Vec<Row>,
    /// Bytes of a row in shared memory, where the rows lie one behind the other.
    row_bytes: u32,
    swizzle: MapSwizzle,
    /// What is loaded where the tensor has no element.
    fill: [u8; CHUNK],
    /// The address of its tensor map, where that is in global memory.
    map: Option<u64>,
}

impl Region {
    /// A run of consecutive bytes.
    pub fn flat(address: u64, bytes: u32) -> Region {
        let row = Row {
            global: address,
            skipped: 0,
            valid: bytes,
        };
        Region {
            rows: vec![row],
            row_bytes: bytes,
            swizzle: MapSwizzle::None,
            fill: [0; CHUNK],
            map: None,
        }
    }

    /// The box at coordinates, to be read or written.
    pub fn of_box(
        map: &TensorMap,
        coordinates: &[i32],
        offsets: Option<&[u16]>,
        access: Access,
    ) -> Result<Region, ErrorKind> {
        let wrong = |what, expected: String, found: String| {
            Err(ErrorKind::TensorMap {
                what,
                expected,
                found,
            })
        };
        let name = |im2col: bool| if im2col { "im2col" } else { "tile" }.to_owned();
        if map.im2col.is_some() != offsets.is_some() {
            let expected = format!("{}, of the instruction", name(offsets.is_some()));
            return wrong("mode", expected, name(map.im2col.is_some()));
        }
        if map.extents.len() != coordinates.len() {
            let expected = format!("{}, of the instruction", coordinates.len());
            return wrong("rank", expected, map.extents.len().to_string());
        }
        let start = i64::from(coordinates[0]) * map.dtype.size() as i64;
        if start % CHUNK as i64 != 0 {
            return wrong(
                "start of the box in the first dimension",
                "a multiple of 16 bytes".to_owned(),
                format!("coordinate {}, {start} bytes", coordinates[0]),
            );
        }
        let before = coordinates.iter().position(|&coordinate| coordinate < 0);
        if let (Access::Write, Some(dimension)) = (access, before) {
            return wrong(
                "start of a box that is stored",
                "no negative coordinate".to_owned(),
                format!("{} in dimension {dimension}", coordinates[dimension]),
            );
        }
        // No shared memory has as much, and no phase of an `mbarrier` counts it.
        let limit = (1 << 20) - 1;
        if map.box_bytes() > limit {
            return Err(ErrorKind::Limit {
                what: "bytes of a box",
                limit,
                found: map.box_bytes(),
            });
        }
        let mut rows = match (&map.im2col, offsets) {
            (Some(pixels), Some(offsets)) => map.pixels_at(pixels, coordinates, offsets),
            _ => map.rows_at(coordinates),
        };
        if access == Access::Write {
            // Hardware stores whole chunks, whatever the extent of the fastest mode: seen on an H200.
            for row in &mut rows {
                row.valid = row
                    .valid
                    .next_multiple_of(CHUNK as u32)
                    .min(map.row_bytes());
            }
        }
        Ok(Region {
            rows,
            row_bytes: map.row_bytes(),
            swizzle: map.swizzle,
            fill: map.fill(),
            map: None,
        })
    }

    /// The same by a map that lies at an address.
    pub fn by_map(self, (space, at): (Space, u64)) -> Region {
        let map = (space == Space::Global).then_some(at);
        Region { map, ..self }
    }

    /// The bytes of its tensor map, where others may write them.
    pub fn map(&self) -> Option<(Space, u64, u32)> {
        self.map
            .map(|at| (Space::Global, at, tensor_map::BYTES as u32))
    }

    /// Bytes in shared memory.
    pub fn bytes(&self) -> u32 {
        self.rows.len() as u32 * self.row_bytes
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.valid > 0)
    }

    /// What the tensor has of it in global memory.
    pub fn globals(&self) -> impl Iterator<Item = (Space, u64, u32)> {
        self.rows()
            .map(|row| (Space::Global, row.global, row.valid))
    }

    /// What a load at an address writes of shared memory.
    pub fn targets(&self, to: u64) -> Vec<(u64, u32)> {
        let bytes = self.bytes();
        if [0, self.row_bytes].contains(&self.swizzle.bytes()) {
            // Chunks change places within the rows.
            return vec![(to, bytes)];
        }
        let chunks = (to..to + u64::from(bytes)).step_by(CHUNK);
        let chunks = chunks.map(|at| (swizzled(self.swizzle, at), CHUNK as u32));
        chunks.collect()
    }

    /// What a store from an address reads of shared memory: what the tensor has, in the order of [`Region::globals`].
    pub fn sources(&self, from: u64) -> Vec<(u64, u32)> {
        let mut pieces = Vec::new();
        let rows = self.rows.iter();
        for (row, at) in rows.zip((from..).step_by(self.row_bytes as usize)) {
            let (mut start, end) = (row.skipped, row.skipped + row.valid);
            while start < end {
                let stop = match self.swizzle {
                    MapSwizzle::None => end,
                    MapSwizzle::B32 | MapSwizzle::B64 | MapSwizzle::B128 => {
                        end.min((start / CHUNK as u32 + 1) * CHUNK as u32)
                    }
                };
                let place = swizzled(self.swizzle, at + u64::from(start));
                pieces.push((place, stop - start));
                start = stop;
            }
        }
        pieces
    }

    /// Checks that what is read of global memory is there, and written.
    pub fn check_source(&self, cta: &Cta<'_>) -> Result<(), ErrorKind> {
        for row in self.rows() {
            let memory = cta.launch.memory;
            let place = memory.place(row.global, row.valid, Access::Read)?;
            if cta.launch.options.checks
                && let Some(byte) = place.unwritten_of(row.valid)
            {
                return Err(access::uninitialised(&place, row.global, row.valid, byte));
            }
        }
        Ok(())
    }

    /// Checks that shared memory has what is to be stored, and that global memory can be written.
    pub fn check_target(&self, cta: &Cta<'_>, from: u64) -> Result<(), ErrorKind> {
        for (at, bytes) in self.sources(from) {
            cta.shared.read_any(at, bytes)?;
        }
        for row in self.rows() {
            let memory = cta.launch.memory;
            memory.place(row.global, row.valid, Access::Write)?;
        }
        Ok(())
    }

    /// Moves the bytes of global memory into shared memory.
    pub fn load(&self, cta: &mut Cta<'_>, to: u64) -> Result<(), ErrorKind> {
        let memory = cta.launch.memory;
        let (shared, to) = cta.memory_at_mut(Space::Cluster, to)?;
        let mut line = vec![0; self.row_bytes as usize];
        for (row, at) in self.rows.iter().zip((to..).step_by(line.len())) {
            if row.valid < self.row_bytes {
                for (byte, fill) in line.iter_mut().zip(self.fill.iter().cycle()) {
                    *byte = *fill;
                }
            }
            if row.valid > 0 {
                let place = memory.place(row.global, row.valid, Access::Read)?;
                place.copy_to(&mut line[row.skipped as usize..][..row.valid as usize]);
            }
            match self.swizzle {
                MapSwizzle::None => shared.deposit(at, &line),
                MapSwizzle::B32 | MapSwizzle::B64 | MapSwizzle::B128 => {
                    for (chunk, at) in line.chunks(CHUNK).zip((at..).step_by(CHUNK)) {
                        shared.deposit(swizzled(self.swizzle, at), chunk);
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes what was read of shared memory, or combines it with what is there by a function of elements of so many bytes.
    pub fn store(
        &self,
        cta: &Cta<'_>,
        mut data: &[u8],
        update: Option<(Update, u32)>,
    ) -> Result<(), ErrorKind> {
        for row in self.rows() {
            let memory = cta.launch.memory;
            let place = memory.place(row.global, row.valid, Access::Write)?;
            let Some((here, rest)) = data.split_at_checked(row.valid as usize) else {
                break;
            };
            data = rest;
            let Some((update, bytes)) = update else {
                place.copy_from(here);
                continue;
            };
            for (i, element) in (0..).zip(here.chunks(bytes as usize)) {
                let place = place.plus(i * u64::from(bytes));
                place.store(bytes, update(place.load(bytes), value(element), 0));
            }
        }
        Ok(())
    }
}

/// The tensor map at an address.
pub(super) fn read_map(cta: &Cta<'_>, space: Space, address: u64) -> Result<TensorMap, ErrorKind> {
    let (space, at) = access::resolve(space, address);
    aligned(space, Access::Read, at, tensor_map::ALIGN as u32)?;
    let mut bytes = [0; tensor_map::BYTES];
    match space {
        Space::Param => {
            // Reads are aligned to their size.
            let params = &cta.launch.params;
            let half = tensor_map::BYTES / 2;
            for (bytes, at) in bytes.chunks_mut(half).zip((at..).step_by(half)) {
                bytes.copy_from_slice(params.read(at, half as u32)?);
            }
        }
        Space::Global => {
            let size = tensor_map::BYTES as u32;
            let place = cta.launch.memory.place(at, size, Access::Read)?;
            if cta.launch.options.checks
                && let Some(byte) = place.unwritten_of(size)
            {
                return Err(access::uninitialised(&place, at, size, byte));
            }
            place.copy_to(&mut bytes);
        }
        Space::Generic | Space::Shared | Space::Cluster | Space::Local | Space::Const => {
            return Err(ErrorKind::Value {
                what: "address of a tensor map",
                expected: "one of a kernel parameter, or of global or constant memory".to_owned(),
                found: address,
            });
        }
    }
    TensorMap::in_use(&bytes)
}

/// Checks an address.
pub(super) fn aligned(
    space: Space,
    access: Access,
    address: u64,
    align: u32,
) -> Result<(), ErrorKind> {
    match address.is_multiple_of(align.into()) {
        true => Ok(()),
        false => Err(ErrorKind::Misaligned {
            space,
            access,
            address,
            align,
        }),
    }
}
