//! Bulk copies (PTX ISA 9.7.9.25.4 and 9.7.9.25.5): what is checked where one is issued, and what it does in flight.
//!
//! Each thread issues a copy of its own, of as many bytes as it says or as the box of a tensor map has. A load completes
//! by counting its bytes at an `mbarrier`, when they have arrived; its target counts as in flight until then.

use super::cta::Cta;
use super::in_flight::Effect;
use super::warp::Warp;
use super::{Fault, access, fault_at};
use crate::abi::tensor_map::MapSwizzle;
use crate::sim::Space;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::isa::{Address, Bulk, BulkGlobal};
use crate::sim::lane::{Src, lanes};
use crate::sim::tensor_map::{self, Row, TensorMap, swizzled};

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
                let region = self.region(cta, from, *size, lane)?;
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
            Bulk::Store { .. } | Bulk::Peer { .. } => Err(not_yet("a store in bulk")),
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
        lane: usize,
    ) -> Result<Region, ErrorKind> {
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
                aligned(Space::Global, Access::Read, at, align)?;
                Ok(Region::flat(at, size))
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
                let limit = u64::from(u32::MAX);
                if map.box_bytes() > limit {
                    return Err(ErrorKind::Limit {
                        what: "bytes of a box",
                        limit,
                        found: map.box_bytes(),
                    });
                }
                Ok(Region::of_box(&map, &coordinates))
            }
        }
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
