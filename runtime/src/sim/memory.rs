//! Global memory: allocations of the host and of the module's variables.
//!
//! Bytes live in relaxed atomic words, so CTAs that run in parallel may touch the same word without
//! undefined behaviour and without `unsafe`; on the machines this runs on, a relaxed load or store
//! is a plain one. Beside each byte stands one bit: was it ever written? [`Memory::alloc`] leaves
//! the bits clear, [`Memory::write`] and stores of kernels set them.
//!
//! An address carries its allocation: bits 40 and up are the allocation's number, from 1. So every
//! stray pointer is attributed to the object that it was derived from, up to a terabyte past it
//! and a megabyte before it. Number 0 holds the generic windows of the other state spaces.

use crate::abi::counted;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Space;
use super::error::{Access, ErrorKind, SimError};

/// log2 of the address range that one allocation owns.
const SLOT_BITS: u32 = 40;
/// Offset of an allocation's first byte in its address range.
const SLOT_BASE: u64 = 1 << 20;
/// Largest allocation.
const MAX_BYTES: u64 = 1 << 34;

/// Device memory of a simulated GPU.
#[derive(Debug, Default)]
pub struct Memory {
    slots: Vec<Option<Allocation>>,
    /// Variables of the modules launched so far: module number → first slot.
    modules: BTreeMap<u64, Vec<u64>>,
}

#[derive(Debug)]
struct Allocation {
    name: String,
    bytes: u64,
    writable: bool,
    words: Box<[AtomicU32]>,
    /// One bit a byte.
    written: Box<[AtomicU32]>,
    /// One bit a sector of 32 bytes that a kernel read, and one that it wrote, while it is profiled.
    noted: [OnceLock<Box<[AtomicU32]>>; 2],
}

/// A resolved, bounds-checked access: which allocation, which byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    allocation: &'a Allocation,
    offset: u64,
}

impl Memory {
    /// Memory without allocations.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Reserves `bytes` of uninitialised memory, filled with `0xff` (a NaN in every float type),
    /// and returns its device address, a multiple of 1024. The name appears in errors.
    ///
    /// # Errors
    /// More than 16 GiB in one piece, or 2²³ allocations.
    pub fn alloc(&mut self, bytes: u64, name: &str) -> Result<u64, SimError> {
        self.allocate(bytes, name, true)
    }

    fn allocate(&mut self, bytes: u64, name: &str, writable: bool) -> Result<u64, SimError> {
        if bytes > MAX_BYTES {
            return Err(ErrorKind::Limit {
                what: "bytes of an allocation",
                limit: MAX_BYTES,
                found: bytes,
            }
            .into());
        }
        let slot = self.slots.len() as u64 + 1;
        if slot >= 1 << (63 - SLOT_BITS) {
            return Err(ErrorKind::Limit {
                what: "allocations",
                limit: (1 << (63 - SLOT_BITS)) - 1,
                found: slot,
            }
            .into());
        }
        let filled = |count: u64, value: u32| (0..count).map(|_| AtomicU32::new(value)).collect();
        self.slots.push(Some(Allocation {
            name: name.to_owned(),
            bytes,
            writable,
            words: filled(bytes.div_ceil(4), u32::MAX),
            written: filled(bytes.div_ceil(32), 0),
            noted: Default::default(),
        }));
        Ok((slot << SLOT_BITS) + SLOT_BASE)
    }

