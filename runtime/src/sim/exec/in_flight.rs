//! Operations in flight: begun by an instruction of a warp, complete later.
//!
//! An asynchronous instruction puts an [`Operation`] into the warp's table and goes on. Its [`Effect`] takes place
//! at some moment between the instruction and its completion; the schedule chooses which
//! ([`super::schedule`]). A thread learns of the completion by one of two mechanisms (PTX ISA 9.7.9.25.1):
//!
//! - *async groups*: operations are committed to groups, which are counted for each thread and kind
//!   ([`AsyncGroup`]) and complete in order; the thread waits until at most so many are left.
//! - an *`mbarrier`*: an arrival there waits for the operations before it ([`Arrivals`]).
//!
//! An operation of another instruction is a variant of [`Effect`], with what it does and the marks that the check
//! for races has of it; bulk copies and `wgmma` commit to kinds of groups of their own, variants of [`AsyncGroup`].

use super::bulk;
use super::copy::CopyAsync;
use super::cta::Cta;
use super::race::{Actor, Known};
use super::{Fault, fault_at};
use crate::sim::error::{Act, ErrorKind};
use crate::sim::isa::AsyncGroup;
use crate::sim::lane::{WARP, Wides, Words, lanes};

/// What an operation does when it takes place.
#[derive(Debug)]
pub(super) enum Effect {
    CopyAsync(Box<CopyAsync>),
    /// A bulk copy of one lane into shared memory.
    Load(Box<bulk::Load>),
    /// A bulk copy of one lane out of it.
    Store(Box<bulk::Store>),
}

impl Effect {
    /// Takes place for lanes.
    fn take_place(&mut self, cta: &mut Cta<'_>, lanes: u32) -> Result<(), Fault> {
        match self {
            Effect::CopyAsync(copy) => copy.take_place(cta, lanes),
            Effect::Load(_) | Effect::Store(_) if lanes == 0 => Ok(()),
            Effect::Load(load) => load.take_place(cta).map_err(fault_at(first(lanes))),
            Effect::Store(store) => store.take_place(cta).map_err(fault_at(first(lanes))),
        }
    }

    /// Is known to be complete for lanes, and counts as done at a clock.
    fn complete(&mut self, cta: &mut Cta<'_>, lanes: u32, actor: Actor, clock: u32) {
        match self {
            Effect::CopyAsync(copy) => copy.complete(cta, lanes, actor, clock),
            Effect::Load(_) => {}
            Effect::Store(store) => {
                if lanes != 0 {
                    store.complete(cta, clock);
                }
            }
        }
    }

    /// The kind of groups that it is committed to; none, if an `mbarrier` counts its bytes when it takes place.
    fn group(&self) -> Option<AsyncGroup> {
        match self {
            Effect::CopyAsync(_) => Some(AsyncGroup::CopyAsync),
            Effect::Load(_) => None,
            Effect::Store(_) => Some(AsyncGroup::Bulk),
        }
    }

    /// What it does, in reports.
    fn act(&self) -> Act {
        match self {
            Effect::CopyAsync(_) => Act::CopyWrite,
            Effect::Load(_) => Act::BulkWrite,
            Effect::Store(_) => Act::BulkRead,
        }
    }
}

/// One instruction's operation in each of its lanes.
#[derive(Debug)]
struct Operation {
    effect: Effect,
    /// Lanes that do not know yet that it is complete.
    mask: u32,
    /// Lanes for which it has not taken place.
    pending: u32,
    /// The instruction.
    pc: u32,
    /// How many operations the warp began before.
    serial: u64,
    /// The group of each lane: how many groups of the kind the lane had committed before.
    group: Words,
}

impl Operation {
    fn take_place(&mut self, cta: &mut Cta<'_>, now: u32) -> Result<(), Fault> {
        self.effect.take_place(cta, self.pending & now)?;
        self.pending &= !now;
        if self.effect.group().is_none() {
            self.mask = self.pending;
        }
        Ok(())
    }

    /// Lanes wait for it; for them it counts as done at the clock.
    fn complete(
        &mut self,
        cta: &mut Cta<'_>,
        warp: u32,
        done: u32,
        clock: u32,
    ) -> Result<(), Fault> {
        self.take_place(cta, done)?;
        let actor = Actor { warp, pc: self.pc };
        self.effect.complete(cta, done, actor, clock);
        self.mask &= !done;
        Ok(())
    }
}

/// Arrivals at an `mbarrier` that wait for the operations before them which belong to a kind of groups.
#[derive(Debug)]
struct Arrivals {
    group: AsyncGroup,
    mask: u32,
    addresses: Wides,
    /// How many operations the warp had begun.
    serial: u64,
    /// What the lanes knew, and the clock of what they did.
    known: Option<(Known, u32)>,
}

