//! Bulk copies (PTX ISA 9.7.9.25.4 and 9.7.9.25.5): what is checked where one is issued, and what it does in flight.
//!
//! Each thread issues a copy of its own, of as many bytes as it says or as the box of a tensor map has. A load completes
//! by counting its bytes at an `mbarrier`, when they have arrived; its target counts as in flight until then. A store
//! reads its source at one moment and writes its target at a later one; a thread may wait for either.

use super::cta::Cta;
use super::in_flight::Effect;
use super::shared::value;
use super::warp::Warp;
use super::{Fault, access, fault_at};
use crate::abi::tensor_map::MapSwizzle;
use crate::sim::Space;
use crate::sim::decode::update_of_map;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::isa::{Address, Bulk, BulkGlobal, BulkUpdate, Update};
use crate::sim::lane::{Src, lanes};
use crate::sim::tensor_map::{self, Row, TensorMap, swizzled};
use crate::tensor::DType;

/// Bytes of what a swizzle moves as one.
const CHUNK: usize = 16;
/// What the address of a box in shared memory is a multiple of.
const BOX_ALIGN: u32 = 128;

/// Bytes in global memory, and how they lie in shared memory.
#[derive(Debug)]
struct Region {
    rows: Vec<Row>,
    /// Bytes of a row in shared memory, where the rows lie one behind the other.
    row_bytes: u32,
    swizzle: MapSwizzle,
    /// What is loaded where the tensor has no element.
    fill: [u8; CHUNK],
}

/// A copy of one thread into shared memory.
#[derive(Debug)]
pub(super) struct Load {
    region: Region,
    to: u64,
    barrier: u64,
}

/// A copy of one thread out of shared memory, or an update with what is there.
#[derive(Debug)]
pub(super) struct Store {
    from: u64,
    region: Region,
    /// A function of elements of so many bytes.
    update: Option<(Update, u32)>,
    /// What it has read, where it has.
    data: Option<Vec<u8>>,
    /// Whether its thread knows that it has.
    released: bool,
}

impl Region {
    fn bytes(&self) -> u32 {
        self.rows.len() as u32 * self.row_bytes
    }

