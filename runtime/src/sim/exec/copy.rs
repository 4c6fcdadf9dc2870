//! `cp.async` in flight.
//!
//! A copy reads its source and writes its target at some moment between the instruction and the
//! wait that completes it; the schedule chooses which ([`super::schedule`]). Until the wait, the
//! target counts as in flight wherever its bytes are. Groups are counted for each lane
//! (PTX ISA 9.7.9.25: "per-thread").

use super::cta::Cta;
use super::race::Actor;
use super::touch::Touch;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Access, Act, ErrorKind};
use crate::sim::isa::{CopyBytes, Order};
use crate::sim::lane::{Src, WARP, Wides, Words, lanes};

/// One instruction's copies.
#[derive(Debug)]
struct Batch {
    /// Lanes whose copy was not waited for.
    mask: u32,
    /// Lanes whose bytes have not arrived.
    absent: u32,
    bytes: u32,
    /// The instruction.
    pc: u32,
    /// The group of each lane's copy: how many groups the lane had committed before.
    group: Words,
    dst: Wides,
    src: Wides,
    /// Bytes that come from the source; zeros fill the rest.
    counts: Words,
}

/// Copies of a warp that were not waited for.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    batches: Vec<Batch>,
    committed: Words,
}

impl Copies {
    pub fn clear(&mut self) {
        self.batches.clear();
        self.committed = [0; WARP];
    }

    /// `cp.async.commit_group`.
    pub fn commit(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.committed[lane] = self.committed[lane].saturating_add(1);
        }
    }

    /// `cp.async.wait_group n`, or `wait_all`.
    pub fn wait(&mut self, cta: &mut Cta<'_>, mask: u32, groups: Option<u32>) -> Result<(), Fault> {
        for batch in &mut self.batches {
            let done = lanes(batch.mask & mask).filter(|&lane| match groups {
                None => true,
                Some(in_flight) => {
                    batch.group[lane] < self.committed[lane].saturating_sub(in_flight)
                }
            });
            let done = done.fold(0, with);
            batch.arrive(cta, done)?;
            for lane in lanes(done) {
                cta.shared.complete(batch.dst[lane], batch.bytes);
            }
            if let Some(races) = &mut cta.races {
                let actor = Actor {
                    pc: batch.pc,
                    ..cta.actor
                };
                races.settle(Space::Shared, &batch.dst, batch.bytes, done, actor);
                let read = lanes(done).filter(|&lane| batch.counts[lane] > 0);
                let read = read.fold(0, with);
                races.settle(Space::Global, &batch.src, batch.bytes, read, actor);
            }
            batch.mask &= !done;
        }
        self.batches.retain(|batch| batch.mask != 0);
        Ok(())
    }

    /// The error of lanes that leave before they have waited for all their copies.
    pub fn check_exit(&self, cta: &Cta<'_>, mask: u32) -> Result<(), Fault> {
        let Some(batch) = self.batches.iter().find(|batch| batch.mask & mask != 0) else {
            return Ok(());
        };
        let lane = (batch.mask & mask).trailing_zeros();
        let thread = cta.actor.warp * WARP as u32 + lane;
        let kind = ErrorKind::CopiesInFlight {
            copy: Box::new(cta.party(Act::CopyWrite, cta.number, thread, batch.pc)),
            committed: batch.group[lane as usize] < self.committed[lane as usize],
        };
        Err(Fault::new(kind, lane))
    }

    /// Lets some copies arrive, where the schedule wants that.
    pub fn drift(&mut self, cta: &mut Cta<'_>) -> Result<(), Fault> {
        for batch in &mut self.batches {
            if batch.absent != 0 {
                let now = cta.schedule.arriving();
                batch.arrive(cta, now)?;
            }
        }
        Ok(())
    }
}

