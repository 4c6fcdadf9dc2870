//! Loads, stores and atomics of a warp.

use super::cta::Cta;
use super::shared::value;
use super::touch::Touch;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Access, Act, ErrorKind};
use crate::sim::isa::{
    Address, Extend, LOCAL_WINDOW, Order, PARAM_WINDOW, PEER_SHIFT, Proxy, SHARED_WINDOW,
    WINDOW_BYTES,
};
use crate::sim::lane::{Dst, Registers, Src, Wides, lanes};
use crate::sim::memory::Place;

/// The error for a read of bytes that nobody wrote.
#[cold]
pub(super) fn uninitialised(place: &Place<'_>, address: u64, size: u32, byte: u32) -> ErrorKind {
    let object = format!(" (in `{}`)", place.name());
    ErrorKind::Uninitialised {
        space: Space::Global,
        address,
        size,
        byte,
        object,
    }
}

/// The space of an address, and the address within it.
#[inline]
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Const => (Space::Global, address),
        Space::Cluster => (Space::Shared, address),
        Space::Generic if address >> 40 != 0 => (Space::Global, address),
        Space::Generic => match address {
            _ if address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES => {
                (Space::Shared, address - SHARED_WINDOW)
            }
            _ if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES => {
                (Space::Local, address - LOCAL_WINDOW)
            }
            _ if address.wrapping_sub(PARAM_WINDOW) < WINDOW_BYTES => {
                (Space::Param, address - PARAM_WINDOW)
            }
            // No window: global memory reports it.
            _ => (Space::Global, address),
        },
        Space::Global | Space::Shared | Space::Local | Space::Param => (space, address),
    }
}

fn extended(value: u64, bytes: u32, extend: Extend) -> u64 {
    match (extend, bytes) {
        (Extend::Sign, 1) => value as i8 as u64,
        (Extend::Sign, 2) => value as i16 as u64,
        (Extend::Sign, 4) => value as i32 as u64,
        _ => value,
    }
}

#[inline]
pub(super) fn put(registers: &mut Registers, dst: Dst, lane: usize, value: u64) {
    match dst {
        Dst::Word(slot) => registers.words[slot as usize][lane] = value as u32,
        Dst::Wide(slot) => registers.wides[slot as usize][lane] = value,
        Dst::Sink => {}
    }
}

#[inline]
fn get(registers: &Registers, src: Src, lane: usize) -> u64 {
    match src {
        Src::Word(slot) => u64::from(registers.words[slot as usize][lane]),
        Src::Wide(slot) => registers.wides[slot as usize][lane],
        Src::Imm(value) => value,
        Src::Special(_) | Src::Variable(..) => registers.wides_of(src)[lane],
    }
}

impl Cta<'_> {
    /// Checks a global access and finds it.
    #[inline]
    pub(super) fn global(
        &self,
        address: u64,
        size: u32,
        access: Access,
    ) -> Result<Place<'_>, ErrorKind> {
        let place = self.launch.memory.place(address, size, access)?;
        if address & u64::from(size - 1) != 0 {
            return Err(ErrorKind::Misaligned {
                space: Space::Global,
                access,
                address,
                align: size,
            });
        }
        if access == Access::Read
            && self.launch.options.checks
            && let Some(byte) = place.unwritten(size)
        {
            return Err(uninitialised(&place, address, size, byte));
        }
        Ok(place)
    }
}

impl Warp {
    pub(super) fn addresses(&self, address: &Address) -> Wides {
        // A 32-bit base is added to in 32 bits: LLVM's may be negative before the offset.
        let narrow = matches!(address.base, Src::Word(_));
        self.registers.wides_of(address.base).map(|base| {
            let sum = base.wrapping_add_signed(address.offset);
            if narrow {
                sum & u64::from(u32::MAX)
            } else {
                sum
            }
        })
    }

