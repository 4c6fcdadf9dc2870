//! Byte-addressed memory with a state for each byte: the shared memory of a CTA, the local memory
//! of a thread, and the parameter block.

use crate::sim::Space;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::isa::BASE;

/// State bits of a byte.
const WRITTEN: u8 = 1;
/// A `cp.async` in flight will write it.
const PENDING: u8 = 2;
/// It is a part of an `mbarrier`.
const SEALED: u8 = 4;
/// A bulk copy in flight will write it.
const PENDING_BULK: u8 = 8;

/// A window of memory that starts at [`BASE`].
#[derive(Debug)]
pub(crate) struct Bytes {
    space: Space,
    data: Vec<u8>,
    state: Vec<u8>,
    checks: bool,
}

impl Bytes {
    /// Uninitialised memory.
    pub fn new(space: Space, bytes: usize, checks: bool) -> Bytes {
        Bytes {
            space,
            data: vec![0xff; bytes],
            state: vec![0; bytes],
            checks,
        }
    }

    /// Memory with contents.
    pub fn filled(space: Space, data: &[u8]) -> Bytes {
        Bytes {
            space,
            data: data.to_vec(),
            state: vec![WRITTEN; data.len()],
            checks: true,
        }
    }

    /// Makes everything uninitialised again.
    pub fn reset(&mut self) {
        self.data.fill(0xff);
        self.state.fill(0);
    }

    /// The index of an access within bounds and aligned.
    #[inline]
    fn locate(&self, address: u64, size: u32, access: Access) -> Result<usize, ErrorKind> {
        let at = address.wrapping_sub(BASE);
        let fits = at < self.data.len() as u64 && self.data.len() as u64 - at >= u64::from(size);
        if fits && address & u64::from(size - 1) == 0 {
            return Ok(at as usize);
        }
        Err(self.misplaced(address, size, access, fits))
    }

    #[cold]
    fn misplaced(&self, address: u64, size: u32, access: Access, fits: bool) -> ErrorKind {
        let space = self.space;
        if fits {
            return ErrorKind::Misaligned {
                space,
                access,
                address,
                align: size,
            };
        }
        let total = self.data.len();
        let distance = address.wrapping_sub(BASE) as i64;
        let object = match distance {
            _ if total == 0 => format!("there is no {space} memory"),
            ..0 => format!(
                "it starts {} bytes before the {total} bytes of {space} memory",
                distance.unsigned_abs()
            ),
            _ => format!(
                "bytes {distance}..{} of the {total} bytes of {space} memory",
                distance.saturating_add(i64::from(size))
            ),
        };
        ErrorKind::OutOfBounds {
            space,
            access,
            address,
            size,
            object,
        }
    }

    /// Checks a read and gives its bytes.
    #[inline]
    pub fn read(&self, address: u64, size: u32) -> Result<&[u8], ErrorKind> {
        let at = self.locate(address, size, Access::Read)?;
        let end = at + size as usize;
        if self.checks && !all_written(&self.state[at..end]) {
            return Err(self.unreadable(address, size, &self.state[at..end]));
        }
        Ok(&self.data[at..end])
    }

    #[cold]
    fn unreadable(&self, address: u64, size: u32, state: &[u8]) -> ErrorKind {
        if let Some(error) = taken(Access::Read, address, size, state) {
            return error;
        }
        let byte = state.iter().position(|s| s & WRITTEN == 0).unwrap_or(0) as u32;
        ErrorKind::Uninitialised {
            space: self.space,
            address,
            size,
            byte,
            object: String::new(),
        }
    }

    /// The 16 bytes at an address that was checked before.
    #[inline]
    pub fn peek(&self, address: u64) -> &[u8; 16] {
        let at = address.wrapping_sub(BASE) as usize;
        let bytes = self.data.get(at..at.saturating_add(16));
        bytes.and_then(|b| b.try_into().ok()).unwrap_or(&[0; 16])
    }

    /// Checks a write, marks its bytes as written and gives them.
    #[inline]
    pub fn write(&mut self, address: u64, size: u32) -> Result<&mut [u8], ErrorKind> {
        let at = self.locate(address, size, Access::Write)?;
        let end = at + size as usize;
        let state = &mut self.state[at..end];
        if !all_written(state) {
            if let (true, Some(error)) = (self.checks, taken(Access::Write, address, size, state)) {
                return Err(error);
            }
            state.fill(WRITTEN);
        }
        Ok(&mut self.data[at..end])
    }