    /// Gives an allocation back; later accesses to it are errors. The address must be the one
    /// that [`alloc`](Memory::alloc) returned.
    ///
    /// # Errors
    /// No allocation starts at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), SimError> {
        self.host_place(address, 0, Access::Write)?;
        if address & ((1 << SLOT_BITS) - 1) != SLOT_BASE {
            return Err(self.host_error(address, 0, Access::Write));
        }
        self.slots[(address >> SLOT_BITS) as usize - 1] = None;
        Ok(())
    }

    /// Copies host data to the device; the bytes count as initialised.
    ///
    /// # Errors
    /// The range is not inside of one allocation.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), SimError> {
        let place = self.host_place(address, data.len() as u64, Access::Write)?;
        let mut at = place.offset as usize;
        let mut rest = data;
        while !rest.is_empty() {
            let take = (4 - at % 4).min(rest.len());
            let word = &place.allocation.words[at / 4];
            let mut bytes = word.load(Relaxed).to_le_bytes();
            bytes[at % 4..at % 4 + take].copy_from_slice(&rest[..take]);
            word.store(u32::from_le_bytes(bytes), Relaxed);
            place.allocation.mark_written(at as u64, take as u32);
            at += take;
            rest = &rest[take..];
        }
        Ok(())
    }

    /// Copies device memory to the host, uninitialised bytes as they are (`0xff`).
    ///
    /// # Errors
    /// The range is not inside of one allocation.
    pub fn read(&self, address: u64, bytes: u64) -> Result<Vec<u8>, SimError> {
        let place = self.host_place(address, bytes, Access::Read)?;
        let (first, end) = (place.offset as usize, (place.offset + bytes) as usize);
        let words = &place.allocation.words[first / 4..end.div_ceil(4)];
        let data: Vec<u8> = words
            .iter()
            .flat_map(|word| word.load(Relaxed).to_le_bytes())
            .collect();
        Ok(data[first % 4..][..bytes as usize].to_vec())
    }

    /// Makes a range uninitialised again and fills it with `0xff`.
    ///
    /// # Errors
    /// The range is not inside of one allocation.
    pub fn poison(&mut self, address: u64, bytes: u64) -> Result<(), SimError> {
        // Before as many bytes are made.
        self.host_place(address, bytes, Access::Write)?;
        self.write(address, &vec![0xff; bytes as usize])?;
        let place = self.host_place(address, bytes, Access::Write)?;
        let (mut at, end) = (place.offset, place.offset + bytes);
        while at < end {
            // Up to the next line of 32 bytes, whose bits are one word.
            let size = (32 - at % 32).min(end - at);
            place.allocation.written[at as usize / 32]
                .fetch_and(!bits_of(at, size as u32), Relaxed);
            at += size;
        }
        Ok(())
    }

    /// The first byte of a range, counted from `address`, that nobody has written.
    ///
    /// # Errors
    /// The range is not inside of one allocation.
    pub fn first_unwritten(&self, address: u64, bytes: u64) -> Result<Option<u64>, SimError> {
        let place = self.host_place(address, bytes, Access::Read)?;
        Ok((0..bytes).find(|i| !place.allocation.is_written(place.offset + i)))
    }

    /// The addresses of a module's variables, allocated at its first launch.
    pub(crate) fn module_variables(
        &mut self,
        module: u64,
        variables: &[super::entry::Variable],
    ) -> Result<Vec<u64>, SimError> {
        if let Some(addresses) = self.modules.get(&module) {
            return Ok(addresses.clone());
        }
        let mut addresses = Vec::new();
        for variable in variables {
            let address = self.allocate(variable.bytes, &variable.name, true)?;
            // Module variables start as zero where no initialiser is given (PTX ISA 5.4.4).
            let mut image = variable.init.clone();
            image.resize(variable.bytes as usize, 0);
            self.write(address, &image)?;
            if variable.space == Space::Const {
                self.slots[(address >> SLOT_BITS) as usize - 1]
                    .as_mut()
                    .expect("just allocated")
                    .writable = false;
            }
            addresses.push(address);
        }
        self.modules.insert(module, addresses.clone());
        Ok(addresses)
    }

    /// Resolves a device access; the error says which allocation is missed and by how much.
    #[inline]
    pub(crate) fn place(
        &self,
        address: u64,
        size: u32,
        access: Access,
    ) -> Result<Place<'_>, ErrorKind> {
        let slot = (address >> SLOT_BITS).wrapping_sub(1) as usize;
        let offset = (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(SLOT_BASE);
        match self.slots.get(slot) {
            Some(Some(allocation))
                if offset < allocation.bytes && allocation.bytes - offset >= u64::from(size) =>
            {
                if access == Access::Write && !allocation.writable {
                    return Err(ErrorKind::ReadOnly {
                        space: Space::Const,
                        address,
                    });
                }
                Ok(Place { allocation, offset })
            }
            _ => Err(ErrorKind::OutOfBounds {
                space: Space::Global,
                access,
                address,
                size,
                object: self.describe(address, u64::from(size)),
            }),
        }
    }

    fn host_place(&self, address: u64, bytes: u64, access: Access) -> Result<Place<'_>, SimError> {
        let slot = (address >> SLOT_BITS).wrapping_sub(1) as usize;
        let offset = (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(SLOT_BASE);
        match self.slots.get(slot) {
            Some(Some(allocation))
                if offset <= allocation.bytes && allocation.bytes - offset >= bytes =>
            {
                Ok(Place { allocation, offset })
            }
            _ => Err(self.host_error(address, bytes, access)),
        }
    }

    fn host_error(&self, address: u64, size: u64, access: Access) -> SimError {
        ErrorKind::HostAccess {
            access,
            address,
            size,
            object: self.describe(address, size),
        }
        .into()
    }

    /// Takes note of the sectors that an access touches.
    pub(crate) fn note(&self, address: u64, size: u32, reads: bool, writes: bool) {
        let Ok(place) = self.place(address, size, Access::Read) else {
            return;
        };
        let allocation = place.allocation;
        let words = allocation.bytes.div_ceil(32 * 32);
        for (noted, wanted) in allocation.noted.iter().zip([reads, writes]) {
            if !wanted {
                continue;
            }
            let bits = noted.get_or_init(|| (0..words).map(|_| AtomicU32::new(0)).collect());
            for sector in place.offset / 32..=(place.offset + u64::from(size) - 1) / 32 {
                let (word, bit) = (&bits[sector as usize / 32], 1 << (sector % 32));
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            }
        }
    }

    /// Bytes of the sectors that were read and written since the last call.
    pub(crate) fn take_noted(&self) -> (u64, u64) {
        let mut bytes = [0; 2];
        for allocation in self.slots.iter().flatten() {
            for (noted, bytes) in allocation.noted.iter().zip(&mut bytes) {
                for word in noted.get().into_iter().flatten() {
                    *bytes += 32 * u64::from(word.swap(0, Relaxed).count_ones());
                }
            }
        }
        (bytes[0], bytes[1])
    }

    /// A byte by the name of its allocation.
    pub(crate) fn byte_name(&self, address: u64) -> String {
        match self.place(address, 1, Access::Read) {
            Ok(place) => format!("byte {} of `{}`", place.offset, place.name()),
            Err(_) => format!("the byte at {address:#x}"),
        }
    }

    fn describe(&self, address: u64, size: u64) -> String {
        let slot = (address >> SLOT_BITS).wrapping_sub(1) as usize;
        let offset = (address & ((1 << SLOT_BITS) - 1)) as i64 - SLOT_BASE as i64;
        match self.slots.get(slot) {
            None => "no allocation is near".to_owned(),
            Some(None) => "the allocation was freed".to_owned(),
            Some(Some(a)) if offset < 0 => {
                format!(
                    "it starts {} before `{}`, which has {}",
                    counted(-offset, "byte"),
                    a.name,
                    counted(a.bytes, "byte")
                )
            }
            Some(Some(a)) => format!(
                "bytes {offset}..{} of `{}`, which has {}",
                offset as u64 + size,
                a.name,
                counted(a.bytes, "byte")
            ),
        }
    }
}

