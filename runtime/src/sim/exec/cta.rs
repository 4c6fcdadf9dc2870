//! A CTA: its warps in turn, its shared memory, its barriers.

use super::barrier::{BARRIERS, BarrierState};
use super::count::Counters;
use super::mbarrier;
use super::race::{Actor, Races};
use super::schedule::Schedule;
use super::shared::Bytes;
use super::warp::{Group, Warp};
use super::{Fault, Launch};
use crate::sim::assignment::Tracked;
use crate::sim::error::{ErrorKind, Location, SimError, Waiter};
use crate::sim::{Space, Stats};
use std::collections::BTreeMap;

/// What the warps of a CTA share.
#[derive(Debug)]
pub(crate) struct Cta<'a> {
    pub launch: &'a Launch<'a>,
    pub shared: Bytes,
    pub barriers: [BarrierState; BARRIERS],
    /// Whether somebody arrived at a barrier since barriers were last opened.
    pub arrivals: bool,
    /// Barriers in shared memory, by address.
    pub mbarriers: BTreeMap<u64, mbarrier::State>,
    /// Whether a phase of one was completed since those who wait last looked.
    pub completed: bool,
    /// How often they came back in vain since something last happened at one.
    pub idle: u32,
    /// How often `test_wait` has said no since then.
    pub polls: u32,
    pub stats: Stats,
    pub schedule: Schedule,
    /// Counts of each instruction, where they are asked for.
    pub counters: Option<Box<Counters>>,
    /// The check for races, where it is on.
    pub races: Option<Box<Races>>,
    /// Registers that may be read before they are written, where that is checked.
    pub tracked: Option<&'a Tracked>,
    /// The warp and the instruction that run.
    pub actor: Actor,
    /// The block that runs.
    pub number: u32,
    ctaid: [u32; 3],
}

/// A CTA and its warps; used for one block after another.
#[derive(Debug)]
pub(super) struct Block<'a> {
    cta: Cta<'a>,
    warps: Vec<Warp>,
}

impl<'a> Cta<'a> {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// A group that waits, as errors name it.
    pub fn waiter(&self, warp: &Warp, group: &Group) -> Waiter {
        let instr = &self.launch.kernel.code[group.pc as usize];
        Waiter {
            warp: warp.index,
            lanes: group.mask,
            ptx_line: instr.line,
            source: instr.source.clone(),
            instruction: instr.text.clone(),
        }
    }

    /// The one place where an error learns where it happened.
    pub fn locate(&self, fault: Fault) -> SimError {
        let instr = &self.launch.kernel.code[fault.pc as usize];
        let thread = fault.warp * 32 + fault.lane;
        SimError {
            kind: fault.kind,
            location: Some(Box::new(Location {
                ptx_line: instr.line,
                instruction: instr.text.clone(),
                source: instr.source.clone(),
                entry: Some(self.launch.entry.to_owned()),
                block: Some(self.ctaid),
                thread: Some(self.launch.tid(thread)),
            })),
            others: Box::default(),
        }
    }
}

impl<'a> Block<'a> {
    pub fn new(launch: &'a Launch<'a>) -> Block<'a> {
        let threads: u32 = launch.block.iter().product();
        let shared = (launch.kernel.dynamic_shared + launch.dynamic_shared) as usize;
        Block {
            cta: Cta {
                launch,
                shared: Bytes::new(Space::Shared, shared, launch.options.checks),
                barriers: [BarrierState::default(); BARRIERS],
                arrivals: false,
                mbarriers: BTreeMap::new(),
                completed: false,
                idle: 0,
                polls: 0,
                stats: Stats::default(),
                schedule: Schedule::new(launch.options, [0; 3]),
                counters: launch
                    .options
                    .counters
                    .then(|| Box::new(Counters::new(launch.kernel.code.len()))),
                races: launch.options.races.then(|| Box::new(Races::new(threads))),
                tracked: match launch.options.races {
                    true => launch.kernel.registers.tracked(&launch.kernel.code),
                    false => None,
                },
                actor: Actor { warp: 0, pc: 0 },
                number: 0,
                ctaid: [0; 3],
            },
            warps: (0..threads.div_ceil(32))
                .map(|index| Warp::new(index, launch))
                .collect(),
        }
    }

    /// Runs one block to its end.
    pub fn run(&mut self, number: u64) -> Result<Stats, SimError> {
        let Block { cta, warps } = self;
        let ctaid = cta.launch.ctaid(number);
        cta.ctaid = ctaid;
        cta.number = number as u32;
        if let Some(races) = &mut cta.races {
            races.start(cta.number);
        }
        cta.stats = Stats::default();
        cta.shared.reset();
        cta.barriers = [BarrierState::default(); BARRIERS];
        cta.arrivals = false;
        cta.mbarriers.clear();
        cta.completed = false;
        cta.idle = 0;
        cta.polls = 0;
        cta.schedule = Schedule::new(cta.launch.options, ctaid);
        warps
            .iter_mut()
            .for_each(|warp| warp.reset(cta.launch, ctaid));
        let result = Self::run_warps(cta, warps).map_err(|fault| cta.locate(fault));
        if let Some(races) = &mut cta.races {
            // What went wrong afterwards may follow from them.
            let mut found = std::mem::take(&mut races.found).into_iter();
            if let Some(mut first) = found.next() {
                first.others = found.collect();
                return Err(first);
            }
        }
        result?;
        Ok(cta.stats)
    }

    /// Hands its counts over.
    fn finish(&mut self) {
        if let Some(counters) = self.cta.counters.take() {
            let mut all = match self.cta.launch.counters.lock() {
                Ok(all) => all,
                Err(poisoned) => poisoned.into_inner(),
            };
            match &mut *all {
                Some(all) => all.add(*counters),
                none => *none = Some(counters),
            }
        }
    }

    /// Completes copies that an `mbarrier` waits for; whether there were any.
    fn hurry(cta: &mut Cta<'a>, warps: &mut [Warp]) -> Result<bool, Fault> {
        for warp in warps {
            if warp.copies.hurry(cta, warp.index)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn run_warps(cta: &mut Cta<'a>, warps: &mut [Warp]) -> Result<(), Fault> {
        let limit = cta.launch.options.step_limit;
        let mut steps = 0;
        loop {
            let mut progress = false;
            let first = cta.schedule.first(warps.len());
            for turn in 0..warps.len() {
                let index = (first + turn) % warps.len();
                let warp = &mut warps[index];
                if !warp.is_ready() {
                    continue;
                }
                progress = true;
                let lived = warp.live;
                let budget = cta.schedule.slice().min(limit.saturating_sub(steps) + 1);
                steps += warp.run(cta, budget)?;
                if steps > limit {
                    let pc = warp.groups.first().map_or(0, |g| g.pc);
                    return Err(Fault::new(ErrorKind::StepLimit { limit }, 0).at(warp.index, pc));
                }
                if cta.arrivals || warp.live != lived {
                    cta.arrivals = false;
                    cta.idle = 0;
                    cta.open_barriers(warps);
                }
                if std::mem::take(&mut cta.completed) {
                    warps.iter_mut().for_each(Warp::wake);
                }
            }
            if !progress {
                if warps.iter().all(|warp| warp.groups.is_empty()) {
                    return Ok(());
                }
                // Copies take their time, and so does `try_wait`; but not for ever.
                if Self::hurry(cta, warps)? {
                    warps.iter_mut().for_each(Warp::wake);
                } else if !cta.time_out(warps) {
                    return Err(cta.stall(warps));
                }
            }
        }
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}