    /// A run of consecutive bytes.
    fn flat(address: u64, bytes: u32) -> Region {
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
        }
    }

    fn of_box(map: &TensorMap, coordinates: &[i32]) -> Region {
        Region {
            rows: map.rows_at(coordinates),
            row_bytes: map.row_bytes(),
            swizzle: map.swizzle,
            fill: map.fill(),
        }
    }

    /// Checks that what is read of global memory is there, and written.
    fn check_source(&self, cta: &Cta<'_>) -> Result<(), ErrorKind> {
        for row in self.rows.iter().filter(|row| row.valid > 0) {
            let place = cta
                .launch
                .memory
                .place(row.global, row.valid, Access::Read)?;
            if cta.launch.options.checks
                && let Some(byte) = place.unwritten_of(row.valid)
            {
                return Err(access::uninitialised(&place, row.global, row.valid, byte));
            }
        }
        Ok(())
    }

    /// Moves the bytes of global memory into shared memory.
    fn load(&self, cta: &mut Cta<'_>, to: u64) -> Result<(), ErrorKind> {
        let mut line = vec![0; self.row_bytes as usize];
        for (row, at) in self.rows.iter().zip((to..).step_by(line.len())) {
            for (byte, fill) in line.iter_mut().zip(self.fill.iter().cycle()) {
                *byte = *fill;
            }
            if row.valid > 0 {
                let place = cta
                    .launch
                    .memory
                    .place(row.global, row.valid, Access::Read)?;
                place.copy_to(&mut line[row.skipped as usize..][..row.valid as usize]);
            }
            match self.swizzle {
                MapSwizzle::None => cta.shared.deposit(at, &line),
                MapSwizzle::B32 | MapSwizzle::B64 | MapSwizzle::B128 => {
                    for (chunk, at) in line.chunks(CHUNK).zip((at..).step_by(CHUNK)) {
                        cta.shared.deposit(swizzled(self.swizzle, at), chunk);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Region {
    /// The pieces of shared memory that belong to bytes of the tensor: address and bytes.
    fn pieces(&self, shared: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let rows = (shared..).step_by(self.row_bytes as usize);
        let rows = self.rows.iter().zip(rows);
        rows.filter(|(row, _)| row.valid > 0)
            .flat_map(move |(row, at)| {
                let (mut start, end) = (row.skipped, row.skipped + row.valid);
                let whole = self.swizzle == MapSwizzle::None;
                std::iter::from_fn(move || {
                    let stop = match whole {
                        true => end,
                        false => end.min((start / CHUNK as u32 + 1) * CHUNK as u32),
                    };
                    let piece = (swizzled(self.swizzle, at + u64::from(start)), stop - start);
                    let some = start < end;
                    start = stop;
                    some.then_some(piece)
                })
            })
    }

    /// Checks that shared memory has what is to be stored, and that global memory can be written.
    fn check_target(&self, cta: &Cta<'_>, from: u64) -> Result<(), ErrorKind> {
        for (at, bytes) in self.pieces(from) {
            cta.shared.read_any(at, bytes)?;
        }
        for row in self.rows.iter().filter(|row| row.valid > 0) {
            let memory = cta.launch.memory;
            memory.place(row.global, row.valid, Access::Write)?;
        }
        Ok(())
    }
}

impl Store {
    /// Whether it has read its source, and its thread knows it.
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// Whether it has read its source.
    pub fn has_read(&self) -> bool {
        self.data.is_some()
    }

    /// Reads its source.
    pub fn read(&mut self, cta: &Cta<'_>) -> Result<(), ErrorKind> {
        if self.data.is_none() {
            let mut data = Vec::with_capacity(self.region.bytes() as usize);
            for (at, bytes) in self.region.pieces(self.from) {
                data.extend_from_slice(cta.shared.glance(at, bytes));
            }
            self.data = Some(data);
        }
        Ok(())
    }

    /// The thread has waited until the source was read.
    pub fn release(&mut self, cta: &mut Cta<'_>) -> Result<(), ErrorKind> {
        self.read(cta)?;
        self.released = true;
        Ok(())
    }

    /// Writes its target.
    pub fn take_place(&mut self, cta: &mut Cta<'_>) -> Result<(), ErrorKind> {
        self.read(cta)?;
        let mut data = self.data.as_deref().unwrap_or_default();
        for row in self.region.rows.iter().filter(|row| row.valid > 0) {
            let memory = cta.launch.memory;
            let place = memory.place(row.global, row.valid, Access::Write)?;
            let Some((here, rest)) = data.split_at_checked(row.valid as usize) else {
                break;
            };
            data = rest;
            match self.update {
                None => place.copy_from(here),
                Some((update, bytes)) => {
                    for (i, element) in (0..).zip(here.chunks(bytes as usize)) {
                        let place = place.plus(i * u64::from(bytes));
                        place.store(bytes, update(place.load(bytes), value(element), 0));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Load {
    /// The bytes arrive, and are counted.
    pub fn take_place(&self, cta: &mut Cta<'_>) -> Result<(), ErrorKind> {
        self.region.load(cta, self.to)?;
        let bytes = self.region.bytes();
        cta.shared.complete(self.to, bytes);
        cta.count_bytes(self.barrier, -i64::from(bytes))
    }
}

impl Warp {
    /// `cp.async.bulk`.
    pub(super) fn bulk(&mut self, cta: &mut Cta<'_>, bulk: &Bulk, mask: u32) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let effect = self.begin_bulk(cta, bulk, lane).map_err(fault_at(lane))?;
            self.in_flight.begin(cta, effect, 1 << lane)?;
        }
        Ok(())
    }

    fn begin_bulk(&self, cta: &mut Cta<'_>, bulk: &Bulk, lane: usize) -> Result<Effect, ErrorKind> {
        match bulk {
            Bulk::Load {
                from,
                to,
                size,
                barrier,
                multicast,
            } => {
                if multicast.is_some() {
                    return Err(not_yet("a load for several CTAs"));
                }
                let (region, _) = self.region(cta, from, *size, Access::Read, lane)?;
                let to = self.shared_address(to, lane)?;
                check_shared(from, to, Access::Write)?;
                let barrier = self.shared_address(barrier, lane)?;
                cta.mbarrier(barrier)?;
                region.check_source(cta)?;
                cta.shared.announce_bulk(to, region.bytes())?;
                Ok(Effect::Load(Box::new(Load {
                    region,
                    to,
                    barrier,
                })))
            }
            Bulk::Store {
                from,
                to,
                size,
                update,
            } => {
                let (region, dtype) = self.region(cta, to, *size, Access::Write, lane)?;
                let from = self.shared_address(from, lane)?;
                check_shared(to, from, Access::Read)?;
                region.check_target(cta, from)?;
                let update = match *update {
                    None => None,
                    Some(update) => Some(typed(update, dtype)?),
                };
                Ok(Effect::Store(Box::new(Store {
                    from,
                    region,
                    update,
                    data: None,
                    released: false,
                })))
            }
            Bulk::Peer { .. } => Err(not_yet("a copy to another CTA")),
        }
    }

    fn of_lane(&self, src: Src, lane: usize) -> u64 {
        self.registers.wides_of(src)[lane]
    }

    fn shared_address(&self, address: &Address, lane: usize) -> Result<u64, ErrorKind> {
        let (_, at) = access::resolve(address.space, self.addresses(address)[lane]);
        Ok(at)
    }

    /// What an instruction moves of global memory.
    fn region(
        &self,
        cta: &Cta<'_>,
        global: &BulkGlobal,
        size: Option<Src>,
        access: Access,
        lane: usize,
    ) -> Result<(Region, Option<DType>), ErrorKind> {
        match global {
            BulkGlobal::Flat { address } => {
                let size = size.map_or(0, |size| self.of_lane(size, lane) as u32);
                if size == 0 || !size.is_multiple_of(CHUNK as u32) {
                    return Err(ErrorKind::Value {
                        what: "bytes of a bulk copy",
                        expected: "a multiple of 16 above 0".to_owned(),
                        found: size.into(),
                    });
                }
                let at = self.addresses(address)[lane];
                let align = CHUNK as u32;
                aligned(Space::Global, access, at, align)?;
                Ok((Region::flat(at, size), None))
            }
            BulkGlobal::Tensor { map, coordinates } => {
                let at = self.addresses(map)[lane];
                let map = read_map(cta, map.space, at)?;
                let of_lane = |&src: &Src| self.of_lane(src, lane) as i32;
                let coordinates: Vec<i32> = coordinates.iter().map(of_lane).collect();
                if map.extents.len() != coordinates.len() {
                    return Err(ErrorKind::TensorMap {
                        what: "rank",
                        expected: format!("{}, of the instruction", coordinates.len()),
                        found: map.extents.len().to_string(),
                    });
                }
                let start = i64::from(coordinates[0]) * map.dtype.size() as i64;
                if start % CHUNK as i64 != 0 {
                    return Err(ErrorKind::TensorMap {
                        what: "start of the box in the first dimension",
                        expected: "a multiple of 16 bytes".to_owned(),
                        found: format!("coordinate {}, {start} bytes", coordinates[0]),
                    });
                }
                let before = coordinates.iter().position(|&coordinate| coordinate < 0);
                if let (Access::Write, Some(dimension)) = (access, before) {
                    return Err(ErrorKind::TensorMap {
                        what: "start of a box that is stored",
                        expected: "no negative coordinate".to_owned(),
                        found: format!("{} in dimension {dimension}", coordinates[dimension]),
                    });
                }
                let limit = u64::from(u32::MAX);
                if map.box_bytes() > limit {
                    return Err(ErrorKind::Limit {
                        what: "bytes of a box",
                        limit,
                        found: map.box_bytes(),
                    });
                }
                Ok((Region::of_box(&map, &coordinates), Some(map.dtype)))
            }
        }
    }
}

/// An update of elements of a tensor map's type, and their bytes.
fn typed(update: BulkUpdate, dtype: Option<DType>) -> Result<(Update, u32), ErrorKind> {
    match (update, dtype) {
        (BulkUpdate::Typed { function, bytes }, _) => Ok((function, bytes)),
        (BulkUpdate::OfMap(kind), Some(dtype)) => {
            let function = update_of_map(kind, dtype).ok_or_else(|| ErrorKind::TensorMap {
                what: "element type",
                expected: format!("one that `.{}` is for", kind.name()),
                found: dtype.to_string(),
            })?;
            Ok((function, dtype.size() as u32))
        }
        (BulkUpdate::OfMap(_), None) => Err(not_yet("an update without a type")),
    }
}

fn not_yet(opcode: &str) -> ErrorKind {
    ErrorKind::UnknownInstruction {
        opcode: opcode.to_owned(),
    }
}

/// The tensor map at an address.
fn read_map(cta: &Cta<'_>, space: Space, address: u64) -> Result<TensorMap, ErrorKind> {
    let (space, at) = access::resolve(space, address);
    aligned(space, Access::Read, at, tensor_map::ALIGN as u32)?;
    let mut bytes = [0; tensor_map::BYTES];
    match space {
        Space::Param => {
            let (low, high) = bytes.split_at_mut(tensor_map::BYTES / 2);
            low.copy_from_slice(cta.launch.params.read(at, low.len() as u32)?);
            high.copy_from_slice(
                cta.launch
                    .params
                    .read(at + low.len() as u64, high.len() as u32)?,
            );
        }
        Space::Global => {
            let size = tensor_map::BYTES as u32;
            let place = cta.launch.memory.place(at, size, Access::Read)?;
            place.copy_to(&mut bytes);
        }
        Space::Generic | Space::Shared | Space::Local | Space::Const => {
            return Err(ErrorKind::Value {
                what: "address of a tensor map",
                expected: "one of a kernel parameter, or of global or constant memory".to_owned(),
                found: address,
            });
        }
    }
    TensorMap::decode(&bytes).ok_or_else(|| ErrorKind::TensorMap {
        what: "128 bytes",
        expected: "a map that the host has encoded".to_owned(),
        found: "other bytes".to_owned(),
    })
}

fn check_shared(global: &BulkGlobal, at: u64, access: Access) -> Result<(), ErrorKind> {
    let align = match global {
        BulkGlobal::Tensor { .. } => BOX_ALIGN,
        BulkGlobal::Flat { .. } => CHUNK as u32,
    };
    aligned(Space::Shared, access, at, align)
}

fn aligned(space: Space, access: Access, address: u64, align: u32) -> Result<(), ErrorKind> {
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