impl Arrivals {
    /// The clock of what was done before.
    fn clock(&self) -> u32 {
        self.known.as_ref().map_or(0, |(_, clock)| *clock)
    }

    fn waits_for(&self, operation: &Operation) -> bool {
        operation.serial < self.serial && operation.effect.group() == Some(self.group)
    }
}

/// The operations of a warp that its lanes do not all know to be complete.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    operations: Vec<Operation>,
    /// Groups that each lane has committed, by kind.
    committed: [Words; AsyncGroup::KINDS],
    begun: u64,
    arrivals: Vec<Arrivals>,
}

impl InFlight {
    pub fn clear(&mut self) {
        *self = InFlight::default();
    }

    /// Begins an operation of lanes.
    pub fn begin(&mut self, cta: &mut Cta<'_>, effect: Effect, mask: u32) -> Result<(), Fault> {
        let mut operation = Operation {
            group: effect
                .group()
                .map_or([0; WARP], |group| self.committed[group as usize]),
            effect,
            mask,
            pending: mask,
            pc: cta.actor.pc,
            serial: self.begun,
        };
        if cta.schedule.takes_place_at_once() {
            operation.take_place(cta, mask)?;
        }
        self.begun += 1;
        if operation.mask != 0 {
            self.operations.push(operation);
        }
        Ok(())
    }

    /// Lanes close a group.
    pub fn commit(&mut self, group: AsyncGroup, mask: u32) {
        let committed = &mut self.committed[group as usize];
        for lane in lanes(mask) {
            committed[lane] = committed[lane].saturating_add(1);
        }
    }

    /// Lanes wait until at most so many of their groups are in flight; `None`: for all operations of the kind,
    /// committed or not.
    pub fn wait(
        &mut self,
        cta: &mut Cta<'_>,
        group: AsyncGroup,
        mask: u32,
        left: Option<u32>,
    ) -> Result<(), Fault> {
        let warp = cta.actor.warp;
        let committed = &self.committed[group as usize];
        let of_kind = self.operations.iter_mut();
        for operation in of_kind.filter(|operation| operation.effect.group() == Some(group)) {
            let done = lanes(operation.mask & mask).filter(|&lane| match left {
                None => true,
                Some(left) => operation.group[lane] < committed[lane].saturating_sub(left),
            });
            let mut done = done.fold(0, with);
            // Those that an `mbarrier` is told of were done before its arrival.
            for arrivals in &self.arrivals {
                if arrivals.waits_for(operation) {
                    let told = done & arrivals.mask;
                    operation.complete(cta, warp, told, arrivals.clock())?;
                    done &= !told;
                }
            }
            let clock = cta.races.as_ref().map_or(0, |races| races.now(warp));
            operation.complete(cta, warp, done, clock)?;
        }
        self.forget_complete();
        self.signal(cta, warp)
    }

    /// Lanes wait until at most so many of their groups of bulk copies have sources to read.
    pub fn wait_read(&mut self, cta: &mut Cta<'_>, mask: u32, left: u32) {
        let warp = cta.actor.warp;
        let clock = cta.races.as_ref().map_or(0, |races| races.now(warp));
        let committed = &self.committed[AsyncGroup::Bulk as usize];
        for operation in &mut self.operations {
            let lane = first(operation.mask);
            if let Effect::Store(store) = &mut operation.effect
                && operation.mask & mask != 0
                && operation.group[lane] < committed[lane].saturating_sub(left)
            {
                store.release(cta, clock);
            }
        }
    }

    /// Whether there is something that has not taken place.
    pub fn is_pending(&self) -> bool {
        self.operations
            .iter()
            .any(|operation| operation.pending != 0)
    }

