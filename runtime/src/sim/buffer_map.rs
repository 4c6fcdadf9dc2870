//! Which buffers of shared memory each instruction may access, by its `.loc`. An instruction that LLVM moved or merged has
//! no line, and may access all of them.

use super::buffers::{SharedBuffer, SharedBuffers};
use super::error::{Access, ErrorKind, SourceLoc};
use super::isa::Instr;

/// The buffers that each instruction may access.
#[derive(Debug)]
pub(crate) struct BufferMap {
    buffers: Vec<SharedBuffer>,
    /// For each instruction the set of its buffers, by its place in `sets`; [`ALL`] where it is not known.
    set_of: Vec<u32>,
    sets: Vec<Vec<usize>>,
}

const ALL: u32 = u32::MAX;

impl BufferMap {
    /// The map of a kernel.
    pub fn new(buffers: SharedBuffers, code: &[Instr]) -> BufferMap {
        let SharedBuffers { buffers, accesses } = buffers;
        let known = |set: &Vec<usize>| set.iter().all(|&buffer| buffer < buffers.len());
        let mut places: Vec<&SourceLoc> = Vec::with_capacity(accesses.len());
        let mut sets: Vec<Vec<usize>> = Vec::with_capacity(accesses.len());
        let mut sorted: Vec<_> = accesses.iter().filter(|(_, set)| known(set)).collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        for (place, set) in sorted {
            match places.last() {
                Some(last) if *last == place => {
                    let index = sets.len() - 1;
                    sets[index].extend(set);
                }
                _ => {
                    places.push(place);
                    sets.push(set.clone());
                }
            }
        }
        let set_of = code.iter().map(|instr| {
            let source = instr.source.as_ref().filter(|_| instr.has_line)?;
            let index = places.binary_search(&source).ok()?;
            Some(index as u32)
        });
        let set_of = set_of.map(|set| set.unwrap_or(ALL)).collect();
        BufferMap {
            buffers,
            set_of,
            sets,
        }
    }

    /// Checks an access of an instruction to bytes of dynamic shared memory.
    #[inline]
    pub fn check(&self, pc: u32, access: Access, at: i64, size: u32) -> Result<(), ErrorKind> {
        let set = match self.set_of[pc as usize] {
            ALL => return Ok(()),
            set => &self.sets[set as usize],
        };
        let holds = |&buffer: &usize| {
            let buffer = &self.buffers[buffer];
            let inside = at - i64::from(buffer.offset);
            inside >= 0 && inside + i64::from(size) <= i64::from(buffer.bytes)
        };
        match set.iter().any(holds) {
            true => Ok(()),
            false => Err(self.outside(set, access, at, size)),
        }
    }

    #[cold]
    fn outside(&self, set: &[usize], access: Access, at: i64, size: u32) -> ErrorKind {
        let distance = |buffer: &&SharedBuffer| {
            let inside = at - i64::from(buffer.offset);
            match inside {
                ..0 => inside.unsigned_abs(),
                _ => (inside + i64::from(size)).abs_diff(buffer.bytes.into()),
            }
        };
        let candidates = set.iter().map(|&buffer| &self.buffers[buffer]);
        let nearest = candidates.min_by_key(distance);
        let hit = self.buffers.iter().find(|buffer| {
            let inside = at - i64::from(buffer.offset);
            (0..i64::from(buffer.bytes)).contains(&inside)
        });
        let (offset, bytes) = nearest.map_or((0, 0), |b| (i64::from(b.offset), b.bytes));
        ErrorKind::OutsideOfBuffer {
            access,
            start: at - offset,
            size,
            bytes,
            buffer: nearest.cloned().map(Box::new),
            hit: hit.cloned().map(Box::new),
        }
    }
}
