//! The one place through which every access to shared and global memory passes, whatever
//! instruction makes it: here accesses are counted and checked against each other.
//!
//! An instruction resolves its addresses, moves the bytes (which checks bounds, alignment and that
//! they were written), and calls [`Cta::touch`] once for each space that its lanes touch.

use super::cta::Cta;
use super::race::{Actor, Meeting, PAGE};
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::buffer_map::BufferMap;
use crate::sim::error::{Access, Act, ErrorKind, Party, SimError};
use crate::sim::isa::{BASE, Instr, Order, PEER_SHIFT, Proxy};
use crate::sim::lane::{WARP, Wides, lanes};

/// An access of a warp to one space.
#[derive(Debug)]
pub(super) struct Touch<'a> {
    pub space: Space,
    pub act: Act,
    pub order: Order,
    pub proxy: Proxy,
    /// First byte of each lane, in the space.
    pub addresses: &'a Wides,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lanes.
    pub mask: u32,
    /// Lanes whose write is another value than was there.
    pub changed: u32,
}

/// Bytes cut at the ends of pages of shadow memory.
pub(super) fn pages(address: u64, bytes: u32) -> impl Iterator<Item = (u64, u32)> {
    let (mut at, end) = (address, address + u64::from(bytes));
    std::iter::from_fn(move || {
        let start = at;
        at = end.min((start / PAGE + 1) * PAGE);
        (start < end).then(|| (start, (at - start) as u32))
    })
}

