//! A CTA: its warps in turn, its shared memory, its barriers; and the CTAs of a cluster, which run together.

use super::barrier::{BARRIERS, BarrierState};
use super::cluster;
use super::count::Counters;
use super::mbarrier;
use super::race::{Actor, Races, Shape};
use super::register_pool::RegisterPool;
use super::schedule::Schedule;
use super::shared::Bytes;
use super::tensor::Rows;
use super::warp::{Group, Wait, Warp};
use super::warpgroup::Warpgroup;
use super::{Fault, Launch};
use crate::cancel::Cancel;
use crate::sim::assignment::Tracked;
use crate::sim::error::{ErrorKind, Location, SimError, Waiter};
use crate::sim::lane::{WARP, WARPGROUP};
use crate::sim::wgmma_registers::WgmmaRegisters;
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
    /// Warpgroups, where the kernel has `wgmma`.
    pub warpgroups: Vec<Warpgroup>,
    /// Whether one of them has something new to do or to wait for.
    pub warpgroup_news: bool,
    pub register_pool: RegisterPool,
    /// A of the product at work.
    pub rows_of_a: Box<Rows>,
    pub stats: Stats,
    pub schedule: Schedule,
    /// Counts of each instruction, where they are asked for.
    pub counters: Option<Box<Counters>>,
    /// The check for races, where it is on; the CTAs of a cluster share it, and who runs has it.
    pub races: Option<Box<Races>>,
    /// Registers that may be read before they are written, where that is checked.
    pub tracked: Option<&'a Tracked>,
    /// Registers of `wgmma`, where their use is checked.
    pub wgmma_registers: Option<&'a WgmmaRegisters>,
    /// Whether an atomic has left another value than it found, since somebody last asked.
    pub changed: bool,
    /// The warp and the instruction that run.
    pub actor: Actor,
    /// The CTA that runs, by its cluster and its rank there.
    pub number: u32,
    /// Whether a bulk copy was begun in it.
    pub has_bulk: bool,
    /// Its rank in the cluster.
    pub rank: u32,
    /// What the CTAs of the cluster share; who runs has it.
    pub cluster: cluster::State,
    pub ctaid: [u32; 3],
    /// Instructions that its warps have executed.
    pub steps: u64,
}

/// A CTA and its warps.
#[derive(Debug)]
pub(super) struct Resident<'a> {
    pub cta: Cta<'a>,
    pub warps: Vec<Warp>,
}

/// The CTAs of a cluster, which run together; used for one cluster after another.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    pub launch: &'a Launch<'a>,
    pub ctas: Vec<Resident<'a>>,
    races: Option<Box<Races>>,
    state: cluster::State,
    /// Instructions after which it is looked whether all that run only poll.
    pub look_at: u64,
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
        let thread = fault.warp * WARP as u32 + fault.lane;
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

impl<'a> Resident<'a> {
    fn new(launch: &'a Launch<'a>) -> Resident<'a> {
        let threads: u32 = launch.block.iter().product();
        let shared = (launch.kernel.dynamic_shared + launch.dynamic_shared) as usize;
        Resident {
            cta: Cta {
                launch,
                shared: Bytes::new(Space::Shared, shared, launch.options.checks),
                barriers: [BarrierState::default(); BARRIERS],
                arrivals: false,
                mbarriers: BTreeMap::new(),
                completed: false,
                idle: 0,
                polls: 0,
                warpgroups: Vec::new(),
                warpgroup_news: false,
                register_pool: RegisterPool::default(),
                rows_of_a: Rows::new(),
                stats: Stats::default(),
                schedule: Schedule::new(launch.options, [0; 3]),
                counters: launch
                    .options
                    .counters
                    .then(|| Box::new(Counters::new(launch.kernel.code.len()))),
                races: None,
                tracked: match launch.options.races {
                    true => launch.kernel.registers.tracked(&launch.kernel.code),
                    false => None,
                },
                wgmma_registers: match launch.options.checks {
                    true => launch.kernel.wgmma_registers.as_deref(),
                    false => None,
                },
                changed: false,
                actor: Actor { warp: 0, pc: 0 },
                number: 0,
                rank: 0,
                has_bulk: false,
                cluster: cluster::State::default(),
                ctaid: [0; 3],
                steps: 0,
            },
            warps: (0..threads.div_ceil(WARP as u32))
                .map(|index| Warp::new(index, launch))
                .collect(),
        }
    }

    /// Puts a CTA at its start.
    fn reset(&mut self, number: u32) {
        let Resident { cta, warps } = self;
        let ctaid = cta.launch.ctaid(number);
        cta.ctaid = ctaid;
        cta.number = number;
        cta.rank = number % cta.launch.ctas_of_cluster();
        cta.stats = Stats::default();
        cta.shared.reset();
        cta.barriers = [BarrierState::default(); BARRIERS];
        cta.arrivals = false;
        cta.mbarriers.clear();
        cta.completed = false;
        cta.has_bulk = false;
        cta.idle = 0;
        cta.polls = 0;
        cta.warpgroups.clear();
        if cta.launch.kernel.has_warpgroups {
            let warpgroups = warps.len().div_ceil(WARPGROUP);
            cta.warpgroups.resize_with(warpgroups, Warpgroup::default);
            cta.register_pool = RegisterPool::new(cta.launch, warps.len());
        }
        cta.warpgroup_news = false;
        cta.steps = 0;
        cta.schedule = Schedule::new(cta.launch.options, ctaid);
        warps
            .iter_mut()
            .for_each(|warp| warp.reset(cta.launch, number));
    }

    pub fn is_done(&self) -> bool {
        self.warps.iter().all(|warp| warp.groups.is_empty())
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
}

