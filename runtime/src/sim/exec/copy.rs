//! `cp.async` in flight.
//!
//! A copy reads its source and writes its target at some moment between the instruction and the
//! wait that completes it; the schedule chooses which ([`super::schedule`]). Until the wait, the
//! target counts as in flight wherever its bytes are. Groups are counted for each lane
//! (PTX ISA 9.7.9.25: "per-thread").

use super::cta::Cta;
use super::race::{Actor, Known};
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
    /// How many batches the warp issued before.
    serial: u64,
    /// The group of each lane's copy: how many groups the lane had committed before.
    group: Words,
    dst: Wides,
    src: Wides,
    /// Bytes that come from the source; zeros fill the rest.
    counts: Words,
}

/// Arrivals at an `mbarrier` that wait for the copies before them.
#[derive(Debug)]
struct Arrivals {
    mask: u32,
    addresses: Wides,
    /// How many batches the warp had issued.
    serial: u64,
    /// What the lanes knew, and the clock of what they did.
    known: Option<(Known, u32)>,
}

impl Arrivals {
    /// The clock of what was done before.
    fn clock(&self) -> u32 {
        self.known.as_ref().map_or(0, |(_, clock)| *clock)
    }
}

/// Copies of a warp that were not waited for.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    batches: Vec<Batch>,
    committed: Words,
    issued: u64,
    arrivals: Vec<Arrivals>,
}

impl Copies {
    pub fn clear(&mut self) {
        *self = Copies::default();
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
            let mut done = done.fold(0, with);
            let warp = cta.actor.warp;
            let serial = batch.serial;
            // Those that an `mbarrier` is told of were done before its arrival.
            let later = self
                .arrivals
                .iter()
                .filter(|arrivals| serial < arrivals.serial);
            for arrivals in later {
                let told = done & arrivals.mask;
                batch.complete(cta, warp, told, arrivals.clock())?;
                done &= !told;
            }
            let clock = cta.races.as_ref().map_or(0, |races| races.now(warp));
            batch.complete(cta, warp, done, clock)?;
        }
        self.batches.retain(|batch| batch.mask != 0);
        self.signal(cta, cta.actor.warp)
    }

    /// `cp.async.mbarrier.arrive`.
    pub fn arrive_at(
        &mut self,
        cta: &mut Cta<'_>,
        addresses: &Wides,
        mask: u32,
    ) -> Result<(), Fault> {
        let warp = cta.actor.warp;
        let known = cta.races.as_mut().map(|races| {
            let clock = races.now(warp);
            (races.depart(warp, mask), clock)
        });
        self.arrivals.push(Arrivals {
            mask,
            addresses: *addresses,
            serial: self.issued,
            known,
        });
        self.signal(cta, warp)
    }

    /// Arrives at each `mbarrier` whose copies have all arrived.
    fn signal(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<(), Fault> {
        for arrivals in &mut self.arrivals {
            let before = |batch: &&mut Batch| batch.serial < arrivals.serial;
            let absent = self.batches.iter_mut().filter(before);
            let absent = absent.fold(0, |mask, batch| mask | batch.absent);
            let now = arrivals.mask & !absent;
            if now == 0 {
                continue;
            }
            let clock = arrivals.clock();
            for batch in self.batches.iter_mut().filter(before) {
                batch.complete(cta, warp, batch.mask & now, clock)?;
            }
            for lane in lanes(now) {
                let address = arrivals.addresses[lane];
                if let (Some(races), Some((known, _))) = (&mut cta.races, &arrivals.known) {
                    races.signal_later(address, known);
                }
                cta.count_arrivals(address, 1).map_err(fault_at(lane))?;
            }
            arrivals.mask &= !now;
        }
        self.arrivals.retain(|arrivals| arrivals.mask != 0);
        self.batches.retain(|batch| batch.mask != 0);
        Ok(())
    }

    /// Lets the copies arrive that the first arrival at an `mbarrier` waits for; whether there is one.
    pub fn hurry(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<bool, Fault> {
        let Some(first) = self.arrivals.first() else {
            return Ok(false);
        };
        let (mask, serial) = (first.mask, first.serial);
        let located = |pc| move |fault: Fault| fault.at(warp, pc);
        for batch in self
            .batches
            .iter_mut()
            .filter(|batch| batch.serial < serial)
        {
            batch.arrive(cta, mask).map_err(located(batch.pc))?;
        }
        self.signal(cta, warp).map_err(located(cta.actor.pc))?;
        Ok(true)
    }

    /// Lanes of a batch that an `mbarrier` will be told of.
    fn announced(&self, batch: &Batch) -> u32 {
        let later = self
            .arrivals
            .iter()
            .filter(|arrivals| batch.serial < arrivals.serial);
        later.fold(0, |mask, arrivals| mask | arrivals.mask)
    }

    /// The error of lanes that leave before they have waited for all their copies.
    pub fn check_exit(&self, cta: &Cta<'_>, mask: u32) -> Result<(), Fault> {
        let left = |batch: &Batch| batch.mask & mask & !self.announced(batch);
        let Some(batch) = self.batches.iter().find(|batch| left(batch) != 0) else {
            return Ok(());
        };
        let lane = left(batch).trailing_zeros();
        let thread = cta.actor.warp * WARP as u32 + lane;
        let kind = ErrorKind::CopiesInFlight {
            copy: Box::new(cta.party(Act::CopyWrite, cta.number, thread, batch.pc)),
            committed: batch.group[lane as usize] < self.committed[lane as usize],
        };
        Err(Fault::new(kind, lane))
    }

    /// Lets some copies arrive, where the schedule wants that.
    pub fn drift(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<(), Fault> {
        for batch in &mut self.batches {
            if batch.absent != 0 {
                let now = cta.schedule.arriving();
                batch.arrive(cta, now)?;
            }
        }
        match self.arrivals.is_empty() {
            true => Ok(()),
            false => self.signal(cta, warp),
        }
    }
}

impl Batch {
    /// The copies of lanes are waited for; they count as done at the clock.
    fn complete(
        &mut self,
        cta: &mut Cta<'_>,
        warp: u32,
        done: u32,
        clock: u32,
    ) -> Result<(), Fault> {
        self.arrive(cta, done)?;
        for lane in lanes(done) {
            cta.shared.complete(self.dst[lane], self.bytes);
        }
        if let Some(races) = &mut cta.races {
            let actor = Actor { warp, pc: self.pc };
            races.settle((Space::Shared, &self.dst, self.bytes), done, actor, clock);
            let read = lanes(done).filter(|&lane| self.counts[lane] > 0);
            let read = read.fold(0, with);
            races.settle((Space::Global, &self.src, self.bytes), read, actor, clock);
        }
        self.mask &= !done;
        Ok(())
    }

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
            serial: self.copies.issued,
            group: self.copies.committed,
            dst: dst_at,
            src: src_at,
            counts,
        };
        if cta.schedule.arrives_at_once() {
            batch.arrive(cta, mask)?;
        }
        self.copies.issued += 1;
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
