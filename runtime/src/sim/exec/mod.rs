//! Running a launch: blocks in parallel, each by one [`cta::Block`] at a time.
//!
//! - [`cta`]: a block's warps in turn. [`warp`]: groups of lanes, and the big match.
//! - [`schedule`]: whose turn it is, and when asynchronous copies arrive.
//! - [`access`]: loads, stores, atomics. [`shared`]: byte memory with states. [`copy`]: `cp.async`.
//! - [`touch`]: where each of these accesses is counted and checked against the others; [`race`]:
//!   that check; [`count`]: those counts.
//! - [`collective`]: shuffles and the like. [`barrier`]: CTA barriers and what a standstill means.
//!   [`mbarrier`]: barriers in shared memory.
//! - [`print`]: what threads print by `vprintf`.
//! - [`matrix`]: `ldmatrix`, `stmatrix`, `mma`; [`tensor`]: how its products are added.
//!
//! A check that fails raises a [`Fault`]: the kind and the lane. The warp adds itself and the
//! instruction, the CTA turns it into a [`SimError`].

mod access;
mod barrier;
mod collective;
mod copy;
mod count;
mod cta;
mod matrix;
mod mbarrier;
mod print;
mod race;
mod schedule;
mod shared;
mod tensor;
mod touch;
mod warp;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

pub(super) use self::shared::Bytes;
use super::error::{ErrorKind, SimError};
use super::isa::Kernel;
use super::profile::{Instruction, Profile};
use super::{Memory, Options, Stats};

/// Everything a launch fixes.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub entry: &'a str,
    pub kernel: &'a Kernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub params: Bytes,
    pub memory: &'a Memory,
    pub variables: Arc<[u64]>,
    pub options: &'a Options,
    /// The counts of the blocks that are done.
    pub counters: Mutex<Option<Box<count::Counters>>>,
}

impl Launch<'_> {
    /// `%ctaid` of a block by its number.
    fn ctaid(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [block % x, block / x % y, block / x / y].map(|n| n as u32)
    }

    /// `%tid` of a thread by its number in its block.
    fn tid(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [thread % x, thread / x % y, thread / x / y]
    }
}

/// An error on its way out of the executor.
#[derive(Debug)]
pub(super) struct Fault {
    kind: ErrorKind,
    lane: u32,
    warp: u32,
    pc: u32,
}

impl Fault {
    fn new(kind: ErrorKind, lane: u32) -> Fault {
        Fault {
            kind,
            lane,
            warp: 0,
            pc: 0,
        }
    }

    /// Adds the warp and the instruction.
    fn at(self, warp: u32, pc: u32) -> Fault {
        Fault { warp, pc, ..self }
    }
}

impl Launch<'_> {
    fn tell(&self, done: u64, blocks: u64) {
        if let Some(progress) = &self.options.progress {
            progress.tell(done, blocks);
        }
    }

    /// What the launch did, once it is done.
    pub fn profile(self, stats: Stats) -> Profile {
        let (memory, kernel) = (self.memory, self.kernel);
        let counters = match self.counters.into_inner() {
            Ok(counters) => counters,
            Err(poisoned) => poisoned.into_inner(),
        };
        let counters = *counters.unwrap_or_default();
        let (read, written) = memory.take_noted();
        let mut counts = counters.counts.into_iter();
        let mut samples = counters.samples.into_iter();
        let instructions = kernel.code.iter().map(|instr| {
            let counts = counts.next().unwrap_or_default();
            let [shared, global] = samples.next().unwrap_or_default();
            let samples = [shared.as_deref(), global.as_deref()];
            Instruction::new(
                instr.line,
                &instr.text,
                instr.source.clone(),
                counts,
                samples,
            )
        });
        Profile {
            entry: self.entry.to_owned(),
            grid: self.grid,
            block: self.block,
            shared_bytes: kernel.dynamic_shared + self.dynamic_shared,
            stats,
            instructions: instructions.collect(),
            distinct_read_bytes: read,
            distinct_written_bytes: written,
            banks: counters.banks,
        }
    }
}

/// Puts a lane to an error.
fn fault_at(lane: usize) -> impl Fn(ErrorKind) -> Fault {
    move |kind| Fault::new(kind, lane as u32)
}

/// Runs every block. Of several errors the one of the first block is returned.
pub(super) fn run(launch: &Launch<'_>) -> Result<Stats, SimError> {
    let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    let options = launch.options;
    let one_by_one = launch.kernel.has_global_atomics || options.races || options.threads == 1;
    if one_by_one || blocks == 1 {
        let mut block = cta::Block::new(launch);
        return (0..blocks).try_fold(Stats::default(), |stats, number| {
            let stats = stats.merge(block.run(number)?);
            launch.tell(number + 1, blocks);
            Ok(stats)
        });
    }
    // Blocks before the first failing one all run, so that it is the first.
    let failed = AtomicU64::new(u64::MAX);
    let done = AtomicU64::new(0);
    let one = |block: &mut cta::Block<'_>, index: u64| match index > failed.load(Relaxed) {
        true => Ok(Stats::default()),
        false => {
            let stats = block.run(index).map_err(|error| {
                failed.fetch_min(index, Relaxed);
                (index, error)
            });
            launch.tell(done.fetch_add(1, Relaxed) + 1, blocks);
            stats
        }
    };
    let combine = |a: Result<Stats, (u64, SimError)>, b| match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.merge(b)),
        (Err(a), Err(b)) => Err(if a.0 < b.0 { a } else { b }),
        (Err(e), _) | (_, Err(e)) => Err(e),
    };
    let all = || {
        (0..blocks)
            .into_par_iter()
            .map_init(|| cta::Block::new(launch), one)
            .reduce(|| Ok(Stats::default()), combine)
    };
    let result = match launch.options.threads {
        0 => all(),
        threads => match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            Ok(pool) => pool.install(all),
            // No threads to be had: the caller's will do.
            Err(_) => all(),
        },
    };
    result.map_err(|(_, error)| error)
}