/// Gives each warp that can go on a turn; whether there is one.
fn round(cta: &mut Cta<'_>, warps: &mut [Warp]) -> Result<bool, Fault> {
    let limit = cta.launch.options.step_limit;
    let cancel = &cta.launch.options.cancel;
    if cancel.as_ref().is_some_and(Cancel::is_cancelled) {
        return Err(Fault::new(ErrorKind::Cancelled, 0));
    }
    let mut progress = false;
    // A peer may have completed something.
    if std::mem::take(&mut cta.completed) {
        cta.idle = 0;
        warps.iter_mut().for_each(Warp::wake);
    }
    let first = cta.schedule.first(warps.len());
    for turn in 0..warps.len() {
        let index = (first + turn) % warps.len();
        let warp = &mut warps[index];
        if !warp.is_ready() {
            continue;
        }
        progress = true;
        let lived = warp.live;
        let left = limit.saturating_sub(cta.steps);
        let budget = cta.schedule.slice().min(left + 1);
        cta.steps += warp.run(cta, budget)?;
        if cta.steps > limit {
            let pc = warp.groups.first().map_or(0, |g| g.pc);
            return Err(Fault::new(ErrorKind::StepLimit { limit }, 0).at(warp.index, pc));
        }
        let left = warp.live != lived;
        if left && cta.launch.kernel.has_warpgroups {
            cta.check_followed(warps, index as u32)?;
        }
        if cta.arrivals || left {
            cta.arrivals = false;
            cta.idle = 0;
            cta.open_barriers(warps);
        }
        let drifts = cta.schedule.is_random() && !cta.warpgroups.is_empty();
        if std::mem::take(&mut cta.warpgroup_news) || drifts {
            cta.advance_warpgroups(warps);
        }
        if std::mem::take(&mut cta.completed) {
            warps.iter_mut().for_each(Warp::wake);
        }
    }
    if progress && warps.iter().all(|warp| warp.groups.is_empty()) {
        cta.check_left()?;
    }
    Ok(progress)
}