    /// `ld`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load(
        &mut self,
        cta: &mut Cta<'_>,
        dsts: &[Dst],
        address: &Address,
        bytes: u32,
        extend: Extend,
        order: Order,
        mask: u32,
    ) -> Result<(), Fault> {
        let total = bytes * dsts.len() as u32;
        let mut addresses = self.addresses(address);
        let Warp {
            registers, local, ..
        } = self;
        let mut touched = Touched::default();
        for lane in lanes(mask) {
            let (space, at) = resolve(address.space, addresses[lane]);
            touched.add(space, lane);
            addresses[lane] = at;
            let data = match space {
                Space::Global => {
                    let place = cta
                        .global(at, total, Access::Read)
                        .map_err(fault_at(lane))?;
                    for (i, &dst) in dsts.iter().enumerate() {
                        let value = place.plus(u64::from(bytes) * i as u64).load(bytes);
                        put(registers, dst, lane, extended(value, bytes, extend));
                    }
                    continue;
                }
                Space::Shared if at >> PEER_SHIFT == 0 => cta.shared.read(at, total),
                Space::Shared => cta.read_peer(address.space, at, total),
                Space::Param => cta.launch.params.read(at, total),
                Space::Local | Space::Cluster | Space::Generic | Space::Const => {
                    match local.get(lane) {
                        Some(local) => local.read(at, total),
                        None => Err(no_local(at, total, Access::Read)),
                    }
                }
            };
            let data = data.map_err(fault_at(lane))?;
            for (element, &dst) in data.chunks_exact(bytes as usize).zip(dsts) {
                put(
                    registers,
                    dst,
                    lane,
                    extended(value(element), bytes, extend),
                );
            }
        }
        touched.report(cta, Act::Read, order, &addresses, total)
    }

    /// `st`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn store(
        &mut self,
        cta: &mut Cta<'_>,
        srcs: &[Src],
        address: &Address,
        bytes: u32,
        order: Order,
        mask: u32,
    ) -> Result<(), Fault> {
        let total = bytes * srcs.len() as u32;
        let mut addresses = self.addresses(address);
        let mut touched = Touched::default();
        let watched = cta.races.is_some();
        for lane in lanes(mask) {
            let (space, at) = resolve(address.space, addresses[lane]);
            touched.add(space, lane);
            addresses[lane] = at;
            let data = match space {
                Space::Global => {
                    let place = cta
                        .global(at, total, Access::Write)
                        .map_err(fault_at(lane))?;
                    for (i, &src) in srcs.iter().enumerate() {
                        let (place, value) = (
                            place.plus(u64::from(bytes) * i as u64),
                            get(&self.registers, src, lane),
                        );
                        if watched && place.load(bytes) != value & ones(bytes) {
                            touched.changed |= 1 << lane;
                        }
                        place.store(bytes, value);
                    }
                    continue;
                }
                Space::Shared if at >> PEER_SHIFT == 0 => cta.shared.write(at, total),
                Space::Shared => cta.write_peer(address.space, at, total),
                Space::Param => Err(ErrorKind::ReadOnly { space, address: at }),
                Space::Local | Space::Cluster | Space::Generic | Space::Const => {
                    match self.local.get_mut(lane) {
                        Some(local) => local.write(at, total),
                        None => Err(no_local(at, total, Access::Write)),
                    }
                }
            };
            let data = data.map_err(fault_at(lane))?;
            for (chunk, &src) in data.chunks_exact_mut(bytes as usize).zip(srcs) {
                let value = get(&self.registers, src, lane).to_le_bytes();
                let value = &value[..bytes as usize];
                if watched && chunk != value {
                    touched.changed |= 1 << lane;
                }
                chunk.copy_from_slice(value);
            }
        }
        touched.report(cta, Act::Write, order, &addresses, total)
    }

    /// `atom`, `red`: lane after lane, of each element after element.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic(
        &mut self,
        cta: &mut Cta<'_>,
        dsts: &[Dst],
        address: &Address,
        bytes: u32,
        (bs, c): (&[Src], Src),
        f: fn(u64, u64, u64) -> u64,
        order: Order,
        mask: u32,
    ) -> Result<(), Fault> {
        let total = bytes * bs.len() as u32;
        let mut addresses = self.addresses(address);
        let mut touched = Touched {
            changed: u32::MAX,
            ..Touched::default()
        };
        let (c, ones) = (self.registers.wides_of(c), ones(bytes));
        for lane in lanes(mask) {
            let (space, at) = resolve(address.space, addresses[lane]);
            touched.add(space, lane);
            addresses[lane] = at;
            if !matches!(space, Space::Global | Space::Shared) {
                let expected = "global or shared memory".to_owned();
                let kind = ErrorKind::Value {
                    what: "address of an atomic",
                    expected,
                    found: addresses[lane],
                };
                return Err(Fault::new(kind, lane as u32));
            }
            if space == Space::Global {
                let whole = |access| cta.global(at, total, access).map_err(fault_at(lane));
                whole(Access::Read)?;
                whole(Access::Write)?;
            }
            for (number, (&dst, &b)) in dsts.iter().zip(bs).enumerate() {
                let at = at + u64::from(bytes) * number as u64;
                let b = get(&self.registers, b, lane) & ones;
                let combined = |old| f(old, b, c[lane] & ones);
                let old = match space {
                    Space::Global => {
                        let place = cta
                            .global(at, bytes, Access::Write)
                            .map_err(fault_at(lane))?;
                        let old = place.load(bytes);
                        let new = combined(old);
                        place.store(bytes, new);
                        cta.changed |= new & ones != old;
                        old
                    }
                    _ => {
                        let own = at >> PEER_SHIFT == 0;
                        let data = match own {
                            true => cta.shared.read(at, bytes),
                            false => cta.read_peer(address.space, at, bytes),
                        };
                        let old = value(data.map_err(fault_at(lane))?);
                        let new = combined(old);
                        cta.changed |= new & ones != old;
                        let new = new.to_le_bytes();
                        let data = match own {
                            true => cta.shared.write(at, bytes),
                            false => cta.write_peer(address.space, at, bytes),
                        };
                        let data = data.map_err(fault_at(lane))?;
                        data.copy_from_slice(&new[..bytes as usize]);
                        old
                    }
                };
                put(&mut self.registers, dst, lane, old);
            }
        }
        touched.report(cta, Act::Update, order, &addresses, total)
    }
}

