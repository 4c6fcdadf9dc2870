//! Running a launch: clusters in parallel, each by one [`cta::Cluster`] at a time. A CTA that is in no cluster is
//! one by itself.
//!
//! - [`cta`]: the CTAs of a cluster and the warps of a CTA in turn. [`warp`]: groups of lanes, and the big match.
//! - [`cluster`]: what CTAs of a cluster reach of each other, and their barrier.
//! - [`schedule`]: whose turn it is, and when asynchronous copies arrive.
//! - [`access`]: loads, stores, atomics. [`shared`]: byte memory with states.
//! - [`in_flight`]: asynchronous operations and how they complete. [`copy`]: `cp.async`; [`bulk`]: `cp.async.bulk`,
//!   of a [`region`] of global memory; [`map_edit`]: tensor maps that a kernel edits.
//! - [`touch`]: where each of these accesses is counted and checked against the others; [`race`]:
//!   that check; [`count`]: those counts.
//! - [`collective`]: shuffles and the like. [`barrier`]: CTA barriers and what a standstill means.
//!   [`mbarrier`]: barriers in shared memory.
//! - [`polling`]: whether all threads that can go on poll memory that nobody will write.
//! - [`print`]: what threads print by `vprintf`.
//! - [`matrix`]: `ldmatrix`, `stmatrix`, `mma`; [`tensor`]: how its products are added.
//! - [`warpgroup`]: `wgmma`; [`descriptor`]: where its operands are in shared memory. [`register_pool`]:
//!   `setmaxnreg`. [`wgmma_registers`]: when its registers may be used.
//! - [`undefined`]: bits of registers that nothing has written.
//!
//! A CTA owns the state of all of these; a file has the state of its own and what the CTA does with it. So these files know
//! `cta`, and `cta` knows them, on purpose: together they are one machine.
//!
//! A check that fails raises a [`Fault`]: the kind and the lane. The warp adds itself and the
//! instruction, the CTA turns it into a [`SimError`].

mod access;
mod barrier;
mod bulk;
mod cluster;
mod collective;
mod copy;
mod count;
mod cta;
mod descriptor;
mod in_flight;
mod map_edit;
mod matrix;
mod mbarrier;
mod polling;
mod print;
mod race;
mod region;
mod register_pool;
mod schedule;
mod shared;
mod tensor;
mod touch;
mod undefined;
mod warp;
mod warpgroup;
mod wgmma_registers;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

pub(super) use self::shared::Bytes;
use super::error::{ErrorKind, SimError};
use super::kernel::Kernel;
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
    /// CTAs of a cluster in x, y, z; those of a launch that run at the same time go on in turns as those of one do.
    fn cluster(&self) -> [u32; 3] {
        match self.options.together {
            true => self.grid,
            false => self.kernel.cluster,
        }
    }

    /// CTAs of a cluster.
    fn ctas_of_cluster(&self) -> u32 {
        self.cluster().iter().product()
    }

    /// Clusters of the grid in x, y, z.
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster()[axis])
    }

    /// Whether of so many clusters one runs at a time.
    fn runs_alone(&self, clusters: u64) -> bool {
        let options = self.options;
        let one_by_one = self.kernel.has_global_atomics || options.races || options.threads == 1;
        one_by_one || clusters == 1
    }

    /// Clusters of the grid that run.
    fn clusters_to_run(&self) -> (u64, u64) {
        let all: u64 = self.clusters().iter().map(|&n| u64::from(n)).product();
        match self.options.only {
            None => (0, all),
            Some(only) => (only.min(all.saturating_sub(1)), all.min(1)),
        }
    }

    /// `%cluster_ctaid` of a CTA by its number, which counts cluster by cluster.
    fn cluster_ctaid(&self, number: u32) -> [u32; 3] {
        position(number % self.ctas_of_cluster(), self.cluster())
    }

    /// `%clusterid` of a CTA by its number.
    fn clusterid(&self, number: u32) -> [u32; 3] {
        position(number / self.ctas_of_cluster(), self.clusters())
    }

    /// `%ctaid` of a CTA by its number.
    fn ctaid(&self, number: u32) -> [u32; 3] {
        let (cluster, inside) = (self.clusterid(number), self.cluster_ctaid(number));
        std::array::from_fn(|axis| cluster[axis] * self.cluster()[axis] + inside[axis])
    }

    /// `%tid` of a thread by its number in its block.
    fn tid(&self, thread: u32) -> [u32; 3] {
        position(thread, self.block)
    }
}

/// The coordinates of a number, x first.
fn position(number: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
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
            Instruction::new(instr, counts, samples)
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

/// Runs every cluster. Of several errors the one of the first cluster is returned.
pub(super) fn run(launch: &Launch<'_>) -> Result<Stats, SimError> {
    let (first, clusters) = launch.clusters_to_run();
    let ctas = u64::from(launch.ctas_of_cluster());
    let tell = |done: u64| launch.tell(done * ctas, clusters * ctas);
    if launch.runs_alone(clusters) {
        let mut cluster = cta::Cluster::new(launch);
        return (0..clusters).try_fold(Stats::default(), |stats, number| {
            let stats = stats.merge(cluster.run(first + number)?);
            tell(number + 1);
            Ok(stats)
        });
    }
    // Clusters before the first failing one all run, so that it is the first.
    let failed = AtomicU64::new(u64::MAX);
    let done = AtomicU64::new(0);
    let one = |cluster: &mut cta::Cluster<'_>, index: u64| match index > failed.load(Relaxed) {
        true => Ok(Stats::default()),
        false => {
            let stats = cluster.run(index).map_err(|error| {
                failed.fetch_min(index, Relaxed);
                (index, error)
            });
            tell(done.fetch_add(1, Relaxed) + 1);
            stats
        }
    };
    let combine = |a: Result<Stats, (u64, SimError)>, b| match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.merge(b)),
        (Err(a), Err(b)) => Err(if a.0 < b.0 { a } else { b }),
        (Err(e), _) | (_, Err(e)) => Err(e),
    };
    let all = || {
        (0..clusters)
            .into_par_iter()
            .map_init(|| cta::Cluster::new(launch), one)
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