/// Completes copies that an `mbarrier` waits for, and wakes who waits; whether there were any.
fn hurry(cta: &mut Cta<'_>, warps: &mut [Warp]) -> Result<bool, Fault> {
    for warp in &mut *warps {
        if warp.in_flight.hurry(cta, warp.index)? {
            warps.iter_mut().for_each(Warp::wake);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets everything that is in flight take place; whether there was anything.
fn settle(cta: &mut Cta<'_>, warps: &mut [Warp]) -> Result<bool, Fault> {
    let mut any = false;
    for warp in warps {
        any |= warp.in_flight.is_pending();
        warp.in_flight.finish(cta, warp.index)?;
    }
    Ok(any)
}

/// The end of the kernel completes what nobody has waited for.
fn finish(cta: &mut Cta<'_>, warps: &mut [Warp]) -> Result<bool, Fault> {
    for warp in warps {
        warp.in_flight.finish(cta, warp.index)?;
    }
    Ok(false)
}

impl<'a> Cluster<'a> {
    pub fn new(launch: &'a Launch<'a>) -> Cluster<'a> {
        let ctas = launch.ctas_of_cluster();
        let warps = launch.block.iter().product::<u32>().div_ceil(WARP as u32);
        let races = launch.options.races;
        let agents = match launch.kernel.has_warpgroups {
            true => warps.div_ceil(WARPGROUP as u32),
            false => 0,
        };
        let shape = Shape {
            ctas,
            warps: warps + agents,
            agents: warps,
        };
        let mut residents: Vec<Resident<'_>> = (0..ctas).map(|_| Resident::new(launch)).collect();
        let windows = match ctas {
            // It has its memory itself.
            1 => Vec::new(),
            _ => {
                let none = || Bytes::new(Space::Shared, 0, launch.options.checks);
                let shared = residents.iter_mut();
                shared
                    .map(|resident| std::mem::replace(&mut resident.cta.shared, none()))
                    .collect()
            }
        };
        Cluster {
            launch,
            state: cluster::State::new(windows),
            ctas: residents,
            races: races.then(|| Box::new(Races::new(shape))),
            look_at: 0,
        }
    }

    /// Runs one cluster to its end.
    pub fn run(&mut self, number: u64) -> Result<Stats, SimError> {
        if let Some(races) = &mut self.races {
            races.start(number as u32);
        }
        let first = (number as u32).wrapping_mul(self.launch.ctas_of_cluster());
        for (rank, resident) in (0..).zip(&mut self.ctas) {
            resident.reset(first + rank);
        }
        let threads: u32 = self.launch.block.iter().product();
        self.state.reset(threads * self.launch.ctas_of_cluster());
        self.look_at = 0;
        let result = self.run_ctas();
        if let Some(races) = &mut self.races {
            // What went wrong afterwards may follow from them.
            let mut found = std::mem::take(&mut races.found).into_iter();
            if let Some(mut first) = found.next() {
                first.others = found.collect();
                return Err(first);
            }
        }
        result?;
        self.any(finish)?;
        let stats = self.ctas.iter().map(|resident| resident.cta.stats);
        Ok(stats.fold(Stats::default(), Stats::merge))
    }

    fn run_ctas(&mut self) -> Result<(), SimError> {
        loop {
            let polls = self.any(round)?;
            if polls && !self.only_polls()? {
                continue;
            }
            let mut waiting = (0..)
                .zip(&self.ctas)
                .filter(|(_, resident)| !resident.is_done());
            let Some((first, _)) = waiting.clone().next() else {
                return Ok(());
            };
            // Who only waits for the cluster waits for one of the others.
            let waits_inside = |resident: &Resident<'_>| {
                let groups = resident.warps.iter().flat_map(|warp| &warp.groups);
                groups.into_iter().any(|group| group.wait != Wait::Cluster)
            };
            let waiting = waiting.find(|(_, resident)| waits_inside(resident));
            let waiting = waiting.map_or(first, |(rank, _)| rank);
            // Copies take their time, and so does `try_wait`; but not for ever.
            if self.any(hurry)? || self.any(|cta, warps| Ok(cta.time_out(warps)))? {
                continue;
            }
            if polls {
                match self.any(settle)? {
                    true => continue,
                    false => return Err(self.polling()),
                }
            }
            self.any(|cta, warps| match cta.rank == waiting {
                true => Err(cta.stall(warps)),
                false => Ok(false),
            })?;
        }
    }

    /// Does something with each CTA in turn; whether it is done with one of them.
    pub fn any(
        &mut self,
        mut f: impl FnMut(&mut Cta<'a>, &mut [Warp]) -> Result<bool, Fault>,
    ) -> Result<bool, SimError> {
        let mut any = false;
        for (rank, Resident { cta, warps }) in (0..).zip(&mut self.ctas) {
            cta.races = self.races.take();
            if let Some(races) = &mut cta.races {
                races.turn(rank);
            }
            cta.cluster = std::mem::take(&mut self.state);
            cta.trade();
            let done = f(cta, warps).map_err(|fault| cta.locate(fault));
            cta.trade();
            self.state = std::mem::take(&mut cta.cluster);
            self.races = cta.races.take();
            any |= done?;
        }
        Ok(any)
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        self.ctas.iter_mut().for_each(Resident::finish);
    }
}
