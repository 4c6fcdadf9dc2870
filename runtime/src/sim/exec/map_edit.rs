//! Tensor maps that a kernel edits, and the fences between an edit and the use of the map (PTX ISA 8.9, "Proxy-preserved base
//! causality order"; "tensormap.replace").

use super::Fault;
use super::access;
use super::cta::Cta;
use super::fault_at;
use super::region::aligned;
use super::touch::Touch;
use super::warp::{Next, Warp};
use crate::sim::Space;
use crate::sim::error::{Access, Act, ErrorKind};
use crate::sim::isa::{MapEdit, Order, Proxy};
use crate::sim::lane::{WARP, lanes};
use crate::sim::tensor_map::{ALIGN, BYTES, TensorMap};

/// What the addresses of a copy of a map are multiples of (PTX ISA, "tensormap.cp_fenceproxy").
const COPY_ALIGN: u32 = 128;
/// Bytes that are written at a time.
const CHUNK: usize = 16;

impl Warp {
    /// An operation on tensor maps in memory.
    pub(super) fn map_edit(
        &mut self,
        cta: &mut Cta<'_>,
        edit: &MapEdit,
        mask: u32,
    ) -> Result<Next, Fault> {
        match edit {
            MapEdit::Replace { map, field, value } => {
                let addresses = self.addresses(map);
                let values = self.registers.wides_of(*value);
                for lane in lanes(mask) {
                    let place = access::resolve(map.space, addresses[lane]);
                    let mut bytes = read(cta, place, ALIGN as u32).map_err(fault_at(lane))?;
                    TensorMap::replace(&mut bytes, *field, values[lane]).map_err(fault_at(lane))?;
                    write(cta, place, &bytes, lane)?;
                }
            }
            MapEdit::Publish { to, from } => {
                if mask != u32::MAX {
                    return Ok(Next::Gather(mask, u32::MAX));
                }
                let to = access::resolve(Space::Global, self.addresses(to)[0]);
                let from = access::resolve(Space::Shared, self.addresses(from)[0]);
                let bytes = read(cta, from, COPY_ALIGN).map_err(fault_at(0))?;
                aligned(to.0, Access::Write, to.1, COPY_ALIGN).map_err(fault_at(0))?;
                touch(cta, from, Act::Read, 0)?;
                write(cta, to, &bytes, 0)?;
                if let Some(races) = &mut cta.races {
                    races.meet(self.index, mask);
                    races.release_maps(self.index, mask);
                }
            }
            MapEdit::Release => {
                if let Some(races) = &mut cta.races {
                    races.release_maps(self.index, mask);
                }
            }
            MapEdit::Acquire(map) => {
                let addresses = self.addresses(map);
                for lane in lanes(mask) {
                    let (space, at) = access::resolve(map.space, addresses[lane]);
                    aligned(space, Access::Read, at, ALIGN as u32).map_err(fault_at(lane))?;
                    if let (Space::Global, Some(races)) = (space, &mut cta.races) {
                        races.acquire_map(self.index, lane as u32, at);
                    }
                }
            }
        }
        Ok(Next::Advance)
    }
}

/// The bytes of a map in shared or global memory.
fn read(cta: &Cta<'_>, (space, at): (Space, u64), align: u32) -> Result<[u8; BYTES], ErrorKind> {
    aligned(space, Access::Read, at, align)?;
    let size = BYTES as u32;
    let mut bytes = [0; BYTES];
    match space {
        Space::Global => {
            let place = cta.launch.memory.place(at, size, Access::Write)?;
            if cta.launch.options.checks
                && let Some(byte) = place.unwritten_of(size)
            {
                return Err(access::uninitialised(&place, at, size, byte));
            }
            place.copy_to(&mut bytes);
        }
        Space::Shared => {
            cta.check_space(Space::Shared, at)?;
            cta.shared.read_any(at, size)?;
            bytes.copy_from_slice(cta.shared.glance(at, size));
        }
        Space::Generic | Space::Cluster | Space::Local | Space::Param | Space::Const => {
            return Err(ErrorKind::Value {
                what: "address of a tensor map that is edited",
                expected: "one of shared or global memory".to_owned(),
                found: at,
            });
        }
    }
    Ok(bytes)
}

/// Writes a map where [`read`] has read one, or to global memory, for a lane.
fn write(
    cta: &mut Cta<'_>,
    (space, at): (Space, u64),
    bytes: &[u8; BYTES],
    lane: usize,
) -> Result<(), Fault> {
    match space {
        Space::Global => {
            let place = cta.launch.memory.place(at, BYTES as u32, Access::Write);
            place.map_err(fault_at(lane))?.copy_from(bytes);
        }
        Space::Generic
        | Space::Shared
        | Space::Cluster
        | Space::Local
        | Space::Param
        | Space::Const => {
            for (chunk, at) in bytes.chunks(CHUNK).zip((at..).step_by(CHUNK)) {
                let place = cta.shared.write(at, CHUNK as u32);
                place.map_err(fault_at(lane))?.copy_from_slice(chunk);
            }
        }
    }
    touch(cta, (space, at), Act::Write, lane)
}

/// A lane's access to a whole map, by the generic proxy.
fn touch(cta: &mut Cta<'_>, (space, at): (Space, u64), act: Act, lane: usize) -> Result<(), Fault> {
    let touch = Touch {
        space,
        act,
        order: Order::WEAK,
        proxy: Proxy::Generic,
        addresses: &[at; WARP],
        bytes: BYTES as u32,
        mask: 1 << lane,
        changed: u32::MAX,
    };
    cta.touch_bulk(&touch, at)
}