    /// Everything that has not taken place does, at the end of the kernel.
    pub fn finish(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<(), Fault> {
        for operation in &mut self.operations {
            let pc = operation.pc;
            let done = operation.take_place(cta, u32::MAX);
            done.map_err(|fault| fault.at(warp, pc))?;
        }
        Ok(())
    }

    /// Lanes arrive at an `mbarrier` when their operations of a kind are complete.
    pub fn arrive_at(
        &mut self,
        cta: &mut Cta<'_>,
        group: AsyncGroup,
        addresses: &Wides,
        mask: u32,
    ) -> Result<(), Fault> {
        let warp = cta.actor.warp;
        let known = cta.races.as_mut().map(|races| {
            let clock = races.now(warp);
            (races.depart(warp, mask), clock)
        });
        self.arrivals.push(Arrivals {
            group,
            mask,
            addresses: *addresses,
            serial: self.begun,
            known,
        });
        self.signal(cta, warp)
    }

    /// Arrives at each `mbarrier` whose operations have all taken place.
    fn signal(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<(), Fault> {
        for arrivals in &mut self.arrivals {
            let before = self.operations.iter_mut();
            let before = before.filter(|operation| arrivals.waits_for(operation));
            let mut before: Vec<&mut Operation> = before.collect();
            let pending = before
                .iter()
                .fold(0, |mask, operation| mask | operation.pending);
            let now = arrivals.mask & !pending;
            if now == 0 {
                continue;
            }
            let clock = arrivals.clock();
            for operation in &mut before {
                operation.complete(cta, warp, operation.mask & now, clock)?;
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
        self.operations.retain(|operation| operation.mask != 0);
        Ok(())
    }

    /// Lets the operations take place that the first arrival at an `mbarrier` waits for, or the first that an
    /// `mbarrier` counts; whether there is one.
    pub fn hurry(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<bool, Fault> {
        let counted = |operation: &&mut Operation| operation.effect.group().is_none();
        if let Some(operation) = self.operations.iter_mut().find(counted) {
            let (mask, pc) = (operation.mask, operation.pc);
            let done = operation.take_place(cta, mask);
            done.map_err(|fault| fault.at(warp, pc))?;
            self.forget_complete();
            return Ok(true);
        }
        let Some(first) = self.arrivals.first() else {
            return Ok(false);
        };
        let located = |pc| move |fault: Fault| fault.at(warp, pc);
        for operation in &mut self.operations {
            if first.waits_for(operation) {
                let pc = operation.pc;
                operation.take_place(cta, first.mask).map_err(located(pc))?;
            }
        }
        self.signal(cta, warp).map_err(located(cta.actor.pc))?;
        Ok(true)
    }

    fn forget_complete(&mut self) {
        self.operations.retain(|operation| operation.mask != 0);
    }

    /// Lanes of an operation that an `mbarrier` will be told of.
    fn announced(&self, operation: &Operation) -> u32 {
        let later = self.arrivals.iter();
        let later = later.filter(|arrivals| arrivals.waits_for(operation));
        later.fold(0, |mask, arrivals| mask | arrivals.mask)
    }

    /// The error of lanes that leave before all their operations are known to be complete.
    pub fn check_exit(&self, cta: &Cta<'_>, mask: u32) -> Result<(), Fault> {
        let left = |operation: &Operation| operation.mask & mask & !self.announced(operation);
        let open = |operation: &&Operation| {
            let safe = match &operation.effect {
                Effect::CopyAsync(_) => false,
                // Others may wait for it.
                Effect::Load(_) => true,
                // The kernel's end completes what has left shared memory.
                Effect::Store(store) => store.is_released(),
            };
            !safe && left(operation) != 0
        };
        let Some(operation) = self.operations.iter().find(open) else {
            return Ok(());
        };
        let lane = left(operation).trailing_zeros();
        let thread = cta.actor.warp * WARP as u32 + lane;
        let group = operation.effect.group().unwrap_or(AsyncGroup::CopyAsync);
        let committed = &self.committed[group as usize];
        let (act, pc) = (operation.effect.act(), operation.pc);
        let kind = ErrorKind::CopiesInFlight {
            copy: Box::new(cta.party(act, cta.number, thread, pc)),
            committed: operation.group[lane as usize] < committed[lane as usize],
        };
        Err(Fault::new(kind, lane))
    }

    /// Lets some operations take place, where the schedule wants that.
    pub fn drift(&mut self, cta: &mut Cta<'_>, warp: u32) -> Result<(), Fault> {
        for operation in &mut self.operations {
            if operation.pending == 0 {
                continue;
            }
            let pc = operation.pc;
            let now = cta.schedule.taking_place() & operation.pending;
            let done = match &mut operation.effect {
                Effect::Store(store) if now != 0 && !store.has_read() => {
                    store.read(cta);
                    Ok(())
                }
                Effect::CopyAsync(_) | Effect::Load(_) | Effect::Store(_) => {
                    operation.take_place(cta, now)
                }
            };
            done.map_err(|fault| fault.at(warp, pc))?;
        }
        self.forget_complete();
        let pc = cta.actor.pc;
        match self.arrivals.is_empty() {
            true => Ok(()),
            false => self.signal(cta, warp).map_err(|fault| fault.at(warp, pc)),
        }
    }
}

/// The first lane of a mask.
fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize % WARP
}

/// A mask with one more lane.
pub(super) fn with(mask: u32, lane: usize) -> u32 {
    mask | 1 << lane
}