    /// Announces a `cp.async`: until it is completed its bytes are out of reach.
    pub fn announce(&mut self, address: u64, size: u32) -> Result<(), ErrorKind> {
        let at = self.locate(address, size, Access::Write)?;
        let state = &mut self.state[at..at + size as usize];
        if let (true, Some(error)) = (self.checks, taken(Access::Write, address, size, state)) {
            return Err(error);
        }
        state.iter_mut().for_each(|s| *s |= PENDING);
        Ok(())
    }

    /// Announces a bulk copy of any number of bytes; its caller has checked the alignment.
    pub fn announce_bulk(&mut self, address: u64, size: u32) -> Result<(), ErrorKind> {
        let checks = self.checks;
        let state = self.range(address, size, Access::Write)?;
        if let (true, Some(error)) = (checks, taken(Access::Write, address, size, state)) {
            return Err(error);
        }
        state.iter_mut().for_each(|s| *s |= PENDING_BULK);
        Ok(())
    }

    /// Checks a read of any number of bytes at any address.
    pub fn read_any(&self, address: u64, size: u32) -> Result<(), ErrorKind> {
        let at = address.wrapping_sub(BASE);
        let end = at.checked_add(size.into());
        if end.is_none_or(|end| end > self.state.len() as u64) {
            return Err(self.misplaced(address, size, Access::Read, false));
        }
        let state = &self.state[at as usize..][..size as usize];
        match self.checks && !all_written(state) {
            true => Err(self.unreadable(address, size, state)),
            false => Ok(()),
        }
    }

    /// Bytes as they are, none where there are not so many.
    pub fn glance(&self, address: u64, size: u32) -> &[u8] {
        let at = address.wrapping_sub(BASE) as usize;
        self.data.get(at..at + size as usize).unwrap_or_default()
    }

    /// The states of any number of bytes, which may lie anywhere.
    fn range(&mut self, address: u64, size: u32, access: Access) -> Result<&mut [u8], ErrorKind> {
        let at = address.wrapping_sub(BASE);
        let end = at.checked_add(size.into());
        if end.is_none_or(|end| end > self.state.len() as u64) {
            return Err(self.misplaced(address, size, access, false));
        }
        Ok(&mut self.state[at as usize..][..size as usize])
    }

    /// The bytes become an opaque object.
    pub fn seal(&mut self, address: u64, size: u32) -> Result<(), ErrorKind> {
        self.write(address, size)?;
        let at = self.locate(address, size, Access::Write)?;
        self.state[at..at + size as usize].fill(SEALED);
        Ok(())
    }

    /// The object is no more, and its bytes have no value.
    pub fn unseal(&mut self, address: u64, size: u32) {
        let at = address.wrapping_sub(BASE) as usize;
        if let Some(state) = self.state.get_mut(at..at + size as usize) {
            state.fill(0);
        }
    }

    /// The bytes of a `cp.async` that was announced arrive; nobody may rely on it yet.
    pub fn deposit(&mut self, address: u64, data: &[u8]) {
        let at = address.wrapping_sub(BASE) as usize;
        if let Some(bytes) = self.data.get_mut(at..at + data.len()) {
            bytes.copy_from_slice(data);
        }
    }

    /// A `cp.async` whose bytes have arrived is waited for.
    pub fn complete(&mut self, address: u64, size: u32) {
        let at = address.wrapping_sub(BASE) as usize;
        if let Some(state) = self.state.get_mut(at..at + size as usize) {
            state.fill(WRITTEN);
        }
    }
}

/// Why bytes may not be accessed by who comes along.
#[cold]
fn taken(access: Access, address: u64, size: u32, state: &[u8]) -> Option<ErrorKind> {
    let all = state.iter().fold(0, |all, state| all | state);
    if all & (PENDING | PENDING_BULK) != 0 {
        return Some(ErrorKind::PendingCopy {
            access,
            address,
            size,
            bulk: all & PENDING_BULK != 0,
        });
    }
    (all & SEALED != 0).then_some(ErrorKind::MbarrierAccess {
        access,
        address,
        size,
    })
}

/// Whether every byte is written and none awaits a copy.
#[inline]
fn all_written(state: &[u8]) -> bool {
    const WORD: [u8; 4] = [WRITTEN; 4];
    match state.len() {
        4 => state == WORD,
        // Of all bytes, and so of several at once.
        _ => state.iter().fold(true, |all, &s| all & (s == WRITTEN)),
    }
}

/// The little-endian value of up to 8 bytes.
#[inline]
pub(crate) fn value(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        _ => u64::from(bytes.first().copied().unwrap_or(0)),
    }
}