impl Batch {
    /// Moves the bytes of those of the lanes that still have to.
    fn arrive(&mut self, cta: &mut Cta<'_>, now: u32) -> Result<(), Fault> {
        for lane in lanes(self.absent & now) {
            let mut data = [0; 16];
            let count = self.counts[lane];
            if count > 0 {
                let place = cta.launch.memory.place(self.src[lane], count, Access::Read);
                let place = place.map_err(fault_at(lane))?;
                for i in 0..count.div_ceil(4) {
                    let word = place.plus(u64::from(4 * i)).load(4) as u32;
                    data[4 * i as usize..][..4].copy_from_slice(&word.to_le_bytes());
                }
                data[count as usize..].fill(0);
            }
            cta.shared
                .deposit(self.dst[lane], &data[..self.bytes as usize]);
        }
        self.absent &= !now;
        Ok(())
    }
}

impl Warp {
    /// `cp.async`.
    pub(super) fn copy_async(
        &mut self,
        cta: &mut Cta<'_>,
        dst: (Src, i64),
        src: (Src, i64),
        bytes: u32,
        src_bytes: CopyBytes,
        mask: u32,
    ) -> Result<(), Fault> {
        let dst_at = self
            .registers
            .wides_of(dst.0)
            .map(|a| a.wrapping_add_signed(dst.1));
        let src_at = self
            .registers
            .wides_of(src.0)
            .map(|a| a.wrapping_add_signed(src.1));
        let counts = match src_bytes {
            CopyBytes::All => [bytes; WARP],
            CopyBytes::Count(count) => self.registers.words_of(count),
            CopyBytes::Ignore(pred) => {
                let ignored = self.registers.pred(pred);
                std::array::from_fn(|lane| if ignored >> lane & 1 == 1 { 0 } else { bytes })
            }
        };
        for lane in lanes(mask) {
            check_source(cta, src_at[lane], bytes, counts[lane]).map_err(fault_at(lane))?;
            cta.shared
                .announce(dst_at[lane], bytes)
                .map_err(fault_at(lane))?;
        }
        self.touch_copy(cta, &dst_at, &src_at, bytes, &counts, mask)?;
        let mut batch = Batch {
            mask,
            absent: mask,
            bytes,
            pc: cta.actor.pc,
            group: self.copies.committed,
            dst: dst_at,
            src: src_at,
            counts,
        };
        if cta.schedule.arrives_at_once() {
            batch.arrive(cta, mask)?;
        }
        self.copies.batches.push(batch);
        Ok(())
    }

    fn touch_copy(
        &self,
        cta: &mut Cta<'_>,
        dst: &Wides,
        src: &Wides,
        bytes: u32,
        counts: &Words,
        mask: u32,
    ) -> Result<(), Fault> {
        // Lanes that read equally much at a time: nearly always all of them.
        let mut rest = lanes(mask).filter(|&lane| counts[lane] > 0).fold(0, with);
        while rest != 0 {
            let count = counts[rest.trailing_zeros() as usize];
            let equal = lanes(rest)
                .filter(|&lane| counts[lane] == count)
                .fold(0, with);
            cta.touch(&Touch {
                space: Space::Global,
                act: Act::CopyRead,
                order: Order::WEAK,
                addresses: src,
                bytes: count,
                mask: equal,
                changed: u32::MAX,
            })?;
            rest &= !equal;
        }
        cta.touch(&Touch {
            space: Space::Shared,
            act: Act::CopyWrite,
            order: Order::WEAK,
            addresses: dst,
            bytes,
            mask,
            changed: u32::MAX,
        })
    }
}

fn with(mask: u32, lane: usize) -> u32 {
    mask | 1 << lane
}

fn check_source(cta: &Cta<'_>, from: u64, bytes: u32, count: u32) -> Result<(), ErrorKind> {
    if count > bytes {
        let (expected, found) = (format!("at most {bytes}"), u64::from(count));
        return Err(ErrorKind::Value {
            what: "src-size of cp.async",
            expected,
            found,
        });
    }
    let aligned = from & u64::from(bytes - 1) == 0;
    if !aligned {
        return Err(ErrorKind::Misaligned {
            space: Space::Global,
            access: Access::Read,
            address: from,
            align: bytes,
        });
    }
    if count == 0 {
        return Ok(());
    }
    let place = cta.launch.memory.place(from, count, Access::Read)?;
    if cta.launch.options.checks
        && let Some(byte) = place.unwritten(count)
    {
        return Err(super::access::uninitialised(&place, from, count, byte));
    }
    Ok(())
}
