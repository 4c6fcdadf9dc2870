//! A CTA: its warps in turn, its shared memory, its barriers.

use super::barrier::{BARRIERS, BarrierState};
use super::shared::Bytes;
use super::warp::{Group, Warp};
use super::{Fault, Launch, access};
use crate::sim::error::{ErrorKind, Location, SimError, Waiter};
use crate::sim::lane::Wides;
use crate::sim::{Space, Stats};

/// Instructions a warp runs before the next has its turn, unless it has to wait earlier.
const SLICE: u64 = 1 << 14;

/// Longest turn of a random schedule.
const SHORT_SLICE: u64 = 128;

/// In which order warps have their turns, and how long these are.
#[derive(Debug)]
struct Schedule {
    /// State of a xorshift generator; 0, where it stays, is the fixed schedule.
    state: u64,
}

impl Schedule {
    fn new(seed: u64, ctaid: [u32; 3]) -> Schedule {
        let mix = |state: u64, value: u32| {
            (state ^ u64::from(value))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        let state = match seed {
            0 => 0,
            _ => ctaid.into_iter().fold(seed, mix) | 1,
        };
        Schedule { state }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 16
    }

    /// The warp that begins a round.
    fn first(&mut self, warps: usize) -> usize {
        self.next() as usize % warps.max(1)
    }

    /// Instructions of a turn.
    fn slice(&mut self) -> u64 {
        match self.state {
            0 => SLICE,
            _ => 1 + self.next() % SHORT_SLICE,
        }
    }
}

/// What the warps of a CTA share.
#[derive(Debug)]
pub(crate) struct Cta<'a> {
    pub launch: &'a Launch<'a>,
    pub shared: Bytes,
    pub barriers: [BarrierState; BARRIERS],
    /// Whether somebody arrived at a barrier since barriers were last opened.
    pub arrivals: bool,
    pub stats: Stats,
    /// Host copy of which block runs, for errors.
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

    /// Counts the bank conflicts of a shared access.
    pub fn count_shared(&mut self, addresses: &Wides, bytes: u32, mask: u32) {
        if self.launch.options.counters {
            let (passes, ideal) = access::wavefronts(addresses, bytes, mask);
            self.stats.shared_wavefronts += passes;
            self.stats.shared_wavefronts_ideal += ideal;
        }
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
    fn locate(&self, fault: Fault) -> SimError {
        let instr = &self.launch.kernel.code[fault.pc as usize];
        let [x, y, _] = self.launch.block;
        let thread = fault.warp * 32 + fault.lane;
        SimError {
            kind: fault.kind,
            location: Some(Box::new(Location {
                ptx_line: instr.line,
                instruction: instr.text.clone(),
                source: instr.source.clone(),
                entry: Some(self.launch.entry.to_owned()),
                block: Some(self.ctaid),
                thread: Some([thread % x, thread / x % y, thread / x / y]),
            })),
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
                stats: Stats::default(),
                ctaid: [0; 3],
            },
            warps: (0..threads.div_ceil(32))
                .map(|index| Warp::new(index, launch))
                .collect(),
        }
    }

    /// Runs one block to its end.
    pub fn run(&mut self, ctaid: [u32; 3]) -> Result<Stats, SimError> {
        let Block { cta, warps } = self;
        cta.ctaid = ctaid;
        cta.stats = Stats::default();
        cta.shared.reset();
        cta.barriers = [BarrierState::default(); BARRIERS];
        cta.arrivals = false;
        warps
            .iter_mut()
            .for_each(|warp| warp.reset(cta.launch, ctaid));
        Self::run_warps(cta, warps).map_err(|fault| cta.locate(fault))?;
        Ok(cta.stats)
    }

    fn run_warps(cta: &mut Cta<'a>, warps: &mut [Warp]) -> Result<(), Fault> {
        let limit = cta.launch.options.step_limit;
        let mut schedule = Schedule::new(cta.launch.options.seed, cta.ctaid);
        let mut steps = 0;
        loop {
            let mut progress = false;
            let first = schedule.first(warps.len());
            for turn in 0..warps.len() {
                let index = (first + turn) % warps.len();
                let warp = &mut warps[index];
                if !warp.is_ready() {
                    continue;
                }
                progress = true;
                let lived = warp.live;
                let budget = schedule.slice().min(limit.saturating_sub(steps) + 1);
                steps += warp.run(cta, budget)?;
                if steps > limit {
                    let pc = warp.groups.first().map_or(0, |g| g.pc);
                    return Err(Fault::new(ErrorKind::StepLimit { limit }, 0).at(warp.index, pc));
                }
                if cta.arrivals || warp.live != lived {
                    cta.arrivals = false;
                    cta.open_barriers(warps);
                }
            }
            if !progress {
                return match warps.iter().all(|warp| warp.groups.is_empty()) {
                    true => Ok(()),
                    false => Err(cta.stall(warps)),
                };
            }
        }
    }
}