/// All bits of so many bytes.
fn ones(bytes: u32) -> u64 {
    match bytes {
        8 => u64::MAX,
        _ => (1 << (8 * bytes)) - 1,
    }
}

/// Which lanes of an access went to which memory.
#[derive(Default)]
struct Touched {
    shared: u32,
    global: u32,
    changed: u32,
}

impl Touched {
    #[inline]
    fn add(&mut self, space: Space, lane: usize) {
        match space {
            Space::Shared => self.shared |= 1 << lane,
            Space::Global => self.global |= 1 << lane,
            Space::Local | Space::Param | Space::Cluster | Space::Generic | Space::Const => {}
        }
    }

    #[inline]
    fn report(
        self,
        cta: &mut Cta<'_>,
        act: Act,
        order: Order,
        addresses: &Wides,
        bytes: u32,
    ) -> Result<(), Fault> {
        for (space, mask) in [(Space::Shared, self.shared), (Space::Global, self.global)] {
            cta.touch(&Touch {
                space,
                act,
                order,
                proxy: Proxy::Generic,
                addresses,
                bytes,
                mask,
                changed: self.changed,
            })?;
        }
        Ok(())
    }
}

#[cold]
pub(super) fn no_local(address: u64, size: u32, access: Access) -> ErrorKind {
    let object = "there is no local memory".to_owned();
    ErrorKind::OutOfBounds {
        space: Space::Local,
        access,
        address,
        size,
        object,
    }
}