impl Allocation {
    fn is_written(&self, at: u64) -> bool {
        self.written[at as usize / 32].load(Relaxed) >> (at % 32) & 1 == 1
    }

    /// Sets the bits of `size` ≤ 32 bytes that do not cross a multiple of 32.
    #[inline]
    fn mark_written(&self, at: u64, size: u32) {
        let bits = bits_of(at, size);
        let word = &self.written[at as usize / 32];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }
}

#[inline]
fn bits_of(at: u64, size: u32) -> u32 {
    (((1u64 << size) - 1) as u32) << (at % 32)
}

/// Accesses of kernels: naturally aligned, so no access crosses a 32-byte line.
impl Place<'_> {
    /// The first of `size` bytes that was never written.
    #[inline]
    pub(crate) fn unwritten(&self, size: u32) -> Option<u32> {
        let bits = bits_of(self.offset, size);
        let missing = bits & !self.allocation.written[self.offset as usize / 32].load(Relaxed);
        (missing != 0).then(|| missing.trailing_zeros() - (self.offset % 32) as u32)
    }

    /// The first of any number of bytes that was never written.
    pub(crate) fn unwritten_of(&self, size: u32) -> Option<u32> {
        let mut at = 0;
        while at < size {
            let here = self.plus(at.into());
            let piece = (32 - here.offset as u32 % 32).min(size - at);
            if let Some(byte) = here.unwritten(piece) {
                return Some(at + byte);
            }
            at += piece;
        }
        None
    }

    /// Reads any number of bytes from a multiple of 4 on.
    pub(crate) fn copy_to(&self, bytes: &mut [u8]) {
        let words = &self.allocation.words[self.offset as usize / 4..];
        for (bytes, word) in bytes.chunks_mut(4).zip(words) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Writes any number of bytes from a multiple of 4 on.
    pub(crate) fn copy_from(&self, bytes: &[u8]) {
        for (i, bytes) in (0..).zip(bytes.chunks(4)) {
            let place = self.plus(4 * i);
            match *bytes {
                [a, b, c, d] => place.store(4, u32::from_le_bytes([a, b, c, d]).into()),
                _ => {
                    for (i, &byte) in (0..).zip(bytes) {
                        place.plus(i).store(1, byte.into());
                    }
                }
            }
        }
    }

    /// Name of the allocation.
    pub(crate) fn name(&self) -> &str {
        &self.allocation.name
    }

    /// The same allocation, `bytes` further.
    #[inline]
    pub(crate) fn plus(&self, bytes: u64) -> Self {
        Place {
            allocation: self.allocation,
            offset: self.offset + bytes,
        }
    }

    /// Reads 1, 2, 4 or 8 bytes, naturally aligned.
    #[inline]
    pub(crate) fn load(&self, size: u32) -> u64 {
        let words = &self.allocation.words;
        let at = self.offset as usize;
        match size {
            8 => {
                u64::from(words[at / 4].load(Relaxed))
                    | u64::from(words[at / 4 + 1].load(Relaxed)) << 32
            }
            4 => u64::from(words[at / 4].load(Relaxed)),
            _ => u64::from(words[at / 4].load(Relaxed)) >> (at % 4 * 8) & ((1 << (size * 8)) - 1),
        }
    }

    /// Writes 1, 2, 4 or 8 bytes, naturally aligned.
    #[inline]
    pub(crate) fn store(&self, size: u32, value: u64) {
        let words = &self.allocation.words;
        let at = self.offset as usize;
        match size {
            8 => {
                words[at / 4].store(value as u32, Relaxed);
                words[at / 4 + 1].store((value >> 32) as u32, Relaxed);
            }
            4 => words[at / 4].store(value as u32, Relaxed),
            _ => {
                let mask = ((1u64 << (size * 8)) - 1) as u32;
                let shift = at % 4 * 8;
                let insert =
                    |old: u32| Some(old & !(mask << shift) | (value as u32 & mask) << shift);
                // The closure never refuses, so the update cannot fail.
                let _ = words[at / 4].fetch_update(Relaxed, Relaxed, insert);
            }
        }
        self.allocation.mark_written(self.offset, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_round_trip_at_odd_offsets() {
        let mut memory = Memory::new();
        let base = memory.alloc(13, "x").unwrap();
        memory.write(base + 3, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(
            memory.read(base + 2, 8).unwrap(),
            [0xff, 1, 2, 3, 4, 5, 6, 0xff]
        );
        assert_eq!(memory.first_unwritten(base, 13).unwrap(), Some(0));
        assert_eq!(memory.first_unwritten(base + 3, 6).unwrap(), None);
        assert_eq!(memory.first_unwritten(base + 3, 7).unwrap(), Some(6));
        memory.poison(base + 4, 1).unwrap();
        assert_eq!(memory.first_unwritten(base + 3, 6).unwrap(), Some(1));
    }

    #[test]
    fn host_access_outside_is_an_error_with_the_distance() {
        let mut memory = Memory::new();
        let base = memory.alloc(8, "x").unwrap();
        assert!(memory.write(base + 4, &[0; 4]).is_ok());
        let error = memory.write(base + 5, &[0; 4]).unwrap_err().to_string();
        assert!(
            error.contains("bytes 5..9 of `x`, which has 8 bytes"),
            "{error}"
        );
        let error = memory.read(base - 4, 4).unwrap_err().to_string();
        assert!(error.contains("4 bytes before `x`"), "{error}");
        memory.free(base).unwrap();
        assert!(
            memory
                .read(base, 1)
                .unwrap_err()
                .to_string()
                .contains("freed")
        );
    }

    #[test]
    fn device_access_reads_back_each_size() {
        let mut memory = Memory::new();
        let base = memory.alloc(72, "x").unwrap();
        for (size, value) in [
            (1u32, 0xabu64),
            (2, 0xbeef),
            (4, 0xdead_beef),
            (8, 0x0123_4567_89ab_cdef),
        ] {
            let place = memory
                .place(base + 8 * u64::from(size), size, Access::Write)
                .unwrap();
            assert_eq!(place.unwritten(size), Some(0));
            place.store(size, value);
            assert_eq!(place.unwritten(size), None);
            assert_eq!(place.load(size), value);
        }
        assert!(memory.place(base + 68, 8, Access::Read).is_err());
    }
}