impl Cta<'_> {
    /// Takes note of an access.
    #[inline]
    pub fn touch(&mut self, touch: &Touch<'_>) -> Result<(), Fault> {
        if touch.mask == 0 {
            return Ok(());
        }
        if let (Space::Shared, Some(buffers)) = (touch.space, &self.launch.kernel.buffers) {
            self.check_buffers(buffers, touch)?;
        }
        if touch.space == Space::Shared && !self.cluster.windows.is_empty() {
            self.check_peers(touch)?;
        }
        match touch.space {
            // How often a thread looks at an `mbarrier` is no property of the kernel; tensor cores read their
            // operands by themselves.
            Space::Shared
                if !matches!(
                    touch.act,
                    Act::Signal
                        | Act::BulkSignal
                        | Act::MultiplyRead
                        | Act::BulkRead
                        | Act::BulkWrite
                        | Act::MapRead
                ) =>
            {
                if let Some(counters) = &mut self.counters {
                    let (addresses, pc) = (touch.addresses, self.actor.pc);
                    let (passes, ideal) = counters.shared(pc, addresses, touch.bytes, touch.mask);
                    self.stats.shared_wavefronts += passes;
                    self.stats.shared_wavefronts_ideal += ideal;
                }
            }
            // Maps have a cache of their own.
            Space::Global if touch.act == Act::MapRead => {}
            Space::Global => {
                let bytes = u64::from(touch.bytes) * u64::from(touch.mask.count_ones());
                let reads = !matches!(touch.act, Act::Write | Act::CopyWrite | Act::BulkWrite);
                let writes = !matches!(touch.act, Act::Read | Act::CopyRead | Act::BulkRead);
                self.stats.global_read_bytes += if reads { bytes } else { 0 };
                self.stats.global_written_bytes += if writes { bytes } else { 0 };
                if let Some(counters) = &mut self.counters {
                    counters.global(self.actor.pc, touch.addresses, touch.bytes, touch.mask);
                    for lane in lanes(touch.mask) {
                        let at = touch.addresses[lane];
                        self.launch.memory.note(at, touch.bytes, reads, writes);
                    }
                }
            }
            Space::Shared
            | Space::Cluster
            | Space::Local
            | Space::Param
            | Space::Generic
            | Space::Const => {}
        }
        let code = &self.launch.kernel.code;
        if let Some(races) = &mut self.races
            && let Err(meeting) = races.touch(touch, self.actor, self.launch.kernel.tiles.as_ref())
            && races.is_new((meeting.other.pc, self.actor.pc), |pc| first_of(code, pc))
        {
            // The run goes on, to find what else there is.
            let error = self.race(touch, meeting);
            if let Some(races) = &mut self.races {
                races.found.push(error);
            }
        }
        Ok(())
    }

    /// A CTA whose memory is accessed must be known to run.
    fn check_peers(&self, touch: &Touch<'_>) -> Result<(), Fault> {
        let Some(races) = &self.races else {
            return Ok(());
        };
        for lane in lanes(touch.mask) {
            let Some(rank) = (touch.addresses[lane] >> PEER_SHIFT).checked_sub(1) else {
                continue;
            };
            if !races.has_met(self.actor.warp, lane as u32, rank as u32) {
                let kind = ErrorKind::Peer {
                    rank,
                    expected: "a CTA that has begun, by a barrier of the cluster".to_owned(),
                    found: "one that may not have".to_owned(),
                };
                return Err(Fault::new(kind, lane as u32));
            }
        }
        Ok(())
    }

    /// Bytes in bulk that a lane accesses; pages of shadow memory are crossed nowhere.
    pub fn touch_bulk(&mut self, bulk: &Touch<'_>, address: u64) -> Result<(), Fault> {
        for (at, bytes) in pages(address, bulk.bytes) {
            let piece = Touch {
                addresses: &[at; WARP],
                bytes,
                ..*bulk
            };
            self.touch(&piece)?;
        }
        Ok(())
    }

    /// Each lane must stay in a buffer that its instruction accesses.
    fn check_buffers(&self, buffers: &BufferMap, touch: &Touch<'_>) -> Result<(), Fault> {
        let start = (BASE + u64::from(self.launch.kernel.dynamic_shared)) as i64;
        let access = match touch.act {
            Act::Read
            | Act::CopyRead
            | Act::BulkRead
            | Act::MapRead
            | Act::MultiplyRead
            | Act::Multiply => Access::Read,
            Act::Write
            | Act::Update
            | Act::Signal
            | Act::BulkSignal
            | Act::CopyWrite
            | Act::BulkWrite => Access::Write,
        };
        for lane in lanes(touch.mask) {
            let place = touch.addresses[lane] & ((1 << PEER_SHIFT) - 1);
            let at = place as i64 - start;
            buffers
                .check(self.actor.pc, access, at, touch.bytes)
                .map_err(fault_at(lane))?;
        }
        Ok(())
    }

    /// Takes note of something that is wrong, once for the instruction that is the cause; the run goes on.
    #[cold]
    pub fn report(&mut self, fault: Fault, cause: u32) {
        let code = &self.launch.kernel.code;
        if let Some(races) = &mut self.races
            && races.is_new((cause, cause), |pc| first_of(code, pc))
        {
            let error = self.locate(fault);
            if let Some(races) = &mut self.races {
                races.found.push(error);
            }
        }
    }

    #[cold]
    fn race(&self, touch: &Touch<'_>, meeting: Meeting) -> SimError {
        let Meeting {
            lane,
            address,
            other,
        } = meeting;
        let object = match touch.space {
            Space::Shared => match self.home(address) {
                Ok((Some(rank), at)) => {
                    let byte = at.wrapping_sub(BASE);
                    format!("byte {byte} of the shared memory of CTA {rank} of the cluster")
                }
                Ok((None, at)) => format!("byte {} of shared memory", at.wrapping_sub(BASE)),
                Err(_) => format!("the byte at shared address {address:#x}"),
            },
            Space::Global
            | Space::Cluster
            | Space::Local
            | Space::Param
            | Space::Generic
            | Space::Const => self.launch.memory.byte_name(address),
        };
        let thread = self.actor.warp * WARP as u32 + lane;
        let second = self.party(touch.act, self.number, thread, self.actor.pc);
        let code = &self.launch.kernel.code;
        let first_act = match other.of_map {
            true => Act::MapRead,
            false => code[other.pc as usize].op.act(other.reads),
        };
        let first = self.party(first_act, other.cta, other.thread, other.pc);
        let kind = ErrorKind::Race {
            space: touch.space,
            address,
            object,
            first: Box::new(first),
            second: Box::new(second),
            in_flight: other.in_flight,
            tiles: self.launch.kernel.tiles.is_some(),
        };
        let Actor { warp, pc } = self.actor;
        self.locate(Fault::new(kind, lane).at(warp, pc))
    }

    /// An instruction of a thread, as reports name it.
    pub fn party(&self, act: Act, cta: u32, thread: u32, pc: u32) -> Party {
        let instr = &self.launch.kernel.code[pc as usize];
        Party {
            act,
            block: self.launch.ctaid(cta),
            thread: self.launch.tid(thread),
            warp: thread / WARP as u32,
            ptx_line: instr.line,
            source: instr.source.clone(),
            instruction: instr.text.clone(),
        }
    }
}

/// The first instruction that comes from the same place of the source: an unrolled loop has several.
fn first_of(code: &[Instr], pc: u32) -> u32 {
    let instr = &code[pc as usize];
    let same = |other: &Instr| other.has_line && other.source == instr.source;
    match instr.has_line {
        true => code.iter().position(same).map_or(pc, |first| first as u32),
        false => pc,
    }
}
